"""Options that the commands share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


def _comma_separated(type_: object, tokens: object) -> list[str]:
    """Values given as `a,b` or repeated."""
    parts: list[str] = []
    for token in tokens:  # type: ignore[attr-defined]  # cyclopts passes its own token type
        parts += [part.strip() for part in token.value.split(",") if part.strip()]
    return parts


Names = Annotated[list[str], Parameter(converter=_comma_separated, n_tokens=1)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Data:
    """Where the choices are and which column plays which part.

    Parameters
    ----------
    example
        Use data that come with Penchant: travel-mode or menu.
    decision
        Column that names the decision.
    option
        Column that names the option.
    chosen
        Column that marks the option taken: 0/1, or its label.
    explanatory
        Columns of the variables, separated by commas; all other columns if not given.
    subject
        Column that names the subject: one estimate each.
    weight
        Column that says how often a decision counts.
    available
        Column of 0/1: whether the option was on offer.
    offset
        Column of the known part of the objective.
    constants
        Add a constant for every option but this one.
    interact
        Columns of attributes (income, age ...) to interact with all options but the reference.
    wide
        One row per decision, with columns like price_car; needs --options.
    options
        Options of a wide table, separated by commas.
    missing
        error, or drop-set to leave out decisions with missing cells.
    weight_kind
        frequency, or probability for sampling weights.
    delimiter
        What divides the cells of a CSV file; found by itself if not given.
    decimal
        Decimal point of a CSV file.
    encoding
        Encoding of a CSV file.
    """

    example: str | None = None
    decision: str | None = None
    option: str | None = None
    chosen: str | None = None
    explanatory: Names = field(default_factory=list)
    subject: str | None = None
    weight: str | None = None
    available: str | None = None
    offset: str | None = None
    constants: str | None = None
    interact: Names = field(default_factory=list)
    wide: bool = False
    options: Names = field(default_factory=list)
    missing: Literal["error", "drop-set"] = "error"
    weight_kind: Literal["frequency", "probability"] = "frequency"
    delimiter: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Show:
    """What to print and where to keep it.

    Parameters
    ----------
    json
        Print JSON instead of a table.
    output
        Also write the result: .json, .csv, .parquet, .tex or .txt.
    overwrite
        Replace the output file if it exists.
    level
        Confidence level of the intervals.
    """

    json: Annotated[bool, Parameter(negative=())] = False
    output: Annotated[Path | None, Parameter(alias="-o")] = None
    overwrite: Annotated[bool, Parameter(negative=())] = False
    level: float = 0.95
