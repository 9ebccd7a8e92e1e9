"""Priors on natural parameters: maxima by brute force, limits, names."""

import numpy as np
import pytest
from scipy import optimize, special, stats

import penchant as pn
import played
from penchant.inference.profile.inner_problems import LinearConstraint
from penchant.models.model import natural_parameters
from profile_problem import Problem

EPISODE = played.ucl_episode(seed=1)
UCL_PRIOR = {
    "decision_noise": stats.lognorm(0.7, scale=2.0),
    "prior_mean": stats.norm(40.0, 15.0),
    "prior_variance": stats.lognorm(1.5, scale=300.0),
}
LEARNER_PRIOR = {"temperature": stats.gamma(2.0, scale=0.3), "learning_rate": stats.beta(2, 5)}


def log_posterior(model, episode, densities, natural):
    """Spelt out: log-likelihood at the weights of natural parameters, plus log-densities."""
    theta, psi = played.weights_of(model, natural)
    q = model.explanatory(episode, *psi) @ theta
    own = q[np.arange(len(q)), episode.chosen]
    value = float((own - special.logsumexp(q, axis=1)).sum())
    return value + sum(float(densities[name].logpdf(natural[name])) for name in densities)


CASES = {
    "ucl": (played.ucl(), EPISODE, UCL_PRIOR),
    "one of three": (played.ucl(), EPISODE, {"prior_mean": UCL_PRIOR["prior_mean"]}),
    "q-learning": (pn.QLearning(4), played.q_episode(), LEARNER_PRIOR),
    "learning rate only": (
        pn.QLearning(4),
        played.q_episode(),
        {"learning_rate": LEARNER_PRIOR["learning_rate"]},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_estimate_is_the_highest_posterior_density(name):
    model, episode, densities = CASES[name]
    estimate = pn.fit(episode, model, parameter_prior=pn.NaturalPrior(**densities))
    assert estimate.status == "converged"
    found = {p.name: p.estimate for p in estimate.parameters}
    assert estimate.log_posterior == pytest.approx(
        log_posterior(model, episode, densities, found), abs=1e-8
    )
    names = list(found)
    centre = np.array([found[n] for n in names])

    def lost(relative):
        return -log_posterior(
            model, episode, densities, dict(zip(names, centre * relative, strict=True))
        )

    best = optimize.minimize(
        lost,
        np.full(len(names), 1.02),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-11},
    )
    assert -best.fun <= estimate.log_posterior + 1e-9
    np.testing.assert_allclose(best.x, 1.0, atol=2e-4)


def test_standard_errors_are_the_inverse_of_a_numerical_hessian():
    model, episode, densities = CASES["q-learning"]
    estimate = pn.fit(episode, model, parameter_prior=pn.NaturalPrior(**densities))
    beta, rate = estimate.theta

    def value(b, a):
        natural = {"temperature": 1 / b, "learning_rate": a}
        return log_posterior(model, episode, densities, natural)

    h, k = 1e-3 * beta, 1e-3 * rate
    middle = value(beta, rate)
    hessian = np.empty((2, 2))
    hessian[0, 0] = (value(beta + h, rate) - 2 * middle + value(beta - h, rate)) / h**2
    hessian[1, 1] = (value(beta, rate + k) - 2 * middle + value(beta, rate - k)) / k**2
    corners = [value(beta + s * h, rate + t * k) * s * t for s in (1, -1) for t in (1, -1)]
    hessian[0, 1] = hessian[1, 0] = sum(corners) / (4 * h * k)
    np.testing.assert_allclose(estimate.covariance, np.linalg.inv(-hessian), rtol=1e-3)


def test_a_wide_prior_leaves_maximum_likelihood_as_it_is():
    wide = {
        "temperature": stats.uniform(0, 1e6),
        "learning_rate": stats.uniform(0, 1),
    }
    plain = pn.fit(played.q_episode(), pn.QLearning(4))
    found = pn.fit(played.q_episode(), pn.QLearning(4), parameter_prior=pn.NaturalPrior(**wide))
    np.testing.assert_allclose(found.theta, plain.theta, rtol=1e-6)
    assert found.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-9)


def test_a_sharp_prior_is_what_remains():
    sharp = pn.NaturalPrior(learning_rate=stats.norm(0.5, 1e-5), temperature=stats.norm(0.2, 1e-6))
    found = pn.fit(played.q_episode(), pn.QLearning(4), parameter_prior=sharp)
    np.testing.assert_allclose([p.estimate for p in found.parameters], [0.2, 0.5], rtol=1e-4)


def test_a_prior_makes_separated_choices_finite():
    separated = pn.Episode([0, 1, 1, 1, 1, 1], [-1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    assert pn.fit(separated, pn.QLearning(2)).status == "separated"
    prior = pn.NaturalPrior(temperature=stats.lognorm(1.0), learning_rate=stats.beta(2, 2))
    found = pn.fit(separated, pn.QLearning(2), parameter_prior=prior)
    assert found.status == "converged"
    assert np.isfinite(found.standard_errors).all()


def test_profile_intervals_follow_the_posterior():
    model, episode, densities = CASES["q-learning"]
    estimate = pn.fit(episode, model, parameter_prior=pn.NaturalPrior(**densities))
    drop = stats.chi2.ppf(0.95, 1) / 2
    for ends, name, other in zip(
        estimate.interval(kind="profile"),
        ("temperature", "learning_rate"),
        ("learning_rate", "temperature"),
        strict=True,
    ):
        centre = {p.name: p.estimate for p in estimate.parameters}[other]
        for end in ends:
            found = optimize.minimize_scalar(
                lambda v, name=name, other=other, end=end: (
                    -log_posterior(model, episode, densities, {name: end, other: v})
                ),
                bounds=(0.2 * centre, min(5 * centre, 0.999 if other == "learning_rate" else 9)),
                method="bounded",
                options={"xatol": 1e-10},
            )
            assert estimate.log_posterior + found.fun == pytest.approx(drop, abs=1e-4)


def test_many_subjects_and_live_give_the_same():
    prior = pn.NaturalPrior(**LEARNER_PRIOR)
    plays = [played.q_episode(seed=s) for s in (1, 2)]
    episodes = [pn.Episode(e.chosen, e.rewards, subject=k) for k, e in enumerate(plays)]
    together = pn.fit_each(episodes, pn.QLearning(4), parameter_prior=prior, threads=1)
    for one, episode in zip(together, episodes, strict=True):
        np.testing.assert_allclose(
            one.theta, pn.fit(episode, pn.QLearning(4), parameter_prior=prior).theta, rtol=1e-7
        )


def test_names_and_kinds_are_checked():
    with pytest.raises(
        pn.errors.DataError, match=r"natural parameters of the model; got 'learning_rat'"
    ):
        pn.fit(
            played.q_episode(),
            pn.QLearning(4),
            parameter_prior=pn.NaturalPrior(learning_rat=stats.beta(2, 2)),
        )
    with pytest.raises(
        pn.errors.DataError, match=r"density of temperature must be a frozen distribution"
    ):
        pn.NaturalPrior(temperature=3.0)
    with pytest.raises(pn.errors.DataError, match="at least one"):
        pn.NaturalPrior()
    choices = pn.Choices.from_arrays(np.random.default_rng(0).normal(size=(9, 3, 1)), [0] * 9)
    with pytest.raises(pn.errors.DataError, match="for choices; got NaturalPrior"):
        pn.fit(choices, parameter_prior=pn.NaturalPrior(a=stats.norm()))


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "factor", [pytest.param(1e-3, marks=SLOW), 1.0, pytest.param(1e4, marks=SLOW)]
)
def test_a_held_temperature_finds_the_other_weights_from_anywhere(factor):
    """With the noise held far from its estimate the best prior mean is that of a line search."""
    model, episode = played.ucl(), played.ucl_episode(n_decisions=12)
    prior = pn.NaturalPrior(prior_mean=stats.norm(20, 30), decision_noise=stats.lognorm(2, scale=3))
    estimate = pn.fit(episode, model, parameter_prior=prior)
    problem = Problem(model, (episode,), prior)
    noise = factor * estimate.parameters[0].estimate
    natural = natural_parameters(model)[0]
    constraint = LinearConstraint.from_parameter(natural, np.array([noise]), len(model.weights))
    psi = estimate.psi
    found = problem.at(psi, constraint, estimate.weights)
    x = problem.variables(psi)

    def lost(mean):
        theta = np.array([1.0, mean]) / noise
        log_p = special.log_softmax(x @ theta, axis=1)[np.arange(len(x)), episode.chosen].sum()
        return -(log_p + stats.norm(20, 30).logpdf(mean))

    grid = np.linspace(-150, 200, 2001)
    best = grid[np.argmin([lost(mean) for mean in grid])]
    line = optimize.minimize_scalar(lost, bounds=(best - 1, best + 1), method="bounded")
    told = found.value - stats.lognorm(2, scale=3).logpdf(noise)
    assert told >= -line.fun - 1e-6


@pytest.mark.parametrize(
    ("noise", "c", "low", "high"), [(3, 1.0, 6, 9), (3, 0.03, 3, 3.5), (30, 1.0, 28, 33)]
)
def test_the_scaled_prior_draws_players_who_are_nearly_deterministic_towards_chance(
    noise, c, low, high
):
    model = pn.UCL(locations=pn.grid(10, 10), noise_variance=10.0, length_scale=4.0)
    truth = {"decision_noise": noise, "prior_mean": 60.0, "prior_variance": 1000.0}
    rng = np.random.default_rng(1)
    played = pn.simulate(
        pn.paper.landscape_a(), model, truth, n_decisions=90, n_subjects=30, rng=rng
    )
    found = pn.fit_each(played, model, parameter_prior=pn.ScaledPrior(c))
    assert low < np.median([estimate.parameters[0].estimate for estimate in found]) < high
