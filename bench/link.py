# A slow link on this host: passes TCP connections on with a rate and a delay.
"""Usage: link.py HOST:PORT [MBIT_PER_SECOND [DELAY_MS]]

Listens on a port of the loopback, prints it, and passes each connection on to HOST:PORT: at most so
many bits a second each way (100 million), each byte so much later (20 ms). Ends with its standard
input. Buffers and segments are those of a network and not of the loopback, so that a sender feels
the rate as it would there.
"""

import queue
import socket
import sys
import threading
import time

PIECE = 16 << 10
# Pieces on their way at most, so that a reader that stops stops the sender.
PIECES_MAX = 256
BUFFER = 64 << 10
# An Ethernet's; the loopback's are 64 KiB.
SEGMENT = 1448


# Bytes that it may be late with: who wakes up late has lost nothing, since what it was to take lay there.
SLACK = 4 * PIECE


def configured():
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SEGMENT)
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return one


def wait_until(moment):
    left = moment - time.monotonic()
    if left > 0:
        time.sleep(left)


def take(source, pieces, rate, delay):
    """Takes as fast as the link does, and says when each piece arrives."""
    taken = 0.0
    while True:
        try:
            piece = source.recv(PIECE)
        except OSError:
            piece = b""
        taken = max(taken, time.monotonic() - SLACK / rate) + len(piece) / rate
        pieces.put((taken + delay, piece))
        if not piece:
            return
        wait_until(taken)


def give(pieces, sink):
    while True:
        moment, piece = pieces.get()
        wait_until(moment)
        try:
            if not piece:
                sink.shutdown(socket.SHUT_WR)
                return
            sink.sendall(piece)
        except OSError:
            return


def join(near, address, rate, delay):
    far = configured()
    far.connect(address)
    for source, sink in ((near, far), (far, near)):
        pieces = queue.Queue(PIECES_MAX)
        threading.Thread(target=take, args=(source, pieces, rate, delay), daemon=True).start()
        threading.Thread(target=give, args=(pieces, sink), daemon=True).start()


def accept(listener, address, rate, delay):
    while True:
        near, _ = listener.accept()
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        join(near, address, rate, delay)


def main():
    host, _, port = sys.argv[1].rpartition(":")
    rate = float(sys.argv[2]) if len(sys.argv) > 2 else 100.0
    delay = float(sys.argv[3]) if len(sys.argv) > 3 else 20.0
    listener = configured()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    arguments = (listener, (host, int(port)), rate * 1e6 / 8, delay / 1e3)
    threading.Thread(target=accept, args=arguments, daemon=True).start()
    sys.stdin.read()


main()
