"""Estimates of many subjects: a sequence that is read by position or by label.

It holds the numbers of all subjects as arrays, and makes the `Estimate` of one when asked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from penchant._typing import Label, Matrix, Vector
from penchant.argument_checks import check_level
from penchant.errors import DataError, MarkedText, closest_match_hint
from penchant.json_records import document_head, record_from_document
from penchant.result_tables import (
    Backend,
    Columns,
    FrameExport,
    Table,
    format_number,
    make_frame,
)
from penchant.softmax.calibrated_intervals import N_DRAWN
from penchant.softmax.data_behind_estimate import IntervalKind, Rng
from penchant.softmax.estimate import INTERVAL_WORDS, Estimate
from penchant.softmax.estimate_diagnostics import LINEARISATION_ADVICE, describe_nominal_point
from penchant.softmax.intervals_and_tests import ParameterEstimate, wald_interval

MAX_NOTEBOOK_ROWS = 20  # a longer table would push the rest of the notebook off the screen


def check_estimates(estimates: Any) -> None:
    """Say what to pass where data or a model stand for what `fit` returned."""
    several = isinstance(estimates, (list, tuple)) and all(
        isinstance(e, Estimate) for e in estimates
    )
    if not isinstance(estimates, (Estimate, Estimates)) and not (several and estimates):
        raise DataError(
            "estimates",
            "must be what fit or fit_each returns",
            got=type(estimates).__name__,
            fix="Fit first.",
        )


@dataclass(frozen=True)
class EstimatesDocument:
    """Estimates as they are stored."""

    estimates: tuple[Estimate, ...]
    without_decisions: tuple[Label, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Estimates(Sequence[Estimate], FrameExport):
    """Estimates of subjects, one each, of choices or of a model, exact or linearised.

    `estimates[0]` is the first, `estimates["s01"]` and `estimates.of("s01")` that of a subject. A
    whole number is always a position: where labels are whole numbers themselves, use `of`.

    Attributes
    ----------
    subjects
        Labels.
    without_decisions
        Subjects left out, as no decision of theirs is scored.
    people
        What a column of the table that was read says of each subject.
    names, theta, covariance, log_likelihood, status, n_decisions, iterations, condition, messages
        Of all subjects, one row or entry each.
    """

    subjects: tuple[Label, ...]
    names: tuple[str, ...]
    theta: Matrix
    covariance: Matrix
    log_likelihood: Vector
    status: tuple[str, ...]
    n_decisions: tuple[int, ...]
    iterations: tuple[int, ...]
    condition: Vector
    messages: tuple[str, ...]
    estimate: Callable[[int], Estimate]
    without_decisions: tuple[Any, ...] = ()
    people: Callable[[str], Mapping[Any, Any]] | None = None

    def __post_init__(self) -> None:
        """Word the sentences for Python; other front ends find what they name marked in them."""
        # Thousands of subjects share a few sentences: each is worded once.
        worded = {message: MarkedText(message) for message in set(self.messages)}
        object.__setattr__(self, "messages", tuple(map(worded.__getitem__, self.messages)))

    @classmethod
    def from_single_estimates(
        cls,
        subjects: Sequence[Label],
        estimates: Sequence[Estimate],
        without_decisions: Sequence[Any] = (),
    ) -> Estimates:
        """Estimates that were made one by one."""
        return cls(
            subjects=tuple(subjects),
            names=estimates[0].names if estimates else (),
            theta=np.array([e.theta for e in estimates]),
            covariance=np.array([e.covariance for e in estimates]),
            log_likelihood=np.array([e.log_likelihood for e in estimates]),
            status=tuple(e.status for e in estimates),
            n_decisions=tuple(e.n_decisions for e in estimates),
            iterations=tuple(e.diagnostics.iterations for e in estimates),
            condition=np.array([e.diagnostics.condition for e in estimates]),
            messages=tuple(e.message for e in estimates),
            estimate=tuple(estimates).__getitem__,
            without_decisions=tuple(without_decisions),
        )

    def __len__(self) -> int:
        return len(self.subjects)

    def __iter__(self) -> Iterator[Estimate]:
        return (self.estimate(i) for i in range(len(self)))

    @overload
    def __getitem__(self, index: int | str) -> Estimate: ...
    @overload
    def __getitem__(self, index: slice) -> Estimates: ...
    def __getitem__(self, index: int | str | slice) -> Estimate | Estimates:
        if isinstance(index, slice):
            kept = range(len(self))[index]
            made = [self.estimate(i) for i in kept]
            return Estimates.from_single_estimates([self.subjects[i] for i in kept], made)
        if isinstance(index, (int, np.integer)):
            # labels are often numbers: whoever gives one as a position is told of `of`
            if not -len(self) <= index < len(self):
                raise IndexError(self._position_message(index))
            return self.estimate(range(len(self))[index])
        return self.of(index)

    def _position_message(self, index: int) -> str:
        """Message for a whole number that is no position."""
        said = f"index must be a position from 0 to {len(self) - 1}; got {index}."
        known = index in self.subjects or str(index) in map(str, self.subjects)
        return f"{said}\nIt is the label of a subject: use of({index})." if known else said

    def of(self, subject: Label) -> Estimate:
        """The estimate of one subject, by label; also by how one label alone is written."""
        if subject not in self.subjects:
            known = [str(s) for s in self.subjects]
            # labels read from files are text: accept "7" for 7 unless ambiguous
            if known.count(str(subject)) == 1:
                return self.estimate(known.index(str(subject)))
            raise DataError(
                "subject",
                f"must be one of the {len(self)} fitted",
                got=repr(subject),
                fix=closest_match_hint(str(subject), known) or "See `estimates.subjects`.",
            )
        return self.estimate(self.subjects.index(subject))

    @property
    def standard_errors(self) -> Matrix:
        """Standard errors, one row per subject."""
        return np.sqrt(self.covariance.diagonal(0, 1, 2))

    @property
    def n_valid(self) -> int:
        """Number of linearised estimates inside their range of validity."""
        return sum(e.validity is not None and e.validity.valid for e in self)

    def counts(self) -> dict[str, int]:
        """Number of subjects with each status."""
        return {status: self.status.count(status) for status in sorted(set(self.status))}

    def parameters_at(
        self, level: float = 0.95, kind: IntervalKind = "wald", rng: Rng = None
    ) -> list[tuple[ParameterEstimate, ...]]:
        """Natural parameters of each subject, with intervals at this level.

        "calibrated" ones need an rng; those of a subject do not depend on who else is fitted.
        """
        check_level(level)
        every = list(self)
        if not every:
            return []
        found = every[0].source.parameters(every, level, kind, rng)
        return [one.meaningful(mine) for one, mine in zip(every, found, strict=True)]

    @property
    def _natural_is_theta(self) -> bool:
        """Whether it is theta that is read, not natural parameters."""
        first = self[0] if len(self) else None
        return first is None or (first.source.space == "theta" and first.validity is None)

    def _columns_by_parameter(
        self, level: float, kind: IntervalKind, rng: Rng
    ) -> dict[str, tuple[Sequence[float], ...]]:
        """Estimates, standard errors and ends of intervals, by name of the parameter."""
        check_level(level)
        if not self._natural_is_theta:
            found = self.parameters_at(level, kind, rng)
            words = ("estimate", "standard_error", "low", "high")
            return {
                found[0][j].name: tuple([getattr(p[j], word) for p in found] for word in words)
                for j in range(len(found[0]))
            }
        errors, names = self.standard_errors, self.names
        if kind == "wald":
            pairs = zip(self.theta.T, errors.T, strict=True)
            every = [wald_interval(theta, error, level) for theta, error in pairs]
        else:
            made = list(self)
            ends = made[0].source.intervals(made, names, "theta", level, kind, rng, N_DRAWN)
            every = [ends[:, a] for a in range(len(names))]
        return {
            name: tuple(c.tolist() for c in (self.theta[:, a], errors[:, a], *every[a].T))
            for a, name in enumerate(names)
        }

    def to_frame(
        self,
        level: float = 0.95,
        backend: Backend = "pandas",
        kind: IntervalKind = "wald",
        rng: Rng = None,
    ) -> Any:
        """Table with a row per subject: status, parameters, errors, intervals, diagnostics."""
        return make_frame(self.frame_columns(level, kind, rng), backend)

    def frame_columns(
        self, level: float = 0.95, kind: IntervalKind = "wald", rng: Rng = None
    ) -> Columns:
        """Columns of the data frame."""
        columns: dict[str, Sequence[Any]] = {
            "subject": list(self.subjects),
            "status": list(self.status),
            "n_decisions": list(self.n_decisions),
            "log_likelihood": self.log_likelihood.tolist(),
        }
        validity = [e.validity for e in self] if len(self) and not self._natural_is_theta else []
        linear = [v for v in validity if v is not None]
        if linear:
            columns["exact_log_likelihood"] = [v.exact_log_likelihood for v in linear]
            columns["ratio"] = [v.ratio for v in linear]
            columns["ratio_low"] = [v.bounds[0] for v in linear]
            columns["ratio_high"] = [v.bounds[1] for v in linear]
        for name, (values, errors, low, high) in self._columns_by_parameter(
            level, kind, rng
        ).items():
            columns[name] = values
            columns[f"{name}_standard_error"] = errors
            columns[f"{name}_low"], columns[f"{name}_high"] = low, high
        if self._natural_is_theta:
            columns["iterations"] = list(self.iterations)
            columns["condition"] = self.condition.tolist()
        elif not linear:
            columns["intervals"] = [kind] * len(self)
        if not linear:
            columns["message"] = list(self.messages)
        return columns

    def table(
        self,
        level: float = 0.95,
        kind: IntervalKind = "wald",
        rng: Rng = None,
        *,
        max_rows_shown: int | None = None,
        errors: bool = False,
    ) -> Table:
        """Table with a row per subject: status, log-likelihood, parameters and their errors.

        Parameters
        ----------
        level, kind, rng
            Of the intervals.
        max_rows_shown
            How many subjects are shown; all if not given.
        errors
            Standard errors instead of intervals.
        """
        shown = (
            self if max_rows_shown is None or max_rows_shown >= len(self) else self[:max_rows_shown]
        )
        found = shown._columns_by_parameter(level, "wald" if errors else kind, rng)
        header = ["subject", "status", "n", "log-lik."]
        for name in found:
            header += [name, "(s.e.)" if errors else f"({100 * level:g} %)"]
        linear = [v for v in (e.validity for e in shown) if v is not None] if found else []
        header += ["Delta/nominal"] if linear else []
        rows = []
        for i, subject in enumerate(shown.subjects):
            row = [str(subject), self.status[i], str(self.n_decisions[i])]
            row.append(f"{self.log_likelihood[i]:.2f}")
            for values, error, low, high in found.values():
                ends = f"{format_number(low[i], 3)} to {format_number(high[i], 3)}"
                row += [format_number(values[i], 4), format_number(error[i], 3) if errors else ends]
            row += [format_number(linear[i].ratio, 4)] if linear else []
            rows.append(tuple(row))
        facts = tuple((status, str(count)) for status, count in self.counts().items())
        made = INTERVAL_WORDS[kind] if self._natural_is_theta else self[0].interval_words(kind)
        words = () if errors else (f"Intervals: {made}.",)
        notes = (*self._unconverged_notes(len(shown)), *self._model_notes(bool(linear)), *words)
        return Table(self._caption(), facts, tuple(header), tuple(rows), notes)

    def _caption(self) -> str:
        who = f"of {len(self)} subjects"
        if self._natural_is_theta:
            return f"Softmax choices {who}"
        first = self[0]
        if first.validity is not None:
            return f"Linearised about {describe_nominal_point(first.validity.nominal)}, {who[3:]}"
        if first.prior is not None:
            return f"MAP, {first.prior} prior, {who}"
        return f"Exact maximum likelihood {who}"

    def _unconverged_notes(self, most: int) -> list[str]:
        """Notes on rows that are not shown, and an example of every status but converged."""
        notes = []
        if len(self) > most:
            notes.append(f"{most} of {len(self)} subjects shown; the data frame has all.")
        for status in sorted(set(self.status) - {"converged"}):
            i = self.status.index(status)
            notes.append(f"For example {self.subjects[i]}: {self.messages[i]}")
        return notes

    def _model_notes(self, linear: bool) -> list[str]:
        """The model, and how far linearised estimates can be trusted."""
        if self._natural_is_theta:
            return []
        source = self[0].source
        said = [
            f"Model: {source.model_words}.",
            *source.doubtful_setting_notes(e.source for e in self),
        ]
        return [self.validity_words(), *said] if linear else said

    def validity_words(self) -> str:
        """Sentence on how far linearised estimates can be trusted."""
        every = [v for v in (e.validity for e in self) if v is not None]
        far = len(self) - self.n_valid
        bounds = f"bounds {every[0].bounds[0]:.4g} and {min(v.bounds[1] for v in every):.4g}"
        if not far:
            return f"Delta / nominal is small for every subject ({bounds})."
        return (
            f"Delta / nominal is not small, or the parameters lie outside the model, for {far} of "
            f"{len(self)} subjects ({bounds}): their shape parameters mean nothing. "
            f"{LINEARISATION_ADVICE}."
        )

    def summary(self, level: float = 0.95, kind: IntervalKind = "wald", rng: Rng = None) -> str:
        """Text of the table of all subjects."""
        return self.table(level, kind, rng).text()

    def to_latex(self, level: float = 0.95, kind: IntervalKind = "wald", rng: Rng = None) -> str:
        """The table for a paper (booktabs)."""
        return self.table(level, kind, rng).latex()

    def __str__(self) -> str:
        return self.summary(*self._default_interval)

    def _repr_html_(self) -> str:
        return self.table(*self._default_interval, max_rows_shown=MAX_NOTEBOOK_ROWS).html()

    @property
    def _default_interval(self) -> tuple[float, IntervalKind]:
        return self[0].source.default_interval if len(self) else (0.95, "wald")

    def __repr__(self) -> str:
        said = ", ".join(f"{count} {status}" for status, count in self.counts().items())
        linear = len(self) > 0 and self[0].validity is not None
        valid = f"; {self.n_valid} inside the range of validity" if linear else ""
        left = len(self.without_decisions)
        more = f"; {left} without decisions" if left else ""
        return f"<Estimates of {len(self)} subjects: {said}{valid}{more}>"

    def to_dict(
        self, level: float = 0.95, kind: IntervalKind = "wald", rng: Rng = None
    ) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON; `from_dict` reads it back."""
        return {
            **document_head(Estimates),
            "estimates": [e.to_dict(level, kind, rng) for e in self],
            "without_decisions": list(self.without_decisions),
        }

    @classmethod
    def from_dict(cls, content: Any) -> Estimates:
        """Read what `to_dict` wrote."""
        kept = record_from_document(cls, content, EstimatesDocument)
        return cls.from_single_estimates(
            [e.subject for e in kept.estimates], kept.estimates, kept.without_decisions
        )

    def __getstate__(self) -> dict[str, Any]:
        every = [dataclasses.replace(e, source=e.source.without_data_for_pickling()) for e in self]
        return {**self.__dict__, "estimate": tuple(every).__getitem__, "people": None}
