"""Freeze what Penchant answers today, as data that `test_nets.py` compares with.

``python tests/nets/frozen.py`` writes `models.json`, `softmax.json` and `workflow.json` beside this
file. Run it only when an answer was meant to change, and say in the commit which ones did and why.
What commands print and write as JSON is kept by `tests/snapshots`.
"""

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numpy as np

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))

import penchant as pn  # noqa: E402
from every_model import EVERY  # noqa: E402

# Seed and number of decisions: two ordinary people, and two with so few decisions that most models
# have no finite maximum.
PEOPLE = {"first": (1, None), "second": (2, None), "short": (3, 9), "shortest": (4, 3)}
# Weights of softmax problems: weak effects, the strong ones of the paper's Figure 3, and separated.
EFFECTS = {
    "weak": (0.2, -0.1, 0.3),
    "strong": (1.0, 2.0, 3.0),
    "separated": (40.0, 80.0, 120.0),
}

Case = Callable[[], Any]


def plain(value: Any) -> Any:
    """The value as JSON holds it, with not-a-number and infinities as words."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def summary(found: pn.Estimate) -> dict[str, Any]:
    """What one estimate says: status, numbers and intervals."""
    return {
        "status": found.status,
        "log_likelihood": found.log_likelihood,
        "parameters": {
            p.name: (p.estimate, p.standard_error, p.low, p.high) for p in found.parameters
        },
    }


def first_decisions(history: Any, n: int | None) -> Any:
    """The beginning of an episode or of a person's offers."""
    if n is None:
        return history
    parts: dict[str, Any] = {}
    for name in ("chosen", "rewards", "before", "after", "available", "offers"):
        part = getattr(history, name, None)
        if isinstance(part, Mapping):
            parts[name] = {key: column[:n] for key, column in part.items()}
        elif part is not None:
            parts[name] = part[:n]
    return type(history)(**parts)


def model_cases() -> Iterator[tuple[str, Case]]:
    """Fits of every model to every person."""
    for name, (model, truth, task) in EVERY.items():
        for person, (seed, n) in PEOPLE.items():

            def fitted(model=model, truth=truth, task=task, seed=seed, n=n) -> Any:
                history = pn.simulate(task, model, truth, rng=np.random.default_rng([seed, 20]))
                return summary(pn.fit(first_decisions(history, n), model))

            yield f"{name} / {person}", fitted


def simulated_choices(effects: tuple[float, ...], n_options: int, n_decisions: int) -> pn.Choices:
    """Choices of two subjects by softmax, with standard normal attributes."""
    rng = np.random.default_rng([n_options, n_decisions])
    x = rng.standard_normal((n_decisions, n_options, len(effects)))
    chosen = (x @ effects + rng.gumbel(size=x.shape[:2])).argmax(axis=1)
    return pn.Choices.from_arrays(x, chosen, subject=np.arange(n_decisions) % 2)


def softmax_cases() -> Iterator[tuple[str, Case]]:
    """Softmax fits with weak, strong and separating effects, with and without a prior."""
    for label, effects in EFFECTS.items():
        for n_options, n_decisions in ((2, 40), (5, 200), (30, 60)):
            choices = simulated_choices(effects, n_options, n_decisions)
            for prior in (None, pn.ScaledPrior()):

                def fitted(choices=choices, prior=prior) -> Any:
                    together = pn.fit(choices, parameter_prior=prior)
                    each = pn.fit_each(choices, parameter_prior=prior)
                    profile = together.interval(kind="profile")
                    return {
                        "all": summary(together),
                        "profile": profile,
                        "each": [summary(one) for one in each],
                    }

                name = "maximum likelihood" if prior is None else "scaled prior"
                yield f"{label} / {n_options} x {n_decisions} / {name}", fitted


LEARNER = pn.QLearning(2, initial_value=0.0)


def learners(n: int) -> list[pn.Episode]:
    """Plays of people of two groups with a reversal half-way."""
    rng = np.random.default_rng(7)
    task = np.repeat([[-0.6, 0.6], [0.6, -0.6]], 20, axis=0)
    made = []
    for i in range(n):
        rate = 1 / (1 + np.exp(-rng.normal([-0.8, 0.6][i % 2], 0.6)))
        truth = {"temperature": float(np.exp(rng.normal(-1, 0.3))), "learning_rate": float(rate)}
        made.append(pn.simulate(task, LEARNER, truth, rng=rng, subject=f"s{i}"))
    return made


def population() -> Any:
    """Everybody at once with a group difference."""
    people = learners(12)
    table = {"subject": [p.subject for p in people], "group": ["a", "b"] * 6}
    found = pn.fit_population(
        people, LEARNER, covariates=["group"], people=table, spread="diagonal"
    )
    contrast = found.contrast("group", "b - a")
    return {"fit": found.to_dict(), "contrast": contrast.to_dict()}


def comparison() -> Any:
    """Two models by cross-validation."""
    models = {"learner": LEARNER, "habit": pn.models.RandomChoice(2)}
    return pn.compare_models(models, learners(4), folds=4).to_dict()


def groups() -> Any:
    """A difference between groups of estimates."""
    people = learners(12)
    found = pn.fit_each(people, LEARNER, parameter_prior=pn.ScaledPrior())
    by = {p.subject: "ab"[i % 2] for i, p in enumerate(people)}
    return pn.compare_groups(found, by=by).to_dict()


def live() -> Any:
    """Estimates while somebody plays."""
    (person,) = learners(1)
    watcher = pn.live(LEARNER)
    found = []
    for chosen, reward in zip(person.chosen[:25], person.rewards[:25], strict=True):
        watcher.observe(chosen, reward)
        found.append(summary(watcher.estimate()))
    return found


def questions() -> Any:
    """The offers that are asked about next, and what the answers say."""
    now, days = (a.ravel() for a in np.meshgrid(np.arange(5, 100, 5), [7, 30, 90, 365]))
    offers = {
        "amount": np.column_stack([now, np.full(len(now), 100)]),
        "delay": np.column_stack([np.zeros(len(now)), days]),
    }
    asker = pn.ask(pn.HyperbolicDiscounting(), offers, about="discount_rate")
    asked = []
    for _ in range(8):
        offer = asker.next()
        asked.append([offer["amount"].tolist(), offer["delay"].tolist()])
        value = 100 / (1 + 0.02 * offer["delay"][1])
        asker.answer(offer, chosen=int(value > offer["amount"][0]))
    return {"asked": asked, "posterior": asker.posterior()}


def advice() -> Any:
    """What a machine proposes to its operator."""
    places = pn.grid(6, 6)
    model = pn.UCL(locations=places, noise_variance=10.0, length_scale=3.0)
    field = pn.Field(places, mean=30, sd=15, length_scale=2, noise_variance=10)
    rng = np.random.default_rng(1)
    place = pn.Landscape(rng.normal(30, 15, 36), pn.GaussianNoise(10.0))
    operator = {"decision_noise": 8.0, "prior_mean": 30.0, "prior_variance": 100.0}
    helper = pn.assist(model, field, mode="decide")
    for _ in range(2):  # the first episode goes without assistance
        play = pn.simulate_team(place, model, helper, parameters=operator, n_decisions=15, rng=rng)
    return {"chosen": play.chosen, "executed": play.executed, "rewards": play.rewards}


def predictions() -> Any:
    """Probabilities of the options at every decision of a play whose first half was fitted."""
    (person,) = learners(1)
    found = pn.fit(first_decisions(person, 20), LEARNER, parameter_prior=pn.ScaledPrior())
    return found.predict(person)


def linearized() -> Any:
    """The paper's estimator about a nominal point, beside the exact one."""
    model = pn.UCL(locations=pn.grid(5, 5), noise_variance=10.0, length_scale=2.0)
    rng = np.random.default_rng(3)
    place = pn.Landscape(rng.normal(30, 15, 25), pn.GaussianNoise(10.0))
    truth = {"decision_noise": 4.0, "prior_mean": 30.0, "prior_variance": 200.0}
    episode = pn.simulate(place, model, truth, n_decisions=60, rng=rng)
    nominal = pn.RewardPrior(mean=30.0, variance=200.0)
    expanded = pn.fit_linearized(episode, model, nominal=nominal)
    return [summary(expanded), summary(pn.fit(episode, model))]


def workflow_cases() -> Iterator[tuple[str, Case]]:
    """Everything around a fit, once."""
    for case in (population, comparison, groups, live, questions, advice, predictions, linearized):
        yield case.__name__, case


FILES = {"models": model_cases, "softmax": softmax_cases, "workflow": workflow_cases}


def processor() -> str:
    """Kind of processor that compiled code is made for, which decides the last digits."""
    return numba.config.CPU_NAME or str(llvmlite.binding.get_host_cpu_name())


def read_net(name: str) -> dict[str, Any]:
    """The frozen answers of one file."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def main() -> None:
    """Write every file anew."""
    for name, cases in FILES.items():
        answers = {label: plain(case()) for label, case in cases()}
        lines = (f"{json.dumps(label)}: {json.dumps(made)}" for label, made in answers.items())
        head = f'"processor": {json.dumps(processor())}'
        text = "{\n" + ",\n".join([head, *lines]) + "\n}\n"
        (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")
        print(f"{name}: {len(answers)} cases, {len(text)} bytes")


if __name__ == "__main__":
    main()
