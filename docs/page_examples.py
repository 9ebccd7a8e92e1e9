"""Run the Python examples of a page and compare what they print with the output shown below them.

An example is a block of Python; its output is the block of the language `output` that follows it,
with nothing but blank lines between. A page is run from top to bottom as one program. As in a
notebook, the output of a block is what it prints, then the value of its last line unless that is
None. A block without output below it must print nothing. Output is compared as doctest compares
it: runs of white space are equal, and "..." stands for any text.
"""

import ast
import contextlib
import doctest
import io
import re
import unittest.mock
from dataclasses import dataclass

import penchant

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<kind>python|\{drawn\} (?P<title>[^\n]+))\n(?P<code>.*?)^ *```$"
    r"(?:\n\n*^ *```output\n(?P<output>.*?)^ *```$)?",
    re.MULTILINE | re.DOTALL,
)


class ExampleError(Exception):
    """An example that prints something else than its page shows, or draws no figure."""


@dataclass(frozen=True)
class Example:
    """A block of Python on a page, with the output shown below it.

    `line` is the line of the page on which the code begins, counted from 1. `title` is that of a
    `{drawn}` block, which must draw a figure, and None for other blocks.
    """

    line: int
    code: str
    output: str | None
    title: str | None


def examples(text):
    """Examples of a page, in order."""
    found = [_example(match, text) for match in BLOCK.finditer(text)]
    opened = len(re.findall(r"^ *```(?:python|\{drawn\} .+)$", text, re.MULTILINE))
    if opened != len(found):
        raise ExampleError(f"{opened - len(found)} blocks of Python are not closed.")
    unattached = text.count("```output\n") - sum(example.output is not None for example in found)
    if unattached:
        raise ExampleError(f"{unattached} output blocks do not follow a block of Python.")
    return found


def _example(match, text):
    line = text.count("\n", 0, match.start("code")) + 1
    code, output = (
        part and re.sub(rf"^{match['indent']}", "", part, flags=re.MULTILINE)
        for part in (match["code"], match["output"])
    )
    if re.search(r"^>>> ", code, re.MULTILINE):
        raise ExampleError(f"line {line}: write code without prompts, and output in a block below.")
    return Example(line, code, output, match["title"])


def check(example, names, path):
    """Run an example in the namespace of its page; return the figures that it made."""
    printed, figures = _run(example, names, path)
    expected = example.output or ""
    if not doctest.OutputChecker().check_output(expected, printed, FLAGS):
        shown = f"the page shows\n{expected}\nbut it prints\n{printed}"
        raise ExampleError(f"{path}, line {example.line}:\n{example.code}\n{shown}")
    if example.title is not None and not figures:
        raise ExampleError(f"{path}, line {example.line}: draws no figure.")
    return figures


def _run(example, names, path):
    """What an example prints, its last value included, and the figures that it makes.

    A figure is what `pn.figures.figure` returned, or a new `canvas`.
    """
    tree = ast.increment_lineno(ast.parse(example.code), example.line - 1)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    figures, begin, canvas = [], penchant.figures.figure, names.get("canvas")

    def watched(*args, **keywords):
        figures.append(begin(*args, **keywords))
        return figures[-1]

    with (
        contextlib.redirect_stdout(io.StringIO()) as printed,
        unittest.mock.patch.object(penchant.figures, "figure", watched),
    ):
        exec(compile(tree, str(path), "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), str(path), "eval"), names)
            if value is not None:
                print(repr(value))
    if not figures and names.get("canvas") is not canvas:
        figures = [names["canvas"]]
    return printed.getvalue(), figures
