"""Contexts of the library: each thread keeps its own, so that the package may be called from any thread.

A context holds threads and scratch memory, and serves one thread at a time. Those of a thread are kept by what they
were opened for, the most recent ones, so that the second call of a size allocates nothing, and freed when it ends.
"""
from __future__ import annotations

import ctypes
import functools
import os
import threading
from collections import OrderedDict
from typing import Any, NamedTuple

from ._arguments import choice, whole
from ._library import BACKENDS, MEMORY_DEVICE, MEMORY_HOST, THREADS_MAX, ContextSettings, check, lib

_KEPT = 8  # contexts of a thread, and prepared calls
_AUTO, _CUDA = BACKENDS.index("auto"), BACKENDS.index("cuda")


class ContextKey(NamedTuple):
    """What a context is opened for; see crn_context_settings."""
    backend: int
    threads: int = 1
    memory: int = MEMORY_HOST
    device: int = 0
    stream: int | None = None


class Context:
    """An open crn_context."""

    def __init__(self, key: ContextKey) -> None:
        self.key = key
        self.scratch: object = None  # what the package keeps with it from one call to the next
        self.pointer = ctypes.c_void_p()
        self._pinned: set[int] = set()
        result = lib.crn_context_open(ctypes.byref(ContextSettings(*key)), ctypes.byref(self.pointer))
        if result < 0:
            check(result, f"backend {BACKENDS[key.backend]!r}: {why_missing(key.backend) or os.strerror(-result)}")

    def call(self, function: str, *arguments: Any) -> None:
        """Calls a function of the library, without the GIL; raises its error."""
        result = getattr(lib, function)(self.pointer, *arguments)
        if result < 0:
            check(result, lib.crn_context_error(self.pointer).decode(errors="replace"))

    def wait(self) -> None:
        """Waits until the context's work is done, without the GIL."""
        self.call("crn_context_wait")

    def pin(self, size: int) -> int:
        """The address of host memory for results, until unpin() or the context's end."""
        address: int | None = lib.crn_pinned_create(self.pointer, size)
        if not address:
            raise MemoryError(f"{size} bytes of pinned memory for results")
        self._pinned.add(address)
        return address

    def unpin(self, address: int) -> None:
        self._pinned.remove(address)
        lib.crn_pinned_free(self.pointer, address)

    def __del__(self) -> None:
        if not self.pointer:  # it was not opened, perhaps for want of the library
            return
        for address in self._pinned:
            lib.crn_pinned_free(self.pointer, address)
        lib.crn_context_free(ctypes.byref(self.pointer))


class _Kept(threading.local):
    """The contexts of a thread, the last used ones last."""

    def __init__(self) -> None:
        self.contexts: OrderedDict[ContextKey, Context] = OrderedDict()
        self.calls: dict[Any, Any] = {}  # prepared, by their form; each keeps its context
        self.is_forked = False


_kept = _Kept()
_leaked: list[object] = []


def _forget_threads() -> None:
    """In the child of a fork: the threads of OpenMP and the device's state are the parent's alone. A call that counted
    on them would wait for ever, so this thread works alone from now on, with contexts of its own."""
    _leaked.append((_kept.contexts, _kept.calls))
    _kept.contexts, _kept.calls = OrderedDict(), {}
    _kept.is_forked = True


os.register_at_fork(after_in_child=_forget_threads)


def context_for(key: ContextKey) -> Context:
    """The calling thread's context for this, opened with the first call."""
    if _kept.is_forked and key.threads > 1:
        key = key._replace(threads=1)
    context = _kept.contexts.get(key)
    if context is None:
        context = _kept.contexts[key] = Context(key)
        if len(_kept.contexts) > _KEPT:
            _kept.contexts.popitem(last=False)
            _kept.calls.clear()
    else:
        _kept.contexts.move_to_end(key)
    return context


def drop_contexts() -> None:
    """Frees those of the calling thread."""
    _kept.calls.clear()
    _kept.contexts.clear()


def take_call(form: Any) -> Any:
    """What the calling thread has kept for calls of this form, which is then no other call's; None without it."""
    if form is None:
        return None
    try:
        return _kept.calls.pop(form, None)
    except TypeError:  # it is not a key: an argument of a wrong type is part of it
        return None


def keep_call(form: Any, call: Any) -> None:
    """Keeps what was prepared for a call, for the next one of this form; nothing of none."""
    if form is None:
        return
    calls = _kept.calls
    calls[form] = call
    if len(calls) > _KEPT:
        del calls[next(iter(calls))]  # the one that was used the longest time ago


@functools.lru_cache(maxsize=None)
def cores() -> int:
    """Processors that this process may use, as of the first call; OMP_NUM_THREADS lowers it."""
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return min(len(os.sched_getaffinity(0)), THREADS_MAX, int(limit) if limit.isdecimal() and int(limit) else THREADS_MAX)


def host_key(backend: str, threads: int | None) -> ContextKey:
    """The key of these arguments for arrays in host memory; threads None: one per core."""
    return ContextKey(choice("backend", backend, BACKENDS),
                      cores() if threads is None else whole("threads", threads, 1, THREADS_MAX))


def device_key(backend: str, threads: int | None, device: int, stream: int | None) -> ContextKey:
    """The key of these arguments for arrays in device memory, where threads have no meaning."""
    if choice("backend", backend, BACKENDS) not in (_AUTO, _CUDA):
        raise ValueError(f"backend must be auto or cuda for arrays in device memory, not {backend!r}")
    if threads is not None:
        whole("threads", threads, 1, THREADS_MAX)
    return ContextKey(_CUDA, 1, MEMORY_DEVICE, device, stream)


def why_missing(backend: int) -> str | None:
    text = lib.crn_backend_missing(backend)
    return None if text is None else str(text.decode())


def missing(backend: str) -> str | None:
    """Why this build or machine lacks a backend ("serial", "openmp" or "cuda"); None if it has it.

    >>> missing("openmp") is None
    True
    """
    return why_missing(choice("backend", backend, BACKENDS))


__all__ = ["missing"]
