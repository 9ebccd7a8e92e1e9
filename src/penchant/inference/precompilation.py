"""Compile the functions that fits of a model can need, before somebody waits for one.

Which functions a fit calls depends on what the choices say: separated choices are examined by other
functions than those with a maximum, and an optimum at an end of a range by others than one inside
it. So a few short histories are fitted that end in each way. Numba compiles, or loads from cache,
what they call; a message on stderr says so where something is compiled.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from penchant._numba_cache import with_compilation_announcement
from penchant.bandit.episode import Episode
from penchant.choices import Choices
from penchant.choices.offers import Offers
from penchant.inference.fit import History, fit_model
from penchant.inference.profile.profile_likelihood import ProfileProblems
from penchant.inference.search.local_maxima import expected_curvature_at
from penchant.models.model import Declared, Model
from penchant.models.spatial.map_basis import FitPrior
from penchant.softmax.decisions import ChoiceDecisions
from penchant.softmax.likelihood import likelihood_of
from penchant.softmax.maximum_likelihood import solve
from penchant.softmax.separation import NEGLIGIBLE_DIFFERENCE

# Decisions of a synthetic history: with fewer most models lack a maximum, and less is compiled.
N_DECISIONS = 48


def compile_fits(model: Model, prior: FitPrior | None = None) -> None:
    """Fit short histories that end in different ways, so that later fits compile nothing.

    A model may need values of its own kind, such as named cues, that are not known here: a history
    that it refuses, with whatever error, is left out.
    """
    words = (
        f"penchant: compiling all that fits of {type(model).__name__} can need, once, at the start."
    )
    with with_compilation_announcement(words), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for history in synthetic_histories(model):
            with suppress(Exception):
                fit_model((history,), model, parameter_prior=prior)
        with suppress(Exception):
            _compile_checks(ProfileProblems(model, ((history,),)))


def _compile_checks(profiles: ProfileProblems) -> None:
    """Call what few histories need: checks of weights that hardly have a maximum."""
    psi = np.array([shape.grid()[len(shape.grid()) // 2] for shape in profiles.model.shape])
    points = profiles.solve(np.zeros(1, dtype=np.int64), psi[None])
    if profiles.n_shape:
        expected_curvature_at(profiles, points)
    profiles.without_small_differences(points, NEGLIGIBLE_DIFFERENCE)
    solve(
        ChoiceDecisions(profiles.choices_at(psi), 1),
        constraints=profiles.positive_weight_constraints,
    )
    x, chosen = profiles.scored_variables(psi)[0], profiles.scored_options
    # Choice sets of different sizes take a path of their own through the compiled likelihood.
    available = np.ones(x.shape[:2], dtype=bool)
    available[0, np.arange(x.shape[1]) != chosen[0]] = False
    likelihood_of(Choices.from_arrays(x, chosen, available=available), 1).scatter_within_sets()


def synthetic_histories(model: Model) -> Iterator[History]:
    """Histories of few decisions: by chance, all for one option, and runs that end with a loss.

    Not all are of use for every model. The last one is by chance.
    """
    rng = np.random.default_rng(0)
    n, n_options = N_DECISIONS, Declared(model).n_options or 2
    one, some = np.zeros(n, dtype=np.int64), rng.integers(min(n_options, 3), size=n)
    runs = np.repeat(np.arange(n // 3) % min(n_options, 3), 3)
    paid = np.round(rng.normal(size=n), 2)
    for chosen, rewards in (
        (one[:1], np.ones(1)),
        (one[:3], np.array([-1.0, 1.0, -1.0])),
        (one, np.abs(paid)),
        (one, np.ones(n)),
        (np.where(rng.random(n) < 0.9, 0, some), paid),
        (runs, np.tile([1.0, 1.0, -1.0], n // 3)),
        (runs, np.tile([-1.0, -1.0, 1.0], n // 3)),
        (some, 50.0 + 10.0 * paid),
        (rng.integers(n_options, size=n), np.abs(paid)),
    ):
        yield _history(model, chosen, rewards, rng)
    # Two options are computed by functions of their own, which more options do not compile.
    if Declared(model).attributes:
        for chosen in (one[:1], one, rng.integers(3, size=n)):
            yield _offers(model, chosen, rng, n_options=3)
    elif n_options > 2:
        yield _history(model, some % 2, paid, rng, np.tile(np.arange(n_options) < 2, (n, 1)))
    yield _history(model, some, paid, rng)


def _history(
    model: Model, chosen: Any, rewards: Any, rng: np.random.Generator, available: Any = None
) -> History:
    declared, n = Declared(model), len(chosen)
    if declared.attributes:
        return _offers(model, chosen % 2, rng, n_options=2)

    def drawn(names: tuple[str, ...]) -> dict[str, Any]:
        return {name: rng.integers(2, size=n) for name in names}

    before, after = drawn(declared.before), drawn(declared.after)
    return Episode(chosen, rewards, before=before, after=after, available=available)


def _offers(model: Model, chosen: Any, rng: np.random.Generator, n_options: int) -> Offers:
    shape = len(chosen), n_options
    return Offers(chosen, {name: rng.random(shape) for name in Declared(model).attributes})
