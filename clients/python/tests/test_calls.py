"""Calls that fail, end early, run at once, or outlive what they stand on."""

import concurrent.futures
import gc
import os
import pathlib
import pickle
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
BEHAVIOUR = HERE / "routines/behaviour.idl"


def test_a_crash_is_reported_and_harms_nothing_else(server, farcall):
    with pytest.raises(farcall.RoutineCrashed) as caught:
        server.crash(7)
    error = caught.value
    assert (
        "SIGSEGV" in str(error)
        and "about to crash at 7" in str(error)
        and isinstance(error, RuntimeError)
    )
    assert server.square(3).y == 9


def test_an_exit_is_reported(server, farcall):
    with pytest.raises(farcall.RoutineExited) as caught:
        server.leave(3)
    assert "3" in str(caught.value) and "no license found" in str(caught.value)


def test_a_timeout_ends_the_call(server, farcall):
    begin = time.monotonic()
    x = np.ones(3)
    with pytest.raises(farcall.TimedOut) as caught:
        server.loop(x, timeout=0.3, inplace=True)
    assert 0.2 < time.monotonic() - begin < 5 and isinstance(caught.value, TimeoutError)
    assert caught.value.kind == "timed-out" and caught.value.advice
    assert (x == 1).all() and server.square(3).y == 9


def test_a_future_has_a_timeout_too(server, farcall):
    begin = time.monotonic()
    future = server.loop.submit(np.ones(3), timeout=0.3)
    assert isinstance(future.exception(10), farcall.TimedOut)
    assert time.monotonic() - begin < 5


def test_a_hundred_futures(server):
    futures = [server.square.submit(float(index)) for index in range(100)]
    assert [future.result(30).y for future in futures] == [
        float(index) ** 2 for index in range(100)
    ]


def test_futures_are_the_standard_librarys(server):
    called = []
    futures = {server.pause.submit(seconds): seconds for seconds in (0.3, 0.1, 0.2)}
    for future in futures:
        assert future.running() and not future.done()
        future.add_done_callback(called.append)
    finished = list(concurrent.futures.as_completed(futures, timeout=20))
    assert sorted(future.result().slept for future in finished) == [0.1, 0.2, 0.3]
    done, rest = concurrent.futures.wait(futures, timeout=5)
    assert len(done) == 3 and not rest and sorted(map(id, called)) == sorted(map(id, futures))
    with pytest.raises(concurrent.futures.TimeoutError):
        server.pause.submit(0.5).result(0.05)


def test_futures_can_be_cancelled(server):
    future = server.loop.submit(np.ones(3))
    time.sleep(0.1)
    assert future.cancel() and future.cancelled() and future.cancel() and future.done()
    with pytest.raises(concurrent.futures.CancelledError):
        future.result()
    assert list(concurrent.futures.as_completed([future], timeout=5)) == [future]
    finished = server.square.submit(3)
    assert finished.result(5).y == 9 and not finished.cancel()


def test_futures_of_crashes_have_the_error(server, farcall):
    futures = [server.crash.submit(index) for index in range(3)] + [server.square.submit(2)]
    for future in futures[:3]:
        assert isinstance(future.exception(20), farcall.RoutineCrashed)
    assert futures[3].result(20).y == 4


def test_futures_keep_their_arrays(server):
    """Nobody else refers to them while they are sent and received."""
    futures = [server.daxpy.submit(np.full(200_000, float(k)), np.ones(200_000)) for k in range(8)]
    gc.collect()
    for k, future in enumerate(futures):
        assert (future.result(30).y == k + 1).all()


def test_many_threads_share_a_connection(server):
    wrong = []

    def work(seed):
        random = np.random.default_rng(seed)
        for _ in range(20):
            a, b = random.normal(size=(40, 40)) + 40 * np.eye(40), random.normal(size=40)
            if not np.allclose(a @ server.dgesv(a, b).b, b):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and not any(thread.is_alive() for thread in threads)


def test_calls_of_threads_run_at_once(private):
    if os.cpu_count() == 1:
        pytest.skip("a server runs as many routines at once as there are processors")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        both = [pool.submit(private.pause, 1.0) for _ in range(2)]
        begin = time.monotonic()
        assert [one.result(20).slept for one in both] == [1.0, 1.0]
    assert time.monotonic() - begin < 1.8


def test_closing(farcall, private):
    result = private.square(2)
    routine, future = private.square, private.pause.submit(30)
    private.close()
    private.close()
    assert result.y == 4 and "closed" in repr(private)
    assert future.done() and future.exception(5) is not None
    for call in (lambda: routine(2), lambda: private.square(2), lambda: private.routines()):
        with pytest.raises(farcall.ConnectionLost, match="was closed"):
            call()
    assert isinstance(routine.submit(2).exception(5), farcall.ConnectionLost)
    # Completion asks the server, and must not raise.
    assert "close" in dir(private)


def test_results_outlive_their_server(farcall):
    with farcall.connect(files=[BEHAVIOUR]) as server:
        x = server.prefix(np.arange(100_000.0)).y
    gc.collect()
    assert (x == np.arange(100_000.0)).all()
    x[0] = 5


def server_ended(address, seconds=10):
    """Whether a private server's socket goes away."""
    path = pathlib.Path(address[len("unix:") :])
    deadline = time.monotonic() + seconds
    while path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    return not path.exists()


def test_garbage_collection_ends_private_servers(farcall):
    server = farcall.connect(files=[BEHAVIOUR])
    address, square = server.address, server.square
    square.submit(2).result(10)
    del server
    gc.collect()
    assert square(3).y == 9, "a routine keeps its server"
    del square
    gc.collect()
    assert server_ended(address)


def run(program, **options):
    """Runs a Python program that may use what these tests use."""
    text = "import farcall, os, sys, time, numpy as np\n" + textwrap.dedent(program)
    return subprocess.run(
        [sys.executable, "-c", text, str(BEHAVIOUR)],
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )


def test_the_interpreter_ends_private_servers():
    ended = run("""
        server = farcall.connect(files=[sys.argv[1]])
        future = server.pause.submit(30)
        print(server.address)
    """)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == "" and server_ended(ended.stdout.strip())


def test_a_killed_interpreter_ends_private_servers():
    ended = run("""
        server = farcall.connect(files=[sys.argv[1]])
        print(server.address, flush=True)
        os.kill(os.getpid(), 9)
    """)
    assert ended.returncode == -signal.SIGKILL and server_ended(ended.stdout.strip())


def test_a_forked_child_has_a_connection_of_its_own():
    ended = run("""
        server = farcall.connect(files=[sys.argv[1]])
        square = server.square
        x = server.prefix(np.arange(10000.0)).y
        waiting = server.pause.submit(2)
        child = os.fork()
        if child == 0:
            assert square(2).y == 4 and server.pause.submit(0.1).result(10).slept == 0.1 and x[-1] == 9999
            try:
                waiting.result(20)
            except farcall.ConnectionLost as error:
                assert "call again" in str(error)
                # A grandchild, too; and what is closed here is open there.
                grandchild = os.fork()
                if grandchild == 0:
                    assert server.square(5).y == 25
                    sys.exit(3)
                assert os.WEXITSTATUS(os.waitpid(grandchild, 0)[1]) == 3
                server.close()
                try:
                    square(2)
                except farcall.ConnectionLost as error:
                    assert "was closed" in str(error)
                    del x, square, server
                    sys.exit(7)
            sys.exit(1)
        status = os.waitpid(child, 0)[1]
        assert os.WEXITSTATUS(status) == 7, status
        assert square(3).y == 9 and x[-1] == 9999 and waiting.result(10).slept == 2
        print("parent serves on")
    """)
    assert ended.stdout == "parent serves on\n", ended.stderr


def test_an_interrupt_ends_the_call_alone():
    """Ctrl-C reaches the whole process group, as at a terminal."""
    program = """
        server = farcall.connect(files=[sys.argv[1]])
        x = np.ones(100000)
        server.square(1)
        for _ in range(2):
            try:
                print("waiting", flush=True)
                server.loop(x, inplace=True)
            except KeyboardInterrupt:
                print("interrupted", flush=True)
        print(server.square(3).y)
    """
    text = "import farcall, sys, numpy as np\n" + textwrap.dedent(program)
    child = subprocess.Popen(
        [sys.executable, "-c", text, str(BEHAVIOUR)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for _ in range(2):
        assert child.stdout.readline() == "waiting\n"
        time.sleep(0.3)
        begin = time.monotonic()
        os.killpg(child.pid, signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"
        assert time.monotonic() - begin < 5
    assert child.stdout.readline() == "9.0\n" and child.wait(30) == 0
    child.stdout.close()


@pytest.mark.parametrize("again, rounds", [(True, 4), (False, 25)], ids=["connecting", "calling"])
def test_an_interrupt_is_raised_wherever_it_comes(again, rounds):
    program = """
import farcall, sys
print("begins", flush=True)
while True:
    with farcall.connect(files=[sys.argv[1]]) as server:
        server.square(1)
        print("closes", flush=True)
        while sys.argv[2] == "False":
            server.square(1)
"""
    command = [sys.executable, "-c", program, str(BEHAVIOUR), str(again)]
    for index in range(rounds):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, start_new_session=True, **pipes) as child:
            assert [child.stdout.readline() for _ in range(2)] == ["begins\n", "closes\n"]
            time.sleep(0.0007 * index)
            child.send_signal(signal.SIGINT)
            said = child.communicate(timeout=30)[1]
            assert (
                child.returncode != 0
                and "Exception ignored" not in said
                and "KeyboardInterrupt" in said
            ), said


@pytest.fixture
def stopped(farcall):
    """A function that starts a server and gives its address and its process, which the test may
    stop and continue."""
    program = farcall._library.find("FARCALL_PROGRAM", "bin", "farcall")
    child = subprocess.Popen(
        [program, "serve", "--private", BEHAVIOUR],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        yield child.stdout.readline().strip(), child
        child.send_signal(signal.SIGCONT)


def stop(child):
    """Stops a server, and waits until it is: it would answer for a moment, and then leave who goes
    on waiting for ever."""
    child.send_signal(signal.SIGSTOP)
    os.waitpid(child.pid, os.WUNTRACED)


def test_a_look_up_has_the_timeout_of_the_connection(farcall, stopped):
    address, child = stopped
    with farcall.connect(address, timeout=1) as server:
        stop(child)
        for ask in (lambda: server.call("square", 3), server.routines):
            begin = time.monotonic()
            with pytest.raises(farcall.TimedOut, match="timeout: 1 s"):
                ask()
            assert time.monotonic() - begin < 4
        child.send_signal(signal.SIGCONT)
        assert server.call("square", 3).y == 9 and "behaviour/square" in server.routines()


def test_an_interrupt_ends_a_look_up(stopped):
    program = """
        server = farcall.connect(sys.argv[1])
        print("connected", flush=True)
        sys.stdin.readline()
        for ask in (lambda: server.call("square", 3), server.routines):
            try:
                print("waiting", flush=True)
                ask()
            except KeyboardInterrupt:
                print("interrupted", flush=True)
        sys.stdin.readline()
        print(server.call("square", 3).y)
    """
    address, server = stopped
    text = "import farcall, sys\n" + textwrap.dedent(program)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(
        [sys.executable, "-c", text, address], start_new_session=True, **pipes
    ) as child:
        assert child.stdout.readline() == "connected\n"
        stop(server)
        print(file=child.stdin, flush=True)
        for _ in range(2):
            assert child.stdout.readline() == "waiting\n"
            time.sleep(0.3)
            begin = time.monotonic()
            os.killpg(child.pid, signal.SIGINT)
            assert child.stdout.readline() == "interrupted\n"
            assert time.monotonic() - begin < 5
        server.send_signal(signal.SIGCONT)
        print(file=child.stdin, flush=True)
        assert child.stdout.readline() == "9.0\n"


def test_a_server_that_dies_is_reported(farcall):
    program = farcall._library.find("FARCALL_PROGRAM", "bin", "farcall")
    child = subprocess.Popen(
        [program, "serve", "--private", BEHAVIOUR],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child, farcall.connect(child.stdout.readline().strip()) as server:
        future = server.pause.submit(30)
        time.sleep(0.2)
        child.kill()
        assert isinstance(future.exception(10), farcall.ConnectionLost)
        with pytest.raises(farcall.Error):
            server.square(2)
        child.stdin.close()


def test_errors_can_be_pickled(server, farcall):
    with pytest.raises(farcall.NotFound) as caught:
        server.dgesw()
    error = pickle.loads(pickle.dumps(caught.value))
    assert type(error) is farcall.NotFound and str(error) == str(caught.value)
    assert (error.operation, error.advice) == (caught.value.operation, caught.value.advice)


def test_farcall_server_names_the_default(farcall, server, monkeypatch):
    monkeypatch.setenv("FARCALL_SERVER", server.address)
    with farcall.connect() as other:
        assert other.address == server.address and other.square(2).y == 4
    assert server.square(3).y == 9


def test_an_interrupt_ends_connecting_and_starting(tmp_path):
    """To a server that never greets, and by a program that never tells its address."""
    program = """
        silent = sys.argv[2]
        for connect in (lambda: farcall.connect(silent), lambda: farcall.connect(program=sys.argv[3])):
            try:
                print("waiting", flush=True)
                connect()
            except KeyboardInterrupt:
                print("interrupted", flush=True)
        print(farcall.connect(files=[sys.argv[1]]).square(3).y, flush=True)
    """
    mute = tmp_path / "mute"
    mute.write_text("#!/bin/sh\nexec cat\n")
    mute.chmod(0o755)
    text = "import farcall, sys\n" + textwrap.dedent(program)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "silent"))
        silent.listen()
        command = [sys.executable, "-c", text, str(BEHAVIOUR), f"unix:{tmp_path}/silent", str(mute)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as child:
            for _ in range(2):
                assert child.stdout.readline() == "waiting\n"
                time.sleep(0.3)
                begin = time.monotonic()
                os.killpg(child.pid, signal.SIGINT)
                assert child.stdout.readline() == "interrupted\n"
                assert time.monotonic() - begin < 2
            assert child.stdout.readline() == "9.0\n" and child.wait(30) == 0


def test_closing_ends_calls_of_other_threads(farcall, private):
    """Of a server that others use, too: the connection ends, and the server goes on."""
    server = farcall.connect(private.address)
    ways = {
        "a call": lambda: server.pause(30),
        "a call that is listened to": lambda: server.pause(30, on_output=lambda printed: None),
    }
    raised = {}

    def call(name):
        try:
            ways[name]()
        except farcall.Error as error:
            raised[name] = error

    threads = [threading.Thread(target=call, args=(name,), daemon=True) for name in ways]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    begin = time.monotonic()
    server.close()
    for thread in threads:
        thread.join(10)
    assert time.monotonic() - begin < 5 and set(raised) == set(ways)
    for error in raised.values():
        assert isinstance(error, farcall.ConnectionLost) and "this connection was closed" in str(
            error
        )
    assert private.square(3).y == 9
