"""Several servers as one, by a list of addresses and without a service that knows them."""

import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
BEHAVIOUR = HERE / "routines/behaviour.idl"
LAPACK = HERE.parents[2] / "routines/lapack/lapack.idl"
SOLVE = """
import farcall, numpy as np
with farcall.connect() as server:
    r = server.dgesv(np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0]))
    print(r.server, *np.round(r.B, 4))
"""


class Server:
    """A server that ends with the block."""

    def __init__(self, folder, name):
        self.address = f"unix:{folder}/{name}"
        command = [shutil.which("farcall"), "serve", "--listen", self.address, BEHAVIOUR, LAPACK]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        # It listens.
        assert self._process.stdout.readline()

    def __enter__(self):
        return self.address

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(timeout=30)
        self._process.stdout.close()


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """The addresses of two servers that know nothing of each other."""
    folder = tmp_path_factory.mktemp("lists")
    state = pytest.MonkeyPatch()
    state.setenv("XDG_STATE_HOME", str(folder / "state"))
    with Server(folder, "a") as a, Server(folder, "b") as b:
        yield a, b
    state.undo()


def test_calls_run_on_the_servers_of_a_list(farcall, pair):
    with farcall.connect([*pair, "here"], files=[BEHAVIOUR]) as server:
        assert server.address == " ".join([*pair, "here"])
        for x in range(20):
            r = server.square(x)
            assert r.y == x * x and r.server in (*pair, "here")
        for place in (*pair, "here"):
            assert server.square(3, at=place).server == place
        rows = {row.server for row in server.square.explain(x=2)}
        assert rows == {*pair, "here"}
        # What this host does not publish runs where it is published.
        a = np.array([[4.0, 1.0], [1.0, 3.0]])
        r = server.dgesv(a, np.array([1.0, 2.0]))
        assert np.allclose(a @ r.B, [1.0, 2.0]) and r.server in pair


def test_maps_use_the_servers_of_a_list(farcall, pair):
    with farcall.connect([*pair, "here"], files=[BEHAVIOUR]) as server:
        results = list(server.map("square", range(1000), window=100))
        assert [one.y for one in results] == [float(x) ** 2 for x in range(1000)]
        assert len({one.server for one in results}) > 1


def test_calls_run_where_their_data_is(farcall, pair):
    first, second = pair
    with farcall.connect(list(pair)) as server:
        d = server.put(np.eye(2), at=second)
        assert d.server == second and second in repr(d)
        b = np.ones((2, 1))
        assert server.dgesv(d, b).server == second
        assert server.dgesv(d, b, at=second).server == second
        best, other = server.dgesv.explain(d, b)
        assert best.server == second and best.chosen
        assert other.excluded and f"data of the call is at {second}" in other.note
        # It is brought to the server that is named.
        r = server.dgesv(d, b, at=first)
        assert r.server == first and np.allclose(r.B, 1)
        with pytest.raises(farcall.NotFound) as wrong:
            server.put(np.eye(2), at="nowhere")
        assert str(wrong.value).count(first) == 1, wrong.value


def test_words_are_a_list(farcall, pair, monkeypatch):
    monkeypatch.setenv("FARCALL_SERVER", "  ".join(pair))
    with farcall.connect() as server:
        assert server.square(3).server in pair
        with pytest.raises(farcall.NotFound):
            server.square(3, at="here")
    with farcall.connect("here", files=[BEHAVIOUR]) as server:
        assert server.square(4).server == "here"
    # One address in a list is that address.
    with farcall.connect([pair[0]]) as server:
        assert server.square(4).server == pair[0]


def test_a_server_that_is_away_is_told_once(pair, tmp_path):
    away = f"unix:{tmp_path}/nobody"
    command = [sys.executable, "-c", SOLVE]
    environment = {**os.environ, "FARCALL_SERVER": f"{away} {pair[0]}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith(pair[0]) and done.stdout.endswith("0.0909 0.6364\n"), done
    told = [line for line in done.stderr.splitlines() if away in line]
    assert len(told) == 1 and "takes no calls" in told[0], done.stderr


def test_bad_lists_say_what_is_wrong(farcall, pair):
    for given, words in [
        ([], "the list has no address"),
        (["here", ""], "empty, or has blanks"),
        (["here", "unix:/a b"], "empty, or has blanks"),
        (["here", "htp://b"], '"htp://b" is not a server address'),
        ([f"unix:/s{number}" for number in range(1000)], "limit: 64"),
    ]:
        with pytest.raises(farcall.Error, match=words):
            farcall.connect(given)
    with pytest.raises(farcall.InvalidArgument, match="add here to the list"):
        farcall.connect(list(pair), files=[BEHAVIOUR])
    with pytest.raises(farcall.InvalidArgument, match="host that ssh reaches"):
        farcall.connect(list(pair), account="x")
    # The same one twice is there once.
    with farcall.connect([pair[0], pair[0], "here", "here"]) as server:
        assert server.address == f"{pair[0]} here"
