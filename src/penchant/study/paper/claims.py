"""What the paper says, beside what a run of its experiments shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Verdict = Literal["holds", "holds in part", "does not hold"]


@dataclass(frozen=True)
class Claim:
    """A statement of the paper and the evidence for and against it.

    Attributes
    ----------
    where
        Place in the paper.
    statement
        What the paper says, in a sentence.
    parts
        Conditions the statement amounts to, each with whether the run met it.
    why
        What the run shows, with its numbers.
    evidence
        The numbers.
    errata
        Numbers of the errata that the claim touches.

    Examples
    --------
    >>> from penchant.study.paper.claims import Claim
    >>> claim = Claim("Section V.A", "It converges.", {"mean": True, "spread": False}, "It does.")
    >>> claim.verdict
    'holds in part'
    """

    where: str
    statement: str
    parts: Mapping[str, bool]
    why: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    errata: tuple[int, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Whether all parts, some or none were met."""
        return verdict_of(self.parts)


def verdict_of(parts: Mapping[str, bool]) -> Verdict:
    """All conditions met: holds; some: holds in part; none: does not hold."""
    if not parts:
        raise ValueError("parts must hold at least one condition; got none. Name what was tested.")
    met = sum(bool(part) for part in parts.values())
    if met == len(parts):
        return "holds"
    return "holds in part" if met else "does not hold"
