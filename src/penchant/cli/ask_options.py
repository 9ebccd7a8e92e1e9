"""Options of `ask`: what could be offered, what was answered, what one wants to know."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from penchant.cli.options import Base, Flag, ModelName, Words


@Parameter(name="*", group=Group("Questions", sort_key=1))
@dataclass(frozen=True, kw_only=True)
class Questions:
    """What could be offered, and what was answered.

    Parameters
    ----------
    offers
        Table with one row per offer, as one-shot choices have them: amount_sooner, amount_later,
        delay_later; gain, loss, cert; or numbered, price_1, price_2.
    answers
        Table of the offers made so far, in order, and what was chosen of each. One that does not
        exist yet holds none.
    columns
        Columns of attributes where they have other names: amount=now/later,delay=0/days.
    chosen
        Column of the option chosen; found by its name if not given.
    """

    offers: Annotated[str | None, Parameter(metavar="FILE")] = None
    answers: Annotated[str | None, Parameter(metavar="FILE")] = None
    columns: Annotated[Words, Parameter(metavar="NAME=COLUMN/COLUMN,...")] = field(
        default_factory=list
    )
    chosen: Annotated[str | None, Parameter(metavar="COLUMN")] = None
    base: Base = 0


@Parameter(name="*", group=Group("What to know", sort_key=2))
@dataclass(frozen=True, kw_only=True)
class Wanted:
    """How people choose, and which of the parameters are in question.

    Parameters
    ----------
    model
        A model of one-shot choices, see penchant models; without it every attribute has a weight.
    settings
        Settings of the model, NAME=VALUE,..., as penchant models NAME lists them.
    about
        Parameters in question, by name; all of them if not given.
    prior
        File of penchant population --save-prior: what is known of people before they answer.
    enough
        Standard deviation at which to stop: of the logarithm of what is positive.
    no_repeats
        Make no offer twice.
    """

    model: ModelName | None = None
    settings: Annotated[Words, Parameter(metavar="NAME=VALUE,...")] = field(default_factory=list)
    about: Annotated[Words, Parameter(metavar="NAME,...")] = field(default_factory=list)
    prior: Annotated[Path | None, Parameter(metavar="FILE.json")] = None
    enough: Annotated[float | None, Parameter(metavar="SD")] = None
    no_repeats: Flag = False


@Parameter(name="*", group=Group("Output", sort_key=9))
@dataclass(frozen=True, kw_only=True)
class Said:
    """How to say the next offer.

    Parameters
    ----------
    json
        Print the next offer, and what is known so far, as JSON.
    interactive
        Ask here, one offer after another, and add what is typed to --answers.
    """

    json: Flag = False
    interactive: Flag = False
