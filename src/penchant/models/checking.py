"""Tell the author of a model what is wrong with it.

After `checks`, which look at the declarations and the variables, these ask whether the ways in
which a model says the same thing agree: slopes with differences, many episodes at once with each by
itself, the objective and the agents with the variables times the weights. Last, whether the
parameters are identifiable from the data: to first order a change of weights and psi changes the
objective by x d_theta + (dx/dpsi theta) d_psi, and directions in which nothing changes, at every
psi that was tried, cannot be estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penchant._typing import BoolVector, Matrix, Vector
from penchant.bandit.episode import Episode
from penchant.errors import DataError
from penchant.models.checks import (
    Exam,
    Finding,
    ModelCheck,
    centred,
    declarations,
    future,
    place,
    variables,
)
from penchant.models.model import Declared, natural_parameters, softmax
from penchant.models.record import Record, refuse_no_model

Objective = Callable[[Any, Vector, Vector], Any]
DIFFERENCE_STEP = (
    1e-3  # of unconstrained units; differences of fourth order are then good to 1e-9 or so
)
AGREEMENT_TOL = 1e-5
DIFFERENCE_NOISE = (
    1e-11  # of the variables over the unit of psi: differences are no better than that
)
NO_CHANGE_TOL = 1e-7  # of the size of all changes: differences are good to about 1e-9
COUNTS = 1e-3  # share of a parameter in a direction that is worth a word


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
    several = _several(data)
    name = type(model).__name__
    found = declarations(model)
    if found:
        return ModelCheck(name, tuple(found), ())
    exam = Exam.of(model, several, rng)
    found = variables(exam)
    passed = ["declarations"]
    if found:
        return ModelCheck(name, tuple(found), tuple(passed))
    passed.append("shape and type of the variables, the same at every call")
    for what, check in _checks(exam, objective):
        wrong = check(exam)
        found += wrong
        passed += [] if wrong else [what]
    return ModelCheck(name, tuple(found), tuple(passed))


def _checks(
    exam: Exam, given: Objective | None
) -> list[tuple[str, Callable[[Exam], list[Finding]]]]:
    """What is looked at once the variables are numbers, in words, with how."""
    model, told = exam.model, Declared(exam.model)
    offered = [
        (True, "no look at the future", future),
        (told.explanatory_and_slopes and model.shape, "slopes", slopes_agree),
        (told.explanatory_many, "many episodes at once", many_agree),
        (
            given or told.objective,
            "the objective, linear in the weights",
            lambda exam: objective_agrees(exam, given),
        ),
        (told.agents, "agents", agents_agree),
        (True, "parameters identifiable", identifiable),
    ]
    return [(what, check) for applies, what, check in offered if applies]


def _several(data: Any) -> Sequence[Any]:
    several = list(data) if isinstance(data, (list, tuple)) else [data]
    needed = ("chosen", "scored", "n_events", "n_decisions")
    if not several or not all(hasattr(one, name) for one in several for name in needed):
        got = type(several[0]).__name__ if several else "none"
        raise DataError(
            f"data must be Episode or Offers, or some of them; got {got}. "
            "Make them with Episode(chosen, rewards) or Offers(chosen, offers)."
        )
    if not any(one.n_decisions for one in several):
        raise DataError(
            "data must hold at least one decision that is scored; got none. Give some more."
        )
    return [one for one in several if one.n_events]


def slopes_agree(exam: Exam) -> list[Finding]:
    """explanatory_and_slopes against explanatory and its differences."""
    own = Declared(exam.model).explanatory_and_slopes
    if own is None or not exam.model.shape:
        return []
    found = [_slopes_at(exam, own, one, psi) for psi in exam.inside for one in exam.data]
    return [finding for finding in found if finding is not None][:1]


def _slopes_at(exam: Exam, own: Any, one: Any, psi: Vector) -> Finding | None:
    x, given = (np.asarray(part) for part in own(one, *map(float, psi)))
    expected = exam.explanatory(one, psi)
    if not _same(x, expected):
        return Finding(
            "slopes",
            "explanatory_and_slopes must return the variables of explanatory first; got others"
            f"{exam.at(psi)}. Compute both by the same function.",
        )
    if given.shape != (len(psi), *x.shape):
        return Finding(
            "slopes",
            f"explanatory_and_slopes must return slopes of shape {(len(psi), *x.shape)}, shape "
            f"parameters first; got {given.shape}. Stack them along a first axis.",
        )
    for q, shape in enumerate(exam.model.shape):
        difference = slope_by_differences(exam, one, psi, q)
        rounding = DIFFERENCE_NOISE * np.abs(x).max() / abs(float(shape.jacobian(psi[q])))
        if np.abs(given[q] - difference).max() <= rounding:
            continue
        if not _same(given[q], difference, AGREEMENT_TOL):
            t, i, a = _worst(given[q], difference)
            return Finding(
                "slopes",
                f"the slope in {shape.name} must be the derivative of the variables; got "
                f"{given[q][t, i, a]:.6g} where differences give {difference[t, i, a]:.6g}, for "
                f"{exam.model.weights[a]} of option {i} at {place(one, t)}{exam.at(psi)}. Correct "
                "it, or leave explanatory_and_slopes out: it is not needed.",
            )
    return None


def slope_by_differences(exam: Exam, one: Any, psi: Vector, q: int) -> Matrix:
    """Derivative of the variables in shape parameter q, of fourth order."""
    shape = exam.model.shape[q]
    u = float(shape.to_unconstrained(psi[q]))

    def moved(steps: int) -> Matrix:
        there = psi.copy()
        there[q] = float(shape.from_unconstrained(u + steps * DIFFERENCE_STEP))
        return exam.explanatory(one, there)

    rise = 8.0 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))
    return np.asarray(rise / (12.0 * DIFFERENCE_STEP * float(shape.jacobian(psi[q]))))


def many_agree(exam: Exam) -> list[Finding]:
    """explanatory_many, for several pairs in any order, against explanatory."""
    own = Declared(exam.model).explanatory_many
    if own is None:
        return []
    which = np.concatenate([np.arange(len(exam.data))[::-1], [0, 0]])
    psi = np.array([exam.inside[k % len(exam.inside)] for k in range(len(which))])
    x, _ = own(Record.of(exam.data), which, psi.reshape(len(which), -1), False)
    pairs = zip(which, psi, strict=True)
    expected = np.concatenate([exam.explanatory(exam.data[e], at) for e, at in pairs])
    if _same(np.asarray(x), expected):
        return []
    return [
        Finding(
            "many",
            "explanatory_many must return the variables of explanatory, pair after pair; got "
            f"others for {len(which)} pairs. Begin every pair with fresh values, and mind that "
            "`which` may repeat an episode or skip one.",
        )
    ]


def objective_agrees(exam: Exam, own: Objective | None) -> list[Finding]:
    """An objective that the author gives, against theta times the variables."""
    own = own or Declared(exam.model).objective
    if own is None:
        return []
    for psi in exam.inside:
        for one in exam.data:
            finding = _not_linear(exam, own, one, psi) or _not_the_variables(exam, own, one, psi)
            if finding is not None:
                return [finding]
    return []


def _not_linear(exam: Exam, own: Objective, one: Any, psi: Vector) -> Finding | None:
    """Moving one weight to and fro moves the objective by as much, whatever the others are."""
    theta = drawn_weights(exam)
    middle = _q(own, one, theta, psi)
    curved = []
    for a, name in enumerate(exam.model.weights):
        step = np.zeros(len(theta))
        step[a] = 0.5 * theta[a]
        above, below = _q(own, one, theta + step, psi), _q(own, one, theta - step, psi)
        size = np.abs([above, middle, below]).max() + 1e-300
        if np.abs(above + below - 2 * middle).max() > AGREEMENT_TOL * size:
            curved.append(name)
    if not curved:
        return None
    return Finding(
        "objective",
        f"the objective must be linear in the weights; got one that bends in {', '.join(curved)}"
        f"{exam.at(psi)}. Declare it as a shape parameter, or find weights in which it is linear, "
        "such as a product with the inverse temperature.",
    )


def _not_the_variables(exam: Exam, own: Objective, one: Any, psi: Vector) -> Finding | None:
    theta = drawn_weights(exam)
    x = exam.explanatory(one, psi)
    expected = x @ theta
    given, expected = _q(own, one, theta, psi), expected - expected.mean(axis=1, keepdims=True)
    if _same(given[one.scored], expected[one.scored], AGREEMENT_TOL):
        return None
    t = int(np.abs(np.where(one.scored[:, None], given - expected, 0.0)).max(axis=1).argmax())
    return Finding(
        "objective",
        "the variables times the weights must be the objective, up to a constant in each decision; "
        f"got a difference of {np.abs(given[t] - expected[t]).max():.4g} at {place(one, t)}"
        f"{exam.at(psi)}. Correct explanatory.",
    )


def _q(own: Objective, one: Any, theta: Vector, psi: Vector) -> Matrix:
    """The objective less its mean over the options."""
    q = np.asarray(own(one, theta, psi), dtype=np.float64)
    return np.asarray(q - q.mean(axis=1, keepdims=True))


def agents_agree(exam: Exam) -> list[Finding]:
    """Simulated agents, led along the history, against the softmax of the variables."""
    parameters = _natural_values(exam)
    for one in exam.data:
        try:
            theirs = _agents_probabilities(exam.model, one, parameters)
        except Exception as error:  # whatever a model raises is for its author to read
            said = f"got {type(error).__name__}: {error}. Let them take all natural parameters."
            return [Finding("agents", f"agents of the model must play along the data; {said}")]
        if theirs is None:
            continue
        theta, psi = drawn_weights(exam), exam.inside[0]
        expected = softmax(exam.explanatory(one, psi) @ theta)
        if theirs.shape != expected.shape or np.abs(theirs - expected).max() > AGREEMENT_TOL:
            t = int(np.abs(theirs - expected).max(axis=1).argmax())
            return [
                Finding(
                    "agents",
                    "agents of the model must choose by the probabilities of a fit; got "
                    f"{_numbers(theirs[t])} instead of {_numbers(expected[t])} at {place(one, t)}"
                    f"{exam.at(psi)}. Correct one of them.",
                )
            ]
    return []


def _natural_values(exam: Exam) -> dict[str, float]:
    theta, psi = drawn_weights(exam), exam.inside[0]
    return {n.name: n.value(theta, psi) for n in natural_parameters(exam.model)}


def _agents_probabilities(model: Any, one: Any, parameters: dict[str, float]) -> Matrix | None:
    """Probabilities before each event; None where the model cannot say."""
    plain = isinstance(one, Episode) and one.is_choice.all() and (one.executed >= 0).all()
    agents = Declared(model).agents
    if not plain or agents is None or np.isnan(one.rewards).any():
        return None
    player, told = agents(dict(parameters), 1), Declared(model)
    rows = []
    for t in range(one.n_events):
        option, reward = one.executed[t : t + 1], one.rewards[t : t + 1]
        if told.before or told.after:
            seen = {name: values[t : t + 1] for name, values in one.before.items()}
            rows.append(np.array(player.probabilities(seen))[0])
            learnt = {name: values[t : t + 1] for name, values in one.after.items()}
            player.observe(option, reward, learnt)
        else:
            rows.append(np.array(player.probabilities())[0])
            player.observe(option, reward)
    return np.array(rows)


def drawn_weights(exam: Exam) -> Vector:
    """Weights of an ordinary size: the objective varies by about 1 within a decision."""
    x = exam.stacked(exam.inside[0])
    size = np.sqrt((x**2).mean(axis=0))
    order = 1.0 + 0.4 * np.cos(np.arange(len(size)) + 1.0)
    return np.asarray(order / np.where(size > 0, size, 1.0))


def _same(one: Matrix, other: Matrix, tolerance: float = 1e-9) -> bool:
    if one.shape != other.shape:
        return False
    size = float(np.abs(np.nan_to_num(other)).max(initial=0.0)) + 1e-300
    return bool(
        np.allclose(one / size, other / size, rtol=tolerance, atol=tolerance, equal_nan=True)
    )


def _worst(one: Matrix, other: Matrix) -> tuple[int, ...]:
    found = np.unravel_index(int(np.abs(np.nan_to_num(one - other)).argmax()), one.shape)
    return tuple(int(k) for k in found)


def _numbers(p: Vector) -> str:
    return "(" + ", ".join(f"{value:.3g}" for value in p[:6]) + (", ...)" if len(p) > 6 else ")")


def identifiable(exam: Exam) -> list[Finding]:
    """Parameters without effect, and combinations that leave every choice as it was."""
    names = [*exam.model.weights, *(s.name for s in exam.model.shape)]
    changes = [_changes(exam, psi) for psi in exam.inside]
    if not len(changes[0]):
        return []
    still = np.all([_still(change) for change in changes], axis=0)
    found = [
        _without_effect(name, a < len(exam.model.weights))
        for a, name in enumerate(names)
        if still[a]
    ]
    moving = np.flatnonzero(~still)
    null = [_null(change[:, moving]) for change in changes]
    if moving.size and all(len(directions) for directions in null):
        words = [names[a] for a in moving]
        found.append(_undone(words, null[0], [n for n in words if n in exam.model.weights]))
    return found


def _changes(exam: Exam, psi: Vector) -> Matrix:
    """How the objective of every option moves with every parameter: (rows, n_parameters)."""
    x, theta = exam.stacked(psi), drawn_weights(exam)
    columns = [x]
    for q in range(len(psi)):
        parts = [
            (slope_by_differences(exam, one, psi, q)[one.scored] @ theta)[:, :, None]
            for one in exam.data
        ]
        columns.append(centred(parts))
    return np.concatenate(columns, axis=1)


def _still(change: Matrix) -> BoolVector:
    """Parameters that move nothing."""
    size = np.sqrt((change**2).mean(axis=0))
    return np.asarray(size <= 1e-12 * max(float(size.max()), 1e-300))


def _null(change: Matrix) -> Matrix:
    """Directions in scaled parameters that move nothing: (n, n_parameters)."""
    size = np.sqrt((change**2).mean(axis=0))
    unit = change / np.where(size > 0, size, 1.0)
    _, singular, right = np.linalg.svd(unit, full_matrices=len(unit) < unit.shape[1])
    full = np.zeros(right.shape[0])
    full[: len(singular)] = singular
    return np.asarray(right[full <= NO_CHANGE_TOL * max(float(full.max(initial=0.0)), 1e-300)])


def _without_effect(name: str, is_weight: bool) -> Finding:
    why = (
        "its variable is the same for all options of every decision"
        if is_weight
        else "the variables do not change with it, or by the same for all options"
    )
    return Finding(
        "not identifiable",
        f"{name} must change the probability of some choice; got no effect on these data: {why}. "
        "Leave it out, or collect data in which it matters.",
    )


def _undone(names: list[str], null: Matrix, weights: list[str]) -> Finding:
    share = np.abs(null).max(axis=0)
    words = [name for name, size in zip(names, share, strict=True) if size > COUNTS]
    linear = all(name in weights for name in words)
    advice = (
        "Their variables are a combination of each other: leave one out, or hold it fixed."
        if linear
        else "A change of one is undone by the others: hold one fixed."
    )
    return Finding(
        "not identifiable",
        f"{', '.join(words)} must each change the choices in their own way; got directions in "
        f"which they change together and no probability moves ({len(null)} on these data). "
        f"{advice}",
    )
