"""What `population` does: load, fit everybody at once, show."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from penchant.arguments import check_threads
from penchant.choices import Choices
from penchant.cli.fitting import play_for, ready_model
from penchant.cli.loading import load_choices
from penchant.cli.options import Agent, Data, History, Terms
from penchant.cli.people import check_people, scanned
from penchant.cli.running import is_scanned, load_scan
from penchant.cli.settings import model_named
from penchant.cli.showing import kept, of_table, reserved, shown
from penchant.cli.tables import load_offers, opened
from penchant.cli.words import check_file, refuse, say
from penchant.cli.workflow_options import Populated, Written
from penchant.errors import DataError, named, nearest
from penchant.figures.results import overview
from penchant.figures.saving import save
from penchant.files.atomic import check_new_folder, locked, new_folder
from penchant.files.output import TABLES, write_json, write_table, write_text
from penchant.files.table import read_table
from penchant.models.catalogue import entry_of
from penchant.models.coordinates import WEIGHTS
from penchant.population.hierarchy.fit import fit_population
from penchant.population.hierarchy.result import PopulationFit
from penchant.reading.played import event_labels
from penchant.tables.frames import row_place
from penchant.tables.reading import Reading

SOUND = ("converged", "not normal", "no spread", "one subject", "spread not told", "correlation")


def run_population(
    file: str | None,
    data: Data,
    terms: Terms,
    agent: Agent,
    history: History,
    populated: Populated,
    written: Written,
) -> int:
    """Fit a population, write, print; the exit code."""
    if data.example is None:
        check_file(file)
    check_threads(populated.threads)
    refuse(history, "with a population", names={"pool", "linearized"})
    folder, written = _folder(written)
    people = None if populated.people is None else read_table(str(populated.people))
    own = written.overwrite
    with (
        nullcontext() if folder is None else locked(check_new_folder(folder)),
        kept(written, read=file),
        reserved(populated.save_prior, overwrite=own, suffixes=(".json",), read=file),
        reserved(populated.subjects, overwrite=own, suffixes=TABLES, read=file),
    ):
        decisions, model, labels = _loaded(file, data, terms, agent, history, populated)
        if people is None and isinstance(decisions, Choices) and populated.covariates:
            people = _people_of(decisions, file, data, populated.covariates)
        found = fit_population(
            decisions,
            model,
            covariates=populated.covariates or None,
            formula=_formulas(populated.formula) or None,
            people=people,
            within=labels,
            varying=populated.varying or None,
            random=populated.random or None,
            spread=populated.spread,
            links=_links(populated.links),
            estimator=populated.estimator,
            nodes=populated.nodes,
            covariance=populated.covariance,
            threads=populated.threads,
        )
        if found.message:
            say(f"Warning: {found.status}: {found.message}")
        if populated.save_prior is not None:
            found.prior.save(populated.save_prior, overwrite=own)
            say(f"Written: {populated.save_prior}")
        if populated.subjects is not None:
            frame = found.subjects.to_frame(backend="pyarrow")
            write_table(populated.subjects, frame, overwrite=own)
            say(f"Written: {populated.subjects}")
        if folder is not None:
            _write_folder(found, folder)
        result = of_table(_table(found), found.to_dict, lambda: found.to_frame(backend="pyarrow"))
        shown(result, written, lambda: overview(found))
    return 0 if found.status.startswith(SOUND) else 1


def _folder(written: Written) -> tuple[Path | None, Written]:
    """The folder that --output names, if it names no file; and what is asked for beside it."""
    if written.output is None or written.output.suffix:
        return None, written
    return written.output, replace(written, output=None)


def _write_folder(found: PopulationFit, path: Path) -> None:
    """All that there is of a population, in a new folder."""
    with new_folder(path) as (folder, place):
        write_json(place / "population.json", found.to_dict(), overwrite=False)
        write_table(place / "coefficients.csv", found.to_frame(backend="pyarrow"), overwrite=False)
        people = found.subjects.to_frame(backend="pyarrow")
        write_table(place / "subjects.csv", people, overwrite=False)
        write_text(place / "summary.txt", found.summary() + "\n", overwrite=False)
        found.prior.save(place / "prior.json", overwrite=False)
        drawn = overview(found)
        for kind in (".svg", ".pdf"):
            save(drawn, place / f"population{kind}")
    say(f"Written: {folder}")


def _table(found: PopulationFit) -> Any:
    """The summary, with a contrast of every factor below."""
    table = found.table()
    assert found.source is not None
    notes = list(table.notes)
    for variable in found.source.design.variables.values():
        for level in variable.levels[1:]:
            words = f"{level} - {variable.levels[0]}"
            contrast = found.contrast(variable.name, words)
            for name in contrast.names:
                one = contrast[name]
                notes.append(
                    f"{variable.name}, {words}: {name} {one['difference']:.3g} "
                    f"[{one['low']:.3g}, {one['high']:.3g}], p = {one['p_value']:.2g}."
                )
    return replace(table, notes=tuple(notes))


def _loaded(
    file: str | None,
    data: Data,
    terms: Terms,
    agent: Agent,
    history: History,
    populated: Populated,
) -> tuple[Any, Any, Any]:
    """Decisions of all subjects, the model, and the conditions of the episodes."""
    if file is not None and is_scanned(file, play=agent.model is not None):
        if agent.model is None:
            refuse(populated, "without --model", names={"within", "varying"})
            return load_scan(file, data, terms), None, None
        refuse(terms, "with --model")
        found = scanned(file, data, history, agent)
        check_people(found)
        return found.scan, found.model, populated.within
    if agent.model is None:
        refuse(populated, "without --model", names={"within", "varying"})
        choices = load_choices(file, data, terms, by_subject=True)
        say(f"{choices}.")
        return choices, None, None
    refuse(terms, "with --model")
    if entry_of(agent.model).data == "offers":
        offered = load_offers(file, data, history, str(agent.model))
        return offered, model_named(agent, 0), populated.within
    ready = ready_model(agent, data, history)
    reading, model = play_for(ready, file, data, history, agent)
    return reading, model, _conditions(reading, populated.within)


def _people_of(choices: Choices, file: str | None, data: Data, names: Sequence[str]) -> Any:
    """A row of covariates for everybody, out of a file of choices that has them in every row."""
    if file is None:
        return None
    clean = opened(file, data)[1]
    table, who = clean.table, data.subject or clean.hints.get("subject")
    if who is None:
        return None
    lacking = [name for name in (who, *names) if name not in table.column_names]
    if lacking:
        columns = table.column_names
        raise DataError(
            f"--covariates must be columns of {file}, or of --people; got {lacking[0]!r}, but they "
            f"are {named(columns)}.{nearest(lacking[0], columns) or ' Correct it.'}"
        )
    known = {str(label) for label in choices.subject_labels or ()}
    found: dict[Any, tuple[Any, ...]] = {}
    cells = zip(*(table[name].to_pylist() for name in (who, *names)), strict=True)
    for row, (whose, *own) in enumerate(cells):
        if str(whose) in known and found.setdefault(whose, tuple(own)) != tuple(own):
            raise DataError(
                f"--covariates must be the same in all rows of a subject; got {found[whose]} and "
                f"{tuple(own)} for {whose} at {row_place(row)}. Name what does not vary within "
                "subjects."
            )
    columns_of = zip(*found.values(), strict=True)
    return pa.table({"subject": [*found], **dict(zip(names, map(list, columns_of), strict=True))})


def _conditions(reading: Reading, within: str | None) -> Any:
    """The label of every episode, by a column of the table; blocks, if there is no such column."""
    if within is None:
        return None
    if within not in reading.table.column_names:
        return within
    found = []
    for labels, episode in zip(event_labels(reading, within), reading.data, strict=True):
        seen = list(dict.fromkeys(label for label in labels if label is not None))
        if len(seen) != 1:
            raise DataError(
                f"--within must be the same throughout an episode; got {len(seen)} of {within} for "
                f"subject {episode.subject}. Tell the parts apart with --block."
            )
        found.append(seen[0])
    return {within: found}


def _formulas(words: list[str]) -> dict[str, str]:
    """learning_rate ~ group * age."""
    found = {}
    for word in words:
        name, tilde, right = word.partition("~")
        if not tilde or not name.strip() or not right.strip():
            raise DataError(
                f"--formula must be PARAMETER ~ COVARIATES; got {word!r}. Try --formula "
                "'learning_rate ~ group * age'."
            )
        found[name.strip()] = "~ " + right.strip()
    return found


def _links(words: list[str]) -> dict[str, Any] | str | None:
    """price=log, rate=0..1, or weights alone."""
    if words == [WEIGHTS]:
        return WEIGHTS
    found: dict[str, Any] = {}
    for word in words:
        name, told, link = (part.strip() for part in word.partition("="))
        if not (name and told and link):
            raise DataError(
                f"--links must be NAME=LINK, or {WEIGHTS} alone; got {word!r}. Try --links "
                "price=log."
            )
        low, dots, high = link.partition("..")
        found[name] = ("logit", _number(word, low), _number(word, high)) if dots else link
    return found or None


def _number(word: str, end: str) -> float:
    try:
        return float(end)
    except ValueError:
        raise DataError(
            f"--links must have numbers about the dots; got {word!r}. Try --links price=-5..0."
        ) from None
