"""Calls that go on without the program that made them."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest


@pytest.fixture
def keeper(farcall, tmp_path):
    """How to start a server again that keeps outcomes in a folder of this test's own."""
    manifest = tmp_path / "farcall.toml"
    options = f'results_dir = "{tmp_path / "results"}"\n'
    manifest.write_text(
        '[[plugin]]\nname = "rpc-server"\nslot = "rpc"\nhost = "in-thread"\n[plugin.options]\n'
        f'{options}'
    )
    routines = os.path.join(os.path.dirname(__file__), "routines/behaviour.idl")

    def start():
        return farcall.connect(files=[routines], arguments=["--manifest", str(manifest)])

    return start


def test_results_are_found_by_their_id(farcall, keeper):
    with keeper() as server:
        call = server.square.submit(3.0, keep=600)
        assert len(call.id) == 32 and call.result(20).y == 9.0
        for _ in range(2):
            assert server.fetch(call.id).result(20).y == 9.0
        (kept,) = server.kept()
        assert (kept.id, kept.state, kept.durable) == (call.id, "returned", True)
        assert kept.routine.endswith("/square") and 590 < kept.seconds_left <= 600
        server.forget(call.id)
        assert server.kept() == []
        with pytest.raises(farcall.NotFound):
            server.fetch(call.id)
        with pytest.raises(farcall.InvalidArgument):
            server.fetch("no id")
        with pytest.raises(farcall.WrongType):
            server.forget(7)
        assert server.square.submit(2.0).id is None


def test_kept_calls_say_which_they_are(farcall, keeper):
    begin = time.time()
    with keeper() as server:
        server.square.submit(3.0, keep=600, label="case 7").result(20)
        server.square.submit(4.5, keep=600).result(20)
        notes = sorted((kept.arguments, kept.label) for kept in server.kept())
        assert notes == [("x=3", "case 7"), ("x=4.5", "")]
        assert all(begin - 1 <= kept.submitted <= time.time() + 1 for kept in server.kept())
        with pytest.raises(farcall.WrongType, match="label"):
            server.square.submit(1.0, label="not kept").result(20)
        with pytest.raises(farcall.InvalidArgument, match="label"):
            server.square.submit(1.0, keep=600, label="x" * 201)
    with keeper() as server:
        again = sorted((kept.arguments, kept.label) for kept in server.kept())
        assert again == notes
        (first, _) = sorted(server.kept(), key=lambda kept: kept.arguments)
        assert server.fetch(first.id).result(20).y == 9.0


def test_nothing_is_kept_for_ever(farcall, keeper):
    with keeper() as server:
        for much in (float("inf"), 1e300, 10**400):
            with pytest.raises(farcall.LimitExceeded, match="results_keep_ms_max"):
                server.square.submit(2, keep=much).result()
        assert server.kept() == []


def test_outcomes_survive_the_server(keeper):
    with keeper() as server:
        call = server.square.submit(3.0, keep=600)
        assert call.result(20).y == 9.0
        deadline = time.monotonic() + 10
        while server.kept()[0].bytes < 1 and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.3)
    with keeper() as server:
        assert server.fetch(call.id).result(20).y == 9.0


def test_closing_leaves_the_call_to_the_server(farcall, keeper):
    with keeper() as server, farcall.connect(server.address) as other:
        call = other.pause.submit(0.5, keep=600)
        other.close()
        with pytest.raises(farcall.Cancelled):
            call.result(5)
        assert server.fetch(call.id).result(20).slept == 0.5


def test_a_program_that_is_killed_loses_nothing(farcall, keeper):
    program = """
        import os, signal, sys, farcall
        server = farcall.connect(sys.argv[1])
        print(server.pause.submit(0.5, keep=600).id, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    with keeper() as server:
        command = [sys.executable, "-c", textwrap.dedent(program), server.address]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert ended.returncode == -9, ended.stderr
        assert server.fetch(ended.stdout.strip()).result(20).slept == 0.5


def test_submit_raises_when_the_server_took_nothing(farcall, keeper):
    before = _servers()
    with keeper() as server, farcall.connect(server.address, heartbeat=1) as other:
        assert (server.square(2.0).y, other.square(2.0).y) == (4.0, 4.0)
        (pid,) = _servers() - before
        os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(farcall.TimedOut):
                server.square.submit(3.0, keep=600, timeout=0.5)
            with pytest.raises(farcall.ConnectionLost):
                other.square.submit(3.0, keep=600)
        finally:
            os.kill(pid, signal.SIGCONT)
    with keeper() as server:
        # A call that is refused, too; one that fails later has an id, and its outcome.
        with pytest.raises(farcall.LimitExceeded):
            server.square.submit(2, keep=1e9)
        with pytest.raises(farcall.WrongType):
            server.square.submit("x", keep=600)


def _servers():
    """The servers that this process has started, without their zygotes."""
    return {int(pid) for pid in os.listdir("/proc") if pid.isdigit() and _serves(pid)}


def _serves(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            parent = int(file.read().rsplit(")", 1)[1].split()[1])
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return parent == os.getpid() and b"serve" in file.read().split(b"\0")
    except OSError:
        return False


def test_a_heartbeat_has_its_least(farcall, server):
    for heartbeat in (1, 30.0, 0):
        with farcall.connect(server.address, heartbeat=heartbeat) as other:
            assert other.square(2.0).y == 4.0
    for heartbeat in (0.5, -1, "soon"):
        with pytest.raises(farcall.InvalidArgument if heartbeat != "soon" else farcall.WrongType):
            farcall.connect(server.address, heartbeat=heartbeat)
