"""Tasks of offers: what is offered, the equations one option at a time, and true parameters."""

import math

import numpy as np

import penchant as pn

M = pn.models


def amounts(rng, n, low=1.0, high=60.0):
    return rng.uniform(low, high, (n, 2))


def shared(rng, n):
    return {"own": amounts(rng, n, 0, 20), "other": amounts(rng, n, 0, 20)}


def worked(rng, n):
    effort = np.column_stack([rng.uniform(0, 0.3, n), rng.uniform(0.2, 3.0, n)])
    effort[::7, 0] = 0.0
    reward = np.column_stack([rng.uniform(1, 4, n), rng.uniform(2, 12, n)])
    return {"reward": reward, "effort": effort}


def hidden(rng, n):
    return {
        "amount": np.column_stack([np.full(n, 5.0), rng.uniform(5, 60, n)]),
        "probability": np.column_stack([np.full(n, 0.5), rng.choice([0.13, 0.25, 0.5, 0.75], n)]),
        "ambiguity": np.column_stack([np.zeros(n), rng.choice([0, 0, 0.24, 0.5, 0.74], n)]),
    }


def peers(rng, n):
    return {
        "high": np.column_stack([rng.uniform(20, 30, n), rng.uniform(35, 60, n)]),
        "low": np.column_stack([rng.uniform(14, 19, n), rng.uniform(1, 6, n)]),
        "probability": np.repeat(rng.uniform(0.2, 0.8, (n, 1)), 2, axis=1),
        "condition": np.repeat(rng.choice([0, 1, 2, 3], (n, 1)), 2, axis=1),
    }


def unlikely(rng, n):
    return {
        "amount": np.column_stack([rng.uniform(2, 40, n), rng.uniform(40, 90, n)]),
        "probability": np.column_stack([np.ones(n), rng.choice([0.0, 0.1, 0.3, 0.6, 0.9], n)]),
        "delay": np.column_stack([np.zeros(n), rng.choice([0, 7, 30, 90], n)]),
    }


def delayed(rng, n):
    return {
        "amount": np.column_stack([rng.uniform(2, 90, n), rng.uniform(60, 300, n)]),
        "delay": np.column_stack([np.zeros(n), rng.choice([7, 30, 90, 365], n)]),
    }


def ultimatum(rng, n):
    return {"offer": np.column_stack([np.zeros(n), rng.integers(0, 20, n).astype(float)])}


def staked(rng, n):
    stakes, turn = np.array([0.05, 0.25, 0.5, 0.75, 0.95]), rng.random(n) < 0.5
    share = rng.integers(5, 10, n) / 10
    return {
        "stake": np.where(turn[:, None], stakes, stakes[::-1]),
        "delay": np.tile(np.arange(5) / 4, (n, 1)),
        "points": np.repeat(rng.integers(20, 300, (n, 1)), 5, axis=1),
        "probability": np.repeat(share[:, None], 5, axis=1),
    }


def coloured(rng, n):
    share = rng.integers(1, 10, n) / 10
    return {"probability": np.column_stack([1 - share, share])}


# -- the equations, one option at a time -----------------------------------------------------------


def literal_effort(kind):
    def value(offer, i, *psi):
        r, e = offer["reward"][i], offer["effort"][i]
        if kind == "linear":
            return [r, -e]
        if kind == "quadratic":
            return [r, -e * e]
        if kind == "power":
            return [r, -(e ** psi[0])]
        if kind == "hyperbolic":
            return [r / (1 + psi[0] * e)]
        if kind == "exponential":
            return [r * math.exp(-psi[0] * e)]
        k, p = psi
        fall = (1 / (1 + math.exp(-k * (e - p))) - 1 / (1 + math.exp(k * p))) * (
            1 + 1 / math.exp(k * p)
        )
        return [r * (1 - fall)]

    return value


def literal_inequity(offer, i):
    own, other = offer["own"][i], offer["other"][i]
    return [own, -max(other - own, 0), -max(own - other, 0)]


def literal_erc(offer, i):
    own, other = offer["own"][i], offer["other"][i]
    return [own, -((own / (own + other) - 0.5) ** 2)]


def literal_levy(offer, i, alpha):
    v, p, a = (offer[name][i] for name in ("amount", "probability", "ambiguity"))
    return [p * v**alpha, -(a / 2) * v**alpha]


def literal_exponent(offer, i, alpha, beta):
    v, p, a = (offer[name][i] for name in ("amount", "probability", "ambiguity"))
    return [p ** (1 + beta * a) * v**alpha]


def literal_peers(offer, i, rho):
    p = offer["probability"][i]
    value = p * offer["high"][i] ** rho + (1 - p) * offer["low"][i] ** rho
    return [value, float(offer["condition"][i] == (1 if i == 0 else 3))]


def literal_odds(offer, i, h):
    a, p = offer["amount"][i], offer["probability"][i]
    return [0.0 if p == 0 else a / (1 + h * (1 - p) / p)]


def literal_odds_and_delay(offer, i, k, h):
    return [literal_odds(offer, i, h)[0] / (1 + k * offer["delay"][i])]


def literal_magnitude(offer, i, k, m):
    a, d = offer["amount"][i], offer["delay"][i]
    return [a / (1 + k * a**-m * d)]


def literal_utility(offer, i, k, s):
    return [offer["amount"][i] ** s / (1 + k * offer["delay"][i])]


def literal_stakes(offer, i, rho):
    s, points, q = offer["stake"][i], offer["points"][i] / 100, offer["probability"][i]
    won = math.log(1 + points * (1 + s))
    lost = math.log(1 + rho * points * (1 - s))
    return [q * won + (1 - q) * lost, -offer["delay"][i]]


def literal_colours(offer, i):
    return [math.log(offer["probability"][i]), float(i == 0)]


MODELS = {
    **{
        f"effort {kind}": (M.Effort(kind), worked, literal_effort(kind), truth)
        for kind, truth in (
            ("linear", {"temperature": 0.7, "effort_cost": 1.9}),
            ("quadratic", {"temperature": 0.7, "effort_cost": 1.1}),
            ("power", {"temperature": 0.7, "effort_cost": 1.4, "effort_power": 1.6}),
            ("hyperbolic", {"temperature": 0.5, "effort_rate": 0.8}),
            ("exponential", {"temperature": 0.5, "effort_rate": 0.6}),
            ("sigmoid", {"temperature": 0.5, "effort_rate": 2.2, "effort_turn": 1.3}),
        )
    },
    "inequity": (
        M.Inequity(),
        shared,
        literal_inequity,
        {"temperature": 2.0, "envy": 0.8, "guilt": 0.35},
    ),
    "erc": (M.Inequity("erc"), shared, literal_erc, {"temperature": 2.0, "equality": 30.0}),
    "levy": (
        M.Ambiguity(),
        hidden,
        literal_levy,
        {"temperature": 0.5, "ambiguity_aversion": 0.6, "curvature": 0.8},
    ),
    "ambiguity in an exponent": (
        M.Ambiguity("exponential"),
        hidden,
        literal_exponent,
        {"temperature": 0.5, "curvature": 0.8, "ambiguity_aversion": 0.7},
    ),
    "peers": (
        M.PeerInfluence(),
        peers,
        literal_peers,
        {"temperature": 0.6, "peer_influence": 0.9, "curvature": 0.7},
    ),
    "odds": (
        M.ProbabilityDiscounting(),
        unlikely,
        literal_odds,
        {"temperature": 4.0, "odds_rate": 1.7},
    ),
    "odds and delay": (
        M.ProbabilityDiscounting(delays=True),
        unlikely,
        literal_odds_and_delay,
        {"temperature": 4.0, "discount_rate": 0.02, "odds_rate": 1.7},
    ),
    "magnitude": (
        M.MagnitudeDiscounting(),
        delayed,
        literal_magnitude,
        {"temperature": 8.0, "discount_rate": 0.2, "magnitude_effect": 0.5},
    ),
    "utility": (
        M.MagnitudeDiscounting("utility"),
        delayed,
        literal_utility,
        {"temperature": 2.0, "discount_rate": 0.01, "curvature": 0.7},
    ),
    "cambridge, stakes": (
        M.CambridgeGamble(),
        staked,
        literal_stakes,
        {"temperature": 0.1, "impatience": 0.2, "loss_sensitivity": 1.7},
    ),
    "cambridge, colours": (
        M.CambridgeGamble("colours"),
        coloured,
        literal_colours,
        {"probability_distortion": 1.4, "colour_bias": 0.6},
    ),
}
