"""The workbench's page on a screen: what is seen without scrolling, and Ctrl+Enter."""
import numpy as np
from PIL import Image
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from page_tests import DESKTOP
from workbench_page import read_picture

SCREENS = ((1280, 900), (1024, 600))
# A square picture, whose result lies beside it, and a long one, whose result lies below it.
PICTURES = (("field:8:7:0.5", "field-8-7", "morphology"), ("fruit:4:2:maps", "fruit-4-2-maps", "contours"))

UNSEEN = """
    return arguments[0].filter((name) => {
        const element = document.getElementById(name);
        const { left, top, right, bottom } = element.getBoundingClientRect();
        const at = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
        return left < 0 || top < 0 || right > innerWidth || bottom > innerHeight || !element.contains(at);
    });"""


def run_and_pictures_are_on_one_screen(test):
    """At 1280 × 900 and 1024 × 600 Run, the input and the result, or A, B and how they differ, are seen without scrolling."""
    page = test.page
    try:
        for width, height in SCREENS:
            test.browser.resize(width, height)
            for spec, name, operator in PICTURES:
                page.start(f"{test.workbench.address}#page.picture={spec}&operator.operator={operator}")
                page.wait_picture(name)
                page.run()
                what = f"{name} at {width} × {height}"
                seen = ("run", "cancel", "input-canvas", "output-canvas", "picture", "open", "tab-chain")
                unseen = test.browser.run(UNSEEN, seen)
                assert not unseen, f"{what}: {unseen} are not seen"
                sides = test.browser.run("return document.documentElement.scrollWidth")
                assert sides <= width, f"{what}: {sides} px wide"
                test.browser.run("document.getElementById('settings').scrollTo(0, 9999)")
                assert not test.browser.run(UNSEEN, ("run", "threads", "output-canvas")), f"{what}, settings at their end"
                test.keep(f"screen_{name}_{width}")
                page.button("#compare-bar", "Keep as A").click()
                page.run()
                unseen = test.browser.run(UNSEEN, (*seen, "operator-compare-told"))
                assert not unseen, f"{what}, compared: {unseen} are not seen"
                test.keep(f"screen_{name}_{width}_compared")
    finally:
        test.browser.resize(*DESKTOP)


def press_control_enter(test):
    ActionChains(test.browser.driver).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(Keys.CONTROL).perform()


def control_enter_runs(test):
    """Ctrl+Enter runs from any control, also while an option is still checked, and does nothing while one is wrong."""
    page = test.page
    page.start(f"{test.workbench.address}#page.picture=field:6:5:0.5&operator.operator=morphology")
    page.wait_picture("field-6-5")
    page.reason()
    before = page.jobs()
    for control in ("picture", "backend"):
        page.focus(f"#{control}")
        press_control_enter(test)
        test.browser.wait("the result", lambda: page.jobs() == before + 1)
        before += 1
    page.set("option-size", "7") # not checked yet
    page.focus("#option-size")
    press_control_enter(test)
    test.browser.wait("the result", lambda: page.jobs() == before + 1)
    keep_field(test)
    wanted = page.apply("morphology", ["field.png"], "wanted.png", "--operation", "open", "--element", "disk", "--size", 7)
    assert np.array_equal(page.pixels()[:, :, 0], read_picture(wanted)), "not the changed size"
    page.focus("#tab-timing")
    page.click("tab-timing")
    press_control_enter(test)
    test.browser.wait("the measurement", lambda: "Measured." in test.browser.texts("#timing [role=status]"), 60)
    page.click("tab-operator")
    page.set("option-size", "0")
    assert page.reason()[0] == "bad"
    press_control_enter(test)
    page.set("option-size", "3")
    assert page.reason()[0] == "good" and page.jobs() == before + 1, "what was wrong has run"


def keep_field(test):
    """The shown picture as a file, for cernita-apply."""
    number = next(one["id"] for one in test.workbench.ask("pictures")["pictures"] if one["spec"] == "field:6:5:0.5")
    with test.workbench.open(f"pictures/{number}/file") as answer:
        (test.folder / "field.png").write_bytes(answer.read())


def a_grey_jpeg_is_one_plane(test):
    """A grey JPEG opens as one plane: no plane to choose, its pixels, and one plane in the result."""
    page = test.page
    file = test.folder / "grey.jpg"
    Image.open(test.folder / "grey.png").save(file, quality=90)
    page.start(test.workbench.address)
    page.open_file(file)
    assert "u8, 1 plane" in test.browser.text("#input-caption"), test.browser.text("#input-caption")
    assert not test.browser.run("return document.getElementById('plane-field').checkVisibility()")
    assert np.array_equal(page.pixels("input-figure")[:, :, 1], np.asarray(Image.open(file))), "other pixels"
    page.choose("convolve", kernel="blur")
    page.run()
    assert "u8, 1 plane" in test.browser.text("#output-caption"), test.browser.text("#output-caption")


SCREEN_TESTS = [run_and_pictures_are_on_one_screen, control_enter_runs, a_grey_jpeg_is_one_plane]
