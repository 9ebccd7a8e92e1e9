"""Models of the clinic as tests use them: model, true parameters, task, literal likelihood."""

from functools import partial

import clinic_reference as literal
import penchant as pn

m = pn.models
STAGES = {"stickiness": 0.3, "inverse_temperature": 4.0, "model_based_share": 0.6}
RATES = {"learning_rate_1": 0.5, "learning_rate_2": 0.4}
GO = {"bias": 0.5, "learning_rate": 0.2}
DECKS = pn.Task(lambda rng: m.iowa_schedule(150, rng=rng), n_decisions=150)
REVERSED = pn.Task(lambda rng: m.reversal_schedule(150, rng=rng), n_decisions=150)
FOUR = pn.Landscape([0.3, 0.7, 0.5, 0.1], pn.GaussianNoise(0.3))
FULL = pn.Task(lambda rng: m.FullFeedbackWorld(m.reversal_schedule(150, rng=rng)), n_decisions=150)
TWO_RATES = {"learning_rate_positive": 0.5, "learning_rate_negative": 0.25}
FELT = {"consistency": 0.8, "loss_aversion": 1.5, "sensitivity": 0.6}

# name: model, natural parameters, world, literal likelihood
CASES = {
    "two-step": (
        m.TwoStep(),
        {**STAGES, **RATES, "trace_decay": 0.7, "inverse_temperature_2": 3.0},
        pn.Task(m.TwoStepWorld(150)),
        literal.two_step,
    ),
    "two-step, trace after": (
        m.TwoStep(common=0.8, trace="after"),
        {**STAGES, **RATES, "trace_decay": 0.7, "inverse_temperature_2": 3.0},
        pn.Task(m.TwoStepWorld(150, common=0.8)),
        partial(literal.two_step, common=0.8, trace="after"),
    ),
    "two-step, six parameters": (
        m.TwoStep(trace="after", trace_decay=1.0),
        {**STAGES, **RATES, "inverse_temperature_2": 3.0},
        pn.Task(m.TwoStepWorld(150)),
        partial(literal.two_step, trace="after", decay=1.0),
    ),
    "two-step, four parameters": (
        m.TwoStep(trace="after", trace_decay=1.0, same_rates=True, same_temperatures=True),
        {**STAGES, "learning_rate": 0.4},
        pn.Task(m.TwoStepWorld(150)),
        partial(literal.two_step, trace="after", decay=1.0),
    ),
    "stay": (
        m.StayRegression(),
        {"stay": 1.0, "reward": 0.3, "transition": 0.1, "reward:transition": 0.5},
        pn.Task(m.TwoStepWorld(150)),
        literal.stay,
    ),
    "go/no-go, one": (
        m.GoNoGo(bias=False, pavlovian=False),
        {"sensitivity": 4.0, "learning_rate": 0.2},
        pn.Task(m.GoNoGoWorld(200)),
        literal.go_no_go,
    ),
    "go/no-go, two": (
        m.GoNoGo(pavlovian=False),
        {**GO, "sensitivity": 4.0},
        pn.Task(m.GoNoGoWorld(200)),
        literal.go_no_go,
    ),
    "go/no-go, three": (
        m.GoNoGo(),
        {**GO, "sensitivity": 4.0, "pavlovian": 0.5},
        pn.Task(m.GoNoGoWorld(200)),
        literal.go_no_go,
    ),
    "go/no-go, four": (
        m.GoNoGo(two_sensitivities=True),
        {**GO, "gain_sensitivity": 4.0, "loss_sensitivity": 3.0, "pavlovian": 0.5},
        pn.Task(m.GoNoGoWorld(200)),
        literal.go_no_go,
    ),
    "go/no-go, by valence": (
        m.GoNoGo(two_sensitivities=True, pavlovian="by valence"),
        {
            **{**GO, "gain_sensitivity": 4.0, "loss_sensitivity": 3.0},
            **{"pavlovian_gain": 0.5, "pavlovian_loss": 0.8},
        },
        pn.Task(m.GoNoGoWorld(200)),
        literal.go_no_go,
    ),
    "gain-loss": (
        m.GainLoss(4),
        {
            **{"gain_sensitivity": 4.0, "loss_sensitivity": 2.5},
            **{"gain_rate": 0.5, "loss_rate": 0.3},
        },
        pn.Task(m.GainLossWorld(4, 200)),
        literal.gain_loss,
    ),
    "gain-loss, one rate": (
        m.GainLoss(4, single_rate=True),
        {"gain_sensitivity": 4.0, "loss_sensitivity": 2.5, "learning_rate": 0.4},
        pn.Task(m.GainLossWorld(4, 200)),
        literal.gain_loss,
    ),
    "gain-loss, decay": (
        m.GainLoss(4, decay=True),
        {
            **{"gain_sensitivity": 4.0, "loss_sensitivity": 2.5},
            **{"gain_rate": 0.5, "loss_rate": 0.3, "decay": 0.2},
        },
        pn.Task(m.GainLossWorld(4, 200)),
        literal.gain_loss,
    ),
    "gain-loss, one sensitivity": (
        m.GainLoss(4, single_sensitivity=True),
        {"sensitivity": 3.0, "gain_rate": 0.5, "loss_rate": 0.3},
        pn.Task(m.GainLossWorld(4, 200)),
        literal.gain_loss,
    ),
    "fictitious, two rates": (
        pn.QLearning(2, 0.0, fictitious="learning_rate", dual_rates=True, bias=True),
        {"temperature": 0.5, "bias_0": 0.3, **TWO_RATES},
        REVERSED,
        literal.fictitious_two_rates,
    ),
    "two rates by outcome": (
        pn.QLearning(2, 0.0, dual_rates="outcome"),
        {"temperature": 0.5, **TWO_RATES},
        REVERSED,
        literal.rates_by_outcome,
    ),
    "pairs": (
        pn.QLearning(6, 0.0),
        {"temperature": 0.3, "learning_rate": 0.3},
        pn.Task(m.PairsWorld(n_trials=150)),
        literal.pairs,
    ),
    "pairs, two rates": (
        pn.QLearning(6, 0.0, dual_rates=True),
        {"temperature": 0.3, **TWO_RATES},
        pn.Task(m.PairsWorld(n_trials=150)),
        literal.pairs,
    ),
    "ewa": (
        m.EWA(2),
        {"temperature": 0.5, "value_decay": 0.7, "experience_decay": 0.5},
        REVERSED,
        literal.ewa,
    ),
    "iowa, decay": (
        m.PVL(rule="decay", payscale=80.0),
        {**FELT, "consistency": 0.3, "retention": 0.6},
        DECKS,
        partial(literal.pvl, rule="decay", payscale=80.0),
    ),
    "iowa, delta": (
        m.PVL(rule="delta"),
        {**FELT, "learning_rate": 0.2},
        DECKS,
        partial(literal.pvl, rule="delta", payscale=100.0),
    ),
    "iowa, perseverance": (
        m.VPP(),
        {
            **{**FELT, "learning_rate": 0.2, "perseverance_decay": 0.6},
            **{"win_perseverance": 0.5, "loss_perseverance": 0.3},
        },
        DECKS,
        partial(literal.vpp, payscale=100.0),
    ),
    "iowa, frequency": (
        m.ORL(),
        {
            **{"value": 1.0, "frequency": 2.0, "perseverance": 1.2},
            **{"reward_rate": 0.3, "punishment_rate": 0.15, "perseverance_decay": 0.5},
        },
        DECKS,
        partial(literal.orl, payscale=100.0),
    ),
    "pearce-hall": (
        m.PearceHall(4),
        {"temperature": 0.2, "learning_scale": 0.6, "associability_rate": 0.3},
        pn.Task(FOUR, 150),
        literal.pearce_hall,
    ),
    "confirmation": (
        m.ConfirmationBias(),
        {"temperature": 0.5, "confirmatory_rate": 0.4, "disconfirmatory_rate": 0.2},
        FULL,
        literal.confirmation,
    ),
    "confirmation, stickiness": (
        m.ConfirmationBias(stickiness=True),
        {
            **{"temperature": 0.5, "stickiness": 0.6},
            **{"confirmatory_rate": 0.4, "disconfirmatory_rate": 0.2},
        },
        FULL,
        literal.confirmation,
    ),
    "volatile": (
        m.VolatileKalman(2, 0.1, bonus=False),
        {
            **{"temperature": 0.35, "volatility_rate": 0.25},
            **{"initial_volatility": 0.5, "noise_variance": 0.8},
        },
        REVERSED,
        partial(literal.volatile_kalman, n=2, first=0.1),
    ),
    "volatile, bonus": (
        m.VolatileKalman(4),
        {
            **{"temperature": 0.3, "uncertainty_bonus": 0.4, "volatility_rate": 0.25},
            **{"initial_volatility": 0.5, "noise_variance": 0.3},
        },
        pn.Task(FOUR, 150),
        partial(literal.volatile_kalman, n=4, first=0.0),
    ),
    "successor": (
        m.Successor(),
        {
            **{"inverse_temperature": 5.0, "stickiness": 0.3, "inverse_temperature_2": 3.0},
            **{"successor_rate": 0.2, "reward_rate": 0.4},
        },
        pn.Task(m.TwoStepWorld(150)),
        literal.successor,
    ),
    "beads": (
        m.Beads(share=0.75, most=8, loss=0.7),
        {"temperature": 0.15, "cost": 0.06},
        pn.Task(m.BeadsWorld(60, share=0.75, most=8, loss=0.7)),
        partial(literal.beads, share=0.75, most=8, win=1.0, loss=0.7),
    ),
    "hidden state, log-odds": (
        m.HiddenState(log_odds=True),
        {"temperature": 0.9, "hazard": 0.1, "reliability": 0.75},
        REVERSED,
        partial(literal.hidden_state, log_odds=True),
    ),
    "filter, coupled": (
        m.HGF(kappa=None),
        {"inverse_temperature": 2.0, "omega_2": -2.5, "omega_3": -6.0, "kappa": 0.8},
        pn.Task(m.InputWorld(200)),
        literal.hgf,
    ),
    "balloons, target": (
        m.Balloons(),
        {
            **{"inverse_temperature": 0.4, "risk_taking": 0.6},
            **{"prior_belief": 0.95, "updating": 0.02},
        },
        pn.Task(m.BalloonWorld(30)),
        partial(literal.balloons, rule="par4"),
    ),
    "balloons, mean and variance": (
        m.Balloons("mean and variance"),
        {
            **{"inverse_temperature": 4.0, "risk_preference": 0.05, "prior_belief": 0.1},
            **{"updating": 0.02, "loss_aversion": 0.8},
        },
        pn.Task(m.BalloonWorld(30)),
        partial(literal.balloons, rule="ewmv"),
    ),
    "filter": (
        m.HGF(),
        {"inverse_temperature": 2.0, "omega_2": -2.5, "omega_3": -6.0},
        pn.Task(m.InputWorld(200)),
        literal.hgf,
    ),
    "aversive": (
        m.AversiveLearning(),
        {"inverse_temperature": 0.3, "learning_rate": 0.3, "gamma": 1.5},
        pn.Task(m.AversiveWorld(150)),
        literal.aversive,
    ),
    "hidden state": (
        m.HiddenState(),
        {"temperature": 0.25, "hazard": 0.1, "reliability": 0.75},
        REVERSED,
        literal.hidden_state,
    ),
}
