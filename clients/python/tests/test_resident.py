"""Data: values that stay at a server."""

import asyncio
import concurrent.futures
import copy
import gc
import json
import os
import pickle
import time

import numpy as np
import pytest


def eventually(is_true):
    end = time.monotonic() + 20
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture(params=["unix", "tcp"])
def anywhere(request, server):
    return request.getfixturevalue("server" if request.param == "unix" else "tcp")


def test_a_matrix_is_sent_once_and_solved_with_twice(farcall, anywhere):
    a = np.random.default_rng(1).random((200, 200)) + 200 * np.eye(200)
    b = np.ones((200, 1))
    d = anywhere.put(a)
    assert (d.shape, d.ndim, d.size, d.nbytes, len(d)) == ((200, 200), 2, 40_000, 320_000, 200)
    assert d.dtype == np.float64 and "float64[200, 200]" in repr(d)
    assert d.server == anywhere.address
    for _ in range(2):
        np.testing.assert_allclose(a @ anywhere.dgesv(d, b).b, b, atol=1e-9)
    np.testing.assert_array_equal(np.asarray(d), a)
    np.testing.assert_array_equal(d.fetch(timeout=20), a)
    # Later changes are the program's own.
    a[:] = 0
    assert np.asarray(d).any()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["i1", "u2", "i4", "i8", "u8", "f4", "f8", "c8", "c16"])
def test_values_come_back_as_they_were(server, kind, order):
    values = np.arange(24).astype(kind).reshape((2, 3, 4), order=order)
    d = server.put(values)
    assert d.dtype == values.dtype and d.shape == (2, 3, 4)
    np.testing.assert_array_equal(np.asarray(d), values)
    np.testing.assert_array_equal(np.asarray(server.put(values[:, ::2])), values[:, ::2])


def test_what_numpy_makes_an_array_of(farcall, server):
    assert np.asarray(server.put([1.0, 2.0])).tolist() == [1.0, 2.0]
    assert np.asarray(server.put(5)).tolist() == [5]
    assert np.asarray(server.put(np.arange(3, dtype=">f8"))).tolist() == [0, 1, 2]
    assert np.asarray(server.put(np.zeros((0, 3)))).shape == (0, 3)
    assert np.asarray(server.put(np.broadcast_to(2.0, (2, 3)))).tolist() == [[2] * 3] * 2
    assert np.asarray(server.put(np.arange(6)[::-2])).tolist() == [5, 3, 1]
    assert np.asarray(server.put(server.put([1.0]))).tolist() == [1]
    assert server.put(np.zeros((1,) * 15)).ndim == 15
    assert len(server.put([1.0], lease=1e300).id) == len(server.put([1.0], lease=float("inf")).id)


@pytest.mark.parametrize(
    "wrong, reason",
    [
        ("text", "elements of <U4"),
        ([object()], "as this list has them"),
        (None, "as this NoneType"),
        ({"a": 1}, "as this dict"),
        (10**30, "as this int"),
        ([[1, 2], [3]], "put data"),
        (np.ma.array([1.0], mask=[True]), "masked.*filled"),
        (np.zeros(2, np.float16), 'float16; convert it: .astype."f4"'),
        (np.zeros(2, bool), 'bool; convert it: .astype."u1"'),
        (np.zeros(2, "M8[s]"), 'astype."i8"'),
        (np.zeros(2, [("x", "f8")]), "array of numbers"),
    ],
)
def test_what_cannot_be_data_is_refused_with_a_way_out(farcall, server, wrong, reason):
    with pytest.raises(farcall.WrongType, match=reason):
        server.put(wrong)


def test_wrong_options_of_put_are_explained(farcall, server):
    with pytest.raises(farcall.InvalidArgument, match="15 dimensions"):
        server.put(np.zeros((1,) * 16))
    with pytest.raises(farcall.InvalidArgument, match="a lease of -1 s"):
        server.put([1.0], lease=-1)
    with pytest.raises(farcall.WrongType, match="a lease of 'x'"):
        server.put([1.0], lease="x")
    with pytest.raises(farcall.InvalidArgument, match="a timeout of 0 s"):
        server.put([1.0], timeout=0)
    with pytest.raises(farcall.NotFound, match='no server is called "nowhere"'):
        server.put([1.0], at="nowhere")


def test_characters_come_back_as_an_array(server):
    letters = np.frombuffer(b"hel\0", "S1")
    for values in [letters, letters.reshape(2, 2), letters[:1], letters[:0]]:
        came = np.asarray(server.put(values))
        assert came.dtype == values.dtype and came.shape == values.shape
        assert came.tobytes() == values.tobytes()


def test_results_stay_and_are_arguments_of_calls(anywhere):
    rng = np.random.default_rng(2)
    a, b = rng.random((100, 100)), rng.random((100, 100))
    lu = anywhere.dgetrf(a.copy(), stay=True)
    assert lu.info == 0 and lu.a.shape == (100, 100)
    x = anywhere.dgetrs(lu.a, lu.ipiv, b)
    np.testing.assert_allclose(a @ x.b, b, atol=1e-9)
    some = anywhere.dgetrf(a.copy(), stay="a")
    assert isinstance(some.ipiv, np.ndarray) and not isinstance(some.a, np.ndarray)
    np.testing.assert_allclose(np.asarray(some.a), np.asarray(lu.a))


def test_map_executors_and_coroutines_take_data_and_let_results_stay(anywhere):
    a = np.random.default_rng(4).random((50, 50)) + 50 * np.eye(50)
    d, right = anywhere.put(a), [np.full((50, 1), float(k)) for k in range(5)]

    def check(results):
        assert len(results) == 5
        for k, one in enumerate(results):
            assert not isinstance(one.b, np.ndarray)
            np.testing.assert_allclose(a @ np.asarray(one.b), right[k], atol=1e-9)

    check(list(anywhere.map("dgesv", d, right, stay=True)))
    check(list(anywhere.map("dgesv", [d] * 5, right, stay="b")))
    with anywhere.executor() as executor:
        check(list(executor.map(anywhere.dgesv.options(stay=True), [d] * 5, right)))
        check([executor.submit(anywhere.dgesv, d, b, stay=True).result() for b in right])

    async def solve():
        lu = await anywhere.dgetrf.aio(d, stay=True)
        calls = (anywhere.dgetrs.aio(lu.a, lu.ipiv, b, stay=["B"]) for b in right)
        return await asyncio.gather(*calls)

    check(asyncio.run(solve()))

    def fetch(_):
        return np.asarray(d)[3, 4] == a[3, 4]

    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        assert all(threads.map(fetch, range(40)))


def test_a_chain_is_submitted_before_its_first_call_has_ended(anywhere):
    rng = np.random.default_rng(3)
    a = rng.random((60, 60))
    c = np.zeros((60, 60))
    first = anywhere.dgemm(a, a, c, beta=0.0, stay=True)
    future = anywhere.dgemm.submit(first.c, a, c, beta=0.0, stay=True)
    for _ in range(5):
        future = anywhere.dgemm.submit(future.data.c, a, c, beta=0.0, stay=True)
    power = np.asarray(future.data["c"])
    np.testing.assert_allclose(power, np.linalg.matrix_power(a, 8))
    assert future.result(20).c.shape == (60, 60)
    np.testing.assert_allclose(np.asarray(future.data.c), power)


def test_data_goes_with_its_last_reference(server):
    before = {one.id for one in server.data()}

    def own():
        return [one for one in server.data() if one.id not in before]

    d = server.put(np.arange(1000.0))
    (found,) = own()
    assert (found.id, found.state, found.type, found.extents) == (d.id, "there", "double", (1000,))
    assert found.bytes >= 8000 and found.seconds_left is None
    assert json.dumps(found)
    again = server.data(d.id)
    assert np.asarray(again)[-1] == 999
    del again
    gc.collect()
    assert len(own()) == 1
    del d
    gc.collect()
    eventually(lambda: not own())


def test_deleted_data_is_not_found(farcall, server):
    d = server.put(np.arange(3.0))
    d.delete()
    with pytest.raises(farcall.NotFound, match="no such data"):
        np.asarray(d)
    with pytest.raises(farcall.NotFound, match="farcall data"):
        server.data(d.id)
    with pytest.raises(farcall.InvalidArgument, match="hexadecimal"):
        server.data("nothing")
    with pytest.raises(farcall.WrongType):
        server.data(3)


def test_a_lease_outlasts_the_connection(farcall, private):
    with farcall.connect(private.address) as other:
        left = other.put(np.arange(4.0), lease=60).leave()
        gone = other.put(np.arange(4.0)).id
    eventually(lambda: gone not in [one.id for one in private.data()])
    found = private.data(left)
    assert np.asarray(found).tolist() == [0, 1, 2, 3]
    (state,) = [one for one in private.data() if one.id == left]
    assert 50 < state.seconds_left <= 60
    found.delete()


def test_misuse_is_explained(farcall, server, private):
    d = server.put(np.arange(4.0))
    with pytest.raises(farcall.InvalidArgument, match="another type"):
        server.dgesv(d, np.ones((2, 1)))
    with pytest.raises(farcall.InvalidArgument, match="another connection"):
        private.prefix(d)
    with pytest.raises(farcall.WrongType, match="Server.data"):
        pickle.dumps(d)
    with pytest.raises(farcall.WrongType, match="stay"):
        server.dgesv(np.eye(2), np.ones((2, 1)), stay=3)
    with pytest.raises(farcall.WrongType, match="lease"):
        server.dgesv(np.eye(2), np.ones((2, 1)), lease=3)
    with pytest.raises(farcall.InvalidArgument, match='no result "y"'):
        server.dgesv(np.eye(2), np.ones((2, 1)), stay=["y"])
    with pytest.raises(farcall.InvalidArgument, match="cannot stay"):
        server.dgesv(np.eye(2), np.ones((2, 1)), stay=["b"], out={"b": np.ones((2, 1))})
    assert copy.copy(d) is d and copy.deepcopy([d])[0] is d
    with pytest.raises(farcall.WrongType, match="numpy.asarray"):
        d[0]
    with pytest.raises(farcall.WrongType, match="numpy.asarray"):
        list(d)
    matrix = server.put(np.eye(2))
    with pytest.raises(farcall.WrongType, match="a is data, which never changes"):
        server.dgesv(matrix, np.ones((2, 1)), inplace=True)
    for options in ({}, {"stay": True}):
        given = matrix if not options else np.eye(2)
        with pytest.raises(farcall.WrongType, match="kept call survives its server"):
            server.dgesv.submit(given, np.ones((2, 1)), keep=60, **options).result()
    future = server.dgesv.submit(matrix, np.ones((2, 1)), stay=True)
    assert future.data["B"].id == future.data.b.id
    with pytest.raises(farcall.NotFound, match="there are a, ipiv, b"):
        future.data["y"]
    with pytest.raises(farcall.NotFound, match='called "y"'):
        future.data.y
    future.result()
    with pytest.raises(ValueError, match="copy"):
        np.asarray(d, copy=False) if np.__version__ >= "2" else d.__array__(copy=False)


def test_a_fetch_that_is_late_and_a_call_that_failed_say_so(farcall, server):
    slow = server.slow_double.submit(0.5, np.ones(3), stay=True)
    assert "coming" in [one.state for one in server.data()]
    with pytest.raises(farcall.TimedOut, match="fetch data.*may still run.*timeout: 0.05 s"):
        slow.data.x.fetch(timeout=0.05)
    assert slow.data.x.fetch().tolist() == [2, 2, 2]
    # It waits until it has been named.
    late = server.slow_double.submit(0.5, np.ones(3), stay=True)
    crash = server.fail_late.submit(late.data.x, stay=True)
    lost = crash.data.x
    with pytest.raises(farcall.RoutineCrashed):
        crash.result()
    for use in (lost.fetch, lambda: server.slow_double(0.0, lost)):
        with pytest.raises(farcall.RoutineCrashed):
            use()
    (state,) = [one for one in server.data() if one.id == lost.id]
    assert state.state == "failed" and "signal 6" in state.reason


def test_a_closed_connection_says_so(farcall, private):
    with farcall.connect(private.address) as other:
        d = other.put([1.0])
    assert d.shape == (1,) and len(d.id) == 32
    for use in (d.fetch, d.delete):
        with pytest.raises(farcall.ConnectionLost, match="closed; connect again"):
            use()


def test_a_forked_child_uses_the_id(server):
    d = server.put(np.arange(3.0))
    child = os.fork()
    if child == 0:
        failed = 1
        try:
            d.fetch()
        except Exception as error:
            if "Server.data(id)" in str(error):
                failed = int(np.asarray(server.data(d.id)).tolist() != [0, 1, 2])
        finally:
            os._exit(failed)
    assert os.waitpid(child, 0)[1] == 0
    assert np.asarray(d).tolist() == [0, 1, 2]


def test_closing_ends_what_the_program_still_has(farcall, server):
    own = farcall.connect(server.address)
    data, leased = own.put(np.ones(10)), own.put(np.ones(10), lease=0.5)
    left = own.put(np.ones(10), lease=600).leave()
    with own.transaction() as t:
        made = t.dgesv(np.eye(3), np.ones((3, 1)))
    t.wait()
    ids, transaction = [data.id, leased.id], t.id
    own.close()
    found = [one.id for one in server.transactions()]
    assert transaction not in found
    eventually(lambda: not {one.id for one in server.data()} & set(ids))
    assert left in {one.id for one in server.data()}
    server.data(left).delete()
    for use in (data.fetch, lambda: made.b.fetch()):
        with pytest.raises(farcall.ConnectionLost):
            use()
    own.close()


def test_what_never_fits_says_so(farcall, tmp_path):
    manifest = tmp_path / "room.toml"
    manifest.write_text(
        '[[plugin]]\nname = "rpc-server"\nslot = "rpc"\n'
        "options = { results_memory_bytes_max = 16000, results_max = 4 }\n"
    )
    with farcall.connect(arguments=["--manifest", str(manifest)]) as small:
        words = "may keep at once.*share of results_memory_bytes_max: 8000, .*share_percent: 50"
        with pytest.raises(farcall.LimitExceeded, match=words + ".*divide it.*--manifest"):
            small.put(np.ones(1500))
        held = small.put(np.ones(800))
        with pytest.raises(farcall.LimitExceeded, match="reached your limit of kept bytes.*delete"):
            small.put(np.ones(800))
        assert held.size == 800
