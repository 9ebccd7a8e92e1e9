"""Many subjects in one call: the numbers of each alone, whatever the company."""

import importlib

import numpy as np
import pytest
from scipy import stats

import penchant as pn
import played


def labelled(subject, *episodes):
    return [
        pn.Episode(e.chosen, e.rewards, is_choice=e.is_choice, scored=e.scored, subject=subject)
        for e in episodes
    ]


def learner(seed, n):
    return pn.simulate(
        pn.Landscape([0.2, 0.55, 0.9], pn.GaussianNoise(0.07)),
        pn.QLearning(3),
        {"temperature": 0.3, "learning_rate": 0.35},
        n_decisions=n,
        rng=np.random.default_rng(seed),
    )


def searcher(seed, n):
    return played.ucl_episode(seed=seed, n_decisions=n)


def people(play, n_options):
    """Of all kinds, those that tell little or nothing among others."""
    last = play(37, 30)
    return [
        *labelled("short", play(31, 20)),
        *labelled("one", pn.Episode([1], [2.0])),
        *labelled("longer", play(32, 45)),
        *labelled("always", pn.Episode([2] * 15, np.linspace(1.0, 4.0, 15))),
        *labelled("nothing", pn.Episode([], [])),
        *labelled("twice", play(33, 22), played.random_episode(4, n_options, 14)),
        *labelled("not scored", pn.Episode([1, 0], [3.0, 4.0], scored=[False, False])),
        *labelled("shown", pn.Episode([1, 0, 1], [3.0, 4.0, 2.0], is_choice=[False] * 3)),
        *labelled("anything", played.random_episode(3, n_options, 30)),
        *labelled("late", pn.Episode([None, 1, None, 0], [None, 1.0, None, None])),
        *labelled("left", pn.Episode(last.chosen, [*last.rewards[:-1], None])),
    ]


MODELS = {
    "UCL": (searcher, 7, played.ucl()),
    "free bonus": (searcher, 7, played.ucl(bonus="free")),
    "Q-learning": (learner, 3, pn.QLearning(3)),
    "no shape": (learner, 3, pn.QLearning(3, learning_rate=0.3, stickiness=True)),
    "two rates": (learner, 3, pn.QLearning(3, dual_rates=True, stickiness=True)),
    "three rates": (learner, 3, pn.QLearning(3, forgetting=None, choice_kernel=True)),
    "Kalman": (learner, 3, pn.KalmanFilter(3, noise_variance=0.07)),
}


def same(one, other, rtol=1e-9):
    assert one.status == other.status
    assert one.message == other.message
    assert one.n_decisions == other.n_decisions
    assert one.diagnostics.bounds == other.diagnostics.bounds
    np.testing.assert_allclose(one.theta, other.theta, rtol=1e-9)
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=rtol, atol=1e-300)
    np.testing.assert_allclose(one.log_likelihood, other.log_likelihood, rtol=1e-12)


@pytest.mark.parametrize("prior", [None, pn.ScaledPrior()], ids=["ml", "weak"])
@pytest.mark.parametrize("name", MODELS)
def test_each_of_many_is_fitted_as_by_itself(name, prior):
    play, n_options, model = MODELS[name]
    episodes = people(play, n_options)
    together = pn.fit_each(episodes, model, parameter_prior=prior, threads=1)
    assert together.subjects == tuple(dict.fromkeys(e.subject for e in episodes))
    for subject, estimate in zip(together.subjects, together, strict=True):
        mine = [e for e in episodes if e.subject == subject]
        assert estimate.subject == subject
        if sum(e.n_decisions for e in mine):
            # what is chosen by the rewards is chosen for all: the model of the estimate has it
            same(estimate, pn.fit(mine, estimate.model, parameter_prior=prior))
        else:
            assert estimate.status == "not identified"


@pytest.mark.parametrize(
    "prior",
    [
        pn.GaussianPrior(0.0, [1.0]),
        pn.NaturalPrior(temperature=stats.lognorm(1.0, scale=0.3), learning_rate=stats.beta(2, 2)),
    ],
    ids=str,
)
def test_each_of_many_is_fitted_as_by_itself_under_other_priors(prior):
    episodes = people(learner, 3)
    together = pn.fit_each(episodes, pn.QLearning(3), parameter_prior=prior, threads=1)
    for subject, estimate in zip(together.subjects, together, strict=True):
        mine = [e for e in episodes if e.subject == subject]
        if sum(e.n_decisions for e in mine):
            found = pn.fit(mine, estimate.model, parameter_prior=prior)
            same(estimate, found, rtol=1e-6)  # slopes of densities by differences
            np.testing.assert_allclose(estimate.log_posterior, found.log_posterior, rtol=1e-12)


@pytest.mark.parametrize("at_once", [50, 700, 20_000])
@pytest.mark.parametrize("threads", [1, 2])
def test_neither_order_nor_threads_nor_portions_matter(monkeypatch, at_once, threads):
    episodes = people(learner, 3)
    usual = pn.fit_each(episodes, pn.QLearning(3), threads=1)
    for name in ("profile.profile_likelihood", "search.grid_search"):
        module = importlib.import_module(f"penchant.inference.{name}")
        monkeypatch.setattr(module, "NUMBERS_AT_ONCE", at_once)
    backwards = sorted(episodes, key=lambda e: str(e.subject))
    again = pn.fit_each(backwards, pn.QLearning(3), threads=threads)
    for subject, estimate in zip(usual.subjects, usual, strict=True):
        same(again.of(subject), estimate)


def test_subjects_that_tell_nothing_have_no_intervals_and_stop_nobody():
    estimates = pn.fit_each(people(learner, 3), pn.QLearning(3), threads=1)
    found = dict(zip(estimates.subjects, estimates.parameters_at(0.9, "profile"), strict=True))
    assert np.isnan([(p.low, p.high) for p in found["nothing"]]).all()
    assert np.isfinite([(p.low, p.high) for p in found["longer"]]).all()
    assert estimates.to_frame(backend="pyarrow").num_rows == 11
    nothing = estimates.of("nothing")
    assert "not identified" in nothing.summary()
    assert nothing.to_dict()["status"] == "not identified"
    assert len(nothing.profile.values) == 0


class Broken(played.Learner):
    """A model that divides by something that is 0 at one psi."""

    def explanatory(self, episode, learning_rate):
        x = super().explanatory(episode, learning_rate)
        x[7, 2, 0] = np.nan if learning_rate > 0.5 else 0.0
        return x


def test_a_model_that_returns_no_number_is_told_where():
    with pytest.raises(
        pn.errors.DataError, match="explanatory must be finite; got nan in inverse_temp"
    ):
        pn.fit(played.q_episode(), Broken())
    with pytest.raises(pn.errors.DataError, match="at decision 7, option 2"):
        pn.fit(played.q_episode(), Broken())


def test_rewards_in_other_units_give_the_same_fit():
    for c in (1e-6, 1e6):
        one, episode = pn.fit(played.q_episode(), pn.QLearning(4)), played.q_episode()
        other = pn.fit(pn.Episode(episode.chosen, c * episode.rewards), pn.QLearning(4))
        assert other.status == one.status
        assert other.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-12)
        np.testing.assert_allclose(other.theta, one.theta / [c, 1.0], rtol=1e-7)
        np.testing.assert_allclose(
            other.interval(kind="profile"), one.interval(kind="profile") * [[c], [1.0]], rtol=1e-6
        )


@pytest.mark.parametrize("n_options", [2, 400])
def test_few_and_many_options(n_options):
    rng = np.random.default_rng(2)
    episode = pn.Episode(rng.integers(0, n_options, 40), rng.normal(size=40))
    estimate = pn.fit(episode, pn.QLearning(n_options))
    assert estimate.null_log_likelihood == pytest.approx(-40 * np.log(n_options))
    assert estimate.log_likelihood >= estimate.null_log_likelihood - 1e-9


def test_a_single_option_is_no_choice():
    with pytest.raises(pn.errors.DataError, match="two or more options"):
        pn.fit(pn.Episode([0] * 5, np.arange(5.0)), pn.QLearning(1))
