"""What the scripts of this tree need beside the package, from the functions that libcernita keeps for this release's
programs: times on a device, the table of operators.

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

from cernita._context import context_for, host_key
from cernita._library import check, loaded

lib = loaded()


class Ops(ctypes.Structure):
    """crn_ops (stages/ops.h): a backend's operators, by name."""
    _fields_ = [("name", ctypes.c_char_p)] + [(name, ctypes.CFUNCTYPE(ctypes.c_int)) for name in (
        "contours", "morphology", "convolve", "haar", "ranklet", "diamond_square", "widen")]


class _DeviceTimes(ctypes.Structure):
    _fields_ = [("upload_ns", ctypes.c_int64), ("kernel_ns", ctypes.c_int64), ("download_ns", ctypes.c_int64)]


def device_ms(threads=1):
    """(upload, kernels, download) of the last call of this thread with backend "cuda" and these threads."""
    times = _DeviceTimes()
    check(lib.crn_gpu_times_of(context_for(host_key("cuda", threads)).pointer, ctypes.byref(times)), "no device's times")
    return times.upload_ns / 1e6, times.kernel_ns / 1e6, times.download_ns / 1e6
