"""Several questions about a table, asked at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penchant.errors import DataError

ALSO = " Also: "


class Questions:
    """What is asked, one question about each part: what hangs on it comes later."""

    def __init__(self) -> None:
        self._said: dict[str, str] = {}

    @contextmanager
    def about(self, part: str) -> Iterator[None]:
        """Note what is asked about a part, unless something is asked about it already."""
        try:
            yield
        except DataError as error:
            self._said.setdefault(part, str(error))

    def has(self, part: str) -> bool:
        """Whether something is asked about this part."""
        return part in self._said

    def ask(self) -> None:
        """Raise all that is asked, if anything is."""
        if self._said:
            raise DataError(ALSO.join(self._said.values()))
