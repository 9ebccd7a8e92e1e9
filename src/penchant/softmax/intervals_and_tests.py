"""Inference from theta: intervals, robust covariances, functions of theta, linear hypotheses.

Wald and profile-likelihood intervals (Venzon and Moolgavkar, 1988), sandwich covariances (White,
1982), the delta method, Fieller's intervals of ratios, and the Wald, likelihood-ratio and score
tests of R theta = r.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.argument_checks import check_level
from penchant.choices import Choices
from penchant.errors import DataError, mark_argument
from penchant.json_records import JsonDocument
from penchant.softmax.constraints import (
    Constraints,
    InfeasibleError,
    maximise_constrained,
    null_basis,
)
from penchant.softmax.estimate_diagnostics import unknown_name_error
from penchant.softmax.likelihood import Likelihood, likelihood_of
from penchant.softmax.maximum_and_covariance import rescale_case_weights
from penchant.softmax.newton import Quadratic, RestrictedLikelihood, maximise
from penchant.softmax.prior import maximise_firth
from penchant.softmax.probabilities import scores
from penchant.tail_probabilities import chi_square_isf, chi_square_sf, normal_isf


@dataclass(frozen=True, slots=True)
class ProfileOptions:
    """Limits and tolerances of profile-likelihood intervals."""

    # units of utility: choices are certain long before, so an end is infinite
    max_utility: float = 1e8
    max_steps: int = 3000  # per point: diverging parameters move one unit a step and need many
    root_tol: float = 1e-12  # in standard errors: no digit that is printed is left open
    # log-likelihood; finite, as the root search interpolates heights
    infeasible_height: float = -1e6
    max_root_steps: int = 200  # bisection alone would take 50: only rounding could need more


PROFILE = ProfileOptions()


def wald_interval(theta: Vector, standard_errors: Vector, level: float) -> Matrix:
    """theta -+ z standard errors; NaN where there is no standard error."""
    check_level(level)
    z = normal_isf((1 - level) / 2)
    return np.column_stack([theta - z * standard_errors, theta + z * standard_errors])


@dataclass(frozen=True)
class Profile:
    """The objective maximised over all parameters but one.

    Parameters
    ----------
    choices, likelihood
        The data.
    quadratic
        Prior of a MAP estimate, or none.
    firth
        Profile the likelihood penalised after Firth.
    unidentified
        Directions of theta that change nothing; they are left out.
    scale
        Within-set root mean square of each variable.
    """

    choices: Choices
    likelihood: Likelihood
    quadratic: Quadratic
    firth: bool
    unidentified: Matrix
    scale: Vector
    constraints: Constraints | None = None

    def at(self, parameter: int, value: float, start: Vector) -> tuple[float, Vector]:
        """Maximum with theta[parameter] = value, and where it is."""
        d = self.likelihood.n_parameters
        origin = np.where(np.arange(d) == parameter, value, start)
        # unidentified directions are fixed too: along them the objective is flat
        fixed = np.vstack([np.eye(d)[parameter], self.unidentified])
        basis = null_basis(fixed, d, self.scale)
        if self.firth:
            found = maximise_firth(self.choices, self.likelihood, origin, basis)
            return found.value, found.theta
        left = None if self.constraints is None else self.constraints.restricted_to(origin, basis)
        if not basis.shape[1]:
            moments = self.likelihood.moments(origin)
            return moments.log_likelihood + self.quadratic(origin), origin
        plane = RestrictedLikelihood(self.likelihood, origin, basis)
        quadratic = self.quadratic.restricted_to(origin, basis)
        if left is None:
            inner = maximise(plane, quadratic, max_steps=PROFILE.max_steps, ignore_slow_steps=True)
        else:
            inner, _ = maximise_constrained(plane, left, quadratic)
        return inner.value, origin + basis @ inner.theta


@dataclass(frozen=True)
class WhitenedProfile:
    """Profile of theta = centre + factor phi in coordinates phi of unit information."""

    likelihood: Likelihood
    factor: Matrix
    centre: Vector

    def at(self, parameter: int, value: float) -> float:
        """Maximum with theta[parameter] = value."""
        row = self.factor[parameter]
        start = np.linalg.solve(self.factor, self.centre)
        # the point of the plane theta[parameter] = value nearest to the maximum, from where
        # Newton's method needs fewest steps
        origin = start + row * (value - self.centre[parameter]) / (row @ row)
        basis = null_basis(row[None], len(row))
        if not basis.shape[1]:
            return self.likelihood.moments(origin).log_likelihood
        plane = RestrictedLikelihood(self.likelihood, origin, basis)
        return maximise(plane, max_steps=PROFILE.max_steps, ignore_slow_steps=True).value


def whitened_profile_interval(
    profile: WhitenedProfile, parameter: int, top: float, unit: float, level: float
) -> tuple[float, float]:
    """Profile interval in whitened coordinates."""
    drop = float(chi_square_isf(1 - level, 1)) / 2
    centre = float(profile.centre[parameter])

    def height(value: float) -> float:
        return profile.at(parameter, value) - (top - drop)

    limit = abs(centre) + PROFILE.max_utility * unit
    return (
        _find_crossing(height, centre, -1.0, unit, limit),
        _find_crossing(height, centre, 1.0, unit, limit),
    )


def profile_interval(
    profile: Profile, parameter: int, maximum_value: float, theta: Vector, unit: float, level: float
) -> tuple[float, float]:
    """Values at which the profile is chi-square(level)/2 below its top; infinite where never.

    Parameters
    ----------
    maximum_value
        Maximum of the objective, or its supremum.
    theta
        Where the maximum is; theta[parameter] may be infinite.
    unit
        A step that matters: the standard error, or the reciprocal of the variable's scale.
    """
    check_level(level)
    drop = float(chi_square_isf(1 - level, 1)) / 2
    start = np.where(np.isfinite(theta), theta, 0.0)
    centre = theta[parameter]
    limit = PROFILE.max_utility / max(
        float(profile.likelihood.largest_values_and_differences[1][parameter]), 1e-300
    )
    start_of_next = [start]

    def height(value: float) -> float:
        try:
            found, start_of_next[0] = profile.at(parameter, value, start_of_next[0])
        # infeasible values lie outside the interval, like very unlikely ones
        except InfeasibleError:
            return PROFILE.infeasible_height
        return found - (maximum_value - drop)

    return (
        _find_crossing(height, centre, -1.0, unit, limit),
        _find_crossing(height, centre, 1.0, unit, limit),
    )


def _find_crossing(
    height: Callable[[float], float], centre: float, side: float, unit: float, limit: float
) -> float:
    """Root of a concave height on one side of its centre; infinite if there is none."""
    if centre == side * np.inf:
        return side * np.inf
    inside = (
        centre
        if np.isfinite(centre)
        else _find_value_of_positive_height(height, -side, unit, limit)
    )
    if inside is None:
        return side * np.inf
    step = 2.0 * unit  # standard errors: just beyond the usual end at 1.96, so one step brackets it
    outside = inside + side * step
    while height(outside) > 0:
        inside = outside
        step *= 2
        outside = inside + side * step
        if abs(outside) > limit:
            return side * np.inf
    return illinois_root(height, inside, outside, PROFILE.root_tol * unit)


def illinois_root(
    height: Callable[[float], float], inside: float, outside: float, root_tolerance: float
) -> float:
    """Root between inside (height positive) and outside (not), to about `root_tolerance`.

    The Illinois method: false position that halves the height of an end kept twice. Heights are
    never asked for again, so that small inconsistencies of an inner maximum cannot lose the root.
    """
    height_in, height_out = height(inside), height(outside)
    if height_in <= 0:
        return inside
    last_side = 0
    for _ in range(PROFILE.max_root_steps):
        share = height_in / (height_in - height_out)
        # away from the ends: a root at an end would never shrink the bracket
        middle = inside + (outside - inside) * min(max(share, 0.001), 0.999)
        found = height(middle)
        if abs(outside - inside) <= root_tolerance + 1e-14 * abs(middle) or abs(found) < 1e-13:
            return float(middle)
        if found > 0:
            inside, height_in = middle, found
            height_out = height_out / 2 if last_side == 1 else height_out
            last_side = 1
        else:
            outside, height_out = middle, found
            height_in = height_in / 2 if last_side == -1 else height_in
            last_side = -1
    return float(middle)


def _find_value_of_positive_height(
    height: Callable[[float], float], sign: float, unit: float, limit: float
) -> float | None:
    """A finite value where the height is positive, on the way to its maximum at infinity."""
    value, step = 0.0, unit
    while height(value) <= 0:
        value += sign * step
        step *= 2
        if abs(value) > limit:
            return None
    return value


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
    choices, unit = rescale_case_weights(choices)
    whole = sandwich(bread * unit, sandwich_meat(theta, choices))
    return whole / unit if choices.weight_kind == "frequency" else whole


def sandwich_meat(theta: Vector, choices: Choices) -> Matrix:
    """Sum of the outer products of scores, weighted as the kind of the weights says."""
    s = scores(theta, choices)
    weights = np.ones(len(s)) if choices.weights is None else choices.weights
    if choices.weight_kind == "frequency":
        return np.asarray((s.T * weights) @ s)
    return np.asarray((s.T * weights**2) @ s)


def clustered_covariance(theta: Vector, bread: Matrix, choices: Choices, cluster: Any) -> Matrix:
    """Sandwich covariance with scores sum_by_cluster within clusters, such as subjects."""
    choices, unit = rescale_case_weights(choices)
    s = scores(theta, choices)
    if choices.weights is not None:
        s = s * choices.weights[:, None]
    sums = sum_by_cluster(s, cluster)
    return sandwich(bread * unit, sums.T @ sums)


def sum_by_cluster(scores: Matrix, cluster: Any) -> Matrix:
    """Scores sum_by_cluster within clusters."""
    codes, n_clusters = _cluster_codes(cluster, len(scores))
    sums = np.zeros((n_clusters, scores.shape[1]))
    np.add.at(sums, codes, scores)
    return sums


def _cluster_codes(cluster: Any, n: int) -> tuple[Any, int]:
    labels = np.asarray(cluster)
    if labels.shape != (n,):
        raise DataError(
            "cluster",
            f"must have one label per decision ({n})",
            got=f"shape {labels.shape}",
            fix="Give an array of labels, or choices with a subject.",
        )
    missing = [label is None or label != label for label in labels.tolist()]
    if any(missing):
        raise DataError(
            "cluster",
            "must not be missing",
            got=f"{sum(missing)} missing, first at decision {missing.index(True)}",
            fix="Fill or drop these decisions.",
        )
    known, codes = np.unique(labels, return_inverse=True)
    require_several_clusters(known.tolist())
    return codes.reshape(-1), len(known)


def require_several_clusters(known: list[Any]) -> None:
    """Raise `DataError` unless there are several clusters."""
    if len(known) < 2:
        raise DataError(
            "cluster",
            "must name at least two clusters",
            got="one",
            fix=f"Use {mark_argument('covariance', 'robust')} where decisions are independent.",
        )


def sandwich(bread: Matrix, meat: Matrix) -> Matrix:
    """Product bread @ meat @ bread, NaN for parameters without a variance in the bread."""
    known = np.isfinite(np.diag(bread))
    result = np.full_like(bread, np.nan)
    inner = bread[np.ix_(known, known)]
    result[np.ix_(known, known)] = inner @ meat[np.ix_(known, known)] @ inner
    return result


@dataclass(frozen=True)
class ParameterEstimate(JsonDocument):
    """Parameter with its standard error and interval."""

    name: str
    estimate: float
    standard_error: float
    low: float
    high: float


def numerical_jacobian(function: Callable[[Vector], Vector], theta: Vector, unit: Vector) -> Matrix:
    """Derivatives by central differences, refined once (Richardson): error of order h^4.

    Steps are a hundredth of `unit`, such as the standard errors. An infinite or missing parameter
    has derivative 0 where the function does not use it, else NaN.
    """
    # 1e-2 standard errors: truncation of order 1e-8, rounding of order 1e-14
    h = np.where(unit > 0, 1e-2 * unit, 1e-3 * np.maximum(np.abs(theta), 1e-8))

    def at(a: int, value: float) -> Vector:
        return np.atleast_1d(function(np.where(np.arange(len(theta)) == a, value, theta)))

    def slope(a: int, size: float) -> Vector:
        return np.asarray((at(a, theta[a] + size) - at(a, theta[a] - size)) / (2 * size))

    with np.errstate(invalid="ignore", divide="ignore"):
        return np.column_stack(
            [
                (4 * slope(a, h[a] / 2) - slope(a, h[a])) / 3
                if np.isfinite(theta[a])
                else np.where(at(a, 0.0) == at(a, 1.0), 0.0, np.nan)
                for a in range(len(theta))
            ]
        )


def delta_method(covariance: Matrix, jacobian: Matrix) -> Matrix:
    """Covariance of a function of theta to first order; parameters it does not use may be NaN."""
    used = (jacobian != 0).any(axis=0)  # NaN times 0 would be NaN
    inner = covariance[np.ix_(used, used)]
    return np.asarray(jacobian[:, used] @ inner @ jacobian[:, used].T)


def delta_method_parameters(
    values: Vector, covariance: Matrix, names: tuple[str, ...], level: float
) -> tuple[ParameterEstimate, ...]:
    """Estimates with delta-method standard errors and Wald intervals."""
    check_level(level)
    z = float(normal_isf((1 - level) / 2))
    errors = np.sqrt(np.diag(covariance))
    return tuple(
        ParameterEstimate(name, float(v), float(e), float(v - z * e), float(v + z * e))
        for name, v, e in zip(names, values, errors, strict=True)
    )


@dataclass(frozen=True)
class RatioInterval(JsonDocument):
    """Fieller's set for a ratio.

    Attributes
    ----------
    kind
        "bounded": low to high. "excluded": everything but the open interval between them.
        "unbounded": every number; the denominator may be 0.
    """

    estimate: float
    low: float
    high: float
    kind: str


def fieller_interval(
    numerator: float, denominator: float, covariance: Matrix, level: float
) -> RatioInterval:
    """Values a of the ratio with (n - a d)^2 <= z^2 var(n - a d).

    `covariance` is that of (numerator, denominator). Right also where the denominator is not well
    away from 0, where the delta method is not.
    """
    check_level(level)
    if not (np.isfinite(covariance).all() and np.isfinite([numerator, denominator]).all()):
        return RatioInterval(np.nan, np.nan, np.nan, "unknown")
    z2 = float(normal_isf((1 - level) / 2)) ** 2
    (v_n, v_nd), (_, v_d) = covariance
    a = denominator**2 - z2 * v_d
    b = numerator * denominator - z2 * v_nd
    c = numerator**2 - z2 * v_n
    inside = b * b - a * c
    ratio = numerator / denominator if denominator else np.nan
    if a > 0:  # else the denominator may be 0, and the interval is no bounded one
        half = np.sqrt(max(inside, 0.0))
        return RatioInterval(ratio, float((b - half) / a), float((b + half) / a), "bounded")
    if inside <= 0 or a == 0:
        return RatioInterval(ratio, -np.inf, np.inf, "unbounded")
    half = np.sqrt(inside)
    return RatioInterval(ratio, float((b + half) / a), float((b - half) / a), "excluded")


@dataclass(frozen=True)
class TestResult(JsonDocument):
    """A chi-square test.

    Attributes
    ----------
    kind
        "wald", "likelihood ratio" or "score".
    """

    __test__ = False  # pytest would take the class for tests, by its name

    kind: str
    statistic: float
    degrees_of_freedom: int
    p_value: float

    def __str__(self) -> str:
        return (
            f"{self.kind} test: chi-square({self.degrees_of_freedom}) = {self.statistic:.4g}, "
            f"p = {self.p_value:.3g}"
        )


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """R theta = r."""

    matrix: Matrix
    values: Vector

    @classmethod
    def parse_hypothesis(cls, hypothesis: Any, names: Sequence[str]) -> Hypothesis:
        """Hypothesis from names (all 0), {name: value}, a matrix R (r = 0), or a pair (R, r)."""
        if isinstance(hypothesis, str):
            hypothesis = [hypothesis]
        if hasattr(hypothesis, "__len__") and len(hypothesis) == 0:
            raise DataError(
                "hypothesis", "must name at least one parameter", got="none", fix="Name one."
            )
        if isinstance(hypothesis, Mapping):
            return cls._of_names(dict(hypothesis), names)
        if isinstance(hypothesis, (list, tuple)) and all(isinstance(h, str) for h in hypothesis):
            return cls._of_names(dict.fromkeys(hypothesis, 0.0), names)
        if isinstance(hypothesis, tuple) and len(hypothesis) == 2:
            return cls._of_matrix(*hypothesis, len(names))
        return cls._of_matrix(hypothesis, None, len(names))

    @classmethod
    def _of_names(cls, values: dict[str, float], names: Sequence[str]) -> Hypothesis:
        matrix = np.zeros((len(values), len(names)))
        for i, name in enumerate(values):
            if name not in names:
                raise unknown_name_error("hypothesis", name, names)
            matrix[i, list(names).index(name)] = 1.0
        return cls(matrix, np.array(list(values.values()), dtype=np.float64))

    @classmethod
    def _of_matrix(cls, matrix: Any, values: Any, n_parameters: int) -> Hypothesis:
        rows = np.atleast_2d(np.asarray(matrix, dtype=np.float64))
        right = np.zeros(len(rows)) if values is None else np.atleast_1d(values).astype(np.float64)
        if rows.shape[1] != n_parameters or right.shape != (len(rows),):
            raise DataError(
                "hypothesis",
                f"must have {n_parameters} columns and one value per row",
                got=f"shapes {rows.shape} and {right.shape}",
                fix="Match the parameters.",
            )
        if np.linalg.matrix_rank(rows) < len(rows):
            raise DataError(
                "hypothesis", "must have independent rows", got="dependent ones", fix="Drop one."
            )
        return cls(rows, right)

    def theta_satisfying_hypothesis(self) -> Vector:
        """Point theta that satisfies it: that of least norm."""
        return np.asarray(np.linalg.lstsq(self.matrix, self.values, rcond=None)[0])


def _chi_square_result(kind: str, statistic: float, df: int) -> TestResult:
    p = float(chi_square_sf(statistic, df)) if df else 1.0
    return TestResult(kind, statistic if df else 0.0, df, p)


def wald_test(theta: Vector, covariance: Matrix, hypothesis: Hypothesis) -> TestResult:
    """Distance of R theta from r in the metric of its covariance."""
    involved = (hypothesis.matrix != 0).any(axis=0)
    rows = hypothesis.matrix[:, involved]
    gap = rows @ theta[involved] - hypothesis.values
    spread = rows @ covariance[np.ix_(involved, involved)] @ rows.T
    if not (np.isfinite(spread).all() and np.isfinite(gap).all()):
        raise DataError(
            "hypothesis",
            "must concern parameters with a standard error",
            got="one without",
            fix="Use the likelihood-ratio test.",
        )
    statistic = float(gap @ np.linalg.solve(spread, gap))
    return _chi_square_result("wald", statistic, len(hypothesis.values))


def identified_null_space_basis(rows: Matrix, unidentified: Matrix, scale: Vector) -> Matrix:
    """Basis of the plane rows @ v = 0, less directions in it that change nothing."""
    plane = null_basis(rows, len(scale), scale)
    if not len(unidentified) or not plane.shape[1]:
        return plane
    unit = np.where(scale > 0, scale, 1.0)
    null, _ = np.linalg.qr((unidentified * unit).T)
    inside = plane * unit[:, None]
    _, singular, right = np.linalg.svd(inside - null @ (null.T @ inside))
    # directions have length 1: parts smaller than this are rounding of the null directions
    rank = int((singular > 1e-9).sum())
    return np.ascontiguousarray(plane @ right[:rank].T)


class _HypothesisMaximum(NamedTuple):
    """Maximum under a hypothesis that takes away df identified directions: theta, and the value."""

    theta: Vector
    value: float
    df: int


def _maximum_under_hypothesis(
    likelihood: Likelihood, hypothesis: Hypothesis, unidentified: Matrix, scale: Vector
) -> _HypothesisMaximum:
    origin = hypothesis.theta_satisfying_hypothesis()
    d = likelihood.n_parameters
    basis = identified_null_space_basis(hypothesis.matrix, unidentified, scale)
    df = d - len(unidentified) - basis.shape[1]
    if not basis.shape[1]:
        return _HypothesisMaximum(origin, likelihood.moments(origin).log_likelihood, df)
    inner = maximise(RestrictedLikelihood(likelihood, origin, basis), ignore_slow_steps=True)
    return _HypothesisMaximum(origin + basis @ inner.theta, inner.value, df)


def likelihood_ratio_test(
    log_likelihood: float,
    choices: Choices,
    hypothesis: Hypothesis,
    unidentified: Matrix,
    scale: Vector,
) -> TestResult:
    """Twice the log-likelihood that the hypothesis costs."""
    work, unit = rescale_case_weights(choices)
    found = _maximum_under_hypothesis(likelihood_of(work), hypothesis, unidentified, scale)
    return _chi_square_result(
        "likelihood ratio", 2 * (log_likelihood / unit - found.value) * unit, found.df
    )


def score_test(
    choices: Choices, hypothesis: Hypothesis, unidentified: Matrix, scale: Vector
) -> TestResult:
    """Length of the gradient at the restricted estimate: needs no unrestricted one."""
    work, unit = rescale_case_weights(choices)
    likelihood = likelihood_of(work)
    found = _maximum_under_hypothesis(likelihood, hypothesis, unidentified, scale)
    moments = likelihood.moments(found.theta)
    plane = identified_null_space_basis(np.empty((0, len(found.theta))), unidentified, scale)
    slope = plane.T @ moments.gradient
    statistic = float(slope @ np.linalg.solve(plane.T @ moments.information @ plane, slope))
    return _chi_square_result("score", statistic * unit, found.df)
