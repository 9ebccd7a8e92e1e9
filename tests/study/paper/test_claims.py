"""A verdict says whether all conditions of a claim were met, some, or none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penchant.study.paper.claims import Claim, verdict_of


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ({"a": True}, "holds"),
        ({"a": True, "b": True}, "holds"),
        ({"a": True, "b": False}, "holds in part"),
        ({"a": False, "b": False, "c": True}, "holds in part"),
        ({"a": False}, "does not hold"),
        ({"a": False, "b": False}, "does not hold"),
    ],
)
def test_the_verdict_follows_from_the_conditions(parts, verdict):
    assert verdict_of(parts) == verdict
    assert Claim("here", "It is so.", parts, "because").verdict == verdict


@given(st.dictionaries(st.text(), st.booleans(), min_size=1))
def test_turning_every_condition_round_turns_the_verdict_round(parts):
    opposite = {"holds": "does not hold", "does not hold": "holds"}
    turned = {name: not met for name, met in parts.items()}
    assert verdict_of(turned) == opposite.get(verdict_of(parts), "holds in part")


def test_a_claim_without_conditions_has_no_verdict():
    with pytest.raises(ValueError, match="parts must hold at least one condition; got none"):
        verdict_of({})
