"""The ranges that documents print are those that are searched."""

import pytest

import penchant as pn
from documented_ranges import ROWS, untold


def made(name, arguments):
    return eval(f"{name}({arguments})", {name: getattr(pn.models, name), "grid": pn.grid})


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}({row[1]}) {row[2]}")
def test_a_range_of_the_table_is_the_one_searched(row):
    name, arguments, parameter, low, high, ends = row
    (shape,) = [s for s in made(name, arguments).shape if s.name == parameter]
    assert (f"{shape.low:g}", shape.high) == (low, float(high))
    is_of_search = ends.startswith("of the search") or (ends == "the same" and name == "GPUCB")
    assert is_of_search == (shape.at_low is None and shape.at_high is None)


def test_the_table_has_every_shape_parameter_of_every_model():
    assert untold() == set()


def test_the_docstring_of_the_kalman_filter_has_the_same_ranges():
    words = " ".join(pn.KalmanFilter.__doc__.split())
    full = pn.KalmanFilter(3, initial_mean=4.0, decay=None, drift_variance=None)
    prior, decay, drift = full.shape
    both = pn.KalmanFilter(3, initial_mean=None).shape[0]
    assert f"from {prior.low:g} (" in words
    assert (
        f"({both.low:g} where initial_mean is estimated beside a bonus) to {prior.high:g}" in words
    )
    assert f"Looked for from {decay.low:g} to {decay.high:g}, or 1 - 1e-08" in words
    assert f"from {drift.low:g} to {drift.high:g}" in words
