"""The simulated study: its design, and verdicts that follow its numbers."""

from dataclasses import replace

import numpy as np
import pytest

from penchant.study.paper.length_scales import LengthScales, compared_length_scales
from penchant.study.paper.simulated_study import TRUTH, _subjects, landscapes, simulated_study
from penchant.study.paper.simulated_study_claims import claims_of_study


def test_the_design_is_the_paper_s():
    episodes, drawn = _subjects(landscapes(), 1.0, np.random.default_rng(1))
    assert len(episodes) == 326
    assert sum(e.subject.startswith("A") for e in episodes) == 206
    assert sum(who == "high" for who in drawn.values()) == 70
    assert {e.n_decisions for e in episodes} == {90}
    assert [e.subject for e in episodes] == sorted(drawn)


@pytest.fixture(scope="module")
def found():
    return simulated_study(rng=np.random.default_rng(2), share=0.03)


@pytest.mark.slow
def test_agents_go_through_the_whole_pipeline_to_both_tables(found):
    groups = {group.label for group in found.study.groups}
    assert groups == {"high, A", "high, B", "low, A", "low, B"}
    tables = found.tables()
    assert {"study-table-1", "study-table-2", "study-subjects"} <= set(tables)
    assert len(tables["study-subjects"]["subject"]) == len(found.drawn)
    # True 10, and reported as a third of the nominal value all the same.
    for column in found.study.linearized:
        if column.group.performance == "high":
            assert column.natural.estimate[2] == pytest.approx(1e6 / 3, rel=0.02)


@pytest.mark.slow
def test_verdicts_follow_the_numbers(found):
    here = claims_of_study(found.study, found.drawn, TRUTH, found.length_scales)
    assert here[2].verdict in ("does not hold", "holds in part")
    # Had the agents been as Table II says, it would describe them.
    told = {
        column.group.performance: dict(
            TRUTH[column.group.performance], prior_variance=float(column.natural.estimate[2])
        )
        for column in found.study.linearized
    }
    assert (
        claims_of_study(found.study, found.drawn, told, found.length_scales)[2].verdict == "holds"
    )
    turned = {s: "low" if who == "high" else "high" for s, who in found.drawn.items()}
    wrong = claims_of_study(found.study, turned, TRUTH, found.length_scales)
    assert wrong[0].verdict == "does not hold"


@pytest.mark.slow
def test_a_length_scale_that_matters_would_be_a_finding(found):
    scales = found.length_scales
    correlated = replace(scales, correlations=scales.correlations + 0.2)
    verdicts = [
        claims_of_study(found.study, found.drawn, TRUTH, s)[4].verdict for s in (scales, correlated)
    ]
    assert verdicts == ["holds in part", "holds"]


def test_a_tenth_of_a_tile_is_no_length_scale():
    episodes, _ = _subjects(landscapes(), 0.01, np.random.default_rng(3))
    found = compared_length_scales([e for e in episodes if "low" in e.subject][:2])
    assert isinstance(found, LengthScales)
    assert found.correlations[found.scales == 0.1] == pytest.approx(np.exp(-10))
    assert found.differences[found.scales == 0.1] < 0.1
    assert found.differences[found.scales == 1.0] > 1
