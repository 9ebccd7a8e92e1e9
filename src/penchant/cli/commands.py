"""The commands: their options and help. What they do is loaded when one is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from penchant.cli.live_options import (
    AskOptions,
    AskOutputOptions,
    PlayOptions,
    QuestionTables,
    ServeOptions,
)
from penchant.cli.options import (
    Agent,
    Data,
    EstimationOptions,
    Experiments,
    FitOutputOptions,
    Flag,
    History,
    ModelName,
    TaskName,
    Terms,
    World,
)
from penchant.cli.workflow_options import (
    AnalysisOptions,
    AssistantOptions,
    AttributeSets,
    BeliefMapOptions,
    ComparedModels,
    ComparisonOptions,
    DesignGoal,
    GroupingOptions,
    OutputOptions,
    PopulationOptions,
    PopulationOutputOptions,
    PredictExperimentOptions,
    PredictionOptions,
    RankingOptions,
    RecoveryOptions,
    SimulatedPeople,
    SimulatedPeopleOfModels,
    SimulationOptions,
    StudyExperimentOptions,
    StudyOutputOptions,
    TableOptions,
    TableOutputOptions,
)

_store_output = Group("Output", sort_key=6)


def ask(
    *,
    questions: QuestionTables = QuestionTables(),
    ask_options: AskOptions = AskOptions(),
    output_options: AskOutputOptions = AskOutputOptions(),
) -> int:
    """Choose the next offer: the one that is most informative about a parameter.

    Prints a row of --offers: add it to --answers with the option chosen. Prints nothing once the
    answers are --enough. Exit code 0: done; 2: wrong usage.
    """
    from penchant.cli.ask_command import run_ask

    return run_ask(questions, ask_options, output_options)


def backup(
    store: str,
    /,
    *,
    output: Annotated[
        Path | None, Parameter(alias="-o", metavar="FILE", group=_store_output)
    ] = None,
    overwrite: Annotated[Flag, Parameter(group=_store_output)] = False,
) -> int:
    """Copy the data of a study whole, while people play.

    Exit code 0: done; 1: it could not be written; 2: wrong usage.

    Parameters
    ----------
    store
        The file that penchant serve keeps its data in; for PostgreSQL use pg_dump.
    output
        The file to be written.
    overwrite
        Replace a file that exists.
    """
    from penchant.cli.study_rehearsal import check_extra

    check_extra()
    from penchant.cli.serve_command import run_backup

    return run_backup(store, output, overwrite=overwrite)


def check(
    file: str | None = None,
    /,
    *,
    data: Data = Data(),
    terms: Terms = Terms(),
    json: Annotated[Flag, Parameter(group=Group("Output", sort_key=6))] = False,
    write: Annotated[
        str | None, Parameter(group=Group("Output", sort_key=6), metavar="SCHEMA.toml")
    ] = None,
    agent: Agent = Agent(),
    history: History = History(),
) -> int:
    """Validate a table of choices or of task data: its columns, options and estimates.

    Nothing but a schema is written. Exit code 0: an estimate exists, or the schema is whole; 1: not
    so; 2: wrong usage or data.

    Parameters
    ----------
    file
        CSV or Parquet file, one row per option of each decision (else --wide), or one row per event
        of play, which is recognised by its columns, or per decision between offers, with --model;
        "-" reads stdin.
    json
        Print JSON instead of words.
    write
        Write what the names of columns say of FILE as a schema, with what is open as comments. With
        --schema, say what is still open and show decisions as they are read.
    """
    from penchant.cli.fit_choices_command import is_scanned

    if write is not None or (data.schema is not None and agent.model is None):
        from penchant.cli.check_schema_command import run_check_schema

        return run_check_schema(file, data, history, write, json)
    if file is not None and is_scanned(file, play=agent.model is not None):
        from penchant.cli.many_subjects import run_check_files

        return run_check_files(file, data, terms, json, agent, history)
    from penchant.cli.check_command import run_check

    return run_check(file, data, terms, json, agent, history)


_output = Group("Output", sort_key=9)


def compare(
    file: str | None = None,
    /,
    *,
    table: TableOptions = TableOptions(),
    compared_models: ComparedModels = ComparedModels(),
    sets: AttributeSets = AttributeSets(),
    ranking: RankingOptions = RankingOptions(),
    comparison: ComparisonOptions = ComparisonOptions(),
    decisions: Annotated[Path | None, Parameter(metavar="FILE", group=_output)] = None,
    output_options: OutputOptions = OutputOptions(),
) -> int:
    """Compare models of the same table: AIC, BIC, cross-validation, each subject's best.

    Every model is fitted to every subject. Of a choice experiment, sets of attributes are compared.
    Exit code 0: done; 2: wrong usage or data.

    Parameters
    ----------
    file
        A table of task data, one row per trial with subject, choice and reward; or of offers; or a
        choice experiment; "-" reads stdin.
    decisions
        Also write the held-out log-likelihood of every decision: .csv, .parquet or .json.
    """
    from penchant.cli.compare_command import run_compare

    return run_compare(
        file, table, compared_models, sets, ranking, comparison, decisions, output_options
    )


def design(
    *,
    goal: DesignGoal = DesignGoal(),
    agent: Agent = Agent(),
    people: SimulatedPeople = SimulatedPeople(),
    simulation: SimulationOptions = SimulationOptions(),
    recovery: RecoveryOptions = RecoveryOptions(),
    output_options: OutputOptions = OutputOptions(),
) -> int:
    """Power analysis: how many trials for a narrow interval, how many subjects for a difference.

    People are simulated and fitted, with more decisions (--width) or in larger experiments with two
    groups (--against), until enough of them reach the goal. Exit code 0: a number is found; 1: none
    up to --most; 2: wrong usage.
    """
    from penchant.cli.simulation_commands import run_design

    return run_design(goal, agent, people, simulation, recovery, output_options)


def distinguish(
    *,
    compared_models: ComparedModels = ComparedModels(),
    people: SimulatedPeopleOfModels = SimulatedPeopleOfModels(),
    simulation: SimulationOptions = SimulationOptions(),
    ranking: RankingOptions = RankingOptions(),
    output_options: OutputOptions = OutputOptions(),
) -> int:
    """Model recovery: simulate people of each model, fit all models, and count the winners.

    The confusion matrix p(found | simulated) and the inversion matrix p(simulated | found): whether
    a task can tell the models apart, before data are collected, or before a winner is believed.
    Exit code 0: done; 2: wrong usage.
    """
    from penchant.cli.simulation_commands import run_distinguish

    return run_distinguish(compared_models, people, simulation, ranking, output_options)


def export(
    store: str | None = None,
    /,
    *,
    output: Annotated[
        Path | None, Parameter(alias="-o", metavar="FOLDER", group=_store_output)
    ] = None,
    with_ids: Annotated[Flag, Parameter(group=_store_output)] = False,
) -> int:
    """Write the data of a study to a folder, for penchant study FOLDER; people may play.

    One row per choice as CSV and Parquet, what each column is (Psych-DS), everything that was
    logged, the mean rewards, and the settings of the analysis. Exit code 0: done; 1: it could not
    be written; 2: wrong usage.

    Parameters
    ----------
    store
        The file that penchant serve keeps its data in, or postgresql://user@host/name.
    output
        New folder.
    with_ids
        Write the ids of the recruiting platform, too; pseudonyms alone if not given.
    """
    from penchant.cli.study_rehearsal import check_extra

    check_extra()
    from penchant.cli.serve_command import run_export

    return run_export(store, output, with_ids=with_ids)


def _with_model(agent: Agent, task: str | None) -> Agent:
    """Set the model of a named task where no model is given."""
    if task is None or agent.model is not None:
        return agent
    from penchant.cli.model_settings import with_task_model

    return with_task_model(agent, task)


def fit(
    file: str | None = None,
    /,
    *,
    data: Data = Data(),
    terms: Terms = Terms(),
    estimation: EstimationOptions = EstimationOptions(),
    output_options: FitOutputOptions = FitOutputOptions(),
    agent: Agent = Agent(),
    history: History = History(),
) -> int:
    """Estimate the weights of a softmax model from choices, or a model from task data.

    Exit code 0: done; 1: no valid estimate, or none could be written; 2: wrong usage or data.

    Parameters
    ----------
    file
        CSV or Parquet file, one row per option of each decision (else --wide, or --model); "-"
        reads stdin. A folder or a 'pattern' of files is read chunk by chunk.
    """
    from penchant.cli.fit_choices_command import is_scanned

    agent = _with_model(agent, history.task)
    if data.price is not None:
        from penchant.cli.fit_model_command import run_fit_worth

        return run_fit_worth(file, data, terms, estimation, output_options, agent, history)
    each = data.subject is not None and estimation.covariance != "clustered"
    scanned = file is not None and is_scanned(file, play=agent.model is not None)
    if file is not None and scanned and (agent.model is not None or each):
        from penchant.cli.many_subjects import run_fit_files

        return run_fit_files(file, data, terms, estimation, output_options, agent, history)
    if agent.model is not None:
        from penchant.cli.fit_model_command import run_fit_play

        return run_fit_play(file, data, terms, estimation, output_options, agent, history)
    from penchant.cli.fit_choices_command import run_fit

    return run_fit(file, data, terms, estimation, output_options, agent, history)


def forget(store: str, who: str, /) -> int:
    """Remove a person from the data of a study: sessions, choices, events and id.

    Exit code 0: done; 2: wrong usage, or nobody has this id.

    Parameters
    ----------
    store
        The file that penchant serve keeps its data in, or postgresql://user@host/name.
    who
        Id of the recruiting platform, or the pseudonym of an export.
    """
    from penchant.cli.study_rehearsal import check_extra

    check_extra()
    from penchant.cli.serve_command import run_forget

    return run_forget(store, who)


def models(
    name: Annotated[ModelName | str | None, Parameter(show_choices=False)] = None,
    /,
    *,
    task: TaskName = None,
    json: Flag = False,
) -> int:
    """List the models that --model takes, or describe one of them.

    Parameters
    ----------
    name
        A model: its equations, its settings and its parameters; all models in a table if not given.
        A function of hBayesDM, such as ts_par7, is answered with the call here.
    task
        A named task, such as two-step: its columns, how codes are read, its model.
    json
        Print JSON instead of words.
    """
    from penchant.cli.model_settings import run_models

    return run_models(name, json, task)


def play(
    url: str | None = None,
    /,
    *,
    play_options: PlayOptions = PlayOptions(),
    agent: Agent = Agent(),
) -> int:
    """Let simulated people play a study through its address, as browsers would.

    They choose at random, or as --model says. A server that starts again meanwhile is waited for.
    Exit code 0: everybody finished; 1: somebody did not; 2: wrong usage.

    Parameters
    ----------
    url
        Address of the study, as penchant serve prints it.
    """
    # Numerical libraries load here, so that help and usage errors answer at once.
    from penchant.cli.study_rehearsal import run_play

    return run_play(url, agent, play_options)


def population(
    file: str | None = None,
    /,
    *,
    data: Data = Data(),
    terms: Terms = Terms(),
    agent: Agent = Agent(),
    history: History = History(),
    population_options: PopulationOptions = PopulationOptions(),
    output_options: PopulationOutputOptions = PopulationOutputOptions(),
) -> int:
    """Fit everybody at once: the population's mean and spread, and each person under it.

    Differences between groups and conditions are part of the fit, and nobody is left out. Without
    --model the table is of choices, and the fit a mixed logit. Exit code 0: done; 1: the population
    is not told; 2: wrong usage or data.

    Parameters
    ----------
    file
        CSV or Parquet file as `fit` takes it, with subjects; "-" reads stdin.
    """
    # Numerical libraries load here, so that help and usage errors answer at once.
    from penchant.cli.many_subjects import run_population

    agent = _with_model(agent, history.task)
    return run_population(file, data, terms, agent, history, population_options, output_options)


def assist(
    file: str | None = None,
    /,
    *,
    table: TableOptions = TableOptions(),
    agent: Agent = Agent(),
    assistant: AssistantOptions = AssistantOptions(),
    output_options: TableOutputOptions = TableOutputOptions(),
) -> int:
    """Compute the advice that a machine would have given its operator in recorded play.

    As nobody heard it, nothing follows for rewards. Exit code 0: done; 2: wrong usage or data.

    Parameters
    ----------
    file
        CSV or Parquet file, one row per event; "-" reads stdin.
    """
    from penchant.cli.assist_command import run_assist

    return run_assist(file, table, agent, assistant, output_options)


def believe(
    file: str | None = None,
    /,
    *,
    table: TableOptions = TableOptions(),
    agent: Agent = Agent(),
    map_options: BeliefMapOptions = BeliefMapOptions(),
) -> int:
    """Estimate the map of rewards that each subject expected before play, from their choices.

    Options lie on a --grid or at --locations. Exit code 0: done; 1: no map converged; 2: wrong
    usage or data.

    Parameters
    ----------
    file
        CSV or Parquet file, one row per trial with subject, choice and reward; "-" reads stdin.
    """
    from penchant.cli.predict_command import run_believe

    return run_believe(file, table, agent, map_options)


def predict(
    file: str | None = None,
    /,
    *,
    table: TableOptions = TableOptions(),
    agent: Agent = Agent(),
    experiment: PredictExperimentOptions = PredictExperimentOptions(),
    prediction: PredictionOptions = PredictionOptions(),
    output_options: TableOutputOptions = TableOutputOptions(),
) -> int:
    """Fit a model, and write its predictions for every row: probability, value, prediction error.

    The table has the rows of FILE, in the same order, with columns added: regressors for imaging
    and reaction times. It goes to stdout as CSV unless --output names a file. A choice experiment
    needs no --model. Exit code 0: done; 1: no finite estimate; 2: wrong usage or data.

    Parameters
    ----------
    file
        A table of task data, one row per trial with subject, choice and reward; or of offers; or a
        choice experiment; "-" reads stdin.
    """
    from penchant.cli.fit_choices_command import is_scanned

    agent = _with_model(agent, table.task)
    if file is not None and agent.model is not None and is_scanned(file, play=True):
        from penchant.cli.many_subjects import run_predict_files

        return run_predict_files(file, table, agent, prediction, output_options)
    from penchant.cli.predict_command import run_predict

    return run_predict(file, table, agent, experiment, prediction, output_options)


def recover(
    *,
    agent: Agent = Agent(),
    people: SimulatedPeople = SimulatedPeople(),
    simulation: SimulationOptions = SimulationOptions(),
    recovery: RecoveryOptions = RecoveryOptions(),
    output_options: OutputOptions = OutputOptions(),
) -> int:
    """Parameter recovery: simulate people with known parameters, and compare estimates with them.

    Bias, spread, correlation, coverage of intervals, and who has no estimate: before data are
    collected. Exit code 0: done; 2: wrong usage.
    """
    from penchant.cli.simulation_commands import run_recover

    return run_recover(agent, people, simulation, recovery, output_options)


_reproduction_output = Group("Output", sort_key=6)


def reproduce(
    *,
    experiments: Experiments = Experiments(),
    output: Annotated[
        Path | None, Parameter(alias="-o", metavar="FOLDER", group=_reproduction_output)
    ] = None,
    json: Annotated[Flag, Parameter(group=_reproduction_output)] = False,
) -> int:
    """Run the paper's experiments and say which of its claims hold.

    Figures 1 to 6, the landscapes, Tables I and II, a simulated study with the paper's design,
    Theorem 1 and the conclusion: minutes on two processors, with --quick under one. A verdict that
    too few replicates leave open says so. Exit code 0: done, whatever the verdicts; 2: wrong usage.

    Parameters
    ----------
    output
        New folder for figures (SVG, PDF), tables (CSV), results.json and a page, index.html.
    json
        Print all numbers and verdicts as JSON instead of words.
    """
    from penchant.cli.reproduce_command import run_reproduce

    return run_reproduce(experiments, output, json)


_serve_first = Group("Study", sort_key=1)


def serve(
    file: str | None = None,
    /,
    *,
    check: Annotated[Flag, Parameter(group=_serve_first)] = False,
    new: Annotated[Flag, Parameter(group=_serve_first)] = False,
    status: Annotated[Flag, Parameter(group=_serve_first)] = False,
    json: Annotated[Flag, Parameter(group=_serve_first)] = False,
    serve_options: ServeOptions = ServeOptions(),
) -> int:
    """Serve a task in the browser: people play, every choice is saved before its reward is shown.

    Prints the address to send to people and that of the researcher's page, and runs until Ctrl-C.
    Exit code 0: stopped, or done; 2: wrong usage, or a mistake in the study file.

    Parameters
    ----------
    file
        Study file, TOML; the paper's task on this computer, self-paced, if not given.
    check
        Only check the study file, and say what it holds.
    new
        Write a commented study file to start from, study.toml if no name is given.
    status
        Say who is where in the data collected so far, instead of serving.
    json
        With --status: print JSON instead of words.
    """
    from penchant.cli.study_rehearsal import check_extra, run_check_study, run_new

    if new:
        return run_new(file)
    if check:
        return run_check_study(file)
    check_extra()
    from penchant.cli.serve_command import run_serve, run_status

    return (
        run_status(file, serve_options, as_json=json) if status else run_serve(file, serve_options)
    )


def simulate(
    *,
    agent: Agent = Agent(),
    world: World = World(),
) -> int:
    """Simulate agents that play, and write their choices and rewards as a table.

    One row per decision: subject, decision, chosen, reward, and where the option lies. Exit code 0:
    done; 2: wrong usage.
    """
    from penchant.cli.simulation_commands import run_simulate

    return run_simulate(agent, world)


def study(
    file: str | None = None,
    /,
    *,
    table: TableOptions = TableOptions(),
    experiment: StudyExperimentOptions = StudyExperimentOptions(),
    grouping: GroupingOptions = GroupingOptions(),
    agent: Agent = Agent(),
    analysis: AnalysisOptions = AnalysisOptions(),
    output_options: StudyOutputOptions = StudyOutputOptions(),
) -> int:
    """Analyse a table of choices of many subjects, from the check to a report.

    Exact fits of every subject; the groups that --condition names compared, with who is left out;
    agents that play again; one HTML report, tables and figures. Regret, performance and the paper's
    linearised fits where the best option is known, or with --performance. Exit code 0: done; 1:
    nobody has a valid estimate; 2: wrong usage or data; 130: interrupted, and --resume goes on.

    Parameters
    ----------
    file
        CSV, JSON or Parquet file, or a folder of these, one row per event: who, what was chosen,
        what it paid; or per decision between offers; or a choice experiment, without --model;
        "-" reads stdin; or a folder of penchant export, which says the rest.
    """
    from penchant.cli.study_command import run_study_command

    agent = _with_model(agent, table.task)
    return run_study_command(file, table, grouping, agent, analysis, output_options, experiment)
