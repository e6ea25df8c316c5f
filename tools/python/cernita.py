"""The operators of libcernita from Python: numpy arrays in, without a copy, numpy arrays out.

    import cernita
    found = cernita.contours(maps, 0.5)            # maps: H x W, or H x W x C with layout="hwc"
    for contour in found.contours: ...             # plane, closed, first, count
    for polyline in found.polylines(plane=1): ...  # (n, 2) arrays of (row, column), as skimage's

The library is build/lib/libcernita.so of this tree, or what CRN_LIBRARY names.
"""
import ctypes
import os
import pathlib

import numpy as np

_POINT = np.dtype([("x", "f8"), ("y", "f8")])
_CONTOUR = np.dtype([("plane", "i4"), ("closed", "?"), ("first", "u4"), ("count", "u4")], align=True)
_TYPES = {"uint8": 1, "float16": 2, "float32": 3, "uint16": 4}


class _Image(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int), ("planes", ctypes.c_int32),
                ("height", ctypes.c_int32), ("width", ctypes.c_int32), ("plane_stride", ctypes.c_ssize_t),
                ("row_stride", ctypes.c_ssize_t), ("step", ctypes.c_ssize_t)]


class _Params(ctypes.Structure):
    _fields_ = [("levels", ctypes.c_void_p), ("mask", ctypes.c_void_p), ("connectivity", ctypes.c_int),
                ("orientation", ctypes.c_int), ("border", ctypes.c_int)]


class _Contours(ctypes.Structure):
    _fields_ = [("points", ctypes.c_void_p), ("contours", ctypes.c_void_p),
                ("point_capacity", ctypes.c_uint32), ("contour_capacity", ctypes.c_uint32),
                ("point_count", ctypes.c_uint32), ("contour_count", ctypes.c_uint32),
                ("truncated", ctypes.c_bool)]


def _load():
    tree = pathlib.Path(__file__).resolve().parents[2]
    return ctypes.CDLL(os.environ.get("CRN_LIBRARY", str(tree / "build" / "lib" / "libcernita.so")))


_lib = _load()


def _check(r):
    if r < 0:
        raise OSError(-r, os.strerror(-r))


class Context:
    """Threads and scratch memory; keep one and nothing is allocated from the second call on."""

    def __init__(self, threads=1):
        self.pointer = ctypes.c_void_p()
        _check(_lib.crn_context_create(threads, ctypes.byref(self.pointer)))

    def __del__(self):
        _lib.crn_context_free(ctypes.byref(self.pointer))


class Found:
    """Contours, and the room for them: reuse one where its allocation would count."""

    def __init__(self, points=1 << 20, contours=1 << 17):
        self._points, self._contours = np.empty(points, _POINT), np.empty(contours, _CONTOUR)
        self.raw = _Contours(self._points.ctypes.data, self._contours.ctypes.data, points, contours)

    points = property(lambda self: self._points[:self.raw.point_count])
    contours = property(lambda self: self._contours[:self.raw.contour_count])
    truncated = property(lambda self: self.raw.truncated)

    def polylines(self, plane=0):
        row_column = self.points.view("f8").reshape(-1, 2)[:, ::-1]
        return [row_column[c["first"]:c["first"] + c["count"]] for c in self.contours if c["plane"] == plane]


def image(array, layout="hwc"):
    """A crn_image over an array of 2 dimensions, or of 3 in the layout "hwc" or "chw"."""
    planar = array[None] if array.ndim == 2 else array if layout == "chw" else np.moveaxis(array, 2, 0)
    strides = [stride // array.itemsize for stride in planar.strides]
    return _Image(planar.ctypes.data, _TYPES[array.dtype.name], *planar.shape, *strides)


def contours(array, level, *, layout="hwc", mask=None, connectivity="low", orientation="low",
             border="open", backend="openmp", threads=1, context=None, found=None):
    """The contours of every plane. level: one for all, or one per plane (NaN: leave that plane out).
    Without `found` the room grows until everything fits; with it the result may be truncated."""
    source = image(array, layout)
    levels = np.ascontiguousarray(np.broadcast_to(np.asarray(level, "f8"), (source.planes,)))
    valid = None if mask is None else np.ascontiguousarray(mask, "u1")
    if valid is not None and valid.shape != (source.height, source.width):
        raise ValueError("the mask must have the height and width of the array")
    params = _Params(levels.ctypes.data, None if valid is None else valid.ctypes.data,
                     ("low", "high").index(connectivity), ("low", "high").index(orientation),
                     ("open", "closed").index(border))
    context, room = context or Context(threads), found or Found()
    operator = getattr(_lib, "crn_contours_" + backend)
    while True:
        _check(operator(context.pointer, ctypes.byref(params), ctypes.byref(source), ctypes.byref(room.raw)))
        if found or not room.truncated:
            return room
        room = Found(4 * len(room._points), 4 * len(room._contours))
