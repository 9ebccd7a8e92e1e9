"""Section VIII and the note to practitioners: what the paper says it has shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penchant._typing import Matrix
from penchant.bandit.episode import Episode
from penchant.inference.nominal import BackMap, nominal_point
from penchant.paper.claims import Claim, Measured, Part, median_of, share_of
from penchant.paper.easier import (
    SCALES,
    USUAL_SCALE,
    USUAL_VARIANCE,
    VARIANCES,
    Told,
    of,
    smaller,
    told,
)
from penchant.paper.plays import linearized_ensembles, model_of, natural_truth, played
from penchant.paper.published import FIGURE_4, FIGURE_5, HORIZON, REPLICATES, UCLSetting
from penchant.paper.real_time import ALLOTTED, TIMED, RealTime, real_time

PLAYS, TOLD = 2, 0.2  # times the replicates: plays that are estimated, agents with each prior
FEWEST = 10
CLOSE = 0.1  # relative error of an estimate of the true value
USABLE = 0.95  # share of estimates that lie inside the model
NATURAL = ("nu", "mu0", "sigma0^2")
BOTH = (FIGURE_4, FIGURE_5)


@dataclass(frozen=True, eq=False)
class Conclusion:
    """Estimates of the parameters themselves, what priors tell, and times of updates.

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
    told: tuple[Told, ...]
    times: RealTime
    claims: tuple[Claim, ...]
    name: str = "conclusion"
    title: str = "Section VIII: the conclusion"

    @property
    def settings(self) -> dict[str, object]:
        """What was computed."""
        return {
            "plays": int(self.natural.shape[1]),
            "agents with each prior": len(self.told[0].errors),
            "landscapes": "A and B, as reconstructed",
        }

    def tables(self) -> dict[str, dict[str, list[object]]]:
        """Estimates of the parameters, and what agents with several priors tell."""
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
    n_replicates: int = REPLICATES,
    threads: int | None = None,
) -> Conclusion:
    """Estimate the parameters of plays, ask what priors tell, and time updates.

    Parameters
    ----------
    rng
        Source of randomness.
    n_replicates
        Replicates of the figures; the numbers of plays and agents follow from it.
    threads
        Processors; all if not given. The answer does not depend on it.
    """
    plays = played(FIGURE_4, rng=rng, n_replicates=PLAYS * n_replicates, n_decisions=HORIZON)
    natural = np.array([_natural(setting, plays, threads) for setting in BOTH])
    found = told(rng=rng, n_replicates=max(FEWEST, round(TOLD * n_replicates)))
    times = real_time(rng=rng)
    claims = (_estimated(natural), _easier(found), _fast(times))
    return Conclusion(natural, found, times, claims)


def _natural(setting: UCLSetting, plays: Sequence[Episode], threads: int | None) -> Matrix:
    (drawn,) = linearized_ensembles(setting, plays, [HORIZON], threads)
    model = model_of(setting)
    back = BackMap(model, *nominal_point(model, setting.nominal), "delta")
    return np.array([back.values(theta) for theta in drawn.theta])


def _estimated(natural: Matrix) -> Claim:
    truth = np.array(list(natural_truth(FIGURE_4).values()))
    parts: dict[str, Part] = {}
    said = []
    for setting, values in zip(BOTH, natural, strict=True):
        about = f"({setting.nominal.mean:g}, {setting.nominal.variance:g})"
        usable = share_of(np.isfinite(values).all(axis=1))
        parts[f"about {about}: share of plays inside the model"] = Measured(*usable, low=USABLE)
        medians = [median_of(column) for column in values.T]
        for name, (median, error), true in zip(NATURAL, medians, truth, strict=True):
            parts[f"about {about}: {name} over its true value (median)"] = Measured(
                median / true, error / true, 1 - CLOSE, 1 + CLOSE
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
        f"From {natural.shape[1]} plays of {HORIZON} decisions with nu 4, mu0 200, sigma0^2 1: "
        + "; ".join(said)
        + ". nu and mu0 can be estimated so; sigma0^2 depends on the point of linearisation.",
        {"medians": np.nanmedian(natural, axis=1).tolist()},
        (30,),
    )


def _easier(found: Sequence[Told]) -> Claim:
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
        f"of {len(found[0].errors)} plays of {HORIZON} decisions each (medians): "
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


def _medians(found: Sequence[Told], landscape: str) -> str:
    return ", ".join(
        f"{np.median(t.errors[:, 1]):.2g} (sigma0^2 = {t.prior_variance:g}, lambda = "
        f"{t.length_scale:g})"
        for t in found
        if t.landscape == landscape
    )


def _fast(times: RealTime) -> Claim:
    within = {
        "linearised": bool(times.linearized.max() < ALLOTTED),
        "exact": bool(times.exact.max() < ALLOTTED),
    }
    return Claim(
        "Note to practitioners",
        "The parameter estimation method is fast enough to be implemented in real time for most "
        "scenarios.",
        {f"an update takes less than the {ALLOTTED:g} s of a choice": within["linearised"]},
        f"Each of the last {TIMED} updates of a play of 90 choices among 100 options took "
        f"{'less' if within['linearised'] else 'not always less'} processor time than "
        f"{ALLOTTED:g} s, the shortest time that the experiment allots to a choice; the exact "
        f"estimate, updated live, {'did' if within['exact'] else 'did not always'} too. The times "
        "are said while the experiment runs; they differ from run to run and are in no file.",
        {"within_the_time_of_a_choice": within},
    )
