"""A laptop with two clusters, of which one has Slurm, and no service anywhere: a Python program, a C
program and a shell use them and this host as one server. Then nothing of it is left."""

import os
import pathlib
import shlex
import socket
import subprocess
import sys
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
# For so long servers and connections of ssh stay without a client.
LINGER = 5
# Time for these, and for a slow machine.
LEFT_MAX = 60

PYTHON = """
import farcall, numpy as np
a, b = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
with farcall.connect(["ssh://plain", "ssh://batch/slurm", "here"]) as server:
    for place in ["ssh://plain", "ssh://batch/slurm", "here", None]:
        r = server.dgesv(a, b, at=place)
        assert np.allclose(a @ r.B, b)
        print(r.server)
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def run(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, timeout=200, **more)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def processes(folder):
    """Command lines of programs that run and name the folder."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            environment = (entry / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if entry.name.isdecimal() and str(folder) in line + environment:
            found.append(f"{entry.name}: {line}")
    return found


class Host:
    """A host behind a real sshd on the loopback, with folders of its own."""

    def __init__(self, folder, sshd, path):
        self.folder, self.port = folder, free_port()
        (folder / "run").mkdir(parents=True, mode=0o700)
        (folder / "home").mkdir()
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "host"))
        settings = folder / "sshd"
        settings.write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\n"
            f"AuthorizedKeysFile {folder.parent}/key.pub\nPidFile none\nStrictModes no\n"
            "UsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n"
            f"SetEnv FARCALL_CACHE={folder}/home XDG_RUNTIME_DIR={folder}/run "
            f"XDG_STATE_HOME={folder}/home XDG_CONFIG_HOME={folder}/home PATH={path}\n"
        )
        self._sshd = subprocess.Popen(
            [sshd, "-D", "-f", settings, "-E", folder / "log"], stdin=subprocess.DEVNULL
        )

    def logins(self):
        return (self.folder / "log").read_text().count("Accepted ")

    def end(self):
        self._sshd.kill()
        self._sshd.wait()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The environment of a laptop's programs; its hosts are `plain` and `batch`, which has Slurm."""
    sshd = run(str(ROOT / "tools/sshd.sh")).strip()
    if not sshd:
        pytest.skip("there is no sshd")
    folder = tmp_path_factory.mktemp("c", numbered=True)
    slurm = run(str(ROOT / "tools/slurm.sh"), "start", str(folder / "slurm"), "2", "8").strip()
    if not slurm:
        pytest.skip("there is no Slurm")
    hosts = []
    try:
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key"))
        path = "/usr/local/bin:/usr/bin:/bin"
        hosts.append(Host(folder / "plain", sshd, path))
        hosts.append(Host(folder / "batch", sshd, f"{slurm}:{path}"))
        (folder / "config").write_text(
            f"Host plain\n Port {hosts[0].port}\nHost batch\n Port {hosts[1].port}\n"
            f"Host *\n HostName 127.0.0.1\n IdentityFile {folder}/key\n IdentitiesOnly yes\n"
            f" UserKnownHostsFile {folder}/known\n StrictHostKeyChecking accept-new\n"
            f" LogLevel ERROR\n ControlMaster auto\n ControlPath {folder}/%n.mux\n"
            f" ControlPersist {LINGER}\n"
        )
        ssh = folder / "ssh"
        ssh.write_text(f'#!/bin/sh\nexec ssh -F {folder}/config "$@"\n')
        ssh.chmod(0o700)
        (folder / "run").mkdir(mode=0o700)
        environment = {
            **os.environ,
            "FARCALL_SSH": str(ssh),
            "FARCALL_REMOTE_PROGRAM": str(STAGE / "libexec/farcall-lean"),
            "FARCALL_LINGER": str(LINGER),
            "FARCALL_NAME": "tester.laptop",
            "XDG_RUNTIME_DIR": str(folder / "run"),
            "XDG_STATE_HOME": str(folder / "state"),
        }
        environment.pop("FARCALL_SERVER", None)
        yield folder, environment, hosts, slurm
    finally:
        for host in hosts:
            host.end()
        subprocess.run([ROOT / "tools/slurm.sh", "stop", folder / "slurm"], check=False)


def test_a_laptop_uses_two_clusters_and_itself_as_one(world):
    folder, environment, hosts, slurm = world
    names = ["ssh://plain", "ssh://batch/slurm", "here"]
    ran = run(sys.executable, "-c", PYTHON, env=environment).splitlines()
    assert ran[:3] == names and ran[3] in names

    environment = {**environment, "FARCALL_SERVER": " ".join(names)}
    ran = run(compiled(folder, "solve"), *names, "-", env=environment).splitlines()
    assert ran[:3] == names and ran[3] in names
    run(compiled(folder, "gridrpc"), env=environment)

    farcall = str(STAGE / "bin/farcall")
    script = "\n".join(
        [
            "set -e",
            f"farcall={shlex.quote(farcall)}",
            '"$farcall" servers',
            '"$farcall" explain dgesv n=2000',
            "for number in 1 2 3; do",
            '    "$farcall" call dgesv "[[4, 1], [1, 3]]" "[1, 2]"',
            "done",
        ]
    )
    said = run("setsid", "-w", "sh", "-c", script, env=environment)
    assert said.count("0.0909") == 3, said
    assert all(said.count(name) >= 2 for name in names) and "chosen" in said, said
    # One login for each host serves all three.
    assert [host.logins() for host in hosts] == [1, 1]

    until = time.monotonic() + LEFT_MAX
    while ours(folder) and time.monotonic() < until:
        time.sleep(0.2)
    assert not ours(folder)
    assert not run(f"{slurm}/squeue", "--noheader")
    assert not list(folder.glob("*.mux*")) and not list((folder / "run").rglob("*.sock"))


def compiled(folder, name):
    """A C program."""
    program, library = str(folder / name), STAGE / "lib"
    command = f"cc -std=gnu11 -O2 -I{STAGE}/include -o {program} {HERE}/{name}.c"
    run(*command.split(), f"-L{library}", f"-Wl,-rpath,{library}", "-lfarcall", "-lm")
    return program


def ours(folder):
    """What runs of it beside sshd and Slurm."""
    beside = ("sshd", "slurm", "munged")
    return [line for line in processes(folder) if not any(name in line for name in beside)]
