"""Processes of the command that do not wait for imports: copies of one that has loaded them.

Each is a process of its own (number, streams, folder, environment, limits, signals, end) that
begins where a command has been run already. What depends on how the interpreter itself begins
(the encoding of its streams) needs one from scratch.
"""

import atexit
import contextlib
import json
import os
import select
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache

COPIES = """
import contextlib, gc, io, json, os, signal, socket, sys
from penchant.cli.main import main, run
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    run(["fit", "--example", "menu", "--json"])  # loads what fits need, compiled code too
with contextlib.suppress(ImportError):  # penchant[task] is not installed
    import penchant.cli.serve_command, uvicorn

gc.freeze()  # copies need not look through what was loaded

def bury(*_):
    with contextlib.suppress(ChildProcessError):  # none is left
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass

server = socket.socket(fileno=int(sys.argv[1]))
signal.signal(signal.SIGCHLD, bury)
signal.signal(signal.SIGINT, signal.SIG_IGN)
while True:
    data, files, _, _ = socket.recv_fds(server, 1 << 20, 4)
    if not data:
        os._exit(0)
    *streams, report = files
    if os.fork() == 0:
        break
    for file in (*streams, report):
        os.close(file)
server.close()
signal.signal(signal.SIGCHLD, signal.SIG_DFL)
if child := os.fork():  # one waits for the other and tells how it ended
    for file in (*streams, 0, 1, 2):
        os.close(file)
    os.write(report, b"%d\\n" % child)
    os.write(report, b"%d\\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os._exit(0)
os.close(report)
signal.signal(signal.SIGINT, signal.default_int_handler)
for number, stream in enumerate(streams):
    os.dup2(stream, number)
    os.close(stream)
task = json.loads(data)
by_line = 1 if task["environment"].get("PYTHONUNBUFFERED") else -1
sys.stdin = open(0, encoding="utf-8")
sys.stdout = open(1, "w", encoding="utf-8", buffering=by_line)
sys.stderr = open(2, "w", encoding="utf-8", buffering=1)
os.chdir(task["folder"])
os.environ.clear()
os.environ.update(task["environment"])
if task["size"] is not None:
    import resource
    sys.dont_write_bytecode = True  # Python keeps of it what the limit leaves, and reads that later
    resource.setrlimit(resource.RLIMIT_FSIZE, (task["size"], task["size"]))
if task["closed"]:
    sys.stdout.close()
    sys.stdout = None  # as the interpreter begins where there is none
sys.argv = ["penchant", *task["arguments"]]
main()
"""


@cache
def _copies():
    """Where copies are asked for, of a process that makes them until nobody asks any more."""
    ours, theirs = socket.socketpair()
    maker = subprocess.Popen(
        [sys.executable, "-c", COPIES, str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    theirs.close()
    atexit.register(maker.wait)  # what copies took counts as time of the tests
    atexit.register(ours.close)
    return ours


class Process:
    """`penchant ARGUMENTS` in a folder, with the part of `subprocess.Popen` that tests use.

    `size` limits the bytes of each file that it writes, `closed` leaves it without a stdout; stdin
    and stdout are pipes unless a file is given.
    """

    def __init__(
        self, folder, *arguments, environment=None, size=None, closed=False, stdin=None, stdout=None
    ):
        task = {
            "arguments": [str(argument) for argument in arguments],
            "folder": str(folder),
            "environment": {**os.environ, **(environment or {})},
            "size": size,
            "closed": closed,
        }
        (read_in, write_in), (read_out, write_out) = os.pipe(), os.pipe()
        (read_err, write_err), (told, report) = os.pipe(), os.pipe()
        streams = [
            read_in if stdin is None else stdin.fileno(),
            write_out if stdout is None else stdout.fileno(),
            write_err,
            report,
        ]
        socket.send_fds(_copies(), [json.dumps(task).encode()], streams)
        for end in (read_in, write_out, write_err, report):
            os.close(end)
        self.stdin, self.stdout = os.fdopen(write_in, "wb"), os.fdopen(read_out, "rb")
        self.stderr, self._told = os.fdopen(read_err, "rb"), os.fdopen(told, "rb")
        self.pid = int(self._told.readline())
        self.returncode = None

    def send_signal(self, number):
        os.kill(self.pid, number)

    def poll(self):
        if self.returncode is None and select.select([self._told], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self, timeout=120):
        if self.returncode is None:
            if not select.select([self._told], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("penchant", timeout)
            self.returncode = int(self._told.readline())
            self._told.close()
            self.stdin.close()
        return self.returncode

    def communicate(self, given=None, timeout=120):
        """Give stdin, read stdout and stderr to their ends, and wait."""
        with ThreadPoolExecutor(2) as readers:
            reads = [readers.submit(stream.read) for stream in (self.stdout, self.stderr)]
            with contextlib.suppress(BrokenPipeError), self.stdin:
                self.stdin.write(given or b"")
            self.wait(timeout)
            out, err = (read.result() for read in reads)
        self.stdout.close()
        self.stderr.close()
        return out, err


def ended(folder, *arguments, given=None, **more):
    """Exit code, stdout and stderr of the command."""
    process = Process(folder, *arguments, **more)
    out, err = process.communicate(given)
    return process.returncode, out.decode(), err.decode()
