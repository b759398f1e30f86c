"""Results across a fork: ordinary memory, which each process has for itself."""

import ctypes
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

SHARING = pathlib.Path(__file__).resolve().parent / "routines/sharing.idl"


def fork(work):
    """A forked process that tells whether `work` gives something true."""
    process = os.fork()
    if process == 0:
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return process


def succeeded(process):
    return os.waitpid(process, 0)[1] == 0


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_copies_results(server):
    b = server.dgesv(np.eye(100), np.ones((100, 100))).b
    told, tell = os.pipe()
    seen, see = os.pipe()

    def child():
        b[0, 0] = 42
        os.write(see, b"x")
        os.read(told, 1)
        return b[0, 0] == 42 and b[5, 5] == 1

    process = fork(child)
    os.read(seen, 1)
    assert b[0, 0] == 1, "the child's writes are its own"
    b[5, 5] = 3
    del b
    for _ in range(10):
        server.dgesv(np.eye(100) * 0.1, np.ones((100, 100)))
    os.write(tell, b"x")
    assert succeeded(process), "neither the parent's writes nor its next calls are the child's"
    for descriptor in (told, tell, seen, see):
        os.close(descriptor)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forks_disturb_no_calls_under_way(server):
    matrices = [np.eye(200) * (i + 1) for i in range(40)]
    futures = [server.dgesv.submit(matrix, np.ones((200, 50))) for matrix in matrices]
    early = futures[0].result().b
    for _ in range(5):
        assert succeeded(fork(lambda: np.allclose(early, 1)))
    assert all(np.allclose(future.result().b * (i + 1), 1) for i, future in enumerate(futures))
    again = server.dgesv(np.eye(200) * 2, np.ones((200, 50))).b
    assert np.allclose(again, 0.5) and np.allclose(early, 1)


KEPT = None


def kept_value(index):
    return float(KEPT[index, index])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_workers_of_a_pool_see_what_was_there(server):
    global KEPT
    KEPT = server.dgesv(np.eye(100), np.ones((100, 100))).b
    with multiprocessing.get_context("fork").Pool(2) as pool:
        KEPT = None
        others = [server.dgesv(np.eye(100) * 0.1, np.ones((100, 100))).b for _ in range(5)]
        assert pool.map(kept_value, range(8)) == [1.0] * 8
    assert all(np.allclose(b, 10) for b in others)


SERVER = None


def square_inherited(number):
    return SERVER.square(number).y


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_workers_use_the_connection_that_was_there(server):
    global SERVER
    SERVER = server
    server.square(1)
    with multiprocessing.get_context("fork").Pool(3) as pool:
        assert pool.map(square_inherited, range(30)) == [float(number**2) for number in range(30)]
    assert server.square(6).y == 36


SPAWN = """
import multiprocessing, sys

def square_at(work):
    import farcall
    with farcall.connect(work[0]) as server:
        return server.square(work[1]).y

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(square_at, [(sys.argv[1], number) for number in range(4)]) == [0, 1, 4, 9]
"""


def test_spawned_workers_connect_by_address(server, tmp_path):
    (tmp_path / "main.py").write_text(SPAWN)
    subprocess.run([sys.executable, tmp_path / "main.py", server.address], check=True, timeout=60)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_hears_when_its_parents_server_is_gone(farcall):
    server = farcall.connect(files=[SHARING])
    told, tell = os.pipe()

    def child():
        os.read(told, 1)
        with pytest.raises(farcall.Unreachable):
            server.see(np.ones(3), seconds=0)
        return True

    process = fork(child)
    server.close()
    os.write(tell, b"x")
    assert succeeded(process)
    os.close(told), os.close(tell)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_call_under_way_is_its_parents(farcall, server):
    future = server.pause.submit(0.5)

    def child():
        with pytest.raises(farcall.ConnectionLost, match="call again"):
            future.result(5)
        return True

    assert succeeded(fork(child))
    assert future.result(20).slept == 0.5


@pytest.fixture
def undisturbed():
    """No thread asks this one for the interpreter: a child would wait for that thread's answer, and
    has no such thread.

    CPython sets that right in `os.fork`, of which it is told, and not in a fork of C code.
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(600)
    time.sleep(0.1)  # Who waits already waits by the old interval.
    yield
    sys.setswitchinterval(interval)


@pytest.mark.parametrize("way", ["call", "close"])
def test_a_fork_that_python_is_not_told_of_leaves_the_connection_alone(
    farcall, server, way, undisturbed
):
    future = server.pause.submit(0.5)
    process = ctypes.PyDLL(None).fork()
    if process == 0:
        try:
            signal.alarm(30)
            if way == "close":
                begin = time.monotonic()
                server._connection.handles.close()
                # Its thread is not here, and nobody waits for that.
                assert time.monotonic() - begin < 5
            else:
                with pytest.raises(farcall.ConnectionLost, match="connect again after the fork"):
                    server.square(3)
            os._exit(0)
        finally:
            os._exit(1)
    assert succeeded(process)
    assert future.result(20).slept == 0.5 and server.square(3).y == 9
