"""What the package says of wrong arguments, each in turn: check_binding_faults.py LIBRARY TOOLS_PYTHON

Prints what was not refused, or not in these words.
"""
import fractions
import os
import sys

os.environ["CRN_LIBRARY"] = sys.argv[1]
sys.path.insert(0, sys.argv[2])

import numpy as np

import cernita
from wrong_errors import wrong_errors

grey = np.zeros((8, 12), "u1")
rgb = np.zeros((8, 12, 3), "u1")
real = np.zeros((8, 12), "f4")
read_only = np.zeros((8, 12), "u1")
read_only.flags.writeable = False
odd = np.zeros((8, 12), [("a", "u1"), ("b", "f4")])["b"]


def too_many(side):
    """Of one value in memory."""
    return np.broadcast_to(np.zeros((1, 1), "u1"), (side, side))


IMAGE = "uint8, float16, float32, uint16, float64 or bool"
PLAIN = "uint8 or float32"
BACKENDS = "auto, serial, openmp or cuda"

# What is called, with which error, and how that begins.
CASES = {
    "contours of int32": (lambda: cernita.find_contours_many(grey.astype("i4"), 1), TypeError,
                          f"maps must be of {IMAGE}, not int32; maps.astype('float32') makes it one"),
    "contours of complex": (lambda: cernita.find_contours_many(grey.astype("c8"), 1), TypeError,
                            f"maps must be of {IMAGE}, not complex64; maps.real.astype('float32') makes it one"),
    "contours of a list": (lambda: cernita.find_contours_many([[1, 2], [3, 4]], 1), TypeError,
                           "maps must be a numpy array, not list"),
    "contours of a line": (lambda: cernita.find_contours_many(grey[0], 1), ValueError,
                           "maps must have 2, 3 or 4 dimensions, not 1"),
    "contours of many": (lambda: cernita.find_contours_many(grey[None, None, None], 1), ValueError,
                         "maps must have 2, 3 or 4 dimensions, not 5"),
    "contours of no pictures": (lambda: cernita.find_contours_many(rgb[None][:0], 1), ValueError,
                                "maps must not be empty, as one of shape (0, 8, 12, 3) is"),
    "contours of nothing": (lambda: cernita.find_contours_many(grey[:0], 1), ValueError, "maps must not be empty"),
    "contours of a row": (lambda: cernita.find_contours_many(grey[:1], 1), ValueError,
                          "maps must be at least 2 x 2 with an open border, not 1 x 12"),
    "contours of too many cells": (lambda: cernita.find_contours_many(too_many(32767), 1, border="closed"), ValueError,
                                   "maps must have fewer than 2^30 cells per plane, (height +1) x (width +1), not 32767"),
    "open contours of too many cells": (lambda: cernita.find_contours_many(too_many(32769), 1), ValueError,
                                        "maps must have fewer than 2^30 cells per plane, (height -1) x (width -1), not "),
    "contours of another byte order": (lambda: cernita.find_contours_many(real.astype(">f4"), 1), TypeError,
                                       "maps must be in this machine's byte order, not '>f4'"),
    "contours of a record's field": (lambda: cernita.find_contours_many(odd, 1), ValueError,
                                     "maps must have strides of whole elements; maps.copy() has"),
    "layout": (lambda: cernita.find_contours_many(rgb, 1, layout="whc"), ValueError, "layout must be hwc or chw, not 'whc'"),
    "level": (lambda: cernita.find_contours_many(rgb, [1, 2]), ValueError,
              "levels must be one number, or one for each of 3 planes, not of shape (2,)"),
    "levels of a batch": (lambda: cernita.find_contours_many(np.stack([rgb, rgb]), [1, 2]), ValueError,
                          "levels must be one number, or one for each of 3 planes, or a row of them for each of 2 "),
    "level of text": (lambda: cernita.find_contours_many(rgb, "high"), TypeError, "levels must be numbers, not 'high'"),
    "level of a number's text": (lambda: cernita.find_contours_many(rgb, "1"), TypeError, "levels must be numbers, not '1'"),
    "levels of texts": (lambda: cernita.find_contours_many(rgb, ["1", "2", "3"]), TypeError,
                        "levels must be numbers, not ['1', '2', '3']"),
    "no level": (lambda: cernita.find_contours_many(rgb, None), TypeError, "levels must be numbers, not None"),
    "a level that is none": (lambda: cernita.find_contours_many(rgb, [1, None, 2]), TypeError,
                             "levels must be numbers, not [1, None, 2]"),
    "complex levels": (lambda: cernita.find_contours_many(rgb, np.ones(3, "c8")), TypeError,
                       "levels must be real numbers, not complex64; levels.real is"),
    "levels of unequal rows": (lambda: cernita.find_contours_many(np.stack([rgb, rgb]), [[1, 2, 3], [1]]), TypeError,
                               "levels must be numbers, not [[1, 2, 3], [1]]"),
    "level below a closed border": (lambda: cernita.find_contours_many(grey, -1, border="closed"), ValueError,
                                    "levels must be at least 0 with a closed border"),
    "connectivity": (lambda: cernita.find_contours_many(grey, 1, fully_connected="8"), ValueError,
                     "fully_connected must be low or high, not '8'"),
    "connectivity as a number": (lambda: cernita.find_contours_many(grey, 1, fully_connected=8), TypeError,
                                 "fully_connected must be low or high, not 8"),
    "orientation": (lambda: cernita.find_contours_many(grey, 1, positive_orientation="left"), ValueError,
                    "positive_orientation must be low or high, not 'left'"),
    "border of contours": (lambda: cernita.find_contours_many(grey, 1, border="wrap"), ValueError,
                           "border must be open or closed, not 'wrap'"),
    "mask": (lambda: cernita.find_contours_many(grey, 1, mask=grey[1:]), ValueError,
             "mask must have the height and width of maps, (8, 12), not (7, 12)"),
    "mask of text": (lambda: cernita.find_contours_many(grey, 1, mask="x"), TypeError, "mask must be numbers, not 'x'"),
    "backend": (lambda: cernita.find_contours_many(grey, 1, backend="gpu"), ValueError, f"backend must be {BACKENDS}, not 'gpu'"),
    "missing backend": (lambda: cernita.missing("gpu"), ValueError, f"backend must be {BACKENDS}, not 'gpu'"),
    "threads": (lambda: cernita.find_contours_many(grey, 1, threads=0), ValueError, "threads must be from 1 to 1024, not 0"),
    "threads of text": (lambda: cernita.find_contours_many(grey, 1, threads="2"), TypeError,
                        "threads must be a whole number, not '2'"),
    "plane": (lambda: cernita.find_contours_many(grey, 1).polylines("rot"), TypeError,
              "plane must be a whole number, not 'rot'"),
    "plane of another picture": (lambda: cernita.find_contours_many(rgb, 1).polylines(3), ValueError,
                                 "plane must be from 0 to 2, not 3"),
    "plane of another batch": (lambda: cernita.find_contours_many(np.stack([rgb, rgb]), 1).polylines(plane=99), ValueError,
                               "plane must be from 0 to 5, not 99"),
    "plane of an only one": (lambda: cernita.find_contours_many(grey, 1).polylines(1), ValueError,
                             "plane must be 0, not 1"),

    "image of a list": (lambda: cernita.find_contours([[1, 2], [3, 4]]), TypeError,
                        "image must be a numpy array, not list"),
    "image of planes": (lambda: cernita.find_contours(rgb), ValueError, "image must have 2 dimensions, not 3"),
    "image of a row": (lambda: cernita.find_contours(grey[:1]), ValueError,
                       "image must be at least 2x2, not of shape (1, 12)"),
    "level of no number": (lambda: cernita.find_contours(grey, "high"), TypeError, "level must be a number, not 'high'"),
    "fully_connected": (lambda: cernita.find_contours(grey, 1, 8), ValueError,
                        'fully_connected must be "high" or "low", not 8'),
    "positive_orientation": (lambda: cernita.find_contours(grey, 1, "low", "left"), ValueError,
                             'positive_orientation must be "high" or "low", not \'left\''),
    "mask of an image": (lambda: cernita.find_contours(grey, 1, mask=grey[1:] > 0), ValueError,
                         "mask must have the same shape as image, (8, 12), not (7, 12)"),
    "mask of bytes": (lambda: cernita.find_contours(grey, 1, mask=grey), TypeError,
                      "mask must be a binary array, of bool, not of uint8"),
    "mask of a list": (lambda: cernita.find_contours(grey, 1, mask=[1]), TypeError,
                       "mask must be a numpy array, not list"),

    "morphology of float16": (lambda: cernita.morphology(real.astype("f2"), "open"), TypeError,
                              f"array must be of {PLAIN}, not float16; array.astype('float32') makes it one"),
    "operation": (lambda: cernita.morphology(grey, "opening"), ValueError,
                  "operation must be erode, dilate, open, close, gradient, tophat or blackhat, not 'opening'"),
    "element": (lambda: cernita.morphology(grey, "open", "circle"), ValueError,
                "element must be rect, disk or cross, not 'circle'"),
    "element without members": (lambda: cernita.morphology(grey, "open", np.zeros((3, 3))), ValueError,
                                "element must be rect, disk or cross, or an array of 2 dimensions with sides up to"),
    "element of a line": (lambda: cernita.morphology(grey, "open", [1, 1]), ValueError, "element must be rect"),
    "element that is too large": (lambda: cernita.morphology(grey, "open", np.ones((1, 5000))), ValueError,
                                  "element must be rect"),
    "element of nothing": (lambda: cernita.morphology(grey, "open", None), TypeError,
                           "element must be rect, disk or cross, or an array of 2 dimensions, not None"),
    "size": (lambda: cernita.morphology(grey, "open", "rect", 0), ValueError, "size must be from 1 to 4095, not 0"),
    "size of three": (lambda: cernita.morphology(grey, "open", "rect", (1, 2, 3)), ValueError,
                      "size must be N or (width, height), not (1, 2, 3)"),
    "size as a fraction": (lambda: cernita.morphology(grey, "open", "rect", 2.5), TypeError,
                           "size must be a whole number, not 2.5"),
    "heights of another shape": (lambda: cernita.morphology(grey, "open", "rect", 3, heights=[1, 2]), ValueError,
                                 "heights must be of the element's shape, (3, 3), not (2,)"),
    "heights of bytes": (lambda: cernita.morphology(grey, "open", "rect", 1, heights=[[.5]]), ValueError,
                         "heights must be whole numbers from -255 to 255 where array is of uint8"),
    "infinite heights": (lambda: cernita.morphology(real, "open", "rect", 1, heights=[[np.inf]]), ValueError,
                         "heights must be finite"),
    "out that is not an array": (lambda: cernita.morphology(grey, "open", out=[]), TypeError,
                             "out must be a numpy array, not list"),
    "out of another type": (lambda: cernita.morphology(grey, "open", out=real), TypeError,
                            "out must be of uint8, not float32"),
    "out of another size": (lambda: cernita.morphology(grey, "open", out=grey[1:].copy()), ValueError,
                            "out must be of shape (8, 12), not (7, 12)"),
    "out that is the input": (lambda: cernita.morphology(grey, "open", out=grey), ValueError,
                              "out must not share memory with the array that is read"),
    "out that cannot be written": (lambda: cernita.morphology(grey, "open", out=read_only), ValueError,
                                   "out must be writeable"),
    "an unknown argument": (lambda: cernita.morphology(grey, "open", thread=2), TypeError,
                            "morphology() got an unexpected keyword argument 'thread'"),

    "convolve of uint16": (lambda: cernita.convolve(grey.astype("u2"), np.ones((3, 3))), TypeError,
                           f"array must be of {PLAIN}, not uint16"),
    "kernel of texts": (lambda: cernita.convolve(grey, [["1"]]), TypeError, "kernel must be numbers, not [['1']]"),
    "kernel by name": (lambda: cernita.convolve(grey, "gaussian"), TypeError, "kernel must be numbers, not 'gaussian'"),
    "kernel of one dimension": (lambda: cernita.convolve(grey, [1, 2]), ValueError,
                                "kernel must have 2 dimensions and 1 to 16384 weights, not the shape (2,)"),
    "kernel that is too large": (lambda: cernita.convolve(grey, np.ones((200, 200))), ValueError,
                                 "kernel must have 2 dimensions and 1 to 16384 weights"),
    "kernel of nothing": (lambda: cernita.convolve(grey, np.ones((0, 3))), ValueError, "kernel must have 2 dimensions"),
    "kernel with NaN": (lambda: cernita.convolve(grey, [[np.nan]]), ValueError, "kernel must be of finite weights"),
    "border of convolve": (lambda: cernita.convolve(grey, [[1]], border="mirror"), ValueError,
                           "border must be replicate, reflect, wrap or zero, not 'mirror'"),

    "haar of float64": (lambda: cernita.haar(grey.astype("f8"), 1), TypeError,
                        f"array must be of {PLAIN}, not float64"),
    "levels": (lambda: cernita.haar(grey, 5), ValueError, "levels must be from 0 to 4, not 5"),
    "levels as a fraction": (lambda: cernita.haar(grey, 1.5), TypeError, "levels must be a whole number, not 1.5"),
    "direction": (lambda: cernita.haar(grey, 1, direction="back"), ValueError,
                  "direction must be forward, inverse or denoise, not 'back'"),
    "threshold": (lambda: cernita.haar(grey, 1, threshold=-1), ValueError, "threshold must be at least 0, not -1.0"),
    "threshold of NaN": (lambda: cernita.haar(grey, 1, threshold=np.nan), ValueError, "threshold must be at least 0"),
    "threshold of a number's text": (lambda: cernita.haar(grey, 1, threshold="1"), TypeError,
                                     "threshold must be a number, not '1'"),
    "threshold of text": (lambda: cernita.haar(grey, 1, threshold="low"), TypeError,
                          "threshold must be a number, not 'low'"),
    "unit": (lambda: cernita.haar(grey, 1, unit=255), TypeError, "unit must be True or False, not 255"),
    "out of bytes": (lambda: cernita.haar(grey, 1, out=np.empty_like(grey)), TypeError,
                     "out must be of float32, not uint8"),

    "ranklet of float32": (lambda: cernita.ranklet(real, 4), TypeError,
                           "array must be of uint8 or uint16, not float32"),
    "cure of float32": (lambda: cernita.ranklet(real, 4), TypeError,
                        "array must be of uint8 or uint16, not float32; scaled to 0 to 65535, "
                        "array.astype('uint16') makes it one"),
    "ranklet of planes": (lambda: cernita.ranklet(rgb, 4), ValueError, "array must have 2 dimensions, not 3"),
    "odd window": (lambda: cernita.ranklet(grey, 3), ValueError, "window must have even sides, not 3 x 3"),
    "small window": (lambda: cernita.ranklet(grey, 0), ValueError, "window must be from 2 to"),
    "large window": (lambda: cernita.ranklet(grey, (8, 10)), ValueError,
                     "window must fit into array, 12 wide and 8 high, not be 8 wide and 10 high"),
    "window of text": (lambda: cernita.ranklet(grey, "4x4"), TypeError, "window must be a whole number, not '4x4'"),
    "out of ranklets": (lambda: cernita.ranklet(grey, 4, out=real), ValueError, "out must have 3 dimensions, not 2"),

    "exponent": (lambda: cernita.diamond_square(21), ValueError, "exponent must be from 0 to 20, not 21"),
    "seed": (lambda: cernita.diamond_square(3, -1), ValueError, "seed must be from 0 to 18446744073709551615, not -1"),
    "roughness": (lambda: cernita.diamond_square(3, roughness=2), ValueError, "roughness must be from 0 to 1, not 2.0"),
    "dtype": (lambda: cernita.diamond_square(3, dtype="float64"), ValueError,
              "dtype must be uint8 or float32, not 'float64'"),
    "dtype that is none": (lambda: cernita.diamond_square(3, dtype="u8x"), ValueError,
                           "dtype must be uint8 or float32, not 'u8x'"),
    "x": (lambda: cernita.diamond_square(3, x=9), ValueError, "x must be from 0 to 8, not 9"),
    "y": (lambda: cernita.diamond_square(3, y=-1), ValueError, "y must be from 0 to 8, not -1"),
    "size of the field": (lambda: cernita.diamond_square(3, x=5, size=(5, 9)), ValueError,
                          "size must fit into the field of side 9 from x 5, y 0 on, not be 5 wide and 9 high"),
    "size of out": (lambda: cernita.diamond_square(3, size=2, out=grey), ValueError,
                    "out must be of size, 2 high and 2 wide, not of shape (8, 12)"),
    "out of the field": (lambda: cernita.diamond_square(3, out=grey), ValueError,
                         "out must fit into the field of side 9 from x 0, y 0 on, not be 12 wide and 8 high"),
    "out of float16": (lambda: cernita.diamond_square(3, out=np.empty((2, 2), "f2")), TypeError,
                       f"out must be of {PLAIN}, not float16"),
}

wrong = wrong_errors(CASES)

# What must go on: numpy's own whole numbers, an array of two sides, a view without a copy, overlapping rows apart.
both = np.zeros((8, 24), "u1")
try:
    cernita.morphology(grey, "open", "rect", np.int64(3), threads=np.int32(2))
    cernita.morphology(grey, "open", "rect", np.array([3, 1]))
    cernita.morphology(both[:, ::2], "open", out=both[:, 1::2])
    cernita.find_contours_many(rgb[::-1, ::2], (1, np.nan, 2), mask=np.ones((8, 6), bool), backend="auto")
    cernita.find_contours_many(rgb > 0, .5)
    cernita.find_contours_many(rgb, [fractions.Fraction(1, 2), 1, True])
    if cernita.find_contours_many(rgb, np.nan).polylines(2) or cernita.find_contours_many(grey, np.nan).polylines(0):
        wrong.append("what is right: contours of a plane that was left out")
    cernita.find_contours_many(grey[:1, :1], np.float32(1), border="closed")
    cernita.haar(grey, 2, threshold=np.inf, direction="denoise")
    cernita.diamond_square(2, 2**64 - 1, dtype=np.float32, size=(2, 3))
except Exception as fault:
    wrong.append(f"what is right: {type(fault).__name__}: {fault}")

print("\n".join(wrong) if wrong else "all named")
