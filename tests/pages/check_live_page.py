#!/usr/bin/python3
"""The live page in a real Chromium, in each state of the line.

    tests/pages/check_live_page.py --bin build/bin [--axe axe.min.js] [--shots FOLDER] [--minutes M] [--only TEXT]

Prints a line per test and at last how many passed, failed and were skipped; exits 1 when any failed. --axe looks for
barriers in every state, --shots keeps a picture of each, --minutes M leaves the page open for so long (0: not).
"""
import json
import pathlib
import re
import statistics
import subprocess
import sys
import time
import urllib.request

import numpy as np

from browser import Browser
from live.alarms import ALARM_TESTS
from live.daemon import BUDGET_MS, CLASSES, FRUITS, VIEWS, Daemon
from live.fruit import FRUIT_TESTS
from live.history import HISTORY_TESTS
from live.outlets import OUTLET_TESTS
from live.overview import LANGUAGES, OVERVIEW_TESTS
from live.outlines import outlines_are_the_verdicts
from page_tests import DESKTOP, PHONE, PageTest, make_parser, run_tests

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/python"))
from cernita import Line


class LiveTest(PageTest):
    """Also has recordings, and starts daemons."""

    def __init__(self, arguments, folder):
        super().__init__(arguments, folder)
        self.daemons = 0
        self.one_lane = self.record("one.tif", "--fruits", FRUITS)
        self.two_lanes = self.record("two.tif", "--fruits", FRUITS, "--lanes", 2)

    def record(self, name, *options):
        path = self.folder / name
        subprocess.run([self.programs / "cernita-synth", path, "--views", str(VIEWS),
                        *map(str, options)], check=True, stdout=subprocess.DEVNULL)
        return path

    def daemon(self, program="cernitad", **changes):
        self.daemons += 1
        folder = self.folder / str(self.daemons)
        folder.mkdir()
        return Daemon(folder, self.programs, program, **changes)


# Times that a busy machine keeps, too.
PATIENT = {"latency": {"budget_ms": 5000}, "limits": {"slots": 200}}


# --- tests: each starts what it needs, and says no more than that it failed ---

def empty(test):
    """Before the first view it says so, in the reader's language."""
    line = test.daemon()
    try:
        test.browser.open(line.address)
        line.grade()
        test.browser.wait_text("#headline", "no fruit has come yet")
        assert test.browser.text("#no-lanes") and not test.browser.elements("#lane-list li")
        test.keep("empty")
        test.browser.open(line.address, "it")
        test.browser.wait_text("#headline", "non è ancora arrivato nessun frutto")
        assert test.browser.run("return document.documentElement.lang") == "it"
        test.keep("empty_it")
    finally:
        line.close()


def open_details(browser):
    browser.run("document.getElementById('technical').open = true")


def histogram_sum(browser):
    return sum(int(text.replace(",", "")) for text in browser.texts("#histogram-table td:nth-child(2)"))


def counts_are_right(test):
    """After a replay of known length the figures are those of the recording and of /metrics."""
    line = test.daemon()
    try:
        line.grade()
        test.browser.open(line.address)
        open_details(test.browser)
        line.replay(test.two_lanes)
        test.browser.wait_text("#headline", "Sorting normally")
        test.keep("good")
        test.browser.wait_text("#complete", str(FRUITS))
        assert line.metric("cernita_verdicts_total") == FRUITS
        assert line.metric("cernita_views_received_total") == FRUITS * VIEWS
        for kind in ("partial", "late", "lost"):
            assert test.browser.text(f"#{kind}") == "0"
        assert test.browser.texts("#lane-list .unseen") == ["Lane 0", "Lane 1"]
        test.browser.wait("the table of the histogram", lambda: histogram_sum(test.browser) == FRUITS)
        test.browser.run("document.getElementById('period-all').click()")
        assert histogram_sum(test.browser) == FRUITS
        test.browser.wait_text("#headline", "No CNN is connected") # the replay has ended
    finally:
        line.close()


def budget_line_is_drawn(test):
    """A dashed line of the text's colour between the last bar within the budget and the first beyond."""
    line = test.daemon()
    try:
        line.replay(test.one_lane)
        test.browser.open(line.address)
        open_details(test.browser)
        test.browser.wait("the chart", lambda: histogram_sum(test.browser) == FRUITS)
        time.sleep(0.2)
        share = test.browser.run("""
            const chart = Chart.getChart('histogram');
            const edge = [...document.querySelectorAll('#histogram-table tr')]
                .findIndex((row) => row.cells[0].textContent === arguments[0]);
            const x = (chart.scales.x.getPixelForValue(edge) + chart.scales.x.getPixelForValue(edge + 1)) / 2;
            const { top, bottom } = chart.chartArea;
            const ratio = chart.currentDevicePixelRatio;
            const pixels = chart.ctx.getImageData(Math.round(x * ratio) - 1, top * ratio, 2, (bottom - top) * ratio);
            let dark = 0;
            for (let i = 0; i < pixels.data.length; i += 8) {
                dark += Math.min(pixels.data[i] + 255 - pixels.data[i + 3], pixels.data[i + 4] + 255 - pixels.data[i + 7]) < 60;
            }
            return dark / (bottom - top) / ratio;""", f"{BUDGET_MS}\u00a0ms")
        assert 0.4 < share < 0.8, f"dark share of the column: {share}"
    finally:
        line.close()


def over_budget(test):
    """A pause of the daemon: fruits over budget are counted, listed, and explained on a page of their own."""
    line = test.daemon()
    try:
        line.grade()
        test.browser.open(line.address)
        line.replay(test.one_lane, "--loop", 0)
        test.browser.wait_text("#headline", "Sorting normally")
        # The fruits that a pause meets may be late, which is not over budget.
        slow = """return [...document.querySelectorAll('#bad-list tr')].find(({ cells }) =>
            cells[2].textContent.includes('too slow') && !cells[2].textContent.includes('not judged'))?.querySelector('a').href"""
        link = test.browser.wait("the list", lambda: line.pause(1) or test.browser.run(slow))
        assert line.metric("cernita_verdicts_over_budget_total") > 0
        test.keep("over_budget")
        test.browser.open(link)
        test.browser.wait_text("#headline", "Judged too slowly")
        assert test.browser.text("#action")
        assert len(test.browser.elements("#waterfall .rows li")) == VIEWS
        check_waterfall(test.browser, link)
        test.keep("fruit")
    finally:
        line.close()


def check_waterfall(browser, address):
    """The bars lie where the verdict's times are on the axis."""
    with urllib.request.urlopen(f"{address}.json") as answer:
        verdict = json.load(answer)["verdict"]
    bars = browser.run("""return [...document.querySelectorAll('#waterfall .rows li')].map((row) =>
        [...row.querySelectorAll('.bar')].map((bar) => [parseFloat(bar.style.left), parseFloat(bar.style.width)]))""")
    marks = browser.run("return [...document.querySelectorAll('#waterfall li:first-child .mark')]"
                        ".map((mark) => [mark.className.split(' ')[1], parseFloat(mark.style.left)])")
    closed = dict(marks)["closed"]
    per_ms = closed / verdict["assembly_ms"]
    for state, drawn in zip(verdict["view_states"], bars):
        times = [state["received_ms"], state["queue_ms"], state["run_ms"]]
        assert len(drawn) == sum(time is not None for time in times[1:])
        for bar, at in zip(drawn, (times[0], (times[0] or 0) + (times[1] or 0))):
            assert abs(bar[0] - at * per_ms) < 0.1
    assert abs(dict(marks)["published"] - (verdict["assembly_ms"] + verdict["latency_ms"]["total"]) * per_ms) < 0.1


class SmallViews:
    """A sender of lane 1 whose views are small and show nothing but background."""

    def __init__(self, line, classes=CLASSES):
        self.sender = Line(line.endpoint("views"), lane=1, views=VIEWS, classes=classes)
        self.fruits = 0
        assert self.sender.wait(10), "no daemon answers"

    def send(self, fruit, views):
        """The first views of a fruit of VIEWS."""
        maps = np.zeros((8, 8, len(self.sender.classes)), np.float32)
        maps[..., self.sender.classes.index("background")] = 1
        for view in range(views):
            assert self.sender.send(maps, fruit=fruit, view=view)
        self.fruits += 1


def partial_fruits(test):
    """A lane whose fruits lack pictures: the headline names it and says what to do, in the reader's language."""
    line = test.daemon(**PATIENT)
    try:
        line.grade()
        test.browser.open(line.address)
        line.replay(test.one_lane, "--loop", 0, "--rate", 2)
        test.browser.wait_text("#headline", "Sorting normally")
        views = SmallViews(line)

        def send_until(words):
            def said():
                views.send(views.fruits, VIEWS - 1)
                return words in test.browser.text("#headline")
            test.browser.wait(f"the headline: {words}", said)
        send_until("of the pictures are missing")
        assert test.browser.run("return document.querySelector('#lane-list [data-lane=\"1\"]').dataset.level") == "bad"
        test.browser.wait("the list", lambda: "judged in part" in "".join(test.browser.texts("#bad-list tr")))
        test.keep("partial")
        test.browser.open(line.address, "it")
        send_until("delle immagini")
        views.sender.close()
    finally:
        line.close()


def refused_views(test):
    """A CNN with other classes than the line: the headline says so and what to do, in the reader's language."""
    line = test.daemon()
    try:
        line.grade()
        test.browser.open(line.address)
        views = SmallViews(line, CLASSES[::-1])

        def send_until(words):
            def said():
                views.send(views.fruits, VIEWS)
                return words in test.browser.text("#headline")
            test.browser.wait(f"the headline: {words}", said)
        send_until("other classes than the line")
        assert test.browser.text("#action") and not test.browser.run("return document.getElementById('misjudged').hidden")
        test.keep("refused")
        test.browser.open(line.address, "it")
        send_until("classi")
        views.sender.close()
    finally:
        line.close()


def silent_lane(test):
    """A lane whose camera stops: headline and tile say so, the other one goes on; all ends when it comes again."""
    line = test.daemon(**PATIENT)
    try:
        line.grade()
        test.browser.open(line.address)
        line.replay(test.two_lanes)
        test.browser.wait("two lanes", lambda: len(test.browser.elements("#lane-list li")) == 2)
        line.replay(test.one_lane, "--loop", 0)
        levels = "return [...document.querySelectorAll('#lane-list li')].map((tile) => tile.dataset.level)"
        test.browser.wait_text("#headline", "Lane 1: no pictures")
        assert test.browser.run(levels) == ["good", "bad"] and "no pictures" in test.browser.texts("#lane-list li")[1]
        assert "camera" in test.browser.text("#action")
        test.keep("silent_lane")
        line.end_replay()
        line.replay(test.two_lanes, "--loop", 0)
        test.browser.wait_text("#headline", "Sorting normally")
        test.browser.wait_text("#last-alarm", "Lane 1: no pictures, over since")
    finally:
        line.close()


def each_lane_in_turn(test):
    """The last fruits are of all lanes in turn, also of one that sends without photographs."""
    line = test.daemon()
    views = SmallViews(line) # lane 1
    try:
        line.grade()
        line.replay(test.one_lane, "--loop", 0)
        test.browser.open(line.address)

        def lanes():
            views.send(views.fruits, VIEWS)
            names = test.browser.run("return [...document.querySelectorAll('[data-fruit]')].map((e) => e.dataset.fruit)")
            return [name.split("/")[0] for name in names]
        test.browser.wait("three fruits of each lane", lambda: sorted(lanes()) == ["0"] * 3 + ["1"] * 3)
    finally:
        views.sender.close()
        line.close()


def degraded(test):
    """A device is lost: the page says so."""
    import signal
    line = test.daemon("device_daemon", run={"backend": "cuda", "devices": [0]})
    try:
        line.grade()
        test.browser.open(line.address)
        open_details(test.browser)
        line.replay(test.one_lane, "--loop", 0)
        test.browser.wait("fruits", lambda: test.browser.text("#complete") not in ("–", "0"))
        line.process.send_signal(signal.SIGUSR1)
        test.browser.wait("the state", lambda: "degraded" in (test.browser.text("#machine-list") or ""))
        test.browser.wait("the condition", lambda: "GPU failed" in "".join(test.browser.texts("#condition-list li")))
        test.keep("degraded")
    finally:
        line.close()


def it_connects_again(test):
    """The daemon ends: the page says since when; the next one is shown without a reload."""
    line = test.daemon(**PATIENT)
    try:
        line.grade()
        test.browser.open(line.address)
        open_details(test.browser)
        line.replay(test.one_lane)
        test.browser.wait_text("#complete", str(FRUITS))
        test.browser.run("window.sameDocument = true")
        run = test.browser.text("#machine-list")
        line.end()
        test.browser.wait_text("#headline", "No connection to the line")
        assert "the last news came at" in test.browser.text("#action")
        test.keep("stopped")
        line.start()
        line.replay(test.one_lane)
        test.browser.wait_text("#connection", "Live")
        test.browser.wait("figures of the new run", lambda: test.browser.text("#complete") == str(FRUITS)
                          and test.browser.text("#machine-list") != run)
        assert test.browser.run("return window.sameDocument")
    finally:
        line.close()


def fits_a_phone(test):
    """Nothing is wider than a phone, in any language."""
    line = test.daemon()
    try:
        line.grade()
        line.replay(test.two_lanes, "--loop", 0)
        test.browser.resize(*PHONE)
        for language in LANGUAGES:
            test.browser.open(line.address, language, "dark")
            test.browser.wait("fruits", lambda: len(test.browser.elements("[data-fruit]")) > 1)
            width = test.browser.run("return document.documentElement.scrollWidth")
            assert width <= PHONE[0], f"{language}: {width} px wide"
            test.keep(f"phone_{language}")
    finally:
        test.browser.resize(*DESKTOP)
        line.close()


def keyboard_reaches_everything(test):
    """Tab goes through the skip link, all buttons and links; the focus can be seen."""
    from selenium.webdriver.common.keys import Keys
    line = test.daemon()
    try:
        line.replay(test.one_lane, "--loop", 0)
        test.browser.open(line.address)
        test.browser.wait("fruits", lambda: len(test.browser.elements("[data-fruit]")) > 0)
        line.end_replay()
        wanted = test.browser.run("return document.querySelectorAll('a[href], button, select, summary').length")
        seen = set()
        for _ in range(wanted + 2):
            test.browser.driver.switch_to.active_element.send_keys(Keys.TAB)
            name, outline = test.browser.run(
                "const e = document.activeElement; return [e.tagName + e.textContent, getComputedStyle(e).outlineWidth]")
            assert name.startswith("BODY") or outline != "0px", name
            seen.add(name)
        assert any(name.startswith("ATo the content") for name in seen) and len(seen) >= min(wanted, 8), seen
    finally:
        line.close()


def memory_stays(test):
    """A page that is open for long: as many elements, as much memory."""
    minutes = test.arguments.minutes
    if not minutes:
        return "skipped"
    line = test.daemon()
    # What a just-in-time compiler keeps grows for long, whatever the page does.
    browser = Browser(flags="--expose-gc --jitless --no-lazy-feedback-allocation")
    try:
        line.grade()
        line.replay(test.two_lanes, "--loop", 0)
        browser.open(line.address)
        open_details(browser)
        browser.wait("six fruits", lambda: len(browser.elements("[data-fruit]")) == 6)
        heap, nodes, end = [], [], time.monotonic() + 60 * minutes
        while time.monotonic() < end:
            time.sleep(5)
            heap.append(browser.heap_bytes())
            nodes.append(browser.node_count())
        part = max(1, len(heap) // 5)
        first, last = statistics.median(heap[part:2 * part]), statistics.median(heap[-part:])
        print(f"     heap {first / 1e6:.2f} MB in the second fifth, {last / 1e6:.2f} MB in the last; "
              f"elements {min(nodes)} to {max(nodes)}")
        line.end_replay()
        total = line.metric("cernita_verdicts_total")
        browser.wait("all verdicts", lambda: sum(int(browser.text(f"#{kind}").replace(",", ""))
                                                 for kind in ("complete", "partial", "late")) >= total)
        assert last < 1.03 * first
        assert not browser.complaints()
    finally:
        browser.close()
        line.close()


TESTS = [empty, counts_are_right, budget_line_is_drawn, outlines_are_the_verdicts, over_budget, partial_fruits,
         refused_views, silent_lane, each_lane_in_turn, degraded, it_connects_again, fits_a_phone, keyboard_reaches_everything,
         *OVERVIEW_TESTS, *OUTLET_TESTS, *HISTORY_TESTS, *FRUIT_TESTS, *ALARM_TESTS, memory_stays]


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--minutes", type=float, default=0)
    return run_tests(LiveTest, TESTS, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
