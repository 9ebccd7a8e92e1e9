"""Models of learning are defined by features and update."""

import inspect

import penchant as pn
from penchant.models.offers.attributes import LinearModel, OfferModel
from penchant.models.record import CompiledModel
from penchant.models.recursion import Recursion

# Gaussian processes have beliefs of their own, and sets of attributes have no state.
OTHER_FORMS = {"UCL", "GPUCB", "Locality", "Attributes"}


def _with_loops_of_their_own():
    found = set()
    for name in dir(pn.models):
        kind = getattr(pn.models, name)
        if inspect.isclass(kind) and issubclass(kind, CompiledModel):
            loops = (base.explanatory_many for base in (Recursion, OfferModel, LinearModel))
            derived = kind.explanatory_many in loops
            found |= set() if derived or name in OTHER_FORMS else {name}
    return found


def test_no_model_of_learning_has_loops_of_its_own():
    assert not _with_loops_of_their_own()
