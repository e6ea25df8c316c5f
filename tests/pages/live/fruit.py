"""The page of a fruit that a line with section geometry measured, by a stand-in for the daemon."""
import math

from live.overview import LANGUAGES, NAME, fruit_of
from stand_in.daemon import StandIn, normal_event

MM_PER_PX = 0.5
X, Y, R = 255, 47, 40 # of the fruit in each of four views, in pixels
DIAMETER = 2 * R * MM_PER_PX


def square(view, x, y, half, **changes):
    """A defect of a view: a square about x, y."""
    corners = [[x - half, y - half], [x + half, y - half], [x + half, y + half], [x - half, y + half], [x - half, y - half]]
    return {"view": view, "class": "rot", "hole": False, "closed": True, "parent": -1, "area_px": (2 * half) ** 2,
            "bbox": [x - half, y - half, x + half, y + half], "mean_probability": 0.9, "on_fruit": True, "xy": corners} | changes


def spot(*parts, area_mm2):
    return {"class": "rot", "area_mm2": area_mm2, "length_mm": 3, "width_mm": 2, "lambda_deg": 0, "v": 0, "views": [],
            "parts": list(parts)}


def pose(view, **changes):
    return {"view": view, "x": X, "y": Y, "rx": R, "ry": R, "tilt_deg": 0, "roll_deg": 90 * view, "source": "photo",
            "confidence": 0.9, "roll_source": "photo", "roll_confidence": 0.8, "from_deg": -45, "to_deg": 45} | changes


def measured(defects, spots, **changes):
    """What /fruits/NAME.json gives of a measured fruit with four views."""
    area = sum(one["area_mm2"] for one in spots)
    surface = {"diameter_mm": DIAMETER, "length_mm": DIAMETER, "coverage": 0.956, "seen_mm2": 4800, "roll_axis": "y",
               "pose": [pose(view) for view in range(4)], "defects": spots,
               "classes": {"rot": {"count": len(spots), "area_mm2": area, "largest_mm2": area, "longest_mm": 3}}} | changes
    return fruit_of(NAME, surface=surface, defects=defects,
                    totals={"rot": {"count": len(defects), "area_px": sum(one["area_px"] for one in defects), "level": 0.5}})


def open_fruit(test, fruit, language="en"):
    stand_in = StandIn()
    stand_in.fruits, stand_in.event = {NAME: fruit}, normal_event() | {"shown": [NAME]}
    test.browser.open(f"{stand_in.address}/fruits/{NAME}", language)
    test.browser.wait("the fruit", lambda: test.browser.run("return !document.getElementById('found').hidden"))
    return stand_in


# Each outline on the map: what it encloses, and its middle, in the map's millimetres.
SPOTS = """
    const drawn = [...document.querySelectorAll('.unrolled .spot')];
    return drawn.map((path) => {
        const points = path.getAttribute('d').match(/-?[0-9.]+ -?[0-9.]+/g).map((one) => one.split(' ').map(Number));
        const shift = path.ownerSVGElement.createSVGMatrix ? path.parentElement.parentElement.transform.baseVal[0].matrix.e : 0;
        let area = 0, x = 0, y = 0;
        for (let i = 0; i + 1 < points.length; i++) {
            area += (points[i][0] * points[i + 1][1] - points[i + 1][0] * points[i][1]) / 2;
            x += points[i][0] / (points.length - 1); y += points[i][1] / (points.length - 1);
        }
        return [Math.abs(area), x + shift, y];
    });"""


def a_measured_fruit_is_shown_in_millimetres(test):
    """Square millimetres beside square pixels, each defect once; the map is as large as the fruit, its spots lie in place."""
    # In the middle of view 1, which the first view has 90 degrees to its left: positive roll is along +x.
    defects = [square(1, X, Y, 2), square(0, X + R * math.sin(math.radians(30)), Y - 20, 2)]
    stand_in = open_fruit(test, measured(defects, [spot(0, area_mm2=4), spot(1, area_mm2=7.5)]))
    try:
        assert test.browser.texts("#totals td") == ["rot", "2", "32 px²", "2", "11.5 mm²"], test.browser.texts("#totals td")
        assert test.browser.text("#measured") == "40 mm across, 40 mm along the roll axis; 95.6 % of it was seen"
        x0, y0, width, height = map(float, test.browser.run("return document.querySelector('.unrolled').getAttribute('viewBox')").split())
        assert abs(width - math.pi * DIAMETER) < 1e-6 and abs(height - DIAMETER) < 1e-6 and x0 == -width / 2 and y0 == -height / 2
        (area, x, y), (area2, x2, y2) = sorted(test.browser.run(SPOTS))
        assert abs(area - 4) < 0.01 and abs(x + width / 4) < 0.01 and abs(y) < 0.01, (area, x, y)
        # 20 of 40 pixels above the middle and as many to the right: foreshortened by sqrt(1 - 1/4 - 1/4).
        assert abs(area2 / (4 / math.sqrt(0.5)) - 1) < 0.02, area2
        corners = [((x - X) / R, (y - Y) / R) for x, y in defects[1]["xy"][:4]]
        expected = sum(DIAMETER / 2 * math.atan2(u, math.sqrt(1 - u * u - v * v)) for u, v in corners) / 4
        assert abs(x2 - expected) < 0.01 and abs(y2 + 10) < 0.01, (x2, y2)
        assert test.browser.texts("#measures .found li") == [" 2 rot, 11.5 mm²"], test.browser.texts("#measures .found li")
        assert len(test.browser.elements("#pictures .fruit-outline")) == 4
        assert "mm²" in test.browser.run("return document.querySelector('.unrolled').getAttribute('aria-label')")
        test.expect_good_text()
        test.keep("measured_fruit")
    finally:
        stand_in.close()


def what_crosses_the_end_of_the_map_goes_on_at_its_other_end(test):
    """The strip behind the first view's back is drawn at both ends of the map, each half once."""
    stand_in = open_fruit(test, measured([square(2, X, Y, 2)], [spot(0, area_mm2=4)]))
    try:
        (area, x, _), (area2, x2, _) = sorted(test.browser.run(SPOTS), key=lambda one: one[1])
        assert abs(area - area2) < 1e-9 and abs(x2 - x - math.pi * DIAMETER) < 0.01 and abs(x + x2) < 0.01, (x, x2)
        names = test.browser.run("return [...document.querySelectorAll('.unrolled clipPath')].map((e) => e.id)")
        assert len(set(names)) == len(names) == 5, names
    finally:
        stand_in.close()


def holes_and_the_other_axis(test):
    """A hole is left out of its spot; about the axis x the map is turned."""
    hole = square(0, X, Y, 1, hole=True, parent=0)
    fruit = measured([square(0, X, Y + 10, 2), hole | {"xy": [[x, y + 10] for x, y in hole["xy"]]}], [spot(0, area_mm2=3)],
                     roll_axis="x")
    stand_in = open_fruit(test, fruit)
    try:
        path = test.browser.run("return document.querySelector('.unrolled .spot').getAttribute('d')")
        assert path.count("M") == 2
        points = [tuple(map(float, one.split())) for one in path.strip("MZ").split("Z")[0].split("L")]
        middle = [sum(one[i] for one in points[:-1]) / 4 for i in (0, 1)]
        assert abs(middle[0] - DIAMETER / 2 * math.asin(10 / R)) < 0.05 and abs(middle[1]) < 0.01, middle
    finally:
        stand_in.close()


UNMEASURED = [
    ({"diameter_mm": None, "pose": [pose(view, source="none", x=None) for view in range(4)]}, "no picture shows where the fruit is"),
    ({"diameter_mm": None}, "it is not known how far the fruit rolled"),
]


def a_fruit_without_measures_says_why(test):
    """Where the line measures and could not; where it does not, nothing is said of it."""
    for changes, text in UNMEASURED:
        stand_in = open_fruit(test, measured([square(0, X, Y, 2)], [], **changes))
        try:
            assert text in test.browser.text("#measured"), test.browser.text("#measured")
            assert not test.browser.elements(".unrolled") and test.browser.texts("#totals td") == ["rot", "1", "16 px²"]
        finally:
            stand_in.close()
    for skipped, shown, verdict in ((["surface"], True, "partial"), ([], False, "complete")):
        stand_in = open_fruit(test, fruit_of(NAME, surface=None, skipped=skipped, verdict=verdict))
        try:
            assert test.browser.run("return !document.getElementById('measures').hidden") == shown
            assert ("It was not measured, as time was short." in test.browser.text("#action")) == shown
        finally:
            stand_in.close()


def measures_are_the_readers(test):
    """In every language; and on the live page's cards each defect counts once."""
    defects = [square(0, X + 10, Y, 2), square(1, X - 10, Y, 2)]
    fruit = measured(defects, [spot(0, 1, area_mm2=8)])
    for language in LANGUAGES:
        stand_in = open_fruit(test, fruit, language)
        try:
            text = test.browser.text("#measured")
            assert "40 mm" in text and "95" in text and "undefined" not in text, text
            test.browser.open(stand_in.address, language)
            test.browser.wait("the card", lambda: test.browser.elements("[data-fruit]"))
            assert test.browser.text("[data-fruit] .found").strip() == "1 rot, 8 mm²", test.browser.text("[data-fruit] .found")
        finally:
            stand_in.close()


FRUIT_TESTS = [a_measured_fruit_is_shown_in_millimetres, what_crosses_the_end_of_the_map_goes_on_at_its_other_end,
               holes_and_the_other_axis, a_fruit_without_measures_says_why, measures_are_the_readers]
