"""Whether what a model declares fits together."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from penchant.errors import nearest
from penchant.models.checking.findings import Finding
from penchant.models.model import Natural, Shape, natural_parameters


def declarations(model: Any) -> list[Finding]:
    """What is wrong with weights, shape, positive, natural and the signature of explanatory."""
    found = [*_weights(model), *_shape(model)]
    if not found:
        found = [*_signature(model), *_positive(model), *_natural(model)]
    return [Finding("declaration", message) for message in found]


def _weights(model: Any) -> Iterator[str]:
    weights = getattr(model, "weights", None)
    if isinstance(weights, str):
        yield f"weights must be a tuple of names; got the text {weights!r}. Write ({weights!r},)."
    elif not isinstance(weights, tuple) or not weights:
        yield f'weights must be a tuple of names; got {weights!r}. Write weights = ("name",).'
    elif not all(isinstance(name, str) for name in weights):
        yield f"weights must be names; got {weights!r}. Write them as text."
    elif len(set(weights)) < len(weights):
        yield f"weights must have different names; got {weights!r}. Rename one."


def _shape(model: Any) -> Iterator[str]:
    shape = getattr(model, "shape", None)
    if isinstance(shape, Shape):
        yield f"shape must be a tuple; got the Shape {shape.name} itself. Write (Shape(...),)."
    elif not isinstance(shape, tuple) or not all(isinstance(s, Shape) for s in shape):
        yield f"shape must be a tuple of Shape; got {shape!r}. Write () if there is none."
    else:
        names = [*getattr(model, "weights", ()), *(s.name for s in shape)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            yield f"shape must have names of its own; got {twice[0]!r} twice. Rename one."


def _signature(model: Any) -> Iterator[str]:
    explanatory = getattr(model, "explanatory", None)
    if not callable(explanatory):
        yield "explanatory must be a method; got none. Define explanatory(self, episode, ...)."
        return
    names = [s.name for s in model.shape]
    try:
        inspect.signature(explanatory).bind(None, *names)
    except TypeError:
        wanted = ", ".join(["self", "episode", *names])
        yield (
            f"explanatory must take an episode and the {len(names)} shape parameters in the order "
            f"declared; got explanatory{inspect.signature(explanatory)}. "
            f"Write explanatory({wanted})."
        )


def _positive(model: Any) -> Iterator[str]:
    positive = getattr(model, "positive", ())
    for name in (positive,) if isinstance(positive, str) else positive:
        if name not in model.weights:
            hint = nearest(str(name), model.weights) or " Name weights only."
            yield f"positive must be among the weights {model.weights!r}; got {name!r}.{hint}"
    if isinstance(positive, str):
        yield f"positive must be a tuple of names; got the text {positive!r}. Add a comma."


def _natural(model: Any) -> Iterator[str]:
    natural = natural_parameters(model)
    wrong = [n for n in natural if not isinstance(n, Natural) or not _is_inside(model, n)]
    for n in wrong:
        name = getattr(n, "name", n)
        yield (
            f"natural must refer to the {len(model.weights)} weights and {len(model.shape)} shape "
            f"parameters by their place, from 0; got {name!r}, which does not. Correct its index."
        )
    names = [n.name for n in natural if isinstance(n, Natural)]
    if len(set(names)) < len(names):
        yield f"natural must have different names; got {', '.join(names)}. Rename one."
    if not wrong:
        yield from _told_by_natural(model, natural)


def _is_inside(model: Any, n: Natural) -> bool:
    if n.kind == "shape":
        return 0 <= n.index < len(model.shape)
    inside = 0 <= n.index < len(model.weights)
    if n.kind == "ratio":
        return inside and 0 <= n.other < len(model.weights) and n.other != n.index
    return inside and n.kind in ("weight", "reciprocal", "share")


def _told_by_natural(model: Any, natural: tuple[Natural, ...]) -> Iterator[str]:
    """Every weight and shape parameter follows from the natural parameters."""
    theta = 0.5 + np.arange(len(model.weights)) / 3
    psi = np.array([float(s.from_search(np.mean(s.search_range))) for s in model.shape])
    slopes = np.array([n.gradient(theta, psi) for n in natural])
    names = [*model.weights, *(s.name for s in model.shape)]
    size = np.abs(slopes).max(axis=1, keepdims=True, initial=1e-300)
    if np.linalg.matrix_rank(slopes / size) < len(names):
        lost = [name for name, column in zip(names, slopes.T, strict=True) if not column.any()]
        said = ", ".join(lost) if lost else "a combination of weights"
        yield (
            f"natural must determine every weight and shape parameter; got none that tells "
            f"{said}. Add a Natural for it, or leave natural out."
        )
