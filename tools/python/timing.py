"""The timing loop of the benchmarks and experiments in Python, by the host's clock."""
import platform
import time

import numpy as np


def seconds(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def times_ms(call, least, most, budget_s=float("inf"), warm_up=1):
    """Times of at least so many calls, and of more while they take less than so many seconds."""
    for _ in range(warm_up):
        call()
    spent = []
    while len(spent) < least or (sum(spent) < budget_s and len(spent) < most):
        spent.append(seconds(call))
    return np.array(spent) * 1e3


def processor():
    """Its model."""
    try:
        with open("/proc/cpuinfo", encoding="ascii") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()
