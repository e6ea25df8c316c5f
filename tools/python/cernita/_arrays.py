"""Arrays as the library's images: without a copy, for any strides of whole elements.

Every array argument passes through operand(), every result through target(): the one place where arrays in device
memory branch off.
"""
from __future__ import annotations

from typing import Any, NamedTuple, Sequence

import numpy as np
import numpy.typing as npt

from ._arguments import choice, join
from ._context import Context, ContextKey, context_for, host_key
from ._library import MEMORY_HOST, TYPES, Image

# numpy takes a microsecond for a dtype's name.
_NAMES = {np.dtype(name): name for name in TYPES}
_NUMBERS = {np.dtype(name): number for number, name in enumerate(TYPES, 1)}
LAYOUTS = ("hwc", "chw")
_TooHardError: type[Exception] = getattr(np, "exceptions", np).TooHardError  # moved by NumPy 2


class Operand(NamedTuple):
    """An array that the library reads or writes."""
    array: Any  # the caller's; kept until the call has returned
    image: Image
    memory: int = MEMORY_HOST
    device: int = 0  # of device memory
    stream: int | None = None  # on which what made it runs

    def context(self, backend: str, threads: int | None) -> Context:
        """The calling thread's context for this memory."""
        key = host_key(backend, threads)
        if self.memory != MEMORY_HOST:
            key = ContextKey(key.backend, key.threads, self.memory, self.device, self.stream)
        return context_for(key)


def is_native(dtype: np.dtype[Any]) -> bool:
    """True of the types that the library reads."""
    return dtype in _NUMBERS


def is_device_array(array: object) -> bool:
    """True of arrays that are not NumPy's and say where their memory lies (CuPy, PyTorch, …)."""
    return not isinstance(array, np.ndarray) and (
        hasattr(array, "__cuda_array_interface__") or hasattr(array, "__dlpack__"))


def checked(argument: str, array: Any, types: Sequence[str], dimensions: Sequence[int] = (2, 3)) -> npt.NDArray[Any]:
    """The NumPy array itself, once it is one that an image can be made of."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{argument} must be a numpy array, not {type(array).__name__}")
    name = _NAMES.get(array.dtype)
    if (name or array.dtype.name) not in types:
        other = "float32" if "float32" in types else types[-1]
        # Fractions would be cut off, so that probabilities became zeros.
        scaled = "scaled to 0 to 65535, " if array.dtype.kind == "f" and other == "uint16" else ""
        raise TypeError(f"{argument} must be of {join(types)}, not {array.dtype.name}; "
                        f"{scaled}{argument}.astype({other!r}) makes it one")
    if not name and not array.dtype.isnative:
        raise TypeError(f"{argument} must be in this machine's byte order, not {array.dtype.str!r}")
    if array.ndim not in dimensions:
        raise ValueError(f"{argument} must have {join([str(n) for n in dimensions])} dimensions, not {array.ndim}")
    if not array.size:
        raise ValueError(f"{argument} must not be empty, as one of shape {array.shape} is")
    if max(array.shape) > 2**31 - 1:
        raise ValueError(f"{argument} must have fewer than 2^31 rows and columns, not the shape {array.shape}")
    itemsize = array.itemsize
    for stride in array.strides:
        if stride % itemsize:
            raise ValueError(f"{argument} must have strides of whole elements; {argument}.copy() has")
    if not array.flags.aligned:
        raise ValueError(f"{argument} must begin at an address of whole elements; {argument}.copy() does")
    return array


def image_of(array: npt.NDArray[Any], layout: str = "hwc") -> Image:
    """An image over a checked array of 2 dimensions, or of 3 in the layout "hwc" or "chw"."""
    choice("layout", layout, LAYOUTS)
    itemsize = array.itemsize
    sizes = list(array.shape)
    strides = [stride // itemsize for stride in array.strides]
    if array.ndim == 2:
        sizes.insert(0, 1)
        strides.insert(0, 0)
    elif layout == "hwc":
        sizes.insert(0, sizes.pop())
        strides.insert(0, strides.pop())
    if sizes[0] == 1:  # a single plane is dense, whatever numpy's stride
        strides[0] = sizes[1] * sizes[2]
    return Image(array.ctypes.data, _NUMBERS[array.dtype], *sizes, *strides)


def operand(argument: str, array: Any, types: Sequence[str] = TYPES, dimensions: Sequence[int] = (2, 3),
            layout: str = "hwc") -> Operand:
    """The array as an image, or an error that calls it `argument`."""
    checked(argument, array, types, dimensions)
    return Operand(array, image_of(array, layout))


def target(argument: str, out: Any, like: Operand | None, shape: Sequence[int], dtype: Any,
           layout: str = "hwc") -> Operand:
    """The array that results go to: the caller's, or a new one where `like` lies."""
    shape = tuple(shape)
    if out is None:
        fresh = np.empty(shape, dtype)
        return Operand(fresh, image_of(fresh, layout))
    checked(argument, out, (np.dtype(dtype).name,), (len(shape),))
    if out.shape != shape:
        raise ValueError(f"{argument} must be of shape {shape}, not {out.shape}")
    if not out.flags.writeable:
        raise ValueError(f"{argument} must be writeable")
    if like is not None and _share_memory(like.array, out):
        raise ValueError(f"{argument} must not share memory with the array that is read")
    return Operand(out, image_of(out, layout))


def _share_memory(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    if not np.may_share_memory(a, b):
        return False
    try:
        return bool(np.shares_memory(a, b, max_work=10000))
    except _TooHardError:
        return False
