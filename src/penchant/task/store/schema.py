"""The tables of a store, and how an older one becomes the present one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
)

VERSION = 1
MIGRATIONS: Mapping[int, Callable[[Connection], None]] = {}
"""For each older version, what makes the next one of it."""

metadata = MetaData()
_whole = BigInteger().with_variant(Integer, "sqlite")  # where alone a key counts up by itself
_session = "sessions.session"

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
    Column("session", _whole, primary_key=True, autoincrement=True),
    Column("token", Text, nullable=False, unique=True),  # a hash of it
    Column("version", Text, ForeignKey("studies.version"), nullable=False),
    Column("pseudonym", Text, nullable=False),
    Column("arrived", Float, nullable=False),
    Column("seen", Float, nullable=False),
    Column("stage", Text, nullable=False),
    Column("outcome", Text),
    Column("consent", Text),  # the version that was consented to
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
    sqlite_autoincrement=True,  # no number is given twice
)
people = Table(
    "people",
    metadata,
    Column("session", _whole, ForeignKey(_session, ondelete="CASCADE"), primary_key=True),
    Column("platform_id", Text, nullable=False, index=True),
)
decisions = Table(
    "decisions",
    metadata,
    Column("session", _whole, ForeignKey(_session, ondelete="CASCADE"), primary_key=True),
    Column("block", Integer, primary_key=True),
    Column("decision", Integer, primary_key=True),
    Column("option", Integer, nullable=False),
    Column("reward", Float),
    Column("auto", Boolean, nullable=False),
    Column("received", Float, nullable=False),
    Column("elapsed", Float),  # seconds since the onset, by the steady clock of the server
    Column("client", Text, nullable=False),  # what the page measured, as JSON
    Index("decisions_by_time", "received"),
)
events = Table(
    "events",
    metadata,
    Column("event", _whole, primary_key=True, autoincrement=True),
    Column("session", _whole, ForeignKey(_session, ondelete="CASCADE"), nullable=False),
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
