"""Size and shape of the source stay within budgets that only fall."""

import pytest

from architecture import budgets


@pytest.mark.parametrize("section", ["lines", "journeys", "constants"])
def test_every_number_is_at_its_budget(section):
    measured = budgets.MEASURES[section]()
    assert budgets.complaints(section, measured, budgets.read_table()) == []


@pytest.mark.parametrize(
    ("measured", "said"),
    [
        ({"a": 1000}, []),
        ({"a": 980}, []),
        ({"a": 1001}, ["lines, a: measured 1001, budget 1000. It may only fall."]),
        ({"a": 979}, ["budget is to be lowered"]),
        ({"a": 1000, "b": 3}, ["Give it a budget"]),
        ({}, ["Remove the budget"]),
    ],
)
def test_a_number_off_its_budget_is_named_with_both(measured, said):
    found = budgets.complaints("lines", measured, {"slack": 0.02, "lines": {"a": 1000}})
    assert len(found) == len(said)
    assert all(words in sentence for words, sentence in zip(said, found, strict=True))


def test_budgets_fall_by_themselves_and_rise_on_request_only():
    old, measured = {"a": 10, "gone": 5}, {"a": 12, "b": 3}
    assert budgets.lowered(old, measured, may_rise=False) == {"a": 10, "b": 3}
    assert budgets.lowered(old, {"a": 8}, may_rise=False) == {"a": 8}
    assert budgets.lowered(old, measured, may_rise=True) == measured


def test_constants_of_one_name_with_several_values_are_found(tmp_path):
    (tmp_path / "a.py").write_text("STEP = 1\n_STEP: float = 1\nFAR = 2\nTRUE = True\n")
    (tmp_path / "b.py").write_text("STEP = 1\nFAR = -2\nTRUE = False\nlow = 3\n")
    found = budgets.constants_with_several_values(tmp_path)
    assert found == {"FAR": {"a.py": "2", "b.py": "-2"}}


def test_the_total_of_mypys_report_is_read(tmp_path):
    report = " Name Anys Exprs Coverage\n----\n penchant 1 4 75.00%\n----\n Total 7 40 82.50%\n"
    (tmp_path / "any-exprs.txt").write_text(report)
    assert budgets.any_expressions(tmp_path) == {"expressions of type Any": 7}
