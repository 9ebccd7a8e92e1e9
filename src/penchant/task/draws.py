"""Random numbers that depend on what they are for, and on nothing else.

Each is computed from a key, such as (study seed, session, block, decision): a server that starts
again, or another one beside it, draws the same.
"""

from __future__ import annotations

import hashlib
from statistics import NormalDist

_STEPS = 2**53
_NORMAL = NormalDist()

Key = tuple[int | str, ...]


def uniform(*key: int | str) -> float:
    """A number between 0 and 1, neither of them included.

    Examples
    --------
    >>> uniform(7, "reward", 1, 0, 3) == uniform(7, "reward", 1, 0, 3)
    True
    >>> uniform(7, "reward", 1, 0, 3) == uniform(7, "reward", 1, 0, 4)
    False
    """
    words = "\x00".join(f"{type(part).__name__}:{part}" for part in key)
    bits = int.from_bytes(hashlib.sha256(words.encode()).digest()[:8], "big") >> 11
    return (bits + 0.5) / _STEPS


def normal(*key: int | str) -> float:
    """A standard normal number."""
    return _NORMAL.inv_cdf(uniform(*key))


def whole(n: int, *key: int | str) -> int:
    """A whole number from 0 to n - 1, all as likely."""
    return int(uniform(*key) * n)


def order(n: int, *key: int | str) -> list[int]:
    """The numbers 0 to n - 1 in a random order.

    >>> sorted(order(5, 1, "offers")), order(5, 1, "offers") == order(5, 1, "offers")
    ([0, 1, 2, 3, 4], True)
    """
    return sorted(range(n), key=lambda i: uniform(*key, i))
