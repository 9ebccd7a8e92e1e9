"""Decisions: what could be chosen, what was chosen, and what is known of each option."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Labels, Matrix, Vector
from penchant.choices import extending, given_arrays, given_tables, selecting
from penchant.choices.available import available_counts
from penchant.choices.natural import NaturalParameters
from penchant.choices.weighting import WeightKind


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Choices:
    """Decisions among options described by explanatory variables, Eq. (3).

    Make one with `from_arrays`, `from_frame` or `from_wide`; they check the data. The rows of all
    choice sets stand one set after another, so sets may differ in size.

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
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                locked = np.ascontiguousarray(value).view()
                locked.flags.writeable = False
                object.__setattr__(self, field.name, locked)

    from_arrays = classmethod(given_arrays.from_arrays)
    from_frame = classmethod(given_tables.from_frame)
    from_wide = classmethod(given_tables.from_wide)
    subset = selecting.subset
    select = selecting.select
    drop = selecting.drop
    with_constants = extending.with_constants
    with_interaction = extending.with_interaction

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
        counts.flags.writeable = False
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
