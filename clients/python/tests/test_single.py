"""A single result as the value that it is."""

import math
import operator
import pickle

import numpy as np
import pytest


def test_a_number_is_one(server):
    r = server.square(3.0)
    assert r + 1 == 10.0 and 1 + r == 10.0 and 2 * r - 1 == 17.0 and r / 2 == 4.5 and 18 / r == 2.0
    assert r**2 == 81.0 and 2**r == 512.0 and divmod(r, 2) == (4.0, 1.0) and -r == -9.0
    assert r % 2 == 1.0 and r // 2 == 4.0 and abs(-r) == 9.0 and r == 9 and r != 8 and 9 == r
    assert r > 8 and 10 > r >= 9 and not r < 9 and float(r) == 9.0 and int(r) == 9 and bool(r)
    assert complex(r) == 9 and round(r) == 9 and math.sqrt(r) == 3.0 and math.floor(r) == 9
    assert f"{r:.2f}" == "9.00" and f"{r}" == "9.0" and not server.square(0.0)
    assert r + r == 18.0 and sum([r, r]) == 18.0 and max(server.square(2.0), r) == 9 and r in {9.0}
    assert isinstance(r + 1, float) and np.float64(1) + r == 10 and np.sin(r) == math.sin(9)
    r += 1
    assert r == 10.0


def test_a_whole_number_is_an_index(server):
    r = server.deep(2, lambda n: n)
    assert list(range(5))[r] == 2 and operator.index(r) == 2 and r << 1 == 4 and r | 1 == 3
    with pytest.raises(TypeError):
        operator.index(server.square(2.0))


def test_an_array_is_one(server):
    r = server.shift([1.0, 2.0], m=2)
    assert isinstance(np.asarray(r), np.ndarray) and np.asarray(r) is r.y
    doubled = np.asarray(r, np.float32)
    assert doubled.dtype == np.float32 and np.array(r) is not r.y
    assert (r + 1 == r.y + 1).all() and (np.ones(2) + r == r.y + 1).all() and (r == r.y).all()
    assert r @ r == r.y @ r.y and r.shape == (2,) and r.sum() == r.y.sum() and r.dtype == float
    assert list(r[1:]) == list(r.y[1:]) and list(r[r > 0]) == list(r.y) and r[..., 0] == r.y[0]
    with pytest.raises(ValueError, match="ambiguous"):
        bool(r)


def test_a_text_is_one(server):
    r = server.greet("you")
    assert r == "hello, you" and r + "!" == "hello, you!" and f"{r:>12}" == "  hello, you"
    assert r.upper() == "HELLO, YOU" and {r: 1}["hello, you"] == 1


def test_results_go_on_as_arguments(server):
    assert server.square(server.square(2.0)) == 16.0
    assert server.greet(server.greet("you")).greeting == "hello, hello, you"
    shifted = server.shift([1.0, 2.0], m=2)
    assert server.shift(shifted, m=2).y.shape == (2,)


def test_through_futures(server):
    future = server.square.submit(3.0)
    assert future.result() + 1 == 10.0
    with server.executor() as executor:
        assert sum(executor.map("square", [1.0, 2.0, 3.0])) == 14.0


def test_names_positions_iteration_and_len_stay(server):
    r = server.square(3.0)
    assert r.y == r["y"] == r.value == r[0] == 9.0 and list(r) == [9.0] and len(r) == 1
    assert dict(r) == {"y": 9.0} and "y" in r and repr(r) == "Results(y=9.0)"
    assert r[:] == (9.0,) and not hasattr(r, "z")
    (array,) = server.shift([1.0, 2.0], m=2)
    assert array.shape == (2,)
    again = pickle.loads(pickle.dumps(r))
    assert again == 9.0 and again.times == r.times


def test_of_several_it_is_said_that_one_is_to_be_named(server, farcall):
    r = server.dgesv(np.eye(2), np.ones(2))
    for wrong in (lambda: r + 1, lambda: 1 / r, lambda: float(r), lambda: r < 1):
        with pytest.raises(farcall.WrongType, match="4 results.*name it: a, ipiv, b, info"):
            wrong()
    assert r and r == r and r != 1 and {r: 1}[r] == 1 and format(r) == str(r)
