"""A stand-in for a daemon: the files of the live page, and the events, conditions and fruits that a test wants."""
import copy
import http.server
import json
import pathlib
import queue
import threading
import time
import urllib.parse

from .alarms import CSV, Alarms

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDERS = [ROOT / "src/monitor/http/page", ROOT / "src/http/page"]
CHART = pathlib.Path("/usr/share/javascript/chart.js/chart.min.js")
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'"
EDGES_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
CLASSES = ["rot", "rust", "fresh hail", "healed hail", "picking damage", "transport damage", "bruise", "mould"]


def lane(number, last_view_s, **changes):
    return {"lane": number, "state": "good", "causes": {}, "views": 4000, "gaps": 0, "rejected": 0,
            "last_view_s": last_view_s, "verdicts": {"complete": 1000, "partial": 0, "late": 0},
            "latency_ms": {"p50": 12.5, "p99": 31.4, "within_budget": 1}} | changes


def normal_event(lanes=4):
    """What a line sends on which nothing is wrong."""
    now_s = time.time()
    latency = {"p50": 12.5, "p99": 31.4, "within_budget": 1}
    counts = [0, 0, 3, 40, 300, 57, 0, 0, 0, 0, 0]
    verdicts = {"complete": 400, "partial": 0, "late": 0}
    disk = {"on": True, "written": 12345, "lost": 0, "bytes": 3456789, "free_bytes": 5e11, "size_bytes": 1e12}
    return {
        "number": 1, "now_s": now_s, "state": "running", "healthy": True, "ready": True,
        "headline": {"level": "good", "misjudged": False}, "conditions": [], "reasons": [], "age_s": 0.2,
        "version": "0.2.0", "run": "5f0c6a1e", "started_s": now_s - 7200, "config": "line.yaml", "backend": "openmp",
        "workers": 4, "devices": 0, "devices_lost": 0, "memory_bytes": 812345678, "classes": CLASSES,
        "settings": "0123456789abcdef", "recipe": "gala_2026",
        "lot": "2026-118", "grower": "K. Meier", "variety": "Gala", "lot_since_s": round(now_s - 3600),
        "views_per_s": 48, "verdicts_per_s": 12, "views": 16000, "lost": 0, "waiting": 0, "graders": 1, "fruits_open": 3, "slots": 64, "slots_free": 60,
        "budget_ms": 100, "budget": {"kept": True, "since_s": now_s - 7200, "missed": 0, "verdicts": 400},
        "verdicts": verdicts, "latency_ms": latency, "edges_ms": EDGES_MS, "counts": counts,
        "classes_per_minute": {name: (7 * at * at + 11) % 97 for at, name in enumerate(CLASSES)},
        "recent": {"over_budget": 0, "verdicts": verdicts, "latency_ms": latency, "counts": counts, "stages": [
            {"stage": "queue", "backend": "", "views": 1600, "mean_ms": 1.2, "share": 0.1},
            {"stage": "contours", "backend": "openmp", "views": 1600, "mean_ms": 9.8, "share": 0.9}]},
        "lanes": [lane(number, now_s - 0.3) for number in range(lanes)],
        "recorder": disk, "log": disk, "bad": [], "shown": []}


def held(condition, severity, what, action, lane=None, misjudged=False, since_s=0, **values):
    """A condition that holds, as an event has it."""
    entry = {"id": condition, "severity": severity, "misjudged": misjudged,
             "values": {"count": 0, "percent": 0, "seconds": 0, "hours": 0, "name": ""} | values,
             "since_s": since_s or time.time() - 12, "what": what, "action": action,
             "details": "ingest.lanes names the lanes; cernita-why HOST says more"}
    return entry if lane is None else entry | {"lane": lane}


def faulty_event(*conditions, **changes):
    event = normal_event() | {"conditions": list(conditions)} | changes
    event["headline"] = {"level": conditions[0]["severity"] if conditions else "good",
                         "misjudged": any(one["misjudged"] for one in conditions)}
    return event


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def log_message(self, *_):
        pass

    def answer(self, body, kind="application/json", code=200, headers=()):
        self.send_response(code)
        self.send_header("Content-Type", kind)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Security-Policy", POLICY)
        self.end_headers()
        self.wfile.write(body)

    def answer_file(self, name):
        paths = [CHART] if name == "chart.js" else [folder / name for folder in FOLDERS]
        for path in paths:
            if path.is_file():
                return self.answer(path.read_bytes(), TYPES[path.suffix])
        return self.answer(b"no such file\n", "text/plain", 404)

    def answer_events(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        events = self.server.open_stream()
        try:
            while (event := events.get()) is not None:
                self.wfile.write(f"event: snapshot\ndata: {json.dumps(event)}\n\n".encode())
                self.wfile.flush()
        except OSError:
            pass

    def do_GET(self):
        server = self.server
        if self.path == "/":
            return self.answer_file("index.html")
        if self.path.startswith("/page/"):
            return self.answer_file(self.path.removeprefix("/page/"))
        if self.path == "/events":
            return self.answer_events()
        if self.path == "/conditions" and server.tables_refused > 0:
            server.tables_refused -= 1
            return self.answer(b"busy\n", "text/plain", 503)
        if self.path == "/conditions":
            return self.answer(json.dumps({"languages": ["en", "it", "es", "fr", "de"], "conditions": server.table}).encode())
        if self.path == "/alarms" and server.alarms:
            return self.answer(server.alarms.list())
        if self.path.startswith("/minutes?"):
            if server.minutes is None:
                return self.answer(b"busy\n", "text/plain", 503)
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
            server.minutes_asked = {name: int(value) for name, (value,) in query.items()}
            rows = [row for row in server.minutes["rows"] if row["at_ms"] >= server.minutes_asked["from"]]
            return self.answer(json.dumps(server.minutes | {"rows": rows}).encode())
        if self.path == "/alarms.csv" and server.alarms:
            return self.answer(CSV, "text/csv; charset=utf-8", headers={"Content-Disposition": "attachment"})
        if self.path.startswith("/fruits/"):
            name = self.path.removeprefix("/fruits/")
            fruit = server.fruits.get(name.removesuffix(".json"))
            if not name.endswith(".json"):
                return self.answer_file("fruit.html")
            return self.answer(json.dumps(fruit).encode()) if fruit else self.answer(b"", "text/plain", 404)
        return self.answer(b"no such page\n", "text/plain", 404)


    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        fields = dict(urllib.parse.parse_qsl(body))
        code, text, headers = self.server.alarms.post(self.path.removeprefix("/alarms/"), fields, self.headers["X-Cernita-Token"])
        self.answer(text.encode(), "application/json" if code == 200 else "text/plain", code, headers)


class StandIn(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, table=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server_address[1]}"
        self.table, self.fruits = table or {}, {} # texts by condition; what /fruits/NAME.json gives
        self.alarms = Alarms() # None: this daemon has no list of them
        self.minutes = {"now_ms": int(time.time() * 1000), "step_s": 60, "rows": []} # what /minutes gives; None: nothing
        self.minutes_asked = None # the last query of it
        self.tables_refused = 0 # so many times the texts are not given
        self.streams, self.event = [], normal_event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def open_stream(self):
        stream = queue.Queue()
        stream.put(self.complete(self.event))
        self.streams.append(stream)
        return stream

    def complete(self, event):
        return copy.deepcopy(event) | ({"alarms": self.alarms.summary()} if self.alarms else {})

    def send(self, event):
        """To every page that is open."""
        self.event = event
        for stream in self.streams:
            stream.put(self.complete(event))

    def close(self):
        for stream in self.streams:
            stream.put(None)
        self.shutdown()
        self.server_close()
