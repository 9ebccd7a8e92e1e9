"""The report of a choice experiment: names of attributes in words, and worth that is dragged."""

import numpy as np
import pandas as pd
import pytest

import penchant as pn
from penchant.models.offers.attributes import Attributes
from penchant.population.subject_estimates import price_sensitivity_warning
from penchant.report.study_population import population_figures
from penchant.report.study_sentences import question, summary_sentences


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """16 people of two regions, of whom two do not care for the price; read as a command does."""
    rng = np.random.default_rng(4)
    rows = []
    for i in range(16):
        price = 0.0 if i < 2 else -0.25
        for t in range(14):
            cost, comfort = rng.integers(5, 30, 2), rng.choice(["low", "high"], 2)
            value = price * cost + 0.9 * (comfort == "high") + rng.gumbel(size=2)
            cells = [*cost, *comfort, "AB"[int(value[1] > value[0])]]
            rows.append([f"r{i:02d}", ["urban", "rural"][i % 2], t, *cells])
    names = ["respondent", "region", "task", "cost_A", "cost_B", "comfort_A", "comfort_B", "choice"]
    place = tmp_path_factory.mktemp("survey") / "survey.csv"
    pd.DataFrame(rows, columns=names).to_csv(place, index=False)
    return place


@pytest.fixture(scope="module")
def found(survey):
    from penchant.cli.study_command import read_experiment
    from penchant.cli.workflow_options import GroupingOptions, StudyExperimentOptions, TableOptions

    data, model = read_experiment(
        str(survey),
        TableOptions(),
        GroupingOptions(condition=["region"]),
        StudyExperimentOptions(price="cost"),
    )
    return pn.study(data, model, population=True, n_replicates=0, threads=1)


def test_whose_worth_drags_means_is_said_where_fits_came_back_without_their_model(found):
    assert isinstance(found.plan.model, Attributes)
    fits = [(s, found.fits[s].exact) for s in found.subjects]
    told = price_sensitivity_warning(fits, found.plan.model)
    assert "their willingness to pay may be anything, and drags means of worth" in told
    assert "r00" in told and told in summary_sentences(found)


def test_attributes_are_asked_for_in_words(found):
    assert "a conditional logit of the attributes cost, comfort low" in question(found)
    assert not any("comfort:" in words for words in summary_sentences(found))


def test_coefficients_of_attributes_stand_by_their_group_on_axes_of_their_own(found):
    drawn = next(one for one in population_figures(found) if "coeff" in one.name)
    axes = drawn.figure.axes
    said = [one.get_xlabel().replace("\n", " ") for one in axes]
    assert said == [
        "cost sensitivity: coefficient on the log scale",
        "worth of comfort low: coefficient",
    ]
    assert [[label.get_text() for label in one.get_yticklabels()] for one in axes] == [
        ["urban"]
    ] * 2
    assert axes[0].get_xlim() != axes[1].get_xlim()
