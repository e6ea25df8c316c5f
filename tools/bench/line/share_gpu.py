#!/usr/bin/env python3
"""Latency of a line beside another process that computes on the same GPU, with and without MPS.

    tools/bench/line/share_gpu.py --bin build/bin [--only mps] [--fruits 1536] [--rate 160]

The other process multiplies square matrices with PyTorch, one product after the other, as a CNN
does. Prints a row per case: the length of one product, latencies in ms from the fruit's close to
its verdict, verdicts that were not complete, views that ran on the GPU, and whether the device was
lost. Starts MPS servers of its own (nvidia-cuda-mps-control), in a folder of its own.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

LOAD = """
import sys, torch
name, side = sys.argv[1], int(sys.argv[2])
torch.backends.cuda.matmul.allow_tf32 = False
a, b = (torch.randn(side, side, device="cuda", dtype=getattr(torch, name)) for _ in "ab")
c = a @ b
begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
torch.cuda.synchronize(); begin.record(); torch.matmul(a, b, out=c); end.record(); torch.cuda.synchronize()
print("%.1f" % begin.elapsed_time(end), flush=True)
while True:
    for _ in range(4):
        torch.matmul(a, b, out=c)
    torch.cuda.synchronize()
"""

# Name; MPS for the load and for the daemon; type and side of the load's matrices; its share of the SMs, in per cent.
CASES = [
    ("alone", False, False, None, 0, 0),
    ("bfloat16 8192", False, False, "bfloat16", 8192, 0),
    ("bfloat16 8192, mps", True, True, "bfloat16", 8192, 0),
    ("bfloat16 8192, mps 80 %", True, True, "bfloat16", 8192, 80),
    ("bfloat16 16384", False, False, "bfloat16", 16384, 0),
    ("bfloat16 16384, mps", True, True, "bfloat16", 16384, 0),
    ("bfloat16 16384, mps 80 %", True, True, "bfloat16", 16384, 80),
    ("float32 8192", False, False, "float32", 8192, 0),
    ("float32 8192, mps", True, True, "float32", 8192, 0),
    ("float32 8192, mps 80 %", True, True, "float32", 8192, 80),
    ("float32 8192, mps without cernitad", True, False, "float32", 8192, 0),
    ("float32 16384, mps", True, True, "float32", 16384, 0),
    ("float32 16384, mps 80 %", True, True, "float32", 16384, 80),
]


def environment(folder, mps, percent=0):
    """The environment of a process that uses the MPS server of this folder, or none."""
    result = dict(os.environ, CUDA_MPS_PIPE_DIRECTORY=str(folder / ("mps" if mps else "no-mps")),
                  CUDA_MPS_LOG_DIRECTORY=str(folder / "mps-log"))
    if percent:
        result["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = str(percent)
    return result


def control_mps(folder, command):
    subprocess.run(["nvidia-cuda-mps-control"] + (["-d"] if command is None else []), input=command, text=True,
                   env=environment(folder, True), check=command is None, stdout=subprocess.DEVNULL)


def wait_for(path, text, process):
    while text not in path.read_text():
        if process.poll() is not None:
            sys.exit(f"share_gpu.py: it ended before it was ready; see {path}:\n{path.read_text()}")
        time.sleep(0.05)


def write_line(config, folder):
    """The configuration, with sockets in the folder, no page and the GPU for every view."""
    text = config.read_text()
    for port, name in (("5555", "in"), ("5556", "out"), ("5557", "viewers")):
        text = text.replace(f"tcp://127.0.0.1:{port}", f"ipc://{folder}/{name}")
    path = folder / "line.yaml"
    path.write_text(text + '\nmonitor: {http: ""}\n')
    return path


def run_line(args, folder, mps):
    """Runs one daemon; returns its verdicts and its log."""
    log, verdicts = folder / "log", folder / "verdicts"
    line = write_line(args.config, folder)
    with log.open("w") as out, verdicts.open("w") as lines:
        daemon = subprocess.Popen([args.bin / "cernitad", "--config", line, "--backend", "cuda"], stderr=out,
                                  env=environment(folder.parent, mps))
        wait_for(log, "ready:", daemon)
        grader = subprocess.Popen([args.bin / "cernita-tail", "--grader", "--json", "--count", str(args.fruits),
                                   "--timeout", "5", f"ipc://{folder}/out"], stdout=lines, stderr=subprocess.DEVNULL)
        wait_for(log, "a grader connected", daemon)
        loops = args.fruits // 96
        subprocess.run([args.bin / "cernita-replay", "--to", f"ipc://{folder}/in", "--rate", str(args.rate / 10),
                        "--loop", str(loops), folder.parent / "recording.tif"], check=True, stdout=subprocess.DEVNULL)
        grader.wait()
        daemon.terminate()
        daemon.wait()
    return [json.loads(text) for text in verdicts.read_text().splitlines()], log.read_text()


def run_case(args, folder, case):
    name, load_mps, daemon_mps, kind, side, percent = case
    mine = folder / name.replace(" ", "_").replace("%", "percent").replace(",", "")
    mine.mkdir()
    load, product = None, "-"
    if load_mps:
        control_mps(folder, None)
    try:
        if kind:
            times = mine / "load"
            with times.open("w") as out:
                load = subprocess.Popen([sys.executable, "-c", LOAD, kind, str(side)], stdout=out, stderr=out,
                                        env=environment(folder, load_mps, percent))
            wait_for(times, "\n", load)
            product = times.read_text().split()[0]
        verdicts, log = run_line(args, mine, daemon_mps)
    finally:
        if load:
            load.kill()
            load.wait()
        if load_mps:
            control_mps(folder, "quit\n")
    total = sorted(verdict["latency_ms"]["total"] for verdict in verdicts)
    at = [total[min(len(total) - 1, int(share * len(total)))] for share in (0.5, 0.99, 0.999, 1)] if total else [-1] * 4
    on_device = sum(view.get("backend") == "cuda" for verdict in verdicts for view in verdict["view_states"])
    bad = sum(verdict["verdict"] != "complete" for verdict in verdicts)
    print(f"{name:36} {product:>7} " + " ".join(f"{ms:7.2f}" for ms in at) +
          f" {bad:5} {on_device:6} {'lost' if ' lost: ' in log else ''}", flush=True)
    for text in log.splitlines() if args.log else []:
        if "device" in text:
            print("    " + text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/bin"), help="folder of the programs")
    parser.add_argument("--config", type=pathlib.Path, default=pathlib.Path("config/line-full.yaml"))
    parser.add_argument("--fruits", type=int, default=1536, help="of four views, a multiple of 96")
    parser.add_argument("--rate", type=float, default=160, help="fruits per second")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--log", action="store_true", help="print what the daemon's log says of the device, too")
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="share_gpu."))
    try:
        subprocess.run([args.bin / "cernita-synth", "--fruits", "96", folder / "recording.tif"], check=True,
                       stdout=subprocess.DEVNULL)
        print(f"{'case':36} product     p50     p99   p99.9     max   bad on GPU")
        for case in CASES:
            if args.only in case[0]:
                run_case(args, folder, case)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
