"""What is done around a fit takes a scan: comparisons, populations, predictions."""

import numpy as np
import pyarrow as pa
import pytest

import penchant as pn
from logs import choices_of_people, offers_of_people, play_of, written
from penchant.scale import subject_estimates, subject_history_scan

PEOPLE = [f"s{k}" for k in (4, 1, 3, 0, 2, 5, 7, 6)]
PLAY = {"chosen": "choice", "reward": "reward", "subject": "who", "decision": "trial"}
CHOICES = {"decision": "task", "option": "option", "chosen": "chosen", "subject": "who"}
CHOICES |= {"explanatory": ["price", "wait"]}


MODELS = {"play": pn.QLearning(2), "offers": pn.HyperbolicDiscounting(), "choices": None}


def _scanned(kind, folder, people=PEOPLE, cut=51, **more):
    """Logs in two files, and the same in memory, in the order of the files."""
    if kind == "choices":
        table, given = choices_of_people(people), CHOICES
        memory = pn.Choices.from_frame(table, **CHOICES)
    elif kind == "offers":
        table, given = offers_of_people(people), {"subject": "who"}
        memory = pn.offers_from_frame(table, subject="who")
    else:
        table, given = play_of(people, n=60, seed=6), {"subject": "who"}
        memory = pn.episodes_from_frame(table, **PLAY)
    if kind != "choices":
        memory = sorted(memory, key=lambda one: people.index(one.subject))
    return pn.scan(written(table, folder / "logs", [cut]), **given, **more), memory


@pytest.mark.parametrize("kind", ["play", "offers", "choices"])
def test_one_set_of_parameters_of_a_scan_is_that_of_memory(tmp_path, kind):
    scanned, memory = _scanned(kind, tmp_path)
    given = () if MODELS[kind] is None else (MODELS[kind],)
    found, expected = pn.fit(scanned, *given), pn.fit(memory, *given)
    assert found.status == expected.status
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-12)
    np.testing.assert_allclose(found.theta, expected.theta, rtol=1e-9)


@pytest.mark.parametrize("kind", ["play", "offers"])
def test_one_history_without_subjects_is_that_of_memory(tmp_path, kind):
    table = {"play": play_of, "offers": offers_of_people}[kind](["only"], n=80)
    scanned = pn.scan(written(table.drop_columns(["who"]), tmp_path / "logs", [9]))
    read = pn.episodes_from_frame if kind == "play" else pn.offers_from_frame
    columns = {name: PLAY[name] for name in ("chosen", "reward", "decision")}
    memory = read(table.drop_columns(["who"]), **(columns if kind == "play" else {}))
    found, expected = (pn.fit(data, MODELS[kind]) for data in (scanned, memory))
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-12)
    (only,) = found.predict(scanned)
    np.testing.assert_allclose(only, expected.predict(), rtol=1e-9)


def test_a_model_of_a_scan_says_what_it_needs(tmp_path, monkeypatch):
    scanned, _ = _scanned("play", tmp_path)
    with pytest.raises(
        pn.errors.DataError, match="model must be given with a scan of play; got none"
    ):
        pn.fit(scanned)
    words = "engine must be left out for one set of parameters of a model, which is fitted in"
    with pytest.raises(pn.errors.DataError, match=words):
        pn.fit(scanned, pn.QLearning(2), engine="tcp://somewhere:1")
    with pytest.raises(
        pn.errors.DataError, match="method, constraints, covariance, start and max_steps"
    ):
        pn.fit(scanned, pn.QLearning(2), covariance="robust")
    monkeypatch.setattr(subject_estimates, "MAX_HISTORY_ROWS", 100)
    words = "data must have at most 100 rows for one set of parameters of a model, which holds"
    with pytest.raises(pn.errors.DataError, match=words):
        pn.fit(scanned, pn.QLearning(2))


@pytest.mark.parametrize("kind", ["play", "offers"])
def test_models_are_compared_by_information_criteria(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(subject_history_scan, "MAX_SUBJECTS_PER_BATCH", 3)
    scanned, memory = _scanned(kind, tmp_path)
    models = {"learner": pn.QLearning(2), "habit": pn.models.RandomChoice(2)}
    if kind == "offers":
        models = {
            "learner": pn.HyperbolicDiscounting(),
            "habit": pn.models.ExponentialDiscounting(),
        }
    nested = [("habit", "learner")] if kind == "play" else []
    found = pn.compare_models(models, scanned, nested=nested)
    expected = pn.compare_models(models, memory, nested=nested)
    assert found.subjects == tuple(PEOPLE)
    order = [expected.subjects.index(subject) for subject in PEOPLE]
    np.testing.assert_allclose(found.aic, expected.aic[order], rtol=1e-10)
    np.testing.assert_allclose(found.bic, expected.bic[order], rtol=1e-10)
    assert found.best == expected.best and found.n_best.tolist() == expected.n_best.tolist()
    with pytest.raises(
        pn.errors.DataError, match="criterion must be 'aic' or 'bic' for a scan, without"
    ):
        pn.compare_models(models, scanned, folds=4)


def test_a_population_of_players_of_a_scan_is_that_of_memory(tmp_path):
    rng, model = np.random.default_rng(4), pn.QLearning(2, initial_value=0.5)
    means = np.repeat([[0.2, 0.8], [0.8, 0.2]] * 2, 20, axis=0)
    plays = [
        pn.simulate(
            means, model, {"temperature": noise, "learning_rate": 0.4}, rng=rng, subject=f"s{k}"
        )
        for k, noise in enumerate([0.1, 0.5, 0.15, 0.4, 0.2, 0.3])
    ]
    table = pa.table(
        {
            "who": np.repeat([play.subject for play in plays], 80),
            "choice": np.concatenate([play.chosen for play in plays]),
            "reward": np.concatenate([play.rewards for play in plays]),
        }
    )
    scanned = pn.scan(written(table, tmp_path / "logs", [100]), subject="who")
    found, expected = (
        pn.fit_population(data, model, random=["temperature"], nodes=3) for data in (scanned, plays)
    )
    np.testing.assert_allclose(found.coefficients, expected.coefficients, rtol=1e-6)


@pytest.mark.parametrize("kind", ["offers", "choices"])
def test_a_population_of_a_scan_is_that_of_memory(tmp_path, kind):
    scanned, memory = _scanned(kind, tmp_path, cut=60)
    given = () if MODELS[kind] is None else (MODELS[kind],)
    found, expected = (pn.fit_population(data, *given, nodes=3) for data in (scanned, memory))
    assert sorted(found.subjects) == sorted(expected.subjects)
    np.testing.assert_allclose(found.coefficients, expected.coefficients, rtol=1e-6)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("kind", ["play", "offers"])
def test_a_model_predicts_the_decisions_of_a_scan_some_subjects_after_others(
    tmp_path, monkeypatch, kind, average
):
    monkeypatch.setattr(subject_history_scan, "MAX_SUBJECTS_PER_BATCH", 3)
    scanned, memory = _scanned(kind, tmp_path)
    estimate = pn.fit(memory, MODELS[kind])
    parts = list(estimate.predict(scanned, average=average))
    assert len(parts) == 3
    expected = estimate.predict(memory, average=average)
    np.testing.assert_allclose(np.concatenate(parts), expected, rtol=1e-12)
    logs = np.concatenate(list(estimate.log_likelihoods(scanned)))
    np.testing.assert_allclose(logs, estimate.log_likelihoods(), rtol=1e-12)


def test_predictions_of_subjects_that_lie_here_and_there_are_in_the_order_of_labels(tmp_path):
    table = play_of(PEOPLE)
    scattered = table.take(np.arange(len(table)).reshape(len(PEOPLE), -1).T.ravel())
    scanned = pn.scan(written(scattered, tmp_path / "logs", [70]), subject="who")
    memory = pn.episodes_from_frame(table, **PLAY)
    estimate = pn.fit(memory, pn.QLearning(2))
    with pytest.warns(pn.errors.PenchantWarning, match="rows of a subject do not stand together"):
        (found,) = estimate.predict(scanned)
    in_order = sorted(memory, key=lambda one: one.subject)
    np.testing.assert_allclose(found, estimate.predict(in_order), rtol=1e-12)


def test_probabilities_of_a_scan_come_chunk_by_chunk(tmp_path):
    scanned, choices = _scanned("choices", tmp_path, sorted(PEOPLE), 90, chunk_rows=60)
    estimate, memory = pn.fit(scanned), pn.fit(choices)
    parts = list(estimate.predict(scanned))
    assert len(parts) == scanned.n_chunks > 2
    expected = memory.predict(choices)
    np.testing.assert_allclose(np.concatenate(parts), expected, rtol=1e-9)
    np.testing.assert_allclose(np.concatenate(list(estimate.predict())), expected, rtol=1e-9)
    for logs in (estimate.log_likelihoods(), memory.log_likelihoods(scanned)):
        np.testing.assert_allclose(np.concatenate(list(logs)), memory.log_likelihoods(), rtol=1e-9)
