"""Fit of choices that are read chunk by chunk: the numbers and the status of `fit_choices`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.choices import Choices
from penchant.choices.scan_protocols import Chunks
from penchant.errors import DataError
from penchant.result_tables import format_count, single_option_notes
from penchant.softmax.chunked_decisions import ChunkedDecisions
from penchant.softmax.chunked_likelihood import ChunkMapper, null_log_likelihood
from penchant.softmax.estimate import Estimate
from penchant.softmax.fit import (
    DataSummary,
    build_estimate,
    check_covariance,
    checked_start,
    raise_unless_usable,
    separation_of,
    with_covariance,
)
from penchant.softmax.inference_from_choices import ChoiceSource
from penchant.softmax.intervals_and_tests import require_several_clusters, sandwich, sandwich_meat
from penchant.softmax.maximum_and_covariance import Solution
from penchant.softmax.maximum_likelihood import solve
from penchant.softmax.prior import ParameterPrior
from penchant.softmax.probabilities import scores


def fit_chunks(
    chunks: Chunks,
    *,
    parameter_prior: ParameterPrior | None = None,
    method: Literal["ml", "firth"] = "ml",
    constraints: Any = None,
    covariance: Literal["model", "robust", "clustered"] = "model",
    strict: bool = False,
    start: Any = None,
    max_steps: int | None = None,
) -> Estimate:
    """Estimate theta from all chunks: the numbers and the status of `fit_choices`."""
    if method != "ml" or constraints is not None:
        raise DataError(
            "method",
            "must be 'ml', without constraints, for a scan",
            got="another",
            fix="Fit choices in memory for that.",
        )
    check_covariance(covariance)
    begin = checked_start(start, len(chunks.names))
    reducer = ChunkMapper(chunks)
    decisions = ChunkedDecisions.from_chunks(reducer)
    given = decisions.summary
    if (
        given.n_single_option_decisions == given.n_decisions
    ):  # raises the same error as choices in memory
        single_option_notes(np.ones(given.n_decisions, dtype=np.int64))
    if given.weighted and not given.largest_weight > 0:
        raise DataError(
            "weights", "must not all be zero", got="a sum of 0", fix="Give some decision weight."
        )
    solution = solve(decisions, parameter_prior, None, begin, max_steps)
    estimate = _build_estimate(decisions, solution, parameter_prior)
    if strict:
        raise_unless_usable(estimate)
    estimate = with_covariance(estimate, covariance)
    words = (
        f"{format_count(reducer.n_passes, 'pass')[:-1]}es" if reducer.n_passes != 1 else "1 pass"
    )
    return replace(estimate, notes=(*estimate.notes, f"{words} over {chunks.describe()}."))


def _build_estimate(
    decisions: ChunkedDecisions, solution: Solution, prior: ParameterPrior | None
) -> Estimate:
    """Build the user's estimate from the solution and the summaries."""
    given, (work, unit) = decisions.summary, decisions.with_unit_mean_weights_and_unit
    reported = DataSummary(
        names=decisions.names,
        n_decisions=given.n_decisions,
        total_weight=given.total_weight,
        n_options=given.n_options,
        n_subjects=max(len(given.subjects), 1),
        null_log_likelihood=null_log_likelihood(work.summary) * unit,
        notes=given.notes,
    )
    scale = solution.identified_part.scale
    quadratic = None if prior is None else prior.quadratic(len(decisions.names), scale)
    source = ChoiceSource(None, scale, quadratic, chunked=ChunkedSource(work.reducer, unit))
    return build_estimate(solution, reported, separation_of(solution, work), source, prior)


@dataclass(frozen=True)
class ChunkedSource:
    """Chunks behind an estimate, for covariances that need them; weights are in `weight_unit`."""

    reducer: ChunkMapper
    weight_unit: float

    @property
    def chunks(self) -> Chunks:
        """The choices."""
        return self.reducer.chunks

    def robust(self, theta: Vector, bread: Matrix) -> Matrix:
        """Sandwich covariance (HC0)."""
        parts = list(self.reducer.map_chunks(partial(_meat, theta=theta), "robust errors"))
        total = np.zeros_like(bread)
        for part, _ in parts:
            total += part
        whole = sandwich(bread * self.weight_unit, total)
        return whole / self.weight_unit if parts[0][1] == "frequency" else whole

    def clustered(self, theta: Vector, bread: Matrix) -> Matrix:
        """Sandwich covariance by subject."""
        sums: dict[Any, Vector] = {}
        for labels, parts in self.reducer.map_chunks(
            partial(_subject_scores, theta=theta), "clustered errors"
        ):
            for label, part in zip(labels, parts, strict=True):  # a subject may span chunks
                sums[label] = sums[label] + part if label in sums else part
        require_several_clusters(list(sums))
        rows = np.array(list(sums.values()))
        return sandwich(bread * self.weight_unit, rows.T @ rows)


def _meat(choices: Choices, theta: Vector) -> tuple[Matrix, str]:
    """Meat of the sandwich of choices, and the kind of their weights."""
    return sandwich_meat(theta, choices), choices.weight_kind


def _subject_scores(choices: Choices, theta: Vector) -> tuple[tuple[Any, ...], Matrix]:
    """Subjects of choices, and the sums of their scores."""
    if choices.subject is None or choices.subject_labels is None:
        raise DataError(
            "subject",
            "must be given for clustered errors of a scan",
            got="None",
            fix="Name its column in scan(..., subject=).",
        )
    s = scores(theta, choices)
    if choices.weights is not None:
        s = s * choices.weights[:, None]
    sums = np.zeros((len(choices.subject_labels), s.shape[1]))
    np.add.at(sums, choices.subject, s)
    return choices.subject_labels, sums
