"""Table I to Table II, and what the printed numbers can and cannot say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant.population.compare import compare_groups
from penchant.population.comparison import Difference
from penchant.population.estimate import PopulationEstimate
from penchant.study.paper.artefact import Artefact, artefact
from penchant.study.paper.bound import bound_of_deviation
from penchant.study.paper.claims import Claim
from penchant.study.paper.mapped_back import MappedBack, mapped_back
from penchant.study.paper.published import EXPERIMENT_NOISE_VARIANCE, REPLICATES, TABLES
from penchant.study.paper.tables_claims import claims_of_tables

NATURAL = ("decision_noise", "prior_mean", "prior_variance")
PAIRS = (("high A", "high B"), ("low A", "low B"))


@dataclass(frozen=True, eq=False)
class PaperTables:
    """Tables I and II held against each other."""

    mapped: tuple[MappedBack, ...]
    differences: tuple[Difference, ...]
    artefact: Artefact
    claims: tuple[Claim, ...]
    name: str = "tables"
    title: str = "Tables I and II: from one to the other"

    @property
    def settings(self) -> dict[str, object]:
        """What was computed."""
        return {
            "noise_variance": EXPERIMENT_NOISE_VARIANCE,
            "replicates": self.artefact.n_replicates,
        }

    def tables(self) -> dict[str, dict[str, list[object]]]:
        """Table II recomputed, the tests, and the artefact."""
        return {
            "table-2": _mapped_columns(self.mapped),
            "welch": _test_columns(self.differences),
            "artefact": self.artefact.columns(),
        }


def tables(*, rng: np.random.Generator, n_replicates: int = REPLICATES) -> PaperTables:
    """Map Table I back, test its differences, and show what decides sigma0^2.

    Parameters
    ----------
    rng
        Source of randomness for the agents of the artefact.
    n_replicates
        Agents for every true sigma0^2.
    """
    mapped = tuple(mapped_back(category) for category in TABLES)
    differences = welch_tests()
    shown = artefact(rng=rng, n_replicates=n_replicates)
    claims = claims_of_tables(mapped, differences, shown, bound_of_deviation(rng=rng))
    return PaperTables(mapped, differences, shown, claims)


def welch_tests() -> tuple[Difference, ...]:
    """Welch's tests between landscapes from the printed estimates and standard errors."""
    populations = {
        category.name: PopulationEstimate.from_summary(
            [float(text) for text in category.theta],
            [float(text) for text in category.sigma],
            category.n_subjects,
        )
        for category in TABLES
    }
    found = compare_groups(populations, PAIRS, adjust="none", degrees_of_freedom="subjects")
    return found.differences


def _mapped_columns(mapped: tuple[MappedBack, ...]) -> dict[str, list[object]]:
    columns: dict[str, list[object]] = {
        word: []
        for word in (
            "category",
            "parameter",
            "printed",
            "from_table_1",
            "low",
            "high",
            "consistent",
            "ratio",
        )
    }
    for found in mapped:
        for j, name in enumerate(NATURAL):
            row = (
                found.category.name,
                name,
                float(found.printed[j]),
                float(found.natural[j]),
                float(found.low[j]),
                float(found.high[j]),
                bool(found.consistent[j]),
                found.ratio,
            )
            for word, value in zip(columns, row, strict=True):
                columns[word].append(value)
    return columns


def _test_columns(differences: tuple[Difference, ...]) -> dict[str, list[object]]:
    words = ("first", "second", "name", "statistic", "degrees_of_freedom", "p_value")
    return {word: [getattr(d, word) for d in differences] for word in words}
