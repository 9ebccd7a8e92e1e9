"""The study that is served without a file: the paper's task, at one's own pace."""

from __future__ import annotations

from importlib.resources import files

DEMONSTRATION = """
[study]
name = "demonstration"
title = "Find the best squares"
resume = "browser"

[instructions]
pages = [
  '''
You will see a grid of 100 squares. Each pays points when you choose it.

Squares near each other pay similarly, but a square does not always pay the same.
''',
  '''
You have 90 choices. Collect as many points as you can.

Use the mouse, touch, or the arrow keys and Enter.
''',
]

[conditions]
landscape = ["a", "b"]

[[block]]
task = "grid"
decisions = 90
noise = "integer"
largest = 5

[end.completed]
text = "Thank you for playing. Your choices are saved."

[estimate]
show_at_end = true
"""


def new_study_text() -> str:
    """A commented study file to start from."""
    return files("penchant.task.page").joinpath("template.toml").read_text(encoding="utf-8")
