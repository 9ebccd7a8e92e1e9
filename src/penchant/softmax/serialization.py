"""Serialization of an estimate to plain numbers and text for JSON, and back.

`check` names the first field of a file that is wrong; `fields` makes the arguments of `Estimate`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np

from penchant._version import __version__
from penchant.errors import DataError, format_list
from penchant.output import from_json_numbers, to_json_label, to_json_numbers
from penchant.softmax.choice_estimate import ChoiceSource
from penchant.softmax.constraints import Constraints
from penchant.softmax.diagnostics import (
    Combination,
    Diagnostics,
    Separation,
    Status,
    Validity,
    nominal_dict,
)
from penchant.softmax.estimate_source import DetachedSource
from penchant.softmax.hypotheses import Parameter
from penchant.softmax.newton import Quadratic

METHODS = ("maximum likelihood", "MAP", "Firth")
COVARIANCES = ("model", "robust", "robust (HC0)", "clustered")
CERTIFICATES = (None, "newton", "linear program", "prior", "penalty")
KINDS = ("complete", "quasi-complete")


def check(content: Mapping[str, Any]) -> None:
    """Raise an error that names the first field that is wrong."""
    names = content["names"]
    _require(_are_texts(names) and len(names) > 0, "names", "be a list of names", names)
    twice = sorted({name for name in names if names.count(name) > 1})
    _require(not twice, "names", "differ", format_list(twice))
    of_model = content["format"] == MODEL_FORMAT
    _check_one_of(content, "status", get_args(Status))
    _check_text(content, "message")
    _require(_are_texts(content["notes"]), "notes", "be a list of text", content["notes"])
    for field in ("log_likelihood", "null_log_likelihood", "log_posterior"):
        _check_shape(content, field, ())
    _check_count(content, "n_decisions", 0 if of_model else 1)
    _check_shape(content, "theta", (len(names),))
    _check_covariance(content, "covariance")
    if not of_model:
        _check_choice_fields(content)
    _check_diagnostics(content["diagnostics"], names)
    _check_parameters(content)


def _check_covariance(content: Mapping[str, Any], field: str) -> None:
    d = len(content["names"])
    _check_shape(content, field, (d, d))
    variances = np.diag(_number_array(content[field]))  # NaN is allowed: no standard error
    _require(not (variances < 0).any(), field, "have no negative variance", variances.min())


def _check_choice_fields(content: Mapping[str, Any]) -> None:
    """Check the fields that only estimates of choices have."""
    d = len(content["names"])
    _check_one_of(content, "method", METHODS)
    _check_one_of(content, "covariance_kind", COVARIANCES)
    prior = content["prior"]
    _require(prior is None or isinstance(prior, str), "prior", "be text or None", prior)
    _check_shape(content, "scale", (d,))
    _check_covariance(content, "inverse_information")
    total = content["total_weight"]
    _require(_is_number(total) and _number_array(total) > 0, "total_weight", "be positive", total)
    sizes = content["n_options"]
    fine = isinstance(sizes, list) and len(sizes) == 2 and all(map(_is_count, sizes))
    _require(fine and 1 <= sizes[0] <= sizes[1], "n_options", "be two sizes in order", sizes)
    _check_penalties(content, d)


def _check_parameters(content: Mapping[str, Any]) -> None:
    """Check the natural parameters, each with its numbers."""
    found = content["parameters"]
    _require(isinstance(found, list), "parameters", "be a list", found)
    for one in found:
        _check_mapping(one, "parameters")
        _require(isinstance(one["name"], str), "parameters.name", "be text", one["name"])
        for field in NUMBERS:
            _check_shape(one, field, (), "parameters.")


def _check_penalties(content: Mapping[str, Any], d: int) -> None:
    """Check the prior's quadratic and the constraints."""
    quadratic, rows = content["quadratic"], content["constraints"]
    if quadratic is not None:
        _check_mapping(quadratic, "quadratic")
        for field, shape in (("precision", (d, d)), ("linear", (d,)), ("constant", ())):
            _check_shape(quadratic, field, shape, "quadratic.")
    if rows is not None:
        _check_mapping(rows, "constraints")
        n = len(rows["labels"]) if _are_texts(rows["labels"]) else -1
        _require(n > 0, "constraints.labels", "be a list of text", rows["labels"])
        _check_shape(rows, "matrix", (n, d), "constraints.")
        _check_shape(rows, "bound", (n,), "constraints.")


def _check_diagnostics(found: Any, names: list[str]) -> None:
    _check_mapping(found, "diagnostics")
    rank = found["rank"]
    fine = _is_count(rank) and 0 <= rank <= len(names)
    _require(fine, "diagnostics.rank", f"lie in 0..{len(names)}", rank)
    for field in ("decisions_needed", "iterations"):
        _check_count(found, field, 0, "diagnostics.")
    for field in ("condition", "decrement"):
        _check_shape(found, field, (), "diagnostics.")
    _check_one_of(found, "certificate", CERTIFICATES, "diagnostics.")
    _require(
        _are_texts(found["bounds"]), "diagnostics.bounds", "be a list of text", found["bounds"]
    )
    for field in ("null_directions", "combinations"):
        fine = isinstance(found[field], list)
        _require(fine, f"diagnostics.{field}", "be a list", found[field])
    for direction in found["null_directions"]:
        _check_direction(direction, names, "diagnostics.null_directions")
    for combination in found["combinations"]:
        _check_mapping(combination, "diagnostics.combinations")
        _check_direction(combination["weights"], names, "diagnostics.combinations")
        for field in ("estimate", "standard_error"):
            _check_shape(combination, field, (), "diagnostics.combinations.")
    if found["near_separation"] is not None:
        _check_direction(found["near_separation"], names, "diagnostics.near_separation")
    separation = found["separation"]
    if separation is not None:
        _check_mapping(separation, "diagnostics.separation")
        place = "diagnostics.separation."
        odd = sorted(set(separation) - {"kind", "direction", "supremum", "n_resolved"})
        _require(not odd, "diagnostics.separation", "have known fields", format_list(map(str, odd)))
        _check_one_of(separation, "kind", KINDS, place)
        _check_direction(separation["direction"], names, f"{place}direction")
        _check_shape(separation, "supremum", (), place)
        _check_count(separation, "n_resolved", 0, place)


def _require(holds: Any, field: str, rule: str, got: Any) -> None:
    if not holds:
        said = str(got)
        said = said if len(said) <= 60 else f"{said[:57]}..."
        raise DataError(f"{field} must {rule}; got {said}. The file is damaged: fit again.")


def _check_one_of(
    content: Mapping[str, Any], field: str, known: tuple[Any, ...], place: str = ""
) -> None:
    value = content[field]
    fine = any(value is one or (isinstance(value, str) and value == one) for one in known)
    rule = f"be one of {', '.join(str(one) for one in known)}"
    _require(fine, f"{place}{field}", rule, repr(value))


def _check_mapping(value: Any, field: str) -> None:
    _require(isinstance(value, Mapping), field, "be a dict", value)


def _check_direction(value: Any, names: list[str], field: str) -> None:
    _check_mapping(value, field)
    odd = sorted(str(name) for name in value if name not in names)
    _require(not odd, field, f"name parameters ({', '.join(names)})", format_list(odd))
    wrong = [one for one in value.values() if not _is_number(one)]
    _require(not wrong, field, "hold numbers", wrong)


def _check_shape(
    content: Mapping[str, Any], field: str, shape: tuple[int, ...], place: str = ""
) -> None:
    value = content[field]
    if not shape:
        _require(value is None or _is_number(value), f"{place}{field}", "be a number", repr(value))
        return
    found = _shape_of(value)
    said = value if found is None else f"shape {found}"
    _require(found == shape, f"{place}{field}", f"hold numbers of shape {shape}", said)


def _shape_of(value: Any) -> tuple[int, ...] | None:
    """Shape of nested lists of numbers, or None where they are none."""
    if not isinstance(value, list):
        return () if value is None or _is_number(value) else None
    shapes = {_shape_of(one) for one in value}
    if len(shapes) > 1 or None in shapes:
        return None
    inner = shapes.pop() if shapes else ()
    return None if inner is None else (len(value), *inner)


def _number_array(value: Any) -> Any:
    if isinstance(value, list):
        return np.array([_number_array(one) for one in value], dtype=np.float64)
    return np.nan if value is None else float(value)


def _is_number(value: Any) -> bool:
    """A number as JSON has it, or "inf" or "-inf"."""
    return value in ("inf", "-inf") or (
        # bool is a subclass of int, and true in a file is no number
        isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _check_count(content: Mapping[str, Any], field: str, least: int, place: str = "") -> None:
    value = content[field]
    fine = _is_count(value) and value >= least
    _require(fine, f"{place}{field}", f"be a whole number from {least} on", value)


def _check_text(content: Mapping[str, Any], field: str) -> None:
    _require(isinstance(content[field], str), field, "be text", content[field])


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


FORMAT, MODEL_FORMAT = "penchant-estimate", "penchant-model-estimate"
ESTIMATE_VERSION = 1  # raise it when older readers would misread a file: they refuse newer ones
NUMBERS = ("estimate", "standard_error", "low", "high")


def to_dict(
    estimate: Any, parameters: Sequence[Parameter], level: float, kind: str
) -> dict[str, Any]:
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
    of_choices = isinstance(source, ChoiceSource)
    first = {"penchant": __version__} if of_choices else {}
    content = {
        "format": FORMAT if of_choices else MODEL_FORMAT,
        "version": ESTIMATE_VERSION,
        **first,
        "subject": to_json_label(estimate.subject),
        "status": estimate.status,
        "message": estimate.message,
        **(_header_dict(estimate) if of_choices else {"model": source.model_words}),
        **({} if of_choices or estimate.prior is None else {"prior": estimate.prior}),
        "log_likelihood": to_json_numbers(estimate.log_likelihood),
        "null_log_likelihood": to_json_numbers(estimate.null_log_likelihood),
        "log_posterior": to_json_numbers(estimate.log_posterior),
        **(_criteria_dict(estimate) if of_choices else _counts_dict(estimate)),
        "level": level,
        **({} if of_choices else {"intervals": kind}),
        "parameters": [
            {"name": p.name} | {word: to_json_numbers(getattr(p, word)) for word in NUMBERS}
            for p in parameters
        ],
        "names": list(estimate.names),
        "theta": to_json_numbers(estimate.theta),
        "covariance": to_json_numbers(estimate.covariance),
        **(_penalties_dict(estimate) if of_choices else {}),
        "diagnostics": diagnostics_dict(estimate.diagnostics),
        "notes": list(estimate.notes),
        **({"n_subjects": estimate.n_subjects} if of_choices else {}),
        **({"ratios": True} if source.has_ratios(estimate) else {}),
        **(
            {"natural_covariance": to_json_numbers(estimate.natural_covariance)}
            if is_detached
            else {}
        ),
    }
    return content if estimate.validity is None else content | _validity_dict(estimate)


def _header_dict(estimate: Any) -> dict[str, Any]:
    return {
        "method": estimate.method,
        "prior": estimate.prior,
        "covariance_kind": estimate.covariance_kind,
        "n_decisions": estimate.n_decisions,
        "total_weight": estimate.total_weight,
        "n_options": list(estimate.n_options),
    }


def _criteria_dict(estimate: Any) -> dict[str, Any]:
    return {name: to_json_numbers(getattr(estimate, name)) for name in ("pseudo_r2", "aic", "bic")}


def _counts_dict(estimate: Any) -> dict[str, Any]:
    return {"n_decisions": estimate.n_decisions, "n_subjects": estimate.n_subjects}


def _penalties_dict(estimate: Any) -> dict[str, Any]:
    quadratic, rows = estimate.source.quadratic, estimate.source.constraints
    return {
        "inverse_information": to_json_numbers(estimate.inverse_information),
        "scale": to_json_numbers(estimate.source.scale),
        "quadratic": None if quadratic is None else _quadratic_dict(quadratic),
        "constraints": None if rows is None else _constraints_dict(rows),
    }


def _validity_dict(estimate: Any) -> dict[str, Any]:
    """The range of validity of a linearised estimate."""
    validity: Validity = estimate.validity
    return {
        "model": estimate.source.model_words,
        "nominal": nominal_dict(validity.nominal),
        "coordinate": validity.coordinate,
        "ratio": to_json_numbers(validity.ratio),
        "bounds": [to_json_numbers(bound) for bound in validity.bounds],
        "valid": validity.valid,
        "exact_log_likelihood": to_json_numbers(validity.exact_log_likelihood),
        "without_meaning": list(validity.without_meaning),
    }


def diagnostics_dict(d: Diagnostics) -> dict[str, Any]:
    """Diagnostics as JSON has them."""
    return {
        "rank": d.rank,
        "null_directions": [dict(v) for v in d.null_directions],
        "combinations": [_combination_dict(c) for c in d.combinations],
        "decisions_needed": d.decisions_needed,
        "separation": None if d.separation is None else _separation_dict(d.separation),
        "near_separation": None if d.near_separation is None else dict(d.near_separation),
        "condition": to_json_numbers(d.condition),
        "iterations": d.iterations,
        "decrement": to_json_numbers(d.decrement),
        "certificate": d.certificate,
        "bounds": list(d.bounds),
    }


def _quadratic_dict(quadratic: Quadratic) -> dict[str, Any]:
    return {
        "precision": to_json_numbers(quadratic.precision),
        "linear": to_json_numbers(quadratic.linear),
        "constant": to_json_numbers(quadratic.constant),
    }


def _constraints_dict(constraints: Constraints) -> dict[str, Any]:
    return {
        "matrix": to_json_numbers(constraints.matrix),
        "bound": to_json_numbers(constraints.bound),
        "labels": list(constraints.labels),
    }


def _combination_dict(c: Combination) -> dict[str, Any]:
    return {
        "weights": dict(c.weights),
        "estimate": to_json_numbers(c.estimate),
        "standard_error": to_json_numbers(c.standard_error),
    }


def _separation_dict(s: Separation) -> dict[str, Any]:
    return {
        "kind": s.kind,
        "direction": dict(s.direction),
        "supremum": to_json_numbers(s.supremum),
        "n_resolved": s.n_resolved,
    }


def fields(content: Any) -> dict[str, Any]:
    """Arguments of `Estimate` from what `to_dict` wrote; says which field is wrong."""
    if not isinstance(content, Mapping):
        raise DataError(
            f"content must be a dict written by to_dict; got {type(content).__name__}. "
            "Read the file with json.load first."
        )
    if content.get("format") not in (FORMAT, MODEL_FORMAT):
        raise DataError(
            f"format must be {FORMAT!r}; got {content.get('format')!r}. "
            "This is not an estimate written by Penchant."
        )
    if not isinstance(content.get("version"), int) or content["version"] > ESTIMATE_VERSION:
        raise DataError(
            f"version must be at most {ESTIMATE_VERSION}; got {content.get('version')!r}. "
            "Upgrade Penchant."
        )
    try:
        check(content)
        return _estimate_fields(content)
    except KeyError as missing:  # a missing field is one message, wherever it is first needed
        raise DataError(
            f"an estimate must have the field {missing}; got none. The file is damaged: fit again."
        ) from None


def _estimate_fields(content: Mapping[str, Any]) -> dict[str, Any]:
    posterior = content["log_posterior"]
    shared = {
        "status": content["status"],
        "message": content["message"],
        "names": tuple(content["names"]),
        "theta": from_json_numbers(content["theta"]),
        "covariance": from_json_numbers(content["covariance"]),
        "log_likelihood": from_json_numbers(content["log_likelihood"]),
        "null_log_likelihood": from_json_numbers(content["null_log_likelihood"]),
        "log_posterior": None if posterior is None else from_json_numbers(posterior),
        "diagnostics": _read_diagnostics(content["diagnostics"]),
        "n_decisions": content["n_decisions"],
        "subject": content["subject"],
        "notes": tuple(content["notes"]),
        "n_subjects": content.get("n_subjects", 1),
        "validity": _read_validity(content) if "ratio" in content else None,
    }
    stored = tuple(
        Parameter(one["name"], *(float(from_json_numbers(one[word])) for word in NUMBERS))
        for one in content["parameters"]
    )
    spread = content.get("natural_covariance")
    source = DetachedSource(
        stored,
        content["level"],
        content.get("intervals", "wald"),
        content.get("model", ""),
        None if spread is None else from_json_numbers(spread),
        ratios=bool(content.get("ratios")),
    )
    # models are not stored: fill in the fields that one would give
    if content["format"] == MODEL_FORMAT:
        return shared | {
            "inverse_information": shared["covariance"],
            "total_weight": float(content["n_decisions"]),
            "n_options": (0, 0),
            "method": "maximum likelihood" if posterior is None else "MAP",
            "prior": content.get("prior"),
            "source": source,
        }
    # then natural parameters are theta itself, and need no stored source
    own = [p.name for p in stored] == content["names"]
    return shared | {
        "inverse_information": from_json_numbers(content["inverse_information"]),
        "total_weight": content["total_weight"],
        "n_options": tuple(content["n_options"]),
        "method": content["method"],
        "prior": content["prior"],
        "covariance_kind": content["covariance_kind"],
        "source": _read_choices(content, None if own else source),
    }


def _read_choices(content: Mapping[str, Any], stored: DetachedSource | None) -> ChoiceSource:
    quadratic, rows = content["quadratic"], content["constraints"]
    return ChoiceSource(
        data=None,
        scale=from_json_numbers(content["scale"]),
        constraints=None
        if rows is None
        else Constraints(
            from_json_numbers(rows["matrix"]),
            from_json_numbers(rows["bound"]),
            tuple(rows["labels"]),
        ),
        quadratic=None
        if quadratic is None
        else Quadratic(
            from_json_numbers(quadratic["precision"]),
            from_json_numbers(quadratic["linear"]),
            from_json_numbers(quadratic["constant"]),
        ),
        map=stored,
        model_words=content.get("model", ""),
    )


def _read_validity(content: Mapping[str, Any]) -> Validity:
    low, high = (float(from_json_numbers(bound)) for bound in content["bounds"])
    return Validity(
        nominal=content["nominal"],
        coordinate=content["coordinate"],
        ratio=float(from_json_numbers(content["ratio"])),
        bounds=(low, high),
        exact_log_likelihood=float(from_json_numbers(content["exact_log_likelihood"])),
        of_shape=tuple(content["without_meaning"]),
    )


def _read_diagnostics(d: Mapping[str, Any]) -> Diagnostics:
    separation = d["separation"]
    return Diagnostics(
        rank=d["rank"],
        null_directions=tuple(d["null_directions"]),
        combinations=tuple(
            Combination(
                c["weights"],
                from_json_numbers(c["estimate"]),
                from_json_numbers(c["standard_error"]),
            )
            for c in d["combinations"]
        ),
        decisions_needed=d["decisions_needed"],
        separation=None
        if separation is None
        else Separation(**{**separation, "supremum": from_json_numbers(separation["supremum"])}),
        near_separation=d["near_separation"],
        condition=from_json_numbers(d["condition"]),
        iterations=d["iterations"],
        decrement=from_json_numbers(d["decrement"]),
        certificate=d["certificate"],
        bounds=tuple(d["bounds"]),
    )
