"""What the scripts of this tree need beside the package, from the functions that libcernita keeps for this release's
programs: picture files, named kernels, times on a device.

Import it before cernita: both use build/lib/libcernita.so of this tree, or what CRN_LIBRARY names.
"""
import ctypes
import os
import pathlib
import sys

if "cernita" in sys.modules:
    raise ImportError("internals must be imported before cernita: both use one library")
os.environ.setdefault("CRN_LIBRARY", str(pathlib.Path(__file__).resolve().parents[2] / "build" / "lib" /
                                         "libcernita.so"))

import numpy as np

from cernita._arguments import pair
from cernita._context import context_for, host_key
from cernita._library import KERNEL_TAPS_MAX, TYPES, Image, check, loaded

lib = loaded()


class Ops(ctypes.Structure):
    """crn_ops (stages/ops.h): a backend's operators, by name."""
    _fields_ = [("name", ctypes.c_char_p)] + [(name, ctypes.CFUNCTYPE(ctypes.c_int)) for name in (
        "contours", "morphology", "convolve", "haar", "ranklet", "diamond_square", "widen")]


class _Picture(ctypes.Structure):
    _fields_ = [("image", Image), ("alpha", Image), ("alpha_associated", ctypes.c_bool), ("pages", ctypes.c_int32),
                ("samples", ctypes.c_int32), ("memory", ctypes.c_void_p), ("alpha_memory", ctypes.c_void_p)]


class _Size(ctypes.Structure):
    _fields_ = [("width", ctypes.c_int32), ("height", ctypes.c_int32)]


class _Kernel(ctypes.Structure):
    _fields_ = [("width", ctypes.c_int32), ("height", ctypes.c_int32), ("weights", ctypes.c_float * KERNEL_TAPS_MAX)]


class _Error(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char * 1024)]


class _DeviceTimes(ctypes.Structure):
    _fields_ = [("upload_ns", ctypes.c_int64), ("kernel_ns", ctypes.c_int64), ("download_ns", ctypes.c_int64)]


def read(path):
    """A picture file as an array of its own type: H x W, or H x W x planes (a TIFF's pages and samples, without
    alpha)."""
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
        array = np.ndarray(shape, kind, memory, strides=[kind.itemsize * stride for stride in strides]).copy("C")
    finally:
        lib.crn_picture_free(ctypes.byref(picture))
    return array[..., 0] if shape[2] == 1 else array


def kernel(name, size=3):
    """The weights of a named kernel, with sides of `size` (N or (width, height)), or of a file's, as convolve takes
    them."""
    width, height = pair("size", size, 1, KERNEL_TAPS_MAX)
    made, error = _Kernel(), _Error()
    if lib.crn_kernel_load(os.fsencode(name), _Size(width, height), ctypes.byref(made), ctypes.byref(error)) < 0:
        raise ValueError(error.text.decode())
    return np.array(made.weights[:made.width * made.height], "f4").reshape(made.height, made.width)


def device_ms(threads=1):
    """(upload, kernels, download) of the last call of this thread with backend "cuda" and these threads."""
    times = _DeviceTimes()
    check(lib.crn_gpu_times_of(context_for(host_key("cuda", threads)).pointer, ctypes.byref(times)), "no device's times")
    return times.upload_ns / 1e6, times.kernel_ns / 1e6, times.download_ns / 1e6
