"""A population fit from where its search ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.models.model import model_words
from penchant.population.hierarchy import inferences
from penchant.population.hierarchy.doubts import correlations_of, doubts_of, first_status
from penchant.population.hierarchy.result import PopulationFit, Source
from penchant.population.hierarchy.search import Found
from penchant.population.hierarchy.subjects import PopulationSubjects

CODING = (
    "Numbers are centred, and factors coded by sums: a parameter's own coefficient is that of an "
    "average person."
)


def result_of(
    source: Source, integration_error: float, status: Mapping[str, str], notes: Sequence[str]
) -> PopulationFit:
    """The result of a search that has ended."""
    found, people = source.found, source.people
    s = found.marginal.structure
    n, p = s.design.shape[:2]
    names = people.coordinates.names
    columns = np.array([int((np.abs(s.design[:, a]).sum(axis=0) > 0).sum()) for a in range(p)])
    errors = inferences.errors_of(found, int(columns.max()))
    whole = errors.robust if source.covariance_kind == "robust" else errors.model
    everyone = inferences.people_of(found, errors.model)
    if source.about is not found:  # a spread of 0 is not known to be 0
        wide = inferences.errors_of(source.about, int(columns.max()))
        known = inferences.people_of(source.about, wide.model)
        everyone = everyone._replace(mean=known.mean, covariance=known.covariance)
    own = s.spread.matrices(found.x[s.n_beta :])
    matrices = np.zeros((s.spread.n_groups, p, p))
    matrices[:, s.random[:, None], s.random[None]] = own
    share = _reliability(found, matrices)
    reliability = {names[a]: float(share[c]) for c, a in enumerate(s.random)}
    doubts = dict(status)
    doubts |= doubts_of(source, errors, matrices, everyone, reliability)
    coefficient_names = source.design.names
    covariance = whole[: s.n_beta, : s.n_beta].copy()
    untold = np.flatnonzero(inferences.untold(found, errors))
    covariance[untold, untold] = np.inf
    said = " ".join(doubts.values())
    words = model_words(source.model) if source.model is not None else "mixed logit"
    explained = list(notes)
    if source.about is not found:
        explained.append(
            "Where no spread was found, people and the prior are described with the one that a "
            "weak prior keeps from vanishing (spread_prior='gamma')."
        )
    if source.design.variables:
        explained.append(CODING)
    return PopulationFit(
        status=first_status(doubts),
        message=said,
        names=coefficient_names,
        coefficients=found.x[: s.n_beta].copy(),
        covariance=covariance,
        parameter_names=names,
        links=people.coordinates.links,
        spread=_by_group(matrices, source.group_labels),
        correlations=_by_group(correlations_of(matrices), source.group_labels),
        reliability=reliability,
        log_likelihood=found.known.value,
        n_parameters=len(inferences.free_parameters(found)),
        evidence=found.known.evidence,
        loo_each=everyone.loo,
        integration_error=integration_error,
        subjects=PopulationSubjects.of(source, everyone),
        estimator="reml" if source.task.restricted else "ml",
        degrees_of_freedom=np.repeat(n - columns, columns).astype(np.float64),
        n_subjects=n,
        n_decisions=int(people.n_decisions.sum()),
        model_words=words,
        notes=tuple(explained),
        source=source,
    )


def _reliability(found: Found, matrices: Matrix) -> Vector:
    """1 - mean posterior variance / variance between people, of each coordinate with spread."""
    s = found.marginal.structure
    r = len(s.random)
    variance = np.einsum("naa->na", found.known.covariances[:, :r, :r])
    between = np.einsum("gaa->ga", matrices)[:, s.random][s.group]
    return np.asarray(1.0 - (variance / between).mean(axis=0))


def _by_group(matrices: Matrix, labels: tuple[Any, ...]) -> Any:
    return dict(zip(labels, matrices, strict=True)) if labels else matrices[0]
