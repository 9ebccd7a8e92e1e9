"""Bandit tasks: where the options are, what they pay, and what happened in play."""
