"""A long table becomes the same choices whatever its library, row order and labels."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penchant.choices import Choices

COLUMNS = {
    "decision": "trip",
    "option": "mode",
    "chosen": "taken",
    "explanatory": ["price", "wait"],
}


def table(n_decisions=7, seed=3):
    rng = np.random.default_rng(seed)
    modes = ["bus", "car", "train"]
    rows = []
    for trip in range(n_decisions):
        offered = modes if trip % 3 else modes[:2]
        taken = rng.choice(offered)
        for mode in offered:
            price, wait = rng.normal(3, 2), rng.exponential(4)
            rows.append((trip + 11, mode, int(mode == taken), price, wait, trip % 2 + 1))
    return pd.DataFrame(rows, columns=["trip", "mode", "taken", "price", "wait", "times"])


def test_sets_may_differ_in_size_and_options_are_sorted_by_label():
    choices = Choices.from_frame(table(), **COLUMNS, weight="times")
    assert choices.n_decisions == 7
    assert choices.names == ("price", "wait")
    assert choices.option_labels == ("bus", "car", "train")
    np.testing.assert_array_equal(choices.n_options, [2, 3, 3, 2, 3, 3, 2])
    np.testing.assert_array_equal(choices.decision_labels, np.arange(11, 18))
    np.testing.assert_array_equal(choices.weights, [1, 2, 1, 2, 1, 2, 1])
    np.testing.assert_array_equal(choices.explanatory, table()[["price", "wait"]].to_numpy())
    np.testing.assert_array_equal(choices.chosen_row, np.flatnonzero(table()["taken"]))


@settings(max_examples=25, deadline=None)
@given(order=st.permutations(range(18)))
def test_rows_in_any_order_give_the_same_choices(assert_same, order):
    frame = table()
    assert len(frame) == 18
    shuffled = frame.iloc[list(order)]
    assert_same(Choices.from_frame(frame, **COLUMNS), Choices.from_frame(shuffled, **COLUMNS))


def test_a_large_table_in_any_order_gives_the_same_choices(assert_same):
    n, m = 20_000, 5
    rng = np.random.default_rng(5)
    chosen = np.zeros((n, m), dtype=int)
    chosen[np.arange(n), rng.integers(0, m, n)] = 1
    frame = pd.DataFrame(
        {
            "trip": np.repeat(rng.permutation(10**12 + 17 * np.arange(n)), m),
            "mode": np.tile(np.arange(m) * 10**9, n),
            "taken": chosen.ravel(),
            "price": rng.normal(size=n * m),
            "wait": rng.normal(size=n * m),
        }
    )
    ordered = frame.sort_values(["trip", "mode"])
    choices = Choices.from_frame(frame, **COLUMNS)
    np.testing.assert_array_equal(choices.explanatory, ordered[["price", "wait"]].to_numpy())
    assert_same(choices, Choices.from_frame(frame.sample(frac=1, random_state=1), **COLUMNS))
    assert_same(choices, Choices.from_frame(pl.from_pandas(ordered), **COLUMNS))


@settings(max_examples=25, deadline=None)
@given(names=st.lists(st.text(min_size=1, max_size=4), min_size=3, max_size=3, unique=True))
@pytest.mark.filterwarnings("ignore::penchant.errors.PenchantWarning")
def test_renaming_options_only_permutes_the_rows_of_each_set(names):
    frame = table()
    renamed = frame.assign(
        mode=frame["mode"].map(dict(zip(["bus", "car", "train"], names, strict=True)))
    )
    before, after = (Choices.from_frame(f, **COLUMNS) for f in (frame, renamed))
    assert after.option_labels == tuple(sorted(names))
    np.testing.assert_array_equal(
        after.explanatory[after.chosen_row], before.explanatory[before.chosen_row]
    )
    for k in range(before.n_decisions):
        rows = slice(*before.first_row[k : k + 2])
        assert sorted(map(tuple, before.explanatory[rows])) == sorted(
            map(tuple, after.explanatory[rows])
        )


def libraries(frame):
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    chunked = pa.concat_tables([arrow.slice(0, 5), arrow.slice(5)])
    return {
        "polars": pl.from_pandas(frame),
        "arrow": arrow,
        "chunked arrow": chunked,
        "chunked polars": pl.concat(
            [pl.from_pandas(frame[:5]), pl.from_pandas(frame[5:])], rechunk=False
        ),
        "nullable": frame.convert_dtypes(dtype_backend="numpy_nullable"),
        "arrow-backed": frame.convert_dtypes(dtype_backend="pyarrow"),
        "categorical": frame.astype({"mode": pd.CategoricalDtype(["train", "x", "car", "bus"])}),
        "polars categorical": pl.from_pandas(frame).with_columns(
            pl.col("mode").cast(pl.Categorical)
        ),
        "objects": frame.astype(object),
        "duplicated index": frame.set_index(np.zeros(len(frame), dtype=int)),
        "shuffled index": frame.set_index(np.random.default_rng(1).permutation(len(frame))),
    }


@pytest.mark.parametrize("kind", list(libraries(table())))
def test_every_library_gives_the_same_choices(assert_same, kind):
    frame = table()
    other = libraries(frame)[kind]
    assert_same(
        Choices.from_frame(frame, **COLUMNS, weight="times"),
        Choices.from_frame(other, **COLUMNS, weight="times"),
    )


@pytest.mark.parametrize(
    "dtype", ["int8", "int16", "int32", "int64", "uint8", "uint64", "float32", "Int16", "Float32"]
)
def test_every_number_type_gives_the_same_as_float64(assert_same, dtype):
    frame = table().assign(price=np.arange(18) % 7)
    expected = Choices.from_frame(frame.astype({"price": "float64"}), **COLUMNS)
    for taken in (dtype, "bool"):
        typed = frame.astype({"price": dtype, "taken": taken})
        assert_same(Choices.from_frame(typed, **COLUMNS), expected)
        assert_same(Choices.from_frame(pl.from_pandas(typed), **COLUMNS), expected)


@pytest.mark.parametrize("number", [Decimal, Fraction, lambda x: x])
def test_objects_that_are_numbers_are_converted_exactly(assert_same, number):
    frame = table()
    values = [number(int(v)) / 4 for v in range(18)]
    typed = frame.assign(price=pd.Series(values, dtype=object))
    expected = Choices.from_frame(frame.assign(price=np.arange(18) / 4), **COLUMNS)
    assert_same(Choices.from_frame(typed, **COLUMNS), expected)


def test_decimals_of_polars_are_converted_exactly():
    frame = pl.from_pandas(table()).with_columns(
        price=pl.Series([Decimal(i) / 4 for i in range(18)])
    )
    choices = Choices.from_frame(frame, **COLUMNS)
    np.testing.assert_array_equal(choices.explanatory[:, 0], np.arange(18) / 4)


def test_truth_values_with_a_gap_are_read_as_numbers():
    frame = table().assign(price=pd.array([None, False, *[True, False] * 8], dtype="boolean"))
    for given_frame in (frame, pl.from_pandas(frame)):
        choices = Choices.from_frame(given_frame, **COLUMNS, missing="drop_set")
        np.testing.assert_array_equal(choices.explanatory[:3, 0], [1, 0, 1])


def test_columns_may_be_views_of_one_read_only_array(assert_same):
    frame = table()
    block = frame[["price", "wait"]].to_numpy()
    block.flags.writeable = False
    viewed = pd.DataFrame(block, columns=["price", "wait"], copy=False)
    viewed = viewed.assign(trip=frame["trip"], mode=frame["mode"], taken=frame["taken"])
    before = block.copy()
    assert_same(Choices.from_frame(viewed, **COLUMNS), Choices.from_frame(frame, **COLUMNS))
    np.testing.assert_array_equal(block, before)


def test_the_table_is_unchanged():
    frame = table()
    before = frame.copy(deep=True)
    Choices.from_frame(frame, **COLUMNS, weight="times")
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("labels", [lambda f: f["taken"] == 1, lambda f: f["taken"].astype(float)])
def test_chosen_may_be_true_and_false_or_floats(assert_same, labels):
    frame = table()
    assert_same(
        Choices.from_frame(frame.assign(taken=labels(frame)), **COLUMNS),
        Choices.from_frame(frame, **COLUMNS),
    )


def chosen_label(frame):
    taken = frame[frame["taken"] == 1].set_index("trip")["mode"]
    return frame["trip"].map(taken)


def test_chosen_may_be_the_label_of_the_chosen_option(assert_same):
    frame = table()
    assert_same(
        Choices.from_frame(frame.assign(taken=chosen_label(frame)), **COLUMNS),
        Choices.from_frame(frame, **COLUMNS),
    )


def test_chosen_may_be_labels_that_are_zero_and_one():
    frame = table().replace({"mode": {"bus": 0, "car": 1, "train": 2}}).infer_objects()
    frame = frame.astype({"mode": int})
    frame.loc[frame["trip"] % 2 == 0, "taken"] = 0
    frame.loc[frame["trip"] % 2 == 1, "taken"] = 1
    choices = Choices.from_frame(frame, **COLUMNS)
    np.testing.assert_array_equal(choices.chosen, choices.decision_labels % 2)


def test_decision_ids_may_restart_for_each_subject():
    frame = pd.concat([table().assign(who="b"), table(seed=4).assign(who="a")])
    choices = Choices.from_frame(frame, **COLUMNS, subject="who")
    assert choices.n_decisions == 14
    assert choices.subject_labels == ("a", "b")
    np.testing.assert_array_equal(choices.subject, np.repeat([0, 1], 7))
    np.testing.assert_array_equal(choices.decision_labels, np.tile(np.arange(11, 18), 2))
    several = Choices.from_frame(frame, **COLUMNS | {"decision": ["who", "trip"]})
    np.testing.assert_array_equal(several.explanatory, choices.explanatory)
    assert several.decision_name(0) == "('a', 11)"


def test_decisions_with_ids_of_their_own_are_sorted_by_subject_first():
    frame = table()
    frame = frame.assign(who=np.where(frame["trip"] < 14, 9, 5))
    choices = Choices.from_frame(frame, **COLUMNS, subject="who")
    assert choices.subject_labels == (5, 9)
    np.testing.assert_array_equal(choices.decision_labels, [14, 15, 16, 17, 11, 12, 13])


@pytest.mark.parametrize("top", [2**53 + 1, 2**63 + 5, 2**80])
def test_huge_ids_stay_exact(top):
    frame = table()
    huge = [top + int(trip) for trip in frame["trip"]]
    choices = Choices.from_frame(frame.assign(trip=huge), **COLUMNS)
    assert choices.decision_labels.tolist() == [top + trip for trip in range(11, 18)]
    if top < 2**64:
        nullable = frame.assign(trip=pd.array(huge, dtype="UInt64"))
        again = Choices.from_frame(pl.from_pandas(nullable), **COLUMNS)
        assert again.decision_labels.tolist() == choices.decision_labels.tolist()


def test_whole_floats_are_integer_ids(assert_same):
    frame = table().astype({"trip": float})
    choices = Choices.from_frame(frame, **COLUMNS)
    assert choices.decision_labels.dtype == np.int64
    assert_same(choices, Choices.from_frame(table(), **COLUMNS))


def test_ids_may_be_dates(assert_same):
    frame = table()
    days = pd.Timestamp("2024-03-01") + pd.to_timedelta(frame["trip"], unit="D")
    choices = Choices.from_frame(frame.assign(trip=days), **COLUMNS)
    assert_same(choices, Choices.from_frame(frame, **COLUMNS), but=("decision_labels",))
    assert "2024-03-12" in choices.decision_name(0)


def test_rows_not_on_offer_are_left_out_whatever_they_hold(assert_same):
    frame = table()
    extra = frame[frame["trip"] % 3 == 2].assign(mode="boat", taken=0, price=np.nan, wait=np.inf)
    both = pd.concat([frame.assign(here=1), extra.assign(here=0).drop_duplicates("trip")])
    assert_same(
        Choices.from_frame(both, **COLUMNS, available="here"), Choices.from_frame(frame, **COLUMNS)
    )


def test_an_offset_follows_its_row():
    frame = table()
    frame = frame.assign(known=-frame["price"])
    choices = Choices.from_frame(frame.sample(frac=1, random_state=2), **COLUMNS, offset="known")
    np.testing.assert_array_equal(choices.offset, -choices.explanatory[:, 0])


def test_sets_with_a_missing_value_are_dropped_and_counted(assert_same):
    frame = table()
    frame.loc[[1, 2], "price"] = np.nan  # both in the first decisions, 2 and 3 rows
    frame.loc[17, "wait"] = np.nan
    choices = Choices.from_frame(frame, **COLUMNS, missing="drop_set")
    np.testing.assert_array_equal(choices.decision_labels, [13, 14, 15, 16])
    assert choices.notes == ("3 decisions (7 rows) dropped: missing values.",)
    assert_same(
        choices, Choices.from_frame(frame[frame["trip"].between(13, 16)], **COLUMNS), but=("notes",)
    )


def test_sets_without_a_choice_are_dropped_and_counted():
    frame = table()
    frame.loc[frame["trip"] == 12, "taken"] = 0
    choices = Choices.from_frame(frame, **COLUMNS, missing="drop_set")
    assert choices.n_decisions == 6
    assert choices.notes == ("1 decision (3 rows) dropped: no option chosen.",)


def test_a_missing_label_of_the_chosen_option_drops_its_set():
    frame = table()
    frame = frame.assign(taken=chosen_label(frame).where(frame["trip"] != 12))
    choices = Choices.from_frame(frame, **COLUMNS, missing="drop_set")
    np.testing.assert_array_equal(choices.decision_labels, [11, 13, 14, 15, 16, 17])


def test_labels_that_only_dropped_rows_have_are_left_out():
    frame = table()
    frame.loc[frame["mode"] == "train", "price"] = np.nan
    choices = Choices.from_frame(frame, **COLUMNS, missing="drop_set")
    assert choices.option_labels == ("bus", "car")


def test_sets_of_one_option_are_noted():
    frame = table()
    frame = frame[(frame["trip"] > 12) | (frame["taken"] == 1)]
    choices = Choices.from_frame(frame, **COLUMNS)
    assert choices.notes == ("2 decisions with a single option: uninformative.",)


def test_decisions_that_mostly_repeat_are_noted():
    frame = table()
    twice = pd.concat([frame.assign(trip=frame["trip"] + 100 * k) for k in range(3)])
    choices = Choices.from_frame(twice, **COLUMNS)
    assert choices.notes == (
        "14 decisions of 21 repeat another exactly (same variables, same choice).",
    )
    assert Choices.from_frame(twice[twice["trip"] < 200], **COLUMNS).notes == ()


def test_decisions_that_repeat_but_for_the_choice_are_not_noted():
    frame = pd.DataFrame(
        {
            "trip": np.repeat(np.arange(4), 4),
            "mode": np.tile([3, 5, 7, 9], 4),
            "taken": np.eye(4, dtype=int).ravel(),
            "price": 1.5,
            "wait": 2.5,
        }
    )
    assert Choices.from_frame(frame, **COLUMNS).notes == ()


def test_decisions_of_weight_zero_are_noted():
    frame = table()
    choices = Choices.from_frame(frame.assign(times=frame["times"] - 1), **COLUMNS, weight="times")
    assert choices.notes == ("4 decisions with weight 0: not counted.",)


def test_sets_yet_to_be_decided_need_no_choice(assert_same):
    frame = table()
    open_sets = Choices.from_frame(frame.drop(columns="taken"), **COLUMNS | {"chosen": None})
    assert not open_sets.observed
    decided = Choices.from_frame(frame, **COLUMNS)
    assert_same(open_sets, decided, but=("chosen", "observed"))
