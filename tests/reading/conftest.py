"""What tests of files share."""

import pytest


@pytest.fixture
def file(tmp_path):
    """Writes text to a file, and says where it is."""

    def write(text, name="data.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return write
