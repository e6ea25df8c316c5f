"""The outlets on the live page: as a sorter reports them, by a stand-in for the daemon and by both programs."""
from live.alarms import FAKE_AUDIO, open_alarms, rows
from live.overview import CUT, LANGUAGES, expect_easy_reading, open_page, show
from page_tests import DESKTOP, PHONE
from stand_in.daemon import faulty_event, held, normal_event

OUTLETS = [("class1", 4711, 412), ("lower", 968, 88), ("waste", 96, 9), ("again", 12, 0)]
PLC_GONE = {"id": "plc_gone", "severity": "critical", "text": "no connection to the PLC: fruits pass all ejectors"}
SHARES = """return [...document.querySelectorAll('#outlet-list li')].map((e) => {
    const bar = e.querySelector('.part');
    return bar.firstElementChild.getBoundingClientRect().width / bar.getBoundingClientRect().width; })"""


def sorter(outlets=OUTLETS, *faults):
    return {"file": "apples.sorter.yaml", "faults": list(faults),
            "outlets": [{"name": name, "fruits": fruits, "per_minute": minute} for name, fruits, minute in outlets]}


def outlets_are_shown_while_reported(test):
    """Names, fruits of the last minute, shares and their bars; nothing when no sorter reports."""
    stand_in = open_page(test, normal_event() | {"sorter": None})
    hidden = "return document.getElementById('outlets').hidden"
    assert test.browser.run(hidden)
    show(test, stand_in, normal_event() | {"sorter": sorter()})
    assert test.browser.texts("#outlet-list .name") == ["class1", "lower", "waste", "again"]
    assert test.browser.texts("#outlet-list strong") == ["412", "88", "9", "0"]
    assert test.browser.texts("#outlet-list .share") == ["80.9 %", "17.3 %", "1.77 %", "0 %"]
    assert test.browser.texts("#outlet-list .all")[0] == "4,711 since the start"
    for drawn, (_, _, minute) in zip(test.browser.run(SHARES), OUTLETS):
        assert abs(drawn - minute / 509) < 0.01
    show(test, stand_in, normal_event() | {"sorter": sorter([(name, 0, 0) for name, _, _ in OUTLETS])})
    assert test.browser.texts("#outlet-list .share") == ["0 %"] * 4
    event = normal_event()
    event.pop("sorter", None) # an older daemon's
    show(test, stand_in, event)
    assert test.browser.run(hidden)
    stand_in.close()


def outlets_fit_every_screen(test):
    """Sixteen outlets with long names and large figures, on a phone and on a large screen, in every language."""
    many = sorter([(f"outlet-with-a-long-name-{at:02}-xxxx"[:31], 99999999, 99999) for at in range(16)], PLC_GONE)
    for size in (PHONE, (1024, 600), (1920, 1080)):
        test.browser.resize(*size)
        for language in LANGUAGES:
            stand_in = open_page(test, normal_event(), language)
            show(test, stand_in, normal_event() | {"sorter": many})
            width = test.browser.run("return document.documentElement.scrollWidth")
            cut = test.browser.run("return [...document.querySelectorAll('#outlets *')].filter((e) => e.scrollWidth > e.clientWidth + 1"
                                   " && e.clientWidth > 0).map((e) => e.textContent)")
            assert width <= size[0] and not cut, f"{language}, {size}: {width} px wide, {cut}"
            assert size == PHONE or not test.browser.run(CUT)
            expect_easy_reading(test)
            stand_in.close()
        for name, shown in (("outlets", sorter()), ("outlets_many", many)):
            stand_in = open_page(test, normal_event() | {"sorter": shown})
            test.keep(f"{name}_{size[0]}", both=True)
            stand_in.close()
    test.browser.resize(*DESKTOP)


def a_sorters_faults_are_in_the_headline(test):
    """A line whose fruits nobody ejects does not sort normally: in every language, before what matters less."""
    lesser = held("a", "warning", "The recording has gaps; sorting goes on", "Free the disk.")
    said = {"en": "no connection to the PLC", "it": "nessun collegamento con il PLC", "es": "no hay conexión con el PLC",
            "fr": "aucune connexion à l'automate", "de": "keine Verbindung zur SPS"}
    for language in LANGUAGES:
        stand_in = open_page(test, normal_event() | {"sorter": sorter()}, language)
        show(test, stand_in, faulty_event(lesser) | {"sorter": sorter(OUTLETS, PLC_GONE)})
        assert said[language] in test.browser.text("#headline") and test.browser.text("#action")
        assert test.browser.run("return document.getElementById('verdict').dataset.level") == "bad"
        assert not test.browser.run("return document.getElementById('misjudged').hidden")
        assert len(test.browser.elements("#condition-list > li")) == 2
        stand_in.close()
    stand_in = open_page(test, normal_event())
    own = {"id": "air_low", "severity": "warning", "text": "Too little air pressure"}
    show(test, stand_in, normal_event() | {"sorter": sorter(OUTLETS, own)})
    assert test.browser.text("#headline") == "Too little air pressure"
    assert test.browser.run("return document.getElementById('misjudged').hidden")
    show(test, stand_in, normal_event() | {"sorter": sorter()})
    assert test.browser.text("#headline") == "Sorting normally"
    stand_in.close()


def a_sorters_faults_sound(test):
    """As an alarm of their severity while they last, or as one that is worse; they are not in the list."""
    stand_in = open_page(test, normal_event())
    browser, event = test.browser, normal_event()
    tones = lambda: browser.run("return window.tones.splice(0)")
    own = {"id": "air_low", "severity": "warning", "text": "Too little air pressure"}
    lesser = held("a", "warning", "The recording has gaps; sorting goes on", "Free the disk.")
    try:
        browser.run(FAKE_AUDIO)
        open_alarms(test)
        browser.elements("#sound")[0].click()
        browser.wait("the sound of the button", lambda: tones() == [600])
        stand_in.alarms.raised(lesser)
        for at, faults, wanted in ((0, (), [800] * 2), (1, (own, PLC_GONE), [1000] * 3), (2, (PLC_GONE,), []),
                                   (7, (PLC_GONE,), [1000] * 3), (8, (own,), [800] * 2), (9, (), [])):
            show(test, stand_in, event | {"now_s": event["now_s"] + at, "sorter": sorter(OUTLETS, *faults)})
            assert tones() == wanted, f"after {at} s"
        assert len(rows(test)) == 1
    finally:
        browser.run("localStorage.removeItem('sound')")
        stand_in.close()


def a_sorter_beside_the_line(test):
    """cernita-sorter with line.page: its outlets appear, and go when it ends."""
    line = test.daemon(latency={"budget_ms": 5000})
    try:
        program = line.sort()
        test.browser.open(line.address)
        line.replay(test.one_lane, "--loop", 0)
        test.browser.wait("fruits in an outlet", lambda: any(text not in ("0", "–") for text in test.browser.texts("#outlet-list strong")))
        assert test.browser.texts("#outlet-list .name") == ["first", "second", "waste"]
        program.terminate()
        test.browser.wait("no outlets", lambda: test.browser.run("return document.getElementById('outlets').hidden"))
    finally:
        line.close()


OUTLET_TESTS = [outlets_are_shown_while_reported, outlets_fit_every_screen, a_sorters_faults_are_in_the_headline,
                a_sorters_faults_sound, a_sorter_beside_the_line]
