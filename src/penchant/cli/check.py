"""`penchant check`."""

from __future__ import annotations

from penchant.cli.options import Data


def check(
    file: str | None = None,
    /,
    *,
    data: Data = Data(),  # noqa: B008  # frozen, and cyclopts reads the defaults from it
    json: bool = False,
) -> int:
    """Validate a table of choices and say what can be estimated from it.

    Nothing is written. Exit code 0: an estimate exists; 1: none does; 2: wrong usage or data.

    Parameters
    ----------
    file
        CSV or Parquet file with one row per option of each decision; - for standard input.
    json
        Print JSON instead of words.
    """
    # Numerical libraries load here, so that help and usage errors answer at once.
    from penchant.cli.running import run_check

    return run_check(file, data, json)
