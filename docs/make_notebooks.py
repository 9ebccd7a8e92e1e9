"""Make notebooks of the tutorials and run them: python docs/make_notebooks.py [PAGE.md ...].

A page and its notebook are the same words and the same code; the page is the one to change. A cell
is a block of the page. Where the page shows a figure, the cell shows it, and
summaries are shown as tables. Where only words have changed, what was printed is kept.
"""

import json
import re
import sys
from pathlib import Path

from page_examples import BLOCK

DOCS = Path(__file__).parent
FOLDER = DOCS / "notebooks"
PAGES = ("tutorial-two-options", "tutorial-discounting", "tutorial-spatial", "own-model")
FIGURE = re.compile(r"^!\[[^\]]+\]\(figures/[\w-]+\.svg\)\n", re.MULTILINE)
SUMMARY = re.compile(
    r"^print\((.+)\.summary\(\)\)$|^print\(((?:found|people)\b.*)\)$", re.MULTILINE
)


def cells(page):
    """Cells of the notebook of a page: kind and text."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    made = []
    place = 0
    for block in BLOCK.finditer(text):
        made += _words(text[place : block.start()], made)
        made.append(("code", _shown(block["code"])))
        place = block.end()
    made += _words(text[place:], made)
    return [made[0], ("code", "%matplotlib inline"), *made[1:]]


def _words(text, made):
    """A cell of words, if there are any; the cell before shows the figure that the page shows here."""
    if FIGURE.search(text):
        kind, source = made[-1]
        shown = "canvas" if re.search(r"^canvas\b", source, re.MULTILINE) else "axes.figure"
        if "pair = " in source:
            shown = "pair[0].figure"
        made[-1] = (kind, f"{source}\n{shown}")
    text = re.sub(r"\]\((?!https?:|#|\.\.)", "](../", FIGURE.sub("", text)).strip("\n")
    return [("markdown", text)] if text else []


def _shown(source):
    return SUMMARY.sub(lambda match: match[1] or match[2], source.rstrip("\n"))


def notebook(page):
    """The notebook of a page, not run yet."""
    made = []
    for number, (kind, text) in enumerate(cells(page)):
        cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text}
        made.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": made, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def executed(page, timeout=600):
    """The notebook with what its cells print and draw; an error stops it."""
    import nbformat
    from nbclient import NotebookClient

    made = nbformat.from_dict(notebook(page))
    NotebookClient(made, timeout=timeout, kernel_name="python3", record_timing=False).execute()
    made["metadata"] = notebook(page)["metadata"]  # without the version of the Python that ran it
    return made


def refreshed(page):
    """The kept notebook with the page's words of now, where its code is the same; else None."""
    file = FOLDER / f"{page}.ipynb"
    made, old = notebook(page), json.loads(file.read_text()) if file.exists() else {"cells": []}
    code = [[c for c in one["cells"] if c["cell_type"] == "code"] for one in (made, old)]
    if [c["source"] for c in code[0]] != [c["source"] for c in code[1]]:
        return None
    for now, before in zip(*code, strict=True):
        now.update(outputs=before["outputs"], execution_count=before["execution_count"])
    return made


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in [Path(word).stem for word in sys.argv[1:]] or PAGES:
        file = FOLDER / f"{name}.ipynb"
        text = json.dumps(refreshed(name) or executed(name), indent=1, ensure_ascii=False)
        file.write_text(text + "\n", encoding="utf-8")
        print(f"{file.relative_to(DOCS)}: {file.stat().st_size:,} bytes")
