"""What servers, modules, routines and results are as Python objects."""

import asyncio
import copy
import pickle

import numpy as np
import pytest

A = np.array([[4.0, 1.0], [1.0, 3.0]])
B = np.array([1.0, 2.0])


def test_names_of_a_server(server):
    assert (
        "dgesv" in server
        and "lapack/dgesv" in server
        and "lapack" in server
        and "dgesv" in server.lapack
    )
    assert "dgesw" not in server and "dgesw" not in server.lapack and 5 not in server
    assert {"lapack", "dgesv", "square"} <= set(server) and "dgesv" in list(server.lapack)


def test_names_in_another_case(server, farcall):
    for routine in (
        server.DGESV,
        server["LAPACK/Dgesv"],
        server.lapack.DGESV,
        server["lapack/dgesv"],
    ):
        assert routine.name == "lapack/dgesv"
    assert server.call("DGESV", A, B).info == 0 and "DGESV" in server
    with pytest.raises(farcall.NotFound, match='no routine "DGESW"'):
        server.DGESW


def test_nothing_hides_a_routine(server):
    for namespace in (server, server.lapack):
        with pytest.raises(AttributeError, match="cannot be assigned to"):
            namespace.dgesv = 5
    assert server.dgesv(A, B).info == 0


def test_results_are_what_the_routine_gave(server):
    r = server.dgesv(A, B)
    with pytest.raises(AttributeError, match="'b' is what the routine gave"):
        r.b = 3
    assert r.b is r["b"] and "b" in r and "B" in r and "x" not in r and 0 not in r
    for same in (copy.copy(r), pickle.loads(pickle.dumps(r))):
        assert (same.b == r.b).all() and same.info == 0 and same.times == r.times


def test_dictionaries_of_results_called_like_methods(server):
    r = server.clash(1.0, 2.0, 5.0)
    assert dict(r) == {"keys": 3.0, "times": 5.0} and r.keys() == ["keys", "times"]
    assert r["keys"] == 3.0 and r.times == 5.0


def test_what_belongs_to_a_connection_stays(server, farcall):
    for one in (server, server.lapack, server.dgesv, server.square.submit(2)):
        for send in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(farcall.WrongType, match="other process"):
                send(one)


def test_signatures_are_written_as_in_python(server):
    assert "lambda_" in repr(server.clash) and "lambda," not in repr(server.clash)
    assert (
        repr(server.dgesv)
        == "dgesv(a, b, *, n=None, nrhs=None, lda=None, ldb=None) -> (a, ipiv, b, info)"
    )


def test_kinds_of_text(server):
    for given in ("abc", b"abc", bytearray(b"abc"), np.str_("abc")):
        assert server.greet(given).greeting == "hello, abc"
    assert server.lengths(["a", bytearray(b"bc")]).bytes.tolist() == [1, 2]
    assert server.shout(bytearray(b"abc")).word == "ABC"


def test_masked_arrays_without_masked_elements_are_arrays(server):
    assert (server.dgesv(A, np.ma.masked_array(B)).b == server.dgesv(A, B).b).all()


def test_long_doubles_that_are_exact_are_numbers(server):
    assert server.square(np.longdouble("0.5")).y == 0.25 and np.isnan(
        server.square(np.longdouble("nan")).y
    )


def test_results_go_wherever_elements_lie_apart(server):
    wide = np.zeros((4, 6))
    x = wide[::3, ::-2][:, :2].T
    server.dgesv(A, np.eye(2), out={"b": x})
    assert np.allclose(A @ x, np.eye(2)) and np.count_nonzero(wide) == 4


def test_a_module_stands_for_the_routine_of_its_name(server, farcall):
    assert server.behaviour(6).y == 3
    assert server.behaviour.submit(6).result(20).y == 3
    assert (
        server.behaviour.name == "behaviour/behaviour"
        and server.behaviour.interface["name"] == "behaviour"
    )
    assert asyncio.run(server.behaviour.aio(8)).y == 4
    with pytest.raises(farcall.NotFound):
        server.layouts.submit(1)
