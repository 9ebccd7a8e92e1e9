"""Columns of wide surveys: which part of a name is the option, and which its attribute."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from penchant.errors import DataError, argument, format_list
from penchant.tables.labels import natural_key
from penchant.tables.options import NOTHING_WORDS
from penchant.tables.where import where_said

# Between the parts of a name: a mark, a letter that begins a word, a letter or number at the end.
CUTS = re.compile(
    r"[ _.:\-]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
    r"|(?<=[A-Za-z])(?=\d+$)|(?<=\d)(?=[_.])"
)
_PREFIX = re.compile(r"(?:option|opt|alternative|altern|alt|choice|product|prod|card|offer)s?(?=.)")
CHANCES = frozenset(("probability", "prob", "p", "chance"))  # of what an option pays
# What surveys call the option that is none of those shown.
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
FEW_OTHERS = 3  # words among the choices that are no option
# What is told of options, and is none itself.
OF_OPTIONS = frozenset(
    (
        *("amount", "amt", "money", "reward", "value", "val", "magnitude", "mag", "sum", "payoff"),
        *("price", "cost", "fare", "time", "delay", "days", "probability", "prob", "p"),
        *("chance", "effort", "betrag", "monto", "montant", "importo", "bedrag", "dias", "tage"),
        *("jours", "preis", "prix", "precio", "brand", "color", "colour", "size", "distance"),
    )
)
MARGIN = 0.25  # by which one way to read columns is clearly more likely than another
NOT = "not "  # before the one of two options that was not chosen
# Of an option that stands between two words.
_OFFERED = re.compile(
    r"(?:is|was)[ _.\-](?P<option>.+)[ _.\-](?P<how>available|avail|offered|shown)", re.IGNORECASE
)
_KEYS = re.compile(r"(?:arrow|key|digit|numpad|btn|button)_?|_?(?:arrow|key|button)$")


Alike = Callable[[Sequence[str]], float]
Evident = Callable[[Sequence[str], Mapping[str, Any]], bool]


@dataclass(frozen=True)
class WideLayout:
    """The options of a wide table, and the column of each attribute of each.

    Attributes
    ----------
    options
        What the names of columns call the options, as `in_order` sorts them.
    attributes
        {attribute: columns in the order of the options}; None where an option has no such column.
    words
        {word of the column of choices: option}.
    opt_out
        Word for the option that is none of those shown, where somebody took it.
    by_place
        Whether choices are numbers of options that have no numbers: `words` is one way of several.
    """

    options: tuple[str, ...]
    attributes: Mapping[str, tuple[str | None, ...]]
    words: Mapping[str, str]
    opt_out: str | None = None
    by_place: bool = False

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
    prefix = _PREFIX.match(text)
    return text if prefix is None else text[prefix.end() :]


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
                crossed.setdefault(attribute, {}).setdefault(option.strip("()[] "), str(name))
        for own in crossed.values():
            options = frozenset(own)
            if len(options) < 2 or options in found:
                continue
            full = {
                a: {option: cols[option] for option in own}
                for a, cols in crossed.items()
                if {*cols} >= options
            }
            found[options] = (in_order(own), full)
    return list(found.values())


_ORDINALS = ("first", "second", "third"), ("one", "two", "three")
_SIDES_IN_ORDER = (
    ("left", "middle", "center", "centre", "right"),
    ("top", "middle", "center", "centre", "bottom"),
    ("up", "down"),
)


def in_order(options: Iterable[str]) -> tuple[str, ...]:
    """Options by their numbers or letters, sides from left to right; others as they stand.

    >>> in_order(["plan10", "plan9"]), in_order(["B", "A"]), in_order(["right", "left"])
    (('plan9', 'plan10'), ('A', 'B'), ('left', 'right'))
    >>> in_order(["car", "bus"])
    ('car', 'bus')
    """
    given = tuple(options)
    bare = {option: side(option) for option in given}
    for series in (*_ORDINALS, *_SIDES_IN_ORDER):
        if {*bare.values()} <= {*series}:
            return tuple(sorted(given, key=lambda option: series.index(bare[option])))
    if are_numbered(given) or _are_lettered(given):
        return tuple(sorted(given, key=lambda option: natural_key(option.lower())))
    return given


def are_numbered(options: Sequence[str]) -> bool:
    """Whether options differ by their numbers alone: 1 and 2, plan1 and plan2, first and second.

    >>> are_numbered(["opt_1", "opt_2"]), are_numbered(["A", "B"]), are_numbered(["car", "bus2"])
    (True, False, False)
    """
    bare = [tag(option) for option in options]
    stems = {re.sub(r"\d+", "0", option) for option in bare}
    counted = len(stems) == 1 and "0" in stems.pop()
    return counted or any({*bare} <= {*series} for series in _ORDINALS)


def _are_lettered(options: Sequence[str]) -> bool:
    """Whether options differ by their last letter alone: A and B, plan_a and plan_b."""
    bare = [tag(option) for option in options]
    return len({option[:-1] for option in bare}) == 1 and all(o[-1:].isalpha() for o in bare)


def halves(name: str) -> list[tuple[str, str]]:
    """Both parts of a name, at every place where it can be cut.

    >>> halves("car_price"), halves("is_car_available")[-1]
    ([('car', 'price')], ('car', 'available'))
    """
    cuts = [(match.start(), match.end()) for match in CUTS.finditer(name)]
    found = [(name[:a], name[b:]) for a, b in cuts if a > 0 and b < len(name)]
    offered = _OFFERED.fullmatch(name)
    return [*found, (offered["option"], offered["how"])] if offered is not None else found


def wide_layout(
    names: Sequence[str],
    words: Iterable[Any],
    *,
    options: Sequence[Any] | Mapping[Any, Any] | None = None,
    opt_out: str | None = None,
    base: int | None = None,
    column: str = "chosen",
    alike: Alike = lambda _: 1.0,
    evident: Evident | None = None,
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
    alike
        How likely columns are one attribute of several options, by what they hold: 0 to 1.
    evident
        Whether options and attributes are no coincidence; `is_evident`, if not given.

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
    fitting: list[_Fit] = []
    wanted = None if options is None else _wanted(options)
    layouts = wide_layouts(names)
    by_tags = any({*(wanted or ())} == {tag(t) for t in tags} for tags, _ in layouts)
    listed = not isinstance(options, Mapping)
    by_words = bool(wanted) and listed and not by_tags and {*map(str, options or ())} <= {*said}
    for tags, attributes in layouts:
        mapping = options if isinstance(options, Mapping) else None
        if by_words and len(tags) == len(options or ()):
            mapping = dict(zip(options or (), tags, strict=True))  # words in the options' order
        elif wanted is not None:
            if {*wanted} != {tag(t) for t in tags}:
                continue
            tags = tuple(sorted(tags, key=lambda t: wanted.index(tag(t))))  # at once
        matched: _Matched | None
        if mapping is not None:
            matched = _by_mapping(tags, said, mapping, opt_out, column)
        else:
            matched = _matched(tags, sure, opt_out, base, usual=wanted is not None)
        if matched is not None:
            own = {a: tuple(cols[t] for t in tags) for a, cols in attributes.items()}
            by_place = wanted is None and not matched.by_name and not are_numbered(tags)
            layout = WideLayout(tags, own, matched.words, matched.opt_out, by_place)
            fitting.append(_Fit(layout, matched))
    likely = [tags for tags, _ in likely_layouts(names, alike)]
    fitting = [fit for fit in fitting if fit.matched.by_name or not _are_at_sides(fit, likely)]
    fitting = _likeliest(fitting, likely)
    if len(fitting) > 1:
        shown = "; or ".join(fit.layout.shown() for fit in fitting[:3])
        ways: list[Any] = [fit.layout.options for fit in fitting[:2]]
        if by_words:
            ways = [dict(zip(map(str, options or ()), own, strict=True)) for own in ways]
        raise DataError(
            f"{argument('options')} must be given, as the columns can be read in {len(fitting)} "
            f"ways: {shown}. Pass {options_said(ways[0])}, or {options_said(ways[1])}."
        )
    if not fitting:
        _ask_which(likely_layouts(names, alike), sure, column, opt_out, evident or is_evident)
        return None
    doubtful += [word for word in fitting[0].matched.left if word not in doubtful]
    if doubtful and listed and not by_words:
        raise _doubtful(doubtful[0], said, fitting[0].layout.options, column)
    return _with_partial(fitting[0].layout, names)


def likely_layouts(
    names: Sequence[str], alike: Alike
) -> list[tuple[tuple[str, ...], dict[str, dict[str, str]]]]:
    """The layouts without those that are far less likely than another of the same columns.

    >>> names = ["car_cost", "car_colour", "bus_cost", "bus_colour"]
    >>> alike = lambda own: float(len({column[-4:] for column in own}) == 1)
    >>> [tags for tags, _ in likely_layouts(names, alike)]
    [('car', 'bus')]
    """
    layouts = wide_layouts(names)
    found: dict[frozenset[str], list[float]] = {}
    scored = []
    for tags, by in layouts:
        columns = frozenset(name for own in by.values() for name in own.values())
        score = sum(alike(list(own.values())) for own in by.values()) / len(by)
        score -= any(plain(t) in OF_OPTIONS for t in tags)  # what options have is none
        scored.append((columns, score, (tags, by)))
        found.setdefault(columns, []).append(score)
    return [layout for columns, score, layout in scored if score > max(found[columns]) - MARGIN]


def is_evident(tags: Sequence[str], attributes: Mapping[str, Any]) -> bool:
    """Whether options are crossed with attributes so often that it is no coincidence.

    >>> is_evident(["response", "reaction"], {"time": {}})
    False
    >>> is_evident(["car", "bus"], {"price": {}, "time": {}})
    True
    """
    return len(tags) > 2 or len(attributes) > 1


class _Matched(NamedTuple):
    """What the words of the choices mean.

    Attributes
    ----------
    words
        {word: option}.
    opt_out
        The word for none of the options, if there is one.
    left
        Words that are no option: for none of them, or for no choice.
    by_name
        Whether words are names of the options, rather than numbers.
    """

    words: dict[str, str]
    opt_out: str | None = None
    left: tuple[str, ...] = ()
    by_name: bool = False


class _Fit(NamedTuple):
    """A way to read the columns, and the words of the choices by it."""

    layout: WideLayout
    matched: _Matched

    def are_all_taken(self) -> bool:
        """Whether every option was taken by somebody."""
        return {*self.matched.words.values()} == {*self.layout.options}


def _likeliest(fitting: Sequence[_Fit], likely: Sequence[tuple[str, ...]]) -> list[_Fit]:
    """The readings that are as likely as any: all words understood, options that are called so."""
    whole = [fit for fit in fitting if not fit.matched.left] or list(fitting)
    whole = [fit for fit in whole if fit.matched.by_name or _is_among(fit, likely)] or whole
    whole = [
        fit for fit in whole if {*fit.matched.words.values()} == {*fit.layout.options}
    ] or whole
    whole = [
        fit
        for fit in whole
        if not any(fit.layout.columns < other.layout.columns for other in whole)
    ]
    usual = [fit for fit in whole if are_usual(fit.layout.options)]
    named = [fit for fit in whole if fit.matched.by_name]
    best = named or usual or whole
    apart: dict[frozenset[tuple[str | None, ...]], _Fit] = {}
    for fit in sorted(best, key=lambda fit: fit not in usual):
        # the same columns may be divided into names in several ways
        apart.setdefault(frozenset(fit.layout.attributes.values()), fit)
    spelt: dict[frozenset[str], _Fit] = {}
    for fit in sorted(apart.values(), key=lambda fit: -len(fit.layout.attributes)):
        # the same options may be spelt otherwise in other columns, which are added later
        spelt.setdefault(frozenset(map(tag, fit.layout.options)), fit)
    return list(spelt.values())


def _is_among(fit: _Fit, likely: Sequence[tuple[str, ...]]) -> bool:
    return any({*fit.layout.options} == {*tags} for tags in likely)


def _are_at_sides(fit: _Fit, likely: Sequence[tuple[str, ...]]) -> bool:
    """Whether columns tell of left and right, too, by which numbers may be meant."""
    told = any(_sides_in(tags) == {"left", "right"} for tags in likely)
    return told and _sides_in(fit.layout.options) != {"left", "right"}


def _sides_in(tags: Sequence[str]) -> set[str]:
    """The sides that two names speak of in one of their parts."""
    parts = {side(part) for name in tags for part in CUTS.split(name)}
    return parts & {"left", "right"} if len(tags) == 2 else set()


def _ask_which(
    layouts: Sequence[tuple[tuple[str, ...], dict[str, dict[str, str]]]],
    words: Sequence[str],
    column: str,
    opt_out: str | None,
    evident: Evident,
) -> None:
    """Ask which option each number or letter is, where options have names of their own."""
    series = {word: tag(word) for word in words if word != opt_out and len(tag(word)) <= 2}
    counted = sorted(series, key=lambda word: (len(series[word]), series[word]))
    bare = [series[word] for word in counted]
    by_fit = sorted(
        layouts,
        key=lambda one: (not _sides_in(one[0]), abs(len(one[0]) - len(counted)), -len(one[1])),
    )
    for tags, attributes in by_fit:
        m = len(tags)
        if not evident(tags, attributes) or are_usual(tags):
            continue
        if len(words) > m + FEW_OTHERS:
            continue
        if bare == [str(k + 1) for k in range(m + 1)]:
            raise _doubtful(counted[-1], words, tags, column)
        if bare == [str(k) for k in range(m + 1)]:
            raise _doubtful(counted[0], words, tags, column)
        known = ([str(k) for k in range(m)], [str(k + 1) for k in range(m)], [*"abcdefghij"[:m]])
        if bare in known:
            raise _any_order(dict(zip(counted, tags, strict=True)), tags, column)


def ask_about_order(layout: WideLayout, column: str) -> None:
    """Ask which option each number is, where options have letters or sides.

    Parameters
    ----------
    layout
        Of the columns and the choices.
    column
        The column of choices.
    """
    if layout.by_place:
        raise _any_order(layout.words, layout.options, column)


def _any_order(words: Mapping[str, str], options: Sequence[str], column: str) -> DataError:
    """The question which option each word means, with one order and another."""
    after = dict(zip(options, (*options[1:], options[0]), strict=True))
    counted = sorted(words, key=lambda word: options.index(words[word]))
    one = {word: words[word] for word in counted}
    other = {word: after[words[word]] for word in counted}
    return DataError(
        f"{argument('options')} must say what {format_list(map(repr, counted))} in {column} mean, "
        f"as the columns describe the options {format_list(options)}, in any order. Pass "
        f"{options_said(one)} if they are numbered in this order, or another, such as "
        f"{options_said(other)}."
    )


def _is_code(word: str) -> bool:
    """Whether a word is a number below 0, as files hold for no answer."""
    return re.fullmatch(r"-\d{1,4}", word) is not None


_ROWS_OF_KEYS = ("1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm")


def shown_at(
    names: Sequence[str], words: Sequence[str]
) -> list[tuple[str, tuple[str, ...], dict[str, int]]]:
    """What is told of every place that was pressed: attribute, columns, place of each word.

    Words are places by their names or numbers, or keys of a keyboard that lie left and right.

    >>> shown_at(["left_card", "right_card"], ["arrowright", "arrowleft"])
    [('card', ('left_card', 'right_card'), {'arrowright': 1, 'arrowleft': 0})]
    >>> shown_at(["card_left", "card_right"], ["j", "f"])[0][2]
    {'j': 1, 'f': 0}
    """
    found = []
    layouts = wide_layouts(names)
    told = {c for _, by in layouts for own in by.values() for c in own.values()}
    rest = wide_layouts([name for name in names if name not in told])  # left_pay beside card_left
    for every, attributes in (*layouts, *rest):
        sides = [t for t in every if side(t) in ("left", "right")]
        tags = sides if len(sides) == 2 else every  # without target_card beside both
        bare = [side(t) for t in tags]
        places = {word: bare.index(side(word)) for word in words if side(word) in bare}
        if len(places) < len(words):
            places = _counted_places(words, len(bare))
        if len(places) < len(words) and {*bare} == {"left", "right"}:
            places = {word: bare.index(own) for word, own in keyboard_sides(words).items()}
        if words and len(places) == len(words):
            for name, own in attributes.items():
                found.append((name, tuple(own[t] for t in tags), places))
    return found


def _counted_places(words: Sequence[str], n_places: int) -> dict[str, int]:
    """Places that are counted from 0 where 0 is among them, else from 1."""
    if not words or not all(word.isdecimal() for word in words):
        return {}
    start = 0 if "0" in words else 1
    places = {word: int(word) - start for word in words}
    return places if max(places.values()) < n_places else {}


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
    tags: Sequence[str],
    words: Sequence[str],
    options: Mapping[Any, Any],
    opt_out: str | None,
    column: str,
) -> _Matched:
    """Words as they were said to be meant."""
    by_tag = {tag(t): t for t in tags}
    found = {str(word): by_tag[tag(option)] for word, option in options.items()}
    left = [word for word in dict.fromkeys(words) if word not in found]
    none_of = [word for word in left if plain(word) in OPT_OUTS or word == opt_out]
    unsaid = [word for word in left if word not in none_of]
    if unsaid:
        raise DataError(
            f"{argument('options')} must say what every word of the choices means; got none for "
            f"{format_list(repr(word) for word in unsaid)}. Add it, or leave its rows out by "
            f"{_left_out(unsaid[0], words, column)}; pass {argument('opt_out', unsaid[0])} if it "
            "is an option of its own."
        )
    return _Matched(found, none_of[0] if none_of else None)


def _with_partial(layout: WideLayout, names: Sequence[str]) -> WideLayout:
    """Attributes that only some options have, too."""
    index = {tag(option): i for i, option in enumerate(layout.options)}
    found: dict[str, list[str | None]] = {}
    for name in names:
        if name in layout.columns:
            continue
        for left, right in halves(str(name)):
            for option, attribute in ((left, right), (right, left)):
                if (
                    tag(option) in index
                    and attribute not in layout.attributes
                    and tag(attribute) not in index
                ):
                    own = found.setdefault(attribute, [None] * len(index))
                    own[index[tag(option)]] = str(name)
    more = {attribute: tuple(own) for attribute, own in found.items()}
    return replace(layout, attributes={**layout.attributes, **more})


def _matched(
    tags: Sequence[str], words: Sequence[str], opt_out: str | None, base: int | None, usual: bool
) -> _Matched | None:
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
    numbers = all(tag(t).isdigit() for t in tags)
    if found and not left:
        return _Matched(found, none_of, by_name=not numbers)
    named = not numbers or not all(word.isdigit() for word in found)
    if named and len({*found.values()}) > 1 and len(left) <= FEW_OTHERS:
        return _Matched(found, none_of, tuple(left), by_name=True)
    if not usual and not are_usual(tags):
        return None
    return _by_number(tags, list(dict.fromkeys(words)), opt_out, base)


def _doubtful(word: str, said: Sequence[str], tags: Sequence[str], column: str) -> DataError:
    m = len(tags)
    numbers = {w for w in said if re.fullmatch(r"\d+", w)}
    if word in numbers and numbers <= {str(k) for k in range(m + 2)}:
        last = ""
        if {"0", str(m)} <= numbers:
            last = f"; or {argument('opt_out', str(m))} if options are counted from 0"
        return DataError(
            f"{argument('opt_out')} must be given, as {column} holds {format_list(said)}, and the "
            f"columns describe {m} options, {format_list(tags)}: {word} can be an option that "
            f"is none of these, or a decision that nobody made. Pass {argument('opt_out', word)} "
            f"for the first, or {_left_out(word, said, column)} to leave these rows out{last}."
        )
    return DataError(
        f"{argument('opt_out')} must be given, as {word!r} in {column} can be read in two ways: an "
        f"option of its own beside {', '.join(tags)}, or a decision that nobody made. Pass "
        f"{argument('opt_out', word)} for the first, or {_left_out(word, said, column)} to "
        "leave these rows out."
    )


def _left_out(word: str, said: Sequence[str], column: str) -> str:
    """A condition that leaves out the rows of a word."""
    name = column if column.isidentifier() else f"`{column}`"
    is_text = not all(re.fullmatch(r"-?\d+", one) for one in said)
    return where_said(f"{name} != {word!r}" if is_text else f"{name} != {word}")


def _by_number(
    tags: Sequence[str], words: Sequence[str], opt_out: str | None, base: int | None
) -> _Matched | None:
    """Numbers as options, where the numbers say where they begin."""
    none_of = next(
        (w for w in words if plain(w) in OPT_OUTS or (opt_out and plain(w) == plain(opt_out))), None
    )
    m = len(tags)
    numbers = {
        w: int(float(w))
        for w in words
        if w != none_of and re.fullmatch(r"\d{1,2}(\.0+)?", w.strip()) and float(w) <= m + 1
    }
    left = [w for w in words if w != none_of and w not in numbers]
    if not numbers or len(left) > FEW_OTHERS or (left and len(numbers) < 2):
        return None
    low, high = min(numbers.values()), max(numbers.values())
    if base is None and low >= 1 and high < m and not are_numbered(tags):
        base = 1  # which option each number is will be asked in any case
    if low >= 1 and high < m and base is None:
        raise DataError(
            f"{argument('base')} must be given, as the choices {low} to {high} can be read in two "
            f"ways: counted from 0 ({low} is {tags[low]}) or from 1 ({low} is {tags[low - 1]}). "
            f"Pass {argument('base', 0)} or {argument('base', 1)}."
        )
    start = (1 if high >= m else 0) if base is None else base
    inside = {w: tags[k - start] for w, k in numbers.items() if 0 <= k - start < m}
    left += [w for w in numbers if w not in inside]
    if not inside or len(left) > FEW_OTHERS or (left and len(inside) < 2):
        return None
    return _Matched(inside, none_of, tuple(left))


def options_said(options: Sequence[Any] | Mapping[Any, Any]) -> str:
    """The options as a marked argument."""
    is_coded = isinstance(options, Mapping)
    return argument("options", dict(options) if is_coded else list(options))


def refuse_unknown_words(
    names: Sequence[str],
    words: Sequence[str],
    column: str,
    alike: Alike = lambda _: 1.0,
    evident: Evident | None = None,
) -> None:
    """Raise an error that asks what words mean, if the columns are those of options.

    Parameters
    ----------
    names
        Columns that may be attributes of options.
    words
        What the column of choices holds.
    column
        Its name.
    alike, evident
        As of `wide_layout`.
    """
    layouts = likely_layouts(names, alike)
    usual = [tags for tags, _ in layouts if are_usual(tags)]
    usual += [tags for tags, by in layouts if (evident or is_evident)(tags, by)]
    usual = [tags for tags in usual if len(tags) <= len(words) <= len(tags) + FEW_OTHERS]
    usual = [tags for tags in usual if not any(plain(t) in OF_OPTIONS for t in tags)]
    if not usual:
        return
    tags = min(usual, key=lambda tags: len(words) - len(tags))
    m = len(tags)
    numbers = sorted((word for word in words if re.fullmatch(r"\d+", word)), key=int)
    if len(numbers) == len(words) == m + 1:
        odd = numbers[0] if numbers[0] == "0" and numbers[-1] == str(m) else numbers[-1]
        raise _doubtful(odd, numbers, tags, column)
    ordered = sorted(words, key=lambda word: (not word[:1].isalnum(), len(word), word))
    if m == len(words) == 2:
        pairs = list(dict.fromkeys(own for own in usual if len(own) == 2))[:2]
        ways = [dict(zip(words, own, strict=True)) for pair in pairs for own in (pair, pair[::-1])]
        raise DataError(
            f"{argument('options')} must say what {format_list(map(repr, words))} in {column} "
            "mean, as "
            f"the columns describe the options {' or '.join(map(format_list, pairs))} and both can "
            f"be meant. Pass {', or '.join(map(options_said, ways))}."
        )
    raise DataError(
        f"{argument('options')} must say what {format_list(map(repr, words))} in {column} mean, as "
        f"the columns describe the options {format_list(tags)}, and each can be any. Pass "
        f"{options_said(ordered[:m])} if this is their order, or "
        f"{options_said(ordered[m - 1 :: -1])}{'' if m == 2 else ', or another'}."
    )


def are_usual(options: Sequence[str]) -> bool:
    """Whether words are what options are called: letters, numbers, sides, or counted by these.

    >>> are_usual(["A", "B"]), are_usual(["plan1", "plan2"]), are_usual(["car", "bus"])
    (True, True, False)
    """
    if all(map(_is_usual, options)):
        return True
    bare = [plain(option) for option in options]
    stems = {word[:-1] for word in bare}
    ends = [word[-1:] for word in bare]
    series = (["1", "2", "3", "4", "5", "6"], [*"abcdef"])
    return len(stems) == 1 and any(ends == own[: len(ends)] for own in series)


def _is_usual(option: str) -> bool:
    """Whether a word is what options are called: a letter, a number, a side."""
    bare = tag(option)
    return len(bare) == 1 or bare.isdigit() or bare in SIDES
