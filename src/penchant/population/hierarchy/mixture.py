"""Mixture of populations: several models, of which each subject follows one.

Hierarchical Bayesian inference in the sense of Piray et al. (2019), on integrated evidences: with
L_ik the log-evidence of subject i under the population of model k, sum_i log sum_k pi_k exp(L_ik)
is maximised by EM. Responsibilities weight the subjects in the population of each model, which is
fitted by `marginal_maximization`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from penchant._typing import Label, Matrix, Vector
from penchant.argument_checks import check_one_of
from penchant.errors import DataError
from penchant.models.arguments import as_episodes, refuse_no_model
from penchant.models.model import Model
from penchant.population.hierarchy.data_behind_fit import PopulationSource
from penchant.population.hierarchy.design_matrix import read_design
from penchant.population.hierarchy.fit import FIT, PopulationFitPlan, build_likelihoods
from penchant.population.hierarchy.marginal_maximization import (
    SearchProblem,
    SearchResult,
    StartingValues,
    maximize_by_quadrature,
    starting_values,
)
from penchant.population.hierarchy.result import PopulationFit
from penchant.population.hierarchy.result_builder import build_result
from penchant.result_tables import (
    Columns,
    Result,
    Table,
    format_number,
)
from penchant.softmax.likelihood import available_threads


@dataclass(frozen=True, slots=True)
class MixtureOptions:
    """Limits of the EM iteration over models."""

    max_rounds: int = 40  # a backstop: 5 to 15 EM rounds are usual
    gain_tol: float = 1e-3  # log-units per round; smaller gains change no reported probability
    step_tol: float = 0.02  # standard errors; coarse, as the next round repeats the M-step anyway
    min_subjects: float = 3.0  # expected; with fewer a variance would collapse: no update
    min_responsibility: float = 1e-8  # weights of 0 would leave an empty model without a variance


MIXTURE = MixtureOptions()


@dataclass(frozen=True, eq=False, repr=False)
class PopulationMixture(Result):
    """People of several models.

    Attributes
    ----------
    names, fits
        Models, and the population of each, in which people count as they probably follow it.
    subjects
        Labels.
    shares
        Of people that follow each model.
    responsibilities
        (n_subjects, n_models): probability that a subject follows each.
    evidence
        (n_subjects, n_models): log-evidence under each population, for `select_models`.
    log_likelihood
        Of all decisions.
    converged
        Whether it stood still.
    """

    names: tuple[str, ...]
    fits: Mapping[str, PopulationFit]
    subjects: tuple[Label, ...]
    shares: Vector
    responsibilities: Matrix
    evidence: Matrix
    log_likelihood: float
    converged: bool

    def __getitem__(self, name: str) -> PopulationFit:
        if name not in self.fits:
            known = ", ".join(self.names)
            raise DataError("name", f"must be one of {known}", got=repr(name), fix="Correct it.")
        return self.fits[name]

    def frame_columns(self) -> Columns:
        """Table with one row per subject: the probability of each model, and the evidences."""
        columns: dict[str, list[Any]] = {"subject": list(self.subjects)}
        for k, name in enumerate(self.names):
            columns[name] = self.responsibilities[:, k].tolist()
        for k, name in enumerate(self.names):
            columns[f"{name}_evidence"] = self.evidence[:, k].tolist()
        return columns

    def table(self) -> Table:
        """Table for reading."""
        best = self.responsibilities.argmax(axis=1)
        rows = tuple(
            (
                name,
                f"{self.shares[k]:.3f}",
                str(int((best == k).sum())),
                format_number(float(self.evidence[:, k].sum()), 6),
                ", ".join(
                    f"{p.name} {format_number(p.estimate, 3)}" for p in self.fits[name].parameters
                ),
            )
            for k, name in enumerate(self.names)
        )
        header = ("", "share", "people", "evidence", "typical person")
        facts = (
            ("Status", "converged" if self.converged else "stopped early"),
            ("Subjects", str(len(self.subjects))),
            ("Log-likelihood", f"{self.log_likelihood:.2f}"),
        )
        return Table("Populations of several models", facts, header, rows, ())

    def __repr__(self) -> str:
        components = (f"{n} {s:.2f}" for n, s in zip(self.names, self.shares, strict=True))
        return f"<PopulationMixture of {len(self.subjects)} subjects: {', '.join(components)}>"


def fit_mixture(
    data: Any,
    models: Mapping[str, Model],
    *,
    spread: str = "diagonal",
    nodes: int | None = None,
    threads: int | None = None,
) -> PopulationMixture:
    """Fit the populations of several models to people of whom each follows one of them.

    Parameters
    ----------
    data
        Episodes or offers of many subjects.
    models
        By name.
    spread
        "diagonal" or "full", of every population.
    nodes, threads
        As in `fit_population`.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> rng = np.random.default_rng(3)
    >>> turning = np.tile(np.repeat([[0.2, 0.8], [0.8, 0.2]], 20, axis=0), (2, 1))
    >>> learner, habit = pn.QLearning(2, initial_value=0.0), pn.models.RandomChoice(2)
    >>> plays = []
    >>> for subject in range(12):
    ...     if subject < 7:
    ...         rule = {"temperature": np.exp(rng.normal(-1.8, 0.2)), "learning_rate": 0.5}
    ...         plays += [pn.simulate(turning, learner, rule, rng=rng, subject=subject)]
    ...     else:
    ...         rule = {"bias_0": rng.normal()}
    ...         plays += [pn.simulate(turning, habit, rule, rng=rng, subject=subject)]
    >>> found = pn.fit_mixture(plays, {"learner": learner, "habit": habit})
    >>> found.responsibilities.argmax(axis=1)
    array([0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    """
    if not isinstance(models, Mapping) or not models:
        raise DataError(
            "models",
            "must be one or more by name",
            got=type(models).__name__,
            fix='Pass {"learner": QLearning(2), "habit": RandomChoice(2)}.',
        )
    for model in models.values():
        refuse_no_model(model)
    check_one_of(spread, "spread", ("full", "diagonal"))
    episodes = as_episodes(data)
    workers = available_threads() if threads is None else threads
    components = [
        _MixtureComponent.from_episodes(episodes, model, spread, nodes, workers)
        for model in models.values()
    ]
    n = len(components[0].plan.likelihoods.subjects)
    if n < FIT.min_subjects:
        raise DataError(
            "data",
            f"must hold at least {FIT.min_subjects} subjects for a population",
            got=n,
            fix="Fit them one by one with fit_each.",
        )
    shares = np.full(len(components), 1 / len(components))
    responsibilities = np.full((n, len(components)), 1 / len(components))
    before, converged, evidence = -np.inf, False, np.zeros((n, len(components)))
    for _ in range(MIXTURE.max_rounds):
        for k, component in enumerate(components):
            if responsibilities[:, k].sum() >= MIXTURE.min_subjects or component.optimum is None:
                component.maximize_weighted_likelihood(
                    np.maximum(responsibilities[:, k], MIXTURE.min_responsibility)
                )
            evidence[:, k] = component.evidence
        joint = np.log(np.maximum(shares, 1e-300)) + evidence  # log of a share that is 0
        total = special.logsumexp(joint, axis=1)
        responsibilities = np.exp(joint - total[:, None])
        shares = responsibilities.mean(axis=0)
        value = float(total.sum())
        if abs(value - before) < MIXTURE.gain_tol:
            converged = True
            break
        before = value
    fits = {name: m.result(data) for name, m in zip(models, components, strict=True)}
    return PopulationMixture(
        tuple(map(str, models)),
        fits,
        components[0].plan.likelihoods.subjects,
        shares,
        responsibilities,
        evidence.copy(),
        value,
        converged,
    )


class _MixtureComponent:
    """A model of the mixture, with its current population."""

    def __init__(self, plan: PopulationFitPlan, model: Model | None, start: StartingValues) -> None:
        self.plan, self.model, self.start = plan, model, start
        self.optimum: SearchResult | None = None
        self.problem: SearchProblem | None = None

    @classmethod
    def from_episodes(
        cls, episodes: Any, model: Model, spread: str, nodes: int | None, threads: int
    ) -> _MixtureComponent:
        likelihoods, _ = build_likelihoods(episodes, model, None, None, None, threads)
        names, n = likelihoods.coordinates.names, len(likelihoods.subjects)
        design = read_design(names, likelihoods.subjects, None, None, None)
        correlated = spread == "full" and len(names) > 1
        group = np.zeros(n, dtype=np.int64)
        plan = PopulationFitPlan(
            likelihoods, design, list(range(len(names))), correlated, group, 1, "ml", nodes
        )
        return cls(
            plan,
            model,
            starting_values(
                likelihoods, plan.random_effects_structure(plan.random_effect_candidates).design
            ),
        )

    def maximize_weighted_likelihood(self, subject_weights: Vector) -> None:
        """Maximize the population's likelihood with weighted subjects, from the last optimum."""
        problem = self.plan.search_problem(self.plan.random_effect_candidates)
        structure = problem.structure._replace(subject_weights=subject_weights)
        self.problem = replace(problem, structure=structure, step_tol=MIXTURE.step_tol)
        start = self.start
        if self.optimum is not None:
            x, n_beta = self.optimum.x, structure.n_beta
            start = start._replace(beta=x[:n_beta], spread_parameters=x[n_beta:])
        self.optimum = maximize_by_quadrature(self.problem, start)

    @property
    def evidence(self) -> Vector:
        """Log-evidence of every subject."""
        assert self.optimum is not None
        return self.optimum.evaluation.evidence

    def result(self, data: Any) -> PopulationFit:
        """Population as `fit_population` returns it."""
        assert self.optimum is not None and self.problem is not None
        source = PopulationSource(
            self.plan.likelihoods,
            self.model,
            data,
            self.plan.design,
            None,
            self.optimum,
            self.optimum,
            self.problem,
            (),
            "model",
        )
        return build_result(source, 0.0, {}, ("People count as they probably follow the model.",))
