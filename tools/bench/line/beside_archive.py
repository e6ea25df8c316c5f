#!/usr/bin/python3
"""Latency of a line without and with cernita-archive behind its log, by turns on the same cores.

    tools/bench/line/beside_archive.py --bin build/bin --recording u8.tif --cpus 1-3
    … --archive 'ARCHIVE' --archive 'chrt --idle 0 ARCHIVE' --archive 'nice -n 15 OTHER/bin/cernita-archive'

Each round is a run of `cernita-bench line --lanes` without an archive and one with each --archive, in an order that turns
from round to round. --archive is a command to which --follow and the folders are added; ARCHIVE is BIN's cernita-archive.
Prints a row per run, then medians: latency in ms from the last view's capture to the verdict, verdicts that were not
archived a second after the run, and the archive's CPU seconds. Exits 1 if a fruit was not complete or a run failed.
"""
import argparse
import json
import os
import pathlib
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time

LATENCIES = ("p50_ms", "p99_ms", "p999_ms")
WITHOUT = "without"


def write_config(path, source, log):
    """The line's file, with a verdict log."""
    text = pathlib.Path(source).read_text()
    if "\npublish:\n" not in text or "\n  log:" in text:
        sys.exit(f"{source}: needs a section publish without log")
    path.write_text(text.replace("\npublish:\n", f"\npublish:\n  log: {{dir: {json.dumps(str(log))}}}\n", 1))


def count_behind(archive, log, target):
    """Verdicts that a further run still has to archive."""
    told = subprocess.run([archive, "--from", log, "--to", target], check=True, stdout=subprocess.PIPE, text=True).stdout
    return int(told.split()[0])


def end(process):
    """Returns its CPU seconds."""
    process.send_signal(signal.SIGTERM)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"cernita-archive: exit status {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def measure(set_, folder, command):
    """One run; `command` is the archive's, or None."""
    log, target = folder / "log", folder / "line.sqlite"
    log.mkdir()
    write_config(folder / "line.yaml", set_.config, log)
    pin = ["taskset", "-c", set_.cpus] if set_.cpus else []
    archive = command and subprocess.Popen([*pin, *command, "--follow", "--from", log, "--to", target],
                                           stdout=subprocess.DEVNULL)
    ran = subprocess.run([*pin, set_.bin / "cernita-bench", "line", "--recording", set_.recording, "--config",
                          folder / "line.yaml", "--lanes", str(set_.lanes), "--rate", str(set_.rate), "--seconds",
                          str(set_.seconds), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if ran.returncode:
        sys.exit(f"cernita-bench: exit status {ran.returncode}: {ran.stderr}")
    row, = json.loads(ran.stdout.splitlines()[-1])["daemons"]
    made = {name: row[name] for name in LATENCIES} | {"incomplete": row["sent"] - row["complete"]}
    if archive:
        time.sleep(1)
        made["cpu_s"] = end(archive)
        made["behind"] = count_behind(set_.bin / "cernita-archive", log, target)
    return made


def show(name, row):
    print(f"{name:40} " + " ".join(f"{key} {row[key]:.3f}" for key in LATENCIES) + f" incomplete {row['incomplete']}" +
          (f" behind {row['behind']:.0f} cpu_s {row['cpu_s']:.2f}" if "behind" in row else ""), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/bin"))
    parser.add_argument("--recording", required=True)
    parser.add_argument("--config", default="config/line.yaml")
    parser.add_argument("--archive", action="append", help="a command; may be repeated")
    parser.add_argument("--cpus", help="of all programs, as taskset takes them")
    for name, value in (("lanes", 64), ("rate", 640), ("seconds", 20), ("rounds", 8)):
        parser.add_argument(f"--{name}", type=int, default=value)
    set_ = parser.parse_args()
    commands = {WITHOUT: None}
    for text in set_.archive or ["ARCHIVE"]:
        commands[text] = shlex.split(text.replace("ARCHIVE", str(set_.bin / "cernita-archive")))
    rows, names = {name: [] for name in commands}, list(commands)
    for nth in range(set_.rounds):
        for name in names[nth % len(names):] + names[:nth % len(names)]:
            with tempfile.TemporaryDirectory(prefix="cernita-beside-") as folder:
                rows[name].append(measure(set_, pathlib.Path(folder), commands[name]))
            show(name, rows[name][-1])
    print("medians")
    for name, some in rows.items():
        show(name, {key: statistics.median(row[key] for row in some) for key in some[0]})
    sys.exit(any(row["incomplete"] for some in rows.values() for row in some))


if __name__ == "__main__":
    main()
