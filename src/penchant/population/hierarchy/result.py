"""The result of a hierarchical fit, `PopulationFit`: tables, intervals, contrasts, exports.

A fit keeps its data and its search (`PopulationSource`), from which other levels and contrasts are
computed; one that was read from JSON has stored numbers only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from penchant._typing import Label, Matrix, Vector
from penchant.argument_checks import check_level
from penchant.errors import DataError, MarkedText
from penchant.json_records import (
    NOT_WRITTEN,
    attributes_json,
    record_document,
    record_from_document,
)
from penchant.models.coordinates import Coordinates
from penchant.models.priors import PopulationPrior, with_ratios
from penchant.population.hierarchy import uncertainty
from penchant.population.hierarchy.contrasts import (
    Comparison,
    Contrast,
    compare_population_fits,
    level_contrast,
)
from penchant.population.hierarchy.data_behind_fit import PopulationSource
from penchant.population.hierarchy.sampling import PopulationSample, sample_posterior
from penchant.population.hierarchy.subject_posteriors import (
    PopulationSubjects,
    predict_choices,
)
from penchant.result_tables import (
    MISSING_CELL,
    Column,
    Columns,
    IntervalTableExport,
    Table,
    format_columns,
    format_number,
)
from penchant.softmax.intervals_and_tests import ParameterEstimate
from penchant.tail_probabilities import t_isf

CorrelationRow: TypeAlias = tuple[str, str, float, float, float]  # two names, r, low, high
ByLevel: TypeAlias = Matrix | Mapping[Any, Matrix]  # by level of a factor, where groups have own


WITHOUT_INTERVAL = (
    "Correlations without an interval rest on draws, as more than four parameters differ, on a "
    "search that did not settle, or lie at an end of their range: the decisions of these people "
    "do not tell how large they are."
)
LOW_RELIABILITY = 0.3  # below it subjects differ mostly by noise: a note warns of reading them


class SpreadEstimate(NamedTuple):
    """A standard deviation between people, on its link, with its interval."""

    name: str
    group: Any
    sd: float
    low: float
    high: float


class GroupParameters(NamedTuple):
    """The average person of a level of a factor."""

    factor: str
    level: Label
    parameters: tuple[ParameterEstimate, ...]


@dataclass(frozen=True)
class StoredResults:
    """Results of a fit, at 95 %, that could only be recomputed from the data: stored with it."""

    parameters: tuple[ParameterEstimate, ...]
    groups: tuple[GroupParameters, ...]
    spreads: tuple[SpreadEstimate, ...]
    correlated: tuple[CorrelationRow, ...]
    maximum_log_likelihood: float
    prior: PopulationPrior | None


COLUMNS = (
    Column("name", ""),
    Column("coefficient", "coefficient", 4),
    Column("standard_error", "std. error", 3),
    Column("low", "{} low", 4),
    Column("high", "high", 4),
)


@dataclass(frozen=True, eq=False, repr=False)
class PopulationFit(IntervalTableExport):
    """A population, and everybody in it.

    Attributes
    ----------
    status, message
        "converged", or what is wrong, and a sentence about each thing that is.
    names, coefficients, covariance
        Means of the parameters on their links, with covariates behind a colon; the covariance of
        the coefficients, in the same order.
    parameter_names, links
        Parameters, and the scale on which each is normal between people.
    spread
        Covariance between people, on the links; by level of the factor where groups have their own.
    correlations
        The same as correlations.
    reliability
        Of each parameter: 1 - mean posterior variance / variance between people.
    log_likelihood, n_parameters
        Of all decisions, subjects integrated out; and how many numbers were estimated.
    evidence, loo
        Log-evidence of every subject under the population, and under that of all others.
    integration_error
        By how much the log-likelihood changes with other nodes.
    subjects
        Everybody under the population: `PopulationSubjects`.
    estimator, degrees_of_freedom
        "ml" or "reml"; of each coefficient's t interval.
    n_subjects, n_decisions
        How many.
    notes
        What a reader should know.
    sd_limits
        (n_groups, n_spreads, 2): ends of the 95 % intervals that `spreads` returns.
    """

    status: str
    message: str
    names: tuple[str, ...]
    coefficients: Vector
    covariance: Matrix
    parameter_names: tuple[str, ...]
    links: Mapping[str, str]
    spread: ByLevel
    correlations: ByLevel
    reliability: Mapping[str, float]
    log_likelihood: float
    n_parameters: int
    evidence: Vector
    loo_each: Vector
    integration_error: float
    subjects: PopulationSubjects
    estimator: str
    degrees_of_freedom: Vector
    n_subjects: int
    n_decisions: int
    model_words: str
    notes: tuple[str, ...] = ()
    sd_limits: Matrix = field(default_factory=lambda: np.empty((0, 0, 2)), repr=False)
    source: PopulationSource | None = field(default=None, repr=False, metadata=NOT_WRITTEN)
    stored: StoredResults | None = field(default=None, repr=False, metadata=NOT_WRITTEN)

    def __post_init__(self) -> None:
        """Word the sentences for Python; other front ends find what they name marked in them."""
        object.__setattr__(self, "message", MarkedText(self.message))
        object.__setattr__(self, "notes", tuple(map(MarkedText, self.notes)))

    @property
    def standard_errors(self) -> Vector:
        """Standard errors of the coefficients; infinite where unidentified."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def aic(self) -> float:
        """-2 log-likelihood + 2 parameters."""
        return -2 * self.log_likelihood + 2 * self.n_parameters

    @property
    def bic(self) -> float:
        """-2 log-likelihood + parameters times log subjects."""
        return float(-2 * self.log_likelihood + self.n_parameters * np.log(self.n_subjects))

    @property
    def loo(self) -> float:
        """Log-evidence of every subject under the population of all others, summed."""
        return float(self.loo_each.sum())

    def interval(self, level: float = 0.95) -> Matrix:
        """Student t intervals of the coefficients (n_coefficients, 2), df subjects less columns."""
        check_level(level)
        half = t_isf((1 - level) / 2, self.degrees_of_freedom) * self.standard_errors
        return np.column_stack([self.coefficients - half, self.coefficients + half])

    @property
    def parameters(self) -> tuple[ParameterEstimate, ...]:
        """The typical person in natural units, with 95 % intervals."""
        return self.parameters_at(0.95)

    def parameters_at(
        self, level: float = 0.95, **covariates: Any
    ) -> tuple[ParameterEstimate, ...]:
        """A person with these covariates, an average one by default, in natural units.

        The values are those at the mean of the links: the median over people, where a link is not
        the identity. With conditions there is one for each.
        """
        check_level(level)
        if self.source is None:
            return self._results_kept_in_json("parameters_at", level, covariates).parameters
        found = []
        half = t_isf((1 - level) / 2, self.degrees_of_freedom.min())
        for label, base, rows in self._design_rows(covariates):
            means = rows @ self.coefficients
            errors = np.sqrt([self._variance_of_combination(row) for row in rows])
            for a, c in enumerate(base.each):
                value, slope = float(c.link.value(means[a])), abs(float(c.link.first(means[a])))
                ends = c.link.value(
                    np.array([means[a] - half * errors[a], means[a] + half * errors[a]])
                )
                low, high = sorted(ends.tolist())
                error = slope * errors[a] if np.isfinite(errors[a]) else errors[a]
                found.append(ParameterEstimate(c.name + label, value, error, low, high))
        return tuple(found)

    def group_parameters(
        self, level: float = 0.95
    ) -> dict[tuple[str, Any], tuple[ParameterEstimate, ...]]:
        """A person of every level of every factor, average in all else, in natural units.

        By name of the factor and level: {("group", "patient"): (ParameterEstimate(...), ...), ...}.
        """
        check_level(level)
        if self.source is None:
            saved = self._results_kept_in_json("group_parameters", level)
            return {(one.factor, one.level): one.parameters for one in saved.groups}
        return {
            (variable.name, label): self.parameters_at(level, **{variable.name: label})
            for variable in self.source.design.variables.values()
            for label in variable.levels
        }

    def _variance_of_combination(self, row: Vector) -> float:
        """Variance of a combination of coefficients; infinite if one it uses is unidentified."""
        own = np.flatnonzero(row)
        return float(row[own] @ self.covariance[np.ix_(own, own)] @ row[own])

    def _design_rows(self, covariates: Mapping[str, Any]) -> list[tuple[str, Coordinates, Matrix]]:
        """Label, coordinates and design rows (means = rows @ coefficients) of each condition."""
        assert self.source is not None
        within = self.source.conditions
        given = dict(covariates)
        if within is None:
            return [
                (
                    "",
                    self.source.likelihoods.coordinates,
                    self.source.design.person_design_matrix(given),
                )
            ]
        chosen = range(len(within.labels))
        if within.name in given:
            chosen = range(
                within.index(given[within.name]), within.index(given.pop(within.name)) + 1
            )
        rows = self.source.design.person_design_matrix(given)
        return [
            (f"[{within.labels[c]}]", within.base, within.coordinate_maps[c] @ rows) for c in chosen
        ]

    def spreads(self, level: float = 0.95) -> tuple[SpreadEstimate, ...]:
        """Standard deviations between people, on the links, with intervals.

        The intervals are Satterthwaite's; of a standard deviation that is hardly told, with a lower
        end of 0 where the likelihood ratio does not tell it from none, that of the profile
        likelihood. NaN where the fit did not settle.
        """
        check_level(level)
        if self.source is None:
            return self._results_kept_in_json("spreads", level).spreads
        if level == 0.95:
            return self._spreads_with_limits(self.sd_limits)
        own = self.source.problem, self.source.optimum, self._spread_errors
        return self._spreads_with_limits(uncertainty.sd_limits(*own, level))

    def _spreads_with_limits(self, limits: Matrix) -> tuple[SpreadEstimate, ...]:
        assert self.source is not None
        structure = self.source.optimum.marginal.structure
        matrices = structure.spread.covariance_matrices(self.source.optimum.x[structure.n_beta :])
        return tuple(
            SpreadEstimate(
                self.parameter_names[a],
                label,
                float(np.sqrt(matrices[g, c, c])),
                *map(float, limits[g, c]),
            )
            for g, label in enumerate(self.source.group_labels or (None,))
            for c, a in enumerate(structure.random_coordinates)
        )

    def _summary_sds(self, level: float) -> tuple[SpreadEstimate, ...]:
        """Spreads with the intervals that need no profile: a summary must be quick."""
        if self.source is None or level == 0.95:
            return self.spreads(level)
        own = self.source.optimum, self._spread_errors
        return self._spreads_with_limits(uncertainty.satterthwaite_sd_limits(*own, level))

    def correlation_interval(
        self, one: str, other: str, level: float = 0.95
    ) -> tuple[float, float]:
        """Interval of the correlation of two parameters between people, by Fisher's z.

        NaN where the fit did not settle, or rests on draws: more than four parameters differ.
        """
        check_level(level)
        if self.source is None:
            raise self._missing_data_error("correlation_interval")
        structure, errors = (
            self.source.optimum.marginal.structure,
            self._spread_errors.fisher_z_errors[0],
        )
        random = [self.parameter_names[a] for a in structure.random_coordinates]
        for name in (one, other):
            if name not in random:
                raise DataError(
                    "correlation_interval",
                    "must name parameters with spread",
                    got=f"{name!r}, but they are {', '.join(random)}",
                    fix="Name two of these.",
                )
        a, b = random.index(one), random.index(other)
        r = self._matrix_of_first_group(self.correlations)[
            structure.random_coordinates[a], structure.random_coordinates[b]
        ]
        half = uncertainty.normal_half_width(level) * errors[a, b]
        z = np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12))  # arctanh(+-1) is infinite
        return float(np.tanh(z - half)), float(np.tanh(z + half))

    @cached_property
    def _spread_errors(self) -> uncertainty.SpreadErrors:
        assert self.source is not None
        found = self.source.optimum
        return uncertainty.spread_standard_errors(
            found, uncertainty.parameter_covariances(found, 1)
        )

    def _matrix_of_first_group(self, matrices: Any) -> Matrix:
        return next(iter(matrices.values())) if isinstance(matrices, Mapping) else matrices

    def contrast(self, factor: str, words: str, *, level: float = 0.95) -> Contrast:
        """The difference between two groups, or two conditions, of every parameter.

        Parameters
        ----------
        factor
            A covariate or condition.
        words
            "patient - control": levels with a minus between them.
        """
        if self.source is None:
            raise self._missing_data_error("contrast")
        return level_contrast(self, factor, words, level)

    def compare(self, other: PopulationFit) -> Comparison:
        """Likelihood ratio and leave-one-subject-out against another fit of the same decisions.

        Both are compared at their maximum likelihood, whichever estimator they are of.
        """
        return compare_population_fits(self, other)

    @cached_property
    def maximum_log_likelihood(self) -> float:
        """Log-likelihood at its own maximum, where REML was asked for."""
        if self.source is None:
            return self._results_kept_in_json("maximum_log_likelihood").maximum_log_likelihood
        if self.estimator == "ml":
            return self.log_likelihood
        return uncertainty.maximum_log_likelihood(self.source.optimum)

    @property
    def prior(self) -> PopulationPrior:
        """Prior of a new, average person: for `fit`, `fit_each`, `live` and `compare`."""
        return self.prior_for()

    def prior_for(self, **covariates: Any) -> PopulationPrior:
        """Prior of a new person with these covariates."""
        if self.source is None:
            prior = self._results_kept_in_json("prior_for", covariates=covariates).prior
            if prior is None:
                raise self._missing_data_error("prior_for")
            return prior
        rows = self._design_rows(covariates)
        if len(rows) > 1:
            assert self.source.conditions is not None
            name = self.source.conditions.name
            raise DataError(
                "prior_for",
                "must say which condition",
                got="none",
                fix=f"Give prior_for({name}=...).",
            )
        label, base, row = rows[0]
        every = self.source.descriptive_covariances
        labels = self.source.group_labels
        chosen = [labels.index(v) for v in covariates.values() if v in labels]
        matrix = every[chosen[0]] if chosen else every.mean(axis=0)
        within = self.source.conditions
        if within is not None:
            into = within.coordinate_maps[within.index(label[1:-1])]
            matrix = into @ matrix @ into.T
        matrix = np.array(matrix)
        alike = np.flatnonzero(np.diag(matrix) == 0)
        matrix[alike, alike] = [self._variance_of_combination(row[a]) for a in alike]
        return PopulationPrior(
            names=base.names,
            mean=row @ self.coefficients,
            covariance=matrix,
            links=tuple(c.link for c in base.each),
        )

    def draw(self, n: int, *, rng: np.random.Generator, **covariates: Any) -> dict[str, Vector]:
        """Natural parameters of new people from the population: a vector of n by name.

        Examples
        --------
        >>> import numpy as np
        >>> import penchant as pn
        >>> people = pn.offers_from_frame(pn.datasets.load("delays"))
        >>> found = pn.fit_population(people, pn.HyperbolicDiscounting())
        >>> sorted(found.draw(3, rng=np.random.default_rng(0)))
        ['discount_rate', 'temperature']
        """
        prior = self.prior_for(**covariates)
        drawn = prior.draw(n, rng=rng)
        model = None if self.source is None else self.source.model
        return drawn if model is None else with_ratios(prior, model, drawn)

    def predict(self, data: Any, *, average: bool = True) -> Matrix:
        """Probabilities of every option at the decisions of new data.

        Of subjects that were fitted, under their posterior; of others, under the population.

        Parameters
        ----------
        data
            As was fitted, of one subject or several.
        average
            Over what is known of the subject; else at its mean.
        """
        if self.source is None:
            raise self._missing_data_error("predict")
        return predict_choices(self.source, data, average)

    def sample(
        self,
        draws: int = 4000,
        *,
        rng: np.random.Generator,
        method: Literal["importance", "nuts"] = "importance",
    ) -> PopulationSample:
        """Draws of means, spreads and correlations from their posterior, under vague priors.

        Parameters
        ----------
        draws
            How many.
        method
            "importance": from a Student t about the mode, with Pareto-smoothed weights; "nuts":
            through nutpie, which needs penchant[bayes]. Both rest on the nodes of the fit.
        """
        if self.source is None:
            raise self._missing_data_error("sample")
        return sample_posterior(self, draws, method, rng)

    def to_arviz(self, draws: int = 4000, *, rng: np.random.Generator) -> Any:
        """`sample` as an `arviz.InferenceData`; needs penchant[bayes]."""
        return self.sample(draws, rng=rng).to_arviz()

    def _missing_data_error(self, argument: str) -> DataError:
        return DataError(
            argument,
            "must have the decisions",
            got="a population read from a file",
            fix="Fit it again.",
        )

    def table(self, level: float = 0.95) -> Table:
        """The summary as a table."""
        sds = {(s.name, s.group): s for s in self._summary_sds(level)}
        groups = list(dict.fromkeys(group for _, group in sds)) or [None]
        header, cells = format_columns(self.frame_columns(level), COLUMNS, level)
        rows = []
        for name, row in zip(self.names, cells, strict=True):
            sd = sds.get((name, groups[0]))
            own = (None, None, None) if sd is None else (sd.sd, sd.low, sd.high)
            rows.append((*row, *(MISSING_CELL if v is None else format_number(v, 3) for v in own)))
        facts = [
            ("Status", self.status),
            ("Subjects", f"{self.n_subjects}, {self.n_decisions} decisions"),
            ("Log-likelihood", f"{self.log_likelihood:.2f}"),
            ("Left one out", f"{self.loo:.1f}"),
            ("Integration error", format_number(self.integration_error, 2)),
            ("Estimator", self.estimator.upper()),
        ]
        notes = [self.message] if self.message else []
        scales = ", ".join(f"{n} {link}" for n, link in self.links.items())
        notes.append(f"Coefficients and standard deviations are on link scales: {scales}.")
        notes += self._typical_person_sentences(level)
        notes += self._correlation_sentences(level)
        if len(groups) > 1:
            notes += [
                f"Standard deviations of {g}: "
                + ", ".join(
                    f"{s.name} {format_number(s.sd, 3)}" for s in sds.values() if s.group == g
                )
                + "."
                for g in groups
            ]
        notes += self._reliability_sentences()
        notes += self.notes
        caption = f"Population: {self.model_words}"
        header = (*header, "sd", "(low)", "(high)")
        return Table(caption, tuple(facts), header, tuple(rows), tuple(notes))

    def _typical_person_sentences(self, level: float) -> list[str]:
        """The typical person, and one of every group."""
        if self.source is None and level != 0.95:
            return []
        whose = {"Typical person": self.parameters_at(level)}
        for (factor, label), own in self.group_parameters(level).items():
            whose[f"{factor} {label}"] = own
        return [f"{who}: {_format_with_intervals(own)}." for who, own in whose.items()]

    def _correlation_sentences(self, level: float) -> list[str]:
        found, without = [], False
        for one, other, r, low, high in self._correlation_rows(level):
            without |= bool(np.isnan(low))
            ends = "" if np.isnan(low) else f" [{low:.2f}, {high:.2f}]"
            found.append(f"{one}, {other} {r:.2f}{ends}")
        said = [f"Correlations: {'; '.join(found)}."] if found else []
        return said + [WITHOUT_INTERVAL] * without

    def _correlation_rows(self, level: float) -> list[CorrelationRow]:
        """Pairs of parameters with their correlation between people and its interval."""
        if self.source is None:
            return list(self.stored.correlated) if self.stored and level == 0.95 else []
        structure = self.source.optimum.marginal.structure
        if not structure.spread.correlated or structure.spread.n_groups > 1:
            return []
        found = []
        for i, a in enumerate(structure.random_coordinates):
            for b in structure.random_coordinates[:i]:
                one, other = self.parameter_names[b], self.parameter_names[a]
                r = float(self._matrix_of_first_group(self.correlations)[a, b])
                found.append((one, other, r, *self.correlation_interval(one, other, level)))
        return found

    def _reliability_sentences(self) -> list[str]:
        if not self.reliability:
            return []
        each = ", ".join(f"{name} {value:.2f}" for name, value in self.reliability.items())
        said = f"Reliability (share of the variance between people that choices reveal): {each}."
        low = [name for name, value in self.reliability.items() if value < LOW_RELIABILITY]
        if not low:
            return [said]
        return [
            said,
            f"People are hardly told apart in {', '.join(low)}: most of the differences between "
            "their estimates is noise, and these lie near the population's mean.",
        ]

    def __repr__(self) -> str:
        values = (f"{p.name}={format_number(p.estimate, 3)}" for p in self.parameters)
        return f"<PopulationFit of {self.n_subjects} subjects, {self.status}: {', '.join(values)}>"

    def frame_columns(self, level: float = 0.95) -> Columns:
        """Columns of the data frame."""
        ends = self.interval(level)
        statistic = self.coefficients / self.standard_errors
        return {
            "name": list(self.names),
            "coefficient": self.coefficients.tolist(),
            "standard_error": self.standard_errors.tolist(),
            "low": ends[:, 0].tolist(),
            "high": ends[:, 1].tolist(),
            "t": statistic.tolist(),
            "degrees_of_freedom": self.degrees_of_freedom.tolist(),
            "link": [self._link_of_parameter(name) for name in self.names],
            "status": [self.status] * len(self.names),
        }

    def _link_of_parameter(self, name: str) -> str:
        own = [p for p in self.parameter_names if name == p or name.startswith(p + ":")]
        return self.links[max(own, key=len)]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON; `from_dict` reads them back."""
        stored = StoredResults(
            self.parameters,
            tuple(GroupParameters(*key, own) for key, own in self.group_parameters().items()),
            self.spreads(),
            tuple(self._correlation_rows(0.95)),
            self.maximum_log_likelihood,
            None if self._is_within_subjects() else self.prior,
        )
        shown = attributes_json(self, "aic", "bic", "loo")
        return record_document(PopulationFit, self) | record_document(PopulationFit, stored) | shown

    def _is_within_subjects(self) -> bool:
        """Whether there are conditions within subjects, so that no single prior is the fit's."""
        if self.source is None:
            return self._results_kept_in_json("prior").prior is None
        return self.source.conditions is not None

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> PopulationFit:
        """Read what `to_dict` wrote: all numbers; without the decisions."""
        stored = record_from_document(cls, document, StoredResults)
        return replace(record_from_document(cls, document, cls), stored=stored)

    def _results_kept_in_json(
        self, what: str, level: float = 0.95, covariates: Mapping[str, Any] | None = None
    ) -> StoredResults:
        """Results of a fit that was read without its data: at 95 %, of the average."""
        if self.stored is None or level != 0.95 or covariates:
            raise self._missing_data_error(what)
        return self.stored


def _format_with_intervals(parameters: Sequence[ParameterEstimate]) -> str:
    """Estimates with their intervals."""
    return ", ".join(
        f"{p.name} {format_number(p.estimate, 4)} [{format_number(p.low, 4)}, "
        f"{format_number(p.high, 4)}]"
        for p in parameters
    )
