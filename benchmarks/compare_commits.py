"""Compare the speed of two commits in one run: main rows, interleaved, in processor time.

    python benchmarks/compare_commits.py BEFORE [AFTER] [--only S,UCL] [--rounds 7] [--limit 1.1]
        [--markdown FILE] [--folder FOLDER]

Each commit gets a git worktree and a worker process that imports Penchant from there. Both workers
run everything once to compile it; then they take turns (A, B, B, A ...), so that whatever else the
machine does meets both. The ratio is the median over rounds of B's time divided by A's time in the
same round, with its interquartile range. The rows are those of `main_rows.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import main_rows
from report import duration

ROOT = Path(__file__).resolve().parents[1]
MIN_TURN_SECONDS = 0.1  # of processor time: a quicker run is repeated, as clocks and caches jitter
SAME_ANSWER = 1e-9  # relative difference of log-likelihoods that is worth a remark
HEADINGS = ("row", "A", "B", "B / A", "interquartile range", "note")
# One thread each, as the processor time of several depends on how they wait for one another.
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}

# Freed memory stays with the process: pages that the system takes back and clears anew cost M and T
# a tenth to a fifth of their time, and not the same in each process (glibc only).
REUSED_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(2**32), "MALLOC_TRIM_THRESHOLD_": str(2**34)}


@dataclass
class Row:
    """Processor seconds of both commits in every round, and what is to be said of them."""

    name: str
    a: list[float] = field(default_factory=list)
    b: list[float] = field(default_factory=list)
    note: str = ""
    is_failed: bool = False

    @property
    def ratios(self) -> list[float]:
        """B's time divided by A's, round by round."""
        return [b / a for a, b in zip(self.a, self.b, strict=True)]

    @property
    def ratio(self) -> float:
        """Median over rounds."""
        return statistics.median(self.ratios)

    def cells(self) -> list[str]:
        """The row as text."""
        if self.is_failed:
            return [self.name, "", "", "", "", self.note]
        low, high = quartiles(self.ratios)
        medians = [duration(statistics.median(seconds)) for seconds in (self.a, self.b)]
        return [self.name, *medians, f"{self.ratio:.3f}", f"{low:.3f} .. {high:.3f}", self.note]


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """First and third quartile; of one value, itself twice."""
    if len(values) == 1:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


# -- the worker ------------------------------------------------------------------------------------


def work(source: Path, files: Path) -> None:
    """Answer names of rows on standard input with seconds and log-likelihoods, one line each."""
    replies, sys.stdout = sys.stdout, sys.stderr  # what is printed by a run must not be a reply
    import pyarrow

    import penchant

    if not Path(penchant.__file__).is_relative_to(source):
        raise SystemExit(f"penchant was imported from {penchant.__file__}, not from {source}.")
    pyarrow.set_cpu_count(1)
    makers, runs = main_rows.rows(files), {}
    for line in sys.stdin:
        name = line.strip()
        try:
            if name not in runs:
                runs[name] = makers[name]()
                runs[name]()  # compiles
            seconds, answer = turn(runs[name])
            reply: dict[str, Any] = {"seconds": seconds, "answer": answer}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps(reply), file=replies, flush=True)


def turn(run: main_rows.Run) -> tuple[float, float]:
    """Mean processor seconds of a run that is repeated for a while, and what it returned."""
    gc.collect()
    n_runs, begin = 0, time.process_time()
    while True:
        answer = run()
        n_runs += 1
        passed = time.process_time() - begin
        if passed >= MIN_TURN_SECONDS:
            return passed / n_runs, answer


# -- a commit --------------------------------------------------------------------------------------


class FailedRunError(Exception):
    """A row that did not run."""


@dataclass
class Commit:
    """A worktree of a commit, and its worker."""

    source: Path
    files: Path
    environment: dict[str, str]
    worker: subprocess.Popen[str] | None = None

    def measure(self, name: str) -> tuple[float, float | None]:
        """Processor seconds of one turn of a row, and its log-likelihood."""
        if name in main_rows.PROCESSES:
            return self._fresh_process(main_rows.PROCESSES[name]), None
        return self._ask(name)

    def _fresh_process(self, arguments: Sequence[str]) -> float:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            env=self.environment,
            cwd=self.files,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)  # the only call that tells one child's usage
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise FailedRunError(f"exit status {process.returncode}")
        return usage.ru_utime + usage.ru_stime

    def _ask(self, name: str) -> tuple[float, float]:
        if self.worker is None:
            self.worker = subprocess.Popen(
                [sys.executable, __file__, "--worker", str(self.source), str(self.files)],
                env=self.environment | REUSED_MEMORY,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self.worker.stdin is not None and self.worker.stdout is not None
        print(name, file=self.worker.stdin, flush=True)
        line = self.worker.stdout.readline()
        if not line:
            raise SystemExit(f"The worker of {self.source} ended at row {name}.")
        reply = json.loads(line)
        if "error" in reply:
            raise FailedRunError(reply["error"])
        return reply["seconds"], reply["answer"]

    def close(self) -> None:
        """End the worker: it ends at the end of its input."""
        if self.worker is not None:
            assert self.worker.stdin is not None
            self.worker.stdin.close()
            self.worker.wait()


def git(*arguments: str) -> str:
    """What a git command of this repository prints."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr.strip())
    return done.stdout.strip()


@contextlib.contextmanager
def checked_out(name: str, folder: Path, files: Path, is_kept: bool) -> Iterator[Commit]:
    """Give a commit a worktree in a folder; remove it afterwards unless it is kept."""
    tree = folder / git("rev-parse", "--short=12", f"{name}^{{commit}}")
    if not tree.exists():
        git("worktree", "add", "--detach", "--quiet", str(tree), tree.name)
    source = tree / "src"
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": str(source)}
    environment.pop("NUMBA_CACHE_DIR", None)  # compiled code stays in the tree
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a start compiles no Python
    commit = Commit(source, files, environment)
    try:
        yield commit
    finally:
        commit.close()
        if not is_kept:
            git("worktree", "remove", "--force", str(tree))


# -- the comparison --------------------------------------------------------------------------------


def compare(
    commits: tuple[Commit, Commit], names: Sequence[str], rounds: int, say: Callable[[str], None]
) -> list[Row]:
    """Measure all rows, round by round, the two commits in alternating order."""
    rows = [Row(name) for name in names]
    for row in rows:
        say(f"compiling: {row.name}")
        warm_up(row, commits)
    for k in range(rounds):
        for row in rows:
            if not row.is_failed:
                say(f"round {k + 1}/{rounds}: {row.name}")
                measure(row, commits, is_reversed=k % 2 == 1)
    return rows


def warm_up(row: Row, commits: tuple[Commit, Commit]) -> None:
    """Run a row once with each commit; remark on failures and on answers that differ."""
    answers = []
    for letter, commit in zip("AB", commits, strict=True):
        try:
            answers.append(commit.measure(row.name)[1])
        except FailedRunError as error:
            row.note, row.is_failed = f"FAILED in {letter}: {error}", True
            return
    if answers[0] is not None:
        difference = abs(answers[1] - answers[0]) / abs(answers[0])
        if difference > SAME_ANSWER:
            row.note = f"log-likelihoods differ by {difference:.0e}"


def measure(row: Row, commits: tuple[Commit, Commit], *, is_reversed: bool) -> None:
    """Add one round to a row."""
    pairs = list(zip((row.a, row.b), commits, strict=True))
    for seconds, commit in reversed(pairs) if is_reversed else pairs:
        seconds.append(commit.measure(row.name)[0])


def text_table(rows: Sequence[Row]) -> str:
    """Aligned columns."""
    cells = [list(HEADINGS), *(row.cells() for row in rows)]
    widths = [max(len(line[j]) for line in cells) for j in range(len(HEADINGS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    )


def markdown_page(rows: Sequence[Row], facts: Sequence[str]) -> str:
    """The table as a page."""
    cells = [list(HEADINGS), ["---"] * len(HEADINGS), *(row.cells() for row in rows)]
    table = "\n".join("| " + " | ".join(line) + " |" for line in cells)
    listed = "\n".join(f"- {fact}" for fact in facts)
    return f"# Two commits\n\n{listed}\n\n{table}\n"


def chosen_names(only: str | None) -> list[str]:
    """Names of rows, all or those asked for."""
    every = [*main_rows.rows(Path()), *main_rows.PROCESSES]
    if only is None:
        return every
    names = only.split(",")
    unknown = [name for name in names if name not in every]
    if unknown:
        raise SystemExit(f"--only must name rows; got {unknown[0]!r}. Rows: {', '.join(every)}.")
    return names


def progress(text: str) -> None:
    """Show on a terminal what is being done."""
    if sys.stderr.isatty():
        print(f"{text:<60}", end="\r", file=sys.stderr)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("before", help="commit A")
    parser.add_argument("after", nargs="?", default="HEAD", help="commit B; HEAD unless given")
    parser.add_argument("--only", help="names of rows, comma-separated")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--limit", type=float, help="exit status 1 if a ratio is larger")
    parser.add_argument("--markdown", type=Path, help="write the table to this file, too")
    parser.add_argument(
        "--folder", type=Path, help="keep worktrees with their compiled code here for the next run"
    )
    return parser.parse_args()


def main() -> int:
    given = parsed()
    names = chosen_names(given.only)
    with contextlib.ExitStack() as stack:
        temporary = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder = (given.folder or temporary).resolve()
        files = temporary / "files"
        files.mkdir()
        folder.mkdir(parents=True, exist_ok=True)
        main_rows.write_files(files)
        is_kept = given.folder is not None
        a, b = git("rev-parse", given.before), git("rev-parse", given.after)
        if a == b:
            raise SystemExit(f"Two commits are needed; both are {a[:12]}.")
        places = (folder, files, is_kept)
        before = stack.enter_context(checked_out(a, *places))
        after = stack.enter_context(checked_out(b, *places))
        rows = compare((before, after), names, given.rounds, progress)
    facts = [
        f"{letter}: {git('log', '-1', '--format=%h %s', c)}" for letter, c in (("A", a), ("B", b))
    ]
    facts.append(f"{given.rounds} rounds, processor time, medians")
    progress("")
    print("\n".join([*facts, "", text_table(rows)]))
    if given.markdown:
        given.markdown.write_text(markdown_page(rows, facts), encoding="utf-8")
    failed = [row for row in rows if row.is_failed]
    slow = [r for r in rows if not r.is_failed and given.limit and r.ratio > given.limit]
    for row in slow:
        print(f"{row.name}: {row.ratio:.3f} exceeds the limit {given.limit:g}.")
    return 1 if failed or slow else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        work(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        sys.exit(main())
