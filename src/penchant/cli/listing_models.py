"""What `models` prints: the catalogue, or one model of it."""

from __future__ import annotations

import textwrap
from typing import Any

from penchant.cli.settings import TAKEN
from penchant.files.output import json_text
from penchant.models.catalogue import CATALOGUE, HBAYESDM, Entry, entry_of
from penchant.models.model import natural_parameters
from penchant.reading.tasks import NamedTask, task_named

WIDTH = 80
TITLES = {
    "play": "Task data: choices and rewards, trial after trial",
    "offers": "One-shot choices among offers: amounts, delays, probabilities",
}


def run_models(name: str | None, json: bool, task: str | None = None) -> int:
    """Print all models, or one, or what a task is; the exit code."""
    if task is not None:
        print(task_words(task_named(task)))
        return 0
    if name in HBAYESDM:
        print(counterpart_words(name))
        return 0
    if json:
        found = [document(entry) for entry in CATALOGUE.values()]
        print(json_text(found if name is None else document(entry_of(name))), end="")
    else:
        print(table() if name is None else description(entry_of(name)))
    return 0


def task_words(task: NamedTask) -> str:
    """A task: its columns, how codes are read, its model."""
    lines = [
        f"{task.name}: {task.what}",
        f"Columns: {', '.join(task.columns)}; subjID, block and trial where there are.",
        f"Codes: {task.codes}.",
        f"Model: --model {task.command}; in Python pn.{task.call}.",
        f"Next: penchant fit FILE --task {task.name}",
    ]
    return "\n".join(textwrap.fill(line, WIDTH, break_on_hyphens=False) for line in lines)


def counterpart_words(name: str) -> str:
    """What stands here for a function of hBayesDM."""
    found = HBAYESDM[name]
    if found.call is None:
        return f"{name} of hBayesDM has no counterpart: {found.said}."
    said = f" ({found.said})" if found.said else ""
    return (
        f"{name} of hBayesDM is pn.{found.call}{said}.\n"
        f"On the command line: --model {found.command}. Next: penchant models {found.command}"
    )


def document(entry: Entry) -> dict[str, Any]:
    """A model for JSON."""
    model = entry.example()
    return {
        "name": entry.name,
        "class": entry.model.__name__,
        "what": entry.what,
        "data": entry.data,
        "weights": list(model.weights),
        "shape": [
            {"name": s.name, "low": s.low, "high": s.high, "scale": s.scale} for s in model.shape
        ],
        "parameters": [n.name for n in natural_parameters(model)],
        "settings": [
            {"name": s.name, "default": _said(s.default), "what": s.what} for s in entry.settings
        ],
    }


def table() -> str:
    """All models: name, what, natural parameters."""
    header = ("name", "what: model parameters")
    rows = {kind: [_row(e) for e in CATALOGUE.values() if e.data == kind] for kind in TITLES}
    width = max(len(row[0]) for group in rows.values() for row in group) + 2
    lines = []
    for kind, title in TITLES.items():
        lines += [title, "", *(_line(row, width) for row in (header, *rows[kind])), ""]
    return "\n".join([*lines, "penchant models NAME says more of one."])


def _row(entry: Entry) -> tuple[str, str]:
    names = [natural.name for natural in natural_parameters(entry.example())]
    shown = names if len(names) < 6 else [f"{names[0]} ... {names[-1]}"]
    return entry.name, f"{entry.what}: {', '.join(shown)}"


def _line(row: tuple[str, str], width: int) -> str:
    """Name, and beside it what it is and the parameters on as many lines as they need."""
    left = row[0].ljust(width)
    return textwrap.fill(row[1], WIDTH, initial_indent=left, subsequent_indent=" " * width)


def _narrow(text: str) -> str:
    """Paragraphs of words as wide as the rest; what is indented stays as it is."""
    parts = text.split("\n\n")
    return "\n\n".join(
        part if "\n " in f"\n{part}" else textwrap.fill(" ".join(part.split()), WIDTH)
        for part in parts
    )


def description(entry: Entry) -> str:
    """One model: its equations, what it estimates, its settings."""
    model = entry.example()
    names = ", ".join(n.name for n in natural_parameters(model))
    settings = [
        textwrap.fill(
            f"  {s.name} = {_said(s.default)}: {s.what}{_option(entry, s.name)}",
            WIDTH,
            subsequent_indent=" " * 6,
        )
        for s in entry.settings
    ]
    parts = [
        f"{entry.name}: {entry.what} (penchant.{entry.model.__name__})",
        _narrow(entry.equations),
        textwrap.fill(f"Parameters: {names}.", WIDTH),
    ]
    if settings:
        head = "Settings (--settings NAME=VALUE,...; free: estimated; several numbers: 1/2/3):"
        parts.append("\n".join([head, *settings]))
    return "\n\n".join(parts)


def _option(entry: Entry, name: str) -> str:
    """The option of its own that a setting has, if any."""
    own = name in TAKEN.get(entry.name, set())
    return f" (--{name.replace('_', '-')})" if own else ""


def _said(value: Any) -> str:
    """A default as it is typed."""
    if value is None:
        return "free"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "/".join(map(_said, value)) or "none"
    return getattr(value, "name", None) or str(value)
