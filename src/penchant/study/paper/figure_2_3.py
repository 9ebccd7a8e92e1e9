"""Figures 2 and 3: convergence of the estimate with one parameter and with three."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant.study.paper.claims import Claim
from penchant.study.paper.convergence import Convergence, convergence
from penchant.study.paper.counterexample import Counterexample, counterexample
from penchant.study.paper.ensembles import Ensemble, ensembles, sampled
from penchant.study.paper.figure_2_3_claims import claims_of_figure_2, claims_of_figure_3
from penchant.study.paper.information import Asymptotics, asymptotics
from penchant.study.paper.prefixes import fit_prefixes
from penchant.study.paper.published import (
    DECISIONS,
    FIGURE_2,
    FIGURE_3,
    REPLICATES,
    SoftmaxSetting,
)

DECIDED_AT = {
    "figure-2": (20, 30, 40, 49, 101, 150, 200, 300),
    "figure-3": (20, 30, 40, 49, 300),
}  # n at which many replicates decide what the text says of n < 50, of n > 100 and of the end

MORE = {"figure-2": 100, "figure-3": 20}  # times the replicates of the figure


@dataclass(frozen=True, eq=False)
class SoftmaxFigure:
    """Figure 2 or 3: estimates at every n, beside the asymptotic distribution at the truth.

    `drawn` holds many more replicates at some n: they decide the claims.
    """

    setting: SoftmaxSetting
    found: Convergence
    expected: Asymptotics
    drawn: tuple[Ensemble, ...]
    claims: tuple[Claim, ...]
    counterexample: Counterexample | None = None

    @property
    def name(self) -> str:
        """figure-2 or figure-3."""
        return self.setting.name

    @property
    def title(self) -> str:
        """For headings."""
        number, what = {"figure-2": (2, "scalar"), "figure-3": (3, "vector")}[self.name]
        return f"Figure {number}: convergence of a {what} parameter"

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """theta, or theta1 theta2 theta3."""
        d = len(self.setting.truth)
        return ("theta",) if d == 1 else tuple(f"theta{a + 1}" for a in range(d))

    @property
    def settings(self) -> dict[str, object]:
        """What was computed."""
        return {
            "options": self.setting.n_options,
            "theta0": list(self.setting.truth),
            "decisions": int(self.found.n[-1]),
            "replicates": self.found.n_replicates,
            "replicates that decide": len(self.drawn[0].theta),
        }

    def tables(self) -> dict[str, dict[str, list[float]]]:
        """One row per n."""
        columns = self.found.columns(self.parameter_names)
        for a, name in enumerate(self.parameter_names):
            columns[f"{name}_asymptotic_error"] = self.expected.standard_errors[:, a].tolist()
            columns[f"{name}_first_order_bias"] = self.expected.bias[:, a].tolist()
        return {self.name: columns}


def figure_2(
    *,
    rng: np.random.Generator,
    n_replicates: int = REPLICATES,
    n_decisions: int = DECISIONS,
    threads: int | None = None,
) -> SoftmaxFigure:
    """Figure 2: m = 10 options, theta0 = 4.

    Parameters
    ----------
    rng
        Source of randomness.
    n_replicates
        Draws of the choices on one design.
    n_decisions
        The estimator is applied to the first 1, 2 ... of these.
    threads
        Processors; all if not given. The answer does not depend on it.
    """
    found, expected, drawn = _converging(FIGURE_2, rng, n_replicates, n_decisions, threads)
    other = counterexample(rng=rng, n_replicates=300 * n_replicates, threads=threads)
    claims = claims_of_figure_2(found, expected, drawn, other)
    return SoftmaxFigure(FIGURE_2, found, expected, drawn, claims, other)


def figure_3(
    *,
    rng: np.random.Generator,
    n_replicates: int = REPLICATES,
    n_decisions: int = DECISIONS,
    threads: int | None = None,
) -> SoftmaxFigure:
    """Figure 3: m = 100 options, theta0 = (1, 2, 3). Parameters are those of `figure_2`."""
    found, expected, drawn = _converging(FIGURE_3, rng, n_replicates, n_decisions, threads)
    claims = claims_of_figure_3(found, expected, drawn)
    return SoftmaxFigure(FIGURE_3, found, expected, drawn, claims)


def _converging(
    setting: SoftmaxSetting,
    rng: np.random.Generator,
    n_replicates: int,
    n_decisions: int,
    threads: int | None,
) -> tuple[Convergence, Asymptotics, tuple[Ensemble, ...]]:
    truth = np.array(setting.truth)
    x = rng.normal(size=(n_decisions, setting.n_options, len(truth)))
    chosen = sampled(x, truth, n_replicates, rng)
    repeated = np.ascontiguousarray(np.broadcast_to(x, (n_replicates, *x.shape)))
    what = f"Figure {setting.name[-1]}"
    estimates = fit_prefixes(repeated, chosen, what=what, threads=threads)
    many = ensembles(
        x,
        truth,
        sorted({n for n in DECIDED_AT[setting.name] if n < n_decisions} | {n_decisions}),
        rng=rng,
        n_replicates=MORE[setting.name] * n_replicates,
        what=what,
        threads=threads,
    )
    return convergence(estimates, truth), asymptotics(x, truth), many
