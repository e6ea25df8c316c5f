#!/usr/bin/env python3
"""Sends class-probability maps to cernitad, as a CNN does: the starting point for yours.

Take send_view() and open_socket() over; what stands below them generates something to send.
"""
import argparse
import struct
import sys
import time

import numpy as np
import zmq

HEADER = struct.Struct("<4sHHQQQQQQIHHIIIBBHQQ32x")  # little-endian, 128 bytes
DTYPES = {np.dtype("u1"): 1, np.dtype("<f2"): 2, np.dtype("<f4"): 3}
HWC = 2
CLASSES = ("background,rot,rust,fresh hail,healed hail,picking damage,transport damage,"
           "bruise,mould,stem,calyx,roller")  # those of config/line.yaml


def class_set(names):
    """FNV-1a 64 of the names: the daemon refuses maps whose classes are not its file's."""
    value = 0xCBF29CE484222325
    for byte in "\n".join(names).encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def open_socket(endpoint):
    """One PUSH socket a lane, for the whole run."""
    socket = zmq.Context.instance().socket(zmq.PUSH)
    socket.setsockopt(zmq.SNDHWM, 8)  # few wait here: old views are of no use to the ejector
    socket.setsockopt(zmq.IMMEDIATE, 1)  # nothing is queued for a daemon that is not there
    socket.setsockopt(zmq.SNDTIMEO, 1000)
    socket.setsockopt(zmq.LINGER, 1000)
    socket.connect(endpoint)
    return socket


def send_view(socket, maps, *, lane, epoch, sequence, fruit, view, views, classes=(),
              intensity=None, captured_ns=0, deadline_ns=0, encoder=0):
    """Sends one view: maps[height, width, class] as u8 (p = v/255), f16 or f32, and the grey
    photograph as u8[height, width] if there is one. False: the daemon did not take it in time.
    Maps are probabilities, 0 to 1: after softmax or sigmoid, and for u8 a mask times 255. A view
    with other values in a class that has a level makes its fruit partial; the daemon's log says why.

    sequence: +1 with every view of the lane, whether it was taken or not (so that a loss shows);
    epoch: any number that is another one after every start; fruit: an id, the same for its views;
    captured_ns: when it was exposed, in ns since 1970; deadline_ns: when the verdict must be out
    (0: the daemon's budget decides); encoder: the belt's position, handed through to the verdict."""
    maps = np.ascontiguousarray(maps)
    height, width, channels = maps.shape
    header = HEADER.pack(
        b"CRN1", HEADER.size, 1 if intensity is not None else 0, sequence, epoch, fruit,
        captured_ns, deadline_ns, encoder, lane, view, views, height, width, channels,
        DTYPES[maps.dtype], HWC, 0, class_set(classes) if classes else 0, maps.nbytes)
    parts = [header, maps]
    if intensity is not None:
        parts.append(np.ascontiguousarray(intensity, dtype=np.uint8))
    try:
        socket.send_multipart(parts)  # copied, so that maps may be written again at once
    except zmq.Again:
        return False
    return True


def make_view(rng, channels, height=95, width=511):
    """Maps with a few blobs on channel 0 as the ground, and a photograph of them."""
    y, x = np.mgrid[:height, :width].astype(np.float32)
    maps = np.zeros((height, width, channels), np.float32)
    for _ in range(rng.integers(3, 9) if channels > 1 else 0):
        a, b = rng.uniform(3, 15, 2)
        r = np.hypot((x - rng.uniform(0, width)) / a, (y - rng.uniform(0, height)) / b)
        channel = rng.integers(1, channels)
        maps[..., channel] = np.maximum(maps[..., channel], 1 / (1 + np.exp(8 * np.minimum(r, 9) - 8)))
    maps /= np.maximum(maps.sum(axis=2, keepdims=True), 1)
    maps[..., 0] = 1 - maps[..., 1:].sum(axis=2)
    return maps, (60 + 140 * maps[..., 0]).astype(np.uint8)


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False, description="Sends views to cernitad, as a CNN does.")
    parser.add_argument("files", nargs="*", metavar="FILE.npy",
                        help="maps[height, width, class]; views take them in turn (none: generated)")
    parser.add_argument("--to", default="tcp://127.0.0.1:5555", help="the daemon's ingest.bind")
    parser.add_argument("--views", type=int, default=4, help="of a fruit")
    parser.add_argument("--fruits", type=int, default=0, help="how many; 0: until stopped")
    parser.add_argument("--rate", type=float, default=10, help="fruits per second")
    parser.add_argument("--lane", type=int, default=0)
    parser.add_argument("--classes", default=CLASSES, help="in channel order, with commas")
    options = parser.parse_args()

    classes = options.classes.split(",")
    rng = np.random.default_rng(options.lane)
    if options.files:
        try:
            pool = [(np.load(name), None) for name in options.files]
        except (OSError, ValueError) as fault:
            sys.exit(f"sender.py: {fault}; files of numpy.save are expected")
    else:
        pool = [make_view(rng, len(classes)) for _ in range(4 * options.views)]
    for maps, _ in pool:
        if maps.ndim != 3 or maps.shape[2] != len(classes) or maps.dtype not in DTYPES:
            sys.exit(f"sender.py: maps are {maps.dtype}{list(maps.shape)}, expected u8, f16 or f32 "
                     f"[height, width, {len(classes)}] for the {len(classes)} --classes")

    socket = open_socket(options.to)
    epoch, sequence, lost, start = time.time_ns(), 0, 0, time.monotonic()
    try:
        while not options.fruits or sequence < options.fruits * options.views:
            time.sleep(max(0, start + sequence / options.views / options.rate - time.monotonic()))
            maps, photo = pool[sequence % len(pool)]  # here: what your CNN says of a photograph
            fruit, view = divmod(sequence, options.views)
            lost += not send_view(socket, maps, lane=options.lane, epoch=epoch, sequence=sequence,
                                  fruit=fruit, view=view, views=options.views, classes=classes,
                                  intensity=photo, captured_ns=time.time_ns())
            sequence += 1
    except KeyboardInterrupt:
        pass
    print(f"{sequence - lost} views sent, {lost} not taken")


if __name__ == "__main__":
    main()
