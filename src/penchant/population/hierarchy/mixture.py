"""Several models at once: who follows which, and the population of each.

Hierarchical Bayesian inference in the sense of Piray et al. (2019), on integrated evidences: with
L_ik the log-evidence of subject i under the population of model k, sum_i log sum_k pi_k exp(L_ik)
is maximised. People count in the population of a model as much as they probably follow it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from penchant._typing import Matrix, Vector
from penchant.errors import DataError
from penchant.models.model import Model
from penchant.models.record import as_episodes, refuse_no_model
from penchant.output import (
    Backend,
    Result,
    Table,
    format_number,
    frame_backend,
    make_frame,
    preserve_frame_backend,
    to_json_label,
    to_json_numbers,
)
from penchant.population.hierarchy.assemble import result_of
from penchant.population.hierarchy.design import read_design
from penchant.population.hierarchy.fit import FEWEST, Plan, people_of_data
from penchant.population.hierarchy.result import PopulationFit, Source
from penchant.population.hierarchy.search import Found, Search, begin, search
from penchant.softmax.likelihood import available_threads

MOST_ROUNDS = 40
ENOUGH = 1e-3  # log-units gained in a round
STILL = 0.02  # standard errors by which parameters may move in a round's last step
FEW = 3.0  # people a model must have to be estimated anew
LEAST = 1e-8  # responsibility that counts


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
    subjects: tuple[Any, ...]
    shares: Vector
    responsibilities: Matrix
    evidence: Matrix
    log_likelihood: float
    converged: bool

    def __getitem__(self, name: str) -> PopulationFit:
        if name not in self.fits:
            known = ", ".join(self.names)
            raise DataError(f"name must be one of {known}; got {name!r}. Correct it.")
        return self.fits[name]

    def to_frame(self, backend: Backend | None = None) -> Any:
        """One row per subject: the probability of each model, and the evidences."""
        columns: dict[str, list[Any]] = {"subject": list(self.subjects)}
        for k, name in enumerate(self.names):
            columns[name] = self.responsibilities[:, k].tolist()
        for k, name in enumerate(self.names):
            columns[f"{name}_evidence"] = self.evidence[:, k].tolist()
        return make_frame(columns, backend or frame_backend(self))

    def table(self) -> Table:
        """For reading."""
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

    def summary(self) -> str:
        """As text."""
        return self.table().text()

    def __repr__(self) -> str:
        each = (f"{n} {s:.2f}" for n, s in zip(self.names, self.shares, strict=True))
        return f"<PopulationMixture of {len(self.subjects)} subjects: {', '.join(each)}>"

    def document(self) -> dict[str, Any]:
        """What it says, as JSON has it."""
        return {
            "format": "penchant-population-mixture",
            "version": 1,
            "names": list(self.names),
            "subjects": [to_json_label(s) for s in self.subjects],
            "shares": to_json_numbers(self.shares),
            "responsibilities": to_json_numbers(self.responsibilities),
            "evidence": to_json_numbers(self.evidence),
            "log_likelihood": to_json_numbers(self.log_likelihood),
            "converged": self.converged,
            "populations": {name: fit.to_dict() for name, fit in self.fits.items()},
        }


@preserve_frame_backend
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
            f"models must be one or more by name; got {type(models).__name__}. Pass "
            '{"learner": QLearning(2), "habit": RandomChoice(2)}.'
        )
    for model in models.values():
        refuse_no_model(model)
    if spread not in ("full", "diagonal"):
        raise DataError(f"spread must be 'full' or 'diagonal'; got {spread!r}. Choose one.")
    episodes = as_episodes(data)
    workers = available_threads() if threads is None else threads
    each = [_Member.of(episodes, model, spread, nodes, workers) for model in models.values()]
    n = len(each[0].plan.people.subjects)
    if n < FEWEST:
        raise DataError(
            f"data must hold at least {FEWEST} subjects for a population; got {n}. Fit them one by "
            "one with fit_each."
        )
    shares = np.full(len(each), 1 / len(each))
    responsibilities = np.full((n, len(each)), 1 / len(each))
    before, converged, evidence = -np.inf, False, np.zeros((n, len(each)))
    for _ in range(MOST_ROUNDS):
        for k, member in enumerate(each):
            if responsibilities[:, k].sum() >= FEW or member.found is None:
                member.update(np.maximum(responsibilities[:, k], LEAST))
            evidence[:, k] = member.evidence
        joint = np.log(np.maximum(shares, 1e-300)) + evidence
        total = special.logsumexp(joint, axis=1)
        responsibilities = np.exp(joint - total[:, None])
        shares = responsibilities.mean(axis=0)
        value = float(total.sum())
        if abs(value - before) < ENOUGH:
            converged = True
            break
        before = value
    fits = {name: m.result(data) for name, m in zip(models, each, strict=True)}
    return PopulationMixture(
        tuple(map(str, models)),
        fits,
        each[0].plan.people.subjects,
        shares,
        responsibilities,
        evidence.copy(),
        value,
        converged,
    )


class _Member:
    """One model with its population so far."""

    def __init__(self, plan: Plan, model: Model | None, start: tuple[Any, ...]) -> None:
        self.plan, self.model, self.start = plan, model, start
        self.found: Found | None = None
        self.task: Search | None = None

    @classmethod
    def of(
        cls, episodes: Any, model: Model, spread: str, nodes: int | None, threads: int
    ) -> _Member:
        people, _ = people_of_data(episodes, model, None, None, None, threads)
        names, n = people.coordinates.names, len(people.subjects)
        design = read_design(names, people.subjects, None, None, None)
        correlated = spread == "full" and len(names) > 1
        group = np.zeros(n, dtype=np.int64)
        plan = Plan(people, design, list(range(len(names))), correlated, group, 1, "ml", nodes)
        return cls(plan, model, begin(people, plan.structure(plan.differing).design))

    def update(self, counts: Vector) -> None:
        """The best population of people who count so much."""
        task = self.plan.task(self.plan.differing)
        structure = task.structure._replace(counts=counts)
        self.task = Search(task.people, structure, task.k, False, task.n_draws, still=STILL)
        beta, matrix, h, information = self.start
        numbers = None
        if self.found is not None:
            s = self.found.marginal.structure
            beta, numbers = self.found.x[: s.n_beta], self.found.x[s.n_beta :]
        self.found = search(self.task, beta, matrix, h, information, numbers)

    @property
    def evidence(self) -> Vector:
        """Log-evidence of every subject."""
        assert self.found is not None
        return self.found.known.evidence

    def result(self, data: Any) -> PopulationFit:
        """As `fit_population` returns it."""
        assert self.found is not None and self.task is not None
        source = Source(
            self.plan.people,
            self.model,
            data,
            self.plan.design,
            None,
            self.found,
            self.found,
            self.task,
            (),
            "model",
        )
        return result_of(source, 0.0, {}, ("People count as they probably follow the model.",))
