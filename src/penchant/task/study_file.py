"""Study files: TOML, checked before anything starts."""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penchant.errors import DataError
from penchant.task.plan import Plan, plan_of
from penchant.task.sections import Section
from penchant.task.tasks.offers import ATTRIBUTES
from penchant.task.toml_lines import lines_of_keys

_SYNTAX = re.compile(r"^(.*?) \(at line (\d+), column \d+\)$")
LARGEST = 4_000_000  # bytes of a study file, or of a table that it names


def read_study_file(path: str | Path) -> Plan:
    """Read and check a study file.

    Parameters
    ----------
    path
        TOML file; tables that it names lie beside it.
    """
    file = Path(path)
    return read_study_text(_text(file, "STUDY.toml"), folder=file.parent)


def read_study_text(text: str, *, folder: Path = Path(".")) -> Plan:
    r"""Read a study from the text of its file.

    Examples
    --------
    >>> plan = read_study_text('[study]\nname = "demo"\n[[block]]\ntask = "grid"')
    >>> plan.name, plan.cells[0].blocks[0].task.n_decisions
    ('demo', 90)
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said = _SYNTAX.match(str(error))
        what, line = said.groups() if said else (_without_place(error), len(text.splitlines()))
        raise DataError(
            f"the study file must be TOML; got {what} at line {line}. Correct this line."
        ) from None
    lines = lines_of_keys(text)
    return plan_of(_with_tables(document, lines, folder), lines)


def _without_place(error: Exception) -> str:
    return str(error).replace(" (at end of document)", "").rstrip(".")


def _text(file: Path, what: str) -> str:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise DataError(
            f"{what} must be a file that can be read; got {file}: {error.strerror}. "
            "penchant serve --new writes one."
        ) from None
    if len(data) > LARGEST:
        raise DataError(f"{what} must have at most {LARGEST} bytes; got {len(data)}. Shorten it.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(
            f"{what} must be UTF-8; got another encoding at line {line}. Save it as UTF-8."
        ) from None


def _with_tables(
    document: dict[str, Any], lines: Mapping[Any, int], folder: Path
) -> dict[str, Any]:
    """The document with the tables in it that its blocks name by means_file and offers_file."""
    blocks = document.get("block")
    if not isinstance(blocks, list):
        return document
    for i, block in enumerate(blocks):
        if not isinstance(block, dict):
            continue
        section = Section(block, ("block", i), lines)
        if "means_file" in block:
            rows = _rows(section, "means_file", folder, ("option", "mean_reward"))
            options = [row["option"] for row in rows]
            if options != list(range(len(rows))):
                section.refuse("means_file", "have options 0, 1, 2 ... in order", "Sort its rows.")
            block["means"] = [row["mean_reward"] for row in rows]
            block.setdefault("landscape", Path(str(block.pop("means_file"))).stem[:40])
        if "offers_file" in block:
            rows = _rows(section, "offers_file", folder, ("amount_1", "amount_2"))
            block["offer"] = [_offer(row) for row in rows]
            del block["offers_file"]
    return document


def _offer(row: Mapping[str, float]) -> dict[str, list[float]]:
    found = {}
    for name in ATTRIBUTES:
        values = [row[f"{name}_{i}"] for i in range(1, 11) if f"{name}_{i}" in row]
        if values:
            found[name] = values
    return found


def _rows(
    section: Section, key: str, folder: Path, wanted: tuple[str, ...]
) -> list[dict[str, float]]:
    """Rows of a CSV file beside the study file, all numbers."""
    name = section.text(key, most=200)
    if Path(name).is_absolute() or ".." in Path(name).parts:
        section.refuse(key, "lie beside the study file or below it", "Give its name only.")
    try:
        text = _text(folder / name, name)
    except DataError as error:
        section.refuse(key, f"be a table that can be read ({error})", "Correct the name.")
    reader = csv.DictReader(text.splitlines())
    missing = [column for column in wanted if column not in (reader.fieldnames or ())]
    if missing:
        section.refuse(key, f"have the column {missing[0]}", "Add it to the table.")
    rows = []
    for row in reader:
        try:
            rows.append({k: float(v) for k, v in row.items() if k and v not in (None, "")})
        except (TypeError, ValueError):
            section.refuse(key, f"hold numbers (line {reader.line_num} does not)", "Correct it.")
    return rows
