"""The same three questions to Penchant, statsmodels, xlogit and biogeme, and what each answers.

    pip install -e '.[bench]' mpmath && pip install biogeme
    python benchmarks/alternatives.py --markdown benchmarks/ALTERNATIVES.md

1. 210 travellers among four modes: log-likelihood, digits of weights and standard errors (against
   Newton's method in 50-digit arithmetic), processor seconds of a second fit.
2. Somebody who never contradicts themselves (s05 of the data set `menu`): no finite weights are
   most likely.
3. A column that is the same for all options of a decision: no data tell its weight.

A library that is not installed is left out, and said to be. What a library says of itself is taken
from its own flag of convergence and from the warnings that it gives.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import machine
import numpy as np

import penchant as pn

Array = np.ndarray


@dataclass(frozen=True)
class Said:
    """What a library answers: numbers, and what it says of them."""

    theta: Array
    standard_errors: Array
    log_likelihood: float
    words: str


def penchant(x: Array, chosen: Array) -> Said:
    """Fit by Penchant."""
    found = pn.fit(pn.Choices.from_arrays(x, chosen))
    return Said(found.theta, found.standard_errors, found.log_likelihood, found.status)


def statsmodels(x: Array, chosen: Array) -> Said:
    """Fit by statsmodels' ConditionalLogit, a group per decision."""
    from statsmodels.discrete.conditional_models import ConditionalLogit

    n, m, d = x.shape
    picked = (np.arange(m) == chosen[:, None]).ravel().astype(float)
    model = ConditionalLogit(picked, x.reshape(n * m, d), groups=np.repeat(np.arange(n), m))
    found = model.fit(disp=0, maxiter=200)
    return Said(found.params, found.bse, float(found.llf), "no flag of convergence")


def xlogit(x: Array, chosen: Array) -> Said:
    """Fit by xlogit as it comes."""
    from xlogit import MultinomialLogit

    n, m, d = x.shape
    picked = (np.arange(m) == chosen[:, None]).ravel().astype(float)
    model = MultinomialLogit()
    names = [f"x{a}" for a in range(d)]
    options, decisions = np.tile(np.arange(m), n), np.repeat(np.arange(n), m)
    model.fit(x.reshape(n * m, d), picked, names, options, decisions, verbose=0)
    words = f"convergence={bool(model.convergence)}"
    return Said(model.coeff_, model.stderr, float(model.loglikelihood), words)


def biogeme(x: Array, chosen: Array) -> Said:
    """Fit by biogeme, with its settings as they come and no files written."""
    import pandas as pd
    from biogeme.biogeme import BIOGEME
    from biogeme.database import Database
    from biogeme.expressions import Beta, Variable
    from biogeme.models import loglogit
    from biogeme.results_processing import EstimateVarianceCovariance

    _, m, d = x.shape
    columns = {f"x{i}_{a}": x[:, i, a] for i in range(m) for a in range(d)}
    table = Database("choices", pd.DataFrame({**columns, "chosen": chosen}))
    weights = [Beta(f"w{a}", 0, None, None, 0) for a in range(d)]
    terms = {i: [weights[a] * Variable(f"x{i}_{a}") for a in range(d)] for i in range(m)}
    values = {i: sum(parts[1:], parts[0]) for i, parts in terms.items()}
    files = {"generate_html": False, "generate_yaml": False, "save_iterations": False}
    model = BIOGEME(table, loglogit(values, None, Variable("chosen")), **files)
    model.model_name = "choices"
    found = model.estimate()
    theta = found.get_beta_values()
    kind = EstimateVarianceCovariance.RAO_CRAMER  # from the Hessian, as the others give them
    errors = [found.get_parameter_std_err(f"w{a}", kind) for a in range(d)]
    words = f"algorithm_has_converged={found.algorithm_has_converged}"
    return Said(
        np.array([theta[f"w{a}"] for a in range(d)]),
        np.array(errors, dtype=float),
        float(found.final_log_likelihood),
        words,
    )


PEERS: dict[str, Callable[[Array, Array], Said]] = {
    "penchant": penchant,
    "statsmodels": statsmodels,
    "xlogit": xlogit,
    "biogeme": biogeme,
}


def travellers() -> tuple[Array, Array]:
    """Greene's travel mode choices: variables (n, 4, 6) and chosen."""
    set_ = pn.datasets.dataset("travel-mode")
    choices = pn.Choices.from_frame(
        pn.datasets.load("travel-mode"),
        decision=set_.decision,
        option=set_.option,
        chosen=set_.chosen,
        explanatory=[*set_.explanatory, *(attribute for attribute, _ in set_.interactions)],
    )
    for attribute, options in set_.interactions:
        choices = choices.with_interaction(attribute, options=list(options))
    choices = choices.with_constants(set_.reference)
    return _arrays(choices)


def _arrays(choices: pn.Choices) -> tuple[Array, Array]:
    """Variables (n, m, d) of sets that are all of one size, and chosen."""
    n = choices.n_decisions
    return choices.explanatory.reshape(n, -1, choices.explanatory.shape[1]), choices.chosen


def certain() -> tuple[Array, Array]:
    """Choices of s05 of the data set `menu`."""
    people = pn.Choices.from_frame(
        pn.datasets.load("menu"),
        decision="decision",
        option="option",
        chosen="chosen",
        explanatory=["price", "quality"],
        subject="subject",
    )
    labels = np.asarray(people.subject_labels)[people.subject]
    return _arrays(people.subset(labels == "s05"))


def indifferent() -> tuple[Array, Array]:
    """The travellers with their income as a column of its own, the same for all four modes."""
    x, chosen = travellers()
    income = np.random.default_rng(1).uniform(10, 70, len(x))
    return np.concatenate([x, np.repeat(income[:, None, None], x.shape[1], axis=1)], axis=2), chosen


def exactly(x: Array, chosen: Array) -> tuple[list[float], list[float]]:
    """Weights and standard errors by Newton's method in 50-digit arithmetic."""
    import mpmath as mp

    mp.mp.dps = 50
    n, m, d = x.shape
    z = [[[mp.mpf(float(v)) for v in option] for option in decision] for decision in x]
    theta = mp.matrix(d, 1)
    for _ in range(30):
        gradient, information = mp.matrix(d, 1), mp.matrix(d, d)
        for t in range(n):
            q = [mp.exp(mp.fdot(row, theta)) for row in z[t]]
            p = [one / mp.fsum(q) for one in q]
            mean = [mp.fsum(p[i] * z[t][i][a] for i in range(m)) for a in range(d)]
            for a in range(d):
                gradient[a] += z[t][int(chosen[t])][a] - mean[a]
                for b in range(a + 1):
                    both = mp.fsum(p[i] * z[t][i][a] * z[t][i][b] for i in range(m))
                    information[a, b] += both - mean[a] * mean[b]
                    information[b, a] = information[a, b]
        step = mp.lu_solve(information, gradient)
        theta += step
        if mp.norm(step) < mp.mpf(10) ** -35:
            break
    inverse = information**-1
    return [float(v) for v in theta], [float(mp.sqrt(inverse[a, a])) for a in range(d)]


def digits(found: Array, exact: list[float]) -> str:
    """Digits that are right in the worst of several numbers, at most 15."""
    apart = np.max(np.abs(found - exact) / np.abs(exact))
    return "15" if apart < 1e-15 else f"{-math.log10(apart):.0f}"


def asked(
    fit: Callable[[Array, Array], Said], data: tuple[Array, Array]
) -> tuple[Said | None, str]:
    """An answer, and what was said with it: a flag, warnings, or the error instead."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            said = fit(*data)
        except Exception as error:  # an error is an answer, too
            return None, f"{type(error).__name__}: {str(error).splitlines()[0][:70]}"
    kinds = sorted({one.category.__name__ for one in given})
    kinds = [kind for kind in kinds if "Deprecation" not in kind and kind != "FutureWarning"]
    return said, "; ".join([said.words, *kinds])


def answers(name: str, weights: list[float], errors: list[float]) -> list[str]:
    """Cells of one library's rows, one per question; weights and errors are the exact ones."""
    fit = PEERS[name]
    easy, words = asked(fit, travellers())
    assert easy is not None, words
    start = time.process_time()
    fit(*travellers())
    seconds = time.process_time() - start
    first = (
        f"{easy.log_likelihood:.6f} | {digits(easy.theta, weights)} | "
        f"{digits(easy.standard_errors, errors)} | {seconds:.2g} s"
    )
    return [first, _row(*asked(fit, certain())), _row(*asked(fit, indifferent()), last=True)]


def _row(said: Said | None, words: str, last: bool = False) -> str:
    if said is None:
        return f"none | none | {words}"
    which = slice(-1, None) if last else slice(None)
    theta = ", ".join(f"{v:.4g}" for v in np.atleast_1d(said.theta[which]))
    errors = ", ".join(f"{v:.4g}" for v in np.atleast_1d(said.standard_errors[which]))
    return f"{theta} | {errors} | {words}"


def table(title: str, head: str, rows: dict[str, str]) -> str:
    """One question as a table."""
    columns = head.count("|") + 2
    lines = [f"## {title}", "", f"| library | {head} |", "|" + "---|" * columns]
    return "\n".join([*lines, *(f"| {name} | {row} |" for name, row in rows.items()), ""])


def page() -> str:
    """The whole page."""
    exact = exactly(*travellers())
    found, absent = {}, []
    for name in PEERS:
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            if name != "penchant":
                absent.append(name)
                continue
        found[name] = answers(name, *exact)
    about = machine.about("")
    about["command"] = "python benchmarks/alternatives.py --markdown benchmarks/ALTERNATIVES.md"
    about["versions"] = about["versions"].replace("penchant absent", f"penchant {pn.__version__}")
    about["versions"] += "".join(f", {name} {_version(name)}" for name in ("biogeme", "jax"))
    rows = [{name: cells[k] for name, cells in found.items()} for k in range(3)]
    parts = [
        "# Three questions to four libraries",
        "",
        "Made by `python benchmarks/alternatives.py --markdown benchmarks/ALTERNATIVES.md`.",
        "",
        table(
            "210 travellers, four modes, six weights",
            "log-likelihood | right digits of weights | of errors | a second fit, processor",
            rows[0],
        ),
        table(
            "Somebody who never contradicts themselves: no finite weights are most likely",
            "weights | standard errors | says",
            rows[1],
        ),
        table(
            "A column that is the same for all options: no data tell its weight",
            "weight of that column | standard error | says",
            rows[2],
        ),
        *([f"Not installed here: {', '.join(absent)}.", ""] if absent else []),
        "hBayesDM is not asked: from the package index its dependency pystan 2 did not build.",
        "",
        *(f"- {key}: {value}" for key, value in about.items()),
    ]
    return "\n".join(parts) + "\n"


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "absent"


def main() -> None:
    """Ask, and print or write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--markdown", type=Path)
    target = parser.parse_args().markdown
    target = target.resolve() if target else None
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:  # biogeme writes a file of settings where it runs
        os.chdir(folder)
        text = page()
        os.chdir(here)
    if target:
        target.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
