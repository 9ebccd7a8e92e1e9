"""`infer`: what the names of columns say of a table for certain, and questions about the rest.

Roles come from names alone: programs by their marks, named tasks by their documented columns, roles
by the lexicon, layouts by families of columns. Contents never give a column its role. They question
a reading (see `fact_checks`), and say how a role that is known is coded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from penchant._typing import IntVector
from penchant.errors import DataError, format_list
from penchant.files.folder import FILE_COLUMN, FOLDER_COLUMN
from penchant.reading.build import kept_rows
from penchant.reading.fact_checks import check_facts, is_task_number
from penchant.reading.infer_codes import infer_codes
from penchant.reading.tasks import recognised_task, task_named
from penchant.tables.cells import TIMES, amount
from penchant.tables.columns import COORDINATES, plain_name
from penchant.tables.labels import Coded
from penchant.tables.lexicon import (
    Match,
    has_last_word,
    is_named,
    named,
    vocabulary,
    words_of,
)
from penchant.tables.offer_columns import (
    known_offers,
    offer_columns,
    recognised_offers,
)
from penchant.tables.option_families import families, may_be_offered, offer_families
from penchant.tables.programs import PlainTable
from penchant.tables.questionnaires import N_ITEMS
from penchant.tables.schema import ATTRIBUTE_COLUMNS, KINDS, ChoiceCodes, Question, Schema
from penchant.tables.source_table import FILE_STEM, SourceTable, code_key, column_list
from penchant.tables.two_step_columns import two_step_columns

MAX_ANSWERS = 6  # candidates that a question lists
MAX_FAMILY = 12  # options of a family of columns that are guessed to describe them
# Columns that differ between the options of a decision, as no time that is measured there does.
TIMES_OF_OPTIONS = frozenset(("time", "duration"))
MEASURES = frozenset((word,) for word in ("rt", "acc", "resp", "cresp", "latency", "onset"))
MAX_LABELS = 100  # distinct labels of a column that may hold choices


@dataclass
class Inference:
    """A schema on its way to be whole.

    Attributes
    ----------
    source
        The rows that count.
    user_schema
        Roles that the user gave; none of them is questioned.
    draft
        The user's schema, with the roles that were inferred.
    plain
        The table without the extra rows of the program that wrote it.
    questions
        Questions about roles that are still unknown.
    doubts
        Warnings about roles that the data contradict.
    """

    source: SourceTable
    user_schema: Schema
    draft: Schema
    plain: PlainTable
    questions: list[Question] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """Columns that may have a role: not those a program writes by itself, nor unnamed ones."""
        own = self.plain.own
        return [n for n in self.source.names if n not in own and not is_named("ignored", n)]

    @property
    def free(self) -> list[str]:
        """Columns that have no role yet."""
        used = self.draft.column_names()
        return [name for name in self.names if name not in used]

    @property
    def subject_columns(self) -> tuple[str, ...]:
        """The columns that say whose rows these are, as far as they are known."""
        return column_list(self.draft.columns.subject)

    @property
    def episode_columns(self) -> tuple[str, ...]:
        """The columns that say whose rows these are, and in which block."""
        return (*self.subject_columns, *column_list(self.draft.columns.block))

    def varies(self, name: str) -> bool:
        """Whether a column has several labels for some person."""
        return self.source.varies(name, self.subject_columns)

    def fill_role(self, role: str, value: Any) -> None:
        """Set a role of the draft that is still empty."""
        if self.draft.get(role) is None and value is not None:
            self.draft = self.draft.with_answers({role: value})

    def ask(self, role: str, text: str, answers: Sequence[Any], *, needed: bool = True) -> None:
        """Ask about a role that is still empty; about one that is not needed, only once."""
        known = self.draft.get(role) is not None or role in {one.role for one in self.questions}
        if not known and (needed or role not in self.user_schema.raised):
            different = [one for k, one in enumerate(answers) if one not in answers[:k]]
            self.questions.append(Question(role, text, tuple(different[:MAX_ANSWERS]), needed))

    def question_taken(self, role: str, text: str, answers: Sequence[Any]) -> None:
        """Ask about a role that was inferred from a name, not given by the user."""
        if self.user_schema.get(role) is not None or role in self.user_schema.raised:
            return
        self.draft = self.draft.with_answers({role: None})
        if role == "columns.choice":  # whose codes are not those of another column
            self.draft = replace(self.draft, choice=self.user_schema.choice)
        if self.draft.get("attributes") == {ATTRIBUTE_COLUMNS: None}:
            self.draft = self.draft.with_answers({"attributes": None})
        self.ask(role, text, answers)


def infer(plain: PlainTable, schema: Schema) -> Inference:
    """Complete a schema where names leave no doubt, and collect questions about the rest.

    Parameters
    ----------
    plain
        The table, without what a program writes around decisions.
    schema
        What was said of it.
    """
    source = kept_rows(plain.source, schema)
    work = Inference(source, schema, schema.filled_with(plain.hints), plain)
    _name_task(work)
    _name_people(work)
    _choose_kind(work)
    kind = work.draft.kind
    if kind == "episodes":
        _complete_episodes(work)
        if not work.draft.task:
            infer_codes(work)
    elif kind == "choices":
        _complete_choices(work)
    elif kind == "offers":
        _complete_offers(work)
    else:
        _ask_of_unknown(work)
    check_facts(work)
    if work.questions:
        text = 'Do all rows count? If not: a condition, such as one against practice; "" keeps all.'
        work.ask("rows.keep", text, ("",), needed=False)
    return work


# --- task, people, kind --------------------------------------------------------------------------


def _name_task(work: Inference) -> None:
    """A named task, by its documented columns."""
    given = work.user_schema
    if given.task in N_ITEMS:
        work.fill_role("kind", "offers")
    elif given.task:
        work.fill_role("kind", "offers" if task_named(given.task).offers else "episodes")
    steps = two_step_columns(work.names) if given.task in (None, "two-step") else None
    both = steps is not None and given.columns.choice == (steps.first, steps.second)
    other = given.kind not in (None, "episodes") or (given.columns.choice and not both)
    if given.task == "" or (given.task is None and other):  # "" is none of those known
        return
    if steps is not None and (given.task is not None or both or steps.state is not None):
        work.fill_role("task", "two-step")
        work.fill_role("kind", "episodes")
        work.fill_role("columns.choice", (steps.first, steps.second))
        if work.draft.columns.choice == (steps.first, steps.second):
            work.fill_role("columns.state", steps.state)
        return
    if given.task is None:
        _settle_documented_offers(work)
        _ask_about_questionnaire(work)
        if work.plain.program is None and given.columns.reward is None:
            task = recognised_task(work.source)
            if task is not None and task.name != "bandit":
                work.fill_role("task", task.name)
                work.fill_role("kind", "offers" if task.offers else "episodes")
                if steps is not None and task.name == "two-step":
                    work.fill_role("columns.choice", (steps.first, steps.second))


def _settle_documented_offers(work: Inference) -> None:
    """Offers of hBayesDM, whose columns and codes are documented: 1 is the later, or the gamble."""
    if "subjid" not in {plain_name(name) for name in work.names}:
        return
    try:
        found = offer_columns(work.names, {})
    except DataError:
        return
    if found.loses and named("choice", work.names).columns[:1] == ("choice",):
        return  # gains and losses that were paid, as in the Iowa task
    labels = work.source.labels(str(found.chosen), "columns.choice")
    if {code_key(label) for label in labels} <= {0.0, 1.0, -1.0}:
        work.fill_role("kind", "offers")
        work.fill_role("columns.choice", str(found.chosen))
        work.fill_role("attributes", found.offers)
        work.fill_role("choice.labels", (0, 1))
        work.fill_role("choice.missed", (-1,))


def _ask_about_questionnaire(work: Inference) -> None:
    for one in families(work.names):
        for stem, columns in one.columns.items():
            for name, n_items in N_ITEMS.items():
                if len(columns) == n_items and _are_flags(work, columns.values()):
                    items = tuple(columns[option] for option in one.options)
                    work.ask(
                        "task",
                        f"{stem} has {n_items} columns, as many as the {name} has items. Is it "
                        "this questionnaire, in its usual order?",
                        (name,),
                        needed=False,
                    )
                    work.ask(
                        "columns.choice",
                        f"What was chosen: {items[0]} to {items[-1]}, one column per item?",
                        (items,),
                    )


def _are_flags(work: Inference, columns: Iterable[str]) -> bool:
    """Whether columns hold two labels, the same in all of them."""
    seen = {str(x) for name in columns for x in work.source.labels(name, "columns.choice")}
    return len(seen) == 2


def _name_people(work: Inference) -> None:
    """Find the columns of subjects, weights and groups by names of columns or files."""
    used = work.draft.column_names()
    names = [name for name in work.source.names if name not in used]
    if len(work.source.raw.pieces) > 1:  # what all files say alike is no person of several
        varied = [n for n in names if len(work.source.labels(n, "columns.subject")) > 1]
        if (
            FILE_COLUMN in work.source.names
        ):  # who is the same in all of a file, where some column is
            n_files = len(work.source.labels(FILE_COLUMN, "columns.subject"))
            own = [
                n
                for n in varied
                if work.source.key((FILE_COLUMN, n), "columns.subject")[1] == n_files
            ]
            varied = own if named("subject", own).candidates else varied
        names = varied if named("subject", varied).candidates else names
    found = named("subject", names)
    if work.draft.columns.subject is not None:
        pass
    elif found.single is not None:
        work.fill_role("columns.subject", found.single)
    elif found.candidates:
        work.ask("columns.subject", "Which column says whose rows these are?", found.candidates)
    elif len(work.source.raw.pieces) > 1:
        _name_files(work)
    work.fill_role("columns.weight", named("weight", work.free).single)
    groups = named("group", work.free).columns
    if groups:
        work.fill_role("columns.group", groups)


def _name_files(work: Inference) -> None:
    """Take the subject from the names of files, if there is one file per person."""
    stems = list(dict.fromkeys(work.source.file_labels(FILE_STEM)))
    heads = [stem.replace("-", "_").split("_")[0] for stem in stems]
    if len(stems) < len(work.source.raw.pieces) and "run-" not in stems[0]:
        folders = [FOLDER_COLUMN] if FOLDER_COLUMN in work.source.names else []
        work.ask(
            "columns.subject",
            f"Several files are called {stems[0]}. Who is a person: every file, or every name?",
            ([*folders, FILE_STEM], FILE_STEM),
        )
    elif all("sub-" in stem for stem in stems):
        work.fill_role("columns.subject", "file:sub-")
        if all("run-" in stem for stem in stems):
            work.fill_role("columns.block", "file:run-")
    elif len({*heads}) == len(stems) or (len({*stems}) == len(stems) and len({*heads}) == 1):
        work.fill_role("columns.subject", FILE_STEM)
    else:
        work.ask(
            "columns.subject",
            f"Is every file, such as {stems[0]}, a person of its own?",
            (FILE_STEM,),
        )


def _choose_kind(work: Inference) -> None:
    """The kind of the table, where names leave one."""
    if work.draft.kind is not None:
        return
    if _is_long(work):
        work.fill_role("kind", "choices")
        return
    columns = work.draft.columns
    choice, reward = columns.choice, columns.reward
    if choice is None:
        choice = _place_columns(work) or _choice_named(work).single
    if isinstance(choice, str) and not columns.choice and named("taken", [choice]).columns:
        choice = choice if known_offers(work.names) else None  # accepted, of something open
    paid = named("reward", work.free)
    both = _gain_and_loss(work)
    reward = reward or paid.single or both
    offered = known_offers(work.names) or offer_families(work.names)
    taken = named("chosen", [name for name in work.free if name != choice])
    if isinstance(choice, str) and named("option", [choice]).columns and taken.columns:
        return  # of one row per option, it may say what each row is
    if choice is not None and offered is not None:
        if paid.single is None or both:  # beside what was paid, it may be either
            work.fill_role("kind", "offers")
    elif choice is not None and reward is not None and both is None:
        answers = isinstance(choice, str) and _answers_offers(work, choice)
        if _shown_families(work, choice) or (columns.reward is None and answers):
            return
        work.fill_role("kind", "episodes")
    elif isinstance(choice, str) and not paid.candidates and _matching_family(work, choice):
        work.fill_role("kind", "choices")


def _answers_offers(work: Inference, choice: str) -> bool:
    """Whether words accept and reject, or wait and do not, where amounts or delays are named."""
    orders = (vocabulary("first_offer"), vocabulary("second_offer"))
    words = {plain_name(x) for x in work.source.labels(choice, "columns.choice")}
    parts = vocabulary("money") | vocabulary("delays") | vocabulary("chances")
    offered = [n for n in work.free if {*words_of(n)} & parts and not named("reward", [n]).columns]
    return all(words & order for order in orders) and any(map(work.varies, offered))


def _gain_and_loss(work: Inference) -> dict[str, str] | None:
    gain, loss = named("gain", work.free), named("loss", work.free)
    if len(gain.columns) == 1 and len(loss.columns) == 1:
        return {"gain": gain.columns[0], "loss": loss.columns[0]}
    return None


def _shown_families(work: Inference, choice: Any) -> list[str]:
    """Columns of each option that may describe them: numbers that change from trial to trial."""
    found = []
    for one in families([name for name in work.free if words_of(name)[-1:] not in MEASURES]):
        for stem, columns in one.whole.items():
            if has_last_word("reward", stem) or has_last_word("reward", columns[0]):
                continue
            if any(has_last_word("available", name) for name in columns):
                continue
            if {*columns} & {*column_list(choice)} or not _are_numbers(work.source, columns):
                continue
            if any(_changes(work, name) for name in columns):
                found.append(stem)
    return found


def _are_numbers(source: SourceTable, columns: Sequence[str]) -> bool:
    types = [source.table[name].type for name in columns]
    return all(pa.types.is_integer(one) or pa.types.is_floating(one) for one in types)


def _changes(work: Inference, name: str) -> bool:
    """Whether a number changes within a person's block, other than once in a while."""
    block = named("block", work.names).columns[:1]
    keys = [*work.subject_columns[:1], *block]
    values = work.source.floats(name, "attributes")
    if not keys:
        return bool(len(np.unique(values[~np.isnan(values)])) > 1)
    different = work.source.changes(values, keys, "columns.subject") & ~np.isnan(values)
    return bool(different.mean() > 0.1)  # noise of a few rows is none


@dataclass(frozen=True)
class NamedFamily:
    """Families of columns whose options are called as the codes of the choices are.

    Attributes
    ----------
    shown
        {attribute: its columns}, in the order of the options.
    labels, names
        Codes of the options, and what the columns call them.
    opt_out
        The code for none of them, where there is one.
    """

    shown: dict[str, tuple[str, ...]]
    labels: tuple[Any, ...]
    names: tuple[str, ...]
    opt_out: Any = None


def _matching_family(work: Inference, choice: str) -> NamedFamily | None:
    """The families of columns that are told apart by the words of the choices."""
    words, outs = _option_words(work, choice)
    orders = (vocabulary("first_offer"), vocabulary("second_offer"))
    if work.user_schema.kind is None and all({*words} & order for order in orders):
        return None  # the sooner and the later, or the sure and the risky: offers
    numbered = (
        work.user_schema.kind == "choices"
    )  # a number may say anything where the kind is open
    for one in families([name for name in work.names if name != choice]):
        own = {_bare_option(option): option for option in one.options}
        if not one.whole or len(words) < 2 or not {*words} <= {*own} or len(outs) > 1:
            continue
        if all(word.isdigit() for word in own) and not numbered:
            continue
        shown = {
            name: columns
            for name, columns in one.whole.items()
            if not any(has_last_word("available", x) for x in (name, *columns))
        }
        partial = [name for name in one.columns if name not in one.whole]
        described = {column for columns in shown.values() for column in columns}
        rest = [x for x in work.free if x not in described and x != choice]
        if work.user_schema.kind is None and any(_is_part(name, own) for name in rest):
            continue  # a delay, a chance, or what one option alone has: not described whole
        if shown and not partial and all(_describes(work, own) for own in shown.values()):
            found = tuple(words.get(_bare_option(option), option) for option in one.options)
            return NamedFamily(shown, found, one.options, outs[0] if outs else None)
    return None


def _are_places(work: Inference, columns: Sequence[str]) -> bool:
    """Whether no row has a word twice: each column says what stands at a place."""
    cells = [work.source.table[name].cast(pa.string()).to_pylist() for name in columns]
    rows = [row for row in zip(*cells, strict=True) if None not in row]
    return all(len({*row}) == len(row) for row in rows)


def _option_words(work: Inference, choice: str) -> tuple[dict[str, Any], list[Any]]:
    """Labels of the choices by their bare words, and those for none of the options shown."""
    codes = work.draft.choice
    labels = list(codes.names or codes.labels or work.source.labels(choice, "columns.choice"))
    nothing = {str(code) for code in column_list(codes.missed)}
    labels = [label for label in labels if str(label) not in nothing]
    outs = [codes.opt_out] if codes.opt_out not in (None, "") else []
    outs = outs or [label for label in labels if plain_name(label) in vocabulary("optout")]
    return {_bare_option(label): label for label in labels if label not in outs}, outs


def _labels_of_columns(work: Inference, choice: str) -> tuple[Any, ...] | None:
    """Labels in the order of the columns that were said to describe the options, by words."""
    words, outs = _option_words(work, choice)
    for one in families([name for name in work.source.names if name != choice]):
        option = {name: key for own in one.columns.values() for key, name in own.items()}
        for columns in (work.draft.attributes or {}).values():
            own = [_bare_option(option.get(x, "")) for x in columns if isinstance(x, str)]
            if len(own) == len(columns) == len({*own}) and {*words} == {*own} and len(outs) < 2:
                return (*(words[word] for word in own), *outs)
    return None


def _is_part(name: str, options: Iterable[str]) -> bool:
    """Whether a column is called as a part of offers, or of one option alone."""
    given = {plain_name(word) for word in words_of(name)} & {*options}
    return not has_last_word("available", name) and (may_be_offered(name) or bool(given))


def _bare_option(label: Any) -> str:
    """A label in plain spelling without the word option before it: "Option A" is "a"."""
    return re.sub(r"^(?:option|alternative|alt|opt(?=\w$))(?=.)", "", plain_name(label))


def _describes(work: Inference, columns: Sequence[str]) -> bool:
    """Whether columns hold numbers, amounts or few words: an attribute, not a label of each.

    Times in words, such as "2 weeks", are delays, of which only offers have some. Where as many
    words as options stand in another order in each row, they say which option is where.
    """
    if _are_numbers(work.source, columns):
        return True
    words = {str(x) for name in columns for x in work.source.labels(name, "attributes")}
    units = {found[1] for found in map(amount, words) if found is not None}
    if units & {*TIMES} or (len(words) <= len(columns) and _are_places(work, columns)):
        return False
    try:
        return len(words) <= MAX_FAMILY or all(
            np.isfinite(work.source.floats(name, "attributes")).any() for name in columns
        )
    except DataError:
        return False


def _is_long(work: Inference) -> bool:
    """Whether there is a row per option: by the names of options, and one chosen in every set."""
    given = work.user_schema.columns
    if given.option is not None and given.chosen is not None:
        return True
    option, chosen = named("option", work.names), named("chosen", work.names)
    if not option.columns and chosen.single is not None:
        sure = _sure_decision(work, "", chosen.single)
        sets = None if sure is None else _decision_columns(work, "", chosen.single)
        return sets == (sure,) and not named("reward", work.names).columns
    if option.single is None or chosen.single is None or option.single == chosen.single:
        return False
    if option.sure and chosen.sure and _sure_decision(work, option.single, chosen.single):
        return not named("reward", work.names).columns
    return _decision_columns(work, option.single, chosen.single) is not None


def _sure_decision(work: Inference, option: str, chosen: str) -> str | None:
    """The one column whose name says decisions, whatever it holds: faults of it are told later."""
    found = named("decision", [name for name in work.names if name not in (option, chosen)])
    return found.single if found.sure else None


def _decision_columns(work: Inference, option: str, chosen: str) -> tuple[str, ...] | None:
    """The columns that name decisions: of these each row is an option, and one was taken."""
    source = work.source
    try:
        flags = source.chosen_flags(chosen, option or None)
    except DataError:
        return None
    if not np.isin(flags, (0.0, 1.0)).all():
        return None
    who = [name for name in column_list(work.draft.columns.subject) if name in source.names]
    named_so = named("decision", [n for n in work.names if n not in (option, chosen, *who)])
    tried = [(name,) for name in named_so.columns]
    if not tried:
        tried = [(name,) for name in who or named("subject", work.names).columns]
    whole = [names for names in tried if _are_sets(work, (*who, *names), option, flags)]
    return whole[0] if len(whole) == 1 else None


def _are_sets(work: Inference, names: Sequence[str], option: str, flags: Any) -> bool:
    key, n = work.source.key(names, "columns.decision")
    taken = np.bincount(key, weights=flags, minlength=n)
    pairs = work.source.key((*names, option), "columns.option")[1] if option else len(key)
    return bool(pairs == len(key) > n and (taken == 1).all())


# --- choices -------------------------------------------------------------------------------------


def _complete_choices(work: Inference) -> None:
    attributes = work.draft.attributes
    columns = work.draft.columns
    wide = attributes is not None and ATTRIBUTE_COLUMNS not in attributes
    long = attributes is not None and ATTRIBUTE_COLUMNS in attributes
    if long and columns.choice is not None and columns.chosen is None:
        taken = {"columns.chosen": columns.choice, "columns.choice": None}
        work.draft = replace(work.draft.with_answers(taken), choice=ChoiceCodes())
        columns = work.draft.columns
    long |= columns.option is not None or columns.chosen is not None or columns.decision is not None
    if not wide and (long or (attributes is None and _is_long(work))):
        _complete_long(work)
    else:
        _complete_wide(work)


def _complete_long(work: Inference) -> None:
    option, chosen = named("option", work.free), named("chosen", work.free)
    columns = work.draft.columns
    if columns.option is None and columns.decision is None and option.single is None:
        if not option.candidates and _is_long(work):
            work.fill_role("columns.option", "")
        text = 'Which column says what option a row is? "" if none does.'
        work.ask("columns.option", text, (*option.candidates, ""), needed=bool(option.candidates))
    work.fill_role("columns.option", option.single)
    if columns.chosen is None and chosen.single is None:
        work.ask(
            "columns.chosen",
            "Which column is 1 in the row of the option that was taken, and 0 in the others?",
            chosen.candidates or _flags(work),
        )
    work.fill_role("columns.chosen", chosen.single)
    columns = work.draft.columns
    if columns.decision is None and columns.chosen:
        option_column = str(columns.option or "")
        found = _decision_columns(work, option_column, columns.chosen) if option_column else None
        sure = _sure_decision(work, option_column, str(columns.chosen))
        if found is None and sure is not None:
            found = (sure,)
        if found is None:
            candidates = named("decision", work.free).candidates
            work.ask(
                "columns.decision",
                "Which column says which rows are options of the same decision?",
                candidates or work.free,
            )
        else:
            work.fill_role("columns.decision", found[0] if len(found) == 1 else found)
    if work.draft.attributes is None and not work.questions:
        _settle_long_attributes(work)


def _settle_long_attributes(work: Inference) -> None:
    """Every other column of numbers that differs between the options of a decision."""
    columns = work.draft.columns
    who = [x for x in column_list(columns.subject) if x in work.source.names]
    named_so = (*who, *column_list(columns.decision))
    key, n = work.source.key(named_so, "columns.decision")
    if n == len(key):
        raise DataError(
            "a decision",
            "must have two rows or more, one per option",
            got=f"{n} decisions of one option",
            fix="Add the rows of the options that were not chosen.",
        )
    found, doubtful, same = [], [], []
    used = {*work.draft.column_names(), *work.plain.own}
    for name in [name for name in work.source.names if name not in used]:
        if has_last_word("available", name):
            continue  # asked about
        coded = work.source.codes(name, "attributes.columns")
        if not _differs(coded, key, n):
            same.append(name)  # of the person, or of the decision
            continue
        rarely = is_named("ignored", name) and plain_name(name) not in TIMES_OF_OPTIONS
        if rarely and len(coded) == len(work.source):
            continue  # numbers rows
        if rarely or not _is_attribute(work.source, name) or (n > 1 and _codes_option(work, coded)):
            doubtful.append(name)
        found.append(name)
    if doubtful or not found:
        doubt = f"{', '.join(doubtful[:3])} may be codes or labels."
        reason = doubt if doubtful else "No other column differs between the options of a decision."
        work.ask(
            "attributes.columns",
            f"Which columns are attributes of the options? {reason}",
            [one for one in ([x for x in found if x not in doubtful], found) if one],
        )
    else:
        work.fill_role("attributes", {ATTRIBUTE_COLUMNS: tuple(found)})
    numbers = [name for name in same if name in work.free and _are_numbers(work.source, [name])]
    if numbers:
        work.doubts.append(
            f"{format_list(numbers)}: the same for all options of a decision, and not used. To use "
            f"one, interact {numbers[0]} with the options."
        )


def _is_attribute(source: SourceTable, name: str) -> bool:
    """Whether a column that differs between options holds numbers, amounts or few words.

    A word among numbers is a fault, told where data are built.
    """
    if not pa.types.is_string(source.table[name].type):
        return _are_numbers(source, [name]) or pa.types.is_boolean(source.table[name].type)
    role = "attributes.columns"
    return len(source.labels(name, role)) <= MAX_FAMILY or not source.holds_words(name, role)


def _differs(coded: Coded, key: IntVector, n: int) -> bool:
    """Whether a column differs between the options of some decision.

    A cell that is empty beside others differs, too, unless most are: it is a fault that is told
    where data are built.
    """
    codes = coded.codes.copy()
    codes[coded.missing] = -1
    first = np.full(n, -1)
    known = np.flatnonzero(codes >= 0)[::-1]
    first[key[known]] = codes[known]
    different = codes != first[key]
    seldom_empty = 2 * coded.missing.size <= len(key)
    return bool((different & ((codes >= 0) | seldom_empty)).any())


def _codes_option(work: Inference, coded: Any) -> bool:
    """Whether a column says of each option the same throughout, and of no two alike."""
    option = work.draft.columns.option
    if not option:
        return False
    own = work.source.codes(option, "columns.option")
    pairs = len(np.unique(own.codes * (int(coded.codes.max()) + 1) + coded.codes))
    return pairs == len(own) == len(coded)


def _complete_wide(work: Inference) -> None:
    _name_choice(work)
    choice = work.draft.columns.choice
    if isinstance(choice, str):
        family = _matching_family(work, choice)
        if family is not None and work.draft.attributes is None:
            out = () if family.opt_out is None else (family.opt_out,)
            work.fill_role("attributes", family.shown)
            work.fill_role("choice.labels", (*family.labels, *out))
            if tuple(map(str, family.labels)) != family.names:
                work.fill_role("choice.names", (*family.names, *out))
            work.fill_role("choice.opt_out", family.opt_out)
        elif work.draft.attributes is not None and work.draft.choice.labels is None:
            work.fill_role("choice.labels", _labels_of_columns(work, choice))
    if work.draft.attributes is None:
        work.ask(
            "attributes",
            "Which columns describe the options? For each attribute list a column, or a constant, "
            "per option, in the order of the options.",
            attribute_guesses(work),
        )
    if choice is not None:
        infer_codes(work)


def attribute_guesses(work: Inference) -> list[dict[str, Any]]:
    """Attributes by families of columns, as answers; those of as many options as codes first."""
    names = [
        name
        for name in work.free
        if not has_last_word("available", name) and words_of(name)[-1:] not in MEASURES
    ]
    found = [
        one
        for one in families(names)
        if one.whole
        and len(one.options) <= MAX_FAMILY
        and not any(map(may_be_offered, one.options))
    ]
    choice = work.draft.columns.choice or _choice_named(work).single
    if isinstance(choice, str):
        n = len(work.source.labels(choice, "columns.choice"))
        found.sort(key=lambda one: abs(len(one.options) - n))
    guesses: list[dict[str, Any]] = [
        {name: list(own) for name, own in one.whole.items()} for one in found
    ]
    both = _gain_and_loss(work)
    if both is not None:  # a gamble to be taken or left
        least = np.nanmin(work.source.floats(both["loss"], "attributes"), initial=0.0)
        loss = both["loss"] if least < 0 else f"-{both['loss']}"
        guesses.insert(0, {"outcome": [[0, 0], [both["gain"], loss]]})
    return guesses


def _choice_named(work: Inference) -> Match:
    """Columns called as choices are; of offers, also as the one that was taken or accepted."""
    taken, chosen = named("taken", work.free), named("choice", work.free)
    if work.draft.kind == "offers" or known_offers(work.names) is not None:
        return taken if taken.sure else chosen
    if work.draft.kind is None and taken.columns:
        return Match(tuple(dict.fromkeys((*taken.columns, *chosen.candidates))))
    return chosen


def _name_choice(work: Inference) -> None:
    if work.draft.columns.choice is not None:
        return
    found = _choice_named(work)
    place = _place_columns(work) if work.draft.kind == "episodes" else None
    if place is not None or found.single is not None:
        work.fill_role("columns.choice", place or found.single)
    else:
        work.ask(
            "columns.choice",
            "Which column says what was chosen?",
            found.candidates or _few_labels(work),
        )


def _place_columns(work: Inference) -> tuple[str, ...] | None:
    """Coordinates of the place that was chosen, where no column says what was."""
    candidates = named("choice", work.free).candidates
    if not all(named("trial", [name]).sure for name in candidates):
        return None  # "decision" alone may number the trials
    plain = {plain_name(name): name for name in work.free}
    found = tuple(plain[axis] for axis in COORDINATES if axis in plain)
    return found if len(found) > 1 else None


def _few_labels(work: Inference) -> list[str]:
    """Columns that may hold choices, as answers: with few labels, at least two."""
    found = []
    for name in work.free:
        if not pa.types.is_nested(work.source.table[name].type):
            n = len(work.source.labels(name, "columns.choice"))
            if 2 <= n <= MAX_LABELS:
                found.append((n, name))
    return [name for _, name in sorted(found)]


def _flags(work: Inference) -> list[str]:
    return [name for name in _few_labels(work) if len(work.source.labels(name, "chosen")) == 2]


# --- offers --------------------------------------------------------------------------------------


def _complete_offers(work: Inference) -> None:
    if work.draft.attributes is None and not work.draft.task:
        # What is offered has to be said by names, unless somebody said that these are offers.
        given = (
            _offers_said(work) if work.user_schema.kind == "offers" else known_offers(work.names)
        )
        work.fill_role("attributes", given or offer_families(work.names))
    if not work.draft.task or work.draft.attributes is not None:
        _name_choice(work)
    elif work.draft.columns.choice is None and work.draft.task in N_ITEMS:
        items = [
            tuple(one.columns[stem][option] for option in one.options)
            for one in families(work.names)
            for stem in one.columns
            if len(one.columns[stem]) == N_ITEMS[work.draft.task]
        ]
        work.ask("columns.choice", "Which columns hold the answers, item by item?", items)
    if work.draft.attributes is None and not work.draft.task:
        work.ask(
            "attributes",
            "What describes the options? For amount, delay, probability and so on list a column, "
            "or a constant, per option.",
            attribute_guesses(work),
        )
    for role in ("block", "scored"):
        work.fill_role(f"columns.{role}", named(role, work.free).single)
    if isinstance(work.draft.columns.choice, str) and not work.draft.task:
        infer_codes(work)


def _offers_said(work: Inference) -> dict[str, Any] | None:
    """Attributes of offers by usual names, also of gambles whose chances nobody says: even."""
    try:
        return recognised_offers(work.names)
    except DataError:
        return None


# --- episodes ------------------------------------------------------------------------------------


def _complete_episodes(work: Inference) -> None:
    documented = work.draft.task not in (None, "", "two-step")
    if work.draft.task == "two-step" and work.draft.columns.choice is None:
        pair = named("choice", work.free).candidates[:2]
        work.ask("columns.choice", "Which columns hold the first and the second choice?", [pair])
    elif not documented:
        _name_choice(work)
    if work.draft.columns.reward is None and not documented:
        paid, both = named("reward", work.free), _gain_and_loss(work)
        if paid.sure and paid.single is not None:
            work.fill_role("columns.reward", paid.single)
        elif both is not None and not [x for x in paid.candidates if x not in both.values()]:
            work.fill_role("columns.reward", both)
        elif paid.single is not None and both is None:
            work.fill_role("columns.reward", paid.single)
        else:
            numbers = [n for n in work.free if _are_numbers(work.source, [n])]
            numbers = [n for n in numbers if not is_named("trial", n) and not paid.candidates]
            answers = [*_reward_guesses(work), *numbers]
            work.ask(
                "columns.reward",
                "Which column says what the choice paid, in this trial alone?",
                answers,
            )
    _name_blocks(work)
    if work.draft.columns.trial is None:
        found = named("trial", work.free)
        if found.single is not None:
            work.fill_role("columns.trial", found.single)
        elif len(found.columns) > 1:
            work.ask(
                "columns.trial",
                "Which column says the order of trials within a block?",
                found.columns,
                needed=False,
            )
    for role in ("is_choice", "scored", "executed"):
        work.fill_role(f"columns.{role}", named(role, work.free).single)


def _name_blocks(work: Inference) -> None:
    if work.draft.columns.block is not None:
        return
    block, session = named("block", work.free), named("session", work.free)
    if len(block.columns) == 1 < len(work.source):
        rows = np.bincount(
            work.source.key((*work.subject_columns, *block.columns), "columns.block")[0]
        )
        if np.median(rows) < 2:  # a block of a row each: it numbers trials
            if not named("trial", work.free).columns:
                work.fill_role("columns.trial", block.columns[0])
            block = Match()
    if not block.columns:
        block = Match(tuple(name for name in work.free if is_task_number(work.source, name)))
    varied = [name for name in session.columns if work.varies(name)]
    if len(block.columns) == 1 and not varied:
        work.fill_role("columns.block", (block.columns[0],))
    elif len(block.columns) == len(varied) == 1 and block.sure:
        work.fill_role("columns.block", (varied[0], block.columns[0]))
    elif block.columns or varied:
        every = (*varied, *block.columns)
        work.ask(
            "columns.block",
            "In which of these does learning begin anew? List all whose values together name a "
            "block.",
            [list(every), *([name] for name in every), []],
            needed=False,
        )


# --- what is asked in any case -------------------------------------------------------------------


def _ask_of_unknown(work: Inference) -> None:
    """Questions about a table whose kind is not known; none beside one about its task."""
    if any(one.role == "task" for one in work.questions):
        return
    work.ask(
        "kind",
        "What is the table? choices: options with attributes; episodes: choices and rewards in "
        "order; offers: one-shot choices between amounts, delays or gambles.",
        _likely_kinds(work),
    )
    # Roles that names say are settled in the next draft, when facts of its kind can question them.
    choice = work.draft.columns.choice or _choice_named(work).single
    if choice is None and _place_columns(work) is None:
        _name_choice(work)
    work.ask(
        "columns.reward",
        "If choices were paid: which column says what each one paid?",
        _reward_guesses(work),
        needed=False,
    )
    work.ask(
        "attributes",
        "If options were described: which column, or constant, is each attribute of every option?",
        attribute_guesses(work),
        needed=False,
    )
    if isinstance(choice, str):
        draft = work.draft.with_answers({"columns.choice": choice})
        coded = replace(work, draft=draft, questions=[])
        infer_codes(coded)
        check_facts(coded)
        work.questions += coded.questions


def _likely_kinds(work: Inference) -> list[str]:
    """The kinds, the likeliest by names first: what was paid, or offered, or else described."""
    amounts = any({*words_of(name)} & vocabulary("amounts") for name in work.names)
    offered = amounts and any(map(may_be_offered, work.names))
    offered |= named("taken", work.free).columns != () or _gain_and_loss(work) is not None
    likely = "episodes" if named("reward", work.free).candidates else "choices"
    likely = "offers" if offered and likely == "choices" else likely
    return [likely, *(kind for kind in KINDS if kind != likely)]


def _reward_guesses(work: Inference) -> list[Any]:
    """Columns that are called as what was paid is, as answers."""
    both = _gain_and_loss(work)
    return [*([both] if both else []), *named("reward", work.free).candidates]
