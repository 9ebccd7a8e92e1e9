"""Estimates in units of rewards that lie nowhere near them: what is expected before play."""

from __future__ import annotations

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.inference.peaks import Peak, Peaks
from penchant.inference.profiles import Profiles
from penchant.models.model import Natural

EXPECTED = ("initial_value", "initial_mean", "centre")
FAR = 10.0  # times the range of rewards


def are_run_off(profiles: Profiles, peaks: Peaks) -> BoolVector:
    """Whether what is expected before play lies far from all rewards of a subject.

    Such a value is one end of a ridge: a temperature so high, or a rate so near 1, that the value
    could be ten times as large, and choices tell a product alone.
    """
    found = np.zeros(len(peaks), dtype=bool)
    named = _expected(profiles)
    if not named:
        return found
    low, high = _ends(profiles, peaks.points.subject)
    for natural in named:
        values = _values(natural, peaks.points.theta)
        found |= ~_is_near(values, low, high)
    return found


def run_off_words(profiles: Profiles, peak: Peak) -> str:
    """What is to be said of one that has run off, or nothing."""
    named = _expected(profiles)
    if not named:
        return ""
    low, high = _ends(profiles, peak.alone().points.subject)
    theta = peak.point.theta[None]
    for natural in named:
        value = _values(natural, theta)
        if not _is_near(value, low, high)[0]:
            return (
                f"{natural.name} has run off to {value[0]:.4g}, more than {FAR:g} times the range "
                f"of the rewards ({low[0]:g} to {high[0]:g}) away from them: choices tell what it "
                "makes of other parameters, and not how large it is. Hold it fixed."
            )
    return ""


def _expected(profiles: Profiles) -> list[Natural]:
    """What is expected before play; nothing among offers, which have no rewards."""
    if profiles.prior is not None:
        return []
    if not all(hasattr(episode, "rewards") for episode in profiles.record.episodes):
        return []
    return [n for n in profiles.natural if n.kind == "ratio" and n.name in EXPECTED]


def _values(natural: Natural, theta: Matrix) -> Vector:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(theta[:, natural.index] / theta[:, natural.other])


def _is_near(values: Vector, low: Vector, high: Vector) -> BoolVector:
    reach = FAR * (high - low)
    with np.errstate(invalid="ignore"):
        near = (values >= low - reach) & (values <= high + reach)
    # rewards that are all the same, or none, have no range to compare with
    return np.asarray(near | ~(reach > 0) | ~np.isfinite(values))


def _ends(profiles: Profiles, subject: IntVector) -> tuple[Vector, Vector]:
    """Smallest and largest reward of each subject; NaN without any."""
    first = profiles.first_event
    rewards = [profiles.record.rewards[first[s] : first[s + 1]] for s in subject.tolist()]
    seen = [mine[np.isfinite(mine)] for mine in rewards]
    low = [mine.min() if len(mine) else np.nan for mine in seen]
    high = [mine.max() if len(mine) else np.nan for mine in seen]
    return np.array(low), np.array(high)
