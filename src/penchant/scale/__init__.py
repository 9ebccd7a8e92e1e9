"""Scans of files that do not fit in memory, and engines that look at their chunks."""
