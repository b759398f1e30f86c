"""Calls whose data is at servers that do not run them: it is brought to one that does."""

import asyncio
import gc
import pathlib
import shutil
import subprocess
import time

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
BEHAVIOUR = HERE / "routines/behaviour.idl"
SHARING = HERE / "routines/sharing.idl"
LIBRARIES = [HERE.parents[2] / "routines/lapack" / name for name in ("blas.idl", "lapack.idl")]
TWICE = """Module doubling;
Define twice(IN int n, INOUT double x[n]) Idempotent { for (int i = 0; i < n; i++) x[i] *= 2; }
"""
PLUS = TWICE.replace("doubling", "adding").replace("twice", "plus").replace("*= 2", "+= 1")
GONE = TWICE.replace("doubling", "going").replace("twice", "gone")



class Server:
    """A server that ends with the block."""

    def __init__(self, folder, name, *words):
        self.address = f"unix:{folder}/{name}"
        command = [shutil.which("farcall"), "serve", "--listen", self.address, *map(str, words)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        # It listens.
        assert self.process.stdout.readline()

    def __enter__(self):
        return self.address

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=30)
        self.process.stdout.close()


def eventually(is_true):
    end = time.monotonic() + 60
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.02)


def takers(server, routine, **sizes):
    import farcall

    try:
        return {row.server for row in server[routine].explain(**sizes) if not row.excluded}
    except farcall.Error:
        return set()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("brought")
    nothing, twice, plus = (folder / name for name in ("nothing.idl", "twice.idl", "plus.idl"))
    nothing.write_text("Module nothing;\nDefine nothing(OUT int one) { *one = 1; }\n")
    twice.write_text(TWICE)
    plus.write_text(PLUS)
    state = pytest.MonkeyPatch()
    state.setenv("XDG_STATE_HOME", str(folder / "state"))
    yield folder
    state.undo()


@pytest.fixture(scope="module")
def world(farcall, folder):
    """A server that publishes nothing of use, and the addresses of two that joined it: both publish
    LAPACK, the first also `twice`, the second also `plus`."""
    with Server(folder, "meta", folder / "nothing.idl") as address:
        join = ("--join", address, BEHAVIOUR, SHARING, *LIBRARIES)
        first = Server(folder, "a", *join, folder / "twice.idl")
        second = Server(folder, "b", *join, folder / "plus.idl")
        with first as a, second as b, farcall.connect(address) as meta:
            eventually(lambda: takers(meta, "square", x=2) == {a, b})
            eventually(lambda: takers(meta, "twice", n=1) == {a})
            eventually(lambda: takers(meta, "plus", n=1) == {b})
            yield meta, a, b


@pytest.fixture(scope="module")
def listed(farcall, folder):
    """The addresses of two servers that know nothing of each other; `twice` is at the first alone, and
    `plus` at the second."""
    first = Server(folder, "c", folder / "twice.idl")
    second = Server(folder, "d", folder / "plus.idl")
    with first as c, second as d:
        yield c, d


@pytest.fixture
def matrix():
    return np.random.default_rng(1).random((200, 200)) + 200 * np.eye(200)


def test_a_call_with_data_at_the_metaserver_runs_elsewhere(world, matrix):
    meta, *members = world
    d = meta.put(matrix)
    b = np.ones((200, 1))
    r = meta.dgesv(d, b)
    np.testing.assert_allclose(matrix @ r.b, b, atol=1e-9)
    assert r.server in members and d.server == meta.address
    # The value is there by now, and calls follow it.
    assert {meta.dgesv(d, b).server for _ in range(5)} == {r.server}
    np.testing.assert_array_equal(np.asarray(d), matrix)


def test_results_stay_and_go_on(farcall, world, matrix):
    meta, *members = world
    b = np.ones((200, 1))
    lu = meta.dgetrf(meta.put(matrix), stay=True)
    assert lu.a.server in members
    x = meta.dgetrs(lu.a, lu.ipiv, b)
    assert x.server == lu.a.server
    np.testing.assert_allclose(matrix @ x.b, b, atol=1e-9)
    assert lu.a.id in {one.id for one in meta.data()}
    kept = lu.a.leave()
    np.testing.assert_array_equal(np.asarray(meta.data(kept)), np.asarray(lu.a))
    lu.a.delete()
    with pytest.raises(farcall.NotFound):
        lu.a.fetch()


def test_calls_of_all_forms(farcall, world, matrix):
    meta, *members = world
    d = meta.put(matrix)
    b = np.ones(200)
    solution = np.linalg.solve(matrix, b)
    out = np.empty((200, 1))
    meta.dgesv(d, b.reshape(200, 1), out={"b": out})
    np.testing.assert_allclose(out[:, 0], solution)
    future = meta.dgesv.submit(meta.put(matrix), b, timeout=60)
    np.testing.assert_allclose(future.result(timeout=60).b, solution)
    np.testing.assert_allclose(asyncio.run(meta.dgesv.aio(d, b)).b, solution)
    for one in meta.map("dgesv", d, farcall.each([b * k for k in range(20)])):
        np.testing.assert_allclose(one.b, solution * one.element, atol=1e-12)
    for member in members:
        assert meta.dgesv(d, b, at=member, run_timeout=60).server == member


def test_a_chain_crosses_servers_before_it_has_run(world):
    meta, a, b = world
    x = np.arange(5000.0)
    call = meta.slow_double.submit(0.5, meta.put(x), stay=True, at=b)
    begin = time.monotonic()
    call = meta.twice.submit(call.data.x, stay=True)
    call = meta.plus.submit(call.data.x, stay=True)
    call = meta.twice.submit(call.data.x, stay=True)
    assert time.monotonic() - begin < 0.5
    np.testing.assert_array_equal(np.asarray(call.data.x), (x * 4 + 1) * 2)
    assert call.data.x.server == a


def test_data_of_several_servers_goes_into_one_call(world):
    meta, a, b = world
    large, small = np.random.default_rng(2).random((2, 90, 90))
    small = small[:, :9]
    both = meta.put(large, at=a), meta.put(small, at=b)
    r = meta.dgemm(*both, np.zeros((90, 9)), beta=0.0)
    np.testing.assert_allclose(r.c, large @ small)
    # The smaller one was brought.
    assert r.server == a
    r = meta.dgemm(both[1], both[0], np.zeros((9, 90)), transa="T", beta=0.0, at=b)
    np.testing.assert_allclose(r.c, small.T @ large)
    assert r.server == b
    zero = meta.put(np.zeros((90, 9)))
    assert meta.dgemm(*both, zero, beta=0.0).server in (a, b)


@pytest.mark.parametrize("shape", [(0,), (1,), (513,), (300_000,)])
def test_arrays_of_all_lengths(world, shape):
    meta, *_ = world
    x = np.arange(float(*shape))
    np.testing.assert_array_equal(meta.twice(meta.put(x)).x, 2 * x)
    np.testing.assert_array_equal(meta.plus(meta.put(x)).x, x + 1)


def test_failures_are_those_of_any_call(farcall, world):
    meta, a, b = world
    bad = meta.fail_late.submit(np.ones(3), stay=True, at=b)
    with pytest.raises(farcall.RoutineCrashed, match="signal 6"):
        meta.twice(bad.data.x)
    d = meta.put(np.ones(3))
    d.delete()
    said = f"no such data.*{d.id}.*parameter: x.*twice.*put it again"
    with pytest.raises(farcall.NotFound, match=said):
        meta.twice(d)
    with pytest.raises(farcall.InvalidArgument, match="another type"):
        meta.twice(meta.put(np.ones(3, "f4")))
    slow = meta.slow_double.submit(30.0, np.ones(3), stay=True, at=b)
    with pytest.raises(farcall.TimedOut):
        meta.twice(slow.data.x, timeout=0.3)
    slow.cancel()


def test_copies_go_with_their_data(farcall, world):
    meta, a, _ = world
    with farcall.connect(a) as own:

        def copies():
            return [one for one in own.data() if one.extents == (1234,)]

        d = meta.put(np.ones(1234))
        meta.twice(d)
        assert len(copies()) == 1
        d.delete()
        eventually(lambda: not copies())
        d = meta.put(np.ones(1234))
        future = meta.twice.submit(d)
        del d
        gc.collect()
        assert future.result(timeout=60).x[0] == 2
        del future
        gc.collect()
        eventually(lambda: not copies())


def test_a_server_that_is_gone_is_left(farcall, world, folder, tmp_path):
    meta, *members = world
    idl = tmp_path / "gone.idl"
    idl.write_text(GONE)
    d = meta.put(np.ones(3))
    for name in ("gone1", "gone2"):
        server = Server(tmp_path, name, "--join", meta.address, idl)
        with server as address:
            eventually(lambda: takers(meta, "gone", n=1) == {address})
            # The answer before this one counts for a moment.
            time.sleep(2.1)
            r = meta.gone(d)
            assert r.server == address and r.x[0] == 2
        eventually(lambda: not takers(meta, "gone", n=1))


def test_a_routine_explains_where_it_would_run(world, matrix):
    meta, a, b = world
    d = meta.put(matrix)
    rows = meta.dgesv.explain(d, np.ones((200, 1)))
    assert rows.chosen in (a, b)
    server = meta.dgesv(d, np.ones((200, 1))).server
    rows = meta.dgesv.explain(d, np.ones((200, 1)))
    assert rows.chosen == server and sum(not row.excluded for row in rows) == 1


def test_servers_of_a_list_need_not_know_each_other(farcall, listed):
    c, d = listed
    x = np.arange(5000.0)
    with farcall.connect([c, d]) as server:
        given = server.put(x)
        assert server.twice(given).server == c and server.plus(given).server == d
        one = server.twice.submit(given, stay=True)
        two = server.plus.submit(one.data.x, stay=True)
        three = server.twice.submit(two.data.x)
        np.testing.assert_array_equal(three.result(timeout=60).x, (x * 2 + 1) * 2)
        assert two.data.x.server == d
    with farcall.connect([c, d, "here"], files=[SHARING]) as server:
        np.testing.assert_array_equal(server.plus(server.put(x)).x, x + 1)
        np.testing.assert_array_equal(server.slow_double(0.0, server.put(x)).x, 2 * x)
