"""What the tests of the architecture ask of a source file: parsed once, in one walk."""

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

import penchant

ROOT = Path(penchant.__file__).parent
ASKED = ("getattr", "hasattr", "isinstance", "issubclass")


class Import(NamedTuple):
    """An import, and whether it stands in a function, or under `if TYPE_CHECKING`."""

    node: ast.Import | ast.ImportFrom
    is_late: bool
    is_typing: bool


class Source(NamedTuple):
    imports: list[Import]
    calls: list[ast.Call]  # of the functions in ASKED


def label(path):
    """Path of a module within its package; that of the reproduction is named in front."""
    return str(path.relative_to(ROOT if path.is_relative_to(ROOT) else ROOT.parent))


def wrong(paths, found):
    """What is found, by file: one test of all files costs less than one of each."""
    told = ((label(path), list(found(path))) for path in paths)
    return {name: findings for name, findings in told if findings}


@cache
def source(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = Source([], [])
    _walk(tree, found, is_late=False, is_typing=False)
    return found


def _walk(node, found, is_late, is_typing):
    if isinstance(node, ast.Import | ast.ImportFrom):
        found.imports.append(Import(node, is_late, is_typing))
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        is_late = True
    elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
        is_typing = True
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ASKED:
        found.calls.append(node)
    for inner in ast.iter_child_nodes(node):
        _walk(inner, found, is_late, is_typing)
