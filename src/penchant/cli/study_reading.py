"""From the command line's file and columns to the data of a study."""

from __future__ import annotations

from typing import Any

from penchant.choices.frames import open_frame
from penchant.cli.episodes import Play, in_lines, named_columns, option_labels, say_columns
from penchant.cli.landscape_file import LandscapeFile, read_landscapes
from penchant.cli.loading import with_lines
from penchant.cli.offers import OF_PLAY, named_offers
from penchant.cli.options import History
from penchant.cli.refusing import refuse
from penchant.cli.study_options import Compared
from penchant.cli.words import say
from penchant.cli.workflow_options import Played
from penchant.errors import DataError
from penchant.io.source import source
from penchant.io.table import read_table
from penchant.models.trial_columns import trial_columns
from penchant.study import StudyData, study_data, study_trials


def read_study(
    file: str, table: Played, compared: Compared, history: History, ready: Any
) -> tuple[StudyData, LandscapeFile | None, Play]:
    """The data, the mean rewards if there are any, and what names lines of the file."""
    origin, data = source(file), table.data()
    rows = read_table(
        origin, delimiter=table.delimiter, decimal=table.decimal, encoding=table.encoding
    )
    places = getattr(ready, "locations", None)
    if compared.landscape is not None and compared.expected is not None:
        raise DataError(
            "--expected must be left out with --landscape; got both. Either tells the mean rewards."
        )
    with in_lines(origin, data):
        columns = named_columns(list(rows.column_names), data, history, places)
        say_columns(columns)
        labels = option_labels(open_frame(rows), columns, data)
    landscape = None
    if compared.landscape is not None:
        landscape = read_landscapes(
            compared.landscape, list(rows.column_names), compared.landscape_by, labels
        )
    by = compared.landscape_by or (None if landscape is None else landscape.by)
    with in_lines(origin, data):
        found = study_data(
            rows,
            columns=columns.arguments() | {part: "none" for part in _absent(columns)},
            conditions=compared.condition,
            landscape_by=by,
            expected=compared.expected,
            base=table.base,
            options=labels,
            locations=places,
            gaps=table.gaps,
            shown=table.shown,
            missing_reward=table.missing_reward,
            payoffs=compared.payoffs or None,
            payoff_noise=compared.payoff_noise,
        )
    for note in found.notes:
        say(with_lines(f"Note: {note}", origin, data))
    play = Play(list(found.episodes), rows, columns, origin, data, table.base, labels)
    return found, landscape, play


def read_offers_study(file: str, table: Played, compared: Compared, model: str) -> StudyData:
    """The data of a study of choices among offers."""
    data, history = table.data(), table.history()
    refuse(data, f"with --model {model}", names={"decision"})
    refuse(history, f"with --model {model}", names=OF_PLAY - {"clock", "linearized"})
    offers = named_offers(history.offers)
    origin = source(file)
    rows = read_table(
        origin, delimiter=table.delimiter, decimal=table.decimal, encoding=table.encoding
    )
    parts = {part: getattr(table, part) for part in ("subject", "block", "chosen", "scored")}
    with in_lines(origin, data):
        say(f"Columns: {trial_columns(list(rows.column_names), parts, offers).words()}")
        found = study_trials(
            rows,
            columns=parts,
            offers=offers,
            conditions=compared.condition,
            options=table.options or None,
            base=table.base,
        )
    for note in found.notes:
        say(f"Note: {note}")
    return found


def _absent(columns: Any) -> list[str]:
    """Parts that were left out, or not found: they stay so."""
    return [part for part, name in columns.arguments().items() if name is None]
