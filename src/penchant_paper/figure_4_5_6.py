"""Figures 4, 5 and 6: the linearised estimate of stochastic UCL, the exact one, and the claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from penchant import Episode
from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant_paper.ensembles import (
    HALF_WIDTHS,
    Convergence,
    Ensemble,
    Prefixes,
    convergence,
    fit_prefixes,
)
from penchant_paper.plays import (
    ExactEstimates,
    LongerPlays,
    NominalComparison,
    Stopped,
    bfgs_stops,
    compare_nominals,
    exact_estimates,
    first_decisions,
    linearized_columns,
    linearized_ensembles,
    longer_plays,
    simulate_plays,
)
from penchant_paper.published import (
    EXPERIMENT_DECISIONS,
    FIGURE_4,
    FIGURE_5,
    FIGURE_6,
    PAPER_REPLICATES,
    SIMULATION_NOISE_VARIANCE,
    UCL_DECISIONS,
    Claim,
    Measured,
    Part,
    UCLSetting,
    mean_of,
    median_of,
    share_of,
)
from penchant_paper.simulated_study import Growth, growth_text, regret_growth

MAX_RELATIVE_ERROR_OF_MEAN = 0.2  # relative error of a mean that has converged
MAX_CHANGE_BY_NOMINAL_POINT = (
    0.1  # relative difference of estimates that do not depend on the nominal point
)
MIN_POWER = 0.8  # share of plays that are significant where a procedure can identify a parameter
MIN_SHARE_NEARLY_ALWAYS = 0.95
COVERED_FROM_DECISION = 30  # decisions after which the true value is said to be inside the interval
NATURAL = ("nu", "mu0", "sigma0^2")
UNSTATED = "the landscape and the rewards of the simulations"


def claims_of_estimable(setting: UCLSetting, many: Sequence[Ensemble]) -> tuple[Claim, ...]:
    """Claims of Figures 4 and 5, each by itself."""
    at = {drawn.n: drawn for drawn in many}
    figure = f"Section VI.D, Figure {setting.name[-1]}"
    return (
        _printed_truth(setting),
        _converges(many[-1], figure),
        _inside_early(many, figure),
        _significant(at[EXPERIMENT_DECISIONS], figure),
    )


def claims_of_both(
    nominals: NominalComparison, exact: ExactEstimates, growth: Sequence[Growth]
) -> tuple[Claim, ...]:
    """Claims that compare Figures 4 and 5, or are about their agents."""
    return (
        _robust(nominals, exact),
        _compare_by_likelihood(nominals),
        _regret(growth, "(200, 1, 1, 4)", "logarithmic", "high performance"),
    )


def claims_of_separated(
    setting: UCLSetting,
    found: Convergence,
    exact: ExactEstimates,
    stopped: Stopped,
    distinct: IntVector,
    longer: LongerPlays,
    growth: Sequence[Growth],
) -> tuple[Claim, ...]:
    """Claims of Figure 6."""
    return (
        _printed_truth(setting),
        _has_estimates(found, exact, stopped, distinct),
        _more_data(found, longer),
        _regret(growth, "(30, 1000, 0, 0.5)", "linear", "low performance"),
    )


def _printed_truth(setting: UCLSetting) -> Claim:
    printed, truth = np.array(setting.printed_truth), np.array(setting.truth)
    gap = np.abs(printed / truth - 1.0)
    return Claim(
        f"Section VI.D, Figure {setting.name[-1]}",
        "The linearised objective has the true values theta = "
        + ", ".join(f"{v:g}" for v in printed)
        + ".",
        {f"theta{a + 1}": bool(g < 0.005) for a, g in enumerate(gap)},
        "Eq. (23) with noise variance 0.01 gives "
        + ", ".join(f"{v:.5g}" for v in truth)
        + "; the noise variance is not stated and follows from theta3.",
        {"truth": truth.tolist()},
    )


def _converges(last: Ensemble, where: str) -> Claim:
    means = [mean_of(column / t) for column, t in zip(last.theta.T, last.truth, strict=True)]
    parts: dict[str, Part] = {
        f"theta{a + 1}: mean over true value": Measured(
            *mean, 1 - MAX_RELATIVE_ERROR_OF_MEAN, 1 + MAX_RELATIVE_ERROR_OF_MEAN
        )
        for a, mean in enumerate(means)
    }
    coverage = [share_of(column) for column in last.covers.T]
    unmet = any(part.met is False for part in parts.values() if isinstance(part, Measured))
    rest = " What linearisation leaves out does not vanish with data." if unmet else ""
    return Claim(
        where,
        f"The estimator converges to the true value of theta within the horizon T = {last.n}.",
        parts,
        f"At T = {last.n} the means over {int(last.exists.sum())} plays are "
        + ", ".join(f"{mean:.0%} ± {error:.0%}" for mean, error in means)
        + " of the true values; 95 % intervals hold the truth in "
        + ", ".join(f"{share:.0%} ± {error:.0%}" for share, error in coverage)
        + f" of them.{rest}",
        {
            "mean_over_truth": [mean for mean, _ in means],
            "monte_carlo_error": [error for _, error in means],
            "coverage": [share for share, _ in coverage],
        },
        (30,),
    )


def _inside_early(many: Sequence[Ensemble], where: str) -> Claim:
    parts: dict[str, Part] = {}
    sizes = []
    for drawn in many:
        half = HALF_WIDTHS * np.nanmedian(drawn.standard_errors, axis=0)
        if drawn.n == COVERED_FROM_DECISION:
            sizes = (half / np.abs(drawn.truth)).tolist()
        for a, h in enumerate(half):
            mean, error = mean_of(drawn.theta[:, a] - drawn.truth[a])
            name = f"theta{a + 1}: error of the mean over half the interval at t = {drawn.n}"
            parts[name] = Measured(mean / h, error / h, -1.0, 1.0)
    coverage = [share_of(column) for column in many[0].covers.T]
    return Claim(
        where,
        "The true value of the parameter is within the 95 % confidence interval after 30 observed "
        "choices.",
        parts,
        f"The interval around the mean estimate reaches {_format_numbers(sizes)} times the true "
        "value to "
        f"either side at t = {COVERED_FROM_DECISION}: where that is above 1, holding the truth "
        "says little. The intervals of single plays hold it in "
        + ", ".join(f"{share:.0%} ± {error:.0%}" for share, error in coverage)
        + f" of plays at t = {many[0].n}.",
        {"half_width_over_truth": sizes, "coverage": [share for share, _ in coverage]},
        (30,),
    )


def _significant(drawn: Ensemble, where: str) -> Claim:
    here = drawn.exists
    z = drawn.theta[here] / drawn.standard_errors[here]
    told = np.sign(drawn.truth) * z > HALF_WIDTHS
    shares = [share_of(column) for column in told.T]
    return Claim(
        where,
        f"With {drawn.n} choices, as in the experiment, the procedure can identify the true value "
        "of the parameter in a statistically significant way.",
        {
            f"theta{a + 1}: share of plays with a 95 % interval on the right side of 0": Measured(
                *share, low=MIN_POWER
            )
            for a, share in enumerate(shares)
        },
        f"Of {int(here.sum())} plays of {drawn.n} decisions, theta1, theta2 and theta3 differ from "
        "0 at the 5 % level, in the right direction, in "
        + ", ".join(f"{share:.0%} ± {error:.1%}" for share, error in shares)
        + ".",
        {"shares": [share for share, _ in shares]},
        (30,),
    )


def _robust(nominals: NominalComparison, exact: ExactEstimates) -> Claim:
    medians = [median_of(column) for column in nominals.differences.T]
    usable = [share_of(~row) for row in nominals.usable]
    typical = np.nanmedian(nominals.natural, axis=1)
    return Claim(
        "Section VI.D",
        "The procedure is at least somewhat robust to the choice of linearisation point.",
        {
            f"{name}: relative difference of both estimates (median)": Measured(
                *median, high=MAX_CHANGE_BY_NOMINAL_POINT
            )
            for name, median in zip(NATURAL, medians, strict=True)
        },
        f"About (150, 2) and (250, 0.5), on the same {nominals.natural.shape[1]} plays of 100 "
        "decisions, estimates of nu, mu0 and sigma0^2 differ by "
        + ", ".join(f"{value:.1%} ± {error:.1%}" for value, error in medians)
        + f" (medians); medians of sigma0^2 are {typical[0, 2]:.3g} and {typical[1, 2]:.3g} (true "
        "1). nu <= 0 or delta <= 0, outside the model, in "
        + " and ".join(f"{share:.1%} ± {error:.1%}" for share, error in usable)
        + f" of the plays, which counts as the largest difference. Exact maximum likelihood, with "
        f"no point to choose, on {len(exact.values)} of the plays: medians nu "
        f"{exact.medians[0]:.3g}, mu0 {exact.medians[1]:.4g}, sigma0^2 {exact.medians[2]:.3g}.",
        {
            "relative_differences": [value for value, _ in medians],
            "unusable": [share for share, _ in usable],
            "exact_medians": exact.medians.tolist(),
            "exact_coverage": exact.coverage.tolist(),
            "exact_statuses": exact.statuses,
        },
    )


def _compare_by_likelihood(nominals: NominalComparison) -> Claim:
    share = share_of(nominals.agrees)
    return Claim(
        "Section VI.E",
        "If the estimates about two linearisation points differ, the one with the higher "
        "likelihood value is better.",
        {
            "share of plays where it is, more often than not": Measured(*share, low=0.5),
            "share of plays where it is, nearly always": Measured(
                *share, low=MIN_SHARE_NEARLY_ALWAYS
            ),
        },
        f"Of {nominals.agrees.size} plays where both linearised estimates lie inside the model, "
        "the linearised likelihood prefers the estimate with the higher exact likelihood in "
        f"{share[0]:.0%} ± {share[1]:.1%}. Linearised likelihoods of different points belong to "
        "different models; only the exact one compares them.",
        {"comparable": int(nominals.agrees.size), "agree": int(nominals.agrees.sum())},
        (27,),
    )


def _regret(growth: Sequence[Growth], who: str, order: str, performance: str) -> Claim:
    return Claim(
        "Section VI.D",
        f"The parameters {who} result in {performance}, specifically {order} regret.",
        {},
        f"Share of agents whose regret over 100 decisions is best described as {order}: "
        + growth_text(growth, order)
        + ". It depends on the landscape and on the size of its rewards, which the paper does not "
        "state for its simulations; both landscapes are reconstructions.",
        {
            f"{g.landscape}, rewards up to {g.best:g}": {
                "logarithmic": g.logarithmic[0],
                "linear": g.linear[0],
            }
            for g in growth
        },
        untold=UNSTATED,
    )


def _has_estimates(
    found: Convergence, exact: ExactEstimates, stopped: Stopped, distinct: IntVector
) -> Claim:
    n, horizon = found.n_replicates, int(found.n[-1])
    lost, early = int(found.missing[-1]), int(found.missing[found.at(COVERED_FROM_DECISION)])
    separated = exact.statuses.get("separated", 0)
    without = np.arange(n) < lost
    supremum = -float(special.gammaln(horizon + 1))
    errors = np.median(stopped.standard_errors[-1], axis=0)
    reason = (
        " The choices are separated, which a direction of theta proves for every replicate: an "
        "agent who never repeats itself lets the likelihood rise, as theta grows without bound, "
        f"towards that of drawing without replacement, -log({horizon}!) = {supremum:.4f}. "
        f"BFGS from 0 stops on the way: it reports success in {int(stopped.success[-1].sum())} of "
        f"{n} replicates at T = {horizon}, at "
        f"{float(np.median(stopped.log_likelihood[-1])):.4f} with "
        f"standard errors of {', '.join(f'{e:.1g}' for e in errors)} (medians)."
    )
    return Claim(
        "Section VI.D, Figure 6",
        "The estimates have confidence intervals many orders of magnitude wider than theta1 and "
        "theta2, and a persistent bias of theta3.",
        {
            "share of replicates with a linearised estimate": Measured(
                *share_of(~without), low=0.5
            ),
            "share of replicates with an exact estimate": Measured(
                *share_of(np.arange(n) >= separated), low=0.5
            ),
        },
        f"{early} of {n} replicates have no finite linearised estimate at t = "
        f"{COVERED_FROM_DECISION}, {lost} of "
        f"{n} at T = {horizon}, and {separated} of {n} no finite exact one; "
        f"{int((distinct == horizon).sum())} of {n} agents tried all {horizon} options."
        + (reason if lost >= n / 2 else ""),
        {
            "missing": lost,
            f"missing_at_{COVERED_FROM_DECISION}": early,
            "exact_separated": separated,
            "without_repetition": int((distinct == horizon).sum()),
            "supremum": supremum,
            "bfgs_success": int(stopped.success[-1].sum()),
            "bfgs_log_likelihood": float(np.median(stopped.log_likelihood[-1])),
            "bfgs_standard_errors": errors.tolist(),
        },
        (7,),
    )


def _more_data(found: Convergence, longer: LongerPlays) -> Claim:
    scale = HALF_WIDTHS / np.abs(found.truth)
    sizes = [median_of(column) for column in (scale * longer.standard_errors).T]
    return Claim(
        "Section VI.D, Figure 6",
        "One must observe more data to shrink the confidence intervals and get precise estimates.",
        {
            f"theta{a + 1}: half the interval over the true value (median)": Measured(
                *size, high=1.0
            )
            for a, size in enumerate(sizes)
        },
        f"With {longer.t} decisions, so that options are repeated, {longer.existing} of "
        f"{found.n_replicates} replicates have a finite linearised estimate; its 95 % interval "
        "reaches "
        + ", ".join(str(Measured(*size)) for size in sizes)
        + " times the true value to either side. Once an option was tried its reward says little "
        "of the prior.",
        {
            "decisions": longer.t,
            "existing": longer.existing,
            "half_width_over_truth": [size for size, _ in sizes],
        },
        (7,),
    )


def _format_numbers(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.2g}" for value in values)


EXACT_AT = (30, 60, 100)
DECIDED_AT = (30, EXPERIMENT_DECISIONS, UCL_DECISIONS)  # t that the text speaks of
REPLICATE_FACTOR = 6  # times the plays of the figure decide what the text says
BFGS_AT = tuple(range(10, UCL_DECISIONS + 1, 10))
EXTENDED_DECISIONS = 160  # decisions of Figure 6, to see what more data give
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
        """Title for headings."""
        prior = self.setting.nominal
        return (
            f"Figure {self.name[-1]}: stochastic UCL, linearised about mean {prior.mean:g}, "
            f"variance {prior.variance:g}"
        )

    @property
    def settings(self) -> dict[str, object]:
        """Settings of the computation, for its JSON file."""
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

    def tables(self) -> dict[str, dict[str, Sequence[float]]]:
        """Linearised estimates at every t, and exact ones."""
        columns = self.found.columns(self.parameter_names)
        columns["unusable"] = self.unusable.tolist()
        columns["t"] = columns.pop("n")
        found = {self.name: columns, f"{self.name}-exact": exact_columns(self.exact)}
        if self.stopped is not None:
            found[f"{self.name}-bfgs"] = self.stopped.columns(self.parameter_names)
        return found


def exact_columns(exact: tuple[ExactEstimates, ...]) -> dict[str, Sequence[float]]:
    """Table of the exact estimates by number of decisions t."""
    found: dict[str, Sequence[float]] = {"t": [e.t for e in exact]}
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
    *, rng: np.random.Generator, n_replicates: int = PAPER_REPLICATES, threads: int | None = None
) -> EstimablePlays:
    """Plays with true prior (200, 1), length scale 1 and nu = 4, with their exact estimates.

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
    plays = simulate_plays(
        setting, rng=rng, n_replicates=REPLICATE_FACTOR * n_replicates, n_decisions=UCL_DECISIONS
    )
    episodes = tuple(plays[:n_replicates])
    many = {s.name: linearized_ensembles(s, plays, DECIDED_AT, threads) for s in BOTH}
    first, second = ((s, many[s.name][-1]) for s in BOTH)
    return EstimablePlays(
        episodes,
        tuple(exact_estimates(setting, episodes, t, threads) for t in EXACT_AT),
        many,
        compare_nominals(plays, first, second),
        regret_growth(setting, rng=rng, n_replicates=n_replicates),
    )


def figure_4(plays: EstimablePlays, threads: int | None = None) -> UCLFigure:
    """Figure 4: linearised about (150, 2)."""
    return _estimable(FIGURE_4, plays, threads)


def figure_5(plays: EstimablePlays, threads: int | None = None) -> UCLFigure:
    """Figure 5: linearised about (250, 0.5). What compares it with Figure 4 is here."""
    return _estimable(FIGURE_5, plays, threads)


def figure_6(
    *, rng: np.random.Generator, n_replicates: int = PAPER_REPLICATES, threads: int | None = None
) -> UCLFigure:
    """Figure 6: true prior (30, 1000), no correlation, nu = 0.5, linearised about (40, 950).

    The agents play on beyond the paper's horizon, to see what more data give. Parameters are those
    of `estimable_plays`.
    """
    setting = FIGURE_6
    longer = simulate_plays(
        setting, rng=rng, n_replicates=n_replicates, n_decisions=EXTENDED_DECISIONS
    )
    episodes = first_decisions(longer, UCL_DECISIONS)
    x, chosen = _columns_and_chosen(setting, episodes)
    estimates = fit_prefixes(x, chosen, what="Figure 6", threads=threads)
    found = convergence(estimates, np.array(setting.truth))
    exact = exact_estimates(setting, episodes, UCL_DECISIONS, threads)
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
