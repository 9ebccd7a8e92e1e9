"""`Choices.from_arrays`: decisions as arrays, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant.choices import arrays, notes
from penchant.choices.align import aligned
from penchant.choices.available import (
    available_counts,
    available_mask,
    check_available,
    one_by_one,
)
from penchant.choices.weighting import WeightKind

if TYPE_CHECKING:
    from penchant.choices.choices import Choices


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
    shape = (n, int(sizes[0])) if sizes.min() == sizes.max() else None
    labels = arrays.variable_names(names, rows.shape[1])
    on_offer = available_mask(given["available"], shape, first_row)
    picked = arrays.chosen_positions(given["chosen"], sizes, on_offer)
    check_available(picked, on_offer, first_row)
    listed = one_by_one(given["offset"], "offset", first_row)
    known = arrays.row_offset(listed, shape, len(rows))
    arrays.check_finite(rows, on_offer, first_row, labels)
    if known is not None:
        arrays.check_finite(known[:, None], on_offer, first_row, ("offset",), "offset")
    people = arrays.subject_codes(given["subject"], n)
    counts = arrays.decision_weights(given["weights"], n, weight_kind)
    said: tuple[str, ...] = ()
    if chosen is not None:
        on_sets = sizes if on_offer is None else available_counts(on_offer, first_row)
        said = notes.single_option_notes(on_sets) + notes.weight_notes(counts)
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
