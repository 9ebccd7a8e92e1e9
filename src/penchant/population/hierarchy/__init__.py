"""Everybody at once: people as draws from a population whose mean and spread are estimated."""
