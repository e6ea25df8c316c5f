#!/usr/bin/python3
"""Writes morphology.bin beside itself: pictures, elements, and what scipy.ndimage makes of them.

test_morphology_golden.c reads the file (its layout: read_case() there) and asks the same of every operator.
Run it only to add cases: the file is kept, so that the tests need no Python.

scipy has no border of which nothing counts, but a constant one does as much when its value never wins. It anchors an
element at (size // 2), ours; when it dilates it reflects the element, and moves the anchor of even sides by one to fit.
"""
import pathlib
import struct

import numpy as np
from scipy import ndimage
from skimage.morphology import disk

TYPES = {"uint8": 1, "float32": 3}
OPERATIONS = ("erode", "dilate", "open", "close", "gradient", "tophat", "blackhat")
SHAPES = ("rect", "disk", "cross", "picture")

rng = np.random.default_rng(20240609)
cases = []


def erode(f, members, heights):
    """In f8, where the values of both types, their sums and differences (chosen so) are exact."""
    structure = np.where(members, heights, 0.0)
    return ndimage.grey_erosion(f, footprint=members, structure=structure, mode="constant", cval=np.inf)


def dilate(f, members, heights):
    structure = np.where(members, heights, 0.0)
    return ndimage.grey_dilation(f, footprint=members, structure=structure, mode="constant", cval=-np.inf)


def expected(operation, f, members, heights):
    u8 = f.dtype == np.uint8
    least, most = (0, 255) if u8 else (-np.inf, np.inf)

    def step(function, g):
        return np.clip(function(g, members, heights), least, most)

    f = f.astype("f8")
    result = {
        "erode": lambda: step(erode, f),
        "dilate": lambda: step(dilate, f),
        "open": lambda: step(dilate, step(erode, f)),
        "close": lambda: step(erode, step(dilate, f)),
        "gradient": lambda: step(dilate, f) - step(erode, f),
        "tophat": lambda: f - step(dilate, step(erode, f)),
        "blackhat": lambda: step(erode, step(dilate, f)) - f,
    }[operation]()
    return np.clip(result, least, most)


def members_of(shape, size):
    width, height = size
    if shape == "rect":
        return np.ones((height, width), bool)
    if shape == "cross":
        result = np.zeros((height, width), bool)
        result[height // 2, :] = result[:, width // 2] = True
        return result
    assert width == height and width % 2 == 1, "of disks skimage has the odd ones alone"
    return disk(width // 2).astype(bool)


def add(f, operation, shape, size=None, members=None, heights=None, layout="hwc"):
    f = f if f.ndim == 3 else f[:, :, None]
    if members is None:
        members = members_of(shape, size)
    height, width = members.shape
    levels = np.zeros((height, width)) if heights is None else heights
    result = np.stack([expected(operation, f[:, :, plane], members, levels) for plane in range(f.shape[2])], 2)
    assert np.array_equal(result, result.astype(f.dtype))
    order = (lambda a: a) if layout == "hwc" else (lambda a: np.moveaxis(a, 2, 0))
    cases.append(b"".join([
        struct.pack("<10i", *f.shape, TYPES[f.dtype.name], ("chw", "hwc").index(layout) + 1,
                    OPERATIONS.index(operation), SHAPES.index(shape), width, height, heights is not None),
        members.astype("u1").tobytes(), b"" if heights is None else heights.astype("<f4").tobytes(),
        np.ascontiguousarray(order(f)).tobytes(), np.ascontiguousarray(order(result.astype(f.dtype))).tobytes()]))


def picture(kind, *shape):
    """f4 values are multiples of 1/8 below 2^10, so that no sum or difference rounds."""
    if kind == "u8":
        return rng.integers(0, 256, shape, "u1")
    return (rng.integers(-4000, 4000, shape) / 8).astype("f4")


def add_all_operations():
    for kind in ("u8", "f4"):
        lopsided = np.array([[1, 1, 0]], bool)
        hook = np.array([[0, 1, 0, 0], [1, 1, 0, 1], [1, 0, 0, 0]], bool)
        for operation in OPERATIONS:
            add(picture(kind, 9, 13), operation, "rect", (3, 3))
            add(picture(kind, 8, 11, 3), operation, "rect", (4, 2))
            add(picture(kind, 12, 15), operation, "disk", (5, 5))
            add(picture(kind, 7, 10, 2), operation, "cross", (4, 3), layout="chw")
            add(picture(kind, 6, 9), operation, "picture", members=lopsided)
            add(picture(kind, 9, 8), operation, "picture", members=hook)
            members = rng.random((3, 5)) < .6
            members[1, 3] = True
            for each in (members, np.ones((2, 4), bool)):
                heights = rng.integers(-60, 60, each.shape).astype("f4") * (1 if kind == "u8" else np.float32(.125))
                add(picture(kind, 10, 9), operation, "picture", members=each, heights=heights)
                add(picture(kind, 5, 7, 2), operation, "picture", members=each, heights=heights)


def add_sizes():
    for kind in ("u8", "f4"):
        for k in (1, 2, 3, 5, 8, 11, 12, 17, 21) if kind == "u8" else (2, 3, 12):
            add(picture(kind, 25, 33), "open", "rect", (k, k))
            add(picture(kind, 14, 20, 2), "close", "cross", (k, max(1, k - 1)))
        for k in (3, 7, 9, 11, 13, 21, 25) if kind == "u8" else (5, 11):
            add(picture(kind, 27, 35), "open", "disk", (k, k))
            add(picture(kind, 16, 12, 3), "dilate", "disk", (k, k))
        for width, height in ((1, 9), (9, 1), (40, 3), (3, 40), (61, 50), (2, 1), (1, 2)):
            add(picture(kind, 13, 17), "erode", "rect", (width, height))
            add(picture(kind, 13, 17), "open", "rect", (width, height))
        for share in (.02, .3, .7):
            members = rng.random((9, 14)) < share
            members[8, 0] = True
            add(picture(kind, 19, 23, 2), "open", "picture", members=members)
            add(picture(kind, 4, 5), "close", "picture", members=members)


def add_extremes():
    """Saturation, infinities, and neighbourhoods with no pixel in them."""
    corner = np.zeros((5, 7), bool)
    corner[0, 0] = True
    black, white = np.zeros((6, 8), "u1"), np.full((6, 8), 255, "u1")
    steep = np.array([[255, -255, 100]], "f4")
    for f in (black, white, picture("u8", 6, 8), picture("f4", 6, 8)):
        for operation in ("erode", "dilate", "open", "close"):
            add(f, operation, "picture", members=corner)
            add(f, operation, "picture", members=np.ones((1, 3), bool), heights=steep)
    f = picture("f4", 8, 9)
    f[2, 3], f[5, 5] = np.inf, -np.inf
    for operation in ("erode", "dilate", "open", "close"):
        add(f, operation, "rect", (3, 2))


add_all_operations()
add_sizes()
add_extremes()
path = pathlib.Path(__file__).with_name("morphology.bin")
path.write_bytes(struct.pack("<4sI", b"CRNM", len(cases)) + b"".join(cases))
print(f"{path}: {len(cases)} cases, {path.stat().st_size} bytes")
