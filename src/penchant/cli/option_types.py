"""What options may hold, and the help of those that several commands have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter


def comma_separated(type_: Any, tokens: Sequence[Any]) -> list[str]:
    """Values given as `a,b` or repeated."""
    return [part for token in tokens for part in parts_of(token.value)]


def parts_of(words: str) -> list[str]:
    """What stands between commas.

    >>> parts_of("temperature=0.1:0.3, learning_rate=0.2,")
    ['temperature=0.1:0.3', 'learning_rate=0.2']
    """
    return [part.strip() for part in words.split(",") if part.strip()]


def whole(type_: Any, tokens: Sequence[Any]) -> int:
    """A whole number; cyclopts would round others."""
    word = tokens[0].value
    try:
        return int(word)
    except ValueError:
        raise ValueError(f"it must be a whole number; got {word!r}.") from None


_words = Parameter(converter=comma_separated, n_tokens=1, show_default=False)
_number = Parameter(metavar="N", converter=whole)

Flag = Annotated[bool, Parameter(show_default=False)]
Column = Annotated[str | None, Parameter(metavar="COLUMN")]
Number = Annotated[int, _number]
OptionalNumber = Annotated[int | None, _number]
Words = Annotated[list[str], _words]
Columns = Annotated[list[str], _words, Parameter(metavar="COLUMN,...")]
Labels = Annotated[list[str], _words, Parameter(metavar="LABEL,...")]
Repeated = Annotated[list[str], Parameter(n_tokens=1, show_default=False)]
Prior = Annotated[str, Parameter(metavar="PRIOR")]

# -- how a file is read ----------------------------------------------------------------------------

Delimiter = Annotated[
    str | None,
    Parameter(
        metavar="CHARACTER",
        help="What divides the cells of a CSV file; found by itself if not given.",
    ),
]
Decimal = Annotated[str, Parameter(metavar="CHARACTER", help="Decimal point of a CSV file.")]
Encoding = Annotated[str, Parameter(metavar="NAME", help="Encoding of a CSV file, such as cp1252.")]

# -- which column of play is what ------------------------------------------------------------------

Block = Annotated[
    Column,
    Parameter(
        help="Column that names the play: beliefs start afresh in each. none: use no such column."
    ),
]
Reward = Annotated[Column, Parameter(help="Column of the reward; or two, gain,loss.")]
IsChoice = Annotated[
    Column,
    Parameter(
        help="Column of 0/1: 0 for options that were shown, not chosen. none: use no such column."
    ),
]
Scored = Annotated[
    Column,
    Parameter(help="Column of 0/1: 0 for decisions that shall not enter the likelihood."),
]
Base = Annotated[Number, Parameter(metavar="0|1", help="Number of the first option, 0 or 1.")]
Gaps = Annotated[
    Literal["error", "timeout", "order"],
    Parameter(
        help="A gap in the numbers of the decisions: error; timeout: nothing was chosen in time; "
        "order: it means nothing."
    ),
]
Shown = Annotated[
    Number,
    Parameter(
        help="How many options were shown, not chosen, at the start of every block: learnt from, "
        "not scored. 1 where each round starts with a tile turned over."
    ),
]
MissingReward = Annotated[
    Literal["error", "truncate", "skip"],
    Parameter(
        help="A choice in mid-play without a reward: error; truncate: the block ends with it; "
        "skip: it counts as a decision without a choice, neither scored nor learnt from."
    ),
]
Offers = Annotated[
    Words,
    Parameter(
        metavar="NAME=COLUMN/COLUMN,...",
        help="With models of offers (hyperbolic, prospect ...): the column, or number, of every "
        "option by attribute, amount=now/later,delay=0/days; found by itself where names are "
        "usual.",
    ),
]
Clock = Annotated[
    Literal["choices", "events"],
    Parameter(help="events: options shown before play count in t, too (ucl)."),
]

# -- where options lie, and what they pay ----------------------------------------------------------

Grid = Annotated[
    str | None,
    Parameter(
        metavar="WIDTHxHEIGHT",
        help="Options lie on a grid, WIDTHxHEIGHT: option x + WIDTH * y is at (x, y), from 0.",
    ),
]
Locations = Annotated[
    str | None,
    Parameter(
        metavar="FILE",
        help="CSV file with columns x, y, z (or fewer) instead: one row per option, in order.",
    ),
]
LandscapeName = Annotated[
    Literal["a", "b"] | None,
    Parameter(
        help="Mean rewards on the --grid, as the paper's figures show them: a has one peak, b has "
        "two."
    ),
]
Means = Annotated[
    Words, Parameter(metavar="MEAN,...", help="Mean reward of each option instead, in order.")
]

# -- how it is computed, and where the result goes -------------------------------------------------

Seed = Annotated[
    OptionalNumber,
    Parameter(
        help="Whole number from which all randomness follows: the same one gives the same result."
    ),
]
Threads = Annotated[
    OptionalNumber,
    Parameter(help="Processors to use; all if not given. The answer does not depend on it."),
]
Level = Annotated[float, Parameter(metavar="LEVEL", help="Confidence level of the intervals.")]
Intervals = Annotated[
    Literal["wald", "profile", "calibrated"],
    Parameter(
        help="profile: by likelihood ratio, right where the likelihood is skewed. calibrated: the "
        "same by simulation with --seed, right where decisions are few."
    ),
]
Json = Annotated[Flag, Parameter(help="Print JSON instead of a table.")]
Output = Annotated[
    Path | None,
    Parameter(
        alias="-o",
        metavar="FILE",
        help="Also write the result to this file: .json, .csv, .parquet, .tex or .txt.",
    ),
]
Overwrite = Annotated[Flag, Parameter(help="Replace files that exist.")]
