"""A device for tools/study: its memory, pinned host memory, and the operators on pictures in device memory."""
import ctypes
import weakref

import numpy as np

import internals

import cernita
from cernita._library import TYPES, Image, check

_LIMIT_NS = 60 * 10**9
_POINTER, _INT = ctypes.c_void_p, ctypes.c_int32


def _function(*arguments, gives=ctypes.c_int):
    return ctypes.CFUNCTYPE(gives, *arguments)


class _Gpu(ctypes.Structure):
    """crn_gpu (gpu/gpu.h), up to what is used here."""
    _fields_ = [("ops", ctypes.POINTER(internals.Ops)), ("count", _function(gives=_INT)),
                ("describe", _function(_INT, _POINTER)), ("context_create", _function(_INT, _INT, _POINTER)),
                ("use", _function(_POINTER)), ("pinned_create", _function(ctypes.c_size_t, gives=_POINTER)),
                ("pinned_free", _function(_POINTER, gives=None)), ("pin", _function(_POINTER, ctypes.c_size_t)),
                ("unpin", _function(_POINTER, gives=None)),
                ("upload", _function(_POINTER, _POINTER, _POINTER, ctypes.c_size_t)),
                ("download", _function(_POINTER, _POINTER, _POINTER, ctypes.c_size_t)),
                ("copy", _function(_POINTER, _POINTER, _POINTER, ctypes.c_size_t)), ("poll", _function(_POINTER)),
                ("mark", _function(_POINTER, _INT)), ("elapsed", _function(_POINTER, _INT, _INT, _POINTER))]


_lib = internals.lib
_lib.crn_gpu_get.restype = ctypes.POINTER(_Gpu)
_lib.crn_gpu_wait.argtypes = [ctypes.POINTER(_Gpu), _POINTER, ctypes.c_int64]
_lib.crn_context_scratch.restype = _POINTER
_lib.crn_context_scratch.argtypes = [_POINTER, _INT, ctypes.c_size_t]
_gpu = _lib.crn_gpu_get(ctypes.byref(ctypes.c_char_p()))


def _check(result):
    check(result, "on the device")


def missing():
    """The reason if there is no device, else None."""
    return cernita.missing("cuda")


def empty(shape, dtype="u1"):
    """An uninitialised array, in pinned memory if there is a device."""
    count = int(np.prod(shape))
    size = max(1, count * np.dtype(dtype).itemsize)
    memory = _gpu.contents.pinned_create(size) if _gpu else None
    if not memory:
        return np.empty(shape, dtype)
    owner = (ctypes.c_uint8 * size).from_address(memory)
    weakref.finalize(owner, _gpu.contents.pinned_free, memory)
    return np.frombuffer(owner, dtype, count).reshape(shape)


def pinned(array):
    copy = empty(array.shape, array.dtype)
    copy[...] = array
    return copy


class Device:
    """A context on the first device. Enqueued work is complete when wait() returns."""

    def __init__(self):
        self.context, self._kept = _POINTER(), []
        _check(_gpu.contents.context_create(0, 1, ctypes.byref(self.context)))

    def __del__(self):
        _lib.crn_context_free(ctypes.byref(self.context))

    def memory(self, slot, size):
        """Device address of `size` bytes; slots 16 to 23 are free."""
        address = _lib.crn_context_scratch(self.context, slot, size)
        if not address:
            raise MemoryError(f"{size} bytes on the device")
        return address

    def upload(self, address, array):
        _check(_gpu.contents.upload(self.context, address, array.ctypes.data, array.nbytes))

    def download(self, array, address):
        _check(_gpu.contents.download(self.context, array.ctypes.data, address, array.nbytes))

    def wait(self):
        _check(_lib.crn_gpu_wait(_gpu, self.context, _LIMIT_NS))

    def run(self, name, params, source, target):
        operator = getattr(_gpu.contents.ops.contents, name)
        _check(operator(self.context, ctypes.byref(params), ctypes.byref(source), ctypes.byref(target)))

    def kernels_ms(self, call):
        """What call() asks for, by the device's clock."""
        nanoseconds = ctypes.c_int64()
        _check(_gpu.contents.mark(self.context, 0))
        call()
        _check(_gpu.contents.mark(self.context, 1))
        self.wait()
        _check(_gpu.contents.elapsed(self.context, 0, 1, ctypes.byref(nanoseconds)))
        return nanoseconds.value / 1e6


def picture(address, dtype, planes, height, width):
    """A planar picture in device memory."""
    return Image(address, TYPES.index(np.dtype(dtype).name) + 1, planes, height, width, height * width, width, 1)
