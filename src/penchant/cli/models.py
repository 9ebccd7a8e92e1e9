"""`penchant models`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from penchant.cli.option_types import Flag
from penchant.cli.options import ModelName


def models(
    name: Annotated[ModelName | None, Parameter(show_choices=False)] = None,
    /,
    *,
    json: Flag = False,
) -> int:
    """List the models that --model takes, or say what one of them is.

    Parameters
    ----------
    name
        A model: its equations, its settings and its parameters; all models in a table if not given.
    json
        Print JSON instead of words.
    """
    # Numerical libraries load here, so that help and usage errors answer at once.
    from penchant.cli.listing_models import run_models

    return run_models(name, json)
