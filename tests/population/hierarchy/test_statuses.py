"""What is wrong with a population is said, each with a sentence."""

import numpy as np
import pytest

import penchant as pn
from peopled import MODEL, mixed_choices, q_learner, q_learners


def test_no_spread_is_said_with_its_upper_limit():
    rng = np.random.default_rng(1)
    _, choices = mixed_choices(30, 10, rng, covariance=((0.6, 0.0), (0.0, 1e-12)))
    found = pn.fit_population(choices, spread="diagonal")
    assert found.status == "no spread in quality"
    assert "No spread was found in quality: its standard deviation is at most" in found.message
    most = float(found.message.split("at most ")[1].split(" ")[0])
    assert 0 < most < 1.0
    assert found.spread[1, 1] == 0
    assert found.spread[0, 0] > 0
    assert np.isfinite(found.standard_errors).all()
    assert [s.name for s in found.spreads()] == ["price"]
    assert np.isfinite(found.subjects.sd).all()


def test_parameters_that_go_together_have_a_correlation_at_one():
    rng = np.random.default_rng(0)
    _, choices = mixed_choices(60, 30, rng, covariance=((1.0, 1.0), (1.0, 1.0 + 1e-9)))
    found = pn.fit_population(choices)
    assert found.status == "correlation at +1"
    assert "price and quality go together" in found.message
    assert found.correlations[0, 1] > 0.98
    for spread in found.spreads():
        away = np.array([spread.low, spread.high]) / spread.sd  # none, or apart from the estimate
        assert np.isnan(away).all() or (away[0] < 0.99 and away[1] > 1.01)


def test_means_that_nobody_tells_are_said():
    """Everybody always takes the better option: the weight has no finite best value."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(8 * 10, 2, 1))
    choices = pn.Choices.from_arrays(
        x, x[:, :, 0].argmax(axis=1), subject=np.repeat(np.arange(8), 10), names=["gain"]
    )
    found = pn.fit_population(choices, links={"gain": "log"})
    assert found.status in ("mean not identified", "stopped early")
    assert "gain has no finite best value" in found.message
    assert "Hold it fixed, or leave it out" in found.message


def test_a_weight_without_a_finite_best_value_is_named_with_a_range_as_remedy():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(8 * 10, 2, 1))
    choices = pn.Choices.from_arrays(
        x, x[:, :, 0].argmax(axis=1), subject=np.repeat(np.arange(8), 10), names=["gain"]
    )
    said = pn.fit_population(choices).message
    assert "gain has no finite best value" in said
    assert "links={'gain': ('logit', low, high)}" in said


def test_one_subject_who_decides_is_named():
    rng = np.random.default_rng(4)
    _, episodes = q_learners(25, 60, rng, sd=(0.3, 0.2), rho=0.0)
    odd = q_learner((-0.6, 3.5), 60, rng, "odd")
    found = pn.fit_population([*episodes, odd], MODEL, spread="diagonal")
    assert "Without subject odd" in found.message


def test_two_kinds_of_people_are_a_note_and_no_verdict():
    rng = np.random.default_rng(5)
    kinds = np.where(np.arange(120) % 2, 3.0, -3.0)
    x = rng.normal(size=(120 * 25, 2, 1))
    subject = np.repeat(np.arange(120), 25)
    weights = kinds + rng.normal(0, 0.3, 120)
    utility = (x * weights[subject][:, None, None]).sum(-1) + rng.gumbel(size=(3000, 2))
    choices = pn.Choices.from_arrays(x, utility.argmax(1), subject=subject, names=["gain"])
    found = pn.fit_population(choices)
    assert found.status == "converged"
    assert any("of two kinds or heavy-tailed in gain" in note for note in found.notes)
    assert "classes" not in found.summary()  # there are none for choices


def test_a_normal_population_is_not_called_otherwise():
    rng = np.random.default_rng(6)
    _, choices = mixed_choices(80, 20, rng)
    assert pn.fit_population(choices).status == "converged"


def test_too_few_nodes_are_said_and_the_people_they_matter_for():
    rng = np.random.default_rng(7)
    _, episodes = q_learners(60, 25, rng)
    found = pn.fit_population(episodes, MODEL, nodes=3)
    assert found.status == "integration not settled"
    assert "give more than nodes=3" in found.message
    assert found.integration_error > 0.1


def test_spread_that_may_be_nothing_or_much_is_not_told():
    rng = np.random.default_rng(12)
    x = rng.normal(size=(40 * 2, 2, 1)) * 0.7
    subject = np.repeat(np.arange(40), 2)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        weights = rng.normal(0.5, 0.5, 40)
        utility = (x * weights[subject][:, None, None]).sum(-1) + rng.gumbel(size=(80, 2))
        choices = pn.Choices.from_arrays(x, utility.argmax(1), subject=subject, names=["gain"])
        found = pn.fit_population(choices)
        if "may be anything from 0" in found.message:
            assert found.reliability["gain"] < 0.1
            assert found.status in ("spread not told", "one subject decides")
            return
    pytest.fail("no sample with a spread that is not told")


def test_few_people_get_no_correlations_and_are_told_so():
    rng = np.random.default_rng(8)
    _, episodes = q_learners(8, 60, rng)
    found = pn.fit_population(episodes, MODEL)
    assert found.spread[0, 1] == 0
    said = " ".join(found.notes)
    assert "8 subjects are fewer than 4 for each of 3 variances and covariances" in said
    assert "spread='full' estimates them all the same" in said
    assert pn.fit_population(episodes, MODEL, spread="full").spread[0, 1] != 0


def test_low_reliability_is_said_in_words():
    rng = np.random.default_rng(9)
    _, choices = mixed_choices(60, 6, rng, covariance=((0.09, 0.0), (0.0, 0.6)))
    found = pn.fit_population(choices, spread="diagonal")
    if found.reliability.get("price", 1.0) < 0.3:
        assert "People are hardly told apart in price" in found.summary()
    assert found.reliability["quality"] > 0.3


def test_one_decision_per_person_is_enough_for_a_posterior():
    rng = np.random.default_rng(10)
    _, choices = mixed_choices(200, 1, rng)
    found = pn.fit_population(choices, spread="diagonal")
    assert np.isfinite(found.coefficients).all()
    assert np.isfinite(found.subjects.mean).all()
