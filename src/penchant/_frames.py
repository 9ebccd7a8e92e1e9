"""Tables in the data frame library that the user has: results come as the kind that data came in.

What a table is made into (choices, episodes, offers, readings) remembers its kind, and what a verb
makes of them remembers it in turn: `as_it_came` decorates all such verbs but `fit`, whose estimate
holds the data. `to_frame()` then gives a
pandas frame for pandas, a polars one for polars, a pyarrow table for pyarrow, and a pandas one for
files, arrays and everything else.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, TypeVar, cast

from penchant.errors import DataError

Backend = Literal["pandas", "polars", "pyarrow"]
BACKENDS: tuple[Backend, ...] = ("pandas", "polars", "pyarrow")
KIND = "_frame_kind"  # where an object remembers it
Verb = TypeVar("Verb", bound=Callable[..., Any])
T = TypeVar("T")


def frame(columns: Mapping[str, Sequence[Any]], backend: Backend | None = None) -> Any:
    """A data frame with these columns: a pandas one, unless another kind is asked for.

    What comes back never depends on what else is installed.
    """
    chosen = backend or "pandas"
    if chosen not in BACKENDS:
        raise DataError(
            f"backend must be one of {', '.join(BACKENDS)}; got {backend!r}. Choose one of these."
        )
    if not find_spec(chosen):
        raise DataError(
            f"backend must be a library that is installed; got {chosen}, which is not. Use "
            "backend='pyarrow', to_polars() or to_pandas(), or install it."
        )
    library = import_module(chosen)
    data = {name: list(values) for name, values in columns.items()}
    return library.table(data) if chosen == "pyarrow" else library.DataFrame(data)


def came_as(given: Any) -> Backend | None:
    """The kind of frame that something is, or was made from; None where there is none.

    Of several things, as in a list or by name, the first one's.

    >>> import pyarrow as pa
    >>> came_as(pa.table({"x": [1]})), came_as([1.0, 2.0]), came_as("file.csv")
    ('pyarrow', None, None)
    """
    kept: Backend | None = getattr(given, KIND, None)
    if kept is not None or isinstance(given, (str, bytes)):
        return kept
    library = type(given).__module__.partition(".")[0]
    if library == "penchant":  # an estimate that holds what it was fitted to
        return came_as(getattr(given, "choices", None) or getattr(given, "episodes", None))
    if library in BACKENDS and hasattr(given, "columns"):
        return library
    if isinstance(given, Mapping):
        return came_as(next(iter(given.values()), None))
    return came_as(given[0]) if isinstance(given, (list, tuple)) and given else None


def marked(found: T, kind: Backend | None) -> T:
    """The same, which remembers the kind of frame that it comes from; so do results in it."""
    for one in found if isinstance(found, (list, tuple)) else (found,):
        if not _is_ours(one):
            continue
        object.__setattr__(one, KIND, kind)  # results are frozen, but this is no part of them
        for part in vars(one).values():
            if _is_ours(part) and hasattr(part, "to_frame"):
                object.__setattr__(part, KIND, kind)
    return found


def _is_ours(one: Any) -> bool:
    return type(one).__module__.partition(".")[0] == "penchant" and hasattr(one, "__dict__")


def as_it_came(verb: Verb) -> Verb:
    """Decorate a function whose result shall come as the kind of frame that it was given.

    The first argument that knows a kind says it.
    """

    @functools.wraps(verb)
    def remembering(*given: Any, **named: Any) -> Any:
        kinds = (came_as(one) for one in (*given, *named.values()))
        return marked(verb(*given, **named), next((k for k in kinds if k is not None), None))

    return cast(Verb, remembering)
