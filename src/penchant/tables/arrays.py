"""Decisions given as arrays: explanatory (n, m, d), the option chosen, and options on offer."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.argument_checks import check_entries, check_length, check_one_of, describe_decision
from penchant.errors import DataError, format_list, mark_argument, mark_quoted_argument
from penchant.tables.labels import array_codes, python_values
from penchant.tables.numbers import Place, as_array, exact_floats, reject_containers


def explanatory_rows(explanatory: Any) -> tuple[Matrix, IntVector]:
    """Rows of all choice sets, one set after another, and the first row of each.

    Accepts an array (n_decisions, n_options, n_parameters) or a sequence of matrices
    (n_options of that decision, n_parameters).
    """
    if isinstance(explanatory, (list, tuple)):
        for k, each in enumerate(explanatory):
            reject_containers(each, f"explanatory[{k}]")
        if _is_ragged(explanatory):
            return _ragged_rows(explanatory)
    array = exact_floats(explanatory, "explanatory", _cell_place(explanatory))
    if array.ndim != 3:
        raise _not_three_axes(explanatory, array.shape)
    n, m, d = array.shape
    if n == 0 or m == 0 or d == 0:
        raise DataError(
            "explanatory",
            "must hold at least one decision, option and variable",
            got=f"shape {array.shape}: 0 decisions to learn from",
            fix="Check what was filtered out.",
        )
    rows = np.ascontiguousarray(array).reshape(n * m, d)
    return rows, np.arange(0, (n + 1) * m, m, dtype=np.int64)


def _cell_place(explanatory: Any) -> Place:
    def locate(i: int) -> str:
        where = np.unravel_index(i, np.shape(explanatory))
        words = ("decision", "option", "variable") if len(where) == 3 else ("row", "column")
        return ", ".join(f"{word} {int(k)}" for word, k in zip(words, where, strict=False))

    return locate


def _not_three_axes(explanatory: Any, shape: tuple[int, ...]) -> DataError:
    hint = "Add the missing axis."
    if hasattr(explanatory, "columns"):
        hint = "For a table use Choices.from_frame, or read."
    elif len(shape) == 2:
        hint = "For one variable use explanatory[:, :, None]."
    return DataError(
        "explanatory",
        "must have shape (n_decisions, n_options, n_parameters)",
        got=f"shape {shape}",
        fix=hint,
    )


def _is_ragged(sets: Sequence[Any]) -> bool:
    return (
        bool(sets) and len({as_array(s, f"explanatory[{k}]").shape for k, s in enumerate(sets)}) > 1
    )


def _ragged_rows(sets: Sequence[Any]) -> tuple[Matrix, IntVector]:
    matrices = [exact_floats(s, f"explanatory[{k}]") for k, s in enumerate(sets)]
    d = matrices[0].shape[-1] if matrices[0].ndim == 2 else 0
    for k, matrix in enumerate(matrices):
        if matrix.ndim != 2 or matrix.shape[1] != d or matrix.shape[0] == 0:
            raise DataError(
                "explanatory",
                (
                    "must give every decision a matrix (n_options, n_parameters) with the same "
                    "variables"
                ),
                got=f"shape {matrix.shape} at decision {k}, but {matrices[0].shape} at decision 0",
                fix="Use the same columns in every set.",
            )
    first_row = np.zeros(len(matrices) + 1, dtype=np.int64)
    np.cumsum([len(matrix) for matrix in matrices], out=first_row[1:])
    return np.concatenate(matrices), first_row


def chosen_positions(
    chosen: Any, sizes: IntVector, available: BoolVector | None = None
) -> IntVector:
    """Index of the chosen option in its set, from 0; one-hot rows are read as indices.

    The first option on offer where nobody has chosen yet. `sizes` are those of the sets.
    """
    n = len(sizes)
    if chosen is None:
        return _first_on_offer(sizes, available)
    array = as_array(chosen, "chosen")
    if array.ndim == 2 and array.shape == (n, sizes[0]):
        array = _from_one_hot(array)
    fix = "Give the index of the chosen option, counted from 0."
    check_length(array, "chosen", n, "one option per decision", fix)
    if array.dtype.kind not in "iu":
        array = _whole_numbers(array)
    if array.min() < 0 or (array >= sizes).any():
        fix = "Options are counted from 0."
        if array.min() >= 1 and array.max() == sizes.max():
            fix = "It looks 1-based: subtract 1, options are counted from 0."
        fine = (array >= 0) & (array < sizes)
        check_entries(fine, array, "chosen", f"must lie in 0..{int(sizes.max()) - 1}", fix)
    return array.astype(np.int64)


def _first_on_offer(sizes: IntVector, available: BoolVector | None) -> IntVector:
    if available is None:
        return np.zeros(len(sizes), dtype=np.int64)
    on_offer, first_row = np.flatnonzero(available), np.cumsum(sizes) - sizes
    return on_offer[np.searchsorted(on_offer, first_row)] - first_row


def _from_one_hot(array: np.ndarray[Any, Any]) -> IntVector:
    picked = exact_floats(array, "chosen") != 0
    marked = picked.sum(axis=1)
    rule = "must mark exactly one option per decision"
    check_entries(marked == 1, marked, "chosen", rule, "Mark one, or drop these decisions.")
    positions: IntVector = picked.argmax(axis=1)
    return positions


def _whole_numbers(array: np.ndarray[Any, Any]) -> IntVector:
    floats = exact_floats(array, "chosen")
    fix = "Give whole numbers from 0, or drop these decisions."
    check_entries(floats == np.floor(floats), floats, "chosen", "must be an option's index", fix)
    return floats.astype(np.int64)


def check_finite(
    rows: Matrix,
    available: BoolVector | None,
    first_row: IntVector,
    names: Sequence[str],
    what: str = "explanatory",
) -> None:
    """Every variable of every available option is a finite number."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.vdot(rows, rows)):  # one look at the numbers, as fast as memory is
            return
    bad = ~np.isfinite(rows)
    if available is not None:
        bad &= available[:, None]
    places = np.argwhere(bad)
    if not len(places):
        return
    decision = np.searchsorted(first_row, places[:11, 0], side="right") - 1
    described = (
        f"{rows[r, a]} in {names[a]} at decision {k}, option {r - first_row[k]}"
        for (r, a), k in zip(places[:11], decision, strict=True)
    )
    raise DataError(
        what,
        "must be finite",
        got=format_list(described, len(places)),
        fix=(
            f"Mark options that were not on offer in {mark_quoted_argument('available')}, or "
            "drop these decisions."
        ),
    )


def decision_weights(
    weights: Any, n: int, kind: str, place: Place = describe_decision
) -> Vector | None:
    """Weight of each decision: whole numbers for frequencies, any for probabilities."""
    check_one_of(kind, "weight_kind", ("frequency", "probability"))
    if weights is None:
        return None
    array = exact_floats(weights, "weights")
    check_length(array, "weights", n, fix="Give one weight per decision.")
    fine, rule = np.isfinite(array) & (array >= 0), "must be finite and not negative"
    check_entries(fine, array, "weights", rule, "Correct or drop them.", place)
    if not array.max(initial=0.0) > 0:
        raise DataError(
            "weights", "must not all be zero", got="a sum of 0", fix="Give some decision weight."
        )
    if kind == "frequency":
        whole, rule = array == np.floor(array), "must be whole numbers, as frequencies are"
        fix = f"Pass {mark_argument('weight_kind', 'probability')} for sampling weights."
        check_entries(whole, array, "weights", rule, fix, place)
    return array


def row_offset(offset: Any, shape: tuple[int, int] | None, n_rows: int) -> Vector | None:
    """Known part of the objective, one number per row."""
    if offset is None:
        return None
    array = exact_floats(offset, "offset")
    if array.shape not in {(n_rows,), shape}:
        raise DataError(
            "offset",
            f"must have shape {shape or (n_rows,)}",
            got=f"shape {array.shape}",
            fix="Give one number per option of each decision.",
        )
    return np.ascontiguousarray(array).reshape(-1)


def subject_codes(
    subject: Any, n: int, name: str = "subject"
) -> tuple[IntVector, tuple[Any, ...]] | None:
    """Index of each decision's subject, and the subjects' labels in sorted order."""
    if subject is None:
        return None
    check_length(as_array(subject, name), name, n, fix="Give one label per decision.")
    coded = array_codes(subject, name)
    given = np.ones(n, dtype=bool)
    given[coded.missing] = False
    check_entries(given, "none", name, "must not be missing", "Fill or drop these.")
    return coded.codes, python_values(coded.labels)


def decision_indices(decisions: Any, n: int) -> IntVector:
    """Indices of a mask, a slice or indices; few indices are taken without a look at all."""
    listed = isinstance(decisions, np.ndarray) and decisions.dtype.kind == "i" and decisions.size
    if listed and decisions.min() >= 0 and decisions.max() < n:
        return np.asarray(decisions, dtype=np.int64)
    return np.asarray(np.arange(n)[decisions])


def variable_names(names: Sequence[str] | None, n_parameters: int) -> tuple[str, ...]:
    """Names of the variables, x1, x2 ... where none are given."""
    if names is None:
        return tuple(f"x{a + 1}" for a in range(n_parameters))
    given = tuple(str(name) for name in names)
    if isinstance(names, str) or len(given) != n_parameters:
        raise DataError(
            "names",
            f"must hold {n_parameters} names, one per variable",
            got=repr(names),
            fix="Give a list of names.",
        )
    twice = sorted({name for name in given if given.count(name) > 1})
    if twice:
        raise DataError("names", "must differ", got=f"{', '.join(twice)} twice", fix="Rename one.")
    return given


def available_mask(
    available: Any, shape: tuple[int, int] | None, first_row: IntVector
) -> BoolVector | None:
    """Mask of the rows on offer, or None where all are; every decision has one."""
    if available is None:
        return None
    mask = _truth(one_by_one(available, "available", first_row))
    n_rows = int(first_row[-1])
    if mask.shape not in {(n_rows,), shape}:
        raise DataError(
            "available",
            f"must have shape {shape or (n_rows,)}",
            got=f"shape {mask.shape}",
            fix="Give one flag per option of each decision.",
        )
    mask = np.ascontiguousarray(mask).reshape(-1)
    some = np.logical_or.reduceat(mask, first_row[:-1])
    rule = "must leave an option in every decision"
    fix = "Mark the options on offer, or drop these decisions."
    check_entries(some, "none", "available", rule, fix)
    return None if mask.all() else mask


def one_by_one(values: Any, name: str, first_row: IntVector) -> Any:
    """Flatten ragged lists of option values per decision; return other values unchanged."""
    if not isinstance(values, (list, tuple)) or not all(hasattr(v, "__len__") for v in values):
        return values
    sizes, lengths = np.diff(first_row), [len(row) for row in values]
    if len(set(lengths)) < 2:
        return values
    for k, (length, size) in enumerate(zip(lengths, sizes, strict=False)):
        if length != size:
            raise DataError(
                name,
                "must give every decision one value per option",
                got=length,
                where=f"at decision {k}, which has {size} options",
                fix="Give one list per decision.",
            )
    if len(lengths) != len(sizes):
        raise DataError(
            name,
            f"must have one list per decision ({len(sizes)})",
            got=len(lengths),
            fix="Give one value per option of each decision.",
        )
    return [value for row in values for value in row]


def _truth(available: Any) -> BoolVector:
    mask: BoolVector = as_array(available, "available")
    if mask.dtype == bool:
        return mask
    numbers = exact_floats(available, "available")
    odd = np.unique(numbers[(numbers != 0) & (numbers != 1)])
    if odd.size:
        raise DataError(
            "available",
            "must hold True or False",
            got=format_list(map(str, odd)),
            fix="Use a boolean mask (n_decisions, n_options).",
        )
    mask = numbers != 0
    return mask


def check_available(chosen: IntVector, available: BoolVector | None, first_row: IntVector) -> None:
    """Every chosen option was on offer."""
    if available is None:
        return
    on_offer = available[first_row[:-1] + chosen]
    fix = "Mark it available, or drop these decisions."
    check_entries(on_offer, "an unavailable one", "chosen", "must be an available option", fix)


def available_counts(available: BoolVector, first_row: IntVector) -> IntVector:
    """Number of options on offer in each decision."""
    return np.add.reduceat(available.astype(np.int64), first_row[:-1])
