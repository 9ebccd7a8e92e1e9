"""`penchant predict`."""

from __future__ import annotations

from penchant.cli.options import Agent
from penchant.cli.workflow_options import Played, Prediction, Written


def predict(
    file: str | None = None,
    /,
    *,
    table: Played = Played(),  # noqa: B008  # frozen, and cyclopts reads the defaults from it
    agent: Agent = Agent(),  # noqa: B008
    prediction: Prediction = Prediction(),  # noqa: B008
    written: Written = Written(),  # noqa: B008
) -> int:
    """Fit a model, and write what it says of every row: probability, value, prediction error.

    The table has the rows of FILE, in the same order, with columns added: regressors for imaging
    and reaction times. It goes to stdout as CSV unless --output names a file. Exit code 0: done; 1:
    no finite estimate; 2: wrong usage or data.

    Parameters
    ----------
    file
        CSV or Parquet file, one row per event: who, what was chosen, what it paid; - for stdin.
    """
    # Numerical libraries load here, so that help and usage errors answer at once.
    from penchant.cli.predicting import run_predict

    return run_predict(file, table, agent, prediction, written)
