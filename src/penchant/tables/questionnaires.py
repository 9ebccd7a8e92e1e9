"""Questionnaires of choices whose items are published, so that a table need not hold them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Kirby, Petry and Bickel (1999), in the order in which the items are asked: now, later, days.
_MCQ_NOW = (
    *(54, 55, 19, 31, 14, 47, 15, 25, 78, 40, 11, 67, 34, 27),
    *(69, 49, 80, 24, 33, 28, 34, 25, 41, 54, 54, 22, 20),
)
_MCQ_LATER = (
    *(55, 75, 25, 85, 25, 50, 35, 60, 80, 55, 30, 75, 35, 50),
    *(85, 60, 85, 35, 80, 30, 50, 30, 75, 60, 80, 25, 55),
)
_MCQ_DAYS = (
    *(117, 61, 53, 7, 19, 160, 13, 14, 162, 62, 7, 119, 186, 21),
    *(91, 89, 157, 29, 14, 179, 30, 80, 20, 111, 30, 136, 7),
)
MCQ_27 = "MCQ-27"
# {questionnaire: attributes of the first and the second option, item by item}
QUESTIONNAIRES: Mapping[str, Mapping[str, Any]] = {
    MCQ_27: {"amount": (_MCQ_NOW, _MCQ_LATER), "delay": (0, _MCQ_DAYS)},
}
N_ITEMS: Mapping[str, int] = {MCQ_27: 27}
