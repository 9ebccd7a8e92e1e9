"""A model under examination: the data it is tried on, and what the examination found."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._frames import Backend, came_as, frame
from penchant._typing import Matrix, Vector
from penchant.bandit.episode import learnt_from
from penchant.models.model import Declared
from penchant.output.notes import counted
from penchant.output.shown import Shown
from penchant.tables.events import places_of


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    Attributes
    ----------
    code
        What kind of mistake: "declaration", "explanatory", "shape", "dtype", "not finite", "state",
        "future", "slopes", "many", "objective", "agents" or "not identifiable".
    message
        What is wrong, where, and what to do.
    """

    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


@dataclass(frozen=True, repr=False)
class ModelCheck(Shown):
    """What a check of a model found.

    Attributes
    ----------
    model
        The model, in words.
    problems
        What is wrong, most basic first.
    passed
        What was looked at and found right.
    """

    model: str
    problems: tuple[Finding, ...]
    passed: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Nothing was found to be wrong."""
        return not self.problems

    def summary(self) -> str:
        """What was found, as text."""
        head = f"{self.model}: " + (
            "nothing wrong was found." if self.ok else f"{counted(len(self.problems), 'problem')}."
        )
        found = [_paragraph(f"{k}. {finding}") for k, finding in enumerate(self.problems, 1)]
        right = [_paragraph(f"Right: {', '.join(self.passed)}.")] if self.passed else []
        return "\n".join([head, *found, *right])

    def to_frame(self, backend: Backend | None = None) -> Any:
        """One row per problem: its code, and what is wrong."""
        found = {
            word: [getattr(one, word) for one in self.problems] for word in ("code", "message")
        }
        return frame(found, backend or came_as(self))

    def __repr__(self) -> str:
        found = ", ".join(dict.fromkeys(finding.code for finding in self.problems)) or "ok"
        return f"<ModelCheck of {self.model}: {found}>"


def _paragraph(text: str) -> str:
    return textwrap.fill(text, 96, subsequent_indent="   ", break_long_words=False)


MOST_DATA = 8
N_INSIDE = 3
TRIES = 100  # at places where a model may not exist


@dataclass(frozen=True)
class Exam:
    """A model, data to try it on, and places psi inside the range and at its ends.

    Attributes
    ----------
    data
        Episodes or offers.
    inside, ends
        Places psi.
    rng
        Source of randomness.
    """

    model: Any
    data: tuple[Any, ...]
    inside: tuple[Vector, ...]
    ends: tuple[Vector, ...]
    rng: np.random.Generator

    @classmethod
    def of(cls, model: Any, data: Sequence[Any], rng: np.random.Generator) -> Exam:
        """Draw places inside the middle of the range."""
        ranges = np.array([s.search_range for s in model.shape]).reshape(-1, 2)
        width = ranges[:, 1] - ranges[:, 0]
        shares = 0.15 + 0.7 * rng.random((N_INSIDE, len(width)))
        inside = tuple(_own_units(model, ranges[:, 0] + share * width) for share in shares)
        ends = tuple(_own_units(model, u) for u in ranges.T) if len(width) else ()
        some = tuple(data)[:MOST_DATA]
        if Declared(model).outside:  # places where it does not exist are its right
            inside = tuple(_existing(model, some, ranges, rng) for _ in inside)
            ends = tuple(psi for psi in ends if _exists(model, some, psi))
        return cls(model, some, inside, ends, rng)

    def explanatory(self, one: Any, psi: Vector) -> Matrix:
        """The model's variables of one episode."""
        return np.asarray(self.model.explanatory(learnt_from(one), *map(float, psi)))

    def stacked(self, psi: Vector) -> Matrix:
        """Variables of all decisions scored, centred within the choice set: (rows, n_weights)."""
        parts = [self.explanatory(one, psi)[one.scored] for one in self.data]
        return centred(parts)

    def words(self, psi: Vector) -> str:
        """Shape parameters with their values."""
        named = zip(self.model.shape, psi, strict=True)
        return ", ".join(f"{shape.name} = {value:.4g}" for shape, value in named)

    def at(self, psi: Vector) -> str:
        """Where, for the middle of a sentence; nothing where there is no shape."""
        return f" at {self.words(psi)}" if len(psi) else ""


def _exists(model: Any, data: Sequence[Any], psi: Vector) -> bool:
    """Whether all variables are finite at psi."""
    return all(
        np.isfinite(np.asarray(model.explanatory(one, *map(float, psi)))[one.scored]).all()
        for one in data
    )


def _existing(model: Any, data: Sequence[Any], ranges: Matrix, rng: np.random.Generator) -> Vector:
    """A place inside the range at which the model exists, if one of many does."""
    psi = np.empty(0)
    for _ in range(TRIES):
        share = 0.15 + 0.7 * rng.random(len(ranges))
        psi = _own_units(model, ranges[:, 0] + share * (ranges[:, 1] - ranges[:, 0]))
        if _exists(model, data, psi):
            break
    return psi


def centred(parts: Sequence[Matrix]) -> Matrix:
    """Variables less their mean over the options of a decision, all rows in one matrix."""
    shifted = [x - x.mean(axis=1, keepdims=True) for x in parts]
    return np.concatenate([x.reshape(-1, x.shape[2]) for x in shifted])


def place(one: Any, t: int) -> str:
    """Where an event is."""
    return places_of(one.subject, one.block, "event")(t)


def _own_units(model: Any, u: Vector) -> Vector:
    return np.array([float(s.from_search(v)) for s, v in zip(model.shape, u, strict=True)])
