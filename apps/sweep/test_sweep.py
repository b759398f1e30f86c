"""The sweep in C and in Python: whole, and with handles and servers that are lost."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", HERE.parents[1] / "build"))
PROGRAM = STAGE / "bin/farcall"
SLURM = HERE.parents[1] / "tools/slurm.sh"
TIME_MAX = 120
sys.path.insert(0, str(HERE.parents[1] / "tests/scenarios"))
from members import Members  # noqa: E402  (tests share it)


@pytest.fixture(scope="module", params=["c", "python"])
def sweep(request, tmp_path_factory):
    """The command of one of the two programs."""
    if request.param == "python":
        return [sys.executable, HERE / "sweep.py"]
    program = tmp_path_factory.mktemp("sweep") / "sweep"
    link = [f"-I{STAGE}/include", f"-L{STAGE}/lib", f"-Wl,-rpath,{STAGE}/lib", "-lfarcall", "-lm"]
    subprocess.run(
        [
            "cc",
            "-std=gnu11",
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-o",
            program,
            HERE / "sweep.c",
            *link,
        ],
        check=True,
        timeout=TIME_MAX,
    )
    return [program]


class Server:
    """A server that can be killed and restarted at the same address."""

    def __init__(self, folder, *options):
        self.address = f"unix:{folder}/socket"
        self.options = options
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [PROGRAM, "serve", *self.options, "--listen", self.address, HERE / "sweep.idl"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout.readline().strip() == self.address

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(TIME_MAX)
        self.process.stdout.close()

    def busy(self, count):
        """Processes that run a call, when there are so many."""
        until = time.monotonic() + TIME_MAX
        while time.monotonic() < until:
            said = subprocess.run(
                [PROGRAM, "objects", "--json", "--server", self.address],
                capture_output=True,
                text=True,
                timeout=TIME_MAX,
            )
            found = [json.loads(line) for line in said.stdout.splitlines()]
            pids = [one["pid"] for one in found if one["state"] == "busy"]
            if len(pids) >= count:
                return pids
            time.sleep(0.01)
        raise AssertionError("no call runs")


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path)
    yield server
    server.end()


def begun(sweep, server, *options):
    """The program, started with these options."""
    return subprocess.Popen(
        [*sweep, "--server", server.address, "--quiet", *map(str, options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process):
    """What it counted, its status, and what it complained of."""
    said, complaints = process.communicate(timeout=TIME_MAX)
    counted = re.match(
        r"calls (\d+) handles \d+ done (\d+) failed (\d+) repeated (\d+) lost-handles (\d+)$",
        said.splitlines()[0],
    )
    assert counted, said + complaints
    return (
        dict(zip(("calls", "done", "failed", "repeated", "lost"), map(int, counted.groups()))),
        process.returncode,
        complaints,
    )


def test_all_calls_return(sweep, server):
    counts, status, complaints = ended(
        begun(sweep, server, "--calls", 60, "--handles", 10, "--seconds", 0.01)
    )
    assert (
        counts == {"calls": 60, "done": 60, "failed": 0, "repeated": 0, "lost": 0} and status == 0
    ), complaints
    assert ended(begun(sweep, server, "--calls", 3, "--handles", 8, "--seconds", 0))[0]["done"] == 3
    assert ended(begun(sweep, server, "--calls", 0, "--handles", 1))[0]["done"] == 0
    refused = begun(sweep, server, "--handles", 0)
    complaints = refused.communicate(timeout=TIME_MAX)[1]
    assert refused.returncode == 2 and "--handles" in complaints and "1" in complaints, complaints


def test_an_array_of_handles_is_one_servers_at_a_metaserver(sweep, tmp_path):
    with Members(PROGRAM, tmp_path, [HERE / "sweep.idl"]) as metaserver:
        counts, status, complaints = ended(
            begun(sweep, metaserver, "--calls", 60, "--handles", 10, "--seconds", 0.01)
        )
    assert (
        counts == {"calls": 60, "done": 60, "failed": 0, "repeated": 0, "lost": 0} and status == 0
    ), complaints


def test_calls_of_a_member_that_is_killed_run_at_another(sweep, tmp_path):
    with Members(PROGRAM, tmp_path, [HERE / "sweep.idl"]) as metaserver:
        process = begun(sweep, metaserver, "--calls", 30, "--handles", 6, "--seconds", 0.3)
        members = metaserver.processes[1:]
        Server.busy(metaserver, 3)
        [victim] = [
            process
            for process, address in zip(members, metaserver.members)
            if metaserver.said(address, "objects", "--json")
        ]
        victim.kill()
        counts, status, complaints = ended(process)
    assert (counts["done"], counts["failed"], status) == (30, 0, 0) and counts["repeated"] > 0, (
        counts,
        complaints,
    )


def test_calls_of_processes_that_are_killed_run_again(sweep, server):
    process = begun(sweep, server, "--calls", 40, "--handles", 6, "--seconds", 0.3)
    for pid in server.busy(3)[:3]:
        os.kill(pid, signal.SIGKILL)
    counts, status, complaints = ended(process)
    assert (counts["done"], counts["failed"], status) == (40, 0, 0) and counts["repeated"] > 0, (
        counts,
        complaints,
    )


def test_calls_of_a_server_that_is_killed_run_again(sweep, server):
    process = begun(sweep, server, "--calls", 30, "--handles", 6, "--seconds", 0.3)
    server.busy(3)
    server.end(signal.SIGKILL)
    time.sleep(0.2)
    server.start()
    counts, status, complaints = ended(process)
    assert (counts["done"], counts["failed"], status) == (30, 0, 0) and counts["repeated"] > 0, (
        counts,
        complaints,
    )


def test_what_must_not_run_twice_is_reported(sweep, server):
    process = begun(sweep, server, "--calls", 40, "--handles", 6, "--seconds", 0.3, "--once")
    for pid in server.busy(3)[:2]:
        os.kill(pid, signal.SIGKILL)
    counts, status, complaints = ended(process)
    assert (
        counts["repeated"] == 0
        and 1 <= counts["failed"] <= 2
        and counts["done"] + counts["failed"] == 40
    ), (counts, complaints)
    assert status == 1 and len(re.findall(r"call \d+ failed", complaints)) == counts["failed"], (
        complaints
    )


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """A real Slurm of four nodes with four processors each: its folder."""
    folder = tmp_path_factory.mktemp("slurm")
    started = subprocess.run(
        [SLURM, "start", folder, "4", "4"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=TIME_MAX,
    )
    if not started.stdout.strip():
        pytest.skip("there is no Slurm to be had")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{started.stdout.strip()}:{os.environ['PATH']}")
        yield folder
        subprocess.run([SLURM, "stop", folder], check=True, timeout=TIME_MAX)


def queue(wanted):
    """Nodes of each job in the queue, when that is so."""
    until = time.monotonic() + TIME_MAX
    while time.monotonic() < until:
        nodes = subprocess.run(
            ["squeue", "-h", "-o", "%N"], stdout=subprocess.PIPE, text=True, check=True
        ).stdout.split()
        if wanted(nodes):
            return nodes
        time.sleep(0.1)
    raise AssertionError(nodes)


CLUSTER = """
ln -s {stage} build
. {root}/tests/readme/cluster.sh
{farcall} connect cluster/slurm >&2 && {farcall} publish {idl} --server ssh://cluster/slurm >&2
echo $FARCALL_SSH $!
cat >/dev/null
kill $!
"""


@pytest.fixture
def login_node(slurm, monkeypatch):
    """The process numbers that belong to connections to a login node of Slurm behind a real
    sshd."""
    # A socket's path is short.
    folder = pathlib.Path(tempfile.mkdtemp(prefix="site"))
    script = CLUSTER.format(
        stage=STAGE, root=HERE.parents[1], farcall=PROGRAM, idl=HERE / "sweep.idl"
    )
    path = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    there = f"PATH={os.environ['PATH']} FARCALL_LIBRARY_DIRECTORY={STAGE}/lib"
    environment = {
        **os.environ,
        "PATH": path,
        "CLUSTER_ENVIRONMENT": there,
        "FARCALL_NAME": f"sweep-{os.getpid()}",
    }
    shell = subprocess.Popen(
        ["bash", "-c", script],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    ssh, sshd = shell.stdout.readline().split()
    for name, value in {
        "FARCALL_SSH": ssh,
        "FARCALL_SSH_SHARE": "0",
        "FARCALL_LINGER": "10",
        "FARCALL_NAME": environment["FARCALL_NAME"],
    }.items():
        monkeypatch.setenv(name, value)
    yield lambda: subprocess.run(
        ["pgrep", "-P", sshd], stdout=subprocess.PIPE, text=True
    ).stdout.split()
    shell.communicate(timeout=TIME_MAX)
    queue(lambda nodes: not nodes)
    assert not list(folder.glob("cluster/home/.farcall/*/*")), "nothing is left there"
    shutil.rmtree(folder)


class LoginNode(Server):
    """The server behind it."""

    address = "ssh://cluster/slurm"

    def __init__(self):
        pass


@contextlib.contextmanager
def dead(slurm, node):
    """A node that dies now, and comes back empty."""
    subprocess.run([SLURM, "kill", slurm, node], check=True, timeout=TIME_MAX)
    try:
        yield
    finally:
        subprocess.run([SLURM, "revive", slurm, node], check=True, timeout=TIME_MAX)


def test_a_connection_by_ssh_and_a_node_that_are_killed_lose_no_idempotent_call(
    sweep, slurm, login_node
):
    # One of each: either is tested with both without ssh.
    server, once = LoginNode(), sweep[0] == sys.executable
    process = begun(
        sweep,
        server,
        "--calls",
        160,
        "--handles",
        8,
        "--seconds",
        0.5,
        *(["--once"] if once else []),
    )
    server.busy(8)
    for connection in login_node():
        # One of a short command may have ended since.
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(connection), signal.SIGKILL)
    server.busy(8)
    with dead(slurm, "n2"):
        counts, status, complaints = ended(process)
    # The connection costs nothing: calls and handles go on over the next one. Half of the handles
    # were on the node.
    assert counts["done"] + counts["failed"] == 160 and counts["lost"] == 4, (counts, complaints)
    assert (counts["failed"], counts["repeated"]) == ((4, 0) if once else (0, 4)), (
        counts,
        complaints,
    )
    assert len(re.findall(r"call \d+ failed", complaints)) == counts["failed"] and status == int(
        once
    ), complaints


@pytest.mark.parametrize("once", [False, True])
def test_a_node_of_slurm_that_dies_loses_no_idempotent_call(
    sweep, slurm, once, tmp_path, monkeypatch
):
    monkeypatch.setenv("FARCALL_JOBS", str(tmp_path / "jobs"))
    server = Server(tmp_path, "--launcher", "slurm")
    options = ["--once"] if once else []
    process = begun(sweep, server, "--calls", 60, "--handles", 8, "--seconds", 0.5, *options)
    server.busy(8)
    assert queue(lambda nodes: len(nodes) == 1) == ["n[1-2]"], "an array is one job"
    with dead(slurm, "n2"):
        counts, status, complaints = ended(process)
    assert counts["done"] + counts["failed"] == 60 and counts["lost"] == 4, (counts, complaints)
    # Of those that must not run twice, each is reported that had begun there.
    assert (counts["failed"], counts["repeated"]) == ((4, 0) if once else (0, 4)), (
        counts,
        complaints,
    )
    assert len(re.findall(r"call \d+ failed", complaints)) == counts["failed"] and status == int(
        once
    ), complaints
    server.end()
    queue(lambda nodes: not nodes)
    assert not (tmp_path / "jobs").exists(), "nothing is left"


def test_a_server_that_does_not_come_back_costs_the_patience(sweep, server):
    process = begun(sweep, server, "--calls", 20, "--handles", 4, "--seconds", 0.3, "--patience", 1)
    server.busy(2)
    server.end(signal.SIGKILL)
    counts, status, complaints = ended(process)
    assert counts["failed"] > 0 and counts["done"] + counts["failed"] == 20 and status == 1, (
        counts,
        complaints,
    )
    assert len(re.findall(r"call \d+ failed", complaints)) == counts["failed"], complaints
    server.start()


def test_wrong_options_are_named(sweep):
    for options in (["--handles", "0"], ["--calls", "x"], ["more"]):
        done = subprocess.run([*sweep, *options], capture_output=True, text=True, timeout=TIME_MAX)
        assert done.returncode == 2 and done.stderr, options


def test_a_job_runs_as_many_processes_on_a_host_as_one_asks_for(sweep, tmp_path):
    server = Server(tmp_path, "--launcher", "local")
    counts, status, complaints = ended(
        begun(sweep, server, "--calls", 500, "--handles", 500, "--seconds", 0)
    )
    server.end()
    assert (counts, status) == (
        {"calls": 500, "done": 500, "failed": 0, "repeated": 0, "lost": 0},
        0,
    ), complaints[-2000:]
