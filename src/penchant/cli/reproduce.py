"""`penchant reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from penchant.cli.option_types import Flag
from penchant.cli.options import Experiments

_output = Group("Output", sort_key=6)


def reproduce(
    *,
    experiments: Experiments = Experiments(),  # noqa: B008  # frozen, and cyclopts reads it
    output: Annotated[Path | None, Parameter(alias="-o", metavar="FOLDER", group=_output)] = None,
    json: Annotated[Flag, Parameter(group=_output)] = False,
) -> int:
    """Run the paper's experiments and say which of its claims hold.

    Figures 1 to 6, the landscapes, Tables I and II, a simulated study with the paper's design,
    Theorem 1 and the conclusion: minutes on two processors, with --quick under one. A verdict that
    too few replicates leave open says so. Exit code 0: done, whatever the verdicts; 2: wrong usage.

    Parameters
    ----------
    output
        New folder for figures (SVG, PDF), tables (CSV), results.json and a page, index.html.
    json
        Print all numbers and verdicts as JSON instead of words.
    """
    # Numerical libraries load here, so that help and usage errors answer at once.
    from penchant.cli.reproducing import run_reproduce

    return run_reproduce(experiments, output, json)
