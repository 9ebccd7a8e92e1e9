"""What `compare` does: load, compare, show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penchant.arguments import check_threads
from penchant.cli.experiments import COMPARED, experiments_in_python
from penchant.cli.model import prior
from penchant.cli.rivals import contenders, fold_labels, refuse_one_alone
from penchant.cli.showing import kept, of_table, reserved, shown
from penchant.cli.words import check_criterion, check_file, say
from penchant.cli.workflow_options import Contest, Judged, Played, Rivals, Written
from penchant.errors import DataError
from penchant.figures.results import overview
from penchant.files.output import TABLES, write_table
from penchant.workflow.compare import compare_models


def run_compare(
    file: str | None,
    table: Played,
    rivals: Rivals,
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
    nested = _pairs(contest.nested, rivals.model)
    _check_decisions(decisions, judged, written)
    with (
        kept(written, read=file),
        reserved(decisions, overwrite=written.overwrite, suffixes=TABLES, read=file),
    ):
        data, history = table.data(), table.history()
        refuse_one_alone(rivals)
        with experiments_in_python(file, data, history, "compare", COMPARED):
            field = contenders(file, data, history, rivals)
        folds: Any = judged.folds
        if folds is not None and folds != "block":
            folds = int(folds) if _is_whole(folds) else fold_labels(field.reading, folds)
        criterion: Any = judged.criterion and judged.criterion.replace("-", "_")
        found = compare_models(
            field.models,
            field.data,
            folds=folds,
            criterion=criterion,
            parameter_prior=weights,
            nested=nested,
            average=contest.average,
            threads=judged.threads,
        )
        if decisions is not None:
            write_table(decisions, found.decisions("pyarrow"), overwrite=written.overwrite)
            say(f"Written: {decisions}")
        result = of_table(found.table(), found.document, lambda: found.to_frame("pyarrow"))
        shown(result, written, lambda: overview(found))
    return 0


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
