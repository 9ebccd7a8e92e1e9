"""Tables as laboratories have them, made plain: decisions alone, one value in every cell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penchant._typing import BoolVector, IntVector
from penchant.errors import DataError, argument, format_list
from penchant.files.folder import FILE
from penchant.files.table import RECORD, typed
from penchant.files.text import MISSING_WORDS
from penchant.output import format_count
from penchant.tables.answers import (
    AGREE,
    BY_LOSS,
    BY_PLACE,
    BY_WORD,
    DIFFERENCES,
    FLAG_VERBS,
    agreement,
    best_and_worst,
    by_flag,
    by_level,
    by_losses,
    by_words,
    differences,
    flag,
    flags_of_options,
    in_one_pair,
    one_choice,
    told_at,
)
from penchant.tables.cells import array_cell, is_nothing
from penchant.tables.columns import (
    FEWEST,
    SESSION,
    USUAL,
    is_called,
    is_long,
    is_play,
    named_column,
    nested_column,
    plain_name,
)
from penchant.tables.designs import (
    LongParts,
    alike_in,
    first_words,
    is_counter,
    is_never_nothing,
    long_parts,
    of_people,
    people_column,
)
from penchant.tables.frames import column_floats
from penchant.tables.labels import NUMBER
from penchant.tables.offer_columns import FIRST_WORDS, REFUSALS, SECOND_WORDS, gain_and_loss
from penchant.tables.offer_columns import USUAL as OFFERED
from penchant.tables.programs import (
    GORILLA,
    JSPSYCH,
    PSYCHOPY,
    Loops,
    Program,
    is_practice,
    marks,
    own_names,
    program_of,
    psychopy_loops,
    question_titles,
    several_pressed,
)
from penchant.tables.questions import conjoint, kirby, offers_of_questions
from penchant.tables.surveys import (
    CUTS,
    are_numbered,
    halves,
    is_evident,
    likely_layouts,
    shown_at,
    tag,
    wide_layouts,
)
from penchant.tables.unfolding import (
    objects_apart,
    offers_apart,
    one_row_per_decision,
    single_buttons,
    unfolded,
    without_single_lists,
)
from penchant.tables.where import check_some_left, rows_where, used_columns, where_said

_PRACTICE_FLAGS = (
    *("practice", "ispractice", "practicetrial", "practise", "ispracticetrial", "practiceflag"),
    *("isdemo", "demo", "istutorial", "iswarmup", "warmup", "isexample"),
)
_CODES = "keypress"  # jsPsych 6 writes codes of keys: labels, however they are written
_SHORT = 30  # characters of a word that says what a row is
_LONG = 60  # characters of several
_FEW_KINDS = 40
# A column that others are asked for by: card[key], diff(score), outcome[win=1].
_TOLD_OF = re.compile(r"diff\(([^,()]+).*\)|([^\[\]]+)\[[^\[\]]*[=\d][^\[\]]*\]")
_FEW_OPTIONS = 12
_MANY_ROWS = 0.75  # share of choices after which something is told
_NEARLY = 0.9  # share of rows that are nearly all
_FEW_ODD = 0.2  # share of a flag's cells that say something else
_LEADING_ZERO = re.compile(r"[+-]?0\d")
# Names of choices that are flags of one option, too: chose_ll beside chose_ss.
_ALSO_FLAGS = frozenset(map(plain_name, OFFERED["chosen"])) - frozenset(
    map(plain_name, USUAL["chosen"])
)
CHOSEN = (*USUAL["chosen"], *OFFERED["chosen"], "chose", "picked", "pick", "preferred", "answer")


@dataclass(frozen=True)
class Cleaned:
    """A table of decisions, and what was done to get there.

    Attributes
    ----------
    table
        With one row per decision, event or option.
    rows
        Row of the table given that each row comes from.
    program
        What wrote it, where that is known.
    own
        Columns that the program writes by itself, or that say nothing in the rows that are left, as
        the answers of a questionnaire do: never attributes.
    hints
        {part: column} where the program says what is what.
    notes
        Rows left out, and why; what was taken for what.
    words
        Whether choices are words, such as keys, even where they look like numbers.
    conditions
        Columns that the condition on the rows speaks of.
    below
        Columns that are filled in rows after choices alone, which are left out.
    """

    table: pa.Table
    rows: IntVector
    program: str | None = None
    own: frozenset[str] = frozenset()
    hints: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    words: bool = False
    conditions: frozenset[str] = frozenset()
    below: tuple[str, ...] = ()

    @property
    def counted_on(self) -> bool:
        """Whether numbers of decisions count more than the decisions that are left."""
        return self.program is not None or any("left out" in note for note in self.notes)


def cleaned(
    table: pa.Table, *, where: str | None = None, given: Mapping[str, Any] | None = None
) -> Cleaned:
    """Leave out what is no decision, and unfold what is several.

    Parameters
    ----------
    table
        As a file holds it.
    where
        Condition on the rows to keep, see `rows_where`.
    given
        {part: column} that are known.
    """
    known = {part: name for part, name in (given or {}).items() if isinstance(name, str)}
    columns = [_as_string(table[name]) for name in table.column_names]
    named = pa.table(dict(zip(names_without_programs(table).values(), columns, strict=True)))
    work = _Work(without_single_lists(named), known)
    work.blocks = _several((given or {}).get("block"))
    work.leave_out(work.blank(), "nothing is in them")
    titles = question_titles(work.table, work.program)
    work.leave_out(marks(work.table, work.program), "titles and ends")
    if where is not None:
        work.join_flags_for(where)
        work.unfold_for(where)
        frame = nw.from_native(work.table, eager_only=True)
        mask = rows_where(frame, where)
        check_some_left(mask, frame, where)
        work.keep(mask)
        kept = format_count(int(mask.sum()), "row")
        work.notes.append(f"{kept} of {len(mask):,} kept by {argument('where')}")
    work.ask_apart(titles)
    work.take_best_or_worst()
    work.find_long()
    work.join_flags()
    if "chosen" not in known:
        several_pressed(work.table)
    loops = work.loops()
    used = used_columns(where, work.table.column_names)
    work.conditions = frozenset(used)
    work.leave_out_practice(loops, used)
    work.rewards_from_below()
    work.find_below()
    work.leave_out_other_kinds(loops)
    work.ask_about_first_part(used)
    work.unfold()
    work.find_arms()
    return work.done(loops)


def names_without_programs(table: pa.Table) -> dict[str, str]:
    """What each column is called where programs put nothing before the experimenter's names."""
    names = [str(name) for name in table.column_names]
    unfilled = [name for name in names if table[name].null_count == len(table)]
    return dict(zip(names, own_names(names, unfilled), strict=True))


class _Work:
    """A table on its way: what is left of it, and what was said."""

    def __init__(self, table: pa.Table, given: Mapping[str, Any]) -> None:
        self.table = _with_joined(table, given.get("subject"))
        self.given = given
        self.rows: IntVector = np.arange(len(table))
        self.spoke = {name for name in table.column_names if table[name].null_count < len(table)}
        self.notes: list[str] = []
        self.words = False
        self.long: LongParts | None = None
        self.practised = False
        self.below: tuple[str, ...] = ()
        self.ranked: str | None = None  # the choice that is meant, of the best and the worst
        self.loop: str | None = None
        self.blocks: tuple[str, ...] = ()  # where several columns tell plays apart
        self.conditions: frozenset[str] = frozenset()
        self.program: Program = program_of(table.column_names)
        self.of_people: frozenset[str] = frozenset()
        self.people: str | None = None  # who, by the rows, where no column has a name of people
        if self.subject is None:
            self.people = self._people()
        self.of_people = self._arms() | self._unpaid() | self._aside()
        self._count_restarts(given.get("block"))

    def _people(self) -> str | None:
        """The column of people by its rows, unless the table is of play."""
        names = self.table.column_names
        found = people_column(self.table, names) if len(names) <= len(self.table) else None
        if found is None:
            return None
        return None if is_play([n for n in names if not of_people(self.table, n, found)]) else found

    def _count_restarts(self, block: str | None) -> None:
        """A column that counts how often the number of a person's trials begins anew."""
        match = re.fullmatch(r"restarts\((.+)\)", block or "")
        if block is None or match is None or match[1] not in self.table.column_names:
            return
        who = self.cells(self.subject) if self.subject else [None] * len(self.table)
        last: dict[Any, tuple[float, int]] = {}
        plays = []
        for whose, cell in zip(who, self.cells(match[1]), strict=True):
            number, play = last.get(whose, (-np.inf, 0))
            if isinstance(cell, (int, float)):
                last[whose] = (float(cell), play + (cell <= number))
            plays.append(last.get(whose, (0.0, 0))[1] + 1)
        self.table = self.table.append_column(block, pa.array(plays))

    # ---- parts -------------------------------------------------------------------------------

    def part(self, part: str, usual: Sequence[str] | None = None) -> str | None:
        """The column of a part: given, or of a usual name."""
        given = self.given.get(part)
        if given in self.table.column_names:
            return str(given)
        told = _TOLD_OF.fullmatch(given or "")
        if told is not None and (told[1] or told[2]) in self.table.column_names:
            return str(told[1] or told[2])
        free = [name for name in self.table.column_names if name not in self.of_people]
        names = usual or USUAL[part]
        nested = None if self.program.name == PSYCHOPY else nested_column(names, free)
        found = named_column(names, free if part == "chosen" else self.table.column_names) or nested
        return self._decided(free) if found is None and part == "chosen" else found

    def _decided(self, names: Sequence[str]) -> str | None:
        """A column called decision that holds what was decided, as it does not count."""
        called = [name for name in names if is_called(USUAL["decision"], name)]
        called = [name for name in called if {"decision", "click"} & {*_words_of(name)}]
        few = [name for name in called if 2 <= len({*self.cells(name)} - {None}) <= _FEW_OPTIONS]
        few = [name for name in few if not is_counter(self.table, name, self.subject)]
        few = [name for name in few if not self._counts_on(name)]
        return few[0] if len(few) == 1 and len(self.table) > _FEW_KINDS else None

    def _counts_on(self, name: str) -> bool:
        """Whether most numbers are one more than the one before: of trials, block after block."""
        cells = [cell for cell in self.cells(name) if isinstance(cell, int)]
        return bool(cells) and float(np.mean(np.diff(cells) == 1)) > 0.5

    @property
    def subject(self) -> str | None:
        """The column that says who; the record or the file where none does."""
        found = self.part("subject")
        names = self.table.column_names
        found = found or next((name for name in (RECORD, FILE) if name in names), None)
        return found or (self.people if self.people in names else None)

    def cells(self, name: str) -> list[Any]:
        """The cells of a column."""
        return list(self.table[name].to_pylist())

    def filled(self, name: str) -> BoolVector:
        """Which cells of a column hold something."""
        return np.array([not is_nothing(cell) for cell in self.cells(name)])

    def find_arms(self) -> None:
        """Look for arms of a trial again, where lists have become rows."""
        self.of_people |= self._arms()

    def _arms(self) -> frozenset[str]:
        """Columns that have a name of options, but tell people apart: the arm of a trial."""
        if self.subject is None or self.given.get("chosen") is not None:
            return frozenset()
        names = [name for name in self.table.column_names if is_called(CHOSEN, name)]
        people = Counter(self.cells(self.subject))
        if not names or len(people) < 2 or len(self.table) < FEWEST * len(people):
            return frozenset()
        found = [name for name in names if self._is_of_people(name) and self.filled(name).any()]
        alone = [name for name in found if plain_name(name) != "arm"] if found == names else []
        return frozenset(name for name in found if name not in alone)

    def _unpaid(self) -> frozenset[str]:
        """Columns that have a name of choices, but say nothing, or one thing, wherever it pays."""
        reward = self.part("reward")
        if reward is None or self.given.get("chosen") is not None:
            return frozenset()
        paid = self.filled(reward)
        names = [name for name in self.table.column_names if is_called(CHOSEN, name)]
        names = [name for name in names if name != reward and name not in self.of_people]
        beside = {name: self._said_in(name, paid) for name in names}
        if not any(len({*own}) > 1 and 2 * len(own) > paid.sum() for own in beside.values()):
            return frozenset()
        return frozenset(name for name, own in beside.items() if len({*own}) < 2)

    def _aside(self) -> frozenset[str]:
        """A program's column of answers that is filled where nothing of the experimenter's is.

        Such as keys that end instructions, where choices have a column of their own.
        """
        own, subject = self.program.own, self.subject
        if self.program.name is None or self.given.get("chosen") is not None or subject is None:
            return frozenset()
        free = [name for name in self.table.column_names if name not in own and name != subject]
        rows = {name: self.filled(name) for name in free if not is_called(CHOSEN, name)}
        some = [filled for filled in rows.values() if 0 < filled.sum() < _NEARLY * len(filled)]
        told = np.logical_or.reduce(some) if some else np.zeros(len(self.table), dtype=bool)
        names = [
            name for name in own if name in self.table.column_names and is_called(CHOSEN, name)
        ]
        return frozenset(
            name
            for name in names
            if not (self.filled(name) & told).any() and 2 * self.filled(name).sum() < told.sum()
        )

    def _said_in(self, name: str, rows: BoolVector) -> list[str]:
        """What a column says in some rows, where it says something."""
        cells = zip(self.cells(name), rows, strict=True)
        return [str(cell) for cell, own in cells if own and not is_nothing(cell)]

    def blank(self) -> BoolVector:
        """Rows in which every cell is empty, as spreadsheets leave them below a table."""
        empty = [pc.is_null(self.table[name]) for name in self.table.column_names]
        found: BoolVector = np.ones(len(self.table), dtype=bool)
        for cells in empty:
            found &= cells.to_numpy()
        return found

    # ---- rows --------------------------------------------------------------------------------

    def keep(self, mask: BoolVector) -> None:
        """Keep some rows."""
        if not mask.all():
            self.table = _retyped(self.table.filter(pa.array(mask)))
            self.rows = self.rows[mask]

    def leave_out(self, mask: BoolVector, why: str) -> None:
        """Leave some rows out, and say so, unless they are all."""
        if mask.any() and not mask.all():
            self.notes.append(f"{format_count(int(mask.sum()), 'row')} left out: {why}")
            self.keep(~mask)

    def loops(self) -> Loops:
        """What PsychoPy's loops say; nothing of other programs."""
        if self.program.name != PSYCHOPY:
            return Loops(np.zeros(len(self.table), dtype=bool))
        found = psychopy_loops(self.table, self._pressed_in(), self.of_people)
        self.loop = found.block
        return found

    def _pressed_in(self) -> str | None:
        """The column of choices that was named, or of places where it is asked for as card[key]."""
        names, given = self.table.column_names, self.given.get("chosen")
        inner = re.fullmatch(r".+\[(.+)\]", given or "")
        asked = (given, inner[1] if inner is not None else None)
        return next((name for name in asked if name in names), None)

    def leave_out_practice(self, loops: Loops, asked: Collection[str]) -> None:
        """Leave out practice, where a column or a loop says so and no condition asks for it."""
        practice = loops.practice.copy()
        why = ["a loop of practice"] if practice.any() else []
        for name in self.table.column_names:
            if name in asked or name == self.given.get("chosen"):
                continue
            own = self._practice(name)
            if own.any() and self._is_part_of_everybody(own):
                pairs = zip(self.cells(name), own, strict=True)
                words = format_list(dict.fromkeys(repr(cell) for cell, is_own in pairs if is_own))
                practice |= own
                why.append(f"{name} is {words}")
        self.practised = bool(practice.any())
        if practice.any() and not practice.all():
            where = argument("where")
            said = f"practice ({' and '.join(why)}); name the column in {where} to decide otherwise"
            self.leave_out(practice, said)

    def ask_about_first_part(self, asked: set[str]) -> None:
        """Ask about the few rows that everybody began with, where a word tells them apart."""
        used = {*asked, *self.program.own, self.part("chosen", CHOSEN)}
        if self.practised or self.subject is None:
            return
        played = self._is_played()
        for name in self.table.column_names:
            word = None if name in used else first_words(self.table, name, self.subject)
            if word is None or self._is_of_offers(name):
                continue
            once = self._is_once(name, word)
            likely = once or plain_name(word).startswith("train")
            if name in self.program.kinds and (self.program.name is not None or not likely):
                continue
            if played and not likely:
                continue  # a part of play, which is asked about as such
            others = [cell for cell in dict.fromkeys(self.cells(name)) if cell != word]
            column = name if name.isidentifier() else f"`{name}`"
            kept = f"{column} in {[word, *others]!r}"
            raise DataError(
                f"{argument('where')} must be given, as everybody's first rows have {word!r} in "
                f"{name}, which can be read in two ways: practice, or decisions like those with "
                f"{format_list(map(repr, others))}. Pass {where_said(f'{column} != {word!r}')} to "
                f"leave them out, or {where_said(kept)} to keep them."
            )

    def _is_once(self, name: str, word: str) -> bool:
        """Whether a word stands in one row of everybody."""
        who = zip(self.cells(str(self.subject)), self.cells(name), strict=True)
        return max(Counter(whose for whose, cell in who if cell == word).values()) == 1

    def _is_of_offers(self, name: str) -> bool:
        """Whether a column's name is one of several that describe options."""
        names = [other for other in self.table.column_names if other not in self.program.own]
        layouts = [by for tags, by in wide_layouts(names) if is_evident(tags, by)]
        attributes = [[*own.values()] for by in layouts for own in by.values()]
        alike = alike_in(self.table)
        return any(name in columns and alike(columns) > 0 for columns in attributes)

    def _is_part_of_everybody(self, rows: BoolVector) -> bool:
        """Whether nobody has these rows alone: a group may be called practice, too."""
        who = self.cells(self.subject) if self.subject else [None] * len(rows)
        others = {whose for whose, own in zip(who, rows, strict=True) if not own}
        return all(whose in others for whose, own in zip(who, rows, strict=True) if own)

    def _practice(self, name: str) -> BoolVector:
        none: BoolVector = np.zeros(len(self.table), dtype=bool)
        if plain_name(name) in _PRACTICE_FLAGS:
            yes = ("true", "1", "1.0", "yes", "y", "practice")
            return np.array([str(cell).strip().lower() in yes for cell in self.cells(name)])
        if not pa.types.is_string(self.table[name].type):
            return none
        trained = self._was_trained(name)
        said = {
            cell: len(cell) <= _SHORT and (is_practice(cell) or cell == trained)
            for cell in pc.unique(self.table[name]).to_pylist()
            if cell is not None
        }
        if not any(said.values()) or len(said) > max(20, len(self.table) // 2):
            return none
        return np.array([said.get(cell, False) for cell in self.cells(name)])

    def _was_trained(self, name: str) -> str | None:
        """The word for training, where it is few first rows, and nothing is learnt from rewards."""
        word = first_words(self.table, name, self.subject)
        trained = word is not None and plain_name(word).startswith("train")
        return word if trained and not self._is_played() else None

    def _is_played(self) -> bool:
        """Whether a column may be of rewards that people learn from."""
        if self.long is not None:
            return False
        names = self.table.column_names
        own = [name for name in names if not of_people(self.table, name, self.subject)]
        return is_play(own) and not self._are_gambles(own)

    def _are_gambles(self, names: Sequence[str]) -> bool:
        """Whether every row has a gain and a loss, as gambles do that are taken or left.

        What is paid is one of both.
        """
        both = gain_and_loss([name for name in names if name not in self.program.own])
        return both is not None and all(is_never_nothing(self.table, name) for name in both)

    def rewards_from_below(self) -> None:
        """Rewards that stand in the row after the choice, as feedback has one of its own."""
        chosen, reward = self.part("chosen", CHOSEN), self.part("reward")
        if chosen is None or reward is None or chosen == reward:
            return
        picked, paid = self.filled(chosen), self.filled(reward)
        if not paid.any() or (picked & paid).any():
            return
        who = self.cells(self.subject) if self.subject else [None] * len(paid)
        below = np.append(paid[1:], False)
        if self.program.name is None and not below[picked].all():
            return  # in a file of no known program, rows must go by twos
        moved = self.cells(reward)
        last: int | None = None
        for row, whose in enumerate(who):
            if last is not None and whose != who[last]:
                last = None
            if picked[row]:
                last = row
            elif paid[row] and last is not None:
                moved[last], moved[row], last = moved[row], None, None
        place = self.table.column_names.index(reward)
        self.table = self.table.set_column(place, reward, typed(moved))
        self.notes.append(f"{reward} taken from the row after each choice")
        if self.program.name is None:
            self.leave_out(paid, "feedback, in rows of its own")

    def find_below(self) -> None:
        """Which columns are filled in rows after choices alone: they may say what was paid."""
        chosen, own = self.part("chosen", CHOSEN), self.program.own
        if chosen is None or self.program.name is None or self.part("reward") is not None:
            return
        picked = self.filled(chosen)
        for name in self.table.column_names:
            told = self.filled(name)
            if name not in own and name != chosen and not (told & picked).any():
                after = len(np.unique(np.cumsum(picked)[told]))  # choices that it came after
                if _MANY_ROWS * max(picked.sum(), told.sum()) < after:
                    self.below = (*self.below, name)

    def leave_out_other_kinds(self, loops: Loops) -> None:
        """Leave out instructions, fixations, rests: kinds of rows in which nothing is chosen."""
        chosen = loops.chosen or self.part("chosen", CHOSEN)
        if loops.inside is not None:
            # loops are about the rows before practice was left out
            inside = psychopy_loops(self.table, chosen, self.of_people).inside
            if inside is not None:
                self.leave_out(~inside, "not in a loop of trials")
        if chosen is None or chosen not in self.table.column_names:
            return
        kinds = [name for name in self.program.kinds if name in self.table.column_names]
        kinds = [name for name in kinds if name != chosen and self._has_few_words(name)]
        if kinds:
            columns = [self.cells(name) for name in kinds]
            columns = [cells for cells in columns if len({*cells}) > 1] or columns[:1]
            keys = list(zip(*columns, strict=True))
            picked = self.filled(chosen)
            active = {key for key, own in zip(keys, picked, strict=True) if own}
            idle = np.array([key not in active for key in keys])
            self.leave_out(idle, f"nothing to choose ({self._named_kinds(keys, idle)})")
        if self.program.name is not None:
            self._leave_out_empty(chosen)
            self._leave_out_unpaid(chosen)
        number, reward = self.part("decision"), self.part("reward")
        if number is not None and reward is not None:
            said = [self.filled(name) for name in (chosen, reward, number)]
            self.leave_out(~np.logical_or.reduce(said), "nothing chosen, paid or numbered")

    def _has_few_words(self, name: str) -> bool:
        """Whether a column is of words that come again and again, not of numbers or sentences."""
        column = self.table[name]
        return pa.types.is_string(column.type) and len(pc.unique(column)) <= _FEW_KINDS

    def _named_kinds(self, keys: Sequence[tuple[Any, ...]], idle: BoolVector) -> str:
        count = Counter(
            " / ".join(str(part) for part in key if not is_nothing(part))
            for key, own in zip(keys, idle, strict=True)
            if own
        )
        said = [str(key)[:_LONG] or "unnamed" for key, _ in count.most_common(4)]
        return format_list(said, len(count))

    def _leave_out_empty(self, chosen: str) -> None:
        """Leave out choices in rows where nothing of the experimenter's own varies and is filled.

        These are buttons to go on; rows without a choice may be decisions that nobody made in time.
        """
        skipped = {chosen, self.subject, *self.program.own, *self.program.kinds}
        skipped |= {self.part("decision")}
        contents = [
            name
            for name in self.table.column_names
            if name not in skipped and not self._is_of_people(name)
        ]
        if not contents:
            return
        something = np.logical_or.reduce([self.filled(name) for name in contents])
        if something.any():
            idle = ~something & self.filled(chosen)
            self.leave_out(idle, f"answers with nothing in {format_list(contents)}")

    def _leave_out_unpaid(self, chosen: str) -> None:
        """Leave out answers that are never paid, such as the key that ends instructions."""
        reward = self.part("reward")
        if reward is None or reward == chosen:
            return
        paid, cells = self.filled(reward), self.cells(chosen)
        options = {str(cell) for cell, own in zip(cells, paid, strict=True) if own}
        other = np.array([not is_nothing(cell) and str(cell) not in options for cell in cells])
        if len(options) > 1:
            said = dict.fromkeys(
                str(cell)[:_SHORT] for cell, own in zip(cells, other, strict=True) if own
            )
            self.leave_out(other & ~paid, f"answers that are never paid: {format_list(said)}")

    def _is_of_people(self, name: str) -> bool:
        """Whether a column says the same in all rows of a subject."""
        seen: dict[Any, Any] = {}
        who = self.cells(self.subject) if self.subject else [None] * len(self.table)
        return all(
            seen.setdefault(whose, cell) == cell
            for whose, cell in zip(who, self.cells(name), strict=True)
        )

    # ---- cells -------------------------------------------------------------------------------

    def ask_apart(self, titles: Mapping[str, Any]) -> None:
        """One row per question, where every person has a row and questions are offers in words."""
        who = self.subject
        alone = who is None or len({*self.cells(who)}) == len(self.table)
        ways = (conjoint, kirby, lambda table: offers_of_questions(table, titles))
        step = next(filter(None, (way(self.table) for way in ways)), None) if alone else None
        if step is not None:
            self.table, self.rows = step.table, self.rows[step.rows]
            self.notes += step.notes

    def take_best_or_worst(self) -> None:
        """What was taken as the best or as the worst of each set, where both are: asked which."""
        both = best_and_worst(self.table)
        given = self.given.get("chosen")
        if both is None or (given is not None and given not in both):
            return
        if given is None:
            raise DataError(
                f"{argument('chosen')} must be given, as {both[0]} and {both[1]} tell two choices "
                f"of each set, the best and the worst, and one is fitted at a time. Pass "
                f"{argument('chosen', both[0])}, or {argument('chosen', both[1])}, whose weights "
                "say what is avoided."
            )
        self.ranked = given
        other = both[1 - both.index(given)]
        self.table = self.table.drop_columns([other])
        self.notes.append(f"{other} not used: choices are by {given}")

    def find_long(self) -> None:
        """Which columns are the parts of a table with a row per option, if it is one."""
        told = {part for part in ("chosen", "option", "reward", "decision") if self.given.get(part)}
        if told - ({"chosen"} if self.ranked else set()):
            return
        free = [name for name in self.table.column_names if name not in self.program.own]
        if self.subject is None and len(free) > len(self.table):
            return  # a row per person, in which columns may agree by chance
        who = self.subject or people_column(self.table, free)
        answers = CHOSEN if self.ranked is None else (self.ranked,)
        self.long = long_parts(self.table, who, free, answers)
        if self.long is not None and is_play(free) and not self._is_answer(self.long.chosen):
            self.long = None  # trials of a block are no options, nor is its condition a choice
        if self.long is not None and self.subject is None:
            self.people = who

    def _is_answer(self, name: str) -> bool:
        """Whether a column is called as choices are, or no other one is."""
        return is_called(CHOSEN, name) or named_column(CHOSEN, self.table.column_names) is None

    def join_flags_for(self, where: str) -> None:
        """Join flags before rows are kept, where the condition speaks of the choice they make."""
        try:
            rows_where(nw.from_native(self.table, eager_only=True), where)
        except DataError:  # said where the rows are kept, if it is still so
            self._take_labels(self.given.get("chosen"))
            self.join_flags()

    def join_flags(self) -> None:
        """One column of choices where every option has a flag of its own, or one of two has."""
        names = self.table.column_names
        if is_long(names) or self.long is not None:
            return
        given = self.given.get("chosen")
        if given is not None:
            option = self._flagged_option(given) if given in names else None
            if option is not None:
                self._take_flag(given, option, given)
            return
        usual = {plain_name(name) for name in CHOSEN}
        free = [name for name in names if name not in self.program.own]
        flagged = {name for own in flags_of_options(free) for name in own.values()}
        of_one = {name: option for name in free if (option := self._flagged_option(name))}
        if any(plain_name(name) in usual - _ALSO_FLAGS for name in {*names} - flagged - {*of_one}):
            return
        found = one_choice(self.table, free, self.rows.tolist())
        if found is not None:
            self.table, self.words = found.table, True
            self.notes.append(found.note)
        elif len(of_one) == 1:
            self._take_flag(*next(iter(of_one.items())), "choice")

    def _flagged_option(self, name: str) -> str | None:
        """The one of two options that a flag is about, by its name; None if it is about none."""
        cells = [cell for cell in self.cells(name) if not is_nothing(cell)]
        said = Counter(flag(cell) for cell in in_one_pair(self.cells(name)) if cell is not None)
        said[None] = len(cells) - said[True] - said[False]
        if not {True, False} <= {*said} or said[None] > _FEW_ODD * len(cells):
            return None
        others = [other for other in self.table.column_names if other != name]
        pairs = [tags for tags, _ in wide_layouts(others) if len(tags) == 2]
        known = {tag(one): one for tags in pairs for one in tags}
        words = FIRST_WORDS | SECOND_WORDS
        parts = [both for pair in halves(name) for both in (pair, pair[::-1])]
        for verb, option in parts:
            if plain_name(verb) in FLAG_VERBS and not option.isdigit():
                if tag(option) in known:
                    return known[tag(option)]
                if plain_name(option) in words | {"left", "right"} and not self._are_placed(others):
                    return option
        alone = plain_name(name)
        return name if alone in REFUSALS else None

    def _are_placed(self, names: Sequence[str]) -> bool:
        """Whether several columns tell of two places, in words that are no option of a flag."""
        words = FIRST_WORDS | SECOND_WORDS
        return any(
            len(tags) == 2 and len(by) > 1 and not any(plain_name(t) in words for t in tags)
            for tags, by in likely_layouts(names, alike_in(self.table))
        )

    def _take_flag(self, name: str, option: str, chosen: str) -> None:
        """The choices by the flag of one of two options."""
        cells = self.cells(name)
        by_option = by_flag(in_one_pair(cells), option)
        words = [
            str(cell) if word is None and not is_nothing(cell) else word  # asked about later
            for cell, word in zip(cells, by_option, strict=True)
        ]
        self.table = self.table.drop_columns([name])
        self.table = self.table.append_column(chosen, pa.array(words, pa.string()))
        other = next((one for one in by_option if one not in (None, option)), "")
        self.notes.append(f"{name} taken for the choice: {option} where it is set, else {other}")

    def unfold(self) -> None:
        """One value in every cell, and one decision in every row."""
        if self.long is not None:
            return
        self.leave_out(single_buttons(self.table), "one button alone, nothing to choose from")
        self._take_labels(self.given.get("chosen"))
        self._take_labels(self.given.get("reward"))
        chosen = self.given.get("chosen")
        for step in (objects_apart(self.table), unfolded(objects_apart(self.table).table, chosen)):
            self.table, self.rows = step.table, self.rows[step.rows]
            self.notes += step.notes
        step = offers_apart(self.table, self.part("chosen", CHOSEN))
        self.table = step.table
        self.notes += step.notes
        if not step.notes:
            self._take_by_level()
        if not step.notes:
            step = one_row_per_decision(self.table, self.subject, self.given.get("chosen"))
            self.table, self.rows = step.table, self.rows[step.rows]
            self.notes += step.notes
        self._take_labels(self.given.get("chosen"))
        self._take_labels(self.given.get("reward"))
        self._take_rewards(self.given.get("reward"))

    def unfold_for(self, where: str) -> None:
        """One row per decision before rows are kept, where the condition speaks of decisions."""
        step = unfolded(self.table, self.given.get("chosen"))
        if len(step.table) == len(self.table):
            step = one_row_per_decision(self.table, self.subject, self.given.get("chosen"))
        if len(step.table) == len(self.table):
            return
        before = self.table.take(pa.array(step.rows))
        used = used_columns(where, step.table.column_names)
        if any(n not in before.column_names or before[n] != step.table[n] for n in used):
            self.table, self.rows = step.table, self.rows[step.rows]
            self.notes += step.notes

    def _take_by_level(self) -> None:
        """Options in place of their levels, where the choice repeats a level of an attribute."""
        chosen, names = self.part("chosen", CHOSEN), self.table.column_names
        said = "chosen" in self.given and self.ranked is None
        said |= "reward" in self.given or is_play(names)
        if said or chosen is None or chosen not in names:
            return
        free = [n for n in self.table.column_names if n not in self.program.own | {chosen}]
        found = by_level(self.table, chosen, free, self.rows.tolist())
        if found is not None:
            self.table = found.table
            self.notes.append(found.note)

    def _take_labels(self, chosen: str | None) -> None:
        """A column of the labels that were chosen, where it is asked for as labels[place]."""
        names = self.table.column_names
        if chosen is None or chosen in names:
            return
        agree = AGREE.fullmatch(chosen)
        if agree is not None and {agree["chosen"], agree["side"]} <= {*names}:
            both = (agree["chosen"], agree["side"])
            pressed, sides = map(self.cells, both)
            words = agreement(pressed, sides, agree["sign"], both)
            self.table = self.table.append_column(chosen, pa.array(words, pa.string()))
            return
        match = re.fullmatch(r"(.+)\[(.+?)(?::\s*(.+=.+))?\]", chosen)
        if match is None or match[2] not in names:
            return
        labels: list[Any] | None
        if match[1] in names:
            labels = self._listed_labels(match[1], match[2])
        else:
            labels = self._labels_at(match[1], match[2], match[3])
        if labels is not None:
            self.table = self.table.append_column(chosen, typed(labels))

    def _take_rewards(self, reward: str | None) -> None:
        """A column of rewards that is asked for as points[choice], diff(score) or in words."""
        names = self.table.column_names
        if reward is None or reward in names:
            return
        words, total = BY_WORD.fullmatch(reward), DIFFERENCES.fullmatch(reward)
        place, losses = BY_PLACE.fullmatch(reward), BY_LOSS.fullmatch(reward)
        if words is not None and words["name"] in names:
            cells = self.cells(words["name"])
            paid = by_words(cells, words["words"], words["name"], self.rows.tolist())
            self.table = self.table.append_column(reward, pa.array(paid, pa.float64()))
        elif losses is not None and losses["name"] in names:
            paid = by_losses(self.cells(losses["name"]), losses["word"])
            self.table = self.table.append_column(reward, pa.array(paid, pa.float64()))
        elif total is not None and total["name"].strip() in names:
            self._take_differences(reward, total["name"].strip(), total["start"])
        elif place is not None and place["name"] in names:
            cells = self.cells(place["name"])
            paid = told_at(cells, int(place["place"]), place["name"], ".", self.rows.tolist())
            self.table = self.table.append_column(reward, pa.array(paid, pa.float64()))

    def _take_differences(self, reward: str, name: str, start: str | None) -> None:
        """What each choice paid, by what a person had earned so far."""
        totals = column_floats(nw.from_native(self.table, eager_only=True), name, "reward")
        who = self.cells(self.subject) if self.subject else [None] * len(self.table)
        order = np.arange(len(self.table))
        number, block = self.part("decision"), self.loop or self.part("block")
        session = named_column(SESSION, self.table.column_names)
        if block is not None and self._counts_on(block):  # a round is a trial
            number, block = number or block, None
        told = [name for name in self.blocks if name in self.table.column_names]
        parts = told or [part for part in (session, block) if part is not None]
        plays = [self.cells(part) for part in parts]
        keys = [*plays, *([self.cells(number)] if number is not None else [])]
        if all(isinstance(cell, (int, float)) for own in keys for cell in own):
            order = np.lexsort([np.array(own, dtype=float) for own in reversed(keys)] or [order])
        blocks = list(zip(*plays, strict=True)) if plays else [None] * len(self.table)
        found: dict[Any, dict[Any, list[int]]] = {}
        for row in order.tolist():
            found.setdefault(who[row], {}).setdefault(blocks[row], []).append(row)
        rows = [[np.array(own) for own in person.values()] for person in found.values()]
        paid = differences(totals, rows, float(start or 0), name)
        self.table = self.table.append_column(reward, pa.array(paid, from_pandas=True))
        self.notes.append(f"{reward}: what {name} grew by from one choice to the next")

    def _listed_labels(self, name: str, place_in: str) -> list[Any]:
        """The labels at places of lists, counted from 0."""
        labels: list[Any] = []
        lists = self.cells(name)
        for row, cell in enumerate(self.cells(place_in)):
            shown = array_cell(lists[row])
            place = None if is_nothing(cell) else int(float(cell))
            if place is not None and (shown is None or not 0 <= place < len(shown)):
                raise DataError(
                    f"{argument('chosen')} must be a place in {name}, counted from 0; got "
                    f"{cell!r} at row {row}. Correct it."
                )
            labels.append(None if place is None or shown is None else shown[place])
        return labels

    def _labels_at(
        self, attribute: str, place_in: str, meant: str | None = None
    ) -> list[Any] | None:
        """The labels of columns such as left_card and right_card at the place that was pressed.

        `meant` says which column each number means, as 0=left_card, 1=right_card.
        """
        cells = ((f"{c:g}" if isinstance(c, float) else c) for c in self.cells(place_in))
        pressed = [None if is_nothing(cell) else str(cell) for cell in cells]
        if meant is not None:
            return self._labels_in(dict(re.findall(r"([^=,\s]+)=([^,]+)", meant)), pressed)
        words = list(dict.fromkeys(word for word in pressed if word is not None))
        names = [name for name in self.table.column_names if name != place_in]
        apart = [[one for one in words if one != odd] for odd in words]  # a mark of no choice
        ways = [way for own in (words, *apart) for way in shown_at(names, own)]
        for found, columns, places in ways:
            if found == attribute:
                own = {word: columns[k] for word, k in places.items()}
                if not are_numbered(columns) and all(word.isdecimal() for word in own):
                    raise _which_column(attribute, place_in, own)
                said = ", ".join(f"{word} = {name}" for word, name in own.items())
                self.notes.append(f"{attribute} at the place of {place_in}: {said}")
                return self._labels_in(own, pressed)
        return None

    def _labels_in(
        self, columns: Mapping[str, str], pressed: Sequence[str | None]
    ) -> list[Any] | None:
        """The label in the column of each word; a word without a column stays as it is."""
        if not {*columns.values()} <= {*self.table.column_names}:
            return None
        cells = {word: self.cells(name) for word, name in columns.items()}
        return [cells[word][row] if word in cells else word for row, word in enumerate(pressed)]

    def _emptied(self) -> frozenset[str]:
        """Columns that said something, but only in rows that are left out."""
        names = [name for name in self.table.column_names if name in self.spoke]
        return frozenset(name for name in names if not self.filled(name).any())

    def done(self, loops: Loops) -> Cleaned:
        """The result."""
        names = self.table.column_names
        hints: dict[str, Any] = {}
        if self.subject is not None:
            hints["subject"] = self.subject
        if self.subject is not None and self.subject == self.people:
            self.notes.append(f"{self.people} taken for people: rows of each stand together")
        nested = self.part("reward")
        if nested in names and "." in str(nested) and nested not in self.program.own:
            hints["reward"] = nested
        taken = self.part("chosen", CHOSEN)
        if taken in names and (self.of_people or not is_called(CHOSEN, taken)):
            hints["chosen"] = taken
        for part in ("chosen", "decision", "block"):
            found = getattr(loops, part)
            if found in names:
                hints[part] = found
        if self.program.name == GORILLA and "Event Index" in names:
            hints["decision"] = "Event Index"
        if self.long is not None and {*asdict(self.long).values()} <= {*names}:
            hints |= asdict(self.long)
        keys = loops.chosen is not None and loops.chosen.endswith(".keys")
        keys |= self.program.name == JSPSYCH and plain_name(self.part("chosen", CHOSEN)) == _CODES
        plain = self.program.name is None and not self.notes
        return Cleaned(
            self.table if plain else _retyped(self.table),
            self.rows,
            self.program.name,
            frozenset(self.program.own & {*names}) | self._emptied(),
            hints,
            tuple(self.notes),
            keys or self.words,
            self.conditions,
            self.below,
        )


def _which_column(attribute: str, place_in: str, columns: Mapping[str, str]) -> DataError:
    """Ask which column each number means, where columns have letters or sides."""
    turned = dict(zip(columns, [*columns.values()][::-1], strict=True))
    one, other = (
        f"{attribute}[{place_in}: {', '.join(f'{word}={name}' for word, name in own.items())}]"
        for own in (columns, turned)
    )
    return DataError(
        f"{attribute}[{place_in}] must say which column each number of {place_in} means; got "
        f"{format_list(map(repr, columns))} for {format_list(columns.values())}, in any order. "
        f"Write {one!r}, or {other!r}."
    )


def _words_of(name: str) -> list[str]:
    """Words of a name, in one spelling."""
    return [part.lower() for part in CUTS.split(name)]


def _several(columns: Any) -> tuple[str, ...]:
    """Columns where several were named; none where one was, or none."""
    return () if columns is None or isinstance(columns, str) else tuple(map(str, columns))


def _with_joined(table: pa.Table, subject: str | None) -> pa.Table:
    """A table with a column of subjects that several columns name together, as in id+site."""
    parts = (subject or "").split("+")
    names = table.column_names
    if subject is None or subject in names or len(parts) < 2 or not {*parts} <= {*names}:
        return table
    cells = [table[name].to_pylist() for name in parts]
    rows = zip(*cells, strict=True)
    labels = [None if None in row else " ".join(map(_label, row)) for row in rows]
    return table.append_column(subject, pa.array(labels, pa.string()))


def _label(cell: Any) -> str:
    return f"{cell:g}" if isinstance(cell, float) else str(cell)


def _retyped(table: pa.Table) -> pa.Table:
    """Columns of text that are numbers, now that other rows are left out, as numbers."""
    for place, name in enumerate(table.column_names):
        if pa.types.is_string(table[name].type):
            numbers = _numbers(table[name].to_pylist())
            if numbers is not None:
                table = table.set_column(place, name, numbers)
    return table


def _numbers(cells: Sequence[Any]) -> pa.Array | None:
    """Text as numbers or truth values; None where some of it is neither, or begins with a zero."""
    given = [
        cell for cell in cells if cell is not None and cell.strip() not in ("", *MISSING_WORDS)
    ]
    if not given:
        return None
    lower = {cell.strip().lower() for cell in given}
    if lower <= {"true", "false"}:
        return typed([None if is_nothing(c) else c.strip().lower() == "true" for c in cells])
    if not all(NUMBER.match(c.strip()) and not _LEADING_ZERO.match(c.strip()) for c in given):
        return None
    known = {*given}
    return typed([_number(cell) if cell in known else None for cell in cells])


def _number(cell: str) -> int | float:
    text = cell.strip()
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)


def _as_string(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text of any kind, categories too, as plain text; other columns as they are."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    text = pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return column.cast(pa.string()) if text or kind != column.type else column


def check_frame(frame: Any) -> pa.Table:
    """A data frame as a table of plain columns."""
    try:
        opened = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise DataError(
            "source must be a file, a folder or a pandas, polars or pyarrow table; "
            f"got {type(frame).__name__}. Convert it, e.g. with pandas.DataFrame."
        ) from error
    columns = {}
    for name in opened.columns:
        try:
            columns[str(name)] = opened[name].to_arrow()
        except (TypeError, ValueError, pa.ArrowException):
            columns[str(name)] = typed([_plain(cell) for cell in opened[name].to_list()])
    return pa.table(columns)


def _plain(cell: Any) -> Any:
    if isinstance(cell, (str, int, bool)):
        return cell
    return None if is_nothing(cell) else cell if isinstance(cell, float) else str(cell)
