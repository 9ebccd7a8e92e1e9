"""Figures 4, 5 and 6: the linearised estimate of stochastic UCL, with the exact one beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.bandit.episode import Episode
from penchant.study.paper.bfgs import Stopped, bfgs_stops
from penchant.study.paper.claims import Claim
from penchant.study.paper.convergence import Convergence, convergence
from penchant.study.paper.ensembles import Ensemble
from penchant.study.paper.figure_4_5_6_claims import (
    claims_of_both,
    claims_of_estimable,
    claims_of_separated,
)
from penchant.study.paper.linearized_plays import linearized_columns, linearized_ensembles
from penchant.study.paper.longer import longer_plays
from penchant.study.paper.nominals import NominalComparison, compared_nominals
from penchant.study.paper.plays import ExactEstimates, beginnings, exact_estimates, played
from penchant.study.paper.prefixes import Prefixes, fit_prefixes
from penchant.study.paper.published import (
    EXPERIMENT_DECISIONS,
    FIGURE_4,
    FIGURE_5,
    FIGURE_6,
    HORIZON,
    REPLICATES,
    SIMULATION_NOISE_VARIANCE,
    UCLSetting,
)
from penchant.study.paper.regrets import Growth, regret_growth

EXACT_AT = (30, 60, 100)
DECIDED_AT = (30, EXPERIMENT_DECISIONS, HORIZON)  # t that the text speaks of
MORE = 6  # times the plays of the figure decide what the text says
BFGS_AT = tuple(range(10, HORIZON + 1, 10))
LONGER = 160  # decisions of Figure 6, to see what more data give
NAMES = ("theta1", "theta2", "theta3")
BOTH = (FIGURE_4, FIGURE_5)


@dataclass(frozen=True, eq=False)
class UCLFigure:
    """Figure 4, 5 or 6: linearised estimates at every t, exact ones at some.

    Attributes
    ----------
    found
        The linearised estimates, given that they exist.
    unusable
        Existing linearised estimates with nu <= 0 or delta <= 0, for every t.
    prior_variance
        sigma0^2 mapped back from the usable ones at the horizon.
    exact
        Exact maximum likelihood after some t.
    stopped
        What BFGS reports, for Figure 6: no estimate.
    """

    setting: UCLSetting
    found: Convergence
    unusable: Vector
    prior_variance: Vector
    exact: tuple[ExactEstimates, ...]
    claims: tuple[Claim, ...]
    n_decide: int
    stopped: Stopped | None = None
    parameter_names: tuple[str, ...] = NAMES

    @property
    def name(self) -> str:
        """figure-4, figure-5 or figure-6."""
        return self.setting.name

    @property
    def title(self) -> str:
        """For headings."""
        prior = self.setting.nominal
        return (
            f"Figure {self.name[-1]}: stochastic UCL, linearised about mean {prior.mean:g}, "
            f"variance {prior.variance:g}"
        )

    @property
    def settings(self) -> dict[str, object]:
        """What was computed."""
        s = self.setting
        return {
            "decision_noise": s.decision_noise,
            "prior_mean": s.prior.mean,
            "prior_variance": s.prior.variance,
            "length_scale": s.length_scale,
            "noise_variance": SIMULATION_NOISE_VARIANCE,
            "nominal_mean": s.nominal.mean,
            "nominal_variance": s.nominal.variance,
            "landscape": "A, as reconstructed",
            "horizon": int(self.found.n[-1]),
            "replicates": self.found.n_replicates,
            "replicates that decide": self.n_decide,
        }

    def tables(self) -> dict[str, dict[str, list[float]]]:
        """Linearised estimates at every t, and exact ones."""
        columns = self.found.columns(self.parameter_names)
        columns["unusable"] = self.unusable.tolist()
        columns["t"] = columns.pop("n")
        found = {self.name: columns, f"{self.name}-exact": exact_columns(self.exact)}
        if self.stopped is not None:
            found[f"{self.name}-bfgs"] = self.stopped.columns(self.parameter_names)
        return found


def exact_columns(exact: tuple[ExactEstimates, ...]) -> dict[str, list[float]]:
    """One row per t at which the exact estimate was made."""
    found: dict[str, list[float]] = {"t": [e.t for e in exact]}
    statuses = sorted({status for e in exact for status in e.statuses})
    for status in statuses:
        found[status.replace(" ", "_")] = [e.statuses.get(status, 0) for e in exact]
    for j, name in enumerate(("decision_noise", "prior_mean", "prior_variance")):
        found[f"{name}_median"] = [float(e.medians[j]) for e in exact]
        found[f"{name}_coverage"] = [float(e.coverage[j]) for e in exact]
    return found


@dataclass(frozen=True, eq=False)
class EstimablePlays:
    """The plays of Figures 4 and 5, which differ in their nominal point only.

    Attributes
    ----------
    episodes
        The plays that are drawn: one for every replicate of the figures.
    exact
        Their exact estimates.
    many
        Linearised estimates of many more plays about both points, at the t the text speaks of.
    nominals
        Both points on the same plays at the horizon.
    growth
        How regret grows.
    """

    episodes: tuple[Episode, ...]
    exact: tuple[ExactEstimates, ...]
    many: dict[str, tuple[Ensemble, ...]]
    nominals: NominalComparison
    growth: tuple[Growth, ...]


def estimable_plays(
    *, rng: np.random.Generator, n_replicates: int = REPLICATES, threads: int | None = None
) -> EstimablePlays:
    """Plays with true prior (200, 1), length scale 1 and nu = 4, and what they tell exactly.

    Parameters
    ----------
    rng
        Source of randomness.
    n_replicates
        Plays of the figures; six times as many decide the claims.
    threads
        Processors; all if not given. The answer does not depend on it.
    """
    setting = FIGURE_4
    plays = played(setting, rng=rng, n_replicates=MORE * n_replicates, n_decisions=HORIZON)
    episodes = tuple(plays[:n_replicates])
    many = {s.name: linearized_ensembles(s, plays, DECIDED_AT, threads) for s in BOTH}
    first, second = ((s, many[s.name][-1]) for s in BOTH)
    return EstimablePlays(
        episodes,
        tuple(exact_estimates(setting, episodes, t, threads) for t in EXACT_AT),
        many,
        compared_nominals(plays, first, second),
        regret_growth(setting, rng=rng, n_replicates=n_replicates),
    )


def figure_4(plays: EstimablePlays, threads: int | None = None) -> UCLFigure:
    """Figure 4: linearised about (150, 2)."""
    return _estimable(FIGURE_4, plays, threads)


def figure_5(plays: EstimablePlays, threads: int | None = None) -> UCLFigure:
    """Figure 5: linearised about (250, 0.5). What compares it with Figure 4 is here."""
    return _estimable(FIGURE_5, plays, threads)


def figure_6(
    *, rng: np.random.Generator, n_replicates: int = REPLICATES, threads: int | None = None
) -> UCLFigure:
    """Figure 6: true prior (30, 1000), no correlation, nu = 0.5, linearised about (40, 950).

    The agents play on beyond the paper's horizon, to see what more data give. Parameters are those
    of `estimable_plays`.
    """
    setting = FIGURE_6
    longer = played(setting, rng=rng, n_replicates=n_replicates, n_decisions=LONGER)
    episodes = beginnings(longer, HORIZON)
    x, chosen = _columns_and_chosen(setting, episodes)
    estimates = fit_prefixes(x, chosen, what="Figure 6", threads=threads)
    found = convergence(estimates, np.array(setting.truth))
    exact = exact_estimates(setting, episodes, HORIZON, threads)
    stopped = bfgs_stops(x, chosen, BFGS_AT)
    distinct = np.array([len(set(e.chosen.tolist())) for e in episodes])
    grown = regret_growth(setting, rng=rng, n_replicates=n_replicates)
    claims = claims_of_separated(
        setting, found, exact, stopped, distinct, longer_plays(setting, longer), grown
    )
    return UCLFigure(
        setting,
        found,
        _unusable(setting, estimates),
        _mapped_back(setting, estimates),
        (exact,),
        claims,
        n_replicates,
        stopped,
    )


def _estimable(setting: UCLSetting, plays: EstimablePlays, threads: int | None) -> UCLFigure:
    estimates = linearized_prefixes(setting, plays.episodes, threads)
    found = convergence(estimates, np.array(setting.truth))
    many = plays.many[setting.name]
    claims = claims_of_estimable(setting, many)
    if setting is FIGURE_5:
        claims += claims_of_both(plays.nominals, plays.exact[-1], plays.growth)
    unusable, variance = _unusable(setting, estimates), _mapped_back(setting, estimates)
    return UCLFigure(setting, found, unusable, variance, plays.exact, claims, len(many[-1].theta))


def linearized_prefixes(
    setting: UCLSetting, episodes: Sequence[Episode], threads: int | None = None
) -> Prefixes:
    """The paper's estimator on the first t decisions of every play, for every t."""
    x, chosen = _columns_and_chosen(setting, episodes)
    return fit_prefixes(x, chosen, what=f"Figure {setting.name[-1]}", threads=threads)


def _columns_and_chosen(
    setting: UCLSetting, episodes: Sequence[Episode]
) -> tuple[Matrix, IntVector]:
    return linearized_columns(setting, episodes), np.stack([e.chosen for e in episodes])


def _inside(setting: UCLSetting, theta: Matrix) -> BoolVector:
    """Whether theta maps back to positive nu and delta; False where there is no estimate."""
    nominal = setting.nominal.relative_precision(SIMULATION_NOISE_VARIANCE)
    with np.errstate(invalid="ignore"):
        return np.asarray((theta[..., 0] > 0) & (nominal * theta[..., 0] + theta[..., 2] > 0))


def _unusable(setting: UCLSetting, estimates: Prefixes) -> Vector:
    return np.asarray((estimates.exists & ~_inside(setting, estimates.theta)).sum(axis=1))


def _mapped_back(setting: UCLSetting, estimates: Prefixes) -> Vector:
    """sigma0^2 of the usable estimates at the horizon."""
    theta = estimates.theta[-1]
    theta = theta[_inside(setting, theta)]
    nominal = setting.nominal.relative_precision(SIMULATION_NOISE_VARIANCE)
    return np.asarray(SIMULATION_NOISE_VARIANCE / (nominal + theta[:, 2] / theta[:, 0]))
