"""Picture files and kernels of the package, and what internals.py adds to it for scripts: check_internals.py LIBRARY TOOLS_PYTHON

Prints what differs.
"""
import os
import sys

os.environ["CRN_LIBRARY"] = sys.argv[1]
sys.path.insert(0, sys.argv[2])

import internals
import numpy as np

import cernita

differing = []


def expect(name, fine):
    if not fine:
        differing.append(name)


maps = np.arange(24, dtype="f4").reshape(3, 4, 2)
np.save("maps.npy", maps)
expect("read", np.array_equal(cernita.read_picture("maps.npy"), maps))
np.save("grey.npy", maps[..., 0])
expect("read of one plane", cernita.read_picture("grey.npy").shape == (3, 4))
expect("kernel", np.array_equal(cernita.named_kernel("blur", 3), np.full((3, 3), np.float32(1 / 9))))
for name, call, kind, words in (("a missing file", lambda: cernita.read_picture("none.npy"), OSError, "none.npy"),
                                ("an unknown kernel", lambda: cernita.named_kernel("bx"), ValueError, "bx")):
    try:
        call()
        expect(f"{name} is refused", False)
    except kind as fault:
        expect(name, words in str(fault))
if cernita.missing("cuda") is None:
    cernita.haar(maps, 2, backend="cuda")
    expect("times on a device", all(ms > 0 for ms in internals.device_ms()))

print(f"differs: {', '.join(differing)}" if differing else "all as meant")
