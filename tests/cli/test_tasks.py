"""Named tasks from the command line."""

import json

import numpy as np
import pytest

HEAD = "subjID,cue,keyPressed,outcome\n"


@pytest.fixture
def presses(tmp_path):
    rng = np.random.default_rng(4)
    rows = [
        f"{s},{rng.integers(1, 5)},{rng.integers(0, 2)},{rng.integers(-1, 2)}\n"
        for s in (1, 2)
        for _ in range(80)
    ]
    path = tmp_path / "presses.csv"
    path.write_text(HEAD + "".join(rows))
    return str(path)


def test_check_says_which_task_it_took_the_table_for_and_the_next_command(presses, penchant):
    found = penchant("check", presses)
    said = " ".join((found.out + found.err).split())
    assert "taken for the task go-no-go" in said
    assert "keyPressed 1 is go" in said
    assert "--model go-no-go" in said


def test_fit_takes_the_model_of_a_task(presses, penchant):
    found = penchant("fit", presses, "--task", "go-no-go", "--json", "--prior", "weak")
    estimates = json.loads(found.out)
    assert [p["name"] for p in estimates[0]["parameters"]] == [
        *("sensitivity", "bias", "pavlovian", "learning_rate")
    ]
    same = penchant("fit", presses, "--model", "go-no-go", "--json", "--prior", "weak")
    assert json.loads(same.out) == estimates


def test_models_describe_a_task_and_answer_for_other_names(penchant):
    assert "level1_choice, level2_choice, reward" in penchant("models", "--task", "two-step").out
    assert 'pn.models.TwoStep(trace="after")' in penchant("models", "ts_par7").out
    assert "has no counterpart: response times" in penchant("models", "choiceRT_ddm").out


def test_a_task_that_is_not_known_is_refused(presses, refused):
    assert "task must be one of two-step" in refused("fit", presses, "--task", "go")
    assert "task must be one of two-step" in refused("models", "--task", "go")


def test_a_flag_that_takes_a_word_is_given_one(presses, penchant, refused):
    words = ("two_sensitivities,pavlovian=by valence",)
    found = penchant(
        *("fit", presses, "--task", "go-no-go", "--settings", *words, "--json", "--prior", "weak")
    )
    names = [p["name"] for p in json.loads(found.out)[0]["parameters"]]
    assert "pavlovian_gain" in names
    assert "pavlovian must be True, False or 'by valence'" in refused(
        "fit", presses, "--task", "go-no-go", "--settings", "pavlovian=both"
    )
