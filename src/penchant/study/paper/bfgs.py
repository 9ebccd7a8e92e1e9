"""Where a quasi-Newton optimiser stops, and what it reports, on choices without an estimate.

The paper's estimates come from BFGS (Matlab's fminunc). On separated choices the log-likelihood has
no maximum: it rises for ever towards a supremum. An optimiser that starts at 0 stops where the
slope falls below its tolerance, and calls it success.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from penchant._progress import progress
from penchant._typing import BoolVector, IntVector, Matrix


@dataclass(frozen=True, eq=False)
class Stopped:
    """What BFGS reports after the first t decisions of every replicate.

    Attributes
    ----------
    t
        Decisions.
    theta, standard_errors
        (n_t, n_replicates, n_parameters); errors from the inverse Hessian where it stopped.
    log_likelihood, success
        (n_t, n_replicates).
    """

    t: IntVector
    theta: Matrix
    standard_errors: Matrix
    log_likelihood: Matrix
    success: BoolVector

    def columns(self, names: Sequence[str]) -> dict[str, list[float]]:
        """One row per t: medians over the replicates."""
        found: dict[str, list[float]] = {
            "t": self.t.tolist(),
            "success": self.success.sum(axis=1).tolist(),
            "log_likelihood": np.median(self.log_likelihood, axis=1).tolist(),
        }
        for a, name in enumerate(names):
            found[f"{name}_median"] = np.median(self.theta[..., a], axis=1).tolist()
            errors = np.median(self.standard_errors[..., a], axis=1)
            found[f"{name}_standard_error_median"] = errors.tolist()
        return found


def bfgs_stops(x: Matrix, chosen: IntVector, at: Sequence[int]) -> Stopped:
    """Run BFGS from 0 on the first t decisions of every replicate, for some t.

    Parameters
    ----------
    x
        Variables of every decision: (n_replicates, n_decisions, n_options, n_parameters).
    chosen
        Options taken: (n_replicates, n_decisions).
    at
        Numbers of decisions.

    Examples
    --------
    >>> import numpy as np
    >>> from penchant.study.paper.bfgs import bfgs_stops
    >>> x = np.array([[[[1.0], [0.0]]] * 3])
    >>> found = bfgs_stops(x, np.zeros((1, 3), dtype=int), [3])     # always the first: separated
    >>> found.success, found.theta > 10
    (array([[ True]]), array([[[ True]]]))
    """
    repeats, d = len(x), x.shape[-1]
    theta, errors = np.empty((2, len(at), repeats, d))
    values, success = np.empty((len(at), repeats)), np.empty((len(at), repeats), dtype=bool)
    with progress("BFGS", len(at) * repeats) as advance:
        for i, t in enumerate(at):
            for r in range(repeats):
                here = x[r, :t] - x[r, :t].mean(axis=1, keepdims=True)
                found = optimize.minimize(
                    _minus, np.zeros(d), (here, chosen[r, :t]), jac=True, method="BFGS"
                )
                theta[i, r], values[i, r], success[i, r] = found.x, -found.fun, found.success
                errors[i, r] = _errors(found.x, here)
                advance(1)
    return Stopped(np.array(at), theta, errors, values, success)


def _probabilities(theta: Matrix, x: Matrix) -> tuple[Matrix, Matrix]:
    q = np.einsum("kia,a->ki", x, theta)
    q -= q.max(axis=1, keepdims=True)
    p = np.exp(q)
    total = p.sum(axis=1, keepdims=True)
    return q - np.log(total), p / total


def _minus(theta: Matrix, x: Matrix, chosen: IntVector) -> tuple[float, Matrix]:
    """Minus the log-likelihood, Eq. (5), and its gradient."""
    rows = np.arange(len(chosen))
    log_p, p = _probabilities(theta, x)
    slope = x[rows, chosen].sum(axis=0) - np.einsum("ki,kia->a", p, x)
    return -float(log_p[rows, chosen].sum()), -slope


def _errors(theta: Matrix, x: Matrix) -> Matrix:
    """Roots of the diagonal of the inverse Hessian, Eq. (9); infinite where it has none."""
    _, p = _probabilities(theta, x)
    centred = x - np.einsum("ki,kia->ka", p, x)[:, None]
    information = np.einsum("ki,kia,kib->ab", p, centred, centred)
    scale = np.sqrt(np.maximum(information.diagonal(), np.finfo(float).tiny))
    try:
        variances = np.linalg.inv(information / np.outer(scale, scale)).diagonal()
    except np.linalg.LinAlgError:
        return np.full(len(theta), np.inf)
    return np.asarray(np.sqrt(np.where(variances > 0, variances, np.inf)) / scale)
