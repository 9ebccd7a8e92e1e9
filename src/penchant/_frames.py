"""Tables in the data frame library that the user has."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from penchant.errors import DataError

Backend = Literal["pandas", "polars", "pyarrow"]
BACKENDS: tuple[Backend, ...] = ("pandas", "polars", "pyarrow")


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
