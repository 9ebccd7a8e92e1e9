"""Who will do poorly, told from the beginning of their play: an early warning, if calibrated.

A logistic regression on what was paid so far and on what the model of the player says of them. It
is trained on plays that have ended, checked on those that it has not seen, and says nothing of
another task, nor where that check fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import special

from penchant._typing import BoolVector, Matrix, Vector
from penchant.arguments import whole_number
from penchant.bandit.episode import Episode
from penchant.bandit.landscape import cumulative_regret, grid, landscape_a
from penchant.choices import Choices
from penchant.errors import DataError
from penchant.inference.fit_each import fit_each_model
from penchant.models.simulate import simulate
from penchant.models.spatial.ucl import UCL
from penchant.output import Backend, Result, frame_backend, make_frame
from penchant.population.growth import growth_orders
from penchant.softmax.fit import fit_choices
from penchant.softmax.prior import ScaledPrior

By = Literal["both", "rewards", "model", "mean reward"]
REWARDS = (
    "mean reward",
    "mean of the last 10",
    "best reward",
    "slope of rewards",
    "share distinct",
)
MODEL = ("log decision noise", "prior mean", "log prior variance")
FEATURES: dict[By, tuple[str, ...]] = {
    "both": (*REWARDS, *MODEL),
    "rewards": REWARDS,
    "model": MODEL,
    "mean reward": REWARDS[:1],
}
FOLDS = 10
FEWEST = 40  # plays to train on, and of each kind a quarter of that
SLOPES = (0.5, 2.0)  # of held-out predictions on what happened: outside they are not calibrated
WEAK = 1.0  # strength of the prior on the regression's weights


@dataclass(frozen=True)
class Calibration:
    """How predictions of plays that were left out did.

    Attributes
    ----------
    auc
        Probability that a play which went poorly had the higher prediction.
    brier, base_brier
        Mean squared error of the predictions, and of the base rate alone.
    slope
        Of what happened on the predicted log-odds: 1 is calibrated, less is too sure.
    predicted
        Probability of every play, by fits that did not see it.
    """

    auc: float
    brier: float
    base_brier: float
    slope: float
    predicted: Vector


@dataclass(frozen=True, repr=False)
class Warned(Result):
    """What an early warning says of one play.

    Attributes
    ----------
    probability, interval
        Of doing poorly, and its 90 % interval.
    reasons
        What speaks most for and against it, from the numbers.
    """

    probability: float
    interval: tuple[float, float]
    reasons: tuple[str, ...]

    def to_frame(self, *, backend: Backend | None = None) -> Any:
        """One row: the probability, its interval, and the reasons."""
        low, high = self.interval
        columns = {"probability": [self.probability], "low": [low], "high": [high]}
        return make_frame(
            columns | {"reasons": ["; ".join(self.reasons)]}, backend or frame_backend(self)
        )

    def __repr__(self) -> str:
        low, high = self.interval
        return f"<Warned: {self.probability:.2f} ({low:.2f} to {high:.2f}) of doing poorly>"


@dataclass(frozen=True, eq=False, repr=False)
class EarlyWarning(Result):
    """A warning that was trained on a task; see `train_warning`."""

    task: str
    at: int
    by: By
    model: UCL
    centre: Vector
    scale: Vector
    theta: Vector
    covariance: Matrix
    n_trained: int
    base_rate: float
    calibration: Calibration

    @property
    def is_calibrated(self) -> bool:
        """Whether held-out predictions were better than the base rate, and neither too sure."""
        told = self.calibration
        return SLOPES[0] <= told.slope <= SLOPES[1] and told.brier < told.base_brier

    def to_frame(self, *, backend: Backend | None = None) -> Any:
        """What it looks at, a row each: its mean in others, its weight on one sd of it."""
        errors = np.sqrt(np.diag(self.covariance))
        columns = {
            "variable": list(FEATURES[self.by]),
            "mean": self.centre.tolist(),
            "sd": self.scale.tolist(),
            "weight": self.theta[1:].tolist(),
            "standard_error": errors[1:].tolist(),
        }
        return make_frame(columns, backend or frame_backend(self))

    def of(self, play: Episode, *, task: str) -> Warned:
        """The probability that somebody whose play begins like this will do poorly.

        Parameters
        ----------
        play
            At least as many choices as it was trained on; later ones are not looked at.
        task
            That of the play: nothing is said of another than it was trained on.
        """
        if task != self.task:
            raise DataError(
                f"task must be the one that the warning was trained on, {self.task!r}; got "
                f"{task!r}. Train one on plays of this task."
            )
        if not self.is_calibrated:
            raise DataError(
                f"warning must be calibrated on its task; got a slope of "
                f"{self.calibration.slope:.2f} and a Brier score of {self.calibration.brier:.3f} "
                f"({self.calibration.base_brier:.3f} by the base rate). Train on more plays."
            )
        values = features([play], self.model, self.at, self.by)[0]
        x = np.append(1.0, (values - self.centre) / self.scale)
        odds = float(x @ self.theta)
        half = 1.645 * float(np.sqrt(x @ self.covariance @ x))
        low, high = special.expit([odds - half, odds + half])
        parts = x[1:] * self.theta[1:]
        leading = np.argsort(-np.abs(parts))[:2]
        return Warned(
            float(special.expit(odds)),
            (float(low), float(high)),
            tuple(
                f"{FEATURES[self.by][k]} {values[k]:.3g}, in others {self.centre[k]:.3g}: "
                f"{'more' if parts[k] > 0 else 'less'} likely"
                for k in leading
            ),
        )

    def __repr__(self) -> str:
        told = self.calibration
        return (
            f"<EarlyWarning of {self.task} after {self.at} choices, by {self.by}: {self.n_trained} "
            f"plays, AUC {told.auc:.2f}, slope {told.slope:.2f}>"
        )


def train_warning(
    plays: Sequence[Episode],
    poor: Any,
    model: UCL,
    *,
    task: str,
    at: int = 30,
    by: By = "both",
    rng: np.random.Generator | int = 0,
) -> EarlyWarning:
    """Learn who will do poorly from the beginning of plays that have ended.

    Parameters
    ----------
    plays
        One of each person.
    poor
        Whether each went poorly, such as the category "low" of `growth_orders`.
    model
        Of the players, with a fixed length scale.
    task
        Name of the task; nothing is said of another.
    at
        Choices after which the warning is given.
    by
        "both" rewards and model, "rewards", "model", or "mean reward".
    rng
        Which plays are left out together to check it.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> rng = np.random.default_rng(1)
    >>> places = pn.grid(4, 4)
    >>> model = pn.UCL(locations=places, noise_variance=10.0, length_scale=2.0)
    >>> place = pn.Landscape(np.linspace(10, 60, 16), pn.GaussianNoise(10.0))
    >>> noise = np.exp(rng.uniform(0, 4, 60))
    >>> rules = [
    ...     {"decision_noise": nu, "prior_mean": 40.0, "prior_variance": 100.0} for nu in noise
    ... ]
    >>> plays = pn.simulate(place, model, rules, n_decisions=30, rng=rng)
    >>> paid = [play.rewards.mean() for play in plays]
    >>> poor = paid < np.median(paid)
    >>> warning = pn.train_warning(plays, poor, model, task="slope", at=12, by="rewards")
    >>> 0 < warning.of(plays[0], task="slope").probability < 1
    True
    """
    at = whole_number(at, "at", 5)
    if by not in FEATURES:
        raise DataError(f"by must be one of {', '.join(FEATURES)}; got {by!r}. Choose one.")
    labels = np.asarray(poor, dtype=bool)
    if len(labels) != len(plays):
        raise DataError(
            f"poor must have one value per play ({len(plays)}); got {len(labels)}. Match them."
        )
    few = min(int(labels.sum()), int((~labels).sum()))
    if len(plays) < FEWEST or few < FEWEST // 4:
        raise DataError(
            f"plays must be {FEWEST} or more, {FEWEST // 4} of each kind; got {len(plays)}, "
            f"{few} of the rarer. A warning needs calibration on its task."
        )
    values = features(plays, model, at, by)
    centre, scale = values.mean(axis=0), values.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    x = (values - centre) / scale
    theta, covariance = _regression(x, labels)
    seed = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)
    return EarlyWarning(
        str(task),
        at,
        by,
        model,
        centre,
        scale,
        theta,
        covariance,
        len(plays),
        float(labels.mean()),
        _calibration(values, labels, seed.permutation(len(plays)) % FOLDS),
    )


def features(plays: Sequence[Episode], model: UCL, at: int, by: By) -> Matrix:
    """What is known of plays after some choices: (n_plays, n_features)."""
    begun = [_beginning(play, at, number) for number, play in enumerate(plays)]
    found: list[Any] = []
    if by != "model":
        found = [[_of_rewards(play)[k] for play in begun] for k in range(len(REWARDS))]
        found = found[:1] if by == "mean reward" else found
    if by in ("both", "model"):
        fits = fit_each_model(begun, model, parameter_prior=ScaledPrior(), threads=1)
        told = [
            _of_model(fit.weights, fit.psi, model, play.rewards)
            for fit, play in zip(fits, begun, strict=True)
        ]
        found += list(np.array(told).T)
    return np.array(found).T


def _beginning(play: Episode, at: int, number: int) -> Episode:
    if play.n_events < at:
        raise DataError(
            f"play must have {at} choices or more; got {play.n_events} at play {number}. The "
            f"warning is given after {at}."
        )
    return Episode(play.chosen[:at], play.rewards[:at], executed=play.executed[:at], subject=number)


def _of_rewards(play: Episode) -> tuple[float, ...]:
    paid = play.rewards
    t = np.arange(len(paid)) - (len(paid) - 1) / 2
    return (
        float(paid.mean()),
        float(paid[-10:].mean()),
        float(paid.max()),
        float(t @ paid / (t @ t)),
        len(np.unique(play.executed)) / len(paid),
    )


def _of_model(weights: Vector, psi: Vector, model: UCL, paid: Vector) -> tuple[float, ...]:
    """Noise, level and openness; within what rewards make sensible, as choices may tell little."""
    spread = float(paid.std()) or 1.0
    slope = float(np.clip(weights[0], 0.01 / spread, 100.0 / spread))
    level = float(np.clip(weights[1] / slope, paid.min() - 5 * spread, paid.max() + 5 * spread))
    variance = float(np.clip(model.noise_variance / psi[0], 1e-4 * spread**2, 1e4 * spread**2))
    return -float(np.log(slope)), level, float(np.log(variance))


def _regression(x: Matrix, labels: BoolVector) -> tuple[Vector, Matrix]:
    """Logistic regression with an intercept, under a weak prior."""
    full = np.column_stack([np.ones(len(x)), x])
    sets = np.stack([np.zeros_like(full), full], axis=1)
    made = Choices.from_arrays(sets, labels.astype(int))
    estimate = fit_choices(made, parameter_prior=ScaledPrior(WEAK))
    return estimate.theta, estimate.covariance


def _calibration(values: Matrix, labels: BoolVector, fold: Any) -> Calibration:
    odds = np.empty(len(labels))
    base = np.empty(len(labels))
    for k in np.unique(fold):
        out = fold == k
        centre, scale = values[~out].mean(axis=0), values[~out].std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        theta, _ = _regression((values[~out] - centre) / scale, labels[~out])
        odds[out] = theta[0] + (values[out] - centre) / scale @ theta[1:]
        base[out] = labels[~out].mean()
    p = special.expit(odds)
    slope, _ = _regression(odds[:, None], labels)
    return Calibration(
        auc(p, labels),
        float(((p - labels) ** 2).mean()),
        float(((base - labels) ** 2).mean()),
        float(slope[1]),
        p,
    )


def auc(p: Vector, labels: BoolVector) -> float:
    """Probability that one with the label has the higher prediction than one without; ties half."""
    above = p[labels][:, None] - p[~labels][None, :]
    return float(((above > 0) + 0.5 * (above == 0)).mean())


HORIZON = 90
N_BOOTSTRAP = 1000
# players differ in noise, level, openness and in how far they take tiles to be alike
NOISE, LEVEL, OPENNESS, LENGTH = (2.0, 30.0), (0.0, 100.0), (10.0, 2000.0), (1.0, 8.0)


@dataclass(frozen=True, eq=False, repr=False)
class WarningScores(Result):
    """How well a warning does on players whom it has not seen, by what it looks at.

    Attributes
    ----------
    at
        Choices after which it is given.
    poor
        Whether each player's regret grew as that of low performers does.
    by
        The check on players left out, by what the warning looks at.
    """

    at: int
    poor: BoolVector
    by: Mapping[By, Calibration]

    def to_frame(self, *, backend: Backend | None = None) -> Any:
        """One row per kind of warning: how it does on players whom it has not seen."""
        names = ("auc", "brier", "base_brier", "slope")
        columns: dict[str, Any] = {"by": list(self.by), "at": [self.at] * len(self.by)}
        columns |= {name: [getattr(one, name) for one in self.by.values()] for name in names}
        return make_frame(columns, backend or frame_backend(self))

    def __repr__(self) -> str:
        return f"<WarningScores of {len(self.poor)} players after {self.at} choices>"

    def more(self, what: By, other: By, rng: np.random.Generator) -> tuple[float, float, float]:
        """How much higher the AUC of one is than of another, and its 95 % bootstrap interval."""
        one, two = self.by[what].predicted, self.by[other].predicted
        found = []
        for _ in range(N_BOOTSTRAP):
            who = rng.integers(0, len(self.poor), len(self.poor))
            if 0 < self.poor[who].sum() < len(who):
                labels = self.poor[who]
                found.append(auc(one[who], labels) - auc(two[who], labels))
        low, high = np.quantile(found, [0.025, 0.975])
        return self.by[what].auc - self.by[other].auc, float(low), float(high)


def mixed_players(n_players: int, rng: np.random.Generator) -> tuple[list[Episode], BoolVector]:
    """Plays of many kinds of players on landscape A, and which of them went poorly."""
    place, places = landscape_a(), grid(10, 10)
    plays = []
    for k in range(whole_number(n_players, "n_players", 2)):
        noise, openness, length = (
            float(np.exp(rng.uniform(*np.log(limits)))) for limits in (NOISE, OPENNESS, LENGTH)
        )
        model = UCL(locations=places, noise_variance=10.0, length_scale=length)
        rule = {"decision_noise": noise, "prior_mean": float(rng.uniform(*LEVEL))}
        rule["prior_variance"] = openness
        plays.append(simulate(place, model, rule, n_decisions=HORIZON, rng=rng, subject=k))
    orders = growth_orders([cumulative_regret(play, place) for play in plays])
    return plays, np.array([order.category == "low" for order in orders])


def warning_scores(
    n_players: int, *, rng: np.random.Generator, at: tuple[int, ...] = (20, 30)
) -> list[WarningScores]:
    """Simulate players, train warnings of every kind after some choices, and check them.

    Parameters
    ----------
    n_players
        How many play.
    rng
        Source of randomness.
    at
        After how many choices players are warned.
    """
    plays, poor = mixed_players(n_players, rng)
    model = UCL(locations=grid(10, 10), noise_variance=10.0, length_scale=4.0)
    seed = int(rng.integers(2**62))
    found = []
    for after in at:
        by = {
            kind: train_warning(
                plays, poor, model, task="landscape A", at=after, by=kind, rng=seed
            ).calibration
            for kind in FEATURES
        }
        found.append(WarningScores(after, poor, by))
    return found
