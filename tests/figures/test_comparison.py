"""Models compared."""

import numpy as np
import pandas as pd
import pytest

import penchant as pn
from penchant.errors import DataError
from penchant.figures import exceedance, figure, model_differences, model_totals, overview


def test_differences_are_sorted_summed_and_counted():
    values = [3.5, -1.25, 8.0, np.nan, -0.5]
    axes = model_differences(figure().subplots(), values, names=("UCL", "Q"), criterion="BIC")
    heights = sorted((bar.get_x(), bar.get_height()) for bar in axes.patches)
    assert [height for _, height in heights] == [-1.25, -0.5, 3.5, 8.0]
    assert axes.get_title(loc="left").rstrip() == "total +9.8"
    assert axes.get_title(loc="right") == "no finite difference: 1"
    said = [text.get_text() for text in axes.get_legend().get_texts()]
    assert said == ["UCL better: 2", "Q better: 2"]
    assert axes.get_ylabel() == "BIC: Q $-$ UCL"


def test_totals_are_ranked_above_the_best():
    axes = model_totals(
        figure().subplots(),
        ["a", "b", "c", "d"],
        [431.5, 412.0, np.inf, 700.0],
        errors=[4, 0, 1, 9],
    )
    (dots,) = [line for line in axes.lines if line.get_marker() == "o"]
    np.testing.assert_array_equal(dots.get_xydata(), [[0, 0], [19.5, 1], [288, 2]])
    assert [text.get_text() for text in axes.get_yticklabels()] == ["b", "a", "d"]
    assert axes.get_title(loc="right") == "no finite AIC: 1"


def test_exceedance_probabilities_and_expected_shares_are_drawn():
    axes = exceedance(figure().subplots(), ["a", "b"], [0.9, 0.1], frequencies=[0.7, 0.3])
    assert [bar.get_width() for bar in axes.patches] == [0.9, 0.1]
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), [[0.7, 0], [0.3, 1]])


def test_an_unknown_probability_is_counted():
    axes = exceedance(figure().subplots(), ["a", "b"], [np.nan, 0.1])
    assert axes.get_title(loc="right") == "no probability known: 1"


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda a: model_differences(a, [[1.0]]), "differences must be one-dimensional"),
        (lambda a: model_totals(a, ["a"], [1.0, 2.0]), "names must have one label per model, 2"),
        (lambda a: model_totals(a, ["a"], [1.0], errors=[]), r"errors must have shape \(1,\)"),
        (lambda a: exceedance(a, ["a"], [1.5]), "probabilities must lie in 0..1; got 1.5 at 0"),
        (lambda a: exceedance(a, ["a"], [1.0], frequencies=[2.0]), "frequencies must lie in 0..1"),
    ],
)
def test_wrong_arguments_are_named(draw, message):
    with pytest.raises(DataError, match=message):
        draw(figure().subplots())


def test_both_panels_of_a_comparison_have_models_in_the_same_order():
    table = {"subject": [], "chosen": [], "reward": []}
    rng = np.random.default_rng(4)
    for who in "abc":
        chosen = rng.integers(0, 2, 30)
        table["subject"] += [who] * 30
        table["chosen"] += chosen.tolist()
        table["reward"] += rng.uniform(size=30).tolist()
    models = {"late": pn.models.QLearning(2), "early": pn.models.RandomChoice(2)}
    found = pn.compare_models(models, pn.read(pd.DataFrame(table)).data)
    left, right = overview(found).axes
    names = [[label.get_text() for label in axes.get_yticklabels()] for axes in (left, right)]
    best = [found.names[k] for k in np.argsort(found.totals)]
    assert names == [best, best] and best != list(models)
    assert "held-out" not in found.summary()


def test_groups_are_drawn_parameter_by_parameter_with_their_tests():
    rng = np.random.default_rng(6)
    groups = {who: rng.normal(k, 0.3, (9, 3)) for k, who in enumerate("xy")}
    found = pn.compare_groups(groups)
    drawn = overview(found)
    assert len(drawn.axes) == 3
    for k, axes in enumerate(drawn.axes):
        p = found.of(f"theta{k + 1}")[0].adjusted_p_value
        said = "p < 0.001" if p < 0.001 else f"p = {p:.3g}"
        assert said in {text.get_text() for text in axes.texts}
        low, high = axes.get_ylim()
        for population in found.populations.values():
            assert low < population.interval()[k, 0] < population.interval()[k, 1] < high


def test_parameters_are_drawn_by_how_they_go_with_a_score():
    rng = np.random.default_rng(7)
    explanatory = rng.normal(size=(12 * 40, 2, 2))
    who = np.repeat(np.arange(12), 40)
    chosen = (explanatory[:, 1] - explanatory[:, 0]).sum(axis=1) + rng.logistic(size=480) > 0
    choices = pn.Choices.from_arrays(explanatory, chosen.astype(int), subject=who)
    found = pn.compare_groups(pn.fit_each(choices), by=[*rng.normal(size=12)], kind="scores")
    (axes,) = overview(found).axes
    assert axes.get_xlim()[0] >= -1.1 and axes.get_xlim()[1] <= 1.1
    assert "correlation with" in axes.get_xlabel()
