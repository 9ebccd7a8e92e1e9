"""A reproduction in a folder, whole or not at all: figures, tables, results, and a page."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penchant._version import __version__
from penchant.errors import DataError
from penchant.figures import save
from penchant.io.atomic import failed
from penchant.io.document import write_json
from penchant.io.leftovers import removed_in_the_end
from penchant.io.output import write_table, write_text
from penchant.report.reproduction_figures import reproduction_figure
from penchant.report.reproduction_page import reproduction_page
from penchant.study.paper.claims import Claim
from penchant.study.paper.reproduction import Reproduction

PAGE, RESULTS = "index.html", "results.json"
FIGURES, TABLES = "figures", "tables"
FIGURE_KINDS = (".svg", ".pdf")


def check_new_folder(path: str | os.PathLike[str]) -> Path:
    """Refuse, before the work is done, a folder that exists or cannot be made."""
    folder = Path(path).expanduser().resolve()
    if folder.exists():
        raise DataError(
            f"output must not exist; got {path}, which does. Choose another name: nothing is "
            "overwritten."
        )
    if not folder.parent.is_dir():
        raise DataError(
            f"output must lie in an existing directory; got {path}, but {folder.parent} is none. "
            "Create it first."
        )
    if not os.access(folder.parent, os.W_OK | os.X_OK):
        raise DataError(
            f"output must lie in a directory that can be written to; got {path}, but "
            f"{folder.parent} cannot. Choose another, or change its permissions."
        )
    return folder


def write_reproduction(
    found: Reproduction,
    path: str | os.PathLike[str],
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
    with _new_folder(path) as (folder, place):
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


@contextmanager
def _new_folder(path: str | os.PathLike[str]) -> Iterator[tuple[Path, Path]]:
    """The folder to be, and a hidden one beside it that takes its place at the end."""
    folder = check_new_folder(path)
    place = folder.with_name(f".{folder.name[:100]}.{secrets.token_hex(4)}.tmp")
    with removed_in_the_end(place):
        try:
            place.mkdir()
            yield folder, place
            if folder.exists():
                raise DataError(f"output must not exist; got {path}, which was made meanwhile.")
            os.rename(place, folder)
        except OSError as error:
            raise failed(folder, error) from error


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
