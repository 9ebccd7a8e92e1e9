"""What was interrupted goes on: nobody is fitted twice, nobody is lost, the bytes are the same."""

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penchant as pn
from logs import choices_of_people, offers_of_people, play_of, play_on_a_map, written
from penchant.scale import chunked_scan, subject_history_scan

PEOPLE = [f"s{k:02d}" for k in range(7)]
CHOICES = {"decision": "task", "option": "option", "chosen": "chosen", "subject": "who"}
CHOICES |= {"explanatory": ["price", "wait"]}
MAP = pn.UCL(locations=pn.grid(5, 5), noise_variance=9.0, length_scale=2.0)


class Interrupted(Executor):
    """An executor that does some tasks and is then interrupted, or counts them all."""

    def __init__(self, most=None):
        self.most = most
        self.n_done = 0

    def submit(self, work, /, *args, **options):
        future = Future()
        if self.n_done == self.most:
            future.set_exception(KeyboardInterrupt())
        else:
            self.n_done += 1
            future.set_result(work(*args, **options))
        return future


@pytest.fixture
def scanned(tmp_path, monkeypatch):
    monkeypatch.setattr(subject_history_scan, "MAX_SUBJECTS_PER_BATCH", 2)
    monkeypatch.setattr(chunked_scan, "MAX_CHOOSERS_PER_BATCH", 2)
    return pn.scan(written(play_of(PEOPLE), tmp_path / "logs", [70, 100]), subject="who")


def _expected(scanned, tmp_path):
    pn.fit_each(scanned, pn.QLearning(2), output=tmp_path / "whole.parquet")
    return (tmp_path / "whole.parquet").read_bytes()


@pytest.mark.parametrize("done", [0, 1, 3])
def test_an_interrupted_fit_goes_on_where_it_was(scanned, tmp_path, done):
    output = tmp_path / "out.parquet"
    with pytest.raises(KeyboardInterrupt):
        pn.fit_each(scanned, pn.QLearning(2), output=output, engine=Interrupted(done))
    assert not output.exists()
    engine = Interrupted()
    found = pn.fit_each(scanned, pn.QLearning(2), output=output, engine=engine)
    assert (found.n_resumed, engine.n_done) == (done, 4 - done)
    assert output.read_bytes() == _expected(scanned, tmp_path)
    assert found["subject"].tolist() == PEOPLE
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "logs",
        "out.parquet",
        "whole.parquet",
    ]


@pytest.mark.parametrize("kind", ["ucl", "offers", "choices"])
def test_people_of_every_kind_go_on_where_they_were(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(subject_history_scan, "MAX_SUBJECTS_PER_BATCH", 2)
    monkeypatch.setattr(chunked_scan, "MAX_CHOOSERS_PER_BATCH", 2)
    table, given, model = {
        "ucl": (play_on_a_map(PEOPLE), {"subject": "who"}, MAP),
        "offers": (offers_of_people(PEOPLE), {"subject": "who"}, pn.HyperbolicDiscounting()),
        "choices": (choices_of_people(PEOPLE), CHOICES, None),
    }[kind]
    scanned = pn.scan(written(table, tmp_path / "logs", [60]), **given)
    models = () if model is None else (model,)
    pn.fit_each(scanned, *models, output=tmp_path / "whole.parquet", threads=1)
    output = tmp_path / "out.parquet"
    with pytest.raises(KeyboardInterrupt):
        pn.fit_each(scanned, *models, output=output, engine=Interrupted(2))
    found = pn.fit_each(scanned, *models, output=output)
    assert found.n_resumed == 2
    assert output.read_bytes() == (tmp_path / "whole.parquet").read_bytes()


def test_a_fit_that_is_done_is_not_done_again(scanned, tmp_path):
    _expected(scanned, tmp_path)
    engine = Interrupted()
    found = pn.fit_each(scanned, pn.QLearning(2), output=tmp_path / "whole.parquet", engine=engine)
    assert engine.n_done == 0 and found.n_resumed == 4
    with pytest.raises(
        pn.errors.DataError, match=r"output must not exist; got .*whole.parquet, which do"
    ):
        pn.fit_each(scanned, pn.models.RandomChoice(2), output=tmp_path / "whole.parquet")
    other = pn.fit_each(
        scanned, pn.models.RandomChoice(2), output=tmp_path / "whole.parquet", overwrite=True
    )
    assert other.n_resumed == 0


def test_what_was_done_for_another_model_prior_or_level_is_done_again(scanned, tmp_path):
    output = tmp_path / "out.parquet"
    for options in ({}, {"parameter_prior": pn.ScaledPrior()}, {"level": 0.9}):
        engine = Interrupted(2)
        with pytest.raises(KeyboardInterrupt):
            pn.fit_each(scanned, pn.QLearning(2), output=output, engine=engine, **options)
        assert engine.n_done == 2
    engine = Interrupted()
    pn.fit_each(scanned, pn.QLearning(2, stickiness=True), output=output, engine=engine)
    assert engine.n_done == 4


def test_only_subjects_whose_file_has_changed_are_fitted_again(scanned, tmp_path):
    output = tmp_path / "out.parquet"
    with pytest.raises(KeyboardInterrupt):
        pn.fit_each(scanned, pn.QLearning(2), output=output, engine=Interrupted(3))
    path = tmp_path / "logs" / "log2.parquet"  # the last 68 rows, of s04 to s06
    table = pq.read_table(path)
    pq.write_table(table.set_column(3, "reward", pa.array([1.0, 0.0] * 34)), path)
    engine = Interrupted()
    again = pn.scan(tmp_path / "logs", subject="who")
    found = pn.fit_each(again, pn.QLearning(2), output=output, engine=engine)
    assert (found.n_resumed, engine.n_done) == (2, 2)
    assert output.read_bytes() == _expected(again, tmp_path)


def test_a_part_that_is_damaged_is_made_again(scanned, tmp_path):
    output = tmp_path / "out.parquet"
    with pytest.raises(KeyboardInterrupt):
        pn.fit_each(scanned, pn.QLearning(2), output=output, engine=Interrupted(3))
    parts = sorted((tmp_path / ".out.parquet.parts").iterdir())
    assert len(parts) == 3
    parts[1].write_bytes(parts[1].read_bytes()[:-40])
    found = pn.fit_each(scanned, pn.QLearning(2), output=output)
    assert found.n_resumed == 2
    assert output.read_bytes() == _expected(scanned, tmp_path)


def test_a_sort_is_not_repeated(tmp_path, monkeypatch):
    pytest.importorskip("duckdb")
    monkeypatch.setattr(chunked_scan, "MAX_CHOOSERS_PER_BATCH", 2)
    table = choices_of_people(PEOPLE)
    rows = pa.array([k for start in (0, 1) for k in range(len(table)) if k // 3 % 2 == start])
    pq.write_table(table.take(rows), tmp_path / "log.parquet")
    scanned = pn.scan(tmp_path / "log.parquet", **CHOICES)
    output = tmp_path / "out.parquet"
    with (
        pytest.raises(KeyboardInterrupt),
        pytest.warns(pn.errors.PenchantWarning, match="they are sorted first"),
    ):
        pn.fit_each(scanned, output=output, engine=Interrupted(2))
    found = pn.fit_each(scanned, output=output)  # without a warning: there is no sort
    assert found.n_resumed == 2
    assert found["subject"].tolist() == PEOPLE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "model"),
    [
        (play_of, ["q-learning"]),
        (play_on_a_map, ["ucl", "--grid", "5x5", "--noise-variance", "9", "--length-scale", "2"]),
        (offers_of_people, ["hyperbolic"]),
    ],
)
def test_a_command_that_is_killed_at_random_moments_ends_with_the_same_bytes(tmp_path, made, model):
    folder = written(made([f"p{k:04d}" for k in range(2000)], n=12), tmp_path / "logs", [9001])
    command = [sys.executable, "-m", "penchant", "fit", str(folder), "--model", *model]
    command += ["--subject", "who", "--threads", "1", "-o"]
    subprocess.run([*command, str(tmp_path / "whole.parquet")], check=True, capture_output=True)
    output, rng = tmp_path / "out.parquet", random.Random(4)
    parts = tmp_path / ".out.parquet.parts"
    for least in (1, 3, 5):
        with subprocess.Popen(
            [*command, str(output)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as running:
            while running.poll() is None:
                if parts.exists() and len(list(parts.glob("[0-9]*.parquet"))) >= least:
                    break
                time.sleep(0.01)
            time.sleep(rng.random() * 0.3)
            os.kill(running.pid, signal.SIGKILL)
            running.communicate()
        assert not output.exists()
    done = subprocess.run([*command, str(output)], check=True, capture_output=True, text=True)
    assert "Resumed: " in done.stderr
    assert output.read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert not parts.exists()
