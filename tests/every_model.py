"""Every model of the library as tests use it: model, true parameters, task."""

import numpy as np

import clinic_cases
import learners
import offered
import offered_tasks as tasks
import penchant as pn
import played

M = pn.models


def _tasks_of_offers():
    rng = np.random.default_rng(0)
    for name, (model, offers, _, truth) in tasks.MODELS.items():
        yield name, (model, truth, pn.Task(offers(rng, 40)))
    delays = {name: np.sort(rng.uniform(5, 90, (40, 2)), axis=1) for name in ("amount", "delay")}
    heuristics = dict(zip(M.ITCH().weights, (0.3, 0.01, 1.1, -0.004, -0.9), strict=True))
    yield "itch", (M.ITCH(), heuristics, pn.Task(delays))
    shared = pn.Task(tasks.ultimatum(rng, 40))
    yield "ultimatum", (M.Ultimatum(), {"temperature": 2.0, "envy": 0.8, "guilt": 0.35}, shared)
    rule = {"temperature": 2.0, "envy": 0.8, "norm_rate": 0.3}
    yield "ultimatum, delta", (M.Ultimatum("delta"), rule, shared)


FIELD = pn.Task(played.landscape(), 40)
SPATIAL = {
    "ucl": (played.ucl(), {k: v for k, v in played.TRUTH.items() if k != "length_scale"}, FIELD),
    "gp-ucb": (
        pn.GPUCB(played.PLACES),
        {"temperature": 8.0, "bonus": 1.0, "prior_mean": 35.0, "length_scale": 1.4},
        FIELD,
    ),
    "locality": (
        M.Locality(played.PLACES),
        {"distance": -0.4, "log_distance": -0.2, "same": 0.5, "visited": 0.3},
        FIELD,
    ),
}
EVERY = {
    **{name: case[:3] for name, case in clinic_cases.CASES.items()},
    **{
        name: (model, truth, pn.Task(task, 40))
        for name, (model, truth, task) in learners.CASES.items()
    },
    **{
        name: (model, truth, pn.Task(offered.offers_of(name, n=40)))
        for name, (model, truth) in offered.STATIC.items()
    },
    **dict(_tasks_of_offers()),
    **SPATIAL,
}
