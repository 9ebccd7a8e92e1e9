"""`Schema`: what a table is, said once as data, and written and read as TOML.

A schema names the column of every role, the codes of choices, the attributes of options and which
of them are on offer. Every part is None until it is said: an empty list, an empty text or 0 says
that there is none. Readers and commands that take a table take a schema, a dictionary of the same
form, or the path of a TOML file.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypedDict

from penchant._typing import FilePath
from penchant.errors import DataError, SchemaQuestions, closest_match_hint, format_list

Kind = Literal["choices", "episodes", "offers"]
KINDS: tuple[Kind, ...] = ("choices", "episodes", "offers")
ATTRIBUTE_COLUMNS = "columns"  # the key of [attributes] that lists columns, one row per option


@dataclass(frozen=True)
class FileFormat:
    """Format of a text file, where it cannot be detected from the file itself.

    Attributes
    ----------
    delimiter, decimal, encoding
        What divides cells, the decimal point, and the encoding by its Python name.
    header
        Whether the first line names the columns; if not, they are called "1", "2" and so on.
    units
        Days of a month or a year, where delays are in several units: {month = 30}.
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    units: Any = None


@dataclass(frozen=True)
class RowPolicies:
    """Rules for rows: which are used, and the meaning of gaps and missing cells.

    Attributes
    ----------
    keep
        A condition on columns, such as "phase == 'test' and round >= 2"; "" keeps all rows.
    missing
        What a missing attribute means: "error", or "drop_set" to leave the decision out.
    missing_reward
        What a missing reward means: "error", "truncate" (the episode ends) or "skip" (the event is
        a decision that nobody made).
    gaps
        What gaps in the numbers of trials mean: "order" (nothing), "timeout" (a decision that
        nobody made has no row) or "error".
    weight_kind
        What weights are: "frequency" (of 2: the decision was made twice) or "probability".
    """

    keep: str | None = None
    missing: str | None = None
    missing_reward: str | None = None
    gaps: str | None = None
    weight_kind: str | None = None


@dataclass(frozen=True)
class RoleColumns:
    """The column of each role, or several where a role may have some.

    Attributes
    ----------
    subject
        Who decided. Several columns are joined; "file:stem" or "file:sub-" is what the name of the
        file says.
    block
        Learning begins anew in each.
    trial
        Order within a block; the order of rows, if left out.
    choice
        What was chosen, one row per decision. Several columns are several decisions in a row, or
        the coordinates of the place that was chosen.
    reward
        What was paid, or {gain, loss} where a loss is written without a sign.
    state
        Of a two-step task: the state that the first choice led to; of go/no-go: the cue.
    decision, option, chosen
        One row per option: which rows belong together, what a row describes, whether it was taken.
    executed
        The option that was done where it may differ from the one chosen.
    is_choice, scored
        Columns of 0/1: options shown rather than chosen, and decisions that count.
    group
        Conditions and covariates, kept with the data.
    weight
        How often a decision counts.
    offset
        Of one row per option: the known part of its utility.
    """

    subject: Any = None
    block: Any = None
    trial: Any = None
    choice: Any = None
    reward: Any = None
    state: Any = None
    decision: Any = None
    option: Any = None
    chosen: Any = None
    executed: Any = None
    is_choice: Any = None
    scored: Any = None
    group: Any = None
    weight: Any = None
    offset: Any = None


@dataclass(frozen=True)
class ChoiceCodes:
    """Coding of choices: labels, numbers or coordinates of the options.

    Attributes
    ----------
    labels
        Codes in the order of the options; a tuple of codes where several mean one option.
    names
        What the options are called.
    missed
        Codes of decisions that nobody made in time.
    base
        Number of the first option, where codes are whole numbers that count on, or of the first
        place, where choices are places.
    count
        How many options there are, where more than those that were chosen are numbered.
    places
        Coordinates of each option, where choices are places; those that were chosen, if left out.
    opt_out
        The code for taking none of the options shown: it has a constant, and no attributes.
    """

    labels: Any = None
    names: Any = None
    missed: Any = None
    base: Any = None
    count: Any = None
    places: Any = None
    opt_out: Any = None


@dataclass(frozen=True)
class Availability:
    """Availability of the options; all are on offer by default.

    Attributes
    ----------
    flags
        For each option a column of 0/1, a condition, or True.
    offered
        Columns that name the options on offer.
    """

    flags: Any = None
    offered: Any = None


@dataclass(frozen=True)
class ShownRows:
    """Rows of options that were shown to the person, not chosen.

    Attributes
    ----------
    first
        How many of each block's first rows these are.
    """

    first: int | None = None


_SECTIONS: Mapping[str, type] = {
    "file": FileFormat,
    "rows": RowPolicies,
    "columns": RoleColumns,
    "choice": ChoiceCodes,
    "available": Availability,
    "shown": ShownRows,
}
_PLAIN = ("kind", "task", "reference")


class SchemaAnswers(TypedDict, total=False):
    """Keyword arguments of `read`: schema keys by their last part, unique over sections."""

    kind: Kind
    task: str
    delimiter: str
    decimal: str
    encoding: str
    header: bool
    keep: str
    missing: str
    missing_reward: str
    gaps: str
    weight_kind: str
    units: Any
    reference: Any
    subject: Any
    block: Any
    trial: Any
    choice: Any
    reward: Any
    state: Any
    decision: Any
    option: Any
    chosen: Any
    executed: Any
    is_choice: Any
    scored: Any
    group: Any
    weight: Any
    offset: Any
    labels: Any
    names: Any
    missed: Any
    base: Any
    count: Any
    places: Any
    opt_out: Any
    attributes: Any
    flags: Any
    offered: Any
    first: int


def answers_by_name(said: Mapping[str, Any]) -> dict[str, Any]:
    """Values of a schema's keys, by whole keys instead of their last part.

    >>> answers_by_name({"kind": "episodes", "reward": "points"})
    {'kind': 'episodes', 'columns.reward': 'points'}
    """
    whole = {
        one.name: f"{head}.{one.name}" for head, kind in _SECTIONS.items() for one in fields(kind)
    }
    whole |= {name: name for name in (*_PLAIN, "attributes")}
    unknown = [name for name in said if name not in whole]
    if unknown:
        raise TypeError(
            f"read() has no argument {unknown[0]!r}.{closest_match_hint(unknown[0], whole)}"
        )
    return {whole[name]: value for name, value in said.items() if value is not None}


MAX_OTHER_ANSWERS = 60  # characters of the answers beside the first one that messages show


@dataclass(frozen=True)
class Question:
    """Something that the table leaves open.

    Attributes
    ----------
    role
        The key of the schema that settles it, such as "columns.reward".
    text
        The question, in at most 40 words.
    answers
        Values of that key that are possible, the likeliest first.
    needed
        Whether there is no data without an answer; otherwise nothing said means the usual.
    """

    role: str
    text: str
    answers: tuple[Any, ...] = ()
    needed: bool = True

    @property
    def is_shown(self) -> bool:
        """Whether messages show it: no answer to others means what their likeliest answer says."""
        return self.needed or bool(self.answers and self.answers[0])

    def pasted(self) -> str:
        """The first answer, as it stands in a schema file, and others that are short.

        >>> Question("columns.reward", "Which?", ("points", "score")).pasted()
        'columns.reward = "points"  # or "score"'
        """
        others = ", ".join(map(_toml, self.answers[1:]))
        first = self.line(self.answers[0] if self.answers else "")
        return f"{first}  # or {others}" if 0 < len(others) <= MAX_OTHER_ANSWERS else first

    def line(self, answer: Any) -> str:
        """An answer as a line of a schema file."""
        return f"{self.role} = {_toml(answer)}"


@dataclass(frozen=True)
class Schema:
    """Description of a table: its kind, and the roles of its columns.

    Attributes
    ----------
    kind
        "choices": options with attributes; "episodes": choices and rewards in order; "offers":
        one-shot choices among described options.
    task
        A named task, whose documented columns fill in what is not said.
    reference
        {attribute: level} that the other levels of an attribute in words are compared with.
    file, rows, columns, choice, available, shown
        Sections of roles, each of which is None until it is said.
    attributes
        {attribute: a column or constant per option}, or {"columns": columns} of one row per option.
    raised
        Roles that were asked about already: what was not answered then has its usual meaning.

    Examples
    --------
    >>> import penchant as pn
    >>> schema = pn.Schema.of({"kind": "episodes", "columns": {"choice": "key", "reward": "won"}})
    >>> print(schema.with_answers({"columns.subject": "id"}).to_toml())
    kind = "episodes"
    <BLANKLINE>
    [columns]
    subject = "id"
    choice = "key"
    reward = "won"
    """

    kind: Kind | None = None
    task: str | None = None
    reference: Mapping[str, Any] | None = None
    file: FileFormat = field(default_factory=FileFormat)
    rows: RowPolicies = field(default_factory=RowPolicies)
    columns: RoleColumns = field(default_factory=RoleColumns)
    choice: ChoiceCodes = field(default_factory=ChoiceCodes)
    attributes: Mapping[str, Any] | None = None
    available: Availability = field(default_factory=Availability)
    shown: ShownRows = field(default_factory=ShownRows)
    raised: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.kind is not None and self.kind not in KINDS:
            raise DataError("kind", f"must be one of {', '.join(KINDS)}", got=repr(self.kind))
        if self.available.flags is not None and self.available.offered is not None:
            raise DataError(
                "available",
                "must have flags or offered",
                got="both",
                fix="Say which options were on offer in one way.",
            )

    @classmethod
    def of(cls, given: Schema | Mapping[str, Any] | FilePath | None) -> Schema:
        """The schema that is given as one, as a dictionary, or as the path of a TOML file."""
        if given is None:
            return cls()
        if isinstance(given, Schema):
            return given
        if isinstance(given, Mapping):
            return _from_sections(given)
        if isinstance(given, (str, os.PathLike)):
            return cls.read(given)
        raise DataError(
            "schema",
            "must be a Schema, a dictionary or the path of a TOML file",
            got=type(given).__name__,
        )

    @classmethod
    def read(cls, path: FilePath) -> Schema:
        """The schema in a TOML file.

        Parameters
        ----------
        path
            The file.
        """
        name = os.fsdecode(path)
        try:
            text = Path(name).expanduser().read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise DataError(
                "schema", "must be a readable TOML file", got=f"{name}: {reason}"
            ) from None
        try:
            return cls.from_toml(text)
        except DataError as error:
            raise error.rephrase(str, name) from None

    @classmethod
    def from_toml(cls, text: str) -> Schema:
        """The schema that a text in TOML says.

        Parameters
        ----------
        text
            The text.
        """
        try:
            return _from_sections(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            raise DataError(
                "schema", "must be sound TOML", got=f"an error: {error}", fix="Correct it."
            ) from None

    def get(self, role: str) -> Any:
        """The value of a role by its key, such as "columns.reward"; None where nothing is said.

        Parameters
        ----------
        role
            The key.
        """
        head, _, rest = role.partition(".")
        if head == "attributes":
            return (self.attributes or {}).get(rest) if rest else self.attributes
        value = getattr(self, head)
        return getattr(value, rest) if rest else value

    def with_answers(self, answers: Mapping[str, Any]) -> Schema:
        """Copy of the schema with answers to questions filled in.

        Parameters
        ----------
        answers
            {role: value}, such as {"columns.reward": "points"}.
        """
        found = self
        for role, value in answers.items():
            found = found._with(role, _frozen(value))
        return found

    def _with(self, role: str, value: Any) -> Schema:
        head, _, rest = role.partition(".")
        if head == "attributes" and not rest:
            return replace(self, attributes=_attributes(value))
        if head == "attributes":
            given = {**(self.attributes or {}), rest: value} if rest else value
            return replace(self, attributes=given)
        if head in _PLAIN and not rest:
            return replace(self, **{head: value})
        known = _SECTIONS.get(head)
        if known is None or (rest and rest not in {one.name for one in fields(known)}):
            raise DataError("schema", "must have known keys", got=repr(role), fix=_hint(role))
        if not rest:
            return replace(self, **{head: _section(head, value)})
        return replace(self, **{head: replace(getattr(self, head), **{rest: value})})

    def filled_with(self, other: Schema) -> Schema:
        """Copy of the schema whose empty roles are filled from another schema.

        Parameters
        ----------
        other
            What holds where nothing else is said.
        """
        answers = {role: value for role, value in other.filled_roles() if self.get(role) is None}
        if self.attributes is not None:
            answers = {role: v for role, v in answers.items() if not role.startswith("attributes")}
        return self.with_answers(answers)

    def filled_roles(self) -> Iterator[tuple[str, Any]]:
        """Iterate over (role, value) of all roles that are set; attributes count as one role."""
        for name in _PLAIN:
            if getattr(self, name) is not None:
                yield name, getattr(self, name)
        for name, kind in _SECTIONS.items():
            section = getattr(self, name)
            for one in fields(kind):
                value = getattr(section, one.name)
                if value is not None:
                    yield f"{name}.{one.name}", value
        if self.attributes is not None:
            yield "attributes", self.attributes

    def column_names(self) -> set[str]:
        """Every column that a role names."""
        found: set[str] = set()
        for role, value in self.filled_roles():
            if role.startswith(("columns.", "attributes", "available.")):
                found |= {name.removeprefix("-") for name in _texts(value)} | {*_texts(value)}
        return found

    def to_dict(self) -> dict[str, Any]:
        """The schema as a dictionary of the form of a TOML file."""
        found: dict[str, Any] = {}
        for role, value in self.filled_roles():
            head, _, rest = role.partition(".")
            if rest:
                found.setdefault(head, {})[rest] = _thawed(value)
            else:
                found[head] = _thawed(value)
        return found

    def to_toml(self, questions: Sequence[Question] = ()) -> str:
        """The schema as TOML.

        Parameters
        ----------
        questions
            What is still open: written as comments where, without its #, a line is an answer.
        """
        found = self.to_dict()
        inside = {name: [q for q in questions if q.role.startswith(f"{name}.")] for name in found}
        above = [q for q in questions if not any(q in own for own in inside.values())]
        lines = [line for question in above for line in _as_comment(question, question.role)]
        lines += [f"{name} = {_toml(found[name])}" for name in _PLAIN if name in found]
        for name in (*_SECTIONS, "attributes"):
            if name in found:
                lines += ["", f"[{name}]"]
                lines += [f"{_key(key)} = {_toml(value)}" for key, value in found[name].items()]
                for question in inside[name]:
                    lines += _as_comment(question, question.role.removeprefix(f"{name}."))
        return "\n".join(lines).strip("\n")

    def __str__(self) -> str:
        return self.to_toml()


def _as_comment(question: Question, key: str) -> list[str]:
    answers = [f"#     {key} = {_toml(answer)}" for answer in question.answers]
    return [f"# {question.text}", *answers]


def _from_sections(given: Mapping[str, Any]) -> Schema:
    unknown = [key for key in given if key not in (*_PLAIN, *_SECTIONS, "attributes")]
    if unknown:
        raise DataError(
            "schema", "must have known sections", got=repr(unknown[0]), fix=_hint(unknown[0])
        )
    found: dict[str, Any] = {name: _frozen(given[name]) for name in _PLAIN if name in given}
    found |= {name: _section(name, given[name]) for name in _SECTIONS if name in given}
    if "attributes" in given:
        found["attributes"] = _attributes(_frozen(given["attributes"]))
    return Schema(**found)


def _attributes(given: Any) -> Mapping[str, Any] | None:
    if given is not None and not isinstance(given, Mapping):
        raise DataError(
            "attributes",
            "must be {attribute: a column or constant per option}, or {'columns': columns} of one "
            "row per option",
            got=repr(given),
        )
    return given


def _section(name: str, given: Any) -> Any:
    kind = _SECTIONS[name]
    if isinstance(given, kind):
        return given
    known = [one.name for one in fields(kind)]
    if not isinstance(given, Mapping):
        raise DataError(name, f"must be a section with keys {', '.join(known)}", got=repr(given))
    unknown = [key for key in given if key not in known]
    if unknown:
        raise DataError(
            name,
            f"must have keys among {', '.join(known)}",
            got=repr(unknown[0]),
            fix=closest_match_hint(str(unknown[0]), known) or "Correct it.",
        )
    return kind(**{key: _frozen(value) for key, value in given.items()})


def _hint(role: str) -> str:
    known = [*_PLAIN, *_SECTIONS, "attributes"]
    known += [f"{name}.{one.name}" for name, kind in _SECTIONS.items() for one in fields(kind)]
    return closest_match_hint(role, known) or f" Known are {format_list(known, len(known))}."


def _frozen(value: Any) -> Any:
    """Lists as tuples, so that a schema cannot change."""
    if isinstance(value, Mapping):
        return {key: _frozen(own) for key, own in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(map(_frozen, value))
    return value


def _thawed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _thawed(own) for key, own in value.items()}
    return [*map(_thawed, value)] if isinstance(value, tuple) else value


def _texts(value: Any) -> Iterator[str]:
    """Every text in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for own in value.values():
            yield from _texts(own)
    elif isinstance(value, (list, tuple)):
        for own in value:
            yield from _texts(own)


_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _toml(value: Any) -> str:
    """A value as TOML writes it.

    >>> _toml([1, "a", True, {"gain": "win"}])
    '[1, "a", true, {gain = "win"}]'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_toml(own)}" for key, own in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, (int, float)):
        return repr(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def schema_questions(draft: Schema, questions: Sequence[Question], about: str) -> SchemaQuestions:
    """The error that asks all questions about a table at once, numbered, with answers to paste."""
    shown = [one for one in questions if one.is_shown] or questions
    lines = [f"{k + 1}. {one.text}\n   {one.pasted()}" for k, one in enumerate(shown)]
    count = f"{len(shown)} question{'s' * (len(shown) > 1)}"
    asked = replace(draft, raised=draft.raised | {one.role for one in questions})
    return SchemaQuestions(
        f"{about}: schema",
        got=count,
        fix="\n".join(lines),
        draft=asked,
        questions=questions,
    )
