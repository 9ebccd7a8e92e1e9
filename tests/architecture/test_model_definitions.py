"""Models of learning are defined by features and update; those that are not yet are listed."""

import inspect

import penchant as pn
from penchant.models.record import CompiledModel
from penchant.models.recursion import Recursion

# Classes that still have loops and derivatives of their own. The list only shrinks.
WITH_LOOPS_OF_THEIR_OWN = {
    "Balloons",
    "Beads",
    "HGF",
    "KalmanFilter",
    "ORL",
    "PVL",
    "QLearning",
    "StayRegression",
    "Successor",
    "TwoStep",
    "VPP",
}
# Gaussian processes have beliefs of their own, and sets of attributes have no state.
OTHER_FORMS = {"UCL", "GPUCB", "Locality", "Attributes"}


def _with_own_loops():
    found = set()
    for name in dir(pn.models):
        kind = getattr(pn.models, name)
        if inspect.isclass(kind) and issubclass(kind, CompiledModel):
            derived = kind.explanatory_many is Recursion.explanatory_many
            other = name in OTHER_FORMS or hasattr(kind, "option_values")
            found |= set() if derived or other else {name}
    return found


def test_no_further_model_has_loops_of_its_own():
    assert _with_own_loops() == WITH_LOOPS_OF_THEIR_OWN
