"""Every operator of the workbench's page against cernita-apply: pixels, outlines, ranklets, files, commands."""
import json

import numpy as np
import tifffile

from workbench_page import read_picture, run_command, run_python, to_grey

BACKENDS = ("serial", "openmp")
RED, BLUE = (255, 60, 40), (50, 120, 255) # of a ranklet's sign

# Operator: picture and options.
JOBS = {
    "morphology": [("colour.png", {"operation": "close", "element": "disk", "size": "7"}),
                   ("deep.tif", {"operation": "tophat", "element": "rect", "size": "5x3"}),
                   ("real.tif", {"operation": "gradient", "element": "cross", "size": "5"})],
    "convolve": [("colour.png", {"kernel": "emboss"}),
                 ("deep.tif", {"kernel": "sharpen", "size": "3", "border": "zero"}),
                 ("real.tif", {"kernel": "gaussian", "size": "7", "border": "wrap"})],
    "haar": [("colour.png", {"levels": "3"}), ("deep.tif", {"levels": "1"}), ("real.tif", {"levels": "2"}),
             ("grey.png", {"levels": "3", "threshold": "12"}), ("coefficients.tif", {"levels": "2", "inverse": True})],
    "diamond-square": [(None, {"exponent": "6", "seed": "3", "roughness": "0.7"}),
                       (None, {"exponent": "5", "seed": "11", "type": "f32"})],
    "contours": [("grey.png", {"level": "120"}),
                 ("colour.png", {"level": "100.5", "connectivity": "high", "border": "closed"}),
                 ("real.tif", {"level": "4", "orientation": "high"})],
    "ranklet": [("grey.png", {"windows": "8,6x10"}), ("colour.png", {"windows": "4"}), ("deep.tif", {"windows": "6"})],
}


def arguments_of(options):
    return [word for name, value in options.items() for word in ([f"--{name}"] if value is True else [f"--{name}", value])]


def each_job(test, operator):
    """The page once a job is there: the picture's name, cernita-apply's arguments."""
    page = test.page
    for name, options in JOBS[operator]:
        page.start(test.workbench.address)
        if name:
            page.open_file(test.folder / name)
        for backend in BACKENDS:
            page.choose(operator, backend, **options)
            page.run()
            if name:
                page.set("plane", page.planes()[0])
            yield name, [*arguments_of(options), "--backend", backend]


def expect_pixels(shown, wanted, what):
    rgb = wanted if wanted.ndim == 3 else np.repeat(wanted[:, :, None], 3, 2)
    assert shown.shape[:2] == rgb.shape[:2], f"{what}: {shown.shape} for {rgb.shape}"
    unequal = np.count_nonzero(np.any(shown[:, :, :3] != rgb, 2))
    assert unequal == 0, f"{what}: {unequal} pixels differ, the first at {np.argwhere(np.any(shown[:, :, :3] != rgb, 2))[0]}"
    assert np.all(shown[:, :, 3] == 255), f"{what}: not opaque"


def displayed(path):
    """A file as the page shows it: what is not u8 from its minimum to its maximum."""
    values = read_picture(path)
    return values if values.dtype == np.uint8 else to_grey(values, values.min(), values.max())


def compare_png(test, operator):
    page = test.page
    for name, arguments in each_job(test, operator):
        out = "wanted.tif" if "f32" in arguments else "wanted.png" # which a generator does not scale
        wanted = displayed(page.apply(operator, [name] if name else [], out, *arguments))
        what = f"{operator} {name} {arguments}"
        if operator == "haar" and wanted.ndim == 3: # coefficients are shown plane by plane
            for plane in range(3):
                page.set("plane", str(plane))
                expect_pixels(page.pixels(), wanted[:, :, plane], f"{what}, plane {plane}")
        else:
            expect_pixels(page.pixels(), wanted, what)
        if name and read_picture(test.folder / name).dtype == np.uint8:
            page.set("plane", page.planes()[0])
            expect_pixels(page.pixels("input-figure"), read_picture(test.folder / name), f"{what}, input")


def morphology_is_apply_s(test):
    """Morphology of u8, u16 and f32 shows the pixels of cernita-apply's PNG."""
    compare_png(test, "morphology")


def convolve_is_apply_s(test):
    """Convolution of u8, u16 and f32 shows the pixels of cernita-apply's PNG."""
    compare_png(test, "convolve")


def haar_is_apply_s(test):
    """Haar coefficients by quadrant, denoised and inverted, show the pixels of cernita-apply's PNG."""
    compare_png(test, "haar")


def diamond_square_is_apply_s(test):
    """A generated field shows the pixels of cernita-apply's PNG; its side is said before."""
    compare_png(test, "diamond-square")
    test.page.set("option-exponent", "9")
    assert test.browser.text("#option-side") == "513 × 513 pixels", test.browser.text("#option-side")


# What the page draws as paths, in its order: [path, closed, points].
TRACE = """
    window.traced = { paths: [], lines: [] };
    if (window.isTraced) return;
    window.isTraced = true;
    const { moveTo, lineTo, closePath } = Path2D.prototype;
    Path2D.prototype.moveTo = function (x, y) {
        if (!traced.paths.includes(this)) traced.paths.push(this);
        traced.lines.push([traced.paths.indexOf(this), false, [[x, y]]]);
        return moveTo.call(this, x, y);
    };
    Path2D.prototype.lineTo = function (x, y) {
        traced.lines.at(-1)[2].push([x, y]);
        return lineTo.call(this, x, y);
    };
    Path2D.prototype.closePath = function () {
        traced.lines.at(-1)[1] = true;
        return closePath.call(this);
    };"""

# How many of some places of the picture, by plane, have the plane's colour beside them on the canvas.
INKED = """
    const [places, done] = arguments;
    const { canvas, transform } = document.getElementById('output-figure').viewer;
    const palette = ['#ff5252', '#33ccff', '#ffc71a'].map((text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16)));
    requestAnimationFrame(() => requestAnimationFrame(() => {
        // A copy: the console would complain of reading the page's own.
        const copy = Object.assign(document.createElement('canvas'), { width: canvas.width, height: canvas.height });
        const context = copy.getContext('2d', { willReadFrequently: true });
        context.drawImage(canvas, 0, 0);
        done(places.filter(([plane, x, y]) => {
            const { data } = context.getImageData(Math.round(x * transform.scale + transform.x) - 2,
                Math.round(y * transform.scale + transform.y) - 2, 5, 5);
            for (let i = 0; i < data.length; i += 4) {
                if (palette[plane].every((value, k) => Math.abs(value - data[i + k]) < 24)) return true;
            }
            return false;
        }).length);
    }));"""


def contours_are_apply_s(test):
    """The outlines that the page draws are the polylines of cernita-apply's OUT.json, at their place on the canvas."""
    for name, arguments in each_job(test, "contours"):
        wanted = json.loads(test.page.apply("contours", [name], "wanted.json", *arguments).read_text())
        test.browser.run(TRACE)
        test.page.set("plane", test.page.planes()[0]) # draws it anew
        lines = test.browser.run("return traced.lines")
        assert len(wanted) > 2 and len(lines) == len(wanted), f"{name}: {len(lines)} lines for {len(wanted)} contours"
        paths = list(dict.fromkeys(contour["plane"] for contour in wanted)) # one each, in the order of their first contours
        for contour, (path, closed, points) in zip(wanted, lines):
            shut = contour["points"][0] == contour["points"][-1]
            assert paths[path] == contour["plane"] and shut == contour["closed"] and not closed, f"{name}: {path}"
            assert points == [[x + 0.5, y + 0.5] for x, y in contour["points"]], f"{name}: other points"
        assert f"{len(wanted)} contours" in test.browser.text("#output-caption")
        places = [[contour["plane"], x + 0.5, y + 0.5] for contour in wanted for x, y in contour["points"]][::7]
        inked = test.browser.driver.execute_async_script(INKED, places)
        # Another plane's line may lie over it, or the canvas end there.
        assert inked >= 0.9 * len(places), f"{name}: {inked} of {len(places)} points are drawn"


def expect_ranklets(test, pages, window, what):
    """All three directions of one plane and window."""
    for direction, values in zip(("vertical", "horizontal", "diagonal"), pages):
        test.page.set("direction", direction)
        shown, left, top = test.page.layer()
        assert shown.shape[:2] == values.shape and (left, top) == ((window[0] - 1) / 2, (window[1] - 1) / 2), what
        wanted = np.where((values > 0)[:, :, None], np.uint8(RED), np.uint8(BLUE))
        alpha = np.clip(np.rint(255 * np.minimum(np.abs(values.astype(np.float64)), 1)), 0, 255).astype(np.uint8)
        assert np.array_equal(shown[:, :, 3], alpha), f"{what}, {direction}: other strengths"
        assert np.array_equal(shown[:, :, :3], wanted), f"{what}, {direction}: other colours"


def ranklet_is_apply_s(test):
    """Ranklets of each window, plane and direction are those of cernita-apply's TIFF, red above 0 and blue below."""
    page = test.page
    for name, arguments in each_job(test, "ranklet"):
        with tifffile.TiffFile(page.apply("ranklet", [name], "wanted.tif", *arguments)) as file:
            parts = [(json.loads(one.description), [page.asarray() for page in file.pages[i:i + 3]])
                     for i, one in enumerate(file.pages) if i % 3 == 0]
        windows = list(dict.fromkeys(tuple(facts["window"]) for facts, _ in parts))
        for index, window in enumerate(windows):
            if index > 0:
                before = page.jobs()
                page.set("window", str(index))
                test.browser.wait("the other window", lambda: page.jobs() > before)
            for facts, pages in parts:
                if tuple(facts["window"]) == window:
                    page.set("plane", str(facts["plane"]))
                    expect_ranklets(test, pages, window, f"{name} {arguments} {facts}")


# --- what can be copied and saved ---

PYTHON_END = {
    "contours": "import json\nprint(json.dumps([[int(plane), bool(closed), line[:, ::-1].tolist()] for plane, closed, line "
                "in zip(result.planes, result.closed, result)]))",
    "ranklet": "np.savez('python.npz', *[part for triple in result for part in triple])",
}


def expect_same_contours(saved, command, printed):
    wanted = [[one["plane"], one["closed"], one["points"]] for one in json.loads(saved.read_text())]
    assert wanted == [[one["plane"], one["closed"], one["points"]] for one in json.loads(command.read_text())]
    result = json.loads(printed)
    assert [one[:2] for one in result] == [one[:2] for one in wanted]
    for one, other in zip(result, wanted):
        assert one[2] == other[2], "Python's contours have other points"


def expect_same_pages(saved, command, arrays):
    with tifffile.TiffFile(saved) as one, tifffile.TiffFile(command) as other:
        wanted = [page.asarray() for page in one.pages]
        assert all(np.array_equal(a, page.asarray()) for a, page in zip(wanted, other.pages, strict=True)), "the command's file"
    if wanted[0].dtype == np.uint16: # Python computes them in f32
        arrays = [np.clip(np.rint(array), 0, 65535) for array in arrays]
    assert len(arrays) == len(wanted) and all(np.array_equal(*pair) for pair in zip(arrays, wanted)), "Python's result"


def commands_give_the_result(test):
    """The command line and the Python code, as copied, give what the page's Save gives; for every operator."""
    page, browser = test.page, test.browser
    browser.driver.execute_cdp_cmd("Browser.grantPermissions", {
        "origin": test.workbench.address, "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    for operator, jobs in JOBS.items():
        for name, options in jobs:
            page.start(test.workbench.address)
            if name:
                page.open_file(test.folder / name)
            page.choose(operator, "openmp", **options)
            page.run()
            copied = [copy(page, name) for name in ("command", "python")]
            kind = "JSON" if operator == "contours" else "TIFF"
            saved = page.expect_download(page.button("#save", f"Save {kind}").click, "*.json" if kind == "JSON" else "*.tif")
            what = f"{operator} {name} {options}"
            try:
                command = run_command(copied[0], test.folder, test.programs)
                end = PYTHON_END.get(operator, "import numpy as np\nnp.savez('python.npz', result)")
                printed = run_python(copied[1], test.folder, test.programs, end)
                if operator == "contours":
                    expect_same_contours(saved, command, printed)
                else:
                    expect_same_pages(saved, command, arrays_of(test.folder / "python.npz"))
            except AssertionError as error:
                raise AssertionError(f"{what}: {error}") from error


def arrays_of(path):
    """Python's result as the pages of a TIFF."""
    with np.load(path) as file:
        return [file[name] for name in file.files]


def copy(page, name):
    page.click(f"copy-{name}")
    page.browser.wait_text("#told", "Copied.")
    text = page.browser.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    assert text == page.browser.text(f"#{name}"), f"copied: {text}"
    page.browser.run("document.getElementById('told').textContent = ''")
    return text


OPERATOR_TESTS = [morphology_is_apply_s, convolve_is_apply_s, haar_is_apply_s, diamond_square_is_apply_s, contours_are_apply_s,
                  ranklet_is_apply_s, commands_give_the_result]
