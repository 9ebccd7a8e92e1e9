"""An estimate as plain numbers and text, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant._version import __version__
from penchant.errors import DataError
from penchant.softmax.constraints import Constraints
from penchant.softmax.diagnostics import Combination, Diagnostics, Separation
from penchant.softmax.document_checks import check
from penchant.softmax.newton import Quadratic

if TYPE_CHECKING:
    from penchant.softmax.estimate import Estimate

FORMAT = "penchant-estimate"
VERSION = 1


def to_dict(estimate: Estimate, level: float) -> dict[str, Any]:
    """Numbers that JSON can hold: None for NaN, "inf" and "-inf" for the infinite ones."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "penchant": __version__,
        "subject": plain_label(estimate.subject),
        "status": estimate.status,
        "message": estimate.message,
        "method": estimate.method,
        "prior": estimate.prior,
        "covariance_kind": estimate.covariance_kind,
        "n_decisions": estimate.n_decisions,
        "total_weight": estimate.total_weight,
        "n_options": list(estimate.n_options),
        "log_likelihood": plain(estimate.log_likelihood),
        "null_log_likelihood": plain(estimate.null_log_likelihood),
        "log_posterior": plain(estimate.log_posterior),
        "pseudo_r2": plain(estimate.pseudo_r2),
        "aic": plain(estimate.aic),
        "bic": plain(estimate.bic),
        "level": level,
        "parameters": [
            {
                "name": p.name,
                "estimate": plain(p.estimate),
                "standard_error": plain(p.standard_error),
                "low": plain(p.low),
                "high": plain(p.high),
            }
            for p in estimate.parameters_at(level)
        ],
        "names": list(estimate.names),
        "theta": plain(estimate.theta),
        "covariance": plain(estimate.covariance),
        "inverse_information": plain(estimate.inverse_information),
        "scale": plain(estimate.scale),
        "quadratic": None if estimate.quadratic is None else _quadratic(estimate.quadratic),
        "constraints": None if estimate.constraints is None else _rows(estimate.constraints),
        "diagnostics": diagnostics_dict(estimate.diagnostics),
        "notes": list(estimate.notes),
        "n_subjects": estimate.n_subjects,
    }


def diagnostics_dict(d: Diagnostics) -> dict[str, Any]:
    """Diagnostics as JSON has them."""
    return {
        "rank": d.rank,
        "null_directions": [dict(v) for v in d.null_directions],
        "combinations": [_combination(c) for c in d.combinations],
        "decisions_needed": d.decisions_needed,
        "separation": None if d.separation is None else _separation(d.separation),
        "near_separation": None if d.near_separation is None else dict(d.near_separation),
        "condition": plain(d.condition),
        "iterations": d.iterations,
        "decrement": plain(d.decrement),
        "certificate": d.certificate,
        "bounds": list(d.bounds),
    }


def plain_label(label: Any) -> Any:
    """A subject's label as JSON has it."""
    return label.item() if isinstance(label, np.generic) else label


def plain(value: Any) -> Any:
    """Floats and arrays as JSON has them."""
    if value is None:
        return None
    if isinstance(value, np.ndarray):
        return [plain(v) for v in value]
    number = float(value)
    if math.isnan(number):
        return None
    return number if math.isfinite(number) else ("inf" if number > 0 else "-inf")


def _quadratic(quadratic: Quadratic) -> dict[str, Any]:
    return {
        "precision": plain(quadratic.precision),
        "linear": plain(quadratic.linear),
        "constant": plain(quadratic.constant),
    }


def _rows(constraints: Constraints) -> dict[str, Any]:
    return {
        "matrix": plain(constraints.matrix),
        "bound": plain(constraints.bound),
        "labels": list(constraints.labels),
    }


def _combination(c: Combination) -> dict[str, Any]:
    return {
        "weights": dict(c.weights),
        "estimate": plain(c.estimate),
        "standard_error": plain(c.standard_error),
    }


def _separation(s: Separation) -> dict[str, Any]:
    return {
        "kind": s.kind,
        "direction": dict(s.direction),
        "supremum": plain(s.supremum),
        "n_resolved": s.n_resolved,
    }


def numbers(value: Any) -> Any:
    """Inverse of `plain`: arrays of floats."""
    if isinstance(value, list):
        return np.array([numbers(v) for v in value], dtype=np.float64)
    return math.nan if value is None else float(value)


def fields(content: Any) -> dict[str, Any]:
    """Arguments of `Estimate` from what `to_dict` wrote; says which field is wrong."""
    if not isinstance(content, Mapping):
        raise DataError(
            f"content must be a dict written by to_dict; got {type(content).__name__}. "
            "Read the file with json.load first."
        )
    if content.get("format") != FORMAT:
        raise DataError(
            f"format must be {FORMAT!r}; got {content.get('format')!r}. "
            "This is not an estimate written by Penchant."
        )
    if not isinstance(content.get("version"), int) or content["version"] > VERSION:
        raise DataError(
            f"version must be at most {VERSION}; got {content.get('version')!r}. Upgrade Penchant."
        )
    try:
        check(content)
        return _fields(content)
    except KeyError as missing:
        raise DataError(
            f"an estimate must have the field {missing}; got none. The file is damaged: fit again."
        ) from None


def _fields(content: Mapping[str, Any]) -> dict[str, Any]:
    d = content["diagnostics"]
    separation = d["separation"]
    quadratic = content["quadratic"]
    rows = content["constraints"]
    posterior = content["log_posterior"]
    return {
        "status": content["status"],
        "message": content["message"],
        "names": tuple(content["names"]),
        "theta": numbers(content["theta"]),
        "covariance": numbers(content["covariance"]),
        "inverse_information": numbers(content["inverse_information"]),
        "log_likelihood": numbers(content["log_likelihood"]),
        "null_log_likelihood": numbers(content["null_log_likelihood"]),
        "log_posterior": None if posterior is None else numbers(posterior),
        "diagnostics": Diagnostics(
            rank=d["rank"],
            null_directions=tuple(d["null_directions"]),
            combinations=tuple(
                Combination(c["weights"], numbers(c["estimate"]), numbers(c["standard_error"]))
                for c in d["combinations"]
            ),
            decisions_needed=d["decisions_needed"],
            separation=None
            if separation is None
            else Separation(**{**separation, "supremum": numbers(separation["supremum"])}),
            near_separation=d["near_separation"],
            condition=numbers(d["condition"]),
            iterations=d["iterations"],
            decrement=numbers(d["decrement"]),
            certificate=d["certificate"],
            bounds=tuple(d["bounds"]),
        ),
        "n_decisions": content["n_decisions"],
        "total_weight": content["total_weight"],
        "n_options": tuple(content["n_options"]),
        "scale": numbers(content["scale"]),
        "method": content["method"],
        "prior": content["prior"],
        "covariance_kind": content["covariance_kind"],
        "subject": content["subject"],
        "notes": tuple(content["notes"]),
        "n_subjects": content.get("n_subjects", 1),
        "constraints": None
        if rows is None
        else Constraints(numbers(rows["matrix"]), numbers(rows["bound"]), tuple(rows["labels"])),
        "quadratic": None
        if quadratic is None
        else Quadratic(
            numbers(quadratic["precision"]),
            numbers(quadratic["linear"]),
            numbers(quadratic["constant"]),
        ),
    }
