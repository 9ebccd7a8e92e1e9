"""Errors of public calls: one short sentence that names the argument, and what to do."""

import pickle

import numpy as np
import pandas as pd
import pytest

import penchant as pn

MAX_WORDS = 40  # of the sentence that says what is wrong
MARKS = "\ufdd0\ufdd1\ufdd2"  # around arguments in texts, for front ends to word

RNG = np.random.default_rng(1)
X = RNG.normal(size=(30, 3, 2))
CHOSEN = RNG.integers(0, 3, 30)
CHOICES = pn.Choices.from_arrays(X, CHOSEN)
LONG = pd.DataFrame({"trial": [0, 0], "item": ["a", "b"], "taken": [1, 0], "price": [1.0, 2.0]})
FIT = pn.fit(CHOICES)
EPISODE = pn.Episode([0, 1, 0, 1], [1.0, 0.0, 0.5, 0.2])
MODEL = pn.QLearning(2)
GRID = pn.grid(2, 2)


def _changed(**cells):
    return pn.Choices.from_frame(
        LONG.assign(**cells), decision="trial", option="item", chosen="taken", explanatory=["price"]
    )


WRONG = {
    "explanatory": lambda: pn.Choices.from_arrays(X[0], CHOSEN),
    "chosen": lambda: pn.Choices.from_arrays(X, [*CHOSEN[1:], 3]),
    "chosen of another length": lambda: pn.Choices.from_arrays(X, CHOSEN[:5]),
    "weights": lambda: pn.Choices.from_arrays(X, CHOSEN, weights=[-1.0] + [1.0] * 29),
    "weight_kind": lambda: pn.Choices.from_arrays(X, CHOSEN, weight_kind="often"),
    "available": lambda: pn.Choices.from_arrays(X, CHOSEN, available=np.zeros((30, 3))),
    "subject": lambda: pn.Choices.from_arrays(X, CHOSEN, subject=["a"]),
    "names": lambda: pn.Choices.from_arrays(X, CHOSEN, names=["price"]),
    "price": lambda: _changed(price=["dear", "cheap"]),
    "chosen of a table": lambda: _changed(taken=[1, 1]),
    "option of a table": lambda: _changed(item=["a", "a"]),
    "frame": lambda: pn.Choices.from_frame(
        LONG[:0], decision="trial", option="item", chosen="taken", explanatory=["price"]
    ),
    "decisions": lambda: CHOICES.subset([]),
    "names to keep": lambda: CHOICES.select(["prise"]),
    "level": lambda: FIT.interval(95),
    "kind": lambda: FIT.interval(kind="exact"),
    "method": lambda: pn.fit(CHOICES, method="bayes"),
    "covariance": lambda: pn.fit(CHOICES, covariance="sandwich"),
    "parameter_prior": lambda: pn.fit(CHOICES, parameter_prior="weak"),
    "data": lambda: pn.fit(LONG),
    "model": lambda: pn.fit([EPISODE], "q-learning"),
    "episodes": lambda: pn.fit_each([], MODEL),
    "rewards": lambda: pn.Episode([0, 1], [1.0]),
    "chosen of an episode": lambda: pn.Episode([0, -2], [1.0, 2.0]),
    "is_choice": lambda: pn.Episode([0, 1], [1.0, 2.0], is_choice=[2, 0]),
    "locations": lambda: pn.UCL([1.0, 2.0], noise_variance=1.0),
    "noise_variance": lambda: pn.UCL(GRID, noise_variance=0.0),
    "length_scale": lambda: pn.UCL(GRID, noise_variance=1.0, length_scale=-1.0),
    "learning_rate": lambda: pn.QLearning(2, learning_rate=3),
    "n_options": lambda: pn.QLearning(1.5),
    "dual_rates": lambda: pn.QLearning(2, dual_rates="both"),
    "decay": lambda: pn.models.KalmanFilter(2, noise_variance=1.0, decay=2),
    "mean_rewards": lambda: pn.Landscape([[1.0, 2.0]], pn.GaussianNoise(1.0)),
    "variance": lambda: pn.GaussianNoise(-1.0),
    "noise": lambda: pn.Landscape([1.0, 2.0], 1.0),
    "offers": lambda: pn.Offers([0, 1], {}),
    "amount": lambda: pn.Offers([0, 1], {"amount": [1.0, 2.0]}),
    "path": lambda: pn.read("no_such_file.csv"),
    "base": lambda: pn.offers_from_frame(LONG, offers={"price": ["price", 0]}, base=2),
    "world": lambda: pn.Task({}),
    "rng": lambda: pn.recover(MODEL, pn.Task(EPISODE), {}, n_subjects=2, rng=1),
}


@pytest.mark.parametrize("of", WRONG)
def test_an_error_is_one_short_sentence_that_names_the_argument_with_a_remedy(of):
    with pytest.raises(pn.errors.DataError) as refused:
        WRONG[of]()
    error, text = refused.value, str(refused.value)
    sentence, _, remedy = text.partition("\n")
    assert len(sentence.split()) <= MAX_WORDS, sentence
    assert remedy.strip(), text
    assert error.rule.startswith("must ") and of.split(" ")[0] in text
    assert sentence.startswith(pn.errors.format_for_python(error.argument))
    assert not set(MARKS) & set(text)
    assert str(pickle.loads(pickle.dumps(error))) == text
