"""A server as concurrent.futures.Executor: what the standard library says of one holds."""

import concurrent.futures
import pathlib
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

BEHAVIOUR = pathlib.Path(__file__).parent / "routines/behaviour.idl"


def test_it_is_an_executor(server, farcall):
    executor = server.executor()
    assert isinstance(executor, concurrent.futures.Executor) and isinstance(
        executor, farcall.Executor
    )
    with executor:
        assert [r.y for r in executor.map(server.square, range(50))] == [
            float(n) ** 2 for n in range(50)
        ]
        futures = [executor.submit(server.dgesv, np.eye(2) * (k + 1), np.ones(2)) for k in range(5)]
        done = list(concurrent.futures.as_completed(futures, timeout=20))
        assert sorted(one.result().b[0] for one in done) == [1 / 5, 1 / 4, 1 / 3, 1 / 2, 1]
        assert executor.submit("behaviour/square", 3).result(10).y == 9
        assert executor.submit(server.behaviour, 4).result(10).y == 2
        named = executor.submit(server.pause, seconds=0.01, timeout=20)
        assert concurrent.futures.wait([named], 20).not_done == set()
    assert server.square(2).y == 4, "the connection stays open"


def test_what_goes_wrong(server, farcall):
    executor = server.executor()
    assert isinstance(executor.submit(server.crash, 1).exception(20), farcall.RoutineCrashed)
    assert isinstance(executor.submit(server.square, 1, 2).exception(20), farcall.WrongType)
    for wrong in (print, lambda x: x, None, farcall.Server):
        with pytest.raises(farcall.WrongType, match="not a routine of a server.*Python functions"):
            executor.submit(wrong, 1)
    with pytest.raises(farcall.WrongType, match="is not a routine.*it has"):
        executor.submit(server.layouts, 1)
    with pytest.raises(farcall.NotFound):
        executor.submit("no_such", 1)
    with pytest.raises(concurrent.futures.TimeoutError):
        list(executor.map(server.pause, [5], timeout=0.1))
    executor.shutdown()
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(server.square, 1)


def test_shutting_down_waits_for_calls(private):
    private.pause(0.01)
    with private.executor() as executor:
        begin = time.monotonic()
        future = executor.submit(private.pause, 0.5)
        assert time.monotonic() - begin < 0.3, "submitting waits for nothing"
    assert future.done() and future.result().slept == 0.5
    executor = private.executor()
    future = executor.submit(private.pause, 0.5)
    executor.shutdown(wait=False)
    assert not future.done() and future.result(10).slept == 0.5


def test_shutting_down_cancels_what_is_not_done(narrow):
    executor = narrow.executor()
    begin = time.monotonic()
    futures = [executor.submit(narrow.pause, 30) for _ in range(10)]
    assert time.monotonic() - begin < 0.3
    time.sleep(0.5)
    running = [one.running() for one in futures]
    assert running == [True] * 2 + [False] * 8 and not any(one.done() for one in futures)
    executor.shutdown(cancel_futures=True)
    assert time.monotonic() - begin < 10
    assert all(one.cancelled() and one.done() and not one.running() for one in futures)
    assert narrow.square(3).y == 9, "the server has room again"


def test_shutting_down_cancels_what_runs_and_keeps_what_is_done(private):
    executor = private.executor()
    done, runs = executor.submit(private.square, 3), executor.submit(private.pause, 30)
    assert done.result(20).y == 9 and not done.running()
    begin = time.monotonic()
    executor.shutdown(cancel_futures=True)
    assert time.monotonic() - begin < 10
    assert runs.cancelled() and done.result().y == 9


@pytest.mark.parametrize("sent", [False, True], ids=["before", "after"])
def test_what_an_interrupt_kept_from_being_submitted_is_not_waited_for(private, monkeypatch, sent):
    from farcall import _executor, _starter

    start = _starter.Starter.start

    def interrupted(self, future, prepared):
        if sent:
            start(self, future, prepared)
        raise KeyboardInterrupt

    executor = private.executor()
    done = executor.submit(private.square, 3)
    monkeypatch.setattr(_starter.Starter, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        executor.submit(private.pause, 30)
    # In a thread, since what would wait for ever cannot be told to stop.
    ended = threading.Thread(target=executor.shutdown, daemon=True)
    ended.start()
    ended.join(10)
    assert not ended.is_alive() and done.result().y == 9
    assert not [one for one in _executor._UNDER_WAY if not one.done()], (
        "nor at the end of the program"
    )


def test_a_program_that_ends_waits_for_what_it_submitted():
    program = """
import farcall, os, sys
server = farcall.connect(files=[sys.argv[1]])
executor = server.executor()
for _ in range(3):
    executor.submit(server.pause, 0.3).add_done_callback(lambda one: print(one.result().slept, flush=True))
if os.fork() == 0:
    sys.exit()
"""
    ended = subprocess.run(
        [sys.executable, "-c", program, str(BEHAVIOUR)], capture_output=True, text=True, timeout=60
    )
    assert (ended.stdout, ended.returncode) == ("0.3\n" * 3, 0), ended.stderr


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ValueError, SystemExit])
def test_an_exception_that_leaves_the_block_cancels_its_calls(private, kind):
    private.pause(0.01)
    begin = time.monotonic()
    futures = []
    with pytest.raises(kind):
        with private.executor() as executor:
            futures += [executor.submit(private.pause, 5.0) for _ in range(50)]
            raise kind
    assert all(future.cancelled() for future in futures)
    assert time.monotonic() - begin < 4, "nothing was waited for"
    assert private.pause(0.01).slept == 0.01, "the connection stays open"


def test_an_interrupt_of_the_wait_cancels_its_calls(private, monkeypatch):
    private.pause(0.01)

    def interrupted(futures):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        with private.executor() as executor:
            futures = [executor.submit(private.pause, 5.0) for _ in range(9)]
            monkeypatch.setattr(concurrent.futures, "wait", interrupted)
    assert all(future.cancelled() for future in futures)
