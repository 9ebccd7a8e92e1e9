"""Gaussian-process UCB on real people, against losses computed by others."""

import csv
import math

import numpy as np
import pytest
from scipy import special

import penchant as pn
from penchant.models.model import weights_and_shape

pytestmark = pytest.mark.evidence
MODEL = pn.GPUCB(pn.grid(11, 11), prior_mean=50.0, prior_sd=100.0, noise_ratio=1e-4)


def rows(path):
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def plays(evidence):
    """Episodes by subject and horizon, then by round."""
    events = {}
    for row in rows(evidence / "data" / "gridsearch2d" / "choices.csv"):
        key = int(row["subject"]), int(row["horizon"])
        events.setdefault(key, {}).setdefault(int(row["round"]), []).append(row)
    return {
        key: {number: episode(seen) for number, seen in rounds.items()}
        for key, rounds in events.items()
    }


def episode(seen):
    return pn.Episode(
        [int(row["choice"]) for row in seen],
        [float(row["reward"]) for row in seen],
        is_choice=[row["is_choice"] == "1" for row in seen],
    )


@pytest.fixture(scope="module")
def oracle(evidence):
    return rows(evidence / "data" / "gridsearch2d" / "gp_ucb_oracle.csv")


def split(plays, row):
    """The round left out, and the others of its horizon."""
    rounds = plays[int(row["subject"]), int(row["horizon"])]
    left_out = int(row["round"])
    return rounds[left_out], [e for number, e in rounds.items() if number != left_out]


def loss(episode, theta, psi):
    log_p = special.log_softmax(MODEL.explanatory(episode, *psi) @ theta, axis=1)
    return -log_p[np.flatnonzero(episode.scored), episode.scored_options].sum()


def published(row):
    """Weights and shape of the published parameters, which are for rewards less 50, over 100."""
    temperature, bonus, scale = (
        math.exp(float(row[f"log_{name}"])) for name in ("tau", "beta", "lambda")
    )
    return weights_and_shape(
        MODEL, {"temperature": 100 * temperature, "bonus": bonus, "length_scale": scale}
    )


def test_the_likelihood_is_that_of_the_oracle_in_every_round(plays, oracle):
    assert len(oracle) == 153
    for row in oracle:
        theta, psi = published(row)
        test, train = split(plays, row)
        assert loss(test, theta, psi) == pytest.approx(float(row["test_nll_clean"]), abs=1e-6)
        total = sum(loss(one, theta, psi) for one in train)
        assert total == pytest.approx(float(row["train_nll_clean"]), abs=1e-6)


@pytest.mark.slow
def test_the_training_loss_is_never_above_that_of_the_published_parameters(plays, oracle):
    for row in oracle:
        _, train = split(plays, row)
        estimate = pn.fit(train, MODEL)
        assert -estimate.log_likelihood <= float(row["train_nll_clean"]) + 1e-6, row


@pytest.mark.slow
def test_rounds_left_out_are_predicted_better_than_by_the_best_published_model(plays, evidence):
    """With the default prior and all terms of locality, for the first people, nothing clipped."""
    published = rows(evidence / "data" / "gridsearch2d" / "published_losses.csv")
    model = pn.GPUCB(pn.grid(11, 11), locality="all")
    ours = theirs = 0.0
    for row in published:
        if row["model"] == "LRBFUCB" and int(row["subject"]) <= 4:
            test, train = split(plays, row)
            estimate = pn.fit(train, model, parameter_prior=pn.ScaledPrior())
            log_p = estimate.log_likelihoods(test)
            assert np.isfinite(log_p).all()
            ours -= log_p.sum()
            theirs += float(row["nll"])
    assert ours < 0.92 * theirs
