"""Runs what the fruit page, cernita-top, the READMEs and the workbench print, against a live line and the package as a
wheel has it.

    run_commands.py BIN LIBRARY [DOCUMENT…]    all of that, or only the Python of these documents

Prints a line per fault; exit status 1 if there is one.
"""
import ast
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

TOP = pathlib.Path(__file__).resolve().parents[4]
PATIENCE_S = 60
CONFIG = """\
ingest: {{bind: ["ipc://{folder}/views"]}}
publish:
  grader: {{bind: "ipc://{folder}/grader"}}
  viewers: {{bind: "ipc://{folder}/viewers"}}
  log: {{dir: "{folder}/log"}}
classes: [{classes}]
chain: [contours]
run: {{backend: openmp, workers: 1, threads: 1}}
latency: {{budget_ms: 60000, assemble_ms: 60000}}
monitor: {{http: "127.0.0.1:0"}}
control: {{path: "{folder}/control"}}
"""
CLASSES = ("background", "rot", "rust", "fresh hail", "healed hail", "picking damage", "transport damage", "bruise",
           "mould", "stem", "calyx", "roller")
# What the workbench has for its operators: the options of a job.
JOBS = {"contours": ["--level=100"], "morphology": ["--operation=open", "--element=disk", "--size=5"],
        "convolve": ["--kernel=gaussian", "--size=5"], "haar": ["--levels=2"], "ranklet": ["--windows=4,8x16"],
        "diamond-square": ["--exponent=4", "--seed=3"]}


class Sandbox:
    def __init__(self, folder, programs, library):
        self.folder, self.programs, self.faults = pathlib.Path(folder), programs, []
        site = self.folder / "site" / "cernita"
        shutil.copytree(TOP / "tools/python/cernita", site, ignore=shutil.ignore_patterns("__pycache__"))
        version = re.search(r'^VERSION = "(.*?)"', (site / "_library.py").read_text(), re.MULTILINE)[1]
        shutil.copy(library, site / f"libcernita.so.{version}")
        self.environment = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": str(site.parent),
                            "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, what, command, expected=""):
        """Runs a shell command; a fault unless it ends with 0 and prints what is expected."""
        run = subprocess.run(["/bin/sh", "-c", command], cwd=self.folder, env=self.environment, capture_output=True,
                             text=True, timeout=PATIENCE_S, check=False)
        if run.returncode != 0 or expected not in run.stdout:
            self.faults.append(f"{what}: {command}: status {run.returncode}: {run.stdout[-300:]}{run.stderr[-600:]}")
        return run.stdout

    def python(self, what, text):
        (self.folder / "snippet.py").write_text(text)
        self.run(what, "/usr/bin/python3 snippet.py")


def the_command(path, marker):
    """The one command of cernita-why that a file prints with this marker behind it."""
    found = re.search(r"`(cernita-why [^`]*" + re.escape(marker) + "[^`]*)`", (TOP / path).read_text())
    if not found:
        sys.exit(f"{path} prints no command of cernita-why with {marker}")
    return found[1]


def expect_live_commands(box):
    classes = ", ".join(f"{{name: {name}, level: 0.5}}" if name not in ("background", "roller") else f"{{name: {name}}}"
                        for name in CLASSES)
    (box.folder / "log").mkdir()
    (box.folder / "line.yaml").write_text(CONFIG.format(folder=box.folder, classes=classes))
    daemon = subprocess.Popen([f"{box.programs}/cernitad", "--config", box.folder / "line.yaml"],
                              stderr=subprocess.PIPE, text=True, env=box.environment)
    grader = None
    try:
        address = ""
        for line in daemon.stderr:
            address = (re.search(r"metrics at http://([\w.:]+)", line) or [0, address])[1]
            if " ready: " in line:
                break
        grader = subprocess.Popen([f"{box.programs}/cernita-tail", f"ipc://{box.folder}/grader", "--grader", "--count",
                                   "3", "--json"], stdout=subprocess.PIPE, text=True, env=box.environment)
        box.run("tools/README.md", "cernita-synth fruits.tif --fruits 3 --size 64x64")
        box.run("tools/README.md", f"cernita-replay fruits.tif --to ipc://{box.folder}/views")
        verdicts = [json.loads(line) for line in grader.stdout]
        if len(verdicts) != 3:
            sys.exit(f"{len(verdicts)} verdicts of 3 came; the daemon's log has more")
        verdict = verdicts[-1]
        values = {"location.host": address, "lane": verdict["lane"], "epoch": verdict["epoch_text"],
                  "fruit": verdict["fruit_text"]}
        title = f"lane {verdict['lane']}  fruit {verdict['fruit']} "
        page = the_command("src/monitor/http/page/fruit.js", "${")
        box.run("the fruit page", re.sub(r"\$\{([\w.]+)\}", lambda name: str(values[name[1]]), page), title)
        top = the_command("tools/top/layout.c", "HOST:PORT")
        for name, value in (("HOST:PORT", address), ("LANE", verdict["lane"]), ("FRUIT", verdict["fruit_text"])):
            top = top.replace(name, str(value))
        box.run("cernita-top", top, title)
        box.run("cernita-why", f"cernita-why {address}", "the line now: ")
        box.run("cernita-why", f"cernita-why log {verdict['lane']} {verdict['fruit_text']}", title)
        if (box.programs / "cernita-top").exists():
            box.run("cernita-top", f"cernita-top --once {address}", "fruits/s")
        box.run("cernitactl", "cernitactl --socket control status", "\nstate     running")
        box.run("cernitactl", "cernitactl --socket control recipes")
        box.run("cernitactl", "cernitactl --socket control reload")
        box.run("cernita-tail", "cernita-tail --log log --table", "3 ")
        box.run("cernitad", "cernitad --config line.yaml --print-config", "classes:")
    finally:
        for process in (daemon, grader):
            if process:
                process.send_signal(signal.SIGTERM)
                process.communicate()


def ask(address, path, body=None):
    request = urllib.request.Request(f"http://{address}{path}", body, {"X-Cernita-Workbench": "1"})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as fault:
        sys.exit(f"cernita-workbench refuses {path} {body[:200]}: {fault.read().decode()}")


def expect_workbench_commands(box):
    """Of every operator: the command line and the Python that the workbench prints for a job."""
    bench = subprocess.Popen([f"{box.programs}/cernita-workbench", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE,
                             text=True, env=box.environment)
    try:
        address = re.search(r"http://([\w.:]+)", bench.stdout.readline())[1]
        box.run("tools/apply/README.md", "cernita-apply diamond-square --exponent 6 --seed 7 field.png")
        field = ask(address, "/pictures?name=field.png", (box.folder / "field.png").read_bytes())["pictures"][0]["id"]
        operators = {one["name"] for one in ask(address, "/catalogue")["operators"]}
        if operators != set(JOBS):
            box.faults.append(f"run_commands.py has no job for {operators ^ set(JOBS)}")
        for name, options in JOBS.items():
            reads = name != "diamond-square"
            ending = "json" if name == "contours" else "tif"
            job = "\n".join([name, *options])
            answer = ask(address, f"/apply?out={ending}&job={name}{f'&in={field}' if reads else ''}", job.encode())
            box.run(f"the workbench's {name}", answer["command"])
            box.python(f"the workbench's Python of {name}", answer["python"])
    finally:
        bench.send_signal(signal.SIGTERM)
        bench.communicate()


SNIPPET_CHECK = """\
import ast, importlib, inspect, sys
import cernita
tree = ast.parse(open(sys.argv[1]).read())
ours = {}
for node in ast.walk(tree):
    if isinstance(node, ast.Import):
        names = [(one.name, None, one.asname or one.name) for one in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = [(node.module, one.name, one.asname or one.name) for one in node.names]
    else:
        continue
    for module, name, bound in names:
        if module.split(".")[0] in ("torch", "cupy", "jax", "skimage", "scipy", "cv2", "pywt"):
            continue
        found = importlib.import_module(module)
        ours[bound] = getattr(found, name) if name else found
ours.setdefault("cernita", cernita)
def value_of(node):
    if isinstance(node, ast.Name):
        return ours.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = value_of(node.value)
        return getattr(owner, node.attr) if owner is not None else None
for node in ast.walk(tree):
    if isinstance(node, ast.Attribute):
        value_of(node)
    called = value_of(node.func) if isinstance(node, ast.Call) else None
    if callable(called) and called.__module__.startswith("cernita"):
        inspect.signature(called).bind_partial(**{one.arg: None for one in node.keywords if one.arg})
"""


def expect_snippets(box, documents):
    """Python of the documents: its modules are there, and so is what it takes of them, with these arguments."""
    (box.folder / "check_snippet.py").write_text(SNIPPET_CHECK)
    for document in documents:
        text = document.read_text()
        for block in re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            where = f"{document.name}:{text.count(chr(10), 0, block.start()) + 2}"
            try:
                ast.parse(block[1])
            except SyntaxError as fault:
                box.faults.append(f"{document}: {fault}")
                continue
            (box.folder / "document.py").write_text(block[1])
            box.run(f"{document.parent.name}/{where}", "/usr/bin/python3 check_snippet.py document.py")


def main():
    programs, library = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    documents = [pathlib.Path(name).resolve() for name in sys.argv[3:]]
    with tempfile.TemporaryDirectory(prefix="cernita-commands-") as folder:
        box = Sandbox(folder, programs, library)
        if not documents:
            expect_live_commands(box)
            expect_workbench_commands(box)
            listed = subprocess.run(["git", "-C", TOP, "ls-files", "*.md"], capture_output=True, text=True, check=True)
            documents = [TOP / name for name in listed.stdout.split()]
        expect_snippets(box, documents)
    print(*box.faults, sep="\n", end="\n" if box.faults else "")
    print(f"{len(box.faults)} faults")
    return 1 if box.faults else 0


if __name__ == "__main__":
    sys.exit(main())
