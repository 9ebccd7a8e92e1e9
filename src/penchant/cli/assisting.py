"""What `assist` does: simulated operators, apprentices and warnings; what would have been said."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from penchant.assistance.helper import assist
from penchant.assistance.knowledge import Field
from penchant.assistance.team import (
    KIND_DESCRIPTIONS,
    KINDS,
    TRANSFER_DESCRIPTIONS,
    Gains,
    apprentice_gains,
    team_gains,
)
from penchant.assistance.warning import warning_scores
from penchant.cli.fitting import play_for, ready_model
from penchant.cli.options import Agent
from penchant.cli.showing import kept
from penchant.cli.words import check_file, check_seed, refuse, say
from penchant.cli.workflow_options import Assisted, Played, Written
from penchant.errors import DataError, closest_match_hint
from penchant.files.output import TABLES, json_text, write_table
from penchant.models.record import rewards_of
from penchant.tables.events import NOTHING

COLUMNS = ("human", "machine", "suggest", "sensor", "sensor, trust")


def run_assist(
    action: str, file: str | None, table: Played, agent: Agent, asked: Assisted, written: Written
) -> int:
    """Simulate or replay; the exit code."""
    if action == "simulate":
        return _simulate(file or "team", asked, written)
    refuse(asked, "with replay", names={"operators", "kind", "seed"})
    check_file(file)
    return _replay(file, table, agent, asked, written)


def _simulate(what: str, asked: Assisted, written: Written) -> int:
    if what not in SIMULATED:
        hint = closest_match_hint(what, SIMULATED) or "Choose one."
        raise DataError("simulate", f"must be of {', '.join(SIMULATED)}", got=what, fix=hint)
    check_seed(asked.seed)
    least = 2 if what != "warning" else 100
    if asked.operators < least:
        raise DataError(
            "--operators", f"must be at least {least}", got=asked.operators, fix="200 are usual."
        )
    if what != "team":
        refuse(asked, f"with simulate {what}", names={"kind"})
    rng = np.random.default_rng(asked.seed)
    with kept(written, TABLES):
        rows, words = SIMULATED[what](asked, rng)
        if written.output is not None:
            write_table(written.output, pa.Table.from_pylist(rows), overwrite=written.overwrite)
        if written.json:
            print(json_text(rows), end="")
        else:
            print("\n".join(words))
    say("All of them are simulated, and the machine knows what made the landscapes: favourable.")
    return 0


def _teams(asked: Assisted, rng: np.random.Generator) -> Simulated:
    kinds: Sequence[Any] = asked.kind or KINDS
    found = []
    for kind in kinds:
        found.append(team_gains(kind, n_operators=asked.operators, rng=rng))
        say(f"{kind}: {KIND_DESCRIPTIONS[kind]}.")
    return [_row(gains) for gains in found], [_words(gains) for gains in found]


def _apprentices(asked: Assisted, rng: np.random.Generator) -> Simulated:
    rows: list[dict[str, Any]] = []
    words = []
    for n_watched in (1, 4):
        found = apprentice_gains(n_watched, n_experts=asked.operators, rng=rng)
        row: dict[str, Any] = {"watched": n_watched, "operators": len(found.similarity)}
        row |= {f"regret, {name}": float(each.mean()) for name, each in found.regret.items()}
        row["correlation of the map"] = float(found.similarity.mean())
        said = [f"{name} {each.mean():.2f}" for name, each in found.regret.items()]
        told = []
        for name, other in (("map", "no prior"), ("rewards and map", "rewards")):
            mean, half = found.difference(name, other)
            row |= {f"{name} less {other}": mean, f"{name} less {other}, half-width": half}
            told.append(f"{name} less {other} {mean:+.2f}±{half:.2f}")
        rows.append(row)
        words.append(
            f"{n_watched} watched ({asked.operators} experts): regret per choice "
            f"{', '.join(said)}; {'; '.join(told)}; map read with a correlation of "
            f"{found.similarity.mean():.2f}"
        )
    for name, about in TRANSFER_DESCRIPTIONS.items():
        say(f"{name}: {about}.")
    return rows, words


def _warnings(asked: Assisted, rng: np.random.Generator) -> Simulated:
    rows: list[dict[str, Any]] = []
    words = []
    for scores in warning_scores(asked.operators, rng=rng):
        for by, told in scores.by.items():
            row: dict[str, Any] = {"after": scores.at, "by": by, "players": len(scores.poor)}
            row |= {"poor": float(scores.poor.mean()), "auc": told.auc, "brier": told.brier}
            row |= {"brier, base rate": told.base_brier, "slope": told.slope}
            words.append(
                f"after {scores.at}, by {by}: AUC {told.auc:.3f}, Brier {told.brier:.3f} (base "
                f"rate {told.base_brier:.3f}), calibration slope {told.slope:.2f}"
            )
            rows.append(row)
        more, low, high = scores.more("both", "rewards", rng)
        words.append(
            f"after {scores.at}: the model adds {more:+.3f} ({low:+.3f} to {high:+.3f}) to the AUC"
        )
        for row in rows[-len(scores.by) :]:
            row |= {"both over rewards": more, "low": low, "high": high}
    say(f"{100 * rows[0]['poor']:.0f} % of {asked.operators} players did poorly.")
    return rows, words


Simulated = tuple[list[dict[str, Any]], list[str]]
SIMULATED = {"team": _teams, "apprentice": _apprentices, "warning": _warnings}


def _row(gains: Gains) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": gains.kind, "operators": len(gains.trust)}
    row |= {f"regret, {name}": float(gains.regret[name].mean()) for name in COLUMNS}
    for name, over in (
        ("suggest", "human"),
        ("sensor, trust", "human"),
        ("sensor, trust", "machine"),
        ("suggest", "machine"),
    ):
        mean, half = gains.gain(name, over)
        row |= {f"{name} over {over}": mean, f"{name} over {over}, half-width": half}
    row["worse by 1 with suggest"] = gains.share_worse("suggest")
    row["trust"] = float(gains.trust.mean())
    return row


def _words(gains: Gains) -> str:
    said = [f"{name} {gains.regret[name].mean():.2f}" for name in COLUMNS]
    told = [
        f"{name} over {over} {gains.gain(name, over)[0]:+.2f}±{gains.gain(name, over)[1]:.2f}"
        for name, over in (("suggest", "human"), ("sensor, trust", "machine"))
    ]
    return (
        f"{gains.kind} ({len(gains.trust)} operators): regret per choice {', '.join(said)}; "
        f"{'; '.join(told)}; worse by 1 with suggest {gains.share_worse('suggest'):.2f}; "
        f"trust {gains.trust.mean():.2f}"
    )


def _replay(
    file: str | None, table: Played, agent: Agent, asked: Assisted, written: Written
) -> int:
    if agent.model not in (None, "ucl"):
        raise DataError(
            "--model",
            "must be ucl, whose player has a map in mind",
            got=agent.model,
            fix="Leave it out.",
        )
    if agent.length_scale is None:
        raise DataError(
            "--length-scale", "must be given with replay", got="none", fix="4 is the paper's."
        )
    with kept(written, TABLES, read=file):
        agent, data, history = replace(agent, model="ucl"), table.data(), table.history()
        reading, model = play_for(ready_model(agent, data, history), file, data, history, agent)
        paid = rewards_of(reading.data)
        machine = Field(
            model.locations,
            mean=float(paid.mean()) if asked.field_mean is None else asked.field_mean,
            sd=(float(paid.std()) or 1.0) if asked.field_sd is None else asked.field_sd,
            length_scale=asked.field_length,
            noise_variance=model.noise_variance,
        )
        say(f"Machine: {machine!r}.")
        rows = _said(reading.data, model, machine)
        made = pa.Table.from_pylist(rows)
        if written.output is not None:
            write_table(written.output, made, overwrite=written.overwrite)
        elif written.json:
            print(json_text(rows), end="")
        else:
            print(_csv(made), end="")
    n = sum(row["kind"] == "suggest" for row in rows)
    say(
        f"{n} suggestions would have been made of {len(rows)} choices. Nobody heard them: this "
        "tells nothing of rewards."
    )
    return 0


def _said(episodes: Sequence[Any], model: Any, machine: Field) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    by_subject: dict[Any, list[Any]] = {}
    for episode in episodes:
        by_subject.setdefault(episode.subject, []).append(episode)
    for subject, own in by_subject.items():
        helper = assist(model, machine, mode="suggest", unassisted=None)
        for episode in own:
            for k in range(episode.n_events):
                chosen, done = int(episode.chosen[k]), int(episode.executed[k])
                if NOTHING in (chosen, done) or not episode.is_choice[k]:
                    continue
                helper.proposed(chosen)
                reward = float(episode.rewards[k])
                helper.happened(done, None if np.isnan(reward) else reward)
                rows.append({"subject": subject, "block": episode.block, **helper.log[-1]})
            helper.end_episode()
    return rows


def _csv(table: pa.Table) -> str:
    text = io.BytesIO()
    pa_csv.write_csv(table, text)
    return text.getvalue().decode()
