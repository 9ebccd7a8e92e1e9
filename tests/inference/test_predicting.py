"""Probabilities of decisions, of the data or of new episodes, at the best psi or averaged."""

import numpy as np
import pytest
from scipy import special

import belief_reference as dense
import penchant as pn
import played

EPISODE = played.ucl_episode(seed=2)
NEW = played.ucl_episode(seed=9, n_decisions=33)


@pytest.fixture(scope="module", params=["ucl", "two shapes", "prior", "q"])
def fitted(request):
    if request.param == "q":
        return pn.fit(played.q_episode(), pn.QLearning(4)), played.q_episode(seed=9, n_decisions=33)
    model = played.ucl(length_scale=None if request.param == "two shapes" else 1.4)
    prior = pn.ScaledPrior() if request.param == "prior" else None
    return pn.fit(EPISODE, model, parameter_prior=prior), NEW


@pytest.mark.parametrize("average", [False, True])
def test_probabilities_are_probabilities(fitted, average):
    estimate, new = fitted
    for episodes in (None, new, [new, new]):
        p = estimate.predict(episodes, average=average)
        assert (p >= 0).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert estimate.predict(new, average=average).shape[0] == 33
    assert estimate.predict([new, new], average=average).shape[0] == 66


def test_predictions_are_those_of_the_dense_formulas():
    estimate = pn.fit(EPISODE, played.ucl())
    nu, mean, variance = (p.estimate for p in estimate.parameters)
    expected = dense.ucl_log_probabilities(
        NEW.chosen, NEW.rewards, played.PLACES, played.NOISE_VARIANCE, (nu, mean, variance, 1.4)
    )
    np.testing.assert_allclose(estimate.predict(NEW), np.exp(expected), rtol=1e-9)
    found = estimate.log_likelihoods(NEW)
    np.testing.assert_allclose(found, expected[np.arange(33), NEW.chosen], rtol=1e-9)


def test_the_average_is_weighted_by_the_profile():
    estimate = pn.fit(EPISODE, played.ucl())
    values = np.append(estimate.profile.values, estimate.source.optimum.points.value)
    psi = np.vstack([estimate.profile.psi, estimate.psi])
    theta = np.vstack([estimate.profile.theta, estimate.weights])
    weights = special.softmax(values)
    model = played.ucl()
    expected = sum(
        w * special.softmax(model.explanatory(NEW, *s) @ t, axis=1)
        for w, s, t in zip(weights, psi, theta, strict=True)
    )
    # weights below 1e-6 are left out
    np.testing.assert_allclose(estimate.predict(NEW, average=True), expected, atol=1e-4)


def test_the_average_of_a_sharp_profile_is_the_best():
    episodes = [played.ucl_episode(seed=s, n_decisions=60) for s in range(1, 13)]
    estimate = pn.fit(episodes, played.ucl())
    gap = estimate.predict(NEW, average=True) - estimate.predict(NEW)
    assert np.abs(gap).max() < 0.05


def test_only_decisions_scored_are_predicted():
    scored = np.arange(33) % 3 != 0
    part = pn.Episode(NEW.chosen, NEW.rewards, scored=scored)
    estimate = pn.fit(EPISODE, played.ucl())
    np.testing.assert_allclose(estimate.predict(part), estimate.predict(NEW)[scored], rtol=1e-12)
    assert len(estimate.log_likelihoods(part)) == scored.sum()


def test_separated_data_predict_with_a_prior_only():
    episode = pn.Episode([2] * 20, np.random.default_rng(5).normal(3, 1, 20))
    with pytest.raises(pn.errors.DataError, match=r"finite estimate(?s:.*)ScaledPrior"):
        pn.fit(episode, played.ucl()).predict()
    p = pn.fit(episode, played.ucl(), parameter_prior=pn.ScaledPrior()).predict(average=True)
    assert (p[1:, 2] > 1 / 7).all()


def test_what_is_no_episode_is_refused():
    estimate = pn.fit(EPISODE, played.ucl())
    with pytest.raises(
        pn.errors.DataError, match="episodes must be an Episode or some of them; got list"
    ):
        estimate.predict([1, 2])
    with pytest.raises(pn.errors.DataError, match="with 0 entries"):
        estimate.predict([])
    with pytest.raises(pn.errors.DataError, match=r"chosen must lie in 0\.\.6; got 8"):
        estimate.predict(pn.Episode([8, 1], [1.0, 2.0]))


def test_what_is_not_even_a_list_is_refused():
    with pytest.raises(pn.errors.DataError, match="episodes must be"):
        pn.fit(EPISODE, played.ucl()).predict(5)


def test_log_likelihoods_of_an_episode_without_scored_choices_are_empty():
    played = pn.Episode([0, 1, 0, 1, 1, 0], [1.0, 0.0, 1.0, 1.0, 0.0, 1.0])
    estimate = pn.fit(played, pn.models.QLearning(2), parameter_prior=pn.ScaledPrior())
    shown = pn.Episode([0, 1], [1.0, 0.0], is_choice=[False, False])
    assert estimate.log_likelihoods(shown).shape == (0,)
