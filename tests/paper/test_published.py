"""The settings and tables of the paper, as printed."""

import numpy as np
import pytest

from penchant_paper import published
from penchant_paper.published import FIGURE_4, FIGURE_5, FIGURE_6, TABLES, rounding


@pytest.mark.parametrize("setting", [FIGURE_4, FIGURE_5, FIGURE_6], ids=lambda s: s.name)
def test_the_true_theta_is_the_printed_one(setting):
    # Figure 6 prints -1.05e-6 for -1.0526e-6.
    np.testing.assert_allclose(setting.truth, setting.printed_truth, rtol=0.003)


def test_the_design_is_that_of_section_7():
    by_landscape = {
        place: sum(c.n_subjects for c in TABLES if c.landscape == place) for place in ("A", "B")
    }
    assert by_landscape == {"A": 206, "B": 120}
    assert sum(c.n_subjects for c in TABLES if c.performance == "high") == 70
    assert {(c.nominal.mean, c.nominal.variance, c.nominal.length_scale) for c in TABLES} == {
        (30, 10, 0.1),
        (200, 1e6, 4.0),
    }


@pytest.mark.parametrize(
    ("printed", "half"),
    [("3.93e-2", 5e-5), ("-6.86", 0.005), ("1.27e3", 5.0), ("25.5", 0.05), ("7", 0.5)],
)
def test_a_printed_number_stands_for_half_a_unit_of_its_last_digit(printed, half):
    assert rounding(printed) == pytest.approx(half, rel=1e-12)


def test_the_horizon_and_the_replicates_are_those_of_the_captions():
    assert (
        published.PAPER_REPLICATES,
        published.UCL_DECISIONS,
        published.EXPERIMENT_DECISIONS,
    ) == (
        100,
        100,
        90,
    )
