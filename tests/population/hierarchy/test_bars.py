"""How right populations are, over many simulated ones."""

import numpy as np
import pytest

import penchant as pn
from peopled import MEAN, MODEL, RHO, SD, discounters, q_learners


def replicated(kind, n, n_trials, replicates, seed):
    """Errors of means in true sds, coverages, ratios of sds, coverage of people."""
    found = {"bias": [], "means": [], "ratio": [], "sds": [], "people": []}
    hyperbolic = kind == "H"
    mean, sd = (np.array([-4.4, 1.4]), np.array([1.2, 0.6])) if hyperbolic else (MEAN, SD)
    model = pn.HyperbolicDiscounting() if hyperbolic else MODEL
    for r in range(replicates):
        rng = np.random.default_rng([seed, r])
        h, data = (discounters if hyperbolic else q_learners)(n, n_trials, rng)
        fit = pn.fit_population(data, model, estimator="reml")
        low, high = fit.interval().T
        found["bias"].append((fit.coefficients - mean) / sd)
        found["means"].append((low < mean) & (mean < high))
        found["ratio"].append(np.sqrt(np.diag(fit.spread)) / sd)
        own = {s.name: s for s in fit.spreads()}
        ends = [own.get(name) for name in fit.parameter_names]
        found["sds"].append(
            [e is not None and e.low < v < e.high for e, v in zip(ends, sd, strict=True)]
        )
        inside = np.abs(h - fit.subjects.mean) < 1.96 * fit.subjects.sd
        found["people"].append(inside.mean(axis=0))
    return {name: np.mean(values, axis=0) for name, values in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Q", "H"])
def test_means_spreads_and_people_are_right(kind):
    found = replicated(kind, 80, 100, 200, seed=1)
    # three Monte Carlo errors of 200 replicates beside what is asked for
    assert (np.abs(found["bias"]) < 0.03 + 3 * 0.125 / np.sqrt(200)).all()
    assert ((found["means"] > 0.92) & (found["means"] <= 1.0)).all()
    assert ((found["ratio"] > 0.97) & (found["ratio"] < 1.03)).all()
    assert (found["sds"] > 0.91).all()
    assert ((found["people"] > 0.935) & (found["people"] < 0.965)).all()


@pytest.mark.slow
def test_few_people_and_few_decisions_are_covered():
    few = replicated("Q", 15, 100, 100, seed=2)
    assert (few["means"] > 0.9).all()
    assert ((few["ratio"] > 0.9) & (few["ratio"] < 1.1)).all()
    short = replicated("Q", 80, 40, 60, seed=3)
    assert (np.abs(short["bias"]) < 0.05 + 3 * 0.15 / np.sqrt(60)).all()
    assert (short["means"] > 0.87).all()


@pytest.mark.slow
def test_a_group_difference_that_is_not_there_is_found_as_often_as_said():
    wrong = []
    for r in range(120):
        rng = np.random.default_rng([4, r])
        _, episodes = q_learners(40, 60, rng)
        table = {
            "subject": [e.subject for e in episodes],
            "group": ["a", "b"] * 20,
        }
        fit = pn.fit_population(
            episodes, MODEL, covariates=["group"], people=table, spread="diagonal"
        )
        wrong.append(fit.contrast("group", "b - a").p_value < 0.05)
    share = np.mean(wrong, axis=0)
    assert (share < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 120)).all()
    assert RHO == 0.3
