"""What a check of a model found."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from penchant.choices.notes import counted


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    Attributes
    ----------
    code
        What kind of mistake: "declaration", "explanatory", "shape", "dtype", "not finite", "state",
        "future", "slopes", "many", "objective", "agents" or "not told apart".
    message
        What is wrong, where, and what to do.
    """

    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


@dataclass(frozen=True, repr=False)
class ModelCheck:
    """What a check of a model found.

    Attributes
    ----------
    model
        The model, in words.
    problems
        What is wrong, most basic first.
    passed
        What was looked at and found right.
    """

    model: str
    problems: tuple[Finding, ...]
    passed: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Nothing was found to be wrong."""
        return not self.problems

    def summary(self) -> str:
        """What was found, as text."""
        head = f"{self.model}: " + (
            "nothing wrong was found." if self.ok else f"{counted(len(self.problems), 'problem')}."
        )
        found = [_paragraph(f"{k}. {finding}") for k, finding in enumerate(self.problems, 1)]
        right = [_paragraph(f"Right: {', '.join(self.passed)}.")] if self.passed else []
        return "\n".join([head, *found, *right])

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        found = ", ".join(dict.fromkeys(finding.code for finding in self.problems)) or "ok"
        return f"<ModelCheck of {self.model}: {found}>"


def _paragraph(text: str) -> str:
    return textwrap.fill(text, 96, subsequent_indent="   ", break_long_words=False)
