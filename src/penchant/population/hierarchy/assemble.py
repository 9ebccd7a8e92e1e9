"""A population fit from where its search ended, and what is wrong with it, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import either, format_list
from penchant.models.model import Declared, model_words
from penchant.models.spatial.locality import LOCALITY
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
    sd_limits: Matrix,
    reliability: Mapping[str, float],
) -> dict[str, str]:
    """What is wrong, and a sentence about it."""
    found, people = source.found, source.people
    s = found.marginal.structure
    names = people.coordinates.names
    doubts: dict[str, str] = {}
    lost = _lost(source, errors)
    if lost:
        doubts["mean not identified"] = " ".join(lost)
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
            low, high = sd_limits[0, c]
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
    return doubts


def _shape_note(source: Any) -> list[str]:
    """A sentence where people are not normal about their mean."""
    odd = inferences.normality(source.found)
    if not odd.size or odd.min() * odd.size >= UNLIKELY:
        return []
    c, which = (int(v) for v in np.unravel_index(int(odd.argmin()), odd.shape))
    kind = ("lopsided", "of two kinds or heavy-tailed")[which]
    name = source.people.coordinates.names[source.found.marginal.structure.random[c]]
    return [
        f"People are {kind} in {name}, not normal about one mean (p = {odd.min():.1g}): a "
        "covariate that tells them apart would fit better."
    ]


def _lost(source: Any, errors: inferences.Errors) -> list[str]:
    """A sentence on each coefficient of which nothing is known, with what to do."""
    found = source.found
    s = found.marginal.structure
    names, coordinates = source.design.names, source.people.coordinates
    centre, sd = source.people.typical
    untold = [names[a] for a in np.flatnonzero(inferences.untold(found, errors))]
    whose = np.abs(s.design).sum(axis=0).argmax(axis=0)  # coordinate of each coefficient
    far = (np.abs(s.means(found.x[: s.n_beta]) - centre) > FAR * sd).any(axis=0)
    size = np.abs(s.design).max(axis=(0, 1)) * np.sqrt(np.diag(errors.model)[: s.n_beta])
    wide = (size > WIDE * sd[whose]) | (far[whose] & np.isin(names, coordinates.names))
    said, lost = [], []
    if len({whose[names.index(name)] for name in untold}) > 1:
        said.append(
            f"The decisions tell {format_list(untold)} together only: leave one of them out."
        )
    else:  # one parameter of which nothing is known, with its covariates
        lost = list(untold)
    lost += [names[a] for a in np.flatnonzero(wide) if names[a] not in untold]
    for name in lost:
        parameter = coordinates.names[whose[names.index(name)]]
        if name == parameter or parameter not in lost:  # what holds of all holds of its groups
            said.append(f"{name} has no finite best value: {_remedy(name, coordinates)}.")
    return said


def _remedy(name: str, coordinates: Any) -> str:
    """What to do about a coefficient without a finite best value."""
    if name not in coordinates.names:
        return "leave that covariate out, or join its levels"
    own = coordinates.each[coordinates.index(name)]
    if own.natural.is_ratio or (own.natural.is_weight and own.link.name != "log"):
        limits = either(f"links={{{name!r}: ('logit', low, high)}}", f"--links {name}=LOW..HIGH")
        if own.link.name == "identity":
            return f"people may decide by it without error. Keep it in a range ({limits})"
        return (
            f"it runs to an end of its scale ({own.link}). Keep it in a range ({limits}), or give "
            "it no link"
        )
    return (
        "people lie at the end of its range, as far as their decisions tell. Hold it fixed, or "
        "leave it out"
    )


def _bonus_note(fit: PopulationFit, model: Any) -> tuple[str, ...]:
    """A sentence where a bonus for uncertainty may be below 0 and stand in for staying near.

    An option near the last one is known better than one far away, so that a bonus below 0 and a
    weight on nearness predict much the same choices.
    """
    if fit.links.get("bonus") != "identity" or Declared(model).locations is None:
        return ()
    whose = [fit.parameters, *fit.group_parameters().values()]
    if min(p.low for own in whose for p in own if p.name == "bonus") >= 0:
        return ()
    terms = format_list([name for name in model.weights if name in LOCALITY]) or "nothing"
    positive = either("links={'bonus': 'log'}", "--links bonus=log")
    return (
        "The bonus may be below 0, and its sign depends on how staying near is modelled (here by "
        f"{terms}): who stays near looks like who avoids what is uncertain. Compare "
        f"with locality='distance' and with {positive}, which keeps it above 0; a difference "
        "between groups may turn round.",
    )


CODING = "A parameter's own coefficient is that of"


def coding_words(design: Any) -> str:
    """What the coefficients of covariates are."""
    first = [f"{v.name} {v.levels[0]}" for v in design.variables.values() if v.levels]
    centred = [f"the mean {v.name}" for v in design.variables.values() if not v.levels]
    others = "; those of other levels are differences from it" if first else ""
    return f"{CODING} {format_list([*first, *centred])}{others}."


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
    limits = inferences.sd_limits(source.task, found, inferences.spread_errors(found, errors), 0.95)
    doubts |= doubts_of(source, errors, matrices, limits, reliability)
    coefficient_names = source.design.names
    covariance = whole[: s.n_beta, : s.n_beta].copy()
    untold = np.flatnonzero(inferences.untold(found, errors))
    covariance[untold, untold] = np.inf
    said = " ".join(doubts.values())
    words = model_words(source.model) if source.model is not None else "mixed logit"
    explained = [*notes, *_shape_note(source)]
    if source.about is not found:
        explained.append(
            "Where no spread was found, people and the prior are described with the one that a "
            "weak prior keeps from vanishing (spread_prior='gamma')."
        )
    if source.design.variables:
        explained.append(coding_words(source.design))
    fit = PopulationFit(
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
        sd_limits=limits,
        source=source,
    )
    return replace(fit, notes=(*fit.notes, *_bonus_note(fit, source.model)))


def _reliability(found: Found, matrices: Matrix) -> Vector:
    """1 - mean posterior variance / variance between people, of each coordinate with spread."""
    s = found.marginal.structure
    r = len(s.random)
    variance = np.einsum("naa->na", found.known.covariances[:, :r, :r])
    between = np.einsum("gaa->ga", matrices)[:, s.random][s.group]
    return np.asarray(1.0 - (variance / between).mean(axis=0))


def _by_group(matrices: Matrix, labels: tuple[Any, ...]) -> Any:
    return dict(zip(labels, matrices, strict=True)) if labels else matrices[0]
