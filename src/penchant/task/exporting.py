"""A folder for the analysis: tables, raw events, what each column is, and the next command."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.parquet as pa_parquet

from penchant.errors import DataError
from penchant.files.atomic import failed, removed_in_the_end
from penchant.task.plan import Plan
from penchant.task.rows import COLUMNS, Exported, Group
from penchant.task.store.store import NotSavedError, Store

TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64()}
BATCH = 4_000  # rows in memory
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def inert(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula.

    Examples
    --------
    >>> inert("=1+1"), inert(-2.5), inert("ann")
    ("'=1+1", -2.5, 'ann')
    """
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def csv_lines(store: Store) -> Iterator[str]:
    """All choices of all tasks with the columns that they share, line by line."""
    exported = Exported(store)
    names = [name for name in COLUMNS if name != "platform_id"]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*names, "task"])
    for group, row in exported.rows():
        if not group.practice:
            writer.writerow([*(inert(row[name]) for name in names), group.name])
        if buffer.tell() > 30_000:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


def export(store: Store, folder: str | Path, *, with_ids: bool = False) -> dict[str, int]:
    """Write everything that was collected to a new folder, while people play.

    Parameters
    ----------
    store
        Where it is.
    folder
        New folder; it is there whole or not at all.
    with_ids
        Whether ids of the recruiting platform are written; else pseudonyms alone.

    Returns
    -------
    How many rows each table has.
    """
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError(
            f"output must be a new folder; got {folder}, which exists. Choose another name."
        )
    if not target.resolve().parent.is_dir():
        raise DataError(
            f"output must lie in an existing directory; got {folder}. Create {target.parent} first."
        )
    part = target.resolve().with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with removed_in_the_end(part):
            part.mkdir(mode=0o700)
            counts = _write(Exported(store, with_ids=with_ids), part)
            part.chmod(0o755)
            if target.is_dir():
                target.rmdir()
            os.replace(part, target)
    except OSError as error:
        raise failed(target, error) from error
    except NotSavedError as error:
        raise DataError(f"STORE must be readable; got {store.name}: {error}. Try again.") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return counts


def _write(exported: Exported, folder: Path) -> dict[str, int]:
    data = folder / "data"
    data.mkdir()
    (folder / "raw").mkdir()
    plan = list(exported.plans.values())[-1]
    with ExitStack() as stack:
        tables: dict[str, _Written] = {}
        for group, row in exported.rows():
            name = f"practice {group.name}" if group.practice else group.name
            if name not in tables:
                tables[name] = stack.enter_context(_Written(exported, group, plan, folder))
            tables[name].add(row)
    counts = {name: table.count for name, table in tables.items()}
    with (folder / "raw" / "events.jsonl").open("w", encoding="utf-8") as stream:
        for event in exported.events():
            stream.write(json.dumps(event, ensure_ascii=False) + "\n")
    _json(folder / "raw" / "studies.json", [p.document for p in exported.plans.values()])
    main = [table for table in tables.values() if not table.group.practice]
    for place, table in enumerate(main):
        name = "task.toml" if not place else f"task-{table.group.name}.toml"
        _write_task(folder, name, table)
    _json(folder / "dataset_description.json", _description(plan, exported, tables.values()))
    (folder / "README.md").write_text(_readme(plan, counts, bool(main)), encoding="utf-8")
    return counts


class _Written:
    """A table while it is written, as CSV and Parquet."""

    def __init__(self, exported: Exported, group: Group, plan: Plan, folder: Path) -> None:
        self.group = group
        self.types = exported.columns(group)
        self.count = 0
        study = re.sub(r"[^a-z0-9]", "", plan.name)
        kind = "_description-practice" if group.practice else ""
        self.file = f"data/study-{study}_task-{group.name}{kind}_data.csv"
        parquet = "practice" if group.practice else "choices"
        self.parquet = f"{parquet}-{group.name}.parquet"
        self.schema = pa.schema([(name, TYPES[type_]) for name, type_ in self.types.items()])
        self._folder = folder
        self._rows: list[dict[str, Any]] = []
        self._filled: set[str] = set()

    def __enter__(self) -> _Written:
        self._stream: TextIO = (self._folder / self.file).open("w", encoding="utf-8", newline="")
        self._csv = csv.writer(self._stream, lineterminator="\n")
        self._csv.writerow(self.types)
        self._parquet = pa_parquet.ParquetWriter(self._folder / self.parquet, self.schema)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._flush()
        finally:
            self._stream.close()
            self._parquet.close()

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a choice."""
        cells = [row.get(name) for name in self.types]
        self._csv.writerow([inert(cell) for cell in cells])
        self._rows.append(_typed(self.types, cells))
        self.count += 1
        if len(self._rows) >= BATCH:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            self._parquet.write_table(pa.Table.from_pylist(self._rows, schema=self.schema))
            self._rows = []


def _typed(types: Mapping[str, type], cells: Sequence[Any]) -> dict[str, Any]:
    named = zip(types.items(), cells, strict=True)
    return {name: None if cell is None else type_(cell) for (name, type_), cell in named}


def _write_task(folder: Path, name: str, table: _Written) -> None:
    """The settings with which `penchant study` reads the table."""
    group = table.group
    settings: dict[str, Any] = {"table": table.file, **group.analysis}
    if group.conditions:
        settings["condition"] = list(group.conditions)
    if group.landscapes:
        file = f"landscape-{group.name}.csv"
        settings["landscape"] = file
        settings["landscape_by"] = ["landscape"]
        with (folder / file).open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(["landscape", "option", "mean_reward"])
            for label, means in group.landscapes.items():
                writer.writerows([inert(label), i, mean] for i, mean in enumerate(means))
    lines = ["# What `penchant study` needs to know of this table.", ""]
    lines += [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _description(plan: Plan, exported: Exported, tables: Any) -> dict[str, Any]:
    """The description that Psych-DS asks for."""
    told = {name: words for name, (_, words) in COLUMNS.items()}
    names = dict.fromkeys(name for table in tables for name in table.types)
    return {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": plan.name,
        "description": plan.title,
        "schemaVersion": "Psych-DS 0.4.0",
        "variableMeasured": [
            {
                "@type": "PropertyValue",
                "name": name,
                "description": told.get(name) or _words_of(name),
            }
            for name in names
        ],
    }


def _words_of(name: str) -> str:
    kind, _, number = name.rpartition("_")
    if number.isdigit():
        what = "Mean reward" if kind == "mean" else kind.capitalize()
        return f"{what} of option {int(number) - 1} at this decision"
    return f"Condition or setting: {name}"


def _readme(plan: Plan, counts: Mapping[str, int], has_table: bool) -> str:
    rows = "\n".join(f"- {name}: {count} choices" for name, count in counts.items())
    command = "    penchant study . -o ../results\n" if has_table else ""
    return (
        f"# {plan.title}\n\nCollected by `penchant serve`; subjects are pseudonyms.\n\n{rows}\n\n"
        "Next, in this folder:\n\n"
        f"{command}\n"
        "`data/` and `dataset_description.json` follow Psych-DS; `*.parquet` hold the same tables;"
        "\n`raw/events.jsonl` is everything that was logged, `raw/studies.json` every study file "
        "that was served.\n"
    )


def _json(file: Path, value: Any) -> None:
    file.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
