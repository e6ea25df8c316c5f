"""Networks between a line and its peers: a namespace with a link of its own, and a relay that delays."""
import contextlib
import os
import queue
import socket
import subprocess
import threading
import time


def ip(*words):
    subprocess.run(["ip", *words], check=True)


@contextlib.contextmanager
def beyond_link(number):
    """(address of the line, name of the namespace, name of the link): the link is this machine's end."""
    name, link = f"cernita-{os.getpid()}-{number}", f"crn{os.getpid() % 100000}{number}"
    address = f"10.{200 + number}.{os.getpid() % 250}"
    ip("netns", "add", name)
    try:
        ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("addr", "add", f"{address}.1/24", "dev", link)
        ip("link", "set", link, "up")
        ip("-n", name, "addr", "add", f"{address}.2/24", "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")
        yield f"{address}.1", name, link
    finally:
        subprocess.run(["ip", "link", "del", link], check=False)
        ip("netns", "del", name)


def lose_packets(namespace, link):
    """Both ends drop what comes faster than 12 Mbit/s, with next to no queue, as a switch that is full does."""
    shape = ["root", "tbf", "rate", "12mbit", "burst", "5kb", "limit", "6kb"]
    subprocess.run(["tc", "qdisc", "add", "dev", link, *shape], check=True)
    subprocess.run(["ip", "netns", "exec", namespace, "tc", "qdisc", "add", "dev", "eth0", *shape], check=True)


def lose_no_packets(namespace, link):
    """Returns how many were dropped."""
    dropped = 0
    for before in ([], ["ip", "netns", "exec", namespace]):
        device = "eth0" if before else link
        text = subprocess.run([*before, "tc", "-s", "qdisc", "show", "dev", device], check=True, capture_output=True,
                              text=True).stdout
        dropped += int(text.split("dropped ")[1].split(",")[0])
        subprocess.run([*before, "tc", "qdisc", "del", "dev", device, "root"], check=True)
    return dropped


class Relay:
    """Passes on what comes to a port of 127.0.0.1, `delay_s` later, in both directions."""

    def __init__(self, to):
        self.to, self.delay_s = to, 0.0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            near, _ = self.listener.accept()
            try:
                far = socket.create_connection(("127.0.0.1", self.to))
            except OSError: # the daemon has ended
                near.close()
                continue
            for one, other in ((near, far), (far, near)):
                waiting = queue.Queue(64)
                threading.Thread(target=self.take, args=(one, waiting), daemon=True).start()
                threading.Thread(target=self.give, args=(other, waiting), daemon=True).start()

    def take(self, one, waiting):
        data = b"begin"
        while data:
            try:
                data = one.recv(65536)
            except OSError:
                data = b""
            waiting.put((time.monotonic() + self.delay_s, data))

    def give(self, other, waiting):
        while True:
            at, data = waiting.get()
            time.sleep(max(0.0, at - time.monotonic()))
            try:
                if not data:
                    other.shutdown(socket.SHUT_WR)
                    return
                other.sendall(data)
            except OSError:
                return
