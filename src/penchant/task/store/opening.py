"""Open a store: the right pragmas, one owner, the present schema."""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, insert, inspect, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool, QueuePool

from penchant.errors import DataError
from penchant.task.store.schema import MIGRATIONS, VERSION, meta, metadata

_URL = re.compile(r"^[a-z]+(\+[a-z0-9]+)?://")
WAL_BYTES = 16 * 2**20


def is_address(store: str) -> bool:
    """Whether a store is named by an address, not by a file."""
    return bool(_URL.match(store))


def engine_for(store: str) -> Engine:
    """Make connections to a store; nothing is opened yet.

    Parameters
    ----------
    store
        A file, or the address of a PostgreSQL database, postgresql://user@host/name.
    """
    if not is_address(store):
        return _sqlite(Path(store))
    if not store.startswith(("postgresql://", "postgresql+psycopg://")):
        kind = store.split(":", 1)[0]
        raise DataError(
            f"--store must be a file or postgresql://...; got {kind}://. Use one of these."
        )
    address = store.replace("postgresql://", "postgresql+psycopg://", 1)
    try:
        return create_engine(address, poolclass=QueuePool, pool_size=4, pool_pre_ping=True)
    except ModuleNotFoundError:
        raise DataError(
            "--store must be a file where psycopg is missing; got postgresql://. "
            "pip install 'penchant[postgresql]'."
        ) from None


def _sqlite(file: Path) -> Engine:
    engine = create_engine(
        f"sqlite:///{file}",
        poolclass=NullPool,
        connect_args={"check_same_thread": False, "timeout": 10},
    )

    @event.listens_for(engine, "connect")
    def connected(connection: sqlite3.Connection, record: Any) -> None:
        connection.isolation_level = None  # transactions begin where we say so
        for pragma in (
            "journal_mode = WAL",
            "synchronous = FULL",
            "foreign_keys = ON",
            "secure_delete = ON",
            f"journal_size_limit = {WAL_BYTES}",
        ):
            connection.execute(f"PRAGMA {pragma}").fetchall()

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def prepare(
    engine: Engine,
    *,
    version: int = VERSION,
    migrations: Mapping[int, Callable[[Connection], None]] = MIGRATIONS,
) -> None:
    """Make the tables, or bring an older store to the present version; a copy of it is kept."""
    try:
        found = schema_version(engine)
        if found is None:
            _create(engine, version)
        elif found > version:
            raise DataError(
                f"the store must be of version {version} or older; got {found}. It was made by a "
                "newer Penchant: install that one."
            )
        elif found < version:
            _migrate(engine, found, version, migrations)
    except SQLAlchemyError as error:
        shown = engine.url.render_as_string(hide_password=True)
        raise DataError(
            f"the store must be a database that can be opened; got {shown}: "
            f"{str(getattr(error, 'orig', error)).strip()}. Choose another with --store."
        ) from None


def schema_version(engine: Engine) -> int | None:
    """The version of the tables; None where there are none yet."""
    with engine.connect() as connection:
        names = inspect(connection).get_table_names()
        if not names:
            return None
        if "meta" not in names:
            raise DataError(
                f"the store must be one of Penchant's; got other tables ({', '.join(names[:3])}). "
                "Choose another with --store."
            )
        value = connection.scalar(select(meta.c.value).where(meta.c.key == "schema"))
    return int(value) if value is not None else None


def _create(engine: Engine, version: int) -> None:
    with _writing(engine) as connection:
        metadata.create_all(connection)
        if connection.scalar(select(meta.c.value).where(meta.c.key == "schema")) is None:
            made = {
                "schema": str(version),
                "seed": str(secrets.randbits(62)),
                "pseudonyms": secrets.token_hex(32),
            }
            rows = [{"key": key, "value": value} for key, value in made.items()]
            connection.execute(insert(meta), rows)


def _migrate(
    engine: Engine, found: int, version: int, migrations: Mapping[int, Callable[[Connection], None]]
) -> None:
    if engine.dialect.name == "sqlite":
        file = Path(str(engine.url.database))
        copy_sqlite(file, file.with_name(f"{file.name}.version-{found}-{int(time.time())}"))
    with _writing(engine) as connection:
        for step in range(found, version):
            if step not in migrations:
                raise DataError(
                    f"the store must be of a version that can be migrated; got {step}. "
                    "Export it with the Penchant that made it."
                )
            migrations[step](connection)
        connection.execute(update(meta).where(meta.c.key == "schema").values(value=str(version)))


def _writing(engine: Engine) -> Any:
    return engine.execution_options(writes=True).begin()


def copy_sqlite(file: Path, copy: Path) -> None:
    """Copy a store whole while others write to it."""
    handle = os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    os.close(handle)
    source, target = sqlite3.connect(file), sqlite3.connect(copy)
    try:
        source.backup(target, pages=512)
    finally:
        source.close()
        target.close()
