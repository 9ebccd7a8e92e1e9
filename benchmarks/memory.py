"""Extra memory of a fit: growth of the resident set in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from problems import problem, size_of
from report import Row, Target, shape_text
from settings import Settings

TARGET = Target(1.2, at_least=False)


def memory(settings: Settings) -> list[Row]:
    """Peak growth during the whole job on L, one thread, relative to the variables."""
    size = size_of("L", settings.quick)
    found = _measured_in_child(size)
    if found is None:
        return [Row("memory L", "extra memory", note="not measured: needs Linux's /proc")]
    variables, extra = found
    return [
        Row(
            "memory L",
            "extra memory of the whole job",
            shape_text(*size),
            value=f"{extra / 1e6:,.0f} MB",
            ratio=extra / variables,
            target=TARGET,
            judged=not settings.quick,
            note=f"ratio to the variables, {variables / 1e6:,.0f} MB",
        )
    ]


def _measured_in_child(size: tuple[int, int, int]) -> tuple[int, int] | None:
    command = [sys.executable, __file__, *map(str, size)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    variables, extra = json.loads(done.stdout)
    return None if extra is None else (variables, extra)


def _resident(field: str) -> int:
    """A line of /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def _measure(size: tuple[int, int, int]) -> tuple[int, int | None]:
    """Bytes of the variables, and how far the peak rose above what they already took."""
    import peers

    peers.penchant_fit(problem(1_000, *size[1:]))
    data = problem(*size)
    forget = Path("/proc/self/clear_refs")
    if not forget.exists():
        return data.explanatory.nbytes, None
    forget.write_text("5")  # the peak so far, reached while drawing the data, is forgotten
    before = _resident("VmRSS")
    peers.penchant_fit(data)
    return data.explanatory.nbytes, _resident("VmHWM") - before


if __name__ == "__main__":
    print(json.dumps(_measure((int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))))
