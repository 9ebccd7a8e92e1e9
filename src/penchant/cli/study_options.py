"""Options of `penchant study`, in the groups that help shows them in."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from penchant.cli.options import Column, Columns, Flag, Labels, Number


@Parameter(name="*", group=Group("Table", sort_key=1))
@dataclass(frozen=True, kw_only=True)
class PlayTable:
    """Which column is what, and how the file is read.

    Parameters
    ----------
    subject
        Column that names the subject.
    condition
        Columns of what subjects were assigned to: groups are compared.
    block
        Column that names the play: beliefs start afresh in each. none: use no such column.
    decision
        Column that numbers the decisions; none: the rows are in order of time.
    chosen
        Column of the option's number or label; or x,y, the columns of its place.
    reward
        Column of the reward; or two, gain,loss.
    is_choice
        Column of 0/1: 0 for options that were shown, not chosen. none: use no such column.
    scored
        Column of 0/1: 0 for decisions that shall not enter the likelihood.
    expected
        Column of the mean reward of the option chosen, where it is known: for regret.
    landscape
        CSV or Parquet file of mean rewards: option, mean_reward, and columns of the table that tell
        landscapes apart. Without, the best mean reward is estimated from the data.
    landscape_by
        Columns that tell landscapes apart; those that --landscape shares with FILE, or --condition.
    options
        Labels of the options, in order; or how many there are (q-learning).
    base
        Number of the first option, 0 or 1.
    gaps
        A gap in the numbers of the decisions: error; timeout: nothing was chosen in time; order:
        it means nothing.
    delimiter
        What divides the cells of a CSV file; found by itself if not given.
    decimal
        Decimal point of a CSV file.
    encoding
        Encoding of a CSV file, such as cp1252.
    """

    subject: Column = None
    condition: Columns = field(default_factory=list)
    block: Column = None
    decision: Column = None
    chosen: Column = None
    reward: Column = None
    is_choice: Column = None
    scored: Column = None
    expected: Column = None
    landscape: Annotated[str | None, Parameter(metavar="FILE")] = None
    landscape_by: Columns = field(default_factory=list)
    options: Labels = field(default_factory=list)
    base: Annotated[Number, Parameter(metavar="0|1")] = 0
    gaps: Literal["error", "timeout", "order"] = "error"
    delimiter: Annotated[str | None, Parameter(metavar="CHARACTER")] = None
    decimal: Annotated[str, Parameter(metavar="CHARACTER")] = "."
    encoding: Annotated[str, Parameter(metavar="NAME")] = "utf-8"


@Parameter(name="*", group=Group("Analysis", sort_key=5))
@dataclass(frozen=True, kw_only=True)
class Analysis:
    """What is estimated, simulated and compared.

    Parameters
    ----------
    clock
        events: options shown before play count in t, too.
    prior
        Of the exact fits: none; weak or weak:C, finite even if choices are separated; or
        normal:MEAN,SD.
    nominal_low
        Point that the paper's estimator is linearised about for subjects with low performance:
        MEAN,VARIANCE or MEAN,VARIANCE,LENGTH; q-learning: learning_rate=0.3. The paper's for ucl.
    nominal_high
        The same for high performance.
    exact_only
        No linearised estimates.
    intervals
        Of the exact estimates: profile (by likelihood ratio), or wald.
    level
        Confidence level of all intervals.
    replicates
        Agents that play again with the estimates of each subject.
    bootstrap
        Replicates that tell how sure the performance of a subject is.
    joint
        Also fit the joint likelihood of every group.
    seed
        Whole number from which all randomness follows.
    threads
        Processors to use; all if not given. The numbers do not depend on it.
    """

    clock: Literal["choices", "events"] = "choices"
    prior: Annotated[str, Parameter(metavar="PRIOR")] = "none"
    nominal_low: Annotated[str | None, Parameter(metavar="POINT", allow_leading_hyphen=True)] = None
    nominal_high: Annotated[str | None, Parameter(metavar="POINT", allow_leading_hyphen=True)] = (
        None
    )
    exact_only: Flag = False
    intervals: Literal["profile", "wald"] = "profile"
    level: Annotated[float, Parameter(metavar="LEVEL")] = 0.95
    replicates: Number = 10
    bootstrap: Number = 200
    joint: Flag = False
    seed: Number = 0
    threads: Annotated[Number | None, Parameter(metavar="N")] = None


@Parameter(name="*", group=Group("Output", sort_key=6))
@dataclass(frozen=True, kw_only=True)
class Kept:
    """Where the results go.

    Parameters
    ----------
    output
        Folder for the report, the tables and the figures; it must be new.
    resume
        Go on with a study that was interrupted in that folder.
    title
        Of the report.
    figures
        both: SVG and PDF files; svg: the report and SVG files; none: no figures.
    json
        Print JSON instead of words.
    """

    output: Annotated[Path | None, Parameter(alias="-o", metavar="FOLDER")] = None
    resume: Flag = False
    title: Annotated[str | None, Parameter(metavar="TEXT")] = None
    figures: Literal["both", "svg", "none"] = "both"
    json: Flag = False
