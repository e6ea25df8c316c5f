"""The workbench's page: A against B, and times by their names, cold and warm."""
import re

from workbench_modes import near, open_chain, settled, table_of, yaml_of
from workbench_page import number_in

SHARE_MIN = 0.25 # as compare/outlines.js
COLOURS = {"same": (255, 255, 255), "a": (255, 199, 26), "b": (51, 204, 255)} # of its STYLES


def keep_a(test):
    test.page.button("#chain", "Keep as A").click()
    test.browser.wait_text("#chain-compare-told", "A and B")


def set_level(test, plane, level):
    test.browser.run("""
        const exact = document.querySelectorAll('#chain .chain-classes input[type=number]')[arguments[0]];
        exact.value = arguments[1];
        exact.dispatchEvent(new Event('input', { bubbles: true }));""", plane, level)


def at_rest(test):
    test.browser.wait("the outlines", lambda: settled(test))


def ask(test, yaml):
    maps = next(one for one in test.workbench.ask("pictures")["pictures"] if one["spec"] == "fruit:4:2:maps")
    return test.workbench.ask(f"chain?in={maps['id']}&backend=serial&threads=1&job=0123456789abcdef", yaml.encode())["defects"]


def share(one, other):
    """Of the boxes' common area in all that they cover."""
    def area(box):
        return max(box[2] - box[0], 1e-9) * max(box[3] - box[1], 1e-9)
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width < 0 or height < 0:
        return 0
    common = max(width, 1e-9) * max(height, 1e-9)
    return common / (area(one) + area(other) - common)


def compare(a, b):
    """By class: identical, different, only in A, only in B, and the areas less holes."""
    rows = {}
    for name in {one["class"] for one in a + b}:
        left, right = ([one for one in side if one["class"] == name] for side in (a, b))
        areas = [sum(-one["area_px"] if one["hole"] else one["area_px"] for one in side) for side in (left, right)]
        same = [one for one in left if any(one["xy"] == other["xy"] for other in right)]
        left = [one for one in left if one not in same]
        right = [other for other in right if not any(one["xy"] == other["xy"] for one in same)]
        pairs = sorted(((share(one["bbox"], other["bbox"]), i, k) for i, one in enumerate(left) for k, other in enumerate(right)
                        if one["hole"] == other["hole"]), reverse=True)
        used = set()
        for overlap, i, k in pairs:
            if overlap >= SHARE_MIN and not {("a", i), ("b", k)} & used:
                used |= {("a", i), ("b", k)}
        both = len(used) // 2
        rows[name] = [len(same), both, len(left) - both, len(right) - both, *areas]
    return rows


def counts(test):
    return {name: [number_in(text) for text in rest] for name, *rest in table_of(test.page, "#chain-compare table")[1:]}


def backends_are_identical(test):
    """A kept on openmp and the same chain on serial are said to be identical, bit for bit; any other level is not."""
    open_chain(test)
    keep_a(test)
    backend = next(one for one in test.browser.elements("#chain select") if one.get_property("value") == "openmp")
    test.browser.run("arguments[0].value = 'serial'; arguments[0].dispatchEvent(new Event('input', { bubbles: true }))", backend)
    at_rest(test)
    test.browser.wait("B's backend", lambda: "B: serial" in str(test.browser.texts("#chain-compare th")))
    found = ask(test, yaml_of(test))
    assert test.browser.text("#chain-compare-told") == f"A and B are identical, bit for bit: {len(found)} outlines."
    test.keep("compare_identical")
    set_level(test, 1, 0.75)
    test.browser.wait_text("#chain-compare-told", "A and B differ")


def differences_are_counted(test):
    """Outlines in both, only in A and only in B, and their areas, are those of the two chains asked directly."""
    open_chain(test)
    set_level(test, 0, 0.5)
    test.browser.run("document.querySelector('#chain .chain-classes input[type=checkbox]').click()") # the background has holes
    at_rest(test)
    first = yaml_of(test)
    keep_a(test)
    for plane, level in ((0, 0.97), (1, 0.2), (7, 0.9), (10, 1)):
        set_level(test, plane, level)
    at_rest(test)
    a, b = ask(test, first), ask(test, yaml_of(test))
    wanted = compare(a, b)
    assert sum(row[2] for row in wanted.values()) > 0 and sum(row[3] for row in wanted.values()) > 0, f"a weak example: {wanted}"
    shown = test.browser.wait("the counts", lambda: counts(test))
    assert set(shown) == set(wanted), (shown, wanted)
    for name, row in wanted.items():
        assert shown[name][:4] == row[:4], f"{name}: {shown[name]}, not {row}"
        assert all(abs(one - other) <= 0.006 * abs(other) + 0.5 for one, other in zip(shown[name][4:], row[4:])), (name, shown, row)
    totals = [sum(row[i] for row in wanted.values()) for i in range(4)]
    said = [int(re.search(r"\d+$", text).group(0)) for text in test.browser.texts("#chain [data-identical] + ul li")]
    assert said == totals, f"{said}, not {totals}"
    test.keep("compare_differences", both=True)


# The colours beside places of the picture on the canvas: which of these are there, for each place.
SEEN = """
    const [places, colours, done] = arguments;
    const { canvas, transform } = document.querySelector('#chain figure').viewer;
    requestAnimationFrame(() => requestAnimationFrame(() => {
        const copy = Object.assign(document.createElement('canvas'), { width: canvas.width, height: canvas.height });
        const context = copy.getContext('2d', { willReadFrequently: true });
        context.drawImage(canvas, 0, 0);
        done(places.map(([x, y]) => {
            const { data } = context.getImageData(Math.round((x + 0.5) * transform.scale + transform.x) - 1,
                Math.round((y + 0.5) * transform.scale + transform.y) - 1, 3, 3);
            return colours.map((colour) => {
                for (let i = 0; i < data.length; i += 4) if (colour.every((value, k) => Math.abs(value - data[i + k]) < 40)) return true;
                return false;
            });
        }));
    }));"""


def seen(test, places, *colours):
    """Of each colour the share of the places that have it."""
    found = test.browser.driver.execute_async_script(SEEN, places, colours)
    return [sum(row[i] for row in found) / len(found) for i in range(len(colours))]


def views_follow_keys(test):
    """D, A, B and S on the picture show the differences, A, B, or A left and B right of a line, which the slider moves."""
    open_chain(test)
    first = ask(test, yaml_of(test))
    keep_a(test)
    set_level(test, 1, 1) # rot has outlines in A only
    at_rest(test)
    rot = next(one for one in first if one["class"] == "rot")
    own = (51, 204, 255) # the class's colour
    test.page.focus("#chain canvas.viewer")
    view = "return document.querySelector('#chain .chain-shown .chain-row label:nth-of-type(2) select, #chain .chain-row .chain-row select').value"
    for key, name, wanted in (("d", "differences", (1, 0)), ("a", "a", (0, 1)), ("b", "b", (0, 0)), ("s", "swipe", None)):
        test.page.press(key)
        assert test.browser.run(view) == name, test.browser.run(view)
        if wanted:
            shown = seen(test, rot["xy"], COLOURS["a"], own)
            # A's are dashed among the differences.
            assert all((one > 0.4) == bool(good) for one, good in zip(shown, wanted)), f"{name}: {shown}"
    middle = (rot["bbox"][0] + rot["bbox"][2]) / 2 / 511
    for place, drawn in ((1, True), (middle - 0.1, False)):
        test.browser.run("""
            const slider = document.querySelector('#chain .chain-shown input[type=range]');
            slider.value = 100 * arguments[0];
            slider.dispatchEvent(new Event('input', { bubbles: true }));""", place)
        assert (seen(test, rot["xy"], own)[0] > 0.8) == drawn, f"swiped to {place}"
    test.keep_picture("compare_swipe")
    test.page.button("#chain", "Forget A").click()
    assert not test.browser.run("return document.getElementById('chain-compare').checkVisibility()")


def times_are_cold_and_warm(test):
    """Of A and B: the start with the first run is cold, nine further runs are warm, with their spread; so is the operator's."""
    open_chain(test)
    keep_a(test)
    set_level(test, 1, 0.6)
    rows = test.browser.wait("the warm times", lambda: (rows := times(test)) and all(row[-1] == "9" for row in rows) and rows)
    assert rows[0][0].startswith("A: openmp, ") and rows[1][0].startswith("B: openmp, "), rows
    for _, cold, start, first, warm, spread, _ in rows:
        least, most = (number_in(text) for text in spread.split(" – "))
        assert near(cold, number_in(start) + number_in(first)), rows
        assert 0 < least <= number_in(warm) <= most, rows
    page = test.page
    page.start(f"{test.workbench.address}#page.picture=field:6:5:0.5&operator.operator=haar")
    page.wait_picture("field-6-5")
    page.run()
    test.browser.wait("the caption", lambda: re.search(
        r"; cold [\d.]+ ms, warm [\d.]+ ms \(median of \d runs?, [\d.]+ to [\d.]+\)$", test.browser.text("#output-caption")))


def times(test):
    table = test.browser.run("""
        const table = document.querySelectorAll('#chain-compare table')[1];
        return table && [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent));""")
    return table and table[1:]


COMPARE_TESTS = [backends_are_identical, differences_are_counted, views_follow_keys, times_are_cold_and_warm]
