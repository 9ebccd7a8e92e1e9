"""How long an update of the estimate takes while somebody plays.

Times differ from run to run: they are said on the terminal and written nowhere, so that the same
seed gives the same files.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from penchant._typing import Vector
from penchant.bandit.episode import Episode
from penchant.inference.linearized import linearized_choices
from penchant.inference.live import Live, live
from penchant.inference.nominal import nominal_point
from penchant.inference.profile.profiles import Problem
from penchant.paper.plays import model_of, played
from penchant.paper.published import EXPERIMENT_DECISIONS, FIGURE_4
from penchant.softmax.fit import fit_choices

ALLOTTED = 1.5  # seconds: the shorter of the two times the experiment gives a choice
TIMED = 10  # the last decisions, where an update takes longest


@dataclass(frozen=True, eq=False)
class RealTime:
    """Processor seconds of single updates, after each of the last decisions.

    Attributes
    ----------
    linearized
        The paper's estimator, with the whole history fitted again.
    exact
        `live`, which starts from its last estimate.
    """

    linearized: Vector
    exact: Vector

    @property
    def words(self) -> str:
        """The times, for the terminal."""
        return "; ".join(
            f"{name} estimate: median {1e3 * np.median(s):.0f} ms, slowest {1e3 * s.max():.0f} ms"
            for name, s in (("linearised", self.linearized), ("exact live", self.exact))
        )


def real_time(*, rng: np.random.Generator) -> RealTime:
    """Update both estimates after each of the last decisions of a play with the paper's grid."""
    (play,) = played(FIGURE_4, rng=rng, n_replicates=1, n_decisions=EXPERIMENT_DECISIONS)
    model = model_of(FIGURE_4)
    psi, ratios = nominal_point(model, FIGURE_4.nominal)
    first = EXPERIMENT_DECISIONS - TIMED

    def linearized(t: int) -> None:
        now = Episode(play.chosen[:t], play.rewards[:t])
        fit_choices(linearized_choices(Problem(model, (now,)), psi, ratios), threads=1)

    known = _watching(play, live(model), first)

    def exact(t: int) -> None:
        known.observe(int(play.chosen[t - 1]), float(play.rewards[t - 1]))
        known.estimate()

    linearized(first)  # compiles what is not compiled yet
    return RealTime(_timed(linearized, first), _timed(exact, first))


def _watching(play: Episode, known: Live, n: int) -> Live:
    for t in range(n):
        known.observe(int(play.chosen[t]), float(play.rewards[t]))
    known.estimate()
    return known


def _timed(update: Callable[[int], None], first: int) -> Vector:
    found = []
    for t in range(first + 1, EXPERIMENT_DECISIONS + 1):
        begun = time.process_time()
        update(t)
        found.append(time.process_time() - begun)
    return np.array(found)
