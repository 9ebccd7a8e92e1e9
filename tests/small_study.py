"""A small study: agents on a grid of 4 x 3 options, two landscapes, some blocks, as a table."""

import functools

import numpy as np
import pandas as pd

import penchant as pn

WIDTH, HEIGHT = 4, 3
N_OPTIONS = WIDTH * HEIGHT
MODEL = pn.UCL(locations=pn.grid(WIDTH, HEIGHT), noise_variance=2.5, length_scale=1.5)
MEANS = {
    "A": np.array([2.0, 5.0, 9.0, 14.0, 3.0, 6.0, 10.0, 15.0, 1.0, 4.0, 8.0, 13.0]),
    "B": np.array([12.0, 7.0, 3.0, 10.0, 11.0, 6.0, 2.0, 9.0, 13.0, 8.0, 4.0, 11.0]),
}
NOMINALS = {
    "low": pn.RewardPrior(mean=8.0, variance=20.0, length_scale=1.0),
    "high": pn.RewardPrior(mean=10.0, variance=60.0, length_scale=2.0),
}


@functools.lru_cache
def _rows(n_a, n_b, n_decisions, seed):
    rng = np.random.default_rng(seed)
    rows = []
    for place, count in (("A", n_a), ("B", n_b)):
        landscape = pn.Landscape(MEANS[place], pn.GaussianNoise(2.5))
        for i in range(count):
            agent = {
                "decision_noise": float(rng.lognormal(np.log(3.0), 0.3)),
                "prior_mean": float(rng.normal(9.0, 1.0)),
                "prior_variance": float(rng.lognormal(np.log(25.0), 0.3)),
            }
            played = pn.simulate(landscape, MODEL, agent, n_decisions=n_decisions, rng=rng)
            for t, option, reward in zip(played.times, played.chosen, played.rewards, strict=True):
                rows.append((f"{place.lower()}{i:02d}", place, int(t), int(option), float(reward)))
    return tuple(rows)


def table(n_a=5, n_b=4, n_decisions=30, seed=3) -> pd.DataFrame:
    """One row per decision: subject, landscape, trial, choice, reward."""
    columns = ["subject", "landscape", "trial", "choice", "reward"]
    return pd.DataFrame(list(_rows(n_a, n_b, n_decisions, seed)), columns=columns)


def data(frame=None, **options) -> pn.results.StudyData:
    options = {"conditions": ["landscape"]} | options
    return pn.read_study(table() if frame is None else frame, **options)


def study(frame=None, **options):
    usual = {"nominals": NOMINALS, "landscape": MEANS, "intervals": "wald"}
    usual |= {"n_replicates": 3, "n_bootstrap": 20, "seed": 7, "threads": 1}
    usual |= {"population": False}  # it has tests of its own
    return pn.study(data(frame), MODEL, **usual | options)
