#!/usr/bin/python3
"""A sender or a grader as a process of its own, for check_faults.py: killed, stopped, or beyond a network.

    peer.py send ENDPOINT FILE EPOCH RATE    # a line for each fruit whose views ZeroMQ has taken, until SIGTERM
    peer.py grade ENDPOINT FILE PAUSE_S      # a line for each verdict that came

Files are appended to, without a buffer: what is in them happened, whatever became of the process.
"""
import itertools
import json
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "monitor"))
from live_line import CLASSES, VIEWS  # noqa: E402 finds the packages that follow

import numpy as np  # noqa: E402
import zmq  # noqa: E402
from cernita._line.wire import pack_header  # noqa: E402
from sender import make_view  # noqa: E402

LINGER_MS = 20000


def open_socket(kind, endpoint):
    # Without a connection nothing is taken: what a dead one had is lost, and no more.
    made = zmq.Context.instance().socket(kind)
    made.setsockopt(zmq.IMMEDIATE, 1)
    made.setsockopt(zmq.LINGER, LINGER_MS)
    made.setsockopt(zmq.SNDHWM, 8)
    made.setsockopt(zmq.RCVHWM, 1)
    made.setsockopt(zmq.RECONNECT_IVL, 50)
    # As programs beyond a network should: a connection that is dead without a word is given up.
    made.setsockopt(zmq.HEARTBEAT_IVL, 500)
    made.setsockopt(zmq.HEARTBEAT_TIMEOUT, 1500)
    made.connect(endpoint)
    return made


def send(endpoint, file, epoch, rate):
    outgoing, ended = open_socket(zmq.PUSH, endpoint), []
    signal.signal(signal.SIGTERM, lambda *unused: ended.append(1))
    rng = np.random.default_rng(1)
    pool = [make_view(rng, len(CLASSES), 48, 64)[0] for _ in range(2 * VIEWS + 1)]
    sequence, next_s = 0, time.monotonic()
    for fruit in itertools.count():
        for view in range(VIEWS):
            maps = pool[sequence % len(pool)]
            header = pack_header(maps, layout="hwc", classes=CLASSES, intensity=False, lane=0, epoch=epoch,
                                 sequence=sequence, fruit=fruit, view=view, views=VIEWS, captured_ns=0, deadline_ns=0,
                                 encoder=0)
            while not outgoing.poll(100, zmq.POLLOUT):
                if ended:
                    return
            outgoing.send_multipart([header, maps.tobytes()])
            sequence += 1
            time.sleep(0.1 / rate)
        os.write(file, json.dumps([epoch, fruit, time.monotonic()]).encode() + b"\n")
        if ended:
            return
        next_s = max(next_s + 1 / rate, time.monotonic())
        time.sleep(max(0.0, next_s - time.monotonic()))


def grade(endpoint, file, pause_s):
    incoming = open_socket(zmq.PULL, endpoint)
    while True:
        topic, verdict = incoming.recv_multipart()
        if topic.startswith(b"fruit/"):
            told = json.loads(verdict)
            os.write(file, json.dumps([told["run"], told["epoch"], told["fruit"], told["sequence"], told["verdict"],
                                       told["stale"], time.monotonic()]).encode() + b"\n")
            time.sleep(pause_s)


def main():
    role, endpoint, path, *numbers = sys.argv[1:]
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    if role == "send":
        send(endpoint, file, int(numbers[0]), float(numbers[1]))
    else:
        grade(endpoint, file, float(numbers[0]))
    zmq.Context.instance().term() # what was taken is on its way, or LINGER_MS have passed


if __name__ == "__main__":
    main()
