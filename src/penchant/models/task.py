"""Tasks for simulated people: a world, decisions per block and number of blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penchant._typing import Matrix
from penchant.argument_checks import check_whole_number
from penchant.bandit.landscape import Landscape
from penchant.choices.offers import Offers
from penchant.errors import DataError
from penchant.models.worlds import World


@dataclass(frozen=True, eq=False)
class Task:
    """A task, and how many decisions each person makes in it.

    Parameters
    ----------
    world
        What can be had: a `Landscape`; a world, such as `TwoStepWorld`; or a schedule (n_decisions,
        n_options) of what every option pays at every decision; or offers by attribute, as `Offers`
        takes them; or the `Offers` of people, from whom one is drawn whose offers are made. Or a
        function of `rng` that draws one of these, anew for every person and block.
    n_decisions
        Decisions in each block; as many as the schedule or the offers have, if not given. Where
        there are more, schedule and offers begin again.
    n_blocks
        How often it is done; beliefs start afresh in each.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> task = pn.Task(pn.Landscape([0.3, 0.7], pn.GaussianNoise(0.04)), n_decisions=80)
    >>> rule = {"temperature": 0.2, "learning_rate": 0.3}
    >>> pn.simulate(task, pn.QLearning(2), rule, rng=np.random.default_rng(1), subject="anna")
    Episode: 80 decisions scored of 80 events, subject anna
    """

    world: Any
    n_decisions: int | None = None
    n_blocks: int = 1

    def __post_init__(self) -> None:
        check_whole_number(self.n_blocks, "n_blocks", 1)
        if self.n_decisions is not None:
            check_whole_number(self.n_decisions, "n_decisions", 1)
        if not callable(self.world):
            object.__setattr__(self, "world", _checked(self.world))
        if self.n_decisions is None and _length(self.world) is None:
            raise DataError(
                "n_decisions",
                "must be given with a landscape or a function",
                got="none",
                fix="Say how many decisions each person makes.",
            )

    def with_decisions(self, n_decisions: int) -> Task:
        """Copy of the task with another number of decisions in each block."""
        return replace(self, n_decisions=n_decisions)

    def length(self, world: Any = None) -> int:
        """Decisions in each block; of a world that was drawn, if one is given."""
        found = self.n_decisions or _length(self.world if world is None else world)
        assert found is not None
        return found

    def drawn_world(self, rng: np.random.Generator) -> Any:
        """Draw the world of one block: a landscape, a schedule, or offers by attribute."""
        world = _checked(self.world(rng)) if callable(self.world) else self.world
        return world[int(rng.integers(len(world)))] if isinstance(world, tuple) else world


def _length(world: Any) -> int | None:
    """Number of decisions that a world defines; None if it has no end."""
    if isinstance(world, Landscape) or callable(world):
        return None
    if isinstance(world, World):
        return world.n_events
    if isinstance(world, tuple):  # of several people: as many as the person in the middle has
        return int(np.median([_length(offers) for offers in world]))
    return len(next(iter(world.values()))) if isinstance(world, Mapping) else len(world)


def _checked(world: Any) -> Any:
    """A landscape, a schedule, offers by attribute, or a tuple of these of several people."""
    if isinstance(world, (Landscape, World)):
        return world
    if isinstance(world, Mapping):
        if not world:
            raise DataError(
                "world", "must hold an attribute or more", got="none", fix="Give e.g. amounts."
            )
        return dict(world)
    if isinstance(world, tuple) and world and isinstance(world[0], Mapping):
        return world
    people = [world] if isinstance(world, Offers) else world
    if isinstance(people, (list, tuple)) and people and isinstance(people[0], Offers):
        blocks: dict[Any, list[Offers]] = {}
        for one in people:
            blocks.setdefault(one.subject, []).append(one)
        return tuple(_concatenated_offers(own) for own in blocks.values())
    try:
        schedule = np.array(world, dtype=np.float64)
    except (TypeError, ValueError):
        schedule = np.empty(0)
    if schedule.ndim != 2 or not schedule.size or not np.isfinite(schedule).all():
        raise DataError(
            "world",
            (
                "must be a Landscape, a schedule (n_decisions, n_options) of finite rewards, "
                "offers by attribute, Offers, or a function of rng"
            ),
            got=type(world).__name__,
            fix="Pass one.",
        )
    schedule.flags.writeable = False
    return schedule


def _concatenated_offers(blocks: Sequence[Offers]) -> dict[str, Matrix]:
    """The offers of all blocks of a subject."""
    names = blocks[0].offers
    return {name: np.concatenate([one.offers[name] for one in blocks]) for name in names}
