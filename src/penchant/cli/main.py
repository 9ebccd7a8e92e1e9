"""The command `penchant`."""

from __future__ import annotations

import errno
import os
import re
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, cast

from cyclopts import App, CycloptsError, Parameter, UnusedCliTokensError

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
from penchant.cli.helping import ALL, asked_help
from penchant.cli.words import INTERRUPTED, heed_interrupts, say, say_interrupted
from penchant.errors import DataError, NotWrittenError, PenchantWarning, listing
from penchant.files.atomic import end_at_once
from penchant.wording import in_options

DONE, FAILED, WRONG_USAGE, INTERNAL = 0, 1, 2, 70
# What a disk or its owner refuses: no fault of the command's.
_REFUSED = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM)

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


_IN_ORDER: tuple[Callable[..., int], ...] = (
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
for place, command in enumerate(_IN_ORDER):  # as one comes to need them
    app.command(command, sort_key=place)


def run(arguments: Sequence[str]) -> int:
    """Run a command line; returns the exit code."""
    try:
        with in_options(), _warnings_in_words(), _marked_stdout():
            if list(arguments[:1]) == ["help"]:  # of a command, or of all
                arguments = [*arguments[1:2], "--help", *arguments[2:]]
            page = asked_help(app, arguments)
            if page is not None:
                print(page)
                return DONE
            code = app(
                _stdin_last(["--help" if word == ALL else word for word in arguments]),
                exit_on_error=False,
                print_error=False,
                result_action="return_value",
            )
        return code if isinstance(code, int) else DONE
    except CycloptsError as error:
        say(f"penchant: {_usage(error)}")
        return WRONG_USAGE
    except DataError as error:
        say(f"penchant: {error}")
        return FAILED if isinstance(error, NotWrittenError) else WRONG_USAGE
    except KeyboardInterrupt as interrupt:
        return say_interrupted(interrupt)
    except _StdoutError as error:
        return _stdout_failed(error)
    except OSError as error:
        return _system_failed(error, arguments)
    except MemoryError:
        say("penchant: the table must fit into memory; got too large a one. Use fewer columns.")
        return WRONG_USAGE
    except Exception:
        return _report_internal_error(arguments)


def _stdin_last(arguments: Sequence[str]) -> list[str]:
    """A lone - after --, as it would be taken for an option elsewhere."""
    others = [argument for argument in arguments if argument != "-"]
    return others if len(others) == len(arguments) else [*others, "--", "-"]


@contextmanager
def _warnings_in_words() -> Iterator[None]:
    """Doubts about the data as notes on stderr, without a place in the code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", PenchantWarning)
        elsewhere = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, PenchantWarning):
                say(f"Warning: {message}")
            else:
                elsewhere(message, category, *place, **more)

        warnings.showwarning = show
        yield


def _usage(error: CycloptsError) -> str:
    if isinstance(error, UnusedCliTokensError):
        more = ", ".join(error.unused_tokens or ())
        return f"FILE must be one file; got also {more}. Separate several columns by commas: a,b."
    words = " ".join(str(error).split())
    command = " ".join(("penchant", *(error.command_chain or ())))
    for pattern, said in _AS_RULES:
        found = pattern.match(words)
        if found:
            return said(**found.groupdict()).replace("COMMAND", command)
    return words if "--help" in words else f"{words} See {command} --help."


def _among(got: str, name: str, choices: str, hint: str | None) -> str:
    """One of several words was meant."""
    allowed = [word.strip(' "') for word in choices.split(",")]
    rule = "be a model of penchant models" if name == "--model" else f"be one of {listing(allowed)}"
    advice = f"Did you mean {hint}?" if hint else "Choose one."
    return f"{name} must {rule}; got {got!r}. {advice}"


# what the parser of the command line says, and the same as rules
_AS_RULES: tuple[tuple[re.Pattern[str], Callable[..., str]], ...] = (
    (
        re.compile(
            r'Invalid value "(?P<got>.*)" for (?P<name>\S+)\. Choose from: (?P<choices>.*?)\.'
            r'(?: Did you mean "(?P<hint>.*)"\?)?$'
        ),
        _among,
    ),
    (
        re.compile(r'Invalid value for (?P<name>\S+): unable to convert "(?P<got>.*)" into \w+\.'),
        lambda name, got: f"{name} must be a number; got {got!r}. See COMMAND --help.",
    ),
    (
        re.compile(r"Invalid value for (?P<name>\S+): it (?P<rule>must .*?)\.?$"),
        lambda name, rule: f"{name} {rule}. See COMMAND --help.",
    ),
    (
        re.compile(r'Command ".*" parameter (?P<name>\S+) requires an argument\.'),
        lambda name: f"{name} must be given a value; got none. See COMMAND --help.",
    ),
)


class _StdoutError(OSError):
    """What was printed could not be written."""


class _Stdout:
    """Prints as stdout does; failures say that they are its own, also where it is closed (`>&-`).

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
        with _as_its_own():
            return int(self._stream.write(text))

    def flush(self) -> None:
        """Write what is pending."""
        if self._stream is not None:
            with _as_its_own():
                self._stream.flush()


@contextmanager
def _as_its_own() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _StdoutError(error.errno, error.strerror) from error


@contextmanager
def _marked_stdout() -> Iterator[None]:
    """Tell failures of stdout from those of files."""
    stream, sys.stdout = sys.stdout, cast(Any, _Stdout(sys.stdout))
    try:
        yield
        sys.stdout.flush()
    finally:
        sys.stdout = stream


def _stdout_failed(error: _StdoutError) -> int:
    """The reader has seen enough (`| head`), or the disk that stdout goes to is full."""
    if sys.stdout is not None:  # keep Python from complaining again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno == errno.EPIPE:
        return DONE
    say(
        f"penchant: stdout must be writable; got: {error.strerror}. What was printed is lost: "
        "make room, or send it elsewhere."
    )
    return FAILED


def _system_failed(error: OSError, arguments: Sequence[str]) -> int:
    """Something cannot be written: a fault of the place, or one of ours."""
    if error.errno not in _REFUSED:
        return _report_internal_error(arguments)
    where = f"{error.filename}: " if error.filename is not None else ""
    say(f"penchant: output must be writable; got {where}{error.strerror}. Choose another place.")
    return FAILED


def _report_internal_error(arguments: Sequence[str]) -> int:
    """Keep what is needed to reproduce an error that should not happen."""
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


def _keep_streams_taken() -> None:
    """Let no file that is opened later take the number of a stream that was closed."""
    for stream in range(3):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # takes the lowest number that is free


def main() -> None:
    """Entry point of the command `penchant`."""
    heed_interrupts()
    _keep_streams_taken()
    if sys.stdout is not None:
        # A terminal without these letters shows their numbers.
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    code = run(sys.argv[1:])
    if code == INTERRUPTED:  # threads that work would be waited for
        end_at_once(code)
    sys.exit(code)
