"""The outlines and photographs of the live page's last fruits, compared with verdicts and recording."""
import json
import time

import msgpack
import numpy as np
import tifffile
import zmq

from live.daemon import FRUITS, VIEWS


def read_verdicts(line, wanted, patience_s=20):
    """Verdicts of the viewers' socket by fruit, until `wanted` is among them."""
    context = zmq.Context.instance()
    socket = context.socket(zmq.SUB)
    socket.connect(line.endpoint("viewers"))
    socket.subscribe("fruit/")
    found, end = {}, time.monotonic() + patience_s
    try:
        while time.monotonic() < end:
            if socket.poll(200):
                verdict = msgpack.unpackb(socket.recv_multipart()[1])
                found[verdict["fruit"]] = verdict
            if wanted(found):
                return found
        raise AssertionError("the viewers' socket did not give the verdict")
    finally:
        socket.close(0)


def path_points(d):
    closed = d.endswith("Z")
    points = [tuple(map(float, pair.split())) for pair in d.removeprefix("M").removesuffix("Z").split("L")]
    return np.array(points), closed


CARD = """
    const card = document.querySelector(`[data-fruit$="/${arguments[0]}"]`);
    if (!card) return null;
    return [...card.querySelectorAll('svg.view')].map((svg) => ({
        box: svg.getBoundingClientRect().toJSON(), viewBox: svg.getAttribute('viewBox'),
        image: svg.querySelector('image')?.getAttribute('href') ?? null,
        outlines: [...svg.querySelectorAll('path.outline')].map((path) => ({
            d: path.getAttribute('d'), name: path.dataset.class, box: path.getBoundingClientRect().toJSON()}))}))"""


def check_outlines(defects, view):
    """The outlines of a view: the verdict's points, at their place in the picture."""
    assert len(view["outlines"]) == len(defects)
    x0, y0, width, _ = map(float, view["viewBox"].split())
    scale = view["box"]["width"] / width
    for defect, outline in zip(defects, view["outlines"]):
        points, closed = path_points(outline["d"])
        wanted = np.frombuffer(defect["xy"], "<f4").reshape(-1, 2)
        assert outline["name"] == defect["class"] and closed == defect["closed"]
        assert np.array_equal(points.astype("<f4"), wanted), "the outline has other points than the verdict"
        left = view["box"]["left"] + (wanted[:, 0].min() - x0) * scale
        top = view["box"]["top"] + (wanted[:, 1].min() - y0) * scale
        assert abs(outline["box"]["left"] - left) < 1.5 and abs(outline["box"]["top"] - top) < 1.5, (outline, left, top)


def outlines_are_the_verdicts(test):
    """The last fruits' outlines are those of the verdicts that a viewer reads, over the recording's photographs."""
    line = test.daemon()
    try:
        line.grade()
        test.browser.open(line.address)
        line.replay(test.one_lane, "--loop", 3)

        def shown(found):
            names = test.browser.run("return [...document.querySelectorAll('[data-fruit]')]"
                                     ".filter((e) => e.querySelector('image')).map((e) => e.dataset.fruit)")
            fruits = [int(name.split("/")[2]) for name in names]
            return [fruit for fruit in fruits if fruit in found and found[fruit]["defects"]]
        found = read_verdicts(line, shown)
        fruit = shown(found)[0]
        views = test.browser.run(CARD, fruit)
        assert len(views) == VIEWS
        for index, view in enumerate(views):
            check_outlines([defect for defect in found[fruit]["defects"] if defect["view"] == index], view)
        check_photographs(test, line, views[0]["image"], fruit % FRUITS)
    finally:
        line.close()


def check_photographs(test, line, image, fruit):
    """The sheet of photographs has the recording's pixels."""
    with tifffile.TiffFile(test.one_lane) as recording:
        pages = [page for page in recording.pages if json.loads(page.description or "{}").get("intensity")]
        wanted = np.concatenate([page.asarray() for page in pages[VIEWS * fruit:VIEWS * (fruit + 1)]])
    shown = test.browser.driver.execute_async_script("""
        const [address, done] = arguments;
        const image = new Image();
        image.onload = () => {
            const canvas = document.createElement('canvas');
            [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
            const context = canvas.getContext('2d');
            context.drawImage(image, 0, 0);
            const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data;
            done([canvas.height, canvas.width, Array.from(pixels.filter((_, i) => i % 4 === 0))]);
        };
        image.src = address;""", image)
    height, width, pixels = shown
    assert np.array_equal(np.array(pixels, np.uint8).reshape(height, width), wanted), "other pixels than recorded"
