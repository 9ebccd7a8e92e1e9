"""`penchant fit`."""

from __future__ import annotations

from typing import Literal

from penchant.cli.options import Data, Show


def fit(
    file: str | None = None,
    /,
    *,
    data: Data = Data(),  # noqa: B008  # frozen, and cyclopts reads the defaults from it
    method: Literal["ml", "firth"] = "ml",
    prior: str = "none",
    covariance: Literal["model", "robust", "clustered"] = "model",
    intervals: Literal["wald", "profile"] = "wald",
    threads: int | None = None,
    show: Show = Show(),  # noqa: B008
) -> int:
    """Estimate the weights of a softmax model from a table of choices.

    Exit code 0: done; 1: no valid estimate; 2: wrong usage or data.

    Parameters
    ----------
    file
        CSV or Parquet file with one row per option of each decision; - for standard input.
    method
        ml: maximum likelihood; firth: bias-reduced, finite even if the choices are separated.
    prior
        none, or weak (recommended for prediction and small samples), or weak:C.
    covariance
        model, robust (sandwich), or clustered (by subject).
    intervals
        wald, or profile (likelihood-ratio; right where the likelihood is skewed).
    threads
        Processors to use; all if not given.
    """
    # Numerical libraries load here, so that help and usage errors answer at once.
    from penchant.cli.running import run_fit

    return run_fit(file, data, method, prior, covariance, intervals, threads, show)
