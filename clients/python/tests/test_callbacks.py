"""Functions that are passed to routines: what they are given, what they give, and what goes
wrong."""

import asyncio
import json
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

HERE = pathlib.Path(__file__).resolve().parent
FILE = HERE / "routines/calling.idl"


@pytest.fixture(params=["unix", "tcp"])
def calling(request, server, tcp):
    return {"unix": server, "tcp": tcp}[request.param].calling


def test_arrays_go_in_and_come_back(calling):
    # From nothing over what fits a message to what needs many frames.
    for n in (0, 1, 500, 3000, 1 << 20):
        x = np.arange(float(n))
        assert np.array_equal(calling.apply(x, lambda x: 2 * x).y, 2 * x), n


def test_a_function_takes_all_or_what_extents_do_not_say(server):
    x = np.arange(4.0)
    seen = []

    def noting(x, scale=3.0):
        seen.append(scale)
        return scale * x

    assert server.calling.apply(x, lambda n, x: n * x).y.tolist() == [0, 4, 8, 12]
    assert server.calling.apply(x, noting).y.tolist() == [0, 3, 6, 9] and seen == [3.0]
    assert server.calling.apply(x, lambda *given: given[0] * given[1]).y.tolist() == [0, 4, 8, 12]
    assert np.array_equal(server.calling.apply(x, np.sin).y, np.sin(x))
    assert server.trapezoid(0.0, 1.0, 1000, abs).sum == pytest.approx(0.5)


def test_shapes_are_the_callbacks_own(calling):
    a = np.arange(6.0).reshape(2, 3)
    seen = []

    def turned(a):
        seen.append((a.shape, a.dtype))
        return a.T

    assert calling.turn(a, turned).b.tolist() == a.T.tolist()
    assert seen == [((2, 3), np.dtype(float))]


def test_sizes_may_name_integers_of_the_routine(calling):
    def total(part):
        assert part.shape == (3,)
        return part.sum()

    assert calling.parts(2, np.arange(5.0), total).s == 3.0


def test_every_kind_of_parameter(calling):
    def f(c, s, r, z, w, name, none, count, text):
        assert (c, s, r, z, w) == ("A", -2, 0.5, 1.5 - 2.5j, 0.25 + 4j)
        assert (name, none, count, text) == ("name", None, 7, b"xyz")
        return count + 1, f"für {name}", [1, 2.5]

    r = calling.mixed(f)
    assert r.said == "für name" and r.total == 11.5


def test_arrays_of_strings(calling):
    def f(words, marks):
        assert (words, marks) == (["one", None, "three"], ["<", ">"])
        return ["«", None], [word and word.upper() for word in words], "für"

    assert calling.spell(f).said == "«ONE - THREE- für"
    # INOUT ones stay as they are where nothing is returned.
    assert (
        calling.spell(lambda words, marks: (None, np.array(["x", "y", "z"]), None)).said
        == "<x y z> -"
    )


@pytest.mark.parametrize(
    "upper", ["abc", ["a", "b"], ["a", "b", "c", "d"], ["a", "b", 3], ["a", "b\0", "c"], None, 7]
)
def test_wrong_arrays_of_strings(farcall, calling, upper):
    with pytest.raises(farcall.RoutineFailed, match="as upper, which is (a string|3 strings)"):
        calling.spell(lambda words, marks: (None, upper, None))


def test_inout_arrays_are_written_to_in_place(calling):
    def step(step, x):
        x[1:] += step * x[:-1].copy()

    x = np.array([1.0, 0.0, 0.0])
    assert calling.relax(2, x, step).x.tolist() == [1.0, 3.0, 2.0]
    assert x.tolist() == [1.0, 0.0, 0.0]


def test_a_function_may_give_less_than_there_is_room_for(server):
    r = server.some(10, lambda n: (3, np.arange(3.0)))
    assert r.found == 3 and r.sum == 3.0


def test_what_it_is_given_is_its_own(server):
    kept = []
    server.relax(3, np.zeros(50_000), lambda step, x: kept.append(x) or x.__setitem__(0, step))
    assert [x[0] for x in kept] == [1.0, 2.0, 3.0]
    with pytest.raises(Exception, match="read-only"):
        server.apply(np.zeros(3), lambda x: x.__setitem__(0, 1.0))


def test_it_runs_in_the_thread_that_waits(server):
    threads = set()
    server.trapezoid(0.0, 1.0, 3, lambda x: threads.add(threading.get_ident()) or x)
    assert threads == {threading.get_ident()}


def test_futures_and_coroutines(calling):
    calls = [calling.trapezoid.submit(0.0, float(top), 100, lambda x: x) for top in range(1, 9)]
    assert [round(call.result(30).sum, 6) for call in calls] == [
        top * top / 2 for top in range(1, 9)
    ]

    async def several():
        each = (calling.trapezoid.aio(0.0, 2.0, 10, lambda x, k=k: k * x) for k in range(5))
        return [round(r.sum, 6) for r in await asyncio.gather(*each)]

    assert asyncio.run(several()) == [0, 2, 4, 6, 8]


def test_many_threads_at_once(calling):
    wrong = []

    def work(k):
        for _ in range(5):
            if round(calling.trapezoid(0.0, 1.0, 20, lambda x: k).sum, 9) != k:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert not wrong


def test_functions_may_call_and_be_called_back(calling):
    def down(n):
        return n if n == 0 else 1 + calling.deep(n - 1, down).m

    assert calling.deep(5, down).m == 5


# ---- What goes wrong
# -----------------------------------------------------------------------------------------------------


def failing(x):
    raise ValueError(f"no value at {x}")


@pytest.mark.parametrize("how", ["call", "submit", "aio"])
def test_an_exception_is_the_cause_of_the_calls_error(farcall, calling, how):
    with pytest.raises(
        farcall.RoutineFailed, match=r"ValueError: no value at 0.0 .*calling/trapezoid\.f"
    ) as raised:
        if how == "call":
            calling.trapezoid(0.0, 1.0, 10, failing)
        elif how == "submit":
            calling.trapezoid.submit(0.0, 1.0, 10, failing).result(30)
        else:
            asyncio.run(calling.trapezoid.aio(0.0, 1.0, 10, failing))
    assert isinstance(raised.value.__cause__, ValueError)


def test_a_routine_may_look_and_go_on(calling):
    def sometimes(n):
        if n % 2:
            raise ValueError

    assert calling.careful(5, sometimes).failed == 2


@pytest.mark.parametrize(
    "function, words",
    [
        (lambda x: x[:2], r"shape \(2,\) as y, which is float64 of shape \(4,\)"),
        (lambda x: None, r"returned nothing as y.*return y"),
        (lambda x: 1j * x, r"complex128, the interface wants float64 .*parameter: y"),
        (lambda x: "abc", r"parameter: y"),
        (lambda x: (x, x), r"parameter: y|as y"),
    ],
)
def test_a_wrong_result_is_named(farcall, server, function, words):
    with pytest.raises(farcall.RoutineFailed, match=words) as raised:
        server.apply(np.zeros(4), function)
    assert isinstance(raised.value.__cause__, farcall.InvalidArgument)


def test_a_result_of_what_is_changed_in_place_is_refused(farcall, server):
    with pytest.raises(farcall.RoutineFailed, match=r"x, which is INOUT.*x\[\.\.\.\] = "):
        server.relax(1, np.zeros(3), lambda step, x: 2 * x)


@pytest.mark.parametrize(
    "function, words",
    [
        (
            lambda a, b, c: 0,
            r"3 arguments by position \(a, b, c\).*function of \(n, x\) or a function of \(x\) "
            r"that returns y",
        ),
        (lambda x, *, k: x, "by name"),
        (5, "not 5"),
    ],
)
def test_a_function_that_does_not_fit_is_refused_at_once(farcall, server, function, words):
    with pytest.raises(farcall.WrongType, match=words):
        server.apply(np.zeros(4), function)


def test_coroutine_functions_are_refused(farcall, server):
    async def f(x):
        return x

    with pytest.raises(farcall.WrongType, match="coroutine"):
        server.apply(np.zeros(4), f)


def test_an_interrupt_ends_the_call(private_calling):
    def interrupt(n):
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        private_calling.deep(1, interrupt)
    # A routine that goes on is ended, too.
    with pytest.raises(KeyboardInterrupt):
        private_calling.careful(1_000_000_000, interrupt)
    assert private_calling.deep(1, lambda n: n).m == 1


@pytest.fixture
def private_calling(farcall):
    with farcall.connect(files=[FILE], timeout=60) as server:
        server.calling.deep(1, lambda n: n)
        yield server.calling


def test_one_that_blocks_holds_up_its_own_call_alone(farcall, server):
    go_on, begun = threading.Event(), threading.Event()

    def block(n):
        begun.set()
        go_on.wait(30)
        return n

    blocked = server.deep.submit(1, block)
    assert begun.wait(30)
    assert server.deep.submit(2, lambda n: n).result(10).m == 2
    assert server.deep(3, lambda n: n).m == 3
    go_on.set()
    assert blocked.result(10).m == 1


def test_the_deadline_holds_while_a_function_blocks(farcall, server):
    go_on = threading.Event()
    begun = time.monotonic()
    call = server.deep.submit(1, lambda n: go_on.wait(20) and n, timeout=0.5)
    with pytest.raises(farcall.TimedOut):
        call.result(10)
    assert time.monotonic() - begun < 2
    go_on.set()
    begun = time.monotonic()
    with pytest.raises(farcall.TimedOut):
        server.deep(1, lambda n: time.sleep(1) or n, timeout=0.2)
    assert time.monotonic() - begun < 2


def test_cancel_holds_while_a_function_blocks(server):
    go_on, begun = threading.Event(), threading.Event()
    calls = []

    def block(n):
        calls.append(n)
        begun.set()
        go_on.wait(20)

    call = server.careful.submit(1_000_000_000, block)
    assert begun.wait(10) and call.cancel()
    go_on.set()
    time.sleep(0.5)
    # Nobody calls it after that.
    assert calls == [0]
    assert server.deep(1, lambda n: n).m == 1


def start_server(folder):
    """A server of its own, and where it is."""
    address = f"unix:{folder}/socket"
    program = (
        pathlib.Path(os.environ.get("FARCALL_STAGE", HERE.parents[2] / "build")) / "bin/farcall"
    )
    server = subprocess.Popen(
        [program, "serve", FILE, "--listen", address],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while not (folder / "socket").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    return server, address


def test_a_server_that_dies_meanwhile(farcall, tmp_path):
    server, address = start_server(tmp_path)
    try:
        with farcall.connect(address) as connection:
            connection.deep(1, lambda n: n)
            died = []

            def kill(n):
                server.kill()
                server.wait()
                died.append(time.monotonic())
                return n

            with pytest.raises(farcall.ConnectionLost):
                connection.deep(1, kill)
            assert time.monotonic() - died[0] < 1
    finally:
        server.kill()
        server.wait()


def test_a_client_that_dies_meanwhile(farcall, tmp_path):
    server, address = start_server(tmp_path)
    program = f"""
        import farcall, os, signal
        server = farcall.connect({address!r})
        server.deep(1, lambda n: os.kill(os.getpid(), signal.SIGKILL))
    """
    try:
        with farcall.connect(address) as connection:
            connection.deep(1, lambda n: n)
            done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], timeout=60)
            assert done.returncode == -signal.SIGKILL
            # Nothing is left running of it, and the server takes calls as before.
            deadline = time.monotonic() + 10
            while time.monotonic() < deadline and working(address):
                time.sleep(0.05)
            assert not working(address)
            assert connection.deep(2, lambda n: n).m == 2
    finally:
        server.terminate()
        server.wait()


def working(address):
    """Calls that a server has open, and executables that are not idle."""
    program = (
        pathlib.Path(os.environ.get("FARCALL_STAGE", HERE.parents[2] / "build")) / "bin/farcall"
    )
    said = subprocess.run(
        [program, "top", "--once", "--interval", "0.1", "--json", "--server", address],
        capture_output=True,
        text=True,
        timeout=30,
    )
    status = json.loads(said.stdout.splitlines()[0])
    return status["calls_open"] + sum(
        module["busy"] + module["ending"] for module in status["modules"]
    )
