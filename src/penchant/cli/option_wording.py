"""Words of the command line for what the library says: options instead of arguments.

Errors, warnings and sentences of results mark the arguments that they name, and this module says
each as an option; `OPTIONS` has those that are not called like their argument.
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
OPTIONS: Mapping[str, str] = {
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
TYPED: Mapping[str, str] = {
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
SETTINGS = ("initial_value", "initial_mean", "prior_mean")


def option(name: str, value: str | None) -> str:
    """Word a marked argument as one types it.

    >>> option("length_scale", None), option("method", "'firth'"), option("base", "1")
    ('--length-scale', '--method firth', '--base 1')
    >>> option("parameter_prior", "ScaledPrior()"), option("block", "('session', 'run')")
    ('--prior weak', '--block session,run')
    """
    name = name.strip("`") if value is None and name[:1] == "`" and name.count("`") == 2 else name
    if value is None:
        return OPTIONS.get(name, _dashed(name))
    if f"{name}={value}" in TYPED:
        return TYPED[f"{name}={value}"]
    if name in SETTINGS:
        return f"--settings {name}={'free' if value == 'None' else value}"
    if name == "links":
        return f"--links {_typed_links(value)}"
    try:
        known = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return OPTIONS.get(name, _dashed(name))
    if name == "keep":
        return f"--where {quoted(known)}"
    words = _typed(known)
    between = "=" if words[:1] == "-" else " "  # or it would be taken for an option
    return f"{OPTIONS.get(name, _dashed(name))}{between}{shlex.quote(words)}"


def _dashed(name: str) -> str:
    """The option of an argument; what stands in capitals, as FILE, is no option."""
    return f"--{name.replace('_', '-')}" if name.isidentifier() and not name.isupper() else name


def _typed(value: Any, separators: str = ",/+") -> str:
    """A value as options take it: lists by commas, inside pairs NAME=VALUE by slashes."""
    if isinstance(value, dict):
        pairs = (f"{name}={_typed(cells, separators[1:])}" for name, cells in value.items())
        return separators[0].join(pairs)
    if isinstance(value, (list, tuple)):
        return separators[0].join(_typed(cell, separators[1:]) for cell in value)
    return str(value)


def _typed_links(value: str) -> str:
    """Links of parameters, those with limits by LOW..HIGH."""
    name, _, link = value.strip("{}").partition(": ")
    name = name.strip("'")
    return f"{name}=LOW..HIGH" if link.startswith("(") else f"{name}={link.strip(chr(39))}"


def quoted(word: str) -> str:
    """A word as a shell takes it, in quotes that are easy to read.

    >>> print(quoted("stage != 'training'"))
    "stage != 'training'"
    """
    recalls = re.search(r"!(?![=\s(])", word)  # what a shell would take from its history
    if "'" in word and not set(word) & set('"$`\\') and not recalls:
        return f'"{word}"'
    return shlex.quote(word)


def in_options(text: str) -> str:
    """Word a text of the library for who types commands."""
    return word_marked_arguments(text, option)


def error_words(error: DataError, options: Collection[str] = ()) -> str:
    """Word an error for who types commands.

    Parameters
    ----------
    error
        The error.
    options
        Names of the options there are: another argument keeps its name. Any is one if not given.
    """
    words, typed = error.worded_message(in_options), f"--{error.argument.replace('_', '-')}"
    if options and words.startswith(f"{typed} ") and typed not in options:
        return f"{error.argument}{words.removeprefix(typed)}"
    return words


MAX_DEPTH = 6  # of results inside results: a study holds fits that hold estimates


def results_in_options(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Return a result, or what holds results, with every sentence in the words of commands.

    What holds no sentence is returned as it is, not copied.
    """
    if isinstance(value, MarkedText):
        return in_options(value)
    if not depth or isinstance(value, type):
        return value
    if isinstance(value, dict):
        return _changed(
            value, list(value.values()), lambda new: dict(zip(value, new, strict=True)), depth
        )
    if type(value) in (list, tuple):
        return _changed(value, value, type(value), depth)
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

    return _changed(value, [getattr(value, name) for name in known], copied, depth)


def _changed(whole: Any, parts: Sequence[Any], made: Callable[[Any], Any], depth: int) -> Any:
    new = [results_in_options(part, depth - 1) for part in parts]
    same = all(after is before for after, before in zip(new, parts, strict=True))
    return whole if same else made(new)
