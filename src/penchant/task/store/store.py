"""A store: reads at any time, writes one after another, many in one durable commit."""

from __future__ import annotations

import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from penchant.errors import DataError
from penchant.task.store.opening import engine_for, is_address, prepare
from penchant.task.store.schema import meta

Result = TypeVar("Result")
TOGETHER = 64  # writes in one commit
WAITING = 512  # writes that may wait; more are refused


class NotSavedError(RuntimeError):
    """A write is not in the store, and the one who asked for it must be told."""


class BusyError(RuntimeError):
    """More writes wait than the store can take."""


@dataclass
class _Job:
    work: Callable[[Connection], Any]
    done: Future[Any]


class Store:
    """Sessions and choices on a disk.

    One thread writes. It takes all that waits, commits it together, and answers when the disk has
    it: so one commit, a few milliseconds, serves everybody who came meanwhile.
    """

    def __init__(self, store: str, *, waiting: int = WAITING, must_exist: bool = False) -> None:
        self.name = store
        self.file = None if is_address(store) else Path(store)
        if self.file is not None:
            _check_file(self.file, must_exist)
        self.engine: Engine = engine_for(store)
        prepare(self.engine)
        self._inode = self._identity()
        self._jobs: queue.Queue[_Job | None] = queue.Queue()
        self._waiting = waiting
        self._thread: threading.Thread | None = None
        self._closed = False

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file."""
        return self.file is not None

    def setting(self, key: str) -> str:
        """A value that was drawn when the store was made."""
        with self.reading() as connection:
            value = connection.scalar(select(meta.c.value).where(meta.c.key == key))
        return str(value)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to read with; keep it short, as the log grows meanwhile."""
        try:
            with self.engine.connect() as connection:
                yield connection
        except DBAPIError as error:
            raise NotSavedError(_reason(error)) from error

    def write(self, work: Callable[[Connection], Result]) -> Future[Result]:
        """Do some work in a transaction; the future is done when it is on the disk.

        An error that the work raises undoes it, and it alone.
        """
        done: Future[Result] = Future()
        if self._closed:
            done.set_exception(BusyError("the server is stopping"))
            return done
        if self._jobs.qsize() >= self._waiting:
            done.set_exception(BusyError("too many writes wait"))
            return done
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="store", daemon=True)
            self._thread.start()
        self._jobs.put(_Job(work, done))
        return done

    def close(self) -> None:
        """Write what waits, then end."""
        self._closed = True
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None
        self.engine.dispose()

    def _work(self) -> None:
        connection: Connection | None = None
        while (first := self._jobs.get()) is not None:
            jobs, last = [first], False
            while len(jobs) < TOGETHER:
                try:
                    job = self._jobs.get_nowait()
                except queue.Empty:
                    break
                if job is None:
                    last = True
                    break
                jobs.append(job)
            connection = self._commit(connection, jobs)
            if last:
                break
        if connection is not None:
            connection.close()

    def _commit(self, connection: Connection | None, jobs: list[_Job]) -> Connection | None:
        """Do all work in one transaction; a new connection is made after a failure."""
        results: list[tuple[_Job, Any, BaseException | None]] = []
        try:
            self._check_still_there()
            if connection is None:
                connection = self.engine.execution_options(writes=True).connect()
            with connection.begin():
                for job in jobs:
                    results.append((job, *_in_savepoint(connection, job)))
                self._check_still_there()
            self._check_still_there()
        except (SQLAlchemyError, sqlite3.Error, OSError, NotSavedError) as error:
            if connection is not None:
                with suppress(SQLAlchemyError):
                    connection.invalidate()
                with suppress(SQLAlchemyError):
                    connection.close()
            for job in jobs:
                job.done.set_exception(NotSavedError(_reason(error)))
            return None
        for job, result, failure in results:
            if failure is not None:
                job.done.set_exception(failure)
            else:
                job.done.set_result(result)
        return connection

    def _identity(self) -> tuple[int, int] | None:
        if self.file is None:
            return None
        found = os.stat(self.file)
        return found.st_dev, found.st_ino

    def _check_still_there(self) -> None:
        """A file that was deleted takes writes which nobody will ever read."""
        try:
            same = self._identity() == self._inode
        except OSError:
            same = False
        if not same:
            raise NotSavedError("the file of the store is gone")


class _Savepoint:
    """A savepoint of SQLite, asked for of the driver: through all layers it costs far more."""

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


def _in_savepoint(connection: Connection, job: _Job) -> tuple[Any, BaseException | None]:
    is_sqlite = connection.dialect.name == "sqlite"
    for attempt in (1, 2):
        inner = _Savepoint(connection) if is_sqlite else connection.begin_nested()
        try:
            result = job.work(connection)
            inner.commit()
            return result, None
        except IntegrityError as error:  # another server was first: look again
            inner.rollback()
            if attempt == 2:
                return None, error
        except DBAPIError:
            raise
        except Exception as error:
            inner.rollback()
            return None, error
    raise AssertionError("unreachable")


def _reason(error: BaseException) -> str:
    return str(getattr(error, "orig", None) or error).strip() or type(error).__name__


def _check_file(file: Path, must_exist: bool) -> None:
    if must_exist and not file.exists():
        raise DataError(f"STORE must be a store of penchant serve; got no file {file}. Correct it.")
    if file.is_dir() or not file.resolve().parent.is_dir():
        raise DataError(
            f"--store must be a file in an existing directory; got {file}. Choose another place."
        )
    if file.exists() and file.stat().st_size:
        with file.open("rb") as stream:
            if stream.read(15) != b"SQLite format 3":
                raise DataError(
                    f"--store must be a store of penchant serve; got {file}, another kind of "
                    "file. Choose another name."
                )
