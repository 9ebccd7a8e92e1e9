"""Make notebooks of the tutorials and run them: python docs/make_notebooks.py [PAGE.md ...].

A page and its notebook are the same words and the same code; the page is the one to change. A cell
ends where the page prints something. Where the page shows a figure, the cell shows it, and
summaries are shown as tables.
"""

import doctest
import json
import re
import sys
from pathlib import Path

DOCS = Path(__file__).parent
FOLDER = DOCS / "notebooks"
PAGES = ("tutorial-two-options", "tutorial-discounting", "tutorial-spatial", "own-model")
BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
FIGURE = re.compile(r"^!\[[^\]]+\]\(figures/[\w-]+\.svg\)\n", re.MULTILINE)
SUMMARY = re.compile(r"^print\((.+)\.summary\(\)\)$|^print\(((?:found|people)\b.*)\)$", re.MULTILINE)


def cells(page):
    """Cells of the notebook of a page: kind and text."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    made = [("code", "%matplotlib inline")]
    place = 0
    for block in BLOCK.finditer(text):
        made += _words(text[place : block.start()], made)
        made += [("code", source) for source in _sources(block[1])]
        place = block.end()
    return made + _words(text[place:], made)


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


def _sources(block):
    """Code of a block, cut after every example that prints something."""
    source = ""
    for example in doctest.DocTestParser().get_examples(block):
        source += example.source
        if example.want:
            yield _shown(source)
            source = ""
    if source:
        yield _shown(source)


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


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in [Path(word).stem for word in sys.argv[1:]] or PAGES:
        file = FOLDER / f"{name}.ipynb"
        file.write_text(json.dumps(executed(name), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{file.relative_to(DOCS)}: {file.stat().st_size:,} bytes")
