"""Amounts with a currency or a unit, and lists in cells."""

import numpy as np
import pytest

from penchant.errors import DataError
from penchant.tables.cells import amount, amounts, array_cell


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ("£5", (5.0, "£")),
        ("£ 5.50", (5.5, "£")),
        ("-£5", (-5.0, "£")),
        ("$-5", (-5.0, "$")),
        ("€1,250.75", (1250.75, "€")),
        ("1 250 kr", (1250.0, "kr")),
        ("USD 20", (20.0, "usd")),
        ("20 GBP", (20.0, "gbp")),
        ("30 days", (30.0, "days")),
        ("1 day", (1.0, "days")),
        ("in 2 weeks", (2.0, "weeks")),
        ("6 Months", (6.0, "months")),
        ("now", (0.0, "days")),
        ("Today", (0.0, "days")),
        ("25%", (0.25, "%")),
        ("12 points", (12.0, "points")),
        ("7", (7.0, None)),
        ("-1e3", (-1000.0, None)),
        (4, (4.0, None)),
    ],
)
def test_an_amount_is_a_number_and_a_unit(cell, found):
    assert amount(cell) == found


@pytest.mark.parametrize(
    "cell", ["blue", "A", "5 apples", "s01", "1,5", "2026-01-31", "10:30", "£5 now", "", None, True]
)
def test_other_cells_are_no_amounts(cell):
    assert amount(cell) is None


def test_decimal_commas_are_read_where_they_are_said_to_be():
    assert amount("1.250,5 €", decimal=",") == (1250.5, "€")


def test_times_in_weeks_and_days_become_days():
    found = amounts(["today", "1 week", "30 days", None], "delay")
    np.testing.assert_array_equal(found, [0, 7, 30, np.nan])


def test_times_in_one_unit_stay_in_it():
    found = amounts(["today", "2 weeks"], "delay")
    assert found.tolist() == [0, 2]


def test_how_many_days_a_month_is_has_to_be_said():
    with pytest.raises(DataError, match=r"(?s)delay must be in one unit.*units=\{'month': 30\}"):
        amounts(["1 month", "30 days"], "delay")
    found = amounts(["1 month", "30 days"], "delay", units={"month": 31})
    assert found.tolist() == [31, 30]


@pytest.mark.parametrize("cells", [["£5", "30 days"], ["5", "30 days"], ["£5", "$5"]])
def test_different_units_are_refused_with_both_cells(cells):
    with pytest.raises(DataError, match=r"must be in one unit; got '.*' at row 0 and '.*' at ro"):
        amounts(cells, "amount")


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ("[5, 10]", [5, 10]),
        ("(5; 10)", [5, 10]),
        ("[5 10.5]", [5, 10.5]),
        ('["left","right"]', ["left", "right"]),
        ("['left', None]", ["left", None]),
        ("[1, null]", [1, None]),
        ("5, 10", None),
        ("[", None),
        ('[{"a": 1}]', None),
        (np.array([1, 2]), [1, 2]),
    ],
)
def test_a_list_in_a_cell_is_read(cell, found):
    assert array_cell(cell) == found
