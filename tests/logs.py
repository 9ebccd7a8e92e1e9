"""Logs of many people, to be written as files: play, offers and choices."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def play_of(people, n=24, seed=0):
    """Play of two options that pay 0 or 1, one row per event."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, 2, (len(people), n))
    reward = (rng.random(chosen.shape) < np.where(chosen == 1, 0.7, 0.3)).astype(float)
    for t in range(2, n):  # some follow what paid
        follow = rng.random(len(people)) < 0.7
        paid = np.where(reward[:, t - 1] > 0, chosen[:, t - 1], 1 - chosen[:, t - 1])
        chosen[:, t] = np.where(follow, paid, chosen[:, t])
        reward[:, t] = rng.random(len(people)) < np.where(chosen[:, t] == 1, 0.7, 0.3)
    return pa.table(
        {
            "who": np.repeat(np.asarray(people), n),
            "trial": np.tile(np.arange(n), len(people)),
            "choice": chosen.ravel(),
            "reward": reward.ravel(),
        }
    )


def play_on_a_map(people, n=12, side=5, seed=3):
    """Play of places on a square whose rewards change slowly from place to place."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, side**2, (len(people), n))
    for t in range(2, n):  # some stay where it paid
        stay = rng.random(len(people)) < 0.5
        chosen[:, t] = np.where(stay, chosen[:, t - 1], chosen[:, t])
    reward = 20 + 4 * (chosen % side) + 2 * (chosen // side) + rng.normal(size=chosen.shape) * 3
    return pa.table(
        {
            "who": np.repeat(np.asarray(people), n),
            "trial": np.tile(np.arange(n), len(people)),
            "choice": chosen.ravel(),
            "reward": reward.ravel(),
        }
    )


def offers_of_people(people, n=20, seed=1):
    """Decisions between sooner and later amounts."""
    rng = np.random.default_rng(seed)
    size = len(people) * n
    sooner, later = rng.integers(5, 30, size), rng.integers(30, 60, size)
    days = rng.integers(1, 120, size)
    rate = np.repeat(rng.lognormal(-4, 0.5, len(people)), n)
    value = later / (1 + rate * days) - sooner
    return pa.table(
        {
            "who": np.repeat(np.asarray(people), n),
            "amount_sooner": sooner,
            "amount_later": later,
            "delay_later": days,
            "choice": (value + rng.logistic(size=size) * 3 > 0).astype(int),
        }
    )


def choices_of_people(people, n=15, seed=2):
    """Decisions among three options with two attributes, three rows each."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(len(people) * n, 3, 2))
    best = (x @ [0.9, -0.6] + rng.gumbel(size=x.shape[:2])).argmax(axis=1)
    return pa.table(
        {
            "who": np.repeat(np.asarray(people), 3 * n),
            "task": np.repeat(np.arange(len(x)), 3),
            "option": np.tile(["a", "b", "c"], len(x)),
            "chosen": (np.arange(3) == best[:, None]).astype(int).ravel(),
            "price": x[:, :, 0].ravel(),
            "wait": x[:, :, 1].ravel(),
        }
    )


def written(table, folder, cuts):
    """One file for each part of the table between these rows."""
    folder.mkdir(exist_ok=True)
    edges = [0, *cuts, len(table)]
    for k in range(len(edges) - 1):
        part = table.slice(edges[k], edges[k + 1] - edges[k])
        pq.write_table(part, folder / f"log{k}.parquet", row_group_size=50)
    return folder
