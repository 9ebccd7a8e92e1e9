"""A linear program that is given up costs one person one verdict, and nobody else anything."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy

import penchant as pn
from penchant.softmax import decisions, separation

N_DECISIONS, THETA = 30, np.array([1.0, -1.0, 0.5, 0.3])


@pytest.fixture
def given_up(monkeypatch):
    """All linear programs are given up; what makes some of them needless is, too."""

    def nothing(*arguments, **options):
        return SimpleNamespace(x=None, message="HiGHS Status 15: unknown")

    def in_circles(*arguments):
        raise RuntimeError("too many iterations")

    def use():
        monkeypatch.setattr(scipy.optimize, "linprog", nothing)
        monkeypatch.setattr(scipy.optimize, "nnls", in_circles)
        monkeypatch.setattr(separation, "_unique_vertex", lambda goal, rows: None)

    return use


def _choices(n_people=5):
    """The first person's choices are separated, the others' are not."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_people * N_DECISIONS, 4, len(THETA)))
    chosen = (x @ THETA + rng.gumbel(size=x.shape[:2])).argmax(axis=1)
    chosen[:N_DECISIONS] = (x[:N_DECISIONS] @ THETA).argmax(axis=1)
    return x, chosen, np.repeat(np.arange(n_people), N_DECISIONS)


def test_it_costs_one_of_many_people_one_verdict(given_up):
    x, chosen, subject = _choices()
    choices = pn.Choices.from_arrays(x, chosen, subject=subject)
    before = pn.fit_each(choices)
    given_up()
    after = pn.fit_each(choices)
    assert before.status == ("separated", *["converged"] * 4)
    assert after.status == ("stopped early", *["converged"] * 4)
    assert "could not be decided" in after.messages[0]
    assert np.isnan(after.covariance[0]).all()
    np.testing.assert_array_equal(after.theta[1:], before.theta[1:])


def test_under_constraints_it_is_said_too(given_up):
    x, chosen, _ = _choices(1)
    given_up()
    positive = pn.Constraints([[1.0, 0.0, 0.0, 0.0]], [0.0])
    estimate = pn.fit(pn.Choices.from_arrays(x, chosen), constraints=positive)
    assert estimate.status == "stopped early"
    assert estimate.diagnostics.certificate is None


def test_of_a_scan_it_is_said_too(given_up, tmp_path):
    x, chosen, _ = _choices(1)
    n, m, d = x.shape
    columns = {
        "trip": np.repeat(np.arange(n), m),
        "mode": np.tile(np.arange(m), n),
        "taken": (np.arange(m) == chosen[:, None]).astype(np.int64).ravel(),
        **{f"x{a}": x[:, :, a].ravel() for a in range(d)},
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    names = {"decision": "trip", "option": "mode", "chosen": "taken"}
    given_up()
    explanatory = [f"x{a}" for a in range(d)]
    scan = pn.scan(tmp_path / "t.parquet", **names, explanatory=explanatory, chunk_rows=40)
    assert pn.fit(scan).status == "stopped early"


def _players():
    rng = np.random.default_rng(0)
    people = [
        pn.Episode(rng.integers(0, 3, 40), rng.integers(0, 2, 40).astype(float), subject=f"{i}")
        for i in range(3)
    ]
    return [*people, pn.Episode(np.zeros(6, dtype=int), np.ones(6), subject="always one")]


MODEL = pn.models.KalmanFilter(3, bonus=True, stickiness=True)


def test_it_costs_one_of_many_players_one_verdict(given_up):
    before = pn.fit_each(_players(), MODEL)
    given_up()
    after = pn.fit_each(_players(), MODEL)
    assert before.status[-1] == "separated"
    assert after.status[-1] in ("stopped early", "not identified")  # the search ends elsewhere
    assert after.status[:-1] == before.status[:-1]
    np.testing.assert_array_equal(after.theta[:-1], before.theta[:-1])


@pytest.mark.parametrize(
    "model", [MODEL, pn.QLearning(3, stickiness=True)], ids=["three weights", "two weights"]
)
def test_no_linear_program_is_asked_where_a_prior_holds_every_direction(model, monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a maximum exists")

    prior = pn.GaussianPrior(0.0, 3.0)
    before = pn.fit_each(_players(), model, parameter_prior=prior)
    monkeypatch.setattr(decisions, "build_recession_cone", refuse)
    after = pn.fit_each(_players(), model, parameter_prior=prior)
    assert after.status == before.status
    assert "stopped early" not in after.status
