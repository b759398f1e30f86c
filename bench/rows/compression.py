# Rows of compression: what it costs where the network is fast, and saves where it is slow.
from processes import FarcallClient, FarcallServer, SlowLink
from turns import Turns, row

# How a Python client is told to compress; the anchor of these rows is Farcall itself without.
CHOICE = "FARCALL_COMPRESSION"
# A round over the slow link takes seconds, and what the link does is no matter of chance.
LINKED_ROUNDS = 3


def compression(bench):
    for listen in ("tcp", "tls"):
        with FarcallServer(bench, 1, listen) as server:
            compare(
                bench,
                server,
                bench.sizes.large,
                bench.sizes.rounds,
                f"loopback {listen}",
                {"smooth": ">= 0.99", "random": ">= 0.99", "sparse": ">= 0.99"},
            )
    with FarcallServer(bench, 1, "tcp") as server, SlowLink(server) as link:
        compare(
            bench,
            link,
            bench.sizes.linked,
            min(bench.sizes.rounds, LINKED_ROUNDS),
            "100 Mbit/s and 20 ms",
            {"smooth": ">= 1.2", "random": ">= 1", "sparse": ">= 5"},
        )


def compare(bench, server, size, rounds, where, wanted):
    """Arrays both ways as they are, and as the two ends choose."""
    with (
        FarcallClient(bench, "python", server, 0, {CHOICE: "off"}) as off,
        FarcallClient(bench, "python", server, 0, {CHOICE: "auto"}) as auto,
    ):
        for kind, want in wanted.items():
            words = ("send", kind, size)
            turns = Turns(rounds, off.does(*words), {"auto": auto.does(*words)})
            row(
                f"{size / 2**20:.3g} MB there and back, {kind}, {where}: auto over off",
                turns.anchor_over("auto"),
                turns.null(),
                want,
            )
