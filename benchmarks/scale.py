"""Fits of files: a pass beside what pyarrow needs only to read the same columns, and memory.

python benchmarks/scale.py --rows 1e8 --folder /data/scan --threads 2 --held 2

Processor time stands beside elapsed time: on a busy machine only the first means much.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from machine import about

import penchant as pn
from penchant.softmax.chunked_likelihood import single_threaded_moments

ROWS_PER_FILE = 10_000_000
ROWS_PER_GROUP = 1_000_000


def write(folder: Path, n_rows: int, n_variables: int, m: int) -> list[str]:
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
                n = min(ROWS_PER_GROUP, left - begin) // m
                writer.write_table(_group(rng, (n, m), truth, (first + begin) // m, names))
    return names


def _schema(names: list[str]) -> pa.Schema:
    ids = [("decision", pa.int64()), ("option", pa.int8()), ("chosen", pa.bool_())]
    return pa.schema(ids + [(name, pa.float64()) for name in names])


def _group(
    rng: np.random.Generator, size: tuple[int, int], truth: Any, first: int, names: list[str]
) -> pa.Table:
    n, m = size
    x = rng.normal(size=(n * m, len(truth)))
    q = (x @ truth + rng.gumbel(size=n * m)).reshape(n, m)
    ids = {
        "decision": np.repeat(np.arange(first, first + n), m),
        "option": np.tile(np.arange(m, dtype=np.int8), n),
        "chosen": (q == q.max(axis=1, keepdims=True)).ravel(),
    }
    return pa.table(ids | {name: x[:, a] for a, name in enumerate(names)}, schema=_schema(names))


def read_only(folder: Path, columns: list[str], threads: int) -> None:
    """What pyarrow needs to read the columns of a pass, group by group."""
    for path in sorted(folder.glob("*.parquet")):
        file = pq.ParquetFile(path)
        for g in range(file.num_row_groups):
            file.read_row_group(g, columns=columns, use_threads=threads > 1)


class Spent(NamedTuple):
    """Seconds that passed, and those that a processor was busy."""

    elapsed: float
    processor: float

    def __str__(self) -> str:
        return f"{self.elapsed:.2f} s, {self.processor:.2f} s of processor"


def timed(work: Callable[[], Any]) -> tuple[Spent, Any]:
    begin, busy = time.perf_counter(), time.process_time()
    found = work()
    return Spent(time.perf_counter() - begin, time.process_time() - busy), found


def hold(gigabytes: float) -> None:
    """Let this process have no more memory than that: all that is mapped counts."""
    limit = int(gigabytes * 1024**3)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def in_memory(folder: Path, names: list[str]) -> pn.Choices:
    table = pq.read_table(folder)
    return pn.Choices.from_frame(
        table, decision="decision", option="option", chosen="chosen", explanatory=names
    )


def a_sample(folder: Path, names: list[str]) -> pn.Estimate:
    """What one would do instead: the first group of rows of each file, in memory."""
    parts = [pq.ParquetFile(path).read_row_group(0) for path in sorted(folder.glob("*.parquet"))]
    return pn.fit(
        pn.Choices.from_frame(
            pa.concat_tables(parts),
            decision="decision",
            option="option",
            chosen="chosen",
            explanatory=names,
        )
    )


def scattered(folder: Path, names: list[str], place: Path) -> Spent:
    """The price of decisions whose rows do not stand together: one sort, before all passes."""
    (place / "given").mkdir()
    for path in sorted(folder.glob("*.parquet")):
        table = pq.read_table(path)
        order = np.random.default_rng(0).permutation(len(table))
        pq.write_table(table.take(pa.array(order)), place / "given" / path.name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pn.errors.PenchantWarning)
        return timed(
            lambda: pn.scan(
                place / "given",
                decision="decision",
                option="option",
                chosen="chosen",
                explanatory=names,
                sort=True,
                cache=place / "cache",
            )
        )[0]


def regressed(folder: Path, python: str, estimate: pn.Estimate) -> list[tuple[str, str]]:
    """What one would do instead where sets are pairs: dask-ml, by another Python."""
    script = Path(__file__).with_name("scale_instead.py")
    done = subprocess.run(
        [python, str(script), str(folder)], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    theta = np.array([found["theta"][name] for name in estimate.names])
    off = np.abs((theta - estimate.theta) / estimate.standard_errors).max()
    what = f"instead, logistic regression of differences ({found['versions']})"
    spent = Spent(found["elapsed"], found["processor"])
    return [
        (what, f"{spent}; {found['peak'] / 1e6:.0f} MB; no standard errors, no status"),
        ("its distance from the estimate", f"{off:.1e} standard errors"),
    ]


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
    parser.add_argument("--held", type=float, help="gigabytes that the process may map")
    parser.add_argument("--memory", action="store_true", help="fit the same rows in memory, too")
    parser.add_argument("--options", type=int, default=4)
    parser.add_argument("--instead", help="a Python with dask-ml, for pairs: --options 2")
    parser.add_argument("--scattered", action="store_true", help="sort rows that lie anywhere")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary, "files")
        folder.mkdir(parents=True, exist_ok=True)
        names = write(folder, int(given.rows), given.variables, given.options)
        pa.set_cpu_count(given.threads)
        if given.held:
            hold(given.held)
        before = peak()
        spent, scan = timed(
            lambda: pn.scan(
                folder,
                decision="decision",
                option="option",
                chosen="chosen",
                explanatory=names,
                chunk_rows=int(given.chunk_rows),
            )
        )
        rows = [("finding the decisions", str(spent))]
        spent, estimate = timed(lambda: pn.fit(scan, threads=given.threads))
        rows.append((f"fit, {estimate.notes[-1]}", str(spent)))
        rows.append(("peak memory", f"{peak() / 1e6:.0f} MB, {before / 1e6:.0f} MB before"))
        work, on = (
            partial(single_threaded_moments, theta=estimate.theta),
            scan.with_engine(None, given.threads),
        )
        columns = ["chosen", *names]
        reading, named, passing = [], [], []
        for _ in range(given.rounds):
            reading.append(timed(lambda: read_only(folder, columns, given.threads))[0])
            passing.append(timed(lambda: list(on.map_chunks(work, "pass", validated=True)))[0])
            named.append(timed(lambda: read_only(folder, ["decision", *columns], given.threads))[0])
        if given.rounds:
            rows += compared(reading, passing)
            rows.append(("pyarrow reads the names of decisions, too", str(middle(named))))
        if given.memory:
            spent, memory = timed(lambda: pn.fit(in_memory(folder, names), threads=given.threads))
            rows.append(("the same in memory, read and fitted", str(spent)))
            apart = np.abs(estimate.theta / memory.theta - 1).max()
            rows.append(("largest relative difference of theta", f"{apart:.1e}"))
            spent, some = timed(lambda: a_sample(folder, names))
            off = np.abs((some.theta - estimate.theta) / estimate.standard_errors).max()
            share = some.n_decisions / estimate.n_decisions
            rows.append((f"instead, a sample of {share:.0%} in memory", str(spent)))
            rows.append(("its distance from the estimate of all", f"{off:.1f} standard errors"))
        if given.instead:
            rows += regressed(folder, given.instead, estimate)
        if given.scattered:
            rows.append(
                ("sorting rows that lie anywhere", str(scattered(folder, names, Path(temporary))))
            )
    for name, text in about("").items():
        if name != "command":
            print(f"{name}: {text}")
    print("\n| what | measured |\n|---|---|")
    for what, measured in rows:
        print(f"| {what} | {measured} |")


def middle(every: list[Spent]) -> Spent:
    """Medians."""
    return Spent(median(s.elapsed for s in every), median(s.processor for s in every))


def compared(reading: list[Spent], passing: list[Spent]) -> list[tuple[str, str]]:
    """Medians, and the ratio of what a pass takes to what reading takes."""
    read, passed = middle(reading), middle(passing)
    ratio = (
        f"{passed.elapsed / read.elapsed:.2f}, {passed.processor / read.processor:.2f} of processor"
    )
    return [
        ("pyarrow reads the columns", str(read)),
        ("one pass", str(passed)),
        ("ratio", ratio),
    ]


if __name__ == "__main__":
    main()
