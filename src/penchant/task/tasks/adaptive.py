"""Offers chosen by the answers: the one that tells most of what one wants to know."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from penchant.errors import DataError
from penchant.models.catalogue import CATALOGUE
from penchant.task.sections import Section
from penchant.task.tasks.task import Past
from penchant.workflow.questions.ask import Asker, ask

Rows = tuple[tuple[tuple[float, ...], ...], ...]
KEPT = 256  # people whose beliefs are kept between two of their answers
MODELS = tuple(name for name, entry in CATALOGUE.items() if entry.data == "offers")


@dataclass(frozen=True)
class Adaptive:
    """How the next offer is chosen.

    Attributes
    ----------
    rows, attributes
        For each offer, for each attribute, the number of every option.
    model
        Name of the model.
    about
        Parameters in question; all, if none are named.
    n_decisions
        Questions asked.
    """

    rows: Rows
    attributes: tuple[str, ...]
    model: str
    about: tuple[str, ...]
    n_decisions: int

    def place(self, past: Past) -> int:
        """Which offer is next after these answers; the same whenever it is asked for."""
        number = _asked(self, past).next().number
        assert number is not None
        return number

    def asker(self) -> Asker:
        """An asker before any answer."""
        numbers = np.array(self.rows, dtype=np.float64)
        offers = {_named(name, self.model): numbers[:, a] for a, name in enumerate(self.attributes)}
        model = CATALOGUE[self.model].example()
        return ask(model, offers, about=self.about or None, repeats=False)


@lru_cache(maxsize=KEPT)
def _asked(adaptive: Adaptive, past: Past) -> Asker:
    if not past:
        return adaptive.asker()
    (place, option), before = past[-1], past[:-1]
    return _asked(adaptive, before).after(place, option)


def _named(attribute: str, model: str) -> str:
    """What a model calls an attribute: an amount is an outcome of a gamble."""
    wanted = CATALOGUE[model].example().attributes
    return "outcome" if attribute == "amount" and "outcome" in wanted else attribute


def read_adaptive(section: Section, rows: Rows, names: tuple[str, ...]) -> Adaptive:
    """The settings of questions: model, about, decisions."""
    usual = "hyperbolic" if "delay" in names else "expected-utility"
    model = section.one_of("model", MODELS, usual)
    about = tuple(section.texts("about", []))
    decisions = section.whole("decisions", 1, len(rows), min(20, len(rows)))
    found = Adaptive(rows, names, model, about, decisions)
    try:
        found.asker()
    except DataError as error:
        section.refuse("order", f"be possible ({error})", "Correct it.")
    return found
