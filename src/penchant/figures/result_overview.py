"""Overview figure of every kind of result, as drawn by `--figure` on the command line.

The kind of figure is chosen by the type of the result (single dispatch).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from penchant._typing import Label
from penchant.errors import DataError
from penchant.figures.label_text import axis_label, display_name, range_implied_by_name
from penchant.figures.model_comparison import exceedance, model_totals, predictive_intervals
from penchant.figures.population_estimates import coefficients, population
from penchant.figures.simulation_studies import confusion, data_needed, recovery
from penchant.figures.style import LEGEND_LINE_POINTS, add_heading, add_remark, figure
from penchant.figures.subject_estimates import (
    MAX_NAMED_SUBJECTS,
    NAMED_ROW_INCHES,
    UNNAMED_ROW_INCHES,
    forest,
)
from penchant.population.group_comparison_result import GroupComparison
from penchant.population.hierarchy.result import PopulationFit
from penchant.population.subject_estimates import positive_parameter_mask
from penchant.result_tables import format_count
from penchant.softmax.estimate import Estimate
from penchant.softmax.estimate_collection import Estimates
from penchant.softmax.intervals_and_tests import ParameterEstimate
from penchant.workflow.design_simulation import Design
from penchant.workflow.model_comparison_results import CRITERION_LABELS, ModelComparison
from penchant.workflow.model_recovery import ModelRecovery
from penchant.workflow.parameter_recovery import Recovery
from penchant.workflow.predictive_checks import PredictiveCheck

MAX_PANEL_ROW_INCHES = 9.0  # a higher row of panels would not fit on a journal page


def overview(result: Any) -> Any:
    """Draw a figure of a result, to be saved or shown.

    Parameters
    ----------
    result
        Of `fit`, `fit_each`, `recover`, `recover_models`, `design`, `compare_models`,
        `compare_groups`, `predictive_check` or `fit_population`.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> task = pn.Task(pn.Landscape([0.3, 0.7], pn.GaussianNoise(0.04)), n_decisions=40)
    >>> habit = pn.models.RandomChoice(2)
    >>> rng = np.random.default_rng(1)
    >>> found = pn.recover(habit, task, {"bias_0": (-1.0, 1.0)}, n_subjects=9, rng=rng)
    >>> len(pn.figures.overview(found).axes)
    1
    """
    return _draw_overview(result)


@singledispatch
def _draw_overview(result: Any) -> Any:
    raise DataError(
        "result",
        (
            "must be of recover, recover_models, design, compare_models, compare_groups, "
            "predictive_check, fit_population, fit or fit_each"
        ),
        got=type(result).__name__,
        fix="Pass the result of one of these.",
    )


@_draw_overview.register
def _draw_estimate(result: Estimate) -> Any:
    return draw_estimate(result, result.parameters)


@_draw_overview.register
def _draw_estimates(result: Estimates) -> Any:
    return draw_estimates(result, [fit.parameters for fit in result])


def draw_estimate(result: Estimate, parameters: Sequence[ParameterEstimate]) -> Any:
    """Draw weights below each other, or parameters of a model on an axis each.

    Parameters
    ----------
    result
        Of `fit`.
    parameters
        Its parameters, with the intervals to draw.
    """
    if result.model is not None:
        return draw_estimates(
            Estimates.from_single_estimates([result.subject or "all"], [result]), [parameters]
        )
    drawn = figure(columns=1, height=max(1.6, 0.9 + 0.3 * len(parameters)))
    names = [display_name(one.name) for one in parameters]
    ends = [(one.low, one.high) for one in parameters]
    coefficients(drawn.subplots(), names, [one.estimate for one in parameters], ends, name="weight")
    return drawn


def draw_estimates(result: Estimates, parameters: Sequence[Sequence[ParameterEstimate]]) -> Any:
    """Draw all subjects with intervals, in a panel for every parameter.

    Parameters
    ----------
    result
        Of `fit_each`.
    parameters
        The parameters of each subject, with the intervals to draw.
    """
    model, names = result[0].model, [p.name for p in parameters[0]]
    positive_by_nature = (
        np.zeros(len(names), dtype=bool) if model is None else positive_parameter_mask(model)
    )
    # one order for all panels, so that a subject can be followed from panel to panel
    order = np.argsort([each[0].estimate for each in parameters], kind="stable")
    drawn, axes = _make_subject_panels(len(names), len(parameters))
    for j, (one, name) in enumerate(zip(axes, names, strict=True)):
        values = np.array([parameters[i][j].estimate for i in order])
        forest(
            one,
            values,
            [(parameters[i][j].low, parameters[i][j].high) for i in order],
            labels=[str(result.subjects[i]) for i in order],
            ordered=False,
            name=name,
            logarithmic=bool(positive_by_nature[j] and (values > 0).any()),
        )
    return drawn


def _make_subject_panels(n_panels: int, n_subjects: int) -> tuple[Any, list[Any]]:
    """Make a figure with panels, two per row, high enough for a line per subject."""
    rows, columns = (n_panels + 1) // 2, min(n_panels, 2)
    high = 0.9 + n_subjects * (
        NAMED_ROW_INCHES if n_subjects <= MAX_NAMED_SUBJECTS else UNNAMED_ROW_INCHES
    )
    high = min(high, MAX_PANEL_ROW_INCHES)
    drawn = figure(columns=columns, height=rows * high)
    axes = list(np.atleast_1d(drawn.subplots(rows, columns)).ravel())
    for spare in axes[n_panels:]:
        spare.remove()
    return drawn, axes[:n_panels]


@_draw_overview.register
def _draw_recovery(result: Recovery) -> Any:
    """Estimated against true values of every parameter that varies."""
    n = len(result.parameters)
    drawn = figure(columns=2 if n > 1 else 1, height=3.4 * ((n + 1) // 2) if n > 1 else 3.4)
    axes = np.atleast_1d(drawn.subplots((n + 1) // 2, min(n, 2))).ravel()
    for one, p in zip(axes, result.parameters, strict=False):
        recovery(one, p.true, p.estimated, p.interval, name=p.name, logarithmic=p.positive)
    for spare in axes[n:]:
        spare.remove()
    return drawn


@_draw_overview.register
def _draw_model_recovery(result: ModelRecovery) -> Any:
    """The confusion matrix, and the inversion matrix beside it."""
    drawn = figure(columns=2, height=max(2.2, 1.2 + 0.4 * len(result.names)))
    left, right = drawn.subplots(1, 2)
    confusion(left, result.confusion, result.names, counts=result.n_simulated)
    confusion(right, result.inversion, result.names)
    add_heading(left, "p(found | simulated)")
    add_heading(right, "p(simulated | found)")
    return drawn


@_draw_overview.register
def _draw_design(result: Design) -> Any:
    """Shares that reach the goal at every number tried."""
    drawn = figure(columns=1)
    data_needed(
        drawn.subplots(),
        [t.n for t in result.tried],
        [t.share for t in result.tried],
        errors=[t.error for t in result.tried],
        target=result.target,
        unit=result.unit_label,
    )
    return drawn


@_draw_overview.register
def _draw_model_comparison(result: ModelComparison) -> Any:
    """Totals above the best model, and how many people follow which."""
    # 0.8 inches for labels and a row per model: in less, names of models would overlap
    drawn = figure(columns=2, height=max(2.2, 0.8 + 0.25 * len(result.names)))
    left, right = drawn.subplots(1, 2)
    criterion = CRITERION_LABELS[result.criterion]
    order = np.argsort(result.totals, kind="stable")  # both panels have the best model at the top
    model_totals(
        left, result.names, result.totals, errors=result.standard_errors, criterion=criterion
    )
    if result.left_out:
        add_remark(left, f"left out, no decision: {format_count(len(result.left_out), 'subject')}")
    chosen = result.selection
    unknown = [float("nan")] * len(result.names)
    exceedance(
        right,
        [result.names[k] for k in order],
        unknown if chosen is None else np.asarray(chosen.protected_exceedance)[order],
        frequencies=None if chosen is None else np.asarray(chosen.frequencies)[order],
    )
    return drawn


@_draw_overview.register
def _draw_group_comparison(result: GroupComparison) -> Any:
    """Means of every parameter in each group, with tests; or what goes with one more of a score."""
    if result.relations:
        names = [one.name for one in result.relations]
        drawn = figure(columns=1, height=max(1.6, 0.9 + 0.3 * len(names)))
        ends = [(one.correlation_low, one.correlation_high) for one in result.relations]
        values = [one.correlation for one in result.relations]
        name, limits = f"correlation with {result.score}", (-1.0, 1.0)
        coefficients(
            drawn.subplots(), [*map(display_name, names)], values, ends, name=name, limits=limits
        )
        return drawn
    labels = list(result.populations)
    names = [*next(iter(result.populations.values())).names]
    beside = 2 if len(names) > 1 and len(labels) < 4 else 1
    rows = -(-len(names) // beside)
    drawn = figure(columns=beside, height=2.6 * rows)
    axes = np.atleast_1d(drawn.subplots(rows, beside)).ravel()
    for k, (one, name) in enumerate(zip(axes, names, strict=False)):
        _draw_group_means(one, result, labels, name, k)
    for spare in axes[len(names) :]:
        spare.remove()
    return drawn


def _draw_group_means(
    axes: Any, result: GroupComparison, labels: list[Label], name: str, k: int
) -> None:
    """The mean of one parameter in each group, geometric where logarithms were compared."""
    own = np.exp if name in result.logs else np.asarray
    means = [result.populations[label].estimate[k] for label in labels]
    ends = np.array([result.populations[label].interval(result.level)[k] for label in labels])
    places = {label: place for place, label in enumerate(labels)}
    tests = {
        (places[d.first], places[d.second]): d.adjusted_p_value
        for d in result.of(name)
        if np.isfinite(d.adjusted_p_value)
    }
    counts = [f"{label} (n = {result.populations[label].n_subjects})" for label in labels]
    population(
        axes,
        counts,
        own(np.array(means)),
        own(ends),
        p_values=tests,
        name=axis_label(name),
        logarithmic=name in result.logs,
        bounds=range_implied_by_name(name),
    )


@_draw_overview.register
def _draw_predictive_check(result: PredictiveCheck) -> Any:
    """Statistics of people on the intervals where the models put them."""
    drawn = figure(columns=1, height=0.8 + 0.2 * len(result.names))
    axes = drawn.subplots()
    predictive_intervals(axes, result.names, result.observed, result.replicated)
    if result.left_out:
        lost = format_count(len(result.left_out), "subject")
        add_remark(axes, f"left out, no standard errors: {lost}", LEGEND_LINE_POINTS)
    return drawn


@_draw_overview.register
def _draw_population_fit(result: PopulationFit) -> Any:
    """Subjects under the population with intervals, and the typical person below."""
    people, ends = result.subjects, result.subjects.interval()
    typical = {p.name: p for p in result.parameters_at()}
    drawn, axes = _make_subject_panels(len(people.natural_names), len(people))
    # one order for all panels, so that a subject can be followed from panel to panel
    order = np.argsort(people.natural[:, 0], kind="stable")
    for j, (one, name) in enumerate(zip(axes, people.natural_names, strict=True)):
        middle = typical[name]
        forest(
            one,
            people.natural[order, j],
            ends[order, j],
            labels=[str(people.labels[i]) for i in order],
            ordered=False,
            pooled=middle.estimate,
            pooled_interval=(middle.low, middle.high),
            pooled_name="typical",
            name=name,
            logarithmic=people.natural_parameter_rows[j].link.name == "log",
        )
    return drawn
