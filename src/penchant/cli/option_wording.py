"""Messages of the library in words of the command line: options instead of arguments.

Errors, warnings and sentences of results mark the arguments that they name, and this module says
each as an option; `OPTION_NAMES` has those that are not called like their argument.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from penchant.errors import DataError, MarkedText, word_marked_arguments

# Options that are not called like the argument of Python.
OPTION_NAMES: Mapping[str, str] = {
    "bound": "The bound of --constraint",
    "c": "--prior weak:C",
    "cluster": "--subject",
    "constraints": "--constraint",
    "covariance": "The variance of --prior normal:MEAN,SD",
    "data": "FILE",
    "frame": "The table",
    "keep": "--where",
    "name": "--example",
    "parameter_prior": "--prior",
    "path": "FILE",
    "stdin": "stdin",
    "reference": "--constants",
    "the profile intervals": "--intervals profile",
}
# Arguments with a value that are typed in another way, by how Python writes both.
TYPED_ARGUMENTS: Mapping[str, str] = {
    "covariance='robust'": "--covariance robust",
    "kind='calibrated'": "--intervals calibrated",
    "kind='profile'": "--intervals profile",
    "kind='wald'": "--intervals wald",
    "locations=grid(10, 10)": "--grid 10x10",
    "missing='drop_set'": "--missing drop-set",
    "options=[...]": "--options",
    "parameter_prior=ScaledPrior()": "--prior weak",
    "parameter_prior=ScaledPrior(0.03)": "--prior weak:0.03",
    "people=table": "--people people.csv",
    "random=[...]": "--random NAMES",
}
# Settings of a model, which have one option together.
SETTING_ARGUMENTS = ("initial_value", "initial_mean", "prior_mean")


def option_text(name: str, value: str | None) -> str:
    """Word a marked argument as one types it.

    >>> option_text("length_scale", None), option_text("method", "'firth'"), option_text("base",
    "1") ('--length-scale', '--method firth', '--base 1')
    >>> option_text("parameter_prior", "ScaledPrior()"), option_text("block", "('session', 'run')")
    ('--prior weak', '--block session,run')
    """
    name = name.strip("`") if value is None and name[:1] == "`" and name.count("`") == 2 else name
    if value is None:
        return OPTION_NAMES.get(name, _option_name(name))
    if f"{name}={value}" in TYPED_ARGUMENTS:
        return TYPED_ARGUMENTS[f"{name}={value}"]
    if name in SETTING_ARGUMENTS:
        return f"--settings {name}={'free' if value == 'None' else value}"
    if name == "links":
        return f"--links {_typed_links(value)}"
    try:
        known = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return OPTION_NAMES.get(name, _option_name(name))
    if name == "keep":
        return f"--where {quote_for_shell(known)}"
    words = _typed_value(known)
    between = "=" if words[:1] == "-" else " "  # or it would be taken for an option
    return f"{OPTION_NAMES.get(name, _option_name(name))}{between}{shlex.quote(words)}"


def _option_name(name: str) -> str:
    """Name of the option of an argument; a name in capitals, as FILE, is no option."""
    return f"--{name.replace('_', '-')}" if name.isidentifier() and not name.isupper() else name


def _typed_value(value: Any, separators: str = ",/+") -> str:
    """Value as options take it: lists by commas, inside pairs NAME=VALUE by slashes."""
    if isinstance(value, dict):
        pairs = (f"{name}={_typed_value(cells, separators[1:])}" for name, cells in value.items())
        return separators[0].join(pairs)
    if isinstance(value, (list, tuple)):
        return separators[0].join(_typed_value(cell, separators[1:]) for cell in value)
    return str(value)


def _typed_links(value: str) -> str:
    """Links of parameters as options take them; those with limits are LOW..HIGH."""
    name, _, link = value.strip("{}").partition(": ")
    name = name.strip("'")
    return f"{name}=LOW..HIGH" if link.startswith("(") else f"{name}={link.strip(chr(39))}"


def quote_for_shell(word: str) -> str:
    """Quote a word for a shell, in quotes that are easy to read.

    >>> print(quote_for_shell("stage != 'training'"))
    "stage != 'training'"
    """
    recalls = re.search(r"!(?![=\s(])", word)  # what a shell would take from its history
    if "'" in word and not set(word) & set('"$`\\') and not recalls:
        return f'"{word}"'
    return shlex.quote(word)


def word_as_options(text: str) -> str:
    """Replace the marked arguments of a text by options of the command line."""
    return word_marked_arguments(text, option_text)


def error_text(error: DataError, options: Collection[str] = ()) -> str:
    """Word an error in options of the command line.

    Parameters
    ----------
    error
        The error.
    options
        Names of the options there are: another argument keeps its name. Any is one if not given.
    """
    words, typed = error.worded_message(word_as_options), f"--{error.argument.replace('_', '-')}"
    if options and words.startswith(f"{typed} ") and typed not in options:
        return f"{error.argument}{words.removeprefix(typed)}"
    return words


MAX_DEPTH = 6  # of results inside results: a study holds fits that hold estimates


def word_results_as_options(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Replace the marked arguments in every text inside a result by options.

    What holds no sentence is returned as it is, not copied.
    """
    if isinstance(value, MarkedText):
        return word_as_options(value)
    if not depth or isinstance(value, type):
        return value
    if isinstance(value, dict):
        return _rebuild_if_changed(
            value, list(value.values()), lambda new: dict(zip(value, new, strict=True)), depth
        )
    if type(value) in (list, tuple):
        return _rebuild_if_changed(value, value, type(value), depth)
    if not is_dataclass(value):
        return value
    # A source holds data and models, which say nothing; it may be large.
    names = [field.name for field in fields(value) if field.name != "source"]
    known = [name for name in names if hasattr(value, name)]

    def copied(new: Iterable[Any]) -> Any:
        made = object.__new__(type(value))  # `copy` would leave out what is not stored, as data
        for name in vars(value):
            object.__setattr__(made, name, vars(value)[name])
        for name, one in zip(known, new, strict=True):
            object.__setattr__(made, name, one)
        return made

    return _rebuild_if_changed(value, [getattr(value, name) for name in known], copied, depth)


def _rebuild_if_changed(
    whole: Any, parts: Sequence[Any], made: Callable[[Any], Any], depth: int
) -> Any:
    new = [word_results_as_options(part, depth - 1) for part in parts]
    same = all(after is before for after, before in zip(new, parts, strict=True))
    return whole if same else made(new)
