"""What `believe` does: load play, fit the map that each subject had in mind, show it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from penchant.cli.fitting import play_for, ready_model
from penchant.cli.options import Agent
from penchant.cli.showing import reserved
from penchant.cli.words import check_file, say
from penchant.cli.workflow_options import Believed, Played
from penchant.errors import DataError
from penchant.figures.play import belief_map
from penchant.figures.saving import inline_svg, panels
from penchant.figures.style import figure
from penchant.files.output import json_text, write_text
from penchant.inference.fit import fit_model
from penchant.models.spatial.belief_map import BeliefMap
from penchant.models.spatial.map_basis import MapBasis, MapPrior
from penchant.output.notes import counted
from penchant.output.table import NARROW
from penchant.report.page import DataTable, Drawing, Paragraph, Section, page

ALL = "everybody"


def run_believe(file: str | None, table: Played, agent: Agent, asked: Believed) -> int:
    """Fit, show, write; the exit code."""
    check_file(file)
    if agent.model not in (None, "ucl"):
        raise DataError(
            f"--model must be ucl, whose player has a map in mind; got {agent.model}. Leave it out."
        )
    with reserved(asked.output, overwrite=asked.overwrite, suffixes=(".html",), read=file):
        agent, data, history = replace(agent, model="ucl"), table.data(), table.history()
        reading, ready = play_for(ready_model(agent, data, history), file, data, history, agent)
        basis = MapBasis.smooth(ready.locations, min(asked.map, ready.n_options - 1))
        model = replace(ready, prior_map=basis, locality=asked.locality)
        say(f"Model: {model}.")
        prior = MapPrior(n="evidence" if asked.functions_by_evidence else "all")
        maps = {}
        for subject, own in _by_subject(reading.data, asked.pool).items():
            estimate = fit_model(own, model, parameter_prior=prior)
            maps[subject] = estimate.belief_map()
        if asked.output is not None:
            write_text(asked.output, _page(maps, str(model)), overwrite=asked.overwrite)
            say(f"Written: {asked.output}")
    if asked.json:
        found = [{"subject": subject, **one.document()} for subject, one in maps.items()]
        print(json_text(found), end="")
    else:
        for subject, one in maps.items():
            print(f"{subject}\n{_wrapped(one.summary())}\n")
    return 0 if any(one.status == "converged" for one in maps.values()) else 1


def _wrapped(words: str) -> str:
    """Lines that a terminal of 80 columns holds."""
    lines = (textwrap.wrap(line, NARROW, subsequent_indent="  ") for line in words.split("\n"))
    return "\n".join(part for line in lines for part in line or [""])


def _by_subject(episodes: Sequence[Any], pool: bool) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for episode in episodes:
        who = ALL if pool or episode.subject is None else episode.subject
        found.setdefault(who, []).append(episode)
    return found


def _page(maps: dict[Any, BeliefMap], model: str) -> str:
    about = (
        "The reward that each subject expected of every option before play, estimated from their "
        "choices. Choices reveal differences within a map; its overall level is hardly "
        "identified, as it trades off with the bonus for uncertainty."
    )
    sections = [Section("How to read the maps", [Paragraph(about), Paragraph(f"Model: {model}.")])]
    for subject, one in maps.items():
        sections.append(Section(_whose(subject), [*_drawn(subject, one), _table(one)]))
    title = "Rewards expected before play"
    return page(title, counted(len(maps), "subject"), sections)


def _whose(subject: Any) -> str:
    return "Everybody" if subject == ALL else f"Subject {subject}"


def _drawn(subject: Any, one: BeliefMap) -> list[Any]:
    if np.shape(one.locations)[1] != 2:
        return []
    drawing = figure(columns=2, height=2.6)
    belief_map(list(drawing.subplots(1, 2)), one)
    whose = _whose(subject)
    title = f"Rewards that {whose[:1].lower()}{whose[1:]} expected before play"
    caption = (
        "Left or first: the map, as difference from its level; yellow options were expected to "
        "pay more. Right or second: its standard deviation; yellow is less certain."
    )
    made = inline_svg(drawing, title, caption)
    return [Drawing("belief-map", title, caption, made, panels(drawing))]


def _table(one: BeliefMap) -> DataTable:
    removed = "not known" if np.isnan(one.removed) else f"{round(100 * one.removed)} %"
    rows = [
        ["status", one.status],
        ["trials", str(one.n_decisions)],
        ["level", f"{one.level:.3g} ± {one.level_sd:.2g}"],
        ["correlation of the level with the bonus", f"{one.bonus_correlation:.2f}"],
        ["variance of the prior map removed", removed],
        ["functions", str(one.n_functions)],
    ]
    rows += [[f"log evidence, width {fit.sd:.3g}", f"{fit.log_evidence:.2f}"] for fit in one.fits]
    return DataTable("Estimate of the map", ["quantity", "value"], rows)
