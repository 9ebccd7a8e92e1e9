"""The result of a fit: theta, its uncertainty, and how far to trust it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from penchant import arguments
from penchant._frames import Backend, frame
from penchant._typing import Matrix, Vector
from penchant.choices import Choices, NaturalParameters
from penchant.errors import DataError, nearest
from penchant.output.table import Table, number, p_value
from penchant.softmax import document, intervals
from penchant.softmax.calibrated import N_DRAWN, LinearCase, check_drawing, further_level
from penchant.softmax.constraints import Constraints
from penchant.softmax.diagnostics import Diagnostics, Status
from penchant.softmax.firth import first_order_bias
from penchant.softmax.hypotheses import (
    Hypothesis,
    TestResult,
    likelihood_ratio_test,
    score_test,
    wald_test,
)
from penchant.softmax.likelihood import likelihood_of
from penchant.softmax.newton import Quadratic
from penchant.softmax.probabilities import decision_log_likelihoods, log_probabilities, scores
from penchant.softmax.solution import in_coordinates, unit_weights
from penchant.softmax.transformations import (
    Parameter,
    RatioInterval,
    delta_method,
    fieller,
    numerical_jacobian,
    transformed,
)
from penchant.tails import normal_tail
from penchant.wording import argument, either, interval_kind, weak_prior


def predicted(theta: Vector, names: Sequence[str], choices: Any, available: Any) -> Any:
    """Probabilities (n_decisions, n_options), or one per row where sets differ in size."""
    if not np.isfinite(theta).all():
        missing = [n for n, t in zip(names, theta, strict=True) if not np.isfinite(t)]
        raise DataError(
            f"predict must have a finite estimate; got none for {', '.join(missing)}. Fit with "
            f"{weak_prior()} to predict."
        )
    if not isinstance(choices, Choices):
        choices = Choices.from_arrays(choices, None, available=available, names=list(names))
    unknown = [name for name in names if name not in choices.names]
    if unknown:
        raise DataError(
            f"choices must have the variables of the estimate; got none named {', '.join(unknown)} "
            f"among {', '.join(choices.names)}. Add or rename them."
        )
    p = np.exp(log_probabilities(theta, choices.select(names)))
    sizes = np.diff(choices.first_row)
    return p.reshape(len(sizes), -1) if (sizes == sizes[0]).all() else p


def robust_covariance(theta: Vector, bread: Matrix, choices: Choices) -> Matrix:
    """Sandwich covariance without small-sample factor (HC0).

    Parameters
    ----------
    bread
        Inverse of the information.

    Notes
    -----
    A frequency weight w stands for w decisions and multiplies the outer product of the score once;
    a probability weight multiplies the score itself, and so enters twice.
    """
    choices, unit = unit_weights(choices)
    s = scores(theta, choices)
    weights = np.ones(len(s)) if choices.weights is None else choices.weights
    if choices.weight_kind == "frequency":
        return _sandwich(bread * unit, (s.T * weights) @ s) / unit
    return _sandwich(bread * unit, (s.T * weights**2) @ s)


def clustered_covariance(theta: Vector, bread: Matrix, choices: Choices, cluster: Any) -> Matrix:
    """Sandwich covariance with scores summed within clusters, such as subjects."""
    codes, n_clusters = _cluster_codes(cluster, choices.n_decisions)
    choices, unit = unit_weights(choices)
    s = scores(theta, choices)
    if choices.weights is not None:
        s = s * choices.weights[:, None]
    sums = np.zeros((n_clusters, s.shape[1]))
    np.add.at(sums, codes, s)
    return _sandwich(bread * unit, sums.T @ sums)


def _cluster_codes(cluster: Any, n: int) -> tuple[Any, int]:
    labels = np.asarray(cluster)
    if labels.shape != (n,):
        raise DataError(
            f"{either('cluster', '--subject')} must have one label per decision ({n}); got shape "
            f"{labels.shape}. "
            + either(
                "Give an array of labels, or choices with a subject.",
                "Name its column with --subject.",
            )
        )
    missing = [label is None or label != label for label in labels.tolist()]
    if any(missing):
        raise DataError(
            f"{either('cluster', '--subject')} must not be missing; got {sum(missing)} missing, "
            f"first at decision {missing.index(True)}. Fill or drop these decisions."
        )
    known, codes = np.unique(labels, return_inverse=True)
    if len(known) < 2:
        raise DataError(
            f"{either('cluster', '--subject')} must name at least two clusters; got only "
            f"{known.tolist()[0]!r}. Use {either('robust()', '--covariance robust')} where "
            "decisions are independent."
        )
    return codes.reshape(-1), len(known)


def _sandwich(bread: Matrix, meat: Matrix) -> Matrix:
    """Bread times meat times bread, NaN where the bread has none."""
    known = np.isfinite(np.diag(bread))
    result = np.full_like(bread, np.nan)
    inner = bread[np.ix_(known, known)]
    result[np.ix_(known, known)] = inner @ meat[np.ix_(known, known)] @ inner
    return result


Method = Literal["maximum likelihood", "MAP", "Firth"]
ILL_CONDITIONED = 1e6
IntervalKind = Literal["wald", "profile", "calibrated"]
INTERVAL_WORDS = {
    "wald": "Wald, from standard errors",
    "profile": "profile likelihood",
    "calibrated": "calibrated by simulated choices",
}


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """What the choices tell of theta.

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
    method, prior, covariance_kind
        How it was estimated, in words.
    subject
        Whose estimate it is, in a batch.
    natural
        Map to the natural parameters, where the model has one.
    n_subjects
        How many people chose: more than one are pooled, with the same theta.
    choices
        The data, kept for intervals and tests that need it; not pickled.
    """

    status: Status
    message: str
    names: tuple[str, ...]
    theta: Vector
    covariance: Matrix
    inverse_information: Matrix
    log_likelihood: float
    null_log_likelihood: float
    log_posterior: float | None
    diagnostics: Diagnostics
    n_decisions: int
    total_weight: float
    n_options: tuple[int, int]
    scale: Vector
    method: Method = "maximum likelihood"
    prior: str | None = None
    covariance_kind: str = "model"
    subject: Any = None
    natural: NaturalParameters | None = None
    notes: tuple[str, ...] = ()
    n_subjects: int = 1
    quadratic: Quadratic | None = None
    constraints: Constraints | None = None
    choices: Choices | None = None

    # -- numbers ---------------------------------------------------------------------------------

    @property
    def converged(self) -> bool:
        """The estimate is a proven maximum with all parameters identified."""
        return self.status == "converged"

    @property
    def n_parameters(self) -> int:
        """Number of weights theta."""
        return len(self.names)

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
        return np.asarray(2 * normal_tail(np.abs(self.z_values)))

    @property
    def aic(self) -> float:
        """Akaike's criterion, with the rank as the number of parameters."""
        return 2 * self.diagnostics.rank - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz's criterion, with the summed weights as the number of decisions."""
        penalty = float(np.log(self.total_weight)) * self.diagnostics.rank
        return penalty - 2 * self.log_likelihood

    @property
    def pseudo_r2(self) -> float:
        """McFadden's 1 - l / l(0)."""
        if self.null_log_likelihood == 0:
            return float("nan")
        return 1.0 - self.log_likelihood / self.null_log_likelihood

    # -- intervals and functions of theta ---------------------------------------------------------

    def interval(
        self,
        level: float = 0.95,
        kind: IntervalKind = "wald",
        parameters: Sequence[str] | None = None,
        *,
        rng: np.random.Generator | None = None,
        n_drawn: int = N_DRAWN,
    ) -> Matrix:
        """Interval of each parameter: (n_parameters, 2).

        "profile" inverts the likelihood-ratio test: it is right where the likelihood is skewed, and
        one-sided infinite where the choices are separated. "calibrated" inverts it too, with its
        distribution found by drawing choices anew instead of taken from large samples.

        Parameters
        ----------
        parameters
            Which; all, if not given.
        rng
            Source of randomness, for "calibrated": the same seed gives the same interval.
        n_drawn
            Sets of choices drawn at every value that is tried, for "calibrated".
        """
        wanted = [self._index(name) for name in parameters or self.names]
        if kind == "wald":
            return intervals.wald_interval(self.theta, self.standard_errors, level)[wanted]
        if kind == "calibrated":
            return self._calibrated(level, wanted, rng, n_drawn)
        if kind != "profile":
            raise DataError(
                f"kind must be 'wald', 'profile' or 'calibrated'; got {kind!r}. Choose one."
            )
        arguments.check_level(level)
        choices = self._needed(f"interval({interval_kind('profile')})")
        if self._nearly_dependent():
            return self._whitened_intervals(choices, wanted, level)
        profile = intervals.Profile(
            choices,
            likelihood_of(choices),
            self.quadratic or Quadratic.none(self.n_parameters),
            self.method == "Firth",
            self._unidentified(),
            self.scale,
            self.constraints,
        )
        return np.array([self._profile(profile, a, level) for a in wanted])

    def _calibrated(
        self, level: float, wanted: list[int], rng: np.random.Generator | None, n_drawn: int
    ) -> Matrix:
        """Intervals from choices drawn anew."""
        plain = self.method == "maximum likelihood" and self.constraints is None
        seed = check_drawing(rng, n_drawn, not plain)
        choices = self._needed(f"interval({interval_kind('calibrated')})")
        case = LinearCase(choices, self.theta, self._unidentified(), self.scale)
        names = [self.names[a] for a in wanted]
        near, far = (self.interval(at, "profile", names) for at in (level, further_level(level)))
        return case.intervals(wanted, near, far, level, seed, n_drawn)

    def _nearly_dependent(self) -> bool:
        """Whether theta's own coordinates lose digits that others keep."""
        plain = self.quadratic is None and self.constraints is None and self.method != "Firth"
        known = bool(np.isfinite(self.inverse_information).all())
        return plain and known and self.diagnostics.condition > ILL_CONDITIONED

    def _whitened_intervals(self, choices: Choices, wanted: list[int], level: float) -> Matrix:
        """Profile intervals in coordinates in which the information is the identity."""
        factor = np.linalg.cholesky(self._correlation()) * self.standard_errors[:, None]
        work = in_coordinates(choices, factor)
        profile = intervals.LinearProfile(likelihood_of(work), factor, self.theta)
        ends = [
            intervals.linear_interval(
                profile, a, self.log_likelihood, self.standard_errors[a], level
            )
            for a in wanted
        ]
        return np.array(ends)

    def _correlation(self) -> Matrix:
        errors = np.sqrt(np.diag(self.inverse_information))
        return np.asarray(self.inverse_information / np.outer(errors, errors))

    def _unidentified(self) -> Matrix:
        """Directions of theta that change nothing, as rows; none where a prior decides."""
        directions = () if self.quadratic is not None else self.diagnostics.null_directions
        rows = [[v.get(name, 0.0) for name in self.names] for v in directions]
        return np.array(rows).reshape(len(rows), self.n_parameters)

    def _profile(
        self, profile: intervals.Profile, parameter: int, level: float
    ) -> tuple[float, float]:
        undetermined = self.status == "separated" and np.isnan(self.theta[parameter])
        if undetermined or (profile.unidentified[:, parameter] != 0).any():
            return -np.inf, np.inf
        error = self.standard_errors[parameter]
        unit = error if np.isfinite(error) and error > 0 else 1.0 / self.scale[parameter]
        top = self.log_likelihood if self.log_posterior is None else self.log_posterior
        return intervals.profile_interval(profile, parameter, top, self.theta, unit, level)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Natural parameters (theta itself if the model has none), with 95 % intervals."""
        return self.parameters_at(0.95)

    def parameters_at(self, level: float) -> tuple[Parameter, ...]:
        """Natural parameters with intervals at this level."""
        if self.natural is None:
            return transformed(self.theta, self.covariance, self.names, level)
        covariance = delta_method(self.covariance, self.natural.jacobian(self.theta))
        return transformed(self.natural.values(self.theta), covariance, self.natural.names, level)

    def transform(
        self, function: Callable[[Vector], Any], names: Sequence[str] = (), level: float = 0.95
    ) -> tuple[Parameter, ...]:
        """Functions of theta with delta-method standard errors."""
        values = np.atleast_1d(np.asarray(function(self.theta), dtype=np.float64))
        labels = tuple(names) or tuple(f"f{i + 1}" for i in range(len(values)))
        unit = np.where(np.isfinite(self.standard_errors), self.standard_errors, 0.0)
        jacobian = numerical_jacobian(
            lambda t: np.asarray(function(t), dtype=np.float64), self.theta, unit
        )
        return transformed(values, delta_method(self.covariance, jacobian), labels, level)

    def ratio(self, numerator: str, denominator: str, level: float = 0.95) -> RatioInterval:
        """Ratio of two parameters with Fieller's interval."""
        i, j = self._index(numerator), self._index(denominator)
        covariance = self.covariance[np.ix_([i, j], [i, j])]
        return fieller(float(self.theta[i]), float(self.theta[j]), covariance, level)

    # -- other covariances ------------------------------------------------------------------------

    def robust(self) -> Estimate:
        """The same estimate with the sandwich covariance (HC0)."""
        choices = self._needed("robust()")
        theta = self._finite_theta("robust()")
        covariance = robust_covariance(theta, self.inverse_information, choices)
        return dataclasses.replace(self, covariance=covariance, covariance_kind="robust (HC0)")

    def clustered(self, cluster: Any = None) -> Estimate:
        """The same estimate with a covariance clustered by subject, or by labels given."""
        choices = self._needed("clustered()")
        labels = choices.subject if cluster is None else cluster
        if labels is None:
            raise DataError(
                f"{either('cluster', '--subject')} must be given where the choices have no "
                "subject; got None. "
                + either("Pass one label per decision.", "Name its column with --subject.")
            )
        theta = self._finite_theta("clustered()")
        covariance = clustered_covariance(theta, self.inverse_information, choices, labels)
        return dataclasses.replace(self, covariance=covariance, covariance_kind="clustered")

    def _finite_theta(self, what: str) -> Vector:
        if np.isfinite(self.theta).all():
            return self.theta
        raise DataError(
            f"{what} must have a finite estimate; got status {self.status!r}. Use "
            f"{argument('method', 'firth')} or {either('a parameter_prior', '--prior weak')}."
        )

    # -- tests ------------------------------------------------------------------------------------

    def wald_test(self, hypothesis: Any) -> TestResult:
        """Wald test of R theta = r: names (all 0), {name: value}, a matrix R, or (R, r)."""
        return wald_test(self.theta, self.covariance, Hypothesis.of(hypothesis, self.names))

    def likelihood_ratio_test(self, hypothesis: Any) -> TestResult:
        """Likelihood-ratio test of R theta = r."""
        choices = self._needed("likelihood_ratio_test()")
        if self.method != "maximum likelihood" or self.constraints is not None:
            raise DataError(
                "likelihood_ratio_test() must have plain maximum likelihood; got a prior, a "
                "penalty or constraints. Fit without them, or use the Wald test."
            )
        return likelihood_ratio_test(
            self.log_likelihood,
            choices,
            Hypothesis.of(hypothesis, self.names),
            self._unidentified(),
            self.scale,
        )

    def score_test(self, hypothesis: Any) -> TestResult:
        """Score test of R theta = r."""
        choices = self._needed("score_test()")
        asked = Hypothesis.of(hypothesis, self.names)
        return score_test(choices, asked, self._unidentified(), self.scale)

    # -- predictions ------------------------------------------------------------------------------

    def predict(self, choices: Any, available: Any = None) -> Any:
        """Choice probabilities, Eq. (3), for new choice sets.

        Parameters
        ----------
        choices
            `Choices` with the same variables (in any order), or an array
            (n_decisions, n_options, n_parameters).
        available
            Mask, for an array.

        Returns
        -------
        Matrix (n_decisions, n_options) for sets of equal size, else a vector with one probability
        per row.
        """
        return predicted(self.theta, self.names, choices, available)

    def log_likelihoods(self, choices: Choices | None = None) -> Vector:
        """Log-probability of each decision, of the data or of new ones."""
        data = self._needed("log_likelihoods()") if choices is None else choices
        theta = self._finite_theta("log_likelihoods()")
        return decision_log_likelihoods(theta, data.select(self.names))

    @property
    def bias(self) -> Vector:
        """First-order bias of maximum likelihood at theta; theta - bias corrects it."""
        theta = self._finite_theta("bias")
        return first_order_bias(theta, self._needed("bias"), self.inverse_information)

    # -- data -------------------------------------------------------------------------------------

    def attach(self, choices: Choices) -> Estimate:
        """The same estimate with its data, after it was read from a file."""
        data = choices.select(self.names)
        if data.n_decisions != self.n_decisions:
            raise DataError(
                f"choices must be those of the fit ({self.n_decisions} decisions); "
                f"got {data.n_decisions}. Attach the data that the estimate was made from."
            )
        return dataclasses.replace(self, choices=data)

    def _needed(self, what: str) -> Choices:
        if self.choices is None:
            raise DataError(
                f"{what} must have the choices, which are not stored with an estimate; "
                "got none. Call estimate.attach(choices) first."
            )
        return self.choices

    def _index(self, name: str) -> int:
        if name not in self.names:
            raise DataError(
                f"parameters must be among {', '.join(self.names)}; got {name!r}."
                f"{nearest(name, self.names) or ' Correct it.'}"
            )
        return self.names.index(name)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "choices": None}

    # -- for reading ------------------------------------------------------------------------------

    def table(
        self,
        level: float = 0.95,
        kind: IntervalKind = "wald",
        rng: np.random.Generator | None = None,
    ) -> Table:
        """The summary as a table."""
        low_high = self.interval(level, kind, rng=rng)
        errors, z, p = self.standard_errors, self.z_values, self.p_values
        rows = [
            (
                name,
                number(self.theta[a]),
                number(errors[a]),
                number(z[a], 3),
                p_value(p[a]),
                number(low_high[a, 0], 4),
                number(low_high[a, 1], 4),
            )
            for a, name in enumerate(self.names)
        ]
        percent = f"{100 * level:g} %"
        header = ("", "estimate", "std. error", "z", "p", f"{percent} low", "high")
        notes = self._notes(level)
        if kind != "wald":  # those follow from the standard errors beside them
            notes = (*notes, f"Intervals: {INTERVAL_WORDS[kind]}.")
        return Table(self._caption(), self._facts(), header, tuple(rows), notes)

    def _caption(self) -> str:
        how = self.method if self.prior is None else f"{self.method}, {self.prior} prior"
        whose = "" if self.subject is None else f" of {self.subject}"
        return f"Softmax choices{whose}: {how}"

    def _facts(self) -> tuple[tuple[str, str], ...]:
        low, high = self.n_options
        options = f"{low} options each" if low == high else f"{low} to {high} options"
        return (
            ("Status", self.status),
            ("Decisions", f"{self.n_decisions}, {options}"),
            ("Covariance", self.covariance_kind),
            ("Log-likelihood", f"{self.log_likelihood:.4f} (null {self.null_log_likelihood:.4f})"),
            ("Pseudo R2", f"{self.pseudo_r2:.4f}"),
            ("AIC, BIC", f"{self.aic:.2f}, {self.bic:.2f}"),
        )

    def _notes(self, level: float) -> tuple[str, ...]:
        notes = [] if self.status == "converged" else [self.message]
        if self.diagnostics.combinations:
            known = "; ".join(str(c) for c in self.diagnostics.combinations)
            notes.append(f"What can be estimated: {known}.")
        if self.natural is not None:
            notes += [
                f"{p.name} = {number(p.estimate)} (std. error {number(p.standard_error)}, "
                f"{100 * level:g} % {number(p.low, 4)} to {number(p.high, 4)})"
                for p in self.parameters_at(level)
            ]
        return (*notes, *self.notes)

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
        values = ", ".join(
            f"{name}={number(t)}" for name, t in zip(self.names, self.theta, strict=True)
        )
        return f"<Estimate {self.status}: {values}>"

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
        """One row per parameter: estimate, standard error, z, p, interval."""
        low_high = self.interval(level, kind, rng=rng)
        columns = {
            "name": self.names,
            "estimate": self.theta.tolist(),
            "standard_error": self.standard_errors.tolist(),
            "z": self.z_values.tolist(),
            "p": self.p_values.tolist(),
            "low": low_high[:, 0].tolist(),
            "high": low_high[:, 1].tolist(),
        }
        return frame(columns, backend)

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON; `from_dict` reads it back."""
        return document.to_dict(self, level)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Estimate:
        """Read what `to_dict` wrote."""
        return cls(**document.fields(content))
