"""Posterior draws of a population's means, standard deviations and correlations.

On fixed nodes the marginal likelihood F is a smooth function of a few parameters, so that draws
from a Student t about the mode of its posterior need little correction: Pareto-smoothed importance
sampling (Vehtari et al. 2024), whose k says whether it suffices. NUTS on the same density is the
alternative. The prior is flat in the
coefficients, half-t with 3 degrees of freedom in the standard deviations (scale 2.5 on a logarithm
or logit, 2.5 times the weight that makes a difference of 1 elsewhere) and LKJ(2) in the
correlations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy import special

from penchant._typing import BoolVector, Matrix, Vector
from penchant.argument_checks import check_one_of, check_whole_number
from penchant.errors import DataError
from penchant.inference.predict import PROPOSAL_DF
from penchant.json_records import JsonDocument
from penchant.population.hierarchy.data_behind_fit import PopulationSource
from penchant.population.hierarchy.marginal_likelihood import (
    MarginalLikelihood,
    RandomEffectsStructure,
    ValueGradientHessian,
)
from penchant.population.hierarchy.marginal_maximization import SearchResult
from penchant.population.hierarchy.quadrature import cholesky_of_inverses
from penchant.population.hierarchy.subject_likelihoods import SubjectLikelihoods
from penchant.population.hierarchy.trust_region import newton_ascent
from penchant.result_tables import Columns, IntervalTableExport

if TYPE_CHECKING:
    from penchant.population.hierarchy.result import PopulationFit

LKJ_ETA = 2.0  # density |R|^(eta - 1): 1 would be flat, 2 keeps draws away from singular R
HALF_T_DF = 3.0  # brms' default: tails heavy enough that data with large spreads overrule it
HALF_T_SCALE = 2.5  # on a log or logit scale e^2.5 = 12: weak, as people seldom differ so much
MIN_RELATIVE_INFORMATION = 1e-4  # relative, of a proposal: a wider one would waste draws
MAX_LOG_SD_DISTANCE = 100.0  # from the prior's scale: farther away exp and squares overflow


class SpreadPrior(NamedTuple):
    """Log-prior of one group's spread parameters."""

    scales: Vector
    correlated: bool

    def __call__(self, blocks: Matrix) -> Vector:
        """Evaluate at log-Cholesky parameters (..., n_per_group), Jacobian included."""
        r = len(self.scales)
        levels, below = blocks[..., :r], blocks[..., r:]
        value: Vector = np.zeros(blocks.shape[:-1])
        first = 0
        for a in range(r):
            log_n = np.zeros(blocks.shape[:-1])
            if self.correlated and a:
                log_n = 0.5 * np.log1p((below[..., first : first + a] ** 2).sum(axis=-1))
                first += a
                value -= (r - a - 1 + 2 * LKJ_ETA - 2) * log_n + (a + 2) * log_n
            log_sd = levels[..., a] + log_n
            log_ratio = 2 * (log_sd - np.log(self.scales[a])) - np.log(HALF_T_DF)
            value += log_sd - 0.5 * (HALF_T_DF + 1) * np.logaddexp(0.0, log_ratio)
        return value


@dataclass(frozen=True, eq=False)
class LogPosterior:
    """Log-posterior of a population on its nodes."""

    marginal: MarginalLikelihood
    prior: SpreadPrior

    @classmethod
    def around_optimum(cls, optimum: SearchResult, likelihoods: SubjectLikelihoods) -> LogPosterior:
        """Log-posterior about the optimum of a search."""
        structure = optimum.marginal.structure
        on_own = [
            likelihoods.coordinates.each[a].link.name == "identity"
            for a in structure.random_coordinates
        ]
        unit = np.where(on_own, likelihoods.typical_range.sd[structure.random_coordinates] / 2, 1.0)
        return cls(optimum.marginal, SpreadPrior(HALF_T_SCALE * unit, structure.spread.correlated))

    def log_prior(self, x: Vector) -> float:
        """Log-prior of the spreads of all groups."""
        return float(self.log_priors(x[None])[0])

    def log_priors(self, xs: Matrix) -> Vector:
        """Log-priors at many parameter vectors."""
        structure = self.marginal.structure
        blocks = xs[:, structure.n_beta :].reshape(
            len(xs), structure.spread.n_groups, structure.spread.n_per_group
        )
        return np.asarray(self.prior(blocks).sum(axis=1))

    def log_posterior(self, x: Vector) -> float:
        """Log-posterior, less its constant."""
        return self.marginal.value(x) + self.log_prior(x)

    def log_posteriors(self, xs: Matrix) -> Vector:
        """Log-posteriors at many parameter vectors; -inf where the prior has no mass."""
        structure = self.marginal.structure
        if not len(structure.random_coordinates):
            return np.array([self.log_posterior(x) for x in xs])
        has_prior_mass = self.has_prior_mass(xs)
        log_posterior = np.full(len(xs), -np.inf)
        log_posterior[has_prior_mass] = self.marginal.value_batch(
            xs[has_prior_mass]
        ) + self.log_priors(xs[has_prior_mass])
        return log_posterior

    def has_prior_mass(self, xs: Matrix) -> BoolVector:
        """Whether the spread parameters are within the range of floating-point numbers."""
        structure = self.marginal.structure
        blocks = xs[:, structure.n_beta :].reshape(
            len(xs), structure.spread.n_groups, structure.spread.n_per_group
        )
        r = len(self.prior.scales)
        away = np.abs(blocks[..., :r] - np.log(self.prior.scales)).max(axis=(1, 2))
        steep = np.abs(blocks[..., r:]).max(axis=(1, 2), initial=0.0)
        return np.asarray((away < MAX_LOG_SD_DISTANCE) & (steep < np.exp(MAX_LOG_SD_DISTANCE / 2)))

    def prior_derivatives(
        self, structure: RandomEffectsStructure, x: Vector
    ) -> ValueGradientHessian:
        """Log-prior with gradient and Hessian, by differences in the spread's parameters."""
        size, first = len(x), structure.n_beta
        gradient, hessian = np.zeros(size), np.zeros((size, size))
        step = 1e-4  # second differences: truncation and rounding errors are both about 1e-8
        steps = step * np.eye(size)[first:]
        above, below = self.log_priors(x + steps), self.log_priors(x - steps)
        gradient[first:] = (above - below) / (2 * step)
        both, across = steps[:, None] + steps, steps[:, None] - steps
        corners = [
            self.log_priors((x + way).reshape(-1, size)).reshape(len(steps), len(steps))
            for way in (both, across, -across, -both)
        ]
        hessian[first:, first:] = (corners[0] - corners[1] - corners[2] + corners[3]) / (
            4 * step**2
        )
        return ValueGradientHessian(self.log_prior(x), gradient, hessian)

    def derivatives(self, x: Vector) -> ValueGradientHessian:
        """Log-posterior with gradient and Hessian: exact of F, by differences of the prior."""
        evaluation = self.marginal.evaluate(x)
        prior = self.prior_derivatives(self.marginal.structure, x)
        return ValueGradientHessian(
            evaluation.value + prior.value,
            evaluation.gradient + prior.gradient,
            evaluation.hessian + prior.hessian,
        )

    def mode_and_information(self, x: Vector) -> tuple[Vector, Matrix]:
        """Find the mode by Newton's method: the mode, and minus the Hessian there."""
        unlimited, nothing = np.full(len(x), np.inf), np.zeros(len(x), dtype=bool)
        bounds = -unlimited, unlimited
        # A gain in log-units of less drowns in rounding of F.
        x, _ = newton_ascent(self.marginal, x, self.prior_derivatives, bounds, nothing, 1e-10)
        return x, -self.derivatives(x).hessian


@dataclass(frozen=True, eq=False, repr=False)
class PopulationSample(IntervalTableExport, JsonDocument):
    """Draws from the posterior of a population.

    Attributes
    ----------
    names
        Coefficients, then "sd NAME", then "correlation NAME, OTHER".
    draws
        (n_draws, n_names).
    method
        "importance" or "nuts".
    pareto_k
        Of the importance weights: up to 0.7 they are to be trusted; NaN for NUTS.
    effective_size
        Independent draws that these are worth.
    """

    names: tuple[str, ...]
    draws: Matrix
    method: str
    pareto_k: float
    effective_size: float

    @property
    def mean(self) -> Vector:
        """Posterior means."""
        return np.asarray(self.draws.mean(axis=0))

    @property
    def sd(self) -> Vector:
        """Posterior standard deviations."""
        return np.asarray(self.draws.std(axis=0, ddof=1))

    def interval(self, level: float = 0.95) -> Matrix:
        """Central intervals: (n_names, 2)."""
        return np.quantile(self.draws, [(1 - level) / 2, (1 + level) / 2], axis=0).T

    def __getitem__(self, name: str) -> Vector:
        check_one_of(name, "name", self.names)
        return np.asarray(self.draws[:, self.names.index(name)])

    def frame_columns(self, level: float = 0.95) -> Columns:
        """Columns of the data frame."""
        ends = self.interval(level)
        return {
            "name": list(self.names),
            "mean": self.mean.tolist(),
            "sd": self.sd.tolist(),
            "low": ends[:, 0].tolist(),
            "high": ends[:, 1].tolist(),
        }

    def to_arviz(self) -> Any:
        """An `arviz.InferenceData` with one chain; needs penchant[bayes]."""
        try:
            import arviz
        except ImportError as error:
            raise DataError(
                "to_arviz",
                "must have the package arviz",
                got="none installed",
                fix="Install penchant[bayes].",
            ) from error
        return arviz.from_dict(
            posterior={n: self.draws[None, :, a] for a, n in enumerate(self.names)}
        )

    def __repr__(self) -> str:
        trust = "" if np.isnan(self.pareto_k) else f", Pareto k {self.pareto_k:.2f}"
        return (
            f"<PopulationSample of {len(self.draws)} draws by {self.method}, effective size "
            f"{self.effective_size:.0f}{trust}>"
        )


def sample_posterior(
    fit: PopulationFit, n: int, method: Literal["importance", "nuts"], rng: np.random.Generator
) -> PopulationSample:
    """Draw from the posterior of a population fit by importance sampling or NUTS."""
    n = check_whole_number(n, "draws", 100)
    if method not in ("importance", "nuts"):
        raise DataError(
            "method", "must be 'importance' or 'nuts'", got=repr(method), fix="Choose one."
        )
    source = fit.source
    assert source is not None  # `PopulationFit.sample` has refused fits without their data
    target = LogPosterior.around_optimum(source.descriptive_optimum, source.likelihoods)
    mode, information = target.mode_and_information(source.descriptive_optimum.x.copy())
    names, convert_draws = _reported_names_and_function(fit, source)
    if method == "nuts":
        x = _draw_by_nuts(target, mode, information, n, rng)
        return PopulationSample(names, convert_draws(x), method, float("nan"), float(n))
    # A floor under the information: in unidentified directions the proposal would be infinitely
    # wide, and every draw from it worthless.
    min_information = np.full(len(mode), 0.1)
    min_information[: len(fit.names)] = 1e-6 / np.abs(mode[: len(fit.names)]).max(initial=1.0) ** 2
    shortfall = np.maximum(min_information - np.diag(information), 0.0)
    factor = cholesky_of_inverses(
        (information + np.diag(shortfall))[None], MIN_RELATIVE_INFORMATION
    )[0]
    z = rng.standard_normal((n, len(mode)))
    z /= np.sqrt(rng.chisquare(PROPOSAL_DF, size=(n, 1)) / PROPOSAL_DF)
    x = mode + z @ factor.T
    best = target.log_posterior(mode)
    weights = target.log_posteriors(x) - best
    weights += 0.5 * (PROPOSAL_DF + len(mode)) * np.log1p((z**2).sum(axis=1) / PROPOSAL_DF)
    smoothed, k = smoothed_weights_and_pareto_k(weights)
    share = np.exp(smoothed - smoothed.max())
    share /= share.sum()
    chosen = rng.choice(n, size=n, p=share)
    return PopulationSample(names, convert_draws(x[chosen]), method, k, float(1 / (share**2).sum()))


def _reported_names_and_function(
    fit: PopulationFit, source: PopulationSource
) -> tuple[tuple[str, ...], Callable[[Matrix], Matrix]]:
    """Names of reported quantities, and a function that computes them from parameters."""
    structure = source.descriptive_optimum.marginal.structure
    own = [fit.parameter_names[a] for a in structure.random_coordinates]
    groups = source.group_labels or ("",)
    names = list(fit.names)
    for label in groups:
        of = f" of {label}" if label != "" else ""
        names += [f"sd {name}{of}" for name in own]
        if structure.spread.correlated:
            names += [
                f"correlation {own[b]}, {own[a]}{of}" for a, b in structure.spread.lower_indices
            ]

    def convert_draws(x: Matrix) -> Matrix:
        parts = [x[:, : structure.n_beta]]
        every = structure.spread.covariance_matrices(x[:, structure.n_beta :])
        for g in range(structure.spread.n_groups):
            own = every[:, g]
            sd = np.sqrt(np.einsum("xaa->xa", own))
            parts.append(sd)
            if structure.spread.correlated:
                parts += [
                    (own[:, a, b] / (sd[:, a] * sd[:, b]))[:, None]
                    for a, b in structure.spread.lower_indices
                ]
        return np.concatenate(parts, axis=1)

    return tuple(names), convert_draws


def smoothed_weights_and_pareto_k(log_weights: Vector) -> tuple[Vector, float]:
    """Pareto-smoothed log importance weights, and the tail's shape k (Vehtari et al. 2024)."""
    n = len(log_weights)
    weights = log_weights - log_weights.max()
    order = np.argsort(weights)
    # The paper's tail size: its limits of k were derived for this.
    count = int(min(np.ceil(0.2 * n), np.ceil(3 * np.sqrt(n))))
    tail = order[n - count :]
    cutoff = weights[order[n - count - 1]]
    beyond = np.exp(weights[tail]) - np.exp(cutoff)
    if beyond[-1] <= 0:
        return weights, float("-inf")
    k, sigma = fit_generalized_pareto(np.maximum(beyond, 1e-300))
    p = (np.arange(count) + 0.5) / count
    with np.errstate(over="ignore"):  # k may be hundreds: the minimum below caps what overflows
        far = sigma / k * np.expm1(-k * np.log1p(-p))
    quantile = -sigma * np.log1p(-p) if abs(k) < 1e-9 else far
    smoothed = weights.copy()
    smoothed[tail] = np.minimum(np.log(quantile + np.exp(cutoff)), 0.0)
    return smoothed, k


def fit_generalized_pareto(sorted_values: Vector) -> tuple[float, float]:
    """Shape k and scale of the generalised Pareto distribution (Zhang and Stephens 2009).

    The values are sorted; a prior worth ten observations draws k towards 0.5.
    """
    x = sorted_values
    n = len(x)
    m = 30 + int(np.sqrt(n))
    quartile = x[int(n / 4 + 0.5) - 1]
    b = 1 / x[-1] + (1 - np.sqrt(m / (np.arange(1, m + 1) - 0.5))) / (3 * quartile)
    own = np.log1p(-b[:, None] * x).mean(axis=1)
    log_likelihood = n * (np.log(-b / own) - own - 1)
    weights = np.exp(log_likelihood - special.logsumexp(log_likelihood))
    kept = weights >= 10 * np.finfo(float).eps
    b, weights = b[kept], weights[kept] / weights[kept].sum()
    mean_b = float(b @ weights)
    k = float(np.log1p(-mean_b * x).mean())
    sigma = -k / mean_b
    return (n * k + 10 * 0.5) / (n + 10), sigma


def _draw_by_nuts(
    target: LogPosterior, mode: Vector, information: Matrix, n: int, rng: np.random.Generator
) -> Matrix:
    """Draw by NUTS, in coordinates whitened by the information at the mode."""
    try:
        import nutpie
    except ImportError as error:
        raise DataError(
            "method 'nuts'",
            "must have the package nutpie",
            got="none installed",
            fix="Install penchant[bayes], or use method='importance'.",
        ) from error
    factor = cholesky_of_inverses(information[None], MIN_RELATIVE_INFORMATION)[0]
    size = len(mode)

    def make_logp() -> Any:
        def logp(z: Vector) -> tuple[float, Vector]:
            value, gradient, _ = target.derivatives(mode + factor @ z)
            return value, np.asarray(factor.T @ gradient)

        return logp

    def make_expand(seed1: int, seed2: int, chain: int) -> Any:
        return lambda z: {"x": np.asarray(mode + factor @ np.asarray(z))}

    model = nutpie.compiled_pyfunc.from_pyfunc(
        size, make_logp, make_expand, [np.dtype("float64")], [(size,)], ["x"]
    )
    chains = 2  # more would each repeat the warm-up, one after another on one core
    each = -(-n // chains)
    trace = nutpie.sample(
        model,
        draws=each,
        tune=300,
        chains=chains,
        cores=1,
        seed=int(rng.integers(2**31)),
        progress_bar=False,
    )
    return np.asarray(trace.posterior["x"].values).reshape(-1, size)[:n]
