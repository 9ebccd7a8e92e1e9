"""Models compared with everybody under the population of each."""

import json

import numpy as np
import pytest

import penchant as pn
from peopled import MODEL, q_learners

HABIT = pn.models.RandomChoice(2)
STICKY = pn.QLearning(2, initial_value=0.0, stickiness=True)


@pytest.fixture(scope="module")
def plays():
    return q_learners(8, 40, np.random.default_rng(6), sd=(0.5, 0.3), rho=0.0)[1]


@pytest.fixture(scope="module")
def compared(plays):
    rivals = {"learner": MODEL, "habit": HABIT}
    return pn.compare_models(rivals, plays, population=True, nested=[("habit", "learner")])


def test_evidences_are_those_of_the_populations(compared, plays):
    for k, model in enumerate((MODEL, HABIT)):
        alone = pn.fit_population(plays, model, estimator="ml")
        np.testing.assert_allclose(compared.evidence[:, k], alone.evidence, rtol=1e-9)
        np.testing.assert_allclose(compared.loo_each[:, k], alone.loo_each, rtol=1e-9)
        assert compared.fits[("learner", "habit")[k]].bic == pytest.approx(alone.bic)
    assert compared.best == "learner"
    np.testing.assert_allclose(compared.totals, -compared.loo_each.sum(axis=0))
    assert compared.differences("learner", "habit").sum() > 0


def test_evidences_of_people_go_into_the_selection_of_models(compared):
    expected = pn.results.select_models(compared.evidence, ["learner", "habit"])
    found = compared.selection
    np.testing.assert_allclose(found.protected_exceedance, expected.protected_exceedance)
    assert found.frequencies[0] > 0.7


def test_nested_populations_have_a_likelihood_ratio(compared):
    ratio = compared.likelihood_ratios["habit", "learner"]
    both = compared["learner"], compared["habit"]
    assert ratio.statistic == pytest.approx(2 * (both[0].log_likelihood - both[1].log_likelihood))
    assert ratio.degrees_of_freedom == both[0].n_parameters - both[1].n_parameters
    apart = compared.differences("learner", "habit")
    assert ratio.loo_difference == pytest.approx(apart.sum())
    assert ratio.loo_standard_error == pytest.approx(np.sqrt(8) * apart.std(ddof=1))
    assert "habit in learner: likelihood ratio" in compared.summary()


def test_a_comparison_is_kept_and_read_back(compared):
    document = json.loads(json.dumps(compared.to_dict(), allow_nan=False))
    again = pn.results.PopulationComparison.from_dict(document)
    np.testing.assert_allclose(again.evidence, compared.evidence)
    assert again.best == "learner"
    table = compared.to_frame()
    assert len(table) == 16
    assert "<PopulationComparison of learner, habit for 8 subjects: learner best" in repr(compared)


def test_what_populations_are_not_compared_by_is_refused(plays):
    rivals = {"learner": MODEL, "habit": HABIT}
    with pytest.raises(
        pn.errors.DataError, match="folds must be left out with population=True; got 4"
    ):
        pn.compare_models(rivals, plays, population=True, folds=4)
    with pytest.raises(pn.errors.DataError, match="criterion must be 'loo', 'aic' or 'bic'"):
        pn.compare_models(rivals, plays, population=True, criterion="held_out")
    with pytest.raises(pn.errors.DataError, match="got 'loo', which is of populations"):
        pn.compare_models(rivals, plays, criterion="loo")
    with pytest.raises(pn.errors.DataError, match="at least 5 subjects for a population; got 3"):
        pn.compare_models(rivals, plays[:3], population=True)
