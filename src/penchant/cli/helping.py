"""Help: a first screen with what a command is for and its usual options, the rest by topic."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from penchant.errors import DataError, nearest

WIDTH = 80
ALL, ONE = "--help-all", "--help="
_TABLE = ("where", "subject", "chosen", "reward")
_SIMULATED = ("model", "parameters", "means", "decisions", "subjects", "seed", "json", "figure")
# The options that most uses of a command need.
USUAL: Mapping[str, Sequence[str]] = {
    "fit": ("example", *_TABLE, "model", "options", "prior", "intervals", "json", "output"),
    "check": ("example", *_TABLE, "model", "json"),
    "study": (*_TABLE, "condition", "model", "options", "seed", "output", "resume"),
    "population": (*_TABLE, "model", "covariates", "people", "subjects", "json", "output"),
    "compare": (*_TABLE, "model", "attributes", "folds", "group", "json", "figure", "output"),
    "predict": (*_TABLE, "model", "prior", "all_options", "check", "figure", "output"),
    "believe": (*_TABLE, "grid", "noise_variance", "length_scale", "map", "json", "output"),
    "assist": ("operators", "kind", "seed", *_TABLE, "grid", "json", "output"),
    "simulate": ("model", "means", "grid", "parameters", "decisions", "agents", "seed", "output"),
    "recover": _SIMULATED,
    "distinguish": _SIMULATED,
    "design": ("width", "against", *_SIMULATED),
    "ask": ("offers", "answers", "model", "about", "enough", "interactive", "json"),
    "play": ("players", "model", "settings", "seed"),
}
_LEARNER = (
    "--model q-learning \\\n    --parameters temperature=0.1:0.5,learning_rate=0.1:0.9 \\\n   "
)
_SLOTS = "--means 0.3,0.7 --noise-variance 0.04 --seed 1"
EXAMPLES: Mapping[str, Sequence[str]] = {
    "fit": (
        "penchant fit --example travel-mode",
        "penchant fit play.csv --model q-learning --output fits.csv",
        "penchant fit delays.csv --model hyperbolic --where \"phase == 'test'\"",
    ),
    "check": ("penchant check play.csv",),
    "study": ("penchant study play.csv --model q-learning --condition group --output results",),
    "population": ("penchant population play.csv --model q-learning --covariates group",),
    "compare": (
        "penchant compare play.csv --model q-learning --model random --folds 5",
        "penchant compare survey.csv --attributes 'price + time' --attributes price",
    ),
    "predict": ("penchant predict play.csv --model q-learning --output trials.csv",),
    "believe": ("penchant believe play.csv --grid 10x10 --noise-variance 10 --output map.html",),
    "assist": ("penchant assist simulate --operators 50 --kind novice --seed 1",),
    "simulate": (
        "penchant simulate --model q-learning --means 0.3,0.7 --noise-variance 0.04 \\\n"
        "    --parameters temperature=0.2,learning_rate=0.3 --seed 1 --output play.csv",
    ),
    "recover": (f"penchant recover {_LEARNER} {_SLOTS}",),
    "distinguish": (
        f"penchant distinguish {_LEARNER} {_SLOTS} \\\n    --model random --parameters bias_0=-1:1",
    ),
    "design": (f"penchant design --width learning_rate=0.3 {_LEARNER} {_SLOTS}",),
    "ask": ("penchant ask --model hyperbolic --offers offers.csv --about discount_rate",),
    "play": ("penchant play http://127.0.0.1:8000 --players 20 --seed 1",),
}


def asked_help(app: Any, arguments: Sequence[str]) -> str | None:
    """The page of help that a command line asks for; None if it asks for none, or for all.

    `penchant COMMAND --help` is the first screen, `penchant COMMAND --help=TOPIC` or
    `penchant COMMAND --help TOPIC` the options of one topic.
    """
    if len(arguments) < 2 or arguments[0] not in [name for name in app if name[0] != "-"]:
        return None
    command, *rest = arguments
    topic = next((word.removeprefix(ONE) for word in rest if word.startswith(ONE)), None)
    if topic is None and len(rest) == 2 and rest[0] in ("--help", "-h"):
        topic = rest[1]
    if topic is not None:
        return topic_screen(app, command, topic)
    asks = {"--help", "-h"} & {*rest}
    return first_screen(app, command) if asks and command in USUAL else None


def _arguments(app: Any, command: str) -> list[Any]:
    """All that a command takes, with the words about it; it takes a while to find them."""
    return list(app[command].assemble_argument_collection(parse_docstring=True))


def _options(given: list[Any]) -> dict[str, Any]:
    """Every option of a command, by its name in Python."""
    found = {}
    for argument in given:
        if not argument.children and argument.parameter.help and argument.name[:1] == "-":
            found[argument.name.removeprefix("--").replace("-", "_")] = argument
    return found


def topics(app: Any, command: str) -> dict[str, list[Any]]:
    """Options of a command by topic."""
    return _by_topic(_arguments(app, command))


def _by_topic(given: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for option in _options(given).values():
        group = option.parameter.group
        name = str(group[0].name if group else "Other")
        found.setdefault(name.lower().replace(" ", "-"), []).append(option)
    return found


def first_screen(app: Any, command: str) -> str:
    """What `penchant COMMAND --help` prints.

    Parameters
    ----------
    app
        All commands.
    command
        One that has more options than fit on a screen.
    """
    given = _arguments(app, command)
    options, usage = _options(given), _usage(given)
    what = (app[command].help or "").strip().split("\n\n")[0]
    lines = [f"Usage: penchant {command} {usage}[OPTIONS]", "", *textwrap.wrap(what, WIDTH), ""]
    examples = [line for example in EXAMPLES[command] for line in example.split("\n")]
    lines += ["Examples:", *(f"  {line}" for line in examples), ""]
    lines.append("Usual options:")
    for name in USUAL[command]:
        if name in options:
            lines += _lines(options[name].name, str(options[name].parameter.help))
    if "FILE" in usage:
        lines += ["", "FILE is a table or a folder of tables; - reads stdin."]
    about = "  ".join(f"{name}~({len(own)})" for name, own in _by_topic(given).items())
    lines += ["", f"All {len(options)} options are told by topic, penchant {command} --help=TOPIC:"]
    wrapped = textwrap.wrap(
        about, WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
    )
    lines += [line.replace("~", " ") for line in wrapped]
    return "\n".join([*lines, f"or all at once: penchant {command} {ALL}"])


def topic_screen(app: Any, command: str, topic: str) -> str:
    """What `penchant COMMAND --help=TOPIC` prints: the options of one topic, whole."""
    known = topics(app, command)
    if topic not in known:
        raise DataError(
            f"--help must be followed by a topic of penchant {command}; got {topic!r}, but they "
            f"are {', '.join(known)}.{nearest(topic, known) or ' Choose one.'}"
        )
    lines = [f"penchant {command}: {topic}", ""]
    for option in known[topic]:
        lines += _whole(option)
    others = ", ".join(name for name in known if name != topic)
    more = f"Other topics: {others}." if others else ""
    return "\n".join([*lines, "", *textwrap.wrap(more, WIDTH, break_on_hyphens=False)])


def _usage(given: list[Any]) -> str:
    """What stands between the command and its options."""
    places = [argument.name for argument in given if argument.name[:1] not in "-*"]
    return "".join(f"{name} " for name in places)


def _whole(option: Any) -> list[str]:
    """An option with all that is said of it."""
    metavar = option.parameter.metavar
    choices = option.get_choices() or ()
    words = " ".join(str(option.parameter.help).split())
    if choices:
        words += f" One of: {', '.join(choices)}."
    name = f"{option.name} {metavar}" if metavar else option.name
    told = textwrap.wrap(words, WIDTH - 6, break_on_hyphens=False)
    return [f"  {name}", *(f"      {line}" for line in told)]


def _lines(name: str, what: str) -> list[str]:
    """An option and its first sentence, in two columns."""
    sentence = re.split(r"(?<!\.\.)\. ", " ".join(what.split()))[0].rstrip(".") + "."
    start = f"  {name:<14}" if len(name) < 14 else f"  {name}  "
    return textwrap.wrap(
        sentence,
        WIDTH,
        initial_indent=start,
        subsequent_indent=" " * 16,
        break_on_hyphens=False,
    )
