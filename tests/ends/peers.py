"""Servers that do not answer: relays in front of a real one, each of which stops in its own way.
And sinks that take nothing."""

import fcntl
import itertools
import os
import pty
import socket
import termios
import threading

# What a client may meet. Each behaves from the first connection on, or after `turn`.
KINDS = ("silent", "pings", "half", "deaf")
PREFACE_BYTES, HEADER_BYTES = 8, 16
HELLO, PING, PONG = 1, 3, 4
# Bytes that a peer which does not read has room for.
NARROW_BYTES = 4096
F_SETPIPE_SZ = 1031
PIPE_BYTES = 4096
# Of the FIFOs that were made.
NUMBERS = itertools.count()


def take(source, count):
    """So many bytes."""
    got = b""
    while len(got) < count:
        more = source.recv(count - len(got))
        if not more:
            raise EOFError
        got += more
    return got


def frame(source):
    """A whole frame, and its kind."""
    head = take(source, HEADER_BYTES)
    body = take(source, -(-int.from_bytes(head[12:16], "little") // 8) * 8)
    return head[0], head + body


class Peer:
    """What stands in front of the server at `to`, a Unix path or a TCP port. It begins to behave as
    its kind says after so many frames of the server's beyond its greeting, at once, or when it is
    told to `turn`."""

    def __init__(self, kind, to, path=None, begins=False, after=None):
        self.kind, self.to, self.after = kind, to, after
        self.turned = threading.Event()
        if begins:
            self.turned.set()
        self.door = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        if kind == "deaf":
            self.door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, NARROW_BYTES)
        self.door.bind(str(path) if path else ("127.0.0.1", 0))
        self.address = (
            f"unix:{path}" if path else f"farcall://127.0.0.1:{self.door.getsockname()[1]}"
        )
        self.door.listen()
        self.held = []
        threading.Thread(target=self._listen, daemon=True).start()

    def turn(self):
        """From now on it behaves as its kind says."""
        self.turned.set()
        if self.kind == "half":
            # It begins an answer: half of a Pong's header.
            for one in self.held[::2]:
                try:
                    one.send(bytes([PONG, 0, 0, 0]))
                except OSError:
                    pass

    def close(self):
        """Ends it."""
        for one in [self.door, *self.held]:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()

    def _listen(self):
        while True:
            try:
                client = self.door.accept()[0]
            except OSError:
                return
            unix = isinstance(self.to, str)
            server = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
            server.connect(self.to if unix else ("127.0.0.1", self.to))
            self.held += [client, server]
            for way in (self._up, self._down):
                threading.Thread(
                    target=self._guarded, args=(way, client, server), daemon=True
                ).start()

    @staticmethod
    def _guarded(way, client, server):
        try:
            way(client, server)
        except (EOFError, OSError):
            pass

    def _up(self, client, server):
        """What the client says."""
        if self.kind == "deaf":
            # It hears nothing after the turn, and what comes stays where it is.
            while not self.turned.is_set():
                client.settimeout(0.02)
                try:
                    server.sendall(client.recv(NARROW_BYTES))
                except TimeoutError:
                    pass
            return
        server.sendall(take(client, PREFACE_BYTES))
        while True:
            kind, whole = frame(client)
            if not self.turned.is_set() or kind == HELLO or (self.kind, kind) == ("pings", PING):
                server.sendall(whole)

    def _down(self, client, server):
        """What the server says."""
        preface = take(server, PREFACE_BYTES)
        if self.turned.is_set() and self.kind == "silent":
            return
        client.sendall(preface)
        while True:
            kind, whole = frame(server)
            if not self.turned.is_set() or self.kind == "pings" and kind in (HELLO, PONG):
                client.sendall(whole)
                if self.after is not None and kind not in (HELLO, PONG):
                    self.after -= 1
                    if self.after == 0:
                        self.turned.set()
            elif self.kind == "half":
                # Of whatever comes next.
                client.sendall(whole[: len(whole) // 2])
                return
            elif self.kind == "deaf" and kind == HELLO:
                client.sendall(whole)


class Sink:
    """A descriptor for a program's output that takes nothing. `close` ends it."""

    KINDS = ("closed", "full", "fifo", "terminal")

    def __init__(self, kind, folder):
        self.kind, self.held = kind, []
        self.descriptor = None
        if kind == "full":
            reader, self.descriptor = os.pipe()
            self.held = [reader, self.descriptor]
        elif kind == "fifo":
            path = os.path.join(folder, f"fifo-{next(NUMBERS)}")
            os.mkfifo(path)
            self.descriptor = os.open(path, os.O_RDWR)
            self.held = [self.descriptor]
        elif kind == "terminal":
            master, self.descriptor = pty.openpty()
            termios.tcflow(self.descriptor, termios.TCOOFF)
            self.held = [master, self.descriptor]
        if kind in ("full", "fifo"):
            fcntl.fcntl(self.descriptor, F_SETPIPE_SZ, PIPE_BYTES)
            self._fill()

    def _fill(self):
        flags = fcntl.fcntl(self.descriptor, fcntl.F_GETFL)
        fcntl.fcntl(self.descriptor, fcntl.F_SETFL, flags | os.O_NONBLOCK)
        try:
            while True:
                os.write(self.descriptor, b"x" * PIPE_BYTES)
        except BlockingIOError:
            pass
        fcntl.fcntl(self.descriptor, fcntl.F_SETFL, flags)

    def close(self):
        """Frees what it holds."""
        for one in self.held:
            os.close(one)
