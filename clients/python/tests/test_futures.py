"""Futures under stress: callbacks that raise, wait or close, interrupts at any moment, servers that
do not answer."""

import concurrent.futures
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

BEHAVIOUR = pathlib.Path(__file__).resolve().parent / "routines/behaviour.idl"


def of_callback(future, callback):
    """What a callback of the future gives or raises."""
    outcome = concurrent.futures.Future()

    def run(done):
        try:
            outcome.set_result(callback(done))
        except BaseException as error:
            outcome.set_exception(error)

    future.add_done_callback(run)
    return outcome.result(20)


def test_a_callback_that_exits_harms_no_other_future(private, caplog):
    first = private.pause.submit(0.2)
    first.add_done_callback(lambda _: sys.exit(3))
    second = private.pause.submit(0.4)
    assert second.result(10).slept == 0.4 and first.result(10).slept == 0.2
    assert private.square.submit(3).result(10).y == 9
    assert [record.exc_info[0] for record in caplog.records] == [SystemExit]
    begin = time.monotonic()
    private.close()
    assert time.monotonic() - begin < 5


def test_a_callback_may_call(private):
    assert (
        of_callback(private.pause.submit(0.1), lambda done: private.square(done.result().slept).y)
        == 0.1**2
    )


def test_a_callback_may_wait_for_a_call_that_it_starts(private):
    assert (
        of_callback(private.pause.submit(0.1), lambda _: private.square.submit(3).result(10).y) == 9
    )
    assert (
        of_callback(private.pause.submit(0.1), lambda _: private.square.submit(3).exception(10))
        is None
    )

    def wait(_):
        futures = [private.square.submit(number) for number in range(3)]
        return [one.result().y for one in concurrent.futures.as_completed(futures, timeout=10)]

    assert sorted(of_callback(private.pause.submit(0.1), wait)) == [0, 1, 4]
    assert private.square.submit(4).result(10).y == 16


def test_a_callback_may_wait_for_a_call_under_way(private):
    other = private.pause.submit(0.5)
    assert of_callback(private.pause.submit(0.1), lambda _: other.result(10).slept) == 0.5


def test_callbacks_may_wait_for_one_another_when_the_server_dies(farcall):
    """All calls end at once, and the first one's callback waits for the others."""
    with farcall.connect(files=[BEHAVIOUR]) as server:
        futures = [server.pause.submit(30) for _ in range(3)]
        waited = concurrent.futures.Future()
        for future in futures:
            others = [one for one in futures if one is not future]
            future.add_done_callback(lambda _, others=others: [one.exception(10) for one in others])
        futures[0].add_done_callback(lambda _: waited.set_result(True))
        time.sleep(0.2)
        server._connection.handles.close()
        assert waited.result(20) and all(
            isinstance(one.exception(10), farcall.Error) for one in futures
        )


def test_a_callback_may_close_the_connection(farcall):
    with farcall.connect(files=[BEHAVIOUR]) as server:
        of_callback(server.pause.submit(0.1), lambda _: server.close())
        with pytest.raises(farcall.ConnectionLost, match="was closed"):
            server.square(2)


def test_closing_waits_no_longer_than_it_must_for_callbacks(private, farcall, monkeypatch):
    monkeypatch.setattr(farcall._waiter, "_STOP_SECONDS", 0.5)
    release = threading.Event()
    future = private.pause.submit(0.1)
    future.add_done_callback(lambda _: release.wait(30))
    future.result(10)
    begin = time.monotonic()
    private.close()
    release.set()
    assert 0.4 < time.monotonic() - begin < 8


@pytest.mark.parametrize("seconds", [1e-300, 1e-12, 1e-9])
def test_the_shortest_times_are_times(server, farcall, seconds):
    with pytest.raises(farcall.TimedOut):
        server.pause(5, timeout=seconds)
    assert isinstance(server.pause.submit(5, timeout=seconds).exception(10), farcall.TimedOut)


# What takes longer than the latest interrupt. Python drops one that comes within a destructor, so
# none waits for it.
STEPS = {
    "submit": "kept = [server.square.submit(number) for number in range(300)]",
    "result": "for _ in range(100): server.square.submit(2).result(5)",
    "call": "for _ in range(100): server.square(2)",
}


@pytest.mark.parametrize("step", STEPS)
def test_interrupts_break_nothing(step):
    """Ctrl-C anywhere costs that call alone."""
    program = """
        import farcall, signal, sys, time
        server = farcall.connect(files=[sys.argv[1]])
        server.square(1)

        def interrupt(*_):
            raise KeyboardInterrupt

        signal.signal(signal.SIGALRM, interrupt)
        interrupted, step = 0, compile(sys.argv[2], "step", "exec")
        for index in range(2000):
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.0002 + 0.000004 * (index % 200))
                    exec(step)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupted += 1
            except RuntimeError as error:
                # Condition.wait of the standard library makes this of an interrupt while it gives
                # back its lock.
                assert isinstance(error.__context__, KeyboardInterrupt)
            if index % 200 == 0:
                # The thread ends when it is idle, and the next start of one may be interrupted.
                time.sleep(0.6)
            assert server.square.submit(3).result(10).y == 9
        server.close()
        print("interrupted" if interrupted > 1000 else interrupted)
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(BEHAVIOUR), STEPS[step]],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.stdout == "interrupted\n", ended.stderr


def test_closing_gives_up_a_server_that_does_not_answer(farcall, monkeypatch):
    monkeypatch.setattr(farcall._future, "_CANCEL_SECONDS", 0.5)
    program = farcall._library.find("FARCALL_PROGRAM", "bin", "farcall")
    child = subprocess.Popen(
        [program, "serve", "--private", BEHAVIOUR],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        server = farcall.connect(child.stdout.readline().strip())
        future = server.loop.submit(np.ones(3))
        time.sleep(0.3)
        os.kill(child.pid, signal.SIGSTOP)
        begin = time.monotonic()
        server.close()
        assert time.monotonic() - begin < 25 and isinstance(future.exception(5), farcall.Error)
        os.kill(child.pid, signal.SIGCONT)
        child.stdin.close()
