# Rows of a GridRPC program: what grpc.h costs, and how many sessions it has under way.
from processes import FarcallClient, FarcallServer, RawClient, RawServer
from rows.calls import DEPTH, PLACES
from turns import Turns, row


def against_native(bench):
    """grpc_call and farcall_call of the same routine at the same server, by one thread of one C
    program: of two programs on a core the system may favour one, for as long as both live, by more
    than these calls differ."""
    for listen in ("tcp", "unix"):
        for place, (client_core, server_core) in PLACES.items():
            with (
                FarcallServer(bench, server_core, listen) as server,
                FarcallClient(bench, "grpc", server, client_core) as client,
            ):
                count = bench.sizes.small
                turns = Turns(
                    bench.sizes.rounds,
                    client.does("native", count),
                    {"ours": client.does("pingpong", count)},
                )
                row(
                    f"small grpc_call, {listen}, {place}: time over farcall_call",
                    turns.over_anchor("ours"),
                    turns.null(),
                    "<= 1.05",
                )


def sessions(bench):
    """Sessions that one thread of a GridRPC program has under way at once, and which end one after
    the other: the client counts them. The raw client has as many messages under way as in the rows
    of calls under way."""
    for count in bench.sizes.sessions:
        with (
            RawServer(bench, 1) as raw_server,
            FarcallServer(bench, 1, "unix", ("gate.idl",)) as server,
            RawClient(bench, raw_server, 0) as raw,
            FarcallClient(bench, "grpc", server, 0) as ours,
        ):
            turns = Turns(
                bench.sizes.rounds,
                raw.does("pipeline", bench.sizes.under_way, DEPTH),
                {"ours": ours.does("flight", count)},
            )
            row(
                f"{count:,} sessions of one thread under way at once: thousands per second",
                turns.absolute("ours", 1e-3),
                turns.null(),
                "",
            )
