"""The Calibrate mode of the workbench's page."""
import json
import subprocess

import numpy as np
from PIL import Image

from workbench_page import ROOT

BOARDS = ROOT / "tests" / "golden" / "calibration"


def show_calibrate(test, path, target, mm, language="en", theme="light"):
    """The mode with a picture, and its target found or refused."""
    test.page.start(f"{test.workbench.address}#page.mode=calibrate&calibrate.target={target}&calibrate.mm:={mm}", language, theme)
    test.page.open_file(path)
    test.browser.wait(f"{path.name} shown", lambda: test.browser.run(
        "const { mode } = document.getElementById('calibrate'); return mode.viewer.shown && !mode.run.disabled"))
    test.browser.run("document.querySelector('#calibrate .main-action').click()")
    test.browser.wait("an answer", lambda: test.browser.text("#calibrate pre") or test.browser.text("#calibrate [role=alert]"))


def printed(test, path, target, mm):
    """What cernita-calibrate prints, without the picture's folder."""
    done = subprocess.run([test.programs / "cernita-calibrate", path.name, f"--{target}", str(mm)], cwd=path.parent, capture_output=True,
                          text=True)
    return done.stdout, done.stderr


def disc_file(test):
    y, x = np.mgrid[0:200, 0:300]
    off = (1 - np.hypot((x - 140.5) / 80, (y - 98.25) / 80)) * 80
    path = test.folder / "disc.png"
    Image.fromarray((30 + 170 * np.clip(0.5 + off, 0, 1)).astype(np.uint8)).save(path)
    return path


def a_target_is_found_as_by_the_command(test):
    """The lines of a board and of a disc are cernita-calibrate's; corners and circle are drawn where they are."""
    for path, target, mm in ((BOARDS / "turned.png", "chequerboard", 10), (disc_file(test), "disc", 64)):
        show_calibrate(test, path, target, mm)
        wanted = printed(test, path, target, mm)[0]
        assert wanted and test.browser.text("#calibrate pre") == wanted, (test.browser.text("#calibrate pre"), wanted)
        found = json.loads(test.browser.run("return JSON.stringify(document.getElementById('calibrate').mode.found)"))
        places = ([(one["x"], one["y"]) for one in found["corners"]] if target == "chequerboard"
                  else [(found["disc"]["x"] + found["disc"]["rx"], found["disc"]["y"]), (found["disc"]["x"], found["disc"]["y"] - found["disc"]["ry"])])
        assert len(places) == (35 if target == "chequerboard" else 2)
        expect_drawn(test, places)
        test.keep(f"calibrate_{target}", both=True)


def expect_drawn(test, places):
    """Yellow of the marks at each place of the picture."""
    missing = test.browser.driver.execute_async_script("""
        const [places, done] = arguments;
        const { canvas, transform } = document.querySelector('#calibrate figure').viewer;
        requestAnimationFrame(() => requestAnimationFrame(() => {
            const copy = Object.assign(document.createElement('canvas'), { width: canvas.width, height: canvas.height });
            const context = copy.getContext('2d', { willReadFrequently: true });
            context.drawImage(canvas, 0, 0);
            done(places.filter(([x, y]) => {
                const { data } = context.getImageData(Math.round((x + 0.5) * transform.scale + transform.x) - 2,
                    Math.round((y + 0.5) * transform.scale + transform.y) - 2, 5, 5);
                for (let i = 0; i < data.length; i += 4) if (data[i] > 200 && data[i + 1] > 140 && data[i + 2] < 120) return false;
                return true;
            }));
        }));""", places)
    assert not missing, f"nothing is drawn at {missing}"


def what_is_wrong_is_said(test):
    """A board asked for a disc, and a picture without a board, are refused in the command's words; another setting forgets the lines."""
    show_calibrate(test, test.folder / "grey.png", "chequerboard", 10)
    said = test.browser.text("#calibrate [role=alert]")
    assert said.startswith("grey.png: no chequerboard of at least 4 x 4 squares is found"), said
    test.keep("calibrate_refused")
    show_calibrate(test, BOARDS / "turned.png", "chequerboard", 10)
    assert test.browser.run("return document.querySelector('#calibrate pre').checkVisibility()")
    test.browser.run("""
        const size = document.querySelector('#calibrate input');
        size.value = 20;
        size.dispatchEvent(new Event('input', { bubbles: true }));""")
    assert not test.browser.run("return document.querySelector('#calibrate pre').checkVisibility()")


CALIBRATE_TESTS = [a_target_is_found_as_by_the_command, what_is_wrong_is_said]
