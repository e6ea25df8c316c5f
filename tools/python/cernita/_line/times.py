"""Times that a sender gives with its views: CLOCK_REALTIME in ns."""
from __future__ import annotations

import time

FAR_NS = 10 * 10**9  # as the daemon's: a deadline further away is ignored

_UNITS = {"s": 10**9, "ms": 10**6, "µs": 10**3}
_QUARTER_NS = 15 * 60 * 10**9  # the offsets of all time zones are multiples


def _near(ns: int, now_ns: int) -> bool:
    return abs(ns - now_ns) < 365 * 86400 * 10**9


def doubt(ns: int) -> str:
    """Why a time is not close to now on CLOCK_REALTIME in ns, with the cure; "" if it is, or is 0 (not given).

    >>> doubt(time.time_ns() // 10**6)
    'is a time in ms; times 1000000 it is one in ns'
    >>> doubt(time.time_ns() - 3600 * 10**9)
    'is 1 h before now, as if by another time zone; time.time_ns() knows none'
    >>> doubt(time.time_ns()), doubt(0)
    ('', '')
    """
    now_ns = time.time_ns()
    away_ns = ns - now_ns
    if not ns or abs(away_ns) <= FAR_NS:
        return ""
    if abs(ns - time.monotonic_ns()) <= FAR_NS:
        return "is a time of CLOCK_MONOTONIC; time.time_ns() gives one of CLOCK_REALTIME"
    for unit, factor in _UNITS.items():
        if _near(ns * factor, now_ns):
            return f"is a time in {unit}; times {factor} it is one in ns"
    side = "before" if away_ns < 0 else "after"
    quarters = round(away_ns / _QUARTER_NS)
    if 0 < abs(quarters) <= 14 * 4 and abs(away_ns - quarters * _QUARTER_NS) <= FAR_NS:
        return f"is {abs(quarters) / 4:g} h {side} now, as if by another time zone; time.time_ns() knows none"
    return (f"is {abs(away_ns) / 1e9:.6g} s {side} now; CLOCK_REALTIME in ns is expected, and on several hosts clocks that "
            "are synchronised by PTP or NTP")
