"""Within-subject conditions, contrasts of levels, and comparisons of populations.

A parameter that varies between conditions has a coordinate for its mean over conditions, and one
for each condition but the first: its deviation from that mean (sum coding). Subjects differ in all
of them, so that a contrast of conditions is a paired difference. Populations are compared by
likelihood ratio and by leave-one-subject-out evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant._typing import IntVector, Label, Matrix, Vector
from penchant.argument_checks import check_level, check_one_of
from penchant.errors import DataError, closest_match_hint, format_list
from penchant.inference.fit import History
from penchant.inference.profile.profile_likelihood import ProfileProblems
from penchant.json_records import JsonDocument, to_json
from penchant.models.coordinates import Coordinate, Coordinates
from penchant.models.model import Model
from penchant.models.transforms import IDENTITY
from penchant.population.group_tests import adjusted_p_values
from penchant.population.hierarchy.subject_likelihoods import (
    ConditionLikelihoods,
    EpisodeLikelihoods,
)
from penchant.population.least_squares import t_test
from penchant.result_tables import (
    Column,
    Columns,
    Result,
    Table,
    format_columns,
    format_p_value,
)
from penchant.tail_probabilities import chi_square_sf

if TYPE_CHECKING:
    from penchant.population.hierarchy.result import PopulationFit

MAX_CONDITIONS = 6  # each adds dimensions to every subject's integral, which soon costs too much


P_VALUES = ("p_value", "adjusted_p_value")


@dataclass(frozen=True, eq=False)
class WithinConditions:
    """Within-subject conditions of a fit.

    Attributes
    ----------
    name, labels
        What the conditions are of, and what they are called.
    base
        Coordinates in one condition.
    coordinate_maps
        (n_conditions, p of the base, p): from coordinates of a subject to those in a condition.
    """

    name: str
    labels: tuple[Label, ...]
    base: Coordinates
    coordinate_maps: Matrix

    def index(self, label: Label) -> int:
        """Index of a condition by its label."""
        known = [str(one) for one in self.labels]
        if str(label) not in known:
            raise DataError(
                self.name,
                f"must be one of {', '.join(known)}",
                got=repr(label),
                fix=closest_match_hint(str(label), known) or "Correct it.",
            )
        return known.index(str(label))


def stack_conditions(
    episodes: Sequence[History],
    model: Model,
    base: Coordinates,
    within: Any,
    varying: Sequence[str] | None,
    threads: int,
) -> tuple[ConditionLikelihoods, WithinConditions]:
    """Stack the coordinates of all conditions: likelihoods of subjects, and the conditions."""
    name, per_episode = _condition_labels(episodes, within)
    labels = tuple(sorted(dict.fromkeys(per_episode), key=str))
    if not 2 <= len(labels) <= MAX_CONDITIONS:
        raise DataError(
            "within",
            f"must tell 2 to {MAX_CONDITIONS} conditions apart",
            got=f"{len(labels)}: {format_list(map(str, labels))}",
            fix=f"Give {{'{name}': labels}}, a label per episode.",
        )
    chosen = _varying_mask(varying, base.names)
    coordinates, maps = _stack_coordinates(base, name, labels, chosen)
    units: dict[tuple[Any, Any], list[Any]] = {}
    for episode, label in zip(episodes, per_episode, strict=True):
        units.setdefault((episode.subject, label), []).append(episode)
    observed = {key: mine for key, mine in units.items() if any(e.n_decisions for e in mine)}
    subjects = tuple(dict.fromkeys(episode.subject for episode in episodes))
    unit_of = {key: a for a, key in enumerate(observed)}
    unit: IntVector = np.array(
        [[unit_of.get((s, label), -1) for label in labels] for s in subjects], dtype=np.int64
    )
    seen = (unit >= 0).sum(axis=0)
    if (seen < 2).any():
        rare = str(labels[int(np.argmin(seen))])
        raise DataError(
            "within",
            "must have at least two subjects in every condition",
            got=f"{seen.min()} in {rare}",
            fix="Leave it out.",
        )
    if not ((unit >= 0).sum(axis=1) > 1).any():
        raise DataError(
            "within",
            "must be conditions that subjects have in common",
            got=f"one {name} for each subject",
            fix="Use covariates for differences between people.",
        )
    profiles = ProfileProblems(model, tuple(tuple(mine) for mine in observed.values()))
    players = EpisodeLikelihoods(profiles, tuple(observed), coordinates=base, threads=threads)
    everyone = ConditionLikelihoods(players, unit, maps, coordinates, subjects)
    return everyone, WithinConditions(name, labels, base, maps)


def _condition_labels(episodes: Sequence[History], within: Any) -> tuple[str, list[Any]]:
    """Name of the conditions, and the label of every episode."""
    if isinstance(within, Mapping):
        if len(within) != 1:
            raise DataError(
                "within",
                "must be one name with its labels",
                got=len(within),
                fix="Join them to one.",
            )
        ((name, given),) = within.items()
        labels = list(given)
        if len(labels) != len(episodes):
            raise DataError(
                "within",
                f"must have a label per episode ({len(episodes)})",
                got=len(labels),
                fix="Match them.",
            )
        return str(name), labels
    if not isinstance(within, str):
        raise DataError(
            "within",
            "must be a name, or a name with labels",
            got=repr(within),
            fix="Write 'block', or {'drug': labels}.",
        )
    labels = [getattr(e, within, None) if hasattr(e, within) else e.block for e in episodes]
    if any(label is None for label in labels):
        raise DataError(
            "within",
            "must be known of every episode",
            got=f"{within!r}, but an episode has no block",
            fix=f"Give Episode(..., block=...), or {{'{within}': labels}}.",
        )
    return within, labels


def _varying_mask(varying: Sequence[str] | None, names: Sequence[str]) -> list[bool]:
    if varying is None:
        return [True] * len(names)
    asked = [varying] if isinstance(varying, str) else list(varying)
    for name in asked:
        if name not in names:
            raise DataError(
                "varying",
                "must name parameters",
                got=f"{name!r}, but they are {', '.join(names)}",
                fix=closest_match_hint(str(name), names) or "Correct it.",
            )
    return [name in asked for name in names]


def _stack_coordinates(
    base: Coordinates, name: str, labels: Sequence[Label], is_varying: list[bool]
) -> tuple[Coordinates, Matrix]:
    """Coordinates of a subject, shape parameters first, and their maps to conditions."""
    codes = np.vstack([-np.ones(len(labels) - 1), np.eye(len(labels) - 1)])
    found: list[tuple[Coordinate, int, Matrix]] = []
    for a, c in enumerate(base.each):
        found.append((c, a, np.ones(len(labels))))
        if not is_varying[a]:
            continue
        for b, label in enumerate(labels[1:]):
            # A contrast is added on the link: it is a number without a scale of its own.
            own = f"{c.name}:{name}[{label}]"
            natural = replace(c.natural, name=own, transform=IDENTITY, over=(), over_indices=())
            found.append((Coordinate(natural, IDENTITY), a, codes[:, b]))
    # A stable sort: `Coordinates` wants shape parameters first, and conditions stay in order.
    found.sort(key=lambda one: not one[0].is_shape)
    maps = np.zeros((len(labels), len(base), len(found)))
    for j, (_, a, weights) in enumerate(found):
        maps[:, a, j] = weights
    whole = Coordinates(tuple(one[0] for one in found), base.shape, base.n_weights)
    return whole, maps


COLUMNS = (
    Column("name", ""),
    Column("difference", "difference", 4),
    Column("standard_error", "std. error", 3),
    Column("low", "low", 4),
    Column("high", "high", 4),
    Column("t", "t", 3),
)


@dataclass(frozen=True, eq=False, repr=False)
class Contrast(Result):
    """The difference between two levels, of every parameter on its link.

    Attributes
    ----------
    factor, words
        What differs, such as "group", and how: "patient - control".
    names, links
        Parameters.
    difference, standard_error, low, high
        On the links: of a logarithm, the logarithm of a ratio.
    t, degrees_of_freedom, p_value
        Two-sided test that there is none, of each parameter alone.
    adjusted_p_value
        The same, adjusted by Holm's method over all parameters of the contrast.
    """

    json_names = ("factor", ("contrast", "words"))
    factor: str
    words: str
    names: tuple[str, ...]
    links: tuple[str, ...]
    difference: Vector
    standard_error: Vector
    low: Vector
    high: Vector
    t: Vector
    degrees_of_freedom: Vector
    p_value: Vector

    @property
    def adjusted_p_value(self) -> Vector:
        """p-values adjusted by Holm's method over all parameters."""
        return adjusted_p_values(self.p_value.tolist())

    def __getitem__(self, name: str) -> dict[str, float]:
        check_one_of(name, "parameter", self.names)
        a = self.names.index(name)
        fields = ("difference", "standard_error", "low", "high", "t", *P_VALUES)
        return {field: float(getattr(self, field)[a]) for field in fields}

    def frame_columns(self) -> Columns:
        """Table with one row per parameter."""
        fields = ("difference", "standard_error", "low", "high", "t", "degrees_of_freedom")
        columns: dict[str, list[Any]] = {"name": list(self.names), "link": list(self.links)}
        columns |= {field: getattr(self, field).tolist() for field in (*fields, *P_VALUES)}
        return columns

    def document(self) -> dict[str, Any]:
        """Contrast as a dictionary for JSON."""
        return {**super().document(), **to_json(self.frame_columns())}

    def table(self) -> Table:
        """Table for reading."""
        several = len(self.names) > 1
        p = Column("adjusted_p_value", "adjusted p" if several else "p", format_p_value)
        shown = (*COLUMNS, p, Column("link", "link"))
        header, rows = format_columns(self.frame_columns(), shown)
        said = f"p-values are adjusted by Holm's method over {len(self.names)} parameters."
        return Table(f"{self.factor}: {self.words}", (), header, rows, (said,) if several else ())

    def __repr__(self) -> str:
        values = (
            f"{n}={d:.3g} (p {format_p_value(p)})"
            for n, d, p in zip(self.names, self.difference, self.p_value, strict=True)
        )
        return f"<Contrast {self.factor}, {self.words}: {', '.join(values)}>"


def level_contrast(fit: PopulationFit, factor: str, words: str, level: float) -> Contrast:
    """Estimate and test the difference between two levels of a factor or two conditions."""
    check_level(level)
    parts = [part.strip() for part in str(words).split(" - ")]
    if len(parts) != 2:
        raise DataError(
            "contrast",
            "must be two levels with ' - ' between them",
            got=repr(words),
            fix="Write 'patient - control'.",
        )
    source = fit.source
    assert source is not None  # `PopulationFit.contrast` has refused fits without their data
    within = source.conditions
    if within is not None and factor == within.name:
        base = within.base
        rows = source.design.person_design_matrix({})
        row = (
            within.coordinate_maps[within.index(parts[0])]
            - within.coordinate_maps[within.index(parts[1])]
        ) @ rows
    else:
        variable = source.design.variables.get(factor)
        if variable is None or not variable.levels:
            known = [v.name for v in source.design.variables.values() if v.levels]
            known += [within.name] if within is not None else []
            raise DataError(
                "factor",
                "must be one among the covariates",
                got=f"{factor!r}, but they are {', '.join(known) or 'none'}",
                fix=closest_match_hint(str(factor), known) or "Correct it.",
            )
        base = source.likelihoods.coordinates
        levels = {str(one): one for one in variable.levels}
        one, other = (levels.get(part, part) for part in parts)
        row = source.design.person_design_matrix(
            {factor: one}
        ) - source.design.person_design_matrix({factor: other})
    used = np.flatnonzero(np.abs(row).sum(axis=1) > 0)
    row = row[used]
    difference = row @ fit.coefficients
    error = np.sqrt(np.einsum("ab,bc,ac->a", row, fit.covariance, row))
    whose = np.abs(row).argmax(axis=1)  # a row mixes coefficients: the heaviest one's df
    found = t_test(difference, error, fit.degrees_of_freedom[whose], level)
    return Contrast(
        factor,
        str(words),
        tuple(base.names[a] for a in used),
        tuple(str(base.each[a].link) for a in used),
        difference,
        error,
        found.low,
        found.high,
        found.statistic,
        found.degrees_of_freedom,
        found.p_value,
    )


@dataclass(frozen=True, repr=False)
class Comparison(JsonDocument):
    """Two populations fitted to the same decisions.

    Attributes
    ----------
    log_likelihoods, n_parameters
        Of both, each at its maximum.
    statistic, degrees_of_freedom, p_value
        Likelihood ratio of the larger against the smaller; NaN where the smaller is no special case
        of it. Where the larger has more spreads the p-value is too large: a variance ends at 0.
    loo_difference, loo_standard_error
        Log-evidence of the first less that of the second, subjects left out one by one; and the
        standard error over subjects.
    """

    log_likelihoods: tuple[float, float]
    n_parameters: tuple[int, int]
    statistic: float
    degrees_of_freedom: int
    p_value: float
    loo_difference: float
    loo_standard_error: float

    def __repr__(self) -> str:
        ratio = (
            f"likelihood ratio {self.statistic:.4g} on {self.degrees_of_freedom} degrees of "
            f"freedom (p {format_p_value(self.p_value)})"
            if np.isfinite(self.statistic)
            else "neither is a special case of the other, no likelihood ratio"
        )
        return (
            f"<Comparison: {ratio}, left-out difference {self.loo_difference:.4g} "
            f"({self.loo_standard_error:.3g})>"
        )


def _is_nested_in(small: PopulationFit, large: PopulationFit) -> bool:
    """Whether the smaller population model is nested in the larger."""
    matrices = [
        list(fit.spread.values()) if isinstance(fit.spread, Mapping) else [fit.spread]
        for fit in (small, large)
    ]
    correlated = [any((np.abs(m - np.diag(np.diag(m))) > 0).any() for m in own) for own in matrices]
    return (
        small.model_words == large.model_words
        and dict(small.links) == dict(large.links)
        and set(small.names) <= set(large.names)
        and (len(matrices[0]) == 1 or list(small.spread) == list(large.spread))
        and (correlated[1] or not correlated[0] or set(small.reliability) != set(large.reliability))
    )


def compare_population_fits(
    one: PopulationFit, other: PopulationFit, nested: bool | None = None
) -> Comparison:
    """Compare two populations by likelihood ratio and leave-one-subject-out evidence.

    Whether the smaller is nested in the larger is found out, unless it is given.
    """
    same = one.subjects.labels == other.subjects.labels and one.n_decisions == other.n_decisions
    if not same:
        raise DataError(
            "other",
            "must be fitted to the same decisions",
            got=(
                f"{other.n_subjects} subjects with {other.n_decisions} decisions against "
                f"{one.n_subjects} with {one.n_decisions}"
            ),
            fix="Fit both to the same data.",
        )
    values = one.maximum_log_likelihood, other.maximum_log_likelihood
    sizes = one.n_parameters, other.n_parameters
    df = sizes[0] - sizes[1]
    if df and nested is None:
        nested = _is_nested_in(*((other, one) if df > 0 else (one, other)))
    df = df if nested else 0
    statistic = 2 * (values[0] - values[1]) * np.sign(df) if df else np.nan
    p = float(chi_square_sf(max(statistic, 0.0), abs(df))) if df else np.nan
    differences = one.loo_each - other.loo_each
    return Comparison(
        values,
        sizes,
        float(statistic),
        abs(df),
        p,
        float(differences.sum()),
        float(np.sqrt(len(differences)) * differences.std(ddof=1)),
    )
