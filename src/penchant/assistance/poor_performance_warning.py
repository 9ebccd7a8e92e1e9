"""Early warning of poor performance from the beginning of a play.

Logistic regression on summaries of the rewards so far and on the player's fitted model parameters,
trained on complete plays and assessed by k-fold cross-validation: AUC, Brier score and calibration
slope (Cox 1958). A warning is refused for another task than it was trained on, and where held-out
predictions are not calibrated. `warning_scores` does the same with simulated players.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import special

from penchant._typing import BoolVector, Matrix, Vector
from penchant.argument_checks import check_one_of, check_whole_number
from penchant.assistance.assistant_beliefs import Z_90
from penchant.bandit.episode import Episode
from penchant.choices import Choices
from penchant.errors import DataError
from penchant.inference.fit_each import fit_each_model
from penchant.models.spatial.ucl import UCL
from penchant.result_tables import Columns, Result
from penchant.softmax.fit import fit_choices
from penchant.softmax.prior import ScaledPrior

FeatureSet = Literal["both", "rewards", "model", "mean reward"]
REWARD_FEATURES = (
    "mean reward",
    "mean of the last 10",
    "best reward",
    "slope of rewards",
    "share distinct",
)
MODEL_FEATURES = ("log decision noise", "prior mean", "log prior variance")
FEATURES: dict[FeatureSet, tuple[str, ...]] = {
    "both": (*REWARD_FEATURES, *MODEL_FEATURES),
    "rewards": REWARD_FEATURES,
    "model": MODEL_FEATURES,
    "mean reward": REWARD_FEATURES[:1],
}


@dataclass(frozen=True, slots=True)
class WarningOptions:
    """Settings of an early warning's training and assessment."""

    n_folds: int = 10  # the usual compromise of bias and variance (Kohavi 1995)
    # Plays to train on, a quarter of them in each class: with fewer, 8 features would overfit.
    min_plays: int = 40
    # Slopes of held-out log-odds; beyond, probabilities are too extreme or too timid to act on.
    calibration_slopes: tuple[float, float] = (0.5, 2.0)
    # Strength of a ScaledPrior: at 0 weights would be infinite where features separate classes.
    prior_strength: float = 1.0
    # Model features are clipped: a few choices may leave a parameter open, and one outlier would
    # dominate the regression.
    # 1/nu may be this factor above or below 1 / sd of rewards; beyond, all choices are alike.
    max_slope_factor: float = 100.0
    # The prior mean may lie this many sd beyond the rewards received; all further ones act alike.
    level_margin_sd: float = 5.0
    # The prior variance may be this factor above or below that of rewards; beyond, beliefs follow
    # every reward or none.
    max_variance_factor: float = 1e4
    n_reasons: int = 2  # features named in a warning: more would not be read


WARNING = WarningOptions()


@dataclass(frozen=True)
class Calibration:
    """Accuracy and calibration of predictions for plays that were held out.

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
class PoorPlayWarning(Result):
    """An early warning about one play.

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

    def frame_columns(self) -> Columns:
        """A single row: the probability, its interval, and the reasons."""
        low, high = self.interval
        columns = {"probability": [self.probability], "low": [low], "high": [high]}
        return columns | {"reasons": ["; ".join(self.reasons)]}

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"<PoorPlayWarning: {self.probability:.2f} ({low:.2f} to {high:.2f}) of doing poorly>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class EarlyWarning(Result):
    """A warning that was trained on a task; see `train_warning`."""

    task: str
    at: int
    by: FeatureSet
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
        low, high = WARNING.calibration_slopes
        held_out = self.calibration
        return low <= held_out.slope <= high and held_out.brier < held_out.base_brier

    def frame_columns(self) -> Columns:
        """A row per feature: its mean and sd in the training plays, and its weight per sd."""
        errors = np.sqrt(np.diag(self.covariance))
        columns = {
            "variable": list(FEATURES[self.by]),
            "mean": self.centre.tolist(),
            "sd": self.scale.tolist(),
            "weight": self.theta[1:].tolist(),
            "standard_error": errors[1:].tolist(),
        }
        return columns

    def of(self, play: Episode, *, task: str) -> PoorPlayWarning:
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
                "task",
                f"must be the one that the warning was trained on, {self.task!r}",
                got=repr(task),
                fix="Train one on plays of this task.",
            )
        if not self.is_calibrated:
            raise DataError(
                "warning",
                "must be calibrated on its task",
                got=(
                    f"a slope of {self.calibration.slope:.2f} and a Brier score of "
                    f"{self.calibration.brier:.3f} ({self.calibration.base_brier:.3f} by the base "
                    "rate)"
                ),
                fix="Train on more plays.",
            )
        values = warning_features([play], self.model, self.at, self.by)[0]
        x = np.append(1.0, (values - self.centre) / self.scale)
        odds = float(x @ self.theta)
        half = Z_90 * float(np.sqrt(x @ self.covariance @ x))
        low, high = special.expit([odds - half, odds + half])
        parts = x[1:] * self.theta[1:]
        leading = np.argsort(-np.abs(parts))[: WARNING.n_reasons]
        return PoorPlayWarning(
            float(special.expit(odds)),
            (float(low), float(high)),
            tuple(
                f"{FEATURES[self.by][k]} {values[k]:.3g}, in others {self.centre[k]:.3g}: "
                f"{'more' if parts[k] > 0 else 'less'} likely"
                for k in leading
            ),
        )

    def __repr__(self) -> str:
        held_out = self.calibration
        return (
            f"<EarlyWarning of {self.task} after {self.at} choices, by {self.by}: {self.n_trained} "
            f"plays, AUC {held_out.auc:.2f}, slope {held_out.slope:.2f}>"
        )


def train_warning(
    plays: Sequence[Episode],
    poor: Any,
    model: UCL,
    *,
    task: str,
    at: int = 30,
    by: FeatureSet = "both",
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
    at = check_whole_number(at, "at", 5)
    check_one_of(by, "by", FEATURES)
    labels = np.asarray(poor, dtype=bool)
    if len(labels) != len(plays):
        raise DataError(
            "poor",
            f"must have one value per play ({len(plays)})",
            got=len(labels),
            fix="Match them.",
        )
    n_min, n_rarer = WARNING.min_plays, min(int(labels.sum()), int((~labels).sum()))
    if len(plays) < n_min or n_rarer < n_min // 4:
        raise DataError(
            "plays",
            f"must be {n_min} or more, {n_min // 4} of each kind",
            got=f"{len(plays)}, {n_rarer} of the rarer",
            fix="A warning needs calibration on its task.",
        )
    values = warning_features(plays, model, at, by)
    centre, scale = _centre_and_scale(values)
    x = (values - centre) / scale
    theta, covariance = _logistic_regression(x, labels)
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
        _cross_validated_calibration(
            values, labels, seed.permutation(len(plays)) % WARNING.n_folds
        ),
    )


def warning_features(plays: Sequence[Episode], model: UCL, at: int, by: FeatureSet) -> Matrix:
    """Features of the first `at` choices of every play: (n_plays, n_features)."""
    beginnings = [_first_choices(play, at, number) for number, play in enumerate(plays)]
    found: list[Any] = []
    if by != "model":
        rewards = [_reward_features(play) for play in beginnings]
        found = list(zip(*rewards, strict=True))
        found = found[:1] if by == "mean reward" else found
    if by in ("both", "model"):
        # With a prior, as short plays are often separated, and everybody must have finite features.
        fits = fit_each_model(beginnings, model, parameter_prior=ScaledPrior(), threads=1)
        fitted = [
            _model_features(fit.weights, fit.psi, model, play.rewards)
            for fit, play in zip(fits, beginnings, strict=True)
        ]
        found += list(np.array(fitted).T)
    return np.array(found).T


def _first_choices(play: Episode, n_choices: int, play_number: int) -> Episode:
    if play.n_events < n_choices:
        raise DataError(
            "play",
            f"must have {n_choices} choices or more",
            got=f"{play.n_events} at play {play_number}",
            fix=f"The warning is given after {n_choices}.",
        )
    return Episode(
        play.chosen[:n_choices],
        play.rewards[:n_choices],
        executed=play.executed[:n_choices],
        subject=play_number,
    )


def _reward_features(play: Episode) -> tuple[float, ...]:
    """Features in the order of `REWARD_FEATURES`."""
    rewards = play.rewards
    t = np.arange(len(rewards)) - (len(rewards) - 1) / 2
    return (
        float(rewards.mean()),
        float(rewards[-10:].mean()),
        float(rewards.max()),
        float(t @ rewards / (t @ t)),
        len(np.unique(play.executed)) / len(rewards),
    )


def _model_features(weights: Vector, psi: Vector, model: UCL, paid: Vector) -> tuple[float, ...]:
    """Features in the order of `MODEL_FEATURES`, clipped: see `WarningOptions`."""
    sd = float(paid.std()) or 1.0
    bound = WARNING.max_slope_factor
    slope = float(np.clip(weights[0], 1 / bound / sd, bound / sd))
    margin = WARNING.level_margin_sd * sd
    level = float(np.clip(weights[1] / slope, paid.min() - margin, paid.max() + margin))
    factor = WARNING.max_variance_factor
    variance = float(np.clip(model.noise_variance / psi[0], 1 / factor * sd**2, factor * sd**2))
    return -float(np.log(slope)), level, float(np.log(variance))


def _centre_and_scale(values: Matrix) -> tuple[Vector, Vector]:
    centre, scale = values.mean(axis=0), values.std(axis=0)
    # A scale of 1 keeps a constant feature at 0 instead of NaN.
    return centre, np.where(scale > 0, scale, 1.0)


def _logistic_regression(x: Matrix, labels: BoolVector) -> tuple[Vector, Matrix]:
    """Weights and covariance of a logistic regression with an intercept, under a weak prior."""
    # A choice between two options, the first with all attributes 0, is a logistic regression: the
    # solver for choices, with its prior, serves here, too.
    full = np.column_stack([np.ones(len(x)), x])
    sets = np.stack([np.zeros_like(full), full], axis=1)
    made = Choices.from_arrays(sets, labels.astype(int))
    estimate = fit_choices(made, parameter_prior=ScaledPrior(WARNING.prior_strength))
    return estimate.theta, estimate.covariance


def _cross_validated_calibration(values: Matrix, labels: BoolVector, fold: Any) -> Calibration:
    odds = np.empty(len(labels))
    base = np.empty(len(labels))
    for k in np.unique(fold):
        out = fold == k
        # Scaled by the training plays alone: a scale that knows the held-out plays would flatter.
        centre, scale = _centre_and_scale(values[~out])
        theta, _ = _logistic_regression((values[~out] - centre) / scale, labels[~out])
        odds[out] = theta[0] + (values[out] - centre) / scale @ theta[1:]
        base[out] = labels[~out].mean()
    p = special.expit(odds)
    slope, _ = _logistic_regression(odds[:, None], labels)
    return Calibration(
        area_under_roc(p, labels),
        float(((p - labels) ** 2).mean()),
        float(((base - labels) ** 2).mean()),
        float(slope[1]),
        p,
    )


def area_under_roc(p: Vector, labels: BoolVector) -> float:
    """Area under the ROC curve: P(a labelled prediction exceeds an unlabelled one), ties half."""
    above = p[labels][:, None] - p[~labels][None, :]
    return float(((above > 0) + 0.5 * (above == 0)).mean())
