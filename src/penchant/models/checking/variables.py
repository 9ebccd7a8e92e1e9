"""Whether the explanatory variables are numbers of the right shape, the same at every call."""

from __future__ import annotations

from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import DataError
from penchant.models.checking.exam import Exam, place
from penchant.models.checking.findings import Finding


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
        x = exam.model.explanatory(one, *map(float, psi))
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
    arrays += [one.rewards] if hasattr(one, "rewards") else []
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
