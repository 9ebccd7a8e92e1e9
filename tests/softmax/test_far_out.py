"""Maxima far out, of small differences and of large offsets, against forty digits."""

import numpy as np
import pytest

import penchant as pn
from exact_maximum import exact_maximum
from penchant.softmax.newton_without_cancellation import (
    StableChoiceLikelihood,
    newton_without_cancellation,
)


def _assert_exact(estimate, exact, rel=1e-11):
    theta, errors, log_likelihood = exact
    assert estimate.theta == pytest.approx([float(t) for t in theta], rel=rel)
    assert estimate.standard_errors == pytest.approx([float(e) for e in errors], rel=rel)
    assert estimate.log_likelihood == pytest.approx(float(log_likelihood), rel=1e-11, abs=0.0)


def _one_tiny_contradiction(size, unit=1.0):
    """Twenty choices of the better option, and one of an option worse by next to nothing."""
    x = np.zeros((21, 2, 1))
    x[:20, 0, 0] = unit
    x[20, 1, 0] = size
    return x, np.zeros(21, dtype=int)


@pytest.mark.parametrize("size", [1e-9, 1e-11, 3e-14])
@pytest.mark.parametrize("unit", [1.0, 1e7])
def test_a_tiny_contradiction_leaves_a_maximum(size, unit):
    x, chosen = _one_tiny_contradiction(size * unit, unit)
    choices = pn.Choices.from_arrays(x, chosen, subject=["ann"] * 21)
    for estimate in (pn.fit(choices), pn.fit_each(choices)[0]):
        assert estimate.diagnostics.separation is None
        assert estimate.status == "weakly identified"
        _assert_exact(estimate, exact_maximum(x, chosen))


def test_money_in_cents_and_in_millions_has_the_likelihood_of_the_cents():
    x, chosen = _one_tiny_contradiction(0.01, 1e7)
    estimate = pn.fit(pn.Choices.from_arrays(x, chosen))
    assert estimate.log_likelihood == pytest.approx(-np.log(2), rel=1e-7)
    assert estimate.pseudo_r2 < 0.96


@pytest.mark.parametrize(
    ("size", "status"), [(0.9e-3, "weakly identified"), (1.2e-3, "converged"), (0.1, "converged")]
)
def test_a_maximum_hangs_on_little_if_differences_below_a_thousandth_decide(size, status):
    x, chosen = _one_tiny_contradiction(size)
    choices = pn.Choices.from_arrays(x, chosen, subject=["ann"] * 21)
    assert pn.fit(choices).status == pn.fit_each(choices)[0].status == status


def test_of_many_people_those_are_weak_whose_maximum_hangs_on_cents_beside_millions():
    sets, chosen, subjects = [], [], []
    for subject in range(8):
        rng = np.random.default_rng(subject)
        m = 2 + subject % 3
        x, taken = rng.normal(size=(50, m, 3)), rng.integers(m, size=50)
        x[:, :, 1] = 0.0
        x[np.arange(20), taken[:20], 1] = 1e7 * rng.uniform(0.5, 1.0, 20)
        for t in (20, 21, 22):
            x[t, (taken[t] + 1) % m, 1] = 0.01 if subject < 6 else 1e6
        sets += list(x)
        chosen += taken.tolist()
        subjects += [subject] * 50
    choices = pn.Choices.from_arrays(sets, chosen, names=["a", "money", "b"], subject=subjects)
    found = pn.fit_each(choices)
    assert found.status == ("weakly identified",) * 6 + ("converged",) * 2
    for subject in range(8):
        alone = pn.fit(choices.subset(np.flatnonzero(np.array(subjects) == subject)))
        assert alone.status == found.status[subject]
        assert alone.diagnostics.near_separation == ({"money": 1.0} if subject < 6 else None)


def _tiny_contradictions(seed):
    """Separated by the first of several variables, but for tiny differences in two decisions."""
    rng = np.random.default_rng(seed)
    m, d = int(rng.integers(2, 5)), int(rng.integers(2, 4))
    sets = [rng.normal(size=(int(rng.integers(2, m + 1)), d)) for _ in range(40)]
    for k in range(40):
        sets[k][:, 0] = 0.0
        if k >= 15:
            continue
        sets[k][0, 0] = rng.uniform(1, 2) * 10
    tiny = 10.0 ** rng.uniform(-12, -7)
    for k in (15, 16, 17):
        sets[k][1:, 0] = tiny
    chosen = [0 if k < 18 else int(rng.integers(len(sets[k]))) for k in range(40)]
    return sets, chosen, rng.integers(1, 5, 40)


@pytest.mark.parametrize("seed", range(4))
def test_tiny_contradictions_among_several_variables_leave_a_maximum(seed):
    sets, chosen, weights = _tiny_contradictions(seed)
    subject = np.repeat(["ann"], 40)
    choices = pn.Choices.from_arrays(sets, chosen, weights=weights, subject=subject)
    estimate = pn.fit(choices)
    assert estimate.diagnostics.separation is None
    assert estimate.status == pn.fit_each(choices)[0].status == "weakly identified"
    exact = exact_maximum(sets, chosen, weights=weights, start=estimate.theta)
    _assert_exact(estimate, exact, rel=1e-8)  # the tiny difference is all there is of theta[0]
    assert pn.fit_each(choices)[0].theta == pytest.approx(estimate.theta, rel=1e-12)


def test_tiny_differences_that_agree_are_separated_as_well():
    x, _ = _one_tiny_contradiction(1e-11)
    x[20] = x[20][::-1]
    estimate = pn.fit(pn.Choices.from_arrays(x, np.zeros(21, dtype=int)))
    assert estimate.status == "separated"
    assert estimate.diagnostics.separation.direction == {"x1": 1.0}
    assert estimate.theta[0] == np.inf
    assert estimate.log_likelihood == 0


def _with_offset_on_chosen(m, d, size):
    rng = np.random.default_rng(m + d)
    x = rng.normal(size=(25, m, d))
    drawn = pn.simulate(pn.Choices.from_arrays(x, None), np.ones(d), rng=rng)
    offset = np.zeros((25, m))
    offset[np.arange(25), drawn.chosen] = size
    return x, drawn.chosen, offset


@pytest.mark.parametrize("size", [-1000.0, -400.0, -30.0, 50.0, 400.0])
@pytest.mark.parametrize(("m", "d"), [(2, 1), (2, 2), (3, 2)])
def test_large_offsets_cost_no_digit(m, d, size):
    x, chosen, offset = _with_offset_on_chosen(m, d, size)
    choices = pn.Choices.from_arrays(x, chosen, offset=offset, subject=[0] * 25)
    estimate = pn.fit(choices)
    assert estimate.status == "converged"
    digits = 60 + int(max(size, 0.0))
    exact = exact_maximum(x, chosen, digits=digits, offset=offset, start=estimate.theta)
    _assert_exact(estimate, exact)
    assert pn.fit_each(choices)[0].theta == pytest.approx(estimate.theta, rel=1e-12)


def test_large_offsets_take_no_more_steps_than_allowed():
    x, chosen, offset = _with_offset_on_chosen(2, 2, -400.0)
    choices = pn.Choices.from_arrays(x, chosen, offset=offset)
    estimate = pn.fit(choices, max_steps=6)
    assert estimate.status == "stopped early"
    assert estimate.diagnostics.iterations <= 6


def test_offsets_that_leave_nothing_to_chance_leave_no_standard_error():
    x, chosen, offset = _with_offset_on_chosen(3, 2, 1000.0)
    estimate = pn.fit(pn.Choices.from_arrays(x, chosen, offset=offset))
    smaller = pn.fit(pn.Choices.from_arrays(x, chosen, offset=offset * 0.4))
    assert estimate.status == "weakly identified"
    assert np.isnan(estimate.standard_errors).all()
    assert estimate.theta == pytest.approx(smaller.theta, rel=1e-10)


def _whole_numbers():
    rng = np.random.default_rng(11)
    x = rng.integers(0, 9, size=(40, 3, 2)).astype(float)
    return x, rng.integers(0, 3, 40)


@pytest.mark.parametrize("shift", [2.0**50, -(2.0**52)])
@pytest.mark.parametrize("turned", [False, True])
def test_whole_numbers_may_be_shifted_as_far_as_they_are_exact(shift, turned):
    x, chosen = _whole_numbers()
    if turned:
        x[:, :, 1] += 2 * x[:, :, 0]
    plain = pn.fit(pn.Choices.from_arrays(x, chosen))
    shifted = pn.Choices.from_arrays(x + shift, chosen, subject=[0] * 40)
    for estimate in (pn.fit(shifted), pn.fit_each(shifted)[0]):
        assert estimate.theta.tolist() == plain.theta.tolist()
        assert estimate.status == "converged"


def test_one_column_of_large_whole_numbers_hides_no_dependence_of_the_others():
    x, chosen = _whole_numbers()
    whole = np.dstack([x, 3 * x[:, :, :1] + 2.0**50])
    estimate = pn.fit(pn.Choices.from_arrays(whole, chosen))
    assert estimate.diagnostics.rank == 2
    assert estimate.theta[1] == pytest.approx(pn.fit(pn.Choices.from_arrays(x, chosen)).theta[1])


def test_rounding_of_numbers_that_are_not_whole_is_no_difference():
    x = np.full((20, 2, 1), 0.1 * 3)
    x[::2, 0, 0] = 0.3
    assert pn.fit(pn.Choices.from_arrays(x, [0, 1] * 10)).status == "not identified"


def test_careful_steps_end_where_newtons_method_does():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(60, 4, 3))
    available = rng.random((60, 4)) < 0.8
    available[:, 0] = True
    sets = pn.Choices.from_arrays(x, None, available=available, offset=rng.normal(size=(60, 4)))
    choices = pn.simulate(sets, [0.5, -1.0, 0.2], rng=rng)
    likelihood = StableChoiceLikelihood.from_choices_with_offsets(choices, np.full(3, 10.0))
    found = newton_without_cancellation(likelihood, np.zeros(3), 50)
    expected = pn.fit(choices)
    assert found.settled and found.proves_maximum
    assert found.theta == pytest.approx(expected.theta, rel=1e-12)
    assert found.maximum().information == pytest.approx(
        np.linalg.inv(expected.covariance), rel=1e-9
    )


@pytest.mark.parametrize("size", [-400.0, 50.0, 400.0])
def test_constraints_that_a_far_maximum_satisfies_change_nothing(size):
    x, chosen, offset = _with_offset_on_chosen(2, 2, size)
    choices = pn.Choices.from_arrays(x, chosen, offset=offset)
    limits = pn.Constraints(np.eye(2), [-1e6, -1e6])
    free, held = pn.fit(choices), pn.fit(choices, constraints=limits)
    assert held.status == "converged"
    np.testing.assert_array_equal(held.theta, free.theta)
    np.testing.assert_array_equal(held.covariance, free.covariance)


def test_a_constraint_that_a_far_maximum_breaks_holds():
    x, chosen, offset = _with_offset_on_chosen(3, 2, -400.0)
    choices = pn.Choices.from_arrays(x, chosen, offset=offset)
    free = pn.fit(choices)
    bound = float(free.theta[0]) - 20.0
    held = pn.fit(choices, constraints=pn.Constraints.at_most(choices.names, x1=bound))
    assert held.status == "at a bound"
    assert held.theta[0] == bound
    fixed = np.array(offset) + bound * x[:, :, 0]
    rest = pn.fit(pn.Choices.from_arrays(x[:, :, 1:], chosen, offset=fixed))
    assert held.theta[1] == pytest.approx(rest.theta[0], rel=1e-8)


def _penalised(theta, x, chosen, offset):
    """Log-likelihood and half the log-determinant of the information, of two options each."""
    rows = np.arange(len(x))
    z = x[rows, 1 - chosen] - x[rows, chosen]
    q = z @ theta + offset[rows, 1 - chosen] - offset[rows, chosen]
    p = np.exp(-np.logaddexp(0.0, -q) - np.logaddexp(0.0, q))
    return -np.logaddexp(0.0, q).sum() + 0.5 * np.linalg.slogdet((z.T * p) @ z)[1]


@pytest.mark.parametrize("size", [-400.0, -30.0, 50.0])
def test_firth_has_an_estimate_behind_large_offsets(size):
    x, chosen, offset = _with_offset_on_chosen(2, 1, size)
    estimate = pn.fit(pn.Choices.from_arrays(x, chosen, offset=offset), method="firth")
    assert estimate.status == "converged"
    top = _penalised(estimate.theta, x, chosen, offset)
    for step in (-1e-3, 1e-3):
        assert _penalised(estimate.theta * (1 + step), x, chosen, offset) < top
