"""The store: durable, one owner, copies, versions; and what is told when it cannot write."""

import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="penchant[task] is not installed")

from sqlalchemy import insert, select, text

from penchant.errors import DataError
from penchant.task.session_store import (
    MAX_WAL_BYTES,
    SCHEMA_VERSION,
    NotSavedError,
    Store,
    backup_store,
    create_or_migrate_tables,
    decisions,
    exclusive_lock,
    make_engine,
    meta,
    remove_person,
    schema_version,
)
from task.conftest import come, take


def test_sqlite_writes_through_to_the_disk(file):
    store = Store(file)
    with store.read_connection() as connection:
        assert connection.scalar(text("PRAGMA journal_mode")) == "wal"
        assert connection.scalar(text("PRAGMA synchronous")) == 2  # FULL
        assert connection.scalar(text("PRAGMA foreign_keys")) == 1
    store.close()


def test_work_that_fails_undoes_itself_and_nothing_else(place):
    store = Store(place)

    def put(key, fails=False):
        def work(connection):
            connection.execute(insert(meta).values(key=key, value="1"))
            if fails:
                raise ValueError(key)

        return store.write(work)

    gate = threading.Event()
    first = store.write(lambda connection: gate.wait(5))
    futures = [put("one"), put("two", fails=True), put("three"), put("one")]
    gate.set()
    first.result()
    futures[0].result(), futures[2].result()
    with pytest.raises(ValueError, match="two"):
        futures[1].result()
    assert futures[3].exception() is not None  # the same key twice
    with store.read_connection() as connection:
        keys = connection.scalars(select(meta.c.key)).all()
    assert {"one", "three"} <= set(keys) and "two" not in keys
    store.close()


def test_a_full_disk_is_told_and_what_was_acknowledged_is_there(tmp_path):  # S04
    code = """
import resource, sys
from sqlalchemy import insert
from penchant.task.session_store import NotSavedError, Store
from penchant.task.session_store import meta
store = Store(sys.argv[1])
sys.dont_write_bytecode = True  # half of it would be kept
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
kept = refused = 0
for i in range(60):
    try:
        row = {"key": f"k{i}", "value": "x" * 20_000}
        store.write(lambda c: c.execute(insert(meta).values(row)).rowcount).result()
        kept += 1
    except NotSavedError:
        refused += 1
print(kept, refused)
"""
    file = tmp_path / "full.sqlite"
    ended = subprocess.run(
        [sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True
    )
    kept, refused = map(int, ended.stdout.split())
    assert kept > 0 and refused > 0
    with sqlite3.connect(file) as connection:
        rows = connection.execute("SELECT count(*) FROM meta WHERE key LIKE 'k%'").fetchone()
        assert rows[0] == kept
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write to read-only files"
)
def test_a_read_only_file_is_told(file):
    Store(file).close()
    os.chmod(file, 0o400)
    store = Store(file)
    with pytest.raises(NotSavedError):
        store.write(lambda c: c.execute(insert(meta).values(key="a", value="b"))).result()
    store.close()


def test_a_file_that_was_deleted_takes_no_more_writes(file):  # S04
    store = Store(file)
    os.unlink(file)
    with pytest.raises(NotSavedError, match="gone"):
        store.write(lambda c: c.execute(insert(meta).values(key="a", value="b"))).result()
    store.close()


def test_a_second_server_of_the_same_file_is_refused(tmp_path):  # S03
    refused = pytest.raises(DataError, match="--store must be served by one server")
    with exclusive_lock(tmp_path / "s.sqlite"), refused, exclusive_lock(tmp_path / "s.sqlite"):
        pass
    with exclusive_lock(tmp_path / "s.sqlite"):
        pass


def test_a_copy_is_whole_while_people_play(serving, file, tmp_path):  # S05
    service = serving(file)
    tokens = [come(service, f"p{i}") for i in range(3)]

    def play():
        for t in range(4):
            for token in tokens:
                take(service, token, t, t)

    playing = threading.Thread(target=play)
    playing.start()
    backup_store(file, tmp_path / "copy.sqlite")
    playing.join()
    with sqlite3.connect(tmp_path / "copy.sqlite") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = connection.execute(
            "SELECT session, max(decision), count(*) FROM decisions GROUP BY 1"
        )
        assert all(last == count - 1 for _, last, count in rows)
    with pytest.raises(DataError, match="output must not exist"):
        backup_store(file, tmp_path / "copy.sqlite")


def test_an_older_store_is_migrated_and_a_copy_kept(file, tmp_path):  # S06
    Store(file).close()

    def add_column(connection):
        connection.execute(text("ALTER TABLE sessions ADD COLUMN note TEXT"))

    engine = make_engine(file)
    create_or_migrate_tables(
        engine, version=SCHEMA_VERSION + 1, migrations={SCHEMA_VERSION: add_column}
    )
    assert schema_version(engine) == SCHEMA_VERSION + 1
    (copy,) = tmp_path.glob("study.sqlite.version-*")
    assert schema_version(make_engine(str(copy))) == SCHEMA_VERSION
    with engine.connect() as connection:
        connection.execute(text("SELECT note FROM sessions")).all()
    engine.dispose()
    with pytest.raises(
        DataError, match=f"must be of version {SCHEMA_VERSION} or older; got {SCHEMA_VERSION + 1}"
    ):
        Store(file)


def test_a_migration_that_fails_leaves_the_old_version(place):  # S06
    Store(place).close()

    def breaks(connection):
        connection.execute(text("CREATE TABLE half (a INTEGER)"))
        raise RuntimeError("stop")

    engine = make_engine(place)
    with pytest.raises(RuntimeError):
        create_or_migrate_tables(
            engine, version=SCHEMA_VERSION + 1, migrations={SCHEMA_VERSION: breaks}
        )
    assert schema_version(engine) == SCHEMA_VERSION
    with engine.connect() as connection, pytest.raises(Exception, match="half"):
        connection.execute(text("SELECT * FROM half"))
    engine.dispose()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no/such/place.sqlite", "must be a file in an existing directory"),
        ("mysql://x/y", "must be a file or postgresql://"),
    ],
)
def test_a_store_that_cannot_be_is_refused(tmp_path, name, said):
    with pytest.raises(DataError, match=said):
        Store(name if "://" in name else str(tmp_path / name))


def test_another_kind_of_file_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("keep these notes for later")
    with pytest.raises(DataError, match="another kind of file"):
        Store(str(tmp_path / "notes.txt"))
    other = sqlite3.connect(tmp_path / "other.sqlite")
    other.execute("CREATE TABLE mine (a)")
    other.commit()
    other.close()
    with pytest.raises(DataError, match=r"got other tables \(mine\)"):
        Store(str(tmp_path / "other.sqlite"))


def test_the_log_stays_bounded(file):  # S64
    store = Store(file)
    for i in range(40):
        rows = [{"key": f"{i}-{j}", "value": "x" * 10_000} for j in range(120)]
        store.write(lambda c, rows=rows: c.execute(insert(meta), rows).rowcount).result()
    written = 40 * 120 * 10_000
    assert os.path.getsize(file + "-wal") < MAX_WAL_BYTES + 4 * 2**20 < written
    store.close()


def test_a_forgotten_person_is_nowhere_in_the_file(serving, file):
    service = serving(file)
    for who in ("remembered-person", "forgotten-person"):
        token = come(service, who)
        take(service, token, 0, 3)
    assert remove_person(service.store, "forgotten-person") == 1
    with service.store.read_connection() as connection:
        assert len(connection.execute(select(decisions)).all()) == 1
    data = b"".join(Path(file + end).read_bytes() for end in ("", "-wal"))
    assert b"remembered-person" in data and b"forgotten-person" not in data
    with pytest.raises(DataError, match="ID must be an id or a pseudonym"):
        remove_person(service.store, "forgotten-person")


def test_a_person_can_be_forgotten_by_pseudonym(serving, place):
    service = serving(place)
    come(service, "nora")
    assert remove_person(service.store, service.pseudonym("nora")) == 1
