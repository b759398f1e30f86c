"""Connections over TCP that are cut again and again, and servers that are killed while their
clients come back."""

import pathlib
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

import farcall

ROOT = pathlib.Path(__file__).resolve().parents[3]
CABLE = ROOT / "examples/network/cable.py"
SOURCE = """
Module cuts;
Define twice(IN int n, IN double x[n], OUT double y[n]) { for (int i = 0; i < n; i++) y[i] = 2 * x[i]; }
Define more(IN int n, INOUT double x[n]) { for (int i = 0; i < n; i++) x[i] += 1; }
Define nap(IN double s, OUT int *done) { usleep((int)(s * 1e6)); *done = 1; }
Define ask(IN double x, OUT double *y, f(IN double x, OUT double *y)) { f(x, y); }
Define append(IN filename a, OUT filename b, INOUT filename c) {
    FILE *from = fopen(a, "r"), *to = fopen(b, "w"), *both = fopen(c, "a");
    for (int one; (one = getc(from)) != EOF;) putc(one, to);
    fputs("more", both);
    fclose(from), fclose(to), fclose(both);
}
DefClass Sum { DefState { int total; } DefMethod add(IN int n, OUT int *now) { *now = total += n; } }
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


class World:
    """A server over TCP, a cable to it that is cut, and what they leave in a folder."""

    def __init__(self, folder):
        self.folder, self.port, self.near = folder, free_port(), free_port()
        (folder / "cuts.idl").write_text(SOURCE)
        self.processes = []

    def serve(self):
        listen = ["--listen", f"tcp:127.0.0.1:{self.port}", "--token-file", "token"]
        command = [sys.executable, "-m", "farcall", "serve", *listen, "cuts.idl"]
        server = subprocess.Popen(
            command, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.processes.append(server)
        assert server.stdout.readline()
        return server

    def cut_every(self, seconds):
        command = [sys.executable, CABLE, str(self.near), str(self.port), str(seconds)]
        self.processes.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                return socket.create_connection(("127.0.0.1", self.near)).close()
            except OSError:
                time.sleep(0.05)

    def connect(self, port):
        # One that is cut in its first greeting was never there, and is not made again by itself.
        for _ in range(100):
            try:
                return farcall.connect(
                    f"farcall://127.0.0.1:{port}", token_file=self.folder / "token", reconnect=60
                )
            except farcall.ConnectionLost as error:
                last = error
        raise last

    def end(self):
        for one in self.processes:
            one.kill()
            one.wait()
            if one.stdout:
                one.stdout.close()


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    one = World(tmp_path)
    yield one
    one.end()


def test_all_kinds_of_calls_survive_cuts(world):
    world.serve()
    world.cut_every(0.1)
    whole, target, both = (world.folder / name for name in ("whole", "target", "both"))
    whole.write_bytes(bytes(range(256)) * 800)
    with world.connect(world.near) as server:
        total, kept = server.Sum(), []
        for number in range(1, 21):
            x = np.arange(30_000.0) + number
            np.testing.assert_array_equal(server.twice(x).y, 2 * x)
            np.testing.assert_array_equal(
                server.more(x, inplace=True).x, np.arange(30_000.0) + number + 1
            )
            both.write_text("some ")
            server.append(whole, both, out={"b": target})
            assert target.read_bytes() == whole.read_bytes() and both.read_text() == "some more"
            assert total.add(1).now == number
            kept.append(server.twice.submit(x[:100], keep=600).id)
            try:
                assert server.ask(3.0, lambda x: x + 1).y == 4.0
            except farcall.RoutineFailed as error:
                # What a function would have answered is lost with the connection, and the routine
                # is told.
                assert "client has disconnected" in str(error) or "to its client was lost" in str(
                    error
                )
    with world.connect(world.port) as server:
        assert sorted(one.id for one in server.kept()) == sorted(kept)
        assert all(server.fetch(one).result().y.shape == (100,) for one in kept)
        for one in kept:
            server.forget(one)


def test_a_server_that_is_killed_while_clients_come_back(world):
    first = world.serve()
    server = world.connect(world.port)
    assert server.nap(0.01).done == 1
    runs = server.nap.submit(600.0, keep=600)
    done = server.nap.submit(0.01, keep=600)
    calls = [server.nap.submit(600.0) for _ in range(2)]
    # Whoever has an outcome finds it again, however soon the server is killed then.
    assert done.result(60).done == 1
    first.kill()
    first.wait()
    # Each attempt of the client meets a server that is killed at another moment of the greeting.
    for pause in (0.0, 0.001, 0.01, 0.05):
        again = world.serve()
        time.sleep(pause)
        again.kill()
        again.wait()
    world.serve()
    # On a slow machine the client has given up by now: in either case the calls fail, and what is
    # kept is there.
    for call in calls:
        with pytest.raises(farcall.ConnectionLost):
            call.result(60)
    with pytest.raises((farcall.ShuttingDown, farcall.ConnectionLost)):
        runs.result(60)
    server.close()
    with world.connect(world.port) as server:
        assert server.fetch(done.id).result(60).done == 1
        with pytest.raises(farcall.ShuttingDown, match="the server stopped while the call ran"):
            server.fetch(runs.id).result(60)
