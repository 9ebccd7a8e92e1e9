"""The data of a study: a table of play, or of choices among offers, whichever it is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from penchant._frames import as_it_came
from penchant.errors import DataError, named
from penchant.files.table import read_table
from penchant.models.offers.offers import offers_of_choices
from penchant.models.offers.table import offers_from_frame
from penchant.studies.data import StudyData, full_labels, play_data, units_of
from penchant.tables.columns import NO_COLUMN
from penchant.tables.frames import check_columns, column_labels, open_frame
from penchant.tables.offer_columns import is_offers, offer_columns
from penchant.tables.play import Gaps, MissingReward
from penchant.tables.reading import Reading
from penchant.wording import argument, ticked

Kind = Literal["play", "offers"]


@as_it_came
def read_study(
    table: Any,
    *,
    kind: Kind | None = None,
    columns: Mapping[str, Any] | None = None,
    conditions: Sequence[str] = (),
    base: int = 0,
    options: Sequence[Any] | None = None,
    offers: Mapping[str, Sequence[Any]] | None = None,
    locations: Any = None,
    gaps: Gaps | None = None,
    shown: int = 0,
    missing_reward: MissingReward = "error",
    landscape_by: Sequence[str] | None = None,
    expected: str | None = None,
    payoffs: Sequence[str] | str | None = None,
    payoff_noise: float | None = None,
) -> StudyData:
    """Read the table of a study: of play, one row per event; or of offers, one row per decision.

    Parameters
    ----------
    table
        A pandas, polars or pyarrow table; or what `read` returns, for files as laboratories have
        them; or the name of a file.
    kind
        "play" or "offers". If not given, the columns tell: what was offered, or what was paid.
    columns
        {part: column} for those that have no usual name: chosen, subject, block, scored, and for
        play reward, decision, is_choice; see `episodes_from_frame` for what they hold.
    conditions
        Columns of what subjects were assigned to. Where a subject was in several, each is fitted by
        itself, and conditions are compared within subjects.
    base, options
        As for `episodes_from_frame` and `offers_from_frame`.
    offers
        Columns of what was offered, as for `offers_from_frame`.
    locations, gaps, shown, missing_reward
        Of play, as for `episodes_from_frame`; gaps are errors if not said.
    landscape_by
        Columns that tell landscapes apart: one label for all rows of an episode. The conditions if
        not given. Naming them says that the mean rewards of a landscape do not change.
    expected
        Column of the mean reward of the option chosen, where it is known.
    payoffs
        Columns of what every option paid, or would have paid, at every decision, in the order of
        the options; or a pattern, "payoff_*". Agents then play the task as it was. Rewards, mean
        rewards or probabilities: the rewards received tell which. If not given, columns with usual
        names are taken where the rewards received agree with them; "none" for no such columns.
    payoff_noise
        Variance of rewards around `payoffs`; 0 where these are the rewards themselves. Found from
        the rewards received if not given.

    Examples
    --------
    >>> import penchant as pn
    >>> import pyarrow as pa
    >>> table = pa.table(
    ...     {
    ...         "subjID": [1, 1, 1, 2, 2, 2],
    ...         "trial": [1, 2, 3, 1, 2, 3],
    ...         "choice": [1, 2, 2, 1, 1, 2],
    ...         "outcome": [0.5, 1.0, 0.0, 1.0, 1.0, 0.5],
    ...         "drug": ["placebo", "placebo", "placebo", "dopa", "dopa", "dopa"],
    ...     }
    ... )
    >>> data = pn.read_study(table, conditions=["drug"], base=1)
    >>> data, data.condition(2)
    (<StudyData: 2 subjects, 2 episodes, 6 decisions scored>, 'dopa')
    >>> pn.read_study(pn.datasets.load("delays"))
    <StudyData: 20 subjects, 20 episodes, 1191 decisions scored>
    """
    seen: dict[str, Any] = {}
    if isinstance(table, Reading) and table.kind == "choices":
        return _experiment(table, conditions)
    if isinstance(table, Reading):
        kind = "play" if table.kind == "play" else "offers"
        columns, offers, options = _as_read(table, columns)
        base, gaps = table.arguments.get("base", 0), gaps or table.arguments.get("gaps")
        locations = table.arguments.get("locations") if locations is None else locations
        shown = shown or table.arguments.get("shown", 0)
        missing_reward = table.arguments.get("missing_reward", missing_reward)
        told = ("before", "after", "available")
        seen = {name: table.arguments[name] for name in told if table.arguments.get(name)}
    frame = table.table if isinstance(table, Reading) else table
    frame = read_table(frame) if isinstance(frame, str | os.PathLike) else frame
    if kind not in ("play", "offers", None):
        raise DataError(f"kind must be 'play' or 'offers'; got {kind!r}. Leave it out.")
    if kind is None:
        offered = offers is not None or is_offers(list(open_frame(frame).columns))
        kind = "offers" if offered else "play"
    shared: dict[str, Any] = {
        "columns": columns,
        "conditions": conditions,
        "base": base,
        "options": options,
    }
    of_play: dict[str, Any] = {
        "landscape_by": landscape_by,
        "expected": expected,
        "locations": locations,
        "gaps": gaps or "error",
        "shown": shown,
        "missing_reward": missing_reward,
        "payoffs": payoffs,
        "payoff_noise": payoff_noise,
    }
    if kind == "play":
        if offers is not None:
            raise DataError("offers must be left out for play; got some. Leave out kind='play'.")
        return play_data(frame, **shared, **of_play, seen=seen)
    for name, value in of_play.items():
        if not (value is None or (isinstance(value, int | str) and value in (0, "error"))):
            raise DataError(
                f"{name} must be left out for choices among offers; got {value!r}. They pay no "
                "rewards that could be learnt from."
            )
    return offers_data(frame, **shared, offers=offers)


def _as_read(
    reading: Reading, columns: Mapping[str, Any] | None
) -> tuple[dict[str, Any], Any, Any]:
    """Columns, offers and options as `read` found or was told them."""
    known = reading.arguments
    parts = ("chosen", "reward", "subject", "block", "decision", "is_choice", "scored", "executed")
    found = {part: known[part] or NO_COLUMN for part in parts if part in known}
    return {**found, **(columns or {})}, known.get("offers"), known.get("options")


def _experiment(reading: Reading, conditions: Sequence[str]) -> StudyData:
    """The data of a choice experiment: its variables are attributes of what was offered."""
    if reading.data.subject is None:
        raise DataError(
            f"{argument('subject')} must be given with a choice experiment; got none, and no "
            "column is known to name subjects. Name the column of the people who chose."
        )
    assigned = {name: reading.groups(name) for name in conditions}
    return StudyData(tuple(offers_of_choices(reading.data)), assigned)


def offers_data(
    frame: Any,
    *,
    columns: Mapping[str, str | None] | None = None,
    offers: Mapping[str, Sequence[Any]] | None = None,
    conditions: Sequence[str] = (),
    options: Sequence[Any] | None = None,
    base: int = 0,
) -> StudyData:
    """The data of a study of choices among offers, one row per decision; see `read_study`."""
    table = open_frame(frame)
    given = dict(columns or {})
    found = offer_columns(list(table.columns), given, offers)
    if found.subject is None:
        raise DataError(
            f"{ticked('subject')} must be given, as no column is called subject or participant; "
            f"got columns {named(table.columns)}. Name the column that says who chose."
        )
    check_columns(table, {"condition": conditions})
    units = units_of(table, found.subject, conditions)
    trials = offers_from_frame(
        units.table.to_native(),
        **(given | {"subject": units.subject}),
        offers=offers,
        options=options,
        base=base,
    )
    who = column_labels(units.table, units.subject, "subject")
    first = {who.at(row): row for row in reversed(range(len(table)))}
    assigned = {name: full_labels(units.table, name, "condition") for name in conditions}
    return StudyData(
        tuple(trials),
        {name: {s: coded.at(row) for s, row in first.items()} for name, coded in assigned.items()},
        columns=found,
        options=None if options is None else tuple(options),
        people=units.people,
    )
