"""Options of the commands around a study in the browser."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from penchant.cli.options import Flag, Number, OptionalNumber, Words


@Parameter(name="*", group=Group("Server", sort_key=2))
@dataclass(frozen=True, kw_only=True)
class Served:
    """Where the study is served and kept.

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
class Playing:
    """Who plays, and how.

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
