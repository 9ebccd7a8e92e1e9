"""The folder for the analysis: rows, types, descriptions, pseudonyms, and the next command."""

import csv
import json
import tomllib
import tracemalloc

import pyarrow.parquet as pq
import pytest

pytest.importorskip("sqlalchemy", reason="penchant[task] is not installed")

from sqlalchemy import insert

from penchant.errors import DataError
from penchant.task.export import escape_formula, export
from penchant.task.session_store import decisions, sessions
from task.conftest import PLAIN, WHOLE, come, take
from task.test_choices import through

BANDIT = """
[study]
name = "walks"
seed = 3
[conditions]
variance = [4, 25]
[[block]]
task = "bandit"
decisions = 6
means = [30, 60, 45]
rewards = "restless"
step_sd = 5
[[block]]
task = "offers"
shuffle = false
[[block.offer]]
amount = [20, 50]
delay = [0, 30]
[[block.offer]]
amount = [-2, 3]
delay = [1, 7]
"""


def rows_of(folder, ending="_data.csv"):
    (file,) = (folder / "data").glob(f"*{ending}")
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_one_row_per_choice_with_pseudonyms_in_both_formats(serving, place, tmp_path):
    service = serving(place, WHOLE)
    for who in ("anna", "bert"):
        token = through(service, who)
        for t in range(3):
            take(service, token, t, 4 * t + 1, block=1)
    counts = export(service.store, tmp_path / "out")
    assert counts.counts == {"practice grid": 4, "grid": 6}
    rows = rows_of(tmp_path / "out", "task-grid_data.csv")
    assert [row["chosen"] for row in rows[:3]] == ["1", "5", "9"]
    assert len({row["subject"] for row in rows}) == 2 and {row["landscape"] for row in rows} == {
        "a",
        "b",
    }
    table = pq.read_table(tmp_path / "out" / "choices-grid.parquet").to_pylist()
    for row, other in zip(rows, table, strict=True):
        assert {name: "" if v is None else str(v) for name, v in other.items()} == row
    text = "".join(
        p.read_text()
        for p in (tmp_path / "out").rglob("*")
        if p.suffix != ".parquet" and p.is_file()
    )
    assert "anna" not in text and "bert" not in text
    practice = rows_of(tmp_path / "out", "description-practice_data.csv")
    assert {row["landscape"] for row in practice} == {"tiny"}


def test_ids_are_written_only_when_asked_for(serving, file, tmp_path):
    service = serving(file)
    take(service, come(service, "anna"), 0, 3)
    export(service.store, tmp_path / "ids", with_ids=True)
    assert rows_of(tmp_path / "ids")[0]["platform_id"] == "anna"


def test_a_restless_task_tells_its_means_and_offers_tell_theirs(serving, file, tmp_path):
    service = serving(file, BANDIT)
    token = come(service)
    for t in range(6):
        take(service, token, t, t % 3)
    service.begin_block(token, block=1, decision=0, window_number=None).result()
    for t in range(2):
        take(service, token, t, 1, block=1)
    assert export(service.store, tmp_path / "out").counts == {"bandit": 6, "offers": 2}
    rows = rows_of(tmp_path / "out", "task-bandit_data.csv")
    assert [rows[0][f"mean_{i}"] for i in (1, 2, 3)] == ["30.0", "60.0", "45.0"]
    assert rows[5]["mean_1"] != "30.0" and rows[0]["variance"] in ("4", "25")
    offers = rows_of(tmp_path / "out", "task-offers_data.csv")
    assert (offers[1]["amount_1"], offers[1]["delay_2"]) == ("-2.0", "7.0")
    assert "reward" not in offers[1]
    tasks = {p.name for p in (tmp_path / "out").glob("task*.toml")}
    assert tasks == {"task.toml", "task-offers.toml"}


def test_the_description_names_every_column(serving, file, tmp_path):  # Psych-DS
    service = serving(file, BANDIT)
    take(service, come(service), 0, 1)
    export(service.store, tmp_path / "out")
    told = json.loads((tmp_path / "out" / "dataset_description.json").read_text())
    assert told["@context"] == "https://schema.org/" and told["@type"] == "Dataset"
    assert {"name", "description", "variableMeasured"} <= set(told)
    named = {one["name"] for one in told["variableMeasured"]}
    assert named == set(rows_of(tmp_path / "out")[0])
    assert all(len(one["description"]) > 5 for one in told["variableMeasured"])


def test_events_are_lines_of_json(serving, file, tmp_path):
    service = serving(file)
    token = come(service)
    service.log_events(token, [("blur", {"ms": 4.5})], window_number=None).result()
    export(service.store, tmp_path / "out")
    lines = (tmp_path / "out" / "raw" / "events.jsonl").read_text().splitlines()
    kinds = [json.loads(line)["kind"] for line in lines]
    assert kinds == ["begun", "page: blur"]


def test_who_withdrew_is_not_exported(serving, file, tmp_path):
    service = serving(file)
    token = come(service, "gone")
    take(service, token, 0, 1)
    service.withdraw(token).result()
    take(service, come(service, "here"), 0, 2)
    assert export(service.store, tmp_path / "out").counts == {"grid": 1}


def test_text_that_a_spreadsheet_would_run_is_escaped(serving, file, tmp_path):
    assert [escape_formula(text) for text in ("=1", "+1", "-1", "@x", "\tx")] == [
        "'=1",
        "'+1",
        "'-1",
        "'@x",
        "'\tx",
    ]
    assert escape_formula(-1) == -1 and escape_formula("a=b") == "a=b"
    service = serving(file, PLAIN.replace('"slope"', '"=cmd()"'))
    take(service, come(service), 0, 1)
    export(service.store, tmp_path / "out")
    assert rows_of(tmp_path / "out")[0]["landscape"] == "'=cmd()"


def test_a_folder_that_holds_something_is_refused_and_left(serving, file, tmp_path):
    service = serving(file)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("keep")
    with pytest.raises(DataError, match="output must be a new folder"):
        export(service.store, tmp_path / "full")
    with pytest.raises(DataError, match="output must lie in an existing directory"):
        export(service.store, tmp_path / "no" / "where")
    assert [p.name for p in (tmp_path / "full").iterdir()] == ["mine.txt"]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_rows(serving, file, tmp_path):  # S63
    service = serving(file, PLAIN.replace("decisions = 4", "decisions = 90"))
    used = {}
    made = 0
    for people in (60, 180):

        def fill(connection, first=made, last=people):
            who = {"version": service.plan.version, "arrived": 1.0, "seen": 1.0, "stage": "end"}
            who |= {"outcome": "completed", "cell": 0, "attempts": 0, "block": 0, "decision": 90}
            who |= {"tab": 0, "total": 0.0}
            many = [{**who, "token": f"t{i}", "pseudonym": f"p{i}"} for i in range(first, last)]
            connection.execute(insert(sessions), many)
            row = {"block": 0, "option": 1, "reward": 2.0, "auto": False, "received": 1.0}
            rows = [
                {**row, "session": i + 1, "decision": t, "elapsed": 0.5, "client": "{}"}
                for i in range(first, last)
                for t in range(90)
            ]
            connection.execute(insert(decisions), rows)

        service.store.write(fill).result()
        made = people
        tracemalloc.start()
        counts = export(service.store, tmp_path / f"out{people}")
        used[people] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert counts.counts == {"grid": 90 * people}
    assert used[180] < 1.6 * used[60]


def play_blocks(service, who, option=0):
    """Play all blocks of a study, always the same option."""
    token = come(service, who)
    state = service.session_state(token).result()
    while state["stage"] != "end":
        block, n = state["block"]["index"], state["block"]["decisions"]
        service.begin_block(token, block=block, decision=0, window_number=None).result()
        for t in range(n):
            take(service, token, t, option, block=block)
        state = service.session_state(token).result()


def exported(service, folder):
    """What was said, and the task files by name."""
    summary = export(service.store, folder)
    files = sorted(
        folder.glob("task*.toml"), key=lambda file: (file.name != "task.toml", file.name)
    )
    return summary, {file.name: tomllib.loads(file.read_text()) for file in files}


def grid(settings):
    return f"[[block]]\ntask = 'grid'\ndecisions = 3\n{settings}\n"


def bandit(settings):
    return f"[[block]]\ntask = 'bandit'\ndecisions = 3\n{settings}\n"


def offers(settings):
    return f"[[block]]\ntask = 'offers'\n{settings}\n[[block.offer]]\namount=[1, 2]\ndelay=[0, 3]\n"


@pytest.mark.parametrize(
    ("study", "key", "values"),
    [
        (
            grid("width = 10\nheight = 10") + grid("width = 20\nheight = 5"),
            "grid",
            ["10x10", "20x5"],
        ),
        (grid("variance = 4") + grid("variance = 25"), "noise_variance", [4, 25]),
        (
            "[conditions]\nvariance = [4, 25]\n" + grid("width = 4\nheight = 3"),
            "noise_variance",
            [4, 25],
        ),
        (bandit("means = [4, 9]") + bandit("means = [4, 9, 6]"), "options", [["2"], ["3"]]),
        (
            offers("") + offers("order = 'adaptive'\nmodel = 'exponential'"),
            "model",
            ["hyperbolic", "exponential"],
        ),
    ],
)
def test_what_no_one_analysis_fits_is_in_tables_of_its_own(
    study, key, values, serving, file, tmp_path
):
    service = serving(file, study)
    for who in ("ann", "bob"):
        play_blocks(service, who)
    summary, tasks = exported(service, tmp_path / "out")
    assert [task[key] for task in tasks.values()] == values
    assert all("condition" not in task for task in tasks.values())  # each table has one
    assert len({task["table"] for task in tasks.values()}) == len(summary.counts) == 2
    (note,) = summary.notes
    assert f"{key} " in note and note in (tmp_path / "out" / "README.md").read_text()
    first, second = summary.commands(tmp_path / "out", "results")
    assert first == f"penchant study {tmp_path / 'out'} -o results"
    assert second.endswith(f"{list(tasks)[1]} -o results-{list(summary.counts)[1]}")


@pytest.mark.parametrize(
    "study",
    [
        bandit("means = [0.4, 0.9]\ndecimals = 2")
        + bandit("means = [0.4, 0.9]\nnoise='bernoulli'"),
        offers("currency = 'EUR'") + offers("currency = 'points'"),
    ],
)
def test_amounts_in_different_units_are_not_analysed_together(study, serving, file, tmp_path):
    service = serving(file, study)
    play_blocks(service, "ann")
    summary, tasks = exported(service, tmp_path / "out")
    assert len(tasks) == 2 and "unit" in summary.notes[0]


@pytest.mark.parametrize(
    ("study", "condition"),
    [
        ("[conditions]\nvariance = [4, 25]\n" + bandit("means = [4, 9]"), "variance"),
        ("[conditions]\ncurrency = ['EUR', 'points']\n" + offers(""), "currency"),
        ("[conditions]\ndecisions = [3, 4]\n[[block]]\ntask = 'grid'", "decisions"),
    ],
)
def test_conditions_that_one_analysis_fits_are_compared_in_one_table(
    study, condition, serving, file, tmp_path
):
    service = serving(file, study)
    for who in ("ann", "bob"):
        play_blocks(service, who)
    summary, tasks = exported(service, tmp_path / "out")
    assert tasks["task.toml"]["condition"] == [condition]
    assert len(tasks) == 1 and not summary.notes


def test_mean_rewards_that_changed_under_one_name_are_told_apart(serving, file, tmp_path):
    hill = "width = 2\nheight = 1\nlandscape = 'hill'\nmeans = "
    for who, means in (("ann", "[10, 50]"), ("bob", "[50, 10]"), ("cat", "[10, 50]")):
        play_blocks(serving(file, grid(hill + means)), who)
    summary, tasks = exported(serving(file, grid(hill + "[10, 50]")), tmp_path / "out")
    rows = rows_of(tmp_path / "out")
    assert [row["landscape"] for row in rows[::3]] == ["hill", "hill (2)", "hill"]
    with (tmp_path / "out" / tasks["task.toml"]["landscape"]).open(newline="") as stream:
        means = {
            (row["landscape"], row["option"]): row["mean_reward"] for row in csv.DictReader(stream)
        }
    assert means == {
        **{("hill", "0"): "10.0", ("hill", "1"): "50.0"},
        **{("hill (2)", "0"): "50.0", ("hill (2)", "1"): "10.0"},
    }
    assert "hill (2)" in summary.notes[0]


def test_a_study_file_whose_conditions_change_has_a_table_for_each(serving, file, tmp_path):
    play_blocks(serving(file, bandit("means = [4, 9]")), "ann")
    service = serving(file, "[conditions]\nvariance = [4, 25]\n" + bandit("means = [4, 9]"))
    for who in ("bob", "cat"):
        play_blocks(service, who)
    summary, tasks = exported(service, tmp_path / "out")
    assert summary.counts == {"bandit": 3, "bandit2": 6}
    assert "condition" not in tasks["task.toml"]
    assert tasks["task-bandit2.toml"]["condition"] == ["variance"]


def test_blocks_of_one_name_are_told_apart(serving, file, tmp_path):
    service = serving(file, 2 * bandit("name = 'main'\nmeans = [4, 9]"))
    play_blocks(service, "ann")
    export(service.store, tmp_path / "out")
    assert [row["block"] for row in rows_of(tmp_path / "out")[::3]] == ["main (1)", "main (2)"]


def test_an_export_without_choices_names_no_next_command(serving, file, tmp_path):
    summary = export(serving(file).store, tmp_path / "out")
    assert not summary.commands(tmp_path / "out", "results")
    assert "penchant study" not in (tmp_path / "out" / "README.md").read_text()
