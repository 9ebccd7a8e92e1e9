"""A word among numbers of options is told; labels are left alone."""

import pyarrow as pa
import pytest

from penchant.errors import DataError
from penchant.tables.frames import open_frame, row_place
from penchant.tables.options import refuse_stray_labels


def checked(*cells):
    refuse_stray_labels(open_frame(pa.table({"pick": list(cells)})), "pick", row_place)


def test_words_among_numbers_are_named_with_their_rows():
    with pytest.raises(DataError, match="got numbers, but pick also has") as error:
        checked("0", "1", "miss", "2", " ? ", "1")
    assert "'miss' at row 2, '?' at row 4" in str(error.value)
    assert "Leave cells empty where nothing was chosen" in str(error.value)
    assert "if ? and miss can be chosen, name all options in `options`" in str(error.value)


@pytest.mark.parametrize(
    "cells",
    [
        ("0", "1", "2", "1"),
        ("0", "1", "NA", "", None, "1"),
        ("left", "right", "left"),
        ("1", "2", "a", "b", "c", "1", "2", "1"),
        ("1", "safe", "1", "safe", "1"),
        ("1", "2", "miss", "miss", "miss"),
    ],
    ids=["numbers", "nothing", "labels", "many words", "one number", "mostly words"],
)
def test_other_columns_are_left_alone(cells):
    checked(*cells)
