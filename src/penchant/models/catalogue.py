"""All models by name, and by their names in hBayesDM.

Each is a call after `pn.`, or a sentence on why there is none. Lapses are left out throughout.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from inspect import getdoc
from typing import Any, Literal, NamedTuple

from penchant.bandit.landscape import grid
from penchant.errors import DataError, closest_match_hint, format_list
from penchant.models.clinic.aversive import AversiveLearning
from penchant.models.clinic.balloons import Balloons
from penchant.models.clinic.beads import Beads
from penchant.models.clinic.filter import HGF
from penchant.models.clinic.gain_loss import GainLoss
from penchant.models.clinic.go_no_go import GoNoGo
from penchant.models.clinic.iowa import ORL, PVL, VPP
from penchant.models.clinic.reversal import EWA, HiddenState
from penchant.models.clinic.successor import Successor
from penchant.models.clinic.surprise import ConfirmationBias, PearceHall
from penchant.models.clinic.two_step import StayRegression, TwoStep
from penchant.models.clinic.volatile import VolatileKalman
from penchant.models.learning.baselines import RandomChoice, WinStayLoseShift
from penchant.models.learning.history import HistoryRegression
from penchant.models.learning.hybrid import GershmanHybrid
from penchant.models.learning.kalman import KalmanFilter
from penchant.models.learning.known_values import KnownValues
from penchant.models.learning.q_learning import QLearning
from penchant.models.learning.ucb1 import UCB1
from penchant.models.offers.cambridge import CambridgeGamble
from penchant.models.offers.chance import Ambiguity, PeerInfluence, ProbabilityDiscounting
from penchant.models.offers.discounting import (
    ConstantSensitivityDiscounting,
    ExponentialDiscounting,
    HyperbolicDiscounting,
    QuasiHyperbolicDiscounting,
)
from penchant.models.offers.effort import Effort
from penchant.models.offers.gambles import ExpectedUtility, MeanVariance, ProspectValue
from penchant.models.offers.magnitude import ITCH, MagnitudeDiscounting
from penchant.models.offers.sharing import Inequity, Ultimatum
from penchant.models.spatial.gp_ucb import GPUCB
from penchant.models.spatial.locality import Locality
from penchant.models.spatial.ucl import UCL


class Counterpart(NamedTuple):
    """What stands for a function.

    Attributes
    ----------
    call
        The model, after `pn.`; None where there is none.
    command
        Its name on the command line.
    said
        What to know, or why there is none.
    """

    call: str | None
    command: str | None
    said: str = ""


_KALMAN = (
    "KalmanFilter({n}, noise_variance=16, initial_mean=None, decay=None, drift_variance=None, "
    "centre=None, bonus=False)"
)
_NO_LAPSE = "without the lapse"
_TIMES = "response times are not modelled"


def _bandit(prefix: str) -> dict[str, Counterpart]:
    return {
        f"{prefix}_4par": Counterpart("models.GainLoss(4)", "gain-loss"),
        f"{prefix}_lapse": Counterpart("models.GainLoss(4)", "gain-loss", _NO_LAPSE),
        f"{prefix}_singleA_lapse": Counterpart(
            "models.GainLoss(4, single_rate=True)", "gain-loss", _NO_LAPSE
        ),
        f"{prefix}_lapse_decay": Counterpart(
            "models.GainLoss(4, decay=True)", "gain-loss", _NO_LAPSE
        ),
        f"{prefix}_2par_lapse": Counterpart(
            "models.GainLoss(4, single_sensitivity=True)",
            "gain-loss",
            f"{_NO_LAPSE}; the one sensitivity, 1 there, is estimated",
        ),
    }


_REVERSAL = "rewards are the signs of outcomes; blocks are episodes"
_GO = "models.GoNoGo({})"
HBAYESDM: dict[str, Counterpart] = {
    "bandit2arm_delta": Counterpart("QLearning(2)", "q-learning"),
    "bandit4arm2_kalman_filter": Counterpart(
        _KALMAN.format(n=4), "kalman", "s0 and sD are square roots of variances"
    ),
    **_bandit("bandit4arm"),
    **_bandit("banditNarm"),
    "banditNarm_delta": Counterpart("QLearning(4)", "q-learning", "rewards gain - abs(loss)"),
    "banditNarm_kalman_filter": Counterpart(
        _KALMAN.format(n=4), "kalman", "s0 and sD are square roots of variances"
    ),
    "bart_par4": Counterpart("models.Balloons()", "balloons"),
    "bart_ewmv": Counterpart('models.Balloons("mean and variance")', "balloons"),
    "cgt_cm": Counterpart(
        "models.CambridgeGamble()", "cambridge", 'and CambridgeGamble("colours"): two fits that add'
    ),
    "choiceRT_ddm": Counterpart(None, None, _TIMES),
    "choiceRT_ddm_single": Counterpart(None, None, _TIMES),
    "cra_exp": Counterpart('models.Ambiguity("exponential")', "ambiguity"),
    "cra_linear": Counterpart("models.Ambiguity()", "ambiguity"),
    "dbdm_prob_weight": Counterpart(
        'models.ProspectValue("prelec")', "prospect", "its tau is Prelec's exponent"
    ),
    "dd_cs": Counterpart("models.ConstantSensitivityDiscounting()", "constant-sensitivity"),
    "dd_cs_single": Counterpart(
        "models.ConstantSensitivityDiscounting()", "constant-sensitivity", "fit, for one person"
    ),
    "dd_exp": Counterpart("models.ExponentialDiscounting()", "exponential"),
    "dd_hyperbolic": Counterpart("HyperbolicDiscounting()", "hyperbolic"),
    "dd_hyperbolic_single": Counterpart(
        "HyperbolicDiscounting()", "hyperbolic", "fit, for one person"
    ),
    "gng_m1": Counterpart(_GO.format("bias=False, pavlovian=False"), "go-no-go", _NO_LAPSE),
    "gng_m2": Counterpart(_GO.format("pavlovian=False"), "go-no-go", _NO_LAPSE),
    "gng_m3": Counterpart(_GO.format(""), "go-no-go", _NO_LAPSE),
    "gng_m4": Counterpart(_GO.format("two_sensitivities=True"), "go-no-go", _NO_LAPSE),
    "hgf_ibrb": Counterpart(
        "models.HGF(kappa=None)", "hgf", "input_first: the belief before the input explains"
    ),
    "hgf_ibrb_single": Counterpart("models.HGF(kappa=None)", "hgf", "fit, for one person"),
    "igt_orl": Counterpart("models.ORL()", "orl", "the weight of values, 1 there, is estimated"),
    "igt_pvl_decay": Counterpart('models.PVL(rule="decay")', "pvl", "A is what is kept"),
    "igt_pvl_delta": Counterpart('models.PVL(rule="delta")', "pvl"),
    "igt_vpp": Counterpart(
        "models.VPP()", "vpp", "w is not identified: perseverance relative to the weight of gains"
    ),
    "peer_ocu": Counterpart("models.PeerInfluence()", "peers"),
    "prl_ewa": Counterpart("models.EWA(2)", "ewa", _REVERSAL),
    "prl_fictitious": Counterpart(
        'QLearning(2, fictitious="learning_rate", bias=True)', "q-learning", _REVERSAL
    ),
    "prl_fictitious_multipleB": Counterpart(
        'QLearning(2, fictitious="learning_rate", bias=True)', "q-learning", _REVERSAL
    ),
    "prl_fictitious_rp": Counterpart(
        'QLearning(2, fictitious="learning_rate", dual_rates=True, bias=True)',
        "q-learning",
        _REVERSAL,
    ),
    "prl_fictitious_rp_woa": Counterpart(
        'QLearning(2, fictitious="learning_rate", dual_rates=True)', "q-learning", _REVERSAL
    ),
    "prl_fictitious_woa": Counterpart(
        'QLearning(2, fictitious="learning_rate")', "q-learning", _REVERSAL
    ),
    "prl_rp": Counterpart('QLearning(2, dual_rates="outcome")', "q-learning", _REVERSAL),
    "prl_rp_multipleB": Counterpart('QLearning(2, dual_rates="outcome")', "q-learning", _REVERSAL),
    "pst_Q": Counterpart("QLearning(6)", "q-learning", "with available pairs"),
    "pst_gainloss_Q": Counterpart(
        "QLearning(6, dual_rates=True)", "q-learning", "with available pairs"
    ),
    "pstRT_ddm": Counterpart(None, None, _TIMES),
    "pstRT_rlddm1": Counterpart(None, None, f"{_TIMES}; its choices alone are QLearning"),
    "pstRT_rlddm6": Counterpart(None, None, _TIMES),
    "ra_noLA": Counterpart("models.ExpectedUtility()", "expected-utility"),
    "ra_noRA": Counterpart("models.ProspectValue(curvature=1.0)", "prospect"),
    "ra_prospect": Counterpart("models.ProspectValue()", "prospect"),
    "rdt_happiness": Counterpart(None, None, "ratings are no choices"),
    "task2AFC_sdt": Counterpart(None, None, "signal detection has a closed form"),
    "ts_par4": Counterpart(
        'models.TwoStep(trace="after", trace_decay=1.0, same_rates=True, same_temperatures=True)',
        "two-step",
    ),
    "ts_par6": Counterpart('models.TwoStep(trace="after", trace_decay=1.0)', "two-step"),
    "ts_par7": Counterpart('models.TwoStep(trace="after")', "two-step"),
    "ug_bayes": Counterpart("models.Ultimatum()", "ultimatum", "in the order of the offers"),
    "ug_delta": Counterpart('models.Ultimatum("delta")', "ultimatum", "in the order of the offers"),
    "wcs_sql": Counterpart(
        None, None, "the probability is a sum over rules, not a softmax of weighted variables"
    ),
    "alt_delta": Counterpart(
        "models.AversiveLearning()", "aversive", "option 0 is blue; sizes are before, outcome after"
    ),
    "alt_gamma": Counterpart(
        None, None, "its value is the size of the last punishment: not offered; use alt_delta's"
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
    what
        What it says of the player, in a few words.
    data
        "play": task data, choices and rewards in order; "offers": one-shot choices among options
        described by their attributes.
    plain
        Arguments of the example whose weights and shape parameters are shown.
    """

    name: str
    model: type
    what: str
    data: Literal["play", "offers"] = "play"
    plain: Mapping[str, Any] = field(default_factory=dict)

    def example(self) -> Any:
        """A plain model of this kind, with two options where that is to be said."""
        names = {setting.name for setting in fields(self.model) if setting.init}
        filled: dict[str, Any] = {"n_options": 2} if "n_options" in names else {}
        filled |= {"locations": grid(2, 1)} if "locations" in names else {}
        return self.model(**{**filled, **self.plain})

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


CATALOGUE = {
    entry.name: entry
    for entry in (
        Entry("random", RandomChoice, "fixed preferences, no learning"),
        Entry(
            "known-values", KnownValues, "known values, cooling or not", plain={"values": (0, 1)}
        ),
        Entry("wsls", WinStayLoseShift, "noisy win-stay-lose-shift"),
        Entry("history", HistoryRegression, "regression on the past"),
        Entry("q-learning", QLearning, "Rescorla-Wagner, composable"),
        Entry("kalman", KalmanFilter, "Bayesian mean tracker and a bonus"),
        Entry("hybrid", GershmanHybrid, "directed and random exploration"),
        Entry("ucb1", UCB1, "mean rewards and a bonus by counts"),
        Entry("ewa", EWA, "experience-weighted attraction"),
        Entry("pearce-hall", PearceHall, "rate by surprise"),
        Entry("volatile-kalman", VolatileKalman, "rate by how fast rewards change"),
        Entry("hidden-state", HiddenState, "belief in which option is good now"),
        Entry("confirmation", ConfirmationBias, "full feedback, two rates"),
        Entry("gain-loss", GainLoss, "gains and losses learnt apart"),
        Entry("two-step", TwoStep, "model-based and model-free"),
        Entry("stay", StayRegression, "two-step, stay ~ reward x transition"),
        Entry("successor", Successor, "two-step, where choices lead"),
        Entry("go-no-go", GoNoGo, "Pavlovian go/no-go"),
        Entry("pvl", PVL, "Iowa gambling, prospect valence"),
        Entry("orl", ORL, "Iowa gambling, outcome representation"),
        Entry("vpp", VPP, "Iowa gambling, value and perseverance"),
        Entry("balloons", Balloons, "balloons that may burst"),
        Entry("beads", Beads, "to draw on or to name a jar"),
        Entry("hgf", HGF, "hierarchical Gaussian filter"),
        Entry("aversive", AversiveLearning, "punishments whose sizes are shown"),
        Entry("ucl", UCL, "stochastic UCL of a spatial bandit", plain={"noise_variance": 1.0}),
        Entry("gp-ucb", GPUCB, "Gaussian-process UCB of a spatial bandit"),
        Entry("locality", Locality, "places only, no learning"),
        Entry("hyperbolic", HyperbolicDiscounting, "A / (1 + k D)", "offers"),
        Entry("exponential", ExponentialDiscounting, "A exp(-k D)", "offers"),
        Entry("quasi-hyperbolic", QuasiHyperbolicDiscounting, "present bias", "offers"),
        Entry("constant-sensitivity", ConstantSensitivityDiscounting, "A exp(-(k D)^s)", "offers"),
        Entry("expected-utility", ExpectedUtility, "gambles by expected utility", "offers"),
        Entry("prospect", ProspectValue, "gambles by prospect value", "offers"),
        Entry("mean-variance", MeanVariance, "gambles by mean and variance", "offers"),
        Entry("magnitude", MagnitudeDiscounting, "A / (1 + k A^-m D)", "offers"),
        Entry("itch", ITCH, "amounts and delays, absolute and relative", "offers"),
        Entry("probability", ProbabilityDiscounting, "A / (1 + h odds against)", "offers"),
        Entry("ambiguity", Ambiguity, "hidden chances (Levy)", "offers"),
        Entry("effort", Effort, "rewards for effort", "offers"),
        Entry("inequity", Inequity, "envy and guilt (Fehr-Schmidt, ERC)", "offers"),
        Entry("ultimatum", Ultimatum, "accept or reject, norms learnt", "offers"),
        Entry("peers", PeerInfluence, "gambles, and what others took", "offers"),
        Entry("cambridge", CambridgeGamble, "stakes that are shown in turn; colours", "offers"),
    )
}


def entry_of(name: str) -> Entry:
    """The model of this name."""
    if name not in CATALOGUE:
        raise DataError(
            f"model must be one of {format_list(CATALOGUE)}; got {name!r}."
            f"{closest_match_hint(name, CATALOGUE) or ' Choose one.'}"
        )
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
