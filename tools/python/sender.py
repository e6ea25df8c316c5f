#!/usr/bin/env python3
"""Sends class-probability maps to cernitad, as a CNN does: the starting point for yours.

Take class_set() and Sender over; what stands below them generates something to send, and tries it
out (--test: sender_test.py).
"""
import argparse
import collections
import struct
import sys
import time

try:
    import numpy as np
    import zmq
    from zmq.utils.monitor import recv_monitor_message
except ImportError as fault:
    sys.exit(f"sender.py: {sys.executable} has no module '{fault.name}': install Debian's "
             "python3-numpy and python3-zmq, and start it with /usr/bin/python3")

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


def check_view(maps, classes=(), intensity=None):
    """Raises TypeError or ValueError, with the cure, for what the daemon would refuse or misread."""
    if not isinstance(maps, np.ndarray):
        raise TypeError(f"maps must be a numpy array, not {type(maps).__name__}; a tensor's "
                        ".cpu().numpy() is one")
    if isinstance(classes, str):
        raise TypeError("classes must be a list of names, not one text; classes.split(',') makes one")
    if maps.ndim != 3 or (classes and maps.shape[2] != len(classes)):
        first = maps.ndim == 3 and maps.shape[0] == len(classes)
        raise ValueError(
            f"maps must be [height, width, {len(classes) or 'class'}], one channel for each class, "
            f"not {list(maps.shape)}" + ("; maps.transpose(1, 2, 0) puts the class last" if first else ""))
    if maps.dtype not in DTYPES:
        cure = ("255 * maps.astype('u1')" if maps.dtype == bool
                else "maps.astype('f4')" if maps.dtype.kind == "f"
                else "maps.astype('u1'), if 255 is certainty," if maps.dtype.kind in "iu" else "")
        raise TypeError(f"maps must be u8 (p = v/255), f16 or f32, not {maps.dtype}"
                        + (f"; {cure} makes them so" if cure else ""))
    if maps.size == 0:
        raise ValueError(f"maps must have no side of 0, not {list(maps.shape)}")
    if intensity is not None and not isinstance(intensity, np.ndarray):
        raise TypeError(f"intensity must be a numpy array, not {type(intensity).__name__}")
    if intensity is not None and (intensity.dtype != np.uint8 or intensity.shape != maps.shape[:2]):
        raise ValueError(f"intensity must be uint8{list(maps.shape[:2])}, as high and wide as the maps, "
                         f"not {intensity.dtype}{list(intensity.shape)}")


def use_keys(socket, key_file, server_key_file):
    """For a daemon with access.keys: key_file is this client's secret key, server_key_file the
    line's server.pub, both as cernita-keys made them. Before connect()."""
    def read(name):
        with open(name, encoding="ascii") as file:
            lines = [line.strip() for line in file]
        keys = [line.encode() for line in lines if len(line) == 40 and " " not in line]
        if len(keys) != 1:
            raise ValueError(f"{name}: a line with one key expected; cernita-keys makes such files")
        return keys[0]
    if not key_file or not server_key_file:
        raise ValueError("both files are needed: the client's key and the line's server.pub")
    secret = read(key_file)
    socket.curve_serverkey, socket.curve_secretkey = read(server_key_file), secret
    socket.curve_publickey = zmq.curve_public(secret)


class Sender:
    """The connection of one lane to the daemon, for the whole run, used by one thread.

    connected: a daemon answers; lost: views that were accepted but may not have arrived, because a
    connection ended while they were under way."""

    WAITING = 8  # few wait here: old views are of no use to the ejector

    def __init__(self, endpoint, patience_s=1.0, key=None, server_key=None):
        """patience_s: how long send_view() may wait for a connected daemon. key, server_key: files,
        where the daemon requires keys (access.keys)."""
        self.endpoint, self.connected, self.lost = endpoint, False, 0
        self._patience_ms = int(1000 * patience_s)
        self._under_way = collections.deque()
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.PUSH)
        self._socket.sndhwm = self.WAITING
        self._socket.immediate = 1  # nothing is queued while no daemon is connected
        self._socket.reconnect_ivl_max = 2000  # one that stays away is tried less and less often
        self._socket.copy_threshold = 0  # else small views would not be tracked
        self._monitor = self._socket.get_monitor_socket(
            zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED)
        if key or server_key:
            use_keys(self._socket, key, server_key)
        self._socket.connect(endpoint)

    def look(self, wait_s=0.0):
        """Learns of the daemon's coming and going; waits so long for news. Returns connected."""
        while self._monitor.poll(int(1000 * wait_s)):
            self.connected = (recv_monitor_message(self._monitor)["event"]
                              == zmq.EVENT_HANDSHAKE_SUCCEEDED)
            if not self.connected:
                self.lost += len(self._under_way)
                self._under_way.clear()
            wait_s = 0
        while self._under_way and self._under_way[0].done:
            self._under_way.popleft()
        return self.connected

    def send_view(self, maps, *, lane, epoch, sequence, fruit, view, views, classes=(),
                  intensity=None, captured_ns=0, deadline_ns=0, encoder=0):
        """Sends one view: maps[height, width, class] as u8 (p = v/255), f16 or f32, and the grey
        photograph as u8[height, width] if there is one. False: it was not accepted, at once
        without a daemon, or because the daemon did not accept it within patience_s.
        TypeError or ValueError: an argument is not what it must be.
        Maps are probabilities, 0 to 1: after softmax or sigmoid, and for u8 a mask times 255. A view
        with other values in a class that has a level makes its fruit partial; the daemon's log says
        why.

        sequence: +1 with every view of the lane, whether it was taken or not (so that a loss
        shows); epoch: any number that is another one after every start; fruit: an id, the same for
        its views; captured_ns: when it was exposed, in ns since 1970; deadline_ns: when the verdict
        must be out (0: the daemon's budget decides); encoder: the belt's position, handed through
        to the verdict."""
        check_view(maps, classes, intensity)
        if views and not 0 <= view < views:
            raise ValueError(f"view must be 0 to {views - 1}, as views is {views}, not {view}")
        height, width, channels = maps.shape
        try:
            header = HEADER.pack(
                b"CRN1", HEADER.size, 1 if intensity is not None else 0, sequence, epoch, fruit,
                captured_ns, deadline_ns, encoder, lane, view, views, height, width, channels,
                DTYPES[maps.dtype], HWC, 0, class_set(classes) if classes else 0, maps.nbytes)
        except struct.error as fault:
            raise ValueError(
                "sequence, epoch, fruit, captured_ns, deadline_ns and encoder must be whole numbers "
                f"from 0 to 2**64 - 1, lane to 2**32 - 1, view and views to 65535 ({fault})") from None
        if not self.look():
            return False
        parts = [header, np.array(maps, order="C")]  # copied: maps may be written again at once
        if intensity is not None:
            parts.append(np.array(intensity, dtype=np.uint8, order="C"))
        if not self._socket.poll(self._patience_ms, zmq.POLLOUT):
            return False
        try:
            self._under_way.append(
                self._socket.send_multipart(parts, zmq.DONTWAIT, copy=False, track=True))
        except zmq.Again:  # it left this very moment
            return False
        return True

    def close(self, patience_s=10.0):
        """Waits until the daemon has all that was taken, patience_s at most, and closes. Returns
        how many views did not arrive for certain."""
        end = time.monotonic() + patience_s
        while self.look() and self._under_way and time.monotonic() < end:
            time.sleep(0.005)
        self.look()
        self._socket.disable_monitor()
        self._monitor.close(0)
        self._socket.close(0 if self._under_way else 1000)
        self._context.term()
        return self.lost + len(self._under_way)


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
    parser.add_argument("--wait", type=float, default=5, metavar="S",
                        help="give up with status 1 if no daemon answers for S seconds at the start")
    parser.add_argument("--linger", type=float, default=10, metavar="S",
                        help="at the end, time for the daemon to take the last views")
    parser.add_argument("--test", action="store_true",
                        help="send two fruits and show what became of them, and why. The grader gets "
                             "their verdicts too: not while the machine sorts")
    parser.add_argument("--viewers", default="tcp://127.0.0.1:5557",
                        help="with --test: the daemon's publish.viewers.bind")
    parser.add_argument("--key", metavar="FILE",
                        help="this client's secret key, where the daemon requires keys")
    parser.add_argument("--server-key", metavar="FILE", help="with --key: the line's server.pub")
    options = parser.parse_args()
    if not 1 <= options.views <= 64 or options.rate <= 0 or not 0 <= options.lane < 2**32:
        parser.error("--views is 1 to 64, --rate above 0, --lane 0 to 4294967295")
    return options


def load_maps(name, classes):
    try:
        maps = np.load(name)
    except (OSError, ValueError, EOFError) as fault:
        sys.exit(f"sender.py: {name}: {fault}; a file of numpy.save is expected")
    if not isinstance(maps, np.ndarray):
        sys.exit(f"sender.py: {name}: several arrays; a file of numpy.save, which holds one, is expected")
    try:
        check_view(maps, classes)
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


def report_absent(endpoint):
    print(f"sender.py: no daemon answers at {endpoint}: start cernitad, or name its ingest.bind with "
          "--to (one with access.keys answers only to --key); no view is sent until then",
          file=sys.stderr, flush=True)


def await_daemon(sender, wait_s):
    """Reports at once if no daemon answers, and gives up after wait_s."""
    end = time.monotonic() + wait_s
    if not sender.look(min(0.3, wait_s)):
        report_absent(sender.endpoint)
        while not sender.look(max(0, end - time.monotonic())):
            if time.monotonic() >= end:
                sender.close(0)
                sys.exit(1)


def main():
    options = read_options()
    classes = options.classes.split(",")
    pool = make_pool(options, classes)
    try:
        sender = Sender(options.to, key=options.key, server_key=options.server_key)
    except (OSError, ValueError) as fault:
        sys.exit(f"sender.py: --key, --server-key: {fault}")
    except zmq.ZMQError as fault:
        sys.exit(f"sender.py: --to '{options.to}': {fault}; expected tcp://HOST:PORT or ipc://PATH")
    await_daemon(sender, options.wait)
    if options.test:
        from sender_test import try_out
        sys.exit(try_out(sender, pool, classes, options))
    epoch, sequence, refused, start, connected = time.time_ns(), 0, 0, time.monotonic(), True
    try:
        while not options.fruits or sequence < options.fruits * options.views:
            time.sleep(max(0, start + sequence / options.views / options.rate - time.monotonic()))
            maps, photo = pool[sequence % len(pool)]  # here: your CNN's output for a photograph
            fruit, view = divmod(sequence, options.views)
            refused += not sender.send_view(
                maps, lane=options.lane, epoch=epoch, sequence=sequence, fruit=fruit, view=view,
                views=options.views, classes=classes, intensity=photo, captured_ns=time.time_ns())
            sequence += 1
            if connected and not sender.connected:
                report_absent(options.to)
            connected = sender.connected
    except KeyboardInterrupt:
        pass
    lost = sender.close(options.linger)
    print(f"{sequence - refused - lost} views sent, {refused} not taken"
          + (f", {lost} taken but perhaps not delivered" if lost else ""))
    sys.exit(1 if refused or lost else 0)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:  # while it waited for the daemon
        sys.exit(130)
