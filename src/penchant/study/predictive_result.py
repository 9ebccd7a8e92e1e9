"""What people did beside what the fitted model does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._frames import Backend, frame
from penchant._typing import Matrix, Vector
from penchant.softmax.tables import Table, number


@dataclass(frozen=True, eq=False, repr=False)
class PredictiveCheck:
    """What people did beside what the fitted model does.

    Attributes
    ----------
    names
        Of the statistics: shares of options, switches, the best option, and that in each part of
        the episodes.
    observed
        What people did.
    replicated
        (n_draws, n_statistics): what the model does, with parameters drawn anew each time.
    n_decisions
        Behind the observed numbers.
    how
        "given what happened": each choice is drawn after the true history; or "played anew".
    left_out
        Subjects without standard errors.
    notes
        What else a reader should know of the statistics.
    """

    names: tuple[str, ...]
    observed: Vector
    replicated: Matrix
    n_decisions: int
    how: str
    left_out: tuple[Any, ...]
    notes: tuple[str, ...] = ()

    @property
    def predicted(self) -> Vector:
        """Mean over the draws."""
        return np.asarray(self.replicated.mean(axis=0))

    def interval(self, level: float = 0.95) -> Matrix:
        """Where the model puts each statistic: (n_statistics, 2)."""
        ends = [(1 - level) / 2, (1 + level) / 2]
        return np.quantile(self.replicated, ends, axis=0).T

    @property
    def p_values(self) -> Vector:
        """Posterior predictive p-values, two-sided; ties count half. Small: the model fails."""
        above = (self.replicated > self.observed).mean(axis=0)
        equal = (self.replicated == self.observed).mean(axis=0)
        upper = above + equal / 2
        found = 2 * np.minimum(upper, 1 - upper)
        return np.where(np.isnan(self.observed), np.nan, found)

    @property
    def shares(self) -> tuple[Vector, Vector]:
        """Predicted and observed shares of the options, for `figures.predicted_observed`."""
        which = [k for k, name in enumerate(self.names) if name.startswith("share of option")]
        return self.predicted[which], self.observed[which]

    @property
    def curves(self) -> tuple[Matrix, Matrix]:
        """Share of the best option in each part: observed (1, n_parts), and (n_draws, n_parts).

        For `figures.learning_curve`.
        """
        which = [k for k, name in enumerate(self.names) if "part" in name]
        return self.observed[None, which], self.replicated[:, which]

    def to_frame(self, level: float = 0.95, backend: Backend | None = None) -> Any:
        """One row per statistic."""
        low, high = self.interval(level).T
        return frame(
            {
                "statistic": self.names,
                "observed": self.observed.tolist(),
                "predicted": self.predicted.tolist(),
                "low": low.tolist(),
                "high": high.tolist(),
                "p_value": self.p_values.tolist(),
            },
            backend,
        )

    def table(self, level: float = 0.95) -> Table:
        """The summary as a table."""
        ends = self.interval(level)
        rows = tuple(
            (
                name,
                *(number(value, 3) for value in (self.observed[k], self.predicted[k], *ends[k])),
                number(self.p_values[k], 3),
            )
            for k, name in enumerate(self.names)
        )
        notes = ["p: two-sided posterior predictive probability; small where the model fails."]
        notes += self.notes
        if self.left_out:
            notes.append(f"Left out, without standard errors: {len(self.left_out)} subjects.")
        return Table(
            f"Predictive check, {self.how}",
            (("Decisions", str(self.n_decisions)), ("Draws", str(len(self.replicated)))),
            ("", "observed", "predicted", f"{100 * level:g} % low", "high", "p"),
            rows,
            tuple(notes),
        )

    def summary(self) -> str:
        """Everything one reads first, as text."""
        return self.table().text()

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        low = int((self.p_values < 0.05).sum())
        return f"<PredictiveCheck, {self.how}: {low} of {len(self.names)} statistics with p < 0.05>"

    def _repr_html_(self) -> str:
        return self.table().html()
