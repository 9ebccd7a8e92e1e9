"""The result of comparing groups: tests, effect sizes and p-values adjusted for their number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from itertools import groupby
from typing import Any, Literal

from penchant._typing import Label
from penchant.errors import format_list
from penchant.json_records import JsonDocument, to_json
from penchant.population.meta_analysis import PopulationEstimate
from penchant.population.parameter_score_correlations import NAMES as RELATED
from penchant.population.parameter_score_correlations import Relation, relations_table
from penchant.result_tables import (
    MAX_TABLE_WIDTH,
    Column,
    Columns,
    Result,
    Table,
    attribute_columns,
    format_columns,
    format_count,
    format_p_value,
)

Adjustment = Literal["holm", "bonferroni", "benjamini-hochberg", "none"]
RULES = {"mean-sample": "plain mean"}


@dataclass(frozen=True)
class JointTest:
    """Joint test of all parameters: T2 = d' (V + U)^-1 d with full covariances.

    Attributes
    ----------
    kind
        "F": Hotelling's test with unequal covariances, where they come from the spread between
        subjects. "chi-square": Wald's test, where they come from a model. "none": not possible.
    statistic, degrees_of_freedom
        F and its two, or chi-square and its one followed by infinity.
    note
        Why there is no test.
    """

    kind: str
    statistic: float
    degrees_of_freedom: tuple[int | float, float]
    p_value: float
    note: str = ""

    def __str__(self) -> str:
        if self.kind == "none":
            return f"no joint test: {self.note}"
        first, second = self.degrees_of_freedom
        shown = f"{first:g}, {second:.1f}" if self.kind == "F" else f"{first:g}"
        return f"{self.kind}({shown}) = {self.statistic:.4g}, p = {self.p_value:.3g}"


@dataclass(frozen=True)
class Difference(JsonDocument):
    """Difference of a parameter between two groups.

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

    first: Label
    second: Label
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

    first: Label
    second: Label
    test: JointTest
    adjusted_p_value: float

    def __str__(self) -> str:
        said = f"{self.first} against {self.second}, all parameters: {self.test}"
        return said if self.test.kind == "none" else f"{said}, adjusted {self.adjusted_p_value:.3g}"


def _left_out_note(label: Label, population: PopulationEstimate) -> str:
    """Note on subjects that a population's mean leaves out."""
    lost = population.left_out
    everyone = population.n_subjects + len(lost)
    return f"Left out of {label}, {len(lost)} of {everyone}: {format_list(map(str, lost))}."


NAMES = tuple(field.name for field in fields(Difference))


COLUMNS = (
    Column("name", ""),
    Column("difference", "difference", 4),
    Column("low", "{} low", 3),
    Column("high", "high", 3),
    Column("statistic", "t", 3),
    Column("degrees_of_freedom", "df", 3),
    Column("p_value", "p", format_p_value),
    Column("adjusted_p_value", "adj. p", format_p_value),
    Column("hedges_g", "g", 3),
)


@dataclass(frozen=True, eq=False, repr=False)
class GroupComparison(Result):
    """Tests between groups.

    Attributes
    ----------
    populations
        What was compared.
    differences
        One per pair and parameter.
    joint
        One per pair: all parameters at once, with full covariances.
    relations, score
        One per parameter where subjects were compared by a score, and what that is called.
    logs
        Parameters that were compared by their logarithm.
    covariates
        What was held the same where groups or scores were compared, if anything.
    """

    json_names = (
        *("adjustment", "level", ("logarithms", "logs"), "covariates", "differences", "joint"),
        "relations",
    )
    populations: Mapping[Any, PopulationEstimate]
    differences: tuple[Difference, ...]
    joint: tuple[PairTest, ...]
    adjustment: Adjustment
    level: float
    relations: tuple[Relation, ...] = ()
    score: str = ""
    logs: tuple[str, ...] = ()
    covariates: tuple[str, ...] = ()

    def of(self, name: str) -> tuple[Difference, ...]:
        """The differences of one parameter."""
        return tuple(d for d in self.differences if d.name == name)

    def table(self) -> Table:
        """The summary as a table."""
        if self.relations:
            table = relations_table(self.relations, self.score, self.level)
            said = (
                *self._left_out_notes("all"),
                *self._scale_notes(),
                *self._adjustment_notes(),
                *table.notes,
            )
            return replace(table, notes=said)
        header, cells = format_columns(self.frame_columns(), COLUMNS, self.level)
        rows: list[tuple[str, ...]] = []
        both = zip(self.differences, cells, strict=True)
        for pair, found in groupby(both, lambda one: f"{one[0].first} - {one[0].second}"):
            rows.append((pair, *[""] * (len(header) - 1)))
            rows += [(f"  {name}", *rest) for _, (name, *rest) in found]
        facts = tuple(
            (str(label), f"{format_count(p.n_subjects, 'subject')}, {RULES.get(p.rule, p.rule)}")
            for label, p in self.populations.items()
        )
        doubts = (f"{c}: {p.message}" for c, p in self.populations.items() if p.message)
        notes = (
            *self._left_out_notes(),
            *self._scale_notes(),
            *self._adjustment_notes(),
            f"p-values adjusted: {self.adjustment}.",
            *map(str, self.joint),
            *doubts,
        )
        return Table(
            "Differences between groups", facts, header, tuple(rows), notes, MAX_TABLE_WIDTH
        )

    def _left_out_notes(self, label: str = "") -> tuple[str, ...]:
        """Notes on subjects left out of all means, with a remedy."""
        lost = [
            _left_out_note(label or own, p) for own, p in self.populations.items() if p.left_out
        ]
        doubt = "Those left out are seldom like the others: a population compares everybody."
        return (*lost, doubt) if lost else ()

    def _scale_notes(self) -> tuple[str, ...]:
        """On which scale parameters are compared, where it is not their own."""
        if not self.logs:
            return ()
        what = "adds to the logarithm" if self.relations else "is of logarithms"
        subject = "a slope" if self.relations else "a difference"
        return (
            f"{format_list(self.logs)} on the logarithmic scale, as positive parameters spread "
            f"over orders of magnitude: {subject} {what}, 0.69 for a factor of 2.",
        )

    def _adjustment_notes(self) -> tuple[str, ...]:
        """Notes on covariates and on how standard errors were computed."""
        if not self.covariates:
            return ()
        if self.relations:
            return (
                f"Slopes and correlations at the same {format_list(self.covariates)}: least "
                "squares, and what it leaves.",
            )
        return (
            f"Differences at the same {format_list(self.covariates)}: least squares with HC3 "
            "errors; g in standard deviations left within groups.",
        )

    def __repr__(self) -> str:
        if self.relations:
            return f"<GroupComparison by {self.score}: {len(self.relations)} parameters>"
        groups = ", ".join(map(str, self.populations))
        return f"<GroupComparison of {groups}: {len(self.differences)} differences>"

    def frame_columns(self) -> Columns:
        """Table by pair and parameter; by parameter alone, with a score."""
        names, found = (RELATED, self.relations) if self.relations else (NAMES, self.differences)
        columns = attribute_columns(found, *names)
        columns["scale"] = ["log" if one.name in self.logs else "identity" for one in found]
        return columns

    def document(self) -> dict[str, Any]:
        """Result as a dictionary for JSON."""
        groups = [
            {"group": to_json(label), "n_subjects": p.n_subjects, "rule": p.rule}
            for label, p in self.populations.items()
        ]
        return super().document() | {"groups": groups}
