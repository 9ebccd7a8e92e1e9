"""Functions of hBayesDM, and the model here that says the same.

Each is a call after `pn.`, or a sentence on why there is none. Lapses are left out throughout.
"""

from __future__ import annotations

from typing import NamedTuple


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
