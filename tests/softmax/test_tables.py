"""Tables for reading."""

import numpy as np
import pytest

from penchant.result_tables import Table, format_number, format_p_value

TABLE = Table(
    caption="A <b>bold</b> caption",
    facts=(("Status", "converged"), ("R&D", "5 %"), ("n", "3")),
    header=("", "estimate", "z"),
    rows=(("price_<script>", "1.5", "-2"), ("a&b {x}", "inf", "-")),
    notes=("A note of <i>some</i> length " * 8,),
)


def test_text_aligns_columns_and_wraps_notes():
    lines = TABLE.text().splitlines()
    rules = [line for line in lines if line and set(line) == {"-"}]
    assert len(rules) == 3
    assert max(len(line) for line in lines[-3:]) <= 88
    rows = [line for line in lines if line.startswith(("price", "a&b"))]
    assert len({len(row) for row in rows}) == 1


def test_html_escapes_every_label():
    page = TABLE.html()
    assert "<script>" not in page and "<i>" not in page
    assert "price_&lt;script&gt;" in page
    assert "R&amp;D" in page
    assert page.count("<tr>") == 3


def test_latex_escapes_its_special_characters():
    text = TABLE.latex()
    assert r"price\_\textless{}script\textgreater{}" in text
    assert r"a\&b \{x\}" in text
    assert text.startswith(r"\begin{tabular}{lrr}")


def test_numbers_are_shown_with_their_digits():
    assert format_number(1234.5678, 6) == "1234.57"
    assert format_number(-np.inf) == "-inf"
    assert format_number(np.nan) == "-"


@pytest.mark.parametrize(
    ("value", "shown"), [(0.0, "<0.001"), (0.00099, "<0.001"), (0.0456, "0.046"), (np.nan, "-")]
)
def test_p_values_are_never_zero(value, shown):
    assert format_p_value(value) == shown
