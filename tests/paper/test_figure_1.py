"""Figure 1: a logistic function whose slope at 0 is theta / 4."""

import math

import numpy as np

from penchant_paper.figure_1 import THETAS, figure_1, first_option


def test_the_curves_are_logistic():
    found = figure_1()
    for theta, curve in zip(found.theta, found.probability, strict=True):
        for x in (0, 57, 120, 201):
            expected = 1 / (1 + math.exp(-theta * found.difference[x]))
            assert math.isclose(curve[x], expected, rel_tol=1e-12)


def test_slopes_are_a_quarter_of_theta():
    np.testing.assert_allclose(figure_1().slopes, np.array(THETAS) / 4, rtol=1e-8)


def test_equal_options_are_taken_alike():
    assert first_option(np.zeros(1), 3.7)[0] == 0.5
