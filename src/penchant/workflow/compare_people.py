"""Models compared by information criteria for subjects whose decisions do not fit in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._frames import frame
from penchant.choices.chunks import ManyPeople
from penchant.errors import DataError
from penchant.inference.portions import OF_CHOICES, PortionFit, portion_fit
from penchant.models.model import Model
from penchant.wording import argument
from penchant.workflow.comparison import Criterion, ModelComparison
from penchant.workflow.likelihood_ratio import checked_pairs, likelihood_ratios


@dataclass(frozen=True)
class PortionScores:
    """What a comparison needs of every subject of a portion; picklable."""

    fits: PortionFit

    def __call__(self, data: Any) -> Any:
        """One row for each subject, as a pyarrow table."""
        found = self.fits.estimates(data)
        return frame(
            {
                "subject": list(found.subjects),
                "status": list(found.status),
                "n_decisions": list(found.n_decisions),
                "log_likelihood": found.log_likelihood.tolist(),
                "n_identified": [float(estimate.n_identified) for estimate in found],
            },
            "pyarrow",
        )

    def one(self, data: Any, subject: Any) -> Any:
        """The estimate of one subject of the portion."""
        return self.fits.one(data, subject)

    def __str__(self) -> str:
        return str(self.fits)


def compare_people(
    models: Mapping[str, Model],
    people: ManyPeople,
    criterion: Criterion,
    nested: Sequence[tuple[str, str]],
    engine: Any,
    threads: int | None,
) -> ModelComparison:
    """Fit every model to every subject of a scan; a few numbers of each are kept."""
    fits = {name: portion_fit(people, model, None, OF_CHOICES) for name, model in models.items()}
    closed = {name: fit.model for name, fit in fits.items() if fit.model is not None}
    n_parameters = tuple(len(model.weights) + len(model.shape) for model in closed.values())
    checked_pairs(nested, tuple(closed), n_parameters)
    found = [
        people.fit_people(PortionScores(fit), engine=engine, threads=threads)
        for fit in fits.values()
    ]
    subjects = found[0]["subject"].tolist()
    n_decisions = np.asarray(found[0]["n_decisions"], dtype=np.int64)
    told = n_decisions > 0
    if not told.any():
        raise DataError(
            "episodes must hold at least one decision that is scored; got none. Check "
            f"{argument('is_choice')} and {argument('scored')}."
        )
    log_likelihood = np.array([one["log_likelihood"] for one in found]).T[told]
    statuses = np.array([one["status"] for one in found]).T[told]
    return ModelComparison(
        models=closed,
        subjects=tuple(subjects[k] for k in np.flatnonzero(told)),
        left_out=tuple(subjects[k] for k in np.flatnonzero(~told)),
        n_decisions=n_decisions[told],
        n_parameters=n_parameters,
        n_identified=np.array([one["n_identified"] for one in found]).T[told],
        log_likelihood=log_likelihood,
        statuses=tuple(tuple(row) for row in statuses.tolist()),
        held_out=None,
        criterion=criterion,
        likelihood_ratios=likelihood_ratios(nested, tuple(closed), log_likelihood, n_parameters),
    )
