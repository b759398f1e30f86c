"""Where launchers start jobs: hosts behind ssh, a real Slurm and one that lies, a real Grid
Engine, and other batch systems that lie."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import conformance  # noqa: E402  (it stands beside this file)
from surroundings import (  # noqa: E402
    FARCALL,
    HERE,
    QUICK,
    ROOT,
    SECONDS,
    eventually,
    has_group,
    write_program,
)


@pytest.fixture
def example(tmp_path):
    """The launcher of the docs, as a reader would save it."""
    page = (ROOT / "docs/how-to/write-a-launcher.md").read_text()
    return write_program(
        tmp_path / "my-launcher",
        re.search(r"```python name=my-launcher\n(.*?)```", page, flags=re.S)[1],
    )


# The commands of each batch system that has a fake.
COMMANDS = {
    "gridengine": ("qsub", "qstat", "qdel", "qacct", "qrsh"),
    "pbs": ("qsub", "qstat", "qselect", "qdel", "pbs_tmrsh"),
    "lsf": ("bsub", "bjobs", "bkill", "bhist", "blaunch"),
}


@pytest.fixture
def batch(tmp_path, monkeypatch):
    """Puts a batch system that lies in front of PATH: its folder, by its name."""
    folders = []

    def begin(system):
        folder = tmp_path / system
        (folder / "bin").mkdir(parents=True)
        for command in COMMANDS[system]:
            (folder / "bin" / command).symlink_to(HERE / "fake_batch.py")
        monkeypatch.setenv("PATH", f"{folder}/bin:{os.environ['PATH']}")
        monkeypatch.setenv("FAKE_BATCH", str(folder))
        monkeypatch.setenv("FAKE_SYSTEM", system)
        folders.append(folder)
        return folder

    yield begin
    groups = [int(file.read_text()) for folder in folders for file in folder.glob("*.group")]
    eventually(lambda: not any(has_group(group) for group in groups))


@pytest.fixture(scope="module")
def engine_commands():
    """One Grid Engine for all tests: what goes in front of PATH. Nothing where no package
    is available."""
    with tempfile.TemporaryDirectory(prefix="engine") as folder:
        started = subprocess.run(
            [ROOT / "tools/gridengine.sh", "start", folder],
            stdout=subprocess.PIPE,
            text=True,
            timeout=300,
        )
        assert started.returncode == 0
        yield started.stdout.strip()
        if started.stdout:
            subprocess.run([ROOT / "tools/gridengine.sh", "stop", folder], check=True, timeout=120)


@pytest.fixture
def engine(engine_commands, monkeypatch):
    """A real Grid Engine of one node with eight slots, which has no job before and after."""
    if not engine_commands:
        pytest.skip("there is no Grid Engine here")
    monkeypatch.setenv("PATH", f"{engine_commands}:{os.environ['PATH']}")
    yield engine_commands
    eventually(
        lambda: not subprocess.run(["qstat"], stdout=subprocess.PIPE, check=True).stdout
    )


@pytest.fixture
def far(tmp_path, monkeypatch):
    """A host behind an `ssh` that is a script: noisy, with a home of its own."""
    home = tmp_path / "home"
    home.mkdir()
    script = f"""#!/bin/sh
for command; do :; done
echo "welcome to far"
export HOME={home} TMPDIR={home}
unset XDG_CACHE_HOME FARCALL_CACHE
cd {home}
exec sh -c "$command"
"""
    monkeypatch.setenv("FARCALL_SSH", write_program(tmp_path / "ssh", script))
    return home


@pytest.fixture
def real_far(tmp_path, monkeypatch):
    """A host behind a real sshd on the loopback: the folder of the programs that are brought
    there."""
    sshd = subprocess.run(
        [ROOT / "tools/sshd.sh"], stdout=subprocess.PIPE, text=True, check=True, timeout=300
    ).stdout.strip()
    if not sshd:
        pytest.skip("there is no sshd to be had")
    for name in ("host", "key"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True
        )
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    cache = tmp_path / "home"
    cache.mkdir(mode=0o700)
    server = f"""Port {port}
ListenAddress 127.0.0.1
HostKey {tmp_path}/host
AuthorizedKeysFile {tmp_path}/key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
SetEnv FARCALL_CACHE={cache} TMPDIR={cache}
"""
    (tmp_path / "sshd.conf").write_text(server)
    client = (
        f"-i {tmp_path}/key -o IdentitiesOnly=yes -o UserKnownHostsFile={tmp_path}/known -o "
        "StrictHostKeyChecking=accept-new"
    )
    script = (
        f'#!/bin/sh\nexec ssh -F /dev/null -o LogLevel=ERROR -o HostName=127.0.0.1 {client} -p '
        f'{port} "$@"\n'
    )
    monkeypatch.setenv("FARCALL_SSH", write_program(tmp_path / "ssh", script))
    # Where sshd keeps those apart who are not let in yet; root's alone needs it.
    if os.geteuid() == 0:
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)
    daemon = subprocess.Popen(
        [sshd, "-D", "-f", tmp_path / "sshd.conf", "-E", tmp_path / "sshd.log"]
    )
    eventually(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0)
    yield cache
    daemon.kill()
    daemon.wait()


@pytest.fixture(scope="module")
def slurm_commands():
    """One Slurm for all tests: its folder, and what goes in front of PATH. Nothing where there is
    none to be had."""
    with tempfile.TemporaryDirectory(prefix="slurm") as folder:
        started = subprocess.run(
            [ROOT / "tools/slurm.sh", "start", folder],
            stdout=subprocess.PIPE,
            text=True,
            timeout=300,
        )
        assert started.returncode == 0
        yield started.stdout.strip() and (folder, started.stdout.strip())
        if started.stdout:
            subprocess.run([ROOT / "tools/slurm.sh", "stop", folder], check=True, timeout=120)


@pytest.fixture
def slurm(slurm_commands, monkeypatch):
    """A real Slurm of four nodes, which has no job before and after: its folder."""
    if not slurm_commands:
        pytest.skip("there is no Slurm to be had")
    folder, commands = slurm_commands
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    yield folder
    # A job whose nodes are just given back is completing.
    eventually(
        lambda: not subprocess.run(["squeue", "-h"], stdout=subprocess.PIPE, check=True).stdout
    )


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """The Slurm that lies: its folder."""
    folder = tmp_path / "fake"
    (folder / "bin").mkdir(parents=True)
    for command in ("sbatch", "squeue", "scancel", "scontrol", "sacct", "sacctmgr", "srun"):
        (folder / "bin" / command).symlink_to(HERE / "fake_slurm.py")
    monkeypatch.setenv("PATH", f"{folder}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_SLURM", str(folder))
    yield folder
    groups = [int(file.read_text()) for file in folder.glob("*.group")]
    eventually(lambda: not any(has_group(group) for group in groups))


@pytest.fixture
def driven():
    """Starts launchers for Slurm, or another batch system, and sees that they end well."""
    launchers = []

    def start(*options, system="slurm"):
        launchers.append(
            conformance.Launcher([FARCALL, "launch", system, *QUICK, *options], [], SECONDS)
        )
        return launchers[-1]

    yield start
    for launcher in launchers:
        if launcher.process.poll() is None:
            launcher.process.stdin.close()
        assert launcher.end() in (0, -signal.SIGKILL), launcher.remarks
        assert not launcher.wrong
