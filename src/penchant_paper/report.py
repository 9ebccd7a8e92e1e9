"""A reproduction in a folder: the page with every claim and verdict, figures, tables, results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penchant._typing import FilePath
from penchant._version import __version__
from penchant.figures import inline_svg, save
from penchant.figures.label_text import display_name
from penchant.figures.style import panel_view_boxes
from penchant.files.atomic_files import new_folder
from penchant.files.output import write_json, write_table, write_text
from penchant.report.page import Block, DataTable, Drawing, Paragraph, Section, render_page
from penchant.report.study_figures import Drawn
from penchant.result_tables import format_number
from penchant_paper.figures import reproduction_figure
from penchant_paper.published import Claim
from penchant_paper.reproduction import Reproduction, Result

MAX_ROWS_PRINTED = 30  # rows beyond which a table is in its file only
MET = {True: "met", False: "not met", None: "open"}


def reproduction_page(found: Reproduction, figures: Sequence[Drawn], *, command: str) -> str:
    """The reproduction as one HTML document.

    Parameters
    ----------
    found
        What the experiments gave.
    figures
        One per experiment, in the same order.
    command
        What reproduces it.
    """
    sections = [
        Section("In short", _in_short(found)),
        *(_section(result, drawn) for result, drawn in zip(found.results, figures, strict=True)),
        Section("How to run this again", [Paragraph(command, code=True)]),
    ]
    return render_page(
        "The paper, run again",
        "Reverdy & Leonard, Parameter estimation in softmax decision-making models with linear "
        f"objective functions. Penchant {__version__}, seed {found.run.seed}, "
        f"{found.run.replicates} replicates{', a quick run' if found.run.quick else ''}.",
        sections,
    )


def _in_short(found: Reproduction) -> list[Block]:
    rows = [
        (claim.verdict, claim.statement, claim.where, _errata(claim)) for _, claim in found.claims
    ]
    return [
        Paragraph(
            f"Of {len(rows)} claims of the paper {verdict_counts(found)} in this run. Every "
            "verdict is computed from its numbers: a claim holds if all the conditions it amounts "
            "to are met, in part if some are. A number that a simulation decides stands with its "
            "Monte Carlo standard error (±), and a condition is met or not only if three such "
            "errors agree; otherwise there are not enough replicates to tell. What would take the "
            "subjects' choices, or landscapes that the paper does not print, cannot be told from "
            "the paper: it is neither confirmed nor accused. Replicates without a finite estimate "
            "are counted and enter no average."
        ),
        DataTable(
            "Claims of the paper",
            ("verdict", "claim", "place", "errata"),
            rows,
            text_columns=frozenset((0, 1, 2, 3)),
        ),
    ]


_SEVERAL = {
    "holds": "hold",
    "holds in part": "hold in part",
    "does not hold": "do not hold",
    "not enough replicates to tell": "have not enough replicates to tell",
    "cannot be told from the paper": "cannot be told from the paper",
}
_ONE = {"not enough replicates to tell": "has not enough replicates to tell"}


def verdict_counts(found: Reproduction) -> str:
    """Numbers of claims by verdict, in words; verdicts without claims are left out."""
    return ", ".join(
        f"{count} {_ONE.get(verdict, verdict) if count == 1 else _SEVERAL[verdict]}"
        for verdict, count in found.counts().items()
        if count
    )


def _errata(claim: Claim) -> str:
    return ", ".join(map(str, claim.errata))


def _section(result: Result, drawn: Drawn) -> Section:
    svg = inline_svg(drawn.figure, drawn.title, drawn.caption)
    settings = "; ".join(f"{display_name(name)}: {value}" for name, value in _flat(result))
    blocks: list[Block] = [
        Paragraph(f"{settings}."),
        Drawing(drawn.name, drawn.title, drawn.caption, svg, panel_view_boxes(drawn.figure)),
        DataTable(
            "What the paper says, and what the run shows",
            ("verdict", "the paper says", "the run shows"),
            [
                (claim.verdict, f"{claim.statement} ({claim.where})", claim.why)
                for claim in result.claims
            ],
            text_columns=frozenset((0, 1, 2)),
        ),
    ]
    decided = _deciding(result)
    if decided:
        blocks.append(
            DataTable(
                "The numbers that decide",
                ("condition", "found", "asked", "met", "claim"),
                decided,
                "±: Monte Carlo standard error. Met or not met by three of them; otherwise open.",
                collapsed=True,
                text_columns=frozenset((0, 1, 2, 3, 4)),
            )
        )
    return Section(result.title, [*blocks, *_tables(result)])


def _deciding(result: Result) -> list[tuple[str, ...]]:
    """Every condition that a simulation decides."""
    return [
        (name, str(found), found.range_text, MET[found.met], claim.statement)
        for claim in result.claims
        for name, found in claim.measured.items()
    ]


def _flat(result: Result) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for name, value in result.settings.items():
        if isinstance(value, Mapping):
            rows += [(f"{name} {key}", _format_setting(inner)) for key, inner in value.items()]
        else:
            rows.append((name, _format_setting(value)))
    return rows


def _format_setting(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{display_name(key)} {inner:g}" for key, inner in value.items())
    if isinstance(value, list):
        return ", ".join(f"{inner:g}" for inner in value)
    return str(value)


def _tables(result: Result) -> list[Block]:
    made: list[Block] = []
    for name, columns in result.tables().items():
        n = len(next(iter(columns.values()), ()))
        if n > MAX_ROWS_PRINTED:
            made.append(Paragraph(f"tables/{name}.csv holds {n} rows."))
        elif n:
            words = frozenset(i for i, c in enumerate(columns.values()) if isinstance(c[0], str))
            made.append(
                DataTable(
                    f"{name}.csv",
                    [display_name(column) for column in columns],
                    [[_cell(v) for v in row] for row in zip(*columns.values(), strict=True)],
                    collapsed=True,
                    text_columns=words | {0},
                )
            )
    return made


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return format_number(value, 4)
    return "" if value is None else display_name(str(value))


PAGE, RESULTS = "index.html", "results.json"
FIGURES, TABLES = "figures", "tables"
FIGURE_KINDS = (".svg", ".pdf")


def write_reproduction(
    found: Reproduction,
    path: FilePath,
    *,
    command: str = "penchant reproduce",
) -> Path:
    """Write figures (SVG, PDF), tables (CSV), results.json and index.html into a new folder.

    The folder appears when it is complete. The same run gives the same files.

    Parameters
    ----------
    found
        What the experiments gave.
    path
        The folder, which must not exist.
    command
        What reproduces it, for the page to say.
    """
    with new_folder(path) as (folder, place):
        drawn = [reproduction_figure(result) for result in found.results]
        for name in (FIGURES, TABLES):
            (place / name).mkdir()
        for one in drawn:
            for kind in FIGURE_KINDS:
                save(one.figure, place / FIGURES / f"{one.name}{kind}", title=one.title)
        for result in found.results:
            for name, columns in result.tables().items():
                if columns:
                    file = place / TABLES / f"{name}.csv"
                    write_table(file, pa.table(dict(columns)), overwrite=False)
        write_json(place / RESULTS, reproduction_document(found), overwrite=False)
        text = reproduction_page(found, drawn, command=command)
        write_text(place / PAGE, text, overwrite=False)
    return folder


def reproduction_document(found: Reproduction) -> dict[str, Any]:
    """Every number and verdict, ready for JSON."""
    return {
        "format": "penchant-reproduction",
        "version": 2,
        "penchant": __version__,
        "seed": found.run.seed,
        "replicates": found.run.replicates,
        "quick": found.run.quick,
        "verdicts": found.counts(),
        "experiments": [
            {
                "name": result.name,
                "title": result.title,
                "settings": result.settings,
                "claims": [_claim(claim) for claim in result.claims],
                "tables": result.tables(),
            }
            for result in found.results
        ],
    }


def _claim(claim: Claim) -> dict[str, Any]:
    """A claim with its conditions, and the numbers that decide them."""
    return {
        "where": claim.where,
        "statement": claim.statement,
        "verdict": claim.verdict,
        "why": claim.why,
        "conditions": claim.conditions,
        "measured": {
            name: {
                "value": found.value,
                "monte_carlo_error": found.error,
                "low": found.low if np.isfinite(found.low) else None,
                "high": found.high if np.isfinite(found.high) else None,
            }
            for name, found in claim.measured.items()
        },
        "not_in_the_paper": claim.untold or None,
        "evidence": claim.evidence,
        "errata": list(claim.errata),
    }
