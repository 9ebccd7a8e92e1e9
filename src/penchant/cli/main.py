"""The command `penchant`, and its help: first the usual options, the rest by topic."""

from __future__ import annotations

import errno
import os
import re
import sys
import tempfile
import textwrap
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, Literal, cast

from cyclopts import (
    App,
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    Parameter,
    UnusedCliTokensError,
)

from penchant._version import __version__
from penchant.cli.commands import (
    ask,
    assist,
    backup,
    believe,
    check,
    compare,
    design,
    distinguish,
    export,
    fit,
    forget,
    models,
    play,
    population,
    predict,
    recover,
    reproduce,
    serve,
    simulate,
    study,
)
from penchant.cli.option_wording import error_text, word_as_options
from penchant.cli.terminal import (
    INTERRUPTED,
    WIDTH,
    install_interrupt_handlers,
    say,
    say_interrupted,
)
from penchant.errors import (
    DataError,
    NotWrittenError,
    PenchantWarning,
    closest_match_hint,
    format_list,
)
from penchant.files.atomic_files import end_at_once

DONE, FAILED, WRONG_USAGE, INTERNAL = 0, 1, 2, 70
# What a disk or its owner refuses: no fault of the command's.
_WRITE_REFUSED_ERRNOS = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
)

app = App(
    name="penchant",
    help="Infer what a decision-maker wants and believes from the choices it makes.",
    help_epilogue=(
        "Try: penchant fit --example travel-mode\n\n"
        "penchant COMMAND --help says what a command takes."
    ),
    version=__version__,
    help_format="markdown",
    default_parameter=Parameter(negative=()),
    suppress_keyboard_interrupt=False,
)


# A file in fpath runs when it is first needed; one that is sourced tells what completes.
_ZSH = """
if [[ "$funcstack[1]" == _penchant ]]; then
  _cyclopts_penchant "$@"
else
  compdef _cyclopts_penchant penchant
fi"""


def completion(shell: Literal["bash", "zsh", "fish"], /) -> int:
    """Print the script that completes commands, options and names of models in a shell.

    zsh finds the file where ~/.zfunc is in fpath before compinit is called.

    Parameters
    ----------
    shell
        bash, zsh or fish.
    """
    script = app.generate_completion(shell=shell)
    if shell == "bash":  # where nothing else is known, names of files are completed
        script = script.replace("complete -F ", "complete -o bashdefault -o default -F ")
    if shell == "zsh":  # what stands alone and has no choices of its own is a file
        script = re.sub(r"^( +'\d:(?:[^:\\]|\\.)*)' \\$", r"\1:_files' \\", script, flags=re.M)
        script += _ZSH
    print(script)
    return 0


_COMMANDS: tuple[Callable[..., int], ...] = (
    fit,
    check,
    models,
    study,
    population,
    compare,
    predict,
    believe,
    assist,
    simulate,
    recover,
    distinguish,
    design,
    ask,
    reproduce,
    serve,
    play,
    export,
    forget,
    backup,
    completion,
)
for place, command in enumerate(_COMMANDS):  # as one comes to need them
    app.command(command, sort_key=place)


def run(arguments: Sequence[str]) -> int:
    """Run a command line; returns the exit code."""
    try:
        with _print_warnings(), _marked_stdout():
            if list(arguments[:1]) == ["help"]:  # of a command, or of all
                arguments = [*arguments[1:2], "--help", *arguments[2:]]
            page = help_page(app, arguments)
            if page is not None:
                print(page)
                return DONE
            code = app(
                _move_stdin_last(["--help" if word == HELP_ALL else word for word in arguments]),
                exit_on_error=False,
                print_error=False,
                result_action="return_value",
            )
        return code if isinstance(code, int) else DONE
    except CycloptsError as error:
        say(f"penchant: {_usage_message(error)}")
        return WRONG_USAGE
    except DataError as error:
        say(f"penchant: {error_text(error, _option_names())}")
        return FAILED if isinstance(error, NotWrittenError) else WRONG_USAGE
    except KeyboardInterrupt as interrupt:
        return say_interrupted(interrupt)
    except _StdoutError as error:
        return _report_stdout_error(error)
    except OSError as error:
        return _report_os_error(error, arguments)
    except MemoryError:
        say("penchant: the table must fit into memory; got too large a one. Use fewer columns.")
        return WRONG_USAGE
    except Exception:
        return _report_internal_error(arguments)


def _option_names() -> set[str]:
    """Names of the options of all commands."""
    commands = (app[name] for name in app if not name.startswith("-"))
    return {
        name
        for command in commands
        for argument in command.assemble_argument_collection()
        for name in argument.names
    }


def _move_stdin_last(arguments: Sequence[str]) -> list[str]:
    """Move a lone - behind --, as the parser would take it for an option."""
    others = [argument for argument in arguments if argument != "-"]
    return others if len(others) == len(arguments) else [*others, "--", "-"]


@contextmanager
def _print_warnings() -> Iterator[None]:
    """Print warnings of the package to stderr, without their place in the code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", PenchantWarning)
        elsewhere = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if isinstance(message, PenchantWarning):
                say(f"Warning: {word_as_options(message.text)}")
            else:
                elsewhere(message, category, *place, **more)

        warnings.showwarning = show
        yield


def _usage_message(error: CycloptsError) -> str:
    command = " ".join(("penchant", *(error.command_chain or ())))
    see = f"See {command} --help."
    if isinstance(error, UnusedCliTokensError):
        more = ", ".join(error.unused_tokens or ())
        return error_text(
            DataError(
                "FILE",
                "must be one file",
                got=f"also {more}",
                fix="Separate several columns by commas: a,b.",
            )
        )
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        name = error.keyword or error.argument.name
        return error_text(DataError(name, "must be given a value", got="none", fix=see))
    if isinstance(error, CoercionError) and error.token is not None:
        return error_text(_wrong_value(error, see))
    words = " ".join(str(error).split())
    return words if "--help" in words else f"{words} {see}"


def _wrong_value(error: CoercionError, see: str) -> DataError:
    """Error for a value that an option does not take."""
    token, taken = error.token, error.argument
    assert token is not None
    name = token.keyword or (taken.name if taken is not None else "FILE")
    got = repr(token.value)
    choices = () if taken is None else taken.get_choices(force=True) or ()
    if error.msg is not None:
        return DataError(name, str(error.msg).removeprefix("it ").rstrip("."), fix=see)
    if not choices:
        return DataError(name, "must be a number", got=got, fix=see)
    among = format_list(choices)
    rule = "must be a model of penchant models" if name == "--model" else f"must be one of {among}"
    return DataError(name, rule, got=got, fix=_nearest_choice(token.value, choices))


def _nearest_choice(word: str, choices: Sequence[str]) -> str:
    near = get_close_matches(word, choices, n=1, cutoff=0.6)
    return f"Did you mean {near[0]}?" if near else "Choose one."


class _StdoutError(OSError):
    """Failure to write to stdout."""


class _MarkedStdout:
    """Wrapper of stdout that raises `_StdoutError` where writing fails, or it is closed (`>&-`).

    Python would lose what is printed to a closed stdout without a word.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write it."""
        if self._stream is None:
            raise _StdoutError(errno.EBADF, "it is closed")
        with _mark_stdout_errors():
            return int(self._stream.write(text))

    def flush(self) -> None:
        """Write what is pending."""
        if self._stream is not None:
            with _mark_stdout_errors():
                self._stream.flush()


@contextmanager
def _mark_stdout_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _StdoutError(error.errno, error.strerror) from error


@contextmanager
def _marked_stdout() -> Iterator[None]:
    """Replace stdout meanwhile, to tell its failures from those of files."""
    stream, sys.stdout = sys.stdout, cast(Any, _MarkedStdout(sys.stdout))
    try:
        yield
        sys.stdout.flush()
    finally:
        sys.stdout = stream


def _report_stdout_error(error: _StdoutError) -> int:
    """Report that stdout failed: its reader has gone (`| head`), or its disk is full."""
    if sys.stdout is not None:  # keep Python from complaining again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno == errno.EPIPE:
        return DONE
    say(
        f"penchant: stdout must be writable; got: {error.strerror}. What was printed is lost: "
        "make room, or send it elsewhere."
    )
    return FAILED


def _report_os_error(error: OSError, arguments: Sequence[str]) -> int:
    """Report an error of the operating system: no permission or space, or an internal error."""
    if error.errno not in _WRITE_REFUSED_ERRNOS:
        return _report_internal_error(arguments)
    where = f"{error.filename}: " if error.filename is not None else ""
    say(f"penchant: output must be writable; got {where}{error.strerror}. Choose another place.")
    return FAILED


def _report_internal_error(arguments: Sequence[str]) -> int:
    """Write to a file what is needed to reproduce an error that should not happen."""
    details = f"penchant {__version__}\narguments: {list(arguments)!r}\n\n{traceback.format_exc()}"
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="penchant-error-", suffix=".txt", delete=False, encoding="utf-8"
        ) as file:
            file.write(details)
        where, what = f"in {file.name}", "that file"
    except OSError:  # no place for temporary files
        say(details)
        where, what = "above", "them"
    say(
        f"penchant: an internal error, which is a fault of Penchant; details are {where}. "
        f"Please report it with {what}."
    )
    return INTERNAL


def _occupy_closed_streams() -> None:
    """Open the null device as closed standard streams, so that no file takes their number."""
    for stream in range(3):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # takes the lowest number that is free


def main() -> None:
    """Entry point of the command `penchant`."""
    install_interrupt_handlers()
    _occupy_closed_streams()
    if sys.stdout is not None:
        # A terminal without these letters shows their numbers.
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    code = run(sys.argv[1:])
    if code == INTERRUPTED:  # threads that work would be waited for
        end_at_once(code)
    sys.exit(code)


HELP_ALL, HELP_TOPIC = "--help-all", "--help="
_TABLE_OPTIONS = ("where", "subject", "chosen", "reward")
_SIMULATION_OPTIONS = (
    "model",
    "parameters",
    "means",
    "decisions",
    "subjects",
    "seed",
    "json",
    "figure",
)
# The options that most uses of a command need.
USUAL_OPTIONS: Mapping[str, Sequence[str]] = {
    "fit": (
        "example",
        *_TABLE_OPTIONS,
        "model",
        "options",
        "prior",
        "intervals",
        "json",
        "figure",
        "output",
    ),
    "check": ("example", *_TABLE_OPTIONS, "model", "json"),
    "study": (*_TABLE_OPTIONS, "condition", "model", "options", "seed", "output", "resume"),
    "population": (*_TABLE_OPTIONS, "model", "covariates", "people", "subjects", "json", "output"),
    "compare": (
        *_TABLE_OPTIONS,
        "model",
        "attributes",
        "folds",
        "group",
        "json",
        "figure",
        "output",
    ),
    "predict": (*_TABLE_OPTIONS, "model", "prior", "all_options", "check", "figure", "output"),
    "believe": (*_TABLE_OPTIONS, "grid", "noise_variance", "length_scale", "map", "json", "output"),
    "assist": (*_TABLE_OPTIONS, "grid", "noise_variance", "length_scale", "json", "output"),
    "simulate": ("model", "means", "grid", "parameters", "decisions", "agents", "seed", "output"),
    "recover": _SIMULATION_OPTIONS,
    "distinguish": _SIMULATION_OPTIONS,
    "design": ("width", "against", *_SIMULATION_OPTIONS),
    "ask": ("offers", "answers", "model", "about", "enough", "interactive", "json"),
    "play": ("players", "model", "settings", "seed"),
}
_LEARNER_OPTIONS = (
    "--model q-learning \\\n    --parameters temperature=0.1:0.5,learning_rate=0.1:0.9 \\\n   "
)
_BANDIT_OPTIONS = "--means 0.3,0.7 --noise-variance 0.04 --seed 1"
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
    "assist": ("penchant assist play.csv --grid 10x10 --noise-variance 10 --length-scale 4",),
    "simulate": (
        "penchant simulate --model q-learning --means 0.3,0.7 --noise-variance 0.04 \\\n"
        "    --parameters temperature=0.2,learning_rate=0.3 --seed 1 --output play.csv",
    ),
    "recover": (f"penchant recover {_LEARNER_OPTIONS} {_BANDIT_OPTIONS}",),
    "distinguish": (
        f"penchant distinguish {_LEARNER_OPTIONS} {_BANDIT_OPTIONS} \\\n"
        "    --model random --parameters bias_0=-1:1",
    ),
    "design": (f"penchant design --width learning_rate=0.3 {_LEARNER_OPTIONS} {_BANDIT_OPTIONS}",),
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


def help_page(app: Any, arguments: Sequence[str]) -> str | None:
    """Help page that a command line asks for; None where it asks for none, or for all pages.

    `penchant COMMAND --help` is the first screen, `penchant COMMAND --help=TOPIC` or
    `penchant COMMAND --help TOPIC` the options of one topic.
    """
    if len(arguments) < 2 or arguments[0] not in [name for name in app if name[0] != "-"]:
        return None
    command, *rest = arguments
    topic = next(
        (word.removeprefix(HELP_TOPIC) for word in rest if word.startswith(HELP_TOPIC)), None
    )
    if topic is None and len(rest) == 2 and rest[0] in ("--help", "-h"):
        topic = rest[1]
    if topic is not None:
        return topic_screen(app, command, topic)
    asks = {"--help", "-h"} & {*rest}
    return first_screen(app, command) if asks else None


def _command_arguments(app: Any, command: str) -> list[Any]:
    """Arguments of a command with their help texts; parsing them takes a while."""
    return list(app[command].assemble_argument_collection(parse_docstring=True))


def _options_by_name(given: list[Any]) -> dict[str, Any]:
    """Options of a command by their names in Python."""
    found = {}
    for argument in given:
        if not argument.children and argument.parameter.help and argument.name[:1] == "-":
            found[argument.name.removeprefix("--").replace("-", "_")] = argument
    return found


def options_by_topic(app: Any, command: str) -> dict[str, list[Any]]:
    """Options of a command by topic."""
    return _group_by_topic(_command_arguments(app, command))


def _group_by_topic(given: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for option in _options_by_name(given).values():
        group = option.parameter.group
        name = str(group[0].name if group else "Other")
        found.setdefault(name.lower().replace(" ", "-"), []).append(option)
    return found


def first_screen(app: Any, command: str) -> str:
    """First page of a command's help, with all options where those fit on a screen.

    Parameters
    ----------
    app
        All commands.
    command
        One of them.
    """
    given = _command_arguments(app, command)
    few = command not in USUAL_OPTIONS
    options, usage = _options_by_name(given), _positional_usage(given, few)
    words = (app[command].help or "").partition("Parameters\n")[0].strip().split("\n\n")
    open_ = "[OPTIONS]" if options else ""
    lines = [f"Usage: penchant {command} {usage}{open_}".rstrip(), ""]
    for paragraph in words if few else words[:1]:
        lines += [*textwrap.wrap(" ".join(paragraph.split()), WIDTH), ""]
    examples = [line for example in EXAMPLES[command] for line in example.split("\n")]
    lines += ["Examples:", *(f"  {line}" for line in examples)]
    if few:
        places = [one for one in given if one.name[:1] not in "-*"]
        lines += _two_column_list(
            "Arguments:", [(one.name, str(one.parameter.help)) for one in places]
        )
        whole = [(_option_usage(one), _option_description(one)) for one in options.values()]
        return "\n".join([*lines, *_two_column_list("Options:", whole)])
    usual = [options[name] for name in USUAL_OPTIONS[command] if name in options]
    short = [(_option_usage(one, False), _first_sentence(str(one.parameter.help))) for one in usual]
    lines += _two_column_list("Usual options:", short)
    if "FILE" in usage:
        lines += ["", 'FILE is a table or a folder of tables; "-" reads stdin.']
    about = "  ".join(f"{name}~({len(own)})" for name, own in _group_by_topic(given).items())
    lines += ["", f"All {len(options)} options by topic, penchant {command} --help=TOPIC:"]
    wrapped = textwrap.wrap(
        about, WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
    )
    lines += [line.replace("~", " ") for line in wrapped]
    return "\n".join([*lines, f"or all at once: penchant {command} {HELP_ALL}"])


def topic_screen(app: Any, command: str, topic: str) -> str:
    """Help on all options of one topic, as `penchant COMMAND --help=TOPIC` prints it."""
    known = options_by_topic(app, command)
    if topic not in known:
        raise DataError(
            "--help",
            f"must be followed by a topic of penchant {command}",
            got=f"{topic!r}, but they are {', '.join(known)}",
            fix=closest_match_hint(topic, known) or "Choose one.",
        )
    lines = [f"penchant {command}: {topic}", ""]
    for option in known[topic]:
        lines += _option_lines(option)
    others = ", ".join(name for name in known if name != topic)
    more = f"Other topics: {others}." if others else ""
    return "\n".join([*lines, "", *textwrap.wrap(more, WIDTH, break_on_hyphens=False)])


def _positional_usage(given: list[Any], few: bool) -> str:
    """Positional arguments of a usage line; in brackets those that may be left out."""
    places = [argument for argument in given if argument.name[:1] not in "-*"]
    free = few or len(places) > 1  # a table alone is hardly ever left out
    return "".join(f"{_bracketed_argument(one) if free else one.name} " for one in places)


def _bracketed_argument(place: Any) -> str:
    return place.name if place.required else f"[{place.name}]"


def _option_usage(option: Any, metavar: bool = True) -> str:
    """Option as it is typed: its name, its short name, and the metavariable of its value."""
    short = [name for name in option.names if len(name) == 2]
    value = [option.parameter.metavar] if metavar and option.parameter.metavar else []
    return " ".join([option.name, *short, *value])


def _option_description(option: Any) -> str:
    """Help text of an option with its choices and its default."""
    words = " ".join(str(option.parameter.help).split())
    choices, default = option.get_choices() or (), option.field_info.default
    if choices:
        words += f" One of: {', '.join(choices)}."
    is_said = isinstance(default, (str, int, float)) and not isinstance(default, bool)
    return f"{words} [default: {default}]" if is_said and default != "" else words


def _option_lines(option: Any) -> list[str]:
    """Lines of help on an option: its usage, and its indented description."""
    lines = textwrap.wrap(_option_description(option), WIDTH - 6, break_on_hyphens=False)
    return [f"  {_option_usage(option)}", *(f"      {line}" for line in lines)]


def _first_sentence(what: str) -> str:
    """The first sentence of a text."""
    first = re.split(r"(?<!\.\.)\. ", " ".join(what.split()))[0]
    return first if first.endswith(".") else f"{first}."


def _two_column_list(head: str, rows: Sequence[tuple[str, str]]) -> list[str]:
    """Format names and descriptions in two columns."""
    if not rows:
        return []
    wide = max(14, *(len(name) + 2 for name, _ in rows if len(name) < 24))
    lines = ["", head]
    for name, text in rows:
        if len(name) + 2 > wide:
            lines.append(f"  {name}")
            name = ""
        lines += textwrap.wrap(
            " ".join(text.split()),
            WIDTH,
            initial_indent=f"  {name:<{wide}}",
            subsequent_indent=" " * (2 + wide),
            break_on_hyphens=False,
        )
    return lines
