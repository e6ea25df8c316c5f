#!/usr/bin/python3
"""Writes convolve.bin beside itself: pictures, kernels, and what cv2.filter2D makes of them.

test_convolve_golden.c reads the file (its layout: read_case() there) and asks the same of every operator.
Run it only to add cases: the file is kept, so that the tests need no Python.

u8: cv2's bytes; pictures are drawn until no sum lies so near a tie that rounding errors decide. f32: cv2's sums in
double, and those of |weight x pixel|, which say how near a result must come.
"""
import pathlib
import struct

import cv2
import numpy as np

TYPES = {"uint8": 1, "float32": 3}
BORDERS = {"replicate": cv2.BORDER_REPLICATE, "reflect": cv2.BORDER_REFLECT_101, "wrap": cv2.BORDER_WRAP,
           "zero": cv2.BORDER_CONSTANT}

rng = np.random.default_rng(20261121)
cases = []


def filtered(picture, kernel, border, depth):
    """cv2.filter2D, which refuses to wrap: there the picture is padded first."""
    if border != "wrap":
        return cv2.filter2D(picture, depth, kernel, borderType=BORDERS[border]).reshape(picture.shape)
    height, width = kernel.shape
    top, left = height // 2, width // 2
    padded = cv2.copyMakeBorder(picture, top, height - 1 - top, left, width - 1 - left, cv2.BORDER_WRAP)
    whole = cv2.filter2D(padded, depth, kernel, borderType=cv2.BORDER_CONSTANT)
    return whole[top:top + picture.shape[0], left:left + picture.shape[1]].reshape(picture.shape)


def sums(picture, kernel, border):
    exact, weights = picture.astype("f8"), kernel.astype("f8")
    return (filtered(exact, weights, border, cv2.CV_64F),
            filtered(np.abs(exact), np.abs(weights), border, cv2.CV_64F))


def draw_u8(shape, kernel, border):
    while True:
        picture = rng.integers(0, 256, shape, dtype="u1")
        wanted = filtered(picture, kernel, border, -1)
        exact, size = sums(picture, kernel, border)
        if (kernel * 2 == np.round(kernel * 2)).all():  # exact, ties and all
            return picture, wanted
        tie = np.abs(exact - np.floor(exact) - .5)
        if (tie > 2 * kernel.size * 2.0**-24 * size).all() and \
                (wanted == np.clip(np.rint(exact), 0, 255)).all():
            return picture, wanted


def add(name, shape, kernel, border, dtype, layout="hwc"):
    shape = shape if len(shape) == 3 else (*shape, 1)
    kernel = np.ascontiguousarray(kernel, "f4")
    if dtype == "uint8":
        picture, *wanted = draw_u8(shape, kernel, border)
    else:
        picture = (rng.random(shape, dtype="f4") - np.float32(.3)) * np.float32(2)
        wanted = sums(picture, kernel, border)

    def pack(array):
        return np.ascontiguousarray(array if layout == "hwc" else np.moveaxis(array, 2, 0)).tobytes()

    cases.append(struct.pack("<40s8i", name.encode(), *shape, TYPES[dtype], ("chw", "hwc").index(layout) + 1,
                             *kernel.shape, list(BORDERS).index(border)) +
                 kernel.tobytes() + pack(picture) + b"".join(pack(w) for w in wanted))


def gaussian(side):
    line = cv2.getGaussianKernel(side, 0.3 * ((side - 1) / 2 - 1) + 0.8)
    return line @ line.T


def sobel(dx, dy):
    column, row = cv2.getDerivKernels(dx, dy, 3)[::-1]
    return column @ row.T


def centred(side, value, centre):
    kernel = np.full((side, side), value, "f4")
    kernel[side // 2, side // 2] = centre
    return kernel


def dense(height, width):
    return (rng.random((height, width)) - .2) * 2 / (height * width)


KERNELS = {
    "dense 3x3": dense(3, 3), "dense 5x4": dense(5, 4), "dense 2x2": dense(2, 2), "dense 4x6": dense(4, 6),
    "row of 7": dense(1, 7), "row of 4": dense(1, 4), "column of 6": dense(6, 1), "column of 7": dense(7, 1),
    "one": dense(1, 1), "gaussian 3": gaussian(3), "gaussian 5": gaussian(5), "gaussian 9": gaussian(9),
    "blur 3": centred(3, 1 / 9, 1 / 9), "blur 5": centred(5, 1 / 25, 1 / 25), "sharpen 3": centred(3, -1, 9),
    "sharpen 5": centred(5, -1, 25), "edge 3": centred(3, -1, 8), "emboss": [[-2, -1, 0], [-1, 1, 1], [0, 1, 2]],
    "sobel-x": sobel(1, 0), "sobel-y": sobel(0, 1), "whole 4x3": rng.integers(-9, 9, (4, 3)),
    "whole product": np.outer([2, 0, 4, 6], [3, 6, -9]), "half": np.array([[.5, .5]]),
}

for dtype in ("uint8", "float32"):
    for border in BORDERS:
        for name, kernel in KERNELS.items():
            add(f"{name}, {border}", (6, 9), np.array(kernel), border, dtype)
        for name in ("dense 5x4", "gaussian 5", "sobel-x"):
            for shape in ((1, 11), (11, 1), (1, 1), (2, 3), (3, 2)):
                add(f"{name} on %d x %d, {border}" % shape, shape, KERNELS[name], border, dtype)
        add(f"dense 13x13 on 4 x 5, {border}", (4, 5), dense(13, 13), border, dtype)
        add(f"gaussian 9, colours, {border}", (4, 23, 3), gaussian(9), border, dtype)
        add(f"dense 3x3, colours, {border}", (4, 23, 3), dense(3, 3), border, dtype)
        add(f"dense 4x5, planar, {border}", (5, 14, 3), dense(4, 5), border, dtype, layout="chw")
    add("dense 15x15", (9, 20), dense(15, 15), "reflect", dtype)
    add("gaussian 15", (9, 20), gaussian(15), "replicate", dtype)

path = pathlib.Path(__file__).with_name("convolve.bin")
path.write_bytes(struct.pack("<4sI", b"CRNG", len(cases)) + b"".join(cases))
print(f"{path}: {len(cases)} cases, {path.stat().st_size} bytes")
