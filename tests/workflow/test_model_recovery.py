"""Recovery of models: those that differ are told apart, and the matrices are what they say."""

import numpy as np
import pytest

import penchant as pn

TURNING = pn.Task(np.repeat([[0.2, 0.8], [0.8, 0.2], [0.1, 0.7]], 30, axis=0))
MODELS = {
    "learner": pn.QLearning(2),
    "habit": pn.models.RandomChoice(2),
    "stay": pn.models.WinStayLoseShift(2),
}
RANGES = {
    "learner": {"temperature": (0.1, 0.2), "learning_rate": (0.2, 0.5)},
    "habit": {"bias_0": (0.3, 1.2)},
}


def _two(**options):
    models = {name: MODELS[name] for name in ("learner", "habit")}
    given = {"n_subjects": 25, "rng": np.random.default_rng(6), **options}
    return pn.recover_models(models, TURNING, RANGES, **given)


@pytest.mark.parametrize("options", [{}, {"criterion": "aic"}, {"folds": 3}])
def test_models_that_differ_are_found_where_they_simulated(options):
    found = _two(**options)
    assert (np.diag(found.confusion) > 0.8).all()
    assert found.criterion == (
        "held_out" if "folds" in options else options.get("criterion", "bic")
    )


def test_matrices_are_shares_of_the_counts():
    found = pn.results.ModelRecovery(
        ("a", "b"), np.array([[8, 2], [5, 5]]), np.array([0, 1]), "bic"
    )
    np.testing.assert_allclose(found.confusion, [[0.8, 0.2], [0.5, 0.5]])
    # Bayes: 0.8 / 1.3 and so on, models as likely beforehand
    np.testing.assert_allclose(found.inversion, [[0.8 / 1.3, 0.2 / 0.7], [0.5 / 1.3, 0.5 / 0.7]])
    np.testing.assert_allclose(found.standard_errors[0], np.sqrt(0.16 / 10))
    assert "No finite criterion: 1 people" in found.summary()
    assert repr(found) == "<ModelRecovery, found where simulated: a 0.80, b 0.50>"


def test_a_model_never_found_has_no_inversion():
    found = pn.results.ModelRecovery(
        ("a", "b"), np.array([[3, 0], [4, 0]]), np.zeros(2, int), "bic"
    )
    assert np.isnan(found.inversion[:, 1]).all()
    assert found.inversion[:, 0] == pytest.approx([0.5, 0.5])


def test_the_same_randomness_gives_the_same_counts():
    np.testing.assert_array_equal(_two(threads=1).counts, _two(threads=2).counts)


def test_tables_hold_every_pair():
    found = _two(n_subjects=6)
    rows = found.to_frame(backend="pyarrow")
    assert rows.column("simulated").to_pylist() == ["learner", "learner", "habit", "habit"]
    assert sum(rows.column("n").to_pylist()) == 12
    assert "p" in found.summary() and "<table>" in found._repr_html_()


def test_wrong_input_is_refused():
    with pytest.raises(pn.errors.DataError, match="ranges for each model; got none for stay"):
        pn.recover_models(MODELS, TURNING, RANGES, n_subjects=2, rng=np.random.default_rng(0))
    with pytest.raises(
        pn.errors.DataError, match="folds must be a number or 'block' here; got labels"
    ):
        _two(folds=[[0, 1]])
