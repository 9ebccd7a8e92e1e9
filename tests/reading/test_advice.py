"""What is advised about missing cells, and words that are levels."""

import numpy as np
import pandas as pd
import pytest

import penchant as pn
from penchant.errors import DataError


def experiment(n_decisions=60, seed=1):
    """A choice experiment with one row per option, and an extra that may be `none`."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "obs": decision,
            "alt": option,
            "price": rng.uniform(1, 9),
            "warranty": rng.choice(["none", "basic", "full"]),
            "chosen": 0,
        }
        for decision in range(n_decisions)
        for option in (1, 2, 3)
    ]
    frame = pd.DataFrame(rows)
    frame.loc[np.arange(n_decisions) * 3 + rng.integers(0, 3, n_decisions), "chosen"] = 1
    return frame


@pytest.mark.parametrize("word", ["none", "None", "NONE"])
def test_a_level_called_none_is_a_level(word):
    frame = experiment().replace("none", word)
    choices = pn.read(frame).data
    assert choices.n_decisions == 60
    assert sum(name.startswith("warranty:") for name in choices.names) == 2  # of three levels


def test_a_cell_without_a_level_is_missing_all_the_same():
    frame = experiment()
    frame.loc[4, "warranty"] = None
    with pytest.raises(DataError, match="must not be missing"):
        pn.read(frame)


@pytest.mark.parametrize(("n_lost", "advised"), [(1, True), (3, True), (4, False), (30, False)])
def test_leaving_decisions_out_is_advised_only_where_they_are_few(n_lost, advised):
    frame = experiment().drop(columns="warranty").assign(quality=1.0 * np.arange(180))
    frame.loc[3 * np.arange(n_lost), "price"] = np.nan
    with pytest.raises(DataError, match="must not be missing") as caught:
        pn.Choices.from_frame(
            frame, decision="obs", option="alt", chosen="chosen", explanatory=["price", "quality"]
        )
    assert ("drop_set" in str(caught.value)) == advised
    assert (f"{n_lost} of 60 decisions are too many" in str(caught.value)) != advised


def test_decisions_without_a_choice_are_not_left_out_by_advice_where_they_are_many():
    frame = experiment().drop(columns="warranty").assign(quality=1.0 * np.arange(180))
    frame.loc[frame.obs < 10, "chosen"] = 0
    with pytest.raises(DataError, match="10 of 60 decisions are too many to leave out"):
        pn.Choices.from_frame(
            frame, decision="obs", option="alt", chosen="chosen", explanatory=["price", "quality"]
        )
