"""Maxima that hang on negligible differences: the bound that rules them out, and what it spares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import made
import penchant as pn
import reference
from penchant.softmax import decisions, fit_each
from penchant.softmax.likelihood import likelihood_of
from penchant.softmax.newton import maximise
from penchant.softmax.separation import (
    NEGLIGIBLE_DIFFERENCE,
    build_recession_cone,
    is_separated,
    large_difference_quantile,
    may_depend_on_small_differences,
    small_difference_bound,
    with_differences_zeroed,
)

STRONG = [(3, (1.0, 2.0, 3.0), 100, 1000), (20, (2.0,) * 20, 20, 1000)]


def _strong(d, theta, n_options, n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_options, d))
    return x, (x @ np.array(theta) + rng.gumbel(size=(n, n_options))).argmax(axis=1)


def _refuse(*arguments):
    raise AssertionError("one pass at the maximum settles it")


@pytest.mark.parametrize("kind", STRONG, ids=["3 variables", "20 variables"])
def test_one_pass_settles_that_strong_effects_hang_on_nothing_small(monkeypatch, kind):
    x, chosen = _strong(*kind)
    monkeypatch.setattr(decisions, "with_differences_zeroed", _refuse)
    assert pn.fit(pn.Choices.from_arrays(x, chosen)).status == "converged"


def test_people_with_strong_effects_are_settled_together(monkeypatch):
    x, chosen = _strong(*STRONG[0][:3], n=20 * 90)
    monkeypatch.setattr(fit_each, "_fit_subject", _refuse)
    choices = pn.Choices.from_arrays(x, chosen, subject=np.repeat(np.arange(20), 90))
    assert set(pn.fit_each(choices).status) == {"converged"}


def _rounded_case(seed):
    """Choices of a few sizes in which some variables differ by next to nothing."""
    rng = np.random.default_rng(seed)
    case = made.case(
        int(rng.integers(4, 30)),
        (2, 6),
        int(rng.integers(1, 4)),
        seed,
        weighted=bool(seed % 2),
        with_offset=bool(seed % 3 == 0),
    )
    for x in case.sets:
        x[:] = np.round(2 * x) / 2
        x += 10.0 ** -rng.uniform(2, 6) * rng.normal(size=x.shape) * (rng.random(x.shape) < 0.3)
    return case


@given(seed=st.integers(0, 10**6))
def test_the_bound_is_at_least_what_small_differences_add_to_the_score(seed):
    case = _rounded_case(seed)
    choices = case.choices
    largest = likelihood_of(choices, 1).largest_values_and_differences[1]
    theta = np.random.default_rng(seed).normal(size=len(largest)) * 3
    total = np.zeros(len(largest))
    for k, x in enumerate(case.sets):
        p = reference.probabilities(theta, x, None if case.offset is None else case.offset[k])
        away = np.abs(x - x[case.chosen[k]])
        weight = 1.0 if case.weights is None else case.weights[k]
        total += weight * (p @ np.where(away <= NEGLIGIBLE_DIFFERENCE * largest, away, 0.0))
    expected = (total / np.where(largest > 0, largest, 1.0)).max()
    found = small_difference_bound(choices, theta, largest)[0]
    assert (
        expected * (1 - 1e-12)
        <= found
        <= NEGLIGIBLE_DIFFERENCE * choices.total_weight * (1 + 1e-12)
    )


@given(seed=st.integers(0, 10**6))
def test_where_the_bound_rules_it_out_rounded_choices_are_not_separated(seed):
    choices = _rounded_case(seed).choices
    likelihood = likelihood_of(choices, 1)
    maximum = maximise(likelihood)
    largest = likelihood.largest_values_and_differences[1]
    if maximum.ending != "converged" or not (largest > 0).all():
        return
    small = small_difference_bound(choices, maximum.theta, largest)
    if may_depend_on_small_differences(small, largest[None], maximum.information[None])[0]:
        return
    scale = np.sqrt(np.diag(likelihood.scatter_within_sets()))
    rounded = with_differences_zeroed(
        choices, NEGLIGIBLE_DIFFERENCE * large_difference_quantile(choices, scale)
    )
    assert rounded is None or not is_separated(build_recession_cone(rounded, scale))


@pytest.mark.parametrize("seed", range(6))
def test_typical_differences_and_rounded_choices_are_those_of_their_definition(seed):
    case = _rounded_case(seed)
    if case.weights is not None:
        case.weights[::3] = 0.0
    choices = case.choices
    weights = np.ones(choices.n_decisions) if case.weights is None else case.weights
    on_offer = np.random.default_rng(seed).random(choices.n_rows) < 0.8
    on_offer[choices.chosen_row] = True
    choices = pn.Choices(**{**vars(choices), "available": on_offer})
    sizes = np.diff(choices.first_row)
    level = choices.explanatory[np.repeat(choices.chosen_row, sizes)]
    away = np.abs(choices.explanatory - level)
    rows = away[on_offer & np.repeat(weights > 0, sizes) & away.any(axis=1)]
    expected = np.sort(rows, axis=0)[int(0.99 * (len(rows) - 1))]
    unit = large_difference_quantile(choices, np.ones(choices.n_parameters))
    np.testing.assert_array_equal(unit, np.where(expected > 0, expected, 1.0))
    limit = NEGLIGIBLE_DIFFERENCE * unit
    found = with_differences_zeroed(choices, limit)
    assert found is not None
    np.testing.assert_array_equal(
        found.explanatory, np.where(away <= limit, level, choices.explanatory)
    )
    assert with_differences_zeroed(found, limit) is None
