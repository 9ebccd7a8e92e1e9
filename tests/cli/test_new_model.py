"""A model is defined once: its class and a line in the list of models are all that is needed."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import penchant as pn
from documented_ranges import untold
from penchant.models.catalogue import CATALOGUE
from penchant.models.parameters import Parameter


@dataclass(frozen=True)
class Leaky(pn.models.Recursion):
    """Values that leak: v <- d v, and v of the option taken rises by the reward.

    Parameters
    ----------
    n_options
        Number of options.
    """

    in_brief: ClassVar[str] = "leaky counts of rewards"

    n_options: int = 2

    parameters = (
        Parameter.reciprocal("temperature", "inverse_temperature"),
        pn.models.Shape("retention", 0.0, 0.99),
    )

    def state(self):
        return {"value": np.zeros(self.n_options)}

    @staticmethod
    def features(s, e, psi, c, x):
        for i in range(c.n):
            x[i, 0] = s.value[i]

    @staticmethod
    def update(s, e, psi, c):
        for i in range(c.n):
            s.value[i] *= psi.retention
        s.value[e.choice] += e.reward


TRUTH = {"temperature": 0.8, "retention": 0.6}


@pytest.fixture(autouse=True)
def listed(monkeypatch):
    monkeypatch.setitem(pn.models.MODELS, "leaky", "Leaky")
    monkeypatch.setattr(pn.models, "Leaky", Leaky, raising=False)


def played(n, seed, subject=None):
    task = pn.Landscape([0.2, 0.8], pn.GaussianNoise(0.3))
    rng = np.random.default_rng(seed)
    return pn.simulate(task, Leaky(), TRUTH, n_decisions=n, rng=rng, subject=subject)


def test_weights_shape_and_signs_follow_from_the_table():
    model = Leaky()
    assert model.weights == model.positive == ("inverse_temperature",)
    assert [shape.name for shape in model.shape] == ["retention"]


def test_it_is_found_in_the_catalogue_and_on_the_command_line(penchant):
    entry = CATALOGUE["leaky"]
    assert (entry.model, entry.data, entry.description) == (
        Leaky,
        "play",
        "leaky counts of rewards",
    )
    assert "leaky leaky counts of rewards: temperature, retention" in " ".join(
        penchant("models").out.split()
    )
    assert "Leaky" in penchant("models", "leaky").out


def test_the_table_of_ranges_in_the_documents_asks_for_it():
    assert untold() == {("Leaky", "retention")}


def test_it_is_simulated_fitted_live_and_in_populations():
    episode = played(200, 1)
    estimate = pn.fit(episode, Leaky())
    assert estimate.status == "converged"
    assert [p.name for p in estimate.parameters] == list(TRUTH)
    live = pn.live(Leaky())
    for option, reward in zip(episode.chosen, episode.rewards, strict=True):
        live.observe(int(option), float(reward))
    assert live.estimate().log_likelihood == pytest.approx(estimate.log_likelihood, rel=1e-9)
    people = [played(40, seed, seed) for seed in range(6)]
    assert set(pn.fit_population(people, Leaky(), nodes=3).names) == set(TRUTH)
