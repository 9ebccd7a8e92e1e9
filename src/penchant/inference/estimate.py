"""The result of a fit of a model with shape parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar, overload

import numpy as np
from scipy import special

from penchant._frames import Backend, frame
from penchant._typing import Matrix, Vector
from penchant.arguments import check_level
from penchant.bandit.episode import Episode
from penchant.errors import DataError
from penchant.inference import predict
from penchant.inference.calibrated import calibrated_intervals
from penchant.inference.intervals import profile_intervals, profile_positions, values_at
from penchant.inference.limits import at_limits, lost_there
from penchant.inference.profile.problem import Problem
from penchant.inference.profile.profiles import Profiles
from penchant.inference.search.grid import Grid, whole_grids
from penchant.inference.search.peaks import Peak
from penchant.inference.search.search import shared_suprema
from penchant.models.model import Declared, Model, Natural, model_words, natural_parameters
from penchant.models.natural_prior import Prior
from penchant.output.document import plain, plain_label
from penchant.output.table import Table, number
from penchant.softmax.calibrated import N_DRAWN, check_drawing, further_level
from penchant.softmax.diagnostics import Diagnostics, Status
from penchant.softmax.document import diagnostics_dict
from penchant.softmax.estimate import INTERVAL_WORDS, IntervalKind
from penchant.softmax.transformations import Parameter, fieller
from penchant.tails import normal_point

_OF_VARIABLES = re.compile(r"Drop a variable(, interact \S+ with the options)?, give")


def advised(message: str, model: Any, diagnostics: Diagnostics) -> str:
    """The message with advice for a model instead of advice for a table of variables.

    A model may know why one of its weights is not identified: it then has `unidentified`, a mapping
    from weights to sentences that say what to do.

    Parameters
    ----------
    message
        That the weights are not identified, and what to do with variables.
    model
        Whose weights they are.
    diagnostics
        Which directions are not identified.
    """
    known = Declared(model).unidentified
    alone = [_alone(direction) for direction in diagnostics.null_directions]
    own = "".join(f"{known[name]} " for name in alone if name is not None and name in known)
    return _OF_VARIABLES.sub(f"{own}Else use" if own else "Use", message)


def _alone(direction: Any) -> str | None:
    """The one weight that a direction consists of."""
    parts = [name for name, value in direction.items() if value != 0]
    return parts[0] if len(parts) == 1 else None


One = TypeVar("One")


@dataclass(frozen=True, eq=False, repr=False)
class BySubject(Sequence[One], Generic[One]):
    """One estimate per subject; each has a status and a message."""

    subjects: tuple[Any, ...]
    estimates: tuple[One, ...]

    def __len__(self) -> int:
        return len(self.estimates)

    @overload
    def __getitem__(self, index: int) -> One: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[One, ...]: ...
    def __getitem__(self, index: int | slice) -> One | tuple[One, ...]:
        return self.estimates[index]

    def __iter__(self) -> Iterator[One]:
        return iter(self.estimates)

    def of(self, subject: Any) -> One:
        """The estimate of one subject, by label."""
        if subject not in self.subjects:
            raise DataError(
                f"subject must be one of the {len(self)} fitted; got {subject!r}. "
                "See `estimates.subjects`."
            )
        return self.estimates[self.subjects.index(subject)]

    @property
    def status(self) -> tuple[str, ...]:
        """One status per subject."""
        return tuple(e.status for e in self.estimates)  # type: ignore[attr-defined]

    @property
    def messages(self) -> tuple[str, ...]:
        """What the statuses mean."""
        return tuple(e.message for e in self.estimates)  # type: ignore[attr-defined]

    def counts(self) -> dict[str, int]:
        """How many subjects have each status."""
        return {status: self.status.count(status) for status in sorted(set(self.status))}


BETTER = "; those by kind='profile' hold the truth more often where decisions are few"


@dataclass(frozen=True, eq=False, repr=False)
class ModelEstimate:
    """What episodes tell of a model's weights theta and shape psi.

    Attributes
    ----------
    status, message
        "converged", or what is wrong, and a sentence that says what to do.
    names, theta, covariance
        Weights first, then shape parameters, with their joint covariance (inverse observed
        information); NaN where there is none.
    parameters
        Natural parameters: name, estimate, standard_error, low, high; NaN where choices that are
        separated leave none, with the values that explain them from low to high.
    log_likelihood, null_log_likelihood
        Exact, at the estimate and for uniform choice.
    grid
        The grid of the search, or what computes it; see `profile`.
    peak
        The maximum of the profile, with its curvature.
    n_subjects
        How many people the episodes are of: more than one are pooled, with the same parameters.
    """

    status: Status
    message: str
    model: Model
    names: tuple[str, ...]
    theta: Vector
    covariance: Matrix
    log_likelihood: float
    null_log_likelihood: float
    log_posterior: float | None
    diagnostics: Diagnostics
    n_decisions: int
    grid: Grid | Callable[[], Grid]
    peak: Peak
    prior: Prior | None = None
    subject: Any = None
    notes: tuple[str, ...] = ()
    n_subjects: int = 1
    episodes: tuple[Episode, ...] | None = None

    def __post_init__(self) -> None:
        if self.status == "not identified":
            words = advised(self.message, self.model, self.diagnostics)
            object.__setattr__(self, "message", words)

    @property
    def searched(self) -> Grid:
        """The grid of psi from which the search started: exact where it may matter."""
        if not isinstance(self.grid, Grid):
            object.__setattr__(self, "grid", self.grid())
        assert isinstance(self.grid, Grid)
        return self.grid

    @cached_property
    def profile(self) -> Grid:
        """The objective at every point of the grid of psi, to look at."""
        if self.searched.looked.all() or self.episodes is None:
            return self.searched
        return whole_grids(Profiles(self.model, (self.episodes,), self.prior)).of(0)

    @property
    def converged(self) -> bool:
        """The estimate is the highest peak found, and well defined."""
        return self.status == "converged"

    @property
    def n_weights(self) -> int:
        """Number of linear weights; the shape parameters follow them."""
        return len(self.model.weights)

    @property
    def weights(self) -> Vector:
        """Linear weights."""
        return self.theta[: self.n_weights]

    @property
    def psi(self) -> Vector:
        """Shape parameters."""
        return self.theta[self.n_weights :]

    @property
    def standard_errors(self) -> Vector:
        """Of weights and shape parameters; NaN where there is none."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def aic(self) -> float:
        """Akaike's criterion."""
        return 2 * len(self.theta) - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz's criterion."""
        n = max(self.n_decisions, 1)
        return float(np.log(n)) * len(self.theta) - 2 * self.log_likelihood

    @property
    def pseudo_r2(self) -> float:
        """McFadden's 1 - l / l(uniform)."""
        if self.null_log_likelihood == 0:
            return float("nan")
        return 1.0 - self.log_likelihood / self.null_log_likelihood

    # -- natural parameters ----------------------------------------------------------------------

    @property
    def natural(self) -> tuple[Natural, ...]:
        """How the natural parameters follow from weights and shape."""
        return natural_parameters(self.model)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Natural parameters with 95 % intervals."""
        return self.parameters_at(0.95)

    def parameters_at(
        self,
        level: float,
        kind: IntervalKind = "wald",
        rng: np.random.Generator | None = None,
    ) -> tuple[Parameter, ...]:
        """Natural parameters with intervals at this level; "calibrated" ones need an rng."""
        return self.parameters_within(self.interval(level, kind, rng=rng))

    def parameters_within(self, low_high: Matrix) -> tuple[Parameter, ...]:
        """Natural parameters with intervals that are known already: (n_natural, 2)."""
        found = []
        lost = lost_there(self.model.shape, self.peak)
        for natural, (low, high) in zip(self.natural, low_high, strict=True):
            slope = natural.gradient(self.weights, self.psi)
            used = slope != 0
            variance = slope[used] @ self.covariance[np.ix_(used, used)] @ slope[used]
            found.append(
                Parameter(
                    natural.name,
                    self.value_of(natural),
                    float("nan") if natural.name in lost else float(np.sqrt(variance)),
                    float(low),
                    float(high),
                )
            )
        return tuple(found)

    def value_of(self, natural: Natural) -> float:
        """A natural parameter; NaN where it has no estimate.

        It has none where its weight is at infinity, or moves with a shape parameter to a limit. A
        shape parameter at a limit has the limit's value.
        """
        if natural.kind == "shape":
            with np.errstate(divide="ignore"):
                return natural.value(self.weights, at_limits(self.model.shape, self.peak, self.psi))
        used = [natural.index, *([natural.other] if natural.kind == "ratio" else [])]
        gone = self.weights[natural.index] != 0.0  # a weight of 0 makes up for nothing
        gone &= natural.name in lost_there(self.model.shape, self.peak)
        if gone or not np.isfinite(self.weights[used]).all():
            return float("nan")
        return natural.value(self.weights, self.psi)

    def interval(
        self,
        level: float = 0.95,
        kind: IntervalKind = "wald",
        *,
        rng: np.random.Generator | None = None,
        n_drawn: int = N_DRAWN,
    ) -> Matrix:
        """Interval of each natural parameter: (n_natural, 2).

        "wald": on the logarithm for positive parameters, the log-odds for those with a range,
        Fieller's for ratios. "profile": inverts the likelihood-ratio test; right where the
        likelihood is skewed, infinite where it is flat, and one-sided where choices are separated.
        "calibrated": the same test, with its distribution found by simulating choices instead of
        taken from large samples; for few decisions, such as a questionnaire.

        Where choices are separated there is no Wald interval, and "wald" gives the values that are
        consistent with them: of a shape parameter without an estimate those that share the
        supremum of the likelihood, from 0 or to infinity where nothing ends them; of everything
        else the profile interval. NaN without the episodes, which are not stored.

        Parameters
        ----------
        rng
            Source of randomness, for "calibrated": the same seed gives the same interval.
        n_drawn
            Sets of choices drawn at every value that is tried, for "calibrated".
        """
        check_level(level)
        found: Matrix = joint_intervals([self], level, kind, rng, n_drawn)[0]
        return found

    def _wald(self, natural: Natural, level: float) -> tuple[float, float]:
        if natural.name in lost_there(self.model.shape, self.peak):
            return np.nan, np.nan
        is_shape = natural.kind == "shape"
        value = natural.value(self.weights, self.psi) if is_shape else self.value_of(natural)
        if natural.kind == "share":
            low, high = self._wald(Natural(natural.name, "weight", natural.index), level)
            return natural.share_of(high), natural.share_of(low)
        if natural.kind == "ratio":
            pair = [natural.index, natural.other]
            found = fieller(
                self.weights[pair[0]],
                self.weights[pair[1]],
                self.covariance[np.ix_(pair, pair)],
                level,
            )
            known = found.kind in ("bounded", "unknown")
            return (found.low, found.high) if known else (-np.inf, np.inf)
        slope = natural.gradient(self.weights, self.psi)
        used = slope != 0
        error = float(np.sqrt(slope[used] @ self.covariance[np.ix_(used, used)] @ slope[used]))
        half = float(normal_point((1 - level) / 2)) * error
        positive = natural.kind == "reciprocal" or (
            natural.kind == "shape" and self.model.shape[natural.index].scale == "log"
        )
        if positive and value > 0:
            with np.errstate(over="ignore"):
                factor = np.exp(half / value)
            return float(value / factor), float(value * factor)
        if natural.kind == "shape":  # a linear range, such as 0 to 1, is all there is
            shape = self.model.shape[natural.index]
            ends = natural.scale * np.array([shape.low, shape.high]) ** natural.power
            return _within(value, half, float(ends.min()), float(ends.max()))
        return value - half, value + half

    @property
    def rising(self) -> Vector:
        """Sign of the direction in which each weight has no finite maximum, 0 where it has."""
        found = self.diagnostics.separation
        direction = {} if found is None else found.direction
        return np.array([np.sign(direction.get(name, 0.0)) for name in self.model.weights])

    @cached_property
    def _calibrated(self) -> dict[tuple[float, int, int], Matrix]:
        """Calibrated intervals found so far, by level, seed and number of draws."""
        return {}

    def _problem(self) -> Problem:
        if self.episodes is None:
            raise DataError(
                "episodes must be at hand for profile intervals and predictions of the data; got "
                "none, as they are not stored with an estimate. Fit again."
            )
        return Problem(self.model, self.episodes, self.prior)

    # -- predictions -----------------------------------------------------------------------------

    @property
    def working_psi(self) -> Vector:
        """Psi to compute with: any value will do where a weight of 0 leaves it without meaning."""
        if not np.isfinite(self.weights).all():
            return self.psi
        return np.where(np.isnan(self.psi), self.peak.point.psi, self.psi)

    def predict(
        self, episodes: Episode | Sequence[Episode] | None = None, *, average: bool = False
    ) -> Matrix:
        """Choice probabilities of every decision scored: (n_decisions, n_options).

        Parameters
        ----------
        episodes
            New episodes, or those of the fit.
        average
            Average over psi, each weighted by its profile likelihood, instead of taking the best.
        """
        data = self._problem().episodes if episodes is None else predict.as_episodes(episodes)
        if not average:
            return predict.probabilities(self.model, data, self.weights, self.working_psi)
        return predict.averaged(self.model, data, self.profile, self.peak)

    def log_likelihoods(self, episodes: Episode | Sequence[Episode] | None = None) -> Vector:
        """Log-probability of each decision scored."""
        data = self._problem().episodes if episodes is None else predict.as_episodes(episodes)
        return predict.decision_log_likelihoods(self.model, data, self.weights, self.working_psi)

    # -- for reading -----------------------------------------------------------------------------

    def table(
        self,
        level: float = 0.95,
        kind: IntervalKind = "wald",
        rng: np.random.Generator | None = None,
    ) -> Table:
        """The summary as a table."""
        rows = tuple(
            (
                p.name,
                number(p.estimate),
                number(p.standard_error),
                number(p.low, 4),
                number(p.high, 4),
            )
            for p in self.parameters_at(level, kind, rng)
        )
        whose = "" if self.subject is None else f" of {self.subject}"
        how = "maximum likelihood" if self.prior is None else f"MAP, {self.prior} prior"
        facts = (
            ("Status", self.status),
            ("Decisions", str(self.n_decisions)),
            ("Log-likelihood", f"{self.log_likelihood:.4f} (null {self.null_log_likelihood:.4f})"),
            ("AIC, BIC", f"{self.aic:.2f}, {self.bic:.2f}"),
        )
        header = ("", "estimate", "std. error", f"{100 * level:g} % low", "high")
        said = () if self.status == "converged" else (self.message,)
        named = (f"Model: {model_words(self.model)}.", _interval_words(kind))
        notes = (*said, *named, *self.notes)
        return Table(f"Exact {how}{whose}", facts, header, rows, notes)

    def summary(
        self,
        level: float = 0.95,
        kind: IntervalKind = "wald",
        rng: np.random.Generator | None = None,
    ) -> str:
        """Everything one reads first, as text."""
        return self.table(level, kind, rng).text()

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        values = ", ".join(f"{n.name}={number(self.value_of(n))}" for n in self.natural)
        return f"<ModelEstimate {self.status}: {values}>"

    def _repr_html_(self) -> str:
        return self.table().html()

    def to_latex(self, level: float = 0.95) -> str:
        """The table for a paper (booktabs)."""
        return self.table(level).latex()

    def to_frame(
        self,
        level: float = 0.95,
        backend: Backend | None = None,
        kind: IntervalKind = "wald",
        rng: np.random.Generator | None = None,
    ) -> Any:
        """One row per natural parameter."""
        found = self.parameters_at(level, kind, rng)
        return frame(
            {
                "name": [p.name for p in found],
                "estimate": [p.estimate for p in found],
                "standard_error": [p.standard_error for p in found],
                "low": [p.low for p in found],
                "high": [p.high for p in found],
            },
            backend,
        )

    def to_dict(
        self,
        level: float = 0.95,
        kind: IntervalKind = "wald",
        rng: np.random.Generator | None = None,
    ) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON; `intervals` says which low and high are."""
        return {
            "format": "penchant-model-estimate",
            "version": 1,
            "subject": plain_label(self.subject),
            "status": self.status,
            "message": self.message,
            "model": model_words(self.model),
            "log_likelihood": plain(self.log_likelihood),
            "null_log_likelihood": plain(self.null_log_likelihood),
            "log_posterior": plain(self.log_posterior),
            "n_decisions": self.n_decisions,
            "n_subjects": self.n_subjects,
            "level": level,
            "intervals": kind,
            "parameters": [
                {
                    "name": p.name,
                    "estimate": plain(p.estimate),
                    "standard_error": plain(p.standard_error),
                    "low": plain(p.low),
                    "high": plain(p.high),
                }
                for p in self.parameters_at(level, kind, rng)
            ],
            "names": list(self.names),
            "theta": plain(self.theta),
            "covariance": plain(self.covariance),
            "diagnostics": diagnostics_dict(self.diagnostics),
            "notes": list(self.notes),
        }

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in self.__dict__.items() if name != "_calibrated"}
        return {**kept, "grid": self.profile, "episodes": None}


def _interval_words(kind: IntervalKind) -> str:
    return f"Intervals: {INTERVAL_WORDS[kind]}{BETTER if kind == 'wald' else ''}."


def _within(value: float, half: float, low: float, high: float) -> tuple[float, float]:
    """Interval inside a range, from half its length on the range's own scale, by log-odds.

    >>> [round(end, 3) for end in _within(0.9, 0.15, 0.0, 1.0)]
    [0.63, 0.979]
    """
    share, width = (value - low) / (high - low), high - low
    if not 0 < share < 1:  # at a bound there are no log-odds
        return max(value - half, low), min(value + half, high)
    centre, away = special.logit(share), half / width / (share * (1 - share))
    ends = low + width * special.expit(np.array([centre - away, centre + away]))
    return float(ends[0]), float(ends[1])


def joint_intervals(
    estimates: Sequence[ModelEstimate],
    level: float,
    kind: IntervalKind,
    rng: np.random.Generator | None = None,
    n_drawn: int = N_DRAWN,
) -> Matrix:
    """Intervals (n_estimates, n_natural, 2) of estimates of one model.

    All are found together, and none depends on the others.
    """
    if kind == "wald":
        return _wald_intervals(estimates, level)
    if kind == "profile":
        return _profile_intervals(estimates, level, estimates[0].natural)
    if kind == "calibrated":
        return _calibrated_intervals(estimates, level, rng, n_drawn)
    raise DataError(f"kind must be 'wald', 'profile' or 'calibrated'; got {kind!r}. Choose one.")


def _wald_intervals(estimates: Sequence[ModelEstimate], level: float) -> Matrix:
    """Wald intervals, or what separated choices are consistent with."""
    ends = np.array([[e._wald(natural, level) for natural in e.natural] for e in estimates])
    lost = [k for k, e in enumerate(estimates) if e.status == "separated" and e.episodes]
    for a, natural in enumerate(estimates[0].natural if lost else ()):
        is_shape = natural.kind == "shape"
        shared = [k for k in lost if is_shape and np.isnan(estimates[k].psi[natural.index])]
        others = [k for k in lost if k not in shared]
        if shared:
            ends[shared, a] = _consistent([estimates[k] for k in shared], natural)
        if others:
            mine = [estimates[k] for k in others]
            with np.errstate(over="ignore", invalid="ignore"):  # weights that go to infinity
                ends[others, a] = _profile_intervals(mine, level, [natural])[:, 0]
    return ends


def _profiles_of(estimates: Sequence[ModelEstimate]) -> Profiles:
    groups = tuple(e._problem().episodes for e in estimates)
    return Profiles(estimates[0].model, groups, estimates[0].prior)


def _consistent(estimates: Sequence[ModelEstimate], natural: Natural) -> Matrix:
    """Values of a shape parameter at which the likelihood comes to its supremum.

    A model of one rate may know its points of indifference; else they are searched for.
    """
    exact = Declared(estimates[0].model).consistent_rates
    known = [None if exact is None else exact(list(e.episodes or ())) for e in estimates]
    ends = np.array([(np.nan, np.nan) if pair is None else pair for pair in known])
    unknown = [k for k, pair in enumerate(known) if pair is None]
    if unknown:
        ends[unknown] = _searched([estimates[k] for k in unknown], natural)
    return ends


def _searched(estimates: Sequence[ModelEstimate], natural: Natural) -> Matrix:
    profiles = _profiles_of(estimates)
    positions = shared_suprema(
        profiles,
        [e.searched for e in estimates],
        np.array([e.peak.point.psi for e in estimates]),
        np.array([e.log_likelihood for e in estimates]),
        natural.index,
    )
    return np.sort(values_at(profiles, natural, positions), axis=1)


def _profile_intervals(
    estimates: Sequence[ModelEstimate], level: float, naturals: Sequence[Natural]
) -> Matrix:
    known = [k for k, e in enumerate(estimates) if e.status != "not identified"]
    ends = np.full((len(estimates), len(naturals), 2), np.nan)
    if known:
        mine = [estimates[k] for k in known]
        ends[known] = profile_intervals(
            _profiles_of(mine),
            [e.searched for e in mine],
            [e.peak for e in mine],
            naturals,
            level,
            np.stack([e.rising for e in mine]),
        )
    return ends


def _calibrated_intervals(
    estimates: Sequence[ModelEstimate],
    level: float,
    rng: np.random.Generator | None,
    n_drawn: int,
) -> Matrix:
    first = estimates[0]
    seed = check_drawing(rng, n_drawn, first.prior is not None)
    known = [k for k, e in enumerate(estimates) if e.status != "not identified"]
    ends = np.full((len(estimates), len(first.natural), 2), np.nan)
    if not known:
        return ends
    mine = [estimates[k] for k in known]
    asked = level, seed, n_drawn
    if all(asked in e._calibrated for e in mine):
        ends[known] = [e._calibrated[asked] for e in mine]
        return ends
    profiles = _profiles_of(mine)
    grids, peaks = [e.searched for e in mine], [e.peak for e in mine]
    rising = np.stack([e.rising for e in mine])
    near, far = (
        profile_positions(profiles, grids, peaks, first.natural, at, rising)
        for at in (level, further_level(level))
    )
    ends[known] = calibrated_intervals(
        profiles, peaks, first.natural, level, (near, far), seed, n_drawn
    )
    for estimate, found in zip(mine, ends[known], strict=True):
        estimate._calibrated[asked] = found
    return ends
