#!/usr/bin/env python3
"""Sends class-probability maps to cernitad, as a CNN does: a program over the package's cernita.Line.

It generates something to send, or takes it from files, and tries a line out (--test: sender_test.py).
"""
import argparse
import math
import os
import sys
import time

try:
    import numpy as np
    import zmq  # noqa: F401
except ImportError as fault:
    sys.exit(f"sender.py: {sys.executable} has no module '{fault.name}': install Debian's "
             "python3-numpy and python3-zmq, and start it with /usr/bin/python3")

from cernita import Line
from cernita._line.wire import check_maps, check_pose

STATUS_S = 5.0
CLASSES = ("background,rot,rust,fresh hail,healed hail,picking damage,transport damage,"
           "bruise,mould,stem,calyx,roller")  # those of config/line.yaml



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


def read_options():
    parser = argparse.ArgumentParser(description="Sends views to cernitad, as a CNN does.",
                                     allow_abbrev=False)
    parser.add_argument("files", nargs="*", metavar="FILE.npy",
                        help="maps[height, width, class]; views take them in turn (none: generated)")
    parser.add_argument("--to", default="tcp://127.0.0.1:5555", help="the daemon's ingest.bind")
    parser.add_argument("--views", type=int, default=4, help="of a fruit")
    parser.add_argument("--fruits", type=int, default=0, help="how many; 0: until stopped")
    parser.add_argument("--rate", type=float, default=10, help="fruits per second")
    parser.add_argument("--lane", type=int, default=0)
    parser.add_argument("--classes", default=CLASSES, help="in channel order, with commas")
    parser.add_argument("--size", default="511x95", metavar="WxH", help="of generated views")
    parser.add_argument("--pose", metavar="X,Y,RX,RY",
                        help="where every view shows the fruit, in pixels: for a line with section geometry whose sender "
                             "knows it (none: the daemon looks for it in the photographs)")
    parser.add_argument("--roll", type=float, metavar="DEG",
                        help="with --pose: how far the fruit rolls from view to view (360/VIEWS)")
    parser.add_argument("--wait", type=float, default=5, metavar="S",
                        help="give up with status 1 if no daemon answers for S seconds at the start")
    parser.add_argument("--linger", type=float, default=10, metavar="S",
                        help="at the end, time for the daemon to take the last views")
    parser.add_argument("--test", action="store_true",
                        help="send two fruits and show what became of them, and why. The grader gets "
                             "their verdicts too: not while the machine sorts")
    parser.add_argument("--viewers", metavar="ENDPOINT",
                        help="the daemon's publish.viewers.bind: tells which views it refuses, and why "
                             "(with --test: tcp://127.0.0.1:5557 by default)")
    parser.add_argument("--key", metavar="FILE",
                        help="this client's secret key, where the daemon requires keys")
    parser.add_argument("--server-key", metavar="FILE", help="with --key: the line's server.pub")
    options = parser.parse_args()
    if options.test:
        options.viewers = options.viewers or "tcp://127.0.0.1:5557"
    if not 1 <= options.views <= 64 or options.rate <= 0 or not 0 <= options.lane < 2**32:
        parser.error("--views is 1 to 64, --rate above 0, --lane 0 to 4294967295")
    try:
        centre = check_pose(options.pose and (*options.pose.split(","), 0))
    except (TypeError, ValueError):
        parser.error(f"--pose '{options.pose}' is not X,Y,RX,RY, such as 255,47,40,40")
    if options.roll is not None and not centre:
        parser.error("--roll goes with --pose")
    step_rad = math.radians(360 / options.views if options.roll is None else options.roll)
    options.poses = [(*centre[:4], view * step_rad) if centre else None for view in range(options.views)]
    return options


def load_maps(name, classes):
    try:
        maps = np.load(name)
    except (OSError, ValueError, EOFError) as fault:
        sys.exit(f"sender.py: {name}: {fault}; a file of numpy.save is expected")
    if not isinstance(maps, np.ndarray):
        sys.exit(f"sender.py: {name}: several arrays; a file of numpy.save, which holds one, is expected")
    try:
        check_maps(maps, classes, "hwc")
    except (TypeError, ValueError) as fault:
        sys.exit(f"sender.py: {name}: {fault} (--classes has {len(classes)})")
    return maps


def make_pool(options, classes):
    """The views that are sent round and round: maps and photograph each."""
    rng = np.random.default_rng(options.lane)
    if options.files:
        return [(load_maps(name, classes), None) for name in options.files]
    fruits = min(4, options.fruits or 4)
    count = 2 if options.test else fruits * options.views  # two: alike, a hanging CNN's are
    try:
        width, height = (int(side) for side in options.size.split("x"))
        if not width or not height:
            raise ValueError
        return [make_view(rng, len(classes), height, width) for _ in range(count)]
    except ValueError:
        sys.exit(f"sender.py: --size '{options.size}' is not WIDTHxHEIGHT, such as 511x95")


def say(text, stream):
    """Prints past the stream's buffer: a full disk or a closed pipe takes the text, not the views."""
    try:
        if stream:  # None: closed before the start
            os.write(stream.fileno(), (text + "\n").encode(stream.encoding, "backslashreplace"))
    except OSError:
        pass


def report_absent(line):
    """Unless the Line has told why."""
    if not line.fault:
        say(f"sender.py: no daemon answers at {line.address}: start cernitad, or name its ingest.bind with "
            "--to (one with access.keys answers only to --key); no view is sent until then", sys.stderr)


def await_daemon(line, wait_s):
    """Reports at once if no daemon answers, and gives up after wait_s, or where it will never let this one in."""
    end = time.monotonic() + wait_s
    if not line.wait(min(0.3, wait_s)):
        report_absent(line)
        while not line.wait(0 if line._socket.handshakes.final else max(0, end - time.monotonic())):
            if time.monotonic() >= end or line._socket.handshakes.final:
                line.close(0)
                sys.exit(1)


def connect(options, classes):
    try:
        return Line(options.to, lane=options.lane, views=options.views, classes=classes,
                    status=None if options.test else options.viewers,
                    key=options.key, server_key=options.server_key)
    except (OSError, ValueError) as fault:
        argument = str(fault).partition(" ")[0]
        named = {"address": f"--to '{options.to}'", "status": "--viewers"}.get(argument, "--key, --server-key")
        sys.exit(f"sender.py: {named}: {fault}")


def await_status(line):
    """Waits for the daemon's first status: views that it refuses before are not counted."""
    if not line._refusals.heard.wait(STATUS_S):
        say(f"sender.py: no status from {line._refusals.address}: name the daemon's publish.viewers.bind with --viewers",
            sys.stderr)


def hear_refusals(line):
    """Waits for two of the daemon's statuses, which come once a second: the first may be older than the last view.
    Returns how many views the daemon refused."""
    told, end = line._refusals, time.monotonic() + STATUS_S
    last = told.statuses + 2
    while (told.heard.is_set() and told.statuses < last and sum(line.refused.values()) < line.sequence
           and time.monotonic() < end):
        time.sleep(0.02)
    return sum(line.refused.values())


def main():
    options = read_options()
    classes = options.classes.split(",")
    pool = make_pool(options, classes)
    line = connect(options, classes)
    await_daemon(line, options.wait)
    if options.test:
        from sender_test import try_out
        sys.exit(try_out(line, pool, options))
    if options.viewers:
        await_status(line)
    refused, start, connected = 0, time.monotonic(), True
    try:
        while not options.fruits or line.sequence < options.fruits * options.views:
            time.sleep(max(0, start + line.sequence / options.views / options.rate - time.monotonic()))
            maps, photo = pool[line.sequence % len(pool)]  # here: your CNN's output for a photograph
            fruit, view = divmod(line.sequence, options.views)
            refused += not line.send(maps, fruit=fruit, view=view, intensity=photo,
                                     captured_ns=time.time_ns(), pose=options.poses[view])
            if connected and not line.connected:
                report_absent(line)
            connected = line.connected
    except KeyboardInterrupt:
        pass
    by_daemon = hear_refusals(line) if options.viewers and line.connected else 0
    lost = line.close(options.linger)
    say(f"{line.sequence - refused - lost} views sent, {refused} not taken"
        + (f", {lost} taken but perhaps not delivered" if lost else "")
        + (f", {by_daemon} refused by the daemon" if by_daemon else ""), sys.stdout)
    sys.exit(1 if refused or lost or by_daemon else 0)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:  # while it waited for the daemon
        sys.exit(130)
