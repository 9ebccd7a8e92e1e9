"""What designs tell of the models of the clinic, and what lapses do to models without them.

    python benchmarks/clinic.py lapses
    python benchmarks/clinic.py told successor beads

prints the tables of docs/hbayesdm.md and docs/clinic.md. Cases are those of tests/every_model.py.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

import penchant as pn

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

N_PEOPLE = 40
LAPSES = (0.0, 0.05, 0.1, 0.2)
M = pn.models
CUES, PAYS = pn.Task(M.GoNoGoWorld(240)), pn.Task(M.GainLossWorld(4, 200))
GO = {"sensitivity": 5.0, "learning_rate": 0.2}
BOTH = {"gain_sensitivity": 4.0, "loss_sensitivity": 2.5, "learning_rate": 0.4}
APART = {**BOTH, "gain_rate": 0.5, "loss_rate": 0.3}
del APART["learning_rate"]
# function: model, parameters, task
LAPSING: dict[str, tuple[Any, dict[str, float], pn.Task]] = {
    "gng_m3": (M.GoNoGo(), {**GO, "bias": 0.5, "pavlovian": 0.5}, CUES),
    "gng_m1": (M.GoNoGo(bias=False, pavlovian=False), GO, CUES),
    "gng_m2": (M.GoNoGo(pavlovian=False), {**GO, "bias": 0.5}, CUES),
    "gng_m4": (
        M.GoNoGo(two_sensitivities=True),
        {
            **{"gain_sensitivity": 5.0, "loss_sensitivity": 4.0, "learning_rate": 0.2},
            **{"bias": 0.5, "pavlovian": 0.5},
        },
        CUES,
    ),
    "bandit4arm_lapse": (M.GainLoss(4), APART, PAYS),
    "bandit4arm_lapse_decay": (M.GainLoss(4, decay=True), {**APART, "decay": 0.2}, PAYS),
    "bandit4arm_singleA_lapse": (M.GainLoss(4, single_rate=True), BOTH, PAYS),
    "bandit4arm_2par_lapse": (
        M.GainLoss(4, single_sensitivity=True),
        {"sensitivity": 3.0, "gain_rate": 0.5, "loss_rate": 0.3},
        PAYS,
    ),
}


def lapsing(model: Any, share: float) -> Any:
    """The model, of whose choices a share is made at random."""

    class Lapsing(type(model)):  # type: ignore[misc]  # the class is that of the model at hand
        def agents(self, parameters: Any, n_agents: int) -> Any:
            found = super().agents(parameters, n_agents)
            sure = found.probabilities

            def mixed(before: Any) -> Any:
                p = sure(before)
                return (1.0 - share) * p + share / p.shape[1]

            found.probabilities = mixed
            return found

    return Lapsing(**{f.name: getattr(model, f.name) for f in fields(model) if f.init})


def lapses(*names: str) -> None:
    """Estimates of people who lapse, fitted together."""
    print(f"| model | parameter | truth | {' | '.join(f'{e:.0%}' for e in LAPSES)} |")
    for name in names or LAPSING:
        model, truth, task = LAPSING[name]
        found: dict[str, list[str]] = {key: [] for key in truth}
        for share in LAPSES:
            rng = np.random.default_rng(18)
            player = lapsing(model, share)
            plays = [pn.simulate(task, player, truth, rng=rng) for _ in range(N_PEOPLE)]
            estimate = pn.fit(plays, model)
            for key, cells in found.items():
                cells.append(f"{estimate[key].estimate:.2g}")
        for key, cells in found.items():
            print(f"| `{name}` | {key} | {truth[key]:g} | {' | '.join(cells)} |", flush=True)


def designs(name: str, task: pn.Task, rng: np.random.Generator) -> tuple[pn.Task, int]:
    """What one person meets, and how often: 150 offers, or the play of the case three times."""
    import offered_tasks

    if name in offered_tasks.MODELS:
        return pn.Task(offered_tasks.MODELS[name][1](rng, 150)), 1
    if name.startswith("ultimatum"):
        return pn.Task(offered_tasks.ultimatum(rng, 150)), 1
    return task, 3


def told(name: str, n_people: int = 12) -> None:
    """How many converge, hold the truth in profile intervals, and go with it."""
    from every_model import EVERY

    model, truth, task = EVERY[name]
    rng, held, asked = np.random.default_rng(14), 0, 0
    statuses: Counter[str] = Counter()
    true, found = [], []
    for _ in range(n_people):
        own = {key: float(value * rng.uniform(0.8, 1.2)) for key, value in truth.items()}
        if "prior_belief" in own:
            own["prior_belief"] = min(own["prior_belief"], 0.99)
        world, times = designs(name, task, rng)
        plays = [pn.simulate(world, model, own, rng=rng) for _ in range(times)]
        estimate = pn.fit(plays if times > 1 else plays[0], model)
        statuses[estimate.status] += 1
        if estimate.status != "converged":
            continue
        ends = estimate.interval(kind="profile", of=list(own))
        held += sum(low <= v <= high for (low, high), v in zip(ends, own.values(), strict=True))
        asked += len(own)
        true.append(list(own.values()))
        found.append([estimate[key].estimate for key in own])
    badly = [
        key
        for a, key in enumerate(truth)
        if len(true) > 3 and np.corrcoef(np.transpose(true)[a], np.transpose(found)[a])[0, 1] < 0.35
    ]
    print(f"| {name} | {dict(statuses)} | {held} of {asked} | {', '.join(badly)} |", flush=True)


if __name__ == "__main__":
    what, *names = sys.argv[1:] or ["lapses"]
    if what == "lapses":
        lapses(*names)
    else:
        for each in names:
            told(each)
