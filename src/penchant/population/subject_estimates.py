"""Estimates of subjects as arrays, with their status, and labels or scores of the subjects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeGuard

import numpy as np

from penchant._typing import BoolVector, Label, Matrix, Vector
from penchant.argument_checks import check_one_of
from penchant.errors import DataError, closest_match_hint, format_list, format_names
from penchant.models.model import Model, natural_parameters
from penchant.models.offers.attributes import Attributes
from penchant.result_tables import format_count
from penchant.softmax.estimate import Estimate
from penchant.softmax.estimate_collection import Estimates
from penchant.tables.frames import column_labels, open_frame
from penchant.tables.lexicon import role_column

Scale = Literal["theta", "natural"]
GroupScale = Literal["log", "natural", "theta"]
UNUSABLE_STATUSES = ("separated", "not identified", "stopped early", "at a bound")


@dataclass(frozen=True)
class ExcludedSubject:
    """A subject that no average can use, and why."""

    subject: Label
    why: str

    def __str__(self) -> str:
        return f"{self.subject} ({self.why})"


@dataclass(frozen=True, eq=False, repr=False)
class SubjectEstimates:
    """Estimates of all subjects as arrays.

    Attributes
    ----------
    names, subjects
        Parameters and subjects, as labels.
    estimates
        (n_subjects, n_parameters).
    covariances
        (n_subjects, n_parameters, n_parameters), or None where only the estimates are known.
    status
        Of each fit; "converged" where the numbers are given without one.
    scale
        "theta" or "natural".
    """

    names: tuple[str, ...]
    subjects: tuple[Label, ...]
    estimates: Matrix
    covariances: Matrix | None
    status: tuple[str, ...]
    scale: Scale = "theta"

    def __len__(self) -> int:
        return len(self.subjects)

    def left_out(self) -> tuple[ExcludedSubject, ...]:
        """Subjects without a finite estimate, a finite covariance, or a maximum at all."""
        whys = (self._exclusion_reason(i) for i in range(len(self)))
        return tuple(
            ExcludedSubject(subject, why)
            for subject, why in zip(self.subjects, whys, strict=True)
            if why is not None
        )

    def _exclusion_reason(self, i: int) -> str | None:
        if self.status[i] in UNUSABLE_STATUSES:
            return self.status[i]
        lost = [n for n, v in zip(self.names, self.estimates[i], strict=True) if not np.isfinite(v)]
        if lost:
            return f"no finite {', '.join(lost)}"
        if self.covariances is None:
            return None
        covariance = self.covariances[i]
        if not np.isfinite(covariance).all():
            return "no finite covariance"
        return None if _is_positive_definite(covariance) else "covariance not positive definite"

    def usable(self) -> SubjectEstimates:
        """Subset of subjects whose estimates can be averaged."""
        lost = {left.subject for left in self.left_out()}
        return self.subset([i for i, subject in enumerate(self.subjects) if subject not in lost])

    def subset(self, indices: Sequence[int]) -> SubjectEstimates:
        """The subjects at these places."""
        kept = list(indices)
        return SubjectEstimates(
            self.names,
            tuple(self.subjects[i] for i in kept),
            self.estimates[kept],
            None if self.covariances is None else self.covariances[kept],
            tuple(self.status[i] for i in kept),
            self.scale,
        )

    def __repr__(self) -> str:
        return f"<SubjectEstimates of {len(self)} subjects: {', '.join(self.names)}>"


def subject_estimates(
    estimates: Any,
    covariances: Any = None,
    *,
    scale: Scale = "theta",
    names: Sequence[str] | None = None,
    subjects: Sequence[Label] | None = None,
) -> SubjectEstimates:
    """Estimates of subjects as arrays, from fits or from numbers.

    Parameters
    ----------
    estimates
        What `fit_each` returns; a list of estimates, exact, linearised or of choices; or numbers
        (n_subjects, n_parameters).
    covariances
        With numbers: (n_subjects, n_parameters, n_parameters), if known.
    scale
        "theta": the parameters that were fitted; "natural": the model's natural ones, with
        delta-method covariances.
    names, subjects
        Labels for numbers, or in place of those that the fits have.
    """
    check_one_of(scale, "scale", ("theta", "natural"))
    if isinstance(estimates, SubjectEstimates):
        return estimates
    whole = names is subjects is covariances is None and scale == "theta"
    if isinstance(estimates, Estimates) and whole:
        return SubjectEstimates(
            estimates.names,
            estimates.subjects,
            estimates.theta,
            estimates.covariance,
            estimates.status,
        )
    fits = _as_list_of_fits(estimates)
    if fits is None:
        return _subject_estimates_from_arrays(estimates, covariances, names, subjects)
    if covariances is not None:
        raise DataError(
            "covariances", "must be left out with fits", got="some", fix="They have their own."
        )
    made = [names_values_and_covariance(fit, scale) for fit in fits]
    kinds = {found[0] for found in made}
    if len(kinds) > 1:
        raise DataError(
            "estimates",
            "must have the same parameters",
            got=format_list(map(str, sorted(kinds))),
            fix="Pool one model at a time.",
        )
    labels = _labels_of_fits(estimates, fits) if subjects is None else tuple(subjects)
    status = tuple(str(fit.status) for fit in fits)
    own = tuple(names) if names is not None else made[0][0]
    values = np.array([found[1] for found in made])
    spread = np.array([found[2] for found in made])
    _check_labels(labels, own, values)
    return SubjectEstimates(own, labels, values, spread, status, scale)


def positive_parameter_mask(model: Model) -> BoolVector:
    """Mask of the model's natural parameters that are positive by nature."""
    return np.array([n.is_positive for n in natural_parameters(model)])


def proportion_parameter_mask(model: Model) -> BoolVector:
    """Mask of the model's natural parameters between 0 and 1: learning rates, shares."""
    return np.array([_is_between_0_and_1(n, model.shape) for n in natural_parameters(model)])


def _is_between_0_and_1(natural: Any, shape: Any) -> bool:
    low, high = natural.ends
    return bool(not natural.is_positive and 0 <= low < 0.01 and 0.99 < high <= 1)


def transform_to_logs(
    values: Vector, covariance: Matrix, logs: BoolVector
) -> tuple[Vector, Matrix]:
    """Estimates with the logarithms of some: d log x = dx / x divides their covariances."""
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(logs, 1.0 / values, 1.0)
        logged = np.where(logs, np.log(np.where(logs, values, 1.0)), values)
    return logged, covariance * np.outer(slope, slope)


def with_log_parameters(estimates: Any) -> tuple[SubjectEstimates, tuple[str, ...]]:
    """Natural parameters of subjects, positive ones by their logarithm; and which these are.

    Numbers stay as they are: what they measure is not known.
    """
    found = subject_estimates(estimates, scale="natural")
    fits = _as_list_of_fits(estimates)
    model = None if fits is None else fits[0].model
    if model is None or not isinstance(model, Model):
        return found, ()
    logs = positive_parameter_mask(model)
    assert found.covariances is not None
    pairs = zip(found.estimates, found.covariances, strict=True)
    made = [transform_to_logs(values, spread, logs) for values, spread in pairs]
    named = tuple(name for name, log in zip(found.names, logs, strict=True) if log)
    values, covariances = map(np.array, zip(*made, strict=True))
    return replace(found, estimates=values, covariances=covariances), named


def _as_list_of_fits(estimates: Any) -> list[Any] | None:
    """The fits, or None for numbers."""
    if not isinstance(estimates, (Estimates, list, tuple)):
        return None
    found = list(estimates)
    return found if found and all(isinstance(fit, Estimate) for fit in found) else None


def _labels_of_fits(estimates: Any, fits: Sequence[Any]) -> tuple[Any, ...]:
    if isinstance(estimates, Estimates):
        return tuple(estimates.subjects)
    known = [fit.subject for fit in fits]
    return tuple(range(len(fits))) if all(k is None for k in known) else tuple(known)


def names_values_and_covariance(
    fit: Estimate, scale: Scale
) -> tuple[tuple[str, ...], Vector, Matrix]:
    """Names, values and covariance of one fit on this scale."""
    if scale == "theta":
        return tuple(fit.names), fit.theta, fit.covariance
    return fit.source.natural(fit)


def _subject_estimates_from_arrays(
    estimates: Any,
    covariances: Any,
    names: Sequence[str] | None,
    subjects: Sequence[Label] | None,
) -> SubjectEstimates:
    values = _as_matrix(estimates, "estimates")
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or not values.shape[1]:
        raise DataError(
            "estimates",
            "must be (n_subjects, n_parameters)",
            got=f"shape {values.shape}",
            fix="One row per subject.",
        )
    n, d = values.shape
    own = tuple(f"theta{a + 1}" for a in range(d)) if names is None else tuple(names)
    labels = tuple(range(n)) if subjects is None else tuple(subjects)
    _check_labels(labels, own, values)
    spread = None if covariances is None else _as_covariance_matrices(covariances, n, d)
    return SubjectEstimates(own, labels, values, spread, ("converged",) * n)


def _as_matrix(values: Any, name: str) -> Matrix:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            name,
            "must be fits or numbers",
            got=type(values).__name__,
            fix="Pass what fit_each returns, or an array with one row per subject.",
        ) from error


def _as_covariance_matrices(values: Any, n: int, d: int) -> Matrix:
    spread = _as_matrix(values, "covariances")
    if d == 1 and spread.shape == (n,):
        spread = spread[:, None, None]
    if spread.shape != (n, d, d):
        raise DataError(
            "covariances",
            f"must have shape {(n, d, d)}",
            got=spread.shape,
            fix="One matrix per subject.",
        )
    size = np.sqrt(np.abs(spread.diagonal(0, 1, 2)))
    gap = np.abs(spread - spread.transpose(0, 2, 1))
    skewed = np.flatnonzero((gap > 1e-8 * size[:, :, None] * size[:, None, :]).any(axis=(1, 2)))
    if len(skewed):
        raise DataError(
            "covariances",
            "must be symmetric",
            got=f"one that is not at row {skewed[0]}",
            fix="Correct it.",
        )
    return spread


def _check_labels(labels: tuple[Label, ...], names: tuple[str, ...], values: Matrix) -> None:
    if len(labels) != len(values) or len(names) != values.shape[1]:
        raise DataError(
            "subjects and names",
            f"must match the estimates {values.shape}",
            got=f"{len(labels)} subjects and {len(names)} names",
            fix="Match them.",
        )
    twice = [str(s) for i, s in enumerate(labels) if s in labels[:i]]
    if twice:
        raise DataError(
            "subjects",
            "must be there once each",
            got=f"{format_list(twice)} again",
            fix="Fit all episodes of a subject together.",
        )


def _is_positive_definite(covariance: Matrix) -> bool:
    """Whether it can be inverted, whatever the units."""
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))  # no NaN warning before they are refused
    if not (errors > 0).all():
        return False
    return bool(np.linalg.eigvalsh(covariance / np.outer(errors, errors)).min() > 1e-14)


ByKind = Literal["groups", "scores"]
MAX_GROUP_CODES = 10  # different whole numbers: more than that are rather a score, such as age


def group_labels_of_subjects(estimates: Any, by: Any, people: Any) -> list[Any]:
    """Label of each subject, in the order of the estimates."""
    subjects = _subject_labels(estimates)
    known = _values_by_subject(estimates, by, people, subjects)
    as_words = {str(subject): label for subject, label in known.items()}
    found = [known.get(subject, as_words.get(str(subject))) for subject in subjects]
    lost = [
        str(s) for s, label in zip(subjects, found, strict=True) if label is None or label != label
    ]
    if lost:
        raise DataError(
            "by",
            "must say something of every subject",
            got=f"nothing of {format_names(lost)}",
            fix="Add them, or leave them out of the estimates.",
        )
    return found


def _subject_labels(estimates: Any) -> tuple[Any, ...]:
    if isinstance(estimates, Estimates):
        return estimates.subjects
    if isinstance(estimates, Sequence) and all(hasattr(one, "subject") for one in estimates):
        return tuple(one.subject for one in estimates)
    raise DataError(
        "groups",
        "must be estimates of subjects where `by` is given",
        got=type(estimates).__name__,
        fix="Pass what fit_each returns.",
    )


def _values_by_subject(
    estimates: Any, by: Any, people: Any, subjects: Sequence[Label]
) -> Mapping[Any, Any]:
    """{subject: label}."""
    if isinstance(by, Mapping):
        return by
    if isinstance(by, str) and people is None:
        own = getattr(estimates, "people", None)
        if own is None:
            raise DataError(
                "people",
                "must be given where `by` names a column",
                got=f"none, and by={by!r}",
                fix="Pass a table with a column of subjects, or fit what pn.read returns.",
            )
        found: Mapping[Any, Any] = own(by)
        return found
    if isinstance(by, str):
        return _values_of_column(people, by)
    if hasattr(by, "columns") or hasattr(by, "column_names"):
        return _values_of_column(by, None)
    index: Any = getattr(by, "index", None)
    if hasattr(index, "isin") and all(subject in index for subject in subjects):
        return {subject: by[subject] for subject in subjects}  # a Series may be in another order
    by = list(by) if hasattr(by, "dtype") or hasattr(by, "to_pylist") else by
    if not isinstance(by, Sequence) or len(by) != len(subjects):
        got = f"{len(by)} labels" if hasattr(by, "__len__") else type(by).__name__
        raise DataError(
            "by",
            f"must be a column, {{subject: label}}, a table, or {len(subjects)} labels",
            got=got,
            fix="Correct it.",
        )
    return dict(zip(subjects, by, strict=True))


def _values_of_column(table: Any, name: str | None) -> dict[Any, Any]:
    """A column of a table of people, by subject."""
    frame = open_frame(table)
    who = role_column("subject", frame.columns)
    if who is None:
        raise DataError(
            "people",
            "must have a column of subjects",
            got=f"columns {format_names(frame.columns)}",
            fix="Call it subject.",
        )
    others = [column for column in frame.columns if column != who]
    if name is None and len(others) != 1:
        raise DataError(
            "by",
            "must name a column where a table has several",
            got=format_names(others),
            fix=f"Write by={others[0] if others else 'group'!r}, people=table.",
        )
    wanted = others[0] if name is None else name
    if wanted not in frame.columns:
        raise DataError(
            "by",
            "must be a column of people",
            got=f"{wanted!r}, but they are {format_names(frame.columns)}",
            fix=closest_match_hint(wanted, frame.columns) or "Correct it.",
        )
    people, labels = (column_labels(frame, column, column) for column in (who, wanted))
    found: dict[Any, Any] = {}
    for row in range(len(frame)):
        whose, label = people.at(row), labels.at(row)
        if found.setdefault(whose, label) != label:
            raise DataError(
                "by",
                "must be the same in all rows of a subject",
                got=f"{found[whose]!r} and {label!r} in {wanted} for {whose!r}",
                fix="Name one that does not vary within subjects.",
            )
    return found


def is_score(labels: Sequence[Label], kind: ByKind | None) -> TypeGuard[Sequence[float]]:
    """Whether labels are numbers to regress on; asked where they may be codes of groups."""
    check_one_of(kind, "kind", (None, "groups", "scores"))
    numbers = all(
        isinstance(label, (int, float, np.number)) and not isinstance(label, bool)
        for label in labels
    )
    if kind == "scores" and not numbers:
        odd = next(label for label in labels if not isinstance(label, (int, float, np.number)))
        raise DataError(
            "by", "must hold numbers, as scores", got=repr(odd), fix="Leave out kind='scores'."
        )
    if kind is not None or not numbers:
        return kind == "scores"
    different = set(np.asarray(labels, dtype=np.float64).tolist())
    if len(different) <= 2:
        return False
    whole = all(number == int(number) for number in different)
    if whole and len(different) <= MAX_GROUP_CODES and len(different) < len(labels):
        raise DataError(
            "kind",
            (
                f"must be given, as by holds {len(different)} whole numbers, which can be read in "
                "two ways: codes of groups, or scores"
            ),
            fix="Pass kind='groups' or kind='scores'.",
        )
    return True


def price_sensitivity_warning(
    fits: Iterable[tuple[Any, Estimate]], model: Model | None = None
) -> str:
    """A sentence on people whose sensitivity to the price may be 0; nothing where nobody's may.

    What they would pay is a ratio with that sensitivity below: it may be anything, and one of them
    can move the mean of all.

    Parameters
    ----------
    fits
        Subjects and their estimates, of attributes with a price.
    model
        Of all of them, where estimates that were read back do not know it.
    """
    lost, n, price = [], 0, ""
    for subject, fit in fits:
        own_model = fit.model if model is None else model
        if not isinstance(own_model, Attributes) or own_model.price is None:
            continue
        n, price = n + 1, own_model.price
        own = next(p for p in fit.parameters if p.name == f"{price}_sensitivity")
        if not (own.low > 0 or own.high < 0):
            lost.append(str(subject))
    if not lost:
        return ""
    return (
        f"The sensitivity to {price} of {format_count(len(lost), 'subject')} of {n} may be 0 "
        f"({format_list(lost)}): their willingness to pay may be anything, and drags means of "
        "worth. Ranks, a prior or the population are steadier."
    )
