"""Whole numbers that float64 would round are refused in a scan, in the words of `from_frame`."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import penchant as pn
from penchant.errors import DataError

N = 12
ROUNDED = 2**53 + 1
EXACT = 2**60
ROLES = {"decision": "task", "option": "option", "chosen": "chosen"}


def _choices(cell, kind=None):
    """Choices whose column `x` holds a large number, the same in both rows of a decision."""
    cells = [1, 1, 2, 2, cell, cell, *([3, 3] * (N - 3))]
    columns = {"task": np.repeat(np.arange(N), 2), "option": ["a", "b"] * N}
    columns |= {"chosen": [1, 0] * N, "price": np.arange(2.0 * N), "x": pa.array(cells, kind)}
    return pa.table(columns)


def _write_parquet(table, path):
    pq.write_table(table, path, row_group_size=4)


WRITERS = {
    "parquet": _write_parquet,
    "arrow": lambda table, path: pa.feather.write_feather(table, path, compression="uncompressed"),
    "csv": pa.csv.write_csv,
}


def _scan(path, tmp_path, **roles):
    scanned = pn.scan(path, **ROLES, **{"explanatory": ["price"], **roles}, cache=tmp_path / "kept")
    return pn.fit(scanned)


@pytest.mark.parametrize("part", ["explanatory", "weight", "offset"])
@pytest.mark.parametrize("form", WRITERS)
def test_a_scan_refuses_what_float64_would_round_as_from_frame_does(tmp_path, form, part):
    table, path = _choices(ROUNDED), tmp_path / f"log.{form}"
    WRITERS[form](table, path)
    given = {"explanatory": ["price", "x"]} if part == "explanatory" else {part: "x"}
    with pytest.raises(DataError, match="that float64 can represent; got 9007199254740993") as here:
        pn.Choices.from_frame(table, **ROLES, **{"explanatory": ["price"], **given})
    with pytest.raises(DataError) as scanned:
        _scan(path, tmp_path, **given)
    assert str(scanned.value).replace(f" of {path}", "") == str(here.value)


@pytest.mark.parametrize(
    ("kind", "cell"),
    [
        (pa.uint64(), 2**63 + 1),
        (pa.int64(), -ROUNDED),
        (pa.decimal128(30, 0), Decimal(ROUNDED)),
        (pa.string(), str(ROUNDED)),
    ],
    ids=str,
)
def test_every_type_of_whole_numbers_is_refused_in_the_same_words(tmp_path, kind, cell):
    table, path = _choices(ROUNDED), tmp_path / "log.parquet"
    cells = [str(c) if kind == pa.string() else c for c in _choices(0)["x"].to_pylist()]
    cells[4:6] = [cell, cell]
    table = table.set_column(4, "x", pa.array(cells, kind))
    _write_parquet(table, path)
    with pytest.raises(DataError, match="explanatory 'x' must hold numbers") as here:
        pn.Choices.from_frame(table, **ROLES, explanatory=["price", "x"])
    with pytest.raises(DataError, match="explanatory 'x' must hold numbers") as scanned:
        _scan(path, tmp_path, explanatory=["price", "x"])
    assert str(cell) in str(here.value) and str(cell) in str(scanned.value)


@pytest.mark.parametrize("form", WRITERS)
def test_large_numbers_that_float64_holds_are_scanned(tmp_path, form):
    path = tmp_path / f"log.{form}"
    WRITERS[form](_choices(EXACT), path)
    _scan(path, tmp_path, offset="x")


def test_labels_are_no_numbers_and_may_be_as_large_as_they_like(tmp_path):
    table = _choices(1)
    table = table.set_column(0, "task", pa.array(np.repeat(np.arange(N) + ROUNDED, 2)))
    _write_parquet(table, tmp_path / "log.parquet")
    _scan(tmp_path / "log.parquet", tmp_path)


def _play(who, rewards):
    n = len(rewards)
    return pa.table({"who": [who] * n, "choice": [0, 1] * (n // 2), "reward": rewards})


def _write_play(folder, second):
    """Two files: whole numbers in the first, others in the second."""
    pq.write_table(_play("ann", pa.array([1, 0, ROUNDED, 1, 0, 1])), folder / "a.parquet")
    pq.write_table(_play(second, pa.array([0.5, 1.0, 0.0, 1.0, 0.5, 0.0])), folder / "b.parquet")
    return pn.scan(folder, subject="who", reward="reward")


@pytest.mark.parametrize("second", ["bob", "ann"])
def test_rewards_beside_those_of_another_file_are_not_rounded(tmp_path, second):
    words = r"must hold numbers that float64 can represent; got 9007199254740993 at row 2 of .*a.pa"
    with pytest.raises(DataError, match=words):
        pn.fit_each(_write_play(tmp_path, second), pn.QLearning(2, initial_value=0.0))


@pytest.mark.filterwarnings("ignore:rows of a subject do not stand together")
def test_files_that_are_sorted_first_are_not_rounded(tmp_path):
    for k, rewards in enumerate(([1, ROUNDED], [0.5, 1.0], [1, 0])):
        pq.write_table(_play("ab"[k % 2], pa.array(rewards)), tmp_path / f"{k}.parquet")
    scanned = pn.scan(tmp_path, subject="who", reward="reward")
    with pytest.raises(DataError, match=r"got 9007199254740993 at row 1 of .*0.parquet"):
        pn.fit_each(scanned, pn.QLearning(2, initial_value=0.0))
