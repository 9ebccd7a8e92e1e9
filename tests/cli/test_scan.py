"""`penchant fit` of a folder or a pattern: read chunk by chunk, the same estimate."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penchant as pn
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
        (["--subject", "person"], "--subject must go with --covariance clustered for several"),
    ],
)
def test_what_a_scan_cannot_do_is_refused(folder, capsys, given, words):
    assert run(["fit", str(folder), *ARGUMENTS, "--explanatory", "x1", *given]) == 2
    assert words in capsys.readouterr().err
