# Rows of many: executables that start at once, and clients that do nothing.
import subprocess

from processes import FarcallClient, FarcallServer
from turns import Turns, figure, row


def crowd(bench):
    """Many processes from nothing."""
    count = bench.sizes.crowd
    command = ["taskset", "-c", "0,1", bench.folder / "rawcrowd", str(count)]

    def raw():
        return float(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)

    turns = Turns(bench.sizes.rounds, raw, {"ours": starting(bench)}, warm=0)
    row(
        f"{count} executables with OpenBLAS, first dgesv: time over {count} C servers",
        turns.over_anchor("ours"),
        turns.null(),
        "<= 3",
    )


def starting(bench):
    """A function that starts them all: each time at a server of its own, which has started no
    executable yet."""
    count = bench.sizes.crowd
    manifest = bench.folder / "crowd.toml"
    manifest.write_text(manifest_of(count))
    files, options = ("bench.idl", "crowd.idl"), ("--manifest", manifest)

    def started():
        with (
            FarcallServer(bench, "0,1", "unix", files, options) as server,
            FarcallClient(bench, "rust", server, "0,1") as client,
        ):
            return float(client.ask("crowd", count))

    return started


def manifest_of(count):
    return f"""
[[plugin]]
name = "rpc-server"
slot = "rpc"
options = {{ executables_max = {count} }}
[[plugin]]
name = "spawner-local"
slot = "spawner"
options = {{ executables_max = {count}, environment = {{ OPENBLAS_NUM_THREADS = "1" }} }}
"""


def audience(bench):
    """Clients that called once and stay; the server's resident memory, libraries included. One
    measurement: it varies by pages, not by rounds."""
    count = bench.sizes.audience
    with FarcallServer(bench, 1, "unix") as server, FarcallClient(bench, "rust", server, 0) as ours:
        ours.ask("audience", count)
        row(
            f"a server with {count} idle clients: resident MB",
            figure([server.resident_mb()]),
            None,
            "<= 64",
        )
