"""The paper's estimator: the model linearised about a nominal point, Eqs. (16) to (26).

About nominal shape parameters psi-bar and nominal ratios rho of the weights to the first one, the
objective is to first order

    theta_1 x_1 + sum_a theta_a x_a + sum_q theta_q d_q,

with x_1 = sum_a rho_a x_a(psi-bar), the other variables themselves, and d_q = sum_a rho_a
dx_a/dpsi_q.
Back: ratio_a = rho_a + theta_a / theta_1, psi_q = psi-bar_q + theta_q / theta_1. For stochastic UCL
these are x_1, x_2, x_3 (and x_4 for the length scale) of the paper.

Notes
-----
Paper: Eqs. (19) and (21) print mean rewards where the dimensions need the rewards themselves. The
coordinate delta is the paper's; sigma0 fits the same columns but maps back with less curvature.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.bandit.episode import Episode
from penchant.bandit.reward_prior import RewardPrior
from penchant.choices import Choices, NaturalParameters
from penchant.errors import DataError, PenchantWarning
from penchant.inference.estimate import ModelEstimate
from penchant.inference.predicting import as_episodes
from penchant.inference.problem import Problem
from penchant.inference.search import climb, grid_search
from penchant.inference.verdicts import estimate_at
from penchant.models.model import Model, natural_parameters
from penchant.models.ucl import UCL
from penchant.softmax.constraints import Constraints
from penchant.softmax.estimate import Estimate
from penchant.softmax.fit import fit as fit_choices
from penchant.softmax.probabilities import decision_log_likelihoods

LARGEST_RATIO = 1.0  # a deviation larger than the nominal value is not a small one
Coordinate = Literal["delta", "sigma0"]
Nominal = RewardPrior | Mapping[str, float]


@dataclass(frozen=True)
class BackMap:
    """From theta of the linearised model to natural parameters; picklable."""

    model: Model
    psi: Vector
    ratios: Vector
    coordinate: Coordinate

    def weights_and_shape(self, theta: Vector) -> tuple[Vector, Vector]:
        """Weights and shape parameters of the model itself."""
        d = len(self.ratios)
        weights = theta[0] * self.ratios
        weights[1:] += theta[1:d]
        deviation = theta[d:] / theta[0]
        psi = self.psi + deviation
        if self.coordinate == "sigma0":
            relative = 1.0 - deviation[0] / (2.0 * self.psi[0])
            psi[0] = self.psi[0] / relative**2 if relative > 0 else np.nan
        return weights, psi

    def values(self, theta: Vector) -> Vector:
        """Natural parameters; NaN where theta lies outside the model."""
        weights, psi = self.weights_and_shape(theta)
        found = [n.value(weights, psi) for n in natural_parameters(self.model)]
        return np.array(found) if self.inside(theta) else np.full(len(found), np.nan)

    def inside(self, theta: Vector) -> bool:
        """Whether theta gives parameters that the model can have."""
        _, psi = self.weights_and_shape(theta)
        lowest = [0.0 if s.scale == "log" else -np.inf for s in self.model.shape]
        return bool(theta[0] > 0 and np.isfinite(psi).all() and (psi > lowest).all())

    def jacobian(self, theta: Vector) -> Matrix:
        """Derivatives of the natural parameters, by complex-free central differences."""
        columns = []
        for a in range(len(theta)):
            h = 1e-6 * max(abs(theta[a]), 1e-6 * abs(theta[0]) * max(1.0, *self.psi.tolist()))
            step = np.where(np.arange(len(theta)) == a, h, 0.0)
            columns.append((self.values(theta + step) - self.values(theta - step)) / (2 * h))
        return np.column_stack(columns)


@dataclass(frozen=True, eq=False, repr=False)
class LinearizedEstimate:
    """The paper's estimate, with its range of validity.

    Attributes
    ----------
    estimate
        theta, covariance, status of the linear problem; its `parameters` are natural.
    nominal_psi, nominal_ratios
        The point linearised about.
    ratio
        Deviation of the first shape parameter over its nominal value: Delta_delta / delta-bar.
    bounds
        Where that ratio must lie for the linearisation to mean anything.
    exact_log_likelihood
        Of the model itself at the parameters found; NaN if they lie outside the model.
    """

    estimate: Estimate
    model: Model
    nominal_psi: Vector
    nominal_ratios: Vector
    ratio: float
    bounds: tuple[float, float]
    exact_log_likelihood: float
    weights: Vector
    psi: Vector

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "estimate":
            raise AttributeError(name)
        return getattr(self.estimate, name)

    @property
    def valid(self) -> bool:
        """The deviation is no larger than the nominal value, and the parameters are possible."""
        return small_deviation(self.ratio, self.bounds) and bool(
            np.isfinite(self.exact_log_likelihood)
        )

    def __str__(self) -> str:
        return self.estimate.summary()

    def __repr__(self) -> str:
        inside = "valid" if self.valid else "outside its range of validity"
        return f"<LinearizedEstimate {self.estimate.status}, {inside}: ratio {self.ratio:.4g}>"


def small_deviation(ratio: float, bounds: tuple[float, float]) -> bool:
    """Whether the deviation is inside its bounds and small beside the nominal value."""
    low, high = bounds
    return bool(low < ratio < min(high, LARGEST_RATIO))


def fit_linearized(
    episodes: Episode | Sequence[Episode],
    model: Model,
    *,
    nominal: Nominal,
    coordinate: Coordinate = "delta",
    constrained: bool = False,
) -> LinearizedEstimate:
    """Fit the model linearised about a nominal point, as the paper does.

    Parameters
    ----------
    episodes
        They share all parameters.
    model
        `UCL`, or any model.
    nominal
        `RewardPrior(mean, variance)` for UCL. For other models {name: value} of the shape
        parameters, and of weights other than the first as ratios to it (0 if not given).
    coordinate
        How the deviation of delta maps back: "delta" as in the paper, or "sigma0".
    constrained
        Hold theta_1 > 0 and the deviation inside its bounds.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.UCL(locations=pn.grid(10, 10), noise_variance=0.01, length_scale=1.0)
    >>> truth = {"decision_noise": 4.0, "prior_mean": 200.0, "prior_variance": 1.0}
    >>> place = pn.landscape_a(noise=pn.GaussianNoise(0.01))
    >>> rng = np.random.default_rng(3)
    >>> episode = pn.simulate(place, model, truth, n_decisions=100, rng=rng)
    >>> found = pn.fit_linearized(episode, model, nominal=pn.RewardPrior(mean=150, variance=2))
    >>> [(p.name, float(f"{p.estimate:.3g}")) for p in found.parameters]
    [('decision_noise', 3.84), ('prior_mean', 199.0), ('prior_variance', 1.36)]
    """
    problem = Problem(model, as_episodes(episodes))
    psi, ratios = nominal_point(model, nominal)
    back = BackMap(model, psi, ratios, coordinate)
    choices = linearized_choices(problem, psi, ratios).with_natural(
        NaturalParameters(
            tuple(n.name for n in natural_parameters(model)), back.values, back.jacobian
        )
    )
    low, high = validity_bounds(problem, psi)
    limits = _constraints(choices, psi, len(ratios), high) if constrained else None
    estimate = fit_choices(choices, constraints=limits)
    found = _with_validity(problem, estimate, back, (low, high))
    if not found.valid and np.isfinite(found.ratio):
        _warn(found)
    return found


def nominal_point(model: Model, nominal: Nominal) -> tuple[Vector, Vector]:
    """Nominal psi and ratios of the weights to the first."""
    if isinstance(nominal, RewardPrior):
        if not isinstance(model, UCL):
            raise DataError(
                "nominal must be a mapping for this model; got a RewardPrior. "
                "Give {name: value} of its shape parameters."
            )
        psi = [nominal.relative_precision(model.noise_variance)]
        if model.length_scale is None:
            if nominal.length_scale is None:
                raise DataError(
                    "nominal must have a length_scale where the model estimates it; got none. "
                    "Give RewardPrior(mean, variance, length_scale)."
                )
            psi.append(nominal.length_scale)
        extra = [] if model.bonus == "known" else [float(np.sqrt(model.noise_variance))]
        return np.array(psi), np.array([1.0, nominal.mean, *extra])
    missing = [s.name for s in model.shape if s.name not in nominal]
    if missing:
        raise DataError(
            f"nominal must hold {', '.join(s.name for s in model.shape)}; "
            f"got none for {', '.join(missing)}. Give all shape parameters."
        )
    psi_values = np.array([float(nominal[s.name]) for s in model.shape])
    ratios = [1.0, *(float(nominal.get(name, 0.0)) for name in model.weights[1:])]
    return psi_values, np.array(ratios)


def linearized_choices(problem: Problem, psi: Vector, ratios: Vector) -> Choices:
    """The columns x_1, x_2 ... of the linearised model."""
    x, slopes = problem.variables_and_slopes(psi)
    columns = [x @ ratios, *(x[..., a] for a in range(1, x.shape[-1]))]
    columns += [slope @ ratios for slope in slopes]
    names = [f"theta{a + 1}" for a in range(len(columns))]
    return Choices.from_arrays(np.stack(columns, axis=-1), problem.chosen, names=names)


def validity_bounds(problem: Problem, psi: Vector) -> tuple[float, float]:
    """Bounds of Delta_delta / delta-bar: delta stays positive, and so does every linearised sd."""
    if not isinstance(problem.model, UCL):
        return -1.0, np.inf
    highest = np.inf
    for episode in problem.episodes:
        known = problem.model.beliefs(episode, psi.tolist(), 1)
        variance, slope = known.variance[0], known.variance[1]
        highest = min(highest, float((2.0 * variance / -slope).min()))
    return -1.0, highest / float(psi[0])


def _constraints(choices: Choices, psi: Vector, d: int, high: float) -> Constraints:
    """theta_1 >= 0, delta-bar theta_1 + theta_q >= 0, theta_q <= high delta-bar theta_1."""
    n = choices.n_parameters
    first = np.eye(n)[0]
    rows = [first, psi[0] * first + np.eye(n)[d]]
    labels = ["theta1 >= 0", "delta >= 0"]
    if np.isfinite(high):
        rows.append(high * psi[0] * first - np.eye(n)[d])
        labels.append("every linearised standard deviation >= 0")
    return Constraints(np.array(rows), np.zeros(len(rows)), tuple(labels))


def _with_validity(
    problem: Problem, estimate: Estimate, back: BackMap, bounds: tuple[float, float]
) -> LinearizedEstimate:
    d = len(back.ratios)
    theta = estimate.theta
    known = bool(np.isfinite(theta).all()) and theta[0] != 0
    ratio = float(theta[d] / theta[0] / back.psi[0]) if known and len(theta) > d else np.nan
    weights, psi = np.full(d, np.nan), np.full(len(back.psi), np.nan)
    exact = np.nan
    if known and back.inside(theta):
        weights, psi = back.weights_and_shape(theta)
        exact = float(decision_log_likelihoods(weights, problem.choices(psi)).sum())
    return LinearizedEstimate(
        estimate=replace(estimate, notes=(*estimate.notes, *_notes(ratio, bounds, exact))),
        model=problem.model,
        nominal_psi=back.psi,
        nominal_ratios=back.ratios,
        ratio=ratio,
        bounds=bounds,
        exact_log_likelihood=exact,
        weights=weights,
        psi=psi,
    )


def _notes(ratio: float, bounds: tuple[float, float], exact: float) -> tuple[str, ...]:
    """The range of validity, on every result."""
    low, high = bounds
    said = f"Linearised: Delta / nominal = {ratio:.4g}, bounds {low:.4g} and {high:.4g}"
    small = small_deviation(ratio, bounds)
    ending = "." if small else ": not small, so re-linearise or use the exact fit."
    likelihood = (
        f"Exact log-likelihood there: {exact:.4f}."
        if np.isfinite(exact)
        else "The parameters found lie outside the model: no natural parameters."
    )
    return said + ending, likelihood


def _warn(found: LinearizedEstimate) -> None:
    low, high = found.bounds
    warnings.warn(
        PenchantWarning(
            f"The linearised estimate lies {found.ratio:.4g} nominal values from its nominal point "
            f"(bounds {low:.4g} and {high:.4g}), which is not a small deviation: its shape "
            "parameters mean nothing. Re-linearise with relinearize, or use the exact fit.",
            "linearisation",
        ),
        stacklevel=3,
    )


def compare_nominals(
    episodes: Episode | Sequence[Episode], model: Model, nominals: Sequence[Nominal]
) -> list[LinearizedEstimate]:
    """Linearised fits about several points, the highest *exact* log-likelihood first.

    Parameters
    ----------
    episodes, model
        As in `fit_linearized`.
    nominals
        The points, each as `nominal` of `fit_linearized`.

    Notes
    -----
    Paper: linearisation points are to be compared by their likelihood; linearised likelihoods of
    different points belong to different models, so the exact one must be used.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PenchantWarning)
        fits = [fit_linearized(episodes, model, nominal=nominal) for nominal in nominals]
    return sorted(fits, key=lambda f: np.nan_to_num(f.exact_log_likelihood, nan=-np.inf))[::-1]


def relinearize(
    episodes: Episode | Sequence[Episode], model: Model, *, nominal: Nominal, max_steps: int = 200
) -> ModelEstimate:
    """Linearise again about the last estimate until nothing moves: the exact estimate.

    Each step is halved until the exact likelihood rises.

    Parameters
    ----------
    episodes, model, nominal
        As in `fit_linearized`; the answer does not depend on the point one starts from unless the
        likelihood has several peaks.
    max_steps
        Linearisations allowed.
    """
    problem = Problem(model, as_episodes(episodes))
    psi, _ = nominal_point(model, nominal)
    low, high = problem.bounds[:, 0], problem.bounds[:, 1]
    u = np.clip(problem.to_search(psi), low, high)
    value, theta = _exact(problem, u)
    for _ in range(max_steps):
        step = _linearized_step(problem, u, theta)
        trial = None
        while float(np.abs(step).max()) > 1e-10:
            at = np.clip(u + step, low, high)
            trial = _exact(problem, at)
            if trial[0] > value:
                break
            trial, step = None, step / 2
        if trial is None:
            break
        u, (value, theta) = at, trial
    peak = climb(problem, problem.from_search(u))
    return estimate_at(problem, grid_search(problem.profiles)[0][0], peak)


def _exact(problem: Problem, u: Vector) -> tuple[float, Vector]:
    found = problem.inner(problem.choices(problem.from_search(u)))
    return found.value, found.theta


def _linearized_step(problem: Problem, u: Vector, theta: Vector) -> Vector:
    """Deviation of psi that the linearised model asks for, in search units, at most 2."""
    psi = problem.from_search(u)
    if not theta[0] > 0:
        return np.full(len(psi), 0.5)
    choices = linearized_choices(problem, psi, theta / theta[0])
    found = fit_choices(choices)
    if not np.isfinite(found.theta).all() or found.theta[0] <= 0:
        return np.full(len(psi), 0.5)
    deviation = found.theta[len(theta) :] / found.theta[0]
    step = deviation / problem.stretch(psi)
    return np.asarray(np.clip(step, -2.0, 2.0))
