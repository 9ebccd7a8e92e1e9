"""What to do where the weights of a model are not identified: its variables are not one's own."""

from __future__ import annotations

import re
from typing import Any

from penchant.softmax.diagnostics import Diagnostics

_OF_VARIABLES = re.compile(r"Drop a variable(, interact \S+ with the options)?, give")


def advised(message: str, model: Any, diagnostics: Diagnostics) -> str:
    """The message with advice for a model instead of advice for a table of variables.

    A model may know why one of its weights is not identified: it then has `unidentified`, a mapping
    from weights to sentences that say what to do.

    Parameters
    ----------
    message
        That the weights are not identified, and what to do with variables.
    model
        Whose weights they are.
    diagnostics
        Which directions are not identified.
    """
    known = getattr(model, "unidentified", {})
    alone = [_alone(direction) for direction in diagnostics.null_directions]
    own = "".join(f"{known[name]} " for name in alone if name in known)
    return _OF_VARIABLES.sub(f"{own}Else use" if own else "Use", message)


def _alone(direction: Any) -> str | None:
    """The one weight that a direction consists of."""
    parts = [name for name, value in direction.items() if value != 0]
    return parts[0] if len(parts) == 1 else None
