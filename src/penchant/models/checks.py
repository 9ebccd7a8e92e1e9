"""Tell the author of a model what is wrong with it: the checks behind `check_model`.

First the declarations and the variables are looked at by themselves. Then the reward, the choice,
and all that follows an event are changed in turn: the rows up to that event must not move. Then the
ways in which a model says the same thing are compared: slopes with differences, many episodes at
once with each by itself, the objective and the agents with the variables times the weights. Last,
whether the parameters are identifiable from the data: to first order a change of weights and psi
changes the objective by x d_theta + (dx/dpsi theta) d_psi, and directions in which nothing changes,
at every psi that was tried, cannot be estimated.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from penchant._typing import BoolVector, Matrix, Vector
from penchant.bandit.episode import Episode, EventContext, executed_history
from penchant.choices.offers import Offers
from penchant.errors import DataError, closest_match_hint
from penchant.models.arguments import refuse_no_model
from penchant.models.model import Declared, natural_parameters, softmax
from penchant.models.parameters import Parameter, Shape
from penchant.models.record import Record
from penchant.result_tables import (
    Columns,
    Result,
    attribute_columns,
    format_count,
)
from penchant.tables.events import Events, event_locator

Objective = Callable[[Any, Vector, Vector], Any]

MAX_HISTORIES = 8  # tried, of those given
N_INSIDE = 3  # places psi inside the range
MAX_TRIES = 100  # at places where a model may not exist
N_EVENTS = 6  # of an episode, at which something is changed
STEP = 1e-3  # of unconstrained units; differences of fourth order are then good to 1e-9 or so
SAME = 1e-9  # of the largest number: another order of summation
AGREE = 1e-5  # of the largest number, where one of two is a difference
ROUNDING = 1e-11  # of the variables over the unit of psi: differences are no better than that
NULL_CHANGE = 1e-7  # of the size of all changes: differences are good to about 1e-9
MIN_SHARE = 1e-3  # of a parameter in a direction that is worth a word
TINY = 1e-300  # keeps a quotient finite where all is 0


@dataclass(frozen=True)
class Finding:
    """Problem that a check found in a model.

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
    """Result of `check_model`: the problems found and the checks passed.

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
        """Whether the check found no problem."""
        return not self.problems

    def summary(self) -> str:
        """Text of the result: all problems, then the checks passed."""
        n = format_count(len(self.problems), "problem")
        head = f"{self.model}: {'nothing wrong was found' if self.ok else n}."
        texts = [f"{k}. {finding}" for k, finding in enumerate(self.problems, 1)]
        texts += [f"Right: {', '.join(self.passed)}."] if self.passed else []
        wrap = textwrap.TextWrapper(96, subsequent_indent="   ", break_long_words=False)
        return "\n".join([head, *map(wrap.fill, texts)])

    def frame_columns(self) -> Columns:
        """Columns of a table with one row per problem: code and message."""
        return attribute_columns(self.problems, "code", "message")

    def __repr__(self) -> str:
        found = ", ".join(dict.fromkeys(finding.code for finding in self.problems)) or "ok"
        return f"<ModelCheck of {self.model}: {found}>"


def check_model(
    model: Any,
    data: Any,
    *,
    rng: np.random.Generator,
    objective: Objective | None = None,
) -> ModelCheck:
    """Try a model on data, and say what is wrong with it in sentences.

    Looked for are: declarations that do not fit together; variables of a wrong shape or type, or
    not finite; a model that changes the episode or remembers the last call; rows that look at the
    choice or reward that they predict, or at what comes after; slopes, `explanatory_many`, agents
    or an objective that disagree with the variables; weights in which the objective is not linear;
    and parameters that are not identifiable from these data.

    Parameters
    ----------
    model
        Any object with weights, shape and explanatory.
    data
        `Episode` or `Offers`, or some of them: real ones, or simulated.
    rng
        Source of randomness: of the places psi and the events that are tried.
    objective
        objective(episode, theta, psi), (n_events, n_options): what the model is meant to say, in
        weights and shape. If not given, a method of the model of that name is taken.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> class Greedy:
    ...     weights = ("inverse_temperature",)
    ...     shape = (pn.models.Shape("learning_rate", 0.01, 1.0),)
    ...
    ...     def explanatory(self, episode, learning_rate):
    ...         values, x = np.zeros(3), np.empty((episode.n_events, 3, 1))
    ...         for t, (option, reward) in enumerate(zip(episode.chosen, episode.rewards)):
    ...             values[option] += learning_rate * (reward - values[option])
    ...             x[t, :, 0] = values
    ...         return x
    >>> rng = np.random.default_rng(0)
    >>> episode = pn.Episode(rng.integers(0, 3, 40), rng.normal(size=40))
    >>> found = pn.models.check_model(Greedy(), episode, rng=rng)
    >>> found
    <ModelCheck of Greedy: future>
    >>> print(found.problems[0].message)  # doctest: +ELLIPSIS
    explanatory must describe a decision by what happened before it; got another row for event 0 \
when the reward of event 0 was changed. It looks at the reward ...
    """
    refuse_no_model(model)
    histories, name = _histories(data), type(model).__name__
    found = [Finding("declaration", message) for message in _declarations(model)]
    if found:
        return ModelCheck(name, tuple(found), ())
    exam = Exam.of(model, histories, rng)
    passed = ["declarations"]
    found = [*_variables(exam)]
    if found:
        return ModelCheck(name, tuple(found), tuple(passed))
    passed.append("shape and type of the variables, the same at every call")
    declared = Declared(model)
    objective = objective or declared.objective
    for applies, what, check in (
        (True, "no look at the future", _future),
        (declared.explanatory_and_slopes and model.shape, "slopes", _slopes),
        (declared.explanatory_many, "many episodes at once", _check_many_pairs),
        (
            objective,
            "the objective, linear in the weights",
            lambda exam: _first(_objective(exam, objective)),
        ),
        (declared.agents, "agents", lambda exam: _first(_agents(exam))),
        (True, "parameters identifiable", _unidentified),
    ):
        if applies:
            wrong = [*check(exam)]
            found += wrong
            passed += [] if wrong else [what]
    return ModelCheck(name, tuple(found), tuple(passed))


def _histories(data: Any) -> list[Any]:
    several = list(data) if isinstance(data, (list, tuple)) else [data]
    needed = ("chosen", "scored", "n_events", "n_decisions")
    if not several or not all(hasattr(one, name) for one in several for name in needed):
        raise DataError(
            "data",
            "must be Episode or Offers, or some of them",
            got=type(several[0]).__name__ if several else "none",
            fix="Make them with Episode(chosen, rewards) or Offers(chosen, offers).",
        )
    if not any(one.n_decisions for one in several):
        raise DataError(
            "data",
            "must hold at least one decision that is scored",
            got="none",
            fix="Give some more.",
        )
    return [executed_history(one) for one in several if one.n_events]


def _first(findings: Iterator[Finding]) -> list[Finding]:
    return list(islice(findings, 1))


@dataclass(frozen=True)
class Exam:
    """A model, data to try it on, and places psi inside the range and at its ends.

    Attributes
    ----------
    data
        Episodes, as players learn from them, or offers.
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
        """Draw places inside the middle of the range, if possible where the model exists."""
        low, high = np.array([s.search_range for s in model.shape]).reshape(-1, 2).T
        some, psi = tuple(data)[:MAX_HISTORIES], np.empty(0)

        def in_own_units(u: Vector) -> Vector:
            pairs = zip(model.shape, u, strict=True)
            return np.array([float(s.from_unconstrained(v)) for s, v in pairs])

        def exists(psi: Vector) -> bool:
            x = (np.asarray(model.explanatory(one, *map(float, psi)))[one.scored] for one in some)
            return not Declared(model).outside or all(np.isfinite(rows).all() for rows in x)

        inside = []
        for _ in range(N_INSIDE):
            for _ in range(MAX_TRIES):
                psi = in_own_units(low + (0.15 + 0.7 * rng.random(len(low))) * (high - low))
                if exists(psi):
                    break
            inside.append(psi)
        ends = filter(exists, map(in_own_units, (low, high))) if len(low) else ()
        return cls(model, some, tuple(inside), tuple(ends), rng)

    def explanatory(self, one: Any, psi: Vector) -> Matrix:
        """The model's variables of one episode."""
        return np.asarray(self.model.explanatory(one, *map(float, psi)))

    def stacked(self, psi: Vector) -> Matrix:
        """Variables of all decisions scored, centred within the choice set: (rows, n_weights)."""
        return _centred([self.explanatory(one, psi)[one.scored] for one in self.data])

    def slope(self, one: Any, psi: Vector, q: int) -> Matrix:
        """Derivative of the variables in shape parameter q by differences of fourth order."""
        shape = self.model.shape[q]
        u = float(shape.to_unconstrained(psi[q]))

        def moved(steps: int) -> Matrix:
            there = psi.copy()
            there[q] = float(shape.from_unconstrained(u + steps * STEP))
            return self.explanatory(one, there)

        rise = 8.0 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))
        return np.asarray(rise / (12.0 * STEP * float(shape.jacobian(psi[q]))))

    def weights(self) -> Vector:
        """Weights of an ordinary size: the objective varies by about 1 within a decision."""
        size = np.sqrt((self.stacked(self.inside[0]) ** 2).mean(axis=0))
        order = 1.0 + 0.4 * np.cos(np.arange(len(size)) + 1.0)
        return np.asarray(order / np.where(size > 0, size, 1.0))

    def at(self, psi: Vector) -> str:
        """Phrase that names psi in a message, as " at rate = 0.1"; "" without shape."""
        named = zip(self.model.shape, psi, strict=True)
        said = ", ".join(f"{shape.name} = {value:.4g}" for shape, value in named)
        return f" at {said}" if said else ""


def _centred(parts: Sequence[Matrix]) -> Matrix:
    """Variables less their mean over the options of a decision, all rows in one matrix."""
    shifted = [x - x.mean(axis=1, keepdims=True) for x in parts]
    return np.concatenate([x.reshape(-1, x.shape[2]) for x in shifted])


def _locate_event(one: Any, t: int) -> str:
    return event_locator(one.subject, one.block, "event")(t)


# -- declarations ----------------------------------------------------------------------------------


def _declarations(model: Any) -> list[str]:
    """Check weights, shape, signs, parameters and the signature of explanatory; list problems."""
    return [*_weights(model), *_shape(model)] or [
        *_signature(model),
        *_positive(model),
        *_parameters(model),
    ]


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


def _shape(model: Any) -> Iterator[str]:
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
        yield (
            f"explanatory must take an episode and the {len(names)} shape parameters in the order "
            f"declared; got explanatory{inspect.signature(explanatory)}. "
            f"Write explanatory({', '.join(['self', 'episode', *names])})."
        )


def _positive(model: Any) -> Iterator[str]:
    positive = Declared(model).positive
    for name in (positive,) if isinstance(positive, str) else positive:
        if name not in model.weights:
            hint = closest_match_hint(str(name), model.weights) or " Name weights only."
            yield f"positive must be among the weights {model.weights!r}; got {name!r}.{hint}"
    if isinstance(positive, str):
        yield f"positive must be a tuple of names; got the text {positive!r}. Add a comma."


def _parameters(model: Any) -> Iterator[str]:
    rows = Declared(model).parameters
    if rows is not None and not all(isinstance(row, Parameter | Shape) for row in rows):
        yield f"parameters must be a tuple of Parameter or Shape; got {rows!r}. Correct it."
        return
    try:
        natural = natural_parameters(model)
    except DataError as error:
        yield str(error)
        return
    names = [n.name for n in natural]
    if len(set(names)) < len(names):
        yield f"parameters must have different names; got {', '.join(names)}. Rename one."
    # Every weight and shape parameter must follow from the table.
    theta = 0.5 + np.arange(len(model.weights)) / 3
    psi = np.array([float(s.from_unconstrained(np.mean(s.search_range))) for s in model.shape])
    slopes = np.array([n.gradient(theta, psi) for n in natural])
    own = [*model.weights, *(s.name for s in model.shape)]
    size = np.abs(slopes).max(axis=1, keepdims=True, initial=TINY)
    if np.linalg.matrix_rank(slopes / size) < len(own):
        lost = [name for name, column in zip(own, slopes.T, strict=True) if not column.any()]
        yield (
            "parameters must determine every weight and shape parameter; got none that tells "
            f"{', '.join(lost) or 'a combination of weights'}. Add a Parameter for it, or leave "
            "parameters out."
        )


# -- variables -------------------------------------------------------------------------------------


def _variables(exam: Exam) -> list[Finding]:
    """Check the array that `explanatory` returns: type, shape, finite values, no memory."""
    widths: dict[int, str] = {}
    every = ((one, psi) for psi in (*exam.inside, *exam.ends) for one in exam.data)
    wrong = (finding for one, psi in every for finding in _returned(exam, one, psi, widths))
    return _first(wrong) or _first(_remembered(exam))


def _returned(exam: Exam, one: Any, psi: Vector, widths: dict[int, str]) -> Iterator[Finding]:
    before = _contents(one)
    try:
        x = exam.model.explanatory(one, *map(float, psi))
    except Exception as error:  # whatever a model raises is for its author to read
        yield _raised(exam, one, psi, error)
        return
    if _contents(one) != before:
        yield Finding(
            "state",
            "explanatory must leave the episode as it is; got one with other numbers in it after "
            f"a call{exam.at(psi)}. Work on a copy.",
        )
    yield from _of_wrong_shape(exam, one, np.shape(x), widths)
    yield from _of_wrong_type(np.asarray(x).dtype)
    yield from _not_finite(exam, one, psi, np.asarray(x, dtype=np.float64))


def _contents(one: Any) -> list[bytes]:
    arrays = [one.chosen, one.scored, *getattr(one, "offers", {}).values()]
    arrays += [one.rewards, *one.context.arrays] if isinstance(one, Episode) else []
    return [array.tobytes() for array in arrays]


def _raised(exam: Exam, one: Any, psi: Vector, error: Exception) -> Finding:
    said = str(error).rstrip(".") or "no message"
    if isinstance(error, ValueError) and "read-only" in said:
        return Finding(
            "state",
            "explanatory must leave the episode as it is; got an attempt to write into its arrays, "
            "which are locked. Work on a copy, e.g. episode.rewards.copy().",
        )
    if isinstance(error, DataError):
        return Finding(
            "explanatory", f"explanatory refused {_locate_event(one, 0)} and on: {error}"
        )
    return Finding(
        "explanatory",
        f"explanatory must return variables for every psi in the range; got "
        f"{type(error).__name__}{exam.at(psi)}: {said}. Call it by itself to see where.",
    )


def _of_wrong_shape(
    exam: Exam, one: Any, shape: tuple[int, ...], widths: dict[int, str]
) -> Iterator[Finding]:
    d = len(exam.model.weights)
    if len(shape) != 3 or shape[0] != one.n_events or shape[2] != d:
        advice = "Return one row per event, one column per option, one layer per weight."
        if shape == (one.n_events, *shape[1:2]) and d == 1:
            advice = "The axis of the weights is missing: return x[:, :, None]."
        elif len(shape) == 3 and shape[0] == one.n_decisions != one.n_events:
            advice = "Events that are not scored need rows too."
        yield Finding(
            "shape",
            f"explanatory must return shape (n_events, n_options, n_weights) = ({one.n_events}, "
            f"n_options, {d}); got {shape}. {advice}",
        )
        return
    if one.chosen.max(initial=-1) >= shape[1]:
        t = int(np.argmax(one.chosen))
        yield Finding(
            "shape",
            f"explanatory must describe every option; got {shape[1]} options, but option "
            f"{one.chosen[t]} was taken at {_locate_event(one, t)}. Correct the number of options.",
        )
    widths.setdefault(shape[1], _locate_event(one, 0))
    if len(widths) > 1:
        yield Finding(
            "shape",
            "explanatory must return as many options for every episode; got "
            f"{' and '.join(map(str, widths))}. Do not count them from the options that happened "
            "to be chosen.",
        )


def _of_wrong_type(kind: np.dtype[Any]) -> Iterator[Finding]:
    advice = "Convert them to float64."
    if kind.kind in "iub":
        advice = (
            "Fractions that were written into it are lost: make the array with np.zeros(shape) or "
            "np.empty(shape), and not like an array of integers."
        )
    elif kind.kind == "f":
        advice = "Half the digits are lost, and derivatives with them: compute in float64."
    if kind != np.float64:
        yield Finding("dtype", f"explanatory must return float64; got {kind}. {advice}")


def _not_finite(exam: Exam, one: Any, psi: Vector, x: Matrix) -> Iterator[Finding]:
    wrong = np.argwhere(~np.isfinite(x) & one.scored[:, None, None])
    if not len(wrong):
        return
    t, i, a = (int(k) for k in wrong[0])
    advice = "Look for a division by zero, a logarithm, or an overflow."
    rewards = getattr(one, "rewards", np.zeros(one.n_events))
    gaps = np.flatnonzero((one.chosen[:t] < 0) | np.isnan(rewards[:t]))
    if gaps.size:
        advice = (
            f"It follows {_locate_event(one, int(gaps[-1]))}, which has no choice (chosen is -1, "
            "the reward NaN): such an event teaches nothing, skip it."
        )
    yield Finding(
        "not finite",
        f"explanatory must be finite in every decision that is scored; got {x[t, i, a]:g} for "
        f"{exam.model.weights[a]} of option {i} at {_locate_event(one, t)}{exam.at(psi)}. {advice}",
    )


def _remembered(exam: Exam) -> Iterator[Finding]:
    """Check that `explanatory` is deterministic: repeated calls return equal arrays."""
    first, psi = exam.data[0], exam.inside[0]
    result = exam.explanatory(first, psi)
    kept = result.copy()
    exam.explanatory(exam.data[-1], exam.inside[-1])
    if not np.array_equal(result, kept, equal_nan=True):
        yield Finding(
            "state",
            "explanatory must return a new array at every call; got one that the next call wrote "
            "over. Make the array inside explanatory.",
        )
    again = exam.explanatory(first, psi)
    if not np.array_equal(again, kept, equal_nan=True):
        t = int(np.argwhere(again != kept)[0][0])
        yield Finding(
            "state",
            "explanatory must depend on the episode and psi only; got other numbers when called "
            f"again after another episode and psi, first at {_locate_event(first, t)}. Start "
            "values afresh inside explanatory, keep nothing in self, and draw no random numbers.",
        )


# -- the future ------------------------------------------------------------------------------------


# What a model looks at whose rows move with a change, and what to do.
LOOKS = (
    "It looks at the reward of the decision it predicts: fill the row first, learn after.",
    "It looks at what is learnt after the decision it predicts: fill the row first, learn after.",
    "It looks at what is seen later only: use before[...][t] for row t.",
    "It looks at the choice it predicts: fill the row first, learn after.",
    "It looks at later events, or at how many there are: do not centre, scale or sort over the "
    "whole episode.",
)


def _future(exam: Exam) -> list[Finding]:
    """Rows that know the reward or the choice that they predict, or what comes after.

    Every kind of change of an event, or of what follows, is tried until one moves a row up to it.
    """
    psi, found = exam.inside[0], dict[str, Finding]()
    for one in exam.data:
        x = exam.explanatory(one, psi)
        known = np.flatnonzero(one.chosen >= 0)
        some = exam.rng.choice(known, min(N_EVENTS, len(known)), replace=False)
        for t in np.unique(np.concatenate([known[:1], some, known[-1:]])).tolist():
            for changed, what, fix in _changes_of(one, t, x.shape[1]):
                if fix not in found and (said := _moved(exam, changed, x, (one, t), what)):
                    found[fix] = Finding("future", f"explanatory must {said}. {fix}")
    return [found[fix] for fix in LOOKS if fix in found]


def _moved(exam: Exam, changed: Any, x: Matrix, at: tuple[Any, int], what: str) -> str:
    """Describe how rows up to event t differ once later data changed; "" if they are equal."""
    one, t = at
    try:
        moved = exam.explanatory(changed, exam.inside[0])[: t + 1]
    except Exception as error:  # whatever a model raises is for its author to read
        return f"not need what follows; got {type(error).__name__} once {what} was changed: {error}"
    rows, scale = np.arange(t + 1), np.maximum(np.abs(x).max(axis=(0, 1)), TINY)
    if moved.shape == x[: t + 1].shape:
        close = np.isclose(x[: t + 1] / scale, moved / scale, SAME, SAME, equal_nan=True)
        rows = np.flatnonzero(~close.all(axis=(1, 2)))
    return (
        "describe a decision by what happened before it; got another row for "
        f"{_locate_event(one, int(rows[-1]))} when {what} was changed"
        if rows.size
        else ""
    )


def _changes_of(one: Any, t: int, n_options: int) -> Iterator[tuple[Any, str, str]]:
    """Histories that differ at an event or after it; what differs; and what to do about it."""
    if isinstance(one, Episode) and not np.isnan(one.rewards[t]):
        rewards = one.rewards.copy()
        rewards[t] += _elsewhere(rewards)
        yield _varied(one, rewards=rewards), f"the reward of event {t}", LOOKS[0]
        if one.after:
            after = {name: values.copy() for name, values in one.after.items()}
            for values in after.values():
                values[t] += _elsewhere(values)
            yield (
                _varied(one, context=one.context._replace(after=after)),
                f"what is learnt after event {t}",
                LOOKS[1],
            )
    if isinstance(one, Episode) and one.before and t + 1 < one.n_events:
        before = {name: values.copy() for name, values in one.before.items()}
        for values in before.values():
            same = np.array_equal(values[t + 1], values[t])
            values[t + 1] = values[0] if same else values[t]
        yield (
            _varied(one, context=one.context._replace(before=before)),
            f"what is seen at the event after {t}",
            LOOKS[2],
        )
    available = getattr(one, "available", None)
    others = (one.chosen[t] + np.arange(1, n_options)) % n_options
    others = others if available is None else others[available[t][others]]
    if len(others):
        chosen = one.chosen.copy()
        chosen[t] = others[0]
        yield _varied(one, chosen=chosen), f"the choice at event {t}", LOOKS[3]
    if t + 1 < one.n_events:
        yield _varied(one, t + 1), f"everything after event {t}", LOOKS[4]


def _varied(
    one: Any, stop: int | None = None, context: EventContext | None = None, **arrays: Any
) -> Any:
    """The history up to an event, with other arrays."""
    if isinstance(one, Offers):
        offers = {name: values[:stop] for name, values in one.offers.items()}
        chosen = arrays.get("chosen", one.chosen)[:stop]
        return Offers.of_checked(chosen, offers, one.scored[:stop], one.subject, one.block)
    events = one.events._replace(**arrays, executed=arrays.get("chosen", one.chosen))
    events = Events(*(array[:stop] for array in events))
    context = (one.context if context is None else context).select_events(slice(stop))
    return Episode.of_events(events, one.subject, one.block, context)


def _elsewhere(values: Vector) -> float:
    """A step out of the range of values that were seen."""
    return 1.0 + 3.0 * float(np.nanstd(values))


# -- ways to say the same --------------------------------------------------------------------------


def _slopes(exam: Exam) -> list[Finding]:
    """explanatory_and_slopes against explanatory and its differences."""
    return _first(
        finding
        for psi in exam.inside
        for one in exam.data
        for finding in _slopes_at(exam, one, psi)
    )


def _slopes_at(exam: Exam, one: Any, psi: Vector) -> Iterator[Finding]:
    own: Any = Declared(exam.model).explanatory_and_slopes
    x, given = (np.asarray(part) for part in own(one, *map(float, psi)))
    if not _is_same(x, exam.explanatory(one, psi)):
        yield Finding(
            "slopes",
            "explanatory_and_slopes must return the variables of explanatory first; got others"
            f"{exam.at(psi)}. Compute both by the same function.",
        )
    if given.shape != (len(psi), *x.shape):
        yield Finding(
            "slopes",
            f"explanatory_and_slopes must return slopes of shape {(len(psi), *x.shape)}, shape "
            f"parameters first; got {given.shape}. Stack them along a first axis.",
        )
        return
    for q, shape in enumerate(exam.model.shape):
        expected = exam.slope(one, psi, q)
        away = np.abs(np.nan_to_num(given[q] - expected))
        rounding = ROUNDING * np.abs(x).max() / abs(float(shape.jacobian(psi[q])))
        if away.max() > rounding and not _is_same(given[q], expected, AGREE):
            t, i, a = (int(k) for k in np.unravel_index(int(away.argmax()), away.shape))
            yield Finding(
                "slopes",
                f"the slope in {shape.name} must be the derivative of the variables; got "
                f"{given[q][t, i, a]:.6g} where differences give {expected[t, i, a]:.6g}, for "
                f"{exam.model.weights[a]} of option {i} at {_locate_event(one, t)}{exam.at(psi)}. "
                "Correct it, or leave explanatory_and_slopes out: it is not needed.",
            )


def _check_many_pairs(exam: Exam) -> Iterator[Finding]:
    """explanatory_many, for several pairs in any order, against explanatory."""
    own: Any = Declared(exam.model).explanatory_many
    which = np.concatenate([np.arange(len(exam.data))[::-1], [0, 0]])
    psi = np.array([exam.inside[k % len(exam.inside)] for k in range(len(which))])
    x, _ = own(Record.of(exam.data), which, psi.reshape(len(which), -1), False)
    pairs = zip(which, psi, strict=True)
    expected = np.concatenate([exam.explanatory(exam.data[e], at) for e, at in pairs])
    if not _is_same(np.asarray(x), expected):
        yield Finding(
            "many",
            "explanatory_many must return the variables of explanatory, pair after pair; got "
            f"others for {len(which)} pairs. Begin every pair with fresh values, and mind that "
            "`which` may repeat an episode or skip one.",
        )


def _objective(exam: Exam, own: Any) -> Iterator[Finding]:
    """An objective that the author gives, against theta times the variables."""
    theta = exam.weights()
    for psi in exam.inside:
        for one in exam.data:

            def centred(q: Any) -> Matrix:
                q = np.asarray(q, dtype=np.float64)
                return np.asarray(q - q.mean(axis=1, keepdims=True))

            def centred_objective(theta: Vector, one: Any = one, psi: Vector = psi) -> Matrix:
                return centred(own(one, theta, psi))

            curved = _curved(centred_objective, theta, exam.model.weights)
            if curved:
                yield Finding(
                    "objective",
                    "the objective must be linear in the weights; got one that bends in "
                    f"{', '.join(curved)}{exam.at(psi)}. Declare it as a shape parameter, or "
                    "find weights in which it is linear, such as a product with the inverse "
                    "temperature.",
                )
            observed, expected = (
                centred_objective(theta),
                centred(exam.explanatory(one, psi) @ theta),
            )
            if not _is_same(observed[one.scored], expected[one.scored], AGREE):
                away = np.abs(np.where(one.scored[:, None], observed - expected, 0.0)).max(axis=1)
                yield Finding(
                    "objective",
                    "the variables times the weights must be the objective, up to a constant in "
                    f"each decision; got a difference of {away.max():.4g} at "
                    f"{_locate_event(one, int(away.argmax()))}{exam.at(psi)}. Correct explanatory.",
                )


def _curved(q: Callable[[Vector], Matrix], theta: Vector, names: Sequence[str]) -> list[str]:
    """Weights of which steps to and fro do not move the objective by as much."""
    middle, found = q(theta), []
    for step, name in zip(np.diag(0.5 * theta), names, strict=True):
        above, below = q(theta + step), q(theta - step)
        size = np.abs([above, middle, below]).max() + TINY
        if np.abs(above + below - 2 * middle).max() > AGREE * size:
            found.append(name)
    return found


def _agents(exam: Exam) -> Iterator[Finding]:
    """Simulated agents, led along the history, against the softmax of the variables."""
    theta, psi = exam.weights(), exam.inside[0]
    parameters = {n.name: n.value(theta, psi) for n in natural_parameters(exam.model)}
    for one in exam.data:
        plain = isinstance(one, Episode) and one.is_choice.all() and (one.chosen >= 0).all()
        if not plain or np.isnan(one.rewards).any():
            continue
        try:
            theirs = _agents_probabilities(exam.model, one, parameters)
        except Exception as error:  # whatever a model raises is for its author to read
            said = f"got {type(error).__name__}: {error}. Let them take all natural parameters."
            yield Finding("agents", f"agents of the model must play along the data; {said}")
            return
        expected = softmax(exam.explanatory(one, psi) @ theta)
        if theirs.shape != expected.shape or np.abs(theirs - expected).max() > AGREE:
            t = int(np.abs(theirs - expected).max(axis=1).argmax())
            yield Finding(
                "agents",
                "agents of the model must choose by the probabilities of a fit; got "
                f"{_numbers(theirs[t])} instead of {_numbers(expected[t])} at "
                f"{_locate_event(one, t)}{exam.at(psi)}. Correct one of them.",
            )


def _agents_probabilities(model: Any, one: Episode, parameters: dict[str, float]) -> Matrix:
    """Probabilities before each event."""
    declared = Declared(model)
    agents: Any = declared.agents
    player, is_told, rows = agents(dict(parameters), 1), declared.before or declared.after, []
    for t in range(one.n_events):
        now = slice(t, t + 1)
        seen = [{name: values[now] for name, values in one.before.items()}] if is_told else []
        learnt = [{name: values[now] for name, values in one.after.items()}] if is_told else []
        rows.append(np.array(player.probabilities(*seen))[0])
        player.observe(one.chosen[now], one.rewards[now], *learnt)
    return np.array(rows)


def _is_same(one: Matrix, other: Matrix, tolerance: float = SAME) -> bool:
    if one.shape != other.shape:
        return False
    size = float(np.abs(np.nan_to_num(other)).max(initial=0.0)) + TINY
    return bool(np.allclose(one / size, other / size, tolerance, tolerance, equal_nan=True))


def _numbers(p: Vector) -> str:
    return "(" + ", ".join(f"{value:.3g}" for value in p[:6]) + (", ...)" if len(p) > 6 else ")")


# -- parameters that are not identifiable ----------------------------------------------------------


def _unidentified(exam: Exam) -> Iterator[Finding]:
    """Parameters without effect, and combinations that leave every choice as it was."""
    weights = exam.model.weights
    names = np.array([*weights, *(s.name for s in exam.model.shape)])
    changes = [_changes(exam, psi) for psi in exam.inside]
    if not len(changes[0]):
        return
    still: BoolVector = np.all([_size(one) <= 1e-12 * _size(one).max() for one in changes], axis=0)
    for name in names[still]:
        why = (
            "its variable is the same for all options of every decision"
            if name in weights
            else "the variables do not change with it, or by the same for all options"
        )
        yield Finding(
            "not identifiable",
            f"{name} must change the probability of some choice; got no effect on these data: "
            f"{why}. Leave it out, or collect data in which it matters.",
        )
    null = [] if still.all() else [_null_directions(change[:, ~still]) for change in changes]
    if not null or not all(map(len, null)):
        return
    together = names[~still][np.abs(null[0]).max(axis=0) > MIN_SHARE]
    advice = (
        "Their variables are a combination of each other: leave one out, or hold it fixed."
        if set(together) <= set(weights)
        else "A change of one is undone by the others: hold one fixed."
    )
    yield Finding(
        "not identifiable",
        f"{', '.join(together)} must each change the choices in their own way; got directions in "
        f"which they change together and no probability moves ({len(null[0])} on these data). "
        f"{advice}",
    )


def _changes(exam: Exam, psi: Vector) -> Matrix:
    """Jacobian of the centred objective in all parameters: (rows, n_parameters)."""
    theta, columns = exam.weights(), [exam.stacked(psi)]
    for q in range(len(psi)):
        slopes = [(exam.slope(one, psi, q)[one.scored] @ theta)[:, :, None] for one in exam.data]
        columns.append(_centred(slopes))
    return np.concatenate(columns, axis=1)


def _size(change: Matrix) -> Vector:
    return np.asarray(np.sqrt((change**2).mean(axis=0)))


def _null_directions(change: Matrix) -> Matrix:
    """Directions in scaled parameters that move nothing: (n, n_parameters)."""
    size = _size(change)
    unit = change / np.where(size > 0, size, 1.0)
    _, singular, right = np.linalg.svd(unit, full_matrices=len(unit) < unit.shape[1])
    full = np.zeros(right.shape[0])
    full[: len(singular)] = singular
    return np.asarray(right[full <= NULL_CHANGE * max(float(full.max(initial=0.0)), TINY)])
