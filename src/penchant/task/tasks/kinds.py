"""All kinds of task by name; a new one is added here and in `page/tasks`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penchant.task.sections import Section
from penchant.task.tasks.bandit import read_bandit
from penchant.task.tasks.grid import read_grid
from penchant.task.tasks.offers import read_offers_task
from penchant.task.tasks.task import Task

KINDS: Mapping[str, Callable[[Section], Task]] = {
    "grid": read_grid,
    "bandit": read_bandit,
    "offers": read_offers_task,
}
