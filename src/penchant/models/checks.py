"""A model under examination: each check of it, the data it is tried on, and what is found.

Whether a row uses what happened at its own event, or later.

The reward, the choice, and all that follows an event are changed in turn. The rows up to and
including that event must not move.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.bandit.episode import Episode, EventContext, executed_history
from penchant.errors import DataError, closest_match_hint
from penchant.models.model import Declared, natural_parameters
from penchant.models.offers.offers import Offers
from penchant.models.parameters import Parameter, Shape
from penchant.output import Columns, Result, format_count
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
class ModelCheck(Result):
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
            "nothing wrong was found."
            if self.ok
            else f"{format_count(len(self.problems), 'problem')}."
        )
        found = [_paragraph(f"{k}. {finding}") for k, finding in enumerate(self.problems, 1)]
        right = [_paragraph(f"Right: {', '.join(self.passed)}.")] if self.passed else []
        return "\n".join([head, *found, *right])

    def frame_columns(self) -> Columns:
        """One row per problem: its code, and what is wrong."""
        found = {
            word: [getattr(one, word) for one in self.problems] for word in ("code", "message")
        }
        return found

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
        return np.asarray(self.model.explanatory(executed_history(one), *map(float, psi)))

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
    return np.array([float(s.from_unconstrained(v)) for s, v in zip(model.shape, u, strict=True)])


def declarations(model: Any) -> list[Finding]:
    """What is wrong with weights, shape, positive, natural and the signature of explanatory."""
    found = [*_weights(model), *_shape_declared(model)]
    if not found:
        found = [*_signature(model), *_positive(model), *_natural(model)]
    return [Finding("declaration", message) for message in found]


def _weights(model: Any) -> Iterator[str]:
    weights: Any = Declared(model).weights
    if isinstance(weights, str):
        yield f"weights must be a tuple of names; got the text {weights!r}. Write ({weights!r},)."
    elif not isinstance(weights, tuple) or not weights:
        yield f'weights must be a tuple of names; got {weights!r}. Write weights = ("name",).'
    elif not all(isinstance(name, str) for name in weights):
        yield f"weights must be names; got {weights!r}. Write them as text."
    elif len(set(weights)) < len(weights):
        yield f"weights must have different names; got {weights!r}. Rename one."


def _shape_declared(model: Any) -> Iterator[str]:
    shape: Any = Declared(model).shape
    if isinstance(shape, Shape):
        yield f"shape must be a tuple; got the Shape {shape.name} itself. Write (Shape(...),)."
    elif not isinstance(shape, tuple) or not all(isinstance(s, Shape) for s in shape):
        yield f"shape must be a tuple of Shape; got {shape!r}. Write () if there is none."
    else:
        names = [*(Declared(model).weights or ()), *(s.name for s in shape)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            yield f"shape must have names of its own; got {twice[0]!r} twice. Rename one."


def _signature(model: Any) -> Iterator[str]:
    explanatory = Declared(model).explanatory
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
    positive = Declared(model).positive
    for name in (positive,) if isinstance(positive, str) else positive:
        if name not in model.weights:
            hint = closest_match_hint(str(name), model.weights) or " Name weights only."
            yield f"positive must be among the weights {model.weights!r}; got {name!r}.{hint}"
    if isinstance(positive, str):
        yield f"positive must be a tuple of names; got the text {positive!r}. Add a comma."


def _natural(model: Any) -> Iterator[str]:
    rows = Declared(model).parameters
    try:
        if rows is not None and not all(isinstance(row, Parameter | Shape) for row in rows):
            yield f"parameters must be a tuple of Parameter or Shape; got {rows!r}. Correct it."
            return
        natural = natural_parameters(model)
    except DataError as error:
        yield str(error)
        return
    names = [n.name for n in natural]
    if len(set(names)) < len(names):
        yield f"parameters must have different names; got {', '.join(names)}. Rename one."
    yield from _undetermined(model, natural)


def _undetermined(model: Any, natural: tuple[Parameter, ...]) -> Iterator[str]:
    """Every weight and shape parameter follows from the natural parameters."""
    theta = 0.5 + np.arange(len(model.weights)) / 3
    psi = np.array([float(s.from_unconstrained(np.mean(s.search_range))) for s in model.shape])
    slopes = np.array([n.gradient(theta, psi) for n in natural])
    names = [*model.weights, *(s.name for s in model.shape)]
    size = np.abs(slopes).max(axis=1, keepdims=True, initial=1e-300)
    if np.linalg.matrix_rank(slopes / size) < len(names):
        lost = [name for name, column in zip(names, slopes.T, strict=True) if not column.any()]
        said = ", ".join(lost) if lost else "a combination of weights"
        yield (
            f"parameters must determine every weight and shape parameter; got none that tells "
            f"{said}. Add a Parameter for it, or leave parameters out."
        )


def variables(exam: Exam) -> list[Finding]:
    """What is wrong with the first thing one looks at: what explanatory returns."""
    options: dict[int, str] = {}
    for psi in (*exam.inside, *exam.ends):
        for one in exam.data:
            found = _called(exam, one, psi, options)
            if found is not None:
                return [found]
    return _remembered(exam)


def _called(exam: Exam, one: Any, psi: Vector, options: dict[int, str]) -> Finding | None:
    before = _contents(one)
    try:
        x = exam.model.explanatory(executed_history(one), *map(float, psi))
    except Exception as error:  # whatever a model raises is for its author to read
        return _raised(exam, one, psi, error)
    if _contents(one) != before:
        return Finding(
            "state",
            "explanatory must leave the episode as it is; got one with other numbers in it after "
            f"a call{exam.at(psi)}. Work on a copy.",
        )
    return (
        _shape(exam, one, x, options)
        or _dtype(x)
        or _finite(exam, one, psi, np.asarray(x, dtype=np.float64))
    )


def _raised(exam: Exam, one: Any, psi: Vector, error: Exception) -> Finding:
    said = str(error).rstrip(".") or "no message"
    if isinstance(error, ValueError) and "read-only" in said:
        return Finding(
            "state",
            "explanatory must leave the episode as it is; got an attempt to write into its arrays, "
            "which are locked. Work on a copy, e.g. episode.rewards.copy().",
        )
    if isinstance(error, DataError):
        return Finding("explanatory", f"explanatory refused {place(one, 0)} and on: {error}")
    return Finding(
        "explanatory",
        f"explanatory must return variables for every psi in the range; got "
        f"{type(error).__name__}{exam.at(psi)}: {said}. Call it by itself to see where.",
    )


def _contents(one: Any) -> list[bytes]:
    arrays = [one.chosen, one.scored, *getattr(one, "offers", {}).values()]
    arrays += [one.rewards, *one.seen.arrays] if isinstance(one, Episode) else []
    return [array.tobytes() for array in arrays]


def _shape(exam: Exam, one: Any, x: Any, options: dict[int, str]) -> Finding | None:
    shape, d = np.shape(x), len(exam.model.weights)
    if len(shape) != 3 or shape[0] != one.n_events or shape[2] != d:
        advice = "Return one row per event, one column per option, one layer per weight."
        if shape == (one.n_events, *shape[1:2]) and d == 1:
            advice = "The axis of the weights is missing: return x[:, :, None]."
        elif len(shape) == 3 and shape[0] == one.n_decisions != one.n_events:
            advice = "Events that are not scored need rows too."
        return Finding(
            "shape",
            f"explanatory must return shape (n_events, n_options, n_weights) = ({one.n_events}, "
            f"n_options, {d}); got {shape}. {advice}",
        )
    if one.chosen.max(initial=-1) >= shape[1]:
        t = int(np.argmax(one.chosen))
        return Finding(
            "shape",
            f"explanatory must describe every option; got {shape[1]} options, but option "
            f"{one.chosen[t]} was taken at {place(one, t)}. Correct the number of options.",
        )
    options.setdefault(shape[1], place(one, 0))
    if len(options) > 1:
        said = " and ".join(map(str, options))
        return Finding(
            "shape",
            f"explanatory must return as many options for every episode; got {said}. "
            "Do not count them from the options that happened to be chosen.",
        )
    return None


def _dtype(x: Any) -> Finding | None:
    kind = np.asarray(x).dtype
    if kind == np.float64:
        return None
    advice = "Convert them to float64."
    if kind.kind in "iub":
        advice = (
            "Fractions that were written into it are lost: make the array with np.zeros(shape) or "
            "np.empty(shape), and not like an array of integers."
        )
    elif kind.kind == "f":
        advice = "Half the digits are lost, and derivatives with them: compute in float64."
    return Finding("dtype", f"explanatory must return float64; got {kind}. {advice}")


def _finite(exam: Exam, one: Any, psi: Vector, x: Matrix) -> Finding | None:
    wrong = ~np.isfinite(x) & one.scored[:, None, None]
    if not wrong.any():
        return None
    t, i, a = (int(k) for k in np.argwhere(wrong)[0])
    advice = "Look for a division by zero, a logarithm, or an overflow."
    rewards = getattr(one, "rewards", np.zeros(one.n_events))
    gaps = np.flatnonzero((one.chosen[:t] < 0) | np.isnan(rewards[:t]))
    if gaps.size:
        advice = (
            f"It follows {place(one, int(gaps[-1]))}, which has no choice (chosen is -1, the "
            "reward NaN): such an event teaches nothing, skip it."
        )
    return Finding(
        "not finite",
        f"explanatory must be finite in every decision that is scored; got {x[t, i, a]:g} for "
        f"{exam.model.weights[a]} of option {i} at {place(one, t)}{exam.at(psi)}. {advice}",
    )


def _remembered(exam: Exam) -> list[Finding]:
    """The same call gives the same numbers, whatever was called in between."""
    first, last = exam.data[0], exam.data[-1]
    psi, other = exam.inside[0], exam.inside[-1]
    result = exam.explanatory(first, psi)
    kept = result.copy()
    exam.explanatory(last, other)
    if not np.array_equal(result, kept, equal_nan=True):
        return [
            Finding(
                "state",
                "explanatory must return a new array at every call; got one that the next call "
                "wrote over. Make the array inside explanatory.",
            )
        ]
    again = exam.explanatory(first, psi)
    if np.array_equal(again, kept, equal_nan=True):
        return []
    t = int(np.argwhere(again != kept)[0][0])
    return [
        Finding(
            "state",
            "explanatory must depend on the episode and psi only; got other numbers when called "
            f"again after another episode and psi, first at {place(first, t)}. Start values afresh "
            "inside explanatory, keep nothing in self, and draw no random numbers.",
        )
    ]


N_EVENTS = 6
SAME = 1e-9  # of the largest variable: another order of summation


@dataclass(frozen=True)
class Change:
    """A change of what happened, and the sentence for a row that moves with it."""

    made: Callable[[Any, int, int], Any]
    said: str
    advice: str
    needs: str = ""  # what an episode must hold for it


def future(exam: Exam) -> list[Finding]:
    """Rows that know the reward or the choice that they predict, or what comes after."""
    psi, found = exam.inside[0], []
    for change in CHANGES:
        for one in exam.data:
            finding = _looked_at(exam, one, psi, change)
            if finding is not None:
                found.append(finding)
                break
    return found


def _looked_at(exam: Exam, one: Any, psi: Vector, change: Change) -> Finding | None:
    if change.needs and not getattr(one, change.needs, None):
        return None
    x = exam.explanatory(one, psi)
    scale = np.maximum(np.abs(x).max(axis=(0, 1)), 1e-300)
    for t in _events(exam, one):
        other = change.made(one, int(t), x.shape[1])
        if other is None:
            continue
        try:
            moved = exam.explanatory(other, psi)[: t + 1]
        except Exception as error:  # whatever a model raises is for its author to read
            return Finding(
                "future",
                f"explanatory must not need what follows; got {type(error).__name__} once "
                f"{change.said.format(t=t)} was changed: {error}. {change.advice}",
            )
        rows = _rows_moved(x[: t + 1], moved, scale)
        if rows.size:
            return Finding(
                "future",
                f"explanatory must describe a decision by what happened before it; got another row "
                f"for {place(one, int(rows[-1]))} when {change.said.format(t=t)} was changed. "
                f"{change.advice}",
            )
    return None


def _rows_moved(x: Matrix, moved: Matrix, scale: Vector) -> IntVector:
    if moved.shape != x.shape:
        return np.arange(len(x))
    same = np.isclose(x / scale, moved / scale, rtol=SAME, atol=SAME, equal_nan=True)
    return np.flatnonzero(~same.all(axis=(1, 2)))


def _events(exam: Exam, one: Any) -> IntVector:
    """Some events with a choice: the first, the last, and some between."""
    known = np.flatnonzero(one.chosen >= 0)
    if not known.size:
        return known
    some = exam.rng.choice(known, min(N_EVENTS, len(known)), replace=False)
    return np.unique(np.concatenate([known[:1], some, known[-1:]]))


def _other_reward(one: Any, t: int, n_options: int) -> Any:
    if not isinstance(one, Episode) or np.isnan(one.rewards[t]):
        return None
    rewards = one.rewards.copy()
    rewards[t] += 1.0 + 3.0 * float(np.nanstd(one.rewards))
    return _episode(one, one.chosen, rewards)


def _other_after(one: Any, t: int, n_options: int) -> Any:
    """The same with something else learnt after the event."""
    if not isinstance(one, Episode) or not one.after or np.isnan(one.rewards[t]):
        return None
    after = {name: values.copy() for name, values in one.after.items()}
    for values in after.values():
        values[t] += 1.0 + 3.0 * float(np.nanstd(values))
    return _episode(one, one.chosen, one.rewards, seen=one.seen._replace(after=after))


def _other_later_sight(one: Any, t: int, n_options: int) -> Any:
    """The same with something else seen at the next event."""
    if not isinstance(one, Episode) or not one.before or t + 1 >= one.n_events:
        return None
    before = {name: values.copy() for name, values in one.before.items()}
    for values in before.values():
        values[t + 1] = values[t] if not np.array_equal(values[t + 1], values[t]) else values[0]
    return _episode(one, one.chosen, one.rewards, seen=one.seen._replace(before=before))


def _other_choice(one: Any, t: int, n_options: int) -> Any:
    if n_options < 2:
        return None
    chosen = one.chosen.copy()
    chosen[t] = (chosen[t] + 1) % n_options
    available = getattr(one, "available", None)
    while available is not None and not available[t, chosen[t]]:
        chosen[t] = (chosen[t] + 1) % n_options
    if isinstance(one, Episode):
        return _episode(one, chosen, one.rewards)
    return Offers(chosen, one.offers, scored=one.scored, subject=one.subject, block=one.block)


def _ended(one: Any, t: int, n_options: int) -> Any:
    """The same, with the event as the last."""
    if t + 1 == one.n_events:
        return None
    if isinstance(one, Episode):
        return _episode(one, one.chosen, one.rewards, t + 1)
    return Offers(
        one.chosen[: t + 1],
        {name: array[: t + 1] for name, array in one.offers.items()},
        scored=one.scored[: t + 1],
        subject=one.subject,
        block=one.block,
    )


def _episode(
    one: Episode,
    chosen: IntVector,
    rewards: Vector,
    stop: int | None = None,
    seen: EventContext | None = None,
) -> Episode:
    kept = (one.seen if seen is None else seen).at_events(slice(stop))
    return Episode(
        chosen[:stop],
        rewards[:stop],
        is_choice=one.is_choice[:stop],
        scored=one.scored[:stop],
        subject=one.subject,
        block=one.block,
        **kept._asdict(),
    )


CHANGES = (
    Change(
        _other_reward,
        "the reward of event {t}",
        "It looks at the reward of the decision it predicts: fill the row first, learn after.",
    ),
    Change(
        _other_after,
        "what is learnt after event {t}",
        "It looks at what is learnt after the decision it predicts: fill the row first, learn "
        "after.",
        needs="after",
    ),
    Change(
        _other_later_sight,
        "what is seen at the event after {t}",
        "It looks at what is seen later only: use before[...][t] for row t.",
        needs="before",
    ),
    Change(
        _other_choice,
        "the choice at event {t}",
        "It looks at the choice it predicts: fill the row first, learn after.",
    ),
    Change(
        _ended,
        "everything after event {t}",
        "It looks at later events, or at how many there are: do not centre, scale or sort over the "
        "whole episode.",
    ),
)
