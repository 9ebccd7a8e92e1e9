"""`Choices.from_frame` and `Choices.from_wide`: decisions as tables, long or wide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from penchant.choices import long, wide
from penchant.choices.weighting import WeightKind

if TYPE_CHECKING:
    from penchant.choices.choices import Choices


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
    columns = long.LongColumns(
        decision=long.column_names(decision, "decision"),
        option=option,
        chosen=chosen,
        explanatory=long.column_names(explanatory, "explanatory"),
        weight=weight,
        subject=subject,
        available=available,
        offset=offset,
    )
    return cls(**long.long_fields(frame, columns, weight_kind=weight_kind, missing=missing))


def from_wide(
    cls: type[Choices],
    frame: Any,
    *,
    chosen: Any,
    explanatory: Any,
    options: Sequence[Any] | None = None,
    decision: Any = None,
    subject: Any = None,
    weight: Any = None,
    available: Any = None,
    offset: Any = None,
    weight_kind: WeightKind = "frequency",
    missing: Literal["error", "drop_set"] = "error",
) -> Choices:
    """Decisions from a wide table: one row per decision, with columns for each option.

    The same decisions give the same choices as through `from_frame`.

    Parameters
    ----------
    frame
        A pandas, polars or pyarrow table.
    chosen
        Column of the chosen option's label, or its index in `options`, from 0; None for sets
        yet to be decided.
    explanatory
        Variables and their columns: `{"price": {"bus": "price_bus", "car": "price_car"}}`,
        `{"price": ["price_bus", "price_car"]}` in the order of `options`, or just `["price"]`,
        which means the columns `price_bus` and `price_car`.
    options
        Labels of the options; may be left out where `explanatory` says them.
    decision
        Column, or columns, that name the decision; the row's number if not given.
    subject
        Column that names who decided.
    weight
        Column that says how often a decision counts.
    available
        Columns of 0/1 or True/False, given like one variable of `explanatory`; options not on
        offer are left out, whatever their columns hold.
    offset
        Columns of the known part of the objective, given like one variable of `explanatory`.
    weight_kind, missing
        As in `from_frame`.

    Examples
    --------
    >>> import pandas as pd
    >>> import penchant as pn
    >>> table = pd.DataFrame({
    ...     "taken": ["car", "bus"], "price_bus": [2.0, 1.5], "price_car": [5.0, 6.0],
    ... })
    >>> pn.Choices.from_wide(
    ...     table, chosen="taken", explanatory=["price"], options=["bus", "car"]
    ... )
    Choices: 2 decisions, 2 options each, 1 variable (price)
    """
    labels = wide.option_names(options, explanatory)
    columns = wide.WideColumns(
        options=labels,
        chosen=chosen,
        explanatory=wide.variable_columns(explanatory, labels),
        decision=() if decision is None else long.column_names(decision, "decision"),
        subject=subject,
        weight=weight,
        available=None if available is None else wide.by_option(available, labels, "available"),
        offset=None if offset is None else wide.by_option(offset, labels, "offset"),
    )
    return cls(**wide.wide_fields(frame, columns, weight_kind=weight_kind, missing=missing))
