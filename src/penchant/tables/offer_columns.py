"""Which column of a table of decisions is what: found by the names that people give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penchant.errors import Code, DataError, argument, format_list, format_names, quoted_argument
from penchant.tables.columns import (
    SESSION,
    is_long,
    is_play,
    named_column,
    plain_name,
    refuse_one_row_per_subject,
)
from penchant.tables.columns import USUAL as PLAYED
from penchant.tables.lexicon import words_of

NO_COLUMN = "none"

# The names that each part often has, tried in this order; case and punctuation do not matter.
USUAL: Mapping[str, tuple[str, ...]] = {
    "subject": PLAYED["subject"],
    "block": (*PLAYED["block"], *SESSION),
    "chosen": (
        *("chosen", "choice", "gamble", "ll_chosen", "chose_ll", "later_chosen", "chose_later"),
        *("choice_ll", "ll_choice", "choose_ll", "later_option_chosen", "chose_delayed"),
        *("delayed_chosen", "chose_gamble", "gamble_chosen", "gambled", "chose_risky"),
        *("risky_chosen", "risky_choice", "chose_lottery", "accept", "accepted", "respcat"),
        *("response", "option", "wahl", "auswahl", "choix", "eleccion", "keuze", "scelta"),
        *PLAYED["chosen"],
        "answer",
    ),
    "scored": PLAYED["scored"],
}
SOONER_AMOUNT = (
    *("amount_sooner", "ss_amount", "amount_ss", "sooner_amount", "sooner_reward", "ss_reward"),
    *("immediate_amount", "amount_immediate", "amount_now", "ss_value", "value_ss", "SSAmount"),
    *("ss_amt", "amt_ss", "sooner_amt", "immediate_reward", "smaller_amount", "now_amount"),
    *("SIR", "ssa", "iamt", "x1", "a1", "ss", "smaller_sooner", "betrag_sofort"),
    *("montant_immediat", "monto_inmediato", "importo_subito"),
)
LATER_AMOUNT = (
    *("amount_later", "ll_amount", "amount_ll", "later_amount", "later_reward", "ll_reward"),
    *("delayed_amount", "amount_delayed", "ll_value", "value_ll", "LLAmount", "ll_amt", "amt_ll"),
    *("later_amt", "delayed_reward", "larger_amount", "LDR", "lla", "damt", "x2", "a2"),
    *("ll", "larger_later", "betrag_spater", "betrag_spaeter", "montant_differe"),
    *("monto_demorado", "importo_dopo"),
)
SOONER_DELAY = (
    *("delay_sooner", "ss_delay", "delay_ss", "sooner_delay", "ss_time", "time_ss", "ss_days"),
    *("sooner_time", "ssd", "t1", "d1"),
)
LATER_DELAY = (
    *("delay_later", "ll_delay", "delay_ll", "later_delay", "ll_time", "time_ll", "ll_days"),
    *("later_time", "lld", "delay", "delay_days", "delay_in_days", "days", "t2", "d2"),
    *("wartezeit", "verzogerung", "delai", "delai_jours", "plazo", "demora", "attesa"),
    *("ritardo", "wachttijd"),
)
GAIN = (
    *("gain", "win", "gamble_gain", "gamble_win", "risky_gain", "potential_gain", "gain_amount"),
    *("win_amount", "lottery_amount", "risky_amount", "gamble_amount", "risky", "lottery"),
)
LOSS = (
    *("loss", "lose", "gamble_loss", "gamble_lose", "risky_loss", "potential_loss"),
    *("loss_amount", "lose_amount"),
)
SURE = (
    *("cert", "certain", "sure", "safe", "sure_amount", "certain_amount", "safe_amount"),
    *("cert_amount", "certain_alternative", "sure_thing", "guaranteed", "guaranteed_amount"),
)
GAIN_PROBABILITY = (
    *("p_gain", "prob_gain", "probability", "prob", "p", "p_win", "prob_win", "win_prob"),
    *("gain_prob", "gain_probability", "lottery_prob", "risky_prob", "gamble_prob", "p_risky"),
    *("p_gamble", "p_lottery"),
)
# Parts of names of what may be won and lost.
_GAINS = frozenset(("gain", "gains", "win", "wins", "gewinn", "ganancia", "vincita", "winst"))
_LOSSES = frozenset(
    ("loss", "losses", "lose", "verlust", "perdida", "perte", "perdita", "verlies", "loses")
)
# Parts of the names of offers at two times, in one spelling; a name is made of nothing else.
_SOON = frozenset(
    (
        *("now", "today", "immediate", "immediately", "sooner", "soon", "ss", "smaller", "heute"),
        *("sofort", "jetzt", "immediat", "maintenant", "aujourdhui", "ahora", "hoy", "inmediato"),
        *("inmediata", "subito", "oggi", "nu", "vandaag", "direct"),
    )
)
_LATE = frozenset(
    (
        *("later", "late", "delayed", "ll", "larger", "future", "spater", "spaeter", "differe"),
        *("differee", "despues", "demorado", "demorada", "aplazado", "tard", "dopo", "morgen"),
    )
)
_MONEY = frozenset(
    (
        *(
            "amount",
            "amt",
            "value",
            "reward",
            "money",
            "payment",
            "offer",
            "option",
            "sum",
            "betrag",
        ),
        *("cantidad", "monto", "importe", "montant", "somme", "importo", "bedrag", "euro", "eur"),
        *("gbp", "usd", "pounds", "dollars"),
    )
)
_WAIT = frozenset(
    (
        *("delay", "wait", "waiting", "days", "day", "weeks", "months", "time", "wartezeit"),
        *("verzogerung", "verzoegerung", "tage", "wochen", "delai", "attente", "jours", "demora"),
        *("plazo", "espera", "dias", "ritardo", "attesa", "giorni", "wachttijd", "dagen"),
    )
)
_ALSO = frozenset(("in", "of", "the", "en", "de", "to", "til", "until"))
FIRST_WORDS = frozenset(
    (
        *("ss", "sooner", "soon", "now", "today", "immediate", "smaller", "smallersooner", "cert"),
        *("certain", "sure", "safe", "reject", "rejected", "decline", "no", "stronglyreject"),
        *("weaklyreject", "sofort", "fruher", "frueher", "jetzt", "heute", "immediat"),
        *("maintenant", "inmediato", "ahora", "subito", "sicher", "declined", "refuse", "refused"),
        *("pass", "skip", "leave", "nogamble", "nobet", "guaranteed", "fixed", "sir"),
    )
)
SECOND_WORDS = frozenset(
    (
        *("ll", "later", "delayed", "delay", "wait", "larger", "largerlater", "gamble", "risky"),
        *("risk", "lottery", "accept", "accepted", "yes", "stronglyaccept", "weaklyaccept"),
        *("spater", "spaeter", "warten", "differe", "plustard", "demorado", "despues", "dopo"),
        *(
            "attendre",
            "esperar",
            "riskant",
            "play",
            "bet",
            "take",
            "uncertain",
            "ldr",
            "probabilistic",
        ),
    )
)
NOTHING_WORDS = frozenset(
    ("", "na", "nan", "null", "none", "timeout", "missed", "miss", "noresponse", "noresp")
)


@dataclass(frozen=True)
class OfferColumns:
    """The column of every part, and of every attribute of every option.

    Attributes
    ----------
    offers
        For every attribute the column, or number, of each option; a list for several outcomes.
    losses
        Option and outcome of columns whose size, whatever its sign, is lost.
    """

    chosen: str
    offers: Mapping[str, Sequence[Any]]
    subject: str | None = None
    block: str | None = None
    scored: str | None = None
    losses: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    def roles(self) -> dict[str, tuple[str, ...]]:
        """Columns that must exist, by part."""
        parts = ("subject", "block", "chosen", "scored")
        named = {part: getattr(self, part) for part in parts}
        roles: dict[str, tuple[str, ...]]
        roles = {part: (name,) for part, name in named.items() if name is not None}
        for attribute, cells in self.offers.items():
            flat = [part for cell in cells for part in _parts(cell)]
            roles[f"offers[{attribute!r}]"] = tuple(p for p in flat if isinstance(p, str))
        return roles

    def words(self) -> str:
        """Which column is what, in one line.

        >>> OfferColumns("choice", {"amount": ("now", "later"), "delay": (0.0, "days")}).words()
        'chosen = choice; amount = now, later; delay = 0, days'
        """
        parts = ("subject", "block", "chosen", "scored")
        said = [f"{part} = {getattr(self, part)}" for part in parts if getattr(self, part)]
        return "; ".join([*said, self.offer_words()])

    def offer_words(self) -> str:
        """Which column is which attribute of which option, in one line."""
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
    (('cert', 0.0), ('gain', 'loss'))
    >>> offer_columns(["subj", "gain", "loss", "accept"], {}).offers["outcome"]
    ((0.0, 0.0), ('gain', 'loss'))
    """
    described, losses = (offers, {}) if offers is not None else recognised_offers(names)
    if described is None:
        refuse_one_row_per_subject(
            names, given.get("subject") or named_column(USUAL["subject"], names)
        )
        raise DataError(
            "offers",
            (
                "must say which columns describe the options, as none are called "
                "amount_sooner, amount_later and delay_later, or gain and cert or loss"
            ),
            got=f"columns {format_names(names)}",
            fix=(
                f"Write {argument('offers', {'amount': ['now', 'later'], 'delay': [0, 'days']})}."
            ),
        )
    parts = {part: given.get(part) or named_column(usual, names) for part, usual in USUAL.items()}
    parts = {part: None if name == NO_COLUMN else name for part, name in parts.items()}
    if parts["chosen"] is None:
        raise DataError(
            "chosen",
            "must be given, as no column is called chosen or choice",
            got=f"columns {format_names(names)}",
            fix=f"Name the column with {quoted_argument('chosen')}.",
        )
    return OfferColumns(
        chosen=parts["chosen"],
        offers=described,
        subject=parts["subject"],
        block=parts["block"],
        scored=parts["scored"],
        losses=losses,
    )


def numbered_columns(
    names: Sequence[str], wanted: Sequence[str]
) -> dict[str, tuple[str, ...]] | None:
    """Columns of attributes that are numbered by option, or None where one has none.

    Parameters
    ----------
    names
        Columns of a table.
    wanted
        Attributes; all that are numbered, if none are named.

    Examples
    --------
    >>> numbered_columns(["price_1", "price_2", "who"], ["price"])
    {'price': ('price_1', 'price_2')}
    >>> numbered_columns(["price_1", "price_2", "size"], ["price", "size"]) is None
    True
    """
    found: dict[str, dict[int, str]] = {}
    for name in names:
        stem, _, number = name.rpartition("_")
        if stem and number.isdecimal():
            found.setdefault(stem, {})[int(number)] = name
    whole = {
        stem: tuple(own[i] for i in sorted(own))
        for stem, own in found.items()
        if len(own) > 1 and sorted(own) == list(range(min(own), min(own) + len(own)))
    }
    if not whole or any(name not in whole for name in wanted):
        return None
    return {name: whole[name] for name in wanted or whole}


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
        offers, _ = recognised_offers(names)
    except DataError:  # recognised, but not to the end
        return True
    if offers is None or named_column(USUAL["chosen"], names) is None:
        return False
    return "delay" in offers or named_column(SURE, names) is not None or not is_play(names)


# Tables of tasks, as users of other tools have them: columns that all must be there, and the
# attributes of the options that they are.
TASKS: tuple[tuple[tuple[str, ...], Mapping[str, Sequence[Any]]], ...] = (
    (
        ("prob", "ambig", "reward_var", "reward_fix"),
        {
            "amount": ("reward_fix", "reward_var"),
            "probability": (0.5, "prob"),
            "ambiguity": (0.0, "ambig"),
        },
    ),
    (
        (
            *("condition", "p_gamble", "safe_Hpayoff", "safe_Lpayoff", "risky_Hpayoff"),
            "risky_Lpayoff",
        ),
        {
            "high": ("safe_Hpayoff", "risky_Hpayoff"),
            "low": ("safe_Lpayoff", "risky_Lpayoff"),
            "probability": ("p_gamble", "p_gamble"),
            "condition": ("condition", "condition"),
        },
    ),
    (("offer", "accept"), {"offer": (0.0, "offer")}),
)


def _of_known_task(names: Sequence[str]) -> dict[str, tuple[Any, ...]] | None:
    """Attributes of a task whose columns are all there, by their names in this table.

    >>> _of_known_task(["subjID", "Offer", "accept"])
    {'offer': (0.0, 'Offer')}
    """
    for wanted, offers in TASKS:
        own = {name: named_column((name,), names) for name in wanted}
        if all(own.values()):
            return {
                attribute: tuple(own.get(cell, cell) for cell in cells)
                for attribute, cells in offers.items()
            }
    return None


def known_offers(names: Sequence[str]) -> dict[str, tuple[Any, ...]] | None:
    """Attributes of offers at two times, where names say the sooner, the later and the delay.

    >>> known_offers(["id", "ss_amount", "ll_amount", "ll_delay", "choice"])["delay"]
    (0.0, 'll_delay')
    >>> known_offers(["x1", "x2", "t1", "t2", "choice"]) is None
    True
    """
    told = [name for name in names if len(plain_name(name)) > 2]
    sooner, later = named_column(SOONER_AMOUNT, told), named_column(LATER_AMOUNT, told)
    wait = named_column(LATER_DELAY, told)
    if sooner and later and wait:
        delay = (named_column(SOONER_DELAY, told) or 0.0, wait)
        return {"amount": (sooner, later), "delay": delay}
    return _by_parts(told)


def recognised_offers(names: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """Offers of a known task, of a discounting table, or of gambles against a sure amount."""
    task = _of_known_task(names)
    if task is not None:
        return task, {}
    sooner, later = named_column(SOONER_AMOUNT, names), named_column(LATER_AMOUNT, names)
    wait = named_column(LATER_DELAY, names)
    if sooner and later and wait:
        delay = (named_column(SOONER_DELAY, names) or 0.0, wait)
        return {"amount": (sooner, later), "delay": delay}, {}
    spelled = _by_parts(names)
    if spelled is not None:
        return spelled, {}
    gain, loss, p = (named_column(usual, names) for usual in (GAIN, LOSS, GAIN_PROBABILITY))
    both = gain_and_loss(names)
    if both is not None and (gain is None or loss is None):
        gain, loss = both
    sure = named_column(SURE, names) or (0.0 if loss else None)  # to gain or lose, or to leave it
    if gain is None or sure is None:
        return None, {}
    if loss is None:
        return {"outcome": (sure, gain), "probability": (1.0, p or 0.5)}, {}
    if p is not None:
        raise DataError(
            "offers",
            (
                f"must be given where a gamble has a loss and its gain a probability ({p!r}), "
                "as the loss has its own"
            ),
            got="neither",
            fix=f"Write {argument('offers', GAMBLE_WITH_LOSS)}.",
        )
    outcome = ((sure, 0.0), (gain, loss))
    return {"outcome": outcome, "probability": ((1.0, 0.0), (0.5, 0.5))}, {"outcome": ((1, 1),)}


def gain_and_loss(names: Sequence[str]) -> tuple[str, str] | None:
    """The one column of what may be won, and the one of what may be lost, by parts of their names.

    >>> gain_and_loss(["id", "Gewinn", "Verlust"]), gain_and_loss(["gain_A", "gain_B", "loss"])
    (('Gewinn', 'Verlust'), None)
    """
    found: list[list[str]] = [[], []]
    for name in names:
        parts = {plain_name(part) for part in words_of(name)}
        for own, words in zip(found, (_GAINS, _LOSSES), strict=True):
            if parts & words:
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
    for name in names:
        parts = {plain_name(part) for part in words_of(name)} - _ALSO - {""}
        if parts & _WAIT and parts <= _WAIT | _SOON | _LATE:
            found["sooner wait" if parts & _SOON else "wait"].append(name)
        elif parts & _SOON and parts <= _SOON | _MONEY:
            found["sooner"].append(name)
        elif parts & _LATE and parts <= _LATE | _MONEY:
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
        if plain in FIRST_WORDS or plain in SECOND_WORDS:
            found[str(label).strip()] = float(plain in SECOND_WORDS)
    unknown = [label for label in seen if str(label).strip() not in found and not is_nothing(label)]
    if unknown:
        raise DataError(
            f"chosen {column!r}",
            (
                "must hold the number of an option, or a label named in "
                f"{quoted_argument('options')}"
            ),
            got=format_list(map(repr, unknown)),
            fix=(
                f"Pass {argument('options', Code('[...]'))} with the labels in the order of "
                "the options."
            ),
        )
    return found


def is_nothing(label: Any) -> bool:
    """Whether a label is a word for none that files hold, such as NA or NULL."""
    return plain_name(label) in NOTHING_WORDS
