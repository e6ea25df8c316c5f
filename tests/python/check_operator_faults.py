"""What the functions under their peers' names say of wrong arguments, each in turn: check_operator_faults.py

Prints what was not refused, or not in these words.
"""
import numpy as np

import cernita
from cernita import opencv as cv
from wrong_errors import wrong_errors

grey = np.zeros((8, 12), "u1")
rgb = np.zeros((8, 12, 3), "u1")
real = np.zeros((8, 12), "f4")
tenths = np.full((8, 12), .1)
box = np.ones((3, 3), "u1")
coeffs = cernita.wavedec2(real, "haar", level=2)


class OnADevice:
    """What CuPy's arrays do when NumPy asks for their contents."""
    __cuda_array_interface__ = {}

    def __array__(self, *_):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")


# What is called, with which error, and how that begins.
CASES = {
    "what OpenCV alone has": (lambda: cernita.opencv.GaussianBlur, AttributeError,
                              "cernita.opencv has no 'GaussianBlur'; import from cv2 what it lacks"),
    "what scipy alone has": (lambda: cernita.ndimage.label, AttributeError, "cernita.ndimage has no 'label'"),
    "what PyWavelets alone has": (lambda: cernita.wavelets.threshold, AttributeError,
                                  "cernita.wavelets has no 'threshold'"),
    "no element": (lambda: cernita.grey_erosion(grey), ValueError, "size, footprint or structure must be given"),
    "a size of 0": (lambda: cernita.grey_opening(grey, 0), ValueError, "size must be from 1 to 4095, not 0"),
    "half a size": (lambda: cernita.grey_opening(grey, 1.5), TypeError, "size must be a whole number, not 1.5"),
    "three sizes": (lambda: cernita.grey_opening(grey, (3, 3, 3)), ValueError,
                    "size must be one value, or one for each of 2 dimensions of input, not (3, 3, 3)"),
    "a size in depth": (lambda: cernita.grey_opening(rgb, 3), ValueError,
                        "size must span 1 of the first or the last of three dimensions"),
    "an empty footprint": (lambda: cernita.grey_erosion(grey, footprint=[[0, 0]]), ValueError,
                           "footprint must have a member that is not 0"),
    "a line as footprint": (lambda: cernita.grey_erosion(grey, footprint=[1, 1]), ValueError,
                            "footprint must have 2 dimensions, as input has, not the shape (2,)"),
    "another structure": (lambda: cernita.grey_erosion(grey, footprint=box, structure=[[1.]]), ValueError,
                          "structure must be of footprint's shape, (3, 3), not (1, 1)"),
    "text as structure": (lambda: cernita.grey_erosion(grey, structure="disk"), TypeError,
                          "structure must be numbers, not 'disk'"),
    "a tenth": (lambda: cernita.grey_erosion(real, structure=[[.1]]), ValueError,
                "structure must be finite and exact in float32, in which is computed; structure.astype('float32') is"),
    "fractions of bytes": (lambda: cernita.grey_erosion(grey, structure=[[.5]]), ValueError,
                           "structure must hold whole numbers up to 2^23 where input is of uint8; input.astype"),
    "sums beyond bytes": (lambda: cernita.grey_erosion(grey, structure=[[1]]), ValueError,
                          "structure must not lead beyond the values of input's type, uint8, as to -1 or -1: scipy's"),
    "a structure on bool": (lambda: cernita.white_tophat(grey > 0, structure=box), TypeError,
                            "input must not be bool where structure is given: scipy's values wrap around within bytes; "
                            "footprint=structure"),
    "a gradient of bool": (lambda: cernita.morphological_gradient(grey > 0, 3), TypeError,
                           "input must not be bool, of which NumPy has no difference; input.view('uint8') has one"),
    "a mode": (lambda: cernita.grey_erosion(grey, 3, mode="replicate"), ValueError,
               "mode must be reflect, constant, nearest, mirror, wrap, grid-mirror, grid-constant or grid-wrap, not"),
    "modes of a cross": (lambda: cernita.grey_erosion(grey, footprint=[[0, 1]], mode=["wrap", "wrap"]), ValueError,
                         "mode must be one name where footprint or structure is not a full rectangle"),
    "cval beyond bytes": (lambda: cernita.grey_dilation(grey, 3, mode="constant", cval=300), ValueError,
                          "cval must be a value of input's type, uint8, not 300.0"),
    "text as cval": (lambda: cernita.grey_dilation(grey, 3, mode="constant", cval="a"), TypeError,
                     "cval must be a number, not 'a'"),
    "a cval that float32 rounds": (lambda: cernita.grey_erosion(real.astype("f8"), 3, mode="constant", cval=.1),
                                   ValueError, "cval must be exact in float32 where input or output is float64 or "),
    "an origin outside": (lambda: cernita.grey_erosion(grey, 3, origin=2), ValueError,
                          "origin must be from -1 to 1, not 2"),
    "float64 that is not exact": (lambda: cernita.grey_erosion(tenths, 3), TypeError,
                                  "input must be uint8 or float32, or of values that float32 holds exactly, which some "
                                  "values of float64 are not: input.astype('float32') rounds them, scipy.ndimage"),
    "large integers": (lambda: cernita.grey_erosion(np.array([1 << 25]), 3), TypeError,
                       "input must be uint8 or float32, or of values that float32 holds exactly, which values beyond "),
    "complex": (lambda: cernita.grey_erosion(real.astype("c8"), 3), TypeError,
                "input must be bool, integers, float32 or float64, not complex64"),
    "four dimensions": (lambda: cernita.grey_erosion(grey[None, None], 3), ValueError,
                        "input must have 1 to 3 dimensions, not 4; scipy.ndimage takes any number"),
    "nothing": (lambda: cernita.grey_erosion(grey[:0], 3), ValueError, "input must not be empty"),
    "another output": (lambda: cernita.grey_erosion(grey, 3, output=real[:2]), ValueError,
                       "output must be of input's shape, (8, 12), not (2, 12)"),
    "a narrow output": (lambda: cernita.grey_erosion(real, 3, output=grey), TypeError,
                        "output must be of a type that holds all values of input's, float32, not uint8; .astype()"),
    "a word as output": (lambda: cernita.grey_erosion(grey, 3, output="picture"), TypeError,
                         "output must be an array or a type, not 'picture'"),
    "scipy's of a device": (lambda: cernita.grey_erosion(OnADevice(), 3), TypeError,
                            "input must be an array in host memory, not OnADevice on a device; numpy.asarray("),
    "a list": (lambda: cv.erode([[1, 2]], box), TypeError, "src must be a numpy array, not list"),
    "int32": (lambda: cv.dilate(grey.astype("i4"), box), TypeError,
              "src must be of uint8, uint16, int16, float32 or float64, not int32; src.astype('float32')"),
    "OpenCV's float64": (lambda: cv.dilate(tenths, box), TypeError,
                         "src must be of values that float32 holds exactly, which some of this float64 are not"),
    "an empty kernel": (lambda: cv.erode(grey, 0 * box), ValueError, "kernel must have a member that is not 0"),
    "a kernel in depth": (lambda: cv.erode(grey, box[None]), ValueError,
                          "kernel must have 2 dimensions with sides from 1 to 4095, not the shape (1, 3, 3)"),
    "an anchor outside": (lambda: cv.erode(grey, box, anchor=(3, 0)), ValueError, "anchor must be from -1 to 2, not 3"),
    "half an anchor": (lambda: cv.erode(grey, box, anchor=1), ValueError, "anchor must be (x, y), not 1"),
    "iterations": (lambda: cv.erode(grey, box, iterations=-1), ValueError, "iterations must be from 0 to 4095, not -1"),
    "a border": (lambda: cv.erode(grey, box, borderType=3), ValueError,
                 "borderType must be BORDER_CONSTANT, BORDER_REPLICATE, BORDER_REFLECT or BORDER_REFLECT_101, not 3; "),
    "a border's value": (lambda: cv.erode(rgb, box, borderValue=7), ValueError,
                         "borderValue must have a value for each of 3 channels, not be 7: OpenCV"),
    "an operation by name": (lambda: cv.morphologyEx(grey, "open", box), TypeError,
                             "op must be a whole number, not 'open'"),
    "hit and miss": (lambda: cv.morphologyEx(grey, 7, box), ValueError,
                     "op must be MORPH_ERODE to MORPH_BLACKHAT; MORPH_HITMISS is in cv2"),
    "another destination": (lambda: cv.erode(grey, box, real), ValueError,
                            "dst must be a writeable, aligned array of shape (8, 12) and type uint8, not float32 (8"),
    "half a size of an element": (lambda: cv.getStructuringElement(0, 3), ValueError,
                                  "ksize must be (width, height), not 3"),
    "a shape": (lambda: cv.getStructuringElement(3, (3, 3)), ValueError, "shape must be from 0 to 2, not 3"),
    "a depth": (lambda: cv.filter2D(grey, 6, box), ValueError,
                "ddepth must be -1, 0 (uint8), 2 (uint16), 3 (int16) or 5 (float32) where src is of uint8, not 6"),
    "filter2D of float64": (lambda: cv.filter2D(tenths, -1, box), TypeError,
                            "src must be of uint8, uint16, int16 or float32, not float64; src.astype('float32') "
                            "makes it one, cv2.filter2D has sums in float64"),
    "an infinite weight": (lambda: cv.filter2D(grey, -1, [[np.inf]]), ValueError, "kernel must be of finite weights"),
    "text as delta": (lambda: cv.filter2D(grey, -1, box, delta="a"), TypeError, "delta must be a number, not 'a'"),
    "another wavelet": (lambda: cernita.dwt2(real, "db2"), ValueError,
                        "wavelet must be 'haar', which 'db1' is as well, not 'db2'; pywt.dwt2 has others"),
    "wavelets": (lambda: cernita.wavedec2(real, ("haar", "db2")), ValueError, "wavelet must be 'haar', which 'db1'"),
    "a wavelets' mode": (lambda: cernita.dwt2(real, "haar", "mirror"), ValueError,
                         "mode must be zero, symmetric, constant, smooth, periodic, periodization, reflect, "
                         "antisymmetric or antireflect, not 'mirror'"),
    "one axis": (lambda: cernita.dwt2(real, "haar", axes=1), TypeError, "axes must be two numbers, not 1"),
    "three axes": (lambda: cernita.dwt2(real, "haar", axes=(0, 1, 1)), ValueError,
                   "axes must be two numbers, not (0, 1, 1)"),
    "the same axis": (lambda: cernita.dwt2(real, "haar", axes=(1, -1)), ValueError,
                      "axes must be two different ones, not (1, -1); pywt.dwt2 may transform one twice"),
    "an axis outside": (lambda: cernita.dwt2(real, "haar", axes=(0, 2)), ValueError,
                        "axes must be from -2 to 1, not 2"),
    "a line": (lambda: cernita.wavedec2(real[0], "haar"), ValueError,
               "data must have at least 2 dimensions, not 1; pywt.dwt and pywt.wavedec take one"),
    "no data": (lambda: cernita.dwt2(real[:0], "haar"), ValueError, "data must not be empty"),
    "words": (lambda: cernita.dwt2(np.array([["a", "b"]]), "haar"), TypeError, "data must be numbers, not <U1"),
    "PyWavelets' of a device": (lambda: cernita.dwt2(OnADevice(), "haar"), TypeError,
                                "data must be an array in host memory, not OnADevice on a device; numpy.asarray("),
    "a level": (lambda: cernita.wavedec2(real, "haar", level=-1), ValueError, "level must be from 0 to 64, not -1"),
    "one coefficient": (lambda: cernita.idwt2(real, "haar"), ValueError,
                        "coeffs must be (averages, (horizontal, vertical, diagonal details))"),
    "two details": (lambda: cernita.waverec2([real, (real, real)], "haar"), ValueError,
                    "coeffs: Unexpected detail coefficient type: tuple; must be tuples of"),
    "details of two sizes": (lambda: cernita.waverec2([real, (real, real[1:], None)], "haar"), ValueError,
                             "coeffs must be of one shape in each level, not of (7, 12) and (8, 12)"),
    "another average": (lambda: cernita.waverec2([real, *coeffs[1:]], "haar"), ValueError,
                        "coeffs must be of one shape in each level, not of (2, 3) and (8, 12)"),
    "details of a batch": (lambda: cernita.waverec2([real, (real[None],) * 3], "haar"), ValueError,
                           "coeffs must all have the same number of dimensions"),
    "nothing but None": (lambda: cernita.idwt2((None, (None, None, None)), "haar"), ValueError,
                         "coeffs must not all be None"),
    "no coefficients": (lambda: cernita.waverec2([], "haar"), ValueError, "coeffs must be a sequence of averages"),
}

faults = wrong_errors(CASES)
print("\n".join(faults) if faults else "all named")
