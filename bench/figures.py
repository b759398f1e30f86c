# Draws what the Ninf paper's figures 3 to 5 show, measured here: Farcall beside local and beside
# the raw stream.
"""Figure 3: Linpack performance over n, local and remote. Figure 4: the same beside standard
Linpack without blocking, which is what a user has who takes no extra effort. Figure 5: throughput
of a call that moves Linpack's matrix and does nothing, over n, beside the raw stream (the paper's
FTP). Client and server are processes of one machine and calculate with one thread of the same
library, so remote can come up to local and not beyond; against the unblocked routine it overtakes,
as in the paper. Every n has its rounds; points are medians."""

import json

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend must be chosen first)

from processes import FarcallClient, FarcallServer, RawClient, RawServer  # noqa: E402
from rows.solving import LAPACK  # noqa: E402
from turns import Turns, interval  # noqa: E402

# The standard routine takes seconds at the paper's largest n, and its time varies by little.
ROUNDS_MAX = 5
NULL = "null"


def linpack_flops(n):
    """Operations of Linpack by convention: 2/3 n^3 + 2 n^2 (the paper's section 3.1)."""
    return 2 / 3 * n**3 + 2 * n**2


def figures(bench):
    linpack, throughput = measure(bench)
    print_table("figures 3 and 4: Linpack, Mflop/s", linpack)
    print_table("figure 5: throughput of a call, MB/s there and back", throughput)
    crossing = overtakes(linpack)
    print(
        "remote (TCP) overtakes the standard routine "
        + (f"at n = {crossing}" if crossing else "nowhere here")
    )
    (bench.output / "figures.json").write_text(
        json.dumps({"linpack": linpack, "throughput": throughput}, indent=1)
    )
    draw(bench, linpack, throughput)


def measure(bench):
    """Two tables: for each n, what was reached by each way."""
    linpack, throughput = {}, {}
    with (
        RawServer(bench, 1) as raw_server,
        FarcallServer(bench, 1, "tcp", ("bench.idl", LAPACK)) as far,
        FarcallServer(bench, 1, "unix", ("bench.idl", LAPACK)) as near,
        RawClient(bench, raw_server, 0) as raw,
        FarcallClient(bench, "python", far, 0) as over_tcp,
        FarcallClient(bench, "python", near, 0) as on_host,
    ):
        for n in bench.sizes.linpack:
            flops, size = linpack_flops(n) / 1e6, 8 * n * n
            rounds = min(bench.sizes.rounds, ROUNDS_MAX)
            solved = Turns(
                rounds,
                raw.does("local", n),
                {
                    "raw stream + local": raw.does("dgesv", n),
                    "Farcall, TCP": over_tcp.does("dgesv", n),
                    "Farcall, one host": on_host.does("dgesv", n),
                    "standard Linpack": raw.does("standard", n),
                },
                warm=1,
            )
            linpack[n] = rates(solved, "local", flops)
            moved = Turns(
                bench.sizes.rounds,
                raw.does("roundtrip", size),
                {
                    "Farcall, TCP": over_tcp.does("roundtrip", size, "inplace"),
                    "Farcall, one host": on_host.does("roundtrip", size, "fresh"),
                },
            )
            throughput[n] = rates(moved, "raw stream", 2 * size / 1e6)
    return linpack, throughput


def rates(turns, anchor, amount):
    """What was done in a second, by the anchor and by all others; and the anchor's null, as
    text."""
    times = {anchor: turns.anchor(), **{name: turns.absolute(name) for name in turns.values}}
    null = turns.null()
    return {
        **{name: amount / time.median for name, time in times.items()},
        NULL: f"{null.median:.2f} {interval(null)}",
    }


def print_table(title, table):
    names = [name for name in next(iter(table.values())) if name != NULL]
    print(
        f"\n{title}; null of the first\n{'n':>6}"
        + "".join(f"{name:>20}" for name in [*names, NULL])
    )
    for n, line in table.items():
        print(f"{n:6}" + "".join(f"{line[name]:20.0f}" for name in names) + f"{line[NULL]:>20}")


def overtakes(linpack):
    """The least n from which on the remote call stays ahead of the standard routine."""
    found = None
    for n, line in linpack.items():
        if line["Farcall, TCP"] <= line["standard Linpack"]:
            found = None
        elif found is None:
            found = n
    return found


def draw(bench, linpack, throughput):
    plots = {
        "figure3": (
            linpack,
            ("local", "raw stream + local", "Farcall, TCP", "Farcall, one host"),
            "Linpack: local and remote",
            "Mflop/s",
        ),
        "figure4": (
            linpack,
            ("local", "standard Linpack", "Farcall, TCP", "Farcall, one host"),
            "Linpack: remote beside a routine without blocking",
            "Mflop/s",
        ),
        "figure5": (
            throughput,
            ("raw stream", "Farcall, TCP", "Farcall, one host"),
            "Throughput of a call that moves the matrix there and back",
            "MB/s",
        ),
    }
    print()
    for file, (table, names, title, unit) in plots.items():
        figure, axes = plt.subplots(figsize=(7, 4.5))
        for name in names:
            axes.plot(
                list(table),
                [line[name] for line in table.values()],
                "-s" if name.startswith("Farcall") else "--o",
                markersize=4,
                label=name,
            )
        axes.set(title=title, xlabel="matrix size n", ylabel=unit)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend()
        figure.tight_layout()
        path = bench.output / f"{file}.svg"
        figure.savefig(path)
        plt.close(figure)
        print(f"{title}: {path}")
