"""Tell the author of a model what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penchant.errors import DataError
from penchant.models.checking.agreement import (
    Objective,
    agents_agree,
    many_agree,
    objective_agrees,
    slopes_agree,
    told_apart,
)
from penchant.models.checking.checks import declarations, future, variables
from penchant.models.checking.findings import Exam, Finding, ModelCheck
from penchant.models.model import Declared


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
    and parameters that cannot be told apart on these data.

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
        (told.agents or told.option_values, "agents", agents_agree),
        (True, "parameters told apart", told_apart),
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
