"""Models write their parameter tables by names; those that still use places are listed."""

from pathlib import Path

import penchant

BY_PLACES = {
    "offers/attributes.py",
    "offers/cambridge.py",
    "offers/chance.py",
    "offers/discounting.py",
    "offers/effort.py",
    "offers/gambles.py",
    "offers/magnitude.py",
    "offers/sharing.py",
}


def test_models_with_rows_by_places_are_those_listed():
    models = Path(penchant.__file__).parent / "models"
    found = {
        path.relative_to(models).as_posix()
        for path in models.rglob("*.py")
        if "models.natural import" in path.read_text(encoding="utf-8")
    }
    assert found <= BY_PLACES
