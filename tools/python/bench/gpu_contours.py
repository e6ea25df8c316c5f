#!/usr/bin/python3
"""Contours of random masks on a device by NPP's chain and by cernita: gpu_contours.py [--masks N]

NPP labels regions (8-connected), compresses the labels, marks the contours' pixels and orders them into lists on the
host; whole pixels, no levels. Its lists are checked for having as many pixels as NPP itself counted before. They are
made in a process of their own, because NPP's function for them ends it on some masks. cernita's polylines are compared
with scikit-image's.
"""
import argparse
import ctypes
import json
import subprocess
import sys
import time

import tree
import packages
packages.need("numpy", "scipy", "skimage")

import numpy as np
import scipy.ndimage
import skimage.measure

try:
    import cupy
except ImportError as fault:
    sys.exit(f"gpu_contours.py: {fault}; it needs CuPy: pip install cupy-cuda13x")

import cernita
import gpu_peers
from cases import same_polylines
from timing import times_ms

NORM_INF = 0  # NppiNorm: 8-connected
LABEL_INFO, DIRECTION_INFO, GEOMETRY_INFO, BLOCK_SEGMENT = 36, 140, 60, 16  # bytes of NPP's structures
MORE = 4  # entries that NPP's samples add to lists per region


class NppContours:
    """NPP's chain on masks of one size; its memory is reserved once."""

    def __init__(self, height, width):
        self.npp = gpu_peers.library("nppif")
        if not self.npp:
            raise OSError("no libnppif")
        self.shape, self.roi = (height, width), gpu_peers.Size(width, height)
        self.context = gpu_peers.npp_context(cupy)
        pixels = height * width
        self.labels = cupy.empty((height, width), "u4")
        self.label_buffer = self._buffer("nppiLabelMarkersUFGetBufferSize_32u_C1R", self.roi)
        self.compress_buffer = self._buffer("nppiCompressMarkerLabelsGetBufferSize_32u_C1R", pixels)
        self.contours, self.directions = cupy.empty(pixels, "u1"), cupy.empty(pixels * DIRECTION_INFO, "u1")
        self.image = np.empty(pixels, "u1")

    def _size(self, function, *arguments):
        count = ctypes.c_size_t(0)
        self._check(function, getattr(self.npp, function)(*arguments, ctypes.byref(count)))
        return count.value

    def _buffer(self, function, size):
        return cupy.empty(self._size(function, size), "u1")

    def _check(self, function, status):
        if status:
            raise OSError(f"{function}: NPP status {status}")

    def _call(self, function, *arguments):
        plain = [ctypes.c_void_p(a.data.ptr) if isinstance(a, cupy.ndarray) else
                 ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else a for a in arguments]
        self._check(function, getattr(self.npp, function)(*plain, self.context))

    def mark(self, mask):
        """(number of regions, buffers, pixels): their contours' pixels are marked and counted, on the device."""
        width, regions = self.shape[1], ctypes.c_int(0)
        self._call("nppiLabelMarkersUF_8u32u_C1R_Ctx", mask, width, self.labels, 4 * width, self.roi, NORM_INF,
                   self.label_buffer)
        self._call("nppiCompressMarkerLabelsUF_32u_C1IR_Ctx", self.labels, 4 * width, self.roi, mask.size,
                   ctypes.byref(regions), self.compress_buffer)
        entries = regions.value + MORE
        info_bytes = self._size("nppiCompressedMarkerLabelsUFGetInfoListSize_32u_C1R", entries) + MORE * LABEL_INFO
        info, info_host = cupy.zeros(info_bytes, "u1"), np.zeros(info_bytes, "u1")
        counts, found, offsets = (cupy.zeros(entries, "u4") for _ in range(3))
        counts_host, found_host, offsets_host = (np.zeros(entries, "u4") for _ in range(3))
        totals = np.zeros(2, "u4")
        self._call("nppiCompressedMarkerLabelsUFInfo_32u_C1R_Ctx", self.labels, 4 * width, self.roi, regions, info,
                   self.contours, width, self.directions, width * DIRECTION_INFO, totals, counts, counts_host, offsets,
                   offsets_host)
        cupy.cuda.get_current_stream().synchronize()  # the totals are the host's
        return regions, (info, info_host, counts, counts_host, found, found_host, offsets, offsets_host), int(totals[0])

    def lists(self, mask):
        """(number of regions, pixels counted in each, pixels found, where lists begin, [x, y of each list])."""
        regions, buffers, total = self.mark(mask)
        info, info_host, counts, counts_host, found, found_host, offsets, offsets_host = buffers
        width = self.shape[1]
        # Twice what NPP asks for, since with less its functions have ended the process.
        lists = 2 * self._size("nppiCompressedMarkerLabelsUFGetGeometryListsSize_C1R", total + MORE) // GEOMETRY_INFO
        geometry, geometry_host = cupy.zeros(lists * GEOMETRY_INFO, "u1"), np.zeros((lists, 15), "i4")
        blocks = 2 * self._size("nppiCompressedMarkerLabelsUFGetContoursBlockSegmentListSize_C1R",
                                ctypes.c_void_p(counts_host.ctypes.data), total, regions, 1, regions)
        segments, segments_host = (zeros(blocks + BLOCK_SEGMENT * total, "u1") for zeros in (cupy.zeros, np.zeros))
        self._call("nppiCompressedMarkerLabelsUFContoursGenerateGeometryLists_C1R_Ctx", info, info_host,
                   self.directions, width * DIRECTION_INFO, geometry, geometry_host, self.image, width, counts, found,
                   found_host, offsets, offsets_host, total, regions, 1, regions, segments, segments_host, 0, self.roi)
        cupy.cuda.get_current_stream().synchronize()
        return regions.value, counts_host, found_host, offsets_host, geometry_host


def random_masks(count, side, kind):
    """Noise of half the pixels, or blobs with holes."""
    rng = np.random.default_rng(11)
    for _ in range(count):
        field = rng.random((side, side))
        if kind == "blobs":
            field = scipy.ndimage.gaussian_filter(field, 3, mode="constant", cval=0.5)
        yield np.ascontiguousarray(np.where(field > np.median(field), 255, 0).astype("u1"))


def is_consistent(result):
    """Whether every list has as many pixels as NPP itself had counted for its region before."""
    regions, counted, found = result[:3]
    return bool((counted[1:regions] == found[1:regions]).all())


def median_ms(call, given, calls):
    def wait():
        call(given)
        cupy.cuda.get_current_stream().synchronize()
    return float(np.median(times_ms(wait, calls, calls, warm_up=3)))


def print_lists(side, kind, count, first):
    """In a process of its own: a line of JSON for each mask from `first` on."""
    peer = NppContours(side, side)
    for index, mask in enumerate(random_masks(count, side, kind)):
        if index >= first:
            on_device = cupy.asarray(mask)
            begin = time.perf_counter()
            result = peer.lists(on_device)
            ms = 1e3 * (time.perf_counter() - begin)
            print(json.dumps({"ms": ms, "consistent": is_consistent(result)}), flush=True)


def tally_lists(side, kind, count):
    """Of NPP's lists: the median in ms, on how many masks they are inconsistent, and on how many its process ended."""
    times, inconsistent, ended, done = [], 0, 0, 0
    while done < count:
        command = [sys.executable, __file__, "--lists", str(side), kind, str(count), str(done)]
        output = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
        for line in map(json.loads, output):
            times.append(line["ms"])
            inconsistent += not line["consistent"]
        done += len(output)
        if done < count:
            ended += 1
            done += 1
    return (float(np.median(times)) if times else float("nan")), inconsistent, ended


def count_wrong(masks):
    """How many of cernita's results differ from scikit-image's."""
    wrong = 0
    for mask in masks:
        expected = skimage.measure.find_contours(mask.astype(float), 127.5)
        got = cernita.find_contours_many(cupy.asarray(mask), 127.5).polylines()
        wrong += not same_polylines(got, expected)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--masks", type=int, default=10)
    parser.add_argument("--lists", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.lists:
        side, kind, count, first = arguments.lists
        print_lists(int(side), kind, int(count), int(first))
        return
    count = arguments.masks
    print(f"{'masks':20}{'NPP marks, ms':>15}{'lists, ms':>11}{'cernita, ms':>13}  what is wrong, of {count} masks")
    for side, kind in ((256, "blobs"), (256, "noise"), (1024, "blobs")):
        masks = list(random_masks(count, side, kind))
        one = cupy.asarray(masks[0])
        mark_ms = median_ms(NppContours(side, side).mark, one, 100)
        ours_ms = median_ms(lambda mask: cernita.find_contours_many(mask, 127.5), one, 1000)
        lists_ms, inconsistent, ended = tally_lists(side, kind, count)
        print(f"{side} x {side} {kind:8}{mark_ms:15.3f}{lists_ms:11.3f}{ours_ms:13.3f}  NPP: {inconsistent} inconsistent, "
              f"{ended} ended the process; cernita: {count_wrong(masks)} other than scikit-image's", flush=True)


if __name__ == "__main__":
    main()
