"""What several tests of choices compare with."""

import dataclasses

import numpy as np
import pytest

from penchant.choices import Choices


@pytest.fixture(scope="session")
def assert_same():
    """Equality of two choices to the last bit, fields named in `but` aside."""

    def compare(a, b, *, but=()):
        for field in dataclasses.fields(Choices):
            if field.name in but:
                continue
            left, right = getattr(a, field.name), getattr(b, field.name)
            if isinstance(left, np.ndarray):
                assert left.dtype == right.dtype, field.name
                np.testing.assert_array_equal(left, right, err_msg=field.name)
            else:
                assert left == right, field.name

    return compare
