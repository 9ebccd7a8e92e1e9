"""The files that a reader of a fit needs, and links to their lines in `how-a-fit-happens.md`.

    python docs/way.py           # print the files whose code runs in two fits
    python docs/way.py --links   # write the line numbers of the page's links anew

Python's profiler sees every function that runs, but none that is compiled. A compiled function is
therefore counted as soon as a function that runs names it, or a compiled function that is counted:
rather a file too many than one too few. Three kinds of code are not counted: code that runs when a
module is imported, methods that dataclasses write by themselves, and code that runs only in the
first call of a process, which loads compiled functions and fills caches. Each fit is therefore made
once before it is watched.
"""

from __future__ import annotations

import ast
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

import penchant as pn

SOURCE = Path(pn.__file__).parent
PAGE = Path(__file__).with_name("how-a-fit-happens.md")
LINK = re.compile(r"\[`([\w.]+)`\]\(\.\./src/penchant/([\w/]+\.py)#L(\d+)\)")

Names = dict[str, Any]


def fits() -> dict[str, Callable[[], Any]]:
    """The two fits of the page, by the words that call them."""
    choices = pn.Choices.from_frame(
        pn.datasets.load("menu"),
        decision="decision",
        option="option",
        chosen="chosen",
        explanatory=["price", "quality"],
    )
    rng = np.random.default_rng(1)
    task = pn.Landscape([0.2, 0.8], pn.GaussianNoise(0.1))
    truth = {"temperature": 0.2, "learning_rate": 0.4}
    episodes = [
        pn.simulate(task, pn.QLearning(2), truth, n_decisions=90, rng=rng) for _ in range(2)
    ]
    return {
        "pn.fit(choices)": lambda: pn.fit(choices),
        "pn.fit(episodes, pn.QLearning(2))": lambda: pn.fit(episodes, pn.QLearning(2)),
    }


def files(call: Callable[[], Any]) -> list[str]:
    """Files of the package whose code runs in a call, relative to its folder."""
    call()
    ran = _ran(call)
    code = [*ran, *(function.__code__ for function in _compiled(ran))]
    return sorted({_file(one) for one in code})


def _file(code: CodeType) -> str:
    return Path(code.co_filename).relative_to(SOURCE).as_posix()


def _ran(call: Callable[[], Any]) -> dict[CodeType, Names]:
    """Code of the package that the profiler sees in a call, with the names that it knows."""
    found: dict[CodeType, Names] = {}

    def look(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        ours = SOURCE in Path(code.co_filename).parents
        if event == "call" and ours and code.co_name != "<module>":
            found[code] = frame.f_globals

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return found


def _compiled(ran: dict[CodeType, Names]) -> list[Any]:
    """Compiled functions that this code names, that those name, and so on."""
    found: list[Any] = []
    look_at = list(ran.items())
    while look_at:
        for function in _named(*look_at.pop()):
            if function not in found:
                found.append(function)
                look_at.append((function.__code__, function.__globals__))
    return found


def _named(code: CodeType, names: Names) -> Iterator[Any]:
    """Compiled functions of the package that some code names, by themselves or after a module."""
    values = [names.get(name) for name in code.co_names]
    for module in [value for value in values if isinstance(value, ModuleType)]:
        values += [vars(module).get(name) for name in code.co_names]
    for value in values:
        if isinstance(value, Dispatcher) and value.py_func.__module__.startswith("penchant."):
            yield value.py_func


def line_of(name: str, file: str) -> int:
    """The line on which a file defines a function, a class, or a method as `Class.method`.

    Of an overloaded function it is the last one: the one that has a body.
    """
    within: Any = ast.parse((SOURCE / file).read_text(encoding="utf-8"))
    for part in name.split("."):
        *_, within = [node for node in within.body if getattr(node, "name", None) == part]
    return int(within.lineno)


def linked(text: str) -> str:
    """A page with the numbers of its links as the lines are now."""
    return LINK.sub(
        lambda link: f"[`{link[1]}`](../src/penchant/{link[2]}#L{line_of(link[1], link[2])})", text
    )


if __name__ == "__main__":
    if "--links" in sys.argv[1:]:
        PAGE.write_text(linked(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        for words, call in fits().items():
            needed = files(call)
            print(f"{words}: {len(needed)} files")
            print(*(f"    {file}" for file in needed), sep="\n")
