"""Decisions between offers: amounts and delays, or outcomes and probabilities, in any unit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penchant._typing import Vector
from penchant.errors import DataError, argument, format_list, quoted_argument
from penchant.files.table import typed
from penchant.models.offers.offers import offers_from_frame
from penchant.reading.ambiguous import ask_about_codes
from penchant.reading.asked import (
    Asked,
    Built,
    Place,
    chosen_column,
    offer_notes,
    seen_words,
    with_column,
    word,
)
from penchant.reading.whose import ask_about_people, may_be_people
from penchant.tables.answers import ask_about_sides
from penchant.tables.cells import CURRENCIES, TIMES, amount, amounts, is_nothing
from penchant.tables.columns import named_column, plain_name
from penchant.tables.designs import alike_in, follows, is_of_design
from penchant.tables.events import NOTHING
from penchant.tables.frames import check_columns, column_floats, open_frame, row_place
from penchant.tables.labels import NUMBER
from penchant.tables.laboratory import CHOSEN, Cleaned
from penchant.tables.offer_columns import (
    FIRST_WORDS,
    LATER_AMOUNT,
    NO_COLUMN,
    SECOND_WORDS,
    SOONER_AMOUNT,
    SOONER_DELAY,
    OfferColumns,
    offer_columns,
)
from penchant.tables.play import FAR, MARKS
from penchant.tables.surveys import (
    CUTS,
    FEW_OTHERS,
    NOT,
    WideLayout,
    halves,
    likely_layouts,
    options_said,
)
from penchant.tables.where import where_said

AMOUNT = (
    *("amount", "amt", "value", "val", "money", "reward", "magnitude", "mag", "sum", "payoff"),
    *("payout", "pay", "dollar", "euro", "pound", "cash", "betrag", "monto", "montant", "importo"),
    "bedrag",
)
DELAY = (
    *("delay", "delaydays", "delayindays", "days", "day", "wait", "waitdays", "delays", "waiting"),
    *("verzogerung", "verzoegerung", "wartezeit", "tage", "delai", "jours", "demora", "dias"),
    *("ritardo", "giorni", "wachttijd", "dagen", "weeks", "months"),
)
OUTCOME = (*AMOUNT, "outcome", "gain", "win", "prize")
PROBABILITY = (
    *("probability", "prob", "p", "chance", "pwin", "probabilitie", "odds", "pct", "percent"),
    *("likelihood", "wahrscheinlichkeit", "probabilidad", "probabilite", "probabilita", "kans"),
)
AMBIGUITY = ("ambiguity", "ambig", "ambiguou", "ambiguitylevel", "ambiglevel", "al")
MORE = 0.8  # share of decisions in which the delayed or risky option pays more
TAKEN = "option taken"


def offers_of(
    layout: WideLayout, lone: Sequence[str] = (), table: pa.Table | None = None
) -> dict[str, list[Any]] | None:
    """Amounts with their delays or chances, of a wide layout; None for others.

    A delay or a chance that is told once belongs to one of two options; what the other pays is at
    once, or for sure.

    Parameters
    ----------
    layout
        Of the columns.
    lone
        Columns beside it that may be a delay or a chance of one of the options.
    table
        That holds them.

    Examples
    --------
    >>> layout = WideLayout(("left", "right"), {"amounts": ("a", "b"), "delays": ("c", "d")}, {})
    >>> offers_of(layout)
    {'amount': ['a', 'b'], 'delay': ['c', 'd']}
    """
    if layout.opt_out is not None or len(layout.options) < 2:
        return None
    found: dict[str, list[Any]] = {}
    for name, columns in layout.attributes.items():
        part = part_of(name, [c for c in columns if c is not None], table)
        if part is None or part in found or (part == "amount" and None in columns):
            return None
        if part == "probability" and None in columns:
            _check_chances(name, columns, layout)
        found[part] = [_OF_THE_OTHER.get(part) if c is None else c for c in columns]
    for name in lone:
        part = part_of(name, [name], table)
        if part in (None, "amount") or part in found or "amount" not in found or table is None:
            continue
        at = _whose(layout, found["amount"], table)
        if at is None:
            raise _ask_whose(name, str(part), layout, found)
        found[str(part)] = [name if k == at else _OF_THE_OTHER[str(part)] for k in (0, 1)]
    if "amount" not in found or len(found) < 2:
        return None
    if {*found} == {"amount", "probability"}:
        return {"outcome": found["amount"], "probability": found["probability"]}
    return found


# What an option has where only the other one's is told.
_OF_THE_OTHER = {"delay": 0.0, "probability": 1.0, "ambiguity": 0.0}


def _check_chances(name: str, columns: Sequence[str | None], layout: WideLayout) -> None:
    """Refuse a probability that an option lacks which is not called sure: it may never come."""
    told = [column for column in columns if column is not None]
    without = [o for o, column in zip(layout.options, columns, strict=True) if column is None]
    ranks = [rank_of(option) for option in layout.options]
    if len(layout.options) == 2 and (rank_of(without[0]) == 0 or 1 in ranks):
        return
    amount_of = next((own for own in layout.attributes.values() if None not in own), columns)
    sure, never = (
        {"outcome": amount_of, "probability": [p if c is None else c for c in columns]}
        for p in (1, 0)
    )
    raise DataError(
        f"{name} must be told of every option; got {format_list(told)}, but none of option "
        f"{format_list(without)}, which can be read in two ways: it comes for sure (1), or never "
        f"(0). Pass {offers_said(sure)}, or {offers_said(never)}."
    )


# Words of what one pays, which is no amount that one gets.
_PRICES = frozenset(
    (
        *("price", "cost", "fee", "fare", "premium", "rent", "tariff", "toll", "charge", "tax"),
        *("copay", "surcharge", "expense", "preis", "kosten", "prix", "cout", "precio", "costo"),
        *("coste", "prezzo", "prijs", "preco", "avgift", "huur", "miete", "loyer"),
    )
)


def part_of(name: str, columns: Sequence[str], table: pa.Table | None) -> str | None:
    """What an attribute is, by its name or the units of its cells: amount, delay, probability."""
    bare = re.sub(r"(?<=[a-z]{2})s$", "", plain_name(name))
    parts = {bare} | {plain_name(part) for part in CUTS.split(name)}
    for part, usual in (
        ("ambiguity", AMBIGUITY),
        ("delay", DELAY),
        ("probability", PROBABILITY),
        ("amount", OUTCOME),
    ):
        if parts & {*usual}:
            return None if part == "amount" and parts & _PRICES else part
    if table is None or parts & _PRICES:
        return None
    cells = [cell for column in columns for cell in pc.unique(table[column]).to_pylist()]
    read = [amount(cell) for cell in cells if not is_nothing(cell)]
    if not read or any(one is None for one in read):
        return None
    units = {one[1] for one in read if one is not None and one[0] != 0}
    if units and units <= {*TIMES}:
        return "delay"
    if units == {"%"}:
        return "probability"
    return "amount" if units and units <= CURRENCIES else None


def rank_of(text: str) -> int | None:
    """0 for a word of what is sooner or sure, 1 for what is later or risky, None for others.

    >>> rank_of("SS"), rank_of("delayed"), rank_of("not ss"), rank_of("blue")
    (0, 1, 1, None)
    """
    bare = plain_name(text.removeprefix(NOT))
    if bare not in FIRST_WORDS | SECOND_WORDS or bare in _YES_OR_NO | _ACCEPTS:
        return None
    return int((bare in SECOND_WORDS) != text.startswith(NOT))


def by_rank(
    table: pa.Table, chosen: str, names: Sequence[str], asked: Asked
) -> tuple[pa.Table, str] | None:
    """The choices by place, where words such as later and sooner are told of left and right.

    None where columns describe no two places with delays or chances, or the words are of places.

    Parameters
    ----------
    table, chosen
        Of decisions, and its column of choices.
    names
        Columns that may describe places.
    asked
        What was said of the table.
    """
    words = seen_words(table, chosen)
    rank = {text: rank_of(text) for text in words}
    ranked = [r for pair in halves(chosen) for o in pair if (r := rank_of(o)) is not None]
    if ranked and {*words} == {"0", "1"}:  # chose_ll
        rank = {"1": ranked[0], "0": 1 - ranked[0]}
    answers = {plain_name(text) for text in words} & (_YES_OR_NO | _ACCEPTS)
    if not words or answers or None in rank.values():
        return None
    for tags, by in likely_layouts(names, alike_in(table)):
        if len(tags) != 2 or any(rank_of(one) is not None for one in tags):
            continue
        own = {name: tuple(columns[t] for t in tags) for name, columns in by.items()}
        found = offers_of(WideLayout(tags, own, {}), (), table) or {}
        part = next((p for p in ("delay", "probability") if p in found), None)
        if part is None:
            continue
        joined = [cell for name in found[part] for cell in table[name].to_pylist()]
        read = amounts(joined, part, decimal=asked.decimal, units=asked.units)
        if read is None:
            continue
        gap = read.values[len(table) :] - read.values[: len(table)]
        gap = gap if part == "delay" else -gap
        cells = [None if is_nothing(c) else rank[word(c)] for c in table[chosen].to_pylist()]
        if any(g == 0 and c is not None for g, c in zip(gap.tolist(), cells, strict=True)):
            return None
        places = [
            None if c is None else tags[int((g > 0) == bool(c))]
            for g, c in zip(gap.tolist(), cells, strict=True)
        ]
        said = "later" if part == "delay" else "less likely"
        note = f"{chosen} tells whether the {said} option was chosen: taken for its place"
        return with_column(table, chosen, pa.array(places, pa.string())), note
    return None


def _whose(layout: WideLayout, amounts_of: Sequence[str], table: pa.Table) -> int | None:
    """Which of two options a delay or chance is of: the one called so, or the one that pays more.

    None where neither is sure.
    """
    ranks = [rank_of(option) for option in layout.options]
    if len(ranks) != 2:
        return None
    if ranks.count(1) == 1 or ranks.count(0) == 1:
        return ranks.index(1) if 1 in ranks else 1 - ranks.index(0)
    both = [[amount(cell) for cell in table[name].to_pylist()] for name in amounts_of]
    more = [b[0] - a[0] for a, b in zip(*both, strict=True) if a is not None and b is not None]
    for at, sign in ((1, 1.0), (0, -1.0)):
        if more and np.mean([sign * gap > 0 for gap in more]) >= MORE:
            return at
    return None


def _ask_whose(
    name: str, part: str, layout: WideLayout, found: Mapping[str, Sequence[Any]]
) -> DataError:
    other = _OF_THE_OTHER[part]
    one, two = ({**found, part: own} for own in ([other, name], [name, other]))
    return DataError(
        f"{argument('offers')} must be given, as {name} may be the {part} of option "
        f"{layout.options[1]} or of {layout.options[0]}. Pass {offers_said(one)}, or "
        f"{offers_said(two)}."
    )


def lone_column(table: pa.Table, used: Collection[str], asked: Asked) -> str | None:
    """A column of few numbers that vary as what is offered does, and tell of no option."""
    subject = asked.columns.get("subject")
    known = {name for name in asked.columns.values() if isinstance(name, str)} | {*used}
    described = [column for column in used if column in table.column_names]
    for name in map(str, table.column_names):
        free = name not in known and is_of_design(table, name, subject)
        if free and not follows(table, name, described):
            return name
    return None


def whose_column(
    name: str, found: Mapping[str, Sequence[Any]], options: Sequence[str], left: str | None = None
) -> DataError:
    """Ask what a column is that tells of every decision, but of no option."""
    own = plain_name(name)
    part = "ambiguity" if "ambig" in own else "effort" if "effort" in own else name
    one, two = ({**found, part: cells} for cells in ([0, name], [name, 0]))
    without = offers_said(found) if left is None else argument("attributes", left)
    return DataError(
        f"{argument('offers')} must be given, as {name} tells of every decision, but of no "
        f"option: it may be of {options[1]} alone, of {options[0]}, or of neither. Pass "
        f"{offers_said(one)}, {offers_said(two)}, or {without} to leave it out; models know "
        "amount, delay, probability, ambiguity and effort."
    )


def from_offers(
    clean: Cleaned,
    asked: Asked,
    place: Place,
    layout: WideLayout | None = None,
    described: Mapping[str, Sequence[Any]] | None = None,
) -> Built:
    """Decisions between offers, one row each."""
    del place  # rows stay what they are
    table = _with_losses(clean.table, asked.offers)
    offers = asked.offers or described
    given = {part: asked.columns.get(part) for part in ("subject", "block", "chosen", "scored")}
    if given["chosen"] is None and layout is not None:
        given["chosen"] = chosen_column(table, asked, CHOSEN)
    found = offer_columns(table.column_names, given, offers)
    check_columns(open_frame(table), found.roles())
    if "subject" not in asked.said:
        ask_about_people(table, found.subject)
    if "chosen" not in asked.said and layout is None and asked.options is None:
        known = {name for names in found.roles().values() for name in names}
        ask_about_sides(table, found.chosen, {*clean.own} | known, found.subject)
    table, notes = _with_numbers(table, found, asked)
    if asked.offers is None:
        _check_codes(table, found)
        if layout is None:
            _check_rivals(table, found)
    table, percent = _with_chances(table, found)
    notes = (*notes, *percent)
    taken = _taken(table, found, asked, layout)
    if asked.offers is None:
        used = {name for names in found.roles().values() for name in names} | clean.own
        lone = lone_column(table, used, asked)
        if lone is not None:
            options = layout.options if layout is not None else ("the second option", "the first")
            raise whose_column(lone, found.offers, options[::1] if layout else options[::-1])
    table = with_column(table, TAKEN, pa.array(taken.cells))
    arguments: dict[str, Any] = {
        "subject": found.subject or NO_COLUMN,
        "block": found.block or NO_COLUMN,
        "scored": found.scored or NO_COLUMN,
        "chosen": TAKEN,
        "offers": found.offers if asked.offers or layout is not None else None,
    }
    trials = offers_from_frame(table, **arguments)
    if found.subject is None:
        described_by = {name for names in found.roles().values() for name in names}
        notes = (*notes, *may_be_people(table, {*described_by, *clean.own, TAKEN}))
    columns = {
        part: str(getattr(found, part))
        for part in ("subject", "block", "chosen", "scored")
        if getattr(found, part)
    }
    for attribute, cells in found.offers.items():
        columns[attribute] = ", ".join(_said(cell) for cell in cells)
    return Built(
        data=trials,
        columns=columns,
        options=taken.options,
        table=table,
        notes=(*notes, *taken.notes),
        arguments=arguments,
        model=_model(trials[0].offers),
        doubts=offer_notes(trials),
    )


def _with_losses(table: pa.Table, offers: Mapping[str, Any] | None) -> pa.Table:
    """A table with a column of what is lost, where it is asked for as -loss."""
    cells = [cell for own in (offers or {}).values() if not isinstance(own, str) for cell in own]
    flat = [part for cell in cells for part in (cell if _is_several(cell) else [cell])]
    for name in dict.fromkeys(flat):
        if not isinstance(name, str) or name in table.column_names or name[:1] != "-":
            continue
        if name[1:] in table.column_names:
            lost = [_negative(cell) for cell in table[name[1:]].to_pylist()]
            table = table.append_column(name, typed(lost))
    return table


def _negative(cell: Any) -> Any:
    if is_nothing(cell) or not isinstance(cell, str):
        return None if is_nothing(cell) else -cell
    text = cell.strip()
    return text[1:] if text[0] in "-−–" else f"-{text}"


def _said(cell: Any) -> str:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, (int, float)):
        return f"{cell:g}"
    return " and ".join(map(_said, cell))


def _model(offers: Mapping[str, Any]) -> str:
    if "delay" in offers:
        return "HyperbolicDiscounting()"
    losses = "outcome" in offers and (offers["outcome"] < 0).any()
    return "models.ProspectValue()" if losses else "models.ExpectedUtility()"


def _with_numbers(
    table: pa.Table, found: OfferColumns, asked: Asked
) -> tuple[pa.Table, tuple[str, ...]]:
    """The columns of offers as numbers, those of one attribute in one unit."""
    notes = []
    for attribute, cells in found.offers.items():
        flat = [part for cell in cells for part in (cell if _is_several(cell) else [cell])]
        names = [name for name in dict.fromkeys(flat) if isinstance(name, str)]
        text = [name for name in names if pa.types.is_string(table[name].type)]
        if not text:
            continue
        joined = [cell for name in names for cell in table[name].to_pylist()]
        read = amounts(
            joined,
            attribute,
            decimal=asked.decimal,
            units=asked.units,
            place=lambda cell: row_place(cell % len(table)),  # noqa: B023 - called at once
        )
        if read is None:
            raise _no_amounts(table, names, attribute, asked.decimal)
        for k, name in enumerate(names):
            own = read.values[k * len(table) : (k + 1) * len(table)]
            table = with_column(table, name, pa.array(own, from_pandas=True))
        notes += read.notes(attribute)
    return table, tuple(notes)


def _columns_of(found: OfferColumns, attribute: str) -> list[str]:
    """Columns of an attribute, each once."""
    cells = found.offers[attribute]
    flat = [part for cell in cells for part in (cell if _is_several(cell) else [cell])]
    return [name for name in dict.fromkeys(flat) if isinstance(name, str)]


def _values(table: pa.Table, names: Sequence[str]) -> Vector:
    frame = open_frame(table)
    return np.concatenate([column_floats(frame, name, name) for name in names])


def _check_codes(table: pa.Table, found: OfferColumns) -> None:
    """Ask about numbers such as -99 among what was offered."""
    described = {
        attribute: (names, _values(table, names))
        for attribute in found.offers
        if (names := _columns_of(found, attribute))
    }
    ask_about_codes(described, dict.fromkeys(described, offers_said(found.offers)))


def _check_rivals(table: pa.Table, found: OfferColumns) -> None:
    """Ask about another column that may be an amount of the same option, and says otherwise."""
    amounts_of = found.offers.get("amount", ())
    for cell, usual in zip(amounts_of, (SOONER_AMOUNT, LATER_AMOUNT), strict=False):
        known = {plain_name(name) for name in usual}
        for name in table.column_names:
            rival = plain_name(name) in known and name not in _columns_of(found, "amount")
            if not rival or plain_name(cell) not in known or pa.types.is_string(table[name].type):
                continue
            if table[name].to_pylist() == table[cell].to_pylist():
                continue
            other = {**found.offers, "amount": [name if c == cell else c for c in amounts_of]}
            raise DataError(
                f"{argument('offers')} must be given, as {cell} and {name} can both be the amount "
                f"of the same option. Pass {offers_said(found.offers)}, or {offers_said(other)}."
            )


def offers_said(offers: Mapping[str, Sequence[Any]]) -> str:
    """The offers as an argument, or as one types them.

    >>> from penchant.errors import in_python
    >>> in_python(offers_said({"amount": ("now", "later"), "delay": (0.0, "days")}))
    "offers={'amount': ['now', 'later'], 'delay': [0, 'days']}"
    """
    written = {
        name: [list(map(_plain, cell)) if _is_several(cell) else _plain(cell) for cell in cells]
        for name, cells in offers.items()
    }
    return argument("offers", written)


def _plain(cell: Any) -> Any:
    return int(cell) if isinstance(cell, float) and cell == int(cell) else cell


def _with_chances(table: pa.Table, found: OfferColumns) -> tuple[pa.Table, tuple[str, ...]]:
    """Probabilities that are all written in percent, as 50 for one half, divided by 100."""
    names = _columns_of(found, "probability") if "probability" in found.offers else []
    values = _values(table, names) if names else np.zeros(0)
    given = values[~np.isnan(values)]
    if not given.size or given.max() <= 1 or given.max() > 100 or given.min() < 0:
        return table, ()
    low = given[(given > 0) & (given <= 1)]
    if low.size:
        raise DataError(
            f"probability must be in percent or not; got {low[0]:g} and {given.max():g} in "
            f"{format_list(names)}, of which the first can be read in two ways: {low[0]:g}, or "
            f"{low[0]:g} percent. Write all of them from 0 to 1."
        )
    for name in names:
        own = column_floats(open_frame(table), name, name) / 100
        table = with_column(table, name, pa.array(own, from_pandas=True))
    return table, (f"probability is in percent ({given.max():g} at most): divided by 100",)


def _is_several(cell: Any) -> bool:
    return not isinstance(cell, (str, int, float))


def _no_amounts(table: pa.Table, names: Sequence[str], what: str, decimal: str) -> DataError:
    for name in names:
        for row, cell in enumerate(table[name].to_pylist()):
            if not is_nothing(cell) and amount(cell, decimal) is None:
                typed = argument("decimal", ",")
                comma = f" Pass {typed} if it is a decimal comma." if "," in str(cell) else ""
                return DataError(
                    f"{name} must hold numbers, as {what} of an option; got {cell!r} at row {row}."
                    + (comma or f" Correct it, or leave its row out by {quoted_argument('where')}.")
                )
    return DataError(f"{what} must be known of some decisions; got none in {format_list(names)}.")


class _Taken:
    """The option of every row, None where there is none, and what each word means."""

    def __init__(
        self,
        cells: Sequence[Any],
        index: Mapping[str, int],
        labels: Sequence[str],
        notes: tuple[str, ...] = (),
    ):
        self.cells = [None if is_nothing(cell) else index.get(word(cell)) for cell in cells]
        in_order = sorted(index.items(), key=lambda pair: pair[1])
        self.options = {key: labels[k] for key, k in in_order}
        self.notes = notes

    @classmethod
    def by_value(cls, taken: Sequence[Any]) -> _Taken:
        """What was taken where the column of choices repeats what the option offers."""
        found = cls([], {}, [])
        found.cells = list(taken)
        found.options = {"an amount": "the option that offers it"}
        return found


def _taken(table: pa.Table, found: OfferColumns, asked: Asked, layout: WideLayout | None) -> _Taken:
    """Which option the words of the column of choices mean."""
    cells = table[found.chosen].to_pylist()
    first = next(iter(found.offers.values()))
    labels = _labels(table, found, first)
    every = seen_words(table, found.chosen)
    said = {word(key) for key in asked.options or ()}
    marks = [key for key in every if _is_mark(key, len(labels)) and key not in said]
    marks = marks if len(every) - len(marks) > 1 else []  # keys 1 and 9 are two options
    seen = [key for key in every if key not in marks]
    notes = tuple(f"{key} in {found.chosen} taken for no choice" for key in marks)
    if layout is not None:
        places = {key: layout.options.index(name) for key, name in layout.words.items()}
        return _Taken(cells, places, labels, notes)
    if isinstance(asked.options, Mapping):
        index = {word(key): _asked_place(value, labels) for key, value in asked.options.items()}
    elif asked.options is not None:
        index = {word(key): k for k, key in enumerate(asked.options)}
    else:
        index = _understood(cells, seen, asked, found, labels)
        named = asked.offers is not None and "chosen" in asked.said  # in the order of the offers
        named &= plain_name(found.chosen) not in FIRST_WORDS  # refused, safe: 1 is the first then
        flagged = {*seen} <= _FLAGS and asked.base is None and not _is_usual(found.chosen)
        if index and flagged and not named:
            raise _not_understood(seen, sorted(seen), found, labels)
        if not index:
            by_value = _by_value(table, found, cells)
            if by_value is not None:
                return _Taken.by_value(by_value)
            _check_first_number(cells, seen, len(labels), found.chosen)
    unknown = [key for key in seen if key not in index and key not in ("-1",)]
    if unknown and asked.options is not None and len(index) >= len(labels):
        raise _left(unknown[0], found.chosen)
    if unknown and asked.options is None and not any(map(NUMBER.match, seen)):
        _check_others(cells, seen, found.chosen, len(labels))
    if unknown:
        raise _not_understood(unknown, seen, found, labels)
    return _Taken(cells, {key: index[key] for key in seen if key in index}, labels, notes)


_FLAGS = frozenset(("0", "1"))


def _is_usual(chosen: str) -> bool:
    """Whether a column is called as choices often are: 1 is then the second option."""
    return plain_name(chosen) in {plain_name(name) for name in (*CHOSEN, TAKEN)}


def _is_mark(key: str, n_options: int) -> bool:
    """Whether a number is a code for no choice, and cannot be that of an option that is described.

    >>> _is_mark("-99", 2), _is_mark("99", 2), _is_mark("2", 2)
    (True, True, False)
    """
    number = int(key) if re.fullmatch(r"-?\d{1,4}", key) else 0
    return number < NOTHING or (number in MARKS and number > FAR * n_options)


def _labels(table: pa.Table, found: OfferColumns, first: Sequence[Any]) -> list[str]:
    """What the options are called: sooner and later, sure and gamble, or by their columns."""
    wait = found.offers.get("delay", (1.0,))[0]
    if len(first) == 2 and (wait == 0.0 or named_column(SOONER_DELAY, [str(wait)])):
        return ["0 (sooner)", "1 (later)"]
    if len(first) == 2 and isinstance(wait, str) and _is_at_once(table, wait):
        return ["0 (sooner)", "1 (later)"]
    return [f"{k} ({_said(cell)})" for k, cell in enumerate(first)]


def _is_at_once(table: pa.Table, wait: str) -> bool:
    """Whether what a column of delays tells of is always paid at once."""
    waits = column_floats(open_frame(table), wait, "delay")
    return bool((waits[~np.isnan(waits)] == 0).all() and (waits == 0).any())


def _asked_place(value: Any, labels: Sequence[str]) -> int:
    if isinstance(value, int) and 0 <= value < len(labels):
        return value
    fitting = [k for k, label in enumerate(labels) if str(value) in label]
    if len(fitting) != 1:
        raise DataError(
            f"{argument('options')} must map words to the options {format_list(labels)}; got "
            f"{value!r}. "
            "Write their number, from 0."
        )
    return fitting[0]


def _understood(
    cells: Sequence[Any],
    seen: Sequence[str],
    asked: Asked,
    found: OfferColumns,
    labels: Sequence[str],
) -> dict[str, int]:
    """Words such as sooner, later and gamble, and numbers that say where they begin."""
    numbers = {key: int(key) for key in seen if re.fullmatch(r"-?\d{1,3}", key)}
    m = len(labels)
    if len(numbers) == len(seen) and asked.base is None and max(numbers.values()) > m:
        return {}  # amounts, perhaps
    if len(numbers) == len(seen):
        start = asked.base
        if start is None:
            start = _first_number(cells, {*numbers.values()} - {-1}, m, found.chosen)
        inside = {key: k - start for key, k in numbers.items() if 0 <= k - start < m}
        odd = {key for key, k in numbers.items() if key not in inside and k not in (-1, start - 1)}
        return {} if odd else inside
    known: dict[str, int] = {}
    if _answers_unasked(seen, found):
        return known
    for key in seen:
        bare = plain_name(key.removeprefix(NOT))
        if bare not in FIRST_WORDS | SECOND_WORDS:
            bare = _only_word(key)
        if bare in FIRST_WORDS | SECOND_WORDS:
            known[key] = int((bare in SECOND_WORDS) != key.startswith(NOT))
    return known if len(known) == len(seen) and m == 2 else {}


def _only_word(text: str) -> str:
    """A word for one of two offers in a sentence that has none for the other; "" without.

    >>> _only_word("I take the larger later"), _only_word("not now but later")
    ('larger', '')
    """
    words = [plain_name(word) for word in text.split()]
    if {*words} & {"not", "nicht", "pas", "no", "non"}:
        return ""
    sides = [
        [word for word in words if word in own - _OF_ANYTHING]
        for own in (FIRST_WORDS, SECOND_WORDS)
    ]
    return next((own[0] for own in sides if own), "") if not all(sides) else ""


_OF_ANYTHING = frozenset(("take", "leave", "play", "pass", "bet", "skip"))
_YES_OR_NO = frozenset(("yes", "no"))
_ACCEPTS = frozenset(("accept", "accepted", "reject", "rejected", "decline"))
_SAYS_LATTER = re.compile(r".*(later|ll|delay|wait|gambl|risk|lotter|accept).*")


def _answers_unasked(seen: Sequence[str], found: OfferColumns) -> bool:
    """Whether answers are yes and no, and nothing says which of the offers was asked about."""
    words = {plain_name(key) for key in seen}
    doubtful = _YES_OR_NO | (_ACCEPTS if "delay" in found.offers else frozenset())
    against_nothing = any(cell in (0.0, (0.0, 0.0)) for cell in found.offers.get("outcome", ()))
    named = _SAYS_LATTER.fullmatch(plain_name(found.chosen)) is not None
    return bool(words & doubtful) and not named and not against_nothing


def _check_first_number(cells: Sequence[Any], seen: Sequence[str], m: int, column: str) -> None:
    """Ask where numbers begin that are no amounts, and no codes of keys."""
    if seen and all(re.fullmatch(r"-?\d{1,3}", key) for key in seen):
        numbers = {int(key) for key in seen} - {-1}
        if len(numbers) != m or max(numbers) - min(numbers) < m:
            _first_number(cells, numbers, m, column)


def _first_number(cells: Sequence[Any], seen: set[int], m: int, column: str) -> int:
    low, high = min(seen, default=0), max(seen, default=0)
    if low == 0 and high < m:
        return 0
    if low >= 1 and high == m:
        return 1
    row = [word(cell) for cell in cells].index(str(high))
    shown = (
        f"{column} holds {format_list(map(str, sorted(seen)))} ({high} at {row_place(row)}), and "
        f"there are {m} options"
    )
    both = "counted from 0"
    if low == 0:
        both += f" with {high} too many"
    raise DataError(
        f"{argument('base')} must be given, as {shown}, which can be read in two ways: {both}, or "
        f"from 1{' with 0 for no choice' if low == 0 else ''}. Pass "
        f"{argument('base', 0)} or {argument('base', 1)}, or {argument('options')} with the words "
        "in their order."
    )


def _by_value(table: pa.Table, found: OfferColumns, cells: Sequence[Any]) -> list[Any] | None:
    """The option whose amount stands in the column of choices, where it is one in every row."""
    for columns in found.offers.values():
        if not all(isinstance(name, str) for name in columns):
            continue
        offered = [table[name].to_pylist() for name in columns]
        taken: list[Any] = []
        for row, cell in enumerate(cells):
            if is_nothing(cell):
                taken.append(None)
                continue
            said = amount(cell)
            own = [k for k, column in enumerate(offered) if said and column[row] == said[0]]
            if len(own) != 1:
                break
            taken.append(own[0])
        if len(taken) == len(cells):
            return taken
    return None


def _not_understood(
    unknown: Sequence[str], seen: Sequence[str], found: OfferColumns, labels: Sequence[str]
) -> DataError:
    pair = [*seen[:2], "..."][:2] if len(seen) > 1 else [seen[0], "..."]
    return DataError(
        f"{argument('options')} must say what {format_list(map(repr, unknown))} in {found.chosen} "
        f"means, as it can be read in two ways. Pass {options_said(pair)} if {pair[0]!r} is "
        f"{labels[0]}, or {options_said(pair[::-1])} if it is {labels[-1]}."
    )


def _left(odd: str, column: str) -> DataError:
    """Say how to leave out a word for which no option was named."""
    name = column if column.isidentifier() else f"`{column}`"
    return DataError(
        f"{argument('options')} must say what every word of {column} means; got none for {odd!r}. "
        f"Pass {where_said(f'{name} != {odd!r}')} if it marks decisions that nobody made."
    )


def _check_others(cells: Sequence[Any], seen: Sequence[str], column: str, m: int) -> None:
    """Ask about the word that is rarest, where there are more words than options."""
    if not m < len(seen) <= m + FEW_OTHERS:
        return
    count = Counter(word(cell) for cell in cells if not is_nothing(cell))
    odd = min(seen, key=lambda key: count[key])
    name = column if column.isidentifier() else f"`{column}`"
    others = [key for key in seen if key != odd]
    raise DataError(
        f"{argument('where')} must be given, as {column} holds {format_list(map(repr, seen))}, and "
        f"{m} options are described: {odd!r}, which is rarest, may mark decisions that nobody "
        f"made. Pass {where_said(f'{name} != {odd!r}')} to leave these rows out, or "
        f"{options_said(others)} with the words of the options in their order."
    )
