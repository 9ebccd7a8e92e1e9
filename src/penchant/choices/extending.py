"""Methods of `Choices` that add variables: constants of options, attributes of people."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.choices import arrays, terms
from penchant.choices.selecting import column_of
from penchant.errors import DataError

if TYPE_CHECKING:
    from penchant.choices.choices import Choices


def with_constants(self: Choices, reference: Any = None) -> Choices:
    """Add a constant for every option but one: what it is worth all else equal.

    Parameters
    ----------
    reference
        Label of the option without a constant; the first if not given. In choices made from
        arrays, options are labelled by their position from 0.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> values = np.array([[[1.0], [2.0]], [[0.5], [0.1]], [[0.3], [0.4]]])
    >>> pn.Choices.from_arrays(values, [1, 0, 0]).with_constants().names
    ('x1', 'constant:1')
    """
    option, labels = terms.option_of_rows(self.option, self.option_labels, self.first_row)
    codes = terms.options_compared(labels, None, reference)
    return _with(self, terms.indicators(option, codes), [f"constant:{labels[i]}" for i in codes])


def with_interaction(
    self: Choices,
    name: str,
    values: Any = None,
    *,
    by: str | None = None,
    options: Sequence[Any] | None = None,
    reference: Any = None,
) -> Choices:
    """Let an attribute of the person or decision change what options, or a variable, are worth.

    An attribute that is the same for all options of a decision tells nothing by itself; times
    the indicators of options, or times a variable, it does.

    Parameters
    ----------
    name
        Name of the attribute. Without `values` it is a variable of these choices that does not
        vary inside any set; its own column is then left out.
    values
        A number per decision, in the order of these choices (see `decision_labels`), or a
        mapping from subject to number.
    by
        Variable to multiply with; if not given, one column per option is added.
    options
        Labels of the options that get a column.
    reference
        Label of the one option that gets none; the first if neither is given.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> prices = np.array([[[1.0], [2.0]], [[0.5], [0.1]], [[0.3], [0.4]]])
    >>> choices = pn.Choices.from_arrays(prices, [1, 0, 0], names=["price"])
    >>> choices.with_interaction("income", [2.0, 3.0, 5.0]).names
    ('price', 'income:1')
    >>> choices.with_interaction("income", [2.0, 3.0, 5.0], by="price").names
    ('price', 'income:price')
    """
    if by is not None and (options is not None or reference is not None):
        raise DataError(
            f"by must not be given together with options or reference; got {by!r}. "
            "Multiply with a variable, or with indicators of options."
        )
    per_row = np.repeat(_attribute(self, name, values), np.diff(self.first_row))
    if by is not None:
        columns = (per_row * self.explanatory[:, column_of(self, by)])[:, None]
        added = [f"{name}:{by}"]
    else:
        option, labels = terms.option_of_rows(self.option, self.option_labels, self.first_row)
        codes = terms.options_compared(labels, options, reference)
        columns = terms.by_indicator(per_row, option, codes)
        added = [f"{name}:{labels[i]}" for i in codes]
    widened = _with(self, columns, added)
    return widened if values is not None else widened.drop(name)


def _attribute(choices: Choices, name: str, values: Any) -> Vector:
    """A number per decision."""
    if values is None:
        column = choices.explanatory[:, column_of(choices, name)]
        return terms.constant_in_sets(column, choices.first_row, choices.available, name)
    return terms.attribute(values, choices.subject_labels, choices.subject, choices.n_decisions)


def _with(choices: Choices, columns: Matrix, names: Sequence[str]) -> Choices:
    """Add columns of variables, whose names must be new."""
    return dataclasses.replace(
        choices,
        explanatory=np.hstack([choices.explanatory, columns]),
        names=arrays.variable_names((*choices.names, *names), choices.n_parameters + len(names)),
        natural=None,
    )
