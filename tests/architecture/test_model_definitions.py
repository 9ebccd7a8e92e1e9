"""Models of learning are defined by features and update; those that are not yet are listed."""

import inspect

import penchant as pn
from penchant.models.record import CompiledModel
from penchant.models.recursion import Recursion

# Classes that still have loops and derivatives of their own. The list only shrinks.
WITH_LOOPS_OF_THEIR_OWN = {
    "AversiveLearning",
    "Balloons",
    "Beads",
    "ConfirmationBias",
    "EWA",
    "GershmanHybrid",
    "HGF",
    "HiddenState",
    "HistoryRegression",
    "KalmanFilter",
    "KnownValues",
    "ORL",
    "PVL",
    "PearceHall",
    "QLearning",
    "RandomChoice",
    "StayRegression",
    "Successor",
    "TwoStep",
    "UCB1",
    "VPP",
    "VolatileKalman",
    "WinStayLoseShift",
}
# Gaussian processes have beliefs of their own, and sets of attributes have no state.
OTHER_FORMS = {"UCL", "GPUCB", "Locality", "Attributes"}


def _with_own_loops():
    found = set()
    for name in dir(pn.models):
        kind = getattr(pn.models, name)
        if inspect.isclass(kind) and issubclass(kind, CompiledModel):
            is_recursion = issubclass(kind, Recursion) or name in OTHER_FORMS
            found |= set() if is_recursion or hasattr(kind, "option_values") else {name}
    return found


def test_no_further_model_has_loops_of_its_own():
    assert _with_own_loops() == WITH_LOOPS_OF_THEIR_OWN
