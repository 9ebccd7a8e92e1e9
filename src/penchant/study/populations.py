"""From subjects to groups: Tables I and II of the paper, and the exact estimates pooled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant.inference.linearized_estimate import LARGEST_RATIO, OUTSIDE
from penchant.inference.nominal import nominal_point
from penchant.population.estimate import PopulationEstimate, Rule
from penchant.population.mapping_back import back_map
from penchant.population.pool import pool
from penchant.population.subjects import SubjectEstimates
from penchant.study.groups import Group
from penchant.study.plan import Plan
from penchant.study.subject_fit import Linearized, SubjectFit
from penchant.study.working_scale import exact_on_working_scale

RULES: tuple[Rule, ...] = ("mean-pooled", "mean-sample", "fixed-effect", "random-effects")


@dataclass(frozen=True, eq=False)
class LinearizedGroup:
    """One column of Tables I and II.

    Attributes
    ----------
    group
        Whose it is.
    theta
        Mean of theta with the pooled covariance: Table I.
    natural
        The mean mapped back: Table II.
    mean_log_likelihood
        Of the linearised fits that theta rests on.
    ratio, bound
        Delta / nominal of the pooled theta, and the smallest upper bound of a subject.
    n_valid
        Subjects for whom Delta / nominal is small, of those used.
    """

    group: Group
    theta: PopulationEstimate
    natural: PopulationEstimate
    mean_log_likelihood: float
    ratio: float
    bound: float
    n_valid: int

    @property
    def valid(self) -> bool:
        """Whether the pooled deviation is a small one."""
        return bool(-1.0 < self.ratio < min(self.bound, LARGEST_RATIO))


def linearized_subjects(
    fits: Mapping[Any, SubjectFit], subjects: Sequence[Any]
) -> SubjectEstimates | None:
    """Linearised theta of those subjects that have one; None if none has.

    theta that no parameters of the model have is an estimate all the same: it is averaged, as in
    the paper.
    """
    mine = [(s, fits[s].linearized) for s in subjects]
    found: list[tuple[Any, Linearized]] = [(s, fit) for s, fit in mine if fit is not None]
    if not found:
        return None
    return SubjectEstimates(
        found[0][1].names,
        tuple(subject for subject, _ in found),
        np.array([fit.theta for _, fit in found]),
        np.array([fit.covariance for _, fit in found]),
        tuple("converged" if fit.status == OUTSIDE else fit.status for _, fit in found),
        "theta",
    )


def linearized_group(
    group: Group, fits: Mapping[Any, SubjectFit], plan: Plan
) -> LinearizedGroup | None:
    """The paper's population estimate of a group; None where nobody has a linearised estimate."""
    everyone = linearized_subjects(fits, group.subjects)
    if everyone is None or group.performance is None or group.performance not in plan.nominals:
        return None
    model, nominal = plan.linear(group.performance)
    theta = pool(everyone, rule="mean-pooled")
    natural = back_map(theta, model, nominal=nominal)
    used = [fits[subject].linearized for subject in theta.subjects]
    fine = [fit for fit in used if fit is not None]
    psi, ratios = nominal_point(model, nominal)
    slope = theta.estimate[len(ratios)] / theta.estimate[0] if len(theta.names) > len(ratios) else 0
    return LinearizedGroup(
        group,
        theta,
        natural,
        float(np.mean([fit.log_likelihood for fit in fine])) if fine else float("nan"),
        float(slope / psi[0]) if len(psi) else float("nan"),
        min((fit.bounds[1] for fit in fine), default=float("inf")),
        sum(fit.valid for fit in fine),
    )


def exact_groups(
    groups: Sequence[Group], fits: Mapping[Any, SubjectFit], plan: Plan
) -> dict[str, dict[Rule, PopulationEstimate]]:
    """Exact estimates of every group pooled by every rule, positive parameters as logarithms."""
    found: dict[str, dict[Rule, PopulationEstimate]] = {}
    for group in groups:
        everyone = exact_on_working_scale(fits, group.subjects, plan.model)
        found[group.label] = {rule: pool(everyone, rule=rule) for rule in RULES}
    return found
