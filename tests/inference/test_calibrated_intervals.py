"""Calibrated intervals: against a literal simulation, an exact enumeration, and by coverage."""

from functools import cache

import numpy as np
import pytest
from scipy import stats

import penchant as pn
from penchant.errors import DataError

# The 27 choices of Kirby, Petry and Bickel (1999): now, later, and after how many days.
ITEMS = np.array(
    [
        *[(54, 55, 117), (55, 75, 61), (19, 25, 53), (31, 85, 7), (14, 25, 19), (47, 50, 160)],
        *[(15, 35, 13), (25, 60, 14), (78, 80, 162), (40, 55, 62), (11, 30, 7), (67, 75, 119)],
        *[(34, 35, 186), (27, 50, 21), (69, 85, 91), (49, 60, 89), (80, 85, 157), (24, 35, 29)],
        *[(33, 80, 14), (28, 30, 179), (34, 50, 30), (25, 30, 80), (41, 75, 20), (54, 60, 111)],
        *[(54, 80, 30), (22, 25, 136), (20, 55, 7)],
    ],
    dtype=float,
)
OFFERS = {"amount": ITEMS[:, :2], "delay": np.column_stack([0 * ITEMS[:, 2], ITEMS[:, 2]])}
MODEL = pn.HyperbolicDiscounting()


def person(seed, rate=0.02, temperature=5.0):
    rule = {"temperature": temperature, "discount_rate": rate}
    rng = np.random.default_rng(seed)
    return pn.simulate(OFFERS, MODEL, rule, rng=rng, subject=f"p{seed}")


def seeded(seed=1):
    return np.random.default_rng(seed)


@cache
def fitted(seed):
    return pn.fit(person(seed), MODEL)


@cache
def calibrated(seed):
    """Ends of a person's intervals; they take a while, and several tests look at them."""
    return fitted(seed).interval(kind="calibrated", rng=seeded())


# -- a literal simulation --------------------------------------------------------------------------


def heights(chosen, rates, weights):
    """Log-likelihoods (n, n_rates, n_weights) of answers (n, 27) on a dense grid."""
    gain = ITEMS[:, 1] / (1 + rates[:, None] * ITEMS[:, 2]) - ITEMS[:, 0]
    waited = chosen @ gain.T
    sums = np.logaddexp(0, weights[:, None] * gain[:, None, :]).sum(axis=2)
    return weights * waited[:, :, None] - sums


def p_value(chosen, rates, weights, axis, at, rng):
    """Of the rate rates[at] (axis 0) or the weight weights[at] (axis 1), by 600 simulations."""
    mine = heights(chosen[None], rates, weights)[0]
    held = mine.take(at, axis=axis)
    cell = (at, held.argmax()) if axis == 0 else (held.argmax(), at)
    gain = ITEMS[:, 1] / (1 + rates[cell[0]] * ITEMS[:, 2]) - ITEMS[:, 0]
    p = 1 / (1 + np.exp(-weights[cell[1]] * gain))
    again = heights((rng.random((600, 27)) < p).astype(float), rates, weights)
    ratio = again.max(axis=(1, 2)) - again.take(at, axis=axis + 1).max(axis=1)
    own = mine.max() - held.max()
    return ((ratio > own + 1e-6).mean() + (ratio >= own - 1e-6).mean()) / 2


def all_rates():
    """The model's range, and between all points of indifference: sure answers have narrow peaks."""
    crossings = np.sort((ITEMS[:, 1] / ITEMS[:, 0] - 1) / ITEMS[:, 2])
    between = np.sqrt(crossings[1:] * crossings[:-1])
    return np.unique(np.concatenate([np.geomspace(1e-6, 1e3, 190), crossings, between]))


@pytest.mark.parametrize("seed", [2, 5])
def test_ends_are_where_simulated_likelihood_ratios_say(seed):
    decisions = person(seed)
    assert fitted(seed).converged
    ends = calibrated(seed)
    rates, weights = all_rates(), np.append(0.0, np.geomspace(0.01, 100.0, 90))
    # p-values jump where answers have few outcomes: they are compared beside an end, on both sides
    for end, outwards in zip(ends[0], (0.8, 1.25), strict=True):
        p = []
        for temperature in (end / outwards, end * outwards):
            grid = np.sort(np.append(weights, 1 / temperature))
            at = np.searchsorted(grid, 1 / temperature)
            p.append(p_value(decisions.chosen, rates, grid, 1, at, np.random.default_rng(3)))
        assert p[0] > 0.03 and p[1] < 0.07 and p[1] < p[0]  # errors of 0.01 each, of two kinds
    for end, outwards in zip(ends[1], (0.8, 1.25), strict=True):
        p = []
        for rate in (end / outwards, end * outwards):
            grid = np.sort(np.append(rates, rate))
            at = np.searchsorted(grid, rate)
            p.append(p_value(decisions.chosen, grid, weights, 0, at, np.random.default_rng(3)))
        assert p[0] > 0.03 and p[1] < 0.07 and p[1] < p[0]


def test_peaks_between_near_points_of_indifference_are_not_missed():
    (low, _), _ = calibrated(2)
    # at a temperature of 1.7 sure answers are common, and each has its own rates
    grid = np.sort(np.append(np.geomspace(0.01, 100.0, 120), 1 / 1.7))
    at = np.searchsorted(grid, 1 / 1.7)
    assert p_value(person(2).chosen, all_rates(), grid, 1, at, np.random.default_rng(3)) > 0.1
    assert low < 1.7


# -- what it is ------------------------------------------------------------------------------------


def test_a_seed_gives_the_same_interval_in_any_company():
    people = [person(seed) for seed in (2, 5, 8)]
    together = pn.fit_each(people, MODEL).parameters_at(0.95, "calibrated", seeded())
    np.testing.assert_array_equal([[p.low, p.high] for p in together[1]], calibrated(5))


def test_who_never_contradicts_themselves_has_one_sided_intervals():
    decisions = next(t for t in map(person, range(50)) if MODEL.consistent_rates(t) is not None)
    estimate = pn.fit(decisions, MODEL)
    assert estimate.status == "separated"
    temperature, rate = estimate.interval(kind="calibrated", rng=seeded())
    assert temperature[0] == 0 and 0 < temperature[1] < np.inf
    low, high = MODEL.consistent_rates(decisions)
    assert rate[0] < low < high < rate[1]


def test_who_nearly_never_contradicts_themselves_has_an_estimate_and_intervals():
    later = [1, 2, 3, 4, 6, 7, 9, 10, 13, 14, 15, 17, 18, 20, 21, 22, 24, 25, 26]
    estimate = pn.fit(pn.Offers(np.isin(np.arange(27), later).astype(int), OFFERS), MODEL)
    assert estimate.status == "weakly identified"
    assert "but for differences below a thousandth" in estimate.message
    _, (low, high) = estimate.interval(kind="calibrated", rng=seeded())
    assert low < estimate.psi[0] < high


def test_levels_are_nested():
    narrow, wide = fitted(2).interval(0.7, "calibrated", rng=seeded()), calibrated(2)
    assert (wide[:, 0] < narrow[:, 0]).all() and (narrow[:, 1] < wide[:, 1]).all()


@pytest.mark.parametrize("kind", ["wald", "profile", "calibrated"])
def test_summaries_and_documents_say_which_interval_they_hold(kind):
    estimate = pn.fit(person(2), MODEL)
    said = {"wald": "Wald, from standard errors; those", "profile": "profile likelihood."}
    words = said.get(kind, "calibrated by simulated choices.")
    assert f"Intervals: {words}" in estimate.summary(kind=kind, rng=seeded())
    assert estimate.to_dict(kind=kind, rng=seeded())["intervals"] == kind
    people = pn.fit_each([person(2)], MODEL)
    assert set(people.to_frame(kind=kind, rng=seeded())["intervals"]) == {kind}


def test_play_is_redrawn_decision_by_decision_with_its_history():
    task = pn.Task(pn.Landscape([0.3, 0.7], pn.GaussianNoise(0.04)), n_decisions=40)
    model = pn.QLearning(2)
    episode = pn.simulate(task, model, {"temperature": 0.2, "learning_rate": 0.4}, rng=seeded(7))
    estimate = pn.fit(episode, model)
    assert not estimate.source.optimum.at_bound.any()
    profile = estimate.interval(kind="profile")
    found = estimate.interval(kind="calibrated", rng=seeded(), n_drawn=99)
    values = np.array([p.estimate for p in estimate.parameters])
    assert (found[:, 0] < values).all() and (values < found[:, 1]).all()
    assert (np.abs(np.log(found / profile)) < 1.0).all()


def test_slopes_of_nearly_certain_choices_do_not_overflow_on_the_way_to_an_end():
    task = pn.Task(pn.Landscape([0.3, 0.7], pn.GaussianNoise(0.04)), n_decisions=40)
    model = pn.QLearning(2, initial_value=None)
    truth = {"temperature": 0.2, "initial_value": 0.0, "learning_rate": 0.4}
    episode = pn.simulate(task, model, truth, rng=seeded(6))
    wide = pn.fit(episode, model).interval(0.9944, kind="profile")
    assert wide[2].round(6).tolist() == [0, 1]


# -- errors ----------------------------------------------------------------------------------------


def test_what_cannot_be_calibrated_is_refused():
    estimate = pn.fit(person(2), MODEL)
    with pytest.raises(DataError, match=r"rng must be a numpy.random.Generator .*; got None"):
        estimate.interval(kind="calibrated")
    with pytest.raises(DataError, match="n_drawn must be at least 39; got 5"):
        estimate.interval(kind="calibrated", rng=seeded(), n_drawn=5)
    with pytest.raises(DataError, match="kind must be 'wald', 'profile' or 'calibrated'"):
        estimate.interval(kind="exact")
    weak = pn.fit(person(2), MODEL, parameter_prior=pn.ScaledPrior())
    with pytest.raises(DataError, match="kind='calibrated' must have plain maximum likelihood"):
        weak.interval(kind="calibrated", rng=seeded())


# -- Wald's intervals ------------------------------------------------------------------------------


def test_wald_intervals_of_a_bounded_parameter_are_those_of_its_log_odds():
    task = pn.Task(pn.Landscape([0.3, 0.7], pn.GaussianNoise(0.04)), n_decisions=90)
    model = pn.QLearning(2)
    episode = pn.simulate(task, model, {"temperature": 0.2, "learning_rate": 0.7}, rng=seeded(3))
    rate = pn.fit(episode, model).parameters[1]
    low, high = model.shape[0].low, model.shape[0].high
    share = (rate.estimate - low) / (high - low)
    error = rate.standard_error / (high - low) / (share * (1 - share))
    odds = np.log(share / (1 - share)) + stats.norm.ppf([0.025, 0.975]) * error
    ends = low + (high - low) / (1 + np.exp(-odds))
    np.testing.assert_allclose([rate.low, rate.high], ends, rtol=1e-10)  # the same formula


# -- coverage --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.002, 0.02, 0.1])
def test_calibrated_intervals_of_27_answers_hold_the_truth_as_often_as_they_say(rate):
    n, rng = 200, np.random.default_rng(17)
    truth = {"temperature": 5.0, "discount_rate": rate}
    people = [pn.simulate(OFFERS, MODEL, truth, rng=rng, subject=i) for i in range(n)]
    found = pn.fit_each(people, MODEL).parameters_at(0.95, "calibrated", seeded())
    for j, value in enumerate(truth.values()):
        held = sum(mine[j].low <= value <= mine[j].high for mine in found)
        least, most = stats.binom.ppf([0.001, 0.999], n, [0.93, 0.97])
        assert least <= held <= most, (held, n)
