"""Transactions: calls that are written down in a block, and run at the server as one graph."""

import copy
import gc
import json
import os
import pickle
import subprocess
import sys
import time
import weakref

import numpy as np
import pytest


def scale(x: np.ndarray, by: float = 2.0) -> np.ndarray:
    return x * by


def total(x: np.ndarray) -> float:
    return float(x.sum())


def eventually(is_true):
    end = time.monotonic() + 20
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.01)


def ids(server):
    return [one.id for one in server.transactions()]


@pytest.fixture(params=["unix", "tcp"])
def anywhere(request, server):
    return request.getfixturevalue("server" if request.param == "unix" else "tcp")


@pytest.fixture
def matrix():
    return np.random.default_rng(1).random((200, 200)) + 200 * np.eye(200)


def test_a_factorization_and_its_systems(anywhere, matrix):
    sides = [np.full(200, float(k)) for k in range(4)]
    with anywhere.transaction() as t:
        lu = t.dgetrf(matrix)
        x = [t.dgetrs(lu.a, lu.ipiv, b) for b in sides]
        assert lu.a.shape == (200, 200) and lu.ipiv.dtype == np.int32 and lu.info.shape == ()
    for one, b in zip(x, sides):
        # As its argument was.
        assert one.b.shape == (200,) and one.b.ndim == 1 and len(one.b) == 200
        np.testing.assert_allclose(matrix @ np.asarray(one.b), b, atol=1e-9)
    assert lu.info == 0 and x[0].info + 1 == 1 and not lu.info
    assert f"{lu.info:03d}" == "000" and float(lu["INFO"]) == 0 and int(lu[2]) == 0
    t.wait()
    assert t.done
    assert [row.state for row in t.timeline()] == ["returned"] * 5


def test_a_chain_hands_numbers_and_arrays_on(farcall, server):
    with server.transaction() as t:
        y = t.square(2.0)
        for _ in range(3):
            y = t.square(y)
        grown = t.grow(1, 2.0)
        grown = t.grow(grown.n, grown.x)
        a = t.slow_double(0.0, np.arange(3.0))
        a = t.slow_double(0.0, a)
    assert y == 2.0**16 and y.y == 2.0**16 and np.asarray(y) == 2.0**16
    assert y.value == 2.0**16 and isinstance(y, farcall.Results)
    assert (int(grown.n), float(grown.x)) == (3, 4.0)
    assert a.x.fetch(timeout=20).tolist() == [0, 4, 8]


def test_results_are_arguments_of_other_calls_behind_the_block(server, matrix):
    with server.transaction() as t:
        lu = t.lapack.dgetrf(matrix)
        m = t["behaviour/square"](3.0)
    b = np.ones(200)
    np.testing.assert_allclose(matrix @ server.dgetrs(lu.a, lu.ipiv, b).b, b, atol=1e-9)
    assert server.square(m) == 81 and server.square(m.y) == 81
    with server.transaction() as other:
        again = other.dgetrs(lu.a, lu.ipiv, b)
        number = other.square(m.y)
    np.testing.assert_allclose(matrix @ np.asarray(again.b), b, atol=1e-9)
    assert number == 81


def test_the_programs_arrays_are_neither_written_to_nor_read_later(server):
    large, small = np.ones(5000), np.ones(5)
    with server.transaction() as t:
        first = t.slow_double(0.0, large)
        large[:] = 3
        second = t.slow_double(0.0, large)
        both = [t.slow_double(0.0, small) for _ in range(2)]
        small[:] = 7
    assert np.asarray(first.x).max() == 2 and np.asarray(second.x).min() == 6
    assert [np.asarray(one.x).tolist() for one in both] == [[2.0] * 5] * 2
    assert large.min() == 3 and small.min() == 7


@pytest.mark.parametrize("count", [0, 1, 512, 513, 100_000])
def test_arrays_of_all_lengths_and_orders(anywhere, count):
    values = np.arange(float(count))
    matrix = np.arange(6.0 * 400).reshape(6, 400)
    with anywhere.transaction() as t:
        twice = t.slow_double(0.0, values)
        back = t.slow_double(0.0, values[::-1])
        # A list is made an array of.
        listed = t.slow_double(0.0, [1, 2, 3])
        c = np.zeros((6, 6), order="F")
        products = [t.dgemm(matrix, one, c, beta=0.0) for one in (matrix.T, matrix.T.copy())]
    np.testing.assert_array_equal(np.asarray(twice.x), 2 * values)
    np.testing.assert_array_equal(np.asarray(back.x), 2 * values[::-1])
    assert np.asarray(listed.x).tolist() == [2, 4, 6]
    for one in products:
        np.testing.assert_allclose(np.asarray(one.c), matrix @ matrix.T)


def test_data_is_an_input(farcall, server, matrix):
    d = server.put(matrix)
    lu = server.dgetrf(d, stay=True)
    with server.transaction() as t:
        x = t.dgetrs(lu.a, lu.ipiv, np.ones(200))
        again = t.dgetrf(d)
    np.testing.assert_allclose(matrix @ np.asarray(x.b), np.ones(200), atol=1e-9)
    np.testing.assert_allclose(np.asarray(again.a), np.asarray(lu.a))
    # What the program had put stays as it was.
    np.testing.assert_array_equal(np.asarray(d), matrix)
    d.delete()
    with pytest.raises(farcall.NotFound, match="input"):
        with server.transaction() as t:
            t.dgetrf(d)


def test_results_that_are_dropped_are_not_kept(server, matrix):
    before = {one.id for one in server.data()}
    with server.transaction() as t:
        lu = t.dgetrf(matrix)
        last = t.dgetrs(lu.a, lu.ipiv, np.ones(200))
        kept = last.b
        del lu, last
        t.dgetrf(matrix)
    t.wait()
    found = server.fetch(t.id)
    assert [(one.call, one.routine, one.keys()) for one in found] == [(1, "lapack/dgetrs", ["b"])]
    # The input, and what is kept.
    assert len({one.id for one in server.data()} - before) == 2
    assert kept.shape == (200,)


def test_it_ends_with_its_last_reference(server):
    with server.transaction() as t:
        y = t.square(2.0)
    name, number = t.id, y.y
    del t, y
    gc.collect()
    assert number == 4 and name in ids(server)
    del number
    gc.collect()
    eventually(lambda: name not in ids(server))


def test_an_exception_in_the_block_is_not_hidden(farcall, server):
    own = farcall.connect(server.address)
    with pytest.raises(ValueError, match="the block's own"):
        with own.transaction() as t:
            t.dgesv(np.eye(2), np.ones((2, 1)))
            own.close()
            raise ValueError("the block's own")


def test_an_exception_in_the_block_sends_nothing(farcall, server):
    before, data = ids(server), len(server.data())
    with pytest.raises(ZeroDivisionError):
        with server.transaction() as t:
            y = t.slow_double(0.0, np.ones(5000))
            1 / 0
    assert ids(server) == before and len(server.data()) == data
    for use in (
        lambda: y.x.fetch(),
        lambda: t.wait(),
        lambda: t.done,
        lambda: t.square(1.0),
        t.__enter__,
    ):
        ended = "its block ended with an exception.*down"
        with pytest.raises(farcall.InvalidArgument, match=ended):
            use()


def test_an_empty_one_sends_nothing(server):
    before = ids(server)
    with server.transaction() as t:
        pass
    assert ids(server) == before
    t.wait()
    assert t.done and len(t.timeline()) == 0 and repr(t.timeline()) == "no calls"
    t.end()


def test_nothing_is_looked_at_inside_the_block(farcall, server):
    with server.transaction() as t:
        r = t.slow_double(0.0, np.ones(3))
        y = t.square(2.0).y
        unknown = t.prefix(np.ones(3))
        for use in (
            lambda: np.asarray(r.x),
            lambda: r.x.fetch(),
            lambda: y + 1,
            lambda: float(y),
            lambda: y == 4,
            lambda: bool(y),
            lambda: f"{y}",
            lambda: {y},
            lambda: server.slow_double(0.0, r.x),
            lambda: server.square(y),
            lambda: r.x.delete(),
        ):
            with pytest.raises(farcall.Error, match="not begun.*behind the end"):
                use()
        with pytest.raises(farcall.NotFound, match="routine decides it"):
            assert unknown.y.shape
        for use in (t.wait, t.timeline, t.end, lambda: t.done):
            with pytest.raises(farcall.InvalidArgument, match="behind the block"):
                use()
        assert "float64[3], its transaction has not begun" in repr(r.x)
        assert "not begun" in str(y) and "Results(x=float64[3])" == repr(r)
        assert "being written down" in repr(t)
    assert unknown.y.shape == (3,) and unknown.m == 3
    assert str(y) == "4.0" and str(r.x) == "[2. 2. 2.]" and "4.0" in repr(y)
    assert "begun" in repr(t) and t.id[:8] in repr(t)


def test_sizes_may_come_from_calls(farcall, server):
    with server.transaction() as t:
        p = t.prefix(np.array([1.0, 2.0, -1.0, 5.0]))
        with pytest.raises(farcall.InvalidArgument, match="needs n.*call: 1"):
            t.prefix(p.y)
        q = t.prefix(n=p.m, x=p.y)
    assert np.asarray(q.y).tolist() == [1, 2] and q.m == 2


def test_what_the_server_refuses_is_raised_at_the_end_of_the_block(farcall, server):
    before, data = ids(server), len(server.data())
    with pytest.raises(farcall.LimitExceeded, match="for that long.*keep_ms_max"):
        with server.transaction(keep=1e9) as t:
            x = t.slow_double(0.0, np.ones(5000)).x
    assert ids(server) == before
    eventually(lambda: len(server.data()) == data)
    with pytest.raises(farcall.InvalidArgument, match="its block ended with an exc.*write it down"):
        t.wait()
    for use in (x.fetch, x.delete, lambda: server.slow_double(0.0, x)):
        with pytest.raises(farcall.InvalidArgument, match="whose begin failed.*call: 0.*write the"):
            use()


def test_results_say_why_their_transaction_does_not_run(farcall, server):
    begun = server.transaction()
    with begun as t:
        ended = [t.slow_double(60.0, np.ones(3)).x, t.square(2.0).y]
    t.end()
    with pytest.raises(ZeroDivisionError):
        with server.transaction() as t:
            dropped = [t.slow_double(60.0, np.ones(3)).x, t.square(2.0).y]
            1 / 0
    for results, words in (
        (ended, "of a transaction that was ended .*fetch results before"),
        (dropped, "its block ended with an exception .*write the transaction down again"),
    ):
        for use in (
            *(one.fetch for one in results),
            *(one.delete for one in results),
            lambda: float(results[1]),
            lambda: np.asarray(results[0]),
            lambda: server.slow_double(0.0, results[0]),
            lambda: server.square(results[1]),
        ):
            with pytest.raises(farcall.InvalidArgument, match=words):
                use()
        with server.transaction() as other:
            with pytest.raises(farcall.InvalidArgument, match=words):
                other.slow_double(0.0, results[0])
            with pytest.raises(farcall.InvalidArgument, match=words):
                other.square(results[1])
    with pytest.raises(farcall.InvalidArgument, match="was ended.*another one"):
        begun.square(2.0)


def test_failures_reach_what_hangs_on_them_and_nothing_else(farcall, server):
    with server.transaction() as t:
        good = t.square(3.0)
        bad = t.fail_late(np.ones(3))
        worse = t.slow_double(0.0, bad.x)
        worst = t.slow_double(0.0, worse.x)
    assert good == 9
    for one in (bad, worse, worst):
        with pytest.raises(farcall.RoutineCrashed, match="signal 6"):
            np.asarray(one.x)
        with pytest.raises(farcall.RoutineCrashed):
            one.x.fetch(timeout=20)
    with pytest.raises(farcall.RoutineCrashed, match="call: 1"):
        t.wait(timeout=20)
    assert t.done
    states = [row.state for row in t.timeline()]
    assert states == ["returned", "failed", "not run", "not run"]
    (state,) = [one for one in server.transactions() if one.id == t.id]
    assert (state.state, state.calls, state.returned, state.failed) == ("ended", 4, 1, 3)
    assert "signal 6" in state.reason and "3 failed" in repr(state)


def test_a_wait_has_a_time_limit(farcall, server):
    with server.transaction(timeout=20) as t:
        slow = t.slow_double(0.5, np.ones(3))
    with pytest.raises(farcall.TimedOut, match="they go on.*timeout: 0.05 s"):
        t.wait(timeout=0.05)
    with pytest.raises(farcall.TimedOut, match="fetch data"):
        slow.x.fetch(timeout=0.05)
    assert not t.done
    assert slow.x.fetch().tolist() == [2, 2, 2]
    t.wait()
    with pytest.raises(farcall.InvalidArgument, match="a timeout of 0 s"):
        t.wait(timeout=0)


def test_calls_wait_for_others_that_they_use_nothing_of(farcall, server):
    with server.transaction() as t:
        slow = t.slow_double(0.3, np.ones(1))
        first = t.square(1.0, after=slow)
        t.square(2.0, after=[slow.x, first])
        with pytest.raises(farcall.WrongType, match="no call of this transaction"):
            t.square(3.0, after=[server.square(1.0)])
    t.wait()
    _, first, second = t.timeline()
    assert 0.3 <= first.begun <= first.ended and first.begun <= second.begun


def test_the_timeline_is_a_table_and_json(server):
    with server.transaction() as t:
        t.square(1.0)
    t.wait()
    timeline = t.timeline()
    (row,) = timeline
    assert (row.call, row.routine, row.state, row.attempts) == (
        0,
        "behaviour/square",
        "returned",
        1,
    )
    assert 0 <= row.ready <= row.opened <= row.begun <= row.ended and row is timeline[0]
    head, line = repr(timeline).splitlines()
    assert head.split()[:3] == ["call", "routine", "server"] and "behaviour/square" in line
    assert str(timeline) == repr(timeline)
    (told,) = json.loads(timeline.json())
    assert told["routine"] == "behaviour/square" and told["ended"] == row.ended
    with server.transaction() as t:
        for _ in range(150):
            t.square(1.0)
    t.wait()
    lines = repr(t.timeline()).splitlines()
    assert len(lines) == 102 and "50 more" in lines[51] and len(t.timeline()) == 150


FETCH = """
import sys
import numpy as np
import farcall
with farcall.connect(sys.argv[1]) as server:
    for r in server.fetch(sys.argv[2]):
        print(r.call, r.routine, {name: np.asarray(value).tolist() for name, value in r.items()})
"""


def test_another_process_fetches_results_by_the_id(farcall, private):
    with farcall.connect(private.address) as other:
        with other.transaction(keep=60) as t:
            y = t.square(3.0)
            x = t.perhaps("Y", np.ones(2))
            t.pause(0.3)
        name = t.id
        del t, x, y
        gc.collect()
    shown = subprocess.run(
        [sys.executable, "-c", FETCH, private.address, name], capture_output=True, text=True
    )
    expected = "0 behaviour/square {'y': 9.0}\n1 behaviour/perhaps {'y': [2.0, 2.0]}\n"
    assert shown.stdout == expected, shown.stderr
    end = time.monotonic() + 20
    while (state := private.transactions()[0]).state == "running":
        # The pause may outlast the other process.
        assert time.monotonic() < end
        time.sleep(0.05)
    assert state.id == name and state.state == "ended" and 50 < state.seconds_left <= 60
    assert len(private.transactions()) == 1
    assert [one.routine for one in state.results()] == ["behaviour/square", "behaviour/perhaps"]
    assert len(state.timeline()) == 3 and state.age > 0 and state.principal
    state.end()
    assert private.transactions() == []
    for use in (lambda: private.fetch(name), state.timeline, state.results):
        with pytest.raises(farcall.NotFound):
            use()


def test_without_keep_it_ends_with_its_connection(farcall, private):
    with farcall.connect(private.address) as other:
        with other.transaction() as t:
            r = t.square(2.0)
        assert ids(private) == [t.id]
    del r, t
    gc.collect()
    eventually(lambda: not ids(private))


def test_results_of_a_transaction_that_runs_are_arguments_of_another(server):
    with server.transaction() as first:
        x = first.slow_double(0.5, np.ones(3))
    with server.transaction() as second:
        y = second.slow_double(0.0, x.x)
    assert not first.done and np.asarray(y.x).tolist() == [4, 4, 4]


def test_a_size_that_a_result_decides_must_fit(farcall, server):
    with server.transaction() as t:
        q = t.idamax(np.array([1.0, 5.0, 2.0]))
        r = t.dscal(2.0, np.ones(5), n=q.value)
    with pytest.raises(farcall.InvalidArgument, match="wrong length.*parameter: x.*size that"):
        r.x.fetch()


def test_a_result_that_was_deleted_is_not_to_be_put_again(farcall, server):
    with server.transaction() as t:
        x = t.slow_double(0.0, np.ones(3)).x
    t.wait()
    x.delete()
    with pytest.raises(farcall.NotFound, match="no such data.*call: 0.*make the call again"):
        x.fetch()


def test_one_that_is_ended_is_gone(farcall, server):
    with server.transaction() as t:
        slow = t.slow_double(60.0, np.ones(3))
        square = t.square(2.0)
    assert square == 4
    begun = time.monotonic()
    t.end()
    for use in (lambda: slow.x.fetch(), t.wait, t.timeline):
        with pytest.raises(farcall.Error):
            use()
    assert t.id not in ids(server) and time.monotonic() - begun < 20


def test_properties_say_that_it_was_ended_elsewhere(farcall, server):
    with server.transaction() as t:
        y = t.square(2.0)
        cut = t.prefix(np.array([1.0, -1.0]))
    assert y == 4
    (mine,) = [one for one in server.transactions() if one.id == t.id]
    mine.end()
    with pytest.raises(farcall.NotFound, match=f"no such transaction.*{t.id}.*ended"):
        assert t.done
    with pytest.raises(farcall.NotFound, match=f"no such data.*{cut.y.id}"):
        assert cut.y.shape


def test_what_no_transaction_can_have_is_refused_with_a_way_out(farcall, server, tmp_path):
    (tmp_path / "f").write_bytes(b"x")
    with server.transaction() as t:
        for use, words in {
            lambda: t.size_of_file(tmp_path / "f"): "cannot take files.*parameter: path.*outside",
            lambda: t.prefix(farcall.URL("https://example.org/x.npy")): "URL.*parameter: x",
            lambda: t.lengths(["a"]): "several texts.*parameter: words.*outside",
            lambda: t.square(1.0, timeout=3): "timeout= is no option.*wait",
            lambda: t.square(1.0, keep=3): "keep= is no option.*server.transaction",
            lambda: t.slow_double(0.0, np.ones(2), inplace=True): "inplace.*behind the block",
            lambda: t.slow_double(0.0, np.ones(2), out=np.ones(2)): "out.*behind the block",
            lambda: t.slow_double(0.0, np.ones(2), stay=True): "stay.*leave it out",
            lambda: t.square(1.0, at="here"): "at= is no option.*outside",
            lambda: t.square(): "needs x",
            lambda: t.square(1.0, after=3): "after has int, which no call.*after=",
            lambda: t.square(1.0, after=[3]): "after has int, which no call.*after=",
            lambda: t.slow_double(0.0, t.prefix(np.ones(2))): "2 results.*one is wanted.*: x.*m, y",
            lambda: t.square(t.prefix(np.ones(2))): "parameter: x",
            lambda: t.square(x=1.0, z=2): 'no argument "z"',
            lambda: t.slow_double(0.0, t.grow(1, 1.0).n): "another type.*parameter: x",
            lambda: t.square(t.slow_double(0.0, np.ones(2)).x): "one double.*parameter: x",
            lambda: t.greet("x" * 5000): "too long.*limit: 4",
            lambda: t.nothing_of_this_name(1): "nothing_of_this_name",
            lambda: t.greet("you").greeting: "text.*does not come back.*outside",
        }.items():
            with pytest.raises(farcall.Error, match=words):
                use()
    t.wait()
    with server.transaction() as one:
        foreign = one.square(1.0)
        with server.transaction() as other:
            with pytest.raises(farcall.InvalidArgument, match="another transaction.*end that one"):
                other.square(foreign.y)
    assert foreign == 1


def test_misuse_is_explained(farcall, server, private):
    t = server.transaction()
    with pytest.raises(farcall.InvalidArgument, match="with server.transaction"):
        t.square(1.0)
    with t:
        y = t.square(1.0)
        with pytest.raises(farcall.InvalidArgument, match="has not ended"):
            t.__enter__()
    with pytest.raises(farcall.InvalidArgument, match="has begun.*another one"):
        t.square(2.0)
    for one in (t, y.y, y, {"a": y}, t.square):
        with pytest.raises(farcall.WrongType, match="pickle|process"):
            pickle.dumps(one)
    assert copy.copy(y) is y and copy.deepcopy(y) is y
    with pytest.raises(farcall.InvalidArgument, match="a keep of -1 s"):
        server.transaction(keep=-1)
    with pytest.raises(farcall.WrongType, match="a timeout of 'x'"):
        server.transaction(timeout="x")
    with pytest.raises(farcall.NotFound, match='called "z".*there are y'):
        y.z
    with pytest.raises(farcall.NotFound, match="timeline"):
        y.times
    assert copy.copy(y.y) is y.y and weakref.ref(y)() is y
    assert "square" in dir(t) and "wait" in dir(t) and "y" in dir(y) and y.call == 0
    assert "square" in repr(t.square) and t.square.__doc__ == server.square.__doc__
    with private.transaction() as other:
        with pytest.raises(farcall.InvalidArgument, match="another connection"):
            other.prefix(server.put(np.ones(2)))
    with pytest.raises(farcall.NotFound):
        server.fetch("0" * 32)
    assert server["transaction"] if "transaction" in server else callable(server.transaction)


def test_a_forked_child_has_the_id(server):
    with server.transaction() as t:
        y = t.square(3.0)
    child = os.fork()
    if child == 0:
        failed = 1
        try:
            t.wait()
        except Exception as error:
            if "Server.fetch(id)" in str(error):
                failed = int([float(r.y) for r in server.fetch(t.id)] != [9.0])
        finally:
            os._exit(failed)
    assert os.waitpid(child, 0)[1] == 0
    assert y == 9


def test_many_calls(server):
    with server.transaction() as t:
        squares = [t.square(float(k)) for k in range(2000)]
        total = t.square(0.0)
        for _ in range(2000):
            total = t.square(total)
    assert [float(one) for one in squares[::97]] == [float(k) ** 2 for k in range(0, 2000, 97)]
    assert total == 0
    t.wait()


def test_published_functions_take_part(farcall, private):
    private.publish(scale)
    private.publish(total)
    with private.transaction() as t:
        twice = t.scale(np.ones((2, 3)))
        by = t.total(np.ones(4))
        more = t.scale(np.ones((2, 2)), by)
    assert twice.result.shape == (2, 3) and np.asarray(twice).tolist() == [[2.0] * 3] * 2
    assert by == 4 and np.asarray(more.result).tolist() == [[4.0] * 2] * 2
    (first, *_) = private.fetch(t.id)
    assert first.result.shape == (2, 3)
