"""The exact estimator: nothing is better, whatever is tried; statuses; invariances; priors."""

import math

import numpy as np
import pytest
from scipy import special, stats

import belief_reference as dense
import penchant as pn
import played
from profile_problem import Problem


def log_likelihood_of(episode, log_parameters):
    """UCL with (log nu, mu0, log sigma0^2[, log lambda]), by dense formulas."""
    log_nu, mean, log_variance, *rest = log_parameters
    scale = math.exp(rest[0]) if rest else 1.4
    natural = (math.exp(log_nu), mean, math.exp(log_variance), scale)
    return dense.ucl_log_likelihood(
        episode.chosen, episode.rewards, played.PLACES, played.NOISE_VARIANCE, natural
    )


def values(estimate):
    return {p.name: p.estimate for p in estimate.parameters}


# -- nothing is better -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(1, 9))
@pytest.mark.parametrize("options", [{}, {"length_scale": None}, {"bonus": "free"}], ids=str)
def test_the_estimate_is_never_worse_than_the_truth_or_a_finer_grid(seed, options):
    episode = played.ucl_episode(seed=seed)
    model = played.ucl(**options)
    estimate = pn.fit(episode, model)
    truth = log_likelihood_of(episode, [math.log(11.0), 35.0, math.log(120.0), math.log(1.4)])
    assert estimate.log_likelihood >= truth
    problem = Problem(model, (episode,))
    fine = [
        np.linspace(low, high, n) for (low, high), n in zip(problem.bounds, (97, 29), strict=False)
    ]
    mesh = np.stack([m.ravel() for m in np.meshgrid(*fine, indexing="ij")], axis=1)
    profile, _ = problem.values(np.array([problem.from_unconstrained(u) for u in mesh]))
    assert estimate.log_likelihood >= profile.max() - 1e-9


def test_the_log_likelihood_is_that_of_the_dense_formulas_at_the_estimate():
    episode = played.ucl_episode(seed=2)
    for options in ({}, {"length_scale": None}):
        found = values(pn.fit(episode, played.ucl(**options)))
        literal = dense.ucl_log_likelihood(
            episode.chosen,
            episode.rewards,
            played.PLACES,
            played.NOISE_VARIANCE,
            (
                found["decision_noise"],
                found["prior_mean"],
                found["prior_variance"],
                found.get("length_scale", 1.4),
            ),
        )
        estimate = pn.fit(episode, played.ucl(**options))
        assert estimate.log_likelihood == pytest.approx(literal, rel=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("free_scale", [False, True])
def test_ten_random_starts_of_general_optimisers_find_nothing_better(seed, free_scale):
    episode = played.ucl_episode(seed=seed, n_decisions=45)
    rng = np.random.default_rng(seed)
    low, high = [1.0, -20.0, 0.0, -1.6], [4.0, 90.0, 9.0, 2.9]
    n = 4 if free_scale else 3
    starts = rng.uniform(low[:n], high[:n], size=(10, n))

    def negative(parameters):
        # lambda and delta are kept in the range that the model searches
        inside = np.array(parameters)
        inside[2] = np.clip(inside[2], math.log(6.0 / 400), math.log(6.0 / 1.5e-8))
        if free_scale:
            inside[3] = np.clip(inside[3], math.log(shape[1].low), math.log(shape[1].high))
        inside[0] = np.clip(inside[0], -8.0, 20.0)
        return -log_likelihood_of(episode, inside)

    model = played.ucl(length_scale=None if free_scale else 1.4)
    shape = model.shape
    estimate = pn.fit(episode, model)
    best = -dense.best_of_starts(negative, starts)
    assert estimate.log_likelihood >= best - 1e-8
    if not free_scale:
        # and they do find it, or this test would prove nothing; ridges of lambda defeat them
        assert estimate.log_likelihood == pytest.approx(best, abs=1e-5)


def test_q_learning_is_never_worse_than_a_fine_grid_of_both_parameters():
    for seed in (1, 2, 3):
        episode = played.q_episode(seed=seed, n_decisions=80)
        estimate = pn.fit(episode, pn.QLearning(4))
        best = -math.inf
        for rate in np.linspace(0.01, 1.0, 34):
            v = dense.q_values(episode.chosen, episode.rewards, 4, rate)
            q = v[None] / np.linspace(0.05, 2.0, 60)[:, None, None]
            log_p = q - special.logsumexp(q, axis=2, keepdims=True)
            best = max(best, log_p[:, np.arange(80), episode.chosen].sum(axis=1).max())
        assert estimate.log_likelihood >= best
        temperature, rate = (p.estimate for p in estimate.parameters)
        literal = dense.q_log_likelihood(episode.chosen, episode.rewards, 4, temperature, rate)
        assert estimate.log_likelihood == pytest.approx(literal, rel=1e-12)


# -- covariance ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("options", [{}, {"length_scale": None}, {"bonus": "free"}], ids=str)
def test_the_joint_covariance_is_the_inverse_of_a_numerical_hessian(seed, options):
    episode = played.ucl_episode(seed=seed)
    model = played.ucl(**options)
    estimate = pn.fit(episode, model)
    assert estimate.status == "converged"
    d = estimate.n_weights

    def log_likelihood(point):
        x = model.explanatory(episode, *point[d:])
        q = x @ point[:d]
        log_p = q - special.logsumexp(q, axis=1, keepdims=True)
        return math.fsum(log_p[np.arange(len(q)), episode.chosen])

    # Second differences lose eps/h^2: steps of 1/50 standard error at fixed others, twice halved
    # (Richardson), so that truncation is of fourth order.
    coarse = 0.04 / np.sqrt(np.diag(np.linalg.inv(estimate.covariance)))
    one = dense.hessian(log_likelihood, estimate.theta, coarse)
    two = dense.hessian(log_likelihood, estimate.theta, coarse / 2)
    expected = np.linalg.inv(-(4 * two - one) / 3)
    size = np.sqrt(np.diag(expected))
    scaled = estimate.covariance / np.outer(size, size)
    np.testing.assert_allclose(scaled, expected / np.outer(size, size), atol=1e-4)


def test_the_joint_covariance_of_q_learning_is_the_inverse_of_a_numerical_hessian():
    for seed in (1, 2):
        episode = played.q_episode(seed=seed)
        for model in (pn.QLearning(4), played.Learner()):
            estimate = pn.fit(episode, model)

            def value(point, episode=episode):
                return dense.q_log_likelihood(
                    episode.chosen, episode.rewards, 4, 1 / point[0], point[1]
                )

            steps = 0.02 * estimate.standard_errors
            expected = np.linalg.inv(-dense.hessian(value, estimate.theta, steps))
            np.testing.assert_allclose(estimate.covariance, expected, rtol=1e-3)


# -- invariances -----------------------------------------------------------------------------------


def test_a_shift_of_rewards_shifts_the_prior_mean_only():
    episode = played.ucl_episode(seed=2)
    one = pn.fit(episode, played.ucl())
    other = pn.fit(pn.Episode(episode.chosen, episode.rewards + 300.0), played.ucl())
    assert other.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-10)
    expected = values(one)
    expected["prior_mean"] += 300.0
    assert values(other) == pytest.approx(expected, rel=1e-5)
    width = [p.standard_error for p in one.parameters]
    np.testing.assert_allclose([p.standard_error for p in other.parameters], width, rtol=1e-4)


@pytest.mark.parametrize("c", [1e-4, 1e5])
def test_units_of_rewards_do_not_matter(c):
    episode = played.ucl_episode(seed=2)
    one = pn.fit(episode, played.ucl())
    other = pn.fit(
        pn.Episode(episode.chosen, episode.rewards * c),
        played.ucl(noise_variance=played.NOISE_VARIANCE * c**2),
    )
    assert other.status == one.status
    assert other.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-11)
    factor = np.array([c, c, c**2])
    found = np.array(list(values(other).values()))
    np.testing.assert_allclose(found / factor, list(values(one).values()), rtol=1e-6)
    np.testing.assert_allclose(other.interval() / factor[:, None], one.interval(), rtol=1e-4)


def test_units_and_labels_of_places_do_not_matter():
    episode = played.ucl_episode(seed=2)
    one = pn.fit(episode, played.ucl(length_scale=None, length_scale_range=(0.1, 20.0)))
    order = np.random.default_rng(4).permutation(7)
    moved = pn.Episode(np.argsort(order)[episode.chosen], episode.rewards)
    model = played.ucl(
        locations=50 * played.PLACES[order], length_scale=None, length_scale_range=(5.0, 1000.0)
    )
    other = pn.fit(moved, model)
    assert other.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-10)
    expected = values(one)
    expected["length_scale"] *= 50
    assert values(other) == pytest.approx(expected, rel=1e-5)


def test_the_same_data_give_the_same_answer_to_the_last_digit():
    one = pn.fit(played.ucl_episode(seed=2), played.ucl(length_scale=None))
    other = pn.fit(played.ucl_episode(seed=2), played.ucl(length_scale=None))
    np.testing.assert_array_equal(one.theta, other.theta)
    np.testing.assert_array_equal(one.covariance, other.covariance)


def test_the_first_decision_counts_but_tells_nothing():
    episode = played.ucl_episode(seed=2)
    scored = np.ones(70, dtype=bool)
    scored[0] = False
    whole = pn.fit(episode, played.ucl())
    later = pn.fit(pn.Episode(episode.chosen, episode.rewards, scored=scored), played.ucl())
    np.testing.assert_allclose(whole.theta, later.theta, rtol=1e-6)
    assert whole.log_likelihood == pytest.approx(later.log_likelihood - math.log(7), rel=1e-10)
    assert whole.null_log_likelihood == pytest.approx(-70 * math.log(7), rel=1e-13)


# -- models of users -------------------------------------------------------------------------------


def test_a_users_model_in_ten_lines_gives_the_answer_of_the_built_in_one():
    episode = played.q_episode()
    built_in, own = pn.fit(episode, pn.QLearning(4)), pn.fit(episode, played.Learner())
    np.testing.assert_allclose(own.theta, built_in.theta, rtol=1e-7)
    np.testing.assert_allclose(own.covariance, built_in.covariance, rtol=1e-5)
    assert own.log_likelihood == pytest.approx(built_in.log_likelihood, rel=1e-12)
    assert [p.name for p in own.parameters] == ["inverse_temperature", "learning_rate"]


class PlainUCL:
    """UCL by dense formulas without derivatives, as a user might write it."""

    weights = ("1/nu", "mu0/nu")
    shape = (pn.models.Shape("delta", 1.5e-8, 400.0, scale="log", n_grid=33),)

    def explanatory(self, episode, delta):
        b, f, s = dense.beliefs(episode.chosen, episode.rewards, played.PLACES, delta, 1.4)
        t = np.arange(1.0, episode.n_events + 1)
        z = np.array([dense.credible_z(one) for one in t])
        bonus = np.sqrt(played.NOISE_VARIANCE * s) * z[:, None]
        return np.stack([b + bonus, f], axis=-1) * np.log(t)[:, None, None]


def test_ucl_written_by_a_user_without_derivatives_gives_the_same_answer():
    episode = played.ucl_episode(seed=2)
    built_in, own = pn.fit(episode, played.ucl()), pn.fit(episode, PlainUCL())
    np.testing.assert_allclose(own.theta, built_in.theta, rtol=1e-5)
    np.testing.assert_allclose(own.covariance, built_in.covariance, rtol=1e-3)
    assert own.log_likelihood == pytest.approx(built_in.log_likelihood, rel=1e-10)


def test_a_model_without_shape_parameters_is_a_fit_of_choices():
    class Bias:
        weights = ("right", "repeat")
        shape = ()

        def explanatory(self, episode):
            x = np.zeros((episode.n_events, 4, 2))
            x[:, :, 0] = np.arange(4) ** 2 * 0.3
            x[np.arange(1, episode.n_events), episode.chosen[:-1], 1] = 1.0
            return x

    episode = played.q_episode()
    estimate = pn.fit(episode, Bias())
    x = Bias().explanatory(episode)
    expected = pn.fit(pn.Choices.from_arrays(x, episode.chosen))
    assert estimate.status == "converged"
    np.testing.assert_allclose(estimate.theta, expected.theta, rtol=1e-8)
    np.testing.assert_allclose(estimate.covariance, expected.covariance, rtol=1e-7)
    np.testing.assert_allclose(
        estimate.interval(kind="profile"), expected.interval(kind="profile"), rtol=1e-6
    )
    p = special.softmax(x @ expected.theta, axis=1)
    np.testing.assert_allclose(estimate.predict(), p, rtol=1e-8)


# -- several episodes ------------------------------------------------------------------------------


def test_several_episodes_share_their_parameters():
    episodes = [played.ucl_episode(seed=s, n_decisions=30 + s) for s in (1, 2, 3)]
    estimate = pn.fit(episodes, played.ucl())
    found = values(estimate)
    point = [
        math.log(found["decision_noise"]),
        found["prior_mean"],
        math.log(found["prior_variance"]),
    ]
    total = sum(log_likelihood_of(e, point) for e in episodes)
    assert estimate.log_likelihood == pytest.approx(total, rel=1e-11)
    assert estimate.n_decisions == 31 + 32 + 33
    # not better for each alone
    alone = [pn.fit(e, played.ucl()).log_likelihood for e in episodes]
    assert sum(alone) >= estimate.log_likelihood
    backwards = pn.fit(tuple(reversed(episodes)), played.ucl())
    np.testing.assert_allclose(backwards.theta, estimate.theta, rtol=1e-6)


def test_the_same_episode_twice_halves_the_covariance():
    episode = played.ucl_episode(seed=2)
    again = pn.Episode(episode.chosen, episode.rewards)
    one, two = pn.fit(episode, played.ucl()), pn.fit([episode, again], played.ucl())
    assert two.log_likelihood == pytest.approx(2 * one.log_likelihood, rel=1e-11)
    np.testing.assert_allclose(two.theta, one.theta, rtol=1e-5)
    np.testing.assert_allclose(two.covariance, one.covariance / 2, rtol=1e-4)
    same_object = pn.fit([episode, episode], played.ucl())
    np.testing.assert_array_equal(same_object.theta, two.theta)


def test_timeouts_options_shown_and_a_missing_last_reward_are_handled():
    base = played.ucl_episode(seed=3, n_decisions=60)
    chosen = [4, *base.chosen[:30].tolist(), None, *base.chosen[30:].tolist()]
    rewards = [50.0, *base.rewards[:30].tolist(), None, *base.rewards[30:-1].tolist(), None]
    is_choice = [False] + [True] * 61
    scored = [True] * 62
    scored[20] = False
    episode = pn.Episode(chosen, rewards, is_choice=is_choice, scored=scored)
    for clock, times in (
        ("choices", [1, *range(1, 62)]),
        ("events", list(range(1, 63))),
    ):
        estimate = pn.fit(episode, played.ucl(clock=clock))
        assert estimate.n_decisions == 59
        found = values(estimate)
        log_p = dense.ucl_log_probabilities(
            episode.chosen,
            episode.rewards,
            played.PLACES,
            played.NOISE_VARIANCE,
            (found["decision_noise"], found["prior_mean"], found["prior_variance"], 1.4),
            times=times,
        )
        kept = np.flatnonzero(episode.scored)
        expected = log_p[kept, episode.chosen[kept]].sum()
        assert estimate.log_likelihood == pytest.approx(expected, rel=1e-11)
        assert len(estimate.predict()) == 59
        assert any("without a choice" in note for note in estimate.notes)


# -- statuses --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def figure_6():
    """Figure 6 of the paper: the agent takes every option once."""
    model = pn.UCL(locations=pn.grid(10, 10), noise_variance=0.01, length_scale=0.0)
    truth = {"decision_noise": 0.5, "prior_mean": 30.0, "prior_variance": 1e3}
    noise = pn.GaussianNoise(0.01)
    episodes = [
        pn.simulate(
            landscape(noise=noise), model, truth, n_decisions=100, rng=np.random.default_rng(s)
        )
        for s, landscape in enumerate((pn.paper.landscape_a, pn.paper.landscape_b))
    ]
    return model, episodes


def test_figure_6_is_separated(figure_6):
    model, episodes = figure_6
    for episode in episodes:
        estimate = pn.fit(episode, model)
        assert estimate.status == "separated"
        # sampling without replacement: log 100!
        assert estimate.log_likelihood == pytest.approx(-special.gammaln(101), abs=1e-6)
        assert np.isnan(estimate.standard_errors).all()
        assert "separated" in estimate.message


def test_a_weak_prior_gives_finite_estimates_of_separated_data(figure_6):
    model, episodes = figure_6
    for prior in (pn.ScaledPrior(), pn.ScaledPrior(c=3.0), pn.GaussianPrior(0.0, [1.0, 100.0])):
        estimate = pn.fit(episodes[0], model, parameter_prior=prior)
        assert estimate.status in ("converged", "at a bound", "weakly identified")
        assert np.isfinite(estimate.theta).all()
        assert estimate.log_posterior <= estimate.log_likelihood
        assert estimate.null_log_likelihood < estimate.log_likelihood < -363.7393
        assert np.isfinite(estimate.predict()).all()


def test_separated_data_are_refused_if_strict(figure_6):
    model, episodes = figure_6
    with pytest.raises(pn.errors.SeparationError, match="separated"):
        pn.fit(episodes[0], model, strict=True)


def test_always_the_same_option_is_separated():
    episode = pn.Episode([2] * 20, np.random.default_rng(5).normal(3, 1, 20))
    for options in ({}, {"length_scale": None}):
        estimate = pn.fit(episode, played.ucl(**options))
        assert estimate.status == "separated"
        assert estimate.log_likelihood == pytest.approx(-math.log(7), abs=1e-6)


def runs_from_rewards():
    """Takes all options once, then always the worst: separated only for a negative 1/nu."""
    means = np.array([5.0, 10.0, 20.0, 30.0, 40.0, 50.0])
    chosen = [*range(6), *[0] * 30]
    rewards = means[chosen] + np.random.default_rng(1).normal(0, 1, 36)
    return pn.UCL(locations=pn.grid(3, 2), noise_variance=4.0, length_scale=0.0), pn.Episode(
        chosen, rewards
    )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_agent_that_runs_from_rewards_is_at_the_bound_of_the_model():
    model, episode = runs_from_rewards()
    estimate = pn.fit(episode, model)
    assert not estimate.theta[0] < 0
    if estimate.status == "separated":
        assert estimate.diagnostics.separation.supremum == pytest.approx(
            estimate.log_likelihood, abs=1e-6
        )
    else:
        assert estimate.status == "at a bound"


def test_a_single_decision_identifies_nothing():
    estimate = pn.fit(pn.Episode([3], [5.0]), played.ucl())
    assert estimate.status == "not identified"
    assert estimate.log_likelihood == pytest.approx(-math.log(7))
    assert np.isnan(estimate.covariance).all()
    with pytest.raises(pn.errors.NotIdentifiedError):
        pn.fit(pn.Episode([3], [5.0]), played.ucl(), strict=True)


def test_an_estimate_at_the_end_of_the_range_says_so_and_has_no_error_there():
    estimate = pn.fit(played.ucl_episode(seed=2), played.ucl(precision_range=(0.5, 400.0)))
    assert estimate.status == "at a bound"
    assert estimate.diagnostics.bounds == ("relative_precision = 0.5",)
    assert estimate.psi[0] == 0.5
    assert np.isnan(estimate.standard_errors[-1])
    assert np.isfinite(estimate.standard_errors[:2]).all()
    assert np.isnan(estimate.parameters[2].standard_error)
    # the others are as if it were known
    choices = pn.Choices.from_arrays(
        played.ucl().explanatory(played.ucl_episode(seed=2), 0.5), played.ucl_episode(seed=2).chosen
    )
    np.testing.assert_allclose(estimate.covariance[:2, :2], pn.fit(choices).covariance, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_weight_held_at_zero_has_no_standard_error():
    means = np.array([5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0])
    rng = np.random.default_rng(2)
    chosen = [*range(7), *rng.choice(7, 60, p=[0.4, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05])]
    episode = pn.Episode(chosen, means[chosen] + rng.normal(0, 1, 67))
    estimate = pn.fit(episode, played.ucl())
    assert estimate.status == "at a bound"
    assert "1/decision_noise >= 0" in estimate.diagnostics.bounds
    assert estimate.theta[0] == 0
    assert np.isnan(estimate.standard_errors[0])


def test_a_flat_profile_is_weakly_identified():
    """The rate does not matter: every option is taken once, then the variables hardly change."""

    class Flat:
        weights = ("w",)
        shape = (pn.models.Shape("a", 0.0, 1.0),)

        def explanatory(self, episode, a):
            x = np.random.default_rng(1).normal(size=(episode.n_events, 4, 2))
            return x[:, :, :1] - 0.02 * (a - 0.4) ** 2 * x[:, :, 1:]

    rng = np.random.default_rng(2)
    episode = pn.Episode(rng.integers(0, 4, 60), rng.normal(size=60))
    estimate = pn.fit(episode, Flat())
    spread = np.ptp(estimate.profile.values)
    assert spread < 1.92
    assert estimate.status in ("weakly identified", "at a bound")
    if estimate.status == "weakly identified":
        assert "flat" in estimate.message
    low, high = estimate.interval(kind="profile")[1]
    assert low <= 0.0
    assert high >= 1.0


# -- priors ----------------------------------------------------------------------------------------


def test_a_prior_without_weight_is_maximum_likelihood():
    episode = played.ucl_episode(seed=2)
    for model in (played.ucl(), played.ucl(length_scale=None)):
        free = pn.fit(episode, model)
        weak = pn.fit(episode, model, parameter_prior=pn.ScaledPrior(c=1e-8))
        assert weak.status == "converged"
        np.testing.assert_allclose(weak.theta, free.theta, rtol=1e-4)
        np.testing.assert_allclose(weak.covariance, free.covariance, rtol=1e-3)
        assert weak.log_likelihood == pytest.approx(free.log_likelihood, abs=1e-6)


def test_a_stronger_prior_gives_away_likelihood_and_shrinks():
    episode = played.ucl_episode(seed=2)
    fits = [
        pn.fit(episode, played.ucl(), parameter_prior=pn.ScaledPrior(c=c))
        for c in (0.01, 1.0, 50.0)
    ]
    likelihoods = [f.log_likelihood for f in fits]
    assert likelihoods == sorted(likelihoods, reverse=True)
    assert pn.fit(episode, played.ucl()).log_likelihood >= likelihoods[0]


def test_the_weak_prior_does_not_depend_on_units():
    episode = played.ucl_episode(seed=2)
    one = pn.fit(episode, played.ucl(), parameter_prior=pn.ScaledPrior())
    other = pn.fit(
        pn.Episode(episode.chosen, episode.rewards * 1e4),
        played.ucl(noise_variance=played.NOISE_VARIANCE * 1e8),
        parameter_prior=pn.ScaledPrior(),
    )
    assert other.log_posterior == pytest.approx(one.log_posterior, rel=1e-9)
    np.testing.assert_allclose(other.predict(), one.predict(), rtol=1e-4)


def test_the_posterior_covariance_is_the_inverse_of_a_numerical_hessian():
    episode = played.ucl_episode(seed=2)
    model = played.ucl()
    prior = pn.GaussianPrior([0.05, 2.0], [0.01, 4.0])
    estimate = pn.fit(episode, model, parameter_prior=prior)

    def posterior(point):
        q = model.explanatory(episode, point[2]) @ point[:2]
        log_p = q - special.logsumexp(q, axis=1, keepdims=True)
        gap = point[:2] - [0.05, 2.0]
        return (
            math.fsum(log_p[np.arange(len(q)), episode.chosen]) - 0.5 * (gap**2 / [0.01, 4.0]).sum()
        )

    steps = 0.04 / np.sqrt(np.diag(np.linalg.inv(estimate.covariance)))
    one = dense.hessian(posterior, estimate.theta, steps)
    two = dense.hessian(posterior, estimate.theta, steps / 2)
    expected = np.linalg.inv(-(4 * two - one) / 3)
    size = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    np.testing.assert_allclose(estimate.covariance / size, expected / size, atol=1e-4)


# -- wrong use -------------------------------------------------------------------------------------


def test_wrong_use_is_told():
    episode = played.ucl_episode(seed=2)
    with pytest.raises(pn.errors.DataError, match="model must be given with episodes"):
        pn.fit(episode)
    with pytest.raises(
        pn.errors.DataError, match="data must be episodes where a model is given; got list"
    ):
        pn.fit([], played.ucl())
    with pytest.raises(pn.errors.DataError, match="must be left out with episodes"):
        pn.fit(episode, played.ucl(), method="firth")
    with pytest.raises(
        pn.errors.DataError, match="data must be episodes where a model is given; got Choi"
    ):
        pn.fit(pn.Choices.from_arrays(np.ones((2, 2, 1)), [0, 1]), played.ucl())
    with pytest.raises(pn.errors.DataError, match="at least one decision that is scored"):
        pn.fit(pn.Episode([1, 2], [3.0, 4.0], scored=[False, False]), played.ucl())
    with pytest.raises(pn.errors.DataError, match=r"chosen must lie in 0\.\.6; got 9"):
        pn.fit(pn.Episode([1, 9], [3.0, 4.0]), played.ucl())


def test_nothing_given_is_changed():
    episode = played.ucl_episode(seed=2)
    before = episode.chosen.copy(), episode.rewards.copy()
    pn.fit(episode, played.ucl())
    np.testing.assert_array_equal(episode.chosen, before[0])
    np.testing.assert_array_equal(episode.rewards, before[1])


# -- recovery --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_truth_is_inside_95_percent_intervals_as_often_as_it_should():
    """100 agents of the paper's task, where the choices tell: Wald and profile intervals."""
    model = pn.UCL(locations=pn.grid(10, 10), noise_variance=10.0, length_scale=4.0)
    truth = {"decision_noise": 4.0, "prior_mean": 60.0, "prior_variance": 1000.0}
    played_by = pn.simulate(
        pn.paper.landscape_a(),
        model,
        truth,
        n_decisions=90,
        n_subjects=100,
        rng=np.random.default_rng(7),
    )
    people = [pn.Episode(e.chosen, e.rewards, subject=s) for s, e in enumerate(played_by)]
    found = pn.fit_each(people, model)
    assert found.status.count("converged") >= 98
    # as many as 100 intervals hold that do so with probability .95, but for 1 in 10,000 each side
    few, most = stats.binom.ppf([1e-4, 1 - 1e-4], 100, 0.95)
    for kind in ("wald", "profile"):
        ends = np.array(
            [[(p.low, p.high) for p in mine] for mine in found.parameters_at(0.95, kind)]
        )
        values = np.array(list(truth.values()))
        inside = ((ends[..., 0] <= values) & (values <= ends[..., 1])).sum(axis=0)
        assert (inside >= few).all(), (kind, inside)
        assert (inside <= most).all(), (kind, inside)
