# Rows of held executables: arrays of handles, and objects that keep state.
from processes import FarcallClient, FarcallServer
from turns import Turns, row

# Clients, what they hold, and the routines of it; and what they call it.
HANDLES = (
    ("python", "function handles", ("bench.idl",)),
    ("grpc", "object handles", ("gate.idl",)),
)
WORDS = {"python": "handles", "grpc": "objects"}


def handles(bench):
    """An array of handles, each with a process of its own, and as many single ones: until all take
    calls."""
    count = bench.sizes.crowd
    for kind, what, files in HANDLES:
        word = WORDS[kind]
        with (
            FarcallServer(bench, "0,1", "unix", files) as server,
            FarcallClient(bench, kind, server, "0,1") as client,
        ):
            turns = Turns(
                bench.sizes.rounds,
                client.does(word, count, "singly"),
                {"ours": client.does(word, count, "together")},
            )
            row(
                f"an array of {count} {what}, {kind}: time over {count} single ones",
                turns.over_anchor("ours"),
                turns.null(),
                "<= 0.5",
            )


def state(bench):
    """A method of an object that keeps its state, and the same routine when the state is sent with
    each call and comes back, since the routine changes it. Also what both cost in microseconds: the
    ratio is that of a wake-up or two to the copies of an array, there and back."""
    size = bench.sizes.state
    for listen in ("unix", "tcp"):
        with (
            FarcallServer(bench, 1, listen) as server,
            FarcallClient(bench, "grpc", server, 0) as client,
        ):
            turns = Turns(
                bench.sizes.rounds,
                client.does("state", size, "sent"),
                {
                    "ours": client.does("state", size, "kept"),
                    "small": client.does("pingpong", bench.sizes.small),
                },
            )
            row(
                f"a method on {size >> 20} MB kept in an object, {listen}: speed over sending it "
                "with each call",
                turns.anchor_over("ours"),
                turns.null(),
                ">= 100",
            )
            row("the same: microseconds of the method", turns.absolute("ours", 1e6), None, "")
            row(
                "the same: microseconds of a small call without an object",
                turns.absolute("small", 1e6),
                None,
                "",
            )
