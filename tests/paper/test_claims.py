"""A verdict says whether all conditions of a claim were met, some, or none, or cannot be told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penchant_paper.published import VERDICTS, Claim, Measured, verdict_of


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


@pytest.mark.parametrize(
    ("value", "error", "met"),
    [
        (1.0, 0.05, True),
        (1.0, 0.07, None),  # three errors reach beyond 1.2
        (1.25, 0.01, False),
        (1.25, 0.02, None),
        (0.5, 0.05, False),
        (float("nan"), 0.1, None),
        (1.0, float("inf"), None),
    ],
)
def test_a_number_decides_only_by_three_of_its_errors(value, error, met):
    assert Measured(value, error, 0.8, 1.2).met is met


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ({"a": None}, "not enough replicates to tell"),
        ({"a": True, "b": None}, "not enough replicates to tell"),
        ({"a": False, "b": None}, "not enough replicates to tell"),
        ({"a": True, "b": None, "c": False}, "holds in part"),  # whatever b turns out to be
        ({"a": Measured(2.0, 0.1, low=1.0), "b": True}, "holds"),
        ({"a": Measured(2.0, 0.1, low=3.0)}, "does not hold"),
        ({"a": Measured(2.0, 0.5, low=3.0)}, "not enough replicates to tell"),
    ],
)
def test_what_is_not_known_leaves_the_verdict_open(parts, verdict):
    assert verdict_of(parts) == verdict


@given(st.floats(-1e3, 1e3), st.floats(0, 1e3), st.floats(-1e3, 1e3))
def test_more_replicates_never_turn_a_condition_round(value, error, low):
    rough, fine = (Measured(value, e, low=low).met for e in (error, error / 10))
    assert rough is None or rough is fine


def test_what_the_paper_does_not_say_is_not_held_against_it():
    claim = Claim("here", "It is so.", {"a": False}, "because", untold="its data")
    assert claim.verdict == "cannot be told from the paper"
    assert set(VERDICTS) >= {claim.verdict, "not enough replicates to tell"}
