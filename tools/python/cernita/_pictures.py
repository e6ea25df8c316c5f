"""What cernita-apply and the workbench take by name, for programs in Python: picture files, named kernels.

Their functions are libcernita's for programs of the same release, and no part of cernita.h.
"""
from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arguments import pair
from ._arrays import operand
from ._foreign import in_host_memory, retold
from ._library import KERNEL_TAPS_MAX, TYPES, Image, loaded

__all__ = ["named_kernel", "read_picture", "write_picture"]


class _Picture(ctypes.Structure):
    _fields_ = [("image", Image), ("alpha", Image), ("alpha_associated", ctypes.c_bool), ("pages", ctypes.c_int32),
                ("samples", ctypes.c_int32), ("memory", ctypes.c_void_p), ("alpha_memory", ctypes.c_void_p)]


class _Size(ctypes.Structure):
    _fields_ = [("width", ctypes.c_int32), ("height", ctypes.c_int32)]


class _Kernel(ctypes.Structure):
    _fields_ = [("width", ctypes.c_int32), ("height", ctypes.c_int32), ("weights", ctypes.c_float * KERNEL_TAPS_MAX)]


class _Error(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char * 1024)]


def read_picture(path: str | os.PathLike[str]) -> npt.NDArray[Any]:
    """A picture file (TIFF, PNG, JPEG, .npy) as an array of its own type: H x W, or H x W x planes (a TIFF's pages and
    samples, without alpha).

    >>> import numpy as np, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "grey.npy")
    >>> np.save(path, np.eye(3, dtype="uint8"))
    >>> read_picture(path)[0]
    array([1, 0, 0], dtype=uint8)
    """
    lib = loaded()
    picture, error = _Picture(), _Error()
    if lib.crn_picture_read(os.fsencode(path), ctypes.byref(picture), ctypes.byref(error)) < 0:
        raise OSError(error.text.decode())
    try:
        planes = picture.image
        kind = np.dtype(TYPES[planes.type - 1])
        shape, strides = ((planes.height, planes.width, planes.planes),
                          (planes.row_stride, planes.step, planes.plane_stride))
        count = planes.planes * planes.height * planes.width
        memory = (ctypes.c_char * (count * kind.itemsize)).from_address(planes.data)
        array: npt.NDArray[Any] = np.ndarray(shape, kind, memory,
                                             strides=[kind.itemsize * stride for stride in strides]).copy("C")
    finally:
        lib.crn_picture_free(ctypes.byref(picture))
    return array[..., 0] if shape[2] == 1 else array


def write_picture(path: str | os.PathLike[str], array: Any) -> None:
    """Writes an array as the file that its name says, .png or .tif: H x W or, of three planes, H x W x 3; u8 and u16,
    for TIFF also f32. A regular file of that name is replaced, once the new one is complete.

    >>> import numpy as np, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "grey.png")
    >>> write_picture(path, np.eye(3, dtype="uint8"))
    >>> read_picture(path)[0]
    array([1, 0, 0], dtype=uint8)
    """
    lib = loaded()
    try:
        source = operand("array", in_host_memory("array", array), ("uint8", "uint16", "float32"), (2, 3), "hwc")
    except TypeError as fault:
        raise retold(fault, "array", array) from None
    picture, error = _Picture(image=source.image, pages=1, samples=source.image.planes), _Error()
    if lib.crn_picture_write(os.fsencode(path), ctypes.byref(picture), ctypes.byref(error)) < 0:
        raise OSError(error.text.decode())


def named_kernel(name: str | os.PathLike[str], size: Any = 3) -> npt.NDArray[np.float32]:
    """The weights of a kernel that cernita-apply knows by name, with sides of `size` (N or (width, height)), or of a
    file's, as convolve takes them.

    >>> named_kernel("gaussian", 5).shape
    (5, 5)
    """
    width, height = pair("size", size, 1, KERNEL_TAPS_MAX)
    made, error = _Kernel(), _Error()
    if loaded().crn_kernel_load(os.fsencode(name), _Size(width, height), ctypes.byref(made), ctypes.byref(error)) < 0:
        raise ValueError(error.text.decode())
    return np.array(made.weights[:made.width * made.height], "f4").reshape(made.height, made.width)
