"""Diagnostics of an estimate: its status and message, and the validity of a linearised one.

The records hold numbers only; the functions that end in `_sentence` word them for the user, with
what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

import numpy as np

from penchant._typing import Vector
from penchant.errors import (
    DataError,
    advise_prior,
    closest_match_hint,
    mark_argument,
    mark_weak_prior_argument,
    profile_interval_advice,
)
from penchant.json_records import NOT_WRITTEN, MinimumValue

Direction: TypeAlias = Mapping[str, float]  # entries of a direction of theta, by parameter
Count: TypeAlias = Annotated[int, MinimumValue(0)]
Certificate = Literal["newton", "linear program", "prior", "penalty"]
LINEARISATION_ADVICE = "Linearise about another prior, or use the exact fit"
LARGEST_RATIO = 1.0  # beyond, a deviation exceeds the nominal value and linearising is no guide
OUTSIDE: Literal["outside the model"] = "outside the model"


def unknown_name_error(argument: str, name: object, known: Iterable[str]) -> DataError:
    """Error for a name that is none of those known."""
    names = dict.fromkeys(known)
    rule = f"must be among {', '.join(names)}"
    hint = closest_match_hint(str(name), names) or "Correct it."
    return DataError(argument, rule, got=repr(name), fix=hint)


def outside_model_sentence() -> str:
    """Sentence for a linearised fit that left the model, with what to do."""
    return (
        "theta gives parameters that the model cannot have, such as a decision noise or a "
        "prior variance that is not positive, so there are no natural parameters: "
        f"{LINEARISATION_ADVICE.lower()}."
    )


def is_small_deviation(ratio: float, bounds: tuple[float, float]) -> bool:
    """Whether the deviation is inside its bounds and small beside the nominal value."""
    low, high = bounds
    return bool(low < ratio < min(high, LARGEST_RATIO))


@dataclass(frozen=True, eq=False)
class LinearizationValidity:
    """The range of validity of a linearised estimate.

    Attributes
    ----------
    nominal, coordinate
        The point that the model was linearised about, and how the deviation maps back.
    nominal_psi, nominal_ratios
        The point as shape parameters, and as ratios of the weights to the first.
    ratio
        Deviation of the first shape parameter over its nominal value: Delta_delta / delta-bar.
    bounds
        Where that ratio must lie for the linearisation to mean anything.
    exact_log_likelihood
        Of the model itself at the parameters found; NaN if they lie outside the model.
    weights, psi
        Of the model itself; NaN outside it.
    shape_dependent_parameters
        Natural parameters that rest on the deviation.
    """

    nominal: Mapping[str, float | None]
    coordinate: str
    ratio: float
    bounds: tuple[float, float]
    exact_log_likelihood: float
    shape_dependent_parameters: tuple[str, ...]
    nominal_psi: Vector | None = field(default=None, metadata=NOT_WRITTEN)
    nominal_ratios: Vector | None = field(default=None, metadata=NOT_WRITTEN)
    weights: Vector | None = field(default=None, metadata=NOT_WRITTEN)
    psi: Vector | None = field(default=None, metadata=NOT_WRITTEN)

    @property
    def valid(self) -> bool:
        """The deviation is no larger than the nominal value, and the parameters are possible."""
        inside = bool(np.isfinite(self.exact_log_likelihood))
        return is_small_deviation(self.ratio, self.bounds) and inside

    @property
    def meaningless_parameters(self) -> tuple[str, ...]:
        """Natural parameters that rest on a deviation which is not small."""
        return () if self.valid or not np.isfinite(self.ratio) else self.shape_dependent_parameters

    def __str__(self) -> str:
        said = "valid" if self.valid else "outside its range of validity"
        return f"{said}: ratio {self.ratio:.4g}"


def describe_nominal_point(nominal: Mapping[str, float | None]) -> str:
    """The nominal point in words: a prior of rewards, or the values of a mapping."""
    said = ", ".join(f"{name} {value:g}" for name, value in nominal.items() if value is not None)
    of_rewards = "variance" in nominal
    return f"prior {said.replace('_', ' ')}" if of_rewards else said or "nothing"


Status = Literal[
    "converged",
    "not identified",
    "separated",
    "weakly identified",
    "at a bound",
    "stopped early",
    "outside the model",
]


@dataclass(frozen=True)
class Combination:
    """A combination of parameters that can be estimated although its parts cannot."""

    weights: Direction
    estimate: float
    standard_error: float

    def __str__(self) -> str:
        combination = describe_combination(self.weights)
        return f"{combination} = {self.estimate:.6g} ({self.standard_error:.2g})"


@dataclass(frozen=True)
class Separation:
    """Separation: the log-likelihood rises to its supremum along a direction of theta.

    Attributes
    ----------
    kind
        "complete" where every choice becomes certain in the limit, else "quasi-complete".
    direction
        Entries of the direction, by name of the variable.
    supremum
        Least upper bound of the log-likelihood.
    n_resolved
        Decisions in which some option becomes impossible in the limit.
    """

    kind: Literal["complete", "quasi-complete"]
    direction: Direction
    supremum: float
    n_resolved: Count


@dataclass(frozen=True)
class Diagnostics:
    """Record of how the estimate was reached, and how far it can be trusted.

    Attributes
    ----------
    rank
        Number of directions of theta that the choices identify.
    null_directions
        Directions along which no probability changes, by name of the variable.
    combinations
        What can still be estimated, where theta is not identified.
    decisions_needed
        At least so many more decisions are needed for identification.
    separation, near_separation
        See `Separation`; near: separated but for differences below 1/1000 standard deviation.
    condition
        Condition number of the information, scaled to unit diagonal.
    iterations, decrement
        Newton steps, and the length of the last one in standard errors.
    certificate
        What proved that the maximum exists: "newton", "linear program", "prior", "penalty".
    bounds
        Constraints that hold with equality.
    """

    rank: Count
    null_directions: tuple[Direction, ...]
    combinations: tuple[Combination, ...]
    decisions_needed: Count
    separation: Separation | None
    near_separation: Direction | None
    condition: float
    iterations: Count
    decrement: float
    certificate: Certificate | None
    bounds: tuple[str, ...]


def describe_combination(weights: Mapping[str, float], digits: int = 3) -> str:
    """A linear combination as one writes it.

    >>> describe_combination({"price": 1.0, "tax": -2.5, "wait": 0.0})
    'price - 2.5 tax'
    """
    words = ""
    for name, weight in weights.items():
        if weight == 0:
            continue
        sign = ("-" if weight < 0 else "") if not words else (" - " if weight < 0 else " + ")
        size = f"{abs(weight):.{digits}g} "
        words += f"{sign}{'' if size == '1 ' else size}{name}"
    return words or "0"


def not_identified_sentence(
    rank: int, n_parameters: int, null: tuple[Mapping[str, float], ...], needed: int
) -> str:
    """Why theta is not identified, and what to do."""
    # users mend the two causes differently: a direction of one variable means that it is constant
    # within choice sets, one of several variables that they are collinear
    alone = [next(iter(_nonzero_entries(v))) for v in null if len(_nonzero_entries(v)) == 1]
    joint = [v for v in null if len(_nonzero_entries(v)) > 1]
    reasons = []
    if alone:
        verb = "does" if len(alone) == 1 else "do"
        reasons.append(f"{', '.join(alone)} {verb} not vary inside any choice set")
    if joint:
        same = "; ".join(describe_combination(v) for v in joint)
        reasons.append(f"{same} is the same for all options of every choice set")
    advice = (
        "Drop a variable"
        + (f", interact {alone[0]} with the options" if alone else "")
        + f", {advise_prior()}, or collect at least {needed} more decision"
        + ("." if needed == 1 else "s.")
    )
    return (
        f"theta is not identified: the choices determine {rank} of {n_parameters} directions "
        f"({'; '.join(reasons)}). {advice}"
    )


def _nonzero_entries(direction: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in direction.items() if value != 0}


def separated_sentence(separation: Separation) -> str:
    """Sentence for separated choices: along which direction, and what to do."""
    constants = [
        name for name in _nonzero_entries(separation.direction) if name.startswith("constant:")
    ]
    why = ""
    # only constants of options diverge: the commonest case, with a simpler explanation
    if constants and len(constants) == len(_nonzero_entries(separation.direction)):
        why = " An option is always or never chosen: its constant goes to infinity."
    return (
        f"The choices are separated ({separation.kind}): the log-likelihood rises towards "
        f"{separation.supremum:.6g} along {describe_combination(separation.direction)} and has no "
        f"maximum, so there is no estimate and no standard error in that direction.{why} Use "
        f"{mark_argument('method', 'firth')} or {mark_weak_prior_argument()}, or "
        f"{profile_interval_advice('read')}."
    )


def weakly_identified_sentence(condition: float, names: list[str]) -> str:
    """Sentence for weak identification by an ill-conditioned information."""
    return (
        f"theta is weakly identified: the scaled information has condition number {condition:.2g}; "
        f"the effects of {', '.join(names)} are hardly identifiable separately. Standard errors "
        f"are right but large in that direction; drop one of these variables or {advise_prior()}."
    )


def near_separation_sentence(direction: Mapping[str, float]) -> str:
    """Sentence for a maximum that exists only by negligible differences."""
    return (
        "theta is weakly identified: but for differences below a thousandth of a standard "
        f"deviation the choices are separated along {describe_combination(direction)}. "
        "Do not interpret the "
        f"size of these weights; {advise_prior()} or use {mark_argument('method', 'firth')}."
    )


def active_bounds_sentence(bounds: tuple[str, ...]) -> str:
    """Sentence for an estimate at the bound of a constraint."""
    return (
        f"The estimate lies at a bound ({', '.join(bounds)}): parameters held there have no "
        f"standard error. {profile_interval_advice()}, or ask whether the constraint is right."
    )


def stopped_early_sentence(n_steps: int, decrement: float) -> str:
    """Sentence for a search that ended before the maximum."""
    return (
        f"Stopped after {n_steps} steps at {decrement:.2g} standard errors from the maximum. Allow "
        f"more with {mark_argument('max_steps')}; until then this is not an estimate."
    )


def undecided_existence_sentence() -> str:
    """Sentence where the existence of a maximum could not be decided."""
    return (
        "Whether the likelihood has a maximum could not be decided: the linear program that tells "
        f"was given up. To be sure of one, {advise_prior()}; until then this is not an estimate."
    )
