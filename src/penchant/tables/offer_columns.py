"""Roles of the columns of a table of offers, found by their usual names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penchant.errors import (
    DataError,
    PythonExpression,
    format_list,
    format_names,
    mark_argument,
    mark_quoted_argument,
)
from penchant.tables.columns import (
    NO_COLUMN,
    named_column,
    numbered_on,
    plain_name,
)
from penchant.tables.lexicon import offer_names, role_column, says_nothing, vocabulary, words_of
from penchant.tables.play_columns import is_long, is_play

# Roles of the lexicon that say each part, tried in this order.
PARTS: Mapping[str, tuple[str, ...]] = {
    "subject": ("subject",),
    "block": ("block", "session"),
    "chosen": ("taken", "choice"),
    "scored": ("scored",),
}


@dataclass(frozen=True)
class OfferColumns:
    """The column of every part, and of every attribute of every option.

    Attributes
    ----------
    offers
        For every attribute the column, or number, of each option; a list for several outcomes.
        "-loss" is the column loss, whose size is lost, whatever its sign.
    """

    chosen: str
    offers: Mapping[str, Sequence[Any]]
    subject: str | None = None
    block: str | None = None
    scored: str | None = None

    @property
    def loses(self) -> bool:
        """Whether some column says what is lost."""
        cells = (cell for own in self.offers.values() for cell in own)
        return any(lost_column(part) for cell in cells for part in _parts(cell))

    def roles(self) -> dict[str, tuple[str, ...]]:
        """Columns that must exist, by part."""
        parts = ("subject", "block", "chosen", "scored")
        named = {part: getattr(self, part) for part in parts}
        roles: dict[str, tuple[str, ...]]
        roles = {part: (name,) for part, name in named.items() if name is not None}
        for attribute, cells in self.offers.items():
            flat = [part for cell in cells for part in _parts(cell)]
            roles[f"offers[{attribute!r}]"] = tuple(
                lost_column(part) or part for part in flat if isinstance(part, str)
            )
        return roles

    def describe(self) -> str:
        """Text of all roles and their columns, in one line.

        >>> OfferColumns("choice", {"amount": ("now", "later"), "delay": (0.0, "days")}).describe()
        'chosen = choice; amount = now, later; delay = 0, days'
        """
        parts = ("subject", "block", "chosen", "scored")
        said = [f"{part} = {getattr(self, part)}" for part in parts if getattr(self, part)]
        return "; ".join([*said, self.describe_offers()])

    def describe_offers(self) -> str:
        """Text of the columns of each attribute, option by option, in one line."""
        said = []
        for attribute, cells in self.offers.items():
            named = (" and ".join(map(_word, _parts(cell))) for cell in cells)
            said.append(f"{attribute} = {', '.join(named)}")
        return "; ".join(said)


# How offers of a gamble with a loss are written, to be pasted.
GAMBLE_WITH_LOSS = {
    "outcome": [["sure", 0], ["gain", "loss"]],
    "probability": [[1, 0], ["p_gain", "p_loss"]],
}


LOST = "-"  # before a column of losses


def lost_column(part: Any) -> str | None:
    """The column of losses that a cell such as "-loss" names; None for other cells."""
    return part.removeprefix(LOST) if isinstance(part, str) and part.startswith(LOST) else None


def _word(part: Any) -> str:
    return part if isinstance(part, str) else f"{part:g}"


def _parts(cell: Any) -> Sequence[Any]:
    return (cell,) if isinstance(cell, (str, int, float)) else tuple(cell)


def offer_columns(
    names: Sequence[str],
    given: Mapping[str, str | None],
    offers: Mapping[str, Sequence[Any]] | None = None,
) -> OfferColumns:
    """Find what is not given among the columns of a table.

    Examples
    --------
    >>> found = offer_columns(["subjID", "ss_amount", "ll_amount", "ll_delay", "choice"], {})
    >>> found.subject, found.offers["delay"]
    ('subjID', (0.0, 'll_delay'))
    >>> offer_columns(["subj", "gain", "loss", "cert", "gamble"], {}).offers["outcome"]
    (('cert', 0.0), ('gain', '-loss'))
    """
    described = offers if offers is not None else recognised_offers(names)
    if described is None:
        raise DataError(
            "offers",
            (
                "must say which columns describe the options, as none are called "
                "amount_sooner, amount_later and delay_later, or gain and cert or loss"
            ),
            got=f"columns {format_names(names)}",
            fix=(
                "Write "
                f"{mark_argument('offers', {'amount': ['now', 'later'], 'delay': [0, 'days']})}."
            ),
        )
    parts = {part: given.get(part) or part_column(part, names) for part in PARTS}
    parts = {part: None if name == NO_COLUMN else name for part, name in parts.items()}
    if parts["chosen"] is None:
        raise DataError(
            "chosen",
            "must be given, as no column is called chosen or choice",
            got=f"columns {format_names(names)}",
            fix=f"Name the column with {mark_quoted_argument('chosen')}.",
        )
    return OfferColumns(
        chosen=parts["chosen"],
        offers=described,
        subject=parts["subject"],
        block=parts["block"],
        scored=parts["scored"],
    )


def part_column(part: str, names: Sequence[str]) -> str | None:
    """The column of a part of a table of offers; None where no name says it."""
    found = (role_column(role, names) for role in PARTS[part])
    return next((name for name in found if name is not None), None)


def numbered_columns(
    names: Sequence[str], wanted: Sequence[str]
) -> dict[str, tuple[str, ...]] | None:
    """Columns of attributes that are numbered by option, or None where one has none.

    Examples
    --------
    >>> numbered_columns(["price_1", "price_2", "who"], ["price"])
    {'price': ('price_1', 'price_2')}
    >>> numbered_columns(["price_1", "price_2", "size"], ["price", "size"]) is None
    True
    """
    found = {stem: tuple(own.values()) for stem, own in numbered_on(names)[0].items()}
    if not found or any(name not in found for name in wanted):
        return None
    return {name: found[name] for name in wanted or found}


def is_offers(names: Sequence[str]) -> bool:
    """Whether the columns are those of decisions between offers rather than of play.

    Gains and losses alone may be what play paid; beside an amount that is sure, or later, they are
    offered.

    >>> is_offers(["subjID", "ss_amount", "ll_amount", "ll_delay", "choice"])
    True
    >>> is_offers(["gain", "loss", "cert", "choice"]), is_offers(["gain", "loss", "choice"])
    (True, False)
    """
    if is_long(names):
        return False
    try:
        offers = recognised_offers(names)
    except DataError:  # recognised, but not to the end
        return True
    if offers is None or part_column("chosen", names) is None:
        return False
    return "delay" in offers or _part("sure", names) is not None or not is_play(names)


# Attributes of the options in tables of tasks, as users of other tools have them, by their columns.
TASK_OFFERS: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "ambiguity": {
        "amount": ("reward_fix", "reward_var"),
        "probability": (0.5, "prob"),
        "ambiguity": (0.0, "ambig"),
    },
    "peers": {
        "high": ("safe_Hpayoff", "risky_Hpayoff"),
        "low": ("safe_Lpayoff", "risky_Lpayoff"),
        "probability": ("p_gamble", "p_gamble"),
        "condition": ("condition", "condition"),
    },
    "ultimatum": {"offer": (0.0, "offer")},
}
# Columns of a task beside those of its offers, without which its table is none.
TASK_MARKS = {"ultimatum": ("accept",)}


def _of_known_task(names: Sequence[str]) -> dict[str, tuple[Any, ...]] | None:
    """Attributes of a task whose columns are all there, by their names in this table.

    >>> _of_known_task(["subjID", "Offer", "accept"])
    {'offer': (0.0, 'Offer')}
    """
    for task, offers in TASK_OFFERS.items():
        cells = [cell for cells in offers.values() for cell in cells if isinstance(cell, str)]
        wanted = (*cells, *TASK_MARKS.get(task, ()))
        own = {name: named_column((name,), names) for name in wanted}
        if all(own.values()):
            return {
                attribute: tuple(own.get(cell, cell) for cell in cells)
                for attribute, cells in offers.items()
            }
    return None


def _part(part: str, names: Sequence[str]) -> str | None:
    return named_column(offer_names(part), names)


def known_offers(names: Sequence[str]) -> dict[str, tuple[Any, ...]] | None:
    """Attributes of offers at two times, where names say the sooner, the later and the delay.

    >>> known_offers(["id", "ss_amount", "ll_amount", "ll_delay", "choice"])["delay"]
    (0.0, 'll_delay')
    >>> known_offers(["x1", "x2", "t1", "t2", "choice"]) is None
    True
    """
    return _at_two_times([name for name in names if len(plain_name(name)) > 2])


def _at_two_times(names: Sequence[str]) -> dict[str, tuple[Any, ...]] | None:
    sooner, later = _part("sooner_amount", names), _part("later_amount", names)
    wait = _part("later_delay", names)
    if sooner and later and wait:
        delay = (_part("sooner_delay", names) or 0.0, wait)
        return {"amount": (sooner, later), "delay": delay}
    return _by_parts(names)


def recognised_offers(names: Sequence[str]) -> dict[str, tuple[Any, ...]] | None:
    """Offers of a known task, of a discounting table, or of gambles against a sure amount."""
    task = _of_known_task(names) or _at_two_times(names)
    if task is not None:
        return task
    gain, loss, p = (_part(one, names) for one in ("gain", "loss", "gain_probability"))
    both = gain_and_loss(names)
    if both is not None and (gain is None or loss is None):
        gain, loss = both
    sure = _part("sure", names) or (0.0 if loss else None)  # to gain or lose, or to leave it
    if gain is None or sure is None:
        return None
    if loss is None:
        return {"outcome": (sure, gain), "probability": (1.0, p or 0.5)}
    if p is not None:
        raise DataError(
            "offers",
            (
                f"must be given where a gamble has a loss and its gain a probability ({p!r}), "
                "as the loss has its own"
            ),
            got="neither",
            fix=f"Write {mark_argument('offers', GAMBLE_WITH_LOSS)}.",
        )
    outcome = ((sure, 0.0), (gain, LOST + loss))
    return {"outcome": outcome, "probability": ((1.0, 0.0), (0.5, 0.5))}


def gain_and_loss(names: Sequence[str]) -> tuple[str, str] | None:
    """The one column of what may be won, and the one of what may be lost, by parts of their names.

    >>> gain_and_loss(["id", "Gewinn", "Verlust"]), gain_and_loss(["gain_A", "gain_B", "loss"])
    (('Gewinn', 'Verlust'), None)
    """
    found: list[list[str]] = [[], []]
    for name in names:
        parts = {plain_name(part) for part in words_of(name)}
        for own, words in zip(found, ("gains", "losses"), strict=True):
            if parts & vocabulary(words):
                own.append(name)
    return (found[0][0], found[1][0]) if all(len(own) == 1 for own in found) else None


def _by_parts(names: Sequence[str]) -> dict[str, tuple[Any, ...]] | None:
    """Amounts and delays of offers at two times, by the parts of their names, each told once.

    >>> _by_parts(["now", "later", "wait"])
    {'amount': ('now', 'later'), 'delay': (0.0, 'wait')}
    >>> _by_parts(["cantidad_hoy", "cantidad_despues", "demora_dias"])["delay"]
    (0.0, 'demora_dias')
    """
    found: dict[str, list[str]] = {"sooner": [], "later": [], "wait": [], "sooner wait": []}
    soon, late, money, wait = map(vocabulary, ("soon", "late", "money", "wait"))
    for name in names:
        parts = {plain_name(part) for part in words_of(name)} - vocabulary("filling") - {""}
        if parts & wait and parts <= wait | soon | late:
            found["sooner wait" if parts & soon else "wait"].append(name)
        elif parts & soon and parts <= soon | money:
            found["sooner"].append(name)
        elif parts & late and parts <= late | money:
            found["later"].append(name)
    if any(len(found[part]) != 1 for part in ("sooner", "later", "wait")):
        return None
    first = found["sooner wait"][0] if len(found["sooner wait"]) == 1 else 0.0
    return {
        "amount": (found["sooner"][0], found["later"][0]),
        "delay": (first, found["wait"][0]),
    }


def taken_by_word(seen: Sequence[Any], column: str) -> dict[str, float]:
    """Index of the option that each word means: sooner or later, sure or gamble.

    Examples
    --------
    >>> taken_by_word(["LL", "SS"], "choice")
    {'LL': 1.0, 'SS': 0.0}
    """
    found = {}
    for label in seen:
        plain = plain_name(label)
        if plain in vocabulary("first_offer") | vocabulary("second_offer"):
            found[str(label).strip()] = float(plain in vocabulary("second_offer"))
    unknown = [
        label for label in seen if str(label).strip() not in found and not says_nothing(str(label))
    ]
    if unknown:
        raise DataError(
            f"chosen {column!r}",
            (
                "must hold the number of an option, or a label named in "
                f"{mark_quoted_argument('options')}"
            ),
            got=format_list(map(repr, unknown)),
            fix=(
                f"Pass {mark_argument('options', PythonExpression('[...]'))} with the labels in "
                "the order of the options."
            ),
        )
    return found
