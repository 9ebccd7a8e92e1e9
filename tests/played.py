"""Episodes made for tests, of agents on small tasks."""

import numpy as np

import penchant as pn

PLACES = np.array(
    [[0.3, 0.1], [1.2, 0.4], [2.9, 0.2], [0.5, 1.7], [1.9, 1.1], [3.1, 1.6], [0.2, 2.8]]
)
MEANS = np.array([12.0, 31.0, 44.0, 23.0, 52.0, 38.0, 17.0])
NOISE_VARIANCE = 6.0
TRUTH = {"decision_noise": 11.0, "prior_mean": 35.0, "prior_variance": 120.0, "length_scale": 1.4}
NATURAL = (11.0, 35.0, 120.0, 1.4)


def landscape():
    return pn.Landscape(MEANS, pn.GaussianNoise(NOISE_VARIANCE))


def ucl(**options):
    given = {"locations": PLACES, "noise_variance": NOISE_VARIANCE, "length_scale": 1.4}
    return pn.UCL(**{**given, **options})


def ucl_episode(seed=1, n_decisions=70, **truth):
    """A play whose estimate exists for most seeds."""
    return pn.simulate(
        landscape(),
        ucl(length_scale=None),
        {**TRUTH, **truth},
        n_decisions=n_decisions,
        rng=np.random.default_rng(seed),
    )


def q_episode(seed=1, n_decisions=150, temperature=0.3, learning_rate=0.35):
    return pn.simulate(
        pn.Landscape([0.2, 0.55, 0.9, 0.4], pn.GaussianNoise(0.07)),
        pn.QLearning(4),
        {"temperature": temperature, "learning_rate": learning_rate},
        n_decisions=n_decisions,
        rng=np.random.default_rng(seed),
    )


def random_episode(seed, n_options, n_events=25, spread=20.0, shown=True):
    """Random options and rewards, with timeouts, options shown, and no last reward."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, n_options, n_events)
    rewards = rng.normal(30.0, spread, n_events)
    is_choice = rng.random(n_events) > (0.15 if shown else 0.0)
    nothing = is_choice & (rng.random(n_events) < 0.15)
    chosen = np.where(nothing, -1, chosen)
    rewards = np.where(nothing, np.nan, rewards)
    if is_choice[-1]:
        rewards[-1] = np.nan
    return pn.Episode(chosen, rewards, is_choice=is_choice)


class Learner:
    """Q-learning in ten lines, without derivatives, as a user writes it."""

    weights = ("inverse_temperature",)

    def __init__(self, n_options=4, unit=1.0):
        self.n_options = n_options
        self.unit = unit
        self.shape = (pn.models.Shape("learning_rate", 0.001 * unit, unit, n_grid=33),)

    def explanatory(self, episode, learning_rate):
        values, x = np.zeros(self.n_options), np.empty((episode.n_events, self.n_options, 1))
        for t, (option, reward) in enumerate(zip(episode.chosen, episode.rewards, strict=True)):
            x[t, :, 0] = values
            values[option] += learning_rate / self.unit * (reward - values[option])
        return x


def weights_of(model, natural):
    """Weights and shape of UCL or Q-learning, written out."""
    if isinstance(model, pn.UCL):
        nu = natural["decision_noise"]
        theta = [1 / nu, natural["prior_mean"] / nu]
        return np.array(theta), [model.noise_variance / natural["prior_variance"]]
    return np.array([1 / natural["temperature"]]), [natural["learning_rate"]]
