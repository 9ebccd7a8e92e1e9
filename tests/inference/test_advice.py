"""Advice where weights are not identified: of models, not of tables of variables."""

import numpy as np
import pytest

import penchant as pn


def gambles(outcome):
    """A sure amount against a gamble at even odds, the latter taken every other time."""
    n = len(outcome)
    offers = {"outcome": outcome, "probability": [[[1.0, 0.0], [0.5, 0.5]]] * n}
    return pn.Offers(np.arange(n) % 2, offers)


def test_gambles_without_losses_say_which_model_has_no_loss_aversion():
    decisions = gambles([[[4 + k % 3, 0], [9 + k, 0]] for k in range(20)])
    estimate = pn.fit(decisions, pn.models.ProspectValue())
    assert estimate.status == "not identified"
    assert (
        "Where no gamble has a loss, use expected utility, or losses=False. Else use "
        "parameter_prior=ScaledPrior(), or collect at least 1 more decision."
    ) in estimate.message
    for model in (pn.models.ExpectedUtility(), pn.models.ProspectValue(losses=False)):
        assert pn.fit(decisions, model).status != "not identified"


@pytest.mark.parametrize("model", [pn.models.ExpectedUtility(), pn.models.ProspectValue()])
def test_no_model_is_told_to_drop_or_interact_variables(model):
    estimate = pn.fit(gambles([[[3, 0], [3, 3]]] * 4), model)
    assert estimate.status == "not identified"
    assert "variable" not in estimate.message and "interact" not in estimate.message
    assert "use parameter_prior=scaledprior(), or collect" in estimate.message.lower()
