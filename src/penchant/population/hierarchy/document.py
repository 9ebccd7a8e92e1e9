"""A population fit read back from plain numbers and text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from penchant.errors import DataError
from penchant.models.links import Link
from penchant.output.document import numbers
from penchant.population.hierarchy.subjects import PopulationSubjects, View


def read_population(cls: Any, document: Mapping[str, Any]) -> Any:
    """What `PopulationFit.to_dict` wrote."""
    if not isinstance(document, Mapping) or document.get("format") != "penchant-population":
        raise DataError(
            "document must be one that PopulationFit.to_dict wrote; got another. Give that."
        )
    d = document
    own = d["subjects"]
    subjects = PopulationSubjects(
        labels=tuple(own["labels"]),
        names=tuple(own["names"]),
        mean=numbers(own["mean"]),
        covariance=numbers(own["covariance"]),
        influence=numbers(own["influence"]),
        evidence=numbers(own["evidence"]),
        n_decisions=np.array(own["n_decisions"]),
        views=tuple(View(name, Link(**link), numbers(row)) for name, link, row in own["views"]),
    )
    kept = {
        "parameters": [[row[0], *map(numbers, row[1:])] for row in d["parameters"]],
        "spreads": [[row[0], row[1], *map(numbers, row[2:])] for row in d["spreads"]],
        "prior": d["prior"],
        "maximum_log_likelihood": d["maximum_log_likelihood"],
    }
    return cls(
        status=d["status"],
        message=d["message"],
        names=tuple(d["names"]),
        coefficients=numbers(d["coefficients"]),
        covariance=numbers(d["covariance"]),
        parameter_names=tuple(d["parameter_names"]),
        links=dict(d["links"]),
        spread=_matrices(d["spread"]),
        correlations=_matrices(d["correlations"]),
        reliability={k: numbers(v) for k, v in d["reliability"].items()},
        log_likelihood=numbers(d["log_likelihood"]),
        n_parameters=int(d["n_parameters"]),
        evidence=numbers(d["evidence"]),
        loo_each=numbers(d["loo_each"]),
        integration_error=numbers(d["integration_error"]),
        subjects=subjects,
        estimator=d["estimator"],
        degrees_of_freedom=numbers(d["degrees_of_freedom"]),
        n_subjects=int(d["n_subjects"]),
        n_decisions=int(d["n_decisions"]),
        model_words=d["model"],
        notes=tuple(d["notes"]),
        kept=kept,
    )


def _matrices(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: numbers(v) for k, v in value.items()}
    return numbers(value)
