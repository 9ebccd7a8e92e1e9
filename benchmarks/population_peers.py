"""Populations beside NUTS and xlogit, and what they cost."""

from __future__ import annotations

import resource
import time
from typing import Any

import numpy as np
from population_rows import MODEL, Row, Seen, discounters, q_learners, several

import penchant as pn


def _timed(function: Any) -> tuple[Any, float]:
    starting_values = time.process_time()
    found = function()
    return found, time.process_time() - starting_values


# -- NUTS over everybody -------------------------------------------------------------------------


def everybody_by_nuts(fit: pn.results.PopulationFit, *, draws: int, tune: int, seed: int) -> Any:
    """Draws of the population and of all its people at once, with the prior of `sample()`.

    People are centred where they are told well and not where they are not: coordinate a of person i
    is m_a + (L z_i)_a, with z drawn about where the fit has them.
    """
    import nutpie

    from penchant.population.hierarchy.sampling import LogPosterior

    source = fit.source
    found, people = source.descriptive_optimum, source.likelihoods
    target, s = LogPosterior.around_optimum(found, people), found.marginal.structure
    n, r, b = len(people.subjects), len(s.random), s.n_beta
    size = len(found.x)
    everyone = np.arange(n)
    posterior = found.posterior

    def logp(y: np.ndarray) -> tuple[float, np.ndarray]:
        x = found.x + errors * y[:size]
        h = posterior.centre + np.einsum("nab,nb->na", posterior.factor, y[size:].reshape(n, r))
        slopes = people.derivatives(everyone, h[:, None, None])
        matrix = s.spread.covariance_matrices(x[b:])[0]
        precision = np.linalg.inv(matrix)
        away = h - s.means(x[:b])[:, s.random]
        pulled = away @ precision
        value = slopes.value.sum() - 0.5 * (pulled * away).sum()
        value += -0.5 * n * np.linalg.slogdet(matrix)[1] + target.log_prior(x)
        gradient = np.zeros(len(y))
        on_h = slopes.gradient[:, 0, 0][:, s.random] - pulled
        gradient[size:] = np.einsum("nab,na->nb", posterior.factor, on_h).ravel()
        gradient[:b] = np.einsum("nab,na->b", s.design[:, s.random], pulled)
        first = s.spread.derivatives(x[b:])[1]
        inner = pulled.T @ pulled - n * precision
        gradient[b:size] = 0.5 * np.einsum("kab,ab->k", first, inner)
        for a in range(b, size):
            step = np.zeros(size)
            step[a] = 1e-5
            gradient[a] += (target.log_prior(x + step) - target.log_prior(x - step)) / 2e-5
        gradient[:size] *= errors
        return float(value), gradient

    errors = np.sqrt(np.diag(np.linalg.inv(found.information)))
    model = nutpie.compiled_pyfunc.from_pyfunc(
        size + n * r,
        lambda: logp,
        lambda *_: lambda y: {"x": found.x + errors * np.asarray(y)[:size]},
        [np.dtype("float64")],
        [(size,)],
        ["x"],
    )
    trace = nutpie.sample(
        model, draws=draws, tune=tune, chains=2, cores=1, seed=seed, progress_bar=False
    )
    return np.asarray(trace.posterior["x"].values).reshape(-1, size)


def data_of(kind: str) -> tuple[Any, Any]:
    """The two data sets that NUTS is asked about, made by a fixed seed."""
    if kind == "Q":
        return q_learners(40, 100, np.random.default_rng(20260101))[1], MODEL
    people = discounters(40, 60, np.random.default_rng(20260102))[1]
    return people, pn.HyperbolicDiscounting()


def reported(fit: pn.results.PopulationFit, x: np.ndarray) -> np.ndarray:
    """Means, standard deviations and correlation of each draw of the parameters."""
    s = fit.source.descriptive_optimum.marginal.structure
    rows = []
    for one in x:
        matrix = s.spread.covariance_matrices(one[s.n_beta :])[0]
        sd = np.sqrt(np.diag(matrix))
        below = [matrix[a, c] / (sd[a] * sd[c]) for a, c in s.spread.lower_indices]
        rows.append(np.concatenate([one[: s.n_beta], sd, below]))
    return np.array(rows)


def beside_nuts(replicate: int) -> dict[str, Any]:
    """`sample()` and NUTS over everybody, of one data set: how far apart, how fast."""
    data, model = data_of("QH"[replicate])
    pn.fit_population(data, model, estimator="ml").sample(200, rng=np.random.default_rng(0))
    fit, fitted = _timed(lambda: pn.fit_population(data, model, estimator="ml"))
    sample, drawn = _timed(lambda: fit.sample(4000, rng=np.random.default_rng(1)))
    x, slow = _timed(lambda: everybody_by_nuts(fit, draws=800, tune=300, seed=3))
    theirs = reported(fit, x)
    mean, sd = theirs.mean(axis=0), theirs.std(axis=0, ddof=1)
    return {
        "means": ((sample.mean - mean) / sd).tolist(),
        "sds": (sample.sd / sd).tolist(),
        "ml": ((fit.coefficients - mean[: len(fit.names)]) / sd[: len(fit.names)]).tolist(),
        "seconds": [fitted, drawn, slow],
        "k": float(sample.pareto_k),
    }


def nuts_seen(found: dict[str, np.ndarray]) -> list[Seen]:
    off = np.abs(found["means"]).max()
    wide = np.abs(found["sds"] - 1).max()
    fitted, drawn, slow = found["seconds"].T
    ratios = slow / (fitted + drawn)
    return [
        Seen("`sample()` means from NUTS, posterior sds", f"{off:.3f}", "0.1", bool(off < 0.1)),
        Seen("`sample()` sds / NUTS, farthest from 1", f"{wide:.3f}", "0.1", bool(wide < 0.1)),
        Seen(
            "ML means from NUTS, posterior sds",
            f"{np.abs(found['ml']).max():.3f}",
            "0.15",
            bool(np.abs(found["ml"]).max() < 0.15),
        ),
        Seen("Pareto k", several(found["k"], ".2f"), "0.7", bool((found["k"] < 0.7).all())),
        Seen("processor s: fit", several(fitted, ".2f"), "", None),
        Seen("processor s: `sample()`, 4,000 draws", several(drawn, ".2f"), "", None),
        Seen("processor s: NUTS, 2 x 800 draws", several(slow, ".0f"), "", None),
        Seen(
            "NUTS / (fit and `sample()`)",
            several(ratios, ".0f"),
            "100",
            bool((ratios >= 100).all()),
        ),
    ]


# -- mixed logit ---------------------------------------------------------------------------------


def mixed(n: int = 200, n_trials: int = 12) -> tuple[Any, Any, Any]:
    """Choices among three of 200 people, with independent normal weights."""
    rng = np.random.default_rng(20260103)
    weights = rng.normal([-0.9, 0.7], [0.7, 0.57], size=(n, 2))
    x = rng.normal(size=(n * n_trials, 3, 2))
    subject = np.repeat(np.arange(n), n_trials)
    utility = (x * weights[subject][:, None]).sum(axis=-1) + rng.gumbel(size=x.shape[:2])
    return x, utility.argmax(axis=1), subject


def beside_xlogit(replicate: int) -> dict[str, Any]:
    """Mixed logit with a diagonal covariance, which is what xlogit has."""
    from xlogit import MixedLogit

    x, chosen, subject = mixed()
    n, m, _ = x.shape
    choices = pn.Choices.from_arrays(x, chosen, subject=subject, names=["price", "quality"])
    pn.fit_population(choices, spread="diagonal", estimator="ml")
    ours, seconds = _timed(
        lambda: pn.fit_population(choices, spread="diagonal", estimator="ml", threads=1)
    )
    found: dict[str, Any] = {
        "ours": [ours.log_likelihood, *ours.coefficients, *np.sqrt(np.diag(ours.spread)), seconds]
    }
    for draws in (1000, 4000):
        peer = MixedLogit()
        _, slow = _timed(
            lambda peer=peer, draws=draws: peer.fit(
                X=x.reshape(n * m, 2),
                y=(np.arange(m) == chosen[:, None]).ravel(),
                varnames=["price", "quality"],
                alts=np.tile(np.arange(m), n),
                ids=np.repeat(np.arange(n), m),
                panels=np.repeat(subject, m),
                randvars={"price": "n", "quality": "n"},
                n_draws=draws,
                verbose=0,
            )
        )
        coefficients = np.abs(peer.coeff_[2:])
        found[f"xlogit_{draws}"] = [peer.loglikelihood, *peer.coeff_[:2], *coefficients, slow]
    return found


def xlogit_seen(found: dict[str, np.ndarray]) -> list[Seen]:
    ours, few, many = (found[key][0] for key in ("ours", "xlogit_1000", "xlogit_4000"))
    digits = np.abs(ours[1:5] - many[1:5]).max()
    ratio = few[5] / ours[5]
    return [
        Seen("log-likelihood", f"{ours[0]:.2f}", "", None),
        Seen(
            "xlogit's, 1,000 and 4,000 draws",
            f"{few[0]:.2f}, {many[0]:.2f}",
            "not higher; 4,000 within 0.05",
            bool(ours[0] >= few[0] - 0.01 and abs(ours[0] - many[0]) < 0.05),
        ),
        Seen(
            "largest difference of weights and sds, 4,000 draws",
            f"{digits:.4f}",
            "0.005",
            bool(digits < 0.005),
        ),
        Seen("processor s", f"{ours[5]:.2f}", "", None),
        Seen("xlogit's, 1,000 and 4,000 draws", f"{few[5]:.1f}, {many[5]:.1f}", "", None),
        Seen("xlogit at 1,000 / ours", f"{ratio:.0f}", "30", bool(ratio >= 30)),
    ]


# -- speed ---------------------------------------------------------------------------------------


def beside_each(replicate: int) -> dict[str, Any]:
    """80 people x 100 decisions: a population beside one fit each, one thread, in one process."""
    rng = np.random.default_rng([20260104, replicate])
    found = []
    for data, model in (
        (q_learners(80, 100, rng)[1], MODEL),
        (discounters(80, 100, rng)[1], pn.HyperbolicDiscounting()),
    ):
        if not replicate:
            pn.fit_each(data, model, threads=1)
            pn.fit_population(data, model, threads=1)
        _, each = _timed(lambda d=data, m=model: pn.fit_each(d, m, threads=1))
        _, all_ = _timed(lambda d=data, m=model: pn.fit_population(d, m, threads=1))
        found.append(all_ / each)
    return {"ratio": found}


def each_seen(found: dict[str, np.ndarray]) -> list[Seen]:
    ratios = np.median(found["ratio"], axis=0)
    words = several(ratios, ".2f")
    return [Seen("`fit_population` / `fit_each`, median", words, "1.5", bool((ratios < 1.5).all()))]


SIZES = (1_000, 3_000, 10_000)


def crowds(replicate: int) -> dict[str, Any]:
    """1,000, 3,000 and 10,000 people x 100 decisions with two coordinates, one thread."""
    rng = np.random.default_rng(20260105)
    _, everyone = q_learners(SIZES[-1], 100, rng)
    seconds, memory = [], []
    pn.fit_population(everyone[:100], MODEL, threads=1)
    for n in SIZES:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        _, own = _timed(lambda n=n: pn.fit_population(everyone[:n], MODEL, threads=1))
        seconds.append(own)
        memory.append((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
    return {"seconds": seconds, "memory": memory}


def crowds_seen(found: dict[str, np.ndarray]) -> list[Seen]:
    seconds, memory = found["seconds"][0], found["memory"][0]
    slope = np.polyfit(np.log(SIZES), np.log(seconds), 1)[0]
    return [
        Seen(
            "processor s of 1,000, 3,000, 10,000",
            several(seconds, ".1f"),
            "60 at 10,000",
            bool(seconds[-1] < 60),
        ),
        Seen("slope of log time on log people", f"{slope:.2f}", "1.1", bool(slope < 1.1)),
        Seen("memory more than before, MB", several(memory, ".0f"), "", None),
    ]


PEERS: dict[str, Row] = {
    "nuts": Row("`sample()` beside NUTS, 40 learners, then 40 discounters", beside_nuts, nuts_seen),
    "xlogit": Row("mixed logit, 200 people x 12 choices of 3", beside_xlogit, xlogit_seen),
    "each": Row("80 x 100, learners and discounters", beside_each, each_seen),
    "crowd": Row("many Q-learners x 100", crowds, crowds_seen),
}
ONCE = {"nuts": 2, "xlogit": 1, "each": 5, "crowd": 1}
