"""What the tests of all pages share: their options, a browser, pictures of the page, and the count at the end."""
import argparse
import pathlib
import re
import tempfile
import traceback

from browser import Browser

DESKTOP, PHONE = (1400, 1000), (390, 844)


class PageTest:
    """What the tests share: a browser, a folder, and where pictures go."""

    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, pathlib.Path(folder)
        self.programs = pathlib.Path(arguments.bin).resolve()
        self.browser = Browser(arguments.axe)
        self.browser.resize(*DESKTOP)

    def close(self):
        self.browser.close()

    def complaints(self):
        return self.browser.complaints()

    def keep_picture(self, name):
        if self.arguments.shots:
            self.browser.screenshot(pathlib.Path(self.arguments.shots) / f"{name}.png")

    def keep(self, name, both=False):
        """A picture of the page as it is, and its barriers in both themes; `both`: a picture in each."""
        self.keep_picture(name)
        barriers = set()
        for theme in ("other", "first"):
            barriers.update(self.browser.find_barriers() or [])
            self.browser.run("document.getElementById('theme').click()")
            if both and theme == "other":
                self.keep_picture(f"{name}_{self.browser.run('return document.documentElement.dataset.theme')}")
        assert not barriers, f"{name}: {barriers}"
        self.expect_good_text()

    def expect_good_text(self):
        text = self.browser.run("return document.body.innerText")
        bad = re.search(r"\b(undefined|NaN|null|Infinity)\b|\[object", text) # "annulla" is Italian
        assert not bad, f"the page says '{bad.group(0)}': {text}"

    def expect_whole_words(self):
        """All languages have the same keys, and every fixed text of the open page is among them."""
        missing = self.browser.driver.execute_async_script("""
            const done = arguments[0];
            import('/page/languages.js').then(({ default: languages }) => {
                const keys = (words) => Object.keys(words).filter((key) => key !== 'stages').sort().join();
                const used = [...document.querySelectorAll('[data-word]')].map((e) => e.dataset.word)
                    .concat([...document.querySelectorAll('[data-label]')].map((e) => e.dataset.label));
                done([Object.values(languages).every((words) => keys(words) === keys(languages.en)),
                      used.filter((key) => !(key in languages.en))]);
            });""")
        assert missing == [True, []], missing


def make_parser(doc):
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--axe")
    parser.add_argument("--shots")
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT")
    return parser


def run_one(test, one):
    """What came of it, and why."""
    try:
        result = one(test) or "ok"
        complaints = test.complaints()
        assert not complaints, f"the console: {complaints}"
        return result, ""
    except Exception as error: # whatever it is, the others run
        traceback.print_exc()
        test.complaints() # these are not the next test's
        return "FAILED", f": {error}"


def run_tests(make_test, tests, arguments):
    """A line per test, at last how many passed, failed and were skipped; 1 when any failed."""
    if arguments.shots:
        pathlib.Path(arguments.shots).mkdir(parents=True, exist_ok=True)
    counts = {"ok": 0, "FAILED": 0, "skipped": 0}
    with tempfile.TemporaryDirectory(prefix="cernita-pages-") as folder:
        test = make_test(arguments, folder)
        try:
            for one in tests:
                if not any(text in one.__name__ for text in arguments.only):
                    continue
                result, why = run_one(test, one)
                print(f"{result:7} {one.__name__}: {one.__doc__}{why}", flush=True)
                counts[result] += 1
        finally:
            test.close()
    print(f"{counts['ok']} passed, {counts['FAILED']} failed, {counts['skipped']} skipped")
    return int(counts["FAILED"] > 0)
