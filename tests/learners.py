"""Models of learning as tests use them: each with true parameters and a task that tells of them."""

import numpy as np
from scipy import special, stats

import penchant as pn
from penchant.models.model import natural_parameters

TASK = pn.Landscape([0.25, 0.6, 0.45], pn.GaussianNoise(0.3))
TWO = pn.Landscape([-0.3, 0.4], pn.GaussianNoise(0.5))

# name: model, natural parameters, task
CASES = {
    "random": (pn.models.RandomChoice(3), {"bias_0": 0.7, "bias_1": -0.4}, TASK),
    "win-stay": (
        pn.models.WinStayLoseShift(3, win_above=0.3),
        {"win_stay": 1.2, "lose_shift": 0.6},
        TASK,
    ),
    "win-stay, epsilon": (
        pn.models.WinStayLoseShift(2, win_above=0.1, equal=True),
        {"epsilon": 0.35},
        TWO,
    ),
    "win-stay, equal": (
        pn.models.WinStayLoseShift(3, win_above=0.3, equal=True),
        {"win_stay_lose_shift": 0.9},
        TASK,
    ),
    "history": (
        pn.models.HistoryRegression(3, reward_lags=2, choice_lags=3, bias=True),
        {
            **{"reward_1": 1.4, "reward_2": 0.7, "choice_1": -0.5, "choice_2": 0.3},
            **{"choice_3": 0.2, "bias_0": 0.3, "bias_1": -0.2},
        },
        TASK,
    ),
    "q-learning, dual": (
        pn.QLearning(3, 0.2, dual_rates=True, stickiness=True),
        {
            **{"temperature": 0.25, "stickiness": 0.4},
            **{"learning_rate_positive": 0.45, "learning_rate_negative": 0.2},
        },
        TASK,
    ),
    "q-learning, forgetting": (
        pn.QLearning(3, None, forgetting=None, choice_kernel=True, choice_rate=0.3, bias=True),
        {
            **{"temperature": 0.2, "initial_value": 0.5, "learning_rate": 0.4, "forgetting": 0.15},
            **{"choice_kernel": 0.8, "bias_0": 0.3, "bias_1": -0.2},
        },
        TASK,
    ),
    "q-learning, tied": (
        pn.QLearning(3, 0.3, forgetting="learning_rate", choice_kernel=True),
        {"temperature": 0.2, "learning_rate": 0.3, "choice_kernel": -0.6, "choice_rate": 0.4},
        TASK,
    ),
    "q-learning, fictitious": (
        pn.QLearning(2, fictitious=None, choice_kernel=True, stickiness=True),
        {
            **{"temperature": 0.5, "learning_rate": 0.3, "fictitious_rate": 0.2},
            **{"choice_rate": 0.3, "choice_kernel": 0.6, "stickiness": -0.4},
        },
        TWO,
    ),
    "q-learning, known rates": (
        pn.QLearning(3, dual_rates=True, learning_rate=(0.4, 0.2), forgetting=0.1),
        {"temperature": 0.3},
        TASK,
    ),
    "kalman, static": (
        pn.KalmanFilter(3, noise_variance=0.3, initial_mean=None, stickiness=True),
        {
            **{"temperature": 0.25, "initial_mean": 0.5, "uncertainty_bonus": 0.6},
            **{"prior_variance": 0.4, "stickiness": 0.3},
        },
        TASK,
    ),
    "kalman, restless": (
        pn.KalmanFilter(
            *(3, 0.3, None, None, None, None, None),
            bias=True,
        ),
        {
            **{"temperature": 0.25, "initial_mean": 0.2, "centre": 0.6, "uncertainty_bonus": -0.4},
            **{"prior_variance": 0.5, "decay": 0.85, "drift_variance": 0.06},
            **{"bias_0": 0.2, "bias_1": 0.1},
        },
        TASK,
    ),
    "kalman, decay only": (
        pn.KalmanFilter(3, 0.3, prior_variance=0.5, decay=None, centre=0.4, bonus=False),
        {"temperature": 0.2, "decay": 0.7},
        TASK,
    ),
    "hybrid": (
        pn.models.GershmanHybrid(0.5, None, stickiness=True),
        {
            **{"value": 0.9, "relative_uncertainty": 0.7, "value/total_uncertainty": 0.6},
            **{"prior_variance": 1.5, "stickiness": -0.3},
        },
        TWO,
    ),
    "ucb1": (
        pn.models.UCB1(3, None, stickiness=True, bias=True),
        {
            **{"temperature": 0.25, "initial_value": 0.4, "exploration": 0.5},
            **{"stickiness": 0.3, "bias_0": 0.2, "bias_1": -0.1},
        },
        TASK,
    ),
    "known values": (
        pn.models.KnownValues([0.2, 0.9, 0.5], cooling="power"),
        {"initial_temperature": 0.8, "cooling_exponent": 0.4},
        TASK,
    ),
    "known values, cooling": (
        pn.models.KnownValues([0.2, 0.9, 0.5], cooling="logarithmic"),
        {"decision_noise": 1.1},
        TASK,
    ),
}


def weights_and_shape(model, natural):
    """theta and psi of natural parameters, kind by kind."""
    theta, psi = np.zeros(len(model.weights)), np.zeros(len(model.shape))
    for n in natural_parameters(model):
        value = natural[n.name]
        scale, power = n.transform.low, n.transform.high
        if n.is_shape:
            psi[n.index] = (
                value if n.transform.name == "identity" else (value / scale) ** (1 / power)
            )
        elif n.is_reciprocal:
            theta[n.index] = 1 / value
        elif n.is_weight:
            theta[n.index] = value
        elif n.is_share:
            theta[n.index] = np.log(scale / value - 1)
    for n in natural_parameters(model):
        if n.is_ratio:
            theta[n.index] = natural[n.name] * theta[n.over_indices[0]]
    return theta, psi


def p_value(episodes, model, theta, psi, skip=0):
    """Do choices, counted by time and by rank of their probability, go with the probabilities?

    For every time t: counts O of the options by rank, expectations E and covariances V summed over
    agents; (O - E)' V^- (O - E) is chi-square with n_options - 1 degrees of freedom.
    """
    p = np.stack([special.softmax(model.explanatory(e, *psi) @ theta, axis=1) for e in episodes])
    chosen = np.stack([e.chosen for e in episodes])
    order = np.argsort(p, axis=2, kind="stable")
    ranked = np.take_along_axis(p, order, axis=2)
    taken = np.argmax(order == chosen[:, :, None], axis=2)
    statistic = freedom = 0.0
    for t in range(skip, p.shape[1]):
        observed = np.bincount(taken[:, t], minlength=p.shape[2])
        expected = ranked[:, t].sum(axis=0)
        spread = np.diag(expected) - ranked[:, t].T @ ranked[:, t]
        gap = observed - expected
        # drop ranks that nobody is expected to take
        used = np.flatnonzero(expected > 5)[1:]
        statistic += gap[used] @ np.linalg.solve(spread[np.ix_(used, used)], gap[used])
        freedom += len(used)
    return stats.chi2.sf(statistic, freedom)
