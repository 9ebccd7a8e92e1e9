"""Episodes from a long table."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest

from penchant.bandit import Episode, episodes_from_frame
from penchant.errors import DataError

COLUMNS = {"chosen": "square", "reward": "points", "subject": "who", "block": "game"}
TIMED = COLUMNS | {"decision": "turn"}
BACKENDS = [pd.DataFrame, pl.from_pandas, lambda frame: pa.Table.from_pandas(frame)]


def table(**changes) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "who": [9, 9, 9, 9, 9, 4, 4, 4],
            "game": ["a", "a", "a", "b", "b", "b", "b", "b"],
            "turn": [1, 2, 3, 1, 2, 1, 2, 3],
            "square": [7, 2, 7, 0, 3, 5, 1, 6],
            "points": [12.5, 30.0, 13.0, 8.0, 9.5, 44.0, 2.0, 45.0],
            "mood": ["x"] * 8,
        }
    )
    return frame.assign(**changes)


def parts(episodes: list[Episode]) -> list[tuple]:
    return [
        (e.subject, e.block, e.chosen.tolist(), e.rewards.tolist(), e.scored.tolist())
        for e in episodes
    ]


def expected() -> list[tuple]:
    return parts(
        [
            Episode([5, 1, 6], [44.0, 2.0, 45.0], subject=4, block="b"),
            Episode([7, 2, 7], [12.5, 30.0, 13.0], subject=9, block="a"),
            Episode([0, 3], [8.0, 9.5], subject=9, block="b"),
        ]
    )


def assert_refused(frame: pd.DataFrame, message: str, **columns):
    before = frame.copy(deep=True)
    for backend in BACKENDS:
        with pytest.raises(DataError, match=re.escape(message)):
            episodes_from_frame(backend(frame), **TIMED | columns)
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("columns", [COLUMNS, TIMED])
def test_every_subject_and_block_is_an_episode_in_sorted_order(backend, columns):
    assert parts(episodes_from_frame(backend(table()), **columns)) == expected()


def test_with_decisions_numbered_the_order_of_rows_does_not_matter():
    shuffled = table().sample(frac=1, random_state=5)
    assert parts(episodes_from_frame(shuffled, **TIMED)) == expected()


def test_without_numbers_rows_of_an_episode_stay_in_their_order_though_episodes_mix():
    mixed = table().iloc[[3, 0, 5, 1, 6, 4, 2, 7]]
    assert parts(episodes_from_frame(mixed, **COLUMNS)) == expected()


def test_without_subject_and_block_the_table_is_one_episode():
    (episode,) = episodes_from_frame(table(), chosen="square", reward="points")
    assert episode.chosen.tolist() == table().square.tolist()
    assert (episode.subject, episode.block) == (None, None)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["float64", "Int64", object])
def test_an_empty_choice_is_a_decision_without_one(backend, dtype):
    square = pd.array([7, None, 7, 0, 3, 5, 1, 6], dtype="Int64")
    points = table().points.where(table().index != 1)
    frame = table(points=points).assign(square=pd.Series(square).astype(dtype))
    (_, episode, _) = episodes_from_frame(backend(frame), **TIMED)
    same_by_code = episodes_from_frame(frame.assign(square=square.fillna(-1)), **TIMED)[1]
    assert episode.chosen.tolist() == same_by_code.chosen.tolist() == [7, -1, 7]
    assert episode.scored.tolist() == [True, False, True]


def test_empty_cells_of_a_csv_file_are_read_as_nothing_chosen():
    text = b"who,turn,square,points\n1,0,4,30\n1,1,,\n1,2,5,31\n"
    frame = pyarrow.csv.read_csv(pa.BufferReader(text))
    (episode,) = episodes_from_frame(
        frame, chosen="square", reward="points", subject="who", decision="turn"
    )
    assert episode.chosen.tolist() == [4, -1, 5]
    np.testing.assert_array_equal(episode.rewards, [30, np.nan, 31])


def test_options_counted_from_1_are_counted_from_0():
    frame = table(square=[8, 3, 8, 1, 4, 6, 2, 7])
    assert parts(episodes_from_frame(frame, **TIMED, base=1)) == expected()


@pytest.mark.parametrize("timeout", [-1.0, np.nan])
def test_counted_from_1_nothing_chosen_is_still_nothing_chosen(timeout):
    frame = table(square=[8, timeout, 8, 1, 4, 6, 2, 7])
    frame["points"] = frame.points.where(frame.index != 1)
    assert episodes_from_frame(frame, **TIMED, base=1)[1].chosen.tolist() == [7, -1, 7]


def test_counted_from_1_an_option_0_is_refused_not_taken_for_nothing():
    assert_refused(
        table(),
        "chosen must be an option's index, counted from 1; got 0 at row 3 (subject 9, block b, "
        "decision 1).",
        base=1,
    )


def test_options_shown_and_decisions_left_out_are_not_scored():
    frame = table(clicked=[0, 1, 1, 0, 1, 0, 1, 1], main=[1, 1, 1, 1, 1, 1, 0, 1])
    first, second, third = episodes_from_frame(frame, **TIMED, is_choice="clicked", scored="main")
    assert first.scored.tolist() == [False, False, True]
    assert second.scored.tolist() == [False, True, True]
    assert third.is_choice.tolist() == [False, True]
    assert all(episode.observed.all() for episode in (first, second, third))


def test_each_episode_may_end_without_a_reward():
    frame = table(points=table().points.where(~table().index.isin([2, 4, 7])))
    notes = [episode.notes for episode in episodes_from_frame(frame, **TIMED)]
    assert notes == [("The last reward is missing: the last choice is used all the same.",)] * 3


def test_arrays_are_locked_and_the_table_may_change_afterwards():
    frame = table()
    episodes = episodes_from_frame(frame, **TIMED)
    frame.loc[:, "points"] = 0.0
    assert parts(episodes) == expected()
    assert not episodes[0].rewards.flags.writeable


def test_a_missing_reward_is_named_by_row_subject_block_and_decision():
    assert_refused(
        table(points=table().points.where(table().index != 1)),
        "rewards must not be missing before the last decision; got none at row 1 (subject 9, "
        "block a, decision 2).",
    )


def test_a_reward_off_scale_is_named_by_row():
    assert_refused(
        table(points=[1.0, 2.0, 3.0, 1e300, 5.0, 6.0, 7.0, 8.0]),
        "rewards must be finite and not beyond 1e100; got 1e+300 at row 3 (subject 9, block b, "
        "decision 1).",
    )


def test_text_is_named_by_column_and_row():
    assert_refused(
        table(square=["7", "NULL", "7", "0", "3", "5", "1", "6"]),
        "chosen 'square' must hold numbers; got '7' at row 0, 'NULL' at row 1",
    )


def test_a_gap_asks_for_a_row_with_an_empty_choice():
    assert_refused(
        table(turn=[1, 2, 4, 1, 2, 1, 2, 3]),
        "decision must count on without a gap; got 4 after 2 at row 2 (subject 9, block a). Add a "
        "row with an empty choice and an empty reward for each decision missed.",
    )


def test_a_number_used_twice_asks_for_subject_and_block():
    assert_refused(
        table(turn=[1, 2, 2, 1, 2, 1, 2, 3]),
        "decision must differ between the rows of an episode; got 2 again at row 2 (subject 9, "
        "block a). Name `subject` and `block`, or drop repeated rows.",
    )


@pytest.mark.parametrize("first", [2, 17, -1])
def test_an_episode_starts_at_0_or_1(first):
    assert_refused(
        table(turn=[1, 2, 3, first, first + 1, 0, 1, 2]),
        f"decision must start at 0 or 1 in every episode; got {first} at row 3 (subject 9, block "
        "b). Number the decisions of each subject and block afresh",
    )


@pytest.mark.parametrize(
    ("turn", "said"), [(np.nan, "an empty cell"), (1.5, "1.5"), (np.inf, "inf")]
)
def test_decisions_are_numbered_by_whole_numbers(turn, said):
    assert_refused(
        table(turn=[1, 2, 3, 1, 2, 1, turn, 3]),
        f"decision must hold whole numbers; got {said} at row 6 (subject 4, block b).",
    )


def test_a_row_belongs_to_someone():
    assert_refused(
        table(who=["x", "x", None, "x", "x", "y", "y", "y"]),
        "subject must not be missing; got an empty cell in subject 'who' at row 2.",
    )


def test_columns_must_exist_and_play_one_part():
    assert_refused(
        table(), "reward must name a column of the table; got 'point' for reward", reward="point"
    )
    assert_refused(
        table(), "reward must not use a column twice; got 'square', which is", reward="square"
    )


def test_the_first_option_is_0_or_1():
    assert_refused(table(), "base must be 0 or 1; got 2. Say which number", base=2)


def test_a_table_without_rows_is_refused():
    with pytest.raises(DataError, match="frame must hold at least one row"):
        episodes_from_frame(table().iloc[:0], **TIMED)


@pytest.mark.evidence
def test_forty_people_play_eight_rounds_each_after_a_tile_was_shown(evidence):
    path = evidence / "data" / "gridsearch2d" / "choices.csv"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    rows = pyarrow.csv.read_csv(path)
    episodes = episodes_from_frame(
        rows,
        chosen="choice",
        reward="reward",
        subject="subject",
        block="round",
        decision="trial",
        is_choice="is_choice",
    )
    assert len(episodes) == 320
    assert len({(e.subject, e.block) for e in episodes}) == 320
    assert sum(e.n_decisions for e in episodes) == 160 * 20 + 160 * 40
    for episode in episodes:
        assert episode.n_events == episode.n_decisions + 1 in (21, 41)
        assert episode.observed.all()
        assert not episode.is_choice[0]
        assert episode.scored[1:].all()
        np.testing.assert_array_equal(episode.times, np.arange(episode.n_events))
        episode.check_options(121)
    first = rows.to_pandas().query("subject == 1 and round == 1")
    np.testing.assert_array_equal(episodes[0].chosen, first.choice)
    np.testing.assert_array_equal(episodes[0].rewards, first.reward)
