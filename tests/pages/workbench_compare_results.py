"""The workbench's page: A against B of the Operator mode, by values and by contours."""
import json
import re

import numpy as np

from workbench_compare import compare
from workbench_modes import table_of
from workbench_page import number_in, read_picture, to_grey

TOLD = "#operator-compare-told"
COLOURS = ((255, 199, 26), (51, 204, 255)) # larger in A, in B: as compare/values.js
DARK = 0.35 # of what is equal, there
MORPHOLOGY = ("--operation", "open", "--element", "disk", "--size")


def show(test, name, operator, backend="openmp", **options):
    """A file's result by the page."""
    page = test.page
    page.start(test.workbench.address)
    page.open_file(test.folder / name)
    page.choose(operator, backend, **options)
    page.run()


def press(test, text):
    test.page.button("#compare-bar", text).click()


def keep_a(test):
    press(test, "Keep as A")
    test.browser.wait_text(TOLD, "A and B are identical")


def view(test, name):
    test.browser.run("""
        const select = document.querySelector('#compare-bar select');
        select.value = arguments[0];
        select.dispatchEvent(new Event('input', { bubbles: true }));""", name)


def shown_rows(test):
    return [[row[0], *(number_in(text) for text in row[1:])] for row in table_of(test.page, "#operator-compare table")[1:]]


def near(shown, value):
    return abs(shown - value) <= 0.006 * abs(value) + 0.0006


BACKENDS = (("colour.png", "morphology", {"operation": "open", "element": "disk", "size": "5"}, "values"),
            ("deep.tif", "convolve", {"kernel": "blur"}, "values"), ("grey.png", "haar", {"levels": "2"}, "values"),
            ("grey.png", "ranklet", {"windows": "8"}, "values"), ("grey.png", "contours", {"level": "128"}, "outlines"))


def backends_of_an_operator_are_compared(test):
    """One button runs the shown job by another backend as A: both are said to be identical, with both backends' times."""
    for name, operator, options, kind in BACKENDS:
        show(test, name, operator, **options)
        press(test, "Compare with serial")
        told = test.browser.wait(f"{operator} compared", lambda: test.browser.text(TOLD))
        assert re.fullmatch(rf"A and B are identical.* \d[\d,]* {kind}\b.*", told), f"{operator}: {told}"
        for figure, title, backend in (("input", "A", "serial"), ("output", "B", "openmp")):
            assert test.browser.text(f"#{figure}-title") == title
            caption = test.browser.text(f"#{figure}-caption")
            assert caption.startswith(f"{operator} ") and f"--backend {backend}" in caption, caption

        def warm():
            rows = test.browser.run("""
                const table = document.querySelectorAll('#operator-compare table')[1];
                return [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent)).slice(1);""")
            return all(row[2] != "–" for row in rows) and rows
        rows = test.browser.wait(f"{operator}'s warm times", warm)
        assert [row[0][:2] for row in rows] == ["A:", "B:"] and all(number_in(row[1]) > 0 and number_in(row[2]) > 0 for row in rows), rows
        test.keep(f"operator_compare_{operator}")


def differences_of_values_are_counted(test):
    """Of each plane the values that differ, where A and where B is larger, by how much: numpy's; so are the drawn ones."""
    show(test, "colour.png", "morphology", operation="open", element="disk", size="3")
    keep_a(test)
    test.page.set("option-size", "7")
    test.page.run()
    a, b = (read_picture(test.page.apply("morphology", ["colour.png"], f"{size}.png", *MORPHOLOGY, size)).astype(int) for size in (3, 7))
    rows = shown_rows(test)
    assert [row[0] for row in rows] == ["red", "green", "blue"], rows
    for plane, row in enumerate(rows):
        more = a[:, :, plane] - b[:, :, plane]
        wanted = [(more != 0).sum(), (more > 0).sum(), (more < 0).sum(), abs(more).max(), abs(more).mean()]
        assert row[1:4] == wanted[:3] and near(row[4], wanted[3]) and near(row[5], wanted[4]), f"{row}, not {wanted}"
    more = a - b
    assert test.browser.text(TOLD) == (f"A and B differ in {(more != 0).sum():,} of {more.size:,} values, "
                                       f"{100 * (more != 0).mean():.3g} %, by at most {abs(more).max()}."), test.browser.text(TOLD)
    test.page.set("plane", "1")
    expect_drawn(test, a[:, :, 1], b[:, :, 1], abs(more).max())
    test.keep("operator_compare_differences", both=True)


def expect_drawn(test, a, b, largest):
    """The pixels of the difference: B, darker, where they are equal, else the colour of the larger one by its difference."""
    drawn = test.page.pixels()[:, :, :3].astype(float)
    dark = np.repeat(b[:, :, None], 3, 2) * DARK
    strength = 0.45 + 0.55 * abs(a - b)[:, :, None] / largest
    wanted = dark.copy()
    for colour, where in zip(COLOURS, (a > b, a < b)):
        wanted[where] = (dark + (np.array(colour) - dark) * strength)[where]
    assert np.abs(drawn - wanted).max() < 1, "another picture of the difference"
    assert (a > b).any() and (a == b).any(), "a weak example"


def a_and_b_are_shown(test):
    """A beside B, B alone, or A left and B right of a line, as chosen or by the keys A, B and S."""
    show(test, "real.tif", "morphology", operation="erode", element="rect", size="3")
    keep_a(test)
    test.page.choose("morphology", operation="dilate", element="rect", size="5")
    test.page.run()
    greys = {}
    for name, operation, size in (("a", "erode", 3), ("b", "dilate", 5)):
        values = read_picture(test.page.apply("morphology", ["real.tif"], f"{name}.tif", "--operation", operation, "--element", "rect", "--size", size))
        greys[name] = to_grey(values, values.min(), values.max())
    assert np.array_equal(test.page.pixels("input-figure")[:, :, 0], greys["a"]), "not A"
    for name in ("a", "b"):
        test.page.focus("#output-canvas")
        test.page.press(name)
        assert np.array_equal(test.page.pixels()[:, :, 0], greys[name]), f"not {name}"
    test.page.press("s")
    test.page.point_at("output-figure", 5, 5)
    test.page.mouse("mouseMoved", 1, 1)
    height, width = greys["a"].shape
    for share in (25, 75):
        test.browser.run("""
            const slider = document.querySelector('#compare-bar input[type=range]');
            slider.value = arguments[0];
            slider.dispatchEvent(new Event('input', { bubbles: true }));""", share)
        for x in (10, width // 2, width - 10):
            wanted = greys["a" if x + 1 < width * share / 100 else "b"][height // 2, x]
            pixel = test.page.canvas_pixel(x + 0.5, height // 2 + 0.5)
            assert pixel[:3] == [wanted] * 3, f"at {x} with {share} %: {pixel}, not {wanted}"
    test.keep("operator_compare_swipe")
    press(test, "Forget A")
    assert not test.browser.run("return document.getElementById('operator-compare').checkVisibility()")
    assert test.browser.text("#input-title") == "Input"
    values = read_picture(test.folder / "real.tif")
    assert np.array_equal(test.page.pixels("input-figure")[:, :, 0], to_grey(values, values.min(), values.max())), "not the input again"


def outline_of(contour):
    points = np.array(contour["points"])
    ring = np.concatenate([points, points[:1]])
    area = abs(np.sum(ring[:-1, 0] * ring[1:, 1] - ring[1:, 0] * ring[:-1, 1])) / 2
    return {"class": "grey", "hole": False, "xy": contour["points"], "bbox": [*points.min(0), *points.max(0)], "area_px": area}


def differences_of_contours_are_counted(test):
    """Contours at two levels: identical, different, in one alone, as the Chain mode counts outlines."""
    show(test, "grey.png", "contours", level="110")
    keep_a(test)
    test.page.set("option-level", "125")
    test.page.run()
    a, b = ([outline_of(one) for one in json.loads(test.page.apply("contours", ["grey.png"], f"{level}.json", "--level", level).read_text())]
            for level in (110, 125))
    wanted = compare(a, b)["grey"]
    assert wanted[1] > 0 and wanted[2] + wanted[3] > 0, f"a weak example: {wanted}"
    [row] = shown_rows(test)
    assert row[0] == "grey" and row[1:5] == wanted[:4] and all(near(*pair) for pair in zip(row[5:], wanted[4:])), f"{row}, not {wanted}"
    said = [int(re.search(r"\d+$", text).group(0)) for text in test.browser.texts("#compare-legend li")]
    assert said == wanted[:4], f"{said}, not {wanted}"
    test.keep("operator_compare_contours", both=True)


def what_cannot_be_compared_is_said(test):
    """Contours against values, and fields of two sizes: said, and both are shown; another picture forgets A."""
    show(test, "grey.png", "contours", level="110")
    keep_a(test)
    test.page.choose("morphology", operation="erode", element="rect", size="3")
    test.page.run()
    told = test.browser.text(TOLD)
    assert told.startswith("A and B cannot be compared: A is ") and " contours, B is grey-morphology" in told, told
    test.keep("operator_compare_mismatch")
    test.page.choose("diamond-square", exponent="5", seed="1")
    test.page.run()
    keep_a(test)
    test.page.set("option-exponent", "6")
    test.page.run()
    told = test.browser.text(TOLD)
    assert "cannot be compared" in told and "33 × 33" in told and "65 × 65" in told, told
    test.page.set("option-exponent", "5")
    test.page.set("option-seed", "2")
    test.page.run()
    assert "A and B differ in " in test.browser.text(TOLD)
    test.page.open_file(test.folder / "colour.png")
    test.browser.wait("A forgotten", lambda: test.browser.text("#input-title") == "Input" and not test.browser.text(TOLD))


COMPARE_RESULT_TESTS = [backends_of_an_operator_are_compared, differences_of_values_are_counted, a_and_b_are_shown,
                        differences_of_contours_are_counted, what_cannot_be_compared_is_said]
