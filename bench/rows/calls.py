# Rows of small calls: one at a time, and many under way.
from processes import FarcallClient, FarcallServer, RawClient, RawServer
from turns import Turns, row

# Where client and server run; the executable runs where the server does.
PLACES = {"one core": (0, 0), "0 | 1": (0, 1)}
WANTED = {
    "one core": {"tcp": "<= 3.0", "unix": "<= 2.7"},
    "0 | 1": {"tcp": "<= 1.3", "unix": "<= 1.3"},
}
DEPTH = 64


def small(bench):
    words = ("pingpong", bench.sizes.small)
    for kind in bench.kinds:
        for listen in ("tcp", "unix"):
            for place, (client_core, server_core) in PLACES.items():
                with (
                    RawServer(bench, server_core) as raw_server,
                    FarcallServer(bench, server_core, listen) as server,
                    RawClient(bench, raw_server, client_core) as raw,
                    FarcallClient(bench, kind, server, client_core) as ours,
                ):
                    turns = Turns(bench.sizes.rounds, raw.does(*words), {"ours": ours.does(*words)})
                    row(
                        f"small call, {listen}, {kind}, {place}: time over raw ping-pong",
                        turns.over_anchor("ours"),
                        turns.null(),
                        WANTED[place][listen],
                    )


def under_way(bench):
    """Many calls from one thread of a C program; another is started when the oldest is over. The
    raw client does the same, and both ends of it make one system call per message."""
    words = ("pipeline", bench.sizes.under_way, DEPTH)
    for listen in ("tcp", "unix"):
        with (
            RawServer(bench, 1) as raw_server,
            FarcallServer(bench, 1, listen) as server,
            RawClient(bench, raw_server, 0) as raw,
            FarcallClient(bench, "c", server, 0) as ours,
        ):
            turns = Turns(bench.sizes.rounds, raw.does(*words), {"ours": ours.does(*words)})
            row(
                f"{DEPTH} small calls under way, {listen}, c, 0 | 1: thousands per second",
                turns.absolute("ours", 1e-3),
                turns.null(),
                ">= 120",
            )
            row("the same: rate over raw", turns.over_anchor("ours"), turns.null(), "")
