"""Models of learning, transcribed literally: loops over events, nothing shared with the library.

An event is (option, reward, is_choice): option -1 means that nothing was chosen in time, and a
reward NaN that there was none. Row t of all results is what holds before event t. Every function
returns the objective eta (n_events, n_options) in natural parameters.
"""

import math

import numpy as np


def events(episode):
    return list(
        zip(
            episode.chosen.tolist(),
            episode.rewards.tolist(),
            episode.is_choice.tolist(),
            strict=True,
        )
    )


def habit(i, last, stickiness, biases):
    bias = biases[i] if i < len(biases) else 0.0
    return bias + (stickiness if i == last else 0.0)


def q_learning(
    episode,
    n,
    temperature,
    up,
    down,
    initial=0.0,
    forgetting=0.0,
    fictitious=0.0,
    kernel=0.0,
    choice_rate=0.0,
    stickiness=0.0,
    biases=(),
):
    q, trace, last = [initial] * n, [0.0] * n, None
    rows = []
    for option, reward, is_choice in events(episode):
        rows.append(
            [
                q[i] / temperature + kernel * trace[i] + habit(i, last, stickiness, biases)
                for i in range(n)
            ]
        )
        if option == -1 or math.isnan(reward):
            continue
        for i in range(n):
            if i == option:
                error = reward - q[i]
                q[i] = q[i] + (up if error >= 0 else down) * error
            elif fictitious > 0:
                q[i] = q[i] + fictitious * (-reward - q[i])
            else:
                q[i] = q[i] + forgetting * (initial - q[i])
        if is_choice:
            last = option
            for i in range(n):
                trace[i] = (1 - choice_rate) * trace[i] + (choice_rate if i == option else 0.0)
    return np.array(rows)


def win_stay(episode, n, win, lose, above):
    last, won, rows = None, None, []
    for option, reward, is_choice in events(episode):
        row = [0.0] * n
        if last is not None:
            row[last] = win if won else -lose
        rows.append(row)
        if is_choice and option != -1:
            last, won = option, reward > above
    return np.array(rows)


def history(episode, n, reward_weights, choice_weights, biases=()):
    past, rows = [], []
    for option, reward, is_choice in events(episode):
        row = [habit(i, None, 0.0, biases) for i in range(n)]
        for j, weight in enumerate(reward_weights, start=1):
            if j <= len(past):
                row[past[-j][0]] += weight * past[-j][1]
        for j, weight in enumerate(choice_weights, start=1):
            if j <= len(past):
                row[past[-j][0]] += weight
        rows.append(row)
        if is_choice and option != -1:
            past.append((option, reward))
    return np.array(rows)


def ucb1(episode, n, temperature, exploration, initial, stickiness=0.0, biases=()):
    received, last, rows = [[] for _ in range(n)], None, []
    for option, reward, is_choice in events(episode):
        t = 1 + sum(len(r) for r in received)
        row = []
        for i in range(n):
            count = len(received[i])
            value = math.fsum(received[i]) / count if count else initial
            bonus = exploration * math.sqrt(math.log(t) / (count or 1))
            row.append((value + bonus) / temperature + habit(i, last, stickiness, biases))
        rows.append(row)
        if option != -1 and not math.isnan(reward):
            received[option].append(reward)
        if is_choice and option != -1:
            last = option
    return np.array(rows)


def track(episode, n, mean, prior, noise, decay=1.0, drift=0.0, centre=0.0):
    """Means and variances, in units of rewards."""
    m, s, rows = [mean] * n, [prior] * n, []
    for option, reward, _ in events(episode):
        rows.append(([*m], [*s]))
        if option != -1 and not math.isnan(reward):
            k = s[option] / (s[option] + noise)
            m[option] = m[option] + k * (reward - m[option])
            s[option] = (1 - k) * s[option]
        for i in range(n):
            m[i] = decay * m[i] + (1 - decay) * centre
            s[i] = decay**2 * s[i] + drift
    return rows


def kalman(episode, n, temperature, bonus, stickiness=0.0, biases=(), **tracked):
    last, rows = None, []
    beliefs = track(episode, n, **tracked)
    for (m, s), (option, _, is_choice) in zip(beliefs, events(episode), strict=True):
        rows.append(
            [
                (m[i] + bonus * math.sqrt(s[i])) / temperature + habit(i, last, stickiness, biases)
                for i in range(n)
            ]
        )
        if is_choice and option != -1:
            last = option
    return np.array(rows)


def hybrid(episode, weights, **tracked):
    """Log-odds of option 0 against option 1."""
    w1, w2, w3 = weights
    odds = []
    for m, s in track(episode, 2, **tracked):
        value = m[0] - m[1]
        total = math.sqrt(s[0] + s[1])
        odds.append(w1 * value + w2 * (math.sqrt(s[0]) - math.sqrt(s[1])) + w3 * value / total)
    return np.array(odds)
