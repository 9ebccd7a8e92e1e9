"""The paper's task: squares on a grid, nearby ones pay alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penchant.bandit.landscape import landscape_a, landscape_b
from penchant.errors import DataError
from penchant.task.draws import Key
from penchant.task.sections import Section
from penchant.task.tasks.noise import RewardNoise, read_noise
from penchant.task.tasks.task import Past

LANDSCAPES = {"a": landscape_a, "b": landscape_b}
TRANSFORMS = ("none", "transpose")


@dataclass(frozen=True)
class GridTask:
    """A bandit whose options are the squares of a grid.

    Attributes
    ----------
    means
        Mean reward of option x + width * y.
    landscape
        What the landscape is called in exports.
    """

    adapts: ClassVar[bool] = False
    kind: ClassVar[str] = "grid"
    n_decisions: int
    width: int
    height: int
    landscape: str
    means: tuple[float, ...]
    noise: RewardNoise

    def n_options(self, decision: int) -> int:
        """As many at every decision."""
        return self.width * self.height

    def shown(self) -> dict[str, Any]:
        """The size of the grid."""
        return {"kind": self.kind, "width": self.width, "height": self.height}

    def place(self, decision: int, key: Key, past: Past) -> None:
        """There is no list of offers."""

    def offer(self, decision: int, key: Key, past: Past = ()) -> None:
        """Nothing but the grid."""

    def reward(self, option: int, decision: int, walk: Key, key: Key) -> float:
        """The mean of the square and its noise."""
        return self.noise.reward(self.means[option], key)

    def columns(self, decision: int, walk: Key, place: int | None = None) -> dict[str, Any]:
        """Which landscape it was."""
        return {"landscape": self.landscape}

    def analysis(self) -> dict[str, Any]:
        """The paper's model on this grid."""
        return {
            "model": "ucl",
            "grid": f"{self.width}x{self.height}",
            "noise_variance": max(self.noise.variance, 1e-6),
            "length_scale": 4.0,
        }


def read_grid(section: Section) -> GridTask:
    """The settings of a grid: width, height, landscape or means, noise."""
    width = section.whole("width", 1, 40, 10)
    height = section.whole("height", 1, 40, 10)
    if width * height < 2:
        section.refuse("width", "give two squares or more", "Make the grid larger.")
    name, means = _means(section, width, height)
    return GridTask(
        section.whole("decisions", 1, 10_000, 90), width, height, name, means, read_noise(section)
    )


def _means(section: Section, width: int, height: int) -> tuple[str, tuple[float, ...]]:
    """Mean rewards: those of a landscape of the paper, or given one by one."""
    n = width * height
    name = section.text("landscape", "own" if section.has("means") else "a", most=40)
    if section.has("means"):
        return name, tuple(section.numbers("means", n, n))
    if name not in LANDSCAPES:
        section.refuse(
            "landscape", "be a, b, or a name with means or means_file", "Choose one.", name
        )
    try:
        landscape = LANDSCAPES[name](width, height)
    except DataError:
        section.refuse("width", f"be 3 or more with landscape {name}", "Make it wider.", width)
    return name, tuple(float(mean) for mean in landscape.mean_rewards)
