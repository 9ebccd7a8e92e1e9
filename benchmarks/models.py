"""Every model of the catalogue: fits of many subjects, beside ten random starts for each of them.

    python benchmarks/models.py [--quick] [--turns N] [--only NAME,NAME] [--markdown FILE]

One thread (set OMP_NUM_THREADS=1). 500 subjects of 200 decisions, drawn from the model with
parameters of their own, are fitted by `fit_each`; the peer is the same likelihood as one writes it
by hand (`hand_written.py`), maximised for each subject by ten random starts of scipy's L-BFGS-B
inside the same ranges. Both take turns: all subjects by Penchant, three subjects by the peer. The
seconds are those of the processor: the median of Penchant's turns, and the mean of the subjects
that the peer was given, for as many as Penchant fits. The gap is our log-likelihood less theirs,
the lowest of the subjects compared. "Loop" is a loop over plain numbers for what is learnt, with
one NumPy expression for the likelihood, which is faster than either alone. "Cells" are values of
the shape parameters on the grid at which the profile of a subject was solved, the mean of all. A
cell takes "cell / exp" times what one exponential for each of its decisions and options takes, by
NumPy's exp of numbers in the cache, in the same run. "Grid, climbs, status" are shares of time:
the profile on these cells; Newton's method from the best of them; and what is said of the maximum
(does it exist, is it told, where are its limits), of which the peer says nothing. "Grid alone" is
how many times faster the grid by itself is than the peer: no fit that looks at these cells has a
larger ratio.

The target is 30 times faster with up to two shape parameters, 10 times with three.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hand_written as by_hand
import machine
import numpy as np
from scipy import special

import penchant as pn
from penchant.bandit.landscape import distances
from penchant.inference import fit as fit_of_profiles
from penchant.models.worlds import World

TARGET, TARGET_OF_THREE = 30, 10  # times faster, by the number of shape parameters
STAGES = ("grids_and_best_cells", "lacks_finite_maximum", "best_optima", "estimates_at")
AT_A_TURN = 3  # subjects of the peer
GROUPS = 25  # of subjects with the same parameters
NOISE = pn.GaussianNoise(0.25)
PLACES = pn.grid(5, 5)


@dataclass(frozen=True)
class Case:
    """A model, people who decide by it, and how one would fit it by hand.

    Attributes
    ----------
    draw
        Natural parameters of a subject.
    task
        A landscape to play in, or offers to choose among.
    likelihood
        By hand.
    prepare
        The data of one subject as `likelihood` takes them.
    most
        Largest weight that the peer looks at; starts lie within a tenth of it.
    box
        Ranges of the peer's parameters where they are not the weights and psi.
    """

    name: str
    model: Any
    draw: Callable[[np.random.Generator], dict[str, float]]
    task: Callable[[np.random.Generator], Any]
    likelihood: Callable[..., float]
    prepare: Callable[[Any, Any], dict[str, Any]]
    most: float = 50.0
    box: tuple[tuple[float, float], ...] = field(default=())
    how: str = "loop"

    def subjects(self, n_subjects: int, n_decisions: int) -> list[Any]:
        """People who decide by the model."""
        rng = np.random.default_rng(17)
        people: list[Any] = []
        for group in range(GROUPS):
            n = len(range(group, n_subjects, GROUPS))
            truth, task = self.draw(rng), self.task(rng)
            if isinstance(task, pn.Landscape):
                plays = pn.simulate(
                    task, self.model, truth, n_decisions=n_decisions, n_subjects=max(n, 1), rng=rng
                )[:n]
                people += [
                    pn.Episode(e.chosen, e.rewards, subject=f"{group}.{e.subject}") for e in plays
                ]
                continue
            if isinstance(task, World | pn.Task):
                several = pn.Task(task, n_decisions) if isinstance(task, World) else task
                people += [
                    pn.simulate(several, self.model, truth, rng=rng, subject=f"{group}.{k}")
                    for k in range(n)
                ]
                continue
            for k in range(n):
                offers = {name: offered[:n_decisions] for name, offered in task.items()}
                people.append(
                    pn.simulate(offers, self.model, truth, rng=rng, subject=f"{group}.{k}")
                )
        order = rng.permutation(len(people))
        return [people[i] for i in order]

    def ranges(self) -> tuple[Any, Any]:
        """Where the peer looks, and where it starts."""
        shape = [
            tuple(np.log((s.low, s.high))) if s.scale == "log" else (s.low, s.high)
            for s in self.model.shape
        ]
        positive = getattr(self.model, "positive", ())
        weights = [(0.0 if w in positive else -self.most, self.most) for w in self.model.weights]
        box = self.box or (*weights, *shape)
        n = len(self.model.weights)
        near = [(low / 10, high / 10) for low, high in box[:n]]
        return box, (*near, *box[n:])


def landscape(n_options: int) -> Callable[[np.random.Generator], pn.Landscape]:
    """Mean rewards between 0 and 1."""
    return lambda rng: pn.Landscape(rng.permutation(np.linspace(0.3, 0.7, n_options)), NOISE)


def delays(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Less now or soon, or more later."""
    n = 1000
    soon = rng.choice([0.0, 0.0, 7.0], n)
    later = soon + rng.choice([7.0, 14, 30, 60, 90, 180, 365], n)
    return {
        "amount": np.column_stack([rng.uniform(1.0, 9.0, n), np.full(n, 10.0)]).round(1),
        "delay": np.column_stack([soon, later]),
    }


def gambles(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Two gambles, each with a gain and a loss."""
    n = 1000
    gain, loss = rng.uniform(0.5, 10.0, (n, 2)), -rng.uniform(0.5, 8.0, (n, 2))
    p = rng.uniform(0.1, 0.9, (n, 2))
    outcome = np.stack([gain, loss], axis=2).round(1)
    return {"outcome": outcome, "probability": np.stack([p, 1 - p], axis=2).round(2)}


def lists(case: Case, episode: Any) -> dict[str, Any]:
    """Choices and rewards."""
    return by_hand.episode_data(episode) | {"n": case.model.n_options}


def offered(case: Case, decisions: Any) -> dict[str, Any]:
    """Attributes of the option chosen and of the other."""
    return by_hand.offers_data(decisions)


def followed(case: Case, decisions: Any) -> dict[str, Any]:
    """The same, and 1 for what both peers took."""
    taken = (decisions.offers["condition"] == (1, 3)).astype(float)
    rows, chosen = np.arange(len(taken)), decisions.chosen
    both = np.stack([taken[rows, chosen], taken[rows, 1 - chosen]], axis=1)
    return offered(case, decisions) | {"taken": both}


def relative(case: Case, episode: Any) -> dict[str, Any]:
    """Variables less those of the option chosen."""
    x = case.model.explanatory(episode)
    return {"relative": x - x[np.arange(len(x)), episode.chosen][:, None]}


def cooled(case: Case, episode: Any) -> dict[str, Any]:
    """Time and values."""
    return {
        "chosen": episode.chosen,
        "time": np.arange(1.0, len(episode.chosen) + 1.0),
        "values": np.array(case.model.values),
    }


def placed(case: Case, episode: Any) -> dict[str, Any]:
    """Choices, rewards, distances; times of stochastic UCL."""
    apart, t = distances(PLACES), np.arange(1.0, len(episode.chosen) + 1.0)
    found = lists(case, episode) | {"squared_distances": apart**2, "log_time": np.log(t)}
    if isinstance(case.model, pn.UCL):
        found |= {"correlation": np.exp(-apart / 2.0), "noise": 1.0}
        return found | {"z": -special.ndtri(1.0 / (np.sqrt(2 * np.pi * np.e) * t))}
    return found | {"noise": 1e-2, "mean": 0.5}


def seen(case: Case, episode: Any) -> dict[str, Any]:
    """Choices and rewards, with what was seen at decisions and learnt after them."""
    told = {name: values.tolist() for name, values in (*episode.before.items(),)}
    told |= {name: values.tolist() for name, values in episode.after.items()}
    return lists(case, episode) | told


def jars(case: Case, episode: Any) -> dict[str, Any]:
    """Beads seen, and the jars."""
    found = seen(case, episode) | {"share": case.model.share, "most": case.model.most}
    return found | {"chosen": episode.chosen}


def signed(case: Case, decisions: Any) -> dict[str, Any]:
    """What was seen and learnt, in arrays, and 1 where the second option was chosen, else -1."""
    told = {"sign": np.where(decisions.chosen == 1, 1.0, -1.0)}
    if isinstance(decisions, pn.Offers):
        offer = decisions.offers["offer"][:, 1]
        return told | {"offer": offer, "list": offer.tolist()}
    return told | {**decisions.before} | {name: v.tolist() for name, v in decisions.after.items()}


def counted(case: Case, episode: Any) -> dict[str, Any]:
    """Pumps and bursts of earlier balloons, which no parameter changes."""
    balloon, pumped = episode.before["balloon"], episode.chosen == 1
    begins = np.searchsorted(balloon, balloon)  # balloons are numbered in order of time
    pumps = np.concatenate([[0.0], np.cumsum(pumped)])[begins]
    bursts = np.concatenate([[0.0], np.cumsum(episode.after["burst"])])[begins]
    told = {"pump": episode.before["pump"], "sign": np.where(pumped, 1.0, -1.0)}
    return told | {"pumps": pumps, "held": pumps - bursts}


def uniform(**ranges: tuple[float, float]) -> Callable[[np.random.Generator], dict[str, float]]:
    """Parameters drawn from ranges."""
    return lambda rng: {name: float(rng.uniform(*ends)) for name, ends in ranges.items()}


def log_uniform(
    logs: dict[str, tuple[float, float]], **ranges: tuple[float, float]
) -> Callable[[np.random.Generator], dict[str, float]]:
    """The same, some of them on a logarithmic scale."""
    plain = uniform(**ranges)
    return lambda rng: (
        plain(rng)
        | {name: float(np.exp(rng.uniform(*np.log(ends)))) for name, ends in logs.items()}
    )


def shared(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Two divisions of money."""
    return {"own": rng.uniform(0, 20, (1000, 2)), "other": rng.uniform(0, 20, (1000, 2))}


def hidden(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Five for sure or for half a chance, or more with chances that are hidden in part."""
    n = 1000
    return {
        "amount": np.column_stack([np.full(n, 5.0), rng.uniform(5, 60, n)]),
        "probability": np.column_stack([np.full(n, 0.5), rng.choice([0.13, 0.25, 0.5, 0.75], n)]),
        "ambiguity": np.column_stack([np.zeros(n), rng.choice([0, 0, 0.24, 0.5, 0.74], n)]),
    }


def unlikely(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Less for sure, or more with a chance."""
    n = 1000
    return {
        "amount": np.column_stack([rng.uniform(2, 40, n), rng.uniform(40, 90, n)]),
        "probability": np.column_stack([np.ones(n), rng.choice([0.1, 0.3, 0.6, 0.9], n)]),
    }


def worked(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Less for little effort, or more for more."""
    n = 1000
    return {
        "reward": np.column_stack([rng.uniform(1, 4, n), rng.uniform(2, 12, n)]),
        "effort": np.column_stack([rng.uniform(0.05, 0.3, n), rng.uniform(0.2, 3.0, n)]),
    }


def shown_by_peers(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A safer lottery and a riskier one, and what two others took of them."""
    n = 1000
    return {
        "high": np.column_stack([rng.uniform(20, 30, n), rng.uniform(35, 60, n)]),
        "low": np.column_stack([rng.uniform(14, 19, n), rng.uniform(1, 6, n)]),
        "probability": np.repeat(rng.uniform(0.2, 0.8, (n, 1)), 2, axis=1),
        "condition": np.repeat(rng.choice([0, 1, 2, 3], (n, 1)), 2, axis=1),
    }


def staked(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Five stakes on a colour, rising or falling, one after another."""
    n = 1000
    stakes, falls = np.array([0.05, 0.25, 0.5, 0.75, 0.95]), rng.random((n, 1)) < 0.5
    return {
        "stake": np.where(falls, stakes[::-1], stakes),
        "delay": np.tile(np.arange(5) / 4, (n, 1)),
        "points": np.repeat(rng.integers(20, 300, (n, 1)), 5, axis=1),
        "probability": np.repeat(rng.integers(5, 10, (n, 1)) / 10, 5, axis=1),
    }


def listed(case: Case, decisions: Any) -> dict[str, Any]:
    """Attributes of all options, and which was chosen."""
    return {"chosen": decisions.chosen, **decisions.offers}


def offered_shares(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Nothing, or what somebody leaves of twenty."""
    return {"offer": np.column_stack([np.zeros(1000), rng.integers(0, 20, 1000).astype(float)])}


def reversals(rng: np.random.Generator) -> pn.Task:
    """Two options, of which the better one changes."""
    return pn.Task(pn.models.reversal_schedule(N_DECISIONS, rng=rng))


def decks(rng: np.random.Generator) -> pn.Task:
    """Four decks of cards."""
    return pn.Task(pn.models.iowa_schedule(N_DECISIONS, rng=rng))


N_DECISIONS = 200
TAU = (0.1, 0.5)
RATE = (0.1, 0.9)
VARIANCE = (0.05, 5.0)
PLAYED = {"learning_rate": RATE, "temperature": TAU}
MAP = pn.Landscape(np.exp(-(distances(PLACES)[7] ** 2) / 8.0), NOISE)
STATIC = {"prepare": offered, "task": delays, "how": "NumPy"}
LINEAR = {"prepare": relative, "likelihood": by_hand.regression, "how": "NumPy"}
LARGE = LINEAR | {"likelihood": by_hand.regression_of_any_size}
TWO = {"prepare": lists, "task": landscape(2)}

CASES = (
    Case("random choice", pn.models.RandomChoice(3), uniform(bias_0=(-1, 1), bias_1=(-1, 1)),
         task=landscape(3), most=20.0, **LINEAR),
    Case("known values, power cooling", pn.models.KnownValues((0.0, 0.5, 1.0), cooling="power"),
         uniform(initial_temperature=(0.3, 1.0), cooling_exponent=(-0.3, 0.5)),
         landscape(3), by_hand.power_cooling, cooled, how="NumPy"),
    Case("win-stay-lose-shift", pn.models.WinStayLoseShift(3, win_above=0.5),
         uniform(win_stay=(0.5, 2), lose_shift=(0.5, 2)), task=landscape(3), most=20.0, **LINEAR),
    Case("history regression, 3 + 3 lags", pn.models.HistoryRegression(2),
         uniform(reward_1=(0, 2), reward_2=(0, 1), reward_3=(0, 1), choice_1=(-1, 1),
                 choice_2=(-0.5, 0.5), choice_3=(-0.5, 0.5)),
         task=landscape(2), most=20.0, **LINEAR),
    Case("Q-learning", pn.QLearning(2), uniform(**PLAYED), likelihood=by_hand.q_learning, **TWO),
    Case("Q-learning, stickiness", pn.QLearning(2, stickiness=True),
         uniform(**PLAYED, stickiness=(-1, 1)),
         likelihood=by_hand.q_learning_with_stickiness, **TWO),
    Case("Q-learning, two rates", pn.QLearning(2, dual_rates=True),
         uniform(temperature=TAU, learning_rate_positive=RATE, learning_rate_negative=RATE),
         likelihood=by_hand.q_learning_with_two_rates, **TWO),
    Case("Q-learning, forgetting", pn.QLearning(2, forgetting=None),
         uniform(**PLAYED, forgetting=(0, 0.8)),
         likelihood=by_hand.q_learning_with_forgetting, **TWO),
    Case("Q-learning, choice kernel", pn.QLearning(2, choice_kernel=True),
         uniform(**PLAYED, choice_kernel=(-1, 2), choice_rate=RATE),
         likelihood=by_hand.q_learning_with_choice_kernel, **TWO),
    Case("Q-learning, three rates", pn.QLearning(2, dual_rates=True, choice_kernel=True),
         uniform(temperature=TAU, learning_rate_positive=RATE, learning_rate_negative=RATE,
                 choice_kernel=(-1, 2), choice_rate=RATE),
         likelihood=by_hand.q_learning_with_three_rates, **TWO),
    Case("Kalman filter, bonus", pn.KalmanFilter(4),
         log_uniform({"prior_variance": VARIANCE}, temperature=TAU, uncertainty_bonus=(-0.2, 1)),
         landscape(4), by_hand.kalman, lists),
    Case("Kalman filter, restless, bonus", pn.KalmanFilter(4, decay=None, drift_variance=None),
         log_uniform({"prior_variance": VARIANCE, "drift_variance": (0.01, 1.0)}, temperature=TAU,
                     uncertainty_bonus=(-0.2, 1), decay=(0.5, 0.98)),
         landscape(4), by_hand.restless_kalman, lists),
    Case("Gershman's hybrid", pn.models.GershmanHybrid(noise_variance=1.0, prior_variance=None),
         log_uniform({"prior_variance": VARIANCE},
                     **{"value": (0, 2), "relative_uncertainty": (0, 1),
                        "value/total_uncertainty": (0, 2)}),
         likelihood=by_hand.gershman_hybrid, most=20.0, **TWO),
    Case("two-step, four parameters",
         pn.models.TwoStep(trace_decay=1.0, same_rates=True, same_temperatures=True),
         uniform(inverse_temperature=(2, 6), model_based_share=(0.2, 0.8), stickiness=(0, 0.5),
                 learning_rate=RATE),
         lambda rng: pn.models.TwoStepWorld(500), by_hand.two_step, seen),
    Case("go/no-go, Pavlovian", pn.models.GoNoGo(),
         uniform(sensitivity=(2, 6), bias=(-0.5, 1), pavlovian=(0, 1), learning_rate=RATE),
         lambda rng: pn.models.GoNoGoWorld(1000), by_hand.go_no_go, seen),
    Case("gains and losses apart, 4 options", pn.models.GainLoss(4),
         uniform(gain_sensitivity=(2, 5), loss_sensitivity=(1, 4), gain_rate=RATE, loss_rate=RATE),
         lambda rng: pn.models.GainLossWorld(4, 1000), by_hand.gain_loss, seen),
    Case("experience-weighted attraction", pn.models.EWA(2),
         uniform(temperature=TAU, value_decay=RATE, experience_decay=RATE),
         likelihood=by_hand.experience_weighted, **TWO),
    Case("outcome representation, 4 decks", pn.models.ORL(payscale=1.0),
         uniform(value=(0.5, 2), frequency=(-1, 2), perseverance=(-1, 2), reward_rate=RATE,
                 punishment_rate=RATE, perseverance_decay=(0.2, 2)),
         landscape(4), by_hand.outcome_representation, lists),
    Case("volatile Kalman filter, bonus", pn.models.VolatileKalman(4),
         log_uniform({"noise_variance": (0.05, 1.0), "initial_volatility": (0.1, 1.0)},
                     temperature=TAU, uncertainty_bonus=(-0.2, 1), volatility_rate=(0.1, 0.6)),
         landscape(4), by_hand.volatile_kalman, lists),
    Case("Pearce-Hall", pn.models.PearceHall(2),
         uniform(temperature=TAU, learning_scale=RATE, associability_rate=RATE),
         likelihood=by_hand.pearce_hall, **TWO),
    Case("hidden state", pn.models.HiddenState(),
         uniform(temperature=(0.1, 0.4), hazard=(0.03, 0.3), reliability=(0.6, 0.9)),
         reversals, by_hand.hidden_state, lists),
    Case("confirmation bias, full feedback", pn.models.ConfirmationBias(),
         uniform(temperature=TAU, confirmatory_rate=RATE, disconfirmatory_rate=RATE),
         lambda rng: pn.models.FullFeedbackWorld(
             pn.models.reversal_schedule(N_DECISIONS, rng=rng)), by_hand.confirmation, seen),
    Case("two-step, successors", pn.models.Successor(),
         uniform(inverse_temperature=(2, 8), stickiness=(0, 0.5), inverse_temperature_2=(2, 5),
                 successor_rate=RATE, reward_rate=RATE),
         lambda rng: pn.models.TwoStepWorld(500), by_hand.successor, seen),
    Case("two-step, stay regression", pn.models.StayRegression(),
         uniform(**{"stay": (0, 2), "reward": (0, 1), "transition": (-0.5, 0.5),
                    "reward:transition": (0, 1)}),
         task=lambda rng: pn.models.TwoStepWorld(500), most=20.0, **LINEAR),
    Case("prospect valence, 4 decks", pn.models.PVL(),
         uniform(consistency=(0.3, 1.2), loss_aversion=(0.5, 2), learning_rate=RATE,
                 sensitivity=(0.3, 1)), decks, by_hand.prospect_valence, lists),
    Case("values plus perseverance, 4 decks", pn.models.VPP(),
         uniform(consistency=(0.3, 1.2), loss_aversion=(0.5, 2), learning_rate=RATE,
                 sensitivity=(0.3, 1), win_perseverance=(0, 1), loss_perseverance=(-0.5, 0.5),
                 perseverance_decay=(0.2, 0.8)), decks, by_hand.value_plus_perseverance, lists),
    Case("balloons, target", pn.models.Balloons(),
         uniform(inverse_temperature=(0.3, 1), risk_taking=(0.4, 1), prior_belief=(0.85, 0.97),
                 updating=(0.005, 0.1)),
         lambda rng: pn.models.BalloonWorld(200), by_hand.balloons, counted, how="NumPy"),
    Case("beads", pn.models.Beads(), uniform(temperature=(0.1, 0.3), cost=(0, 0.1)),
         lambda rng: pn.models.BeadsWorld(200), by_hand.beads, jars, how="NumPy"),
    Case("hierarchical Gaussian filter", pn.models.HGF(),
         uniform(inverse_temperature=(1, 4), omega_2=(-4, -1), omega_3=(-8, -4)),
         lambda rng: pn.models.InputWorld(1000), by_hand.gaussian_filter, signed),
    Case("aversive learning", pn.models.AversiveLearning(),
         uniform(inverse_temperature=(0.1, 0.5), learning_rate=RATE, gamma=(0.7, 2)),
         lambda rng: pn.models.AversiveWorld(1000), by_hand.aversive, signed),
    Case("UCB1", pn.models.UCB1(4), uniform(temperature=TAU, exploration=(0, 1)),
         task=landscape(4), most=20.0, **LINEAR),
    Case("locality, 25 options", pn.models.Locality(PLACES, ("distance", "same", "visited")),
         uniform(distance=(-1, 0), same=(0, 1), visited=(-1, 1)),
         task=lambda rng: MAP, most=10.0, **LINEAR),
    Case("Gaussian-process UCB, 25 options",
         pn.GPUCB(PLACES, noise_ratio=1e-2, prior_mean=0.5, length_scale_range=(0.3, 10.0)),
         uniform(temperature=(0.05, 0.2), bonus=(0, 1), length_scale=(0.5, 3)),
         lambda rng: MAP, by_hand.gp_ucb, placed, how="NumPy"),
    Case("stochastic UCL, 25 options", pn.UCL(PLACES, noise_variance=1.0, length_scale=2.0),
         uniform(decision_noise=(0.5, 2), prior_mean=(0, 2), prior_variance=(0.2, 5)),
         lambda rng: MAP, by_hand.ucl, placed, how="NumPy",
         box=((0.0, 50.0), (-100.0, 100.0), tuple(np.log(pn.UCL(PLACES, noise_variance=1.0,
              length_scale=2.0).precision_range)))),
    Case("hyperbolic discounting", pn.HyperbolicDiscounting(),
         log_uniform({"discount_rate": (0.002, 0.2)}, temperature=(0.3, 1.5)),
         likelihood=by_hand.hyperbolic, **STATIC),
    Case("exponential discounting", pn.models.ExponentialDiscounting(),
         log_uniform({"discount_rate": (0.002, 0.1)}, temperature=(0.3, 1.5)),
         likelihood=by_hand.exponential, **STATIC),
    Case("quasi-hyperbolic discounting", pn.models.QuasiHyperbolicDiscounting(),
         log_uniform({"discount_rate": (0.001, 0.05)}, temperature=(0.3, 1.5),
                     present_bias=(0.5, 1)),
         likelihood=by_hand.quasi_hyperbolic, **STATIC),
    Case("constant-sensitivity discounting", pn.models.ConstantSensitivityDiscounting(),
         log_uniform({"discount_rate": (0.002, 0.1), "time_sensitivity": (0.4, 1.5)},
                     temperature=(0.3, 1.5)),
         likelihood=by_hand.constant_sensitivity, **STATIC),
    Case("expected utility", pn.models.ExpectedUtility(),
         log_uniform({"curvature": (0.4, 1.5)}, temperature=(0.2, 1)),
         task=gambles, likelihood=by_hand.expected_utility, prepare=offered, how="NumPy"),
    Case("prospect value, Prelec", pn.models.ProspectValue(weighting="prelec"),
         log_uniform({"curvature": (0.4, 1.2), "probability_sensitivity": (0.4, 1.2)},
                     temperature=(0.2, 1), loss_aversion=(0.8, 2.5)),
         task=gambles, likelihood=by_hand.prospect, prepare=offered, how="NumPy"),
    Case("magnitude effect", pn.models.MagnitudeDiscounting(),
         log_uniform({"discount_rate": (0.005, 0.3)}, temperature=(0.3, 1.5),
                     magnitude_effect=(0, 0.8)), likelihood=by_hand.magnitude, **STATIC),
    Case("ITCH", pn.models.ITCH(),
         uniform(later=(-0.5, 0.5), amount=(0, 0.3), relative_amount=(0.5, 2),
                 delay=(-0.01, 0), relative_delay=(-2, 0)),
         task=delays, most=20.0, **LARGE),
    Case("probability discounting", pn.models.ProbabilityDiscounting(),
         log_uniform({"odds_rate": (0.5, 5)}, temperature=(2, 8)),
         task=unlikely, likelihood=by_hand.odds, prepare=offered, how="NumPy"),
    Case("ambiguity, Levy", pn.models.Ambiguity(),
         log_uniform({"curvature": (0.5, 1.2)}, temperature=(0.5, 2), ambiguity_aversion=(-0.5, 1)),
         task=hidden, likelihood=by_hand.ambiguity, prepare=offered, how="NumPy"),
    Case("choices of peers", pn.models.PeerInfluence(),
         log_uniform({"curvature": (0.4, 1.2)}, temperature=(0.3, 1.5), peer_influence=(-1, 2)),
         task=shown_by_peers, likelihood=by_hand.peers, prepare=followed, how="NumPy"),
    Case("Cambridge gamble, stakes", pn.models.CambridgeGamble(),
         log_uniform({"loss_sensitivity": (0.2, 5)}, temperature=(0.1, 0.5), impatience=(-0.5, 1)),
         task=staked, likelihood=by_hand.stakes, prepare=listed, how="NumPy"),
    Case("effort, power", pn.models.Effort("power"),
         log_uniform({"effort_power": (0.6, 2.5)}, temperature=(0.4, 1.5), effort_cost=(0.5, 3)),
         task=worked, likelihood=by_hand.effort, prepare=offered, how="NumPy"),
    Case("inequity", pn.models.Inequity(),
         uniform(temperature=(1, 4), envy=(0, 1.5), guilt=(0, 0.8)), task=shared, **LARGE),
    Case("ultimatum, norms learnt", pn.models.Ultimatum("delta"),
         uniform(temperature=(1, 4), envy=(0.2, 1.5), norm_rate=(0.05, 0.6)),
         task=offered_shares, likelihood=by_hand.ultimatum, prepare=signed, how="loop"),
    Case("mean and variance", pn.models.MeanVariance(),
         uniform(temperature=(0.5, 2), risk_attitude=(-0.2, 0.05)),
         task=gambles, most=5.0, **LINEAR),
)  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """What was measured of a case: processor and clock seconds of all subjects, and the gap."""

    case: Case
    ours: float
    ours_by_the_clock: float
    peer: float
    gap: float
    cells: float
    exponentials: float
    stages: tuple[float, float, float]
    statuses: dict[str, int]

    @property
    def ratio(self) -> float:
        """Their seconds over ours."""
        return self.peer / self.ours

    def row(self) -> str:
        """A row of the table."""
        target = TARGET if len(self.case.model.shape) < 3 else TARGET_OF_THREE
        judged = "" if self.ratio >= target else " (missed)"
        shares = " ".join(f"{100 * stage / sum(self.stages):.0f}" for stage in self.stages)
        return (
            f"| {self.case.name} | {self.ours:.3f} | {self.ours_by_the_clock:.3f} | "
            f"{self.peer:.1f} | {self.case.how} | {self.ratio:.0f}x{judged} | {self.gap:+.1e} | "
            f"{self.cells:.0f} | {self.stages[0] / self.exponentials:.1f} | {shares} | "
            f"{self.peer / self.stages[0]:.0f}x |"
        )


def measured(case: Case, n_subjects: int, n_decisions: int, n_turns: int) -> Measured:
    """Fit all subjects by Penchant and a few by hand, by turns."""
    people = case.subjects(n_subjects, n_decisions)
    box, starts = case.ranges()
    rng = np.random.default_rng(5)
    pn.fit_each(people[:2], case.model, threads=1)
    ours, clock, theirs, gaps = [], [], [], []
    for turn in range(n_turns):
        began, at = time.process_time(), time.perf_counter()
        estimates = pn.fit_each(people, case.model, threads=1)
        ours.append(time.process_time() - began)
        clock.append(time.perf_counter() - at)
        for person in range(turn * AT_A_TURN, (turn + 1) * AT_A_TURN):
            data = case.prepare(case, people[person])
            with np.errstate(all="ignore"):
                began = time.process_time()
                found, _ = by_hand.ten_starts(case.likelihood, data, box, starts, rng)
                theirs.append(time.process_time() - began)
            gaps.append(estimates[person].log_likelihood - found)
    peer = float(np.mean(theirs)) * len(people)
    medians = float(np.median(ours)), float(np.median(clock))
    cells = [int(one.source.search_grid.solved.sum()) for one in estimates]
    sizes = [one.n_decisions * one.n_options[1] for one in estimates]
    limit = seconds_of_exp() * float(np.dot(cells, sizes))
    counts = float(np.mean(cells)), limit, stages_of(people, case.model), estimates.counts()
    return Measured(case, *medians, peer, min(gaps), *counts)


def stages_of(people: list[Any], model: Any) -> tuple[float, float, float]:
    """Processor seconds of the grid, of climbs from it, and of what is said of their ends."""
    seconds = dict.fromkeys(STAGES, 0.0)

    def timed(name: str, stage: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any) -> Any:
            began = time.process_time()
            try:
                return stage(*given)
            finally:
                seconds[name] += time.process_time() - began

        return run

    own = {name: getattr(fit_of_profiles, name) for name in STAGES}
    try:
        for name, stage in own.items():
            setattr(fit_of_profiles, name, timed(name, stage))
        pn.fit_each(people, model, threads=1)
    finally:
        for name, stage in own.items():
            setattr(fit_of_profiles, name, stage)
    grid, lost, climbs, status = (seconds[name] for name in STAGES)
    return grid, climbs, lost + status


def seconds_of_exp() -> float:
    """What one exponential takes, of numbers in the cache: the quickest of some runs."""
    x, out = np.linspace(-30.0, 0.0, 4096), np.empty(4096)
    times = []
    for _ in range(20):
        began = time.process_time()
        for _ in range(50):
            np.exp(x, out=out)
        times.append(time.process_time() - began)
    return min(times) / 50 / len(x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a fifth of the subjects")
    parser.add_argument("--only", help="models whose names contain one of these, comma-separated")
    parser.add_argument("--turns", type=int, help="of both; 4, or 2 if quick")
    parser.add_argument("--markdown", type=Path)
    arguments = parser.parse_args()
    words = arguments.only.split(",") if arguments.only else [""]
    sizes = (
        (100, 200, arguments.turns or 2) if arguments.quick else (500, 200, arguments.turns or 4)
    )
    head = (
        f"| {sizes[0]} subjects x {sizes[1]} decisions | Penchant, s | by the clock, s | "
        "ten starts, s | by hand in | ratio | gap | cells | cell / exp | grid, climbs, status, % | "
        "grid alone |"
    )
    facts = machine.about("")
    lines = [head, "|---" * 11 + "|"]
    print("\n".join(lines), flush=True)
    for case in CASES:
        if any(word in case.name for word in words):
            found = measured(case, *sizes)
            lines.append(found.row())
            print(lines[-1], found.statuses, flush=True)
    if arguments.markdown:
        arguments.markdown.write_text(page(lines, facts))


ABSENT = """\
Not compared: hBayesDM 1.1.1 from the package index, whose dependency pystan 2 did not build, and
pyEM, whose name there belongs to a manager of environments."""


def page(lines: list[str], facts: dict[str, str]) -> str:
    """The table with what it was measured on."""
    given = " ".join(sys.argv[1:])
    facts = facts | {"command": f"python benchmarks/models.py {given}"}
    said = "\n".join(f"- {name}: {value}" for name, value in facts.items())
    how = "\n\n".join((__doc__ or "").split("\n\n")[2:]).strip()
    table = "\n".join(lines)
    return f"# Fits of many subjects, model by model\n\n{how}\n\n{table}\n\n{ABSENT}\n\n{said}\n"


if __name__ == "__main__":
    main()
