"""Certified results through files: what the command prints is right to its digits."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.evidence


def _names():
    folder = os.environ.get("PENCHANT_EVIDENCE")
    return sorted(path.stem for path in Path(folder, "golden").glob("*.csv")) if folder else []


@pytest.mark.parametrize("name", _names())
def test_certified_numbers_are_printed(evidence, penchant, folder, name):
    file = evidence / "golden" / f"{name}.csv"
    # No option is to take none of the others, and all further columns are numbers.
    (folder / "reading.toml").write_text('choice.opt_out = ""')
    header = file.read_text().splitlines()[0].split(",")
    own = [name for name in header if name not in ("obs", "alt", "chosen", "weight")]
    told = ("--schema", "reading.toml", "--explanatory", ",".join(own))
    ended = penchant("fit", file, "--json", *told)
    content = json.loads(ended.out)
    certified = json.loads((evidence / "golden" / f"{name}.json").read_text()).get("certified")
    if name.startswith("separation_"):
        assert (ended.code, content["status"]) == (1, "separated")
        return
    assert (ended.code, content["status"]) == (0, "converged")
    assert content["log_likelihood"] == pytest.approx(float(certified["loglik"]), rel=1e-11)
    found = {key: [p[key] for p in content["parameters"]] for key in content["parameters"][0]}
    # tolerances of the certification
    np.testing.assert_allclose(found["estimate"], np.array(certified["coef"], float), rtol=1e-8)
    np.testing.assert_allclose(found["standard_error"], np.array(certified["se"], float), rtol=1e-7)
