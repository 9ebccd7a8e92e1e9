"""A whole study of the paper's size in one command, beside the same analysis by hand.

    python benchmarks/study.py [--quick] [--markdown FILE]

326 subjects with 90 decisions each on a 10 x 10 grid, 206 on landscape A and 120 on B. Ours is the
command `penchant study` from the file to the report, with one thread and with two. The peer is what
one writes by hand: beliefs in NumPy by rank-one updates, ten random starts of scipy's L-BFGS-B,
profile intervals by root finding with a refit at every point, and the linearised fit by BFGS; it is
measured on some of the same subjects, and multiplied. Processor seconds are compared, so that other
work on the machine matters little; the peer makes no tables, figures or report.
"""

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine
import numpy as np
from scipy import optimize, special, stats

import penchant as pn
from penchant.bandit.landscape import distances

NOISE, LENGTH, T = 10.0, 4.0, 90
BOUNDS = [(-5, 8), (-500, 500), (-5, 15)]
HALF = 0.5 * stats.chi2.isf(0.05, 1)
GROUPS = (("A", 206, 53), ("B", 120, 17))  # landscape, subjects, those who search well


def subjects(scale: int) -> list[tuple[str, str, pn.Episode]]:
    """Agents of both kinds on both landscapes."""
    rng = np.random.default_rng(1)
    model = pn.UCL(locations=pn.grid(10, 10), noise_variance=NOISE, length_scale=LENGTH)
    found = []
    for name, total, good in GROUPS:
        place = pn.paper.landscape_a() if name == "A" else pn.paper.landscape_b()
        for i in range(total // scale):
            well = i < good // scale
            agent = {
                "decision_noise": float(rng.lognormal(np.log(4 if well else 20), 0.3)),
                "prior_mean": float(rng.normal(60 if well else 30, 8)),
                "prior_variance": float(rng.lognormal(np.log(1000 if well else 100), 0.4)),
            }
            play = pn.simulate(place, model, agent, n_decisions=T, rng=rng)
            found.append((f"{name}{i:03d}", name, play))
    return found


def write_table(people: list[tuple[str, str, pn.Episode]], file: Path) -> None:
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["subject", "landscape", "trial", "choice", "reward"])
        for subject, place, play in people:
            for t, option, reward in zip(play.times, play.chosen, play.rewards, strict=True):
                writer.writerow([subject, place, int(t), int(option), float(reward)])


def command(file: Path, folder: Path, threads: int) -> tuple[float, float, dict[str, float]]:
    """Elapsed and processor seconds of the command, and seconds of its steps."""
    words = [sys.executable, "-m", "penchant", "study", str(file), "--grid", "10x10"]
    words += ["--noise-variance", str(NOISE), "--length-scale", str(LENGTH)]
    words += ["--condition", "landscape", "--threads", str(threads), "-o", str(folder)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    subprocess.run(words, check=True, capture_output=True)
    elapsed = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return elapsed, spent, json.loads((folder / "timings.json").read_text())["seconds"]


# -- by hand ---------------------------------------------------------------------------------------


def negative(parameters, play, correlation):
    """Minus the log-likelihood of stochastic UCL, beliefs by rank-one updates in NumPy."""
    log_nu, mean, log_variance = parameters
    s, mu = correlation * np.exp(log_variance) / NOISE, np.full(len(correlation), mean)
    total = 0.0
    for t, (option, reward) in enumerate(zip(play.chosen, play.rewards, strict=True), start=1):
        z = -special.ndtri(1 / (np.sqrt(2 * np.pi * np.e) * t))
        q = (mu + np.sqrt(NOISE * np.diag(s)) * z) * np.log(t) / np.exp(log_nu)
        total -= q[option] - special.logsumexp(q)
        column = s[:, option]
        gain = column / (1 + column[option])
        mu = mu + gain * (reward - mu[option])
        s = s - np.outer(gain, column)
    return total


def ten_starts(play, correlation, rng):
    """The best of ten random starts."""
    starts = [[rng.uniform(-1, 3), rng.uniform(0, 100), rng.uniform(0, 10)] for _ in range(10)]
    made = [
        optimize.minimize(negative, start, (play, correlation), method="L-BFGS-B", bounds=BOUNDS)
        for start in starts
    ]
    return min(made, key=lambda found: found.fun)


def profile_ends(best, play, correlation):
    """Both ends of every parameter's interval: a refit of the others at every point."""
    for a in range(3):
        others = [b for b in range(3) if b != a]
        bounds = [BOUNDS[b] for b in others]

        def short(value, a=a, others=others, bounds=bounds):
            def held(rest):
                at = np.empty(3)
                at[a], at[others] = value, rest
                return negative(at, play, correlation)

            found = optimize.minimize(held, best.x[others], method="L-BFGS-B", bounds=bounds)
            return found.fun - best.fun - HALF

        for end in BOUNDS[a]:
            step = 0.2 * np.sign(end - best.x[a]) * (1.0 if a != 1 else 20.0)
            near, far = best.x[a], best.x[a] + step
            while abs(far - best.x[a]) < abs(end - best.x[a]) and short(far) < 0:
                near, far = far, best.x[a] + 2 * (far - best.x[a])
            far = min(far, end) if end > best.x[a] else max(far, end)
            if short(far) > 0:
                optimize.brentq(short, near, far, xtol=1e-3)


def linearised(play, correlation, mean, variance):
    """The paper's columns by the dense inverse, and BFGS with the gradient."""
    delta, inverse = NOISE / variance, np.linalg.inv(correlation)
    n = len(correlation)
    counts, sums, columns = np.zeros(n), np.zeros(n), []
    for t, (option, reward) in enumerate(zip(play.chosen, play.rewards, strict=True), start=1):
        z = -special.ndtri(1 / (np.sqrt(2 * np.pi * np.e) * t))
        s = np.linalg.inv(delta * inverse + np.diag(counts))
        p = s @ inverse @ s
        sd = np.sqrt(NOISE * np.diag(s))
        left = sums - counts * mean
        x = [mean + s @ left + sd * z, 1 - s @ counts]
        x += [-p @ left - NOISE * np.diag(p) / (2 * sd) * z]
        columns.append(np.log(t) * np.stack(x, axis=-1))
        counts[option] += 1
        sums[option] += reward
    x = np.array(columns)
    x -= x.mean(axis=1, keepdims=True)
    x /= np.sqrt((x**2).mean(axis=(0, 1)))
    rows = np.arange(len(x))

    def value(theta):
        u = x @ theta
        p = special.softmax(u, axis=1)
        total = (special.logsumexp(u, axis=1) - u[rows, play.chosen]).sum()
        return total, (np.einsum("ti,tia->a", p, x) - x[rows, play.chosen].sum(axis=0))

    return optimize.minimize(value, np.zeros(3), jac=True, method="BFGS")


def by_hand(people, n_peers):
    """Processor seconds per subject of each step, and how far the fits fall short of ours."""
    rng = np.random.default_rng(2)
    away = distances(pn.grid(10, 10))
    correlation, short = np.exp(-away / LENGTH), np.exp(-away / 0.1)
    model = pn.UCL(locations=pn.grid(10, 10), noise_variance=NOISE, length_scale=LENGTH)
    spent = {"ten starts": [], "profile intervals": [], "linearised fit": []}
    gaps = []
    for place in np.linspace(0, len(people) - 1, n_peers).astype(int):
        play = people[place][2]
        begin = time.process_time()
        best = ten_starts(play, correlation, rng)
        spent["ten starts"].append(time.process_time() - begin)
        begin = time.process_time()
        profile_ends(best, play, correlation)
        spent["profile intervals"].append(time.process_time() - begin)
        begin = time.process_time()
        linearised(play, short, 30.0, 10.0)
        spent["linearised fit"].append(time.process_time() - begin)
        gaps.append(pn.fit(play, model).log_likelihood + best.fun)
    return {step: float(np.mean(seconds)) for step, seconds in spent.items()}, min(gaps)


def report(people, runs, hand, gap, n_peers) -> str:
    """The measured table."""
    n = len(people)
    about = machine.about("")
    lines = ["# A study in one command", ""]
    lines += [f"Made by `python benchmarks/study.py --markdown FILE`, {about['date']}."]
    lines += [f"{about['processor']}; {about['system']}; load: {about['load before']}.", ""]
    lines += [f"{n} subjects, {T} decisions each, 100 options; file to report.", ""]
    lines += ["| threads | elapsed | processor seconds |", "|---|---|---|"]
    for threads, (elapsed, spent, _) in runs.items():
        lines.append(f"| {threads} | {elapsed:.1f} s | {spent:.1f} s |")
    lines += ["", "Elapsed times say little where the load is above the number of cores."]
    steps = runs[1][2]
    total = sum(steps.values())
    lines += ["", "| step (one thread) | seconds | share |", "|---|---|---|"]
    for step, seconds in sorted(steps.items(), key=lambda item: -item[1]):
        lines.append(f"| {step} | {seconds:.2f} | {100 * seconds / total:.0f} % |")
    per_subject = sum(hand.values())
    lines += [
        "",
        f"By hand, processor seconds per subject (mean of {n_peers} of the subjects):",
        "",
    ]
    lines += ["| step | seconds |", "|---|---|"]
    lines += [f"| {step} | {seconds:.2f} |" for step, seconds in hand.items()]
    ratio = per_subject * n / runs[1][1]
    lines += [
        "",
        f"All subjects by hand: {per_subject * n:,.0f} s, {ratio:.0f} times the whole command on "
        f"one thread ({runs[1][1]:.1f} processor seconds; target 100). Our log-likelihoods are "
        f"higher by {gap:.1e} at least.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the subjects, one by hand")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    scale, n_peers = (10, 1) if options.quick else (1, 3)
    people = subjects(scale)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_table(people, folder / "play.csv")
        write_table(people[:2], folder / "warm.csv")
        command(folder / "warm.csv", folder / "warm", 1)  # compiles, once
        runs = {k: command(folder / "play.csv", folder / f"out{k}", k) for k in (1, 2)}
    hand, gap = by_hand(people, n_peers)
    text = report(people, runs, hand, gap, n_peers)
    print(text)
    if options.markdown:
        options.markdown.write_text(text)


if __name__ == "__main__":
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        if os.environ.get(name) != "1":
            os.environ[name] = "1"
            os.execv(sys.executable, [sys.executable, *sys.argv])
    main()
