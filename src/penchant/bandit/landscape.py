"""Bandits in space: locations of options, mean rewards, noise, and the regret of a play.

Landscapes A and B of the paper are reconstructed here, as they are printed as pictures only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.argument_checks import check_entries, check_number, check_one_of, check_whole_number
from penchant.bandit.episode import Episode
from penchant.errors import DataError, format_list, mark_argument
from penchant.tables.events import NOTHING
from penchant.tables.numbers import exact_floats


def grid(width: int, height: int) -> Matrix:
    """Locations of the options on a grid: option x + width * y is at (x, y), both from 0.

    Parameters
    ----------
    width, height
        Number of options along x and along y.

    Returns
    -------
    Matrix of shape (width * height, 2)

    Examples
    --------
    >>> from penchant import grid
    >>> grid(3, 2)
    array([[0., 0.],
           [1., 0.],
           [2., 0.],
           [0., 1.],
           [1., 1.],
           [2., 1.]])
    """
    columns, rows = check_whole_number(width, "width", 1), check_whole_number(height, "height", 1)
    y, x = np.divmod(np.arange(columns * rows), columns)
    return np.column_stack([x, y]).astype(np.float64)


def check_locations(locations: Any, n_options: int | None = None) -> Matrix:
    """Check that locations are finite and differ between options; return them as a locked matrix.

    Parameters
    ----------
    locations
        One row per option, one column per coordinate.
    n_options
        How many options there must be; None for any number.

    Returns
    -------
    Matrix of shape (n_options, n_coordinates)

    Examples
    --------
    >>> from penchant.bandit.landscape import check_locations
    >>> check_locations([[0, 1.5], [2, 3]], n_options=2)
    array([[0. , 1.5],
           [2. , 3. ]])
    """
    matrix = np.array(exact_floats(locations, mark_argument("locations")))
    if matrix.ndim != 2 or not matrix.size:
        advice = "For options on a line use locations[:, None]." if matrix.ndim == 1 else ""
        raise DataError(
            "locations",
            "must have shape (n_options, n_coordinates)",
            got=f"shape {matrix.shape}",
            fix=advice or "Give the coordinates of every option.",
        )
    if n_options is not None and len(matrix) != n_options:
        raise DataError(
            "locations",
            f"must hold {n_options} options, as many as can be chosen",
            got=len(matrix),
            fix="Give one row per option.",
        )
    _check_finite(matrix)
    _check_distinct(matrix)
    matrix.flags.writeable = False  # models share the array
    return matrix


def _check_finite(matrix: Matrix) -> None:
    wrong = np.argwhere(~np.isfinite(matrix))
    if len(wrong):
        described = (f"{matrix[i, a]} at option {i}, coordinate {a}" for i, a in wrong[:11])
        raise DataError(
            "locations",
            "must be finite",
            got=format_list(described, len(wrong)),
            fix="Fill these coordinates, or drop the options.",
        )


def _check_distinct(matrix: Matrix) -> None:
    # Sorted, equal rows are neighbours: comparing all pairs would take n^2 steps.
    order = np.lexsort(matrix.T)
    same = np.flatnonzero((matrix[order[1:]] == matrix[order[:-1]]).all(axis=1))
    if same.size:
        described = (
            f"{tuple(matrix[order[k]].tolist())} at options {order[k]} and {order[k + 1]}"
            for k in same[:11]
        )
        raise DataError(
            "locations",
            "must differ between options",
            got=format_list(described, same.size),
            fix="Correct them: two options in one place have the same reward.",
        )


def distances(locations: Matrix) -> Matrix:
    """Euclidean distance between any two options.

    Parameters
    ----------
    locations
        Coordinates (n_options, n_coordinates).

    Returns
    -------
    Matrix of shape (n_options, n_options), symmetric, with zeros on the diagonal

    Examples
    --------
    >>> from penchant import grid
    >>> from penchant.bandit.landscape import distances
    >>> distances(grid(2, 1))
    array([[0., 1.],
           [1., 0.]])
    """
    return distances_to_options(locations, np.arange(len(locations)))


def distances_to_options(locations: Matrix, options: IntVector) -> Matrix:
    """Euclidean distance of all options from some of them.

    Parameters
    ----------
    locations
        Coordinates (n_options, n_coordinates).
    options
        Indices of the options to measure from.

    Returns
    -------
    Matrix of shape (n_options, len(options))

    Examples
    --------
    >>> from penchant import grid
    >>> from penchant.bandit.landscape import distances_to_options
    >>> distances_to_options(grid(4, 1), [1])
    array([[1.],
           [0.],
           [1.],
           [2.]])
    """
    there = locations[options]
    apart: Matrix = np.zeros((len(locations), len(there)))
    for a in range(locations.shape[1]):
        # hypot, as squares of tiny or huge coordinates would under- or overflow.
        np.hypot(apart, locations[:, a, None] - there[:, a], out=apart)
    return apart


# Mean rewards at the maxima of the reconstructed landscapes; both then have mean 30 over options.
HIGHEST_MEAN_REWARD = 60.0
SECOND_HIGHEST_MEAN_REWARD = 50.0  # of landscape B, which has two maxima


@dataclass(frozen=True)
class GaussianNoise:
    """Normal noise around the mean reward.

    Parameters
    ----------
    variance
        Noise variance sigma_s^2: 10 in the paper's experiment, 0.01 in its simulations.

    Examples
    --------
    >>> import numpy as np
    >>> from penchant import GaussianNoise
    >>> round(GaussianNoise(variance=0.01).draw(rng=np.random.default_rng(1)), 4)
    0.0346
    """

    variance: float = 10.0

    def __post_init__(self) -> None:
        fix = "Give sigma_s^2, the variance of a reward around its mean."
        variance = check_number(self.variance, "variance", above=0, fix=fix)
        object.__setattr__(self, "variance", variance)  # users may give an integer

    def draw(self, *, rng: np.random.Generator) -> float:
        """Draw a deviation from the mean reward."""
        return float(rng.normal(0.0, np.sqrt(self.variance)))


@dataclass(frozen=True)
class IntegerNoise:
    """Whole numbers from -largest to largest, all as likely, around the mean reward.

    Parameters
    ----------
    largest
        Largest deviation; the variance is largest (largest + 1) / 3.

    Examples
    --------
    >>> from penchant.paper import IntegerNoise
    >>> IntegerNoise(5).variance
    10.0
    """

    largest: int = 5

    def __post_init__(self) -> None:
        object.__setattr__(self, "largest", check_whole_number(self.largest, "largest", 1))

    @property
    def variance(self) -> float:
        """Noise variance sigma_s^2."""
        return self.largest * (self.largest + 1) / 3

    def draw(self, *, rng: np.random.Generator) -> float:
        """Draw a deviation from the mean reward."""
        return float(rng.integers(-self.largest, self.largest, endpoint=True))


Noise = GaussianNoise | IntegerNoise


@dataclass(frozen=True, eq=False, repr=False)
class Landscape:
    """Mean rewards m of all options and the noise of a reward around its mean.

    Parameters
    ----------
    mean_rewards
        Mean reward of each option: (n_options,).
    noise
        `GaussianNoise` or `IntegerNoise`.

    Examples
    --------
    >>> import numpy as np
    >>> from penchant import Landscape
    >>> from penchant.paper import IntegerNoise
    >>> landscape = Landscape([12.0, 30.0, 18.0], IntegerNoise(largest=5))
    >>> landscape
    Landscape: 3 options, mean rewards 12 to 30, noise variance 10
    >>> landscape.best
    30.0
    >>> rng = np.random.default_rng(1)
    >>> [landscape.draw(1, rng=rng) for _ in range(3)]
    [30.0, 30.0, 33.0]
    """

    mean_rewards: Vector
    noise: Noise

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean_rewards", _check_mean_rewards(self.mean_rewards))
        if not isinstance(self.noise, Noise):
            raise DataError(
                "noise",
                "must be GaussianNoise or IntegerNoise",
                got=repr(self.noise),
                fix="Pass e.g. GaussianNoise(variance=10.0).",
            )

    @property
    def n_options(self) -> int:
        """Number of options."""
        return len(self.mean_rewards)

    @property
    def best(self) -> float:
        """Largest mean reward."""
        return float(self.mean_rewards.max())

    def draw(self, option: int, *, rng: np.random.Generator) -> float:
        """Reward of choosing an option once.

        Parameters
        ----------
        option
            Index of the option, from 0.
        rng
            Source of randomness.
        """
        if not 0 <= option < self.n_options or option != int(option):
            raise DataError(
                "option",
                f"must lie in 0..{self.n_options - 1}",
                got=repr(option),
                fix="Options are counted from 0.",
            )
        return float(self.mean_rewards[int(option)]) + self.noise.draw(rng=rng)

    def __repr__(self) -> str:
        low = self.mean_rewards.min()
        return (
            f"Landscape: {self.n_options} options, mean rewards {low:g} to {self.best:g}, "
            f"noise variance {self.noise.variance:g}"
        )


def describe_option(i: int) -> str:
    """Return the words for where option i is, counted from 0 as in arrays."""
    return f"option {i}"


def _check_mean_rewards(mean_rewards: Any) -> Vector:
    means = np.array(exact_floats(mean_rewards, "mean_rewards", describe_option))
    if means.ndim != 1 or not means.size:
        raise DataError(
            "mean_rewards",
            "must have shape (n_options,)",
            got=f"shape {means.shape}",
            fix=(
                "For a map (height, width) use mean_rewards.ravel(), then option = x + width * y."
            ),
        )
    fix = "Fill or drop these options."
    check_entries(np.isfinite(means), means, "mean_rewards", "must be finite", fix, describe_option)
    means.flags.writeable = False
    return means


def landscape_a(
    width: int = 10,
    height: int = 10,
    noise: Noise = GaussianNoise(10.0),
) -> Landscape:
    """Landscape A of the paper, reconstructed: one maximum, reached by climbing the gradient.

    Parameters
    ----------
    width, height
        Number of options along x and along y; the rewards are flat in y.
    noise
        Noise of the rewards; the paper's simulations have variance 0.01.

    Notes
    -----
    Paper: the landscape is printed as a picture only (a concave profile, flat along y, with its one
    maximum at x = 6 counted from 1). This is a reconstruction, not the original data: mean rewards
    0, 12, 24, 36, 48, 60, 48, 36, 24, 12, whose mean is 30. Other widths stretch the two slopes:
    the maximum is at the option width // 2 counted from 0, and the mean is 30 at every even width.

    Examples
    --------
    >>> from penchant.paper import landscape_a
    >>> landscape_a().mean_rewards[:10]
    array([ 0., 12., 24., 36., 48., 60., 48., 36., 24., 12.])
    """
    peak = check_whole_number(width, "width", 3) // 2
    profile = np.interp(np.arange(width), [0, peak, 2 * peak], [0.0, HIGHEST_MEAN_REWARD, 0.0])
    return Landscape(np.tile(profile, check_whole_number(height, "height", 1)), noise)


def landscape_b(
    width: int = 10,
    height: int = 10,
    noise: Noise = GaussianNoise(10.0),
) -> Landscape:
    """Landscape B of the paper, reconstructed: climbing the gradient may end at the lesser maximum.

    Parameters
    ----------
    width, height
        Number of options along x and along y; the rewards are flat in y.
    noise
        Noise of the rewards; the paper's simulations have variance 0.01.

    Notes
    -----
    Paper: the landscape is printed as a picture only (flat along y, local maxima at x = 1 and
    x = 10 counted from 1, the latter global). This is a reconstruction, not the original data: mean
    rewards 50, 40, 30, 20, 10, 0, 15, 30, 45, 60, whose mean is 30. Other widths stretch the two
    slopes, with the lowest reward at the option width // 2 counted from 0.

    Examples
    --------
    >>> from penchant.paper import landscape_b
    >>> landscape_b().mean_rewards[:10]
    array([50., 40., 30., 20., 10.,  0., 15., 30., 45., 60.])
    """
    valley = check_whole_number(width, "width", 3) // 2
    heights = [SECOND_HIGHEST_MEAN_REWARD, 0.0, HIGHEST_MEAN_REWARD]
    profile = np.interp(np.arange(width), [0, valley, width - 1], heights)
    return Landscape(np.tile(profile, check_whole_number(height, "height", 1)), noise)


def cumulative_regret(
    episode: Episode,
    landscape: Landscape,
    kind: Literal["expected", "received"] = "expected",
) -> Vector:
    """Cumulative regret: how much more the best option would have paid in the decisions so far.

    Parameters
    ----------
    episode
        Options executed, which are those chosen if nothing else is said, and rewards received.
    landscape
        The true mean rewards, which the player does not know.
    kind
        "expected": best mean reward minus the mean reward of the option executed; never falls.
        "received": best mean reward minus the reward received; falls where noise was kind.

    Returns
    -------
    Vector with one number per decision, scored or not; options shown are left out. A decision
    without a choice adds nothing, but takes its place in time. "received" ends in NaN where the
    last reward is missing.

    Examples
    --------
    >>> from penchant import Episode, GaussianNoise, Landscape
    >>> from penchant.results import cumulative_regret
    >>> landscape = Landscape([10.0, 40.0, 25.0], GaussianNoise(variance=4.0))
    >>> episode = Episode([2, 0, 1, 1], [26.5, 8.0, 43.5, 39.0])
    >>> cumulative_regret(episode, landscape)
    array([15., 45., 45., 45.])
    >>> cumulative_regret(episode, landscape, kind="received")
    array([13.5, 45.5, 42. , 43. ])
    """
    check_one_of(kind, "kind", ("expected", "received"))
    episode.check_options(landscape.n_options)
    # Regret is of what was executed: a proposal that was not done cost nothing.
    done = episode.executed
    paid = landscape.mean_rewards[done] if kind == "expected" else episode.rewards
    # NOTHING is -1, a valid index: without the mask it would cost what the last option does.
    lost = np.where(done == NOTHING, 0.0, landscape.best - paid)
    return np.cumsum(lost[episode.is_choice])
