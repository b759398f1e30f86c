# Rows of a Fortran program: what `use farcall` costs over the C interface.
from processes import FarcallClient, FarcallServer
from rows.calls import PLACES
from turns import Turns, row

LARGE = 64 << 20


def against_c(bench):
    """The same calls from Fortran and from C, by one thread of one program, in turn: of two
    programs on a core the system may favour one, for as long as both live, by more than these calls
    differ."""
    for place, (client_core, server_core) in PLACES.items():
        with (
            FarcallServer(bench, server_core, "unix") as server,
            FarcallClient(bench, "fortran", server, client_core) as client,
        ):
            count = bench.sizes.small
            turns = Turns(
                bench.sizes.rounds,
                client.does("native", count),
                {"ours": client.does("pingpong", count)},
            )
            row(
                f"small call from Fortran, {place}: time over C's",
                turns.over_anchor("ours"),
                turns.null(),
                "<= 1.1",
            )
    for listen in ("tcp", "unix"):
        with (
            FarcallServer(bench, 1, listen) as server,
            FarcallClient(bench, "fortran", server, 0) as client,
        ):
            size = min(LARGE, bench.sizes.large)
            turns = Turns(
                bench.sizes.rounds,
                client.does("native-roundtrip", size),
                {"ours": client.does("roundtrip", size)},
            )
            row(
                f"{size >> 20} MB there and back from Fortran, {listen}: time over C's",
                turns.over_anchor("ours"),
                turns.null(),
                "<= 1.1",
            )
