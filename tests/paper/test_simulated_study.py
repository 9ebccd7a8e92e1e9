"""The simulated study: its design, and verdicts that follow its numbers."""

import numpy as np
import pytest

from penchant_paper.simulated_study import (
    TRUTH,
    LengthScales,
    _subjects,
    claims_of_study,
    compare_length_scales,
    homogeneity_tests,
    landscapes,
    simulated_study,
)


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
    def claims(truth=TRUTH, scales=found.length_scales):
        return claims_of_study(found.study, found.drawn, truth, scales, found.studies)

    here = claims()
    assert here[1].verdict in ("does not hold", "holds in part")
    # Had the agents been as Table II says, it would describe them.
    told = {}
    for column in found.study.linearized:
        values = column.natural.estimate.tolist()
        names = list(TRUTH[column.group.performance])[:3]
        told[column.group.performance] = dict(zip(names, values, strict=True))
    assert not [k for k, met in claims(told)[1].conditions.items() if met is False]


@pytest.mark.slow
def test_what_the_subjects_did_is_not_judged_by_agents(found):
    verdicts = {claim.statement: claim.verdict for claim in found.claims}
    for words in ("Participants' performance", "The fitting procedure is able to distinguish"):
        (said,) = [s for s in verdicts if s.startswith(words)]
        assert verdicts[said] == "cannot be told from the paper"


@pytest.mark.slow
def test_tests_between_landscapes_tell_agents_apart_who_are_alike():
    agents = {name: value for name, value in TRUTH["high"].items() if name != "length_scale"}
    found = homogeneity_tests(landscapes(), agents, rng=np.random.default_rng(4), n_studies=2)
    assert found.p_values.shape == (2, 3)
    assert (found.p_values[:, 1] < 0.05).all()  # where one study in twenty would be due
    assert all(0 <= share <= 1 and error > 0 for share, error in found.rejected)


def test_the_length_scale_is_tried_on_the_estimates_of_either_category():
    episodes, drawn = _subjects(landscapes(), 0.02, np.random.default_rng(3))
    mine = {who: [e for e in episodes if drawn[e.subject] == who] for who in ("low", "high")}
    found = {who: compare_length_scales(plays, who) for who, plays in mine.items()}
    assert isinstance(found["low"], LengthScales)
    # A tenth of a tile is no length scale, so that nothing changes.
    assert all(change < 0.05 for change, _ in found["low"].changes(0.1, 0.05))
    assert found["low"].changes(0.1, 1.0)[0][0] > 0.5
    # For high performance mu0 does change, and sigma0^2 stays at a third of the nominal value.
    nu, mean, variance = (change for change, _ in found["high"].changes(4.0, 8.0))
    assert variance < 0.01 < nu < 0.25 < mean
    np.testing.assert_allclose(found["high"].natural[:, 2], 1e6 / 3, rtol=0.03)
