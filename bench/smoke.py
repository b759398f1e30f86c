# Runs every part of the bench with next to nothing to measure, for its tests.
"""The parts are in groups, each a test file of its own: groups run side by side, and none of them is
long. What is measured here means nothing."""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", HERE.parent / "build"))
sys.path.insert(0, str(HERE))

import processes  # noqa: E402  (the bench's modules lie beside it)
import sites  # noqa: E402
from rows import servers  # noqa: E402

# The peers that a part compares with, where they are installed.
PEERS = {
    "peers": ("ZeroMQ", "gRPC C++", "OpenMPI", "Ray"),
    "transactions": ("Dask", "Ray"),
    "map": ("Ray",),
}
# The figures that a part draws.
FIGURES = {"figures": (3, 4, 5), "paper": (7,)}


def row_of_wan():
    if sites.missing() is None:
        return "table 6, Mflop/s: n, c, real, simulated"
    return "the wide area is not measured"


def row_of_predictions():
    if servers.no_quota() is None:
        return "dgesv, two servers, one slowed"
    return "predictions are not measured"


def row_of_choices():
    if sites.missing() is None and servers.no_quota() is None:
        return "5 mixed calls over here, near and 20 ms away"
    return "choices are not measured"


def row_of_java():
    if processes.java_home(STAGE):
        return "small call, unix, java, one core: time over c"
    return "java: not measured"


# Rows that show that a part ran; they say where its figures are drawn.
CALLS = {
    "arrays": ("1 MB there and back, TCP, c: speed over raw TCP", "CPU per GB, TCP, c"),
    "tls": ("TLS, c: speed over bare rustls",),
    "counts": (),
    "calls": ("small call, tcp, c, one core",),
    "under-way": ("64 small calls under way, tcp",),
    "python": ("fresh result over raw's malloc", "array of farcall.empty"),
    "java": (row_of_java(),),
    "dgesv": ("dgesv n = 50",),
    "ssh": (),
    "peers": (),
    "gridrpc": ("small grpc_call, tcp, one core: time over farcall_call",),
    "fortran": ("small call from Fortran, one core: time over C's",),
    "sessions": ("300 sessions of one thread",),
    "handles": ("an array of 5 function handles", "an array of 5 object handles"),
    "state": ("a method on 1 MB kept in an object",),
}
GRAPHS = {
    "compression": ("smooth, loopback tcp: auto over off", "100 Mbit/s and 20 ms"),
    "data": ("one by one over a chain, by transaction",),
    "transactions": (
        "a transaction of 32 empty calls, two servers: ms",
        "300 dependent empty calls in a transaction, four servers: thousands/s",
        "1 MB from server to server in a transaction: ms",
        "EP, 2^16 pairs, 32 calls in a transaction",
        "the same: gain of transactions over gain of plain C",
        "tile Cholesky, n = 128, tiles of 32",
    ),
    "map": (
        "300 empty calls, python, one server, map of lists: rate over executor's",
        "300 empty calls, python, four servers, map of arrays: rate over executor's",
    ),
}
JOBS = {
    "sweep": ("40 calls of 0.2 s on 4 workers: efficiency",),
    "publish": ("server.publish(f) to its first result, local",),
    "jobs": (
        "5 handles of one submission",
        "10 handles: efficiency",
        "20 calls of 0.05 s on a Slurm of 8 processors",
    ),
    "crowd": ("5 executables with OpenBLAS",),
    "audience": ("5 idle clients",),
    "scan": (),
    "query": ("10^6 doubles of a Parquet file, server.query",),
}
SERVERS = {
    "placement": (
        "16 clients behind a thin link, load only over finish first",
        "tables 6 and 7, c >= 2: largest error of a cell",
        "deciding one call with 1000 servers",
    ),
    "servers": (
        "small call, unix, c, 0 | 1: time through a metaserver",
        "64 small calls at a time, four servers",
        row_of_predictions(),
        row_of_choices(),
    ),
    "paper": ("EP: throughput of c = 2", "threads chosen over the better of one and all"),
    "wan": (row_of_wan(),),
    "figures": ("figures 3 and 4", "figure3.svg", "figure4.svg", "figure5.svg"),
}
# Each is run by a file test_NAME_run.py.
GROUPS = {"calls": CALLS, "graphs": GRAPHS, "jobs": JOBS, "servers": SERVERS}


def runs(parts):
    """Fails unless all these parts run, and show their rows."""
    only = [word for part in parts for word in ("--only", part)]
    done = subprocess.run(
        [sys.executable, HERE / "run.py", "--smoke", "--stage", STAGE, *only],
        text=True,
        timeout=1800,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    missing = [row for rows in parts.values() for row in rows if row not in done.stdout]
    assert not missing, done.stdout
    for part in parts:
        for name in PEERS.get(part, ()):
            assert f"over {name}'s" in done.stdout or f"{name}: not installed: " in done.stdout
        for number in FIGURES.get(part, ()):
            assert "<svg" in (STAGE / f"bench/figure{number}.svg").read_text()
