"""Table I to Table II by hand, Welch's tests by scipy, and the artefact of linearisation."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from penchant_paper.published import TABLES
from penchant_paper.tables import (
    Artefact,
    artefact,
    bound_of_deviation,
    claims_of_tables,
    mapped_back,
    tables,
    welch_tests,
)


def _by_hand(category):
    """nu = 1/t1, mu0 = mubar + t2/t1, sigma0^2 = 10 / (10/sbar + t3/t1)."""
    t1, t2, t3 = (float(text) for text in category.theta)
    mean, variance = category.nominal.mean, category.nominal.variance
    return [1 / t1, mean + t2 / t1, 10 / (10 / variance + t3 / t1)]


@pytest.mark.parametrize("category", TABLES, ids=lambda c: c.name)
def test_table_1_maps_back_to_table_2(category):
    found = mapped_back(category)
    np.testing.assert_allclose(found.natural, _by_hand(category), rtol=1e-12)
    assert (np.abs(found.deviation) < 0.02).all()
    wrong = [j for j in range(3) if not found.consistent[j]]
    # Printed 3.35e5; rounding of Table I allows 3.322e5 to 3.332e5.
    assert wrong == ([2] if category.name == "high B" else [])


def test_the_range_that_rounding_allows_is_that_of_a_dense_search():
    found = mapped_back(TABLES[3])
    rng = np.random.default_rng(1)
    theta = np.array([float(text) for text in TABLES[3].theta])
    half = np.array([5e-5, 0.005, 5e-10])
    many = theta + half * rng.uniform(-1, 1, (4000, 3))
    values = [_by_hand(replace(TABLES[3], theta=tuple(map(str, row)))) for row in many]
    assert (np.min(values, axis=0) >= found.low).all()
    assert (np.max(values, axis=0) <= found.high).all()
    np.testing.assert_allclose(np.max(values, axis=0)[2], found.high[2], rtol=3e-4)


def test_welch_is_that_of_scipy_and_theta_2_does_not_differ():
    found = {(d.first, d.name): d for d in welch_tests()}
    by_name = {category.name: category for category in TABLES}
    for who in ("high", "low"):
        a, b = by_name[f"{who} A"], by_name[f"{who} B"]
        for j in range(3):
            expected = stats.ttest_ind_from_stats(
                float(a.theta[j]),
                float(a.sigma[j]) * np.sqrt(a.n_subjects),
                a.n_subjects,
                float(b.theta[j]),
                float(b.sigma[j]) * np.sqrt(b.n_subjects),
                b.n_subjects,
                equal_var=False,
            )
            p = found[f"{who} A", f"theta{j + 1}"].p_value
            assert p == pytest.approx(expected.pvalue, rel=1e-9)
    p = [found["high A", f"theta{j}"].p_value for j in (1, 2, 3)]
    np.testing.assert_allclose(p, [0.0011, 0.41, 0.0010], rtol=0.05)
    assert all(found["low A", f"theta{j}"].p_value > 0.9 for j in (1, 2, 3))


@pytest.fixture(scope="module")
def found():
    return tables(rng=np.random.default_rng(2), n_replicates=10)


def test_agents_come_back_as_a_third_of_the_nominal_variance(found):
    sure = found.artefact.true_variances <= 1e3
    np.testing.assert_allclose(found.artefact.medians[sure], 1e6 / 3, rtol=0.03)
    assert abs(found.artefact.median_ratios[-1] - 0.86) < 0.15


def test_verdicts_are_those_of_the_printed_numbers(found):
    assert [claim.verdict for claim in found.claims] == [
        "holds",  # the bound itself, which Table I breaks
        "holds in part",
        "does not hold",  # 3.3e5
        "cannot be told from the paper",  # high above low
        "holds",
        "holds in part",
        "holds",
        "holds",
    ]


def test_the_bound_is_correct_and_table_1_breaks_it(found):
    claim = found.claims[0]
    assert all(claim.conditions.values())
    assert claim.evidence["beyond"] == ["high A", "high B"]
    bound = bound_of_deviation(rng=np.random.default_rng(5))
    assert bound.smallest == pytest.approx(2.0, rel=1e-6)
    wrong = replace(bound, negative_above=False)
    turned = claims_of_tables(found.mapped, found.differences, found.artefact, wrong)[0]
    assert turned.verdict == "holds in part"


def test_verdicts_would_turn_with_other_numbers(found):
    told = Artefact(
        found.artefact.true_variances,
        np.tile(found.artefact.true_variances[:, None], (1, 10)),
        np.full_like(found.artefact.ratios, 2.0),
    )
    small = [replace(m, ratio=2.0) for m in found.mapped]
    small[3] = replace(small[3], natural=small[3].printed, low=small[3].printed)
    small[3] = replace(small[3], high=small[3].printed)
    clear = [replace(d, p_value=0.001 if "high" in d.first else 0.01) for d in found.differences]
    bound = bound_of_deviation(rng=np.random.default_rng(5))
    claims = claims_of_tables(tuple(small), tuple(clear), told, bound)
    assert [claims[i].verdict for i in (1, 2, 5, 6)] == [
        "holds",
        "holds",
        "holds",
        "does not hold",
    ]


def test_every_agent_is_counted():
    found = artefact(rng=np.random.default_rng(3), n_replicates=2)
    columns = found.columns()
    assert {len(values) for values in columns.values()} == {len(found.true_variances)}
    assert columns["unusable"] == np.isnan(found.variances).sum(axis=1).tolist()
