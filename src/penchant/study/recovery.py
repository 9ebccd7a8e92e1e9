"""What came back of the parameters that people were simulated with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penchant._frames import Backend, frame
from penchant.errors import DataError, nearest
from penchant.models.model import Model
from penchant.softmax.tables import Table, number
from penchant.study.recovered_parameter import RecoveredParameter
from penchant.study.task import Task

QUANTITIES = (
    "bias",
    "bias_error",
    "rmse",
    "log_bias",
    "log_rmse",
    "correlation",
    "rank_correlation",
    "coverage",
    "coverage_error",
    "share_without",
)


@dataclass(frozen=True, eq=False, repr=False)
class Recovery:
    """What came back of the parameters that people were simulated with.

    Attributes
    ----------
    model, task
        What was simulated and fitted.
    parameters
        One `RecoveredParameter` for each natural parameter.
    level, intervals
        Confidence level and kind of the intervals.
    """

    model: Model
    task: Task
    parameters: tuple[RecoveredParameter, ...]
    level: float
    intervals: str

    @property
    def n_subjects(self) -> int:
        """People simulated."""
        return len(self.statuses)

    @property
    def statuses(self) -> tuple[str, ...]:
        """Of each person's estimate."""
        return self.parameters[0].statuses

    def counts(self) -> dict[str, int]:
        """How many people have each status."""
        return {status: self.statuses.count(status) for status in sorted(set(self.statuses))}

    def of(self, name: str) -> RecoveredParameter:
        """One parameter, by name."""
        known = {parameter.name: parameter for parameter in self.parameters}
        if name not in known:
            raise DataError(
                f"name must be one of {', '.join(known)}; got {name!r}."
                f"{nearest(name, known) or ' Choose one.'}"
            )
        return known[name]

    def where(self, name: str, n_parts: int = 5, backend: Backend | None = None) -> Any:
        """Where the data can tell a parameter and where not, in parts of its range, as a table."""
        rows = self.of(name).where(n_parts)
        return frame({key: [row[key] for row in rows] for key in rows[0]}, backend)

    def to_frame(self, backend: Backend | None = None) -> Any:
        """One row per parameter: bias, spread, coverage, correlation, share without estimate."""
        columns: dict[str, list[Any]] = {"name": [p.name for p in self.parameters]}
        for quantity in QUANTITIES:
            columns[quantity] = [getattr(p, quantity) for p in self.parameters]
        return frame(columns, backend)

    def subjects(self, backend: Backend | None = None) -> Any:
        """One row per simulated person: status, and true value, estimate and interval of each."""
        columns: dict[str, Any] = {"subject": range(self.n_subjects), "status": self.statuses}
        for p in self.parameters:
            columns[f"{p.name}_true"] = p.true.tolist()
            columns[p.name] = p.estimated.tolist()
            columns[f"{p.name}_low"] = p.interval[:, 0].tolist()
            columns[f"{p.name}_high"] = p.interval[:, 1].tolist()
        return frame(columns, backend)

    def table(self) -> Table:
        """The summary as a table."""
        rows = tuple(
            (
                p.name,
                f"{number(p.bias, 3)} ({number(p.bias_error, 2)})",
                number(p.rmse, 3),
                number(p.correlation, 3),
                number(p.rank_correlation, 3),
                f"{number(p.coverage, 3)} ({number(p.coverage_error, 2)})",
                str(int((~p.has_estimate).sum())),
            )
            for p in self.parameters
        )
        said = ", ".join(f"{count} {status}" for status, count in self.counts().items())
        header = ("", "bias (s.e.)", "rmse", "r", "rank r", "coverage (s.e.)", "no estimate")
        notes = [
            "Bias, rmse and correlations are of the people with a finite estimate; those without "
            "are counted in the last column.",
        ]
        positive = [p.name for p in self.parameters if p.positive]
        if positive:
            notes.append(f"r is of logarithms for {', '.join(positive)}.")
        return Table(
            f"Recovery of {len(self.parameters)} parameters",
            (
                ("People", str(self.n_subjects)),
                ("Statuses", said),
                ("Decisions each", self._decisions()),
                ("Intervals", f"{self.intervals}, {100 * self.level:g} %"),
            ),
            header,
            rows,
            (*notes, f"Model: {self.model}."),
        )

    def _decisions(self) -> str:
        each, blocks = self.task.length(), self.task.n_blocks
        return str(each) if blocks == 1 else f"{blocks} blocks of {each}"

    def summary(self) -> str:
        """Everything one reads first, as text."""
        return self.table().text()

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        said = ", ".join(f"{p.name} r = {number(p.correlation, 2)}" for p in self.parameters)
        return f"<Recovery of {self.n_subjects} people: {said}>"

    def _repr_html_(self) -> str:
        return self.table().html()
