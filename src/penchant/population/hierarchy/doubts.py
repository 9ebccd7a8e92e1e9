"""What is wrong with a population fit, and a sentence about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from penchant._typing import Matrix
from penchant.errors import listing
from penchant.population.hierarchy import inferences

NONE = 0.1  # reliability at which a spread may not be told
DECIDES = 1.0  # standard errors by which one subject moves a mean
SPREAD_MOVES = 1.5  # the same of a spread
AT_ONE = 0.99
UNLIKELY = 0.01
FAR = 12.0  # typical standard deviations: a mean that is not told
WIDE = 2.0  # the same of its standard error


def correlations_of(matrices: Matrix) -> Matrix:
    """Of every group's covariance; 0 where a parameter has no spread."""
    sd = np.sqrt(np.einsum("gaa->ga", matrices))
    unit = sd[:, :, None] * sd[:, None, :]
    found = np.where(unit > 0, matrices / np.where(unit > 0, unit, 1.0), 0.0)
    for own in found:
        np.fill_diagonal(own, 1.0)
    return np.asarray(found)


ORDER = (
    "stopped early",
    "mean not identified",
    "integration not settled",
    "one subject decides",
    "no spread in",
    "correlation at",
    "spread not told",
    "not normal",
)


def first_status(doubts: Mapping[str, str]) -> str:
    """The gravest doubt, or none."""
    for kind in ORDER:
        for name in doubts:
            if name.startswith(kind):
                return name
    return "converged"


def doubts_of(
    source: Any,
    errors: inferences.Errors,
    matrices: Matrix,
    everyone: inferences.People,
    reliability: Mapping[str, float],
) -> dict[str, str]:
    """What is wrong, and a sentence about it."""
    found, people = source.found, source.people
    s = found.marginal.structure
    names = people.coordinates.names
    doubts: dict[str, str] = {}
    lost = _lost(source, errors)
    if lost:
        doubts["mean not identified"] = (
            f"The decisions do not tell {listing(lost)}: it has no finite best value, or none of "
            "its own. Every subject may be perfectly consistent; leave it out or give it a limit."
        )
    correlations = correlations_of(matrices)
    for i, a in enumerate(s.random):
        for b in s.random[:i]:
            if s.spread.correlated and np.abs(correlations[:, a, b]).max() > AT_ONE:
                r = correlations[np.abs(correlations[:, a, b]).argmax(), a, b]
                sign = "+1" if r > 0 else "-1"
                doubts[f"correlation at {sign}"] = (
                    f"{names[b]} and {names[a]} go together in all people, as far as can be told: "
                    "one of them has no spread of its own. Use spread='diagonal' if that is "
                    "not meant."
                )
    for c, a in enumerate(s.random):
        if reliability[names[a]] < NONE:
            begin = inferences.profile_nodes(source.task, found)
            low, high = inferences.sd_interval(source.task, found, begin, c, 0, 0.95)
            if low < 0.05 * high:
                doubts["spread not told"] = (
                    f"The spread of {names[a]} may be anything from 0 to {high:.3g}: the decisions "
                    "hardly tell people apart in it."
                )
    shift = np.abs(found.known.scores @ errors.model) / np.sqrt(
        np.maximum(np.diag(errors.model), 1e-300)
    )
    shift[:, s.n_beta :] /= SPREAD_MOVES
    worst, what = (int(v) for v in np.unravel_index(int(shift.argmax()), shift.shape))
    if shift[worst, what] > DECIDES:
        moved = source.design.names[what] if what < s.n_beta else "a spread"
        doubts["one subject decides"] = (
            f"Without subject {people.subjects[worst]} {moved} would move by more than "
            f"{DECIDES if what < s.n_beta else SPREAD_MOVES:g} standard errors: look at its "
            "decisions, or fit without it."
        )
    odd = inferences.normality(found)
    if odd.size and odd.min() * odd.size < UNLIKELY:
        c, which = (int(v) for v in np.unravel_index(int(odd.argmin()), odd.shape))
        kind = ("lopsided", "of two kinds or heavy-tailed")[which]
        doubts["not normal"] = (
            f"People are {kind} in {names[s.random[c]]}, not normal about one mean (p = "
            f"{odd.min():.1g}): a covariate that tells them apart, or several classes, would fit "
            "better."
        )
    return doubts


def _lost(source: Any, errors: inferences.Errors) -> list[str]:
    """Coefficients of which nothing is known."""
    found = source.found
    s = found.marginal.structure
    names = source.design.names
    lost = [names[a] for a in np.flatnonzero(inferences.untold(found, errors))]
    centre, sd = source.people.typical
    means = s.means(found.x[: s.n_beta])
    far = np.abs(means - centre) > FAR * sd
    for a in np.flatnonzero(far.any(axis=0)):
        lost.append(source.people.coordinates.names[a])
    whose = np.abs(s.design).sum(axis=0).argmax(axis=0)
    size = np.abs(s.design).max(axis=(0, 1)) * np.sqrt(np.diag(errors.model)[: s.n_beta])
    lost += [names[a] for a in np.flatnonzero(size > WIDE * sd[whose])]
    return list(dict.fromkeys(lost))
