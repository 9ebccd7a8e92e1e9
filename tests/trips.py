"""A long table of trips, to be written as files."""

import numpy as np
import pyarrow as pa

COLUMNS = {"decision": "trip", "option": "mode", "chosen": "taken"}
MODES = np.array(["bus", "car", "rail", "walk", "ferry"])


def table_of(seed=0, n=400, d=3, scale=1.0, first=0, most=5, least=2):
    """Long table of choices among two to five modes, with weights, an offset and people."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(least, most + 1, n)
    trip = np.repeat(np.arange(first, first + n), sizes)
    starts = np.cumsum(sizes) - sizes
    place = np.arange(len(trip)) - np.repeat(starts, sizes)
    x = rng.normal(size=(len(trip), d)) * np.array([1.0, 30.0, 0.02][:d])
    known = rng.normal(size=len(trip)) * 0.3
    theta = np.array([0.8, -0.02, 15.0][:d]) * scale
    noisy = x @ theta + known + rng.gumbel(size=len(trip))
    top = np.repeat(np.maximum.reduceat(noisy, starts), sizes)
    return pa.table(
        {
            "trip": trip,
            "mode": MODES[place],
            "taken": (noisy == top).astype(np.int64),
            **{f"x{a + 1}": x[:, a] for a in range(d)},
            "times": np.repeat(rng.integers(0, 4, n), sizes),
            "known": known,
            "person": np.repeat(np.array([f"p{k}" for k in rng.integers(0, 9, n)]), sizes),
        }
    )
