"""Tables with the columns that users of other tools have, recognised as tasks."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import penchant as pn
from penchant.models.catalogue import CATALOGUE, HBAYESDM
from penchant.reading.tasks import TASKS


def two_steps(n=60, seed=1):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "subjID": np.repeat([1, 2], n // 2),
            "level1_choice": rng.integers(1, 3, n),
            "level2_choice": rng.integers(1, 5, n),
            "reward": rng.integers(0, 2, n),
        }
    )


def test_a_two_step_table_is_recognised_and_fitted_as_it_is():
    table = two_steps()
    reading = pn.read(table)
    assert len(reading.data) == 2
    assert "taken for the task two-step" in reading.summary()
    assert reading.next == 'pn.fit_each(reading, pn.models.TwoStep(trace="after"))'
    first = reading.data[0]
    c2 = table["level2_choice"].to_numpy()[:30]
    np.testing.assert_array_equal(first.chosen[::2], table["level1_choice"].to_numpy()[:30] - 1)
    np.testing.assert_array_equal(first.before["state"][1::2], (c2 - 1) // 2 + 1)
    np.testing.assert_array_equal(first.chosen[1::2], (c2 - 1) % 2)
    np.testing.assert_array_equal(first.rewards[1::2], table["reward"].to_numpy()[:30])
    assert len(pn.fit_each(reading, pn.models.TwoStep(trace_decay=1.0))) == 2


def test_rows_with_a_gap_are_left_out_and_counted():
    table = two_steps()
    cells = table["level2_choice"].to_pylist()
    cells[3], cells[40] = None, None
    gaps = table.set_column(2, "level2_choice", pa.array(cells))
    reading = pn.read(gaps, task="two-step")
    assert [e.n_events for e in reading.data] == [58, 58]
    assert reading.n_missed == 2 and reading.excluded == {"a gap in what the task needs": 2}


def test_cues_and_presses_are_read_from_their_codes():
    table = pa.table({"cue": [1, 4, 2], "keyPressed": [1, 0, 1], "outcome": [1, 0, -1]})
    reading = pn.read(table, subject="")
    (episode,) = reading.data
    np.testing.assert_array_equal(episode.before["cue"], [0, 3, 1])
    np.testing.assert_array_equal(episode.chosen, [1, 0, 1])
    assert reading.model == "models.GoNoGo()"


@pytest.mark.parametrize("codes", [(0, 1), ("no", "yes"), ("nogo", "go")])
def test_a_cue_beside_presses_is_asked_about(codes):
    rng = np.random.default_rng(2)
    pressed = [codes[k] for k in rng.integers(0, 2, 60)]
    cue = rng.choice(list("abcd"), 60)
    table = {"subject": [1] * 60, "stimulus": cue, "response": pressed}
    with pytest.raises(pn.errors.SchemaQuestions) as raised:
        pn.read(pa.table(table | {"reward": rng.integers(-1, 2, 60)}))
    assert "task" in {question.role for question in raised.value.questions}


def test_a_row_of_pumps_is_a_run_of_decisions():
    table = pa.table({"subjID": ["a", "a", "b"], "pumps": [2, 3, 1], "explosion": [0, 1, 0]})
    a, b = pn.read(table).data
    np.testing.assert_array_equal(a.chosen, [1, 1, 0, 1, 1, 1])
    np.testing.assert_array_equal(a.before["pump"], [1, 2, 3, 1, 2, 3])
    np.testing.assert_array_equal(a.after["burst"], [0, 0, 0, 0, 0, 1])
    assert len(set(a.before["balloon"])) == 2
    np.testing.assert_array_equal(b.chosen, [1, 0])


def test_types_are_pairs_of_six_and_other_types_are_not():
    table = pa.table({"type": [12, 34, 56, 12], "choice": [1, 0, 1, 0], "reward": [1, 0, 1, 1]})
    (episode,) = pn.read(table, subject="").data
    np.testing.assert_array_equal(episode.chosen, [0, 3, 4, 1])
    np.testing.assert_array_equal(episode.available[1], [0, 0, 1, 1, 0, 0])
    other = pa.table({"type": ["x", "y", "x"], "choice": [1, 0, 1], "reward": [1, 0, 1]})
    (plain,) = pn.read(other, subject="").data
    assert plain.available is None


def test_gains_losses_and_signs_are_read_when_the_task_is_named():
    table = pa.table({"choice": [1, 4, 2], "gain": [50, 100, 0], "loss": [0, -150, 0]})
    (episode,) = pn.read(table, task="gain-loss", subject="").data
    np.testing.assert_array_equal(episode.after["loss"], [0, 150, 0])
    np.testing.assert_array_equal(episode.chosen, [0, 3, 1])
    (cards,) = pn.read(table, task="iowa", subject="").data
    np.testing.assert_array_equal(cards.rewards, [50, -50, 0])
    table = pa.table({"choice": [1, 2], "outcome": [25, -25]})
    (turned,) = pn.read(table, task="reversal", subject="").data
    np.testing.assert_array_equal(turned.rewards, [1, -1])
    table = pa.table({"u": [1, 0, 1], "y": [1, 1, 0]})
    (inputs,) = pn.read(table, task="inputs", subject="").data
    np.testing.assert_array_equal(inputs.after["input"], [1, 0, 1])


WRONG_CODES = {
    "go-no-go": ({"cue": 1, "keyPressed": 2, "outcome": 1}, "keyPressed must hold one of 0, 1 "),
    "balloons": ({"pumps": 2.5, "explosion": 0}, "pumps must hold whole numbers, 0 or more "),
    "selection": ({"type": 12, "choice": 2, "reward": 1}, "choice must hold one of 0, 1 "),
    "aversive": (
        {"choice": 1, "outcome": -1, "bluePunish": 3, "orangePunish": 4},
        "outcome must hold one of 0, 1 ",
    ),
    "cambridge": (
        {
            **{"gamble_type": 1, "percentage_staked": 0.05, "trial_initial_points": 90},
            **{"red_chosen": 1, "n_red_boxes": 4},
        },
        "percentage_staked must hold one of 5, 25, 50, 75, 95 ",
    ),
    "inputs": ({"u": 1, "y": 2}, "y must hold one of 0, 1 "),
    "iowa": ({"choice": 0, "gain": 50, "loss": 0}, "choice must hold one of 1, 2, 3, 4 "),
    "gain-loss": ({"choice": 0, "gain": 1, "loss": 0}, "choice must hold whole numbers, 1 or "),
    "reversal": ({"choice": 3, "outcome": 1}, "choice must hold one of 1, 2 "),
}


@pytest.mark.parametrize("task", sorted(WRONG_CODES))
def test_a_code_that_a_task_does_not_have_is_refused_by_its_row(task):
    """Options counted from 0 would be choices not made, without a word."""
    row, said = WRONG_CODES[task]
    with pytest.raises(pn.errors.DataError, match=f"{said}.*for the task {task}; got .* at row 0"):
        pn.read(pa.table({name: [value] for name, value in row.items()}), task=task, subject="")


def test_codes_of_missed_trials_of_two_steps_have_to_be_said():
    taken = {"level1_choice": [1, 0, 2], "level2_choice": [3, 0, 1], "reward": [1, 0, 0]}
    with pytest.raises(
        pn.DataError, match=r"level1_choice must hold 2 codes .*; got 0, 1, 2"
    ) as no:
        pn.read(pa.table(taken), task="two-step", subject="")
    assert no.value.fix == "List codes of decisions that nobody made in choice.missed."
    kept = pn.read(pa.table(taken), keep="level1_choice != 0", task="two-step", subject="")
    np.testing.assert_array_equal(kept.data[0].chosen, [0, 0, 1, 0])


def test_blocks_of_two_sessions_are_kept_apart_and_repeated_trials_refused():
    cells = {
        "subjID": [1] * 8,
        "trial": [1, 2] * 4,
        "cue": [1, 2, 3, 4] * 2,
        "keyPressed": [0, 1] * 4,
        "outcome": [1, 0] * 4,
    }
    blocks = {"session": ["a"] * 4 + ["b"] * 4, "block": [1, 1, 2, 2] * 2}
    reading = pn.read(pa.table({**cells, **blocks}))
    assert [e.n_events for e in reading.data] == [2] * 4
    assert reading.schema.columns.block == ("session", "block")
    with pytest.raises(pn.DataError, match=r"trial must differ .* got 1 again at row 2"):
        pn.read(pa.table(cells))


def test_stages_of_the_cambridge_gamble_after_practice_are_scored():
    n = 12
    table = pa.table(
        {
            "subjID": [4] * n,
            "gamble_type": [0, 1] * 6,
            "percentage_staked": [5, 25, 50, 75, 95, 5] * 2,
            "trial_initial_points": [100] * n,
            "assessment_stage": [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3],
            "red_chosen": [0, 1] * 6,
            "n_red_boxes": [3, 7] * 6,
        }
    )
    reading = pn.read(table)
    assert "assessment_stage 0 is practice" in reading.summary()
    assert "9 trials included of 12" in reading.summary()


def test_a_task_that_is_not_known_or_lacks_a_column_is_refused():
    with pytest.raises(pn.DataError, match="task must be one of two-step"):
        pn.read(two_steps(), task="two-stepp")
    with pytest.raises(pn.DataError, match="columns"):
        pn.read(two_steps().drop_columns(["level2_choice"]), task="two-step")
    with pytest.raises(pn.DataError, match="got none for cue"):
        pn.read(two_steps(), task="go-no-go")


def test_all_functions_of_hbayesdm_have_an_answer_and_every_call_makes_a_model():
    assert len(HBAYESDM) == 64
    for name, found in HBAYESDM.items():
        if found.call is None:
            assert found.said, name
            continue
        model = eval(f"pn.{found.call}", {"pn": pn})
        assert model.weights, name
        assert found.command in CATALOGUE, name


def test_the_page_has_every_function_with_its_call():
    page = (Path(__file__).parents[2] / "docs" / "hbayesdm.md").read_text(encoding="utf-8")
    for name, found in HBAYESDM.items():
        call = f"`pn.{found.call}`" if found.call else "none"
        assert f"| `{name}` | {call} | {found.said} |" in page
    for task in TASKS.values():
        columns = ", ".join(f"`{name}`" for name in task.columns)
        assert f"| {task.name} | {columns} | " in page
