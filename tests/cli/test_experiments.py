"""Choice experiments given to `compare` and `predict`: told which lines of Python take them."""

import pytest

from cli.trips import csv
from laboratory_files import shoppers, survey

LINES = "write in Python: "


@pytest.fixture
def surveyed(folder, monkeypatch):
    """A table with attributes in words, wide columns and an option to take neither."""
    rows = survey(shoppers(n_people=3, n_decisions=20))
    text = csv([list(row.values()) for row in rows], list(rows[0]))
    (folder / "survey.csv").write_text(text, encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder / "survey.csv"


def done(error):
    """What the lines of Python at the end of a sentence make."""
    made = {}
    exec(error.split(LINES)[1].rstrip("."), made)
    return made


@pytest.mark.parametrize("models", [[], ["--model", "hyperbolic", "--model", "exponential"]])
def test_a_choice_experiment_to_compare_is_told_lines_that_compare_it(
    refused, surveyed, models, capsys
):
    said = refused("compare", "survey.csv", *models)
    assert "FILE must be task data or one-shot choices between offers for penchant compare" in said
    assert "got a choice experiment (options with attributes), survey.csv" in said
    done(said)
    assert "2 models of 3 subjects" in capsys.readouterr().out


@pytest.mark.parametrize("model", [[], ["--model", "q-learning"]])
def test_a_choice_experiment_to_predict_is_told_lines_that_predict_it(refused, surveyed, model):
    said = refused("predict", "survey.csv", "--subject", "subject", *model)
    assert "reading = pn.read('survey.csv', subject='subject')" in said
    found = done(said)["found"]
    assert {who: p.shape for who, p in found.items()} == dict.fromkeys(
        ("p01", "p02", "p03"), (20, 3)
    )
    together = refused("predict", "survey.csv", "--pool", *model)
    assert done(together)["found"].shape == (60, 3)


def test_other_tables_are_told_what_is_wrong_with_them(refused, folder):
    (folder / "play.csv").write_text("subject,trial,chosen,reward\na,1,0,1\na,2,1,0\n")
    assert "--model must be given, once for each model" in refused("compare", "play.csv")
    assert "--model must be given; got none" in refused("predict", "play.csv")
