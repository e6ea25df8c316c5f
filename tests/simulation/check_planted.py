#!/usr/bin/env python3
"""Plants bugs in the line, one line each, and shows that the simulation finds every one.

    tests/simulation/check_planted.py --build build-planted
    tests/simulation/check_planted.py --build build-planted --only lost_wake guard

Each bug is put into a copy of the tree, which is built there; seeds 1 to 10,000 run until one fails. It
prints the table of README.md: how many seeds were needed, and what the failure says. The exit status is
0 when each bug was found, and when the copy without a bug has no finding in the same seeds.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SEEDS = 10000
CMAKE = ["-GNinja", "-DCRN_CUDA=OFF", "-DCRN_DEBUG_INFO=-g0"]
TIMEOUT_S = 1800

# name: (kind, file, line as it is, line with the bug)
BUGS = {
    "lost_wake": (
        "lost wake-up: a finished view does not wake the line",
        "src/engine/worker.c",
        "        ring_done(self);\n    }\n    pthread_cleanup_pop",
        "        if (crn_worker_busy(self) < 2) ring_done(self);\n    }\n    pthread_cleanup_pop",
    ),
    "edge": (
        "lost edge: messages that wait are not looked for again",
        "src/line/line.c",
        "    *ret_more = true;\n    return 0;",
        "    *ret_more = false;\n    return 0;",
    ),
    "rearm": (
        "the engine's event is never reset: the loop spins",
        "src/line/line.c",
        "        crn_engine_rearm(line->engine);\n    line->is_engine_woken = false;",
        "        line->is_engine_woken = false;",
    ),
    "guard": (
        "time: verdicts leave at the deadline, without the guard",
        "src/fruit/fruit.c",
        "    int64_t due_ns = fruit->deadline_ns - entry->rules.guard_ns;",
        "    int64_t due_ns = fruit->deadline_ns;",
    ),
    "header_deadline": (
        "time: the last header deadline counts, not the earliest",
        "src/fruit/arrival.c",
        "    entry->header_deadline_ns = crn_fruit_min_ns(entry->header_deadline_ns, deadline_ns);",
        "    entry->header_deadline_ns = deadline_ns;",
    ),
    "straggler": (
        "memory: judged fruits are not remembered, so a straggler opens its fruit again",
        "src/fruit/judged.c",
        "    crn_hash_index_add(&judged->index, hash_of(judged, judged->next), judged->next);\n",
        "",
    ),
    "duplicate": (
        "a view that comes twice counts twice",
        "src/fruit/arrival.c",
        "    if (entry && entry->views[header->view].state != CRN_VIEW_ABSENT &&\n"
        "        entry->views[header->view].state != CRN_VIEW_REFUSED) {",
        "    if (entry && entry->views[header->view].state == CRN_VIEW_QUEUED) {",
    ),
    "late_result": (
        "leak: the result of a view whose fruit is judged is not released",
        "src/line/line.c",
        "        if (!wanted && output->status == 0)",
        "        if (!wanted && output->status < 0)",
    ),
    "slot_leak": (
        "leak: a discarded view keeps its slot",
        "src/line/line.c",
        "            crn_line_end_view(line, view);\n            continue;",
        "            continue;",
    ),
    "evicted": (
        "wrong data: a view's slot is given to another before it ran",
        "src/fruit/fruit.c",
        "    *ret_slot = entry->views[view].slot;\n    /* It was evicted",
        "    *ret_slot = entry->views[0].slot;\n    /* It was evicted",
    ),
    "ticket": (
        "race: a view that ends late is credited to the fruit that has its entry now",
        "src/fruit/fruit.c",
        "    if (!entry || entry->serial != ticket.serial || ticket.view",
        "    if (!entry || ticket.view",
    ),
    "twice": (
        "a verdict that was sent stays in the queue, and is sent again",
        "src/publish/backlog.c",
        "    pop(backlog);\n    if (!counted)",
        "    if (!counted)",
    ),
    "stale": (
        "a verdict past its deadline is not declared stale",
        "src/publish/publish.c",
        "        bool stale = now_ns > first->deadline_ns;",
        "        bool stale = now_ns > first->deadline_ns + CRN_NS_PER_S;",
    ),
    "dropped": (
        "a counter: verdicts that a full queue drops are not counted",
        "src/publish/publish.c",
        "    publish->stats.dropped += crn_backlog_push(publish->backlog, item);",
        "    crn_backlog_push(publish->backlog, item);",
    ),
    "doubt": (
        "unseen loss: what was sent just before the grader died counts as received",
        "src/publish/publish.h",
        "#define CRN_PUBLISH_DOUBT_NS (10 * CRN_NS_PER_S)",
        "#define CRN_PUBLISH_DOUBT_NS (1 * CRN_NS_PER_MS)",
    ),
    "order": (
        "order: a verdict overtakes those that wait",
        "src/publish/backlog.c",
        "    crn_waiting *end = &backlog->ring[(backlog->first + backlog->count) % backlog->capacity];",
        "    crn_waiting *end = &backlog->ring[(backlog->first + backlog->count + "
        "(backlog->count ? backlog->capacity - 1 : 0)) % backlog->capacity];",
    ),
    "interrupted": (
        "a call that is interrupted ends the line",
        "src/ingest/ingest.c",
        "            if (errno == EINTR)\n                continue;\n            return errno == EAGAIN",
        "            return errno == EAGAIN",
    ),
    "clock": (
        "clock: a fruit is given up by CLOCK_REALTIME, which may be set",
        "src/line/line.c",
        "    const crn_fruit *fruit;\n    int64_t now_ns = crn_now_ns();",
        "    const crn_fruit *fruit;\n    int64_t now_ns = crn_realtime_ns() - INT64_C(1769999000000000000);",
    ),
    "stop": (
        "end: a fruit that is not closed when the line stops gets no verdict",
        "src/line/line.c",
        "    return line->stopping && crn_fruits_open(line->fruits) == 0;",
        "    return line->stopping && crn_fruits_open(line->fruits) <= 1;",
    ),
    "log_cut": (
        "log: what follows a write that took a part alone overwrites it",
        "src/formats/verdict_log/writer.c",
        "        at += left;\n",
        "",
    ),
    "log_part": (
        "log: a write that took a part alone is taken for whole",
        "src/formats/verdict_log/writer.c",
        "        while (first < 2 && left >= parts[first].iov_len)",
        "        if (left > 0)\n            return 0;\n        while (first < 2 && left >= parts[first].iov_len)",
    ),
    "log_counter": (
        "a counter: verdicts for which the log's queue has no room are not counted",
        "src/recorder/verdict_log.c",
        "    count(&log->dropped);",
        "    count(&log->removed);",
    ),
    "kind": (
        "a fruit with a view that was lost is called complete",
        "src/fruit/verdict.c",
        "    if (fruit->judged < fruit->received || fruit->received < fruit->expected ||",
        "    if (fruit->received < fruit->expected ||",
    ),
}


def copy_tree(tree: Path) -> None:
    """Makes the copy what the tree is, and touches only files that differ, for a short build."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    names = {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}
    for old in [path for path in tree.rglob("*") if path.is_file() and str(path.relative_to(tree)) not in names]:
        old.unlink()
    for name in names:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        if not (tree / name).exists() or (tree / name).read_bytes() != (ROOT / name).read_bytes():
            shutil.copy(ROOT / name, tree / name)


def plant(tree: Path, bug) -> None:
    """Puts the bug into the copy."""
    _, name, before, after = bug
    text = (ROOT / name).read_text(encoding="utf-8")
    if text.count(before) != 1:
        sys.exit(f"{name}: {text.count(before)} times in it, once is wanted: {before}")
    (tree / name).write_text(text.replace(before, after), encoding="utf-8")


def restore(tree: Path, name: str) -> None:
    shutil.copyfile(ROOT / name, tree / name)


def build(tree: Path, folder: Path) -> None:
    if not (folder / "build.ninja").exists():
        subprocess.run(["cmake", "-S", tree, "-B", folder, *CMAKE], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", folder, "test_simulation"], check=True, stdout=subprocess.DEVNULL)


def search(folder: Path, seeds: int):
    """Returns the seed that found something, or None, and what it found."""
    run = subprocess.run(
        [folder / "bin" / "test_simulation"],
        env={"CRN_SEED": "1", "CRN_CASES": str(seeds)},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=TIMEOUT_S,
        check=False,
    )
    output = run.stdout + run.stderr
    seed = re.search(r"CRN_SEED=(\d+) CRN_CASES=1", output)
    text = re.search(r"ERROR: (after .*)", output) or re.search(r"test_simulation: (.*)", output)
    if run.returncode != 0 and not seed:
        return 0, output.strip().splitlines()[-1]
    return (int(seed[1]) if seed else None), (text[1] if text else "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="a folder for the copy and its build")
    parser.add_argument("--only", nargs="+", choices=BUGS, default=list(BUGS), help="these bugs")
    options = parser.parse_args()
    tree, folder = options.build.resolve() / "tree", options.build.resolve() / "build"
    copy_tree(tree)
    build(tree, folder)
    failed = 0
    seed, text = search(folder, SEEDS)
    if seed is not None:
        print(f"without a bug, seed {seed}: {text}")
        failed += 1
    print("| bug | in | seeds | found by |\n|---|---|---|---|", flush=True)
    for name in options.only:
        plant(tree, BUGS[name])
        build(tree, folder)
        seed, text = search(folder, SEEDS)
        restore(tree, BUGS[name][1])
        failed += seed is None
        print(f"| `{name}`: {BUGS[name][0]} | `{BUGS[name][1]}` | {seed or '**not found**'} | {text} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
