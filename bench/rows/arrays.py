# Rows of large arrays: there and back over TCP, TLS and shared memory, and the processor time that
# it takes.
from contextlib import ExitStack

from processes import FarcallClient, FarcallServer, RawClient, RawServer, RawTlsClient, RawTlsServer
from turns import Turns, counts_cpu, cpu_of, row


def transfers(bench):
    """An ordinary array there and back into itself."""
    for kind in bench.kinds:
        for listen in ("tcp", "unix"):
            transfer(bench, kind, listen)


def transfer(bench, kind, listen):
    words, rounds = ("roundtrip", bench.sizes.large, "inplace"), bench.sizes.rounds
    place = {"tcp": "TCP", "unix": "one host"}[listen]
    with (
        RawServer(bench, 1) as raw_server,
        FarcallServer(bench, 1, listen) as server,
        RawClient(bench, raw_server, 0) as raw,
        FarcallClient(bench, kind, server, 0) as ours,
    ):
        turns = Turns(rounds, raw.does(*words), {"ours": ours.does(*words)})
        row(
            f"{megabytes(bench)} there and back, {place}, {kind}: speed over raw TCP",
            turns.anchor_over("ours"),
            turns.null(),
            ">= 0.88" if listen == "tcp" else ">= 1",
        )
        if listen == "unix" and kind != "c":
            mapped = Turns(
                rounds,
                raw.does(*words),
                {"ours": ours.does("roundtrip", bench.sizes.large, "mapped")},
            )
            row(
                f"the same, result mapped, {kind}",
                mapped.anchor_over("ours"),
                mapped.null(),
                ">= 2.2",
            )
        processor_time(bench, f"{place}, {kind}", words, (raw, raw_server), (ours, server))


def processor_time(bench, what, words, raw, ours):
    """User and system time of client, server and executable together for the same bytes. Each is
    (client, server)."""
    if not counts_cpu():
        print(f"CPU per GB, {what}: not measured, this kernel has no /proc/PID/schedstat")
        return
    turns = Turns(
        bench.sizes.rounds,
        cpu_of(raw[0].does(*words), *raw),
        {"ours": cpu_of(ours[0].does(*words), *ours)},
    )
    gigabytes = 2 * bench.sizes.large / 1e9
    row(
        f"CPU per GB, {what}: {turns.absolute('ours').median / gigabytes:.2f} s over raw's",
        turns.over_anchor("ours"),
        turns.null(),
        "<= 1.2",
    )


def encrypted(bench):
    """Mutual TLS 1.3 on both sides, with the same cipher suite, against a bare rustls stream."""
    words = ("roundtrip", bench.sizes.large, "inplace")
    for kind in bench.kinds:
        # The bare server ends with its client, which is therefore closed before it.
        with (
            RawTlsServer(bench, 1) as raw_server,
            FarcallServer(bench, 1, "tls") as server,
            RawTlsClient(bench, raw_server, 0) as raw,
            FarcallClient(bench, kind, server, 0) as ours,
        ):
            turns = Turns(bench.sizes.rounds, raw.does(*words), {"ours": ours.does(*words)})
            row(
                f"{megabytes(bench)} there and back, TLS, {kind}: speed over bare rustls",
                turns.anchor_over("ours"),
                turns.null(),
                ">= 0.8",
            )
            processor_time(bench, f"TLS, {kind}", words, (raw, raw_server), (ours, server))


def python_arrays(bench):
    """What the Python client does with memory: results that are dropped, and arrays that lie in
    shared memory."""
    size, rounds = bench.sizes.large, bench.sizes.rounds
    with ExitStack() as stack:
        raw_server = stack.enter_context(RawServer(bench, 1))
        raw = stack.enter_context(RawClient(bench, raw_server, 0))
        with (
            FarcallServer(bench, 1, "tcp") as server,
            FarcallClient(bench, "python", server, 0) as ours,
        ):
            for mode, what, want in (
                ("inplace", "reused result", ">= 0.88"),
                ("fresh", "fresh result over raw's malloc", ">= 1.4"),
            ):
                words = ("roundtrip", size, mode)
                turns = Turns(rounds, raw.does(*words), {"ours": ours.does(*words)})
                row(
                    f"{megabytes(bench)} there and back, TCP, python: {what}",
                    turns.anchor_over("ours"),
                    turns.null(),
                    want,
                )
        with (
            FarcallServer(bench, 1, "unix") as server,
            FarcallClient(bench, "python", server, 0) as ours,
        ):
            turns = Turns(
                rounds, raw.does("roundtrip", size), {"ours": ours.does("roundtrip", size, "fresh")}
            )
            row(
                f"{megabytes(bench)} there and back, one host, python: result mapped, over raw TCP",
                turns.anchor_over("ours"),
                turns.null(),
                ">= 2.2",
            )
            for size in bench.sizes.shared:
                born_in_shared_memory(bench, raw, ours, size)


def born_in_shared_memory(bench, raw, ours, size):
    """In microseconds: the raw ping-pong beside it shows only what the machine does meanwhile."""
    turns = Turns(
        4 * bench.sizes.rounds, raw.does("pingpong", 20), {"ours": ours.does("shared", size, 20)}
    )
    row(
        f"array of farcall.empty, {size >> 10} KB: microseconds",
        turns.absolute("ours", 1e6),
        turns.null(),
        "<= 250",
    )


def megabytes(bench):
    return f"{bench.sizes.large >> 20} MB"
