"""A whole study: from its data and a model to findings, and to a folder of tables and figures."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from penchant._typing import FilePath
from penchant.argument_checks import check_threads
from penchant.errors import DataError, format_for_python, format_list
from penchant.figures.label_text import display_name
from penchant.inference.linearized_model import Nominal
from penchant.json_records import JsonDocument
from penchant.models.arguments import refuse_no_model, refuse_word
from penchant.models.model import Declared, Model
from penchant.population.meta_analysis import PopulationEstimate
from penchant.population.pooled_estimates import pool
from penchant.population.regret_growth_categories import GrowthOrders, growth_orders
from penchant.report.study_files import Figures, StudyFolder, write_study
from penchant.report.study_sentences import format_report_cell, summary_sentences
from penchant.result_tables import (
    Table,
)
from penchant.softmax.prior import ParameterPrior
from penchant.studies.comparisons import (
    exact_comparison,
    exact_groups,
    linearized_comparisons,
    linearized_group,
    paired_comparison,
    study_population,
)
from penchant.studies.findings import Findings
from penchant.studies.fitting import NoStorage, PartStorage, Timings, fit_subjects
from penchant.studies.groups import (
    Group,
    conditions_of,
    factors_of,
    group_tests,
    groups_of,
    left_out_groups,
)
from penchant.studies.landscapes import (
    Landscapes,
    Measurer,
    Measures,
    landscapes_of,
    read_landscapes,
)
from penchant.studies.payoffs import check_count
from penchant.studies.plan import PAPER_NOMINALS, Category, Plan, fingerprint
from penchant.studies.study_data import StudyData


def carry_out(
    data: StudyData,
    plan: Plan,
    *,
    landscape: Any = None,
    joint: bool = False,
    threads: int | None = None,
    storage: PartStorage | None = None,
    begin: Callable[[dict[str, Any]], None] | None = None,
) -> Findings:
    """Carry out a plan, and store finished parts.

    Parameters
    ----------
    data, plan, landscape, joint, threads
        As for `study`.
    storage
        Where parts of the work are kept.
    begin
        Called with the fingerprint of the study before the work starts; it may refuse.
    """
    check_threads(threads)
    timings: Timings = {}
    clock = _Clock(timings)
    locations = Declared(plan.model).locations
    n_options = int(Declared(plan.model).n_options or data.n_options)
    landscapes = Landscapes.empty()
    if data.is_play:
        data = _with_payoffs(data, n_options)
        landscapes = landscapes_of(data, n_options, locations, landscape)
    plan = _decided(plan, data, landscapes)
    if begin is not None:
        begin(fingerprint(data, landscapes, plan) | {"joint": joint})
    measurer = Measurer(data, landscapes, locations)
    played = data.subjects if data.is_play else ()
    observed = {subject: measurer.subject(subject) for subject in played}
    clock.lap("regret")
    growth = _growth(observed if plan.performance else {}, plan)
    categories: dict[Any, Category | None] = dict.fromkeys(data.subjects)
    categories |= dict(zip(growth.subjects, growth.categories, strict=True))
    clock.lap("growth of regret")
    keep = NoStorage() if storage is None else storage
    fits = fit_subjects(measurer, plan, categories, storage=keep, threads=threads, timings=timings)
    clock.start()
    groups = groups_of(data, categories) if plan.performance else conditions_of(data)
    factors = factors_of(data)
    together = _jointly(groups, data, plan, keep) if joint else {}
    if joint:
        clock.lap("joint likelihood")
    everybody = study_population(data, factors, plan, threads)
    if everybody is not None:
        clock.lap("population")
    columns = [linearized_group(group, fits, plan) for group in groups]
    linear = tuple(column for column in columns if column is not None)
    study = Findings(
        data=data,
        plan=plan,
        landscapes=landscapes,
        observed=observed,
        growth=growth,
        fits=fits,
        groups=groups,
        exact=exact_groups(groups, fits, plan),
        joint=together,
        linearized=linear,
        exact_tests=exact_comparison(groups, fits, plan, within=data.people is not None),
        linearized_tests=linearized_comparisons(linear, plan) if data.people is None else (),
        group_tests=group_tests(factors, fits, plan),
        paired_tests=paired_comparison(data, factors, fits, plan),
        left_out=left_out_groups(data, factors, fits, plan),
        everybody=everybody,
        timings=timings,
    )
    clock.lap("groups and tests")
    return study


def _decided(plan: Plan, data: StudyData, landscapes: Landscapes) -> Plan:
    """Plan restricted to what the data allow: performance and the settings that need it."""
    if not data.is_play:
        if plan.performance:
            raise DataError(
                "performance",
                "must be left out for choices among offers",
                got="True",
                fix="They pay no rewards that regret could be measured in.",
            )
        return replace(plan, performance=False, nominals={}, n_replicates=0, n_bootstrap=0)
    known = landscapes.source in ("known", "expected") or data.landscapes_named
    known |= data.payoffs is not None and data.payoffs.best_stays
    if known if plan.performance is None else plan.performance:
        return replace(plan, performance=True)
    return replace(plan, performance=False, nominals={}, n_bootstrap=0)


def _with_payoffs(data: StudyData, n_options: int) -> StudyData:
    """The data with payoffs of all options of the model, or without any."""
    paid = data.payoffs
    if paid is None or paid.n_options == n_options:
        return data
    if not paid.recognised:
        check_count(paid.n_options, n_options)
    remark = (
        f"Columns {format_list(paid.columns)} are not taken for payoffs of the options, of which "
        f"the model has {n_options}."
    )
    return replace(data, payoffs=None, remarks=(*data.remarks, remark))


class _Clock:
    """Clock that adds the seconds since its last reading to a step."""

    def __init__(self, timings: Timings) -> None:
        self.timings = timings
        self.start()

    def start(self) -> None:
        self.begun = time.perf_counter()

    def lap(self, step: str) -> None:
        self.timings[step] = time.perf_counter() - self.begun
        self.start()


def _growth(observed: Mapping[Any, Measures], plan: Plan) -> GrowthOrders:
    regrets = {subject: _known_regret(measures) for subject, measures in observed.items()}
    rng = np.random.default_rng([plan.seed, len(observed)])
    return growth_orders(regrets, n_bootstrap=plan.n_bootstrap, rng=rng)


def _known_regret(measures: Measures) -> Any:
    """Cumulative regret up to the last decision whose loss is known."""
    known = np.flatnonzero(~np.isnan(measures.loss))
    return measures.regret[: known[-1] + 1 if known.size else 0]


def _jointly(
    groups: Sequence[Group], data: StudyData, plan: Plan, storage: PartStorage
) -> dict[str, PopulationEstimate]:
    found = {}
    for i, group in enumerate(groups):
        name = f"joint-{i + 1:02d}"
        document = storage.read(name)
        if document is None:
            document = _joint(group, data, plan)
            storage.store(name, document)
        found[group.label] = _population(document, group, name)
    return found


def _joint(group: Group, data: StudyData, plan: Plan) -> dict[str, Any]:
    episodes = [data.episodes[i] for subject in group.subjects for i in data.of(subject)]
    scored = [episode for episode in episodes if episode.n_decisions]
    return pool(scored, model=plan.model, rule="joint", scale="natural").to_dict()


def _population(document: Any, group: Group, name: str) -> PopulationEstimate:
    try:
        found = PopulationEstimate.from_dict(document)
    except DataError:
        raise DataError(
            name,
            "must hold the joint estimate of a group",
            got="something else",
            fix="The file is damaged: remove it, and resume.",
        ) from None
    return replace(found, n_subjects=len(group.subjects), subjects=group.subjects)


PAPER: Literal["paper"] = "paper"


class Study(Findings, JsonDocument):
    """Results of a study: the estimates of every subject and of the groups.

    Its tables are in `to_frame(name)`; `write(folder)` writes them with figures and a report.
    """

    def summary(self) -> str:
        """Summary of the results, one sentence per line, as at the top of the report."""
        return "\n".join(summary_sentences(self))

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from markupsafe import escape

        return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in summary_sentences(self))}</ul>"

    def to_pandas(self, name: str = "subjects") -> Any:
        """Return a table of the results as a pandas frame."""
        return self.to_frame(name, backend="pandas")

    def to_polars(self, name: str = "subjects") -> Any:
        """Return a table of the results as a polars frame."""
        return self.to_frame(name, backend="polars")

    def to_latex(self, name: str = "table-2") -> str:
        """Return a table in LaTeX (booktabs); by default the estimates of groups."""
        columns = self.columns(name)
        rows = tuple(
            tuple(map(format_report_cell, row)) for row in zip(*columns.values(), strict=True)
        )
        return Table(
            repr(self).strip("<>"), (), tuple(map(display_name, columns)), rows, ()
        ).latex()

    def write(
        self,
        folder: FilePath,
        *,
        title: str = "A study of choices",
        command: str | None = None,
        figures: Figures = "both",
        overwrite: bool = False,
        words: Callable[[str], str] = format_for_python,
    ) -> Path:
        """Write the tables, the figures and the report, which is returned.

        Every file is written whole or not at all, the report last. The same study gives the same
        bytes.

        Parameters
        ----------
        folder
            Where to; made if it does not exist.
        title
            Of the report.
        command
            What reproduces it, for the report to say; the call in Python, if not given.
        figures
            "both": as SVG and PDF files; "svg": without the PDF files, in half the time; "none": no
            figures at all. Those of the report are SVG.
        overwrite
            Whether files may be replaced.
        words
            How the report names arguments: as in Python, if not given.
        """
        return write_study(
            self,
            folder,
            title=title,
            command=command,
            figures=figures,
            overwrite=overwrite,
            words=words,
        )


def study(
    data: StudyData,
    model: Model,
    *,
    nominals: Mapping[Category, Nominal] | Literal["paper"] | None = PAPER,
    landscape: Any = None,
    performance: bool | None = None,
    parameter_prior: ParameterPrior | None = None,
    level: float = 0.95,
    intervals: Literal["wald", "profile"] = "profile",
    n_replicates: int = 10,
    n_bootstrap: int = 200,
    joint: bool = False,
    population: bool | None = None,
    seed: int = 0,
    threads: int | None = None,
    keep: FilePath | StudyFolder | None = None,
    resume: bool = False,
) -> Study:
    """Fit every subject of a table of choices, and compare the groups that its conditions name.

    Where the best option is known, or `performance` asks for it, subjects are also classified by
    how their regret grows: the whole of Section VII of the paper.

    Parameters
    ----------
    data
        From `read_study`.
    model
        The model of how subjects decide.
    nominals
        Points for the paper's linearised estimator, {"low": ..., "high": ...} by performance, which
        they ask for; "paper": its own, for UCL where there is performance; None: no linearised
        fits.
    landscape
        Known mean rewards: a `Landscape` or a vector, or {label: vector} by the labels of
        `landscape_by`; or the name of a file with columns option and mean_reward, and those of
        `landscape_by` where landscapes differ.
    performance
        Whether to measure regret, and to classify subjects by how it grows. By default where the
        best option is known: with `landscape`, or a table that has expected rewards or names its
        landscapes (`landscape_by`). True: also without, with the best option estimated from the
        rewards, which must then keep their means.
    parameter_prior
        Prior on the weights of the exact fits, such as `ScaledPrior()`.
    level, intervals
        Confidence level, and the kind of intervals of exact estimates.
    n_replicates
        Agents that play again with the estimates of each subject, where the data have `payoffs` or
        the landscape is known; else each choice is foretold from the subject's own history. 0: none
        of both.
    n_bootstrap
        Replicates that tell how sure a growth order is.
    joint
        Also fit the joint likelihood of every group.
    population
        Whether to fit everybody at once, too (`fit_population`), with contrasts between the groups.
        By default where every group has 8 people or more and the model at most four parameters.
    seed
        From which all randomness follows.
    threads
        Processors to use; all if not given. The numbers do not depend on it.
    keep
        Folder in which every part of the work is kept once it is done, for one study.
    resume
        Go on with what is kept in that folder. Without, it must be new or empty.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> import pyarrow as pa
    >>> learner = pn.QLearning(n_options=3)
    >>> place = pn.Landscape(np.array([0.2, 0.8, 0.5]), pn.GaussianNoise(0.04))
    >>> rule = {"temperature": 0.2, "learning_rate": 0.3}
    >>> rng = np.random.default_rng(1)
    >>> agents = pn.simulate(place, learner, rule, n_decisions=99, n_subjects=6, rng=rng)
    >>> rows = [(e.subject, t, c, r) for e in agents
    ...         for t, c, r in zip(e.times, e.chosen, e.rewards)]
    >>> names = ("subject", "trial", "choice", "reward")
    >>> table = pa.table(dict(zip(names, zip(*rows))))
    >>> found = pn.study(pn.read_study(table), learner, landscape=place, n_bootstrap=0)
    >>> found
    <Study of 6 subjects in 1 groups: 6 converged>
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(found.write(folder, figures="none").name)
    report.html
    """
    refuse_no_model(model)
    refuse_word(parameter_prior)
    if not isinstance(data, StudyData):
        raise DataError(
            "data",
            "must be what read_study returns",
            got=type(data).__name__,
            fix="Read it first: pn.read_study(table, conditions=['group']).",
        )
    points = _nominals(nominals, model, performance)
    plan = Plan(
        model,
        points,
        parameter_prior,
        level,
        intervals,
        n_replicates,
        n_bootstrap,
        seed,
        True if performance is None and points and nominals != PAPER else performance,
        population,
    )
    if resume and keep is None:
        raise DataError(
            "keep", "must name the folder to resume", got="none", fix="Pass keep=folder."
        )
    if isinstance(landscape, str | os.PathLike):
        shared = data.landscape_columns
        landscape = read_landscapes(landscape, shared, (), data.options).means
    with ExitStack() as opened:
        folder = keep
        if keep is not None and not isinstance(keep, StudyFolder):
            folder = opened.enter_context(StudyFolder(keep, resume=resume))
        found = carry_out(
            data,
            plan,
            landscape=landscape,
            joint=joint,
            threads=threads,
            storage=folder if isinstance(folder, StudyFolder) else None,
            begin=folder.begin if isinstance(folder, StudyFolder) else None,
        )
    return Study(**vars(found))


def _nominals(given: Any, model: Model, performance: bool | None) -> Mapping[Category, Nominal]:
    if given == PAPER:
        is_linear = Declared(model).nominal_point is not None and performance is not False
        return dict(PAPER_NOMINALS) if is_linear else {}
    return dict(given or {})
