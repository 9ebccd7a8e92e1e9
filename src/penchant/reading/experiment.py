"""Choice experiments: options described by attributes, in long tables and in wide ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penchant._typing import BoolVector, IntVector
from penchant.choices import Choices
from penchant.errors import DataError, argument, format_list, format_names
from penchant.output import format_count
from penchant.reading.ambiguous import ask_about_codes
from penchant.reading.asked import Asked, Built, Place, chosen_column, seen_words, word
from penchant.reading.offered import lone_column, offers_said, part_of, rank_of, whose_column
from penchant.reading.variables import MOST_LEVELS, Columns, Factor, Formula, formula_of, union_of
from penchant.reading.whose import may_be_people
from penchant.tables.cells import amount, is_nothing
from penchant.tables.columns import long_columns
from penchant.tables.designs import alike_in, flags, is_counter, of_people
from penchant.tables.laboratory import CHOSEN, Cleaned
from penchant.tables.surveys import (
    DOUBTFUL,
    OPT_OUTS,
    Evident,
    WideLayout,
    halves,
    is_evident,
    likely_layouts,
    plain,
    tag,
    wide_layout,
)
from penchant.tables.where import where_said

_TAKEN = ("1", "True", "1.0", "TRUE", "true", "yes")
DECISION, OPTION, TAKEN = "decision", "option", "chosen"
ALL = "all"  # attributes that tell options apart, where a set is named so
ON_OFFER = "on offer"  # column of whether an option could be taken
AVAILABILITY = frozenset(
    (
        *("av", "avail", "available", "availability", "isavailable", "avl", "onoffer", "shown"),
        *("feasible", "accessible", "disponible", "dispo", "verfuegbar", "verfugbar", "choiceset"),
    )
)
FEWEST_CODES = 3  # of two levels, codes and amounts come to the same
PASSED = ("subject", "weight", "available", "offset")


@dataclass(frozen=True)
class _Sets:
    """One row per option of each decision.

    Attributes
    ----------
    cells
        Columns of the table, repeated, and attributes by name.
    attributes
        Names of those that may describe options.
    decision, option, taken
        Of each row; `taken` may be missing.
    rows
        Row of the table that each comes from.
    outside
        Rows of the option that is none of those shown.
    """

    cells: dict[str, list[Any]]
    attributes: list[str]
    decision: list[Any]
    option: list[str]
    taken: list[Any]
    rows: IntVector
    outside: BoolVector


def wide_experiment(clean: Cleaned, asked: Asked) -> tuple[str, WideLayout] | None:
    """The column of choices and the layout of a wide table; None if it is none."""
    table = clean.table
    chosen = chosen_column(table, asked, CHOSEN)
    used = {name for name in asked.columns.values() if isinstance(name, str)} | {chosen}
    free = [name for name in table.column_names if name not in used | clean.own]
    free = [name for name in free if not _is_count(name, table[name].to_pylist())]
    words = seen_words(table, chosen, doubtful=True)
    evident = evident_in(table, free)
    layout = wide_layout(
        free,
        words,
        options=asked.options or _in_other_words(table, free, words, evident),
        opt_out=asked.opt_out,
        base=asked.base,
        column=chosen,
        alike=alike_in(table),
        evident=evident,
    )
    return None if layout is None else (chosen, _without_words_of_one(table, layout, asked))


def _in_other_words(
    table: pa.Table, names: Sequence[str], words: Sequence[str], evident: Evident
) -> dict[str, str] | None:
    """Which option each word means, where both say sooner and later, or sure and risky."""
    rank = {word: rank_of(word) for word in words}
    if sorted(r for r in rank.values() if r is not None) != [0, 1] or None in rank.values():
        return None
    for tags, by in likely_layouts(names, alike_in(table)):
        known = [rank_of(one) for one in tags]
        repeated = {tag(one) for one in tags} & {tag(word) for word in words}
        ranked = len(tags) == 2 and sorted(r for r in known if r is not None) == [0, 1]
        if ranked and not repeated and evident(tags, by):
            return {word: tags[known.index(r)] for word, r in rank.items()}
    return None


def evident_in(table: pa.Table, names: Sequence[str]) -> Evident:
    """Whether options are no coincidence: also where a delay or a chance is told of one of two."""
    parts = {name: part_of(name, [name], table) for name in names}

    def evident(tags: Sequence[str], attributes: Mapping[str, Any]) -> bool:
        if is_evident(tags, attributes):
            return True
        own = {name for by in attributes.values() for name in by.values()}
        others = [name for name in names if name not in own]
        paid = all(part_of(n, list(by.values()), table) == "amount" for n, by in attributes.items())
        more = any(parts[name] in ("delay", "probability") for name in others)
        known = {tag(one) for one in tags}
        of_one = [
            name for name in others if {tag(h) for pair in halves(name) for h in pair} & known
        ]
        return len(tags) == 2 and paid and (more or any(_are_amounts(table, n) for n in of_one))

    return evident


def _without_words_of_one(table: pa.Table, layout: WideLayout, asked: Asked) -> WideLayout:
    """A layout without words, or counts, that only some options have, such as where these stood.

    And without questions about people whose names are numbered on, as Q1 and Q2.
    """
    subject, alike = asked.columns.get("subject"), alike_in(table)

    def is_of_people(columns: Sequence[str | None]) -> bool:
        told = [column for column in columns if column is not None]
        of_each = subject is not None and all(of_people(table, name, subject) for name in told)
        # no amounts, or others from person to person
        other = any(not _are_amounts(table, n) or not of_people(table, n, None) for n in told)
        return of_each and other and len(told) > 1 and alike(told) == 0

    described = {n: own for n, own in layout.attributes.items() if not is_of_people(own)}
    kept = {
        name: columns
        for name, columns in (described or layout.attributes).items()
        if None not in columns
        or all(
            c is None or (_are_amounts(table, c) and not is_counter(table, c, subject))
            for c in columns
        )
    }
    return replace(layout, attributes=kept)


def _are_amounts(table: pa.Table, name: str) -> bool:
    cells = (cell for cell in pc.unique(table[name]).to_pylist() if not is_nothing(cell))
    return all(amount(cell) is not None or amount(cell, ",") is not None for cell in cells)


def from_wide(clean: Cleaned, asked: Asked, chosen: str, layout: WideLayout, place: Place) -> Built:
    """Choices from a table with one row per decision and columns for each option."""
    table = clean.table
    if asked.attributes is None and asked.rivals is None:
        _check_outcomes(table, layout)
    picked = table[chosen].to_pylist()
    made = np.array([_is_made(cell, layout) for cell in picked])
    notes = []
    if not made.all():
        missed = format_count(int((~made).sum()), "decision")
        notes.append(f"{missed} without a choice left out")
    rows: IntVector = np.flatnonzero(made)
    if not rows.size:
        raise DataError(f"chosen must hold some choices; got none in {chosen}. Name its column.")
    options = [*layout.options, *([layout.opt_out] if layout.opt_out else [])]
    m = len(options)
    place.rows = np.repeat(place.rows[rows], m)
    taken = [layout.words.get(word(picked[row])) for row in rows.tolist()]
    layout, on_offer, said = _without_availability(table, rows, layout, taken)
    notes += said
    sets = _wide_sets(table, rows, layout, options)
    if on_offer is not None:
        here = [*layout.options]
        sets.cells[ON_OFFER] = [
            option not in here or bool(on_offer[k, here.index(option)])
            for k in range(len(rows))
            for option in options
        ]
        _empty_absent(sets)
        asked = replace(asked, columns={**asked.columns, "available": ON_OFFER})
    words = {**layout.words, **({layout.opt_out: layout.opt_out} if layout.opt_out else {})}
    sets.taken[:] = [
        words[word(picked[row])] == option for row in rows.tolist() for option in options
    ]
    if asked.attributes is None and asked.rivals is None:
        _check_codes(sets, {a: [c for c in own if c] for a, own in layout.attributes.items()})
        _ask_about_levels(sets)
    built = _choices(sets, asked, table.take(pa.array(rows)), layout.opt_out)
    parts = {"subject": asked.columns.get("subject"), "chosen": chosen}
    if parts["subject"] is None:
        notes += may_be_people(table, {*layout.columns, chosen} | clean.own)
    shown = {
        name: ", ".join(column or "0" for column in layout.attributes[name])
        for name in built.arguments["attributes"]
        if name in layout.attributes
    }
    columns = {part: str(name) for part, name in parts.items() if name} | shown
    return Built(
        built.data,
        columns,
        dict(sorted(words.items(), key=lambda pair: options.index(pair[1]))),
        built.table,
        (*notes, *built.notes),
        {**built.arguments, "chosen": chosen},
    )


def ask_about_lone(clean: Cleaned, asked: Asked, chosen: str, layout: WideLayout) -> None:
    """Ask about a column of few numbers that tells of no option, where one attribute tells of all.

    It may be the delay, the chance or the effort of one of them.
    """
    whole = {name: own for name, own in layout.attributes.items() if None not in own}
    if len(whole) != 1 or len(layout.options) != 2:
        return
    for name, own in layout.attributes.items():
        told = [column for column in own if column is not None]
        part = part_of(name, told, clean.table)
        if name not in whole and part not in ("delay", "ambiguity"):
            raise _told_of_one(name, own, whole, layout.options)
    if len(layout.attributes) > 1:
        return
    used = layout.columns | {chosen} | clean.own
    lone = lone_column(clean.table, used, asked)
    if lone is not None:
        ((attribute, columns),) = layout.attributes.items()
        raise whose_column(lone, {attribute: columns}, layout.options, attribute)


def _told_of_one(
    name: str,
    own: Sequence[str | None],
    whole: Mapping[str, Sequence[str | None]],
    options: Sequence[str],
) -> DataError:
    """Ask what an option has of which only the other one's is told: none, or all of it."""
    without = options[own.index(None)]
    zero, one = ({**whole, name: [x if c is None else c for c in own]} for x in (0, 1))
    return DataError(
        f"{argument('offers')} must be given, as {name} is not told of option {without}, which can "
        f"be read in two ways: 0, as of a delay, or 1, as of a chance. Pass {offers_said(zero)}, "
        f"or {offers_said(one)}; models know amount, delay, probability, ambiguity and effort."
    )


def _check_outcomes(table: pa.Table, layout: WideLayout) -> None:
    """Ask about columns that add up to 1: chances of the outcomes of one option, and no options."""
    adding = {
        name: columns
        for name, columns in layout.attributes.items()
        if None not in columns and _add_up(table, [str(column) for column in columns])
    }
    if not adding:
        return
    paid = [list(own) for name, own in layout.attributes.items() if name not in adding]
    chances = [list(own) for own in adding.values()]
    way = ""
    if len(paid) == len(chances) > 1:
        way = f"Pass {offers_said({'outcome': paid, 'probability': chances})} for these, or "
    raise DataError(
        f"{argument('offers')} must be given, as {format_list(map(str, chances[0]))} add up to 1: "
        "they can be chances of the outcomes of one option, or of the options "
        f"{format_list(layout.options)}. {way}"
        f"{argument('attributes', ' + '.join(layout.attributes))} for the options."
    )


def _add_up(table: pa.Table, columns: Sequence[str]) -> bool:
    """Whether chances add up to 1, or 100, in every row, and are not the same throughout."""
    cells = [[amount(cell) for cell in table[name].to_pylist()] for name in columns]
    if any(one is None for own in cells for one in own):
        return False
    values = np.array([[one[0] for one in own if one is not None] for own in cells])
    total = values.sum(axis=0)
    same = np.allclose(total, total[0]) and (np.isclose(total[0], 1) or np.isclose(total[0], 100))
    return bool(same and values.min() >= 0 and np.ptp(values[0]) > 0)


def _without_availability(
    table: pa.Table, rows: IntVector, layout: WideLayout, taken: Sequence[str | None]
) -> tuple[WideLayout, Any, list[str]]:
    """The layout without columns that say which options were on offer, and what they say."""
    for name, columns in layout.attributes.items():
        if None in columns or len(layout.attributes) < 2:
            continue
        set_ = [flags(table[str(column)]) for column in columns]
        if any(own is None for own in set_) and not all(_is_always(table, c) for c in columns):
            continue
        found = np.column_stack([[True] * len(table) if own is None else own for own in set_])[rows]
        others = {key: own for key, own in layout.attributes.items() if key != name}
        if plain(name) not in AVAILABILITY and not _are_absent(table, rows, others, found):
            continue
        places = [None if one is None else layout.options.index(one) for one in taken]
        if any(k is not None and not on[k] for k, on in zip(places, found, strict=True)):
            continue  # taken all the same: an attribute
        left = replace(layout, attributes=others)
        return left, found, [f"{format_list(map(str, columns))} say which options were on offer"]
    return layout, None, []


def _are_absent(
    table: pa.Table, rows: IntVector, others: Mapping[str, Sequence[str | None]], on: Any
) -> bool:
    """Whether nothing, or 0, is told of options wherever a flag is not set, and only there."""
    if on.all():
        return False
    for columns in others.values():
        for k, column in enumerate(columns):
            cells = table[str(column)].take(pa.array(rows)).to_pylist() if column else []
            said = [is_nothing(cell) or word(cell) == "0" for cell in cells]
            if any(not one for one, shown in zip(said, on[:, k], strict=False) if not shown):
                return False
    return True


def _is_always(table: pa.Table, column: Any) -> bool:
    """Whether a flag is set, or not set, in all rows alike."""
    return len({word(cell) for cell in table[str(column)].to_pylist()} - {"0", "1"}) == 0


def _empty_absent(sets: _Sets) -> None:
    """What is said of an option that was not on offer counts for nothing."""
    for name in sets.attributes:
        given = next(
            (c for c, on in zip(sets.cells[name], sets.cells[ON_OFFER], strict=True) if on), 0
        )
        pairs = zip(sets.cells[name], sets.cells[ON_OFFER], strict=True)
        sets.cells[name] = [cell if on else given for cell, on in pairs]


def _is_made(cell: Any, layout: WideLayout) -> bool:
    if cell is None:
        return False
    return word(cell) in layout.words or word(cell) == layout.opt_out


def _wide_sets(
    table: pa.Table, rows: IntVector, layout: WideLayout, options: Sequence[str]
) -> _Sets:
    m = len(options)
    repeated = np.repeat(rows, m)
    cells = {
        name: table[name].take(pa.array(repeated)).to_pylist()
        for name in table.column_names
        if name not in layout.columns
    }
    for attribute, columns in layout.attributes.items():
        own = [None if name is None else table[name].to_pylist() for name in columns]
        own += [[None] * len(table)] * (m - len(columns))
        # an attribute that an option does not have is 0 for it
        none = [0 if name is None else None for name in columns] + [None] * (m - len(columns))
        cells[attribute] = [
            none[i] if own[i] is None else own[i][row]  # type: ignore[index]
            for row in rows.tolist()
            for i in range(m)
        ]
    option = [str(label) for _ in rows for label in options]
    outside = np.array([i >= len(layout.options) for _ in rows for i in range(m)])
    return _Sets(
        cells,
        list(layout.attributes),
        np.repeat(np.arange(len(rows)), m).tolist(),
        option,
        [None] * len(option),
        np.repeat(np.arange(len(rows)), m),
        outside,
    )


def from_long(clean: Cleaned, asked: Asked, place: Place) -> Built:
    """Choices from a table with one row per option."""
    table = clean.table
    parts = long_columns(table.column_names, asked.columns)
    decision = parts["decision"]
    several = (decision,) if isinstance(decision, str) else tuple(decision)
    used = {*several, parts["option"], parts["chosen"]}
    used |= {str(asked.columns[part]) for part in PASSED if asked.columns.get(part)}
    cells = {name: table[name].to_pylist() for name in table.column_names}
    option = [
        word(cell) if not is_nothing(cell) or cell else None for cell in cells[parts["option"]]
    ]
    free = [name for name in table.column_names if name not in used | clean.own]
    free = [name for name in free if not _is_count(name, cells[name])]
    whose = [*several, *([asked.columns["subject"]] if asked.columns.get("subject") else [])]
    decisions = list(zip(*(cells[name] for name in whose), strict=True))
    varying = _varying(free, cells, decisions)
    taken = _taken(cells[parts["chosen"]], option, decisions, parts["chosen"])
    outside = _outside(option, cells, varying, taken, asked)
    _ask_about_untaken(option, cells, varying, outside, parts["option"])
    for name in varying:  # 0 of an option that is none of those shown is nothing
        pairs = zip(cells[name], outside.tolist(), strict=True)
        cells[name] = [None if out and word(cell) == "0" else cell for cell, out in pairs]
    sets = _Sets(
        cells,
        free,
        decisions,
        [str(label) for label in option],
        taken,
        np.arange(len(table)),
        outside,
    )
    if asked.attributes is None and asked.rivals is None:
        _check_codes(sets, {name: [name] for name in free})
        _ask_about_levels(sets)
    labels = sorted({label for label, out in zip(sets.option, outside, strict=True) if out})
    built = _choices(sets, asked, table, labels[0] if labels else None)
    columns = {
        "subject": asked.columns.get("subject"),
        "decision": ", ".join(several),
        "option": parts["option"],
        "chosen": parts["chosen"],
        "attributes": ", ".join(built.arguments["attributes"]),
    }
    said = {part: str(name) for part, name in columns.items() if name}
    arguments = {**built.arguments, **parts}
    notes = list(built.notes)
    if not asked.columns.get("subject"):
        notes += may_be_people(table, used | clean.own)
    return Built(built.data, said, {}, built.table, tuple(notes), arguments)


def _check_codes(sets: _Sets, columns: Mapping[str, Sequence[str]]) -> None:
    """Ask about numbers such as -99 among the attributes that tell options apart."""
    described = {}
    for name in _varying(sets.attributes, sets.cells, sets.decision, ~sets.outside):
        cells = [
            None if out or is_nothing(cell) else amount(cell)
            for cell, out in zip(sets.cells[name], sets.outside, strict=True)
        ]
        values = np.array([np.nan if cell is None else cell[0] for cell in cells])
        described[name] = (columns[name], values)
    ask_about_codes(
        described, dict.fromkeys(described, argument("attributes", " + ".join(described)))
    )


def _ask_about_levels(sets: _Sets) -> None:
    """Ask whether attributes are codes of levels, where all of them count from 1 on."""
    highest: dict[str, int] = {}
    for name in _varying(sets.attributes, sets.cells, sets.decision, ~sets.outside):
        pairs = zip(sets.cells[name], sets.outside.tolist(), strict=True)
        told = {word(cell) for cell, out in pairs if not out and not is_nothing(cell)}
        if told != {str(k + 1) for k in range(len(told))} or len(told) > MOST_LEVELS:
            return
        highest[name] = len(told)
    if len(highest) < 2 or max(highest.values()) < FEWEST_CODES:
        return
    ways = [" + ".join(form.format(name) for name in highest) for form in ("C({})", "{}")]
    shown = format_list(f"{name} 1 to {high}" for name, high in highest.items())
    raise DataError(
        f"{argument('attributes')} must be given, as all count from 1 on ({shown}), which can be "
        f"read in two ways: codes of levels, as designs have them, or amounts. Pass "
        f"{argument('attributes', ways[0])} for the first, or {argument('attributes', ways[1])} "
        "for the second."
    )


def _taken(
    cells: Sequence[Any], option: Sequence[Any], decision: Sequence[Any], column: str
) -> list[Any]:
    """Which option was taken, as flags: as they are, or by the label that a decision repeats."""
    given = [None if is_nothing(cell) else word(cell) for cell in cells]
    labels = {str(label) for label in option}
    seen = {cell for cell in given if cell is not None}
    if len(seen) == 1 and None in given:  # flagged, and nothing written of others
        answered = {key for key, cell in zip(decision, given, strict=True) if cell is not None}
        pairs = zip(decision, given, strict=True)
        return [None if key not in answered else cell is not None for key, cell in pairs]
    if seen <= {"0", "1"} and not _repeats(given, decision):
        return list(cells)
    if seen <= labels and _repeats(given, decision):
        return [None if c is None else c == str(o) for c, o in zip(given, option, strict=True)]
    if seen <= labels | {"0"} and len(seen) > 1:  # the number, in one row of the decision
        said: dict[Any, set[str]] = {}
        for key, cell in zip(decision, given, strict=True):
            if cell not in (None, "0"):
                said.setdefault(key, set()).add(str(cell))
        if all(len(own) == 1 for own in said.values()) and {*decision} == {*said}:
            return [str(o) in said[key] for key, o in zip(decision, option, strict=True)]
    odd = sorted(seen - labels - {"0"})
    if seen & labels and not seen <= {"0", "1", "True", "False", "TRUE", "FALSE", "yes", "no"}:
        got = f"{format_list(odd)}, no option of the table" if odd else format_list(sorted(seen))
        raise DataError(
            f"{column} must be 1 for the option that was taken and 0 for others, or its label in "
            f"all rows of a decision; got {got}, where options are {format_list(sorted(labels))}. "
            + ("Add rows of that option." if odd else "Write 0 and 1.")
        )
    return list(cells)


def _repeats(cells: Sequence[Any], decision: Sequence[Any]) -> bool:
    """Whether all rows of a decision say the same."""
    found: dict[Any, Any] = {}
    pairs = zip(decision, cells, strict=True)
    return all(found.setdefault(key, cell) == cell for key, cell in pairs)


def _outside(
    option: Sequence[Any],
    cells: dict[str, list[Any]],
    varying: Sequence[str],
    flagged: Sequence[Any],
    asked: Asked,
) -> BoolVector:
    """Rows of an option that is none of those shown: by its name, or as nothing is said of it."""
    rows = np.array([plain(label) for label in option], dtype=object)
    found: BoolVector = np.zeros(len(rows), dtype=bool)
    if not varying:
        return found
    empty, zero = (
        np.logical_and.reduce([np.array([says(cell) for cell in cells[name]]) for name in varying])
        for says in (is_nothing, lambda cell: is_nothing(cell) or word(cell) == "0")
    )
    for label in dict.fromkeys(rows.tolist()):
        own = rows == label
        by_name = label in OPT_OUTS or (asked.opt_out and label == plain(asked.opt_out))
        taken = any(str(flagged[row]) in _TAKEN for row in np.flatnonzero(own).tolist())
        if by_name or (label in DOUBTFUL and empty[own].any()) or (zero[own].all() and taken):
            found |= own
    return found


def _ask_about_untaken(
    option: Sequence[Any],
    cells: Mapping[str, Sequence[Any]],
    varying: Sequence[str],
    outside: BoolVector,
    column: str,
) -> None:
    """Ask about an option that has 0 where others have words, and that nobody took."""
    worded = [n for n in varying if any(isinstance(c, str) and amount(c) is None for c in cells[n])]
    for label in dict.fromkeys(option):
        own = [k for k, one in enumerate(option) if one == label and not outside[k]]
        said = {word(cells[name][k]) for name in worded for k in own}
        if said != {"0"}:
            continue
        name = column if column.isidentifier() else f"`{column}`"
        kept = where_said(f"{name} != {label}" if str(label).isdigit() else f"{name} != {label!r}")
        raise DataError(
            f"{argument('opt_out')} must be given, as option {label} has 0 in "
            f"{format_list(worded)}, "
            "where others have words, and nobody took it: it may be none of those shown. Pass "
            f"{argument('opt_out', str(label))} for that, or {kept} to leave it out."
        )


def _choices(sets: _Sets, asked: Asked, table: pa.Table, opt_out: str | None) -> Built:
    """Choices among the sets, by the attributes asked for or by all that may be."""
    columns = Columns(sets.cells, sets.outside, asked)
    notes: list[str] = []
    formulas = _formulas(sets, columns, asked, notes)
    formula = union_of(list(formulas.values()))
    variables = columns.variables(formula)
    constants: list[str] = []
    if formula.constants:
        for label in list(dict.fromkeys(sets.option))[1:]:
            variables[f"constant:{label}"] = np.array([float(o == label) for o in sets.option])
            constants.append(f"constant:{label}")
    alone = [] if opt_out is None else [f"constant:{opt_out}"]
    if opt_out is not None and not all(own.constants for own in formulas.values()):
        variables[alone[0]] = sets.outside.astype(float)
        notes.append(f"{opt_out} is an option of its own, with a constant and attributes of 0")
    of_each = {
        name: [*columns.variables(own), *(constants if own.constants else alone)]
        for name, own in formulas.items()
    }
    passed = {part: asked.columns[part] for part in PASSED if asked.columns.get(part)}
    frame: dict[str, Any] = {f"{part} of": sets.cells[name] for part, name in passed.items()}
    codes = {key: k for k, key in enumerate(dict.fromkeys(sets.decision))}
    frame |= {
        f"{DECISION} of": [codes[key] for key in sets.decision],
        f"{OPTION} of": sets.option,
        f"{TAKEN} of": _flags(sets.taken),
    }
    how: dict[str, Any] = {part: f"{part} of" for part in passed}
    how |= {key: asked.policies[key] for key in ("missing", "weight_kind") if key in asked.policies}
    choices = Choices.from_frame(
        pa.table(frame | variables),
        decision=f"{DECISION} of",
        option=f"{OPTION} of",
        chosen=f"{TAKEN} of",
        explanatory=list(variables),
        **how,
    )
    used = [factor.name for term in formula.terms for factor in term]
    arguments: dict[str, Any] = {
        "attributes": list(dict.fromkeys(used)),
        "variables": list(variables),
        "sets": of_each,
        "rows": _rows_of(choices, sets),
    }
    return Built(choices, {}, {}, table, (*columns.notes, *notes), arguments)


def _formulas(sets: _Sets, columns: Columns, asked: Asked, notes: list[str]) -> dict[str, Formula]:
    """The attributes asked for, or all that may be; of every set, where several are compared."""
    if asked.rivals is None:
        if asked.attributes is None:
            return {ALL: _all_attributes(sets, columns, asked, notes)}
        return {ALL: formula_of(asked.attributes, list(sets.cells))}
    return {
        name: _all_attributes(sets, columns, asked, notes)
        if given == ALL
        else formula_of(given, list(sets.cells))
        for name, given in asked.rivals.items()
    }


def _rows_of(choices: Choices, sets: _Sets) -> IntVector:
    """Row of the table that every row of the choices comes from."""
    codes = {key: k for k, key in enumerate(dict.fromkeys(sets.decision))}
    of = zip(sets.decision, sets.option, sets.rows.tolist(), strict=True)
    places = {(codes[key], option): row for key, option, row in of}
    assert choices.decision_labels is not None and choices.option is not None
    labels = choices.option_labels or ()
    owner = np.repeat(np.arange(choices.n_decisions), np.diff(choices.first_row))
    return np.array(
        [
            places[(int(choices.decision_labels[k]), str(labels[i]))]
            for k, i in zip(owner.tolist(), choices.option.tolist(), strict=True)
        ],
        dtype=np.int64,
    )


def _flags(taken: Sequence[Any]) -> Any:
    """Choices as a column: yes and no as truth values."""
    words = {"yes": True, "no": False, "true": True, "false": False}
    cells = [None if is_nothing(cell) else cell for cell in taken]
    if all(cell is None or str(cell).strip().lower() in words for cell in cells):
        return pa.array([None if c is None else words[str(c).strip().lower()] for c in cells])
    return pa.array(cells)


def _all_attributes(sets: _Sets, columns: Columns, asked: Asked, notes: list[str]) -> Formula:
    """Every column that tells options apart; says which are left out, and why."""
    inside = ~sets.outside
    told = {*_varying(sets.attributes, sets.cells, sets.decision, inside)}
    kept, same, many = [], [], []
    for name in sets.attributes:
        cells = sets.cells[name]
        if all(is_nothing(cell) for cell in cells):
            continue
        if name not in told:
            same.append(name)
        elif len(columns.levels(name)) > MOST_LEVELS and columns.are_levels(name):
            many.append(name)
        else:
            kept.append(name)
    if same:
        notes.append(f"{format_list(same)} not used: the same for all options of a decision")
    if many:
        notes.append(f"{format_list(many)} not used: more than {MOST_LEVELS} different words")
    if not kept:
        raise DataError(
            f"{argument('attributes')} must be given, as no column tells the options of a "
            f"decision apart; got columns {format_names(sets.attributes) or 'of parts alone'}. "
            "Name them "
            f"with attributes, or pass {argument('attributes', '1')} for a constant of each option."
        )
    return Formula(tuple((Factor(name),) for name in kept))


def _is_count(name: str, cells: Sequence[Any]) -> bool:
    """Whether a column without a name numbers the rows, as R writes it."""
    unnamed = name.startswith("column ") or name in ("Unnamed: 0", "X", "index", "")
    return unnamed and all(isinstance(cell, int) for cell in cells) and len({*cells}) == len(cells)


def _varying(
    names: Sequence[str],
    cells: Mapping[str, Sequence[Any]],
    decision: Sequence[Any],
    inside: BoolVector | None = None,
) -> list[str]:
    """Columns that differ between the options of some decision."""
    keep = np.ones(len(decision), dtype=bool) if inside is None else inside
    found = []
    for name in names:
        first: dict[Any, str] = {}
        pairs = zip(decision, cells[name], keep.tolist(), strict=True)
        if any(own and first.setdefault(k, str(cell)) != str(cell) for k, cell, own in pairs):
            found.append(name)
    return found
