#!/usr/bin/python3
"""Writes contours.bin beside itself: maps, and the contours that skimage.measure.find_contours finds.

test_contours_golden.c reads the file (its layout: read_case() there) and asks the same of every operator.
Run it only to add cases: the file is kept, so that the tests need no Python.
"""
import math
import pathlib
import struct

import numpy as np
from scipy.ndimage import gaussian_filter
from skimage.measure import find_contours

TYPES = {"uint8": 1, "float16": 2, "float32": 3, "uint16": 4}
POLYLINES, SEGMENTS = 0, 1  # what must be equal; with pixels exactly at the level, only the segments
EINVAL = -22

rng = np.random.default_rng(20240607)
cases = []


def unpad(line, padded, level):
    """A polyline on the padded map, in coordinates (unpadded row or column) + fraction."""
    result = np.empty_like(line)
    for i, (row, column) in enumerate(line):
        r, c = math.floor(row), math.floor(column)
        assert (r == row) != (c == column), "a point on a pixel: only the segments can be compared"
        a, b = float(padded[r, c]), float(padded[r + (c == column), c + (r == row)])
        f = (level - a) / (b - a)
        result[i] = (r - 1 + (f if c == column else 0), c - 1 + (f if r == row else 0))
    assert np.allclose(result, line - 1, rtol=0, atol=1e-12)
    return result


def expected(maps, levels, mask, connectivity, orientation, border):
    contours = []
    for plane, level in enumerate(levels):
        if math.isnan(level):
            continue
        z, valid = maps[:, :, plane].astype("f8"), mask
        if border == "closed":
            z = np.pad(z, 1)
            valid = None if mask is None else np.pad(mask, 1, constant_values=True)
        lines = find_contours(z, level, fully_connected=connectivity, positive_orientation=orientation, mask=valid)
        for line in lines:
            closed = bool((line[0] == line[-1]).all())
            contours.append((plane, closed, unpad(line, z, level) if border == "closed" else line))
    return contours


def add(name, maps, levels, mask=None, connectivity="low", orientation="low", border="open", layout="hwc",
        compare=POLYLINES, result=0):
    maps = maps if maps.ndim == 3 else maps[:, :, None]
    levels = np.broadcast_to(np.asarray(levels, "f8"), (maps.shape[2],))
    found = [] if result else expected(maps, levels, mask, connectivity, orientation, border)
    data = np.ascontiguousarray(maps if layout == "hwc" else np.moveaxis(maps, 2, 0))
    parts = [struct.pack("<32s12i", name.encode(), *maps.shape[:2], maps.shape[2], TYPES[maps.dtype.name],
                         ("chw", "hwc").index(layout) + 1, ("low", "high").index(connectivity),
                         ("low", "high").index(orientation), ("open", "closed").index(border), mask is not None,
                         compare, result, len(found)),
             levels.tobytes(), data.tobytes(), b"" if mask is None else mask.astype("u1").tobytes()]
    parts += [struct.pack("<iiI", plane, closed, len(line)) for plane, closed, line in found]
    parts += [np.ascontiguousarray(line[:, ::-1], "<f8").tobytes() for plane, closed, line in found]
    cases.append(b"".join(parts))


def add_all_ways(name, maps, levels, **more):
    """Both connectivities, orientations and borders."""
    for connectivity in ("low", "high"):
        for orientation in ("low", "high"):
            for border in ("open", "closed"):
                add(f"{name}, {connectivity} {orientation} {border}", maps, levels, connectivity=connectivity,
                    orientation=orientation, border=border, **more)


def noise(*shape):
    return rng.random(shape, dtype="f4")


def smooth(sigma, *shape):
    z = gaussian_filter(rng.standard_normal(shape), (sigma, sigma) + (0,) * (len(shape) - 2), mode="wrap")
    return ((z - z.min()) / (z.max() - z.min())).astype("f4")


def with_nan(z, share):
    return np.where(rng.random(z.shape) < share, np.float32("nan"), z)


def add_fields():
    add_all_ways("noise", noise(23, 31), 0.5)
    add_all_ways("smooth", smooth(2.5, 37, 53), 0.5)
    add("smooth, large", smooth(4, 150, 170), 0.5)
    add("noise, off balance", noise(40, 70), 0.13)
    add("noise about 0.9, default level", (noise(60, 60) * np.float32(.01) + np.float32(.9)), 0.905)
    add_all_ways("noise, NaN", with_nan(noise(19, 27), .04), 0.5)
    add_all_ways("smooth, NaN", with_nan(smooth(2, 26, 35), .01), 0.45)
    add_all_ways("smooth, mask", smooth(2, 25, 33), 0.55, mask=rng.random((25, 33)) > .03)
    add_all_ways("noise, mask and NaN", with_nan(noise(14, 67), .02), 0.5, mask=rng.random((14, 67)) > .05)
    add_all_ways("planes", smooth(2, 21, 45, 3), [0.4, math.nan, 0.6])
    add("planes, planar", smooth(1.5, 18, 66, 4), [0.3, 0.5, math.nan, 0.7], layout="chw", border="closed")
    add("twelve planes", smooth(3, 24, 40, 12), np.linspace(.2, .8, 12), border="closed")
    for columns in (63, 64, 65, 66, 127, 128, 129):
        add(f"word borders, {columns}", noise(4, columns), 0.5)
    add("u8", (smooth(2, 31, 43) * 255).astype("u1"), 127.5, border="closed")
    add("u8, planes", (smooth(2, 16, 33, 3) * 255).astype("u1"), [99.5, 127.5, 0.25])
    add("u16", (noise(21, 35) * 65535).astype("u2"), 40000.5)
    add("f16", smooth(2, 29, 41).astype("f2"), 0.4321, border="closed")
    add("f16, NaN", with_nan(noise(15, 21), .05).astype("f2"), 0.1234)


def add_small():
    corners = np.array([[(k >> bit) & 1 for k in range(16)] for bit in range(4)], "f4").reshape(2, 2, 16)
    add_all_ways("2 x 2, every cell", corners * np.float32(.75) + np.float32(.125), 0.4)
    for shape in ((1, 1), (1, 9), (9, 1), (2, 1), (1, 70)):
        add("closed %d x %d" % shape, noise(*shape) + np.float32(.25), 0.6, border="closed")
    add("2 x 9", noise(2, 9), 0.5)
    add("9 x 2", noise(9, 2), 0.5)
    add("constant", np.ones((5, 6), "f4"), 0.5, border="closed")
    add("constant, level at the pad", np.ones((5, 6), "f4"), 1.5, border="closed")
    for shape in ((1, 5), (5, 1), (1, 1)):
        add("too small %d x %d" % shape, noise(*shape), 0.5, result=EINVAL)
    add("level below the padding", noise(4, 4), -0.1, border="closed", result=EINVAL)
    add("level below 0 is fine, open", noise(8, 9) - np.float32(.5), -0.1)


def add_from_skimage_tests():
    a = np.ones((8, 8), "f4")
    a[1:-1, 1] = 0
    a[1, 1:-1] = 0
    add("binary", a, 0.5, orientation="high")
    mask = np.ones((8, 8), bool)
    mask[7, 0:3] = False
    add("binary, mask", a, 0.5, orientation="high", mask=mask)
    add("binary, NaN", np.where(mask, a, np.float32("nan")), 0.5, orientation="high")
    x, y = np.mgrid[-1:1:5j, -1:1:5j]
    add("radius", np.sqrt(x**2 + y**2).astype("f4"), 0.5)
    add("corner", np.array([[1, 0, 0], [0, 0, 0], [0, 0, 0]], "f4"), 0.5)


def add_ties():
    """Pixels exactly at the level: skimage joins by coordinates, so only the segments must be equal."""
    for connectivity in ("low", "high"):
        add(f"ties, {connectivity}", rng.integers(0, 5, (33, 47)).astype("u1"), 2, connectivity=connectivity,
            compare=SEGMENTS)
    add("ties, smooth", np.round(smooth(2, 40, 52) * 8).astype("f4"), 4, compare=SEGMENTS)
    add("ties, NaN", with_nan(np.round(noise(30, 40) * 4), .05).astype("f4"), 2, compare=SEGMENTS)
    add("ties, peaks", (rng.random((20, 30)) < .15).astype("f4"), 0, compare=SEGMENTS)
    add("ties, pits", (rng.random((20, 30)) < .85).astype("f4"), 1, compare=SEGMENTS)
    add("ties, pits and steps", rng.integers(1, 4, (20, 30)).astype("f4"), 1, compare=SEGMENTS)


add_fields()
add_small()
add_from_skimage_tests()
add_ties()
path = pathlib.Path(__file__).with_name("contours.bin")
path.write_bytes(struct.pack("<4sI", b"CRNG", len(cases)) + b"".join(cases))
print(f"{path}: {len(cases)} cases, {path.stat().st_size} bytes")
