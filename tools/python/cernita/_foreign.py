"""Arrays of other libraries: where they lie, NumPy's view of those in host memory, and what makes one readable.

An array is refused by what it is, never by its values, and the error names a cure that this very array has.
"""
from __future__ import annotations

import functools
import re
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

_DLPACK_CPU, _DLPACK_CUDA, _DLPACK_PINNED, _DLPACK_MANAGED = 1, 2, 3, 13
# What arrays of other libraries raise when they are asked for what they cannot do.
FAULTS = (AttributeError, BufferError, NotImplementedError, RuntimeError, TypeError, ValueError)


@functools.lru_cache(256)
def _library_of_type(kind: Any) -> str:
    libraries: list[str] = [parent.__module__.partition(".")[0] for parent in kind.__mro__]
    return "torch" if "torch" in libraries else libraries[0]  # others' tensors that are PyTorch's, too


def library_of(array: object) -> str:
    """The library that made it, as "torch"."""
    kind: Any = type(array)
    return _library_of_type(kind)


def has_cuda_interface(array: object) -> bool:
    try:
        return hasattr(array, "__cuda_array_interface__")
    except (RuntimeError, TypeError):  # PyTorch's, of a tensor that requires a gradient
        return True


def is_foreign(array: object) -> bool:
    """True of arrays that are not NumPy's and say where their memory lies."""
    return not isinstance(array, np.ndarray) and (hasattr(array, "__dlpack__") or has_cuda_interface(array))


def is_array_like(array: object) -> bool:
    """True of what is not NumPy's and becomes an array of NumPy's, as pandas' tables and Pillow's pictures."""
    kind = type(array)
    return hasattr(kind, "__array__") or hasattr(kind, "__array_interface__")


def plain(argument: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array without what NumPy's subclasses do otherwise; an error for one with a mask, which would be lost."""
    if type(array) is np.ndarray:
        return array
    if getattr(array, "mask", np.ma.nomask) is not np.ma.nomask:
        raise TypeError(f"{argument} must not be a masked array, whose mask would be lost; {argument}.filled(0) has none")
    return array.view(np.ndarray)


# --- cures ------------------------------------------------------------------------------------------------------------

_TORCH_WORDS = ((r"\.astype\('float32'\)", ".float()"), (r"\.(astype|view)\('(\w+)'\)", r".\1(torch.\2)"),
                (r"\.astype\(", ".to("), (r"\.copy\(\)", ".contiguous()"),
                (r"\.transpose\((\d, \d, \d)\)", r".permute(\1)"))


def told_of(argument: str, array: object, text: str) -> str:
    """A message about a NumPy array, as one about this array: its cures are methods that this one has.

    >>> told_of("maps", np.zeros(1), "maps must be of float32; maps.astype('float32') makes it one")
    "maps must be of float32; maps.astype('float32') makes it one"
    """
    other = is_foreign(array) or is_array_like(array) and not isinstance(array, np.ndarray)
    if not other or f"{argument}." not in text:
        return text
    if library_of(array) != "torch":
        if hasattr(array, "astype"):
            return text
        numpys = text.replace(f"{argument}.", f"numpy.asarray({argument}).")
        return numpys if is_array_like(array) else text.split(";")[0]
    for numpys, torchs in _TORCH_WORDS:
        start = f"\\b{argument}(?:\\.real)?"
        text = re.sub(f"{start}{numpys}", lambda found: re.sub(numpys, torchs, found[0]), text)
    return text


def retold(fault: Exception, argument: str, array: object) -> Exception:
    """The same error, about this array."""
    return type(fault)(told_of(argument, array, str(fault)))


def to_host(argument: str, array: object) -> str:
    """How it becomes one in host memory, as the end of a message; nothing where it has no method for that."""
    for method in ("cpu", "get", "copy_to_host"):  # PyTorch's, CuPy's, Numba's
        if hasattr(type(array), method):
            return f"; {argument}.{method}() is one"
    return f"; numpy.asarray({argument}) is one" if is_array_like(array) else ""


# --- PyTorch ----------------------------------------------------------------------------------------------------------

_torch_types: dict[Any, np.dtype[Any]] = {}


def torch_type(argument: str, tensor: Any) -> np.dtype[Any]:
    """NumPy's type of a tensor; an error for one that NumPy lacks, as bfloat16."""
    if not _torch_types:
        torch = sys.modules["torch"]
        for name in ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16",
                     "float32", "float64", "complex64", "complex128"):
            _torch_types[getattr(torch, name, name)] = np.dtype(name)
    found = _torch_types.get(tensor.dtype)
    if found is None:
        raise TypeError(f"{argument} must be of a type that NumPy has, not {tensor.dtype}; {argument}.float() makes it "
                        "float32")
    return found


def _check_tensor(argument: str, tensor: Any) -> None:
    """Refuses a tensor whose memory does not say all, or that is not to leave PyTorch."""
    if getattr(tensor, "requires_grad", False):
        raise TypeError(f"{argument} must not require a gradient, which would be lost; {argument}.detach() does not")
    layout = getattr(tensor, "layout", None)
    if layout is not None and layout != getattr(sys.modules["torch"], "strided", layout):
        raise TypeError(f"{argument} must be dense, not of {layout}; {argument}.to_dense() is")
    if getattr(tensor, "is_quantized", False):
        raise TypeError(f"{argument} must not be quantized; {argument}.dequantize() is not")
    for bit, method in (("conjugate", "is_conj"), ("negative", "is_neg")):  # set, PyTorch alone knows the values
        if hasattr(tensor, method) and getattr(tensor, method)():
            raise TypeError(f"{argument} must not have PyTorch's {bit} bit; {argument}.resolve_{method[3:]}() has not")


# --- where it lies ----------------------------------------------------------------------------------------------------

def is_on_device(argument: str, array: Any) -> bool:
    """True of a foreign array on an NVIDIA GPU, False of one in host memory; an error for one that lies elsewhere, or
    that cannot be read."""
    if library_of(array) == "torch":
        _check_tensor(argument, array)
        torch_type(argument, array)
        kind = getattr(array.device, "type", "cuda" if array.is_cuda else "cpu")
        if kind == "meta":
            raise TypeError(f"{argument} must have values, which tensors on PyTorch's device meta have not")
        if kind not in ("cpu", "cuda"):
            raise TypeError(f"{argument} must lie in host memory or on an NVIDIA GPU, not on {kind}; {argument}.cpu() "
                            "does")
        return bool(array.is_cuda)
    if has_cuda_interface(array):
        return True
    try:
        number = array.__dlpack_device__()[0]
    except FAULTS as fault:
        raise TypeError(f"{argument} cannot be read where it lies: {fault}") from None
    if number in (_DLPACK_CPU, _DLPACK_PINNED):
        return False
    if number in (_DLPACK_CUDA, _DLPACK_MANAGED):
        return True
    raise TypeError(f"{argument} must lie in host memory or on an NVIDIA GPU, not on DLPack's device {number}")


def host_view(argument: str, array: Any, copies: bool = True) -> npt.NDArray[Any]:
    """NumPy's view of a foreign array that lies in host memory; where there is none a copy, if it may be one."""
    ways: list[Any] = [lambda: np.from_dlpack(array)]
    if library_of(array) == "torch":
        ways.insert(0, lambda: array.numpy())  # knows bool, and may be written
    if copies and is_array_like(array):
        ways.append(lambda: np.asarray(array))
    told = ""
    for way in ways:
        try:
            return plain(argument, way())
        except FAULTS as fault:
            told = told or str(fault)
    raise TypeError(f"{argument} cannot be read where it lies: {told}")


def in_host_memory(argument: str, array: Any, instead: str = "") -> npt.NDArray[Any]:
    """NumPy's array of whatever has memory on the host; an error for all else, where `instead` names what takes arrays on
    a device."""
    if isinstance(array, np.ndarray):
        return plain(argument, array)
    if is_foreign(array):
        if not is_on_device(argument, array):
            return host_view(argument, array)
        other = f"; {instead} takes those on a device" if instead else ""
        raise TypeError(f"{argument} must be an array in host memory, not {type(array).__name__} on a device"
                        f"{to_host(argument, array)}{other}")
    if is_array_like(array):
        try:
            return plain(argument, np.asarray(array))
        except FAULTS as fault:
            raise TypeError(f"{argument} cannot be read as an array: {fault}") from None
    raise TypeError(f"{argument} must be a numpy array, not {type(array).__name__}")


def as_numpy(argument: str, values: Any, instead: str = "") -> Any:
    """Values as they are, but arrays of any library as NumPy's: what numpy.asarray() then takes without surprises."""
    if isinstance(values, np.ndarray) or is_foreign(values):
        return in_host_memory(argument, values, instead)
    return values
