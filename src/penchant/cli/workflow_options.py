"""Options of studies, findings and plans, in the groups that help shows them in."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

from penchant.cli.options import (
    Attributes,
    Base,
    Block,
    Clock,
    Column,
    Columns,
    Data,
    Decimal,
    Delimiter,
    Encoding,
    ExampleName,
    Executed,
    Flag,
    Gaps,
    Grid,
    History,
    Intervals,
    IsChoice,
    Json,
    Labels,
    LandscapeName,
    Level,
    Locations,
    Means,
    MissingReward,
    ModelName,
    Number,
    Offers,
    OptionalNumber,
    OptOut,
    Output,
    Overwrite,
    Price,
    Prior,
    Reference,
    Repeated,
    Reward,
    SchemaFile,
    Scored,
    Seed,
    Shown,
    TaskName,
    Threads,
    Units,
    Where,
    Words,
)

_simulation = Group("Simulation", sort_key=5)
_ranges = Parameter(metavar="NAME=LOW:HIGH,...")


@Parameter(name="*", group=Group("Columns", sort_key=1))
@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """Roles of the columns of a table, and the format of its file.

    Parameters
    ----------
    task
        A named task whose columns FILE has, such as two-step or go-no-go.
    subject
        Column that names the subject. none: use no such column.
    decision
        Column that numbers the decisions; none: the rows are in order of time.
    chosen
        Column of the option's number or label; or x,y, the columns of its place.
    options
        Labels of the options, in order; or how many there are.
    """

    task: TaskName = None
    subject: Column = None
    block: Block = None
    decision: Column = None
    chosen: Column = None
    reward: Reward = None
    is_choice: IsChoice = None
    scored: Scored = None
    executed: Executed = None
    options: Labels = field(default_factory=list)
    base: Base = 0
    gaps: Gaps = None
    shown: Shown = None
    missing_reward: MissingReward = "error"
    offers: Offers = field(default_factory=list)
    schema: SchemaFile = None
    where: Where = None
    units: Units = field(default_factory=list)
    delimiter: Delimiter = None
    decimal: Decimal = "."
    encoding: Encoding = "utf-8"

    def data(self) -> Data:
        """Options of the table in the group `Data`, which `fit` reads."""
        decision = [self.decision] if self.decision else []
        return Data(**{**self._shared_options(Data), "decision": decision})

    def history(self, clock: Clock = "choices") -> History:
        """Options of task data in the group `History`, which `fit` reads."""
        return History(**self._shared_options(History), clock=clock)

    def _shared_options(self, group: type[Any]) -> dict[str, Any]:
        """The options that are also options of another group."""
        return {one.name: vars(self)[one.name] for one in fields(group) if one.name in vars(self)}


@Parameter(name="*", group=Group("Choice experiment", sort_key=2))
@dataclass(frozen=True, kw_only=True)
class StudyExperimentOptions:
    """Attributes of a choice experiment that `study` analyses; it needs no --model."""

    attributes: Attributes = None
    opt_out: OptOut = None
    reference: Reference = field(default_factory=list)
    price: Price = None


OptionColumn = Annotated[
    Column, Parameter(help="Column that names the option, where each has a row of its own.")
]


@Parameter(name="*", group=Group("Choice experiment", sort_key=2))
@dataclass(frozen=True, kw_only=True)
class PredictExperimentOptions:
    """Attributes of a choice experiment that `predict` fits; it needs no --model."""

    option: OptionColumn = None
    attributes: Attributes = None
    opt_out: OptOut = None
    reference: Reference = field(default_factory=list)


@Parameter(name="*", group=Group("Choice experiment", sort_key=2))
@dataclass(frozen=True, kw_only=True)
class AttributeSets:
    """Sets of attributes of a choice experiment, which are compared in place of models.

    Parameters
    ----------
    attributes
        A set, 'cost + C(brand) + cost:income', once for each: 1 for constants of the options alone,
        all for all attributes. These two if not given; one set is compared with constants alone.
        One set of weights for all subjects; --subject COLUMN for one each.
    price
        With --group: attribute that is the price of an option. Groups are then compared in their
        willingness to pay for a unit of each other attribute.
    """

    option: OptionColumn = None
    attributes: Annotated[Repeated, Parameter(metavar="FORMULA")] = field(default_factory=list)
    opt_out: OptOut = None
    reference: Reference = field(default_factory=list)
    price: Annotated[str | None, Parameter(metavar="ATTRIBUTE")] = None


@Parameter(name="*", group=Group("Models", sort_key=2))
@dataclass(frozen=True, kw_only=True)
class ComparedModels:
    """The models that are compared.

    Parameters
    ----------
    model
        A model, or NAME:SETTING,... such as q-learning:stickiness,dual_rates; give two or more. See
        penchant models.
    noise_variance
        Variance of a reward around its mean, for the models that know it: ucl, kalman, hybrid.
    length_scale
        Distance over which rewards are correlated, for ucl and gp-ucb; estimated if not given.
    """

    model: Annotated[
        list[ModelName | str],
        Parameter(metavar="NAME[:SETTINGS]", n_tokens=1, show_default=False, show_choices=False),
    ] = field(default_factory=list)
    grid: Grid = None
    locations: Locations = None
    noise_variance: Annotated[float | None, Parameter(metavar="VARIANCE")] = None
    length_scale: Annotated[float | None, Parameter(metavar="LENGTH")] = None


@Parameter(name="*", group=Group("Comparison", sort_key=3))
@dataclass(frozen=True, kw_only=True)
class RankingOptions:
    """Criterion and cross-validation by which models are ranked.

    Parameters
    ----------
    folds
        Cross-validation: block leaves out one block after another; a number N every N-th decision,
        in N ways; or the column of a table that names each decision's fold; subject, in a choice
        experiment, one person after another. None if not given.
    criterion
        What ranks the models: bic, aic, or held-out; the last with --folds, else bic.
    prior
        Prior of the fits that predict held-out trials: weak or weak:C; none; or normal:MEAN,SD.
    """

    folds: Annotated[str | None, Parameter(metavar="N|block|COLUMN")] = None
    criterion: Literal["bic", "aic", "held-out"] | None = None
    prior: Prior = "weak"
    threads: Threads = None


@Parameter(name="*", group=Group("Comparison", sort_key=3))
@dataclass(frozen=True, kw_only=True)
class ComparisonOptions:
    """Tests, model averaging and group comparisons beside the ranking of models.

    Parameters
    ----------
    nested
        SMALLER,LARGER: two models by their place, from 1, for a likelihood-ratio test; may be
        repeated. That the larger contains the smaller is on your word.
    average
        Average predictions over shape parameters instead of taking the best.
    group
        Column of the subjects' group, or of a score: groups are then compared, too, in the
        parameters of all subjects under the best model, with --prior; groups alone with one
        --model.
    covariates
        With --group: columns to hold the same, such as age,sex: least squares with HC3 errors.
    """

    group: Column = None
    covariates: Columns = field(default_factory=list)
    nested: Annotated[Repeated, Parameter(metavar="N,N")] = field(default_factory=list)
    average: Flag = False


@Parameter(name="*", group=_simulation)
@dataclass(frozen=True, kw_only=True)
class SimulatedPeople:
    """Parameters of simulated people.

    Parameters
    ----------
    parameters
        Parameters of the people, NAME=VALUE, or NAME=LOW:HIGH for a range: drawn uniformly, on the
        logarithm where the parameter is positive (temperatures, variances).
    """

    parameters: Annotated[Words, _ranges] = field(default_factory=list)


@Parameter(name="*", group=_simulation)
@dataclass(frozen=True, kw_only=True)
class SimulatedPeopleOfModels:
    """Parameters of the simulated people of each model.

    Parameters
    ----------
    parameters
        Parameters of the people of one model, NAME=VALUE or NAME=LOW:HIGH; once for each --model,
        in the same order. Take ranges of real people: what is found depends on them.
    """

    parameters: Annotated[Repeated, _ranges] = field(default_factory=list)


@Parameter(name="*", group=_simulation)
@dataclass(frozen=True, kw_only=True)
class SimulationOptions:
    """Task, number and blocks of simulated people.

    Parameters
    ----------
    offers_from
        With models of offers (hyperbolic, prospect ...): CSV or Parquet file of decisions, with or
        without choices. Everybody simulated has the offers of a subject drawn from it.
    example
        Use the offers of data that come with Penchant instead: delays.
    decisions
        Decisions in each block; 100 if not given, or as many as there are offers.
    blocks
        Blocks of each person; beliefs start afresh in each.
    subjects
        People simulated, of each model or group where there are several; 100 if not given, 500 with
        --against.
    """

    landscape: LandscapeName = None
    means: Means = field(default_factory=list)
    offers_from: Annotated[str | None, Parameter(metavar="FILE")] = None
    example: ExampleName = None
    offers: Offers = field(default_factory=list)
    decisions: OptionalNumber = None
    blocks: Number = 1
    subjects: OptionalNumber = None
    seed: Seed = None


@Parameter(name="*", group=Group("Recovery", sort_key=6))
@dataclass(frozen=True, kw_only=True)
class RecoveryOptions:
    """Estimation of the parameters of simulated people.

    Parameters
    ----------
    prior
        none: maximum likelihood; weak or weak:C; normal:MEAN,SD for each weight.
    """

    prior: Prior = "none"
    level: Level = 0.95
    intervals: Intervals = "wald"
    threads: Threads = None


@Parameter(name="*", group=Group("Goal", sort_key=1))
@dataclass(frozen=True, kw_only=True)
class DesignGoal:
    """Goal of a power analysis: one of --width and --against.

    Parameters
    ----------
    width
        NAME=WIDTH: how many decisions until the interval of this parameter is at most so wide.
    relative
        With --width: the width counts in true values of the parameter.
    share
        With --width: share of people whose interval must be so narrow.
    against
        NAME=VALUE or NAME=LOW:HIGH: how many subjects until a second group, whose parameters are
        these and else those of the first, is found to differ.
    tested
        With --against: the parameter whose difference is tested; if not given, the one that it
        names.
    power
        With --against: share of experiments that must find the difference.
    alpha
        With --against: level of Welch's test.
    most
        Largest number that is tried; 6400 decisions or 1000 subjects if not given.
    """

    width: Annotated[str | None, Parameter(metavar="NAME=WIDTH")] = None
    relative: Flag = False
    share: Annotated[float, Parameter(metavar="SHARE")] = 0.5
    against: Annotated[Words, _ranges] = field(default_factory=list)
    tested: Annotated[str | None, Parameter(metavar="NAME")] = None
    power: Annotated[float, Parameter(metavar="SHARE")] = 0.8
    alpha: Annotated[float, Parameter(metavar="LEVEL")] = 0.05
    most: OptionalNumber = None


@Parameter(name="*", group=Group("Prediction", sort_key=5))
@dataclass(frozen=True, kw_only=True)
class PredictionOptions:
    """Estimation of each subject's parameters, and the predictions to write.

    Parameters
    ----------
    prior
        weak or weak:C, finite for everybody; none: maximum likelihood; normal:MEAN,SD.
    pool
        One estimate for all subjects together.
    all_options
        Add columns for every option, not only the one chosen: probability_0, value_0 ...
    check
        Print instead how often N simulations with the fitted models do what people did; the table
        goes to --output only.
    seed
        Whole number from which the randomness of --check follows.
    """

    prior: Prior = "weak"
    pool: Flag = False
    clock: Clock = "choices"
    all_options: Flag = False
    check: OptionalNumber = None
    seed: OptionalNumber = None
    threads: Threads = None


@Parameter(name="*", group=Group("Population", sort_key=3))
@dataclass(frozen=True, kw_only=True)
class PopulationOptions:
    """Covariates, random effects and links of a population.

    Parameters
    ----------
    people
        CSV or Parquet file with a row per subject and a column subject: their covariates.
    covariates
        Columns of FILE, or of --people, on which the mean of every parameter depends.
    formula
        Instead, a formula for one parameter: 'learning_rate ~ group * age'; may be repeated.
    within
        Column of conditions under which the same subjects decided.
    varying
        Parameters that differ between conditions; all if not given.
    random
        Parameters that differ between subjects; all if not given.
    spread
        full: correlated between people; diagonal: not; by group: of each level of a factor. If not
        given, full with four people or more for each variance and covariance.
    links
        Scale of a parameter: price=log, 'price=negative log', rate=0..1, bonus=weight (the ratio is
        carried by its weight); or weights, for all ratios. May be repeated.
    estimator
        ml or reml; reml below 50 subjects if not given.
    nodes
        Nodes in each direction.
    covariance
        Errors of the coefficients: model, or robust, over subjects.
    save_prior
        Write the prior for a new person, for --prior of fit, predict and compare: .json.
    subjects
        Write everybody's posterior: .csv, .parquet or .json.
    """

    people: Annotated[Path | None, Parameter(metavar="FILE")] = None
    covariates: Columns = field(default_factory=list)
    formula: Annotated[list[str], Parameter(metavar="FORMULA")] = field(default_factory=list)
    within: Column = None
    varying: Columns = field(default_factory=list)
    random: Columns = field(default_factory=list)
    spread: str | None = None
    links: Annotated[list[str], Parameter(metavar="NAME=LINK")] = field(default_factory=list)
    estimator: Literal["ml", "reml"] | None = None
    nodes: OptionalNumber = None
    covariance: Literal["model", "robust"] = "model"
    save_prior: Annotated[Path | None, Parameter(metavar="FILE")] = None
    subjects: Annotated[Path | None, Parameter(metavar="FILE")] = None
    threads: Threads = None


@Parameter(name="*", group=Group("Output", sort_key=9))
@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Printed and written output of a result.

    Parameters
    ----------
    figure
        Also draw it: .svg, .pdf or .png.
    """

    json: Json = False
    output: Output = None
    figure: Annotated[Path | None, Parameter(metavar="FILE")] = None
    overwrite: Overwrite = False


_POPULATION_HELP = (
    "New folder for the coefficients, the people, the prior, a figure and all of it as JSON; or "
    "a file for the result: .json, .csv, .parquet, .tex or .txt."
)


@Parameter(name="*", group=Group("Output", sort_key=9))
@dataclass(frozen=True, kw_only=True)
class PopulationOutputOptions(OutputOptions):
    """Output of a population fit: a file, or a folder."""

    output: Annotated[Path | None, Parameter(alias="-o", metavar="PATH", help=_POPULATION_HELP)] = (
        None
    )


_PAGE_HELP = "Also write a page with the maps to this file: .html."
_TABLE_HELP = "Write the table to this file: .csv, .parquet or .json."


@Parameter(name="*", group=Group("Output", sort_key=9))
@dataclass(frozen=True, kw_only=True)
class TableOutputOptions(OutputOptions):
    """Output of a table of many rows."""

    output: Annotated[Path | None, Parameter(alias="-o", metavar="FILE", help=_TABLE_HELP)] = None


@Parameter(name="*", group=Group("Map", sort_key=1))
@dataclass(frozen=True, kw_only=True)
class BeliefMapOptions:
    """Map of expected rewards to be estimated, and its output.

    Parameters
    ----------
    map
        Functions that the map is made of: 16 do for a grid of 100 options.
    functions_by_evidence
        As many of these functions as the data speak for.
    locality
        Beside the map, terms for choices near the last one, whatever is believed.
    pool
        One map for all subjects together.
    """

    map: Number = 16
    functions_by_evidence: Flag = False
    locality: Flag = False
    pool: Flag = False
    json: Json = False
    output: Annotated[Path | None, Parameter(alias="-o", metavar="FILE", help=_PAGE_HELP)] = None
    overwrite: Overwrite = False


@Parameter(name="*", group=Group("Assistance", sort_key=1))
@dataclass(frozen=True, kw_only=True)
class AssistantOptions:
    """Beliefs of the machine whose advice is computed.

    Parameters
    ----------
    field_mean
        Reward that the machine expects; the mean of the file, if not given.
    field_sd
        How much it takes mean rewards to vary; as those of the file do, if not given.
    field_length
        Over which distance it takes options to be alike.
    """

    field_mean: Annotated[float | None, Parameter(metavar="MEAN")] = None
    field_sd: Annotated[float | None, Parameter(metavar="SD")] = None
    field_length: Annotated[float, Parameter(metavar="LENGTH")] = 2.0


@Parameter(name="*", group=Group("Groups and regret", sort_key=2))
@dataclass(frozen=True, kw_only=True)
class GroupingOptions:
    """Groups and conditions of the subjects, and known mean rewards of the options.

    Parameters
    ----------
    condition
        Columns of groups or conditions, such as patients and controls: groups are compared between
        subjects, conditions that the same subjects were in are compared within subjects.
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
        Columns of the payoffs of every option, received or not, at every decision, in the order of
        the options, or a pattern, 'payoff_*': rewards, means or probabilities. Agents then play the
        task as it was. Found by itself where names are usual; none: use no such columns.
    payoff_noise
        Variance of rewards around --payoffs; 0 where these are the rewards themselves. Found from
        the rewards received if not given.
    """

    condition: Annotated[Columns, Parameter(alias="--group")] = field(default_factory=list)
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
class AnalysisOptions:
    """Estimates, simulations and comparisons of a study.

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
        Intervals of the estimates: profile (by likelihood ratio), or wald.
    replicates
        Agents that play again with the estimates of each subject, where --payoffs or --landscape
        give the payoffs of all options; else choices are predicted one step ahead.
    bootstrap
        Replicates that tell how sure the performance of a subject is.
    joint
        Also fit the joint likelihood of every group.
    population
        Fit everybody at once, too, with contrasts between groups; --no-population for none. By
        default where every group has 8 people or more and the model at most four parameters.
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
    population: Annotated[
        bool | None, Parameter(show_default=False, negative="--no-population")
    ] = None
    seed: Number = 0
    threads: Threads = None


@Parameter(name="*", group=Group("Output", sort_key=6))
@dataclass(frozen=True, kw_only=True)
class StudyOutputOptions:
    """Folder of the report, the tables and the figures.

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
