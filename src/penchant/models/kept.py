"""Models and priors as JSON has them, and back: for sessions that go on later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import stats

from penchant.errors import DataError
from penchant.models.priors import NaturalPrior, PopulationPrior
from penchant.models.spatial.map_basis import MapPrior
from penchant.output import decoded, encoded
from penchant.softmax.prior import GaussianPrior, ScaledPrior


def model_document(model: Any) -> Any:
    """A model of the library with its settings; None for another."""
    own = type(model).__module__.startswith("penchant.")
    return encoded(model) if own else None


def model_of(document: Any, given: Any) -> Any:
    """The model of a document, or the one given, where it is not of the library."""
    if given is not None:
        return given
    if document is None:
        raise DataError(
            "model must be given, as the session was kept with one that is not of the library; got "
            "none. Pass model=."
        )
    return decoded(document)


def prior_document(prior: Any) -> dict[str, Any] | None:
    """A prior in plain numbers; a word only where it is of one's own making."""
    if prior is None:
        return None
    if isinstance(prior, MapPrior):
        return {"kind": "map", "prior": encoded(prior)}
    if isinstance(prior, PopulationPrior):
        return {"kind": "population", "prior": prior.to_dict()}
    if isinstance(prior, ScaledPrior):
        return {"kind": "scaled", "c": prior.c}
    if isinstance(prior, GaussianPrior):
        mean, covariance = np.asarray(prior.mean).tolist(), np.asarray(prior.covariance).tolist()
        return {"kind": "gaussian", "mean": mean, "covariance": covariance}
    own = getattr(prior, "densities", {"": None})
    densities = {name: _density(density) for name, density in own.items()}
    return {"kind": "own" if None in densities.values() else "natural", "densities": densities}


def prior_of(document: Mapping[str, Any]) -> Any:
    """The prior of a document."""
    given = document["prior"]
    if given is None:
        return None
    if given["kind"] == "map":
        return decoded(given["prior"])
    if given["kind"] == "population":
        return PopulationPrior.from_dict(given["prior"])
    if given["kind"] == "scaled":
        return ScaledPrior(given["c"])
    if given["kind"] == "gaussian":
        return GaussianPrior(np.array(given["mean"]), np.array(given["covariance"]))
    if given["kind"] == "natural":
        made = given["densities"].items()
        return NaturalPrior(
            **{n: getattr(stats, d["name"])(*d["args"], **d["kwds"]) for n, d in made}
        )
    raise DataError(
        "prior must be given, as the session was kept with one that is not of scipy.stats; got "
        "none. Pass prior=."
    )


def _density(density: Any) -> dict[str, Any] | None:
    """A frozen distribution by name, or None."""
    name = getattr(getattr(density, "dist", None), "name", None)
    if name is None or not hasattr(stats, name):
        return None
    try:
        args = [float(a) for a in density.args]
        return {"name": name, "args": args, "kwds": {k: float(v) for k, v in density.kwds.items()}}
    except (TypeError, ValueError):
        return None


def check_kept(document: Any, kind: str, parts: tuple[str, ...]) -> None:
    """Refuse what `to_dict` of a session did not write."""
    known = isinstance(document, Mapping) and document.get("format") == f"penchant-{kind.lower()}"
    missing = [part for part in parts if part not in document] if known else ["format"]
    if missing:
        raise DataError(
            f"document must be what {kind}.to_dict wrote; got one without {missing[0]!r} of it. "
            "Keep the session again."
        )
