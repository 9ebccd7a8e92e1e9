"""The wrong thing for a model, a prior, a task or data gets one sentence with what to write."""

import numpy as np
import pandas as pd
import pytest

import penchant as pn

RNG = np.random.default_rng(1)
EPISODES = [pn.Episode(RNG.integers(0, 2, 20), RNG.normal(size=20), subject=k) for k in range(6)]
CHOICES = pn.Choices.from_arrays(RNG.normal(size=(30, 3, 2)), RNG.integers(0, 3, 30))
TABLE = pd.DataFrame({"subject": [1, 1, 2, 2], "choice": [0, 1, 0, 1], "reward": [1.0, 0, 1, 0]})
MODEL = pn.QLearning(2)
TASK = pn.Task(pn.Landscape([0.3, 0.7], pn.GaussianNoise(0.04)), n_decisions=20)
RANGES = {"temperature": (0.1, 0.3), "learning_rate": (0.2, 0.5)}
NARROW = pn.NarrowIntervals("learning_rate", width=0.3)
SETTING = {"n_subjects": 2, "rng": RNG}


def of_model(model):
    """Every verb that takes a model."""
    prior = pn.RewardPrior(mean=1.0, variance=1.0)
    return {
        "fit": lambda: pn.fit(EPISODES, model),
        "fit_each": lambda: pn.fit_each(EPISODES, model),
        "fit_linearized": lambda: pn.fit_linearized(EPISODES, model, nominal=prior),
        "fit_population": lambda: pn.fit_population(EPISODES, model),
        "fit_mixture": lambda: pn.fit_mixture(EPISODES, {"a": model, "b": MODEL}),
        "compare_models": lambda: pn.compare_models({"a": model}, EPISODES),
        "recover": lambda: pn.recover(model, TASK, RANGES, **SETTING),
        "recover_models": lambda: pn.recover_models({"a": model}, TASK, {"a": RANGES}, **SETTING),
        "design": lambda: pn.design(model, TASK, RANGES, goal=NARROW, rng=RNG),
        "live": lambda: pn.live(model),
        "study": lambda: pn.study(pn.read_study(TABLE), model),
        "check_model": lambda: pn.models.check_model(model, EPISODES, rng=RNG),
    }


@pytest.mark.parametrize("verb", of_model(None))
def test_a_name_or_a_class_for_a_model_is_told_the_model(verb):
    with pytest.raises(
        pn.errors.DataError, match=r"(?s)must be a model, not its name.*pn.QLearning\(n_opt"
    ):
        of_model("q-learning")[verb]()
    with pytest.raises(pn.errors.DataError, match=r"must be a model, not its class; got QLearning"):
        of_model(pn.QLearning)[verb]()


def of_prior(prior):
    """Every verb that takes a prior."""
    given = {"parameter_prior": prior}
    rivals = {"a": MODEL, "b": pn.models.RandomChoice(2)}
    return {
        "fit": lambda: pn.fit(EPISODES, MODEL, **given),
        "fit of choices": lambda: pn.fit(CHOICES, **given),
        "fit_each": lambda: pn.fit_each(EPISODES, MODEL, **given),
        "compare_models": lambda: pn.compare_models(rivals, EPISODES, folds=2, **given),
        "recover": lambda: pn.recover(MODEL, TASK, RANGES, **SETTING, **given),
        "design": lambda: pn.design(MODEL, TASK, RANGES, goal=NARROW, rng=RNG, **given),
        "live": lambda: pn.live(MODEL, **given),
        "study": lambda: pn.study(pn.read_study(TABLE), MODEL, **given),
    }


@pytest.mark.parametrize("verb", of_prior(None))
def test_a_word_a_number_or_a_class_for_a_prior_is_told_the_prior(verb):
    with pytest.raises(
        pn.errors.DataError, match=r"not a word; got 'weak'.\nWrite parameter_prior=pn.Sca"
    ):
        of_prior("weak")[verb]()
    with pytest.raises(pn.errors.DataError, match=r"parameter_prior must be a prior; got 2\.5"):
        of_prior(2.5)[verb]()
    with pytest.raises(pn.errors.DataError, match="a prior, not its class; got ScaledPrior"):
        of_prior(pn.ScaledPrior)[verb]()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: pn.fit(TABLE), r"not a table or a file; got DataFrame.\nRead it first: pn.fit"),
        (lambda: pn.fit("x.csv"), r"not a table or a file; got str.\nRead it first"),
        (
            lambda: pn.fit(TABLE, MODEL),
            r"not a table or a file; got DataFrame.\nRead it first: pn.fit\(pn.read\(data\), m",
        ),
        (lambda: pn.fit_each(TABLE, MODEL), "Read a table first: pn.read"),
        (lambda: pn.fit_population(TABLE, MODEL), "got DataFrame"),
        (lambda: pn.compare_models({"a": MODEL}, TABLE), "Read a table first: pn.read"),
        (lambda: pn.study(TABLE, MODEL), r"what read_study returns; got DataFrame.\nRead it first"),
        (lambda: pn.scan(TABLE), r"path must name files; got DataFrame.\nTables in memory are"),
        (lambda: pn.beliefs(EPISODES), "estimates must be what fit or fit_each returns; got list"),
        (
            lambda: pn.results.parameter_draws(MODEL, 5, rng=RNG),
            "estimates must be what fit .* QLearning",
        ),
        (
            lambda: pn.results.profile_curve("x", "learning_rate"),
            "estimates must be what fit .* got str",
        ),
        (lambda: pn.predictive_check(MODEL, n_draws=5, rng=RNG), "must be what fit .* QLearning"),
        (lambda: pn.recover(MODEL, "bandit", RANGES, **SETTING), "task must be a Task; got str"),
        (lambda: pn.recover(MODEL, TABLE, RANGES, **SETTING), "a Task; got DataFrame.\nWrite pn.T"),
        (
            lambda: pn.recover(MODEL, TASK, RANGES, n_subjects=2, rng=7),
            r"rng must be a generator of NumPy; got int.\nWrite rng=np.random.default_rng\(7\)",
        ),
        (
            lambda: pn.design(MODEL, TASK, RANGES, goal="narrow", rng=RNG),
            "goal must be NarrowIntervals or DetectDifference; got 'narrow'.\n"
            "Write goal=pn.NarrowIntervals",
        ),
        (
            lambda: pn.recover_models([MODEL], TASK, [RANGES], **SETTING),
            "models and parameters must be by name; got list and list",
        ),
    ],
)
def test_other_wrong_things_are_told_what_to_pass(call, said):
    with pytest.raises(pn.errors.DataError, match=said):
        call()
