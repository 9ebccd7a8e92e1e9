"""Folders of `penchant export`: what they say of the task, as if it had been typed."""

from __future__ import annotations

import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

from penchant.cli.options import Agent
from penchant.cli.words import say
from penchant.cli.workflow_options import Compared, Played
from penchant.errors import DataError
from penchant.files.folder import TABLES

TASK = "task.toml"
Options = TypeVar("Options", Agent, Compared, Played)


def is_task(file: str) -> bool:
    """Whether FILE is a folder of `penchant export`, or a task file of one.

    Any other folder with tables is one of files as laboratories have them.
    """
    path = Path(file)
    if path.is_dir():
        return (path / TASK).exists() or not any(
            found.suffix.lower() in TABLES for found in path.rglob("*")
        )
    return path.suffix == ".toml" and path.is_file()


def with_task(
    file: str, table: Played, compared: Compared, agent: Agent
) -> tuple[str, Played, Compared, Agent]:
    """The table that a task file names, and its settings where no others were typed."""
    task = Path(file) / TASK if Path(file).is_dir() else Path(file)
    try:
        settings = tomllib.loads(task.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(
            f"FILE must be a table, or a folder of penchant export; got {file}, a folder without "
            f"{TASK}. Name a file."
        ) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(
            f"FILE must be a task file of penchant export; got {task}: {error}. Export again."
        ) from None
    if not isinstance(settings.get("table"), str):
        raise DataError(f"FILE must name its table; got none in {task}. Export again.")
    folder = task.parent
    if agent.model is not None and agent.model != settings.get("model"):  # another model is typed
        settings = {key: settings[key] for key in settings if key in _OF_TASK or key == "offers"}
    if "landscape" in settings:
        settings["landscape"] = str(folder / settings["landscape"])
    others = sorted(path.name for path in folder.glob("task-*.toml"))
    if others:
        say(f"Task: {task}; the study has others, too: {', '.join(others)}.")
    return (
        str(folder / settings["table"]),
        _filled(table, settings),
        _filled(compared, settings),
        _filled(agent, settings),
    )


_OF_TASK = {"table", "condition", "landscape", "landscape_by"}


def _filled(options: Options, settings: dict[str, Any]) -> Options:
    """Options with the settings of the task where they are as nobody typed them."""
    plain = type(options)()
    added = {
        field.name: settings[field.name]
        for field in fields(options)
        if field.name in settings and getattr(options, field.name) == getattr(plain, field.name)
    }
    return replace(options, **added)
