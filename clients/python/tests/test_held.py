# Objects of a server's classes, and arrays of handles, as Python objects.
"""The classes of tests/routines/objects.idl."""

import gc
import os
import pathlib
import pydoc
import subprocess
import sys
import time

import numpy as np
import pytest

import farcall

CLASSES = pathlib.Path(__file__).resolve().parents[3] / "tests/routines/objects.idl"


@pytest.fixture(scope="module")
def server():
    with farcall.connect(files=[CLASSES]) as one:
        yield one


def test_a_class_of_its_modules_name_needs_no_other(tmp_path):
    file = tmp_path / "tank.idl"
    file.write_text(
        "Module tank;\nDefClass tank { DefState { double level; }\n"
        "DefMethod _initialize(IN double at) { level = at; }\n"
        "DefMethod fill(IN double by, OUT double now) { *now = level += by; } }\n"
        "Define other(OUT int n) { *n = 3; }\n"
    )
    with farcall.connect(files=[file], timeout=60) as one:
        with one.tank(2.0) as tank:
            assert tank.fill(3.0) == 5.0
        assert "Module tank: other, tank" in pydoc.render_doc(one.tank)
        assert one.tank.other() == 3 and one.tank.tank(1.0).fill(1.0) == 2.0


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def eventually(done):
    for _ in range(200):
        if done():
            return True
        time.sleep(0.05)
    return False


def test_state_stays_with_the_object(server):
    with server.Tank() as one, server.objects.Tank() as two:
        assert (one.fill(1.5).total, two.fill(1.0).total) == (3.5, 3.0)
        calls = [one.fill.submit(1.0) for _ in range(20)]
        assert [call.result().total for call in calls] == [4.5 + index for index in range(20)]
        pid = one.process().number
        assert pid != two.process().number and alive(pid)
        assert len(one.object_id) == 32
    assert not alive(pid)
    assert "closed" in repr(one)
    with pytest.raises(farcall.NotFound, match="closed"):
        one.fill(1.0)


def test_what_an_object_is_made_with_goes_to_its_initialize(server):
    with server.Row(3, value=2.0) as row:
        row.add(0.5)
        np.testing.assert_array_equal(row.get(3).values, [2.5] * 3)
    with pytest.raises(farcall.WrongType, match="no argument"):
        server.Row(3, size=1)
    with pytest.raises(farcall.WrongType, match="takes no arguments"):
        server.Tank(3)
    with pytest.raises(farcall.Unavailable, match="SIGABRT"):
        server.Stillborn()
    with pytest.raises(farcall.TimedOut):
        server.Late(timeout=0.3)


def test_wrong_use_says_what_is_right(server):
    with pytest.raises(farcall.WrongType, match=r"make one.*Tank\(\.\.\.\)\.fill"):
        server.Tank.fill(1.0)
    with pytest.raises(AttributeError, match="no method"):
        server.Tank.missing  # noqa: B018
    with server.Tank() as tank:
        with pytest.raises(AttributeError, match="it has called, crash"):
            tank.fil(1.0)
        with pytest.raises(AttributeError, match="its state is on the server"):
            tank.level = 3
        with pytest.raises(farcall.WrongType):
            tank.fill.hold(3)
        assert "fill" in dir(tank) and "fill" in dir(server.Tank) and "Tank" in dir(server.objects)
        assert repr(tank).startswith("<farcall.Object objects/Tank at ") and "fill" in repr(
            server.Tank
        )
        assert tank.fill.__doc__ and tank.fill.name == "objects/Tank.fill"


def test_a_crash_ends_the_object_alone(server):
    with server.Tank() as other, server.Tank() as tank:
        with pytest.raises(farcall.RoutineCrashed):
            tank.crash()
        with pytest.raises(farcall.NotFound, match="has ended"):
            tank.called()
        assert other.fill(0.0).total == 2.0


def test_an_end_that_goes_wrong_is_raised(server):
    tank = server.Tank()
    tank.ends(1)
    with pytest.raises(farcall.RoutineCrashed):
        tank.close()
    tank.close()


def test_closing_is_quiet_where_nothing_is_left(server):
    with server.Tank() as deleted:
        command = [
            sys.executable,
            "-m",
            "farcall",
            "objects",
            "--server",
            server.address,
            "--delete",
            deleted.object_id,
        ]
        ended = subprocess.run(command, timeout=60)
        assert ended.returncode == 0
        with pytest.raises(farcall.NotFound, match="deleted"):
            deleted.fill(1.0)
    with farcall.connect(files=[CLASSES]) as other:
        closed = other.Tank()
    closed.close()


def test_a_forgotten_object_ends(server):
    tank = server.Tank()
    pid = tank.process().number
    fill = tank.fill
    del tank
    gc.collect()
    assert fill(1.0).total == 3.0, "whoever can call it keeps it"
    del fill
    gc.collect()
    assert eventually(lambda: not alive(pid))


def test_handles_are_processes(server):
    with server.count.hold(10) as handles:
        assert len(handles) == 10 and "10" in repr(handles)
        assert [handle().number for handle in handles] == [1] * 10
        assert handles[3]().number == 2 and handles[-1]().number == 2
        with pytest.raises(IndexError):
            handles[10]
    with pytest.raises(farcall.WrongType):
        server.count.hold(0)
    with server.Tank() as tank, pytest.raises(farcall.WrongType):
        tank.fill.hold(2)
    with server.count.hold(2, wait=False) as handles:
        assert handles.map([]) == []
        assert handles[1].submit().result().number == 1


def test_a_forked_child_leaves_its_parents_objects_alone(server):
    tank = server.Tank()
    assert tank.fill(1.0).total == 3.0
    child = os.fork()
    if child == 0:
        try:
            tank.fill(1.0)
            status = 1
        except farcall.ConnectionLost:
            status = 0
        os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert tank.fill(1.0).total == 4.0
    tank.close()
