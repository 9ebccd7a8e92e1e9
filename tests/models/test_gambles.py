"""Gambles: weighting of probabilities, limits with known answers, what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import offered
import penchant as pn
from penchant.models.model import natural_parameters

LITERAL = {"prelec": offered.prelec, "tversky-kahneman": offered.tversky_kahneman}
EACH = pytest.mark.parametrize("weighting", list(LITERAL))


def compiled(weighting, p, gamma):
    """Weight of a probability and its derivative: the value of a gamble for 1."""
    decisions = pn.Offers([0], {"outcome": [[1.0, 0.0]], "probability": [[p, 1.0]]})
    x, slopes = pn.models.ProspectValue(weighting).explanatory_and_slopes(decisions, 0.7, gamma)
    return x[0, 0, 0], slopes[1, 0, 0, 0]


@EACH
@given(p=st.floats(1e-6, 1 - 1e-6), gamma=st.floats(0.3, 3.0))
def test_weights_are_those_of_the_textbook(weighting, p, gamma):
    expected = pytest.approx(LITERAL[weighting](p, gamma), rel=1e-12, abs=1e-16)
    weight, slope = compiled(weighting, p, gamma)
    assert weight == expected
    h = 1e-5
    rise = LITERAL[weighting](p, gamma + h) - LITERAL[weighting](p, gamma - h)
    assert slope == pytest.approx(rise / (2 * h), rel=1e-5, abs=1e-8)


@EACH
def test_nothing_and_certainty_stay_what_they_are(weighting):
    assert [compiled(weighting, p, 0.6) for p in (0.0, 1.0)] == [(0.0, 0.0), (1.0, 0.0)]


@EACH
def test_a_sensitivity_of_one_changes_nothing(weighting):
    for p in np.linspace(0, 1, 13):
        assert compiled(weighting, p, 1.0)[0] == pytest.approx(p, rel=1e-14)


def test_a_curvature_of_one_is_the_expected_outcome():
    offers = offered.risky(n=30)
    decisions = pn.Offers(np.zeros(30), offers)
    mean = (offers["outcome"] * offers["probability"]).sum(axis=2)
    utility = pn.models.ExpectedUtility().explanatory(decisions, 1.0)[:, :, 0]
    np.testing.assert_allclose(utility, mean, rtol=1e-12, atol=1e-13)
    parts = pn.models.ProspectValue().explanatory(decisions, 1.0)
    np.testing.assert_allclose(parts.sum(axis=2), mean, rtol=1e-12, atol=1e-13)
    prelec_parts = pn.models.ProspectValue("prelec").explanatory(decisions, 1.0, 1.0)
    np.testing.assert_allclose(prelec_parts, parts, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(
        pn.models.MeanVariance().explanatory(decisions)[:, :, 0], mean, rtol=1e-12, atol=1e-13
    )


def test_one_outcome_needs_no_third_axis():
    flat = {"outcome": [[9.0, 4.0]], "probability": [[0.3, 1.0]]}
    deep = {"outcome": [[[9.0], [4.0]]], "probability": [[[0.3], [1.0]]]}
    for model, psi in (
        (pn.models.ExpectedUtility(), [0.5]),
        (pn.models.ProspectValue("prelec", losses=False), [0.5, 0.7]),
        (pn.models.MeanVariance(), []),
    ):
        one = model.explanatory_and_slopes(pn.Offers([0], flat), *psi)
        other = model.explanatory_and_slopes(pn.Offers([0], deep), *psi)
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])
    mean, variance = pn.models.MeanVariance().explanatory(pn.Offers([0], flat))[0, 0]
    assert mean == pytest.approx(2.7, rel=1e-14)
    assert variance == pytest.approx(0.3 * 0.7 * 81, rel=1e-14)


def test_splitting_an_outcome_in_two_changes_utility_and_variance_by_nothing():
    whole = pn.Offers([0], {"outcome": [[[9, -4]]], "probability": [[[0.6, 0.4]]]})
    split = pn.Offers([0], {"outcome": [[[9, -4, 9]]], "probability": [[[0.2, 0.4, 0.4]]]})
    for model, psi in ((pn.models.ExpectedUtility(), [0.7]), (pn.models.MeanVariance(), [])):
        np.testing.assert_allclose(
            model.explanatory(whole, *psi), model.explanatory(split, *psi), rtol=1e-13
        )


def test_gains_only_have_one_weight_and_refuse_losses():
    model = pn.models.ProspectValue("prelec", losses=False)
    assert model.weights == ("inverse_temperature",)
    names = [n.name for n in natural_parameters(model)]
    assert names == ["temperature", "curvature", "probability_sensitivity"]
    assert str(model) == "prospect value, u(x) = x^rho, prelec, gains only"
    decisions = pn.Offers([0], {"outcome": [[9.0, -4.0]], "probability": [[0.3, 1.0]]})
    with pytest.raises(pn.errors.DataError, match=r"not be negative with losses=False; got -4"):
        model.explanatory(decisions, 0.5, 0.7)


def test_an_unknown_weighting_is_refused():
    with pytest.raises(
        pn.errors.DataError, match="'none', 'prelec' or 'tversky-kahneman'; got 'tk'"
    ):
        pn.models.ProspectValue("tk")
