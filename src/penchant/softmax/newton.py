"""Newton's method with step halving for the concave problem, Eqs. (4) and (6).

The step and its control are compiled (`_likelihood_kernels.advance`); here they meet a likelihood
of any kind, in memory or chunked, on the whole space or restricted to an affine subspace.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.softmax import _likelihood_kernels as kernels
from penchant.softmax.likelihood import Likelihood, Moments, lower_triangle

# Standard errors. Where rounding slows the last steps, shorter ones change no reported digit, and
# the search counts as converged.
SLOW_DECREMENT_TOL = 1e-7
ENDINGS = {
    kernels.CONVERGED: "converged",
    kernels.MOVED: "out of steps",
    kernels.STALLED: "stalled",
    kernels.SINGULAR: "singular",
    kernels.SLOW: "slow",
}
UNDECIDED = "undecided"  # neither a maximum nor separation was proven: not to be reported as either


@dataclass(frozen=True)
class Quadratic:
    """A concave quadratic added to the log-likelihood: -theta'P theta/2 + b'theta + constant."""

    precision: Matrix
    linear: Vector
    constant: float = 0.0

    @classmethod
    def none(cls, n_parameters: int) -> Quadratic:
        """Zero quadratic: maximum likelihood."""
        return cls(np.zeros((n_parameters, n_parameters)), np.zeros(n_parameters))

    @classmethod
    def from_precision(cls, mean: Vector, precision: Matrix) -> Quadratic:
        """Log-density of N(mean, precision^-1), less its normalising constant."""
        linear = precision @ mean
        return cls(precision, linear, -0.5 * float(mean @ linear))

    def restricted_to(self, origin: Vector, basis: Matrix) -> Quadratic:
        """Quadratic as a function of phi, where theta = origin + basis phi."""
        at_origin = self.precision @ origin
        return Quadratic(
            basis.T @ self.precision @ basis,
            basis.T @ (self.linear - at_origin),
            self(origin),
        )

    def __call__(self, theta: Vector) -> float:
        """Value at theta."""
        return self.constant + float(theta @ (self.linear - 0.5 * (self.precision @ theta)))


@dataclass(frozen=True)
class Maximum:
    """Last iterate of Newton's method, with the reason why it ended.

    `information` is that of the whole objective, a quadratic included; `decrement` is the length
    of the last step in standard errors.
    """

    theta: Vector
    value: float
    gradient: Vector
    information: Matrix
    decrement: float
    n_steps: int
    ending: str


def maximise(
    likelihood: Likelihood,
    quadratic: Quadratic | None = None,
    start: Vector | None = None,
    max_steps: int = 100,
    ignore_slow_steps: bool = False,
) -> Maximum:
    """Maximise the log-likelihood plus a quadratic.

    Full steps, halved while the value falls; the end is a decrement below 1e-10, and one step more.
    Unless `ignore_slow_steps`, it stops as "slow" when steps stop shrinking as they do near a
    finite maximum: the sign of a supremum at infinity.
    """
    d = likelihood.n_parameters
    added = Quadratic.none(d) if quadratic is None else quadratic
    theta = np.zeros(d) if start is None else np.array(start, dtype=np.float64)
    best, step, gradient = theta.copy(), np.zeros(d), np.zeros(d)
    information, progress = np.zeros((d, d)), np.array(kernels.NEWTON_START)
    # preallocated: the kernels overwrite them, as they cannot allocate
    state = (best, step, information, gradient)
    code = kernels.MOVED
    prior, workspace = (added.precision, added.linear), np.empty((d + 2, d))
    while _should_continue(code, progress, max_steps, ignore_slow_steps):
        sums = _moments_as_kernel_vector(likelihood.moments(theta))
        code = kernels.take_newton_step(sums, *prior, theta, *state, progress, workspace)
    # the caller knows that there is a maximum: slowness is no sign of separation
    if ignore_slow_steps and code == kernels.SLOW:
        code = kernels.CONVERGED
    if start is not None and np.any(start) and code in (kernels.SINGULAR, kernels.STALLED):
        # So far out that every choice is certain: the answer does not depend on the start.
        return maximise(likelihood, quadratic, None, max_steps, ignore_slow_steps)
    polished = code == kernels.CONVERGED  # theta is one step beyond the best point evaluated
    return Maximum(
        theta=theta if polished else best,
        value=float(progress[kernels.BEST_VALUE]) + added.constant,
        gradient=gradient,
        information=information,
        decrement=float(progress[kernels.DECREMENT]),
        n_steps=int(progress[kernels.N_STEPS]),
        ending=ENDINGS[code],
    )


def _should_continue(code: int, progress: Vector, max_steps: int, patient: bool) -> bool:
    """Whether another step is to be taken."""
    if code == kernels.SLOW and patient:
        return bool(
            progress[kernels.DECREMENT] > SLOW_DECREMENT_TOL
            and progress[kernels.N_STEPS] < max_steps
        )
    return bool(code == kernels.MOVED and progress[kernels.N_STEPS] < max_steps)


def _moments_as_kernel_vector(moments: Moments) -> Vector:
    lower = lower_triangle(len(moments.gradient))
    return np.concatenate(([moments.log_likelihood], -moments.gradient, moments.information[lower]))


@dataclass(frozen=True)
class RestrictedLikelihood:
    """A likelihood on the plane theta = origin + basis phi, as a function of phi."""

    likelihood: Likelihood
    origin: Vector
    basis: Matrix

    @property
    def n_parameters(self) -> int:
        """Dimension of the plane."""
        return int(self.basis.shape[1])

    @property
    def largest_values_and_differences(self) -> Matrix:
        """Bounds of the largest |x| and |x_i - x_chosen| of each direction of the plane."""
        return self.likelihood.largest_values_and_differences @ np.abs(self.basis)

    def moments(self, phi: Vector) -> Moments:
        """Log-likelihood, gradient and information with respect to phi."""
        whole = self.likelihood.moments(self.origin + self.basis @ phi)
        return Moments(
            whole.log_likelihood,
            self.basis.T @ whole.gradient,
            self.basis.T @ whole.information @ self.basis,
        )

    def scatter_within_sets(self) -> Matrix:
        """Within-set spread of the directions of the plane."""
        return self.basis.T @ self.likelihood.scatter_within_sets() @ self.basis
