"""The figures of a study."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant._typing import BoolVector, IntVector
from penchant.errors import format_list
from penchant.figures import (
    choice_map,
    figure,
    forest,
    learning_curve,
    parameter_scatter,
    population,
    regret_growth,
)
from penchant.figures.label_text import display_name, x_category_labels_fit
from penchant.figures.style import COLUMN_INCHES, add_heading, grow_figure_for_legends
from penchant.figures.subject_estimates import (
    MAX_NAMED_SUBJECTS,
    NAMED_ROW_INCHES,
    UNNAMED_ROW_INCHES,
)
from penchant.models.model import Declared, Model
from penchant.population.regret_growth_categories import ORDERS
from penchant.population.subject_estimates import positive_parameter_mask, proportion_parameter_mask
from penchant.report.study_sentences import (
    capital,
    estimator_text,
    interval_words,
    not_simulated,
    simulation_text,
)
from penchant.result_tables import format_count
from penchant.softmax.estimate import Estimate
from penchant.studies.findings import Findings, stack_padded, subject_and_agent_measures
from penchant.studies.groups import Group, to_natural_scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure


FULL, OPEN = "without a bound", "ends beyond the axis"  # what figures remark of arrows
_AWAY = re.compile(r"(?<!ends )beyond the axis: \d")  # and of estimates
TRIANGLE_TEXT = " A large triangle at the edge is an estimate far beyond the others."
ROW_HEIGHT_INCHES = 2.3  # inches that a row of panels is high
MAX_MAPS = 8
SWITCH_RATE = "switch rate"


@dataclass(frozen=True)
class Drawn:
    """A figure with its name as a file, its title and what it shows."""

    name: str
    title: str
    caption: str
    figure: Figure


def explain_edges(figure: Figure) -> str:
    """Explain the marks at the edges of a figure, after a blank; empty if there are none."""
    from matplotlib.text import Text

    remarks = " ".join(text.get_text() for text in figure.findobj(Text))
    return f"{_explain_arrows(figure, remarks)}{TRIANGLE_TEXT if _AWAY.search(remarks) else ''}"


def _explain_arrows(figure: Figure, remarks: str) -> str:
    """Explain the arrows at the ends of intervals; empty if there are none."""
    log = any(axes.get_xscale() == "log" or axes.get_yscale() == "log" for axes in figure.axes)
    also = " (on a logarithmic axis also one that goes down to 0)" if log else ""
    full = f"full arrow at the edge is an interval without a bound{also}" if FULL in remarks else ""
    if OPEN in remarks and not full:
        return " An open arrow at the edge is an interval that ends beyond the axis."
    cut = ", an open arrow one that ends beyond the axis" if OPEN in remarks else ""
    return f" A {full}{cut}." if full else ""


def study_figures(study: Findings) -> list[Drawn]:
    """Draw every figure that the study has data for, in the order of the report."""
    made: list[Drawn] = [*_growth(study), *_maps(study), *_forests(study), *_scatter(study)]
    return [*made, *_populations(study), *_forward(study)]


def panel_figure(
    n: int,
    draw: Callable[[Any, int], None],
    *,
    columns: int = 2,
    row: float = ROW_HEIGHT_INCHES,
    alike: bool = False,
    wide: bool = False,
    least: float = 2.4,
) -> Figure:
    """Draw numbered panels in rows; with the same axis limits if `alike`."""
    columns = min(n, columns)
    rows = -(-n // columns)
    made = figure(columns=2 if wide else min(n, 2), height=max(row * rows, least))
    axes = list(np.atleast_1d(made.subplots(rows, columns, squeeze=False)).ravel())
    for spare in axes[n:]:
        spare.remove()
    for i, one in enumerate(axes[:n]):
        draw(one, i)
    if alike:
        for which in ("xlim", "ylim"):
            ends = np.array([getattr(one, f"get_{which}")() for one in axes[:n]])
            for one in axes[:n]:
                one.set(**{which: (ends[:, 0].min(), ends[:, 1].max())})
    grow_figure_for_legends(made)
    return made


def bounds_of(model: Model) -> list[tuple[float, float] | None]:
    """Ranges of the natural parameters that lie between 0 and 1; None for the others."""
    return [(0.0, 1.0) if share else None for share in proportion_parameter_mask(model)]


def _growth(study: Findings) -> Iterator[Drawn]:
    played = study.groups if study.plan.performance else ()
    typical = [(group, _typical(study, group)) for group in played]

    def draw(axes: Any, i: int) -> None:
        group, subject = typical[i]
        order = study.growth.of(subject)
        regret = study.observed[subject].regret[: order.n_decisions]
        times = np.arange(1, len(regret) + 1)
        curves = {name: order.curve(name).at(times) for name in ORDERS}  # type: ignore[arg-type]
        weights = {name: order.curve(name).weight for name in ORDERS}  # type: ignore[arg-type]
        regret_growth(axes, regret, curves, weights=weights)
        add_heading(axes, f"{group.label}: subject {subject}")

    if typical:
        yield Drawn(
            "regret-growth",
            "How regret grows",
            "One subject of each group, with the middle final regret, and the three curves fitted "
            "to it; in brackets their Akaike weights. High performance is a logarithmic curve.",
            panel_figure(len(typical), draw, alike=True),
        )


def _typical(study: Findings, group: Group) -> Any:
    """The subject with the middle final regret among those with curves."""
    known = [s for s in group.subjects if study.growth.of(s).curves]
    ranked = sorted(known, key=lambda s: (study.observed[s].regret[-1], str(s)))
    return ranked[(len(ranked) - 1) // 2]


def _maps(study: Findings) -> Iterator[Drawn]:
    places = Declared(study.plan.model).locations
    if places is None or np.shape(places)[1] != 2 or len(study.groups) > MAX_MAPS:
        return

    chosen = [_chosen(study, group) for group in study.groups]
    most = max((int(np.bincount(one).max()) for one in chosen if len(one)), default=1)

    def draw(axes: Any, i: int) -> None:
        choice_map(axes, chosen[i], places, most=most)
        add_heading(axes, study.groups[i].label)

    if study.groups:
        yield Drawn(
            "choices",
            "Where people chose",
            "How often each option was chosen by all subjects of a group, at its place; the same "
            "blue is the same count in all maps."
            if len(study.groups) > 1
            else "How often each option was chosen by all subjects, at its place.",
            panel_figure(len(study.groups), draw),
        )


def _chosen(study: Findings, group: Group) -> IntVector:
    mine = [study.data.episodes[k] for s in group.subjects for k in study.data.of(s)]
    found = np.concatenate([episode.chosen[episode.is_choice] for episode in mine])
    return np.asarray(found[found >= 0])


def _forests(study: Findings) -> Iterator[Drawn]:
    logs = positive_parameter_mask(study.plan.model)
    bounds = bounds_of(study.plan.model)
    fits = [study.fits[subject].exact for subject in study.subjects]
    names = fits[0].natural_names
    # the same row is the same subject in every panel
    order = np.argsort([fit.parameters[0].estimate for fit in fits], kind="stable")
    labels = [str(study.subjects[i]) for i in order]

    def draw(axes: Any, j: int) -> None:
        mine = [fits[i].parameters[j] for i in order]
        ends = np.array([(p.low, p.high) for p in mine])
        values = np.array([p.estimate for p in mine])
        forest(
            axes,
            values,
            ends,
            labels=labels,
            name=names[j],
            logarithmic=bool(logs[j] and (values > 0).any()),
            ordered=False,
            bounds=bounds[j],
        )

    row = 1.2 + len(fits) * (
        NAMED_ROW_INCHES if len(fits) <= MAX_NAMED_SUBJECTS else UNNAMED_ROW_INCHES
    )
    columns = 2 if len(names) == 4 else 3
    made = panel_figure(len(names), draw, columns=columns, row=min(row, 9.0), least=row)
    yield Drawn(
        "subjects",
        "Estimates of all subjects",
        f"{capital(estimator_text(study))} estimates with {100 * study.plan.level:g} % intervals "
        f"({interval_words(study.plan.intervals)}){_explain_order(len(fits), names)}."
        f"{explain_edges(made)}{_explain_missing(study, fits)}",
        made,
    )


def _explain_order(n: int, names: Sequence[str]) -> str:
    panels = "every panel in the order" if len(names) > 1 else "in the order"
    return f", {panels} of the {display_name(names[0])}" if n > 1 else ""


def _explain_missing(study: Findings, fits: Sequence[Estimate]) -> str:
    """Say which subjects have no estimate of a parameter, and how they are drawn."""
    lost = [
        str(subject)
        for subject, fit in zip(study.subjects, fits, strict=True)
        if not np.isfinite(fit.natural).all()
    ]
    if not lost:
        return ""
    every = [p for fit in fits for p in fit.parameters if np.isnan(p.estimate)]
    unknown = [bool(np.isnan([p.low, p.high]).all()) for p in every]
    marks = "a dashed orange line spans all values that agree with their choices"
    marks = marks if not all(unknown) else ""
    cross = "an orange cross at the edge: no value is known" if any(unknown) else ""
    said = ", ".join(filter(None, (marks, cross)))
    return (
        f" Without a finite estimate of some parameter: {format_count(len(lost), 'subject')} "
        f"({format_list(lost)}){f'; {said}' if said else ''}."
    )


def _scatter(study: Findings) -> Iterator[Drawn]:
    group_of = {s: group.label for group in study.groups for s in group.subjects}
    # in the order of the groups, so that they have the same colours as elsewhere
    people = [*group_of, *(s for s in study.subjects if s not in group_of)]
    fits = [study.fits[subject].exact for subject in people]
    names = fits[0].natural_names
    if len(names) < 2 or len(people) < 2:
        return
    logs, bounds = positive_parameter_mask(study.plan.model), bounds_of(study.plan.model)
    first, second = 0, len(names) - 1 if len(names) < 3 else 2
    made = figure(height=3.0)
    axes = made.subplots()
    x, y = (np.array([f.parameters[j].estimate for f in fits]) for j in (first, second))
    shown = np.isfinite(x) & np.isfinite(y)
    parameter_scatter(
        axes,
        x,
        y,
        categories=[group_of.get(s, "not classified") for s in people]
        if len(study.groups) > 1
        else None,
        names=(names[first], names[second]),
        bounds=(bounds[first], bounds[second]),
        logarithmic=(bool(logs[first] and (x > 0).any()), bool(logs[second] and (y > 0).any())),
    )
    grow_figure_for_legends(made)
    unit = "subject" if study.data.people is None else "fit"
    yield Drawn(
        "scatter",
        f"{capital(display_name(names[second]))} against {display_name(names[first])}",
        f"{capital(estimator_text(study))} estimates of {int(shown.sum())} of "
        f"{format_count(len(people), unit)}{', by group' if len(study.groups) > 1 else ''}."
        f"{_explain_partly_missing(np.isfinite(x), np.isfinite(y), unit)}{explain_edges(made)}",
        made,
    )


def _explain_partly_missing(x: BoolVector, y: BoolVector, unit: str) -> str:
    """Say how subjects without an estimate of the x axis, the y axis or both are drawn."""
    one, neither = int((x != y).sum()), int((~x & ~y).sum())
    said = (
        f" At the edge: {format_count(one, unit)} with only one of the two estimates."
        if one
        else ""
    )
    return f"{said} Not shown: {format_count(neither, unit)} with neither." if neither else said


def _populations(study: Findings) -> Iterator[Drawn]:
    groups = study.groups
    if not groups or len(study.subjects) < 2:
        return
    logs, bounds = positive_parameter_mask(study.plan.model), bounds_of(study.plan.model)
    names = study.fits[study.subjects[0]].exact.natural_names
    pooled = [
        to_natural_scale(study.exact[g.label]["random-effects"], study.plan.level, study.plan.model)
        for g in groups
    ]

    def draw(axes: Any, j: int) -> None:
        ends = np.array([(column[j].low, column[j].high) for column in pooled])
        people = [
            np.array([study.fits[s].exact.parameters[j].estimate for s in g.subjects])
            for g in groups
        ]
        values = np.array([column[j].estimate for column in pooled])
        log = bool(logs[j]) and any((one[np.isfinite(one)] > 0).any() for one in people)
        population(
            axes,
            labels,
            values,
            ends,
            subjects=people,
            name=names[j],
            logarithmic=log,
            bounds=bounds[j],
        )

    labels = [f"{g.label}\n({_pooled_count_text(study, g)})" for g in groups]
    beside = x_category_labels_fit(labels, COLUMN_INCHES[2] / 2)
    made = panel_figure(len(names), draw, columns=2 if beside else 1, wide=not beside)
    log = any(axes.get_yscale() == "log" for axes in made.axes)
    geometric = " On logarithmic axes the group's estimate is a geometric mean." if log else ""
    finite = all(np.isfinite(fit.exact.natural).all() for fit in study.fits.values())
    marked = "; subjects without a finite estimate are marked at the edge and counted above"
    left = "" if finite else marked
    lacking = any(not np.isfinite(p.estimate) for column in pooled for p in column)
    none = " A black cross at the edge: too few subjects have an estimate." if lacking else ""
    yield Drawn(
        "groups",
        "Groups" if len(groups) > 1 else "All subjects",
        f"{capital(estimator_text(study))} estimates of the subjects (small, pale), and of "
        f"{'their group' if len(groups) > 1 else 'all'} by random effects with "
        f"{100 * study.plan.level:g} % interval (large, black line)."
        f"{geometric} n: subjects in the group's estimate{left}.{none}{explain_edges(made)}",
        made,
    )


def _pooled_count_text(study: Findings, group: Group) -> str:
    """Say how many subjects the estimate of a group rests on."""
    n, everyone = study.exact[group.label]["random-effects"].n_subjects, len(group.subjects)
    return f"n = {n}" if n == everyone else f"n = {n} of {everyone}"


def _forward(study: Findings) -> Iterator[Drawn]:
    if not any(study.fits[s].simulated is not None for s in study.subjects):
        return
    places = Declared(study.plan.model).locations
    step, switches = "distance from the last choice", "How often the choice differs from the last"
    how_far = (step, f"The {step}") if places is not None else (SWITCH_RATE, switches)
    kind = "reward received" if study.landscapes.source == "estimated" else "mean reward"
    ahead = study.how_simulated == "one step ahead"
    played = (
        ("reward", kind, f"The {kind} of the option chosen"),
        ("regret", "cumulative regret", "Cumulative regret"),
    )
    foretold = (
        (
            "likeliest",
            "share of the likeliest option",
            "How often subjects choose the option that their model holds likeliest",
        ),
    )
    for measure, quantity, words in (
        *(foretold if ahead else played),
        ("distance", *how_far),
    ):
        if measure == "regret" and not study.plan.performance:
            continue  # the best option is not known
        yield Drawn(
            f"forward-{measure}",
            f"{'One step ahead' if ahead else 'Forward simulation'}: {quantity}",
            f"{words}, trial by trial: people (blue, solid), and (orange, dashed) "
            f"{simulation_text(study)}.{_explain_bands(study)}{_explain_fewer_decisions(study)}{not_simulated(study)}",
            panel_figure(len(study.groups), _forward_panel(study, measure, quantity), alike=True),
        )


def _explain_bands(study: Findings) -> str:
    many = len(study.subjects) > 1
    return " Bands: 95 % intervals of the mean over subjects." if many else ""


def _explain_fewer_decisions(study: Findings) -> str:
    lengths = {len(study.observed[s].reward) for group in study.groups for s in group.subjects}
    if len(lengths) < 2:
        return ""
    return f" After trial {min(lengths)} fewer subjects are left: some played no longer."


def _forward_panel(study: Findings, measure: str, quantity: str) -> Callable[[Any, int], None]:
    def draw(axes: Any, i: int) -> None:
        group = study.groups[i]
        people, agents = subject_and_agent_measures(group, measure, study.observed, study.fits)
        expected = "expected" if study.how_simulated == "one step ahead" else "agents"
        least = 0.0 if measure in ("distance", "regret") else None
        shares = True if quantity.startswith("share of") or quantity == SWITCH_RATE else None
        if len(people):
            labels = ("people", expected)
            learning_curve(
                axes, people, agents, quantity=quantity, labels=labels, shares=shares, least=least
            )
        else:
            alone = [getattr(study.observed[s], measure, np.empty(0)) for s in group.subjects]
            known = [row for row in alone if row is not None]
            learning_curve(axes, stack_padded(known), quantity=quantity, shares=shares, least=least)
        add_heading(axes, group.label)

    return draw
