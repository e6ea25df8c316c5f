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
from made_log import NS_PER_S, make_day, write_log

PROGRAM = ROOT / "tools/report/cernita-report"
TABLET = (820, 1180)
SIZES = {"desktop": DESKTOP, "tablet": TABLET, "phone": PHONE}
SHIFT = ("--from", "2026-11-27 06:00", "--to", "2026-11-27 14:00")


class ReportTest(PageTest):
    """Also has an archive of two shifts."""

    def __init__(self, arguments, folder):
        super().__init__(arguments, folder)
        os.environ["TZ"] = "Europe/Rome"
        time.tzset()
        begin_ns = period.to_ns(period.read_time("2026-11-26 06:00"))
        days = [make_day(day, begin_ns + day * 86400 * NS_PER_S, 8 * 3600, 3000)[0] for day in (0, 1)]
        for verdict in days[1]:
            verdict["run"] = f"28{verdict['run'][2:]}"
        write_log(self.folder / "log", days[0] + days[1])
        self.archive = self.folder / "line.sqlite"
        subprocess.run([self.programs / "cernita-archive", "--from", self.folder / "log", "--to", self.archive], check=True,
                       stdout=subprocess.DEVNULL)

    def open(self, name, *options):
        page = self.folder / f"{name}.html"
        subprocess.run([PROGRAM, self.archive, *options, "--html", page], check=True, stdout=subprocess.DEVNULL)
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


TESTS = (shift, opened, lot, few_fruits, without_charts)

if __name__ == "__main__":
    sys.exit(run_tests(ReportTest, TESTS, make_parser(__doc__).parse_args()))
