"""Exponentials of whole arrays, against the standard library's."""

import numpy as np
import pytest

from penchant.softmax._moment_codegen import exp_in_place


@pytest.mark.parametrize("highest", [0.0, 1e-8, 30.0, 700.0])
def test_exponentials_are_those_of_numpy(highest):
    rng = np.random.default_rng(1)
    x = highest - rng.uniform(0, 700, 4000)
    x[:3] = highest, -0.0, 0.0
    found = x.copy()
    exp_in_place(found)
    np.testing.assert_allclose(found, np.exp(x), rtol=7e-16)
    assert found[1] == found[2] == 1.0


def test_what_is_too_small_is_next_to_nothing():
    found = np.array([-708.0, -1e4, -np.inf, -745.0, -800.0, -1e300, -709.0, -1e9])
    exp_in_place(found)
    assert ((found > 0) & (found < 1e-307)).all()
