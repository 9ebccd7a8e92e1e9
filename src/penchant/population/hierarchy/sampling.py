"""The population's own uncertainty in full: draws of means, spreads and correlations.

On fixed nodes the likelihood F of a population is a smooth function of a few numbers, so that draws
from a Student t about the mode of its posterior need little correction: Pareto-smoothed importance
weights (Vehtari et al. 2024), whose k says whether they suffice. The prior is flat in the
coefficients, half-t with 3 degrees of freedom in the standard deviations (scale 2.5 on a logarithm
or logit, 2.5 times the weight that makes a difference of 1 elsewhere) and LKJ(2) in the
correlations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import special

from penchant._typing import BoolVector, Matrix, Vector
from penchant.arguments import whole_number
from penchant.errors import DataError
from penchant.output import Backend, Result, frame_backend, make_frame
from penchant.population.hierarchy.likelihoods import People
from penchant.population.hierarchy.marginal import Marginal
from penchant.population.hierarchy.search import Found

ETA = 2.0  # LKJ
FREEDOM = 3.0  # of the half-t
SCALE = 2.5
TAIL = 7.0
BEYOND = 100.0  # logarithm of a spread, from that of its scale, where the prior has no mass


class Prior(NamedTuple):
    """Log-density of the numbers of one group's spread."""

    scales: Vector
    correlated: bool

    def __call__(self, blocks: Matrix) -> Vector:
        """At logarithms and t (..., n_block), with the Jacobian of sds and correlations."""
        r = len(self.scales)
        levels, below = blocks[..., :r], blocks[..., r:]
        value, first = np.zeros(blocks.shape[:-1]), 0
        for a in range(r):
            log_n = np.zeros(blocks.shape[:-1])
            if self.correlated and a:
                log_n = 0.5 * np.log1p((below[..., first : first + a] ** 2).sum(axis=-1))
                first += a
                value -= (r - a - 1 + 2 * ETA - 2) * log_n + (a + 2) * log_n
            log_sd = levels[..., a] + log_n
            log_ratio = 2 * (log_sd - np.log(self.scales[a])) - np.log(FREEDOM)
            value += log_sd - 0.5 * (FREEDOM + 1) * np.logaddexp(0.0, log_ratio)
        return value


@dataclass(frozen=True, eq=False)
class Target:
    """Log-posterior of a population on its nodes."""

    marginal: Marginal
    prior: Prior

    @classmethod
    def of(cls, found: Found, people: People) -> Target:
        """Of a search that has ended."""
        s = found.marginal.structure
        on_own = [people.coordinates.each[a].link.name == "identity" for a in s.random]
        unit = np.where(on_own, people.typical.sd[s.random] / 2, 1.0)
        return cls(found.marginal, Prior(SCALE * unit, s.spread.correlated))

    def on_spread(self, x: Vector) -> float:
        """The prior of all groups."""
        return float(self.on_spreads(x[None])[0])

    def on_spreads(self, xs: Matrix) -> Vector:
        """The same at many places."""
        s = self.marginal.structure
        blocks = xs[:, s.n_beta :].reshape(len(xs), s.spread.n_groups, s.spread.n_block)
        return np.asarray(self.prior(blocks).sum(axis=1))

    def value(self, x: Vector) -> float:
        """Log-posterior, less its constant."""
        return self.marginal.value(x) + self.on_spread(x)

    def values(self, xs: Matrix) -> Vector:
        """The same at many places; none where the prior has no mass."""
        s = self.marginal.structure
        if not len(s.random):
            return np.array([self.value(x) for x in xs])
        inside = self.inside(xs)
        found = np.full(len(xs), -np.inf)
        found[inside] = self.marginal.values(xs[inside]) + self.on_spreads(xs[inside])
        return found

    def inside(self, xs: Matrix) -> BoolVector:
        """Where numbers of the spread are such that it can be computed."""
        s = self.marginal.structure
        blocks = xs[:, s.n_beta :].reshape(len(xs), s.spread.n_groups, s.spread.n_block)
        r = len(self.prior.scales)
        away = np.abs(blocks[..., :r] - np.log(self.prior.scales)).max(axis=(1, 2))
        steep = np.abs(blocks[..., r:]).max(axis=(1, 2), initial=0.0)
        return np.asarray((away < BEYOND) & (steep < np.exp(BEYOND / 2)))

    def slopes(self, x: Vector) -> tuple[float, Vector, Matrix]:
        """With gradient and Hessian: exact of F, by differences of the prior."""
        known = self.marginal.at(x)
        gradient, hessian = known.gradient.copy(), known.hessian.copy()
        first = self.marginal.structure.n_beta
        step = 1e-4
        eye = step * np.eye(len(x))
        for a in range(first, len(x)):
            above, below = self.on_spread(x + eye[a]), self.on_spread(x - eye[a])
            gradient[a] += (above - below) / (2 * step)
            for b in range(first, a + 1):
                bend = (
                    self.on_spread(x + eye[a] + eye[b])
                    - self.on_spread(x + eye[a] - eye[b])
                    - self.on_spread(x - eye[a] + eye[b])
                    + self.on_spread(x - eye[a] - eye[b])
                ) / (4 * step**2)
                hessian[a, b] += bend
                if a != b:
                    hessian[b, a] += bend
        return known.value + self.on_spread(x), gradient, hessian

    def mode(self, x: Vector) -> tuple[Vector, Matrix]:
        """Where it is highest, and minus the Hessian there."""
        value, gradient, hessian = self.slopes(x)
        for _ in range(50):
            scale = np.sqrt(np.maximum(np.abs(np.diag(hessian)), 1e-12))
            values, vectors = np.linalg.eigh(-hessian / np.outer(scale, scale))
            bent = np.maximum(np.abs(values), 1e-6)
            step = vectors @ ((vectors.T @ (gradient / scale)) / bent) / scale
            if step @ gradient < 1e-10:
                break
            step *= min(1.0, 0.7 / max(np.abs(step[self.marginal.structure.n_beta :]).max(), 1e-9))
            fraction = 1.0
            while self.value(x + fraction * step) < value and fraction > 1e-6:
                fraction /= 2
            x = x + fraction * step
            value, gradient, hessian = self.slopes(x)
        return x, -hessian


@dataclass(frozen=True, eq=False, repr=False)
class PopulationSample(Result):
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
        if name not in self.names:
            raise DataError(
                f"name must be one of {', '.join(self.names)}; got {name!r}. Correct it."
            )
        return np.asarray(self.draws[:, self.names.index(name)])

    def to_frame(self, level: float = 0.95, backend: Backend | None = None) -> Any:
        """One row per quantity: mean, standard deviation, interval."""
        ends = self.interval(level)
        columns = {
            "name": list(self.names),
            "mean": self.mean.tolist(),
            "sd": self.sd.tolist(),
            "low": ends[:, 0].tolist(),
            "high": ends[:, 1].tolist(),
        }
        return make_frame(columns, backend or frame_backend(self))

    def to_arviz(self) -> Any:
        """An `arviz.InferenceData` with one chain; needs penchant[bayes]."""
        try:
            import arviz
        except ImportError as error:
            raise DataError(
                "to_arviz must have the package arviz; got none installed. Install penchant[bayes]."
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


def sampled(
    fit: Any, n: int, method: Literal["importance", "nuts"], rng: np.random.Generator
) -> PopulationSample:
    """Draws from the posterior of a population fit."""
    n = whole_number(n, "draws", 100)
    if method not in ("importance", "nuts"):
        raise DataError(f"method must be 'importance' or 'nuts'; got {method!r}. Choose one.")
    source = fit.source
    target = Target.of(source.about, source.people)
    mode, information = target.mode(source.about.x.copy())
    names, convert = _quantities(fit)
    if method == "nuts":
        x = _nuts(target, mode, information, n, rng)
        return PopulationSample(names, convert(x), method, float("nan"), float(n))
    # where nothing is told, draws lie as wide as anything that a person may be
    least = np.full(len(mode), 0.1)
    least[: len(fit.names)] = 1e-6 / np.abs(mode[: len(fit.names)]).max(initial=1.0) ** 2
    short = np.maximum(least - np.diag(information), 0.0)
    factor = _factor(information + np.diag(short))
    z = rng.standard_normal((n, len(mode)))
    z /= np.sqrt(rng.chisquare(TAIL, size=(n, 1)) / TAIL)
    x = mode + z @ factor.T
    best = target.value(mode)
    weights = target.values(x) - best
    weights += 0.5 * (TAIL + len(mode)) * np.log1p((z**2).sum(axis=1) / TAIL)
    smoothed, k = pareto_smoothed(weights)
    share = np.exp(smoothed - smoothed.max())
    share /= share.sum()
    taken = rng.choice(n, size=n, p=share)
    return PopulationSample(names, convert(x[taken]), method, k, float(1 / (share**2).sum()))


def _factor(information: Matrix) -> Matrix:
    """Lower factor of the inverse of a positive information."""
    scale = np.sqrt(np.maximum(np.diag(information), 1e-12))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    inverse = (vectors / np.maximum(values, 1e-4)) @ vectors.T / np.outer(scale, scale)
    return np.asarray(np.linalg.cholesky((inverse + inverse.T) / 2))


def _quantities(fit: Any) -> tuple[tuple[str, ...], Any]:
    """Names of what is reported, and how to make it of parameters (n, n_parameters)."""
    s = fit.source.about.marginal.structure
    own = [fit.parameter_names[a] for a in s.random]
    groups = fit.source.group_labels or ("",)
    names = list(fit.names)
    for label in groups:
        of = f" of {label}" if label != "" else ""
        names += [f"sd {name}{of}" for name in own]
        if s.spread.correlated:
            names += [f"correlation {own[b]}, {own[a]}{of}" for a, b in s.spread.below]

    def convert(x: Matrix) -> Matrix:
        parts = [x[:, : s.n_beta]]
        every = s.spread.many(x[:, s.n_beta :])
        for g in range(s.spread.n_groups):
            own = every[:, g]
            sd = np.sqrt(np.einsum("xaa->xa", own))
            parts.append(sd)
            if s.spread.correlated:
                parts += [
                    (own[:, a, b] / (sd[:, a] * sd[:, b]))[:, None] for a, b in s.spread.below
                ]
        return np.concatenate(parts, axis=1)

    return tuple(names), convert


def pareto_smoothed(log_weights: Vector) -> tuple[Vector, float]:
    """Importance weights whose largest follow the Pareto tail fitted to them, and its k."""
    n = len(log_weights)
    weights = log_weights - log_weights.max()
    order = np.argsort(weights)
    count = int(min(np.ceil(0.2 * n), np.ceil(3 * np.sqrt(n))))
    tail = order[n - count :]
    cutoff = weights[order[n - count - 1]]
    beyond = np.exp(weights[tail]) - np.exp(cutoff)
    if beyond[-1] <= 0:
        return weights, float("-inf")
    k, sigma = generalized_pareto(np.maximum(beyond, 1e-300))
    p = (np.arange(count) + 0.5) / count
    with np.errstate(over="ignore"):  # a k of hundreds: the largest are cut off below
        far = sigma / k * np.expm1(-k * np.log1p(-p))
    quantile = -sigma * np.log1p(-p) if abs(k) < 1e-9 else far
    smoothed = weights.copy()
    smoothed[tail] = np.minimum(np.log(quantile + np.exp(cutoff)), 0.0)
    return smoothed, k


def generalized_pareto(sorted_values: Vector) -> tuple[float, float]:
    """Shape k and scale of the generalised Pareto distribution (Zhang and Stephens 2009).

    The values rise; k is drawn towards 0.5 as ten more values would do.
    """
    x = sorted_values
    n = len(x)
    m = 30 + int(np.sqrt(n))
    quartile = x[int(n / 4 + 0.5) - 1]
    b = 1 / x[-1] + (1 - np.sqrt(m / (np.arange(1, m + 1) - 0.5))) / (3 * quartile)
    own = np.log1p(-b[:, None] * x).mean(axis=1)
    length = n * (np.log(-b / own) - own - 1)
    weights = np.exp(length - special.logsumexp(length))
    kept = weights >= 10 * np.finfo(float).eps
    b, weights = b[kept], weights[kept] / weights[kept].sum()
    middle = float(b @ weights)
    k = float(np.log1p(-middle * x).mean())
    sigma = -k / middle
    return (n * k + 10 * 0.5) / (n + 10), sigma


def _nuts(
    target: Target, mode: Vector, information: Matrix, n: int, rng: np.random.Generator
) -> Matrix:
    """Draws by NUTS, of numbers that are standard normal where the posterior is normal."""
    try:
        import nutpie
    except ImportError as error:
        raise DataError(
            "method 'nuts' must have the package nutpie; got none installed. Install "
            "penchant[bayes], or use method='importance'."
        ) from error
    factor = _factor(information)
    size = len(mode)

    def make_logp() -> Any:
        def logp(z: Vector) -> tuple[float, Vector]:
            value, gradient, _ = target.slopes(mode + factor @ z)
            return value, np.asarray(factor.T @ gradient)

        return logp

    def make_expand(seed1: int, seed2: int, chain: int) -> Any:
        return lambda z: {"x": np.asarray(mode + factor @ np.asarray(z))}

    model = nutpie.compiled_pyfunc.from_pyfunc(
        size, make_logp, make_expand, [np.dtype("float64")], [(size,)], ["x"]
    )
    chains = 2
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
