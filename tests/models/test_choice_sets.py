"""Choice sets that change: any options, of any number, may be on offer at any decision."""

import numpy as np
import pytest
from scipy import optimize

import penchant as pn
from penchant.inference.profile.profile_likelihood import ProfileProblems
from penchant.models.coordinates import Coordinates
from penchant.population.hierarchy.subject_likelihoods import EpisodeLikelihoods

N_OPTIONS = 4
GRID = pn.grid(2, 2)
SETS = ((0, 1), (2, 3), (0, 2, 3), (0, 1, 2, 3), (1, 3))
WORLD = pn.models.PairsWorld((0.8, 0.2, 0.6, 0.3), SETS, 120)
LEARNER = pn.QLearning(N_OPTIONS)
RULE = {"temperature": 0.25, "learning_rate": 0.3}


def played(seed, n=120):
    world = pn.models.PairsWorld(WORLD.probabilities, SETS, n)
    return pn.simulate(world, LEARNER, RULE, rng=np.random.default_rng(seed), subject=seed)


def with_gains(episode):
    gain = np.maximum(episode.rewards, 0.0)
    after = {"gain": gain, "loss": 1.0 - gain}
    return pn.Episode(episode.chosen, episode.rewards, after=after, available=episode.available)


def literal_log_likelihood(x, theta, episode):
    """Log-likelihood of what was chosen among what was on offer, event by event."""
    total = 0.0
    for t, option in enumerate(episode.chosen):
        utility = {i: x[t, i] @ theta for i in range(x.shape[1]) if episode.available[t, i]}
        total += utility[option] - np.log(sum(np.exp(u) for u in utility.values()))
    return total


def q_values(episode, rate):
    values, x = np.zeros(N_OPTIONS), np.empty((episode.n_events, N_OPTIONS, 1))
    for t, (option, reward) in enumerate(zip(episode.chosen, episode.rewards, strict=True)):
        x[t, :, 0] = values
        values[option] += rate * (reward - values[option])
    return x


def null_log_likelihood(episode):
    return -np.log(episode.available.sum(axis=1)).sum()


def test_q_learning_among_changing_sets_is_the_maximum_of_the_literal_likelihood():
    episode = played(1)

    def negative(at):
        return -literal_log_likelihood(q_values(episode, at[1]), np.array([at[0]]), episode)

    best = min(
        (
            optimize.minimize(negative, (beta, rate), bounds=((0, 50), (1e-8, 1)))
            for beta in (1.0, 5.0)
            for rate in (0.1, 0.5)
        ),
        key=lambda found: found.fun,
    )
    estimate = pn.fit(episode, LEARNER)
    assert estimate.status == "converged"
    assert estimate.log_likelihood == pytest.approx(-best.fun, abs=1e-7)
    np.testing.assert_allclose(estimate.theta, best.x, rtol=1e-3)
    assert estimate.null_log_likelihood == pytest.approx(null_log_likelihood(episode), rel=1e-12)


MODELS = {
    "UCL": pn.UCL(GRID, noise_variance=0.2, length_scale=1.0),
    "GPUCB": pn.GPUCB(GRID, length_scale=1.0, noise_ratio=0.5),
    "GainLoss": pn.models.GainLoss(N_OPTIONS, single_rate=True),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_maximum_of_other_models_has_the_literal_likelihood(name):
    model, episode = MODELS[name], with_gains(played(2, 90))
    estimate = pn.fit(episode, model)
    assert estimate.status in ("converged", "weakly identified", "at a bound")
    theta, psi = np.split(estimate.theta, [len(model.weights)])

    def literal(theta, psi):
        return literal_log_likelihood(model.explanatory(episode, *psi), theta, episode)

    highest = literal(theta, psi)
    assert estimate.log_likelihood == pytest.approx(highest, rel=1e-9)
    for a in range(len(theta)):
        for step in (-0.02, 0.02):
            moved = theta.copy()
            moved[a] *= 1 + step
            assert literal(moved, psi) < highest


def test_intervals_end_where_the_literal_profile_has_fallen():
    episode = played(3)
    estimate = pn.fit(episode, LEARNER)
    low, high = estimate.interval(kind="profile", of=["learning_rate"])[0]
    for rate in (low, high):
        x = q_values(episode, rate)
        found = optimize.minimize_scalar(
            lambda beta, x=x: -literal_log_likelihood(x, np.array([beta]), episode),
            bounds=(0, 60),
            method="bounded",
            options={"xatol": 1e-9},
        )
        assert estimate.log_likelihood + found.fun == pytest.approx(1.9207294, abs=1e-4)
    test = estimate.likelihood_ratio_test({"learning_rate": float(low)})
    assert test.p_value == pytest.approx(0.05, abs=1e-3)


def test_predictions_are_of_what_was_on_offer():
    episode = played(4)
    estimate = pn.fit(episode, LEARNER)
    p = estimate.predict(episode)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert (p[~episode.available] == 0).all() and (p[episode.available] > 0).all()
    assert estimate.log_likelihoods().sum() == pytest.approx(estimate.log_likelihood, rel=1e-10)


def test_live_estimates_are_those_of_a_fit():
    episode = played(5, 40)
    live = pn.live(LEARNER)
    for t in range(40):
        live.observe(
            int(episode.chosen[t]), float(episode.rewards[t]), available=episode.available[t]
        )
    whole = pn.fit(episode, LEARNER)
    assert live.estimate().log_likelihood == pytest.approx(whole.log_likelihood, rel=1e-9)


def test_sets_may_begin_to_change_while_somebody_plays():
    early = pn.Episode([0, 1], [1.0, 0.0])
    later = early.extended(2, 1.0, available=[0, 0, 1, 1]).extended(0, 1.0)
    assert later.available.tolist() == [
        [True] * 4,
        [True] * 4,
        [False, False, True, True],
        [True] * 4,
    ]


def test_people_with_and_without_sets_are_fitted_together_as_alone():
    whole = pn.simulate(
        pn.Landscape([0.8, 0.2, 0.6, 0.3], pn.GaussianNoise(0.2)),
        LEARNER,
        RULE,
        n_decisions=80,
        rng=np.random.default_rng(7),
        subject="all",
    )
    people = [played(6, 60), whole]
    for together, episode in zip(pn.fit_each(people, LEARNER), people, strict=True):
        alone = pn.fit(episode, LEARNER)
        assert together.log_likelihood == pytest.approx(alone.log_likelihood, rel=1e-9)
        np.testing.assert_allclose(together.theta, alone.theta, rtol=1e-5)


def test_a_population_has_the_likelihood_of_what_was_on_offer():
    people = [played(seed, 30) for seed in range(10, 16)]
    profiles = ProfileProblems(LEARNER, tuple((one,) for one in people), None)
    coordinates = Coordinates.of_model(LEARNER)
    likelihoods = EpisodeLikelihoods(
        coordinates=coordinates, profiles=profiles, subjects=tuple(range(6))
    )
    h = coordinates.coordinates(np.array([[0.3, 0.25]]))
    found = likelihoods.log_likelihoods(np.arange(6), np.tile(h, (6, 1, 1, 1)))
    expected = [literal_log_likelihood(q_values(e, 0.3), np.array([4.0]), e) for e in people]
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-9)
    assert pn.fit_population(people, LEARNER, nodes=3).subjects.natural.shape == (6, 2)


def test_a_forced_choice_teaches_but_says_nothing():
    episode = played(8, 50)
    forced = episode.available.copy()
    forced[:10] = np.eye(N_OPTIONS, dtype=bool)[episode.chosen[:10]]
    told = pn.Episode(episode.chosen, episode.rewards, available=forced)
    scored = np.arange(50) >= 10
    rest = pn.Episode(episode.chosen, episode.rewards, available=episode.available, scored=scored)
    one, other = pn.fit(told, LEARNER), pn.fit(rest, LEARNER)
    assert one.log_likelihood == pytest.approx(other.log_likelihood, rel=1e-9)
    np.testing.assert_allclose(one.theta, other.theta, rtol=1e-5)


def test_masks_of_different_widths_are_refused():
    three = pn.Episode([0, 1], [1.0, 0.0], available=[[1, 1, 0], [1, 1, 1]], subject="a")
    four = pn.Episode([0, 1], [1.0, 0.0], available=[[1, 1, 0, 0], [1, 1, 1, 0]], subject="b")
    with pytest.raises(pn.errors.DataError, match="a column for every option; got 3 and 4 columns"):
        pn.fit_each([three, four], LEARNER)
