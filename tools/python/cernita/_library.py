"""libcernita.so: where it lies, what stages/cernita.h and cernita_surface.h declare, and its errors as Python's."""
from __future__ import annotations

import ctypes
import errno
import functools
import os
import pathlib
from ctypes import POINTER, Structure, c_bool, c_char_p, c_double, c_float, c_int, c_int32, c_ssize_t, c_uint32, c_uint64
from ctypes import c_size_t, c_void_p
from typing import Any

VERSION = "0.2"  # of the header, whose minor versions differ while the major one is 0

# In the order of their enumerations; the first is 0, of TYPES 1.
TYPES = ("uint8", "float16", "float32", "uint16", "float64")
BACKENDS = ("auto", "serial", "openmp", "cuda")
MEMORY_HOST, MEMORY_DEVICE = 0, 1
CONNECTIVITIES = ORIENTATIONS = ("low", "high")
BORDERS = ("open", "closed")
OPERATIONS = ("erode", "dilate", "open", "close", "gradient", "tophat", "blackhat")
ELEMENT_SHAPES = ("rect", "disk", "cross")
ELEMENT_PICTURE = 3
CONVOLVE_BORDERS = ("replicate", "reflect", "wrap", "zero")
HAAR_DIRECTIONS = ("forward", "inverse", "denoise")
ROLL_AXES = ("y", "x")

THREADS_MAX, ELEMENT_MAX, KERNEL_TAPS_MAX, DIAMOND_SQUARE_EXPONENT_MAX = 1024, 4095, 16384, 20
RANKLET_HALF_MAX, CONTOURS_CELLS_MAX = 3037000499, 1 << 30
SURFACE_VIEWS_MAX, SURFACE_CLASSES_MAX, SURFACE_POINTS_MAX = 64, 256, 16777216


class Image(Structure):
    _fields_ = [("data", c_void_p), ("type", c_int), ("planes", c_int32), ("height", c_int32), ("width", c_int32),
                ("plane_stride", c_ssize_t), ("row_stride", c_ssize_t), ("step", c_ssize_t)]


class ContextSettings(Structure):
    _fields_ = [("backend", c_int), ("threads", c_int32), ("memory", c_int), ("device", c_int32), ("stream", c_void_p)]


class ContoursParams(Structure):
    _fields_ = [("levels", c_void_p), ("mask", c_void_p), ("connectivity", c_int), ("orientation", c_int),
                ("border", c_int)]


class Contours(Structure):
    _fields_ = [("points", c_void_p), ("contours", c_void_p), ("point_capacity", c_uint32),
                ("contour_capacity", c_uint32), ("point_count", c_uint32), ("contour_count", c_uint32),
                ("truncated", c_bool)]


class Element(Structure):
    _fields_ = [("shape", c_int), ("width", c_int32), ("height", c_int32), ("members", c_void_p),
                ("heights", c_void_p)]


class MorphologyParams(Structure):
    _fields_ = [("operation", c_int), ("element", Element)]


class ConvolveParams(Structure):
    _fields_ = [("weights", c_void_p), ("width", c_int32), ("height", c_int32), ("border", c_int)]


class HaarParams(Structure):
    _fields_ = [("direction", c_int), ("levels", c_int32), ("threshold", c_float), ("unit", c_bool)]


class RankletParams(Structure):
    _fields_ = [("width", c_int32), ("height", c_int32)]


class DiamondSquareParams(Structure):
    _fields_ = [("exponent", c_int32), ("seed", c_uint64), ("roughness", c_double), ("x", c_int32), ("y", c_int32)]


class Defects(Structure):
    _fields_ = [("defects", c_void_p), ("xy", c_void_p), ("textures", c_void_p), ("defect_capacity", c_uint32),
                ("point_capacity", c_uint32), ("texture_capacity", c_uint32), ("defect_count", c_uint32),
                ("point_count", c_uint32), ("texture_count", c_uint32), ("truncated", c_bool)]


class ChainSettings(Structure):
    _fields_ = [("recipe", c_char_p), ("class_names", POINTER(c_char_p)), ("class_levels", POINTER(c_double)),
                ("levels", c_int32)]


class SurfacePose(Structure):
    _fields_ = [("x", c_double), ("y", c_double), ("rx", c_double), ("ry", c_double), ("tilt_rad", c_double),
                ("roll_rad", c_double), ("confidence", c_double), ("pitch_rad", c_double)]


class SurfaceSettings(Structure):
    _fields_ = [("roll_axis", c_int), ("distance_mm", c_double), ("roll_error_rad", c_double), ("classes", c_int32),
                ("views", c_int32), ("defects", c_uint32), ("points", c_uint32)]


class SurfaceView(Structure):
    _fields_ = [("pose", SurfacePose), ("mm_per_px", c_double), ("height", c_int32), ("width", c_int32),
                ("defects", POINTER(Defects))]


class SurfacePhotograph(Structure):
    _fields_ = [("image", Image), ("pose", SurfacePose), ("mm_per_px", c_double)]


class SurfaceRoll(Structure):
    _fields_ = [("roll_rad", c_double), ("confidence", c_double)]


class SurfacePart(Structure):
    _fields_ = [("view", c_int32), ("defect", c_uint32)]


class SurfaceDefect(Structure):
    _fields_ = [("channel", c_int32), ("area_mm2", c_double), ("length_mm", c_double), ("width_mm", c_double),
                ("lambda_rad", c_double), ("v", c_double), ("views", c_uint64), ("first_part", c_uint32),
                ("part_count", c_uint32)]


class SurfaceTotal(Structure):
    _fields_ = [("count", c_uint32), ("area_mm2", c_double), ("largest_mm2", c_double), ("longest_mm", c_double)]


class SurfaceFruit(Structure):
    _fields_ = [("diameter_mm", c_double), ("length_mm", c_double), ("surface_mm2", c_double), ("seen_mm2", c_double),
                ("coverage", c_double), ("totals", POINTER(SurfaceTotal)), ("defects", POINTER(SurfaceDefect)),
                ("parts", POINTER(SurfacePart)), ("defect_count", c_uint32), ("part_count", c_uint32)]


# name: (result, arguments); those that return an int can fail.
_PROTOTYPES: dict[str, tuple[object, list[object]]] = {
    "crn_version": (c_char_p, []),
    "crn_backend_missing": (c_char_p, [c_int]),
    "crn_context_open": (c_int, [POINTER(ContextSettings), POINTER(c_void_p)]),
    "crn_context_free": (None, [POINTER(c_void_p)]),
    "crn_context_wait": (c_int, [c_void_p]),
    "crn_pinned_create": (c_void_p, [c_void_p, c_size_t]),
    "crn_pinned_free": (None, [c_void_p, c_void_p]),
    "crn_context_error": (c_char_p, [c_void_p]),
    "crn_find_contours": (c_int, [c_void_p, POINTER(ContoursParams), POINTER(Image), POINTER(Contours)]),
    "crn_morphology": (c_int, [c_void_p, POINTER(MorphologyParams), POINTER(Image), POINTER(Image)]),
    "crn_convolve": (c_int, [c_void_p, POINTER(ConvolveParams), POINTER(Image), POINTER(Image)]),
    "crn_haar": (c_int, [c_void_p, POINTER(HaarParams), POINTER(Image), POINTER(Image)]),
    "crn_haar_levels_max": (c_int32, [c_int32, c_int32]),
    "crn_ranklet": (c_int, [c_void_p, POINTER(RankletParams), POINTER(Image), POINTER(Image)]),
    "crn_diamond_square": (c_int, [c_void_p, POINTER(DiamondSquareParams), POINTER(Image)]),
    "crn_chain_free": (None, [POINTER(c_void_p)]),
    "crn_chain_class_count": (c_int32, [c_void_p]),
    "crn_chain_class_name": (c_char_p, [c_void_p, c_int32]),
    "crn_surface_open": (c_int, [c_void_p, POINTER(SurfaceSettings), POINTER(c_void_p)]),
    "crn_surface_free": (None, [POINTER(c_void_p)]),
    "crn_surface_measure": (c_int, [c_void_p, POINTER(SurfaceView), c_int32, POINTER(POINTER(SurfaceFruit))]),
    "crn_surface_find_pose": (c_int, [c_void_p, POINTER(Image), POINTER(SurfacePose)]),
    "crn_surface_find_roll": (c_int, [c_void_p, POINTER(SurfacePhotograph), POINTER(SurfacePhotograph), c_double,
                                      c_double, POINTER(SurfaceRoll)]),
    "crn_chain_judge": (c_int, [c_void_p, POINTER(Image), POINTER(Image), POINTER(POINTER(Defects))]),
    # Of stages/chain/chain.h, for programs of the same release.
    "crn_chain_open_with": (c_int, [c_void_p, c_char_p, POINTER(ChainSettings), POINTER(c_void_p)]),
    "crn_chain_class_level": (c_double, [c_void_p, c_int32]),
}


def _candidates() -> list[str]:
    """Where the library may lie, best first: as told, in the wheel, in the source tree, where the system looks."""
    package = pathlib.Path(__file__).resolve().parent
    named = os.environ.get("CRN_LIBRARY")
    if named:
        return [named]
    files = [package / f"libcernita.so.{VERSION}", package.parents[2] / "build" / "lib" / "libcernita.so"]
    return [str(path) for path in files if path.exists()] + [f"libcernita.so.{VERSION}"]


def _open(path: str) -> ctypes.CDLL:
    """The library, whose threads then sleep while they wait: on a machine that has other work, threads that wait
    busily make each call many times slower. OpenMP's runtime reads this when it is loaded, here unless NumPy or
    another module has loaded it before."""
    policy = "OMP_WAIT_POLICY"
    if policy in os.environ:
        return ctypes.CDLL(path)
    os.environ[policy] = "passive"
    try:
        return ctypes.CDLL(path)
    finally:
        del os.environ[policy]


_CURE = "install the package's wheel, build the library (ninja -C build cernita) or name it in CRN_LIBRARY"


def _declare(library: ctypes.CDLL, path: str, name: str) -> None:
    result, arguments = _PROTOTYPES[name]
    try:
        function = getattr(library, name)
    except AttributeError:
        raise ImportError(f"{path} is not libcernita {VERSION}: it has no {name}(); {_CURE}") from None
    function.restype, function.argtypes = result, arguments


@functools.lru_cache(maxsize=None)
def loaded() -> ctypes.CDLL:
    """The library itself."""
    path = _candidates()[0]
    try:
        library = _open(path)
    except OSError as fault:
        raise ImportError(f"cernita cannot load {path}: {fault}; {_CURE}") from None
    _declare(library, path, "crn_version")
    version = library.crn_version().decode()
    if not version.startswith(VERSION + "."):
        raise ImportError(f"cernita needs libcernita {VERSION}, and {path} is {version}: rebuild it, or name another in "
                          "CRN_LIBRARY")
    for name in _PROTOTYPES:
        _declare(library, path, name)
    return library


class _Library:
    """The functions of libcernita.so, which the first use of one loads: Line, Verdicts and recordings do without."""

    def __getattr__(self, name: str) -> Any:
        library = loaded()
        for known in _PROTOTYPES:
            setattr(self, known, getattr(library, known))  # from now on __getattr__ is not called
        if name not in _PROTOTYPES:
            raise AttributeError(name)
        return getattr(library, name)


lib = _Library()


def library_version() -> str:
    """As the package's metadata has it: what libcernita calls 0.2.0-dev is 0.2.0.dev0 to Python (PEP 440)."""
    return str(lib.crn_version().decode()).replace("-dev", ".dev0")


def check(result: int, text: str) -> None:
    """Raises the error that a negative result stands for, with the library's text."""
    if result >= 0:
        return
    text = text or os.strerror(-result)
    if result == -errno.EINVAL:
        raise ValueError(text)
    if result == -errno.ENOMEM:
        raise MemoryError(text)
    raise OSError(-result, text)
