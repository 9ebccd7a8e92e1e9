"""A study in a folder: tables, figures, and the report."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa

from penchant.errors import DataError
from penchant.figures import inline_svg, save
from penchant.io.output import write_table, write_text
from penchant.report.page import Drawing
from penchant.report.study_figures import study_figures
from penchant.report.study_page import study_page
from penchant.study import TABLES, Study

REPORT = "report.html"
FIGURES, TABLES_FOLDER = "figures", "tables"
TABLE_KINDS = (".csv", ".parquet")
XML = '<?xml version="1.0" encoding="UTF-8"?>'


def write_study(
    study: Study,
    folder: str | os.PathLike[str],
    *,
    title: str = "A study of choices",
    command: str = "penchant.write_study(study, folder)",
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
    overwrite
        Whether files may be replaced.

    Returns
    -------
    The report's file.
    """
    place = Path(folder).expanduser()
    if not overwrite and (place / REPORT).exists():
        raise DataError(
            f"folder must not hold a report; got {place}, which does. Choose another, or pass "
            "overwrite."
        )
    for name in (TABLES_FOLDER, FIGURES):
        (place / name).mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        columns = study.columns(name)
        if columns:
            table = pa.table(columns)
            for kind in TABLE_KINDS:
                write_table(place / TABLES_FOLDER / f"{name}{kind}", table, overwrite=overwrite)
    drawings = []
    for drawn in study_figures(study):
        svg = inline_svg(drawn.figure, drawn.title, drawn.caption)
        file = place / FIGURES / drawn.name
        write_text(file.with_suffix(".svg"), f"{XML}\n{svg}\n", overwrite=overwrite)
        drawn.figure.set_layout_engine("none")  # the places are found: keep them
        save(drawn.figure, file.with_suffix(".pdf"), overwrite=overwrite)
        drawings.append(Drawing(drawn.name, drawn.title, drawn.caption, svg))
    text = study_page(study, drawings, title=title, command=command)
    write_text(place / REPORT, text, overwrite=overwrite)
    return place / REPORT
