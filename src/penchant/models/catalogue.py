"""Catalogue of the models: by their names here, and by their names in hBayesDM.

Each is a call after `pn.`, or a sentence on why there is none. Lapses are left out throughout.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from importlib.resources import files
from inspect import getdoc
from typing import Any, Literal, NamedTuple

from penchant import models
from penchant.argument_checks import check_one_of
from penchant.bandit.landscape import grid
from penchant.models.model import Declared


class Counterpart(NamedTuple):
    """Model of Penchant that corresponds to a function of hBayesDM.

    Attributes
    ----------
    call
        The model, after `pn.`; None where there is none.
    said
        What to know, or why there is none.
    """

    call: str | None = None
    said: str = ""

    @property
    def command(self) -> str | None:
        """Its name on the command line."""
        kind = (self.call or "").removeprefix("models.").partition("(")[0]
        return next((name for name, own in models.MODELS.items() if own == kind), None)


def _hbayesdm() -> dict[str, Counterpart]:
    text = (files("penchant.models") / "hbayesdm.toml").read_text(encoding="utf-8")
    return {name: Counterpart(**found) for name, found in tomllib.loads(text).items()}


HBAYESDM = _hbayesdm()
REQUIRED = "must be given"
# said by the data, the task, or the model
NO_SETTINGS = ("n_options", "locations", "shape", "because")


@dataclass(frozen=True)
class Setting:
    """An argument of a model: what it is, and its value if it is not given, or REQUIRED."""

    name: str
    default: Any
    description: str


@dataclass(frozen=True)
class Entry:
    """A model of the catalogue: what it is called on the command line, and its class."""

    name: str
    model: type

    @property
    def description(self) -> str:
        """Short description of the model: its `in_brief`."""
        return str(vars(self.model)["in_brief"])

    @property
    def data(self) -> Literal["play", "offers"]:
        """Task data, or one-shot choices among options described by their attributes."""
        return "offers" if Declared(self.model).attributes else "play"

    def example(self) -> Any:
        """A plain model of this kind, with two options where that is to be said."""
        names = {setting.name for setting in fields(self.model) if setting.init}
        filled: dict[str, Any] = {"n_options": 2} if "n_options" in names else {}
        filled |= {"locations": grid(2, 1)} if "locations" in names else {}
        return self.model(**{**filled, **vars(self.model).get("example", {})})

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Arguments beside the number and the places of options."""
        words = described_parameters(getdoc(self.model) or "")
        return tuple(
            Setting(f.name, REQUIRED if f.default is MISSING else f.default, words.get(f.name, ""))
            for f in fields(self.model)
            if f.init and not f.name.startswith("_") and f.name not in NO_SETTINGS
        )

    @property
    def equations(self) -> str:
        """Equations of the model: the docstring of its module."""
        return (sys.modules[self.model.__module__].__doc__ or "").strip()


class Catalogue(Mapping[str, Entry]):
    """Models by name, as `penchant.models` lists them."""

    def __getitem__(self, name: str) -> Entry:
        return Entry(name, getattr(models, models.MODELS[name]))

    def __iter__(self) -> Iterator[str]:
        return iter(models.MODELS)

    def __len__(self) -> int:
        return len(models.MODELS)


CATALOGUE = Catalogue()


def entry_of(name: str) -> Entry:
    """The model of this name."""
    check_one_of(name, "model", CATALOGUE)
    return CATALOGUE[name]


def described_parameters(docstring: str) -> dict[str, str]:
    """Parse the section "Parameters" of a numpydoc docstring: {name: description}."""
    _, _, after = docstring.partition("Parameters\n----------\n")
    section = re.split(r"\n\n\S+\n-+\n", after)[0]
    found: dict[str, str] = {}
    names: list[str] = []
    for line in section.splitlines():
        if line and not line.startswith(" "):
            names = [name.strip() for name in line.split(",")]
        elif line.strip():
            for name in names:
                found[name] = f"{found.get(name, '')} {line.strip()}".strip()
    return found
