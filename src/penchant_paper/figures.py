"""The figures of a reproduction: each experiment as the paper draws it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penchant._typing import BoolVector, Matrix
from penchant.figures import (
    choice_probability,
    convergence,
    figure,
    interface,
    landscape_profile,
    population,
    recovery,
    series_style,
    style,
    without_estimate,
)
from penchant.figures.label_text import FONT_SIZE, format_log_axis
from penchant.figures.style import add_heading, add_legend, raise_titles_above_artists, style_axes
from penchant.report.study_figures import Drawn
from penchant_paper.ensembles import HALF_WIDTHS, Convergence
from penchant_paper.figure_1 import CURSOR, SELECTED, Experiment, Figure1
from penchant_paper.figure_2_3 import SoftmaxFigure
from penchant_paper.figure_4_5_6 import UCLFigure
from penchant_paper.plays import ExactEstimates, Stopped
from penchant_paper.published import NOMINALS, SIMULATION_NOISE_VARIANCE, UCLSetting
from penchant_paper.reproduction import Result
from penchant_paper.simulated_study import TRUTH, SimulatedStudy, prior_variances
from penchant_paper.statements import Conclusion, PriorErrors, Theorem1
from penchant_paper.tables import PaperTables

FIRST_DECISION_DRAWN = 10  # decisions from which on bands are drawn: before, they leave every axis
MISSING_PANEL_DECISIONS = 40  # decisions of the panel that counts missing estimates
PANEL_HEIGHT_INCHES = 2.5  # of one row of panels
SYMLOG_LINEAR_RANGE = 2.0  # true values up to which a symmetric logarithmic axis is linear
VARIANCES = (1.0, 1e6)  # ends of the axis of prior variances
SYMBOLS = {"theta": "θ", "theta1": "θ₁", "theta2": "θ₂", "theta3": "θ₃"}


def reproduction_figure(result: Result) -> Drawn:
    """Draw the result of an experiment."""
    draw = _DRAWN[type(result)]
    return draw(result)


def _figure_1(result: Figure1) -> Drawn:
    made = figure()
    choice_probability(made.subplots(), result.theta, reach=6.0)
    return Drawn(
        result.name,
        result.title,
        "Probability of the first of two options against their difference in value; "
        "the slope at 0 is theta / 4.",
        made,
    )


def _softmax(result: SoftmaxFigure) -> Drawn:
    made = figure(columns=2, height=PANEL_HEIGHT_INCHES)
    left, right = made.subplots(1, 2, width_ratios=(2, 1))
    found, expected = result.found, result.expected
    shown = found.n >= FIRST_DECISION_DRAWN
    several = len(result.setting.truth) > 1
    half = HALF_WIDTHS * expected.standard_errors
    limits = _limits(found, half)
    for a, name in enumerate(result.parameter_names):
        convergence(
            left,
            found.n[shown],
            found.mean[shown, a],
            _band(found, a, shown),
            found.truth[a] + half[shown, a, None] * np.array([-1.0, 1.0]),
            float(found.truth[a]),
            label=SYMBOLS[name] if several else None,
            series=a,
            name="estimate",
            limits=limits,
        )
    few = found.n <= MISSING_PANEL_DECISIONS
    without_estimate(
        right,
        found.n[few],
        found.missing[few] / found.n_replicates,
        n_replicates=found.n_replicates,
    )
    return Drawn(
        result.name,
        result.title,
        "Left: mean of the existing estimates, 95 % of them (shaded), and the asymptotic 95 % "
        f"band at the truth (dashed), from n = {FIRST_DECISION_DRAWN} on; {found.n_replicates} "
        "replicates. "
        "Right: share of replicates without a finite estimate, with Wilson's 95 % band. Bands that "
        "reach the edge go on beyond it.",
        made,
    )


def _band(found: Convergence, a: int, rows: BoolVector) -> Matrix:
    return np.column_stack([found.low[rows, a], found.high[rows, a]])


def _limits(found: Convergence, half: Matrix) -> tuple[float, float]:
    """Limits of the y axis that show the bands after their first, wide part."""
    calm = found.n >= 2 * FIRST_DECISION_DRAWN
    low = min(np.nanmin(found.low[calm]), np.nanmin((found.truth - half)[calm]))
    high = max(np.nanmax(found.high[calm]), np.nanmax((found.truth + half)[calm]))
    return float(low), float(high)


def _ucl(result: UCLFigure) -> Drawn:
    if result.found.missing.min() > 0.5 * result.found.n_replicates:
        return _separated(result)
    made = figure(columns=2, height=PANEL_HEIGHT_INCHES)
    panels = made.subplots(1, 3)
    found = result.found
    for a, axes in enumerate(panels):
        _panel(axes, result, a, wide=_is_wide(found, a))
    with style():
        made.legend(
            *panels[0].get_legend_handles_labels(),
            loc="outside lower center",
            ncols=3,  # a phone shows it as wide as a page
            frameon=False,
            fontsize=FONT_SIZE,
        )
    return Drawn(
        result.name,
        result.title,
        "Mean of the linearised estimates (blue), 95 % of them (shaded) and the median asymptotic "
        "95 % interval around it (dashed), with the true value (dotted), from t = "
        f"{FIRST_DECISION_DRAWN} on; "
        f"{found.n_replicates} replicates. Orange squares: exact maximum likelihood in the same "
        "coordinates, median and 95 % of the replicates. θ₃ in units of its true value, on an axis "
        f"that is linear between -{SYMLOG_LINEAR_RANGE:g} and {SYMLOG_LINEAR_RANGE:g} and "
        "logarithmic beyond. What reaches the edge goes on beyond it.",
        made,
    )


def _is_wide(found: Convergence, a: int) -> bool:
    """Whether bands reach so far beyond the true value that it cannot be seen to differ from 0."""
    band = _band(found, a, found.n >= 2 * FIRST_DECISION_DRAWN)
    return bool(np.nanmax(np.abs(band)) > 10 * abs(found.truth[a]))


def _panel(axes: Any, result: UCLFigure, a: int, *, wide: bool) -> None:
    """Draw the panel of one parameter; if `wide`, in units of its true value."""
    found = result.found
    shown = found.n >= FIRST_DECISION_DRAWN
    unit = float(found.truth[a]) if wide else 1.0
    half = HALF_WIDTHS * found.standard_error[shown, a]
    mean, band = found.mean[shown, a], _band(found, a, shown)
    calm = _band(found, a, found.n >= 2 * FIRST_DECISION_DRAWN) / unit
    symbol = SYMBOLS[result.parameter_names[a]]
    convergence(
        axes,
        found.n[shown],
        mean / unit,
        np.sort(band / unit, axis=1),
        np.sort(np.column_stack([mean - half, mean + half]) / unit, axis=1),
        float(found.truth[a]) / unit,
        name=f"{symbol} / its true value" if wide else symbol,
        limits=(float(np.nanmin(calm)), float(np.nanmax(calm))),
    )
    _exact(axes, result.setting, result.exact, a, unit)
    axes.set_xlabel("number of trials t")
    axes.get_legend().remove()  # one for all panels stands below them
    raise_titles_above_artists(axes)
    if wide:
        far = [10.0**k for k in range(1, 6) if 10.0**k <= np.nanmax(np.abs(calm))]
        with style():
            axes.set_yscale("symlog", linthresh=SYMLOG_LINEAR_RANGE, linscale=1.0)
            axes.set_ylim(float(np.nanmin(calm)), float(np.nanmax(calm)))
            ticks = [*(-f for f in reversed(far)), -1.0, 0.0, 1.0, *far]
            axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
            axes.yaxis.set_minor_locator(_no_ticks())


def _no_ticks() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()


@style()
def _exact(
    axes: Any, setting: UCLSetting, exact: tuple[ExactEstimates, ...], a: int, unit: float
) -> Any:
    """Medians and 95 % ranges of the exact estimates, in coordinates of the linearised model."""
    drawn = series_style(1)
    label: str | None = "exact"
    for at in exact:
        if not len(at.values):
            continue
        values = _theta(setting, at.values)[:, a] / unit
        low, middle, high = np.percentile(values, [2.5, 50, 97.5])
        axes.errorbar(
            at.t,
            middle,
            [[middle - low], [high - middle]],
            color=drawn.color,
            marker=drawn.marker,
            markersize=3,
            linewidth=0.8,
            capsize=2,
            clip_on=True,
            label=label,
        )
        label = None
    return axes


def _theta(setting: UCLSetting, values: Matrix) -> Matrix:
    """nu, mu0, sigma0^2 as theta of the linearised model, Eq. (23)."""
    noise = SIMULATION_NOISE_VARIANCE
    nu, mean, variance = values.T
    deviation = noise / variance - setting.nominal.relative_precision(noise)
    return np.column_stack([1 / nu, (mean - setting.nominal.mean) / nu, deviation / nu])


def _separated(result: UCLFigure) -> Drawn:
    """Draw an optimiser's reports for data without a finite estimate, and the separation."""
    found, stopped = result.found, result.stopped
    made = figure(columns=2, height=2 * PANEL_HEIGHT_INCHES)
    panels = made.subplots(2, 2).ravel()
    if stopped is not None:
        for a, axes in enumerate(panels[:3]):
            _stopped(axes, stopped, a, float(found.truth[a]), SYMBOLS[result.parameter_names[a]])
    without_estimate(
        panels[3],
        found.n,
        found.missing / found.n_replicates,
        n_replicates=found.n_replicates,
    ).set_xlabel("number of trials t")
    with style():
        add_heading(panels[3], "proof: the choices are separated")
    return Drawn(
        result.name,
        result.title,
        "The paper's three panels hold what BFGS prints where it stops (median of the replicates; "
        "dotted: the true value): it reports success, with the standard errors that stand in each "
        "panel, but there is no maximum. Last panel: share of replicates whose choices are proven "
        f"to have no finite estimate; {found.n_replicates} replicates.",
        made,
    )


@style()
def _stopped(axes: Any, stopped: Stopped, a: int, truth: float, symbol: str) -> None:
    drawn = series_style(0)
    error = float(np.median(stopped.standard_errors[-1, :, a]))
    middle = np.median(stopped.theta[..., a], axis=1)
    low, high = min(0.0, truth, *middle), max(0.0, truth, *middle)
    room = 0.15 * (high - low)
    style_axes(axes, "number of trials t", symbol)
    axes.plot(stopped.t, middle, color=drawn.color, marker=drawn.marker, label="BFGS stops here")
    axes.axhline(truth, color="black", linewidth=0.8, linestyle=":", label="true value")
    axes.set_ylim(low - room, high + room)
    add_heading(axes, f"reported standard error {error:.0e}")
    add_legend(axes)


def _theorem(result: Theorem1) -> Drawn:
    made = figure(columns=2, height=PANEL_HEIGHT_INCHES)
    left, right = made.subplots(1, 2)
    _identified(left, result)
    _rising(right, result)
    return Drawn(
        result.name,
        result.title,
        "Left: with a variable that is equal across options the printed matrix is positive "
        "definite and the log-likelihood is flat; with all variation in the last option the matrix "
        "is 0 and there is a peak. Right: identified and concave, but separated: the "
        "log-likelihood rises as theta grows, without a maximum.",
        made,
    )


@style()
def _identified(axes: Any, result: Theorem1) -> None:
    style_axes(axes, "along one direction of θ", "log-likelihood")
    words = ("printed condition met", "printed condition not met", "both met")
    for i, (design, said) in enumerate(zip(result.designs[:3], words, strict=True)):
        drawn = series_style(i)
        axes.plot(
            design.along,
            design.log_likelihood - design.log_likelihood.max(),
            color=drawn.color,
            linestyle=drawn.line,
            label=f"{said}: {design.status}",
        )
    axes.set_ylim(-30, 1)
    add_heading(axes, "less its maximum")
    add_legend(axes)


@style()
def _rising(axes: Any, result: Theorem1) -> None:
    style_axes(axes, "along a direction of θ that separates", "log-likelihood")
    design, drawn = result.designs[3], series_style(3)
    axes.plot(design.along, design.log_likelihood, color=drawn.color, label=design.status)
    axes.axhline(0, color="black", linewidth=0.8, linestyle=":", label="never reached")
    add_legend(axes)


def _conclusion(result: Conclusion) -> Drawn:
    made = figure(columns=2, height=PANEL_HEIGHT_INCHES)
    left, right = made.subplots(1, 2)
    for i, landscape in enumerate(("A", "B")):
        mine = [t for t in result.told if t.landscape == landscape]
        _draw_prior_errors(left, [t for t in mine if t.length_scale == 1.0], "prior_variance", i)
        correlated = [t for t in mine if t.prior_variance == 1.0 and t.length_scale > 0]
        _draw_prior_errors(
            right, sorted(correlated, key=lambda t: t.length_scale), "length_scale", i
        )
    with style():
        left.set(xscale="log", xlabel="prior variance σ₀²")
        format_log_axis(left.xaxis)
        right.set(xlabel="length scale λ", xlim=(-0.3, 4.3), xticks=[0, 1, 2, 3, 4])
        right.text(-0.15, 15, "λ = 0: nothing is told", fontsize=FONT_SIZE)
        for axes in (left, right):
            format_log_axis(axes.yaxis)
            add_legend(axes)
    return Drawn(
        result.name,
        result.title,
        "How well 100 decisions tell σ₀², by the information at the true values (median and middle "
        f"half of {len(result.told[0].errors)} plays), on both landscapes as reconstructed. Small "
        "variances and long length scales are not always told better.",
        made,
    )


@style()
def _draw_prior_errors(axes: Any, found: list[PriorErrors], word: str, series: int) -> None:
    drawn = series_style(series)
    errors = np.array([t.errors[:, 1] for t in found])
    low, middle, high = np.percentile(errors, [25, 50, 75], axis=1)
    style_axes(axes, "", "standard error of σ₀² / σ₀²")
    axes.errorbar(
        [getattr(t, word) for t in found],
        middle,
        [middle - low, high - middle],
        color=drawn.color,
        linestyle=drawn.line,
        marker=drawn.marker,
        capsize=2,
        label=f"landscape {found[0].landscape}",
    )
    axes.set(yscale="log", ylim=(0.02, 30.0))


def _landscapes(result: Experiment) -> Drawn:
    made = figure(columns=2, height=2.4)
    first, second, third = made.subplots(1, 3)
    reward = float(result.rewards["A"][SELECTED])
    interface(first, result.locations, selected=CURSOR, confirmed=SELECTED, reward=reward)
    # The paper counts x from 1.
    places = result.locations + 1
    landscape_profile(second, result.rewards["A"], places, label="Landscape A")
    landscape_profile(third, result.rewards["B"], places, label="Landscape B")
    return Drawn(
        result.name,
        result.title,
        "The interface (orange: the option selected, blue: the last one taken) and the profiles of "
        "both landscapes along x, reconstructed from the paper's description.",
        made,
    )


def _tables(result: PaperTables) -> Drawn:
    made = figure(height=3.2)
    axes = made.subplots()
    shown = result.artefact
    n = shown.n_replicates
    recovery(
        axes,
        np.repeat(shown.true_variances, n),
        shown.variances.ravel(),
        name="prior variance σ₀²",
        logarithmic=True,
    )
    axes.set_title("", loc="left")  # a correlation says nothing of five values
    with style():
        third = NOMINALS["high"].variance / 3
        axes.axhline(third, color="black", linewidth=0.8, linestyle=":", zorder=0)
        axes.text(1.0, third / 3, "a third of the nominal 1e6", fontsize=FONT_SIZE)
    return Drawn(
        "tables",
        "What decides the prior variances of Table II",
        "Linearised estimates of sigma0^2 about the nominal 1e6 against the true one: a third of "
        f"the nominal value, whatever agents believed; {n} agents for every true value.",
        made,
    )


def _study(result: SimulatedStudy) -> Drawn:
    made = figure(columns=2, height=2.8)
    study = result.study
    labels = [group.label for group in study.groups]
    for axes, which in zip(made.subplots(1, 2, sharey=True), ("linearized", "exact"), strict=True):
        people = [
            prior_variances([getattr(study.fits[subject], which) for subject in group.subjects])
            for group in study.groups
        ]
        known = [people_of[np.isfinite(people_of)] for people_of in people]
        medians = [float(np.median(values)) if len(values) else np.nan for values in known]
        population(
            axes,
            labels,
            medians,
            subjects=people,
            name="prior variance σ₀²" if which == "linearized" else "",
            logarithmic=True,
            limits=VARIANCES,
        )
        with style():
            for i, group in enumerate(study.groups):
                true = TRUTH[str(group.performance)]["prior_variance"]
                axes.plot([i - 0.4, i + 0.4], [true, true], color="black", linestyle=":")
        word = "linearised, as in the paper" if which == "linearized" else "exact"
        add_heading(axes, word)
    return Drawn(
        result.name,
        result.title,
        "Prior variances of all subjects and their medians, by performance and landscape; dotted: "
        "what the agents truly have.",
        made,
    )


_DRAWN: dict[type, Callable[[Any], Drawn]] = {
    Figure1: _figure_1,
    SoftmaxFigure: _softmax,
    UCLFigure: _ucl,
    Experiment: _landscapes,
    PaperTables: _tables,
    SimulatedStudy: _study,
    Theorem1: _theorem,
    Conclusion: _conclusion,
}
