"""Kinds of task: what is shown, what a choice pays."""
