#!/usr/bin/python3
"""Five operators against their peers, in one run: operators.py [NAME…]

Morphology and convolution against OpenCV, Haar against PyWavelets, ranklets against the histogram algorithm (IDC,
built with the benchmarks), diamond-square against numpy. NAME: only rows whose name begins so. Results are compared
first; then both sides are timed alternately, one thread each, and the medians compared; then two threads against one
where the data exceed the second-level cache. Exit 1 if a result differs or a bar is missed. For contours:
contours.py.
"""
import ctypes
import os
import sys

# Before OpenMP is loaded: threads that wait busily would be timed as the peer's.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import tree
import packages
packages.need("cv2", "numpy", "pywt")

import cv2
import numpy as np
import pywt

import cernita
from cernita._arrays import image_of
from cases import case, disk, picture, time_alternately
from peer_diamond_square import diamond_square as numpy_diamond_square

CACHED_PIXELS = 1 << 16  # pictures of more exceed the second-level cache

cv2.setNumThreads(1)
rng = np.random.default_rng(7)

_peers = ctypes.CDLL(str(tree.ROOT / "build/lib/libcernita_peers.so"))


# Each gives the peer's call, ours by threads, and a check of their results.

def opening(pixels, shape, size):
    ellipse = shape == "disk"
    element = cv2.getStructuringElement(cv2.MORPH_ELLIPSE if ellipse else cv2.MORPH_RECT, (size, size))
    out = np.empty_like(pixels)

    def check():
        # With the same element, not OpenCV's ellipse, which differs at its tips.
        members = disk(size) if ellipse else np.ones((size, size), "u1")
        expected = cv2.morphologyEx(pixels, cv2.MORPH_OPEN, members)
        return np.array_equal(cernita.morphology(pixels, "open", shape, size), expected)
    return (lambda: cv2.morphologyEx(pixels, cv2.MORPH_OPEN, element),
            lambda threads: cernita.morphology(pixels, "open", shape, size, out=out, threads=threads), check)


def filtering(pixels, size):
    kernel = (rng.standard_normal((size, size)) / size).astype("f4")
    out = np.empty_like(pixels)

    def check():
        ours = cernita.convolve(pixels, kernel, border="reflect").astype(int)
        return np.abs(ours - cv2.filter2D(pixels, -1, kernel)).max() <= 1
    return (lambda: cv2.filter2D(pixels, -1, kernel),
            lambda threads: cernita.convolve(pixels, kernel, border="reflect", out=out, threads=threads), check)


def transform(pixels, levels, inverse):
    coefficients = pywt.wavedec2(pixels, "haar", level=levels)
    ours = cernita.haar(pixels, levels)
    out = np.empty_like(ours)

    def check():
        expected = pywt.coeffs_to_array(coefficients)[0]
        h, w = (n // 2**levels for n in pixels.shape)
        back = cernita.haar(ours, levels, direction="inverse")
        return np.allclose(ours[:h, :w], expected[:h, :w], atol=1e-4) and np.allclose(back, pixels, atol=1e-5)
    if inverse:
        return (lambda: pywt.waverec2(coefficients, "haar"),
                lambda threads: cernita.haar(ours, levels, direction="inverse", out=out, threads=threads), check)
    return (lambda: pywt.wavedec2(pixels, "haar", level=levels),
            lambda threads: cernita.haar(pixels, levels, out=out, threads=threads), check)


def ranklets(pixels, windows):
    outs = [np.empty((3, pixels.shape[0] - n + 1, pixels.shape[1] - n + 1), "f4") for n in windows]

    def idc():
        source = image_of(pixels)
        for n, out in zip(windows, outs):
            target = image_of(out, "chw")
            _peers.crn_bench_idc(ctypes.byref(source), n, n, ctypes.byref(target))

    def ours(threads):
        for n, out in zip(windows, outs):
            cernita.ranklet(pixels, n, out=out, threads=threads)

    def check():
        idc()
        expected = [out.copy() for out in outs]
        ours(1)
        return all(np.array_equal(a, b) for a, b in zip(outs, expected))
    return idc, ours, check


def windows(of):
    """The sides of a case's windows, doubling."""
    sides = [of.first_window]
    while sides[-1] < of.last_window:
        sides.append(2 * sides[-1])
    return sides


def field(exponent):
    side = 2**exponent + 1
    out = np.empty((side, side), "u1")
    return (lambda: numpy_diamond_square(exponent, 1, 0.5),
            lambda threads: cernita.diamond_square(exponent, 1, out=out, threads=threads),
            lambda: np.array_equal(cernita.diamond_square(8, 1), cernita.diamond_square(8, 1, backend="serial")))


# Ours may take so many times the peer's time.
BARS = {
    "opening u8 RGB 1920x2560, rect 3": 1.0,
    "opening u8 RGB 1920x2560, rect 11": .6,
    "opening u8 RGB 1920x2560, rect 21": .5,
    "opening u8 RGB 1920x2560, disk 11": .4,
    "opening u8 RGB 1920x2560, disk 21": .2,
    "opening f32 95x511, disk 5": .5,
    "convolve u8 RGB 2160x3840, dense 3": 1.0,
    "convolve u8 RGB 2160x3840, dense 7": .7,
    "convolve u8 RGB 2160x3840, dense 15": .35,
    "haar f32 1800x2880, 3 levels forward": .1,
    "haar f32 1800x2880, 3 levels inverse": .1,
    "ranklet u8 1024x1024, pyramid": 1 / 8,
    "ranklet u8 95x511, windows 4, 8, 16": 1 / 20,
    "diamond_square u8 8193x8193": .25,
}
CALLS = {
    "morphology": lambda of: opening(picture(of), of.element, of.size),
    "convolve": lambda of: filtering(picture(of), of.size),
    "haar": lambda of: transform(picture(of), of.levels, of.direction == "inverse"),
    "ranklet": lambda of: ranklets(picture(of), windows(of)),
    "diamond-square": lambda of: field(of.exponent),
}


def print_memory_bandwidth():
    """The gain of two threads for copying alone: the bound of every operator that is limited by memory."""
    pixels = rng.random((1800, 2880), "f4")
    out = np.empty_like(pixels)
    one, two = (lambda n=n: cernita.haar(pixels, 0, out=out, threads=n) for n in (1, 2))
    single, double = time_alternately(one, two)
    print(f"a copy of f32 1800x2880: {single:.3f} ms, {double:.3f} with two threads, S(2) {single / double:.2f}")


def main():
    only, fine = tuple(sys.argv[1:]), True
    for name in only:
        if not any(work.startswith(name) for work in BARS):
            sys.exit(f"operators.py: no row's name begins with '{name}'; choose among: {'; '.join(BARS)}")
    print(f"{'work':42}{'peer ms':>10}{'ours ms':>10}{'ratio':>8}{'bar':>7}  met   {'2 threads':>9}{'S(2)':>6}  met")
    for work, bar in BARS.items():
        if only and not work.startswith(only):
            continue
        of = case(work)
        peer, call, check = CALLS[of.operator](of)
        if not check():
            fine = False
            print(f"{work:42}differs from the peer")
            continue
        theirs, ours = time_alternately(peer, lambda: call(1))
        met = ours <= bar * theirs
        fine = fine and met
        line = f"{work:42}{theirs:10.3f}{ours:10.3f}{ours / theirs:8.3f}{bar:7.3f}  {'yes' if met else 'NO':6}"
        if of.height * of.width > CACHED_PIXELS:
            single, double = time_alternately(lambda: call(1), lambda: call(2))
            fine = fine and single >= 1.7 * double
            line += f"{double:9.3f}{single / double:6.2f}  {'yes' if single >= 1.7 * double else 'NO'}"
        print(line, flush=True)
    print_memory_bandwidth()
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
