"""Draw the figures that pages show below their examples: python docs/make_figures.py [PAGE.md ...].

A page says `![words](figures/PAGE-NAME.svg)` after a block of code. The examples of the page are run
as they stand, and the figure that was made last before that line is saved there, so that a
picture is always one that the lines above it draw. Without names, all pages that have such lines
are drawn anew.
"""

import re
import sys
from pathlib import Path

import penchant as pn
from page_examples import check, examples

DOCS = Path(__file__).parent


def shown(page):
    """Lines of a page, from 0, that show a figure made by its own examples, with words and file."""
    pattern = re.compile(rf"!\[([^\]]+)\]\((figures/{page.stem}-[\w-]+\.svg)\)")
    lines = page.read_text(encoding="utf-8").splitlines()
    found = ((i, pattern.search(line)) for i, line in enumerate(lines))
    return [(i, match[1], DOCS / match[2]) for i, match in found if match]


def draw(page):
    """Run the examples of a page, and save each figure where the page shows it."""
    found = examples(page.read_text(encoding="utf-8"))
    made, names, done = [], {"__name__": "__main__"}, 0
    for line, words, file in shown(page):
        for example in found:
            if done <= example.line < line:
                made += check(example, names, page)
        done = line
        pn.figures.save(made[-1], file, title=words, overwrite=True)
        print(f"{file.relative_to(DOCS)}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    for one in map(Path, sys.argv[1:] or sorted(DOCS.glob("*.md"))):
        if shown(one):
            draw(one)
