"""Statuses of scans are those of memory: identification, separation, and maxima far out."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penchant as pn
from penchant.choices import Choices
from penchant.softmax import chunked_decisions, decisions, separation
from penchant.softmax.chunked_likelihood import ChunkMapper
from trips import COLUMNS


def _table(x, chosen, offset=None, weights=None):
    n, m, d = x.shape
    columns = {
        "trip": np.repeat(np.arange(n), m),
        "mode": np.tile(np.arange(m), n),
        "taken": (np.arange(m) == np.asarray(chosen)[:, None]).astype(np.int64).ravel(),
        **{f"x{a + 1}": x[:, :, a].ravel() for a in range(d)},
    }
    if offset is not None:
        columns["known"] = offset.ravel()
    if weights is not None:
        columns["times"] = np.repeat(weights, m)
    return pa.table(columns)


def _both(table, tmp_path, chunk_rows=40):
    given = COLUMNS | {"explanatory": [n for n in table.column_names if n.startswith("x")]}
    if "known" in table.column_names:
        given["offset"] = "known"
    if "times" in table.column_names:
        given["weight"] = "times"
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=53)
    scan = pn.scan(tmp_path / "t.parquet", **given, chunk_rows=chunk_rows)
    assert scan.n_chunks > 2
    return pn.fit(scan), pn.fit(Choices.from_frame(table, **given))


def _agree(passed, memory, rtol=1e-12):
    assert (passed.status, passed.message) == (memory.status, memory.message)
    assert passed.log_likelihood == pytest.approx(memory.log_likelihood, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(passed.theta, memory.theta, rtol=rtol)
    np.testing.assert_allclose(passed.standard_errors, memory.standard_errors, rtol=1e-9)
    one, other = passed.diagnostics, memory.diagnostics
    assert (one.rank, one.certificate) == (other.rank, other.certificate)
    assert one.null_directions == other.null_directions
    assert (one.separation is None) == (other.separation is None)
    if one.separation is not None:
        _separated_alike(one.separation, other.separation)


def _separated_alike(one, other):
    assert (one.kind, one.n_resolved) == (other.kind, other.n_resolved)
    assert one.supremum == pytest.approx(other.supremum, rel=1e-12, abs=1e-12)
    assert one.direction == pytest.approx(other.direction, rel=1e-9)


def _drawn(rng, x, theta):
    return (x @ np.asarray(theta) + rng.gumbel(size=x.shape[:2])).argmax(axis=1)


def test_a_variable_equal_across_options_is_not_identified(tmp_path):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(90, 3, 3))
    x[:, :, 1] = x[:, :1, 1]
    passed, memory = _both(_table(x, _drawn(rng, x, [0.7, 0.0, -0.4])), tmp_path)
    assert memory.status == "not identified"
    _agree(passed, memory)


def test_a_combination_of_variables_is_not_identified(tmp_path):
    rng = np.random.default_rng(2)
    x = rng.integers(-4, 5, size=(90, 3, 3)).astype(float)
    x[:, :, 2] = x[:, :, 0] - 2 * x[:, :, 1] + rng.normal(size=(90, 1))
    passed, memory = _both(_table(x, _drawn(rng, x, [0.3, 0.1, 0.0])), tmp_path)
    assert memory.status == "not identified"
    assert (passed.status, passed.message) == (memory.status, memory.message)
    assert len(memory.diagnostics.combinations) == len(passed.diagnostics.combinations) == 2
    for one, other in zip(
        passed.diagnostics.combinations, memory.diagnostics.combinations, strict=True
    ):
        assert one.estimate == pytest.approx(other.estimate, rel=1e-9)


def test_nothing_is_identified_where_nothing_varies(tmp_path):
    x = np.ones((60, 3, 2))
    passed, memory = _both(_table(x, np.arange(60) % 3), tmp_path)
    assert memory.diagnostics.rank == 0
    _agree(passed, memory)


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_completely_separated_choices(tmp_path, d):
    rng = np.random.default_rng(d)
    x = rng.normal(size=(80, 3, d))
    passed, memory = _both(_table(x, (x @ rng.normal(size=d)).argmax(axis=1)), tmp_path)
    assert memory.diagnostics.separation.kind == "complete"
    _agree(passed, memory)


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_choices_separated_by_one_variable_have_the_limit_of_the_others(tmp_path, d):
    rng = np.random.default_rng(10 + d)
    x = rng.normal(size=(120, 3, d))
    x[:, :, 0] = 0.0
    chosen = _drawn(rng, x, rng.normal(size=d))
    some = rng.random(120) < 0.2
    x[some, chosen[some], 0] = 1.0
    passed, memory = _both(_table(x, chosen), tmp_path)
    assert memory.diagnostics.separation.kind == "quasi-complete"
    assert np.isinf(memory.theta[0])
    _agree(passed, memory)


def test_choices_separated_by_one_variable_after_another(tmp_path):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(150, 3, 3))
    x[:, :, :2] = 0.0
    chosen = _drawn(rng, x, [0.0, 0.0, 0.9])
    kind = np.arange(150) % 4
    for k in np.flatnonzero(kind == 0):
        x[k, chosen[k], 0] = 1.0
        x[k, (chosen[k] + 1) % 3, 1] = 2.0  # the second alone does not separate
    for k in np.flatnonzero(kind == 1):
        x[k, chosen[k], 1] = 1.0
    passed, memory = _both(_table(x, chosen), tmp_path)
    assert memory.status == "separated"
    assert passed.status == "separated"
    assert passed.log_likelihood == pytest.approx(memory.log_likelihood, rel=1e-12)
    np.testing.assert_allclose(passed.theta, memory.theta, rtol=1e-12)
    _separated_alike(passed.diagnostics.separation, memory.diagnostics.separation)


def test_choices_separated_but_for_negligible_differences_are_weakly_identified(tmp_path):
    rng = np.random.default_rng(6)
    x = rng.normal(size=(100, 2, 2))
    x[:, :, 0] = 0.0
    chosen = _drawn(rng, x, [0.0, 0.8])
    some = np.flatnonzero(rng.random(100) < 0.5)
    x[some, chosen[some], 0] = 1.0
    x[some[0], 1 - chosen[some[0]], 0] = 1.0 + 1e-5
    passed, memory = _both(_table(x, chosen), tmp_path)
    assert memory.status == "weakly identified"
    assert passed.status == memory.status
    assert passed.message == memory.message
    assert passed.log_likelihood == pytest.approx(memory.log_likelihood, rel=1e-9)


def test_maxima_far_out_along_offsets_are_reached(tmp_path):
    rng = np.random.default_rng(7)
    x = rng.normal(size=(90, 3, 2))
    far = np.array([300.0, -200.0])
    offset = -(x @ far)
    chosen = _drawn(rng, x, [0.5, 0.4])
    passed, memory = _both(_table(x, chosen, offset), tmp_path)
    assert memory.status == "converged"
    np.testing.assert_allclose(memory.theta, far, rtol=0.02)
    _agree(passed, memory)


def test_decisions_of_weight_0_do_not_keep_choices_from_being_separated(tmp_path):
    rng = np.random.default_rng(8)
    x = rng.normal(size=(80, 3, 3))
    chosen = (x @ np.array([1.0, -2.0, 0.5])).argmax(axis=1)
    weights = np.ones(80, dtype=np.int64)
    weights[::7] = 0
    chosen[::7] = (chosen[::7] + 1) % 3
    passed, memory = _both(_table(x, chosen, weights=weights), tmp_path)
    assert memory.status == "separated"
    _agree(passed, memory)


def test_the_size_of_a_typical_difference_has_the_bits_of_memory(tmp_path):
    rng = np.random.default_rng(9)
    x = rng.normal(size=(300, 3, 4)) * np.array([1e-30, 1.0, 1e30, 0.0])
    x[:, :, 1] = np.round(x[:, :, 1])
    table = _table(x, rng.integers(0, 3, 300))
    pq.write_table(table, tmp_path / "t.parquet")
    given = COLUMNS | {"explanatory": [f"x{a}" for a in range(1, 5)]}
    passes = ChunkMapper(pn.scan(tmp_path / "t.parquet", **given, chunk_rows=70))
    scale = np.array([1.0, 2.0, 3.0, 4.0])
    memory = separation.large_difference_quantile(Choices.from_frame(table, **given), scale)
    found = chunked_decisions.large_difference_quantile(passes, scale)
    assert found.tobytes() == memory.tobytes()
    assert passes.n_passes == 3


def test_one_pass_at_the_maximum_settles_that_strong_effects_hang_on_nothing_small(
    tmp_path, monkeypatch
):
    def refuse(*arguments):
        raise AssertionError("one pass settles it")

    rng = np.random.default_rng(10)
    x = rng.normal(size=(1000, 100, 3))
    chosen = _drawn(rng, x, [1.0, 2.0, 3.0])
    monkeypatch.setattr(chunked_decisions, "large_difference_quantile", refuse)
    monkeypatch.setattr(decisions, "large_difference_quantile", refuse)
    passed, memory = _both(_table(x, chosen), tmp_path, chunk_rows=20_000)
    assert memory.status == "converged"
    _agree(passed, memory)
