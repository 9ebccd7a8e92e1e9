"""Results of model comparisons: criteria by subject and in total, tables, sentences and JSON.

`ModelComparison` has every subject fitted alone: AIC (Akaike 1974) and BIC (Schwarz 1978) of the
parameters identified, cross-validated log-likelihoods, likelihood ratios. `PopulationComparison`
has a hierarchical fit of each model by marginal maximum likelihood: a subject's score is then the
log-evidence of their decisions under that population, not the height of one maximum, and models are
ranked by the evidence of everybody under the population of all others (leave-one-subject-out).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from penchant._typing import IntVector, Label, Matrix, Vector
from penchant.argument_checks import check_one_of
from penchant.errors import DataError, format_list
from penchant.inference.fit import History
from penchant.json_records import to_json
from penchant.models.coordinates import Coordinates
from penchant.models.model import Model
from penchant.models.setting_warnings import doubts_of
from penchant.population.hierarchy.contrasts import Comparison, compare_population_fits
from penchant.population.hierarchy.fit import default_spread, fit_population
from penchant.population.hierarchy.result import PopulationFit
from penchant.result_tables import (
    MAX_TABLE_WIDTH,
    Backend,
    Column,
    Columns,
    Result,
    Table,
    attribute_columns,
    format_columns,
    format_count,
    format_p_value,
    make_frame,
)
from penchant.workflow.model_selection import (
    HeldOutLogLikelihoods,
    LikelihoodRatio,
    ModelSelection,
    checked_nested_pairs,
    select_models,
)

CRITERION_LABELS = {"aic": "AIC", "bic": "BIC", "held_out": "held-out loss"}
EVIDENCE_LABELS = {"aic": "-AIC/2", "bic": "-BIC/2", "held_out": "the held-out log-likelihood"}


def comparison_notes(found: ModelComparison) -> tuple[str, ...]:
    """Notes below the table of a comparison."""
    notes = [
        "k parameters for each subject; log-lik., AIC and BIC by maximum likelihood, in total.",
    ]
    if found.held_out is not None:
        notes.append(f"held-out: log-likelihood of {found.held_out.words}.")
        notes += [
            f"{name}: {count} folds without a finite estimate, whose loss is infinite. "
            "Leave parameter_prior at its weak default."
            for name, count in found.held_out.without.items()
            if count
        ]
    if found.pooled:
        return (
            notes[0].replace(" for each subject", " for all"),
            *notes[1:],
            *_likelihood_ratio_sentences(found),
        )
    if found.selection is None:
        notes.append("No share and PXP, as a score is infinite.")
    else:
        notes.append(
            "share of people and protected exceedance probability (PXP) by Bayesian model "
            f"selection with {EVIDENCE_LABELS[found.criterion]} as log-evidence; probability that "
            f"all models are as frequent: {found.selection.equal_probability:.3f}."
        )
    notes += _likelihood_ratio_sentences(found)
    if found.left_out:
        notes.append(f"Left out, without a decision: {format_list(map(str, found.left_out))}.")
    if found.undivided:
        notes.append(
            "Left out, with all decisions in one fold, so that none are left to learn from: "
            f"{format_list(map(str, found.undivided))}."
        )
    return tuple(notes)


def settings_contradicted_by_data(
    models: Mapping[str, Model], episodes: Sequence[History]
) -> tuple[str, ...]:
    """Sentences on settings that the episodes speak against, each with its model's name."""
    return tuple(
        f"{name}: {doubt}" for name, model in models.items() for doubt in doubts_of(model, episodes)
    )


def _likelihood_ratio_sentences(found: ModelComparison) -> list[str]:
    return [_likelihood_ratio_sentence(ratio, found.subjects) for ratio in found.likelihood_ratios]


CRITERIA_SHOWN = ("log_likelihood", "aic", "bic", "held_out_log_likelihood")


MODEL_COLUMNS = (
    Column("name", "model"),
    Column("n_parameters", "k"),
    Column("log_likelihood", "log-lik.", ".2f"),
    Column("aic", "AIC", ".2f"),
    Column("bic", "BIC", ".2f"),
)
SELECTION_COLUMNS = (
    Column("frequency", "share", ".3f"),
    Column("protected_exceedance", "PXP", ".3f"),
)


def _json_rows(columns: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Rows of a data frame, ready for JSON."""
    return [
        to_json(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)
    ]


def _likelihood_ratio_sentence(ratio: LikelihoodRatio, subjects: tuple[Label, ...]) -> str:
    n, n_low = len(ratio.statistics), int((ratio.p_values < 0.05).sum())
    words = (
        f"{ratio.smaller} in {ratio.larger}: likelihood ratio {ratio.total:.2f} with "
        f"{ratio.df * n} degrees of freedom"
    )
    words += f"{' in total' if n > 1 else ''}, p-value {format_p_value(ratio.total_p_value)}"
    words += f"; below 0.05 for {n_low} of {n} subjects." if n > 1 else "."
    if len(ratio.impossible):
        who = format_list(str(subjects[i]) for i in ratio.impossible)
        words += f" The larger model fits worse for {who}: the models are not nested."
    return words


Criterion = Literal["aic", "bic", "held_out"]


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison(Result):
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
    n_identified
        (n_subjects, n_models): parameters that the decisions identify, which AIC and BIC count.
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
    doubts
        Settings of models that the data speak against, in sentences.
    """

    json_names = ("criterion", "best", "likelihood_ratios", "notes")
    models: Mapping[str, Model]
    subjects: tuple[Label, ...]
    left_out: tuple[Any, ...]
    n_decisions: IntVector
    n_parameters: tuple[int, ...]
    n_identified: Matrix
    log_likelihood: Matrix
    statuses: tuple[tuple[str, ...], ...]
    held_out: HeldOutLogLikelihoods | None
    criterion: Criterion
    likelihood_ratios: tuple[LikelihoodRatio, ...]
    undivided: tuple[Any, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(self.models)

    @property
    def pooled(self) -> bool:
        """Whether all subjects are taken together, with one set of parameters."""
        return self.subjects == (None,)

    @property
    def aic(self) -> Matrix:
        """Akaike's criterion 2k - 2l: (n_subjects, n_models), k the parameters identified."""
        # A parameter that the decisions do not identify gains no likelihood, so it costs nothing.
        return 2.0 * self.n_identified - 2.0 * self.log_likelihood

    @property
    def bic(self) -> Matrix:
        """Schwarz's criterion k log n - 2l, n the decisions of the subject."""
        # n is that of the subject, not of the study, as each subject has parameters of their own.
        penalty = np.log(self.n_decisions)[:, None] * self.n_identified
        return np.asarray(penalty - 2.0 * self.log_likelihood)

    @cached_property
    def held_out_log_likelihood(self) -> Matrix:
        """Cross-validated log-likelihood (n_subjects, n_models); NaN without cross-validation."""
        if self.held_out is None:
            return np.full(self.log_likelihood.shape, np.nan)
        return self.held_out.totals(self.subjects)

    def scores(self, criterion: Criterion | None = None) -> Matrix:
        """Criterion of every subject and model, less is better: AIC, BIC or the held-out loss."""
        asked = criterion or self.criterion
        if asked not in CRITERION_LABELS:
            known = ", ".join(CRITERION_LABELS)
            raise DataError(
                "criterion", f"must be one of {known}", got=repr(asked), fix="Choose one."
            )
        if asked == "held_out" and self.held_out is None:
            raise DataError(
                "criterion",
                "must be 'aic' or 'bic' where nothing was held out",
                got="'held_out'",
                fix="Give folds, such as folds=5 or folds='block'.",
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
        least = int(np.argmin(self.totals))
        return self.names[least] if np.isfinite(self.totals[least]) else None

    @property
    def n_best(self) -> IntVector:
        """Number of subjects for whom each model is best, of those with a finite score."""
        scores = self.scores()
        has_score = np.isfinite(scores.min(axis=1))
        return np.bincount(scores[has_score].argmin(axis=1), minlength=len(self.names))

    def differences(self, first: str, second: str) -> Vector:
        """Criterion of the second model minus that of the first: positive where the first wins."""
        scores = self.scores()
        return np.asarray(
            scores[:, self._model_index(second)] - scores[:, self._model_index(first)]
        )

    @property
    def standard_errors(self) -> Vector:
        """Standard error over subjects of each total difference to the best; NaN for one subject.

        Paired: differences within subjects vary less than totals do.
        """
        scores = self.scores()
        n = len(scores)
        if n < 2 or not np.isfinite(scores).all():
            return np.full(len(self.names), np.nan)
        differences = scores - scores[:, [int(np.argmin(self.totals))]]
        # Root of n times, not over: totals are sums.
        return np.asarray(np.sqrt(n) * differences.std(axis=0, ddof=1))

    def _model_index(self, name: str) -> int:
        check_one_of(name, "model", self.names)
        return self.names.index(name)

    @cached_property
    def selection(self) -> ModelSelection | None:
        """Random-effects Bayesian model selection over subjects; None if a score is infinite.

        The log-evidence is -AIC/2, -BIC/2 or the held-out log-likelihood, by the criterion.
        """
        scores = self.scores()
        if not np.isfinite(scores).all():  # folds without a finite estimate have an infinite loss
            return None
        # AIC and BIC are on the deviance scale -2 log L, held-out scores are -log L.
        evidence = -scores if self.criterion == "held_out" else -scores / 2.0
        return select_models(evidence, self.names)

    def frame_columns(self) -> Columns:
        """A row per subject and model."""
        n, m = self.log_likelihood.shape
        return {
            "subject": [subject for subject in self.subjects for _ in range(m)],
            "model": list(self.names) * n,
            "status": [status for row in self.statuses for status in row],
            "n_decisions": np.repeat(self.n_decisions, m).tolist(),
            "n_parameters": list(self.n_parameters) * n,
            "log_likelihood": self.log_likelihood.ravel().tolist(),
            "aic": self.aic.ravel().tolist(),
            "bic": self.bic.ravel().tolist(),
            "held_out_log_likelihood": self.held_out_log_likelihood.ravel().tolist(),
        }

    def model_columns(self) -> Columns:
        """A row per model: sums over subjects, and shares by Bayesian model selection."""
        chosen = self.selection
        shares = ("frequency", "exceedance", "protected_exceedance")
        none = dict.fromkeys(shares, [None] * len(self.names))
        selected = none if chosen is None else chosen.frame_columns()
        return {
            "name": self.names,
            "model": [str(model) for model in self.models.values()],
            "n_parameters": self.n_parameters,
            **{c: [each.sum() for each in getattr(self, c).T] for c in CRITERIA_SHOWN},
            "n_best": self.n_best.tolist(),
            **{share: selected[share] for share in shares},
        }

    def decisions(self, backend: Backend = "pandas") -> Any:
        """A row per decision: the held-out log-likelihood of every model, in its own column."""
        if self.held_out is None:
            raise DataError(
                "folds",
                "must be given for log-likelihoods of decisions that were held out",
                got="none",
                fix="Compare with folds=5 or folds='block'.",
            )
        held = self.held_out
        columns = {
            "subject": held.subjects.tolist(),
            "block": held.blocks.tolist(),
            "event": held.events.tolist(),
            "fold": held.folds.tolist(),
        }
        return make_frame(
            columns | {k: v.tolist() for k, v in held.log_likelihoods.items()},
            backend,
        )

    def table(self) -> Table:
        """The summary as a table."""
        shown: tuple[Column, ...] = MODEL_COLUMNS
        if self.held_out is not None:  # without folds the column would be empty
            shown += (Column("held_out_log_likelihood", "held-out", ".2f"),)
        who = format_count(len(self.subjects), "subject")
        if self.pooled:  # one fit for all has no subjects to count or to select among
            who = "all subjects together"
        else:
            shown += (Column("n_best", "best for"), *SELECTION_COLUMNS)
        header, rows = format_columns(self.model_columns(), shown)
        return Table(
            f"{format_count(len(self.names), 'model')} of {who}",
            (
                ("Trials", f"{int(self.n_decisions.sum()):,}"),
                ("Best", f"{self.best or 'none'}, by the total {CRITERION_LABELS[self.criterion]}"),
            ),
            header,
            rows,
            self.notes,
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes below the table."""
        return (*comparison_notes(self), *self.doubts)

    def __repr__(self) -> str:
        return (
            f"<ModelComparison of {', '.join(self.names)} for {len(self.subjects)} subjects: "
            f"{self.best or 'none'} best by {CRITERION_LABELS[self.criterion]}>"
        )

    def document(self) -> dict[str, Any]:
        """Summary, ready for JSON."""
        shown = {"subject": self.subjects, "n_decisions": self.n_decisions}
        shown |= {"statuses": self.statuses} | {c: getattr(self, c) for c in CRITERIA_SHOWN}
        chosen = self.selection
        return super().document() | {
            "models": _json_rows(self.model_columns()),
            "subjects": _json_rows(shown),
            "equal_probability": None if chosen is None else chosen.equal_probability,
        }


PopulationCriterion = Literal["loo", "aic", "bic"]
POPULATION_LABELS = {"loo": "log-evidence of people left out", "aic": "AIC", "bic": "BIC"}


@dataclass(frozen=True, eq=False, repr=False)
class PopulationComparison(Result):
    """Several models of the same decisions, each with a population of its own.

    Attributes
    ----------
    fits
        The population of each model, by name, at its maximum likelihood.
    criterion
        By which models are ranked: "loo", "aic" or "bic".
    nested
        Pairs (smaller, larger) of names for likelihood-ratio tests.
    doubts
        Settings of models that the data speak against, in sentences.
    """

    json_names = ("criterion", "best", "notes")
    fits: Mapping[str, PopulationFit]
    criterion: PopulationCriterion = "loo"
    nested: tuple[tuple[str, str], ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(self.fits)

    @property
    def subjects(self) -> tuple[Label, ...]:
        """Labels of the subjects."""
        return self._fits[0].subjects.labels

    @property
    def _fits(self) -> tuple[PopulationFit, ...]:
        return tuple(self.fits.values())

    @property
    def evidence(self) -> Matrix:
        """Log-evidence of every subject under each population: (n_subjects, n_models)."""
        return np.stack([fit.evidence for fit in self._fits], axis=1)

    @property
    def loo_each(self) -> Matrix:
        """Log-evidence of every subject under the populations of all others."""
        return np.stack([fit.loo_each for fit in self._fits], axis=1)

    @property
    def totals(self) -> Vector:
        """The criterion of each model; less is better. Of "loo": minus the log-evidence."""
        by_criterion = {
            "loo": [-fit.loo for fit in self._fits],
            "aic": [fit.aic for fit in self._fits],
            "bic": [fit.bic for fit in self._fits],
        }
        return np.array(by_criterion[self.criterion])

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
        """Standard error over subjects of each model's left-out difference to the best."""
        differences = self.loo_each - self[self.best].loo_each[:, None]
        return np.asarray(np.sqrt(len(differences)) * differences.std(axis=0, ddof=1))

    def __getitem__(self, name: str) -> PopulationFit:
        check_one_of(name, "model", self.fits)
        return self.fits[name]

    @cached_property
    def selection(self) -> ModelSelection:
        """Random-effects Bayesian model selection on the evidences of subjects."""
        return select_models(self.evidence, self.names)

    @cached_property
    def likelihood_ratios(self) -> Mapping[tuple[str, str], Comparison]:
        """Likelihood-ratio tests of the pairs said to be nested, larger against smaller."""
        return {
            (a, b): compare_population_fits(self.fits[b], self.fits[a], nested=True)
            for a, b in self.nested
        }

    def frame_columns(self) -> Columns:
        """A row per subject and model: evidence, and evidence when left out."""
        n, m = self.evidence.shape
        return {
            "subject": [subject for subject in self.subjects for _ in range(m)],
            "model": list(self.names) * n,
            "evidence": self.evidence.ravel().tolist(),
            "left_out": self.loo_each.ravel().tolist(),
            "responsibility": self.selection.responsibilities.ravel().tolist(),
        }

    def model_columns(self) -> Columns:
        """A row per model: criteria, and shares by Bayesian model selection."""
        numbers = ("status", "n_parameters", "log_likelihood", "aic", "bic")
        columns = attribute_columns(self._fits, *numbers)
        chosen = self.selection
        return {
            "name": self.names,
            **columns,
            "left_out": [fit.loo for fit in self._fits],
            "frequency": chosen.frequencies.tolist(),
            "protected_exceedance": chosen.protected_exceedance.tolist(),
        }

    def table(self) -> Table:
        """The summary as a table."""
        pairs = zip(self.names, self.standard_errors, strict=True)
        errors = {"error": [None if name == self.best else error for name, error in pairs]}
        left_out = (Column("left_out", "left out", ".2f"), Column("error", "error", ".2f"))
        shown = (*MODEL_COLUMNS, *left_out, *SELECTION_COLUMNS)
        header, rows = format_columns({**self.model_columns(), **errors}, shown)
        return Table(
            f"{format_count(len(self.names), 'population')} of "
            f"{format_count(len(self.subjects), 'subject')}",
            (
                ("Trials", f"{self._fits[0].n_decisions:,}"),
                ("Best", f"{self.best}, by the {POPULATION_LABELS[self.criterion]}"),
            ),
            header,
            rows,
            self.notes,
            MAX_TABLE_WIDTH,
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes below the table."""
        found = [
            "k numbers for the whole population; log-lik. with people's parameters integrated "
            "out; left out: log-evidence of everybody under the population of all others, and the "
            "standard error of its difference to the best.",
            "share of people and protected exceedance probability (PXP) by Bayesian model "
            "selection on the evidences of people; probability that all models are as frequent: "
            f"{self.selection.equal_probability:.3f}.",
            *self.doubts,
        ]
        for (smaller, larger), ratio in self.likelihood_ratios.items():
            found.append(
                f"{smaller} in {larger}: likelihood ratio {ratio.statistic:.2f} with "
                f"{ratio.degrees_of_freedom} degrees of freedom, p-value "
                f"{format_p_value(ratio.p_value)}."
            )
        n, largest = len(self.subjects), max(len(fit.parameter_names) for fit in self._fits)
        if default_spread(n, largest) == "diagonal":
            found.append(
                f"Correlations between parameters are taken for 0 in all models: {n} subjects are "
                f"too few for {largest} parameters."
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
            f"{self.best} best by {POPULATION_LABELS[self.criterion]}>"
        )

    def document(self) -> dict[str, Any]:
        """Summary, ready for JSON."""
        shown = {"subject": self.subjects, "evidence": self.evidence, "left_out": self.loo_each}
        return super().document() | {
            "models": _json_rows(self.model_columns()),
            "subjects": _json_rows(shown),
            "equal_probability": self.selection.equal_probability,
        }


def compare_populations(
    models: Mapping[str, Model],
    episodes: Sequence[History],
    criterion: str | None,
    nested: Sequence[tuple[str, str]],
    threads: int | None,
) -> PopulationComparison:
    """Fit the population of every model, and put them side by side."""
    asked = criterion or "loo"
    check_one_of(asked, "criterion", POPULATION_LABELS)
    scored = [episode for episode in episodes if episode.n_decisions]
    # The same spread for all: with correlations in some models only, likelihood ratios would test
    # these correlations.
    n_people = len({episode.subject for episode in scored})
    largest = max(len(Coordinates.of_model(model)) for model in models.values())
    spread = default_spread(n_people, largest)
    fits = {
        # "ml", as restricted likelihoods of different models cannot be compared.
        name: fit_population(scored, model, spread=spread, estimator="ml", threads=threads)
        for name, model in models.items()
    }
    sizes = [fit.n_parameters for fit in fits.values()]
    checked_nested_pairs(nested, tuple(fits), sizes)
    pairs = tuple((str(a), str(b)) for a, b in nested)
    doubts = settings_contradicted_by_data(models, scored)
    return PopulationComparison(fits, asked, pairs, doubts)  # type: ignore[arg-type]  # checked
