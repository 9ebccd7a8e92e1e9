"""Builds the `PopulationFit` of a search that has ended, with its status, message and notes.

All diagnoses of a population fit are made here from the results of `uncertainty`: each gives a
status and a sentence with a remedy; the gravest is the status of the fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penchant._typing import Label, Matrix, Vector
from penchant.errors import PythonExpression, format_list, mark_argument
from penchant.models.coordinates import Coordinates
from penchant.models.model import Declared, Model, model_words
from penchant.models.spatial.locality import LOCALITY
from penchant.population.hierarchy import uncertainty
from penchant.population.hierarchy.data_behind_fit import PopulationSource
from penchant.population.hierarchy.design_matrix import Design
from penchant.population.hierarchy.marginal_maximization import SearchResult
from penchant.population.hierarchy.result import PopulationFit
from penchant.population.hierarchy.subject_posteriors import PopulationSubjects


@dataclass(frozen=True, slots=True)
class DiagnosisOptions:
    """Limits beyond which a status or a note is given."""

    min_reliability: float = 0.1  # below it a spread is hardly distinguishable from 0: warn
    max_mean_influence: float = 1.0  # standard errors; one subject who moves a mean more is named
    max_spread_influence: float = 1.5  # laxer than for means: spreads rest on extremes by nature
    boundary_correlation: float = 0.99  # just within 0.992, the bound at which the search stops
    normality_p_value: float = 0.01  # strict: a note that nobody asked for should rarely be false
    max_mean_distance: float = 12.0  # typical sds; decisions are the same for all means beyond
    max_standard_error: float = 2.0  # typical sds; the interval then covers all plausible values


DIAGNOSIS = DiagnosisOptions()


def correlation_matrices(matrices: Matrix) -> Matrix:
    """Correlation matrix of every group's covariance; 0 where a parameter has no spread."""
    sd = np.sqrt(np.einsum("gaa->ga", matrices))
    unit = sd[:, :, None] * sd[:, None, :]
    correlations = np.where(unit > 0, matrices / np.where(unit > 0, unit, 1.0), 0.0)
    for own in correlations:
        np.fill_diagonal(own, 1.0)
    return np.asarray(correlations)


# Gravest first, as only one status is reported: what makes all estimates doubtful comes before what
# concerns one of them.
STATUS_ORDER = (
    "stopped early",
    "mean not identified",
    "integration not settled",
    "one subject decides",
    "no spread in",
    "correlation at",
    "spread not told",
)


def most_severe_status(statuses: Mapping[str, str]) -> str:
    """The gravest of several statuses; "converged" if there is none."""
    for kind in STATUS_ORDER:
        for name in statuses:
            if name.startswith(kind):
                return name
    return "converged"


def diagnose_fit(
    source: PopulationSource,
    errors: uncertainty.ParameterCovariances,
    matrices: Matrix,
    sd_limits: Matrix,
    reliability: Mapping[str, float],
) -> dict[str, str]:
    """Find statuses that hold of a fit, each with a sentence about it."""
    optimum, likelihoods = source.optimum, source.likelihoods
    structure = optimum.marginal.structure
    names = likelihoods.coordinates.names
    statuses: dict[str, str] = {}
    sentences = _unidentified_sentences(source, errors)
    if sentences:
        statuses["mean not identified"] = " ".join(sentences)
    correlations = correlation_matrices(matrices)
    for i, a in enumerate(structure.random_coordinates):
        for b in structure.random_coordinates[:i]:
            if (
                structure.spread.correlated
                and np.abs(correlations[:, a, b]).max() > DIAGNOSIS.boundary_correlation
            ):
                r = correlations[np.abs(correlations[:, a, b]).argmax(), a, b]
                sign = "+1" if r > 0 else "-1"
                statuses[f"correlation at {sign}"] = (
                    f"{names[b]} and {names[a]} go together in all people, as far as can be told: "
                    "one of them has no spread of its own. Use spread='diagonal' if that is "
                    "not meant."
                )
    for c, a in enumerate(structure.random_coordinates):
        if reliability[names[a]] < DIAGNOSIS.min_reliability:
            low, high = sd_limits[0, c]
            if low < 0.05 * high:  # 0 is as plausible as the estimate
                statuses["spread not told"] = (
                    f"The spread of {names[a]} may be anything from 0 to {high:.3g}: the decisions "
                    "hardly tell people apart in it."
                )
    # First-order change of each parameter if a subject is left out: refitting without each of them
    # would cost as many searches as there are subjects.
    shift = np.abs(optimum.evaluation.scores @ errors.model) / np.sqrt(
        np.maximum(np.diag(errors.model), 1e-300)
    )
    shift[:, structure.n_beta :] /= DIAGNOSIS.max_spread_influence
    worst, what = (int(v) for v in np.unravel_index(int(shift.argmax()), shift.shape))
    if shift[worst, what] > DIAGNOSIS.max_mean_influence:
        moved, limit = "a spread", DIAGNOSIS.max_spread_influence
        if what < structure.n_beta:
            moved, limit = source.design.names[what], DIAGNOSIS.max_mean_influence
        statuses["one subject decides"] = (
            f"Without subject {likelihoods.subjects[worst]} {moved} would move by more than "
            f"{limit:g} standard errors: look at its decisions, or fit without it."
        )
    return statuses


def _normality_note(source: PopulationSource) -> list[str]:
    """Note that people are not normal about their mean."""
    p_values = uncertainty.normality_p_values(source.optimum)
    if not p_values.size or p_values.min() * p_values.size >= DIAGNOSIS.normality_p_value:
        return []
    c, which = (int(v) for v in np.unravel_index(int(p_values.argmin()), p_values.shape))
    kind = ("lopsided", "of two kinds or heavy-tailed")[which]
    name = source.likelihoods.coordinates.names[
        source.optimum.marginal.structure.random_coordinates[c]
    ]
    return [
        f"People are {kind} in {name}, not normal about one mean (p = {p_values.min():.1g}): a "
        "covariate that tells them apart would fit better."
    ]


def _unidentified_sentences(
    source: PopulationSource, errors: uncertainty.ParameterCovariances
) -> list[str]:
    """Sentences on coefficients without a finite estimate, each with a remedy."""
    optimum = source.optimum
    structure = optimum.marginal.structure
    names, coordinates = source.design.names, source.likelihoods.coordinates
    centre, sd = source.likelihoods.typical_range
    unidentified = [
        names[a] for a in np.flatnonzero(uncertainty.unidentified_coefficients(optimum, errors))
    ]
    coordinate_of = np.abs(structure.design).sum(axis=0).argmax(axis=0)
    distances = np.abs(structure.means(optimum.x[: structure.n_beta]) - centre)
    far = np.asarray((distances > DIAGNOSIS.max_mean_distance * sd).any(axis=0))
    size = np.abs(structure.design).max(axis=(0, 1)) * np.sqrt(
        np.diag(errors.model)[: structure.n_beta]
    )
    wide = (size > DIAGNOSIS.max_standard_error * sd[coordinate_of]) | (
        far[coordinate_of] & np.isin(names, coordinates.names)
    )
    sentences, infinite = [], []
    if len({coordinate_of[names.index(name)] for name in unidentified}) > 1:
        sentences.append(
            f"The decisions tell {format_list(unidentified)} together only: leave one of them out."
        )
    else:
        infinite = list(unidentified)
    infinite += [names[a] for a in np.flatnonzero(wide) if names[a] not in unidentified]
    for name in infinite:
        parameter = coordinates.names[coordinate_of[names.index(name)]]
        if name == parameter or parameter not in infinite:  # it says enough for its covariates
            sentences.append(
                f"{name} has no finite best value: {_identification_remedy(name, coordinates)}."
            )
    return sentences


def _identification_remedy(name: str, coordinates: Coordinates) -> str:
    """Remedy for a coefficient without a finite estimate."""
    if name not in coordinates.names:
        return "leave that covariate out, or join its levels"
    own = coordinates.each[coordinates.index(name)]
    if own.natural.is_ratio or (own.natural.is_weight and own.link.name != "log"):
        limits = mark_argument("links", PythonExpression(f"{{{name!r}: ('logit', low, high)}}"))
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


def _uncertainty_bonus_note(fit: PopulationFit, model: Model | None) -> tuple[str, ...]:
    """Note that an uncertainty bonus may be below 0 and stand in for staying near.

    An option near the last one is known better than one far away, so that a bonus below 0 and a
    weight on nearness predict much the same choices.
    """
    if model is None or Declared(model).locations is None or fit.links.get("bonus") != "identity":
        return ()
    whose = [fit.parameters, *fit.group_parameters().values()]
    if min(p.low for own in whose for p in own if p.name == "bonus") >= 0:
        return ()
    terms = format_list([name for name in model.weights if name in LOCALITY]) or "nothing"
    positive = mark_argument("links", {"bonus": "log"})
    return (
        "The bonus may be below 0, and its sign depends on how staying near is modelled (here by "
        f"{terms}): who stays near looks like who avoids what is uncertain. Compare "
        f"with locality='distance' and with {positive}, which keeps it above 0; a difference "
        "between groups may turn round.",
    )


CODING = "A parameter's own coefficient is that of"


def categorical_coding_note(design: Design) -> str:
    """Note that says how coefficients of covariates are coded."""
    first = [f"{v.name} {v.levels[0]}" for v in design.variables.values() if v.levels]
    centred = [f"the mean {v.name}" for v in design.variables.values() if not v.levels]
    others = "; those of other levels are differences from it" if first else ""
    return f"{CODING} {format_list([*first, *centred])}{others}."


def build_result(
    source: PopulationSource,
    integration_error: float,
    status: Mapping[str, str],
    notes: Sequence[str],
) -> PopulationFit:
    """Build the result of a search that has ended, with statuses of `status` and its own."""
    optimum, likelihoods = source.optimum, source.likelihoods
    structure = optimum.marginal.structure
    n, p = structure.design.shape[:2]
    names = likelihoods.coordinates.names
    columns = np.array(
        [int((np.abs(structure.design[:, a]).sum(axis=0) > 0).sum()) for a in range(p)]
    )
    errors = uncertainty.parameter_covariances(optimum, int(columns.max()))
    coefficient_covariance = errors.robust if source.covariance_kind == "robust" else errors.model
    posteriors = uncertainty.subject_posteriors(optimum, errors.model)
    if source.descriptive_optimum is not optimum:  # a spread estimated as 0 is not known to be 0
        descriptive_errors = uncertainty.parameter_covariances(
            source.descriptive_optimum, int(columns.max())
        )
        described = uncertainty.subject_posteriors(
            source.descriptive_optimum, descriptive_errors.model
        )
        posteriors = posteriors._replace(mean=described.mean, covariance=described.covariance)
    own = structure.spread.covariance_matrices(optimum.x[structure.n_beta :])
    matrices = np.zeros((structure.spread.n_groups, p, p))
    matrices[:, structure.random_coordinates[:, None], structure.random_coordinates[None]] = own
    shares = _reliability(optimum, matrices)
    reliability = {names[a]: float(shares[c]) for c, a in enumerate(structure.random_coordinates)}
    statuses = dict(status)
    limits = uncertainty.sd_limits(
        source.problem, optimum, uncertainty.spread_standard_errors(optimum, errors), 0.95
    )
    statuses |= diagnose_fit(source, errors, matrices, limits, reliability)
    coefficient_names = source.design.names
    covariance = coefficient_covariance[: structure.n_beta, : structure.n_beta].copy()
    unidentified = np.flatnonzero(uncertainty.unidentified_coefficients(optimum, errors))
    covariance[unidentified, unidentified] = np.inf  # not a large number: nothing is known
    message = " ".join(statuses.values())
    words = model_words(source.model) if source.model is not None else "mixed logit"
    explained = [*notes, *_normality_note(source)]
    if source.descriptive_optimum is not optimum:
        explained.append(
            "Where no spread was found, people and the prior are described with the one that a "
            "weak prior keeps from vanishing (spread_prior='gamma')."
        )
    if source.design.variables:
        explained.append(categorical_coding_note(source.design))
    fit = PopulationFit(
        status=most_severe_status(statuses),
        message=message,
        names=coefficient_names,
        coefficients=optimum.x[: structure.n_beta].copy(),
        covariance=covariance,
        parameter_names=names,
        links=likelihoods.coordinates.links,
        spread=_matrices_by_group(matrices, source.group_labels),
        correlations=_matrices_by_group(correlation_matrices(matrices), source.group_labels),
        reliability=reliability,
        log_likelihood=optimum.evaluation.value,
        n_parameters=len(uncertainty.free_parameter_indices(optimum)),
        evidence=optimum.evaluation.evidence,
        loo_each=posteriors.loo,
        integration_error=integration_error,
        subjects=PopulationSubjects.from_posteriors(source, posteriors),
        estimator="reml" if source.problem.restricted else "ml",
        degrees_of_freedom=np.repeat(n - columns, columns).astype(np.float64),
        n_subjects=n,
        n_decisions=int(likelihoods.n_decisions.sum()),
        model_words=words,
        notes=tuple(explained),
        sd_limits=limits,
        source=source,
    )
    return replace(fit, notes=(*fit.notes, *_uncertainty_bonus_note(fit, source.model)))


def _reliability(optimum: SearchResult, matrices: Matrix) -> Vector:
    """1 - mean posterior variance / variance between people, of each coordinate with spread."""
    structure = optimum.marginal.structure
    r = len(structure.random_coordinates)
    variance = np.einsum("naa->na", optimum.evaluation.covariances[:, :r, :r])
    between = np.einsum("gaa->ga", matrices)[:, structure.random_coordinates][structure.group]
    return np.asarray(1.0 - (variance / between).mean(axis=0))


def _matrices_by_group(matrices: Matrix, labels: tuple[Label, ...]) -> Any:
    return dict(zip(labels, matrices, strict=True)) if labels else matrices[0]
