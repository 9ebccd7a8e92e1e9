"""Facts about columns that question a reading: they ask, and never give a column its role."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penchant._typing import Vector
from penchant.errors import DataError
from penchant.files.folder import FILE_COLUMN
from penchant.tables.cells import is_nothing
from penchant.tables.columns import in_condition, plain_name
from penchant.tables.lexicon import has_last_word, is_named, named, vocabulary, words_of
from penchant.tables.option_families import families
from penchant.tables.programs import is_practice
from penchant.tables.schema import ATTRIBUTE_COLUMNS
from penchant.tables.source_table import SourceTable, code_key, column_list

if TYPE_CHECKING:
    from penchant.reading.infer import Inference

MIN_ROWS_OF_A_TOTAL = 10  # of a person, in which a running total shows
MIN_OPTIONS_OF_A_GRID = 16  # from which on tasks often begin with a tile that was turned over
REWARD_CODES = (99.0, 999.0, 9999.0, 99999.0, -99.0, -999.0, -9999.0)
MAX_PHASES = 20
MAX_PLACES = 12  # at which one of as many labels may stand
MIN_ROWS_OF_A_BLOCK = 3
MAX_LEVELS = 8  # of an attribute whose levels have codes
CUES = frozenset(("cue", "cues", "stimulus", "stim", "stimuli", "fractal", "symbol", "figure"))
GO_WORDS = (  # codes of a choice to press or not
    frozenset(("0", "1")),
    frozenset(("go", "nogo")),
    frozenset(("yes", "no")),
    frozenset(("true", "false")),
    frozenset(("press", "nopress")),
    frozenset(("pressed", "notpressed")),
)
PRESSES = frozenset(("press", "pressed", "key", "keys", "responded", "response", "go", "button"))
OBJECTS = CUES | {"arm", "option", "deck", "bandit", "machine", "slot", "card", "item"}
SIDES = frozenset(
    ("left", "right", "l", "r", "links", "rechts", "gauche", "droite", "top", "bottom")
)
CONTEXTS = CUES | {"context", "pair", "set", "state", "condition", "cond"}
MIN_CHANGES_OF_A_CONTEXT = 0.1  # of the steps from row to row: more often than blocks change
UNITS = (("unit",), ("units",))
SURE_PRESSES = frozenset(("press", "pressed", "responded", "go"))


def check_facts(work: Inference) -> None:
    """Compare a reading with facts about its columns, and ask where these speak against it.

    Parameters
    ----------
    work
        An inference whose draft has a kind.
    """
    for check in CHECKS.get(work.draft.kind or "", ()):
        try:
            check(work)
        except DataError:  # a column that is not what its role needs: said where data are built
            continue


def _rows_of_phases(work: Inference) -> None:
    """A column that tells phases apart, or calls some rows practice, of which nothing is said."""
    if work.user_schema.rows.keep is not None:
        return
    used = work.draft.column_names()
    found: list[tuple[bool, str, str]] = []
    for name in work.source.names:
        if name in used or name == FILE_COLUMN or not work.varies(name):
            continue
        kind = work.source.table[name].type
        called = any(map(_is_practice, words_of(name)))
        tells = is_named("phase", name) and not is_task_number(work.source, name)
        tells = tells and not _numbers_rows(work, name)
        labels = work.source.labels(name, "rows.keep")
        if not 1 < len(labels) <= MAX_PHASES or not (tells or called or pa.types.is_string(kind)):
            continue
        if any(map(_is_practice, labels)):
            found.append((False, name, f"{name} calls some rows practice."))
        elif (tells or called) and name not in work.plain.own:
            said = f"{name} has {len(labels)} values ({', '.join(map(str, labels[:4]))})."
            found.append((not (called or _is_flag(labels)), name, said))
    if found:
        unsure, name, said = min(found, key=lambda one: one[0])
        condition = _condition(name, work.source.labels(name, "rows.keep"))
        answers = ("", condition) if unsure else (condition, "")
        work.ask("rows.keep", f'{said} Which rows count? "" keeps all.', answers)


def is_task_number(source: SourceTable, name: str) -> bool:
    """Whether a column numbers tasks: blocks, or sets of options, rather than phases."""
    return plain_name(name) in ("task", "taskid") and pa.types.is_integer(source.table[name].type)


def _is_flag(labels: Sequence[Any]) -> bool:
    return {code_key(x) for x in labels} in ({0.0, 1.0}, {("truth", False), ("truth", True)})


def _numbers_rows(work: Inference, name: str) -> bool:
    """Whether a column is a number that no two rows of a person share: an index, not a phase."""
    if not pa.types.is_integer(work.source.table[name].type):
        return False
    return work.source.key((*work.subject_columns, name), "rows.keep")[1] == len(work.source)


def _condition(name: str, labels: list[Any]) -> str:
    """The likeliest condition: against practice, or rows of which a flag does not hold."""
    column = in_condition(name)
    if _is_flag(labels):
        return f"{column} == {'false' if isinstance(labels[0], bool) else 0}"
    if any(map(_is_practice, labels)):
        return " and ".join(f"{column} != {x!r}" for x in labels if _is_practice(x))
    return f"{column} == {labels[-1]!r}"


def _is_practice(label: Any) -> bool:
    words = {plain_name(label), *words_of(str(label))}
    stems = tuple(vocabulary("practice"))
    return is_practice(label) or any(word.startswith(stems) for word in words)


def _first_rows_apart(work: Inference) -> None:
    """A word that only everybody's first rows have: practice under another name."""
    if work.user_schema.rows.keep is not None:
        return
    source = work.source
    key, _ = source.key(work.subject_columns, "columns.subject")
    for name in work.free:
        kind = source.table[name].type
        if name == FILE_COLUMN or not (pa.types.is_string(kind) or pa.types.is_boolean(kind)):
            continue
        if any(named(role, [name]).columns for role in ("block", "session")):
            continue
        coded = source.codes(name, "rows.keep")
        if not 1 < len(coded) <= MAX_PHASES or not work.varies(name):
            continue
        order = np.argsort(key, kind="stable")
        order = order[source.present(name, "rows.keep")[order]]
        codes, people = coded.codes[order], key[order]
        starts = np.flatnonzero(np.diff(people, prepend=-1))
        first = codes[starts]
        later = (np.diff(codes, prepend=codes[0]) != 0) & (np.diff(people, prepend=-1) == 0)
        few = 3 * (codes == first[0]).sum() <= len(codes)  # as practice has
        if few and len({*first.tolist()}) == 1 and not (later & (codes == first[0])).any():
            word = coded.at(int(order[starts[0]]))
            other = str(word).lower() if isinstance(word, bool) else repr(word)
            work.ask(
                "rows.keep",
                f'Only everybody\'s first rows have {word} in {name}. Which rows count? "" keeps '
                "all.",
                (f"{in_condition(name)} != {other}", ""),
            )
            return


def _running_total(work: Inference) -> None:
    """A reward that only grows is a total."""
    reward = work.draft.columns.reward
    if not isinstance(reward, str):
        return
    values = work.source.floats(reward, "columns.reward")
    steps = _steps(work, values)
    inner = steps[~np.isnan(steps)]
    if len(inner) < MIN_ROWS_OF_A_TOTAL or len(np.unique(values[~np.isnan(values)])) <= 2:
        return
    if (inner >= 0).all() or (inner <= 0).all():
        work.question_taken(
            "columns.reward",
            f"{reward} only {'grows' if inner.sum() > 0 else 'falls'} from trial to trial, as what "
            "was earned so far does. Which column says what each choice paid?",
            [*_numbers(work, reward), reward],
        )


def _numbers(work: Inference, besides: str) -> list[str]:
    kinds = (pa.types.is_integer, pa.types.is_floating)
    types = {name: work.source.table[name].type for name in work.free if name != besides}
    return [name for name, one in types.items() if any(kind(one) for kind in kinds)]


def _steps(work: Inference, values: Vector) -> Vector:
    """Differences of a number between rows that follow one another in a play."""
    key, _ = work.source.key(work.episode_columns, "columns.subject")
    order = np.argsort(key, kind="stable")
    steps: Vector = np.diff(values[order])[np.diff(key[order]) == 0]
    return steps


def _blocks_unused(work: Inference) -> None:
    """A number that counts on between runs of a person's rows: learning may begin anew there."""
    if work.user_schema.columns.block is not None or work.draft.task:
        return
    if work.draft.columns.subject is None and "columns.subject" not in work.user_schema.raised:
        return  # it may be the column of people, which is asked first
    source = work.source
    n_plays = source.key(work.episode_columns, "columns.subject")[1]
    for name in work.free:
        if not pa.types.is_integer(source.table[name].type):
            continue
        values = source.floats(name, "columns.block")
        steps = _steps(work, values)
        counts = {*steps.tolist()} == {0.0, 1.0} or (
            {*steps.tolist()} == {0.0} and len(np.unique(values)) > n_plays
        )
        if counts and (steps == 1).sum() * MIN_ROWS_OF_A_BLOCK <= len(steps):
            known = column_list(work.draft.columns.block)
            work.question_taken(
                "columns.block",
                f"{name} counts on in runs of rows. Does learning begin anew there? List all "
                "columns whose values together name a block; [] for none.",
                ([*known, name], list(known)),
            )
            return


def _constant_choice(work: Inference) -> None:
    """A choice that nobody ever changes says something else, such as the arm of a study."""
    choice, people = work.draft.columns.choice, work.draft.columns.subject
    if isinstance(choice, str) and people and not work.varies(choice):
        work.question_taken(
            "columns.choice",
            f"{choice} is the same in all rows of a person. Which column says what was chosen?",
            [one for one in work.free if work.varies(one)] or [choice],
        )


def _constant_reward(work: Inference) -> None:
    """A reward that never changes is a field that a program fills by itself."""
    reward = work.draft.columns.reward
    if isinstance(reward, str) and len(work.source.labels(reward, "columns.reward")) < 2:
        work.question_taken(
            "columns.reward",
            f"{reward} is the same in all rows. Which column says what each choice paid?",
            [*_numbers(work, reward), reward],
        )


def _other_reward(work: Inference) -> None:
    """Another number that is called as rewards are, and differs: the size at stake, or a share."""
    reward, source = work.draft.columns.reward, work.source
    if not isinstance(reward, str):
        return
    for name in named("reward", [n for n in _numbers(work, reward) if work.varies(n)]).columns:
        own, other = (len(source.labels(x, "columns.reward")) for x in (reward, name))
        steps = _steps(work, source.floats(name, "columns.reward"))
        total = (steps >= 0).all() and own > 1
        if source.key((reward, name), "columns.reward")[1] > max(own, other) and not total:
            work.question_taken(
                "columns.reward",
                f"{reward} and {name} differ. Which one says what the choice paid, in this trial "
                "alone?",
                (reward, name),
            )
            return


def _reward_codes(work: Inference) -> None:
    """A number such as 999 far from all other rewards is a code."""
    reward = work.draft.columns.reward
    if not isinstance(reward, str) or work.user_schema.rows.keep is not None:
        return
    values = work.source.floats(reward, "columns.reward")
    known = np.unique(values[~np.isnan(values)])
    if known.tolist() == [1.0, 2.0]:
        work.question_taken(
            "columns.reward",
            f"{reward} holds 1 and 2 alone, as codes for won and lost do. Are these amounts? "
            "Otherwise write amounts in their place, and read again.",
            (reward,),
        )
    for code in known[np.isin(known, REWARD_CODES)]:
        others = np.abs(known[(known != code) & ~np.isin(known, REWARD_CODES)])
        if others.size and abs(code) > 3 * others.max() + 1:
            work.ask(
                "rows.keep",
                f"{reward} holds {code:g}, far from all other rewards, as a code for a missing one "
                'would be. Which rows count? "" keeps all.',
                (f"{in_condition(reward)} != {code:g}", ""),
            )


def _choice_counter(work: Inference) -> None:
    """Choices that count on from row to row number something."""
    choice = work.draft.columns.choice
    if not isinstance(choice, str):
        return
    values = work.source.floats(choice, "columns.choice")
    steps = _steps(work, values)
    if len(steps) >= MIN_ROWS_OF_A_TOTAL and (steps == 1).mean() > 0.95:
        work.question_taken(
            "columns.choice",
            f"{choice} counts on from row to row. Which column says what was chosen?",
            [one for one in work.free if one != choice] or [choice],
        )


def _side_or_option(work: Inference) -> None:
    """A choice of a side, or of a number, beside a column that is called as options are."""
    choice, source = work.draft.columns.choice, work.source
    if not isinstance(choice, str):
        return
    labels = {plain_name(x) for x in source.labels(choice, "columns.choice")}
    others = []
    for name in work.free:
        told = {*words_of(name)} & OBJECTS or labels <= SIDES
        if not told or not named("choice", [name]).columns or not work.varies(name):
            continue
        n = len(source.labels(name, "columns.choice"))
        both = source.key((choice, name), "columns.choice")[1]
        if 2 <= n <= MAX_PLACES and both > max(n, len(labels)):
            others.append(name)
    if others:
        work.question_taken(
            "columns.choice",
            f"{choice} and {others[0]} differ. Which one says the option that pays, whatever its "
            "side?",
            (*others, choice),
        )


def _press_or_not(work: Inference) -> None:
    """A choice that is named for a press alone: an empty cell may be an option, not to press."""
    choice = work.draft.columns.choice
    if not isinstance(choice, str) or work.draft.task is not None:
        return
    words, labels = {*words_of(choice)}, work.source.labels(choice, "columns.choice")
    may_wait = len(labels) < 2 or bool(words & SURE_PRESSES)
    if words <= PRESSES and may_wait and not work.source.present(choice, "choice").all():
        work.question_taken(
            "columns.choice",
            f"{choice} is empty in some rows. If not to press is an option, fill them, or say "
            'task = "go-no-go". Which column says what was chosen?',
            (choice,),
        )


def _unused_flags(work: Inference) -> None:
    """Columns that say which options are on offer, of which nothing is said."""
    available = work.draft.available
    if available.flags is not None or available.offered is not None:
        return
    free = [
        name
        for name in work.free
        if has_last_word("available", name) and len(work.source.labels(name, "available")) > 1
    ]
    if free:
        if work.user_schema.columns.choice is not None and work.user_schema.kind is not None:
            work.doubts.append(
                f"{', '.join(free[:4])} may say which options are on offer: not used."
            )
            return
        every = _in_order_of_options(work, [n for n in work.free if has_last_word("available", n)])
        work.ask(
            "available.flags",
            f"{', '.join(free[:4])} may say which options are on offer. List a column of 0/1, a "
            "condition, or true per option, in their order; [] for none.",
            (every, []),
        )


def _in_order_of_options(work: Inference, flags: list[str]) -> list[str]:
    """Flags in the order of the columns that describe the options, where names say it."""
    shown = next(iter((work.draft.attributes or {}).values()), ())
    for one in families(work.source.names):
        option = {name: key for own in one.columns.values() for key, name in own.items()}
        order = [option.get(cell) for cell in shown if isinstance(cell, str)]
        if {*flags} <= {*option} and {option[name] for name in flags} <= {*order}:
            return sorted(flags, key=lambda name: order.index(option[name]))
    return flags


def _flags_of_options(work: Inference) -> None:
    """Columns of 0/1, one per option, of which the option taken has always 1: what is on offer."""
    draft = work.draft
    choice, labels = draft.columns.choice, draft.choice.labels
    if not isinstance(choice, str) or labels is None or draft.available.flags is not None:
        return
    taken = _keys(work, choice)
    for one in families([name for name in work.names if name != choice]):
        for columns in one.whole.values():
            if len(columns) != len(labels) or not _hold_flags(work, columns):
                continue
            cells = [_keys(work, name) for name in columns]
            place = {code_key(label): k for k, label in enumerate(labels)}
            rows = [k for k, key in enumerate(taken) if key in place]
            offered = [cells[place[taken[k]]][k] == 1.0 for k in rows]
            if all(offered) and any(0.0 in own for own in cells):
                work.ask(
                    "available.flags",
                    f"{', '.join(columns[:4])} are always 1 for the option taken. Do they say "
                    "which options are on offer? [] if not.",
                    (list(columns), []),
                )
                return


def _hold_flags(work: Inference, columns: Sequence[str]) -> bool:
    return all(
        {code_key(x) for x in work.source.labels(name, "available")} <= {0.0, 1.0}
        for name in columns
    )


def _rows_of_options(work: Inference) -> None:
    """Choices that run through all options again and again: a row per option, not per choice."""
    choice = work.draft.columns.choice
    if not isinstance(choice, str) or work.user_schema.kind is not None:
        return
    codes = work.source.codes(choice, "columns.choice")
    n = len(codes)
    whole = len(codes.codes) // max(n, 1) * n
    if 1 < n <= MAX_PHASES and whole == len(codes.codes) >= 4 * n:
        sets = np.sort(codes.codes.reshape(-1, n), axis=1)
        if (sets == np.arange(n)).all() and len({*map(tuple, codes.codes.reshape(-1, n))}) > 1:
            work.question_taken(
                "kind",
                f"{choice} runs through all of its labels again and again. Is each row one option "
                "of a decision (choices), or a choice in order of time (episodes)?",
                ("choices", "episodes"),
            )


def _options_on_offer(work: Inference) -> None:
    """Columns that name some of the options in every row, of which the one taken is one."""
    available, choice = work.draft.available, work.draft.columns.choice
    if not isinstance(choice, str) or available.flags or available.offered is not None:
        return
    source = work.source
    keys = {code_key(x) for x in source.labels(choice, "columns.choice")}
    taken = _keys(work, choice)
    found = []
    for name in work.free:
        own = source.labels(name, "available.offered")
        if 1 < len(own) <= len(keys) and {code_key(x) for x in own} <= keys:
            found.append(name)
    if len(found) < 2 or len(keys) <= 2:
        return
    cells = {name: _keys(work, name) for name in found}
    for one in found:
        for other in found:
            apart = [a != b for a, b in zip(cells[one], cells[other], strict=True)]
            inside = zip(taken, cells[one], cells[other], strict=True)
            if one < other and all(apart) and all(t in (a, b, "") for t, a, b in inside):
                work.ask(
                    "available.offered",
                    f"{one} and {other} name two options of which {choice} is always one. Are only "
                    "these on offer? [] for no.",
                    ([one, other], []),
                )
                return


def _keys(work: Inference, name: str) -> list[Any]:
    coded = work.source.codes(name, "available.offered")
    keys = [code_key(x) for x in coded.labels.tolist()]
    found = [keys[k] for k in coded.codes.tolist()]
    for row in coded.missing.tolist():
        found[row] = ""
    return found


def _places_or_labels(work: Inference) -> None:
    """Columns that say what stands at each place, which changes: place or label is the option."""
    choice, source = work.draft.columns.choice, work.source
    if not isinstance(choice, str) or work.user_schema.columns.choice is not None:
        return
    if len(source.labels(choice, "columns.choice")) > MAX_PLACES:
        return
    for one in families([name for name in work.free]):
        for stem, columns in one.whole.items():
            kinds = [source.table[name].type for name in columns]
            hidden = {*words_of(stem)} & vocabulary("hidden")
            if hidden or any(pa.types.is_floating(kind) for kind in kinds):
                continue
            sets = [{code_key(x) for x in source.labels(name, "offered")} for name in columns]
            every = set.union(*sets)
            shared = len(every) < sum(map(len, sets))  # a label may stand at several places
            if len(every) > MAX_PLACES or not shared or not any(len(own) > 1 for own in sets):
                continue
            rows = [*zip(*(_keys(work, name) for name in columns), strict=True)]
            taken = zip(_keys(work, choice), rows, strict=True)
            if pa.types.is_string(source.table[choice].type) and all(a in b for a, b in taken if a):
                continue  # what was taken stands at one of the places
            if all(len({*row}) == len(row) for row in rows if "" not in row):
                work.question_taken(
                    "columns.choice",
                    f"{', '.join(columns[:4])} say what stood at each place. If {choice} says a "
                    "place, is this the option? Otherwise add a column of what was taken, and name "
                    "it.",
                    (choice,),
                )
                return


def _repeated_trials(work: Inference) -> None:
    """Trials of one number in a block: another column tells people or blocks apart."""
    trial = work.draft.columns.trial
    if not isinstance(trial, str) or work.draft.columns.subject == "":
        return
    source, numbered = work.source, (trial, *work.episode_columns)
    if source.key(numbered, "columns.trial")[1] == len(source):
        return
    candidates = [n for n in work.free if 1 < len(work.source.labels(n, "columns.block")) < 200]
    candidates = [name for name in candidates if not _numbers_rows(work, name)]
    apart = [
        name
        for name in candidates
        if source.key((*numbered, name), "columns.block")[1] == len(source)
    ]
    if work.draft.columns.subject is None and apart:
        text = f"{trial} has the same number twice. Which column says whose rows these are?"
        work.ask("columns.subject", text, apart)
        return
    named_ones = [*column_list(work.draft.columns.block)]
    answers = [[*named_ones, name] for name in apart]
    # Where no column tells them apart, rows are there twice: said where data are built.
    if answers and work.user_schema.columns.block is None:
        work.question_taken(
            "columns.block",
            f"{trial} has the same number twice in a block. Which columns together say in which "
            "block learning begins anew?",
            answers,
        )


def _cue_unused(work: Inference) -> None:
    """A cue beside a choice that is to press or not: of go/no-go, it is what is learnt about."""
    choice, draft = work.draft.columns.choice, work.draft
    if not isinstance(choice, str) or draft.task is not None or draft.columns.state is not None:
        return
    labels = {plain_name(x) for x in work.source.labels(choice, "columns.choice")}
    if len(labels) != 2 or not any(labels <= words for words in GO_WORDS):
        return
    presses = bool({*words_of(choice)} & PRESSES) or not labels <= GO_WORDS[0]
    for name in (*column_list(draft.columns.group), *work.free):
        cue = {*words_of(name)} & CUES or (presses and name in column_list(draft.columns.group))
        if cue and work.varies(name):
            work.ask(
                "task",
                f'{name} may be a cue to which {choice} says press or not: task = "go-no-go". '
                'Otherwise "", and it is not used.',
                ("go-no-go", ""),
            )
            return


def _contexts_between(work: Inference) -> None:
    """A context that changes from trial to trial, in each of which other options may be learnt."""
    draft, source = work.draft, work.source
    choice, known = draft.columns.choice, column_list(draft.columns.block)
    if draft.task or draft.columns.state or "task" in {one.role for one in work.questions}:
        return
    for name in (*column_list(draft.columns.group), *work.free):
        told = {*words_of(name)} & CONTEXTS or name in column_list(draft.columns.group)
        n = len(source.labels(name, "columns.block")) if told and isinstance(choice, str) else 0
        if {*words_of(name)} & SIDES or name[-1:].isdigit():
            continue  # what stands at one place
        if not 2 <= n <= MAX_PLACES or source.key((choice, name), "columns.block")[1] <= n:
            continue  # no context, or what was chosen under another name
        steps = _steps(work, source.codes(name, "columns.block").codes.astype(np.float64))
        if len(steps) and (steps != 0).mean() > MIN_CHANGES_OF_A_CONTEXT:
            if (
                work.user_schema.columns.choice is not None
                and work.user_schema.columns.reward is not None
            ):
                work.doubts.append(f"{name} changes from trial to trial: not used.")
                return
            work.question_taken(
                "columns.block",
                f"{name} changes from trial to trial. Are other options learnt about in each? List "
                "all columns whose values together name a block; [] if not.",
                ([*known, name], list(known)),
            )
            return


def _people_begin_anew(work: Inference) -> None:
    """People of one number in several places, each with a label of its own: they may be others."""
    subject, source = work.draft.columns.subject, work.source
    if not isinstance(subject, str) or subject not in source.names:
        return
    own, n_people = source.key((subject,), "columns.subject")
    n_runs = 1 + int((np.diff(own) != 0).sum())
    for name in (*column_list(work.draft.columns.group), *work.free):
        if n_runs == n_people or not pa.types.is_string(source.table[name].type):
            continue
        both, n_pairs = source.key((subject, name), "columns.subject")
        if n_pairs == n_runs == 1 + int((np.diff(both) != 0).sum()):
            work.question_taken(
                "columns.subject",
                f"{subject} begins anew where {name} changes. Are these other people, or the same "
                "ones again?",
                ([subject, name], subject),
            )
            return


def _option_of_zeros(work: Inference) -> None:
    """Ask whether an option with 0 or no attributes in a long table is the opt-out."""
    draft = work.draft
    names = column_list((draft.attributes or {}).get(ATTRIBUTE_COLUMNS))
    option = draft.columns.option
    if not names or not isinstance(option, str) or not option or draft.choice.opt_out is not None:
        return
    bare = np.ones(len(work.source), dtype=bool)
    for name in names:
        cells = work.source.codes(name, "attributes")
        known = enumerate(cells.labels.tolist())
        nothing = [k for k, x in known if code_key(x) == 0.0 or is_nothing(x)]
        bare &= np.isin(cells.codes, nothing) | ~work.source.present(name, "attributes")
    for label in work.source.labels(option, "columns.option"):
        coded = work.source.codes(option, "columns.option")
        own = coded.codes == list(coded.labels.tolist()).index(label)
        if own.any() and bare[own].all():
            if (
                work.user_schema.attributes is not None
                and work.user_schema.columns.option is not None
            ):
                work.doubts.append(f"Option {label} may be to take none of the others.")
                return
            work.ask(
                "choice.opt_out",
                f"Option {label} has nothing in {', '.join(names[:3])}. Is it to take none of the "
                'others? "" if not.',
                (label, ""),
            )
            return


def _codes_of_levels(work: Inference) -> None:
    """Ask whether attributes of a long table that are all small integers are codes of levels."""
    names = column_list((work.draft.attributes or {}).get(ATTRIBUTE_COLUMNS))
    if not names or work.user_schema.attributes is not None:
        return
    coded = []
    for name in names:
        numbers = [x for x in work.source.labels(name, "attributes") if code_key(x) != 0.0]
        keys = [code_key(x) for x in numbers]
        if 2 < len(keys) <= MAX_LEVELS and keys == [k + 1.0 for k in range(len(keys))]:
            coded.append(name)
    if coded:
        work.question_taken(
            "attributes.columns",
            f"{', '.join(coded[:3])} count from 1 on as codes of levels do. Are these numbers? "
            "Otherwise write words in place of codes, and read again.",
            (list(names),),
        )


def _people_unknown(work: Inference) -> None:
    """Ask for the subjects if only labels that repeat over rows suggest their column.

    Of episodes: one that is called after an id, or any where no column numbers the trials.
    """
    columns, source = work.draft.columns, work.source
    if columns.subject is not None:
        return
    labels = {name: len(source.labels(name, "columns.subject")) for name in work.free}
    found = [name for name in work.free if name == FILE_COLUMN or "id" in name.lower()]
    if work.draft.kind == "episodes" and columns.trial is None:
        found = found or [name for name, n in labels.items() if n > 1]
    elif work.draft.kind != "episodes":
        rows = column_list(columns.decision)
        n_rows = source.key(rows, "columns.decision")[1] if rows else len(source)
        codes = {
            n: source.codes(n, "columns.subject").codes for n in labels if not _is_float(work, n)
        }
        runs = {name: 1 + int((np.diff(own) != 0).sum()) for name, own in codes.items()}
        found = [name for name, n in runs.items() if 1 < n == labels[name] <= n_rows / 2]
    if found:
        text = f'Does {found[0]} say whose rows these are? "" if all are one person\'s.'
        work.ask("columns.subject", text, (*found[:3], ""), needed=False)


def _is_float(work: Inference, name: str) -> bool:
    return bool(pa.types.is_floating(work.source.table[name].type))


def _grid_rows(work: Inference) -> None:
    """Many options are tiles of a grid, of which the first of a block is often turned over."""
    labels = work.draft.choice.labels
    if labels is None or len(labels) < MIN_OPTIONS_OF_A_GRID or work.draft.shown.first is not None:
        return
    work.ask(
        "shown.first",
        f"With {len(labels)} options: how many first rows of each block were shown to the person, "
        "not chosen?",
        (0, 1),
    )


def _families_of_reward(work: Inference) -> None:
    """A loss in a column of its own beside the reward, which may be a gain or the sum of both."""
    reward = work.draft.columns.reward
    if not isinstance(reward, str) or work.user_schema.columns.reward is not None:
        return
    gains = [name for name in work.names if is_named("gain", name)]
    losses = [name for name in work.names if is_named("loss", name) and _is_loss(work, name)]
    if len(gains) <= 1 and len(losses) == 1 and losses[0] != reward:
        gain = gains[0] if gains else reward
        work.question_taken(
            "columns.reward",
            f"{reward} may be what a choice paid, or {gain} less {losses[0]}. Which?",
            ({"gain": gain, "loss": losses[0]}, reward),
        )


def _is_loss(work: Inference, name: str) -> bool:
    """Whether a column holds numbers that are not all 0."""
    return bool((np.nan_to_num(work.source.floats(name, "columns.reward")) != 0).any())


def _units_vary(work: Inference) -> None:
    """A column of several units, which amounts and delays beside it would have to be put in one."""
    for name in work.free:
        units = work.source.labels(name, "attributes") if words_of(name)[-1:] in UNITS else []
        if len(units) > 1:
            work.question_taken(
                "attributes",
                f"{name} says {' or '.join(map(str, units[:3]))}. Write numbers in one unit, and "
                "read again. Are they already?",
                (work.draft.attributes,),
            )
            return


def _sole_loss(work: Inference) -> None:
    """A loss that is written without a sign beside attributes of options."""
    for name, cells in (work.draft.attributes or {}).items():
        for cell in cells if isinstance(cells, tuple) else ():
            is_loss = isinstance(cell, str) and is_named("loss", cell)
            if is_loss and np.nanmin(work.source.floats(cell, "attributes")) >= 0:
                work.question_taken(
                    "attributes",
                    f'{cell} of {name} is a loss without a sign. Write "-{cell}" if it is lost.',
                    ({name: [f"-{c}" if c == cell else c for c in cells]},),
                )
                return


CHECKS: dict[str, tuple[Callable[[Any], None], ...]] = {
    "": (_rows_of_phases, _options_on_offer),
    "episodes": (
        _rows_of_phases,
        _people_begin_anew,
        _first_rows_apart,
        _constant_choice,
        _families_of_reward,
        _constant_reward,
        _running_total,
        _other_reward,
        _reward_codes,
        _choice_counter,
        _side_or_option,
        _press_or_not,
        _unused_flags,
        _rows_of_options,
        _options_on_offer,
        _places_or_labels,
        _repeated_trials,
        _blocks_unused,
        _cue_unused,
        _contexts_between,
        _people_unknown,
        _grid_rows,
    ),
    "choices": (
        _rows_of_phases,
        _people_begin_anew,
        _first_rows_apart,
        _unused_flags,
        _flags_of_options,
        _choice_counter,
        _sole_loss,
        _option_of_zeros,
        _codes_of_levels,
        _people_unknown,
    ),
    "offers": (
        _rows_of_phases,
        _people_begin_anew,
        _first_rows_apart,
        _choice_counter,
        _sole_loss,
        _units_vary,
        _people_unknown,
    ),
}
