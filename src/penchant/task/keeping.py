"""Copies of a store, and people who want to be forgotten."""

from __future__ import annotations

import os
from pathlib import Path

from sqlalchemy import Connection, delete, select

from penchant.errors import DataError
from penchant.files.atomic import written
from penchant.task.store.opening import copy_sqlite
from penchant.task.store.schema import people, sessions
from penchant.task.store.store import Store


def forget(store: Store, who: str) -> int:
    """Remove a person: sessions, choices, events and id.

    Parameters
    ----------
    store
        Where they are.
    who
        The id of the recruiting platform, or the pseudonym of an export.

    Returns
    -------
    How many sessions were removed.
    """

    def work(connection: Connection) -> int:
        by_id = select(people.c.session).where(people.c.platform_id == who)
        found = connection.execute(
            delete(sessions).where(sessions.c.session.in_(by_id) | (sessions.c.pseudonym == who))
        )
        return found.rowcount

    count = store.write(work).result()
    if not count:
        raise DataError(
            f"ID must be an id or a pseudonym of somebody in the store; got {who!r}. Look it up "
            "in an export."
        )
    if store.is_sqlite:
        _checkpoint(store)
    return count


def _checkpoint(store: Store) -> None:
    """Take what was removed out of the log, too, as far as nobody reads it now."""
    with store.engine.connect() as connection:
        raw = connection.connection.dbapi_connection
        assert raw is not None
        raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def backup(store: str, copy: str | Path, *, overwrite: bool = False) -> Path:
    """Copy a store whole, while people play.

    Parameters
    ----------
    store
        A file; databases of PostgreSQL have their own tool, pg_dump.
    copy
        The file to be written.
    overwrite
        Whether it may replace one that exists.
    """
    source = Store(store, must_exist=True)
    source.close()
    if source.file is None:
        raise DataError("STORE must be a file; got an address. Use pg_dump for PostgreSQL.")
    with written(copy, overwrite=overwrite) as temporary:
        os.unlink(temporary)
        copy_sqlite(source.file, temporary)
    return Path(copy)
