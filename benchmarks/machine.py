"""Where and with what the numbers were measured."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

LIBRARIES = (
    "penchant",
    "numpy",
    "scipy",
    "numba",
    "xlogit",
    "statsmodels",
    "pandas",
    "polars",
    "pyarrow",
)


def about(arguments: str) -> dict[str, str]:
    """Machine, versions, commit and load."""
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": f"python benchmarks/run.py {arguments}".strip(),
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "versions": ", ".join(f"{name} {_version(name)}" for name in LIBRARIES),
        "commit": _commit(),
        "load before": load(),
    }


def load() -> str:
    """Processes that wanted to run in the last minute: 0 on a quiet machine."""
    return f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "unknown"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        fields = dict(
            (part.strip() for part in line.split(":", 1))
            for line in info.read_text().splitlines()
            if ":" in line
        )
        model = " ".join(f"{key} {fields[key]}" for key in ("cpu family", "model") if key in fields)
        return f"{fields.get('model name', 'unknown')} ({model})"
    return platform.processor() or "unknown"


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "absent"


def _commit() -> str:
    def git(*words: str) -> str:
        here = Path(__file__).parent
        return subprocess.run(
            ["git", *words], cwd=here, capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", "../src")
        return git("rev-parse", "--short", "HEAD") + (" with changes in src" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
