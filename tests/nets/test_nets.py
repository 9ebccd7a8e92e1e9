"""Compare answers with those frozen by `frozen.py`, so that a redesign moves none unseen."""

import math

import pytest

from nets.frozen import FILES, plain, processor, read_net

RELATIVE_TOL = 1e-9
# Numbers that are themselves rounding errors (a gradient, log-odds of 0) have no relative accuracy.
ABSOLUTE_TOL = 1e-9
# Vector width and fused multiply-add differ between processors, and sums with them. A maximum is
# then found to the same height; flat directions of estimates that have not converged may move.
OTHER_PROCESSOR_TOL = 1e-5
FOUND = ("converged", "estimated")  # statuses with numbers that all processors agree on
# Cases that may move, each with the reason: (file, case).
_FLAT = "weakly identified; generated derivatives round otherwise than those written by hand"
MAY_MOVE: dict[tuple[str, str], str] = {
    ("models", "volatile, bonus / first"): _FLAT,
    ("models", "volatile, bonus / short"): _FLAT,
}
# Places that may move in cases that else may not, with the reason above: (file, case), beginnings.
PLACES_MAY_MOVE: dict[tuple[str, str], tuple[str, ...]] = {
    # After 1, 0, 1 with rewards r, -r, r only learning rate / temperature enters the likelihood, so
    # that rounding alone put the learning rate at its bound: it is weakly identified.
    ("workflow", "live"): ("[2].status:", "[2].parameters."),
}
# Cases of more than a second of processor time: long searches over flat or separated profiles.
LONG = {
    "balloons, mean and variance / short",
    "balloons, mean and variance / shortest",
    "gain-loss, decay / shortest",
    "gain-loss, one rate / shortest",
    "iowa, frequency / short",
    "iowa, perseverance / short",
    "kalman, restless / short",
    "kalman, static / short",
    "q-learning, forgetting / short",
    "two-step, six parameters / short",
    "two-step, trace after / short",
}

NETS = {name: read_net(name) for name in FILES}
CASES = [
    pytest.param(
        *(name, label, case),
        id=f"{name}: {label}",
        marks=[pytest.mark.slow] if label in LONG else [],
    )
    for name, cases in FILES.items()
    for label, case in cases()
]


def differences(was, now, tolerance, where=""):
    """Places where two answers differ by more than the tolerance."""
    if isinstance(was, dict) and isinstance(now, dict):
        for key in was.keys() ^ now.keys():
            yield f"{where}.{key} is in one only"
        for key in was.keys() & now.keys():
            yield from differences(was[key], now[key], tolerance, f"{where}.{key}")
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for i, pair in enumerate(zip(was, now, strict=True)):
            yield from differences(*pair, tolerance, f"{where}[{i}]")
    elif isinstance(was, float | int) and isinstance(now, float | int):
        if not math.isclose(was, now, rel_tol=tolerance, abs_tol=max(tolerance, ABSOLUTE_TOL)):
            yield f"{where}: {was} is now {now}"
    elif was != now:
        yield f"{where}: {was!r} is now {now!r}"


def comparable(answer):
    """The part of an answer that all processors agree on."""
    if isinstance(answer, dict) and answer.get("status", "converged") not in FOUND:
        return {key: answer[key] for key in ("status", "log_likelihood")}
    if isinstance(answer, dict):
        return {key: comparable(part) for key, part in answer.items()}
    return [comparable(part) for part in answer] if isinstance(answer, list) else answer


@pytest.mark.parametrize(("name", "label", "case"), CASES)
def test_an_answer_is_as_it_was(name, label, case):
    if (name, label) in MAY_MOVE:
        pytest.skip(MAY_MOVE[name, label])
    was, now, tolerance = NETS[name][label], plain(case()), RELATIVE_TOL
    if NETS[name]["processor"] != processor():
        was, now, tolerance = comparable(was), comparable(now), OTHER_PROCESSOR_TOL
    places = PLACES_MAY_MOVE.get((name, label), ())
    assert [d for d in differences(was, now, tolerance) if not d.startswith(places)] == []


@pytest.mark.parametrize("name", FILES)
def test_every_frozen_answer_is_compared(name):
    assert NETS[name].keys() == {"processor", *(label for label, _ in FILES[name]())}
