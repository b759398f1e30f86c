"""Published functions that call others through their own server."""

import pathlib
import time

import numpy as np
import pytest

TEXT = """
import time
from typing import Annotated

import farcall
import numpy as np
from numpy.typing import NDArray

KEPT = []


def twice(n: int) -> int:
    return 2 * n


def relay(n: int) -> int:
    with farcall.running_server() as server:
        return server.mine.twice(n).result


def solve(a: Annotated[NDArray[np.float64], "n, n"], b: Annotated[NDArray[np.float64], "n"]) -> float:
    return float(farcall.running_server().lapack.dgesv(a, b).B.sum())


def keep(n: int) -> str:
    if not KEPT:
        KEPT.append(farcall.running_server())
    try:
        return str(KEPT[0].mine.twice(n).result)
    except farcall.Error as error:
        return f"{type(error).__name__}: {error}"


def fail(n: int) -> int:
    return farcall.running_server().mine.broken(n).result


def broken(n: int) -> int:
    raise ValueError(f"no {n}")


def chain(n: int) -> int:
    with farcall.running_server() as server:
        with server.transaction() as t:
            for _ in range(3):
                n = t.mine.twice(n).result
        return int(n)


def leave(n: int) -> int:
    server = farcall.running_server()
    with server.transaction() as t:
        t.mine.nap(n)
    return n


def nap(n: int) -> int:
    time.sleep(n)
    return n
"""
# Of each module, one executable works at a time.
ONE = """[[plugin]]
name = "rpc-server"
slot = "rpc"
options = { executables_max = 1 }
"""


def eventually(is_true):
    end = time.monotonic() + 20
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module")
def mine(farcall, tmp_path_factory):
    file = tmp_path_factory.mktemp("nested") / "mine.py"
    file.write_text(TEXT)
    with farcall.connect(files=[file, pathlib.Path("lapack")], timeout=60) as server:
        yield server


def test_a_function_calls_others(mine):
    assert mine.relay(21).result == 42
    assert mine.relay(4).result == 8
    assert mine.solve(np.diag([2.0, 4.0]), np.array([2.0, 4.0])).result == 2.0


def test_a_server_is_good_for_one_call(mine):
    assert mine.keep(3).result == "6"
    said = mine.keep(3).result
    assert said == "6" or "ConnectionLost" in said and "again in every call" in said
    said = [mine.keep(3).result for _ in range(10)]
    assert any("ConnectionLost" in one for one in said), said


def test_a_function_runs_transactions(farcall, tmp_path):
    file, manifest = tmp_path / "mine.py", tmp_path / "farcall.toml"
    file.write_text(TEXT)
    manifest.write_text(ONE)
    with farcall.connect(
        files=[file], arguments=["--manifest", str(manifest)], timeout=60
    ) as server:
        # Each lends its place to the calls of its transaction, as it does to calls one by one.
        calls = [server.mine.chain.submit(n, timeout=30) for n in range(8)]
        assert [call.result().result for call in calls] == [8 * n for n in range(8)]
        # The transaction ends with the call that began it.
        assert server.mine.leave(30).result == 30
        eventually(lambda: server.transactions() == [])


def test_what_fails_inside_is_told(farcall, mine):
    with pytest.raises(farcall.RoutineFailed, match="no 7"):
        mine.fail(7)


def test_outside_a_routine_there_is_none(farcall):
    with pytest.raises(farcall.Unavailable, match="no call runs in this process"):
        farcall.running_server()
