# Rows of servers that ssh reaches: a real sshd on the loopback.
"""The anchor is ssh itself: a raw program at either end of its standard input and output, the same
`ssh`, `sshd`, cipher and sizes of pipes."""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
from types import SimpleNamespace

from processes import ROOT, FarcallClient, RawSshClient
from turns import Turns, row

# How long sshd may take until it listens.
PATIENCE = 10


class Sshd:
    """An `sshd` on one core, and the `ssh` that reaches it as `far`; servers that are begun there
    end with it."""

    def __init__(self, bench, program, core):
        self.bench, self.program, self.core = bench, program, core
        self.folder = bench.folder / "ssh"
        self.cache = self.folder / "cache"
        self.ssh = self.folder / "ssh"

    def environment(self):
        """What a Farcall client needs to get there."""
        lean = self.folder / "farcall"
        return {
            "FARCALL_SSH": str(self.ssh),
            "FARCALL_REMOTE_PROGRAM": str(lean),
            "FARCALL_NAME": "bench",
            "FARCALL_LINGER": "20",
            "FARCALL_SSH_SHARE": "0",
        }

    def farcall(self, *words):
        program = self.bench.stage / "bin/farcall"
        return subprocess.run(
            [program, *words],
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=dict(os.environ, **self.environment()),
        ).stdout

    def __enter__(self):
        for name in ("cache", "run"):
            (self.folder / name).mkdir(parents=True, mode=0o700)
        for name in ("host", "key"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name],
                check=True,
            )
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server, client = self.folder / "server.conf", self.folder / "client.conf"
        server.write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/host\n"
            f"AuthorizedKeysFile {self.folder}/key.pub\n"
            "PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
            "PermitRootLogin yes\n"
            f"SetEnv FARCALL_CACHE={self.cache} XDG_RUNTIME_DIR={self.folder}/run "
            f"XDG_STATE_HOME={self.folder}/state "
            f"OPENBLAS_NUM_THREADS=1 FARCALL_LIBRARY_DIRECTORY={self.bench.stage}/lib "
            f"FARCALL_PYTHON={sys.executable}\n"
        )
        client.write_text(
            f"Host far\n HostName 127.0.0.1\n Port {port}\n IdentityFile {self.folder}/key\n"
            " IdentitiesOnly yes\n"
            f" UserKnownHostsFile {self.folder}/known\n StrictHostKeyChecking accept-new\n"
            " LogLevel ERROR\n"
        )
        self.ssh.write_text(f'#!/bin/sh\nexec ssh -F {client} "$@"\n')
        self.ssh.chmod(0o700)
        lean = self.bench.stage / "libexec/farcall-lean"
        shutil.copy(
            lean if lean.exists() else self.bench.stage / "bin/farcall", self.folder / "farcall"
        )
        with contextlib.suppress(OSError):
            os.mkdir(
                "/run/sshd", 0o755
            )  # where root's sshd keeps those apart who are not let in yet
        command = [
            "taskset",
            "-c",
            str(self.core),
            self.program,
            "-D",
            "-f",
            server,
            "-E",
            self.folder / "log",
        ]
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE
        while True:
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", port), timeout=1),
            ):
                return self
            if time.monotonic() > until:
                raise SystemExit(f"bench: {self.program} does not listen; see {self.folder}/log")
            time.sleep(0.01)

    def __exit__(self, *_):
        with contextlib.suppress(subprocess.CalledProcessError):
            self.farcall("drain", "--server", "ssh://far")
        self.process.terminate()
        self.process.wait()
        # The server may be removing its own files still.
        shutil.rmtree(self.folder, ignore_errors=True)


def ssh(bench):
    """Where there is an sshd to be had."""
    found = subprocess.run(
        [ROOT / "tools/sshd.sh"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()
    if not found:
        print("ssh: not measured, there is no sshd")
        return
    for core in ("1", "0,1"):
        with Sshd(bench, pathlib.Path(found), core) as sshd:
            throughput(bench, sshd, core)
    with Sshd(bench, pathlib.Path(found), "0,1") as sshd:
        first_result(bench, sshd)


def throughput(bench, sshd, core):
    """An array there and back into itself; client and ssh on core 0, or everything where there is
    room."""
    size = bench.sizes.large // 2
    words, mine = ("roundtrip", size, "inplace"), "0" if core == "1" else core
    where = "0 | 1" if core == "1" else "both cores"
    sshd.farcall("publish", "--server", "ssh://far", str(ROOT / "bench/routines/bench.idl"))
    server = SimpleNamespace(address="ssh://far", environment=sshd.environment())
    for kind in bench.kinds:
        with (
            RawSshClient(bench, sshd.ssh, mine) as raw,
            FarcallClient(bench, kind, server, mine) as ours,
        ):
            turns = Turns(bench.sizes.rounds, raw.does(*words), {"ours": ours.does(*words)})
            row(
                f"{size >> 20} MB there and back, ssh, {where}, {kind}: speed over raw ssh's "
                f"{speed(turns, size):.0f} MB/s",
                turns.anchor_over("ours"),
                turns.null(),
                ">= 0.9",
            )


def speed(turns, size):
    """Of the anchor, in MB a second in one direction at a time."""
    return 2 * size / 1e6 / sorted(turns.anchors)[len(turns.anchors) // 2]


def first_result(bench, sshd):
    """A first call, of a host on which nothing is there."""

    def once():
        with contextlib.suppress(subprocess.CalledProcessError):
            sshd.farcall("drain", "--server", "ssh://far")
        # The server that was drained may be removing files of its own meanwhile.
        while sshd.cache.exists():
            shutil.rmtree(sshd.cache, ignore_errors=True)
        sshd.cache.mkdir(mode=0o700)
        begin = time.monotonic()
        sshd.farcall("connect", "far")
        sshd.farcall("call", "--server", "ssh://far", "dgesv", "[[4, 1], [1, 3]]", "[1, 2]")
        return time.monotonic() - begin

    def login():
        begin = time.monotonic()
        subprocess.run([sshd.ssh, "far", "true"], check=True, stdin=subprocess.DEVNULL)
        return time.monotonic() - begin

    rounds = max(3, bench.sizes.rounds // 3) if bench.sizes.rounds > 2 else 2
    turns = Turns(rounds, login, {"ours": once}, warm=1)
    row(
        "farcall connect and a first call, nothing there: seconds",
        turns.absolute("ours", 1),
        turns.null(),
        "<= 10",
    )
