"""The command `assist`: advice that a machine would have given in recorded play."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from penchant.assistance.assistant_beliefs import Field
from penchant.assistance.shared_autonomy import assist
from penchant.cli.fit_model_command import load_play_and_model, model_before_data
from penchant.cli.options import Agent
from penchant.cli.result_output import reserve_outputs
from penchant.cli.terminal import check_file, say
from penchant.cli.workflow_options import AssistantOptions, OutputOptions, TableOptions
from penchant.errors import DataError
from penchant.files.output import OUTPUT_SUFFIXES, json_text, write_table
from penchant.models.setting_warnings import received_rewards
from penchant.tables.events import NOTHING


def run_assist(
    file: str | None,
    table: TableOptions,
    agent: Agent,
    assistant: AssistantOptions,
    output_options: OutputOptions,
) -> int:
    """Run `assist`: print the machine's advice on every choice; return the exit code."""
    check_file(file)
    if agent.model not in (None, "ucl"):
        raise DataError(
            "--model",
            "must be ucl, whose player has a map in mind",
            got=agent.model,
            fix="Leave it out.",
        )
    if agent.length_scale is None:
        raise DataError(
            "--length-scale", "must be given", got="none", fix="Try --length-scale 4, the paper's."
        )
    with reserve_outputs(output_options, OUTPUT_SUFFIXES, read=file):
        agent, data, history = replace(agent, model="ucl"), table.data(), table.history()
        reading, model = load_play_and_model(
            model_before_data(agent, data, history), file, data, history, agent
        )
        paid = received_rewards(reading.data)
        machine = Field(
            model.locations,
            mean=float(paid.mean()) if assistant.field_mean is None else assistant.field_mean,
            sd=(float(paid.std()) or 1.0) if assistant.field_sd is None else assistant.field_sd,
            length_scale=assistant.field_length,
            noise_variance=model.noise_variance,
        )
        say(f"Machine: {machine!r}.")
        rows = _advice_rows(reading.data, model, machine)
        made = pa.Table.from_pylist(rows)
        if output_options.output is not None:
            write_table(output_options.output, made, overwrite=output_options.overwrite)
        elif output_options.json:
            print(json_text(rows), end="")
        else:
            print(_csv_text(made), end="")
    n = sum(row["kind"] == "suggest" for row in rows)
    say(
        f"{n} suggestions would have been made of {len(rows)} choices. Nobody heard them: this "
        "tells nothing of rewards."
    )
    return 0


def _advice_rows(episodes: Sequence[Any], model: Any, machine: Field) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    by_subject: dict[Any, list[Any]] = {}
    for episode in episodes:
        by_subject.setdefault(episode.subject, []).append(episode)
    for subject, own in by_subject.items():
        helper = assist(model, machine, mode="suggest", unassisted=None)
        for episode in own:
            for k in range(episode.n_events):
                chosen, executed = int(episode.chosen[k]), int(episode.executed[k])
                if NOTHING in (chosen, executed) or not episode.is_choice[k]:
                    continue
                helper.proposed(chosen)
                reward = float(episode.rewards[k])
                helper.record_unassisted(executed, None if np.isnan(reward) else reward)
                rows.append({"subject": subject, "block": episode.block, **helper.log[-1]})
            helper.end_episode()
    return rows


def _csv_text(table: pa.Table) -> str:
    text = io.BytesIO()
    pa_csv.write_csv(table, text)
    return text.getvalue().decode()
