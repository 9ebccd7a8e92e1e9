"""Types of what a model's functions of scalars take: `features`, `update` and `start`.

Nothing here is made at run time: the functions are compiled from their source.
"""

from __future__ import annotations


class Numbers(float):
    """A number, or an array of numbers where the model declares one."""

    def __index__(self) -> int:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def __getitem__(self, place: float | tuple[float, ...]) -> float:
        raise NotImplementedError

    def __setitem__(self, place: float | tuple[float, ...], value: float) -> None:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        raise NotImplementedError

    def __pow__(self, exponent: float, modulus: None = None) -> float:
        raise NotImplementedError


class Fields:
    """State, event, shape parameters or settings, by the names that the model declares."""

    def __getattr__(self, name: str) -> Numbers:
        raise NotImplementedError

    def __setattr__(self, name: str, value: float) -> None:
        raise NotImplementedError
