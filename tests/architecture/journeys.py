"""Lines of the functions that run on four journeys through the library: what a reader must read.

Run as a script it prints them as JSON. A journey is one public call, on data made here. Its Python
functions are seen by a profiler; functions compiled by numba, which no profiler sees, are counted
where a counted function names them.
"""

import csv
import json
import os
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np

import penchant as pn

ROOT = Path(pn.__file__).parent
TRUTH = {"temperature": 0.2, "learning_rate": 0.4}


def journeys(folder):
    """The four calls by name."""
    choices = pn.Choices.from_frame(
        pn.datasets.load("menu"),
        decision="decision",
        option="option",
        chosen="chosen",
        explanatory=["price", "quality"],
    )
    rng = np.random.default_rng(1)
    task = pn.Landscape([0.2, 0.8], pn.GaussianNoise(0.1))
    plays = [pn.simulate(task, pn.QLearning(2), TRUTH, n_decisions=60, rng=rng) for _ in range(6)]
    people = [pn.Episode(p.chosen, p.rewards, subject=f"s{s}") for s, p in enumerate(plays)]
    table = Path(folder) / "study.csv"
    write_table(table, people)
    # A model is made in each call, as what the first one keeps with it would shorten the second.
    return {
        "fit(choices)": lambda: pn.fit(choices),
        "fit(episodes, QLearning(2))": lambda: pn.fit(plays[:2], pn.QLearning(2)),
        "fit_population(people, QLearning(2))": lambda: pn.fit_population(people, pn.QLearning(2)),
        "read('study.csv')": lambda: pn.read(table),
    }


def write_table(path, people):
    """Write a study as laboratories have it: one row per trial."""
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["subject", "trial", "choice", "reward"])
        for person in people:
            trials = enumerate(zip(person.chosen, person.rewards, strict=True))
            table.writerows([person.subject, t, int(c), float(r)] for t, (c, r) in trials)


def functions_run(call):
    """Code objects of the package that run in a second call: the first one fills caches."""
    call()
    running = set()

    def note(frame, event, argument):
        if event == "call" and is_own(frame.f_code):
            running.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return with_compiled(running)


def is_own(code):
    return code.co_filename.startswith(str(ROOT))


def with_compiled(running):
    """The functions, and the compiled ones that they name, and those that these name."""
    # Names are looked up in the module of a file: frames of compiled functions have none.
    modules = {getattr(module, "__file__", None): vars(module) for module in sys.modules.values()}
    queue, counted = list(running), set(running)
    while queue:
        code = queue.pop()
        named = [compiled_function(name, modules[code.co_filename]) for name in code.co_names]
        new = {function.__code__ for function in named if function is not None} - counted
        counted |= {code for code in new if is_own(code)}
        queue += [code for code in new if is_own(code)]
    return counted


def compiled_function(name, module):
    """The source of a compiled function that a module knows by name or in a module it imports."""
    function = getattr(module.get(name), "py_func", None)
    for value in [] if function else list(module.values()):
        if getattr(value, "__name__", "").startswith("penchant") and hasattr(value, name):
            function = function or getattr(getattr(value, name), "py_func", None)
    return function


def length(code):
    """Lines of a function without its docstring."""
    numbers = [line for _, _, line in code.co_lines() if line]
    total = max(numbers) - code.co_firstlineno + 1 if numbers else 0
    first = code.co_consts[0] if code.co_consts else None
    docstring = first.count("\n") + 1 if isinstance(first, str) and first else 0
    return max(total - docstring, 1)


def lines_of_functions():
    """Lines by journey; lambdas and comprehensions belong to the function around them."""
    with tempfile.TemporaryDirectory() as folder:
        return {
            name: sum(length(c) for c in functions_run(call) if not c.co_name.startswith("<"))
            for name, call in journeys(folder).items()
        }


if __name__ == "__main__":
    # One core, so one thread: a profiler does not see those of a pool that the first call has made,
    # and how many there are depends on the machine. Elsewhere than on Linux a few lines are missed.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(json.dumps(lines_of_functions()))
