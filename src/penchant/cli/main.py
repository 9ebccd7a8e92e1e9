"""The command `penchant`."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from cyclopts import App, CycloptsError, Parameter, UnusedCliTokensError

from penchant._version import __version__
from penchant.cli.check import check
from penchant.cli.compare import compare
from penchant.cli.design import design
from penchant.cli.distinguish import distinguish
from penchant.cli.fit import fit
from penchant.cli.interrupting import INTERRUPTED, heed_interrupts, say_interrupted
from penchant.cli.models import models
from penchant.cli.predict import predict
from penchant.cli.recover import recover
from penchant.cli.reproduce import reproduce
from penchant.cli.simulate import simulate
from penchant.cli.study import study
from penchant.cli.words import on_command_line, say
from penchant.errors import DataError, PenchantWarning
from penchant.io.leftovers import end_at_once

DONE, NO_ESTIMATE, WRONG_USAGE, INTERNAL = 0, 1, 2, 70

app = App(
    name="penchant",
    help="Infer what a decision-maker wants and believes from the choices it makes.",
    help_epilogue="Try: penchant fit --example travel-mode",
    version=__version__,
    help_format="markdown",
    default_parameter=Parameter(negative=()),
    suppress_keyboard_interrupt=False,
)
_IN_ORDER: tuple[Callable[..., int], ...] = (
    fit,
    check,
    models,
    study,
    compare,
    predict,
    simulate,
    recover,
    distinguish,
    design,
    reproduce,
)
for place, command in enumerate(_IN_ORDER):  # as one comes to need them
    app.command(command, sort_key=place)


def run(arguments: Sequence[str]) -> int:
    """Run a command line; returns the exit code."""
    try:
        with _warnings_in_words():
            code = app(
                _stdin_last(arguments),
                exit_on_error=False,
                print_error=False,
                result_action="return_value",
            )
        if sys.stdout is not None:
            sys.stdout.flush()
        return code if isinstance(code, int) else DONE
    except CycloptsError as error:
        say(f"penchant: {_usage(error)}")
        return WRONG_USAGE
    except DataError as error:
        say(f"penchant: {on_command_line(str(error))}")
        return WRONG_USAGE
    except KeyboardInterrupt as interrupt:
        return say_interrupted(interrupt)
    except OSError as error:
        return _stdout_failed(error, arguments)
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
                say(f"Warning: {on_command_line(str(message))}")
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
    return words if "--help" in words else f"{words} See {command} --help."


def _stdout_failed(error: OSError, arguments: Sequence[str]) -> int:
    """The reader has seen enough (`| head`), or the disk that stdout goes to is full."""
    if isinstance(error, BrokenPipeError):
        code = DONE
    elif error.filename is None and error.errno is not None:
        say(f"penchant: stdout must be writable; got: {error.strerror}. Make room.")
        code = WRONG_USAGE
    else:
        return _report_internal_error(arguments)
    # Keep Python from complaining again at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _report_internal_error(arguments: Sequence[str]) -> int:
    """Keep what is needed to reproduce an error that should not happen."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="penchant-error-", suffix=".txt", delete=False, encoding="utf-8"
    ) as file:
        file.write(f"penchant {__version__}\narguments: {list(arguments)!r}\n\n")
        file.write(traceback.format_exc())
    say(
        f"penchant: an internal error, which is a fault of Penchant; details are in {file.name}. "
        "Please report it with that file."
    )
    return INTERNAL


def main() -> None:
    """Entry point of the command `penchant`."""
    heed_interrupts()
    if sys.stdout is not None:
        # A terminal without these letters shows their numbers.
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    code = run(sys.argv[1:])
    if code == INTERRUPTED:  # threads that work would be waited for
        end_at_once(code)
    sys.exit(code)
