"""Whether the parameters can be told apart on these data.

To first order a change of weights and psi changes the objective by x d_theta + (dx/dpsi theta)
d_psi. Directions in which nothing changes, at every psi that was tried, cannot be estimated.
"""

from __future__ import annotations

import numpy as np

from penchant._typing import BoolVector, Matrix, Vector
from penchant.models.checking.agreement import drawn_weights, slope_by_differences
from penchant.models.checking.exam import Exam, centred
from penchant.models.checking.findings import Finding

NOTHING = 1e-7  # of the size of all changes: differences are good to about 1e-9
COUNTS = 1e-3  # share of a parameter in a direction that is worth a word


def told_apart(exam: Exam) -> list[Finding]:
    """Parameters without effect, and combinations that leave every choice as it was."""
    names = [*exam.model.weights, *(s.name for s in exam.model.shape)]
    changes = [_changes(exam, psi) for psi in exam.inside]
    if not len(changes[0]):
        return []
    still = np.all([_still(change) for change in changes], axis=0)
    found = [
        _without_effect(name, a < len(exam.model.weights))
        for a, name in enumerate(names)
        if still[a]
    ]
    moving = np.flatnonzero(~still)
    null = [_null(change[:, moving]) for change in changes]
    if moving.size and all(len(directions) for directions in null):
        words = [names[a] for a in moving]
        found.append(_undone(words, null[0], [n for n in words if n in exam.model.weights]))
    return found


def _changes(exam: Exam, psi: Vector) -> Matrix:
    """How the objective of every option moves with every parameter: (rows, n_parameters)."""
    x, theta = exam.stacked(psi), drawn_weights(exam)
    columns = [x]
    for q in range(len(psi)):
        parts = [
            (slope_by_differences(exam, one, psi, q)[one.scored] @ theta)[:, :, None]
            for one in exam.data
        ]
        columns.append(centred(parts))
    return np.concatenate(columns, axis=1)


def _still(change: Matrix) -> BoolVector:
    """Parameters that move nothing."""
    size = np.sqrt((change**2).mean(axis=0))
    return np.asarray(size <= 1e-12 * max(float(size.max()), 1e-300))


def _null(change: Matrix) -> Matrix:
    """Directions in scaled parameters that move nothing: (n, n_parameters)."""
    size = np.sqrt((change**2).mean(axis=0))
    unit = change / np.where(size > 0, size, 1.0)
    _, singular, right = np.linalg.svd(unit, full_matrices=len(unit) < unit.shape[1])
    full = np.zeros(right.shape[0])
    full[: len(singular)] = singular
    return np.asarray(right[full <= NOTHING * max(float(full.max(initial=0.0)), 1e-300)])


def _without_effect(name: str, is_weight: bool) -> Finding:
    why = (
        "its variable is the same for all options of every decision"
        if is_weight
        else "the variables do not change with it, or by the same for all options"
    )
    return Finding(
        "not told apart",
        f"{name} must change the probability of some choice; got no effect on these data: {why}. "
        "Leave it out, or collect data in which it matters.",
    )


def _undone(names: list[str], null: Matrix, weights: list[str]) -> Finding:
    share = np.abs(null).max(axis=0)
    words = [name for name, size in zip(names, share, strict=True) if size > COUNTS]
    linear = all(name in weights for name in words)
    advice = (
        "Their variables are a combination of each other: leave one out, or hold it fixed."
        if linear
        else "A change of one is undone by the others: hold one fixed."
    )
    return Finding(
        "not told apart",
        f"{', '.join(words)} must each change the choices in their own way; got directions in "
        f"which they change together and no probability moves ({len(null)} on these data). "
        f"{advice}",
    )
