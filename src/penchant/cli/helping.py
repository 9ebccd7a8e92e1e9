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
    "models": ("penchant models", "penchant models q-learning", "penchant models --task two-step"),
    "reproduce": ("penchant reproduce --quick --output paper",),
    "serve": (
        "penchant serve",
        "penchant serve --new study.toml",
        "penchant serve study.toml --check",
        "penchant serve study.toml",
    ),
    "export": ("penchant export study.sqlite --output collected",),
    "forget": ("penchant forget study.sqlite 5f2a9c0e",),
    "backup": ("penchant backup study.sqlite --output study-copy.sqlite",),
    "completion": (
        "penchant completion bash > \\\n    ~/.local/share/bash-completion/completions/penchant",
        "penchant completion zsh > ~/.zfunc/_penchant",
        "penchant completion fish > ~/.config/fish/completions/penchant.fish",
    ),
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
    return first_screen(app, command) if asks else None


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
    """What `penchant COMMAND --help` prints: all of it where that fits on a screen.

    Parameters
    ----------
    app
        All commands.
    command
        One of them.
    """
    given = _arguments(app, command)
    few = command not in USUAL
    options, usage = _options(given), _usage(given, few)
    words = (app[command].help or "").partition("Parameters\n")[0].strip().split("\n\n")
    open_ = "[OPTIONS]" if options else ""
    lines = [f"Usage: penchant {command} {usage}{open_}".rstrip(), ""]
    for paragraph in words if few else words[:1]:
        lines += [*textwrap.wrap(" ".join(paragraph.split()), WIDTH), ""]
    examples = [line for example in EXAMPLES[command] for line in example.split("\n")]
    lines += ["Examples:", *(f"  {line}" for line in examples)]
    if few:
        places = [one for one in given if one.name[:1] not in "-*"]
        lines += _listed("Arguments:", [(one.name, str(one.parameter.help)) for one in places])
        whole = [(_names(one), _said(one)) for one in options.values()]
        return "\n".join([*lines, *_listed("Options:", whole)])
    usual = [options[name] for name in USUAL[command] if name in options]
    short = [(_names(one, False), _sentence(str(one.parameter.help))) for one in usual]
    lines += _listed("Usual options:", short)
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


def _usage(given: list[Any], few: bool) -> str:
    """What stands between the command and its options; in brackets what may be left out."""
    places = [argument for argument in given if argument.name[:1] not in "-*"]
    free = few or len(places) > 1  # a table alone is hardly ever left out
    return "".join(f"{_bracketed(one) if free else one.name} " for one in places)


def _bracketed(place: Any) -> str:
    return place.name if place.required else f"[{place.name}]"


def _names(option: Any, metavar: bool = True) -> str:
    """An option as it is typed: its name, its short name, and what stands for its value."""
    short = [name for name in option.names if len(name) == 2]
    value = [option.parameter.metavar] if metavar and option.parameter.metavar else []
    return " ".join([option.name, *short, *value])


def _said(option: Any) -> str:
    """All that is said of an option: its words, its choices, its default."""
    words = " ".join(str(option.parameter.help).split())
    choices, default = option.get_choices() or (), option.field_info.default
    if choices:
        words += f" One of: {', '.join(choices)}."
    is_said = isinstance(default, (str, int, float)) and not isinstance(default, bool)
    return f"{words} [default: {default}]" if is_said and default != "" else words


def _whole(option: Any) -> list[str]:
    """An option with all that is said of it, over two or more lines."""
    told = textwrap.wrap(_said(option), WIDTH - 6, break_on_hyphens=False)
    return [f"  {_names(option)}", *(f"      {line}" for line in told)]


def _sentence(what: str) -> str:
    """The first sentence of a text."""
    first = re.split(r"(?<!\.\.)\. ", " ".join(what.split()))[0]
    return first if first.endswith(".") else f"{first}."


def _listed(head: str, rows: Sequence[tuple[str, str]]) -> list[str]:
    """Names and what is said of them, in two columns."""
    if not rows:
        return []
    wide = max(14, *(len(name) + 2 for name, _ in rows if len(name) < 24))
    lines = ["", head]
    for name, said in rows:
        if len(name) + 2 > wide:
            lines.append(f"  {name}")
            name = ""
        lines += textwrap.wrap(
            " ".join(said.split()),
            WIDTH,
            initial_indent=f"  {name:<{wide}}",
            subsequent_indent=" " * (2 + wide),
            break_on_hyphens=False,
        )
    return lines
