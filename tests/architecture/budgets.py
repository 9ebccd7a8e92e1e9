"""Budgets of the source, which may only fall: measured here, kept in budgets.toml.

    python tests/architecture/budgets.py                lower budgets.toml to what is measured
    python tests/architecture/budgets.py --raise        and raise it where more is measured
    python tests/architecture/budgets.py --any FOLDER   check the report of mypy in FOLDER only

The last one is for `.ci/run`, which has just run `mypy --any-exprs-report FOLDER`; the first two
run mypy themselves, about a minute.
"""

import argparse
import ast
import collections
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
TABLE = HERE / "budgets.toml"
SLACK = 0.02  # share of a budget by which a number may be below it before the budget is lowered
COMMENTS = {
    "lines": "of every package of src/penchant",
    "journeys": "lines of the functions that run in a call (journeys.py)",
    "constants": "names of module-level numbers",
    "types": "mypy --any-exprs-report; other versions of mypy and NumPy count a little differently",
}


# -- what is measured ------------------------------------------------------------------------------


def lines_by_package(root):
    """Lines of source, by folder of the package; files beside the folders are "(root)"."""
    lines = collections.Counter()
    for path in root.rglob("*.py"):
        parts = path.relative_to(root).parts
        lines[parts[0] if len(parts) > 1 else "(root)"] += path.read_text("utf-8").count("\n")
    for path in (root.parent / "penchant_paper").glob("*.py"):
        lines["penchant_paper"] += path.read_text("utf-8").count("\n")
    return dict(sorted(lines.items()))


def constants_with_several_values(root):
    """Values of each name, by file, where a name has different ones."""
    values = collections.defaultdict(dict)
    for path in sorted(root.rglob("*.py")):
        for name, value in numbers_of_module(ast.parse(path.read_text("utf-8"))):
            values[name][str(path.relative_to(root))] = value
    return {name: found for name, found in values.items() if len(set(found.values())) > 1}


def numbers_of_module(tree):
    """Names in capitals that a module gives a number, without underscores around them."""
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        value = node.value.operand if isinstance(node.value, ast.UnaryOp) else node.value
        # bool is a kind of int, but True is no number
        if isinstance(value, ast.Constant) and type(value.value) in (int, float):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name) and target.id.strip("_").isupper():
                    yield target.id.strip("_"), ast.unparse(node.value)


def journey_lines():
    """Lines by journey, measured in a fresh process: what ran before would leave caches filled."""
    done = subprocess.run(
        [sys.executable, str(HERE / "journeys.py")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def any_expressions(report):
    """Total of the table that mypy writes: name, expressions of type Any, expressions, share."""
    *_, total = (report / "any-exprs.txt").read_text("utf-8").splitlines()
    name, anys, _, _ = total.split()
    if name != "Total":
        raise SystemExit(f"any-exprs.txt must end with a line of totals; got {total!r}.")
    return {"expressions of type Any": int(anys)}


def reported_any_expressions():
    """The same, of a report made now."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "mypy", "--any-exprs-report", folder]
        subprocess.run(command, cwd=PROJECT, check=True)
        return any_expressions(Path(folder))


def source_root():
    import penchant

    return Path(penchant.__file__).parent


MEASURES = {
    "lines": lambda: lines_by_package(source_root()),
    "journeys": journey_lines,
    "constants": lambda: {"with several values": len(constants_with_several_values(source_root()))},
    "types": reported_any_expressions,
}


# -- the table -------------------------------------------------------------------------------------


def read_table():
    return tomllib.loads(TABLE.read_text("utf-8"))


def complaints(section, measured, table):
    """A sentence for every number that is not at its budget, give or take the slack."""
    budgets, slack = table.get(section, {}), table["slack"]
    found = []
    for name in sorted(budgets.keys() | measured.keys()):
        value, budget = measured.get(name), budgets.get(name)
        label = f"{section}, {name}: measured {value}, budget {budget}."
        if budget is None:
            found.append(f"{label} Give it a budget: python tests/architecture/budgets.py")
        elif value is None:
            found.append(f"{label} Remove the budget: python tests/architecture/budgets.py")
        elif value > budget:
            found.append(f"{label} It may only fall.")
        elif value < (1 - slack) * budget:
            found.append(
                f"{label} The budget is to be lowered: python tests/architecture/budgets.py"
            )
    return found


def lowered(old, measured, may_rise):
    """Budgets as measured; old ones stay where they are lower, unless they may rise."""
    return {
        name: value if may_rise else min(value, old.get(name, value))
        for name, value in measured.items()
    }


def written(sections, slack):
    """The table as text."""
    head = (
        "# Budgets of the source: numbers may only fall. A number above its budget fails, and one\n"
        "# further below than the slack fails, too, so that the table stays true.\n"
        "# Written by: python tests/architecture/budgets.py\n"
    )
    text = [f"{head}slack = {slack:g}  # share of a budget"]
    for section, budgets in sections.items():
        rows = "\n".join(f"{json.dumps(name)} = {value}" for name, value in budgets.items())
        text.append(f"[{section}]  # {COMMENTS[section]}\n{rows}")
    return "\n\n".join(text) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--raise", dest="may_rise", action="store_true")
    parser.add_argument("--any", type=Path, metavar="FOLDER")
    parser.add_argument("--slack", type=float, default=SLACK)
    parser.add_argument("--margin", type=float, default=0.0, help="share to leave above a number")
    given = parser.parse_args()
    if given.any:
        found = complaints("types", any_expressions(given.any), read_table())
        sys.exit("\n".join(found) or None)
    old = read_table() if TABLE.exists() else {}
    sections = {}
    for section, measure in MEASURES.items():
        measured = measure()
        print(f"{section}: {measured}")
        # Nobody is about to need another constant whose name has several values.
        margin = 0.0 if section == "constants" else given.margin
        wanted = {name: round(value * (1 + margin)) for name, value in measured.items()}
        sections[section] = lowered(old.get(section, {}), wanted, given.may_rise)
        for sentence in complaints(section, measured, {"slack": 1.0, section: sections[section]}):
            print(sentence)
    TABLE.write_text(written(sections, given.slack), encoding="utf-8")


if __name__ == "__main__":
    main()
