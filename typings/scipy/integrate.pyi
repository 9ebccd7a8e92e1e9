from collections.abc import Callable, Sequence

def quad(
    func: Callable[[float], float],
    a: float,
    b: float,
    *,
    points: Sequence[float] | None = ...,
    limit: int = ...,
    epsabs: float = ...,
) -> tuple[float, float]: ...
