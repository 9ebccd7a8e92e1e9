"""Options that the commands share, in the groups that help shows them in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from penchant.models import MODELS


def split_tokens(type_: Any, tokens: Sequence[Any]) -> list[str]:
    """Split values that are given as `a,b` or repeated."""
    return [part for token in tokens for part in split_commas(token.value)]


def split_commas(words: str) -> list[str]:
    """Split a text at its commas, without blanks and empty parts.

    >>> split_commas("temperature=0.1:0.3, learning_rate=0.2,")
    ['temperature=0.1:0.3', 'learning_rate=0.2']
    """
    return [part.strip() for part in words.split(",") if part.strip()]


def parse_integer(type_: Any, tokens: Sequence[Any]) -> int:
    """Parse a whole number; cyclopts would round others."""
    word = tokens[0].value
    try:
        return int(word)
    except ValueError:
        raise ValueError(f"it must be a whole number; got {word!r}.") from None


_comma_list = Parameter(converter=split_tokens, n_tokens=1, show_default=False)
_number = Parameter(metavar="N", converter=parse_integer)

Flag = Annotated[bool, Parameter(show_default=False)]
Column = Annotated[str | None, Parameter(metavar="COLUMN")]
Number = Annotated[int, _number]
OptionalNumber = Annotated[int | None, _number]
Words = Annotated[list[str], _comma_list]
Columns = Annotated[list[str], _comma_list, Parameter(metavar="COLUMN,...")]
Labels = Annotated[list[str], _comma_list, Parameter(metavar="LABEL,...")]
Repeated = Annotated[list[str], Parameter(n_tokens=1, show_default=False)]
Prior = Annotated[str, Parameter(metavar="PRIOR")]

# -- how a file is read ----------------------------------------------------------------------------

_file = Group("File", sort_key=7)
_experiment = Group("Choice experiment", sort_key=2)

Delimiter = Annotated[
    str | None,
    Parameter(
        group=_file,
        metavar="CHARACTER",
        help="What divides the cells of a CSV file; found by itself if not given.",
    ),
]
Decimal = Annotated[
    str, Parameter(group=_file, metavar="CHARACTER", help="Decimal point of a CSV file.")
]
Encoding = Annotated[
    str, Parameter(group=_file, metavar="NAME", help="Encoding of a CSV file, such as cp1252.")
]

SchemaFile = Annotated[
    str | None,
    Parameter(
        group=_file,
        metavar="SCHEMA.toml",
        help="What the table is, as penchant check FILE --write SCHEMA.toml begins it; other "
        "options of columns and rows count before it.",
    ),
]
Where = Annotated[
    str | None,
    Parameter(
        group=_file,
        metavar="CONDITION",
        help="Rows to keep, such as \"phase == 'test' and rt > 200\": comparisons, in, and, or, "
        "not; names with spaces in backticks.",
    ),
]
Units = Annotated[
    Words,
    Parameter(
        group=_file,
        metavar="UNIT=DAYS,...",
        help="Days of a month or a year where delays are in several units: month=30.",
    ),
]

# -- choice experiments ----------------------------------------------------------------------------

Attributes = Annotated[
    str | None,
    Parameter(
        group=_experiment,
        metavar="FORMULA",
        help="Attributes of a choice experiment, 'cost + C(brand) + cost:income'; all that tell "
        "options apart if not given. Words become 0/1 columns.",
    ),
]
OptOut = Annotated[
    str | None,
    Parameter(
        group=_experiment,
        metavar="WORD",
        help="Word for the option that is none of those shown: it has a constant of its own.",
    ),
]
Reference = Annotated[
    Words,
    Parameter(
        group=_experiment,
        metavar="ATTRIBUTE=LEVEL,...",
        help="Level that the others are compared with; the first if not given.",
    ),
]

Price = Annotated[
    str | None,
    Parameter(
        group=_experiment,
        metavar="ATTRIBUTE",
        help="Attribute that is the price of an option: parameters are then the willingness to pay "
        "for a unit of each other attribute.",
    ),
]

# -- which column of play is what ------------------------------------------------------------------

Block = Annotated[
    Column,
    Parameter(
        help="Column that names the play: beliefs start afresh in each. none: use no such column."
    ),
]
Reward = Annotated[Column, Parameter(help="Column of the reward; or two, gain,loss.")]
IsChoice = Annotated[
    Column,
    Parameter(
        help="Column of 0/1: 0 for options that were shown, not chosen. none: use no such column."
    ),
]
Scored = Annotated[
    Column,
    Parameter(help="Column of 0/1: 0 for decisions that shall not enter the likelihood."),
]
Executed = Annotated[
    Column,
    Parameter(
        help="Column of the option executed, where it may differ from the choice: the choice is "
        "scored, the option executed is learnt about. none: use no such column."
    ),
]
Base = Annotated[Number, Parameter(metavar="0|1", help="Number of the first option, 0 or 1.")]
Gaps = Annotated[
    Literal["error", "timeout", "order"] | None,
    Parameter(
        help="A gap in the numbers of the decisions: order: it means nothing, which a note says if "
        "nothing is given; timeout: nothing was chosen in time; error."
    ),
]
Shown = Annotated[
    OptionalNumber,
    Parameter(
        help="How many options were shown, not chosen, at the start of every block: learnt from, "
        "not scored. 1 where each round starts with a tile turned over."
    ),
]
MissingReward = Annotated[
    Literal["error", "truncate", "skip"],
    Parameter(
        help="A choice in mid-play without a reward: error; truncate: the block ends with it; "
        "skip: it counts as a decision without a choice, neither scored nor learnt from."
    ),
]
Offers = Annotated[
    Words,
    Parameter(
        metavar="NAME=COLUMN/COLUMN,...",
        help="With models of offers (hyperbolic, prospect ...): the column, or number, of every "
        "option by attribute, amount=now/later,delay=0/days; found by itself where names are "
        "usual.",
    ),
]
Clock = Annotated[
    Literal["choices", "events"],
    Parameter(help="events: options shown before play count in t, too (ucl)."),
]

# -- where options lie, and what they pay ----------------------------------------------------------

Grid = Annotated[
    str | None,
    Parameter(
        metavar="WIDTHxHEIGHT",
        help="Options lie on a grid, WIDTHxHEIGHT: option x + WIDTH * y is at (x, y), from 0.",
    ),
]
Locations = Annotated[
    str | None,
    Parameter(
        metavar="FILE",
        help="CSV file with columns x, y, z (or fewer) instead: one row per option, in order.",
    ),
]
LandscapeName = Annotated[
    Literal["a", "b"] | None,
    Parameter(
        help="Mean rewards on the --grid, as the paper's figures show them: a has one peak, b has "
        "two."
    ),
]
Means = Annotated[
    Words,
    Parameter(
        metavar="MEAN,...", help="Mean reward of each option, in order, instead of --landscape."
    ),
]

# -- how it is computed, and where the result goes -------------------------------------------------

Seed = Annotated[
    OptionalNumber,
    Parameter(
        help="Whole number from which all randomness follows: the same one gives the same result."
    ),
]
Threads = Annotated[
    OptionalNumber,
    Parameter(help="Processors to use; all if not given. The answer does not depend on it."),
]
Level = Annotated[float, Parameter(metavar="LEVEL", help="Confidence level of the intervals.")]
Intervals = Annotated[
    Literal["wald", "profile", "calibrated"],
    Parameter(
        help="profile: by likelihood ratio, right where the likelihood is skewed. calibrated: the "
        "same by simulation with --seed, right where decisions are few."
    ),
]
Json = Annotated[Flag, Parameter(help="Print JSON instead of a table.")]
Output = Annotated[
    Path | None,
    Parameter(
        alias="-o",
        metavar="FILE",
        help="Also write the result to this file: .json, .csv, .parquet, .tex or .txt.",
    ),
]
Overwrite = Annotated[Flag, Parameter(help="Replace files that exist.")]

# The names that a shell completes, read where models are listed.
if TYPE_CHECKING:
    ModelName = str
else:
    ModelName = Literal[tuple(MODELS)]


# The names that a shell completes; others are answered with these.
ExampleName = Annotated[
    Literal["travel-mode", "menu", "delays"] | str | None,
    Parameter(metavar="NAME", show_choices=False),
]
TaskName = Annotated[
    Literal[
        "two-step",
        "go-no-go",
        "balloons",
        "selection",
        "aversive",
        "cambridge",
        "cambridge-colours",
        "description",
        "ambiguity",
        "peers",
        "ultimatum",
        "inputs",
        "iowa",
        "gain-loss",
        "bandit",
        "reversal",
    ]
    | str
    | None,
    Parameter(metavar="NAME", show_choices=False),
]


@Parameter(name="*", group=Group("Columns", sort_key=1))
@dataclass(frozen=True, kw_only=True)
class Data:
    """The table of choices, and the columns that have its roles.

    Parameters
    ----------
    example
        Use data that come with Penchant instead of FILE: travel-mode, menu or
        delays (with --model hyperbolic).
    decision
        Column that names the decision; several where one is not enough. With --model: numbers it.
    option
        Column that names the option.
    chosen
        Column that marks the option taken, by 0/1 or by its label. With --model: its number or its
        label; or x,y, the columns of its place.
    explanatory
        Columns of the variables; all other columns if not given.
    subject
        Column that names the subject: one estimate each. With --model, none: use no such column.
    weight
        Column that says how often a decision counts.
    weight_kind
        frequency (a weight of 2: the decision was made twice), or probability for sampling weights;
        if not given, whole weights are frequencies.
    available
        Column of 0/1: whether the option was on offer.
    offset
        Column of the known part of the objective.
    wide
        FILE has one row per decision: --explanatory price means columns price_car, price_bus ...
    options
        Options of a wide table; with --model, their labels, or how many there are (q-learning).
    missing
        drop-set leaves out decisions with missing cells, and says how many.
    """

    example: ExampleName = None
    decision: Columns = field(default_factory=list)
    option: Column = None
    chosen: Column = None
    explanatory: Columns = field(default_factory=list)
    subject: Column = None
    weight: Column = None
    weight_kind: Literal["frequency", "probability"] | None = None
    available: Column = None
    offset: Column = None
    wide: Flag = False
    options: Labels = field(default_factory=list)
    missing: Literal["error", "drop-set"] = "error"
    schema: SchemaFile = None
    where: Where = None
    attributes: Attributes = None
    opt_out: OptOut = None
    reference: Reference = field(default_factory=list)
    price: Price = None
    units: Units = field(default_factory=list)
    delimiter: Delimiter = None
    decimal: Decimal = "."
    encoding: Encoding = "utf-8"


@Parameter(name="*", group=Group("Terms", sort_key=2))
@dataclass(frozen=True, kw_only=True)
class Terms:
    """Variables that are made of options and attributes.

    Parameters
    ----------
    constants
        Add a constant for every option but this one.
    interact
        Columns of attributes (income, age ...) to multiply with the same options, or all but one.
    """

    constants: Annotated[str | None, Parameter(metavar="LABEL")] = None
    interact: Columns = field(default_factory=list)


@Parameter(name="*", group=Group("Model", sort_key=3))
@dataclass(frozen=True, kw_only=True)
class EstimationOptions:
    """Estimation of the weights of explanatory variables.

    Parameters
    ----------
    method
        ml: maximum likelihood; firth: bias-reduced, finite even if the choices are separated.
    prior
        none; weak or weak:C, which draws towards chance (C = 1 for prediction, 0.03 or less for
        parameters); normal:MEAN,SD for each weight.
    constraint
        Bound on a weight, such as 'price<=0'; may be repeated.
    covariance
        robust: sandwich; clustered: by --subject, with one estimate for all subjects.
    max_steps
        Newton steps allowed.
    """

    method: Literal["ml", "firth"] = "ml"
    prior: Prior = "none"
    constraint: Annotated[Repeated, Parameter(metavar="BOUND")] = field(default_factory=list)
    covariance: Literal["model", "robust", "clustered"] = "model"
    max_steps: Number = 100
    threads: Threads = None


@Parameter(name="*", group=Group("Output", sort_key=6))
@dataclass(frozen=True, kw_only=True)
class FitOutputOptions:
    """Printed and written output of a fit, and its intervals.

    Parameters
    ----------
    figure
        Also draw it: .svg, .pdf or .png.
    strict
        Exit with 1 unless every estimate has converged.
    """

    json: Json = False
    level: Level = 0.95
    intervals: Intervals = "wald"
    seed: Seed = None
    output: Output = None
    figure: Annotated[Path | None, Parameter(metavar="FILE")] = None
    overwrite: Overwrite = False
    strict: Flag = False


@Parameter(name="*", group=Group("Agent", sort_key=4))
@dataclass(frozen=True, kw_only=True)
class Agent:
    """The model of task data or offers, with its settings.

    Parameters
    ----------
    model
        Model of task data, such as q-learning, or of one-shot choices, such as hyperbolic; see
        penchant models.
    settings
        Settings of the model, NAME=VALUE,... (free: estimated), as penchant models NAME lists them.
    noise_variance
        Variance of a reward around its mean; 10 in the paper's human data.
    length_scale
        Distance over which rewards are correlated in the agent's prior; estimated if not given.
    kernel
        How the correlation falls with distance.
    cooling
        logarithmic: choices become less random as log t; constant: they do not.
    bonus
        free: uncertainty has a weight of its own, a test of ucl.
    initial_value
        q-learning, ucb1 and volatile-kalman: value of every option before play; 0 if not given.
        --settings initial_value=free estimates it (not of volatile-kalman).
    """

    model: ModelName | None = None
    settings: Annotated[Words, Parameter(metavar="NAME=VALUE,...")] = field(default_factory=list)
    grid: Grid = None
    locations: Locations = None
    noise_variance: Annotated[float | None, Parameter(metavar="VARIANCE")] = None
    length_scale: Annotated[float | None, Parameter(metavar="LENGTH")] = None
    kernel: Literal["exponential", "gaussian", "matern-3/2", "matern-5/2"] = "exponential"
    cooling: Literal["logarithmic", "constant"] = "logarithmic"
    bonus: Literal["known", "free"] = "known"
    initial_value: Annotated[float | None, Parameter(metavar="VALUE")] = None


@Parameter(name="*", group=Group("Task data", sort_key=5))
@dataclass(frozen=True, kw_only=True)
class History:
    """The columns of task data (a history of play), and how they are read.

    Parameters
    ----------
    pool
        One estimate for all subjects together.
    linearized
        The paper's estimator, linearised about a prior: MEAN,VARIANCE or MEAN,VARIANCE,LENGTH.
    task
        A named task whose columns FILE has, such as two-step or go-no-go; fit takes its model.
    """

    reward: Reward = None
    block: Block = None
    is_choice: IsChoice = None
    scored: Scored = None
    executed: Executed = None
    base: Base = 0
    gaps: Gaps = None
    shown: Shown = None
    missing_reward: MissingReward = "error"
    offers: Offers = field(default_factory=list)
    pool: Flag = False
    clock: Clock = "choices"
    linearized: Annotated[str | None, Parameter(metavar="PRIOR", allow_leading_hyphen=True)] = None
    task: TaskName = None


@Parameter(name="*", group=Group("World", sort_key=5))
@dataclass(frozen=True, kw_only=True)
class World:
    """The simulated task: mean rewards, number of agents and of decisions.

    Parameters
    ----------
    parameters
        Parameters of the agents, NAME=VALUE,...: decision_noise, prior_mean and prior_variance for
        ucl; temperature and learning_rate for q-learning; penchant models NAME lists them.
    decisions
        Decisions of each agent.
    agents
        Agents, who have the same parameters and play by themselves.
    output
        Write the table to this file instead of stdout: .csv, .parquet or .json.
    """

    landscape: LandscapeName = None
    means: Means = field(default_factory=list)
    parameters: Annotated[Words, Parameter(metavar="NAME=VALUE,...")] = field(default_factory=list)
    decisions: Number = 90
    agents: Number = 1
    seed: Seed = None
    output: Annotated[Path | None, Parameter(alias="-o", metavar="FILE")] = None
    overwrite: Overwrite = False


@Parameter(name="*", group=Group("Experiments", sort_key=1))
@dataclass(frozen=True, kw_only=True)
class Experiments:
    """Experiments of the paper to run, and the size of their simulations.

    Parameters
    ----------
    only
        Experiments to run: figure-1 to figure-6, landscapes, tables, study; may be repeated. All if
        not given.
    replicates
        Replicates of the figures: the paper's 100 if not given, 20 with --quick.
    seed
        Whole number from which all randomness follows: the same one gives the same results.
    quick
        Fewer replicates, decisions and subjects.
    """

    only: Annotated[Words, Parameter(metavar="NAME")] = field(default_factory=list)
    replicates: OptionalNumber = None
    seed: Number = 1
    threads: Threads = None
    quick: Flag = False
