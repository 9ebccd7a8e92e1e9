"""Latent variables: literal loops, alignment with the data, and draws of parameters."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

import penchant as pn
from penchant.bandit.episode_table import episode_rows
from penchant.workflow.predictive_checks import natural_parameter_draws
from played import PLACES, random_episode, ucl, ucl_episode

WEAK = pn.ScaledPrior()


def _at(model, episode, theta, psi):
    """An estimate with given numbers, so that its latent variables can be computed by hand."""
    fitted = pn.fit(episode, model, parameter_prior=WEAK)
    return dataclasses.replace(fitted, theta=np.array([*theta, *psi], dtype=float))


def _random(n_options=3, seed=2, n=24):
    """Timeouts, options shown, decisions not scored, and no last reward."""
    episode = random_episode(seed, n_options, n)
    assert (episode.chosen == -1).any() and (~episode.is_choice).any()
    return episode


def test_values_and_prediction_errors_are_those_of_a_literal_learner():
    episode = _random()
    alpha, beta, start = 0.35, 0.07, 12.0
    found = pn.beliefs(_at(pn.QLearning(3, initial_value=start), episode, [beta], [alpha]))
    q = np.full(3, start)
    for t, (option, reward, is_choice) in enumerate(
        zip(episode.chosen, episode.rewards, episode.is_choice, strict=True)
    ):
        p = np.exp(beta * q - np.log(np.exp(beta * q).sum()))
        np.testing.assert_allclose(found.options["probability"][t], p, rtol=1e-12)
        np.testing.assert_allclose(found.options["value"][t], q, rtol=1e-12)
        assert found["entropy"][t] == pytest.approx(-(p * np.log(p)).sum())
        if option == -1:
            assert np.isnan(
                [found[k][t] for k in ("probability", "value", "prediction_error")]
            ).all()
            continue
        assert found["value"][t] == pytest.approx(q[option])
        if is_choice:
            assert found["probability"][t] == pytest.approx(p[option])
            assert found["log_probability"][t] == pytest.approx(np.log(p[option]))
        else:
            assert np.isnan(found["probability"][t])
        if np.isnan(reward):
            assert np.isnan(found["prediction_error"][t])
        else:
            assert found["prediction_error"][t] == pytest.approx(reward - q[option])
            q[option] += alpha * (reward - q[option])


def test_an_estimated_start_enters_the_values():
    episode = _random()
    known = pn.beliefs(_at(pn.QLearning(3, initial_value=25.0), episode, [0.05], [0.4]))
    free = pn.beliefs(_at(pn.QLearning(3, initial_value=None), episode, [0.05, 0.05 * 25.0], [0.4]))
    np.testing.assert_allclose(free["value"], known["value"], rtol=1e-12)


@pytest.mark.parametrize("bonus", [True, False])
def test_the_filter_gives_means_and_standard_deviations(bonus):
    episode = _random()
    noise, prior, mean = 16.0, 90.0, 30.0
    model = pn.KalmanFilter(3, noise_variance=noise, initial_mean=None, bonus=bonus)
    theta = [0.06, 0.06 * mean, *([0.1] if bonus else [])]
    found = pn.beliefs(_at(model, episode, theta, [prior / noise]))
    m, s = np.full(3, mean), np.full(3, prior)
    for t, (option, reward) in enumerate(zip(episode.chosen, episode.rewards, strict=True)):
        np.testing.assert_allclose(found.options["value"][t], m, rtol=1e-10)
        np.testing.assert_allclose(found.options["uncertainty"][t], np.sqrt(s), rtol=1e-10)
        if option >= 0 and not np.isnan(reward):
            k = s[option] / (s[option] + noise)
            m[option] += k * (reward - m[option])
            s[option] *= 1 - k


def test_beliefs_of_ucl_are_the_posterior_of_a_gaussian_process():
    episode, model = ucl_episode(n_decisions=15), ucl()
    nu, mean, variance = 11.0, 35.0, 120.0
    found = pn.beliefs(_at(model, episode, [1 / nu, mean / nu], [model.noise_variance / variance]))
    apart = np.linalg.norm(PLACES[:, None] - PLACES, axis=-1)
    prior = variance * np.exp(-apart / 1.4)
    for t in (0, 1, 6, 14):
        seen, r = episode.chosen[:t], episode.rewards[:t]
        noisy = prior[np.ix_(seen, seen)] + model.noise_variance * np.eye(t)
        gain = np.linalg.solve(noisy, prior[seen]).T
        np.testing.assert_allclose(found.options["value"][t], mean + gain @ (r - mean), rtol=1e-8)
        sd = np.sqrt(np.diag(prior - gain @ prior[seen]))
        np.testing.assert_allclose(found.options["uncertainty"][t], sd, rtol=1e-7)


def test_beliefs_of_gp_ucb_are_its_variables():
    episode = ucl_episode(n_decisions=15)
    model = pn.GPUCB(PLACES, prior_sd=20.0)
    estimate = _at(model, episode, [0.1, 0.05, 0.1 * 33.0], [1.3])
    found = pn.beliefs(estimate)
    x = model.explanatory(episode, 1.3)
    np.testing.assert_allclose(found.options["value"], x[:, :, 0] + 33.0 * x[:, :, 2])
    np.testing.assert_allclose(found.options["uncertainty"], x[:, :, 1])
    # before any reward: the prior mean, and nothing learnt
    np.testing.assert_allclose(found.options["value"][0], 33.0)


@pytest.mark.parametrize(
    ("model", "theta", "psi"),
    [
        (pn.models.UCB1(3, initial_value=None), [0.1, 0.3, 0.2], []),
        (pn.models.KnownValues([1.0, 2.0, 4.0]), [0.5], []),
        (pn.QLearning(3, choice_kernel=True, choice_rate=0.3), [0.1, 0.2], [0.5]),
    ],
)
def test_other_models_offer_what_they_have(model, theta, psi):
    episode = _random()
    found = pn.beliefs(_at(model, episode, theta, psi))
    assert found.options["value"].shape == (episode.n_events, 3)
    assert {"prediction_error", "value"} <= set(found.columns)


def test_the_hybrid_offers_both_of_its_filters():
    episode = _random(n_options=2)
    found = pn.beliefs(_at(pn.models.GershmanHybrid(), episode, [0.1, 0.2, 0.3], []))
    assert found.options["uncertainty"][0] == pytest.approx([10.0, 10.0])
    assert np.isfinite(found["prediction_error"]).sum() == episode.observed.sum()


def test_discounted_values_are_those_of_the_formula():
    offers = {"amount": [[20.0, 50.0], [30.0, 35.0]], "delay": [[0.0, 30.0], [0.0, 90.0]]}
    decisions = pn.Offers([1, None], offers)
    found = pn.beliefs(_at(pn.HyperbolicDiscounting(), decisions, [0.5], [0.02]))
    np.testing.assert_allclose(found.options["value"][0], [20.0, 50.0 / 1.6])
    assert np.isnan(found["prediction_error"]).all()


def test_a_model_without_beliefs_still_has_probabilities():
    found = pn.beliefs(pn.fit(_random(), pn.models.RandomChoice(3), parameter_prior=WEAK))
    assert "value" not in found.columns
    assert np.isfinite(found["entropy"]).all()


class Own:
    """A model of one's own that says what goes on in it."""

    weights = ("bias",)
    shape = ()

    def __init__(self, wrong=False):
        self.wrong = wrong

    def explanatory(self, episode):
        x = np.zeros((episode.n_events, 3, 1))
        x[:, 0] = 1.0
        return x

    def latent(self, episode, theta, psi):
        n = 2 if self.wrong else episode.n_events
        return {"boredom": np.arange(n, dtype=float), "value": np.ones((n, 3)) * theta[0]}


def test_a_model_of_ones_own_may_say_what_it_believes():
    estimate = pn.fit(_random(), Own(), parameter_prior=WEAK)
    found = pn.beliefs(estimate)
    np.testing.assert_array_equal(found["boredom"], np.arange(24.0))
    known = found["chosen"] >= 0
    assert found["value"][known] == pytest.approx(np.full(known.sum(), estimate.theta[0]))
    wrong = dataclasses.replace(
        estimate, source=dataclasses.replace(estimate.source, model=Own(wrong=True))
    )
    with pytest.raises(pn.errors.DataError, match=r"latent must give arrays \(n_events,\) or"):
        pn.beliefs(wrong)


# -- alignment -----------------------------------------------------------------------------------


def _table():
    """Rows of two people in disorder, with a timeout, one decision without a row."""
    rng = np.random.default_rng(0)
    rows = [(who, t) for who in ("bo", "al") for t in range(1, 13) if (who, t) != ("al", 7)]
    order = rng.permutation(len(rows))
    who, trial = zip(*(rows[i] for i in order), strict=True)
    chosen = rng.integers(0, 2, len(rows)).astype(object)
    reward = rng.random(len(rows)).round(2).astype(object)
    chosen[3] = reward[3] = None
    return {
        "who": list(who),
        "trial": list(trial),
        "chosen": [None if c is None else int(c) for c in chosen],
        "reward": reward.tolist(),
    }


def test_the_table_stands_beside_the_data():
    import pandas as pd

    data = pd.DataFrame(_table())
    named = {"subject": "who", "decision": "trial", "gaps": "timeout"}
    episodes = pn.episodes_from_frame(data, chosen="chosen", reward="reward", **named)
    assert sum(e.n_events for e in episodes) == len(data) + 1
    estimates = pn.fit_each(episodes, pn.QLearning(2), parameter_prior=WEAK)
    found = pn.beliefs(estimates).to_frame(
        backend="pandas", options=True, rows=episode_rows(data, **named)
    )
    assert len(found) == len(data)
    assert found["subject"].tolist() == data["who"].tolist()
    assert (found["event"] + 1).tolist() == data["trial"].tolist()
    np.testing.assert_array_equal(found["reward"].to_numpy(float), data["reward"].to_numpy(float))
    np.testing.assert_array_equal(found["chosen"], data["chosen"].fillna(-1).astype(int))
    assert np.isnan(found["probability"][3]) and np.isfinite(found["entropy"][3])
    np.testing.assert_allclose(found["probability_0"] + found["probability_1"], 1.0)


def test_each_episode_is_described_by_its_own_subjects_estimate():
    plays = [random_episode(seed, 3) for seed in (1, 2, 3)]
    plays = [
        pn.Episode(e.chosen, e.rewards, is_choice=e.is_choice, subject=s, block=b)
        for e, s, b in zip(plays, ("a", "b", "a"), (0, 0, 1), strict=True)
    ]
    estimates = pn.fit_each(plays, pn.QLearning(3), parameter_prior=WEAK)
    found = pn.beliefs(estimates, plays)
    assert found["subject"].tolist() == [e.subject for e in plays for _ in range(e.n_events)]
    start = 0
    for e in plays:
        one = pn.beliefs(estimates.of(e.subject), e)
        part = slice(start, start + e.n_events)
        np.testing.assert_allclose(found["probability"][part], one["probability"])
        start += e.n_events
    assert repr(found).startswith("<Latent variables of 75 events: probability, entropy, value")


def test_probabilities_are_those_of_predict():
    episode = _random()
    estimate = pn.fit(episode, pn.QLearning(3), parameter_prior=WEAK)
    found = pn.beliefs(estimate)
    np.testing.assert_allclose(found.options["probability"][episode.scored], estimate.predict())
    np.testing.assert_allclose(
        found["log_probability"][episode.scored], estimate.log_likelihoods(), rtol=1e-9
    )


def test_subjects_without_a_finite_estimate_have_nan_and_are_named():
    sure = pn.Episode([0, 1, 1, 1, 1, 1], [0.0, 1.0, 1.0, 1.0, 1.0, 1.0], subject="sure")
    mixed = pn.Episode([0, 1, 1, 0, 0, 1], [0.3, 0.8, 0.2, 0.5, 0.6, 0.4], subject="mixed")
    estimates = pn.fit_each([sure, mixed], pn.models.RandomChoice(2))
    separated = pn.fit_each([sure, mixed], pn.QLearning(2, learning_rate=0.5))
    assert pn.beliefs(estimates).without == ()
    found = pn.beliefs(separated)
    assert found.without == ("sure",)
    assert np.isnan(found["probability"][:6]).all() and np.isnan(found["value"][:6]).all()
    assert np.isfinite(found["probability"][6:]).all()
    assert "1 subject without" in repr(found)


def test_wrong_requests_are_refused():
    episode = _random()
    estimate = pn.fit(episode, pn.QLearning(3), parameter_prior=WEAK)
    found = pn.beliefs(estimate)
    with pytest.raises(pn.errors.DataError, match="name must be one of subject, block"):
        found["surprise"]
    with pytest.raises(pn.errors.DataError, match="rows must hold a row for each event"):
        found.to_frame(rows=[[0, 1]])
    with pytest.raises(pn.errors.DataError, match="episodes must be given for an estimate without"):
        pn.beliefs(
            dataclasses.replace(estimate, source=estimate.source.without_data_for_pickling())
        )
    many = pn.fit_each([episode], pn.QLearning(3), parameter_prior=WEAK)
    with pytest.raises(pn.errors.DataError, match="subjects that were fitted; got 'new'"):
        pn.beliefs(many, pn.Episode([0, 1], [1.0, 0.0], subject="new"))


# -- draws ---------------------------------------------------------------------------------------


def _estimate(n=400, prior=None):
    task = pn.Task(np.repeat([[0.2, 0.8], [0.8, 0.2]], n // 2, axis=0))
    rule = {"temperature": 0.3, "learning_rate": 0.4}
    episode = pn.simulate(task, pn.QLearning(2), rule, rng=np.random.default_rng(3))
    return pn.fit(episode, pn.QLearning(2), parameter_prior=prior)


def test_draws_have_the_mean_and_covariance_of_the_estimate():
    estimate = _estimate()
    draws = pn.results.parameter_draws(estimate, 20_000, rng=np.random.default_rng(0))
    spread = estimate.standard_errors
    np.testing.assert_allclose(draws.mean(axis=0), estimate.theta, atol=4 * spread.max() / 141)
    correlation = estimate.covariance / np.outer(spread, spread)
    np.testing.assert_allclose(np.corrcoef(draws.T), correlation, atol=0.04)
    np.testing.assert_allclose(draws.std(axis=0), spread, rtol=0.03)


def test_shape_parameters_on_a_logarithm_are_drawn_on_it():
    model = pn.KalmanFilter(4, noise_variance=16.0, initial_mean=50.0)
    task = pn.Landscape([40, 50, 60, 45], pn.GaussianNoise(16.0))
    truth = {"temperature": 4.0, "uncertainty_bonus": 1.5, "prior_variance": 100.0}
    plays = pn.simulate(
        task, model, truth, n_decisions=40, n_subjects=20, rng=np.random.default_rng(1)
    )
    estimate = pn.fit(plays, model)
    draws = pn.results.parameter_draws(estimate, 8000, rng=np.random.default_rng(0))
    logs = np.log(draws[:, -1])
    assert logs.std() == pytest.approx(estimate.standard_errors[-1] / estimate.psi[0], rel=0.05)
    # draws beyond the ends of the model are left out, which makes it some 0.12 ± 0.03
    assert abs(stats.skew(logs)) < 0.25 < 1.0 < stats.skew(draws[:, -1])


def test_draws_stay_where_the_model_is():
    estimate = _estimate(n=60)
    draws = pn.results.parameter_draws(estimate, 500, rng=np.random.default_rng(0))
    assert (draws[:, 0] > 0).all()
    assert (draws[:, -1] >= 0.0).all() and (draws[:, -1] <= 1.0).all()
    natural = natural_parameter_draws(estimate, draws)
    assert natural[0]["temperature"] == pytest.approx(1 / draws[0, 0])


def test_a_parameter_at_a_bound_stays_there():
    for seed in range(30):
        task = pn.Task(pn.Landscape([0.3, 0.5], pn.GaussianNoise(0.3)), 40)
        rule = {"temperature": 0.6, "learning_rate": 0.95}
        episode = pn.simulate(task, pn.QLearning(2), rule, rng=np.random.default_rng(seed))
        estimate = pn.fit(episode, pn.QLearning(2))
        if estimate.status == "at a bound" and np.isfinite(estimate.covariance[0, 0]):
            break
    draws = pn.results.parameter_draws(estimate, 50, rng=np.random.default_rng(0))
    assert np.unique(draws[:, 1]).tolist() == [estimate.psi[0]]
    assert len(np.unique(draws[:, 0])) == 50


def test_without_standard_errors_nothing_is_drawn():
    sure = pn.Episode([0, 1, 1, 1, 1, 1], [0.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    estimate = pn.fit(sure, pn.QLearning(2, learning_rate=0.5))
    with pytest.raises(
        pn.errors.DataError, match="estimate must have standard errors to draw from; got"
    ):
        pn.results.parameter_draws(estimate, 5, rng=np.random.default_rng(0))


def test_log_likelihood_draws_are_those_of_the_parameters_drawn():
    estimate = _estimate(n=60, prior=WEAK)
    found = pn.results.log_likelihood_draws(estimate, 7, rng=np.random.default_rng(5))
    draws = pn.results.parameter_draws(estimate, 7, rng=np.random.default_rng(5))
    for row, draw in zip(found, draws, strict=True):
        other = dataclasses.replace(estimate, theta=draw)
        np.testing.assert_allclose(row, other.log_likelihoods(), rtol=1e-9)
    with pytest.raises(pn.errors.DataError, match="episodes must be at hand"):
        pn.results.log_likelihood_draws(
            dataclasses.replace(estimate, source=estimate.source.without_data_for_pickling()),
            3,
            rng=np.random.default_rng(0),
        )
