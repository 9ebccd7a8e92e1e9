"""Discounting and gambles: the highest peak, against all points of a dense grid.

Data that are hard: few decisions, the same question again and again, people who are consistent but
for one choice, choices without sense.
"""

import numpy as np
import pytest
from scipy import optimize, special

import offered
import penchant as pn
from profile_problem import Problem

ONE_SHAPE = ["hyperbolic", "exponential", "quasi-hyperbolic", "expected-utility", "prospect"]
TWO_SHAPES = ["constant-sensitivity", "prelec", "tversky-kahneman"]
KINDS = ["tiny", "consistent", "nearly consistent", "duplicated", "senseless", "simulated"]


def decisions_of(name, kind, seed):
    model, truth = offered.STATIC[name]
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    n = int(rng.integers(1, 6)) if kind == "tiny" else int(rng.integers(8, 60))
    offers = offered.offers_of(name, n=n, seed=seed)
    if kind == "duplicated":
        which = rng.integers(0, 4, n)
        offers = {key: np.asarray(value)[which] for key, value in offers.items()}
    shrink = {"consistent": 0.0, "nearly consistent": 0.01}.get(kind, 1.0)
    rule = truth | {"temperature": shrink * truth["temperature"]}
    chosen = np.array(pn.simulate(offers, model, rule, rng=rng).chosen)
    if kind == "nearly consistent":
        chosen[rng.integers(n)] ^= 1
    if kind == "senseless":
        chosen = rng.integers(0, 2, n)
    return model, pn.Offers(chosen, offers)


def highest(model, decisions, n_points):
    """The highest profile of a dense grid, polished by Nelder-Mead."""
    problem = Problem(model, (decisions,))
    low, high = problem.bounds.T
    axes = [np.linspace(a, b, n_points) for a, b in problem.bounds]
    mesh = np.stack([m.ravel() for m in np.meshgrid(*axes, indexing="ij")], axis=1)
    values, _ = problem.values(problem.profiles.from_unconstrained(mesh))

    def lost(u):
        inside = np.clip(u, low, high)[None]
        return -problem.values(problem.profiles.from_unconstrained(inside))[0][0]

    options = {"maxfev": 80, "xatol": 1e-6, "fatol": 1e-10}
    start = mesh[values.argmax()]
    polished = optimize.minimize(lost, start, method="Nelder-Mead", options=options)
    return max(values.max(), -polished.fun)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ONE_SHAPE)
def test_no_point_of_a_dense_line_is_higher(name, kind):
    for seed in (1, 2):
        model, decisions = decisions_of(name, kind, seed)
        estimate = pn.fit(decisions, model)
        # where choices are separated it is a supremum, known to a few ten-thousandths
        slack = 5e-4 if estimate.status == "separated" else 1e-7
        assert estimate.log_likelihood >= highest(model, decisions, 301) - slack
        assert estimate.status != "stopped early"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TWO_SHAPES)
def test_no_point_of_a_dense_plane_is_higher(name, kind):
    for seed in (1, 2, 3):
        model, decisions = decisions_of(name, kind, seed)
        estimate = pn.fit(decisions, model)
        slack = 5e-4 if estimate.status == "separated" else 1e-7
        assert estimate.log_likelihood >= highest(model, decisions, 71) - slack
        assert estimate.status != "stopped early"


def literal(name, decisions, theta, psi):
    q = offered.literal_variables(name, decisions.offers, psi) @ theta
    return special.log_softmax(q, axis=1)[np.arange(len(q)), decisions.chosen].sum()


@pytest.mark.parametrize("kind", ["nearly consistent", "duplicated", "senseless", "simulated"])
@pytest.mark.parametrize("name", ONE_SHAPE + TWO_SHAPES)
def test_the_log_likelihood_is_that_of_the_written_out_model(name, kind):
    model, decisions = decisions_of(name, kind, 3)
    estimate = pn.fit(decisions, model)
    if estimate.status not in ("separated", "not identified"):
        written = literal(name, decisions, estimate.weights, estimate.source.finite_psi(estimate))
        assert estimate.log_likelihood == pytest.approx(written, abs=1e-7)


@pytest.mark.parametrize("seed", [51, 76, 99, 115])
def test_choices_separated_in_part_are_told_at_the_best_rate(seed):
    """An endless 1/tau explains some answers; the others leave k a best value, off the grid."""
    model = pn.models.QuasiHyperbolicDiscounting()
    offers = offered.delayed(n=12, seed=seed)
    rule = {"temperature": 3.1, "present_bias": 0.72, "discount_rate": 0.004}
    decisions = pn.simulate(offers, model, rule, rng=np.random.default_rng(seed))
    estimate = pn.fit(decisions, model)
    assert estimate.status == "separated"
    assert estimate.log_likelihood < -0.1
    assert estimate.log_likelihood >= highest(model, decisions, 301) - 5e-4


@pytest.mark.parametrize("name", ["hyperbolic", "exponential", "constant-sensitivity"])
def test_discounting_linearised_is_a_fit_of_the_variables_and_their_slopes(name):
    """theta = (1/tau, (psi - nominal)/tau) of V and dV/dpsi, by an optimiser of its own."""
    model, truth = offered.STATIC[name]
    offers = offered.offers_of(name, n=150, seed=5)
    decisions = pn.simulate(offers, model, truth, rng=np.random.default_rng(5))
    nominal = {s.name: 1.1 * truth[s.name] for s in model.shape}
    point = np.array(list(nominal.values()))
    found = pn.fit_linearized(decisions, model, nominal=nominal)

    columns = [offered.literal_variables(name, decisions.offers, point)[:, :, 0]]
    for q in range(len(point)):
        step = np.where(np.arange(len(point)) == q, 1e-5 * point, 0.0)
        above, below = (
            offered.literal_variables(name, decisions.offers, point + sign * step)[:, :, 0]
            for sign in (1, -1)
        )
        columns.append((above - below) / (2 * step[q]))
    x = np.stack(columns, axis=-1)
    unit = 1 / np.abs(x).max(axis=(0, 1))

    def lost(z):
        q = x @ (z * unit)
        return -special.log_softmax(q, axis=1)[np.arange(len(q)), decisions.chosen].sum()

    best = optimize.minimize(lost, np.zeros(len(unit)), method="BFGS", options={"gtol": 1e-7})
    assert found.log_likelihood == pytest.approx(-best.fun, abs=1e-6)
    theta = best.x * unit
    expected = {"temperature": 1 / theta[0]}
    expected |= dict(zip(nominal, point + theta[1:] / theta[0], strict=True))
    if found.validity.valid:
        told = {p.name: p.estimate for p in found.parameters}
        assert told == pytest.approx(expected, rel=1e-3)
