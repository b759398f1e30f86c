# Rows of held executables: arrays of function handles, and objects that keep state.
from processes import FarcallClient, FarcallServer
from turns import Turns, row


def handles(bench):
    """An array of function handles that is asked for as one, and as many single ones: until all are ready."""
    count = bench.sizes.crowd
    with FarcallServer(bench, "0,1", "unix") as server, FarcallClient(bench, "python", server, "0,1") as client:
        turns = Turns(bench.sizes.rounds, lambda: float(client.ask("handles", count, "singly")),
                      {"ours": lambda: float(client.ask("handles", count, "together"))})
        row(f"an array of {count} function handles: time over {count} single ones", turns.over_anchor("ours"),
            turns.null(), "<= 0.5")


def state(bench):
    """A method of an object that keeps 64 MB, and the same routine when that is sent with each call and comes back."""
    size = bench.sizes.state
    for listen in ("unix", "tcp"):
        with FarcallServer(bench, 1, listen) as server, FarcallClient(bench, "python", server, 0) as client:
            turns = Turns(bench.sizes.rounds, lambda: float(client.ask("state", size, "sent")),
                          {"ours": lambda: float(client.ask("state", size, "kept"))})
            row(f"a method on {size >> 20} MB kept in an object, {listen}: speed over sending it with each call",
                turns.anchor_over("ours"), turns.null(), ">= 100")
