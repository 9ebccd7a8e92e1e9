"""Gaussian priors on theta, Eq. (6), and Jeffreys' prior: bias reduction after Firth (1993).

Both give finite estimates for every identified data set, separated or not. A Gaussian prior is a
quadratic for Newton's method; Firth's penalty is maximised here, by Fisher scoring and then Newton.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.choices import Choices
from penchant.errors import DataError, mark_argument
from penchant.softmax.likelihood import Likelihood
from penchant.softmax.newton import Maximum, Quadratic
from penchant.softmax.probabilities import log_probabilities, rows_less_expectation


@dataclass(frozen=True, eq=False)
class GaussianPrior:
    """theta ~ N(mean, covariance).

    Parameters
    ----------
    mean
        One number per parameter, or one for all.
    covariance
        Matrix, or a vector of variances, or one variance for all.

    Examples
    --------
    One choice of two options, and what was known of the weight beforehand:

    >>> import numpy as np
    >>> import penchant as pn
    >>> choices = pn.Choices.from_arrays(np.array([[[1.0], [0.0]]]), [0])
    >>> pn.fit(choices, parameter_prior=pn.GaussianPrior(2.0, 0.25)).theta.round(4)
    array([2.029])
    """

    mean: Any
    covariance: Any

    def __post_init__(self) -> None:
        mean = np.array(self.mean, dtype=np.float64)
        covariance = np.array(self.covariance, dtype=np.float64)
        if not np.isfinite(mean).all() or mean.ndim > 1:
            raise DataError(
                "mean",
                "must hold finite numbers, one per parameter",
                got=repr(self.mean),
                fix="Give a vector or one number.",
            )
        _check_covariance(covariance)
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "covariance", covariance)

    def quadratic(self, n_parameters: int, scale: Vector | None) -> Quadratic:
        """Log-density as a quadratic in theta; `scale` is not needed."""
        mean = _broadcast_to_parameters(self.mean, n_parameters, "mean")
        precision = self.precision(n_parameters)
        return with_normalizing_constant(Quadratic.from_precision(mean, precision))

    def precision(self, n_parameters: int) -> Matrix:
        """Inverse of the covariance."""
        if self.covariance.ndim < 2:
            variances = _broadcast_to_parameters(
                self.covariance, n_parameters, mark_argument("covariance")
            )
            return np.diag(1.0 / variances)
        if self.covariance.shape != (n_parameters, n_parameters):
            raise DataError(
                "covariance",
                f"must have shape ({n_parameters}, {n_parameters})",
                got=self.covariance.shape,
                fix="Give one row and column per parameter.",
            )
        sd = np.sqrt(np.diag(self.covariance))
        inverse = np.linalg.inv(self.covariance / np.outer(sd, sd)) / np.outer(sd, sd)
        return np.asarray((inverse + inverse.T) / 2)

    def __str__(self) -> str:
        return "Gaussian"


@dataclass(frozen=True)
class ScaledPrior:
    """theta ~ N(0, 1/c) for variables scaled to unit within-set root mean square.

    A prior that does not depend on units, for prediction: people separate the data more often than
    not, and maximum likelihood then predicts with certainty what does not happen. It is weak
    against choices that vary, and not against those that hardly do.

    Parameters
    ----------
    c
        How strong it is: 1 to 3 suit most predictions; 0.03 or less for parameters.

    Notes
    -----
    In natural units it draws towards chance: theta = 0 is a temperature, or decision noise, without
    end. With c = 1 a variable of root mean square 1 has a weight of order 1, so that the noise of
    players who are nearly deterministic comes back too large. Of agents of stochastic UCL on the
    paper's grid (90 choices, prior mean 60, prior variance 1000), those with a decision noise of 3
    come back at 7.0 with c = 1, 3.7 with c = 0.1, 3.2 with c = 0.03 and 3.0 with c = 0.01, in the
    median; those with 30 at 31 with c = 1. Where the parameters matter, take maximum likelihood or
    c <= 0.03.

    Examples
    --------
    A variable in other units has another weight, and the same prediction:

    >>> import numpy as np
    >>> import penchant as pn
    >>> price = np.array([[[1.0], [2.0]], [[3.0], [1.0]], [[2.0], [2.5]]])
    >>> euros = pn.Choices.from_arrays(price, [0, 1, 0])
    >>> cents = pn.Choices.from_arrays(100 * price, [0, 1, 0])
    >>> [pn.fit(sets, parameter_prior=pn.ScaledPrior()).theta.round(6) for sets in (euros, cents)]
    [array([-1.251968]), array([-0.01252])]
    """

    c: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.c) and self.c > 0):
            raise DataError("c", "must be positive", got=f"{self.c}. 1 to 3 suit most predictions")

    def quadratic(self, n_parameters: int, scale: Vector | None) -> Quadratic:
        """Log-density as a quadratic in theta."""
        if scale is None or len(scale) != n_parameters:
            raise ValueError(f"scale must hold {n_parameters} numbers; got {scale!r}.")
        # A variable that never varies in a set has no scale; any precision leaves it at 0.
        squared = np.where(scale > 0, scale, 1.0) ** 2
        return with_normalizing_constant(
            Quadratic(np.diag(self.c * squared), np.zeros(n_parameters))
        )

    def __str__(self) -> str:
        return f"weak (scaled, c = {self.c:g})"


def with_normalizing_constant(quadratic: Quadratic) -> Quadratic:
    """Quadratic with the normalising constant of a density, whose exponential integrates to 1."""
    scale = np.sqrt(np.diag(quadratic.precision))
    _, log_determinant = np.linalg.slogdet(quadratic.precision / np.outer(scale, scale))
    log_determinant += 2 * np.log(scale).sum()
    constant = 0.5 * (log_determinant - len(scale) * np.log(2 * np.pi))
    return replace(quadratic, constant=quadratic.constant + float(constant))


ParameterPrior = GaussianPrior | ScaledPrior


def _check_covariance(covariance: Matrix) -> None:
    if covariance.ndim < 2:
        if not (np.isfinite(covariance).all() and (covariance > 0).all()):
            raise DataError(
                "covariance",
                "must hold positive variances",
                got=covariance.tolist(),
                fix="Give a finite variance above 0 for every parameter.",
            )
        return
    if covariance.ndim != 2 or covariance.shape[0] != covariance.shape[1]:
        raise DataError(
            "covariance",
            "must be a square matrix or a vector",
            got=f"shape {covariance.shape}",
            fix="Give one row and column per parameter.",
        )
    size = np.sqrt(np.outer(np.abs(np.diag(covariance)), np.abs(np.diag(covariance))))
    if (
        not np.isfinite(covariance).all()
        or (np.abs(covariance - covariance.T) > 1e-10 * size).any()
    ):
        raise DataError(
            "covariance", "must be finite and symmetric", got="one that is not", fix="Correct it."
        )
    smallest = np.linalg.eigvalsh(covariance / np.where(size > 0, size, 1.0))[0]
    if not (np.diag(covariance) > 0).all() or smallest <= 0:
        raise DataError(
            "covariance",
            "must be positive definite",
            got=f"a smallest scaled eigenvalue of {smallest:.3g}",
            fix="Remove the direction without variance, or give it some.",
        )


def _broadcast_to_parameters(values: Vector, n_parameters: int, name: str) -> Vector:
    if values.ndim == 0:
        return np.full(n_parameters, float(values))
    if values.shape != (n_parameters,):
        raise DataError(
            name,
            f"must hold {n_parameters} numbers, one per parameter",
            got=len(values),
            fix="Give one per parameter, or a single number for all.",
        )
    return np.asarray(values)


@dataclass(frozen=True, slots=True)
class FirthOptions:
    """Tolerances and limits of the search for the maximum of Firth's penalised likelihood."""

    decrement_tol: float = 1e-12  # standard errors; linear convergence leaves many times this to go
    stalled_tol: float = 1e-7  # standard errors; shorter steps that gain nothing are rounding
    scoring_steps: int = 15  # then Newton's steps: each costs 2 evaluations per parameter
    max_utility_change: float = 100.0  # per step: exp(100) is still far from overflow
    max_halvings: int = 35  # 2^-35 of a step changes no digit that matters: it has failed


FIRTH = FirthOptions()


def jeffreys_gradient(theta: Vector, choices: Choices, covariance: Matrix) -> Vector:
    """Half the derivative of log det I: (1/2) tr(I^-1 dI/dtheta_a), one per parameter."""
    p = np.exp(log_probabilities(theta, choices))
    centred = rows_less_expectation(p, choices)
    leverage = np.einsum("ra,ra->r", centred @ covariance, centred)
    weights = (
        1.0 if choices.weights is None else np.repeat(choices.weights, np.diff(choices.first_row))
    )
    return np.asarray(0.5 * (weights * p * leverage) @ centred)


def first_order_bias(theta: Vector, choices: Choices, covariance: Matrix) -> Vector:
    """First-order bias of the maximum-likelihood estimate at theta: -I^-1 (1/2) tr(I^-1 dI)."""
    return -covariance @ jeffreys_gradient(theta, choices, covariance)


def maximise_firth(
    choices: Choices,
    likelihood: Likelihood,
    origin: Vector | None = None,
    basis: Matrix | None = None,
    max_steps: int = 200,
) -> Maximum:
    """Maximise l + (1/2) log det I: steps I^-1 U*, halved while the value falls.

    With `origin` and `basis`, over the plane theta = origin + basis phi.
    """
    d = likelihood.n_parameters
    theta = np.zeros(d) if origin is None else np.array(origin)
    plane = np.eye(d) if basis is None else basis
    moments = _penalised_moments(theta, choices, likelihood)
    n_steps, decrement, ending = 0, np.inf, "out of steps"
    if not np.isfinite(moments.value):
        return Maximum(theta, *moments, decrement, 0, "singular")
    largest = likelihood.largest_values_and_differences[1]
    while n_steps <= max_steps:
        slope = plane.T @ moments.gradient
        step = plane @ np.linalg.solve(plane.T @ moments.information @ plane, slope)
        decrement = float(np.sqrt(max(float(moments.gradient @ step), 0.0)))
        if decrement < FIRTH.decrement_tol:
            theta, ending = theta + step, "converged"
            break
        if n_steps >= FIRTH.scoring_steps:
            step = _newton_step(theta, step, slope, plane, choices, likelihood)
        step = step * min(
            1.0, FIRTH.max_utility_change / max(float(largest @ np.abs(step)), 1e-300)
        )
        trial = _backtrack(theta, step, moments.value, choices, likelihood)
        if trial is None:
            ending = "converged" if decrement < FIRTH.stalled_tol else "stalled"
            break
        theta, moments = trial
        n_steps += 1
    return Maximum(theta, *moments, decrement, n_steps, ending)


def _newton_step(
    theta: Vector,
    scoring: Vector,
    slope: Vector,
    plane: Matrix,
    choices: Choices,
    likelihood: Likelihood,
) -> Vector:
    """Newton step with the penalised Hessian by differences; the scoring step if not concave."""
    columns = []
    for direction in plane.T:
        # central differences: error of order 1e-8, in units of the direction
        size = 1e-4 * max(abs(float(direction @ theta)), 1e-2 / max(np.abs(direction).max(), 1e-9))
        up = _penalised_moments(theta + size * direction, choices, likelihood).gradient
        down = _penalised_moments(theta - size * direction, choices, likelihood).gradient
        columns.append(-(plane.T @ (up - down)) / (2 * size))
    curvature = np.column_stack(columns)
    values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
    if not values[0] > 0:
        return scoring
    return np.asarray(plane @ (vectors @ ((vectors.T @ slope) / values)))


def _backtrack(
    theta: Vector, step: Vector, value: float, choices: Choices, likelihood: Likelihood
) -> tuple[Vector, _PenalisedMoments] | None:
    """Longest of step, step/2, step/4 ... that does not lower the value, with its moments."""
    for _ in range(FIRTH.max_halvings):
        trial = _penalised_moments(theta + step, choices, likelihood)
        if trial.value >= value - 1e-13 * (1.0 + abs(value)):
            return theta + step, trial
        step = step / 2
    return None


class _PenalisedMoments(NamedTuple):
    """Penalised log-likelihood, its gradient, and the information of the likelihood alone."""

    value: float
    gradient: Vector
    information: Matrix


def _penalised_moments(
    theta: Vector, choices: Choices, likelihood: Likelihood
) -> _PenalisedMoments:
    """Penalised log-likelihood with its moments; -inf where the information is singular."""
    moments = likelihood.moments(theta)
    scale = np.sqrt(np.maximum(np.diag(moments.information), 0.0))
    if not (scale > 1e-150).all():  # the square of less underflows
        return _PenalisedMoments(-np.inf, moments.gradient, moments.information)
    # of the correlation matrix: of the covariance, it would depend on the units of variables
    sign, log_determinant = np.linalg.slogdet(moments.information / np.outer(scale, scale))
    if not sign > 0:
        return _PenalisedMoments(-np.inf, moments.gradient, moments.information)
    half = 0.5 * float(log_determinant) + float(np.log(scale).sum())
    covariance = np.linalg.inv(moments.information / np.outer(scale, scale))
    covariance /= np.outer(scale, scale)
    slope = jeffreys_gradient(theta, choices, covariance)
    value, gradient = moments.log_likelihood + half, moments.gradient + slope
    return _PenalisedMoments(value, gradient, moments.information)
