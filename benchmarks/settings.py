"""What the user asked for on the command line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """How often to repeat, and whether a tenth of the sizes will do."""

    repeats: int
    quick: bool
