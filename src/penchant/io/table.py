"""Tables from files: CSV, Parquet or Arrow, told apart by their first bytes."""

import os

import pyarrow as pa

from penchant.io import kinds
from penchant.io.columnar import read_columnar
from penchant.io.delimited import read_delimited
from penchant.io.source import Source, source


def read_table(
    path: str | os.PathLike[str] | Source,
    *,
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
) -> pa.Table:
    r"""Read a table from a CSV (also gzipped), Parquet or Arrow file.

    Parameters
    ----------
    path
        The file; "-" reads the standard input. Or a `Source` opened before.
    delimiter
        What divides the cells of a CSV file; found among ``, ; | \t`` where none is given.
    decimal
        Decimal point of a CSV file: "." or ",".
    encoding
        Encoding of a CSV file, by its Python name.

    Returns
    -------
    pyarrow.Table

    Notes
    -----
    Empty cells and a single point are missing values, and so are NA, NaN, NULL and None in columns
    of numbers; in columns of text these are text, as somebody may be called so. Whole numbers stay
    whole; a column of whole numbers stays text where some begin with a zero or exceed 64 bits, and
    so do dates. A column without a name is called "column 1" by its place.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "trips.csv")
    ...     _ = file.write_text("id;cost\n007;1,5\n008;NA\n")
    ...     read_table(file, decimal=",").to_pylist()
    [{'id': '007', 'cost': 1.5}, {'id': '008', 'cost': None}]
    """
    origin = source(path)
    kind = kinds.kind(origin.head(kinds.HEAD), origin.name)
    if kind in ("csv", "gzip"):
        table = read_delimited(origin, delimiter=delimiter, decimal=decimal, encoding=encoding)
    else:
        table = read_columnar(origin, kind)
    origin.check_unchanged()
    return table
