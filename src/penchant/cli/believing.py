"""What `believe` does: load play, fit the map that each subject had in mind, show it."""

from __future__ import annotations

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
from penchant.figures.grids import belief_map
from penchant.figures.saving import inline_svg, panels
from penchant.figures.style import figure
from penchant.files.output import json_text, write_text
from penchant.inference.fit import fit_model
from penchant.models.spatial.belief_map import BeliefMap
from penchant.models.spatial.map_basis import MapBasis, MapPrior
from penchant.output.notes import counted
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
            print(f"{subject}\n{one.summary()}\n")
    return 0 if any(one.status == "converged" for one in maps.values()) else 1


def _by_subject(episodes: Sequence[Any], pool: bool) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for episode in episodes:
        who = ALL if pool or episode.subject is None else episode.subject
        found.setdefault(who, []).append(episode)
    return found


def _page(maps: dict[Any, BeliefMap], model: str) -> str:
    about = (
        "What players expected of every option before play, as their choices tell it. Differences "
        "over a map are told by choices; its level hardly is, for it trades with the bonus for "
        "what is unknown."
    )
    sections = [Section("How to read the maps", [Paragraph(about), Paragraph(f"Model: {model}.")])]
    for subject, one in maps.items():
        sections.append(Section(_whose(subject), [*_drawn(subject, one), _table(one)]))
    title = "The map in mind" if len(maps) == 1 else "The maps in mind"
    return page(title, counted(len(maps), "subject"), sections)


def _whose(subject: Any) -> str:
    return "Everybody" if subject == ALL else f"Subject {subject}"


def _drawn(subject: Any, one: BeliefMap) -> list[Any]:
    if np.shape(one.locations)[1] != 2:
        return []
    drawing = figure(columns=2, height=2.6)
    belief_map(list(drawing.subplots(1, 2)), one)
    whose = _whose(subject)
    title = f"What {whose[:1].lower()}{whose[1:]} expected before play"
    caption = (
        "First the map, as distance from its level: yellow was expected to pay more. Then the "
        "standard deviation of it: yellow is less certain."
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
    return DataTable("What is known of it", ["what", "is"], rows)
