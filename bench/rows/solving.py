# Rows of linear equations: LAPACK's dgesv over TCP.
from processes import FarcallClient, FarcallServer, RawClient, RawServer
from turns import Turns, row

LAPACK = "../../routines/lapack/lapack.idl"
# Processes inherit it: client, server and executables calculate with one thread each.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}


def dgesv(bench):
    """Against the same bytes over raw TCP and the same library in the client, one thread each."""
    with (
        RawServer(bench, 1) as raw_server,
        FarcallServer(bench, 1, "tcp", ("bench.idl", LAPACK)) as server,
        RawClient(bench, raw_server, 0) as raw,
        FarcallClient(bench, "python", server, 0) as ours,
    ):
        for n in bench.sizes.equations:
            turns = Turns(bench.sizes.rounds, raw.does("dgesv", n), {"ours": ours.does("dgesv", n)})
            row(
                f"dgesv n = {n}, TCP, python: time over raw TCP and a local solve",
                turns.over_anchor("ours"),
                turns.null(),
                "<= 1.06",
            )
