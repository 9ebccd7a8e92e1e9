"""`penchant compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from penchant.cli.workflow_options import Contest, Judged, Played, Rivals, Written

_output = Group("Output", sort_key=9)


def compare(
    file: str | None = None,
    /,
    *,
    table: Played = Played(),  # noqa: B008  # frozen, and cyclopts reads the defaults from it
    rivals: Rivals = Rivals(),  # noqa: B008
    judged: Judged = Judged(),  # noqa: B008
    contest: Contest = Contest(),  # noqa: B008
    decisions: Annotated[Path | None, Parameter(metavar="FILE", group=_output)] = None,
    written: Written = Written(),  # noqa: B008
) -> int:
    """Compare models of the same table: AIC, BIC, held-out decisions, who follows which.

    Every model is fitted to every subject. Exit code 0: done; 2: wrong usage or data.

    Parameters
    ----------
    file
        CSV or Parquet file, one row per event: who, what was chosen, what it paid; - for stdin.
    decisions
        Also write the held-out log-likelihood of every decision: .csv, .parquet or .json.
    """
    # Numerical libraries load here, so that help and usage errors answer at once.
    from penchant.cli.comparing import run_compare

    return run_compare(file, table, rivals, judged, contest, decisions, written)
