"""The commands `serve`, `export`, `forget` and `backup` of a study in the browser."""

from __future__ import annotations

import ipaddress
import json
import os
import secrets
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penchant.cli.live_options import ServeOptions
from penchant.cli.study_rehearsal import read_plan
from penchant.cli.terminal import say
from penchant.errors import DataError
from penchant.task.export import StoreExport, export, study_overview_json
from penchant.task.server import serve
from penchant.task.session_store import Store, backup_store, remove_person
from penchant.task.study_plan import StudyPlan

TOKEN_VARIABLE = "PENCHANT_TOKEN"
MIN_TOKEN_CHARACTERS = 22  # characters: 128 bits


def run_serve(file: str | None, serve_options: ServeOptions) -> int:
    """Run `serve`: serve a study until it is stopped; return the exit code."""
    _serve(read_plan(file), serve_options.store or _default_store(file), serve_options)
    return 0


def run_status(file: str | None, serve_options: ServeOptions, *, as_json: bool) -> int:
    """Run `serve --status`: print how many people are at which stage; return the exit code."""
    return _say_status(serve_options.store or _default_store(file), as_json=as_json)


def _default_store(file: str | None) -> str:
    if file is None:
        return "penchant-demonstration.sqlite"
    return str(Path(file).with_suffix(".sqlite"))


def _serve(plan: StudyPlan, store: str, serve_options: ServeOptions) -> None:
    token, is_given = _researcher_token(serve_options.host)
    where = store if "://" not in store else store.split("://")[0] + "://..."

    def started(address: str) -> None:
        print(f"Study: {address}/", flush=True)
        fragment = "" if is_given else f"#{token}"
        print(f"Researcher: {address}/researcher{fragment}", flush=True)
        say(f"Data: {where}. Stop with Ctrl-C; the same command goes on.")

    with _ignore_signals():
        serve(
            plan,
            store,
            host=serve_options.host,
            port=serve_options.port,
            token=token,
            with_estimates=not serve_options.no_estimates,
            frame_ancestors=_frame_ancestors(serve_options.frame),
            started=started,
        )
    say("Stopped; everything that was acknowledged is saved.")


def _researcher_token(host: str) -> tuple[str, bool]:
    """The researcher's token, and whether it was given."""
    token = os.environ.get(TOKEN_VARIABLE, "")
    if token:
        if len(token) < MIN_TOKEN_CHARACTERS:
            raise DataError(
                TOKEN_VARIABLE,
                f"must have at least {MIN_TOKEN_CHARACTERS} characters",
                got=len(token),
                fix="Make one with: python -c 'import secrets; print(secrets.token_urlsafe(24))'.",
            )
        return token, True
    if not _is_local(host):
        raise DataError(
            TOKEN_VARIABLE,
            "must be set to serve at a public address",
            got=f"none for --host {host}",
            fix="Make one with: python -c 'import secrets; print(secrets.token_urlsafe(24))'.",
        )
    return secrets.token_urlsafe(24), False


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _frame_ancestors(frame: str | None) -> str:
    if frame is None:
        return "'none'"
    if not frame.startswith("https://") or any(c in frame[8:] for c in "/;, '\"*?#"):
        raise DataError(
            "--frame",
            "must be an origin",
            got=repr(frame),
            fix="Write https://app.prolific.com, say.",
        )
    return frame


@contextmanager
def _ignore_signals() -> Iterator[None]:
    """Ignore SIGINT and SIGTERM in Python, as the server handles them itself."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say_status(store: str, *, as_json: bool) -> int:
    opened = Store(store, must_exist=True)
    try:
        plans = StoreExport(opened).plans
        with opened.read_connection() as connection:
            found = study_overview_json(connection, plans.__getitem__, time.time())
    finally:
        opened.close()
    if as_json:
        print(json.dumps({key: found[key] for key in ("funnel", "outcomes", "cells", "decisions")}))
        return 0
    print(", ".join(f"{count} {stage}" for stage, count in found["funnel"].items()))
    print(f"{found['decisions']} choices")
    for cell in found["cells"]:
        print(f"  {cell['condition']}: {cell['assigned']} assigned, {cell['finished']} finished")
    stalled = sum(one["stalled"] for one in found["people"])
    if stalled:
        print(f"  {stalled} stalled")
    return 0


def run_export(store: str | None, folder: Path | None, *, with_ids: bool) -> int:
    """Run `export`: write the data of a study to a folder; return the exit code."""
    if store is None or folder is None:
        missing = "STORE" if store is None else "--output"
        raise DataError(
            missing, "must be given", got="none", fix="penchant export STORE -o FOLDER."
        )
    opened = Store(store, must_exist=True)
    try:
        summary = export(opened, folder, with_ids=with_ids)
    finally:
        opened.close()
    for name, count in summary.counts.items():
        say(f"{name}: {count} choices")
    for note in summary.notes:
        say(f"Note: {note}")
    say(f"Written: {folder}." + ("" if summary.tasks else " Nobody has made a choice yet."))
    for command in summary.commands(folder, "results"):
        say(f"Next: {command}")
    return 0


def run_forget(store: str, who: str) -> int:
    """Run `forget`: remove a person from a store; return the exit code."""
    opened = Store(store, must_exist=True)
    try:
        count = remove_person(opened, who)
    finally:
        opened.close()
    say(
        f"Removed: {count} session{'s' if count > 1 else ''}. Copies and exports are yours to mend."
    )
    return 0


def run_backup(store: str, copy: Path | None, *, overwrite: bool) -> int:
    """Run `backup`: copy a store; return the exit code."""
    if copy is None:
        raise DataError(
            "--output", "must name a file", got="none", fix="penchant backup STORE -o FILE."
        )
    backup_store(store, copy, overwrite=overwrite)
    say(f"Written: {copy}")
    return 0
