"""Tables are read by a schema, but for these modules, which still read them by arguments."""

import ast

from source_files import ROOT, source

# The list may only shrink; the modules below it go when it is empty.
CLIENTS = {
    "cli/loading.py",
    "cli/tables.py",
    "workflow/compare_models.py",
}
OLD = {"reading_of", "recognised", "has_choices", "read_by_arguments", "rival_sets", "read_rivals"}


def test_no_further_module_reads_tables_by_arguments():
    def clients():
        for path in sorted(ROOT.rglob("*.py")):
            for found in source(path).imports:
                node = found.node
                old = isinstance(node, ast.ImportFrom) and node.module == "penchant.reading.read"
                if old and {alias.name for alias in node.names} & OLD:
                    yield str(path.relative_to(ROOT))

    assert {*clients()} <= CLIENTS
