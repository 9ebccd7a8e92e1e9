"""Parameters whose order of magnitude choices do not tell are called weakly identified."""

import dataclasses

import numpy as np
import pytest

import penchant as pn

FACTOR = np.exp(1.96)
NOW = [54, 55, 19, 31, 14, 47, 15, 25, 78, 40, 11, 67, 34, 27, 69, 49, 80, 24, 33, 28, 34, 25, 41]
LATER = [55, 75, 25, 85, 25, 50, 35, 60, 80, 55, 30, 75, 35, 50, 85, 60, 85, 35, 80, 30, 50, 30, 75]
DELAY = [117, 61, 53, 7, 19, 160, 13, 14, 162, 62, 7, 119, 186, 21, 91, 89, 157, 29, 14, 179, 30]
DELAY += [80, 20]


def whose(history, subject):
    return dataclasses.replace(history, subject=subject)


def questionnaires(n, seed):
    """People of all sorts who answer a short questionnaire about money now or later."""
    rng, model = np.random.default_rng(seed), pn.HyperbolicDiscounting()
    offers = {
        "amount": np.column_stack([NOW, LATER]).astype(float),
        "delay": np.column_stack([np.zeros(len(NOW)), DELAY]),
    }
    people = []
    for subject in range(n):
        truth = {
            "temperature": rng.lognormal(np.log(3.0), 1.2),
            "discount_rate": rng.lognormal(np.log(0.015), 1.3),
        }
        people.append(whose(pn.simulate(offers, model, truth, rng=rng), subject))
    return people, model


def short_plays(n, seed, n_decisions=40):
    """Learners of all sorts who choose a few times."""
    rng, model = np.random.default_rng(seed), pn.QLearning(2)
    place = pn.Landscape([0.3, 0.6], pn.GaussianNoise(0.3))
    people = []
    for subject in range(n):
        truth = {"temperature": rng.lognormal(np.log(0.3), 1.0), "learning_rate": rng.beta(1.1, 3)}
        play = pn.simulate(place, model, truth, n_decisions=n_decisions, rng=rng)
        people.append(whose(play, subject))
    return people, model


@pytest.mark.parametrize("made", [questionnaires(60, 1), short_plays(40, 2)])
def test_whoever_is_converged_has_parameters_known_to_their_order_of_magnitude(made):
    fits = pn.fit_each(*made)
    assert fits.counts()["weakly identified"] > 5 and fits.counts()["converged"] > 5
    for fit, parameters in zip(fits, fits.parameters_at(kind="profile"), strict=True):
        if fit.status == "converged":
            temperature, rate = parameters
            assert temperature.estimate > temperature.standard_error
            assert temperature.estimate / FACTOR < temperature.low
            assert temperature.high < FACTOR * temperature.estimate
            assert np.isfinite(rate.estimate)


def test_a_temperature_is_weak_where_a_dense_grid_finds_a_value_seven_times_away_inside():
    people, model = questionnaires(60, 1)
    now, later, delay = (np.array(values, dtype=float) for values in (NOW, LATER, DELAY))
    rates = np.exp(np.linspace(*np.log((model.shape[0].low, model.shape[0].high)), 4001))[:, None]
    better = later / (1 + rates * delay) - now
    seen = []
    for person, fit in zip(people, pn.fit_each(people, model), strict=True):
        if fit.status not in ("converged", "weakly identified"):
            continue
        signed = np.where(person.chosen == 1, better, -better)

        def fallen(weight, signed=signed, fit=fit):
            return fit.log_likelihood + np.logaddexp(0, -weight * signed).sum(axis=1).min()

        error = fit.standard_errors[0] / fit.theta[0]
        cold, hot = fallen(fit.theta[0] * FACTOR), fallen(fit.theta[0] / FACTOR)
        # towards infinity the rate has a degree of freedom; all that is left there is chance
        inside = cold < 1.9207, hot < 2.9957 or fallen(0.0) < 1.9207
        assert (error > 1 or any(inside)) == (fit.status == "weakly identified")
        seen.append((bool(error > 1), *map(bool, inside)))
    assert {(False, False, False), (False, False, True), (True, True, True)} <= set(seen)


def test_a_nearly_consistent_person_has_a_weak_temperature():
    people, model = questionnaires(60, 1)
    fits = pn.fit_each(people, model)
    weak = [f for f in fits if "temperature (towards 0" in f.message]
    assert weak
    for fit in weak:
        assert fit.status == "weakly identified"
        assert "Hold it fixed, use parameter_prior=ScaledPrior()" in fit.message
        assert np.isfinite([p.estimate for p in fit.parameters]).all()


def test_who_chooses_at_random_has_no_temperature_and_no_rate_to_speak_of():
    rng, model = np.random.default_rng(8), pn.QLearning(2)
    people = [
        pn.Episode(rng.integers(2, size=60), rng.normal(0.5, 0.4, 60), subject=s) for s in range(60)
    ]
    fits = pn.fit_each(people, model)
    assert fits.counts().get("converged", 0) <= 6  # one in ten at most looks like a learner


def test_a_temperature_that_goes_to_0_with_the_rate_is_named_with_its_limit():
    people, model = short_plays(40, 2)
    said = [f.message for f in pn.fit_each(people, model) if f.status == "weakly identified"]
    assert any("of temperature (towards 0): a value seven times away" in words for words in said)


def test_weak_people_raise_in_strict_fits_and_are_kept_and_named_in_averages():
    people, model = questionnaires(60, 1)
    fits = pn.fit_each(people, model)
    weak = next(f for f in fits if f.message.startswith("The choices do not tell the order"))
    with pytest.raises(pn.errors.NotConvergedError, match="order of magnitude"):
        pn.fit(people[weak.subject], model, strict=True)
    pooled = pn.pool(fits, scale="natural", rule="mean-sample")
    assert weak.subject in pooled.subjects
    assert "Weakly identified, and kept" in pooled.message


def test_a_prior_mean_far_beyond_the_rewards_is_weak():
    rng, model = np.random.default_rng(7), pn.GPUCB(pn.grid(5, 5))
    statuses = []
    for n in [24, 30, 50] * 13:
        episode = pn.Episode(rng.integers(25, size=n), rng.uniform(0.0, 100.0, n))
        estimate = pn.fit(episode, model)
        prior_mean = estimate.parameters[2]
        assert prior_mean.name == "prior_mean"
        if 1000.0 < abs(prior_mean.estimate) < np.inf:
            statuses.append(estimate.status)
    assert statuses.count("weakly identified") > 10
    assert set(statuses) <= {"weakly identified", "at a bound"}  # that of the length scale


def test_of_so_few_decisions_that_no_order_of_magnitude_is_asked_for_a_note_says_so():
    rng = np.random.default_rng(7)
    episode = pn.Episode(rng.integers(25, size=20), rng.uniform(0.0, 100.0, 20))
    estimate = pn.fit(episode, pn.GPUCB(pn.grid(5, 5)))
    assert any("20 decisions for 4 parameters: too few" in note for note in estimate.notes)


def test_a_temperature_that_hangs_on_where_the_search_ended_has_no_standard_error():
    people, model = short_plays(60, 3)
    ended = [
        f for f in pn.fit_each(people, model) if f.diagnostics.bounds == ("learning_rate = 0",)
    ]
    assert ended
    for fit in ended:
        assert np.isnan(fit.parameters[0].standard_error)


# -- designs that identify -----------------------------------------------------------------------


def learners(n, rng):
    model, people = pn.QLearning(2), []
    for subject in range(n):
        truth = {"temperature": rng.uniform(0.15, 0.3), "learning_rate": rng.uniform(0.25, 0.6)}
        for _ in range(12):
            place = pn.Landscape(rng.permutation([0.3, 0.7]), pn.GaussianNoise(0.3))
            people.append(whose(pn.simulate(place, model, truth, n_decisions=40, rng=rng), subject))
    return people, model


def discounters(n, rng):
    model, people = pn.HyperbolicDiscounting(), []
    for subject in range(n):
        delay = rng.choice([7.0, 14.0, 30.0, 60.0, 120.0, 240.0], 150)
        later = rng.uniform(40, 80, 150)
        offers = {
            "amount": np.column_stack([later * rng.uniform(0.05, 0.95, 150), later]),
            "delay": np.column_stack([np.zeros(150), delay]),
        }
        truth = {
            "temperature": rng.uniform(4, 8),
            "discount_rate": np.exp(rng.uniform(np.log(0.005), np.log(0.05))),
        }
        people.append(whose(pn.simulate(offers, model, truth, rng=rng), subject))
    return people, model


def explorers(n, rng):
    model = pn.UCL(locations=pn.grid(10, 10), noise_variance=10.0, length_scale=4.0)
    people = []
    for subject in range(n):
        truth = {
            "decision_noise": rng.uniform(3, 6),
            "prior_mean": rng.uniform(40, 60),
            "prior_variance": rng.uniform(500, 1500),
        }
        for _ in range(3):
            play = pn.simulate(pn.paper.landscape_a(), model, truth, n_decisions=90, rng=rng)
            people.append(whose(play, subject))
    return people, model


def searchers(n, rng):
    model = pn.GPUCB(pn.grid(6, 6), prior_mean=50.0, prior_sd=20.0)
    people = []
    for subject in range(n):
        truth = {
            "temperature": rng.uniform(3, 5),
            "bonus": rng.uniform(0.5, 1.2),
            "length_scale": rng.uniform(1.0, 2.0),
        }
        for _ in range(6):
            place = pn.Landscape(rng.normal(50.0, 20.0, 36), pn.GaussianNoise(1.0))
            people.append(whose(pn.simulate(place, model, truth, n_decisions=30, rng=rng), subject))
    return people, model


def test_choices_of_a_design_that_identifies_are_not_called_weak():
    fits = pn.fit_each(*discounters(30, np.random.default_rng(1)))
    assert fits.counts() == {"converged": 30}


@pytest.mark.slow
@pytest.mark.parametrize(
    "made, n", [(learners, 200), (discounters, 600), (explorers, 100), (searchers, 100)]
)
def test_of_a_thousand_people_whom_the_design_identifies_none_is_weak(made, n):
    fits = pn.fit_each(*made(n, np.random.default_rng(11)))
    assert fits.counts() == {"converged": n}


def random_decks(seed):
    """A few cards drawn at random, with outcomes that tell nothing."""
    rng = np.random.default_rng([77, seed])
    n = int(rng.choice([15, 20, 25, 40]))
    return pn.Episode(rng.integers(0, 4, n), rng.normal(0.2, 1, n) * 100)


@pytest.mark.parametrize("seed", [183, 116])
def test_rates_that_can_grow_a_thousandfold_are_weakly_identified(seed):
    fit = pn.fit(random_decks(seed), pn.models.ORL(4))
    assert fit.status == "weakly identified"
    assert "reward_rate and punishment_rate" in fit.message


def test_a_profile_interval_goes_to_where_a_ridge_of_small_rates_ends():
    episode, model = random_decks(183), pn.models.ORL(4)
    fit = pn.fit(episode, model)
    intervals = {p.name: p for p in fit.parameters_at(0.95, kind="profile")}
    rates = intervals["reward_rate"], intervals["punishment_rate"]
    # rates a thousand times as large, with weights that are so much smaller, are nearly as likely
    theta = fit.theta * [1e-3, 1e-3, 1, 1e3, 1e3, 1]
    eta = model.explanatory(episode, *theta[3:]) @ theta[:3]
    there = eta[np.arange(15), episode.chosen] - np.logaddexp.reduce(eta, axis=1)
    assert there.sum() > fit.log_likelihood - 0.1
    for parameter in rates:
        assert parameter.high > 1e3 * parameter.estimate
    assert intervals["value"].low < 1e-3 * intervals["value"].estimate


@pytest.mark.parametrize("seed", [0, 52, 131, 283])
def test_a_positive_weight_known_to_no_order_of_magnitude_is_weakly_identified(seed):
    fit = pn.fit(random_decks(seed), pn.models.VPP(4))
    assert (fit.standard_errors[:2] / fit.theta[:2]).max() > 1.96
    assert fit.status == "weakly identified"
    assert "consistency" in fit.message or "loss_aversion" in fit.message
