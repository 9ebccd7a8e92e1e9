"""`read`: whatever a laboratory has, as data that `fit` takes, with what was taken for what."""

from __future__ import annotations

from typing import Any, Unpack

from penchant.reading.read_schema import SchemaLike, read_by_schema
from penchant.tables.reading import Reading
from penchant.tables.schema import Schema, SchemaAnswers, answers_by_name


def read(source: Any, schema: SchemaLike = None, **said: Unpack[SchemaAnswers]) -> Reading:
    """Read a file, a folder or a data frame by a schema, for `fit`.

    Roles of columns are taken from the schema, and from names that leave no doubt: those of known
    programs and named tasks, and those of a lexicon. Nothing is guessed: what is open is asked, all
    of it at once, by `pn.errors.SchemaQuestions`.

    Parameters
    ----------
    source
        A file (CSV, JSON, Parquet, Arrow, xlsx or .mat), a folder of files, a pattern such as
        "data/*.csv", or a pandas, polars or pyarrow table.
    schema
        What the table is: a `Schema`, a dictionary of its form, or the path of a TOML file.
    **said
        Keys of the schema by their last part, such as ``reward="points"`` for `columns.reward` and
        ``keep="phase == 'test'"`` for `rows.keep`; they count before those of the schema.

    Returns
    -------
    Reading
        The data, the whole schema, and what was left out and why.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import penchant as pn
    >>> table = pa.table(
    ...     {
    ...         "id": ["ann", "ann", "bob", "bob"],
    ...         "A_price": ["£3", "£5", "£4", "£2"],
    ...         "B_price": ["£4", "£2", "£3", "£6"],
    ...         "A_fair": ["yes", "no", "yes", "no"],
    ...         "B_fair": ["no", "yes", "no", "yes"],
    ...         "choice": ["A", "B", "A", "B"],
    ...     }
    ... )
    >>> schema = {
    ...     "kind": "choices",
    ...     "columns": {"subject": "id", "choice": "choice"},
    ...     "choice": {"labels": ["A", "B"]},
    ...     "attributes": {"price": ["A_price", "B_price"], "fair": ["A_fair", "B_fair"]},
    ... }
    >>> reading = pn.read(table, schema)
    >>> reading.data.names
    ('price', 'fair:yes')
    >>> pn.read(pa.table({"id": [1] * 3, "choice": ["a", "b", "none"], "reward": [1, 0, 2]}))
    Traceback (most recent call last):
    penchant.errors.SchemaQuestions: the table: schema must say what is open; got 2 questions.
    1. none in choice may be an option, or a mark. Which codes are options, in their order?
       choice.labels = ["a", "b"]  # or ["a", "b", "none"], ["b", "a"]
    2. Which codes of choice stand for decisions that nobody made?
       choice.missed = ["none"]  # or []
    """
    given = Schema.of(schema).with_answers(answers_by_name(said))
    return read_by_schema(source, given)
