"""Models as the command line spells and lists them: names, settings, where options lie."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Literal

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.argument_checks import check_number, check_one_of
from penchant.bandit.beliefs import EXPONENTIAL, GAUSSIAN, MATERN32, MATERN52, RewardPrior
from penchant.bandit.landscape import check_locations, grid
from penchant.cli.options import Agent
from penchant.cli.terminal import WIDTH, refuse, say
from penchant.errors import DataError, closest_match_hint, format_names
from penchant.files.output import json_text
from penchant.files.table import read_table
from penchant.models.catalogue import CATALOGUE, HBAYESDM, REQUIRED, Entry, Setting, entry_of
from penchant.models.model import natural_parameters
from penchant.models.spatial.ucl import UCL
from penchant.reading.tasks import NamedTask, task_named
from penchant.tables.frames import column_floats, open_frame
from penchant.tables.reading import Reading

KERNELS = {kernel.name: kernel for kernel in (EXPONENTIAL, GAUSSIAN, MATERN32, MATERN52)}
SETTING_WORDS = {"free": None, "true": True, "false": False}


def with_task_model(agent: Agent, task: str) -> Agent:
    """Set the model of a named task, with its settings unless others were typed."""
    named_task = task_named(task)
    name: Any = named_task.command
    return replace(agent, model=name, settings=agent.settings or list(named_task.settings))


def task_model_spelling(task: str) -> str:
    """The model of a named task as `compare` spells it, NAME:SETTINGS."""
    named_task = task_named(task)
    return ":".join(filter(None, (str(named_task.command), ",".join(named_task.settings))))


FLAGS_WITH_WORDS = {"dual_rates", "pavlovian"}  # flags that take a word besides


def parse_settings(words: list[str], entry: Entry) -> dict[str, Any]:
    """Values of --settings by name, checked against the settings that the model has."""
    known = {setting.name: setting for setting in entry.settings}
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = (part.strip() for part in word.partition("="))
        name = name.replace("-", "_")
        if name not in known:
            named = f"name {', '.join(known)}" if known else "be left out"
            raise DataError(
                "--settings",
                f"must {named} with --model {entry.name}",
                got=repr(word),
                fix=closest_match_hint(name, known) or f"See penchant models {entry.name}.",
            )
        refuse_twice(name, found)
        found[name] = _parse_value(known[name], value if equals else "true", word)
    return found


def build_model(entry: Entry, given: Mapping[str, Any], words: list[str]) -> Any:
    """Build a model of the catalogue with all its settings; `words` are those that were typed."""
    missing = [s.name for s in entry.settings if s.default is REQUIRED and s.name not in given]
    if missing:
        raise DataError(
            "--settings",
            f"must give {', '.join(missing)} with --model {entry.name}",
            got="none",
            fix=f"Write --settings {missing[0]}=VALUE; see penchant models {entry.name}.",
        )
    try:
        return entry.model(**given)
    except TypeError:  # a word where there should be a number
        raise DataError(
            "--settings",
            f"must be of the kind that --model {entry.name} takes",
            got=",".join(words),
            fix=f"See penchant models {entry.name}.",
        ) from None


def _parse_value(setting: Setting, words: str, word: str) -> Any:
    """Parse the value of a setting: a number, several as 1/2/3, free, true, false, or a word."""
    if setting.name == "kernel":
        check_one_of(words, "kernel in --settings", KERNELS)
        return KERNELS[words]
    value = SETTING_WORDS[words] if words in SETTING_WORDS else _numbers_or_words(words)
    worded = setting.name in FLAGS_WITH_WORDS and isinstance(value, str)
    if isinstance(setting.default, bool) != isinstance(value, bool) and not worded:
        rule = "be a flag" if isinstance(setting.default, bool) else "have a value"
        write = setting.name if isinstance(setting.default, bool) else f"{setting.name}=VALUE"
        raise DataError(
            f"{setting.name} in --settings", f"must {rule}", got=repr(word), fix=f"Write {write}."
        )
    if isinstance(setting.default, tuple) and not isinstance(value, tuple):
        return (value,)
    return value


def _numbers_or_words(words: str) -> Any:
    parts = tuple(_number_or_word(part) for part in words.split("/"))
    return parts if len(parts) > 1 else parts[0]


def _number_or_word(word: str) -> Any:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def refuse_twice(name: str, given: Mapping[str, Any]) -> None:
    """Refuse a setting that is given twice."""
    if name in given:
        raise DataError(name, "must be given once", got="it twice", fix="Drop one.")


COORDINATES = ("x", "y", "z")
MOST_OPTIONS = 1_000_000


def build_ucl(agent: Agent, clock: Literal["choices", "events"] = "choices") -> UCL:
    """Build the UCL model of the options given."""
    refuse(agent, "with --model ucl", names={"initial_value"})
    if agent.noise_variance is None:
        raise DataError(
            "--noise-variance",
            "must be given with --model ucl",
            got="none",
            fix=(
                "Give the variance of a reward around its mean, which the agent knows: 10 in the "
                "paper's human data."
            ),
        )
    arguments: dict[str, Any] = {
        "noise_variance": agent.noise_variance,
        "length_scale": agent.length_scale,
        "kernel": KERNELS[agent.kernel],
        "cooling": agent.cooling,
        "clock": clock,
        "bonus": agent.bonus,
    }
    more = parse_settings(agent.settings, entry_of("ucl"))
    for name in more:
        if name in arguments:
            raise DataError(
                "--settings",
                f"must not name {name} with --model ucl",
                got="it",
                fix=f"Use --{name.replace('_', '-')}.",
            )
    every = {"locations": option_locations(agent), **arguments, **more}
    model: UCL = build_model(entry_of("ucl"), every, agent.settings)
    return model


def option_locations(agent: Agent) -> Matrix:
    """Coordinates of the options (n_options, n_dimensions), from --grid or --locations."""
    if (agent.grid is None) == (agent.locations is None):
        got = "neither" if agent.grid is None else "both"
        raise DataError(
            "--grid or --locations",
            f"must be given with --model {agent.model}",
            got=got,
            fix="Try --grid 10x10: option x + 10 * y is at (x, y).",
        )
    if agent.locations is None:
        return grid(*parse_grid(agent))
    return _read_locations(agent.locations)


def parse_grid(agent: Agent) -> tuple[int, int]:
    """Parse --grid into width and height."""
    words = agent.grid or ""
    match = re.fullmatch(r"([1-9]\d{0,6})[xX]([1-9]\d{0,6})", words.strip())
    if match is None:
        raise DataError("--grid", "must be WIDTHxHEIGHT", got=repr(words), fix="Try --grid 10x10.")
    width, height = int(match[1]), int(match[2])
    if not 2 <= width * height <= MOST_OPTIONS:
        raise DataError(
            "--grid",
            f"must have 2 to {MOST_OPTIONS:,} options",
            got=f"{width * height:,}",
            fix="Correct it.",
        )
    return width, height


def _read_locations(file: str) -> Matrix:
    table = open_frame(read_table(file))
    found = [name for name in COORDINATES if name in table.columns]
    if not found:
        raise DataError(
            "--locations",
            "must have columns x, y or z",
            got=format_names(table.columns),
            fix="Rename them.",
        )
    if "option" in table.columns:
        _check_order(column_floats(table, "option", "option"))
    return check_locations(
        np.column_stack([column_floats(table, name, "coordinate") for name in found])
    )


def _check_order(options: Any) -> None:
    wrong = np.flatnonzero(np.diff(options, prepend=options[0] - 1) != 1)
    if options[0] not in (0, 1) or wrong.size:
        at = 0 if options[0] not in (0, 1) else int(wrong[0])
        raise DataError(
            "--locations",
            "must hold the options in order, from 0 or 1",
            got=f"option {options[at]:g}",
            where=f"at line {at + 2}",
            fix="Sort the rows, and fill gaps.",
        )


def parse_reward_prior(words: str) -> RewardPrior:
    """Parse the prior of --linearized."""
    try:
        numbers = [float(part) for part in words.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (2, 3):
        raise DataError(
            "--linearized",
            "must be MEAN,VARIANCE or MEAN,VARIANCE,LENGTH",
            got=repr(words),
            fix="Try --linearized 200,1e6.",
        )
    try:
        return RewardPrior(*numbers)
    except DataError as error:
        raise error.rephrase(str, "--linearized MEAN,VARIANCE,LENGTH") from None


# Options of their own that a model takes, beside --settings.
LOCATION_OPTIONS = {"grid", "locations"}
OPTIONS_OF_MODELS = {
    "ucl": {
        *LOCATION_OPTIONS,
        "noise_variance",
        "length_scale",
        "kernel",
        "cooling",
        "bonus",
        "clock",
    },
    "q-learning": {"initial_value"},
    "ucb1": {"initial_value"},
    "volatile-kalman": {"initial_value"},
    "kalman": {"noise_variance"},
    "hybrid": {"noise_variance"},
    "gp-ucb": {*LOCATION_OPTIONS, "length_scale"},
    "locality": LOCATION_OPTIONS,
}


def build_named_model(agent: Agent, n_options: int) -> Any:
    """Build the model named, other than ucl, with `n_options` options.

    Parameters
    ----------
    agent
        Name, settings and other options of the command line.
    n_options
        How many options there are, where the model does not say it itself.
    """
    assert agent.model is not None
    entry = entry_of(agent.model)
    taken = OPTIONS_OF_MODELS.get(entry.name, set())
    every = {option.name for option in fields(agent)} - {"model", "settings"}
    refuse(agent, f"with --model {entry.name}", _settings_hint(entry), names=every - taken)
    given = parse_settings(agent.settings, entry)
    for name in sorted(taken - LOCATION_OPTIONS):
        value = getattr(agent, name)
        if value is not None and value != getattr(Agent(), name):
            refuse_twice(name, given)
            _check_finite(name, value)
            given[name] = value
    if taken & LOCATION_OPTIONS:
        given["locations"] = option_locations(agent)
    if counts_options(agent):
        if n_options < 2:
            raise DataError(
                "--options",
                "must be at least 2",
                got=n_options,
                fix="Say how many could be chosen.",
            )
        given["n_options"] = n_options
    return build_model(entry, given, agent.settings)


def counts_options(agent: Agent) -> bool:
    """Whether the number of options of the model comes from the data or --options."""
    assert agent.model is not None
    model = entry_of(agent.model).model
    return "n_options" in {field.name for field in fields(model) if field.init}


def _check_finite(name: str, value: float) -> None:
    check_number(value, f"--{name.replace('_', '-')}")


def _settings_hint(entry: Entry) -> str:
    return f"See penchant models {entry.name} for its settings"


def say_locations(agent: Agent, reading: Reading, locations: Matrix) -> None:
    """Print the assumed map of the options, and whether coordinates in the file agree with it."""
    base = reading.arguments["base"]
    if isinstance(reading.arguments["chosen"], str):
        say(map_description(agent, locations, base))
        _say_coordinate_agreement(reading, locations)
    else:
        say(place_map_description(locations, base))


def _say_coordinate_agreement(reading: Reading, locations: Matrix) -> None:
    """Print whether columns of coordinates agree with the map, where the file has them."""
    names = COORDINATES[: locations.shape[1]]
    frame = open_frame(reading.table)
    if not all(name in frame.columns and frame[name].dtype.is_numeric() for name in names):
        return
    if not reading.numbered:
        return
    base = reading.arguments["base"]
    options = column_floats(frame, reading.arguments["chosen"], "chosen") - base
    known = np.flatnonzero(options >= 0)
    in_file = np.column_stack([column_floats(frame, name, name) for name in names])[known]
    on_map = locations[options[known].astype(np.int64)]
    shift = in_file[:1] - on_map[:1]  # coordinates may be counted from another number than 0
    wrong = np.flatnonzero((in_file - on_map != shift).any(axis=1))
    columns = " and ".join(names)
    if not wrong.size:
        say(f"Columns {columns} of the file agree with this map.")
        return
    k, row = int(wrong[0]), int(known[wrong[0]])
    place = reading.in_words(f"row {row}")
    say(
        f"Warning: columns {columns} of the file disagree with this map: option "
        f"{options[row] + base:g} is at {_point_text(in_file[k])} at {place}, and at "
        f"{_point_text(on_map[k])} on the map. Renumber the options, or give --locations."
    )


def _point_text(place: Vector) -> str:
    return f"({', '.join(f'{c:g}' for c in place)})"


def map_description(agent: Agent, places: Matrix, base: int = 0) -> str:
    """Describe the map of numbered options; no check can tell a grid from its transpose."""
    first, last = base, len(places) - 1 + base
    if agent.grid is None:
        ends = [f"({', '.join(f'{c:g}' for c in places[i])})" for i in (0, -1)]
        return f"Map: option {first} is at {ends[0]}, option {last} at {ends[1]}."
    width, height = parse_grid(agent)
    more = f" + {base}" if base else ""
    below = f", option {width + base} at (0, 1)" if height > 1 else ""
    return (
        f"Map: option = x + {width} * y{more}: option {first} is at (0, 0), option {base + 1} at "
        f"{(1, 0) if width > 1 else (0, 1)}{below}, option {last} at ({width - 1}, {height - 1})."
    )


def place_map_description(places: Matrix, base: int = 0) -> str:
    """Describe the map where a choice is a pair of coordinates, counted from `base` on.

    >>> print(place_map_description(np.array([[0], [1], [2]]), base=1))
    Map: 3 options, from (1) to (3); results call that at (1) option 0, at (2) option 1.
    """
    ends = (places.min(axis=0), places.max(axis=0), *places[:2])
    low, high, first, second = (f"({', '.join(f'{c + base:g}' for c in end)})" for end in ends)
    return (
        f"Map: {len(places)} options, from {low} to {high}; results call that at {first} option 0, "
        f"at {second} option 1."
    )


LOCATIONS_FILE = "PLACES.csv"  # with a row per option and its coordinates


def location_options_text(places: Matrix) -> str:
    """Options that give these locations: a grid that holds them, or a file.

    >>> location_options_text(np.array([[1.0, 1.0], [5.0, 3.0]]))
    '--grid 5x3 --base 1'
    >>> location_options_text(np.array([[0.5, 1.0]]))
    '--locations PLACES.csv'
    """
    low, high = places.min(axis=0), places.max(axis=0)
    if places.shape[1] != 2 or (places != np.floor(places)).any() or low.min() < 0:
        return f"--locations {LOCATIONS_FILE}"
    base = 1 if low.min() >= 1 else 0
    width, height = (high - base + 1).astype(int)
    return f"--grid {width}x{height}{' --base 1' if base else ''}"


MODEL_KIND_TITLES = {
    "play": "Task data: choices and rewards, trial after trial",
    "offers": "One-shot choices among offers: amounts, delays, probabilities",
}


def run_models(name: str | None, json: bool, task: str | None = None) -> int:
    """Run `models`: print all models, one of them, or a task; return the exit code."""
    if task is not None:
        print(task_description(task_named(task)))
        return 0
    if name in HBAYESDM:
        print(counterpart_text(name))
        return 0
    if json:
        found = [model_document(entry) for entry in CATALOGUE.values()]
        print(json_text(found if name is None else model_document(entry_of(name))), end="")
    else:
        print(model_table() if name is None else model_description(entry_of(name)))
    return 0


def task_description(task: NamedTask) -> str:
    """Describe a named task: its columns, the codes in them, its model."""
    lines = [
        f"{task.name}: {task.description}",
        f"Columns: {', '.join(task.columns)}; subjID, block and trial where there are.",
        f"Codes: {task.codes}.",
        f"Model: --model {task.command}; in Python pn.{task.call}.",
        f"Next: penchant fit FILE --task {task.name}",
    ]
    return "\n".join(textwrap.fill(line, WIDTH, break_on_hyphens=False) for line in lines)


def counterpart_text(name: str) -> str:
    """Describe the counterpart of a function of hBayesDM."""
    found = HBAYESDM[name]
    if found.call is None:
        return f"{name} of hBayesDM has no counterpart: {found.said}."
    remark = f" ({found.said})" if found.said else ""
    return (
        f"{name} of hBayesDM is pn.{found.call}{remark}.\n"
        f"On the command line: --model {found.command}. Next: penchant models {found.command}"
    )


def model_document(entry: Entry) -> dict[str, Any]:
    """Describe a model for JSON."""
    model = entry.example()
    return {
        "name": entry.name,
        "class": entry.model.__name__,
        "what": entry.description,
        "data": entry.data,
        "weights": list(model.weights),
        "shape": [
            {"name": s.name, "low": s.low, "high": s.high, "scale": s.scale} for s in model.shape
        ],
        "parameters": [n.name for n in natural_parameters(model)],
        "settings": [
            {"name": s.name, "default": _default_text(s.default), "what": s.description}
            for s in entry.settings
        ],
    }


def model_table() -> str:
    """List all models: name, description, natural parameters."""
    header = ("name", "what: model parameters")
    rows = {
        kind: [_model_row(e) for e in CATALOGUE.values() if e.data == kind]
        for kind in MODEL_KIND_TITLES
    }
    width = max(len(row[0]) for group in rows.values() for row in group) + 2
    lines = []
    for kind, title in MODEL_KIND_TITLES.items():
        lines += [title, "", *(_wrap_row(row, width) for row in (header, *rows[kind])), ""]
    return "\n".join([*lines, "penchant models NAME says more of one."])


def _model_row(entry: Entry) -> tuple[str, str]:
    names = [natural.name for natural in natural_parameters(entry.example())]
    shown = names if len(names) < 6 else [f"{names[0]} ... {names[-1]}"]
    return entry.name, f"{entry.description}: {', '.join(shown)}"


def _wrap_row(row: tuple[str, str], width: int) -> str:
    """Format a row of the list of models: its name, and its description wrapped beside it."""
    left = row[0].ljust(width)
    return textwrap.fill(row[1], WIDTH, initial_indent=left, subsequent_indent=" " * width)


def _wrap_paragraphs(text: str) -> str:
    """Wrap paragraphs at the width of the terminal; indented ones stay as they are."""
    parts = text.split("\n\n")
    return "\n\n".join(
        part if "\n " in f"\n{part}" else textwrap.fill(" ".join(part.split()), WIDTH)
        for part in parts
    )


def model_description(entry: Entry) -> str:
    """Describe one model: its equations, its parameters, its settings."""
    model = entry.example()
    names = ", ".join(n.name for n in natural_parameters(model))
    settings = [
        textwrap.fill(
            f"  {s.name} = {_default_text(s.default)}: {s.description}"
            f"{_option_hint(entry, s.name)}",
            WIDTH,
            subsequent_indent=" " * 6,
        )
        for s in entry.settings
    ]
    parts = [
        f"{entry.name}: {entry.description} (penchant.{entry.model.__name__})",
        _wrap_paragraphs(entry.equations),
        textwrap.fill(f"Parameters: {names}.", WIDTH),
    ]
    if settings:
        head = "Settings (--settings NAME=VALUE,...; free: estimated; several numbers: 1/2/3):"
        parts.append("\n".join([head, *settings]))
    return "\n\n".join(parts)


def _option_hint(entry: Entry, name: str) -> str:
    """Hint at the option of the command line that a setting has; empty without one."""
    has_option = name in OPTIONS_OF_MODELS.get(entry.name, set())
    return f" (--{name.replace('_', '-')})" if has_option else ""


def _default_text(value: Any) -> str:
    """Default of a setting as it is typed."""
    if value is None:
        return "free"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "/".join(map(_default_text, value)) or "none"
    return getattr(value, "name", None) or str(value)
