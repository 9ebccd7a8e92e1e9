"""The rows of `compare_commits.py`: what is fitted, on data that depend on no version of Penchant.

Choices are simulated with NumPy alone, so that two commits are given the same numbers. Public names
of Penchant are used inside the runs only. A run does the whole job, from arrays or files to
estimates with standard errors, in one thread, and returns the sum of the log-likelihoods: it tells
whether both commits found the same maximum.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from problems import BATCHES, SIZES, STRONG, Array, Problem, problem

Run = Callable[[], float]

# A turn should take a few tenths of a second: batches have fewer people than those of run.py.
N_PEOPLE = {"B": 200, "PB": 200, "T": 10_000}
N_SUBJECTS, N_TRIALS = 100, 150  # of every model
N_POPULATION = 40
N_GRID = 5  # places of the spatial task in each direction
SCAN_FILES, SCAN_DECISIONS, SCAN_OPTIONS, SCAN_NAMES = 4, 25_000, 4, ("x1", "x2", "x3")


# -- softmax ---------------------------------------------------------------------------------------


def one_fit(name: str) -> Run:
    """One fit of the size that `problems.SIZES` gives."""
    data = problem(*SIZES[name], weights=STRONG.get(name))

    def run() -> float:
        import penchant as pn

        choices = pn.Choices.from_arrays(data.explanatory, data.chosen)
        return pn.fit(choices, threads=1).log_likelihood

    return run


def separate_fits(name: str) -> Run:
    """Fits of many people, each by itself."""
    data = people_of(name)

    def run() -> float:
        import penchant as pn

        choices = pn.Choices.from_arrays(data.explanatory, data.chosen, subject=data.subject)
        return float(pn.fit_each(choices, threads=1).log_likelihood.sum())

    return run


def people_of(name: str) -> Problem:
    """Some people of a batch in `problems.BATCHES`."""
    _, n, m, d = BATCHES[name]
    n_people = N_PEOPLE[name]
    return problem(n_people * n, m, d, n_subjects=n_people, weights=STRONG.get(name))


# -- people who learn, simulated by the textbook formulas ------------------------------------------


def draw(rng: np.random.Generator, utility: Array) -> int:
    """An option drawn from the softmax of utilities."""
    return int(np.argmax(utility + rng.gumbel(size=len(utility))))


def two_rate_learner(rng: np.random.Generator) -> dict[str, Any]:
    """Q-learning of two options, with one rate for good surprises and one for bad ones."""
    rates, temperature = rng.uniform(0.1, 0.9, 2), rng.uniform(0.1, 0.5)
    means, q = rng.permutation([0.3, 0.7]), np.full(2, 0.5)
    chosen, rewards = np.empty(N_TRIALS, int), np.empty(N_TRIALS)
    for t in range(N_TRIALS):
        c = chosen[t] = draw(rng, q / temperature)
        rewards[t] = rng.normal(means[c], 0.5)
        error = rewards[t] - q[c]
        q[c] += rates[0 if error > 0 else 1] * error
    return {"chosen": chosen, "rewards": rewards}


def go_no_go_learner(rng: np.random.Generator) -> dict[str, Any]:
    """Go/no-go task of Guitart-Masip et al. (2012) with a Pavlovian bias."""
    rho, bias, pavlovian = rng.uniform(2, 6), rng.uniform(-0.5, 1), rng.uniform(0, 1)
    rate, cues = rng.uniform(0.1, 0.9), rng.permutation(np.arange(N_TRIALS) % 4)
    q, s = np.zeros((4, 2)), np.zeros(4)
    chosen, rewards = np.empty(N_TRIALS, int), np.empty(N_TRIALS)
    for t, k in enumerate(cues):
        go = rho * (q[k, 1] - q[k, 0] + pavlovian * s[k]) + bias
        c = chosen[t] = draw(rng, np.array([0.0, go]))
        better = (rng.random() < 0.8) == (c == (1 if k < 2 else 0))
        rewards[t] = float(better) - float(k in (1, 3))
        q[k, c] += rate * (rewards[t] - q[k, c])
        s[k] += rate * (rewards[t] - s[k])
    return {"chosen": chosen, "rewards": rewards, "before": {"cue": cues.astype(float)}}


def kalman_learner(rng: np.random.Generator) -> dict[str, Any]:
    """Kalman filter of four options with an uncertainty bonus, noise variance 1."""
    temperature, bonus = rng.uniform(0.1, 0.5), rng.uniform(-0.2, 1.0)
    means, m, v = rng.permutation(np.linspace(0.3, 0.7, 4)), np.zeros(4), np.full(4, 0.5)
    chosen, rewards = np.empty(N_TRIALS, int), np.empty(N_TRIALS)
    for t in range(N_TRIALS):
        c = chosen[t] = draw(rng, (m + bonus * np.sqrt(v)) / temperature)
        rewards[t] = rng.normal(means[c], 0.5)
        gain = v[c] / (v[c] + 1.0)
        m[c] += gain * (rewards[t] - m[c])
        v[c] *= 1.0 - gain
    return {"chosen": chosen, "rewards": rewards}


def places() -> Array:
    """Coordinates of a square grid."""
    side = np.arange(float(N_GRID))
    return np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)


def ucl_learner(rng: np.random.Generator) -> dict[str, Any]:
    """Stochastic UCL on a grid: beliefs of a Gaussian process, a bonus, logarithmic cooling."""
    where = places()
    distance = np.linalg.norm(where[:, None] - where[None], axis=-1)
    truth = np.exp(-(distance[rng.integers(len(where))] ** 2) / 8.0)
    m, v = np.full(len(where), rng.uniform(0, 1)), rng.uniform(0.5, 2) * np.exp(-distance / 2.0)
    weight = rng.uniform(1, 4)
    chosen, rewards = np.empty(N_TRIALS, int), np.empty(N_TRIALS)
    for t in range(N_TRIALS):
        bonus = np.sqrt(np.diag(v)) / np.sqrt(t + 1.0)
        c = chosen[t] = draw(rng, weight * np.log(t + 1.0) * (m + bonus))
        rewards[t] = rng.normal(truth[c], 0.5)
        gain = v[c] / (v[c, c] + 1.0)
        m = m + gain * (rewards[t] - m[c])
        v = v - np.outer(gain, v[c])
    return {"chosen": chosen, "rewards": rewards}


def discounter(rng: np.random.Generator) -> dict[str, Any]:
    """Hyperbolic discounting: less now, or more later."""
    rate, temperature = np.exp(rng.normal(-4.4, 1.2)), np.exp(rng.normal(1.4, 0.6))
    amount = np.column_stack([rng.integers(10, 60, N_TRIALS), np.full(N_TRIALS, 60)]).astype(float)
    later = rng.choice([7.0, 30.0, 90.0, 180.0, 365.0], N_TRIALS)
    delay = np.column_stack([np.zeros(N_TRIALS), later])
    utility = amount / (1 + rate * delay) / temperature
    chosen = (utility + rng.gumbel(size=utility.shape)).argmax(axis=1)
    return {"chosen": chosen, "offers": {"amount": amount, "delay": delay}}


def histories(learner: Callable[[np.random.Generator], dict[str, Any]], n: int) -> list[Any]:
    """Arguments of `Episode` or `Offers` of every person."""
    rng = np.random.default_rng(17)
    return [learner(rng) | {"subject": f"s{k}"} for k in range(n)]


# -- models and a population -----------------------------------------------------------------------


def model_of(name: str) -> Any:
    """A model by the name of its row."""
    import penchant as pn

    return {
        "two-rate Q-learning": lambda: pn.QLearning(2, dual_rates=True),
        "go/no-go": lambda: pn.models.GoNoGo(),
        "hyperbolic": lambda: pn.HyperbolicDiscounting(),
        "UCL": lambda: pn.UCL(places(), noise_variance=1.0, length_scale=2.0),
        "Kalman": lambda: pn.KalmanFilter(4),
    }[name]()


def made(people: list[Any]) -> list[Any]:
    """The people as Penchant takes them."""
    import penchant as pn

    kind = pn.Offers if "offers" in people[0] else pn.Episode
    return [kind(**person) for person in people]


def model_fits(name: str, learner: Callable[[np.random.Generator], dict[str, Any]]) -> Run:
    """Fits of one model to many people, each by itself."""
    people = histories(learner, N_SUBJECTS)

    def run() -> float:
        import penchant as pn

        # Episodes and model are made anew, as what a fit keeps with them would spare the next one.
        estimates = pn.fit_each(made(people), model_of(name), threads=1)
        # People who have no maximum have no finite log-likelihood in some commits.
        return float(np.nansum([one.log_likelihood for one in estimates]))

    return run


def population() -> Run:
    """A population of people who discount hyperbolically."""
    people = histories(discounter, N_POPULATION)

    def run() -> float:
        import penchant as pn

        fit = pn.fit_population(made(people), pn.HyperbolicDiscounting(), threads=1)
        return float(fit.log_likelihood)

    return run


# -- files -----------------------------------------------------------------------------------------


def write_files(folder: Path) -> None:
    """Write decisions as a small Parquet folder, in long format."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n, m, d = SCAN_DECISIONS, SCAN_OPTIONS, len(SCAN_NAMES)
    for k in range(SCAN_FILES):
        data = problem(n, m, d, seed=k)
        columns = {
            "decision": np.repeat(np.arange(k * n, (k + 1) * n), m),
            "option": np.tile(np.arange(m), n),
            "chosen": (np.arange(m) == data.chosen[:, None]).ravel(),
        }
        rows = data.explanatory.reshape(n * m, d)
        columns |= {name: rows[:, a] for a, name in enumerate(SCAN_NAMES)}
        pq.write_table(pa.table(columns), folder / f"part{k}.parquet")


def scan(folder: Path) -> Run:
    """A fit of a Parquet folder, chunk by chunk."""

    def run() -> float:
        import penchant as pn

        found = pn.scan(
            folder,
            decision="decision",
            option="option",
            chosen="chosen",
            explanatory=list(SCAN_NAMES),
            chunk_rows=100_000,  # several chunks in every file
        )
        return pn.fit(found, threads=1).log_likelihood

    return run


# -- the table -------------------------------------------------------------------------------------


def rows(files: Path) -> dict[str, Callable[[], Run]]:
    """Every row that runs in a worker, by name: a function that makes its data, then its run."""
    learners = {
        "two-rate Q-learning": two_rate_learner,
        "go/no-go": go_no_go_learner,
        "hyperbolic": discounter,
        "UCL": ucl_learner,
        "Kalman": kalman_learner,
    }
    return {
        **{name: partial(one_fit, name) for name in ("S", "W", "P", "M")},
        **{name: partial(separate_fits, name) for name in ("B", "PB", "T")},
        **{name: partial(model_fits, name, learner) for name, learner in learners.items()},
        "population": population,
        "scan": partial(scan, files),
    }


PROCESSES = {
    "import": ("-c", "import penchant"),
    "import fit": ("-c", "import penchant; penchant.fit"),
    "first fit": ("-m", "penchant", "fit", "--example", "travel-mode"),
}
"""Rows of start: arguments of Python in a fresh process."""
