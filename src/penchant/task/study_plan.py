"""Plan of a study: pages around the task, blocks of each condition, endings; read from TOML.

Files are checked completely before anything starts; errors name the line. Without a file, the
paper's task is served as a demonstration. Relies on `study_file_sections` for checked values.
"""

from __future__ import annotations

import csv
import hashlib
import itertools
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from penchant.errors import DataError
from penchant.task.choice_tasks import ATTRIBUTES, TASK_READERS, Task
from penchant.task.study_file_sections import StudyFileSection, key_line_numbers

Outcome = Literal["completed", "screened out", "no consent", "withdrawn"]
Resume = Literal["browser", "id", "never"]
STUDY_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
PLATFORM_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
OUTCOMES: tuple[Outcome, ...] = ("completed", "screened out", "no consent", "withdrawn")
PACE_KEYS = ("seconds", "grace", "feedback")
ADVICE_KEYS = ("advice", "advice_mean", "advice_sd", "advice_length")
BLOCK_KEYS = ("task", "name", "title", "practice", *PACE_KEYS, *ADVICE_KEYS)
# conditions cannot vary what identifies a block, else a level would make it another block
UNVARIED_KEYS = ("task", "name", "title", "practice", "offer")


@dataclass(frozen=True)
class Question:
    """A question of the comprehension check."""

    question: str
    answers: tuple[str, ...]
    correct: int


@dataclass(frozen=True)
class Block:
    """Block of decisions in one task.

    Attributes
    ----------
    seconds
        Time for each decision; None where it is not limited.
    grace
        Seconds after that in which a choice still counts, for the way through the network.
    feedback
        Seconds for which a reward is shown before the next decision starts.
    advice
        "suggest": a machine may suggest another option before a choice is taken; "off".
    advice_mean, advice_sd, advice_length
        What that machine believes of mean rewards before play: their mean, their standard
        deviation, and over how many squares they are alike.
    """

    name: str
    title: str
    practice: bool
    task: Task
    seconds: float | None
    grace: float
    feedback: float
    advice: Literal["off", "suggest"] = "off"
    advice_mean: float = 0.0
    advice_sd: float = 1.0
    advice_length: float = 2.0


@dataclass(frozen=True)
class StudyCondition:
    """A condition, and the blocks that people in it play."""

    labels: Mapping[str, Any]
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Ending:
    """Text, code and return address at the end of a session."""

    text: str = ""
    code: str | None = None
    address: str | None = None


@dataclass(frozen=True)
class StudyPlan:
    """A study.

    Attributes
    ----------
    document
        The study file with all tables that it names, from which this is read again.
    seed
        From which all randomness follows; None: the store has drawn one.
    resume
        Who may come back: the same browser, whoever has the same id, or nobody.
    cells
        Conditions; one without labels where there are none.
    """

    document: Mapping[str, Any]
    name: str
    title: str
    language: str
    seed: int | None
    contact: str | None
    resume: Resume
    consent: str | None
    instructions: tuple[str, ...]
    questions: tuple[Question, ...]
    attempts: int
    cells: tuple[StudyCondition, ...]
    endings: Mapping[Outcome, Ending]
    id_parameter: str
    show_estimate: bool
    estimate: Mapping[str, Any]
    sessions_per_minute: int
    most_sessions: int

    @property
    def consent_version(self) -> str | None:
        """Fingerprint of the text of the consent."""
        return None if self.consent is None else fingerprint(self.consent)

    @property
    def version(self) -> str:
        """Fingerprint of the whole study."""
        return fingerprint(serialize_document(self.document))


def fingerprint(text: str) -> str:
    """First 64 bits of a text's SHA-256, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def serialize_document(document: Mapping[str, Any]) -> str:
    """Serialize a document as it is stored; equal documents give equal text."""
    return json.dumps(document, sort_keys=True, ensure_ascii=False)


def parse_plan(document: Mapping[str, Any], lines: Mapping[Any, int] | None = None) -> StudyPlan:
    """Read a study from its document; errors name the line."""
    top = StudyFileSection(document, (), lines or {})
    study = top.section("study")
    name = study.text("name", "study", most=40)
    if not STUDY_NAME.fullmatch(name):
        study.refuse("name", "be 1 to 40 of a-z, 0-9 and -", 'Write name = "grid-2026".')
    check = top.section("check")
    limits, estimate = top.section("limits"), top.section("estimate")
    plan = StudyPlan(
        document=document,
        name=name,
        title=study.text("title", "A decision task", most=120),
        language=study.one_of("language", ("en",), "en"),
        seed=study.integer("seed", 0, 2**62) if study.has_key("seed") else None,
        contact=study.optional_text("contact", most=200),
        resume=study.one_of("resume", ("browser", "id", "never"), "browser"),
        consent=_read_consent(top),
        instructions=_read_instructions(top),
        questions=tuple(_read_question(question) for question in check.sections("question")),
        attempts=check.integer("attempts", 1, 20, 3),
        cells=_read_conditions(top),
        endings=_read_endings(top),
        id_parameter=_read_id_parameter(study),
        show_estimate=estimate.boolean("show_at_end", False),
        estimate=_read_estimate(estimate),
        sessions_per_minute=limits.integer("sessions_per_minute", 1, 1_000_000, 600),
        most_sessions=limits.integer("most_sessions", 1, 10_000_000, 100_000),
    )
    for section in (study, check, limits, estimate):
        section.refuse_unread_keys()
    top.refuse_unread_keys()
    return plan


def _read_consent(top: StudyFileSection) -> str | None:
    section = top.section("consent")
    text = section.text("text") if top.has_key("consent") else None
    section.refuse_unread_keys(["text"])
    return text


def _read_instructions(top: StudyFileSection) -> tuple[str, ...]:
    section = top.section("instructions")
    pages = tuple(section.texts("pages", [], 1 if top.has_key("instructions") else 0))
    section.refuse_unread_keys()
    return pages


def _read_id_parameter(study: StudyFileSection) -> str:
    value = study.text("id_parameter", "id", most=40)
    if not PLATFORM_ID.fullmatch(value):
        study.refuse("id_parameter", "be letters, digits, _ and -", 'Write "PROLIFIC_PID".')
    return value


def _read_question(section: StudyFileSection) -> Question:
    answers = section.texts("answers", least=2)
    found = Question(
        section.text("question", most=1000),
        tuple(answers),
        section.integer("correct", 1, len(answers)) - 1,
    )
    section.refuse_unread_keys()
    return found


def _read_estimate(section: StudyFileSection) -> dict[str, Any]:
    """Read the settings of the live estimate; those not given follow from the task."""
    found: dict[str, Any] = {}
    if section.has_key("model"):
        found["model"] = section.one_of("model", ("ucl", "q-learning", "none"))
    if section.has_key("noise_variance"):
        found["noise_variance"] = section.number("noise_variance", 1e-12, 1e12)
    if section.has_key("length_scale"):
        found["length_scale"] = section.number("length_scale", 1e-6, 1e6)
    return found


def _read_endings(top: StudyFileSection) -> dict[Outcome, Ending]:
    section = top.section("end")
    found: dict[Outcome, Ending] = {}
    for outcome in OUTCOMES:
        key = outcome.replace(" ", "_")
        one = section.section(key)
        address = one.optional_text("address")
        if address is not None and not _is_safe_return_address(address):
            one.refuse("address", "begin with https://", "Give the whole return address.")
        found[outcome] = Ending(
            one.text("text", most=2000) if one.has_key("text") else "",
            one.optional_text("code", most=80),
            address,
        )
        one.refuse_unread_keys()
    section.refuse_unread_keys()
    return found


def _is_safe_return_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
        local = parts.hostname in ("localhost", "127.0.0.1")
    except ValueError:
        return False
    # user names and quotes have no use in an address but phishing and injection
    if re.search(r"[\s<>\"'\\]", address) or parts.username is not None:
        return False
    return bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and local))


def _read_conditions(top: StudyFileSection) -> tuple[StudyCondition, ...]:
    """Read all combinations of the conditions, with their blocks."""
    blocks = top.sections("block")
    if not blocks:
        top.refuse("block", "hold a block or more", 'Write [[block]] and task = "grid".')
    factors = top.section("conditions")
    levels: dict[str, list[Any]] = {}
    for name, values in factors.values.items():
        factors.read.add(name)
        if name in UNVARIED_KEYS or not isinstance(values, list) or len(values) < 2:
            factors.refuse(
                name, "be a setting of blocks with a list of two or more values", "Correct it."
            )
        if len({repr(value) for value in values}) < len(values):
            factors.refuse(name, "have different values", "Drop one.")
        levels[name] = values
    used: set[str] = set()
    cells = tuple(
        StudyCondition(
            labels, tuple(_read_block(block, labels, i, used) for i, block in enumerate(blocks))
        )
        for labels in (
            dict(zip(levels, combination, strict=True))
            for combination in itertools.product(*levels.values())
        )
    )
    for name in levels:
        if name not in used:
            factors.refuse(
                name,
                "be a setting that a block has and leaves open",
                f"Remove {name} from the blocks where it shall vary, or correct its name.",
            )
    return cells


def _read_advice(
    section: StudyFileSection, kind: str, practice: bool, seconds: float | None
) -> dict[str, Any]:
    """Read whether advice is given, and the prior beliefs of the adviser."""
    advice = section.one_of("advice", ("off", "suggest"), "off")
    section.read.update(ADVICE_KEYS)  # with advice off they are ignored, not refused as unknown
    if advice == "off":
        return {}
    if kind != "grid" or practice or seconds is not None:
        section.refuse(
            "advice", "be off unless the task is a grid without practice and pace", "Drop it."
        )
    found: dict[str, Any] = {"advice": advice}
    for name, least in (("advice_mean", -1e12), ("advice_sd", 1e-9), ("advice_length", 0.1)):
        if name != "advice_length" and not section.has_key(name):
            section.refuse(name, "be given with advice", "Say what rewards are expected.", None)
        found[name] = section.number(name, least, 1e12, 2.0)
    return found


def _read_block(
    own_section: StudyFileSection, labels: Mapping[str, Any], index: int, keys_used: set[str]
) -> Block:
    """Read a block with the levels of a condition for keys it leaves open; record keys used."""
    practice = own_section.boolean("practice", False)
    # conditions are for what is analysed, and practice never is
    added = {} if practice else {k: v for k, v in labels.items() if not own_section.has_key(k)}
    lines = dict(own_section.lines)
    for key in added:  # the mistake is in the condition's line, as the block does not hold the key
        lines[(*own_section.path, key)] = lines.get(("conditions", key), 0)
    section = StudyFileSection(
        {**added, **own_section.values}, own_section.path, lines, own_section.read
    )
    section.read.add("practice")
    kind = section.one_of("task", tuple(TASK_READERS))
    seconds = section.number("seconds", 0.2, 3600) if section.values.get("seconds") else None
    section.read.add("seconds")
    block = Block(
        name=section.text("name", f"{'practice' if practice else 'block'}-{index + 1}", most=40),
        title=section.text("title", most=120) if section.has_key("title") else "",
        practice=practice,
        task=TASK_READERS[kind](section),
        seconds=seconds,
        grace=section.number("grace", 0.1, 60, 2.0),
        feedback=section.number("feedback", 0.0, 30, 0.6),
        **_read_advice(section, kind, practice, seconds),
    )
    keys_used |= set(added) & section.read
    own_section.refuse_unread_keys(BLOCK_KEYS)
    return block


_TOML_ERROR = re.compile(r"^(.*?) \(at line (\d+), column \d+\)$")
MAX_FILE_BYTES = 4_000_000  # a larger file is some other file, named by mistake


def read_study_file(path: str | Path) -> StudyPlan:
    """Read and check a study file.

    Parameters
    ----------
    path
        TOML file; tables that it names lie beside it.
    """
    file = Path(path)
    return read_study_text(_read_utf8_file(file, "STUDY.toml"), folder=file.parent)


def read_study_text(text: str, *, folder: Path = Path(".")) -> StudyPlan:
    r"""Read a study from the text of its file.

    Examples
    --------
    >>> plan = read_study_text('[study]\nname = "demo"\n[[block]]\ntask = "grid"')
    >>> plan.name, plan.cells[0].blocks[0].task.n_decisions
    ('demo', 90)
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        matched = _TOML_ERROR.match(str(error))
        what, line = (
            matched.groups()
            if matched
            else (_message_without_position(error), len(text.splitlines()))
        )
        raise DataError(
            "the study file",
            "must be TOML",
            got=what,
            where=f"at line {line}",
            fix="Correct this line.",
        ) from None
    lines = key_line_numbers(text)
    return parse_plan(_insert_csv_tables(document, lines, folder), lines)


def _message_without_position(error: Exception) -> str:
    return str(error).replace(" (at end of document)", "").rstrip(".")


def _read_utf8_file(file: Path, argument: str) -> str:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise DataError(
            argument,
            "must be a file that can be read",
            got=f"{file}: {error.strerror}",
            fix="penchant serve --new writes one.",
        ) from None
    if len(data) > MAX_FILE_BYTES:
        raise DataError(
            argument, f"must have at most {MAX_FILE_BYTES} bytes", got=len(data), fix="Shorten it."
        )
    try:
        # a byte order mark, which editors on Windows write, is no TOML
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(
            argument,
            "must be UTF-8",
            got="another encoding",
            where=f"at line {line}",
            fix="Save it as UTF-8.",
        ) from None


def _insert_csv_tables(
    document: dict[str, Any], lines: Mapping[Any, int], folder: Path
) -> dict[str, Any]:
    """Insert the tables that blocks name by means_file and offers_file into the document."""
    blocks = document.get("block")
    if not isinstance(blocks, list):
        return document
    for i, block in enumerate(blocks):
        if not isinstance(block, dict):
            continue
        section = StudyFileSection(block, ("block", i), lines)
        if "means_file" in block:
            rows = _read_csv_rows(section, "means_file", folder, ("option", "mean_reward"))
            options = [row["option"] for row in rows]
            if options != list(range(len(rows))):
                section.refuse("means_file", "have options 0, 1, 2 ... in order", "Sort its rows.")
            block["means"] = [row["mean_reward"] for row in rows]
            block.setdefault("landscape", Path(str(block.pop("means_file"))).stem[:40])
        if "offers_file" in block:
            rows = _read_csv_rows(section, "offers_file", folder, ("amount_1", "amount_2"))
            block["offer"] = [_offer_from_row(row) for row in rows]
            del block["offers_file"]
    return document


def _offer_from_row(row: Mapping[str, float]) -> dict[str, list[float]]:
    found = {}
    for name in ATTRIBUTES:
        values = [row[f"{name}_{i}"] for i in range(1, 11) if f"{name}_{i}" in row]
        if values:
            found[name] = values
    return found


def _read_csv_rows(
    section: StudyFileSection, key: str, folder: Path, required_columns: tuple[str, ...]
) -> list[dict[str, float]]:
    """Read the rows of a CSV file beside the study file, all numbers."""
    name = section.text(key, most=200)
    # a study file from elsewhere must not read files of this machine
    if Path(name).is_absolute() or ".." in Path(name).parts:
        section.refuse(key, "lie beside the study file or below it", "Give its name only.")
    try:
        text = _read_utf8_file(folder / name, name)
    except DataError as error:
        section.refuse(key, f"be a table that can be read ({error})", "Correct the name.")
    reader = csv.DictReader(text.splitlines())
    missing = [column for column in required_columns if column not in (reader.fieldnames or ())]
    if missing:
        section.refuse(key, f"have the column {missing[0]}", "Add it to the table.")
    rows = []
    for row in reader:
        try:
            rows.append({k: float(v) for k, v in row.items() if k and v not in (None, "")})
        except (TypeError, ValueError):
            section.refuse(key, f"hold numbers (line {reader.line_num} does not)", "Correct it.")
    return rows


DEMONSTRATION_STUDY = """
[study]
name = "demonstration"
title = "Find the best squares"
resume = "browser"

[instructions]
pages = [
  '''
You will see a grid of 100 squares. Each pays points when you choose it.

Squares near each other pay similarly, but a square does not always pay the same.
''',
  '''
You have 90 choices. Collect as many points as you can.

Use the mouse, touch, or the arrow keys and Enter.
''',
]

[conditions]
landscape = ["a", "b"]

[[block]]
task = "grid"
decisions = 90
noise = "integer"
largest = 5

[end.completed]
text = "Thank you for playing. Your choices are saved."

[estimate]
show_at_end = true
"""


def new_study_text() -> str:
    """Return a commented study file to start from."""
    return files("penchant.task").joinpath("page/template.toml").read_text(encoding="utf-8")
