"""Simulated populations whose truth is known: what one replicate of each row says.

A row makes people with the seed of its replicate, fits their population and returns plain numbers;
`judged` turns those of all replicates into what was seen, beside what is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import penchant as pn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from peopled import MODEL, discounters, q_learner, q_learners

Q_MEAN, Q_SD = np.array([-0.6, -1.2]), np.array([1.0, 0.5])
H_MEAN, H_SD = np.array([-4.4, 1.4]), np.array([1.2, 0.6])
DUAL = pn.QLearning(2, initial_value=0.0, dual_rates=True)
HABIT = pn.models.RandomChoice(2)


class Seen(NamedTuple):
    """A quantity: what was seen of it, what is asked for, and whether that is met."""

    what: str
    seen: str
    asked: str
    met: bool | None


@dataclass(frozen=True)
class Row:
    """One row of the table.

    Attributes
    ----------
    about
        The people, in words.
    one
        Numbers of one replicate.
    judged
        What was seen over all of them.
    times
        Replicates for each that is asked for: tests of 5 % need more.
    """

    about: str
    one: Callable[[int], dict[str, Any]]
    judged: Callable[[dict[str, np.ndarray]], list[Seen]]
    times: int = 1


def _rng(name: str, replicate: int) -> np.random.Generator:
    return np.random.default_rng([*name.encode(), replicate])


# -- means, spreads, people ------------------------------------------------------------------------


def described(fit: pn.results.PopulationFit, h: np.ndarray, mean, sd, rho=0.0) -> dict[str, Any]:
    """How far from the truth the first len(sd) parameters are, and whether intervals hold it.

    `rho` is the correlation of the first two. Its interval is blank where the fit says so, and
    where no spread was found in one of them.
    """
    p = len(sd)
    low, high = fit.interval()[:p].T
    own = {s.name: s for s in fit.spreads()}
    ends = [own.get(name) for name in fit.parameter_names[:p]]
    inside = np.abs(h - fit.subjects.mean[:, :p]) < 1.959964 * fit.subjects.sd[:, :p]
    limits = np.full(2, np.nan)
    if None not in ends[:2]:
        limits = np.array(fit.correlation_interval(*fit.parameter_names[:2]))
    return {
        "bias": ((fit.coefficients[:p] - mean) / sd).tolist(),
        "means": ((low < mean) & (mean < high)).tolist(),
        "ratio": (np.sqrt(np.diag(fit.spread))[:p] / sd).tolist(),
        "sds": [e is not None and bool(e.low < v < e.high) for e, v in zip(ends, sd, strict=True)],
        "correlation": bool(limits[0] < rho < limits[1]),
        "correlation_blank": bool(np.isnan(limits).any()),
        "people": inside.mean(axis=0).tolist(),
        "odd": called_not_normal(fit),
        "status": fit.status,
    }


def called_not_normal(fit: pn.results.PopulationFit) -> bool:
    return any("not normal about one mean" in note for note in fit.notes)


def learners(name: str, n: int, n_trials: int) -> Callable[[int], dict[str, Any]]:
    def one(replicate: int) -> dict[str, Any]:
        h, data = q_learners(n, n_trials, _rng(name, replicate))
        fit = pn.fit_population(data, MODEL, estimator="reml")
        return described(fit, h, Q_MEAN, Q_SD, 0.3)

    return one


def choosers(name: str, n: int, n_trials: int) -> Callable[[int], dict[str, Any]]:
    def one(replicate: int) -> dict[str, Any]:
        h, data = discounters(n, n_trials, _rng(name, replicate))
        fit = pn.fit_population(data, pn.HyperbolicDiscounting(), estimator="reml")
        return described(fit, h, H_MEAN, H_SD, -0.3)

    return one


def logit_choosers(name: str, n: int, n_trials: int) -> Callable[[int], dict[str, Any]]:
    """Weights of three attributes, the last the same for everybody and estimated so."""
    mean, sd = np.array([-0.9, 0.7, 0.4]), np.array([0.7, 0.5])

    def one(replicate: int) -> dict[str, Any]:
        rng = _rng(name, replicate)
        weights = rng.normal(mean, [*sd, 0.0], size=(n, 3))
        x = rng.normal(size=(n * n_trials, 3, 3))
        subject = np.repeat(np.arange(n), n_trials)
        utility = (x * weights[subject][:, None]).sum(axis=-1) + rng.gumbel(size=x.shape[:2])
        names = ["price", "quality", "wait"]
        data = pn.Choices.from_arrays(x, utility.argmax(1), subject=subject, names=names)
        fit = pn.fit_population(data, random=names[:2], estimator="reml")
        return described(fit, weights[:, :2], mean[:2], sd)

    return one


def pooled(name: str, n_trials: int) -> Callable[[int], dict[str, Any]]:
    """`pool` of estimates made one by one, on the same scales; the people of the row `name`."""

    def one(replicate: int) -> dict[str, Any]:
        _, data = q_learners(80, n_trials, _rng(name, replicate))
        rows = []
        for estimate in pn.fit_each(data, MODEL):
            own = {p.name: p for p in estimate.parameters}
            a, t = own["learning_rate"], own["temperature"]
            told = estimate.status == "converged"
            rate = np.log(a.estimate / (1 - a.estimate)) if told else np.nan
            error = a.standard_error / (a.estimate * (1 - a.estimate)) if told else np.nan
            heat = np.log(t.estimate) if told else np.nan
            rows.append((rate, error, heat, t.standard_error / t.estimate if told else np.nan))
        found: dict[str, list[Any]] = {"bias": [], "means": [], "ratio": [], "left_out": []}
        table = np.array(rows)
        for c in range(2):
            with np.errstate(invalid="ignore"):
                own = pn.pool(table[:, 2 * c], table[:, 2 * c + 1] ** 2, rule="random-effects")
            ((low, high),) = own.interval()
            found["bias"].append(float((own.estimate[0] - Q_MEAN[c]) / Q_SD[c]))
            found["means"].append(bool(low < Q_MEAN[c] < high))
            found["ratio"].append(float(np.sqrt(own.heterogeneity.between[0, 0]) / Q_SD[c]))
        found["left_out"].append(len(own.left_out))
        return found

    return one


def several(values: np.ndarray, form: str) -> str:
    return ", ".join(format(float(v), form) for v in np.atleast_1d(values))


def _within(what: str, values: np.ndarray, low: float, high: float, form: str, n: int) -> Seen:
    asked = f"{low:{form}} to {high:{form}}"
    met = bool(((values >= low - 1e-12) & (values <= high + 1e-12)).all())
    return Seen(what, several(values, form), asked, met)


def right(
    bias: float, ratio: float | None = 0.03, people: bool = True, least=False
) -> Callable[[dict[str, np.ndarray]], list[Seen]]:
    """Bars on bias, on coverage, on ratios of standard deviations and on people."""

    def judged(found: dict[str, np.ndarray]) -> list[Seen]:
        n = len(found["bias"])
        seen = []
        error = found["bias"].std(axis=0, ddof=1) / np.sqrt(n)
        off = found["bias"].mean(axis=0)
        seen.append(
            Seen(
                "bias of means, sds",
                f"{several(off, '+.3f')} (each ± {several(error, '.3f')})",
                f"below {bias:g}" if bias < 1 else "",
                bool((np.abs(off) < bias).all()) if bias < 1 else None,
            )
        )
        top = 1.0 if least else 0.98
        seen.append(_within("means covered", found["means"].mean(axis=0), 0.92, top, ".1%", n))
        low, high = (1 - ratio, 1 + ratio) if ratio is not None else (0.0, 9.0)
        own = _within("sd found / true", found["ratio"].mean(axis=0), low, high, ".3f", n)
        seen.append(own if ratio is not None else own._replace(asked="", met=None))
        own = _within("sds covered", found["sds"].mean(axis=0), 0.92, 0.98, ".1%", n)
        seen.append(own)
        blank = found["correlation_blank"]
        covered = several(found["correlation"][~blank].mean(), ".1%")
        words = f"{covered}; without interval {blank.mean():.1%}"
        seen.append(Seen("correlation of the first two covered", words, "", None))
        own = _within("people covered", found["people"].mean(axis=0), 0.935, 0.965, ".1%", n)
        seen.append(own if people else own._replace(asked="", met=None))
        return [*seen, *alarms(found), _statuses(found)]

    return judged


def _statuses(found: dict[str, np.ndarray]) -> Seen:
    names, counts = np.unique(found["status"], return_counts=True)
    order = np.argsort(-counts, kind="stable")
    words = ", ".join(f"{names[a]} {counts[a] / counts.sum():.1%}" for a in order)
    return Seen("status", words, "", None)


def pool_seen(found: dict[str, np.ndarray]) -> list[Seen]:
    return [
        Seen("bias of means, sds", several(found["bias"].mean(axis=0), "+.3f"), "", None),
        Seen("means covered", several(found["means"].mean(axis=0), ".1%"), "", None),
        Seen("sd found / true", several(found["ratio"].mean(axis=0), ".3f"), "", None),
        Seen("people left out, of 80", several(found["left_out"].mean(axis=0), ".1f"), "", None),
    ]


# -- differences -----------------------------------------------------------------------------------


def groups(name: str, difference: float) -> Callable[[int], dict[str, Any]]:
    """Two groups of 40, the learning rate of one shifted by so many sds."""

    def one(replicate: int) -> dict[str, Any]:
        rng = _rng(name, replicate)
        data, labels = [], []
        for label, shift in (("a", -0.5 * difference), ("b", 0.5 * difference)):
            _, own = q_learners(
                40, 100, rng, mean=(Q_MEAN[0] + shift * Q_SD[0], Q_MEAN[1]), label=label
            )
            data += own
            labels += [label] * 40
        table = {"subject": [e.subject for e in data], "group": labels}
        found = {}
        for kind in ("model", "robust"):
            fit = pn.fit_population(
                data, MODEL, covariates=["group"], people=table, covariance=kind
            )
            contrast = fit.contrast("group", "b - a")
            truth = np.array([difference * Q_SD[0], 0.0])
            found[kind] = (contrast.p_value < 0.05).tolist()
            if kind == "model":
                found["bias"] = ((contrast.difference - truth) / Q_SD).tolist()
                found["covered"] = ((contrast.low < truth) & (truth < contrast.high)).tolist()
                found["status"] = fit.status
        return found

    return one


def conditions(name: str, difference: float) -> Callable[[int], dict[str, Any]]:
    """40 people off and on a drug that moves learning rates by so many sds, people differing."""

    def one(replicate: int) -> dict[str, Any]:
        rng = _rng(name, replicate)
        data = []
        covariance = np.diag([1.0, 0.5]) @ [[1.0, 0.3], [0.3, 1.0]] @ np.diag([1.0, 0.5])
        for i, level in enumerate(rng.multivariate_normal(Q_MEAN, covariance, size=40)):
            moved = rng.normal([difference * Q_SD[0], 0.0], [0.5, 0.2])
            for block, sign in (("off", -0.5), ("on", 0.5)):
                data.append(q_learner(level + sign * moved, 100, rng, f"s{i}", block))
        fit = pn.fit_population(data, MODEL, within="drug")
        contrast = fit.contrast("drug", "on - off")
        truth = np.array([difference * Q_SD[0], 0.0])
        return {
            "model": (contrast.p_value < 0.05).tolist(),
            "bias": ((contrast.difference - truth) / Q_SD).tolist(),
            "covered": ((contrast.low < truth) & (truth < contrast.high)).tolist(),
            "status": fit.status,
        }

    return one


def tested(null: bool) -> Callable[[dict[str, np.ndarray]], list[Seen]]:
    def judged(found: dict[str, np.ndarray]) -> list[Seen]:
        n = len(found["bias"])
        share = found["model"].mean(axis=0)
        seen = []
        if null:
            own = _within("found at 5 % though not there", share, 0.03, 0.07, ".1%", n)
            seen.append(own)
        else:
            seen.append(Seen("found at 5 %", several(share, ".1%"), "", None))
        if "robust" in found:
            words = several(found["robust"].mean(axis=0), ".1%")
            seen.append(Seen("the same, robust errors", words, "", None))
        seen.append(
            _within("differences covered", found["covered"].mean(axis=0), 0.92, 0.98, ".1%", n)
        )
        seen.append(
            Seen("bias of differences, sds", several(found["bias"].mean(axis=0), "+.3f"), "", None)
        )
        seen.append(_statuses(found))
        return seen

    return judged


# -- other populations -----------------------------------------------------------------------------


def dual_learners(name: str) -> Callable[[int], dict[str, Any]]:
    """Rates for good and for bad news: the likelihood has kinks."""
    mean, sd = np.array([0.0, -0.8, -1.2]), np.array([0.9, 0.9, 0.5])

    def one(replicate: int) -> dict[str, Any]:
        rng = _rng(name, replicate)
        h = rng.normal(mean, sd, size=(80, 3))
        data = [_dual_learner(own, 150, rng, f"s{i}") for i, own in enumerate(h)]
        fit = pn.fit_population(data, DUAL, estimator="reml")
        order = [
            fit.parameter_names.index(p)
            for p in ("learning_rate_positive", "learning_rate_negative", "temperature")
        ]
        truth = np.empty(3), np.empty(3), np.empty_like(h)
        truth[0][order], truth[1][order], truth[2][:, order] = mean, sd, h
        return described(fit, truth[2], truth[0], truth[1])

    return one


def _dual_learner(h, n_trials: int, rng: np.random.Generator, subject: str) -> pn.Episode:
    rates, weight = 1 / (1 + np.exp(-h[:2])), np.exp(-h[2])
    values, chosen, rewards = np.zeros(2), np.empty(n_trials, int), np.empty(n_trials)
    for t in range(n_trials):
        chosen[t] = rng.random() < 1 / (1 + np.exp(-weight * (values[1] - values[0])))
        good = chosen[t] == (t // 25) % 2
        rewards[t] = 1.0 if rng.random() < (0.8 if good else 0.2) else -1.0
        error = rewards[t] - values[chosen[t]]
        values[chosen[t]] += rates[0 if error > 0 else 1] * error
    return pn.Episode(chosen, rewards, subject=subject)


def two_kinds(name: str) -> Callable[[int], dict[str, Any]]:
    """Half of 80 people discount steeply, half hardly: log rates about -6.2 and -2.6."""

    def one(replicate: int) -> dict[str, Any]:
        rng = _rng(name, replicate)
        data = []
        for label, at in (("patient", -6.2), ("hasty", -2.6)):
            _, own = discounters(40, 100, rng, mean=(at, 1.4), sd=(0.4, 0.6))
            data += [replace(o, subject=f"{label}{i}") for i, o in enumerate(own)]
        fit = pn.fit_population(data, pn.HyperbolicDiscounting(), estimator="reml")
        low, high = fit.interval()[0]
        return {
            "odd": called_not_normal(fit),
            "means": bool(low < -4.4 < high),
            "status": fit.status,
        }

    return one


def odd_seen(found: dict[str, np.ndarray]) -> list[Seen]:
    share = float(found["odd"].mean())
    return [
        Seen("a note says so", f"{share:.1%}", "at least 90.0%", share >= 0.9),
        Seen("mean covered all the same", f"{found['means'].mean():.1%}", "", None),
        _statuses(found),
    ]


def alarms(found: dict[str, np.ndarray]) -> list[Seen]:
    share = float(found["odd"].mean())
    return [Seen("called not normal though normal", f"{share:.1%}", "at most 3.0%", share <= 0.03)]


def mixtures(name: str) -> Callable[[int], dict[str, Any]]:
    """15 who learn and 15 with a habit, 20 decisions each."""

    def one(replicate: int) -> dict[str, Any]:
        rng = _rng(name, replicate)
        _, data = q_learners(15, 20, rng, sd=(0.6, 0.3), rho=0.0, label="learner")
        for i in range(15):
            chosen = (rng.random(20) < 1 / (1 + np.exp(-rng.normal(0.0, 1.0)))).astype(int)
            data.append(pn.Episode(chosen, rng.choice([-1.0, 1.0], 20), subject=f"habit{i}"))
        mixed = pn.fit_mixture(data, {"learner": MODEL, "habit": HABIT})
        return {"given": mixed.responsibilities[:, 0].tolist(), "share": float(mixed.shares[0])}

    return one


def calibrated(found: dict[str, np.ndarray]) -> list[Seen]:
    given = found["given"]
    truth = np.broadcast_to(np.arange(30) < 15, given.shape)
    seen = []
    for low, high in ((0.02, 0.3), (0.3, 0.7), (0.7, 0.98)):
        mine = (given > low) & (given < high)
        apart = truth[mine].mean() - given[mine].mean()
        # people of one replicate share their population: the error is that over replicates
        each = [(truth[r][m].sum() - given[r][m].sum()) for r, m in enumerate(mine)]
        error = np.std(each, ddof=1) * np.sqrt(len(each)) / mine.sum()
        words = f"{truth[mine].mean():.3f} of {mine.sum()} people"
        seen.append(
            Seen(
                f"learners among those given {low:g} to {high:g}",
                f"{words} (± {error:.3f})",
                f"{given[mine].mean():.3f} given, to 0.05 or 3 errors",
                bool(abs(apart) < max(0.05, 3 * error)),
            )
        )
    seen.append(Seen("share of learners", f"{found['share'].mean():.3f}", "0.500", None))
    return seen


ROWS: dict[str, Row] = {
    "q-learning": Row(
        "80 Q-learners x 100 decisions", learners("q-learning", 80, 100), right(0.03)
    ),
    "hyperbolic": Row("80 discounters x 100 offers", choosers("hyperbolic", 80, 100), right(0.03)),
    "few-people": Row(
        "15 Q-learners x 100",
        learners("few-people", 15, 100),
        right(9.0, 0.05, people=False),
    ),
    "few-people-h": Row(
        "15 discounters x 100",
        choosers("few-people-h", 15, 100),
        right(9.0, 0.05, people=False),
    ),
    "few-decisions": Row(
        "80 Q-learners x 40",
        learners("few-decisions", 80, 40),
        right(0.05, None, people=False, least=True),
    ),
    "few-decisions-h": Row(
        "80 discounters x 30",
        choosers("few-decisions-h", 80, 30),
        right(0.05, None, people=False, least=True),
    ),
    "mixed-logit": Row(
        "60 people x 12 choices of 3, one weight the same for all",
        logit_choosers("mixed-logit", 60, 12),
        right(0.05, None, people=False, least=True),
    ),
    "group": Row("2 x 40 Q-learners x 100, no difference", groups("group", 0.0), tested(True), 4),
    "group-half": Row(
        "the same, learning rates differ by half an sd", groups("group-half", 0.5), tested(False)
    ),
    "within": Row(
        "40 Q-learners x 100 off and on a drug without effect",
        conditions("within", 0.0),
        tested(True),
        2,
    ),
    "within-half": Row(
        "the same, learning rates rise by half an sd",
        conditions("within-half", 0.5),
        tested(False),
    ),
    "mixture": Row("15 learners and 15 with a habit x 20", mixtures("mixture"), calibrated),
    "dual": Row(
        "80 Q-learners with two rates x 150",
        dual_learners("dual"),
        right(0.05, 0.05, least=True),
    ),
    "two-kinds": Row("80 discounters of two kinds x 100", two_kinds("two-kinds"), odd_seen),
    "pool": Row("`pool`, 80 Q-learners x 100", pooled("q-learning", 100), pool_seen),
    "pool-short": Row("`pool`, 80 Q-learners x 40", pooled("few-decisions", 40), pool_seen),
}


def gathered(found: Sequence[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Numbers of all replicates, by name."""
    return {name: np.array([one[name] for one in found]) for name in found[0]}
