"""Columns of wide surveys: which part of a name is the option, and which its attribute."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penchant.errors import DataError, listing
from penchant.tables.options import NOTHING_WORDS
from penchant.wording import argument, either, ticked

# Between the parts of a name: a mark, a letter that begins a word, a letter or number at the end.
CUTS = re.compile(
    r"[ _.:\-]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
    r"|(?<=[A-Za-z])(?=\d+$)|(?<=\d)(?=[_.])"
)
_PREFIX = re.compile(r"(?:option|opt|alternative|altern|alt|choice|product|prod|card|offer)s?")
# What surveys call the option that is none of those shown.
CHANCES = frozenset(("probability", "prob", "p", "chance"))  # of what an option pays
OPT_OUTS = frozenset(
    (
        *("neither", "optout", "noneofthese", "noneoftheabove", "statusquo", "nopurchase"),
        *("wouldnotbuy", "iwouldnotbuy", "neitheroption", "noneofthem", "nobuy", "dontbuy"),
        *("sq", "currentsituation", "keepcurrent", "stayathome", "notravel", "wouldchooseneither"),
        *("neitherofthese", "neitherofthem", "noneofeither", "nothanks", "keinevonbeiden"),
        *("keinesvonbeiden", "keinederbeiden", "keinedavon", "aucundesdeux", "aucunedesdeux"),
        *("ningunadelasdos", "ningunodelosdos", "geenvanbeide", "nessunodeidue"),
    )
)
# Opt-outs, or decisions that nobody made: which has to be said.
DOUBTFUL = frozenset(("none", "nochoice", "no", "nothing", "noanswer"))
SIDES = frozenset(
    (
        *("left", "right", "middle", "center", "centre", "top", "bottom", "up", "down", "l", "r"),
        *("first", "second", "third", "one", "two", "three", "x", "y", "z"),
    )
)
NOT = "not "  # before the one of two options that was not chosen
_KEYS = re.compile(r"(?:arrow|key|digit|numpad|btn|button)_?|_?(?:arrow|key|button)$")


@dataclass(frozen=True)
class WideLayout:
    """The options of a wide table, and the column of each attribute of each.

    Attributes
    ----------
    options
        What the names of columns call the options, in the order of the columns.
    attributes
        {attribute: columns in the order of the options}; None where an option has no such column.
    words
        {word of the column of choices: option}.
    opt_out
        Word for the option that is none of those shown, where somebody took it.
    """

    options: tuple[str, ...]
    attributes: Mapping[str, tuple[str | None, ...]]
    words: Mapping[str, str]
    opt_out: str | None = None

    @property
    def columns(self) -> set[str]:
        """Every column that is an attribute of an option."""
        return {name for own in self.attributes.values() for name in own if name is not None}

    def shown(self) -> str:
        """The layout in words."""
        said = (f"{name} = {', '.join(c or '0' for c in own)}" for name, own in self._some())
        return f"options {', '.join(self.options)}, with {'; '.join(said)}"

    def _some(self) -> list[tuple[str, tuple[str | None, ...]]]:
        return list(self.attributes.items())[:4]


def plain(word: Any) -> str:
    """A word without case, blanks and marks."""
    return re.sub(r"[^\w]|_", "", str(word).lower())


def tag(word: Any) -> str:
    """An option's name in one spelling: Option A, alt_a, ArrowLeft and left are a and left.

    >>> tag("Option A"), tag("alt1"), tag("ArrowLeft"), tag("left"), tag("2.0")
    ('a', '1', 'left', 'left', '2')
    """
    text = str(word).strip().lower()
    if re.fullmatch(r"-?\d+\.0+", text):
        text = text.partition(".")[0]
    text = _KEYS.sub("", text) or text
    text = plain(text)
    bare = _PREFIX.sub("", text, count=1)
    return bare or text


def wide_layouts(names: Sequence[str]) -> list[tuple[tuple[str, ...], dict[str, dict[str, str]]]]:
    """All ways in which names of columns can be options crossed with attributes.

    >>> (options, attributes), _ = wide_layouts(["A_cost", "A_time", "B_cost", "B_time"])
    >>> options, list(attributes)
    (('A', 'B'), ['cost', 'time'])
    """
    found: dict[frozenset[str], tuple[tuple[str, ...], dict[str, dict[str, str]]]] = {}
    for option_first in (True, False):
        crossed: dict[str, dict[str, str]] = {}
        for name in names:
            for left, right in halves(str(name)):
                option, attribute = (left, right) if option_first else (right, left)
                crossed.setdefault(attribute, {}).setdefault(option, str(name))
        for own in crossed.values():
            options = frozenset(own)
            if len(options) < 2 or options in found:
                continue
            full = {a: cols for a, cols in crossed.items() if {*cols} == options}
            found[options] = (tuple(own), full)
    return list(found.values())


def halves(name: str) -> list[tuple[str, str]]:
    """Both parts of a name, at every place where it can be cut."""
    cuts = [(match.start(), match.end()) for match in CUTS.finditer(name)]
    return [(name[:a], name[b:]) for a, b in cuts if a > 0 and b < len(name)]


def wide_layout(
    names: Sequence[str],
    words: Iterable[Any],
    *,
    options: Sequence[Any] | Mapping[Any, Any] | None = None,
    opt_out: str | None = None,
    base: int | None = None,
    column: str = "chosen",
) -> WideLayout | None:
    """The one way in which the columns describe the options that people chose.

    Parameters
    ----------
    names
        Columns that may be attributes of options.
    words
        What the column of choices holds.
    options
        Names of the options in their order, or {word of the column of choices: option}.
    opt_out
        Word for the option that is none of those shown.
    base
        Number of the first option, 0 or 1, where the choices are numbers.
    column
        The column of choices.

    Examples
    --------
    >>> layout = wide_layout(["cost_A", "cost_B"], ["Option B", "Option A", "neither"])
    >>> layout.attributes, layout.opt_out
    ({'cost': ('cost_A', 'cost_B')}, 'neither')
    """
    said = [str(word).strip() for word in words]
    said = [word for word in said if word not in NOTHING_WORDS or plain(word) in DOUBTFUL]
    doubtful = [word for word in dict.fromkeys(said) if plain(word) in DOUBTFUL or _is_code(word)]
    doubtful = [] if len(doubtful) == len({*said}) else doubtful
    doubtful = [word for word in doubtful if opt_out is None or plain(word) != plain(opt_out)]
    sure = [word for word in said if word not in doubtful]
    fitting = []
    wanted = None if options is None else _wanted(options)
    for tags, attributes in wide_layouts(names):
        if wanted is not None:
            if {*wanted} != {tag(t) for t in tags}:
                continue
            tags = tuple(sorted(tags, key=lambda t: wanted.index(tag(t))))  # at once
        matched: tuple[dict[str, str], str | None] | None
        if isinstance(options, Mapping):
            matched = _by_mapping(tags, said, options, opt_out)
        else:
            matched = _matched(tags, sure, opt_out, base, usual=wanted is not None)
        if matched is not None:
            own = {a: tuple(cols[t] for t in tags) for a, cols in attributes.items()}
            fitting.append(WideLayout(tags, own, *matched))
    fitting = _without_parts(fitting)
    if len({frozenset(one.attributes.values()) for one in fitting}) == 1:
        fitting = fitting[:1]  # the same columns, however they are divided into names
    if len(fitting) > 1:
        shown = "; or ".join(layout.shown() for layout in fitting[:3])
        raise DataError(
            f"{argument('options')} must be given, as the columns can be read in {len(fitting)} "
            f"ways: {shown}. Pass {options_said(fitting[0].options)}, or "
            f"{options_said(fitting[1].options)}."
        )
    if fitting and doubtful:
        is_text = not all(re.fullmatch(r"-?\d+", one) for one in said)
        raise _doubtful(doubtful[0], fitting[0].options, column, is_text)
    return _with_partial(fitting[0], names) if fitting else None


def _is_code(word: str) -> bool:
    """Whether a word is a number below 0, as files hold for no answer."""
    return re.fullmatch(r"-\d{1,4}", word) is not None


_ROWS_OF_KEYS = ("1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm")


def shown_at(
    names: Sequence[str], words: Sequence[str]
) -> list[tuple[str, tuple[str, ...], dict[str, int]]]:
    """What is told of every place that was pressed: attribute, columns, place of each word.

    Words are places by their names, or keys of a keyboard that lie left and right.

    >>> shown_at(["left_card", "right_card"], ["arrowright", "arrowleft"])
    [('card', ('left_card', 'right_card'), {'arrowright': 1, 'arrowleft': 0})]
    >>> shown_at(["card_left", "card_right"], ["j", "f"])[0][2]
    {'j': 1, 'f': 0}
    """
    found = []
    for tags, attributes in wide_layouts(names):
        bare = [side(t) for t in tags]
        places = {word: bare.index(side(word)) for word in words if side(word) in bare}
        if len(places) < len(words) and {*bare} == {"left", "right"}:
            places = {word: bare.index(own) for word, own in keyboard_sides(words).items()}
        if words and len(places) == len(words):
            for name, own in attributes.items():
                found.append((name, tuple(own[t] for t in tags), places))
    return found


# Left and right as columns and keys have them, in one word.
_SIDE_WORDS = {
    **dict.fromkeys(("l", "links", "gauche", "izquierda", "izq", "sinistra", "esquerda"), "left"),
    **dict.fromkeys(("r", "rechts", "droite", "derecha", "der", "destra", "direita"), "right"),
}


def side(word: Any) -> str:
    """An option's name in one spelling, sides in one word.

    >>> side("L"), side("rechts"), side("ArrowLeft"), side("Option B")
    ('left', 'right', 'left', 'b')
    """
    bare = tag(word)
    return _SIDE_WORDS.get(bare, bare)


def keyboard_sides(words: Sequence[str]) -> dict[str, str]:
    """Two keys of one row of a keyboard, left and right."""
    keys = [tag(word) for word in words]
    for row in _ROWS_OF_KEYS:
        if len(keys) == 2 and all(len(key) == 1 and key in row for key in keys):
            first = row.index(keys[0]) < row.index(keys[1])
            return dict(zip(words, ("left", "right") if first else ("right", "left"), strict=True))
    return {}


def _wanted(options: Sequence[Any] | Mapping[Any, Any]) -> list[str]:
    """The options asked for, in one spelling and in their order."""
    given = options.values() if isinstance(options, Mapping) else options
    return list(dict.fromkeys(tag(option) for option in given))


def _by_mapping(
    tags: Sequence[str], words: Sequence[str], options: Mapping[Any, Any], opt_out: str | None
) -> tuple[dict[str, str], str | None]:
    """Words as they were said to be meant."""
    by_tag = {tag(t): t for t in tags}
    found = {str(word): by_tag[tag(option)] for word, option in options.items()}
    left = [word for word in dict.fromkeys(words) if word not in found]
    none_of = [word for word in left if plain(word) in OPT_OUTS or word == opt_out]
    if {*left} - {*none_of}:
        raise DataError(
            f"{argument('options')} must say what every word of the choices means; got none for "
            f"{listing(repr(word) for word in left if word not in none_of)}. Add it, or leave its "
            f"rows out by {ticked('where')}."
        )
    return found, none_of[0] if none_of else None


def _without_parts(fitting: list[WideLayout]) -> list[WideLayout]:
    """Layouts without those whose columns all belong to another, larger one."""
    return [
        one
        for one in fitting
        if not any(one.columns < other.columns for other in fitting if other is not one)
    ]


def _untold(attribute: str, options: Sequence[str], columns: Sequence[str | None]) -> DataError:
    """What has no probability of its own may be for sure, or never come."""
    told = [column for column in columns if column is not None]
    without = [option for option, column in zip(options, columns, strict=True) if column is None]
    return DataError(
        f"{attribute} must be told of every option; got {listing(told)}, but none of option "
        f"{listing(without)}, which can be read in two ways: it comes for sure (1), or never (0). "
        "Add a column with one of them."
    )


def _with_partial(layout: WideLayout, names: Sequence[str]) -> WideLayout:
    """Attributes that only some options have, too."""
    index = {option: i for i, option in enumerate(layout.options)}
    found: dict[str, list[str | None]] = {}
    for name in names:
        if name in layout.columns:
            continue
        for left, right in halves(str(name)):
            for option, attribute in ((left, right), (right, left)):
                if (
                    option in index
                    and attribute not in layout.attributes
                    and attribute not in index
                ):
                    own = found.setdefault(attribute, [None] * len(index))
                    own[index[option]] = str(name)
    more = {attribute: tuple(own) for attribute, own in found.items()}
    for attribute, columns in more.items():
        if plain(attribute) in CHANCES:
            raise _untold(attribute, layout.options, columns)
    return WideLayout(layout.options, {**layout.attributes, **more}, layout.words, layout.opt_out)


def _matched(
    tags: Sequence[str], words: Sequence[str], opt_out: str | None, base: int | None, usual: bool
) -> tuple[dict[str, str], str | None] | None:
    """Which option each word means, and the word for none of them; None if they do not fit."""
    by_tag = {tag(t): t for t in tags}
    if len(by_tag) < len(tags):
        return None
    if [*by_tag] == [str(i) for i in range(len(tags))]:  # places, not names
        return _by_number(tags, list(dict.fromkeys(words)), opt_out, base)
    found: dict[str, str] = {}
    none_of: str | None = None
    left = []
    for word in dict.fromkeys(words):
        if opt_out is not None and plain(word) == plain(opt_out):
            none_of = word
        elif tag(word) in by_tag:
            found[word] = by_tag[tag(word)]
        elif len(tags) == 2 and tag(word.removeprefix(NOT)) in by_tag:
            found[word] = next(t for t in tags if tag(t) != tag(word.removeprefix(NOT)))
        elif plain(word) in OPT_OUTS:
            none_of = word
        else:
            left.append(word)
    if not left and found:
        return found, none_of
    if not usual and not all(_is_usual(t) for t in tags):
        return None
    return _by_number(tags, list(dict.fromkeys(words)), opt_out, base)


def _doubtful(word: str, tags: Sequence[str], column: str, is_text: bool) -> DataError:
    name = column if column.isidentifier() else f"`{column}`"
    left_out = where_said(f"{name} != '{word}'" if is_text else f"{name} != {word}")
    return DataError(
        f"{argument('opt_out')} must be given, as {word!r} in {column} can be read in two ways: an "
        f"option of its own beside {', '.join(tags)}, or a decision that nobody made. Pass "
        f"{argument('opt_out', word)} for the first, or {left_out} to "
        "leave these rows out."
    )


def _by_number(
    tags: Sequence[str], words: Sequence[str], opt_out: str | None, base: int | None
) -> tuple[dict[str, str], str | None] | None:
    """Numbers as options, where the numbers say where they begin."""
    none_of = next(
        (w for w in words if plain(w) in OPT_OUTS or (opt_out and plain(w) == plain(opt_out))), None
    )
    shown = [w for w in words if w != none_of and re.fullmatch(r"\d{1,2}(\.0+)?", w.strip())]
    numbers = {w: int(float(w)) for w in shown}
    if not numbers or len(numbers) + (none_of is not None) < len(words):
        return None
    low, high, m = min(numbers.values()), max(numbers.values()), len(tags)
    if low >= 1 and high < m and base is None:
        raise DataError(
            f"{argument('base')} must be given, as the choices {low} to {high} can be read in two "
            f"ways: counted from 0 ({low} is {tags[low]}) or from 1 ({low} is {tags[low - 1]}). "
            f"Pass {either('base=0 or base=1', _by_hand(numbers, tags))}."
        )
    start = (1 if high == m else 0) if base is None else base
    if low < start or high - start >= m:
        return None
    return {w: tags[k - start] for w, k in numbers.items()}, none_of


def _by_hand(numbers: Mapping[str, int], tags: Sequence[str]) -> str:
    """Both readings of numbers, as options of a command."""
    both = ({w: tags[k] for w, k in numbers.items()}, {w: tags[k - 1] for w, k in numbers.items()})
    return " or ".join(options_said(own) for own in both)


def options_said(options: Sequence[Any] | Mapping[Any, Any]) -> str:
    """The options as an argument, or as one types them.

    >>> options_said(["f", "j"]), options_said({"f": "left"})
    ("options=['f', 'j']", "options={'f': 'left'}")
    """
    if isinstance(options, Mapping):
        typed = ",".join(f"{word}={option}" for word, option in options.items())
        return either(f"options={dict(options)!r}", f"--options {shlex.quote(typed)}")
    words = ",".join(map(str, options))
    return either(f"options={list(options)!r}", f"--options {shlex.quote(words)}")


def where_said(condition: str) -> str:
    """A condition as an argument, or as one types it: a shell would run what backticks hold."""
    typed = f'"{condition}"'
    if "`" in condition:
        inside = condition.replace("'", '"')
        typed = f"'{inside}'"
    return either(f'where="{condition}"', f"--where {typed}")


def refuse_unknown_words(names: Sequence[str], words: Sequence[str], column: str) -> None:
    """Raise an error that asks what words mean, if the columns are those of options.

    Parameters
    ----------
    names
        Columns that may be attributes of options.
    words
        What the column of choices holds.
    column
        Its name.
    """
    usual = [tags for tags, _ in wide_layouts(names) if all(map(_is_usual, tags))]
    if not usual or not 2 <= len(words) <= 2 * max(map(len, usual)) + 1:
        return
    tags = usual[0]
    numbers = [word for word in words if re.fullmatch(r"\d+", word)]
    if len(numbers) == len(words) == len(tags) + 1:
        odd = "0" if "0" in words and str(len(tags)) in words else max(words, key=int)
        raise DataError(
            f"{argument('opt_out')} must be given, as {column} holds {listing(words)}, and the "
            f"columns describe {len(tags)} options, {listing(tags)}: {odd} can be an option that "
            f"is none of these, or a decision that nobody made. Pass {argument('opt_out', odd)} "
            f"for the first, or {where_said(f'{column} != {odd}')} to leave these rows out."
        )
    one = dict(zip(words, tags, strict=False))
    other = dict(zip(words, [*tags[1:], tags[0]], strict=False))
    raise DataError(
        f"{argument('options')} must say what {listing(map(repr, words))} in {column} mean, as the "
        f"columns describe the options {listing(tags)} and both can be meant. Pass "
        f"{options_said(one)}, or {options_said(other)}."
    )


def _is_usual(option: str) -> bool:
    """Whether a word is what options are called: a letter, a number, a side."""
    bare = tag(option)
    return len(bare) == 1 or bare.isdigit() or bare in SIDES or bare != plain(option)
