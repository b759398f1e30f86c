"""Counts what one small call takes: instructions and heap blocks of a client in C, and system calls
of client, server and executable together. Counts do not depend on how busy the machine is, so a
test holds them.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A count is the difference of two runs by that of their calls: connecting is in both.
FEW, MANY = 500, 2500
SECONDS = 300


class Server:
    """A server of the benchmark's routines that ends with its standard input; all of it on core 0,
    where waiting never becomes polling."""

    def __init__(self, stage, folder, watch=()):
        self.address = f"unix:{folder}/socket"
        command = [*watch, stage / "bin/farcall", "serve", "--private", "--listen", self.address]
        self.process = subprocess.Popen(
            ["taskset", "-c", "0", *command, "--", ROOT / "bench/routines/bench.idl"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment(stage),
        )
        if not self.process.stdout.readline():
            raise SystemExit("bench: farcall serve did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=SECONDS)
        self.process.stdout.close()


def environment(stage, libraries=None):
    return {**os.environ, "LD_LIBRARY_PATH": str(libraries or stage / "lib")}


def client(stage, kind, address, calls, watch, libraries=None):
    """What is said on standard error while a client, `c` or `grpc`, makes so many small calls, perhaps
    with libraries of another folder."""
    run = subprocess.run(
        ["taskset", "-c", "0", *watch, stage / f"libexec/farcall-bench-client-{kind}", address],
        input=f"pingpong {calls}\n",
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS,
        env=environment(stage, libraries),
    )
    return run.stderr


def lean(stage, folder):
    """A folder with the library as it is brought to other hosts: valgrind takes seconds to read what
    debuggers read. None where there is no such file."""
    library = stage / "libexec/libfarcall-lean.so"
    if not library.exists():
        return None
    libraries = pathlib.Path(folder) / "lib"
    libraries.mkdir()
    (libraries / "libfarcall.so.0").symlink_to(library)
    return libraries


def per_call(count):
    return (count(MANY) - count(FEW)) / (MANY - FEW)


def of_client(stage, kind="c"):
    """Instructions and heap blocks of one small call in a client: farcall_call, or grpc_call."""
    with tempfile.TemporaryDirectory() as folder, Server(stage, folder) as server:
        libraries = lean(stage, folder)

        def said(calls, pattern, *watch):
            found = re.search(pattern, client(stage, kind, server.address, calls, watch, libraries))
            return int(found[1].replace(",", ""))

        callgrind = ("valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/counts")
        instructions = per_call(lambda calls: said(calls, r"Collected : (\d+)", *callgrind))
        blocks = per_call(lambda calls: said(calls, r"total heap usage: ([\d,]+)", "valgrind"))
    return instructions, blocks


def of_system(stage):
    """System calls of all three processes in one small call."""

    def count(calls):
        with tempfile.TemporaryDirectory() as folder:
            watch = ("strace", "-f", "-qq", "-e", "signal=none", "-o")
            with Server(stage, folder, (*watch, f"{folder}/server")) as server:
                client(stage, "c", server.address, calls, (*watch, f"{folder}/client"))
            lines = "".join(
                (pathlib.Path(folder) / name).read_text() for name in ("server", "client")
            )
        # A call that another process interrupts is two lines.
        return sum("resumed>" not in line for line in lines.splitlines())

    return per_call(count)


def missing():
    """The programs that are not there to count with."""
    return [name for name in ("valgrind", "strace", "taskset") if not shutil.which(name)]
