"""A small history of play: two people on a grid of 4 x 3 options, two blocks each."""

import math
import random

HEADER = ["subject", "block", "decision", "chosen", "reward"]
WIDTH, HEIGHT = 4, 3
UCL = ["--model", "ucl", "--grid", f"{WIDTH}x{HEIGHT}", "--noise-variance", "2.5"]
UCL += ["--length-scale", "1.5", "--cooling", "constant"]
Q = ["--model", "q-learning", "--options", str(WIDTH * HEIGHT)]


def played(n=17, seed=5, subjects=("ann", "bob"), blocks=(1, 2)):
    """Rows of a table: options of large x pay more, and people drift there."""
    draw = random.Random(seed)
    rows = []
    for subject in subjects:
        for block in blocks:
            for t in range(1, n + 1):
                weights = [math.exp(0.12 * t * (i % WIDTH)) for i in range(WIDTH * HEIGHT)]
                option = draw.choices(range(WIDTH * HEIGHT), weights)[0]
                reward = round(7 * (option % WIDTH) + draw.gauss(0, 1.6), 2)
                rows.append([subject, block, t, option, reward])
    return rows
