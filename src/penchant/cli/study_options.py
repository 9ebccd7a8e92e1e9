"""Options of `penchant study`, in the groups that help shows them in."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from penchant.cli.option_types import (
    Clock,
    Column,
    Columns,
    Flag,
    Json,
    Level,
    Number,
    Prior,
    Threads,
)


@Parameter(name="*", group=Group("Groups and regret", sort_key=2))
@dataclass(frozen=True, kw_only=True)
class Compared:
    """What subjects are grouped by, and what their options are known to pay.

    Parameters
    ----------
    condition
        Columns of what subjects were assigned to, such as patients and controls: these groups are
        compared directly. What subjects were in one after another is compared within subjects.
    expected
        Column of the mean reward of the option chosen, where it is known: for regret.
    landscape
        CSV or Parquet file of mean rewards: option, mean_reward, and columns of the table that tell
        landscapes apart.
    landscape_by
        Columns that tell landscapes apart; those that --landscape shares with FILE, or --condition.
    performance
        Measure regret, and classify subjects by how it grows (low, high), as the paper does;
        classes are then crossed with --condition. The default with --landscape, --expected,
        --landscape-by, --payoffs by which one option stays the best, or --nominal-low and
        --nominal-high; else the best mean reward is estimated from the data, and must not change in
        a landscape. --no-performance: not at all.
    payoffs
        Columns of what every option paid, or would have paid, at every decision, in the order of
        the options, or a pattern, 'payoff_*': rewards, means or probabilities. Agents then play the
        task as it was. Found by itself where names are usual; none: use no such columns.
    payoff_noise
        Variance of rewards around --payoffs; 0 where these are the rewards themselves. Found from
        the rewards received if not given.
    """

    condition: Columns = field(default_factory=list)
    expected: Column = None
    landscape: Annotated[str | None, Parameter(metavar="FILE")] = None
    landscape_by: Columns = field(default_factory=list)
    performance: Annotated[
        bool | None, Parameter(show_default=False, negative="--no-performance")
    ] = None
    payoffs: Columns = field(default_factory=list)
    payoff_noise: Annotated[float | None, Parameter(metavar="VARIANCE")] = None


@Parameter(name="*", group=Group("Analysis", sort_key=5))
@dataclass(frozen=True, kw_only=True)
class Analysis:
    """What is estimated, simulated and compared.

    Parameters
    ----------
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
    replicates
        Agents that play again with the estimates of each subject, where --payoffs or --landscape
        tell what every option paid; else choices are foretold from each subject's own history.
    bootstrap
        Replicates that tell how sure the performance of a subject is.
    joint
        Also fit the joint likelihood of every group.
    seed
        Whole number from which all randomness follows.
    """

    clock: Clock = "choices"
    prior: Prior = "none"
    nominal_low: Annotated[str | None, Parameter(metavar="POINT", allow_leading_hyphen=True)] = None
    nominal_high: Annotated[str | None, Parameter(metavar="POINT", allow_leading_hyphen=True)] = (
        None
    )
    exact_only: Flag = False
    intervals: Literal["profile", "wald"] = "profile"
    level: Level = 0.95
    replicates: Number = 10
    bootstrap: Number = 200
    joint: Flag = False
    seed: Number = 0
    threads: Threads = None


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
    """

    output: Annotated[Path | None, Parameter(alias="-o", metavar="FOLDER")] = None
    resume: Flag = False
    title: Annotated[str | None, Parameter(metavar="TEXT")] = None
    figures: Literal["both", "svg", "none"] = "both"
    json: Json = False
