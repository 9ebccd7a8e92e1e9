"""Options that would have no effect are refused, never ignored."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields
from typing import Any

from penchant.errors import DataError


def refuse(
    options: Any, where: str, advice: str = "Leave it out", names: Collection[str] | None = None
) -> None:
    """Raise an error if one of these options is given.

    Parameters
    ----------
    options
        A group of options, all of which have a default.
    where
        In which case they mean nothing, such as "with --model".
    advice
        What to do.
    names
        Which options of the group; all if not given.
    """
    usual = type(options)()
    for field in fields(options):
        value = getattr(options, field.name)
        if (names is None or field.name in names) and value != getattr(usual, field.name):
            option = "--" + field.name.replace("_", "-")
            raise DataError(f"{option} must be left out {where}; got {_said(value)}. {advice}.")


def _said(value: Any) -> str:
    if value is True:
        return "it"
    return ",".join(value) if isinstance(value, list) else str(value)
