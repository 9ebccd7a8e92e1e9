"""Wald and profile intervals."""

import numpy as np
import pytest
from scipy import stats

import penchant as pn
import reference
from made import case, half_separated_case, separated_case

DROP = stats.chi2.isf(0.05, 1) / 2


def _profile(data, parameter, value):
    """Maximum with one parameter held: it becomes a known part of the objective."""
    others = [a for a in range(data.sets[0].shape[1]) if a != parameter]
    offset = [value * x[:, parameter] for x in data.sets]
    sets = [x[:, others] for x in data.sets]
    theta = reference.newton(sets, data.chosen, offset=offset)
    return reference.log_likelihood(theta, sets, data.chosen, offset=offset)


def test_wald_intervals_are_z_standard_errors_wide():
    estimate = pn.fit(case().choices)
    z = stats.norm.ppf(0.95)
    expected = np.column_stack(
        [
            estimate.theta - z * estimate.standard_errors,
            estimate.theta + z * estimate.standard_errors,
        ]
    )
    np.testing.assert_allclose(estimate.interval(level=0.9), expected, rtol=1e-12)
    np.testing.assert_array_equal(
        estimate.interval(level=0.9, of=["x3", "x1"]), estimate.interval(0.9)[[2, 0]]
    )


def test_profile_endpoints_lie_a_quantile_below_the_maximum():
    data = case(n=25)
    estimate = pn.fit(data.choices)
    for a, ends in enumerate(estimate.interval(kind="profile")):
        assert ends[0] < estimate.theta[a] < ends[1]
        for end in ends:
            # brentq ends within 1e-12 standard errors of the crossing
            assert estimate.log_likelihood - _profile(data, a, end) == pytest.approx(DROP, abs=1e-8)


def test_profile_intervals_do_not_depend_on_units():
    data = case(n=25)
    units = np.array([1e-9, 1e7, 2.0])
    one = pn.fit(data.choices).interval(kind="profile")
    scaled = pn.Choices.from_arrays([x * units for x in data.sets], data.chosen)
    other = pn.fit(scaled).interval(kind="profile")
    np.testing.assert_allclose(other * units[:, None], one, rtol=1e-8)


def test_one_parameter_alone_is_profiled_by_the_likelihood():
    data = case(d=1, n=12)
    estimate = pn.fit(data.choices)
    for end in estimate.interval(kind="profile")[0]:
        value = reference.log_likelihood([end], data.sets, data.chosen)
        assert estimate.log_likelihood - value == pytest.approx(DROP, abs=1e-9)


def test_profiles_are_one_sided_where_the_choices_are_separated():
    data = half_separated_case()
    estimate = pn.fit(data.choices)
    ends = estimate.interval(kind="profile")
    assert ends[0, 1] == np.inf
    assert np.isfinite(ends[0, 0])
    assert np.isfinite(ends[1]).all()
    at_low = _profile(data, 0, ends[0, 0])
    assert estimate.log_likelihood - at_low == pytest.approx(DROP, abs=1e-7)


def test_one_decision_has_a_one_sided_profile():
    data = pn.Choices.from_arrays([[[1.0], [0.2], [0.5]]], [0])
    low, high = pn.fit(data).interval(kind="profile")[0]
    assert high == np.inf
    value = reference.log_likelihood([low], [[[1.0], [0.2], [0.5]]], [0])
    assert value == pytest.approx(-DROP, abs=1e-9)


def test_a_parameter_that_the_constants_can_undo_has_no_bounds():
    # Everybody takes option 1: with its constant at infinity any weight of x1 will do.
    x = np.random.default_rng(3).normal(size=(30, 3, 1))
    choices = pn.Choices.from_arrays(x, np.full(30, 1)).with_constants()
    ends = pn.fit(choices).interval(kind="profile", of=["x1"])
    np.testing.assert_array_equal(ends, [[-np.inf, np.inf]])


def test_a_small_difference_bounds_the_profile_far_out():
    rng = np.random.default_rng(9)
    x = rng.normal(size=(60, 3, 1))
    chosen = x[:, :, 0].argmax(axis=1)
    x[0, :, 0], chosen[0] = [0.0, 1e-3, -3.0], 0
    estimate = pn.fit(pn.Choices.from_arrays(x, chosen))
    assert estimate.status == "weakly identified"  # but for that difference it is separated
    high = estimate.interval(kind="profile")[0, 1]
    value = reference.log_likelihood([high], list(x), chosen)
    assert estimate.log_likelihood - value == pytest.approx(DROP, abs=1e-6)


def _nearly_equal(size):
    rng = np.random.default_rng(8)
    x = rng.normal(size=(200, 4, 2))
    x[:, :, 1] = x[:, :, 0] + size * rng.normal(size=(200, 4))
    good = np.stack([x[:, :, 0], (x[:, :, 1] - x[:, :, 0]) / size], axis=2)
    drawn = pn.simulate(
        pn.Choices.from_arrays(good, None), [0.9, 0.4], rng=np.random.default_rng(9)
    )
    return pn.fit(drawn), pn.fit(pn.Choices.from_arrays(x, drawn.chosen))


@pytest.mark.parametrize("size", [1e-3, 1e-6, 1e-7, 1e-8, 6e-9])
def test_profiles_of_nearly_equal_columns_are_those_of_their_difference(size):
    good, estimate = _nearly_equal(size)
    expected = good.interval(kind="profile")[1] / size
    found = estimate.interval(kind="profile")[1]
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_profiles_of_map_estimates_include_the_prior():
    data = case(n=12, d=1)
    prior = pn.GaussianPrior(0.4, 0.5)
    estimate = pn.fit(data.choices, parameter_prior=prior)

    def posterior(t):
        density = stats.norm(0.4, np.sqrt(0.5)).logpdf(t)
        return reference.log_likelihood([t], data.sets, data.chosen) + density

    for end in estimate.interval(kind="profile")[0]:
        drop = posterior(estimate.theta[0]) - posterior(end)
        assert drop == pytest.approx(DROP, abs=1e-8)


def test_profiles_of_firth_estimates_are_finite_for_separated_choices():
    data = separated_case(d=1)
    estimate = pn.fit(data.choices, method="firth")

    def penalised(t):
        value = reference.log_likelihood([t], data.sets, data.chosen)
        return value + 0.5 * np.log(reference.information([t], data.sets)[0, 0])

    for end in estimate.interval(kind="profile")[0]:
        drop = penalised(estimate.theta[0]) - penalised(end)
        assert drop == pytest.approx(DROP, abs=1e-7)


def test_profiles_end_at_the_constraints():
    choices = case().choices
    limits = pn.Constraints.at_most(choices.names, x1=0.3)
    ends = pn.fit(choices, constraints=limits).interval(kind="profile")
    assert ends[0, 1] == pytest.approx(0.3, abs=1e-9)
    assert ends[0, 0] < 0.3


def test_unidentified_parameters_have_no_bounds_and_the_others_theirs():
    data = case()
    doubled = [np.column_stack([x, x[:, 1]]) for x in data.sets]
    estimate = pn.fit(pn.Choices.from_arrays(doubled, data.chosen))
    ends = estimate.interval(kind="profile")
    np.testing.assert_array_equal(ends[[1, 3]], [[-np.inf, np.inf]] * 2)
    expected = pn.fit(data.choices).interval(kind="profile")
    np.testing.assert_allclose(ends[[0, 2]], expected[[0, 2]], rtol=1e-8)


@pytest.mark.parametrize(
    ("level", "words"),
    [
        (95, "level must lie between 0 and 1; got 95.\nDid you mean 0.95"),
        (0.0, "level must lie between 0 and 1"),
        (1.0, "level must lie between 0 and 1"),
        (True, "level must lie between 0 and 1"),
        (np.nan, "level must lie between 0 and 1"),
    ],
)
@pytest.mark.parametrize("kind", ["wald", "profile"])
def test_levels_that_are_none_are_refused(level, words, kind):
    with pytest.raises(pn.errors.DataError, match=words):
        pn.fit(case().choices).interval(level, kind=kind)


def test_unknown_kinds_and_parameters_are_refused():
    estimate = pn.fit(case().choices)
    with pytest.raises(
        pn.errors.DataError, match="kind must be 'wald', 'profile' or 'calibrated'; got 'bootstrap'"
    ):
        estimate.interval(kind="bootstrap")
    with pytest.raises(pn.errors.DataError, match="parameters must be among x1, x2, x3; got 'y1'"):
        estimate.interval(of=["y1"])
