"""The daemon's side of slots, for tests of a Line: one connection, and what arrives on it."""
import mmap
import os
import socket
import struct
import threading

HELLO = struct.Struct("<4sHHIIQ16s")
REFERENCE = struct.Struct("<QIIQ")
FREE, FILLING, SENT = range(3)


class SlotsDaemon:
    """Listens at that path; answers each hello on a thread of its own, and keeps the last connection. manner:
    "answers", "hangs up", "hangs up at once" (before the hello is read), "other", "no memory", "short memory", "accepts
    nobody" (its queue is full until serve() is called)."""

    def __init__(self, path, slots=2, slot_bytes=8192, status=0, text="", manner="answers"):
        self.path, self.slots, self.slot_bytes, self.status, self.text = path, slots, slot_bytes, status, text
        self.manner, self.ring, self.hello, self.connection = manner, int.from_bytes(os.urandom(8), "little"), None, None
        self.fds = [os.memfd_create("ring"), os.memfd_create("words")]
        for fd, size in zip(self.fds, (slots * slot_bytes, mmap.PAGESIZE)):
            os.ftruncate(fd, size)
        self.memory, words = (mmap.mmap(fd, 0) for fd in self.fds)
        self.words = memoryview(words).cast("Q")
        if manner == "short memory":
            os.ftruncate(self.fds[0], slot_bytes)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.path.exists(path):
            os.unlink(path)
        self.listener.bind(path)
        self.listener.listen(0 if manner == "accepts nobody" else 128)
        self.connected, self.fillers = threading.Event(), []
        self.thread = threading.Thread(target=self._serve, daemon=True)
        if manner == "accepts nobody":
            self._fill_queue()
        else:
            self.thread.start()

    def _fill_queue(self):
        """Connections that nobody accepts, until the queue takes no more."""
        try:
            while True:
                self.fillers.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK))
                self.fillers[-1].connect(self.path)
        except BlockingIOError:
            pass

    def serve(self):
        """Once more, of one that accepted nobody."""
        self.manner = "answers"
        for filler in self.fillers:
            filler.close()
        for _ in self.fillers[1:]:  # the last has found no place
            self.listener.accept()[0].close()
        self.fillers = []
        self.thread.start()

    def _serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:  # it has died
                return
            self._answer(connection)
            self.connection = connection
            self.connected.set()

    def _answer(self, connection):
        if self.manner != "hangs up at once":
            self.hello = HELLO.unpack(connection.recv(64))
        if self.manner.startswith("hangs up"):
            connection.close()
        elif self.manner == "other":
            connection.send(b"no.")
        else:
            answer = struct.pack("<IIQQ104s", self.status, self.slots, self.ring, self.slot_bytes, self.text.encode())
            fds = [] if self.status or self.manner == "no memory" else self.fds
            socket.send_fds(connection, [answer], fds)

    def receive(self):
        """The next packet: its header, and its reference or None."""
        self.connected.wait()
        packet = self.connection.recv(256)
        return packet[:128], REFERENCE.unpack(packet[128:]) if len(packet) > 128 else None

    def free(self, slot):
        self.words[slot] = (self.words[slot] // 4 + 1) * 4 + FREE
        self.connection.send(b"\x01")

    def die(self):
        """The socket's file remains."""
        if self.listener.fileno() >= 0:
            self.listener.shutdown(socket.SHUT_RDWR)
        if self.thread.ident:
            self.thread.join()
        for one in (self.listener, self.connection, *self.fillers):
            if one:
                one.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.die()
        while self.fds:
            os.close(self.fds.pop())
