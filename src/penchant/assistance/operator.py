"""What the machine knows of its operator while they play: a Laplace state.

Weights have a Gaussian prior, from episodes without assistance; the choices of this episode are
added row by row at fixed shape parameters, and the mode follows by Newton steps now and then. The
exact fit is done between episodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.bandit.episode import Episode
from penchant.bandit.locations import distances
from penchant.inference.fit import fit_model
from penchant.models.spatial.map_basis import MapPrior
from penchant.models.spatial.ucl import UCL

STEPS = 2
EARLY, EVERY = 12, 3  # choices that Newton steps follow each, and between them later
LOOSE = 0.5  # relative sd of 1/nu before this episode's choices


@dataclass(frozen=True)
class Known:
    """What episodes without assistance told of an operator.

    Attributes
    ----------
    noise, precision
        nu, and delta.
    width
        Standard deviation of a map, in units of rewards.
    level
        What is expected of every option.
    converged
        Whether the fit did.
    """

    noise: float
    precision: float
    width: float
    level: float
    converged: bool

    @classmethod
    def nothing(cls, model: UCL, mean: float, sd: float) -> Known:
        """Of somebody nobody has seen: as uncertain as the machine, noisy by half of it."""
        return cls(sd / 2, model.noise_variance / sd**2, sd, mean, False)


@dataclass(frozen=True, eq=False)
class Seen:
    """An episode without assistance, and what was read from it."""

    known: Known
    belief: Vector


def read_episode(model: UCL, episode: Episode) -> Seen | None:
    """Noise, precision and map of an episode by itself; None where it tells nothing."""
    if not episode.n_decisions:
        return None
    estimate = fit_model((episode,), model, parameter_prior=MapPrior())
    if not np.isfinite(estimate.theta).all() or estimate.weights[0] <= 0:
        return None
    found = estimate.belief_map()
    good = estimate.status in ("converged", "weakly identified", "at a bound")
    slope, precision = float(estimate.weights[0]), float(estimate.psi[0])
    return Seen(Known(1 / slope, precision, found.width, found.level, good), found.mean)


def together(seen: list[Known]) -> Known:
    """What several episodes say of one operator: geometric means, and the mean level."""
    noise, precision, width = (
        float(np.exp(np.mean([np.log(getattr(one, name)) for one in seen])))
        for name in ("noise", "precision", "width")
    )
    level = float(np.mean([one.level for one in seen]))
    return Known(noise, precision, width, level, any(one.converged for one in seen))


@dataclass
class OperatorState:
    """The operator in one episode: beliefs for every function of the map, and what was chosen."""

    model: UCL
    known: Known
    b: Vector
    share: Matrix
    covariance: Matrix
    theta: Vector
    prior_mean: Vector
    prior_precision: Matrix
    time: int = 1
    past: list[int] = field(default_factory=list)
    rows: list[Matrix] = field(default_factory=list)
    chosen: list[int] = field(default_factory=list)
    n_steps: int = 0
    settled: bool = True

    @classmethod
    def before_play(cls, model: UCL, known: Known) -> OperatorState:
        """Nothing was chosen yet."""
        assert model.prior_map is not None
        n = model.n_options
        scale = model.length_scale if model.length_scale is not None else 0.0
        correlation = model.kernel(distances(model.locations), float(scale))
        functions = np.column_stack([np.ones(n), model.prior_map.functions])
        d = len(model.weights)
        mean, precision = np.zeros(d), np.zeros(d)
        slope = 1.0 / known.noise
        mean[:2] = slope, known.level * slope
        precision[:2] = (LOOSE * slope) ** -2.0, (2 * known.width * slope) ** -2.0
        precision[model.map_weights] = (known.width * slope) ** -2.0
        precision[precision == 0] = 1.0  # terms of locality, in log-odds
        return cls(
            model,
            known,
            np.zeros(n),
            functions,
            correlation / known.precision,
            mean.copy(),
            mean,
            np.diag(precision),
        )

    def variables(self) -> Matrix:
        """Explanatory variables of the next decision: (n_options, n_weights)."""
        model = self.model
        t = np.array([float(self.time)])
        z, cooled = float(model.credible_z(t)[0]), float(model.inverse_temperature(t)[0])
        sd = np.sqrt(model.noise_variance * np.diagonal(self.covariance))
        columns = [(self.b + sd * z) * cooled, *(self.share * cooled).T, *self._near()]
        return np.column_stack(columns)

    def _near(self) -> list[Vector]:
        model, n = self.model, self.model.n_options
        if not model.terms:
            return []
        if not self.past:
            return [np.zeros(n) for _ in model.terms]
        happened = Episode([*self.past, 0], [*np.zeros(len(self.past)), np.nan])
        bare = replace(model, prior_map=None)
        x = bare.explanatory(happened, self.known.precision)[-1]
        return list(x[:, -len(model.terms) :].T)

    def objective(self) -> Vector:
        """Of every option, as the model of the operator says."""
        return np.asarray(self.variables() @ self.theta)

    def choose(self, option: int) -> float:
        """Add a choice; returns the log-probability that it had before."""
        x = self.variables()
        q = x @ self.theta
        q = q - q.max()
        log_p = float(q[option] - np.log(np.exp(q).sum()))
        self.rows.append(x - x[option])
        self.chosen.append(option)
        if len(self.rows) <= EARLY or len(self.rows) % EVERY == 0:
            self.settle(STEPS)
        return log_p

    def settle(self, n_steps: int) -> None:
        """Newton steps towards the mode of this episode's posterior."""
        if not self.rows:
            return
        x = np.stack(self.rows)
        before = self._value(self.theta, x)
        for _ in range(n_steps):
            gradient, information = self._slopes(self.theta, x)
            step = np.linalg.solve(information, gradient)
            share, after = 1.0, -np.inf
            while share > 1e-3:
                trial = self.theta + share * step
                after = self._value(trial, x) if trial[0] > 0 else -np.inf
                if after >= before - 1e-9:
                    break
                share /= 2
            self.settled = after >= before - 1e-9
            if not self.settled:
                return
            self.theta, before = self.theta + share * step, after
            self.n_steps += 1

    def _value(self, theta: Vector, x: Matrix) -> float:
        q = x @ theta
        away = theta - self.prior_mean
        top = q.max(axis=1)
        chosen = -(top + np.log(np.exp(q - top[:, None]).sum(axis=1))).sum()
        return float(chosen - 0.5 * away @ self.prior_precision @ away)

    def _slopes(self, theta: Vector, x: Matrix) -> tuple[Vector, Matrix]:
        q = x @ theta
        p = np.exp(q - q.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        mean = np.einsum("ti,tid->td", p, x)
        flat = (np.sqrt(p)[:, :, None] * x).reshape(-1, x.shape[2])
        information = flat.T @ flat - mean.T @ mean + self.prior_precision
        return -mean.sum(axis=0) - self.prior_precision @ (theta - self.prior_mean), information

    def observe(self, option: int, reward: float) -> None:
        """What was executed moves the operator's beliefs."""
        row = self.covariance[option].copy()
        gain = row / (1.0 + row[option])
        self.b = self.b + gain * (reward - self.b[option])
        self.share = self.share - np.outer(gain, self.share[option])
        self.covariance = self.covariance - np.outer(gain, row)
        self.past.append(option)

    def tick(self) -> None:
        """A decision is over."""
        self.time += 1

    def belief_sd(self) -> Vector:
        """Standard deviation of that map at every option."""
        assert self.model.prior_map is not None
        functions, where = self.model.prior_map.functions, self.model.map_weights
        precision = self.prior_precision
        if self.rows:
            precision = self._slopes(self.theta, np.stack(self.rows))[1]
        spread = np.linalg.inv(precision)[where, where] / self.theta[0] ** 2
        return np.asarray(np.sqrt(np.einsum("ij,jk,ik->i", functions, spread, functions)))

    def belief(self) -> Vector:
        """The map that the operator seems to have had in mind, from its level."""
        assert self.model.prior_map is not None
        if self.theta[0] <= 0:
            return np.zeros(self.model.n_options)
        found = self.model.prior_map.functions @ (self.theta[self.model.map_weights])
        return np.asarray(found / self.theta[0])
