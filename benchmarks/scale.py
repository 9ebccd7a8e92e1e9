"""Fits of files: a pass beside what pyarrow needs only to read the same columns, and memory.

python benchmarks/scale.py --rows 1e8 --folder /data/scan --threads 2
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from machine import about

import penchant as pn
from penchant.softmax.passes import MomentsAt

OPTIONS = 4
ROWS_PER_FILE = 10_000_000
ROWS_PER_GROUP = 1_000_000


def write(folder: Path, n_rows: int, n_variables: int) -> list[str]:
    """Files of decisions whose rows stand together, unless they are there; names of variables."""
    names = [f"x{a + 1}" for a in range(n_variables)]
    truth = np.linspace(-0.5, 0.5, n_variables)
    for k, first in enumerate(range(0, n_rows, ROWS_PER_FILE)):
        path = folder / f"part{k:04d}.parquet"
        if path.exists():
            continue
        rng, left = np.random.default_rng(k), min(ROWS_PER_FILE, n_rows - first)
        with pq.ParquetWriter(path, _schema(names)) as writer:
            for begin in range(0, left, ROWS_PER_GROUP):
                n = min(ROWS_PER_GROUP, left - begin) // OPTIONS
                writer.write_table(_group(rng, n, truth, (first + begin) // OPTIONS, names))
    return names


def _schema(names: list[str]) -> pa.Schema:
    ids = [("decision", pa.int64()), ("option", pa.int8()), ("chosen", pa.bool_())]
    return pa.schema(ids + [(name, pa.float64()) for name in names])


def _group(rng: np.random.Generator, n: int, truth: Any, first: int, names: list[str]) -> pa.Table:
    x = rng.normal(size=(n * OPTIONS, len(truth)))
    q = (x @ truth + rng.gumbel(size=n * OPTIONS)).reshape(n, OPTIONS)
    ids = {
        "decision": np.repeat(np.arange(first, first + n), OPTIONS),
        "option": np.tile(np.arange(OPTIONS, dtype=np.int8), n),
        "chosen": (q == q.max(axis=1, keepdims=True)).ravel(),
    }
    return pa.table(ids | {name: x[:, a] for a, name in enumerate(names)}, schema=_schema(names))


def read_only(folder: Path, columns: list[str], threads: int) -> None:
    """What pyarrow needs to read the columns of a pass, group by group."""
    for path in sorted(folder.glob("*.parquet")):
        file = pq.ParquetFile(path)
        for g in range(file.num_row_groups):
            file.read_row_group(g, columns=columns, use_threads=threads > 1)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    found = work()
    return time.perf_counter() - begin, found


def peak() -> int:
    """Largest resident set so far, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--variables", type=int, default=10)
    parser.add_argument("--chunk-rows", type=float, default=1e6)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        names = write(folder, int(given.rows), given.variables)
        pa.set_cpu_count(given.threads)
        before = peak()
        seconds, scan = timed(
            lambda: pn.scan(
                folder,
                decision="decision",
                option="option",
                chosen="chosen",
                explanatory=names,
                chunk_rows=int(given.chunk_rows),
            )
        )
        rows = [("finding the decisions", f"{seconds:.2f} s")]
        fitting, estimate = timed(lambda: pn.fit(scan, threads=given.threads))
        rows.append((f"fit, {estimate.notes[-1]}", f"{fitting:.2f} s"))
        rows.append(("peak memory beyond that before", f"{(peak() - before) / 1e6:.0f} MB"))
        work, on = MomentsAt(estimate.theta), scan.on(None, given.threads)
        columns = ["decision", "chosen", *names]
        reading, passing = [], []
        for _ in range(given.rounds):
            reading.append(timed(lambda: read_only(folder, columns, given.threads))[0])
            passing.append(timed(lambda: list(on.each(work, "pass", again=True)))[0])
        rows.append(("pyarrow reads the columns", f"{median(reading):.2f} s"))
        rows.append(("one pass", f"{median(passing):.2f} s"))
        rows.append(("ratio (target: at most 2)", f"{median(passing) / median(reading):.2f}"))
    for name, text in about("").items():
        if name != "command":
            print(f"{name}: {text}")
    print("\n| what | measured |\n|---|---|")
    for what, measured in rows:
        print(f"| {what} | {measured} |")


if __name__ == "__main__":
    main()
