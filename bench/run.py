# Measures Farcall against a raw C program that moves the same bytes, and against others' systems,
# and prints ratios.
"""Usage: bench/run.py [--quick | --smoke] [--only PART]... [--stage DIRECTORY] [--client rust|c]... [--against DIRECTORY]
       bench/run.py --install-peers

Method. Client, server and executable are processes of their own, pinned: `0 | 1` (or nothing) means
client on core 0, everything else on core 1; `one core` means all on core 0. In every round the raw
program, Farcall and whatever it is compared with run in turn; a figure is the median of the rounds'
ratios, and the null is the same for the raw program alone (turns.py). Above 1 is better for speeds
and rates, below 1 for times and CPU. The raw program receives all, then sends all, with reused
buffers. The routine takes one INOUT array and returns at once. All TCP sides use the congestion
control that is printed. Linear algebra has one thread. README.md says what each row is.
"""

import argparse
import os
import pathlib
import shutil
import tempfile
import time

import against
import figures
import peer_programs
import turns
from processes import CONGESTION, FULL, QUICK, ROOT, SMOKE, Bench, build_raw, client_command
from rows import (
    arrays,
    calls,
    compression,
    counts,
    crowds,
    data,
    farming,
    fortran,
    gridrpc,
    java,
    jobs,
    objects,
    paper,
    peers,
    placement,
    queries,
    scanning,
    servers,
    solving,
    ssh,
    sweep,
    transactions,
    wan,
)

# In the order in which they run. Those that need the Rust client are left out where it was not
# built.
PARTS = {
    "arrays": arrays.transfers,
    "tls": arrays.encrypted,
    "counts": counts.small,
    "calls": calls.small,
    "under-way": calls.under_way,
    "python": arrays.python_arrays,
    "java": java.calls,
    "dgesv": solving.dgesv,
    "ssh": ssh.ssh,
    "peers": peers.peers,
    "compression": compression.compression,
    "gridrpc": gridrpc.against_native,
    "fortran": fortran.against_c,
    "sessions": gridrpc.sessions,
    "handles": objects.handles,
    "state": objects.state,
    "data": data.data,
    "transactions": transactions.transactions,
    "map": farming.farming,
    "sweep": sweep.sweep,
    "publish": sweep.publishing,
    "jobs": jobs.jobs,
    "crowd": crowds.crowd,
    "audience": crowds.audience,
    "scan": scanning.scan,
    "query": queries.queries,
    "placement": placement.placement,
    "servers": servers.servers,
    "paper": paper.lan,
    "wan": wan.wan,
    "figures": figures.figures,
}
NEED_RUST = {"crowd", "audience"}


def parse():
    parser = argparse.ArgumentParser(
        description="Farcall against a raw C program and others' systems, in turn."
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="three rounds")
    size.add_argument(
        "--smoke",
        action="store_true",
        help="hardly anything: shows that it runs, and measures nothing",
    )
    parser.add_argument("--only", action="append", choices=PARTS, help="this part alone, or these")
    parser.add_argument(
        "--stage",
        type=pathlib.Path,
        default=os.environ.get("FARCALL_STAGE", ROOT / "build"),
        help="where Farcall was built ($FARCALL_STAGE)",
    )
    parser.add_argument(
        "--client", action="append", choices=("rust", "c"), help="clients to measure"
    )
    parser.add_argument(
        "--against",
        type=pathlib.Path,
        metavar="STAGE",
        help=(
            f"compare with another build instead: {', '.join(against.CONTESTS)}; fails where one "
            "is slower"
        ),
    )
    parser.add_argument(
        "--install-peers",
        action="store_true",
        help="install the systems to compare with (apt and pip), and measure nothing",
    )
    return parser.parse_args()


def main():
    options = parse()
    output = options.stage.resolve() / "bench"
    output.mkdir(parents=True, exist_ok=True)
    if options.install_peers:
        return peer_programs.install()
    if os.cpu_count() < 2 or shutil.which("taskset") is None:
        raise SystemExit("bench: needs two cores and taskset (util-linux)")
    kinds = tuple(
        kind for kind in options.client or ("c", "rust") if client_command(kind, options.stage)
    )
    if not kinds:
        raise SystemExit(f"bench: no client under {options.stage}/libexec; run make bench")
    sizes = QUICK if options.quick else SMOKE if options.smoke else FULL
    # Client, server and executables inherit it.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options.stage.resolve(), pathlib.Path(folder), output, sizes, kinds)
        if options.against:
            return compare(bench, options)
        build_raw(bench.folder)
        print(
            f"congestion control of all TCP sides: {CONGESTION}; {sizes.rounds} rounds; null: raw "
            "against raw\n"
        )
        turns.heading()
        for name in options.only or PARTS:
            if name not in NEED_RUST or client_command("rust", options.stage):
                PARTS[name](bench)
    print(f"\n{time.monotonic() - began:.0f} s")


def compare(bench, options):
    """This build beside another, in those parts that have both."""
    stage = options.against.resolve()
    if not (stage / "bin/farcall").exists():
        raise SystemExit(
            f"bench: {stage} holds no build: name a folder as `make build` leaves it in build/"
        )
    parts = options.only or list(against.CONTESTS)
    without = [part for part in parts if part not in against.CONTESTS]
    if without:
        raise SystemExit(
            f"bench: {', '.join(without)}: not compared; there are {', '.join(against.CONTESTS)}"
        )
    slower = against.compare(bench, stage, parts)
    if slower:
        raise SystemExit(f"bench: slower than {stage}: {'; '.join(slower)}")


if __name__ == "__main__":
    main()
