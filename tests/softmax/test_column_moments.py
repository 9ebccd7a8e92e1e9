"""Variables in columns give the sums that a table of them gives, to the last bit."""

import numpy as np
import pytest

import made
from penchant.choices.scan_protocols import ChoiceColumns
from penchant.softmax.chunked_likelihood import column_moments
from penchant.softmax.likelihood import likelihood_of


def _columns(choices):
    return ChoiceColumns(
        variables=tuple(np.array(column) for column in choices.explanatory.T),
        first_row=choices.first_row,
        chosen=choices.chosen,
        weights=choices.weights,
        offset=choices.offset,
    )


@pytest.mark.parametrize("with_offset", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("n", "sizes", "d"),
    [(43, (2, 6), 3), (24, (3, 3), 5), (5, (1, 2), 1), (61, (3, 4), 7), (50, (2, 3), 13)],
)
def test_columns_give_the_bits_of_a_table(n, sizes, d, weighted, with_offset):
    given = {"weighted": weighted, "with_offset": with_offset, "theta": np.linspace(-0.6, 0.9, d)}
    choices = made.case(n, sizes, **given).choices
    near = np.resize([0.7, -1.3, 0.2, 2.1, -0.4], d)
    for theta in (near, 40.0 * near, np.zeros(d)):  # 40: some exponentials are too large, not all
        expected = likelihood_of(choices, 1).moments(theta)
        found = column_moments(_columns(choices), theta)
        assert found.log_likelihood == expected.log_likelihood
        np.testing.assert_array_equal(found.gradient, expected.gradient)
        np.testing.assert_array_equal(found.information, expected.information)


def test_many_blocks_are_added_in_the_order_of_a_table():
    choices = made.case(4801, (2, 3), 2).choices  # more than one sum of 512 blocks
    theta = np.array([0.4, -0.9])
    found, expected = column_moments(_columns(choices), theta), likelihood_of(choices, 1)
    assert found.log_likelihood == expected.moments(theta).log_likelihood


def test_decisions_without_weight_are_left_out():
    case = made.case(30, weighted=True)
    case.weights[::3] = 0.0
    theta = np.array([0.4, -0.9, 0.3])
    found = column_moments(_columns(case.choices), theta)
    assert found.log_likelihood == likelihood_of(case.choices, 1).moments(theta).log_likelihood
