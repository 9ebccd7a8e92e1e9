"""`read`: whatever a laboratory has, as data that `fit` takes, with what was taken for what."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, Unpack

import numpy as np
import pyarrow as pa

from penchant.choices import Choices
from penchant.errors import DataError, argument, format_names
from penchant.files.folder import Raw, read_raw
from penchant.files.text import TextSource
from penchant.models.offers.attributes import Attributes
from penchant.reading.ambiguous import (
    MOST_LABELS,
    TOTAL,
    chosen_ways,
    comma_number,
    may_be_paid,
    reward_ways,
    sounds_paid,
    sounds_total,
    varying,
)
from penchant.reading.asked import ALSO, Asked, Built, Place, same_people, seen_words
from penchant.reading.experiment import (
    ask_about_lone,
    evident_in,
    from_long,
    from_wide,
    wide_experiment,
)
from penchant.reading.formula_sets import attribute_sets
from penchant.reading.offered import by_rank, from_offers, offers_of, part_of, rank_of
from penchant.reading.played import ask_about_places, from_play
from penchant.reading.read_schema import SchemaLike, read_by_schema
from penchant.reading.task_columns import rewritten
from penchant.reading.tasks import NamedTask, from_task, recognised_task, task_named
from penchant.tables.answers import ask_about_sides, side_of
from penchant.tables.cells import is_nothing
from penchant.tables.columns import (
    LONG,
    NO_COLUMN,
    REWARDS,
    is_called,
    is_long,
    is_play,
    named_column,
    numbered_on,
    plain_name,
    refuse_one_row_per_subject,
    usual_column,
)
from penchant.tables.designs import alike_in, flags, is_counter, is_never_nothing, of_people
from penchant.tables.laboratory import (
    CHOSEN,
    Cleaned,
    check_frame,
    cleaned,
    names_without_programs,
)
from penchant.tables.offer_columns import (
    FIRST_WORDS,
    NOTHING_WORDS,
    SECOND_WORDS,
    gain_and_loss,
    is_offers,
)
from penchant.tables.play import Gaps, MissingReward
from penchant.tables.reading import TITLES, Reading, ReadingKind
from penchant.tables.schema import Said, Schema, answers_by_name
from penchant.tables.surveys import (
    CHANCES,
    CUTS,
    SIDES,
    WideLayout,
    ask_about_order,
    halves,
    likely_layouts,
    refuse_unknown_words,
    tag,
)
from penchant.tables.unfolding import listed_columns
from penchant.tables.where import with_condition

FEWEST_ROWS = 4  # by which a column without a usual name is known
NEARLY = 0.95  # share of rows that is all but a few
MOSTLY = 0.5  # share of decisions that are most of them
FEW_WORDS = 12  # of a column that may hold choices
# What is told of every option of a game besides: what it paid, when and how it was shown.
_OF_GAMES = frozenset(
    (
        *("reward", "payoff", "outcome", "point", "prob", "p", "probability", "mean", "value"),
        *("rt", "onset", "x", "y", "pos", "position", "color", "colour", "image", "img", "stim"),
        *("stimulu", "key", "name", "file", "resp", "response", "choice", "option", "label"),
        *("button", "item", "shape", "symbol", "card", "cue", "picture", "pic", "deck", "fractal"),
    )
)


def read(source: Any, schema: SchemaLike = None, **said: Unpack[Said]) -> Reading:
    """Read a file, a folder or a data frame by a schema, for `fit`.

    Roles of columns are taken from the schema, and from names that leave no doubt: those of known
    programs and named tasks, and those of a lexicon. Nothing is guessed: what is open is asked, all
    of it at once, by `pn.errors.SchemaQuestions`.

    Parameters
    ----------
    source
        A file (CSV, JSON, Parquet, Arrow or xlsx), a folder of files, a pattern such as
        "data/*.csv", or a pandas, polars or pyarrow table.
    schema
        What the table is: a `Schema`, a dictionary of its form, or the path of a TOML file.
    **said
        Keys of the schema by their last part, such as ``reward="points"`` for `columns.reward` and
        ``keep="phase == 'test'"`` for `rows.keep`; they count before those of the schema.

    Returns
    -------
    Reading
        The data, the whole schema, and what was left out and why.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import penchant as pn
    >>> table = pa.table(
    ...     {
    ...         "id": ["ann", "ann", "bob", "bob"],
    ...         "A_price": ["£3", "£5", "£4", "£2"],
    ...         "B_price": ["£4", "£2", "£3", "£6"],
    ...         "A_fair": ["yes", "no", "yes", "no"],
    ...         "B_fair": ["no", "yes", "no", "yes"],
    ...         "choice": ["A", "B", "A", "B"],
    ...     }
    ... )
    >>> schema = {
    ...     "kind": "choices",
    ...     "columns": {"subject": "id", "choice": "choice"},
    ...     "choice": {"labels": ["A", "B"]},
    ...     "attributes": {"price": ["A_price", "B_price"], "fair": ["A_fair", "B_fair"]},
    ... }
    >>> reading = pn.read(table, schema)
    >>> reading.data.names
    ('price', 'fair:yes')
    >>> pn.read(pa.table({"id": [1] * 3, "choice": ["a", "b", "none"], "reward": [1, 0, 2]}))
    Traceback (most recent call last):
    penchant.errors.SchemaQuestions: the table: schema must say what is open; got 4 questions.
    1. none in choice may be an option, or a mark. Which codes are options, in their order?
       choice.labels = ["a", "b"]
    2. Which codes of choice stand for decisions that nobody made?
       choice.missed = ["none"]
    3. Do all rows count? If not: a condition, such as one against practice; "" keeps all.
       rows.keep = ""
    4. How many first rows of each block were shown to the person, not chosen?
       shown.first = 0
    """
    given = Schema.of(schema).with_answers(answers_by_name(said))
    return read_by_schema(source, given)


def read_by_arguments(
    source: Any,
    *,
    where: str | None = None,
    kind: ReadingKind | None = None,
    subject: str | None = None,
    block: str | tuple[str, ...] | None = None,
    decision: str | Sequence[str] | None = None,
    option: str | None = None,
    chosen: str | tuple[str, ...] | None = None,
    reward: str | tuple[str, str] | None = None,
    attributes: str | Sequence[str] | None = None,
    offers: Mapping[str, Sequence[Any]] | None = None,
    options: Sequence[Any] | Mapping[Any, Any] | None = None,
    opt_out: str | None = None,
    reference: Mapping[str, Any] | None = None,
    is_choice: str | None = None,
    scored: str | None = None,
    executed: str | tuple[str, ...] | None = None,
    weight: str | None = None,
    available: str | None = None,
    base: int | None = None,
    units: Mapping[str, float] | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
    missing: Literal["error", "drop_set"] | None = None,
    weight_kind: Literal["frequency", "probability"] | None = None,
    gaps: Gaps | None = None,
    shown: int | None = None,
    missing_reward: MissingReward | None = None,
    locations: Any = None,
    task: str | None = None,
) -> Reading:
    """Read a table by arguments, and by what contents of columns suggest where none are given.

    It is the reader of the commands until they take a schema; `penchant.read` is the one by schema.
    """
    policies = {
        "missing": missing,
        "weight_kind": weight_kind,
        "gaps": gaps,
        "shown": shown,
        "missing_reward": missing_reward,
        "locations": locations,
    }
    asked = Asked(
        columns={
            "subject": subject,
            "block": block,
            "decision": decision,
            "option": option,
            "chosen": chosen,
            "reward": reward,
            "is_choice": is_choice,
            "scored": scored,
            "executed": executed,
            "weight": weight,
            "available": available,
        },
        attributes=attributes,
        offers=offers,
        options=options,
        opt_out=opt_out,
        reference=reference or {},
        base=base,
        units=units,
        decimal=decimal,
        policies={name: value for name, value in policies.items() if value is not None},
        task=task,
    )
    _check(kind, base)
    if isinstance(options, str):
        listed = [word.strip() for word in options.split(",")]
        raise DataError(
            f"options must be a list of words, or a mapping; got {options!r}. Write "
            f"options={listed!r}."
        )
    if isinstance(source, (str, os.PathLike, TextSource)):
        raw = read_raw(
            source, delimiter=delimiter, decimal=decimal, encoding=encoding, wanted=has_choices
        )
    else:
        raw = Raw(check_frame(source))
    return reading_of(raw, asked, where=where, kind=kind)


def has_choices(names: Sequence[str]) -> bool:
    """Whether one of the columns has a name that choices often have."""
    return named_column(CHOSEN, names) is not None


def _check(kind: str | None, base: int | None) -> None:
    if kind is not None and kind not in TITLES:
        raise DataError(f"kind must be one of {', '.join(TITLES)}; got {kind!r}. Choose one.")
    if base not in (None, 0, 1):
        raise DataError(
            f"base must be 0 or 1; got {base!r}. Say which number the first option has."
        )


def reading_of(
    raw: Raw, asked: Asked, *, where: str | None = None, kind: ReadingKind | None = None
) -> Reading:
    """What a table holds, as data; errors name lines of the files it comes from."""
    place = Place(np.arange(len(raw.table)))
    asked = asked.renamed(names_without_programs(raw.table))
    try:
        clean = cleaned(raw.table, where=where, given=asked.columns)
        place.rows = clean.rows
        told = asked.with_hints(clean)
        unknown = kind != "play" and not _is_long(clean, told) and _task(clean, told, kind) is None
        if clean.program is not None and unknown:
            told = _with_answers(clean, told)
            clean = cleaned(raw.table, where=where, given=told.columns)
            place.rows = clean.rows
        found, built = _built(clean, told, kind, place)
    except DataError as error:
        comma = comma_number(raw.table) if asked.decimal == "." and raw.pieces else None

        def located(text: str) -> str:
            text = raw.located(text, place.rows.tolist())
            return text if where is None else with_condition(text, where)

        words = error.changed(located, raw.name if raw.pieces else "")
        if comma is not None and "decimal" not in words.text:
            typed = argument("decimal", ",")
            words.fix += f" Before all else pass {typed}, as {comma!r} looks like a decimal comma."
        raise words from None
    reading = Reading(
        data=built.data,
        kind=found,
        columns=built.columns,
        table=built.table,
        source=raw.name,
        options=built.options,
        notes=(*raw.notes, *clean.notes, *built.notes),
        program=clean.program,
        arguments=built.arguments,
        model=built.model,
        task=built.task,
        doubts=built.doubts,
        raw=raw,
        rows=place.rows.tolist(),
        asked=(asked, where),
    )
    return replace(reading, doubts=(*reading.doubts, *same_people(reading.subjects)))


def recognised(clean: Cleaned, asked: Asked) -> ReadingKind:
    """What the table is, by its columns."""
    told = asked.with_hints(clean)
    task = _task(clean, told, None)
    if task is not None:
        return task.kind
    long = _is_long(clean, told)
    if not long:
        told = _with_answers(clean, told)
        clean = _with_places(clean, told)
    return _kind(clean, told, long, None if long or told.offers else _wide(clean, told))


def _task(clean: Cleaned, asked: Asked, kind: ReadingKind | None) -> NamedTask | None:
    """The task that was named, or whose columns the table has where nothing else was said."""
    if asked.task is not None:
        return task_named(asked.task)
    said = asked.offers is not None or asked.attributes is not None or asked.options is not None
    said |= any(asked.columns.get(part) for part in ("chosen", "option", "executed"))
    other = None if said or kind not in (None, "play") else rewritten(clean, asked)
    if other is not None:
        return task_named(other.task)
    said |= asked.columns.get("reward") is not None
    task = None if said else recognised_task(clean.table)
    return task if task is not None and kind in (None, task.kind) else None


def _is_long(clean: Cleaned, asked: Asked) -> bool:
    return asked.columns.get("option") is not None or is_long(clean.table.column_names)


def _built(
    clean: Cleaned, asked: Asked, kind: ReadingKind | None, place: Place
) -> tuple[ReadingKind, Built]:
    task = _task(clean, asked, kind)
    if task is not None:
        _check_policies(task.kind, asked)
        return task.kind, from_task(clean, asked, task, place)
    long = _is_long(clean, asked)
    paid = kind is None and asked.columns.get("reward") is not None
    if not long and kind != "play" and not paid:
        asked = _with_answers(clean, asked)
        clean = _with_places(clean, asked)
    try:
        known = long or asked.offers or kind == "play" or paid
        wide = None if known else _wide(clean, asked)
        found = kind or _kind(clean, asked, long, wide)
    except DataError as error:
        raise DataError(f"{error.text}{_or_play(clean, asked, error.text)}") from None
    _check_policies(found, asked)
    if found == "play":
        return found, from_play(clean, asked, place)
    if found == "offers":
        described = None if wide is None else _described(clean, asked, *wide)
        layout = None if wide is None or described is None else wide[1]
        if wide is not None and layout is not None:
            ask_about_order(layout, wide[0])
        return found, from_offers(clean, asked, place, layout, described)
    named_parts = {part: name for part, name in asked.columns.items() if name != NO_COLUMN}
    asked = replace(asked, columns=named_parts)
    if wide is not None:
        if asked.attributes is None and asked.rivals is None:
            _ask_about_trials(clean, asked, *wide)
            ask_about_lone(clean, asked, *wide)
            _ask_about_outcomes(*wide)
        ask_about_order(wide[1], wide[0])
        return found, from_wide(clean, asked, *wide, place)
    if not long:
        _refuse_words(clean, asked)
    return found, from_long(clean, asked, place)


def _or_play(clean: Cleaned, asked: Asked, said: str) -> str:
    """How to say that a table holds play, where it was asked what its options are."""
    names = clean.table.column_names
    usual = named_column(CHOSEN, names)
    chosen = asked.columns.get("chosen") or usual
    silent = asked.options is None and asked.attributes is None and asked.opt_out is None
    about = said.startswith((argument("options"), argument("opt_out")))
    if not about or not silent or not isinstance(chosen, str):
        return ""
    guessed = usual is None and "chosen" not in asked.said
    offered = _crossed(clean, [name for name in names if name != chosen])
    which = " or ".join(reward_ways(clean, offered if guessed else {chosen} | offered))
    if not which:
        return ""
    if guessed:
        taken = " or ".join(chosen_ways(clean, offered))
        return f" Or, if these are task data, pass for play {taken}, together with {which}."
    places = _places_said(clean, asked, chosen)
    return f" Or, if these are task data and one of these says what was paid, pass {which}.{places}"


def _places_said(clean: Cleaned, asked: Asked, chosen: str) -> str:
    """What is to be asked of places in play, to be said with the question whether it is play."""
    if any(note.startswith(f"{chosen} repeats ") for note in clean.notes):
        return ""  # it says the label, not the place
    try:
        if "chosen" not in asked.said:
            ask_about_places(clean, chosen)
    except DataError as error:
        return f"{ALSO}in task data, {error}"
    return ""


_POLICIES: Mapping[str, tuple[str, ...]] = {
    "choices": ("missing", "weight_kind"),
    "play": ("gaps", "shown", "missing_reward", "locations"),
    "offers": (),
}


def _check_policies(kind: ReadingKind, asked: Asked) -> None:
    """Refuse arguments that mean nothing for this kind of table."""
    for name, value in asked.policies.items():
        if name not in _POLICIES[kind]:
            raise DataError(
                f"{name} must be left out, as the table holds {TITLES[kind]}; got {value!r}. "
                "Leave it out, or say what the table is with `kind`."
            )


def _wide(clean: Cleaned, asked: Asked) -> tuple[str, WideLayout] | None:
    """The layout of a wide table, where it has a column of choices."""
    given = asked.columns.get("chosen")
    names = clean.table.column_names
    if given is None and named_column(CHOSEN, names) is None:
        return None
    if given is not None and not isinstance(given, str):
        return None
    try:
        return wide_experiment(clean, asked)
    except DataError:
        played = _is_played(clean, names) or any(map(sounds_total, names))
        can_be = is_offers(names) or (played and _described_options(clean, asked) is None)
        if asked.attributes is None and can_be:
            return None  # it can be read so, whatever else its columns may be
        raise


def _with_answers(clean: Cleaned, asked: Asked) -> Asked:
    """What was asked, with the column of choices where none has a usual name, and one must be."""
    given, names = asked.columns.get("chosen"), clean.table.column_names
    known = given or named_column(CHOSEN, names)
    if given is None and known is not None and _is_of_another(clean, known):
        found = _answers(clean, asked)  # chose_ll, where columns describe left and right
        if found is None and by_rank(clean.table, known, names, asked) is None:
            raise DataError(
                f"{argument('chosen')} must be given, as {known} is named by no option that "
                f"columns describe; got columns {format_names(names)}. Pass {argument('chosen')} "
                "with a column that says the option."
            )
    else:
        found = None if known else _answers(clean, asked)
    return replace(asked, columns={**asked.columns, "chosen": found}) if found else asked


def _is_of_another(clean: Cleaned, name: str) -> bool:
    """Whether a flag is named by an option that is none of those which columns describe."""
    if flags(clean.table[name]) is None:
        return False
    option = next((o for pair in halves(name) for o in pair if rank_of(o) is not None), None)
    others = [other for other in clean.table.column_names if other != name]
    layouts = likely_layouts(others, alike_in(clean.table))
    described = [tags for tags, by in layouts if len(tags) == 2 and len(by) > 1]
    known = {tag(one) for tags in described for one in tags}
    return option is not None and bool(known) and tag(option) not in known


def _with_places(clean: Cleaned, asked: Asked) -> Cleaned:
    """The table with places that were chosen, where its words tell what stood there."""
    names = clean.table.column_names
    chosen = asked.columns.get("chosen") or named_column(CHOSEN, names)
    if asked.options is not None or asked.offers is not None or chosen not in names:
        return clean
    free = [name for name in names if name not in clean.own and name != chosen]
    found = by_rank(clean.table, str(chosen), free, asked)
    if found is None:
        return clean
    return replace(clean, table=found[0], notes=(*clean.notes, found[1]))


def _described(
    clean: Cleaned, asked: Asked, chosen: str, layout: WideLayout
) -> dict[str, list[Any]] | None:
    """What a wide table offers, with columns that tell a delay or a chance of one option."""
    table, subject = clean.table, asked.columns.get("subject")
    used = {name for name in asked.columns.values() if isinstance(name, str)} | clean.own
    used |= {chosen} | layout.columns
    lone = [
        name
        for name in table.column_names
        if name not in used
        and not of_people(table, name, subject)
        and not is_counter(table, name, subject)
    ]
    return offers_of(layout, lone, table)


_TRIALS = 8  # columns of one name that are numbered on, from which they are decisions, not options
# Words of columns that say whether an answer was right, and not what it was.
_JUDGED = frozenset(("accuracy", "acc", "accurate", "correct", "corr", "error", "hit", "optimal"))


def _judges(name: str) -> bool:
    words = {part.lower() for part in CUTS.split(name)}
    good = words & {"best", "better", "high", "good"} and words & {"is", "was", "chose", "chosen"}
    return bool(words & _JUDGED) or bool(good)


def _answers(clean: Cleaned, asked: Asked) -> str | None:
    """The one column that may hold choices: that repeats the options, or the only one left."""
    table, subject = clean.table, asked.columns.get("subject")
    if len(table) < FEWEST_ROWS:
        return None
    used = {name for name in asked.columns.values() if isinstance(name, str)} | clean.own
    free = [name for name in table.column_names if name not in used]
    if any(sum(len(own) >= _TRIALS for own in runs.values()) > 1 for runs in numbered_on(free)):
        return None
    layouts = likely_layouts(free, alike_in(table))
    tags = {tag(one) for options, _ in layouts for one in options}
    is_evident = evident_in(table, free)
    evident = [(options, by) for options, by in layouts if is_evident(options, by)]
    crossed = {name for _, by in evident for own in by.values() for name in own.values()}
    named, others = [], []
    for name in free:
        words = seen_words(table, name, doubtful=True)
        if not 2 <= len(words) <= FEW_WORDS or of_people(table, name, subject):
            continue
        if _is_of_another(clean, name) or _judges(name) or len(words) == len(table):
            continue
        if sum(tag(one) in tags for one in words) > 1 and name not in crossed:
            named += [] if side_of(name) else [name]
        elif name not in crossed and not is_counter(table, name, subject):
            others += [] if side_of(name) else [name]
    words_alone = [name for name in named if not seen_words(table, name)[0].isdigit()]
    offered = bool(evident) or is_offers([*table.column_names, "chosen"]) or _accepts(clean, asked)
    flagged = [name for name in others if flags(table[name]) is not None]
    for likely in (words_alone, named, others if offered else [], flagged if offered else []):
        if len(likely) == 1:
            return str(likely[0])
    return None


def _described_options(clean: Cleaned, asked: Asked) -> WideLayout | None:
    """The options that several columns describe beyond doubt, other than by what games tell."""
    used = {name for name in asked.columns.values() if isinstance(name, str)} | clean.own
    free = [name for name in clean.table.column_names if name not in used]
    for tags, by in likely_layouts(free, alike_in(clean.table)):
        own = {name: tuple(columns[t] for t in tags) for name, columns in by.items()}
        told = [name for name in own if plain_name(name).rstrip("s") not in _OF_GAMES]
        told = [name for name in told if not _is_of_learning(clean.table, name, own[name])]
        if len(tags) > 1 and len(own) > 1 and told:
            return WideLayout(tags, own, {})
    return None


def _crossed(clean: Cleaned, names: Sequence[str]) -> set[str]:
    """Columns that describe several options by several attributes."""
    return {
        column
        for tags, by in likely_layouts(names, alike_in(clean.table))
        if len(by) > 1 and len(tags) > 1
        for own in by.values()
        for column in own.values()
    }


def _is_played(clean: Cleaned, names: Sequence[str]) -> bool:
    """Whether columns are those of play, with a reward that is not the same for all of a person."""
    subject, table = clean.hints.get("subject"), clean.table
    left = list(names)
    crossed = _crossed(clean, names) if is_play(left) else set()
    while is_play(left):
        reward = usual_column("reward", left)
        paid = {reward} if isinstance(reward, str) else {*(reward or ())}
        told = {n for n in paid if n in table.column_names and of_people(table, n, subject)}
        told |= paid & crossed  # what an option offers is not what was paid
        if not told:
            return True
        left = [name for name in left if name not in told]
    return False


def _is_paid(clean: Cleaned, names: Sequence[str]) -> bool:
    """Whether a column that can be nothing but the reward of each choice differs between trials."""
    reward, table = named_column(REWARDS, names), clean.table
    crossed = _crossed(clean, names)
    subject = clean.hints.get("subject")
    return reward is not None and reward not in crossed and not of_people(table, reward, subject)


def _kind(
    clean: Cleaned, asked: Asked, long: bool, wide: tuple[str, WideLayout] | None
) -> ReadingKind:
    """What the table is; asked where it can be two things."""
    names = clean.table.column_names
    if asked.columns.get("reward") is not None:
        return "play"
    if asked.offers is not None:
        return "offers"
    if long or asked.attributes is not None:
        return "choices"
    called = ["chosen" if name == asked.columns.get("chosen") else name for name in names]
    if is_offers(called):
        return "offers"
    played = _is_played(clean, called)
    if (played or gain_and_loss(called)) and _accepts(clean, asked):
        return "offers"
    if wide is not None:
        layout = wide[1]
        paid = usual_column("reward", names)
        if played and isinstance(paid, tuple) and layout.columns <= {*paid}:
            return "play"  # what was gained and lost is no attribute of options gain and loss
        other: ReadingKind = "choices" if _described(clean, asked, *wide) is None else "offers"
        if played and asked.options is None and _is_paid(clean, called):
            return "play"
        if played and all(
            plain_name(name).rstrip("s") in _OF_GAMES or _is_of_learning(clean.table, name, own)
            for name, own in layout.attributes.items()
        ):
            return "play"
        if not played or asked.options is not None:
            if other == "choices" and asked.options is None:
                _ask_about_rewards(clean, asked, *wide)
            return other
        raise DataError(
            f"{argument('kind')} must be given, as the table can be read in two ways: "
            f"{TITLES['play']}, by its column of rewards; or {TITLES[other]}, {layout.shown()}. "
            "Pass "
            f"{argument('kind', 'play')} or {argument('kind', other)}."
        )
    if played:
        _ask_about_gambles(clean, asked, called)
        described = _described_options(clean, asked)
        if described is not None and not _is_paid(clean, called):
            raise DataError(
                f"{argument('kind')} must be given, as the table can be read in two ways: "
                f"{TITLES['play']}, by its column of rewards; or {TITLES['choices']}, "
                f"{described.shown()}. Pass "
                f"{argument('kind', 'play')} or {argument('kind', 'choices')}."
            )
        return "play"
    _refuse_totals(clean, names)
    _ask_about_sides(clean, asked)
    _refuse_words(clean, asked)
    refuse_one_row_per_subject(names, asked.columns.get("subject"))
    pressed = asked.columns.get("chosen")
    if pressed is not None and clean.program is not None:
        free = [name for name in names if name not in clean.own and name != pressed]
        ways = " or ".join(reward_ways(clean, {str(pressed)}))
        ways = ways or f"{argument('reward')} with one of these"
        raise DataError(
            f"{argument('reward')} must be given, as {pressed} was pressed in a table of "
            f"{clean.program}, and no column has a usual name of rewards; got columns "
            f"{format_names(free)}. Pass {ways}; or name offers by {argument('offers')}, "
            f"attributes by {argument('attributes')}."
        )
    _ask_for_part(clean, asked)
    lists = listed_columns(clean.table)
    taken = [argument("chosen", name) for name in lists] if len(lists) > 1 else chosen_ways(clean)
    paid = [argument("reward", name) for name in lists] if taken and len(lists) > 1 else []
    paid = paid or reward_ways(clean, ())
    both = f": {' or '.join(taken)}, together with {' or '.join(paid)}" if taken and paid else ""
    raise DataError(
        f"{argument('kind')} must be told by its columns, of options (option, chosen), of "
        "play (choice, reward) or of offers (amount_sooner, amount_later, delay); got "
        f"{format_names(names)}. Name the columns: {argument('offers')} for offers, "
        f"{argument('option')} "
        f"and {argument('attributes')} for choices, in a wide table {argument('options')}; "
        f"{argument('chosen')} and {argument('reward')} for play{both}."
    )


def _ask_about_gambles(clean: Cleaned, asked: Asked, names: Sequence[str]) -> None:
    """Ask whether an amount was paid, or offered with a chance and taken or not.

    What is offered is the same whether it is taken or not, and stands in every row.
    """
    table = clean.table
    chosen = asked.columns.get("chosen") or named_column(CHOSEN, table.column_names)
    reward = usual_column("reward", names)
    if chosen not in table.column_names or not isinstance(reward, str):
        return
    words = {plain_name(w).removeprefix("not") for w in seen_words(table, str(chosen))}
    others = [name for name in table.column_names if name not in (chosen, reward, *clean.own)]
    chances = [name for name in others if part_of(name, [name], table) == "probability"]
    gambles = words & (FIRST_WORDS | SECOND_WORDS)
    if not gambles or not chances or not is_never_nothing(table, reward):
        return
    raise DataError(
        f"{argument('kind')} must be given, as {reward} can be read in two "
        f"ways: what each choice paid, or what was offered with {chances[0]} and taken or not. "
        f"Pass {argument('reward', reward)} for the first, or name what was offered by "
        f"{argument('offers')} for the second."
    )


# What options paid, rather than what they offered: it may have been seen after the choice.
_SEEN_AFTER = frozenset(
    ("outcome", "reward", "payoff", "point", "payout", "feedback", "score", "win")
)


def _ask_about_outcomes(chosen: str, layout: WideLayout) -> None:
    """Ask whether outcomes of all options were offered, or seen after the choice."""
    names = list(layout.attributes)
    if not all(plain_name(name).rstrip("s") in _SEEN_AFTER for name in names):
        return
    own = f"{names[0]}[{chosen}]"
    raise DataError(
        f"{argument('kind')} must be given, as {layout.shown()} can be "
        f"read in two ways: {TITLES['play']}, where the option in {chosen} paid its own; or "
        f"{TITLES['choices']}, seen before the choice. Pass {argument('reward', own)} for the "
        f"first, or {argument('attributes', names[0])} for the second."
    )


def _ask_about_rewards(clean: Cleaned, asked: Asked, chosen: str, layout: WideLayout) -> None:
    """Ask whether choices were paid, where a column may say so and options have no price."""
    called = [name for name in may_be_paid(clean, {chosen, *layout.columns}) if name != chosen]
    numbers = {name for name in called if is_called(LONG["decision"], name)}
    subject = asked.columns.get("subject")
    called = [n for n in called if n not in numbers or not is_counter(clean.table, n, subject)]
    called = [name for name in called if name not in chosen.split(" == ")]
    named_so = [
        name
        for name in called
        if sounds_paid(name)
        or any(_repeats(clean.table, name, chosen, own) for own in layout.attributes.values())
    ]
    bare = all(_offers_nothing(clean, name, own) for name, own in layout.attributes.items())
    usual = named_column(CHOSEN, clean.table.column_names) is not None
    known = usual or "chosen" in asked.said
    learnt = any(_is_of_learning(clean.table, n, own) for n, own in layout.attributes.items())
    ways = called if bare or (learnt and not known) else named_so
    if not ways:
        return
    left = {*may_be_paid(clean, ())} - {*ways}
    said = " or ".join(reward_ways(clean, {chosen, *layout.columns, *left}))
    said += "" if known else f", together with {' or '.join(chosen_ways(clean))},"
    raise DataError(
        f"{argument('kind')} must be given, as the table can be read in "
        f"two ways: {TITLES['play']}, if {' or '.join(ways[:3])} says what each choice paid; or "
        f"{TITLES['choices']}, {layout.shown()}. Pass {said} for the first, or "
        f"{argument('attributes', _all_of(layout))} for the second."
        f"{_places_said(clean, asked, chosen) if known else ''}"
    )


def _ask_about_trials(clean: Cleaned, asked: Asked, chosen: str, layout: WideLayout) -> None:
    """Ask whether columns that are numbered on are options, or decisions of everybody."""
    words = seen_words(clean.table, chosen)
    many = len(layout.options) >= _TRIALS and all(one.isdigit() for one in layout.options)
    if not many or asked.options is not None or 2 * len(words) >= len(layout.options):
        return
    names = clean.table.column_names
    stems = [stem for runs in numbered_on(names) for stem, own in runs.items() if len(own) > 1]
    choices, rewards = (
        " or ".join(argument(part, stem) for stem in dict.fromkeys(stems))
        for part in ("chosen", "reward")
    )
    raise DataError(
        f"{argument('kind')} must be given, as {layout.shown()} can be "
        f"read in two ways: {len(layout.options)} options, of which {chosen} says the one that was "
        f"taken, or as many decisions of everybody. Pass "
        f"{argument('attributes', next(iter(layout.attributes)))} for the first, or for play "
        f"{choices}, together with {rewards}."
    )


def _repeats(table: pa.Table, name: str, chosen: str, columns: Sequence[str | None]) -> bool:
    """Whether a column says what the option taken had, by one column for each choice: its pay."""
    said, taken = table[name].to_pylist(), table[chosen].to_pylist()
    options = [table[column].to_pylist() for column in columns if column is not None]
    own: dict[Any, list[int]] = {}
    for row, cell in enumerate(taken):
        if not is_nothing(cell) and not is_nothing(said[row]):
            own.setdefault(cell, []).append(row)
    if len(own) < 2 or len({*said}) < 2:
        return False
    return all(
        any(np.mean([cells[row] == said[row] for row in rows]) > NEARLY for cells in options)
        for rows in own.values()
    )


def _stays(table: pa.Table, columns: Sequence[str | None], subject: str | None) -> bool:
    """Whether columns say the same in most decisions as in the one before: nothing new is shown."""
    who = table[subject].to_pylist() if subject in table.column_names else [None] * len(table)
    cells = [table[name].to_pylist() for name in columns if name is not None]
    rows = pairwise(zip(who, zip(*cells, strict=True), strict=True))
    same = [mine == theirs for (one, mine), (other, theirs) in rows if one == other]
    return bool(same) and float(np.mean(same)) > MOSTLY


def _all_of(layout: WideLayout) -> str:
    """All attributes as a formula, or the first where their names are none of one."""
    names = list(layout.attributes)
    return " + ".join(names) if all(name.isidentifier() for name in names) else names[0]


def _offers_nothing(clean: Cleaned, attribute: str, columns: Sequence[str | None]) -> bool:
    """Whether an attribute is what people learn about, or hardly ever changes for anybody."""
    table = clean.table
    subject = clean.hints.get("subject") or usual_column("subject", table.column_names)
    of_games = plain_name(attribute).rstrip("s") in _OF_GAMES
    if of_games or _is_of_learning(table, attribute, columns) or _stays(table, columns, subject):
        return True
    return all(name is None or of_people(table, name, subject) for name in columns)


def _is_of_learning(table: pa.Table, attribute: str, columns: Sequence[str | None]) -> bool:
    """Whether an attribute is a label, or a chance to be paid: what people learn about."""
    cells = [cell for name in columns if name for cell in table[name].to_pylist()]
    labels = {cell for cell in cells if isinstance(cell, str) and not is_nothing(cell)}
    named_so = (attribute, *(name for name in columns if name))
    words = {part.lower() for name in named_so for part in CUTS.split(name)}
    return bool(words & _CHANCES) or (0 < len(labels) <= MOST_LABELS)


_CHANCES = CHANCES | {"p", "prob", "probs", "probability", "rewprob", "chance", "odds"}


def _ask_for_part(clean: Cleaned, asked: Asked) -> None:
    """Ask for the reward, or the choice, where a table of play lacks the name of one of both."""
    free = [name for name in clean.table.column_names if name not in clean.own]
    told = "chosen" in asked.said or "chosen" in clean.hints  # and not by what cells are like
    chosen = asked.columns.get("chosen") if told else named_column(CHOSEN, free)
    chosen = chosen or _named_by_program(clean)
    changing = varying(clean)
    reward = usual_column("reward", [name for name in free if name in changing])
    parts = {
        chosen,
        reward,
        *(usual_column(part, free) for part in ("subject", "block", "decision")),
    }
    used = {name for name in free if name in parts}
    if chosen is not None and reward is None:
        part, found, what, ways = "reward", chosen, "choices", reward_ways(clean, used)
    elif chosen is None and isinstance(reward, str):
        part, found, what, ways = "chosen", reward, "rewards", chosen_ways(clean, used)
    else:
        return
    if not ways:
        return
    raise DataError(
        f"{argument(part)} must be given, as {found} holds {what}, and no column has a usual name "
        f"of {'rewards' if part == 'reward' else 'choices'}; got columns {format_names(free)}. "
        f"Pass {' or '.join(ways)} if that is it; or, if these are "
        f"no task data, name offers by {argument('offers')}, attributes by "
        f"{argument('attributes')}."
    )


def _named_by_program(clean: Cleaned) -> str | None:
    """A program's column of answers, where it holds some in many rows."""
    name = named_column(CHOSEN, clean.table.column_names)
    cells = [] if name is None else clean.table[name].to_pylist()
    filled = sum(not is_nothing(cell) for cell in cells)
    return name if filled > MOSTLY * len(cells) else None


def _refuse_totals(clean: Cleaned, names: Sequence[str]) -> None:
    """Say that a running total is no reward, where nothing else could be one."""
    total = next((name for name in names if TOTAL.match(plain_name(name))), None)
    chosen = named_column(CHOSEN, names)
    if total is not None and chosen is not None:
        others = reward_ways(clean, {chosen, total})
        ways = "".join(f", or {way}" for way in others)
        raise DataError(
            f"{argument('reward')} must be given, as no column has a usual name of rewards, and "
            f"{total} sounds like what was earned so far, not by each choice; got columns "
            f"{format_names(names)}. Pass {argument('reward')} with the column of what each choice "
            f"paid, {argument('reward', total)} if that is one{ways}; of a running total, "
            f"{argument('reward', f'diff({total})')}."
        )


def _accepts(clean: Cleaned, asked: Asked) -> bool:
    """Whether gains and losses were offered, and taken or not, rather than paid.

    What was paid depends on the choice: there is a gain, or a loss, and none without a choice. What
    is offered has both throughout.
    """
    names = clean.table.column_names
    both = gain_and_loss([name for name in names if name not in clean.own])
    throughout = both is not None and all(is_never_nothing(clean.table, name) for name in both)
    chosen = asked.columns.get("chosen") or named_column(CHOSEN, names)
    if chosen not in names:
        return throughout
    words = {plain_name(word) for word in seen_words(clean.table, str(chosen))} - NOTHING_WORDS
    bare = {word.removeprefix("not") for word in words}
    labels = any(len(word) == 1 or word[-1].isdigit() for word in words - {"0", "1", "y", "n"})
    if throughout and len(words) == 2 and not labels and not words & SIDES:
        return True
    if not words or not bare <= FIRST_WORDS | SECOND_WORDS | {"0", "1"}:
        return False
    paid = isinstance(usual_column("reward", names), str)
    return throughout or (not paid and words <= FIRST_WORDS | SECOND_WORDS)


def _ask_about_sides(clean: Cleaned, asked: Asked) -> None:
    """Ask whether a place was chosen, or what stood there, where columns describe options."""
    names = clean.table.column_names
    chosen = asked.columns.get("chosen") or named_column(CHOSEN, names)
    if chosen in names and "chosen" not in asked.said:
        ask_about_places(clean, str(chosen))
        ask_about_sides(clean.table, str(chosen), clean.own, asked.columns.get("subject"))


def _refuse_words(clean: Cleaned, asked: Asked) -> None:
    """Ask what the words of the choices mean, where the columns describe options."""
    names = clean.table.column_names
    chosen = asked.columns.get("chosen") or named_column(CHOSEN, names) or _answers(clean, asked)
    if chosen in names:
        free = [name for name in names if name not in clean.own and name != chosen]
        words = seen_words(clean.table, str(chosen))
        evident = evident_in(clean.table, free)
        refuse_unknown_words(free, words, str(chosen), alike_in(clean.table), evident)


CONSTANTS = "1"  # the formula of options that differ by nothing but themselves
Attributed = str | Sequence[str] | Attributes


def is_set(model: Any) -> bool:
    """Whether a model is a set of attributes: a formula, a list of names, or `Attributes`."""
    listed = isinstance(model, Sequence) and all(isinstance(name, str) for name in model)
    return listed or isinstance(model, Attributes)


def rival_sets(
    data: Reading | Choices, models: Mapping[str, Attributed]
) -> tuple[Choices, dict[str, Attributes]]:
    """The decisions with the variables of every set, and which variables each set has.

    Parameters
    ----------
    data
        A choice experiment, as `read` returned it, whose sets may be formulas; or its choices,
        whose sets are names of variables.
    models
        {name: attributes}; "all" stands for all that tell options apart, "1" for constants alone.
    """
    if isinstance(data, Reading) and data.schema is not None:
        made, own = attribute_sets(data, {name: _given(one) for name, one in models.items()})
        return made, {name: Attributes(names) for name, names in own.items()}
    if isinstance(data, Reading) and not all(isinstance(m, Attributes) for m in models.values()):
        again = read_rivals(data, {name: _given(model) for name, model in models.items()})
        sets: Mapping[str, Sequence[str]] = again.arguments["sets"]
        return again.data, {name: Attributes(tuple(names)) for name, names in sets.items()}
    choices: Choices = data.data if isinstance(data, Reading) else data
    named = {name: _names(model, choices.names) for name, model in models.items()}
    return choices, {name: Attributes(names) for name, names in named.items()}


def read_rivals(reading: Reading, formulas: Mapping[str, str | Sequence[str]]) -> Reading:
    """The same choice experiment, with the variables of every set in `formulas`."""
    if reading.kind != "choices" or reading.raw is None or reading.asked is None:
        raise DataError(
            f"{argument('data')} must hold {TITLES['choices']} for sets of attributes; got "
            f"{TITLES[reading.kind]}. Give models instead."
        )
    asked, where = reading.asked
    told = replace(asked, attributes=None, rivals=dict(formulas))
    return reading_of(reading.raw, told, where=where, kind="choices")


def _given(model: Attributed) -> str | Sequence[str]:
    """A set as `read` is asked for it."""
    return tuple(model.attributes) if isinstance(model, Attributes) else model


def _names(model: Attributed, known: Sequence[str]) -> tuple[str, ...]:
    """Names of variables, for choices that are variables already."""
    given = _given(model)
    if given == "all":
        return tuple(known)
    names = (given,) if isinstance(given, str) else tuple(given)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise DataError(
            f"models must be names of the variables of these choices; got {unknown[0]!r}, but they "
            f"are {', '.join(known)}. Formulas are for what `read` returns."
        )
    return names
