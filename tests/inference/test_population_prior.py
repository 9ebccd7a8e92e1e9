"""A new person of a known population."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize

import penchant as pn
from penchant.models.coordinates import Coordinates
from penchant.models.priors import DensityPrior
from peopled import MODEL, discounters, mixed_choices, q_learner, q_learners

PRIOR = pn.PopulationPrior(
    ("learning_rate", "temperature"),
    [-0.6, -1.2],
    [[1.0, 0.15], [0.15, 0.25]],
    (("logit", 1e-8, 1.0), "log"),
)


def objective(episode, model, prior, links=None):
    """Log-likelihood plus log-density on the links, by the model's own variables."""
    coordinates = Coordinates.of_model(model, links)
    order = [prior.names.index(name) for name in coordinates.names]
    mean, covariance = prior.mean[order], prior.covariance[np.ix_(order, order)]

    def value(h):
        psi, _ = coordinates.psi(h[None])
        theta = coordinates.theta(h[None, coordinates.n_shape :])[0]
        x = model.explanatory(episode, *psi[0])
        u = x @ theta
        chosen = u[np.arange(len(u)), episode.chosen]
        likelihood = (chosen - np.logaddexp.reduce(u, axis=1))[episode.scored].sum()
        away = h - mean
        return likelihood - 0.5 * away @ np.linalg.solve(covariance, away)

    return value


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_estimate_is_the_mode_on_the_links(seed):
    rng = np.random.default_rng(seed)
    episode = q_learner(rng.multivariate_normal(PRIOR.mean, PRIOR.covariance), 60, rng, "new")
    found = pn.fit(episode, MODEL, parameter_prior=PRIOR)
    value = objective(episode, MODEL, PRIOR)
    best = optimize.minimize(lambda h: -value(h), PRIOR.mean, method="Nelder-Mead",
                             options={"xatol": 1e-7, "fatol": 1e-10})  # fmt: skip
    numbers = {p.name: p.estimate for p in found.parameters}
    h = np.array([np.log(numbers["learning_rate"] / (1 - numbers["learning_rate"])),
                  np.log(numbers["temperature"])])  # fmt: skip
    np.testing.assert_allclose(h, best.x, atol=1e-4)
    assert found.status == "converged"


def test_offers_and_two_shapes_are_fitted_too():
    _, (one, *_) = discounters(1, 40, np.random.default_rng(4))
    model = pn.models.ConstantSensitivityDiscounting()
    prior = pn.PopulationPrior(
        ("discount_rate", "time_sensitivity", "temperature"),
        [-4.0, 0.0, 1.0],
        np.array([[1.0, 0.2, 0.1], [0.2, 0.5, 0.0], [0.1, 0.0, 0.4]]),
        ("log", "log", "log"),
    )
    found = pn.fit(one, model, parameter_prior=prior)
    value = objective(one, model, prior)
    numbers = {p.name: p.estimate for p in found.parameters}
    h = np.log([numbers[name] for name in prior.names])
    best = optimize.minimize(lambda x: -value(x), h, method="Nelder-Mead",
                             options={"xatol": 1e-7, "fatol": 1e-10})  # fmt: skip
    assert -best.fun - value(h) < 1e-6


def test_people_who_are_certain_have_an_estimate_under_the_population():
    episode = pn.Episode([0, 0, 0, 0, 0, 0], [1.0] * 6, subject="a")
    assert pn.fit(episode, MODEL).status != "converged"
    found = pn.fit(episode, MODEL, parameter_prior=PRIOR)
    assert all(np.isfinite([p.estimate, p.standard_error]).all() for p in found.parameters)


@pytest.fixture(scope="module")
def episodes():
    return q_learners(6, 30, np.random.default_rng(5))[1]


@pytest.fixture(scope="module")
def alone(episodes):
    return pn.fit(episodes[2], MODEL, parameter_prior=PRIOR)


def estimates(found):
    return [p.estimate for p in found.parameters]


def test_each_of_many_people_is_fitted_under_their_population(episodes, alone):
    each = pn.fit_each(episodes, MODEL, parameter_prior=PRIOR)
    assert estimates(each[2]) == pytest.approx(estimates(alone), rel=1e-5)
    assert "population" in str(alone)


def test_a_person_is_followed_live_under_their_population(episodes, alone):
    live = pn.live(MODEL, parameter_prior=PRIOR)
    for chosen, reward in zip(episodes[2].chosen, episodes[2].rewards, strict=True):
        live.observe(int(chosen), float(reward))
        assert np.isfinite(estimates(live.estimate())).all()
    assert estimates(live.estimate()) == pytest.approx(estimates(alone), rel=1e-4)


def test_models_are_compared_by_what_a_population_says_of_held_out_decisions(episodes):
    halves = [np.arange(30) // 15] * 6
    found = pn.compare_models({"learner": MODEL}, episodes, folds=halves, parameter_prior=PRIOR)
    total = 0.0
    for part in (0, 1):
        mine = halves[2] == part
        one = episodes[2]
        train, test = (
            pn.Episode(one.chosen, one.rewards, scored=scored, subject="x")
            for scored in (~mine, mine)
        )
        fitted = pn.fit(train, MODEL, parameter_prior=PRIOR)
        total += fitted.log_likelihoods(test).sum()
    place = found.subjects.index(episodes[2].subject)
    assert found.held_out_log_likelihood[place, 0] == pytest.approx(total, rel=1e-4)
    weak = pn.compare_models({"learner": MODEL}, episodes, folds=halves)
    assert np.isfinite(found.scores()).all()
    assert abs(found.totals[0] - weak.totals[0]) > 0.01


def test_predictions_are_averaged_over_what_the_population_leaves_open(episodes, alone):
    best, mean = alone.predict(episodes[3]), alone.predict(episodes[3], average=True)
    np.testing.assert_allclose(mean.sum(axis=1), 1.0)
    assert best.shape == mean.shape == (30, 2)
    assert np.abs(best - mean).max() > 1e-3
    weak = pn.fit(episodes[2], MODEL, parameter_prior=pn.ScaledPrior())
    assert np.abs(weak.predict(episodes[3]) - best).max() > 1e-3


WITH_WEIGHT = pn.PopulationPrior(
    ("temperature", "exploration/temperature"), [-1.0, 0.5], [[0.3, 0.1], [0.1, 0.6]],
    ("log", "identity"),
)  # fmt: skip
WITH_RATIO = pn.PopulationPrior(
    ("temperature", "exploration"), [-1.0, 0.2], [[0.3, 0.05], [0.05, 0.1]], ("log", "identity")
)
UCB1 = pn.models.UCB1(2, initial_value=0.0)


@pytest.mark.parametrize(
    ("model", "prior", "links"),
    [(MODEL, PRIOR, None), (UCB1, WITH_RATIO, None), (UCB1, WITH_WEIGHT, "weights")],
    ids=["a shape", "a ratio", "its weight"],
)
@pytest.mark.parametrize("n", [4, 30])
def test_averages_are_integrals_over_the_posterior(model, prior, links, n):
    rng = np.random.default_rng(n)
    seen, new = (q_learner(PRIOR.mean, size, rng, "new") for size in (n, 12))
    value = objective(seen, model, prior, links)
    coordinates = Coordinates.of_model(model, links)
    order = [prior.names.index(name) for name in coordinates.names]
    axes = [prior.mean[a] + np.sqrt(prior.covariance[a, a]) * np.linspace(-5, 5, 61) for a in order]
    places = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    height = np.array([value(h) for h in places])
    share = np.exp(height - height.max())
    share /= share.sum()
    expected = 0.0
    for h, own in zip(places[share > 1e-7], share[share > 1e-7], strict=True):
        psi, _ = coordinates.psi(h[None])
        theta = coordinates.theta(h[None, coordinates.n_shape :])[0]
        p = np.exp(model.explanatory(new, *psi[0]) @ theta)
        expected = expected + own * p / p.sum(axis=1, keepdims=True)
    found = pn.fit(seen, model, parameter_prior=prior)
    off = np.abs(found.predict(new, average=True) - expected).max()
    assert off < 0.01
    assert np.abs(found.predict(new) - expected).max() > 2 * off
    h = coordinates.from_parts(*np.split(found.theta[None], [len(model.weights)], axis=1))[0]
    best = optimize.minimize(lambda x: -value(x), h, method="Nelder-Mead",
                             options={"xatol": 1e-7, "fatol": 1e-10})  # fmt: skip
    assert -best.fun - value(h) < 1e-6


def test_people_whom_nothing_was_asked_yet_are_predicted_like_the_population(episodes):
    hardly = pn.Episode([0, 1], [0.0, 0.0], subject="x")  # values do not move: nothing is told
    found = pn.fit(hardly, MODEL, parameter_prior=PRIOR)
    h = np.random.default_rng(0).multivariate_normal(PRIOR.mean, PRIOR.covariance, size=4000)
    rates, weights = 1 / (1 + np.exp(-h[:, 0])), np.exp(-h[:, 1])
    x = [MODEL.explanatory(episodes[1], rate)[:, :, 0] for rate in rates]
    u = np.array(x) * weights[:, None, None]
    p = np.exp(u - np.logaddexp.reduce(u, axis=2, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(found.predict(episodes[1], average=True), p, atol=0.025)


def test_an_average_needs_the_decisions_that_were_fitted(alone, episodes):
    stored = replace(alone, source=alone.source.without_data_for_pickling())
    with pytest.raises(pn.errors.DataError, match="episodes must be at hand"):
        stored.predict(episodes[3], average=True)
    again = stored.attach(episodes[2]).predict(episodes[3], average=True)
    np.testing.assert_allclose(again, alone.predict(episodes[3], average=True), atol=1e-6)


def test_a_range_that_differs_in_its_last_digits_is_the_same(alone, episodes):
    whole = pn.PopulationPrior(PRIOR.names, PRIOR.mean, PRIOR.covariance, (("logit", 0, 1), "log"))
    assert estimates(pn.fit(episodes[2], MODEL, parameter_prior=whole)) == pytest.approx(
        estimates(alone), rel=1e-6
    )


def test_a_prior_that_was_saved_fits_the_same(episodes, alone, tmp_path):
    PRIOR.save(tmp_path / "prior.json")
    again = pn.PopulationPrior.read(tmp_path / "prior.json")
    assert estimates(pn.fit(episodes[2], MODEL, parameter_prior=again)) == estimates(alone)


def test_a_new_persons_weights_are_normal_under_a_mixed_logit():
    _, choices = mixed_choices(20, 8, np.random.default_rng(6))
    people = pn.fit_population(choices)
    one = choices.subset(choices.subject == 3)
    found = pn.fit(one, parameter_prior=people.prior)
    expected = pn.fit(one, parameter_prior=pn.GaussianPrior(people.coefficients, people.spread))
    np.testing.assert_allclose(found.theta, expected.theta)
    log_normal = pn.fit_population(choices, links={"quality": "log"}, spread="diagonal")
    with pytest.raises(
        pn.errors.DataError, match="must be normal in the weights for choices; got qual"
    ):
        pn.fit(one, parameter_prior=log_normal.prior)


def test_a_prior_of_other_parameters_is_refused():
    _, (one, *_) = q_learners(1, 20, np.random.default_rng(7))
    with pytest.raises(
        pn.errors.DataError, match="must be of the model's parameters learning_rate, tem"
    ):
        pn.fit(one, pn.QLearning(2, initial_value=0.0, stickiness=True), parameter_prior=PRIOR)


def test_natural_and_population_priors_are_densities_and_quadratic_ones_are_not():
    from scipy import stats

    assert isinstance(PRIOR, DensityPrior)
    assert isinstance(pn.NaturalPrior(learning_rate=stats.beta(2, 2)), DensityPrior)
    assert not isinstance(pn.ScaledPrior(), DensityPrior)
    assert not isinstance(pn.GaussianPrior(0, 1), DensityPrior)


def test_derivatives_in_weights_and_shape_equal_differences():
    model = pn.QLearning(2, initial_value=None)
    prior = pn.PopulationPrior(
        ("learning_rate", "temperature", "initial_value"),
        [-0.5, -1.0, 0.3],
        np.array([[1.0, 0.2, 0.1], [0.2, 0.5, -0.1], [0.1, -0.1, 0.4]]),
        (("logit", 1e-8, 1.0), "log", "identity"),
    )
    density = prior.of_model(model)
    theta, psi = np.array([[2.3, 0.9]]), np.array([[0.37]])
    value, gradient, hessian = density.on_weights(theta, psi)
    step = 1e-5
    for a, e in enumerate(np.eye(2)):
        above, below = (
            density.on_weights(theta + step * e, psi),
            density.on_weights(theta - step * e, psi),
        )
        assert gradient[0, a] == pytest.approx((above[0] - below[0])[0] / (2 * step), rel=1e-6)
        np.testing.assert_allclose(
            hessian[0, a], (above[1] - below[1])[0] / (2 * step), rtol=1e-5, atol=1e-6
        )
    slope = density.on_shape(psi, theta)[1][0, 0]
    sides = [density.on_weights(theta, psi + s * step)[0][0] for s in (1, -1)]
    assert slope == pytest.approx((sides[0] - sides[1]) / (2 * step), rel=1e-6)
    assert np.isneginf(density.on_weights(-theta, psi)[0]).all()
    assert np.isfinite(value).all()


def test_shape_parameters_at_zero_and_at_limits_have_slopes_or_none():
    model = pn.models.HGF()
    prior = pn.PopulationPrior(
        ("inverse_temperature", "omega_2", "omega_3"),
        [0.4, 0.1, -0.5],
        np.diag([0.5, 0.8, 0.6]),
        ("log", ("logit", -10.0, 2.0), ("logit", -12.0, 0.0)),
    )
    theta, psi = np.array([[1.5], [1.5]]), np.array([[0.0, -4.0], [-1.0, 0.0]])
    slopes = prior.of_model(model).on_shape(psi, theta)[1]
    away = np.log(10 / 2) - 0.1  # of logit((0 + 10) / 12)
    assert slopes[0, 0] == pytest.approx(-away / 0.8 * (1 / 10 + 1 / 2), rel=1e-12)
    assert np.isfinite(slopes).all()
    assert not slopes[1].any()  # beyond a limit there is nothing to move to
