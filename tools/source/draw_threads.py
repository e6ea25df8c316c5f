#!/usr/bin/env python3
"""Draws the daemon's threads, queues and memory: src/threads.svg.

    tools/source/draw_threads.py             writes src/threads.svg
    tools/source/draw_threads.py --dark      prints the dark version alone, for viewers without media queries

Needs Python only. To look at it without a browser: rsvg-convert (Debian: librsvg2-bin).
"""

import html
import pathlib
import sys

WIDTH, HEIGHT = 2050, 780
MARGIN = 24

# class: (light, dark); the picture has a background of its own, so that it is readable on any page.
FILLS = {
    "page": ("#ffffff", "#0d1117"),
    "thread": ("#ddeafc", "#14253d"),
    "step": ("#ffffff", "#0d1117"),
    "memory": ("#fdf0d0", "#3a2c0a"),
    "outside": ("#f0f1f3", "#21262d"),
}
STROKES = {
    "page": ("#d0d7de", "#30363d"),
    "thread": ("#2f6fc4", "#5a9bee"),
    "step": ("#2f6fc4", "#5a9bee"),
    "memory": ("#b07d10", "#d9a93a"),
    "outside": ("#767f89", "#8b949e"),
}
INK = {"ink": ("#1f2328", "#e6edf3"), "soft": ("#57606a", "#a3acb6")}


def rules(scheme):
    lines = [f".{name} {{ fill: {FILLS[name][scheme]}; stroke: {STROKES[name][scheme]} }}" for name in FILLS]
    lines += [f".{name} {{ fill: {colours[scheme]} }}" for name, colours in INK.items()]
    lines += [f".arrow {{ stroke: {INK['soft'][scheme]}; fill: none }}"]
    return "\n".join(lines)


def style(dark_only):
    common = (
        "text { font-family: 'Segoe UI', Helvetica, Arial, sans-serif; font-size: 13px }\n"
        ".title { font-weight: 600; font-size: 15px } .small { font-size: 12px }\n"
        ".arrow { stroke-width: 1.6 } rect { stroke-width: 1.2 }"
    )
    if dark_only:
        return f"{common}\n{rules(1)}"
    return f"{common}\n{rules(0)}\n@media (prefers-color-scheme: dark) {{\n{rules(1)}\n}}"


class Drawing:
    def __init__(self):
        self.parts = []

    def box(self, kind, x, y, width, height, radius=6):
        self.parts.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="{radius}"/>')

    def text(self, x, y, text, classes="ink", anchor="middle"):
        self.parts.append(f'<text class="{classes}" x="{x}" y="{y}" text-anchor="{anchor}">{html.escape(text)}</text>')

    def arrow(self, *points):
        """Through these points; the head is drawn, because not every viewer knows markers."""
        (x0, y0), (x, y) = points[-2:]
        dx, dy = (x > x0) - (x < x0), (y > y0) - (y < y0)
        line = " ".join(f"{px},{py}" for px, py in points)
        head = f"{x - 7 * dx - 4 * dy},{y - 7 * dy - 4 * dx} {x},{y} {x - 7 * dx + 4 * dy},{y - 7 * dy + 4 * dx}"
        self.parts.append(f'<polyline class="arrow" points="{line}"/>')
        self.parts.append(f'<polyline class="arrow" points="{head}"/>')

    def labelled(self, kind, x, y, width, height, title, *lines):
        """A box with a title and lines, centred."""
        self.box(kind, x, y, width, height)
        top = y + height / 2 - 8 * len(lines) + 5
        self.text(x + width / 2, top, title, "ink title" if kind != "memory" else "ink")
        for i, line in enumerate(lines):
            self.text(x + width / 2, top + 17 * (i + 1), line, "soft small")

    def svg(self, dark_only):
        body = "\n".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">\n'
            "<title>Threads, queues and memory of cernitad</title>\n"
            f"<style>\n{style(dark_only)}\n</style>\n"
            f'<rect class="page" x="0.6" y="0.6" width="{WIDTH - 1.2}" height="{HEIGHT - 1.2}" rx="10"/>\n'
            f"{body}\n</svg>\n"
        )


# What the line's thread does, in the order of the flow, and what it owns for it.
STEPS = [
    ("ingest", "checks and copies", "slots", "class maps of the", "views that wait or run"),
    ("fruits", "assembles views", "fruit table", "open fruits, lanes,", "deadlines"),
    ("engine", "earliest deadline first", "schedule", "which view runs next,", "and what it costs"),
    ("judge", "when whole, or due", "result store", "defects of fruits", "without a verdict"),
    ("publish", "encodes the verdict", "backlog", "verdicts that wait", "for the grader"),
]
STEP_WIDTH, STEP_GAP = 206, 25
LINE_TOP, LINE_BOTTOM = 186, 410
TITLE_X = 1500 # beside the verdicts' way
STEP_TOP, OWNED_TOP = LINE_TOP + 58, LINE_TOP + 132
LOWER_TOP, LOWER_HEIGHT, LOWER_WIDTH = 486, 148, 184
BOTTOM = 694


def draw_top(d):
    """Peers, libzmq's I/O thread, and who answers it."""
    d.labelled("outside", MARGIN, 24, 132, 62, "CNN senders", "PUSH, any number")
    d.labelled("thread", 216, 24, 1012, 62, "libzmq's I/O thread",
               "connections, framing, heartbeats; owns the messages that wait on either side")
    d.labelled("outside", WIDTH - MARGIN - 132, 24, 132, 62, "grader", "PULL, exactly one")
    d.arrow((156, 55), (216, 55))
    d.arrow((1228, 55), (WIDTH - MARGIN - 132, 55))
    d.arrow((240, 86), (240, 146), (143, 146), (143, STEP_TOP))
    d.text(252, 132, "views: at most ingest.high_water_mark", "soft small", "start")
    d.text(252, 148, "messages per sender wait", "soft small", "start")
    publish = 40 + 4 * (STEP_WIDTH + STEP_GAP) + STEP_WIDTH / 2
    d.arrow((publish, STEP_TOP), (publish, 86))
    d.text(publish - 12, 132, "verdicts fruit/<lane>,", "soft small", "end")
    d.text(publish - 12, 148, "or alive when the belt is quiet", "soft small", "end")
    d.labelled("thread", 600, 116, 184, 54, "access threads", "with keys; one per context")
    d.arrow((640, 86), (640, 116))
    d.arrow((744, 116), (744, 86))
    d.text(630, 106, "whose key?", "soft small", "end")
    d.text(754, 106, "known or not", "soft small", "start")


def draw_line(d):
    """The line's thread: steps, each above the memory that it works on."""
    d.box("thread", MARGIN, LINE_TOP, WIDTH - 2 * MARGIN, LINE_BOTTOM - LINE_TOP)
    d.text(TITLE_X, LINE_TOP + 25, "the line's thread", "ink title")
    d.text(TITLE_X, LINE_TOP + 43, "SCHED_RR; one loop that owns all of this, so no locks; waits only in its poll",
           "soft small")
    for i, (title, what, memory, *lines) in enumerate(STEPS):
        x = 40 + i * (STEP_WIDTH + STEP_GAP)
        d.labelled("step", x, STEP_TOP, STEP_WIDTH, 56, title, what)
        d.labelled("memory", x, OWNED_TOP, STEP_WIDTH, 76, memory, *lines)
        if i:
            d.arrow((x - STEP_GAP, STEP_TOP + 28), (x, STEP_TOP + 28))
    d.labelled("memory", 40 + 5 * (STEP_WIDTH + STEP_GAP), OWNED_TOP, STEP_WIDTH, 76, "settings in force",
               "open fruits keep theirs:", "up to 8 in use")


def lower_thread(d, x, width, title, what, *memory, copies=1):
    """A thread below the line's, and what it owns."""
    for i in reversed(range(copies)):
        d.box("thread", x + 5 * i, LOWER_TOP + 5 * i, width, LOWER_HEIGHT)
    d.text(x + width / 2, LOWER_TOP + 25, title, "ink title")
    d.text(x + width / 2, LOWER_TOP + 44, what, "soft small")
    d.box("memory", x + 12, LOWER_TOP + 58, width - 24, 76)
    for i, line in enumerate(memory):
        classes, y = ("ink", 82) if i == 0 else ("soft small", 82 + 17 * i)
        d.text(x + width / 2, LOWER_TOP + y, line, classes)


def queue_label(d, x, *lines):
    for i, line in enumerate(lines):
        d.text(x, LINE_BOTTOM + 34 + 16 * i, line, "soft small")


def draw_lower(d):
    """Slots, writers, workers, devices, surfaces, viewers, HTTP, conditions, control, service."""
    slots, writers, workers, devices, surfaces, viewers, http, conditions, control, service = (
        MARGIN + 202 * i for i in range(10))
    lower_thread(d, slots, LOWER_WIDTH, "slots' thread", "nice 10; accepts producers", "rings of slots: made,",
                 "pinned, freed; the line's", "from offer to last view")
    d.arrow((slots + 20, LINE_BOTTOM), (slots + 20, LOWER_TOP))
    d.arrow((slots + LOWER_WIDTH - 20, LOWER_TOP), (slots + LOWER_WIDTH - 20, LINE_BOTTOM))
    queue_label(d, slots + LOWER_WIDTH / 2, "eventfds: rings", "left, rings offered")

    lower_thread(d, writers, LOWER_WIDTH, "writers", "recorder; verdict log", "rings; slots of 256 MiB",
                 "what does not fit", "is dropped and counted", copies=2)
    d.arrow((writers + 24, LINE_BOTTOM), (writers + 24, LOWER_TOP))
    queue_label(d, writers + 108, "byte rings: slots lent,", "copies of verdicts")

    lower_thread(d, workers, LOWER_WIDTH, "workers", "the chain on the CPU", "scratch, outputs",
                 "read maps in their slots", "and a device's results", copies=3)
    lower_thread(d, devices, LOWER_WIDTH, "device threads", "every call to their GPU", "graphs, pinned results",
                 "batches of up to 16,", "uploaded from the slots", copies=2)
    lower_thread(d, surfaces, LOWER_WIDTH, "surfaces' thread", "with geometry: a fruit in mm", "outlines of one fruit",
                 "reads the result store,", "at most 32 fruits wait")
    for x in (workers, devices, surfaces):
        d.arrow((x + 20, LINE_BOTTOM), (x + 20, LOWER_TOP))
        d.arrow((x + LOWER_WIDTH - 20, LOWER_TOP), (x + LOWER_WIDTH - 20, LINE_BOTTOM))
        queue_label(d, x + LOWER_WIDTH / 2, f"rings: {'fruits' if x == surfaces else 'views'} in,", "results out, eventfd")

    lower_thread(d, viewers, LOWER_WIDTH, "viewers' thread", "XPUB, own ZeroMQ context", "ring of messages",
                 "when it is full,", "viewers lose some")
    d.arrow((viewers + 24, LINE_BOTTOM), (viewers + 24, LOWER_TOP))
    queue_label(d, viewers + 108, "ring: verdicts, status")

    lower_thread(d, http, LOWER_WIDTH, "HTTP thread", "nice 15, only reads", "pages, event streams",
                 "rendered from", "the last snapshot")
    d.arrow((http + 24, LINE_BOTTOM), (http + 24, LOWER_TOP))
    queue_label(d, http + 108, "three buffers: a", "snapshot a second")

    lower_thread(d, conditions, LOWER_WIDTH, "conditions' thread", "nice 15; disks', writers' beside",
                 "snapshots of 5 s", "which conditions hold,", "which resource is short", copies=3)
    d.arrow((conditions + 24, LINE_BOTTOM), (conditions + 24, LOWER_TOP))
    queue_label(d, conditions + 108, "three buffers: a", "snapshot a second")

    lower_thread(d, control, LOWER_WIDTH, "control thread", "nice 15; reads the file again", "the file as read last",
                 "new settings until", "the line takes them in")
    d.arrow((control + 24, LOWER_TOP), (control + 24, LINE_BOTTOM))
    queue_label(d, control + 108, "new settings, made", "ready; its answer")

    lower_thread(d, service, LOWER_WIDTH, "service's thread", "feeds systemd's watchdog", "how far each was",
                 "one that stands still", "with work is named")
    d.arrow((service + 24, LINE_BOTTOM), (service + 24, LOWER_TOP))
    queue_label(d, service + 108, "a counter of each", "thread; the state")

    middle = LOWER_WIDTH / 2
    for x, stack, title, what in ((slots, 0, "producers", "headers go to ingest itself"),
                                  (writers, 5, "disk", "recordings, verdict log"), (devices, 5, "GPU", "four batches in flight"),
                                  (viewers, 0, "viewers", "SUB, any number"), (http, 0, "HTTP clients", "Prometheus, browsers"),
                                  (conditions, 10, "/proc, /sys, disks", "asked once a second"),
                                  (control, 0, "cernitactl", "AF_UNIX; or SIGHUP"),
                                  (service, 0, "systemd", "status, watchdog")):
        d.labelled("outside", x, BOTTOM, LOWER_WIDTH, 62, title, what)
        d.arrow((x + middle, LOWER_TOP + LOWER_HEIGHT + stack), (x + middle, BOTTOM))
    d.text(viewers + middle - 10, BOTTOM - 25, "own I/O thread", "soft small", "end")


def draw_legend(d):
    for i, (kind, text) in enumerate((("thread", "thread"), ("memory", "memory that it owns"),
                                      ("outside", "outside the daemon"))):
        d.box(kind, 428, BOTTOM + 4 + 22 * i, 22, 14, 3)
        d.text(458, BOTTOM + 16 + 22 * i, text, "ink small", "start")


def main():
    arguments = sys.argv[1:]
    if arguments not in ([], ["--dark"]):
        sys.exit(__doc__)
    drawing = Drawing()
    for draw in (draw_line, draw_top, draw_lower, draw_legend):
        draw(drawing)
    if arguments:
        print(drawing.svg(True), end="")
    else:
        path = pathlib.Path(__file__).resolve().parents[2] / "src" / "threads.svg"
        path.write_text(drawing.svg(False), encoding="utf-8")


if __name__ == "__main__":
    main()
