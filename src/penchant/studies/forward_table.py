"""People and agents side by side, decision by decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.studies.groups import Group
from penchant.studies.measures import Measures
from penchant.studies.subject_fit import SubjectFit

MEASURES = ("reward", "regret", "distance", "likeliest")


def both(
    group: Group, measure: str, observed: Mapping[Any, Measures], fits: Mapping[Any, SubjectFit]
) -> tuple[Matrix, Matrix]:
    """A measure of the subjects of a group and of their agents: (n_subjects, n_decisions) each.

    Subjects without an estimate to simulate with are left out of both. NaN where a subject has no
    such decision, and for rewards and regret of agents that do not play. That the likeliest option
    is chosen is said one step ahead only.
    """
    people: list[Any] = []
    agents: list[Any] = []
    for subject in group.subjects:
        played = fits[subject].simulated
        if played is None or (measure == "likeliest" and played.met is None):
            continue
        people.append(played.met if measure == "likeliest" else getattr(observed[subject], measure))
        made = getattr(played, measure)
        unknown = measure == "regret" and np.isnan(played.loss).all()
        agents.append(np.full(len(made), np.nan) if unknown else made)
    return stacked(people), stacked(agents)


def left_out(groups: Sequence[Group], fits: Mapping[Any, SubjectFit]) -> list[Any]:
    """Subjects of the groups who have no estimate to simulate with."""
    return [s for group in groups for s in group.subjects if fits[s].simulated is None]


def stacked(rows: Sequence[Vector]) -> Matrix:
    """Vectors of different lengths as one matrix, NaN behind the end of each."""
    longest = max(map(len, rows), default=0)
    filled = np.full((len(rows), longest), np.nan)
    for i, row in enumerate(rows):
        filled[i, : len(row)] = row
    return filled


def forward_columns(
    groups: Sequence[Group],
    observed: Mapping[Any, Measures],
    fits: Mapping[Any, SubjectFit],
    how: str,
) -> dict[str, list[Any]]:
    """Means over the subjects of every group, with standard errors, and how agents were paid."""
    made: dict[str, list[Any]] = {
        name: []
        for name in (
            *("performance", "condition", "measure", "decision", "n_subjects"),
            *("people", "people_standard_error", "simulated", "simulated_standard_error"),
            "how",
        )
    }
    for group in groups:
        for measure in MEASURES:
            people, agents = both(group, measure, observed, fits)
            for t in range(people.shape[1]):
                known = ~np.isnan(people[:, t])
                cells = (
                    *(group.performance, group.condition, measure, t + 1, int(known.sum())),
                    *_mean_error(people[known, t]),
                    *_mean_error(agents[known, t]),
                    how,
                )
                for name, cell in zip(made, cells, strict=True):
                    made[name].append(cell)
    return made


def _mean_error(values: Vector) -> tuple[float, float]:
    """Mean, and its standard error from the spread between subjects."""
    n = len(values)
    if not n:
        return float("nan"), float("nan")
    error = float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    return float(values.mean()), error
