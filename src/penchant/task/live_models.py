"""Models of live estimates by plain values, checked without loading what fits them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penchant.errors import DataError

WITH_PLACES = ("ucl", "gp-ucb", "locality")
WITHOUT_PLACES = ("q-learning", "kalman", "hybrid", "ucb1", "wsls", "random")
MOST_OPTIONS = 10_000


def checked_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a model that learns from rewards, or an error.

    Examples
    --------
    >>> checked_settings({"model": "q-learning", "n_options": 2})
    {'model': 'q-learning', 'n_options': 2}
    """
    model = settings.get("model")
    if model in WITH_PLACES:
        n_options_of(settings)
        wrong = set(settings) - {"model", "grid", "noise_variance", "length_scale"}
    elif model in WITHOUT_PLACES:
        if "n_options" not in settings:
            raise DataError(f"n_options must be given with {model}; got none. Add it.")
        wrong = set(settings) - {"model", "n_options"}
    else:
        known = ", ".join((*WITH_PLACES, *WITHOUT_PLACES))
        raise DataError(f"model must be one of {known}; got {model!r}. Choose one.")
    if wrong:
        raise DataError(f"{sorted(wrong)[0]} must be left out with {model}; got it. Drop it.")
    if model == "ucl" and not settings.get("noise_variance", 0) > 0:
        raise DataError("noise_variance must be > 0 with ucl; got none. Add it.")
    return dict(settings)


def n_options_of(settings: Mapping[str, Any]) -> int:
    """How many options a model has.

    >>> n_options_of({"model": "ucl", "grid": "10x8"})
    80
    """
    if "n_options" in settings:
        return int(settings["n_options"])
    width, _, height = str(settings.get("grid", "")).partition("x")
    if not (width.isdigit() and height.isdigit() and len(width + height) < 9):
        raise DataError("grid must be WIDTHxHEIGHT; got something else. Write 10x10.")
    n = int(width) * int(height)
    if not 2 <= n <= MOST_OPTIONS:
        raise DataError(f"grid must have 2 to {MOST_OPTIONS} squares; got {n}. Correct it.")
    return n
