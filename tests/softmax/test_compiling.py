"""Compiled code is kept where that can be, and compiled again where not."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numba.core import event

import penchant
import penchant as pn

NOBODY = 65534
SOURCE = Path(penchant.__file__).parent.parent
MODULE = """
from penchant._numba_cache import compilation_notice, njit

@njit(cache=True)
def twice(x):
    return 2 * x

if __name__ != "__main__":
    print(twice(21), twice.stats.cache_path, sum(twice.stats.cache_hits.values()), sep=";")
    import sys
    print(compilation_notice(twice.stats.cache_path), file=sys.stderr)
"""
# May read everything, so that it can run an interpreter in the home of root, and write nothing.
READER = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search", "--clear-groups"]
SETPRIV = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", *READER]


@cache
def can_be_nobody():
    if shutil.which("setpriv") is None or os.getuid() != 0:
        return False
    return subprocess.run([*SETPRIV, sys.executable, "-c", ""], capture_output=True).returncode == 0


needs_root = pytest.mark.skipif(
    os.name != "posix" or not can_be_nobody(), reason="cannot act as another user here"
)


@pytest.fixture
def place():
    """A folder that everybody can read, with room for temporary files."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    (folder / "tmp").mkdir()
    (folder / "tmp").chmod(0o1777)
    (folder / "installed").mkdir()
    (folder / "installed" / "twofold.py").write_text(MODULE)
    yield folder
    shutil.rmtree(folder)


def as_nobody(place, *command, **environment):
    """A process of another user without a home, who can write temporary files only."""
    return subprocess.run(
        [*SETPRIV, sys.executable, *command],
        cwd=place / "installed",
        env={
            "PATH": os.defpath,
            "TMPDIR": str(place / "tmp"),
            "PYTHONPATH": f"{place / 'installed'}{os.pathsep}{SOURCE}",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=300,
    )


@needs_root
def test_code_is_kept_in_a_folder_of_the_users_own_where_nothing_else_can_be_written(place):
    first = as_nobody(place, "-c", "import twofold")
    assert first.returncode == 0, first.stderr
    value, path, hits = first.stdout.strip().split(";")
    assert (value, hits) == ("42", "0")
    (kept,) = (place / "tmp").iterdir()
    assert Path(path).parent == kept
    assert f"kept in {kept}, as neither the installation nor a home can be written" in first.stderr
    status = kept.stat()
    assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (NOBODY, 0o700)
    second = as_nobody(place, "-c", "import twofold")
    assert second.stdout.strip().split(";") == ["42", path, "1"]


@needs_root
@pytest.mark.parametrize(
    "prepare",
    [
        lambda tmp: tmp.chmod(0o777),  # others could put another folder in its place
        lambda tmp: tmp.chmod(0o755),  # there is no folder for temporary files
    ],
)
def test_code_is_not_kept_where_no_folder_is_safe(place, prepare):
    prepare(place / "tmp")
    places = f"import tempfile; tempfile.tempdir = {str(place / 'tmp')!r}; import twofold"
    done = as_nobody(place, "-c", places)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "42;None;0"
    assert "compiling for this run only" in done.stderr and "NUMBA_CACHE_DIR" in done.stderr
    assert not list((place / "tmp").iterdir())


@needs_root
def test_a_folder_that_somebody_else_made_or_can_enter_is_not_used(place):
    for name, owner, mode in [("a", 0, 0o777), ("b", NOBODY, 0o755)]:
        other = place / "tmp" / f"penchant-{NOBODY}-{name}"
        other.mkdir()
        other.chmod(mode)
        os.chown(other, owner, owner)
    (place / "tmp" / f"penchant-{NOBODY}-c").symlink_to(place)
    path = Path(as_nobody(place, "-c", "import twofold").stdout.strip().split(";")[1])
    assert path.parent.name[len(f"penchant-{NOBODY}-") :] not in {"a", "b", "c"}


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_a_full_disk_costs_a_compilation_and_not_the_result(tmp_path):
    (tmp_path / "twofold.py").write_text(MODULE)
    full = (
        "import resource, signal, sys, numba; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "sys.dont_write_bytecode = True;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); import twofold"
    )
    done = subprocess.run(
        [sys.executable, "-c", full], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.startswith("42;"), done.stderr
    assert done.stderr.count("compiled code could not be kept in") == 1
    assert "File too large" in done.stderr


@pytest.mark.slow
def test_a_damaged_file_costs_a_compilation_and_not_the_result(tmp_path):
    (tmp_path / "twofold.py").write_text(MODULE)

    def run():
        command = [sys.executable, "-c", "import twofold"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    assert run().stdout.endswith(";0\n")
    assert run().stdout.endswith(";1\n")
    for file in (tmp_path / "__pycache__").glob("*.nb?"):
        file.write_bytes(file.read_bytes()[:20])
    done = run()
    assert done.stdout.startswith("42;"), done.stderr


def test_code_is_kept_only_as_long_as_the_loops_of_other_files_stay_as_they_are(tmp_path):
    """Code kept for older arguments of a loop that it calls ended the process."""
    source = tmp_path / "penchant"
    shutil.copytree(SOURCE / "penchant", source, ignore=shutil.ignore_patterns("*.nb?"))
    asked = (
        "from penchant.models.spatial import _kernels as k; import penchant\n"
        "print(penchant.__file__, k.map_shares._cache._cache_file._source_stamp, sep=';')"
    )

    def stamp():
        command = [sys.executable, "-c", asked]
        alone = {**os.environ, "PYTHONPATH": str(tmp_path)}
        done = subprocess.run(command, env=alone, capture_output=True, text=True, timeout=120)
        where, _, found = done.stdout.partition(";")
        assert where.startswith(str(source)), done.stderr
        return found

    first = stamp()
    os.utime(source / "choices" / "__init__.py", (1e9, 1e9))
    assert stamp() == first
    os.utime(source / "bandit" / "_belief_kernels.py", (1e9, 1e9))  # believe() is compiled into it
    assert stamp() != first


@needs_root
@pytest.mark.slow
def test_a_read_only_installation_without_a_home_fits(place):
    kept = place / "installed" / "penchant"
    shutil.copytree(SOURCE / "penchant", kept, ignore=shutil.ignore_patterns("__pycache__"))
    command = ("-m", "penchant", "fit", "--example", "travel-mode")
    only_here = {"PYTHONPATH": str(kept.parent)}
    done = as_nobody(place, *command, **only_here)
    assert done.returncode == 0, done.stderr
    assert "Status: converged" in done.stdout
    assert done.stderr.count("penchant: compiling") == 1
    again = as_nobody(place, *command, **only_here)
    assert "compiling" not in again.stderr
    assert again.stdout == done.stdout


class Compiled(event.Listener):
    """Names of the functions compiled while it listens."""

    def __init__(self):
        self.names = []

    def on_start(self, event):
        self.names.append(event.data["dispatcher"].py_func.__qualname__)

    def on_end(self, event):
        """Nothing to note."""


def some_choices(n_parameters, with_offset):
    rng = np.random.default_rng(n_parameters)
    x = rng.normal(size=(60, 3, n_parameters))
    offset = rng.normal(size=(60, 3)) if with_offset else None
    subject = np.repeat(["a", "b"], 30)
    return pn.Choices.from_arrays(x, rng.integers(3, size=60), offset=offset, subject=subject)


def test_a_new_number_of_weights_compiles_its_own_sums_and_nothing_else():
    for with_offset in (False, True):
        pn.fit(some_choices(2, with_offset))
        pn.fit_each(some_choices(2, with_offset))
    with event.install_listener("numba:compile", Compiled()) as compiled:
        for n_parameters in (7, 9):
            for with_offset in (False, True):
                pn.fit(some_choices(n_parameters, with_offset))
                pn.fit_each(some_choices(n_parameters, with_offset))
    own = {"_make_block_moments.<locals>.moments", "_make_relative_rows.<locals>.rows"}
    assert set(compiled.names) <= own, compiled.names


def test_that_code_is_compiled_is_said_once_per_environment(tmp_path):
    program = (
        "from penchant._numba_cache import compilation_notice, is_first_compilation; import sys;"
        "print(is_first_compilation(sys.argv[1]), is_first_compilation(None),"
        " compilation_notice(sys.argv[1]))"
    )
    inside = tmp_path / "cache" / "softmax_1"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run(path):
        command = [sys.executable, "-c", program, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        return done.stdout

    first = run(inside)
    assert first.startswith("True True") and "about 20 seconds" in first
    assert run(inside).startswith("False True")
    assert run(tmp_path / "cache" / "inference_2").startswith("False True")  # another kernel


def test_a_fit_leaves_no_listener_for_the_compilations_of_others():
    """One was registered at import, and raised for functions that belong to no module."""
    program = (
        "import numba, penchant as pn; from numba.core import event\n"
        "pn.fit(pn.Choices.from_arrays([[[0.0], [1.0]]] * 3, [0, 1, 1]))\n"
        "made = {}\n"
        "exec('def twice(x): return 2 * x', {'__name__': None}, made)\n"
        "print(made['twice'].__module__, numba.njit(made['twice'])(21))\n"
        "print([kind for kind, heard in event._registered.items() if heard])"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == "None 42\n[]\n", done.stderr


def test_what_is_compiled_is_said_before_it_is_and_not_when_it_is_kept(tmp_path):
    (tmp_path / "twofold.py").write_text(MODULE.split("if __name__")[0] + "twice(21)")
    own = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(SOURCE)}

    def run():
        command = [sys.executable, "-c", "import twofold"]
        given = {**os.environ, **own}
        done = subprocess.run(
            command, cwd=tmp_path, env=given, capture_output=True, text=True, check=True
        )
        return done.stderr

    assert run().count("penchant: compiling") == 1
    assert run() == ""
