#!/usr/bin/python3
"""Views to a line on the same machine without a copy: producer.py SOCKET sends a fruit of two views, of the classes
background and rot. SOCKET: ingest.slots.path of the line."""
import sys

import numpy as np
from cernita import Line

y, x = np.indices((95, 511))
rot = np.where((x - 60) ** 2 + (y - 40) ** 2 < 100, np.float32(0.9), np.float32(0.1))

with Line(slots=sys.argv[1], classes=["background", "rot"], views=2, shape=(95, 511, 2)) as line:
    if not line.wait(5):
        sys.exit(line.fault)
    for view in range(2):
        with line.slot(fruit=1, view=view) as slot:
            slot.maps[..., 1], slot.maps[..., 0] = rot, 1 - rot
