#!/usr/bin/env python3
"""A PLC by pymodbus, for test_sorter_plc: takes decisions from window 0 of a sorter.

    plc.py PORT DECISIONS SEED

It polls until the last of so many decisions is acknowledged, and loses its connection at random. Exit status 1: a
decision came twice, in a wrong lane, or was lost and not counted as overwritten.
"""
import logging
import random
import sys
import time

from pymodbus.client import ModbusTcpClient
from pymodbus.exceptions import ConnectionException, ModbusIOException

HEADER, DECISIONS, WORDS, ACK, REGISTERS = 5, 10, 12, 125, 125
BUSY = 6  # another connection acknowledges, or the end of the last one was not noticed so far


class Plc:
    def __init__(self, port):
        self.port = port
        self.client = None
        self.run = self.number = self.taken = self.overwritten = self.left_out = self.disconnects = 0
        self.waiting = 0
        self.next_fruit = {}

    def connect(self):
        if self.client:
            self.client.close()
            self.disconnects += 1
        self.client = ModbusTcpClient("127.0.0.1", port=self.port, timeout=60)
        while not self.client.connect():
            time.sleep(0.01)

    def poll(self):
        """Acknowledges and reads in one request; None where the sorter is busy."""
        answer = self.client.readwrite_registers(
            read_address=0, read_count=REGISTERS, write_address=ACK,
            write_registers=[self.run, self.number >> 16, self.number & 0xFFFF])
        if answer.isError():
            if getattr(answer, "exception_code", None) != BUSY:
                sys.exit(f"refused: {answer}")
            return None
        return answer.registers

    def take(self, registers):
        self.run, self.waiting, self.overwritten = registers[0], registers[3], registers[4]
        for at in range(HEADER, HEADER + DECISIONS * WORDS, WORDS):
            lane, high, low, fruit_high, fruit_low = registers[at:at + 5]
            number = high << 16 | low
            if number == 0:
                break
            fruit = (fruit_high << 16 | fruit_low) - 100
            expected = self.next_fruit.get(lane, 0)
            if number <= self.number or fruit < expected:
                sys.exit(f"lane {lane}: decision {number}, fruit {fruit} came after {self.number}, fruit {expected - 1}")
            self.left_out += fruit - expected
            self.number = number
            self.next_fruit[lane] = fruit + 1
            self.taken += 1


def main():
    logging.disable(logging.CRITICAL)  # a line for each connection that is refused, until the sorter listens
    port, decisions, seed = map(int, sys.argv[1:])
    draw = random.Random(seed)
    plc = Plc(port)
    plc.connect()
    while plc.number < decisions or plc.waiting:
        registers = plc.poll()
        # An answer that is lost shows the same decisions again.
        if registers and draw.random() > 0.05:
            plc.take(registers)
        elif draw.random() < 0.5:
            plc.connect()
    # A lane's last ones may be among those left out.
    if not 0 <= plc.left_out <= decisions - plc.taken <= plc.overwritten:
        sys.exit(f"{plc.taken} taken, {plc.overwritten} overwritten of {decisions}; {plc.left_out} left out")
    print(f"pymodbus: {plc.taken} decisions taken, {plc.overwritten} overwritten, {plc.disconnects} disconnects")


try:
    main()
except (ConnectionException, ModbusIOException) as error:
    sys.exit(f"no answer: {error}")
