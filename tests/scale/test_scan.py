"""Scans of files: the same decisions whatever holds them, the same numbers as in memory."""

import os
import pickle
import sys
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import penchant as pn
from trips import COLUMNS, table_of

ALL = COLUMNS | {
    "explanatory": ["x1", "x2", "x3"],
    "weight": "times",
    "offset": "known",
    "subject": "person",
}


@pytest.fixture
def trips():
    return table_of()


def _parquet(table, path, **options):
    pq.write_table(table, path, **options)
    return path


def _same(passed, memory, rtol=1e-12):
    assert passed.status == memory.status
    assert passed.n_decisions == memory.n_decisions
    assert passed.total_weight == memory.total_weight
    assert passed.n_options == memory.n_options
    assert passed.n_subjects == memory.n_subjects
    assert passed.log_likelihood == pytest.approx(memory.log_likelihood, rel=rtol)
    assert passed.null_log_likelihood == pytest.approx(memory.null_log_likelihood, rel=rtol)
    np.testing.assert_allclose(passed.theta, memory.theta, rtol=rtol)
    # the information is that of the last iterate but one, within 1e-10 standard errors
    np.testing.assert_allclose(passed.covariance, memory.covariance, rtol=1e-9, atol=1e-12)


def _bits(estimate):
    return (
        estimate.theta.tobytes(),
        estimate.covariance.tobytes(),
        estimate.log_likelihood,
        estimate.status,
        estimate.notes,
    )


@pytest.mark.parametrize("covariance", ["model", "robust", "clustered"])
def test_weights_offsets_ragged_sets_and_clusters_are_as_in_memory(trips, tmp_path, covariance):
    path = _parquet(trips, tmp_path / "trips.parquet", row_group_size=211)
    scan = pn.scan(path, **ALL, chunk_rows=150)
    assert scan.n_chunks > 4
    memory = pn.fit(pn.Choices.from_frame(trips, **ALL), covariance=covariance)
    passed = pn.fit(scan, covariance=covariance)
    _same(passed, memory)
    assert passed.covariance_kind == memory.covariance_kind


def test_probability_weights_are_as_in_memory(trips, tmp_path):
    path = _parquet(trips, tmp_path / "trips.parquet")
    given = ALL | {"weight_kind": "probability"}
    memory = pn.fit(pn.Choices.from_frame(trips, **given), covariance="robust")
    _same(pn.fit(pn.scan(path, **given, chunk_rows=150), covariance="robust"), memory)


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_weights_of_any_size_are_as_in_memory(trips, tmp_path, unit):
    heavy = trips.set_column(
        trips.column_names.index("times"), "times", pc.multiply(trips["times"], unit)
    )
    path = _parquet(heavy, tmp_path / "trips.parquet")
    given = ALL | {"weight_kind": "probability"}
    memory = pn.fit(pn.Choices.from_frame(heavy, **given), covariance="robust")
    passed = pn.fit(pn.scan(path, **given, chunk_rows=150), covariance="robust")
    np.testing.assert_allclose(passed.theta, memory.theta, rtol=1e-12)
    np.testing.assert_allclose(passed.standard_errors, memory.standard_errors, rtol=1e-9)


@pytest.mark.parametrize("prior", [pn.ScaledPrior(), pn.GaussianPrior([0.0] * 3, np.eye(3))])
def test_a_prior_is_as_in_memory(trips, tmp_path, prior):
    path = _parquet(trips, tmp_path / "trips.parquet")
    memory = pn.fit(pn.Choices.from_frame(trips, **ALL), parameter_prior=prior)
    passed = pn.fit(pn.scan(path, **ALL, chunk_rows=150), parameter_prior=prior)
    _same(passed, memory)
    assert passed.log_posterior == pytest.approx(memory.log_posterior, rel=1e-12)


def test_rows_not_on_offer_are_left_out_whatever_they_hold(trips, tmp_path):
    rng = np.random.default_rng(3)
    taken = trips["taken"].to_numpy()
    on_offer = (rng.random(len(trips)) < 0.7) | (taken == 1)
    x1 = np.where(on_offer, trips["x1"].to_numpy(), np.nan)
    table = trips.set_column(3, "x1", pa.array(x1)).append_column("open", pa.array(on_offer))
    path = _parquet(table, tmp_path / "trips.parquet")
    given = ALL | {"available": "open"}
    memory = pn.fit(pn.Choices.from_frame(table, **given))
    _same(pn.fit(pn.scan(path, **given, chunk_rows=150)), memory)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv", "csv.gz", "folder", "glob", "list"])
def test_the_same_decisions_in_any_kind_of_file_give_the_same_bits(tmp_path, kind):
    parts = [table_of(seed, first=1000 * seed) for seed in range(3)]
    whole = pa.concat_tables(parts)
    expected = pn.fit(pn.scan(_parquet(whole, tmp_path / "w.parquet"), **ALL, chunk_rows=10**6))
    if kind == "arrow":
        path = tmp_path / "trips.arrow"
        with pa.ipc.new_file(path, whole.schema) as file:
            file.write_table(whole, max_chunksize=100)
    elif kind.startswith("csv"):
        path = tmp_path / f"trips.{kind}"
        with pa.output_stream(path, compression="gzip" if kind == "csv.gz" else None) as file:
            pyarrow.csv.write_csv(whole, file)
    elif kind == "parquet":
        path = _parquet(whole, tmp_path / "trips.parquet", row_group_size=77)
    else:
        folder = tmp_path / "logs"
        folder.mkdir()
        paths = [_parquet(t, folder / f"part{k}.parquet") for k, t in enumerate(parts)]
        path = {"folder": folder, "glob": str(folder / "*.parquet"), "list": paths}[kind]
    found = pn.fit(pn.scan(path, **ALL, chunk_rows=10**6, cache=tmp_path / "cache"))
    assert _bits(found)[:4] == _bits(expected)[:4]


@pytest.mark.parametrize(
    ("address", "n_tables", "n_copies"),
    [
        ("memory://logs", 2, 1),
        ("memory://logs/a.parquet", 1, 0),
        ("memory://logs/*.parquet", 1, 0),
        ("memory://logs/**/*.csv", 1, 1),
        ("memory://logs/day=[12]/?.csv", 1, 1),
    ],
)
def test_addresses_that_fsspec_opens(tmp_path, trips, address, n_tables, n_copies):
    system = pytest.importorskip("fsspec").filesystem("memory")
    with system.open("/logs/a.parquet", "wb") as file:
        pq.write_table(trips, file)
    with system.open("/logs/day=2/b.csv", "wb") as file:
        pyarrow.csv.write_csv(trips, file)
    found = pn.scan(address, **ALL, cache=tmp_path)
    assert found.n_rows == n_tables * len(trips)
    assert len(list(tmp_path.iterdir())) == n_copies


def test_addresses_that_nobody_opens_are_refused():
    with pytest.raises(pn.DataError, match=r"pyarrow or fsspec opens; got 'foo://x'"):
        pn.scan("foo://x", **ALL)
    with pytest.raises(pn.DataError, match=r"path must name files; got none in 'memory://nobody'"):
        pn.scan("memory://nobody", **ALL)


def test_folders_called_column_equals_value_give_that_column(tmp_path):
    parts = [table_of(seed).drop_columns(["person"]) for seed in range(4)]
    for k, part in enumerate(parts):
        (tmp_path / f"person={k}").mkdir()
        _parquet(part, tmp_path / f"person={k}" / "part.parquet")
    whole = pa.concat_tables(
        [part.append_column("person", pa.array([k] * len(part))) for k, part in enumerate(parts)]
    )
    memory = pn.fit(pn.Choices.from_frame(whole, **ALL), covariance="clustered")
    for path in (tmp_path, str(tmp_path / "*" / "*.parquet"), f"file://{tmp_path}"):
        _same(pn.fit(pn.scan(path, **ALL), covariance="clustered"), memory)
    inside = tmp_path / "person=0"  # what leads to the files that are named is no column
    with pytest.raises(pn.errors.DataError, match="subject must name a column; got 'person', but"):
        pn.scan(inside, **ALL)


@pytest.mark.parametrize("labels", [True, False])
def test_chosen_may_repeat_the_label_of_an_option(trips, tmp_path, labels):
    codes = pc.index_in(trips["mode"], pa.array(["bus", "car", "rail", "walk", "ferry"]))
    option = trips["mode"] if labels else codes
    taken = trips["taken"].to_numpy() == 1
    label = np.asarray(option.to_numpy())[taken]
    trip = trips["trip"].to_numpy()
    table = trips.set_column(1, "mode", option).set_column(2, "taken", pa.array(label[trip]))
    path = _parquet(table, tmp_path / "trips.parquet")
    _same(pn.fit(pn.scan(path, **ALL, chunk_rows=150)), pn.fit(pn.Choices.from_frame(trips, **ALL)))


def test_threads_and_processes_give_the_same_bits(trips, tmp_path):
    path = _parquet(trips, tmp_path / "trips.parquet", row_group_size=100)
    scan = pn.scan(path, **ALL, chunk_rows=90)
    one = _bits(pn.fit(scan, threads=1, covariance="clustered"))
    assert _bits(pn.fit(scan, threads=2, covariance="clustered")) == one
    with ThreadPoolExecutor(3) as pool:
        assert _bits(pn.fit(scan, engine=pool, covariance="clustered")) == one
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert _bits(pn.fit(scan, engine=pool, covariance="clustered")) == one


def test_a_cluster_gives_the_same_bits(trips, tmp_path):
    distributed = pytest.importorskip("distributed")
    path = _parquet(trips, tmp_path / "trips.parquet", row_group_size=100)
    scan = pn.scan(path, **ALL, chunk_rows=90)
    one = _bits(pn.fit(scan, threads=1))
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        with distributed.Client(cluster) as client:
            assert _bits(pn.fit(scan, engine=client)) == one
        assert _bits(pn.fit(scan, engine=cluster.scheduler_address)) == one


def test_the_cutting_changes_the_last_digits_only(trips, tmp_path):
    path = _parquet(trips, tmp_path / "trips.parquet", row_group_size=100)
    few, many = (pn.fit(pn.scan(path, **ALL, chunk_rows=n)) for n in (10**6, 20))
    np.testing.assert_allclose(few.theta, many.theta, rtol=1e-12)


def test_an_estimate_of_a_scan_says_how_often_it_looked(trips, tmp_path):
    path = _parquet(trips, tmp_path / "trips.parquet")
    estimate = pn.fit(pn.scan(path, **ALL))
    rows = f"{len(trips):,} rows of 1 file in 1 chunk"
    # a first look, which brings the maximum of the one chunk, and one more to see that it is that
    assert estimate.notes[-1] == f"2 passes over {rows}."
    assert repr(pn.scan(path, **ALL)) == f"Scan: {rows}, 3 variables (x1, x2, x3)"


def test_few_passes_are_needed_where_chunks_agree(tmp_path):
    path = _parquet(table_of(n=20_000), tmp_path / "trips.parquet")
    given = COLUMNS | {"explanatory": ["x1", "x2", "x3"], "offset": "known"}
    estimate = pn.fit(pn.scan(path, **given, chunk_rows=10_000))
    # the mean of the chunks' maxima is a fraction of a standard error off: two steps, one to see
    assert estimate.notes[-1].startswith("4 passes over")
    assert estimate.status == "converged"


def test_an_estimate_of_a_scan_is_written_and_pickled(trips, tmp_path):
    estimate = pn.fit(pn.scan(_parquet(trips, tmp_path / "trips.parquet"), **ALL))
    again = pickle.loads(pickle.dumps(estimate))
    assert again.theta.tobytes() == estimate.theta.tobytes()
    assert pn.Estimate.from_dict(estimate.to_dict()).log_likelihood == estimate.log_likelihood
    assert "1 file" in estimate.summary()


def test_what_needs_choices_in_memory_says_so(trips, tmp_path):
    estimate = pn.fit(pn.scan(_parquet(trips, tmp_path / "trips.parquet"), **ALL))
    assert estimate.predict(pn.Choices.from_frame(trips, **ALL)).shape == (len(trips),)
    with pytest.raises(
        pn.errors.DataError, match=r"interval\(kind='profile'\) must have choices in memory"
    ):
        estimate.interval(kind="profile")


class _KillsItsWorkerOnce:
    """Work that ends its own process the first time that it is done."""

    def __init__(self, mark):
        self.mark = mark

    def __call__(self, choices):
        if not self.mark.exists():
            self.mark.touch()
            os._exit(1)
        return choices.n_decisions, choices.explanatory.sum()


@pytest.mark.slow
def test_a_worker_that_is_lost_changes_nothing(trips, tmp_path):
    distributed = pytest.importorskip("distributed")
    path = _parquet(trips, tmp_path / "trips.parquet", row_group_size=100)
    scan = pn.scan(path, **ALL, chunk_rows=90)
    mark = tmp_path / "done"
    mark.touch()
    work = _KillsItsWorkerOnce(mark)
    expected = list(scan.on(None, 1).each(work, "sums"))
    mark.unlink()
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert list(scan.on(client, None).each(work, "sums")) == expected
        assert mark.exists()
        assert _bits(pn.fit(scan, engine=client)) == _bits(pn.fit(scan, threads=1))


def test_rows_of_decisions_that_lie_anywhere_are_sorted_once(trips, tmp_path):
    pytest.importorskip("duckdb")
    order = np.random.default_rng(3).permutation(len(trips))
    folder = tmp_path / "logs"
    folder.mkdir()
    _parquet(trips.take(pa.array(order[:700])), folder / "a.parquet", row_group_size=100)
    _parquet(trips.take(pa.array(order[700:])), folder / "b.parquet")
    with pytest.raises(
        pn.errors.DataError, match=r"again at row \d+ of .*a.parquet.\nSort the file .*sort=T"
    ):
        pn.scan(folder, **ALL)
    given = {"sort": True, "cache": tmp_path / "cache", "chunk_rows": 300}
    with pytest.warns(
        pn.errors.PenchantWarning, match="rows of a decision do not stand together in the"
    ):
        scan = pn.scan(folder, **ALL, **given)
    memory = pn.Choices.from_frame(trips, **ALL)
    _same(pn.fit(scan, covariance="clustered"), pn.fit(memory, covariance="clustered"))
    again = pn.scan(folder, **ALL, **given)  # without a warning: the copy is there
    found, each = pn.fit_each(again), pn.fit_each(memory)
    assert found["subject"].tolist() == list(each.subjects)
    np.testing.assert_allclose(found["log_likelihood"], each.log_likelihood, rtol=1e-10)


class _Interrupting(Executor):
    """An executor that is interrupted after some chunks."""

    def __init__(self, most):
        self.left = most

    def submit(self, work, /, *args):
        future = Future()
        self.left -= 1
        if self.left < 0:
            future.set_exception(KeyboardInterrupt())
        else:
            future.set_result(work(*args))
        return future


def test_an_interrupt_between_chunks_ends_the_fit(trips, tmp_path):
    scan = pn.scan(_parquet(trips, tmp_path / "trips.parquet"), **ALL, chunk_rows=90)
    assert scan.n_chunks > 5
    with pytest.raises(KeyboardInterrupt):
        pn.fit(scan, engine=_Interrupting(scan.n_chunks + 3))


def test_progress_is_shown_by_pass_and_chunk_on_a_terminal(trips, tmp_path, monkeypatch, capsys):
    scan = pn.scan(_parquet(trips, tmp_path / "trips.parquet"), **ALL, chunk_rows=90)
    pn.fit(scan, threads=1)
    assert capsys.readouterr().err == ""  # nobody watches
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    pn.fit(scan, threads=1)
    shown = capsys.readouterr().err
    assert "Pass 1: first look" in shown and "Pass 2: likelihood" in shown
    assert f"{scan.n_chunks}/{scan.n_chunks}" in shown
