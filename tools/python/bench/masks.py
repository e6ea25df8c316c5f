#!/usr/bin/python3
"""Contours of 92 masks of 3024x4032 against their peers, from Python, each call included: masks.py [COUNT]

Needs scikit-image, contourpy, silx and scipy. All masks at once, in one array, are ours; the peers take one after the
other. First the polylines of some masks are compared with scikit-image's, bit for bit. Exit 1 if they differ or a bar
is missed: of time, or of memory beyond the masks.
"""
import pathlib
import re
import sys

import tree
import packages
packages.need("numpy", "contourpy", "scipy", "silx", "skimage")

import numpy as np
from contourpy import contour_generator
from scipy.ndimage import gaussian_filter
from silx.image import marchingsquares
from skimage.measure import find_contours

import cernita
from cases import same_polylines
from timing import seconds

HEIGHT, WIDTH, LEVEL = 3024, 4032, 127.5
MEMORY_BAR_GB = 0.5
PEERS = (("skimage", 40, lambda mask: find_contours(mask, LEVEL)),
         ("contourpy", 80, lambda mask: contour_generator(z=mask).lines(LEVEL)),
         ("silx", None, lambda mask: marchingsquares.find_contours(mask, LEVEL)))


def masks(count):
    """An object each, 255 within an uneven outline: what a network for segmentation gives."""
    rng = np.random.default_rng(7)
    height, width = HEIGHT // 8, WIDTH // 8
    uneven = gaussian_filter(rng.standard_normal((height, width)), 3)
    uneven *= 4 / uneven.std()
    y, x = np.mgrid[:height, :width]
    made = np.empty((count, HEIGHT, WIDTH), "u1")
    for mask in made:
        cy, cx, r = rng.integers(50, height - 50), rng.integers(50, width - 50), rng.uniform(10, 60)
        coarse = np.hypot(y - cy, x - cx) + uneven < r
        mask[:] = np.kron(coarse, np.full((8, 8), 255, "u1"))
    return made


def peak_gb(call):
    """The most that this process has resident while it runs, beyond what it has before."""
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    before = resident_gb("VmRSS")
    call()
    return resident_gb("VmHWM") - before


def resident_gb(line):
    return int(re.search(rf"{line}:\s+(\d+) kB", pathlib.Path("/proc/self/status").read_text())[1]) / 1e6


def is_equal(found, made):
    return all(same_polylines(found.polylines(plane), find_contours(made[plane], LEVEL))
               for plane in range(0, len(made), max(1, len(made) // 5)))


def main():
    made = masks(int(sys.argv[1]) if len(sys.argv) > 1 else 92)
    more = peak_gb(lambda: cernita.find_contours_many(made, LEVEL, "chw"))
    found = cernita.find_contours_many(made, LEVEL, "chw")
    if not is_equal(found, made):
        sys.exit("differs from scikit-image")
    fine = more <= MEMORY_BAR_GB
    print(f"{len(made)} masks of {HEIGHT}x{WIDTH}: {found}; memory beyond them {more:.3f} GB, bar {MEMORY_BAR_GB}: "
          f"{'met' if fine else 'MISSED'}")
    ours, times = [], {peer: 0.0 for peer, *_ in PEERS}
    for mask in made:
        ours.append(seconds(lambda: cernita.find_contours_many(made, LEVEL, "chw")) if len(ours) < 15 else ours[-1])
        for peer, _, call in PEERS:
            times[peer] += seconds(lambda: call(mask))
    median = float(np.median(ours[:15]))
    print(f"{'peer':12}{'peer ms':>10}{'ours ms':>10}{'ratio':>8}{'bar':>6}  met")
    for peer, bar, _ in PEERS:
        ratio = times[peer] / median
        fine = fine and (bar is None or ratio >= bar)
        met = "" if bar is None else "yes" if ratio >= bar else "NO"
        print(f"{peer:12}{1e3 * times[peer]:10.1f}{1e3 * median:10.1f}{ratio:8.1f}{bar or '':>6}  {met}")
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
