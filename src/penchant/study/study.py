"""The result of a study: every number that the report shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penchant._frames import Backend, frame
from penchant.population.comparison import GroupComparison
from penchant.population.estimate import PopulationEstimate, Rule
from penchant.population.growth_order import GrowthOrders
from penchant.study.data import StudyData
from penchant.study.fingerprint import fingerprint
from penchant.study.fitting import Timings
from penchant.study.forward import How, how_simulated
from penchant.study.group_tests import GroupTests
from penchant.study.groups import Group
from penchant.study.landscapes import Landscapes
from penchant.study.left_out import LeftOutGroup
from penchant.study.measures import Measures
from penchant.study.paired import PairedDifference
from penchant.study.plan import Plan
from penchant.study.populations import LinearizedGroup
from penchant.study.subject_fit import SubjectFit
from penchant.study.tables import columns


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """All that was found of the subjects of a study, one by one and in groups.

    Attributes
    ----------
    data, plan, landscapes
        What was analysed and how.
    observed
        What every subject did, decision by decision.
    growth
        How every subject's regret grows, and so the performance; empty where the plan has none.
    fits
        Exact and linearised estimates of every subject, and what agents with them do.
    groups
        Performance and condition together; conditions alone where there is no performance.
    exact
        {group: {rule: population estimate}} of the exact estimates, positive parameters as
        logarithms.
    joint
        {group: population estimate} of the joint likelihood, where it was asked for.
    linearized
        Tables I and II of the paper, a column per group.
    exact_tests, linearized_tests
        Between `groups`.
    group_tests
        Between the groups that each column of conditions names, whatever the performance.
    paired_tests
        Between conditions that the same subjects were in.
    left_out
        How many subjects of every such group have no estimate that can be averaged, and why.
    timings
        Seconds of each step, summed over threads; of what was done in this run only.
    """

    data: StudyData
    plan: Plan
    landscapes: Landscapes
    observed: Mapping[Any, Measures]
    growth: GrowthOrders
    fits: Mapping[Any, SubjectFit]
    groups: tuple[Group, ...]
    exact: Mapping[str, Mapping[Rule, PopulationEstimate]]
    joint: Mapping[str, PopulationEstimate]
    linearized: tuple[LinearizedGroup, ...]
    exact_tests: GroupComparison | None
    linearized_tests: tuple[GroupComparison, ...]
    group_tests: GroupTests
    paired_tests: tuple[PairedDifference, ...]
    left_out: tuple[LeftOutGroup, ...]
    timings: Timings

    @property
    def subjects(self) -> tuple[Any, ...]:
        """Every subject, sorted."""
        return self.data.subjects

    def counts(self) -> dict[str, int]:
        """How many exact fits have each status."""
        found = [self.fits[subject].exact.status for subject in self.subjects]
        return {status: found.count(status) for status in sorted(set(found))}

    @property
    def how_simulated(self) -> How:
        """What agents that play again are paid by, or that nobody plays: one step ahead."""
        return how_simulated(self.data, self.landscapes)

    def fingerprint(self) -> dict[str, Any]:
        """What makes another study the same."""
        return fingerprint(self.data, self.landscapes, self.plan)

    def columns(self, name: str) -> dict[str, list[Any]]:
        """One of the tables, by columns: see `penchant.study.TABLES` for their names."""
        return columns(self, name)

    def to_frame(self, name: str = "subjects", backend: Backend | None = None) -> Any:
        """One of the tables as a data frame."""
        return frame(self.columns(name), backend)

    def __repr__(self) -> str:
        said = ", ".join(f"{count} {status}" for status, count in self.counts().items())
        return f"<Study of {len(self.subjects)} subjects in {len(self.groups)} groups: {said}>"
