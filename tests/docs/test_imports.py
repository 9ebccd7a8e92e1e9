"""`pip install .` is enough for the documents: what their examples import comes with it."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import page_examples
import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md")])
SCRIPTS = sorted(ROOT.glob("examples/*.py"))
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HARD = {re.match(r"[\w-]+", needed)[0] for needed in SETTINGS["project"]["dependencies"]}
OWN = {Path(p).name for p in SETTINGS["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]}
OPTIONAL = {"pandas", "polars"}


def source(path):
    if path.suffix == ".py":
        return path.read_text(encoding="utf-8")
    examples = page_examples.examples(path.read_text(encoding="utf-8"))
    return "".join(example.code for example in examples)


def imported(code):
    """Packages that the code imports, and the backends that it names."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.keyword) and node.arg == "backend":
            yield ast.literal_eval(node.value)


@pytest.mark.parametrize("path", [*PAGES, *SCRIPTS], ids=lambda path: path.name)
def test_examples_import_what_is_installed_and_nothing_else(path):
    known = {*HARD, *OWN, *sys.stdlib_module_names}
    assert {*imported(source(path))} <= known


def test_the_check_sees_a_package_that_is_not_installed():
    assert [*imported("import pandas as pd\nx.to_frame(backend='polars')")] == ["pandas", "polars"]
    assert not OPTIONAL & HARD


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_commands_are_those_of_penchant_or_of_any_system(path):
    """No console example needs a program that comes with neither."""
    lines = re.findall(r"^\$ (\S+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert {*lines} <= {"penchant", "cat", "head", "python", "python3"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two-options", "spatial", "discounting"])
def test_a_tutorial_runs_without_pandas_and_polars(name):
    page = ROOT / "docs" / f"tutorial-{name}.md"
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "import importlib.util as util\n"
        f"absent = {sorted(OPTIONAL)!r}\n"
        "class Absent:\n"
        "    def find_spec(self, name, *more):\n"
        "        if name.partition('.')[0] in absent:\n"
        "            raise ModuleNotFoundError(name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "find = util.find_spec\n"
        "util.find_spec = lambda name, *more: None if name in absent else find(name, *more)\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "import page_examples\n"
        "names = {'__name__': '__main__'}\n"
        "for example in page_examples.examples(Path(sys.argv[1]).read_text('utf-8')):\n"
        "    page_examples.check(example, names, sys.argv[1])\n"
        "sys.exit(not len(names) > 1)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(page), str(page.parent)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
