"""Design matrices of a population: covariates of every coordinate's mean, as columns.

Numbers are centred, and factors have treatment coding: a level's column is 1 for its people and 0
for others, and the first level has none. The coefficient that bears a parameter's own name is that
of the first level at the mean of the numbers; one of another level is its difference from that. An
average person is the mean over levels, each counted once. Formulas are parsed by formulaic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import IntVector, Label, Matrix, Vector
from penchant.errors import (
    DataError,
    PythonExpression,
    closest_match_hint,
    format_list,
    mark_argument,
)
from penchant.result_tables import make_frame
from penchant.tables.frames import open_frame
from penchant.tables.lexicon import role_column

Term = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class CovariateColumns:
    """A covariate: a number or a factor.

    Attributes
    ----------
    name
        Of the column.
    levels
        Of a factor, in the order in which people have them; empty for a number.
    values
        (n,): centred numbers, or indices of levels.
    centre
        The mean that was taken off.
    """

    name: str
    levels: tuple[Any, ...]
    values: Vector
    centre: float = 0.0

    @property
    def covariate_column_names(self) -> tuple[str, ...]:
        """Names of the columns."""
        if not self.levels:
            return (self.name,)
        return tuple(f"{self.name}[{level}]" for level in self.levels[1:])

    def design_columns_of_values(self, values: Vector) -> Matrix:
        """Columns (n, n_columns) of values."""
        if not self.levels:
            return np.asarray(values, dtype=np.float64)[:, None]
        codes = np.eye(len(self.levels))[:, 1:]
        return np.asarray(codes[np.asarray(values, dtype=np.int64)])

    @property
    def columns_of_average_person(self) -> Vector:
        """Columns of an average person: at the mean of a number, the mean over levels."""
        return np.asarray(
            self.design_columns_of_values(np.arange(len(self.levels) or 1.0)).mean(axis=0)
        )

    def code_value(self, value: Any) -> float:
        """A number or level as people give it, as `design_columns_of_values` takes it."""
        if not self.levels:
            return float(value) - self.centre
        if value not in self.levels:
            known = ", ".join(map(str, self.levels))
            raise DataError(
                self.name,
                f"must be one of {known}",
                got=repr(value),
                fix=closest_match_hint(str(value), map(str, self.levels)) or "Correct it.",
            )
        return float(self.levels.index(value))


@dataclass(frozen=True, eq=False)
class Design:
    """Design of every coordinate's mean.

    Attributes
    ----------
    parameters
        Names of the coordinates.
    variables
        Covariates by name.
    terms
        For each coordinate: products of covariates beside its own mean.
    """

    parameters: tuple[str, ...]
    variables: Mapping[str, CovariateColumns]
    terms: tuple[tuple[Term, ...], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients: the parameter's, with the covariate behind a colon."""
        found = []
        for parameter, terms in zip(self.parameters, self.terms, strict=True):
            found.append(parameter)
            for term in terms:
                found += [f"{parameter}:{column}" for column in self._columns(term)]
        return tuple(found)

    def _columns(self, term: Term) -> list[str]:
        names = [""]
        for name in term:
            own = self.variables[name].covariate_column_names
            names = [f"{before}:{after}" if before else after for before in names for after in own]
        return names

    def _design_matrices(self, coded: Mapping[str, Matrix], n: int) -> Matrix:
        """Rows (n, n_parameters, n_coefficients) of people with these columns of covariates."""
        blocks = []
        for terms in self.terms:
            columns = [np.ones((n, 1))]
            for term in terms:
                product = np.ones((n, 1))
                for name in term:
                    product = (product[:, :, None] * coded[name][:, None, :]).reshape(n, -1)
                columns.append(product)
            blocks.append(np.hstack(columns))
        whole = np.zeros((n, len(self.terms), sum(b.shape[1] for b in blocks)))
        first = 0
        for a, block in enumerate(blocks):
            whole[:, a, first : first + block.shape[1]] = block
            first += block.shape[1]
        return whole

    def subject_design_matrices(self, n: int) -> Matrix:
        """Rows (n, n_parameters, n_coefficients) of the subjects that were fitted."""
        return self._design_matrices(
            {name: v.design_columns_of_values(v.values) for name, v in self.variables.items()}, n
        )

    def person_design_matrix(self, covariates: Mapping[str, Any]) -> Matrix:
        """Rows (n_parameters, n_coefficients) of a person, average in covariates not given."""
        for name in covariates:
            if name not in self.variables:
                known = ", ".join(self.variables) or "none"
                raise DataError(
                    name,
                    "must be a covariate of the population",
                    got=f"{name!r}, but they are {known}",
                    fix=closest_match_hint(name, self.variables) or "Correct it.",
                )
        coded = {
            name: v.design_columns_of_values(np.array([v.code_value(covariates[name])]))
            if name in covariates
            else v.columns_of_average_person[None]
            for name, v in self.variables.items()
        }
        return np.asarray(self._design_matrices(coded, 1)[0])

    def find_factor(self, name: str) -> CovariateColumns:
        """The factor that `spread="by ..."` names."""
        factors = [v for v in self.variables.values() if v.levels]
        for variable in factors:
            if variable.name == name:
                return variable
        if name == "group" and factors:
            return factors[0]
        raise DataError(
            "spread",
            "must be by a factor among the covariates",
            got=f"'by {name}', but they are {', '.join(v.name for v in factors) or 'none'}",
            fix="Name one in covariates.",
        )


def read_design(
    parameters: Sequence[str],
    subjects: Sequence[Label],
    covariates: Sequence[str] | None,
    formula: Mapping[str, str] | None,
    people: Any,
) -> Design:
    """The design that `fit_population` is asked for."""
    if covariates and formula:
        raise DataError(
            "covariates",
            "must be left out where a formula is given",
            got="both",
            fix="Write them into the formula.",
        )
    if isinstance(covariates, str):
        covariates = [covariates]
    if not covariates and not formula:
        return Design(tuple(parameters), {}, tuple(() for _ in parameters))
    if people is None:
        raise DataError(
            "people",
            "must be given with covariates, a table with a row per subject",
            got="none",
            fix=f"Pass {mark_argument('people', PythonExpression('table'))}.",
        )
    table, rows = _people_table(people, subjects)
    if covariates:
        every: tuple[Term, ...] = tuple((name,) for name in covariates)
        terms = dict.fromkeys(parameters, every)
    else:
        terms = _formula_terms(formula or {}, parameters)
    used = list(dict.fromkeys(name for own in terms.values() for term in own for name in term))
    what = "covariates" if covariates else "formula"
    variables = {name: _read_variable(table, rows, subjects, name, what) for name in used}
    design = Design(tuple(parameters), variables, tuple(terms.get(p, ()) for p in parameters))
    _check_rank(design, len(subjects))
    return design


def _people_table(people: Any, subjects: Sequence[Label]) -> tuple[Any, IntVector]:
    """The table, and the row of each subject."""
    if isinstance(people, Mapping):
        people = make_frame({str(k): list(v) for k, v in people.items()})
    table = open_frame(people)
    names = list(table.columns)
    column = role_column("subject", names)
    if column is None:
        raise DataError(
            "people",
            "must have a column called subject",
            got=format_list(map(str, names)),
            fix="Rename the column of labels.",
        )
    labels = table[column].to_list()
    row_of: dict[str, int] = {}
    for row, label in enumerate(labels):
        key = _normalized_label(label)
        if key in row_of:
            raise DataError(
                "people",
                "must have one row per subject",
                got=f"{label} in rows {row_of[key]} and {row}",
                fix="Keep one.",
            )
        row_of[key] = row
    missing = [str(s) for s in subjects if _normalized_label(s) not in row_of]
    if missing:
        raise DataError(
            "people",
            "must have a row for every subject",
            got=f"none for {format_list(missing)}",
            fix="Add them, or leave their decisions out.",
        )
    mine = {_normalized_label(s) for s in subjects}
    more = [str(label) for label in labels if _normalized_label(label) not in mine]
    if more:
        raise DataError(
            "people",
            "must hold only subjects with decisions",
            got=f"{format_list(more)} without any",
            fix="Leave them out.",
        )
    return table, np.array([row_of[_normalized_label(s)] for s in subjects], dtype=np.int64)


def _normalized_label(label: Label) -> str:
    """Normalise a label, so that 7, 7.0 and "7" are the same subject."""
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    if isinstance(label, np.floating) and float(label).is_integer():
        return str(int(label))
    return str(label).strip()


def _read_variable(
    table: Any, rows: IntVector, subjects: Sequence[Label], name: str, what: str
) -> CovariateColumns:
    names = [str(column) for column in table.columns]
    if name not in names:
        raise DataError(
            what,
            "must name columns of people",
            got=f"{name!r}, but they are {', '.join(names)}",
            fix=closest_match_hint(name, names) or "Correct it.",
        )
    raw = table[name].to_list()
    values = [raw[row] for row in rows]
    without = [
        str(s)
        for s, v in zip(subjects, values, strict=True)
        if v is None or (isinstance(v, float | np.floating) and not np.isfinite(v))
    ]
    if without:
        raise DataError(
            f"covariate {name}",
            "must be known for every subject",
            got=f"none for {format_list(without)}",
            fix="Fill it in, or leave their decisions out.",
        )
    if len({_normalized_label(v) for v in values}) == 1:
        raise DataError(
            f"covariate {name}",
            "must differ between subjects",
            got=f"{values[0]} for all",
            fix="Leave it out.",
        )
    number = all(
        isinstance(v, int | float | np.number) and not isinstance(v, bool | np.bool_)
        for v in values
    )
    if number:
        numbers = np.array(values, dtype=np.float64)
        return CovariateColumns(name, (), numbers - numbers.mean(), float(numbers.mean()))
    levels = tuple(dict.fromkeys(values))
    levels = tuple(sorted(levels, key=str))
    counts = {level: values.count(level) for level in levels}
    singletons = [str(level) for level, count in counts.items() if count == 1]
    if singletons:
        raise DataError(
            f"covariate {name}",
            "must have at least two subjects of every level",
            got=f"one of {format_list(singletons)}",
            fix="Join it with another level, or leave it out.",
        )
    return CovariateColumns(
        name, levels, np.array([levels.index(v) for v in values], dtype=np.float64)
    )


def _formula_terms(
    formula: Mapping[str, str], parameters: Sequence[str]
) -> dict[str, tuple[Term, ...]]:
    """Terms of a formula per parameter, beside the parameter's own mean."""
    if not isinstance(formula, Mapping):
        raise DataError(
            "formula",
            "must be a dictionary from parameters to formulas",
            got=repr(formula),
            fix="Write {'learning_rate': '~ group * age'}.",
        )
    try:
        from formulaic import Formula
        from formulaic.errors import FormulaSyntaxError
    except ImportError as error:
        raise DataError(
            "formula",
            "must have the package formulaic",
            got="none installed",
            fix="Install penchant[formula], or name covariates.",
        ) from error
    found = {}
    for parameter, text in formula.items():
        if parameter not in parameters:
            raise DataError(
                "formula",
                "must name parameters",
                got=f"{parameter!r}, but they are {', '.join(parameters)}",
                fix=closest_match_hint(parameter, parameters) or "Correct it.",
            )
        left, _, right = (part.strip() for part in str(text).rpartition("~"))
        if left:
            raise DataError(
                f"formula of {parameter}",
                "must begin with '~'",
                got=repr(text),
                fix=f"Leave out {left!r}.",
            )
        try:
            terms = [tuple(f.expr for f in term.factors) for term in Formula(right)]
        except (FormulaSyntaxError, SyntaxError, TypeError, ValueError) as error:
            raise DataError(
                f"formula of {parameter}",
                "must be one like '~ group * age'",
                got=repr(text),
                fix="Correct it.",
            ) from error
        if ("1",) not in terms:
            raise DataError(
                f"formula of {parameter}",
                "must keep the mean of an average person",
                got=f"{text!r} without it",
                fix="Leave out '0 +' or '- 1'.",
            )
        own = tuple(term for term in terms if term != ("1",))
        if not own and right != "1":
            raise DataError(
                f"formula of {parameter}", "must name covariates", got=repr(text), fix="Name one."
            )
        found[parameter] = own
    return found


def _check_rank(design: Design, n: int) -> None:
    """Refuse covariates that others determine, or that are as many as subjects."""
    whole = design.subject_design_matrices(n)
    first = 0
    names = design.names
    for a, parameter in enumerate(design.parameters):
        size = int((np.abs(whole[:, a]).sum(axis=0) > 0).sum())
        own = whole[:, a, first : first + size]
        # Scaled to unit columns: otherwise a covariate in small units would look collinear.
        scaled = own / np.maximum(np.sqrt((own**2).sum(axis=0)), 1e-300)
        if size and np.linalg.matrix_rank(scaled, tol=1e-9) < size:  # 1e-9: above rounding
            listed = ", ".join(names[first + 1 : first + size])
            raise DataError(
                f"covariates of {parameter}",
                "must not tell each other",
                got=f"{listed}, one of which the others determine",
                fix="Leave one out.",
            )
        if n <= size:
            raise DataError(
                f"covariates of {parameter}",
                "must be fewer than subjects",
                got=f"{size} columns of {n} subjects",
                fix="Leave some out.",
            )
        first += size
