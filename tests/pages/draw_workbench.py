#!/usr/bin/python3
"""Draws tools/workbench/workbench.png: the workbench's page after contours of a generated field.

    tests/pages/draw_workbench.py --bin build/bin
"""
from browser import Browser
from picture import draw_picture
from workbench_page import ROOT, Page, Workbench

PICTURE = ROOT / "tools/workbench/workbench.png"
SCREEN = (1280, 900)


def draw(programs, folder):
    workbench, browser = Workbench(programs), Browser()
    try:
        browser.resize(*SCREEN)
        page = Page(browser, programs, folder)
        page.start(f"{workbench.address}#page.picture=field:8:7:0.5&operator.operator=contours&operator.level=128")
        page.wait_picture("field-8-7")
        page.run()
        browser.wait("warm times", lambda: "median" in browser.text("#output-caption"))
        browser.screenshot(PICTURE, SCREEN[1])
    finally:
        browser.close()
        workbench.close()


if __name__ == "__main__":
    draw_picture(__doc__, PICTURE, draw)
