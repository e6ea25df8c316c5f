#!/usr/bin/python3
"""Contours of random masks on a device by NPP's chain and by cernita: bench_gpu_contours.py [--masks N]

NPP labels regions (8-connected), compresses the labels, finds the contours' pixels and orders them into lists on the
host; whole pixels, no levels. Its lists are checked against what they must be for any tracing: as many regions as
scipy counts, every pixel that it counted in a list, and neighbours in a list beside each other, but for a jump to each
hole. cernita's polylines are compared with scikit-image's.
"""
import argparse
import ctypes
import faulthandler
import sys
import time

import packages
packages.need("numpy", "scipy", "skimage")

import numpy as np
import scipy.ndimage
import skimage.measure

try:
    import cupy
except ImportError as fault:
    sys.exit(f"bench_gpu_contours.py: {fault}; it needs CuPy: pip install cupy-cuda13x")

import bench_gpu_peers
import cernita

NORM_INF = 0  # NppiNorm: 8-connected
LABEL_INFO, DIRECTION_INFO, GEOMETRY_INFO, BLOCK_SEGMENT = 36, 140, 60, 16  # bytes of NPP's structures
MORE = 4  # entries that NPP's samples add to lists per region


class NppContours:
    """NPP's chain on masks of one size; its memory is reserved once."""

    def __init__(self, height, width):
        self.npp = bench_gpu_peers.library("nppif")
        if not self.npp:
            raise OSError("no libnppif")
        self.shape, self.roi = (height, width), bench_gpu_peers.Size(width, height)
        self.context = bench_gpu_peers.npp_context(cupy)
        pixels = height * width
        self.labels = cupy.empty((height, width), "u4")
        self.label_buffer = self._buffer("nppiLabelMarkersUFGetBufferSize_32u_C1R", self.roi)
        self.compress_buffer = self._buffer("nppiCompressMarkerLabelsGetBufferSize_32u_C1R", pixels)
        self.contours, self.directions = cupy.empty(pixels, "u1"), cupy.empty(pixels * DIRECTION_INFO, "u1")
        self.image = np.empty(pixels, "u1")

    def _buffer(self, function, size):
        count = ctypes.c_size_t(0)
        self._check(function, getattr(self.npp, function)(size, ctypes.byref(count)))
        return cupy.empty(count.value, "u1")

    def _check(self, function, status):
        if status:
            raise OSError(f"{function}: NPP status {status}")

    def _call(self, function, *arguments):
        plain = [ctypes.c_void_p(a.data.ptr) if isinstance(a, cupy.ndarray) else
                 ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else a for a in arguments]
        self._check(function, getattr(self.npp, function)(*plain, self.context))

    def __call__(self, mask):
        """(number of regions, pixels counted in each, pixels found, [x, y of each list])."""
        width, regions = self.shape[1], ctypes.c_int(0)
        self._call("nppiLabelMarkersUF_8u32u_C1R_Ctx", mask, width, self.labels, 4 * width, self.roi, NORM_INF,
                   self.label_buffer)
        self._call("nppiCompressMarkerLabelsUF_32u_C1IR_Ctx", self.labels, 4 * width, self.roi, mask.size,
                   ctypes.byref(regions), self.compress_buffer)
        entries = regions.value + MORE
        info, info_host = cupy.zeros(entries * LABEL_INFO, "u1"), np.zeros(entries * LABEL_INFO, "u1")
        counts, found, offsets = (cupy.zeros(entries, "u4") for _ in range(3))
        counts_host, found_host, offsets_host = (np.zeros(entries, "u4") for _ in range(3))
        totals = np.zeros(2, "u4")
        self._call("nppiCompressedMarkerLabelsUFInfo_32u_C1R_Ctx", self.labels, 4 * width, self.roi, regions, info,
                   self.contours, width, self.directions, width * DIRECTION_INFO, totals, counts, counts_host, offsets,
                   offsets_host)
        total = int(totals[0])
        geometry, geometry_host = cupy.zeros((total + MORE) * GEOMETRY_INFO, "u1"), np.zeros((total + MORE, 15), "i4")
        blocks = ctypes.c_size_t(0)
        self._check("BlockSegmentListSize", self.npp.nppiCompressedMarkerLabelsUFGetContoursBlockSegmentListSize_C1R(
            ctypes.c_void_p(counts_host.ctypes.data), total, regions, 1, regions, ctypes.byref(blocks)))
        segments, segments_host = cupy.zeros(blocks.value + BLOCK_SEGMENT, "u1"), np.zeros(blocks.value + 16, "u1")
        self._call("nppiCompressedMarkerLabelsUFContoursGenerateGeometryLists_C1R_Ctx", info, info_host,
                   self.directions, width * DIRECTION_INFO, geometry, geometry_host, self.image, width, counts, found,
                   found_host, offsets, offsets_host, total, regions, 1, regions, segments, segments_host, 0, self.roi)
        cupy.cuda.get_current_stream().synchronize()
        return regions.value, counts_host, found_host, offsets_host, geometry_host


def random_masks(count, side, kind, rng):
    """Noise of half the pixels, or blobs with holes."""
    for _ in range(count):
        field = rng.random((side, side))
        if kind == "blobs":
            field = scipy.ndimage.gaussian_filter(field, 3, mode="constant", cval=0.5)
        yield np.ascontiguousarray(np.where(field > np.median(field), 255, 0).astype("u1"))


def faults_of(result, mask):
    """What is wrong with NPP's result: a set of words."""
    regions, counted, found, offsets, geometry = result
    labels, real = scipy.ndimage.label(mask, np.ones((3, 3)))
    background, holes = scipy.ndimage.label(np.pad(mask == 0, 1, constant_values=True))
    faults = set()
    if regions not in (real, real + 1):  # it may count the background
        faults.add("regions")
    if (counted[1:regions] != found[1:regions]).any():
        faults.add("pixels")
    jumps = 0
    for index in range(1, regions):
        points = geometry[offsets[index]:offsets[index] + counted[index], :2]
        if len(points) > 1:
            jumps += int((np.abs(np.diff(points, axis=0)).max(1) > 1).sum())
    if jumps > holes - 1:
        faults.add("order")
    return faults


def median_ms(call, given, calls):
    times = []
    for i in range(calls + 3):
        begin = time.perf_counter()
        call(given)
        times.append(1e3 * (time.perf_counter() - begin))
    return float(np.median(times[3:]))


def main():
    faulthandler.enable()  # NPP's functions can end the process
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--masks", type=int, default=200)
    count = parser.parse_args().masks
    print(f"{'masks':24}{'peer ms':>9}{'ours ms':>9}  of {count} masks: peer's faults")
    for side, kind in ((256, "blobs"), (256, "noise"), (1024, "blobs")):
        rng = np.random.default_rng(11)
        number = count if side < 1000 else count // 10
        masks = list(random_masks(number, side, kind, rng))
        tally, ours_wrong, peer_ms = {}, 0, None
        try:
            peer = NppContours(side, side)
            for mask in masks:
                faults = faults_of(peer(cupy.asarray(mask)), mask)
                for fault in faults | ({"any"} if faults else set()):
                    tally[fault] = tally.get(fault, 0) + 1
            peer_ms = median_ms(peer, cupy.asarray(masks[0]), 30)
        except (OSError, AttributeError) as fault:
            tally = {f"NPP: {fault}": number}
        for mask in masks[:20]:
            expected = skimage.measure.find_contours(mask.astype(float), 127.5)
            got = cernita.find_contours_many(cupy.asarray(mask), 127.5).polylines()
            ours_wrong += len(got) != len(expected) or any(not np.array_equal(a, b) for a, b in zip(got, expected))
        ours_ms = median_ms(lambda mask: cernita.find_contours_many(mask, 127.5).polylines(), cupy.asarray(masks[0]), 200)
        print(f"{side} x {side} {kind:12}{peer_ms or 0:9.3f}{ours_ms:9.3f}  {tally or 'none'} of {number}; ours other "
              f"than scikit-image's: {ours_wrong} of {len(masks[:20])}", flush=True)


if __name__ == "__main__":
    main()
