"""Reproduction of the paper: its experiments by name, run from one seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from penchant.argument_checks import check_threads
from penchant.errors import DataError, closest_match_hint
from penchant_paper.figure_1 import experiment, figure_1
from penchant_paper.figure_2_3 import figure_2, figure_3
from penchant_paper.figure_4_5_6 import (
    EstimablePlays,
    estimable_plays,
    figure_4,
    figure_5,
    figure_6,
)
from penchant_paper.published import PAPER_REPLICATES, SOFTMAX_DECISIONS, VERDICTS, Claim
from penchant_paper.simulated_study import simulated_study
from penchant_paper.statements import conclusion, theorem_1
from penchant_paper.tables import tables

MIN_REPLICATES = 10  # replicates: bands are percentiles
QUICK_REPLICATES, QUICK_DECISIONS, QUICK_SHARE = 20, 150, 0.05


class Result(Protocol):
    """Result of an experiment: its numbers, and the paper's claims checked against them."""

    @property
    def name(self) -> str:
        """Name of the experiment on the command line."""

    @property
    def title(self) -> str:
        """Title for headings."""

    @property
    def settings(self) -> dict[str, object]:
        """Settings of the computation, for its JSON file."""

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Claims of the paper with their verdicts."""

    def tables(self) -> Mapping[str, Mapping[str, Sequence[Any]]]:
        """Numbers by table and column."""


@dataclass(frozen=True, eq=False)
class Run:
    """Settings of a run of the experiments.

    Attributes
    ----------
    seed
        From which all randomness follows. An experiment gives the same numbers alone or with
        others.
    n_replicates
        Of the figures; the paper's 100, or 20 in a quick run.
    quick
        Fewer decisions and subjects.
    threads
        Processors; all if None. The numbers do not depend on it.
    """

    seed: int = 1
    n_replicates: int | None = None
    quick: bool = False
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.n_replicates is not None and self.n_replicates < MIN_REPLICATES:
            raise DataError(
                "replicates",
                f"must be at least {MIN_REPLICATES}, as bands are percentiles",
                got=self.n_replicates,
                fix=f"The paper has {PAPER_REPLICATES}.",
            )
        if self.seed < 0:
            raise DataError(
                "seed", "must be 0 or more", got=self.seed, fix="Any such number will do."
            )
        check_threads(self.threads)

    @property
    def replicates(self) -> int:
        """Number of replicates of the experiments behind the figures."""
        if self.n_replicates is not None:
            return self.n_replicates
        return QUICK_REPLICATES if self.quick else PAPER_REPLICATES

    def rng(self, stream: int) -> np.random.Generator:
        """The randomness of one experiment, whatever else runs."""
        return np.random.default_rng([self.seed, stream])

    @cached_property
    def estimable(self) -> EstimablePlays:
        """The plays of Figures 4 and 5, made once."""
        return estimable_plays(rng=self.rng(4), n_replicates=self.replicates, threads=self.threads)


def _converging(make: Callable[..., Result], stream: int) -> Callable[[Run], Result]:
    def run(how: Run) -> Result:
        return make(
            rng=how.rng(stream),
            n_replicates=how.replicates,
            n_decisions=QUICK_DECISIONS if how.quick else SOFTMAX_DECISIONS,
            threads=how.threads,
        )

    return run


EXPERIMENTS: dict[str, Callable[[Run], Result]] = {
    "figure-1": lambda how: figure_1(),
    "figure-2": _converging(figure_2, 2),
    "figure-3": _converging(figure_3, 3),
    "figure-4": lambda how: figure_4(how.estimable, how.threads),
    "figure-5": lambda how: figure_5(how.estimable, how.threads),
    "figure-6": lambda how: figure_6(
        rng=how.rng(6), n_replicates=how.replicates, threads=how.threads
    ),
    "landscapes": lambda how: experiment(),
    "tables": lambda how: tables(rng=how.rng(8), n_replicates=how.replicates),
    "study": lambda how: simulated_study(
        rng=how.rng(9), share=QUICK_SHARE if how.quick else 1.0, threads=how.threads
    ),
    "theorem-1": lambda how: theorem_1(
        rng=how.rng(10), n_replicates=how.replicates, threads=how.threads
    ),
    "conclusion": lambda how: conclusion(
        rng=how.rng(11), n_replicates=how.replicates, threads=how.threads
    ),
}


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Results of the experiments that were run."""

    run: Run
    results: tuple[Result, ...] = field(default_factory=tuple)

    @property
    def claims(self) -> tuple[tuple[Result, Claim], ...]:
        """Every claim with the experiment it belongs to."""
        return tuple((result, claim) for result in self.results for claim in result.claims)

    def counts(self) -> dict[str, int]:
        """Number of claims by verdict."""
        verdicts = [claim.verdict for _, claim in self.claims]
        return {verdict: verdicts.count(verdict) for verdict in VERDICTS}


def chosen_experiments(only: Sequence[str]) -> tuple[str, ...]:
    """Names of the experiments asked for, figures first; all if none is named.

    >>> chosen_experiments(["figure-3", "figure-1"])
    ('figure-1', 'figure-3')
    """
    for name in only:
        if name not in EXPERIMENTS:
            raise DataError(
                "only",
                f"must name experiments among {', '.join(EXPERIMENTS)}",
                got=repr(name),
                fix=closest_match_hint(name, EXPERIMENTS) or "Choose one.",
            )
    return tuple(name for name in EXPERIMENTS if not only or name in only)


def reproduce(
    only: Sequence[str] = (),
    *,
    run: Run = Run(),
    begin: Callable[[str], None] = lambda name: None,
) -> Reproduction:
    """Run the paper's experiments and check its claims against them.

    Parameters
    ----------
    only
        Names of experiments; all if empty.
    run
        Seed, replicates, threads.
    begin
        Called with the name of each experiment before it runs.

    Examples
    --------
    >>> from penchant_paper.reproduction import reproduce
    >>> found = reproduce(["figure-1", "landscapes"])
    >>> {verdict: count for verdict, count in found.counts().items() if count}
    {'holds': 2, 'cannot be told from the paper': 2}
    """
    names = chosen_experiments(only)
    fresh = Run(run.seed, run.n_replicates, run.quick, run.threads)
    results = []
    for name in names:
        begin(name)
        results.append(EXPERIMENTS[name](fresh))
    return Reproduction(run, tuple(results))
