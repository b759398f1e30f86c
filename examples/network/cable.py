# A network that breaks: `cable.py PORT SERVER_PORT [SECONDS]` passes on what comes, and cuts each
# connection after a time.
"""To see what becomes of a program whose connection is lost. Nothing but TCP connections of this
machine passes."""

import socket
import sys
import threading

port, server_port = int(sys.argv[1]), int(sys.argv[2])
pause = float(sys.argv[3]) if len(sys.argv) > 3 else 0.5


def forward(source, target):
    """Passes bytes on until either end is gone."""
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
    except OSError:
        pass
    for one in (source, target):
        end(one)


def end(one):
    """Ends a connection, also for the thread that waits for what comes over it, which would keep it
    open otherwise."""
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it is gone already
    one.close()


with socket.create_server(("127.0.0.1", port)) as listener:
    while True:
        near, far = listener.accept()[0], socket.create_connection(("127.0.0.1", server_port))
        for ends in [(near, far), (far, near)]:
            threading.Thread(target=forward, args=ends, daemon=True).start()
        # Each when it is as old as that: a first connection that is cut in its greeting is not made
        # again.
        for one in (near, far):
            timer = threading.Timer(pause, end, [one])
            timer.daemon = True
            timer.start()
