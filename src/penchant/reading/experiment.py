"""Choice experiments: options described by attributes, in long tables and in wide ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from penchant._typing import BoolVector, IntVector
from penchant.choices import Choices
from penchant.errors import DataError, listing, named
from penchant.output import counted
from penchant.reading.asked import Asked, Built, Place, chosen_column, seen_words, word
from penchant.reading.codes import ask_about_codes
from penchant.reading.formula import Factor, Formula, formula_of, union_of
from penchant.reading.variables import MOST_LEVELS, Columns
from penchant.tables.cells import amount, is_nothing
from penchant.tables.columns import long_columns
from penchant.tables.laboratory import CHOSEN, Cleaned
from penchant.tables.surveys import DOUBTFUL, OPT_OUTS, WideLayout, plain, wide_layout
from penchant.wording import argument

_TAKEN = ("1", "True", "1.0", "TRUE", "true", "yes")
DECISION, OPTION, TAKEN = "decision", "option", "chosen"
ALL = "all"  # attributes that tell options apart, where a set is named so
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
    layout = wide_layout(
        free,
        seen_words(table, chosen, doubtful=True),
        options=asked.options,
        opt_out=asked.opt_out,
        base=asked.base,
        column=chosen,
    )
    return None if layout is None else (chosen, layout)


def from_wide(clean: Cleaned, asked: Asked, chosen: str, layout: WideLayout, place: Place) -> Built:
    """Choices from a table with one row per decision and columns for each option."""
    table = clean.table
    picked = table[chosen].to_pylist()
    made = np.array([_is_made(cell, layout) for cell in picked])
    notes = []
    if not made.all():
        missed = counted(int((~made).sum()), "decision")
        notes.append(f"{missed} without a choice left out")
    rows: IntVector = np.flatnonzero(made)
    if not rows.size:
        raise DataError(f"chosen must hold some choices; got none in {chosen}. Name its column.")
    options = [*layout.options, *([layout.opt_out] if layout.opt_out else [])]
    m = len(options)
    place.rows = np.repeat(place.rows[rows], m)
    sets = _wide_sets(table, rows, layout, options)
    words = {**layout.words, **({layout.opt_out: layout.opt_out} if layout.opt_out else {})}
    sets.taken[:] = [
        words[word(picked[row])] == option for row in rows.tolist() for option in options
    ]
    if asked.attributes is None and asked.rivals is None:
        _check_codes(sets, {a: [c for c in own if c] for a, own in layout.attributes.items()})
    built = _choices(sets, asked, table.take(pa.array(rows)), layout.opt_out)
    parts = {"subject": asked.columns.get("subject"), "chosen": chosen}
    if parts["subject"] is None:
        notes += _may_be_people(table, {*layout.columns, chosen} | clean.own)
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


def _may_be_people(table: pa.Table, used: Collection[str]) -> list[str]:
    """That a column may name people, where none has a usual name: its rows stand together."""
    found: dict[str, int] = {}
    for name in table.column_names:
        cells = table[name].to_pylist()
        runs = 1 + sum(a != b for a, b in pairwise(cells))
        if name not in used and 1 < runs == len({*cells}) <= len(cells) / 2:
            found[name] = runs
    if not found:
        return []
    most = max(found, key=lambda name: found[name])
    return [
        f"nobody is told apart: pass {argument('subject', most)} if {most} names {found[most]} "
        "people"
    ]


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
    outside = _outside(option, cells, varying, parts["chosen"], asked)
    for name in varying:  # 0 of an option that is none of those shown is nothing
        pairs = zip(cells[name], outside.tolist(), strict=True)
        cells[name] = [None if out and word(cell) == "0" else cell for cell, out in pairs]
    sets = _Sets(
        cells,
        free,
        decisions,
        [str(label) for label in option],
        _taken(cells[parts["chosen"]], option, decisions, parts["chosen"]),
        np.arange(len(table)),
        outside,
    )
    if asked.attributes is None and asked.rivals is None:
        _check_codes(sets, {name: [name] for name in free})
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
    return Built(built.data, said, {}, built.table, built.notes, arguments)


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


def _taken(
    cells: Sequence[Any], option: Sequence[Any], decision: Sequence[Any], column: str
) -> list[Any]:
    """Which option was taken, as flags: as they are, or by the label that a decision repeats."""
    given = [None if is_nothing(cell) else word(cell) for cell in cells]
    labels = {str(label) for label in option}
    seen = {cell for cell in given if cell is not None}
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
        got = f"{listing(odd)}, no option of the table" if odd else listing(sorted(seen))
        raise DataError(
            f"{column} must be 1 for the option that was taken and 0 for others, or its label in "
            f"all rows of a decision; got {got}, where options are {listing(sorted(labels))}. "
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
    chosen: str,
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
        taken = any(str(cells[chosen][row]) in _TAKEN for row in np.flatnonzero(own))
        if by_name or (label in DOUBTFUL and empty[own].any()) or (zero[own].all() and taken):
            found |= own
    return found


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
        elif columns.are_words(name) and len(columns.levels(name)) > MOST_LEVELS:
            many.append(name)
        else:
            kept.append(name)
    if same:
        notes.append(f"{listing(same)} not used: the same for all options of a decision")
    if many:
        notes.append(f"{listing(many)} not used: more than {MOST_LEVELS} different words")
    if not kept:
        raise DataError(
            f"{argument('attributes')} must be given, as no column tells the options of a "
            "decision apart; got "
            f"columns {named(sets.attributes)}. Name them with attributes."
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
