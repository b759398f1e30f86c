"""Data: values that stay at a server."""

import gc
import json
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
    for wrong in ["text", [object()], None, np.ma.array([1.0], mask=[True]), {"a": 1}]:
        with pytest.raises(farcall.WrongType, match="put data"):
            server.put(wrong)


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
    with pytest.raises(ValueError, match="copy"):
        np.asarray(d, copy=False) if np.__version__ >= "2" else d.__array__(copy=False)
