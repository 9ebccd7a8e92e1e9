"""Subjects under their population: posteriors, draws, predictions, and maximum likelihood beside.

Posterior means and covariances come from the nodes of the fit (empirical Bayes, with the
population's own uncertainty added by the delta method in `uncertainty`); draws are by importance
resampling (Rubin 1988), for which the model is evaluated again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from penchant._typing import IntVector, Label, Matrix, Vector
from penchant.argument_checks import check_level, check_rng, check_whole_number
from penchant.choices import Choices
from penchant.errors import DataError, format_list
from penchant.inference.fit import History
from penchant.inference.fit_each import fit_each
from penchant.inference.predict import PROPOSAL_DF, probabilities
from penchant.json_records import NOT_WRITTEN, JsonDocument
from penchant.models.arguments import as_episodes, data_of
from penchant.models.model import Model
from penchant.models.transforms import Transform
from penchant.population.hierarchy.data_behind_fit import PopulationSource
from penchant.population.hierarchy.quadrature import NODES_BY_DIMENSION, QuadratureRule
from penchant.population.hierarchy.subject_likelihoods import ChoiceLikelihoods
from penchant.population.hierarchy.uncertainty import SubjectPosteriors
from penchant.result_tables import (
    Backend,
    Columns,
    Result,
    make_frame,
)
from penchant.softmax.estimate_collection import Estimates
from penchant.softmax.intervals_and_tests import ParameterEstimate
from penchant.softmax.probabilities import log_probabilities
from penchant.tail_probabilities import normal_isf

CANDIDATES_PER_DRAW = 8  # fewer repeat draws where importance weights are uneven; more cost time


class NaturalParameterRow(NamedTuple):
    """A natural parameter of a subject: its name, its link, and its row of coordinates."""

    name: str
    link: Transform
    row: Vector


@dataclass(frozen=True, eq=False, repr=False)
class PopulationSubject(JsonDocument):
    """A subject under the population.

    Attributes
    ----------
    subject
        Label.
    parameters
        Natural parameters: at the posterior mean of the link, with 95 % intervals.
    influence
        How much the person moves the population.
    evidence
        Log-likelihood of the decisions under the population.
    """

    subject: Label
    parameters: tuple[ParameterEstimate, ...]
    influence: float
    evidence: float

    def __repr__(self) -> str:
        values = (f"{p.name}={p.estimate:.3g} [{p.low:.3g}, {p.high:.3g}]" for p in self.parameters)
        return f"<PopulationSubject {self.subject}: {', '.join(values)}>"


@dataclass(frozen=True, eq=False, repr=False)
class PopulationSubjects(Mapping[Any, PopulationSubject], Result):
    """Posteriors of all subjects, by label.

    Attributes
    ----------
    labels, names
        Subjects; coordinates.
    mean, covariance
        Posterior of the coordinates, on the links: (n, p), (n, p, p). The uncertainty of the
        population's own mean and spread is part of it.
    influence, evidence, n_decisions
        Of each subject.
    natural_parameter_rows
        Natural parameters, by condition where there are any.
    """

    labels: tuple[Label, ...]
    names: tuple[str, ...]
    mean: Matrix
    covariance: Matrix
    influence: Vector
    evidence: Vector
    n_decisions: IntVector
    natural_parameter_rows: tuple[NaturalParameterRow, ...]
    source: PopulationSource | None = field(default=None, repr=False, metadata=NOT_WRITTEN)

    @classmethod
    def from_posteriors(
        cls, source: PopulationSource, people: SubjectPosteriors
    ) -> PopulationSubjects:
        """Build from the posteriors of a search that has ended."""
        own = source.likelihoods
        within = source.conditions
        p = len(own.coordinates)
        if within is None:
            eye = np.eye(p)
            views = [
                NaturalParameterRow(c.name, c.link, eye[a])
                for a, c in enumerate(own.coordinates.each)
            ]
        else:
            views = [
                NaturalParameterRow(
                    f"{coordinate.name}[{label}]", coordinate.link, within.coordinate_maps[c, a]
                )
                for c, label in enumerate(within.labels)
                for a, coordinate in enumerate(within.base.each)
            ]
        return cls(
            labels=own.subjects,
            names=own.coordinates.names,
            mean=people.mean,
            covariance=people.covariance,
            influence=people.influence,
            evidence=source.optimum.evaluation.evidence,
            n_decisions=np.asarray(own.n_decisions),
            natural_parameter_rows=tuple(views),
            source=source,
        )

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Any:
        return iter(self.labels)

    def __getitem__(self, label: Label) -> PopulationSubject:
        i = self._index_of_subject(label)
        natural, ends = self.natural[i], self.interval()[i]
        errors = self._natural_sd[i]
        found = tuple(
            ParameterEstimate(v.name, *map(float, (natural[a], errors[a], ends[a, 0], ends[a, 1])))
            for a, v in enumerate(self.natural_parameter_rows)
        )
        return PopulationSubject(
            self.labels[i], found, float(self.influence[i]), float(self.evidence[i])
        )

    def _index_of_subject(self, label: Label) -> int:
        if label in self.labels:
            return self.labels.index(label)
        known = [str(one) for one in self.labels]
        if str(label) in known:
            return known.index(str(label))
        raise DataError(
            "subject",
            "must be one of those fitted",
            got=f"{label!r}, but they are {format_list(known)}",
            fix="Correct it.",
        )

    @property
    def sd(self) -> Matrix:
        """Posterior standard deviations on the links: (n, p)."""
        return np.asarray(np.sqrt(np.einsum("naa->na", self.covariance)))

    @cached_property
    def _parameter_rows(self) -> Matrix:
        return np.stack([v.row for v in self.natural_parameter_rows])

    @cached_property
    def natural(self) -> Matrix:
        """Natural parameters at the posterior mean of the links: (n, n_natural)."""
        h = self.mean @ self._parameter_rows.T
        return np.stack(
            [v.link.value(h[:, a]) for a, v in enumerate(self.natural_parameter_rows)], axis=1
        )

    @property
    def natural_names(self) -> tuple[str, ...]:
        """Names of the natural parameters."""
        return tuple(v.name for v in self.natural_parameter_rows)

    @cached_property
    def _link_scale_sd(self) -> Matrix:
        variance = np.einsum(
            "va,nab,vb->nv", self._parameter_rows, self.covariance, self._parameter_rows
        )
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))

    @property
    def _natural_sd(self) -> Matrix:
        h = self.mean @ self._parameter_rows.T
        slopes = [np.abs(v.link.first(h[:, a])) for a, v in enumerate(self.natural_parameter_rows)]
        return np.asarray(np.stack(slopes, axis=1) * self._link_scale_sd)

    def interval(self, level: float = 0.95) -> Matrix:
        """Posterior intervals of natural parameters: (n, n_natural, 2)."""
        check_level(level)
        half = float(normal_isf((1 - level) / 2)) * self._link_scale_sd
        h = self.mean @ self._parameter_rows.T
        ends = np.stack([h - half, h + half], axis=-1)
        found = np.stack(
            [v.link.value(ends[:, a]) for a, v in enumerate(self.natural_parameter_rows)], axis=1
        )
        return np.sort(found, axis=-1)

    @cached_property
    def ml(self) -> Estimates:
        """Everybody fitted alone, by maximum likelihood: `fit_each`."""
        if self.source is None or self.source.conditions is not None:
            raise DataError(
                "ml",
                "must have the decisions, and no conditions",
                got="a population without",
                fix="Use fit_each.",
            )
        fits: Estimates = fit_each(self.source.data, self.source.model)
        return fits

    def draws(self, n: int, *, rng: np.random.Generator) -> Matrix:
        """Draws from every posterior, in natural units: (n_subjects, n, n_natural).

        Candidates from a Student t about each posterior, taken in proportion to the posterior: the
        model is asked at every candidate. The population is at its best, its own uncertainty left
        aside.
        """
        n = check_whole_number(n, "n", 1)
        check_rng(rng)
        if self.source is None:
            raise DataError(
                "draws",
                "must have the decisions",
                got="a population read from a file",
                fix="Fit it again.",
            )
        h = draw_posteriors(self.source, n, rng)
        values = h @ self._parameter_rows.T
        return np.stack(
            [v.link.value(values[..., a]) for a, v in enumerate(self.natural_parameter_rows)],
            axis=-1,
        )

    def to_frame(
        self, level: float = 0.95, backend: Backend = "pandas", *, ml: bool = False
    ) -> Any:
        """Table with one row per subject: natural parameters, intervals, coordinates, influence.

        With `ml`, maximum likelihood beside it, and its status.
        """
        return make_frame(self.frame_columns(level, ml=ml), backend)

    def frame_columns(self, level: float = 0.95, *, ml: bool = False) -> Columns:
        """Columns of the data frame."""
        columns: dict[str, list[Any]] = {
            "subject": list(self.labels),
            "n_decisions": np.asarray(self.n_decisions).tolist(),
        }
        ends = self.interval(level)
        for a, view in enumerate(self.natural_parameter_rows):
            columns[view.name] = self.natural[:, a].tolist()
            columns[f"{view.name}_low"] = ends[:, a, 0].tolist()
            columns[f"{view.name}_high"] = ends[:, a, 1].tolist()
        for a, name in enumerate(self.names):
            columns[f"{name}_mean_on_link"] = self.mean[:, a].tolist()
            columns[f"{name}_sd_on_link"] = self.sd[:, a].tolist()
        if ml:
            columns |= self._ml_columns()
        columns["influence"] = self.influence.tolist()
        columns["evidence"] = self.evidence.tolist()
        return columns

    def _ml_columns(self) -> dict[str, list[Any]]:
        found = self.ml
        columns: dict[str, list[Any]] = {}
        place = {label: i for i, label in enumerate(found.subjects)}
        order = [place[label] for label in self.labels]
        values = self.ml_natural
        for a, view in enumerate(self.natural_parameter_rows):
            columns[f"{view.name}_ml"] = values[:, a].tolist()
        columns["status_ml"] = [list(found.status)[i] for i in order]
        return columns

    @cached_property
    def ml_natural(self) -> Matrix:
        """Natural parameters by maximum likelihood: (n, n_natural)."""
        found = self.ml
        place = {label: i for i, label in enumerate(found.subjects)}
        estimates = [found[place[label]] for label in self.labels]
        assert self.source is not None
        if isinstance(self.source.likelihoods, ChoiceLikelihoods):
            return np.stack([np.asarray(e.theta) for e in estimates])
        own = [{p.name: p.estimate for p in e.parameters} for e in estimates]
        return np.array(
            [[one.get(v.name, np.nan) for v in self.natural_parameter_rows] for one in own]
        )

    def __repr__(self) -> str:
        return f"<PopulationSubjects: {len(self)} subjects, {', '.join(self.natural_names)}>"


def draw_posteriors(source: PopulationSource, n: int, rng: np.random.Generator) -> Matrix:
    """Draw coordinates from every subject's posterior: (n_subjects, n, p)."""
    found, people = source.descriptive_optimum, source.likelihoods
    structure = found.marginal.structure
    means = structure.means(found.x[: structure.n_beta])
    matrices = structure.spread.covariance_matrices(found.x[structure.n_beta :])[structure.group]
    count, r = CANDIDATES_PER_DRAW * n, len(structure.random_coordinates)
    h = np.repeat(means[:, None], n, axis=1)
    centre, factor = found.posterior
    for i in range(len(people.subjects)):
        z = rng.standard_normal((count, r))
        z /= np.sqrt(rng.chisquare(PROPOSAL_DF, size=(count, 1)) / PROPOSAL_DF)
        trial = np.repeat(means[i][None], count, axis=0)
        trial[:, structure.random_coordinates] = centre[i] + z @ factor[i].T
        value = people.log_likelihoods(np.array([i]), trial[None, :, None])[0, :, 0]
        away = trial[:, structure.random_coordinates] - means[i, structure.random_coordinates]
        value = value - 0.5 * np.einsum("ja,ab,jb->j", away, np.linalg.inv(matrices[i]), away)
        value = value + 0.5 * (PROPOSAL_DF + r) * np.log1p((z**2).sum(axis=1) / PROPOSAL_DF)
        share = np.exp(value - value.max())
        chosen = rng.choice(count, size=n, p=share / share.sum())
        h[i] = trial[chosen]
    return h


MIN_PREDICTED_PROBABILITY = 1e-5  # skips most nodes; those change no prediction's fourth digit


def predict_choices(source: PopulationSource, data: Any, average: bool) -> Matrix:
    """Probabilities of every option at every decision, in the order of the data."""
    if source.conditions is not None:
        raise DataError(
            "predict",
            "must be of a population without conditions",
            got=f"one with {source.conditions.name}",
            fix="Fit the conditions apart, or take prior_for(...).",
        )
    if source.model is None or isinstance(data, Choices):
        return _predict_choice_table(source, data_of(data), average)
    parts = [
        _predict_episode(source, source.model, episode, average) for episode in as_episodes(data)
    ]
    return np.concatenate(parts)


def _predict_episode(
    source: PopulationSource, model: Model, episode: History, average: bool
) -> Matrix:
    points, weights = _posterior_points_and_weights(source, episode.subject, average)
    q = source.likelihoods.coordinates.n_shape
    psi, _ = source.likelihoods.coordinates.psi(points)
    theta = source.likelihoods.coordinates.theta(points[:, q:])
    total: Any = 0.0
    for p, own, at in zip(weights, theta, psi, strict=True):
        total = total + p * probabilities(model, (episode,), own, at)
    return np.asarray(total)


def _predict_choice_table(source: PopulationSource, data: Any, average: bool) -> Matrix:
    """Probabilities of all rows of the choices, whose sets may differ in size."""
    if not isinstance(data, Choices):
        raise DataError(
            "data",
            "must be Choices, as the fitted data were",
            got=type(data).__name__,
            fix="Give the same kind of data.",
        )
    coordinates = source.likelihoods.coordinates
    if tuple(data.names) != coordinates.names:
        raise DataError(
            "data",
            f"must have the variables {', '.join(coordinates.names)}",
            got=", ".join(data.names),
            fix="Give the same.",
        )
    labels: Sequence[Label] = data.subject_labels or (None,)
    codes = np.zeros(data.n_decisions, dtype=np.int64) if data.subject is None else data.subject
    total = np.zeros(len(data.explanatory))
    whose = np.repeat(codes, np.diff(data.first_row))
    whole = replace(data, chosen=np.zeros_like(data.chosen)) if not data.observed else data
    for code, label in enumerate(labels):
        points, weights = _posterior_points_and_weights(source, label, average)
        theta = coordinates.theta(points)
        mine = whose == code
        own = sum(
            p * np.exp(log_probabilities(t, whole)) for p, t in zip(weights, theta, strict=True)
        )
        total[mine] = np.asarray(own)[mine]
    sizes = np.diff(data.first_row)
    return total.reshape(len(sizes), -1) if sizes.min() == sizes.max() else total


def _posterior_points_and_weights(
    source: PopulationSource, label: Label, average: bool
) -> tuple[Matrix, Vector]:
    """Points (J, p) of a subject's posterior, or the population's for a new subject, and weights.

    At the mean alone unless an average over the posterior is asked for.
    """
    found = source.descriptive_optimum
    structure = found.marginal.structure
    labels = list(source.likelihoods.subjects)
    one = np.ones(1)
    if label in labels:
        i = labels.index(label)
        mean = structure.means(found.x[: structure.n_beta])[i]
        probability = found.evaluation.node_probabilities[i]
        own = found.marginal.nodes.points[i]
        if not average:
            mean[structure.random_coordinates] = probability @ own
            return mean[None], one
        likely = probability > MIN_PREDICTED_PROBABILITY
        points = np.repeat(mean[None], int(likely.sum()), axis=0)
        points[:, structure.random_coordinates] = own[likely]
        return points, probability[likely] / probability[likely].sum()
    mean = source.design.person_design_matrix({}) @ found.x[: structure.n_beta]
    if not average:
        return mean[None], one
    matrix = structure.spread.covariance_matrices(found.x[structure.n_beta :]).mean(axis=0)
    r = len(structure.random_coordinates)
    q = int((structure.random_coordinates < source.likelihoods.coordinates.n_shape).sum())
    rule = QuadratureRule.for_dimensions(q, r - q, NODES_BY_DIMENSION.get(r, 5))
    if rule.uses_draws:
        # A fixed seed: predicting twice must give the same numbers.
        z = np.random.default_rng(0).standard_normal((512, r))
        weights = np.full(len(z), 1 / len(z))
    else:
        z = rule.standard_nodes.reshape(-1, r)
        weights = np.exp(rule.log_weights.ravel() - 0.5 * (z**2).sum(axis=1))
        weights /= weights.sum()
    points = np.repeat(mean[None], len(z), axis=0)
    points[:, structure.random_coordinates] += z @ np.linalg.cholesky(matrix).T
    return points, weights
