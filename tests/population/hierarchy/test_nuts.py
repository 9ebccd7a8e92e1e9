"""Draws by importance weights beside those of NUTS over everybody, which are stored."""

import json
from pathlib import Path

import numpy as np
import pytest

import penchant as pn
from peopled import MODEL


@pytest.mark.slow
def test_importance_draws_are_where_nuts_over_everybody_has_them():
    stored = json.loads((Path(__file__).parent / "nuts_learners.json").read_text())
    episodes = [
        pn.Episode(
            [int(c) for c in chosen], [1.0 if r == "+" else -1.0 for r in rewards], subject=f"s{i}"
        )
        for i, (chosen, rewards) in enumerate(zip(stored["chosen"], stored["rewards"], strict=True))
    ]
    people = pn.fit_population(episodes, MODEL, estimator="ml")
    found = people.sample(4000, rng=np.random.default_rng(1))
    mean, sd = np.array(stored["mean"]), np.array(stored["sd"])
    assert list(found.names) == stored["names"]
    assert (np.abs(found.mean - mean) < 0.1 * sd).all()
    np.testing.assert_allclose(found.sd, sd, rtol=0.1)
    assert (np.abs(people.coefficients - mean[:2]) < 0.15 * sd[:2]).all()
    assert found.pareto_k < 0.7
