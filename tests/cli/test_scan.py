"""`penchant fit` of a folder or a pattern: read chunk by chunk, the same estimate."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penchant as pn
from logs import choices_of_people, offers_of_people, play_of, written
from penchant.cli.main import run
from trips import COLUMNS, table_of

ARGUMENTS = ["--decision", "trip", "--option", "mode", "--chosen", "taken", "--json"]


@pytest.fixture
def folder(tmp_path):
    for k in range(3):
        pq.write_table(table_of(k, n=60, first=100 * k), tmp_path / f"log{k}.parquet")
    return tmp_path


def _memory(folder, **options):
    table = pa.concat_tables([pq.read_table(folder / f"log{k}.parquet") for k in range(3)])
    given = COLUMNS | {"explanatory": ["x1", "x2"], "subject": "person"}
    return pn.fit(pn.Choices.from_frame(table, **given), **options)


@pytest.mark.parametrize("pattern", ["", "*.parquet"])
def test_a_folder_or_a_pattern_gives_the_estimate_of_all_files(folder, capsys, pattern):
    file = str(folder / pattern) if pattern else str(folder)
    assert run(["fit", file, *ARGUMENTS, "--explanatory", "x1,x2"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert found["status"] == "converged"
    estimates = [p["estimate"] for p in found["parameters"]]
    np.testing.assert_allclose(estimates, _memory(folder).theta, rtol=1e-12)
    assert "of 3 files in 1 chunk" in printed.err


def test_clustered_errors_of_a_folder_are_those_of_memory(folder, capsys):
    given = ["--explanatory", "x1,x2", "--subject", "person", "--covariance", "clustered"]
    assert run(["fit", str(folder), *ARGUMENTS, *given]) == 0
    found = json.loads(capsys.readouterr().out)["parameters"]
    errors = _memory(folder, covariance="clustered").standard_errors
    np.testing.assert_allclose([p["standard_error"] for p in found], errors, rtol=1e-9)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--wide"], "--wide must be left out with several files"),
        (["--constants", "bus"], "--constants must be left out with several files"),
        (["--method", "firth"], "--method must be left out with several files"),
        (["--where", "x1 > 0"], "--where must be left out with several files"),
        (["--subject", "person", "-o", "x.csv"], "--output must end in .parquet for several files"),
    ],
)
def test_what_a_scan_cannot_do_is_refused(folder, capsys, given, words):
    assert run(["fit", str(folder), *ARGUMENTS, "--explanatory", "x1", *given]) == 2
    assert words in capsys.readouterr().err


CHOICES = ["--subject", "who", "--explanatory", "price,wait", "--decision", "task"]


def _command(kind, folder, *more):
    """Logs of nine people in two files, the command, and the estimates in memory."""
    people = [f"s{k}" for k in range(9)]
    if kind == "play":
        table, given = play_of(people), ["--model", "q-learning", "--subject", "who"]
        columns = {"chosen": "choice", "reward": "reward", "subject": "who", "decision": "trial"}
        memory = pn.fit_each(pn.episodes_from_frame(table, **columns), pn.QLearning(2))
    elif kind == "offers":
        table, given = offers_of_people(people), ["--model", "hyperbolic", "--subject", "who"]
        memory = pn.fit_each(pn.offers_from_frame(table, subject="who"), pn.HyperbolicDiscounting())
    else:
        table, given = choices_of_people(people), CHOICES
        columns = {"decision": "task", "option": "option", "chosen": "chosen", "subject": "who"}
        memory = pn.fit_each(pn.Choices.from_frame(table, **columns, explanatory=["price", "wait"]))
    written(table, folder / "logs", [90])
    return ["fit", str(folder / "logs" / "*.parquet"), *given, *more], memory


@pytest.mark.parametrize("kind", ["play", "offers", "choices"])
def test_many_people_in_files_are_written_one_row_each(tmp_path, capsys, kind):
    arguments, memory = _command(kind, tmp_path, "-o", str(tmp_path / "out.parquet"))
    assert run(arguments) == 0
    printed = capsys.readouterr()
    assert "Estimates of 9 subjects" in printed.out
    assert f"Written: {tmp_path}/out.parquet" in printed.err
    found = pq.read_table(tmp_path / "out.parquet")
    assert found["subject"].to_pylist() == list(memory.subjects)
    assert found["status"].to_pylist() == list(memory.status)
    np.testing.assert_allclose(found["log_likelihood"], memory.log_likelihood, rtol=1e-12)
    assert run([*arguments, "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["counts"] == memory.counts()
    assert "Resumed: 1 portions" in printed.err


def test_labels_of_options_are_found_in_all_files(tmp_path, capsys):
    arguments, memory = _command("play", tmp_path, "--json")
    for path in (tmp_path / "logs").iterdir():
        table = pq.read_table(path)
        words = pa.array(np.array(["left", "right"])[table["choice"].to_numpy()])
        pq.write_table(table.set_column(2, "choice", words), path)
    assert run(arguments) == 0
    printed = capsys.readouterr()
    assert "Options: left = 0, right = 1." in printed.err
    assert json.loads(printed.out)["counts"] == memory.counts()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--linearized", "1,2"], "--linearized must be left out with several files"),
        (["--method", "firth"], "--method must be left out with --model"),
        (["--where", "trial > 2"], "--where must be left out with several files"),
    ],
)
def test_what_a_scan_of_play_cannot_do_is_refused(tmp_path, capsys, given, words):
    arguments, _ = _command("play", tmp_path, *given)
    assert run(arguments) == 2
    assert words in capsys.readouterr().err


def _made(kind, folder, command, *more):
    arguments, _ = _command(kind, folder)
    return [command, *arguments[1:], *more]


def test_predictions_of_files_are_those_of_one_table(tmp_path, capsys):
    arguments = _made("play", tmp_path, "predict", "-o", str(tmp_path / "out.parquet"))
    assert run(arguments) == 0
    assert "216 events, 216 decisions predicted: log-likelihood" in capsys.readouterr().out
    found = pq.read_table(tmp_path / "out.parquet")
    logs = [pq.read_table(path) for path in sorted((tmp_path / "logs").iterdir())]
    pq.write_table(pa.concat_tables(logs), tmp_path / "one.parquet")
    arguments[1] = str(tmp_path / "one.parquet")
    arguments[-1] = str(tmp_path / "memory.parquet")
    assert run(arguments) == 0
    memory = pq.read_table(tmp_path / "memory.parquet")
    np.testing.assert_allclose(found["probability"], memory["probability"], rtol=1e-9)
    assert found["subject"].to_pylist() == memory["who"].to_pylist()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ([], "--output must be a .parquet file for several files; got none"),
        (["--check", "20", "--seed", "1"], "--check must be left out with several files"),
    ],
)
def test_what_cannot_be_predicted_of_files_is_refused(tmp_path, capsys, more, words):
    assert run(_made("play", tmp_path, "predict", *more)) == 2
    assert words in capsys.readouterr().err


def _pooled(kind, folder):
    """One set of parameters for the nine people of the files, in memory."""
    logs = pa.concat_tables([pq.read_table(path) for path in sorted((folder / "logs").iterdir())])
    if kind == "offers":
        return pn.fit(pn.offers_from_frame(logs, subject="who"), pn.HyperbolicDiscounting())
    columns = {"chosen": "choice", "reward": "reward", "subject": "who", "decision": "trial"}
    return pn.fit(pn.episodes_from_frame(logs, **columns), pn.QLearning(2))


@pytest.mark.parametrize("kind", ["play", "offers"])
def test_people_of_files_are_fitted_together(tmp_path, capsys, kind):
    arguments, _ = _command(kind, tmp_path, "--pool", "--json", "-o", str(tmp_path / "one.json"))
    assert run(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    expected = _pooled(kind, tmp_path)
    assert found["log_likelihood"] == pytest.approx(expected.log_likelihood, rel=1e-10)
    assert json.loads((tmp_path / "one.json").read_text())["status"] == expected.status


@pytest.mark.parametrize("kind", ["play", "offers"])
def test_files_without_subjects_are_one_history(tmp_path, capsys, kind):
    arguments, _ = _command(kind, tmp_path, "--json")
    for path in (tmp_path / "logs").iterdir():
        table = pq.read_table(path).drop_columns(["who"])
        drop = ["trial"] if kind == "play" else []
        pq.write_table(table.drop_columns(drop), path)
    arguments = [word for word in arguments if word not in ("--subject", "who")]
    assert run(arguments) in (0, 1)
    assert json.loads(capsys.readouterr().out)["n_decisions"] in (216, 180)
    assert run(["check", *arguments[1:]]) in (0, 1)
    assert json.loads(capsys.readouterr().out)["n_decisions"] in (216, 180)
    assert run(["population", *arguments[1:]]) == 2
    assert "--subject must name a column for" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["play", "offers"])
def test_one_set_of_parameters_predicts_every_event_of_files(tmp_path, capsys, kind):
    arguments = _made(kind, tmp_path, "predict", "--pool", "--prior", "none", "--json")
    assert run([*arguments, "-o", str(tmp_path / "out.parquet")]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = _pooled(kind, tmp_path)
    assert found["predicted"] == found["rows"] == expected.n_decisions
    assert found["log_likelihood"] == pytest.approx(expected.log_likelihood, rel=1e-9)
    assert pq.read_table(tmp_path / "out.parquet")["subject"].to_pylist()[0] == "s0"


def test_predictions_of_offers_in_files_are_one_row_each(tmp_path, capsys):
    arguments = _made("offers", tmp_path, "predict", "-o", str(tmp_path / "out.parquet"))
    assert run(arguments) == 0
    assert "180 events, 180 decisions predicted" in capsys.readouterr().out


@pytest.mark.parametrize(("kind", "rival"), [("play", "random"), ("offers", "exponential")])
def test_models_of_files_are_compared(tmp_path, capsys, kind, rival):
    assert run(_made(kind, tmp_path, "compare", "--model", rival, "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in found["models"]][1] == rival
    assert len(found["subjects"]) == 9
    assert run(_made(kind, tmp_path, "compare", "--model", rival, "--folds", "3")) == 2
    assert "criterion must be 'aic' or 'bic' for a scan, without folds" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["play", "offers", "choices"])
def test_a_population_of_files_is_fitted(tmp_path, capsys, kind):
    arguments = _made(kind, tmp_path, "population", "--json")
    if kind == "play":
        written(play_of([f"s{k}" for k in range(9)], n=60, seed=6), tmp_path / "logs", [90])
        arguments += ["--random", "temperature"]
    assert run(arguments) in (0, 1)
    assert json.loads(capsys.readouterr().out)["n_subjects"] == 9


@pytest.mark.parametrize("kind", ["play", "offers", "choices"])
def test_check_says_of_how_many_people_in_files_an_estimate_exists(tmp_path, capsys, kind):
    arguments = _made(kind, tmp_path, "check", "--json")
    assert run(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["n_subjects"] == 9 and sum(found["counts"].values()) == 9


def test_check_of_files_without_subjects_says_whether_an_estimate_exists(folder, capsys):
    assert run(["check", str(folder), *ARGUMENTS[:-1], "--explanatory", "x1,x2"]) == 0
    assert "Status: converged." in capsys.readouterr().out
