"""Time as the server knows it; clocks of browsers are never compared with it."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Moment:
    """A moment: by the calendar, and by a clock that no one sets.

    Attributes
    ----------
    wall
        Seconds since 1970, which step when the clock of the machine is set.
    steady
        Seconds of a clock that only runs; they can be compared within one `boot`.
    boot
        Names the start of the machine.
    """

    wall: float
    steady: float
    boot: str

    def since(self, earlier: Moment) -> float:
        """Seconds from an earlier moment, never negative.

        >>> Moment(5.0, 103.0, "x").since(Moment(9.0, 100.0, "x"))
        3.0
        >>> Moment(5.0, 3.0, "y").since(Moment(9.0, 100.0, "x"))
        0.0
        """
        same = self.boot == earlier.boot
        gone = self.steady - earlier.steady if same else self.wall - earlier.wall
        return max(0.0, gone)


class Clock:
    """The clocks of this machine."""

    def __init__(self) -> None:
        try:
            self._boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        except OSError:
            self._boot = uuid.uuid4().hex  # a clock of this process alone

    def now(self) -> Moment:
        """The present moment."""
        return Moment(time.time(), time.monotonic(), self._boot)
