"""Source of a model's estimate: intervals, tests and predictions that need its episodes.

Wald intervals by the delta method, profile intervals by `intervals`, calibrated ones by
`calibrated`, sandwich covariances (White 1982), and predictions by `predict`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import special

from penchant._typing import Matrix, Vector
from penchant.choices.scan_protocols import SubjectScan
from penchant.errors import DataError
from penchant.inference import predict
from penchant.inference.belief_map import BeliefMap, MapFit
from penchant.inference.calibrated_intervals import calibrated_intervals
from penchant.inference.intervals import natural_values_at, profile_intervals, profile_positions
from penchant.inference.predict import PosteriorSample, Predictor, draw_posterior_sample
from penchant.inference.profile.inner_problems import LinearConstraint
from penchant.inference.profile.profile_likelihood import ProfileProblems
from penchant.inference.search.grid_search import ProfileGrid, full_grids
from penchant.inference.search.local_maxima import (
    Optima,
    parameters_undefined_at_limits,
    psi_at_limits,
)
from penchant.inference.search.multistart import interval_reaching_supremum, newton_from
from penchant.models.arguments import as_episodes
from penchant.models.model import Declared, Model, model_words, natural_parameters
from penchant.models.parameters import Parameter, bound_table
from penchant.models.priors import OnLinks, PopulationPrior, Prior
from penchant.models.setting_warnings import doubts_of
from penchant.softmax.calibrated_intervals import (
    N_DRAWN,
    level_of_further_interval,
    seed_for_calibration,
)
from penchant.softmax.data_behind_estimate import (
    EstimateFields,
    EstimateSource,
    IntervalKind,
    NaturalEstimate,
    Rng,
    Space,
)
from penchant.softmax.estimate import Estimate
from penchant.softmax.intervals_and_tests import (
    ParameterEstimate,
    TestResult,
    delta_method,
    fieller_interval,
    numerical_jacobian,
    sandwich,
    sum_by_cluster,
)
from penchant.tail_probabilities import chi_square_sf, normal_isf

# Points of the path along which a parameter is moved to the value of a hypothesis: each maximum
# starts from the one before, so that the search stays on the same branch of the profile.
N_PATH_POINTS = 9


@dataclass(frozen=True, eq=False)
class ModelSource(EstimateSource):
    """Model behind an estimate, and the episodes that it explains.

    Attributes
    ----------
    model, prior
        What was fitted.
    data
        The episodes; not pickled.
    grid
        The grid of the search, if there was one; see `profile`.
    optimum
        The maximum of the profile, with its curvature.
    maps
        What every width of the prior on a map makes of it; see `belief_map`.
    """

    model: Model
    data: tuple[Any, ...] | None
    grid: ProfileGrid | None
    optimum: Optima
    prior: Prior | None = None
    maps: tuple[MapFit, ...] = ()

    space: ClassVar[Space] = "parameters"
    missing_data_error_text: ClassVar[tuple[str, str, str]] = (
        "must be of choices",
        "an estimate of a model",
        "Use other tests.",
    )

    @property
    def n_weights(self) -> int:
        """Number of linear weights; the shape parameters follow them."""
        return len(self.model.weights)

    @property
    def model_words(self) -> str:
        """Description of the model in words."""
        return model_words(self.model)

    def doubtful_setting_notes(self, sources: Iterable[EstimateSource]) -> tuple[str, ...]:
        """Settings of the model that the episodes of all these sources speak against."""
        return doubts_of(self.model, [e for source in sources for e in source.data or ()])

    @property
    def search_grid(self) -> ProfileGrid:
        """Grid of psi from which the search started, exact where the maximum may lie."""
        if self.grid is None:
            object.__setattr__(self, "grid", full_grids(self.profiles())[0])
        assert self.grid is not None
        return self.grid

    @cached_property
    def profile(self) -> ProfileGrid:
        """Objective at every point of the grid of psi, for plots."""
        if self.search_grid.solved.all() or self.data is None:
            return self.search_grid
        return full_grids(ProfileProblems(self.model, (self.data,), self.prior))[0]

    def profiles(self) -> ProfileProblems:
        """Profile problem of these episodes."""
        if self.data is None:
            raise DataError(
                "episodes",
                "must be at hand for profile intervals and predictions of the data",
                got="none, as they are not stored with an estimate",
                fix="Fit again.",
            )
        return ProfileProblems(self.model, (self.data,), self.prior)

    def natural(self, estimate_fields: EstimateFields) -> NaturalEstimate:
        """Natural parameters with their covariance."""
        naturals = natural_parameters(self.model)
        slopes = np.array([n.gradient(*self._weights_and_psi(estimate_fields)) for n in naturals])
        values = np.array([self.value_of(estimate_fields, n) for n in naturals])
        return NaturalEstimate(
            tuple(n.name for n in naturals),
            values,
            delta_method(estimate_fields.covariance, slopes),
        )

    def natural_names(self, found: EstimateFields) -> tuple[str, ...]:
        """Names of the natural parameters."""
        return tuple(n.name for n in natural_parameters(self.model))

    def has_ratios(self, found: EstimateFields) -> bool:
        """Whether some natural parameter is a ratio of weights, and its interval Fieller's."""
        return any(n.is_ratio for n in natural_parameters(self.model))

    def _weights_and_psi(self, found: EstimateFields) -> tuple[Vector, Vector]:
        return found.theta[: self.n_weights], found.theta[self.n_weights :]

    def value_of(self, found: EstimateFields, natural: Parameter) -> float:
        """Value of a natural parameter; NaN where it has no estimate.

        It has none where its weight is at infinity, or moves with a shape parameter to a limit. A
        shape parameter at a limit has the limit's value.
        """
        weights, psi = self._weights_and_psi(found)
        if natural.is_shape:
            if self.optimum.at_bound.any():
                psi = psi_at_limits(self.model.shape, self.optimum, psi)
            with np.errstate(divide="ignore"):
                return natural.value(weights, psi)
        # A weight of 0 stays 0 wherever psi goes: its parameter is defined at the limit too.
        gone = weights[natural.index] != 0.0
        gone &= natural.name in self._undefined_names
        if gone or not np.isfinite(weights[list(natural.weights)]).all():
            return float("nan")
        return natural.value(weights, psi)

    @cached_property
    def _undefined_names(self) -> frozenset[str]:
        if not self.optimum.at_bound.any():
            return frozenset()
        return parameters_undefined_at_limits(self.model.shape, self.optimum)

    def _standard_error(self, found: EstimateFields, natural: Parameter) -> float:
        slope = natural.gradient(*self._weights_and_psi(found))
        used = np.flatnonzero(slope)
        if len(used) == 1:
            only = used[0]
            return float(abs(slope[only]) * np.sqrt(found.covariance[only, only]))
        return float(np.sqrt(slope[used] @ found.covariance[np.ix_(used, used)] @ slope[used]))

    def parameters(
        self, model_estimates: Sequence[Estimate], level: float, kind: IntervalKind, rng: Rng
    ) -> list[tuple[ParameterEstimate, ...]]:
        """Natural parameters of each estimate, with intervals computed together."""
        naturals = natural_parameters(self.model)
        ends = _intervals(model_estimates, naturals, level, kind, rng)
        return [
            _source(e)._parameters(e, naturals, mine)
            for e, mine in zip(model_estimates, ends, strict=True)
        ]

    def _parameters(
        self, found: EstimateFields, naturals: Sequence[Parameter], low_high: Matrix
    ) -> tuple[ParameterEstimate, ...]:
        lost = self._undefined_names
        return tuple(
            ParameterEstimate(
                natural.name,
                self.value_of(found, natural),
                float("nan") if natural.name in lost else self._standard_error(found, natural),
                float(low),
                float(high),
            )
            for natural, (low, high) in zip(naturals, low_high, strict=True)
        )

    def belief_map(self, found: EstimateFields) -> BeliefMap:
        """Map that the player had in mind before play."""
        model: Any = self.model
        if Declared(model).prior_map is None:
            raise DataError(
                "belief_map",
                "must be asked of a model with a prior_map",
                got="one without",
                fix=(
                    "Fit UCL(..., prior_map=MapBasis.smooth(locations)) with "
                    "parameter_prior=MapPrior()."
                ),
            )
        if not np.isfinite(found.theta).all():
            raise DataError(
                "belief_map",
                "must have a finite estimate",
                got=f"one that is {found.status}",
                fix="Fit with parameter_prior=MapPrior().",
            )
        fits = self.maps or (MapFit.from_estimate(model, found.theta, found.covariance),)
        told = found.status, found.message, found.n_decisions
        return BeliefMap.from_fits(fits, *told, model.locations)

    def intervals(
        self,
        found: Sequence[Estimate],
        names: Sequence[str],
        space: Space,
        level: float,
        kind: IntervalKind,
        rng: Rng,
        n_drawn: int,
    ) -> Matrix:
        """Intervals of estimates of one model, found together; none depends on the others."""
        known = self._naturals(space)
        all_names = [n.name for n in known]
        posterior_sample = [all_names.index(name) for name in names]
        # Calibrated ends depend on a lattice around all intervals, which a subset must not change.
        if kind == "calibrated":
            return _intervals(found, known, level, kind, rng, n_drawn)[:, posterior_sample]
        return _intervals(found, [known[i] for i in posterior_sample], level, kind)

    def _naturals(self, space: Space) -> tuple[Parameter, ...]:
        if space == "parameters":
            return natural_parameters(self.model)
        weights = map(Parameter.weight, self.model.weights)
        return bound_table((*weights, *self.model.shape), self.model.weights, self.model.shape)

    def parameter_wald_interval(
        self, found: EstimateFields, natural: Parameter, level: float
    ) -> tuple[float, float]:
        """Wald interval of a natural parameter, on the scale that suits it."""
        if natural.name in self._undefined_names:
            return np.nan, np.nan
        if natural.is_share:
            ends = np.array(self.parameter_wald_interval(found, natural.along, level)[::-1])
            low, high = natural.values_at(ends)
            return float(low), float(high)
        weights, psi = self._weights_and_psi(found)
        if natural.is_ratio:
            pair = list(natural.weights)
            fraction = fieller_interval(
                weights[pair[0]], weights[pair[1]], found.covariance[np.ix_(pair, pair)], level
            )
            known = fraction.kind in ("bounded", "unknown")
            return (fraction.low, fraction.high) if known else (-np.inf, np.inf)
        # At a limit too a shape parameter counts as it is: the curvature was measured there.
        value = natural.value(weights, psi) if natural.is_shape else self.value_of(found, natural)
        half = float(normal_isf((1 - level) / 2)) * self._standard_error(found, natural)
        if natural.is_positive and value > 0:
            with np.errstate(over="ignore"):
                factor = np.exp(half / value)
            return float(value / factor), float(value * factor)
        bounded = natural.is_derived and np.isfinite(natural.ends).all()
        if natural.is_shape or bounded:
            # Values beyond a linear range, such as 0 to 1, do not exist.
            return _log_odds_interval(value, half, *natural.ends)
        return value - half, value + half

    @cached_property
    def calibrated_interval_cache(self) -> dict[tuple[Any, ...], Matrix]:
        """Calibrated intervals found so far, by parameter, level, seed and number of draws."""
        return {}

    def robust(self, found: EstimateFields) -> Matrix:
        """Sandwich covariance of weights and shape parameters (HC0)."""
        scores = self._scores(found, "robust()")
        return sandwich(found.inverse_information, scores.T @ scores)

    def clustered(self, found: EstimateFields, cluster: Any) -> Matrix:
        """Sandwich covariance by subject, or by labels of the decisions scored."""
        scores = self._scores(found, "clustered()")
        if cluster is None:
            cluster = [e.subject for e in self.profiles().episodes for _ in range(e.n_decisions)]
            if None in cluster:
                raise DataError(
                    "cluster",
                    "must be given where episodes have no subject",
                    got="None",
                    fix="Pass one label per decision.",
                )
        sums = sum_by_cluster(scores, cluster)
        return sandwich(found.inverse_information, sums.T @ sums)

    def _scores(self, found: EstimateFields, argument: str) -> Matrix:
        """Derivatives of every decision's log-probability in theta: (n_decisions, n_parameters)."""
        episodes, errors = self.profiles().episodes, np.sqrt(np.diag(found.inverse_information))
        if not (np.isfinite(found.theta).all() and np.isfinite(errors).all()):
            raise DataError(
                argument,
                "must have a finite estimate with standard errors",
                got=f"status {found.status!r}",
                fix="Use a parameter_prior.",
            )
        room = np.array(
            [np.inf] * self.n_weights
            + [_distance_to_nearer_end(s, v) for s, v in self._shapes_and_values(found)]
        )

        def at(theta: Vector) -> Vector:
            d = self.n_weights
            return predict.decision_log_likelihoods(self.model, episodes, theta[:d], theta[d:])

        return numerical_jacobian(at, found.theta, np.minimum(errors, room))

    def _shapes_and_values(self, found: EstimateFields) -> list[tuple[Any, float]]:
        return list(zip(self.model.shape, self._weights_and_psi(found)[1].tolist(), strict=True))

    def likelihood_ratio_test(self, found: EstimateFields, hypothesis: Any) -> TestResult:
        """Likelihood-ratio test of one parameter, all others maximised on the path to its value."""
        asked = {hypothesis: 0.0} if isinstance(hypothesis, str) else hypothesis
        every = (*natural_parameters(self.model), *self._naturals("theta"))
        known = {n.name: n for n in reversed(every)}
        one = isinstance(asked, Mapping) and len(asked) == 1
        if not one or next(iter(asked)) not in known:
            raise DataError(
                "hypothesis",
                (
                    "must name one parameter of the model and its value, such as "
                    f"{{{next(iter(known))!r}: 1.0}}"
                ),
                got=repr(hypothesis),
                fix=f"Its names are {', '.join(dict.fromkeys(n.name for n in every))}.",
            )
        if self.prior is not None or found.status in ("separated", "not identified"):
            why = "a prior" if self.prior is not None else f"status {found.status!r}"
            raise DataError(
                "likelihood_ratio_test()",
                "must have a maximum of the likelihood",
                got=why,
                fix="Fit without a prior, to more decisions.",
            )
        ((name, value),) = asked.items()
        natural = known[name]
        low, high = natural.ends
        strict = natural.is_reciprocal or natural.is_share
        if not (low < value < high if strict else low <= value <= high):
            raise DataError(
                "hypothesis",
                f"must lie in {low:g}..{high:g} for {name}",
                got=f"{value:g}",
                fix="Correct it.",
            )
        centre = natural.value(*self._weights_and_psi(found))
        path = np.linspace(centre if np.isfinite(centre) else value, value, N_PATH_POINTS)[1:]
        start = self.optimum.points.psi[0]
        profiles = self.profiles()
        held = profile_along(profiles, natural, path, start)[-1]
        copies = float(profiles.log_likelihood_copy_correction[0])
        statistic = max(2 * (found.log_likelihood - copies - held), 0.0)
        return TestResult("likelihood-ratio", statistic, 1, float(chi_square_sf(statistic, 1)))

    def finite_psi(self, found: EstimateFields) -> Vector:
        """psi to compute with: any value will do where a weight of 0 leaves it without meaning."""
        weights, psi = self._weights_and_psi(found)
        if not np.isfinite(weights).all():
            return psi
        return np.where(np.isnan(psi), self.optimum.points.psi[0], psi)

    def predict(self, found: EstimateFields, data: Any, available: Any, average: bool) -> Any:
        """Choice probabilities of every decision scored: (n_decisions, n_options)."""
        if available is not None:
            raise DataError(
                "available", "must be left out for a model", got="one", fix="Episodes have it."
            )
        work = Predictor(predict.probabilities, self.model, self._weights_and_finite_shape(found))
        if average and isinstance(self.prior, PopulationPrior):
            sample = (self.posterior_sample,)
            work = replace(
                work, function=predict.probabilities_over_posterior, further_arguments=sample
            )
        elif average:
            known = self.profile, self.optimum
            work = replace(
                work, function=predict.probabilities_over_profile, further_arguments=known
            )
        if isinstance(data, SubjectScan):
            return data.map_subjects(work, "Predicting")
        return work(self.profiles().episodes if data is None else data)

    @cached_property
    def posterior_sample(self) -> PosteriorSample:
        """Posterior sample of the parameters under the population that is the prior."""
        profiles = self.profiles()
        assert isinstance(profiles.density, OnLinks)
        return draw_posterior_sample(profiles, profiles.density, self.profile, self.optimum)

    def log_likelihoods(self, found: EstimateFields, data: Any) -> Any:
        """Log-probability of each decision scored."""
        work = Predictor(
            predict.decision_log_likelihoods, self.model, self._weights_and_finite_shape(found)
        )
        if isinstance(data, SubjectScan):
            return data.map_subjects(work, "Predicting")
        return work(self.profiles().episodes if data is None else data)

    def _weights_and_finite_shape(self, found: EstimateFields) -> tuple[Vector, Vector]:
        return self._weights_and_psi(found)[0], self.finite_psi(found)

    def attached(self, found: EstimateFields, data: Any) -> ModelSource:
        """Source with its episodes attached again."""
        episodes = as_episodes(data)
        n = sum(e.n_decisions for e in episodes)
        if n != found.n_decisions:
            raise DataError(
                "episodes",
                f"must be those of the fit ({found.n_decisions} decisions)",
                got=n,
                fix="Attach the data that the estimate was made from.",
            )
        return replace(self, data=episodes)

    def without_data_for_pickling(self) -> ModelSource:
        """Source without the episodes."""
        return replace(self, data=None, grid=self.profile)


def model_source(estimate: Estimate) -> ModelSource:
    """Source of the estimate of a model, or an error."""
    if not isinstance(estimate.source, ModelSource):
        raise DataError(
            "estimate",
            "must be of a model, with the model at hand",
            got=repr(estimate),
            fix="Fit it with fit(episodes, model).",
        )
    return estimate.source


def profile_along(
    profiles: ProfileProblems, natural: Parameter, values: Vector, psi: Vector
) -> list[float]:
    """Profile log-likelihood at values of a path that starts from the estimate at psi."""
    found = []
    fixed = np.zeros(profiles.n_shape, dtype=bool)
    fixed[natural.index if natural.is_shape else []] = True
    for value in values:
        start, asked = psi.copy(), None
        if natural.is_shape:
            natural.set_value(float(value), np.empty(0), start)
        else:
            asked = LinearConstraint.from_parameter(natural, np.array([value]), profiles.n_weights)
        optimum = newton_from(profiles, start, fixed=fixed, constraint=asked)
        psi = optimum.points.psi[0]
        found.append(float(optimum.points.value[0]))
    return found


def _distance_to_nearer_end(shape: Any, value: float) -> float:
    return float(min(value - shape.low, shape.high - value))


def _log_odds_interval(value: float, half: float, low: float, high: float) -> tuple[float, float]:
    """Interval inside a range, from half its length on the range's own scale, by log-odds.

    >>> [round(end, 3) for end in _log_odds_interval(0.9, 0.15, 0.0, 1.0)]
    [0.63, 0.979]
    """
    share, width = (value - low) / (high - low), high - low
    # Log-odds are infinite at a bound: cut the plain interval off instead.
    if not 0 < share < 1:
        return max(value - half, low), min(value + half, high)
    centre, away = special.logit(share), half / width / (share * (1 - share))
    ends = low + width * special.expit(np.array([centre - away, centre + away]))
    return float(ends[0]), float(ends[1])


def _source(estimate: Estimate) -> ModelSource:
    assert isinstance(estimate.source, ModelSource)
    return estimate.source


def _intervals(
    found: Sequence[Estimate],
    naturals: Sequence[Parameter],
    level: float,
    kind: IntervalKind,
    rng: Rng = None,
    n_drawn: int = N_DRAWN,
) -> Matrix:
    if kind == "wald":
        return _wald_intervals(found, naturals, level)
    if kind == "profile":
        return _profile_intervals(found, naturals, level)
    return _calibrated_intervals(found, naturals, level, rng, n_drawn)


def _wald_intervals(
    found: Sequence[Estimate], naturals: Sequence[Parameter], level: float
) -> Matrix:
    ends = np.array(
        [[_source(e).parameter_wald_interval(e, n, level) for n in naturals] for e in found]
    )
    lost = [k for k, e in enumerate(found) if e.status == "separated" and e.episodes]
    for a, natural in enumerate(naturals if lost else ()):
        shared = [k for k in lost if natural.is_shape and np.isnan(found[k].psi[natural.index])]
        others = [k for k in lost if k not in shared]
        if shared:
            ends[shared, a] = _supremum_intervals([found[k] for k in shared], natural)
        if others:
            mine = [found[k] for k in others]
            # Weights that go to infinity overflow on the way, which is no reason to warn.
            with np.errstate(over="ignore", invalid="ignore"):
                ends[others, a] = _profile_intervals(mine, [natural], level)[:, 0]
    return ends


def _profiles_of(found: Sequence[Estimate]) -> ProfileProblems:
    groups = tuple(_source(e).profiles().episodes for e in found)
    first = _source(found[0])
    return ProfileProblems(first.model, groups, first.prior)


def _supremum_intervals(found: Sequence[Estimate], natural: Parameter) -> Matrix:
    """Values of a shape parameter at which the likelihood reaches its supremum.

    A model of one rate may know its points of indifference; else they are searched for.
    """
    exact = Declared(found[0].model).consistent_rates
    known = [None if exact is None else exact(list(e.episodes or ())) for e in found]
    ends = np.array([(np.nan, np.nan) if pair is None else pair for pair in known])
    unknown = [k for k, pair in enumerate(known) if pair is None]
    if unknown:
        ends[unknown] = _search_supremum_intervals([found[k] for k in unknown], natural)
    return ends


def _search_supremum_intervals(found: Sequence[Estimate], natural: Parameter) -> Matrix:
    profiles = _profiles_of(found)
    positions = interval_reaching_supremum(
        profiles,
        [_source(e).search_grid for e in found],
        np.array([_source(e).optimum.points.psi[0] for e in found]),
        np.array([e.log_likelihood for e in found]) - profiles.log_likelihood_copy_correction,
        natural.index,
    )
    return np.sort(natural_values_at(profiles, natural, positions), axis=1)


@dataclass(frozen=True)
class _ProfiledEstimates:
    """Estimates that have a profile, with what the search for their intervals needs."""

    which: list[int]
    profiles: ProfileProblems
    grids: list[ProfileGrid]
    optima: Optima
    rise_directions: Matrix

    @classmethod
    def from_estimates_with_profile(cls, found: Sequence[Estimate]) -> _ProfiledEstimates | None:
        which = [k for k, e in enumerate(found) if e.status != "not identified"]
        mine = [found[k] for k in which]
        if not mine:
            return None
        return cls(
            which,
            _profiles_of(mine),
            [_source(e).search_grid for e in mine],
            Optima.concatenated([_source(e).optimum for e in mine]),
            np.stack([_directions_of_rise(e) for e in mine]),
        )


def _directions_of_rise(estimate: Estimate) -> Vector:
    """Sign of the direction in which each weight has no finite maximum, 0 where it has."""
    separation = estimate.diagnostics.separation
    direction = {} if separation is None else separation.direction
    return np.array([np.sign(direction.get(name, 0.0)) for name in estimate.model.weights])


def _profile_intervals(
    found: Sequence[Estimate], naturals: Sequence[Parameter], level: float
) -> Matrix:
    ends = np.full((len(found), len(naturals), 2), np.nan)
    known = _ProfiledEstimates.from_estimates_with_profile(found)
    if known is not None:
        ends[known.which] = profile_intervals(
            known.profiles, known.grids, known.optima, naturals, level, known.rise_directions
        )
    return ends


def _calibrated_intervals(
    found: Sequence[Estimate], naturals: Sequence[Parameter], level: float, rng: Rng, n_drawn: int
) -> Matrix:
    seed = seed_for_calibration(rng, n_drawn, _source(found[0]).prior is not None)
    asked = tuple(naturals), level, seed, n_drawn
    ends = np.full((len(found), len(naturals), 2), np.nan)
    some = [k for k, e in enumerate(found) if e.status != "not identified"]
    if all(asked in _source(found[k]).calibrated_interval_cache for k in some):
        for k in some:
            ends[k] = _source(found[k]).calibrated_interval_cache[asked]
        return ends
    known = _ProfiledEstimates.from_estimates_with_profile(found)
    assert known is not None
    near, far = (
        profile_positions(
            known.profiles, known.grids, known.optima, naturals, at, known.rise_directions
        )
        for at in (level, level_of_further_interval(level))
    )
    ends[known.which] = calibrated_intervals(
        known.profiles, known.optima, naturals, level, (near, far), seed, n_drawn
    )
    for k in known.which:
        _source(found[k]).calibrated_interval_cache[asked] = ends[k]
    return ends
