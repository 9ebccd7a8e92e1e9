"""The reproduction of the paper is a user of the library: it imports public names."""

import ast
from collections import defaultdict

import penchant
from source_files import ROOT, source

PUBLIC = {
    "penchant",
    *(f"penchant.{name}" for name in ("errors", "figures", "models", "paper", "results")),
}
# Modules of the library whose private names are still imported. The list only shrinks.
PRIVATE = {
    "ensembles": [
        "_typing",
        "result_tables",
        "softmax.fit",
        "softmax.fit_each",
        "softmax.likelihood",
        "tail_probabilities",
    ],
    "figure_1": [
        "_typing",
        "softmax.probabilities",
    ],
    "figure_2_3": [
        "_typing",
        "softmax.fit_each",
    ],
    "figure_4_5_6": [
        "_typing",
    ],
    "figures": [
        "_typing",
        "figures.label_text",
        "figures.style",
        "report.study_figures",
    ],
    "plays": [
        "_typing",
        "inference.fit_each",
        "inference.linearized_model",
        "inference.profile.profile_likelihood",
        "result_tables",
        "softmax.fit",
        "softmax.probabilities",
    ],
    "published": [
        "_typing",
    ],
    "report": [
        "_typing",
        "_version",
        "figures.label_text",
        "figures.style",
        "files.atomic_files",
        "files.output",
        "report.page",
        "report.study_figures",
        "result_tables",
    ],
    "reproduction": [
        "argument_checks",
    ],
    "simulated_study": [
        "_typing",
        "inference.linearized_model",
        "inference.profile.profile_likelihood",
        "population.group_comparison_result",
        "result_tables",
        "studies.comparisons",
        "studies.findings",
    ],
    "statements": [
        "_typing",
        "inference.linearized_model",
        "inference.profile.profile_likelihood",
        "softmax.fit",
        "softmax.probabilities",
    ],
    "tables": [
        "_typing",
        "population.group_comparison_result",
        "result_tables",
    ],
}


def private_imports():
    """Modules of the library that are not public, by module of the reproduction."""
    found = defaultdict(set)
    for path in sorted((ROOT.parent / "penchant_paper").glob("*.py")):
        for imported in source(path).imports:
            node = imported.node
            modules = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module]
            )
            for module in modules:
                if module.split(".")[0] == "penchant" and module not in PUBLIC:
                    found[path.stem].add(module.removeprefix("penchant."))
    return {name: sorted(modules) for name, modules in found.items()}


def test_public_modules_exist():
    for name in PUBLIC - {"penchant"}:
        assert name.removeprefix("penchant.") in penchant.__all__


def test_the_reproduction_imports_public_names():
    assert private_imports() == PRIVATE
