"""Recovery: what goes in comes back, and what does not is said."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

import penchant as pn
from penchant.workflow.parameter_recovery import RecoveredParameter, draw_parameters_of_people

TASK = pn.Task(pn.Landscape([0.25, 0.7], pn.GaussianNoise(0.05)), n_decisions=110)
RANGES = {"temperature": (0.15, 0.4), "learning_rate": (0.2, 0.7)}


def _coin(n_decisions):
    """Two options that pay nothing of interest."""
    return pn.Task(pn.Landscape([0.3, 0.4], pn.GaussianNoise(0.1)), n_decisions=n_decisions)


def _recovered(**changed):
    given = {
        "name": "rate",
        "true": np.array([1.0, 2.0, 3.0, 4.0]),
        "estimated": np.array([1.5, 2.5, np.nan, 3.0]),
        "interval": np.array([[0.5, 2.0], [2.2, 2.8], [np.nan, np.nan], [1.0, np.inf]]),
        "statuses": ("converged", "converged", "separated", "at a bound"),
        "positive": False,
    }
    return RecoveredParameter(**{**given, **changed})


def test_bias_and_spread_are_of_those_with_an_estimate():
    found = _recovered()
    assert found.errors == pytest.approx([0.5, 0.5, -1.0])
    assert found.bias == pytest.approx(0.0)
    assert found.rmse == pytest.approx(np.sqrt((0.25 + 0.25 + 1.0) / 3))
    assert found.bias_error == pytest.approx(np.std([0.5, 0.5, -1.0], ddof=1) / np.sqrt(3))
    assert found.share_without == pytest.approx(1 / 4)
    assert np.isnan(found.log_bias) and np.isnan(found.log_rmse)


def test_coverage_is_of_those_with_an_interval():
    found = _recovered()
    assert found.coverage == pytest.approx(2 / 3)
    assert found.coverage_error == pytest.approx(np.sqrt(2 / 9 / 3))


def test_correlations_of_positive_parameters_are_of_logarithms():
    true, estimated = np.array([0.1, 1.0, 10.0, 30.0]), np.array([0.2, 0.9, 25.0, 16.0])
    found = _recovered(true=true, estimated=estimated, positive=True)
    by_hand = stats.pearsonr(np.log(true), np.log(estimated)).statistic
    assert found.correlation == pytest.approx(by_hand)
    assert found.rank_correlation == pytest.approx(stats.spearmanr(true, estimated).statistic)
    assert found.log_bias == pytest.approx(np.log(estimated / true).mean())


def test_true_values_that_do_not_vary_have_no_correlation():
    assert np.isnan(_recovered(true=np.full(4, 2.0)).correlation)


def test_the_table_of_where_has_a_row_for_each_of_few_true_values():
    found = _recovered(true=np.array([1.0, 1.0, 3.0, 3.0])).where()
    assert [row["true_low"] for row in found] == [1.0, 3.0]
    assert [row["n"] for row in found] == [2, 2]
    assert [row["without_estimate"] for row in found] == [0.0, 0.5]
    assert found[0]["converged"] == 1.0
    assert (found[1]["separated"], found[1]["at a bound"]) == (0.5, 0.5)
    assert found[0]["relative_width"] == pytest.approx((1.5 + 0.6) / 2)
    assert found[1]["relative_width"] == np.inf


def test_many_true_values_are_cut_into_parts_of_as_many_people():
    rng = np.random.default_rng(0)
    true = rng.random(103)
    found = _recovered(
        true=true,
        estimated=true + 0.1,
        interval=np.column_stack([true, true + 1]),
        statuses=("converged",) * 103,
    ).where(4)
    assert [row["n"] for row in found] == [26, 26, 26, 25]
    assert all(a["true_high"] <= b["true_low"] for a, b in pairwise(found))
    assert all(row["bias"] == pytest.approx(0.1) for row in found)


def test_intervals_of_a_bias_cover_as_often_as_they_say():
    # one weight, an indicator: the logit of a share, nearly normal at n = 80
    found = pn.recover(
        pn.models.RandomChoice(2),
        _coin(80),
        {"bias_0": (-0.8, 0.8)},
        n_subjects=300,
        rng=np.random.default_rng(7),
    ).of("bias_0")
    assert found.share_without == 0.0
    assert found.coverage == pytest.approx(0.95, abs=3.5 * np.sqrt(0.95 * 0.05 / 300))
    assert abs(found.bias) < 4 * found.bias_error + 0.02
    # spread of the logit: 1 / sqrt(n p (1 - p)), averaged over the range
    p = 1 / (1 + np.exp(-found.true))
    assert found.rmse == pytest.approx(np.sqrt(np.mean(1 / (80 * p * (1 - p)))), rel=0.15)


def test_learners_are_recovered_better_from_more_decisions():
    few, many = (
        pn.recover(
            pn.QLearning(2),
            TASK.with_decisions(n),
            RANGES,
            n_subjects=24,
            rng=np.random.default_rng(3),
        ).of("temperature")
        for n in (60, 360)
    )
    assert many.log_rmse < 0.6 * few.log_rmse
    assert many.rank_correlation > 0.8


def test_people_without_an_estimate_are_counted_and_not_averaged():
    sure = {"temperature": 0.005, "learning_rate": 0.5}
    found = pn.recover(
        pn.QLearning(2),
        TASK.with_decisions(25),
        sure,
        n_subjects=12,
        rng=np.random.default_rng(1),
    )
    assert found.counts()["separated"] >= 6
    parameter = found.of("temperature")
    assert parameter.share_without >= 0.5
    assert np.isfinite(parameter.errors).all()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_do_not_change_the_result(threads):
    found = pn.recover(
        pn.QLearning(2),
        TASK,
        RANGES,
        n_subjects=9,
        rng=np.random.default_rng(11),
        threads=threads,
    )
    same = pn.recover(
        pn.QLearning(2), TASK, RANGES, n_subjects=9, rng=np.random.default_rng(11), threads=2
    )
    for a, b in zip(found.parameters, same.parameters, strict=True):
        np.testing.assert_array_equal(a.true, b.true)
        np.testing.assert_allclose(a.estimated, b.estimated, rtol=1e-9)


def test_profile_intervals_are_counted_on_request():
    found = pn.recover(
        pn.QLearning(2),
        TASK,
        RANGES,
        n_subjects=6,
        rng=np.random.default_rng(11),
        intervals="profile",
        level=0.8,
    )
    assert "profile, 80 %" in found.summary()
    wald = pn.recover(
        pn.QLearning(2), TASK, RANGES, n_subjects=6, rng=np.random.default_rng(11), level=0.8
    )
    assert not np.allclose(found.of("learning_rate").interval, wald.of("learning_rate").interval)


def test_tables_hold_every_person_and_every_parameter():
    found = pn.recover(pn.QLearning(2), TASK, RANGES, n_subjects=8, rng=np.random.default_rng(4))
    by_parameter = found.to_frame(backend="pyarrow")
    assert by_parameter.column("name").to_pylist() == ["temperature", "learning_rate"]
    people = found.subjects(backend="pyarrow")
    assert people.num_rows == 8
    assert people.column("temperature_true").to_pylist() == found.of("temperature").true.tolist()
    assert "no estimate" in found.summary()
    assert repr(found).startswith("<Recovery of 8 people: temperature r = ")
    assert found.where("temperature", backend="pyarrow").num_rows == 8
    assert "<table>" in found._repr_html_()


# -- tasks ---------------------------------------------------------------------------------------


def test_a_schedule_pays_what_it_says_and_begins_again():
    rewards = np.arange(12.0).reshape(4, 3)
    rule, rng = {"bias_0": 0.3, "bias_1": -0.2}, np.random.default_rng(0)
    task = pn.Task(rewards, n_decisions=6)
    episode = pn.simulate(task, pn.models.RandomChoice(3), rule, rng=rng)
    rows = [0, 1, 2, 3, 0, 1]
    np.testing.assert_array_equal(episode.rewards, rewards[rows, episode.chosen])
    assert pn.simulate(rewards, pn.models.RandomChoice(3), rule, rng=rng).n_events == 4


def test_a_world_may_be_drawn_for_every_block():
    task = pn.Task(lambda rng: rng.normal(size=(5, 2)), n_decisions=5, n_blocks=3)
    rule, rng = {"bias_0": 0.1}, np.random.default_rng(2)
    blocks = pn.simulate(task, pn.models.RandomChoice(2), rule, rng=rng, subject=8)
    assert [b.block for b in blocks] == [0, 1, 2]
    assert {b.subject for b in blocks} == {8}
    assert len({b.rewards.tobytes() for b in blocks}) == 3


def test_offers_are_chosen_from():
    offers = {"amount": [[20, 50], [30, 35]], "delay": [[0, 30], [0, 90]]}
    found = pn.recover(
        pn.HyperbolicDiscounting(),
        pn.Task(offers, n_decisions=120),
        {"temperature": 6.0, "discount_rate": 0.02},
        n_subjects=5,
        rng=np.random.default_rng(1),
    )
    assert {p.name for p in found.parameters} == {"temperature", "discount_rate"}


class Learner:
    """A model as a user writes one, without agents."""

    weights = ("inverse_temperature",)
    shape = (pn.models.Shape("learning_rate", 0.001, 1.0),)

    def explanatory(self, episode, learning_rate):
        values, x = np.zeros(2), np.empty((episode.n_events, 2, 1))
        for t, (option, reward) in enumerate(zip(episode.chosen, episode.rewards, strict=True)):
            x[t, :, 0] = values
            values[option] += learning_rate * (reward - values[option])
        return x


def test_people_have_the_offers_of_one_who_is_drawn():
    model, rule = pn.HyperbolicDiscounting(), {"temperature": 1.0, "discount_rate": 0.1}

    def decisions(amount, n, **labels):
        offers = {"amount": [[1, amount]] * n, "delay": [[0, 7]] * n}
        return pn.Offers([0] * n, offers, **labels)

    blocks = [decisions(2, 3, subject="ann", block=1), decisions(3, 2, subject="ann", block=2)]
    task = pn.Task([*blocks, decisions(4, 6, subject="bob")])
    lengths = {5: [2, 2, 2, 3, 3], 6: [4] * 6}
    drawn = set()
    for seed in range(20):
        played = pn.simulate(task, model, rule, rng=np.random.default_rng(seed))
        assert played.offers["amount"][:, 1].tolist() == lengths[played.n_events]
        drawn.add(played.n_events)
    assert drawn == {5, 6}
    assert pn.Task(blocks[0]).length() == 3
    assert (
        pn.simulate(task.with_decisions(9), model, rule, rng=np.random.default_rng(1)).n_events == 9
    )


def test_a_model_without_agents_plays_as_one_with_them():
    rule = {"temperature": 0.25, "learning_rate": 0.4}
    theirs = pn.simulate(TASK, pn.QLearning(2), rule, rng=np.random.default_rng(5))
    rule = {"inverse_temperature": 4.0, "learning_rate": 0.4}
    ours = pn.simulate(TASK, Learner(), rule, rng=np.random.default_rng(5))
    np.testing.assert_array_equal(ours.chosen, theirs.chosen)
    np.testing.assert_array_equal(ours.rewards, theirs.rewards)


def test_choices_follow_the_probabilities_of_the_model():
    rng = np.random.default_rng(6)
    episode = pn.simulate(_coin(4000), pn.models.RandomChoice(2), {"bias_0": 0.9}, rng=rng)
    p = 1 / (1 + np.exp(-0.9))
    counts = np.bincount(episode.chosen, minlength=2)
    assert stats.chisquare(counts, [4000 * p, 4000 * (1 - p)]).pvalue > 1e-3


def test_longer_play_begins_as_shorter_play_does():
    rule = {"temperature": 0.25, "learning_rate": 0.4}
    short, long = (
        pn.simulate(TASK.with_decisions(n), pn.QLearning(2), rule, rng=np.random.default_rng(5))
        for n in (40, 90)
    )
    np.testing.assert_array_equal(long.chosen[:40], short.chosen)


# -- ranges --------------------------------------------------------------------------------------


def test_ranges_of_positive_parameters_are_drawn_on_the_logarithm():
    given = {"temperature": (0.01, 1.0), "learning_rate": (0.2, 0.6)}
    people = draw_parameters_of_people(pn.QLearning(2), given, 4000, np.random.default_rng(0))
    logs = np.log(people["temperature"] / 0.01) / np.log(100)
    assert stats.kstest(logs, "uniform").pvalue > 1e-3
    assert stats.kstest((people["learning_rate"] - 0.2) / 0.4, "uniform").pvalue > 1e-3


def test_distributions_numbers_and_arrays_are_taken():
    given = {"temperature": stats.gamma(3.0, scale=0.1), "learning_rate": [0.1, 0.4, 0.7]}
    people = draw_parameters_of_people(pn.QLearning(2), given, 3, np.random.default_rng(0))
    assert people["learning_rate"].tolist() == [0.1, 0.4, 0.7]
    expected = stats.gamma(3.0, scale=0.1).rvs(size=3, random_state=np.random.default_rng(0))
    assert people["temperature"] == pytest.approx(expected)
    same = draw_parameters_of_people(
        pn.QLearning(2), {"temperature": 0.3, "learning_rate": 0.5}, 2, np.random.default_rng(0)
    )
    assert same["temperature"].tolist() == [0.3, 0.3]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"temperature": 0.2}, "parameters must hold temperature, learning_rate; got none for lea"),
        (
            {"temperature": 0.2, "learning_rate": 0.3, "learning_rat": 1},
            "Did you mean 'learning_rate'",
        ),
        ({"temperature": (0.0, 1.0), "learning_rate": 0.3}, "must go up from above 0 as"),
        ({"temperature": 0.2, "learning_rate": (0.5, 0.1)}, "must go up as"),
        ({"temperature": 0.2, "learning_rate": [0.5, 0.1]}, "must hold 4 numbers, one per person"),
        ({"temperature": "hot", "learning_rate": 0.3}, "temperature in parameters must be a num"),
    ],
)
def test_wrong_parameters_are_refused(parameters, words):
    with pytest.raises(pn.errors.DataError, match=words):
        pn.recover(pn.QLearning(2), TASK, parameters, n_subjects=4, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"world": pn.paper.landscape_a()}, "n_decisions must be given with a landscape"),
        ({"world": [1.0, 2.0]}, "world must be a Landscape, a schedule"),
        ({"world": {}}, "world must hold an attribute or more"),
        ({"world": pn.paper.landscape_a(), "n_decisions": 0}, "n_decisions must be"),
        ({"world": pn.paper.landscape_a(), "n_decisions": 5, "n_blocks": 0}, "n_blocks must be"),
    ],
)
def test_wrong_tasks_are_refused(arguments, words):
    with pytest.raises(pn.errors.DataError, match=words):
        pn.Task(**arguments)


def test_a_task_of_other_options_is_refused():
    with pytest.raises(
        pn.errors.DataError, match="task must have the 3 options of the model; got 2"
    ):
        rule = {"bias_0": 0, "bias_1": 0}
        pn.simulate(TASK, pn.models.RandomChoice(3), rule, rng=np.random.default_rng(0))


def test_an_unknown_parameter_is_refused():
    found = pn.recover(pn.QLearning(2), TASK, RANGES, n_subjects=3, rng=np.random.default_rng(4))
    with pytest.raises(pn.errors.DataError, match="Did you mean 'temperature'"):
        found.of("temprature")


@pytest.mark.slow
def test_an_agent_that_remembers_takes_shares_as_parameters():
    class Stayer:
        weights = ("stay",)
        shape = ()
        parameters = (pn.models.Parameter.share("lapse", "stay", 0.8),)

        def explanatory(self, episode):
            x = np.zeros((episode.n_events, 2, 1))
            x[:, 0, 0] = 1.0
            return x

    episode = pn.simulate(_coin(3000), Stayer(), {"lapse": 0.2}, rng=np.random.default_rng(3))
    # 0.2 = 0.8 / (1 + e^w): e^w = 3, so that option 0 is taken three times of four
    assert (episode.chosen == 0).mean() == pytest.approx(0.75, abs=0.03)
