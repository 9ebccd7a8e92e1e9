"""Covariances that hold where the model does not: the sandwich, and the one by clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.choices import Choices
from penchant.errors import DataError
from penchant.softmax.probabilities import scores
from penchant.softmax.solution import unit_weights
from penchant.wording import either


def robust_covariance(theta: Vector, bread: Matrix, choices: Choices) -> Matrix:
    """Sandwich covariance without small-sample factor (HC0).

    Parameters
    ----------
    bread
        Inverse of the information.

    Notes
    -----
    A frequency weight w stands for w decisions and multiplies the outer product of the score once;
    a probability weight multiplies the score itself, and so enters twice.
    """
    choices, unit = unit_weights(choices)
    whole = sandwich(bread * unit, meat(theta, choices))
    return whole / unit if choices.weight_kind == "frequency" else whole


def meat(theta: Vector, choices: Choices) -> Matrix:
    """Sum of the outer products of scores, each as often as its weight and its kind say."""
    s = scores(theta, choices)
    weights = np.ones(len(s)) if choices.weights is None else choices.weights
    if choices.weight_kind == "frequency":
        return np.asarray((s.T * weights) @ s)
    return np.asarray((s.T * weights**2) @ s)


def clustered_covariance(theta: Vector, bread: Matrix, choices: Choices, cluster: Any) -> Matrix:
    """Sandwich covariance with scores summed within clusters, such as subjects."""
    choices, unit = unit_weights(choices)
    s = scores(theta, choices)
    if choices.weights is not None:
        s = s * choices.weights[:, None]
    sums = summed(s, cluster)
    return sandwich(bread * unit, sums.T @ sums)


def summed(scores: Matrix, cluster: Any) -> Matrix:
    """Scores summed within clusters."""
    codes, n_clusters = _cluster_codes(cluster, len(scores))
    sums = np.zeros((n_clusters, scores.shape[1]))
    np.add.at(sums, codes, scores)
    return sums


def _cluster_codes(cluster: Any, n: int) -> tuple[Any, int]:
    labels = np.asarray(cluster)
    if labels.shape != (n,):
        raise DataError(
            f"{either('cluster', '--subject')} must have one label per decision ({n}); got shape "
            f"{labels.shape}. "
            + either(
                "Give an array of labels, or choices with a subject.",
                "Name its column with --subject.",
            )
        )
    missing = [label is None or label != label for label in labels.tolist()]
    if any(missing):
        raise DataError(
            f"{either('cluster', '--subject')} must not be missing; got {sum(missing)} missing, "
            f"first at decision {missing.index(True)}. Fill or drop these decisions."
        )
    known, codes = np.unique(labels, return_inverse=True)
    check_clusters(known.tolist())
    return codes.reshape(-1), len(known)


def check_clusters(known: list[Any]) -> None:
    """Whether there are several clusters."""
    if len(known) < 2:
        raise DataError(
            f"{either('cluster', '--subject')} must name at least two clusters; got only "
            f"{known[0]!r}. Use {either('robust()', '--covariance robust')} where "
            "decisions are independent."
        )


def sandwich(bread: Matrix, meat: Matrix) -> Matrix:
    """Bread times meat times bread, NaN where the bread has none."""
    known = np.isfinite(np.diag(bread))
    result = np.full_like(bread, np.nan)
    inner = bread[np.ix_(known, known)]
    result[np.ix_(known, known)] = inner @ meat[np.ix_(known, known)] @ inner
    return result
