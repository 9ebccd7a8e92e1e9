"""The next best question, beside ADOpy 0.4.1 on its own grid; and how fast rates are found.

    pip install --no-deps adopy==0.4.1
    python benchmarks/ask.py [--questions 20] [--markdown FILE]

Processor time of one question, which is to learn the last answer and to choose the next offer, of
1,134 offers and 500 values of rate and inverse temperature: the tutorial of ADOpy. Both begin with
the same prior, and both are given the same answers: those of a simulated person to ADOpy's offers.
An offer is as informative as ADOpy's if its mutual information, by our own exact sum at the same
beliefs, is not lower by more than 1e-4 nat.

ADOpy 0.4.1 cannot be imported with NumPy 1.24 or later, as it asks for np.int and np.float, which
are no more: both are set here before it is imported. Nothing else of it is changed.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402  # after the number of threads
from machine import about  # noqa: E402
from scipy import special  # noqa: E402

import penchant as pn  # noqa: E402

WEEKS = [0.43, 0.714, 1, 2, 3, 4.3, 6.44, 8.6, 10.8, 12.9, 17.2, 21.5, 26, 52, 104, 156, 260, 520]
NOW = np.arange(12.5, 800.0, 12.5)
LATER = 800.0
RATES, INVERSE = np.logspace(-5, 0, 50), np.linspace(0, 5, 11)[1:]
PEOPLE = ((0.0008, 0.9), (0.02, 0.1), (0.15, 3.0))  # rate, inverse temperature
TOLERANCE = 1e-4  # nats


def adopy_engine():
    """ADOpy's engine of its tutorial."""
    vars(np).update(int=int, float=float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from adopy import Engine
        from adopy.tasks.dd import ModelHyp, TaskDD
    designs = {"t_ss": [0], "t_ll": WEEKS, "r_ss": NOW, "r_ll": [LATER]}
    responses = {"choice": [0, 1]}
    return Engine(TaskDD(), ModelHyp(), designs, {"k": RATES, "tau": INVERSE}, responses)


def asker_on_the_same_grid():
    """Ours, with the offers and the grid of ADOpy."""
    now, weeks = (a.ravel() for a in np.meshgrid(NOW, WEEKS))
    offers = {
        "amount": np.column_stack([now, np.full(len(now), LATER)]),
        "delay": np.column_stack([np.zeros(len(now)), weeks]),
    }
    grid = {"discount_rate": RATES, "temperature": 1.0 / INVERSE}
    return pn.ask(pn.HyperbolicDiscounting(), offers, grid=grid)


def taken(design, rate, inverse, rng):
    """What a simulated person takes of a design of ADOpy."""
    later = design["r_ll"] / (1.0 + rate * design["t_ll"])
    return int(rng.random() < special.expit(inverse * (later - design["r_ss"])))


def compared(n_questions):
    """Seconds of each, and how much less informative our offers are than ADOpy's, per question."""
    rng = np.random.default_rng(4)
    seconds, lost, means = {"adopy": [], "penchant": []}, [], []
    for rate, inverse in PEOPLE:
        engine, asker = adopy_engine(), asker_on_the_same_grid()
        ours, design = asker.next(), engine.get_design("optimal")
        for _ in range(n_questions):
            number = number_of(design)
            told = asker.information()
            lost.append(told[number] - told[ours.number])
            choice = taken(design, rate, inverse, rng)
            begin = time.process_time()
            engine.update(design, choice)
            design = engine.get_design("optimal")
            middle = time.process_time()
            asker.answer(number, choice)
            ours = asker.next()
            end = time.process_time()
            seconds["adopy"].append(middle - begin)
            seconds["penchant"].append(end - middle)
        weight = np.asarray(engine.post, dtype=float)
        marginal = weight.reshape(len(RATES), len(INVERSE)).sum(axis=1)
        means.append((marginal @ np.log(RATES), asker.posterior()["discount_rate"]["mean"]))
    return seconds, np.array(lost), np.array(means)


def number_of(design):
    """Which of our offers a design of ADOpy is, whose numbers have single precision."""
    week = np.abs(np.array(WEEKS) - design["t_ll"]).argmin()
    return int(week * len(NOW) + np.abs(NOW - design["r_ss"]).argmin())


def main():
    """Measure, and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--markdown", type=Path)
    given = parser.parse_args()
    seconds, lost, means = compared(given.questions)
    theirs, ours = (1e3 * np.median(seconds[who]) for who in ("adopy", "penchant"))
    equal = int((lost <= TOLERANCE).sum())
    lines = [
        "# The next best question",
        "",
        *(f"- {key}: {value}" for key, value in about("").items() if key != "command"),
        "",
        "| processor time of a question, 1,134 offers x 500 nodes | median, ms | of ADOpy's |",
        "|---|---|---|",
        f"| ADOpy 0.4.1 (with np.int and np.float set before import) | {theirs:.2f} | 1 |",
        f"| `ask(..., grid=...)` | {ours:.2f} | 1/{theirs / ours:.0f} |",
        "",
        f"Our offer is as informative as ADOpy's, to {TOLERANCE:g} nat, in {equal} of {len(lost)} "
        f"questions (it lacks {max(lost.max(), 0.0):.1e} at most). Posterior means of ln k differ "
        f"by {np.abs(means[:, 0] - means[:, 1]).max():.1e} at most.",
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if given.markdown:
        given.markdown.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
