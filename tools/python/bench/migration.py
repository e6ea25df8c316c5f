#!/usr/bin/python3
"""The functions under their peers' names against their peers, call included: migration.py [FUNCTION…]

Prints the table of ../MIGRATION.md. Each row: the same call of the peer and of cernita, on a picture of 511 x 95 (a view)
and of 1024 x 1024, with all arguments left out at their defaults, one thread each, timed alternately after the results
have been compared; then cernita's with a thread per core. FUNCTION: only rows of these. Exit 1 if a result differs.
"""
import inspect
import os
import sys

# Before OpenMP is loaded: threads that wait busily would be timed as the peer's.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import tree
import packages
packages.need("cv2", "numpy", "pywt", "scipy", "skimage")

import cv2
import numpy as np
import pywt
import scipy.ndimage
import skimage
import skimage.measure

import cernita
from cases import disk, time_alternately
from timing import processor

SIZES = ((95, 511), (1024, 1024))
rng = np.random.default_rng(7)


def smooth(shape):
    """A map with some contours at 0.5."""
    noise = scipy.ndimage.gaussian_filter(rng.standard_normal(shape), 4, mode="wrap")
    return (.5 + noise / (8 * noise.std())).astype("f4")


def rows():
    """(call as text, type, the peer's function, ours, further arguments, named ones, tolerance)"""
    def ndimage(name, text, kind="u1", **named):
        return f"{name}(picture, {text})", kind, getattr(scipy.ndimage, name), getattr(cernita, name), (), named, 0

    def opencv(text, kind, element, op=None):
        name = "filter2D" if op is None else "morphologyEx"
        return (f"{name}(picture, {text})", kind, getattr(cv2, name), getattr(cernita, name),
                (-1 if op is None else op, element), {}, 0 if op is not None else 1 if kind == "u1" else 1e-5)

    gaussian = np.outer(cv2.getGaussianKernel(5, -1), cv2.getGaussianKernel(5, -1)).astype("f4")
    random = (rng.standard_normal((7, 7)) / 7).astype("f4")
    yield "find_contours(picture, 0.5)", "f4", skimage.measure.find_contours, cernita.find_contours, (.5,), {}, 0
    yield ndimage("grey_erosion", "size=(3, 3)", size=(3, 3))
    yield ndimage("grey_opening", "size=(15, 15)", size=(15, 15))
    yield ndimage("grey_opening", "footprint=disk of 15", footprint=disk(15))
    yield ndimage("grey_closing", "structure=9 × 9 heights", "f4", structure=rng.standard_normal((9, 9)).astype("f4"))
    yield ndimage("grey_dilation", "size=5, mode='wrap'", size=5, mode="wrap")
    yield ndimage("white_tophat", "size=(31, 31)", "f4", size=(31, 31))
    yield opencv("MORPH_OPEN, 3 × 3", "u1", np.ones((3, 3), "u1"), cv2.MORPH_OPEN)
    yield opencv("MORPH_OPEN, ellipse of 15", "u1", cv2.getStructuringElement(2, (15, 15)), cv2.MORPH_OPEN)
    yield opencv("MORPH_GRADIENT, 31 × 31", "u1", np.ones((31, 31), "u1"), cv2.MORPH_GRADIENT)
    yield opencv("-1, 5 × 5 gaussian", "u1", gaussian)
    yield opencv("-1, 7 × 7", "f4", random)
    yield "dwt2(picture, 'haar')", "f4", pywt.dwt2, cernita.dwt2, ("haar",), {}, 1e-5
    yield "wavedec2(picture, 'haar', level=3)", "f4", pywt.wavedec2, cernita.wavedec2, ("haar",), {"level": 3}, 1e-5
    yield "wavedec2(picture, 'haar', level=3)", "u1", pywt.wavedec2, cernita.wavedec2, ("haar",), {"level": 3}, 1e-9
    yield "wavedec2(picture, 'haar', level=3)", "f8", pywt.wavedec2, cernita.wavedec2, ("haar",), {"level": 3}, 1e-12


def picture(function, kind, shape):
    if function == "find_contours":
        return smooth(shape)
    return rng.integers(0, 256, shape, kind) if kind == "u1" else rng.random(shape).astype(kind)


def is_same(result, wanted, tolerance):
    if isinstance(wanted, (list, tuple)):
        return len(result) == len(wanted) and all(is_same(a, b, tolerance) for a, b in zip(result, wanted))
    return result.shape == wanted.shape and (
        np.array_equal(result, wanted) if not tolerance else
        np.allclose(result.astype("f8"), wanted.astype("f8"), rtol=tolerance if tolerance < 1 else 0, atol=tolerance))


def show(ms):
    return f"{ms:.3f}" if ms < 10 else f"{ms:.1f}"


def main():
    cv2.setNumThreads(1)
    only, fine, cores = sys.argv[1:], True, len(os.sched_getaffinity(0))
    print(f"Times in ms; {processor()}, {cores} cores; scikit-image {skimage.__version__}, scipy {scipy.__version__}, "
          f"OpenCV {cv2.__version__}, PyWavelets {pywt.__version__}.\n")
    print(f"| call | type | size | peer | ours | peer / ours | ours, {cores} threads |\n|---|---|---|---|---|---|---|")
    for text, kind, theirs, ours, arguments, named, tolerance in rows():
        if only and text.split("(")[0] not in only:
            continue
        for shape in SIZES:
            array = picture(text.split("(")[0], kind, shape)
            if not is_same(ours(array, *arguments, **named), theirs(array, *arguments, **named), tolerance):
                print(f"{text} of {kind} {shape} differs from the peer", file=sys.stderr)
                fine = False
            peer_ms, ms = time_alternately(lambda: theirs(array, *arguments, **named),
                                           lambda: ours(array, *arguments, **named), budget_s=2)
            threads_ms = "–"  # find_contours() takes no number of threads
            if "threads" in inspect.signature(ours).parameters:
                named["threads"] = None
                threads_ms = show(time_alternately(lambda: None, lambda: ours(array, *arguments, **named), 1)[1])
                del named["threads"]
            print(f"| `{text}` | {array.dtype} | {shape[1]} × {shape[0]} | {show(peer_ms)} | {show(ms)} | "
                  f"{peer_ms / ms:.1f} | {threads_ms} |", flush=True)
    sys.exit(not fine)


if __name__ == "__main__":
    main()
