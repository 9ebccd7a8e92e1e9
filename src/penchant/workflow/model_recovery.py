"""Model recovery: simulate people of each model, fit all models, count which one is selected.

The confusion matrix holds p(found | simulated), the inversion matrix p(simulated | found) if every
model is as likely beforehand (Wilson & Collins 2019). Relies on `recover` for people and on
`compare_models` for the criterion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import IntVector, Matrix
from penchant.errors import DataError
from penchant.models.model import Model
from penchant.models.task import Task
from penchant.result_tables import (
    MAX_TABLE_WIDTH,
    Columns,
    Result,
    Table,
)
from penchant.softmax.prior import ParameterPrior
from penchant.workflow.compare_models import DEFAULT_PRIOR, compare_models
from penchant.workflow.model_comparison_results import CRITERION_LABELS, Criterion
from penchant.workflow.model_selection import Folds
from penchant.workflow.parameter_recovery import (
    check_simulation_arguments,
    draw_parameters_of_people,
    simulate_people,
)


@dataclass(frozen=True, eq=False, repr=False)
class ModelRecovery(Result):
    """Counts of the models selected, by the model that simulated.

    Attributes
    ----------
    names
        Of the models.
    counts
        (n_models, n_models): simulated people of each row's model by the model that fits best.
    undecided
        Simulated people of each model for whom no criterion is finite.
    criterion
        By which the best model is found.
    """

    json_names = (
        *(("models", "names"), "criterion", ("n_simulated", "n_people"), "undecided", "counts"),
        *("confusion", "standard_errors", "inversion"),
    )
    names: tuple[str, ...]
    counts: IntVector
    undecided: IntVector
    criterion: Criterion

    @property
    def confusion(self) -> Matrix:
        """p(found | simulated): rows sum to 1, of those for whom a model was found."""
        return _normalize_along_axis(self.counts.astype(float), axis=1)

    @property
    def inversion(self) -> Matrix:
        """p(simulated | found), models as likely beforehand: columns sum to 1."""
        return _normalize_along_axis(self.confusion, axis=0)

    @property
    def standard_errors(self) -> Matrix:
        """Monte Carlo standard errors of the confusion matrix."""
        p = self.confusion
        return np.asarray(np.sqrt(p * (1 - p) / self.counts.sum(axis=1, keepdims=True)))

    @property
    def n_people(self) -> IntVector:
        """Simulated people of each model."""
        return self.n_simulated + self.undecided

    @property
    def n_simulated(self) -> IntVector:
        """Simulated people of each model for whom a model was found."""
        return np.asarray(self.counts.sum(axis=1))

    def frame_columns(self) -> Columns:
        """A row per pair of models: simulated, found."""
        n = len(self.names)
        return {
            "simulated": [name for name in self.names for _ in range(n)],
            "found": list(self.names) * n,
            "n": self.counts.ravel().tolist(),
            "confusion": self.confusion.ravel().tolist(),
            "standard_error": self.standard_errors.ravel().tolist(),
            "inversion": self.inversion.ravel().tolist(),
        }

    def table(self) -> Table:
        """The confusion matrix as a table, the inversion matrix beside it."""
        rows = tuple(
            (
                self._label(k),
                *map(_format_share, self.confusion[k]),
                "|",
                *map(_format_share, share),
            )
            for k, share in enumerate(self.inversion)
        )
        found = tuple(map(self._short_label, range(len(self.names))))
        notes = [
            "Left: share of the simulations of a row that each column's model fits best; right: "
            "probability that a row simulated where the column's model is found.",
        ]
        if self.undecided.any():
            notes.append(f"No finite criterion: {int(self.undecided.sum())} people.")
        return Table(
            f"Recovery of {len(self.names)} models by {CRITERION_LABELS[self.criterion]}",
            (("People of each model", ", ".join(map(str, self.n_people))),),
            ("simulated", *found, "|", *found),
            rows,
            tuple(notes),
        )

    def _label(self, model_index: int) -> str:
        """Name of a row, with the number that its column has instead of a long name."""
        return (
            self.names[model_index]
            if self._model_names_fit_table_width
            else f"{model_index + 1} {self.names[model_index]}"
        )

    def _short_label(self, model_index: int) -> str:
        return (
            self.names[model_index] if self._model_names_fit_table_width else str(model_index + 1)
        )

    @property
    def _model_names_fit_table_width(self) -> bool:
        """Whether both matrices can have the names above them, in one piece."""
        longest = max(map(len, self.names))
        return longest + 2 * sum(len(name) + 2 for name in self.names) < MAX_TABLE_WIDTH

    def __repr__(self) -> str:
        text = ", ".join(
            f"{name} {share:.2f}"
            for name, share in zip(self.names, np.diag(self.confusion), strict=True)
        )
        return f"<ModelRecovery, found where simulated: {text}>"


def recover_models(
    models: Mapping[str, Model],
    task: Task,
    parameters: Mapping[str, Mapping[str, Any]],
    *,
    n_subjects: int,
    rng: np.random.Generator,
    criterion: Criterion | None = None,
    folds: Folds | None = None,
    parameter_prior: ParameterPrior | None = DEFAULT_PRIOR,
    threads: int | None = None,
) -> ModelRecovery:
    """Simulate people of every model, fit all models to each, and count which one fits best.

    Parameters
    ----------
    models
        By name.
    task
        What people do.
    parameters
        For each model, by name, the ranges of its natural parameters, as `recover` takes them. Take
        those of people: what is found depends on them.
    n_subjects
        People of each model.
    rng
        Source of randomness.
    criterion, folds, parameter_prior, threads
        As in `compare_models`. Labels cannot be given as folds.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> turning = np.repeat([[0.2, 0.8], [0.8, 0.2]], 40, axis=0)  # the better option changes
    >>> found = pn.recover_models(
    ...     {"learner": pn.QLearning(2), "habit": pn.models.RandomChoice(2)},
    ...     pn.Task(turning),
    ...     {
    ...         "learner": {"temperature": (0.1, 0.2), "learning_rate": (0.3, 0.6)},
    ...         "habit": {"bias_0": (-1.0, 1.0)},
    ...     },
    ...     n_subjects=20,
    ...     rng=np.random.default_rng(1),
    ... )
    >>> np.diag(found.confusion) > 0.8
    array([ True,  True])
    """
    if not isinstance(models, Mapping) or not isinstance(parameters, Mapping):
        raise DataError(
            "models and parameters",
            "must be by name",
            got=f"{type(models).__name__} and {type(parameters).__name__}",
            fix='Pass {"learner": QLearning(2)} and {"learner": {"temperature": (0.1, 0.5), ...}}.',
        )
    for model in models.values():
        check_simulation_arguments(model, task, rng, parameter_prior)
    _check_ranges(models, parameters, folds)
    counts, undecided = [], []
    used: Criterion = "bic"
    # Each model has a random stream: adding a model does not change the people of the others.
    for name, own in zip(models, rng.spawn(len(models)), strict=True):
        people = draw_parameters_of_people(models[name], parameters[name], n_subjects, own)
        plays = simulate_people(people, models[name], task, own)
        found = compare_models(
            models,
            [episode for mine in plays for episode in mine],
            folds=folds,
            criterion=criterion,
            parameter_prior=parameter_prior,
            threads=threads,
        )
        counts.append(found.n_best)
        # `n_best` leaves out people without a finite score, or with all decisions in one fold:
        # without a count of them, rows would not add up to the people simulated.
        undecided.append(n_subjects - int(found.n_best.sum()))
        used = found.criterion  # the default depends on `folds` alone, so any model tells it
    return ModelRecovery(tuple(models), np.array(counts), np.array(undecided), used)


def _check_ranges(models: Mapping[str, Model], parameters: Mapping[str, Any], folds: Any) -> None:
    missing = [name for name in models if name not in parameters]
    if missing:
        raise DataError(
            "parameters",
            "must hold ranges for each model",
            got=f"none for {', '.join(missing)}",
            fix="Give a mapping {model: {parameter: range}}.",
        )
    if folds is not None and not isinstance(folds, (int, np.integer, str)):
        raise DataError(
            "folds",
            "must be a number or 'block' here",
            got="labels",
            fix="Simulated people have none.",
        )


def _format_share(share: float) -> str:
    return "-" if np.isnan(share) else f"{share:.2f}"


def _normalize_along_axis(values: Matrix, axis: int) -> Matrix:
    """Shares along an axis; NaN where all are 0."""
    total = values.sum(axis=axis, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(values / total)
