#!/usr/bin/python3
"""Writes ranklet.bin beside itself: pictures, and their ranklets by counting all pairs.

test_ranklet_golden.c reads the file (its layout: read_case() there) and asks the same of every operator.
Run it only to add cases: the file is kept, so that the tests need no Python.
"""
import pathlib
import struct

import numpy as np

TYPES = {"uint8": 1, "uint16": 4}

rng = np.random.default_rng(20021)
cases = []


def pairs(treatment, control):
    """sum of sign(t - c) over all pairs, through the number of pairs."""
    signs = np.sign(treatment.astype("i8").ravel()[:, None] - control.astype("i8").ravel()[None, :])
    return np.float32(np.float64(signs.sum()) / np.float64(signs.size))


def ranklets(window):
    h, w = window.shape[0] // 2, window.shape[1] // 2
    a, b, c, d = window[:h, :w], window[:h, w:], window[h:, :w], window[h:, w:]

    def both(p, q):
        return np.concatenate((p.ravel(), q.ravel()))

    return pairs(both(a, c), both(b, d)), pairs(both(a, b), both(c, d)), pairs(both(a, d), both(b, c))


def check_ranklets():
    """What is known without counting."""
    assert abs(pairs(np.array([5, 9, 1, 10, 15]), np.array([20, 4, 7, 13, 19, 11])) + 0.4) < 1e-7
    assert ranklets(np.full((4, 6), 7)) == (0, 0, 0)
    y, x = np.mgrid[:8, :6]
    assert ranklets((x < 3) * 1) == (1, 0, 0)
    assert ranklets((y < 4) * 1) == (0, 1, 0)
    assert ranklets(((x < 3) == (y < 4)) * 1) == (0, 0, 1)
    # With mean ranks, as the literature writes it: W - m (m + 1) / 2 over m n / 2, less 1.
    t, c = rng.integers(0, 9, 32), rng.integers(0, 9, 32)
    both = np.concatenate((t, c))
    ranks = np.array([(both < v).sum() + ((both == v).sum() + 1) / 2 for v in t])
    assert abs((ranks.sum() - 32 * 33 / 2) / (32 * 32 / 2) - 1 - pairs(t, c)) < 1e-6


def add(name, picture, width, height, layout="chw"):
    planes = picture if picture.ndim == 3 else picture[None]
    n, rows, columns = planes.shape[0], planes.shape[1] - height + 1, planes.shape[2] - width + 1
    out = np.empty((n, 3, rows, columns), "<f4")
    for plane in range(n):
        for y in range(rows):
            for x in range(columns):
                out[plane, :, y, x] = ranklets(planes[plane, y:y + height, x:x + width])
    data = np.ascontiguousarray(planes if layout == "chw" else np.moveaxis(planes, 0, 2))
    cases.append(struct.pack("<32s7i", name.encode(), *planes.shape, TYPES[planes.dtype.name],
                             ("chw", "hwc").index(layout) + 1, width, height) + data.tobytes() + out.tobytes())


def noise(type_, *shape, most=None):
    return rng.integers(0, (most or np.iinfo(type_).max) + 1, shape).astype(type_)


def add_halves():
    y, x = np.mgrid[:8, :12]
    for type_ in ("u1", "u2"):
        bright = np.iinfo(type_).max
        add("constant " + type_, np.full((9, 10), bright, type_), 4, 6)
        add("left " + type_, ((x < 6) * bright).astype(type_), 12, 8)
        add("top " + type_, ((y < 4) * bright).astype(type_), 12, 8)
        add("corners " + type_, (((x < 6) == (y < 4)) * bright).astype(type_), 12, 8)
        add("edge, moving " + type_, ((x < 6) * bright).astype(type_), 4, 4)
        add("slope " + type_, (x * 3 + y).astype(type_), 6, 4)


def add_sizes():
    for type_ in ("u1", "u2"):
        for width, height in ((2, 2), (4, 4), (6, 6), (8, 8), (2, 8), (8, 2), (8, 16), (10, 6), (12, 12), (16, 16)):
            add(f"noise {type_} {width} x {height}", noise(type_, height + 5, width + 9), width, height)
            add(f"ties {type_} {width} x {height}", noise(type_, height + 5, width + 9, most=5), width, height)
        for width, height in ((20, 20), (32, 32), (48, 24), (34, 62)):
            add(f"large {type_} {width} x {height}", noise(type_, height + 1, width + 2), width, height)
    add("dense u2", (noise("u2", 30, 40, most=700) + 30000).astype("u2"), 18, 14)
    add("planes", noise("u1", 3, 14, 17), 6, 8)
    add("interleaved", noise("u1", 4, 13, 15), 4, 8, layout="hwc")
    add("interleaved u2", noise("u2", 2, 12, 15), 8, 4, layout="hwc")


check_ranklets()
add_halves()
add_sizes()
pathlib.Path(__file__).with_name("ranklet.bin").write_bytes(b"CRNR" + struct.pack("<I", len(cases)) + b"".join(cases))
print(len(cases), "cases")
