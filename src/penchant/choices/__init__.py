"""`Choices`: decisions among options with explanatory variables, from arrays or tables.

The rows of all choice sets stand one after another (the compressed layout of ragged arrays), so
that sets of any size are one matrix. Constants and interactions of options are added as columns, as
in any conditional logit (McFadden 1974).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from penchant._typing import BoolVector, IntVector, Labels, Matrix, Vector
from penchant.argument_checks import check_entries, check_length
from penchant.errors import DataError, closest_match_hint, format_list, mark_argument
from penchant.result_tables import single_option_notes, zero_weight_notes
from penchant.tables import arrays
from penchant.tables.arrays import available_counts, available_mask, check_available, one_by_one
from penchant.tables.layouts import LongColumns, column_names, long_fields
from penchant.tables.numbers import aligned, exact_floats


def row_options(
    option: IntVector | None, labels: tuple[Any, ...] | None, first_row: IntVector
) -> tuple[IntVector, tuple[Any, ...]]:
    """Code of each row's option, and the labels; without labels, positions in the set."""
    if option is not None and labels is not None:
        return option, labels
    sizes = np.diff(first_row)
    position = np.arange(first_row[-1]) - np.repeat(first_row[:-1], sizes)
    return position, tuple(range(int(sizes.max())))


def contrasted_options(
    labels: tuple[Any, ...], options: Sequence[Any] | None, reference: Any
) -> list[int]:
    """Codes of the options that get a column: those given, or all but the reference."""
    typed = mark_argument("reference")
    if options is None:
        # Weights of all options would not be identified: only differences of utility matter.
        left_out = 0 if reference is None else _option_code(reference, labels, typed)
        return [i for i in range(len(labels)) if i != left_out]
    if reference is not None:
        raise DataError(
            typed,
            "must not be given together with options",
            got=repr(reference),
            fix="Give one of them.",
        )
    codes = [_option_code(label, labels, mark_argument("options")) for label in options]
    # One option must be left out to compare with, as with a reference.
    if not codes or len(codes) == len(labels) or len(set(codes)) < len(codes):
        raise DataError(
            "options",
            "must name some options, each once, and leave one out to compare with",
            got=format_list(map(repr, options)) or "none",
            fix=f"The options are {format_list(map(repr, labels))}.",
        )
    return codes


FILL = "Fill or drop these decisions."


def _option_code(label: Any, labels: tuple[Any, ...], name: str) -> int:
    if label not in labels:
        raise DataError(
            name,
            f"must be among the options {format_list(map(repr, labels))}",
            got=repr(label),
            fix=closest_match_hint(str(label), map(str, labels)) or "Correct it.",
        )
    return labels.index(label)


def option_indicators(option: IntVector, codes: Sequence[int]) -> Matrix:
    """Indicator columns: 1 in the rows of that option, else 0."""
    return np.where(option[:, None] == np.array(codes), 1.0, 0.0)


def option_specific_columns(values: Vector, option: IntVector, codes: Sequence[int]) -> Matrix:
    """Columns with the row's value in the rows of that option, else 0."""
    return np.where(option[:, None] == np.array(codes), values[:, None], 0.0)


def decision_attribute(
    values: Any, labels: Sequence[Any] | None, codes: IntVector | None, n: int
) -> Vector:
    """Return a number per decision, from an array or from a mapping of subjects to numbers."""
    if isinstance(values, Mapping):
        values = _values_of_subjects(values, labels)[codes]
    array = exact_floats(values, "values", lambda k: f"decision {k}")
    fix = "Give a number per decision, or map each subject to one."
    check_length(array, "values", n, fix=fix)
    check_entries(np.isfinite(array), array, "values", "must be finite", FILL)
    return array


def _values_of_subjects(values: Mapping[Any, Any], labels: Sequence[Any] | None) -> Vector:
    if labels is None:
        raise DataError(
            "values",
            "must be an array, as the choices name no subjects",
            got="a mapping",
            fix="Give a number per decision.",
        )
    unknown = [repr(label) for label in labels if label not in values]
    if unknown:
        raise DataError(
            "values",
            "must have a number for every subject",
            got=f"none for {format_list(unknown)}",
            fix="Add them, or drop these subjects.",
        )
    return exact_floats([values[label] for label in labels], "values")


def decision_values(
    column: Vector, first_row: IntVector, available: BoolVector | None, name: str
) -> Vector:
    """Return the value of each decision of a variable that is the same for all its options."""
    decision = np.repeat(np.arange(len(first_row) - 1), np.diff(first_row))
    rows = np.arange(len(column)) if available is None else np.flatnonzero(available)
    values = np.empty(len(first_row) - 1)
    values[decision[rows]] = column[rows]  # rows of a set must be equal, so any may win
    same = np.ones(len(values), dtype=bool)
    same[decision[rows[column[rows] != values[decision[rows]]]]] = False
    rule = "must be the same for all options of a decision"
    check_entries(same, "different values", name, rule, "Give it one value per decision.")
    return values


WeightKind = Literal["frequency", "probability"]


@dataclass(frozen=True)
class NaturalParameters:
    """A map from theta to the parameters that the model is about.

    Parameters
    ----------
    names
        One name per natural parameter.
    values
        theta -> natural parameters; a module-level function, so that an estimate can be pickled.
    jacobian
        theta -> matrix of derivatives, one row per natural parameter.
    """

    names: tuple[str, ...]
    values: Callable[[Vector], Vector]
    jacobian: Callable[[Vector], Matrix]


def subset(self: Choices, decisions: Any) -> Choices:
    """Keep some decisions: a boolean mask or indices, in their given order."""
    kept = arrays.decision_indices(decisions, self.n_decisions)
    if not kept.size:
        raise DataError("decisions", "must keep at least one", got="none", fix="Check the filter.")
    # Rows of the sets kept, without a loop: each set's rows are its first row and the next ones.
    sizes = self.first_row[kept + 1] - self.first_row[kept]
    first_row = np.zeros(len(kept) + 1, dtype=np.int64)
    np.cumsum(sizes, out=first_row[1:])
    rows = np.repeat(self.first_row[kept] - first_row[:-1], sizes) + np.arange(first_row[-1])

    def per_row(values: Any) -> Any:
        return None if values is None else values[rows]

    def per_decision(values: Any) -> Any:
        return None if values is None else values[kept]

    subject, labels = per_decision(self.subject), self.subject_labels
    if subject is not None and labels is not None:
        # Subjects without a decision left would have no estimate.
        present, subject = np.unique(subject, return_inverse=True)
        labels = tuple(labels[i] for i in present)
    return dataclasses.replace(
        self,
        explanatory=self.explanatory[rows],
        first_row=first_row,
        chosen=self.chosen[kept],
        available=per_row(self.available),
        weights=per_decision(self.weights),
        offset=per_row(self.offset),
        option=per_row(self.option),
        subject=subject,
        subject_labels=labels,
        decision_labels=per_decision(self.decision_labels),
    )


def select(self: Choices, names: Sequence[str]) -> Choices:
    """Keep some variables, in the order given."""
    columns = [variable_index(self, name) for name in names]
    if not columns:
        raise DataError("names", "must keep at least one variable", got="none", fix="Name one.")
    return dataclasses.replace(
        self,
        explanatory=np.ascontiguousarray(self.explanatory[:, columns]),
        names=tuple(self.names[a] for a in columns),
        natural=None,  # a map of the old variables does not fit the new ones
    )


def drop(self: Choices, *names: str) -> Choices:
    """Leave some variables out."""
    for name in names:
        variable_index(self, name)
    return self.select([name for name in self.names if name not in names])


def variable_index(choices: Choices, name: str) -> int:
    """Position of a variable, by name."""
    if name not in choices.names:
        raise DataError(
            "names",
            "must be variables",
            got=f"{name!r}, but they are {', '.join(choices.names)}",
            fix=closest_match_hint(name, choices.names) or "Correct it.",
        )
    return choices.names.index(name)


def with_constants(self: Choices, reference: Any = None) -> Choices:
    """Add a constant for every option but one: what it is worth all else equal.

    Parameters
    ----------
    reference
        Label of the option without a constant; the first if not given. In choices made from
        arrays, options are labelled by their position from 0.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> values = np.array([[[1.0], [2.0]], [[0.5], [0.1]], [[0.3], [0.4]]])
    >>> pn.Choices.from_arrays(values, [1, 0, 0]).with_constants().names
    ('x1', 'constant:1')
    """
    option, labels = row_options(self.option, self.option_labels, self.first_row)
    codes = contrasted_options(labels, None, reference)
    return _with_added_columns(
        self, option_indicators(option, codes), [f"constant:{labels[i]}" for i in codes]
    )


def with_interaction(
    self: Choices,
    name: str,
    values: Any = None,
    *,
    by: str | None = None,
    options: Sequence[Any] | None = None,
    reference: Any = None,
) -> Choices:
    """Let an attribute of the person or decision change what options, or a variable, are worth.

    An attribute that is the same for all options of a decision tells nothing by itself; times
    the indicators of options, or times a variable, it does.

    Parameters
    ----------
    name
        Name of the attribute. Without `values` it is a variable of these choices that does not
        vary inside any set; its own column is then left out.
    values
        A number per decision, in the order of these choices (see `decision_labels`), or a
        mapping from subject to number.
    by
        Variable to multiply with; if not given, one column per option is added.
    options
        Labels of the options that get a column.
    reference
        Label of the one option that gets none; the first if neither is given.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> prices = np.array([[[1.0], [2.0]], [[0.5], [0.1]], [[0.3], [0.4]]])
    >>> choices = pn.Choices.from_arrays(prices, [1, 0, 0], names=["price"])
    >>> choices.with_interaction("income", [2.0, 3.0, 5.0]).names
    ('price', 'income:1')
    >>> choices.with_interaction("income", [2.0, 3.0, 5.0], by="price").names
    ('price', 'income:price')
    """
    if by is not None and (options is not None or reference is not None):
        raise DataError(
            "by",
            "must not be given together with options or reference",
            got=repr(by),
            fix="Multiply with a variable, or with indicators of options.",
        )
    per_row = np.repeat(_attribute_values(self, name, values), np.diff(self.first_row))
    if by is not None:
        columns = (per_row * self.explanatory[:, variable_index(self, by)])[:, None]
        added = [f"{name}:{by}"]
    else:
        option, labels = row_options(self.option, self.option_labels, self.first_row)
        codes = contrasted_options(labels, options, reference)
        columns = option_specific_columns(per_row, option, codes)
        added = [f"{name}:{labels[i]}" for i in codes]
    widened = _with_added_columns(self, columns, added)
    # A variable that is constant in every set has no weight of its own.
    return widened if values is not None else widened.drop(name)


def _attribute_values(choices: Choices, name: str, values: Any) -> Vector:
    """Attribute as a number per decision, from `values` or from a variable."""
    if values is None:
        column = choices.explanatory[:, variable_index(choices, name)]
        return decision_values(column, choices.first_row, choices.available, name)
    return decision_attribute(values, choices.subject_labels, choices.subject, choices.n_decisions)


def _with_added_columns(choices: Choices, columns: Matrix, names: Sequence[str]) -> Choices:
    """Add columns of variables, whose names must be new."""
    return dataclasses.replace(
        choices,
        explanatory=np.hstack([choices.explanatory, columns]),
        names=arrays.variable_names((*choices.names, *names), choices.n_parameters + len(names)),
        natural=None,
    )


def from_arrays(
    cls: type[Choices],
    explanatory: Any,
    chosen: Any,
    *,
    available: Any = None,
    weights: Any = None,
    offset: Any = None,
    subject: Any = None,
    names: Sequence[str] | None = None,
    weight_kind: WeightKind = "frequency",
) -> Choices:
    """Decisions from an array of explanatory variables and the indices chosen.

    Parameters
    ----------
    explanatory
        Array (n_decisions, n_options, n_parameters), or a list of matrices
        (n_options of that decision, n_parameters). Not copied where it is float64.
    chosen
        Index of the option taken in each decision, from 0; None for sets yet to be decided.
    available
        Mask (n_decisions, n_options) of the options on offer; the variables of the others may
        be NaN.
    weights
        How often each decision counts.
    offset
        Known part of the objective (n_decisions, n_options).
    subject
        Who decided: a label per decision.
    names
        Names of the variables; x1, x2 ... if not given.
    weight_kind
        "frequency": a weight of 2 is the same decision made twice; "probability": sampling
        weights. They differ in the robust covariance.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> values = np.array([[[1.0], [2.0]], [[0.5], [0.1]], [[0.3], [0.4]]])
    >>> pn.Choices.from_arrays(values, [1, 0, 0], names=["value"])
    Choices: 3 decisions, 2 options each, 1 variable (value)
    """
    rows, first_row = arrays.explanatory_rows(explanatory)
    given = {"chosen": chosen, "available": available, "weights": weights, "offset": offset}
    given = aligned(given | {"subject": subject})
    n = len(first_row) - 1
    sizes = np.diff(first_row)
    # Ragged sets have no array shape.
    shape = (n, int(sizes[0])) if sizes.min() == sizes.max() else None
    labels = arrays.variable_names(names, rows.shape[1])
    on_offer = available_mask(given["available"], shape, first_row)
    picked = arrays.chosen_positions(given["chosen"], sizes, on_offer)
    check_available(picked, on_offer, first_row)
    listed = one_by_one(given["offset"], "offset", first_row)
    known = arrays.row_offset(listed, shape, len(rows))
    # After the mask: variables of options that were not on offer may be NaN.
    arrays.check_finite(rows, on_offer, first_row, labels)
    if known is not None:
        arrays.check_finite(known[:, None], on_offer, first_row, ("offset",), "offset")
    people = arrays.subject_codes(given["subject"], n)
    counts = arrays.decision_weights(given["weights"], n, weight_kind)
    said: tuple[str, ...] = ()
    if chosen is not None:  # sets to predict, without a choice, may have one option
        on_sets = sizes if on_offer is None else available_counts(on_offer, first_row)
        said = single_option_notes(on_sets) + zero_weight_notes(counts)
    return cls(
        explanatory=rows,
        first_row=first_row,
        chosen=picked,
        names=labels,
        available=on_offer,
        weights=counts,
        weight_kind=weight_kind,
        offset=known,
        observed=chosen is not None,
        subject=None if people is None else people[0],
        subject_labels=None if people is None else people[1],
        notes=said,
    )


def from_frame(
    cls: type[Choices],
    frame: Any,
    *,
    decision: Any,
    option: Any,
    chosen: Any,
    explanatory: Sequence[Any],
    weight: Any = None,
    subject: Any = None,
    available: Any = None,
    offset: Any = None,
    weight_kind: WeightKind = "frequency",
    missing: Literal["error", "drop_set"] = "error",
) -> Choices:
    """Decisions from a long table: one row per option of each decision.

    Rows may come in any order: decisions are sorted by subject and decision, options by label.

    Parameters
    ----------
    frame
        A pandas, polars or pyarrow table.
    decision
        Column, or columns, that name the decision; names may start afresh for each subject.
    option
        Column that names the option.
    chosen
        Column of 0/1 or True/False, or of the chosen option's label, the same in all rows of a
        decision; None for sets yet to be decided.
    explanatory
        Columns of the variables.
    weight
        Column that says how often a decision counts, the same in all its rows.
    subject
        Column that names who decided.
    available
        Column of 0/1 or True/False; rows not on offer are left out, whatever they hold.
    offset
        Column of the known part of the objective.
    weight_kind
        As in `from_arrays`.
    missing
        "error", or "drop_set" to leave out decisions with a missing cell and say so in `notes`.

    Examples
    --------
    >>> import pandas as pd
    >>> import penchant as pn
    >>> table = pd.DataFrame({
    ...     "trip": [1, 1, 2, 2], "mode": ["bus", "car", "car", "bus"],
    ...     "taken": [0, 1, 0, 1], "price": [2.0, 5.0, 6.0, 1.5],
    ... })
    >>> pn.Choices.from_frame(
    ...     table, decision="trip", option="mode", chosen="taken", explanatory=["price"]
    ... )
    Choices: 2 decisions, 2 options each, 1 variable (price)
    """
    columns = LongColumns(
        decision=column_names(decision, "decision"),
        option=option,
        chosen=chosen,
        explanatory=column_names(explanatory, "explanatory"),
        weight=weight,
        subject=subject,
        available=available,
        offset=offset,
    )
    return cls(**long_fields(frame, columns, weight_kind=weight_kind, missing=missing))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Choices:
    """Decisions among options described by explanatory variables, Eq. (3).

    Make one with `from_arrays` or `from_frame`, which check the data. The rows of all choice sets
    stand one set after another, so sets may differ in size.

    Attributes
    ----------
    explanatory
        Matrix (n_rows, n_parameters): one row per option of each decision.
    first_row
        First row of each decision, and n_rows at the end: (n_decisions + 1,).
    chosen
        Position of the chosen option in its set, from 0.
    names
        Names of the variables.
    available
        Rows on offer; None where all are.
    weights, weight_kind
        How often each decision counts; None for once.
    offset
        Known part of the objective, per row.
    option, option_labels
        Which option each row is; None where the position says it.
    subject, subject_labels
        Who decided.
    decision_labels
        The user's name for each decision.
    notes
        What a reader of the results should know about the data.
    natural
        Map from theta to natural parameters, where a model gives one.
    observed
        False where nobody has chosen yet: sets to predict or simulate.
    """

    explanatory: Matrix
    first_row: IntVector
    chosen: IntVector
    names: tuple[str, ...]
    available: BoolVector | None = None
    weights: Vector | None = None
    weight_kind: WeightKind = "frequency"
    offset: Vector | None = None
    option: IntVector | None = None
    option_labels: tuple[Any, ...] | None = None
    subject: IntVector | None = None
    subject_labels: tuple[Any, ...] | None = None
    decision_labels: Labels | None = None
    notes: tuple[str, ...] = ()
    natural: NaturalParameters | None = None
    observed: bool = True

    def __post_init__(self) -> None:
        # Compiled loops need contiguous arrays; a locked view leaves the user's own array writable.
        for name, value in tuple(self.__dict__.items()):
            if isinstance(value, np.ndarray):
                flags = value.flags
                if flags.writeable or not flags.c_contiguous:
                    locked = np.ascontiguousarray(value).view()
                    locked.flags.writeable = False
                    object.__setattr__(self, name, locked)

    from_arrays = classmethod(from_arrays)
    from_frame = classmethod(from_frame)
    subset = subset
    select = select
    drop = drop
    with_constants = with_constants
    with_interaction = with_interaction

    def with_natural(self, natural: NaturalParameters) -> Choices:
        """Return the same choices with a map from theta to natural parameters."""
        return dataclasses.replace(self, natural=natural)

    @property
    def n_decisions(self) -> int:
        """Number of decisions."""
        return len(self.chosen)

    @property
    def n_rows(self) -> int:
        """Number of rows: options of all decisions, those not on offer included."""
        return len(self.explanatory)

    @property
    def n_parameters(self) -> int:
        """Number of variables, and so of weights theta."""
        return int(self.explanatory.shape[1])

    @cached_property
    def n_options(self) -> IntVector:
        """Number of options on offer in each decision."""
        counts = np.diff(self.first_row)
        if self.available is not None:
            counts = available_counts(self.available, self.first_row)
        counts.flags.writeable = False  # a change would stay in the cache
        return counts

    @property
    def total_weight(self) -> float:
        """Number of decisions, each counted as often as its weight says."""
        if self.weights is None:
            return float(self.n_decisions)
        with np.errstate(over="ignore"):  # infinite, where no number is as large
            return float(self.weights.sum())

    @property
    def chosen_row(self) -> IntVector:
        """Row of the chosen option of each decision."""
        return self.first_row[:-1] + self.chosen

    def decision_name(self, k: int) -> str:
        """Return the user's name of decision k, or its number."""
        return str(k) if self.decision_labels is None else str(self.decision_labels[k])

    def __repr__(self) -> str:
        sizes = self.n_options
        options = f"{sizes.min()}" if sizes.min() == sizes.max() else f"{sizes.min()}-{sizes.max()}"
        variables = f"{self.n_parameters} variable" + ("s" if self.n_parameters > 1 else "")
        people = "" if self.subject_labels is None else f", {len(self.subject_labels)} subjects"
        decisions = f"{self.n_decisions} decision" + ("s" if self.n_decisions != 1 else "")
        return (
            f"Choices: {decisions}, {options} options each{people}, "
            f"{variables} ({', '.join(self.names)})"
        )
