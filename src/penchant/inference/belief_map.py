"""The map somebody had in mind before play, as far as their choices tell it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.argument_checks import check_level, check_rng, check_whole_number
from penchant.models.spatial.ucl import UCL
from penchant.result_tables import Columns, Result
from penchant.tail_probabilities import normal_isf

NODES = 33  # of the decision noise, over which a map is summed
NEAR_ZERO = 0.1  # share of a weight below which a normal distribution of it is not believed
WIDER = 2.0  # times the prior's variance of a map, beyond which choices leave nobody


@dataclass(frozen=True, eq=False)
class MapFit:
    """What one width of the prior makes of the data: level and coefficients, nearly normal.

    Attributes
    ----------
    sd, n
        Width of the prior on the map, in units of rewards, and the number of functions.
    log_evidence
        Log-probability of the choices, by Laplace's method.
    functions, rest
        What the map is made of: (n_options, n); and what it may have besides: (n_options, m).
    mean, covariance
        Of the level and the coefficients: (1 + n,), (1 + n, 1 + n).
    bonus_correlation
        Of the level with the logarithm of the relative precision, which sets the bonus.
    """

    json_names = ("sd", "n", "log_evidence")
    sd: float
    n: int
    log_evidence: float
    functions: Matrix
    rest: Matrix
    mean: Vector
    covariance: Matrix
    bonus_correlation: float

    @classmethod
    def from_estimate(
        cls,
        model: UCL,
        theta: Vector,
        covariance: Matrix,
        sd: float = float("nan"),
        log_evidence: float = 0.0,
        noise: float | None = None,
    ) -> MapFit:
        """What weights and shape parameters, nearly normal, say of the level and the map.

        Where the noise is given that was plugged into the prior on the weights, the prior is made
        one on the map itself, whatever the noise is: see `_in_rewards`.
        """
        assert model.prior_map is not None
        basis, n = model.prior_map, model.prior_map.n
        if theta[0] <= 0:  # choices that follow no beliefs tell nothing of them
            width = sd if np.isfinite(sd) else np.inf
            blind = np.zeros(1 + n), np.diag(np.full(1 + n, width**2)), float("nan")
            return cls(sd, n, log_evidence, basis.functions, basis.rest, *blind)
        where = [1, *range(model.map_weights.start, model.map_weights.stop)]
        mean = theta[where] / theta[0]
        slope = np.zeros((len(where), len(theta)))
        slope[:, 0] = -mean / theta[0]
        slope[np.arange(len(where)), where] = 1.0 / theta[0]
        used = np.isfinite(np.diag(covariance))
        inside = covariance[np.ix_(used, used)]
        found = slope[:, used] @ inside @ slope[:, used].T
        precision, correlation = len(model.weights), float("nan")
        if used[precision] and found[0, 0] > 0:
            both = slope[0, used] @ covariance[np.flatnonzero(used), precision]
            correlation = float(both / np.sqrt(found[0, 0] * covariance[precision, precision]))
        both = (found + found.T) / 2
        if noise is not None and n and used[: len(model.weights)].all():
            more, mean, both = _in_rewards(theta, covariance, where, sd, noise)
            log_evidence += more
        functions = basis.functions, basis.rest
        return cls(sd, basis.n, log_evidence, *functions, mean, both, correlation)


def _in_rewards(
    theta: Vector, covariance: Matrix, where: list[int], sd: float, noise: float
) -> tuple[float, Vector, Matrix]:
    """Log-evidence more, mean and covariance of level and map, under a prior c ~ N(0, sd^2).

    The weights theta_k = c_k / nu were fitted under N(0, (sd / noise)^2), with the noise plugged
    in for nu. At every theta_0 = 1 / nu the other weights are normal, and so is the ratio of the
    two priors, (theta_0 noise)^-n exp(-|theta_k|^2 (theta_0^-2 - noise^2) / (2 sd^2)): their
    product is exact. theta_0, flat in its logarithm, is summed over nodes. Without this nu is
    found too small, and maps are too sure.
    """
    scale = float(np.sqrt(covariance[0, 0]))
    away = np.linspace(-4.0, 4.0, NODES)
    away = away[theta[0] + scale * away > NEAR_ZERO * theta[0]]
    slope = covariance[where, 0] / covariance[0, 0]
    left = covariance[np.ix_(where, where)] - np.outer(slope, slope) * covariance[0, 0]
    inverse = np.linalg.inv(left)
    is_map = np.arange(len(where)) > 0
    usual, logs, means, covariances = [], [], [], []
    for z in away:
        at = theta[0] + scale * z
        middle = theta[where] + slope * (at - theta[0])
        precision = inverse + np.diag(is_map * (at**-2.0 - noise**2) / sd**2)
        if np.linalg.eigvalsh(precision)[0] <= 0:  # no choice speaks for it
            continue
        found = np.linalg.inv(precision)
        if np.linalg.eigvalsh(found[1:, 1:])[-1] > WIDER * (sd * at) ** 2:
            continue  # less is known than before the choices: the normal shape does not reach here
        mean = found @ inverse @ middle
        wide = np.linalg.slogdet(found)[1] + np.linalg.slogdet(inverse)[1]
        fits = mean @ precision @ mean - middle @ inverse @ middle
        logs.append(0.5 * (fits + wide) - (is_map.sum() + 1) * np.log(at * noise))
        usual.append(np.exp(-0.5 * z**2))
        means.append(mean / at)
        covariances.append(found / at**2)
    if not logs:
        return 0.0, theta[where] / theta[0], covariance[np.ix_(where, where)] / theta[0] ** 2
    share = np.exp(np.array(logs) - max(logs)) * np.array(usual)
    more = max(logs) + np.log(share.sum() / sum(usual))
    share /= share.sum()
    every = np.array(means)
    mean = share @ every
    around = np.einsum("k,ki,kj->ij", share, every - mean, every - mean)
    return float(more), mean, np.tensordot(share, np.array(covariances), 1) + around


@dataclass(frozen=True, eq=False)
class BeliefMap(Result):
    """What somebody expected of every option before play: a map, and its level apart.

    Differences over the map are told by choices; the level hardly is, for it trades with the bonus
    for what is unknown.

    Attributes
    ----------
    mean, sd
        The map at every option, of mean 0 over them, and its standard deviation: (n_options,).
    level, level_sd
        What is expected of all options alike.
    removed
        Share of the variance of the map's prior that the choices removed; NaN without a `MapPrior`.
    status, message
        Of the estimate.
    n_decisions
        Decisions that were scored.
    fits
        Every width of the prior that was tried, with its evidence; the map is their mixture.
    locations
        Where the options lie.
    """

    json_names = (
        *("status", "n_decisions", "level", "level_sd", "removed", "bonus_correlation"),
        *("mean", "sd", ("evidence", "fits")),
    )
    mean: Vector
    sd: Vector
    level: float
    level_sd: float
    removed: float
    status: str
    message: str
    n_decisions: int
    fits: tuple[MapFit, ...] = field(repr=False)
    locations: Any = field(repr=False, default=None)

    @classmethod
    def from_fits(
        cls, fits: tuple[MapFit, ...], status: str, message: str, n_decisions: int, locations: Any
    ) -> BeliefMap:
        """The mixture of fits, each as likely as its evidence makes it."""
        weights = evidence_weights(fits)
        parts = [_at_options(fit) for fit in fits]
        means = np.array([mean for mean, _ in parts])
        covariances = np.array([covariance for _, covariance in parts])
        mean = weights @ means
        variance = weights @ (np.diagonal(covariances, axis1=1, axis2=2) + (means - mean) ** 2)
        beside = weights @ np.array([_beside(fit) for fit in fits])
        variance[1:] += np.nan_to_num(beside)
        prior = float((beside + weights @ np.array([_prior(fit) for fit in fits])).mean())
        left = float(variance[1:].mean())
        removed = 1.0 - left / prior if prior > 0 else float("nan")
        sd = np.sqrt(variance)
        return cls(
            mean[1:],
            sd[1:],
            float(mean[0]),
            float(sd[0]),
            removed if len(mean) > 1 else float("nan"),
            status,
            message,
            n_decisions,
            fits,
            locations,
        )

    @property
    def expected(self) -> Vector:
        """Level and map together: the reward expected of every option before play."""
        return np.asarray(self.level + self.mean)

    @property
    def width(self) -> float:
        """Standard deviation of the prior on the map, averaged by the evidence."""
        return float(evidence_weights(self.fits) @ [fit.sd for fit in self.fits])

    @property
    def n_functions(self) -> int:
        """Number of functions that the likeliest map is made of."""
        return self.fits[int(np.argmax([fit.log_evidence for fit in self.fits]))].n

    @property
    def bonus_correlation(self) -> float:
        """Correlation of the level with the bonus: near 1 or -1 choices cannot tell them apart."""
        return self.fits[int(np.argmax([fit.log_evidence for fit in self.fits]))].bonus_correlation

    def interval(self, level: float = 0.9) -> Matrix:
        """Pointwise intervals of the map: (n_options, 2)."""
        check_level(level)
        half = float(normal_isf((1 - level) / 2)) * self.sd
        return np.column_stack([self.mean - half, self.mean + half])

    def draws(self, rng: np.random.Generator, n: int = 1) -> Matrix:
        """Maps as likely as the choices make them, of mean 0 over the options: (n, n_options)."""
        n = check_whole_number(n, "n", 1)
        check_rng(rng)
        which = rng.choice(len(self.fits), size=n, p=evidence_weights(self.fits))
        found = np.empty((n, len(self.mean)))
        for k, fit in enumerate(self.fits):
            mine = np.flatnonzero(which == k)
            values, vectors = np.linalg.eigh(fit.covariance[1:, 1:])
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            drawn = fit.mean[1:] + rng.standard_normal((len(mine), fit.n)) @ root.T
            found[mine] = drawn @ fit.functions.T
            if np.isfinite(fit.sd):
                beside = rng.standard_normal((len(mine), fit.rest.shape[1]))
                found[mine] += fit.sd * beside @ fit.rest.T
        return found

    def summary(self) -> str:
        """What is known of the map, in words."""
        low, high = int(np.argmin(self.mean)), int(np.argmax(self.mean))
        told = "not known" if np.isnan(self.removed) else f"{round(100 * self.removed)} %"
        tried = ", ".join(
            f"sd {fit.sd:.3g} with {fit.n}: {fit.log_evidence:.1f}" for fit in self.fits
        )
        return "\n".join(
            [
                f"Belief map of {len(self.mean)} options from {self.n_decisions} decisions: "
                f"{self.status}",
                f"Highest: option {high}, {self.mean[high]:+.3g} ± {self.sd[high]:.2g} "
                "from the level",
                f"Lowest: option {low}, {self.mean[low]:+.3g} ± {self.sd[low]:.2g} from the level",
                f"Level: {self.level:.3g} ± {self.level_sd:.2g}, which choices tell poorly "
                f"(correlation {self.bonus_correlation:.2f} with the bonus)",
                f"Variance of the prior map removed by the choices: {told}",
                f"Log evidence by width of the prior and number of functions: {tried}",
            ]
        )

    def frame_columns(self) -> Columns:
        """One row per option: mean, sd, and where it lies."""
        columns: dict[str, Any] = {"option": np.arange(len(self.mean)).tolist()}
        if self.locations is not None:
            for axis, name in zip(np.asarray(self.locations).T, "xyz", strict=False):
                columns[name] = axis.tolist()
        columns |= {"mean": self.mean.tolist(), "sd": self.sd.tolist()}
        return columns

    def __repr__(self) -> str:
        return f"<BeliefMap of {len(self.mean)} options: {self.status}>"


def evidence_weights(fits: tuple[MapFit, ...]) -> Vector:
    """Probability of each fit among those tried."""
    evidence = np.array([fit.log_evidence for fit in fits])
    weights = np.exp(evidence - evidence.max())
    return np.asarray(weights / weights.sum())


def _beside(fit: MapFit) -> Vector:
    """Variance at every option of what the map may have beside its functions."""
    return np.asarray(fit.sd**2 * (fit.rest**2).sum(axis=1))


def _prior(fit: MapFit) -> Vector:
    """Variance at every option of the map's functions before any choice."""
    return np.asarray(fit.sd**2 * (fit.functions**2).sum(axis=1))


def _at_options(fit: MapFit) -> tuple[Vector, Matrix]:
    """Mean and covariance of the level and the map at every option."""
    n_options = len(fit.functions)
    to = np.zeros((1 + n_options, 1 + fit.n))
    to[0, 0] = 1.0
    to[1:, 1:] = fit.functions
    return to @ fit.mean, to @ fit.covariance @ to.T
