"""Profile intervals: their ends are where the constrained maximum has fallen by chi-square / 2."""

import math

import numpy as np
import pytest
from scipy import optimize, special, stats

import belief_reference as dense
import penchant as pn
import played
from penchant.inference.profile.inner_problems import LinearConstraint
from penchant.inference.profile.profile_likelihood import ProfileProblems
from penchant.models.parameters import Parameter
from penchant.models.transforms import Transform

EPISODE = played.ucl_episode(seed=2)
DROP = stats.chi2.ppf(0.95, 1) / 2


def constrained(episode, fixed, value, start):
    """Highest log-likelihood of (log nu, mu0, log sigma0^2) with one held: Nelder-Mead."""
    free = [k for k in range(3) if k != fixed]

    def negative(parameters):
        point = np.empty(3)
        point[free] = parameters
        point[fixed] = value
        natural = (math.exp(point[0]), point[1], math.exp(point[2]), 1.4)
        return -dense.ucl_log_likelihood(
            episode.chosen, episode.rewards, played.PLACES, played.NOISE_VARIANCE, natural
        )

    options = {"xatol": 1e-8, "fatol": 1e-10, "maxiter": 4000}
    best = optimize.minimize(negative, np.array(start)[free], method="Nelder-Mead", options=options)
    again = optimize.minimize(negative, best.x, method="Nelder-Mead", options=options)
    return -again.fun


@pytest.mark.slow
def test_ends_are_where_the_constrained_maximum_has_fallen_by_chi_square():
    estimate = pn.fit(EPISODE, played.ucl())
    nu, mean, variance = (p.estimate for p in estimate.parameters)
    start = [math.log(nu), mean, math.log(variance)]
    for k, ends in enumerate(estimate.interval(kind="profile")):
        for end in ends:
            held = end if k == 1 else math.log(end)
            drop = estimate.log_likelihood - constrained(EPISODE, k, held, start)
            # the search for the end stops at 1e-9 of a step; Nelder-Mead is good to 1e-6
            assert drop == pytest.approx(DROP, abs=2e-5)


CASES = {
    "ucl": (EPISODE, played.ucl()),
    "two shape parameters": (EPISODE, played.ucl(length_scale=None)),
    "free bonus": (EPISODE, played.ucl(bonus="free")),
    "Q-learning": (played.q_episode(), pn.QLearning(4)),
    "user's": (played.q_episode(), played.Learner()),
}


@pytest.mark.parametrize("name", CASES)
def test_intervals_contain_the_estimate_and_are_about_as_long_as_walds(name):
    episode, model = CASES[name]
    estimate = pn.fit(episode, model)
    wald, profile = estimate.interval(0.5), estimate.interval(0.5, kind="profile")
    for p, (low, high), (below, above) in zip(estimate.parameters, profile, wald, strict=True):
        assert low < p.estimate < high
        # at level 0.5 the likelihood is close to its parabola, two shape parameters excepted
        if name != "two shape parameters" and np.isfinite([above, below, low, high]).all():
            assert 0.6 < (high - low) / (above - below) < 1.7


def test_intervals_do_not_depend_on_how_the_model_is_written():
    """1/tau instead of tau, and no derivatives: the ends are the same numbers."""
    episode = played.q_episode()
    temperature, rate = pn.fit(episode, pn.QLearning(4)).interval(kind="profile")
    inverse, same = pn.fit(episode, played.Learner()).interval(kind="profile")
    np.testing.assert_allclose(1 / inverse[::-1], temperature, rtol=1e-6)
    np.testing.assert_allclose(same, rate, rtol=1e-6)


def test_intervals_of_a_shape_parameter_do_not_depend_on_its_scale():
    class Logarithmic(played.Learner):
        def __init__(self):
            super().__init__()
            self.shape = (pn.models.Shape("learning_rate", 0.001, 1.0, scale="log", n_grid=33),)

    episode = played.q_episode()
    one = pn.fit(episode, played.Learner()).interval(kind="profile")
    other = pn.fit(episode, Logarithmic()).interval(kind="profile")
    np.testing.assert_allclose(other, one, rtol=1e-5)


def test_intervals_of_rewards_in_other_units_are_in_those_units():
    c = 1e3
    one = pn.fit(EPISODE, played.ucl()).interval(kind="profile")
    other = pn.fit(
        pn.Episode(EPISODE.chosen, EPISODE.rewards * c),
        played.ucl(noise_variance=played.NOISE_VARIANCE * c**2),
    ).interval(kind="profile")
    np.testing.assert_allclose(other / np.array([[c], [c], [c * c]]), one, rtol=1e-5)


def test_an_end_beyond_the_range_is_infinite_or_zero():
    estimate = pn.fit(EPISODE, played.ucl(precision_range=(0.5, 400.0)))
    assert estimate.status == "at a bound"
    low, high = estimate.interval(kind="profile")[2]
    assert high == math.inf
    assert 0 < low < played.NOISE_VARIANCE / 0.5


def test_the_ends_of_two_shape_parameters_are_the_constrained_maxima():
    """Each end, checked on a fine grid of the other shape parameter."""
    from profile_problem import Problem

    model = played.ucl(length_scale=None)
    estimate = pn.fit(EPISODE, model)
    problem = Problem(model, (EPISODE,))
    low, high = estimate.interval(kind="profile")[2]
    for end in (low, high):
        if not (0 < end < math.inf):
            continue
        delta = played.NOISE_VARIANCE / end
        others = np.exp(np.linspace(*problem.bounds[1], 1500))
        values, _ = problem.values(np.column_stack([np.full(1500, delta), others]))
        # the grid is 0.003 wide in log lambda: below the maximum by less than 1e-4
        assert estimate.log_likelihood - values.max() == pytest.approx(DROP, abs=1e-3)


def test_intervals_of_the_posterior_use_the_posterior():
    prior = pn.ScaledPrior(c=3.0)
    with_prior = pn.fit(EPISODE, played.ucl(), parameter_prior=prior)
    without = pn.fit(EPISODE, played.ucl())
    one, other = with_prior.interval(kind="profile"), without.interval(kind="profile")
    assert (one[:, 0] < [p.estimate for p in with_prior.parameters]).all()
    assert (one[:, 1] > [p.estimate for p in with_prior.parameters]).all()
    assert np.abs(one - other).max() > 1e-3


def highest_at_noise(episode, nu):
    """Highest log-likelihood at this decision noise: mu0 solved on a fine grid of delta.

    At fixed nu and delta the log-likelihood is concave in mu0.
    """
    t = np.arange(1.0, episode.n_events + 1)
    z, log_t = dense.credible_z(t)[:, None], np.log(t)[:, None]
    best = -math.inf
    for delta in np.exp(np.linspace(math.log(1e-6), math.log(400.0), 50)):
        b, f, s = dense.beliefs(episode.chosen, episode.rewards, played.PLACES, delta, 1.4)
        fixed = (b + np.sqrt(played.NOISE_VARIANCE * s) * z) * log_t / nu
        slope = f * log_t / nu

        def negative(mean, fixed=fixed, slope=slope):
            q = fixed + mean * slope
            log_p = q - special.logsumexp(q, axis=1, keepdims=True)
            return -log_p[np.arange(len(q)), episode.chosen].sum()

        found = optimize.minimize_scalar(negative, bracket=(0.0, 60.0), options={"xtol": 1e-6})
        best = max(best, -found.fun)
    return best


@pytest.mark.parametrize(
    ("seed", "n_decisions"),
    [
        (2, 70),
        (10, 50),
        (4, 50),
        (6, 30),
        (8, 70),
    ],
)
def test_nothing_just_outside_an_interval_of_the_noise_is_inside(seed, n_decisions):
    episode = played.ucl_episode(seed=seed, n_decisions=n_decisions)
    estimate = pn.fit(episode, played.ucl())
    low, high = estimate.interval(kind="profile")[0]
    for outside in (low * 0.99, high * 1.01):
        # the grid of delta can only miss the maximum from below
        assert highest_at_noise(episode, outside) < estimate.log_likelihood - DROP


def test_a_nested_estimate_as_good_as_the_best_is_inside_the_interval():
    """With lambda = 1.4 held, nu is 7.8 at a loss of 0.11: the interval must hold it."""
    episode = played.ucl_episode(seed=6)
    nested, whole = pn.fit(episode, played.ucl()), pn.fit(episode, played.ucl(length_scale=None))
    assert whole.log_likelihood - nested.log_likelihood < 0.2
    low, high = whole.interval(kind="profile")[0]
    assert low < nested.parameters[0].estimate < high


def test_an_end_of_a_linear_range_is_given_in_the_natural_unit():
    class Slowness(played.Learner):
        parameters = (
            Parameter("slowness", shape="learning_rate", transform=Transform("power", 10.0, -1.0)),
        )

    episode = pn.simulate(
        pn.Landscape([0.2, 0.5, 0.8, 0.4], pn.GaussianNoise(0.05)),
        pn.QLearning(4),
        {"temperature": 0.25, "learning_rate": 0.9},
        n_decisions=40,
        rng=np.random.default_rng(6),
    )
    low, high = pn.fit(episode, played.Learner()).interval(kind="profile")[1]
    assert high == 1.0
    (found,) = pn.fit(episode, Slowness()).interval(kind="profile")
    np.testing.assert_allclose(found, [10.0 / high, 10.0 / low], rtol=1e-6)


def consistent_learner(n=40):
    """Someone who always takes the better of two values learnt at rate 0.3."""
    rng = np.random.default_rng(5)
    values, chosen, rewards = np.array([0.0, 0.01]), [], []
    for _ in range(n):
        option = int(np.argmax(values))
        reward = rng.normal(0.3, 0.5)
        chosen.append(option)
        rewards.append(reward)
        values[option] += 0.3 * (reward - values[option])
    return pn.Episode(chosen[1:], rewards[1:])


def test_intervals_of_separated_choices_are_one_sided():
    estimate = pn.fit(consistent_learner(), pn.QLearning(2))
    assert estimate.status == "separated"
    (low, high), (slow, fast) = estimate.interval(kind="profile")
    assert low == 0.0
    assert 0.0 < high < np.inf
    assert 0.001 <= slow < fast <= 1.0
    # at the upper end the profile has fallen by chi-square / 2 from its supremum
    grid = np.linspace(0.001, 1.0, 4001)
    best = -np.inf
    for rate in grid:
        v = pn.QLearning(2).explanatory(estimate.episodes[0], rate)[:, :, 0] / high
        own = v[np.arange(len(v)), estimate.episodes[0].chosen]
        best = max(best, float((own - special.logsumexp(v, axis=1)).sum()))
    assert estimate.log_likelihood - best == pytest.approx(DROP, abs=1e-3)


def test_intervals_of_many_subjects_are_those_of_each():
    episodes = [
        pn.Episode(e.chosen, e.rewards, subject=s)
        for s, e in enumerate(
            [played.q_episode(seed=1), played.q_episode(seed=2), consistent_learner()]
        )
    ]
    model = pn.QLearning(4)
    estimates = pn.fit_each(episodes, model, threads=1)
    together = estimates.parameters_at(0.9, "profile")
    for estimate, found in zip(estimates, together, strict=True):
        alone = estimate.interval(0.9, "profile")
        np.testing.assert_allclose([(p.low, p.high) for p in found], alone, rtol=1e-7)


def direct(episode, model, natural, value, n_points=80):
    """Highest log-likelihood with a ratio of weights held, on a fine grid of psi, by Newton."""
    from profile_problem import Problem

    problem = Problem(model, (episode,))
    (low, high) = problem.bounds[0]
    best = -math.inf
    for u in np.linspace(low, high, n_points):
        x = model.explanatory(episode, *problem.from_unconstrained(np.array([u])))
        x = x - x[np.arange(len(x)), episode.chosen][:, None]
        free = [a for a in range(x.shape[2]) if a != natural.index]
        held = x[..., free].copy()
        held[..., free.index(natural.other)] += value * x[..., natural.index]

        def negative(theta, held=held):
            q = held @ theta
            total = special.logsumexp(q, axis=1)
            p = np.exp(q - total[:, None])
            return total.sum(), np.einsum("ti,tia->a", p, held)

        bounds = [(0, None) if a == natural.other else (None, None) for a in free]
        found = optimize.minimize(
            negative, np.full(len(free), 0.05), jac=True, method="L-BFGS-B", bounds=bounds
        )
        best = max(best, -found.fun)
    return best


@pytest.mark.slow
@pytest.mark.parametrize("seed", [6, 31])
def test_a_ratio_whose_best_shape_moves_far_is_followed_to_its_end(seed):
    """The free bonus: as its weight falls, delta falls by orders of magnitude to make up for it."""
    episode = played.ucl_episode(seed=seed, n_decisions=47)
    model = played.ucl(bonus="free")
    estimate = pn.fit(episode, model)
    place = [n.name for n in estimate.natural].index("implied_noise_sd")
    natural = estimate.natural[place]
    low, high = estimate.interval(kind="profile")[place]
    width = high - low
    for end, outside in ((low, low - 0.02 * width), (high, high + 0.02 * width)):
        if np.isfinite(end):
            # the grid, in steps of 0.3 of log delta, can only miss the maximum from below
            assert direct(episode, model, natural, outside) < estimate.log_likelihood - DROP
            assert direct(episode, model, natural, end) > estimate.log_likelihood - DROP - 0.2


def test_intervals_end_where_nothing_is_known():
    """Two decisions: most may lie anywhere."""
    prior = pn.ScaledPrior()
    estimate = pn.fit(pn.Episode([1, 0], [3.0, 4.0]), pn.QLearning(3), parameter_prior=prior)
    low, high = estimate.interval(kind="profile").T
    assert not np.isnan(low).any()
    values = np.array([p.estimate for p in estimate.parameters])
    known = ~np.isnan(values)  # a rate that shapes nothing has no estimate
    assert (low <= values)[known].all()
    assert (high >= values)[known].all()


TWO_OR_THREE = {
    "two": pn.QLearning(3, forgetting=None),
    "three": pn.QLearning(3, forgetting=None, choice_kernel=True),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TWO_OR_THREE)
def test_ends_of_several_shape_parameters_are_constrained_maxima(name):
    """Each end of each natural parameter, against many random starts of a general optimiser."""
    model = TWO_OR_THREE[name]
    truth = {"temperature": 0.3, "learning_rate": 0.4, "forgetting": 0.2}
    truth |= {"choice_kernel": 0.6, "choice_rate": 0.4} if name == "three" else {}
    episode = pn.simulate(
        pn.Landscape([0.2, 0.55, 0.9], pn.GaussianNoise(0.2)),
        model,
        truth,
        n_decisions=150,
        rng=np.random.default_rng(8),
    )
    estimate = pn.fit(episode, model)
    d = estimate.n_weights
    ranges = [(1e-3, 60.0), *[(-30.0, 30.0)] * (d - 1), *[(s.low, s.high) for s in model.shape]]

    def negative(point):
        q = model.explanatory(episode, *point[d:]) @ point[:d]
        log_p = q - special.logsumexp(q, axis=1, keepdims=True)
        return -log_p[np.arange(len(q)), episode.chosen].sum()

    rng = np.random.default_rng(0)
    starts = [estimate.theta]
    for _ in range(14):
        weights = estimate.weights * rng.uniform(0.3, 1.5, d)
        starts.append(np.concatenate([weights, [rng.uniform(*ends) for ends in ranges[d:]]]))
    for natural, ends in zip(estimate.natural, estimate.interval(kind="profile"), strict=True):
        held = natural.index + (d if natural.kind == "shape" else 0)
        free = [a for a in range(len(ranges)) if a != held]
        for end in ends:
            if not np.isfinite(end) or end in ranges[held]:
                continue
            value = 1 / end if natural.kind == "reciprocal" else end

            def objective(rest, held=held, free=free, value=value):
                point = np.empty(len(ranges))
                point[free], point[held] = rest, value
                return negative(point)

            best = min(
                optimize.minimize(
                    objective,
                    start[free],
                    method="L-BFGS-B",
                    bounds=[ranges[a] for a in free],
                ).fun
                for start in starts
            )
            assert estimate.log_likelihood + best == pytest.approx(DROP, abs=2e-3), natural.name


# -- separated choices -----------------------------------------------------------------------------

CONSISTENT = [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1]


def _profile_of_stickiness(stickiness):
    """Best log-likelihood with the stickiness held, by plain search."""
    rates = 1 - 10.0 ** np.linspace(-0.01, -8, 400)
    values, last, towards = np.zeros((2, len(rates))), None, []
    for option, reward in zip(*CONSISTENT, strict=True):
        repeated = 0.0 if last is None else 1.0 if option == last else -1.0
        towards.append((values[option] - values[1 - option], stickiness * repeated))
        values[option] = values[option] + rates * (reward - values[option])
        last = option
    size = np.exp(np.linspace(-8, 20, 1500))[:, None]
    return -sum(np.logaddexp(0, -size * gap - own) for gap, own in towards).min()


def test_the_stickiness_of_a_separated_learner_ends_where_plain_search_says():
    estimate = pn.fit(pn.Episode(*CONSISTENT), pn.QLearning(2, stickiness=True))
    assert estimate.status == "separated"
    low, high = estimate.interval(kind="profile")[2]
    assert low == -np.inf
    target = estimate.log_likelihood - DROP
    assert _profile_of_stickiness(high) == pytest.approx(target, abs=1e-3)  # steps of the search
    assert _profile_of_stickiness(high - 0.01) > target > _profile_of_stickiness(high + 0.01)


@pytest.mark.parametrize("stickiness", [-600.0, -90.0, -50.0, 60.0])
def test_weights_far_out_are_solved_for_where_nothing_is_left_to_chance_at_0(stickiness):
    episode, model = pn.Episode(*CONSISTENT), pn.QLearning(2, stickiness=True)
    profiles = ProfileProblems(model, ((episode,),))
    constraint = LinearConstraint.from_parameter(profiles.natural[2], np.array([stickiness]), 2)
    found = profiles.solve(np.zeros(1, dtype=int), np.array([[0.75]]), constraint=constraint)
    gap, own = model.explanatory(episode, 0.75)[:, :, 0], model.explanatory(episode, 0.75)[:, :, 1]
    rows = np.arange(12)
    size = np.linspace(0, 50 * abs(stickiness), 20_001)[:, None]
    q = size[:, :, None] * gap + stickiness * own
    plain = (q[:, rows, episode.chosen] - np.logaddexp(q[:, :, 0], q[:, :, 1])).sum(axis=1)
    assert found.value[0] == pytest.approx(plain.max(), abs=1e-6)


def test_a_consistency_without_end_is_said_to_have_none():
    """Weights of 3^u - 1 are no numbers from u = 647 on: the way out ended in an error."""
    rng = np.random.default_rng(2)
    chosen = np.append(rng.integers(0, 2, 2), np.full(10, 1))
    rewards = np.where(chosen == 1, 1.0, -1.0) * rng.uniform(0.5, 1.5, 12)
    estimate = pn.fit(pn.Episode(chosen, rewards), pn.models.VPP(2))
    assert estimate.status == "separated"
    assert estimate["consistency"].high == np.inf
    assert "consistency" in estimate.summary()
