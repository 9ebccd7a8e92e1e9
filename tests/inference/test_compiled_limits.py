"""The compiled search inside limits, against the one that every other fit uses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penchant as pn
from penchant.inference.profile._kernels import profile
from penchant.softmax.constraints import Constraints, maximise_within
from penchant.softmax.likelihood import likelihood_of
from penchant.softmax.newton import Quadratic


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True))
def test_the_compiled_maximum_is_that_of_the_one_for_any_constraints(seed, positive):
    x, chosen = _choices(seed)
    value, theta = _compiled(x, chosen, np.array(sorted(positive)))
    limits = Constraints.at_least(list("abc"), **{"abc"[a]: 0.0 for a in positive})
    choices = pn.Choices.from_arrays(x, chosen, names=list("abc"))
    best, active = maximise_within(likelihood_of(choices, 1), limits, Quadratic.none(3))
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


def _choices(seed):
    """Choices that leave every weight finite, in either direction."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(120, 4, 3))
    utility = x @ rng.normal(size=3) * 0.7 + rng.gumbel(size=(120, 4))
    return x, utility.argmax(axis=1)


def _compiled(x, chosen, positive):
    n = len(x)
    events, every = np.array([0, n]), np.arange(n)
    values, theta = np.empty(1), np.zeros((1, 3))
    pair = (chosen, events, every, events), np.zeros(1, dtype=np.int64), np.array([-1])
    profile(x, *pair, 1e-20, positive, values, theta)
    return values[0], theta[0]
