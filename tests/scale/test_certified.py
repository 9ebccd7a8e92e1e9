"""A scan gives what memory gives, on every certified set, cut into many chunks."""

import json
import os
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import penchant as pn

pytestmark = pytest.mark.evidence


def _names():
    folder = os.environ.get("PENCHANT_EVIDENCE")
    if not folder:
        return []
    return sorted(path.stem for path in Path(folder, "golden").glob("*.csv"))


@pytest.mark.parametrize("name", _names())
def test_a_scan_gives_what_memory_gives(evidence, name, tmp_path):
    content = json.loads((evidence / "golden" / f"{name}.json").read_text())
    table = pyarrow.csv.read_csv(evidence / "golden" / f"{name}.csv").sort_by("obs")
    columns = {
        "decision": "obs",
        "option": "alt",
        "chosen": "chosen",
        "explanatory": content["covariates"],
        "weight": "weight" if "weight" in table.column_names else None,
    }
    pq.write_table(table, tmp_path / "all.parquet", row_group_size=97)
    scan = pn.scan(tmp_path / "all.parquet", **columns, chunk_rows=max(len(table) // 5, 1))
    assert scan.n_chunks >= 3
    memory = pn.fit(pn.Choices.from_frame(table, **columns), covariance="robust")
    passed = pn.fit(scan, covariance="robust")
    assert passed.status == memory.status
    assert passed.message.split(":")[0] == memory.message.split(":")[0]
    assert passed.n_decisions == memory.n_decisions
    assert passed.n_options == memory.n_options
    assert passed.log_likelihood == pytest.approx(memory.log_likelihood, rel=1e-12)
    assert passed.null_log_likelihood == pytest.approx(memory.null_log_likelihood, rel=1e-12)
    unit = memory.diagnostics.condition if np.isfinite(memory.diagnostics.condition) else 1.0
    # theta is as certain as the information is well conditioned
    rtol = 1e-12 * max(1.0, unit / 1e3)
    np.testing.assert_allclose(passed.theta, memory.theta, rtol=rtol)
    # the information is that of the last iterate but one, within 1e-10 standard errors
    errors = passed.standard_errors, memory.standard_errors
    np.testing.assert_allclose(*errors, rtol=max(1e-10, rtol))
    assert passed.diagnostics.certificate == memory.diagnostics.certificate
    if memory.diagnostics.separation is not None:
        one, other = passed.diagnostics.separation, memory.diagnostics.separation
        assert (one.kind, one.n_resolved) == (other.kind, other.n_resolved)
        assert one.direction == pytest.approx(other.direction, rel=1e-9)
        assert one.supremum == pytest.approx(other.supremum, rel=1e-12)
