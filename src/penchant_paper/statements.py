"""Checks of the paper's statements beside its figures: Lemma 1, Theorem 1, conclusions.

Section IV: with X = [x_1 .. x_{m-1} 0] the paper asks for a positive definite mean of XX'. A
softmax knows differences between options only, so what counts is their scatter within the choice
sets, W; and with W positive definite an estimate still need not exist, for the choices may be
separated.

Section VIII and the note to practitioners, with them which priors are easier to estimate, and how
long an update takes while somebody plays. The information that a play holds at the true values
gives the standard errors of its exact estimates; no estimate need exist for that. Times differ from
run to run: they are said on the terminal and written nowhere, so that the same seed gives the same
files.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from penchant import (
    UCL,
    Choices,
    Episode,
    GaussianNoise,
    Landscape,
    RewardPrior,
    grid,
    live,
    simulate,
)
from penchant._typing import IntVector, Matrix, Vector
from penchant.inference.linearized_model import (
    LinearizedParameterMap,
    linearized_choices,
    nominal_psi_and_ratios,
)
from penchant.inference.profile.profile_likelihood import ProfileProblems
from penchant.paper import landscape_a, landscape_b
from penchant.results import Live
from penchant.softmax.fit import fit_choices
from penchant.softmax.probabilities import decision_log_likelihoods
from penchant_paper.ensembles import ensembles
from penchant_paper.plays import linearized_ensembles, model_of, natural_truth, simulate_plays
from penchant_paper.published import (
    EXPERIMENT_DECISIONS,
    FIGURE_4,
    FIGURE_5,
    GRID,
    PAPER_REPLICATES,
    SIMULATION_NOISE_VARIANCE,
    UCL_DECISIONS,
    Claim,
    Measured,
    Part,
    UCLSetting,
    ValueWithError,
    mean_of,
    median_of,
    share_of,
)

DECISIONS, OPTIONS = 40, 3
TRUTH = np.array([1.0, -0.5])
DRAWN_THETA_RANGE = 3.0  # of theta along which log-likelihoods are drawn
LOG_LIKELIHOOD_ROUNDING = 1e-9  # change of a log-likelihood that is rounding
MANY, LEAST, LONG = 20, 1000, 200  # replicates and decisions of the asymptotic distribution
ACCURATE_COVERAGE = (0.93, 0.97)


@dataclass(frozen=True)
class Design:
    """Explanatory variables and what the conditions say of them.

    Attributes
    ----------
    name
        What the design is.
    printed, within
        Smallest eigenvalue of the paper's matrix, and of the scatter within choice sets, per
        decision.
    range
        Largest change of the log-likelihood along the direction in which the second is smallest.
    status
        Of the fit to the choices.
    """

    name: str
    printed: float
    within: float
    range: float
    status: str
    along: Vector
    log_likelihood: Vector


@dataclass(frozen=True, eq=False)
class Theorem1:
    """Designs that meet one condition and not the other, and the verdicts."""

    designs: tuple[Design, ...]
    n_replicates: int
    claims: tuple[Claim, ...]
    name: str = "theorem-1"
    title: str = "Section IV: Lemma 1 and Theorem 1"

    @property
    def settings(self) -> dict[str, object]:
        """Settings of the computation, for its JSON file."""
        return {"decisions": DECISIONS, "options": OPTIONS, "replicates": self.n_replicates}

    def tables(self) -> dict[str, dict[str, list[object]]]:
        """Table of the results by design."""
        words = ("name", "printed", "within", "range", "status")
        return {"theorem-1": {word: [getattr(d, word) for d in self.designs] for word in words}}


def theorem_1(
    *,
    rng: np.random.Generator,
    n_replicates: int = PAPER_REPLICATES,
    threads: int | None = None,
) -> Theorem1:
    """Check the conditions on designs of two parameters.

    Parameters
    ----------
    rng
        Source of randomness.
    n_replicates
        Twenty times as many replicates show the asymptotic distribution.
    threads
        Processors; all if not given. The answer does not depend on it.
    """
    x = rng.normal(size=(DECISIONS, OPTIONS, 2))
    common = x.copy()
    common[..., 1] = common[:, :1, 1]  # the second variable is the same for all options
    last = np.zeros_like(x)
    last[:, -1] = x[:, -1]  # all variation in the option that the paper's matrix leaves out
    chosen = (x @ TRUTH + rng.gumbel(size=x.shape[:2])).argmax(axis=1)
    larger = (x @ TRUTH).argmax(axis=1)
    designs = (
        _design("equal across options", common, chosen),
        _design("all in the last option", last, chosen),
        _design("overlapping", x, chosen),
        _design("separated", x, larger, TRUTH),
    )
    curved = _most_curved(rng)
    (drawn,) = ensembles(
        rng.normal(size=(LONG, OPTIONS, 2)),
        TRUTH,
        [LONG],
        rng=rng,
        n_replicates=max(LEAST, MANY * n_replicates),
        what="Theorem 1",
        threads=threads,
    )
    coverage = mean_of(drawn.covers.mean(axis=1))
    claims = _claims(designs, curved, coverage, len(drawn.theta))
    return Theorem1(designs, n_replicates, claims)


def printed_matrix(x: Matrix) -> Matrix:
    """The mean of XX' of Theorem 1."""
    return np.asarray(np.einsum("kia,kib->ab", x[:, :-1], x[:, :-1]) / len(x))


def scatter_within(x: Matrix) -> Matrix:
    """The mean scatter of the options about the mean of their choice set."""
    centred = x - x.mean(axis=1, keepdims=True)
    return np.asarray(np.einsum("kia,kib->ab", centred, centred) / len(x))


def _design(name: str, x: Matrix, chosen: IntVector, recession: Vector | None = None) -> Design:
    """Conditions of a design, and log-likelihoods along its flattest or separating direction."""
    choices = Choices.from_arrays(x, chosen)
    values, vectors = np.linalg.eigh(scatter_within(x))
    estimate = fit_choices(choices)
    finite = bool(np.isfinite(estimate.theta).all())
    start, direction = estimate.theta if finite else np.zeros(2), vectors[:, 0]
    along = np.linspace(-DRAWN_THETA_RANGE, DRAWN_THETA_RANGE, 61)
    if recession is not None:
        start, direction = np.zeros(2), recession / np.linalg.norm(recession)
        along = np.linspace(0.0, 4 * DRAWN_THETA_RANGE, 61)
    curve = np.array(
        [decision_log_likelihoods(start + s * direction, choices).sum() for s in along]
    )
    return Design(
        name,
        float(np.linalg.eigvalsh(printed_matrix(x))[0]),
        float(max(values[0], 0.0)),
        float(np.ptp(curve)),
        estimate.status,
        along,
        curve,
    )


def _most_curved(rng: np.random.Generator) -> float:
    """Largest eigenvalue of a Hessian found anywhere, over its size: 0 or less if concave."""
    worst = -np.inf
    for _ in range(200):
        x = rng.normal(size=(5, OPTIONS, 3)) * rng.choice([0.0, 1.0], size=3)
        theta = rng.normal(size=3) * rng.choice([0.1, 1.0, 10.0])
        q = x @ theta
        p = np.exp(q - q.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        mean = np.einsum("ki,kia->ka", p, x)
        # Second moments less the products of the means, as the derivative comes: not as a square.
        second = np.einsum("ki,kia,kib->ab", p, x, x) - np.einsum("ka,kb->ab", mean, mean)
        worst = max(worst, float(np.linalg.eigvalsh(-second)[-1]) / max(1.0, float((x**2).sum())))
    return worst


def _claims(
    designs: tuple[Design, ...], curved: float, coverage: tuple[float, float], n: int
) -> tuple[Claim, ...]:
    common, last, fine, separated = designs
    return (
        Claim(
            "Section IV, Lemma 1",
            "If E[XX'] exists and is positive definite, the model is identified.",
            {
                "a model that meets the condition is identified": not (
                    common.printed > 0 and common.range < LOG_LIKELIHOOD_ROUNDING
                )
            },
            "With a variable that is equal across options the printed matrix has smallest "
            f"eigenvalue {common.printed:.3g}, and the log-likelihood is flat along it (it changes "
            f"by {common.range:.1g}; status: {common.status}). Nor is the condition needed: with "
            f"all variation in the last option that eigenvalue is {last.printed:.3g}, and the "
            f"model is identified (status: {last.status}). What decides is the scatter within "
            f"choice sets: {common.within:.3g} and {last.within:.3g}. The lemma holds once "
            "x_i - x_m replaces x_i.",
            {d.name: {"printed": d.printed, "within": d.within} for d in (common, last)},
            (1, 2, 3),
        ),
        Claim(
            "Section IV, Theorem 1 (1)",
            "If the second-moment matrix is positive definite, the maximum likelihood problem is "
            "convex.",
            {"no Hessian has a positive eigenvalue": curved < 1e-12},
            "The Hessian is minus a covariance: over 200 random designs and theta, some with "
            f"variables that are 0, its largest eigenvalue is {max(curved, 0.0):.1g} of its size "
            "at most. It is convex whatever the matrix, and strictly so exactly where the model is "
            "identified.",
            {"largest_eigenvalue": curved},
            (5, 6),
        ),
        Claim(
            "Section IV, Theorem 1 (2)",
            "If the second-moment matrix is positive definite, the estimator is asymptotically "
            "normal about theta_0 with covariance J^-1/n.",
            {
                "coverage of 95 % intervals with scatter within the choice sets": Measured(
                    *coverage, *ACCURATE_COVERAGE
                ),
                "an estimate exists wherever the printed matrix is positive definite": not (
                    common.printed > 0 and common.range < LOG_LIKELIHOOD_ROUNDING
                ),
                "an estimate exists wherever the model is identified": not (
                    separated.within > 0 and separated.status == "separated"
                ),
            },
            f"Where options differ within their sets, 95 % intervals from {LONG} decisions hold "
            f"the truth in {coverage[0]:.1%} ± {coverage[1]:.1%} of {n} replicates. Where the "
            "printed matrix is positive definite and the scatter within sets is not, there is "
            f"nothing to converge (status: {common.status}). And where the model is identified the "
            "choices may be separated: there is no maximum, however convex (status: "
            f"{separated.status}, "
            f"smallest eigenvalue within sets {separated.within:.3g}; with other choices on the "
            f"same design: {fine.status}). J is per decision: the covariance is the inverse of the "
            "summed information.",
            {"coverage": coverage[0], "monte_carlo_error": coverage[1]},
            (1, 7, 8),
        ),
    )


DECISION_NOISE, PRIOR_MEAN = 4.0, 200.0  # of Figures 4 and 5
VARIANCES, SCALES = (0.1, 1.0, 10.0, 100.0), (0.0, 1.0, 4.0)
USUAL_VARIANCE, USUAL_SCALE = 1.0, 1.0


@dataclass(frozen=True, eq=False)
class PriorErrors:
    """Standard errors, over the true values, of agents with one prior.

    Attributes
    ----------
    landscape, prior_variance, length_scale
        Where they play, and their prior.
    errors
        Of mu0 and sigma0^2, one row per play; infinite where a play tells nothing.
    """

    landscape: str
    prior_variance: float
    length_scale: float
    errors: Matrix


def prior_errors(*, rng: np.random.Generator, n_replicates: int) -> tuple[PriorErrors, ...]:
    """Let agents with several priors play on both landscapes."""
    noise = GaussianNoise(SIMULATION_NOISE_VARIANCE)
    places = {"A": landscape_a(*GRID, noise=noise), "B": landscape_b(*GRID, noise=noise)}
    pairs = [(variance, USUAL_SCALE) for variance in VARIANCES]
    pairs += [(USUAL_VARIANCE, scale) for scale in SCALES if scale != USUAL_SCALE]
    return tuple(
        PriorErrors(name, *pair, _errors(place, *pair, rng, n_replicates))
        for name, place in places.items()
        for pair in pairs
    )


def _errors(
    place: Landscape,
    variance: float,
    scale: float,
    rng: np.random.Generator,
    n_replicates: int,
) -> Matrix:
    model = UCL(locations=grid(*GRID), noise_variance=SIMULATION_NOISE_VARIANCE, length_scale=scale)
    truth = {
        "decision_noise": DECISION_NOISE,
        "prior_mean": PRIOR_MEAN,
        "prior_variance": variance,
    }
    plays = simulate(
        place, model, truth, n_decisions=UCL_DECISIONS, n_subjects=n_replicates, rng=rng
    )
    psi, ratios = nominal_psi_and_ratios(model, RewardPrior(PRIOR_MEAN, variance))
    found = []
    for play in plays:
        x = linearized_choices(ProfileProblems(model, ((play,),)), psi, ratios).explanatory
        errors = _standard_errors(x.reshape(play.n_events, -1, 3))
        # theta2 and theta3 are the deviations of mu0 and delta over nu; sigma0^2 goes as 1/delta.
        found.append(DECISION_NOISE * errors[1:] / np.array([PRIOR_MEAN, psi[0]]))
    return np.array(found)


def _standard_errors(x: Matrix) -> Vector:
    """Standard errors of the linearised theta at the true value (1/nu, 0, 0)."""
    q = x[..., 0] / DECISION_NOISE
    p = np.exp(q - q.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    centred = x - np.einsum("ki,kia->ka", p, x)[:, None]
    information = np.einsum("ki,kia,kib->ab", p, centred, centred)
    scale = np.sqrt(np.maximum(information.diagonal(), np.finfo(float).tiny))
    scaled = information / np.outer(scale, scale)
    if np.linalg.cond(scaled) > 1e14:
        return np.full(len(scale), np.inf)
    return np.asarray(np.sqrt(np.linalg.inv(scaled).diagonal()) / scale)


def smaller(one: Vector, two: Vector) -> ValueWithError:
    """Probability that a play of the first kind has the smaller error, ties counted half.

    >>> smaller(np.array([1.0, 2.0]), np.array([3.0, 4.0]))[0]
    1.0
    """
    below = (one[:, None] < two) + 0.5 * (one[:, None] == two)
    rows, columns = below.mean(axis=1), below.mean(axis=0)
    n = len(one) + len(two) + 2
    spread = rows.var() / len(one) + columns.var() / len(two)
    share = (below.sum() + 1) / (below.size + 2)
    return float(below.mean()), float(np.sqrt(max(spread, share * (1 - share) / n)))


def of(found: Sequence[PriorErrors], landscape: str, variance: float, scale: float) -> PriorErrors:
    """The agents with one prior on one landscape."""
    (only,) = (
        t
        for t in found
        if (t.landscape, t.prior_variance, t.length_scale) == (landscape, variance, scale)
    )
    return only


SECONDS_PER_CHOICE = 1.5  # seconds: the shorter of the two times the experiment gives a choice
DECISIONS_TIMED = 10  # the last decisions, where an update takes longest


@dataclass(frozen=True, eq=False)
class RealTime:
    """Processor seconds of single updates, after each of the last decisions.

    Attributes
    ----------
    linearized
        The paper's estimator, with the whole history fitted again.
    exact
        `live`, which starts from its last estimate.
    """

    linearized: Vector
    exact: Vector

    @property
    def summary(self) -> str:
        """The times, for the terminal."""
        return "; ".join(
            f"{name} estimate: median {1e3 * np.median(s):.0f} ms, slowest {1e3 * s.max():.0f} ms"
            for name, s in (("linearised", self.linearized), ("exact live", self.exact))
        )


def real_time(*, rng: np.random.Generator) -> RealTime:
    """Update both estimates after each of the last decisions of a play with the paper's grid."""
    (play,) = simulate_plays(FIGURE_4, rng=rng, n_replicates=1, n_decisions=EXPERIMENT_DECISIONS)
    model = model_of(FIGURE_4)
    psi, ratios = nominal_psi_and_ratios(model, FIGURE_4.nominal)
    first = EXPERIMENT_DECISIONS - DECISIONS_TIMED

    def linearized(t: int) -> None:
        now = Episode(play.chosen[:t], play.rewards[:t])
        fit_choices(linearized_choices(ProfileProblems(model, ((now,),)), psi, ratios), threads=1)

    known = _observe_first(play, live(model), first)

    def exact(t: int) -> None:
        known.observe(int(play.chosen[t - 1]), float(play.rewards[t - 1]))
        known.estimate()

    linearized(first)  # compiles what is not compiled yet
    return RealTime(_timed(linearized, first), _timed(exact, first))


def _observe_first(play: Episode, known: Live, n: int) -> Live:
    for t in range(n):
        known.observe(int(play.chosen[t]), float(play.rewards[t]))
    known.estimate()
    return known


def _timed(update: Callable[[int], None], first: int) -> Vector:
    found = []
    for t in range(first + 1, EXPERIMENT_DECISIONS + 1):
        begun = time.process_time()
        update(t)
        found.append(time.process_time() - begun)
    return np.array(found)


PLAYS_PER_REPLICATE, PRIOR_AGENTS_PER_REPLICATE = (
    2,
    0.2,
)  # times the replicates: plays that are estimated, agents with each prior
MIN_ESTIMATES = 10  # agents with each prior: fewer leave the spread of their estimates unknown
MAX_RELATIVE_ERROR_OF_ESTIMATE = 0.1  # relative error of an estimate of the true value
MIN_SHARE_USABLE = 0.95  # share of estimates that lie inside the model
NATURAL = ("nu", "mu0", "sigma0^2")
BOTH = (FIGURE_4, FIGURE_5)


@dataclass(frozen=True, eq=False)
class Conclusion:
    """Estimates of the parameters, standard errors under several priors, times of updates.

    Attributes
    ----------
    natural
        nu, mu0, sigma0^2 linearised about both points of Figures 4 and 5: (2, n_plays, 3); NaN
        outside the model.
    told
        Standard errors for agents with several priors.
    times
        Of single updates; in no table.
    """

    natural: Matrix
    told: tuple[PriorErrors, ...]
    times: RealTime
    claims: tuple[Claim, ...]
    name: str = "conclusion"
    title: str = "Section VIII: the conclusion"

    @property
    def settings(self) -> dict[str, object]:
        """Settings of the computation, for its JSON file."""
        return {
            "plays": int(self.natural.shape[1]),
            "agents with each prior": len(self.told[0].errors),
            "landscapes": "A and B, as reconstructed",
        }

    def tables(self) -> dict[str, dict[str, list[object]]]:
        """Tables of the estimates, and of standard errors under several priors."""
        medians = np.nanmedian(self.natural, axis=1)
        return {
            "conclusion-parameters": {
                "nominal": [f"({s.nominal.mean:g}, {s.nominal.variance:g})" for s in BOTH],
                "usable": np.isfinite(self.natural).all(axis=2).sum(axis=1).tolist(),
                **{name: medians[:, j].tolist() for j, name in enumerate(natural_truth(FIGURE_4))},
            },
            "conclusion-priors": {
                "landscape": [t.landscape for t in self.told],
                "prior_variance": [t.prior_variance for t in self.told],
                "length_scale": [t.length_scale for t in self.told],
                "prior_mean_error": [float(np.median(t.errors[:, 0])) for t in self.told],
                "prior_variance_error": [float(np.median(t.errors[:, 1])) for t in self.told],
            },
        }


def conclusion(
    *,
    rng: np.random.Generator,
    n_replicates: int = PAPER_REPLICATES,
    threads: int | None = None,
) -> Conclusion:
    """Estimate the parameters of plays, compare several priors, and time updates.

    Parameters
    ----------
    rng
        Source of randomness.
    n_replicates
        Replicates of the figures; the numbers of plays and agents follow from it.
    threads
        Processors; all if not given. The answer does not depend on it.
    """
    plays = simulate_plays(
        FIGURE_4,
        rng=rng,
        n_replicates=PLAYS_PER_REPLICATE * n_replicates,
        n_decisions=UCL_DECISIONS,
    )
    natural = np.array([_natural(setting, plays, threads) for setting in BOTH])
    found = prior_errors(
        rng=rng, n_replicates=max(MIN_ESTIMATES, round(PRIOR_AGENTS_PER_REPLICATE * n_replicates))
    )
    times = real_time(rng=rng)
    claims = (_estimated(natural), _claim_easier(found), _claim_fast(times))
    return Conclusion(natural, found, times, claims)


def _natural(setting: UCLSetting, plays: Sequence[Episode], threads: int | None) -> Matrix:
    (drawn,) = linearized_ensembles(setting, plays, [UCL_DECISIONS], threads)
    model = model_of(setting)
    back = LinearizedParameterMap(model, *nominal_psi_and_ratios(model, setting.nominal), "delta")
    return np.array([back.values(theta) for theta in drawn.theta])


def _estimated(natural: Matrix) -> Claim:
    truth = np.array(list(natural_truth(FIGURE_4).values()))
    parts: dict[str, Part] = {}
    said = []
    for setting, values in zip(BOTH, natural, strict=True):
        about = f"({setting.nominal.mean:g}, {setting.nominal.variance:g})"
        usable = share_of(np.isfinite(values).all(axis=1))
        parts[f"about {about}: share of plays inside the model"] = Measured(
            *usable, low=MIN_SHARE_USABLE
        )
        medians = [median_of(column) for column in values.T]
        for name, (median, error), true in zip(NATURAL, medians, truth, strict=True):
            parts[f"about {about}: {name} over its true value (median)"] = Measured(
                median / true,
                error / true,
                1 - MAX_RELATIVE_ERROR_OF_ESTIMATE,
                1 + MAX_RELATIVE_ERROR_OF_ESTIMATE,
            )
        shown = ", ".join(
            f"{name} {Measured(*median)}" for name, median in zip(NATURAL, medians, strict=True)
        )
        said.append(
            f"about {about} {usable[0]:.0%} ± {usable[1]:.0%} of the estimates lie inside the "
            f"model, with medians {shown}"
        )
    return Claim(
        "Section VIII",
        "Estimating the linearised model on simulated data, one can estimate the true value of the "
        "stochastic UCL parameters.",
        parts,
        f"From {natural.shape[1]} plays of {UCL_DECISIONS} decisions with nu 4, mu0 200, sigma0^2 "
        "1: "
        + "; ".join(said)
        + ". nu and mu0 can be estimated so; sigma0^2 depends on the point of linearisation.",
        {"medians": np.nanmedian(natural, axis=1).tolist()},
        (30,),
    )


def _claim_easier(found: Sequence[PriorErrors]) -> Claim:
    parts: dict[str, Part] = {}
    said = []
    far = max(VARIANCES)
    for landscape in ("A", "B"):
        usual = of(found, landscape, USUAL_VARIANCE, USUAL_SCALE)
        pairs = [
            (f"sigma0^2 = {USUAL_VARIANCE:g} than {far:g}", usual, far, USUAL_SCALE, True),
            *(
                (
                    f"lambda = {max(scale, USUAL_SCALE):g} than {min(scale, USUAL_SCALE):g}",
                    usual,
                    USUAL_VARIANCE,
                    scale,
                    scale < USUAL_SCALE,
                )
                for scale in SCALES
                if scale != USUAL_SCALE
            ),
        ]
        for words, here, variance, scale, here_is_first in pairs:
            other = of(found, landscape, variance, scale)
            one, two = (here, other) if here_is_first else (other, here)
            for a, name in enumerate(("mu0", "sigma0^2")):
                parts[f"landscape {landscape}: {name} is told better with {words}"] = Measured(
                    *smaller(one.errors[:, a], two.errors[:, a]), low=0.5
                )
        said.append(f"on {landscape} {_medians(found, landscape)}")
    return Claim(
        "Section VIII",
        "Priors that strongly influence behaviour, such as small variances sigma0^2 or large "
        "length scales lambda, are easier to estimate.",
        parts,
        "Standard errors of sigma0^2 over its true value, from the information at the true values "
        f"of {len(found[0].errors)} plays of {UCL_DECISIONS} decisions each (medians): "
        + "; ".join(said)
        + ". The conditions say how probable it is that a play with the first prior tells more "
        "than one with the second. Without correlation nothing is told; a stronger prior is not "
        "always told better.",
        {
            f"{t.landscape}, sigma0^2 {t.prior_variance:g}, lambda {t.length_scale:g}": np.median(
                t.errors, axis=0
            ).tolist()
            for t in found
        },
    )


def _medians(found: Sequence[PriorErrors], landscape: str) -> str:
    return ", ".join(
        f"{np.median(t.errors[:, 1]):.2g} (sigma0^2 = {t.prior_variance:g}, lambda = "
        f"{t.length_scale:g})"
        for t in found
        if t.landscape == landscape
    )


def _claim_fast(times: RealTime) -> Claim:
    within = {
        "linearised": bool(times.linearized.max() < SECONDS_PER_CHOICE),
        "exact": bool(times.exact.max() < SECONDS_PER_CHOICE),
    }
    return Claim(
        "Note to practitioners",
        "The parameter estimation method is fast enough to be implemented in real time for most "
        "scenarios.",
        {
            f"an update takes less than the {SECONDS_PER_CHOICE:g} s of a choice": within[
                "linearised"
            ]
        },
        f"Each of the last {DECISIONS_TIMED} updates of a play of 90 choices among 100 options "
        f"took {'less' if within['linearised'] else 'not always less'} processor time than "
        f"{SECONDS_PER_CHOICE:g} s, the shortest time that the experiment allots to a choice; the "
        "exact "
        f"estimate, updated live, {'did' if within['exact'] else 'did not always'} too. The times "
        "are said while the experiment runs; they differ from run to run and are in no file.",
        {"within_the_time_of_a_choice": within},
    )
