"""What must hold whatever the data: invariants T01 to T45 of a right implementation."""

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import penchant as pn
import reference
from made import case
from penchant.softmax.likelihood import likelihood_of
from penchant.softmax.probabilities import log_probabilities, scores

seeds = st.integers(0, 10**6)


def _problem(seed, **options):
    """A ragged problem of three variables, and some theta away from 0."""
    rng = np.random.default_rng(seed)
    data = case(n=int(rng.integers(5, 30)), seed=seed, **options)
    return data, rng.normal(size=3), rng


def _moments(theta, sets, chosen, **options):
    return likelihood_of(pn.Choices.from_arrays(sets, chosen, **options)).moments(theta)


def _assert_same(one, other, tolerance=1e-12):
    assert one.log_likelihood == pytest.approx(other.log_likelihood, rel=tolerance)
    size = 1.0 + np.abs(other.information).max()
    np.testing.assert_allclose(one.gradient, other.gradient, rtol=0, atol=tolerance * size * 10)
    np.testing.assert_allclose(one.information, other.information, rtol=0, atol=tolerance * size)


@given(seed=seeds, size=st.sampled_from([1.0, 1e3, 1e6]))
def test_t01_a_constant_added_to_all_options_of_a_set_changes_nothing(seed, size):
    data, theta, rng = _problem(seed)
    moved = [x + size * rng.normal(size=3) for x in data.sets]
    tolerance = 1e-12 if size == 1.0 else 1e-16 * size * 100  # digits that x itself loses
    _assert_same(
        _moments(theta, moved, data.chosen), _moments(theta, data.sets, data.chosen), tolerance
    )


@given(seed=seeds)
def test_t02_the_order_of_options_does_not_matter(seed):
    data, theta, rng = _problem(seed)
    orders = [rng.permutation(len(x)) for x in data.sets]
    sets = [x[o] for x, o in zip(data.sets, orders, strict=True)]
    chosen = [int(np.flatnonzero(o == c)[0]) for o, c in zip(orders, data.chosen, strict=True)]
    _assert_same(_moments(theta, sets, chosen), _moments(theta, data.sets, data.chosen))
    p = log_probabilities(theta, pn.Choices.from_arrays(sets, chosen))
    q = log_probabilities(theta, data.choices)
    first = data.choices.first_row
    turned = np.concatenate([q[first[k] : first[k + 1]][o] for k, o in enumerate(orders)])
    np.testing.assert_allclose(p, turned, rtol=1e-11, atol=1e-12)


@given(seed=seeds)
def test_t03_the_order_of_decisions_does_not_matter(seed):
    data, theta, rng = _problem(seed)
    turned = data.choices.subset(rng.permutation(len(data.sets)))
    _assert_same(likelihood_of(turned).moments(theta), likelihood_of(data.choices).moments(theta))


@given(seed=seeds)
def test_t04_a_turn_of_the_variables_turns_the_estimate(seed):
    data, theta, rng = _problem(seed)
    turn = rng.normal(size=(3, 3)) + 2.5 * np.eye(3)
    back = np.linalg.inv(turn)
    sets = [x @ turn for x in data.sets]
    one = _moments(theta, data.sets, data.chosen)
    other = _moments(back @ theta, sets, data.chosen)
    assert other.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-10)
    size = np.abs(one.information).max() * np.linalg.norm(turn) ** 2
    np.testing.assert_allclose(other.gradient, turn.T @ one.gradient, atol=1e-11 * size)
    np.testing.assert_allclose(
        other.information, turn.T @ one.information @ turn, atol=1e-11 * size
    )
    fitted = pn.fit(data.choices)
    turned = pn.fit(pn.Choices.from_arrays(sets, data.chosen))
    assert turned.status == fitted.status
    assert turned.diagnostics.rank == fitted.diagnostics.rank
    if fitted.status == "converged":
        np.testing.assert_allclose(turn @ turned.theta, fitted.theta, rtol=1e-6, atol=1e-8)
        covariance = turn @ turned.covariance @ turn.T
        np.testing.assert_allclose(covariance, fitted.covariance, rtol=1e-6, atol=1e-8)


@given(seed=seeds, powers=st.tuples(*[st.integers(-8, 8)] * 3))
def test_t05_units_scale_the_estimate_and_no_test(seed, powers):
    data = case(n=30, seed=seed)
    units = 10.0 ** np.array(powers)
    one = pn.fit(data.choices)
    other = pn.fit(pn.Choices.from_arrays([x * units for x in data.sets], data.chosen))
    assert other.status == one.status
    if one.status == "converged":
        np.testing.assert_allclose(other.z_values, one.z_values, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(other.p_values, one.p_values, rtol=1e-7)
        np.testing.assert_allclose(other.theta * units, one.theta, rtol=1e-9, atol=1e-12)


@given(seed=seeds)
def test_t06_and_t07_signs_and_places_of_variables_follow(seed):
    data, _, rng = _problem(seed)
    one = pn.fit(data.choices)
    minus = pn.fit(pn.Choices.from_arrays([-x for x in data.sets], data.chosen))
    np.testing.assert_allclose(minus.theta, -one.theta, rtol=1e-9)
    order = rng.permutation(3)
    names = [f"x{a + 1}" for a in order]
    sets = [np.ascontiguousarray(x[:, order]) for x in data.sets]
    turned = pn.fit(pn.Choices.from_arrays(sets, data.chosen, names=names))
    assert turned.names == tuple(names)
    assert turned.status == one.status
    if one.status == "converged":
        np.testing.assert_allclose(turned.theta, one.theta[order], rtol=1e-8, atol=1e-10)
        expected = one.covariance[np.ix_(order, order)]
        np.testing.assert_allclose(turned.covariance, expected, rtol=1e-7, atol=1e-10)


@given(seed=seeds)
def test_t08_at_zero_all_options_are_equally_likely(seed):
    data, _, _ = _problem(seed)
    moments = likelihood_of(data.choices).moments(np.zeros(3))
    expected = -math.fsum(math.log(len(x)) for x in data.sets)
    assert moments.log_likelihood == pytest.approx(expected, rel=1e-13)
    slope = sum(x[c] - x.mean(axis=0) for x, c in zip(data.sets, data.chosen, strict=True))
    np.testing.assert_allclose(moments.gradient, slope, atol=1e-12)
    spread = sum(np.cov(x.T, bias=True) for x in data.sets)
    np.testing.assert_allclose(moments.information, spread, atol=1e-12)


@given(seed=seeds)
def test_t09_and_t10_sets_without_a_difference_tell_nothing(seed):
    data, theta, rng = _problem(seed)
    single, equal = rng.normal(size=(1, 3)), np.tile(rng.normal(size=3), (4, 1))
    sets, chosen = [*data.sets, single, equal], [*data.chosen, 0, 2]
    one = _moments(theta, data.sets, data.chosen)
    other = _moments(theta, sets, chosen)
    assert other.log_likelihood == pytest.approx(one.log_likelihood - np.log(4), rel=1e-12)
    np.testing.assert_allclose(other.gradient, one.gradient, atol=1e-11)
    fitted = pn.fit(pn.Choices.from_arrays(sets, chosen))
    assert fitted.n_decisions == len(data.sets) + 2
    assert fitted.status == pn.fit(data.choices).status


@given(seed=seeds, hole=st.sampled_from([np.nan, np.inf, -np.inf, 3.3]))
def test_t11_an_option_not_on_offer_is_no_option(seed, hole):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(12, 5, 3))
    available = rng.random((12, 5)) < 0.7
    chosen = rng.integers(0, 5, size=12)
    available[np.arange(12), chosen] = True
    available[0] = True
    holed = np.where(available[:, :, None], x, hole)
    sets = [one[a] for one, a in zip(x, available, strict=True)]
    places = [int(a[:c].sum()) for a, c in zip(available, chosen, strict=True)]
    one = pn.fit(pn.Choices.from_arrays(holed, chosen, available=available))
    other = pn.fit(pn.Choices.from_arrays(sets, places))
    assert one.status == other.status
    np.testing.assert_array_equal(one.theta, other.theta)
    assert one.log_likelihood == other.log_likelihood
    assert one.n_options == other.n_options


@given(seed=seeds, low=st.sampled_from([-1e4, -1e5, -1e100]))
def test_t12_an_option_far_below_the_others_is_no_option(seed, low):
    data, theta, rng = _problem(seed)
    sets = [np.vstack([x, rng.normal(size=3)]) for x in data.sets]
    offset = np.concatenate([[0.0] * len(x) + [low] for x in data.sets])
    choices = pn.Choices.from_arrays(sets, data.chosen, offset=offset)
    _assert_same(likelihood_of(choices).moments(theta), likelihood_of(data.choices).moments(theta))
    p = np.exp(log_probabilities(theta, choices))
    assert (p[choices.first_row[1:] - 1] < 1e-300).all()


@given(seed=seeds)
def test_t13_removing_an_option_keeps_the_ratios_of_the_others(seed):
    rng = np.random.default_rng(seed)
    x, theta = rng.normal(size=(1, 6, 3)), rng.normal(size=3)
    whole = log_probabilities(theta, pn.Choices.from_arrays(x, None))
    part = log_probabilities(theta, pn.Choices.from_arrays(x[:, 1:], None))
    np.testing.assert_allclose(np.diff(part), np.diff(whole[1:]), atol=1e-12)


@given(seed=seeds)
def test_t14_a_duplicate_option_is_one_with_log_two_more(seed):
    rng = np.random.default_rng(seed)
    x, theta = rng.normal(size=(4, 3)), rng.normal(size=3)
    twice = np.exp(log_probabilities(theta, pn.Choices.from_arrays([np.vstack([x, x[3]])], None)))
    merged = pn.Choices.from_arrays([x], None, offset=[[0.0, 0.0, 0.0, np.log(2)]])
    p = np.exp(log_probabilities(theta, merged))
    assert twice[3] == pytest.approx(twice[4], rel=1e-15)
    assert twice[3] + twice[4] == pytest.approx(p[3], rel=1e-13)


@given(seed=seeds)
def test_t15_the_sums_of_two_parts_add_up(seed):
    data, theta, _ = _problem(seed)
    half = len(data.sets) // 2
    whole = likelihood_of(data.choices).moments(theta)
    a = _moments(theta, data.sets[:half], data.chosen[:half])
    b = _moments(theta, data.sets[half:], data.chosen[half:])
    assert whole.log_likelihood == pytest.approx(a.log_likelihood + b.log_likelihood, rel=1e-13)
    np.testing.assert_allclose(whole.gradient, a.gradient + b.gradient, atol=1e-12)
    np.testing.assert_allclose(whole.information, a.information + b.information, atol=1e-12)


@given(seed=seeds)
def test_t16_a_weight_is_a_number_of_decisions(seed):
    data = case(n=25, seed=seed)
    weights = np.random.default_rng(seed).integers(0, 4, size=25)
    weights[0] = 2
    sets = [x for x, w in zip(data.sets, weights, strict=True) for _ in range(w)]
    chosen = [c for c, w in zip(data.chosen, weights, strict=True) for _ in range(w)]
    one = pn.fit(pn.Choices.from_arrays(data.sets, data.chosen, weights=weights))
    other = pn.fit(pn.Choices.from_arrays(sets, chosen))
    assert one.status == other.status
    assert one.log_likelihood == pytest.approx(other.log_likelihood, rel=1e-11, abs=1e-11)
    assert one.bic == pytest.approx(other.bic, rel=1e-11)
    if one.status == "converged":
        np.testing.assert_allclose(one.theta, other.theta, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-7, atol=1e-10)
        thrice = pn.fit(pn.Choices.from_arrays(data.sets, data.chosen, weights=3 * weights))
        np.testing.assert_allclose(3 * thrice.covariance, one.covariance, rtol=1e-7, atol=1e-10)


@given(seed=seeds, size=st.sampled_from([1e-90, 1.0, 40.0, 1e5]))
def test_t17_probabilities_are_probabilities(seed, size):
    data, theta, _ = _problem(seed)
    choices = pn.Choices.from_arrays([size * x for x in data.sets], data.chosen)
    log_p = log_probabilities(theta, choices)
    assert np.isfinite(log_p).all() and (log_p <= 0).all()
    sums = np.add.reduceat(np.exp(log_p), choices.first_row[:-1])
    np.testing.assert_allclose(sums, 1.0, rtol=0, atol=1e-14)  # 1e-15 times m


@given(seed=seeds)
def test_t18_the_information_is_symmetric_and_not_negative(seed):
    data, theta, _ = _problem(seed)
    moments = likelihood_of(data.choices).moments(3 * theta)
    assert np.array_equal(moments.information, moments.information.T)
    values = np.linalg.eigvalsh(moments.information)
    assert values[0] >= -1e-12 * max(values[-1], 1e-300)
    h = 1e-6
    slopes = [
        likelihood_of(data.choices).moments(theta + h * e).log_likelihood
        - likelihood_of(data.choices).moments(theta - h * e).log_likelihood
        for e in np.eye(3)
    ]
    expected = likelihood_of(data.choices).moments(theta).gradient
    # rounding eps * 100 / h = 2e-8, truncation h^2
    np.testing.assert_allclose(np.array(slopes) / (2 * h), expected, atol=1e-7)


@given(seed=seeds)
def test_t19_scores_have_mean_zero_and_the_information_as_variance(seed):
    rng = np.random.default_rng(seed)
    x, theta = rng.normal(size=(5, 3)), rng.normal(size=3)
    every = pn.Choices.from_arrays(np.tile(x, (5, 1, 1)), np.arange(5))
    s = scores(theta, every)
    p = np.array(reference.probabilities(theta, x))
    np.testing.assert_allclose(p @ s, 0.0, atol=1e-14)
    expected = _moments(theta, [x], [2]).information
    np.testing.assert_allclose((s.T * p) @ s, expected, atol=1e-13)


@given(seed=seeds, t=st.floats(0.01, 0.99))
def test_t20_the_log_likelihood_is_concave(seed, t):
    data, a, rng = _problem(seed)
    b = 4 * rng.normal(size=3)
    likelihood = likelihood_of(data.choices)
    at = [likelihood.moments(x).log_likelihood for x in (a, b, t * a + (1 - t) * b)]
    assert at[2] >= t * at[0] + (1 - t) * at[1] - 1e-11


@pytest.mark.comparison
def test_t21_two_options_are_logistic_regression():
    sm = pytest.importorskip("statsmodels.api")
    data = case(n=120, sizes=(2, 2))
    gaps = np.array([x[1] - x[0] for x in data.sets])
    other = sm.Logit(np.array(data.chosen), gaps).fit(disp=0, method="newton", tol=1e-12)
    one = pn.fit(data.choices)
    np.testing.assert_allclose(one.theta, other.params, rtol=1e-8)
    np.testing.assert_allclose(one.standard_errors, other.bse, rtol=1e-7)
    assert one.log_likelihood == pytest.approx(other.llf, rel=1e-11)


@pytest.mark.comparison
def test_t22_attributes_of_the_person_are_multinomial_logit():
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(3)
    income = rng.normal(size=300)
    x = np.zeros((300, 3, 4))
    for j in (1, 2):
        x[:, j, 2 * j - 2] = 1.0
        x[:, j, 2 * j - 1] = income
    sets = pn.Choices.from_arrays(x, None)
    choices = pn.simulate(sets, [0.3, -0.8, 0.5, 0.4], rng=rng)
    other = sm.MNLogit(choices.chosen, sm.add_constant(income)).fit(disp=0, tol=1e-13)
    one = pn.fit(choices)
    np.testing.assert_allclose(one.theta, other.params.T.ravel(), rtol=1e-7)
    np.testing.assert_allclose(one.standard_errors, other.bse.T.ravel(), rtol=1e-6)
    assert one.log_likelihood == pytest.approx(other.llf, rel=1e-10)


@pytest.mark.comparison
def test_t23_risk_sets_are_cox_regression_and_free_effects_are_poisson():
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(5)
    x = rng.normal(size=(26, 2))
    times = rng.permutation(26) + 1.0
    order = np.argsort(times)
    sets = [x[order[k:]] for k in range(26)]
    one = pn.fit(pn.Choices.from_arrays(sets, [0] * 26))
    cox = sm.PHReg(times, x, status=np.ones(26)).fit(disp=0)
    np.testing.assert_allclose(one.theta, cox.params, rtol=1e-6)
    np.testing.assert_allclose(one.standard_errors, cox.bse, rtol=1e-5)
    assert one.log_likelihood == pytest.approx(cox.llf, rel=1e-9)
    data = case(n=30, sizes=(4, 4), d=2)
    rows = np.concatenate(data.sets)
    effects = np.kron(np.eye(30), np.ones((4, 1)))
    count = np.concatenate([np.arange(4) == c for c in data.chosen]).astype(float)
    poisson = sm.GLM(count, np.hstack([rows, effects]), family=sm.families.Poisson())
    fitted = poisson.fit(tol=1e-14, maxiter=200)
    two = pn.fit(data.choices)
    np.testing.assert_allclose(two.theta, fitted.params[:2], rtol=1e-7)
    np.testing.assert_allclose(two.standard_errors, fitted.bse[:2], rtol=1e-6)


def test_t24_constants_make_mean_probabilities_the_observed_shares():
    rng = np.random.default_rng(6)
    sets = pn.Choices.from_arrays(rng.normal(size=(150, 4, 2)), None).with_constants()
    choices = pn.simulate(sets, [0.7, -0.3, 0.4, -0.5, 0.9], rng=rng)
    estimate = pn.fit(choices)
    shares = np.bincount(choices.chosen, minlength=4) / 150
    np.testing.assert_allclose(estimate.predict(choices).mean(axis=0), shares, atol=1e-12)


def _layouts(x):
    """The same numbers laid out in other ways."""
    wide = np.zeros((x.shape[0], 2 * x.shape[1]))
    wide[:, ::2] = x
    return {
        "fortran": np.asfortranarray(x),
        "strided": wide[:, ::2],
        "reversed": np.ascontiguousarray(x[::-1])[::-1],
        "float32": x.astype(np.float32),
    }


@pytest.mark.parametrize("layout", ["fortran", "strided", "reversed", "float32"])
@pytest.mark.parametrize("sizes", [(4, 4), (2, 6)])
@pytest.mark.parametrize("listed", [False, True])
def test_t25_the_layout_of_arrays_does_not_matter(layout, sizes, listed):
    data = case(n=23, sizes=sizes)
    plain = [x.astype(np.float32).astype(float) if layout == "float32" else x for x in data.sets]
    best = pn.fit(pn.Choices.from_arrays(plain, data.chosen))
    sets = [_layouts(x)[layout] for x in data.sets]
    if not listed:
        if sizes == (2, 6):
            return
        sets = np.stack(sets)
        sets = np.asfortranarray(sets) if layout == "fortran" else sets
    choices = pn.Choices.from_arrays(sets, data.chosen)
    estimate = pn.fit(choices)
    np.testing.assert_array_equal(estimate.theta, best.theta)
    value = reference.log_likelihood(estimate.theta, plain, data.chosen)
    assert estimate.log_likelihood == pytest.approx(value, rel=1e-12)


@given(seed=seeds)
def test_the_relative_error_is_never_below_the_information_ceiling(seed):
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(2, 9)), int(rng.integers(10, 60))
    data = case(n=n, sizes=(m, m), seed=seed, theta=rng.normal(size=3))
    estimate = pn.fit(data.choices)
    if estimate.status == "converged":
        least = 1 / np.sqrt(n * reference.highest_variance(m))
        assert (estimate.standard_errors / np.abs(estimate.theta) >= least * (1 - 1e-9)).all()


@pytest.mark.parametrize(
    ("m", "highest"), [(2, 0.4392), (3, 0.7618), (10, 2.0584), (100, 6.2269), (1000, 12.900)]
)
def test_the_ceiling_has_its_published_values(m, highest):
    assert reference.highest_variance(m) == pytest.approx(highest, rel=1e-4)


def test_t31_parts_added_up_give_the_whole_fit():
    data = case(n=90)
    choices = data.choices
    best = pn.fit(choices)
    slopes = [
        likelihood_of(choices.subset(np.arange(k, min(k + 7, 90)))).moments(best.theta)
        for k in range(0, 90, 7)
    ]
    np.testing.assert_allclose(sum(s.gradient for s in slopes), 0.0, atol=1e-11)
    covariance = np.linalg.inv(sum(s.information for s in slopes))
    np.testing.assert_allclose(covariance, best.covariance, rtol=1e-10)


@pytest.mark.slow
def test_t32_another_process_finds_the_same_digits():
    program = (
        "import numpy as np, penchant as pn\n"
        "x = np.random.default_rng(1).normal(size=(50, 4, 2))\n"
        "e = pn.fit(pn.Choices.from_arrays(x, np.arange(50) % 4))\n"
        "print(e.theta.tobytes().hex(), e.covariance.tobytes().hex())\n"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert found[0] == found[1] and found[0].strip()


def test_t33_choices_drawn_from_an_estimate_give_it_back():
    data = case(n=400)
    best = pn.fit(data.choices)
    again = pn.fit(pn.simulate(data.choices, best.theta, rng=np.random.default_rng(4)))
    assert (np.abs(again.theta - best.theta) < 4 * again.standard_errors).all()


@given(seed=seeds)
def test_t33_a_larger_model_is_never_worse_and_another_decision_never_better(seed):
    data = case(n=20, seed=seed)
    whole = pn.fit(data.choices)
    part = pn.fit(data.choices.select(["x1", "x3"]))
    assert whole.log_likelihood >= part.log_likelihood - 1e-9
    fewer = pn.fit(data.choices.subset(np.arange(19)))
    assert whole.log_likelihood <= fewer.log_likelihood + 1e-9


def test_t45_p_values_are_those_of_the_normal():
    estimate = pn.fit(case(n=200).choices)
    np.testing.assert_allclose(
        estimate.p_values, 2 * stats.norm.sf(np.abs(estimate.theta / estimate.standard_errors))
    )
