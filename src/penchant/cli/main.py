"""The command `penchant`."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from penchant._version import __version__
from penchant.cli.check import check
from penchant.cli.fit import fit
from penchant.errors import DataError

DONE, NO_ESTIMATE, WRONG_USAGE, INTERNAL, INTERRUPTED = 0, 1, 2, 70, 130

app = App(
    name="penchant",
    help="Infer what a decision-maker wants and believes from the choices it makes.",
    version=__version__,
    help_format="plaintext",
)
app.command(fit)
app.command(check)


def run(arguments: Sequence[str]) -> int:
    """Run a command line; returns the exit code."""
    try:
        code = app(
            list(arguments), exit_on_error=False, print_error=False, result_action="return_value"
        )
        sys.stdout.flush()
        return code if isinstance(code, int) else DONE
    except CycloptsError as error:
        print(f"penchant: {_usage(error)}", file=sys.stderr)
        return WRONG_USAGE
    except DataError as error:
        print(f"penchant: {error}", file=sys.stderr)
        return WRONG_USAGE
    except KeyboardInterrupt:
        print("penchant: interrupted; nothing was written.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough (`| head`); keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception:
        return _report_internal_error(arguments)


def _usage(error: CycloptsError) -> str:
    words = str(error).strip().replace("\n", " ")
    return f"{words} See penchant --help." if "--help" not in words else words


def _report_internal_error(arguments: Sequence[str]) -> int:
    """Keep what is needed to reproduce an error that should not happen."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="penchant-error-", suffix=".txt", delete=False
    ) as file:
        file.write(f"penchant {__version__}\narguments: {list(arguments)!r}\n\n")
        file.write(traceback.format_exc())
    print(
        f"penchant: an internal error, which is a fault of Penchant; details are in {file.name}. "
        "Please report it with that file.",
        file=sys.stderr,
    )
    return INTERNAL


def main() -> None:
    """Entry point of the command `penchant`."""
    sys.exit(run(sys.argv[1:]))
