"""The operators from Python: numpy arrays in, without a copy, numpy arrays out.

    import cernita
    found = cernita.contours(maps, 0.5)            # maps: H x W, or H x W x C with layout="hwc"
    for contour in found.contours: ...             # plane, closed, first, count
    for polyline in found.polylines(plane=1): ...  # (n, 2) arrays of (row, column), as skimage's
    opened = cernita.morphology(picture, "open", "disk", 5)
    smooth = cernita.convolve(picture, kernel, border="reflect")
    coefficients = cernita.haar(picture, 3)        # and haar(…, direction="inverse"), "denoise" with threshold
    vertical, horizontal, diagonal = cernita.ranklet(grey, 8)
    field = cernita.diamond_square(10, seed=1)

    picture = cernita.read("picture.tif")          # TIFF, PNG, JPEG or .npy: H x W, or H x W x planes
    kernel = cernita.kernel("gaussian", 5)         # and the others that line files name

Every operator takes backend ("serial", "openmp", "cuda"), threads or a context, and `out`, an array to write to. With
prepare=True all but contours give the call itself, to be made again and again on the same arrays: for benchmarks.
missing("cuda") says why there is none here, or None; what the parts of the last call on a device took stands in
context.device_ms().

A wrong argument is a TypeError or a ValueError that names it and says what is allowed.

The library is build/lib/libcernita-internal.so of this tree, or what CRN_LIBRARY names.
"""
import ctypes
import errno
import operator
import os
import pathlib
import sys

try:
    import numpy as np
except ImportError:
    raise ImportError(f"cernita.py needs NumPy, which {sys.executable} has not: install Debian's "
                      "python3-numpy, and start your script with /usr/bin/python3") from None

_POINT = np.dtype([("x", "f8"), ("y", "f8")])
_CONTOUR = np.dtype([("plane", "i4"), ("closed", "?"), ("first", "u4"), ("count", "u4")], align=True)
_BACKENDS = ("auto", "serial", "openmp", "cuda")
_TYPES = {"uint8": 1, "float16": 2, "float32": 3, "uint16": 4}
_NAMES = {np.dtype(name): name for name in _TYPES}
_ELEMENT_MAX, _TAPS_MAX, _EXPONENT_MAX, _CELLS_MAX, _HALF_MAX = 4095, 16384, 20, 1 << 30, 3037000499  # as in cernita.h


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


class _Picture(ctypes.Structure):
    _fields_ = [("image", _Image), ("alpha", _Image), ("alpha_associated", ctypes.c_bool), ("pages", ctypes.c_int32),
                ("samples", ctypes.c_int32), ("memory", ctypes.c_void_p), ("alpha_memory", ctypes.c_void_p)]


class _Size(ctypes.Structure):
    _fields_ = [("width", ctypes.c_int32), ("height", ctypes.c_int32)]


class _Kernel(ctypes.Structure):
    _fields_ = [("width", ctypes.c_int32), ("height", ctypes.c_int32), ("weights", ctypes.c_float * _TAPS_MAX)]


class _Error(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char * 1024)]


class _DeviceTimes(ctypes.Structure):
    _fields_ = [("upload_ns", ctypes.c_int64), ("kernel_ns", ctypes.c_int64), ("download_ns", ctypes.c_int64)]


def _load():
    tree = pathlib.Path(__file__).resolve().parents[2]
    return ctypes.CDLL(os.environ.get("CRN_LIBRARY", str(tree / "build" / "lib" / "libcernita-internal.so")))


_lib = _load()
_lib.crn_haar_levels_max.restype = ctypes.c_int32
_lib.crn_backend_ops.restype = ctypes.POINTER(_Ops)


def _check(r):
    if r < 0:
        raise OSError(-r, os.strerror(-r))


# --- arguments: what each is called, what it is, what is allowed ------------------------------------------------------

def _join(names, last="or"):
    return ", ".join(names[:-1]) + f" {last} {names[-1]}" if len(names) > 1 else names[0]


def _choice(argument, value, names):
    if not isinstance(value, str):
        raise TypeError(f"{argument} must be {_join(names)}, not {value!r}")
    if value not in names:
        raise ValueError(f"{argument} must be {_join(names)}, not {value!r}")
    return names.index(value)


def _whole(argument, value, least, most):
    try:
        number = None if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise TypeError(f"{argument} must be a whole number, not {value!r}")
    if not least <= number <= most:
        raise ValueError(f"{argument} must be from {least} to {most}, not {number}")
    return number


def _number(argument, value, least, most):
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{argument} must be a number, not {value!r}") from None
    if not least <= number <= most:
        raise ValueError(f"{argument} must be {f'from {least} to {most}' if most < np.inf else f'at least {least}'}, "
                         f"not {number}")
    return number


def _pair(argument, size, least, most):
    """(width, height) of N or (width, height)."""
    both = tuple(size) if isinstance(size, (tuple, list, np.ndarray)) and np.ndim(size) == 1 else (size, size)
    if len(both) != 2:
        raise ValueError(f"{argument} must be N or (width, height), not {size!r}")
    return tuple(_whole(argument, side, least, most) for side in both)


def _array(argument, array, types, dimensions=(2, 3)):
    """The array itself, once it is one that an image can be made of."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{argument} must be a numpy array, not {type(array).__name__}")
    name = _NAMES.get(array.dtype)  # numpy takes a microsecond for the name
    if (name or array.dtype.name) not in types:
        other = "float32" if "float32" in types else types[-1]
        # Fractions would be cut off, so that probabilities became zeros.
        scaled = "scaled to 0 to 65535, " if array.dtype.kind == "f" and other == "uint16" else ""
        raise TypeError(f"{argument} must be of {_join(types)}, not {array.dtype.name}; "
                        f"{scaled}{argument}.astype({other!r}) makes it one")
    if not name and not array.dtype.isnative:
        raise TypeError(f"{argument} must be in this machine's byte order, not {array.dtype.str!r}")
    if array.ndim not in dimensions:
        raise ValueError(f"{argument} must have {_join([str(n) for n in dimensions])} dimensions, not {array.ndim}")
    if not array.size:
        raise ValueError(f"{argument} must not be empty, as one of shape {array.shape} is")
    for stride in array.strides:
        if stride % array.itemsize:
            raise ValueError(f"{argument} must have strides of whole elements; {argument}.copy() has")
    return array


def _flag(argument, value):
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{argument} must be True or False, not {value!r}")
    return bool(value)


def _numbers(argument, values, kind):
    """Anything that numpy makes numbers of, dense."""
    try:
        return np.ascontiguousarray(values, kind)
    except (TypeError, ValueError):
        raise TypeError(f"{argument} must be numbers, not {values!r}") from None


def _target(argument, out, like, shape, kind):
    """The array that results go to: the caller's, or a new one."""
    if out is None:
        return np.empty(shape, kind)
    _array(argument, out, (np.dtype(kind).name,), (len(shape),))
    if out.shape != tuple(shape):
        raise ValueError(f"{argument} must be of shape {tuple(shape)}, not {out.shape}")
    if not out.flags.writeable:
        raise ValueError(f"{argument} must be writeable")
    if like is not None and np.may_share_memory(like, out):
        try:
            shared = np.shares_memory(like, out, max_work=10000)
        except np.TooHardError:
            shared = False
        if shared:
            raise ValueError(f"{argument} must not share memory with the array that is read")
    return out


def _ops(backend):
    """The backend's table of operators, and why there is none."""
    why = ctypes.c_char_p()
    ops = _lib.crn_backend_ops(_choice("backend", backend, _BACKENDS), ctypes.byref(why))
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
        _check(_lib.crn_context_create(_whole("threads", threads, 1, 4096), ctypes.byref(self.pointer)))

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
        points, contours = _whole("points", points, 1, 2**32 - 1), _whole("contours", contours, 1, 2**32 - 1)
        self._points, self._contours = np.empty(points, _POINT), np.empty(contours, _CONTOUR)
        self.raw = _Contours(self._points.ctypes.data, self._contours.ctypes.data, points, contours)

    points = property(lambda self: self._points[:self.raw.point_count])
    contours = property(lambda self: self._contours[:self.raw.contour_count])
    truncated = property(lambda self: self.raw.truncated)

    def polylines(self, plane=0):
        plane = _whole("plane", plane, 0, 2**31 - 1)
        row_column = self.points.view("f8").reshape(-1, 2)[:, ::-1]
        return [row_column[c["first"]:c["first"] + c["count"]] for c in self.contours if c["plane"] == plane]


def image(array, layout="hwc", argument="array", types=tuple(_TYPES)):
    """A crn_image over an array of 2 dimensions, or of 3 in the layout "hwc" or "chw". Errors call it `argument`."""
    _array(argument, array, types)
    _choice("layout", layout, ("hwc", "chw"))
    planar = array[None] if array.ndim == 2 else array if layout == "chw" else array.transpose(2, 0, 1)
    strides = [stride // array.itemsize for stride in planar.strides]
    if len(planar) == 1:  # numpy's is 0: a single plane is dense all the same
        strides[0] = planar.shape[1] * planar.shape[2]
    return _Image(planar.ctypes.data, _TYPES[_NAMES[array.dtype]], *planar.shape, *strides)


def _context(context, threads):
    if context is None:
        return Context(threads)
    if not isinstance(context, Context):
        raise TypeError(f"context must be a cernita.Context, not {type(context).__name__}")
    return context


def _found(found):
    if found is None:
        return Found()
    if not isinstance(found, Found):
        raise TypeError(f"found must be a cernita.Found, not {type(found).__name__}")
    return found


def contours(array, level, *, layout="hwc", mask=None, connectivity="low", orientation="low",
             border="open", backend="openmp", threads=1, context=None, found=None):
    """The contours of every plane. level: one for all, or one per plane (NaN: leave that plane out).
    Without `found` the room grows until everything fits; with it the result may be truncated."""
    source = image(array, layout)
    border = _choice("border", border, ("open", "closed"))
    least = 1 if border else 2
    if source.height < least or source.width < least:
        raise ValueError(f"array must be at least 2 x 2 with an open border, not {source.height} x {source.width}")
    if (source.height + 1) * (source.width + 1) >= _CELLS_MAX:
        raise ValueError(f"array must have fewer than 2^30 pixels per plane, not {source.height} x {source.width}")
    levels = _numbers("level", level, "f8")
    if levels.shape not in ((), (1,), (source.planes,)):
        raise ValueError(f"level must be one number, or one for each of {source.planes} planes, not {levels.shape}")
    if border and (levels < 0).any():
        raise ValueError("level must be at least 0 with a closed border, beyond which the array is 0")
    levels = np.ascontiguousarray(np.broadcast_to(levels, (source.planes,)))
    valid = None if mask is None else np.ascontiguousarray(_numbers("mask", mask, "f4") != 0, "u1")
    if valid is not None and valid.shape != (source.height, source.width):
        raise ValueError(f"mask must have the height and width of array, {(source.height, source.width)}, "
                         f"not {valid.shape}")
    params = _Params(levels.ctypes.data, None if valid is None else valid.ctypes.data,
                     _choice("connectivity", connectivity, ("low", "high")),
                     _choice("orientation", orientation, ("low", "high")), border)
    context, room = _context(context, threads), _found(found)
    operation = _operator("contours", backend)
    while True:
        _check(operation(context.pointer, ctypes.byref(params), ctypes.byref(source), ctypes.byref(room.raw)))
        if found or not room.truncated:
            return room
        room = Found(4 * len(room._points), 4 * len(room._contours))


def _call(name, params, source, target, out, keep=None, *, backend="openmp", threads=1, context=None, prepare=False,
          **unknown):
    """Does it and gives `out`, or with `prepare` the call, which keeps all that it needs alive."""
    if unknown:
        raise TypeError(f"{name}() has no argument {_join(list(unknown))}; those of every operator are backend, "
                        "threads, context and prepare")
    operation, context = _operator(name, backend), _context(context, threads)
    pointers = [context.pointer, ctypes.byref(params)]
    pointers += [ctypes.byref(i) for i in (source, target) if i is not None]

    def run(keep=(context, out, keep)):
        _check(operation(*pointers))
        return out
    return run if _flag("prepare", prepare) else run()


def _element(element, size):
    """Its crn_element_shape, width, height, and members or None."""
    if isinstance(element, str):
        return (_choice("element", element, ("rect", "disk", "cross")), *_pair("size", size, 1, _ELEMENT_MAX), None)
    members = _numbers("element", element, "f8")
    if members.ndim != 2 or not members.any() or max(members.shape) > _ELEMENT_MAX:
        raise ValueError(f"element must be rect, disk or cross, or an array of 2 dimensions with sides up to "
                         f"{_ELEMENT_MAX} and a member that is not 0, not this one of shape {members.shape}")
    return 3, members.shape[1], members.shape[0], np.ascontiguousarray(members != 0, "u1")


def _heights(heights, height, width, kind):
    levels = _numbers("heights", heights, "f4")
    if levels.shape != (height, width):
        raise ValueError(f"heights must be of the element's shape, {(height, width)}, not {levels.shape}")
    if not np.isfinite(levels).all():
        raise ValueError("heights must be finite")
    if kind == np.uint8 and (np.abs(levels).max() > 255 or (levels != np.rint(levels)).any()):
        raise ValueError("heights must be whole numbers from -255 to 255 where array is of uint8")
    return levels


def morphology(array, operation, element="rect", size=3, *, heights=None, layout="hwc", out=None, **how):
    """operation: erode, dilate, open, close, gradient, tophat or blackhat. element: rect, disk or cross of `size`
    (N or (width, height)), or an array whose non-zero pixels are the members; heights: of a non-flat one."""
    source = image(array, layout, types=("uint8", "float32"))
    shape, width, height, members = _element(element, size)
    levels = None if heights is None else _heights(heights, height, width, array.dtype)
    params = _MorphologyParams(
        _choice("operation", operation, ("erode", "dilate", "open", "close", "gradient", "tophat", "blackhat")),
        _Element(shape, width, height, None if members is None else members.ctypes.data,
                 None if levels is None else levels.ctypes.data))
    out = _target("out", out, array, array.shape, array.dtype)
    return _call("morphology", params, source, image(out, layout), out, (array, members, levels), **how)


def convolve(array, kernel, *, border="replicate", layout="hwc", out=None, **how):
    """The kernel laid over the array as it is written (a correlation). border: replicate, reflect, wrap or zero."""
    source = image(array, layout, types=("uint8", "float32"))
    weights = _numbers("kernel", kernel, "f4")
    if weights.ndim != 2 or not 1 <= weights.size <= _TAPS_MAX:
        raise ValueError(f"kernel must have 2 dimensions and 1 to {_TAPS_MAX} weights, not the shape {weights.shape}")
    if not np.isfinite(weights).all():
        raise ValueError("kernel must be of finite weights")
    params = _ConvolveParams(weights.ctypes.data, weights.shape[1], weights.shape[0],
                             _choice("border", border, ("replicate", "reflect", "wrap", "zero")))
    out = _target("out", out, array, array.shape, array.dtype)
    return _call("convolve", params, source, image(out, layout), out, (array, weights), **how)


def haar(array, levels, *, direction="forward", threshold=0, unit=False, layout="hwc", out=None, **how):
    """In the quadrant layout, f32. direction: forward, inverse or denoise (soft threshold on all differences)."""
    source = image(array, layout, types=("uint8", "float32"))
    most = _lib.crn_haar_levels_max(source.height, source.width)
    params = _HaarParams(_choice("direction", direction, ("forward", "inverse", "denoise")),
                         _whole("levels", levels, 0, most), _number("threshold", threshold, 0, np.inf),
                         _flag("unit", unit))
    out = _target("out", out, array, array.shape, "f4")
    return _call("haar", params, source, image(out, layout), out, array, **how)


def ranklet(array, window, *, out=None, **how):
    """Vertical, horizontal and diagonal ranklets of an H x W array, one row and column per position of the window
    (N or (width, height))."""
    _array("array", array, ("uint8", "uint16"), (2,))
    width, height = _pair("window", window, 2, 2**31 - 1)
    if width % 2 or height % 2:
        raise ValueError(f"window must have even sides, not {width} x {height}")
    if height > array.shape[0] or width > array.shape[1]:
        raise ValueError(f"window must fit into array, {array.shape[1]} wide and {array.shape[0]} high, "
                         f"not be {width} wide and {height} high")
    if width * height // 2 > _HALF_MAX:
        raise ValueError(f"window must have at most {2 * _HALF_MAX} pixels")
    params = _RankletParams(width, height)
    out = _target("out", out, array, (3, array.shape[0] - height + 1, array.shape[1] - width + 1), "f4")
    return _call("ranklet", params, image(array), image(out, "chw"), out, array, **how)


def diamond_square(exponent, seed=0, *, roughness=0.5, dtype="uint8", x=0, y=0, size=None, out=None, **how):
    """The fractal field of side 2^exponent + 1, or the rectangle of `size` (width, height) at (x, y)."""
    side = 2**_whole("exponent", exponent, 0, _EXPONENT_MAX) + 1
    x, y = _whole("x", x, 0, side - 1), _whole("y", y, 0, side - 1)
    width, height = _pair("size", side if size is None else size, 1, side)
    if out is None:
        try:
            kind = np.dtype(dtype).name
        except TypeError:
            kind = str(dtype)
        _choice("dtype", kind, ("uint8", "float32"))
        out = np.empty((height, width), kind)
    _array("out", out, ("uint8", "float32"), (2,))
    if size is not None and out.shape != (height, width):
        raise ValueError(f"out must be of size, {height} high and {width} wide, not of shape {out.shape}")
    if out.shape[1] > side - x or out.shape[0] > side - y:
        raise ValueError(f"{'out' if size is None else 'size'} must fit into the field of side {side} from x {x}, "
                         f"y {y} on, not be {out.shape[1]} wide and {out.shape[0]} high")
    _target("out", out, None, out.shape, out.dtype)
    params = _DiamondSquareParams(exponent, _whole("seed", seed, 0, 2**64 - 1),
                                  _number("roughness", roughness, 0, 1), x, y)
    return _call("diamond_square", params, None, image(out), out, **how)


# --- files ------------------------------------------------------------------------------------------------------------

def read(path):
    """A picture file as an array of its own type: H x W, or H x W x planes (a TIFF's pages and samples, without
    alpha)."""
    picture, error = _Picture(), _Error()
    if _lib.crn_picture_read(os.fsencode(path), ctypes.byref(picture), ctypes.byref(error)) < 0:
        raise OSError(error.text.decode())
    try:
        planes = picture.image
        kind = np.dtype(next(name for name, number in _TYPES.items() if number == planes.type))
        shape, strides = ((planes.height, planes.width, planes.planes),
                          (planes.row_stride, planes.step, planes.plane_stride))
        count = planes.planes * planes.height * planes.width
        memory = (ctypes.c_char * (count * kind.itemsize)).from_address(planes.data)
        array = np.ndarray(shape, kind, memory, strides=[kind.itemsize * stride for stride in strides]).copy("C")
    finally:
        _lib.crn_picture_free(ctypes.byref(picture))
    return array[..., 0] if shape[2] == 1 else array


def kernel(name, size=3):
    """The weights of a named kernel, with sides of `size` (N or (width, height)), or of a file's, as convolve takes
    them."""
    width, height = _pair("size", size, 1, _TAPS_MAX)
    made, error = _Kernel(), _Error()
    if _lib.crn_kernel_load(os.fsencode(name), _Size(width, height), ctypes.byref(made), ctypes.byref(error)) < 0:
        raise ValueError(error.text.decode())
    return np.array(made.weights[:made.width * made.height], "f4").reshape(made.height, made.width)
