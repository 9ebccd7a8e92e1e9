"""Locality: explanatory variables of the distance between options, without rewards.

With j the option of the event before, chosen or shown, and d the sum of the coordinates'
differences (Manhattan distance):

    distance       d(i, j)
    log_distance   log(1 + d(i, j) / spacing), spacing the smallest distance of two options
    same           1 if i = j, else 0
    visited        1 if i was chosen or shown before, else 0

Before anything was chosen or shown all are 0. Each is a control that one adds by its name: what
looks like exploration may be a dislike of what has been visited, what looks like generalisation a
short way of the hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from penchant._typing import IntVector, Matrix, Names
from penchant.bandit.landscape import check_locations
from penchant.errors import DataError, closest_match_hint
from penchant.models.parameters import Parameter, Row
from penchant.models.record import CompiledModel, Record
from penchant.models.spatial._kernels import TERMS, nearness

LOCALITY = TERMS


@dataclass(frozen=True, eq=False)
class Locality(CompiledModel):
    """Choices that follow places only: P(i) ∝ exp(sum of w_k x_ik), without shape parameters.

    The model to beat for any model that says that people learn about places.

    Parameters
    ----------
    locations
        Where the options lie: (n_options, dimension).
    terms
        Which columns: names in `LOCALITY`, all of them if not given.

    Examples
    --------
    >>> import penchant as pn
    >>> model = pn.models.Locality(pn.grid(3, 1), terms=("distance", "visited"))
    >>> episode = pn.Episode([0, 2, 1], [0.1, 0.9, 0.3])
    >>> model.explanatory(episode)[2]
    array([[2., 1.],
           [1., 0.],
           [0., 1.]])
    """

    in_brief = "places only, no learning"

    locations: Any
    terms: Names = LOCALITY

    def __post_init__(self) -> None:
        object.__setattr__(self, "locations", check_locations(self.locations))
        object.__setattr__(self, "terms", check_terms(self.terms, "terms"))
        if not self.terms:
            raise DataError(
                "terms", f"must name one of {', '.join(LOCALITY)}", got="none", fix="Give some."
            )

    @property
    def n_options(self) -> int:
        """Number of options."""
        return len(self.locations)

    @property
    def parameters(self) -> tuple[Row, ...]:
        return tuple(map(Parameter.weight, self.terms))

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        record.check_options(self.n_options)
        x = np.empty((int(record.lengths(which).sum()), self.n_options, len(self.terms)))
        fill_locality(self.locations, tuple(self.terms), record, which, x)
        return x, np.empty((0, *x.shape)) if with_slopes else None

    def __str__(self) -> str:
        return f"locality ({', '.join(self.terms)}), {self.n_options} options"


def check_terms(terms: Any, name: str) -> tuple[str, ...]:
    """Names of locality columns, each once; one name may stand alone, "all" for all of them."""
    given = (terms,) if isinstance(terms, str) else tuple(terms)
    if given == ("all",):
        return LOCALITY
    for term in given:
        if term not in LOCALITY:
            raise DataError(
                name,
                f"must be among {', '.join(LOCALITY)}, or all",
                got=repr(term),
                fix=closest_match_hint(str(term), LOCALITY) or "Choose some of these.",
            )
    if len(set(given)) < len(given):
        raise DataError(name, "must name each term once", got=", ".join(given), fix="Drop one.")
    return given


def spacing(locations: Matrix) -> float:
    """Smallest distance of two options; 1 if there is only one."""
    if len(locations) < 2:
        return 1.0
    apart, _ = scipy.spatial.cKDTree(locations).query(locations, k=2)
    return float(apart[:, 1].min())


def fill_locality(
    locations: Matrix, terms: tuple[str, ...], record: Record, which: IntVector, x: Matrix
) -> None:
    """Fill x (rows, n_options, n_terms) with the columns of episodes which[k], once for each."""
    used, position = np.unique(which, return_inverse=True)
    lengths = record.lengths(used)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    columns = np.empty((int(offsets[-1]), len(locations), len(terms)))
    codes = np.array([LOCALITY.index(term) for term in terms], dtype=np.int64)
    # unlocked: loops are compiled for one kind of array
    places = np.array(locations)
    nearness(record.chosen, record.starts, used, places, spacing(places), codes, columns)
    begin = np.repeat(offsets[position], lengths[position])
    ends = np.cumsum(lengths[position])
    within = np.arange(len(x)) - np.repeat(ends - lengths[position], lengths[position])
    x[:] = columns[begin + within]
