"""What calls use again of those before: it makes them cheap, and nothing of one may be seen by
another."""

import os
import sys
import threading

import numpy as np
import pytest

from farcall._library import ffi
from farcall._places import take_places


def test_a_call_has_no_argument_of_the_one_before(server):
    assert server.prefix(np.array([1.0, 2.0, 3.0]), n=3).m == 3
    assert server.prefix(np.array([1.0, 2.0])).m == 2
    x = np.ones(3)
    server.slow_double(0.0, x, inplace=True)
    np.testing.assert_array_equal(server.slow_double(0.0, x).x, np.full(3, 4.0))
    np.testing.assert_array_equal(x, np.full(3, 2.0))
    assert server.greet("Ada").greeting == "hello, Ada"
    assert server.greet(None).greeting == "hello, nobody"


def test_a_call_after_one_that_went_wrong(server, farcall):
    for _ in range(3):
        with pytest.raises(farcall.InvalidArgument):
            server.square("two")
        with pytest.raises(farcall.RoutineCrashed):
            server.crash(1)
        with pytest.raises(farcall.TimedOut):
            server.pause(5.0, timeout=0.01)
        assert server.square(3.0).y == 9.0


def test_results_outlive_the_calls_that_follow(server):
    first = server.lengths(["one", "three"])
    others = [server.lengths(["a" * number]) for number in range(5)]
    assert first.bytes.tolist() == [3, 5] and first.times.finished > 0
    assert [one.bytes.tolist() for one in others] == [[number] for number in range(5)]


def test_threads_share_no_places(server):
    wrong = []

    def run(number):
        for step in range(200):
            x = float(number * 1000 + step)
            if server.square(x).y != x * x or server.square.submit(x).result(60).y != x * x:
                wrong.append(x)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong


def test_calls_within_calls(server):
    inner = []

    def f(x):
        inner.append(server.trapezoid(0.0, 1.0, 2, lambda x: server.square(x).y).sum)
        return inner[-1]

    assert server.trapezoid(0.0, 1.0, 3, f).sum == pytest.approx(0.375) and len(inner) == 4


def test_a_forked_child_frees_what_it_gets(server):
    assert server.square(2.0).y == 4.0
    child = os.fork()
    if child == 0:
        owner = ffi.cast("farcall_place *", take_places()._results_owner)
        os._exit(0 if owner.process == os.getpid() else 1)
    assert os.waitpid(child, 0)[1] == 0


def steps_of(call, count=50):
    """How many Python functions run for a call, in all threads."""
    called = [0]

    def note(_frame, event, _argument):
        called[0] += event == "call"

    for _ in range(count):
        call()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        for _ in range(count):
            call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return called[0] / count


def test_a_small_call_takes_few_steps(private):
    """Counts do not depend on how busy the machine is. They were 102 once."""
    assert steps_of(lambda: private.square(2.0)) < 50
