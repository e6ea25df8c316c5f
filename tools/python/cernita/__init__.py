"""cernita: the operators of a fruit-sorting line on arrays, under the names that their users know, and the line itself.

    import cernita
    for polyline in cernita.find_contours_many(maps, 0.5).polylines(plane=1): ...
    opened = cernita.morphology(picture, "open", "disk", 5)
    smooth = cernita.convolve(picture, kernel, border="reflect")
    coefficients = cernita.haar(picture, 3)
    vertical, horizontal, diagonal = cernita.ranklet(grey, 8)
    field = cernita.diamond_square(10, seed=1)

    opened = cernita.grey_opening(picture, size=(5, 5))                       # scipy.ndimage's
    edges = cernita.morphologyEx(picture, cernita.opencv.MORPH_GRADIENT, kernel)   # OpenCV's
    averages, *details = cernita.wavedec2(picture, "haar", level=3)           # PyWavelets'

    chain = cernita.Chain.from_yaml("line.yaml")    # what cernitad does with the maps of a view, in this process
    defects = chain.judge(maps, photograph)
    coco = cernita.to_coco([(view, defects)])       # for the training of the next CNN
    surface = cernita.Surface(chain.classes)        # the views of a rolling fruit, as one surface in mm
    line = cernita.Line("tcp://127.0.0.1:5555")     # sends views to a daemon
    verdicts = cernita.Verdicts("tcp://127.0.0.1:5556", grader=True)    # receives what it says of each fruit
    cernita.Recording("/data/views"), cernita.VerdictLog("/data/log")   # what it recorded and logged

Arrays are read in place, with any strides. Functions may be called from any thread; the library runs without the GIL.
A wrong argument is a TypeError or a ValueError that names it and says what is allowed.
"""
try:
    import numpy as _numpy  # noqa: F401
except ImportError:
    import sys as _sys
    raise ImportError(f"cernita needs NumPy, which {_sys.executable} lacks: install Debian's python3-numpy and use "
                      "/usr/bin/python3, or pip install numpy") from None

import typing as _typing

from . import ndimage, opencv, wavelets
from ._chain import *
from ._context import *
from ._contours import *
from ._defects import *
from ._library import library_version as _library_version
from ._line.files import *
from ._line.line import *
from ._line.recording import *
from ._line.slot import *
from ._line.verdict import *
from ._line.verdict_log import *
from ._line.verdicts import *
from ._operators import *
from ._pictures import *
from ._pool import *
from ._surface.measures import *
from ._surface.surface import *
from ._training.coco import *
from .ndimage import *
from .opencv import *
from .wavelets import *

__version__: str

# All at once: mypy does not read lists that are put together of others.
__all__ = [
    "Alive", "Chain", "Contours", "DataError", "Defect", "Defects", "FruitSurface", "Line", "Pose", "RecordedView",
    "Recording", "Roll", "Silence", "Slot", "Status", "Surface", "SurfaceDefect", "SurfaceTotal", "SurfaceView",
    "Total", "Unreadable", "Verdict", "VerdictLog", "Verdicts", "__version__", "black_tophat", "convolve",
    "diamond_square", "dilate", "dwt2", "erode", "filter2D", "find_contours", "find_contours_many", "free_contexts",
    "getStructuringElement", "grey_closing", "grey_dilation", "grey_erosion", "grey_opening", "haar", "idwt2",
    "missing", "morphological_gradient", "morphology", "morphologyEx", "named_kernel", "ranklet", "read_picture",
    "to_coco", "wavedec2", "waverec2", "white_tophat", "write_picture",
]


if not _typing.TYPE_CHECKING:  # which would take every name that the package has not for a str
    def __getattr__(name: str) -> str:
        """The library, which knows its version, is loaded by what needs it."""
        if name != "__version__":
            raise AttributeError(f"module 'cernita' has no attribute {name!r}")
        return _library_version()
