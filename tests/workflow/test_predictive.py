"""Predictive checks: statistics by hand, and models that do or do not do what people did."""

import dataclasses

import numpy as np
import pytest

import penchant as pn
from penchant.models.simulate import play_like
from penchant.workflow.predictive_checks import (
    best_mean_reward_mask,
    choice_statistics,
    scored_decision_sequence,
)

WEAK = pn.ScaledPrior()
TURNING = np.repeat([[0.2, 0.8], [0.8, 0.2]], 30, axis=0)


def _plays(model, rule, n_subjects=8, seed=2, world=TURNING):
    rng, task = np.random.default_rng(seed), pn.Task(world, 60)
    return [pn.simulate(task, model, rule, rng=rng, subject=i) for i in range(n_subjects)]


def _learners(**options):
    return _plays(pn.QLearning(2), {"temperature": 0.25, "learning_rate": 0.4}, **options)


def test_statistics_are_those_counted_by_hand():
    episode = pn.Episode(
        [2, 0, 1, None, 1, 0, 0],
        [0.3, 0.1, 0.9, None, 0.7, 0.2, None],
        is_choice=[False, True, True, True, True, True, True],
        scored=[True, True, True, True, True, True, True],
    )
    best = best_mean_reward_mask(episode, 3)
    assert best[0].tolist() == [False, True, False]  # option 1 paid 0.8 on average
    play = scored_decision_sequence(episode, best, n_parts=2)
    assert play.chosen.tolist() == [0, 1, 1, 0, 0]
    assert play.previous.tolist() == [-1, 0, 1, 1, 0]  # shown options and timeouts passed over
    assert play.part.tolist() == [0, 0, 0, 1, 1]
    found = choice_statistics([play], 3, 2)
    # shares of three options, switches of four, best option, in the first three, in the last two
    np.testing.assert_allclose(found, [3 / 5, 2 / 5, 0, 2 / 4, 2 / 5, 2 / 3, 0])


def test_replaced_choices_follow_the_true_history():
    episode = pn.Episode([0, 1, 1, 0], [1.0, 0.0, 0.2, 0.1])
    play = scored_decision_sequence(
        episode, best_mean_reward_mask(episode, 2), 1, simulated_choices=[1, 1, 0, 1]
    )
    assert play.previous.tolist() == [-1, 0, 1, 1]
    assert choice_statistics([play], 2, 1)[2] == pytest.approx(2 / 3)


def test_a_model_is_not_blamed_for_its_own_play():
    estimates = pn.fit_each(_learners(n_subjects=4), pn.QLearning(2), parameter_prior=WEAK)
    rng = np.random.default_rng(3)
    for world in (None, TURNING):
        found = pn.predictive_check(estimates, world=world, n_draws=50, rng=rng)
        assert (found.p_values > 0.01).mean() > 0.75, found.summary()


def test_a_model_that_cannot_stay_is_found_out():
    sticky = pn.QLearning(2, stickiness=True)
    rule = {"temperature": 0.6, "learning_rate": 0.3, "stickiness": 2.0}
    plays = _plays(sticky, rule)
    wrong = pn.fit_each(plays, pn.models.RandomChoice(2), parameter_prior=WEAK)
    right = pn.fit_each(plays, sticky, parameter_prior=WEAK)
    rng = np.random.default_rng(3)
    blamed, fine = (pn.predictive_check(e, n_draws=100, rng=rng) for e in (wrong, right))
    place = blamed.names.index("switches")
    assert blamed.p_values[place] == 0.0
    assert blamed.predicted[place] > blamed.observed[place]
    assert fine.p_values[place] > 0.01


def test_given_the_history_predictions_are_mean_probabilities():
    (episode,) = _plays(pn.models.RandomChoice(2), {"bias_0": 0.4}, n_subjects=1)
    fitted = pn.fit(episode, pn.models.RandomChoice(2))
    sharp = dataclasses.replace(fitted, covariance=1e-12 * fitted.covariance)
    found = pn.predictive_check(sharp, n_draws=400, rng=np.random.default_rng(0))
    p = fitted.predict()[0, 0]
    error = np.sqrt(p * (1 - p) / (60 * 400))
    assert found.predicted[0] == pytest.approx(p, abs=4 * error)
    # maximum likelihood with an option bias reproduces the share itself
    assert found.observed[0] == pytest.approx(p, abs=1e-6)
    assert found.replicated[:, 0].std() == pytest.approx(np.sqrt(p * (1 - p) / 60), rel=0.15)


def test_uncertain_estimates_predict_more_widely():
    (episode,) = _learners(n_subjects=1)
    fitted = pn.fit(episode, pn.QLearning(2), parameter_prior=WEAK)
    sharp = dataclasses.replace(fitted, covariance=1e-12 * fitted.covariance)
    wide, narrow = (
        pn.predictive_check(e, n_draws=300, rng=np.random.default_rng(0)).replicated[:, 0].std()
        for e in (fitted, sharp)
    )
    assert wide > 1.05 * narrow


def test_worlds_may_differ_between_blocks():
    rng = np.random.default_rng(1)
    worlds = {"calm": pn.Landscape([0.1, 0.9], pn.GaussianNoise(0.05)), "turning": TURNING}
    rule = {"temperature": 0.25, "learning_rate": 0.4}
    plays = [
        pn.simulate(world, pn.QLearning(2), rule, n_decisions=60, rng=rng, subject="a", block=block)
        for block, world in worlds.items()
    ]
    estimate = pn.fit(plays, pn.QLearning(2), parameter_prior=WEAK)
    found = pn.predictive_check(estimate, world=worlds, n_draws=40, rng=rng)
    assert found.n_decisions == 120 and found.how == "played anew"
    with pytest.raises(pn.errors.DataError, match="got none for 'turning' of subject 'a'"):
        pn.predictive_check(estimate, world={"calm": worlds["calm"]}, n_draws=3, rng=rng)


def test_everybody_may_have_a_schedule_of_their_own():
    rng = np.random.default_rng(4)
    worlds = {s: np.cumsum(rng.normal(0, 0.2, (50, 2)), axis=0) for s in ("a", "b")}
    rule = {"temperature": 0.25, "learning_rate": 0.4}
    plays = [
        pn.simulate(world, pn.QLearning(2), rule, rng=rng, subject=s) for s, world in worlds.items()
    ]
    estimates = pn.fit_each(plays, pn.QLearning(2), parameter_prior=WEAK)
    found = pn.predictive_check(estimates, world=worlds, n_draws=5, rng=rng)
    pairs = {(s, None): world for s, world in worlds.items()}
    again = pn.predictive_check(estimates, world=pairs, n_draws=5, rng=rng)
    best = [np.mean(e.chosen == worlds[e.subject].argmax(axis=1)) for e in plays]
    place = found.names.index("best option")
    for one in (found, again):
        assert one.observed[place] == pytest.approx(np.mean(best))


class Bare:
    """A model without agents of its own: it is asked for its variables after every event."""

    weights, shape = pn.QLearning(2).weights, pn.QLearning(2).shape

    def explanatory(self, episode, *psi):
        return pn.QLearning(2).explanatory(episode, *psi)


@pytest.mark.parametrize("own", [True, False])
def test_agents_are_shown_what_people_were_shown(own):
    model = pn.QLearning(2) if own else Bare()
    names = (("temperature" if own else Bare.weights[0]), "learning_rate")
    sure = dict(zip(names, (0.05 if own else 20.0, 0.5), strict=True))
    schedule = np.tile([0.0, 1.0], (30, 1))
    chosen = np.r_[1, 1, 1, np.arange(30) % 2].astype(float)
    rewards = np.r_[5.0, 5.0, 5.0, schedule[np.arange(30), np.arange(30) % 2]]
    chosen[10], rewards[10] = np.nan, np.nan
    is_choice = np.arange(33) >= 3
    seen = pn.Episode(chosen, rewards, is_choice=is_choice, scored=np.arange(33) != 20)
    played = play_like(seen, pn.Task(schedule), model, sure, np.random.default_rng(1))
    np.testing.assert_array_equal(played.chosen[:3], 1)
    np.testing.assert_array_equal(played.rewards[:3], 5.0)
    np.testing.assert_array_equal(played.is_choice, seen.is_choice)
    np.testing.assert_array_equal(played.scored, seen.scored)
    assert played.chosen[10] == -1
    assert played.chosen[3] == 1  # worth 4.4 when play begins, after what was shown


def test_a_world_may_be_drawn_anew():
    estimates = pn.fit_each(_learners(n_subjects=2), pn.QLearning(2), parameter_prior=WEAK)
    found = pn.predictive_check(
        estimates,
        world=lambda rng: rng.random((60, 2)),
        n_draws=5,
        rng=np.random.default_rng(0),
    )
    assert np.isfinite(found.replicated).all()


def test_the_best_option_means_the_same_for_people_and_agents():
    def machines(rng):
        chances = np.repeat([[0.8, 0.2], [0.2, 0.8]], 30, axis=0)
        return (rng.random((60, 2)) < chances).astype(float)

    plays = _learners(n_subjects=4, world=machines)
    estimates = pn.fit_each(plays, pn.QLearning(2), parameter_prior=WEAK)
    best = np.repeat([0, 1], 30)
    found = pn.predictive_check(
        estimates, world=machines, best=best, n_draws=40, n_parts=2, rng=np.random.default_rng(1)
    )
    by_hand = np.mean([(e.chosen == best)[30:].mean() for e in plays])
    assert found.observed[-1] == pytest.approx(by_hand)
    assert (found.p_values > 0.01).mean() > 0.8, found.summary()
    with pytest.raises(
        pn.errors.DataError, match=r"best must hold options in 0..1, one per decision"
    ):
        pn.predictive_check(estimates, best=[0, 2], n_draws=2, rng=np.random.default_rng(1))


def test_agents_run_out_of_time_where_people_did():
    (episode,) = _learners(n_subjects=1)
    chosen, rewards = episode.chosen.astype(float), episode.rewards.copy()
    chosen[10], rewards[10] = np.nan, np.nan
    late = pn.Episode(chosen, rewards)
    estimate = pn.fit(late, pn.QLearning(2), parameter_prior=WEAK)
    found = pn.predictive_check(
        estimate, world=TURNING, n_draws=6, n_parts=1, rng=np.random.default_rng(1)
    )
    assert found.n_decisions == 59
    # shares are multiples of 1/59: as many decisions count as the person made
    np.testing.assert_allclose(found.replicated[:, 0] * 59 % 1, 0.0, atol=1e-9)


def test_choices_among_offers_are_checked():
    rng = np.random.default_rng(3)
    offers = {
        "amount": np.column_stack([rng.uniform(5, 20, 60), rng.uniform(20, 60, 60)]),
        "delay": np.column_stack([np.zeros(60), rng.uniform(5, 200, 60)]),
    }
    rule = {"temperature": 4.0, "discount_rate": 0.02}
    decisions = pn.simulate(offers, pn.HyperbolicDiscounting(), rule, rng=rng)
    estimate = pn.fit(decisions, pn.HyperbolicDiscounting(), parameter_prior=WEAK)
    found = pn.predictive_check(estimate, n_draws=50, rng=rng)
    assert found.p_values[0] > 0.01
    assert found.names == ("share of option 0", "share of option 1", "switches")
    assert "best option" not in found.summary()
    known = pn.predictive_check(estimate, best=[1], n_draws=5, rng=rng)
    assert known.observed[3] == pytest.approx(known.observed[1])
    with pytest.raises(pn.errors.DataError, match="world must be left out for Offers"):
        pn.predictive_check(estimate, world=offers, n_draws=5, rng=rng)


def test_what_best_means_is_said_where_rewards_received_tell_it():
    estimates = pn.fit_each(_learners(n_subjects=2), pn.QLearning(2), parameter_prior=WEAK)

    def said(**given):
        rng = np.random.default_rng(0)
        found = pn.predictive_check(estimates, n_draws=3, rng=rng, **given)
        return "where mean rewards drift, another may be best" in " ".join(found.summary().split())

    assert said() and said(world=lambda rng: TURNING)
    assert said(world={None: lambda rng: TURNING})
    assert not said(world=TURNING) and not said(best=[1] * 30 + [0] * 30)


def test_many_options_have_no_shares_one_by_one():
    world = pn.Landscape(np.arange(15.0), pn.GaussianNoise(1.0))
    rule = {"temperature": 2.0, "learning_rate": 0.5}
    plays = _plays(pn.QLearning(15), rule, n_subjects=2, world=world)
    estimates = pn.fit_each(plays, pn.QLearning(15), parameter_prior=WEAK)
    found = pn.predictive_check(estimates, n_draws=5, rng=np.random.default_rng(0), n_parts=3)
    assert found.names == (
        "switches",
        "best option",
        *(f"best option, part {j} of 3" for j in (1, 2, 3)),
    )


def test_subjects_without_standard_errors_are_left_out_and_counted():
    sure = pn.Episode([0] + [1] * 20, [0.0] + [1.0] * 20, subject="sure")
    plays = [sure, *_learners(n_subjects=3)]
    estimates = pn.fit_each(plays, pn.QLearning(2, learning_rate=0.5))
    found = pn.predictive_check(estimates, n_draws=5, rng=np.random.default_rng(0))
    assert found.left_out == ("sure",) and found.n_decisions == 180
    assert "Left out, without standard errors: 1" in found.summary()
    with pytest.raises(pn.errors.DataError, match="estimate must have standard errors"):
        pn.predictive_check(estimates[0], n_draws=5, rng=np.random.default_rng(0))


def test_agents_without_a_temperature_do_not_play_anew():
    # the reward of the option taken falls and falls: 1/temperature ends at 0
    away = pn.Episode([0, 1] * 12, [1.0, 0.0] * 12, subject="away")
    plays = [away, *_learners(n_subjects=2)]
    model = pn.QLearning(2, learning_rate=0.9, stickiness=True)
    estimates = pn.fit_each(plays, model, parameter_prior=WEAK)
    assert estimates[0].status == "at a bound" and estimates[0].weights[0] == 0.0
    found = pn.predictive_check(estimates, world=TURNING, n_draws=3, rng=np.random.default_rng(0))
    assert found.left_out == ("away",)
    assert pn.predictive_check(estimates, n_draws=3, rng=np.random.default_rng(0)).left_out == ()
    with pytest.raises(pn.errors.DataError, match="finite natural parameters to play anew"):
        pn.predictive_check(estimates[0], world=TURNING, n_draws=3, rng=np.random.default_rng(0))


def test_the_same_randomness_gives_the_same_check():
    estimates = pn.fit_each(_learners(n_subjects=2), pn.QLearning(2), parameter_prior=WEAK)
    first, second = (
        pn.predictive_check(estimates, world=TURNING, n_draws=4, rng=np.random.default_rng(9))
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.replicated, second.replicated)


def test_tables_and_what_figures_take():
    estimates = pn.fit_each(_learners(n_subjects=2), pn.QLearning(2), parameter_prior=WEAK)
    found = pn.predictive_check(estimates, n_draws=6, rng=np.random.default_rng(9))
    rows = found.to_frame(backend="pyarrow")
    assert rows.column("statistic").to_pylist() == list(found.names)
    assert "Posterior predictive check, given what happened" in found.summary()
    predicted, observed = found.shares
    assert predicted.sum() == pytest.approx(1.0) and observed.sum() == pytest.approx(1.0)
    people, simulated = found.curves
    assert people.shape == (1, 5) and simulated.shape == (6, 5)
    axes = pn.figures.figure(columns=2).subplots(1, 2)
    pn.figures.predicted_observed(axes[0], predicted, observed, counts=[120, 120])
    pn.figures.learning_curve(axes[1], people, simulated, quantity="share of the best option")
    assert repr(found).startswith("<PredictiveCheck, given what happened: ")
    assert "<table>" in found._repr_html_()


def test_estimates_need_their_episodes():
    (episode,) = _learners(n_subjects=1)
    estimate = pn.fit(episode, pn.QLearning(2), parameter_prior=WEAK)
    with pytest.raises(
        pn.errors.DataError, match="episodes must be at hand for a predictive check"
    ):
        pn.predictive_check(
            dataclasses.replace(estimate, source=estimate.source.without_data_for_pickling()),
            rng=np.random.default_rng(0),
        )
