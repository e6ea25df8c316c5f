#!/usr/bin/env python3
"""Receives cernitad's verdicts: the starting point for a grader, or for a viewer, over cernita.Verdicts.

The grader (the default) is the one reader that decides for the ejector: it gets every verdict.
Viewers (--viewer) may be many, and lose verdicts when they are slow. Yours are decide(), and what
fail_safe() does.
"""
import argparse
import logging
import math
import os
import queue
import sys
import threading
import time

try:
    import msgpack  # noqa: F401
    import numpy as np  # noqa: F401
    import zmq  # noqa: F401
except ImportError as fault:
    sys.exit(f"subscriber.py: {sys.executable} has no module '{fault.name}': install Debian's "
             "python3-msgpack, python3-numpy and python3-zmq, and start it with /usr/bin/python3")

from cernita import Alive, Silence, Unreadable, Verdict, Verdicts

REJECTED_PX = 50  # a fruit with more than this area of the classes of --reject goes


def decide(verdict, rejected):
    """"keep", "reject", or "fail-safe" for a fruit of which is not known in time what it is."""
    if verdict.fail_safe():
        return "fail-safe"  # nobody has looked at it in time, or not for these classes, or an area is NaN
    if sum(verdict.totals[name].area_px for name in rejected) > REJECTED_PX:
        return "reject"
    # "partial": something was not looked at, or could not be (view_states say what and why). What
    # was found is bad or not; the rest is unknown.
    return "keep" if verdict.kind == "complete" else "fail-safe"


def fail_safe(reason):
    """The line is silent: from now on every fruit on the belt is one that nobody has looked at. A
    machine tells its ejector so here (and its operator), until a verdict comes again."""
    say(f"FAIL-SAFE: {reason}")


texts = queue.Queue(1000)  # to be printed
lost_text = threading.Event()


def say(text):
    """Prints beside the decisions: the ejector does not wait for a terminal that has stopped."""
    try:
        texts.put_nowait(text)
    except queue.Full:  # nobody reads them
        pass


def print_texts():
    """On a thread of its own, until None comes. What a full disk or a closed pipe does not take is
    lost, which stderr is told once."""
    while (text := texts.get()) is not None:
        try:
            write(text + "\n")
        except OSError as fault:
            if not lost_text.is_set():
                lost_text.set()
                warn(f"stdout: {fault}: decisions go on, what is printed is lost")


def write(text):
    """Past sys.stdout's buffer, which would keep what cannot be written."""
    if sys.stdout:  # None: closed before the start
        rest = text.encode(sys.stdout.encoding, "backslashreplace")
        while rest:
            rest = rest[os.write(sys.stdout.fileno(), rest):]


def warn(text):
    try:
        if sys.stderr:
            print(f"subscriber.py: {text}", file=sys.stderr, flush=True)
    except OSError:  # that one cannot be written either
        pass


class Notices(logging.Handler):
    """What the package warns of, such as a class that was not looked for."""

    def emit(self, record):
        say(record.getMessage())


def show(verdict, decision):
    total_ms = verdict.message.get("latency_ms", {}).get("total", math.nan)
    budget_ms = verdict.message.get("budget_ms", math.nan)
    missing = [f"not looked for: {', '.join(verdict.missing_classes)}"] if verdict.missing_classes else []
    found = ", ".join(f"{total.count} {name}" for name, total in verdict.totals.items() if total.count)
    say(f"lane {verdict.lane} fruit {verdict.fruit}: {decision} "
        f"({verdict.kind}, {total_ms:.1f} of {budget_ms} ms"
        f"{', OVER BUDGET' if total_ms > budget_ms else ''}"
        f"{', stale' if verdict.stale else ''}): "
        f"{'; '.join([found or 'no defects'] + missing + verdict.views_not_whole())}")


def handle_verdict(verdict, options):
    decision = decide(verdict, options.reject)  # before all that can wait: the ejector cannot
    behind_s = (time.time_ns() - verdict.published_ns) / 1e9  # by both hosts' clocks
    if options.viewer and behind_s > options.snail:
        sys.exit(f"subscriber.py: {behind_s:.1f} s behind: too slow for this line")
    if verdict.lost:
        say(f"lane {verdict.lane}: {verdict.lost} verdicts lost before this one")
    show(verdict, decision)


def handle(message, options):
    if isinstance(message, Verdict):
        handle_verdict(message, options)
    elif isinstance(message, Alive):
        for lane, lost in message.lost.items():
            say(f"lane {lane}: {lost} verdicts lost, after which none came: fail-safe for their fruits")
    elif isinstance(message, Unreadable):
        say(f"{message.topic}: fail-safe (cannot be read: {message.fault})")


def read_options():
    parser = argparse.ArgumentParser(description="Receives cernitad's verdicts.", allow_abbrev=False)
    parser.add_argument("--viewer", action="store_true", help="connect beside the grader, as a viewer")
    parser.add_argument("--from", dest="endpoint", help="publish.grader.bind, or publish.viewers.bind")
    parser.add_argument("--reject", default="rot,mould", metavar="CLASS,…",
                        help="the classes that a fruit must not have (rot,mould); where one of them "
                             "has no level in the daemon's file or recipe, fruits are fail-safe")
    parser.add_argument("--count", type=int, default=0, help="end after so many verdicts")
    parser.add_argument("--alive-ms", type=int, default=0, metavar="MS",
                        help="publish.grader.alive_ms of the daemon's file: detects silence before "
                             "its first message, too (0: as the daemon announces)")
    parser.add_argument("--snail", type=float, default=5, metavar="S",
                        help="exit if more than S seconds behind, as a viewer")
    parser.add_argument("--key", metavar="FILE",
                        help="this client's secret key, where the daemon requires keys")
    parser.add_argument("--server-key", metavar="FILE", help="with --key: the line's server.pub")
    options = parser.parse_args()
    options.reject = options.reject.split(",")
    if "" in options.reject:
        parser.error("--reject is one class or more, with commas between them")
    options.endpoint = options.endpoint or f"tcp://127.0.0.1:{5557 if options.viewer else 5556}"
    if not 0 <= options.alive_ms < 2**31:
        parser.error("--alive-ms is 0 or more")
    return options


def connect(options):
    try:
        return Verdicts(options.endpoint, grader=not options.viewer, classes=options.reject,
                        alive_ms=options.alive_ms, key=options.key, server_key=options.server_key)
    except (OSError, ValueError) as fault:
        named = f"--from '{options.endpoint}'" if str(fault).startswith("address") else "--key, --server-key"
        sys.exit(f"subscriber.py: {named}: {fault}")


def receive_all(verdicts, options):
    silent = False
    while not options.count or verdicts.count < options.count:
        message = verdicts.receive()
        if isinstance(message, Silence):
            fail_safe(f"nothing from {options.endpoint} for {message.ms} ms")
        elif silent:
            say("the line speaks again")
        silent = verdicts.silent
        try:
            handle(message, options)
        except Exception as fault:  # whatever a verdict holds: it may not end a grader
            say(f"{message!r}: fail-safe ({fault!r})")
        if options.viewer and lost_text.is_set():  # it only prints
            break


def main():
    options = read_options()
    logging.getLogger("cernita").addHandler(Notices())
    verdicts = connect(options)
    printing = threading.Thread(target=print_texts, daemon=True)
    printing.start()
    try:
        receive_all(verdicts, options)
    except KeyboardInterrupt:
        pass
    say(f"{verdicts.count} verdicts, {verdicts.lost} lost"
        + (f", {verdicts.unreadable} unreadable" if verdicts.unreadable else ""))
    say(None)
    printing.join(2)


if __name__ == "__main__":
    main()
