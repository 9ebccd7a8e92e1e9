"""Notebooks are the pages, were run, and run again."""

import importlib.util
import json
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def _script():
    spec = importlib.util.spec_from_file_location("make_notebooks", DOCS / "make_notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = _script()


def kept(page):
    return json.loads((SCRIPT.FOLDER / f"{page}.ipynb").read_text(encoding="utf-8"))


def outputs(notebook):
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [output for cell in cells for output in cell["outputs"]]


@pytest.mark.parametrize("page", SCRIPT.PAGES)
def test_a_notebook_has_the_words_and_the_code_of_its_page(page):
    found = [(cell["cell_type"], "".join(cell["source"])) for cell in kept(page)["cells"]]
    assert found == SCRIPT.cells(page), "run: python docs/make_notebooks.py"


@pytest.mark.parametrize("page", SCRIPT.PAGES)
def test_a_notebook_is_kept_with_what_it_printed(page):
    notebook = kept(page)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    assert {output["output_type"] for output in outputs(notebook)} <= {
        "execute_result",
        "stream",
        "display_data",
    }


@pytest.mark.parametrize("page", [page for page in SCRIPT.PAGES if page.startswith("tutorial")])
def test_a_notebook_shows_the_figures_of_its_page(page):
    shown = (DOCS / f"{page}.md").read_text(encoding="utf-8").count("](figures/")
    drawn = [output for output in outputs(kept(page)) if "image/png" in output.get("data", {})]
    assert len(drawn) == shown > 0


@pytest.mark.slow
@pytest.mark.parametrize("page", SCRIPT.PAGES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_notebook_runs(page):
    pytest.importorskip("nbclient")
    ran = outputs(SCRIPT.executed(page))
    plain = [output["data"].get("text/html") for output in ran if "data" in output]
    again = [output["data"].get("text/html") for output in outputs(kept(page)) if "data" in output]
    assert len(plain) == len(again)
    assert [bool(html) for html in plain] == [bool(html) for html in again]
