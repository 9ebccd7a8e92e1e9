"""Choice experiments as offers: the same estimates, and what attributes are worth."""

import numpy as np
import pytest
from pyarrow import Table

import penchant as pn
from laboratory_files import shoppers, survey
from penchant.choices.offers import offers_of_choices


@pytest.fixture(scope="module")
def choices():
    rows = survey(shoppers(n_people=4, n_decisions=60))
    return pn.read(Table.from_pylist(rows)).data


def test_attributes_have_the_weights_that_choices_have(choices):
    people = offers_of_choices(choices)
    assert [one.subject for one in people] == list(choices.subject_labels)
    model = pn.models.Attributes(choices.names)
    both = pn.fit(people, model), pn.fit(choices)
    np.testing.assert_allclose(both[0].theta, both[1].theta, rtol=1e-7)
    np.testing.assert_allclose(both[0].log_likelihood, both[1].log_likelihood, rtol=1e-12)


def test_what_an_attribute_is_worth_is_a_ratio_with_its_error(choices):
    plain = pn.fit(choices)
    ratio = plain.ratio("time", "price")
    worth = pn.fit(offers_of_choices(choices), pn.models.Attributes(choices.names, price="price"))
    found = {p.name: p for p in worth.parameters}
    assert found["price_sensitivity"].estimate == pytest.approx(-plain.theta[0], rel=1e-7)
    assert found["time_worth"].estimate == pytest.approx(-ratio.estimate, rel=1e-6)


def test_people_with_known_worth_are_recovered(choices):
    model = pn.models.Attributes(choices.names, price="price")
    rule = {"price_sensitivity": 0.6, "time_worth": -0.1, "brand:Zen_worth": 1.5}
    rule["constant:neither_worth"] = -8.0
    offers = offers_of_choices(choices)
    played = pn.simulate(offers, model, rule, rng=np.random.default_rng(4))
    low, high = np.array(pn.fit(played, model).interval()).T
    truth = np.array([0.6, -0.06, 0.9, -4.8])
    assert ((low < truth) & (truth < high)).sum() >= 3  # 95 % each


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"attributes": ()}, "attributes must be one name or more"),
        ({"attributes": ("a", "a")}, "each once; got"),
        (
            {"attributes": ("cost", "b"), "price": "cots"},
            "(?s)price must be one of.*Did you mean 'cost'",
        ),
    ],
)
def test_wrong_attributes_are_refused(given, said):
    with pytest.raises(pn.errors.DataError, match=said):
        pn.models.Attributes(**given)


def test_decisions_of_different_sizes_are_refused():
    sets = [np.ones((2, 1)), np.array([[1.0], [2.0], [3.0]])]
    with pytest.raises(
        pn.errors.DataError, match=r"same options in every decision.*got 2 to 3 options"
    ):
        offers_of_choices(pn.Choices.from_arrays(sets, [0, 1]))


def literal_fieller(top, bottom, covariance, z):
    """All ratios r that z**2 * var(top - r * bottom) does not reject: roots of a quadratic."""
    (a, ab), (_, b) = covariance
    square = bottom**2 - z**2 * b
    half = top * bottom - z**2 * ab
    root = np.sqrt(half**2 - square * (top**2 - z**2 * a))
    assert square > 0  # the price is told from 0, so that the set is an interval
    return (half - root) / square, (half + root) / square


def test_intervals_of_worth_are_fiellers_and_errors_those_of_the_delta_method(choices):
    names = list(choices.names)
    weights = pn.fit(choices)
    worth = pn.fit(offers_of_choices(choices), pn.models.Attributes(choices.names, price="price"))
    p = names.index("price")
    for parameter in worth.parameters[1:]:
        k = names.index(parameter.name.removesuffix("_worth"))
        value, price = weights.theta[k], -weights.theta[p]  # what it costs counts with a minus
        pair = weights.covariance[np.ix_([k, p], [k, p])] * [[1.0, -1.0], [-1.0, 1.0]]
        slope = np.array([1 / price, -value / price**2])
        assert parameter.standard_error == pytest.approx(np.sqrt(slope @ pair @ slope), rel=1e-5)
        wanted = literal_fieller(value, price, pair, 1.959963984540054)
        assert (parameter.low, parameter.high) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.slow
def test_intervals_of_worth_hold_the_truth_as_often_as_they_say():
    """120 choices each: Fieller's set holds the truth in 93 to 97 % of 1,000 data sets."""
    rng = np.random.default_rng(11)
    held, truth = [], 0.4 / 0.5
    for _ in range(1000):
        x = rng.uniform(0, 4, size=(120, 3, 2))
        worth = -0.5 * x[..., 0] + 0.4 * x[..., 1] + rng.gumbel(size=(120, 3))
        sets = pn.Choices.from_arrays(x, worth.argmax(axis=1), names=["price", "size"])
        found = pn.fit(sets, pn.models.Attributes(sets.names, price="price")).parameters[1]
        held.append(found.low <= truth <= found.high)
    assert 0.93 < np.mean(held) < 0.97
