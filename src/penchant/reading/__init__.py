"""Readers that turn files of laboratories into choices, play or offers."""
