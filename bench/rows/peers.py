# Rows of what a user would take otherwise: Farcall against ZeroMQ, gRPC, OpenMPI and Ray, where
# they are installed.
"""Each row is Farcall over one peer in the same rounds, with both medians beside it; the null is
raw against raw, as everywhere. Mercury would belong here, but no package of Debian has it."""

from contextlib import ExitStack

import peer_programs
from peer_programs import Grpc, Openmpi, Ray, Zeromq, over_mpi, over_plasma, over_sockets
from processes import FarcallClient, FarcallServer, RawClient, RawServer
from rows.arrays import megabytes
from rows.calls import DEPTH, PLACES
from turns import Turns, row


def peers(bench):
    found = peer_programs.found(bench)
    sockets = [peer for peer in found if peer in (Zeromq, Grpc)]
    if sockets:
        small(bench, sockets)
        under_way(bench, sockets)
    if sockets or Openmpi in found:
        large_over_tcp(bench, found)
    if Openmpi in found or Ray in found:
        one_host(bench, found)


class Contest:
    """Farcall and its peers on the same cores; whoever takes part is entered before the turns
    begin."""

    def __init__(self, bench, stack, kind, listen, cores=(0, 1)):
        self.bench, self.stack, self.cores, self.peers = bench, stack, cores, {}
        server = stack.enter_context(FarcallServer(bench, cores[1], listen))
        self.ours = stack.enter_context(FarcallClient(bench, kind, server, cores[0]))
        raw_server = stack.enter_context(RawServer(bench, cores[1]))
        self.raw = stack.enter_context(RawClient(bench, raw_server, cores[0]))

    def enter(self, peer, client):
        self.peers[peer.name] = self.stack.enter_context(client)

    def enter_sockets(self, peers):
        for peer in peers:
            self.enter(peer, over_sockets(peer, self.bench, self.cores))

    def turns(self, words, mode=()):
        """`mode` is for Farcall alone: what the others do is their way."""
        others = {"Farcall": self.ours.does(*words, *mode)}
        others.update((name, client.does(*words)) for name, client in self.peers.items())
        return Turns(self.bench.sizes.rounds, self.raw.does(*words), others)

    def print(self, turns, what, compare, shown, unit, want):
        """A row for each peer. `shown` makes of a median the text that stands beside the ratio."""
        for name in self.peers:
            mine, theirs = (shown(turns.absolute(one).median) for one in ("Farcall", name))
            row(
                f"{what} over {name}'s ({mine}, {theirs} {unit})",
                compare(turns, name),
                turns.null(),
                want,
            )


def ours_over(turns, name):
    return turns.ratio("Farcall", name)


def theirs_over(turns, name):
    """A ratio of speeds, where the values are times."""
    return turns.ratio(name, "Farcall")


def small(bench, sockets):
    for place, cores in PLACES.items():
        with ExitStack() as stack:
            contest = Contest(bench, stack, "c", "tcp", cores)
            contest.enter_sockets(sockets)
            turns = contest.turns(("pingpong", bench.sizes.small))
            contest.print(
                turns,
                f"small call, tcp, c, {place}: time",
                ours_over,
                lambda seconds: f"{1e6 * seconds:.1f}",
                "us",
                "< 1",
            )


def under_way(bench, sockets):
    with ExitStack() as stack:
        contest = Contest(bench, stack, "c", "tcp")
        contest.enter_sockets(sockets)
        turns = contest.turns(("pipeline", bench.sizes.under_way, DEPTH))
        contest.print(
            turns,
            f"{DEPTH} small calls under way, tcp, c: rate",
            ours_over,
            lambda rate: f"{rate / 1e3:.0f}",
            "thousand/s",
            "> 1",
        )


def large_over_tcp(bench, found):
    """Into the same array; a peer that cannot receive into it leaves the result in memory of its
    own."""
    with ExitStack() as stack:
        contest = Contest(bench, stack, "python", "tcp")
        contest.enter_sockets([peer for peer in found if peer in (Zeromq, Grpc)])
        if Openmpi in found:
            contest.enter(Openmpi, over_mpi(bench, "tcp"))
        turns = contest.turns(("roundtrip", bench.sizes.large), ("inplace",))
        print_speeds(contest, turns, "TCP, python")


def one_host(bench, found):
    """An ordinary array in, the result mapped; Ray gives a read-only view of its store, OpenMPI
    fills the array."""
    with ExitStack() as stack:
        contest = Contest(bench, stack, "python", "unix")
        if Openmpi in found:
            contest.enter(Openmpi, over_mpi(bench, "vader"))
        if Ray in found:
            contest.enter(Ray, over_plasma(bench))
        turns = contest.turns(("roundtrip", bench.sizes.large), ("fresh",))
        print_speeds(contest, turns, "one host, mapped")


def print_speeds(contest, turns, place):
    size = contest.bench.sizes.large
    contest.print(
        turns,
        f"{megabytes(contest.bench)} there and back, {place}: speed",
        theirs_over,
        lambda seconds: f"{2e-9 * size / seconds:.2f}",
        "GB/s",
        "> 1",
    )
