"""The table of ranges of shape parameters in docs/models.md, and what it lacks."""

import re
from pathlib import Path

from penchant.models.catalogue import CATALOGUE

PAGE = Path(__file__).parents[1] / "docs" / "models.md"
ROW = re.compile(r"\| `(\w+)\((.*?)\)` \| (\w+) \| (\S+) \| (\S+) \| (.+) \|")
ROWS = [match.groups() for match in map(ROW.fullmatch, PAGE.read_text().splitlines()) if match]


def untold():
    """Models and shape parameters of the catalogue that the table does not have."""
    told = {(name, parameter) for name, _, parameter, *_ in ROWS}
    examples = [entry.example() for entry in CATALOGUE.values()]
    return {
        (type(model).__name__, shape.name) for model in examples for shape in model.shape
    } - told
