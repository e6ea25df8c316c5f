"""The Fruits mode of the workbench's page: recordings of a line, searched and opened."""
import contextlib
import datetime
import json
import re
import shutil
import subprocess

from selenium.webdriver.common.keys import Keys

from live.daemon import Daemon
from page_tests import DESKTOP
from workbench_page import Workbench
from workbench_screen import SCREENS, UNSEEN

FRUITS, LANES, VIEWS = 12, 3, 4


def record_line(test, name, fruits, synth, **sections):
    """A folder of what a line of these sections records of these synthetic fruits, its verdict log, and its archive:
    {recordings, log, archive, verdicts}."""
    folder = test.folder / name
    made = {"recordings": folder / "recordings", "log": folder / "log", "archive": folder / "line.sqlite"}
    if not folder.exists():
        for one in ("recordings", "log"):
            (folder / one).mkdir(parents=True)
        subprocess.run([test.programs / "cernita-synth", folder / "made.tif", "--fruits", str(fruits), *synth], check=True,
                       capture_output=True)
        daemon = Daemon(folder, test.programs, record={"dir": str(made["recordings"])},
                        publish={"log": {"dir": str(made["log"])}}, **sections)
        try:
            subprocess.run([test.programs / "cernita-replay", folder / "made.tif", "--to", daemon.endpoint("views")], check=True,
                           capture_output=True)
            test.browser.wait("all verdicts", lambda: daemon.metric("cernita_verdicts_total") >= fruits)
            daemon.end() # it writes what it has
        finally:
            daemon.close()
        subprocess.run([test.programs / "cernita-archive", "--from", made["log"], "--to", made["archive"]], check=True,
                       capture_output=True)
    text = subprocess.run([test.programs / "cernita-tail", "--log", made["log"], "--json"], check=True,
                          capture_output=True, text=True).stdout
    made["verdicts"] = [json.loads(line) for line in text.splitlines()]
    return made


def make_line(test):
    """As record_line."""
    made = record_line(test, "line", FRUITS, ["--lanes", str(LANES), "--size", "160x90", "--seed", "3", "--rate", "2"])
    assert len(made["verdicts"]) == FRUITS
    return made


@contextlib.contextmanager
def bench_of(test, *arguments):
    workbench = Workbench(test.programs, *arguments)
    try:
        yield workbench
        test.browser.driver.get("about:blank") # what the page still asks would be refused at the program's end
    finally:
        workbench.close()


def show_fruits(test, workbench, search="", language="en", theme="light"):
    test.page.start(f"{workbench.address}#page.mode=fruits&fruits.search={search}", language, theme)
    wait_found(test)


def wait_found(test):
    return test.browser.wait("what was found", lambda: re.match(r"([\d,.]+) (?:of|frutti su)", test.browser.text("#fruits-status") or ""))


def find(test, text):
    """The lanes and numbers of the fruits that the page lists."""
    test.browser.run("document.getElementById('fruits-status').textContent = ''")
    test.page.set("fruits-search", text)
    test.page.focus("#fruits-search")
    test.page.press(Keys.ENTER)
    said = test.browser.wait(f"an answer to {text}", lambda: test.browser.text("#fruits-status") or test.browser.text("#fruits .alert"))
    assert not test.browser.text("#fruits .alert"), said
    count = int(said.split()[0])
    names = test.browser.wait(f"{count} fruits", lambda: len(test.browser.texts("#fruits li strong")) == count and
                              (test.browser.texts("#fruits li strong") or [""]))
    return sorted(tuple(map(int, re.findall(r"\d+", name)[:2])) for name in names if name)


def fruits_are_found(test):
    """By lane, number, class, verdict and time the page lists the fruits that the verdicts name, from archive and log alike."""
    line = make_line(test)
    verdicts = line["verdicts"]
    for source in ("archive", "log"):
        with bench_of(test, f"--{source}", line[source], line["recordings"]) as workbench:
            show_fruits(test, workbench)
            keys = sorted((one["lane"], one["fruit"]) for one in verdicts)
            assert find(test, "") == keys, source
            for name in ("rot", "fresh hail", "mould"):
                wanted = [(one["lane"], one["fruit"]) for one in verdicts if one["totals"].get(name, {}).get("count", 0) > 0]
                assert find(test, name) == sorted(wanted), f"{source}, {name}"
                assert find(test, f"lane 1, {name}") == sorted(key for key in wanted if key[0] == 1), f"{source}, {name}"
            assert find(test, f"Fruit {keys[4][1]} LANE {keys[4][0]}") == [keys[4]]
            whole = sorted((one["lane"], one["fruit"]) for one in verdicts if one["verdict"] == "complete")
            assert find(test, "complete") == whole and len(find(test, "late, partial")) <= FRUITS - len(whole)
            day = datetime.datetime.fromtimestamp(verdicts[0]["captured_ns"] / 1e9)
            assert find(test, day.strftime("%Y-%m-%d")) == keys
            assert find(test, f"{day - datetime.timedelta(minutes=2):%H:%M} – {day + datetime.timedelta(minutes=3):%H:%M}") == keys
            assert find(test, "1999-01-01 02:00-03:00") == []
            shown = test.browser.run("return document.getElementById('fruits').querySelectorAll('canvas').length")
            assert shown == 0
            find(test, "")
            grey = """
                const copy = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
                return [...document.querySelectorAll('#fruits canvas')].every((one) => {
                    copy.clearRect(0, 0, 300, 150);
                    copy.drawImage(one, 0, 0);
                    return copy.getImageData(48, 32, 1, 1).data[3] > 0;
                });"""
            test.browser.wait("small pictures", lambda: test.browser.run(grey))


def what_is_not_understood(test):
    """An unknown word, and a class without verdicts, are said in one line that names what to write or to start."""
    line = make_line(test)
    with bench_of(test, line["recordings"]) as workbench:
        show_fruits(test, workbench)
        for text, said in (("rotten", "rotten"), ("lane x", "lane"), ("25:61-26:00", "25:61"), ("rot", "--archive"), ("partial", "--archive")):
            test.page.set("fruits-search", text)
            test.page.press(Keys.NULL)
            test.browser.run("document.querySelector('#fruits form').requestSubmit()")
            test.browser.wait_text("#fruits .alert", said)
        test.keep("fruits_not_understood")
        assert len(find(test, "lane 1")) > 0


def tell(test):
    return test.browser.text("#chain-compare-told")


def a_fruit_is_opened_and_changed(test):
    """A fruit opens in the Chain mode; what changes with a level is drawn, there and in its next view, and equals the chain's own answer."""
    line = make_line(test)
    with bench_of(test, "--archive", line["archive"], line["recordings"]) as workbench:
        show_fruits(test, workbench, "rot")
        first = test.browser.texts("#fruits li strong")[0]
        test.browser.run("document.querySelector('#fruits li button').click()")
        test.browser.wait_text("#fruit-bar", first)
        assert test.browser.run("return document.body.dataset.mode") == "chain"
        chain_rests(test)
        names = test.browser.run("return [...document.querySelectorAll('.chain-classes input[type=text]')].map((one) => one.value)")
        assert "rot" in names, names
        test.page.button("#chain", "Keep as A").click()
        test.browser.wait("A", lambda: tell(test))
        chain_rests(test)
        test.browser.run("""
            const row = document.querySelectorAll('.chain-classes li')[arguments[0]];
            const exact = row.querySelector('input[type=number]');
            exact.value = '0.05';
            exact.dispatchEvent(new Event('input', { bubbles: true }));""", names.index("rot"))
        test.browser.wait("a difference", lambda: test.browser.run(
            "return document.getElementById('chain-compare-told').dataset.identical === 'false'"))
        chain_rests(test)
        test.keep("fruits_changed")
        pressed = "return document.querySelector('#fruit-bar [aria-pressed=true]').textContent"
        before = test.browser.run(pressed)
        other = next(str(view) for view in range(VIEWS) if str(view) != before)
        test.browser.run("document.querySelector(`#fruit-bar [data-does='view-${arguments[0]}']`).click()", other)
        test.browser.wait("the next view", lambda: test.browser.run(pressed) == other)
        test.browser.wait("A goes on", lambda: tell(test))
        chain_rests(test)
        expect_told(test, workbench)
        test.page.button("#fruit-bar", "Next fruit").click()
        test.browser.wait("the next fruit", lambda: first not in test.browser.text("#fruit-bar"))
        test.page.button("#fruit-bar", "Back to the list").click()
        test.browser.wait("the list", lambda: test.browser.run("return document.body.dataset.mode") == "fruits")
        assert test.browser.run("return document.activeElement.closest('#fruits li') !== null")


def chain_rests(test):
    test.browser.wait("the chain", lambda: test.browser.run(
        "const chain = document.getElementById('chain'); return chain.clientWidth > 0 && !chain.isBusy()"))


def expect_told(test, workbench):
    """The outlines of each class in A and in B are as many as the chain itself finds with the YAML that the page shows of both."""
    texts = test.browser.wait("the tables", lambda: test.browser.run(
        "return [...document.querySelectorAll('#chain-compare .compare-texts pre')].map((one) => one.textContent)"))
    assert "level: 0.05" in texts[1] and "level: 0.05" not in texts[0], texts
    picture = test.browser.run("return document.getElementById('picture').value")
    found = [workbench.ask(f"chain?in={picture}&backend=serial&threads=1", text.encode())["defects"] for text in texts]
    rows = test.browser.run("""
        return [...document.querySelector('#chain-compare table').tBodies[0].rows].map((row) => [...row.cells].map((one) => one.textContent))""")
    shown = {name: (int(same) + int(changed) + int(only_a), int(same) + int(changed) + int(only_b))
             for name, same, changed, only_a, only_b, *_ in rows}
    wanted = {name: tuple(sum(one["class"] == name for one in defects) for defects in found)
              for name in {one["class"] for defects in found for one in defects}}
    assert shown == wanted, f"{shown} rather than {wanted}"


def recordings_that_are_not_whole(test):
    """What is cut short, unreadable or a link out of the folder is said, and the other fruits are listed."""
    line = make_line(test)
    folder = test.folder / "broken"
    folder.mkdir()
    good = next(line["recordings"].iterdir())
    shutil.copy(good, folder / "b.tif")
    (folder / "a-cut.tif").write_bytes(good.read_bytes()[:-70000])
    (folder / "c-text.tif").write_text("no recording")
    (folder / "d-link.tif").symlink_to(good)
    with bench_of(test, folder) as workbench:
        said = " ".join(workbench.said)
        assert "d-link.tif" in said and "out of the folder" in said and "c-text.tif" in said, said
        show_fruits(test, workbench)
        assert len(find(test, "")) == FRUITS
        notes = " ".join(test.browser.texts("#fruits details li"))
        assert "a-cut.tif" in notes and "c-text.tif" in notes and "d-link.tif" not in notes, notes
        test.keep("fruits_notes")


def fruits_on_screens(test):
    """At 1280 × 900 and 1024 × 600 the search and the first fruits are seen, no side is cut off, in both languages and themes."""
    line = make_line(test)
    try:
        with bench_of(test, "--log", line["log"], line["recordings"]) as workbench:
            for width, height in SCREENS:
                test.browser.resize(width, height)
                for language in ("en", "it"):
                    show_fruits(test, workbench, "lane 1", language)
                    test.browser.wait("the list", lambda: test.browser.elements("#fruits li button"))
                    unseen = test.browser.run(UNSEEN, ("fruits-search", "fruits-status", "tab-fruits", "picture"))
                    assert not unseen, f"{width} × {height}, {language}: {unseen}"
                    first = test.browser.run("return document.querySelector('#fruits li').getBoundingClientRect().bottom")
                    assert first <= height, f"{width} × {height}: the first fruit ends at {first}"
                    assert test.browser.run("return document.documentElement.scrollWidth") <= width
                    test.keep(f"fruits_{width}_{language}", both=language == "en")
                    test.browser.run("document.querySelector('#fruits li button').click()")
                    chain_rests(test)
                    assert test.browser.run("return document.documentElement.scrollWidth") <= width
                    test.keep(f"fruits_{width}_{language}_open")
    finally:
        test.browser.resize(*DESKTOP)


FRUIT_TESTS = [fruits_are_found, what_is_not_understood, a_fruit_is_opened_and_changed, recordings_that_are_not_whole, fruits_on_screens]
