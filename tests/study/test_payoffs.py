"""Payoffs of every option: agents play the task as it was; without them nobody plays anew."""

import functools
import re

import numpy as np
import pandas as pd
import pytest

import penchant as pn
from penchant.models.simulate import agents_of
from penchant.studies.fitting import how_simulated, predict_one_step_ahead, simulate_agents
from penchant.studies.landscapes import Measurer, landscapes_of
from penchant.studies.payoffs import usual_columns

MODEL = pn.QLearning(3)
RULE = {"temperature": 0.35, "learning_rate": 0.45}
NAMES = ["payoff_1", "payoff_2", "payoff_3"]


@functools.lru_cache
def _rows(n_subjects, noise):
    """Everybody has drifting payoffs of their own, two blocks, and blocks of different lengths."""
    rng = np.random.default_rng(5)
    rows = []
    for s in range(n_subjects):
        for block in ("x", "y"):
            n = 40 + 5 * (s % 3) + (block == "y")
            means = 0.4 + np.cumsum(rng.normal(0, 0.25, (n, 3)), axis=0)
            paid = means + noise * rng.standard_normal((n, 3))
            agent = agents_of(MODEL, RULE, 1)
            for t in range(n):
                p = agent.probabilities()[0]
                option = int(rng.choice(3, p=p / p.sum()))
                agent.observe(np.array([option]), paid[t, [option]])
                said = paid[t] if not noise else means[t]
                rows.append((f"s{s:02d}", block, t, option, paid[t, option], *said))
    return tuple(rows)


def restless(n_subjects=4, noise=0.0) -> pd.DataFrame:
    names = ["subject", "block", "trial", "choice", "reward", *NAMES]
    return pd.DataFrame(list(_rows(n_subjects, noise)), columns=names)


def measurer(frame, **options):
    data = pn.read_study(frame, **options)
    return Measurer(data, landscapes_of(data, 3, None))


def again(one, subject="s01", n=1, seed=1, parameters=RULE):
    rng = np.random.default_rng(seed)
    return simulate_agents(subject, parameters, MODEL, one, n_replicates=n, rng=rng)


def refused(message, frame, **options):
    with pytest.raises(pn.errors.DataError, match=re.escape(message)):
        pn.read_study(frame, **options)


# -- agents in the task as it was ------------------------------------------------------------------


def test_agents_are_paid_by_the_subjects_own_payoffs_at_every_decision():
    frame = restless()
    frame = frame[frame.block == "x"]
    for subject in ("s01", "s02"):
        own = frame[frame.subject == subject]
        found = again(measurer(frame), subject)
        assert len(found.reward) == len(own)
        paid = np.isclose(found.reward[:, None], own[NAMES].to_numpy(), rtol=1e-12)
        assert paid.any(axis=1).all()


def test_agents_with_a_persons_parameters_earn_what_people_do_in_a_restless_task():
    one = measurer(restless(30))
    people = np.array([np.nanmean(one.subject(s).reward) for s in one.data.subjects])
    agents = np.array([np.nanmean(again(one, s, n=20).reward) for s in one.data.subjects])
    difference = people - agents
    error = difference.std(ddof=1) / np.sqrt(len(people))
    assert abs(difference.mean()) < 3.5 * error
    # payoffs drift by 1.6 over a block: an option's mean over everybody tells agents nothing
    assert people.mean() > restless(30)[NAMES].to_numpy().mean() + 5 * error


def test_agents_meet_the_reversal_where_people_met_it():
    half = np.repeat([[1.0, 0.0, 0.2]], 40, axis=0)
    values = np.concatenate([half, half[:, [1, 0, 2]]])
    frame = pd.DataFrame(values, columns=NAMES)
    frame = frame.assign(subject=1, trial=range(80), choice=np.arange(80) % 3)
    frame["reward"] = values[np.arange(80), frame.choice]
    sure = {"temperature": 0.1, "learning_rate": 0.5}
    found = again(measurer(frame), 1, n=200, parameters=sure)
    before, after, late = found.reward[35:40].mean(), found.reward[40:42].mean(), found.reward[-5:]
    assert before > 0.9
    assert after < 0.3
    assert late.mean() > 0.6


def test_decisions_missed_and_options_shown_need_no_payoffs():
    frame = restless().astype({"choice": float}).assign(forced=0)
    frame = frame[(frame.subject == "s01") & (frame.block == "x")].reset_index(drop=True)
    frame.loc[[3, 4], ["choice", "reward", *NAMES]] = np.nan
    frame.loc[0, "forced"] = 1
    frame.loc[0, NAMES[1:]] = np.nan
    frame.loc[0, ["choice", "reward"]] = 0, frame.payoff_1[0]
    found = again(measurer(frame))
    assert len(found.reward) == len(frame) - 1
    assert np.isnan(found.reward[[2, 3]]).all()
    assert np.isfinite(np.delete(found.reward, [2, 3])).all()


def test_subjects_in_several_conditions_have_the_payoffs_of_each():
    frame = restless().assign(drug=lambda f: f.block.map({"x": "no", "y": "yes"}))
    one = measurer(frame, conditions=["drug"])
    own = frame[(frame.subject == "s02") & (frame.drug == "yes")]
    found = again(one, "s02, yes")
    paid = np.isclose(found.reward[:, None], own[NAMES].to_numpy(), rtol=1e-12)
    assert len(paid) == len(own) and paid.any(axis=1).all()


def test_the_order_of_rows_does_not_matter():
    shuffled = restless().sample(frac=1, random_state=2)
    np.testing.assert_array_equal(
        again(measurer(restless())).reward, again(measurer(shuffled)).reward
    )


def test_the_last_reward_may_be_missing():
    frame = restless()
    last = frame.groupby(["subject", "block"]).trial.transform("max") == frame.trial
    frame.loc[last, "reward"] = np.nan
    found = again(measurer(frame))
    assert np.isfinite(found.reward).all()


# -- rewards, means, probabilities -----------------------------------------------------------------


def test_rewards_are_told_from_means_with_noise():
    exact, noisy = (pn.read_study(restless(noise=noise)).payoffs for noise in (0.0, 0.3))
    assert (exact.kind, exact.noise_variance) == ("rewards", 0.0)
    assert noisy.kind == "means"
    assert noisy.noise_variance == pytest.approx(0.09, rel=0.3)  # 350 squares: error 0.08
    assert "with normal noise of variance" in noisy.notes[0]
    assert re.search(r"differ from these columns \(the first: \S+ at row 0", noisy.notes[0])


def test_noise_is_that_of_the_condition():
    quiet, loud = (restless(noise=noise) for noise in (0.3, 3.0))
    loud["subject"] = "loud " + loud["subject"]
    both = pd.concat([quiet.assign(noise="low"), loud.assign(noise="high")])
    payoffs = pn.read_study(both, conditions=["noise"], payoffs=NAMES).payoffs
    for i, variance in ((0, 9.0), (-1, 0.09)):  # subjects are sorted by name
        assert payoffs.noise_by_episode[i] == pytest.approx(variance, rel=0.3)
    draw = payoffs.draws(len(payoffs.values) - 1, np.random.default_rng(1))
    assert draw(7, np.zeros(3000, dtype=int)).std() == pytest.approx(0.3, rel=0.2)
    assert ", by condition" in payoffs.notes[0]


def test_noise_that_is_given_is_drawn_around_the_means():
    frame = restless(noise=0.3)
    one = measurer(frame[frame.block == "x"], payoffs=NAMES, payoff_noise=4.0)
    assert one.data.payoffs.noise_variance == 4.0
    draw = one.data.payoffs.draws(0, np.random.default_rng(1))
    options = np.tile([0, 1, 2], 3000)
    rewards = draw(7, options)
    means = frame[NAMES].to_numpy()[7]
    assert np.abs(rewards - means[options]).std() > 1
    for option in range(3):
        assert rewards[options == option].mean() == pytest.approx(means[option], abs=0.18)


def test_probabilities_are_told_by_rewards_of_two_values():
    rng = np.random.default_rng(3)
    p = rng.uniform(0.1, 0.9, (400, 2))
    choice = rng.integers(2, size=400)
    won = rng.random(400) < p[np.arange(400), choice]
    frame = pd.DataFrame({"subject": 1, "choice": choice, "reward": np.where(won, 5, -1)})
    frame = frame.assign(prob_A=p[:, 0], prob_B=p[:, 1])
    found = pn.read_study(frame).payoffs
    assert (found.kind, found.two, found.columns) == (
        "probabilities",
        (-1, 5),
        ("prob_A", "prob_B"),
    )
    np.testing.assert_allclose(found.means(0), -1 + 6 * p, rtol=1e-12)
    paid = found.draws(0, np.random.default_rng(1))(11, np.zeros(5000, dtype=int))
    assert set(paid) == {-1.0, 5.0}
    assert (paid == 5).mean() == pytest.approx(p[11, 0], abs=0.03)


def test_regret_is_that_of_the_best_option_at_each_decision_where_means_are_known():
    frame = restless(noise=0.3)
    one = measurer(frame[frame.block == "x"])
    own = frame[(frame.block == "x") & (frame.subject == "s01")]
    means = own[NAMES].to_numpy()
    loss = means.max(axis=1) - means[np.arange(len(own)), own.choice]
    np.testing.assert_allclose(one.subject("s01").loss, loss, rtol=1e-12)
    assert one.landscapes.source == "payoffs"
    assert "at every decision" in one.landscapes.description


# -- which columns ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "labels", "columns"),
    [
        (["payoff_2", "payoff_1"], None, ("payoff_1", "payoff_2")),
        (["reward", "reward0", "reward1", "reward2"], None, ("reward0", "reward1", "reward2")),
        (["mean_A", "mean_B"], None, ("mean_A", "mean_B")),
        (["option1_mean", "option2_mean"], None, ("option1_mean", "option2_mean")),
        (["rewardLeft", "rewardRight"], ["left", "right"], ("rewardLeft", "rewardRight")),
        (["Payoff.arm.1", "Payoff.arm.2"], None, ("Payoff.arm.1", "Payoff.arm.2")),
        (["p_reward_1", "p_reward_2"], None, ("p_reward_1", "p_reward_2")),
    ],
)
def test_usual_names_are_recognised_in_the_order_of_the_options(names, labels, columns):
    assert usual_columns(names, labels)[0] == columns


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["payoff_2", "payoff_3"], None),
        (["payoff"], None),
        (["payoff_1", "payoff_2"], ["left", "right"]),
        (["rt_1", "rt_2"], None),
    ],
)
def test_other_names_are_not(names, labels):
    assert usual_columns(names, labels) == []


def test_a_pattern_stands_for_columns_sorted_by_their_numbers():
    frame = restless().rename(columns={"payoff_1": "a_2", "payoff_2": "a_10", "payoff_3": "a_30"})
    assert pn.read_study(frame).payoffs is None
    assert pn.read_study(frame, payoffs="a_*").payoffs.columns == ("a_2", "a_10", "a_30")


def test_columns_may_be_left_alone():
    assert pn.read_study(restless(), payoffs="none").payoffs is None


def test_recognised_columns_that_disagree_with_the_rewards_are_not_used_and_that_is_said():
    frame = restless()
    frame[NAMES] = frame[NAMES].to_numpy()[:, [1, 2, 0]] + 3
    data = pn.read_study(frame)
    assert data.payoffs is None
    (note,) = [note for note in data.notes if "payoff" in note]
    assert note.startswith(
        "Columns payoff_1, payoff_2, payoff_3 are not taken for payoffs of the options: payoffs "
        "must be what the options pay"
    )


def test_named_columns_that_disagree_with_the_rewards_are_refused_with_the_row():
    frame = restless()
    frame[NAMES] = frame[NAMES] + 30
    refused(
        "payoffs must be what the options pay, so that rewards received agree with the column of "
        "the option chosen; got",
        frame,
        payoffs=NAMES,
    )


def test_a_few_rewards_that_disagree_are_said_with_the_first_row():
    frame = restless()
    frame.loc[[17, 20], "reward"] = 99.0
    data = pn.read_study(frame)
    column, said = NAMES[frame.choice[17]], frame[NAMES].to_numpy()[17, frame.choice[17]]
    assert data.notes[-1] == (
        f"2 rewards of {len(frame)} cannot come from the payoff of the option chosen; the first is "
        f"99 at row 17 (subject s00), where column {column} says {said:g}."
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"payoffs": ["payoff_1", "payof_2"]}, "payoffs must name a column of the table; got"),
        ({"payoffs": "money_*"}, "payoffs must name columns of the table; got 'money_*', which"),
        (
            {"payoffs": NAMES[:2]},
            "payoffs must be a column for each of 3 options; got 2 columns.\n"
            "Name them in the order",
        ),
        ({"payoffs": NAMES, "payoff_noise": -1.0}, "payoff_noise must be a variance, 0 or more;"),
        ({"payoff_noise": 2.0}, "payoffs must be given with payoff_noise; got none."),
    ],
)
def test_wrong_names_and_noise_are_refused(options, message):
    refused(message, restless(), **options)


def test_an_empty_payoff_is_refused_with_its_row():
    frame = restless()
    frame.loc[6, "payoff_2"] = np.nan
    refused(
        "payoffs 'payoff_2' must be a number wherever an option was chosen; got nan at row 6 "
        "(subject s00).\nFill it, or leave the columns out.",
        frame,
        payoffs=NAMES,
    )


def test_payoffs_of_other_options_than_the_models_are_refused_or_said():
    frame = restless()
    frame = frame[frame.choice < 2]
    run = functools.partial(pn.study, model=pn.QLearning(2), n_bootstrap=0, intervals="wald")
    named = pn.read_study(frame, gaps="order", payoffs=NAMES)
    with pytest.raises(
        pn.errors.DataError, match="payoffs must be a column for each of 2 options; got 3"
    ):
        run(named)
    found = run(pn.read_study(frame, gaps="order"))
    assert "of which the model has 2" in found.data.notes[-1]
    assert found.how_simulated == "one step ahead"


# -- one step ahead --------------------------------------------------------------------------------


def test_without_payoffs_every_choice_is_foretold_from_the_subjects_own_history():
    frame = restless().drop(columns=NAMES)
    one = measurer(frame)
    assert how_simulated(one.data, one.landscapes) == "one step ahead"
    episodes = [one.data.episodes[i] for i in one.data.of("s01")]
    estimate = pn.fit(episodes, MODEL)
    found = predict_one_step_ahead("s01", estimate.theta, MODEL, one)
    rule = {p.name: p.estimate for p in estimate.parameters}
    steps, top, met = [], [], []
    for episode in episodes:
        agent = agents_of(MODEL, rule, 1)
        own = np.full((3, len(episode.chosen)), np.nan)
        for t, (option, reward) in enumerate(zip(episode.chosen, episode.rewards, strict=True)):
            p = agent.probabilities()[0]
            own[0, t] = np.nan if t == 0 else 1 - p[episode.chosen[t - 1]]
            own[1, t], own[2, t] = p.max(), option == p.argmax()
            agent.observe(np.array([option]), np.array([reward]))
        for rows, row in zip((steps, top, met), own, strict=True):
            rows.append(row)
    short = min(map(len, steps))
    for rows, measure in ((steps, "distance"), (top, "likeliest"), (met, "met")):
        expected = np.mean([row[:short] for row in rows], axis=0)
        np.testing.assert_allclose(getattr(found, measure)[:short], expected, rtol=1e-6, atol=1e-9)
    assert np.isnan(found.reward).all() and np.isnan(found.loss).all()


def test_a_study_without_payoffs_says_that_nobody_played_anew():
    frame = restless(6).drop(columns=NAMES)
    found = pn.study(pn.read_study(frame), MODEL, n_bootstrap=0, intervals="wald")
    table = found.to_frame("forward", "pandas")
    assert set(table.how) == {"one step ahead"}
    agents = table.groupby("measure").simulated.apply(lambda values: values.notna().any())
    assert agents.to_dict() == {
        "reward": False,
        "distance": True,
        "likeliest": True,
    }
    likeliest = table[table.measure == "likeliest"]
    weights = likeliest.n_subjects
    gap = np.average(likeliest.people - likeliest.simulated, weights=weights)
    assert abs(gap) < 0.05  # 500 decisions: error 0.02


def test_means_of_options_chosen_let_agents_play_only_if_every_option_was_chosen():
    frame = restless().drop(columns=NAMES)
    frame["mean"] = frame.choice.map({0: 0.3, 1: 0.5, 2: 0.9})
    whole = measurer(frame, expected="mean")
    assert how_simulated(whole.data, whole.landscapes) == "landscape"
    data = pn.read_study(frame[frame.choice < 2], expected="mean", gaps="order")
    assert how_simulated(data, landscapes_of(data, 3, None)) == "one step ahead"


def test_payoffs_are_part_of_what_makes_a_study_the_same():
    frame, other = restless(), restless()
    other.loc[3, NAMES] += 1e-3 * (np.arange(3) != other.choice[3])
    options = {"n_replicates": 0, "n_bootstrap": 0, "intervals": "wald"}
    one, two = (pn.study(pn.read_study(f), MODEL, **options) for f in (frame, other))
    assert one.fingerprint()["data"] != two.fingerprint()["data"]


@pytest.mark.parametrize("reverses", [False, True])
def test_classes_are_made_by_themselves_only_where_one_option_stays_the_best(reverses):
    rng = np.random.default_rng(5)
    rows = []
    for subject in range(6):
        for t in range(30):
            p = (0.2, 0.7) if t < 15 or not reverses else (0.7, 0.2)
            chosen = int(rng.random() < 0.6)
            rows.append((f"s{subject}", t, chosen, int(rng.random() < p[chosen]), *p))
    names = ["subject", "trial", "chosen", "reward", "p_left", "p_right"]
    data = pn.read_study(pd.DataFrame(rows, columns=names), payoffs=["p_left", "p_right"])
    found = pn.study(data, pn.QLearning(2), n_bootstrap=0, n_replicates=1, intervals="wald")
    assert found.plan.performance is not reverses
    assert found.how_simulated == "payoffs"
