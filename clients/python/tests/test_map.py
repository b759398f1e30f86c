"""`Server.map`: elements of iterables and stacked arrays, their order, failures, bounds and ends."""

import asyncio
import gc
import itertools
import os
import signal
import threading
import time

import numpy as np
import pytest


def squares(results):
    return [r.y for r in results]


def test_numbers_of_lists_ranges_generators_and_arrays(server):
    wanted = [float(n) ** 2 for n in range(300)]
    forms = (
        range(300), [float(n) for n in range(300)], (n for n in range(300)), np.arange(300.0),
        np.arange(600.0)[::2] / 2, np.arange(300), list(np.arange(300.0)),
        [n if n % 2 else float(n) for n in range(300)], map(np.float32, range(300)),
    )  # fmt: skip
    for given in forms:
        assert squares(server.map("square", given)) == wanted
    assert squares(server.map(server.square, x=[3])) == [9]
    assert squares(server.map(server.square, [])) == []
    assert squares(server.map("behaviour/square", np.empty(0))) == []
    assert list(map(float, server.map(server.behaviour, [4]))) == [2]


def test_results_are_those_of_calls(server):
    (one,) = server.map("square", [1.5])
    called = server.square(1.5)
    assert repr(one) == repr(called) and dict(one) == dict(called) and one.value == one.y == 2.25
    assert one.server == called.server and one.placed is None and one + 1 == 3.25
    assert one.times.queued <= one.times.started <= one.times.finished
    assert type(one.times) is type(called.times)
    given = dict(c="A", s=-2, i=7, l=1 << 60, u=(1 << 64) - 1, f=0.5, d=0.25, z=1.5 - 2j, w=2j)
    (one,) = server.map("scalars", **{**given, "d": [0.25]})
    called = server.scalars(**given)
    assert dict(one) == dict(called)
    assert list(map(type, one)) == list(map(type, called))
    # Through the core's columns, too.
    keys = server.map(
        "scalars", *"A", -2, [7, -7], 1, 2, np.array([0.5, 1.5], np.float32), 1, 1j, 1j
    )
    assert [(r.i2, r.f2, r.c2) for r in keys] == [(7, 0.5, "A"), (-7, 1.5, "A")]


def test_rows_of_arrays(server, farcall):
    generator = np.random.default_rng(1)
    a = generator.random((40, 3, 3)) + 3 * np.eye(3)
    b = generator.random((40, 3))
    wanted = [server.dgesv(one, right) for one, right in zip(a, b)]
    forms = (
        (a, farcall.each(b)),
        (np.asfortranarray(a), b[:, :, None]),
        (a.transpose(0, 2, 1).copy().transpose(0, 2, 1), farcall.each(np.ascontiguousarray(b.T).T)),
        (list(a), farcall.each(list(b))),
        (iter(a), (one for one in b)),
        (a, farcall.each([list(one) for one in b])),
    )
    for left, right in forms:
        results = list(server.map("dgesv", left, right))
        assert len(results) == 40
        for one, called in zip(results, wanted):
            assert np.array_equal(one.b.reshape(3), called.b) and np.array_equal(one.a, called.a)
            assert np.array_equal(one.ipiv, called.ipiv) and one.info == 0
    with pytest.raises(
        farcall.WrongType, match=r"as many rows as there are elements \(40\).*farcall\.each"
    ):
        server.map("dgesv", a, b)
    same = list(server.map("dgesv", a[0], farcall.each(list(b))))
    assert np.allclose(same[7].b, np.linalg.solve(a[0], b[7]))
    large = np.arange(8 * 10_000.0).reshape(8, 10_000)
    assert [round(r.value) for r in server.map("dasum", large)] == [round(x.sum()) for x in large]


def test_what_differs_may_be_said(server, farcall):
    x = np.arange(3.0)
    with pytest.raises(farcall.WrongType, match=r"x.*farcall\.each.*farcall\.same|may be one list"):
        server.map("dasum", [1.0, 2.0, 3.0])
    assert [r.value for r in server.map("dasum", farcall.each([[1.0, 2.0], [3.0]]))] == [3, 3]
    both = server.map("ddot", farcall.same([1.0, 2.0, 3.0]), [x, 2 * x])
    assert [r.value for r in both] == [8, 16]
    assert [r.value for r in server.map("ddot", x, farcall.each(np.array([x, x])))] == [5, 5]
    with pytest.raises(farcall.WrongType, match=r"the same for all elements.*farcall\.each"):
        server.map("square", 2.0)
    with pytest.raises(farcall.WrongType, match="it has 4 dimensions, and the parameter has 1"):
        server.map("dasum", np.zeros((2, 2, 2, 2)))
    with pytest.raises(farcall.WrongType, match="int has no items"):
        server.map("square", farcall.each(3))
    names = [r.value for r in server.map("greet", ["Ada", None, "Bob"])]
    assert names == ["hello, Ada", "hello, nobody", "hello, Bob"]
    assert [list(r.bytes) for r in server.map("lengths", [["a", "bc"], ["def"]], n=[2, 1])] == [
        [1, 2],
        [3],
    ]


def test_lengths_that_differ_are_refused_before_anything_runs(server, farcall):
    with pytest.raises(farcall.InvalidArgument, match="x has 3, y has 2"):
        server.map("ddot", np.ones((3, 2)), np.ones((2, 2)))
    read = []
    endless = (read.append(n) or np.full(2, float(n)) for n in itertools.count())
    assert [r.value for r in server.map("ddot", np.ones((3, 2)), endless)] == [0, 2, 4]
    # As with zip, what ends first ends it.
    assert len(list(server.map("ddot", iter(np.ones((5, 2))), iter(np.ones((3, 2)))))) == 3


def test_wrong_routines_and_options(server, farcall):
    with pytest.raises(farcall.NotFound):
        server.map("no_such", [1])
    with pytest.raises(farcall.WrongType, match="not a routine of a server"):
        server.map(print, [1])
    with pytest.raises(farcall.WrongType, match="takes 1 arguments by position|at most 1"):
        server.map("square", [1], 2)
    with pytest.raises(farcall.WrongType, match='no argument "z"'):
        server.map("square", [1], z=2)
    with pytest.raises(farcall.WrongType, match="passed twice"):
        server.map("square", [1], x=[2])
    windows = {0: farcall.InvalidArgument, -1: farcall.InvalidArgument, 1.5: farcall.WrongType,
               "all": farcall.WrongType, True: farcall.InvalidArgument}  # fmt: skip
    for window, kind in windows.items():
        with pytest.raises(kind, match="window="):
            server.map("square", [1], window=window)
    mistakes = (
        dict(order=1), dict(errors="ignore"), dict(progress=3), dict(out=np.ones(1)),
        dict(inplace=True), dict(on_output=print), dict(timeout=-1), dict(cores=0),
    )  # fmt: skip
    for wrong in mistakes:
        with pytest.raises(farcall.InvalidArgument):
            server.map("square", [1], **wrong)
    # Options that are called like parameters have an underscore.
    assert [r.times for r in server.map("clash", out=[4.0], timeout=2.0, timeout_=20, lambda_=3.0)]
    assert list(server["map"].submit(2.0).result()) == [2]
    assert server["map"](2.0)["call"] == 2


def test_an_element_that_fails(server, farcall):
    given = [2 if n == 7 else 0 for n in range(20)]
    results = server.map("leave", given, errors="return", window=4)
    outcomes = list(results)
    assert len(outcomes) == 20 and all(isinstance(one, farcall.RoutineExited) for one in outcomes)
    assert [one.element for one in outcomes] == list(range(20)) and "element: 7" in str(outcomes[7])
    values = [1.0, 2.0, "three", 4.0]
    outcomes = list(server.map("square", values, errors="return"))
    assert [type(one) for one in outcomes][2] is farcall.WrongType and outcomes[2].element == 2
    assert [one.y for one in outcomes[:2] + outcomes[3:]] == [1, 4, 16]
    results = server.map("square", values)
    assert [next(results).y, next(results).y] == [1, 4]
    with pytest.raises(farcall.WrongType, match="a real number") as raised:
        next(results)
    assert raised.value.element == 2
    assert list(results) == [], "it has ended"
    infos = server.map("dgesv", np.array([np.eye(2), np.zeros((2, 2))]), np.ones(2))
    assert [r.info for r in infos] == [0, 1]


@pytest.mark.parametrize("order", [True, False])
@pytest.mark.parametrize("kind", [list, iter])
def test_no_element_that_is_refused_is_lost(server, farcall, kind, order):
    for items in (["x"], ["x", "y"], [1.0, "x"], ["x", 1.0], [1.0, "x", 2.0, "y"]):
        wanted = [float(item) ** 2 if item not in ("x", "y") else None for item in items]
        given = list(server.map(server.square, kind(items), order=order, errors="return"))
        got = [None if isinstance(one, farcall.WrongType) else one.y for one in given]
        assert len(got) == len(items)
        assert got == wanted if order else sorted(got, key=str) == sorted(wanted, key=str)
        with pytest.raises(farcall.WrongType, match="real number"):
            list(server.map(server.square, kind(items), order=order))


def test_in_order_or_as_they_come(server):
    seconds = [0.4, 0.01, 0.01]
    assert [r.slept for r in server.map("pause", seconds)] == seconds
    as_they_come = [r.slept for r in server.map("pause", seconds, order=False)]
    assert sorted(as_they_come) == sorted(seconds)
    if os.cpu_count() > 1:
        assert as_they_come[-1] == 0.4


def test_iterables_are_read_no_further_than_needed(server):
    read = []
    results = server.map("square", (read.append(n) or n for n in itertools.count()), window=10)
    assert read == []
    assert [next(results).y for _ in range(25)] == [float(n) ** 2 for n in range(25)]
    assert len(read) <= 36
    results.close()
    assert list(results) == [] and "closed" in repr(results)
    # One that is slow does not keep back what is there.
    begin = time.monotonic()
    slow = (time.sleep(0.2) or n for n in range(5))
    assert next(server.map("square", slow)).y == 0
    assert time.monotonic() - begin < 0.9


def test_an_iterable_that_raises(server):
    def failing():
        yield from range(5)
        raise KeyError("no sixth")

    results = server.map("square", failing())
    assert [next(results).y for _ in range(5)] == [0, 1, 4, 9, 16]
    with pytest.raises(KeyError, match="no sixth"):
        next(results)
    outcomes = []
    with pytest.raises(KeyError):
        outcomes.extend(server.map("square", failing(), order=False, errors="return"))
    assert len(outcomes) == 5


def test_who_wants_no_more_has_the_calls_cancelled(narrow):
    def until_free():
        begin = time.monotonic()
        assert narrow.square(3).y == 9
        return time.monotonic() - begin

    for _ in narrow.map("pause", itertools.repeat(0.01)):
        break
    assert until_free() < 5
    results = narrow.map("pause", itertools.chain([0.01], itertools.repeat(30)))
    next(results)
    del results
    gc.collect()
    assert until_free() < 5
    with narrow.map("pause", [0.01, 30, 30]) as results:
        next(results)
    assert until_free() < 5
    with pytest.raises(ZeroDivisionError):
        for _ in narrow.map("pause", [0.01, 30, 30]):
            1 / 0  # noqa: B018
    assert until_free() < 5


def test_interrupts_stop_it_at_once(private):
    private.pause(0.01)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(private.map("pause", [30.0] * 10))
    assert time.monotonic() - begin < 5
    begin = time.monotonic()
    assert private.square(3).y == 9 and time.monotonic() - begin < 5


def test_a_server_that_goes(farcall, private):
    results = private.map("pause", itertools.repeat(0.02), window=20)
    next(results)
    threading.Timer(0.3, private.close).start()
    with pytest.raises(farcall.ConnectionLost):
        for _ in results:
            pass
    with pytest.raises(farcall.ConnectionLost):
        list(private.map("square", [1]))


def test_a_server_that_is_killed(farcall, tmp_path):
    import subprocess
    import sys

    address = f"unix:{tmp_path}/s"
    idl = os.path.join(os.path.dirname(__file__), "routines/behaviour.idl")
    command = [os.environ.get("FARCALL_PROGRAM", "farcall"), "serve", "--listen", address, idl]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=sys.stderr)
    try:
        until = time.monotonic() + 30
        while True:
            try:
                server = farcall.connect(address)
                break
            except farcall.Error:
                assert time.monotonic() < until
                time.sleep(0.05)
        results = server.map("pause", [0.05] * 60, errors="return")
        assert next(results).slept == 0.05
        child.kill()
        rest = list(results)
        assert len(rest) == 59 and isinstance(rest[-1], farcall.ConnectionLost)
        server.close()
    finally:
        child.kill()
        child.wait()


def test_time_limits(server, farcall):
    outcomes = list(server.map("pause", [0.01, 30, 0.01], timeout=1, errors="return"))
    assert isinstance(outcomes[1], farcall.TimedOut) and outcomes[1].element == 1
    assert outcomes[0].slept == 0.01
    outcomes = list(server.map("pause", [30, 0.01], run_timeout=0.5, errors="return"))
    assert isinstance(outcomes[0], farcall.TimedOut) and outcomes[1].slept == 0.01


def test_progress_is_shown(server, capfd, monkeypatch):
    told = []
    assert len(list(server.map("square", range(10), progress=told.append))) == 10
    assert told[-1].text == "10 of 10" and told[-1].done == 1 and told[-1].state == "running"
    monkeypatch.setenv("FARCALL_PROGRESS", "1")
    assert len(list(server.map("square", range(10), progress=True))) == 10
    shown = capfd.readouterr().err
    assert "square 100 %" in shown and "10 of 10" in shown and shown.endswith("\n")


def test_functions_are_called(server):
    sums = server.map("trapezoid", [0.0, 0.0], [1.0, 2.0], 100, lambda x: 2 * x)
    assert [round(r.sum, 6) for r in sums] == [1, 4]
    with pytest.raises(Exception, match="at 0") as raised:
        list(server.map("trapezoid", [0.0], 1.0, 4, _fails))
    assert isinstance(raised.value.__cause__, ValueError)


def _fails(x):
    raise ValueError(f"at {x:g}")


def test_other_work_of_the_connection_goes_on(server):
    """Futures and calls of other threads, and other maps within the results of one."""
    results = []

    def work(seed):
        own = list(server.map("square", range(seed, seed + 500), window=50))
        results.append([one.y for one in own] == [float(n) ** 2 for n in range(seed, seed + 500)])

    threads = [threading.Thread(target=work, args=(n * 1000,)) for n in range(4)]
    futures = [server.square.submit(n) for n in range(100)]
    for one in threads:
        one.start()
    nested = [
        [r.y for r in server.map("square", [outer.y, outer.y + 1])]
        for outer in server.map("square", range(30), window=5)
    ]
    for one in threads:
        one.join(60)
    assert results == [True] * 4
    assert [one.result(20).y for one in futures] == [float(n) ** 2 for n in range(100)]
    assert nested == [[(n * n) ** 2, (n * n + 1) ** 2] for n in map(float, range(30))]


def test_coroutines(server, farcall):
    async def all_of(given, **options):
        return [r.y async for r in server.map("square", given, **options)]

    async def both():
        return await asyncio.gather(all_of(range(100)), all_of(np.arange(50.0), order=False))

    one, other = asyncio.run(both())
    assert one == [float(n) ** 2 for n in range(100)] and sorted(other) == one[:50]

    async def cancelled():
        async for _ in server.map("pause", [30.0] * 3):
            pass

    async def waits():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(cancelled(), 0.3)

    begin = time.monotonic()
    asyncio.run(waits())
    assert time.monotonic() - begin < 10


def test_calls_that_are_kept(private):
    results = private.map("square", range(3), keep=60, label="sweep")
    assert [r.y for r in results] == [0, 1, 4]
    labels = sorted(one.label for one in private.kept())
    assert labels == ["sweep[0]", "sweep[1]", "sweep[2]"]


def test_memory_stays_bounded(server):
    import resource

    def rows(count):
        for n in range(count):
            yield np.full(1000, float(n))

    for _ in server.map("dasum", rows(2000)):
        pass
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    count = 0
    for number, one in enumerate(server.map("dasum", rows(6000))):
        assert one.value == 1000.0 * number
        count += 1
    numbers = sum(1 for _ in server.map("square", (float(n) for n in range(50_000))))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert (count, numbers) == (6000, 50_000) and grown < 40 << 10, f"{grown} KiB more"


def test_tcp(tcp):
    assert squares(tcp.map("square", range(100))) == [float(n) ** 2 for n in range(100)]
    x = np.random.default_rng(1).random((20, 5000))
    assert np.allclose([r.value for r in tcp.map("dasum", x)], x.sum(axis=1))
