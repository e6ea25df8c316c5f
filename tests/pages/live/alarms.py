"""The alarms of the live page, by a stand-in for the daemon."""
import time
import urllib.request

from live.overview import LANGUAGES, SCREENS, expect_large_targets, open_page, show
from page_tests import DESKTOP, PHONE
from stand_in.daemon import faulty_event, held, normal_event

LANE_2 = held("lane_silent", "critical", "Lane 2: no pictures", "Check camera and CNN of this lane.", lane=2, misjudged=True)
GRADER = held("no_grader", "critical", "Nothing is ejected: no ejector program is connected", "Start the ejector program.",
              misjudged=True)
DISPLAY = held("viewer_stuck", "notice", "A display does not keep up; sorting goes on", "Restart the display.")


def now_ms(offset_s=0):
    return round(1000 * (time.time() + offset_s))


def open_alarms(test):
    test.browser.elements("#open-alarms")[0].click()
    test.browser.wait("the dialog", lambda: test.browser.run("return document.getElementById('alarms').open"))


def rows(test):
    """Of each alarm that is shown: its number, state, what is said, and the buttons that can be seen."""
    return [tuple(row) for row in test.browser.run("""
        return [...document.querySelectorAll('#alarm-list > li')].map((e) => [Number(e.dataset.number), e.dataset.alarm,
            e.querySelector('.what').textContent, [...e.querySelectorAll('.acts button, .acts summary')]
                .filter((b) => b.checkVisibility()).map((b) => b.textContent).join(', ')])""")]


def wait_rows(test, *wanted):
    test.browser.wait(f"the alarms {wanted}", lambda: rows(test) == list(wanted))


def press(test, number, text):
    """A button of an alarm."""
    found = [e for e in test.browser.elements(f"[data-number='{number}'] .acts :is(button, summary)") if e.text.endswith(text)]
    found[0].click()


def from_raised_to_shelved(test):
    """An alarm is raised, acknowledged, over, raised again and shelved; list, tile and POSTs say so."""
    stand_in = open_page(test, normal_event())
    alarms, browser = stand_in.alarms, test.browser
    event = faulty_event(LANE_2)
    try:
        assert browser.text("#last-alarm") == "none recorded"
        alarms.raised(LANE_2)
        show(test, stand_in, event)
        browser.wait_text("#open-alarms", "1 to acknowledge")
        assert browser.text("#last-alarm").endswith(" Lane 2: no pictures")
        assert browser.run("return document.getElementById('open-alarms').dataset.level") == "bad"
        open_alarms(test)
        wait_rows(test, (1, "unacknowledged", "Lane 2: no pictures", "Acknowledge, Shelve"))
        test.keep("alarm_raised")
        press(test, 1, "Acknowledge")
        wait_rows(test, (1, "acknowledged", "Lane 2: no pictures", "Shelve"))
        assert alarms.posts == [("acknowledge", {"number": "1"})]
        assert "192.168.0.7" in browser.text("#alarm-list .note")
        test.keep("alarm_acknowledged")
        alarms.update(1, cleared_ms=now_ms())
        show(test, stand_in, normal_event())
        wait_rows(test, (1, "over", "Lane 2: no pictures", ""))
        browser.wait_text("#last-alarm", "Lane 2: no pictures, over since")
        assert browser.run("return document.getElementById('open-alarms').dataset.level") == "none"
        test.keep("alarm_over")
        alarms.raised(LANE_2)
        show(test, stand_in, event)
        wait_rows(test, (2, "unacknowledged", "Lane 2: no pictures", "Acknowledge, Shelve"), (1, "over", "Lane 2: no pictures", ""))
        press(test, 2, "Shelve")
        press(test, 2, "8 h")
        wait_rows(test, (2, "shelved", "Lane 2: no pictures", "Acknowledge, End shelving"), (1, "over", "Lane 2: no pictures", ""))
        assert alarms.posts[-1] == ("shelve", {"number": "2", "minutes": "480"})
        show(test, stand_in, event)
        assert browser.text("#to-acknowledge") == "" and "over since" in browser.text("#last-alarm")
        assert browser.text("#headline") == "Lane 2: no pictures", "what is wrong is said all the same"
        test.keep("alarm_shelved")
        press(test, 2, "End shelving")
        wait_rows(test, (2, "unacknowledged", "Lane 2: no pictures", "Acknowledge, Shelve"), (1, "over", "Lane 2: no pictures", ""))
    finally:
        stand_in.close()


def all_at_once(test):
    """One button acknowledges all; what waits for somebody comes first; a daemon's own machine is named as such."""
    stand_in = open_page(test, normal_event())
    alarms = stand_in.alarms
    try:
        alarms.raised(GRADER, acknowledged_ms=now_ms(-60), acknowledged_by="local")
        alarms.raised(DISPLAY, shelved_until_ms=now_ms(3600))
        alarms.raised(LANE_2 | {"lane": 1}, cleared_ms=now_ms())
        alarms.raised(LANE_2)
        alarms.raised(GRADER, acknowledged_ms=now_ms(-60), acknowledged_by="192.168.0.9", cleared_ms=now_ms())
        show(test, stand_in, faulty_event(GRADER, LANE_2, DISPLAY))
        test.browser.wait_text("#open-alarms", "2 to acknowledge")
        open_alarms(test)
        assert [row[:2] for row in rows(test)] == [(4, "unacknowledged"), (3, "unacknowledged"), (1, "acknowledged"),
                                                    (2, "shelved"), (5, "over")]
        assert "at the line's computer" in test.browser.text("[data-number='1'] .note")
        test.browser.elements("#acknowledge-all")[0].click()
        test.browser.wait("all acknowledged", lambda: "unacknowledged" not in [row[1] for row in rows(test)])
        assert alarms.posts == [("acknowledge", {"number": "all", "newest": "5"})] and not test.browser.elements("#acknowledge-all")[0].is_displayed()
    finally:
        stand_in.close()


def refused_and_token(test):
    """A refused POST is said without identifiers; the access code is asked for only where the daemon wants it, once a tab."""
    stand_in = open_page(test, normal_event())
    alarms, browser = stand_in.alarms, test.browser
    try:
        for lane in range(3):
            alarms.raised(LANE_2 | {"lane": lane})
        show(test, stand_in, faulty_event(LANE_2))
        open_alarms(test)
        browser.wait("three alarms", lambda: len(rows(test)) == 3)
        alarms.refuses = "monitor.http.token names no file\n"
        press(test, 1, "Acknowledge")
        browser.wait_text("#alarms-said", "The line refused this.")
        assert browser.text("#alarms-details p") == alarms.refuses and not browser.elements("#token")[0].is_displayed()
        assert browser.complaints() # a browser says 403 in its console
        alarms.refuses, alarms.token = "", "kaki-47"
        press(test, 1, "Acknowledge")
        browser.wait_text("#alarms-said", "needs the access code")
        assert browser.run("return document.activeElement.id") == "token"
        test.keep("alarm_token")
        expect_large_targets(test)
        for code, said in (("kaki-46", "not the right one"), ("kaki-47", "Done.")):
            browser.elements("#token")[0].send_keys(code + "\n")
            browser.wait_text("#alarms-said", said)
        press(test, 2, "Acknowledge")
        browser.wait("it", lambda: [row[1] for row in rows(test)] == ["unacknowledged", "acknowledged", "acknowledged"])
        assert not browser.elements("#token")[0].is_displayed()
        assert browser.run("return [sessionStorage.getItem('token'), localStorage.getItem('token')]") == ["kaki-47", None]
        browser.complaints()
    finally:
        browser.run("sessionStorage.clear()")
        stand_in.close()


FAKE_AUDIO = """
    window.tones = [];
    const parameter = () => ({ value: 0, setValueAtTime() {}, linearRampToValueAtTime() {} });
    window.AudioContext = class {
        state = 'suspended';
        currentTime = 0;
        async resume() { this.state = 'running'; }
        createGain() { return { gain: parameter(), connect: (to) => to }; }
        createOscillator() {
            const made = { frequency: parameter(), connect: (to) => to, start() { window.tones.push(made.frequency.value); }, stop() {} };
            return made;
        }
    };"""


def sound_on_and_off(test):
    """Off until it is switched on; then by severity until acknowledged; kept, and again only after a gesture."""
    stand_in = open_page(test, normal_event())
    browser = test.browser
    tones = lambda: browser.run("return window.tones.splice(0)")
    try:
        browser.run(FAKE_AUDIO)
        stand_in.alarms.raised(LANE_2)
        show(test, stand_in, faulty_event(LANE_2))
        open_alarms(test)
        assert tones() == [] and browser.run("return localStorage.getItem('sound')") is None
        browser.elements("#sound")[0].click()
        browser.wait("the sound of the button", lambda: tones() == [600])
        assert browser.run("return document.getElementById('sound').getAttribute('aria-pressed')") == "true"
        event = faulty_event(LANE_2)
        for at, wanted in ((0, [1000] * 3), (4, []), (6, [1000] * 3), (10, [])):
            show(test, stand_in, event | {"now_s": event["now_s"] + at})
            assert tones() == wanted, f"after {at} s"
        press(test, 1, "Acknowledge")
        show(test, stand_in, event | {"now_s": event["now_s"] + 20})
        assert tones() == []
        stand_in.alarms.raised(DISPLAY)
        show(test, stand_in, event | {"now_s": event["now_s"] + 21})
        assert tones() == [600]
        browser.driver.refresh()
        browser.wait_text("#sound-waits", "Touch this page once")
        browser.run(FAKE_AUDIO)
        show(test, stand_in, event | {"now_s": event["now_s"] + 30})
        assert tones() == []
        browser.elements("#main")[0].click()
        browser.wait("no hint any more", lambda: browser.text("#sound-waits") == "")
        show(test, stand_in, event | {"now_s": event["now_s"] + 31})
        assert tones() == [600]
        open_alarms(test)
        browser.elements("#sound")[0].click()
        show(test, stand_in, event | {"now_s": event["now_s"] + 99})
        assert tones() == [] and browser.run("return localStorage.getItem('sound')") == "off"
    finally:
        browser.run("localStorage.removeItem('sound')")
        stand_in.close()


def a_lost_connection_sounds(test):
    """Where the sound is on, as an alarm does, though none was to acknowledge."""
    stand_in = open_page(test, normal_event())
    browser = test.browser
    try:
        browser.run(FAKE_AUDIO)
        open_alarms(test)
        browser.elements("#sound")[0].click()
        browser.wait("the sound of the button", lambda: browser.run("return window.tones.splice(0)") == [600])
        show(test, stand_in, normal_event())
        assert browser.run("return window.tones") == []
        stand_in.close()
        browser.wait_text("#headline", "No connection to the line")
        assert browser.run("return document.getElementById('verdict').dataset.level") == "bad"
        browser.wait("the alarm, and again", lambda: browser.run("return window.tones.length") >= 6)
        assert set(browser.run("return window.tones")) == {1000}
    finally:
        browser.run("localStorage.removeItem('sound')")


def alarms_are_said_once(test):
    """A new alarm is said once: by the headline, or else by the region of new alarms; in the dialog there."""
    stand_in = open_page(test, normal_event())
    alarms, browser = stand_in.alarms, test.browser
    try:
        browser.run("""window.said = [];
            for (const id of ['announcement', 'new-alarm', 'alarms-said']) new MutationObserver(
                (all) => all.forEach(({ target }) => target.textContent && window.said.push(`${id}: ${target.textContent}`)))
                .observe(document.getElementById(id), { childList: true });""")
        alarms.raised(LANE_2)
        for _ in range(3):
            show(test, stand_in, faulty_event(LANE_2))
        browser.wait_text("#last-alarm", "Lane 2")
        alarms.raised(DISPLAY)
        for _ in range(3):
            show(test, stand_in, faulty_event(LANE_2, DISPLAY))
        browser.wait_text("#last-alarm", "A display")
        open_alarms(test)
        alarms.raised(GRADER)
        for _ in range(3):
            show(test, stand_in, faulty_event(LANE_2, GRADER, DISPLAY))
        browser.wait("three alarms", lambda: len(rows(test)) == 3)
        assert browser.run("return window.said") == [
            "announcement: Lane 2: no pictures. Check camera and CNN of this lane.",
            f"new-alarm: New alarm: {DISPLAY['what']}", f"alarms-said: New alarm: {GRADER['what']}"]
    finally:
        stand_in.close()


def focus_in_the_dialog(test):
    """It opens at its title, stays within, goes from an acknowledged alarm to the next, and back to where it was."""
    from selenium.webdriver.common.keys import Keys
    stand_in = open_page(test, normal_event())
    browser = test.browser
    focused = lambda: browser.run("const e = document.activeElement; return [e.id, e.closest('[data-number]')?.dataset.number ?? '', e.textContent]")
    send = lambda *keys: browser.driver.switch_to.active_element.send_keys(*keys)
    try:
        for lane in range(3):
            stand_in.alarms.raised(LANE_2 | {"lane": lane})
        show(test, stand_in, faulty_event(LANE_2))
        browser.run("document.getElementById('open-alarms').focus()")
        send(Keys.ENTER)
        browser.wait("three alarms", lambda: len(rows(test)) == 3)
        assert focused()[0] == "alarms-title"
        within = set()
        for _ in range(40):
            send(Keys.TAB)
            within.add(browser.run("const e = document.activeElement; return e === document.body || e.closest('#alarms') !== null"))
        assert within == {True}
        browser.run("document.querySelector('[data-number=\"3\"] .acts button').focus()")
        for number in ("3", "2", "1"):
            assert focused()[1:] == [number, "Acknowledge"], focused()
            send(Keys.ENTER)
            browser.wait("it", lambda: (int(number), "acknowledged") in [row[:2] for row in rows(test)])
        browser.wait("the title", lambda: focused()[0] == "alarms-title")
        browser.run("document.querySelector('[data-number=\"1\"] .shelve summary').focus()")
        for _ in range(3): # a new alarm moves the others
            stand_in.alarms.raised(GRADER)
            show(test, stand_in, faulty_event(GRADER, LANE_2))
            browser.wait("it", lambda: len(rows(test)) == len(stand_in.alarms.alarms))
            assert focused()[1] == "1"
        send(Keys.ESCAPE)
        browser.wait("the tile", lambda: focused()[0] == "open-alarms")
    finally:
        stand_in.close()


def table_and_older_daemon(test):
    """The CSV is what the link leads to; a daemon without a list of alarms is no error."""
    stand_in = open_page(test, normal_event())
    browser = test.browser
    try:
        address = browser.run("return document.getElementById('alarms-csv').href")
        with urllib.request.urlopen(address) as answer:
            assert answer.headers["Content-Type"].startswith("text/csv") and answer.read().startswith(b"number,")
    finally:
        stand_in.close()
    stand_in = open_page(test, normal_event())
    try:
        stand_in.alarms = None
        show(test, stand_in, faulty_event(LANE_2))
        assert browser.text("#last-alarm") == "This line keeps no list of alarms"
        open_alarms(test)
        assert browser.text("#no-alarms") == "This line keeps no list of alarms" and rows(test) == []
        assert not browser.elements("#alarms-csv")[0].is_displayed()
        test.keep("alarms_none")
    finally:
        stand_in.close()


def alarms_of_a_daemon(test):
    """A real daemon: from its own machine at once, from elsewhere with the token of its file; then over, and in the CSV."""
    token = test.folder / "token"
    token.write_text("kaki47kaki47kaki47\n")
    token.chmod(0o600)
    line = test.daemon(monitor={"http": "127.0.0.1:0", "token_file": str(token)})
    browser, what = test.browser, GRADER["what"]
    said_by = lambda: browser.text("[data-number='1'] .note")
    try:
        line.replay(test.one_lane, "--loop", 0)
        browser.open(line.address)
        browser.wait_text("#last-alarm", what)
        open_alarms(test)
        wait_rows(test, (1, "unacknowledged", what, "Acknowledge, Shelve"))
        press(test, 1, "Shelve")
        press(test, 1, "15 min")
        wait_rows(test, (1, "shelved", what, "Acknowledge, End shelving"))
        press(test, 1, "End shelving")
        wait_rows(test, (1, "unacknowledged", what, "Acknowledge, Shelve"))
        browser.driver.execute_cdp_cmd("Network.enable", {})
        browser.driver.execute_cdp_cmd("Network.setExtraHTTPHeaders", {"headers": {"X-Forwarded-For": "192.168.0.9"}})
        browser.elements("#acknowledge-all")[0].click()
        browser.wait_text("#alarms-said", "needs the access code")
        browser.elements("#token")[0].send_keys("kaki47kaki47kaki47\n")
        wait_rows(test, (1, "acknowledged", what, "Shelve"))
        assert "acknowledged" in said_by() and "local" not in said_by(), said_by()
        browser.complaints() # a browser says 403 in its console
        line.grade()
        # The verdicts that waited for the grader are another alarm.
        browser.wait("it is over", lambda: (1, "over", what, "") in rows(test))
        with urllib.request.urlopen(browser.run("return document.getElementById('alarms-csv').href")) as answer:
            assert ",no_grader,critical," in answer.read().decode()
        test.keep("alarms_daemon")
    finally:
        browser.driver.execute_cdp_cmd("Network.setExtraHTTPHeaders", {"headers": {}})
        browser.run("sessionStorage.clear()")
        line.close()


def another_day_is_named(test):
    """An alarm of yesterday has its day, in words that fit the language."""
    words = {"en": "raised {} on", "it": "scattato alle {} del", "es": "activada a las {} del", "fr": "apparue à {} le", "de": "gekommen {} am"}
    yesterday = time.time() - 86400
    clock, day = time.strftime("%H:%M:%S", time.localtime(yesterday)), time.localtime(yesterday).tm_mday
    for language in LANGUAGES:
        stand_in = open_page(test, normal_event(), language)
        try:
            stand_in.alarms.raised(LANE_2 | {"since_s": yesterday})
            show(test, stand_in, faulty_event(LANE_2 | {"since_s": yesterday}))
            open_alarms(test)
            test.browser.wait("the alarm", lambda: len(rows(test)) == 1)
            note = test.browser.text("#alarm-list .note")
            assert words[language].format(clock) in note and f"{day}" in note.split(clock)[1], note
        finally:
            stand_in.close()


OVERFLOW = """
    const box = document.getElementById('alarms').getBoundingClientRect();
    const found = [...document.querySelectorAll('#alarms *')].filter((e) => e.checkVisibility() && !e.closest('.unseen'))
        .filter((e) => e.getBoundingClientRect().right > box.right + 1 || e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0
            && getComputedStyle(e).display !== 'inline').map((e) => `${e.tagName}.${e.className}: ${e.textContent}`);
    if (box.right > innerWidth || box.bottom > innerHeight) found.push('the dialog is larger than the screen');
    return found"""


def the_dialog_fits(test):
    """In every language at every size: nothing wider than the dialog, whatever is touched 48 px high, no barriers."""
    long = held("processor_limited", "warning", "x" * 20 + " The line gets too little processor: 99.9 % are withheld", "Have the line given more.")
    for language in LANGUAGES:
        for size in [*SCREENS, PHONE]:
            test.browser.resize(*size)
            stand_in = open_page(test, normal_event(), language)
            for changes in ({"cleared_ms": now_ms(), "acknowledged_ms": now_ms(), "acknowledged_by": "fd12:3456:789a:1::17"},
                            {"shelved_until_ms": now_ms(9999)}, {"acknowledged_ms": now_ms(-99), "acknowledged_by": "local"}, {}):
                stand_in.alarms.raised(long, **changes)
            show(test, stand_in, faulty_event(long))
            open_alarms(test)
            test.browser.wait("four alarms", lambda: len(rows(test)) == 4)
            test.browser.run("document.querySelectorAll('#alarms details:not([hidden])').forEach((e) => { e.open = true; })")
            test.browser.run("document.getElementById('token-form').hidden = false")
            wide = test.browser.run(OVERFLOW)
            assert not wide, f"{language}, {size}: {wide}"
            expect_large_targets(test)
            test.keep(f"alarms_{language}_{size[0]}")
            stand_in.close()
    test.browser.resize(*DESKTOP)


ALARM_TESTS = [from_raised_to_shelved, all_at_once, refused_and_token, sound_on_and_off, a_lost_connection_sounds, alarms_are_said_once,
               focus_in_the_dialog, table_and_older_daemon,
               alarms_of_a_daemon, another_day_is_named, the_dialog_fits]
