#!/usr/bin/python3
"""Runs each target of libFuzzer for so many seconds, and appends what it did to tests/fuzz/TOTALS.md.

    tests/fuzz/run_fuzz.py SECONDS --bin build-fuzz/bin [--only NAME…] [--work build-fuzz/corpus] [--append]

The corpus of a target stays in --work/NAME from run to run; at first it has what seeds() makes. What a target finds stays in
--work/NAME-finds. Prints the rows; exit status 0 if nothing was found.
"""
import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import zlib

import numpy as np
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOTALS = ROOT / "tests/fuzz/TOTALS.md"
sys.path.insert(0, str(ROOT / "tools/python"))
from cernita._line.wire import pack_header  # noqa: E402

# Longest input that a target draws.
LENGTHS = {"fuzz_wire": 200, "fuzz_hello": 128, "fuzz_rules": 512, "fuzz_zap": 512}
LENGTH = 8192

VERDICT = {"v": 1, "run": "18a1b2c3d4e5f607", "settings": "0123456789abcdef", "recipe": "", "lane": 0, "epoch": 1, "fruit": 7,
           "sequence": 3, "stale": False, "encoder": 0, "captured_ns": 1, "published_ns": 2, "deadline_ns": 3,
           "verdict": "partial", "views_expected": 2, "views_received": 1, "views_judged": 1, "skipped": ["ranklet"],
           "truncated": False, "budget_ms": 100, "latency_ms": {"queue": 0.5, "contours": 1.5, "total": 2.5},
           "view_states": [{"view": 0, "state": "judged", "reason": ""}, {"view": 1, "state": "missing", "reason": ""}],
           "totals": {"rot": {"count": 1, "area_px": 12.5}},
           "defects": [{"view": 0, "class": "rot", "level": 0.5, "closed": True, "hole": False, "parent": -1, "area_px": 12.5,
                        "perimeter_px": 14, "bbox": [0, 0, 4, 4], "centroid": [2, 2], "mean_probability": 0.75,
                        "xy": [[0, 0], [4, 0], [4, 4]]}]}


def png():
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    rows = b"".join(b"\0" + bytes(range(y, y + 8)) for y in range(8))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)) + \
        chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def pictures(folder):
    """PNG, and TIFF, JPEG and .npy by programs that a machine for tests has."""
    yield png()
    np.save(folder / "0.npy", np.zeros((4, 6), np.float32))
    import tifffile
    tifffile.imwrite(folder / "0.tif", np.arange(48, dtype=np.uint8).reshape(6, 8))
    tifffile.imwrite(folder / "1.tif", np.zeros((2, 6, 8), np.float32), compression="zlib")
    try:
        from PIL import Image
        Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8)).save(folder / "0.jpg")
    except ImportError: # the fuzzer finds the format by itself, in more time
        pass


def recordings(folder, programs):
    subprocess.run([programs / "cernita-synth", "--fruits", "1", "--views", "2", "--size", "16x12", "--classes", "3",
                    folder / "0.tif"], check=True, stdout=subprocess.DEVNULL)
    return []


def verdict_log():
    text = json.dumps(VERDICT).encode()
    head = struct.pack("<II", len(text), 0)
    record = head + struct.pack("<I", zlib.crc32(text, zlib.crc32(head))) + text
    yield b"CRNV" + struct.pack("<HHQ", 1, 16, 1) + 2 * record


def hellos():
    for size in (24, 40, 128): # a reference, a hello, an answer
        yield (b"CRNS" + struct.pack("<HHIQ", 1, 0, 4, 65536) + bytes(size))[:size]


def messages():
    maps = np.zeros((4, 6, 12), np.float32)
    header = pack_header(maps, layout="hwc", classes=["c%d" % i for i in range(12)], intensity=False, lane=0, epoch=1, sequence=2,
                         fruit=3, view=0, views=4, captured_ns=0, deadline_ns=0, encoder=0)
    yield bytes([2, 0]) + header


def rules():
    for name in ("sorter.yaml", "sorter-px.yaml"):
        for rule in yaml.safe_load((ROOT / "config" / name).read_text()).get("rules", []):
            yield str(rule.get("when", "")).encode()
    yield b'any(rot, area_mm2 > 50 and not length_mm > 10) or "fresh hail".area_percent >= 5'


def requests():
    key = bytes(range(32))
    frames = [b"1.0", b"1", b"views", b"10.0.0.1#7", b"", b"CURVE", key]
    yield b"".join(bytes([len(frame)]) + frame for frame in frames[:-1]) + key


def seeds(target, folder, programs):
    """Puts the first inputs of a target's corpus there."""
    made = {"fuzz_wire": messages, "fuzz_picture": lambda: pictures(folder), "fuzz_verdict_log": verdict_log,
            "fuzz_recording": lambda: recordings(folder, programs), "fuzz_hello": hellos, "fuzz_rules": rules,
            "fuzz_verdict": lambda: [json.dumps(VERDICT).encode()], "fuzz_zap": requests,
            "fuzz_config": lambda: [path.read_bytes() for pattern in ("config/line*.yaml", "tests/data/config/*.yaml")
                                    for path in sorted(ROOT.glob(pattern))]}.get(target, list)
    for number, data in enumerate(made()):
        (folder / f"seed-{number}").write_bytes(data)


def fuzz(program, seconds, work):
    """The target's row, and whether nothing was found."""
    corpus, finds = work / program.name, work / f"{program.name}-finds"
    finds.mkdir(parents=True, exist_ok=True)
    if not corpus.exists():
        corpus.mkdir()
        seeds(program.name, corpus, program.parent)
    done = subprocess.run(
        [program, f"-max_total_time={seconds}", f"-max_len={LENGTHS.get(program.name, LENGTH)}", "-timeout=20",
         "-rss_limit_mb=4096", "-malloc_limit_mb=65536", "-print_final_stats=1", f"-artifact_prefix={finds}/", corpus],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", check=False,
        env=os.environ | {"ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1"})
    (work / f"{program.name}.log").write_text(done.stderr)
    executions = re.search(r"stat::number_of_executed_units: (\d+)", done.stderr)
    edges = re.findall(r"cov: (\d+)", done.stderr)
    found = "nothing" if done.returncode == 0 else next(
        (text for text in done.stderr.splitlines() if "ERROR" in text or "runtime error" in text), f"status {done.returncode}")
    revision = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short=8", "HEAD"], check=True, capture_output=True,
                              text=True).stdout.strip()
    row = f"| {datetime.date.today()} | {revision} | `{program.name}` | {seconds} | " \
          f"{int(executions[1]) if executions else 0:,} | {edges[-1] if edges else 0} | {found} |"
    return row, done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=int)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build-fuzz/bin")
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build-fuzz/corpus")
    parser.add_argument("--append", action="store_true", help="adds the rows to TOTALS.md")
    parser.add_argument("--together", type=int, default=os.cpu_count())
    options = parser.parse_args()
    programs = sorted(path.resolve() for path in options.bin.glob("fuzz_*")
                      if not options.only or path.name in options.only)
    with concurrent.futures.ThreadPoolExecutor(options.together) as pool:
        results = list(pool.map(lambda program: fuzz(program, options.seconds, options.work.resolve()), programs))
    rows = "".join(f"{row}\n" for row, _ in results)
    print(rows, end="")
    if options.append:
        with open(TOTALS, "a") as file:
            file.write(rows)
    failed = sum(not good for _, good in results)
    print(f"{len(results) - failed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0 or not results)


if __name__ == "__main__":
    main()
