"""What is done around a fit takes a scan: comparisons, populations, predictions."""

import numpy as np
import pytest

import penchant as pn
from logs import choices_of_people, offers_of_people, play_of, written
from penchant.scale import histories

PEOPLE = [f"s{k}" for k in (4, 1, 3, 0, 2, 5, 7, 6)]
PLAY = {"chosen": "choice", "reward": "reward", "subject": "who", "decision": "trial"}
CHOICES = {"decision": "task", "option": "option", "chosen": "chosen", "subject": "who"}
CHOICES |= {"explanatory": ["price", "wait"]}


def test_models_are_compared_by_information_criteria(tmp_path, monkeypatch):
    monkeypatch.setattr(histories, "PEOPLE", 3)
    table = play_of(PEOPLE)
    scanned = pn.scan(written(table, tmp_path / "logs", [50]), subject="who")
    models = {"learner": pn.QLearning(2), "habit": pn.models.RandomChoice(2)}
    found = pn.compare_models(models, scanned, nested=[("habit", "learner")])
    memory = pn.compare_models(
        models, pn.episodes_from_frame(table, **PLAY), nested=[("habit", "learner")]
    )
    assert found.subjects == tuple(PEOPLE)
    order = [memory.subjects.index(subject) for subject in PEOPLE]
    np.testing.assert_allclose(found.aic, memory.aic[order], rtol=1e-10)
    np.testing.assert_allclose(found.bic, memory.bic[order], rtol=1e-10)
    assert found.best == memory.best and found.n_best.tolist() == memory.n_best.tolist()
    with pytest.raises(pn.DataError, match="criterion must be 'aic' or 'bic' for a scan, without"):
        pn.compare_models(models, scanned, folds=4)


def test_a_population_of_a_scan_is_that_of_memory(tmp_path):
    table = offers_of_people(PEOPLE)
    scanned = pn.scan(written(table, tmp_path / "logs", [31]), subject="who")
    found = pn.fit_population(scanned, pn.HyperbolicDiscounting())
    memory = pn.fit_population(
        pn.offers_from_frame(table, subject="who"), pn.HyperbolicDiscounting()
    )
    np.testing.assert_allclose(found.coefficients, memory.coefficients, rtol=1e-6)


def test_probabilities_of_a_scan_come_chunk_by_chunk(tmp_path):
    table = choices_of_people(sorted(PEOPLE))
    scanned = pn.scan(written(table, tmp_path / "logs", [90]), **CHOICES, chunk_rows=60)
    choices = pn.Choices.from_frame(table, **CHOICES)
    estimate = pn.fit(scanned)
    parts = list(estimate.predict(scanned))
    assert len(parts) == scanned.n_chunks > 2
    expected = pn.fit(choices).predict(choices)
    np.testing.assert_allclose(np.concatenate(parts), expected, rtol=1e-9)
    np.testing.assert_allclose(np.concatenate(list(estimate.predict())), expected, rtol=1e-9)
