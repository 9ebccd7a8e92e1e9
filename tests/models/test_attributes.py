"""Choice experiments as offers: the same estimates, and what attributes are worth."""

import numpy as np
import pytest
from pyarrow import Table

import penchant as pn
from laboratory_files import shoppers, survey
from penchant.models.offers.offers import offers_of_choices


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
            "price must be one of.*Did you mean 'cost'",
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
