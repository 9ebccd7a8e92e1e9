"""What a reader of the results should know about the data."""

import numpy as np
from numpy.typing import NDArray

from penchant._typing import IntVector, Matrix, Vector
from penchant.errors import DataError
from penchant.wording import either

Hashes = NDArray[np.uint64]


def counted(n: int, noun: str) -> str:
    """Write a number and its noun.

    >>> counted(1, "decision"), counted(1200, "row")
    ('1 decision', '1,200 rows')
    """
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def pooled_notes(n_subjects: int, linearized: bool = False) -> tuple[str, ...]:
    """Say that one estimate stands for several people, who may want different things.

    >>> pooled_notes(16)
    ('16 subjects pooled as one, with the same parameters; fit_each fits each.',)
    >>> pooled_notes(1)
    ()
    """
    if n_subjects < 2:
        return ()
    if linearized:
        advice = either("fit_linearized_each fits each", "leave out --pool to fit each")
    else:
        advice = either(
            "fit_each fits each", "leave out --pool, or --covariance clustered, to fit each"
        )
    return (f"{counted(n_subjects, 'subject')} pooled as one, with the same parameters; {advice}.",)


def single_option_notes(sizes: IntVector) -> tuple[str, ...]:
    """Decisions with one option teach nothing; if all are so, there is nothing to estimate."""
    single = int(np.count_nonzero(sizes == 1))
    if single == len(sizes):
        raise DataError(
            "explanatory must offer two or more options in some decision; got "
            f"{counted(single, 'decision')} with one option each: nothing to estimate. "
            "Add a row for every option that could have been chosen."
        )
    if not single:
        return ()
    return (f"{counted(single, 'decision')} with a single option: uninformative.",)


def weight_notes(weights: Vector | None) -> tuple[str, ...]:
    """Decisions of weight zero are there, but do not count."""
    none = 0 if weights is None else int((weights == 0).sum())
    return (f"{counted(none, 'decision')} with weight 0: not counted.",) if none else ()


def repeat_notes(rows: Matrix, first_row: IntVector, chosen: IntVector) -> tuple[str, ...]:
    """Decisions that equal another in all variables and the choice, where most do."""
    n = len(chosen)
    picked = _row_hashes(rows[first_row[:-1] + chosen])
    if 2 * _distinct(picked) >= n:  # decisions are no fewer than the rows chosen in them
        return ()
    repeated = n - _distinct(_decision_hashes(_row_hashes(rows), first_row, chosen))
    if 2 * repeated <= n:
        return ()
    return (
        f"{counted(repeated, 'decision')} of {n:,} repeat another exactly "
        "(same variables, same choice).",
    )


def _distinct(hashes: Hashes) -> int:
    return int((np.diff(np.sort(hashes)) != 0).sum()) + 1


def _row_hashes(rows: Matrix) -> Hashes:
    """Hash each row to 64 bits that differ, almost surely, where rows differ."""
    factors = np.random.default_rng(1).integers(1, 2**63, rows.shape[1], dtype=np.uint64) * 2 + 1
    hashes: Hashes = np.ascontiguousarray(rows).view(np.uint64) @ factors
    hashes ^= hashes >> np.uint64(32)
    hashes *= np.uint64(0x9E3779B97F4A7C15)
    return hashes


def _decision_hashes(row: Hashes, first_row: IntVector, chosen: IntVector) -> Hashes:
    row[first_row[:-1] + chosen] *= np.uint64(0xD1B54A32D192ED03)
    row ^= row >> np.uint64(29)
    position = np.arange(len(row), dtype=np.int64)
    position -= np.repeat(first_row[:-1], np.diff(first_row))
    row *= 2 * position.astype(np.uint64) + 1
    hashes: Hashes = np.add.reduceat(row, first_row[:-1])
    return hashes
