"""Several models at once."""

import json

import numpy as np
import pytest

import penchant as pn
from peopled import MODEL, q_learners

HABIT = pn.models.RandomChoice(2)


def mixed_people(n, n_trials, rng):
    """Half learn, half have a habit."""
    _, learners = q_learners(n, n_trials, rng, sd=(0.6, 0.3), rho=0.0, label="learner")
    people = list(learners)
    for i in range(n):
        chosen = (rng.random(n_trials) < 1 / (1 + np.exp(-rng.normal(0.0, 1.0)))).astype(int)
        people.append(pn.Episode(chosen, rng.choice([-1.0, 1.0], n_trials), subject=f"habit{i}"))
    return people


def test_one_model_is_its_population():
    _, episodes = q_learners(12, 40, np.random.default_rng(1))
    alone = pn.fit_population(episodes, MODEL, spread="diagonal", estimator="ml")
    mixed = pn.fit_mixture(episodes, {"learner": MODEL}, spread="diagonal")
    np.testing.assert_allclose(mixed["learner"].coefficients, alone.coefficients, rtol=1e-3)
    assert mixed.log_likelihood == pytest.approx(alone.log_likelihood, abs=1e-3)
    np.testing.assert_allclose(mixed.responsibilities, 1.0)


@pytest.mark.slow
def test_people_are_told_apart_by_the_model_they_follow():
    people = mixed_people(10, 40, np.random.default_rng(2))
    mixed = pn.fit_mixture(people, {"learner": MODEL, "habit": HABIT}, nodes=5)
    follows = mixed.responsibilities.argmax(axis=1)
    assert (follows[:10] == 0).sum() >= 8
    assert (follows[10:] == 1).sum() >= 8
    assert 0.3 < mixed.shares[0] < 0.7
    np.testing.assert_allclose(mixed.responsibilities.sum(axis=1), 1.0)
    chosen = pn.results.select_models(mixed.evidence, mixed.names)
    assert len(chosen.protected_exceedance) == 2
    document = json.loads(json.dumps(mixed.to_dict(), allow_nan=False))
    assert document["content"]["names"] == ["learner", "habit"]
    assert "learner" in mixed.summary()
    assert set(mixed.to_frame()["subject"]) == {e.subject for e in people}


def test_models_that_are_none_are_refused():
    _, episodes = q_learners(6, 10, np.random.default_rng(3))
    with pytest.raises(pn.errors.DataError, match="models must be one or more by name; got list"):
        pn.fit_mixture(episodes, [MODEL])
    with pytest.raises(pn.errors.DataError, match="at least 5 subjects for a population; got 3"):
        pn.fit_mixture(episodes[:3], {"learner": MODEL})


@pytest.mark.slow
def test_responsibilities_are_calibrated():
    """Of people given 0.2 to 0.8 for a model about as many follow it."""
    given, truth = [], []
    for seed in range(25):
        people = mixed_people(15, 20, np.random.default_rng([7, seed]))
        mixed = pn.fit_mixture(people, {"learner": MODEL, "habit": HABIT})
        given.append(mixed.responsibilities[:, 0])
        truth.append(np.arange(30) < 15)
    given, truth = np.concatenate(given), np.concatenate(truth)
    for low, high in ((0.02, 0.3), (0.3, 0.7), (0.7, 0.98)):
        mine = (given > low) & (given < high)
        error = np.sqrt(0.25 / mine.sum())
        assert abs(truth[mine].mean() - given[mine].mean()) < 3 * error
