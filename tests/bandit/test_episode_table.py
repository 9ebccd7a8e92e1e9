"""Episodes from a long table."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest

from penchant.bandit.episode import Episode
from penchant.bandit.episode_table import episodes_from_frame
from penchant.bandit.landscape import grid
from penchant.errors import DataError, PenchantWarning
from penchant.tables.play_columns import describe_columns, play_columns

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


def test_the_first_events_of_every_episode_may_be_said_to_be_shown():
    frame = table(clicked=[0, 1, 1, 0, 1, 0, 1, 1])
    by_column = episodes_from_frame(frame, **TIMED, is_choice="clicked")
    by_count = episodes_from_frame(frame, **TIMED, shown=1)
    assert parts(by_count) == parts(by_column)
    both = episodes_from_frame(frame, **TIMED, is_choice="clicked", shown=2)
    assert [e.is_choice.tolist() for e in both] == [[False] * 2 + [True]] * 2 + [[False] * 2]


def test_as_many_options_are_shown_as_a_whole_number_says():
    assert_refused(table(), "shown must be a whole number, 0 or more; got -1.", shown=-1)
    assert_refused(table(), "shown must be a whole number, 0 or more; got 0.5.", shown=0.5)


def test_an_episode_may_end_where_a_reward_is_missing():
    frame = table(points=table().points.where(~table().index.isin([1, 5, 6])))
    first, second, third = episodes_from_frame(frame, **TIMED, missing_reward="truncate")
    assert (first.subject, first.chosen.tolist(), first.scored.tolist()) == (4, [5], [True])
    assert (second.chosen.tolist(), second.rewards[0]) == ([7, 2], 12.5)
    assert np.isnan(second.rewards[1])
    assert parts([third]) == expected()[2:]


def test_a_choice_whose_reward_is_missing_may_be_taken_for_none():
    frame = table(points=table().points.where(~table().index.isin([1, 5, 7])))
    first, second, third = episodes_from_frame(frame, **TIMED, missing_reward="skip")
    assert first.chosen.tolist() == [-1, 1, 6]  # the last choice needs no reward
    assert first.scored.tolist() == [False, True, True]
    assert second.chosen.tolist() == [7, -1, 7]
    assert parts([third]) == expected()[2:]


def test_a_missing_reward_of_an_option_shown_is_refused_whatever_the_policy():
    frame = table(points=table().points.where(table().index != 0))
    for policy in ("truncate", "skip"):
        said = "rewards must not be missing before the last decision; got none at row 0"
        assert_refused(frame, said, shown=1, missing_reward=policy)


def test_missing_rewards_have_three_meanings():
    said = "missing_reward must be 'error', 'truncate' or 'skip'; got 'drop'."
    assert_refused(table(), said, missing_reward="drop")


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


@pytest.mark.parametrize("backend", BACKENDS)
def test_numbers_may_be_text_beside_words_for_nothing(backend):
    frame = table(
        square=["7", "NULL", " 7", "0", "3.0", "5", "1", "6"],
        points=[12.5, None, 13.0, 8.0, 9.5, 44.0, 2.0, 45.0],
    )
    found = episodes_from_frame(backend(frame), **TIMED)
    assert [e.chosen.tolist() for e in found] == [[5, 1, 6], [7, -1, 7], [0, 3]]


@pytest.mark.parametrize("nothing", ["NA", "timeout", None])
def test_numbers_beside_a_word_for_nothing_are_read_without_a_warning(nothing):
    square = pd.Series([7, nothing, 7, 0, 3.0, 5, 1, 6], dtype=object)
    frame = table(square=square, points=table().points.where(table().index != 1))
    found = episodes_from_frame(frame, **TIMED)
    assert [e.chosen.tolist() for e in found] == [[5, 1, 6], [7, -1, 7], [0, 3]]
    labelled = episodes_from_frame(frame, **TIMED, options=list(range(8)))
    assert [e.chosen.tolist() for e in labelled] == [e.chosen.tolist() for e in found]


def test_numbers_beside_another_word_are_warned_of():
    square = pd.Series([7, "none at all", 7, 0, 3, 5, 1, 6], dtype=object)
    with (
        pytest.warns(PenchantWarning, match="mixes text"),
        pytest.raises(DataError, match="'none at all' at row 1"),
    ):
        episodes_from_frame(table(square=square), **TIMED)


def test_other_words_are_named_by_column_and_row_with_the_option_to_pass():
    assert_refused(
        table(square=["left", "NULL", "left", "right", "left", "left", "right", "left"]),
        "chosen 'square' must hold numbers of options, or labels that `options` names; got 'left' "
        "at row 0 (subject 9, block a, decision 1), 'left' at row 2",
    )
    assert_refused(
        table(square=["left", "NULL", "left", "right", "left", "left", "right", "left"]),
        "Pass options=['left', 'right'] if these are the labels, or leave cells empty where",
    )


def test_a_gap_asks_for_a_row_with_an_empty_choice():
    assert_refused(
        table(turn=[1, 2, 4, 1, 2, 1, 2, 3]),
        "decision must count on without a gap; got 4 after 2 at row 2 (subject 9, block a).\nAdd a "
        "row with an empty choice and an empty reward for each decision missed; or pass "
        "gaps='timeout' to take them for missed, gaps='order' if the gaps mean nothing.",
    )


def test_a_number_used_twice_asks_for_subject_and_block():
    assert_refused(
        table(turn=[1, 2, 2, 1, 2, 1, 2, 3]),
        "decision must differ between the rows of an episode; got 2 again at row 2 (subject 9, "
        "block a).\nName `subject` and `block`, or drop repeated rows.",
    )


@pytest.mark.parametrize("first", [2, 17, -1])
def test_an_episode_starts_at_0_or_1(first):
    assert_refused(
        table(turn=[1, 2, 3, first, first + 1, 0, 1, 2]),
        "decision must start at 0 or 1 in every episode, or run on through the blocks of a "
        f"subject; got {first} at row 3 (subject 9, block b).\nNumber the decisions of each "
        "subject and block afresh",
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
    assert_refused(table(), "base must be 0 or 1; got 2.\nSay which number", base=2)


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


# -- numbers that run on, gaps --------------------------------------------------------------------


@pytest.mark.parametrize("first", [0, 1])
def test_numbers_may_run_on_through_the_blocks_of_a_subject(first):
    turn = np.array([0, 1, 2, 3, 4, 0, 1, 2]) + first
    frame = table(turn=turn).sample(frac=1, random_state=3)
    assert parts(episodes_from_frame(frame, **TIMED)) == expected()


def test_numbers_may_run_on_through_blocks_in_any_order():
    frame = table(turn=[3, 4, 5, 1, 2, 1, 2, 3])
    assert parts(episodes_from_frame(frame, **TIMED)) == expected()


def test_numbers_that_only_say_what_came_first_may_have_gaps_and_start_anywhere():
    frame = table(turn=[14, 17, 20, 31, 40, -5, 0, 3])
    assert parts(episodes_from_frame(frame, **TIMED, gaps="order")) == expected()


def test_numbers_left_out_are_decisions_without_a_choice():
    frame = table(turn=[2, 3, 6, 1, 2, 0, 1, 3])
    four, nine, again = episodes_from_frame(frame, **TIMED, gaps="timeout")
    assert nine.chosen.tolist() == [-1, 7, 2, -1, -1, 7]
    assert nine.scored.tolist() == [False, True, True, False, False, True]
    assert nine.times.tolist() == [1, 2, 3, 4, 5, 6]
    assert four.chosen.tolist() == [5, 1, -1, 6]
    assert again.chosen.tolist() == [0, 3]
    assert (nine.subject, nine.block) == (9, "a")


def test_blocks_that_run_on_are_not_filled_in_front():
    frame = table(turn=[1, 2, 4, 7, 8, 1, 2, 3])
    _, nine, again = episodes_from_frame(frame, **TIMED, gaps="timeout")
    assert nine.chosen.tolist() == [7, 2, -1, 7]
    assert again.chosen.tolist() == [0, 3]


def test_gaps_have_three_meanings():
    assert_refused(
        table(), "gaps must be 'error', 'timeout' or 'order'; got 'fill'.\nChoose one.", gaps="fill"
    )


# -- labels, places, gains and losses --------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_labels_are_options_in_the_order_given(backend):
    names = ["A", "B", "C", "D", "E", "F", "G", "H"]
    frame = table(square=[names[i] for i in table().square])
    assert parts(episodes_from_frame(backend(frame), **TIMED, options=names)) == expected()
    backwards = episodes_from_frame(backend(frame), **TIMED, options=names[::-1])
    assert backwards[0].chosen.tolist() == [2, 6, 1]


@pytest.mark.parametrize("nothing", [None, "NULL", "", "null"])
def test_a_label_that_says_nothing_is_no_choice(nothing):
    frame = table(square=["a", nothing, "b", "a", "b", "b", "a", "b"])
    frame["points"] = frame.points.where(frame.index != 1)
    assert episodes_from_frame(frame, **TIMED, options=["a", "b"])[1].chosen.tolist() == [0, -1, 1]


def test_options_coded_plus_and_minus_1_are_labels():
    frame = table(square=[-1, 1, 1, -1, 1, 1, -1, 1])
    episodes = episodes_from_frame(frame, **TIMED, options=[-1, 1])
    assert [e.chosen.tolist() for e in episodes] == [[1, 0, 1], [0, 1, 1], [0, 1]]
    assert_refused(frame, "-1 or an empty choice means that time ran out")


def test_a_label_that_is_no_option_is_named_with_the_nearest():
    frame = table(square=["left", "rigth", "left", "left", "left", "left", "left", "left"])
    assert_refused(
        frame,
        "chosen must hold the codes left, right; got 'rigth' at row 1 (subject 9, block a, "
        "decision 2).\nDid you mean 'right'?",
        options=["left", "right"],
    )


def test_options_differ():
    message = "options must list every code once; got 'a' twice."
    assert_refused(table(), message, options=["a", "a"])


def test_coordinates_name_the_option_that_lies_there():
    frame = table(x=table().square % 4, y=table().square // 4).drop(columns="square")
    columns = TIMED | {"chosen": ("x", "y"), "locations": grid(4, 2)}
    assert parts(episodes_from_frame(frame, **columns)) == expected()
    from_1 = frame.assign(x=frame.x + 1, y=frame.y + 1)
    assert parts(episodes_from_frame(from_1, **columns, base=1)) == expected()
    assert_refused(
        from_1,
        "chosen must lie where an option is; got (4, 2) at row 0 (subject 9, block a, decision 1)",
        **{name: columns[name] for name in ("chosen", "locations")},
    )
    with pytest.raises(DataError, match="The coordinates look counted from 1: pass base=1"):
        episodes_from_frame(from_1, **columns)


def test_coordinates_that_are_empty_are_no_choice():
    frame = table(x=[3, None, 3, 0, 3, 1, 1, 2], y=[1, None, 1, 0, 0, 1, 0, 1])
    frame["points"] = frame.points.where(frame.index != 1)
    columns = TIMED | {"chosen": ("x", "y"), "locations": grid(4, 2)}
    assert episodes_from_frame(frame, **columns)[1].chosen.tolist() == [7, -1, 7]


def test_coordinates_need_places_and_as_many_columns():
    pair = {"chosen": ("square", "mood")}
    assert_refused(table(), "locations must be given where the columns of chosen are", **pair)
    assert_refused(table(), "options must be left out", **pair, locations=[[0]], options=[1, 2])
    message = "chosen must have 1 coordinates, as the locations have; got columns square, mood."
    assert_refused(table(), message, **pair, locations=[[0], [1]])


@pytest.mark.parametrize("sign", [1, -1])
def test_a_loss_is_taken_off_the_gain_whatever_its_sign(sign):
    loss = np.array([0.0, 2.5, 0.0, 0.0, 1.0, 0.0, 0.0, 3.0])
    frame = table(won=table().points + loss, lost=sign * loss)
    columns = TIMED | {"reward": ("won", "lost")}
    assert parts(episodes_from_frame(frame, **columns)) == expected()
    with pytest.raises(DataError, match="reward must be one column, or two: gain and loss; got 3"):
        episodes_from_frame(frame, **TIMED | {"reward": ("won", "lost", "mood")})


@pytest.mark.evidence
def test_the_grid_of_forty_people_is_read_by_number_and_by_place_alike(evidence):
    path = evidence / "data" / "gridsearch2d" / "choices.csv"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    rows = pyarrow.csv.read_csv(path)
    columns = play_columns(rows.column_names)
    assert describe_columns(columns) == (
        "chosen = choice; reward = reward; subject = subject; block = round; decision = trial; "
        "is_choice = is_choice"
    )
    by_number = episodes_from_frame(rows, **columns)
    places = columns | {"chosen": ("x", "y")}
    by_place = episodes_from_frame(rows, **places, locations=grid(11, 11))
    assert parts(by_number) == parts(by_place)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_flag_may_say_the_opposite(backend):
    forced = [1, 1, 0, 1, 0, 0, 0, 1]
    found = episodes_from_frame(backend(table(forced=forced)), **TIMED, is_choice="not forced")
    flags = [1 - flag for flag in forced]
    expected = episodes_from_frame(backend(table(free=flags)), **TIMED, is_choice="free")
    assert parts(found) == parts(expected)
    assert [e.is_choice.tolist() for e in found] == [e.is_choice.tolist() for e in expected]
    assert sum(e.n_decisions for e in found) == 4


def test_a_column_that_tells_repeated_numbers_apart_is_named():
    assert_refused(
        table(),
        "2 again at row 4 (subject 9).\nColumn game tells them apart: add block='game' if each of "
        "its labels is a play of its own, subject=('who', 'game') if the same label of "
        "who is several people, or drop repeated rows.",
        block=None,
    )


def test_numbers_that_begin_anew_are_numbered_as_plays_by_the_remedy_that_is_said():
    table = pd.DataFrame({"who": ["a"] * 6, "t": [1, 2, 3] * 2, "c": [0, 1] * 3, "r": [1.0] * 6})
    columns = {"subject": "who", "decision": "t", "chosen": "c", "reward": "r"}
    with pytest.raises(DataError, match="t begins anew among the rows of a subject") as raised:
        episodes_from_frame(table, **columns)
    remedy = str(raised.value).split("number the plays, ")[1].split(", and add block='play'")[0]
    exec(remedy, {"table": table})
    plays = episodes_from_frame(table, block="play", **columns)
    assert [len(one.chosen) for one in plays] == [3, 3]
