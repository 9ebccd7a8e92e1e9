"""Rows of the one table, and the forms it is given in."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from timing import Timing

AGREE = 1e-4  # relative difference of log-likelihoods beyond which answers are not the same
LOWER = -1e-8  # ours may be lower by this much, relative


@dataclass(frozen=True)
class Target:
    """What a ratio (or a value) ought to be."""

    bound: float
    at_least: bool

    def __str__(self) -> str:
        return f"{'>=' if self.at_least else '<='} {self.bound:g}"

    def verdict(self, value: float) -> str:
        """Met or missed."""
        met = value >= self.bound if self.at_least else value <= self.bound
        return "met" if met else "missed"


@dataclass(frozen=True)
class Row:
    """One line: what was measured, how long it took, and how it compares.

    Attributes
    ----------
    section, what, size
        Which comparison, who or what, and how large.
    timing
        Seconds of every run.
    value
        A measured number that is not a time, with its unit, such as "12.1 GB/s".
    ratio
        What the section compares; the README says what for each.
    gap
        (our log-likelihood - theirs) / |theirs|.
    target
        Judged on the ratio.
    judged
        False where sizes differ from those the target is set for.
    """

    section: str
    what: str
    size: str = ""
    timing: Timing | None = None
    value: str = ""
    ratio: float | None = None
    gap: float | None = None
    target: Target | None = None
    judged: bool = True
    note: str = ""

    @property
    def verdict(self) -> str:
        """Met, missed, or nothing where there is no target."""
        if self.target is None or self.ratio is None or not self.judged:
            return ""
        return self.target.verdict(self.ratio)

    @property
    def remarks(self) -> str:
        """The note, with a warning where the answers are not the same."""
        if self.gap is None or LOWER <= self.gap <= AGREE:
            return self.note
        return "; ".join(filter(None, ["LOG-LIKELIHOODS DISAGREE", self.note]))

    def cells(self) -> list[str]:
        """The row as text."""
        median, spread, runs = "", "", ""
        if self.timing is not None:
            median = duration(self.timing.median)
            low, high = min(self.timing.seconds), max(self.timing.seconds)
            spread = f"{duration(low)} .. {duration(high)}" if len(self.timing.seconds) > 1 else ""
            runs = str(len(self.timing.seconds))
        return [
            self.section,
            self.what,
            self.size,
            median or self.value,
            spread,
            runs,
            "" if self.ratio is None else f"{self.ratio:.3g}",
            "" if self.target is None else str(self.target),
            self.verdict,
            "" if self.gap is None else f"{self.gap:+.0e}",
            self.remarks,
        ]

    def record(self) -> dict[str, Any]:
        """The row for a JSON file."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        fields["seconds"] = None if self.timing is None else list(self.timing.seconds)
        fields["median"] = None if self.timing is None else self.timing.median
        fields["target"] = None if self.target is None else str(self.target)
        return {**fields, "timing": None, "verdict": self.verdict, "note": self.remarks}


HEADINGS = [
    "section",
    "what",
    "size",
    "median",
    "min .. max",
    "runs",
    "ratio",
    "target",
    "",
    "gap",
    "note",
]


def duration(seconds: float) -> str:
    """Three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def shape_text(*numbers: int) -> str:
    """Sizes as 1e5 x 10 x 5."""
    return " x ".join(f"{n:.0e}".replace("+0", "") if _round(n) else f"{n:,}" for n in numbers)


def _round(n: int) -> bool:
    return n >= 1_000 and float(f"{n:.0e}") == n


def text_table(rows: Sequence[Row]) -> str:
    """Aligned columns."""
    table = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(len(cells[j]) for cells in table) for j in range(len(HEADINGS))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
        for cells in table
    ]
    lines.insert(1, "-" * max(len(line) for line in lines))
    return "\n".join(lines)


def markdown_table(rows: Sequence[Row]) -> str:
    """The same for a Markdown page."""
    table = [HEADINGS, ["---"] * len(HEADINGS), *(row.cells() for row in rows)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in table)


def markdown_page(about: dict[str, str], rows: Sequence[Row]) -> str:
    """The page `--markdown` writes."""
    facts = "\n".join(f"- {key}: {value}" for key, value in about.items())
    return (
        "# Measured\n\nWritten by `python benchmarks/run.py --markdown`; "
        "what each row means is in [README.md](README.md).\n\n"
        f"{facts}\n\n{markdown_table(rows)}\n"
    )


def json_text(about: dict[str, str], rows: Sequence[Row]) -> str:
    """The file `--json` writes."""
    document = {"about": about, "rows": [row.record() for row in rows]}
    return json.dumps(document, indent=2, allow_nan=False) + "\n"
