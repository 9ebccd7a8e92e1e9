"""Histories of play: what was chosen and what it paid, one row per event."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penchant._typing import IntVector
from penchant.bandit.episode import highest_option
from penchant.bandit.episode_table import episode_rows, episodes_from_frame
from penchant.errors import Code, DataError, argument, format_list, format_names, quoted_argument
from penchant.reading.ambiguous import (
    ask_about_flags,
    ask_about_marks,
    change_places,
    chosen_ways,
    found_reward,
    odd_word,
    reward_ways,
    sounds_paid,
    varying,
    without_marks,
)
from penchant.reading.asked import (
    Asked,
    Built,
    Place,
    Questions,
    data_notes,
    near_duplicates,
    play_doubts,
    seen_words,
    with_column,
    word,
)
from penchant.reading.whose import (
    ask_about_counter,
    ask_about_first_rows,
    ask_about_people,
    ask_about_plays,
    ask_about_sessions,
    ask_for_order,
    ask_for_people,
)
from penchant.tables.answers import (
    DIFFERENCES,
    ask_about_rivals,
    ask_about_sides,
    by_sentences,
    differences,
)
from penchant.tables.cells import Amounts, amount, amounts, is_nothing
from penchant.tables.columns import (
    COORDINATES,
    NEEDED,
    NO_COLUMN,
    SESSION,
    USUAL,
    PlayColumns,
    is_called,
    named_column,
    plain_name,
    play_columns,
    usual_column,
)
from penchant.tables.designs import of_people
from penchant.tables.frames import column_floats, open_frame, row_place
from penchant.tables.labels import NUMBER
from penchant.tables.laboratory import CHOSEN, Cleaned
from penchant.tables.options import NOTHING_WORDS, labelled_options, refuse_stray_labels
from penchant.tables.play import FILLERS
from penchant.tables.programs import KINDS
from penchant.tables.reading import Reading
from penchant.tables.surveys import NOT, options_said, shown_at
from penchant.tables.where import where_said

PARTS = ("chosen", "reward", "subject", "block", "decision", "is_choice", "scored", "executed")


def from_play(clean: Cleaned, asked: Asked, place: Place) -> Built:
    """Episodes of all subjects."""
    del place  # rows stay what they are
    table, policies = clean.table, dict(asked.policies)
    given = _given(clean, asked)
    found, locations = _columns(table, given, policies.pop("locations", None), asked.base or 0)
    unmade: tuple[str, ...] = ()
    placed = locations is not None and not isinstance(locations, str)
    marked = asked.options is None and isinstance(found.chosen, str) and not placed
    if marked:
        table, unmade = without_marks(table, str(found.chosen), found.reward)
    questions = Questions()
    _ask_who_chose(questions, table, found, asked, clean.own)
    with questions.about("chosen"):
        if marked:
            ask_about_marks(table, str(found.chosen), found.decision)
    notes = unmade
    with questions.about("reward"):
        table = _with_differences(table, found)
        table, said = with_rewards(table, found, asked)
        notes = (*notes, *said)
    with questions.about("rows"):
        if "missing_reward" not in policies:
            _check_other_tasks(table, found)
            if "block" in asked.said and found.block is not None:
                ask_about_first_rows(table, found, clean.own | clean.conditions)
            elif "block" not in asked.said:
                ask_about_counter(table, found)
                ask_about_plays(table, found, clean.own | clean.conditions)
    with questions.about("reward"):
        if "reward" not in asked.said and not questions.has("rows"):
            found, decided = found_reward(table, found, clean.own)
            _ask_about_constant(clean, given, found.reward)
            notes = (*notes, *decided)
    with questions.about("rows"):
        if "decision" not in asked.said and not questions.has("subject"):
            ask_for_order(table, found, clean.own)
        if not questions.has("subject"):
            _check_numbered(table, found)
    labels: tuple[Any, ...] | None = None
    words: dict[str, str] = {}
    base = asked.base or 0
    with questions.about("chosen"):
        labels, words, base, sorted_so = _options(table, found, asked, clean.words)
        notes = (*notes, *sorted_so)
    questions.ask()
    if found.decision is None:
        notes = (*notes, "no column numbers the trials; rows are taken to be in order of time")
    if clean.counted_on or ("gaps" not in policies and _begins_later(clean, table, found)):
        policies.setdefault("gaps", "order")
    arguments: dict[str, Any] = {
        **found.arguments(),
        "base": 0 if labels is not None else base,
        "options": labels,
        "locations": None if isinstance(found.chosen, str) else locations,
        **policies,
    }
    if isinstance(asked.options, Mapping):
        table, numbered = _with_numbers(table, found, words)
        arguments |= numbered
    episodes = episodes_from_frame(table, **arguments)
    columns = dict(part.split(" = ", 1) for part in found.words().split("; "))
    n_options = len(labels) if labels is not None else _n_options(episodes)
    if isinstance(asked.options, Mapping):
        n_options = max(int(index) for index in words.values()) + 1
    doubts = data_notes(episodes)
    if locations is None or isinstance(locations, str) or not isinstance(found.chosen, str):
        doubts = (*doubts, *play_doubts(episodes, table, found, arguments))
    return Built(
        data=episodes,
        columns=columns,
        options=dict(sorted(words.items(), key=lambda pair: int(pair[1]))),
        table=table,
        notes=notes,
        arguments=arguments,
        model=f"QLearning(n_options={n_options})",
        doubts=doubts,
    )


def _given(clean: Cleaned, asked: Asked) -> dict[str, Any]:
    """The columns that were said or are told by their cells; asks for those that are needed."""
    given = _by_cells(clean, {part: asked.columns.get(part) for part in PARTS})
    if given.get("chosen") is None:
        _ask_about_groups(clean)
    if asked.policies.get("locations") is None:
        _ask_for_needed(clean, given)
    if given.get("reward") is None:
        _ask_about_constant(clean, given, usual_column("reward", clean.table.column_names))
    return given


def _ask_who_chose(
    questions: Questions, table: pa.Table, found: PlayColumns, asked: Asked, own: frozenset[str]
) -> None:
    """Ask what was chosen, and by whom, where it was not said."""
    with questions.about("chosen"):
        if "chosen" not in asked.said and isinstance(found.chosen, str):
            _check_places(table, found.chosen)
            _check_sides(table, found.chosen, own)
            _check_rivals(table, found, own)
            ask_about_flags(table, found.chosen, own, found.decision)
    with questions.about("subject"):
        if "subject" not in asked.said:
            ask_about_people(table, found.subject)
            ask_about_sessions(table, found.subject, found.block)
            ask_for_people(table, found, own)


def _with_numbers(
    table: pa.Table, found: PlayColumns, words: Mapping[str, str]
) -> tuple[pa.Table, dict[str, Any]]:
    """The table with options numbered as the user said, and the arguments that go with it."""
    table = with_column(table, _NUMBER, pa.array(_mapped(table, str(found.chosen), words)))
    arguments: dict[str, Any] = {"chosen": _NUMBER, "base": 0, "options": None}
    if found.executed is not None:
        done = pa.array(_mapped(table, str(found.executed), words))
        table = with_column(table, _DONE, done)
        arguments["executed"] = _DONE
    return table, arguments


def _with_differences(table: pa.Table, found: PlayColumns) -> pa.Table:
    """The table with what totals grew by, in the plays and the order that it is read in."""
    total = DIFFERENCES.fullmatch(found.reward) if isinstance(found.reward, str) else None
    if total is None or total["name"].strip() not in table.column_names:
        return table
    try:
        plays = _plays(table, found)
    except DataError:  # said where plays are made
        return table
    name, start = total["name"].strip(), total["start"]
    known = found.subject in table.column_names
    who = table[found.subject].to_pylist() if known else [None] * len(table)
    people: dict[Any, list[IntVector]] = {}
    for rows in plays:
        people.setdefault(who[int(rows[0])], []).append(rows)
    totals = column_floats(open_frame(table), name, "reward")
    begun = None if start is None else float(start)
    paid = differences(totals, list(people.values()), begun, name)
    return with_column(table, str(found.reward), pa.array(paid, from_pandas=True))


def _plays(table: pa.Table, found: PlayColumns) -> list[IntVector]:
    """Rows of every play, in order of time."""
    parts = {part: getattr(found, part) for part in ("subject", "block", "decision")}
    told = {part: None if name == NO_COLUMN else name for part, name in parts.items()}
    return [rows for rows in episode_rows(table, **told, gaps="order") if rows.size]


def _check_numbered(table: pa.Table, found: PlayColumns) -> None:
    """Raise what is wrong with the numbers of the decisions, which plays are made by."""
    block = (found.block,) if isinstance(found.block, str) else found.block or ()
    if found.subject not in block and found.decision not in block:  # else said below
        _plays(table, found)


def _options(
    table: pa.Table, found: PlayColumns, asked: Asked, are_words: bool
) -> tuple[tuple[Any, ...] | None, dict[str, str], int, tuple[str, ...]]:
    """Labels of the options, the number of each word, the first number, and what was decided."""
    labels, words = _labels(table, found, asked, are_words)
    if asked.options is None:
        _ask_about_alike(labels, str(found.chosen))
        _ask_beside_flag(labels, str(found.chosen))
    base = asked.base or 0
    if labels is not None and asked.options is None:
        typed = quoted_argument("options")
        said = f"options are sorted; {typed} for another order, or if there were more"
        return labels, words, base, (said,)
    if labels is None and isinstance(found.chosen, str) and not words:
        if "chosen" not in asked.said:
            _check_are_options(table, found)
        base = _base(table, found.chosen, asked.base)
        if asked.base is None:
            _ask_about_zero(table, found)
        words = {key: str(int(float(key)) - base) for key in _numbers(table, found.chosen)}
        words = {key: index for key, index in words.items() if int(index) >= 0}
    return labels, words, base, ()


def _begins_later(clean: Cleaned, table: pa.Table, found: PlayColumns) -> bool:
    """Whether a condition cut off the beginning, and every play goes on from there without a gap.

    Rows that a condition takes out between others are asked about: they may be decisions that
    passed, or none at all.
    """
    if not clean.conditions or not isinstance(found.decision, str) or found.decision == NO_COLUMN:
        return False
    numbers = column_floats(open_frame(table), found.decision, "decision")
    parts = {part: getattr(found, part) for part in ("subject", "block", "decision")}
    named: dict[str, Any] = {p: None if name == NO_COLUMN else name for p, name in parts.items()}
    for rows in episode_rows(table, **named, gaps="order"):
        gap = np.flatnonzero(np.diff(numbers[rows]) > 1)
        if gap.size:
            last, following = rows[gap[0]], rows[gap[0] + 1]
            raise DataError(
                f"{argument('gaps')} must be given, as the condition leaves out rows between "
                f"others, as between {numbers[last]:g} and {numbers[following]:g} in "
                f"{found.decision} at {row_place(following)}, which can be read in two ways: "
                "decisions that nothing was learnt from, or none at all. Pass "
                f"{argument('gaps', 'timeout')} for the first, or {argument('gaps', 'order')} for "
                "the second."
            )
    return True


def _columns(
    table: pa.Table, given: Mapping[str, Any], locations: Any, base: int
) -> tuple[PlayColumns, Any]:
    """The column of every part, and where options lie if choices are places."""
    found = columns_of(table.column_names, given, locations)
    if isinstance(found.chosen, str) or not isinstance(locations, str):
        return found, locations
    frame = open_frame(table)
    there = np.column_stack([column_floats(frame, name, "chosen") for name in found.chosen])
    return found, np.unique(there[~np.isnan(there).any(axis=1)], axis=0) - base


def _by_cells(clean: Cleaned, given: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that are known, with those that their cells tell from others of such a name."""
    known, table, changing = dict(given), clean.table, varying(clean)
    for part in ("reward", "block"):
        if known.get(part) is not None:
            continue
        called = [name for name in table.column_names if is_called(USUAL[part], name)]
        varied = [name for name in called if name in changing]
        if varied and len(varied) < len(called):
            known[part] = usual_column(part, _without(table, called, varied))
    free = [name for name in table.column_names if name != known.get("chosen")]
    if known.get("decision") is None and usual_column("decision", free) is None:
        counting = _counting(table, known)
        if counting is not None:
            known["decision"] = counting
            if known.get("block") is None:
                left = [name for name in table.column_names if name != counting]
                known["block"] = usual_column("block", left) or NO_COLUMN
    return known


def _ask_for_needed(clean: Cleaned, given: Mapping[str, Any]) -> None:
    """Ask for the choice, or the reward, where no column has a usual name and others may be it."""
    names = clean.table.column_names
    chosen, reward = (given.get(part) or usual_column(part, names) for part in NEEDED)
    if chosen is None and named_column(COORDINATES, names) is not None:
        return  # places, which are said below
    both = [(part,) if isinstance(part, str) else part or () for part in (chosen, reward)]
    used = {name for part in both for name in part}
    questions = Questions()
    for part, known, ways in (("chosen", chosen, chosen_ways), ("reward", reward, reward_ways)):
        said = [] if known is not None else ways(clean, used)
        with questions.about(part):
            if said:
                raise DataError(
                    f"{argument(part)} must be given, as no column is called "
                    f"{' or '.join(USUAL[part][:3])}; got columns {format_names(names)}. Pass "
                    f"{' or '.join(said)}."
                )
    if questions.has("chosen"):
        with questions.about("reward"):
            _ask_about_constant(clean, given, reward)
    questions.ask()


def _ask_about_groups(clean: Cleaned) -> None:
    """Ask for the choice where the column of a usual name says the same of each person, as arm."""
    table = clean.table
    name, reward = (usual_column(part, table.column_names) for part in ("chosen", "reward"))
    subject = clean.hints.get("subject") or usual_column("subject", table.column_names)
    if not isinstance(name, str) or name not in table.column_names:
        return
    if not of_people(table, name, subject) or len(table[name].drop_null().unique()) < 2:
        return
    parts = {usual_column(part, table.column_names) for part in ("block", "decision")}
    paid = {reward} if isinstance(reward, str) else {*(reward or ())}
    others = chosen_ways(clean, parts | paid)
    if others:
        raise DataError(
            f"{argument('chosen')} must be given, as {name} says the same in all rows of a "
            f"subject, as a group does. Pass {' or '.join(others)}; or "
            f"{argument('chosen', name)} if everybody always chose the same."
        )


def _ask_about_constant(clean: Cleaned, given: Mapping[str, Any], name: Any) -> None:
    """Ask for the reward where the one of a usual name is always the same, and others are not."""
    table = clean.table
    if not isinstance(name, str) or name not in table.column_names or name in varying(clean):
        return
    taken = {given.get("chosen") or usual_column("chosen", table.column_names)}
    others = reward_ways(clean, {*taken, name})
    if others:
        raise DataError(
            f"{argument('reward')} must be given, as {name} says the same in all rows of a "
            f"subject, and others change from one choice to the next. Pass "
            f"{' or '.join(others)}; or "
            f"{argument('reward', name)} if every choice paid the same."
        )


def _without(table: pa.Table, called: Sequence[str], varied: Sequence[str]) -> list[str]:
    return [name for name in table.column_names if name in varied or name not in called]


def _counting(table: pa.Table, known: Mapping[str, Any]) -> str | None:
    """A column called a block or round that is another in every row of a person's block."""
    names = table.column_names
    called = [name for name in names if is_called(USUAL["block"], name)]
    whose = [known.get("subject") or usual_column("subject", names), named_column(SESSION, names)]
    found: dict[str, int] = {}
    for name in called:
        others = [other for other in (*whose, *called) if other in names and other != name]
        if known.get("block") == name or not pa.types.is_integer(table[name].type):
            continue
        keys = list(zip(*(table[other].to_pylist() for other in (*others, name)), strict=True))
        plays = {key[:-1] for key in keys}
        if len({*keys}) == len(keys) > 2 * len(plays):
            found[str(name)] = len(plays)
    return min(found, key=lambda name: found[name]) if found else None


def columns_of(names: Sequence[str], given: Mapping[str, Any], locations: Any) -> PlayColumns:
    """The column of every part of task data, given or of a usual name.

    Parameters
    ----------
    names
        Columns of the table.
    given
        {part: column} that are known.
    locations
        Where options lie; "seen": wherever one was chosen; None where options are no places.
    """
    several = given["decision"]
    if isinstance(several, (tuple, list)) and len(several) > 1:
        raise DataError(
            f"{argument('decision')} must be one column of task data; got {', '.join(several)}. "
            f"Name those that tell subjects and plays apart with {argument('subject')} and "
            f"{argument('block')}."
        )
    known = locations is not None and not isinstance(locations, str)
    sides = np.shape(locations)[1] if known else len(COORDINATES)
    found = play_columns(names, given, coordinates=sides)
    if locations is None and not isinstance(found.chosen, str):
        raise DataError(
            "chosen must be one column of numbers or labels with this model; got places, columns "
            f"{' and '.join(found.chosen)}. "
            f"Say where the options lie, such as {argument('locations', Code('pn.grid(10, 10)'))}, "
            "or number the options in a column."
        )
    return found


def _numbers(table: pa.Table, name: str) -> list[str]:
    """The numbers in a column, as words."""
    return [key for key in seen_words(table, name) if NUMBER.match(key)]


_NUMBER = "option taken"
_DONE = "option executed"


def _n_options(episodes: Sequence[Any]) -> int:
    return max(map(highest_option, episodes)) + 1


def _ask_about_alike(labels: Sequence[Any] | None, chosen: str) -> None:
    """Refuse options that differ by case and blanks alone, as f and F of a key do."""
    alike = near_duplicates(map(str, labels or ()))
    if not alike:
        return
    number: dict[str, int] = {}
    for label in map(str, labels or ()):
        number.setdefault(label.strip().lower(), len(number))
    one = {str(label): number[str(label).strip().lower()] for label in labels or ()}
    raise DataError(
        f"{argument('options')} must be given, as {format_list(alike)} in {chosen} can be read in "
        "two "
        f"ways: as one option, or as different ones. Pass {options_said(one)} for the first, or "
        f"{options_said([str(label) for label in labels or ()])} for the second."
    )


def _ask_beside_flag(labels: Sequence[Any] | None, chosen: str) -> None:
    """Ask about a word beside an option and its opposite, as a flag of the option has both."""
    words = [str(label) for label in labels or ()]
    flagged = [one for one in words if f"{NOT}{one}" in words]
    odd = [one for one in words if one not in flagged and one.removeprefix(NOT) not in flagged]
    if not flagged or not odd:
        return
    raise DataError(
        f"{argument('options')} must be given, as {odd[0]!r} beside {flagged[0]!r} and its "
        "opposite can be read in two ways: an option, or a mark of decisions that nobody made. "
        f"Pass {options_said(words)} for the first, or "
        f"{where_said(f'{chosen} != {odd[0]!r}')} for the second."
    )


def _check_other_tasks(table: pa.Table, found: PlayColumns) -> None:
    """Ask what choices are whose kind of row never pays: another task, or no feedback."""
    if not isinstance(found.chosen, str) or not isinstance(found.reward, str):
        return
    taken, paid = (
        [not is_nothing(cell) for cell in table[name].to_pylist()]
        for name in (found.chosen, found.reward)
    )
    for name in table.column_names:
        if plain_name(name) not in KINDS or not pa.types.is_string(table[name].type):
            continue
        rows = list(zip(table[name].to_pylist(), taken, paid, strict=True))
        paying = dict.fromkeys(kind for kind, _, own in rows if own and kind is not None)
        others = dict.fromkeys(kind for kind, own, _ in rows if own and kind not in paying)
        if paying and others and None not in others:
            column = name if name.isidentifier() else f"`{name}`"
            kept = " or ".join(f"{column} == {kind!r}" for kind in paying)
            raise DataError(
                f"{argument('where')} must be given, as nothing is paid where {name} is "
                f"{format_list(map(repr, others))}, which can be read in two ways: another task, "
                f"or choices without feedback. Pass {where_said(kept)} for the first, or "
                f"{argument('missing_reward', 'skip')} for the second."
            )


def _check_places(table: pa.Table, chosen: str) -> None:
    """Refuse places of labels that change theirs: which of both is the option has to be said."""
    if not pa.types.is_integer(table[chosen].type):
        return
    for name in table.column_names:
        stem = name.removesuffix("_0")
        several = [
            other for other in table.column_names if re.fullmatch(f"{re.escape(stem)}_\\d", other)
        ]
        if stem == name or len(several) < 2:
            continue
        if change_places(table, several):
            raise _place_or_label(stem, chosen)


def _place_or_label(stem: str, chosen: str, meant: str = "") -> DataError:
    labelled = f"{stem}[{chosen}]"
    return DataError(
        f"{argument('chosen')} must be given, as {chosen} is a place and the labels in "
        f"{stem} change theirs: the option can be the place or the label. Pass "
        f"{argument('chosen', chosen)}, or {argument('chosen', labelled)}{meant}."
    )


def ask_about_places(clean: Cleaned, chosen: str) -> None:
    """Ask whether a place was chosen, or the label that stood there, where labels change theirs.

    Parameters
    ----------
    clean
        A table of decisions.
    chosen
        Its column of choices.
    """
    _check_places(clean.table, chosen)
    _check_sides(clean.table, chosen, clean.own)


def _check_sides(table: pa.Table, chosen: str, own: Collection[str]) -> None:
    """Refuse sides of labels that change theirs: which of both is the option has to be said."""
    names = [name for name in table.column_names if name != chosen and name not in own]
    words = [one for one in seen_words(table, chosen) if one != odd_word(table, chosen)]
    for stem, columns, places in shown_at(names, words):
        if sounds_paid(stem):  # what stood there was worth
            continue
        if change_places(table, columns):
            keys = {word: columns[place] for word, place in places.items()}
            said = ", ".join(f"{word} = {name}" for word, name in keys.items())
            raise _place_or_label(stem, chosen, f" ({said})")


def _is_of_people(table: pa.Table, name: str, subject: str | None) -> bool:
    """Whether a column says the same in all rows of a subject, as the arm of a trial does."""
    if subject is None or subject not in table.column_names:
        return False
    seen: dict[Any, Any] = {}
    pairs = zip(table[subject].to_pylist(), table[name].to_pylist(), strict=True)
    return all(seen.setdefault(whose, cell) == cell for whose, cell in pairs)


def _check_rivals(table: pa.Table, found: PlayColumns, own: Collection[str]) -> None:
    """Refuse choices that could be another column, or what stood at the place that was pressed."""
    chosen = str(found.chosen)
    free = [name for name in table.column_names if name not in found.used() and name not in own]
    said = [name for name in free if is_called(CHOSEN, name)]
    said = [name for name in said if not _is_of_people(table, name, found.subject)]
    ask_about_rivals(table, chosen, said)
    if found.executed is None:
        ask_about_sides(table, chosen, {*own} | found.used(), found.subject)


def with_rewards(
    table: pa.Table, found: PlayColumns, asked: Asked
) -> tuple[pa.Table, tuple[str, ...]]:
    """Rewards as numbers, whatever currency they are in."""
    notes = []
    for name in (found.reward,) if isinstance(found.reward, str) else found.reward:
        if not pa.types.is_string(table[name].type):
            continue
        cells = table[name].to_pylist()
        read = amounts(cells, name, decimal=asked.decimal, units=asked.units)
        if read is None:
            _refuse_comma(cells, name, asked.decimal)
            read = Amounts(by_sentences(cells, name, asked.decimal))
            notes.append(f"{name} holds sentences: the number that each tells is what was paid")
        table = with_column(table, name, pa.array(read.values, from_pandas=True))
        notes += read.notes(name)
    return table, tuple(notes)


def _refuse_comma(cells: Sequence[Any], name: str, decimal: str) -> None:
    """Say that a number is written with a decimal comma, where that alone is odd."""
    for row, cell in enumerate(cells):
        if is_nothing(cell) or amount(cell, decimal) is not None:
            continue
        if decimal == "." and amount(cell, ",") is not None:
            raise DataError(
                f"reward {name!r} must hold numbers; got {cell!r} at {row_place(row)}. It looks "
                f"like decimal comma; pass {argument('decimal', ',')}."
            )


def _labels(
    table: pa.Table, found: PlayColumns, asked: Asked, are_words: bool
) -> tuple[tuple[Any, ...] | None, dict[str, str]]:
    """Labels of the options where the choices are words, and the number of each word."""
    if not isinstance(found.chosen, str):
        return None, {}
    if isinstance(asked.options, Mapping):
        words = {word(key): str(value) for key, value in asked.options.items()}
        odd = [value for value in words.values() if not value.isdigit()]
        if odd:
            raise DataError(
                f"options must map words to numbers of options, from 0; got {odd[0]!r}. "
                "Write {'left': 0, 'right': 1}, or a list of words."
            )
        return None, words
    text = pa.types.is_string(table[found.chosen].type)
    truth = pa.types.is_boolean(table[found.chosen].type)
    if asked.options is None and not (text or truth or are_words):
        return None, {}
    frame = open_frame(table)
    if asked.options is None and text and not are_words:
        _refuse_stray_labels(table, found.chosen)
        if all(NUMBER.match(key) for key in seen_words(table, found.chosen)):
            return None, {}
    given = None if asked.options is None else list(asked.options)
    _, labels = labelled_options(frame, found.chosen, given, row_place)
    return labels, {word(label): str(k) for k, label in enumerate(labels)}


def _refuse_stray_labels(table: pa.Table, chosen: str) -> None:
    """Refuse numbers with a word among them, and say how to leave its rows out."""
    try:
        refuse_stray_labels(open_frame(table), chosen, row_place)
    except DataError as error:
        column = chosen if chosen.isidentifier() else f"`{chosen}`"
        words = [one for one in seen_words(table, chosen) if not NUMBER.match(one)]
        kept = " and ".join(f"{column} != {one!r}" for one in words)
        error.fix += f" Or pass {where_said(kept)} to leave these rows out."
        raise


MOST_NUMBERS = 50  # different numbers of options that are no places


def _check_are_options(table: pa.Table, found: PlayColumns) -> None:
    """Refuse numbers that cannot be those of options, such as reaction times."""
    numbers = np.array([float(key) for key in _numbers(table, str(found.chosen))])
    given = np.unique(numbers[numbers >= 0])
    if not given.size:
        return
    whole = float((given == np.floor(given)).mean()) > 0.5  # others are slips
    spread = len(given) > MOST_NUMBERS and len(given) < (given[-1] - given[0]) / 2
    if whole and not spread:
        return
    others = [
        name
        for name in table.column_names
        if name not in found.used() and 2 <= len({*table[name].to_pylist()} - {None}) <= 12
    ]
    ways = " or ".join(argument("chosen", name) for name in others[:3])
    raise DataError(
        f"{argument('chosen')} must be given, as {found.chosen} holds {len(given)} different "
        f"numbers from {given[0]:g} to {given[-1]:g}, times or amounts rather than options. Pass "
        f"{ways or argument('chosen')}{' if that is what was chosen' if ways else ''}."
    )


def _ask_about_zero(table: pa.Table, found: PlayColumns) -> None:
    """Ask whether a 0 that always pays the same is an option, or a decision that nobody made."""
    frame = open_frame(table)
    if not isinstance(found.reward, str) or pa.types.is_string(table[found.reward].type):
        return
    words = [None if is_nothing(c) else word(c) for c in table[str(found.chosen)].to_pylist()]
    chosen = np.array([float(w) if w and NUMBER.match(w) else np.nan for w in words])
    rewards = column_floats(frame, found.reward, "reward")
    zero, others = chosen == 0, chosen > 0
    paid = np.unique(rewards[zero & ~np.isnan(rewards)])
    rest = np.unique(rewards[others & ~np.isnan(rewards)])
    if len(paid) != 1 or paid[0] not in FILLERS or (chosen > 1).sum() == 0 or len(rest) < 2:
        return
    n = int(np.nanmax(chosen))
    raise DataError(
        f"{argument('base')} must be given, as 0 in {found.chosen} ({int(zero.sum())} rows) always "
        f"pays {paid[0]:g}, which can be read in two ways: an option, or decisions that nobody "
        f"made, with {n} options counted from 1. Pass "
        f"{argument('options', list(range(n + 1)))} for the first, or {argument('base', 1)} for "
        "the second."
    )


def _base(table: pa.Table, name: str, base: int | None) -> int:
    """Number of the first option; asked where none is 0, as there may be one nobody chose."""
    if base is not None:
        return base
    numbers = [float(key) for key in _numbers(table, name)]
    if sorted(numbers) == [-1.0, 1.0]:
        raise DataError(
            f"{argument('options')} must be given, as {name} holds -1 and 1, which can be read in "
            "two ways: two options, such as left and right, or one option and decisions that "
            f"nobody made. Pass {argument('options', [-1, 1])} for the first, or "
            f"{argument('base', 1)} for the second."
        )
    numbers = [number for number in numbers if number >= 0]
    low, high = min(numbers, default=0.0), max(numbers, default=0.0)
    if low == 0:
        return 0
    listed = sorted({int(number) for number in numbers})
    raise DataError(
        f"{argument('base')} must be given, as {name} holds {low:g} to {high:g}, which can be read "
        f"in two ways: options counted from 1 ({int(high)} of them), or from 0 ({int(high) + 1}, "
        "of which nobody chose 0). Pass "
        f"{argument('base', 1)} or {argument('base', 0)}; or {argument('options', listed[:9])} for "
        "labels."
    )


def _labels_said(listed: list[int]) -> str:
    """That numbers may be labels, such as codes of keys, where most between them are missing."""
    if len(listed) > 9 or len(listed) > (listed[-1] - listed[0] + 1) / 2:
        return ""
    codes = argument("options", ",".join(map(str, listed)))
    return f"; or {codes} if they are codes, such as those of keys"


def _mapped(table: pa.Table, name: str, words: Mapping[str, str]) -> list[int | None]:
    """Numbers of options by the words that were said to mean them."""
    found: list[int | None] = []
    for row, cell in enumerate(table[name].to_pylist()):
        if is_nothing(cell) or str(cell).strip() in NOTHING_WORDS:
            found.append(None)
        elif word(cell) in words:
            found.append(int(words[word(cell)]))
        else:
            raise DataError(
                f"options must say what every word of {name} means; got {word(cell)!r} at "
                f"{row_place(row)}. Add it."
            )
    return found


def event_rows(reading: Reading) -> list[IntVector]:
    """Rows of the table that each event of each subject comes from; -1 where it has no row."""
    known = reading.arguments
    parts = {part: known.get(part) for part in ("subject", "block", "decision")}
    told = {part: None if name == NO_COLUMN else name for part, name in parts.items()}
    rows = episode_rows(reading.table, **told, gaps=known.get("gaps", "error"))
    return [own[: one.n_events] for own, one in zip(rows, reading.data, strict=True)]


def event_labels(reading: Reading, column: str) -> list[Any]:
    """What a column of the table says of each event of each subject."""
    labels = np.array([*reading.table[column].to_pylist(), None], dtype=object)
    return [labels[rows] for rows in event_rows(reading)]
