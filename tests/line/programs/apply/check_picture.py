#!/usr/bin/python3
"""Pictures between cernita and tifffile, both ways. A line per picture:

    NAME pages samples height width dtype alpha FNV-1a

alpha is none, associated or unassociated; the sum is over all elements, little-endian, in the order
page, sample, row, column, the alpha counting as the last sample.

    check_picture.py make FOLDER     writes pictures with tifffile, and says what they hold
    check_picture.py show FILE...    says what tifffile finds in them
"""
import itertools
import os
import struct
import sys
import zlib

import numpy
import tifffile

ALPHAS = {1: "associated", 2: "unassociated"}
# (shape, keywords of imwrite, pages x samples x rows x columns as cernita has it)
SHAPES = [
    ((19, 37), {}, "yx"),
    ((5, 19, 37), dict(photometric="minisblack"), "pyx"),
    ((19, 37, 3), dict(photometric="rgb"), "yxs"),
    ((3, 19, 37), dict(photometric="rgb", planarconfig="separate"), "syx"),
    ((4, 19, 37, 3), dict(photometric="rgb"), "pyxs"),
    ((4, 19, 37), dict(photometric="rgb", planarconfig="separate",
                       extrasamples=["unassalpha"]), "syx"),
    ((2, 19, 37, 4), dict(photometric="rgb", extrasamples=["assocalpha"]), "pyxs"),
    ((19, 37, 2), dict(photometric="minisblack", planarconfig="contig",
                       extrasamples=["unassalpha"]), "yxs"),
    ((19, 37, 12), dict(photometric="minisblack", planarconfig="contig"), "yxs"),
]
WAYS = [
    {},
    dict(tile=(16, 32)),
    dict(bigtiff=True, rowsperstrip=7),
    dict(byteorder=">", rowsperstrip=3),
    dict(compression="zlib"),
    dict(compression="zlib", predictor=True, byteorder=">", tile=(16, 16)),
]


def fnv1a(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return value


def say(name, planes, alpha):
    """planes: page, sample, row, column, an alpha as the last sample"""
    pages, samples, height, width = planes.shape
    planes = planes.astype(planes.dtype.newbyteorder("<"))
    print(name, pages, samples - (alpha != "none"), height, width, planes.dtype.name, alpha,
          f"{fnv1a(planes.tobytes()):016x}", flush=True)


def in_order(array, axes):
    for axis in "ps":
        if axis not in axes:
            array, axes = array[numpy.newaxis], axis + axes
    return array.transpose([axes.index(axis) for axis in "psyx"])


def values(random, shape, dtype):
    if numpy.dtype(dtype).kind == "u":
        return random.integers(0, numpy.iinfo(dtype).max, shape, dtype, endpoint=True)
    return random.normal(size=shape).astype(dtype)


def save_with_float_predictor(path, array, order):
    """What tifffile cannot write by itself: bytes of a row by significance, then differences."""
    height, width = array.shape
    size = array.dtype.itemsize
    rows = array.astype(array.dtype.newbyteorder(">")).view(numpy.uint8)
    rows = rows.reshape(height, width, size).transpose(0, 2, 1).reshape(height, -1)
    rows = numpy.diff(rows, axis=1, prepend=numpy.zeros((height, 1), numpy.uint8))
    data = zlib.compress(rows.astype(numpy.uint8).tobytes())
    data += b"\0" * (len(data) % 2)
    entries = [(256, width), (257, height), (258, 8 * size), (259, 8), (262, 1), (273, 8), (277, 1),
               (278, height), (279, len(data)), (317, 3), (339, 3)]
    with open(path, "wb") as file:
        file.write({"<": b"II*\0", ">": b"MM\0*"}[order] + struct.pack(order + "I", 8 + len(data)))
        file.write(data + struct.pack(order + "H", len(entries)))
        for tag, value in entries:
            file.write(struct.pack(order + "HHII", tag, 4, 1, value))
        file.write(struct.pack(order + "I", 0))


def make(folder):
    random = numpy.random.default_rng(1)
    dtypes = [numpy.uint8, numpy.uint16, numpy.float16, numpy.float32]
    for i, ((shape, about, axes), way, dtype) in enumerate(
            itertools.product(SHAPES, WAYS, dtypes)):
        if "predictor" in way and numpy.dtype(dtype).kind == "f":
            continue
        name = f"{i}.tif"
        array = values(random, shape, dtype)
        tifffile.imwrite(os.path.join(folder, name), array, **about, **way)
        alpha = about.get("extrasamples", ["none"])[0]
        say(name, in_order(array, axes),
            {"none": "none", "unassalpha": "unassociated", "assocalpha": "associated"}[alpha])
    for order, dtype in itertools.product("<>", dtypes[2:]):
        name = f"predictor{'<>'.index(order)}{numpy.dtype(dtype).name}.tif"
        array = values(random, (19, 37), dtype)
        save_with_float_predictor(os.path.join(folder, name), array, order)
        say(name, in_order(array, "yx"), "none")


def show(path):
    with tifffile.TiffFile(path) as file:
        assert not file.is_bigtiff
        pages = []
        for page in file.pages:
            array = page.asarray()
            pages.append(in_order(array, "yx" if page.samplesperpixel == 1 else "yxs")[0])
            colours = 3 if page.photometric == tifffile.PHOTOMETRIC.RGB else 1
            assert len(page.extrasamples) == page.samplesperpixel - colours, page
            assert page.compression == 1 and page.is_contiguous, page
        alpha = ALPHAS.get(int(page.extrasamples[-1]) if page.extrasamples else 0, "none")
        assert len(file.series) == 1, "the pages are one series"
    say(os.path.basename(path), numpy.stack(pages), alpha)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        for one in sys.argv[2:]:
            show(one)
