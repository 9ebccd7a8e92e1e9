"""The server of the task under load: latency, overload, slow sockets, a large export.

    python benchmarks/task.py [--quick] [--only S60,S62] [--markdown FILE]

A server with live estimates in its own process on SQLite, as `penchant serve` starts it; players on
connections of their own in another process of the same machine, each with one choice every 1.5 s.
Every acknowledged choice is looked for in the store afterwards.
"""

import argparse
import asyncio
import json
import os
import random
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from machine import about

STUDY = """
[study]
name = "load"
seed = 1
[conditions]
landscape = ["a", "b"]
[[block]]
task = "grid"
decisions = 10000
[limits]
sessions_per_minute = 1000000
"""
PACE = 1.5


@dataclass
class Seen:
    """What players saw."""

    seconds: list = field(default_factory=list)
    acknowledged: dict = field(default_factory=dict)
    busy: int = 0
    without_wait: int = 0


class Wire:
    """HTTP by hand on one connection: the client must cost less than the server."""

    def __init__(self, port, token=None):
        self.port, self.token, self.streams = port, token, None

    async def post(self, path, body):
        """Send, and what was answered: status, body, headers."""
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        data = json.dumps(body).encode()
        head = f"POST /api/v1{path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        if self.token:
            head += f"authorization: Bearer {self.token}\r\n"
        writer.write(f"{head}content-length: {len(data)}\r\n\r\n".encode() + data)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines[1:] if line)
        found = await reader.readexactly(int(headers["content-length"]))
        return int(lines[0].split()[1]), json.loads(found), headers

    def close(self):
        """Hang up."""
        if self.streams is not None:
            self.streams[1].close()


async def asked(wire, path, body, seen):
    """A reply, tried again where the server is busy."""
    while True:
        status, reply, headers = await wire.post(path, body)
        if status not in (429, 503):
            return status, reply
        seen.busy += 1
        seen.without_wait += "retry-after" not in headers
        await asyncio.sleep(float(headers.get("retry-after", 1)) * random.uniform(1, 1.5))


async def player(port, name, start, end, seen, pace):
    """One choice every 1.5 s from a moment of one's own on."""
    wire = Wire(port)
    await asyncio.sleep(max(0.0, start - time.monotonic()))
    _, reply = await asked(wire, "/sessions", {"id": name}, seen)
    wire.token = reply["token"]
    await asked(wire, "/session/begin", {"block": 0, "decision": 0}, seen)
    chance, decision, due = random.Random(name), 0, time.monotonic()
    while due < end:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        body = {"block": 0, "decision": decision, "option": chance.randrange(100)}
        begin = time.perf_counter()
        status, reply = await asked(wire, "/session/decisions", body, seen)
        seen.seconds.append(time.perf_counter() - begin)
        if status == 200:
            taken = reply["decision"]
            seen.acknowledged[name, decision] = (taken["option"], taken["reward"])
            decision += 1
        due = max(due + pace, time.monotonic())
    wire.close()


async def crowd(port, n, seconds, pace=PACE, prefix="p"):
    """Many players, who come one after another in the first second and a half."""
    seen, begin = Seen(), time.monotonic()
    ramp = max(PACE, n / 60)
    end = begin + ramp + seconds
    await asyncio.gather(
        *(player(port, f"{prefix}{i}", begin + ramp * i / n, end, seen, pace) for i in range(n))
    )
    return seen


class Server:
    """`penchant serve` with its store."""

    def __init__(self, folder, estimates=True):
        (folder / "load.toml").write_text(STUDY)
        self.file = folder / "load.sqlite"
        command = [sys.executable, "-m", "penchant", "serve", str(folder / "load.toml")]
        more = [] if estimates else ["--no-estimates"]
        self.process = subprocess.Popen(
            [*command, "--port", "0", *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PENCHANT_TOKEN": "t" * 30},
        )
        address = self.process.stdout.readline().split()[1].rstrip("/")
        self.port = int(address.rsplit(":", 1)[1])

    def megabytes(self):
        """Memory of the server, without the process of the estimates."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def seconds(self):
        """Processor time of the server, without the process of the estimates."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        """Stop in order."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)

    def lost(self, seen):
        """Acknowledged choices that are not in the store as they were told."""
        with sqlite3.connect(self.file) as connection:
            rows = connection.execute(
                "SELECT platform_id, decision, option, reward"
                " FROM decisions JOIN people USING (session)"
            )
            stored = {(who, decision): (option, paid) for who, decision, option, paid in rows}
        return sum(stored.get(key) != told for key, told in seen.acknowledged.items())

    def overview(self):
        """What the researcher's page is told."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/researcher/overview")
        request.add_header("authorization", "Bearer " + "t" * 30)
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)

    async def ages(self, seconds, every=5.0):
        """Ages of all estimates on the researcher's page, looked at again and again in play."""
        found = []
        for _ in range(int(seconds / every)):
            await asyncio.sleep(every)
            people = (await asyncio.to_thread(self.overview))["people"]
            found.append([p["estimate"]["age"] if p["estimate"] else None for p in people])
        return found


def quantiles(seen):
    p50, p99 = 1000 * np.quantile(seen.seconds, [0.5, 0.99])
    return f"{p50:.0f} ms, {p99:.0f} ms", p99


def s60(folder, quick):
    """300 players at their pace, with live estimates."""
    n, seconds = (60, 6) if quick else (300, 60)
    server = Server(folder)
    asyncio.run(crowd(server.port, 5, 1, prefix="warm"))
    before, spent = server.megabytes(), server.seconds()

    async def together():
        return await asyncio.gather(crowd(server.port, n, seconds), server.ages(seconds))

    seen, looks = asyncio.run(together())
    used = 1000 * (server.seconds() - spent) / len(seen.acknowledged)
    after = server.megabytes()
    wal = os.path.getsize(f"{server.file}-wal") / 2**20
    server.stop()
    words, p99 = quantiles(seen)
    found = f"{words}; lost {server.lost(seen)} of {len(seen.acknowledged):,}; 503: {seen.busy}"
    found += f"; memory {before:.0f} to {after:.0f} MB; log {wal:.1f} MB"
    found += f"; {used:.2f} ms of processor per choice"
    late = looks[len(looks) // 3 :]  # when all have come
    ages = [age for look in late for age in look if age is not None]
    without = sum(age is None for look in late for age in look)
    p50, p90 = np.quantile(ages, [0.5, 0.9])
    found += f"; estimates {p50:.0f} s behind (median), {p90:.0f} s (90 %), {max(ages)} s at most"
    found += f"; {without} of {without + len(ages)} looks at people without one"
    what = f"{n} players, a choice per {PACE} s, {seconds} s"
    return what, found, f"p99 < 250 ms: {p99 < 250}; median age < 10 s: {p50 < 10}"


def s61(folder, quick):
    """As many requests as the server takes, and more."""
    n, seconds = (120, 5) if quick else (600, 30)
    server = Server(folder)
    seen = asyncio.run(crowd(server.port, n, seconds, pace=0.5))
    server.stop()
    words, _ = quantiles(seen)
    rate = len(seen.acknowledged) / seconds
    lost = server.lost(seen)
    found = f"{words}; {rate:.0f} choices/s; 503 or 429: {seen.busy}, "
    found += f"without Retry-After: {seen.without_wait}; lost {lost}"
    return f"{n} players, a choice per 0.5 s", found, f"nothing lost: {lost == 0}"


def s62(folder, quick):
    """Slow sockets beside normal players."""
    n, seconds = (20, 5) if quick else (100, 30)
    server = Server(folder)
    slow = []
    for i in range(200):
        one = socket.create_connection(("127.0.0.1", server.port))
        head = b"POST /api/v1/sessions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        one.sendall(head if i % 2 else head + b"content-length: 5000\r\n\r\n{")
        slow.append(one)
    seen = asyncio.run(crowd(server.port, n, seconds))
    server.stop()
    for one in slow:
        one.close()
    words, p99 = quantiles(seen)
    lost = server.lost(seen)
    return f"200 slow sockets, {n} players", f"{words}; lost {lost}", f"p99 < 500 ms: {p99 < 500}"


def s63(folder, quick):
    """A large export while people play."""
    sizes = (10_000, 50_000) if quick else (100_000, 1_000_000)
    server = Server(folder, estimates=False)
    asyncio.run(crowd(server.port, 1, 1, prefix="first"))
    peaks = []
    n = 20 if quick else 100
    for phase, size in enumerate(sizes):
        _fill(server.file, 10_000_000 * (phase + 1), size - (sizes[0] if phase else 0))
        peaks.append(_export_while_playing(server, folder / f"out{size}", n))
    server.stop()
    words = "; ".join(
        f"{size:,} rows: {memory:.0f} MB, {seconds:.0f} s, players' p99 {p99:.0f} ms, lost {lost}"
        for size, (memory, seconds, p99, lost) in zip(sizes, peaks, strict=True)
    )
    constant = peaks[1][0] < 1.25 * peaks[0][0]
    return f"export while {n} play", words, f"memory constant: {constant}"


def _fill(file, first, size):
    """Rows as 90 choices each of many people, whose sessions have numbers from `first` on."""
    people = range(first, first + size // 90)
    with sqlite3.connect(file, timeout=60) as connection:
        version = connection.execute("SELECT version FROM studies").fetchone()[0]
        connection.executemany(
            "INSERT INTO sessions (session, token, version, pseudonym, arrived, seen, stage,"
            " outcome, cell, attempts, block, decision, tab, total)"
            " VALUES (?, ?, ?, ?, 1, 1, 'end', 'completed', 0, 0, 0, 90, 0, 0)",
            ((i, f"t{i}", version, f"q{i}") for i in people),
        )
        connection.executemany(
            "INSERT INTO decisions (session, block, decision, option, reward, auto, received,"
            " elapsed, client) VALUES (?, 0, ?, ?, ?, 0, 1, 0.5, '{}')",
            ((i, t, (7 * t) % 100, float(t)) for i in people for t in range(90)),
        )


def _export_while_playing(server, out, n):
    """Peak memory of the export, its seconds, the players' p99, and what was lost."""
    code = (
        "import resource, sys; from penchant.cli.main import run; code = run(sys.argv[1:]);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss); sys.exit(code)"
    )
    begin = time.monotonic()
    exporting = subprocess.Popen(
        [sys.executable, "-c", code, "export", str(server.file), "-o", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    seen = asyncio.run(crowd(server.port, n, 8, prefix=f"{out.name}-"))
    memory = int(exporting.communicate()[0].split()[-1]) / 1024
    return (
        memory,
        time.monotonic() - begin,
        1000 * float(np.quantile(seen.seconds, 0.99)),
        server.lost(seen),
    )


SECTIONS = {"S60": s60, "S61": s61, "S62": s62, "S63": s63}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default=",".join(SECTIONS))
    parser.add_argument("--markdown", type=Path)
    given = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, hard), hard))
    del soft
    facts = about(" ".join(sys.argv[1:]))
    lines = ["| | what | found | target |", "|---|---|---|---|"]
    for name in given.only.split(","):
        with tempfile.TemporaryDirectory() as folder:
            what, found, target = SECTIONS[name](Path(folder), given.quick)
        lines.append(f"| {name} | {what} | {found} | {target} |")
        print(lines[-1], flush=True)
    facts["priority"] = f"nice {os.getpriority(os.PRIO_PROCESS, 0)}"
    told = ("date", "processor", "system", "commit", "load before", "priority")
    text = "# The server of the task under load\n\nMade by `python benchmarks/task.py --markdown "
    text += (
        "FILE`. Latencies are of choices, median and 99th percentile, from the first byte sent to "
    )
    text += "the last received; server, estimates and players share the machine.\n\n"
    text += "\n".join(lines) + "\n\n" + "\n".join(f"- {key}: {facts[key]}" for key in told) + "\n"
    if given.markdown:
        given.markdown.write_text(text)


if __name__ == "__main__":
    main()
