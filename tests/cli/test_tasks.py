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


def test_a_fit_without_a_model_names_the_task_of_the_columns(presses, refused):
    said = refused("fit", presses)
    assert "--model must be given with the columns of a task" in said
    assert "--task go-no-go, or --model go-no-go" in said


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


def test_a_named_task_is_compared_and_predicted_row_by_row(presses, penchant, tmp_path):
    named = ("--task", "go-no-go", "--model", "go-no-go")
    found = penchant("compare", presses, *named, "--model", "random", "--criterion", "bic")
    assert "go-no-go" in found.out
    rows = tmp_path / "rows.csv"
    penchant("predict", presses, *named, "--output", str(rows))
    head, *lines = rows.read_text().splitlines()
    assert {'"cue"', '"keyPressed"', '"probability"', '"cue_value"'} <= set(head.split(","))
    assert len(lines) == 160


def test_a_task_stands_for_its_model_in_predictions_studies_and_populations(
    presses, penchant, refused, tmp_path
):
    told = (presses, "--task", "go-no-go")
    found = penchant("predict", *told)
    assert "cue_value" in found.out.splitlines()[0].split(",")
    assert found.out == penchant("predict", *told, "--model", "go-no-go").out
    wrong = ("--settings", "pavlovian=both")  # of the model: it is known before anything is read
    said = refused("study", *told, *wrong, "-o", tmp_path / "found")
    assert "pavlovian must be True, False or 'by valence'" in said
    assert "must hold at least 5 subjects for a population; got 2" in refused("population", *told)


def test_offers_of_a_task_are_fitted_by_its_model_with_its_settings(penchant, tmp_path):
    rng, path = np.random.default_rng(6), tmp_path / "boxes.csv"
    rows = [
        f"{s},{rng.integers(0, 2)},{rng.choice([5, 25, 50, 75, 95])},{rng.integers(50, 200)},"
        f"{rng.integers(0, 2)},{rng.integers(1, 10)}\n"
        for s in (1, 2)
        for _ in range(40)
    ]
    head = "subjID,gamble_type,percentage_staked,trial_initial_points,red_chosen,n_red_boxes\n"
    path.write_text(head + "".join(rows))
    checked = penchant("check", str(path))
    said = " ".join((checked.out + checked.err).split())
    assert "taken for the task cambridge: stakes" in said
    assert "--model cambridge" in said
    for task, name in (("cambridge", "impatience"), ("cambridge-colours", "colour_bias")):
        found = penchant("fit", str(path), "--task", task, "--json", "--prior", "weak")
        assert name in {p["name"] for p in json.loads(found.out)[0]["parameters"]}
