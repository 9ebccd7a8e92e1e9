"""The result of pooling: one estimate for a population."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from penchant._frames import Backend, came_as, frame
from penchant._typing import Matrix, Vector
from penchant.arguments import check_level
from penchant.errors import DataError, listing
from penchant.output.document import plain, plain_label
from penchant.output.shown import Shown
from penchant.output.table import Table, number
from penchant.population.random_effects import Heterogeneity
from penchant.population.subjects import LeftOut, Scale
from penchant.softmax.transformations import Parameter
from penchant.tails import t_point

Rule = Literal[
    "mean-pooled",
    "mean-sample",
    "fixed-effect",
    "random-effects",
    "dersimonian-laird",
    "joint",
    "published",
]


MOSTLY_TOLD = 0.75  # share of the differences between estimates that is between people


@dataclass(frozen=True, eq=False, repr=False)
class PopulationEstimate(Shown):
    """What the subjects of a population have in common.

    Attributes
    ----------
    names, estimate, covariance
        Parameters with the covariance of the estimate; NaN where there is none.
    rule
        How it was pooled: see `pool`.
    subjects, left_out
        Whose estimates it rests on, and those that could not be used, with the reason.
    n_subjects
        How many it rests on.
    degrees_of_freedom
        Of the standard errors: n_subjects - 1 where they come from the spread between subjects,
        infinite where they come from a model.
    heterogeneity
        Q, I2 and, of random effects, the covariance between subjects; None with fewer than two.
    status, message
        "estimated", or what is wrong, and a sentence about it.
    """

    names: tuple[str, ...]
    estimate: Vector
    covariance: Matrix
    rule: Rule
    n_subjects: int
    subjects: tuple[Any, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    degrees_of_freedom: float = np.inf
    heterogeneity: Heterogeneity | None = None
    status: str = "estimated"
    message: str = ""
    scale: Scale = "theta"
    log_likelihood: float | None = None

    @classmethod
    def from_summary(
        cls,
        estimate: Any,
        standard_errors: Any,
        n_subjects: int,
        *,
        names: Sequence[str] | None = None,
        scale: Scale = "theta",
    ) -> PopulationEstimate:
        """A population of which only a published table is known.

        Covariances between parameters are not known, and not taken for 0: they are NaN, and what
        needs them (the joint test, standard errors of ratios) is NaN too.

        Examples
        --------
        >>> import penchant as pn
        >>> low_a = pn.results.PopulationEstimate.from_summary([0.36, -5.22], [90.4, 1270.0], 153)
        >>> low_a.degrees_of_freedom
        152.0
        """
        values, errors = np.asarray(estimate, float), np.asarray(standard_errors, float)
        if values.ndim != 1 or values.shape != errors.shape or not (errors > 0).all():
            raise DataError(
                "estimate and standard_errors must be vectors of the same length, the latter "
                f"positive; got {estimate!r} and {standard_errors!r}. Correct them."
            )
        if n_subjects < 1:
            raise DataError(f"n_subjects must be at least 1; got {n_subjects}. Correct it.")
        covariance = np.full((len(values), len(values)), np.nan)
        np.fill_diagonal(covariance, errors**2)
        own = tuple(f"theta{a + 1}" for a in range(len(values))) if names is None else tuple(names)
        if len(own) != len(values):
            raise DataError(
                f"names must be one per estimate ({len(values)}); got {len(own)}. Match them."
            )
        df = float(n_subjects - 1)
        return cls(
            own, values, covariance, "published", n_subjects, degrees_of_freedom=df, scale=scale
        )

    @property
    def standard_errors(self) -> Vector:
        """Square roots of the covariance's diagonal; NaN where there is none."""
        return np.sqrt(np.diag(self.covariance))

    def interval(self, level: float = 0.95) -> Matrix:
        """Interval of each parameter, (n_parameters, 2): Student's t, or normal, see above."""
        check_level(level)
        return _around(self.estimate, self.standard_errors, self.degrees_of_freedom, level)

    def prediction_interval(self, level: float = 0.95) -> Matrix:
        """Where the parameters of a new subject lie, of random effects: (n_parameters, 2).

        Student's t with n_subjects - 2 degrees of freedom about the mean, with the variance between
        subjects added to that of the mean; NaN with fewer than three subjects.
        """
        check_level(level)
        if self.heterogeneity is None or self.heterogeneity.tau2 is None:
            raise DataError(
                f"prediction_interval must have the variance between subjects; got rule "
                f"{self.rule!r} with {self.n_subjects} subjects. Use rule='random-effects'."
            )
        if self.n_subjects < 3:
            return np.full((len(self.names), 2), np.nan)
        errors = np.sqrt(self.heterogeneity.tau2 + self.standard_errors**2)
        return _around(self.estimate, errors, self.n_subjects - 2.0, level)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters with 95 % intervals."""
        return self.parameters_at(0.95)

    def parameters_at(self, level: float) -> tuple[Parameter, ...]:
        """The parameters with intervals at this level."""
        ends = self.interval(level)
        numbers = zip(self.names, self.estimate, self.standard_errors, ends, strict=True)
        return tuple(
            Parameter(name, float(value), float(error), float(low), float(high))
            for name, value, error, (low, high) in numbers
        )

    # -- for reading -----------------------------------------------------------------------------

    def table(self, level: float = 0.95) -> Table:
        """The summary as a table."""
        rows = [
            [p.name, *(number(v) for v in (p.estimate, p.standard_error)), *_ends(p)]
            for p in self.parameters_at(level)
        ]
        header = ["", "estimate", "std. error", f"{100 * level:g} % low", "high"]
        known = self.heterogeneity
        if known is not None:
            header.append("I2")
            for row, share in zip(rows, known.i2_each, strict=True):
                row.append(f"{100 * share:.0f} %")
            if known.tau2 is not None:
                header.append("sd between")
                for row, variance in zip(rows, known.tau2, strict=True):
                    row.append(number(float(np.sqrt(variance)), 4))
        facts = [("Status", self.status), ("Subjects", str(self.n_subjects))]
        facts += [("Left out", str(len(self.left_out)))] if self.left_out else []
        facts += [("Heterogeneity", str(known))] if known is not None else []
        if self.log_likelihood is not None:
            facts.append(("Log-likelihood", f"{self.log_likelihood:.4f}"))
        left = (f"Left out: {listing(map(str, self.left_out))}.",) if self.left_out else ()
        said = (self.message, *left, self.caution)
        notes = tuple(filter(None, said))
        body = tuple(tuple(row) for row in rows)
        return Table(f"Population: {self.rule}", tuple(facts), tuple(header), body, notes)

    @property
    def caution(self) -> str:
        """Why an average of estimates may be off here, in a sentence; empty where it is not said.

        Because people are left out, or because estimates are about as uncertain as people differ
        (I2 below 75 %), so that weights depend on the estimates.
        """
        if self.rule == "joint" or self.status != "estimated":
            return ""
        known = self.heterogeneity
        told = np.ones(len(self.names)) if known is None else np.asarray(known.i2_each)
        vague = [n for n, share in zip(self.names, told, strict=True) if share < MOSTLY_TOLD]
        weighs = self.rule in ("random-effects", "dersimonian-laird", "fixed-effect")
        why = []
        if self.left_out:
            why.append("those left out are seldom like the others")
        if vague and weighs:
            why.append(f"much of how people differ in {' and '.join(vague)} is error")
        if not why:
            return ""
        return f"The average may be off: {', and '.join(why)}. fit_population keeps everybody."

    def summary(self, level: float = 0.95) -> str:
        """Everything one reads first, as text."""
        return self.table(level).text()

    def __repr__(self) -> str:
        values = (f"{n}={number(v)}" for n, v in zip(self.names, self.estimate, strict=True))
        people = f"{self.n_subjects} subject{'s' * (self.n_subjects != 1)}"
        return f"<PopulationEstimate {self.rule} of {people}: {', '.join(values)}>"

    def to_latex(self, level: float = 0.95) -> str:
        """The table for a paper (booktabs)."""
        return self.table(level).latex()

    def to_frame(self, level: float = 0.95, backend: Backend | None = None) -> Any:
        """One row per parameter."""
        return frame(self._columns(level), backend or came_as(self))

    def _columns(self, level: float) -> dict[str, list[Any]]:
        found = self.parameters_at(level)
        columns: dict[str, list[Any]] = {
            name: [getattr(p, name) for p in found]
            for name in ("name", "estimate", "standard_error", "low", "high")
        }
        blank = np.full(len(found), np.nan)
        known = self.heterogeneity
        columns["i2"] = (blank if known is None else known.i2_each).tolist()
        tau2 = None if known is None else known.tau2
        columns["tau2"] = (blank if tau2 is None else tau2).tolist()
        for name in ("n_subjects", "rule", "status"):
            columns[name] = [getattr(self, name)] * len(found)
        columns["n_left_out"] = [len(self.left_out)] * len(found)
        return columns

    def document(self, level: float = 0.95) -> dict[str, Any]:
        """What it says, as JSON has it."""
        return {
            "format": "penchant-population-estimate",
            "version": 1,
            "rule": self.rule,
            "scale": self.scale,
            "status": self.status,
            "message": self.message,
            "caution": self.caution,
            "n_subjects": self.n_subjects,
            "subjects": [plain_label(subject) for subject in self.subjects],
            "left_out": [{"subject": plain_label(x.subject), "why": x.why} for x in self.left_out],
            "level": level,
            "parameters": [
                {k: v if k == "name" else plain(v) for k, v in vars(p).items()}
                for p in self.parameters_at(level)
            ],
            "covariance": plain(self.covariance),
            "degrees_of_freedom": plain(self.degrees_of_freedom),
            "heterogeneity": self.heterogeneity and self.heterogeneity.to_dict(),
            "log_likelihood": plain(self.log_likelihood),
        }


@dataclass(frozen=True, eq=False, repr=False)
class PopulationEstimates(Mapping[Any, PopulationEstimate], Shown):
    """One population estimate per category."""

    populations: Mapping[Any, PopulationEstimate]

    def __getitem__(self, category: Any) -> PopulationEstimate:
        return self.populations[category]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.populations)

    def __len__(self) -> int:
        return len(self.populations)

    def to_frame(self, level: float = 0.95, backend: Backend | None = None) -> Any:
        """One row per category and parameter."""
        columns: dict[str, list[Any]] = {}
        for category, population in self.populations.items():
            own = population._columns(level)
            label = [category] * len(population.names)
            for name, found in {"category": label, **own}.items():
                columns.setdefault(name, []).extend(found)
        return frame(columns, backend or came_as(self))

    def summary(self, level: float = 0.95) -> str:
        """All categories as text."""
        return "\n\n".join(f"{c}\n{p.summary(level)}" for c, p in self.populations.items())

    def document(self, level: float = 0.95) -> dict[str, Any]:
        """What it says, as JSON has it: a list with the categories."""
        return {
            "categories": [
                {"category": plain_label(c), **p.document(level)}
                for c, p in self.populations.items()
            ]
        }

    def __repr__(self) -> str:
        people = ", ".join(f"{c}: {p.n_subjects}" for c, p in self.populations.items())
        return f"<PopulationEstimates {people} subjects>"


def _around(centre: Vector, errors: Vector, df: float, level: float) -> Matrix:
    half = float(t_point((1 - level) / 2, df)) * errors if df > 0 else np.nan * errors
    return np.column_stack([centre - half, centre + half])


def _ends(parameter: Parameter) -> tuple[str, str]:
    return number(parameter.low, 4), number(parameter.high, 4)
