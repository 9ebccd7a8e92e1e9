"""Random-effects meta-analysis over subjects' estimates, and its result `PopulationEstimate`.

Covariance between subjects by REML or by the multivariate method of moments (Jackson, White and
Riley 2013), heterogeneity by Cochran's Q and I2 (Higgins and Thompson 2002). Relies on estimates
and covariances of subjects alone, whitened so that no unit matters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy

from penchant._typing import Label, Matrix, Vector
from penchant.argument_checks import check_level
from penchant.errors import DataError, format_list
from penchant.json_records import JsonDocument, to_json
from penchant.population.subject_estimates import ExcludedSubject, Scale
from penchant.result_tables import (
    Column,
    Columns,
    IntervalTableExport,
    Table,
    attribute_columns,
    format_columns,
    format_number,
    stack_columns,
)
from penchant.softmax.estimate import ESTIMATE_COLUMNS
from penchant.softmax.intervals_and_tests import ParameterEstimate
from penchant.tail_probabilities import chi_square_sf, t_isf


@dataclass(frozen=True, eq=False)
class WhitenedEstimates:
    """Estimates and covariances in units of their pooled precision.

    z = R theta with R'R the mean of the precisions C_s^-1. Parameters as unlike in size as 1e-7 and
    10 become alike, and no result depends on their units or on how they are combined.
    """

    estimates: Matrix
    covariances: Matrix
    precision_root: Matrix

    @classmethod
    def from_estimates(
        cls, estimates: Matrix, covariances: Matrix, between: Matrix | None = None
    ) -> WhitenedEstimates:
        """The units of these subjects; with what is `between` them added to each covariance."""
        spread = covariances if between is None else covariances + between
        # A geometric mean, so that no hardly known subject sets the scale of all.
        unit = np.exp(0.5 * np.log(spread.diagonal(0, 1, 2)).mean(axis=0))
        precision = np.linalg.inv(spread / np.outer(unit, unit)).mean(axis=0)
        root = np.linalg.cholesky((precision + precision.T) / 2).T / unit
        return cls(estimates @ root.T, np.einsum("ab,sbc,dc->sad", root, covariances, root), root)

    def whiten_covariance(self, covariance: Matrix) -> Matrix:
        """A covariance of the user's units in these."""
        made = self.precision_root @ covariance @ self.precision_root.T
        return np.asarray((made + made.T) / 2)

    def unwhiten_mean(self, mean: Vector) -> Vector:
        """A mean in the units of the user."""
        return np.asarray(np.linalg.solve(self.precision_root, mean))

    def unwhiten_covariance(self, covariance: Matrix) -> Matrix:
        """A covariance in the units of the user."""
        inverse = np.linalg.inv(self.precision_root)
        made = inverse @ covariance @ inverse.T
        return np.asarray((made + made.T) / 2)


def inverse_variance_mean_and_covariance(
    estimates: Matrix, covariances: Matrix
) -> tuple[Vector, Matrix]:
    """Inverse-variance mean and its covariance: C = (sum C_s^-1)^-1, C sum C_s^-1 theta_s."""
    precisions = np.linalg.inv(covariances)
    covariance = np.linalg.inv(precisions.sum(axis=0))
    return covariance @ np.einsum("sab,sb->a", precisions, estimates), covariance


@dataclass(frozen=True, eq=False)
class Heterogeneity:
    """Cochran's Q, for all parameters together and for each by itself.

    Attributes
    ----------
    q, degrees_of_freedom, p_value
        sum_s (theta_s - theta)' C_s^-1 (theta_s - theta) about the inverse-variance mean, against
        chi-square: the test that subjects have the same theta.
    i2
        Share of Q beyond its degrees of freedom, 0 to 1.
    q_each, p_each, i2_each
        The same of each parameter by itself, with (n_subjects - 1) degrees of freedom.
    between
        Covariance of the parameters between subjects, where the rule estimates it; its diagonal
        is tau2.
    """

    q: float
    degrees_of_freedom: int
    p_value: float
    i2: float
    q_each: Vector
    p_each: Vector
    i2_each: Vector
    between: Matrix | None = None

    @property
    def tau2(self) -> Vector | None:
        """Variance of each parameter between subjects, where the rule estimates it."""
        return None if self.between is None else np.diag(self.between).copy()

    def __str__(self) -> str:
        return (
            f"Q({self.degrees_of_freedom}) = {self.q:.4g}, p = {self.p_value:.3g}, "
            f"I2 = {100 * self.i2:.0f} %"
        )


def heterogeneity(
    estimates: Matrix, covariances: Matrix, between: Matrix | None = None
) -> Heterogeneity | None:
    """Q and I2 of at least two subjects; None of fewer."""
    n, d = estimates.shape
    if n < 2:
        return None
    q = cochran_q(estimates, covariances)
    each = np.array(
        [cochran_q(estimates[:, [a]], covariances[:, a : a + 1, a : a + 1]) for a in range(d)]
    )
    df = (n - 1) * d
    return Heterogeneity(
        q,
        df,
        float(chi_square_sf(q, df)),
        float(_i_squared(np.array([q]), df)[0]),
        each,
        np.asarray(chi_square_sf(each, n - 1)),
        _i_squared(each, n - 1),
        between,
    )


def cochran_q(estimates: Matrix, covariances: Matrix) -> float:
    """Squared distances from the inverse-variance mean, in units of each covariance."""
    precisions = np.linalg.inv(covariances)
    total = np.einsum("sab,sb->a", precisions, estimates)
    gaps = estimates - np.linalg.solve(precisions.sum(axis=0), total)
    return float(np.einsum("sa,sab,sb->", gaps, precisions, gaps))


def _i_squared(q: Vector, df: int) -> Vector:
    return np.asarray(np.where(q > df, 1.0 - df / np.maximum(q, df), 0.0))


REML_GRADIENT_TOL = 1e-6  # per subject, whitened: the variance is then off by a relative 1e-6
MIN_WHITENED_VARIANCE = 1e-9  # relative to errors; less is rounding, and reported as exactly 0
START_WHITENED_VARIANCE = 1e-2  # added to the start: the gradient in a root vanishes at 0
MAX_REML_ROUNDS = 8  # a backstop: the second re-whitening is usually the last


def dersimonian_laird(white: WhitenedEstimates) -> Matrix:
    """Method of moments, for several parameters at once (Jackson, White and Riley, 2013).

    With W_s = C_s^-1, A = sum W_s and Q = sum W_s (theta_s - theta)(theta_s - theta)', the
    expectation of Q is (n - 1) I + (A - sum W_s A^-1 W_s) Omega. For one parameter this is
    DerSimonian and Laird's formula. Negative directions are cut off.
    """
    weights = np.linalg.inv(white.covariances)
    total = weights.sum(axis=0)
    mean, _ = inverse_variance_mean_and_covariance(white.estimates, white.covariances)
    gaps = white.estimates - mean
    n, d = white.estimates.shape
    q = np.einsum("sab,sb,sc->ac", weights, gaps, gaps)
    lost = np.einsum("sab,bc,scd->ad", weights, np.linalg.inv(total), weights)
    raw = np.linalg.solve(total - lost, q - (n - 1) * np.eye(d))
    return nearest_positive_covariance((raw + raw.T) / 2)


def restricted_log_likelihood_and_gradient(
    between: Matrix, white: WhitenedEstimates
) -> tuple[float, Matrix]:
    """REML and its derivative in Omega.

    -1/2 [sum log|V_s| + sum r_s' V_s^-1 r_s + log|sum V_s^-1|] with V_s = C_s + Omega, and
    1/2 sum V_s^-1 (r_s r_s' + P - V_s) V_s^-1 with P = (sum V_s^-1)^-1.
    """
    spread = white.covariances + between
    inverse = np.linalg.inv(spread)
    mean, certainty = inverse_variance_mean_and_covariance(white.estimates, spread)
    gaps = white.estimates - mean
    pulls = np.einsum("sab,sb->sa", inverse, gaps)
    value = np.linalg.slogdet(spread)[1].sum() + (gaps * pulls).sum()
    value -= np.linalg.slogdet(certainty)[1]
    slope = np.einsum("sa,sb->ab", pulls, pulls) - inverse.sum(axis=0)
    slope += np.einsum("sab,bc,scd->ad", inverse, certainty, inverse)
    return -0.5 * float(value), 0.5 * slope


def reml_covariance_and_convergence(white: WhitenedEstimates) -> tuple[Matrix, bool]:
    """Omega of largest restricted likelihood, and whether the search arrived.

    The search is over a root L of Omega = L L'. It begins at the most likely of some covariances of
    all sizes, and is repeated in units of what it found, as subjects may be known to a thousandth
    or to a thousand of what is between them.
    """
    between = max(
        _reml_starts(white),
        key=lambda omega: restricted_log_likelihood_and_gradient(omega, white)[0],
    )
    for _ in range(MAX_REML_ROUNDS):
        own = WhitenedEstimates.from_estimates(white.estimates, white.covariances, between)
        peak = _maximize_reml(own.whiten_covariance(between), own)
        between = own.unwhiten_covariance(nearest_positive_covariance(peak))
        if is_reml_maximum(between, white):
            return between, True
    return between, False


def _reml_starts(white: WhitenedEstimates) -> list[Matrix]:
    """Covariances from nothing to the spread of all estimates, and the moments' answer."""
    spread = np.atleast_2d(np.cov(white.estimates.T))
    moments = dersimonian_laird(white)
    sizes = 10.0 ** np.arange(-2.0, np.log10(max(float(np.trace(spread)), 1.0)) + 1.0, 0.5)
    return [moments, spread, *(size * np.eye(len(spread)) for size in sizes)]


def _maximize_reml(start: Matrix, white: WhitenedEstimates) -> Matrix:
    """Local maximum of the restricted likelihood by BFGS over a root of Omega."""
    n, d = white.estimates.shape

    def negative_reml_and_gradient(flat: Vector) -> tuple[float, Vector]:
        root = flat.reshape(d, d)
        value, slope = restricted_log_likelihood_and_gradient(root @ root.T, white)
        return -value / n, (-2.0 * slope @ root / n).ravel()

    begin = np.linalg.cholesky(start + START_WHITENED_VARIANCE * np.eye(d)).ravel()
    # Tighter than REML_GRADIENT_TOL, which is tested on a rescaled gradient afterwards.
    options = {"gtol": 1e-9, "maxiter": 500}
    found = scipy.optimize.minimize(
        negative_reml_and_gradient, begin, jac=True, method="BFGS", options=options
    )
    root = found.x.reshape(d, d)
    return np.asarray(root @ root.T)


def is_reml_maximum(between: Matrix, white: WhitenedEstimates) -> bool:
    """Whether no direction raises the restricted likelihood, the cut-off ones included."""
    own = WhitenedEstimates.from_estimates(white.estimates, white.covariances, between)
    here = own.whiten_covariance(between)
    _, slope = restricted_log_likelihood_and_gradient(here, own)
    slope = slope / len(own.estimates)
    rising = float(np.linalg.eigvalsh((slope + slope.T) / 2).max())
    return rising < REML_GRADIENT_TOL and float(np.abs(slope @ here).max()) < REML_GRADIENT_TOL


def nearest_positive_covariance(matrix: Matrix) -> Matrix:
    """The nearest covariance: negative and negligible directions set to 0."""
    values, vectors = np.linalg.eigh(matrix)
    kept = np.where(values > MIN_WHITENED_VARIANCE, values, 0.0)
    return np.asarray((vectors * kept) @ vectors.T)


Rule = Literal[
    "mean-pooled",
    "mean-sample",
    "fixed-effect",
    "random-effects",
    "dersimonian-laird",
    "joint",
    "published",
]


MIN_TRUSTED_I2 = 0.75  # Higgins' "high" heterogeneity: below, weights lean on noisy estimates


@dataclass(frozen=True, eq=False, repr=False)
class PopulationEstimate(IntervalTableExport, JsonDocument):
    """Pooled estimate of a population from its subjects' estimates.

    Attributes
    ----------
    names, estimate, covariance
        Parameters with the covariance of the estimate; NaN where there is none.
    rule
        How it was pooled: see `pool`.
    subjects, left_out
        Whose estimates it rests on, and those that could not be used, with the reason.
    n_subjects
        How many it rests on.
    degrees_of_freedom
        Of the standard errors: n_subjects - 1 where they come from the spread between subjects,
        infinite where they come from a model.
    heterogeneity
        Q, I2 and, of random effects, the covariance between subjects; None with fewer than two.
    status, message
        "estimated", or what is wrong, and a sentence about it.
    """

    json_names = (
        *("rule", "scale", "status", "message", "caution", "n_subjects", "subjects", "left_out"),
        *("parameters", "covariance", "degrees_of_freedom", "heterogeneity"),
        "log_likelihood",
    )
    names: tuple[str, ...]
    estimate: Vector
    covariance: Matrix
    rule: Rule
    n_subjects: int
    subjects: tuple[Label, ...] = ()
    left_out: tuple[ExcludedSubject, ...] = ()
    degrees_of_freedom: float = np.inf
    heterogeneity: Heterogeneity | None = None
    status: str = "estimated"
    message: str = ""
    scale: Scale = "theta"
    log_likelihood: float | None = None

    @classmethod
    def from_summary(
        cls,
        estimate: Any,
        standard_errors: Any,
        n_subjects: int,
        *,
        names: Sequence[str] | None = None,
        scale: Scale = "theta",
    ) -> PopulationEstimate:
        """A population of which only a published table is known.

        Covariances between parameters are not known, and not taken for 0: they are NaN, and what
        needs them (the joint test, standard errors of ratios) is NaN too.

        Examples
        --------
        >>> import penchant as pn
        >>> low_a = pn.results.PopulationEstimate.from_summary([0.36, -5.22], [90.4, 1270.0], 153)
        >>> low_a.degrees_of_freedom
        152.0
        """
        values, errors = np.asarray(estimate, float), np.asarray(standard_errors, float)
        if values.ndim != 1 or values.shape != errors.shape or not (errors > 0).all():
            raise DataError(
                "estimate and standard_errors",
                "must be vectors of the same length, the latter positive",
                got=f"{estimate!r} and {standard_errors!r}",
                fix="Correct them.",
            )
        if n_subjects < 1:
            raise DataError("n_subjects", "must be at least 1", got=n_subjects, fix="Correct it.")
        covariance = np.full((len(values), len(values)), np.nan)
        np.fill_diagonal(covariance, errors**2)
        own = tuple(f"theta{a + 1}" for a in range(len(values))) if names is None else tuple(names)
        if len(own) != len(values):
            raise DataError(
                "names",
                f"must be one per estimate ({len(values)})",
                got=len(own),
                fix="Match them.",
            )
        df = float(n_subjects - 1)
        return cls(
            own, values, covariance, "published", n_subjects, degrees_of_freedom=df, scale=scale
        )

    @property
    def standard_errors(self) -> Vector:
        """Square roots of the covariance's diagonal; NaN where there is none."""
        return np.sqrt(np.diag(self.covariance))

    def interval(self, level: float = 0.95) -> Matrix:
        """Interval of each parameter, (n_parameters, 2): Student's t, or normal, see above."""
        check_level(level)
        return _t_interval(self.estimate, self.standard_errors, self.degrees_of_freedom, level)

    def prediction_interval(self, level: float = 0.95) -> Matrix:
        """Prediction interval of a new subject's parameters, of random effects: (n_parameters, 2).

        Student's t with n_subjects - 2 degrees of freedom about the mean, with the variance between
        subjects added to that of the mean; NaN with fewer than three subjects.
        """
        check_level(level)
        if self.heterogeneity is None or self.heterogeneity.tau2 is None:
            raise DataError(
                "prediction_interval",
                "must have the variance between subjects",
                got=f"rule {self.rule!r} with {self.n_subjects} subjects",
                fix="Use rule='random-effects'.",
            )
        if self.n_subjects < 3:
            return np.full((len(self.names), 2), np.nan)
        errors = np.sqrt(self.heterogeneity.tau2 + self.standard_errors**2)
        return _t_interval(self.estimate, errors, self.n_subjects - 2.0, level)

    @property
    def parameters(self) -> tuple[ParameterEstimate, ...]:
        """The parameters with 95 % intervals."""
        return self.parameters_at(0.95)

    def parameters_at(self, level: float) -> tuple[ParameterEstimate, ...]:
        """The parameters with intervals at this level."""
        ends = self.interval(level)
        numbers = zip(self.names, self.estimate, self.standard_errors, ends, strict=True)
        return tuple(
            ParameterEstimate(name, float(value), float(error), float(low), float(high))
            for name, value, error, (low, high) in numbers
        )

    def table(self, level: float = 0.95) -> Table:
        """The summary as a table."""
        columns, known = self.frame_columns(level), self.heterogeneity
        shown = [column for column in ESTIMATE_COLUMNS if column.name in columns]
        if known is not None:
            shown.append(Column("i2", "I2", lambda share: f"{100 * share:.0f} %"))
            if known.tau2 is not None:
                shown.append(Column("tau2", "sd between", lambda v: format_number(np.sqrt(v), 4)))
        header, rows = format_columns(columns, shown, level)
        facts = [("Status", self.status), ("Subjects", str(self.n_subjects))]
        facts += [("Left out", str(len(self.left_out)))] if self.left_out else []
        facts += [("Heterogeneity", str(known))] if known is not None else []
        if self.log_likelihood is not None:
            facts.append(("Log-likelihood", f"{self.log_likelihood:.4f}"))
        left = (f"Left out: {format_list(map(str, self.left_out))}.",) if self.left_out else ()
        said = (self.message, *left, self.caution)
        notes = tuple(filter(None, said))
        return Table(f"Population: {self.rule}", tuple(facts), header, rows, notes)

    @property
    def caution(self) -> str:
        """Why an average of estimates may be off here, in a sentence; empty where it is not said.

        Because people are left out, or because estimates are about as uncertain as people differ
        (I2 below 75 %), so that weights depend on the estimates.
        """
        if self.rule == "joint" or self.status != "estimated":
            return ""
        known = self.heterogeneity
        told = np.ones(len(self.names)) if known is None else np.asarray(known.i2_each)
        vague = [n for n, share in zip(self.names, told, strict=True) if share < MIN_TRUSTED_I2]
        weighs = self.rule in ("random-effects", "dersimonian-laird", "fixed-effect")
        why = []
        if self.left_out:
            why.append("those left out are seldom like the others")
        if vague and weighs:
            why.append(f"much of how people differ in {' and '.join(vague)} is error")
        if not why:
            return ""
        return f"The average may be off: {', and '.join(why)}. fit_population keeps everybody."

    def __repr__(self) -> str:
        values = (f"{n}={format_number(v)}" for n, v in zip(self.names, self.estimate, strict=True))
        people = f"{self.n_subjects} subject{'s' * (self.n_subjects != 1)}"
        return f"<PopulationEstimate {self.rule} of {people}: {', '.join(values)}>"

    def frame_columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """Columns of the data frame."""
        found = self.parameters_at(level)
        columns = attribute_columns(found, "name", "estimate", "standard_error", "low", "high")
        blank = np.full(len(found), np.nan)
        known = self.heterogeneity
        columns["i2"] = (blank if known is None else known.i2_each).tolist()
        tau2 = None if known is None else known.tau2
        columns["tau2"] = (blank if tau2 is None else tau2).tolist()
        for name in ("n_subjects", "rule", "status"):
            columns[name] = [getattr(self, name)] * len(found)
        columns["n_left_out"] = [len(self.left_out)] * len(found)
        return columns

    def document(self) -> dict[str, Any]:
        """Result as a dictionary for JSON, with 95 % intervals."""
        return super().document() | {"level": 0.95}


@dataclass(frozen=True, eq=False, repr=False)
class PopulationEstimates(Mapping[Any, PopulationEstimate], IntervalTableExport, JsonDocument):
    """Population estimates by category."""

    populations: Mapping[Any, PopulationEstimate]

    def __getitem__(self, category: Label) -> PopulationEstimate:
        return self.populations[category]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.populations)

    def __len__(self) -> int:
        return len(self.populations)

    def frame_columns(self, level: float = 0.95) -> Columns:
        """Columns of the data frame."""
        return stack_columns(
            {"category": [category] * len(population.names), **population.frame_columns(level)}
            for category, population in self.populations.items()
        )

    def summary(self, level: float = 0.95) -> str:
        """Summaries of all categories as text."""
        return "\n\n".join(f"{c}\n{p.summary(level)}" for c, p in self.populations.items())

    def document(self) -> dict[str, Any]:
        """Result as a dictionary for JSON: a list of categories."""
        each = self.populations.items()
        return super().document() | {
            "categories": [{"category": to_json(c), **p.document()} for c, p in each]
        }

    def __repr__(self) -> str:
        people = ", ".join(f"{c}: {p.n_subjects}" for c, p in self.populations.items())
        return f"<PopulationEstimates {people} subjects>"


def _t_interval(centre: Vector, errors: Vector, df: float, level: float) -> Matrix:
    half = float(t_isf((1 - level) / 2, df)) * errors if df > 0 else np.nan * errors
    return np.column_stack([centre - half, centre + half])
