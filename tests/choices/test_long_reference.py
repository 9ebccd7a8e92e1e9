"""A long table against a literal loop over its decisions and rows."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penchant.choices import Choices

IDS = {
    "compact": lambda i: i,
    "wide": lambda i: (i * 7919 - 3) * 10**14,
    "text": lambda i: f"t{i * 37 % 101}",
    "float": lambda i: i / 4,
}


def reference(rows):
    """Decisions in order; in each, options in order: labels, variables and the choice."""
    found = {}
    for row in rows:
        if row["here"]:
            found.setdefault((row["who"], row["trip"]), []).append(row)
    explanatory, sizes, chosen = [], [], []
    for key in sorted(found):
        options = sorted(found[key], key=lambda row: row["mode"])
        explanatory += [(row["price"], row["wait"]) for row in options]
        sizes.append(len(options))
        chosen.append([row["taken"] for row in options].index(1))
    return sorted(found), np.array(explanatory), sizes, chosen


@st.composite
def tables(draw):
    trip, mode = (IDS[draw(st.sampled_from(sorted(IDS)))] for _ in range(2))
    rows = []
    for k in range(draw(st.integers(2, 6))):
        who = draw(st.integers(0, 2))
        offered = draw(st.lists(st.integers(0, 5), min_size=2, max_size=4, unique=True))
        here = [True, True] + [draw(st.booleans()) for _ in offered[2:]]
        taken = draw(st.sampled_from([i for i, on in enumerate(here) if on]))
        for i, on in enumerate(here):
            price = len(rows) * 0.75 - 2 if on else np.nan
            row = {"who": who, "trip": trip(k), "mode": mode(offered[i]), "here": on}
            rows.append(row | {"taken": int(i == taken), "price": price, "wait": len(rows) % 3})
    return draw(st.permutations(rows))


@settings(max_examples=80, deadline=None)
@given(rows=tables(), library=st.sampled_from(["pandas", "polars", "pyarrow"]))
def test_a_table_gives_what_a_loop_over_its_rows_gives(rows, library):
    frame = pd.DataFrame(list(rows))
    if library != "pandas":
        frame = pl.from_pandas(frame) if library == "polars" else pa.Table.from_pandas(frame)
    choices = Choices.from_frame(
        frame,
        decision="trip",
        option="mode",
        chosen="taken",
        explanatory=["price", "wait"],
        subject="who",
        available="here",
    )
    keys, explanatory, sizes, chosen = reference(rows)
    np.testing.assert_array_equal(choices.explanatory, explanatory)
    np.testing.assert_array_equal(np.diff(choices.first_row), sizes)
    np.testing.assert_array_equal(choices.chosen, chosen)
    subjects = [choices.subject_labels[code] for code in choices.subject]
    assert list(zip(subjects, choices.decision_labels.tolist(), strict=True)) == keys
    offered = {row["mode"] for row in rows if row["here"]}
    assert choices.option_labels == tuple(sorted(offered))


@pytest.mark.parametrize(
    "labels",
    [
        pl.Series([2**70, 2**70, 5, 5], dtype=pl.Int128),
        pl.Series(["b", "b", "a", "a"], dtype=pl.Enum(["b", "a"])),
        pl.Series([7, 7, 3, 3], dtype=pl.Object),
        pl.Series([True, True, False, False]),
        pl.Series([b"b", b"b", b"a", b"a"]),
        pl.Series(["2024-02-01", "2024-02-01", "2023-01-01", "2023-01-01"]).str.to_date(),
        pd.Series(pd.period_range("2024-01", periods=2)[[1, 1, 0, 0]]),
        pd.Series(pd.Categorical([4.0, 4.0, 2.0, 2.0])),
        pd.Series(pd.to_datetime([9, 9, 4, 4]).tz_localize("Europe/Berlin")),
        pd.Series([("b", 1), ("b", 1), ("a", 2), ("a", 2)]),
    ],
    ids=str,
)
def test_ids_of_any_type_are_sorted(labels):
    columns = {"mode": [1, 2, 1, 2], "taken": [0, 1, 1, 0], "price": [1.5, 2.5, 4.5, 6.5]}
    library = pl if isinstance(labels, pl.Series) else pd
    frame = library.DataFrame({"trip": labels, **columns})
    choices = Choices.from_frame(
        frame, decision="trip", option="mode", chosen="taken", explanatory=["price"]
    )
    np.testing.assert_array_equal(choices.explanatory[:, 0], [4.5, 6.5, 1.5, 2.5])
    first, second = choices.decision_labels.tolist()
    assert first < second


def test_names_may_be_an_index_of_columns():
    frame = pd.DataFrame({"t": [1, 1], "m": [1, 2], "y": [0, 1], "a": [1.0, 2.0], "b": [3, 5]})
    choices = Choices.from_frame(
        frame, decision=["t"], option="m", chosen="y", explanatory=frame.columns[3:]
    )
    assert choices.names == ("a", "b")
