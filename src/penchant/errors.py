"""Exceptions and warnings of the library: fields that a front end words.

A `DataError` holds what is wrong as fields: the argument, the rule that it breaks, what was got,
where, and the remedy. Python words them in `str(error)`; the command line words the same fields in
`penchant.cli.option_wording`. A text that names an argument marks it, by `argument`, so that each
front end can write it as its reader types it: `level=0.95` or `--level 0.95`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any

__all__ = [
    "DataError",
    "NotConvergedError",
    "NotIdentifiedError",
    "NotWrittenError",
    "PenchantWarning",
    "SchemaQuestions",
    "SeparationError",
]

MAX_LISTED = 10  # places listed in a message: enough to see a pattern, few enough to read
MAX_NAMES_IN_FULL = 50  # more names than this would fill the screen and hide the message

# Around a marked argument and between its name and its value. Unicode sets these code points apart
# for use inside a program: no file and no name of a column holds them.
_OPEN, _VALUE, _CLOSE = "\ufdd0", "\ufdd1", "\ufdd2"
_MARKED = re.compile(f"{_OPEN}([^{_VALUE}{_CLOSE}]*)(?:{_VALUE}([^{_CLOSE}]*))?{_CLOSE}")

# How a front end writes an argument: from its name and its value as Python writes it, or None.
ArgumentWording = Callable[[str, "str | None"], str]


class PythonExpression(str):
    """An expression of Python as the value of a marked argument, which is not quoted."""

    def __repr__(self) -> str:
        return str(self)


def mark_argument(name: str, value: Any = None) -> str:
    """Mark an argument inside a text, with a value if given, for the front end to word.

    >>> format_for_python(f"Pass {mark_argument('level', 0.95)}.")
    'Pass level=0.95.'
    >>> format_for_python(mark_argument("subject"))
    'subject'
    """
    return f"{_OPEN}{name}{'' if value is None else _VALUE + repr(value)}{_CLOSE}"


def mark_quoted_argument(name: str) -> str:
    """Mark an argument that Python sets in backticks, where the words beside it could be its own.

    >>> format_for_python(f"Name the column with {mark_quoted_argument('subject')}.")
    'Name the column with `subject`.'
    """
    return mark_argument(f"`{name}`")


def word_marked_arguments(text: str, wording: ArgumentWording) -> str:
    """Replace the marked arguments of a text by what a front end writes."""
    text = text_with_marks(text)
    return _MARKED.sub(lambda found: wording(found[1], found[2]), text) if _OPEN in text else text


def format_for_python(text: str) -> str:
    """Word a text for Python."""
    return word_marked_arguments(text, _python_wording)


def _python_wording(name: str, value: str | None) -> str:
    return name if value is None else f"{name}={value}"


class MarkedText(str):
    """A sentence of a result: worded for Python, with its marks kept for another front end.

    >>> text = MarkedText(f"Use {mark_argument('method', 'firth')}.")
    >>> text
    "Use method='firth'."
    >>> word_marked_arguments(text, lambda name, value: f"--{name} {value}")
    "Use --method 'firth'."
    """

    marked: str

    def __new__(cls, words: str) -> MarkedText:
        """Word the text for Python and keep its marks."""
        text = super().__new__(cls, format_for_python(words))
        text.marked = text_with_marks(words)
        return text


def text_with_marks(text: str) -> str:
    """Return the text with its marks, to build a longer one with."""
    return text.marked if isinstance(text, MarkedText) else text


def _mark_name_or_phrase(words: str) -> str:
    return mark_argument(words) if words.isidentifier() else text_with_marks(words)


class DataError(ValueError):
    """The data cannot be used as given; the message says where and what to do.

    Parameters
    ----------
    mark_argument
        What is wrong: the name of an argument, or what else was given.
    rule
        What it must be, as the rest of a sentence: "must lie between 0 and 1".
    got
        What was given instead, as it is shown.
    where
        The place, as it ends the sentence: "at decision 37".
    fix
        The remedy, one or more sentences, if possible with something to paste.

    Examples
    --------
    >>> import penchant as pn
    >>> print(pn.DataError("level", "must lie between 0 and 1", got=2, fix="Pass level=0.95."))
    level must lie between 0 and 1; got 2.
    Pass level=0.95.
    """

    def __init__(
        self,
        argument: str,
        rule: str,
        *,
        got: Any = None,
        where: str = "",
        fix: str = "",
    ) -> None:
        self.argument = argument
        self.rule = rule
        self.got = None if got is None else str(got)
        self.where = where
        self.fix = fix.strip()
        super().__init__(argument, rule)  # what it is made with again where it is unpickled

    def __str__(self) -> str:
        """Return the words for Python."""
        return self.worded_message(format_for_python)

    def worded_message(self, words: Callable[[str], str]) -> str:
        """Return the sentence, and the remedy on a line of its own, as a front end words them."""
        return "\n".join(words(text) for text in (self.sentence, self.fix) if text)

    @property
    def sentence(self) -> str:
        """The sentence that says what is wrong and where, with its arguments marked."""
        got = "" if self.got is None else f"; got {self.got}"
        where = self.where and f" {self.where}"
        return f"{_mark_name_or_phrase(self.argument)} {self.rule}{got}{where}."

    @property
    def text(self) -> str:
        """Sentence and remedy as one text with its arguments marked, to be quoted in another."""
        return f"{self.sentence} {self.fix}".strip()

    def rephrase(self, change: Callable[[str], str], source: str = "") -> DataError:
        """Return the same error with its texts changed, as where rows have another number.

        Parameters
        ----------
        change
            What becomes of each text.
        source
            The file that the error is about, named before it if given.
        """
        subject = change(self.argument)
        if source:
            subject = f"{source}: {_mark_name_or_phrase(subject)}"
        return DataError(
            subject,
            change(self.rule),
            got=self.got and change(self.got),
            where=self.where and change(self.where),
            fix=self.fix and change(self.fix),
        )


class SchemaQuestions(DataError):
    """A table leaves something open that its reader has to say.

    Attributes
    ----------
    draft
        The `Schema` as far as it is certain.
    questions
        All that is open, each with the role that settles it, a text and possible answers.
    """

    def __init__(
        self,
        argument: str,
        rule: str = "must say what is open",
        *,
        got: str = "",
        fix: str = "",
        draft: Any = None,
        questions: Iterable[Any] = (),
    ) -> None:
        super().__init__(argument, rule, got=got, fix=fix)
        self.draft = draft
        self.questions = tuple(questions)


class NotWrittenError(DataError):
    """A result could not be written; the message says which file, why, and what is left."""


class NotIdentifiedError(ValueError):
    """The choices cannot tell some directions of theta apart."""


class SeparationError(ValueError):
    """The likelihood has no maximum: it rises towards its supremum at infinity."""


class NotConvergedError(RuntimeError):
    """The estimator stopped before it reached the maximum."""


class PenchantWarning(UserWarning):
    """A doubt about data or estimate, with a `code` to filter on."""

    def __init__(self, message: str, code: str) -> None:
        self.text = MarkedText(message)
        self.code = code
        super().__init__(str(self.text))


_BRACKETS = re.compile(r"\([^()]*\)")
# A comma within a name; the one of "decision 0, option 2" follows a digit, and is none.
_COMMA_IN_NAME = re.compile(r"[^\d], ")


def format_list(places: Iterable[str], total: int | None = None) -> str:
    """Join up to ten places, then tell how many there are in all.

    >>> format_list(["row 2", "row 5"])
    'row 2, row 5'
    >>> format_list(["depression, treated", "controls"])
    'depression, treated; controls'
    >>> format_list([f"row {i}" for i in range(12)])[-28:]
    'row 8, row 9 (... 12 in all)'
    """
    shown = []
    count = 0
    for place in places:
        count += 1
        if count <= MAX_LISTED:
            shown.append(place)
    count = count if total is None else total
    # Semicolons separate names that have commas in them, or their ends could not be seen.
    bare = (_BRACKETS.sub("", str(place)) for place in shown)
    between = "; " if any(map(_COMMA_IN_NAME.search, bare)) else ", "
    return between.join(shown) + (f" (... {count} in all)" if count > len(shown) else "")


def format_names(columns: Iterable[Any]) -> str:
    """Join the names of columns; only the first ten if there are very many.

    >>> format_names(["price", "wait"])
    'price, wait'
    >>> format_names(range(200_000))
    '0, 1, 2, 3, 4, 5, 6, 7, 8, 9 (... 200000 in all)'
    """
    names = [str(column) for column in columns]
    return ", ".join(names) if len(names) <= MAX_NAMES_IN_FULL else format_list(names)


def closest_match_hint(word: str, known: Iterable[str]) -> str:
    """Hint at the known word most like `word`; empty if none is alike.

    >>> closest_match_hint("prise", ["price", "wait"])
    " Did you mean 'price'?"
    """
    matches = get_close_matches(word, list(known), n=1)
    return f" Did you mean {matches[0]!r}?" if matches else ""


def mark_prior_argument() -> str:
    """Mark the argument for a prior of the parameters."""
    return mark_argument("parameter_prior")


def mark_weak_prior_argument() -> str:
    """Mark the argument for the weak prior, with which every subject has an estimate."""
    return mark_argument("parameter_prior", PythonExpression("ScaledPrior()"))


def mark_drop_set_argument() -> str:
    """Mark the argument that leaves out decisions with missing cells."""
    return mark_argument("missing", "drop_set")


def advise_prior() -> str:
    """Mark the advice to use the weak prior."""
    return f"use {mark_weak_prior_argument()}"


def profile_interval_advice(verb: str = "Read") -> str:
    """Advise to use profile likelihood intervals."""
    return f"{verb} {mark_argument('the profile intervals')}"


def interval_kind_argument(kind: str) -> str:
    """Mark the argument for a kind of intervals."""
    return mark_argument("kind", kind)
