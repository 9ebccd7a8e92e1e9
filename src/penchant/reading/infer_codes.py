"""Infer the coding of a column of choices; ask where it is ambiguous."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant.errors import DataError
from penchant.tables.choice_coding import listed
from penchant.tables.columns import plain_name
from penchant.tables.episode_order import FILLERS
from penchant.tables.lexicon import is_named, vocabulary, words_of
from penchant.tables.option_families import families
from penchant.tables.schema import ATTRIBUTE_COLUMNS
from penchant.tables.source_table import code_key, column_list

if TYPE_CHECKING:
    from penchant.reading.infer import Inference

MAX_OPTIONS = 200  # different codes that choices may have; more are times, amounts or counters
# Numbers that programs and people write for a response that is missing.
_MISSING_CODES = frozenset(
    (*(9, 88, 98, 99, 777, 888, 998, 999, 9998, 9999, 99999), *(-9, -99, -999, -9999))
)


def infer_codes(work: Inference) -> None:
    """Settle the codes of the options, or ask about them."""
    draft = work.draft
    if not isinstance(draft.columns.choice, str):
        return
    labels = [*map(_as_number, work.source.labels(draft.columns.choice, "columns.choice"))]
    name = draft.columns.choice
    if not labels:
        raise DataError(
            f"column {name}",
            "must hold choices",
            got="empty cells alone",
            fix="Name another column.",
        )
    if draft.choice.labels is not None:
        _ask_about_rest(work, name, labels)
        return
    nothing = {code_key(code) for code in column_list(draft.choice.missed)}
    if _settle_counted(work, [label for label in labels if code_key(label) not in nothing]):
        return
    labels = [label for label in labels if code_key(label) not in nothing]
    ordered = _by_word(work, labels)
    if ordered is not None:
        work.fill_role("choice.labels", ordered)
        return
    odd = [] if draft.choice.missed == () else _may_be_missed(labels)
    if draft.choice.missed is None:
        odd += [label for label in _never_paid(work, name, labels) if label not in odd]
    rest = [label for label in labels if label not in odd]
    reason = _doubt(work, name, rest)
    described = _count_doubt(work, name, len(rest)) if draft.choice.opt_out is None else None
    if described and not odd and 0 not in map(_number, rest):
        text = f'{described}. Which code is to take none of them? "" if none is.'
        work.ask("choice.opt_out", text, (rest[-1], ""))
        return
    if len(rest) > MAX_OPTIONS or _are_fractions(rest):
        work.question_taken(
            "columns.choice",
            f"{name} holds {len(rest)} different values, as times or amounts do. Which column says "
            "what was chosen?",
            [one for one in work.free if one != name] or [name],
        )
    elif odd or reason or described:
        if described or (reason and reason.startswith("0 in")):
            odd = [*odd, *(x for x in rest if _number(x) == 0)]
            rest = [x for x in rest if _number(x) != 0]
        mark = f"{listed([str(x) for x in odd])} in {name} may be an option, or a mark"
        said = described or reason or mark
        work.ask(
            "choice.labels",
            f"{said}. Which codes are options, in their order?",
            _groups(work, rest) + _label_answers(rest, labels),
        )
        work.ask(
            "choice.missed",
            f"Which codes of {name} stand for decisions that nobody made?",
            (odd, []) if odd else ([], labels[:1]),
            needed=False,
        )
    else:
        work.fill_role("choice.labels", tuple(rest))


def _by_word(work: Inference, labels: Sequence[Any]) -> tuple[Any, ...] | None:
    """Codes of two offers in the order of the options, where words or numbers leave no doubt.

    Words say the sooner or surer option and the later or riskier one; 0 and 1, or 1 and 2, are in
    the order of the options unless the column is called after something else than the second one.
    """
    if work.draft.kind != "offers" or work.draft.attributes is None:
        return None
    if any(len(cells) != 2 for cells in work.draft.attributes.values()):
        return None
    first = tuple(x for x in labels if plain_name(x) in vocabulary("first_offer"))
    second = tuple(x for x in labels if plain_name(x) in vocabulary("second_offer"))
    if first and second and len(first) + len(second) == len(labels):
        return tuple(own if len(own) > 1 else own[0] for own in (first, second))
    if len(labels) != 2:
        return None
    numbers = sorted(x for x in map(_number, labels) if x is not None)
    if numbers not in ([0, 1], [1, 2]) or _side_column(work) or _called_otherwise(work):
        return None
    return tuple(sorted(labels, key=lambda label: _number(label) or 0.0))


def _called_otherwise(work: Inference) -> bool:
    """Whether the column of choices is called after something else than the second offer."""
    name = str(work.draft.columns.choice)
    words = {*words_of(name)} - vocabulary("neutral")
    if plain_name(name) in vocabulary("second_offer") or not words or is_named("taken", name):
        return False
    told: list[set[str]] = [set(), set()]
    for cells in (work.draft.attributes or {}).values():
        for own, cell in zip(told, cells, strict=True):
            for column in column_list(cell) if isinstance(cell, (str, tuple)) else ():
                own |= {*words_of(str(column))}
    return not words <= vocabulary("second_offer") | (told[1] - told[0])


def _side_column(work: Inference) -> str | None:
    """A column that may say on which side an option stood: a choice may be a side, then."""
    for name in work.free:
        said = {*words_of(name)} & {"side", "left", "right", "swapped", "flipped", "onright"}
        if said and work.varies(name) and len(work.source.labels(name, "choice.labels")) == 2:
            return name
    return None


def _settle_counted(work: Inference, labels: Sequence[Any]) -> bool:
    """Settle codes that count on, where it is said from where, or how many there are."""
    codes = work.draft.choice
    count = codes.count if codes.places is None else len(codes.places)
    if codes.base is None and count is None:
        return False
    numbers = [_number(label) for label in labels]
    known = [x for x in numbers if x is not None and x >= 0]
    # Of options whose number is said, other cells are faults: told where data are built.
    if not known or (count is None and (None in numbers or any(x % 1 for x in known))):
        return False
    base = codes.base
    if base is None:
        if min(known) > 0 and max(known) != count:
            work.ask(
                "choice.base",
                f"{work.draft.columns.choice} holds {min(known):g} to {max(known):g}. Which number "
                "has the first option?",
                (0, 1),
            )
            return True
        base = int(min(known) > 0)
    n = int(max(known)) + 1 - base if count is None else count
    if n < 1:
        raise DataError(
            "choice.base",
            f"must be the number of the first option, at most {max(known):g}",
            got=base,
        )
    work.fill_role("choice.labels", tuple(range(base, base + n)))
    odd = [x for x in labels if (_number(x) or 0) < 0 or _number(x) is None]
    if odd and codes.missed is None:
        _ask_about_rest(work, str(work.draft.columns.choice), labels)
    return True


def _ask_about_rest(work: Inference, name: str, labels: Sequence[Any]) -> None:
    """Ask about codes that are neither options nor marks of missed decisions."""
    draft = work.draft
    known = set()
    none = () if draft.choice.opt_out in (None, "") else (draft.choice.opt_out,)
    for own in (*draft.choice.labels, *none, *column_list(draft.choice.missed)):
        known |= {code_key(code) for code in (own if isinstance(own, tuple) else (own,))}
    numbers = {float(key[1]) if isinstance(key, tuple) else key for key in known}
    rest = [x for x in labels if code_key(x) not in known and _number(x) not in numbers]
    # Labels of which none is known are no marks among choices, but another coding.
    if rest and len(rest) < len(labels) and draft.choice.missed is None:
        work.ask(
            "choice.missed",
            f"{name} also holds {listed([str(x) for x in rest])}. Are these decisions that nobody "
            "made?",
            (rest,),
        )


def _as_number(label: Any) -> Any:
    """A code that is a whole number in a column of text, where words stand beside it."""
    number = _number(label) if isinstance(label, str) else None
    return int(number) if number is not None and number.is_integer() else label


def _number(label: Any) -> float | None:
    key = code_key(label)
    return float(key[1]) if isinstance(key, tuple) else key if isinstance(key, float) else None


def _groups(work: Inference, rest: Sequence[Any]) -> list[Any]:
    """Codes by the words of two offers, or in groups where fewer options are described."""
    if (ordered := _by_word(work, rest)) is not None:
        return [list(ordered)]
    attributes = work.draft.attributes or {}
    n = 0 if ATTRIBUTE_COLUMNS in attributes else len(next(iter(attributes.values()), ()))
    if not 2 <= n < len(rest) or len(rest) % n:
        return []
    size = len(rest) // n
    groups = [list(rest[k : k + size]) for k in range(0, len(rest), size)]
    return [groups, groups[::-1]]


def _label_answers(rest: Sequence[Any], labels: Sequence[Any]) -> list[list[Any]]:
    answers = [list(rest), list(labels)]
    if len(rest) == 2:
        answers.append([*reversed(rest)])
    whole = [x for x in map(_number, rest) if x is not None and x.is_integer()]
    if len(whole) == len(rest) > 1 and max(whole) - min(whole) + 1 > len(rest):
        answers.append([int(min(whole)) + k for k in range(int(max(whole) - min(whole)) + 1)])
    return [one for k, one in enumerate(answers) if one not in answers[:k]]


def _may_be_missed(labels: Sequence[Any]) -> list[Any]:
    """Labels that may be marks of decisions that nobody made: by their value or word."""
    numbers = [x for x in map(_number, labels) if x is not None and not math.isnan(x)]
    found = []
    for label in labels:
        number = _number(label)
        if number is None:
            word = plain_name(label)
            if word in vocabulary("nothing") or not word or len(numbers) == len(labels) - 1 > 0:
                found.append(label)
        elif number < 0 and max(numbers) >= 0:
            found.append(label)
        elif number in _MISSING_CODES and len(numbers) > 1:
            others = [x for x in numbers if x != number and x not in _MISSING_CODES]
            if others and abs(number) > 2 * max(map(abs, others)) + 1:
                found.append(label)
    return found


def _are_fractions(labels: Sequence[Any]) -> bool:
    numbers = [x for x in map(_number, labels) if x is not None]
    return any(not x.is_integer() for x in numbers)


def _doubt(work: Inference, name: str, rest: Sequence[Any]) -> str | None:
    """Why the codes of the options are not plain; None where they are."""
    if len(rest) < 2:
        return f"{name} holds {listed([str(x) for x in rest]) or 'nothing'} alone"
    numbers = [_number(x) for x in rest]
    if any(x is None for x in numbers):
        words = [str(x).strip().lower() for x in rest]
        if len({*words}) < len(words):
            return f"{name} holds {listed([str(x) for x in rest])}, some of which differ by case"
        if any(x is not None for x in numbers):
            return f"{name} holds words and numbers"
        return _order_doubt(work, name)
    whole = sorted(float(x) for x in numbers if x is not None)
    if whole[0] not in (0.0, 1.0) or whole[-1] - whole[0] + 1 != len(whole):
        return f"{name} holds {listed([f'{x:g}' for x in whole])}"
    if whole[0] == 0 and len(whole) > 2 and _zero_is_nothing(work, name):
        return f"0 in {name} always pays the same, unlike the others"
    return _order_doubt(work, name)


def _order_doubt(work: Inference, name: str) -> str | None:
    """Whether the order of the options is open: where columns describe each of them."""
    if work.draft.kind == "episodes" or work.draft.kind is None:
        return None
    if work.draft.attributes is not None and ATTRIBUTE_COLUMNS in work.draft.attributes:
        return None
    side = _side_column(work) if work.draft.kind == "offers" else None
    if side is not None:
        return f"{side} may say where options stood: add a column of the option if {name} is a side"
    return f"{name} says which option was taken, but not which of the columns that describe it"


def _count_doubt(work: Inference, name: str, n: int) -> str | None:
    """Whether there are columns of one option fewer than codes: one code may be none."""
    found = [one for one in families([x for x in work.free if x != name]) if one.whole]
    counts = {len(one.options) for one in found}
    if work.draft.attributes and ATTRIBUTE_COLUMNS not in work.draft.attributes:
        counts = {len(cells) for cells in work.draft.attributes.values()}
    if n - 1 in counts - {1} and n not in counts:
        return f"{name} has {n} codes, but columns describe {n - 1} options"
    return None


def _never_paid(work: Inference, name: str, labels: Sequence[Any]) -> list[Any]:
    """Labels beside which no reward ever stands, where it does beside others."""
    reward = work.draft.columns.reward
    if not isinstance(reward, str) or work.source.holds_words(reward, "columns.reward"):
        return []
    coded = work.source.codes(name, "columns.choice")
    paid = ~np.isnan(work.source.floats(reward, "columns.reward"))
    places = np.unique(coded.codes[paid & work.source.present(name, "columns.choice")])
    keys = {code_key(coded.labels.tolist()[k]) for k in places.tolist()}
    return [label for label in labels if code_key(label) not in keys] if keys else []


def _zero_is_nothing(work: Inference, name: str) -> bool:
    reward = work.draft.columns.reward
    if not isinstance(reward, str):
        return False
    coded = work.source.codes(name, "columns.choice")
    keys = [_number(label) for label in coded.labels.tolist()]
    chosen = work.source.present(name, "columns.choice")
    paid = work.source.floats(reward, "columns.reward")
    known = chosen & ~np.isnan(paid)
    own = np.unique(paid[known & np.array([key == 0 for key in keys])[coded.codes]])
    rest = np.unique(paid[known & np.array([(key or 0) > 0 for key in keys])[coded.codes]])
    filled = len(own) == 0 or (len(own) == 1 and own[0] in FILLERS)
    return filled and len(rest) > 1
