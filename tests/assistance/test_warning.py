"""Who will do poorly, told early; and nothing where it was not calibrated."""

import re

import numpy as np
import pytest

import penchant as pn
from penchant.assistance.poor_performance_warning import area_under_roc, warning_features
from penchant.bandit.landscape import landscape_a
from penchant.errors import DataError

MODEL = pn.UCL(locations=pn.grid(10, 10), noise_variance=10.0, length_scale=4.0)


def refused(message: str):
    return pytest.raises(DataError, match=re.escape(message))


@pytest.fixture(scope="module")
def players():
    """Plays of 90 choices on landscape A by many kinds of players, and which went poorly."""
    rng, place, plays = np.random.default_rng(5), landscape_a(), []
    for k in range(90):
        noise, variance, length = (
            float(np.exp(rng.uniform(*np.log(limits))))
            for limits in ((2.0, 30.0), (10.0, 2000.0), (1.0, 8.0))
        )
        model = pn.UCL(locations=pn.grid(10, 10), noise_variance=10.0, length_scale=length)
        rule = {"decision_noise": noise, "prior_mean": float(rng.uniform(0.0, 100.0))}
        rule["prior_variance"] = variance
        plays.append(pn.simulate(place, model, rule, n_decisions=90, rng=rng, subject=k))
    orders = pn.results.growth_orders([pn.results.cumulative_regret(p, place) for p in plays])
    return plays, np.array([order.category == "low" for order in orders])


@pytest.fixture(scope="module")
def warning(players):
    return pn.train_warning(*players, MODEL, task="A", at=30)


@pytest.mark.slow
def test_a_warning_tells_who_did_poorly_better_than_the_base_rate(players, warning):
    plays, poor = players
    assert 0.6 < poor.mean() < 0.9
    assert warning.calibration.auc > 0.75
    assert warning.calibration.brier < warning.calibration.base_brier
    said = [warning.of(play, task="A") for play in plays[:30]]
    p = np.array([one.probability for one in said])
    assert p[poor[:30]].mean() > p[~poor[:30]].mean() + 0.2
    assert all(one.interval[0] < one.probability < one.interval[1] for one in said)


def test_reasons_are_made_of_the_numbers_that_caused_the_warning(players, warning):
    play = players[0][4]
    values = warning_features([play], MODEL, 30, "both")[0]
    for reason in warning.of(play, task="A").reasons:
        assert any(f" {value:.3g}, in others" in reason for value in values)
        assert reason.endswith(("more likely", "less likely"))


def test_rule_7_there_is_no_warning_without_calibration_on_that_task(players, warning):
    plays, poor = players
    with refused("task must be the one that the warning was trained on, 'A'; got 'B'."):
        warning.of(plays[0], task="B")
    with refused("plays must be 40 or more, 10 of each kind; got 30"):
        pn.train_warning(plays[:30], poor[:30], MODEL, task="A", by="rewards")
    luck = np.random.default_rng(2).permutation(poor)
    blind = pn.train_warning(plays, luck, MODEL, task="A", by="rewards")
    assert not blind.is_calibrated
    with refused("warning must be calibrated on its task; got a slope of"):
        blind.of(plays[0], task="A")


def test_only_the_beginning_of_a_play_counts(players, warning):
    play = players[0][7]
    short = pn.Episode(play.chosen[:30], play.rewards[:30])
    assert warning.of(short, task="A") == warning.of(play, task="A")
    with refused("play must have 30 choices or more; got 29 at play 0."):
        warning.of(pn.Episode(play.chosen[:29], play.rewards[:29]), task="A")


def test_wrong_arguments_are_refused_in_a_sentence(players):
    plays, poor = players
    with refused("poor must have one value per play (90); got 3."):
        pn.train_warning(plays, poor[:3], MODEL, task="A")
    with refused("by must be one of both, rewards, model, mean reward; got 'luck'."):
        pn.train_warning(plays, poor, MODEL, task="A", by="luck")


def test_the_area_under_the_curve_counts_pairs():
    p, labels = np.array([0.9, 0.4, 0.4, 0.1]), np.array([True, True, False, False])
    assert area_under_roc(p, labels) == pytest.approx((1 + 1 + 0.5 + 1) / 4)
