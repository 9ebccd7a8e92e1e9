"""What a session keeps of its model and prior, as JSON has it, and what is made of that again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penchant.errors import DataError
from penchant.json_records import read_value, write_value
from penchant.models.priors import NaturalPrior


def model_document(model: Any) -> Any:
    """A model of the library with its settings; None for another."""
    own = type(model).__module__.startswith("penchant.")
    return write_value(model) if own else None


def model_of(document: Any, given: Any) -> Any:
    """The model of a document, or the one given, where it is not of the library."""
    if given is not None:
        return given
    if document is None:
        raise DataError(
            "model",
            "must be given, as the session was kept with one that is not of the library",
            got="none",
            fix="Pass model=.",
        )
    return read_value(document)


def prior_document(prior: Any) -> dict[str, Any] | None:
    """A prior in plain numbers; a word only where it is of one's own making."""
    library = type(prior).__module__.startswith("penchant.")
    if prior is None or (library and not isinstance(prior, NaturalPrior)):
        found: dict[str, Any] | None = write_value(prior)
        return found
    own = getattr(prior, "densities", {"": None})
    densities = {name: _density(density) for name, density in own.items()}
    return {"kind": "own" if None in densities.values() else "natural", "densities": densities}


def prior_of(document: Mapping[str, Any]) -> Any:
    """The prior of a document."""
    given = document["prior"]
    if given is None or "kind" not in given:
        return read_value(given)
    if given["kind"] == "natural":
        from scipy import stats

        made = given["densities"].items()
        return NaturalPrior(
            **{n: getattr(stats, d["name"])(*d["args"], **d["kwds"]) for n, d in made}
        )
    raise DataError(
        "prior",
        "must be given, as the session was kept with one that is not of scipy.stats",
        got="none",
        fix="Pass prior=.",
    )


def _density(density: Any) -> dict[str, Any] | None:
    """A frozen distribution by name, or None."""
    from scipy import stats

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
            "document",
            f"must be what {kind}.to_dict wrote",
            got=f"one without {missing[0]!r} of it",
            fix="Keep the session again.",
        )
