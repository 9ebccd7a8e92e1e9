"""All models by name, and by their names in hBayesDM.

Each is a call after `pn.`, or a sentence on why there is none. Lapses are left out throughout.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from inspect import getdoc
from typing import Any, Literal, NamedTuple

from penchant import models
from penchant.argument_checks import check_one_of
from penchant.bandit.landscape import grid
from penchant.models.model import Declared


class Counterpart(NamedTuple):
    """What stands for a function.

    Attributes
    ----------
    call
        The model, after `pn.`; None where there is none.
    said
        What to know, or why there is none.
    """

    call: str | None
    said: str = ""

    @property
    def command(self) -> str | None:
        """Its name on the command line."""
        kind = (self.call or "").removeprefix("models.").partition("(")[0]
        return next((name for name, own in models.MODELS.items() if own == kind), None)


_KALMAN = (
    "KalmanFilter({n}, noise_variance=16, initial_mean=None, decay=None, drift_variance=None, "
    "centre=None, bonus=False)"
)
_NO_LAPSE = "without the lapse"
_TIMES = "response times are not modelled"


def _bandit(prefix: str) -> dict[str, Counterpart]:
    return {
        f"{prefix}_4par": Counterpart("models.GainLoss(4)"),
        f"{prefix}_lapse": Counterpart("models.GainLoss(4)", _NO_LAPSE),
        f"{prefix}_singleA_lapse": Counterpart("models.GainLoss(4, single_rate=True)", _NO_LAPSE),
        f"{prefix}_lapse_decay": Counterpart("models.GainLoss(4, decay=True)", _NO_LAPSE),
        f"{prefix}_2par_lapse": Counterpart(
            "models.GainLoss(4, single_sensitivity=True)",
            f"{_NO_LAPSE}; the one sensitivity, 1 there, is estimated",
        ),
    }


_REVERSAL = "rewards are the signs of outcomes; blocks are episodes"
_GO = "models.GoNoGo({})"
HBAYESDM: dict[str, Counterpart] = {
    "bandit2arm_delta": Counterpart("QLearning(2)"),
    "bandit4arm2_kalman_filter": Counterpart(
        _KALMAN.format(n=4), "s0 and sD are square roots of variances"
    ),
    **_bandit("bandit4arm"),
    **_bandit("banditNarm"),
    "banditNarm_delta": Counterpart("QLearning(4)", "rewards gain - abs(loss)"),
    "banditNarm_kalman_filter": Counterpart(
        _KALMAN.format(n=4), "s0 and sD are square roots of variances"
    ),
    "bart_par4": Counterpart("models.Balloons()"),
    "bart_ewmv": Counterpart('models.Balloons("mean and variance")'),
    "cgt_cm": Counterpart(
        "models.CambridgeGamble()", 'and CambridgeGamble("colours"): two fits that add'
    ),
    "choiceRT_ddm": Counterpart(None, _TIMES),
    "choiceRT_ddm_single": Counterpart(None, _TIMES),
    "cra_exp": Counterpart('models.Ambiguity("exponential")'),
    "cra_linear": Counterpart("models.Ambiguity()"),
    "dbdm_prob_weight": Counterpart(
        'models.ProspectValue("prelec")', "its tau is Prelec's exponent"
    ),
    "dd_cs": Counterpart("models.ConstantSensitivityDiscounting()"),
    "dd_cs_single": Counterpart("models.ConstantSensitivityDiscounting()", "fit, for one person"),
    "dd_exp": Counterpart("models.ExponentialDiscounting()"),
    "dd_hyperbolic": Counterpart("HyperbolicDiscounting()"),
    "dd_hyperbolic_single": Counterpart("HyperbolicDiscounting()", "fit, for one person"),
    "gng_m1": Counterpart(_GO.format("bias=False, pavlovian=False"), _NO_LAPSE),
    "gng_m2": Counterpart(_GO.format("pavlovian=False"), _NO_LAPSE),
    "gng_m3": Counterpart(_GO.format(""), _NO_LAPSE),
    "gng_m4": Counterpart(_GO.format("two_sensitivities=True"), _NO_LAPSE),
    "hgf_ibrb": Counterpart(
        "models.HGF(kappa=None)", "input_first: the belief before the input explains"
    ),
    "hgf_ibrb_single": Counterpart("models.HGF(kappa=None)", "fit, for one person"),
    "igt_orl": Counterpart("models.ORL()", "the weight of values, 1 there, is estimated"),
    "igt_pvl_decay": Counterpart('models.PVL(rule="decay")', "A is what is kept"),
    "igt_pvl_delta": Counterpart('models.PVL(rule="delta")'),
    "igt_vpp": Counterpart(
        "models.VPP()", "w is not identified: perseverance relative to the weight of gains"
    ),
    "peer_ocu": Counterpart("models.PeerInfluence()"),
    "prl_ewa": Counterpart("models.EWA(2)", _REVERSAL),
    "prl_fictitious": Counterpart('QLearning(2, fictitious="learning_rate", bias=True)', _REVERSAL),
    "prl_fictitious_multipleB": Counterpart(
        'QLearning(2, fictitious="learning_rate", bias=True)', _REVERSAL
    ),
    "prl_fictitious_rp": Counterpart(
        'QLearning(2, fictitious="learning_rate", dual_rates=True, bias=True)', _REVERSAL
    ),
    "prl_fictitious_rp_woa": Counterpart(
        'QLearning(2, fictitious="learning_rate", dual_rates=True)', _REVERSAL
    ),
    "prl_fictitious_woa": Counterpart('QLearning(2, fictitious="learning_rate")', _REVERSAL),
    "prl_rp": Counterpart('QLearning(2, dual_rates="outcome")', _REVERSAL),
    "prl_rp_multipleB": Counterpart('QLearning(2, dual_rates="outcome")', _REVERSAL),
    "pst_Q": Counterpart("QLearning(6)", "with available pairs"),
    "pst_gainloss_Q": Counterpart("QLearning(6, dual_rates=True)", "with available pairs"),
    "pstRT_ddm": Counterpart(None, _TIMES),
    "pstRT_rlddm1": Counterpart(None, f"{_TIMES}; its choices alone are QLearning"),
    "pstRT_rlddm6": Counterpart(None, _TIMES),
    "ra_noLA": Counterpart("models.ExpectedUtility()"),
    "ra_noRA": Counterpart("models.ProspectValue(curvature=1.0)"),
    "ra_prospect": Counterpart("models.ProspectValue()"),
    "rdt_happiness": Counterpart(None, "ratings are no choices"),
    "task2AFC_sdt": Counterpart(None, "signal detection has a closed form"),
    "ts_par4": Counterpart(
        'models.TwoStep(trace="after", trace_decay=1.0, same_rates=True, same_temperatures=True)'
    ),
    "ts_par6": Counterpart('models.TwoStep(trace="after", trace_decay=1.0)'),
    "ts_par7": Counterpart('models.TwoStep(trace="after")'),
    "ug_bayes": Counterpart("models.Ultimatum()", "in the order of the offers"),
    "ug_delta": Counterpart('models.Ultimatum("delta")', "in the order of the offers"),
    "wcs_sql": Counterpart(
        None, "the probability is a sum over rules, not a softmax of weighted variables"
    ),
    "alt_delta": Counterpart(
        "models.AversiveLearning()", "option 0 is blue; sizes are before, outcome after"
    ),
    "alt_gamma": Counterpart(
        None, "its value is the size of the last punishment: not offered; use alt_delta's"
    ),
}


REQUIRED = "must be given"
# said by the data, the task, or the model
NO_SETTINGS = ("n_options", "locations", "shape", "because")


@dataclass(frozen=True)
class Setting:
    """An argument of a model: what it is, and its value if it is not given, or REQUIRED."""

    name: str
    default: Any
    what: str


@dataclass(frozen=True)
class Entry:
    """A model of the catalogue.

    Attributes
    ----------
    name
        What it is called on the command line.
    model
        Its class.
    """

    name: str
    model: type

    @property
    def what(self) -> str:
        """What it says of the player, in a few words."""
        return str(vars(self.model)["in_brief"])

    @property
    def data(self) -> Literal["play", "offers"]:
        """Task data, or one-shot choices among options described by their attributes."""
        return "offers" if Declared(self.model).attributes else "play"

    def example(self) -> Any:
        """A plain model of this kind, with two options where that is to be said."""
        names = {setting.name for setting in fields(self.model) if setting.init}
        filled: dict[str, Any] = {"n_options": 2} if "n_options" in names else {}
        filled |= {"locations": grid(2, 1)} if "locations" in names else {}
        return self.model(**{**filled, **vars(self.model).get("example", {})})

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Arguments beside the number and the places of options."""
        words = described_parameters(getdoc(self.model) or "")
        return tuple(
            Setting(f.name, REQUIRED if f.default is MISSING else f.default, words.get(f.name, ""))
            for f in fields(self.model)
            if f.init and not f.name.startswith("_") and f.name not in NO_SETTINGS
        )

    @property
    def equations(self) -> str:
        """What its module says of it."""
        return (sys.modules[self.model.__module__].__doc__ or "").strip()


class Catalogue(Mapping[str, Entry]):
    """Models by name, as `penchant.models` lists them; each is imported when asked for."""

    def __getitem__(self, name: str) -> Entry:
        return Entry(name, getattr(models, models.MODELS[name]))

    def __iter__(self) -> Iterator[str]:
        return iter(models.MODELS)

    def __len__(self) -> int:
        return len(models.MODELS)


CATALOGUE = Catalogue()


def entry_of(name: str) -> Entry:
    """The model of this name."""
    check_one_of(name, "model", CATALOGUE)
    return CATALOGUE[name]


def described_parameters(docstring: str) -> dict[str, str]:
    """What the section "Parameters" of a numpydoc docstring says of each, in one line."""
    _, _, after = docstring.partition("Parameters\n----------\n")
    section = re.split(r"\n\n\S+\n-+\n", after)[0]
    found: dict[str, str] = {}
    names: list[str] = []
    for line in section.splitlines():
        if line and not line.startswith(" "):
            names = [name.strip() for name in line.split(",")]
        elif line.strip():
            for name in names:
                found[name] = f"{found.get(name, '')} {line.strip()}".strip()
    return found
