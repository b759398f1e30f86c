"""Arrays of farcall.empty: used where they lie on one host, and arrays like any other in every
respect."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

SHARING = Path(__file__).resolve().parent / "routines/sharing.idl"
# Pooled memory of this size may be known to the server that tests share: where another one is to
# use an array where it lies, the array has another size.
N = 2000


def filled(farcall, shape, value, **how):
    array = farcall.empty(shape, **how)
    array[...] = value
    return array


def is_shared(server, x):
    """Whether the routine sees what is written while it runs, which only a test may do."""
    x[...] = 0
    call = server.see.submit(x, seconds=1)
    time.sleep(0.2)
    x[0] = 5
    return call.result(20).seen == 5


def test_arrays_are_like_numpys(farcall):
    a = farcall.empty((30, 40), np.complex64, "F")
    assert (a.shape, a.dtype, a.flags.f_contiguous, a.flags.writeable) == (
        (30, 40),
        np.complex64,
        True,
        True,
    )
    assert (
        farcall.empty(3).shape == (3,)
        and farcall.empty((0, 5), np.int8).size == 0
        and farcall.empty(()).shape == ()
    )
    assert farcall.empty_like(a).flags.f_contiguous and farcall.empty_like(a.T).flags.c_contiguous
    assert farcall.empty_like(a, np.float64, "C").dtype == np.float64
    # Memory that another array had before.
    for _ in range(3):
        a = farcall.zeros((500, 500))
        assert not a.any()
        a[...] = 1
    point = np.dtype([("x", float), ("n", np.int32)], align=True)
    assert farcall.zeros(1000, point)["n"].sum() == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"shape": -1},
        {"shape": (2, 1.5)},
        {"shape": 5, "dtype": object},
        {"shape": "ab"},
        {"shape": [9, None]},
    ],
)
def test_wrong_shapes_and_types(farcall, wrong):
    with pytest.raises(farcall.InvalidArgument, match="make an array"):
        farcall.empty(**wrong)


def test_too_much_is_refused(farcall):
    with pytest.raises(
        farcall.LimitExceeded,
        match="make an array: 36893488147419103232 bytes are more than any .*; make it in parts",
    ):
        farcall.empty(1 << 62)
    for count in (1 << 40, 1 << 59):
        with pytest.raises(
            farcall.LimitExceeded,
            match=f"make an array: {8 * count} bytes exceed the limit of a program .*; free others",
        ) as told:
            farcall.empty(count)
        assert "manifest" not in str(told.value)


def test_the_routine_uses_them_where_they_lie(server, tcp, farcall):
    x = farcall.empty(N)
    assert is_shared(server, x)
    assert is_shared(server, x[600:]), "a slice that begins at 16 bytes"
    assert not is_shared(server, x[601:]), "the wire wants 16"
    assert not is_shared(server, np.empty(N))
    assert not is_shared(tcp, x)
    assert is_shared(server, farcall.empty((2, N))[1])


def test_results_are_right_wherever_they_lie(server, tcp, farcall):
    for there in (server, tcp):
        a = farcall.empty((60, 60), order="F")
        a[...] = np.eye(60) * 2
        b, x, ipiv = (
            filled(farcall, (60, 20), 1),
            farcall.empty((60, 20), order="F"),
            np.empty(60, np.int32),
        )
        r = there.dgesv(a, b, out={"b": x, "ipiv": ipiv})
        assert r.b is x and np.allclose(x, 0.5) and (a == np.eye(60) * 2).all() and (b == 1).all()
        r = there.dgesv(a, b, inplace=True)
        assert r.b is b and np.allclose(b, 0.5)
        wide = filled(farcall, (100, 60), 0.0, order="F")
        wide[20:80] = np.eye(60) * 4
        r = there.dgesv(wide[20:80], np.ones((60, 20)), lda=100, inplace=True)
        assert (
            np.allclose(r.b, 0.25)
            and (wide[:20] == 0).all()
            and (wide[80:] == 0).all()
            and wide[20, 0] == 4
        )


def test_no_argument_is_changed_unasked(server, farcall):
    x = filled(farcall, N, 3)
    r = server.slow_double(0, x)
    assert (x == 3).all() and (r.x == 6).all()


def test_what_overlaps_within_a_call_is_copied(server, farcall):
    """The routine would read what it has written."""
    x = farcall.empty(2 * N)
    x[...] = np.arange(2 * N)
    r = server.shift(x[:N], m=N, out={"y": x[2 : N + 2]})
    assert (x[2 : N + 2] == np.arange(N) + 1).all() and r.y.base is not None
    a = filled(farcall, (80, 80), 0)
    a[...] = np.eye(80) + np.triu(np.ones((80, 80)))
    expected = server.dgesv(np.array(a), np.ones(80)).a
    r = server.dgesv(a, np.ones(80), out={"a": a.T})
    assert np.allclose(r.a, expected)


def test_two_calls_may_read_and_one_may_write(server, farcall):
    x = filled(farcall, 2 * N, 0)
    reads = [server.see.submit(x, seconds=0.6) for _ in range(2)]
    with pytest.raises(farcall.InvalidArgument, match=r"is used by a running call.*parameter: x"):
        server.slow_double(0, x, inplace=True)
    assert [one.result(10).seen for one in reads] == [0, 0]
    writes = [server.slow_double.submit(0.4, part, inplace=True) for part in (x[:N], x[N:])]
    with pytest.raises(
        farcall.InvalidArgument, match=r"a running call writes to this array.*wait for"
    ):
        server.see(x, seconds=0)
    assert all(one.result(10).x is not None for one in writes)
    x[...] = 1
    assert server.see(x, seconds=0).seen == 1 and server.slow_double(0, x, inplace=True).x[-1] == 2


def test_a_call_that_is_given_up_writes_no_more(farcall):
    with farcall.connect(files=[SHARING]) as server:
        n = 50 * N
        x = filled(farcall, 2 * n, 1)
        # Two executables, which start before time is measured.
        for one in [server.slow_double.submit(0.2, np.ones(2)) for _ in range(2)]:
            one.result(20)
        other = server.slow_double.submit(2.0, x[n:], inplace=True)
        with pytest.raises(farcall.TimedOut):
            server.scribble(x[:n], inplace=True, timeout=0.6)
        seen = x[:n].copy()
        assert seen[0] > 1, "it wrote where the array lies"
        for _ in range(20):
            time.sleep(0.01)
            assert (x[:n] == seen).all()
        other.result(20)
        assert (x[n:] == 2).all(), "the other call goes on"
        assert (server.slow_double(0, x, inplace=True).x[n:] == 4).all(), "from now on it is copied"


def test_failures_leave_the_array_usable(server, farcall):
    x = filled(farcall, N, 1)
    for _ in range(2):
        with pytest.raises(farcall.RoutineCrashed):
            server.fail_late(x, inplace=True)
        with pytest.raises(farcall.InvalidArgument):
            server.slow_double("slow", x, inplace=True)
        assert is_shared(server, x), "the server said that the call is over"


def test_a_result_with_too_little_room_is_refused(server, farcall):
    y = farcall.empty(N)
    with pytest.raises(farcall.InvalidArgument, match="y has shape"):
        server.shift(np.ones(N), m=N + 1, out=y)


def test_they_outlive_the_connection_and_serve_the_next(farcall):
    x = farcall.empty(100 * N)
    with farcall.connect(files=[SHARING]) as first:
        assert is_shared(first, x)
        with farcall.connect(files=[SHARING]) as second:
            assert not is_shared(second, x), "one server at a time knows it"
    x[...] = 4
    with farcall.connect(files=[SHARING]) as third:
        assert third.slow_double(0, x, inplace=True).x[0] == 8
        assert is_shared(third, x)
    assert x[0] == 5


def test_memory_is_used_again(farcall, server):
    def address():
        x = filled(farcall, 1 << 18, 1)
        server.see(x, seconds=0)
        return x.__array_interface__["data"][0]

    assert len({address() for _ in range(20)}) == 1
    descriptors = len(os.listdir("/proc/self/fd"))
    for _ in range(300):
        address()
    assert len(os.listdir("/proc/self/fd")) <= descriptors + 2


def test_a_call_keeps_its_memory(server, farcall):
    x = filled(farcall, N, 3)
    call = server.slow_double.submit(0.3, x, inplace=True)
    del x
    others = [filled(farcall, N, 9) for _ in range(10)]
    assert (call.result(10).x == 6).all() and all((one == 9).all() for one in others)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forks(server, farcall):
    x, busy = filled(farcall, N, 1), filled(farcall, N, 1)
    call = server.slow_double.submit(0.5, busy, inplace=True)
    told, tell = os.pipe()
    process = os.fork()
    if process == 0:
        os.read(told, 1)
        good = (x == 1).all() and (busy == 1).all()
        x[...] = busy[...] = 9
        again = filled(farcall, N, 5)
        os._exit(0 if good and (again == 5).all() else 1)
    assert (call.result(10).x == 2).all(), "a call that was under way goes on in the parent"
    x[...] = 7
    assert (server.slow_double(0, x, inplace=True).x == 14).all()
    os.write(tell, b"x")
    assert os.waitpid(process, 0)[1] == 0
    assert (busy == 2).all() and (x == 14).all()
    for descriptor in (told, tell):
        os.close(descriptor)
    assert is_shared(server, farcall.empty(N))


def test_more_arrays_than_descriptors():
    program = """
        import resource
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
        import farcall, sys, numpy as np
        server = farcall.connect(files=[sys.argv[1]])
        arrays = [farcall.zeros(1000) for _ in range(1000)]
        for index, array in enumerate(arrays):
            array[...] = index
            server.slow_double(0, array, inplace=True)
        assert all((array == 2 * index).all() for index, array in enumerate(arrays))
        del arrays, array
        for _ in range(50):
            assert (server.slow_double(0, farcall.zeros(1000) + 1).x == 2).all()
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(SHARING)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
