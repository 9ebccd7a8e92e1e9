"""Offers made for tests, and literal transcriptions of what they are worth."""

import math

import numpy as np

import penchant as pn

DISCOUNTED = {
    "hyperbolic": (
        pn.HyperbolicDiscounting(),
        {"temperature": 3.1, "discount_rate": 0.013},
    ),
    "exponential": (
        pn.models.ExponentialDiscounting(),
        {"temperature": 3.1, "discount_rate": 0.006},
    ),
    "quasi-hyperbolic": (
        pn.models.QuasiHyperbolicDiscounting(),
        {"temperature": 3.1, "present_bias": 0.72, "discount_rate": 0.004},
    ),
    "constant-sensitivity": (
        pn.models.ConstantSensitivityDiscounting(),
        {"temperature": 3.1, "discount_rate": 0.009, "time_sensitivity": 0.55},
    ),
}
RISKED = {
    "expected-utility": (
        pn.models.ExpectedUtility(),
        {"temperature": 0.8, "curvature": 0.7},
    ),
    "prospect": (
        pn.models.ProspectValue(),
        {"temperature": 0.8, "loss_aversion": 1.9, "curvature": 0.75},
    ),
    "prelec": (
        pn.models.ProspectValue("prelec"),
        {
            "temperature": 0.8,
            "loss_aversion": 1.9,
            "curvature": 0.75,
            "probability_sensitivity": 0.62,
        },
    ),
    "tversky-kahneman": (
        pn.models.ProspectValue("tversky-kahneman"),
        {
            "temperature": 0.8,
            "loss_aversion": 1.4,
            "curvature": 0.8,
            "probability_sensitivity": 0.66,
        },
    ),
    "mean-variance": (
        pn.models.MeanVariance(),
        {"temperature": 2.2, "risk_attitude": -0.04},
    ),
}
STATIC = DISCOUNTED | RISKED


def delayed(n=120, seed=1, n_options=2):
    """Amounts now and later; some of the sooner ones are delayed a little."""
    rng = np.random.default_rng(seed)
    amount = np.sort(rng.integers(8, 90, (n, n_options)) + rng.random((n, n_options)), axis=1)
    delay = np.sort(rng.choice([0, 0, 3, 7, 30, 61, 180, 365], (n, n_options)), axis=1)
    delay[:, 1:] += np.arange(1, n_options)
    return {"amount": amount, "delay": delay.astype(float)}


def risky(n=120, seed=1, n_options=2, n_outcomes=3):
    """Gambles with gains, losses and zeros; probabilities leave a rest now and then."""
    rng = np.random.default_rng(seed)
    outcome = np.round(rng.normal(4.0, 9.0, (n, n_options, n_outcomes)), 1)
    outcome[rng.random(outcome.shape) < 0.1] = 0.0
    p = rng.dirichlet(np.ones(n_outcomes + 1), (n, n_options))[:, :, :n_outcomes]
    full = rng.random((n, n_options)) < 0.5
    p[full] /= p[full].sum(axis=-1, keepdims=True)
    sure = rng.random((n, n_options)) < 0.2
    p[sure] = np.eye(n_outcomes)[0]
    return {"outcome": outcome, "probability": p}


def offers_of(name, **options):
    return delayed(**options) if name in DISCOUNTED else risky(**options)


def psi_of(name):
    model, truth = STATIC[name]
    return [truth[shape.name] for shape in model.shape]


# -- what the textbooks say, one option at a time --------------------------------------------------


def hyperbolic(amount, delay, k):
    return [amount / (1 + k * delay)]


def exponential(amount, delay, k):
    return [amount * math.exp(-k * delay)]


def quasi_hyperbolic(amount, delay, k):
    return [amount, 0.0] if delay == 0 else [0.0, amount * math.exp(-k * delay)]


def constant_sensitivity(amount, delay, a, s):
    return [amount * math.exp(-((a * delay) ** s))]


def expected_utility(outcomes, probabilities, rho):
    pairs = zip(outcomes, probabilities, strict=True)
    return [sum(p * math.copysign(abs(x) ** rho, x) for x, p in pairs if x != 0)]


def no_weighting(p):
    return p


def prelec(p, gamma):
    return 0.0 if p == 0 else math.exp(-((-math.log(p)) ** gamma))


def tversky_kahneman(p, gamma):
    return p**gamma / (p**gamma + (1 - p) ** gamma) ** (1 / gamma)


def prospect(weighting):
    def value(outcomes, probabilities, rho, *gamma):
        gain = loss = 0.0
        for x, p in zip(outcomes, probabilities, strict=True):
            if x > 0:
                gain += weighting(p, *gamma) * x**rho
            elif x < 0:
                loss -= weighting(p, *gamma) * (-x) ** rho
        return [gain, loss]

    return value


def mean_variance(outcomes, probabilities):
    pairs = [*zip(outcomes, probabilities, strict=True), (0.0, 1 - sum(probabilities))]
    mean = sum(p * x for x, p in pairs)
    return [mean, sum(p * (x - mean) ** 2 for x, p in pairs)]


LITERAL = {
    "hyperbolic": hyperbolic,
    "exponential": exponential,
    "quasi-hyperbolic": quasi_hyperbolic,
    "constant-sensitivity": constant_sensitivity,
    "expected-utility": expected_utility,
    "prospect": prospect(no_weighting),
    "prelec": prospect(prelec),
    "tversky-kahneman": prospect(tversky_kahneman),
    "mean-variance": mean_variance,
}


def literal_variables(name, offers, psi):
    """Explanatory variables, option by option."""
    first, second = offers.values()
    return np.array(
        [
            [LITERAL[name](first[t][i], second[t][i], *psi) for i in range(len(first[t]))]
            for t in range(len(first))
        ]
    )
