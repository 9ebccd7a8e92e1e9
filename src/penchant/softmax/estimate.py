"""The result of a fit: theta, its uncertainty, and how far to trust it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from penchant._typing import Matrix, Names, Vector
from penchant.argument_checks import check_level, check_one_of
from penchant.choices import Choices
from penchant.errors import interval_kind_argument
from penchant.result_tables import (
    Backend,
    Column,
    Columns,
    FrameExport,
    Table,
    format_columns,
    format_number,
    format_p_value,
    make_frame,
)
from penchant.softmax import serialization
from penchant.softmax.calibrated_intervals import N_DRAWN
from penchant.softmax.data_behind_estimate import (
    DetachedSource,
    EstimateFields,
    IntervalKind,
    Rng,
    Space,
)
from penchant.softmax.estimate_diagnostics import describe_nominal_point, unknown_name_error
from penchant.softmax.intervals_and_tests import (
    Hypothesis,
    ParameterEstimate,
    RatioInterval,
    TestResult,
    delta_method,
    delta_method_parameters,
    fieller_interval,
    numerical_jacobian,
    wald_test,
)
from penchant.tail_probabilities import normal_sf

KINDS = ("wald", "profile", "calibrated")
INTERVAL_WORDS = {
    "wald": "Wald, from standard errors",
    "profile": "profile likelihood",
    "calibrated": "calibrated by simulated choices",
}


ESTIMATE_COLUMNS = (
    Column("name", ""),
    Column("estimate", "estimate", 5),
    Column("standard_error", "std. error", 5),
    Column("z", "z", 3),
    Column("p", "p", format_p_value),
    Column("low", "{} low", 4),
    Column("high", "high", 4),
)


def _better_interval_hint() -> str:
    by = interval_kind_argument("profile")
    return f"; those by {by} hold the truth more often where decisions are few"


class Estimate(EstimateFields, FrameExport):
    """Estimate of theta from decisions: the result of every fit.

    Of choices, theta are the weights of the variables, and the estimate is read by them. Of a
    model, theta are its linear weights and then its shape parameters psi, and the estimate is read
    by the natural parameters that follow from these. A linearised fit has a `validity` besides.

    Attributes
    ----------
    status, message
        "converged", or what is wrong, and a sentence that says what to do.
    names, theta, covariance
        Parameters with their covariance, Eq. (9). Infinite or NaN where there is none.
    inverse_information
        The covariance if the model is right, which robust ones are made from.
    log_likelihood, null_log_likelihood
        At theta (or its supremum, if separated) and at theta = 0.
    log_posterior
        Of a MAP or Firth estimate: the objective that was maximised.
    diagnostics
        Rank, separation, condition, iterations: how the estimate was reached.
    n_decisions, total_weight, n_options
        The data: decisions, their summed weights, smallest and largest choice set.
    source
        The data and the model, for what needs them; data are not pickled.
    method, prior, covariance_kind
        How it was estimated, in words.
    subject
        Whose estimate it is, in a batch.
    n_subjects
        How many people chose: more than one are pooled, with the same theta.
    validity
        Of a linearised fit: the nominal point, and how far from it the estimate lies.
    """

    @property
    def converged(self) -> bool:
        """The estimate is a proven maximum with all parameters identified."""
        return self.status == "converged"

    @property
    def n_parameters(self) -> int:
        """Number of entries of theta."""
        return len(self.names)

    @property
    def n_identified(self) -> int:
        """Number of parameters that AIC and BIC count: the rank of the weights, and all of psi.

        A direction of the weights that changes no probability counts for nothing. What goes to
        infinity where choices are separated counts, as does a shape parameter that has no estimate:
        the fit was free to choose them.
        """
        return self.diagnostics.rank + self.n_parameters - self.n_weights

    @property
    def weights(self) -> Vector:
        """Linear weights; those of the model itself after a linearised fit."""
        if self.validity is not None and self.validity.weights is not None:
            return self.validity.weights
        return self.theta[: self.n_weights]

    @property
    def psi(self) -> Vector:
        """Shape parameters; none of choices."""
        if self.validity is not None and self.validity.psi is not None:
            return self.validity.psi
        return self.theta[self.n_weights :]

    @property
    def n_weights(self) -> int:
        """Number of linear weights; the shape parameters follow them."""
        return self.source.n_weights

    @property
    def standard_errors(self) -> Vector:
        """Square roots of the covariance's diagonal; NaN where there is none."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def z_values(self) -> Vector:
        """theta over its standard errors."""
        return self.theta / self.standard_errors

    @property
    def p_values(self) -> Vector:
        """Two-sided p-values of theta = 0."""
        return np.asarray(2 * normal_sf(np.abs(self.z_values)))

    @property
    def aic(self) -> float:
        """Akaike's criterion; it counts the parameters that are identified."""
        return 2 * self.n_identified - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz's criterion, with the summed weights as the number of decisions."""
        penalty = float(np.log(self.total_weight)) if self.n_decisions else 0.0
        return penalty * self.n_identified - 2 * self.log_likelihood

    @property
    def pseudo_r2(self) -> float:
        """McFadden's 1 - l / l(0)."""
        if self.null_log_likelihood == 0:
            return float("nan")
        return 1.0 - self.log_likelihood / self.null_log_likelihood

    def interval(
        self,
        level: float = 0.95,
        kind: IntervalKind = "wald",
        of: Names | None = None,
        *,
        rng: Rng = None,
        n_drawn: int = N_DRAWN,
    ) -> Matrix:
        """Interval of each parameter: (n_parameters, 2).

        "wald" comes from standard errors: of natural parameters on the logarithm for positive ones,
        the log-odds for those with a range, Fieller's for ratios. "profile" inverts the
        likelihood-ratio test: it is right where the likelihood is skewed, infinite where it is
        flat, and one-sided where the choices are separated. "calibrated" inverts it too, with its
        distribution found by drawing choices anew instead of taken from large samples; for few
        decisions, such as a questionnaire.

        Where the choices that a model explains are separated there is no Wald interval, and "wald"
        gives the values that are consistent with them: of a shape parameter without an estimate
        those that share the supremum of the likelihood, from 0 or to infinity where nothing ends
        them; of everything else the profile interval. NaN without the data, which are not stored.

        Parameters
        ----------
        of
            Which: "theta", "parameters" (the natural ones), a name, or several. If not given,
            theta of choices and the natural parameters of a model.
        rng
            Source of randomness, for "calibrated": the same seed gives the same interval.
        n_drawn
            Sets of choices drawn at every value that is tried, for "calibrated".
        """
        check_level(level)
        check_one_of(kind, "kind", KINDS)
        space, names = self._requested_parameters(of)
        found: Matrix = self.source.intervals([self], names, space, level, kind, rng, n_drawn)[0]
        return found

    def _requested_parameters(self, of: Names | None) -> tuple[Space, tuple[str, ...]]:
        """Names of the requested parameters, and whether they are theta or natural ones."""
        known = {"theta": self.names, "parameters": self.natural_names}
        if of is None:
            return self.source.space, known[self.source.space]
        if of == "theta":
            return "theta", self.names
        if of == "parameters":
            return "parameters", self.natural_names
        asked = (of,) if isinstance(of, str) else tuple(of)
        space = self._space_of(asked)
        if space is not None:
            return space, asked
        every = tuple(dict.fromkeys((*known[self.source.space], *self.natural_names, *self.names)))
        wrong = next((name for name in asked if name not in every), asked[0])
        raise unknown_name_error("parameters", wrong, every)

    def _space_of(self, names: Iterable[Any]) -> Space | None:
        """Space that has all these names: that in which the estimate is read, or the other one."""
        spaces: list[tuple[Space, tuple[str, ...]]] = [("parameters", self.natural_names)]
        spaces.insert(self.source.space != "theta", ("theta", self.names))
        asked = [name if isinstance(name, str) else None for name in names]
        return next((space for space, known in spaces if all(n in known for n in asked)), None)

    @property
    def natural_names(self) -> tuple[str, ...]:
        """Names of the natural parameters; those of theta if there are no others."""
        return self.source.natural_names(self)

    @property
    def natural(self) -> Vector:
        """The natural parameters themselves; NaN where they have no estimate."""
        return self.source.natural(self).values

    @property
    def natural_covariance(self) -> Matrix:
        """Covariance of the natural parameters, by the delta method."""
        return self.source.natural(self).covariance

    @property
    def parameters(self) -> tuple[ParameterEstimate, ...]:
        """Natural parameters (theta itself if there are none), with 95 % intervals.

        Those of an estimate that was read from a file have the intervals that were written.
        """
        return self.parameters_at(*self.source.default_interval)

    def parameters_at(
        self, level: float, kind: IntervalKind = "wald", rng: Rng = None
    ) -> tuple[ParameterEstimate, ...]:
        """Natural parameters with intervals at this level; "calibrated" ones need an rng.

        Those of a linearised fit that rest on a deviation which is not small keep what the paper's
        map gives, but have neither standard error nor interval (NaN): these would be of a number
        that says nothing of the choices.
        """
        check_level(level)
        asked = (level, kind)
        if rng is None and asked in self._parameters_by_interval:
            return self._parameters_by_interval[asked]
        found = self.meaningful(self.source.parameters([self], level, kind, rng)[0])
        if rng is None:  # with an rng every call is a new simulation, and must not be cached
            self._parameters_by_interval[asked] = found
        return found

    @cached_property
    def _parameters_by_interval(
        self,
    ) -> dict[tuple[float, IntervalKind], tuple[ParameterEstimate, ...]]:
        """Parameters that were asked for: intervals of separated choices take a second to find."""
        return {}

    def meaningful(
        self, natural_estimates: tuple[ParameterEstimate, ...]
    ) -> tuple[ParameterEstimate, ...]:
        """Parameters with standard errors and intervals only where these mean something."""
        if self.validity is None:
            return natural_estimates
        lost, nan = self.validity.meaningless_parameters, float("nan")
        return tuple(
            ParameterEstimate(p.name, p.estimate, nan, nan, nan) if p.name in lost else p
            for p in natural_estimates
        )

    def __getitem__(self, name: str) -> ParameterEstimate:
        """The parameter of this name: a natural one, or else an entry of theta."""
        for p in (
            *self.parameters,
            *delta_method_parameters(self.theta, self.covariance, self.names, 0.95),
        ):
            if p.name == name:
                return p
        raise unknown_name_error("name", name, (*self.natural_names, *self.names))

    def transform(
        self, function: Callable[[Vector], Any], names: Sequence[str] = (), level: float = 0.95
    ) -> tuple[ParameterEstimate, ...]:
        """Functions of theta with delta-method standard errors."""
        values = np.atleast_1d(np.asarray(function(self.theta), dtype=np.float64))
        labels = tuple(names) or tuple(f"f{i + 1}" for i in range(len(values)))
        # differences in steps of standard errors are neither rounding nor far from linear; where
        # there is none, 0 lets the size of theta decide
        unit = np.where(np.isfinite(self.standard_errors), self.standard_errors, 0.0)
        jacobian = numerical_jacobian(
            lambda t: np.asarray(function(t), dtype=np.float64), self.theta, unit
        )
        return delta_method_parameters(
            values, delta_method(self.covariance, jacobian), labels, level
        )

    def ratio(self, numerator: str, denominator: str, level: float = 0.95) -> RatioInterval:
        """Ratio of two entries of theta with Fieller's interval."""
        i, j = self._index(numerator), self._index(denominator)
        covariance = self.covariance[np.ix_([i, j], [i, j])]
        return fieller_interval(float(self.theta[i]), float(self.theta[j]), covariance, level)

    def _index(self, name: str) -> int:
        if name not in self.names:
            raise unknown_name_error("parameters", name, self.names)
        return self.names.index(name)

    def robust(self) -> Estimate:
        """Estimate with the sandwich covariance (HC0)."""
        covariance = self.source.robust(self)
        return dataclasses.replace(self, covariance=covariance, covariance_kind="robust (HC0)")

    def clustered(self, cluster: Any = None) -> Estimate:
        """Estimate with a covariance clustered by subject, or by labels given."""
        covariance = self.source.clustered(self, cluster)
        return dataclasses.replace(self, covariance=covariance, covariance_kind="clustered")

    def wald_test(self, hypothesis: Any) -> TestResult:
        """Wald test of R theta = r: names (all 0), {name: value}, a matrix R, or (R, r).

        Of a model, the names are those of natural parameters, or else of theta; a matrix has one
        column for each natural parameter.
        """
        named = (hypothesis,) if isinstance(hypothesis, str) else hypothesis
        listed = isinstance(named, (list, tuple, dict)) and len(named) > 0
        if ((listed and self._space_of(named)) or self.source.space) == "theta":
            return wald_test(
                self.theta, self.covariance, Hypothesis.parse_hypothesis(hypothesis, self.names)
            )
        names, values, covariance = self.source.natural(self)
        return wald_test(values, covariance, Hypothesis.parse_hypothesis(hypothesis, names))

    def likelihood_ratio_test(self, hypothesis: Any) -> TestResult:
        """Likelihood-ratio test of R theta = r; of a model, of one parameter: {name: value}."""
        return self.source.likelihood_ratio_test(self, hypothesis)

    def score_test(self, hypothesis: Any) -> TestResult:
        """Score test of R theta = r, for choices."""
        return self.source.score_test(self, hypothesis)

    def belief_map(self) -> Any:
        """The map that somebody had in mind before play, of a model with a `prior_map`.

        Returns
        -------
        `BeliefMap`: mean and sd of every option, the level apart, draws, and what is known of it.
        """
        return self.source.belief_map(self)

    def predict(self, data: Any = None, available: Any = None, *, average: bool = False) -> Any:
        """Choice probabilities, Eq. (3), of the data or of new ones.

        Parameters
        ----------
        data
            `Choices` with the same variables (in any order), or an array
            (n_decisions, n_options, n_parameters); for a model, episodes. If not given, the data
            of the fit. A scan gives an iterator, with the probabilities of one chunk after
            another; of play and offers, of some subjects after others.
        available
            Mask, for an array.
        average
            For a model: average instead of taking the best. Under a `PopulationPrior`, over all
            parameters, by their posterior; else over psi, each weighted by its profile likelihood.

        Returns
        -------
        Matrix (n_decisions, n_options) for sets of equal size, else a vector with one probability
        per row.
        """
        return self.source.predict(self, data, available, average)

    def log_likelihoods(self, data: Any = None) -> Any:
        """Log-probability of each decision, of the data or of new ones; by portions of a scan."""
        return self.source.log_likelihoods(self, data)

    @property
    def bias(self) -> Vector:
        """First-order bias of maximum likelihood at theta; theta - bias corrects it."""
        return self.source.bias(self)

    @property
    def model(self) -> Any:
        """The model that was fitted; None for choices."""
        return self.source.model

    @property
    def choices(self) -> Choices | None:
        """The choices of the fit, if they are at hand."""
        return self.source.data if isinstance(self.source.data, Choices) else None

    @property
    def episodes(self) -> tuple[Any, ...] | None:
        """The episodes of the fit of a model, if they are at hand."""
        return None if isinstance(self.source.data, Choices) else self.source.data

    @property
    def profile(self) -> Any:
        """The objective at every point of the grid of a model's psi, to look at."""
        return self.source.profile

    def attach(self, data: Any) -> Estimate:
        """Estimate with its data, after it was read from a file."""
        return dataclasses.replace(self, source=self.source.attached(self, data))

    def detached(
        self, natural_estimates: tuple[ParameterEstimate, ...], level: float, kind: IntervalKind
    ) -> Estimate:
        """Estimate without data and model, with these natural parameters."""
        words, n = self.source.model_words, self.source.n_weights
        ratios = self.source.has_ratios(self)
        source = DetachedSource(
            natural_estimates, level, kind, n, words, self.natural_covariance, ratios
        )
        return dataclasses.replace(self, source=source)

    def __getstate__(self) -> dict[str, Any]:
        # data may be large or hold open files; `attach` brings them back
        return {**self.__dict__, "source": self.source.without_data_for_pickling()}

    def table(self, level: float = 0.95, kind: IntervalKind = "wald", rng: Rng = None) -> Table:
        """The summary as a table."""
        of_theta = self.source.space == "theta"
        columns = self._columns(self.source.space, level, kind, rng)
        shown = [column for column in ESTIMATE_COLUMNS if column.name in columns]
        header, rows = format_columns(columns, shown, level)
        doubt = () if self.status == "converged" else (self.message,)
        if of_theta:
            caption = f"Softmax choices{self._subject_words()}: {self._method_words()}"
            # Wald intervals follow from the standard errors in the same table
            intervals = () if kind == "wald" else (f"Intervals: {INTERVAL_WORDS[kind]}.",)
            notes = (*doubt, *self._notes_on_combinations(level), *self.notes, *intervals)
        else:
            caption = f"Exact {self._method_words()}{self._subject_words()}"
            better = _better_interval_hint() if kind == "wald" else ""
            model = f"Model: {self.source.model_words}."
            intervals_of_model = f"Intervals: {self.interval_words(kind)}{better}."
            notes = (*doubt, model, intervals_of_model, *self.notes)
        if self.validity is not None:
            about = describe_nominal_point(self.validity.nominal)
            caption = f"Linearised about {about}: maximum likelihood{self._subject_words()}"
            notes = (*notes, f"Model: {self.source.model_words}.")
        return Table(caption, self._facts(), header, rows, notes)

    def interval_words(self, kind: IntervalKind) -> str:
        """Words for the method of intervals of natural parameters; Fieller's for ratios."""
        ratios = kind == "wald" and self.source.has_ratios(self)
        return f"{INTERVAL_WORDS[kind]}, of ratios Fieller's" if ratios else INTERVAL_WORDS[kind]

    def _columns(
        self, space: Space, level: float, kind: IntervalKind, rng: Rng
    ) -> dict[str, Sequence[Any]]:
        """Parameters with their errors and intervals, column by column; z and p of theta."""
        if space == "parameters":
            found = self.parameters_at(level, kind, rng)
            names = [field.name for field in dataclasses.fields(ParameterEstimate)]
            return {name: [getattr(p, name) for p in found] for name in names}
        low, high = self.interval(level, kind, "theta", rng=rng).T.tolist()
        return {
            "name": self.names,
            "estimate": self.theta.tolist(),
            "standard_error": self.standard_errors.tolist(),
            "z": self.z_values.tolist(),
            "p": self.p_values.tolist(),
            "low": low,
            "high": high,
        }

    def _method_words(self) -> str:
        return self.method if self.prior is None else f"{self.method}, {self.prior} prior"

    def _subject_words(self) -> str:
        return "" if self.subject is None else f" of {self.subject}"

    def _facts(self) -> tuple[tuple[str, str], ...]:
        low, high = self.n_options
        options = f", {low} options each" if low == high else f", {low} to {high} options"
        of_theta = self.source.space == "theta"
        kind = self.covariance_kind
        facts: list[tuple[str, str]] = [("Status", self.status)]
        each = ("Choices", options) if of_theta else ("Trials", "")
        facts.append((each[0], f"{self.n_decisions}{each[1]}"))
        facts += [("Covariance", kind)] if of_theta or kind != "model" else []
        null = f"(null {self.null_log_likelihood:.4f})"
        facts.append(("Log-likelihood", f"{self.log_likelihood:.4f} {null}"))
        facts += [("Pseudo R2", f"{self.pseudo_r2:.4f}")] if of_theta else []
        return (*facts, ("AIC, BIC", f"{self.aic:.2f}, {self.bic:.2f}"))

    def _notes_on_combinations(self, level: float) -> list[str]:
        """Notes on identified combinations of weights and on natural parameters."""
        notes = []
        if self.diagnostics.combinations:
            known = "; ".join(str(c) for c in self.diagnostics.combinations)
            notes.append(f"What can be estimated: {known}.")
        if self.natural_names != self.names:
            notes += [self._parameter_note(p, level) for p in self.parameters_at(level)]
        return notes

    def _parameter_note(self, p: ParameterEstimate, level: float) -> str:
        """A natural parameter in words; of one without meaning, why it has none."""
        if self.validity is not None and p.name in self.validity.meaningless_parameters:
            return (
                f"{p.name} = {format_number(p.estimate)} (no standard error: it means nothing, as "
                f"Delta / nominal = {self.validity.ratio:.4g} is not small)"
            )
        return (
            f"{p.name} = {format_number(p.estimate)} (std. error "
            f"{format_number(p.standard_error)}, "
            f"{100 * level:g} % {format_number(p.low, 4)} to {format_number(p.high, 4)})"
        )

    def summary(self, level: float = 0.95, kind: IntervalKind = "wald", rng: Rng = None) -> str:
        """Everything one reads first, as text."""
        return self.table(level, kind, rng).text()

    def __str__(self) -> str:
        return self.summary(*self.source.default_interval)

    def __repr__(self) -> str:
        if self.validity is not None:
            return f"<Estimate {self.status}, {self.validity}>"
        if self.source.space == "theta":
            found = dict(zip(self.names, self.theta, strict=True))
        else:
            found = dict(zip(self.natural_names, self.natural, strict=True))
        values = ", ".join(f"{name}={format_number(value)}" for name, value in found.items())
        return f"<Estimate {self.status}: {values}>"

    def _repr_html_(self) -> str:
        return self.table(*self.source.default_interval).html()

    def to_latex(self, level: float = 0.95, kind: IntervalKind = "wald", rng: Rng = None) -> str:
        """The table for a paper (booktabs)."""
        return self.table(level, kind, rng).latex()

    def to_frame(
        self,
        level: float = 0.95,
        backend: Backend = "pandas",
        kind: IntervalKind = "wald",
        rng: Rng = None,
    ) -> Any:
        """Table with a row per parameter: estimate, standard error, interval; z and p of theta.

        The parameters are theta of choices, and else the natural ones; those of a linearised fit
        with the ratio that says how far to trust them.
        """
        return make_frame(self.frame_columns(level, kind, rng), backend)

    def frame_columns(
        self, level: float = 0.95, kind: IntervalKind = "wald", rng: Rng = None
    ) -> Columns:
        """Columns of the data frame."""
        if self.validity is None:
            return self._columns(self.source.space, level, kind, rng)
        columns = self._columns("parameters", level, kind, rng)
        n = len(columns["name"])
        return columns | {"ratio": [self.validity.ratio] * n, "valid": [self.validity.valid] * n}

    def to_dict(
        self, level: float = 0.95, kind: IntervalKind = "wald", rng: Rng = None
    ) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON; `from_dict` reads it back."""
        return serialization.to_dict(self, self.parameters_at(level, kind, rng), level, kind)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Estimate:
        """Read what `to_dict` wrote.

        Choices are attached again with `attach`. The natural parameters of a model come back with
        the intervals that were written; for others, fit again.
        """
        return cls(**serialization.estimate_arguments_from_document(cls, content))
