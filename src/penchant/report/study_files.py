"""A study in a folder: tables, figures, and the report."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import pyarrow as pa

from penchant._typing import FilePath
from penchant.argument_checks import check_one_of
from penchant.errors import DataError, MarkedText, format_for_python, mark_argument, text_with_marks
from penchant.figures import inline_svg, save
from penchant.figures.style import panel_view_boxes
from penchant.files.atomic_files import lock_file
from penchant.files.output import (
    document_field,
    read_document,
    read_json,
    write_json,
    write_table,
    write_text,
)
from penchant.report.page import Drawing
from penchant.report.study_figures import Drawn, study_figures
from penchant.report.study_page import study_page
from penchant.report.study_population import population_figures
from penchant.studies.findings import TABLES, Findings
from penchant.studies.plan import describe_changes

FORMAT, VERSION = "penchant-study", 1
SETTINGS, PARTS = "study.json", "parts"


class StudyFolder:
    """Storage of the parts of a study in a folder, for one process at a time.

    Nothing is written before `begin`. Use it in a `with` statement.

    Parameters
    ----------
    path
        The folder; made where there is none.
    resume
        Go on with what is there. Without, the folder must be new or empty.
    """

    def __init__(self, path: FilePath, *, resume: bool = False) -> None:
        self.path = Path(path).expanduser()
        self.resume = resume
        self._locks = ExitStack()
        self._check()

    def _check(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise DataError(
                "output",
                "must be a folder",
                got=f"{self.path}, a file",
                fix="Choose another name.",
            )
        if not self.path.parent.is_dir():
            raise DataError(
                "output",
                "must lie in an existing directory",
                got=f"{self.path}, but {self.path.parent} is none",
                fix="Create it first.",
            )
        if not self._holds_something():
            return
        if not self.resume:
            raise DataError(
                "output",
                "must not exist, or be empty",
                got=f"{self.path}, which holds files",
                fix=(
                    f"Choose another name, or pass {mark_argument('resume')} to go on with the "
                    "study that was begun there."
                ),
            )
        if not (self.path / SETTINGS).is_file():
            raise DataError(
                "output",
                "must be the folder of a study to resume it",
                got=f"{self.path}, which has no {SETTINGS}",
                fix="Choose another name.",
            )

    def _holds_something(self) -> bool:
        """Whether the folder holds more than a study that was stopped before its first part."""
        if not self.path.is_dir():
            return False
        return any(not self._is_empty_start(path) for path in self.path.iterdir())

    def _is_empty_start(self, path: Path) -> bool:
        if path.name == PARTS:
            return path.is_dir() and not any(path.iterdir())
        return path.name.startswith(f".{SETTINGS}.")

    def begin(self, fingerprint: dict[str, Any]) -> None:
        """Make the folder, or check that it holds the same study; lock it for this process."""
        try:
            (self.path / PARTS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(
                "output",
                "must be a folder that can be written to",
                got=f"{self.path}: {error.strerror}",
                fix="Choose another place.",
            ) from None
        self._locks.enter_context(lock_file(self.path / SETTINGS))
        self._tidy()
        file = self.path / SETTINGS
        if not file.exists():
            head = {"format": FORMAT, "version": VERSION}
            write_json(file, head | {"fingerprint": fingerprint}, overwrite=False)
            return
        before = read_document(file, FORMAT, version=VERSION)
        differs = describe_changes(
            document_field(before, "fingerprint", dict, str(file)), fingerprint
        )
        if differs:
            raise DataError(
                "resume",
                f"must go on with the data and settings that {self.path} was begun with",
                got="; ".join(differs),
                fix="Give the same, or choose another folder.",
            )

    def _tidy(self) -> None:
        """Remove half-written files of a process that was killed; none else works here now."""
        for left in self.path.rglob(".*.tmp"):
            with suppress(OSError):
                left.unlink()

    def read(self, name: str) -> Any | None:
        """Read the document stored under this name; None if there is none."""
        file = self._file(name)
        return read_json(file) if file.exists() else None

    def store(self, name: str, document: Any) -> None:
        """Store a document, whole or not at all, with the argument marks of its sentences."""
        write_json(self._file(name), _with_marks(document), overwrite=False)

    @property
    def n_stored(self) -> int:
        """Number of parts of the work that are stored."""
        return len(list((self.path / PARTS).glob("*.json")))

    def _file(self, name: str) -> Path:
        return self.path / PARTS / f"{name}.json"

    def __enter__(self) -> StudyFolder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._locks.close()


REPORT = "report.html"
Figures = Literal["both", "svg", "none"]
TABLE_KINDS = (".csv", ".parquet")
XML = '<?xml version="1.0" encoding="UTF-8"?>'


def write_study(
    study: Findings,
    folder: FilePath,
    *,
    title: str = "A study of choices",
    command: str | None = None,
    figures: Figures = "both",
    overwrite: bool = False,
    words: Callable[[str], str] = format_for_python,
) -> Path:
    """Write the tables, the figures and the report of a study; see `Study.write`."""
    place = Path(folder).expanduser()
    check_one_of(figures, "figures", ("both", "svg", "none"))
    if not overwrite and (place / REPORT).exists():
        raise DataError(
            "folder",
            "must not hold a report",
            got=f"{place}, which does",
            fix=f"Choose another, or pass {mark_argument('overwrite')}.",
        )
    _write_tables(study, place / "tables", overwrite, words)
    drawn = [] if figures == "none" else [*study_figures(study), *population_figures(study)]
    drawings = [
        _write_figure(one, place / "figures", figures == "both", overwrite) for one in drawn
    ]
    text = study_page(study, drawings, title=title, command=command, words=words)
    write_text(place / REPORT, text, overwrite=overwrite)
    return place / REPORT


def _with_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_marks(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_marks(one) for one in value]
    return text_with_marks(value) if isinstance(value, str) else value


def _write_tables(
    study: Findings, folder: Path, overwrite: bool, words: Callable[[str], str]
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        columns = study.columns(name)
        if columns:
            table = pa.table(
                {
                    column: [
                        words(cell) if isinstance(cell, MarkedText) else cell for cell in cells
                    ]
                    if column == "message"
                    else cells
                    for column, cells in columns.items()
                }
            )
            for kind in TABLE_KINDS:
                write_table(folder / f"{name}{kind}", table, overwrite=overwrite)


def _write_figure(drawn: Drawn, folder: Path, pdf: bool, overwrite: bool) -> Drawing:
    """Write a figure, and return it as a drawing for the report."""
    folder.mkdir(parents=True, exist_ok=True)
    svg = inline_svg(drawn.figure, drawn.title, drawn.caption)
    places = panel_view_boxes(drawn.figure)
    write_text(folder / f"{drawn.name}.svg", f"{XML}\n{svg}\n", overwrite=overwrite)
    if pdf:
        drawn.figure.set_layout_engine("none")  # the places are found: keep them
        save(drawn.figure, folder / f"{drawn.name}.pdf", overwrite=overwrite)
    return Drawing(drawn.name, drawn.title, drawn.caption, svg, places)
