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
def test_certified_numbers_are_printed(evidence, penchant, name):
    file = evidence / "golden" / f"{name}.csv"
    ended = penchant("fit", file, "--json")
    if name == "baseball_bradleyterry_weighted":  # at_home may be a code of the option
        assert ended.code == 2 and "--explanatory 'at_home,Boston" in ended.err
        header = file.read_text().splitlines()[0].split(",")
        ended = penchant("fit", file, "--json", "--explanatory", ",".join(header[4:]))
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
