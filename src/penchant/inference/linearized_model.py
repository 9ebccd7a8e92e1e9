"""Estimator of the paper: the model linearised about a nominal point, Eqs. (16) to (26).

About nominal shape parameters psi-bar and nominal ratios rho of the weights to the first one, the
objective is to first order

    theta_1 x_1 + sum_a theta_a x_a + sum_q theta_q d_q,

with x_1 = sum_a rho_a x_a(psi-bar), the other variables themselves, and d_q = sum_a rho_a
dx_a/dpsi_q.
Back: ratio_a = rho_a + theta_a / theta_1, psi_q = psi-bar_q + theta_q / theta_1. For stochastic UCL
these are x_1, x_2, x_3 (and x_4 for the length scale) of the paper.

Notes
-----
Paper: Eqs. (19) and (21) print mean rewards where the dimensions need the rewards themselves. The
coordinate delta is the paper's; sigma0 fits the same columns but maps back with less curvature.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from penchant._typing import Label, Matrix, Vector
from penchant.argument_checks import check_number, check_one_of
from penchant.bandit.beliefs import RewardPrior
from penchant.bandit.episode import Episode, Episodes
from penchant.choices import Choices, NaturalParameters
from penchant.errors import (
    DataError,
    PenchantWarning,
    closest_match_hint,
)
from penchant.inference.existence_of_maximum import lacks_finite_maximum
from penchant.inference.fit import fit_model, no_scored_decision_error
from penchant.inference.fit_each import episodes_by_subject, fit_portions
from penchant.inference.profile.inner_problems import best_weights
from penchant.inference.profile.profile_likelihood import ProfileProblems
from penchant.inference.search.local_maxima import Optima
from penchant.inference.search.multistart import best_optima, grids_and_best_cells, newton_from
from penchant.inference.subject_estimates import estimates_at
from penchant.models.arguments import as_episodes, refuse_no_model
from penchant.models.model import Declared, Model, model_words, natural_parameters, positive_weights
from penchant.models.parameters import Shape
from penchant.result_tables import pooled_notes
from penchant.softmax.constraints import Constraints
from penchant.softmax.estimate import Estimate
from penchant.softmax.estimate_collection import Estimates
from penchant.softmax.estimate_diagnostics import (
    LINEARISATION_ADVICE,
    OUTSIDE,
    LinearizationValidity,
    is_small_deviation,
    outside_model_sentence,
)
from penchant.softmax.fit import fit_choices
from penchant.softmax.inference_from_choices import ChoiceSource
from penchant.softmax.likelihood import available_threads
from penchant.softmax.probabilities import decision_log_likelihoods

Coordinate = Literal["delta", "sigma0"]
Nominal = RewardPrior | Mapping[str, float]


@dataclass(frozen=True)
class LinearizedParameterMap:
    """Map from theta of the linearised model to natural parameters; picklable."""

    model: Model
    psi: Vector
    ratios: Vector
    coordinate: Coordinate

    def weights_and_shape(self, theta: Vector) -> tuple[Vector, Vector]:
        """Weights and shape parameters of the model itself."""
        d = len(self.ratios)
        weights = theta[0] * self.ratios
        weights[1:] += theta[1:d]
        deviation = theta[d:] / theta[0]
        psi = self.psi + deviation
        # Delta is in proportion to 1 / sigma0^2: deviations linear in sigma0 keep it positive.
        if self.coordinate == "sigma0":
            relative = 1.0 - deviation[0] / (2.0 * self.psi[0])
            psi[0] = self.psi[0] / relative**2 if relative > 0 else np.nan
        return weights, psi

    def values(self, theta: Vector) -> Vector:
        """Natural parameters; NaN where theta lies outside the model."""
        naturals = natural_parameters(self.model)
        if not self.is_inside_model(theta):
            return np.full(len(naturals), np.nan)
        weights, psi = self.weights_and_shape(theta)
        return np.array([n.value(weights, psi) for n in naturals])

    def is_inside_model(self, theta: Vector) -> bool:
        """Whether theta gives parameters that the model can have."""
        if not np.isfinite(theta).all() or theta[0] == 0:
            return False
        weights, psi = self.weights_and_shape(theta)
        must = list(positive_weights(self.model))
        fine = all(_is_in_domain(s, value) for s, value in zip(self.model.shape, psi, strict=True))
        return fine and bool((weights[must] > 0).all())

    def jacobian(self, theta: Vector) -> Matrix:
        """Derivatives of the natural parameters, by central differences."""
        columns = []
        for a in range(len(theta)):
            # Relative step; coefficients of 0 get one in units of the first, as ratios to it count.
            h = 1e-6 * max(abs(theta[a]), 1e-6 * abs(theta[0]) * max(1.0, *self.psi.tolist()))
            step = np.where(np.arange(len(theta)) == a, h, 0.0)
            columns.append((self.values(theta + step) - self.values(theta - step)) / (2 * h))
        return np.column_stack(columns)


def _is_in_domain(shape: Shape, value: float) -> bool:
    """Whether psi is in the model's domain: only linear ranges bound it, others are to search."""
    if shape.scale == "log":
        return bool(0 < value < np.inf)
    return bool(shape.low <= value <= shape.high)


def nominal_psi_and_ratios(model: Model, nominal: Nominal) -> tuple[Vector, Vector]:
    """Nominal psi and ratios of the weights to the first."""
    if isinstance(nominal, RewardPrior):
        return _nominal_point_of_reward_prior(model, nominal)
    shape = [s.name for s in model.shape]
    others = list(model.weights[1:])
    missing = [name for name in shape if name not in nominal]
    if missing:
        raise DataError(
            "nominal",
            f"must hold {', '.join(shape)}",
            got=f"none for {', '.join(missing)}",
            fix="Give all shape parameters.",
        )
    for name, value in nominal.items():
        _check_nominal_value(model, name, value, [*shape, *others])
    psi = [float(nominal[name]) for name in shape]
    ratios = [1.0, *(float(nominal.get(name, 0.0)) for name in others)]
    return np.array(psi), np.array(ratios)


def _check_nominal_value(model: Model, name: str, value: float, known: list[str]) -> None:
    if name not in known:
        raise DataError(
            "nominal",
            (
                "must hold shape parameters, and ratios of weights to the first: "
                f"{', '.join(known) or 'none'}"
            ),
            got=repr(name),
            fix=closest_match_hint(name, known) or "Leave it out.",
        )
    check_number(value, f"nominal {name}")
    for shape in model.shape:
        if shape.name == name and not _is_in_domain(shape, float(value)):
            rule = "be > 0" if shape.scale == "log" else f"lie in {shape.low:g}..{shape.high:g}"
            raise DataError(f"nominal {name}", f"must {rule}", got=f"{value:g}", fix="Correct it.")


def _nominal_point_of_reward_prior(model: Model, nominal: RewardPrior) -> tuple[Vector, Vector]:
    point = Declared(model).nominal_point
    if point is None:
        raise DataError(
            "nominal",
            "must be a mapping for this model",
            got="a RewardPrior",
            fix="Give {name: value} of its shape parameters.",
        )
    return point(nominal)


def check_coordinate(model: Model, coordinate: str) -> None:
    """Raise an error unless it is one of the two forms, and one of this model."""
    check_one_of(coordinate, "coordinate", ("delta", "sigma0"))
    if coordinate == "sigma0" and Declared(model).nominal_point is None:
        raise DataError(
            "coordinate",
            "must be left out for models other than UCL",
            got="'sigma0'",
            fix="Their shape parameters map back as they are.",
        )


def fit_linearized(
    episodes: Episodes,
    model: Model,
    *,
    nominal: Nominal,
    coordinate: Coordinate = "delta",
    constrained: bool = False,
) -> Estimate:
    """Fit the model linearised about a nominal point, as the paper does.

    Parameters
    ----------
    episodes
        They share all parameters.
    model
        `UCL`, or any model.
    nominal
        `RewardPrior(mean, variance)` for UCL. For other models {name: value} of the shape
        parameters, and of weights other than the first as ratios to it (0 if not given).
    coordinate
        How the deviation of delta maps back: "delta" as in the paper, or "sigma0".
    constrained
        Hold theta_1 > 0 and the deviations inside their bounds.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.UCL(locations=pn.grid(10, 10), noise_variance=0.01, length_scale=1.0)
    >>> truth = {"decision_noise": 4.0, "prior_mean": 200.0, "prior_variance": 1.0}
    >>> place = pn.paper.landscape_a(noise=pn.GaussianNoise(0.01))
    >>> rng = np.random.default_rng(3)
    >>> episode = pn.simulate(place, model, truth, n_decisions=100, rng=rng)
    >>> found = pn.fit_linearized(episode, model, nominal=pn.RewardPrior(mean=150, variance=2))
    >>> [(p.name, float(f"{p.estimate:.3g}")) for p in found.parameters]
    [('decision_noise', 3.84), ('prior_mean', 199.0), ('prior_variance', 1.36)]
    """
    refuse_no_model(model)
    data = as_episodes(episodes)
    found = _fit_about_nominal(data, model, nominal, coordinate, constrained)
    validity = found.validity
    assert validity is not None
    if not validity.valid and np.isfinite(validity.ratio):
        low, high = validity.bounds
        _warn_about_linearization(
            f"The linearised estimate lies {validity.ratio:.4g} nominal values from its nominal "
            f"point (bounds {low:.4g} and {high:.4g}), which is not a small "
            "deviation: its shape parameters mean nothing."
        )
    return found


def fit_linearized_each(
    episodes: Sequence[Episode],
    model: Model,
    *,
    nominal: Nominal,
    coordinate: Coordinate = "delta",
    constrained: bool = False,
    threads: int | None = None,
) -> Estimates:
    """Fit the linearised model to every subject by itself, all about the same point.

    Episodes of the same subject share their parameters. Subjects without a decision that is scored
    are listed in `without_decisions`.

    Parameters
    ----------
    episodes, model, nominal, coordinate, constrained
        As in `fit_linearized`.
    threads
        Processors to use; all, if not given. The answer does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> task = pn.Landscape([0.2, 0.5, 0.9], pn.GaussianNoise(0.1))
    >>> rule = {"temperature": 0.3, "learning_rate": 0.4}
    >>> plays = pn.simulate(
    ...     task, pn.QLearning(3), rule, n_decisions=200, n_subjects=3, rng=np.random.default_rng(1)
    ... )
    >>> people = [pn.Episode(e.chosen, e.rewards, subject=s) for e, s in zip(plays, "abc")]
    >>> pn.paper.fit_linearized_each(people, pn.QLearning(3), nominal={"learning_rate": 0.5})
    <Estimates of 3 subjects: 3 converged; 3 inside the range of validity>
    """
    by_subject, scored = episodes_by_subject(as_episodes(episodes))
    if not scored:
        raise no_scored_decision_error()
    workers = available_threads() if threads is None else threads

    def fit_one(subjects: Sequence[Label]) -> list[Estimate]:
        mine = tuple(by_subject[subjects[0]])
        how = nominal, coordinate, constrained, subjects[0]
        return [_fit_about_nominal(mine, model, *how)]

    estimates = fit_portions(fit_one, scored, 1, workers)
    left_out = tuple(s for s in by_subject if s not in estimates)
    found = Estimates.from_single_estimates(scored, list(estimates.values()), left_out)
    if found.n_valid < len(found):
        _warn_about_linearization(
            f"{len(found) - found.n_valid} of {len(found)} linearised estimates lie outside their "
            "range of validity: their shape parameters mean nothing."
        )
    return found


def _fit_about_nominal(
    episodes: tuple[Any, ...],
    model: Model,
    nominal: Nominal,
    coordinate: Coordinate,
    constrained: bool,
    subject: Label = None,
) -> Estimate:
    check_coordinate(model, coordinate)
    profiles = ProfileProblems(model, (episodes,))
    if not profiles.n_decisions[0]:
        raise no_scored_decision_error()
    psi, ratios = nominal_psi_and_ratios(model, nominal)
    back = LinearizedParameterMap(model, psi, ratios, coordinate)
    choices = linearized_choices(profiles, psi, ratios).with_natural(
        NaturalParameters(
            tuple(n.name for n in natural_parameters(model)), back.values, back.jacobian
        )
    )
    bounds = validity_bounds(profiles, psi)
    limits = _validity_constraints(profiles, choices, psi, bounds) if constrained else None
    estimate = fit_choices(choices, constraints=limits)
    subjects = {episode.subject for episode in episodes}
    if subject is None and len(subjects) == 1:
        (subject,) = subjects
    notes = (*pooled_notes(len(subjects)), *estimate.notes)
    whose = replace(estimate, subject=subject, n_subjects=len(subjects), notes=notes)
    return _with_validity(profiles, whose, nominal, back, bounds)


def linearized_choices(profiles: ProfileProblems, psi: Vector, ratios: Vector) -> Choices:
    """Columns x_1, x_2 ... of the linearised model."""
    x, slopes = profiles.scored_variables(psi, with_derivatives=True)
    assert slopes is not None
    columns = [x @ ratios, *(x[..., a] for a in range(1, x.shape[-1]))]
    columns += [slope @ ratios for slope in slopes]
    names = [f"theta{a + 1}" for a in range(len(columns))]
    return Choices.from_arrays(np.stack(columns, axis=-1), profiles.scored_options, names=names)


def validity_bounds(profiles: ProfileProblems, psi: Vector) -> tuple[float, float]:
    """Bounds of the first deviation over its nominal value.

    For UCL delta stays positive, and so does every linearised standard deviation; for other models
    the shape parameter stays inside its range.
    """
    if not len(psi) or psi[0] == 0:
        return -np.inf, np.inf
    largest = Declared(profiles.model).largest_deviation
    if largest is None:
        shape = profiles.model.shape[0]
        ends = (0.0, np.inf) if shape.scale == "log" else (shape.low, shape.high)
        low, high = sorted((end - float(psi[0])) / float(psi[0]) for end in ends)
        return low, high
    highest = min((largest(episode, psi) for episode in profiles.episodes), default=np.inf)
    return -1.0, highest / float(psi[0])


def _validity_constraints(
    profiles: ProfileProblems, choices: Choices, psi: Vector, bounds: tuple[float, float]
) -> Constraints:
    """theta_1 >= 0, and low <= psi_q + theta_q / theta_1 <= high, which is linear in theta too."""
    n, d = choices.n_parameters, choices.n_parameters - len(psi)
    first = np.eye(n)[0]
    rows, labels = [first], ["theta1 >= 0"]
    for q, shape in enumerate(profiles.model.shape):
        low, high = (0.0, np.inf) if shape.scale == "log" else (shape.low, shape.high)
        name = shape.name
        if q == 0 and Declared(profiles.model).largest_deviation is not None:
            high, name = float(psi[0] * (1.0 + bounds[1])), "delta"
        rows.append((psi[q] - low) * first + np.eye(n)[d + q])
        labels.append(f"{name} >= {low:g}")
        if np.isfinite(high):
            rows.append((high - psi[q]) * first - np.eye(n)[d + q])
            labels.append(f"{name} <= {high:.4g}")
    return Constraints(np.array(rows), np.zeros(len(rows)), tuple(labels))


def _with_validity(
    profiles: ProfileProblems,
    estimate: Estimate,
    nominal: Nominal,
    back: LinearizedParameterMap,
    bounds: tuple[float, float],
) -> Estimate:
    d = len(back.ratios)
    theta = estimate.theta
    known = bool(np.isfinite(theta).all()) and theta[0] != 0
    measurable = known and len(theta) > d and back.psi[0] != 0
    ratio = float(theta[d] / theta[0] / back.psi[0]) if measurable else np.nan
    weights, psi = np.full(d, np.nan), np.full(len(back.psi), np.nan)
    exact = np.nan
    if known and back.is_inside_model(theta):
        weights, psi = back.weights_and_shape(theta)
        own = decision_log_likelihoods(weights, profiles.choices_at(psi))
        exact = float(own.sum() + profiles.log_likelihood_copy_correction[0])
    model, source = profiles.model, estimate.source
    assert isinstance(source, ChoiceSource)
    # A finite estimate that maps back to no parameters is not one of the model.
    outside = bool(np.isfinite(theta).all()) and not np.isfinite(exact)
    doubt = (estimate.message,) if outside and not estimate.converged else ()
    return replace(
        estimate,
        status=OUTSIDE if outside else estimate.status,
        message=outside_model_sentence() if outside else estimate.message,
        notes=(*doubt, *estimate.notes, *_validity_notes(ratio, bounds, exact)),
        source=replace(source, model=model, model_words=model_words(model)),
        validity=LinearizationValidity(
            nominal=asdict(nominal) if isinstance(nominal, RewardPrior) else dict(nominal),
            coordinate=back.coordinate,
            ratio=ratio,
            bounds=bounds,
            exact_log_likelihood=exact,
            shape_dependent_parameters=tuple(
                n.name for n in natural_parameters(model) if n.is_shape
            ),
            nominal_psi=back.psi,
            nominal_ratios=back.ratios,
            weights=weights,
            psi=psi,
        ),
    )


def _validity_notes(ratio: float, bounds: tuple[float, float], exact: float) -> tuple[str, ...]:
    low, high = bounds
    said = f"Linearised: Delta / nominal = {ratio:.4g}, bounds {low:.4g} and {high:.4g}"
    small = is_small_deviation(ratio, bounds)
    ending = "." if small else f": not small, so {LINEARISATION_ADVICE.lower()}."
    likelihood = (
        f"Exact log-likelihood there: {exact:.4f}."
        if np.isfinite(exact)
        else "The parameters found lie outside the model: no natural parameters."
    )
    return said + ending, likelihood


def _warn_about_linearization(sentence: str) -> None:
    warnings.warn(
        PenchantWarning(
            f"{sentence} {LINEARISATION_ADVICE}.",
            "linearisation",
        ),
        stacklevel=4,
    )


def compare_nominals(
    episodes: Episodes, model: Model, nominals: Sequence[Nominal]
) -> list[Estimate]:
    """Linearised fits about several points, the highest *exact* log-likelihood first.

    Parameters
    ----------
    episodes, model
        As in `fit_linearized`.
    nominals
        The points, each as `nominal` of `fit_linearized`.

    Notes
    -----
    Paper: linearisation points are to be compared by their likelihood; linearised likelihoods of
    different points belong to different models, so the exact one must be used.
    """
    mine = as_episodes(episodes)
    fits = [_fit_about_nominal(mine, model, nominal, "delta", False) for nominal in nominals]
    return sorted(fits, key=_exact_log_likelihood, reverse=True)


def _exact_log_likelihood(estimate: Estimate) -> float:
    assert estimate.validity is not None
    # Estimates outside the model have no exact likelihood: they are sorted last.
    return float(np.nan_to_num(estimate.validity.exact_log_likelihood, nan=-np.inf))


# Log-units below the highest optimum that are reported: less is the tolerance of the search.
MIN_DEFICIT = 1e-6


def relinearize(
    episodes: Episodes, model: Model, *, nominal: Nominal, max_steps: int = 200
) -> Estimate:
    """Linearise again about the last estimate until nothing moves: the exact estimate.

    Each step is halved until the exact likelihood rises. That ends at an optimum of the exact
    likelihood, from a bad nominal point not always the highest one: the grid of the exact fit is
    looked at in the end, and a note says so if it had to help.

    Parameters
    ----------
    episodes, model, nominal
        As in `fit_linearized`.
    max_steps
        Linearisations allowed.
    """
    profiles = ProfileProblems(model, (tuple(as_episodes(episodes)),))
    psi, _ = nominal_psi_and_ratios(model, nominal)
    if not profiles.n_decisions[0] or not profiles.n_shape:
        return fit_model(profiles.episodes, model)
    grids, best = grids_and_best_cells(profiles)
    lost = lacks_finite_maximum(profiles, best)
    # Without finite weights there is nothing to linearise about: the exact search decides.
    if lost[0]:
        return estimates_at(profiles, grids, best_optima(profiles, grids, lost), [None])[0]
    reached = _relinearize_until_no_gain(profiles, psi, max_steps)
    optimum = best_optima(profiles, grids, lost, reached.take([0]))
    (estimate,) = estimates_at(profiles, grids, optimum, [None])
    if optimum.points.value[0] <= reached.points.value[0] + MIN_DEFICIT:
        return estimate
    note = (
        f"Re-linearisation from this nominal point ended at a lower peak, with log-likelihood "
        f"{reached.points.log_likelihood[0]:.4f}; the grid of the exact fit found this one."
    )
    return replace(estimate, notes=(*estimate.notes, note))


def _relinearize_until_no_gain(profiles: ProfileProblems, psi: Vector, max_steps: int) -> Optima:
    low, high = profiles.bounds[:, 0], profiles.bounds[:, 1]
    u = np.clip(profiles.to_unconstrained(psi[None])[0], low, high)
    value, theta = _exact_value_and_weights(profiles, u)
    for _ in range(max_steps):
        step = _linearized_step(profiles, u, theta)
        trial = None
        # A linearised step overshoots where the model is curved: halve it, until no digit moves.
        while float(np.abs(step).max()) > 1e-10:
            at = np.clip(u + step, low, high)
            trial = _exact_value_and_weights(profiles, at)
            if trial[0] > value:
                break
            trial, step = None, step / 2
        if trial is None:
            break
        u, (value, theta) = at, trial
    return newton_from(profiles, profiles.from_unconstrained(u[None])[0])


def _exact_value_and_weights(profiles: ProfileProblems, u: Vector) -> tuple[float, Vector]:
    choices = profiles.choices_at(profiles.from_unconstrained(u[None])[0])
    found = best_weights(choices, profiles.positive_weight_constraints, profiles.weight_prior)
    return found.value, found.theta


def _linearized_step(profiles: ProfileProblems, u: Vector, theta: Vector) -> Vector:
    """Step of psi by the linearised model, in unconstrained units, at most 2."""
    psi = profiles.from_unconstrained(u[None])[0]
    # Ratios to a first weight of 0 or less mean nothing: a fixed step upwards leaves such a psi.
    if not theta[0] > 0:
        return np.full(len(psi), 0.5)
    choices = linearized_choices(profiles, psi, theta / theta[0])
    found = fit_choices(choices)
    if not np.isfinite(found.theta).all() or found.theta[0] <= 0:
        return np.full(len(psi), 0.5)
    deviation = found.theta[len(theta) :] / found.theta[0]
    # Steps are cut off at 2 unconstrained units, because a linearisation holds near psi only.
    step = deviation / profiles.jacobian(psi[None])[0]
    return np.asarray(np.clip(step, -2.0, 2.0))
