"""Base class of models of spatial bandits: locations, length scales, Gaussian beliefs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.argument_checks import check_number
from penchant.bandit.beliefs import Kernel
from penchant.bandit.landscape import check_locations, distances
from penchant.errors import DataError
from penchant.models.model import RememberingAgents
from penchant.models.parameters import Row, Shape
from penchant.models.record import CompiledModel, Record
from penchant.models.spatial._kernels import KERNELS, credible_limits
from penchant.models.spatial.locality import Locality, check_terms, fill_locality, spacing


class SpatialModel(CompiledModel):
    """Base of models of options with places, whose rewards are alike nearby.

    Models are dataclasses with the fields below, and check others themselves.
    """

    ratio: ClassVar[str]  # name of the noise variance over that of the prior

    locations: Any
    locality: Any
    kernel: Kernel
    length_scale: float | None
    length_scale_range: tuple[float, float] | None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "locations", check_locations(self.locations))
        asked = self.locality
        if isinstance(asked, bool):
            asked = "all" if asked else ()
        object.__setattr__(self, "locality", check_terms(asked, "locality"))
        check_kernel(self.kernel)
        if self.length_scale is not None:
            check_number(
                self.length_scale, "length_scale", least=0, fix="0 means independent options."
            )
        elif self.n_options < 2:
            raise DataError(
                "length_scale",
                "must be given for a single option",
                got="None",
                fix="Nothing could tell it.",
            )
        if self.length_scale_range is not None:
            check_range(self.length_scale_range, "length_scale_range")

    @property
    def n_options(self) -> int:
        """Number of options."""
        return len(self.locations)

    @property
    def form(self) -> tuple[float, float, bool, int, int]:
        """Arguments of `credible_limits` that define the columns of mean and bonus."""
        raise NotImplementedError

    def times_of(self, record: Record) -> tuple[Vector, Vector]:
        """Quantile of the credible limit, and inverse temperature, of every event."""
        ones = np.ones(len(record.chosen))
        return ones, ones

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        record.check_options(self.n_options)
        names = [s.name for s in self.shape]
        x = np.empty((int(record.lengths(which).sum()), self.n_options, len(self.weights)))
        dx = np.zeros((len(names) if with_slopes else 0, *x.shape))
        derived = [2 if name == "length_scale" else 1 for name in names] if with_slopes else []
        times = record.cached((self, "times"), lambda: self.times_of(record))
        places = np.array(self.locations)  # unlocked: loops are compiled for one kind of array
        pairs = record.chosen, record.rewards, record.starts, np.asarray(which), places
        each = (self._parameter_per_pair(psi, names, name) for name in ("length_scale", self.ratio))
        given = (*pairs, KERNELS.index(self.kernel.name), *each)
        credible_limits(*given, *times, self.form, np.array(derived, dtype=np.int64), x, dx)
        self.fill_map(given, times[1], x, dx)
        self.fill_locality(record, which, x)
        return x, dx if with_slopes else None

    def _parameter_per_pair(self, psi: Matrix, names: list[str], name: str) -> Vector:
        """A shape parameter of every pair, estimated or fixed."""
        if name in names:
            return np.ascontiguousarray(psi[:, names.index(name)], dtype=np.float64)
        return np.full(len(psi), float(self.fixed[name] or 0.0))

    def fill_map(self, given: Any, cooled: Vector, x: Matrix, dx: Matrix) -> None:
        """Fill the columns of a map that the player has in mind; here there is none."""

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the terms of locality."""
        return tuple(self.locality)

    def fill_locality(self, record: Record, which: IntVector, x: Matrix) -> None:
        """Fill the last columns with the terms of locality."""
        if self.terms:
            fill_locality(self.locations, self.terms, record, which, x[:, :, -len(self.terms) :])

    @property
    def fixed(self) -> dict[str, float | None]:
        """Parameters that may be fixed, None where they are not."""
        return {"length_scale": self.length_scale}

    def length_scale_row(self, n_grid: int) -> tuple[Row, ...]:
        """The length scale where it is estimated: from a fifth of the spacing to twenty of it."""
        if self.length_scale is not None:
            return ()
        unit = spacing(self.locations)
        low, high = self.length_scale_range or (0.2 * unit, 20.0 * unit)
        return (Shape("length_scale", low, high, scale="log", n_grid=n_grid),)


def check_kernel(kernel: Any) -> None:
    """Refuse what is no correlation over distance."""
    if not isinstance(kernel, Kernel) or kernel.name not in KERNELS:
        raise DataError(
            "kernel",
            "must be one of penchant.bandit.beliefs",
            got=repr(kernel),
            fix="Import GAUSSIAN, MATERN32, MATERN52 or EXPONENTIAL from there.",
        )


def check_range(limits: tuple[float, float], name: str) -> None:
    """Refuse limits of a positive parameter that do not go up."""
    if not 0 < limits[0] < limits[1] < np.inf:
        raise DataError(name, "must go up from above 0", got=limits, fix="Correct it.")


class GaussianAgents(ABC):
    """Agents in play who take rewards for a Gaussian process over the options' places.

    Beliefs are means (n_agents, n_options) and covariances in units of rewards, updated by Gaussian
    conditioning: another way than the recursion behind the likelihood, so that one can check the
    other.

    Parameters
    ----------
    model
        With the parameters that it fixes.
    parameters
        The others, and a weight for each term of locality.
    n_agents
        How many.
    """

    def __init__(self, model: Any, parameters: Mapping[str, float], n_agents: int) -> None:
        fixed = {name: value for name, value in model.fixed.items() if value is not None}
        self.model = model
        self.parameters = {name: float(value) for name, value in {**parameters, **fixed}.items()}
        expected, variance, self.noise_variance = self.prior()
        scale = check_number(self.parameters["length_scale"], "length_scale", least=0)
        correlation = model.kernel(distances(model.locations), scale)
        self.mean: Matrix = np.repeat(expected[None], n_agents, axis=0)
        self.covariance: Matrix = np.repeat(variance * correlation[None], n_agents, axis=0)
        self.places: RememberingAgents | None = None
        if model.terms:
            weights = [check_number(self.parameters[name], name) for name in model.terms]
            near = Locality(model.locations, model.terms)
            self.places = RememberingAgents(near, np.array(weights), np.empty(0), n_agents)
        self.time = 1

    @abstractmethod
    def prior(self) -> tuple[Vector, float, float]:
        """Means (n_options,) and variance before play, and the variance of noise."""

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Learn from the option each agent chose and the reward it received."""
        agents = np.arange(len(chosen))
        column = self.covariance[agents, :, chosen]
        gain = column / (column[agents, chosen] + self.noise_variance)[:, None]
        self.mean += gain * (rewards - self.mean[agents, chosen])[:, None]
        self.covariance -= gain[:, :, None] * column[:, None, :]
        if self.places is not None:
            self.places.observe(chosen, rewards)
        self.time += 1

    def locality(self) -> Any:
        """Weighted sum of the terms of locality, (n_agents, n_options); 0 without any."""
        return 0.0 if self.places is None else self.places.objective()
