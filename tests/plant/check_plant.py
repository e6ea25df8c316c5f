#!/usr/bin/python3
"""cernita-sorter before a plant in real time: every fruit into its outlet, by the tick.

    tests/plant/check_plant.py --bin build/bin --counts-only         20 fruits: for a machine of any load
    tests/plant/check_plant.py --bin build/bin --fruits 20000 --lanes 8 --rate 10
    tests/plant/check_plant.py --bin build/bin --fruits 20000 --lanes 8 --rate 10 --mqtt

It prints where the fruits went and how far from the right tick each coil was written, in ms of belt travel. Exit status
1: a fruit was fired at the wrong outlet, or the sorter's counts are not what happened. With --counts-only, as a machine
that has too much to do holds up belt, PLC and sorter for any time: a fruit was not counted, or was without a coil.
"""
import argparse
import asyncio
import collections
import logging
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

import msgpack
import zmq.asyncio

from plant import HALF, OUTLETS, PITCH, WIDTH, Plant, grader_socket, quantile

BROKER = "/usr/sbin/mosquitto"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def settings(plant, ports, endpoint, mqtt, age_ms, log):
    period_ms = 1000 / plant.rate
    lines = [
        f"line: {{endpoint: '{endpoint}', late_ms: 60000}}",
        "outlets: {names: [" + ", ".join(OUTLETS) + "], default: end, late: end, partial: rules, silence: end, "
        "unmeasured: end}",
        "rules:",
        "  - {outlet: waste, when: rot.area_px > 50}",
        "  - {outlet: second, when: rot.area_px > 30}",
        "  - {outlet: first, when: rot.area_px > 10}",
        "outputs:",
        f"  log: {{dir: '{log}'}}",
        f"  modbus_client: {{address: '127.0.0.1:{ports['plc']}', timeout_ms: 5000}}",
        f"monitor: {{http: '127.0.0.1:{ports['http']}'}}",
        f"firing: {{source: {'mqtt' if mqtt else 'modbus'}, width: {WIDTH}, speed_max: {2 * plant.belt.speed},",
        f"         stop_ms: 50, age_ms: {age_ms}, tolerance: {HALF // 2}",
    ]
    if mqtt:
        lines[8] += f"\n  mqtt: {{broker: '127.0.0.1:{ports['broker']}'}}"
        lines[-1] += ", topic: plant/belt, confirm_topic: plant/seen"
    lines[-1] += "}"
    lines.append("ejectors:")
    for lane in range(plant.lanes):
        for outlet in range(1, len(OUTLETS)):
            at = plant.ejector(lane, outlet)
            lines.append(f"  - {{outlet: {OUTLETS[outlet]}, lane: {lane}, distance: {plant.distance(outlet)}, coil: {at}, "
                         f"pulse_ms: {round(period_ms / 6)}, confirm_ms: {round(9 * period_ms)}"
                         + ("" if mqtt else f", input: {at}") + "}")
    return "\n".join(lines) + "\n"


class Broker:
    """mosquitto, and the plant's own client."""

    def __init__(self, folder, port):
        import paho.mqtt.client
        path = folder / "broker.conf"
        path.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
        self.process = subprocess.Popen([BROKER, "-c", path], stderr=subprocess.DEVNULL)
        self.client = paho.mqtt.client.Client()
        while True:
            try:
                self.client.connect("127.0.0.1", port)
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
        self.client.loop_start()
        self.unreadable = [("plant/belt", "12"), ("plant/belt", "12 34 5"), ("plant/belt", "now 34"), ("plant/belt", ""),
                           ("plant/belt", f"12 {time.time_ns() + 10 ** 12}"), ("plant/belt", "1" * 200),
                           ("plant/seen", "0 nowhere"), ("plant/seen", "waste"), ("plant/seen", "0 waste now")]

    async def tell_positions(self, plant):
        while True:
            now, now_ns = time.monotonic(), time.time_ns()
            self.client.publish("plant/belt", f"{plant.belt.counter(now)} {now_ns}")
            await asyncio.sleep(0.005)

    async def check_unreadable(self, port):
        """Each of these is counted, and does no harm."""
        for count, message in enumerate(self.unreadable, 1):
            self.client.publish(*message)
            await wait_for(port, lambda text, count=count: sample(
                text, "cernita_sorter_firing_messages_unreadable_total") == count)

    def confirm(self, lane, outlet):
        self.client.publish("plant/seen", f"{lane} {outlet}")

    def close(self):
        self.client.loop_stop()
        self.process.terminate()
        self.process.wait()


def metrics(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        return answer.read().decode()


def sample(text, name):
    return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.M).group(1))


def counts(text):
    pattern = r'^cernita_sorter_firings_total\{outlet="(\w+)",result="(\w+)"\} (\d+)$'
    table = {}
    for outlet, result, number in re.findall(pattern, text, re.M):
        table.setdefault(outlet, {})[result] = int(number)
    return table


def counts_of_log(log):
    """The same, of the log of outcomes; a fruit that it tells twice is a KeyError."""
    outlets, table = {}, {}
    for path in sorted(log.iterdir()):
        if path.suffix != ".verdicts":
            continue
        data = path.read_bytes()
        at = struct.unpack_from("<H", data, 6)[0]
        while at < len(data):
            size, = struct.unpack_from("<I", data, at)
            entry = msgpack.unpackb(data[at + 12:at + 12 + size])
            fruit = entry["run"], entry["lane"], entry["sequence"]
            if "outcome" in entry:
                outlets[fruit] = entry["outlet"]
            else:
                table.setdefault(outlets.pop(fruit), collections.Counter())[entry["result"]] += 1
            at += 12 + size
    return table


async def wait_for(port, condition):
    """The metrics once that holds; the sorter renews them ten times a second."""
    while True:
        try:
            text = await asyncio.to_thread(metrics, port)
            if condition(text):
                return text
        except OSError:
            pass
        await asyncio.sleep(0.05)


def is_settled(text):
    table = counts(text)
    return sample(text, "cernita_sorter_firing_waiting") == 0 and all(
        one["fired"] == one["confirmed"] + one["missed"] for one in table.values())


async def run(args, folder):
    plant = Plant(args.lanes, args.rate, args.seed)
    ports = {name: free_port() for name in ("plc", "http", "broker")}
    grader, endpoint = grader_socket()
    broker = Broker(folder, ports["broker"]) if args.mqtt else None
    path = folder / "plant.sorter.yaml"
    log = folder / "outcomes"
    log.mkdir()
    path.write_text(settings(plant, ports, endpoint, args.mqtt, 30000 if args.counts_only else 50, log))
    tasks = [asyncio.create_task(plant.serve_plc(ports["plc"]))]
    if broker:
        plant.confirm = broker.confirm
        tasks.append(asyncio.create_task(broker.tell_positions(plant)))
    sorter = subprocess.Popen([pathlib.Path(args.bin) / "cernita-sorter", "--config", path])
    try:
        await wait_for(ports["http"], lambda text: sample(text, "cernita_sorter_belt_known") == 1)
        if broker:
            await broker.check_unreadable(ports["http"])
        await plant.run_line(grader, args.fruits)
        text = await wait_for(ports["http"], is_settled)
    finally:
        sorter.send_signal(signal.SIGTERM)
        await asyncio.to_thread(sorter.wait)
        if broker:
            broker.close()
    for task in tasks[1:]:
        task.cancel()
    await plant.stop_plc()
    return plant, counts(text), counts_of_log(log)


def print_table(plant, table, told):
    keys = ("fired", "confirmed", "missed", "too_late", "lost")
    print(f"{'fruits for':12}" + "".join(f"{'in ' + name:>12}" for name in plant.outlets)
          + "".join(f"{key.replace('_', ' '):>11}" for key in keys))
    for name in plant.outlets:
        one = told.get(name)
        print(f"{name:12}" + "".join(f"{table[name][place]:12}" for place in plant.outlets)
              + ("".join(f"{one[key]:11}" for key in keys) if one else ""))
    errors = [abs(error) for error in plant.errors_ms]
    print(f"{plant.pulses} coils; |written - right tick| in ms of belt travel: p50 {quantile(errors, 0.5):.3f}, "
          f"p99 {quantile(errors, 0.99):.3f}, max {max(errors, default=0):.3f}")


def find_lost_counts(plant, table, told):
    """What is wrong whatever the time that things take."""
    faults = []
    for name, one in told.items():
        meant = sum(table[name].values())
        if one["fired"] + one["too_late"] + one["lost"] != meant:
            faults.append(f"{name}: {meant} fruits, but told of {one}")
    if sum(one["fired"] for one in told.values()) > plant.pulses:
        faults.append(f"{plant.pulses} coils were written, but told of {told}")
    return faults


def find_unlogged(told, logged):
    """What the log of outcomes says otherwise."""
    return [f"{name}: told of {one}, but logged {dict(logged.get(name, {}))}" for name, one in told.items()
            if any(logged.get(name, {}).get(key, 0) != one[key] for key in ("confirmed", "missed", "too_late", "lost"))]


def find_faults(plant, table, told):
    """What is not as it should be."""
    faults = find_lost_counts(plant, table, told)
    for name, one in told.items():
        if one["confirmed"] != table[name][name]:
            faults.append(f"{name}: {table[name][name]} ejected, but told of {one}")
    wrong = sum(table[name][place] for name in table for place in plant.outlets[1:] if place != name)
    if wrong:
        faults.append(f"{wrong} fruits were fired at the wrong outlet")
    fired = sum(one["fired"] for one in told.values())
    if fired != plant.pulses or not fired:
        faults.append(f"{plant.pulses} coils were written, but told of {fired}")
    if sum(one["unexpected"] for one in told.values()):
        faults.append(f"fruits were seen that were not fired: {told}")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of the programs")
    parser.add_argument("--fruits", type=int, default=20)
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("--rate", type=float, default=4.0, help="fruits a second in each lane")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--counts-only", action="store_true", help="see above")
    parser.add_argument("--mqtt", action="store_true", help="positions and confirmations by a broker")
    args = parser.parse_args()
    logging.disable(logging.ERROR)  # pymodbus logs the end of each connection
    with tempfile.TemporaryDirectory() as folder:
        plant, told, logged = asyncio.run(run(args, pathlib.Path(folder)))
    table = plant.settle()
    print_table(plant, table, told)
    faults = (find_lost_counts if args.counts_only else find_faults)(plant, table, told) + find_unlogged(told, logged)
    for fault in faults:
        print(f"FAILED: {fault}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
