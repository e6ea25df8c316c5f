"""The overview of the live page, by a stand-in for the daemon that sends what each test wants."""
import json
import urllib.request

from page_tests import DESKTOP, PHONE
from stand_in.daemon import StandIn, faulty_event, held, lane, normal_event

SCREENS = [(1280, 900), (1024, 600), (1920, 1080)]
LANGUAGES = ("en", "it", "es", "fr", "de")
NAME = "0/1/77"


def read_table(test):
    """The table of conditions, from a daemon."""
    if not hasattr(test, "table"):
        line = test.daemon()
        try:
            with urllib.request.urlopen(f"{line.address}/conditions") as answer:
                test.table = json.load(answer)["conditions"]
        finally:
            line.close()
    return test.table


def open_page(test, event, language="en", table=None):
    stand_in = StandIn(table)
    stand_in.event = event
    test.browser.open(stand_in.address, language)
    test.browser.wait("an event", lambda: test.browser.text("#config") == event["config"])
    return stand_in


def show(test, stand_in, event):
    """Sends an event, and waits until the page has shown it."""
    stand_in.number = getattr(stand_in, "number", 0) + 1
    stand_in.send(event | {"config": f"line{stand_in.number}.yaml"})
    test.browser.wait("the event", lambda: test.browser.text("#config") == f"line{stand_in.number}.yaml")


# What is cut off, or lies below the screen.
CUT = """
    const found = [...document.querySelectorAll('#overview *, .figures dd, #bad td')].filter((e) => e.clientWidth > 0
        && getComputedStyle(e).clipPath === 'none' && getComputedStyle(e).overflow !== 'visible'
        && (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1)).map((e) => `${e.tagName}#${e.id}: ${e.textContent}`);
    const overview = document.getElementById('overview');
    for (const section of overview.children) {
        const box = section.getBoundingClientRect();
        for (const e of section.querySelectorAll('*')) {
            const { bottom, right, width } = e.getBoundingClientRect();
            if (width <= 1 || getComputedStyle(e).clipPath !== 'none') continue;
            if (bottom > box.bottom + 1 || right > box.right + 1) found.push(`beyond #${section.id}: ${e.textContent}`);
        }
    }
    if (overview.getBoundingClientRect().bottom > innerHeight) found.push('the overview is higher than the screen');
    if (document.documentElement.scrollWidth > innerWidth) found.push('wider than the screen');
    return found"""


# Visible texts that are smaller than 16 px, or have a figure whose unit may come on the next line.
HARD_TO_READ = """
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const { data, parentElement: e } = walker.currentNode;
        if (!data.trim() || !e.checkVisibility() || e.closest('svg, script, noscript')) continue;
        if (parseFloat(getComputedStyle(e).fontSize) < 16) found.push(`small: ${data}`);
        if (/\\d (ms|s|min|h|%|px²|[kMG]?B)(?![\\p{L}])/u.test(data)) found.push(`may be divided: ${data}`);
    }
    return found"""


def expect_easy_reading(test):
    hard = test.browser.run(HARD_TO_READ)
    assert not hard, hard


VARIETY = "Golden Delicious"
LONG_NAME = "golden_delicious_2026_autumn_second_pick_block_7"  # as long as a recipe's may be


def held_row(name, row, number, named=VARIETY):
    """A condition as the daemon would send it, with large figures and a name."""
    texts = row["en"]
    condition = held(name, row["severity"], texts["what"], texts["action"], misjudged=row["misjudged"], count=99999,
                     percent=99.9, seconds=99999, hours=999.5, name=named)
    return condition | ({"lane": number} if "{lane}" in texts["what"] else {})


def every_condition_fits(test):
    """Each condition in each language: one screen without scrolling, nothing cut off, no figure left out."""
    table = read_table(test)
    for language in LANGUAGES:
        for lanes, size, named in ((4, (1024, 600), VARIETY), (8, (1024, 600), LONG_NAME), (8, (1280, 900), VARIETY)):
            test.browser.resize(*size)
            stand_in = open_page(test, normal_event(lanes), language, table)
            for name, row in table.items():
                condition = held_row(name, row, lanes - 1, named)
                event = faulty_event(condition) | {"lanes": normal_event(lanes)["lanes"]}
                stand_in.alarms.raised(condition, cleared_ms=round(1000 * event["now_s"]))
                show(test, stand_in, event)
                test.browser.wait("the table", lambda: "{" not in test.browser.text("#headline"))
                shown = test.browser.text("#headline").replace(LONG_NAME, f"{LONG_NAME[:11]}…")
                test.browser.wait("the alarm", lambda: shown in test.browser.text("#last-alarm"))
                cut = test.browser.run(CUT)
                said = test.browser.text("#headline") + test.browser.text("#action")
                assert not cut, f"{name}, {language}, {lanes} lanes, {size}: {cut}"
                assert "{" not in said and said.startswith(row[language]["what"].split("{")[0]), f"{name}: {said}"
            stand_in.close()
    test.browser.resize(*DESKTOP)


def large_figures_fit(test):
    """Figures of 99,999 are shown whole, at every size; so are many lanes and long names."""
    event = faulty_event(held("a", "critical", "Lane 3: no pictures", "Check camera and CNN of this lane.", lane=3),
                         *(held(f"b{at}", "warning", "The recording has gaps; sorting goes on", "Free the disk.") for at in range(5)))
    event |= {"verdicts_per_s": 99999, "views_per_s": 99999, "lost": 99999, "recipe": "fuji_kiku_2026_autumn_second_pick",
              "lot": "2026-11-28 Obsthof Kerschbaumer, Block 7 east 4",
              "bad": [{"name": NAME, "lane": 0, "fruit": 77, "verdict": "late", "over_budget": True, "latency_ms": 99999,
                       "views_judged": 0, "views_expected": 4, "published_s": event["now_s"] - 100000}]}
    event["edges_ms"] = event["edges_ms"][:-1] + [99999]
    event["recent"]["latency_ms"] = event["latency_ms"] = {"p50": 99998, "p99": 99999, "within_budget": 0}
    event["verdicts"] = {"complete": 99999, "partial": 99999, "late": 99999}
    event["classes_per_minute"] = {f"transport damage {at}": 99999 for at in range(14)}
    for lanes in (4, 24):
        event["lanes"] = normal_event(lanes)["lanes"]
        for size in SCREENS:
            test.browser.resize(*size)
            stand_in = open_page(test, event)
            test.browser.run("document.getElementById('technical').open = true")
            stand_in.alarms.raised(held("too_many_fruits", "critical", "Too many fruits at once, judged before all pictures were "
                                        "there (99,999)", "Slow the belt down."), cleared_ms=round(1000 * event["now_s"]))
            show(test, stand_in, event)
            test.browser.wait_text("#last-alarm", "Too many fruits")
            assert test.browser.text("#p99") == "> 99,999 ms" and test.browser.text("#fruits-per-s") == "99,999"
            cut = test.browser.run(CUT)
            assert not cut, f"{size}, {lanes} lanes: {cut}"
            expect_easy_reading(test)
            test.keep(f"full_{lanes}_{size[0]}")
            stand_in.close()
    test.browser.resize(*DESKTOP)


def the_lot_is_in_the_head(test):
    """With grower and variety below; without a lot there is no word of it."""
    stand_in = open_page(test, normal_event())
    assert test.browser.text("#lot-line") == "lot 2026-118", test.browser.text("#lot-line")
    assert test.browser.run("return document.getElementById('lot-line').clientHeight") > 0
    test.browser.run("document.getElementById('technical').open = true")
    test.browser.wait("grower and variety", lambda: "2026-118 · K. Meier · Gala" in test.browser.text("#machine-list"))
    show(test, stand_in, normal_event() | {"lot": "", "grower": "", "variety": ""})
    test.browser.wait("no lot", lambda: "Meier" not in test.browser.text("#machine-list"))
    assert test.browser.run("return document.getElementById('lot-line').clientHeight") == 0
    stand_in.close()


def screens(test):
    """Pictures of a normal line and of five faults at four sizes, without barriers."""
    table = read_table(test)
    rows = {name: held_row(name, table[name], 2) for name in ("lane_silent", "not_finite", "no_grader", "recipe_lost", "overload")}
    states = {"normal": normal_event()} | {name: faulty_event(row) for name, row in rows.items()}
    for size in [*SCREENS, PHONE]:
        test.browser.resize(*size)
        for name, event in states.items():
            stand_in = open_page(test, event, table=table)
            show(test, stand_in, event)
            expect_easy_reading(test)
            test.keep(f"{name}_{size[0]}")
            assert size == PHONE or not test.browser.run(CUT)
            stand_in.close()
    test.browser.resize(*DESKTOP)


def said_once(test):
    """What screen readers say changes with what is wrong, not with its figures each second."""
    row = {"what": "Nothing is judged: the line has not answered for {seconds} s", "action": "Restart the line."}
    table = {"line_hangs": {language: row for language in LANGUAGES}}
    stand_in = open_page(test, normal_event(), table=table)
    try:
        test.browser.run("""window.said = [];
            new MutationObserver((all) => all.forEach(({ target }) => window.said.push(target.textContent)))
                .observe(document.getElementById('announcement'), { childList: true });""")
        for seconds in range(5, 10):
            show(test, stand_in, faulty_event(held("line_hangs", "critical", "", "", seconds=seconds, misjudged=True)))
            assert test.browser.text("#headline").endswith(f"answered for {seconds} s")
        show(test, stand_in, normal_event())
        said = test.browser.run("return window.said")
        assert len(said) == 2 and said[1] == "Sorting normally. Nothing to do.", said
        live = test.browser.run("return [...document.querySelectorAll('[role=status], [aria-live]')].map((e) => e.id)")
        assert set(live) == {"connection", "announcement", "new-alarm", "alarms-said"}, live
    finally:
        stand_in.close()


def texts_are_the_readers(test):
    """A page that opens on a fault says it in the reader's language at once; texts that did not come are asked for again."""
    table = read_table(test)
    for refused, first in ((0, "Nulla viene espulso"), (1, "Nothing is ejected")):
        stand_in = StandIn(table)
        stand_in.event = faulty_event(held_row("no_grader", table["no_grader"], 0))
        try:
            test.browser.open(stand_in.address, "it")
            test.browser.wait_text("#headline", "Nulla viene espulso")
            stand_in.tables_refused = refused
            test.browser.driver.refresh()
            test.browser.wait("an event", lambda: test.browser.text("#config") == stand_in.event["config"])
            assert test.browser.text("#announcement").startswith(first), test.browser.text("#announcement")
            test.browser.wait_text("#headline", "Nulla viene espulso") # without another event
            assert all("503" in said for said in test.browser.complaints())
        finally:
            stand_in.close()


def fruit_of(name, **changes):
    """What /fruits/NAME.json gives."""
    number, epoch, fruit = map(int, name.split("/"))
    states = [{"view": view, "state": "judged", "reason": "", "received_ms": 5 * view, "queue_ms": 1, "run_ms": 9,
               "backend": "openmp", "class": "", "count": 0} for view in range(4)]
    verdict = {"lane": number, "epoch": epoch, "fruit": fruit, "published_ns": 1.8e18, "verdict": "complete",
               "views_expected": 4, "views_received": 4, "views_judged": 4, "truncated": False, "skipped": [], "budget_ms": 100,
               "latency_ms": {"queue": 1, "contours": 9, "total": 12}, "assembly_ms": 15, "closed_by": "views",
               "view_states": states, "totals": {"rot": {"count": 0, "area_px": 0}}, "defects": []} | changes
    views = [{"view": view, "width_px": 511, "height_px": 95, "y_px": None} for view in range(4)]
    return {"verdict": verdict, "views": views, "photos": None}


def focus_stays(test):
    """What has the focus keeps it while lists get new entries and lose old ones, each second."""
    stand_in = StandIn()
    names = [f"{at % 4}/1/{at}" for at in range(12)]
    stand_in.fruits = {name: fruit_of(name) for name in names}

    def event(first):
        bad = [{"name": name, "lane": 0, "fruit": 1, "verdict": "late", "over_budget": False, "latency_ms": 9,
                "views_judged": 0, "views_expected": 4, "published_s": 1.8e9} for name in names[first:first + 6]]
        return faulty_event(held("a", "warning", f"what {first}", "do")) | {"shown": names[first:first + 6][::-1], "bad": bad[::-1]}
    stand_in.event = event(0)
    try:
        test.browser.open(stand_in.address)
        test.browser.wait("six fruits", lambda: len(test.browser.elements("[data-fruit]")) == 6)
        for selector in ("[data-fruit='0/1/0'] a", "#bad-list tr:last-child a", "#condition-list summary"):
            show(test, stand_in, event(0))
            test.browser.wait("the fruit", lambda: len(test.browser.elements("[data-fruit='0/1/0'] a")) == 1)
            test.browser.run("window.focused = document.querySelector(arguments[0]); window.focused.focus()", selector)
            href = test.browser.run("return window.focused.href")
            for first in range(1, 6):
                show(test, stand_in, event(first))
                assert test.browser.run("return document.activeElement === window.focused"), f"{selector} lost the focus"
                assert test.browser.run("return window.focused.href") == href, f"{selector} leads to another fruit"
            test.browser.run("document.activeElement.blur()")
    finally:
        stand_in.close()


def lanes_keep_their_places(test):
    """By number, whatever the order of events; grey while nothing is wrong, each state with a sign and a word."""
    event = normal_event(6)
    stand_in = open_page(test, event)
    tiles = """return [...document.querySelectorAll('#lane-list li')].map((e) => [e.querySelector('.number').textContent,
        e.querySelector('.sign').textContent, e.querySelector('.text').textContent, getComputedStyle(e).borderColor])"""
    try:
        before = test.browser.run(tiles)
        assert [tile[0] for tile in before] == [f"Lane {at}{at}" for at in range(6)]
        assert {tuple(tile[1:]) for tile in before} == {("✓", "normal", before[0][3])}
        lanes = [lane(5, event["now_s"]), lane(0, event["now_s"] - 60, state="silent"), lane(3, event["now_s"])]
        show(test, stand_in, faulty_event(held("x", "critical", "Lane 3: no pictures", "Check.", lane=3), lanes=lanes))
        after = test.browser.run(tiles)
        assert [tile[0] for tile in after] == [tile[0] for tile in before]
        assert [tile[1] for tile in after] == ["–", "–", "–", "✕", "–", "✓"]
        assert [tile[2] for tile in after] == ["no fruit", "not seen", "not seen", "Lane 3: no pictures", "not seen", "normal"]
        assert [tile[3] != before[0][3] for tile in after] == [False, False, False, True, False, False], "colour is for what is wrong"
    finally:
        stand_in.close()


def all_lanes_are_on_the_screen(test):
    """64 lanes beside the longest headline: none has to be scrolled to, its number and its sign are whole."""
    table = read_table(test)
    event = faulty_event(held_row("lane_silent", table["lane_silent"], 41),
                         *(held_row("views_lost", table["views_lost"], at) for at in range(20, 63)))
    event |= {"lanes": normal_event(64)["lanes"]}
    hidden = """
        const list = document.getElementById('lane-list'), { bottom, right } = list.getBoundingClientRect();
        return [...list.querySelectorAll('li, .number, .sign')].filter((e) => e.checkVisibility()).filter((e) => {
            const box = e.getBoundingClientRect(), tile = e.closest('li').getBoundingClientRect();
            return box.bottom > bottom + 1 || box.right > right + 1 || box.right > tile.right || box.bottom > tile.bottom + 1;
        }).map((e) => e.textContent)"""
    try:
        for size, language in [((1280, 900), "en"), ((1920, 1080), "en"), *(((1024, 600), one) for one in LANGUAGES)]:
            test.browser.resize(*size)
            stand_in = open_page(test, event, language, table)
            test.browser.wait("the table", lambda: "{" not in test.browser.text("#also"))
            assert len(test.browser.elements("#lane-list li")) == 64
            found = test.browser.run(hidden)
            assert not found, f"{size}, {language}: {found}"
            stand_in.close()
    finally:
        test.browser.resize(*DESKTOP)


def no_lane_is_normal_while_all_misjudge(test):
    """A fault of the whole line: its lanes run, and are not called normal."""
    tiles = """return [...document.querySelectorAll('#lane-list li')].map((e) => [e.querySelector('.sign').textContent,
        e.querySelector('.text').textContent])"""
    stand_in = open_page(test, faulty_event(held("overload", "critical", "Too many fruits", "Slow the belt down.", misjudged=True)))
    try:
        assert test.browser.run(tiles) == [["–", "running"]] * 4, test.browser.run(tiles)
        show(test, stand_in, faulty_event(held("disk_full_soon", "warning", "The disk will be full", "Free space.")))
        assert test.browser.run(tiles) == [["✓", "normal"]] * 4
    finally:
        stand_in.close()


def fruits_do_not_move_the_page(test):
    """Who reads below the overview stays there, whatever fruits come and go above and beside."""
    stand_in = StandIn()
    names = [f"{at % 4}/1/{at}" for at in range(12)]
    stand_in.fruits = {name: fruit_of(name) for name in names}
    event = lambda first: normal_event() | {"shown": names[first:first + 6][::-1]}
    stand_in.event = event(0)
    try:
        test.browser.resize(*PHONE)
        test.browser.open(stand_in.address)
        test.browser.wait("six fruits", lambda: len(test.browser.elements("[data-fruit]")) == 6)
        place = lambda: test.browser.run("return document.getElementById('bad').getBoundingClientRect().top")
        test.browser.run("document.querySelector('[data-fruit] a').focus(); document.querySelectorAll('[data-fruit]')[1].scrollIntoView()")
        before = place()
        for first in range(1, 5):
            show(test, stand_in, event(first))
            test.browser.wait("the fruit", lambda: test.browser.elements(f"[data-fruit='{names[first + 5]}']"))
            assert abs(place() - before) < 2, f"moved from {before} to {place()}"
    finally:
        test.browser.resize(*DESKTOP)
        stand_in.close()


def names_fit_any_picture(test):
    """The name of a defect is as high beside a picture of few pixels as beside one of many."""
    defect = {"view": 0, "class": "transport damage", "hole": False, "closed": True, "area_px": 9, "bbox": [1, 1, 4, 4],
              "mean_probability": 0.9, "xy": [[1, 1], [4, 1], [4, 4]]}
    stand_in = StandIn()
    fruit = fruit_of(NAME, defects=[defect])
    for view, width in zip(fruit["views"], (24, 511, 2048)):
        view["width_px"], view["height_px"] = width, width // 2
    fruit["verdict"]["defects"] = [defect | {"view": view} for view in range(3)]
    stand_in.fruits, stand_in.event = {NAME: fruit}, normal_event() | {"shown": [NAME]}
    try:
        test.browser.open(stand_in.address)
        test.browser.wait("the fruit", lambda: test.browser.elements("[data-fruit]"))
        heights = test.browser.run("return [...document.querySelectorAll('.tag')].map((e) => e.getBoundingClientRect().height)")
        assert len(heights) == 3 and max(heights) - min(heights) < 1 and 10 < heights[0] < 30, heights
    finally:
        stand_in.close()


def no_fruit_is_neither_good_nor_bad(test):
    """A belt that stands, a line that waits for its first fruit, starts or stops: grey, and said."""
    event = normal_event()
    stand_in = open_page(test, event)
    silent = [one | {"state": "silent"} for one in event["lanes"]]
    try:
        for changes, headline in (({"lanes": silent}, "No fruit comes"), ({"state": "ready", "lanes": []}, "Ready: no fruit has come yet"),
                                  ({"state": "starting", "lanes": []}, "Starting"), ({"state": "stopping"}, "Stopping")):
            show(test, stand_in, event | changes)
            assert test.browser.text("#headline") == headline and test.browser.text("#action")
            assert test.browser.run("return document.getElementById('verdict').dataset.level") == "none"
        show(test, stand_in, event | {"lanes": silent[:3] + event["lanes"][3:]})
        assert test.browser.text("#headline") == "Sorting normally"
    finally:
        stand_in.close()


def expect_large_targets(test):
    small = test.browser.run("""return [...document.querySelectorAll('a[href], button, select, summary, input')]
        .filter((e) => e.className !== 'skip' && e.checkVisibility()).map((e) => [e.textContent, e.getBoundingClientRect()])
        .filter(([, { height, width }]) => height < 48 || width < 48).map(([text]) => text)""")
    assert not small, small


def targets_are_large(test):
    """Whatever is touched is 48 px high, also on a phone."""
    stand_in = StandIn()
    stand_in.fruits = {NAME: fruit_of(NAME)}
    stand_in.event = faulty_event(held("a", "critical", "what", "do"), held("b", "warning", "what", "do")) | {"shown": [NAME]}
    try:
        for size in (DESKTOP, PHONE):
            test.browser.resize(*size)
            test.browser.open(stand_in.address)
            test.browser.wait("the fruit", lambda: test.browser.elements("[data-fruit]"))
            test.browser.run("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
            expect_large_targets(test)
            test.browser.open(f"{stand_in.address}/fruits/{NAME}")
            test.browser.wait_text("#headline", "Judged in time")
            test.browser.elements("#technical summary")[0].click()
            expect_large_targets(test)
            expect_easy_reading(test)
    finally:
        test.browser.resize(*DESKTOP)
        stand_in.close()


def states(*changes):
    """View states, of which the first ones differ."""
    of = fruit_of(NAME)["verdict"]["view_states"]
    return [one | change for one, change in zip(of, changes)] + of[len(changes):]


WHY = [
    ({}, "Judged in time", "the longest part was the step contours (9 ms)"),
    ({"verdict": "partial", "view_states": states({"state": "missing"}, {}, {"state": "missing"})}, "Judged in part",
     "Pictures 0, 2 never came"),
    ({"verdict": "late", "view_states": states(*[{"state": "lost", "reason": "unfinished"}] * 4)}, "Not judged",
     "Pictures 0, 1, 2, 3 were not judged in time: the machine had too much to do."),
    ({"verdict": "partial", "view_states": states({"reason": "not_finite", "class": "rot", "count": 3})}, "Judged in part",
     "Picture 0: the CNN gave values that are not numbers for rot."),
    ({"latency_ms": {"queue": 150, "contours": 9, "total": 160}}, "Judged too slowly",
     "It took 160 ms of 100 ms allowed, most of it waiting (150 ms)."),
    ({"verdict": "partial", "closed_by": "stop"}, "Judged in part", "The line was stopped"),
]


def a_fruit_says_why(test):
    """The page of a fruit has the sentence that says why, in words, and a command that cernita-why takes."""
    for changes, headline, sentence in WHY:
        stand_in = StandIn()
        stand_in.fruits = {NAME: fruit_of(NAME, **changes)}
        try:
            test.browser.open(f"{stand_in.address}/fruits/{NAME}")
            test.browser.wait_text("#headline", headline)
            assert sentence in test.browser.text("#action"), test.browser.text("#action")
            assert test.browser.text("#ask-why").endswith(f"cernita-why {stand_in.address.removeprefix('http://')} 0 77 --epoch 1")
            visible = test.browser.run("return document.getElementById('waterfall').checkVisibility()")
            assert not visible, "reasons by their identifiers are the technician's"
            test.expect_good_text()
        finally:
            stand_in.close()
    test.keep("fruit_why")


# A tab that is hidden, or looked at again. As a background tab's clock goes on, so does this one's.
HIDE = """Object.defineProperty(document, 'hidden', { value: arguments[0], configurable: true });
    const [now, later] = [Date.now.bind(Date), arguments[1]];
    Date.now = () => now() + later;
    document.dispatchEvent(new Event('visibilitychange'));
    return [document.body.dataset.connection, document.getElementById('headline').textContent]"""
HOUR_MS = 3_600_000


def what_is_old_is_not_shown_as_now(test):
    """A tab that was hidden while the daemon ended: its state of then is not that of now, nor is its time."""
    stand_in = open_page(test, normal_event())
    browser = test.browser
    try:
        show(test, stand_in, normal_event())
        assert browser.run(HIDE, True, 0)[0] == "live"
        stand_in.close()
        minute = browser.run("return Math.floor(Date.now() / 60000)")
        connection, headline = browser.run(HIDE, False, HOUR_MS)
        assert connection == "connecting" and headline == "Connecting"
        browser.wait_text("#headline", "No connection to the line")
        shown = browser.run("""return [arguments[0], arguments[0] - 1].map((minute) => new Date(minute * 60000)
            .toLocaleTimeString('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }))""", minute)
        assert any(time in test.browser.text("#action") for time in shown), (shown, test.browser.text("#action"))
    finally:
        stand_in.close()


OVERVIEW_TESTS = [what_is_old_is_not_shown_as_now, every_condition_fits, large_figures_fit, the_lot_is_in_the_head, screens, said_once,
                  texts_are_the_readers, focus_stays, lanes_keep_their_places, all_lanes_are_on_the_screen,
                  no_lane_is_normal_while_all_misjudge, fruits_do_not_move_the_page, names_fit_any_picture,
                  no_fruit_is_neither_good_nor_bad, targets_are_large, a_fruit_says_why]
