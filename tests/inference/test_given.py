"""What stands for a model, a prior or episodes and is none: the error says what to write."""

import pandas as pd
import pytest

import penchant as pn

EPISODE = pn.Episode([0, 1, 1, 0, 1], [1.0, 0.0, 1.0, 1.0, 0.5], subject="ann")


@pytest.mark.parametrize("fit", [pn.fit, pn.fit_each])
@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            "q-learning",
            r"model must be a model, not its name; got 'q-learning'.\nWrite",
        ),
        ("hyperbolic", r"Write model=pn.HyperbolicDiscounting\(\)."),
        ("wsls", r"Write model=pn.models.WinStayLoseShift\("),
        ("gp_ucb", r"Write model=pn.GPUCB\(locations=pn.grid\(10, 10\)\)."),
        ("mine", r"got 'mine'.\nWrite model=pn.QLearning\(n_options=2\)."),
        (pn.QLearning, r"not its class; got QLearning.\nWrite model=pn.QLearning\(n_options=2\)."),
    ],
)
def test_a_name_or_a_class_is_no_model(fit, model, words):
    with pytest.raises(pn.errors.DataError, match=words):
        fit([EPISODE], model)


@pytest.mark.parametrize("fit", [pn.fit, pn.fit_each])
def test_a_word_is_no_prior(fit):
    with pytest.raises(
        pn.errors.DataError, match="parameter_prior must be a prior, not a word; got 'wea"
    ):
        fit([EPISODE], pn.QLearning(2), parameter_prior="weak")


@pytest.mark.parametrize("data", [pd.DataFrame({"choice": [0], "reward": [1.0]}), "play.csv"])
def test_a_table_is_read_first(data):
    with pytest.raises(pn.errors.DataError, match=r"Read a table first: pn.read\(table\)."):
        pn.fit_each(data, pn.QLearning(2))
