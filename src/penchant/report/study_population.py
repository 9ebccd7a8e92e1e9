"""Report section on the population model: sentences, tables and figures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import format_list
from penchant.figures import coefficients, forest, population_density, shrinkage
from penchant.figures.label_text import display_name, labelled_row_height_inches, name_in_sentence
from penchant.figures.style import COLUMN_INCHES
from penchant.figures.subject_estimates import (
    MAX_NAMED_SUBJECTS,
    NAMED_ROW_INCHES,
    UNNAMED_ROW_INCHES,
)
from penchant.models.transforms import Transform
from penchant.population.hierarchy.result import PopulationFit
from penchant.population.hierarchy.result_builder import CODING
from penchant.report.group_sentences import p_text
from penchant.report.page import Block, DataTable, Drawing, Listing
from penchant.report.study_figures import Drawn, explain_edges, panel_figure
from penchant.report.study_groups import MIN_COLLAPSED_ROWS, drawings_named, some_columns
from penchant.report.study_sentences import capital, for_reader, format_report_cell
from penchant.result_tables import format_count
from penchant.studies.comparisons import StudyPopulation
from penchant.studies.findings import Findings

LITTLE, MUCH = 0.3, 0.7  # reliabilities
DRAWN_HALF_WIDTH_SDS = 3.2  # standard deviations of a population that are drawn
DENSITY_POINTS = 121
MAX_GROUPS_WITH_BANDS = 3  # groups at most whose bands can be told apart
MAX_LINK_BEYOND_PEOPLE = (
    4.0  # units of the link that are drawn beyond people, where the spread is absurd
)
MAX_ABS_LOGIT = 12.0  # |logit| at which a share is 0 or 1 on any axis


def population_section(study: Findings, drawn: Mapping[str, Drawing]) -> list[Block]:
    """Section on the population: means, differences, spreads, warnings; empty without one."""
    found = study.everybody
    if found is None:
        return []
    fit = found.fit
    blocks: list[Block] = [Listing(_opening_sentences(study, found))]
    blocks += [_contrasts(study)] if found.contrasts else []
    blocks += drawings_named(drawn, "population-coefficients")
    blocks += [_typical(study, found), *_spreads(study)]
    blocks += drawings_named(
        drawn, "population-density", "population-shrinkage", "population-forest"
    )
    sentences = [*([fit.message] if fit.message else []), *fit.notes]
    names = (*fit.names, *fit.links)
    shown_words = [for_reader(words, names) for words in sentences if not words.startswith(CODING)]
    blocks += [Listing(shown_words)] if shown_words else []
    return blocks


def _opening_sentences(study: Findings, found: StudyPopulation) -> list[str]:
    """Opening sentences: differences of groups, number of subjects, reliabilities."""
    fit = found.fit
    sentences = []
    for contrast, adjusted in zip(found.contrasts, found.adjusted, strict=True):
        for a in _in_order(study, contrast.names):
            name = contrast.names[a]
            if adjusted[a] < 1 - study.plan.level:
                way = "higher" if contrast.difference[a] > 0 else "lower"
                first, second = contrast.words.split(" - ")
                sentences.append(
                    f"{display_name(name).capitalize()} is {way} in {first} than in {second}: "
                    f"{contrast.words} = {format_report_cell(float(contrast.difference[a]))} on "
                    f"the "
                    f"{contrast.links[a]} scale "
                    f"({100 * study.plan.level:g} % interval "
                    f"{format_report_cell(float(contrast.low[a]))} "
                    "to "
                    f"{format_report_cell(float(contrast.high[a]))}, p {p_text(adjusted[a])}, "
                    f"adjusted by "
                    "Holm's method over all differences here)."
                )
    if found.contrasts and not sentences:
        sentences.append(
            "No difference is shown after adjustment for all comparisons of the population."
        )
    sentences.append(
        f"All {format_count(fit.n_subjects, 'subject')} are included, also subjects without a "
        f"finite estimate alone. Status: {for_reader(fit.status, (*fit.names, *fit.links))}."
    )
    reliabilities = [*fit.reliability.items()]
    sentences += [
        _reliability_sentence(*reliabilities[a])
        for a in _in_order(study, [name for name, _ in reliabilities])
    ]
    sentences.append(
        f"Integration error: the log-likelihood ({format_report_cell(fit.log_likelihood)}) changes "
        f"by "
        f"{format_report_cell(fit.integration_error)} with other nodes."
    )
    return sentences


def _in_order(study: Findings, names: Sequence[str]) -> list[int]:
    """Indices of the population's parameters in the order of all other sections."""
    usual = study.fits[study.subjects[0]].exact.natural_names
    known = {name: k for k, name in enumerate(usual)}
    base = [_parameter(name, usual) for name in names]
    return sorted(range(len(names)), key=lambda a: known.get(base[a], len(usual)))


def _parameter(name: str, known: Iterable[str]) -> str:
    """Parameter of a coefficient; names of attributes have colons of their own."""
    mine = (one for one in known if name == one or name.startswith((f"{one}:", f"{one}[")))
    return max(mine, key=len, default=re.split(r"[:[]", name)[0])


def _reliability_sentence(name: str, value: float) -> str:
    share = f"{capital(name_in_sentence(name))}: reliability {value:.2f}"
    if value < LITTLE:
        return (
            f"{share}, low: most of the variance between subjects' own estimates is noise. Do not "
            "correlate these estimates with other measures."
        )
    if value < MUCH:
        return f"{share}, moderate: estimates are drawn towards the mean of the population."
    return f"{share}, high: choices distinguish people well."


def _contrasts(study: Findings) -> DataTable:
    keep = ("parameter", "contrast", "difference", "low", "high", "t", "degrees_of_freedom")
    table = _ordered(study, study.columns("population-contrasts"), "parameter")
    return some_columns(
        "Differences in the population",
        table,
        (*keep, "adjusted_p_value", "link"),
        note="Differences of means, first minus second, on the scale of each parameter's link "
        "function: on the log scale the logarithm of a ratio. p-values are adjusted by Holm's "
        "method over all of them.",
        collapsed=len(table["parameter"]) > MIN_COLLAPSED_ROWS,
        names={"t": "t"},
    )


def _ordered(
    study: Findings, table: Mapping[str, Sequence[Any]], column: str
) -> dict[str, list[Any]]:
    """A table with its parameters in the usual order."""
    order = _in_order(study, table[column])
    return {name: [values[i] for i in order] for name, values in table.items()}


def _typical(study: Findings, found: StudyPopulation) -> DataTable:
    fit, level = found.fit, study.plan.level
    rows = []
    for who, covariates in _kinds(found):
        every = fit.parameters_at(level, **covariates)
        for p in (every[a] for a in _in_order(study, [p.name for p in every])):
            name, _, condition = p.name.removesuffix("]").partition("[")
            whose = f"{who}, {condition}" if condition and covariates else condition or who
            rows.append(
                [display_name(name), whose, *map(format_report_cell, (p.estimate, p.low, p.high))]
            )
    header = ("parameter", "of whom", "typical", "low", "high")
    note = (
        f"The parameter at the mean of its link scale; low and high: {100 * level:g} % intervals "
        "of that mean."
    )
    words = frozenset((0, 1))
    return DataTable(
        "The typical person", header, rows, note, len(rows) > MIN_COLLAPSED_ROWS, words
    )


def _kinds(found: StudyPopulation) -> list[tuple[str, dict[str, str]]]:
    """An average person, and one of each group."""
    kinds: list[tuple[str, dict[str, str]]] = [("everybody", {})]
    for column in found.between:
        kinds += [(label, {column: label}) for label in found.groups[column]]
    return kinds


def _spreads(study: Findings) -> list[Block]:
    """Table of the spreads; empty if none were found."""
    table = study.columns("population-spreads")
    if not table:
        return []
    note = (
        "Standard deviations between people on the scale of the link function; reliability: the "
        "share of the variance between people that their choices reveal."
    )
    keep = ("name", "sd", "low", "high", "reliability", "link")
    ordered = _ordered(study, table, "name")
    return [some_columns("How far people differ", ordered, keep, note=note)]


# -- figures ---------------------------------------------------------------------------------------


def population_figures(study: Findings) -> Iterator[Drawn]:
    """Coefficients, densities, shrinkage and everybody under the population."""
    found = study.everybody
    if found is None:
        return
    if found.between or found.within:
        yield _coefficients(study, found)
    if not found.within:
        yield _densities(study, found)
        yield from _shrinkage(study, found.fit)
        yield _forest(study, found.fit)


def _coefficients(study: Findings, found: StudyPopulation) -> Drawn:
    fit, what = found.fit, "group" if found.between else "condition"
    panels: dict[str, list[int]] = {}
    usual = study.fits[study.subjects[0]].exact.natural_names
    for a in _in_order(study, fit.names):
        parameter = _parameter(fit.names[a], usual)
        if fit.names[a].startswith(f"{parameter}:"):
            panels.setdefault(parameter, []).append(a)
    ends = fit.interval(study.plan.level)
    # coefficients without a unit compare; those in units of their parameter have axes of their own
    pure = [a for name, one in panels.items() if fit.links.get(name) != "identity" for a in one]
    names = {
        a: display_name(f"x{fit.names[a].removeprefix(name)}").partition(": ")[2]
        for name, one in panels.items()
        for a in one
    }

    def draw(axes: Any, i: int) -> None:
        parameter, own = list(panels.items())[i]
        link = fit.links.get(parameter, "link")
        on = "" if link == "identity" else f" on the {link} scale"
        axis = f"{display_name(parameter)}: coefficient{on}"
        labels = [names[a] for a in own]
        alike = own if link == "identity" else pure
        limits = _whole(ends[alike])
        coefficients(axes, labels, fit.coefficients[own], ends[own], name=axis, limits=limits)

    high = labelled_row_height_inches([*names.values()], COLUMN_INCHES[1])
    row = 0.8 + high * max(map(len, panels.values()))
    made = panel_figure(len(panels), draw, row=row, least=row)
    return Drawn(
        "population-coefficients",
        "What differs in the population",
        f"Coefficients of the population with {100 * study.plan.level:g} % interval: how far a "
        f"{what} lies from {_reference(found)}.{explain_edges(made)}",
        made,
    )


def _whole(ends: Matrix) -> tuple[float, float] | None:
    """Ends of an axis that shows all intervals, and 0; None where one has no end."""
    if not np.isfinite(ends).all():
        return None
    low, high = min(0.0, float(ends.min())), max(0.0, float(ends.max()))
    margin = 0.04 * max(high - low, 1e-12)
    return low - margin, high + margin


def _reference(found: StudyPopulation) -> str:
    """Reference level of the coefficients: the first group, or the mean over conditions."""
    if not found.between:
        return "the average of all conditions"
    return format_list([str(found.groups[column][0]) for column in found.between])


def _links(fit: PopulationFit) -> list[Transform]:
    return [view.link for view in fit.subjects.natural_parameter_rows]


def _densities(study: Findings, found: StudyPopulation) -> Drawn:
    fit, level = found.fit, study.plan.level
    links, names = _links(fit), fit.subjects.natural_names
    kinds = _kinds(found)
    kinds = kinds[1 : 1 + len(found.groups[found.between[0]])] if found.between else kinds
    spreads = {s.name: s for s in fit.spreads(level)}
    typical = [fit.parameters_at(level, **covariates) for _, covariates in kinds]
    order = _in_order(study, names)
    priors = [fit.prior_for(**covariates) for _, covariates in kinds]
    whose = _group_members(found)
    few = len(kinds) <= MAX_GROUPS_WITH_BANDS

    def draw(axes: Any, panel: int) -> None:
        j = order[panel]
        link, own = links[j], spreads.get(names[j])
        means = np.array([prior.mean[j] for prior in priors])
        sds = np.sqrt([prior.covariance[j, j] for prior in priors])
        h = np.linspace(*_drawn_range(link, means, sds, fit.subjects.mean[:, j]), DENSITY_POINTS)
        ratios = (1.0, 1.0) if own is None or own.sd == 0 else (own.low / own.sd, own.high / own.sd)
        heights, bands = [], []
        for mean, sd, person in zip(means, sds, typical, strict=True):
            ends = np.sort(link.inverse(np.array([person[j].low, person[j].high])))
            heights.append(_density(link, h, float(mean), float(sd)))
            bands.append(_band(link, h, ends, sd * np.array(ratios)))
        natural = fit.subjects.natural[:, j]
        population_density(
            axes,
            np.sort(link.value(h)),
            np.stack(heights)[:, :: -1 if link.name == "negative log" else 1],
            bands=np.stack(bands)[:, :: -1 if link.name == "negative log" else 1] if few else None,
            people=[natural[mine] for mine in whose],
            categories=[who for who, _ in kinds] if len(kinds) > 1 else None,
            name=names[j],
            logarithmic=link.name == "log",
        )

    band = (
        f" Bands: all densities within the {100 * level:g} % intervals of the mean and of the "
        "spread."
        if few
        else ""
    )
    return Drawn(
        "population-density",
        "How people are distributed",
        f"Density of each parameter in the population.{band} Marks below: the estimate of each "
        "subject under the population.",
        panel_figure(len(names), draw),
    )


def _drawn_range(
    link: Transform, means: Vector, sds: Vector, people: Vector
) -> tuple[float, float]:
    """Ends of the range that is drawn of a density: most of it, not far beyond the people."""
    low, high = (
        float((means - DRAWN_HALF_WIDTH_SDS * sds).min()),
        float((means + DRAWN_HALF_WIDTH_SDS * sds).max()),
    )
    low, high = (
        max(low, float(people.min()) - MAX_LINK_BEYOND_PEOPLE),
        min(high, float(people.max()) + MAX_LINK_BEYOND_PEOPLE),
    )
    steep = MAX_ABS_LOGIT if link.name == "logit" else np.inf
    low, high = min(max(low, -steep), steep - 1.0), max(min(high, steep), 1.0 - steep)
    return low, high  # the last unit, where everybody is beyond


def _group_members(found: StudyPopulation) -> list[Any]:
    """Indices of the people of each group of the first column, or of everybody."""
    fit = found.fit
    if not found.between:
        return [np.arange(fit.n_subjects)]
    assert fit.source is not None
    factor = fit.source.design.find_factor(found.between[0])
    labels = [str(level) for level in factor.levels]
    codes = np.asarray(factor.values).astype(int)
    order = [labels.index(label) for label in found.groups[found.between[0]]]
    return [np.flatnonzero(codes == code) for code in order]


def _density(link: Transform, h: Vector, mean: float, sd: float) -> Vector:
    """Density of the parameter on its axis; of its logarithm if the axis is logarithmic."""
    return _on_axis(link, h, np.exp(-0.5 * ((h - mean) / sd) ** 2) / (sd * np.sqrt(2 * np.pi)))


def _on_axis(link: Transform, h: Vector, height: Vector) -> Vector:
    return np.asarray(height if link.name == "log" else height / np.abs(link.first(h)))


def _band(link: Transform, h: Vector, means: Vector, sds: Vector) -> Matrix:
    """Least and greatest normal density at every place, over a range of means and one of spreads.

    A density rises with its spread up to the distance from its mean, and falls from there on.
    """
    near, far = np.abs(h - np.clip(h, *means)), np.abs(h[:, None] - means).max(axis=1)

    def height(away: Vector, sd: Any) -> Vector:
        with np.errstate(divide="ignore", invalid="ignore"):
            top = np.exp(-0.5 * (away / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
        return np.asarray(np.where(np.asarray(sd) > 0, top, np.where(away > 0, 0.0, np.inf)))

    low = np.minimum(*(height(far, sd) for sd in sds))
    high = height(near, np.clip(near, *sds))
    return np.stack([_on_axis(link, h, low), _on_axis(link, h, high)], axis=1)


def _own_fit_parameters(study: Findings, fit: PopulationFit) -> Matrix:
    """Natural parameters by each subject's own fit: (n, n_natural)."""
    by_label = {study.data.person(s): study.fits[s].exact for s in study.subjects}
    found = []
    for label in fit.subjects.labels:
        own = {p.name: p.estimate for p in by_label[label].parameters}
        found.append([own.get(name, np.nan) for name in fit.subjects.natural_names])
    return np.array(found, dtype=np.float64)


def _shrinkage(study: Findings, fit: PopulationFit) -> Iterator[Drawn]:
    links, names = _links(fit), fit.subjects.natural_names
    if len(names) < 2:
        return
    alone = _own_fit_parameters(study, fit)
    on_link = np.stack([link.inverse(alone[:, a]) for a, link in enumerate(links)], axis=1)
    prior = fit.prior_for()
    first, *others = _in_order(study, names)
    pairs = [(first, b) for b in others]

    def draw(axes: Any, i: int) -> None:
        pair = list(pairs[i])
        shrinkage(
            axes,
            on_link[:, pair],
            fit.subjects.mean[:, pair],
            mean=prior.mean[pair],
            covariance=prior.covariance[np.ix_(pair, pair)],
            names=(names[pair[0]], names[pair[1]]),
            values=(_axis_of_link(links[pair[0]]), _axis_of_link(links[pair[1]])),
        )

    lost = not np.isfinite(on_link).all()
    edge = "; a line from the edge is of a subject without a finite estimate alone" if lost else ""
    yield Drawn(
        "population-shrinkage",
        "From each alone to all together",
        "Estimates of each subject alone (hollow, orange) and under the population (full, blue), "
        f"joined by a line{edge}. Axes are the scales on which people are taken to be normally "
        "distributed, with the parameter's own numbers. Ellipses hold 50 and 95 % of the "
        "population.",
        panel_figure(len(pairs), draw, row=2.9),
    )


def _axis_of_link(link: Transform) -> Callable[[Any], Any] | None:
    """Map from the link to the numbers of the axis; None if the axis is the parameter's own."""
    return None if link.name in ("identity", "negative log") else link.value


def _forest(study: Findings, fit: PopulationFit) -> Drawn:
    links, names, subjects = _links(fit), fit.subjects.natural_names, fit.subjects
    alone, ends = _own_fit_parameters(study, fit), subjects.interval(study.plan.level)
    typical = fit.parameters_at(study.plan.level)
    panels = _in_order(study, names)
    # the same row is the same subject in every panel
    rows = np.argsort(subjects.natural[:, panels[0]], kind="stable")

    def draw(axes: Any, panel: int) -> None:
        j = panels[panel]
        forest(
            axes,
            subjects.natural[rows, j],
            ends[rows, j],
            labels=[str(subjects.labels[i]) for i in rows],
            alone=alone[rows, j],
            ordered=False,
            pooled=typical[j].estimate,
            pooled_interval=(typical[j].low, typical[j].high),
            pooled_name="typical",
            name=names[j],
            logarithmic=links[j].name == "log",
        )

    n = len(subjects)
    height = 0.9 + n * (NAMED_ROW_INCHES if n <= MAX_NAMED_SUBJECTS else UNNAMED_ROW_INCHES)
    made = panel_figure(len(names), draw, row=height)
    return Drawn(
        "population-forest",
        "Everybody under the population",
        f"Posterior means of all subjects (blue) with {100 * study.plan.level:g} % intervals, the "
        "estimate of each subject alone (hollow, orange), and the typical person below; every "
        f"panel in the order of the {display_name(names[panels[0]])}."
        f"{explain_edges(made)}",
        made,
    )
