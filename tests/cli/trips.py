"""A small table of choices: three options, two variables."""

import math
import random

OPTIONS = ("air", "bus", "car")
HEADER = ["decision", "option", "chosen", "price", "wait"]


def simulated(n=47, seed=3):
    """Rows of a long table: three options, two variables, choices by softmax."""
    draw = random.Random(seed)
    rows = []
    for k in range(1, n + 1):
        sets = [(o, round(draw.uniform(1, 9), 2), round(draw.uniform(0, 5), 2)) for o in OPTIONS]
        value = [-0.4 * p - 0.3 * w - math.log(-math.log(draw.random())) for _, p, w in sets]
        best = value.index(max(value))
        rows += [[k, o, int(i == best), p, w] for i, (o, p, w) in enumerate(sets)]
    return rows


def csv(rows, header=HEADER, sep=","):
    """The text of a CSV file."""
    return "".join(sep.join(map(str, row)) + "\n" for row in [header, *rows])
