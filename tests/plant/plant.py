"""A plant in real time: a belt with fruits on it, its counter, ejectors and light barriers, and the PLC that has them
at its registers and coils, by pymodbus. It plays the line, too: each fruit gets a verdict some time after its camera.

What happened to each fruit is known here, so that it can be compared with what a sorter says.
"""
import asyncio
import dataclasses
import gc
import json
import math
import random
import time

import zmq
import zmq.asyncio
from pymodbus.datastore import ModbusServerContext, ModbusSlaveContext
from pymodbus.datastore.store import BaseModbusDataBlock
from pymodbus.server import ServerAsyncStop, StartAsyncTcpServer

OUTLETS = ["end", "waste", "second", "first"]  # the first has no ejector: the belt's end
AREAS = {"end": 0, "waste": 60, "second": 40, "first": 20}  # px² of rot, for the rules
PITCH = 400  # ticks between two fruits of a lane
HALF = 60  # of a fruit's length
DISTANCE, SPACING = 600, 300  # of the first ejector from the camera; between ejectors
BARRIER_S = 0.06  # from an ejector to its light barrier, at ten fruits a second
WIDTH = 16  # of the counter
SHOWN = 0.4  # of a fruit's time, in which its light barrier is dark


@dataclasses.dataclass
class Fruit:
    outlet: str  # that it is for
    place: str = ""  # where it went: an outlet; empty: it is on the belt, or left it at its end


class Belt:
    """Its speed swings by ± 30 % around `rate` fruits a second and lane."""

    def __init__(self, rate):
        self.speed = rate * PITCH
        self.swing = 0.3
        self.omega = 2 * math.pi / 7
        self.start = time.monotonic()
        self.offset = 65000 - PITCH

    def position(self, at):
        t = at - self.start
        return self.speed * (t + self.swing / self.omega * (1 - math.cos(self.omega * t)))

    def speed_at(self, at):
        return self.speed * (1 + self.swing * math.sin(self.omega * (at - self.start)))

    def time_of(self, position):
        """Newton's method: the speed is never 0."""
        at = self.start + position / self.speed
        for _ in range(20):
            at -= (self.position(at) - position) / self.speed_at(at)
        return at

    def counter(self, at):
        return int(self.position(at) + self.offset) & ((1 << WIDTH) - 1)


class Block(BaseModbusDataBlock):
    """Registers, coils or inputs, as two functions have them."""

    def __init__(self, read, write=None):
        self.read, self.write = read, write
        self.values = {}
        self.address, self.default_value = 0, 0

    def validate(self, address, count=1):
        return address + count <= 65536

    def getValues(self, address, count=1):  # pylint: disable=invalid-name
        return [self.read(at) for at in range(address, address + count)]

    def setValues(self, address, values):  # pylint: disable=invalid-name
        for at, value in enumerate(values if isinstance(values, list) else [values], address):
            self.write(at, value)


class Plant:
    outlets, half = OUTLETS, HALF

    def __init__(self, lanes, rate, seed):
        self.lanes, self.rate = lanes, rate
        self.chance = random.Random(seed)
        self.belt = Belt(rate)
        self.fruits = [[] for _ in range(lanes)]
        self.coil = {}  # address: time at which it was written on
        self.barriers = {}  # input: [begin, end] of its darkness
        self.errors_ms = []  # of each coil against the tick at which its fruit is at the ejector
        self.pulses = 0
        self.confirm = None  # called with lane and outlet, by MQTT

    # --- places ---

    def ejector(self, lane, outlet):
        return lane * (len(self.outlets) - 1) + outlet - 1

    def distance(self, outlet):
        return DISTANCE + SPACING * (outlet - 1)

    def camera(self, lane, number):
        """The belt's position at which that fruit is before the camera."""
        return (number + 1) * PITCH + lane * 31

    # --- PLC ---

    def read_register(self, address):
        return self.belt.counter(time.monotonic()) if address == 0 else 0

    def read_input(self, address):
        begin, end = self.barriers.get(address, (0, 0))
        return 1 if begin <= time.monotonic() < end else 0

    def write_coil(self, address, on):
        now = time.monotonic()
        if on and address not in self.coil:
            self.coil[address] = now
            self.eject(address, now)
        elif not on:
            self.coil.pop(address, None)

    def find(self, lane, there):
        """The fruit of a lane that left the camera nearest to a position of the belt, and by how much it is off."""
        number = round((there - self.camera(lane, 0)) / PITCH)
        off = there - self.camera(lane, number)
        return (self.fruits[lane][number] if 0 <= number < len(self.fruits[lane]) else None), off

    def eject(self, address, now):
        """Throws off what is before the ejector."""
        lane, outlet = address // (len(self.outlets) - 1), address % (len(self.outlets) - 1) + 1
        fruit, off = self.find(lane, self.belt.position(now) - self.distance(outlet))
        self.pulses += 1
        self.errors_ms.append(1000 * off / self.belt.speed_at(now))
        if not fruit or abs(off) > self.half or fruit.place:
            return
        fruit.place = self.outlets[outlet]
        begin = now + BARRIER_S * 10 / self.rate
        self.barriers[address] = (begin, begin + SHOWN / self.rate)
        if self.confirm:
            asyncio.get_running_loop().call_later(begin - now, self.confirm, lane, fruit.place)

    async def serve_plc(self, port):
        gc.disable()  # its pauses would be the PLC's
        store = ModbusSlaveContext(hr=Block(self.read_register), ir=Block(self.read_register),
                                   di=Block(self.read_input),
                                   co=Block(lambda at: int(at in self.coil), self.write_coil), zero_mode=True)
        await StartAsyncTcpServer(context=ModbusServerContext(slaves=store, single=True), address=("127.0.0.1", port))

    @staticmethod
    async def stop_plc():
        await ServerAsyncStop()

    # --- line ---

    def verdict(self, lane, number, captured):
        fruit = self.fruits[lane][number]
        realtime_ns = time.time_ns() - round((time.monotonic() - captured) * 1e9)
        return json.dumps({
            "v": 1, "run": "plant", "lane": lane, "fruit": number, "sequence": number, "verdict": "complete",
            "stale": False, "deadline_ns": 0, "encoder": self.belt.counter(captured), "captured_ns": realtime_ns,
            "totals": {"rot": {"count": 1, "area_px": AREAS[fruit.outlet]}}}).encode()

    async def run_line(self, socket, fruits):
        """Lets so many fruits pass the camera; each verdict is sent some time later."""
        first = math.ceil(self.belt.position(time.monotonic()) / PITCH) + 1
        for lane in range(self.lanes):  # of the fruits before nobody knows
            self.fruits[lane] = [Fruit(OUTLETS[0], "unseen") for _ in range(first)]
        sequence, due = [0] * self.lanes, []
        while any(len(lane) < first + fruits // self.lanes for lane in self.fruits) or due:
            now = time.monotonic()
            for lane in range(self.lanes):
                number = len(self.fruits[lane])
                at = self.belt.time_of(self.camera(lane, number))
                if at > now or number >= first + fruits // self.lanes:
                    continue
                self.fruits[lane].append(Fruit(self.chance.choice(OUTLETS)))
                due.append((at + self.chance.uniform(0.2, 0.8) / self.rate, lane, number, at))
            due.sort()
            while due and due[0][0] <= now:
                _, lane, number, at = due.pop(0)
                message = self.verdict(lane, number, at)
                message = message.replace(b'"sequence": %d' % number, b'"sequence": %d' % sequence[lane])
                sequence[lane] += 1
                await socket.send_multipart([b"fruit/%d" % lane, message])
            await asyncio.sleep(0.002)
        await asyncio.sleep((self.distance(len(OUTLETS)) + 2 * PITCH) / self.belt.speed / (1 - self.belt.swing))

    def settle(self):
        """How many fruits of each outlet went to which; a fruit that nothing threw off is at the belt's end."""
        table = {name: dict.fromkeys(self.outlets, 0) for name in self.outlets}
        for lane in self.fruits:
            for fruit in lane:
                if fruit.place != "unseen":
                    table[fruit.outlet][fruit.place or self.outlets[0]] += 1
        return table


def quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))] if ordered else 0.0


def grader_socket():
    """The line's socket; (socket, endpoint)."""
    socket = zmq.asyncio.Context.instance().socket(zmq.PUSH)
    port = socket.bind_to_random_port("tcp://127.0.0.1")
    return socket, f"tcp://127.0.0.1:{port}"
