"""People whose populations are known."""

from dataclasses import dataclass

import numpy as np

import penchant as pn
from penchant.models.coordinates import Coordinates
from penchant.population.hierarchy.marginal_likelihood import LogCholesky, RandomEffectsStructure
from penchant.population.hierarchy.marginal_maximization import (
    SearchProblem,
    maximize_by_quadrature,
    starting_values,
)
from penchant.population.hierarchy.subject_likelihoods import TypicalRange
from penchant.softmax.fit_each import LogLikelihoodDerivatives

MODEL = pn.QLearning(2, initial_value=0.0)
MEAN, SD, RHO = np.array([-0.6, -1.2]), np.array([1.0, 0.5]), 0.3


@dataclass
class Quadratic:
    """Likelihoods that are normal in the coordinates: all integrals have a closed form."""

    estimates: np.ndarray
    covariances: np.ndarray

    def __post_init__(self):
        n, p = self.estimates.shape
        self.coordinates = Coordinates.of_variables([f"x{a}" for a in range(p)])
        self.subjects = tuple(range(n))
        self.n_decisions = np.ones(n, dtype=np.int64)
        sd = self.estimates.std(axis=0) + np.sqrt(np.einsum("naa->na", self.covariances)).mean(0)
        self.typical_range = TypicalRange(self.estimates.mean(axis=0), 3 * sd)

    def log_likelihoods(self, subject_indices, h):
        return self.derivatives(subject_indices, h).value

    def derivatives(self, which, h, with_shape_slopes=True):
        precision = np.linalg.inv(self.covariances[which])
        away = h - self.estimates[which][:, None, None]
        pull = np.einsum("nab,nklb->nkla", precision, away)
        _, level = np.linalg.slogdet(2 * np.pi * self.covariances[which])
        value = -0.5 * (pull * away).sum(axis=-1) - 0.5 * level[:, None, None]
        information = np.broadcast_to(precision[:, None, None], (*h.shape, h.shape[-1])).copy()
        return LogLikelihoodDerivatives(value, -pull, information)


def searched(people, k=5, restricted=False, design=None, fixed=(), correlated=True):
    """The population of likelihoods, as `fit_population` looks for it."""
    n, p = len(people.subjects), len(people.coordinates)
    design = np.broadcast_to(np.eye(p), (n, p, p)).copy() if design is None else design
    random = np.array([a for a in range(p) if a not in fixed], dtype=np.int64)
    structure = RandomEffectsStructure(
        design,
        random,
        np.array(fixed, dtype=np.int64),
        LogCholesky(len(random), correlated),
        np.zeros(n, dtype=np.int64),
        np.ones(n),
    )
    task = SearchProblem(people, structure, k, restricted, step_tol=1e-8, shift_tol=1e-7)
    return task, maximize_by_quadrature(task, starting_values(people, design))


def q_learners(n, n_trials, rng, mean=MEAN, sd=SD, rho=RHO, label="s", block=None):
    """Coordinates (logit rate, log temperature) and episodes of a reversal task."""
    covariance = np.array([[sd[0] ** 2, rho * sd[0] * sd[1]], [rho * sd[0] * sd[1], sd[1] ** 2]])
    h = rng.multivariate_normal(mean, covariance, size=n)
    return h, [q_learner(one, n_trials, rng, f"{label}{i}", block) for i, one in enumerate(h)]


def q_learner(h, n_trials, rng, subject, block=None):
    """One of them."""
    rate, weight = 1 / (1 + np.exp(-h[0])), np.exp(-h[1])
    values, chosen, rewards = np.zeros(2), np.empty(n_trials, int), np.empty(n_trials)
    for t in range(n_trials):
        chosen[t] = rng.random() < 1 / (1 + np.exp(-weight * (values[1] - values[0])))
        good = chosen[t] == (t // 25) % 2
        rewards[t] = 1.0 if rng.random() < (0.8 if good else 0.2) else -1.0
        values[chosen[t]] += rate * (rewards[t] - values[chosen[t]])
    return pn.Episode(chosen, rewards, subject=subject, block=block)


def discounters(n, n_trials, rng, mean=(-4.4, 1.4), sd=(1.2, 0.6), rho=-0.3):
    """Coordinates (log rate, log temperature) and offers."""
    covariance = np.array([[sd[0] ** 2, rho * sd[0] * sd[1]], [rho * sd[0] * sd[1], sd[1] ** 2]])
    h = rng.multivariate_normal(mean, covariance, size=n)
    people = []
    for i, (log_rate, log_temperature) in enumerate(h):
        amount = np.column_stack([rng.integers(10, 60, n_trials), np.full(n_trials, 60)])
        delay = np.column_stack([np.zeros(n_trials), rng.choice([7, 30, 90, 180, 365], n_trials)])
        value = amount / (1 + np.exp(log_rate) * delay) / np.exp(log_temperature)
        p = 1 / (1 + np.exp(value[:, 0] - value[:, 1]))
        chosen = (rng.random(n_trials) < p).astype(int)
        people.append(pn.Offers(chosen, {"amount": amount, "delay": delay}, subject=f"d{i}"))
    return h, people


def mixed_choices(n, n_trials, rng, mean=(-0.9, 0.7), covariance=((0.5, 0.2), (0.2, 0.33))):
    """Weights of people, and their choices among three options."""
    weights = rng.multivariate_normal(mean, covariance, size=n)
    x = rng.normal(size=(n * n_trials, 3, len(mean)))
    subject = np.repeat(np.arange(n), n_trials)
    utility = (x * weights[subject][:, None]).sum(axis=-1) + rng.gumbel(size=x.shape[:2])
    names = ["price", "quality", "wait"][: len(mean)]
    return weights, pn.Choices.from_arrays(x, utility.argmax(1), subject=subject, names=names)
