"""What the person at the terminal reads, and usage refused before anything is read."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Collection
from contextlib import suppress
from dataclasses import fields
from typing import Any

from penchant.errors import DataError

WIDTH = 100

# What the library's functions call things, and what one types instead.
_TYPED = {
    "parameter_prior=ScaledPrior()": "--prior weak",
    "use ExpectedUtility, or ProspectValue(losses=False)": (
        "use --model expected-utility, or --settings losses=false"
    ),
    "give a parameter_prior": "use --prior weak",
    "a parameter_prior or constraints": "--prior or --constraint",
    "a parameter_prior": "--prior weak",
    "kind='profile'": "--intervals profile",
    "kind='calibrated'": "--intervals calibrated",
    "read the profile intervals": "read --intervals profile",
    "Read the profile intervals": "Read --intervals profile",
    "Read the profile interval": "Read --intervals profile",
    "widen the range, or hold it fixed": "or hold it fixed (--settings, --length-scale)",
    "Re-linearise with relinearize, or use the exact fit": (
        "Linearise about another prior, or leave --linearized out"
    ),
    "re-linearise or use the exact fit": (
        "linearise about another prior, or leave --linearized out"
    ),
    "and add the rows that are missing, with an empty choice": (
        "add the rows that are missing with an empty choice, or pass --decision none if the rows "
        "are in order of time"
    ),
    "Check is_choice and scored": "Check --is-choice and --scored",
    "`is_choice`": "--is-choice",
    "With a table, missing_reward=": "missing_reward=",
    "pass base=1": "pass --base 1",
    "leave base out": "leave --base out",
    'Write offers={"amount": ["now", "later"], "delay": [0, "days"]}': (
        "Write --offers amount=now/later,delay=0/days"
    ),
    "Write offers={'outcome': [[...], [...]], 'probability': [[1, 0], ['p_gain', 'p_loss']]}": (
        "Write --offers outcome=sure+0/gain+loss,probability=1+0/p_gain+p_loss"
    ),
    "Pass options=[...] with": "Pass --options with",
    "pass options=[-1, 1]": "pass --options=-1,1",
    "pass resume": "pass --resume",
    "locations=grid(10, 10)": "--grid 10x10",
    "with max_steps": "with --max-steps",
    "max_steps must": "--max-steps must",
    "pass decimal=',' when reading the table": "pass decimal=','",
    "missing='drop_set'": "--missing drop-set",
    "pass overwrite": "pass --overwrite",
    "pass the delimiter": "pass --delimiter",
    "Pass the delimiter": "Pass the --delimiter",
    "pass another delimiter": "pass another --delimiter",
    "Pass the encoding": "Pass the --encoding",
    " or 'latin-1'": " or latin-1",
    " or 'utf-16-be'": " or utf-16-be",
    "; fit_each fits each": "; leave out --pool, or --covariance clustered, to fit each",
    "; fit_linearized_each fits each": "; leave out --pool to fit each",
    "Use robust()": "Use --covariance robust",
    "Pass one label per decision": "Name its column with --subject",
    "Pass `values`, one per decision": "Give it one value per decision",
    "Give an array of labels, or choices with a subject": "Name its column with --subject",
}
_SUBJECTS = {
    "path": "FILE",
    "stdin": "stdin",
    "frame": "The table",
    "name": "--example",
    "reference": "--constants",
    "cluster": "--subject",
    "c": "--prior weak:C",
    "covariance": "The variance of --prior normal:MEAN,SD",
    "constraints": "--constraint",
    "bound": "The bound of --constraint",
    "locations": "--locations",
    "noise_variance": "--noise-variance",
    "length_scale": "--length-scale",
    "resume": "--resume",
    "only": "--only",
    "replicates": "--replicates",
    "seed": "--seed",
    "shown": "--shown",
    "payoff_noise": "--payoff-noise",
    "payoffs": "--payoffs",
}
_OPTIONS = (
    "output|level|threads|delimiter|decimal|encoding|decision|option|chosen|explanatory|subject"
    "|weight|available|offset|options|method|prior|missing|reward|block|scored|gaps|condition"
    "|expected|landscape|payoffs"
)
_USAGE = "output|level|threads|delimiter|decimal|encoding|options"


def say(words: str) -> None:
    """Words for the person at the terminal, on stderr."""
    if sys.stderr is None:
        return
    with suppress(OSError):  # nobody reads them; the result matters more
        if sys.stderr.isatty():  # whole words; a pipe gets one line, for programs
            words = wrapped(words, min(shutil.get_terminal_size().columns, WIDTH))
        print(words, file=sys.stderr)


def wrapped(words: str, width: int = WIDTH) -> str:
    """Long lines broken between words, never inside an option or the name of a file.

    >>> print(wrapped("Use --method firth or --prior weak.", 24))
    Use --method firth or
    --prior weak.
    """
    lines = [
        textwrap.fill(line, width, break_on_hyphens=False, break_long_words=False)
        for line in words.split("\n")
    ]
    return "\n".join(lines)


def on_command_line(message: str) -> str:
    """Advice of the library, in the words of the command line.

    >>> on_command_line("Fill it, or pass missing='drop_set'.")
    'Fill it, or pass --missing drop-set.'
    >>> on_command_line("delimiter must divide the header. Pass delimiter=';'.")
    "--delimiter must divide the header. Pass --delimiter ';'."
    """
    for said, typed in _TYPED.items():
        message = message.replace(said, typed)
    message = re.sub(rf"`({_OPTIONS})`", r"--\1", message)
    message = re.sub(r"\binteract (\S+) with the options", r"use --interact \1", message)
    message = re.sub(rf"\b({_OPTIONS}|weight_kind|missing_reward)='([^']*)'", _option, message)
    message = re.sub(rf"^({_USAGE}|\w+(?= must name a column)) must", r"--\1 must", message)
    return re.sub(r"^(\w+) must", lambda m: f"{_SUBJECTS.get(m[1], m[1])} must", message)


def _option(match: re.Match[str]) -> str:
    return f"--{match[1].replace('_', '-')} {shlex.quote(match[2])}"


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


def check_file(file: str | None) -> None:
    """Refuse a command without its table."""
    if file is None:
        raise DataError("FILE must be given; got none. penchant simulate makes one to try.")


def check_threads(threads: int | None) -> None:
    """Refuse no processor at all."""
    if threads is not None and threads < 1:
        raise DataError(f"--threads must be at least 1; got {threads}. Leave it out to use all.")


def check_criterion(criterion: str | None, folds: str | None) -> None:
    """Refuse to rank by what is held out where nothing is."""
    if criterion == "held-out" and folds is None:
        raise DataError(
            "--criterion held-out must come with --folds; got none. Try --folds 5 or block."
        )


def check_seed(seed: int | None, where: str = "") -> None:
    """Refuse randomness that could not be had again."""
    if seed is None or seed < 0:
        got = "none" if seed is None else seed
        raise DataError(
            f"--seed must be a whole number, 0 or more{where}; got {got}. "
            "Any will do: the same one gives the same result."
        )
