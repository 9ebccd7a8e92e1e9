"""One estimate per subject of files: the numbers of memory, whichever file subjects lie in."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penchant as pn
from logs import choices_of_people, offers_of_people, play_of, written
from penchant.scale import chunked_scan, subject_history_scan

PEOPLE = [f"s{k:02d}" for k in (3, 1, 2, 9, 8, 7, 4)]
CHOICES = {"decision": "task", "option": "option", "chosen": "chosen", "subject": "who"}
CHOICES |= {"explanatory": ["price", "wait"]}


@pytest.fixture
def small(monkeypatch):
    """Portions of two subjects, so that there are several."""
    monkeypatch.setattr(subject_history_scan, "MAX_SUBJECTS_PER_BATCH", 2)
    monkeypatch.setattr(chunked_scan, "MAX_CHOOSERS_PER_BATCH", 2)


def _case(kind):
    """Table, arguments of the scan, model, and the data in memory."""
    if kind == "play":
        table = play_of(PEOPLE)
        columns = {"subject": "who", "decision": "trial", "chosen": "choice", "reward": "reward"}
        return table, columns, pn.QLearning(2), pn.episodes_from_frame(table, **columns)
    if kind == "offers":
        table = offers_of_people(PEOPLE)
        return table, {"subject": "who"}, pn.HyperbolicDiscounting(), _offers(table)
    table = choices_of_people(PEOPLE)
    return table, CHOICES, None, pn.Choices.from_frame(table, **CHOICES)


def _offers(table):
    return pn.offers_from_frame(table, subject="who")


def _same(found, memory, order):
    expected = memory.to_frame(backend="pyarrow")
    labels = expected["subject"].to_pylist()
    expected = expected.take([labels.index(label) for label in order])
    table = found.to_frame("pyarrow")
    assert table.column_names == expected.column_names
    for name in table.column_names:
        one, other = table[name].to_pylist(), expected[name].to_pylist()
        if isinstance(other[0], float):
            np.testing.assert_allclose(one, other, rtol=1e-10)
        else:
            assert one == other, name


@pytest.mark.parametrize("kind", ["play", "offers", "choices"])
def test_subjects_that_stand_together_are_used_as_they_are(kind, small, tmp_path):
    table, columns, model, data = _case(kind)
    cut = 90 if kind == "choices" else 70  # in the middle of a subject: of a decision, never
    folder = written(table, tmp_path / "logs", [cut])
    found = pn.fit_each(pn.scan(folder, **columns), *([model] if model else []))
    _same(found, pn.fit_each(data, *([model] if model else [])), PEOPLE)
    assert found.n_resumed == 0 and len(found) == len(PEOPLE)


@pytest.mark.parametrize("kind", ["play", "offers", "choices"])
def test_subjects_that_lie_here_and_there_are_sorted_once(kind, small, tmp_path):
    pytest.importorskip("duckdb")
    table, columns, model, data = _case(kind)
    given = [model] if model else []
    size = 45 if kind == "choices" else len(table) // len(PEOPLE)
    first = np.concatenate([np.arange(k * size, k * size + size - 15) for k in range(7)])
    second = np.setdiff1d(np.arange(len(table)), first)
    folder = tmp_path / "logs"
    folder.mkdir()
    pq.write_table(table.take(pa.array(first)), folder / "a.parquet", row_group_size=31)
    pq.write_table(table.take(pa.array(second)), folder / "b.parquet")
    words = r"rows of a subject do not stand together in the files: they are sorted first, [\d,]+ r"
    with pytest.warns(pn.errors.PenchantWarning, match=words):
        found = pn.fit_each(pn.scan(folder, **columns), *given)
    _same(found, pn.fit_each(data, *given), sorted(PEOPLE))


def test_names_of_decisions_that_start_afresh_in_each_file_stay_apart_when_sorted(tmp_path):
    pytest.importorskip("duckdb")
    parts = [choices_of_people(["b", "a"], n=12, seed=seed) for seed in (5, 6)]
    for k, part in enumerate(parts):
        pq.write_table(part, tmp_path / f"{k}.parquet")
    renamed = pa.array(parts[1]["task"].to_numpy() + 1000)
    whole = pa.concat_tables([parts[0], parts[1].set_column(1, "task", renamed)])
    with pytest.warns(pn.errors.PenchantWarning, match="do not stand together"):
        found = pn.fit_each(pn.scan(tmp_path, **CHOICES))
    assert found["n_decisions"].tolist() == [24, 24]
    _same(found, pn.fit_each(pn.Choices.from_frame(whole, **CHOICES)), ["a", "b"])


def test_subjects_may_be_numbers_of_several_widths(small, tmp_path):
    table = play_of([7, 3, 5], n=12)
    narrow = table.set_column(0, "who", table["who"].cast(pa.int32()))
    pq.write_table(table.slice(0, 18), tmp_path / "a.parquet")
    pq.write_table(narrow.slice(18), tmp_path / "b.parquet")
    found = pn.fit_each(pn.scan(tmp_path, subject="who"), pn.QLearning(2))
    assert found["subject"].tolist() == [7, 3, 5]
    assert found["n_decisions"].tolist() == [12, 12, 12]


def test_engines_give_the_same_bytes(small, tmp_path):
    folder = written(play_of(PEOPLE), tmp_path / "logs", [70])
    given = pn.scan(folder, subject="who"), pn.QLearning(2)
    pn.fit_each(*given, output=tmp_path / "one.parquet", threads=1)
    pn.fit_each(*given, output=tmp_path / "two.parquet", threads=2)
    expected = (tmp_path / "one.parquet").read_bytes()
    assert (tmp_path / "two.parquet").read_bytes() == expected
    with ThreadPoolExecutor(2) as pool:
        pn.fit_each(*given, output=tmp_path / "pool.parquet", engine=pool)
    assert (tmp_path / "pool.parquet").read_bytes() == expected


@pytest.mark.slow
def test_processes_and_a_cluster_give_the_same_bytes(small, tmp_path):
    distributed = pytest.importorskip("distributed")
    folder = written(play_of(PEOPLE), tmp_path / "logs", [70])
    given = pn.scan(folder, subject="who"), pn.QLearning(2)
    pn.fit_each(*given, output=tmp_path / "one.parquet", threads=1)
    expected = (tmp_path / "one.parquet").read_bytes()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        pn.fit_each(*given, output=tmp_path / "processes.parquet", engine=pool)
    assert (tmp_path / "processes.parquet").read_bytes() == expected
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pn.fit_each(*given, output=tmp_path / "cluster.parquet", engine=client)
    assert (tmp_path / "cluster.parquet").read_bytes() == expected


def test_stored_estimates_are_read_by_column_subject_and_summary(small, tmp_path):
    folder = written(play_of(PEOPLE), tmp_path / "logs", [])
    found = pn.fit_each(
        pn.scan(folder, subject="who"), pn.QLearning(2), output=tmp_path / "out.parquet"
    )
    memory = pn.fit_each(
        pn.episodes_from_frame(play_of(PEOPLE), chosen="choice", reward="reward", subject="who"),
        pn.QLearning(2),
    )
    one = memory.of("s09")
    assert found.names == ("temperature", "learning_rate")
    assert found.row("s09")["log_likelihood"] == pytest.approx(one.log_likelihood, rel=1e-12)
    again = found.of("s09")
    assert again.subject == "s09"
    assert again.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-12)
    assert found.counts() == memory.counts()
    assert repr(found).startswith("<StoredEstimates of 7 subjects: ")
    assert "learning_rate" in found.summary() and "of 168 rows of 1 file" in found.summary()
    assert found.to_dict()["parameters"][1]["name"] == "learning_rate"
    assert sum(len(group) for group in found.groups()) == 7
    with pytest.raises(pn.errors.DataError, match="subject must be one of the 7 fitted; got 's77'"):
        found.of("s77")
    with pytest.raises(
        pn.errors.DataError, match=r"column must be one of subject, status, .*got 'x'"
    ):
        found["x"]


def test_without_an_output_the_file_goes_with_the_object(tmp_path):
    folder = written(play_of(PEOPLE[:2]), tmp_path / "logs", [])
    found = pn.fit_each(pn.scan(folder, subject="who"), pn.QLearning(2))
    path = found.path
    assert path.exists()
    del found
    assert not path.exists()


def test_what_cannot_be_fitted_says_so(tmp_path):
    folder = written(play_of(PEOPLE[:2]), tmp_path / "logs", [])
    nobody = pn.scan(folder, subject="none")
    model = pn.QLearning(2)
    with pytest.raises(
        pn.errors.DataError, match="subject must be given for one estimate per subject of"
    ):
        pn.fit_each(nobody, model)
    with pytest.raises(
        pn.errors.DataError, match="model must be given with a scan of play; got none"
    ):
        pn.fit_each(pn.scan(folder, subject="who"))
    with pytest.raises(
        pn.errors.DataError, match="covariance and max_steps must be left out with a mod"
    ):
        pn.fit_each(pn.scan(folder, subject="who"), model, covariance="robust")
    with pytest.raises(
        pn.errors.DataError, match=r"output must end in .parquet for a scan; got .*csv"
    ):
        pn.fit_each(pn.scan(folder, subject="who"), model, output=tmp_path / "out.csv")
    with pytest.raises(
        pn.errors.DataError, match="output must not be one of the files that are scanned"
    ):
        pn.fit_each(
            pn.scan(folder, subject="who"), model, output=folder / "log0.parquet", overwrite=True
        )
    with pytest.raises(
        pn.errors.DataError, match="intervals must be 'wald' or 'profile' for a scan"
    ):
        pn.fit_each(pn.scan(folder, subject="who"), model, intervals="calibrated")
    with pytest.raises(
        pn.errors.DataError, match="engine and output must be left out for data in memory"
    ):
        pn.fit_each([pn.Episode([0, 1], [1, 0])], model, output="x.parquet")
    with pytest.raises(
        pn.errors.DataError, match="data must be a scan of play or offers where a model"
    ):
        choices = written(choices_of_people(["a"]), tmp_path / "choices", [])
        pn.fit_each(pn.scan(choices, **CHOICES), model)
