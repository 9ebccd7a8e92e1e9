"""The folder for the analysis: rows, types, descriptions, pseudonyms, and the next command."""

import csv
import json
import tracemalloc

import pyarrow.parquet as pq
import pytest

pytest.importorskip("sqlalchemy", reason="penchant[task] is not installed")

from sqlalchemy import insert

from penchant.errors import DataError
from penchant.task.exporting import export, inert
from penchant.task.store import decisions, sessions
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
    assert counts == {"practice grid": 4, "grid": 6}
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
    service.begin(token, block=1, decision=0, tab=None).result()
    for t in range(2):
        take(service, token, t, 1, block=1)
    assert export(service.store, tmp_path / "out") == {"bandit": 6, "offers": 2}
    rows = rows_of(tmp_path / "out", "task-bandit_data.csv")
    assert [rows[0][f"mean_{i}"] for i in (1, 2, 3)] == ["30.0", "60.0", "45.0"]
    assert rows[5]["mean_1"] != "30.0" and rows[0]["variance"] in ("4", "25")
    offers = rows_of(tmp_path / "out", "task-offers_data.csv")
    assert (offers[1]["amount_1"], offers[1]["delay_2"], offers[1]["reward"]) == ("-2.0", "7.0", "")
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
    service.note(token, [("blur", {"ms": 4.5})], tab=None).result()
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
    assert export(service.store, tmp_path / "out") == {"grid": 1}


def test_text_that_a_spreadsheet_would_run_is_escaped(serving, file, tmp_path):
    assert [inert(text) for text in ("=1", "+1", "-1", "@x", "\tx")] == [
        "'=1",
        "'+1",
        "'-1",
        "'@x",
        "'\tx",
    ]
    assert inert(-1) == -1 and inert("a=b") == "a=b"
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
        assert counts == {"grid": 90 * people}
    assert used[180] < 1.6 * used[60]
