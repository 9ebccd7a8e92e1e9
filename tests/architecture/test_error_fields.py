"""Errors say their rule, what was got, where and the remedy as fields."""

import ast

from source_files import ROOT

RAISED = ("DataError", "NotWrittenError", "InfeasibleError")


def _with_sentences():
    """Places that raise an error without a rule."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or getattr(node.func, "id", "") not in RAISED:
                continue
            if len(node.args) == 1 and not node.keywords:
                yield f"{path.relative_to(ROOT)}:{node.lineno}"


def test_errors_have_fields():
    assert list(_with_sentences()) == []
