"""The last 24 hours on the live page, by a stand-in for the daemon."""
import time

from live.overview import LANGUAGES, expect_easy_reading, open_page
from page_tests import DESKTOP, PHONE
from stand_in.daemon import normal_event

MINUTE_MS, HOUR_MS = 60000, 3600000
POINTS = """return ['history-fruits', 'history-classes'].map((id) => Chart.getChart(document.getElementById(id)).data.datasets
    .map((set) => set.data))"""


def rows_of(now_ms, classes):
    """A day with a night in it: minute k of the shift has 600 fruits, of which class i is in 60 / (i + 1)."""
    end_ms = now_ms // MINUTE_MS * MINUTE_MS
    return [{"at_ms": end_ms - ago * MINUTE_MS, "complete": 580, "partial": 15, "late": 5, "with_defect": 90,
             "classes": {name: {"looked_for": 600, "fruits": 60 // (i + 1), "area_px": 1234.5, "area_mm2": None}
                         for i, name in enumerate(classes)}}
            for ago in range(1440, 0, -1) if not 400 < ago <= 900]


def open_history(test, rows, language="en"):
    stand_in = open_page(test, normal_event(), language)
    stand_in.minutes["rows"] = rows
    test.browser.run("document.getElementById('history').open = true")
    test.browser.wait("the history", lambda: any(c.isdigit() for c in test.browser.text("#history-said")))
    return stand_in


def the_day_is_drawn_and_listed(test):
    """Points of ten minutes, pauses, shares by class, and a table whose sums are those of the minutes."""
    rows = rows_of(int(time.time() * 1000), ["rot", "rust"])
    stand_in = open_history(test, rows)
    assert test.browser.text("#history-said") == f"{600 * len(rows):,} fruits, 15 % with a defect"
    (fruits,), shares = test.browser.run(POINTS)
    assert len(fruits) == 144 and abs(sum(fruits) * 10 - 600 * len(rows)) <= 6000 # the day's first minutes
    assert fruits[-1] == 600 and fruits[100] == 0 and shares[0][100] is None
    assert abs(shares[0][-1] - 10) < 1e-9 and abs(shares[1][-1] - 5) < 1e-9
    test.browser.run("document.getElementById('history-hours').open = true")
    listed = test.browser.texts("#history-table td:nth-child(2)")
    assert sum(int(text.replace(",", "")) for text in listed) == 600 * len(rows)
    assert test.browser.texts("#history-head th")[3:] == ["rot", "rust"]
    assert set(test.browser.texts("#history-table td:nth-child(4)")) == {"10 %"}
    stand_in.close()


def an_empty_day_says_so(test):
    """Instead of empty charts."""
    stand_in = open_page(test, normal_event())
    test.browser.run("document.getElementById('history').open = true")
    test.browser.wait_text("#history-said", "No fruit was judged in the last 24 hours.")
    assert test.browser.run("return document.getElementById('history-charts').hidden")
    stand_in.close()


def the_history_fits_every_screen(test):
    """Five classes with long names, on a phone and on a large screen, in every language."""
    names = [f"a class with a long name, the {at}th of them" for at in range(6)]
    for size in (PHONE, (1024, 600), (1920, 1080)):
        test.browser.resize(*size)
        for language in LANGUAGES:
            stand_in = open_history(test, rows_of(int(time.time() * 1000), names), language)
            test.browser.run("document.getElementById('history-hours').open = true")
            width = test.browser.run("return document.documentElement.scrollWidth")
            assert width <= size[0], f"{language}, {size}: {width} px wide"
            assert len(test.browser.elements("#history-key li")) == 5
            expect_easy_reading(test)
            test.expect_whole_words()
            stand_in.close()
        stand_in = open_history(test, rows_of(int(time.time() * 1000), ["rot", "rust", "hail"]))
        test.browser.run("document.getElementById('history').scrollIntoView()")
        test.keep(f"history_{size[0]}", both=True)
        stand_in.close()
    test.browser.resize(*DESKTOP)


HISTORY_TESTS = [the_day_is_drawn_and_listed, an_empty_day_says_so, the_history_fits_every_screen]
