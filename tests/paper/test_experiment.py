"""The landscapes are as the paper describes them."""

import numpy as np
import pytest

from penchant.bandit.landscape import GaussianNoise, Landscape
from penchant_paper.figure_1 import _described, experiment, maxima


def test_the_reconstruction_fits_the_description_and_says_nothing_of_the_paper_s():
    for claim in experiment().claims:
        assert claim.verdict == "cannot be told from the paper"
        assert claim.untold == "the mean rewards of its landscapes"
        assert all(claim.conditions.values())


def test_another_landscape_does_not():
    level = Landscape(np.arange(100.0), GaussianNoise(10.0))
    for name in ("A", "B"):
        assert not all(_described(name, level).conditions.values())


@pytest.mark.parametrize(
    ("profile", "places"),
    [([1.0, 2.0, 1.0], [2]), ([3.0, 1.0, 2.0], [1, 3]), ([1.0, 1.0, 1.0], []), ([5.0], [1])],
)
def test_maxima_are_counted_from_1(profile, places):
    assert maxima(np.array(profile)) == places
