"""Durable store of sessions and choices: SQLite in WAL mode, or PostgreSQL by its address.

Schema and migrations; a single writer thread with group commit (queued writes share one commit, an
error rolls back to a savepoint); reads at any time; an advisory lock so that one server serves a
file; online backup; removal of people. Relies on SQLAlchemy Core.
"""

from __future__ import annotations

import os
import queue
import re
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Engine,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    create_engine,
    delete,
    event,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.pool import NullPool, QueuePool

from penchant.errors import DataError
from penchant.files.atomic_files import atomic_write

SCHEMA_VERSION = 1  # raise it with every change of the tables, with a migration from the old one
MIGRATIONS: Mapping[int, Callable[[Connection], None]] = {}
"""Functions that migrate each older version to the next."""

metadata = MetaData()
# SQLite numbers rows by itself only where the key is declared INTEGER
_key_type = BigInteger().with_variant(Integer, "sqlite")
_SESSION_KEY = "sessions.session"

meta = Table(
    "meta",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
studies = Table(
    "studies",
    metadata,
    Column("version", Text, primary_key=True),
    Column("document", Text, nullable=False),
    Column("first_served", Float, nullable=False),
)
sessions = Table(
    "sessions",
    metadata,
    Column("session", _key_type, primary_key=True, autoincrement=True),
    Column(
        "token", Text, nullable=False, unique=True
    ),  # as a hash: who reads the file cannot act for people
    Column("version", Text, ForeignKey("studies.version"), nullable=False),
    Column("pseudonym", Text, nullable=False),
    Column("arrived", Float, nullable=False),
    Column("seen", Float, nullable=False),
    Column("stage", Text, nullable=False),
    Column("outcome", Text),
    Column("consent", Text),  # the version of the text, which a lab may change during a study
    Column("cell", Integer),
    Column("attempts", Integer, nullable=False),
    Column("block", Integer, nullable=False),
    Column("decision", Integer, nullable=False),
    Column("tab", Integer, nullable=False),
    Column("onset_wall", Float),
    Column("onset_steady", Float),
    Column("onset_boot", Text),
    Column("total", Float, nullable=False),
    Index("sessions_by_pseudonym", "pseudonym"),
    sqlite_autoincrement=True,  # a removed person's number, and so rewards, must not be given again
)
people = Table(
    "people",
    metadata,
    Column("session", _key_type, ForeignKey(_SESSION_KEY, ondelete="CASCADE"), primary_key=True),
    Column("platform_id", Text, nullable=False, index=True),
)
decisions = Table(
    "decisions",
    metadata,
    Column("session", _key_type, ForeignKey(_SESSION_KEY, ondelete="CASCADE"), primary_key=True),
    Column("block", Integer, primary_key=True),
    Column("decision", Integer, primary_key=True),
    Column("option", Integer, nullable=False),
    Column("reward", Float),
    Column("auto", Boolean, nullable=False),
    Column("received", Float, nullable=False),
    # in seconds by the steady clock, since the clock of the day may be set while people play
    Column("elapsed", Float),
    Column("client", Text, nullable=False),
    Index("decisions_by_time", "received"),
)
events = Table(
    "events",
    metadata,
    Column("event", _key_type, primary_key=True, autoincrement=True),
    Column("session", _key_type, ForeignKey(_SESSION_KEY, ondelete="CASCADE"), nullable=False),
    Column("received", Float, nullable=False),
    Column("kind", Text, nullable=False),
    Column("data", Text, nullable=False),
    Index("events_by_session", "session"),
    sqlite_autoincrement=True,
)
observers = Table(
    "observers",
    metadata,
    Column("observer", Text, primary_key=True),
    Column("model", Text, nullable=False),
    Column("made", Float, nullable=False),
)
observations = Table(
    "observations",
    metadata,
    Column(
        "observer", Text, ForeignKey("observers.observer", ondelete="CASCADE"), primary_key=True
    ),
    Column("number", Integer, primary_key=True),
    Column("chosen", Integer, nullable=False),
    Column("reward", Float, nullable=False),
    Column("received", Float, nullable=False),
)


_URL = re.compile(r"^[a-z]+(\+[a-z0-9]+)?://")
MAX_WAL_BYTES = 16 * 2**20  # cut to this at a checkpoint: a WAL that grew once keeps its size else


def is_database_url(store: str) -> bool:
    """Whether a store is named by an address, not by a file."""
    return bool(_URL.match(store))


def make_engine(store: str) -> Engine:
    """Make an engine for a store; nothing is opened yet.

    Parameters
    ----------
    store
        A file, or the address of a PostgreSQL database, postgresql://user@host/name.
    """
    if not is_database_url(store):
        return _sqlite_engine(Path(store))
    if not store.startswith(("postgresql://", "postgresql+psycopg://")):
        kind = store.split(":", 1)[0]
        raise DataError(
            "--store",
            "must be a file or postgresql://...",
            got=f"{kind}://",
            fix="Use one of these.",
        )
    address = store.replace("postgresql://", "postgresql+psycopg://", 1)
    try:
        return create_engine(address, poolclass=QueuePool, pool_size=4, pool_pre_ping=True)
    except ModuleNotFoundError:
        raise DataError(
            "--store",
            "must be a file where psycopg is missing",
            got="postgresql://",
            fix="pip install 'penchant[postgresql]'.",
        ) from None


def _sqlite_engine(file: Path) -> Engine:
    engine = create_engine(
        f"sqlite:///{file}",
        poolclass=NullPool,  # a connection is never shared by threads, and opening a file is cheap
        connect_args={"check_same_thread": False, "timeout": 10},
    )

    @event.listens_for(engine, "connect")
    def connected(connection: sqlite3.Connection, record: Any) -> None:
        connection.isolation_level = (
            None  # the driver's own BEGIN would come before that of `begun`
        )
        for pragma in (
            "journal_mode = WAL",  # otherwise exports would wait for writes, and writes for exports
            "synchronous = FULL",  # NORMAL can lose acknowledged commits when the power fails
            "foreign_keys = ON",
            "secure_delete = ON",  # people who were forgotten would stay readable in free pages
            f"journal_size_limit = {MAX_WAL_BYTES}",
        ):
            connection.execute(f"PRAGMA {pragma}").fetchall()

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        # a deferred transaction can fail as busy when it turns to writing, so writers lock at once
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def create_or_migrate_tables(
    engine: Engine,
    *,
    version: int = SCHEMA_VERSION,
    migrations: Mapping[int, Callable[[Connection], None]] = MIGRATIONS,
) -> None:
    """Create the tables, or migrate an older store and keep a copy of it."""
    try:
        found = schema_version(engine)
        if found is None:
            _create_tables(engine, version)
        elif found > version:
            raise DataError(
                "the store",
                f"must be of version {version} or older",
                got=found,
                fix="It was made by a newer Penchant: install that one.",
            )
        elif found < version:
            _migrate_tables(engine, found, version, migrations)
    except SQLAlchemyError as error:
        shown = engine.url.render_as_string(hide_password=True)
        raise DataError(
            "the store",
            "must be a database that can be opened",
            got=f"{shown}: {str(getattr(error, 'orig', error)).strip()}",
            fix="Choose another with --store.",
        ) from None


def schema_version(engine: Engine) -> int | None:
    """Version of the tables; None where there are none yet."""
    with engine.connect() as connection:
        names = inspect(connection).get_table_names()
        if not names:
            return None
        if "meta" not in names:
            raise DataError(
                "the store",
                "must be one of Penchant's",
                got=f"other tables ({', '.join(names[:3])})",
                fix="Choose another with --store.",
            )
        value = connection.scalar(select(meta.c.value).where(meta.c.key == "schema"))
    return int(value) if value is not None else None


def _create_tables(engine: Engine, version: int) -> None:
    with _begin_write_transaction(engine) as connection:
        metadata.create_all(connection)
        if connection.scalar(select(meta.c.value).where(meta.c.key == "schema")) is None:
            made = {
                "schema": str(version),
                "seed": str(secrets.randbits(62)),
                "pseudonyms": secrets.token_hex(32),
            }
            rows = [{"key": key, "value": value} for key, value in made.items()]
            connection.execute(insert(meta), rows)


def _migrate_tables(
    engine: Engine,
    old_version: int,
    version: int,
    migrations: Mapping[int, Callable[[Connection], None]],
) -> None:
    if engine.dialect.name == "sqlite":  # a file can be copied here; PostgreSQL has pg_dump
        file = Path(str(engine.url.database))
        copy_sqlite(file, file.with_name(f"{file.name}.version-{old_version}-{int(time.time())}"))
    with _begin_write_transaction(engine) as connection:
        for step in range(old_version, version):
            if step not in migrations:
                raise DataError(
                    "the store",
                    "must be of a version that can be migrated",
                    got=step,
                    fix="Export it with the Penchant that made it.",
                )
            migrations[step](connection)
        connection.execute(update(meta).where(meta.c.key == "schema").values(value=str(version)))


def _begin_write_transaction(engine: Engine) -> Any:
    return engine.execution_options(writes=True).begin()


def copy_sqlite(file: Path, copy: Path) -> None:
    """Copy a store whole while others write to it."""
    # created first with narrow rights, because the copy holds ids of people
    handle = os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    os.close(handle)
    source, target = sqlite3.connect(file), sqlite3.connect(copy)
    try:
        source.backup(target, pages=512)  # in one step, writers would wait for the whole copy
    finally:
        source.close()
        target.close()


Result = TypeVar("Result")
MAX_WRITES_PER_COMMIT = 64  # all of them fail if their commit does; fewer share its cost less
MAX_QUEUED_WRITES = (
    512  # more are refused at once: the last in a longer queue would be answered too late
)


class NotSavedError(RuntimeError):
    """A write that is not in the store; its client must be told."""


class StoreBusyError(RuntimeError):
    """A write refused because too many are queued."""


@dataclass
class _QueuedWrite:
    work: Callable[[Connection], Any]
    done: Future[Any]


class Store:
    """Sessions and choices on disk.

    One thread writes. It takes all queued writes, commits them together, and answers when they are
    on disk: one commit of a few milliseconds serves everybody who came meanwhile.
    """

    def __init__(
        self, store: str, *, waiting: int = MAX_QUEUED_WRITES, must_exist: bool = False
    ) -> None:
        self.name = store
        self.file = None if is_database_url(store) else Path(store)
        if self.file is not None:
            _check_store_file(self.file, must_exist)
        self.engine: Engine = make_engine(store)
        create_or_migrate_tables(self.engine)
        self._inode = self._file_identity()
        self._queue: queue.Queue[_QueuedWrite | None] = queue.Queue()
        self._max_queued = waiting
        self._thread: threading.Thread | None = None
        self._closed = False

    @property
    def is_sqlite(self) -> bool:
        """Whether the store is an SQLite file."""
        return self.file is not None

    def stored_setting(self, key: str) -> str:
        """Setting that was drawn when the store was created."""
        with self.read_connection() as connection:
            value = connection.scalar(select(meta.c.value).where(meta.c.key == key))
        return str(value)

    @contextmanager
    def read_connection(self) -> Iterator[Connection]:
        """Connection for reading; keep it short, as open readers let the WAL grow."""
        try:
            with self.engine.connect() as connection:
                yield connection
        except DBAPIError as error:
            raise NotSavedError(_error_message(error)) from error

    def write(self, work: Callable[[Connection], Result]) -> Future[Result]:
        """Queue work for a transaction; the future is done when it is on disk.

        An error that the work raises rolls back this work alone.
        """
        done: Future[Result] = Future()
        if self._closed:
            done.set_exception(StoreBusyError("the server is stopping"))
            return done
        if self._queue.qsize() >= self._max_queued:
            done.set_exception(StoreBusyError("too many writes wait"))
            return done
        if self._thread is None:  # started late: exports only read, and need no thread
            self._thread = threading.Thread(target=self._write_loop, name="store", daemon=True)
            self._thread.start()
        self._queue.put(_QueuedWrite(work, done))
        return done

    def close(self) -> None:
        """Commit all queued writes, then end."""
        self._closed = True
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None
        self.engine.dispose()

    def _write_loop(self) -> None:
        connection: Connection | None = None
        while (first := self._queue.get()) is not None:
            jobs, last = [first], False
            while len(jobs) < MAX_WRITES_PER_COMMIT:
                try:
                    job = self._queue.get_nowait()
                except queue.Empty:
                    break
                if job is None:
                    last = True
                    break
                jobs.append(job)
            connection = self._commit_writes(connection, jobs)
            if last:
                break
        if connection is not None:
            connection.close()

    def _commit_writes(
        self, connection: Connection | None, jobs: list[_QueuedWrite]
    ) -> Connection | None:
        """Commit all writes in one transaction; None after a failure, for a new connection."""
        results: list[tuple[_QueuedWrite, Any, BaseException | None]] = []
        try:
            # checked before, inside and after: wherever the file vanishes, nobody is told "saved"
            self._check_file_exists()
            if connection is None:
                connection = self.engine.execution_options(writes=True).connect()
            with connection.begin():
                for job in jobs:
                    results.append((job, *_result_or_error_in_savepoint(connection, job)))
                self._check_file_exists()
            self._check_file_exists()
        except (SQLAlchemyError, sqlite3.Error, OSError, NotSavedError) as error:
            if connection is not None:
                with suppress(SQLAlchemyError):
                    connection.invalidate()
                with suppress(SQLAlchemyError):
                    connection.close()
            for job in jobs:
                job.done.set_exception(NotSavedError(_error_message(error)))
            return None
        # only now, after the commit, may anybody be told that a write is safe
        for job, result, failure in results:
            if failure is not None:
                job.done.set_exception(failure)
            else:
                job.done.set_result(result)
        return connection

    def _file_identity(self) -> tuple[int, int] | None:
        if self.file is None:
            return None
        found = os.stat(self.file)
        return found.st_dev, found.st_ino

    def _check_file_exists(self) -> None:
        """Refuse to write to a deleted file: SQLite would write to the unlinked inode."""
        try:
            same = self._file_identity() == self._inode
        except OSError:
            same = False
        if not same:
            raise NotSavedError("the file of the store is gone")


class _Savepoint:
    """Savepoint of SQLite on the driver's connection: SQLAlchemy's own costs far more."""

    def __init__(self, connection: Connection) -> None:
        driver: Any = connection.connection.driver_connection
        self._execute = driver.execute
        self._execute("SAVEPOINT one")

    def commit(self) -> None:
        """Keep what was done."""
        self._execute("RELEASE one")

    def rollback(self) -> None:
        """Undo it."""
        self._execute("ROLLBACK TO one")
        self._execute("RELEASE one")


def _result_or_error_in_savepoint(
    connection: Connection, job: _QueuedWrite
) -> tuple[Any, BaseException | None]:
    is_sqlite = connection.dialect.name == "sqlite"
    for attempt in (1, 2):
        inner = _Savepoint(connection) if is_sqlite else connection.begin_nested()
        try:
            result = job.work(connection)
            inner.commit()
            return result, None
        except IntegrityError as error:  # another server was first: a second attempt finds its row
            inner.rollback()
            if attempt == 2:
                return None, error
        except DBAPIError:  # the connection may be broken: the whole commit fails
            raise
        except Exception as error:
            inner.rollback()
            return None, error
    raise AssertionError("unreachable")


def _error_message(error: BaseException) -> str:
    return str(getattr(error, "orig", None) or error).strip() or type(error).__name__


def _check_store_file(file: Path, must_exist: bool) -> None:
    if must_exist and not file.exists():
        raise DataError(
            "STORE", "must be a store of penchant serve", got=f"no file {file}", fix="Correct it."
        )
    if file.is_dir() or not file.resolve().parent.is_dir():
        raise DataError(
            "--store",
            "must be a file in an existing directory",
            got=file,
            fix="Choose another place.",
        )
    if file.exists() and file.stat().st_size:  # SQLite takes an empty file for a new database
        with file.open("rb") as stream:
            if stream.read(15) != b"SQLite format 3":
                raise DataError(
                    "--store",
                    "must be a store of penchant serve",
                    got=f"{file}, another kind of file",
                    fix="Choose another name.",
                )


@contextmanager
def exclusive_lock(file: Path) -> Iterator[None]:
    """Hold the lock that keeps a second server from the same file."""
    lock = file.resolve().with_name(f".{file.name}.serving")
    try:
        handle = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise DataError(
            "--store",
            "must lie where files can be written",
            got=f"{file}: {error.strerror}",
            fix="Choose another place.",
        ) from None
    try:
        if not _try_lock(handle):
            raise DataError(
                "--store",
                "must be served by one server",
                got=f"{file}, which another serves",
                fix="Stop that one, or use PostgreSQL for several.",
            )
        yield
    finally:
        os.close(handle)  # releases the lock; so does a crash, and no stale lock file stays


def _try_lock(handle: int) -> bool:
    try:
        import fcntl
    except ModuleNotFoundError:  # fcntl is of Unix only
        import msvcrt

        with suppress(OSError):
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]  # Windows only
            return True
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def remove_person(store: Store, id_or_pseudonym: str) -> int:
    """Remove a person: sessions, choices, events and id.

    Parameters
    ----------
    store
        Where they are.
    id_or_pseudonym
        The id of the recruiting platform, or the pseudonym of an export.

    Returns
    -------
    How many sessions were removed.
    """

    def work(connection: Connection) -> int:
        by_id = select(people.c.session).where(people.c.platform_id == id_or_pseudonym)
        found = connection.execute(
            delete(sessions).where(
                sessions.c.session.in_(by_id) | (sessions.c.pseudonym == id_or_pseudonym)
            )
        )
        return found.rowcount

    count = store.write(work).result()
    if not count:
        raise DataError(
            "ID",
            "must be an id or a pseudonym of somebody in the store",
            got=repr(id_or_pseudonym),
            fix="Look it up in an export.",
        )
    if store.is_sqlite:
        _truncate_wal(store)
    return count


def _truncate_wal(store: Store) -> None:
    """Truncate the WAL, so that removed rows do not stay in it (unless a reader holds it)."""
    with store.engine.connect() as connection:
        raw = connection.connection.dbapi_connection
        assert raw is not None
        raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def backup_store(store: str, copy: str | Path, *, overwrite: bool = False) -> Path:
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
        raise DataError(
            "STORE", "must be a file", got="an address", fix="Use pg_dump for PostgreSQL."
        )
    with atomic_write(copy, overwrite=overwrite) as temporary:
        # `copy_sqlite` creates its file exclusively, so the empty one must go first
        os.unlink(temporary)
        copy_sqlite(source.file, temporary)
    return Path(copy)
