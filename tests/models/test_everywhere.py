"""Every model of the library, old and new, works in everything that stands around a fit."""

import numpy as np
import pytest

import penchant as pn
from every_model import EVERY
from penchant.models.catalogue import CATALOGUE

CHEAP = ("random", "win-stay", "stay", "erc", "itch", "cambridge, colours", "locality")


def people_of(name, n=3, n_decisions=40):
    model, truth, task = EVERY[name]
    rng, task = np.random.default_rng(3), task.with_decisions(n_decisions)
    people = [pn.simulate(task, model, truth, rng=rng, subject=f"s{k}") for k in range(n)]
    return model, truth, task, people, rng


def check_everything(name, n_decisions=40):
    """Fits, latent values row by row, comparison, recovery, distinction, new draws."""
    model, truth, task, people, rng = people_of(name, 3, n_decisions)
    weak = pn.ScaledPrior()
    estimates = pn.fit_each(people, model, parameter_prior=weak)
    told = pn.beliefs(estimates)
    assert len(told) == sum(one.n_events for one in people)
    total = sum(estimate.log_likelihood for estimate in estimates)
    np.testing.assert_allclose(np.nansum(told["log_probability"]), total, rtol=1e-7)
    p = estimates[0].predict(people[0])
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert pn.models.check_model(model, people[:2], rng=rng).ok
    twice = {"own": model, "same": model}
    compared = pn.compare_models(twice, people, folds=2)
    assert np.isfinite(compared.totals).all()
    recovered = pn.recover(model, task, truth, n_subjects=2, rng=rng, parameter_prior=weak)
    assert set(truth) <= set(str(recovered).split())
    confused = pn.recover_models(
        twice, task, dict.fromkeys(twice, truth), n_subjects=1, rng=rng, criterion="bic"
    )
    assert "own" in str(confused)
    world = {} if hasattr(people[0], "offers") else {"world": task.world}
    assert len(pn.predictive_check(estimates, n_draws=2, rng=rng, **world).observed)


def test_every_model_of_the_catalogue_is_tried():
    tried = {type(model) for model, _, _ in EVERY.values()}
    assert {entry.model for entry in CATALOGUE.values()} <= tried


@pytest.mark.parametrize("name", CHEAP)
def test_a_model_works_in_everything_around_a_fit(name):
    check_everything(name, n_decisions=24)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(EVERY))
def test_every_model_works_in_everything_around_a_fit(name):
    check_everything(name)
