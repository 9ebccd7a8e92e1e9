"""Many people in files: two workers beside one, memory beside the number of people.

python benchmarks/scale_people.py --people 1e5 --model ucl

Workers are processes. On a busy machine elapsed time says little: the processor time of all of them
says how much two workers could be faster than one, with a processor each.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from machine import about

import penchant as pn

DECISIONS = 100
PER_FILE = 5000
COMPILING = 64  # people for whom kernels are compiled, if they are not yet
KINDS = ("q-learning", "ucl")


def model_of(kind: str) -> Any:
    if kind == "q-learning":
        return pn.QLearning(2, initial_value=0.0)
    return pn.UCL(locations=pn.grid(5, 5), noise_variance=10.0, length_scale=2.0)


def write(folder: Path, people: int, kind: str) -> None:
    """Play of agents of the model: a thousand different ones, repeated under other names."""
    rng, model = np.random.default_rng(1), model_of(kind)
    if kind == "q-learning":
        world: Any = np.repeat([[0.2, 0.8], [0.8, 0.2]] * 2, DECISIONS // 4, axis=0)
        rule = {"temperature": 0.25, "learning_rate": 0.4}
    else:
        world = pn.Landscape(rng.normal(30, 15, 25), pn.GaussianNoise(10.0))
        rule = {"decision_noise": 4.0, "prior_mean": 30.0, "prior_variance": 400.0}
    n_different = min(people, 1000)
    played = [
        pn.simulate(world, model, rule, n_decisions=DECISIONS, rng=rng)
        if kind == "ucl"
        else pn.simulate(world, model, rule, rng=rng)
        for _ in range(n_different)
    ]
    for k, first in enumerate(range(0, people, PER_FILE)):
        who = range(first, min(first + PER_FILE, people))
        table = {
            "person": np.repeat(np.array([f"p{i:07d}" for i in who]), DECISIONS),
            "choice": np.concatenate([played[i % n_different].chosen for i in who]),
            "reward": np.concatenate([played[i % n_different].rewards for i in who]),
        }
        pq.write_table(pa.table(table), folder / f"play{k:04d}.parquet")


def fitted(scan: Any, model: Any, workers: int) -> dict[str, Any]:
    """Elapsed and processor time, workers included, and the bytes of the results."""
    mine, theirs = time.process_time(), children()
    begin = time.perf_counter()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        list(pool.map(abs, range(workers)))
        found = pn.fit_each(scan, model, engine=pool)
    return {
        "elapsed": time.perf_counter() - begin,
        "parent": time.process_time() - mine,
        "workers": children() - theirs,
        "bytes": found.path.read_bytes(),
        "peak": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3,
    }


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--people", type=float, default=4096)
    parser.add_argument("--fewer", type=float, help="people beside whom more are looked at")
    parser.add_argument("--model", choices=KINDS, default="q-learning")
    given = parser.parse_args()
    rows = []
    spent: dict[tuple[int, int], dict[str, Any]] = {}
    fewer = int(given.fewer or given.people / 10)
    counts = [fewer, int(given.people)]  # both with work for two workers
    for people in (COMPILING, *counts):
        with tempfile.TemporaryDirectory() as temporary:
            write(Path(temporary), people, given.model)
            scan, model = pn.scan(temporary), model_of(given.model)
            if people == COMPILING:
                fitted(scan, model, 1)  # compiles what is not compiled yet
                continue
            for workers in (1, 2):
                found = spent[people, workers] = fitted(scan, model, workers)
                what = f"{people:,} people, {workers} worker{'s' * (workers > 1)}"
                rows.append((what, _words(found), f"{found['peak']:.0f} MB"))
    one, two = (_more(spent[counts[1], w], spent[counts[0], w]) for w in (1, 2))
    same = all(spent[n, 1]["bytes"] == spent[n, 2]["bytes"] for n in counts)
    n_more = counts[1] - counts[0]
    rows += [
        ("the same bytes", str(same), ""),
        (f"{n_more:,} more people, one worker", f"{one:.2f} s of processor", ""),
        (f"{n_more:,} more people, two workers", f"{two:.2f} s of processor", ""),
        ("two workers beside one, a processor each", f"{2 * one / two:.2f}x", ""),
        ("processor time of a person", f"{1e3 * one / n_more:.2f} ms", ""),
    ]
    for name, text in about("").items():
        if name != "command":
            print(f"{name}: {text}")
    print(f"\n{given.model}, {DECISIONS} decisions each")
    print("\n| what | time | largest memory of a worker |\n|---|---|---|")
    for what, words, memory in rows:
        print(f"| {what} | {words} | {memory} |")


def _more(larger: dict[str, Any], smaller: dict[str, Any]) -> float:
    """Processor time of more people: what it takes to start a worker falls out."""
    every = ("workers", "parent")
    return sum(larger[who] for who in every) - sum(smaller[who] for who in every)


def _words(spent: dict[str, Any]) -> str:
    return (
        f"{spent['elapsed']:.1f} s; processor: {spent['workers']:.1f} s of workers, "
        f"{spent['parent']:.1f} s of the parent"
    )


if __name__ == "__main__":
    main()
