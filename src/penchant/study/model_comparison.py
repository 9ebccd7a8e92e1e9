"""Several models of the same decisions, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from penchant._frames import Backend, frame
from penchant._typing import IntVector, Matrix, Vector
from penchant.choices.notes import counted
from penchant.errors import DataError, nearest
from penchant.models.model import Model
from penchant.softmax.tables import Table, number
from penchant.study.comparison_words import WORDS, comparison_document, comparison_notes
from penchant.study.held_out import HeldOut
from penchant.study.likelihood_ratio import LikelihoodRatio
from penchant.study.selection import ModelSelection, select_models

Criterion = Literal["aic", "bic", "held_out"]


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison:
    """Several models of the same decisions, for every subject and in total.

    Attributes
    ----------
    models
        By name.
    subjects, left_out, undivided
        Who is compared, who has no decision, and who has all of them in one fold, so that none are
        left to learn from.
    n_decisions, n_parameters
        Of each subject, and of each model.
    log_likelihood
        (n_subjects, n_models): the largest that each model can give, by maximum likelihood.
    statuses
        [subject][model], of the maximum-likelihood estimates.
    held_out
        What cross-validation found; None if it was not asked for.
    criterion
        By which models are ranked: "aic", "bic" or "held_out".
    likelihood_ratios
        Tests of the models that were said to be nested.
    """

    models: Mapping[str, Model]
    subjects: tuple[Any, ...]
    left_out: tuple[Any, ...]
    n_decisions: IntVector
    n_parameters: tuple[int, ...]
    log_likelihood: Matrix
    statuses: tuple[tuple[str, ...], ...]
    held_out: HeldOut | None
    criterion: Criterion
    likelihood_ratios: tuple[LikelihoodRatio, ...]
    undivided: tuple[Any, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Of the models."""
        return tuple(self.models)

    @property
    def aic(self) -> Matrix:
        """Akaike's criterion 2k - 2l: (n_subjects, n_models)."""
        return 2.0 * np.array(self.n_parameters) - 2.0 * self.log_likelihood

    @property
    def bic(self) -> Matrix:
        """Schwarz's criterion k log n - 2l, n the decisions of the subject."""
        penalty = np.log(self.n_decisions)[:, None] * np.array(self.n_parameters)
        return np.asarray(penalty - 2.0 * self.log_likelihood)

    @cached_property
    def held_out_log_likelihood(self) -> Matrix:
        """Cross-validated log-likelihood (n_subjects, n_models); NaN without cross-validation."""
        if self.held_out is None:
            return np.full(self.log_likelihood.shape, np.nan)
        return self.held_out.totals(self.subjects)

    def scores(self, criterion: Criterion | None = None) -> Matrix:
        """The criterion of every subject and model; less is better. Held-out: minus the log."""
        asked = criterion or self.criterion
        if asked not in WORDS:
            raise DataError(
                f"criterion must be one of {', '.join(WORDS)}; got {asked!r}. Choose one."
            )
        if asked == "held_out" and self.held_out is None:
            raise DataError(
                "criterion must be 'aic' or 'bic' where nothing was held out; got 'held_out'. "
                "Give folds, such as folds=5 or folds='block'."
            )
        found = {"aic": self.aic, "bic": self.bic, "held_out": -self.held_out_log_likelihood}
        return found[asked]

    @property
    def totals(self) -> Vector:
        """The criterion of each model, summed over subjects; less is better."""
        return np.asarray(self.scores().sum(axis=0))

    @property
    def best(self) -> str | None:
        """The model with the least total; None if all are infinite."""
        place = int(np.argmin(self.totals))
        return self.names[place] if np.isfinite(self.totals[place]) else None

    @property
    def n_best(self) -> IntVector:
        """For how many subjects each model is best; those without a finite score do not count."""
        scores = self.scores()
        known = np.isfinite(scores.min(axis=1))
        return np.bincount(scores[known].argmin(axis=1), minlength=len(self.names))

    def differences(self, first: str, second: str) -> Vector:
        """Criterion of the second model minus that of the first: positive where the first wins."""
        scores = self.scores()
        return np.asarray(scores[:, self._place(second)] - scores[:, self._place(first)])

    @property
    def standard_errors(self) -> Vector:
        """Of each model's total difference to the best, over subjects; NaN for one subject."""
        scores = self.scores()
        n = len(scores)
        if n < 2 or not np.isfinite(scores).all():
            return np.full(len(self.names), np.nan)
        apart = scores - scores[:, [int(np.argmin(self.totals))]]
        return np.asarray(np.sqrt(n) * apart.std(axis=0, ddof=1))

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise DataError(
                f"model must be one of {', '.join(self.names)}; got {name!r}."
                f"{nearest(name, self.names) or ' Choose one.'}"
            )
        return self.names.index(name)

    @cached_property
    def selection(self) -> ModelSelection | None:
        """Random-effects Bayesian model selection over subjects; None if a score is infinite.

        The log-evidence is -AIC/2, -BIC/2 or the held-out log-likelihood, by the criterion.
        """
        scores = self.scores()
        if not np.isfinite(scores).all():
            return None
        evidence = -scores if self.criterion == "held_out" else -scores / 2.0
        return select_models(evidence, self.names)

    # -- for reading -----------------------------------------------------------------------------

    def to_frame(self, backend: Backend | None = None) -> Any:
        """One row per subject and model."""
        n, m = self.log_likelihood.shape
        return frame(
            {
                "subject": [subject for subject in self.subjects for _ in range(m)],
                "model": list(self.names) * n,
                "status": [status for row in self.statuses for status in row],
                "n_decisions": np.repeat(self.n_decisions, m).tolist(),
                "n_parameters": list(self.n_parameters) * n,
                "log_likelihood": self.log_likelihood.ravel().tolist(),
                "aic": self.aic.ravel().tolist(),
                "bic": self.bic.ravel().tolist(),
                "held_out_log_likelihood": self.held_out_log_likelihood.ravel().tolist(),
            },
            backend,
        )

    def decisions(self, backend: Backend | None = None) -> Any:
        """One row per decision: the held-out log-likelihood of every model, in its own column."""
        if self.held_out is None:
            raise DataError(
                "folds must be given for log-likelihoods of decisions that were held out; got "
                "none. Compare with folds=5 or folds='block'."
            )
        held = self.held_out
        columns = {
            "subject": held.subjects.tolist(),
            "block": held.blocks.tolist(),
            "event": held.events.tolist(),
            "fold": held.folds.tolist(),
        }
        return frame(columns | {k: v.tolist() for k, v in held.log_likelihoods.items()}, backend)

    def table(self) -> Table:
        """The summary as a table."""
        held = self.held_out_log_likelihood.sum(axis=0)
        chosen = self.selection
        rows = tuple(
            (
                name,
                str(self.n_parameters[k]),
                f"{self.log_likelihood[:, k].sum():.2f}",
                f"{self.aic[:, k].sum():.2f}",
                f"{self.bic[:, k].sum():.2f}",
                f"{held[k]:.2f}" if np.isfinite(held[k]) else number(held[k]),
                str(self.n_best[k]),
                "-" if chosen is None else f"{chosen.frequencies[k]:.3f}",
                "-" if chosen is None else f"{chosen.protected_exceedance[k]:.3f}",
            )
            for k, name in enumerate(self.names)
        )
        header = ("model", "k", "log-lik.", "AIC", "BIC", "held-out", "best for", "share", "PXP")
        return Table(
            f"{counted(len(self.names), 'model')} of {counted(len(self.subjects), 'subject')}",
            (
                ("Decisions", f"{int(self.n_decisions.sum()):,}"),
                ("Best", f"{self.best or 'none'}, by the total {WORDS[self.criterion]}"),
            ),
            header,
            rows,
            self.notes,
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the table should know."""
        return comparison_notes(self)

    def summary(self) -> str:
        """Everything one reads first, as text."""
        return self.table().text()

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return (
            f"<ModelComparison of {', '.join(self.names)} for {len(self.subjects)} subjects: "
            f"{self.best or 'none'} best by {WORDS[self.criterion]}>"
        )

    def _repr_html_(self) -> str:
        return self.table().html()

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON."""
        return comparison_document(self)
