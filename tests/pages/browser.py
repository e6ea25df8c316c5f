"""A headless Chromium that a test looks at a page with."""
import pathlib
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

PATIENCE_S = 20
SAYS = "#headline, #since, #connection, [role=alert], [role=status]"


class Browser:
    def __init__(self, axe=None, flags="--expose-gc"):
        """`flags`: of its JavaScript engine."""
        options = webdriver.ChromeOptions()
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                         "--enable-precise-memory-info", f"--js-flags={flags}"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.driver.set_script_timeout(120)
        self.axe = pathlib.Path(axe).read_text() if axe else None
        self.messages = [] # of the console, but for connections that failed

    def close(self):
        self.driver.quit()

    def resize(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})

    def open(self, address, language="en", theme="light"):
        """The page, as a reader with these preferences sees it."""
        self.driver.get(address)
        stored = "return [localStorage.getItem('language'), localStorage.getItem('theme')]"
        if self.run(stored) != [language, theme]:
            self.run("localStorage.setItem('language', arguments[0]); localStorage.setItem('theme', arguments[1])",
                     language, theme)
            self.driver.get("about:blank") # to the same address with a fragment it would only jump
            self.driver.get(address)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def text(self, selector):
        """A space that does not break a line counts as a space."""
        return self.run("return document.querySelector(arguments[0])?.textContent.replaceAll('\\u00a0', ' ')", selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent.replaceAll('\\u00a0', ' '))", selector)

    def elements(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def wait(self, what, condition, patience_s=PATIENCE_S):
        """Until the condition returns something true, which is returned."""
        end = time.monotonic() + patience_s
        while True:
            seen = condition()
            if seen:
                return seen
            if time.monotonic() > end:
                said = " / ".join(text for text in self.texts(SAYS) if text)
                raise AssertionError(f"waited {patience_s} s in vain: {what}; the page says: {said}")
            time.sleep(0.1)

    def wait_text(self, selector, wanted, patience_s=PATIENCE_S):
        return self.wait(f"{selector}: {wanted}", lambda: wanted in (self.text(selector) or ""), patience_s)

    def screenshot(self, path, height=None):
        """The whole page, however long; `height`: its top."""
        size = self.run("return [document.documentElement.clientWidth, document.documentElement.scrollHeight]")
        image = self.driver.execute_cdp_cmd("Page.captureScreenshot", {
            "captureBeyondViewport": True,
            "clip": {"x": 0, "y": 0, "width": size[0], "height": height or size[1], "scale": 1}})
        import base64
        pathlib.Path(path).write_bytes(base64.b64decode(image["data"]))

    def complaints(self):
        """What the console has said since the last call, without connections that failed."""
        said = [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] != "INFO"]
        return [message for message in said if "net::ERR_" not in message]

    def find_barriers(self):
        """axe-core's findings, a line each; None without axe-core."""
        if not self.axe:
            return None
        self.run(self.axe)
        found = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run(document).then((r) => done(r.violations.map((v) => "
            "`${v.id}: ${v.help}: ${v.nodes.map((n) => n.target).join(' ')}`)))")
        return found

    def heap_bytes(self):
        return self.run("gc(); return performance.memory.usedJSHeapSize")

    def node_count(self):
        return self.run("return document.getElementsByTagName('*').length")
