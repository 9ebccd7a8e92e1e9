"""Functions of hBayesDM, in their own parameters on their own tables, against the models here.

Each likelihood is written from the rules of the task, row by row of a table, apart from models and
from their references; the table goes through the reader of its task.
"""

import math
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from scipy import special

import penchant as pn
from penchant.models.catalogue import HBAYESDM
from penchant.models.model import weights_and_shape


def log_share(values, taken):
    """Log-probability of an option by softmax."""
    top = max(values)
    return values[taken] - top - math.log(sum(math.exp(v - top) for v in values))


def log_yes(q, said):
    return log_share([0.0, q], said)


# -- tables ----------------------------------------------------------------------------------------


def two_step_table(rng, n):
    return {
        "level1_choice": rng.integers(1, 3, n),
        "level2_choice": rng.integers(1, 5, n),
        "reward": rng.integers(0, 2, n),
    }


def go_table(rng, n):
    return {
        "cue": rng.integers(1, 5, n),
        "keyPressed": rng.integers(0, 2, n),
        "outcome": rng.integers(-1, 2, n),
    }


def paid_table(rng, n, options=2, outcomes=(-1, 1)):
    return {"choice": rng.integers(1, options + 1, n), "outcome": rng.choice(outcomes, n)}


def card_table(rng, n, scale=1):
    return {
        "choice": np.append(rng.integers(1, 5, n - 1), 4),
        "gain": rng.integers(0, 2, n) * scale,
        "loss": -rng.integers(0, 3, n) * scale,
    }


def balloon_table(rng, n):
    return {"pumps": rng.integers(1, 9, n), "explosion": rng.integers(0, 2, n)}


def pair_table(rng, n):
    return {
        "type": rng.choice([12, 34, 56, 13, 26, 45], n),
        "choice": rng.integers(0, 2, n),
        "reward": rng.integers(0, 2, n),
    }


def offer_table(rng, n):
    return {"offer": rng.integers(1, 20, n), "accept": rng.integers(0, 2, n)}


def lottery_table(rng, n):
    return {
        "prob": rng.choice([0.13, 0.25, 0.38, 0.5], n),
        "ambig": rng.choice([0.0, 0.24, 0.5, 0.74], n),
        "reward_var": rng.uniform(5, 66, n),
        "reward_fix": np.full(n, 5.0),
        "choice": rng.integers(0, 2, n),
    }


def peer_table(rng, n):
    return {
        "condition": rng.integers(0, 4, n),
        "p_gamble": rng.uniform(0.1, 0.9, n),
        "safe_Hpayoff": rng.uniform(20, 30, n),
        "safe_Lpayoff": rng.uniform(14, 19, n),
        "risky_Hpayoff": rng.uniform(35, 60, n),
        "risky_Lpayoff": rng.uniform(1, 6, n),
        "choice": rng.integers(0, 2, n),
    }


def gamble_table(rng, n):
    return {
        "gamble_type": rng.integers(0, 2, n),
        "percentage_staked": rng.choice([5, 25, 50, 75, 95], n),
        "trial_initial_points": rng.integers(20, 300, n),
        "red_chosen": rng.integers(0, 2, n),
        "n_red_boxes": rng.choice([1, 2, 3, 4, 6, 7, 8, 9], n),
    }


def punished_table(rng, n):
    return {
        "choice": rng.integers(1, 3, n),
        "outcome": rng.integers(0, 2, n),
        "bluePunish": rng.integers(5, 80, n),
        "orangePunish": rng.integers(5, 80, n),
    }


def input_table(rng, n):
    return {"u": rng.integers(0, 2, n), "y": rng.integers(0, 2, n)}


def described_table(rng, n):
    return {
        **{f"opt{i}hprob": rng.uniform(0.05, 0.95, n) for i in (1, 2)},
        "opt1hval": rng.uniform(1, 9, n),
        "opt1lval": rng.uniform(-5, 1, n),
        "opt2hval": rng.uniform(-4, 6, n),
        "opt2lval": rng.uniform(-9, -4, n),
        "choice": rng.integers(1, 3, n),
    }


def delay_table(rng, n):
    return {
        "delay_later": rng.choice([7, 30, 90, 365], n),
        "amount_later": rng.uniform(20, 90, n),
        "delay_sooner": rng.choice([0, 0, 3], n),
        "amount_sooner": rng.uniform(5, 20, n),
        "choice": rng.integers(0, 2, n),
    }


def risk_table(rng, n):
    return {
        "gain": rng.uniform(2, 20, n),
        "loss": rng.uniform(1, 15, n),
        "cert": rng.uniform(0, 5, n),
        "gamble": rng.integers(0, 2, n),
    }


# -- likelihoods, row by row -----------------------------------------------------------------------


def two_step(rows, p, lam=None):
    """Q1 takes the error of stage 2 after its value has moved."""
    lam = p.get("lambda", 1.0) if lam is None else lam
    a1, a2 = p.get("a1", p.get("a")), p.get("a2", p.get("a"))
    beta1 = p.get("beta1", p.get("beta"))
    beta2 = p.get("beta2", beta1)
    q1, q2, before, total = [0.0, 0.0], [0.0] * 4, None, 0.0
    for row in rows:
        c1, c2, r = int(row["level1_choice"]) - 1, int(row["level2_choice"]) - 1, row["reward"]
        left, right = max(q2[0], q2[1]), max(q2[2], q2[3])
        planned = [0.7 * left + 0.3 * right, 0.3 * left + 0.7 * right]
        at = [p["w"] * planned[i] + (1 - p["w"]) * q1[i] for i in (0, 1)]
        total += log_share([beta1 * at[i] + p["pi"] * (i == before) for i in (0, 1)], c1)
        pair = [q2[0], q2[1]] if c2 < 2 else [q2[2], q2[3]]
        total += log_share([beta2 * v for v in pair], c2 % 2)
        q1[c1] += a1 * (q2[c2] - q1[c1])
        q2[c2] += a2 * (r - q2[c2])
        q1[c1] += a1 * lam * (r - q2[c2])
        before = c1
    return total


def go(rows, p):
    value = {(cue, press): 0.0 for cue in range(1, 5) for press in (0, 1)}
    state, total = dict.fromkeys(range(1, 5), 0.0), 0.0
    for row in rows:
        cue, press, o = int(row["cue"]), int(row["keyPressed"]), row["outcome"]
        pushed = value[cue, 1] + p.get("b", 0.0) + p.get("pi", 0.0) * state[cue]
        total += log_yes(pushed - value[cue, 0], press)
        rho = p.get("rho") or (p["rhoRew"] if o >= 0 else p["rhoPun"])
        value[cue, press] += p["ep"] * (rho * o - value[cue, press])
        state[cue] += p["ep"] * (rho * o - state[cue])
    return total


def reversal(rows, p, fictive=False, by_error=False):
    """Values of two options from signs of outcomes; alpha shifts the sigmoid."""
    q, total = [0.0, 0.0], 0.0
    for row in rows:
        c, r = int(row["choice"]) - 1, float(np.sign(row["outcome"]))
        total += log_yes(p["beta"] * (p.get("alpha", 0.0) - (q[0] - q[1])), c)
        error = r - q[c]
        positive = error >= 0 if by_error else r > 0
        rate = p.get("eta") or (p["eta_pos"] if positive else p["eta_neg"])
        q[c] += rate * error
        if fictive:
            q[1 - c] += rate * (-r - q[1 - c])
    return total


def attraction(rows, p):
    q, n, total = [0.0, 0.0], [0.0, 0.0], 0.0
    for row in rows:
        c, r = int(row["choice"]) - 1, float(np.sign(row["outcome"]))
        total += log_share([p["beta"] * v for v in q], c)
        q[c] = (q[c] * p["phi"] * n[c] + r) / (p["rho"] * n[c] + 1)
        n[c] = p["rho"] * n[c] + 1
    return total


def delta(rows, p, options, paid=lambda row: row["outcome"], scale="tau"):
    q, total = [0.0] * options, 0.0
    for row in rows:
        c = int(row["choice"]) - 1
        total += log_share([p[scale] * v for v in q], c)
        q[c] += p["A"] * (paid(row) - q[c])
    return total


def tracked(rows, p, options, paid=lambda row: row["outcome"]):
    mean, sd, total = [p["mu0"]] * options, [p["s0"]] * options, 0.0
    for row in rows:
        c = int(row["choice"]) - 1
        total += log_share([p["beta"] * m for m in mean], c)
        gain = sd[c] ** 2 / (sd[c] ** 2 + 16)
        mean[c] += gain * (paid(row) - mean[c])
        sd[c] *= math.sqrt(1 - gain)
        for i in range(options):
            mean[i] = p["lambda"] * mean[i] + (1 - p["lambda"]) * p["theta"]
            sd[i] = math.sqrt(p["lambda"] ** 2 * sd[i] ** 2 + p["sD"] ** 2)
    return total


def apart(rows, p):
    """Gains and losses learnt apart; without the lapse."""
    win, lose = [0.0] * 4, [0.0] * 4
    rate = p.get("Arew", p.get("A")), p.get("Apun", p.get("A"))
    total = 0.0
    for row in rows:
        c = int(row["choice"]) - 1
        total += log_share([a + b for a, b in zip(win, lose, strict=True)], c)
        for values, own, felt in (
            (win, rate[0], p["R"] * row["gain"]),
            (lose, rate[1], -p["P"] * abs(row["loss"])),
        ):
            for i in range(4):
                if i == c:
                    values[i] += own * (felt - values[i])
                else:
                    values[i] += p.get("d", own) * (0.0 - values[i])
    return total


def felt(row, p):
    x = (abs(row["gain"]) - abs(row["loss"])) / 100
    return x, x ** p["alpha"] if x >= 0 else -p["lambda"] * (-x) ** p["alpha"]


def decks(rows, p, rule):
    theta, value, total = 3 ** p["cons"] - 1, [0.0] * 4, 0.0
    for row in rows:
        c = int(row["choice"]) - 1
        total += log_share([theta * v for v in value], c)
        _, u = felt(row, p)
        if rule == "decay":
            value = [v * p["A"] for v in value]
            value[c] += u
        else:
            value[c] += p["A"] * (u - value[c])
    return total


def value_and_habit(rows, p):
    theta, value, habit, total = 3 ** p["cons"] - 1, [0.0] * 4, [0.0] * 4, 0.0
    for row in rows:
        c = int(row["choice"]) - 1
        mixed = [p["w"] * v + (1 - p["w"]) * h for v, h in zip(value, habit, strict=True)]
        total += log_share([theta * v for v in mixed], c)
        x, u = felt(row, p)
        habit = [h * p["K"] for h in habit]
        habit[c] += p["epP"] if x >= 0 else p["epN"]
        value[c] += p["A"] * (u - value[c])
    return total


def frequency(rows, p):
    ev, ef, ps, total = [0.0] * 4, [0.0] * 4, [0.0] * 4, 0.0
    for row in rows:
        c = int(row["choice"]) - 1
        total += log_share([ev[i] + p["betaF"] * ef[i] + p["betaP"] * ps[i] for i in range(4)], c)
        x = (abs(row["gain"]) - abs(row["loss"])) / 100
        own, other = (p["Arew"], p["Apun"]) if x >= 0 else (p["Apun"], p["Arew"])
        s = (x > 0) - (x < 0)
        for i in range(4):
            ef[i] += own * (s - ef[i]) if i == c else other * (-s / 3 - ef[i])
        ev[c] += own * (x - ev[c])
        ps[c] = 1.0
        ps = [v / 3 ** p["K"] for v in ps]
    return total


def pumping(rows, p):
    safe, tried, total = 0, 0, 0.0
    for row in rows:
        chance = 1 - (p["phi"] + p["eta"] * safe) / (1 + p["eta"] * tried)
        best = -p["gam"] / math.log1p(-chance)
        pumps, burst = int(row["pumps"]), int(row["explosion"])
        for push in range(1, pumps + 1):
            total += log_yes(p["tau"] * (best - push), 1)
        if not burst:
            total += log_yes(p["tau"] * (best - (pumps + 1)), 0)
        safe, tried = safe + pumps - burst, tried + pumps
    return total


def weighing(rows, p):
    burst_before, tried, total = 0, 0, 0.0
    for row in rows:
        chance = p["phi"]
        if tried:
            told = math.exp(-p["eta"] * tried)
            chance = told * p["phi"] + (1 - told) * burst_before / tried
        pumps, burst = int(row["pumps"]), int(row["explosion"])
        for push in range(1, pumps + 1 + (not burst)):
            gain = 1 - chance
            loss = p["lambda"] * chance * (push - 1)
            spread = chance * (1 - chance) * (1 + p["lambda"] * (push - 1)) ** 2
            total += log_yes(p["tau"] * (gain - loss + p["rho"] * spread), int(push <= pumps))
        burst_before, tried = burst_before + burst, tried + pumps
    return total


def selection(rows, p):
    q, total = [0.0] * 6, 0.0
    for row in rows:
        pair = int(row["type"]) // 10 - 1, int(row["type"]) % 10 - 1
        total += log_yes(p["beta"] * (q[pair[0]] - q[pair[1]]), int(row["choice"]))
        c = pair[0] if row["choice"] == 1 else pair[1]
        error = row["reward"] - q[c]
        rate = p.get("alpha") or (p["alpha_pos"] if error >= 0 else p["alpha_neg"])
        q[c] += rate * error
    return total


def ideal(rows, p):
    k, mean, total = 4.0, 10.0, 0.0
    for row in rows:
        o = row["offer"]
        mean, k = (k * mean + o) / (k + 1), k + 1
        value = o - p["alpha"] * max(mean - o, 0.0) - p["beta"] * max(o - mean, 0.0)
        total += log_yes(p["tau"] * value, int(row["accept"]))
    return total


def moving(rows, p):
    norm, total = 10.0, 0.0
    for row in rows:
        o = row["offer"]
        total += log_yes(p["tau"] * (o - p["alpha"] * max(norm - o, 0.0)), int(row["accept"]))
        norm += p["ep"] * (o - norm)
    return total


def levy(rows, p, rule):
    total = 0.0
    for row in rows:
        if rule == "linear":
            chance = row["prob"] - p["beta"] * row["ambig"] / 2
        else:
            chance = row["prob"] ** (1 + p["beta"] * row["ambig"])
        gap = chance * row["reward_var"] ** p["alpha"] - 0.5 * row["reward_fix"] ** p["alpha"]
        total += log_yes(p["gamma"] * gap, int(row["choice"]))
    return total


def peer(rows, p):
    total = 0.0
    for row in rows:
        worth = []
        for kind, seen in (("safe", 1), ("risky", 3)):
            high, low = row[f"{kind}_Hpayoff"] ** p["rho"], row[f"{kind}_Lpayoff"] ** p["rho"]
            worth.append(row["p_gamble"] * high + (1 - row["p_gamble"]) * low)
            worth[-1] += p["ocu"] * (row["condition"] == seen)
        total += log_yes(p["tau"] * (worth[1] - worth[0]), int(row["choice"]))
    return total


def colours(rows, p):
    total = 0.0
    for row in rows:
        red = row["n_red_boxes"] / 10
        up = p["c"] * red ** p["alpha"]
        down = (1 - p["c"]) * (1 - red) ** p["alpha"]
        total += math.log((up if row["red_chosen"] == 1 else down) / (up + down))
    return total


def stakes(rows, p):
    total = 0.0
    for row in rows:
        shown = [0.05, 0.25, 0.5, 0.75, 0.95]
        shown = shown if row["gamble_type"] == 1 else shown[::-1]
        red = row["n_red_boxes"] / 10
        chance = red if row["red_chosen"] == 1 else 1 - red
        points, worth = row["trial_initial_points"] / 100, []
        for place, stake in enumerate(shown):
            won, lost = points * (1 + stake), points * (1 - stake)
            mean = chance * math.log(1 + won) + (1 - chance) * math.log(1 + p["rho"] * lost)
            worth.append(p["gamma"] * (mean - p["beta"] * 0.25 * place))
        total += log_share(worth, shown.index(row["percentage_staked"] / 100))
    return total


def punished(rows, p):
    def tilted(e):
        return min(max(p["gamma"] * (e - 0.5) + 0.5, 0.0), 1.0)

    blue, total = 0.5, 0.0
    for row in rows:
        both = [
            -p["beta"] * tilted(blue) * row["bluePunish"],
            -p["beta"] * tilted(1 - blue) * row["orangePunish"],
        ]
        total += log_share(both, int(row["choice"]) - 1)
        blue += p["A"] * (row["outcome"] - blue)
    return total


def gaussian_filter(rows, p):
    mu, sigma = {2: 0.0, 3: 1.0}, {2: 0.1, 3: 1.0}
    total = 0.0
    for row in rows:
        total += log_yes(p["zeta"] * mu[2], int(row["y"]))
        hat1 = special.expit(mu[2])
        moved = math.exp(p["kappa"] * mu[3] + p["omega2"])
        hat_pi2 = 1 / (sigma[2] + moved)
        hat_pi3 = 1 / (sigma[3] + math.exp(p["omega3"]))
        pi2 = hat_pi2 + hat1 * (1 - hat1)
        new2 = mu[2] + (row["u"] - hat1) / pi2
        w2 = moved * hat_pi2
        r2 = (moved - sigma[2]) / (sigma[2] + moved)
        d2 = (1 / pi2 + (new2 - mu[2]) ** 2) / (sigma[2] + moved) - 1
        pi3 = hat_pi3 + p["kappa"] ** 2 / 2 * w2 * (w2 + r2 * d2)
        mu = {2: new2, 3: mu[3] + p["kappa"] / 2 * w2 * d2 / pi3}
        sigma = {2: 1 / pi2, 3: 1 / pi3}
    return total


def described(rows, p):
    def w(chance):
        return math.exp(-((-math.log(chance)) ** p["tau"]))

    def u(x):
        return x ** p["rho"] if x >= 0 else -p["lambda"] * (-x) ** p["rho"]

    total = 0.0
    for row in rows:
        worth = []
        for i in (1, 2):
            h = row[f"opt{i}hprob"]
            worth.append(w(h) * u(row[f"opt{i}hval"]) + w(1 - h) * u(row[f"opt{i}lval"]))
        total += log_share([p["beta"] * v for v in worth], int(row["choice"]) - 1)
    return total


def delays(rows, p, discount):
    total = 0.0
    for row in rows:
        later = row["amount_later"] * discount(row["delay_later"], p)
        sooner = row["amount_sooner"] * discount(row["delay_sooner"], p)
        total += log_yes(p["beta"] * (later - sooner), int(row["choice"]))
    return total


def risks(rows, p):
    rho, lam, total = p.get("rho", 1.0), p.get("lambda", 1.0), 0.0
    for row in rows:
        gamble = 0.5 * (row["gain"] ** rho - lam * row["loss"] ** rho)
        total += log_yes(p["tau"] * (gamble - row["cert"] ** rho), int(row["gamble"]))
    return total


# -- what their parameters are called here ---------------------------------------------------------


def stages(p):
    said = {"inverse_temperature": p.get("beta1", p.get("beta")), "model_based_share": p["w"]}
    said |= {"stickiness": p["pi"]}
    renamed = {"lambda": "trace_decay", "beta2": "inverse_temperature_2", "a": "learning_rate"}
    renamed |= {"a1": "learning_rate_1", "a2": "learning_rate_2"}
    return said | {ours: p[theirs] for theirs, ours in renamed.items() if theirs in p}


def called(**names):
    return lambda p: {ours: p[theirs] for theirs, ours in names.items()}


GO = {"b": "bias", "pi": "pavlovian", "ep": "learning_rate"}
RATES = {"eta_pos": "learning_rate_positive", "eta_neg": "learning_rate_negative"}


def turned(p):
    """alpha moves the sigmoid towards option 2: -alpha beta is the bias of option 1."""
    said = {"temperature": 1 / p["beta"]}
    said |= {"bias_0": -p["beta"] * p["alpha"]} if "alpha" in p else {}
    said |= {ours: p[theirs] for theirs, ours in RATES.items() if theirs in p}
    return said | ({"learning_rate": p["eta"]} if "eta" in p else {})


def iowa(rate):
    names = {"cons": "consistency", "lambda": "loss_aversion", "alpha": "sensitivity", "A": rate}
    return called(**names)


def habits(p):
    """Perseverance relative to the weight of gains: any w has the same likelihood."""
    theta = 3 ** p["cons"] - 1
    relative = (1 - p["w"]) / p["w"]
    return {
        "consistency": math.log(1 + theta * p["w"], 3),
        **{"loss_aversion": p["lambda"], "sensitivity": p["alpha"], "learning_rate": p["A"]},
        **{"win_perseverance": p["epP"] * relative, "loss_perseverance": p["epN"] * relative},
        "perseverance_decay": p["K"],
    }


def restless(p):
    return {
        "temperature": 1 / p["beta"],
        **{"initial_mean": p["mu0"], "prior_variance": p["s0"] ** 2},
        **{"decay": p["lambda"], "centre": p["theta"], "drift_variance": p["sD"] ** 2},
    }


def over(scale, **names):
    """The inverse of an inverse temperature, and others under our names."""
    return lambda p: {"temperature": 1 / p[scale], **called(**names)(p)}


def apart_named(p):
    names = {"Arew": "gain_rate", "Apun": "loss_rate", "A": "learning_rate", "d": "decay"}
    names |= {"R": "gain_sensitivity", "P": "loss_sensitivity"}
    return {ours: p[theirs] for theirs, ours in names.items() if theirs in p}


NET = {"paid": lambda row: abs(row["gain"]) - abs(row["loss"])}
STEP = {"a1": 0.42, "a2": 0.31, "beta1": 3.1, "beta2": 2.2, "pi": 0.4, "w": 0.63}
WANDER = {"lambda": 0.91, "theta": 3.0, "beta": 0.35, "mu0": 2.5, "s0": 3.1, "sD": 1.7}
BALLOONS = {"tau": 0.7, "phi": 0.88, "eta": 0.06}
GAINS = {"R": 3.2, "P": 2.1, "Arew": 0.35, "Apun": 0.22}
CARDS = {"cons": 0.9, "lambda": 1.4, "alpha": 0.55, "A": 0.35}


def bandits(n):
    return {
        f"{n}_4par": (card_table, "gain-loss", apart, GAINS, apart_named),
        f"{n}_lapse": (card_table, "gain-loss", apart, GAINS, apart_named),
        f"{n}_singleA_lapse": (
            *(card_table, "gain-loss", apart),
            *({"R": 3.2, "P": 2.1, "A": 0.35}, apart_named),
        ),
        f"{n}_lapse_decay": (card_table, "gain-loss", apart, {**GAINS, "d": 0.17}, apart_named),
        f"{n}_2par_lapse": (
            *(card_table, "gain-loss", apart),
            {"R": 1.0, "P": 1.0, "Arew": 0.35, "Apun": 0.22},
            called(R="sensitivity", Arew="gain_rate", Apun="loss_rate"),
        ),
    }


def pvl(rule):
    return partial(decks, rule=rule)


hundred = partial(card_table, scale=50)
four = partial(paid_table, options=4, outcomes=(1, 2.5, 6))
fictive = partial(reversal, fictive=True)
fictive_rp = partial(reversal, fictive=True, by_error=True)
TURN = {"beta": 2.3, "alpha": 0.4, "eta": 0.31}
TURN_RP = {"beta": 2.3, "alpha": 0.4, "eta_pos": 0.41, "eta_neg": 0.19}


def without(p, *names):
    return {name: value for name, value in p.items() if name not in names}


def hyperbolic(d, p):
    return 1 / (1 + p["k"] * d)


def exponential(d, p):
    return math.exp(-p["r"] * d)


def sensitive(d, p):
    return math.exp(-((p["r"] * d) ** p["s"]))


# function: table, task, likelihood, parameters there, their names here
FUNCTIONS = {
    "ts_par7": (two_step_table, "two-step", two_step, {**STEP, "lambda": 0.58}, stages),
    "ts_par6": (two_step_table, "two-step", two_step, STEP, stages),
    "ts_par4": (
        *(two_step_table, "two-step", two_step),
        *({"a": 0.42, "beta": 3.1, "pi": 0.4, "w": 0.63}, stages),
    ),
    "gng_m1": (
        *(go_table, "go-no-go", go, {"rho": 3.3, "ep": 0.27}),
        called(rho="sensitivity", ep="learning_rate"),
    ),
    "gng_m2": (
        *(go_table, "go-no-go", go, {"rho": 3.3, "ep": 0.27, "b": 0.6}),
        called(rho="sensitivity", ep="learning_rate", b="bias"),
    ),
    "gng_m3": (
        *(go_table, "go-no-go", go, {"rho": 3.3, "ep": 0.27, "b": 0.6, "pi": 0.45}),
        called(rho="sensitivity", **GO),
    ),
    "gng_m4": (
        *(go_table, "go-no-go", go),
        {"rhoRew": 3.3, "rhoPun": 1.9, "ep": 0.27, "b": 0.6, "pi": 0.45},
        called(rhoRew="gain_sensitivity", rhoPun="loss_sensitivity", **GO),
    ),
    "prl_fictitious": (paid_table, "reversal", fictive, TURN, turned),
    "prl_fictitious_multipleB": (paid_table, "reversal", fictive, TURN, turned),
    "prl_fictitious_woa": (paid_table, "reversal", fictive, without(TURN, "alpha"), turned),
    "prl_fictitious_rp": (paid_table, "reversal", fictive_rp, TURN_RP, turned),
    "prl_fictitious_rp_woa": (
        *(paid_table, "reversal", fictive_rp, without(TURN_RP, "alpha")),
        turned,
    ),
    "prl_rp": (
        *(partial(paid_table, outcomes=(-25, 0, 25)), "reversal", reversal),
        *(without(TURN_RP, "alpha"), turned),
    ),
    "prl_rp_multipleB": (
        *(partial(paid_table, outcomes=(-25, 0, 25)), "reversal", reversal),
        *(without(TURN_RP, "alpha"), turned),
    ),
    "prl_ewa": (
        *(paid_table, "reversal", attraction, {"beta": 1.7, "phi": 0.66, "rho": 0.52}),
        over("beta", phi="value_decay", rho="experience_decay"),
    ),
    "bandit2arm_delta": (
        *(paid_table, "bandit", partial(delta, options=2), {"tau": 1.9, "A": 0.3}),
        over("tau", A="learning_rate"),
    ),
    "banditNarm_delta": (
        *(card_table, "iowa", partial(delta, options=4, **NET), {"tau": 1.9, "A": 0.3}),
        over("tau", A="learning_rate"),
    ),
    "bandit4arm2_kalman_filter": (four, "bandit", partial(tracked, options=4), WANDER, restless),
    "banditNarm_kalman_filter": (
        *(card_table, "iowa", partial(tracked, options=4, **NET)),
        *(WANDER, restless),
    ),
    **bandits("bandit4arm"),
    **bandits("banditNarm"),
    "igt_pvl_decay": (hundred, "iowa", pvl("decay"), CARDS, iowa("retention")),
    "igt_pvl_delta": (hundred, "iowa", pvl("delta"), CARDS, iowa("learning_rate")),
    "igt_vpp": (
        *(hundred, "iowa", value_and_habit),
        *({**CARDS, "w": 0.35, "epP": 0.5, "epN": -0.3, "K": 0.61}, habits),
    ),
    "igt_orl": (
        *(hundred, "iowa", frequency),
        {"Arew": 0.31, "Apun": 0.12, "betaF": 1.4, "betaP": 0.9, "K": 0.77},
        lambda p: {
            "value": 1.0,
            **called(Arew="reward_rate", Apun="punishment_rate", K="perseverance_decay")(p),
            **called(betaF="frequency", betaP="perseverance")(p),
        },
    ),
    "bart_par4": (
        *(balloon_table, "balloons", pumping, {**BALLOONS, "gam": 0.6}),
        called(tau="inverse_temperature", gam="risk_taking", phi="prior_belief", eta="updating"),
    ),
    "bart_ewmv": (
        *(balloon_table, "balloons", weighing),
        {"tau": 2.6, "phi": 0.12, "eta": 0.06, "rho": -0.3, "lambda": 0.7},
        called(
            tau="inverse_temperature",
            rho="risk_preference",
            phi="prior_belief",
            eta="updating",
            **{"lambda": "loss_aversion"},
        ),
    ),
    "pst_Q": (
        *(pair_table, "selection", selection, {"beta": 2.7, "alpha": 0.23}),
        over("beta", alpha="learning_rate"),
    ),
    "pst_gainloss_Q": (
        *(pair_table, "selection", selection),
        {"beta": 2.7, "alpha_pos": 0.33, "alpha_neg": 0.14},
        over("beta", alpha_pos="learning_rate_positive", alpha_neg="learning_rate_negative"),
    ),
    "ug_bayes": (
        *(offer_table, "ultimatum", ideal, {"tau": 0.4, "alpha": 1.3, "beta": 0.4}),
        over("tau", alpha="envy", beta="guilt"),
    ),
    "ug_delta": (
        *(offer_table, "ultimatum", moving, {"tau": 0.4, "alpha": 1.3, "ep": 0.21}),
        over("tau", alpha="envy", ep="norm_rate"),
    ),
    "cra_linear": (
        *(lottery_table, "ambiguity", partial(levy, rule="linear")),
        *({"gamma": 0.8, "beta": 0.55, "alpha": 0.61},),
        over("gamma", beta="ambiguity_aversion", alpha="curvature"),
    ),
    "cra_exp": (
        *(lottery_table, "ambiguity", partial(levy, rule="exp")),
        *({"gamma": 0.8, "beta": 0.55, "alpha": 0.61},),
        over("gamma", beta="ambiguity_aversion", alpha="curvature"),
    ),
    "peer_ocu": (
        *(peer_table, "peers", peer, {"tau": 0.9, "rho": 0.62, "ocu": 0.8}),
        over("tau", ocu="peer_influence", rho="curvature"),
    ),
    "cgt_cm": (
        *(gamble_table, "cambridge", stakes, {"gamma": 4.1, "beta": 0.35, "rho": 1.6}),
        over("gamma", beta="impatience", rho="loss_sensitivity"),
    ),
    "alt_delta": (
        *(punished_table, "aversive", punished, {"A": 0.34, "beta": 0.06, "gamma": 2.6}),
        called(A="learning_rate", beta="inverse_temperature", gamma="gamma"),
    ),
    "hgf_ibrb": (
        *(input_table, "inputs", gaussian_filter),
        {"kappa": 0.9, "omega2": -2.8, "omega3": -5.5, "zeta": 1.7},
        called(kappa="kappa", omega2="omega_2", omega3="omega_3", zeta="inverse_temperature"),
    ),
    "dbdm_prob_weight": (
        *(described_table, "description", described),
        {"tau": 0.57, "rho": 0.83, "lambda": 1.9, "beta": 0.4},
        over(
            "beta",
            tau="probability_sensitivity",
            rho="curvature",
            **{"lambda": "loss_aversion"},
        ),
    ),
    "dd_hyperbolic": (
        *(delay_table, None, partial(delays, discount=hyperbolic), {"beta": 0.2, "k": 0.03}),
        over("beta", k="discount_rate"),
    ),
    "dd_exp": (
        *(delay_table, None, partial(delays, discount=exponential), {"beta": 0.2, "r": 0.01}),
        over("beta", r="discount_rate"),
    ),
    "dd_cs": (
        *(delay_table, None, partial(delays, discount=sensitive)),
        *({"beta": 0.2, "r": 0.01, "s": 0.6},),
        over("beta", r="discount_rate", s="time_sensitivity"),
    ),
    "ra_prospect": (
        *(risk_table, None, risks, {"tau": 0.8, "rho": 0.75, "lambda": 1.6}),
        over("tau", rho="curvature", **{"lambda": "loss_aversion"}),
    ),
    "ra_noLA": (
        *(risk_table, None, risks, {"tau": 0.8, "rho": 0.75}),
        over("tau", rho="curvature"),
    ),
    "ra_noRA": (
        *(risk_table, None, risks, {"tau": 0.8, "lambda": 1.6}),
        over("tau", **{"lambda": "loss_aversion"}),
    ),
}
for name in ("dd_hyperbolic", "dd_cs", "hgf_ibrb"):
    FUNCTIONS[f"{name}_single"] = FUNCTIONS[name]


def log_likelihood(model, data, natural):
    theta, psi = weights_and_shape(model, natural)
    q = model.explanatory(data, *psi) @ theta
    if getattr(data, "available", None) is not None:
        q = np.where(data.available, q, -np.inf)
    return special.log_softmax(q, axis=1)[np.arange(len(q)), data.chosen].sum()


def read(name, rng, n=60):
    """Rows of a table, and its data as the reader of its task has them."""
    table, task = FUNCTIONS[name][:2]
    columns = {"subjID": np.full(n, 7), **table(rng, n)}
    made = pa.table({key: pa.array(values) for key, values in columns.items()})
    reading = pn.read(made) if task is None else pn.read(made, task=task)
    data = reading.data[0] if isinstance(reading.data, list | tuple) else reading.data
    return made.to_pylist(), data


def test_every_function_with_a_counterpart_is_tried():
    assert set(FUNCTIONS) == {name for name, found in HBAYESDM.items() if found.call}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_the_likelihood_is_theirs(name):
    _, _, written_out, parameters, named_here = FUNCTIONS[name]
    rng = np.random.default_rng(11)
    rows, data = read(name, rng)
    model = eval(f"pn.{HBAYESDM[name].call}", {"pn": pn})
    for _ in range(3):
        near = {key: value * rng.uniform(0.85, 1.1) for key, value in parameters.items()}
        near = {key: 1.0 if value == 1.0 else near[key] for key, value in parameters.items()}
        found = log_likelihood(model, data, named_here(near))
        assert found == pytest.approx(written_out(rows, near), rel=1e-11, abs=1e-10)


def test_colours_and_stakes_of_the_cambridge_gamble_are_two_fits_that_add():
    rng = np.random.default_rng(12)
    columns = gamble_table(rng, 60)
    table = pa.table({"subjID": np.ones(60), **columns})
    reading = pn.read(table, task="cambridge-colours")
    p = {"alpha": 2.1, "c": 0.62}
    said = {"probability_distortion": p["alpha"], "colour_bias": p["c"]}
    data = reading.data[0] if isinstance(reading.data, list | tuple) else reading.data
    found = log_likelihood(pn.models.CambridgeGamble("colours"), data, said)
    assert found == pytest.approx(colours(table.to_pylist(), p), rel=1e-11)
