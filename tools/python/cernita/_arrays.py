"""Arrays as the library's images: without a copy, for any strides of whole elements.

Every array argument passes through operand(), every result through target(): the one place where arrays in device
memory branch off.
"""
from __future__ import annotations

from typing import Any, NamedTuple, Sequence, cast

import numpy as np
import numpy.typing as npt

from ._arguments import choice, join
from ._context import Context, context_for, device_key, host_key
from ._device import DeviceArray, as_bytes, describe, empty_beside, overlap
from ._foreign import as_numpy, in_host_memory, is_foreign, plain, retold, told_of
from ._library import MEMORY_DEVICE, MEMORY_HOST, TYPES, Image

# numpy takes a microsecond for a dtype's name.
_NAMES = {np.dtype(name): name for name in TYPES}
_NUMBERS = {np.dtype(name): number for number, name in enumerate(TYPES, 1)}
LAYOUTS = ("hwc", "chw")
_TooHardError: type[Exception] = getattr(np, "exceptions", np).TooHardError  # moved by NumPy 2


class Operand(NamedTuple):
    """An array that the library reads or writes."""
    array: Any  # the caller's, if it is read in device memory its DeviceArray; kept until the call has returned
    image: Image
    memory: int = MEMORY_HOST
    device: int = 0  # of device memory
    stream: int | None = None  # on which what made it runs

    def context(self, backend: str, threads: int | None) -> Context:
        """The calling thread's context for this memory."""
        if self.memory != MEMORY_HOST:
            return context_for(device_key(backend, threads, self.device, self.stream))
        return context_for(host_key(backend, threads))


def is_native(dtype: np.dtype[Any]) -> bool:
    """True of the types that the library reads."""
    return dtype in _NUMBERS


def arrived(argument: str, array: Any) -> Any:
    """An argument as an array of NumPy's, or as a DeviceArray, which has what it is asked for here."""
    if type(array) is np.ndarray or isinstance(array, DeviceArray):
        return array
    return describe(argument, array) if is_foreign(array) else in_host_memory(argument, array)


def _check_type(argument: str, array: Any, types: Sequence[str]) -> None:
    name = _NAMES.get(array.dtype)
    if (name or array.dtype.name) not in types:
        other = "float32" if "float32" in types else types[-1]
        # Fractions would be cut off, so that probabilities became zeros.
        whole = {"uint8": 255, "uint16": 65535}.get(other) if array.dtype.kind == "f" else None
        scaled = f"scaled to 0 to {whole}, " if whole else ""
        real = ".real" if array.dtype.kind == "c" else ""
        raise TypeError(f"{argument} must be of {join(types)}, not {array.dtype.name}; "
                        f"{scaled}{argument}{real}.astype({other!r}) makes it one")
    if not name and not array.dtype.isnative:
        raise TypeError(f"{argument} must be in this machine's byte order, not {array.dtype.str!r}")


def checked(argument: str, array: Any, types: Sequence[str], dimensions: Sequence[int] = (2, 3)) -> npt.NDArray[Any]:
    """The NumPy array itself, or a DeviceArray, once it is one that an image can be made of. Where types have bool, it
    comes as uint8."""
    given, array = array, arrived(argument, array)
    if isinstance(array, DeviceArray) and "float64" in types:  # read on the CPU alone
        types = [name for name in types if name != "float64"]
    if array.dtype == np.bool_ and "bool" in types:
        array = as_bytes(array) if isinstance(array, DeviceArray) else array.view(np.uint8)
    try:
        _check_type(argument, array, types)
    except TypeError as fault:
        raise TypeError(told_of(argument, given, str(fault))) from None
    if array.ndim not in dimensions:
        raise ValueError(f"{argument} must have {join([str(n) for n in dimensions])} dimensions, not {array.ndim}")
    if not array.size:
        raise ValueError(f"{argument} must not be empty, as one of shape {array.shape} is")
    if max(array.shape) > 2**31 - 1:
        raise ValueError(f"{argument} must have fewer than 2^31 rows and columns, not the shape {array.shape}")
    if isinstance(array, DeviceArray):
        return cast("npt.NDArray[Any]", array)
    itemsize = array.itemsize
    for stride in array.strides:
        if stride % itemsize:
            raise ValueError(f"{argument} must have strides of whole elements; {argument}.copy() has")
    if not array.flags.aligned:
        raise ValueError(f"{argument} must begin at an address of whole elements; {argument}.copy() does")
    return cast("npt.NDArray[Any]", array)


def address_of(array: Any) -> int:
    """Of the first element."""
    if isinstance(array, DeviceArray):
        return array.address
    return cast(int, array.__array_interface__["data"][0])  # half the time of array.ctypes.data


def form_of(array: Any, *more: Any) -> tuple[Any, ...] | None:
    """As a key, all that an image of this array has but its address, and more; None of what may have more than this
    says, as a subclass of NumPy's arrays."""
    if type(array) is np.ndarray:
        return array.dtype, array.shape, array.strides, array.flags.aligned, *more
    if isinstance(array, DeviceArray):
        return array.dtype, array.shape, array.strides, array.device, array.stream, *more
    return None


def image_of(array: Any, layout: str = "hwc") -> Image:
    """An image over a checked array of 2 dimensions, or of 3 in the layout "hwc" or "chw"."""
    choice("layout", layout, LAYOUTS)
    sizes = list(array.shape)
    if isinstance(array, DeviceArray):
        address, strides = array.address, list(array.strides)
    else:
        itemsize = array.itemsize
        address, strides = address_of(array), [stride // itemsize for stride in array.strides]
    if len(sizes) == 2:
        sizes.insert(0, 1)
        strides.insert(0, 0)
    elif layout == "hwc":
        sizes.insert(0, sizes.pop())
        strides.insert(0, strides.pop())
    if sizes[0] == 1:  # a single plane is dense, whatever numpy's stride
        strides[0] = sizes[1] * sizes[2]
    return Image(address, _NUMBERS[array.dtype], *sizes, *strides)


def operand(argument: str, array: Any, types: Sequence[str] = TYPES, dimensions: Sequence[int] = (2, 3),
            layout: str = "hwc") -> Operand:
    """The array as an image, or an error that calls it `argument`."""
    array = checked(argument, array, types, dimensions)
    if isinstance(array, DeviceArray):
        return Operand(array, image_of(array, layout), MEMORY_DEVICE, array.device, array.stream)
    return Operand(array, image_of(array, layout))


def target(argument: str, out: Any, like: Operand | None, shape: Sequence[int], dtype: Any,
           layout: str = "hwc") -> Operand:
    """The array that results go to: the caller's, or a new one where `like` lies."""
    shape = tuple(shape)
    on_device = like is not None and like.memory == MEMORY_DEVICE
    if out is None and not on_device:
        fresh = np.empty(shape, dtype)
        return Operand(fresh, image_of(fresh, layout))
    if out is None:
        out = empty_beside(like.array, shape, dtype)  # type: ignore[union-attr]
    try:
        written = checked(argument, _writable(argument, out), (np.dtype(dtype).name,), (len(shape),))
    except TypeError as fault:
        raise retold(fault, argument, out) from None
    if written.shape != shape:
        raise ValueError(f"{argument} must be of shape {shape}, not {written.shape}")
    if isinstance(written, DeviceArray):
        return _target_on_device(argument, out, written, like, layout)
    if on_device:
        raise TypeError(f"{argument} must lie in device memory, as the array that is read")
    if not written.flags.writeable:
        raise ValueError(f"{argument} must be writeable")
    if like is not None and _share_memory(like.array, written):
        raise ValueError(f"{argument} must not share memory with the array that is read")
    return Operand(out, image_of(written, layout))


def _writable(argument: str, out: Any) -> Any:
    """An array in whose own memory results go, no copy."""
    if isinstance(out, np.ndarray):
        return plain(argument, out)
    if is_foreign(out):
        return describe(argument, out, copies=False)
    raise TypeError(f"{argument} must be a numpy array, not {type(out).__name__}")


def _target_on_device(argument: str, out: Any, written: DeviceArray, like: Operand | None, layout: str) -> Operand:
    if not written.writeable:
        raise ValueError(f"{argument} must be writeable")
    if like is not None:
        if like.memory != MEMORY_DEVICE or like.device != written.device:
            raise TypeError(f"{argument} must lie where the array that is read does, not on device {written.device}")
        if overlap(like.array, written):
            raise ValueError(f"{argument} must not share memory with the array that is read")
    stream = written.stream if like is None else like.stream
    return Operand(out, image_of(written, layout), MEMORY_DEVICE, written.device, stream)


def _share_memory(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    if not np.may_share_memory(a, b):
        return False
    try:
        return bool(np.shares_memory(a, b, max_work=10000))
    except _TooHardError:
        return False


def has_whole_elements(array: npt.NDArray[Any]) -> bool:
    """True if its elements lie where an image can have them."""
    flags = array.flags
    return bool(flags.aligned) and (bool(flags.forc) or all(stride % array.itemsize == 0 for stride in array.strides))


def host_array(argument: str, value: Any, instead: str) -> npt.NDArray[Any]:
    """What numpy.asarray() makes of it, copied if an image cannot lie there; `instead` takes arrays on a device."""
    try:
        array = plain(argument, np.asarray(as_numpy(argument, value, instead)))
    except (ValueError, RuntimeError) as fault:
        raise TypeError(f"{argument} cannot be read as an array: {fault}") from None
    return array if has_whole_elements(array) else array.copy()
