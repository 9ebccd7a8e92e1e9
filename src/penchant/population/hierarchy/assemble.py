"""A population fit from where its search ended, and what is wrong with it, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import listing
from penchant.models.model import model_words
from penchant.population.hierarchy import inferences
from penchant.population.hierarchy.result import PopulationFit, Source
from penchant.population.hierarchy.search import Found
from penchant.population.hierarchy.subjects import PopulationSubjects

NONE = 0.1  # reliability at which a spread may not be told
DECIDES = 1.0  # standard errors by which one subject moves a mean
SPREAD_MOVES = 1.5  # the same of a spread
AT_ONE = 0.99
UNLIKELY = 0.01
FAR = 12.0  # typical standard deviations: a mean that is not told
WIDE = 2.0  # the same of its standard error


def correlations_of(matrices: Matrix) -> Matrix:
    """Of every group's covariance; 0 where a parameter has no spread."""
    sd = np.sqrt(np.einsum("gaa->ga", matrices))
    unit = sd[:, :, None] * sd[:, None, :]
    found = np.where(unit > 0, matrices / np.where(unit > 0, unit, 1.0), 0.0)
    for own in found:
        np.fill_diagonal(own, 1.0)
    return np.asarray(found)


ORDER = (
    "stopped early",
    "mean not identified",
    "integration not settled",
    "one subject decides",
    "no spread in",
    "correlation at",
    "spread not told",
    "not normal",
)


def first_status(doubts: Mapping[str, str]) -> str:
    """The gravest doubt, or none."""
    for kind in ORDER:
        for name in doubts:
            if name.startswith(kind):
                return name
    return "converged"


def doubts_of(
    source: Any,
    errors: inferences.Errors,
    matrices: Matrix,
    everyone: inferences.People,
    reliability: Mapping[str, float],
) -> dict[str, str]:
    """What is wrong, and a sentence about it."""
    found, people = source.found, source.people
    s = found.marginal.structure
    names = people.coordinates.names
    doubts: dict[str, str] = {}
    lost = _lost(source, errors)
    if lost:
        doubts["mean not identified"] = (
            f"The decisions do not tell {listing(lost)}: it has no finite best value, or none of "
            "its own. Every subject may be perfectly consistent; leave it out or give it a limit."
        )
    correlations = correlations_of(matrices)
    for i, a in enumerate(s.random):
        for b in s.random[:i]:
            if s.spread.correlated and np.abs(correlations[:, a, b]).max() > AT_ONE:
                r = correlations[np.abs(correlations[:, a, b]).argmax(), a, b]
                sign = "+1" if r > 0 else "-1"
                doubts[f"correlation at {sign}"] = (
                    f"{names[b]} and {names[a]} go together in all people, as far as can be told: "
                    "one of them has no spread of its own. Use spread='diagonal' if that is "
                    "not meant."
                )
    for c, a in enumerate(s.random):
        if reliability[names[a]] < NONE:
            begin = inferences.profile_nodes(source.task, found)
            low, high = inferences.sd_interval(source.task, found, begin, c, 0, 0.95)
            if low < 0.05 * high:
                doubts["spread not told"] = (
                    f"The spread of {names[a]} may be anything from 0 to {high:.3g}: the decisions "
                    "hardly tell people apart in it."
                )
    shift = np.abs(found.known.scores @ errors.model) / np.sqrt(
        np.maximum(np.diag(errors.model), 1e-300)
    )
    shift[:, s.n_beta :] /= SPREAD_MOVES
    worst, what = (int(v) for v in np.unravel_index(int(shift.argmax()), shift.shape))
    if shift[worst, what] > DECIDES:
        moved = source.design.names[what] if what < s.n_beta else "a spread"
        doubts["one subject decides"] = (
            f"Without subject {people.subjects[worst]} {moved} would move by more than "
            f"{DECIDES if what < s.n_beta else SPREAD_MOVES:g} standard errors: look at its "
            "decisions, or fit without it."
        )
    odd = inferences.normality(found)
    if odd.size and odd.min() * odd.size < UNLIKELY:
        c, which = (int(v) for v in np.unravel_index(int(odd.argmin()), odd.shape))
        kind = ("lopsided", "of two kinds or heavy-tailed")[which]
        doubts["not normal"] = (
            f"People are {kind} in {names[s.random[c]]}, not normal about one mean (p = "
            f"{odd.min():.1g}): a covariate that tells them apart, or several classes, would fit "
            "better."
        )
    return doubts


def _lost(source: Any, errors: inferences.Errors) -> list[str]:
    """Coefficients of which nothing is known."""
    found = source.found
    s = found.marginal.structure
    names = source.design.names
    lost = [names[a] for a in np.flatnonzero(inferences.untold(found, errors))]
    centre, sd = source.people.typical
    means = s.means(found.x[: s.n_beta])
    far = np.abs(means - centre) > FAR * sd
    for a in np.flatnonzero(far.any(axis=0)):
        lost.append(source.people.coordinates.names[a])
    whose = np.abs(s.design).sum(axis=0).argmax(axis=0)
    size = np.abs(s.design).max(axis=(0, 1)) * np.sqrt(np.diag(errors.model)[: s.n_beta])
    lost += [names[a] for a in np.flatnonzero(size > WIDE * sd[whose])]
    return list(dict.fromkeys(lost))


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
