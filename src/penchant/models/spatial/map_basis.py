"""Functions over places that a map somebody has in mind is made of, and the prior on it.

A map is mu0(x) = level + sum of c_k phi_k(x), with functions phi_k of mean 0 over the options, so
that the level is exactly separate from the map. The variance over the options of all functions
together is 1: with c_k ~ N(0, sd^2) the map has the standard deviation sd, in units of rewards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from penchant._typing import Matrix
from penchant.argument_checks import check_number, check_one_of, check_whole_number
from penchant.bandit.beliefs import MATERN52, Kernel
from penchant.bandit.landscape import Landscape, check_locations, distances
from penchant.errors import DataError
from penchant.models.priors import Prior
from penchant.models.spatial.locality import spacing
from penchant.models.spatial.spatial_model import check_kernel

LENGTH = 3.5  # of a smooth map, in spacings of the options
CONSTANT_REL_TOL = 1e-9  # share of a function's size below which it is the same everywhere


@dataclass(frozen=True, eq=False)
class MapBasis:
    """Basis of prior maps: functions over the options, of mean 0.

    Made by `smooth`, `of` or `plane`.

    Attributes
    ----------
    functions
        (n_options, n): each of mean 0, their variances together 1.
    words
        What they are.
    rest
        (n_options, m): functions that maps of this kind have besides, in the same units. They are
        not estimated: what they may add is part of how uncertain a map is.

    Examples
    --------
    >>> import penchant as pn
    >>> basis = pn.MapBasis.smooth(pn.grid(10, 10), n=16)
    >>> basis
    MapBasis: 16 smooth functions over 100 options
    >>> bool(abs(basis.functions.mean(axis=0)).max() < 1e-12)
    True
    """

    functions: Matrix
    words: str
    rest: Matrix

    @classmethod
    def smooth(
        cls,
        locations: Any,
        n: int = 16,
        *,
        length_scale: float | None = None,
        kernel: Kernel = MATERN52,
    ) -> MapBasis:
        """The n functions that smooth maps are best made of.

        They are the leading eigenfunctions of a kernel over the places, centred.

        Parameters
        ----------
        locations
            Where the options lie.
        n
            How many; 0 for a level alone. 16 do for a grid of 100: fewer cannot bend enough.
        length_scale
            How far maps are alike; 3.5 of the smallest distance, if not given.
        kernel
            Correlation over distance.
        """
        places = check_locations(locations)
        n = check_whole_number(n, "n", 0)
        if n >= len(places):
            raise DataError(
                "n",
                f"must be below the number of options, {len(places)}",
                got=n,
                fix="Ask for fewer.",
            )
        scale = LENGTH * spacing(places) if length_scale is None else float(length_scale)
        check_number(scale, "length_scale", above=0)
        check_kernel(kernel)
        correlation = kernel(distances(places), scale)
        centred = correlation - correlation.mean(axis=0)
        centred = centred - centred.mean(axis=1, keepdims=True)
        values, vectors = np.linalg.eigh((centred + centred.T) / 2)
        # the largest entry of each is positive: the same functions on every machine
        sign = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])
        every = (vectors * sign * np.sqrt(np.maximum(values, 0.0)))[:, ::-1]
        return cls._scaled(every[:, :n], "smooth functions", every[:, n:-1])

    @classmethod
    def of(cls, landscapes: Sequence[Any] | Any) -> MapBasis:
        """Landscapes that somebody may have in mind, as many as there are.

        Parameters
        ----------
        landscapes
            Mean rewards of all options, or `Landscape`s: (n, n_options). What is the same for all
            options is the level, which is separate: it is left out.
        """
        several = [landscapes] if isinstance(landscapes, Landscape) else landscapes
        try:
            rows = np.atleast_2d(np.stack([_means(one) for one in several]))
        except (TypeError, ValueError):
            rows = np.empty(0)  # not of one shape, or no numbers
        if rows.ndim != 2:
            raise DataError(
                "landscapes",
                "must be mean rewards of the same options, one row for each",
                got=f"{landscapes!r:.60}",
                fix="Give (n, n_options).",
            )
        if not np.isfinite(rows).all():
            raise DataError(
                "landscapes", "must be finite", got="a number that is not", fix="Correct it."
            )
        shapes = []
        for row in rows:
            shape = row - row.mean()
            size = np.sqrt((shape**2).mean())
            if size > CONSTANT_REL_TOL * max(np.abs(row).max(), 1e-300):
                shapes.append(shape / size)
        functions = np.column_stack(shapes) if shapes else np.empty((len(rows[0]), 0))
        if functions.shape[1] and np.linalg.matrix_rank(functions) < functions.shape[1]:
            raise DataError(
                "landscapes",
                "must not follow from each other",
                got="one that is a sum of others",
                fix="Leave it out.",
            )
        return cls._scaled(functions, "landscapes")

    @classmethod
    def plane(cls, locations: Any) -> MapBasis:
        """Maps that rise in one direction: one function for each coordinate."""
        places = check_locations(locations)
        return cls._scaled(cls.of(places.T).functions, "slopes")

    @classmethod
    def _scaled(cls, functions: Matrix, words: str, rest: Matrix | None = None) -> MapBasis:
        rest = np.empty((len(functions), 0)) if rest is None else rest
        total = float((functions**2).sum() / max(len(functions), 1))
        unit = np.sqrt(total) if total > 0 else 1.0
        found = np.ascontiguousarray(functions / unit)
        found.flags.writeable = False
        return cls(found, words, rest / unit)

    @property
    def n(self) -> int:
        """Number of functions."""
        return int(self.functions.shape[1])

    @property
    def n_options(self) -> int:
        """Number of options."""
        return len(self.functions)

    def leading(self, n: int) -> MapBasis:
        """The first n functions."""
        if n == self.n:
            return self
        rest = np.column_stack([self.functions[:, n:], self.rest])
        return self._scaled(self.functions[:, :n], self.words, rest)

    def __repr__(self) -> str:
        return f"MapBasis: {self.n} {self.words} over {self.n_options} options"


def _means(landscape: Any) -> Matrix:
    given = landscape.mean_rewards if isinstance(landscape, Landscape) else landscape
    return np.asarray(given, dtype=np.float64)


def _is_positive(value: Any) -> bool:
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return number and bool(np.isfinite(value) and value > 0)


@dataclass(frozen=True)
class MapPrior:
    """Normal prior on the coefficients of a map, in units of rewards: c_k ~ N(0, sd^2).

    Parameters
    ----------
    sd
        Standard deviation of a map over the options. "evidence": by the data, as likely a width as
        they make it; "prediction": that at which every play is predicted best from the others, for
        people, whose choices of one play hang together in more ways than a model knows (of a
        single play, by evidence); a number if it is known.
    n
        Number of functions. "all": those of the basis; "evidence": as many of its first as the data
        speak for.
    others
        How strong a weak prior on all other weights is, on scaled variables.

    Examples
    --------
    >>> import penchant as pn
    >>> pn.MapPrior(sd=12.0)
    MapPrior(sd=12.0, n='all', others=0.01)
    """

    sd: float | Literal["evidence", "prediction"] = "evidence"
    n: Literal["all", "evidence"] = "all"
    others: float = 0.01

    def __post_init__(self) -> None:
        if not _is_positive(self.sd) and self.sd not in ("evidence", "prediction"):
            raise DataError(
                "sd",
                "must be > 0, or 'evidence' or 'prediction'",
                got=repr(self.sd),
                fix="Correct it.",
            )
        check_one_of(self.n, "n", ("all", "evidence"))
        check_number(self.others, "others", above=0)

    def __str__(self) -> str:
        width = f"by {self.sd}" if isinstance(self.sd, str) else f"{self.sd:g}"
        return f"map (width {width})"


FitPrior = Prior | MapPrior  # as fits take: of parameters, or of a map
