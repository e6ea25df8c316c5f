"""cernita-workbench as a process, its page as a reader uses it, and pictures to open."""
import atexit
import base64
import json
import os
import pathlib
import re
import shlex
import subprocess
import threading
import urllib.parse
import urllib.request

import numpy as np
import tifffile
from PIL import Image
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.support.select import Select

ROOT = pathlib.Path(__file__).resolve().parents[2]
REFUSED = re.compile(r"/(apply|calibrate|chain|fruits|generate|labels|levels|jobs|pictures|recordings|tile|views)\S* - Failed to load resource: "
                     r"the server responded with a status of 4\d\d")


class Workbench:
    """The program on a free port."""

    def __init__(self, programs, *arguments, cwd=None):
        self.process = subprocess.Popen([programs / "cernita-workbench", "--listen", "127.0.0.1:0", *arguments], cwd=cwd,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1)
        self.said = []
        for line in self.process.stdout:
            self.said.append(line)
            found = re.search(r"http://[\w.:]+/", line)
            if found:
                self.address = found.group(0)
                break
        else:
            raise RuntimeError(f"cernita-workbench ended: {self.said}")
        atexit.register(self.process.kill)
        threading.Thread(target=lambda: self.said.extend(self.process.stdout), daemon=True).start()

    def open(self, path, body=None):
        """GET, or POST with a body."""
        return urllib.request.urlopen(urllib.request.Request(self.address + path, data=body,
                                                             headers={"X-Cernita-Workbench": "1"}))

    def ask(self, path, body=None):
        """The JSON of an answer."""
        with self.open(path, body) as answer:
            return json.load(answer)

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


def make_pictures(folder):
    """One in colour, and grey ones of u8, u16 and f32; odd sides, so that no border is a special case's."""
    random = np.random.default_rng(1)

    def smooth(height, width):
        coarse = random.integers(0, 256, (height // 8 + 2, width // 8 + 2)).astype(np.uint8)
        return np.asarray(Image.fromarray(coarse).resize((width, height), Image.BICUBIC))
    Image.fromarray(np.stack([smooth(121, 183) for _ in range(3)], 2)).save(folder / "colour.png")
    Image.fromarray(smooth(93, 131)).save(folder / "grey.png")
    tifffile.imwrite(folder / "deep.tif", smooth(91, 143).astype(np.uint16) * 201 + 300)
    tifffile.imwrite(folder / "real.tif", smooth(85, 101).astype(np.float32) / 7 - 9)


def read_picture(path):
    if path.suffix == ".png":
        return np.asarray(Image.open(path))
    return tifffile.imread(path)


def to_grey(values, low, high):
    """As the page shows what is not u8: linear in double, rounded to f32, then half to even."""
    if high <= low:
        return np.full(values.shape, 128, np.uint8)
    grey = ((values.astype(np.float64) - float(low)) * (255 / (float(high) - float(low)))).astype(np.float32)
    return np.clip(np.rint(grey), 0, 255).astype(np.uint8)


def number_in(text):
    return float(text.replace(",", "").replace("\u2013", "nan"))


SHOWN = """
    const viewer = document.getElementById(arguments[0]).viewer;
    const shown = arguments[1] ? viewer.layer : viewer.shown;
    if (!shown) return null;
    let text = '';
    for (let i = 0; i < shown.rgba.length; i += 8192) text += String.fromCharCode(...shown.rgba.subarray(i, i + 8192));
    return [shown.height, shown.width, btoa(text), shown.left ?? 0, shown.top ?? 0];"""


CANVAS_PIXEL = """
    const [x, y, done] = arguments;
    const { canvas, transform } = document.getElementById('output-figure').viewer;
    requestAnimationFrame(() => requestAnimationFrame(() => {
        // A copy: the console would complain of reading the page's own.
        const copy = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d');
        copy.drawImage(canvas, -Math.floor(x * transform.scale + transform.x), -Math.floor(y * transform.scale + transform.y));
        done([...copy.getImageData(0, 0, 1, 1).data]);
    }));"""


class Page:
    """What a reader does with the page, and sees."""

    def __init__(self, browser, programs, folder):
        self.browser, self.programs, self.folder = browser, programs, folder

    def start(self, address, language="en", theme="light"):
        self.browser.driver.get("about:blank") # or the same address with other settings would only be a jump
        self.browser.open(address, language, theme)
        self.wait_ready()

    def wait_ready(self):
        self.browser.wait("the page", lambda: self.browser.run("return document.body.dataset.ready === 'true'"))

    def click(self, name):
        self.browser.run("document.getElementById(arguments[0]).click()", name)

    def open_file(self, path):
        """By the file input, or from the list: opened twice it would have another name."""
        known = self.browser.run("""
            const list = document.getElementById('picture');
            const known = [...list.options].find((one) => one.textContent.startsWith(`${arguments[0]}: `));
            if (!known) return false;
            list.value = known.value;
            list.dispatchEvent(new Event('change', { bubbles: true }));
            return true;""", path.name)
        if not known:
            self.browser.elements("#file")[0].send_keys(str(path))
        self.wait_picture(path.name)

    def wait_picture(self, name):
        """Selected and shown."""
        self.browser.wait(f"{name} shown", lambda: name in (self.browser.text("#input-caption") or ""))

    def set(self, name, value):
        """A control by its id."""
        self.browser.run("""
            const [name, value] = arguments;
            const control = document.getElementById(name);
            if (control.type === 'checkbox') {
                if (control.checked !== value) control.click();
                return;
            }
            control.value = value;
            for (const event of ['input', 'change']) control.dispatchEvent(new Event(event, { bubbles: true }));""", name, value)

    def choose(self, operator, backend="openmp", **options):
        self.set("operator-name", operator)
        self.set("backend", backend)
        for name, value in options.items():
            self.set(f"option-{name}", value)

    def reason(self):
        """What is said beside Run once it is checked."""
        return self.browser.wait("the check", lambda: self.browser.run("""
            const reason = document.getElementById('reason');
            return reason.dataset.level !== 'none' && [reason.dataset.level, reason.textContent,
                                                       document.getElementById('run').disabled];"""))

    def jobs(self):
        return int(self.browser.run("return document.getElementById('output-figure').dataset.job"))

    def run(self, patience_s=20):
        before = self.jobs()
        level, text, disabled = self.reason()
        assert level == "good" and not disabled, f"Run is disabled: {text}"
        self.click("run")
        self.browser.wait("the result", lambda: self.jobs() > before, patience_s)

    def pixels(self, figure="output-figure"):
        """Height × width × 4, as they are shown."""
        return self.layer(figure, False)[0]

    def layer(self, figure="output-figure", layer=True):
        """The ranklets over a figure, and where they lie."""
        shown = self.browser.run(SHOWN, figure, layer)
        assert shown, f"{figure} shows nothing"
        height, width, text, left, top = shown
        return np.frombuffer(base64.b64decode(text), np.uint8).reshape(height, width, 4), left, top

    def canvas_pixel(self, x, y):
        """What the output's canvas has at a place of its picture."""
        return self.browser.driver.execute_async_script(CANVAS_PIXEL, x, y)

    def planes(self):
        return self.browser.run("return [...document.getElementById('plane').options].map((one) => one.value)")

    def apply(self, operator, inputs, output, *arguments):
        """cernita-apply's own result, in the folder of pictures."""
        done = subprocess.run([self.programs / "cernita-apply", operator, *map(str, arguments), *inputs, output], cwd=self.folder,
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return self.folder / output

    # --- with the mouse, as the browser's own input ---

    def box(self, selector):
        return self.browser.run("""
            const element = document.querySelector(arguments[0]);
            element.scrollIntoView({ block: 'center' });
            return element.getBoundingClientRect().toJSON();""", selector)

    def mouse(self, kind, x, y, **more):
        self.browser.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more})

    def point_at(self, figure, x, y):
        """The mouse over a place of a figure's picture; pixels' centres are at a half."""
        box = self.box(f"#{figure} canvas")
        place = self.transform(figure)
        self.mouse("mouseMoved", box["left"] + 2, box["top"] + 2)
        self.mouse("mouseMoved", box["left"] + x * place["scale"] + place["x"], box["top"] + y * place["scale"] + place["y"])

    def transform(self, figure):
        return self.browser.run("return document.getElementById(arguments[0]).viewer.transform", figure)

    def press(self, *keys):
        ActionChains(self.browser.driver).send_keys(*keys).perform()

    def focus(self, selector):
        self.browser.run("document.querySelector(arguments[0]).focus()", selector)

    # --- files that the page gives ---

    def expect_download(self, click, name):
        """The file that a click saves."""
        folder = self.folder / "downloads"
        folder.mkdir(exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        self.browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {
            "behavior": "allow", "downloadPath": str(folder)})
        click()
        self.browser.wait(f"the file {name}", lambda: [path for path in folder.iterdir() if path.match(name)])
        return next(path for path in folder.iterdir() if path.match(name))

    def button(self, section, text):
        """A button without an id, by its text."""
        return next(one for one in self.browser.elements(f"{section} button") if one.text == text)

    def select(self, element, value):
        Select(element).select_by_value(value)


def settings_of(address):
    """What the URL keeps."""
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(address).fragment))


def run_command(command, folder, programs):
    """A command line as the page shows it, in the folder of pictures."""
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}
    words = shlex.split(command)
    assert words[0] == "cernita-apply", command
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return folder / words[-1]


def run_python(script, folder, programs, end):
    """A script as the page shows it, and what it prints after `end`."""
    environment = os.environ | {"CRN_LIBRARY": str(programs.parent / "lib/libcernita.so"),
                                "PYTHONPATH": str(ROOT / "tools/python")}
    done = subprocess.run(["/usr/bin/python3", "-c", f"{script}\n{end}"], cwd=folder, env=environment, capture_output=True,
                          text=True)
    assert done.returncode == 0, f"{script}: {done.stderr}"
    return done.stdout
