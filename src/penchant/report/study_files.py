"""A study in a folder: tables, figures, and the report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import pyarrow as pa

from penchant.errors import DataError
from penchant.figures import inline_svg, save
from penchant.io.output import write_table, write_text
from penchant.report.page import Drawing
from penchant.report.study_figures import Drawn, study_figures
from penchant.report.study_page import study_page
from penchant.study import TABLES, Study

REPORT = "report.html"
Figures = Literal["both", "svg", "none"]
TABLE_KINDS = (".csv", ".parquet")
XML = '<?xml version="1.0" encoding="UTF-8"?>'


def write_study(
    study: Study,
    folder: str | os.PathLike[str],
    *,
    title: str = "A study of choices",
    command: str = "penchant.write_study(study, folder)",
    figures: Figures = "both",
    overwrite: bool = False,
) -> Path:
    """Write the tables, the figures and the report of a study.

    Every file is written whole or not at all, the report last. The same study gives the same bytes.

    Parameters
    ----------
    study
        What was found.
    folder
        Where to; made if it does not exist.
    title
        Of the report.
    command
        What reproduces it, for the report to say.
    figures
        "both": as SVG and PDF files; "svg": without the PDF files, in half the time; "none": no
        figures at all. Those of the report are SVG.
    overwrite
        Whether files may be replaced.

    Returns
    -------
    The report's file.
    """
    place = Path(folder).expanduser()
    if figures not in ("both", "svg", "none"):
        raise DataError(f"figures must be 'both', 'svg' or 'none'; got {figures!r}. Choose one.")
    if not overwrite and (place / REPORT).exists():
        raise DataError(
            f"folder must not hold a report; got {place}, which does. Choose another, or pass "
            "overwrite."
        )
    _write_tables(study, place / "tables", overwrite)
    drawn = [] if figures == "none" else study_figures(study)
    drawings = [
        _write_figure(one, place / "figures", figures == "both", overwrite) for one in drawn
    ]
    text = study_page(study, drawings, title=title, command=command)
    write_text(place / REPORT, text, overwrite=overwrite)
    return place / REPORT


def _write_tables(study: Study, folder: Path, overwrite: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        columns = study.columns(name)
        if columns:
            table = pa.table(columns)
            for kind in TABLE_KINDS:
                write_table(folder / f"{name}{kind}", table, overwrite=overwrite)


def _write_figure(drawn: Drawn, folder: Path, pdf: bool, overwrite: bool) -> Drawing:
    """Write a figure, which is then as the report needs it."""
    folder.mkdir(parents=True, exist_ok=True)
    svg = inline_svg(drawn.figure, drawn.title, drawn.caption)
    write_text(folder / f"{drawn.name}.svg", f"{XML}\n{svg}\n", overwrite=overwrite)
    if pdf:
        drawn.figure.set_layout_engine("none")  # the places are found: keep them
        save(drawn.figure, folder / f"{drawn.name}.pdf", overwrite=overwrite)
    return Drawing(drawn.name, drawn.title, drawn.caption, svg)
