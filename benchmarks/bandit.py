"""Beliefs, exact fits and live estimates, beside what is done without them.

    python benchmarks/bandit.py [--quick] [--markdown FILE]

One thread (set OMP_NUM_THREADS=1), one run; medians.
Peers: the dense inverse in NumPy for beliefs; ten random starts of
scipy's L-BFGS-B over vectorised NumPy beliefs (rank-one updates) for fits. A live estimate is a fit
of the history so far; it stands beside the time between two choices.
"""

import argparse
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize, special

import penchant as pn
from penchant.bandit.beliefs import ObservedSequence, posterior_beliefs
from penchant.bandit.landscape import distances

TRUTH = {"decision_noise": 4.0, "prior_mean": 60.0, "prior_variance": 1000.0}
NOISE = 10.0
LIVE = 200  # decisions of a play with an estimate after each


def median_time(work: Callable[[], object], repeats: int) -> float:
    """Median seconds of a call, after one that warms up."""
    work()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def dense_beliefs(chosen, rewards, correlation, delta):
    """Posterior mean parts, variance and delta-derivatives by the inverse at every step."""
    inverse = np.linalg.inv(correlation)
    n = len(correlation)
    counts, sums = np.zeros(n), np.zeros(n)
    for option, reward in zip(chosen, rewards, strict=True):
        s = np.linalg.inv(delta * inverse + np.diag(counts))
        slope = s @ inverse @ s
        _ = s @ sums, 1 - s @ counts, np.diag(s), -slope @ sums, np.diag(slope)
        counts[option] += 1
        sums[option] += reward


def negative_log_likelihood(parameters, chosen, rewards, correlation):
    """Of stochastic UCL, with beliefs by rank-one updates in NumPy: what one writes by hand."""
    log_nu, mean, log_variance = parameters
    delta = NOISE / np.exp(log_variance)
    n = len(correlation)
    s, mu = correlation / delta, np.full(n, mean)
    total = 0.0
    for t, (option, reward) in enumerate(zip(chosen, rewards, strict=True), start=1):
        z = -special.ndtri(1 / (np.sqrt(2 * np.pi * np.e) * t))
        q = (mu + np.sqrt(NOISE * np.diag(s)) * z) * np.log(t) / np.exp(log_nu)
        total -= q[option] - special.logsumexp(q)
        column = s[:, option]
        gain = column / (1 + column[option])
        mu = mu + gain * (reward - mu[option])
        s = s - np.outer(gain, column)
    return total


def ten_starts(chosen, rewards, correlation, rng):
    """The best of ten random starts."""
    best = np.inf
    for _ in range(10):
        start = [rng.uniform(-1, 3), rng.uniform(0, 100), rng.uniform(0, 10)]
        found = optimize.minimize(
            negative_log_likelihood,
            start,
            (chosen, rewards, correlation),
            method="L-BFGS-B",
            bounds=[(-5, 8), (-500, 500), (-5, 15)],
        )
        best = min(best, found.fun)
    return -best


def q_negative_log_likelihood(parameters, chosen, rewards):
    """Of two-option Q-learning, in a plain loop."""
    rate, beta = parameters
    values, total = [0.0, 0.0], 0.0
    for option, reward in zip(chosen, rewards, strict=True):
        total += np.log1p(np.exp(-beta * (values[option] - values[1 - option])))
        values[option] += rate * (reward - values[option])
    return total


def q_ten_starts(episode, rng):
    """The best of ten random starts."""
    data = episode.chosen.tolist(), episode.rewards.tolist()
    return max(
        -optimize.minimize(
            q_negative_log_likelihood,
            [rng.uniform(0, 1), rng.uniform(0, 10)],
            data,
            method="L-BFGS-B",
            bounds=[(0.001, 1), (0, 50)],
        ).fun
        for _ in range(10)
    )


def belief_rows(repeats: int) -> list[tuple[str, str, str, str]]:
    """Beliefs with derivatives."""
    rng = np.random.default_rng(1)
    grid = pn.grid(10, 10)
    model = pn.UCL(locations=grid, noise_variance=NOISE, length_scale=4.0)
    episode = pn.simulate(pn.paper.landscape_a(), model, TRUTH, n_decisions=90, rng=rng)
    correlation = np.exp(-distances(grid) / 4.0)
    ours = median_time(lambda: model.beliefs(episode, [0.01], 1), 10 * repeats)
    naive = median_time(
        lambda: dense_beliefs(episode.chosen, episode.rewards, correlation, 0.01), repeats
    )
    rows = [
        (
            "beliefs with derivative, T = 90, N = 100",
            ms(ours),
            ms(naive) + " (dense inverse)",
            f"{naive / ours:.0f}x (target 80x)",
        )
    ]
    large = pn.Episode(rng.integers(0, 10_000, 100), rng.normal(30, 10, 100))
    track = ObservedSequence.from_episode(large)
    places = pn.grid(100, 100)
    away = np.linalg.norm(places[:, None] - places[track.options][None], axis=-1)
    took = median_time(lambda: posterior_beliefs(large, away, 0.01, 4.0, n_derivatives=1), repeats)
    tracemalloc.start()
    posterior_beliefs(large, away, 0.01, 4.0, n_derivatives=1)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    rows.append(
        (
            "beliefs with derivative, T = 100, N = 10,000",
            ms(took),
            "an N x N matrix alone: 800 MB",
            f"{peak:.0f} MB",
        )
    )
    return rows


def fit_rows(repeats: int, n_peers: int) -> list[tuple[str, str, str, str]]:
    """Exact fits of one subject, against ten random starts."""
    rng = np.random.default_rng(2)
    grid = pn.grid(10, 10)
    fixed = pn.UCL(locations=grid, noise_variance=NOISE, length_scale=4.0)
    free = pn.UCL(locations=grid, noise_variance=NOISE)
    episodes = pn.simulate(
        pn.paper.landscape_a(), fixed, TRUTH, n_decisions=90, n_subjects=max(n_peers, 3), rng=rng
    )
    correlation = np.exp(-distances(grid) / 4.0)
    ours = median_time(lambda: pn.fit(episodes[0], fixed), repeats)
    also = median_time(lambda: pn.fit(episodes[0], free), repeats)
    gaps, times = [], []
    for episode in episodes[:n_peers]:
        begin = time.perf_counter()
        found = ten_starts(episode.chosen, episode.rewards, correlation, rng)
        times.append(time.perf_counter() - begin)
        gaps.append(pn.fit(episode, fixed).log_likelihood - found)
    peer = float(np.median(times))
    return [
        (
            "exact UCL fit, lambda fixed",
            ms(ours),
            f"{peer:.1f} s (ten starts of L-BFGS-B)",
            f"{peer / ours:.0f}x (target 100x); log-likelihood higher by {min(gaps):.1e} at least",
        ),
        ("exact UCL fit, lambda free", ms(also), "", ""),
    ]


def many_rows(n_subjects: int, n_peers: int) -> list[tuple[str, str, str, str]]:
    """Many subjects."""
    rng = np.random.default_rng(3)
    model = pn.UCL(locations=pn.grid(10, 10), noise_variance=NOISE, length_scale=4.0)
    episodes = pn.simulate(
        pn.paper.landscape_a(), model, TRUTH, n_decisions=90, n_subjects=n_subjects, rng=rng
    )
    begin = time.perf_counter()
    pn.fit_each(episodes, model, threads=1)
    ucl = time.perf_counter() - begin
    learner = pn.QLearning(n_options=2)
    place = pn.Landscape(np.array([0.3, 0.7]), pn.GaussianNoise(0.1))
    rule = {"temperature": 0.3, "learning_rate": 0.3}
    plays = pn.simulate(place, learner, rule, n_decisions=200, n_subjects=500, rng=rng)
    pn.fit(plays[0], learner)
    begin = time.perf_counter()
    estimates = pn.fit_each(plays, learner, threads=1)
    ours = time.perf_counter() - begin
    begin = time.perf_counter()
    found = [q_ten_starts(play, rng) for play in plays[:n_peers]]
    peer = (time.perf_counter() - begin) / n_peers * len(plays)
    lowest = min(e.log_likelihood - f for e, f in zip(estimates, found, strict=False))
    return [
        (f"fit_each, UCL, {n_subjects} subjects", f"{ucl:.1f} s", "", ""),
        (
            "fit_each, Q-learning, 500 x 200",
            f"{ours:.2f} s",
            f"{peer:.0f} s (ten starts; {n_peers} subjects measured)",
            f"{peer / ours:.0f}x (target 100x); log-likelihood higher by {lowest:.1e} at least",
        ),
    ]


def live_rows(n_plays: int) -> list[tuple[str, str, str, str]]:
    """A choice, a reward, and the new estimate; seconds of the processor."""
    rng = np.random.default_rng(4)
    known = {"locations": pn.grid(10, 10), "noise_variance": NOISE}
    places, task = pn.UCL(**known, length_scale=4.0), pn.paper.landscape_a()
    arms = pn.Landscape([0.3, 0.4, 0.5, 0.6], pn.GaussianNoise(0.2))
    rule, learner = {"temperature": 0.2, "learning_rate": 0.3}, pn.QLearning(4, initial_value=0.0)

    def plays(landscape: Any, model: Any, truth: Any) -> list[pn.Episode]:
        given = {"n_decisions": LIVE, "rng": rng}
        return [pn.simulate(landscape, model, truth, **given) for _ in range(n_plays)]

    chosen, played = plays(arms, learner, rule), plays(task, places, TRUTH)
    return [
        live_row("Q-learning, 4 options", learner, chosen, 25),
        live_row("UCL, 100 options", places, played, 25),
        live_row("UCL, 100 options, lambda free", pn.UCL(**known, length_scale=None), played, 80),
    ]


def live_row(
    name: str, model: Any, plays: list[pn.Episode], target: float
) -> tuple[str, str, str, str]:
    """Every estimate of some plays; the targets are milliseconds of the medians and the slowest."""
    seconds = np.empty((len(plays), LIVE))
    for times, episode in zip(seconds, plays, strict=True):
        live = pn.live(model)
        for t, (option, reward) in enumerate(zip(episode.chosen, episode.rewards, strict=True)):
            begin = time.process_time()
            live.observe(int(option), float(reward))
            live.estimate()
            times[t] = time.process_time() - begin
    median, late, slowest = np.median(seconds), np.median(seconds[:, -20:]), seconds.max()
    within = [1e3 * median < target, 1e3 * late < target, slowest < 0.3]
    verdicts = ", ".join("met" if one else "missed" for one in within)
    return (
        f"live estimate, {name}, {len(plays)} plays of {LIVE}: median, median of the last 20, "
        "slowest",
        f"{ms(median)}, {ms(late)}, {ms(slowest)}",
        "1.5 s between choices",
        f"targets {target}, {target}, 300 ms: {verdicts}",
    )


def ms(seconds: float) -> str:
    """Milliseconds in words."""
    return f"{1e3 * seconds:.3g} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--markdown", type=Path)
    arguments = parser.parse_args()
    few = arguments.quick
    rows = belief_rows(3 if few else 9)
    rows += fit_rows(3 if few else 9, 1 if few else 3)
    rows += many_rows(20 if few else 326, 3 if few else 10)
    rows += live_rows(1 if few else 5)
    lines = ["| what | Penchant | beside | ratio |", "|---|---|---|---|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    print("\n".join(lines))
    if arguments.markdown:
        arguments.markdown.write_text(
            "# Beliefs, exact fits, live estimates\n\nMade by `python benchmarks/bandit.py "
            "--markdown FILE`, one thread.\n\n" + "\n".join(lines) + "\n"
        )


if __name__ == "__main__":
    main()
