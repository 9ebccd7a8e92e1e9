"""A machine beside its operator: what it says, when it is silent, and the rules of safety."""

import re
from dataclasses import replace

import numpy as np
import pytest

import penchant as pn
from penchant.assistance.assistant_beliefs import FieldState, OperatorState
from penchant.assistance.shared_autonomy import ADVICE
from penchant.errors import DataError

PLACES = pn.grid(6, 5)
FIELD = pn.Field(PLACES, mean=30, sd=15, length_scale=1.8, noise_variance=10)
MODEL = pn.UCL(locations=PLACES, noise_variance=10.0, length_scale=3.0)
WHO = {"decision_noise": 6.0, "prior_mean": 30.0, "prior_variance": 120.0}


def refused(message: str):
    return pytest.raises(DataError, match=re.escape(message))


def landscape(seed=3):
    rng = np.random.default_rng(seed)
    root = np.linalg.cholesky(FIELD.covariance() + 1e-8 * np.eye(30))
    return pn.Landscape(30 + root @ rng.standard_normal(30), pn.GaussianNoise(10.0))


def with_map(place, similarity=0.95):
    """An operator who knows the landscape well."""
    belief = 30 + similarity * (place.mean_rewards - 30)
    model = pn.UCL(
        locations=PLACES, noise_variance=10.0, length_scale=3.0, prior_map=pn.MapBasis.of([belief])
    )
    natural = {**WHO, "prior_mean": belief.mean(), "map_1": belief.std(), "prior_variance": 40.0}
    return {"operator": model, "parameters": natural}


def team(mode="suggest", n_episodes=2, seed=5, n_decisions=25, **options):
    helper = pn.assist(MODEL, FIELD, mode=mode, unassisted=None, **options)
    rng = np.random.default_rng(seed)
    plays = []
    for k in range(n_episodes):
        place = landscape(seed + k)
        who = with_map(place)
        plays.append(
            pn.simulate_team(place, helper=helper, n_decisions=n_decisions, rng=rng, **who)
        )
    return helper, plays


@pytest.fixture(scope="module")
def suggested():
    return team()


def rows(helper):
    return [row for row in helper.log if "proposed" in row]


def test_the_field_learns_as_gaussian_conditioning_says():
    state = FieldState.before_play(FIELD)
    options, rewards = [4, 11, 4, 20], [41.0, 22.0, 38.0, 30.0]
    for option, reward in zip(options, rewards, strict=True):
        state.observe(option, reward)
    found = state.posterior(0.0, np.zeros(30))
    covariance = FIELD.covariance()
    inner = covariance[np.ix_(options, options)] + 10 * np.eye(4)
    gain = np.linalg.solve(inner, covariance[options]).T
    np.testing.assert_allclose(found.mean, 30 + gain @ (np.array(rewards) - 30), rtol=1e-10)
    after = covariance - gain @ covariance[options]
    np.testing.assert_allclose(found.sd(), np.sqrt(np.diag(after)), rtol=1e-8)
    np.testing.assert_allclose(found.covariance_with(7), after[7], rtol=1e-8, atol=1e-8)


def test_a_trusted_map_is_a_mean_that_rewards_correct():
    belief = np.zeros(30)
    belief[5] = 20.0
    state = FieldState.before_play(FIELD)
    assert state.posterior(0.8, belief).mean[5] == pytest.approx(30 + 16.0)
    for _ in range(30):
        state.observe(5, 25.0)
    assert state.posterior(0.8, belief).mean[5] == pytest.approx(25.0, abs=1.0)


def test_trust_follows_whether_the_map_was_right():
    truth = landscape(8).mean_rewards - 30
    options = np.arange(0, 30, 2)
    right = pn.Trust().updated_by_episode(FIELD, truth, options, 30 + truth[options])
    wrong = pn.Trust().updated_by_episode(FIELD, -truth, options, 30 + truth[options])
    assert right.mean > 0.8 and wrong.mean < ADVICE.min_trust and right.sd < 0.5
    fixed = pn.Trust(0.4, fixed=True)
    assert fixed.updated_by_episode(FIELD, truth, options, 30 + truth[options]).mean == 0.4


# -- the rules of safety ---------------------------------------------------------------------------


def test_rule_1_nothing_else_than_proposed_is_executed_unless_the_owner_set_decide():
    for mode in ("watch", "suggest"):
        helper, plays = team(mode)
        assert all(row["kind"] != "decide" for row in rows(helper))
        for row in rows(helper):
            assert row["executed"] in (row["proposed"], row["advised"])
    helper = pn.assist(MODEL, FIELD, unassisted=None)
    helper.proposed(3)
    with refused("option must be what was proposed or advised; got 9, but they are 3."):
        helper.executed(9, 31.0)
    helper.executed(3, 31.0)
    decided, plays = team("decide")
    assert (plays[1].executed != plays[1].chosen).any()
    assert "decides" in decided.announcement  # and is shown
    both = [(row["proposed"], row["executed"]) for row in rows(decided)][-25:]
    assert both == list(zip(plays[1].chosen.tolist(), plays[1].executed.tolist(), strict=True))
    said = decided.proposed(7)
    assert said.kind == "decide" and said.option not in (None, 7)
    with refused(f"option must be what was proposed or advised; got 7, but they are {said.option}"):
        decided.executed(7, 31.0)


def test_rule_2_every_advice_has_a_reason_made_of_its_numbers(suggested):
    given = [row for row in rows(suggested[0]) if row["kind"] == "suggest"]
    assert given
    for row in given:
        assert f"option {row['advised']} " in row["reason"]
        numbers = re.search(r": (-?\d+) is expected there, and (-?\d+) at (\d+)\.", row["reason"])
        there, here, where = map(int, numbers.groups())
        assert where == row["proposed"]
        assert there - here == pytest.approx(row["gain"], abs=1.01)
    assert all(row["reason"] for row in rows(suggested[0]))


def test_rule_3_there_is_silence_where_too_little_is_known(suggested):
    short = pn.assist(MODEL, FIELD, unassisted=None)
    rng = np.random.default_rng(1)
    pn.simulate_team(landscape(), MODEL, short, parameters=WHO, n_decisions=4, rng=rng)
    said = short.proposed(3)
    assert said.kind == "silent" and said.option is None
    assert "choices were seen" in said.reason or "not converged" in said.reason
    random = pn.assist(MODEL, FIELD, unassisted=None)
    for _ in range(2):
        for option in rng.integers(0, 30, 25):
            random.proposed(int(option))
            random.executed(int(option), float(rng.normal(30, 3)))
        random.end_episode()
    quiet = [row for row in rows(random) if row["assisted"]]
    assert all(row["kind"] == "silent" for row in quiet[5:])
    for row in rows(suggested[0]):
        if row["kind"] == "suggest":
            assert row["p_better"] > 0.7 and row["prequential"] > 0.1


@pytest.fixture(scope="module")
def about_to_suggest(suggested):
    """The log of a machine up to a suggestion, and the option it is made for."""
    log = suggested[0].log
    at = next(k for k, row in enumerate(log) if row.get("kind") == "suggest")
    return log[:at], log[at]["proposed"]


def test_rule_3_there_is_silence_where_the_model_of_the_operator_has_not_converged(
    suggested, about_to_suggest, monkeypatch
):
    log, option = about_to_suggest
    assert suggested[0].copy_after_log(log).proposed(option).kind == "suggest"
    again = suggested[0].copy_after_log(log)
    again.operator_profile = replace(again.operator_profile, converged=False)
    said = again.proposed(option)
    assert said.kind == "silent" and "has not converged" in said.reason
    again = suggested[0].copy_after_log(log[:-1])

    def fails(state, n_steps):
        state.is_at_mode = False

    monkeypatch.setattr(OperatorState, "update_mode", fails)
    for _ in range(3):  # Newton's steps are taken at every third choice
        again.proposed(option)
        again.executed(option, 30.0)
    said = again.proposed(option)
    assert said.kind == "silent" and "has not converged" in said.reason


def test_rule_4_a_trust_below_a_fifth_turns_the_map_off():
    helper = pn.assist(MODEL, FIELD, mode="decide", trust=pn.Trust(0.19, fixed=True))
    plain = pn.assist(MODEL, FIELD, mode="decide", trust=pn.Trust(0.0, 0.0))
    assert helper.effective_trust == 0.0
    said = []
    for machine in (helper, plain):
        team_of = np.random.default_rng(2)
        for _ in range(2):
            place = landscape(4)
            pn.simulate_team(place, helper=machine, n_decisions=12, rng=team_of, **with_map(place))
        said.append([row["advised"] for row in rows(machine)])
    assert said[0] == said[1]
    assert pn.assist(MODEL, FIELD, trust=pn.Trust(0.21, 0.1)).effective_trust == 0.21


def accepting(helper, less):
    """Somebody takes every suggestion, which pays so much less than it should; how many there were.

    Ends with the first advice that says so.
    """
    place, rng = landscape(9), np.random.default_rng(3)
    who = with_map(place)
    operator = who["operator"].agents(who["parameters"], 1)
    last, accepted = None, 0
    for _ in range(80):
        p = operator.probabilities()[0]
        option = int(rng.choice(30, p=p / p.sum()))
        last = helper.proposed(option)
        if "paid less than predicted" in last.reason:
            break
        done = option if last.option is None else last.option
        accepted += last.kind == "suggest"
        reward = place.draw(done, rng=rng) - (less if last.kind == "suggest" else 0.0)
        helper.executed(done, reward)  # the operator is not told, and goes on
        operator.observe(np.array([option]), np.array([place.mean_rewards[option]]))
    return last, accepted


def test_rule_5_suggestions_end_where_they_pay_less_than_predicted():
    helper, _ = team(n_episodes=1)
    paying = pn.results.replay(helper)
    last, accepted = accepting(helper, 30.0)
    assert "paid less than predicted" in last.reason and last.kind == "silent"
    assert accepted >= 8 and helper.accepted_payoff_z < -2
    helper.executed(helper.last, 31.0)
    helper.end_episode()
    assert helper.is_assisted and helper.accepted_payoff_z == 0.0  # for the episode, and no longer
    last, accepted = accepting(paying, 0.0)
    assert accepted >= 8 and "paid less than predicted" not in last.reason


def test_rule_6_noise_and_trust_are_learnt_from_announced_episodes_without_assistance():
    helper = pn.assist(MODEL, FIELD, unassisted=5, rng=4)
    assert "without assistance" in helper.announcement and not helper.is_assisted
    rng = np.random.default_rng(6)
    for _ in range(14):
        before, assisted = (helper.trust, helper.operator_profile), helper.is_assisted
        told = helper.announcement
        place = landscape(4)
        pn.simulate_team(place, helper=helper, n_decisions=12, rng=rng, **with_map(place))
        assert assisted == ("without assistance" not in told)
        assert ((helper.trust, helper.operator_profile) == before) or not assisted
    flags = {row["episode"]: row["assisted"] for row in rows(helper)}
    assert flags[0] is False and 2 <= sum(not flag for flag in flags.values()) <= 9
    assert all(row["kind"] == "silent" for row in rows(helper) if not row["assisted"])


def test_rule_7_the_person_can_see_and_delete_the_log(suggested):
    helper, plays = team(n_episodes=1, n_decisions=12)
    assert [row["executed"] for row in rows(helper)] == plays[0].executed.tolist()
    assert helper.operator_profile.converged
    helper.forget()
    assert helper.log == [] and helper.n_scored == 0 and not helper.operator_profile.converged
    assert helper.trust == pn.Trust()


def test_rule_8_the_same_log_gives_the_same_advice_bit_for_bit(suggested):
    helper = suggested[0]
    again = pn.results.replay(helper)
    assert again.log == helper.log
    assert again.trust == helper.trust and again.operator_profile == helper.operator_profile
    np.testing.assert_array_equal(again.belief(), helper.belief())
    changed = [dict(row) for row in helper.log]
    told = next(row for row in changed if row.get("kind") == "suggest")
    told["p_better"] += 1e-15 + 2e-16
    with refused("log must be that of this machine; got p_better"):
        helper.copy_after_log(changed)


# -- other ---------------------------------------------------------------------------------------


def test_what_is_said_has_to_come_in_order():
    helper = pn.assist(MODEL, FIELD)
    with refused("executed must follow proposed; got no proposal."):
        helper.executed(3, 1.0)
    helper.proposed(3)
    with refused("proposed must be followed by executed; got another proposal."):
        helper.proposed(4)
    with refused("end_episode must follow executed; got a proposal."):
        helper.end_episode()
    with refused("option must lie in 0..29; got 30."):
        pn.assist(MODEL, FIELD).proposed(30)
    with refused("mode must be one of watch, suggest, decide; got 'suggests'."):
        pn.assist(MODEL, FIELD, mode="suggests")
    with refused("model must fix length_scale"):
        pn.assist(pn.UCL(locations=PLACES, noise_variance=10.0), FIELD)
    with refused("sd must be > 0; got 0."):
        pn.Field(PLACES, mean=30, sd=0, length_scale=2, noise_variance=1)


def test_what_is_no_machine_field_or_trust_is_refused_in_a_sentence():
    with refused("field must be a Field, what the machine itself believes; got None."):
        pn.assist(MODEL, None)
    with refused("field must have the 30 options of the model; got 12."):
        pn.assist(MODEL, pn.Field(pn.grid(4, 3), mean=3, sd=1, length_scale=1, noise_variance=1))
    with refused("model must be UCL, whose player has a map in mind; got the class UCL."):
        pn.assist(pn.UCL, FIELD)
    with refused("model must be UCL, whose player has a map in mind; got QLearning."):
        pn.assist(pn.QLearning(30), FIELD)
    with refused("trust must be a Trust; got 0.5."):
        pn.assist(MODEL, FIELD, trust=0.5)
    with refused("rng must be a whole number, 0 or more; got -1."):
        pn.assist(MODEL, FIELD, rng=-1)
    alone = pn.grid(1, 1)
    with refused("model must have two options or more; got 1."):
        pn.assist(
            pn.UCL(locations=alone, noise_variance=1.0, length_scale=1.0),
            pn.Field(alone, mean=3, sd=1, length_scale=1, noise_variance=1),
        )
    with refused("log must have what was proposed, executed and its reward in every row; got"):
        pn.results.replay(pn.assist(MODEL, FIELD), [{"proposed": 3}])


@pytest.mark.parametrize("reward", ["much", [31.0], np.inf, np.nan])
def test_a_reward_that_is_refused_leaves_the_decision_open(reward):
    helper = pn.assist(MODEL, FIELD)
    helper.proposed(3)
    with refused("reward must be finite, or None; got"):
        helper.executed(3, reward)
    assert helper.log == [] and helper.last == 3
    helper.executed(3, 31.0)
    assert helper.log[0]["reward"] == 31.0


def test_an_episode_without_any_reward_ends_and_leaves_trust_as_it_was():
    helper = pn.assist(MODEL, FIELD, unassisted=None)
    for option in (3, 9, 4):
        helper.proposed(option)
        helper.executed(option)
    helper.end_episode()
    assert helper.trust.mean == 0.5 and helper.is_assisted
    assert helper.proposed(4).kind == "silent"


def test_a_reward_that_is_not_known_is_not_learnt_from():
    helper = pn.assist(MODEL, FIELD)
    helper.proposed(3)
    helper.executed(3, None)
    assert helper.log[0]["reward"] is None
    assert helper.proposed(4).kind == "silent"
