#!/usr/bin/python3
"""Writes haar.bin beside itself: pictures, and what PyWavelets makes of them.

test_haar_golden.c reads the file (its layout: read_case() there) and asks the same of every operator.
Run it only to add cases: the file is kept, so that the tests need no Python.
"""
import pathlib
import struct

import numpy as np
import pywt

FORWARD, INVERSE, DENOISE = range(3)
TYPES = {"uint8": 1, "float32": 3}
EXACT = 1

rng = np.random.default_rng(20240611)
cases = []


def quadrants(average, details):
    """The quadrant layout of one level; pywt's differences of odd sizes end with zeros that are not kept."""
    rows, columns, diagonals = details[1], details[0], details[2]
    height, width = average.shape[0] + columns.shape[0], average.shape[1] + rows.shape[1]
    out = np.empty((height, width), average.dtype)
    h, w = average.shape
    out[:h, :w], out[:h, w:], out[h:, :w], out[h:, w:] = average, rows, columns, diagonals
    return out


def forward(x, levels, mode):
    """pywt, level by level in double, with what is not kept cut off."""
    if levels == 0:
        return x
    average, (columns, rows, diagonals) = pywt.dwt2(x, "haar", mode=mode)
    h, w = x.shape[0] // 2, x.shape[1] // 2
    for dropped in (columns[h:], diagonals[h:], rows[:, w:], diagonals[:, w:]):
        assert np.allclose(dropped, 0, atol=1e-12 * max(1, np.abs(x).max()))
    return quadrants(forward(average, levels - 1, mode), (columns[:h], rows[:, :w], diagonals[:h, :w]))


def inverse(coefficients, levels, mode, threshold=None):
    if levels == 0:
        return coefficients
    height, width = coefficients.shape
    h, w = (height + 1) // 2, (width + 1) // 2
    details = [np.zeros((h, w)) for _ in range(3)]  # columns, rows, diagonals
    details[0][:height - h] = coefficients[h:, :w]
    details[1][:, :width - w] = coefficients[:h, w:]
    details[2][:height - h, :width - w] = coefficients[h:, w:]
    if threshold is not None:
        details = [pywt.threshold(d, threshold, "soft") for d in details]
    average = inverse(coefficients[:h, :w], levels - 1, mode, threshold)
    return pywt.idwt2((average, tuple(details)), "haar", mode=mode)[:height, :width]


def whole_file_agrees(x, levels, mode, expected):
    """wavedec2 and waverec2 themselves, where no size is odd."""
    if any(size % (1 << levels) for size in x.shape):
        return
    found = pywt.wavedec2(x, "haar", mode=mode, level=levels)
    out = found[0]
    for details in found[1:]:
        out = quadrants(out, details)
    assert np.allclose(out, expected, rtol=0, atol=1e-12 * max(1, np.abs(x).max()))
    assert np.allclose(pywt.waverec2(found, "haar", mode=mode), x, rtol=0, atol=1e-12 * max(1, np.abs(x).max()))


def add(name, picture, levels, direction=FORWARD, threshold=0.0, unit=False, exact=False, mode="symmetric"):
    planes = picture if picture.ndim == 3 else picture[None]
    expected = []
    for plane in planes:
        x = plane.astype("f8") / (255 if unit else 1)
        if direction == FORWARD:
            expected.append(forward(x, levels, mode))
            whole_file_agrees(x, levels, mode, expected[-1])
        elif direction == INVERSE:
            expected.append(inverse(x, levels, mode))
        else:
            expected.append(inverse(forward(x, levels, mode), levels, mode, float(np.float32(threshold))))
    values = np.array(expected)
    if exact:
        values = np.round(values * 4**levels) / 4**levels  # pywt's own rounding taken off again
        assert np.allclose(values, expected, rtol=0, atol=1e-9) and (values == values.astype("f4")).all()
    height, width = planes.shape[1:]
    cases.append(struct.pack("<40s8if", name.encode(), height, width, len(planes), TYPES[planes.dtype.name], direction,
                             levels, unit, EXACT if exact else 0, threshold)
                 + np.ascontiguousarray(planes).tobytes() + values.astype("<f4" if exact else "<f8").tobytes())


def noise(*shape):
    return rng.standard_normal(shape).astype("f4")


def whole(*shape):
    return rng.integers(-40, 41, shape).astype("f4")


def add_all():
    for height, width in ((2, 2), (8, 8), (8, 16), (7, 5), (13, 6), (6, 19), (1, 9), (9, 1), (1, 1), (3, 2)):
        most = int(np.ceil(np.log2(max(height, width))))
        for levels in sorted({0, min(1, most), min(2, most), min(3, most), most}):
            mode = "periodization" if levels % 2 else "symmetric"
            shape = f"{height} x {width}, {levels} levels"
            add("noise " + shape, noise(height, width), levels, mode=mode)
            add("back " + shape, noise(height, width), levels, INVERSE, mode=mode)
            add("denoise " + shape, noise(height, width), levels, DENOISE, 0.7, mode=mode)
            if levels <= 3:
                add("exact " + shape, whole(height, width), levels, exact=True, mode=mode)
                add("exact back " + shape, whole(height, width), levels, INVERSE, exact=True, mode=mode)
                add("exact denoise " + shape, whole(height, width), levels, DENOISE, 8.0, exact=True, mode=mode)
    add("planes", noise(5, 14, 19), 3)
    add("planes, denoise", noise(12, 6, 10), 2, DENOISE, 0.4)
    add("planes, back", noise(3, 17, 8), 4, INVERSE)
    bytes_ = rng.integers(0, 256, (3, 12, 21)).astype("u1")
    add("u8", bytes_, 2, exact=True)
    add("u8, unit", bytes_, 3, unit=True)
    add("u8, unit, denoise", bytes_, 2, DENOISE, 0.05, unit=True)
    add("u8, denoise", bytes_, 2, DENOISE, 12.5, exact=True)
    add("large", noise(37, 45), 6)
    add("large, denoise", noise(37, 45), 6, DENOISE, 1.0)


add_all()
target = pathlib.Path(__file__).with_name("haar.bin")
target.write_bytes(b"CRNH" + struct.pack("<I", len(cases)) + b"".join(cases))
print(f"{len(cases)} cases, {target.stat().st_size} bytes")
