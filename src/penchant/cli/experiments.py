"""Choice experiments given to a command that does not take them: the lines of Python that do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penchant.cli.options import Data, History
from penchant.cli.tables import kind_of
from penchant.errors import DataError
from penchant.tables.reading import TITLES

COMPARED = (
    "names = reading.data.names",
    "models = {'all': pn.models.Attributes(names), 'fewer': pn.models.Attributes(names[:-1])}",
    "print(pn.compare_models(models, reading))",
)
PREDICTED = (
    "estimates = pn.fit_each(reading, parameter_prior=pn.ScaledPrior())",
    "found = {one.subject: one.predict() for one in estimates}",
)
PREDICTED_TOGETHER = (
    "estimate = pn.fit(reading, parameter_prior=pn.ScaledPrior())",
    "found = estimate.predict()",
)
NAMED = ("subject", "chosen", "where", "delimiter")


@contextmanager
def experiments_in_python(
    file: str | None, data: Data, history: History, command: str, lines: tuple[str, ...]
) -> Iterator[None]:
    """An error about a table that is a choice experiment as one that says what to do with it.

    Parameters
    ----------
    file, data, history
        What was typed.
    command
        The command that does not take it.
    lines
        What does the same in Python, after the table is read as `reading`.
    """
    try:
        yield
    except DataError:
        if file is None or file == "-" or kind_of(file, data, history) != "choices":
            raise
        raise DataError(
            f"FILE must be task data or one-shot choices between offers for penchant {command}; "
            f"got {TITLES['choices']}, {file}. penchant fit takes it; to {command}, write in "
            f"Python: {'; '.join(('import penchant as pn', _read(file, data), *lines))}."
        ) from None


def _read(file: str, data: Data) -> str:
    """The line that reads the table, with the columns that were typed."""
    given = {name: getattr(data, name) for name in NAMED if getattr(data, name) is not None}
    words = "".join(f", {name}={value!r}" for name, value in given.items())
    return f"reading = pn.read({file!r}{words})"
