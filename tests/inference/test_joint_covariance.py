"""Standard errors of models with three shape parameters: the Hessian of the whole, by differences.

The estimator never forms this Hessian: it solves for the weights at each psi and puts the blocks
together from the profile. Here the log-likelihood is a plain function of all parameters.
"""

import numpy as np
import pytest
from scipy import special

import penchant as pn
from penchant.models.model import natural_parameters

TASK = pn.Landscape([0.2, 0.55, 0.9], pn.GaussianNoise(0.3))
MODELS = {
    "forgetting and trace": (
        pn.QLearning(3, forgetting=None, choice_kernel=True),
        {
            "temperature": 0.3,
            "choice_kernel": 0.8,
            "learning_rate": 0.4,
            "forgetting": 0.3,
            "choice_rate": 0.4,
        },
    ),
    "the same with stickiness and bias": (
        pn.QLearning(3, forgetting=None, choice_kernel=True, stickiness=True, bias=True),
        {
            "temperature": 0.3,
            "choice_kernel": 0.9,
            "stickiness": -0.4,
            "bias_0": 0.3,
            "bias_1": -0.2,
            "learning_rate": 0.5,
            "forgetting": 0.3,
            "choice_rate": 0.2,
        },
    ),
}
# steps of about a hundredth of a standard error: rounding 1e-13 / 1e-4, truncation 1e-8
STEPS = 0.02


def simulated(name, n=1500, seed=4):
    model, truth = MODELS[name]
    rng = np.random.default_rng(seed)
    return model, pn.simulate(TASK, model, truth, n_decisions=n, rng=rng)


def objective(model, episode, parameters, c=0.0):
    """Log-likelihood, less half c times the squared weights in units of their variables' spread."""
    d = len(model.weights)
    theta = parameters[:d]
    x = np.asarray(model.explanatory(episode, *parameters[d:]))
    log_p = special.log_softmax(x @ theta, axis=1)
    away = x - x.mean(axis=1, keepdims=True)
    penalty = 0.5 * c * ((away**2).mean(axis=(0, 1)) * theta**2).sum()
    return log_p[np.arange(len(x)), episode.chosen].sum() - penalty


def hessian(function, at, steps):
    """Central differences of fourth order along the axes, of second order between them."""
    n = len(at)
    found = np.empty((n, n))
    eye = np.diag(steps)
    middle = function(at)
    for a in range(n):
        near = function(at + eye[a]) + function(at - eye[a]) - 2 * middle
        far = function(at + 2 * eye[a]) + function(at - 2 * eye[a]) - 2 * middle
        found[a, a] = (16 * near - far) / 12 / steps[a] ** 2
        for b in range(a):
            cross = [
                sign * function(at + left * eye[a] + right * eye[b])
                for left, right, sign in ((1, 1, 1), (-1, -1, 1), (1, -1, -1), (-1, 1, -1))
            ]
            found[a, b] = found[b, a] = sum(cross) / 4 / steps[a] / steps[b]
    return found


@pytest.mark.parametrize("c", [0.0, 2.0])
@pytest.mark.parametrize("name", list(MODELS))
def test_the_covariance_is_the_inverse_hessian_of_all_parameters_together(name, c):
    model, episode = simulated(name)
    prior = pn.ScaledPrior(c) if c else None
    estimate = pn.fit(episode, model, parameter_prior=prior)
    assert estimate.status == "converged"
    errors = estimate.standard_errors
    found = hessian(lambda p: objective(model, episode, p, c), estimate.theta, STEPS * errors)
    covariance = np.linalg.inv(-found)
    scale = np.outer(errors, errors)
    assert estimate.covariance / scale == pytest.approx(covariance / scale, abs=3e-4)


@pytest.mark.parametrize("name", list(MODELS))
def test_the_estimate_is_a_maximum_in_all_parameters_together(name):
    model, episode = simulated(name, n=300, seed=9)
    estimate = pn.fit(episode, model)
    if estimate.status == "at a bound":
        pytest.skip("one-sided")
    best = objective(model, episode, estimate.theta)
    assert best == pytest.approx(estimate.log_likelihood, abs=1e-9)
    rng = np.random.default_rng(1)
    for size in (1e-1, 1e-3, 1e-5):
        for _ in range(20):
            step = size * estimate.standard_errors * rng.normal(size=len(estimate.theta))
            assert objective(model, episode, estimate.theta + step) <= best + 1e-10


def test_natural_standard_errors_follow_by_the_delta_method():
    model, episode = simulated("forgetting and trace")
    estimate = pn.fit(episode, model)
    d = len(model.weights)

    def natural(parameters):
        return np.array(
            [n.value(parameters[:d], parameters[d:]) for n in natural_parameters(model)]
        )

    steps = 1e-5 * estimate.standard_errors
    jacobian = np.column_stack(
        [
            (natural(estimate.theta + h) - natural(estimate.theta - h)) / (2 * h.sum())
            for h in np.diag(steps)
        ]
    )
    covariance = jacobian @ estimate.covariance @ jacobian.T
    told = [p.standard_error for p in estimate.parameters]
    assert told == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-6)
