"""What `serve` does without serving: write a study file, check one."""

from __future__ import annotations

import importlib.util

from penchant.cli.words import say
from penchant.errors import DataError
from penchant.files.atomic import written
from penchant.task.plan import DEMONSTRATION, Plan, new_study_text, read_study_file, read_study_text

NEEDED = {"starlette": "starlette", "uvicorn": "uvicorn", "sqlalchemy": "SQLAlchemy"}


def check_extra() -> None:
    """Refuse to serve where what it needs is not installed."""
    missing = [name for module, name in NEEDED.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise DataError(
            f"penchant[task] must be installed; got no {', '.join(missing)}. "
            "pip install 'penchant[task]'."
        )


def planned(file: str | None) -> Plan:
    """The study of a file; the demonstration if there is none."""
    return read_study_text(DEMONSTRATION) if file is None else read_study_file(file)


def run_new(file: str | None) -> int:
    """Write a commented study file; the exit code."""
    path = file or "study.toml"
    with written(path, overwrite=False) as temporary:
        temporary.write_text(new_study_text(), encoding="utf-8")
    say(f"Written: {path}. Next: penchant serve {path} --check")
    return 0


def run_check_study(file: str | None) -> int:
    """Say what a study file holds; the exit code."""
    plan = planned(file)
    cells = len(plan.cells)
    print(f"{file or 'demonstration'}: {plan.title}")
    for block in plan.cells[0].blocks:
        pace = "self-paced" if block.seconds is None else f"{block.seconds:g} s each"
        kind = "practice, " if block.practice else ""
        task = f"{kind}{block.task.kind}, {block.task.n_decisions} decisions"
        print(f"  {block.name}: {task}, {pace}")
    print(f"  {cells} condition{'s' if cells > 1 else ''}, {len(plan.questions)} questions to pass")
    return 0
