"""People whose choices are separated: no number where there is no estimate."""

import dataclasses
import decimal
import json
from decimal import Decimal

import numpy as np
import pytest

import penchant as pn
from penchant.inference.profile.inner_problems import best_weights
from penchant.inference.search.local_maxima import pseudoinverse
from penchant.models.catalogue import CATALOGUE
from penchant.models.model import natural_parameters

NOW = [54, 55, 19, 31, 14, 47, 15, 25, 78, 40, 11, 67, 34, 27, 69, 49, 80, 24, 33, 28]
LATER = [55, 75, 25, 85, 25, 50, 35, 60, 80, 55, 30, 75, 35, 50, 85, 60, 85, 35, 80, 30]
DELAY = [117, 61, 53, 7, 19, 160, 13, 14, 162, 62, 7, 119, 186, 21, 91, 89, 157, 29, 14, 179]
OFFERS = {
    "amount": np.column_stack([NOW, LATER]).astype(float),
    "delay": np.column_stack([np.zeros(len(NOW)), DELAY]),
}
HYPERBOLIC = pn.HyperbolicDiscounting()


def consistent(rate, model=HYPERBOLIC, subject=None):
    """A person who always takes what is worth more."""
    values = model.explanatory(pn.Offers(np.zeros(len(NOW)), OFFERS), rate)[:, :, 0]
    return pn.Offers(values.argmax(axis=1), OFFERS, subject=subject)


@pytest.mark.parametrize("model", [HYPERBOLIC, pn.models.ExponentialDiscounting()])
@pytest.mark.parametrize("rate", [1e-5, 0.003, 0.02, 0.07, 5.0])
def test_consistent_people_have_a_range_of_rates_and_no_estimate(model, rate):
    decisions = consistent(rate, model)
    estimate = pn.fit(decisions, model)
    assert estimate.status == "separated"
    temperature, found = estimate.parameters
    assert np.isnan([temperature.estimate, temperature.standard_error]).all()
    assert np.isnan([found.estimate, found.standard_error]).all()
    assert (found.low, found.high) == model.consistent_rates(decisions)
    assert temperature.low == 0
    assert temperature.high == estimate.interval(kind="profile")[0, 1] > 0


class Unknowing:
    """The same model, that does not know its points of indifference."""

    weights, positive = HYPERBOLIC.weights, HYPERBOLIC.positive
    natural, shape = natural_parameters(HYPERBOLIC), HYPERBOLIC.shape

    def explanatory(self, decisions, rate):
        return HYPERBOLIC.explanatory(decisions, rate)


@pytest.mark.parametrize("rate", [0.003, 0.02, 5.0])
def test_where_a_model_knows_no_points_of_indifference_they_are_searched_for(rate):
    decisions = consistent(rate)
    ends = pn.fit(decisions, Unknowing()).interval()[1]
    # weights that tell a thousandth apart are far out: no search goes there
    assert ends == pytest.approx(HYPERBOLIC.consistent_rates(decisions), rel=1e-3)


def test_who_never_waits_has_a_rate_without_an_upper_end():
    estimate = pn.fit(consistent(50.0), HYPERBOLIC)
    assert estimate.interval()[1, 1] == np.inf
    assert estimate.interval()[1, 0] > 0.2


def test_who_always_waits_has_a_rate_without_a_lower_end():
    assert pn.fit(consistent(1e-6), HYPERBOLIC).interval()[1, 0] == 0


def test_no_output_has_a_number_without_an_estimate():
    estimate = pn.fit(consistent(0.02), HYPERBOLIC)
    frame = estimate.to_frame(backend="pyarrow").to_pydict()
    assert np.isnan(frame["estimate"]).all() and np.isnan(frame["standard_error"]).all()
    assert np.isfinite(frame["low"]).all() and np.isfinite(frame["high"]).all()
    document = json.loads(json.dumps(estimate.to_dict()))
    assert [p["estimate"] for p in document["parameters"]] == [None, None]
    assert document["theta"] == ["inf", None]
    assert repr(estimate) == "<Estimate separated: temperature=-, discount_rate=->"
    low, high = (f"{end:.4g}" for end in estimate.interval()[1])
    for text in (estimate.summary(), estimate.to_latex(), estimate._repr_html_()):
        assert low in text and high in text
    (row,) = [line for line in estimate.summary().splitlines() if "discount_rate" in line][:1]
    assert row.split() == ["discount_rate", "-", "-", low, high]


def test_a_column_of_estimates_holds_those_of_people_who_have_one():
    rng = np.random.default_rng(2)
    noisy = [
        pn.simulate(OFFERS, HYPERBOLIC, {"temperature": 6.0, "discount_rate": 0.02}, rng=rng)
        for _ in range(4)
    ]
    people = [dataclasses.replace(one, subject=f"n{i}") for i, one in enumerate(noisy)]
    people += [consistent(rate, subject=f"c{i}") for i, rate in enumerate([0.003, 5.0, 9.0])]
    fits = pn.fit_each(people, HYPERBOLIC)
    column = fits.to_frame(backend="pyarrow").to_pydict()
    known = np.isfinite(column["discount_rate"])
    assert known.tolist() == [status != "separated" for status in fits.status]
    assert fits.status[4:] == ("separated",) * 3
    alone = [pn.fit(one, HYPERBOLIC) for one in people]
    np.testing.assert_allclose(
        np.column_stack([column["discount_rate_low"], column["discount_rate_high"]]),
        [one.interval()[1] for one in alone],
    )
    assert pn.pool(fits, scale="natural", rule="mean-sample").n_subjects == known.sum()


def never_first(rng, n=150):
    """A learner of three options who never takes the first, and takes the better of the others."""
    model = pn.QLearning(2)
    truth = {"temperature": 0.3, "learning_rate": 0.4}
    place = pn.Landscape([0.3, 0.6], pn.GaussianNoise(0.4))
    play = pn.simulate(place, model, truth, n_decisions=n, rng=rng)
    return pn.Episode(play.chosen + 1, play.rewards)


def test_what_undecided_choices_tell_of_separated_people_keeps_its_number():
    model = pn.QLearning(3, bias=True)
    estimate = pn.fit(never_first(np.random.default_rng(4)), model)
    assert estimate.status == "separated"
    found = {p.name: p for p in estimate.parameters}
    bias = [name for name, p in found.items() if np.isnan(p.estimate)]
    assert len(bias) == 1 and bias[0] not in ("temperature", "learning_rate")
    assert found["temperature"].estimate == pytest.approx(0.3, rel=0.7)
    assert found["learning_rate"].estimate == pytest.approx(0.4, rel=0.7)
    profile = estimate.interval(kind="profile")
    np.testing.assert_array_equal(estimate.interval(), profile)
    assert found[bias[0]].low == -np.inf


def test_a_rate_that_a_weight_of_0_leaves_without_meaning_has_no_number():
    rng = np.random.default_rng(8)
    people = [
        pn.Episode(rng.integers(2, size=30), rng.normal(0.5, 0.4, 30), subject=s) for s in range(30)
    ]
    fits = pn.fit_each(people, pn.QLearning(2))
    without = [f for f in fits if np.isinf(f.parameters[0].estimate)]
    assert without  # learning would predict their choices worse than a coin, at every rate
    for fit in without:
        assert fit.status == "at a bound"
        assert fit.diagnostics.bounds == ("inverse_temperature >= 0",)
        assert np.isnan(fit.parameters[1].estimate)


def test_intervals_of_separated_people_are_not_counted_as_covering():
    model, rng = pn.QLearning(2), np.random.default_rng(3)
    task = pn.Task(pn.Landscape([0.2, 0.8], pn.GaussianNoise(0.1)), n_decisions=15)
    ranges = {"temperature": (0.02, 0.03), "learning_rate": (0.3, 0.6)}
    found = pn.recover(model, task, ranges, n_subjects=8, rng=rng).of("learning_rate")
    lost = np.array([status == "separated" for status in found.statuses])
    assert lost.any() and not found.has_interval[lost].any()


def test_who_takes_one_option_of_large_rewards_is_separated_without_an_overflow():
    rewards = np.array([90.7, 88.6, 94.4, 98.0, 84.6, 86.7, 98.0, 109.0, 93.0, 101.8, 85.6, 93.1])
    loyal = pn.Episode(np.zeros(20, dtype=int), np.append(rewards, rewards[:8] - 3.7))
    model = pn.QLearning(2, choice_kernel=True, initial_value=0.0)
    with np.errstate(over="raise"):
        estimate = pn.fit(loyal, model)
        ends = estimate.interval(kind="profile")
    assert not np.isnan(ends).any()
    assert estimate.status == "separated"
    assert estimate.log_likelihood == pytest.approx(np.log(0.5))  # the first of all is a guess
    assert np.isnan(estimate.standard_errors).all()


def test_information_too_small_to_invert_counts_as_none():
    tiny = np.array([[[3e-309, 0.0], [0.0, 4.0]], [[1e-200, 0.0], [0.0, 4.0]]])
    with np.errstate(over="raise"):
        none, little = pseudoinverse(tiny)
    np.testing.assert_array_equal(none, [[0.0, 0.0], [0.0, 0.25]])
    np.testing.assert_allclose(little, [[1e200, 0.0], [0.0, 0.25]], rtol=1e-14)


def exact_log_likelihood(episode, theta, psi):
    """Of successors and their pay, literally, in fifty digits."""
    with decimal.localcontext() as digits:
        digits.prec = 50
        value, stick, second = map(Decimal, theta.tolist())
        rate, of_pay = map(Decimal, psi.tolist())
        ahead, pay = [[Decimal(0)] * 4 for _ in range(2)], [Decimal(0)] * 4
        total, last = Decimal(0), -1
        for state, chosen, reward in zip(
            episode.before["state"], episode.chosen, episode.rewards, strict=True
        ):
            s, j = int(state), int(chosen)
            if s == 0:
                both = [
                    value * sum(m * p for m, p in zip(ahead[i], pay, strict=True))
                    + (stick if i == last else 0)
                    for i in range(2)
                ]
                last = j
            else:
                both = [second * pay[2 * (s - 1) + i] for i in range(2)]
                there = 2 * (s - 1) + j
            away = both[1 - j] - both[j]
            total -= (1 + away.exp()).ln() if away < 1000 else away
            if s > 0:
                ahead[last] = [m + rate * ((o == there) - m) for o, m in enumerate(ahead[last])]
                pay[there] += of_pay * (Decimal(float(reward)) - pay[there])
        return float(total)


def test_weights_that_are_huge_live_on_no_rounding():
    # at a reward rate of 1 some values are all but the same; weights of 1e15 choose between them
    model, rng, people = pn.models.Successor(), np.random.default_rng(0), []
    for subject in range(60):
        truth = {
            "inverse_temperature": rng.uniform(2, 8),
            "stickiness": rng.uniform(0, 0.5),
            "inverse_temperature_2": rng.uniform(2, 5),
            "successor_rate": rng.uniform(0.1, 0.9),
            "reward_rate": rng.uniform(0.1, 0.9),
        }
        task = pn.Task(pn.models.TwoStepWorld(40), 40)
        people.append(pn.simulate(task, model, truth, rng=rng, subject=subject))
    some = [people[17], people[51], people[3]]
    for person, estimate in zip(some, pn.fit_each(some, model, threads=1), strict=True):
        assert estimate.log_likelihood >= estimate.source.search_grid.values.max() - 1e-6
        peak = estimate.source.optimum.points
        exact = exact_log_likelihood(person, peak.theta[0], peak.psi[0])
        assert peak.value[0] == pytest.approx(exact, abs=1e-6)


def test_weights_that_newton_holds_at_zero_are_let_go_without_solving_each_place(monkeypatch):
    """Two positive weights and choices that are all alike: 4,086 places were solved one by one."""
    solved = []

    def counted(*given):
        solved.append(1)
        return best_weights(*given)

    monkeypatch.setattr("penchant.inference.profile.profile_likelihood.best_weights", counted)
    rewards = [0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0]
    estimate = pn.fit(pn.Episode([0] * 11, rewards), CATALOGUE["vpp"].example())
    assert estimate.status == "not identified"
    assert estimate.log_likelihood == pytest.approx(-0.6931472, abs=1e-6)
    assert len(solved) < 100
