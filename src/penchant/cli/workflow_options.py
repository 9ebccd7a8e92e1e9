"""Options of `recover`, `compare` and `predict`, in the groups that help shows them in."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from penchant.cli.options import (
    Column,
    Data,
    Flag,
    History,
    Labels,
    Number,
    Repeated,
    comma_separated,
    whole,
)

_words = Parameter(converter=comma_separated, n_tokens=1, show_default=False)
OptionalNumber = Annotated[int | None, Parameter(metavar="N", converter=whole)]


@Parameter(name="*", group=Group("Table", sort_key=1))
@dataclass(frozen=True, kw_only=True)
class Played:
    """Which column of the table is what, and how the file is read.

    Parameters
    ----------
    subject
        Column that names the subject. none: use no such column.
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
    options
        Labels of the options, in order; or how many there are.
    base
        Number of the first option, 0 or 1.
    gaps
        A gap in the numbers of the decisions: error; timeout: nothing was chosen in time; order:
        it means nothing.
    offers
        With models of offers: the column, or number, of every option by attribute,
        amount=now/later,delay=0/days.
    delimiter
        What divides the cells of a CSV file; found by itself if not given.
    decimal
        Decimal point of a CSV file.
    encoding
        Encoding of a CSV file, such as cp1252.
    """

    subject: Column = None
    block: Column = None
    decision: Column = None
    chosen: Column = None
    reward: Column = None
    is_choice: Column = None
    scored: Column = None
    options: Labels = field(default_factory=list)
    base: Annotated[Number, Parameter(metavar="0|1")] = 0
    gaps: Literal["error", "timeout", "order"] = "error"
    offers: Annotated[list[str], _words, Parameter(metavar="NAME=COLUMN/COLUMN,...")] = field(
        default_factory=list
    )
    delimiter: Annotated[str | None, Parameter(metavar="CHARACTER")] = None
    decimal: Annotated[str, Parameter(metavar="CHARACTER")] = "."
    encoding: Annotated[str, Parameter(metavar="NAME")] = "utf-8"

    def data(self) -> Data:
        """The same, as `fit` has it."""
        return Data(
            decision=[self.decision] if self.decision else [],
            chosen=self.chosen,
            subject=self.subject,
            options=self.options,
            delimiter=self.delimiter,
            decimal=self.decimal,
            encoding=self.encoding,
        )

    def history(self) -> History:
        """The same, as `fit` has it."""
        return History(
            reward=self.reward,
            block=self.block,
            is_choice=self.is_choice,
            scored=self.scored,
            base=self.base,
            gaps=self.gaps,
            offers=self.offers,
        )


@Parameter(name="*", group=Group("Models", sort_key=2))
@dataclass(frozen=True, kw_only=True)
class Rivals:
    """The models that are compared.

    Parameters
    ----------
    model
        A model, or NAME:SETTING,... such as q-learning:stickiness,dual_rates; give two or more. See
        penchant models.
    grid
        Options lie on a grid, WIDTHxHEIGHT: option x + WIDTH * y is at (x, y), from 0.
    locations
        CSV file with columns x, y, z (or fewer) instead: one row per option, in order.
    noise_variance
        Variance of a reward around its mean, for the models that know it: ucl, kalman, hybrid.
    length_scale
        How far rewards go together, for ucl and gp-ucb; estimated if not given.
    """

    model: Annotated[Repeated, Parameter(metavar="NAME[:SETTINGS]")] = field(default_factory=list)
    grid: Annotated[str | None, Parameter(metavar="WIDTHxHEIGHT")] = None
    locations: Annotated[str | None, Parameter(metavar="FILE")] = None
    noise_variance: Annotated[float | None, Parameter(metavar="VARIANCE")] = None
    length_scale: Annotated[float | None, Parameter(metavar="LENGTH")] = None


@Parameter(name="*", group=Group("Comparison", sort_key=3))
@dataclass(frozen=True, kw_only=True)
class Contest:
    """How the models are compared.

    Parameters
    ----------
    folds
        Cross-validation: block leaves out one block after another; a number N every N-th decision,
        in N ways; or the column that names each decision's fold. None if not given.
    criterion
        What ranks the models: bic, aic, or held-out; the last with --folds, else bic.
    prior
        Of the fits that predict what is held out: weak or weak:C; none; or normal:MEAN,SD.
    nested
        SMALLER,LARGER: two models by their place, from 1, for a likelihood-ratio test; may be
        repeated. That the larger contains the smaller is on your word.
    average
        Average predictions over shape parameters instead of taking the best.
    threads
        Processors to use; all if not given. The answer does not depend on it.
    """

    folds: Annotated[str | None, Parameter(metavar="N|block|COLUMN")] = None
    criterion: Literal["bic", "aic", "held-out"] | None = None
    prior: Annotated[str, Parameter(metavar="PRIOR")] = "weak"
    nested: Annotated[Repeated, Parameter(metavar="N,N")] = field(default_factory=list)
    average: Flag = False
    threads: OptionalNumber = None


@Parameter(name="*", group=Group("Simulation", sort_key=5))
@dataclass(frozen=True, kw_only=True)
class Simulated:
    """Who is simulated, in which task, and for how long.

    Parameters
    ----------
    landscape
        Mean rewards on the --grid, as the paper's figures show them: a has one peak, b has two.
    means
        Mean reward of each option instead, in order.
    parameters
        Parameters of the people, NAME=VALUE, or NAME=LOW:HIGH for a range: drawn uniformly, on the
        logarithm where the parameter is positive (temperatures, variances).
    decisions
        Decisions in each block.
    blocks
        Blocks of each person; beliefs start afresh in each.
    subjects
        People simulated.
    seed
        Whole number from which all randomness follows: the same one gives the same result.
    """

    landscape: Literal["a", "b"] | None = None
    means: Annotated[list[str], _words, Parameter(metavar="MEAN,...")] = field(default_factory=list)
    parameters: Annotated[list[str], _words, Parameter(metavar="NAME=LOW:HIGH,...")] = field(
        default_factory=list
    )
    decisions: Number = 100
    blocks: Number = 1
    subjects: Number = 100
    seed: OptionalNumber = None


@Parameter(name="*", group=Group("Recovery", sort_key=6))
@dataclass(frozen=True, kw_only=True)
class Regained:
    """How simulated people are fitted, and what is asked of it.

    Parameters
    ----------
    prior
        none: maximum likelihood; weak or weak:C; normal:MEAN,SD for each weight.
    level
        Confidence level of the intervals.
    intervals
        profile: by likelihood ratio, right where the likelihood is skewed.
    width
        NAME=WIDTH: say instead how many decisions it takes until half the people have an interval
        of this parameter that is at most so wide.
    threads
        Processors to use; all if not given. The answer does not depend on it.
    """

    prior: Annotated[str, Parameter(metavar="PRIOR")] = "none"
    level: Annotated[float, Parameter(metavar="LEVEL")] = 0.95
    intervals: Literal["wald", "profile"] = "wald"
    width: Annotated[str | None, Parameter(metavar="NAME=WIDTH")] = None
    threads: OptionalNumber = None


@Parameter(name="*", group=Group("Prediction", sort_key=5))
@dataclass(frozen=True, kw_only=True)
class Prediction:
    """How people are fitted, and what is predicted.

    Parameters
    ----------
    prior
        weak or weak:C, finite for everybody; none: maximum likelihood; normal:MEAN,SD.
    pool
        One estimate for all subjects together.
    clock
        events: options shown before play count in t, too (ucl).
    all_options
        Add columns for every option, not only the one chosen: probability_0, value_0 ...
    check
        Print instead how often N simulations with the fitted models do what people did; the table
        goes to --output only.
    seed
        Whole number from which the randomness of --check follows.
    threads
        Processors to use; all if not given. The answer does not depend on it.
    """

    prior: Annotated[str, Parameter(metavar="PRIOR")] = "weak"
    pool: Flag = False
    clock: Literal["choices", "events"] = "choices"
    all_options: Flag = False
    check: OptionalNumber = None
    seed: OptionalNumber = None
    threads: OptionalNumber = None


@Parameter(name="*", group=Group("Output", sort_key=9))
@dataclass(frozen=True, kw_only=True)
class Written:
    """What to print and where to keep it.

    Parameters
    ----------
    json
        Print JSON instead of a table.
    output
        Also write the result to this file: .json, .csv, .parquet, .tex or .txt.
    figure
        Also draw it: .svg, .pdf or .png.
    overwrite
        Replace files that exist.
    """

    json: Flag = False
    output: Annotated[Path | None, Parameter(alias="-o", metavar="FILE")] = None
    figure: Annotated[Path | None, Parameter(metavar="FILE")] = None
    overwrite: Flag = False
