"""Natural parameters that are functions of sums of weights, or of a shape parameter."""

import numpy as np
import pytest

import penchant as pn
from penchant.models.model import weights_and_shape
from penchant.models.parameters import Parameter, Shape, bound_table
from penchant.models.transforms import Transform

MINUS_LOG_3 = Transform("-log3 u")
SUM, SHARE, LOG, DECAY = bound_table(
    [
        Parameter("sum", ("a", "c"), is_derived=True),
        Parameter("share", ("a",), ("a", "c"), is_derived=True, low=0.0, high=1.0),
        Parameter("consistency", ("b",), transform=Transform("log3(1 + u)"), is_derived=True),
        Parameter("decay", shape="rate", transform=MINUS_LOG_3, is_derived=True),
    ],
    ("a", "b", "c"),
    (Shape("rate", 0.01, 1.0),),
)
EVERY = [SUM, SHARE, LOG]


def test_values_are_those_of_the_formulas():
    theta, psi = np.array([0.7, 1.9, 2.1]), np.array([0.3])
    assert SUM.value(theta, psi) == pytest.approx(2.8)
    assert SHARE.value(theta, psi) == pytest.approx(0.25)
    assert LOG.value(theta, psi) == pytest.approx(np.log(2.9) / np.log(3))
    assert DECAY.value(theta, psi) == pytest.approx(-np.log(0.3) / np.log(3))
    assert DECAY.transform.inverse(DECAY.value(theta, psi)) == pytest.approx(0.3)


@pytest.mark.parametrize("natural", EVERY, ids=lambda n: n.name)
def test_gradients_and_hessians_are_derivatives(natural):
    rng = np.random.default_rng(3)
    for _ in range(10):
        theta = rng.uniform(0.2, 3.0, 3)
        _, slope, bend = (part[0] for part in natural.derivatives(theta[None]))
        for a in range(3):
            step = 1e-5 * np.eye(3)[a]
            above, below = (
                natural.of_weights((theta + step)[None]),
                natural.of_weights((theta - step)[None]),
            )
            assert slope[a] == pytest.approx(float((above - below)[0] / 2e-5), rel=1e-7, abs=1e-9)
            rise = (
                natural.derivatives((theta + step)[None])[1]
                - natural.derivatives((theta - step)[None])[1]
            )
            np.testing.assert_allclose(bend[a], rise[0] / 2e-5, rtol=1e-6, atol=1e-8)


def test_the_gradient_of_a_function_of_psi_is_its_derivative():
    theta = np.ones(2)
    slope = DECAY.gradient(theta, np.array([0.3, 0.5]))
    rise = DECAY.value(theta, np.array([0.3 + 1e-6])) - DECAY.value(theta, np.array([0.3 - 1e-6]))
    np.testing.assert_allclose(slope, [0, 0, rise / 2e-6, 0], rtol=1e-8)


@pytest.mark.parametrize("natural", EVERY, ids=lambda n: n.name)
def test_on_its_plane_a_parameter_has_its_value(natural):
    rng = np.random.default_rng(4)
    values = np.array([0.2, 0.6, 0.9])
    origin, basis, row, right = natural.plane(values, 3)
    for k, value in enumerate(values):
        theta = origin[k] + basis[k] @ rng.uniform(0.5, 2.0, 2)
        assert natural.value(theta, np.empty(0)) == pytest.approx(value)
        assert row[k] @ theta == pytest.approx(right[k], abs=1e-12)
        assert np.linalg.matrix_rank(basis[k]) == 2


class Both:
    """Two columns, told by their sum and the share of the first."""

    weights = ("one", "other")
    shape = (Shape("power", 0.2, 3.0, scale="log"),)
    parameters = (
        Parameter("total", ("one", "other"), is_derived=True),
        Parameter("share", ("one",), ("one", "other"), is_derived=True, low=0.0, high=1.0),
        Parameter("steepness", shape="power", transform=MINUS_LOG_3, is_derived=True),
    )
    positive = ("one", "other")

    def explanatory(self, decisions, power):
        return np.stack([decisions.offers["a"] ** power, decisions.offers["b"]], axis=-1)


TRUTH = {"total": 3.0, "share": 0.3, "steepness": -0.2}


def offered(n):
    rng = np.random.default_rng(5)
    return {"a": rng.uniform(0.1, 2.0, (n, 2)), "b": rng.uniform(0.1, 2.0, (n, 2))}


def test_weights_follow_from_sums_and_shares():
    theta, psi = weights_and_shape(Both(), TRUTH)
    np.testing.assert_allclose(theta, [0.9, 2.1], rtol=1e-12)
    assert psi[0] == pytest.approx(3**0.2)


def test_sums_and_shares_are_estimated_with_profile_intervals_that_hold_them():
    bought = pn.simulate(offered(600), Both(), TRUTH, rng=np.random.default_rng(6))
    estimate = pn.fit(bought, Both())
    assert estimate.status == "converged"
    interval = estimate.interval(kind="profile", of=list(TRUTH))
    for (low, high), (name, value) in zip(interval, TRUTH.items(), strict=True):
        assert low < value < high, name
    told = {p.name: p for p in estimate.parameters}
    one, other = estimate.theta[:2]
    assert told["share"].estimate == pytest.approx(one / (one + other))
    slope = np.array([other, -one]) / (one + other) ** 2
    error = np.sqrt(slope @ estimate.covariance[:2, :2] @ slope)
    assert told["share"].standard_error == pytest.approx(error)
    # at the end of a profile interval the likelihood is lower by half a chi-square point
    test = estimate.likelihood_ratio_test({"share": float(interval[1, 0])})
    assert test.p_value == pytest.approx(0.05, abs=1e-3)


def test_a_population_takes_the_weights_themselves():
    people = [
        pn.simulate(offered(60), Both(), TRUTH, rng=np.random.default_rng(s), subject=s)
        for s in range(5)
    ]
    found = pn.fit_population(people, Both(), nodes=3)
    assert set(found.names) >= {"one", "other", "power"}
