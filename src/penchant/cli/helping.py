"""The first screen of help: what a command is for, an example, and its usual options."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

WIDTH = 80
ALL = "--help-all"
_TABLE = ("where", "subject", "chosen", "reward")
# The options that most uses of a command need.
USUAL: Mapping[str, Sequence[str]] = {
    "fit": ("example", *_TABLE, "model", "options", "prior", "intervals", "json", "output"),
    "check": ("example", *_TABLE, "model", "json"),
    "study": (*_TABLE, "condition", "model", "options", "seed", "output", "resume"),
    "population": (*_TABLE, "model", "covariates", "people", "subjects", "json", "output"),
    "compare": (*_TABLE, "model", "folds", "criterion", "json", "figure", "output"),
    "predict": (*_TABLE, "model", "prior", "all_options", "check", "figure", "output"),
}
EXAMPLES: Mapping[str, Sequence[str]] = {
    "fit": (
        "penchant fit --example travel-mode",
        "penchant fit play.csv --model q-learning --output fits.csv",
        "penchant fit delays.csv --model hyperbolic --where \"phase == 'test'\"",
    ),
    "check": ("penchant check play.csv",),
    "study": ("penchant study play.csv --model q-learning --condition group --output results",),
    "population": ("penchant population play.csv --model q-learning --covariates group",),
    "compare": ("penchant compare play.csv --model q-learning --model random --folds 5",),
    "predict": ("penchant predict play.csv --model q-learning --output trials.csv",),
}


def first_screen(app: Any, command: str) -> str:
    """What `penchant COMMAND --help` prints.

    Parameters
    ----------
    app
        All commands.
    command
        One that has more options than fit on a screen.
    """
    options = {}
    for argument in app[command].assemble_argument_collection(parse_docstring=True):
        if not argument.children and argument.parameter.help:
            options[argument.name.removeprefix("--").replace("-", "_")] = argument
    what = (app[command].help or "").strip().split("\n\n")[0]
    lines = [f"Usage: penchant {command} FILE [OPTIONS]", "", *textwrap.wrap(what, WIDTH), ""]
    lines += ["Examples:", *(f"  {example}" for example in EXAMPLES[command]), ""]
    lines.append("Usual options:")
    for name in USUAL[command]:
        if name in options:
            lines += _lines(options[name].name, str(options[name].parameter.help))
    more = f"All {len(options)} options, by topic: penchant {command} {ALL}"
    return "\n".join([*lines, "", "FILE is a table or a folder of tables; - reads stdin.", more])


def _lines(name: str, what: str) -> list[str]:
    """An option and its first sentence, in two columns."""
    sentence = " ".join(what.split()).split(". ")[0].rstrip(".") + "."
    return textwrap.wrap(
        sentence,
        WIDTH,
        initial_indent=f"  {name:<14}",
        subsequent_indent=" " * 16,
        break_on_hyphens=False,
    )
