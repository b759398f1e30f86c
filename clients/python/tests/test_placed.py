"""Calls through a server that knows others: where they run, why, and how they are bound."""

import asyncio
import pathlib
import shutil
import subprocess
import time

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
BEHAVIOUR = HERE / "routines/behaviour.idl"
LAPACK = HERE.parents[2] / "routines/lapack/lapack.idl"


def program():
    """The command, as a shell finds it."""
    return shutil.which("farcall")


class Server:
    """A server that ends with the block."""

    def __init__(self, folder, name, *words):
        self.address = f"unix:{folder}/{name}"
        command = [program(), "serve", "--listen", self.address, *map(str, words)]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def __enter__(self):
        return self.address

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(timeout=30)


def connected(farcall, address):
    """Once it listens."""
    until = time.monotonic() + 30
    while True:
        try:
            return farcall.connect(address)
        except farcall.Error:
            assert time.monotonic() < until
            time.sleep(0.05)


def servers_of(farcall, meta):
    """How many servers run a call."""
    try:
        return sum(not row.excluded for row in meta.square.explain(x=2))
    except farcall.NotFound:
        return 0


@pytest.fixture(scope="module")
def world(farcall, tmp_path_factory):
    """A server, and the addresses of two that joined it."""
    folder = tmp_path_factory.mktemp("placed")
    nothing = folder / "nothing.idl"
    nothing.write_text("Module nothing;\nDefine nothing(OUT int one) { *one = 1; }\n")
    with Server(folder, "meta", nothing) as address:
        meta = connected(farcall, address)
        join = ("--join", address, BEHAVIOUR, LAPACK)
        with Server(folder, "a", *join) as a, Server(folder, "b", *join) as b, meta:
            until = time.monotonic() + 60
            while servers_of(farcall, meta) < 2:
                assert time.monotonic() < until
                time.sleep(0.05)
            yield meta, a, b


def test_results_say_where_they_ran(world):
    meta, *members = world
    for x in range(50):
        r = meta.square(x)
        assert r.y == x * x and r.server in members
    assert "server" in dir(r) and repr(r) == "Results(y=2401.0)"


def test_what_was_predicted_stands_beside_what_was_needed(world):
    meta, *_ = world
    for _ in range(6):
        r = meta.pause(0.2)
    predicted, measured, error = r.placed
    assert measured.run >= 0.2 and measured.total >= measured.run and min(measured) >= 0
    assert predicted.run > 0 and predicted.total == sum(predicted) and error >= 0
    head, first, second = repr(r.placed).splitlines()
    assert head.split() == ["send", "wait", "run", "return", "total"]
    assert first.startswith("predicted ") and " +- " in first and second.startswith("measured ")
    assert "placed" in dir(r)


def test_a_server_alone_is_named_by_its_address(server):
    r = server.square(2)
    assert r.server == server.address and r.placed is None


def test_calls_of_all_forms_are_placed(world, farcall):
    meta, *members = world
    futures = [meta.pause.submit(0.2) for _ in range(4)]
    ran = {future.result(timeout=20).server for future in futures}
    assert ran <= set(members)

    async def both():
        return await asyncio.gather(meta.square.aio(3), meta.square.aio(4))

    assert [one.y for one in asyncio.run(both())] == [9, 16]
    with farcall.Executor(meta) as executor:
        results = list(executor.map(meta.square, range(20)))
    assert [one.y for one in results] == [x * x for x in range(20)]
    assert {one.server for one in results} <= set(members)


def test_maps_use_all_servers_and_ask_seldom(world):
    meta, *members = world
    results = list(meta.map("square", range(1500)))
    assert [one.y for one in results] == [float(x) ** 2 for x in range(1500)]
    assert {one.server for one in results} == set(members)
    a = np.array([np.eye(3) * (k + 1) for k in range(30)])
    solved = list(meta.map("dgesv", a, np.ones(3), order=False))
    assert sorted(one.element for one in solved) == list(range(30))
    assert all(np.allclose(one.b, 1 / (one.element + 1)) for one in solved)
    bound = {one.server for one in meta.map("square", range(20), at=members[1])}
    assert bound == {members[1]}
    # Both are busy together: one alone would need longer.
    begin = time.monotonic()
    paused = list(meta.map("pause", [0.5] * 4))
    assert {one.server for one in paused} <= set(members) and time.monotonic() - begin < 20


def test_a_call_is_bound_by_name(world, farcall):
    meta, *members = world
    for member in members:
        assert meta.square(3, at=member).server == member
        assert meta.square.submit(3, at=member).result(timeout=20).server == member
    bound = meta.square.options(at=members[0])
    assert {bound(x).server for x in range(5)} == {members[0]}
    with pytest.raises(farcall.NotFound, match="no server is called") as caught:
        meta.square(3, at=members[0] + "x")
    assert members[0] in str(caught.value)
    assert members[1] in str(caught.value)
    for wrong in ("", 3, "a\0b"):
        with pytest.raises(farcall.WrongType, match="call: at is"):
            meta.square(3, at=wrong)


def test_a_call_is_bound_by_a_socket_in_the_working_directory(world, monkeypatch):
    meta, *members = world
    monkeypatch.chdir(pathlib.Path(members[0].split(":", 1)[1]).parent)
    for at in ("unix:a", "unix:./a"):
        assert meta.square(3, at=at).server == members[0]


def test_results_say_that_an_input_was_deleted(world, farcall):
    meta, *_ = world
    given = meta.put(np.ones(3))
    with meta.transaction() as t:
        first = t.pause(0.5)
        x = t.perhaps("Y", given, after=first).y
        y = t.perhaps("Y", x).y
    given.delete()
    for use in (t.wait, x.fetch, y.fetch):
        with pytest.raises(farcall.NotFound, match="an input is on no server any more: it was del"):
            use()


def test_a_routine_explains_where_it_would_run(world, farcall):
    meta, *members = world
    a = np.eye(40) * 4
    b = np.ones(40)
    explained = meta.dgesv.explain(a, b)
    rows = {row.server: row for row in explained}
    assert set(members) < set(rows) and len(explained) == 3
    assert explained.chosen in members and explained[0].chosen
    assert all(rows[member].total >= 0 and not rows[member].excluded for member in members)
    assert rows[meta.address].excluded and rows[meta.address].note
    lines = repr(explained).splitlines()
    assert lines[0].split() == ["server", "wait", "send", "run", "return", "total", "+-"]
    assert lines[1].startswith(explained.chosen) and lines[1].endswith("chosen")
    # Sizes are enough, and nothing was called.
    assert len(meta.dgesv.explain(n=4000, nrhs=1)) == 3
    with pytest.raises(farcall.InvalidArgument):
        meta.dgesv.explain(n=-1, nrhs=1)


def test_objects_stay_where_they_were_made(world):
    meta, *members = world
    with meta.square.hold(2) as handles:
        ran = {handles[index % 2](index).server for index in range(6)}
    assert len(ran) == 1 and ran < set(members)


def test_kept_calls_of_all_servers_are_listed_and_silent_ones_are_named(
    world, farcall, tmp_path_factory
):
    meta, *members = world
    call = meta.square.submit(7, keep=60)
    [kept] = [one for one in meta.kept() if one.id == call.id]
    assert kept.server in members
    assert meta.fetch(call.id).result().y == 49
    meta.forget(call.id)
    with Server(tmp_path_factory.mktemp("gone"), "c", "--join", meta.address, BEHAVIOUR) as gone:
        until = time.monotonic() + 60
        while gone not in {row.server for row in meta.square.explain(x=2)}:
            assert time.monotonic() < until
            time.sleep(0.05)
    with pytest.warns(UserWarning, match="did not say which calls it keeps") as warned:
        assert not meta.kept()
    assert gone in str(warned[0].message) and warned[0].filename == __file__


def test_a_server_of_several_may_go_while_a_map_runs(farcall, world, tmp_path):
    """What ran there has failed, since it may not run twice; what did not runs elsewhere."""
    meta, *members = world
    third = Server(tmp_path, "third", "--join", meta.address, BEHAVIOUR)
    with third as address:
        until = time.monotonic() + 60
        while servers_of(farcall, meta) < 3:
            assert time.monotonic() < until
            time.sleep(0.05)
        results = meta.map("pause", [0.05] * 200, errors="return", order=False)
        outcomes, ran = [], set()
        for one in results:
            outcomes.append(one)
            ran.add(getattr(one, "server", None))
            if address in ran and third._process.poll() is None:
                third._process.kill()
        assert sorted(one.element for one in outcomes) == list(range(200))
        failed = [one for one in outcomes if isinstance(one, farcall.Error)]
        assert all(isinstance(one, ConnectionError) for one in failed) and len(failed) < 100
        assert ran > set(members)
