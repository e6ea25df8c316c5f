#!/usr/bin/python3
"""The page of cernita-report in a real Chromium, from file://, of an archive that cernita-archive made.

    tests/pages/check_report.py --bin build/bin [--axe axe.min.js] [--shots FOLDER] [--only TEXT]

Prints a line per test and at last how many passed, failed and were skipped; exits 1 when any failed. --axe looks for
barriers in both themes at three widths, --shots keeps a picture of each.
"""
import os
import pathlib
import subprocess
import sys
import time

from page_tests import DESKTOP, PHONE, PageTest, make_parser, run_tests

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/python/report"), str(ROOT / "tools/report")]

from cernita_report import period, report, tables, words
from cernita_report.page import make_page
from made_log import (
    NS_PER_S, make_alarms, make_changes, make_day, make_outcomes, write_alarms, write_changes, write_log)

PROGRAM = ROOT / "tools/report/cernita-report"
TABLET = (820, 1180)
SIZES = {"desktop": DESKTOP, "tablet": TABLET, "phone": PHONE}
SHIFT = ("--from", "2026-11-27 06:00", "--to", "2026-11-27 14:00")


class ReportTest(PageTest):
    """Also has an archive of two shifts, with outcomes and changes, and one without."""

    def __init__(self, arguments, folder):
        super().__init__(arguments, folder)
        os.environ["TZ"] = "Europe/Rome"
        time.tzset()
        begin_ns = period.to_ns(period.read_time("2026-11-26 06:00"))
        days = [make_day(day, begin_ns + day * 86400 * NS_PER_S, 8 * 3600, 3000)[0] for day in (0, 1)]
        for verdict in days[1]:
            verdict["run"] = f"28{verdict['run'][2:]}"
        verdicts = days[0] + days[1]
        write_log(self.folder / "log", verdicts)
        write_log(self.folder / "sorter", make_outcomes(1, verdicts)[0])
        write_changes(self.folder / "state", make_changes(1, verdicts))
        write_alarms(self.folder / "state", make_alarms(1, verdicts))
        self.archive = self.make_archive("line", "--sorter", self.folder / "sorter", "--state", self.folder / "state")
        self.bare = self.make_archive("bare")

    def make_archive(self, name, *options):
        path = self.folder / f"{name}.sqlite"
        subprocess.run([self.programs / "cernita-archive", "--from", self.folder / "log", "--to", path, *options], check=True,
                       stdout=subprocess.DEVNULL)
        return path

    def open(self, name, *options, archive=None):
        page = self.folder / f"{name}.html"
        subprocess.run([PROGRAM, archive or self.archive, *options, "--html", page], check=True, stdout=subprocess.DEVNULL)
        self.browser.resize(*DESKTOP)
        self.browser.driver.get(page.as_uri())

    def look(self, name):
        """At each width: no barriers, nothing wider than the window but what scrolls by itself."""
        for kind, size in SIZES.items():
            self.browser.resize(*size)
            self.keep(f"{name}_{kind}", both=True)
            wide = self.browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, f"{name}_{kind}: {wide} px wider than the window"


def shift(test):
    """A shift: every table and chart is there, at three widths, in both themes; nothing is loaded."""
    test.open("shift", *SHIFT)
    titles = [test.browser.text(f"#{table.name} h2") for table in tables.TABLES]
    assert all(titles), titles
    assert test.browser.text("#changes tbody") and test.browser.text("#drift tbody") and "missed" in test.browser.text("#outlets thead")
    assert test.browser.run("return performance.getEntriesByType('resource').length") == 0
    drawn = test.browser.run("""return [...document.querySelectorAll('canvas')].map((canvas) =>
        new Set(new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size)""")
    assert len(drawn) == 2 and min(drawn) > 3, f"colours of the charts: {drawn}"
    test.look("shift")


def opened(test):
    """With all that is folded shown."""
    test.open("shift", *SHIFT)
    test.browser.run("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    test.look("opened")


def lot(test):
    """A lot, whose grower is not known: it says that there is none to compare with."""
    test.open("lot", "--lot", "4711")
    test.browser.wait_text("header", "There is no lot before to compare with")
    test.look("lot")


def no_sorter(test):
    """Without a sorter's log and a state folder it says how the archive gets them, and has no other empty tables of them."""
    test.open("no_sorter", *SHIFT, archive=test.bare)
    test.browser.wait_text("#outlets", "(--sorter)")
    test.browser.wait_text("#changes", "(--state)")
    test.browser.wait_text("#drift", "(--state)")
    assert test.browser.run("return document.querySelectorAll('#outlet_lanes, #outlet_reasons').length") == 0
    test.look("no_sorter")


def few_fruits(test):
    """A period of few fruits."""
    test.open("few", "--from", "2026-11-27 06:00", "--to", "2026-11-27 06:01")
    test.look("few")


def without_charts(test):
    """Without Chart.js it says so, and how to get it."""
    page = test.folder / "bare.html"
    chosen = period.of_times(*(period.read_time(SHIFT[index]) for index in (1, 3)))
    made = report.make_report(str(test.archive), lambda _: chosen)
    page.write_text(make_page(made, words.ENGLISH, chart_js=None))
    test.browser.driver.get(page.as_uri())
    test.browser.wait_text("#told", "Install libjs-chart.js")
    test.look("bare")


TESTS = (shift, opened, lot, no_sorter, few_fruits, without_charts)

if __name__ == "__main__":
    sys.exit(run_tests(ReportTest, TESTS, make_parser(__doc__).parse_args()))
