"""One look for all figures."""

import matplotlib
import numpy as np
import pytest

from penchant.errors import DataError
from penchant.figures import PALETTE, figure, series_style, style
from penchant.figures.label_text import FONT_SIZE


def test_every_series_differs_in_colour_and_in_marker():
    looks = [series_style(series) for series in range(8)]
    assert len({one.color for one in looks}) == 8
    assert len({one.marker for one in looks}) == 8
    assert series_style(8) == series_style(0)


def test_neighbouring_series_differ_in_line_style():
    for series in range(7):
        assert series_style(series).line != series_style(series + 1).line


def test_the_palette_is_that_of_okabe_and_ito():
    assert set(PALETTE) == {
        "#000000",
        "#E69F00",
        "#56B4E9",
        "#009E73",
        "#F0E442",
        "#0072B2",
        "#D55E00",
        "#CC79A7",
    }


def test_the_first_series_differ_in_grey():
    def lightness(color):
        red, green, blue = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
        return 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2

    first = np.array([lightness(series_style(series).color) for series in range(4)])
    assert np.ptp(first) > 0.1


def test_style_ends_with_its_block():
    before = dict(matplotlib.rcParams)
    with style():
        assert matplotlib.rcParams["font.size"] == FONT_SIZE
        with style():
            pass
        assert matplotlib.rcParams["font.size"] == FONT_SIZE
    assert dict(matplotlib.rcParams) == before


def test_style_ends_with_an_error_too():
    before = dict(matplotlib.rcParams)
    with pytest.raises(RuntimeError), style():
        raise RuntimeError
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize(("columns", "width"), [(1, 3.5), (2, 7.16)])
def test_figures_are_as_wide_as_columns_of_a_page(columns, width):
    assert figure(columns).get_size_inches()[0] == pytest.approx(width)
    assert figure(columns, height=1.7).get_size_inches()[1] == pytest.approx(1.7)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": 3}, "columns must be 1 or 2; got 3"),
        ({"height": 0}, "height must be > 0; got 0"),
    ],
)
def test_impossible_figures_are_refused(options, message):
    with pytest.raises(DataError, match=message):
        figure(**options)
