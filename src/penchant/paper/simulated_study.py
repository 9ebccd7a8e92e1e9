"""A study with the paper's design whose subjects are agents, through the whole pipeline.

326 subjects make 90 decisions each: 206 on Landscape A, of whom 53 perform well, and 120 on B, of
whom 17 do. All high-performing agents have one set of parameters and all low-performing ones
another, on both landscapes: what the pipeline reports can be held against what is true. Their
parameters were chosen so that regret grows as the categories say and that the mean log-likelihoods
are near those of Table I.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penchant.bandit.episode import Episode
from penchant.bandit.landscape import GaussianNoise, Landscape, landscape_a, landscape_b
from penchant.bandit.locations import grid
from penchant.models.simulate import simulate
from penchant.models.spatial.ucl import UCL
from penchant.paper.claims import Claim
from penchant.paper.published import EXPERIMENT_DECISIONS, EXPERIMENT_NOISE_VARIANCE, GRID, TABLES
from penchant.paper.simulated_claims import (
    Alike,
    LengthScales,
    alike,
    claims_of_study,
    compared_length_scales,
)
from penchant.report.study import Study, study
from penchant.studies.data import StudyData

TRUTH: Mapping[str, Mapping[str, float]] = {
    "high": {
        "decision_noise": 8.0,
        "prior_mean": 60.0,
        "prior_variance": 10.0,
        "length_scale": 4.0,
    },
    "low": {
        "decision_noise": 10.0,
        "prior_mean": 30.0,
        "prior_variance": 100.0,
        "length_scale": 0.1,
    },
}
SEVERAL = 20  # subjects of either category whose length scale is tried
STUDIES = 10  # of agents who are alike


@dataclass(frozen=True, eq=False)
class SimulatedStudy:
    """What the pipeline makes of agents whose parameters are known.

    Attributes
    ----------
    study
        The result of `study`.
    drawn
        Performance that each subject was drawn with.
    length_scales
        What the length scale changes in either category.
    studies
        Tests between landscapes in studies of agents who are alike.
    """

    study: Study
    drawn: Mapping[str, str]
    length_scales: Mapping[str, LengthScales]
    studies: Alike
    claims: tuple[Claim, ...]
    name: str = "study"
    title: str = "A simulated study with the paper's design"

    @property
    def settings(self) -> dict[str, object]:
        """What was computed."""
        return {
            "subjects": len(self.drawn),
            "decisions": EXPERIMENT_DECISIONS,
            "noise_variance": EXPERIMENT_NOISE_VARIANCE,
            "truth": {name: dict(values) for name, values in TRUTH.items()},
        }

    def tables(self) -> dict[str, dict[str, list[object]]]:
        """Tables I and II of the simulated study, its tests and subjects."""
        found = {
            f"study-{name}": self.study.columns(name)
            for name in ("table-1", "table-2", "tests", "subjects", "failures")
        }
        scales = [found_in.columns() for found_in in self.length_scales.values()]
        found["study-length-scales"] = {
            name: [value for one in scales for value in one[name]] for name in scales[0]
        }
        found["study-alike"] = {
            f"theta{a + 1}_p_value": column.tolist()
            for a, column in enumerate(self.studies.p_values.T)
        }
        return found


def simulated_study(
    *, rng: np.random.Generator, share: float = 1.0, threads: int | None = None
) -> SimulatedStudy:
    """Draw the subjects, run the pipeline, hold it against the truth.

    Parameters
    ----------
    rng
        Source of randomness.
    share
        Of the paper's number of subjects in each category; at least four are drawn.
    threads
        Processors; all if not given. The answer does not depend on it.
    """
    places = landscapes()
    episodes, drawn = _subjects(places, share, rng)
    data = StudyData(
        episodes=tuple(episodes),
        conditions={"landscape": {e.subject: e.subject[0] for e in episodes}},
        landscape_columns=("landscape",),
        landscapes=tuple((e.subject[0],) for e in episodes),
    )
    found = study(
        data,
        UCL(locations=grid(*GRID), noise_variance=EXPERIMENT_NOISE_VARIANCE),
        landscape={name: place.mean_rewards for name, place in places.items()},
        intervals="wald",
        n_replicates=0,
        n_bootstrap=0,
        threads=threads,
    )
    scales = {
        who: compared_length_scales(
            [e for e in episodes if drawn[e.subject] == who][:SEVERAL], who, threads
        )
        for who in ("low", "high")
    }
    agents = {name: value for name, value in TRUTH["high"].items() if name != "length_scale"}
    n_studies = max(2, round(share * STUDIES))
    studies = alike(places, agents, rng=rng, n_studies=n_studies, threads=threads)
    claims = claims_of_study(found, drawn, TRUTH, scales, studies)
    return SimulatedStudy(found, drawn, scales, studies, claims)


def landscapes() -> dict[str, Landscape]:
    """Landscapes A and B with the noise of the experiment."""
    noise = GaussianNoise(EXPERIMENT_NOISE_VARIANCE)
    return {"A": landscape_a(*GRID, noise=noise), "B": landscape_b(*GRID, noise=noise)}


def _subjects(
    places: Mapping[str, Landscape], share: float, rng: np.random.Generator
) -> tuple[list[Episode], dict[str, str]]:
    """Plays sorted by subject, and the performance each was drawn with."""
    found: dict[str, Episode] = {}
    drawn: dict[str, str] = {}
    for category in TABLES:
        truth = dict(TRUTH[category.performance])
        model = UCL(
            locations=grid(*GRID),
            noise_variance=EXPERIMENT_NOISE_VARIANCE,
            length_scale=truth.pop("length_scale"),
        )
        plays = simulate(
            places[category.landscape],
            model,
            truth,
            n_decisions=EXPERIMENT_DECISIONS,
            n_subjects=max(4, round(share * category.n_subjects)),
            rng=rng,
        )
        for i, play in enumerate(plays):
            subject = f"{category.landscape}-{category.performance}-{i + 1:03d}"
            found[subject] = Episode(play.chosen, play.rewards, subject=subject)
            drawn[subject] = category.performance
    return [found[subject] for subject in sorted(found)], drawn
