"""Options of the commands that meet one person at a time: `ask`, and a study in the browser."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from penchant.cli.options import Base, Flag, ModelName, Number, OptionalNumber, Words


@Parameter(name="*", group=Group("Questions", sort_key=1))
@dataclass(frozen=True, kw_only=True)
class QuestionTables:
    """Tables of the possible offers and of the answers so far.

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
class AskOptions:
    """The model of the choices, and the parameters that the questions are about.

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
        Standard deviation at which to stop; of a positive parameter, that of its logarithm.
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
class AskOutputOptions:
    """Output of the next offer.

    Parameters
    ----------
    json
        Print the next offer, and what is known so far, as JSON.
    interactive
        Ask here, one offer after another, and add what is typed to --answers.
    """

    json: Flag = False
    interactive: Flag = False


@Parameter(name="*", group=Group("Server", sort_key=2))
@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """Address and store of the server, and what its page shows.

    Parameters
    ----------
    host
        Address to listen at; 127.0.0.1 is this computer alone. Others need the researcher's token
        in the environment variable PENCHANT_TOKEN.
    port
        Port to listen at; 0 takes a free one.
    store
        File of the data, or postgresql://user@host/name; STUDY.sqlite beside STUDY.toml if not
        given.
    frame
        Origin that may show the page in a frame, such as https://app.prolific.com.
    no_estimates
        Make no live estimates.
    """

    host: Annotated[str, Parameter(metavar="ADDRESS")] = "127.0.0.1"
    port: Number = 8000
    store: Annotated[str | None, Parameter(metavar="FILE-or-URL")] = None
    frame: Annotated[str | None, Parameter(metavar="ORIGIN")] = None
    no_estimates: Flag = False


@Parameter(name="*", group=Group("Players", sort_key=2))
@dataclass(frozen=True, kw_only=True)
class PlayOptions:
    """Simulated players: their number, parameters and patience.

    Parameters
    ----------
    players
        How many play.
    seed
        Whole number from which all randomness of the players follows.
    parameters
        Parameters of the players, NAME=VALUE, or NAME=LOW:HIGH for a range.
    answers
        Correct answers of the comprehension check, counted from 1; found by trying if not given.
    at_once
        How many play at the same time.
    patience
        Seconds for which a request is tried again, so that the server may start anew.
    output
        Write what became of each player, with the parameters: .csv, .parquet or .json.
    """

    players: Number = 10
    seed: OptionalNumber = None
    parameters: Annotated[Words, Parameter(metavar="NAME=LOW:HIGH,...")] = field(
        default_factory=list
    )
    answers: Annotated[Words, Parameter(metavar="N,...")] = field(default_factory=list)
    at_once: Number = 16
    patience: Annotated[float, Parameter(metavar="SECONDS")] = 120.0
    output: Annotated[Path | None, Parameter(alias="-o", metavar="FILE")] = None
