"""Profile of one subject, as tests ask for it: at single psi."""

from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from penchant.inference.profile.profile_likelihood import FINITE_VALUES, ProfileProblems


@dataclass(frozen=True)
class Problem:
    """Profile problem of one subject: episodes that share parameters, a model, and a prior."""

    model: Any
    episodes: tuple
    prior: Any = None

    @cached_property
    def profiles(self):
        return ProfileProblems(self.model, (self.episodes,), self.prior)

    @property
    def bounds(self):
        return self.profiles.bounds

    @property
    def chosen(self):
        return self.profiles.scored_options

    def to_unconstrained(self, psi):
        return self.profiles.to_unconstrained(np.asarray(psi, dtype=float)[None])[0]

    def from_unconstrained(self, u):
        return self.profiles.from_unconstrained(np.asarray(u)[None])[0]

    def variables(self, psi):
        return self.profiles.scored_variables(psi)[0]

    def variables_and_slopes(self, psi):
        return self.profiles.scored_variables(psi, with_derivatives=True)

    def choices(self, psi):
        return self.profiles.choices_at(psi)

    def values(self, psis):
        """Profile at many psi (n, n_shape), and the weights there."""
        whose = np.zeros(len(psis), dtype=np.int64)
        points = self.profiles.solve(whose, psis, accuracy=FINITE_VALUES)
        return points.value, points.theta

    def at(self, psi, constraint=None, start_theta=None):
        """Inner solution at one psi, with the profile's gradient in unconstrained units."""
        start = None if start_theta is None else start_theta[None]
        whose = np.zeros(1, dtype=np.int64)
        points = self.profiles.solve(whose, psi[None], start, constraint=constraint)
        return SimpleNamespace(
            psi=psi,
            theta=points.theta[0],
            value=float(points.value[0]),
            log_likelihood=float(points.log_likelihood[0]),
            gradient=points.gradient[0],
            information=points.information[0],
        )
