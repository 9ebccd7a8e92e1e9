"""Tables I and II of the paper: Welch's tests and the way back to natural parameters."""

import numpy as np
import pytest

import penchant as pn

NOMINALS = {"low": pn.RewardPrior(30, 10), "high": pn.RewardPrior(200, 1e6)}
LENGTH_SCALES = {"low": 0.1, "high": 4.0}
COUNTS = {("low", "A"): 153, ("low", "B"): 103, ("high", "A"): 53, ("high", "B"): 17}
TABLE_1 = {
    ("low", "A"): ([0.360, -5.22, 0.433], [90.4, 1.27e3, 1.02e2]),
    ("low", "B"): ([0.252, -2.12, 0.213], [1.32, 51.8, 8.61]),
    ("high", "A"): ([3.93e-2, -6.86, 7.88e-7], [1.18e-3, 0.226, 2.34e-8]),
    ("high", "B"): ([3.39e-2, -6.57, 6.80e-7], [1.04e-3, 0.268, 2.06e-8]),
}
TABLE_2 = {
    ("low", "A"): [2.78, 15.5, 4.54],
    ("low", "B"): [3.97, 21.6, 5.42],
    ("high", "A"): [25.5, 25.3, 3.32e5],
    ("high", "B"): [29.5, 6.08, 3.33e5],  # printed 3.35e5, which does not follow from Table I
}


def published(category):
    return pn.results.PopulationEstimate.from_summary(*TABLE_1[category], COUNTS[category])


def model(performance):
    return pn.UCL(pn.grid(10, 10), 10.0, length_scale=LENGTH_SCALES[performance])


def mapped(category):
    performance = category[0]
    return pn.paper.population_in_natural_parameters(
        published(category), model(performance), nominal=NOMINALS[performance]
    )


def test_high_performers_differ_in_two_parameters_of_three():
    found = pn.compare_groups({c: published(("high", c)) for c in "AB"}).differences
    assert [round(d.p_value, 3) for d in found] == [0.001, 0.413, 0.001]
    assert [round(d.statistic, 2) for d in found] == [3.43, -0.83, 3.46]
    assert [int(d.degrees_of_freedom) for d in found] == [55, 40, 55]
    assert [round(d.adjusted_p_value, 3) for d in found] == [0.003, 0.413, 0.003]


def test_low_performers_do_not_differ():
    found = pn.compare_groups({c: published(("low", c)) for c in "AB"}).differences
    assert all(d.p_value > 0.9 for d in found)


def test_no_joint_test_is_made_up_from_a_table_without_covariances():
    (found,) = pn.compare_groups({c: published(("high", c)) for c in "AB"}).joint
    assert found.test.kind == "none" and np.isnan(found.test.p_value)


@pytest.mark.parametrize("category", TABLE_2)
def test_table_2_is_the_map_of_table_1(category):
    found = mapped(category)
    assert found.names == ("decision_noise", "prior_mean", "prior_variance")
    np.testing.assert_allclose(found.estimate, TABLE_2[category], rtol=0.02)
    assert (found.scale, found.n_subjects) == ("natural", COUNTS[category])


def test_the_printed_variance_of_high_performers_on_b_does_not_follow_from_table_1():
    """Whatever theta1 and theta3 were before rounding to three digits."""
    nominal = 10.0 / 1e6
    ends = [10.0 / (nominal + t3 / t1)
            for t1 in (3.385e-2, 3.395e-2) for t3 in (6.795e-7, 6.805e-7)]  # fmt: skip
    assert min(ends) > 3.32e5 and max(ends) < 3.34e5 < 3.345e5


def test_the_error_of_the_decision_noise_is_the_delta_method_and_others_are_not_known():
    found = mapped(("high", "A"))
    assert found.standard_errors[0] == pytest.approx(1.18e-3 / 3.93e-2**2, rel=1e-6)
    assert np.isnan(found.standard_errors[1:]).all()
    tests = pn.compare_groups({c: mapped(("high", c)) for c in "AB"})
    noise = tests.of("decision_noise")[0]
    assert noise.statistic == pytest.approx(-3.4, abs=0.05)
    assert np.isnan(tests.of("prior_mean")[0].p_value)


def test_errors_with_full_covariances_are_those_of_derivatives_written_out():
    theta = np.array([3.93e-2, -6.86, 7.88e-7])
    rng = np.random.default_rng(1)
    root = rng.normal(size=(3, 4)) * np.array([1e-3, 0.2, 2e-8])[:, None]
    covariance = root @ root.T
    one = pn.pool(theta[None], covariance[None], rule="mean-pooled")
    found = pn.paper.population_in_natural_parameters(one, model("high"), nominal=NOMINALS["high"])
    t1, t2, t3 = theta
    delta = 1e-5 + t3 / t1
    slopes = np.array(
        [
            [-1 / t1**2, 0, 0],
            [-t2 / t1**2, 1 / t1, 0],
            [10 / delta**2 * t3 / t1**2, 0, -10 / delta**2 / t1],
        ]
    )
    np.testing.assert_allclose(found.covariance, slopes @ covariance @ slopes.T, rtol=1e-6)


def test_a_population_outside_the_model_has_no_natural_parameters():
    wrong = pn.results.PopulationEstimate.from_summary([-0.3, 1.0, 0.1], [0.1, 0.1, 0.1], 5)
    found = pn.paper.population_in_natural_parameters(wrong, model("low"), nominal=NOMINALS["low"])
    assert found.status == "outside the model"
    assert np.isnan(found.estimate).all()
    assert "no natural parameters" in found.message
    with pytest.raises(pn.errors.DataError, match="population must hold the 3 parameters theta"):
        pn.paper.population_in_natural_parameters(found, model("low"), nominal=NOMINALS["low"])
