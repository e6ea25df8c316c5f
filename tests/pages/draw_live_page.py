#!/usr/bin/python3
"""Draws the picture of the live page that the READMEs show, src/monitor/http/live.png.

    tests/pages/draw_live_page.py --bin build/bin

A daemon sorts synthetic fruits of four lanes for a minute, so that the last minute is full.
"""
import pathlib
import subprocess
import time

from browser import Browser
from live.daemon import VIEWS, Daemon
from picture import draw_picture

PICTURE = pathlib.Path(__file__).resolve().parents[2] / "src/monitor/http/live.png"
LANES, FRUITS = 4, 120
SCREEN = (1280, 900)
HEIGHT = 1310 # of the picture: the overview, the outlets, and the first of the last fruits

# How many views have theirs.
PHOTOGRAPHS = """
    const loaded = new Set(performance.getEntriesByType('resource').filter((e) => e.responseEnd > 0).map((e) => e.name));
    return [...document.querySelectorAll('[data-fruit] .view image')]
        .filter((e) => loaded.has(new URL(e.href.baseVal, location).href)).length"""


def draw(programs, folder):
    recording = folder / "lanes.tif"
    subprocess.run([programs / "cernita-synth", recording, "--views", str(VIEWS), "--fruits", str(FRUITS),
                    "--lanes", str(LANES)], check=True, stdout=subprocess.DEVNULL)
    # A busy machine keeps these times, too.
    patient = {"latency": {"budget_ms": 5000, "assemble_ms": 4000}, "limits": {"slots": 200}}
    line, browser = Daemon(folder, programs, **patient), Browser()
    try:
        line.sort()
        line.replay(recording, "--loop", 0)
        browser.resize(*SCREEN)
        browser.open(line.address)
        time.sleep(60)
        browser.wait("a line without conditions", lambda: browser.text("#headline") == "Sorting normally", 60)
        browser.wait("six fruits with their photographs", lambda: browser.run(PHOTOGRAPHS) == 6 * VIEWS)
        browser.screenshot(PICTURE, HEIGHT)
    finally:
        browser.close()
        line.close()


if __name__ == "__main__":
    draw_picture(__doc__, PICTURE, draw)
