"""Usage that several commands refuse before they read anything."""

from __future__ import annotations

from penchant.errors import DataError


def check_file(file: str | None) -> None:
    """Refuse a command without its table."""
    if file is None:
        raise DataError("FILE must be given; got none. penchant simulate makes one to try.")


def check_threads(threads: int | None) -> None:
    """Refuse no processor at all."""
    if threads is not None and threads < 1:
        raise DataError(f"--threads must be at least 1; got {threads}. Leave it out to use all.")


def check_criterion(criterion: str | None, folds: str | None) -> None:
    """Refuse to rank by what is held out where nothing is."""
    if criterion == "held-out" and folds is None:
        raise DataError(
            "--criterion held-out must come with --folds; got none. Try --folds 5 or block."
        )


def check_seed(seed: int | None, where: str = "") -> None:
    """Refuse randomness that could not be had again."""
    if seed is None or seed < 0:
        got = "none" if seed is None else seed
        raise DataError(
            f"--seed must be a whole number, 0 or more{where}; got {got}. "
            "Any will do: the same one gives the same result."
        )
