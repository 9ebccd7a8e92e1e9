"""Decisions between offers: amounts and delays, or outcomes and probabilities, in any unit."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penchant._typing import Vector
from penchant.errors import DataError, listing
from penchant.models.offers.offers import offers_from_frame
from penchant.reading.asked import Asked, Built, Place, chosen_column, seen_words, with_column, word
from penchant.reading.codes import ask_about_codes
from penchant.reading.doubts import offer_notes
from penchant.reading.whose import ask_about_people
from penchant.tables.answers import ask_about_sides
from penchant.tables.cells import amount, amounts, is_nothing
from penchant.tables.columns import named_column, plain_name
from penchant.tables.events import NOTHING
from penchant.tables.frames import check_columns, column_floats, open_frame, row_place
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
from penchant.tables.surveys import NOT, WideLayout, options_said
from penchant.wording import argument, either, ticked

AMOUNT = ("amount", "amt", "value", "money", "reward", "magnitude", "sum", "payoff", "payout")
DELAY = ("delay", "delaydays", "delayindays", "days", "wait", "waitdays", "delays")
OUTCOME = (*AMOUNT, "outcome", "gain", "win", "prize")
PROBABILITY = ("probability", "prob", "p", "chance", "pwin", "probabilitie", "odds")
TAKEN = "option taken"


def offers_of(layout: WideLayout) -> dict[str, list[Any]] | None:
    """Amounts and delays, or outcomes and probabilities, of a wide layout; None for others.

    >>> layout = WideLayout(("left", "right"), {"amounts": ("a", "b"), "delays": ("c", "d")}, {})
    >>> offers_of(layout)
    {'amount': ['a', 'b'], 'delay': ['c', 'd']}
    """
    if layout.opt_out is not None or any(None in own for own in layout.attributes.values()):
        return None
    found: dict[str, list[Any]] = {}
    for name, columns in layout.attributes.items():
        bare = re.sub(r"(?<=[a-z]{2})s$", "", plain_name(name))
        for part, usual in (("delay", DELAY), ("probability", PROBABILITY), ("amount", OUTCOME)):
            if bare in usual and part not in found:
                found[part] = list(columns)
                break
    if {*found} == {"amount", "delay"} and len(layout.attributes) == 2:
        return found
    if {*found} == {"amount", "probability"} and len(layout.attributes) == 2:
        return {"outcome": found["amount"], "probability": found["probability"]}
    return None


def from_offers(
    clean: Cleaned, asked: Asked, place: Place, layout: WideLayout | None = None
) -> Built:
    """Decisions between offers, one row each."""
    del place  # rows stay what they are
    table = clean.table
    offers = asked.offers or (None if layout is None else offers_of(layout))
    given = {part: asked.columns.get(part) for part in ("subject", "block", "chosen", "scored")}
    if given["chosen"] is None and layout is not None:
        given["chosen"] = chosen_column(table, asked, CHOSEN)
    found = offer_columns(table.column_names, given, offers)
    check_columns(open_frame(table), found.roles())
    if "subject" not in asked.said:
        ask_about_people(table, found.subject)
    if "chosen" not in asked.said and layout is None and asked.options is None:
        described = {name for names in found.roles().values() for name in names}
        ask_about_sides(table, found.chosen, {*clean.own} | described, found.subject)
    table, notes = _with_numbers(table, found, asked)
    if asked.offers is None:
        _check_codes(table, found)
        if layout is None:
            _check_rivals(table, found)
    table, percent = _with_chances(table, found)
    notes = (*notes, *percent)
    words = layout.words if layout is not None else None
    taken = _taken(table, found, asked, words)
    table = with_column(table, TAKEN, pa.array(taken.cells))
    arguments: dict[str, Any] = {
        "subject": found.subject or NO_COLUMN,
        "block": found.block or NO_COLUMN,
        "scored": found.scored or NO_COLUMN,
        "chosen": TAKEN,
        "offers": found.offers if asked.offers or layout is not None else None,
    }
    trials = offers_from_frame(table, **arguments)
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

    >>> offers_said({"amount": ("now", "later"), "delay": (0.0, "days")})
    "offers={'amount': ['now', 'later'], 'delay': [0, 'days']}"
    """
    written = {
        name: [list(map(_plain, cell)) if _is_several(cell) else _plain(cell) for cell in cells]
        for name, cells in offers.items()
    }
    typed = ",".join(
        f"{name}=" + "/".join("+".join(map(str, c)) if _is_several(c) else str(c) for c in cells)
        for name, cells in written.items()
    )
    return either(f"offers={written!r}", f"--offers {shlex.quote(typed)}")


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
            f"{listing(names)}, of which the first can be read in two ways: {low[0]:g}, or "
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
                    + (comma or f" Correct it, or leave its row out by {ticked('where')}.")
                )
    return DataError(f"{what} must be known of some decisions; got none in {listing(names)}.")


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
        self.options = {key: labels[k] for key, k in index.items()}
        self.notes = notes

    @classmethod
    def by_value(cls, taken: Sequence[Any]) -> _Taken:
        """What was taken where the column of choices repeats what the option offers."""
        found = cls([], {}, [])
        found.cells = list(taken)
        found.options = {"an amount": "the option that offers it"}
        return found


def _taken(
    table: pa.Table, found: OfferColumns, asked: Asked, words: Mapping[str, str] | None
) -> _Taken:
    """Which option the words of the column of choices mean."""
    cells = table[found.chosen].to_pylist()
    first = next(iter(found.offers.values()))
    labels = _labels(found, first)
    marks = [key for key in seen_words(table, found.chosen) if _is_mark(key, len(labels))]
    seen = [key for key in seen_words(table, found.chosen) if key not in marks]
    notes = tuple(f"{key} in {found.chosen} taken for no choice" for key in marks)
    if words is not None:
        order = list(dict.fromkeys(words.values()))
        places = {name: _place_of(name, first, k) for k, name in enumerate(order)}
        return _Taken(cells, {key: places[name] for key, name in words.items()}, labels, notes)
    if isinstance(asked.options, Mapping):
        index = {word(key): _asked_place(value, labels) for key, value in asked.options.items()}
    elif asked.options is not None:
        index = {word(key): k for k, key in enumerate(asked.options)}
    else:
        index = _understood(cells, seen, asked, found, labels)
        if not index:
            by_value = _by_value(table, found, cells)
            if by_value is not None:
                return _Taken.by_value(by_value)
            _check_first_number(cells, seen, len(labels), found.chosen)
    unknown = [key for key in seen if key not in index and key not in ("-1",)]
    if unknown:
        raise _not_understood(unknown, seen, found, labels)
    return _Taken(cells, {key: index[key] for key in seen if key in index}, labels, notes)


def _is_mark(key: str, n_options: int) -> bool:
    """Whether a number is a code for no choice, and cannot be that of an option that is described.

    >>> _is_mark("-99", 2), _is_mark("99", 2), _is_mark("2", 2)
    (True, True, False)
    """
    number = int(key) if re.fullmatch(r"-?\d{1,4}", key) else 0
    return number < NOTHING or (number in MARKS and number > FAR * n_options)


def _labels(found: OfferColumns, first: Sequence[Any]) -> list[str]:
    """What the options are called: sooner and later, sure and gamble, or by their columns."""
    wait = found.offers.get("delay", (1.0,))[0]
    if len(first) == 2 and (wait == 0.0 or named_column(SOONER_DELAY, [str(wait)])):
        return ["0 (sooner)", "1 (later)"]
    return [f"{k} ({_said(cell)})" for k, cell in enumerate(first)]


def _place_of(name: str, columns: Sequence[Any], default: int) -> int:
    """Which of the columns belongs to an option of this name."""
    own = [k for k, column in enumerate(columns) if isinstance(column, str) and name in column]
    return own[0] if len(own) == 1 else default


def _asked_place(value: Any, labels: Sequence[str]) -> int:
    if isinstance(value, int) and 0 <= value < len(labels):
        return value
    fitting = [k for k, label in enumerate(labels) if str(value) in label]
    if len(fitting) != 1:
        raise DataError(
            f"{argument('options')} must map words to the options {listing(labels)}; got "
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
    sides = [[word for word in words if word in own] for own in (FIRST_WORDS, SECOND_WORDS)]
    return next((own[0] for own in sides if own), "") if not all(sides) else ""


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
    """Ask where numbers begin that are no amounts."""
    if seen and all(re.fullmatch(r"-?\d{1,3}", key) for key in seen):
        _first_number(cells, {int(key) for key in seen} - {-1}, m, column)


def _first_number(cells: Sequence[Any], seen: set[int], m: int, column: str) -> int:
    low, high = min(seen, default=0), max(seen, default=0)
    if low == 0 and high < m:
        return 0
    if low >= 1 and high == m:
        return 1
    row = [word(cell) for cell in cells].index(str(high))
    shown = (
        f"{column} holds {listing(map(str, sorted(seen)))} ({high} at {row_place(row)}), and there "
        f"are {m} options"
    )
    both = "counted from 0"
    if low == 0:
        both += f" with {high} too many"
    raise DataError(
        f"{argument('base')} must be given, as {shown}, which can be read in two ways: {both}, or "
        f"from 1{' with 0 for no choice' if low == 0 else ''}. Pass "
        f"{either('base=0 or base=1', '--base 1, or --options with the words in their order')}."
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
        f"{argument('options')} must say what {listing(map(repr, unknown))} in {found.chosen} "
        f"means, as it can be read in two ways. Pass {options_said(pair)} if {pair[0]!r} is "
        f"{labels[0]}, or {options_said(pair[::-1])} if it is {labels[-1]}."
    )
