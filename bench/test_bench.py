"""Tests of the bench: its arithmetic, and that everything in it still runs. What it measures here
means nothing."""

import os
import pathlib
import subprocess
import sys
import types

import pytest

HERE = pathlib.Path(__file__).parent
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", HERE.parent / "build"))
sys.path.insert(0, str(HERE))

import against  # noqa: E402  (the bench's modules lie beside it)
import counts  # noqa: E402
import peer_programs  # noqa: E402
import processes  # noqa: E402
import run  # noqa: E402
import sites  # noqa: E402
import turns  # noqa: E402
from rows import servers  # noqa: E402

# One row of each part, and where it says what it drew.
ROWS = (
    "1 MB there and back, TCP, c: speed over raw TCP",
    "CPU per GB, TCP, c",
    "TLS, c: speed over bare rustls",
    "small call, tcp, c, one core",
    "64 small calls under way, tcp",
    "fresh result over raw's malloc",
    "array of farcall.empty",
    "dgesv n = 50",
    "smooth, loopback tcp: auto over off",
    "100 Mbit/s and 20 ms",
    "small grpc_call, tcp, one core: time over farcall_call",
    "small call from Fortran, one core: time over C's",
    "300 sessions of one thread",
    "an array of 5 function handles",
    "an array of 5 object handles",
    "a method on 1 MB kept in an object",
    "10^6 doubles of a Parquet file, server.query",
    "5 executables with OpenBLAS",
    "a transaction of 32 empty calls, two servers: ms",
    "300 dependent empty calls in a transaction, four servers: thousands/s",
    "1 MB from server to server in a transaction: GB/s",
    "EP, 2^16 pairs, 32 calls in a transaction",
    "the same: gain of transactions over gain of plain C",
    "tile Cholesky, n = 128, tiles of 32",
    "one by one over a chain, by transaction",
    "300 empty calls, python, one server, map of lists: rate over executor's",
    "300 empty calls, python, four servers, map of arrays: rate over executor's",
    "40 calls of 0.2 s on 4 workers: efficiency",
    "server.publish(f) to its first result, local",
    "5 handles of one submission",
    "10 handles: efficiency",
    "20 calls of 0.05 s on a Slurm of 8 processors",
    "16 clients behind a thin link, load only over finish first",
    "tables 6 and 7, c >= 2: largest error of a cell",
    "deciding one call with 1000 servers",
    "EP: throughput of c = 2",
    "threads chosen over the better of one and all",
    "small call, unix, c, 0 | 1: time through a metaserver",
    "64 small calls at a time, four servers",
    "5 idle clients",
    "figures 3 and 4",
    "figure3.svg",
    "figure4.svg",
    "figure5.svg",
)

WAN = (
    "table 6, Mflop/s: n, c, real, simulated"
    if sites.missing() is None
    else "the wide area is not measured"
)

PREDICTIONS = (
    "dgesv, two servers, one slowed"
    if servers.no_quota() is None
    else "predictions are not measured"
)

CHOICES = (
    "5 mixed calls over here, near and 20 ms away"
    if sites.missing() is None and servers.no_quota() is None
    else "choices are not measured"
)

JAVA = (
    "small call, unix, java, one core: time over c"
    if processes.java_home(STAGE)
    else "java: not measured"
)


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
        is_installed = staticmethod(lambda _: True)

        @staticmethod
        def build(_):
            peer_programs.run("false")

    class Absent:
        name, program = "ZeroMQ", "absent"
        is_installed = staticmethod(lambda _: False)

    class There:
        name, program = "Ray", None
        is_installed = staticmethod(lambda _: True)

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
    before = set(sites.NAMESPACES.glob("*"))
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
    assert set(sites.NAMESPACES.glob("*")) == before


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


def test_every_part_runs():
    done = subprocess.run(
        [sys.executable, HERE / "run.py", "--smoke", "--stage", STAGE],
        text=True,
        timeout=1800,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    missing = [row for row in (*ROWS, JAVA, WAN, PREDICTIONS, CHOICES) if row not in done.stdout]
    assert not missing, done.stdout
    for name in ("ZeroMQ", "gRPC C++", "OpenMPI", "Dask", "Ray"):
        assert f"over {name}'s" in done.stdout or f"{name}: not installed: " in done.stdout
    for number in (3, 4, 5, 7):
        assert "<svg" in (STAGE / f"bench/figure{number}.svg").read_text()


def test_a_row_is_slower_where_its_whole_middle_half_is_and_noise_does_not_reach_it():
    null = turns.Figure(1.0, 0.98, 1.02)
    assert against.is_slower(turns.Figure(0.9, 0.88, 0.96), null)
    assert not against.is_slower(turns.Figure(0.9, 0.88, 0.975), null)
    assert not against.is_slower(turns.Figure(0.9, 0.88, 0.96), turns.Figure(1.0, 0.95, 1.05))


def test_a_speed_is_this_builds_over_the_others(tmp_path):
    """Half the time is twice the speed, and so is twice the rate."""
    bench = processes.Bench(tmp_path, tmp_path, tmp_path, processes.SMOKE, ("c",))
    benches = {name: bench.aside(name) for name in ("this", "again", "other")}
    for is_rate, others in ((False, 2.0), (True, 0.5)):
        values = {"this": 1.0, "again": 1.0, "other": others}
        contest = against.Contest("", lambda bench, _: lambda: values[bench.folder.name], is_rate)
        assert against.play(contest, benches) == (turns.Figure(2, 2, 2), turns.Figure(1, 1, 1))


@pytest.mark.skipif(os.cpu_count() < 2, reason="the bench needs two cores")
def test_a_build_is_compared_with_another():
    done = subprocess.run(
        [
            sys.executable,
            HERE / "run.py",
            "--smoke",
            "--client",
            "c",
            "--stage",
            STAGE,
            "--against",
            STAGE,
        ],
        text=True,
        timeout=900,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    # So few calls may give any figure: slower than itself it is by chance.
    assert done.returncode == 0 or "slower than" in done.stderr, done.stdout + done.stderr
    for row in (
        "small call, tcp, c, one core",
        "64 small calls under way, unix, c",
        "an array of function handles, python",
        "an array of object handles, grpc",
        "executables with OpenBLAS, first dgesv",
    ):
        assert row in done.stdout, done.stdout
    wrong = subprocess.run(
        [sys.executable, HERE / "run.py", "--stage", STAGE, "--against", STAGE / "nowhere"],
        text=True,
        capture_output=True,
    )
    assert wrong.returncode != 0 and "holds no build" in wrong.stderr, wrong.stderr
