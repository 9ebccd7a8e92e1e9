"""Weights inside their limits: against every face, and against optimisers that know no faces."""

from itertools import combinations

import numpy as np
import pytest
from scipy import linalg, optimize, special

import penchant as pn
from penchant.inference.profile.inner_problems import best_weights, prior_quadratic
from penchant.softmax.constraints import Constraints, maximise_on_plane
from penchant.softmax.intervals_and_tests import Hypothesis
from penchant.softmax.likelihood import likelihood_of

NAMES = "abcd"


class Problem:
    """A concave objective with weights that must not be negative, written out."""

    def __init__(self, x, chosen, positive, prior, plane=None):
        self.x, self.chosen, self.positive, self.prior = x, chosen, list(positive), prior
        self.d = x.shape[2]
        names = NAMES[: self.d]
        self.choices = pn.Choices.from_arrays(x, chosen, names=list(names))
        self.positive_weight_constraints = Constraints.on_single_parameters(
            names, {names[a]: 0.0 for a in self.positive}, 1.0
        )
        self.row, self.right = (np.zeros((0, self.d)), np.zeros(0)) if plane is None else plane
        spread = np.diag(likelihood_of(self.choices, 1).scatter_within_sets())
        self.quadratic = prior_quadratic(prior, self.d, np.sqrt(spread))
        away = x - x[np.arange(len(x)), chosen][:, None]
        largest = np.abs(away).max(axis=(0, 1))
        self.unit = 1 / np.where(largest > 0, largest, 1.0)

    def found(self):
        asked = Hypothesis(self.row, self.right) if len(self.row) else None
        return best_weights(self.choices, self.positive_weight_constraints, self.prior, asked)

    def at(self, theta):
        """Objective, gradient and minus the Hessian, in variables whose largest difference is 1."""
        rows = np.arange(len(self.x))
        x, phi = self.x * self.unit, theta / self.unit
        precision = self.quadratic.precision * self.unit * self.unit[:, None]
        linear = self.quadratic.linear * self.unit
        objective = x @ phi
        log_p = special.log_softmax(objective, axis=1)
        p = np.exp(log_p)
        mean = np.einsum("ti,tia->ta", p, x)
        away = x - mean[:, None]
        information = np.einsum("ti,tia,tib->ab", p, away, away)
        gradient = (x[rows, self.chosen] - mean).sum(axis=0)
        pull = precision @ phi
        value = log_p[rows, self.chosen].sum() + phi @ (linear - pull / 2)
        return value, gradient + linear - pull, information + precision

    def on_face(self, held):
        """Maximum where some weights are 0, by Newton's method; None if no theta is there."""
        rows = np.vstack([self.row * self.unit, np.eye(self.d)[list(held)]])
        size = np.abs(rows).max(axis=1, initial=0.0)
        right = np.concatenate([self.right, np.zeros(len(held))]) / size
        rows = rows / size[:, None]
        origin = np.linalg.lstsq(rows, right, rcond=None)[0] if len(rows) else np.zeros(self.d)
        if len(rows) and not np.allclose(rows @ origin, right, rtol=1e-9, atol=1e-12):
            return None
        basis = linalg.null_space(rows) if len(rows) else np.eye(self.d)
        phi = origin
        value, gradient, information = self.at(self.unit * phi)
        for _ in range(200 if basis.shape[1] else 0):
            within = basis.T @ information @ basis
            scale = np.sqrt(np.where(np.diag(within) > 0, np.diag(within), 1.0))
            inverse = np.linalg.pinv(within / np.outer(scale, scale), 1e-14, hermitian=True)
            step = basis @ (inverse @ (basis.T @ gradient / scale) / scale)
            if step @ gradient < 1e-13:
                break
            for halvings in range(40):
                trial = self.at(self.unit * (phi + step / 2**halvings))
                if trial[0] >= value:
                    break
            else:
                break
            phi = phi + step / 2**halvings
            value, gradient, information = trial
        phi[list(held)] = 0.0
        return phi, self.at(self.unit * phi)[0]

    def best_of_all_faces(self):
        """The objective is concave: its maximum is that of the face on which it lies."""
        ends = [
            self.on_face(held)
            for n in range(len(self.positive) + 1)
            for held in combinations(self.positive, n)
        ]
        return max(v for phi, v in filter(None, ends) if (phi[self.positive] >= 0).all())


def random_problem(seed, with_plane=False):
    """Few decisions, variables of all sizes, one that vanishes or all but vanishes or is double."""
    rng = np.random.default_rng(seed)
    d, n, m = int(rng.integers(2, 5)), int(rng.integers(2, 40)), int(rng.integers(2, 5))
    x = rng.normal(size=(n, m, d)) * 10.0 ** rng.uniform(-3, 3, size=d)
    odd = int(rng.integers(d))
    kind = seed % 5
    if kind in (1, 2):
        x[:, :, odd] *= 10.0 ** rng.uniform(-16, -3) if kind == 1 else 1e-140
    if kind == 3:
        x[:, :, odd] = 0.0
    if kind == 4:
        x[:, :, odd] = -x[:, :, odd - 1] * rng.choice([-1, 1])
    positive = np.sort(rng.choice(d, int(rng.integers(1, d + 1)), replace=False))
    size = np.abs(x).mean(axis=(0, 1)) + (x == 0).all(axis=(0, 1))
    wanted = x @ (rng.normal(size=d) / size) + rng.choice([0.3, 1, 3]) * rng.gumbel(size=(n, m))
    priors = (
        None,
        pn.ScaledPrior(10.0 ** rng.uniform(-2, 1)),
        pn.GaussianPrior(rng.normal(size=d), 10.0 ** rng.uniform(-2, 3, size=d)),
    )
    plane = None
    if with_plane:
        one, other = rng.choice(d, 2, replace=False)
        row = np.zeros((1, d))
        row[0, one] = 1.0
        right = np.array([rng.exponential() / size[one]])
        if rng.random() < 0.5:
            row[0, other], right = -rng.exponential() * size[other] / size[one], np.zeros(1)
        plane = row, right
    return Problem(x, wanted.argmax(axis=1), positive, priors[rng.integers(3)], plane)


@pytest.mark.parametrize("with_plane", [False, True])
@pytest.mark.parametrize("first", range(0, 100, 20))
def test_the_weights_are_those_of_the_best_face(first, with_plane):
    for seed in range(first, first + 20):
        problem = random_problem(seed, with_plane)
        found = problem.found()
        value = problem.at(found.theta)[0]
        assert (found.theta[problem.positive] >= 0).all(), seed
        off = np.abs(problem.row @ found.theta - problem.right)
        assert (off <= 1e-9 * np.abs(problem.row) @ np.abs(found.theta)).all(), seed
        assert found.value == pytest.approx(value, rel=1e-12, abs=1e-9), seed
        # Newton's method stops at a decrement of 1e-7: far less than this is left to gain
        best = problem.best_of_all_faces()
        assert value >= best - 1e-8 - 1e-14 * abs(best), seed


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_no_optimiser_that_knows_no_faces_gets_higher(method):
    for seed in range(0, 40, 5):  # no variable vanishes: those optimisers would stumble
        problem = random_problem(seed)
        rng = np.random.default_rng(seed)
        bounds = optimize.Bounds(
            np.where(np.isin(np.arange(problem.d), problem.positive), 0.0, -np.inf), np.inf
        )
        ends = [
            optimize.minimize(
                lambda phi, problem=problem: -problem.at(phi * problem.unit)[0],
                np.abs(rng.normal(size=problem.d)),
                jac=lambda phi, problem=problem: -problem.at(phi * problem.unit)[1],
                method=method,
                bounds=bounds,
            ).fun
            for _ in range(3)
        ]
        assert problem.found().value >= -min(ends) - 1e-7, seed
        assert problem.found().value == pytest.approx(-min(ends), abs=1e-3), seed


@pytest.mark.parametrize("prior", [None, pn.ScaledPrior(), pn.GaussianPrior(0.0, 4.0)])
def test_a_variable_that_vanishes_does_not_stop_the_others(prior):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(40, 2, 2))
    chosen = (x @ [0.0, 2.0] + rng.gumbel(size=(40, 2))).argmax(axis=1)
    for factor in (1e-8, 1e-80, 1e-160, 1e-300, 0.0):
        shrunk = x * [factor, 1.0]
        weights = Problem(shrunk, chosen, [0, 1], prior).found().theta
        alone = Problem(shrunk[:, :, 1:], chosen, [0], prior).found()
        assert weights[1] == pytest.approx(alone.theta[0], rel=0.2)
        assert Problem(shrunk, chosen, [0, 1], prior).found().value >= alone.value - 1e-10


def test_units_change_nothing_however_small():
    rng = np.random.default_rng(11)
    x = rng.normal(size=(50, 3, 3))
    chosen = (x @ [0.5, -0.4, 1.0] + rng.gumbel(size=(50, 3))).argmax(axis=1)
    known = Problem(x, chosen, [0, 1, 2], None).found()
    for units in ([1e-200, 1.0, 1e9], [1e5, 1e-120, 1e-160]):
        found = Problem(x * units, chosen, [0, 1, 2], None).found()
        assert found.value == pytest.approx(known.value, abs=1e-10)
        assert found.theta * units == pytest.approx(known.theta, rel=1e-6, abs=1e-12)


def test_copies_of_a_variable_that_only_harm_are_both_left_at_0():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 3, 4))
    x[:, :, 2] = x[:, :, 1]
    chosen = (x @ [1.0, -0.5, -0.5, 0.7] + rng.gumbel(size=(60, 3))).argmax(axis=1)
    found = Problem(x, chosen, [1, 2, 3], None).found()
    alone = Problem(x[:, :, [0, 3]], chosen, [1], None).found()
    assert found.theta[1:3] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert found.theta[[0, 3]] == pytest.approx(alone.theta, rel=1e-8)


def test_a_limit_far_out_is_left_once_if_nothing_is_gained_by_it(monkeypatch):
    # Three of 200 choices of one person, values plus perseverance: both weights that are free grow
    # without end, and the slope of the third is rounding.
    sets = np.zeros((3, 4, 3))
    sets[0, 1] = -3.716422572463585, 1.4049642960000002, 1.0
    sets[1, 0] = 2.47291323206874, -0.9357062211360002, 0.33399999999999996
    sets[1, 2:] = 3.716422572463585, -0.9357062211360002, -0.666
    sets[2, 0] = -1.2435093403948452, 0.0, 2.9413484675045484e-07
    sets[2, 1] = -3.716422572463585, 1.6970972140331602, 1.2969143524891045
    faces = []

    def counted(*given, **options):
        faces.append(1)
        return maximise_on_plane(*given, **options)

    monkeypatch.setattr("penchant.softmax.constraints.maximise_on_plane", counted)
    chosen = pn.Choices.from_arrays(sets, [0, 1, 3], names=["b", "c", "d"])
    limits = Constraints.on_single_parameters(("b", "c", "d"), {"b": 0.0}, 1.0)
    found = best_weights(chosen, limits, None)
    assert len(faces) < 10  # 200 where the slope is followed again and again
    assert found.theta[0] >= 0
    ray = sets @ np.array([0.0, 1.3e7, -1.9e7])
    literal = (ray[[0, 1, 2], [0, 1, 3]] - np.logaddexp.reduce(ray, axis=1)).sum()
    assert found.value >= literal
