"""Estimates as JSON, and back: the documents are records, read and written by their annotations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from penchant._typing import Label, Matrix, Vector
from penchant._version import __version__
from penchant.errors import DataError, format_list
from penchant.json_records import (
    Document,
    MinimumValue,
    Shape,
    damaged_field_error,
    from_json,
    require_distinct,
    to_json,
)
from penchant.softmax.constraints import Constraints
from penchant.softmax.data_behind_estimate import (
    DetachedSource,
    EstimateFields,
    IntervalKind,
    Method,
)
from penchant.softmax.estimate_diagnostics import (
    Diagnostics,
    Direction,
    LinearizationValidity,
    Status,
    nominal_dict,
)
from penchant.softmax.inference_from_choices import ChoiceSource
from penchant.softmax.intervals_and_tests import ParameterEstimate
from penchant.softmax.newton import Quadratic

FORMAT, MODEL_FORMAT = "penchant-estimate", "penchant-model-estimate"
ESTIMATE_VERSION = 1  # raise it when older readers would misread a file: they refuse newer ones
Names: TypeAlias = tuple[str, ...]
OfNames: TypeAlias = Annotated[Vector, Shape("names")]
Covariance: TypeAlias = Annotated[Matrix, Shape("names", "names")]
CovarianceKind = Literal["model", "robust", "robust (HC0)", "clustered"]


@dataclass(frozen=True, kw_only=True)
class ChoicesDocument:
    """An estimate of choices. Fields are described in `Estimate`; names stand before arrays."""

    format: Literal["penchant-estimate"]
    version: int
    penchant: str
    subject: Label
    status: Status
    message: str
    method: Method
    prior: str | None
    covariance_kind: CovarianceKind
    n_decisions: Annotated[int, MinimumValue(1)]
    total_weight: float
    n_options: tuple[int, int]
    log_likelihood: float
    null_log_likelihood: float
    log_posterior: float | None
    pseudo_r2: float
    aic: float
    bic: float
    level: float
    parameters: tuple[ParameterEstimate, ...]
    names: Names
    theta: OfNames
    covariance: Covariance
    inverse_information: Covariance
    scale: OfNames
    quadratic: Quadratic | None
    constraints: Constraints | None
    diagnostics: Diagnostics
    notes: tuple[str, ...]
    n_subjects: int = 1
    ratios: bool | None = None
    natural_covariance: Matrix | None = None


@dataclass(frozen=True, kw_only=True)
class ModelEstimateDocument:
    """An estimate of a model, whose data and source are not kept."""

    format: Literal["penchant-model-estimate"]
    version: int
    subject: Label
    status: Status
    message: str
    model: str = ""
    prior: str | None = None
    log_likelihood: float
    null_log_likelihood: float
    log_posterior: float | None
    n_decisions: Annotated[int, MinimumValue(0)]
    n_subjects: int = 1
    level: float
    intervals: IntervalKind = "wald"
    parameters: tuple[ParameterEstimate, ...]
    names: Names
    theta: OfNames
    covariance: Covariance
    diagnostics: Diagnostics
    notes: tuple[str, ...]
    ratios: bool | None = None
    natural_covariance: Matrix | None = None


@dataclass(frozen=True, kw_only=True)
class ApproximationValidityDocument:
    """The range of validity of a linearised estimate, beside the fields of the estimate."""

    model: str
    nominal: Mapping[str, Any]
    coordinate: str
    ratio: float
    bounds: tuple[float, float]
    valid: bool
    exact_log_likelihood: float
    without_meaning: tuple[str, ...]


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
    of_choices = isinstance(source, ChoiceSource)
    is_detached = isinstance(source, DetachedSource) and source.covariance is not None
    record = ChoicesDocument if of_choices else ModelEstimateDocument
    given = {
        "format": FORMAT if of_choices else MODEL_FORMAT,
        "version": ESTIMATE_VERSION,
        "penchant": __version__,
        "level": level,
        "intervals": kind,
        "parameters": tuple(parameters),
        "model": source.model_words,
        "ratios": source.has_ratios(estimate) or None,
        "natural_covariance": estimate.natural_covariance if is_detached else None,
    }
    for name in ("scale", "quadratic", "constraints") if of_choices else ():
        given[name] = getattr(source, name)
    names = [field.name for field in fields(record)]
    made = record(**{n: given[n] if n in given else getattr(estimate, n) for n in names})
    document: Document = to_json(made)
    if estimate.validity is not None:
        document |= to_json(_validity_document(estimate.validity, source.model_words))
    return document


def _validity_document(
    validity: LinearizationValidity, words: str
) -> ApproximationValidityDocument:
    return ApproximationValidityDocument(
        model=words,
        nominal=nominal_dict(validity.nominal),
        coordinate=validity.coordinate,
        ratio=validity.ratio,
        bounds=validity.bounds,
        valid=validity.valid,
        exact_log_likelihood=validity.exact_log_likelihood,
        without_meaning=validity.meaningless_parameters,
    )


def estimate_arguments_from_document(content: Any) -> dict[str, Any]:
    """Arguments of `Estimate` from what `to_dict` wrote; says which field is wrong."""
    if not isinstance(content, Mapping):
        raise DataError(
            "content",
            "must be a dict written by to_dict",
            got=type(content).__name__,
            fix="Read the file with json.load first.",
        )
    if content.get("format") not in (FORMAT, MODEL_FORMAT):
        raise DataError(
            "format",
            f"must be {FORMAT!r}",
            got=repr(content.get("format")),
            fix="This is not an estimate written by Penchant.",
        )
    if not isinstance(content.get("version"), int) or content["version"] > ESTIMATE_VERSION:
        raise DataError(
            "version",
            f"must be at most {ESTIMATE_VERSION}",
            got=repr(content.get("version")),
            fix="Upgrade Penchant.",
        )
    try:
        document: ChoicesDocument | ModelEstimateDocument = (
            from_json(ChoicesDocument, content)
            if content["format"] == FORMAT
            else from_json(ModelEstimateDocument, content)
        )
        found = from_json(ApproximationValidityDocument, content) if "ratio" in content else None
    except KeyError as missing:  # a missing field is one message, wherever it is first needed
        raise DataError(
            "an estimate",
            f"must have the field {missing}",
            got="none",
            fix="The file is damaged: fit again.",
        ) from None
    _check_document_consistency(document)
    made = {
        field.name: getattr(document, field.name)
        for field in fields(EstimateFields)
        if hasattr(document, field.name)
    }
    model = found.model if found is not None else getattr(document, "model", "")
    return (
        made
        | _source_arguments_from_document(document, model)
        | {"validity": _validity_from_document(found)}
    )


def _source_arguments_from_document(
    document: ChoicesDocument | ModelEstimateDocument, model: str
) -> dict[str, Any]:
    """The source of an estimate that was read, and what follows from the kind of source."""
    kind = document.intervals if isinstance(document, ModelEstimateDocument) else "wald"
    source = DetachedSource(
        document.parameters,
        document.level,
        kind,
        model,
        document.natural_covariance,
        ratios=bool(document.ratios),
    )
    if isinstance(document, ModelEstimateDocument):
        # Models are not stored: fill in the fields that one would give.
        return {
            "inverse_information": document.covariance,
            "total_weight": float(document.n_decisions),
            "n_options": (0, 0),
            "method": "maximum likelihood" if document.log_posterior is None else "MAP",
            "source": source,
        }
    # Where natural parameters are theta itself, they need no stored source.
    own = tuple(p.name for p in document.parameters) == document.names
    return {
        "source": ChoiceSource(
            data=None,
            scale=document.scale,
            constraints=document.constraints,
            quadratic=document.quadratic,
            natural_parameter_map=None if own else source,
            model_words=model,
        )
    }


def _validity_from_document(
    found: ApproximationValidityDocument | None,
) -> LinearizationValidity | None:
    if found is None:
        return None
    return LinearizationValidity(
        nominal=found.nominal,
        coordinate=found.coordinate,
        ratio=found.ratio,
        bounds=found.bounds,
        exact_log_likelihood=found.exact_log_likelihood,
        shape_dependent_parameters=found.without_meaning,
    )


def _check_document_consistency(document: ChoicesDocument | ModelEstimateDocument) -> None:
    """Check what no annotation says: how fields go together."""
    names, found = document.names, document.diagnostics
    require_distinct(names, "names")
    d = len(names)
    matrices = {"covariance": document.covariance}
    if isinstance(document, ChoicesDocument):
        matrices["inverse_information"] = document.inverse_information
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
    document: ChoicesDocument,
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
