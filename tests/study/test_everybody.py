"""The population of a study: when it is fitted, and what the report says of it."""

import numpy as np
import pyarrow as pa
import pytest

import penchant as pn
from penchant.report.group_sentences import answers, p_text
from penchant.report.page import DataTable
from penchant.report.study_comparison import comparison_section
from penchant.report.study_population import population_figures
from peopled import MODEL, q_learners


def table(n_each, n_trials, groups=("control", "patient"), seed=3, within=False):
    rng = np.random.default_rng(seed)
    rows = []
    for g, group in enumerate(groups):
        _, episodes = q_learners(n_each, n_trials, rng, mean=(-0.8 + 1.8 * g, -1.2))
        for i, e in enumerate(episodes):
            who = f"p{i}" if within else f"{group[0]}{i}"
            for t, (choice, reward) in enumerate(zip(e.chosen, e.rewards, strict=True)):
                rows.append((who, group, t, int(choice), float(reward)))
    names = ("subject", "group", "trial", "choice", "reward")
    return pa.table(dict(zip(names, zip(*rows, strict=True), strict=True)))


def studied(frame, **options):
    block = {"columns": {"block": "group"}} if options.pop("within", False) else {}
    usual = {"intervals": "wald", "n_replicates": 0, "threads": 1}
    return pn.study(pn.read_study(frame, conditions=["group"], **block), MODEL, **usual | options)


@pytest.fixture(scope="module")
def eight():
    return studied(table(8, 25))


def test_eight_people_in_every_group_are_fitted_at_once(eight):
    found = eight.everybody
    assert found.fit.n_subjects == 16
    assert found.between == ("group",)
    assert found.contrasts[0].words == "control - patient"  # as in all other sections
    alone = pn.fit_population(
        found.fit.source.data,
        MODEL,
        covariates=["group"],
        people={
            "subject": list(found.fit.subjects.labels),
            "group": ["control" if s[0] == "c" else "patient" for s in found.fit.subjects.labels],
        },
        threads=1,
    )
    np.testing.assert_allclose(found.fit.coefficients, alone.coefficients, rtol=1e-6)


def test_fewer_are_not_unless_asked_for():
    frame = table(6, 20)
    assert studied(frame).everybody is None
    assert studied(frame).columns("population") == {}
    assert studied(frame, population=True).everybody.fit.n_subjects == 12


def test_no_population_is_fitted_where_none_is_wanted(eight):
    assert studied(table(8, 10), population=False).everybody is None
    with pytest.raises(pn.errors.DataError, match="population must be True or False; got 'yes'"):
        studied(table(8, 10), population="yes")


def test_the_report_has_the_population_in_tables_words_and_figures(eight, tmp_path):
    page = eight.write(tmp_path / "out", figures="svg").read_text()
    assert '<h2 id="the-population">' in page
    assert "Differences in the population" in page
    assert "reliability" in page and "Integration error" in page
    assert "a hierarchical model was fitted to all subjects at once" in page
    for name in ("coefficients", "density", "shrinkage", "forest"):
        assert (tmp_path / "out" / "figures" / f"population-{name}.svg").exists()
    rows = eight.columns("population-contrasts")
    assert rows["parameter"] == ["learning_rate", "temperature"]
    assert all(a >= p for a, p in zip(rows["adjusted_p_value"], rows["p_value"], strict=True))
    assert len(eight.columns("population-people")["subject"]) == 16
    assert eight.columns("population-spreads")["name"] == ["learning_rate", "temperature"]
    assert len(eight.group_tests.differences) == 2  # Welch's tests stay beside it


def test_conditions_within_people_are_contrasts_of_the_same_people():
    made = studied(table(9, 20, within=True), within=True)
    drawn = next(one for one in population_figures(made) if "coeff" in one.name)
    said = [[label.get_text() for label in one.get_yticklabels()] for one in drawn.figure.axes]
    assert said == [["patient"], ["patient"]]
    found = made.everybody
    assert found.within == ("group",)
    assert found.fit.n_subjects == 9
    assert found.contrasts[0].factor == "group"


def test_one_difference_has_one_p_value_and_its_adjustment_is_said(eight):
    contrast, adjusted = eight.everybody.contrasts[0], eight.everybody.adjusted[0]
    np.testing.assert_allclose(contrast.adjusted_p_value, adjusted, rtol=1e-12)
    assert "adjusted by Holm's method over 2 parameters" in contrast.summary()
    said = [line for line in answers(eight) if "p = " in line or "p < " in line]
    assert [p_text(p) in line for p, line in zip(adjusted, said, strict=True)] == [True, True]
    assert "Holm's method" in answers(eight)[0] and "all 16 subjects" in answers(eight)[0]
    tables = [block for block in comparison_section(eight, "") if isinstance(block, DataTable)]
    assert not [table for table in tables if "adjusted p" in table.header]


def test_groups_are_compared_by_own_estimates_where_a_prior_leaves_the_population_out():
    said = answers(studied(table(8, 25), parameter_prior=pn.ScaledPrior()))
    assert any("adjusted" in line for line in said)
    assert said[-1].startswith("No population model is fitted with parameter_prior")
