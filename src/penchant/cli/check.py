"""`penchant check`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Group, Parameter

from penchant.cli.option_types import Flag
from penchant.cli.options import Agent, Data, History, Terms


def check(
    file: str | None = None,
    /,
    *,
    data: Data = Data(),  # noqa: B008  # frozen, and cyclopts reads the defaults from it
    terms: Terms = Terms(),  # noqa: B008
    json: Annotated[Flag, Parameter(group=Group("Output", sort_key=6))] = False,
    agent: Agent = Agent(),  # noqa: B008
    history: History = History(),  # noqa: B008
) -> int:
    """Validate a table of choices, or of play, and say what can be estimated from it.

    Nothing is written. Exit code 0: an estimate exists; 1: none does; 2: wrong usage or data.

    Parameters
    ----------
    file
        CSV or Parquet file, one row per option of each decision (else --wide), or one row per event
        of play, which is recognised by its columns, or per decision between offers, with --model;
        - for stdin.
    json
        Print JSON instead of words.
    """
    # Numerical libraries load here, so that help and usage errors answer at once.
    from penchant.cli.checking import run_check

    return run_check(file, data, terms, json, agent, history)
