"""A module imports from lower layers or its own folder, and nowhere else."""

import ast
from pathlib import Path

from source_files import ROOT, label, source, wrong

LAYERS = {
    "errors": 0,
    "json_records": 0,
    "argument_checks": 0,
    "_numba_cache": 0,
    "tail_probabilities": 0,
    "_lazy_imports": 0,
    "_typing": 0,
    "_version": 0,
    "files": 1,
    "result_tables": 1,
    "tables": 2,
    "choices": 3,
    "datasets": 3,
    "softmax": 4,
    "bandit": 4,
    "models": 5,
    "inference": 6,
    "reading": 6,
    "population": 7,
    "scale": 7,
    "workflow": 8,
    "assistance": 8,
    "studies": 9,
    "figures": 10,
    "report": 11,
    "paper": 12,
    "results": 12,
    "task": 13,
    "cli": 14,
    "__main__": 15,
}
MODULES = sorted(p for p in ROOT.rglob("*.py") if p.relative_to(ROOT) != Path("__init__.py"))
# Commands load numerical libraries when they run, so that help and usage errors answer at once.
LATE = {"cli/commands.py"}


def _part(path):
    """Folder or file of the package that a module belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def _imports(path):
    """Every module that is imported, with the import."""
    for found in source(path).imports:
        node = found.node
        if isinstance(node, ast.Import):
            yield from ((alias.name, found) for alias in node.names)
            continue
        assert node.level == 0, "relative import"
        parts = {alias.name for alias in node.names}
        if node.module == "penchant" and parts <= set(LAYERS):
            yield from ((f"penchant.{part}", found) for part in sorted(parts))
        else:
            yield node.module, found


def _below(other, here):
    """The lowest layer is flat: its modules may use each other, in no circle (see below)."""
    return LAYERS[other] < LAYERS[here] or LAYERS[other] == LAYERS[here] == 0


def test_every_part_of_the_package_has_a_layer():
    assert {_part(path) for path in MODULES} <= set(LAYERS)


def test_a_module_imports_lower_layers_only():
    def upwards(path):
        here = _part(path)
        for name, _ in _imports(path):
            whole, _, rest = name.partition(".")
            other = rest.partition(".")[0]
            if whole == "penchant" and not (rest and (other == here or _below(other, here))):
                yield f"{here} imports {name}"

    assert wrong(MODULES, upwards) == {}


def test_only_other_packages_are_imported_inside_functions():
    def late(path):
        for name, found in _imports(path):
            if found.is_late and not found.is_typing and name.split(".")[0] == "penchant":
                yield name

    assert wrong([path for path in MODULES if label(path) not in LATE], late) == {}


def test_modules_do_not_import_in_circles():
    graph = {}
    for path in MODULES:
        name = ".".join(["penchant", *path.relative_to(ROOT).with_suffix("").parts])
        names = set()
        for module, found in _imports(path):
            if found.is_typing or not module.startswith("penchant."):
                continue
            names.add(module)
            if isinstance(found.node, ast.ImportFrom):
                names |= {f"{module}.{alias.name}" for alias in found.node.names}
        graph[name] = names
    done, path = set(), []

    def visit(name):
        assert name not in path, f"circle: {' -> '.join([*path, name])}"
        if name in done or name not in graph:
            return
        path.append(name)
        for other in sorted(graph[name]):
            visit(other)
        path.pop()
        done.add(name)

    for name in sorted(graph):
        visit(name)
