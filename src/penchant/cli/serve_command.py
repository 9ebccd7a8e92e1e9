"""What `serve`, `export`, `forget` and `backup` do."""

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

from penchant.cli.live_options import Served
from penchant.cli.study_rehearsal import planned
from penchant.cli.terminal import say
from penchant.errors import DataError
from penchant.task.export import StoreExport, export, study_overview_json
from penchant.task.server import serve
from penchant.task.session_store import Store, backup_store, remove_person
from penchant.task.study_plan import StudyPlan

TOKEN = "PENCHANT_TOKEN"
LEAST_TOKEN = 22  # characters: 128 bits


def run_serve(file: str | None, served: Served) -> int:
    """Serve until told to stop; the exit code."""
    _serve(planned(file), served.store or _usual_store(file), served)
    return 0


def run_status(file: str | None, served: Served, *, as_json: bool) -> int:
    """Say how far the data collected are; the exit code."""
    return _say_status(served.store or _usual_store(file), as_json=as_json)


def _usual_store(file: str | None) -> str:
    if file is None:
        return "penchant-demonstration.sqlite"
    return str(Path(file).with_suffix(".sqlite"))


def _serve(plan: StudyPlan, store: str, served: Served) -> None:
    token, is_given = _token(served.host)
    where = store if "://" not in store else store.split("://")[0] + "://..."

    def started(address: str) -> None:
        print(f"Study: {address}/", flush=True)
        shown = "" if is_given else f"#{token}"
        print(f"Researcher: {address}/researcher{shown}", flush=True)
        say(f"Data: {where}. Stop with Ctrl-C; the same command goes on.")

    with _quiet_signals():
        serve(
            plan,
            store,
            host=served.host,
            port=served.port,
            token=token,
            with_estimates=not served.no_estimates,
            frame_ancestors=_ancestors(served.frame),
            started=started,
        )
    say("Stopped; everything that was acknowledged is saved.")


def _token(host: str) -> tuple[str, bool]:
    """The researcher's token, and whether it was given."""
    token = os.environ.get(TOKEN, "")
    if token:
        if len(token) < LEAST_TOKEN:
            raise DataError(
                TOKEN,
                f"must have at least {LEAST_TOKEN} characters",
                got=len(token),
                fix="Make one with: python -c 'import secrets; print(secrets.token_urlsafe(24))'.",
            )
        return token, True
    if not _is_local(host):
        raise DataError(
            TOKEN,
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


def _ancestors(frame: str | None) -> str:
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
def _quiet_signals() -> Iterator[None]:
    """Let the server end in order when it is told to; it looks at these signals itself."""
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
    held = Store(store, must_exist=True)
    try:
        plans = StoreExport(held).plans
        with held.read_connection() as connection:
            found = study_overview_json(connection, plans.__getitem__, time.time())
    finally:
        held.close()
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
    """Write the folder; the exit code."""
    if store is None or folder is None:
        missing = "STORE" if store is None else "--output"
        raise DataError(
            missing, "must be given", got="none", fix="penchant export STORE -o FOLDER."
        )
    held = Store(store, must_exist=True)
    try:
        summary = export(held, folder, with_ids=with_ids)
    finally:
        held.close()
    for name, count in summary.counts.items():
        say(f"{name}: {count} choices")
    for note in summary.notes:
        say(f"Note: {note}")
    say(f"Written: {folder}." + ("" if summary.tasks else " Nobody has made a choice yet."))
    for command in summary.commands(folder, "results"):
        say(f"Next: {command}")
    return 0


def run_forget(store: str, who: str) -> int:
    """Remove a person; the exit code."""
    held = Store(store, must_exist=True)
    try:
        count = remove_person(held, who)
    finally:
        held.close()
    say(
        f"Removed: {count} session{'s' if count > 1 else ''}. Copies and exports are yours to mend."
    )
    return 0


def run_backup(store: str, copy: Path | None, *, overwrite: bool) -> int:
    """Copy a store; the exit code."""
    if copy is None:
        raise DataError(
            "--output", "must name a file", got="none", fix="penchant backup STORE -o FILE."
        )
    backup_store(store, copy, overwrite=overwrite)
    say(f"Written: {copy}")
    return 0
