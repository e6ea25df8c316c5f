"""Threads for work on many planes: each computes whole planes with a context of its own, and none waits for another,
as OpenMP's do at the end of every loop."""
from __future__ import annotations

import os
import threading
from typing import Any, Callable, Iterator, TypeVar

from ._context import cores, drop_contexts

_Result = TypeVar("_Result")

_lock = threading.Lock()
_executor: Any = None


def _forget() -> None:
    """In the child of a fork, where the threads do not exist."""
    global _executor, _lock
    _executor, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)


def _submit(work: Callable[[], None]) -> Any:
    global _executor
    with _lock:
        if _executor is None:
            from concurrent.futures import ThreadPoolExecutor
            _executor = ThreadPoolExecutor(cores(), "cernita")
        return _executor.submit(work)


def free_contexts() -> None:
    """Frees the scratch memory that the calling thread and the package's own threads keep from their largest call.

    >>> free_contexts()
    """
    global _executor
    drop_contexts()
    with _lock:
        executor, _executor = _executor, None
    if executor is not None:
        executor.shutdown()


def in_threads(threads: int, work: Callable[[int], _Result], count: int) -> list[_Result]:
    """[work(0), …, work(count - 1)], by so many threads, at most one per core. Raises the first error."""
    results: dict[int, _Result] = {}
    numbers = iter(range(count))

    def take(numbers: Iterator[int]) -> None:
        for number in numbers:
            results[number] = work(number)

    try:
        futures = [_submit(lambda: take(numbers)) for _ in range(min(threads, count, cores()))]
    except RuntimeError:  # the interpreter ends, and starts no threads any more
        futures = []
    for future in futures:
        future.result()
    take(numbers)
    return [results[number] for number in range(count)]


__all__ = ["free_contexts"]
