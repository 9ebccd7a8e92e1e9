"""Measure Penchant: `python benchmarks/run.py` prints one table. See README.md beside it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

ONE_THREAD = {
    name: "1"
    for name in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
    )
}
FITS, BATCHES = ("S", "W", "M", "L", "P", "E"), ("B", "T", "PB")
SECTIONS = (*FITS, *BATCHES, "limit", "threads", "memory", "linear", "table", "start")


def one_thread() -> None:
    """Start again with the numerical libraries held to one thread, unless they already are."""
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
        os.environ.update(ONE_THREAD)
        os.execv(sys.executable, [sys.executable, *sys.argv])


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", default=",".join(SECTIONS), help=f"sections, of {','.join(SECTIONS)}"
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes, 3 repeats")
    parser.add_argument("--repeats", type=int, help="rounds of each comparison (7)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every run to FILE")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table to FILE")
    asked = parser.parse_args()
    asked.only = asked.only.split(",")
    if unknown := set(asked.only) - set(SECTIONS):
        parser.error(f"--only must name sections of {SECTIONS}; got {sorted(unknown)}")
    if asked.repeats is None:
        asked.repeats = 3 if asked.quick else 7
    return asked


def main() -> None:
    """Run the sections asked for and give the table in the forms asked for."""
    asked = arguments()
    one_thread()
    import machine
    import report
    from settings import Settings

    about = machine.about(" ".join(sys.argv[1:]))
    print("\n".join(f"{key}: {value}" for key, value in about.items()), flush=True)
    sections, rows = _sections(), []
    for name in SECTIONS:
        if name in asked.only:
            print(f"{name} ...", file=sys.stderr)
            rows += sections[name](Settings(asked.repeats, asked.quick))
    about["load after"] = machine.load()  # of one thread's work, 1 is its own
    print(f"load after: {about['load after']}\n\n" + report.text_table(rows))
    if asked.json:
        asked.json.write_text(report.json_text(about, rows), encoding="utf-8")
    if asked.markdown:
        asked.markdown.write_text(report.markdown_page(about, rows), encoding="utf-8")


def _sections() -> dict[str, Callable]:
    from batches import batches
    from evaluation import evaluations
    from fits import fits
    from memory import memory
    from scaling import scaling
    from start import start
    from threads import threads

    from tables import tables

    return {
        **{name: partial(fits, name) for name in FITS},
        **{name: partial(batches, name) for name in BATCHES},
        "limit": evaluations,
        "threads": threads,
        "memory": memory,
        "linear": scaling,
        "table": tables,
        "start": start,
    }


if __name__ == "__main__":
    main()
