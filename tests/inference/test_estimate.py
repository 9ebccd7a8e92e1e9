"""What comes back: natural parameters, intervals, tables, JSON, pickles, whatever the status."""

import copy
import json
import math
import pickle
from functools import cache

import numpy as np
import pytest
from scipy import stats

import penchant as pn
import played
from penchant.models.model import natural_parameters

EPISODE = played.ucl_episode(seed=2)


@pytest.fixture(scope="module")
def estimate():
    return pn.fit(EPISODE, played.ucl())


@pytest.fixture(scope="module")
def two_shapes():
    return pn.fit(EPISODE, played.ucl(length_scale=None, bonus="known"))


@pytest.fixture(scope="module")
def free_bonus():
    return pn.fit(EPISODE, played.ucl(bonus="free"))


def stuck():
    return pn.Episode([2] * 20, np.random.default_rng(5).normal(3, 1, 20))


def each_once():
    """As in Figure 6 of the paper."""
    return pn.Episode([4, 0, 6, 2, 1, 5, 3], [52.1, 12.3, 17.9, 44.6, 31.2, 38.8, 23.0])


def runs_from_rewards():
    means = np.array([5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0])
    rng = np.random.default_rng(2)
    chosen = [*range(7), *rng.choice(7, 60, p=[0.4, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05])]
    return pn.Episode(chosen, means[chosen] + rng.normal(0, 1, 67))


ODD = {
    "separated": (stuck(), played.ucl(), None),
    "separated, infinite": (pn.Episode([3, 4], [5.0, 7.0]), played.ucl(), None),
    "each once": (each_once(), played.ucl(length_scale=0.0), None),
    "not identified": (pn.Episode([3], [5.0]), played.ucl(), None),
    "psi at a bound": (EPISODE, played.ucl(precision_range=(0.5, 400.0)), None),
    "weight at a bound": (runs_from_rewards(), played.ucl(), None),
    "nothing but prior": (pn.Episode([3], [5.0]), played.ucl(), pn.ScaledPrior()),
    "separated, prior": (stuck(), played.ucl(), pn.ScaledPrior()),
}


@cache
def odd(name):
    episode, model, prior = ODD[name]
    return pn.fit(episode, model, parameter_prior=prior)


def test_names_and_sizes_go_together(estimate, two_shapes, free_bonus):
    assert estimate.names == ("1/decision_noise", "prior_mean/decision_noise", "relative_precision")
    assert two_shapes.names[2:] == ("relative_precision", "length_scale")
    assert free_bonus.names[2:] == ("bonus/decision_noise", "relative_precision")
    for one in (estimate, two_shapes, free_bonus):
        assert len(one.names) == len(one.theta) == len(one.standard_errors)
        assert one.covariance.shape == (len(one.theta),) * 2
        np.testing.assert_array_equal(one.theta, np.concatenate([one.weights, one.psi]))
        assert one.converged


def test_natural_parameters_follow_from_weights_and_shape(two_shapes, free_bonus):
    nu, mean, variance, scale = (p.estimate for p in two_shapes.parameters)
    theta = two_shapes.theta
    assert nu == pytest.approx(1 / theta[0], rel=1e-14)
    assert mean == pytest.approx(theta[1] / theta[0], rel=1e-14)
    assert variance == pytest.approx(played.NOISE_VARIANCE / theta[2], rel=1e-14)
    assert scale == theta[3]
    named = {p.name: p.estimate for p in free_bonus.parameters}
    assert named["implied_noise_sd"] == pytest.approx(free_bonus.theta[2] / free_bonus.theta[0])


def test_errors_of_natural_parameters_equal_the_delta_method_by_differences(two_shapes, free_bonus):
    for one in (two_shapes, free_bonus):
        d = one.n_weights

        def natural(point, one=one, d=d):
            return np.array([n.value(point[:d], point[d:]) for n in natural_parameters(one.model)])

        slopes = []
        for a in range(len(one.theta)):
            h = np.zeros(len(one.theta))
            h[a] = 1e-6 * abs(one.theta[a])
            slopes.append((natural(one.theta + h) - natural(one.theta - h)) / (2 * h[a]))
        jacobian = np.array(slopes).T
        expected = np.sqrt(np.diag(jacobian @ one.covariance @ jacobian.T))
        found = [p.standard_error for p in one.parameters]
        np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_wald_intervals_contain_the_estimate_and_are_positive_where_they_must_be(
    estimate, two_shapes, free_bonus
):
    for one in (estimate, two_shapes, free_bonus):
        for level in (0.5, 0.95, 0.999999):
            for p in one.parameters_at(level):
                assert p.low <= p.estimate <= p.high
                if p.name in ("decision_noise", "prior_variance", "length_scale"):
                    assert p.low > 0


def test_wald_intervals_of_positive_parameters_are_symmetric_on_the_logarithm(estimate):
    nu, _, variance = estimate.parameters_at(0.9)
    z = stats.norm.ppf(0.95)
    for p in (nu, variance):
        half = z * p.standard_error / p.estimate
        assert p.low == pytest.approx(p.estimate * math.exp(-half), rel=1e-12)
        assert p.high == pytest.approx(p.estimate * math.exp(half), rel=1e-12)


def test_the_wald_interval_of_a_ratio_is_fiellers(estimate):
    (low, high), c = estimate.interval(0.9)[1], estimate.covariance
    t1, t2 = estimate.weights
    z2 = stats.norm.ppf(0.95) ** 2
    for a in (low, high):
        left = (t2 - a * t1) ** 2
        assert left == pytest.approx(z2 * (c[1, 1] - 2 * a * c[0, 1] + a * a * c[0, 0]), rel=1e-8)


def test_levels_are_nested_and_checked(estimate):
    for kind in ("wald", "profile"):
        inner, outer = estimate.interval(0.8, kind), estimate.interval(0.99, kind)
        assert (outer[:, 0] < inner[:, 0]).all()
        assert (outer[:, 1] > inner[:, 1]).all()
    for level in (0.0, 1.0, 95, math.nan):
        with pytest.raises(pn.errors.DataError, match="level must"):
            estimate.interval(level)
    with pytest.raises(
        pn.errors.DataError, match="kind must be 'wald', 'profile' or 'calibrated'; got 'bayes'"
    ):
        estimate.interval(kind="bayes")


@pytest.mark.parametrize(
    "kind",
    [
        "profile",
        "wald",
    ],
)
def test_the_interval_of_a_learning_rate_stays_in_its_range(kind):
    episode = pn.simulate(
        pn.Landscape([0.2, 0.5, 0.8, 0.4], pn.GaussianNoise(0.05)),
        pn.QLearning(4),
        {"temperature": 0.25, "learning_rate": 0.9},
        n_decisions=40,
        rng=np.random.default_rng(6),
    )
    low, high = pn.fit(episode, pn.QLearning(4)).interval(kind=kind)[1]
    assert 0 <= low < high <= 1


def test_criteria_count_weights_and_shape(two_shapes):
    value = two_shapes.log_likelihood
    assert two_shapes.aic == pytest.approx(8 - 2 * value)
    assert two_shapes.bic == pytest.approx(4 * math.log(70) - 2 * value)
    assert two_shapes.pseudo_r2 == pytest.approx(1 - value / (-70 * math.log(7)))


def test_log_likelihoods_of_decisions_add_up(estimate):
    each = estimate.log_likelihoods()
    assert each.shape == (70,)
    assert each.sum() == pytest.approx(estimate.log_likelihood, rel=1e-12)
    assert each[0] == pytest.approx(-math.log(7), rel=1e-14)


def test_tables_say_what_the_estimate_says(estimate):
    text = estimate.summary()
    for words in ("converged", "decision_noise", "prior_mean", "prior_variance", "stochastic UCL"):
        assert words in text
    assert str(estimate) == text
    assert "Estimate converged" in repr(estimate)
    assert r"\toprule" in estimate.to_latex()
    frame = estimate.to_frame(backend="pandas")
    assert list(frame["name"]) == [p.name for p in estimate.parameters]
    np.testing.assert_array_equal(frame["high"], [p.high for p in estimate.parameters])


def test_json_is_strict_and_complete(estimate):
    document = json.loads(json.dumps(estimate.to_dict(), allow_nan=False))
    assert document["status"] == "converged"
    assert document["n_decisions"] == 70
    assert document["theta"] == estimate.theta.tolist()
    assert document["parameters"][0]["estimate"] == estimate.parameters[0].estimate
    assert set(document["parameters"][0]) == {"name", "estimate", "standard_error", "low", "high"}


@pytest.mark.parametrize(
    "subject",
    [
        "anna",
        7,
        np.int64(7),
    ],
)
def test_json_holds_the_subject(subject):
    episode = pn.Episode(EPISODE.chosen, EPISODE.rewards, subject=subject)
    one = pn.fit(episode, played.ucl())
    assert one.subject == subject
    assert json.loads(json.dumps(one.to_dict(), allow_nan=False))["subject"] in ("anna", 7)


@pytest.mark.parametrize(
    "name",
    [
        "separated",
        "not identified",
        "psi at a bound",
        "each once",
        "separated, infinite",
        "separated, prior",
        "weight at a bound",
        "nothing but prior",
    ],
)
def test_every_status_can_be_read_without_a_warning(name):
    one = odd(name)
    assert one.status in one.summary()
    json.dumps(one.to_dict(), allow_nan=False)
    one.to_frame(backend="pandas")
    one.to_latex()
    assert len(one.parameters) == 3


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_no_standard_error_is_invented_for_separated_data():
    one = odd("separated, infinite")
    assert one.status == "separated"
    for p in one.parameters:
        assert math.isnan(p.standard_error)
        # nor an interval of no width
        assert p.low != p.high


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_decision_noise_is_never_negative():
    for name in ODD:
        (noise, *_) = odd(name).parameters
        assert not noise.estimate < 0
        assert not noise.low < 0


@pytest.mark.parametrize("name", ["psi at a bound", "weight at a bound"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_profile_intervals_exist_for_every_status_that_recommends_them(name):
    one = odd(name)
    intervals = one.interval(kind="profile")
    assert intervals.shape == (3, 2)
    assert not np.isnan(intervals).any()
    assert (intervals[:, 0] < intervals[:, 1]).all()
    assert intervals[0, 0] >= 0
    assert intervals[2, 0] >= 0


def test_the_advice_for_separated_data_can_be_followed():
    one = odd("separated")
    if "method='firth'" in one.message:
        pn.fit(stuck(), played.ucl(), method="firth")


def test_an_estimate_of_ucl_can_be_pickled_without_its_data(estimate):
    again = pickle.loads(pickle.dumps(estimate))
    np.testing.assert_array_equal(again.theta, estimate.theta)
    assert again.summary() == estimate.summary()
    assert again.episodes is None
    np.testing.assert_array_equal(again.predict(EPISODE), estimate.predict())


def test_an_estimate_of_q_learning_can_be_pickled_without_its_data():
    episode = played.q_episode()
    one = pn.fit(episode, pn.QLearning(4), parameter_prior=pn.ScaledPrior())
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.theta, one.theta)
    assert again.summary() == one.summary()
    np.testing.assert_array_equal(again.predict(episode), one.predict())
    np.testing.assert_array_equal(again.interval(), one.interval())
    for need in (again.predict, again.log_likelihoods, lambda: again.interval(kind="profile")):
        with pytest.raises(pn.errors.DataError, match="episodes must be at hand"):
            need()


def test_a_model_can_be_copied():
    model = played.ucl()
    pn.fit(EPISODE, model)
    other = copy.deepcopy(model)
    np.testing.assert_array_equal(other.explanatory(EPISODE, 0.1), model.explanatory(EPISODE, 0.1))


def test_the_profile_is_there_to_look_at(two_shapes):
    grid = two_shapes.profile
    assert grid.values.shape == (33 * 19,)
    assert grid.dimensions == (33, 19)
    assert grid.values.max() <= two_shapes.log_likelihood
    assert two_shapes.source.optimum.points.value[0] == pytest.approx(
        two_shapes.log_likelihood, rel=1e-12
    )
