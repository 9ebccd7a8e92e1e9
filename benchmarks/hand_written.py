"""Likelihoods as one writes them by hand, as fast as plain Python and NumPy make them.

Each takes the parameters, weights first, then shape parameters (their logarithm where the model
searches them so), and the data as prepared by `episode_data` or `offers_data`; it returns minus the
log-likelihood. Learning is a loop over plain numbers; what does not depend on what was learnt
before is one NumPy expression over all decisions. A loop over small arrays is slower: compare
`q_learning_in_arrays`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import optimize, special

STARTS = 10


def ten_starts(likelihood, data, box, starts, rng) -> tuple[float, np.ndarray]:
    """Log-likelihood and parameters of the best of ten random starts of L-BFGS-B."""
    best, where = math.inf, np.empty(0)
    for _ in range(STARTS):
        start = rng.uniform(*np.transpose(starts))
        found = optimize.minimize(likelihood, start, (data,), method="L-BFGS-B", bounds=box)
        if found.fun < best:
            best, where = float(found.fun), found.x
    return -best, where


def episode_data(episode) -> dict[str, Any]:
    """Choices and rewards as lists of plain numbers."""
    return {"chosen": episode.chosen.tolist(), "rewards": episode.rewards.tolist()}


def offers_data(decisions) -> dict[str, Any]:
    """What was offered, the option chosen first: arrays (n_decisions, 2) or (n_decisions, 2, j)."""
    rows, chosen = np.arange(len(decisions.chosen)), decisions.chosen
    return {
        name: np.stack([offered[rows, chosen], offered[rows, 1 - chosen]], axis=1)
        for name, offered in decisions.offers.items()
    }


def loss_of_two(advantage) -> float:
    """Minus the log-likelihood of the advantages of the option chosen over the other."""
    return float(np.logaddexp(0.0, -np.asarray(advantage)).sum())


def loss_of_many(objective, chosen) -> float:
    """The same of objectives (n_decisions, n_options)."""
    top = objective.max(axis=1)
    total = np.log(np.exp(objective - top[:, None]).sum(axis=1)) + top
    return float((total - objective[np.arange(len(chosen)), chosen]).sum())


def regression(parameters, data) -> float:
    """Variables that no shape parameter changes, relative to the option chosen."""
    q = data["relative"] @ parameters
    return float(np.log(np.exp(q).sum(axis=1)).sum())


def regression_of_any_size(parameters, data) -> float:
    """The same of variables so large that exponentials would overflow."""
    q = data["relative"] @ parameters
    top = q.max(axis=1)
    return float((np.log(np.exp(q - top[:, None]).sum(axis=1)) + top).sum())


def power_cooling(parameters, data) -> float:
    """Known values, V t^kappa / tau."""
    beta, kappa = parameters
    factor = beta * data["time"] ** kappa
    return loss_of_many(factor[:, None] * data["values"], data["chosen"])


def q_learning(parameters, data) -> float:
    """Two options, one rate."""
    beta, rate = parameters
    values, gaps = [0.0, 0.0], []
    for j, reward in zip(data["chosen"], data["rewards"], strict=True):
        own = values[j]
        gaps.append(own - values[1 - j])
        values[j] = own + rate * (reward - own)
    return loss_of_two(beta * np.array(gaps))


def q_learning_in_arrays(parameters, data) -> float:
    """The same with an array of values at every decision."""
    beta, rate = parameters
    values, total = np.zeros(2), 0.0
    for j, reward in zip(data["chosen"], data["rewards"], strict=True):
        q = beta * values
        total += np.log(np.exp(q).sum()) - q[j]
        values[j] += rate * (reward - values[j])
    return float(total)


def q_learning_with_stickiness(parameters, data) -> float:
    """Two options, one rate, repetition."""
    beta, phi, rate = parameters
    values, gaps, repeats, last = [0.0, 0.0], [], [], -1
    for j, reward in zip(data["chosen"], data["rewards"], strict=True):
        own = values[j]
        gaps.append(own - values[1 - j])
        repeats.append(0.0 if last < 0 else 1.0 if last == j else -1.0)
        values[j] = own + rate * (reward - own)
        last = j
    return loss_of_two(beta * np.array(gaps) + phi * np.array(repeats))


def q_learning_with_two_rates(parameters, data) -> float:
    """Two options, rates of gains and of losses."""
    beta, up, down = parameters
    values, gaps = [0.0, 0.0], []
    for j, reward in zip(data["chosen"], data["rewards"], strict=True):
        own = values[j]
        gaps.append(own - values[1 - j])
        values[j] = own + (up if reward >= own else down) * (reward - own)
    return loss_of_two(beta * np.array(gaps))


def q_learning_with_forgetting(parameters, data) -> float:
    """Two options; the value of the other returns to 0."""
    beta, rate, forgetting = parameters
    values, gaps, kept = [0.0, 0.0], [], 1.0 - forgetting
    for j, reward in zip(data["chosen"], data["rewards"], strict=True):
        own, other = values[j], values[1 - j]
        gaps.append(own - other)
        values[j] = own + rate * (reward - own)
        values[1 - j] = kept * other
    return loss_of_two(beta * np.array(gaps))


def q_learning_with_choice_kernel(parameters, data) -> float:
    """Two options and a trace of choices."""
    beta, kappa, rate, trace_rate = parameters
    values, traces, gaps, habits = [0.0, 0.0], [0.0, 0.0], [], []
    for j, reward in zip(data["chosen"], data["rewards"], strict=True):
        own = values[j]
        gaps.append(own - values[1 - j])
        habits.append(traces[j] - traces[1 - j])
        values[j] = own + rate * (reward - own)
        traces[j] += trace_rate * (1.0 - traces[j])
        traces[1 - j] -= trace_rate * traces[1 - j]
    return loss_of_two(beta * np.array(gaps) + kappa * np.array(habits))


def q_learning_with_three_rates(parameters, data) -> float:
    """Rates of gains, of losses, and of a trace of choices."""
    beta, kappa, up, down, trace_rate = parameters
    values, traces, gaps, habits = [0.0, 0.0], [0.0, 0.0], [], []
    for j, reward in zip(data["chosen"], data["rewards"], strict=True):
        own = values[j]
        gaps.append(own - values[1 - j])
        habits.append(traces[j] - traces[1 - j])
        values[j] = own + (up if reward >= own else down) * (reward - own)
        traces[j] += trace_rate * (1.0 - traces[j])
        traces[1 - j] -= trace_rate * traces[1 - j]
    return loss_of_two(beta * np.array(gaps) + kappa * np.array(habits))


def kalman(parameters, data) -> float:
    """Static Kalman filter and bonus, noise variance 1."""
    beta, bonus, log_prior = parameters
    means, variances = [0.0] * data["n"], [math.exp(log_prior)] * data["n"]
    seen_means, seen_sds = [], []
    for j, reward in zip(data["chosen"], data["rewards"], strict=True):
        seen_means.append(means.copy())
        seen_sds.append(variances.copy())
        gain = variances[j] / (1.0 + variances[j])
        means[j] += gain * (reward - means[j])
        variances[j] = gain
    q = beta * np.array(seen_means) + bonus * np.sqrt(np.array(seen_sds))
    return loss_of_many(q, data["chosen"])


def restless_kalman(parameters, data) -> float:
    """Kalman filter of a restless world, with a bonus; all three numbers of the filter unknown."""
    beta, bonus, log_prior, decay, log_drift = parameters
    n, squared, drift = data["n"], decay * decay, math.exp(log_drift)
    means, variances = [0.0] * n, [math.exp(log_prior)] * n
    seen_means, seen_sds = [], []
    for j, reward in zip(data["chosen"], data["rewards"], strict=True):
        seen_means.append(means)
        seen_sds.append(variances)
        gain = variances[j] / (1.0 + variances[j])
        means, variances = means.copy(), variances.copy()
        means[j] += gain * (reward - means[j])
        variances[j] = gain
        means = [decay * m for m in means]
        variances = [squared * v + drift for v in variances]
    q = beta * np.array(seen_means) + bonus * np.sqrt(np.array(seen_sds))
    return loss_of_many(q, data["chosen"])


def gershman_hybrid(parameters, data) -> float:
    """Value, relative uncertainty, and value over total uncertainty; noise variance 1."""
    first, second, third, log_prior = parameters
    means, variances = [0.0, 0.0], [math.exp(log_prior)] * 2
    gaps, own, other = [], [], []
    for j, reward in zip(data["chosen"], data["rewards"], strict=True):
        gaps.append(means[j] - means[1 - j])
        own.append(variances[j])
        other.append(variances[1 - j])
        gain = variances[j] / (1.0 + variances[j])
        means[j] += gain * (reward - means[j])
        variances[j] = gain
    value, s, r = np.array(gaps), np.array(own), np.array(other)
    return loss_of_two(
        first * value + second * (np.sqrt(s) - np.sqrt(r)) + third * value / np.sqrt(s + r)
    )


def _posterior(correlation, variance, noise, mean, data) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of a Gaussian process before every decision, by rank-one updates."""
    s, m = variance * correlation, np.full(len(correlation), mean)
    means, variances = np.empty((2, len(data["chosen"]), len(m)))
    for t, (j, reward) in enumerate(zip(data["chosen"], data["rewards"], strict=True)):
        means[t], variances[t] = m, s.diagonal()
        column = s[:, j]
        gain = column / (noise + column[j])
        m = m + gain * (reward - m[j])
        s = s - gain[:, None] * column
    return means, variances


def gp_ucb(parameters, data) -> float:
    """Gaussian-process UCB, known prior mean; the length scale is unknown."""
    beta, bonus, log_scale = parameters
    correlation = np.exp(-data["squared_distances"] / (2 * math.exp(2 * log_scale)))
    means, variances = _posterior(correlation, 1.0, data["noise"], data["mean"], data)
    sd = np.sqrt(np.maximum(variances + data["noise"], 0.0))
    return loss_of_many(beta * means + bonus * sd, data["chosen"])


def ucl(parameters, data) -> float:
    """Stochastic UCL with a known length scale."""
    weight, mean, log_delta = parameters
    noise, delta = data["noise"], math.exp(log_delta)
    means, variances = _posterior(data["correlation"], noise / delta, noise, mean, data)
    q = weight * (means + data["z"][:, None] * np.sqrt(np.maximum(variances, 0.0)))
    return loss_of_many(q * data["log_time"][:, None], data["chosen"])


def hyperbolic(parameters, data) -> float:
    """A / (1 + k D)."""
    beta, log_rate = parameters
    value = data["amount"] / (1.0 + math.exp(log_rate) * data["delay"])
    return loss_of_two(beta * (value[:, 0] - value[:, 1]))


def exponential(parameters, data) -> float:
    """A exp(-k D)."""
    beta, log_rate = parameters
    value = data["amount"] * np.exp(-math.exp(log_rate) * data["delay"])
    return loss_of_two(beta * (value[:, 0] - value[:, 1]))


def quasi_hyperbolic(parameters, data) -> float:
    """A now, b A exp(-k D) later."""
    now, later, log_rate = parameters
    weight = np.where(data["delay"] > 0, later, now)
    value = weight * data["amount"] * np.exp(-math.exp(log_rate) * data["delay"])
    return loss_of_two(value[:, 0] - value[:, 1])


def constant_sensitivity(parameters, data) -> float:
    """A exp(-(a D)^s)."""
    beta, log_rate, log_power = parameters
    z = (math.exp(log_rate) * data["delay"]) ** math.exp(log_power)
    value = data["amount"] * np.exp(-z)
    return loss_of_two(beta * (value[:, 0] - value[:, 1]))


def expected_utility(parameters, data) -> float:
    """Sum of p x^rho, less that of the losses."""
    beta, log_rho = parameters
    outcome = data["outcome"]
    utility = np.sign(outcome) * np.abs(outcome) ** math.exp(log_rho)
    value = (data["probability"] * utility).sum(axis=2)
    return loss_of_two(beta * (value[:, 0] - value[:, 1]))


def prospect(parameters, data) -> float:
    """Prelec's weights of probabilities; loss aversion."""
    gains, losses, log_rho, log_gamma = parameters
    outcome, gamma = data["outcome"], math.exp(log_gamma)
    weight = np.exp(-((-np.log(data["probability"])) ** gamma))
    size = np.abs(outcome) ** math.exp(log_rho)
    value = (weight * size * np.where(outcome > 0, gains, -losses)).sum(axis=2)
    return loss_of_two(value[:, 0] - value[:, 1])


def two_step(parameters, data) -> float:
    """Model-based and model-free, one rate and one temperature, lambda = 1."""
    based, free, stickiness, rate = parameters
    first, second, last, c1, gaps = [0.0, 0.0], [[0.0, 0.0], [0.0, 0.0]], -1, -1, []
    for j, reward, state in zip(data["chosen"], data["rewards"], data["state"], strict=True):
        if state == 0:
            best = max(second[0]), max(second[1])
            model = 0.4 * (best[j] - best[1 - j])
            gap = based * model + free * (first[j] - first[1 - j])
            gaps.append(gap + (stickiness * (1 if j == last else -1) if last >= 0 else 0.0))
            last = c1 = j
            continue
        own = second[int(state) - 1]
        gaps.append((based + free) * (own[j] - own[1 - j]))
        first[c1] += rate * (reward - first[c1])
        own[j] += rate * (reward - own[j])
    return loss_of_two(np.array(gaps))


def go_no_go(parameters, data) -> float:
    """Sensitivity, bias to respond, Pavlovian weight times sensitivity, one rate."""
    rho, bias, pull, rate = parameters
    values, cues, gaps = [[0.0, 0.0] for _ in range(4)], [0.0] * 4, []
    for j, reward, cue in zip(data["chosen"], data["rewards"], data["cue"], strict=True):
        own, k = values[int(cue)], int(cue)
        go = rho * (own[1] - own[0]) + bias + pull * cues[k]
        gaps.append(go if j == 1 else -go)
        own[j] += rate * (reward - own[j])
        cues[k] += rate * (reward - cues[k])
    return loss_of_two(np.array(gaps))


def gain_loss(parameters, data) -> float:
    """Four options, gains and losses at rates of their own."""
    big_r, big_p, up, down = parameters
    gains, losses, rows = [0.0] * 4, [0.0] * 4, []
    for j, gain, loss in zip(data["chosen"], data["gain"], data["loss"], strict=True):
        q = [big_r * g + big_p * v for g, v in zip(gains, losses, strict=True)]
        rows.append([value - q[j] for value in q])
        own_gain, own_loss = gains[j], losses[j]
        gains = [g * (1 - up) for g in gains]
        losses = [v * (1 - down) for v in losses]
        gains[j] = own_gain + up * (gain - own_gain)
        losses[j] = own_loss + down * (-loss - own_loss)
    return float(special.logsumexp(np.array(rows), axis=1).sum())


def experience_weighted(parameters, data) -> float:
    """Two options, experience-weighted attraction."""
    beta, phi, rho = parameters
    values, experience, gaps = [0.0, 0.0], [0.0, 0.0], []
    for j, reward in zip(data["chosen"], data["rewards"], strict=True):
        gaps.append(values[j] - values[1 - j])
        n = experience[j]
        experience[j] = rho * n + 1.0
        values[j] = (phi * n * values[j] + reward) / experience[j]
    return loss_of_two(beta * np.array(gaps))


def outcome_representation(parameters, data) -> float:
    """Four decks: values, frequencies of wins, perseverance."""
    v, f, p, up, down, kept = parameters
    ev, ef, ps, rows = [0.0] * 4, [0.0] * 4, [0.0] * 4, []
    for j, r in zip(data["chosen"], data["rewards"], strict=True):
        q = [v * a + f * b + p * c for a, b, c in zip(ev, ef, ps, strict=True)]
        rows.append([value - q[j] for value in q])
        own, other, sign = (up, down, 1.0 if r > 0 else 0.0) if r >= 0 else (down, up, -1.0)
        ev[j] += own * (r - ev[j])
        mine = ef[j] + own * (sign - ef[j])
        ef = [b + other * (-sign / 3 - b) for b in ef]
        ef[j] = mine
        ps[j] = 1.0
        ps = [c * kept for c in ps]
    return float(special.logsumexp(np.array(rows), axis=1).sum())


def volatile_kalman(parameters, data) -> float:
    """Four options: means, variances and volatilities, with a bonus."""
    beta, gamma, rate, volatility, noise = parameters
    noise = math.exp(noise)
    m, w, v, rows = [0.0] * 4, [noise] * 4, [math.exp(volatility) * noise] * 4, []
    for j, reward in zip(data["chosen"], data["rewards"], strict=True):
        q = [beta * a + gamma * math.sqrt(b + c) for a, b, c in zip(m, w, v, strict=True)]
        rows.append([value - q[j] for value in q])
        old, before = w[j], w[j] + v[j]
        kept = noise / (before + noise)
        step = (1.0 - kept) * (reward - m[j])
        m[j] += step
        w[j] = kept * before
        v[j] += rate * (step * step + old + w[j] - 2.0 * kept * old - v[j])
    return float(special.logsumexp(np.array(rows), axis=1).sum())


def successor(parameters, data) -> float:
    """Two-step: where choices lead, what that pays, repetition."""
    beta, stickiness, second, lead, rate = parameters
    leads, pays, last, gaps = [[0.0] * 4, [0.0] * 4], [0.0] * 4, -1, []
    for j, reward, state in zip(data["chosen"], data["rewards"], data["state"], strict=True):
        if state == 0:
            own, other = leads[j], leads[1 - j]
            ahead = sum((a - b) * r for a, b, r in zip(own, other, pays, strict=True))
            gaps.append(
                beta * ahead + (stickiness * (1 if j == last else -1) if last >= 0 else 0.0)
            )
            last = j
            continue
        first = 2 * int(state) - 2
        gaps.append(second * (pays[first + j] - pays[first + 1 - j]))
        leads[last] = [a * (1.0 - lead) for a in leads[last]]
        leads[last][first + j] += lead
        pays[first + j] += rate * (reward - pays[first + j])
    return loss_of_two(np.array(gaps))


def beads(parameters, data) -> float:
    """To draw on or to name a jar, by backward induction."""
    beta, cost = parameters
    share, most = data["share"], data["most"]
    best, tables = None, {}
    for n in range(most, -1, -1):
        odds = (share / (1.0 - share)) ** (2.0 * np.arange(n + 1) - n)
        p = odds / (1.0 + odds)
        named = np.column_stack([2.0 * p - 1.0, 1.0 - 2.0 * p])
        if best is not None:
            up = p * share + (1.0 - p) * (1.0 - share)
            draw = up * best[1:] + (1.0 - up) * best[:-1] - cost
            tables[n] = np.column_stack([draw, named])
        best = named.max(axis=1) if n == most else tables[n].max(axis=1)
    pairs = zip(data["drawn"], data["firsts"], strict=True)
    values = np.array([tables[int(n)][int(b)] for n, b in pairs])
    return loss_of_many(beta * values, data["chosen"])


def pearce_hall(parameters, data) -> float:
    """Two options, a rate that follows surprise."""
    beta, scale, rate = parameters
    values, kappa, gaps = [0.0, 0.0], [1.0, 1.0], []
    for j, reward in zip(data["chosen"], data["rewards"], strict=True):
        own = values[j]
        gaps.append(own - values[1 - j])
        error = reward - own
        values[j] = own + scale * kappa[j] * error
        kappa[j] += rate * (abs(error) - kappa[j])
    return loss_of_two(beta * np.array(gaps))


def confirmation(parameters, data) -> float:
    """Two options, full feedback, rates of what confirms a choice and of what does not."""
    beta, good, bad = parameters
    values, gaps = [0.0, 0.0], []
    for j, reward, other in zip(data["chosen"], data["rewards"], data["forgone"], strict=True):
        own, there = values[j], values[1 - j]
        gaps.append(own - there)
        values[j] = own + (good if reward >= own else bad) * (reward - own)
        values[1 - j] = there + (bad if other >= there else good) * (other - there)
    return loss_of_two(beta * np.array(gaps))


def hidden_state(parameters, data) -> float:
    """Which of two options is good now, by Bayes' rule."""
    beta, hazard, sure = parameters
    belief, gaps = 0.5, []
    for j, reward in zip(data["chosen"], data["rewards"], strict=True):
        gaps.append((2.0 * belief - 1.0) * (1.0 if j == 0 else -1.0))
        told = sure if (reward > 0) == (j == 0) else 1.0 - sure
        posterior = belief * told
        posterior /= posterior + (1.0 - belief) * (1.0 - told)
        belief = posterior * (1.0 - hazard) + (1.0 - posterior) * hazard
    return loss_of_two(beta * np.array(gaps))


def prospect_valence(parameters, data) -> float:
    """Four decks, gains and losses as they are felt, the delta rule."""
    gain, loss, rate, alpha = parameters
    values, rows = [0.0] * 4, []
    for j, r in zip(data["chosen"], data["rewards"], strict=True):
        rows.append([value - values[j] for value in values])
        r /= 100.0
        felt = gain * r**alpha if r >= 0 else -loss * (-r) ** alpha
        values[j] += rate * (felt - values[j])
    return float(special.logsumexp(np.array(rows), axis=1).sum())


def value_plus_perseverance(parameters, data) -> float:
    """Four decks, felt values and traces of wins and losses."""
    gain, loss, win, lose, rate, alpha, kept = parameters
    values, habit, rows = [0.0] * 4, [0.0] * 4, []
    for j, r in zip(data["chosen"], data["rewards"], strict=True):
        q = [a + b for a, b in zip(values, habit, strict=True)]
        rows.append([value - q[j] for value in q])
        r /= 100.0
        felt = gain * r**alpha if r >= 0 else -loss * (-r) ** alpha
        values[j] += rate * (felt - values[j])
        habit = [kept * a for a in habit]
        habit[j] += win if r >= 0 else lose
    return float(special.logsumexp(np.array(rows), axis=1).sum())


def balloons(parameters, data) -> float:
    """A number of pumps aimed at, by what is believed of bursts; counts are of the data."""
    aim, beta, belief, updating = parameters
    updating = math.exp(updating)
    safe = (1.0 - math.exp(belief) + updating * data["held"]) / (1.0 + updating * data["pumps"])
    return loss_of_two(data["sign"] * (-aim / np.log(safe) - beta * data["pump"]))


def gaussian_filter(parameters, data) -> float:
    """Three levels, coupling 1; outside of where it exists the likelihood is 0."""
    zeta, omega2, omega3 = parameters
    mu2, mu3, s2, s3, beliefs = 0.0, 1.0, 0.1, 1.0, []
    for u in data["input"]:
        beliefs.append(mu2)
        first = 1.0 / (1.0 + math.exp(-mu2))
        moves = math.exp(mu3 + omega2)
        before = s2 + moves
        precision = 1.0 / before + first * (1.0 - first)
        step = (u - first) / precision
        mu2, new = mu2 + step, 1.0 / precision
        weight = moves / before
        surprise = (new + step * step) / before - 1.0
        rest = (moves - s2) / before
        above = 1.0 / (s3 + math.exp(omega3)) + 0.5 * weight * (weight + rest * surprise)
        if above <= 0 or abs(mu2) > 500:
            return 1e6
        mu3 += 0.5 * weight * surprise / above
        s2, s3 = new, 1.0 / above
        if mu3 + omega2 > 500:
            return 1e6
    return loss_of_two(zeta * data["sign"] * np.array(beliefs))


def aversive(parameters, data) -> float:
    """Punishments whose sizes are shown, one probability learnt."""
    beta, rate, gamma = parameters
    belief, beliefs = 0.5, []
    for outcome in data["outcome"]:
        beliefs.append(belief)
        belief += rate * (outcome - belief)
    felt = np.clip(math.exp(gamma) * (np.array(beliefs) - 0.5) + 0.5, 0.0, 1.0)
    gap = data["magnitude_0"] * felt - data["magnitude_1"] * (1.0 - felt)
    return loss_of_two(beta * data["sign"] * gap)


def _advantage(values) -> np.ndarray:
    return values[:, 0] - values[:, 1]


def magnitude(parameters, data) -> float:
    """A / (1 + k A^-m D)."""
    beta, rate, effect = parameters
    amount = data["amount"]
    values = amount / (1.0 + math.exp(rate) * amount**-effect * data["delay"])
    return loss_of_two(beta * _advantage(values))


def odds(parameters, data) -> float:
    """A / (1 + h odds against)."""
    beta, rate = parameters
    p = data["probability"]
    return loss_of_two(beta * _advantage(data["amount"] * p / (p + math.exp(rate) * (1.0 - p))))


def ambiguity(parameters, data) -> float:
    """Chances that are hidden in part, linear."""
    beta, averse, curvature = parameters
    worth = data["amount"] ** math.exp(curvature)
    believed = beta * data["probability"] - averse * data["ambiguity"] / 2.0
    return loss_of_two(_advantage(believed * worth))


def peers(parameters, data) -> float:
    """Two lotteries, and a bonus for the one that others took."""
    beta, influence, curvature = parameters
    rho, p = math.exp(curvature), data["probability"]
    worth = beta * (p * data["high"] ** rho + (1.0 - p) * data["low"] ** rho)
    return loss_of_two(_advantage(worth + influence * data["taken"]))


def stakes(parameters, data) -> float:
    """Stakes on a colour, shown one after another."""
    beta, impatience, loss = parameters
    p, points, stake = data["probability"], data["points"] / 100.0, data["stake"]
    lost = math.exp(loss) * points * (1.0 - stake)
    worth = p * np.log(1.0 + points * (1.0 + stake)) + (1.0 - p) * np.log(1.0 + lost)
    return loss_of_many(beta * worth - impatience * data["delay"], data["chosen"])


def effort(parameters, data) -> float:
    """R - k E^q."""
    beta, cost, power = parameters
    return loss_of_two(_advantage(beta * data["reward"] - cost * data["effort"] ** math.exp(power)))


def ultimatum(parameters, data) -> float:
    """Accept or reject, a norm that follows offers."""
    beta, envy, rate = parameters
    norm, short = 10.0, []
    for offer in data["list"]:
        short.append(max(norm - offer, 0.0))
        norm += rate * (offer - norm)
    return loss_of_two(data["sign"] * (beta * data["offer"] - envy * np.array(short)))
