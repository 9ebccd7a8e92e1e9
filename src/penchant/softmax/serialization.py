"""Estimates as JSON, and back: the documents are records, read and written by their annotations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from penchant._typing import Label, Matrix, Vector
from penchant._version import __version__
from penchant.errors import format_list
from penchant.json_records import (
    Document,
    MinimumValue,
    Shape,
    damaged_field_error,
    record_document,
    record_from_document,
    require_distinct,
)
from penchant.softmax.constraints import Constraints
from penchant.softmax.data_behind_estimate import (
    DetachedSource,
    EstimateFields,
    EstimateSource,
    IntervalKind,
    Method,
)
from penchant.softmax.estimate_diagnostics import (
    Diagnostics,
    Direction,
    LinearizationValidity,
    Status,
)
from penchant.softmax.inference_from_choices import ChoiceSource
from penchant.softmax.intervals_and_tests import ParameterEstimate
from penchant.softmax.newton import Quadratic

OfNames: TypeAlias = Annotated[Vector, Shape("names")]
Covariance: TypeAlias = Annotated[Matrix, Shape("names", "names")]
CovarianceKind = Literal["model", "robust", "robust (HC0)", "clustered"]


@dataclass(frozen=True, kw_only=True)
class EstimateDocument:
    """An estimate without its data. Fields are described in `Estimate`; names before arrays.

    Attributes
    ----------
    level, intervals, parameters
        Level and kind of the intervals of the natural parameters.
    model
        In words; a model is not stored. Empty for choices.
    scale, quadratic, constraints
        Of choices, as in `ChoiceSource`; None for a model.
    """

    penchant: str
    subject: Label
    status: Status
    message: str
    model: str
    method: Method
    prior: str | None
    covariance_kind: CovarianceKind
    n_decisions: Annotated[int, MinimumValue(0)]
    total_weight: float
    n_options: tuple[int, int]
    log_likelihood: float
    null_log_likelihood: float
    log_posterior: float | None
    pseudo_r2: float
    aic: float
    bic: float
    level: float
    intervals: IntervalKind
    parameters: tuple[ParameterEstimate, ...]
    names: tuple[str, ...]
    theta: OfNames
    covariance: Covariance
    inverse_information: Covariance
    n_weights: Annotated[int, MinimumValue(0)]
    scale: OfNames | None
    quadratic: Quadratic | None
    constraints: Constraints | None
    diagnostics: Diagnostics
    notes: tuple[str, ...]
    n_subjects: int = 1
    validity: LinearizationValidity | None = None
    ratios: bool | None = None
    natural_covariance: Matrix | None = None


def to_dict(
    estimate: Any, parameters: Sequence[ParameterEstimate], level: float, kind: IntervalKind
) -> Document:
    """Numbers that JSON can hold: None for NaN, "inf" and "-inf" for the infinite ones.

    Parameters
    ----------
    estimate
        An `Estimate`.
    parameters, level, kind
        Its natural parameters, and of what level and kind their intervals are.
    """
    source = estimate.source
    is_detached = isinstance(source, DetachedSource) and source.covariance is not None
    given = {
        "penchant": __version__,
        "level": level,
        "intervals": kind,
        "parameters": tuple(parameters),
        "model": source.model_words,
        "ratios": source.has_ratios(estimate) or None,
        "natural_covariance": estimate.natural_covariance if is_detached else None,
    }
    for name in ("scale", "quadratic", "constraints"):
        given[name] = getattr(source, name, None)
    names = [field.name for field in fields(EstimateDocument)]
    made = EstimateDocument(**{n: given[n] if n in given else getattr(estimate, n) for n in names})
    document = record_document(type(estimate), made)
    if estimate.validity is not None:
        document["validity"]["valid"] = estimate.validity.valid
    return document


def estimate_arguments_from_document(owner: type, content: Any) -> dict[str, Any]:
    """Arguments of `Estimate`, the owner, from what `to_dict` wrote; says which field is wrong."""
    document = record_from_document(owner, content, EstimateDocument)
    _check_document_consistency(document)
    stored = {f.name for f in fields(EstimateFields)} - {"source"}
    return {name: getattr(document, name) for name in stored} | {"source": _source(document)}


def _source(document: EstimateDocument) -> EstimateSource:
    """The source of an estimate that was read: without data."""
    source = DetachedSource(
        document.parameters,
        document.level,
        document.intervals,
        document.n_weights,
        document.model,
        document.natural_covariance,
        ratios=bool(document.ratios),
    )
    if document.scale is None:
        return source
    # Where natural parameters are theta itself, they need no stored source.
    own = tuple(p.name for p in document.parameters) == document.names
    return ChoiceSource(
        data=None,
        scale=document.scale,
        constraints=document.constraints,
        quadratic=document.quadratic,
        natural_parameter_map=None if own else source,
        model_words=document.model,
    )


def _check_document_consistency(document: EstimateDocument) -> None:
    """Check what no annotation says: how fields go together."""
    names, found = document.names, document.diagnostics
    require_distinct(names, "names")
    d = len(names)
    matrices = {
        "covariance": document.covariance,
        "inverse_information": document.inverse_information,
    }
    if document.scale is not None:
        if not document.total_weight > 0:
            raise damaged_field_error("total_weight", "be positive", document.total_weight)
        if not 1 <= document.n_options[0] <= document.n_options[1]:
            raise damaged_field_error(
                "n_options", "be two sizes in order", list(document.n_options)
            )
        for place, array, shape in _penalty_arrays(document):
            if array.shape != shape:
                rule = f"hold numbers of shape {shape}"
                raise damaged_field_error(place, rule, f"shape {array.shape}")
    for place, matrix in matrices.items():
        variances = np.diag(matrix)  # NaN is allowed: no standard error
        if (variances < 0).any():
            raise damaged_field_error(place, "have no negative variance", variances.min())
    if found.rank > d:
        raise damaged_field_error("diagnostics.rank", f"lie in 0..{d}", found.rank)
    for place, direction in _directions_with_field_names(found):
        odd = sorted(name for name in direction if name not in names)
        if odd:
            rule = f"name parameters ({', '.join(names)})"
            raise damaged_field_error(f"diagnostics.{place}", rule, format_list(odd))


def _penalty_arrays(
    document: EstimateDocument,
) -> Iterator[tuple[str, Vector | Matrix, tuple[int, ...]]]:
    """Arrays of the prior and of the constraints, and the shapes that they must have."""
    d = len(document.names)
    if document.quadratic is not None:
        yield "quadratic.precision", document.quadratic.precision, (d, d)
        yield "quadratic.linear", document.quadratic.linear, (d,)
    if document.constraints is not None:
        rows = document.constraints
        yield "constraints.matrix", rows.matrix, (len(rows.labels), d)


def _directions_with_field_names(found: Diagnostics) -> Iterator[tuple[str, Direction]]:
    for direction in found.null_directions:
        yield "null_directions", direction
    for combination in found.combinations:
        yield "combinations", combination.weights
    if found.near_separation is not None:
        yield "near_separation", found.near_separation
    if found.separation is not None:
        yield "separation.direction", found.separation.direction
