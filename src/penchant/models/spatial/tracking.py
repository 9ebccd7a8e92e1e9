"""Beliefs of stochastic UCL followed event by event, at several relative precisions at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.bandit.episode import Episode
from penchant.bandit.locations import distances_to
from penchant.models.spatial._kernels import follow_beliefs

ROOM = 32  # observations that arrays have room for at first


class UCLTracker:
    """The variables of a play at several delta; an event costs one pass over those before it."""

    def __init__(self, model: Any, deltas: Vector) -> None:
        self._model = model
        self._deltas = np.ascontiguousarray(deltas)
        n, k = model.n_options, len(deltas)
        self._columns = np.zeros((n, n))
        self._known = np.zeros(n, dtype=bool)
        self._state = np.zeros((3, k, n))
        self._state[1] = 1.0
        self._state[2] = 1.0 / self._deltas[:, None]
        self._count = np.zeros(1, dtype=np.int64)
        self._last = np.full(n, -1)
        self._options = np.empty(0, dtype=np.int64)
        self._before, self._g = np.empty((k, 0, n)), np.empty((k, 0))
        self._unit = float(np.sqrt(model.noise_variance)) if model.bonus == "known" else 0.0

    def follow(self, episode: Episode, begin: int) -> Matrix:
        """Variables (n_delta, n_new, n_options, n_weights) of the events from `begin` on."""
        model, new = self._model, slice(begin, None)
        chosen, rewards = episode.chosen[new], episode.rewards[new]
        for option in chosen[chosen >= 0].tolist():
            self._correlate(option)
        self._make_room(len(chosen))
        times = model.times(episode)[new]
        shape = len(self._deltas), len(chosen), model.n_options, len(model.weights)
        x = np.empty(shape)
        follow_beliefs(
            self._columns,
            chosen,
            rewards,
            self._deltas,
            self._state,
            (self._options, self._count, self._last, self._before, self._g),
            model.credible_z(times),
            model.inverse_temperature(times),
            self._unit,
            x,
        )
        return x

    def _correlate(self, option: int) -> None:
        """Correlations of all options with one that is observed."""
        if not self._known[option]:
            distance = distances_to(self._model.locations, np.array([option]))
            self._columns[:, option] = self._model.kernel(distance, self._model.length_scale)[:, 0]
            self._known[option] = True

    def _make_room(self, n_new: int) -> None:
        n = int(self._count[0])
        if n + n_new <= len(self._options):
            return
        room = max(ROOM, 2 * (n + n_new))
        k, n_options = len(self._deltas), self._model.n_options
        options, g = np.empty(room, dtype=np.int64), np.empty((k, room))
        before = np.empty((k, room, n_options))
        options[:n], g[:, :n] = self._options[:n], self._g[:, :n]
        before[:, :n] = self._before[:, :n]
        self._options, self._before, self._g = options, before, g
