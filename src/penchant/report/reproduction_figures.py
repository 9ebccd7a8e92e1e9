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
    look,
    population,
    recovery,
    style,
    without_estimate,
)
from penchant.report.study_figures import Drawn
from penchant.study.paper.convergence import HALF_WIDTHS, Convergence
from penchant.study.paper.experiment import CURSOR, SELECTED, Experiment
from penchant.study.paper.figure_1 import Figure1
from penchant.study.paper.figure_2_3 import SoftmaxFigure
from penchant.study.paper.figure_4_5_6 import UCLFigure
from penchant.study.paper.plays import ExactEstimates
from penchant.study.paper.published import NOMINALS, SIMULATION_NOISE_VARIANCE, UCLSetting
from penchant.study.paper.reproduction import Result
from penchant.study.paper.simulated_study import TRUTH, SimulatedStudy
from penchant.study.paper.simulated_study_claims import prior_variances
from penchant.study.paper.tables import PaperTables

FIRST = 10  # decisions from which on bands are drawn: before, they leave every axis
FEW = 40  # decisions of the panel that counts missing estimates
TALL = 2.5
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
    made = figure(columns=2, height=TALL)
    left, right = made.subplots(1, 2, width_ratios=(2, 1))
    found, expected = result.found, result.expected
    shown = found.n >= FIRST
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
    few = found.n <= FEW
    without_estimate(
        right,
        found.n[few],
        found.missing[few] / found.n_replicates,
        n_replicates=found.n_replicates,
    )
    return Drawn(
        result.name,
        result.title,
        f"Left: mean of the existing estimates, 95 % of them (shaded), and the asymptotic 95 % "
        f"band at the truth (dashed), from n = {FIRST} on; {found.n_replicates} replicates. "
        "Right: share of replicates without a finite estimate, with Wilson's 95 % band. Bands that "
        "reach the edge go on beyond it.",
        made,
    )


def _band(found: Convergence, a: int, rows: BoolVector) -> Matrix:
    return np.column_stack([found.low[rows, a], found.high[rows, a]])


def _limits(found: Convergence, half: Matrix) -> tuple[float, float]:
    """Ends of the y axis that show the bands where they have calmed down."""
    calm = found.n >= 2 * FIRST
    low = min(np.nanmin(found.low[calm]), np.nanmin((found.truth - half)[calm]))
    high = max(np.nanmax(found.high[calm]), np.nanmax((found.truth + half)[calm]))
    return float(low), float(high)


def _ucl(result: UCLFigure) -> Drawn:
    if result.found.missing.min() > 0.5 * result.found.n_replicates:
        return _separated(result)
    made = figure(columns=2, height=TALL)
    panels = made.subplots(1, 3)
    found = result.found
    shown = found.n >= FIRST
    for a, axes in enumerate(panels):
        half = HALF_WIDTHS * found.standard_error[shown, a]
        mean = found.mean[shown, a]
        calm = _band(found, a, found.n >= 2 * FIRST)
        convergence(
            axes,
            found.n[shown],
            mean,
            _band(found, a, shown),
            np.column_stack([mean - half, mean + half]),
            float(found.truth[a]),
            name=SYMBOLS[result.parameter_names[a]],
            limits=(float(np.nanmin(calm)), float(np.nanmax(calm))),
        )
        _exact(axes, result.setting, result.exact, a)
        axes.set_xlabel("number of decisions t")
        axes.get_legend().remove()
    with style():
        made.legend(
            *panels[0].get_legend_handles_labels(),
            loc="outside lower center",
            ncols=5,
            frameon=False,
            fontsize=7,
        )
    return Drawn(
        result.name,
        result.title,
        "Mean of the linearised estimates, 95 % of them (shaded) and the median asymptotic 95 % "
        f"interval around it (dashed), with the true value (dotted), from t = {FIRST} on; "
        f"{found.n_replicates} replicates. Squares: exact maximum likelihood in the same "
        "coordinates, median and 95 % of the replicates. What reaches the edge goes on beyond it.",
        made,
    )


@style()
def _exact(axes: Any, setting: UCLSetting, exact: tuple[ExactEstimates, ...], a: int) -> Any:
    """Medians and 95 % ranges of the exact estimates, in coordinates of the linearised model."""
    drawn = look(1)
    label: str | None = "exact"
    for at in exact:
        if not len(at.values):
            continue
        low, middle, high = np.percentile(_theta(setting, at.values)[:, a], [2.5, 50, 97.5])
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
    found = result.found
    made = figure()
    without_estimate(
        made.subplots(),
        found.n,
        found.missing / found.n_replicates,
        n_replicates=found.n_replicates,
    ).set_xlabel("number of decisions t")
    return Drawn(
        result.name,
        result.title,
        "Share of replicates without a finite linearised estimate: there is nothing else to draw. "
        f"The choices are separated; {found.n_replicates} replicates.",
        made,
    )


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
        "The interface (red: the option selected, blue: the last one taken) and the profiles of "
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
    for text in list(axes.texts):  # a correlation says nothing of five values
        text.remove()
    with style():
        third = NOMINALS["high"].variance / 3
        axes.axhline(third, color="black", linewidth=0.8, linestyle=":", zorder=0)
        axes.text(1.0, third / 3, "a third of the nominal 1e6", fontsize=7)
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
        axes.set_title(word, loc="left", fontsize=8)
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
}
