"""Tests of the bench: its arithmetic, and what one small call takes. That everything in it still
runs is shown by the files test_*_run.py."""

import os
import pathlib
import subprocess
import sys
import types

import pytest

HERE = pathlib.Path(__file__).parent
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", HERE.parent / "build"))
sys.path.insert(0, str(HERE))

import counts  # noqa: E402  (the bench's modules lie beside it)
import peer_programs  # noqa: E402
import processes  # noqa: E402
import run  # noqa: E402
import sites  # noqa: E402
import smoke  # noqa: E402
import turns  # noqa: E402


def taking_turns(anchors, values):
    """Turns of an anchor and one other with these times."""
    return turns.Turns(len(values), iter(anchors).__next__, {"ours": iter(values).__next__}, warm=0)


def test_peers_are_installed_by_apt_and_into_an_environment(monkeypatch, tmp_path):
    ran = []
    monkeypatch.setattr(
        peer_programs, "run", lambda *command, **_: ran.append(list(map(str, command)))
    )
    monkeypatch.setattr(peer_programs.shutil, "which", lambda _: "/usr/bin/apt-get")
    monkeypatch.setattr(sys, "argv", ["run.py", "--install-peers", "--stage", str(tmp_path)])
    run.main()
    assert any("libzmq3-dev" in command for command in ran) and ran[-1][-2:] == ["ray", "numpy"]


def test_a_peer_that_is_not_there_or_cannot_be_built_costs_its_own_rows(
    monkeypatch, tmp_path, capsys
):
    class Broken:
        name, program = "gRPC C++", "broken"
        is_installed = staticmethod(lambda: True)

        @staticmethod
        def build(_):
            peer_programs.run("false")

    class Absent:
        name, program = "ZeroMQ", "absent"
        is_installed = staticmethod(lambda: False)

    class There:
        name, program = "Ray", None
        is_installed = staticmethod(lambda: True)

    class Bench:
        output = tmp_path

    monkeypatch.setattr(peer_programs, "PEERS", (Broken, Absent, There))
    assert peer_programs.found(Bench) == [There]
    said = capsys.readouterr().out
    assert "gRPC C++: not measured: its program cannot be built" in said
    assert "ZeroMQ: not installed: apt-get install libzmq3-dev" in said


def test_a_round_is_compared_with_the_anchors_around_it():
    # The machine becomes twice as slow in the middle: the ratio of each round is 2 all the same.
    taken = taking_turns([1, 1, 3, 3], [0.5, 1, 1.5])
    assert taken.anchor_over("ours") == turns.Figure(2, 2, 2)
    assert taken.over_anchor("ours") == turns.Figure(0.5, 0.5, 0.5)


def test_the_null_is_the_anchor_measured_as_the_others_are():
    assert taking_turns([2, 2, 2, 2], [1, 1, 1]).null() == turns.Figure(1, 1, 1)
    assert taking_turns([1, 2, 3], [1, 1]).null().median == 1, "a steady drift is no noise"
    assert taking_turns([1, 2, 1], [1, 1]).null().median == 0.5


@pytest.mark.skipif(sites.missing() is not None, reason=str(sites.missing()))
def test_a_link_between_two_sites_has_its_rate_and_its_delay(tmp_path):
    receive = (
        "import socket, sys; s = socket.create_server((sys.argv[1], 5000)); print(flush=True);"
        "c, _ = s.accept();\nwhile c.recv(1 << 16): pass\nc.send(b'.')"
    )
    send = (
        "import socket, sys, time; t = time.monotonic();"
        "s = socket.create_connection((sys.argv[1], 5000)); print(time.monotonic() - t);"
        "s.sendall(bytes(1 << 20)); s.shutdown(1); s.recv(1); print(time.monotonic() - t)"
    )
    # Other tests may make and delete some meanwhile.
    own = f"farcall-{os.getpid()}-*"
    assert not list(sites.NAMESPACES.glob(own))
    with sites.Sites(types.SimpleNamespace(folder=tmp_path)) as here:
        for name in ("home", "far"):
            here.add(name)
        link = here.link("home", "far", 2e6, 30)
        python = [sys.executable, "-c"]
        far = [*here.inside("far"), *python, receive, link.addresses[1]]
        with subprocess.Popen(far, stdout=subprocess.PIPE) as server:
            server.stdout.readline()
            home = [*here.inside("home"), *python, send, link.addresses[1]]
            shown = subprocess.run(home, check=True, capture_output=True, text=True, timeout=60)
            assert server.wait(timeout=60) == 0
    connected, all_of_it = map(float, shown.stdout.split())
    # Never faster than the link; how much slower depends on what else this machine does.
    assert connected >= 0.06 and all_of_it >= 0.06 + (1 << 20) / 2e6, shown.stdout
    assert not list(sites.NAMESPACES.glob(own))


def test_an_interval_holds_the_middle_half():
    assert turns.figure([1, 2, 3, 4, 100]) == turns.Figure(3, 2, 4)
    assert turns.figure([7]) == turns.Figure(7, 7, 7)


def test_a_client_that_ends_is_named():
    with processes.Client(["true"], 0) as client:
        client.process.wait()
        with pytest.raises(SystemExit, match="`true` ended while asked to pingpong 1"):
            client.ask("pingpong", 1)


@pytest.mark.skipif(os.cpu_count() < 2, reason="the bench needs two cores")
def test_a_small_call_takes_no_more_than_it_did():
    """Counts of the build for daily work; the one that is installed takes a seventh fewer
    instructions. They are the same on a busy machine, but for a hundredth."""
    if absent := counts.missing():
        pytest.skip(f"not installed: {', '.join(absent)}")
    instructions, blocks = counts.of_client(STAGE)
    assert instructions < 9000, "instructions in the C client"
    assert blocks < 2.1, "heap blocks in the C client"
    assert counts.of_system(STAGE) < 10.3, "system calls of client, server and executable"
    instructions, blocks = counts.of_client(STAGE, "grpc")
    assert instructions < 10_500, "instructions in the client of grpc_call"
    assert blocks < 2.1, "heap blocks in the client of grpc_call"


def test_every_part_is_run_by_a_group_of_its_own():
    parts = [part for group in smoke.GROUPS.values() for part in group]
    assert sorted(parts) == sorted(run.PARTS)
    files = {file.name for file in HERE.glob("test_*_run.py")}
    assert files == {f"test_{name}_run.py" for name in smoke.GROUPS}
