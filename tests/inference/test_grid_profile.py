"""Profiles on a grid, each point from its neighbour: the numbers of a fit from scratch."""

import numpy as np
import pytest

import penchant as pn
from penchant.inference.profile.inner_problems import LinearConstraint, best_weights
from penchant.inference.profile.profile_likelihood import ITERATE, VALUES, ProfileProblems
from penchant.inference.search import grid_search as grid_profile
from penchant.inference.search.grid_search import full_grids, grid_points, search_grids
from penchant.softmax.intervals_and_tests import Hypothesis
from profile_problem import Problem

MODELS = {
    "one rate": pn.QLearning(3, initial_value=None, stickiness=True),
    "two rates": pn.QLearning(3, dual_rates=True),
    "trace": pn.QLearning(3, choice_kernel=True, forgetting=None, bias=True),
    "restless": pn.KalmanFilter(3, decay=None, drift_variance=0.2, initial_mean=None),
}


def plays(n_subjects=3, n_events=45, n_options=3, seed=1):
    """People who choose anything, now and then too late, and are shown an option or two."""
    rng = np.random.default_rng(seed)
    found = []
    for subject in range(n_subjects):
        chosen = rng.integers(0, n_options, n_events + subject)
        rewards = rng.normal(0.4, 0.5, len(chosen))
        chosen[7], rewards[7], rewards[-1] = -1, np.nan, np.nan
        is_choice = np.ones(len(chosen), dtype=bool)
        is_choice[3] = False
        found.append(pn.Episode(chosen, rewards, is_choice=is_choice, subject=subject))
    return found


def offers_profiles(model, n_subjects=4, seed=2):
    rng = np.random.default_rng(seed)
    groups = []
    for _ in range(n_subjects):
        amount = np.column_stack([rng.uniform(1, 9, 60), np.full(60, 10.0)])
        delay = np.column_stack([rng.choice([0.0, 7.0], 60), rng.choice([30.0, 90.0, 365.0], 60)])
        chosen = rng.integers(0, 2, 60)
        groups.append((pn.Offers(chosen, {"amount": amount, "delay": delay}),))
    return ProfileProblems(model, tuple(groups))


def episode_profiles(model, **sizes):
    return ProfileProblems(model, tuple((episode,) for episode in plays(**sizes)))


@pytest.mark.parametrize("name", MODELS)
def test_a_grid_has_the_values_of_fits_from_scratch(name):
    profiles = episode_profiles(MODELS[name])
    grids = full_grids(profiles)
    psi, values, theta = grids.psi, grids.values, grids.theta
    pairs = np.repeat(np.arange(3), len(psi)), np.tile(psi, (3, 1))
    points = profiles.solve(*pairs, accuracy=VALUES)
    far_out = np.abs(points.theta).max(axis=1) > 1e12  # where a variable is all but 0
    told = points.converged & ~far_out
    assert told.mean() > 0.9
    np.testing.assert_allclose(values.ravel()[far_out], points.value[far_out], rtol=0, atol=1e-6)
    # one Newton step beyond a decrement of 3e-4
    np.testing.assert_allclose(values.ravel()[told], points.value[told], rtol=0, atol=1e-9)
    assert (values.ravel() >= points.value - 1e-6).all()
    assert (theta[:, :, profiles.positive] >= 0).all()


@pytest.mark.parametrize(
    "model",
    [
        pn.HyperbolicDiscounting(),
        pn.models.ExponentialDiscounting(),
        pn.models.QuasiHyperbolicDiscounting(),
    ],
    ids=str,
)
def test_weights_that_would_be_negative_are_held_at_zero_in_a_grid(model):
    profiles = offers_profiles(model)
    grids = full_grids(profiles)
    psi, values, theta = grids.psi, grids.values, grids.theta
    assert (theta >= 0).all()
    assert (theta == 0).any()
    rng = np.random.default_rng(3)
    for k in range(len(values)):  # a concave objective: no other weights are better
        x, _ = profiles.variables(np.full(len(psi), k), psi, False)
        x = x.reshape(len(psi), 60, 2, -1)
        chosen = profiles.groups[k][0].chosen
        for _ in range(20):
            other = theta[k] * rng.uniform(0.7, 1.4, theta[k].shape) + rng.uniform(0, 1e-3)
            q = np.einsum("ptia,pa->pti", x, other)
            taken = q[:, np.arange(60), chosen]
            tried = (taken - np.logaddexp(q[:, :, 0], q[:, :, 1])).sum(axis=1)
            assert (values[k] >= tried - 1e-9).all()


def test_two_weights_that_must_be_positive_are_solved_as_by_a_quadratic_program():
    profiles = offers_profiles(pn.models.QuasiHyperbolicDiscounting(), n_subjects=2)
    psi = np.geomspace(1e-4, 0.3, 12)[:, None]
    pairs = np.repeat([0, 1], 12), np.tile(psi, (2, 1))
    points = profiles.solve(*pairs)
    held = (points.theta == 0).any(axis=1)
    assert held.any()
    x, _ = profiles.variables(*pairs, False)
    followed = profiles.solve(*pairs)
    profiles.solve_to_supremum(followed, np.flatnonzero(held), x, profiles.decision_index(pairs[0]))
    np.testing.assert_allclose(points.value, followed.value, atol=1e-8)
    np.testing.assert_allclose(points.theta, followed.theta, atol=1e-5)


@pytest.mark.parametrize("grids_of", [full_grids, search_grids])
def test_no_number_of_a_grid_depends_on_the_company(grids_of, monkeypatch):
    model = MODELS["trace"]
    together = grids_of(episode_profiles(model, n_subjects=5)).values
    for k, episode in enumerate(plays(n_subjects=5)):
        alone = grids_of(ProfileProblems(model, ((episode,),))).values
        np.testing.assert_array_equal(together[k], alone[0])
    monkeypatch.setattr(grid_profile, "NUMBERS_AT_ONCE", 20_000)
    split = grids_of(episode_profiles(model, n_subjects=5)).values
    enough = 1e-9 if grids_of is full_grids else 1e-2  # where weights begin is another matter
    np.testing.assert_allclose(split, together, rtol=0, atol=enough)


@pytest.mark.parametrize("name", MODELS)
def test_a_searched_grid_is_right_where_it_was_looked_at(name):
    profiles = episode_profiles(MODELS[name])
    whole, searched = full_grids(profiles), search_grids(profiles)
    solved = searched.solved
    np.testing.assert_allclose(searched.values[solved], whole.values[solved], rtol=0, atol=1e-2)
    assert solved.any(axis=1).all()
    rows = np.arange(len(solved))
    best = np.where(solved, whole.values, -np.inf).max(axis=1)
    np.testing.assert_allclose(searched.values.max(axis=1), best, rtol=0, atol=1e-6)
    assert solved[rows, searched.values.argmax(axis=1)].all()  # nothing made up is the best


def test_all_points_of_a_plateau_were_looked_at():
    profiles = episode_profiles(MODELS["one rate"], n_subjects=5, n_events=200)
    whole, searched = full_grids(profiles), search_grids(profiles)
    near = whole.values > whole.values.max(axis=1, keepdims=True) - 2.0
    assert near.mean() > 0.9
    assert searched.solved[near].all()


def test_between_points_near_the_best_that_were_looked_at_a_profile_is_nearly_a_line():
    model, task = pn.QLearning(2), pn.Landscape([0.3, 0.6], pn.GaussianNoise(0.1))
    truth, rng = {"temperature": 0.2, "learning_rate": 0.4}, np.random.default_rng(3)
    people = pn.simulate(task, model, truth, n_decisions=400, n_subjects=6, rng=rng)
    profiles = ProfileProblems(model, tuple((person,) for person in people))
    whole, searched = full_grids(profiles), search_grids(profiles)
    near = whole.values > whole.values.max(axis=1, keepdims=True) - 2.0
    away = np.abs(searched.values - whole.values)[near & ~searched.solved]
    assert len(away) and away.max() < 0.25  # a parabola that bends by 2 is so far above its chord


@pytest.mark.parametrize("name", MODELS)
def test_variables_are_the_same_with_derivatives_and_without(name):
    profiles = episode_profiles(MODELS[name])
    psi, _ = grid_points(profiles.model)
    pairs = np.repeat(np.arange(3), len(psi)), np.tile(psi, (3, 1))
    plain, _ = profiles.variables(*pairs, False)
    steep, slopes = profiles.variables(*pairs, True)
    assert slopes is not None
    np.testing.assert_array_equal(plain, steep)


@pytest.mark.parametrize(
    "options",
    [
        {"forgetting": None, "initial_value": 0.3},
        {"fictitious": "learning_rate", "initial_value": None},
        {"dual_rates": True, "fictitious": "learning_rate"},
        {"dual_rates": "outcome", "choice_kernel": True},
    ],
)
def test_psi_that_are_learnt_side_by_side_give_what_each_gives_alone(options):
    profiles = episode_profiles(pn.QLearning(3, **options))
    low, high = profiles.bounds.T
    places = np.random.default_rng(2).uniform(0.1, 0.9, (11, len(low)))  # one whole row and a part
    psi = profiles.from_unconstrained(low + (high - low) * places)
    together, _ = profiles.variables(np.full(11, 1), psi, False)
    alone = [profiles.variables(np.array([1]), at[None], False)[0] for at in psi]
    np.testing.assert_array_equal(together, np.concatenate(alone))


@pytest.mark.parametrize("held", [False, True], ids=["everywhere", "with one weight held"])
def test_numbers_on_the_way_are_those_of_proven_maxima(held):
    profiles = episode_profiles(MODELS["trace"])
    rng, (low, high) = np.random.default_rng(4), profiles.bounds.T
    subject = np.arange(60) % 3
    psi = profiles.from_unconstrained(low + (high - low) * rng.uniform(0.1, 0.9, (60, len(low))))
    constraint = LinearConstraint.from_parameter(
        profiles.natural[0], rng.uniform(0.3, 3.0, 60), profiles.n_weights
    )
    given = {"constraint": constraint if held else None}
    proven = profiles.solve(subject, psi, **given)
    start = proven.theta + rng.normal(0, 0.3, proven.theta.shape)
    found = profiles.solve(subject, psi, start, accuracy=ITERATE, **given)
    assert proven.converged.mean() > 0.9
    same = proven.converged & found.converged
    assert same.sum() == proven.converged.sum()
    for name in ("value", "log_likelihood"):
        np.testing.assert_allclose(
            getattr(found, name)[same], getattr(proven, name)[same], rtol=0, atol=1e-10
        )
    for name in (
        "theta",
        "gradient",
        "gradient_slope_in_psi",
        "weight_psi_information",
        "psi_information",
        "information",
    ):
        np.testing.assert_allclose(
            getattr(found, name)[same], getattr(proven, name)[same], rtol=1e-6, atol=1e-6
        )
    if held:
        np.testing.assert_allclose(found.theta[:, 0], constraint.value, rtol=1e-12)


@pytest.mark.parametrize("name", ["one rate", "trace", "restless"])
def test_a_weight_held_under_a_weak_prior_leaves_what_the_others_find_one_by_one(name):
    model, prior = MODELS[name], pn.ScaledPrior()
    profiles = ProfileProblems(model, tuple((episode,) for episode in plays()), prior)
    rng, (low, high) = np.random.default_rng(4), profiles.bounds.T
    subject, n = np.arange(12) % 3, 12
    psi = profiles.from_unconstrained(low + (high - low) * rng.uniform(0.1, 0.9, (n, len(low))))
    constraint = LinearConstraint.from_parameter(
        profiles.natural[0], rng.uniform(0.3, 3.0, n), profiles.n_weights
    )
    found = profiles.solve(subject, psi, constraint=constraint)
    assert found.converged.all()
    for k in range(n):
        choices = Problem(model, profiles.groups[subject[k]]).choices(psi[k])
        held = Hypothesis(constraint.row[k : k + 1], constraint.value[k : k + 1])
        one = best_weights(choices, profiles.positive_weight_constraints, prior, held)
        assert found.value[k] == pytest.approx(one.value, rel=1e-11)
        np.testing.assert_allclose(found.theta[k], one.theta, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(found.information[k], one.information, rtol=1e-8, atol=1e-8)


def test_suprema_near_the_best_of_a_grid_are_followed_to_their_end():
    rng = np.random.default_rng(51)
    ranges = {
        "consistency": (0.3, 1.2),
        "loss_aversion": (0.5, 2.0),
        "learning_rate": (0.1, 0.9),
        "sensitivity": (0.3, 1.0),
        "win_perseverance": (0.0, 1.0),
        "loss_perseverance": (-0.5, 0.5),
        "perseverance_decay": (0.2, 0.8),
    }
    truth = {name: rng.uniform(*ends) for name, ends in ranges.items()}
    cards = pn.Task(pn.models.iowa_schedule(100, rng=rng))
    player = pn.simulate(cards, pn.models.VPP(), truth, rng=rng)
    profiles = ProfileProblems(pn.models.VPP(), ((player,),))
    found = search_grids(profiles)[0]
    near = np.flatnonzero(found.solved & (found.values > found.values.max() - 0.5))
    points = profiles.solve(np.zeros(len(near), dtype=np.int64), found.psi[near])
    held = (points.theta[:, profiles.positive] == 0).any(axis=1)
    assert (np.abs(points.theta[held]) > 1e6).any()  # while others are far out
    assert (found.values[near[held]] >= points.value[held] - 1e-4).all()
