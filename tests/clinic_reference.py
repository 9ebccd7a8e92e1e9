"""Literal likelihoods of the models of the clinic, loop by loop, in natural parameters.

Each takes an episode and natural parameters by name, and returns the log-probability of every
option at every event, (n_events, n_options), in plain Python numbers.
"""

import math


def log_softmax(q):
    top = max(q)
    total = math.log(sum(math.exp(v - top) for v in q))
    return [v - top - total for v in q]


def two_step(episode, p, common=0.7, trace="before", decay=None):
    beta1, w = p["inverse_temperature"], p["model_based_share"]
    beta2 = p.get("inverse_temperature_2", beta1)
    decay = p.get("trace_decay", decay)
    a1 = p.get("learning_rate_1", p.get("learning_rate"))
    a2 = p.get("learning_rate_2", p.get("learning_rate"))
    q1, q2, last, c1, rows = [0.0, 0.0], [[0.0, 0.0], [0.0, 0.0]], None, None, []
    for state, c, r in zip(episode.before["state"], episode.chosen, episode.rewards, strict=True):
        if state == 0:
            best = [max(q2[0]), max(q2[1])]
            based = [
                common * best[0] + (1 - common) * best[1],
                (1 - common) * best[0] + common * best[1],
            ]
            q = [
                beta1 * (w * based[i] + (1 - w) * q1[i]) + p.get("stickiness", 0.0) * (i == last)
                for i in (0, 1)
            ]
            rows.append(log_softmax(q))
            c1 = c
            last = c
        else:
            s = int(state) - 1
            rows.append(log_softmax([beta2 * q2[s][0], beta2 * q2[s][1]]))
            if math.isnan(r):
                continue
            old = q2[s][c]
            q1[c1] = q1[c1] + a1 * (old - q1[c1])
            q2[s][c] = old + a2 * (r - old)
            error = r - (q2[s][c] if trace == "after" else old)
            q1[c1] = q1[c1] + a1 * decay * error
    return rows


def stay(episode, p):
    rows, last, c1, push = [], None, None, 0.0
    for state, c, r in zip(episode.before["state"], episode.chosen, episode.rewards, strict=True):
        if state == 0:
            rows.append(log_softmax([push if i == last else 0.0 for i in (0, 1)]))
            c1 = c
        else:
            rows.append(log_softmax([0.0, 0.0]))
            won, usual = (1 if r > 0 else -1), (1 if int(state) - 1 == c1 else -1)
            push = p["stay"] + p["reward"] * won + p["transition"] * usual
            push += p["reward:transition"] * won * usual
            last = c1
    return rows


def go_no_go(episode, p):
    e, rows = p["learning_rate"], []
    gain = p.get("gain_sensitivity", p.get("sensitivity"))
    loss = p.get("loss_sensitivity", p.get("sensitivity"))
    pi_gain = p.get("pavlovian_gain", p.get("pavlovian", 0.0))
    pi_loss = p.get("pavlovian_loss", p.get("pavlovian", 0.0))
    go, no_go, s_gain, s_loss = ([0.0] * 4 for _ in range(4))
    for cue, c, r in zip(episode.before["cue"], episode.chosen, episode.rewards, strict=True):
        k = int(cue)
        pull = pi_gain * s_gain[k] + pi_loss * s_loss[k]
        rows.append(log_softmax([no_go[k], go[k] + p.get("bias", 0.0) + pull]))
        felt = gain * r if r > 0 else loss * r
        (go if c == 1 else no_go)[k] += e * (felt - (go if c == 1 else no_go)[k])
        s_gain[k] += e * ((gain * r if r > 0 else 0.0) - s_gain[k])
        s_loss[k] += e * ((loss * r if r < 0 else 0.0) - s_loss[k])
    return rows


def gain_loss(episode, p):
    n = 4
    a_gain = p.get("gain_rate", p.get("learning_rate"))
    a_loss = p.get("loss_rate", p.get("learning_rate"))
    big_r = p.get("gain_sensitivity", p.get("sensitivity"))
    big_p = p.get("loss_sensitivity", p.get("sensitivity"))
    q_gain, q_loss, rows = [0.0] * n, [0.0] * n, []
    after = zip(episode.chosen, episode.after["gain"], episode.after["loss"], strict=True)
    for c, gain, loss in after:
        rows.append(log_softmax([q_gain[i] + q_loss[i] for i in range(n)]))
        for i in range(n):
            if i == c:
                q_gain[i] += a_gain * (big_r * gain - q_gain[i])
                q_loss[i] += a_loss * (-big_p * abs(loss) - q_loss[i])
            elif "decay" in p:
                q_gain[i] *= 1 - p["decay"]
                q_loss[i] *= 1 - p["decay"]
            else:
                q_gain[i] *= 1 - a_gain
                q_loss[i] *= 1 - a_loss
    return rows


def pvl(episode, p, rule, payscale):
    n, rows = 4, []
    value, sensitivity = [0.0] * n, 3.0 ** p["consistency"] - 1
    for c, reward in zip(episode.chosen, episode.rewards, strict=True):
        rows.append(log_softmax([sensitivity * v for v in value]))
        r = reward / payscale
        u = r ** p["sensitivity"] if r >= 0 else -p["loss_aversion"] * (-r) ** p["sensitivity"]
        if rule == "decay":
            value = [p["retention"] * v for v in value]
            value[c] += u
        else:
            value[c] += p["learning_rate"] * (u - value[c])
    return rows


def orl(episode, p, payscale):
    n, rows = 4, []
    ev, ef, ps = [0.0] * n, [0.0] * n, [0.0] * n
    for c, reward in zip(episode.chosen, episode.rewards, strict=True):
        rows.append(
            log_softmax(
                [
                    p["value"] * ev[i] + p["frequency"] * ef[i] + p["perseverance"] * ps[i]
                    for i in range(n)
                ]
            )
        )
        r = reward / payscale
        sign = int(r > 0) - int(r < 0)
        own, other = p["reward_rate"], p["punishment_rate"]
        if r < 0:
            own, other = other, own
        ev[c] += own * (r - ev[c])
        for i in range(n):
            ef[i] += own * (sign - ef[i]) if i == c else other * (-sign / 3 - ef[i])
        ps[c] = 1.0
        ps = [v / (3.0 ** p["perseverance_decay"]) for v in ps]
    return rows


def vpp(episode, p, payscale, w=0.4):
    """With any share w of values: consistency and perseverance make up for it."""
    n, rows = 4, []
    gain = 3.0 ** p["consistency"] - 1  # the weight of gains, theta w
    theta = gain / w
    win, lose = (p[f"{kind}_perseverance"] * gain / (theta * (1 - w)) for kind in ("win", "loss"))
    value, habit = [0.0] * n, [0.0] * n
    for c, reward in zip(episode.chosen, episode.rewards, strict=True):
        rows.append(log_softmax([theta * (w * value[i] + (1 - w) * habit[i]) for i in range(n)]))
        r = reward / payscale
        u = r ** p["sensitivity"] if r >= 0 else -p["loss_aversion"] * (-r) ** p["sensitivity"]
        value[c] += p["learning_rate"] * (u - value[c])
        habit = [p["perseverance_decay"] * v for v in habit]
        habit[c] += win if r >= 0 else lose
    return rows


def ewa(episode, p):
    n = int(episode.chosen.max()) + 1
    q, experience, rows = [0.0] * n, [0.0] * n, []
    for c, r in zip(episode.chosen, episode.rewards, strict=True):
        rows.append(log_softmax([v / p["temperature"] for v in q]))
        before = experience[c]
        experience[c] = p["experience_decay"] * before + 1
        q[c] = (p["value_decay"] * before * q[c] + r) / experience[c]
    return rows


def fictitious_two_rates(episode, p):
    q, rows = [0.0, 0.0], []
    for c, r in zip(episode.chosen, episode.rewards, strict=True):
        first = q[0] / p["temperature"] + p.get("bias_0", 0.0)
        rows.append(log_softmax([first, q[1] / p["temperature"]]))
        rate = p["learning_rate_positive"] if r >= q[c] else p["learning_rate_negative"]
        q[c] += rate * (r - q[c])
        q[1 - c] += rate * (-r - q[1 - c])
    return rows


def rates_by_outcome(episode, p):
    n = int(episode.chosen.max()) + 1
    q, rows = [0.0] * n, []
    for c, r in zip(episode.chosen, episode.rewards, strict=True):
        rows.append(log_softmax([v / p["temperature"] for v in q]))
        q[c] += p["learning_rate_positive" if r > 0 else "learning_rate_negative"] * (r - q[c])
    return rows


def pairs(episode, p):
    q, rows = [0.0] * 6, []
    up = p.get("learning_rate_positive", p.get("learning_rate"))
    down = p.get("learning_rate_negative", p.get("learning_rate"))
    for c, r, mask in zip(episode.chosen, episode.rewards, episode.available, strict=True):
        there = [i for i in range(6) if mask[i]]
        log_p = log_softmax([q[i] / p["temperature"] for i in there])
        rows.append([log_p[there.index(i)] if i in there else -math.inf for i in range(6)])
        q[c] += (up if r >= q[c] else down) * (r - q[c])
    return rows


def pearce_hall(episode, p):
    n = int(episode.chosen.max()) + 1
    q, kappa, rows = [0.0] * n, [1.0] * n, []
    for c, r in zip(episode.chosen, episode.rewards, strict=True):
        rows.append(log_softmax([v / p["temperature"] for v in q]))
        error = r - q[c]
        q[c] += p["learning_scale"] * kappa[c] * error
        kappa[c] = (1 - p["associability_rate"]) * kappa[c] + p["associability_rate"] * abs(error)
    return rows


def confirmation(episode, p):
    q, rows = [0.0, 0.0], []
    steps = zip(episode.chosen, episode.rewards, episode.after["forgone"], strict=True)
    last = None
    for c, r, other in steps:
        sticky = [p.get("stickiness", 0.0) * (i == last) for i in (0, 1)]
        rows.append(log_softmax([q[i] / p["temperature"] + sticky[i] for i in (0, 1)]))
        last = c
        for option, paid in ((c, r), (1 - c, other)):
            good = paid >= q[option]
            confirms = good if option == c else not good
            rate = p["confirmatory_rate" if confirms else "disconfirmatory_rate"]
            q[option] += rate * (paid - q[option])
    return rows


def hidden_state(episode, p, log_odds=False):
    belief, rows = 0.5, []
    for c, r in zip(episode.chosen, episode.rewards, strict=True):
        values = [math.log(belief), math.log(1 - belief)] if log_odds else [belief, 1 - belief]
        rows.append(log_softmax([v / p["temperature"] for v in values]))
        first_is_good = p["reliability"] if (r > 0) == (c == 0) else 1 - p["reliability"]
        second_is_good = p["reliability"] if (r > 0) == (c == 1) else 1 - p["reliability"]
        posterior = belief * first_is_good
        posterior /= posterior + (1 - belief) * second_is_good
        belief = posterior * (1 - p["hazard"]) + (1 - posterior) * p["hazard"]
    return rows


def aversive(episode, p):
    e, rows = 0.5, []
    steps = zip(
        episode.before["magnitude_0"],
        episode.before["magnitude_1"],
        episode.after["outcome"],
        strict=True,
    )
    for first, second, outcome in steps:
        felt = [min(max(p["gamma"] * (v - 0.5) + 0.5, 0.0), 1.0) for v in (e, 1 - e)]
        rows.append(
            log_softmax(
                [
                    -p["inverse_temperature"] * f * m
                    for f, m in zip(felt, (first, second), strict=True)
                ]
            )
        )
        e += p["learning_rate"] * (outcome - e)
    return rows


def balloons(episode, p, rule):
    rows = []
    pumps = bursts = this = 0
    balloon = None
    for b, pump, c, r in zip(
        episode.before["balloon"],
        episode.before["pump"],
        episode.chosen,
        episode.after["burst"],
        strict=True,
    ):
        if b != balloon:
            pumps, bursts, balloon = pumps + this, bursts, b
            this = 0
        if rule == "par4":
            safe = (p["prior_belief"] + p["updating"] * (pumps - bursts)) / (
                1 + p["updating"] * pumps
            )
            best = -p["risk_taking"] / math.log(safe)
            rows.append(log_softmax([0.0, p["inverse_temperature"] * (best - pump)]))
        else:
            chance = p["prior_belief"]
            if pumps:
                told = 1 - math.exp(-p["updating"] * pumps)
                chance += told * (bursts / pumps - p["prior_belief"])
            mean = (1 - chance) - p["loss_aversion"] * chance * (pump - 1)
            variance = chance * (1 - chance) * (1 + p["loss_aversion"] * (pump - 1)) ** 2
            q = p["inverse_temperature"] * (mean + p["risk_preference"] * variance)
            rows.append(log_softmax([0.0, q]))
        this += c == 1
        bursts += r == 1
    return rows


def hgf(episode, p):
    kappa = p.get("kappa", 1.0)
    mu2, mu3, s2, s3 = 0.0, 1.0, 0.1, 1.0
    rows = []
    for u in episode.after["input"]:
        rows.append(log_softmax([0.0, p["inverse_temperature"] * mu2]))
        first = 1 / (1 + math.exp(-mu2))
        volatility = math.exp(kappa * mu3 + p["omega_2"])
        predicted2 = s2 + volatility
        predicted3 = 1 / (s3 + math.exp(p["omega_3"]))
        precision2 = 1 / predicted2 + first * (1 - first)
        old2 = mu2
        mu2 = mu2 + (u - first) / precision2
        new_s2 = 1 / precision2
        weight = volatility / predicted2
        surprise = (new_s2 + (mu2 - old2) ** 2) / predicted2 - 1
        rest = (volatility - s2) / predicted2
        precision3 = predicted3 + 0.5 * kappa**2 * weight * (weight + rest * surprise)
        if precision3 <= 0:
            return None
        mu3 = mu3 + 0.5 * kappa * weight * surprise / precision3
        s2, s3 = new_s2, 1 / precision3
    return rows


def volatile_kalman(episode, p, n, first):
    """Piray and Daw (2020), one filter of every option."""
    noise = p["noise_variance"]
    m, w, v = [first] * n, [noise] * n, [p["initial_volatility"] * noise] * n
    rows = []
    for c, r in zip(episode.chosen, episode.rewards, strict=True):
        bonus = p.get("uncertainty_bonus", 0.0)
        rows.append(
            log_softmax(
                [(m[i] + bonus * math.sqrt(w[i] + v[i])) / p["temperature"] for i in range(n)]
            )
        )
        k = (w[c] + v[c]) / (w[c] + v[c] + noise)
        mean = m[c] + k * (r - m[c])
        variance = (1 - k) * (w[c] + v[c])
        both = (1 - k) * w[c]
        moved = (mean - m[c]) ** 2 + w[c] + variance - 2 * both
        v[c] = v[c] + p["volatility_rate"] * (moved - v[c])
        m[c], w[c] = mean, variance
    return rows


def successor(episode, p):
    leads, pays = [[0.0] * 4, [0.0] * 4], [0.0] * 4
    rows, last = [], None
    for state, c, r in zip(episode.before["state"], episode.chosen, episode.rewards, strict=True):
        if state == 0:
            ahead = [sum(leads[i][j] * pays[j] for j in range(4)) for i in (0, 1)]
            q = [p["inverse_temperature"] * ahead[i] for i in (0, 1)]
            rows.append(log_softmax([q[i] + p["stickiness"] * (i == last) for i in (0, 1)]))
            last = c
            continue
        first = 0 if state == 1 else 2
        rows.append(log_softmax([p["inverse_temperature_2"] * pays[first + i] for i in (0, 1)]))
        for j in range(4):
            leads[last][j] += p["successor_rate"] * ((j == first + c) - leads[last][j])
        pays[first + c] += p["reward_rate"] * (r - pays[first + c])
    return rows


def beads(episode, p, share, most, win, loss):
    """Every course of beads to come, by recursion; Bayes' rule from products of chances."""

    def named(n, b):
        one, other = share**b * (1 - share) ** (n - b), share ** (n - b) * (1 - share) ** b
        first = one / (one + other)
        return first, first * win - (1 - first) * loss, (1 - first) * win - first * loss

    def best(n, b):
        _, one, other = named(n, b)
        return max(one, other) if n == most else max(one, other, drawing(n, b))

    def drawing(n, b):
        first, _, _ = named(n, b)
        up = first * share + (1 - first) * (1 - share)
        return up * best(n + 1, b + 1) + (1 - up) * best(n + 1, b) - p["cost"]

    rows = []
    for n, b in zip(episode.before["drawn"], episode.before["firsts"], strict=True):
        _, one, other = named(int(n), int(b))
        rows.append(
            log_softmax([v / p["temperature"] for v in (drawing(int(n), int(b)), one, other)])
        )
    return rows
