"""Which lines the tests run, folder by folder.

    python -m pytest -n 0 --cov=penchant --cov-report=json:coverage.json tests/choices tests/softmax
    python benchmarks/covered.py coverage.json "tests/choices tests/softmax"

Compiled loops are left out (`pyproject.toml` names them): no tracer sees them. Lines that only run
in other processes, such as the workers of a cluster, count as not covered.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

import machine


def page(file: Path, tests: str) -> str:
    """A table of shares from what `coverage json` wrote."""
    found = json.loads(file.read_text(encoding="utf-8"))
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for name, one in found["files"].items():
        parts = Path(name).parts
        inside = parts[parts.index("penchant") + 1 :]
        folder = inside[0] if len(inside) > 1 else "(top)"
        for place, key in enumerate(
            ("num_statements", "covered_lines", "num_branches", "covered_branches")
        ):
            sums[folder][place] += one["summary"][key]
    asked = [Path(word).name for word in tests.split()]
    sums = {folder: numbers for folder, numbers in sums.items() if folder in asked}
    rows = [_row(folder, *numbers) for folder, numbers in sorted(sums.items())]
    about = machine.about("")
    return "\n".join(
        [
            "# What the tests run",
            "",
            "Made by `benchmarks/covered.py`, which says how. Measured with these fast tests:",
            f"`{tests}`.",
            "Shown are the folders whose own tests these are; others were not measured here; the",
            "workflow `tests.yml` measures all. Compiled loops are left out; slow tests run more.",
            "",
            "| folder | statements | run | branches | taken |",
            "|---|---|---|---|---|",
            *rows,
            "",
            f"- date: {about['date']}",
            f"- commit: {about['commit']}",
            f"- system: {about['system']}",
            "",
        ]
    )


def _row(name: str, statements: int, run: int, branches: int, taken: int) -> str:
    share = [f"{part / whole:.0%}" if whole else "" for part, whole in ((run, statements),)]
    share += [f"{taken / branches:.0%}" if branches else ""]
    return f"| {name} | {statements:,} | {share[0]} | {branches:,} | {share[1]} |"


if __name__ == "__main__":
    print(page(Path(sys.argv[1]), sys.argv[2]), end="")
