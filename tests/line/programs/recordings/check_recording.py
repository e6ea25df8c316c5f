#!/usr/bin/python3
"""Opens a recording with tifffile, as anybody would, and checks that it shows all there is.

Per view one CYX series with every field of the view's header, and one YX series for its
photograph. Prints a line per view: sequence, and FNV-1a 64 of the bytes that were on the wire.

    check_recording.py RECORDING
"""
import sys

import numpy
import tifffile

FIELDS = {"sequence", "epoch", "fruit", "captured_ns", "deadline_ns", "encoder", "lane", "view",
          "views", "height", "width", "channels", "flags", "class_set", "arrived_ns"}
DTYPES = {"u8": numpy.uint8, "f16": numpy.float16, "f32": numpy.float32}


def fnv1a(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return value


def check(path):
    with tifffile.TiffFile(path) as file:
        about = iter(zip(file.series, file.shaped_metadata))
        for series, fields in about:
            assert series.axes == "CYX", series
            assert list(series.shape) == fields["shape"], (series, fields)
            assert FIELDS <= fields.keys(), FIELDS - fields.keys()
            assert all(isinstance(fields[name], int) for name in FIELDS), fields
            assert fields["shape"] == [fields["channels"], fields["height"], fields["width"]]
            maps = series.asarray()
            assert maps.dtype == DTYPES[fields["dtype"]], (maps.dtype, fields)
            wire = maps if fields["layout"] == "CHW" else maps.transpose(1, 2, 0)
            data = wire.tobytes()
            if fields["flags"] & 1:
                series, photograph = next(about)
                assert series.axes == "YX" and series.dtype == numpy.uint8, series
                assert photograph["intensity"] is True, photograph
                assert photograph["shape"] == fields["shape"][1:], photograph
                data += series.asarray().tobytes()
            print(fields["sequence"], f"{fnv1a(data):016x}")


if __name__ == "__main__":
    check(sys.argv[1])
