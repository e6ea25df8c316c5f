#!/usr/bin/python3
"""The page of cernita-workbench in a real Chromium: every operator, mode, language and theme.

    tests/pages/check_workbench.py --bin build/bin [--axe axe.min.js] [--shots FOLDER] [--only TEXT…]

Prints a line per test and at last how many passed, failed and were skipped; exits 1 when any failed. What the page shows
is compared with what cernita-apply of the same folder writes. --axe looks for barriers in every mode and theme, --shots
keeps a picture of each.
"""
import base64
import json
import re
import sys

import numpy as np
import tifffile
from selenium.webdriver.common.keys import Keys

from page_tests import DESKTOP, PHONE, PageTest, make_parser, run_tests
from workbench_calibrate import BOARDS, CALIBRATE_TESTS, show_calibrate
from workbench_compare import COMPARE_TESTS
from workbench_compare_results import COMPARE_RESULT_TESTS
from workbench_fruits import FRUIT_TESTS
from workbench_levels import LEVEL_TESTS, compute
from workbench_modes import FRUIT, MODE_TESTS, near, open_chain, yaml_of
from workbench_operators import OPERATOR_TESTS, expect_pixels
from workbench_page import REFUSED, Page, Workbench, make_pictures, read_picture, settings_of
from workbench_screen import SCREEN_TESTS
from workbench_surface import SURFACE_TESTS

MODES = ("operator", "timing", "chain", "levels", "calibrate", "fruits")


class WorkbenchTest(PageTest):
    """Also has the program, its page and pictures to open."""

    def __init__(self, arguments, folder):
        super().__init__(arguments, folder)
        make_pictures(self.folder)
        self.page = Page(self.browser, self.programs, self.folder)
        self.page.apply("haar", ["real.tif"], "coefficients.tif", "--levels", 2)
        self.workbench = Workbench(self.programs)

    def close(self):
        super().close()
        self.workbench.close()

    def complaints(self):
        """A refusal is the server's word, which the page shows."""
        return [text for text in super().complaints() if not REFUSED.search(text)]


# --- the Operator mode ---

# Operator, options that are wrong, the one that is named, its mended value.
INVALID = [("contours", {"level": ""}, "level", "100"), ("morphology", {"size": "0"}, "size", "3"),
           ("morphology", {"size": "3x"}, "size", "3x5"), ("convolve", {"kernel": "gaussian", "size": "4"}, "size", "5"),
           ("haar", {"levels": "40"}, "levels", "2"), ("ranklet", {"windows": "7"}, "windows", "8"),
           ("diamond-square", {"exponent": "21"}, "exponent", "4"), ("diamond-square", {"roughness": "2"}, "roughness", "1")]


def invalid_options_keep_run_disabled(test):
    """Run stays disabled with the reason beside it until the option is mended, which is marked meanwhile."""
    page = test.page
    page.start(test.workbench.address)
    page.open_file(test.folder / "grey.png")
    for operator, options, name, mended in INVALID:
        page.choose(operator, **options)
        level, text, disabled = page.reason()
        what = f"{operator} {options}: {text}"
        assert level == "bad" and disabled and name in text, what
        invalid = f"return document.getElementById('option-{name}').getAttribute('aria-invalid')"
        assert test.browser.run(invalid) == "true", what
        if (operator, name) == ("haar", "levels"):
            test.keep("invalid")
        page.set(f"option-{name}", mended)
        level, text, disabled = page.reason()
        assert level == "good" and not disabled and test.browser.run(invalid) == "false", f"{operator} {name} {mended}: {text}"
    page.set("threads", "0")
    assert page.reason()[0] == "bad" and page.reason()[2]
    page.set("threads", "1")
    page.run()


def a_long_job_is_cancelled(test):
    """A long job shows how long it runs; Cancel ends it and says so; the next one runs."""
    page = test.page
    page.start(test.workbench.address)
    test.browser.run("document.getElementById('generators').open = true")
    page.set("field-exponent", "11")
    assert test.browser.text("#field-side") == "2049 × 2049 pixels"
    test.browser.run("document.querySelector('#field-form button').click()")
    page.wait_picture("field-11")
    page.choose("morphology", "serial", operation="open", element="disk", size="801")
    assert page.reason()[0] == "good", page.reason()
    page.click("run")
    test.browser.wait("progress", lambda: test.browser.run("return !document.getElementById('progress-box').hidden"))
    test.browser.wait_text("#progress-text", "Running for")
    assert test.browser.run("return document.getElementById('run').disabled")
    test.keep_picture("running")
    page.click("cancel")
    test.browser.wait_text("#told", "Cancelled.")
    assert test.browser.run("return document.getElementById('progress-box').hidden")
    page.set("option-size", "3")
    page.run(60)


SEND_FILE = """
    const [kind, name, text] = arguments;
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const data = new DataTransfer();
    data.items.add(new File([bytes], name));
    if (kind === 'paste') {
        document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
        return true;
    }
    const drop = (type) => document.body.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
    drop('dragover');
    const shown = document.getElementById('drop').checkVisibility();
    drop('drop');
    return shown && !document.getElementById('drop').checkVisibility();"""


def send_file(test, kind, name, content):
    assert test.browser.run(SEND_FILE, kind, name, base64.b64encode(content).decode()), "nothing is shown while dragging"


def dropped_and_pasted(test):
    """Files are opened by drag and drop and by paste, with their pixels."""
    test.page.start(test.workbench.address)
    for kind, name in (("drop", "colour.png"), ("paste", "grey.png")):
        content = (test.folder / name).read_bytes()
        send_file(test, kind, f"{kind}-{name}", content)
        test.page.wait_picture(f"{kind}-{name}")
        expect_pixels(test.page.pixels("input-figure"), read_picture(test.folder / name), kind)


def hostile_files_are_refused(test):
    """What is not a picture, cut short or claims to be huge is refused in one sentence, and the page goes on."""
    page = test.page
    png = (test.folder / "grey.png").read_bytes()
    huge = bytearray(png)
    huge[16:24] = bytes.fromhex("7fffffff7fffffff") # width and height
    tiff = (test.folder / "deep.tif").read_bytes()
    hostile = {"cut.png": png[:200], "huge.png": bytes(huge), "cut.tif": tiff[:90], "none.jpg": b"\xff\xd8\xff" + bytes(range(256)),
               "text.npy": b"<script>alert(1)</script>", "empty.tif": b""}
    page.start(test.workbench.address)
    listed = "return document.getElementById('picture').options.length"
    before = test.browser.run(listed)
    for name, content in hostile.items():
        send_file(test, "drop", name, content)
        said = test.browser.wait(f"the refusal of {name}", lambda: test.browser.text("#alert"))
        assert said.startswith(f"{name}: ") and "\n" not in said.strip() and len(said) < 200, said
        assert test.browser.run(listed) == before
        test.browser.run("document.getElementById('alert').textContent = ''")
    send_file(test, "drop", "<b>good.png", png)
    page.wait_picture("<b>good.png")


def the_url_restores(test):
    """Mode, operator, options, a generated picture and the chain are there in a new tab."""
    page, driver = test.page, test.browser.driver
    page.start(f"{test.workbench.address}#page.picture=field:6:5:0.25")
    page.wait_picture("field-6-5")
    page.choose("convolve", "serial", kernel="edge", size="5", border="wrap")
    page.set("threads", "2")
    page.reason()
    pixels = page.pixels("input-figure")
    address = test.browser.wait("the URL", lambda: "threads=2" in driver.current_url and driver.current_url)
    kept = settings_of(address)
    assert kept["page.picture"] == "field:6:5:0.25" and kept["operator.kernel"] == "edge", kept
    in_new_tab(test, address, lambda: expect_operator(test, pixels))
    open_chain(test)
    test.browser.run("""
        const level = document.querySelector('#chain .chain-classes input[type=number]:not(:disabled)');
        level.value = 0.315;
        level.dispatchEvent(new Event('input', { bubbles: true }));""")
    test.browser.wait("the YAML", lambda: "level: 0.315" in yaml_of(test))
    yaml = yaml_of(test)
    address = test.browser.wait("the URL", lambda: "0.315" in driver.current_url and driver.current_url)
    in_new_tab(test, address, lambda: test.browser.wait("the chain", lambda: yaml_of(test) == yaml))


def in_new_tab(test, address, check):
    driver = test.browser.driver
    old = driver.current_window_handle
    driver.switch_to.new_window("tab")
    try:
        test.browser.resize(*DESKTOP)
        driver.get(address)
        test.page.wait_ready()
        check()
    finally:
        driver.close()
        driver.switch_to.window(old)


def expect_operator(test, pixels):
    test.page.wait_picture("field-6-5")
    values = test.browser.run("return ['operator-name', 'backend', 'threads', 'option-kernel', 'option-size', 'option-border']"
                              ".map((name) => document.getElementById(name).value)")
    assert values == ["convolve", "serial", "2", "edge", "5", "wrap"], values
    assert np.array_equal(test.page.pixels("input-figure"), pixels), "another picture"


def a_gone_file_is_said(test):
    """A URL that names a file which another run of the program had: it says so and shows the first picture."""
    page = test.page
    page.start(test.workbench.address)
    page.open_file(test.folder / "grey.png")
    address = test.browser.wait("the URL", lambda: "grey.png" in test.browser.driver.current_url
                                and test.browser.driver.current_url)
    other = Workbench(test.programs)
    try:
        page.start(f"{other.address}#{address.split('#')[1]}")
        test.browser.wait_text("#alert", "grey.png was a file and is not open any more")
        page.wait_picture(other.ask("pictures")["pictures"][0]["name"])
    finally:
        other.close()


def length_and_area(contour):
    points = np.array(contour["points"])
    ring = np.concatenate([points, points[:1]])
    steps = np.diff(ring if contour["closed"] else points, axis=0)
    area = abs(np.sum(ring[:-1, 0] * ring[1:, 1] - ring[1:, 0] * ring[:-1, 1])) / 2
    return np.hypot(*steps.T).sum(), area


def hovering_a_contour(test):
    """Under the pointer a contour's class, length and area are said: those of its polyline."""
    page = test.page
    page.start(f"{test.workbench.address}#{FRUIT}")
    page.wait_picture("fruit-4-2-maps")
    page.choose("contours", "openmp", level="0.5")
    page.run()
    maps = test.workbench.ask("pictures")["pictures"]
    number = next(one["id"] for one in maps if one["spec"] == "fruit:4:2:maps")
    file = test.folder / "maps.tif"
    with test.workbench.open(f"pictures/{number}/file") as answer:
        file.write_bytes(answer.read())
    contours = json.loads(page.apply("contours", [file.name], "maps.json", "--level", "0.5").read_text())
    names = test.workbench.ask("catalogue")["classes"]
    for contour in sorted(contours, key=lambda one: -length_and_area(one)[1])[:12:4]:
        page.set("plane", str(contour["plane"]))
        test.browser.run("const only = document.getElementById('only'); if (!only.checked) only.click()")
        x, y = contour["points"][len(contour["points"]) // 3]
        page.point_at("output-figure", x + 0.5, y + 0.5)
        said = test.browser.wait("the contour", lambda: re.fullmatch(
            r"(.+), (closed|open): length ([\d,.]+) px, area ([\d,.]+) px².*", test.browser.text("#output-values")))
        length, area = length_and_area(contour)
        assert said.group(1).endswith(names[contour["plane"]]) and (said.group(2) == "closed") == contour["closed"], said.group(0)
        assert near(said.group(3), length) and near(said.group(4), area), f"{said.group(0)}: {length}, {area}"
    test.keep("contours")


def values_under_the_pointer(test):
    """The numbers under the pointer are the picture's and the result's."""
    page = test.page
    page.start(test.workbench.address)
    for name, pattern in (("colour.png", "red {}; green {}; blue {}"), ("real.tif", "{}")):
        page.open_file(test.folder / name)
        page.choose("morphology", operation="erode", element="rect", size="3")
        page.run()
        result = read_picture(page.apply("morphology", [name], "eroded.tif", "--operation", "erode", "--element", "rect", "--size", 3))
        values = read_picture(test.folder / name)
        for x, y in ((0, 0), (17, 40), (values.shape[1] - 1, values.shape[0] - 1)):
            for figure in ("input-figure", "output-figure"):
                page.point_at(figure, x + 0.5, y + 0.5)
                for said, picture in (("#input-values", values), ("#output-values", result)):
                    numbers = [f"{float(value):.6g}" for value in np.atleast_1d(picture[y, x])]
                    test.browser.wait_text(said, f"x {x}, y {y}: " + pattern.format(*numbers), 3)
    expect_ranklets_under_pointer(test)
    page.choose("haar", levels="2")
    page.run()
    page.point_at("output-figure", 129.5, 1.5)
    test.browser.wait_text("#output-values", "level 1, horizontal details")


def expect_ranklets_under_pointer(test):
    """Those of the window whose middle is under the pointer."""
    page = test.page
    page.open_file(test.folder / "grey.png")
    page.choose("ranklet", windows="6x8")
    page.run()
    with tifffile.TiffFile(page.apply("ranklet", ["grey.png"], "ranklets.tif", "--windows", "6x8")) as file:
        pages = [one.asarray() for one in file.pages]
    for left, top in ((0, 0), (31, 17), (131 - 6, 93 - 8)):
        page.point_at("output-figure", left + 3, top + 4)
        numbers = "; ".join(f"{name} {float(values[top, left]):.6g}"
                            for name, values in zip(("vertical", "horizontal", "diagonal"), pages, strict=True))
        test.browser.wait_text("#output-values", f"window 6 × 8 at x {left}, y {top}: {numbers}", 3)


def zoom_is_linked(test):
    """Keys, wheel and dragging move both pictures alike; 0 fits them again."""
    page = test.page
    page.start(test.workbench.address)
    page.open_file(test.folder / "colour.png")
    page.choose("convolve", kernel="blur")
    page.run()

    def both():
        one, other = page.transform("input-figure"), page.transform("output-figure")
        assert one == other, f"not linked: {one}, {other}"
        return one
    fitted = both()
    page.focus("#input-canvas")
    page.press("+", "+")
    zoomed = both()
    assert abs(zoomed["scale"] / fitted["scale"] - 1.25 ** 2) < 1e-6, zoomed
    page.press(Keys.ARROW_LEFT)
    assert both()["x"] == zoomed["x"] + 40
    box = page.box("#output-figure canvas")
    x, y = round(box["left"] + 50), round(box["top"] + 60) # the wheel's events have whole numbers
    before = both()
    page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-100)
    test.browser.wait("the wheel", lambda: both()["scale"] > before["scale"] * 1.2)
    after = both()
    for key, place in (("x", x - box["left"]), ("y", y - box["top"])): # what is under the pointer stays there
        assert abs((place - before[key]) / before["scale"] - (place - after[key]) / after["scale"]) < 1e-3, (before, after)
    page.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
    page.mouse("mouseMoved", x + 30, y + 10, button="left", buttons=1)
    page.mouse("mouseReleased", x + 30, y + 10, button="left", clickCount=1)
    assert abs(both()["x"] - after["x"] - 30) < 0.01 and abs(both()["y"] - after["y"] - 10) < 0.01
    page.focus("#output-canvas")
    page.press("0")
    assert both() == fitted, (both(), fitted)


def swiped(test):
    """Swipe shows the input left of the line and the output right of it, where the slider is."""
    page = test.page
    page.start(test.workbench.address)
    page.open_file(test.folder / "colour.png")
    page.choose("morphology", operation="dilate", element="rect", size="9")
    page.run()
    page.set("layout", "swipe")
    before, after = page.pixels("input-figure"), page.pixels()
    assert not test.browser.run("return document.getElementById('input-figure').checkVisibility()")
    test.page.point_at("output-figure", 5, 5)
    page.mouse("mouseMoved", 1, 1)
    for share in (25, 50, 75):
        page.set("swipe", share)
        for x in (20, 80, 110, 160):
            pixel = page.canvas_pixel(x + 0.5, 60.5)
            wanted = (before if x + 1 < after.shape[1] * share / 100 else after)[60, x].tolist()
            assert pixel == wanted, f"at {x} with {share} %: {pixel}, not {wanted}"
        test.keep_picture(f"swipe_{share}")


# --- languages, themes, sizes, keyboard ---

def show_mode(test, mode, language="en", theme="light"):
    """The mode with something in it."""
    page = test.page
    if mode == "levels":
        compute(test, language, theme)
        return
    if mode == "fruits": # a workbench without recordings
        page.start(f"{test.workbench.address}#page.mode=fruits", language, theme)
        test.browser.wait_text("#fruits .alert", "start cernita-workbench with a folder")
        return
    if mode == "calibrate":
        show_calibrate(test, BOARDS / "turned.png", "chequerboard", 10, language, theme)
        return
    page.start(f"{test.workbench.address}#{FRUIT}&page.mode={mode}&operator.operator=contours&operator.level=0.5", language, theme)
    if mode == "operator":
        page.wait_picture("fruit-4-2-maps")
        page.run()
    elif mode == "timing":
        test.browser.run("""
            const repeats = document.querySelector('#timing input[type=number]');
            repeats.value = 2;
            repeats.dispatchEvent(new Event('input', { bubbles: true }));
            document.querySelector('#timing button').click();""")
        test.browser.wait("times", lambda: test.browser.run("""
            return [...document.querySelectorAll('#timing tbody')].some((one) => one.checkVisibility() && one.rows.length > 1)
                && !document.querySelector('#timing button').disabled"""), 60)
    else:
        test.browser.wait("outlines", lambda: test.browser.elements("#chain .chain-tables tbody tr"))


def modes_in_light_and_dark(test):
    """Every mode in both themes says what it should, and axe-core finds no barrier."""
    for mode in MODES:
        show_mode(test, mode)
        test.keep(f"{mode}", both=True)
    return None if test.arguments.axe else "skipped"


def modes_fit_a_phone(test):
    """No mode is wider than a phone, in both languages and themes; no barrier there either."""
    test.browser.resize(*PHONE)
    wide = []
    try:
        for language, theme in (("en", "dark"), ("it", "light")):
            for mode in MODES:
                show_mode(test, mode, language, theme)
                width = test.browser.run("return document.documentElement.scrollWidth")
                if width > PHONE[0]:
                    wide.append(f"{mode}, {language}: {width} px")
                test.keep(f"phone_{mode}_{language}")
    finally:
        test.browser.resize(*DESKTOP)
    assert not wide, f"wider than a phone: {wide}"


def italian(test):
    """Italian has all texts, in every mode."""
    for mode in MODES:
        show_mode(test, mode, "it")
        assert test.browser.run("return document.documentElement.lang") == "it"
        assert test.browser.text("#tab-timing") != "Timing" and "Esegui" in test.browser.text("#run")
        test.keep(f"{mode}_it", both=True)
    test.expect_whole_words()


def focused(test):
    """The focused element's id, and whether the focus can be seen."""
    return test.browser.run("""
        const { activeElement: one } = document;
        const style = getComputedStyle(one);
        return [one.id, one === document.body || parseFloat(style.outlineWidth) > 0 && style.outlineStyle !== 'none'];""")


def by_keyboard_alone(test):
    """Tab reaches the picture, the options and Run, Enter runs; arrows go through the modes; no focus is invisible."""
    page = test.page
    page.start(f"{test.workbench.address}#page.picture=field:6:5:0.5&operator.operator=morphology&operator.operation=close")
    page.wait_picture("field-6-5")
    page.reason()
    seen, before = [], page.jobs()
    while "run" not in seen:
        page.press(Keys.TAB)
        name, visible = focused(test)
        assert visible, f"#{name} does not show its focus"
        assert len(seen) < 60, f"Run is out of reach: {seen}"
        seen.append(name)
    for name in ("language", "theme", "picture", "open", "tab-operator", "operator-name", "option-size", "backend", "threads"):
        assert name in seen, f"#{name} is out of reach: {seen}"
    page.press(Keys.ENTER)
    test.browser.wait("the result", lambda: page.jobs() > before)
    page.focus("#tab-operator")
    for key, mode in ((Keys.ARROW_RIGHT, "timing"), (Keys.ARROW_RIGHT, "chain"), (Keys.ARROW_RIGHT, "levels"), (Keys.ARROW_RIGHT, "calibrate"),
                      (Keys.ARROW_RIGHT, "fruits"),
                      (Keys.ARROW_RIGHT, "operator"), (Keys.ARROW_LEFT, "fruits"), (Keys.HOME, "operator"), (Keys.END, "fruits")):
        page.press(key)
        assert focused(test)[0] == f"tab-{mode}", f"{focused(test)} for {mode}"
        shown = test.browser.run("return [...document.querySelectorAll('[role=tabpanel]')].filter((one) => !one.hidden)"
                                 ".map((one) => one.id)")
        assert shown == [mode], shown


TESTS = [*OPERATOR_TESTS, *SCREEN_TESTS, invalid_options_keep_run_disabled, a_long_job_is_cancelled, dropped_and_pasted,
         hostile_files_are_refused, the_url_restores, a_gone_file_is_said, hovering_a_contour, values_under_the_pointer,
         zoom_is_linked, swiped, *MODE_TESTS, *COMPARE_TESTS, *COMPARE_RESULT_TESTS, *LEVEL_TESTS, *CALIBRATE_TESTS, *FRUIT_TESTS,
         *SURFACE_TESTS, modes_in_light_and_dark, modes_fit_a_phone, italian, by_keyboard_alone]


if __name__ == "__main__":
    sys.exit(run_tests(WorkbenchTest, TESTS, make_parser(__doc__).parse_args()))
