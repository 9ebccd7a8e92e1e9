"""`penchant distinguish`."""

from __future__ import annotations

from penchant.cli.workflow_options import Judged, PeopleOfEach, Rivals, Simulated, Written


def distinguish(
    *,
    rivals: Rivals = Rivals(),  # noqa: B008  # frozen, and cyclopts reads the defaults from it
    people: PeopleOfEach = PeopleOfEach(),  # noqa: B008
    simulated: Simulated = Simulated(),  # noqa: B008
    judged: Judged = Judged(),  # noqa: B008
    written: Written = Written(),  # noqa: B008
) -> int:
    """Model recovery: simulate people of each model, fit all models, and say which one is found.

    The confusion matrix p(found | simulated) and the inversion matrix p(simulated | found): whether
    a task can tell the models apart, before data are collected, or before a winner is believed.
    Exit code 0: done; 2: wrong usage.
    """
    # Numerical libraries load here, so that help and usage errors answer at once.
    from penchant.cli.distinguishing import run_distinguish

    return run_distinguish(rivals, people, simulated, judged, written)
