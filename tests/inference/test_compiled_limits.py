"""The compiled search inside limits, against the one that every other fit uses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penchant as pn
from penchant.inference.profile._inner_problem_kernels import solve_weights
from penchant.softmax.constraints import Constraints, maximise_constrained
from penchant.softmax.likelihood import likelihood_of
from penchant.softmax.newton import Quadratic


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True))
def test_the_compiled_maximum_is_that_of_the_one_for_any_constraints(seed, positive):
    x, chosen = _choices(seed)
    value, theta = _compiled(x, chosen, np.array(sorted(positive)))
    limits = Constraints.at_least(list("abc"), **{"abc"[a]: 0.0 for a in positive})
    choices = pn.Choices.from_arrays(x, chosen, names=list("abc"))
    best, active = maximise_constrained(likelihood_of(choices, 1), limits, Quadratic.none(3))
    assert value == pytest.approx(best.value, rel=1e-11)
    assert theta == pytest.approx(best.theta, abs=2e-6)
    assert (best.theta[sorted(positive)] >= -1e-12).all()
    assert active.tolist() == [
        bool(abs(best.theta["abc".index(n[0])]) < 1e-9) for n in limits.labels
    ]


def test_weights_that_would_be_negative_end_at_zero():
    held = 0
    for seed in range(20):
        _, theta = _compiled(*_choices(seed), np.arange(3))
        held += (theta == 0).sum()
    assert held > 10


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 4),
    st.sampled_from([1, 7, 8, 121, 200, 959, 961, 2500]),
    st.booleans(),
    st.sampled_from([1e-3, 1.0, 40.0]),
)
def test_choices_between_two_options_have_the_maximum_of_all_others(seed, d, n, positive, size):
    x, chosen = _choices(seed, (n, 2, d))
    x = size * np.concatenate([x, x])  # nobody chooses the same every time
    chosen = np.concatenate([chosen, 1 - chosen])
    chosen[: n // 2] = 0
    limited = np.arange(d if positive else 0)
    value, theta = _compiled(x, chosen, limited, np.random.default_rng(seed).normal(size=d) / size)
    names = list("abcd"[:d])
    choices = pn.Choices.from_arrays(x, chosen, names=names)
    limits = Constraints.at_least(names, **dict.fromkeys(names, 0.0))
    best = pn.fit(choices, constraints=limits if positive else None)
    if np.isfinite(best.theta).all():
        assert value == pytest.approx(best.log_likelihood, rel=1e-11)
    if best.status == "converged":
        assert size * theta == pytest.approx(size * best.theta, abs=1e-5)


def test_a_single_weight_is_held_at_zero_where_it_would_be_negative():
    x, chosen = _choices(5, (90, 2, 1))
    against = np.where(x[:, 0, 0] > x[:, 1, 0], 1, 0)
    against[:20] = chosen[:20]
    value, theta = _compiled(x, against, np.arange(1), np.array([2.5]))
    assert (theta[0], value) == (0.0, pytest.approx(-90 * np.log(2.0), rel=1e-14))
    value, theta = _compiled(x, against, np.arange(0), np.array([2.5]))
    assert theta[0] < -0.1
    assert value > -90 * np.log(2.0)


def test_what_is_not_a_number_needs_a_closer_look():
    x, chosen = _choices(6, (90, 2, 1))
    x[70, 1, 0] = np.nan
    assert np.isnan(_compiled(x, chosen, np.arange(1))[0])


def _choices(seed, shape=(120, 4, 3)):
    """Choices that leave every weight finite, in either direction."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    utility = x @ rng.normal(size=shape[2]) * 0.7 + rng.gumbel(size=shape[:2])
    return x, utility.argmax(axis=1)


def _compiled(x, chosen, positive, start=0.0):
    n, _, d = x.shape
    events, every = np.array([0, n]), np.arange(n)
    values, theta = np.empty(1), np.zeros((1, d)) + start
    pair = (chosen, events, every, events), np.zeros(1, dtype=np.int64), np.array([-1])
    solve_weights(x, *pair, 1e-20, positive, values, theta)
    return values[0], theta[0]
