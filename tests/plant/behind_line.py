#!/usr/bin/python3
"""Outlets behind a running line: fruits of a recording on a belt, thrown off by cernita-sorter.

    tests/plant/behind_line.py --bin build/bin --recording fruits.tif --rules config/sorter-px.yaml

The line runs with config/line.yaml; its grader's port must be free. The recording is one of cernita-synth, at ten fruits
a second. The belt's position comes from the verdicts' encoder, the PLC and the ejectors are this program's. It prints
where the fruits went. Exit status 1: a fruit was fired at the wrong outlet, or the sorter's counts are not what happened.
"""
import argparse
import asyncio
import json
import logging
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import msgpack
import zmq
import zmq.asyncio

import check_plant
from plant import Fruit, Plant

SPEED, PITCH = 10000, 1000  # cernita-synth's counter: ticks a second; ticks between two fruits
DISTANCE, SPACING = 4000, 700  # of the first ejector from the camera; between ejectors
OUTLETS = ["again", "first", "second", "waste"]  # the belt's end is for what was not judged


class LineBelt:
    """The belt of a recording: known from its first verdict on."""

    start, offset = None, 0

    def align(self, encoder, captured):
        if self.start is None:
            self.start = captured - encoder / SPEED

    def position(self, at):
        return (at - self.start) * SPEED if self.start is not None else 0

    @staticmethod
    def speed_at(_):
        return SPEED


class LinePlant(Plant):
    outlets, half = OUTLETS, PITCH // 8

    def __init__(self):
        super().__init__(1, SPEED / PITCH, 0)
        self.belt = LineBelt()
        self.seen = {}  # fruit's number: (encoder, Fruit)

    def distance(self, outlet):
        return DISTANCE + SPACING * (outlet - 1)

    def find(self, lane, there):
        encoder, fruit = min(self.seen.values(), key=lambda one: abs(one[0] - there), default=(there, None))
        return fruit, there - encoder

    async def watch(self, endpoint):
        """Puts each fruit of the line on the belt, as its verdict says."""
        socket = zmq.asyncio.Context.instance().socket(zmq.SUB)
        socket.connect(endpoint)
        socket.subscribe(b"fruit/")
        while True:
            _, body = await socket.recv_multipart()
            verdict = msgpack.unpackb(body)
            captured = time.monotonic() - (time.time_ns() - verdict["captured_ns"]) / 1e9
            self.belt.align(verdict["encoder"], captured)
            self.seen[verdict["fruit"]] = (verdict["encoder"], Fruit(""))

    def take_decisions(self, lines):
        """What the sorter decided about each fruit; of one that is not in it nothing is known."""
        for line in lines:
            decision = json.loads(line)
            if decision.get("fruit") in self.seen:
                self.seen[decision["fruit"]][1].outlet = decision["name"]
        self.fruits = [[fruit for _, fruit in self.seen.values() if fruit.outlet]]


def settings(args, ports):
    rules = pathlib.Path(args.rules).read_text().split("\nrules:", 1)[1].split("\noutputs:", 1)[0]
    ejectors = "\n".join(f"  - {{outlet: {name}, distance: {DISTANCE + SPACING * at}, coil: {at}, pulse_ms: 15, input: {at}, "
                         "confirm_ms: 500}" for at, name in enumerate(OUTLETS[1:]))
    return (f"line: {{endpoint: '{args.grader}', page: '{args.page}'}}\n"
            f"outlets: {{names: [{', '.join(OUTLETS)}], default: first, late: again, partial: rules, silence: again, "
            f"unmeasured: again}}\nrules:{rules}\n"
            f"outputs: {{stdout: {{format: json}}, modbus_client: {{address: '127.0.0.1:{ports['plc']}', timeout_ms: 2000}}}}\n"
            f"monitor: {{http: '127.0.0.1:{ports['http']}'}}\n"
            f"firing: {{source: views, speed_max: {2 * SPEED}, age_ms: 1000, tolerance: {PITCH // 10}}}\n"
            f"ejectors:\n{ejectors}\n")


async def run(args, folder):
    plant = LinePlant()
    ports = {name: check_plant.free_port() for name in ("plc", "http")}
    path, log = folder / "outlets.sorter.yaml", folder / "decisions"
    path.write_text(settings(args, ports))
    tasks = [asyncio.create_task(plant.serve_plc(ports["plc"])), asyncio.create_task(plant.watch(args.viewers))]
    programs = pathlib.Path(args.bin)
    with log.open("w") as out:
        sorter = subprocess.Popen([programs / "cernita-sorter", "--config", path], stdout=out)
    try:
        await check_plant.wait_for(ports["http"], lambda text: 'line_state{state="running"} 1' in text
                                   and check_plant.sample(text, "cernita_sorter_plc_connected") == 1)
        replay = await asyncio.create_subprocess_exec(programs / "cernita-replay", args.recording, "--to", args.to)
        if await replay.wait() != 0:
            sys.exit("cernita-replay failed")
        text = await check_plant.wait_for(ports["http"], check_plant.is_settled)
    finally:
        sorter.send_signal(signal.SIGTERM)
        await asyncio.to_thread(sorter.wait)
    tasks[1].cancel()
    await plant.stop_plc()
    plant.take_decisions(log.read_text().splitlines())
    return plant, check_plant.counts(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of the programs")
    parser.add_argument("--recording", required=True, help="of cernita-synth")
    parser.add_argument("--rules", required=True, help="a sorter's file with outlets first, second and waste")
    parser.add_argument("--to", default="tcp://127.0.0.1:5555", help="the line's port for views")
    parser.add_argument("--grader", default="tcp://127.0.0.1:5556", help="the line's port for its grader")
    parser.add_argument("--viewers", default="tcp://127.0.0.1:5557", help="the line's port for viewers")
    parser.add_argument("--page", default="", help="the line's live page, which then shows the outlets")
    args = parser.parse_args()
    logging.disable(logging.ERROR)  # pymodbus logs the end of each connection
    with tempfile.TemporaryDirectory() as folder:
        plant, told = asyncio.run(run(args, pathlib.Path(folder)))
    table = plant.settle()
    check_plant.print_table(plant, table, told)
    faults = check_plant.find_faults(plant, table, told)
    for fault in faults:
        print(f"FAILED: {fault}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
