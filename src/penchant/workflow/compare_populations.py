"""Models compared with everybody under their population.

Each model's population is fitted to all decisions by maximum likelihood, the parameters of its
people integrated out. What a model is worth to a person is then the log-evidence of their decisions
under that population, not the height of one maximum, and how well it foretells a new person is the
evidence of everybody under the population of all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from penchant._frames import Backend, as_it_came, came_as, frame
from penchant._typing import Matrix, Vector
from penchant.errors import DataError, nearest
from penchant.models.model import Model
from penchant.output.document import plain, plain_label
from penchant.output.notes import counted
from penchant.output.shown import Shown
from penchant.output.table import NARROW, Table, p_value
from penchant.population.hierarchy.contrasts import Comparison, compared
from penchant.population.hierarchy.fit import fit_population
from penchant.population.hierarchy.result import PopulationFit
from penchant.workflow.likelihood_ratio import checked_pairs
from penchant.workflow.selection import ModelSelection, select_models

PopulationCriterion = Literal["loo", "aic", "bic"]
WORDS = {"loo": "log-evidence of people left out", "aic": "AIC", "bic": "BIC"}


@dataclass(frozen=True, eq=False, repr=False)
class PopulationComparison(Shown):
    """Several models of the same decisions, each with a population of its own.

    Attributes
    ----------
    fits
        The population of each model, by name, at its maximum likelihood.
    criterion
        By which models are ranked: "loo", "aic" or "bic".
    nested
        Pairs (smaller, larger) of names for likelihood-ratio tests.
    """

    fits: Mapping[str, PopulationFit]
    criterion: PopulationCriterion = "loo"
    nested: tuple[tuple[str, str], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Of the models."""
        return tuple(self.fits)

    @property
    def subjects(self) -> tuple[Any, ...]:
        """Labels."""
        return self._each[0].subjects.labels

    @property
    def _each(self) -> tuple[PopulationFit, ...]:
        return tuple(self.fits.values())

    @property
    def evidence(self) -> Matrix:
        """Log-evidence of every subject under each population: (n_subjects, n_models)."""
        return np.stack([fit.evidence for fit in self._each], axis=1)

    @property
    def loo_each(self) -> Matrix:
        """The same under the populations of all others."""
        return np.stack([fit.loo_each for fit in self._each], axis=1)

    @property
    def totals(self) -> Vector:
        """The criterion of each model; less is better. Of "loo": minus the log-evidence."""
        every = {
            "loo": [-fit.loo for fit in self._each],
            "aic": [fit.aic for fit in self._each],
            "bic": [fit.bic for fit in self._each],
        }
        return np.array(every[self.criterion])

    @property
    def best(self) -> str:
        """The model with the least total."""
        return self.names[int(np.argmin(self.totals))]

    def differences(self, first: str, second: str) -> Vector:
        """Left-out log-evidence of each subject under the first less that under the second."""
        one, other = self[first], self[second]
        return np.asarray(one.loo_each - other.loo_each)

    @property
    def standard_errors(self) -> Vector:
        """Of each model's left-out difference to the best, over subjects."""
        apart = self.loo_each - self[self.best].loo_each[:, None]
        return np.asarray(np.sqrt(len(apart)) * apart.std(axis=0, ddof=1))

    def __getitem__(self, name: str) -> PopulationFit:
        if name not in self.fits:
            raise DataError(
                f"model must be one of {', '.join(self.names)}; got {name!r}."
                f"{nearest(str(name), self.names) or ' Choose one.'}"
            )
        return self.fits[name]

    @cached_property
    @as_it_came
    def selection(self) -> ModelSelection:
        """Random-effects Bayesian model selection on the evidences of subjects."""
        return select_models(self.evidence, self.names)

    @cached_property
    def likelihood_ratios(self) -> Mapping[tuple[str, str], Comparison]:
        """Of the pairs said to be nested, the larger against the smaller."""
        return {(a, b): compared(self.fits[b], self.fits[a], nested=True) for a, b in self.nested}

    def to_frame(self, backend: Backend | None = None) -> Any:
        """One row per subject and model: evidence, and evidence when left out."""
        n, m = self.evidence.shape
        return frame(
            {
                "subject": [subject for subject in self.subjects for _ in range(m)],
                "model": list(self.names) * n,
                "evidence": self.evidence.ravel().tolist(),
                "left_out": self.loo_each.ravel().tolist(),
                "responsibility": self.selection.responsibilities.ravel().tolist(),
            },
            backend or came_as(self),
        )

    def table(self) -> Table:
        """The summary as a table."""
        chosen, errors = self.selection, self.standard_errors
        rows = tuple(
            (
                name,
                str(fit.n_parameters),
                f"{fit.log_likelihood:.2f}",
                f"{fit.aic:.2f}",
                f"{fit.bic:.2f}",
                f"{fit.loo:.2f}",
                "-" if name == self.best else f"{errors[k]:.2f}",
                f"{chosen.frequencies[k]:.3f}",
                f"{chosen.protected_exceedance[k]:.3f}",
            )
            for k, (name, fit) in enumerate(self.fits.items())
        )
        header = ("model", "k", "log-lik.", "AIC", "BIC", "left out", "error", "share", "PXP")
        return Table(
            f"{counted(len(self.names), 'population')} of {counted(len(self.subjects), 'subject')}",
            (
                ("Trials", f"{self._each[0].n_decisions:,}"),
                ("Best", f"{self.best}, by the {WORDS[self.criterion]}"),
            ),
            header,
            rows,
            self.notes,
            NARROW,
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the table should know."""
        found = [
            "k numbers for the whole population; log-lik. with people's parameters integrated "
            "out; left out: log-evidence of everybody under the population of all others, and the "
            "standard error of its difference to the best.",
            "share of people and protected exceedance probability (PXP) by Bayesian model "
            "selection on the evidences of people; probability that all models are as frequent: "
            f"{self.selection.equal_probability:.3f}.",
        ]
        for (smaller, larger), ratio in self.likelihood_ratios.items():
            found.append(
                f"{smaller} in {larger}: likelihood ratio {ratio.statistic:.2f} with "
                f"{ratio.degrees_of_freedom} degrees of freedom, p-value {p_value(ratio.p_value)}."
            )
        found += [
            f"{name}: {fit.status}. {fit.message}"
            for name, fit in self.fits.items()
            if fit.status != "converged"
        ]
        return tuple(found)

    def __repr__(self) -> str:
        return (
            f"<PopulationComparison of {', '.join(self.names)} for {len(self.subjects)} subjects: "
            f"{self.best} best by {WORDS[self.criterion]}>"
        )

    def document(self) -> dict[str, Any]:
        """What it says, as JSON has it."""
        chosen = self.selection
        return {
            "format": "penchant-population-comparison",
            "version": 1,
            "criterion": self.criterion,
            "best": self.best,
            "models": [
                {
                    "name": name,
                    "status": fit.status,
                    "n_parameters": fit.n_parameters,
                    "log_likelihood": plain(fit.log_likelihood),
                    "aic": plain(fit.aic),
                    "bic": plain(fit.bic),
                    "left_out": plain(fit.loo),
                    "frequency": float(chosen.frequencies[k]),
                    "protected_exceedance": float(chosen.protected_exceedance[k]),
                }
                for k, (name, fit) in enumerate(self.fits.items())
            ],
            "subjects": [
                {
                    "subject": plain_label(subject),
                    "evidence": plain(self.evidence[i]),
                    "left_out": plain(self.loo_each[i]),
                }
                for i, subject in enumerate(self.subjects)
            ],
            "equal_probability": chosen.equal_probability,
            "notes": list(self.notes),
        }


def compare_populations(
    models: Mapping[str, Model],
    episodes: Sequence[Any],
    criterion: str | None,
    nested: Sequence[tuple[str, str]],
    threads: int | None,
) -> PopulationComparison:
    """Fit the population of every model, and put them side by side."""
    asked = criterion or "loo"
    if asked not in WORDS:
        raise DataError(
            f"criterion must be one of {', '.join(WORDS)} for populations; got {asked!r}. Choose "
            "one."
        )
    told = [episode for episode in episodes if episode.n_decisions]
    fits = {
        name: fit_population(told, model, estimator="ml", threads=threads)
        for name, model in models.items()
    }
    sizes = [fit.n_parameters for fit in fits.values()]
    checked_pairs(nested, tuple(fits), sizes)
    pairs = tuple((str(a), str(b)) for a, b in nested)
    return PopulationComparison(fits, asked, pairs)  # type: ignore[arg-type]  # among WORDS
