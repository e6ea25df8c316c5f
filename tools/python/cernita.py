"""The operators of libcernita from Python: numpy arrays in, without a copy, numpy arrays out.

    import cernita
    found = cernita.contours(maps, 0.5)            # maps: H x W, or H x W x C with layout="hwc"
    for contour in found.contours: ...             # plane, closed, first, count
    for polyline in found.polylines(plane=1): ...  # (n, 2) arrays of (row, column), as skimage's
    opened = cernita.morphology(picture, "open", "disk", 5)
    smooth = cernita.convolve(picture, kernel, border="reflect")
    coefficients = cernita.haar(picture, 3)        # and haar(…, direction="inverse"), "denoise" with threshold
    vertical, horizontal, diagonal = cernita.ranklet(grey, 8)
    field = cernita.diamond_square(10, seed=1)

Every operator takes backend ("serial", "openmp", "cuda"), threads or a context, and `out`, an array to write to. With
prepare=True all but contours give the call itself, to be made again and again on the same arrays: for benchmarks.
missing("cuda") says why there is none here, or None; what the parts of the last call on a device took stands in
context.device_ms().

The library is build/lib/libcernita.so of this tree, or what CRN_LIBRARY names.
"""
import ctypes
import errno
import os
import pathlib

import numpy as np

_POINT = np.dtype([("x", "f8"), ("y", "f8")])
_CONTOUR = np.dtype([("plane", "i4"), ("closed", "?"), ("first", "u4"), ("count", "u4")], align=True)
_BACKENDS = ("auto", "serial", "openmp", "cuda")
_TYPES = {"uint8": 1, "float16": 2, "float32": 3, "uint16": 4}


class _Image(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int), ("planes", ctypes.c_int32),
                ("height", ctypes.c_int32), ("width", ctypes.c_int32), ("plane_stride", ctypes.c_ssize_t),
                ("row_stride", ctypes.c_ssize_t), ("step", ctypes.c_ssize_t)]


class _Params(ctypes.Structure):
    _fields_ = [("levels", ctypes.c_void_p), ("mask", ctypes.c_void_p), ("connectivity", ctypes.c_int),
                ("orientation", ctypes.c_int), ("border", ctypes.c_int)]


class _Element(ctypes.Structure):
    _fields_ = [("shape", ctypes.c_int), ("width", ctypes.c_int32), ("height", ctypes.c_int32),
                ("members", ctypes.c_void_p), ("heights", ctypes.c_void_p)]


class _MorphologyParams(ctypes.Structure):
    _fields_ = [("operation", ctypes.c_int), ("element", _Element)]


class _ConvolveParams(ctypes.Structure):
    _fields_ = [("weights", ctypes.c_void_p), ("width", ctypes.c_int32), ("height", ctypes.c_int32),
                ("border", ctypes.c_int)]


class _HaarParams(ctypes.Structure):
    _fields_ = [("direction", ctypes.c_int), ("levels", ctypes.c_int32), ("threshold", ctypes.c_float),
                ("unit", ctypes.c_bool)]


class _RankletParams(ctypes.Structure):
    _fields_ = [("width", ctypes.c_int32), ("height", ctypes.c_int32)]


class _DiamondSquareParams(ctypes.Structure):
    _fields_ = [("exponent", ctypes.c_int32), ("seed", ctypes.c_uint64), ("roughness", ctypes.c_double),
                ("x", ctypes.c_int32), ("y", ctypes.c_int32)]


class _Contours(ctypes.Structure):
    _fields_ = [("points", ctypes.c_void_p), ("contours", ctypes.c_void_p),
                ("point_capacity", ctypes.c_uint32), ("contour_capacity", ctypes.c_uint32),
                ("point_count", ctypes.c_uint32), ("contour_count", ctypes.c_uint32),
                ("truncated", ctypes.c_bool)]


class _Ops(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p)] + [(operator, ctypes.CFUNCTYPE(ctypes.c_int)) for operator in (
        "contours", "morphology", "convolve", "haar", "ranklet", "diamond_square", "widen")]


class _DeviceTimes(ctypes.Structure):
    _fields_ = [("upload_ns", ctypes.c_int64), ("kernel_ns", ctypes.c_int64), ("download_ns", ctypes.c_int64)]


def _load():
    tree = pathlib.Path(__file__).resolve().parents[2]
    return ctypes.CDLL(os.environ.get("CRN_LIBRARY", str(tree / "build" / "lib" / "libcernita.so")))


_lib = _load()
_lib.crn_backend_ops.restype = ctypes.POINTER(_Ops)


def _check(r):
    if r < 0:
        raise OSError(-r, os.strerror(-r))


def _ops(backend):
    """The backend's table of operators, and why there is none."""
    why = ctypes.c_char_p()
    ops = _lib.crn_backend_ops(_BACKENDS.index(backend), ctypes.byref(why))
    return ops, None if ops else why.value.decode()


def missing(backend):
    """Why this build or this machine does not have the backend; None when it does."""
    return _ops(backend)[1]


def _operator(name, backend):
    ops, why = _ops(backend)
    if why:
        raise OSError(errno.ENODEV, f"{backend}: {why}")
    return getattr(ops.contents, name)


class Context:
    """Threads and scratch memory; keep one and nothing is allocated from the second call on."""

    def __init__(self, threads=1):
        self.pointer = ctypes.c_void_p()
        _check(_lib.crn_context_create(threads, ctypes.byref(self.pointer)))

    def device_ms(self):
        """(upload, kernels, download) of the last operator that ran on a device with this context."""
        times = _DeviceTimes()
        _check(_lib.crn_gpu_times_of(self.pointer, ctypes.byref(times)))
        return times.upload_ns / 1e6, times.kernel_ns / 1e6, times.download_ns / 1e6

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
    if len(planar) == 1:  # numpy's is 0: a single plane is dense all the same
        strides[0] = planar.shape[1] * planar.shape[2]
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
    operator = _operator("contours", backend)
    while True:
        _check(operator(context.pointer, ctypes.byref(params), ctypes.byref(source), ctypes.byref(room.raw)))
        if found or not room.truncated:
            return room
        room = Found(4 * len(room._points), 4 * len(room._contours))


def _call(name, params, source, target, out, keep=None, *, backend="openmp", threads=1, context=None, prepare=False):
    """Does it and gives `out`, or with `prepare` the call, which keeps all that it needs alive."""
    operator, context = _operator(name, backend), context or Context(threads)
    pointers = [context.pointer, ctypes.byref(params)]
    pointers += [ctypes.byref(i) for i in (source, target) if i is not None]

    def run(keep=(context, out, keep)):
        _check(operator(*pointers))
        return out
    return run if prepare else run()


def _pair(size):
    return (size, size) if isinstance(size, int) else tuple(size)


def morphology(array, operation, element="rect", size=3, *, heights=None, layout="hwc", out=None, **how):
    """operation: erode, dilate, open, close, gradient, tophat or blackhat. element: rect, disk or cross of `size`
    (N or (width, height)), or an array whose non-zero pixels are the members; heights: of a non-flat one."""
    members = None if isinstance(element, str) else np.ascontiguousarray(np.asarray(element) != 0, "u1")
    width, height = _pair(size) if members is None else members.shape[::-1]
    shape = 3 if members is not None else ("rect", "disk", "cross").index(element)
    levels = None if heights is None else np.ascontiguousarray(heights, "f4")
    params = _MorphologyParams(
        ("erode", "dilate", "open", "close", "gradient", "tophat", "blackhat").index(operation),
        _Element(shape, width, height, None if members is None else members.ctypes.data,
                 None if levels is None else levels.ctypes.data))
    out = np.empty_like(array) if out is None else out
    return _call("morphology", params, image(array, layout), image(out, layout), out, (array, members, levels), **how)


def convolve(array, kernel, *, border="replicate", layout="hwc", out=None, **how):
    """The kernel laid over the array as it is written (a correlation). border: replicate, reflect, wrap or zero."""
    weights = np.ascontiguousarray(kernel, "f4")
    params = _ConvolveParams(weights.ctypes.data, weights.shape[1], weights.shape[0],
                             ("replicate", "reflect", "wrap", "zero").index(border))
    out = np.empty_like(array) if out is None else out
    return _call("convolve", params, image(array, layout), image(out, layout), out, (array, weights), **how)


def haar(array, levels, *, direction="forward", threshold=0, unit=False, layout="hwc", out=None, **how):
    """In the quadrant layout, f32. direction: forward, inverse or denoise (soft threshold on all differences)."""
    params = _HaarParams(("forward", "inverse", "denoise").index(direction), levels, threshold, unit)
    out = np.empty(array.shape, "f4") if out is None else out
    return _call("haar", params, image(array, layout), image(out, layout), out, array, **how)


def ranklet(array, window, *, out=None, **how):
    """Vertical, horizontal and diagonal ranklets of an H x W array, one row and column per position of the window
    (N or (width, height))."""
    width, height = _pair(window)
    params = _RankletParams(width, height)
    if out is None:
        out = np.empty((3, array.shape[0] - height + 1, array.shape[1] - width + 1), "f4")
    return _call("ranklet", params, image(array), image(out, "chw"), out, array, **how)


def diamond_square(exponent, seed=0, *, roughness=0.5, dtype="uint8", x=0, y=0, size=None, out=None, **how):
    """The fractal field of side 2^exponent + 1, or the rectangle of `size` (width, height) at (x, y)."""
    side = 2**exponent + 1
    width, height = size or (side, side)
    params = _DiamondSquareParams(exponent, seed, roughness, x, y)
    out = np.empty((height, width), dtype) if out is None else out
    return _call("diamond_square", params, None, image(out), out, **how)
