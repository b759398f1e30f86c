"""The student with an account on a cluster: a function of their own, in jobs with account, GPUs,
memory and time. A Slurm that lies tells what was requested; a real one runs the function."""

import ast
import getpass
import os
import pathlib
import re
import subprocess

import pytest
from walking import PATIENCE, PYTHON, STAGE, Page, changed, eventually

PAGE = Page("how-to/slurm.md")
LAUNCHERS = STAGE.parent / "tests/launchers"
SLURM = STAGE.parent / "tools/slurm.sh"
# The host `cluster` of the pages, until standard input ends.
CLUSTER = """
ln -s {stage} build
. {root}/tests/readme/cluster.sh
echo $FARCALL_SSH
cat >/dev/null
[ -z "$sshd" ] || kill $!
"""


@pytest.fixture
def cluster(place):
    """Has `ssh cluster` reach a host with this in front of its PATH, and more variables."""
    started = []

    def start(commands, **variables):
        there = {"PATH": f"{commands}:{os.environ['PATH']}", **variables}
        words = " ".join(f"{name}={value}" for name, value in there.items())
        shell = subprocess.Popen(
            ["bash", "-c", CLUSTER.format(stage=STAGE, root=STAGE.parent)],
            cwd=place.folder,
            env=dict(place.environment, CLUSTER_ENVIRONMENT=words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(shell)
        ssh = shell.stdout.readline().strip()
        place.environment.update(FARCALL_SSH=ssh, FARCALL_SSH_SHARE="0", FARCALL_LINGER="10")
        # The page has an environment made there.
        (place.folder / "cluster/home/venv").symlink_to(STAGE / "venv")

    yield start
    for shell in started:
        place.run("farcall drain --server ssh://cluster/slurm")
        # It ends when its jobs have ended.
        eventually(lambda: not servers(place))
        assert not list(place.folder.glob("cluster/home/.farcall/*/*")), "nothing is left there"
        shell.communicate(timeout=PATIENCE)


def servers(place):
    """The processes on the cluster of the program that was copied there."""
    program = str(place.folder / "cluster/home/.cache").encode()
    commands = pathlib.Path("/proc").glob("[0-9]*/cmdline")
    return [one for one in commands if words_of(one).startswith(program)]


def words_of(command):
    """Of a process, which may end meanwhile."""
    try:
        return command.read_bytes()
    except OSError:
        return b""


@pytest.fixture
def fake(place):
    """The Slurm that lies: its folder."""
    folder = place.folder / "fake"
    (folder / "bin").mkdir(parents=True)
    for command in ("sbatch", "squeue", "scancel", "scontrol", "sacct", "sacctmgr", "srun"):
        (folder / "bin" / command).symlink_to(LAUNCHERS / "fake_slurm.py")
    return folder


@pytest.fixture
def slurm(place):
    """A real Slurm of two nodes, whose site says by a prolog which GPU is a task's: its folder."""
    folder = place.folder / "slurm"
    prolog = place.write("prolog", "#!/bin/sh\necho export CUDA_VISIBLE_DEVICES=3\n")
    prolog.chmod(0o755)
    lines = f"PartitionName=gpu Nodes=n[1-2] MaxTime=180 State=UP\nTaskProlog={prolog}"
    started = subprocess.run(
        [SLURM, "start", folder, "2", "4"],
        env=dict(os.environ, SLURM_CONF_EXTRA=lines),
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
        check=True,
    ).stdout.strip()
    if not started:
        pytest.skip("no Slurm is available")
    yield folder
    subprocess.run([SLURM, "stop", folder], check=True, timeout=120)


def here(text):
    """As this user, who is `me` on the page."""
    return text.replace("me@cluster", f"{getpass.getuser()}@cluster")


def requests(fake):
    """The options of each `sbatch`, as it got them."""
    lines = (fake / "log").read_text().splitlines()
    words = [line.split(" ", 2) for line in lines]
    return [ast.literal_eval(given) for command, _, given in words if command == "sbatch"]


def run_function(place):
    """The page's program: what it prints."""
    place.write("on_the_cluster.py", here(PAGE.file("on_the_cluster.py")))
    return place.run(f"{PYTHON} on_the_cluster.py").splitlines()


def test_the_request_is_what_was_asked_for(place, cluster, fake):
    cluster(fake / "bin", FAKE_SLURM=fake)
    connect = here(PAGE.command("farcall connect me@cluster/slurm"))
    place.run(connect)
    shown = place.run(here("farcall config show me@cluster/slurm"))
    for setting in ("minutes +120 ", "project +\"physics\"", "queue +\"gpu\"", "memory_mb +4096"):
        assert re.search(rf"launchers\.slurm\.{setting}", shown), shown
    *_, where, pi = run_function(place)
    assert re.fullmatch(r"job \d+ of physics, GPUs 0", where), where
    assert 3.13 < float(pi) < 3.15
    for given in requests(fake):
        wanted = {"--account=physics", "--partition=gpu", "--time=120", "--gpus-per-task=1"}
        assert wanted <= set(given), given
        memory = [word for word in given if word.startswith("--mem")]
        # Of each process of the job, and not of its node.
        assert memory == ["--mem-per-cpu=4096M"], given


def test_a_real_slurm_runs_the_function(place, cluster, slurm):
    cluster(slurm / "bin")
    connect = here(PAGE.command("farcall connect me@cluster/slurm"))
    # It knows of no GPUs, and would refuse such jobs.
    place.run(changed(connect, ("--gpus 1", "--gpus ''")))
    *_, where, pi = run_function(place)
    assert re.fullmatch(r"job \d+ of physics, GPUs 3", where), where
    assert 3.13 < float(pi) < 3.15
    job = where.split()[1]
    told = subprocess.run(
        [slurm / "bin/scontrol", "show", "job", job], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    for words in ("Account=physics", "Partition=gpu", "TimeLimit=02:00:00"):
        assert words in told, told
