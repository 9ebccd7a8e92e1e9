"""The Kalman filter and Gershman's hybrid: the literal loop, limits with known answers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import learning_reference as literal
import penchant as pn
import played
from learners import weights_and_shape


def objective(model, natural, episode):
    theta, psi = weights_and_shape(model, natural)
    return model.explanatory(episode, *psi) @ theta


# options of the model, natural parameters beside temperature and bonus, what the loop calls them
FILTERS = {
    "static": (
        {},
        {"prior_variance": 90.0},
        {"prior": 90.0, "mean": 0.0},
    ),
    "static, mean estimated": (
        {"prior_variance": 90.0, "initial_mean": None, "stickiness": True},
        {"initial_mean": 12.0, "stickiness": 0.8},
        {"prior": 90.0, "mean": 12.0, "stickiness": 0.8},
    ),
    "restless": (
        {"decay": None, "drift_variance": None, "initial_mean": 25.0, "bias": True},
        {
            **{"prior_variance": 90.0, "decay": 0.8, "drift_variance": 11.0},
            **{"bias_0": 0.3, "bias_1": -0.7},
        },
        {
            **{"prior": 90.0, "mean": 25.0, "decay": 0.8, "drift": 11.0, "centre": 25.0},
            "biases": (0.3, -0.7),
        },
    ),
    "restless, everything estimated": (
        {"decay": None, "drift_variance": None, "initial_mean": None, "centre": None},
        {
            **{"prior_variance": 90.0, "decay": 0.8, "drift_variance": 11.0},
            **{"initial_mean": 12.0, "centre": 40.0},
        },
        {"prior": 90.0, "mean": 12.0, "decay": 0.8, "drift": 11.0, "centre": 40.0},
    ),
    "restless, known": (
        {
            **{"decay": 0.8, "drift_variance": 11.0, "prior_variance": 90.0},
            **{"initial_mean": None, "centre": 40.0},
        },
        {"initial_mean": 12.0},
        {"prior": 90.0, "mean": 12.0, "decay": 0.8, "drift": 11.0, "centre": 40.0},
    ),
    "decay to an estimated mean": (
        {"decay": None, "initial_mean": None, "prior_variance": 90.0},
        {"initial_mean": 12.0, "decay": 0.8},
        {"prior": 90.0, "mean": 12.0, "decay": 0.8, "centre": 12.0},
    ),
}


@pytest.mark.parametrize("name", sorted(FILTERS))
@settings(max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_the_objective_equals_the_literal_loop(name, seed):
    options, natural, said = FILTERS[name]
    episode = played.random_episode(seed, 3)
    model = pn.KalmanFilter(3, noise_variance=35.0, **options)
    natural = {"temperature": 3.0, "uncertainty_bonus": 1.7, **natural}
    expected = literal.kalman(episode, 3, 3.0, 1.7, noise=35.0, **said)
    np.testing.assert_allclose(objective(model, natural, episode), expected, rtol=1e-10)


def test_a_vague_static_filter_is_the_sample_mean():
    episode = played.random_episode(2, 3)
    model = pn.KalmanFilter(3, prior_variance=1e12, bonus=False)
    x = model.explanatory(episode)[:, :, 0]
    means = pn.models.UCB1(3).explanatory(episode)[:, :, 0]
    np.testing.assert_allclose(x, means, rtol=1e-9)


def test_a_steady_filter_is_q_learning():
    """With decay 1 the gain settles at k = s/(1 + s), where s = s/(1 + s) + d."""
    episode = played.random_episode(3, 1 + 1, 60, shown=False)
    always = pn.Episode(np.zeros(60, dtype=int), np.nan_to_num(episode.rewards, nan=30.0))
    gain = 0.35
    s = gain / (1 - gain)
    model = pn.KalmanFilter(2, prior_variance=s, drift_variance=s - gain, bonus=False)
    x = model.explanatory(always)[:, 0, 0]
    q = pn.QLearning(2).explanatory(always, gain)[:, 0, 0]
    np.testing.assert_allclose(x, q, rtol=1e-12)


def test_the_restless_world_goes_on_while_nothing_is_chosen():
    episode = pn.Episode([0, None, None, 1], [8.0, None, None, None])
    model = pn.KalmanFilter(2, prior_variance=1.0, decay=0.5, drift_variance=0.3)
    x = model.explanatory(episode)
    np.testing.assert_allclose(x[1:, 0, 0], [2.0, 1.0, 0.5])
    np.testing.assert_allclose(x[2, :, 1] ** 2, 0.25 * x[1, :, 1] ** 2 + 0.3)


def test_variances_that_vanish_leave_slopes_finite():
    episode = played.random_episode(5, 2, 300)
    model = pn.KalmanFilter(2, prior_variance=1.0, decay=None)
    x, slopes = model.explanatory_and_slopes(episode, 0.01)
    assert (x[-1, :, 1] == 0).any() and np.isfinite(slopes).all()


def test_the_unit_of_rewards_does_not_matter():
    plays = pn.simulate(
        pn.Landscape([0.25, 0.6, 0.45], pn.GaussianNoise(0.3)),
        pn.KalmanFilter(3, noise_variance=0.3, initial_mean=0.4),
        {"temperature": 0.2, "uncertainty_bonus": 1.0, "prior_variance": 0.5},
        n_decisions=25,
        n_subjects=30,
        rng=np.random.default_rng(4),
    )
    one = pn.fit(
        [pn.Episode(e.chosen, e.rewards) for e in plays],
        pn.KalmanFilter(3, noise_variance=0.3, initial_mean=0.4),
    )
    hundred = pn.fit(
        [pn.Episode(e.chosen, 100 * e.rewards) for e in plays],
        pn.KalmanFilter(3, noise_variance=0.3 * 1e4, initial_mean=40.0),
    )
    assert hundred.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-10)
    factors = {"temperature": 100, "uncertainty_bonus": 1, "prior_variance": 1e4}
    for p, scaled in zip(one.parameters, hundred.parameters, strict=True):
        assert scaled.estimate == pytest.approx(factors[p.name] * p.estimate, rel=1e-5)


@given(seed=st.integers(0, 10_000))
def test_the_hybrid_equals_its_formula(seed):
    episode = played.random_episode(seed, 2)
    weights = (0.3, -0.7, 1.1)
    x = pn.models.GershmanHybrid(35.0, 90.0, 12.0).explanatory(episode) @ weights
    expected = literal.hybrid(episode, weights, mean=12.0, prior=90.0, noise=35.0)
    np.testing.assert_allclose(x[:, 0] - x[:, 1], expected, rtol=1e-10, atol=1e-10)
    free = pn.models.GershmanHybrid(35.0, None, 12.0).explanatory(episode, 90.0 / 35.0)
    np.testing.assert_allclose(free @ weights, x, rtol=1e-12)


def test_the_hybrid_has_two_options_and_the_settings_of_its_paper():
    model = pn.models.GershmanHybrid()
    assert (model.n_options, model.shape) == (2, ())
    assert "noise variance 10, prior variance 100" in str(model)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_options": 1}, "n_options must be a whole number, 2 or more; got 1"),
        ({"noise_variance": 0.0}, "noise_variance must be > 0; got 0"),
        ({"prior_variance": -1.0}, "prior_variance must be > 0; got -1"),
        ({"prior_variance": np.inf}, "prior_variance must be finite; got inf"),
        ({"initial_mean": np.nan}, "initial_mean must be finite; got nan"),
        ({"decay": 1.1}, r"decay must lie in 0\.\.1; got 1\.1"),
        ({"drift_variance": -0.1}, "drift_variance must be >= 0; got -0.1"),
        ({"centre": 3.0}, "centre must be left out where decay is 1; got 3.0"),
        ({"centre": "middle", "decay": 0.9}, "centre must be a number; got 'middle'"),
    ],
)
def test_impossible_settings_are_refused(options, message):
    with pytest.raises(pn.errors.DataError, match=message):
        pn.KalmanFilter(**{"n_options": 3, **options})


@pytest.mark.parametrize(
    "wrong", [{"noise_variance": -1.0}, {"prior_variance": 0.0}, {"initial_mean": None}]
)
def test_impossible_settings_of_the_hybrid_are_refused(wrong):
    with pytest.raises(pn.errors.DataError, match=next(iter(wrong))):
        pn.models.GershmanHybrid(**wrong)


def test_agents_need_possible_parameters():
    model = pn.KalmanFilter(2, decay=None, drift_variance=None)
    good = {"temperature": 1.0, "uncertainty_bonus": 0.0, "prior_variance": 1.0, "decay": 0.9}
    for name, wrong in (("decay", 1.2), ("drift_variance", -1.0), ("prior_variance", 0.0)):
        with pytest.raises(pn.errors.DataError, match=name):
            model.agents({**good, "drift_variance": 0.1, name: wrong}, 1)


# -- options that always give the same -------------------------------------------------------------


def risky_and_safe(noise, n_blocks=150):
    """Play of a hybrid whose option 1 pays the same all along a block."""
    rng = np.random.default_rng(1)
    model = pn.models.GershmanHybrid(noise_variance=noise, initial_mean=0.0)
    truth = {"value": 0.1, "relative_uncertainty": 0.4, "value/total_uncertainty": 0.6}
    plays = []
    for block in range(n_blocks):
        means, agents = rng.normal(0, 10, 2), model.agents(truth, 1)
        chosen, rewards = [], []
        for _ in range(10):
            c = int(rng.random() > agents.probabilities()[0, 0])
            r = means[c] + (rng.normal(0, 4) if c == 0 else 0.0)
            agents.observe(np.array([c]), np.array([r]))
            chosen.append(c)
            rewards.append(r)
        plays.append(pn.Episode(chosen, rewards, block=block))
    return plays, truth


def test_a_hybrid_that_knows_the_safe_option_finds_its_weights_and_one_that_does_not_is_told():
    plays, truth = risky_and_safe((16.0, 0.0))
    right = pn.fit(plays, pn.models.GershmanHybrid(noise_variance=(16.0, 0.0)))
    assert right.notes == ()
    for p, known in zip(right.parameters, truth.values(), strict=True):
        assert p.low < known < p.high
    wrong = pn.fit(plays, pn.models.GershmanHybrid(noise_variance=16.0))
    assert wrong.log_likelihood < right.log_likelihood - 50
    (note,) = wrong.notes
    assert note.startswith("The reward of option 1 is always the same within an episode")
    assert "noise_variance=(16, 0)" in note


def test_a_safe_option_is_believed_at_once():
    episode = pn.Episode([1, 0, 1, 0], [7.0, 3.0, 7.0, 5.0])
    model = pn.models.GershmanHybrid(
        noise_variance=(4.0, 0.0), prior_variance=12.0, initial_mean=2.0
    )
    mean, sd, per_total = model.explanatory(episode).transpose(2, 0, 1)
    # precisions add up: 1/12 + n/4
    s = [12.0, 12.0, 3.0, 3.0]
    m = [2.0, 2.0, 2.0 + 0.75 * (3.0 - 2.0), 2.0 + 0.75 * (3.0 - 2.0)]
    assert mean[:, 0] == pytest.approx(m, rel=1e-12)
    assert mean[:, 1].tolist() == [2.0, 7.0, 7.0, 7.0]
    assert sd[:, 0] == pytest.approx(np.sqrt(s), rel=1e-12)
    assert sd[:, 1] == pytest.approx([np.sqrt(12.0), 0.0, 0.0, 0.0], rel=1e-12)
    total = np.sqrt(np.array(s) + np.array([12.0, 0.0, 0.0, 0.0]))
    assert per_total[:, 1] == pytest.approx(mean[:, 1] / total, rel=1e-12)


@pytest.mark.parametrize("noise", [(4.0, 0.0), 4.0])
def test_nothing_is_learnt_of_an_option_whose_reward_is_known(noise):
    episode = pn.Episode([1, 0, 1, 0], [7.0, 3.0, 7.0, 5.0])
    model = pn.models.GershmanHybrid(noise_variance=noise, prior_variance=(12.0, 0.0))
    mean, sd, per_total = model.explanatory(episode).transpose(2, 0, 1)
    assert mean[:, 0] == pytest.approx([0.0, 0.0, 2.25, 2.25], rel=1e-12)
    assert sd[:, 0] == pytest.approx(np.sqrt([12.0, 12.0, 3.0, 3.0]), rel=1e-12)
    assert not mean[:, 1].any() and not sd[:, 1].any()
    assert per_total == pytest.approx(mean / sd[:, :1], rel=1e-12)


def test_a_prior_variance_per_option_finds_the_weights_it_simulates():
    model = pn.models.GershmanHybrid(noise_variance=(10.0, 0.0), prior_variance=(100.0, 0.0))
    truth = {"value": 0.2, "relative_uncertainty": 0.4, "value/total_uncertainty": 1.0}
    task = pn.Landscape([2.0, 0.0], pn.GaussianNoise(10.0))
    plays = pn.simulate(
        task, model, truth, n_decisions=10, n_subjects=300, rng=np.random.default_rng(1)
    )
    for p, known in zip(pn.fit(plays, model).parameters, truth.values(), strict=True):
        assert p.low < known < p.high
    assert "prior variance 100 and 0" in str(model)


def test_prior_variances_of_two_known_options_are_refused():
    with pytest.raises(pn.errors.DataError, match=r"prior_variance must be .* got \(0.0, 0.0\)"):
        pn.models.GershmanHybrid(prior_variance=(0.0, 0.0))


def test_slopes_of_a_hybrid_with_a_safe_option_equal_differences():
    plays, _ = risky_and_safe((16.0, 0.0), n_blocks=3)
    model = pn.models.GershmanHybrid(noise_variance=(16.0, 0.0), prior_variance=None)
    h = 1e-6
    _, slopes = model.explanatory_and_slopes(plays[0], 4.0)
    above, below = model.explanatory(plays[0], 4.0 + h), model.explanatory(plays[0], 4.0 - h)
    assert slopes[0] == pytest.approx((above - below) / (2 * h), abs=1e-7)


def test_two_options_without_noise_are_refused():
    with pytest.raises(pn.errors.DataError, match=r"two of which one may be 0; got \(0.0, 0.0\)"):
        pn.models.GershmanHybrid(noise_variance=(0.0, 0.0))
