"""Every task with the columns that users of hBayesDM have, read and fitted as they are."""

import numpy as np
import pyarrow as pa
import pytest

import penchant as pn
from penchant.models.catalogue import HBAYESDM

N = 60


def table_of(rng, **columns):
    """Two people who are numbers, and a choice that is missing."""
    return pa.table({"subjID": np.repeat([101, 102], N // 2), **columns})


def coded(rng, low, high, missing=None):
    """Whole numbers, one of which is missing: NA, or a code such as -1."""
    cells = rng.integers(low, high + 1, N).tolist()
    cells[3] = missing
    return pa.array(cells)


def whole(low, high):
    return lambda rng: rng.integers(low, high + 1, N)


def one_of(*values):
    return lambda rng: rng.choice(values, N)


# name: column of choices with its first and last code, other columns, task, model
TABLES = {
    "bandit2arm": (
        ("choice", 1, 2),
        {"outcome": one_of(-1, 1)},
        "bandit",
        "QLearning(n_options=2)",
    ),
    "bandit4arm2": (
        ("choice", 1, 4),
        {"outcome": whole(5, 90)},
        "bandit",
        "QLearning(n_options=4)",
    ),
    "bandit4arm": (
        ("choice", 1, 4),
        {"gain": one_of(0, 1), "loss": one_of(0, -1)},
        "gain-loss",
        "models.GainLoss(4)",
    ),
    "igt": (
        ("choice", 1, 4),
        {"gain": one_of(50, 100), "loss": one_of(0, -50, -1250)},
        "iowa",
        "models.ORL()",
    ),
    "prl": (
        ("choice", 1, 2),
        {"block": lambda rng: np.tile([1, 2], N // 2), "outcome": one_of(-1, 1)},
        "bandit",
        "QLearning(n_options=2)",
    ),
    "pst": (
        ("choice", 0, 1),
        {"type": one_of(12, 34, 56), "reward": whole(0, 1)},
        "selection",
        "QLearning(6)",
    ),
    "gng": (
        ("keyPressed", 0, 1),
        {"cue": whole(1, 4), "outcome": whole(-1, 1)},
        "go-no-go",
        "models.GoNoGo()",
    ),
    "ts": (
        ("level1_choice", 1, 2),
        {"level2_choice": whole(1, 4), "reward": whole(0, 1)},
        "two-step",
        'models.TwoStep(trace="after")',
    ),
    "bart": (("pumps", 1, 6), {"explosion": whole(0, 1)}, "balloons", "models.Balloons()"),
    "hgf": (
        ("y", 0, 1),
        {"trialNum": lambda rng: np.tile(np.arange(1, N // 2 + 1), 2), "u": whole(0, 1)},
        "inputs",
        "models.HGF()",
    ),
    "alt": (
        ("choice", 1, 2),
        {"outcome": whole(0, 1), "bluePunish": whole(1, 99), "orangePunish": whole(1, 99)},
        "aversive",
        "models.AversiveLearning()",
    ),
    "cra": (
        ("choice", 0, 1),
        {
            "prob": one_of(0.13, 0.25, 0.5),
            "ambig": one_of(0, 0.24, 0.5, 0.74),
            "reward_var": one_of(5.0, 9.5, 18.0, 34.0, 65.0),
            "reward_fix": lambda rng: np.full(N, 5.0),
        },
        "ambiguity",
        "models.Ambiguity()",
    ),
    "dbdm": (
        ("choice", 1, 2),
        {
            **{"opt1hprob": one_of(0.1, 0.5, 0.9), "opt2hprob": one_of(1.0, 0.9)},
            **{"opt1hval": whole(5, 20), "opt1lval": whole(-20, 0)},
            **{"opt2hval": whole(1, 9), "opt2lval": whole(-3, 0)},
        },
        "description",
        'models.ProspectValue("prelec")',
    ),
    "peer": (
        ("choice", 0, 1),
        {
            **{"condition": whole(0, 3), "p_gamble": one_of(0.3, 0.5)},
            **{"safe_Hpayoff": whole(20, 30), "safe_Lpayoff": whole(14, 19)},
            **{"risky_Hpayoff": whole(35, 60), "risky_Lpayoff": whole(1, 6)},
        },
        "peers",
        "models.PeerInfluence()",
    ),
    "ug": (("accept", 0, 1), {"offer": whole(1, 19)}, "ultimatum", "models.Ultimatum()"),
    "cgt": (
        ("red_chosen", 0, 1),
        {
            **{"gamble_type": whole(0, 1), "n_red_boxes": whole(1, 9)},
            "percentage_staked": one_of(5, 25, 50, 75, 95),
            "trial_initial_points": whole(20, 300),
        },
        "cambridge",
        "models.CambridgeGamble()",
    ),
    "dd": (
        ("choice", 0, 1),
        {
            **{"delay_later": whole(6, 90), "amount_later": whole(11, 40)},
            **{"delay_sooner": whole(0, 0), "amount_sooner": whole(10, 10)},
        },
        None,
        "HyperbolicDiscounting()",
    ),
    "ra": (
        ("gamble", 0, 1),
        {"gain": whole(2, 20), "loss": whole(1, 10), "cert": whole(0, 5)},
        None,
        "models.ProspectValue()",
    ),
}


def made(name, missing=None, seed=5):
    (chosen, low, high), columns, _, _ = TABLES[name]
    rng = np.random.default_rng(seed)
    others = {column: values(rng) for column, values in columns.items()}
    for paid in {"outcome", "reward"} & {*others}:  # nothing was paid where nothing was chosen
        others[paid] = pa.array(others[paid], mask=np.arange(N) == 3)
    return table_of(rng, **{chosen: coded(rng, low, high, missing)}, **others)


@pytest.mark.parametrize("name", sorted(TABLES))
def test_a_table_with_the_columns_of_hbayesdm_is_read_as_it_is(name):
    _, _, task, model = TABLES[name]
    reading = pn.read(made(name))
    assert reading.model == model
    assert "pn." + model in reading.next
    assert task in (None, "bandit") or reading.schema.task == task
    assert {str(one.subject) for one in reading.data} == {"101", "102"}
    scored = sum(one.n_decisions for one in reading.data)
    runs = {"two-step": 2 * (N - 1), "balloons": scored}
    assert scored == runs.get(task, N - 1)


@pytest.mark.parametrize("name", sorted(set(TABLES) - {"bart", "cgt"}))
def test_a_choice_that_is_minus_one_is_one_that_was_not_made(name):
    one = pn.read(made(name)).data
    other = pn.read(made(name, missing=-1), missed=[-1]).data
    for first, second in zip(one, other, strict=True):
        assert first.n_decisions == second.n_decisions
        kept = [np.asarray(each.chosen)[np.asarray(each.chosen) >= 0] for each in (first, second)]
        np.testing.assert_array_equal(*kept)


def test_stakes_and_colours_of_the_cambridge_gamble_are_read_from_their_codes():
    table = pa.table(
        {
            "subjID": [7, 7, 7],
            "assessment_stage": [0, 1, 1],
            "gamble_type": [1, 0, 1],
            "percentage_staked": [25, 25, 95],
            "trial_initial_points": [100, 80, 160],
            "left_colour_chosen": [1, 0, 1],
            "n_left_colour_boxes": [7, 4, 2],
        }
    )
    (stakes,) = pn.read(table).data
    np.testing.assert_array_equal(stakes.chosen, [1, 3, 4])
    np.testing.assert_allclose(stakes.offers["stake"][1], [0.95, 0.75, 0.5, 0.25, 0.05])
    np.testing.assert_allclose(stakes.offers["probability"][:, 0], [0.7, 0.6, 0.2])
    np.testing.assert_array_equal(stakes.offers["delay"][0], [0, 0.25, 0.5, 0.75, 1])
    assert stakes.n_decisions == 2
    (colours,) = pn.read(table, task="cambridge-colours").data
    np.testing.assert_array_equal(colours.chosen, [1, 0, 1])
    np.testing.assert_allclose(colours.offers["probability"], [[0.3, 0.7], [0.6, 0.4], [0.8, 0.2]])


def test_who_is_punished_is_told_by_the_outcome_whatever_was_chosen():
    table = pa.table(
        {
            "subjID": [1, 1, 1, 1],
            "choice": [1, 2, 1, 2],
            "outcome": [1, 1, 0, 0],
            "bluePunish": [10, 20, 30, 40],
            "orangePunish": [5, 6, 7, 8],
        }
    )
    (episode,) = pn.read(table).data
    np.testing.assert_array_equal(episode.after["outcome"], [1, 1, 0, 0])
    np.testing.assert_array_equal(episode.before["magnitude_1"], [5, 6, 7, 8])
    np.testing.assert_array_equal(episode.rewards, [-10, 0, 0, -8])


# The table of hBayesDM whose columns its functions take, by how their names begin.
OF_FUNCTIONS = {
    **{"bandit2arm": "bandit2arm", "bandit4arm2": "bandit4arm2", "bandit4arm": "bandit4arm"},
    **{"banditNarm": "bandit4arm", "bart": "bart", "cgt": "cgt", "cra": "cra", "dbdm": "dbdm"},
    **{"dd": "dd", "gng": "gng", "hgf": "hgf", "igt": "igt", "peer": "peer", "prl": "prl"},
    **{"pst": "pst", "ra": "ra", "ts": "ts", "ug": "ug", "alt": "alt"},
}


@pytest.mark.parametrize("name", sorted(name for name, c in HBAYESDM.items() if c.call))
def test_the_call_for_a_function_of_hbayesdm_runs_on_its_table(name):
    """Models of three shape parameters, which take longer, are fitted in other tests."""
    table = made(OF_FUNCTIONS[name.split("_")[0]])
    task = "reversal" if name.startswith("prl") else None
    reading = pn.read(table, task=task)
    model = eval(f"pn.{HBAYESDM[name].call}", {"pn": pn})
    data = reading.data[:1]
    x = model.explanatory(data[0], *[shape.grid()[2] for shape in model.shape])
    assert x.shape[0] == data[0].n_events
    if len(model.shape) < 3:
        estimate = pn.fit(data, model, parameter_prior=pn.ScaledPrior())
        assert np.isfinite(estimate.log_likelihood)


def test_a_study_of_a_named_task_keeps_what_was_seen_and_its_conditions():
    table = made("gng").append_column("drug", pa.array(["a"] * (N // 2) + ["b"] * (N // 2)))
    reading = pn.read(table)
    data = pn.read_study(reading, conditions=["drug"])
    assert [data.condition(one.subject) for one in data.episodes] == ["a", "b"]
    for one, other in zip(data.episodes, reading.data, strict=True):
        np.testing.assert_array_equal(one.before["cue"], other.before["cue"])
        np.testing.assert_array_equal(one.chosen, other.chosen)
