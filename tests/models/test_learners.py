"""What holds of every model of learning: linear, differentiable, simulated as it is scored."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

import penchant as pn
import played
from learners import CASES, TASK, p_value, weights_and_shape
from penchant.models.model import natural_parameters
from penchant.models.record import Record
from penchant.models.simulate import agents_of

NAMES = sorted(CASES)
WITH_SHAPE = [name for name in NAMES if CASES[name][0].shape]


def log_likelihood(episodes, model, natural):
    theta, psi = weights_and_shape(model, natural)
    each = [
        special.log_softmax(model.explanatory(e, *psi) @ theta, axis=1)[
            np.arange(e.n_events), e.chosen
        ]
        for e in episodes
    ]
    return float(np.sum(each))


def episode_for(model, seed, n_events=25):
    return played.random_episode(seed, model.n_options, n_events, spread=1.0)


@pytest.mark.parametrize("name", NAMES)
def test_natural_parameters_come_back_from_weights_and_shape(name):
    model, natural, _ = CASES[name]
    theta, psi = weights_and_shape(model, natural)
    assert {n.name for n in natural_parameters(model)} == set(natural)
    for n in natural_parameters(model):
        assert n.value(theta, psi) == pytest.approx(natural[n.name], rel=1e-12)
    for shape, value in zip(model.shape, psi, strict=True):
        assert shape.low < value < shape.high


@pytest.mark.parametrize("name", NAMES)
def test_agents_choose_with_the_probabilities_of_the_likelihood(name):
    """Replay: agents, who have code of their own, know what the variables say, event by event."""
    model, natural, _ = CASES[name]
    rng = np.random.default_rng(5)
    chosen, rewards = rng.integers(0, model.n_options, 40), rng.normal(0.3, 1.0, 40)
    theta, psi = weights_and_shape(model, natural)
    x = model.explanatory(pn.Episode(chosen, rewards), *psi)
    agents = agents_of(model, natural, 2)
    for t in range(40):
        expected = special.softmax(x[t] @ theta)
        np.testing.assert_allclose(agents.probabilities(), [expected] * 2, rtol=1e-9)
        agents.observe(np.repeat(chosen[t], 2), np.repeat(rewards[t], 2))


@pytest.mark.parametrize("name", NAMES)
def test_simulated_choices_have_the_frequencies_of_the_likelihood(name):
    model, natural, task = CASES[name]
    rng = np.random.default_rng(6)
    episodes = pn.simulate(task, model, natural, n_decisions=12, n_subjects=600, rng=rng)
    theta, psi = weights_and_shape(model, natural)
    assert p_value(episodes, model, theta, psi, skip=1) > 1e-3
    assert p_value(episodes, model, 1.5 * theta, psi, skip=1) < 1e-3


@pytest.mark.parametrize("name", WITH_SHAPE)
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), place=st.floats(0.05, 0.95))
def test_slopes_are_derivatives(name, seed, place):
    model, _, _ = CASES[name]
    episode = episode_for(model, seed)
    ranges = [shape.search_range for shape in model.shape]
    psi = np.array(
        [
            float(shape.from_unconstrained(low + place * (high - low)))
            for shape, (low, high) in zip(model.shape, ranges, strict=True)
        ]
    )
    x, slopes = model.explanatory_and_slopes(episode, *psi)
    np.testing.assert_array_equal(x, model.explanatory(episode, *psi))
    assert slopes.shape == (len(psi), *x.shape)
    for q in range(len(psi)):
        h = 1e-6 * max(abs(psi[q]), 0.01)
        above, below = psi.copy(), psi.copy()
        above[q], below[q] = psi[q] + h, psi[q] - h
        difference = (model.explanatory(episode, *above) - model.explanatory(episode, *below)) / (
            above[q] - below[q]
        )
        # rounding of a difference is 1e-16 |x| / h
        atol = 1e-8 + 1e-15 * np.abs(x).max() / h
        np.testing.assert_allclose(slopes[q], difference, rtol=1e-5, atol=atol)


@pytest.mark.parametrize("name", [n for n in NAMES if not CASES[n][0].shape])
def test_a_model_without_shape_has_no_slopes(name):
    model, _, _ = CASES[name]
    x, slopes = model.explanatory_and_slopes(episode_for(model, 1))
    assert slopes.shape == (0, *x.shape)


@pytest.mark.parametrize("name", NAMES)
def test_many_episodes_at_many_psi_are_each_as_alone(name):
    model, natural, _ = CASES[name]
    episodes = [episode_for(model, seed, n) for seed, n in ((1, 7), (2, 12), (3, 5))]
    _, psi = weights_and_shape(model, natural)
    psis = np.array([psi, psi * 0.9, psi * 0.8, psi]).reshape(4, len(psi))
    which = np.array([2, 0, 2, 1])
    x, slopes = model.explanatory_many(Record.of(episodes), which, psis, True)
    assert model.explanatory_many(Record.of(episodes), which, psis, False)[1] is None
    row = 0
    for e, at in zip(which, psis, strict=True):
        alone, its = model.explanatory_and_slopes(episodes[e], *at)
        np.testing.assert_array_equal(x[row : row + len(alone)], alone)
        np.testing.assert_array_equal(slopes[:, row : row + len(alone)], its)
        row += len(alone)
    assert row == len(x)


@pytest.mark.parametrize("name", NAMES)
def test_a_row_knows_nothing_of_its_own_event_or_later_ones(name):
    model, natural, _ = CASES[name]
    _, psi = weights_and_shape(model, natural)
    whole = played.random_episode(8, model.n_options, 20, spread=1.0, shown=False)
    for t in (1, 7, 13):
        part = pn.Episode(
            [*whole.chosen[:t], 0],
            [*whole.rewards[:t], None],
            is_choice=[*whole.is_choice[:t], True],
        )
        expected = model.explanatory(whole, *psi)[: t + 1]
        np.testing.assert_array_equal(model.explanatory(part, *psi), expected)


@pytest.mark.parametrize(
    "name", [n for n in NAMES if "restless" not in n and "decay" not in n and "values" not in n]
)
def test_a_decision_without_a_choice_is_as_if_its_row_were_not_there(name):
    model, natural, _ = CASES[name]
    _, psi = weights_and_shape(model, natural)
    gaps = played.random_episode(9, model.n_options, 40, spread=1.0)
    made = gaps.chosen >= 0
    assert not made.all()
    plain = pn.Episode(gaps.chosen[made], gaps.rewards[made], is_choice=gaps.is_choice[made])
    x = model.explanatory(gaps, *psi)
    np.testing.assert_array_equal(x[made], model.explanatory(plain, *psi))
    assert np.isfinite(x).all()


@pytest.mark.parametrize("name", NAMES)
def test_renaming_options_moves_their_variables(name):
    model, natural, _ = CASES[name]
    if any(n.startswith("bias") for n in natural) or "values" in name:
        pytest.skip("options differ from the start")
    _, psi = weights_and_shape(model, natural)
    episode = episode_for(model, 4)
    order = np.roll(np.arange(model.n_options), 1)
    renamed = pn.Episode(
        np.where(episode.chosen >= 0, order[episode.chosen], -1),
        episode.rewards,
        is_choice=episode.is_choice,
    )
    moved = model.explanatory(renamed, *psi)[:, order]
    np.testing.assert_array_equal(moved, model.explanatory(episode, *psi))


@pytest.mark.parametrize("name", NAMES)
def test_options_beyond_the_last_are_refused(name):
    model, natural, _ = CASES[name]
    _, psi = weights_and_shape(model, natural)
    last = model.n_options
    with pytest.raises(
        pn.errors.DataError, match=rf"chosen must lie in 0\.\.{last - 1}; got {last}"
    ):
        model.explanatory(pn.Episode([0, last], [1.0, 2.0]), *psi)


@pytest.mark.parametrize("name", NAMES)
def test_models_are_values_and_can_be_sent_elsewhere(name):
    model, _, _ = CASES[name]
    assert pickle.loads(pickle.dumps(model)) == model
    assert f"{model.n_options} options" in str(model) or "hybrid" in str(model)


@pytest.mark.parametrize("name", NAMES)
def test_a_fit_is_at_least_as_good_as_the_truth(name):
    model, natural, task = CASES[name]
    rng = np.random.default_rng(11)
    episodes = pn.simulate(task, model, natural, n_decisions=30, n_subjects=15, rng=rng)
    truth = log_likelihood(episodes, model, natural)
    estimate = pn.fit([pn.Episode(e.chosen, e.rewards) for e in episodes], model)
    # twice the gap is about chi-square with as many degrees of freedom as parameters
    assert truth - 1e-9 <= estimate.log_likelihood < truth + 4 + 2 * len(natural)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_truth_is_in_the_likelihood_ratio_region(name):
    """Jointly, which is exact for large samples whatever the shape of the likelihood."""
    model, natural, task = CASES[name]
    rng = np.random.default_rng(12)
    plays = pn.simulate(task, model, natural, n_decisions=30, n_subjects=150, rng=rng)
    estimate = pn.fit([pn.Episode(e.chosen, e.rewards) for e in plays], model)
    lost = 2 * (estimate.log_likelihood - log_likelihood(plays, model, natural))
    assert stats.chi2.sf(lost, len(natural)) > 1e-3


# what is varied between people, and what is known
RECOVERED = {
    "q-learning": (
        pn.QLearning(3, 0.4, stickiness=True),
        {"temperature": (0.08, 0.3), "learning_rate": (0.1, 0.9), "stickiness": (-1.0, 1.5)},
    ),
    "kalman": (
        pn.KalmanFilter(3, 0.3, initial_mean=0.4),
        {
            **{"temperature": (0.08, 0.3), "uncertainty_bonus": (-0.5, 2.0)},
            **{"prior_variance": (0.05, 5.0)},
        },
    ),
    "history": (
        pn.models.HistoryRegression(3, reward_lags=1, choice_lags=1),
        {"reward_1": (0.2, 3.0), "choice_1": (-1.0, 1.5)},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(RECOVERED))
def test_people_who_differ_are_told_apart(name):
    """60 people x 20 plays x 15 decisions: estimates go with the truth, and intervals hold it."""
    model, ranges = RECOVERED[name]
    rng = np.random.default_rng(13)
    truths = [{n: float(rng.uniform(*r)) for n, r in ranges.items()} for _ in range(60)]
    plays = [
        pn.Episode(play.chosen, play.rewards, subject=k)
        for k, truth in enumerate(truths)
        for play in pn.simulate(TASK, model, truth, n_decisions=15, n_subjects=20, rng=rng)
    ]
    found = pn.fit_each(plays, model)
    good = [k for k in range(60) if found[k].status == "converged"]
    assert len(good) > 30
    for j, n in enumerate(ranges):
        true = np.array([truths[k][n] for k in good])
        low_high = np.array([found[k].interval(0.95)[j] for k in good])
        inside = (low_high[:, 0] <= true) & (true <= low_high[:, 1])
        assert stats.binom.cdf(inside.sum(), len(good), 0.95) > 1e-3, n
        estimates = [found[k].parameters[j].estimate for k in good]
        assert stats.spearmanr(true, estimates).statistic > 0.6, n


@pytest.mark.parametrize("name", NAMES)
def test_the_check_of_models_finds_nothing_wrong(name):
    model, natural, task = CASES[name]
    rng = np.random.default_rng(7)
    plays = pn.simulate(task, model, natural, n_decisions=30, n_subjects=6, rng=rng)
    found = pn.models.check_model(model, plays, rng=rng)
    assert not found.problems, found
