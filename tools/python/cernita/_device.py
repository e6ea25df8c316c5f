"""Arrays in device memory: PyTorch's, CuPy's and others', in place and on the stream that they are computed on.

An array is read through its own methods (PyTorch), the CUDA array interface (CuPy, Numba) or DLPack (all others), in
this order; the library then works on the array's current stream, so that no call waits for another.
"""
from __future__ import annotations

import ctypes
import math
import sys
from typing import Any, Sequence

import numpy as np

from ._foreign import FAULTS, has_cuda_interface, host_view, is_on_device, library_of, told_of, torch_type

_LEGACY_STREAM = 1  # CUDA's default stream, in DLPack and in the CUDA array interface


class DeviceArray:
    """An array in device memory, with what NumPy's arrays are asked for. Strides count elements."""
    __slots__ = ("owner", "address", "dtype", "shape", "strides", "device", "stream", "writeable")

    def __init__(self, owner: Any, address: int, dtype: np.dtype[Any], shape: Sequence[int], strides: Sequence[int],
                 device: int, stream: int | None, writeable: bool = True) -> None:
        self.owner, self.address, self.dtype = owner, address, dtype
        self.shape, self.strides = tuple(shape), tuple(strides)
        self.device, self.stream, self.writeable = device, stream, writeable

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def extent(self) -> tuple[int, int]:
        """The addresses of its first byte and of the one behind its last."""
        reach = [(size - 1) * stride for size, stride in zip(self.shape, self.strides)]
        first = self.address + self.dtype.itemsize * sum(step for step in reach if step < 0)
        return first, self.address + self.dtype.itemsize * (1 + sum(step for step in reach if step > 0))


def dense_strides(shape: Sequence[int]) -> list[int]:
    """Of an array without gaps, the last dimension's elements beside each other."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return strides


# --- PyTorch ---

def _torch_stream(torch: Any, device: int) -> int | None:
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # without an object, which takes 10 us
    stream = raw(device) if raw else torch.cuda.current_stream(device).cuda_stream
    return stream or None


def _torch_array(argument: str, tensor: Any) -> DeviceArray:
    torch: Any = sys.modules["torch"]
    try:
        address, strides = tensor.data_ptr(), tensor.stride()
    except RuntimeError as fault:  # it has no memory of its own
        raise TypeError(f"{argument} cannot be read where it lies: {fault}") from None
    device = tensor.device.index
    return DeviceArray(tensor, address, torch_type(argument, tensor), tensor.shape, strides, device,
                       _torch_stream(torch, device))


def _torch_empty(like: DeviceArray, shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
    return like.owner.new_empty(tuple(shape), dtype=getattr(sys.modules["torch"], dtype.name))


# --- the CUDA array interface, version 3 ---

def _device_number(array: Any) -> int:
    """The interface does not say it: CuPy's arrays do, and DLPack."""
    number = getattr(getattr(array, "device", None), "id", None)
    if isinstance(number, int):
        return number
    return int(array.__dlpack_device__()[1]) if hasattr(array, "__dlpack_device__") else 0


def _interface_array(argument: str, array: Any) -> DeviceArray:
    told = array.__cuda_array_interface__
    if "stream" not in told and hasattr(array, "block_until_ready"):
        array.block_until_ready()  # JAX's version 2 names no stream that fills the array
    if told.get("mask") is not None:
        raise TypeError(f"{argument} must have no mask of its own; cernita reads all elements")
    dtype, shape = np.dtype(told["typestr"]), told["shape"]
    strides = told.get("strides")
    if strides is None:
        counted = dense_strides(shape)
    elif any(stride % dtype.itemsize for stride in strides):
        raise ValueError(f"{argument} must have strides of whole elements; {argument}.copy() has")
    else:
        counted = [stride // dtype.itemsize for stride in strides]
    stream = told.get("stream")
    return DeviceArray(array, told["data"][0], dtype, shape, counted, _device_number(array),
                       None if stream in (None, _LEGACY_STREAM) else stream, not told["data"][1])


def _cupy_empty(like: DeviceArray, shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
    cupy: Any = sys.modules["cupy"]
    with cupy.cuda.Device(like.device):
        return cupy.empty(tuple(shape), dtype)


def _numba_empty(like: DeviceArray, shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
    cuda: Any = sys.modules["numba.cuda"]
    return cuda.device_array(tuple(shape), dtype)


# --- DLPack ---

class _Tensor(ctypes.Structure):
    """DLTensor, with which a DLManagedTensor begins."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_DLPACK_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
_DLPACK_NAMES = {4: "bfloat16"}  # of types that NumPy lacks


def _dlpack_array(argument: str, array: Any) -> DeviceArray:
    # Made on whatever stream, it is ready on the default one; the capsule keeps the memory.
    capsule = array.__dlpack__(stream=_LEGACY_STREAM)
    tensor = _Tensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    kind = _DLPACK_KINDS.get(tensor.code)
    if kind is None or tensor.lanes != 1 or tensor.bits % 8:
        name = _DLPACK_NAMES.get(tensor.code, f"DLPack's type {tensor.code} with {tensor.bits} bits")
        raise TypeError(told_of(argument, array, f"{argument} must be of a type that NumPy has, not {name}; "
                                                 f"{argument}.astype('float32') makes it float32"))
    shape = tensor.shape[:tensor.ndim]
    strides = tensor.strides[:tensor.ndim] if tensor.strides else dense_strides(shape)
    return DeviceArray((array, capsule), (tensor.data or 0) + tensor.byte_offset,
                       np.dtype(f"{kind}{tensor.bits // 8}"), shape, strides, tensor.device, None)


# --- all of them ---

def describe(argument: str, array: Any, copies: bool = True) -> Any:
    """The DeviceArray of an array in device memory; of one in host memory NumPy's view of it, or a copy if that is
    allowed."""
    if not is_on_device(argument, array):
        return host_view(argument, array, copies)
    if library_of(array) == "torch":
        return _torch_array(argument, array)
    return _interface_array(argument, array) if has_cuda_interface(array) else _dlpack_array(argument, array)


_empty = {"torch": _torch_empty, "cupy": _cupy_empty, "numba": _numba_empty}


def empty_beside(like: DeviceArray, shape: Sequence[int], dtype: Any) -> Any:
    """A new array of the library that made the other one, on its device."""
    make = _empty.get(library_of(like.owner))
    if make is None:
        raise TypeError(f"out must be given: cernita makes arrays of PyTorch, CuPy and Numba alone, not of "
                        f"{type(like.owner[0] if isinstance(like.owner, tuple) else like.owner).__name__}")
    return make(like, shape, np.dtype(dtype))


def as_bytes(array: DeviceArray) -> DeviceArray:
    """One of bool as one of uint8, in the same memory."""
    return DeviceArray(array.owner, array.address, np.dtype("u1"), array.shape, array.strides, array.device,
                       array.stream, array.writeable)


def fetch(argument: str, array: Any, why: str) -> np.ndarray[Any, Any]:
    """A copy in host memory, where `why` it is needed."""
    told = f"{type(array).__name__} has no cpu(), get() or copy_to_host() that would do so"
    for method in ("cpu", "get", "copy_to_host", "__array__"):  # PyTorch's, CuPy's, Numba's, JAX's
        if hasattr(array, method):
            try:
                return np.asarray(array if method == "__array__" else getattr(array, method)())
            except FAULTS as fault:
                told = str(fault)
    raise TypeError(f"{argument} must be copied to host memory, {why}; {told}")


def overlap(a: DeviceArray, b: DeviceArray) -> bool:
    """Whether the memory between their first and last elements does; of interleaved views, too."""
    (a_first, a_end), (b_first, b_end) = a.extent(), b.extent()
    return a.device == b.device and a_first < b_end and b_first < a_end
