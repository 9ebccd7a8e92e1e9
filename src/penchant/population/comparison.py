"""The result of comparing groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from penchant._frames import Backend, frame
from penchant.errors import listing
from penchant.population.adjusting import Adjustment
from penchant.population.differences import JointTest
from penchant.population.estimate import PopulationEstimate
from penchant.softmax.document import plain, plain_label
from penchant.softmax.tables import Table, number, p_value


@dataclass(frozen=True)
class Difference:
    """One parameter of two groups.

    Attributes
    ----------
    difference, standard_error
        First minus second.
    statistic, degrees_of_freedom
        Welch's t.
    low, high
        Interval of the difference.
    p_value, adjusted_p_value
        Two-sided, as it is and adjusted for the number of comparisons.
    hedges_g, hedges_g_low, hedges_g_high
        The difference in standard deviations between subjects; NaN where these are not known.
    """

    first: Any
    second: Any
    name: str
    difference: float
    standard_error: float
    statistic: float
    degrees_of_freedom: float
    low: float
    high: float
    p_value: float
    adjusted_p_value: float
    hedges_g: float
    hedges_g_low: float
    hedges_g_high: float


@dataclass(frozen=True)
class PairTest:
    """The joint test of two groups."""

    first: Any
    second: Any
    test: JointTest
    adjusted_p_value: float

    def __str__(self) -> str:
        said = f"{self.first} against {self.second}, all parameters: {self.test}"
        return said if self.test.kind == "none" else f"{said}, adjusted {self.adjusted_p_value:.3g}"


def _left_out(label: Any, population: PopulationEstimate) -> str:
    """Who is not in a population's mean."""
    lost = population.left_out
    everyone = population.n_subjects + len(lost)
    return f"Left out of {label}, {len(lost)} of {everyone}: {listing(map(str, lost))}."


NAMES = tuple(field.name for field in fields(Difference))
LABELS = ("first", "second", "name")


@dataclass(frozen=True, eq=False, repr=False)
class GroupComparison:
    """Tests between groups.

    Attributes
    ----------
    populations
        What was compared.
    differences
        One per pair and parameter.
    joint
        One per pair: all parameters at once, with full covariances.
    """

    populations: Mapping[Any, PopulationEstimate]
    differences: tuple[Difference, ...]
    joint: tuple[PairTest, ...]
    adjustment: Adjustment
    level: float

    def of(self, name: str) -> tuple[Difference, ...]:
        """The differences of one parameter."""
        return tuple(d for d in self.differences if d.name == name)

    def table(self) -> Table:
        """The summary as a table."""
        rows = tuple(
            (
                f"{d.first} - {d.second}: {d.name}",
                number(d.difference, 4),
                number(d.low, 4),
                number(d.high, 4),
                number(d.statistic, 3),
                number(d.degrees_of_freedom, 3),
                p_value(d.p_value),
                p_value(d.adjusted_p_value),
                number(d.hedges_g, 3),
            )
            for d in self.differences
        )
        percent = f"{100 * self.level:g} %"
        header = ("", "difference", f"{percent} low", "high", "t", "df", "p", "adj. p", "g")
        facts = tuple(
            (str(label), f"{p.n_subjects} subject{'s' * (p.n_subjects != 1)}, {p.rule}")
            for label, p in self.populations.items()
        )
        doubts = (f"{c}: {p.message}" for c, p in self.populations.items() if p.message)
        lost = (_left_out(label, p) for label, p in self.populations.items() if p.left_out)
        notes = (*lost, f"p-values adjusted: {self.adjustment}.", *map(str, self.joint), *doubts)
        return Table("Differences between groups", facts, header, rows, notes)

    def summary(self) -> str:
        """Everything one reads first, as text."""
        return self.table().text()

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        groups = ", ".join(map(str, self.populations))
        return f"<GroupComparison of {groups}: {len(self.differences)} differences>"

    def _repr_html_(self) -> str:
        return self.table().html()

    def to_latex(self) -> str:
        """The table for a paper (booktabs)."""
        return self.table().latex()

    def to_frame(self, backend: Backend | None = None) -> Any:
        """One row per pair and parameter."""
        columns = {name: [getattr(d, name) for d in self.differences] for name in NAMES}
        return frame(columns, backend)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON."""
        return {
            "format": "penchant-group-comparison",
            "version": 1,
            "adjustment": self.adjustment,
            "level": self.level,
            "groups": [
                {"group": plain_label(label), "n_subjects": p.n_subjects, "rule": p.rule}
                for label, p in self.populations.items()
            ],
            "differences": [
                {n: (plain_label if n in LABELS else plain)(getattr(d, n)) for n in NAMES}
                for d in self.differences
            ],
            "joint": [
                {
                    "first": plain_label(t.first),
                    "second": plain_label(t.second),
                    "kind": t.test.kind,
                    "statistic": plain(t.test.statistic),
                    "degrees_of_freedom": [plain(df) for df in t.test.degrees_of_freedom],
                    "p_value": plain(t.test.p_value),
                    "adjusted_p_value": plain(t.adjusted_p_value),
                    "note": t.test.note,
                }
                for t in self.joint
            ],
        }
