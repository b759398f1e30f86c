"""Calls through a server that knows others: where they run, why, and how they are bound."""

import asyncio
import pathlib
import time

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
BEHAVIOUR = HERE / "routines/behaviour.idl"
LAPACK = HERE.parents[2] / "routines/lapack/lapack.idl"


@pytest.fixture(scope="module")
def world(farcall, tmp_path_factory):
    """A server, and the addresses of two that joined it."""
    folder = tmp_path_factory.mktemp("placed")

    def arguments(name, *more):
        return ["--listen", f"unix:{folder}/{name}", *more]

    nothing = folder / "nothing.idl"
    nothing.write_text("Module nothing;\nDefine nothing(OUT int one) { *one = 1; }\n")
    with farcall.connect(files=[nothing], arguments=arguments("meta")) as meta:
        join = ("--join", meta.address)
        files = [BEHAVIOUR, LAPACK]
        with farcall.connect(files=files, arguments=arguments("a", *join)) as a:
            with farcall.connect(files=files, arguments=arguments("b", *join)) as b:
                until = time.monotonic() + 20
                while True:
                    try:
                        rows = meta.routine("behaviour/square").explain(x=2)
                        if sum(not row.excluded for row in rows) == 2:
                            break
                    except farcall.NotFound:
                        pass
                    assert time.monotonic() < until
                    time.sleep(0.05)
                yield meta, a.address, b.address


def test_results_say_where_they_ran(world):
    meta, *members = world
    for x in range(50):
        r = meta.square(x)
        assert r.y == x * x and r.server in members
    assert "server" in dir(r) and repr(r) == "Results(y=2401.0)"


def test_a_server_alone_is_named_by_its_address(server):
    assert server.square(2).server == server.address


def test_calls_of_all_forms_are_placed(world, farcall):
    meta, *members = world
    futures = [meta.pause.submit(0.2) for _ in range(4)]
    ran = {future.result(timeout=20).server for future in futures}
    assert ran == set(members)

    async def both():
        return await asyncio.gather(meta.square.aio(3), meta.square.aio(4))

    assert [one.y for one in asyncio.run(both())] == [9, 16]
    with farcall.Executor(meta) as executor:
        results = list(executor.map(meta.square, range(20)))
    assert [one.y for one in results] == [x * x for x in range(20)]
    assert {one.server for one in results} <= set(members)


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
    for wrong in ("", 3, "a\0b"):
        with pytest.raises(farcall.WrongType, match="call: at is"):
            meta.square(3, at=wrong)


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
