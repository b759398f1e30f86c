# Rows of Java: a call from there against the same call from C.
from processes import FarcallClient, FarcallServer, JavaClient, java_home
from rows.calls import PLACES
from turns import Turns, row

# Of Java and C alike: larger arrays say nothing more.
LARGE_MAX = 64 << 20


def calls(bench):
    """After the JIT compiler's turn. C passes a double * in place; Java a double[] or a
    MemorySegment, in place, too."""
    if java_home(bench.stage) is None:
        print("java: not measured, there is no JDK 22 or newer, or no farcall.jar (make build)")
        return
    for listen in ("unix", "tcp"):
        for place, (client_core, server_core) in PLACES.items():
            with (
                FarcallServer(bench, server_core, listen) as server,
                FarcallClient(bench, "c", server, client_core) as c,
                JavaClient(bench, server, client_core) as ours,
            ):
                words = ("pingpong", bench.sizes.small)
                turns = Turns(bench.sizes.rounds, c.does(*words), {"ours": ours.does(*words)})
                row(
                    f"small call, {listen}, java, {place}: time over c",
                    turns.over_anchor("ours"),
                    turns.null(),
                    "<= 1.1",
                )
        with (
            FarcallServer(bench, 1, listen) as server,
            FarcallClient(bench, "c", server, 0) as c,
            JavaClient(bench, server, 0) as ours,
        ):
            size = min(bench.sizes.large, LARGE_MAX)
            what = {"inplace": "double[]", "native": "MemorySegment", "fresh": "new double[]"}
            kinds = {mode: ours.does("roundtrip", size, mode) for mode in what}
            turns = Turns(bench.sizes.rounds, c.does("roundtrip", size, "inplace"), kinds)
            for mode, name in what.items():
                row(
                    f"{size >> 20} MB there and back, {listen}, java, {name}: time over c",
                    turns.over_anchor(mode),
                    turns.null(),
                    "" if mode == "fresh" else "<= 1.1",
                )
