"""What `compare` does: load, compare, show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from penchant.arguments import check_threads
from penchant.cli.experiments import (
    estimates_of_best,
    folds_of,
    is_experiment,
    read_sets,
    rival_formulas,
)
from penchant.cli.model import prior
from penchant.cli.rivals import Contenders, contenders, fold_labels, refuse_one_alone
from penchant.cli.settings import task_words
from penchant.cli.showing import kept, of_table, reserved, shown
from penchant.cli.tables import check_model_given
from penchant.cli.words import check_criterion, check_file, refuse, say
from penchant.cli.workflow_options import Contest, Judged, Played, Rivals, Sets, Written
from penchant.errors import DataError
from penchant.figures.results import overview
from penchant.files.output import TABLES, write_table
from penchant.inference.fit_each import fit_each
from penchant.output.table import NARROW
from penchant.population.compare import compare_groups
from penchant.population.comparison import GroupComparison
from penchant.population.subjects import dragged
from penchant.workflow.compare import compare_models
from penchant.workflow.comparison import ModelComparison


def run_compare(
    file: str | None,
    table: Played,
    rivals: Rivals,
    sets: Sets,
    judged: Judged,
    contest: Contest,
    decisions: Path | None,
    written: Written,
) -> int:
    """Compare, write, print; the exit code."""
    check_file(file)
    check_threads(judged.threads)
    check_criterion(judged.criterion, judged.folds)
    weights = prior(judged.prior)
    if contest.group is None:
        refuse(contest, "without --group", names={"covariates"})
    _check_decisions(decisions, judged, written)
    with (
        kept(written, read=file),
        reserved(decisions, overwrite=written.overwrite, suffixes=TABLES, read=file),
    ):
        criterion: Any = judged.criterion and judged.criterion.replace("-", "_")
        how = {"criterion": criterion, "parameter_prior": weights, "threads": judged.threads}
        found: ModelComparison | None
        if _is_one_model(table, rivals, contest):
            refuse(judged, _ALONE, names={"folds", "criterion"})
            refuse(contest, _ALONE, names={"nested", "average"})
            found, estimates = None, _one_model(file, table, rivals, contest, how)
        elif is_experiment(file, table, sets, rivals.model):
            found, estimates = _sets_compared(file, table, rivals, sets, judged, contest, how)
        else:
            check_model_given(bool(rivals.model), file, table.data(), table.history())
            found, estimates = _models_compared(file, table, rivals, judged, contest, how)
        if decisions is not None and found is not None:
            write_table(decisions, found.decisions("pyarrow"), overwrite=written.overwrite)
            say(f"Written: {decisions}")
        groups = None if estimates is None else _groups(estimates, contest)
        _show(found, groups, written)
    return 0


_ALONE = "with one model"  # whose parameters are compared between groups, and nothing else


def _is_one_model(table: Played, rivals: Rivals, contest: Contest) -> bool:
    """Groups are compared under one model: the one that is named, or that of the task."""
    named = len(rivals.model) or (table.task is not None)
    return contest.group is not None and named == 1


def _one_model(
    file: str | None, table: Played, rivals: Rivals, contest: Contest, how: dict[str, Any]
) -> Any:
    """Everybody's estimates under one model."""
    if not rivals.model and table.task is not None:
        rivals = replace(rivals, model=[task_words(table.task)])
    field = contenders(file, table.data(), table.history(), rivals, alone=True)
    return _everybody(field, rivals.model[0], contest, how)


def _everybody(field: Contenders, name: str, contest: Contest, how: dict[str, Any]) -> Any:
    """Everybody's parameters under a model, for groups."""
    if field.reading is None:
        raise DataError(
            f"--group must be left out with several files; got {contest.group}. Use penchant "
            "population --covariates for these."
        )
    say(f"Groups: everybody's parameters under {name}, {how_fitted(how)}.")
    fitted = {key: how[key] for key in ("parameter_prior", "threads")}
    return fit_each(field.reading, field.models[name], **fitted)


def _models_compared(
    file: str | None,
    table: Played,
    rivals: Rivals,
    judged: Judged,
    contest: Contest,
    how: dict[str, Any],
) -> tuple[ModelComparison, Any]:
    """Models of play or of offers; and everybody's estimates under the best, for groups."""
    nested = _pairs(contest.nested, rivals.model)
    refuse_one_alone(rivals)
    field = contenders(file, table.data(), table.history(), rivals)
    folds: Any = judged.folds
    if folds is not None and folds != "block":
        folds = int(folds) if _is_whole(folds) else fold_labels(field.reading, folds)
    found = compare_models(
        field.models, field.data, folds=folds, nested=nested, average=contest.average, **how
    )
    if contest.group is None or found.best is None:
        return found, None
    return found, _everybody(field, found.best, contest, how)


def _sets_compared(
    file: str | None,
    table: Played,
    rivals: Rivals,
    sets: Sets,
    judged: Judged,
    contest: Contest,
    how: dict[str, Any],
) -> tuple[ModelComparison, Any]:
    """Sets of attributes of a choice experiment; and everybody's weights of the best."""
    refuse(rivals, "with a choice experiment")
    refuse(contest, "with a choice experiment", names={"average"})
    if contest.group is None:
        refuse(sets, "without --group", names={"price"})
    formulas = rival_formulas(sets.attributes)
    nested = _pairs(contest.nested, [*formulas])
    reading, data = read_sets(file, table, sets, formulas)
    pool = data.subject is None or not reading.subjects
    if pool and reading.subjects:
        who = reading.columns["subject"]
        say(f"Note: one set of weights for all subjects; --subject {who} for one each.")
    folds = folds_of(reading, judged.folds, pool)
    found = compare_models(formulas, reading, folds=folds, nested=nested, pool=pool, **how)
    if contest.group is None or found.best is None:
        return found, None
    say(f"Groups: everybody's weights of {found.best}, {how_fitted(how)}.")
    estimates = estimates_of_best(found, reading, how["parameter_prior"], sets.price)
    return found, replace(estimates, people=reading.groups)


def how_fitted(how: dict[str, Any]) -> str:
    """What everybody's parameters are fitted by."""
    prior_used = how["parameter_prior"]
    return "maximum likelihood" if prior_used is None else f"{prior_used} prior"


def _groups(estimates: Any, contest: Contest) -> GroupComparison:
    """Groups compared in everybody's parameters, or a score with which they go."""
    doubt = dragged(zip(estimates.subjects, estimates, strict=True))
    if doubt:
        say(f"Note: {doubt}")
    return compare_groups(estimates, by=contest.group, covariates=contest.covariates or None)


def _show(found: ModelComparison | None, groups: GroupComparison | None, written: Written) -> None:
    """Print the models and the groups, and keep what is asked for."""
    if found is None:
        assert groups is not None
        alone = of_table(groups.table(), groups.document, lambda: groups.to_frame("pyarrow"))
        shown(alone, written, lambda: overview(groups))
        return

    def document() -> dict[str, Any]:
        more = {} if groups is None else {"groups": groups.document()}
        return found.document() | more

    result = of_table(found.table(), document, lambda: found.to_frame("pyarrow"))
    shown(result, written, lambda: overview(found))
    if groups is not None and not written.json:
        print(f"\n{groups.table().text(NARROW)}")


def _pairs(words: Sequence[str], models: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of models by their places."""
    found = []
    for word in words:
        parts = word.split(",")
        if len(parts) != 2 or not all(_is_whole(part) for part in parts):
            raise DataError(
                f"--nested must be two places of models, SMALLER,LARGER; got {word!r}. "
                "Try --nested 1,2."
            )
        places = [int(part) for part in parts]
        if not all(1 <= place <= len(models) for place in places):
            raise DataError(
                f"--nested must name models by their place, 1 to {len(models)}; got {word!r}. "
                "Correct it."
            )
        found.append((models[places[0] - 1], models[places[1] - 1]))
    return found


def _check_decisions(decisions: Path | None, judged: Judged, written: Written) -> None:
    if decisions is None:
        return
    if judged.folds is None:
        raise DataError(
            "--decisions must come with --folds; got none. It holds decisions that were held out."
        )
    if decisions in (written.output, written.figure):
        raise DataError(f"--decisions must be a file of its own; got {decisions}. Name another.")


def _is_whole(word: str) -> bool:
    return word.strip().isdigit()
