"""Who looks at chunks: threads, an executor, or a cluster; results in the order of chunks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from typing import Any, TypeVar

from penchant.arguments import check_threads
from penchant.errors import DataError
from penchant.softmax.likelihood import available_threads

T = TypeVar("T")
AHEAD = 4  # tasks that each thread may be ahead of the one that is waited for
WAITING = 4096  # tasks that another engine has at a time: more than a cluster has processors


def check_engine(engine: Any, threads: int | None) -> None:
    """Whether it can look at chunks."""
    check_threads(threads)
    known = isinstance(engine, (Executor, str)) or hasattr(engine, "get_executor")
    if engine is not None and not known:
        raise DataError(
            "engine must be an executor of concurrent.futures, a client of dask.distributed or "
            f"its address; got {type(engine).__name__}. Leave it out for threads."
        )


def in_order(
    work: Callable[[T], Any], tasks: Iterable[T], engine: Any, threads: int | None
) -> Iterator[Any]:
    """Results of the tasks in their order, whoever did them and whichever was done first."""
    workers = available_threads() if threads is None else threads
    if engine is None and workers == 1:
        yield from map(work, tasks)
        return
    left = iter(tasks)
    ahead = AHEAD * workers if engine is None else WAITING
    with _executor(engine, workers) as executor:
        futures = deque(executor.submit(work, task) for task in islice(left, ahead))
        try:
            while futures:
                found = futures[0].result()
                futures.popleft()
                futures.extend(executor.submit(work, task) for task in islice(left, 1))
                yield found
        finally:
            for future in futures:
                future.cancel()


@contextmanager
def _executor(engine: Any, workers: int) -> Iterator[Any]:
    """What takes the tasks; ended afterwards if it was made here."""
    if engine is None:
        with ThreadPoolExecutor(workers) as pool:
            yield pool
    elif isinstance(engine, Executor):
        yield engine
    elif isinstance(engine, str):
        try:
            distributed = import_module("distributed")
        except ImportError as error:
            raise DataError(
                "engine must be an executor where dask.distributed is not installed; got "
                f"{engine!r}. Install it with pip install 'penchant[dask]'."
            ) from error
        with distributed.Client(engine) as client:
            yield client.get_executor(pure=False)
    else:
        yield engine.get_executor(pure=False)
