"""Folders of tables, such as Psych-DS: one file per subject or session, read as one table."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import glob, has_magic
from itertools import takewhile
from pathlib import Path
from typing import Any

import pyarrow as pa

from penchant.errors import DataError, format_list
from penchant.files.csv_lines import lines_of_rows
from penchant.files.delimited_text import common_type
from penchant.files.table import read_table, sheet_as_text
from penchant.files.text_source import TextSource, source_from_path

DESCRIPTION = "dataset_description.json"
# Files of other names that are read where a folder has none of those.
TEXT_SUFFIXES = (".txt", ".dat", ".iqdat", ".mat")
TABLE_SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".parquet", ".feather", ".arrow", ".xlsx")
FILE_COLUMN, FOLDER_COLUMN = "source file", "source folder"
MIN_SHARED_COLUMNS = 0.5  # of all columns that two files must share to be of one kind
_HEADER_ONLY_BYTES = 50_000  # bytes of a file that may have no row below its header
_KEYWORD = re.compile(r"([A-Za-z][A-Za-z0-9]*)-([A-Za-z0-9.]+)")
_ROWS = re.compile(r"\brow (\d+)(?: to (\d+))?\b")
# Who is in a file by BIDS's and Psych-DS's names, in words.
_FOLDER_KEYWORDS = ("sub", "ses", "subject", "session", "participant", "group", "condition")
_PARTICIPANTS_FILE = re.compile(
    r"(?:^|[_-])(?:participants|subjects|demographics)(?:_data)?$", re.IGNORECASE
)
_SUBJECT_COLUMNS = ("participant_id", "participant", "subject", "subject_id", "sub", "id")
_KEYWORD_COLUMNS = {"sub": "subject", "ses": "session", "participant": "subject", "run": "block"}


@dataclass(frozen=True)
class RawTable:
    """Table as files hold it, and the file and line that each row comes from.

    Attributes
    ----------
    table
        The rows of all files, one after another.
    pieces
        Each file and how many rows it has; none where the table was no file.
    name
        What messages call it.
    delimiter, encoding, header
        Of the files, to find lines again.
    notes
        Files that were left out.
    """

    table: pa.Table
    pieces: tuple[tuple[TextSource, int], ...] = ()
    name: str = "the table"
    delimiter: str | None = None
    encoding: str = "utf-8"
    notes: tuple[str, ...] = ()
    header: bool = True

    def word_in_lines(self, message: str, rows: Sequence[int] | None = None) -> str:
        """A message about rows as one about lines of the files, where these have lines.

        Parameters
        ----------
        message
            With "row 3" or "row 3 to 7", counted from 0.
        rows
            Row of this table of each row that the message counts; the same if not given.
        """
        if not self.pieces and rows is None:
            return message

        def replace_rows(match: re.Match[str]) -> str:
            found = [int(row) for row in match.groups() if row]
            table_rows = (
                found if rows is None else [int(rows[row]) for row in found if row < len(rows)]
            )
            return self._line_reference(table_rows) if len(table_rows) == len(found) else match[0]

        return _ROWS.sub(replace_rows, message)

    def _line_reference(self, rows: Sequence[int]) -> str:
        start = 0
        for origin, n_rows in self.pieces:
            inside = [row - start for row in rows if start <= row < start + n_rows]
            if inside:
                return self._rows_in_file(origin, inside)
            start += n_rows
        return f"row {' to '.join(map(str, rows))}"

    def _rows_in_file(self, origin: TextSource, rows: Sequence[int]) -> str:
        try:
            lines = lines_of_rows(
                origin,
                {*rows},
                delimiter=self.delimiter,
                encoding=self.encoding,
                named=self.header,
            )
        except DataError:  # quotes that only one of two readers can make sense of
            lines = None
        kind = "row" if lines is None else "line"
        numbers = [row if lines is None else lines[row] for row in rows]
        of = f" of {origin.name}" if len(self.pieces) > 1 else ""
        return f"{kind} {' to '.join(map(str, numbers))}{of}"


def read_raw(
    path: Any,
    *,
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
    header: bool = True,
    is_wanted: Callable[[Sequence[str]], bool] | None = None,
) -> RawTable:
    """Read a file, a folder of files of one kind, or those that a pattern names.

    Parameters
    ----------
    path
        A file as for `read_table`; a folder, such as one of Psych-DS; or a pattern, "data/*.csv".
    delimiter, decimal, encoding, header
        As for `read_table`.
    wanted
        Whether a table with these columns is one to read, where a folder has several kinds.

    Notes
    -----
    What the name of a file says by keywords, as in subject-07_group-old_data.csv, becomes columns
    where the file has none of that name; so does what a table of participants says of each.
    """
    read = {"delimiter": delimiter, "decimal": decimal, "encoding": encoding, "header": header}
    files = _find_files(path)
    if files is not None:
        return _read_files(str(path), files, read, is_wanted)
    origin = sheet_as_text(source_from_path(path))
    table = read_table(origin, **read)  # type: ignore[arg-type]
    return RawTable(table, ((origin, len(table)),), origin.name, delimiter, encoding, header=header)


def _read_files(
    path: str,
    files: list[str],
    read: Mapping[str, Any],
    is_wanted: Callable[[Sequence[str]], bool] | None,
) -> RawTable:
    """Read files of one kind as one table."""
    raw = RawTable(
        pa.table({}), (), path, read["delimiter"], read["encoding"], header=read["header"]
    )
    about = [file for file in files if _PARTICIPANTS_FILE.search(Path(file).stem)]
    if len(about) == 1 < len(files):
        files.remove(about[0])
    empty = [file for file in files if _has_no_rows(file)]
    if empty and len(empty) < len(files):
        files = [file for file in files if file not in empty]
    sources = [sheet_as_text(source_from_path(file)) for file in files]
    tables = [read_table(one, **read) for one in sources]
    selected = _select_one_kind(sources, tables, path, is_wanted)
    others = [one.name for k, one in enumerate(sources) if k not in selected]
    sources, tables = [sources[k] for k in selected], [tables[k] for k in selected]
    name_columns = _columns_from_names([Path(one.name) for one in sources], tables)
    pieces = tuple((one, len(table)) for one, table in zip(sources, tables, strict=True))
    whole = concatenate_tables(
        [_add_constant_columns(table, own) for table, own in zip(tables, name_columns, strict=True)]
    )
    notes = [
        f"{len(left)} file{'s' * (len(left) > 1)} left out, as {why}: "
        + format_list(Path(file).name for file in left)
        for left, why in ((empty, "nothing is in it"), (others, "no choices are in it"))
        if left
    ]
    if len(about) == 1 and about[0] not in files:
        whole, remarks = _join_people(whole, read_table(about[0], **read))
        notes += [f"{Path(about[0]).name}: {word}" for word in remarks]
    return replace(raw, table=whole, pieces=pieces, notes=tuple(notes))


def _has_no_rows(file: str) -> bool:
    """Whether a text file has no row: somebody began and left at once."""
    if not file.lower().endswith((".csv", ".tsv")) or os.path.getsize(file) > _HEADER_ONLY_BYTES:
        return False
    with open(file, "rb") as opened:
        return len([line for line in opened.read().splitlines() if line.strip(b' \t,;"')]) < 2


def _find_files(path: Any) -> list[str] | None:
    """The files of a folder or pattern; None for a single file."""
    if not isinstance(path, (str, os.PathLike)):
        return None
    given = os.path.expanduser(os.fsdecode(path))
    if has_magic(given) and not os.path.exists(given):
        found = sorted(file for file in glob(given, recursive=True) if os.path.isfile(file))
        if not found:
            raise DataError(
                "path",
                "must match some files",
                got=f"{given}, but there are none",
                fix="Correct the pattern.",
            )
        return found
    return _folder_files(Path(given)) if os.path.isdir(given) else None


def _folder_files(folder: Path) -> list[str]:
    """The tables of a folder: those of its data folder, or called data, where it is described."""
    described = (folder / DESCRIPTION).exists()
    inside = folder / "data" if (folder / "data").is_dir() else folder
    text_tables = [
        file for place in dict.fromkeys((folder, inside)) for file in sorted(place.glob("*.[ct]sv"))
    ]
    about = [file for file in text_tables if _PARTICIPANTS_FILE.search(file.stem)]
    files = [
        file
        for file in sorted(inside.rglob("*") if described else inside.iterdir())
        if _is_table(file)
    ]
    files = files or sorted(file for file in inside.rglob("*") if _is_table(file))
    texts = sorted(file for file in inside.iterdir() if _is_table(file, TEXT_SUFFIXES))
    files = files or (texts if len(texts) > 1 else [])
    tables = {file.with_suffix("") for file in files if file.suffix.lower() != ".json"}
    files = [file for file in files if not _is_sidecar(file, tables, described)]
    data = [file for file in files if file.stem == "data" or file.stem.endswith("_data")]
    if described and data:
        files = data
    files += [file for file in about if file not in files]
    if not files:
        raise DataError(
            "path",
            "must be a folder with tables",
            got=f"{folder}, which has no {', '.join(TABLE_SUFFIXES[:3])} or Parquet files",
            fix="Name the file that has the choices.",
        )
    return [str(file) for file in files]


def _is_table(file: Path, suffixes: Sequence[str] = TABLE_SUFFIXES) -> bool:
    """Whether a file may be a table, by its name."""
    known = file.suffix.lower() in suffixes and file.name != DESCRIPTION
    known = known and file.stem.lower() not in ("readme", "license", "licence")
    return known and not file.name.startswith(".") and file.is_file()


def _is_sidecar(file: Path, tables: set[Path], described: bool) -> bool:
    """Whether a JSON file describes the columns of a table beside it, as in BIDS."""
    if file.suffix.lower() != ".json" or not tables:
        return False
    return described or file.with_suffix("") in tables


def _select_one_kind(
    sources: Sequence[TextSource],
    tables: Sequence[pa.Table],
    given: str,
    is_wanted: Callable[[Sequence[str]], bool] | None,
) -> list[int]:
    """Indices of the files to read: all, or those of the one kind that is wanted.

    Raises
    ------
    DataError
        If there are several kinds: which is meant has to be said.
    """
    kinds: list[tuple[set[str], list[int]]] = []
    for k, table in enumerate(tables):
        columns = {*table.column_names}
        for known, own in kinds:
            if len(columns & known) >= MIN_SHARED_COLUMNS * len(columns | known):
                own.append(k)
                break
        else:
            kinds.append((columns, [k]))
    wanted_kinds = [
        own for columns, own in kinds if is_wanted is None or is_wanted(sorted(columns))
    ]
    if len(kinds) == 1 or len(wanted_kinds) == 1:
        return kinds[0][1] if len(kinds) == 1 else wanted_kinds[0]
    names = [[sources[k].name for k in own] for _, own in kinds]
    description = "; or ".join(
        f"{format_list(files[:3], len(files))} with columns {format_list(sorted(columns))}"
        for (columns, _), files in zip(kinds[:3], names, strict=False)
    )
    raise DataError(
        given,
        "must hold tables of one kind",
        got=description,
        fix=(f"Name those that have the choices by a pattern, such as {_pattern(names[0])!r}."),
    )


def _pattern(files: Sequence[str]) -> str:
    """A pattern that these files match: their task, or what their names begin and end with."""
    inside = Path(os.path.commonpath([str(Path(file).parent) for file in files]))
    names = [Path(file).name for file in files]
    task = re.search(r"task-[A-Za-z0-9]+", names[0])
    deep = "**/" if any(Path(file).parent != inside for file in files) else ""
    if task is not None:
        return str(inside / f"{deep}*{task[0]}*")
    if len(names) == 1:
        return files[0]
    shared = takewhile(lambda letters: len({*letters}) == 1, zip(*names, strict=False))
    start = "".join(letters[0] for letters in shared)
    return str(inside / f"{deep}{start}*{Path(names[0]).suffix}")


def _columns_from_names(files: Sequence[Path], tables: Sequence[pa.Table]) -> list[dict[str, str]]:
    """Columns that the names of files and folders add, for each file, beside its own columns."""
    columns = {name.lower() for table in tables for name in table.column_names}
    found = []
    for file in files:
        above = _KEYWORD.findall(f"{file.parent.parent.name}_{file.parent.name}")
        words = [pair for pair in above if pair[0] in _FOLDER_KEYWORDS] + _KEYWORD.findall(
            file.stem
        )
        values = {_KEYWORD_COLUMNS.get(key, key): value for key, value in words}
        found.append({key: value for key, value in values.items() if key.lower() not in columns})
    every = set.intersection(*({*values} for values in found))
    common = [{key: value for key, value in values.items() if key in every} for values in found]
    alone = len({file.stem for file in files}) == len(files)
    stems = [file.stem if alone else f"{file.parent.name}/{file.stem}" for file in files]
    named = [values | {FILE_COLUMN: stem} for values, stem in zip(common, stems, strict=True)]
    folders = Counter(file.parent for file in files)
    if FOLDER_COLUMN not in columns and 1 < len(folders) < len(files) and min(folders.values()) > 1:
        named = [
            values | {FOLDER_COLUMN: file.parent.name}
            for values, file in zip(named, files, strict=True)
        ]
    return named if FILE_COLUMN not in columns and len(files) > 1 else common


def _join_people(table: pa.Table, people: pa.Table) -> tuple[pa.Table, list[str]]:
    """Join a table of participants by subject; return the table, and notes on the join."""
    shared = [name for name in people.column_names if name in table.column_names]
    pairs = [(name, name) for name in shared]
    pairs += [
        (key_column, "subject")
        for key_column in people.column_names
        if key_column.lower() in _SUBJECT_COLUMNS
    ]
    pairs += [
        (key_column, FILE_COLUMN)
        for key_column in people.column_names
        if key_column.lower() in _SUBJECT_COLUMNS
    ]
    for key_column, name in pairs:
        if name not in table.column_names:
            continue
        for key_of in (_without_bids_prefix, _normalized_subject):
            keys = [key_of(key) for key in people[key_column].to_pylist()]
            place = {key: k for k, key in enumerate(keys)}
            rows = [place.get(key_of(key)) for key in table[name].to_pylist()]
            if len(place) == len(keys) and any(row is not None for row in rows):
                return _add_people_columns(table, people, key_column, rows), _unknown_subjects_note(
                    table[name], rows
                )
    return table, [f"names none of the subjects in {', '.join(dict.fromkeys(n for _, n in pairs))}"]


def _add_people_columns(
    table: pa.Table, people: pa.Table, key_column: str, rows: Sequence[int | None]
) -> pa.Table:
    for more in people.column_names:
        if more not in table.column_names and more != key_column:
            table = table.append_column(more, people[more].take(pa.array(rows, pa.int64())))
    return table


def _unknown_subjects_note(names: pa.ChunkedArray, rows: Sequence[int | None]) -> list[str]:
    pairs = zip(names.to_pylist(), rows, strict=True)
    left = dict.fromkeys(str(name) for name, row in pairs if row is None)
    return [f"says nothing of {format_list(left)}"] if left else []


def _normalized_subject(key: Any) -> str:
    """The name of a subject in one spelling, however it is written: SUB-P07, p07 and p7."""
    return re.sub(r"(?<=\D)0+(?=\d)|^0+(?=\d)", "", _without_bids_prefix(str(key).strip().lower()))


def _without_bids_prefix(key: Any) -> str:
    """The name of a subject without BIDS's prefix: sub-07 and 07 are one."""
    return re.sub(r"^(?:sub|subject|participant)-", "", str(key))


def _add_constant_columns(table: pa.Table, constants: Mapping[str, str]) -> pa.Table:
    for name, value in constants.items():
        table = table.append_column(name, pa.array([value] * len(table), pa.string()))
    return table


def concatenate_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate tables by rows: columns that one lacks are empty there, types made the same.

    >>> concatenate_tables([pa.table({"a": [1]}), pa.table({"a": ["x"], "b": [2.5]})]).to_pylist()
    [{'a': '1', 'b': None}, {'a': 'x', 'b': 2.5}]
    """
    names = dict.fromkeys(name for table in tables for name in table.column_names)
    columns = {}
    for name in names:
        parts_found = [table[name] if name in table.column_names else None for table in tables]
        # A column without a value says nothing of its type.
        kinds = [
            part.type for part in parts_found if part is not None and part.null_count < len(part)
        ]
        kind = common_type(kinds or [pa.float64()])
        parts = [
            pa.nulls(len(table), kind)
            if part is None or part.null_count == len(part)
            else part.cast(kind)
            for table, part in zip(tables, parts_found, strict=True)
        ]
        chunks = [c for part in parts for c in getattr(part, "chunks", [part])]
        columns[name] = pa.chunked_array(chunks, kind)
    return pa.table(columns)
