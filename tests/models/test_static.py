"""Discounting and gambles: variables against the textbook, slopes, many at once, simulation."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import offered
import penchant as pn
from penchant.models.model import Model, natural_parameters, positive_weights, weights_and_shape
from penchant.models.record import Record

EACH = pytest.mark.parametrize("name", list(offered.STATIC))


def drawn_psi(model, seed):
    """A place anywhere in the range of the shape parameters."""
    rng = np.random.default_rng(seed)
    ends = [shape.search_range for shape in model.shape]
    inside = [low + (0.1 + 0.8 * rng.random()) * (high - low) for low, high in ends]
    return [float(s.from_unconstrained(u)) for s, u in zip(model.shape, inside, strict=True)]


def decisions_of(name, **options):
    offers = offered.offers_of(name, **options)
    n = len(next(iter(offers.values())))
    return pn.Offers(np.arange(n) % 2, offers)


@EACH
@given(seed=st.integers(0, 10_000), n_options=st.integers(2, 4))
def test_variables_are_those_of_the_textbook(name, seed, n_options):
    model, _ = offered.STATIC[name]
    offers = offered.offers_of(name, n=11, seed=seed, n_options=n_options)
    decisions = pn.Offers(np.zeros(11), offers)
    psi = drawn_psi(model, seed)
    expected = offered.literal_variables(name, offers, psi)
    found = model.explanatory(decisions, *psi)
    assert found.shape == (11, n_options, len(model.weights))
    # an amount that is worth less than the rounding error of the others is worth nothing
    size = np.maximum(np.abs(expected).max(axis=(0, 1)), 1e-3 * np.abs(expected).max())
    np.testing.assert_allclose(found / size, expected / size, rtol=1e-11, atol=1e-13)


@EACH
@given(seed=st.integers(0, 10_000))
def test_slopes_equal_differences(name, seed):
    model, _ = offered.STATIC[name]
    decisions = decisions_of(name, n=9, seed=seed)
    psi = np.array(drawn_psi(model, seed))
    x, slopes = model.explanatory_and_slopes(decisions, *psi)
    np.testing.assert_array_equal(x, model.explanatory(decisions, *psi))
    assert slopes.shape == (len(psi), *x.shape)
    for q, value in enumerate(psi):
        step = np.zeros(len(psi))
        step[q] = 1e-4 * value
        far = model.explanatory(decisions, *(psi + 2 * step)) - model.explanatory(
            decisions, *(psi - 2 * step)
        )
        near = model.explanatory(decisions, *(psi + step)) - model.explanatory(
            decisions, *(psi - step)
        )
        expected = (8 * near - far) / (12 * step[q])
        size = np.abs(x).max() / value
        # differences of rounding 1e-16 over a step of 1e-4, and of the fifth order in it
        np.testing.assert_allclose(slopes[q] / size, expected / size, rtol=1e-6, atol=1e-9)


@EACH
def test_many_at_once_are_each_by_itself(name):
    model, _ = offered.STATIC[name]
    several = [decisions_of(name, n=n, seed=n) for n in (5, 1, 8)]
    which = np.array([2, 0, 0, 1])
    psi = np.array([drawn_psi(model, k) for k in range(4)]).reshape(4, len(model.shape))
    x, slopes = model.explanatory_many(Record.of(several), which, psi, True)
    alone = [
        model.explanatory_and_slopes(several[e], *at) for e, at in zip(which, psi, strict=True)
    ]
    np.testing.assert_array_equal(x, np.concatenate([a[0] for a in alone]))
    np.testing.assert_array_equal(slopes, np.concatenate([a[1] for a in alone], axis=1))
    x_only, none = model.explanatory_many(Record.of(several), which, psi, False)
    np.testing.assert_array_equal(x_only, x)
    assert none is None


@EACH
def test_everything_is_finite_to_the_ends_of_the_ranges(name):
    model, _ = offered.STATIC[name]
    decisions = decisions_of(name, n=40)
    with np.errstate(all="raise", under="ignore"):
        for psi in product(*[(s.low, s.high) for s in model.shape]):
            x, slopes = model.explanatory_and_slopes(decisions, *psi)
            assert np.isfinite(x).all()
            assert np.isfinite(slopes).all()


@EACH
def test_declarations_fit_together(name):
    model, truth = offered.STATIC[name]
    assert isinstance(model, Model)
    assert positive_weights(model)[0] == 0
    assert [n.name for n in natural_parameters(model)] == list(truth)
    theta, psi = weights_and_shape(model, truth)
    again = {n.name: n.value(theta, psi) for n in natural_parameters(model)}
    assert again == pytest.approx(truth, rel=1e-14)
    assert str(model)[0].islower()


@EACH
def test_the_simulator_draws_from_the_likelihood(name):
    model, truth = offered.STATIC[name]
    offers = offered.offers_of(name, n=6, seed=5, n_options=3)
    many = {attribute: np.repeat(array, 4000, axis=0) for attribute, array in offers.items()}
    decisions = pn.simulate(many, model, truth, rng=np.random.default_rng(8))
    counts = np.array(
        [np.bincount(chosen, minlength=3) for chosen in decisions.chosen.reshape(6, 4000)]
    )
    theta, psi = weights_and_shape(model, truth)
    x = model.explanatory(pn.Offers(np.zeros(6), offers), *psi)
    q = x @ theta
    p = np.exp(q - q.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    often = p * 4000 >= 5
    g = 2 * (counts * np.log(np.maximum(counts, 1) / (4000 * p)))[often].sum()
    freedom = int((often.sum(axis=1) - 1).sum())
    assert freedom >= 4
    assert stats.chi2.sf(g, freedom) > 1e-3
    assert (counts[~often] <= 20).all()


def test_a_temperature_of_zero_takes_the_best_and_ties_by_chance():
    offers = {"amount": np.tile([10.0, 20.0, 20.0], (3000, 1)), "delay": np.zeros((3000, 3))}
    rule = {"temperature": 0.0, "discount_rate": 0.1}
    model, rng = pn.HyperbolicDiscounting(), np.random.default_rng(1)
    counts = np.bincount(pn.simulate(offers, model, rule, rng=rng).chosen, minlength=3)
    assert counts[0] == 0
    assert abs(counts[1] - 1500) < 5 * np.sqrt(750)


def test_a_model_of_ones_own_is_simulated_from_its_variables():
    class Cheapest:
        weights = ("price", "quality")
        shape = (pn.models.Shape("bend", 0.1, 2.0),)

        def explanatory(self, decisions, bend):
            offers = decisions.offers
            return np.stack([offers["price"] ** bend, offers["quality"]], axis=-1)

    offers = {"price": np.tile([3.0, 5.0], (5000, 1)), "quality": np.tile([1.0, 2.5], (5000, 1))}
    truth = {"price": -0.4, "quality": 0.3, "bend": 1.0}
    decisions = pn.simulate(offers, Cheapest(), truth, rng=np.random.default_rng(0))
    expected = 1 / (1 + np.exp(-0.4 * 2 + 0.3 * 1.5))  # of the first: cheaper by 2, worse by 1.5
    assert abs((decisions.chosen == 0).mean() - expected) < 4 * np.sqrt(0.25 / 5000)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"temperature": 1.0}, "must hold temperature, discount_rate; got none for discount_rate"),
        ({"temperature": 1.0, "discount_rate": 0.1, "k": 1.0}, "must be among .* got 'k'"),
        ({"temperature": -1.0, "discount_rate": 0.1}, "temperature must not be negative; got -1"),
        ({"temperature": 1.0, "discount_rate": np.nan}, "discount_rate must be finite; got nan"),
    ],
)
def test_parameters_that_are_wrong_are_refused(parameters, message):
    offers = offered.delayed(n=5)
    with pytest.raises(pn.errors.DataError, match=message):
        pn.simulate(offers, pn.HyperbolicDiscounting(), parameters, rng=np.random.default_rng(0))


@pytest.mark.parametrize("temperature", [0.0, 1e-300])
def test_without_a_temperature_to_speak_of_the_best_option_is_taken(temperature):
    offers, rule = offered.delayed(n=40), {"temperature": temperature, "discount_rate": 0.1}
    model = pn.HyperbolicDiscounting()
    chosen = pn.simulate(offers, model, rule, rng=np.random.default_rng(0)).chosen
    worth = offers["amount"] / (1 + 0.1 * offers["delay"])
    np.testing.assert_array_equal(chosen, worth.argmax(axis=1))


def test_offers_without_an_attribute_are_refused():
    decisions = pn.Offers([0], {"amount": [[1.0, 2.0]], "delays": [[0.0, 3.0]]})
    with pytest.raises(
        pn.errors.DataError, match=r"(?s)must have amount and delay .*Did you mean 'delays'"
    ):
        pn.HyperbolicDiscounting().explanatory(decisions, 0.1)
    with pytest.raises(pn.errors.DataError, match="must be given Offers; got Episode"):
        pn.HyperbolicDiscounting().explanatory(pn.Episode([0], [1.0]), 0.1)


def test_offers_with_other_options_are_not_described_together():
    two, three = (pn.Offers([0], offered.delayed(n=1, n_options=m)) for m in (2, 3))
    with pytest.raises(
        pn.errors.DataError, match=r"options and outcomes in all Offers; got \(2,\)"
    ):
        pn.fit_each([two, three], pn.HyperbolicDiscounting())


@pytest.mark.parametrize("kind", ["rate", "utility"])
def test_powers_that_are_kept_are_those_of_the_person_and_the_exponent(kind):
    """Points of a grid share exponents, of which no more than some are kept."""
    model = pn.models.MagnitudeDiscounting(kind)
    people = [pn.Offers(np.zeros(n, dtype=int), offered.delayed(n=n)) for n in (7, 12)]
    which = np.repeat([0, 1, 0], [40, 3, 30])
    exponent = np.tile(np.linspace(0.2, 1.1, 30), 3)[: len(which)]
    psi = np.column_stack([np.geomspace(1e-3, 1.0, len(which)), exponent])
    x, slopes = model.explanatory_many(Record.of(people), which, psi, True)
    alone = [model.explanatory_and_slopes(people[e], *at) for e, at in zip(which, psi, strict=True)]
    np.testing.assert_array_equal(x, np.concatenate([one[0] for one in alone]))
    np.testing.assert_array_equal(slopes, np.concatenate([one[1] for one in alone], axis=1))
