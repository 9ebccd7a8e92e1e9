"""Section IV: what Lemma 1 and Theorem 1 ask, and what they would have to ask.

With X = [x_1 .. x_{m-1} 0] the paper asks for a positive definite mean of XX'. A softmax knows
differences between options only, so what counts is their scatter within the choice sets, W; and
with W positive definite an estimate still need not exist, for the choices may be separated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.paper.ensembles import ensembles
from penchant.paper.published import REPLICATES, Claim, Measured, mean_of
from penchant.softmax.fit import fit_choices
from penchant.softmax.probabilities import decision_log_likelihoods

DECISIONS, OPTIONS = 40, 3
TRUTH = np.array([1.0, -0.5])
REACH = 3.0  # of theta along which log-likelihoods are drawn
FLAT = 1e-9  # change of a log-likelihood that is rounding
MANY, FEWEST, LONG = 20, 1000, 200  # replicates and decisions of the asymptotic distribution
ACCURATE = (0.93, 0.97)


@dataclass(frozen=True)
class Design:
    """Explanatory variables and what the conditions say of them.

    Attributes
    ----------
    name
        What the design is.
    printed, within
        Smallest eigenvalue of the paper's matrix, and of the scatter within choice sets, per
        decision.
    range
        Largest change of the log-likelihood along the direction in which the second is smallest.
    status
        Of the fit to the choices.
    """

    name: str
    printed: float
    within: float
    range: float
    status: str
    along: Vector
    log_likelihood: Vector


@dataclass(frozen=True, eq=False)
class Theorem1:
    """Designs that meet one condition and not the other, and the verdicts."""

    designs: tuple[Design, ...]
    n_replicates: int
    claims: tuple[Claim, ...]
    name: str = "theorem-1"
    title: str = "Section IV: Lemma 1 and Theorem 1"

    @property
    def settings(self) -> dict[str, object]:
        """What was computed."""
        return {"decisions": DECISIONS, "options": OPTIONS, "replicates": self.n_replicates}

    def tables(self) -> dict[str, dict[str, list[object]]]:
        """One row per design."""
        words = ("name", "printed", "within", "range", "status")
        return {"theorem-1": {word: [getattr(d, word) for d in self.designs] for word in words}}


def theorem_1(
    *,
    rng: np.random.Generator,
    n_replicates: int = REPLICATES,
    threads: int | None = None,
) -> Theorem1:
    """Check the conditions on designs of two parameters.

    Parameters
    ----------
    rng
        Source of randomness.
    n_replicates
        Twenty times as many replicates show the asymptotic distribution.
    threads
        Processors; all if not given. The answer does not depend on it.
    """
    x = rng.normal(size=(DECISIONS, OPTIONS, 2))
    common = x.copy()
    common[..., 1] = common[:, :1, 1]  # the second variable is the same for all options
    last = np.zeros_like(x)
    last[:, -1] = x[:, -1]  # all variation in the option that the paper's matrix leaves out
    chosen = (x @ TRUTH + rng.gumbel(size=x.shape[:2])).argmax(axis=1)
    larger = (x @ TRUTH).argmax(axis=1)
    designs = (
        _design("equal across options", common, chosen),
        _design("all in the last option", last, chosen),
        _design("overlapping", x, chosen),
        _design("separated", x, larger, TRUTH),
    )
    curved = _most_curved(rng)
    (drawn,) = ensembles(
        rng.normal(size=(LONG, OPTIONS, 2)),
        TRUTH,
        [LONG],
        rng=rng,
        n_replicates=max(FEWEST, MANY * n_replicates),
        what="Theorem 1",
        threads=threads,
    )
    coverage = mean_of(drawn.covers.mean(axis=1))
    claims = _claims(designs, curved, coverage, len(drawn.theta))
    return Theorem1(designs, n_replicates, claims)


def printed_matrix(x: Matrix) -> Matrix:
    """The mean of XX' of Theorem 1."""
    return np.asarray(np.einsum("kia,kib->ab", x[:, :-1], x[:, :-1]) / len(x))


def scatter_within(x: Matrix) -> Matrix:
    """The mean scatter of the options about the mean of their choice set."""
    centred = x - x.mean(axis=1, keepdims=True)
    return np.asarray(np.einsum("kia,kib->ab", centred, centred) / len(x))


def _design(name: str, x: Matrix, chosen: IntVector, recession: Vector | None = None) -> Design:
    """Conditions and log-likelihood, along the direction told least of or one that separates."""
    choices = Choices.from_arrays(x, chosen)
    values, vectors = np.linalg.eigh(scatter_within(x))
    estimate = fit_choices(choices)
    finite = bool(np.isfinite(estimate.theta).all())
    start, direction = estimate.theta if finite else np.zeros(2), vectors[:, 0]
    along = np.linspace(-REACH, REACH, 61)
    if recession is not None:
        start, direction = np.zeros(2), recession / np.linalg.norm(recession)
        along = np.linspace(0.0, 4 * REACH, 61)
    curve = np.array(
        [decision_log_likelihoods(start + s * direction, choices).sum() for s in along]
    )
    return Design(
        name,
        float(np.linalg.eigvalsh(printed_matrix(x))[0]),
        float(max(values[0], 0.0)),
        float(np.ptp(curve)),
        estimate.status,
        along,
        curve,
    )


def _most_curved(rng: np.random.Generator) -> float:
    """Largest eigenvalue of a Hessian found anywhere, over its size: 0 or less if concave."""
    worst = -np.inf
    for _ in range(200):
        x = rng.normal(size=(5, OPTIONS, 3)) * rng.choice([0.0, 1.0], size=3)
        theta = rng.normal(size=3) * rng.choice([0.1, 1.0, 10.0])
        q = x @ theta
        p = np.exp(q - q.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        mean = np.einsum("ki,kia->ka", p, x)
        # Second moments less the products of the means, as the derivative comes: not as a square.
        second = np.einsum("ki,kia,kib->ab", p, x, x) - np.einsum("ka,kb->ab", mean, mean)
        worst = max(worst, float(np.linalg.eigvalsh(-second)[-1]) / max(1.0, float((x**2).sum())))
    return worst


def _claims(
    designs: tuple[Design, ...], curved: float, coverage: tuple[float, float], n: int
) -> tuple[Claim, ...]:
    common, last, fine, separated = designs
    return (
        Claim(
            "Section IV, Lemma 1",
            "If E[XX'] exists and is positive definite, the model is identified.",
            {
                "a model that meets the condition is identified": not (
                    common.printed > 0 and common.range < FLAT
                )
            },
            f"With a variable that is equal across options the printed matrix has smallest "
            f"eigenvalue {common.printed:.3g}, and the log-likelihood is flat along it (it changes "
            f"by {common.range:.1g}; status: {common.status}). Nor is the condition needed: with "
            f"all variation in the last option that eigenvalue is {last.printed:.3g}, and the "
            f"model is identified (status: {last.status}). What decides is the scatter within "
            f"choice sets: {common.within:.3g} and {last.within:.3g}. The lemma holds once "
            "x_i - x_m replaces x_i.",
            {d.name: {"printed": d.printed, "within": d.within} for d in (common, last)},
            (1, 2, 3),
        ),
        Claim(
            "Section IV, Theorem 1 (1)",
            "If the second-moment matrix is positive definite, the maximum likelihood problem is "
            "convex.",
            {"no Hessian has a positive eigenvalue": curved < 1e-12},
            f"The Hessian is minus a covariance: over 200 random designs and theta, some with "
            f"variables that are 0, its largest eigenvalue is {max(curved, 0.0):.1g} of its size "
            "at most. It is convex whatever the matrix, and strictly so exactly where the model is "
            "identified.",
            {"largest_eigenvalue": curved},
            (5, 6),
        ),
        Claim(
            "Section IV, Theorem 1 (2)",
            "If the second-moment matrix is positive definite, the estimator is asymptotically "
            "normal about theta_0 with covariance J^-1/n.",
            {
                "coverage of 95 % intervals with scatter within the choice sets": Measured(
                    *coverage, *ACCURATE
                ),
                "an estimate exists wherever the printed matrix is positive definite": not (
                    common.printed > 0 and common.range < FLAT
                ),
                "an estimate exists wherever the model is identified": not (
                    separated.within > 0 and separated.status == "separated"
                ),
            },
            f"Where options differ within their sets, 95 % intervals from {LONG} decisions hold "
            f"the truth in {coverage[0]:.1%} ± {coverage[1]:.1%} of {n} replicates. Where the "
            "printed matrix is positive definite and the scatter within sets is not, there is "
            f"nothing to converge (status: {common.status}). And where the model is identified the "
            "choices may be separated: there is no maximum, however convex (status: "
            f"{separated.status}, "
            f"smallest eigenvalue within sets {separated.within:.3g}; with other choices on the "
            f"same design: {fine.status}). J is per decision: the covariance is the inverse of the "
            "summed information.",
            {"coverage": coverage[0], "monte_carlo_error": coverage[1]},
            (1, 7, 8),
        ),
    )
