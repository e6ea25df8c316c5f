"""The last 24 hours on the live page, by a stand-in for the daemon."""
import time

from live.overview import LANGUAGES, expect_easy_reading, open_page
from page_tests import DESKTOP, PHONE
from stand_in.daemon import normal_event

MINUTE_MS, STEP_MS, HOUR_MS = 60000, 600000, 3600000
NOW_MS = int(time.time() * 1000) // HOUR_MS * HOUR_MS - 26 * MINUTE_MS + 20000 # 34 minutes into an hour
OVER = 4 # minutes of the last ten
POINTS = """return ['history-fruits', 'history-classes'].map((id) => Chart.getChart(document.getElementById(id)).data.datasets
    .map((set) => set.data))"""


def rows_of(classes):
    """Two days with a night in each: a minute of the shift has 600 fruits, of which class i is in 60 / (i + 1)."""
    def row(ago):
        minutes = 10 if ago else OVER
        return {"at_ms": NOW_MS // STEP_MS * STEP_MS - ago * STEP_MS, "complete": 580 * minutes, "partial": 15 * minutes,
                "late": 5 * minutes, "with_defect": 90 * minutes,
                "classes": {name: {"looked_for": 600 * minutes, "fruits": 60 // (i + 1) * minutes, "area_px": 1234.5, "area_mm2": None}
                            for i, name in enumerate(classes)}}
    return [row(ago) for ago in range(287, -1, -1) if not 40 < ago % 144 <= 90]


def open_history(test, rows, language="en"):
    stand_in = open_page(test, normal_event() | {"now_s": NOW_MS / 1000}, language)
    stand_in.minutes |= {"now_ms": NOW_MS, "step_s": 600, "rows": rows}
    test.browser.run("document.getElementById('history').open = true")
    test.browser.wait("the history", lambda: any(c.isdigit() for c in test.browser.text("#history-said")))
    return stand_in


def the_day_is_drawn_and_listed(test):
    """Points of ten minutes, pauses, shares by class; a table of whole hours, and the one at hand that says so."""
    stand_in = open_history(test, rows_of(["rot", "rust"]))
    assert test.browser.text("#history-said") == f"{93 * 6000 + OVER * 600:,} fruits, 15 % with a defect"
    (fruits,), shares = test.browser.run(POINTS)
    assert len(fruits) == 144 and fruits[-1] == fruits[-2] == fruits[0] == 600
    assert fruits[100] == 0 and shares[0][100] is None
    assert abs(shares[0][-1] - 10) < 1e-9 and abs(shares[1][-1] - 5) < 1e-9
    test.browser.run("document.getElementById('history-hours').open = true")
    listed = [int(text.replace(",", "")) for text in test.browser.texts("#history-table td:nth-child(2)")]
    assert listed[0] == 3 * 6000 + OVER * 600 and listed[1] == listed[-1] == 36000
    assert "–" in test.browser.texts("#history-table td:nth-child(1)")[0]
    assert test.browser.texts("#history-head th")[3:] == ["rot", "rust"]
    assert set(test.browser.texts("#history-table td:nth-child(4)")) == {"10 %"}
    assert stand_in.minutes_asked == {"step": 600, "from": NOW_MS // HOUR_MS * HOUR_MS - 24 * HOUR_MS}
    stand_in.close()


def the_table_has_every_class(test):
    """The charts have the five most frequent ones."""
    names = [f"class {at}" for at in range(9)]
    stand_in = open_history(test, rows_of(names))
    test.browser.run("document.getElementById('history-hours').open = true")
    assert test.browser.texts("#history-head th")[3:] == names
    assert test.browser.texts("#history-key li") == names[:5]
    stand_in.close()


def a_line_that_gives_no_history_is_told(test):
    """And what is there already stays."""
    stand_in = open_page(test, normal_event())
    stand_in.minutes, given = None, stand_in.minutes
    test.browser.run("document.getElementById('history').open = true")
    test.browser.wait_text("#history-said", "The line does not answer")
    stand_in.minutes = given | {"now_ms": NOW_MS, "rows": rows_of(["rot"])}
    test.browser.run("document.dispatchEvent(new Event('visibilitychange'))")
    test.browser.wait_text("#history-said", "with a defect")
    stand_in.minutes = None
    test.browser.run("document.dispatchEvent(new Event('visibilitychange'))")
    assert "with a defect" in test.browser.text("#history-said")
    assert test.browser.complaints() # a browser says 503 in its console
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
            stand_in = open_history(test, rows_of(names), language)
            test.browser.run("document.getElementById('history-hours').open = true")
            width = test.browser.run("return document.documentElement.scrollWidth")
            assert width <= size[0], f"{language}, {size}: {width} px wide"
            assert len(test.browser.elements("#history-key li")) == 5
            expect_easy_reading(test)
            test.expect_whole_words()
            stand_in.close()
        stand_in = open_history(test, rows_of(["rot", "rust", "hail"]))
        test.browser.run("document.getElementById('history').scrollIntoView()")
        test.keep(f"history_{size[0]}", both=True)
        stand_in.close()
    test.browser.resize(*DESKTOP)


HISTORY_TESTS = [the_day_is_drawn_and_listed, the_table_has_every_class, an_empty_day_says_so,
                 a_line_that_gives_no_history_is_told, the_history_fits_every_screen]
