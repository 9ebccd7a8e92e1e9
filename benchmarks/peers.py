"""The same estimate by Penchant and by others: one function each, arrays in, answer out.

Every function does the whole job: from arrays as that library wants them to weights, their
covariance and the log-likelihood. Arrays in the peer's own layout are made before the clock starts
(`Problem` in, arguments out: the `*_input` functions), so that the peers are shown at their best.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from problems import Array, Problem

import penchant as pn


@dataclass(frozen=True)
class Answer:
    """Weights, their covariance and the log-likelihood there."""

    theta: Array
    covariance: Array
    log_likelihood: float


def penchant_fit(problem: Problem, threads: int = 1) -> Answer:
    """Penchant: an `Estimate` with covariance and diagnostics."""
    choices = pn.Choices.from_arrays(problem.explanatory, problem.chosen)
    estimate = pn.fit(choices, threads=threads)
    return Answer(estimate.theta, estimate.covariance, estimate.log_likelihood)


def penchant_fit_each(problem: Problem, threads: int = 1) -> Answer:
    """Penchant: `Estimates` of all subjects, with covariances and statuses."""
    estimates = _estimates(problem, threads)
    return Answer(estimates.theta, estimates.covariance, float(estimates.log_likelihood.sum()))


def penchant_fit_each_unfolded(problem: Problem) -> Answer:
    """Penchant: the same, and every subject's `Estimate` object made as well."""
    estimates = _estimates(problem, 1)
    total = sum(estimate.log_likelihood for estimate in estimates)
    return Answer(estimates.theta, estimates.covariance, float(total))


def _estimates(problem: Problem, threads: int) -> pn.results.Estimates:
    choices = pn.Choices.from_arrays(problem.explanatory, problem.chosen, subject=problem.subject)
    return pn.fit_each(choices, threads=threads)


LongArrays = tuple[Array, Array, Array, Array]


def long_input(problem: Problem) -> LongArrays:
    """Long layout: variables, 0/1 choice, option and decision of each row."""
    n, m, d = problem.shape
    picked = np.zeros((n, m))
    picked[np.arange(n), problem.chosen] = 1.0
    return (
        problem.explanatory.reshape(n * m, d),
        picked.ravel(),
        np.tile(np.arange(m), n),
        np.repeat(np.arange(n), m),
    )


def xlogit(arrays: LongArrays) -> Answer:
    """Fit by xlogit as it comes: BFGS, then standard errors from a numerical Hessian."""
    return _xlogit(arrays, num_hess=True)


def xlogit_rough(arrays: LongArrays) -> Answer:
    """Fit by xlogit without the Hessian: the covariance is BFGS's own guess."""
    return _xlogit(arrays, num_hess=False)


def _xlogit(arrays: LongArrays, num_hess: bool) -> Answer:
    from xlogit import MultinomialLogit

    x, picked, options, decisions = arrays
    names = [f"x{a}" for a in range(x.shape[1])]
    model = MultinomialLogit()
    model.fit(x, picked, names, options, decisions, verbose=0, num_hess=num_hess)
    return Answer(model.coeff_, model.covariance, float(model.loglikelihood))


def statsmodels_phreg(arrays: LongArrays) -> Answer:
    """Fit by statsmodels as a Cox model: a decision is a stratum, the choice its one event."""
    from statsmodels.duration.hazard_regression import PHReg

    x, picked, _, decisions = arrays
    model = PHReg(2.0 - picked, x, status=picked, strata=decisions, ties="breslow")
    result = model.fit(disp=0)
    return Answer(result.params, result.cov_params(), float(result.llf))


def statsmodels_conditional(arrays: LongArrays) -> Answer:
    """Fit by statsmodels as a conditional logit with one success in each group."""
    from statsmodels.discrete.conditional_models import ConditionalLogit

    x, picked, _, decisions = arrays
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = ConditionalLogit(picked, x, groups=decisions).fit(disp=0)
    return Answer(result.params, result.cov_params(), float(result.llf))


def _relative(problem: Problem) -> Array:
    """Variables relative to the option chosen."""
    x = problem.explanatory
    return x - np.take_along_axis(x, problem.chosen[:, None, None], axis=1)


def scipy_bfgs(problem: Problem) -> Answer:
    """Fit by scipy's BFGS on the mean log-likelihood in NumPy, with its analytic gradient."""
    from scipy.optimize import minimize

    n, m, d = problem.shape
    z = _relative(problem).reshape(n * m, d)

    def loss(theta: Array) -> tuple[float, Array]:
        q = (z @ theta).reshape(n, m)
        top = q.max(axis=1, keepdims=True)
        e = np.exp(q - top)
        mass = e.sum(axis=1, keepdims=True)
        value = (np.log(mass) + top).sum()
        return value / n, (e / mass).ravel() @ z / n

    found = minimize(loss, np.zeros(d), jac=True, method="BFGS")
    return Answer(found.x, found.hess_inv / n, -n * found.fun)


def numpy_newton(problem: Problem) -> Answer:
    """Fit by Newton's method in a dozen lines of NumPy, without checks or line search."""
    n, m, d = problem.shape
    z = _relative(problem)
    flat = z.reshape(n * m, d)
    theta = np.zeros(d)
    for _ in range(50):
        q = z @ theta
        top = q.max(axis=1, keepdims=True)
        e = np.exp(q - top)
        mass = e.sum(axis=1, keepdims=True)
        p = e / mass
        mean = np.matmul(p[:, None, :], z)[:, 0]
        information = (flat * p.reshape(-1, 1)).T @ flat - mean.T @ mean
        step = np.linalg.solve(information, -mean.sum(axis=0))
        theta = theta + step
        if step @ information @ step < 1e-16:
            break
    value = -float((np.log(mass) + top).sum())
    return Answer(theta, np.linalg.inv(information), value)


def one_by_one(
    fit: Callable[..., Answer], inputs: Callable[[Problem], object], problem: Problem, n_fits: int
) -> Callable[[], Answer]:
    """Return a loop of a peer over the first `n_fits` subjects, inputs ready beforehand."""
    ready = [inputs(problem.one(s)) for s in range(n_fits)]

    def loop() -> Answer:
        answers = [fit(each) for each in ready]
        return Answer(
            np.array([a.theta for a in answers]),
            np.array([a.covariance for a in answers]),
            float(sum(a.log_likelihood for a in answers)),
        )

    return loop
