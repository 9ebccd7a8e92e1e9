"""A machine beside a person who plays a grid: what it says of a choice before it is taken.

Its state follows from what is stored of the session, decision by decision: a server that was killed
says the same as one that was not.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant.assistance.helper import UNASSISTED, Advice, Helper, assist
from penchant.assistance.knowledge import Field
from penchant.bandit.landscape import grid
from penchant.models.spatial.ucl import UCL
from penchant.task.kinds import GridTask
from penchant.task.plan import Block, Cell

ADVICE = "advice"  # kind of the event that is logged before an answer is given
LATE = 0.05  # seconds after which advice is not given
HELD = 200  # people whose machine is kept in memory
PROPOSED = "proposed"  # among what is kept of a choice


@dataclass(frozen=True)
class Asked:
    """A proposal, and what is stored of the session before it."""

    session: int
    seed: int
    cell: Cell
    block: int
    decision: int
    option: int
    rows: Sequence[Mapping[str, Any]]


def episode_number(cell: Cell, block: int) -> int:
    """How many blocks with advice came before a block."""
    return sum(one.advice == "suggest" for one in cell.blocks[:block])


def is_assisted(seed: int, episode: int) -> bool:
    """Whether an episode goes with assistance: not the first, and of others four in five."""
    if episode == 0:
        return False
    return bool(np.random.default_rng(seed).random(episode)[-1] >= 1 / UNASSISTED)


class Advisers:
    """Machines of the people who play."""

    def __init__(self) -> None:
        self._held: OrderedDict[int, tuple[int, Helper]] = OrderedDict()
        self._lock = threading.Lock()

    def advice(self, asked: Asked) -> dict[str, Any]:
        """What is said of a proposal, as it is logged and sent."""
        block = asked.cell.blocks[asked.block]
        begin = time.perf_counter()
        helper = self._helper(asked)
        found = helper.proposed(asked.option)
        took = time.perf_counter() - begin
        if took > LATE and found.option is not None:
            found = Advice(None, "silent", "The advice came too late, and is not given.")
        return {
            "block": asked.block,
            "decision": asked.decision,
            PROPOSED: asked.option,
            "kind": found.kind,
            "option": found.option,
            "reason": _words(found.reason, block),
            "gain": [found.gain_interval[0], found.gain, found.gain_interval[1]],
            "p_better": found.p_better,
            "p_accept": found.p_accept,
            "trust": helper.used_trust,
            "map": [round(float(value), 2) for value in helper.belief()],
            "map_sd": [round(float(value), 2) for value in helper.belief_sd()],
            "ms": round(1000 * took, 2),
        }

    def _helper(self, asked: Asked) -> Helper:
        """The machine before this proposal: that of the last one, or made of what is stored."""
        with self._lock:
            n, helper = self._held.pop(asked.session, (0, None))
        # what was proposed last must be what was stored of it, else all begins again
        if helper is not None and (n >= len(asked.rows) or helper.last != asked.rows[n][PROPOSED]):
            helper = None
        if helper is None:
            n, helper = 0, _machine(asked.cell.blocks[asked.block], asked.seed)
        for row in asked.rows[n:]:
            while helper.episode_number < episode_number(asked.cell, int(row["block"])):
                helper.end_episode()
            if helper.last is None:
                helper.proposed(int(row[PROPOSED]))
            helper.happened(int(row["option"]), row["reward"])
        while helper.episode_number < episode_number(asked.cell, asked.block):
            helper.end_episode()
        with self._lock:
            self._held[asked.session] = len(asked.rows), helper
            while len(self._held) > HELD:
                self._held.popitem(last=False)
        return helper


def _machine(block: Block, seed: int) -> Helper:
    """A machine that knows of a task what its owner wrote into the study file."""
    task = block.task
    assert isinstance(task, GridTask)
    places = grid(task.width, task.height)
    noise = max(task.noise.variance, 1e-6)
    model = UCL(locations=places, noise_variance=noise, length_scale=block.advice_length * 2)
    field = Field(places, block.advice_mean, block.advice_sd, block.advice_length, noise)
    return assist(model, field, mode="suggest", rng=seed)


def _words(reason: str, block: Block) -> str:
    """The reason with squares called as the page calls them."""
    task = block.task
    assert isinstance(task, GridTask)
    words = []
    for word in reason.split(" "):
        number = word.rstrip(".:,;")
        words.append(word)
        if number.isdigit() and len(words) > 1 and words[-2] in ("option", "at"):
            y, x = divmod(int(number), task.width)
            before = "row" if words[-2] == "option" else "at row"
            words[-2:] = [before, str(y + 1) + ",", "column", str(x + 1) + word[len(number) :]]
    return " ".join(words)
