"""The whole surface of a fruit in the workbench's Fruits mode: the map of its verdict, or how to get one."""
import math
import shutil

from page_tests import DESKTOP, PHONE
from workbench_fruits import bench_of, find, make_line, record_line, show_fruits
from workbench_screen import SCREENS

FRUITS = 6
GEOMETRY = {"mm_per_px": 0.5, "fruit": {"from": "header"}, "surface": {"optional": False}}


def make_measured(test):
    """What a line with section geometry has recorded, as record_line."""
    made = record_line(test, "measured", FRUITS,
                       ["--size", "200x95", "--seed", "5", "--rate", "4", "--truth", test.folder / "truth.jsonl", "--poses"],
                       geometry=GEOMETRY, latency={"budget_ms": 5000})
    assert len(made["verdicts"]) == FRUITS and all(one["surface"]["diameter_mm"] for one in made["verdicts"])
    return made


def open_surface(test, workbench, number, language="en"):
    """Opens the fruit, and its surface below the bar; what is shown there is what this returns."""
    show_fruits(test, workbench, f"fruit {number}", language)
    test.browser.wait("the fruit", lambda: len(test.browser.elements("#fruits li button")) == 1)
    test.browser.run("document.querySelector('#fruits li button').click()")
    test.browser.wait("its surface", lambda: test.browser.run("return !document.getElementById('fruit-surface').hidden"))
    test.browser.run("document.querySelector('#fruit-surface summary').click()")
    test.browser.wait("what is known of it", lambda: test.browser.run("return document.getElementById('fruit-surface').dataset.shown !== undefined"))
    return test.browser.text("#fruit-surface div")


def most_of(line):
    """The verdict with the most defects on the fruit."""
    return max(line["verdicts"], key=lambda one: len(one["surface"]["defects"]))


# Of each defect on the map: its words, and its middle in millimetres, of an outline weighted by area.
DRAWN = """
    const round = Number(document.querySelector('#fruit-surface .unrolled').getAttribute('viewBox').split(' ')[2]);
    return [...document.querySelectorAll('#fruit-surface .spot')].map((one) => {
        const title = one.querySelector('title').textContent;
        if (one.tagName === 'circle') return [title, Number(one.getAttribute('cx')), Number(one.getAttribute('cy')), Number(one.getAttribute('r'))];
        const shift = one.parentElement.parentElement.transform.baseVal[0].matrix.e;
        const points = one.getAttribute('d').split('Z')[0].match(/-?[0-9.]+ -?[0-9.]+/g).map((point) => point.split(' ').map(Number));
        let area = 0, x = 0, y = 0;
        points.forEach(([x0, y0], i) => {
            const [x1, y1] = points[(i + 1) % points.length];
            const cross = x0 * y1 - x1 * y0;
            area += cross / 2; x += cross * (x0 + x1) / 6; y += cross * (y0 + y1) / 6;
        });
        let at = x / area + shift;
        at = ((at + 1.5 * round) % round) - round / 2;
        return [title, at, y / area, area];
    });"""


def words_of(spot):
    """As the map tells a defect: three digits of each figure."""
    def figure(value):
        return f"{value:.3g}" if value < 100 else f"{value:,.0f}"
    return f"{spot['class']}, {figure(spot['area_mm2'])}\u00a0mm², {figure(spot['length_mm'])} × {figure(spot['width_mm'])} mm"


def the_map_is_that_of_the_verdict(test):
    """From the log each defect of the verdict with its outlines, from the archive a circle of its area where the outline is."""
    line = make_measured(test)
    verdict = most_of(line)
    spots, diameter = verdict["surface"]["defects"], verdict["surface"]["diameter_mm"]
    drawn, colours = {}, []
    for source in ("log", "archive"):
        with bench_of(test, f"--{source}", line[source], line["recordings"]) as workbench:
            said = open_surface(test, workbench, verdict["fruit"])
            assert "As the line judged it." in said and "mm across" in said, said
            assert ("not their outlines" in said) == (source == "archive"), said
            x0, _, width, _ = map(float, test.browser.run("return document.querySelector('.unrolled').getAttribute('viewBox')").split())
            assert abs(width - math.pi * diameter) < 0.01 and abs(x0 + width / 2) < 0.01, (width, diameter)
            drawn[source] = test.browser.run(DRAWN)
            assert {one[0] for one in drawn[source]} == {words_of(one) for one in spots}, (drawn[source], spots)
            found = test.browser.texts("#fruit-surface .found li")
            counts = sum(int(text.split()[0]) for text in found)
            assert counts == len(spots), (found, spots)
            test.keep(f"surface_{source}")
            colours.append(test.browser.run("""
                return [...document.querySelectorAll('#fruit-surface .spot')].map((one) => `${one.dataset.class} ${one.getAttribute('fill')}`);"""))
    assert len(drawn["archive"]) == len(spots) and set(colours[0]) == set(colours[1]), colours
    whole = [one for one in spots if len(one["parts"]) == 1 and one["area_mm2"] > 2]
    for spot in whole: # in one piece and one view: drawn once, or at both ends of the map
        circle = next(one for one in drawn["archive"] if one[0] == words_of(spot))
        assert abs(math.pi * circle[3] ** 2 - spot["area_mm2"]) < 1e-3
        away = min(math.hypot((circle[1] - x + math.pi * diameter / 2) % (math.pi * diameter) - math.pi * diameter / 2, circle[2] - y)
                   for title, x, y, _ in drawn["log"] if title == circle[0])
        assert away < 1, f"{circle} is {away} mm from its outline"
    assert whole


OUTLINES = """
    return [...document.querySelectorAll(`${arguments[0]} .spot`)].map((one) =>
        `${one.dataset.class} ${one.closest('[data-view]')?.dataset.view} ${one.getAttribute('d')}`).sort();"""
# Pixels of the difference by its layers: only before, only after, both.
LAYERS = """
    const done = arguments[arguments.length - 1];
    const svg = document.querySelector('#surface-difference svg').cloneNode(true);
    const colours = {before: '#ff0000', after: '#00ff00', both: '#0000ff', hole: '#000000'};
    for (const [name, colour] of Object.entries(colours))
        for (const one of svg.querySelectorAll(`.${name} .spot`)) { one.setAttribute('fill', colour); one.setAttribute('fill-rule', 'evenodd'); }
    for (const one of svg.querySelectorAll('.ground, .seen, .border, .strip-name')) one.setAttribute('fill', 'none');
    svg.setAttribute('width', 900); svg.setAttribute('height', 450); svg.setAttribute('preserveAspectRatio', 'none');
    svg.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
    const image = new Image();
    image.onload = () => {
        const canvas = new OffscreenCanvas(900, 450), context = canvas.getContext('2d');
        context.drawImage(image, 0, 0);
        const {data} = context.getImageData(0, 0, 900, 450), sums = [0, 0, 0];
        for (let i = 0; i < data.length; i += 4)
            for (let k = 0; k < 3; k += 1) sums[k] += data[i + 3] > 200 && data[i + k] > 200 && data[i + (k + 1) % 3] < 50 && data[i + (k + 2) % 3] < 50;
        done(sums);
    };
    image.onerror = () => done(null);
    image.src = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(svg)], {type: 'image/svg+xml'}));"""


def run_again(test):
    """The outlines of the map that the Chain mode's settings give, and the pixels that differ."""
    test.browser.run("document.querySelector('#surface-again')?.remove(); document.getElementById('surface-run-again').click()")
    test.browser.wait("the map again", lambda: test.browser.elements("#surface-again .unrolled"))
    before, after, both = test.browser.driver.execute_async_script(LAYERS)
    return test.browser.run(OUTLINES, "#surface-again"), (before, after, both)


def set_level(test, level):
    """Of all classes."""
    test.browser.run("""
        for (const one of document.querySelectorAll('.chain-classes input[type=number]')) {
            one.value = arguments[0];
            one.dispatchEvent(new Event('input', {bubbles: true}));
        }""", level)
    test.browser.wait("its result", lambda: not test.browser.run("return document.getElementById('chain').isBusy()"))


def other_settings_are_drawn_beside(test):
    """With the line's own settings the map is that of the verdict and nothing differs; a lower level adds, a higher one takes away."""
    line = make_measured(test)
    verdict = most_of(line)
    with bench_of(test, "--log", line["log"], line["recordings"]) as workbench:
        open_surface(test, workbench, verdict["fruit"])
        judged = test.browser.run(OUTLINES, "#fruit-surface .maps figure:first-child")
        set_level(test, 0.5)
        again, (before, after, both) = run_again(test)
        assert judged and set(judged) <= set(again), set(judged) - set(again)  # also those outside their strip, which are cut off
        assert both > 50 and before == after == 0, (before, after, both)
        set_level(test, 0.3)
        again, (before, after, more) = run_again(test)
        assert again != judged and after > before and more >= both * 0.9, (before, after, more)
        test.keep("surface_lower", both=True)
        set_level(test, 0.8)
        again, (before, after, less) = run_again(test)
        assert before > after and less < both, (before, after, less)


def another_fruit_has_another_map(test):
    """The surface follows the fruit, and stays as it is from view to view."""
    line = make_measured(test)
    with bench_of(test, "--log", line["log"], line["recordings"]) as workbench:
        show_fruits(test, workbench)
        test.browser.wait("the list", lambda: len(test.browser.elements("#fruits li button")) == FRUITS)
        test.browser.run("document.querySelector('#fruits li button').click()")
        test.browser.wait("the bar", lambda: test.browser.elements("#fruit-bar strong"))
        test.browser.run("document.querySelector('#fruit-surface summary').click()")
        label = "return document.querySelector('#fruit-surface .unrolled')?.getAttribute('aria-label')"
        first = test.browser.wait("the map", lambda: test.browser.run(label))
        test.browser.run("document.querySelector('.unrolled').dataset.mark = 'same'")
        pressed = "return document.querySelector('#fruit-bar [aria-pressed=true]').textContent"
        before = test.browser.run(pressed)
        test.browser.run("document.querySelector('#fruit-bar [data-does^=view-][aria-pressed=false]').click()")
        test.browser.wait("the next view", lambda: test.browser.run(pressed) != before)
        assert test.browser.run("return document.querySelector('.unrolled').dataset.mark") == "same"
        test.browser.run("document.querySelector('#fruit-bar [data-does=fruits_next]').click()")
        test.browser.wait("another map", lambda: test.browser.run(label) not in (None, first))


def without_a_map_it_says_how_to_get_one(test):
    """Without verdicts, without a verdict on the fruit, of a line that does not measure, with a log that was emptied."""
    line, measured = make_line(test), make_measured(test)
    with bench_of(test, measured["recordings"]) as workbench:
        assert "--log DIR" in open_surface(test, workbench, 0)
    with bench_of(test, "--log", line["log"], measured["recordings"]) as workbench:
        assert "no verdict" in open_surface(test, workbench, 0)
    with bench_of(test, "--log", line["log"], line["recordings"]) as workbench:
        said = open_surface(test, workbench, line["verdicts"][0]["fruit"])
        assert "did not measure" in said and "geometry:" in said and "roll_deg" in said, said
        test.keep("surface_none")
        said = open_surface(test, workbench, line["verdicts"][0]["fruit"], "it")
        assert "geometry" in said and "surface_" not in said, said


def a_verdict_that_is_gone_is_said(test):
    """The line has removed it since the recordings were read, or it is damaged: one line, and the next fruit is shown."""
    line = make_measured(test)
    log = test.folder / "short-log"
    shutil.copytree(line["log"], log)
    verdict = most_of(line)
    with bench_of(test, "--log", log, line["recordings"]) as workbench:
        show_fruits(test, workbench, f"fruit {verdict['fruit']}")
        for segment in log.iterdir():
            segment.write_bytes(segment.read_bytes()[:100])
        said = open_surface(test, workbench, verdict["fruit"])
        assert "is no longer there" in said and "keep_mib" in said, said
        assert test.browser.run("return document.querySelector('#fruit-surface .alert').lang") == "en"


def what_is_recorded_later_is_found(test):
    """Find also finds what came into the folder and the log since the page was opened; a fruit that is open stays the same."""
    line, later = make_line(test), make_measured(test)
    folder, log = test.folder / "growing", test.folder / "growing-log"
    shutil.copytree(line["recordings"], folder)
    shutil.copytree(line["log"], log)
    with bench_of(test, "--log", log, folder) as workbench:
        show_fruits(test, workbench)
        known = find(test, "")
        test.browser.run("document.querySelector('#fruits li button').click()")
        name = test.browser.wait("the first fruit", lambda: test.browser.text("#fruit-bar strong"))
        for recording in later["recordings"].iterdir():
            shutil.copy(recording, folder / f"later-{recording.name}")
        last = max(int(path.stem.split("-")[1]) for path in log.iterdir())
        for segment in later["log"].iterdir():
            number = last + int(segment.stem.split("-")[1])
            shutil.copy(segment, log / f"cernita-{number:010}{segment.suffix}")
        test.browser.run("document.querySelector('#fruit-bar [data-does=back]').click()")
        found = find(test, "")
        assert len(found) == len(known) + FRUITS, (len(known), len(found))
        total = len(line["verdicts"]) + FRUITS
        test.browser.wait_text("#fruits-help", f"{total} of {total} fruits have a verdict")
        test.browser.run("""
            [...document.querySelectorAll('#fruits li button')].find((one) => arguments[0].startsWith(one.querySelector('strong').textContent)).click()""", name)
        test.browser.wait("the same fruit", lambda: test.browser.text("#fruit-bar strong") == name)


def surfaces_on_screens(test):
    """At 1280 × 900, 1024 × 600 and on a phone nothing is cut off at the sides, in both languages and themes."""
    line = make_measured(test)
    number = most_of(line)["fruit"]
    try:
        with bench_of(test, "--log", line["log"], line["recordings"]) as workbench:
            for width, height in (*SCREENS, PHONE):
                test.browser.resize(width, height)
                for language in ("en", "it"):
                    open_surface(test, workbench, number, language)
                    wide = test.browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
                    assert wide <= 0, f"{width} × {height}, {language}: {wide} px too wide"
                    test.keep(f"surface_{width}_{language}", both=language == "en")
    finally:
        test.browser.resize(*DESKTOP)


SURFACE_TESTS = [the_map_is_that_of_the_verdict, other_settings_are_drawn_beside, another_fruit_has_another_map, without_a_map_it_says_how_to_get_one,
                 a_verdict_that_is_gone_is_said, what_is_recorded_later_is_found, surfaces_on_screens]
