# Compares two builds of Farcall, row by row: this one, itself once more, and another stage folder.
"""Of each row, servers and clients of both builds are started in turn, pinned alike, and so is a
second pair of this build: over and over, each time in another order, since where a process happens
to lie in memory counts as much as what was changed. In each sitting they take turns as everywhere
here. A figure is this build's speed over the other's; the null is the same for the second pair of
this build. A row is slower where the whole middle half of its figure lies below 0.97, and below the
null's."""

import contextlib
import dataclasses

from processes import FarcallClient, FarcallServer, client_command
from rows import calls, crowds, objects
from turns import Turns, figure

SLOWER = 0.97
# Rounds of one sitting: what is started is used for more than one, and is started often.
ROUNDS = 3

OTHERS = ("other", "again")


@dataclasses.dataclass(frozen=True)
class Contest:
    """One row."""

    text: str
    # Given a bench and a stack of contexts: what is measured, again and again.
    opens: object
    # Whether that gives a rate; otherwise a time.
    is_rate: bool = False
    needs: str = "c"


def small(kind, listen, place):
    client_core, server_core = calls.PLACES[place]

    def opens(bench, stack):
        server = stack.enter_context(FarcallServer(bench, server_core, listen))
        client = stack.enter_context(FarcallClient(bench, kind, server, client_core))
        return client.does("pingpong", bench.sizes.small)

    return Contest(f"small call, {listen}, {kind}, {place}", opens, needs=kind)


def under_way(listen):
    def opens(bench, stack):
        server = stack.enter_context(FarcallServer(bench, 1, listen))
        client = stack.enter_context(FarcallClient(bench, "c", server, 0))
        return client.does("pipeline", bench.sizes.under_way, calls.DEPTH)

    return Contest(f"{calls.DEPTH} small calls under way, {listen}, c", opens, is_rate=True)


def handles(kind, what, files):
    def opens(bench, stack):
        server = stack.enter_context(FarcallServer(bench, "0,1", "unix", files))
        client = stack.enter_context(FarcallClient(bench, kind, server, "0,1"))
        return client.does(objects.WORDS[kind], bench.sizes.crowd, "together")

    return Contest(f"an array of {what}, {kind}", opens, needs=kind)


def array(kind, listen, mode="inplace"):
    """A large array there and back: into itself, into a new one, or mapped in place."""

    def opens(bench, stack):
        server = stack.enter_context(FarcallServer(bench, 1, listen))
        client = stack.enter_context(FarcallClient(bench, kind, server, 0))
        return client.does("roundtrip", bench.sizes.large, mode)

    return Contest(f"a large array, {listen}, {kind}, {mode}", opens, needs=kind)


def shared(size):
    """An array that lies in shared memory from the first."""

    def opens(bench, stack):
        server = stack.enter_context(FarcallServer(bench, 1, "unix"))
        client = stack.enter_context(FarcallClient(bench, "python", server, 0))
        return client.does("shared", size, 20)

    return Contest(f"array of farcall.empty, {size >> 10} KB", opens, needs="python")


def method(listen):
    """A method of an object that keeps its state."""

    def opens(bench, stack):
        server = stack.enter_context(FarcallServer(bench, 1, listen))
        client = stack.enter_context(FarcallClient(bench, "grpc", server, 0))
        return client.does("state", bench.sizes.state, "kept")

    return Contest(f"a method of an object, {listen}, grpc", opens, needs="grpc")


def crowd():
    return Contest(
        "executables with OpenBLAS, first dgesv",
        lambda bench, _: crowds.starting(bench),
        needs="rust",
    )


CONTESTS = {
    "calls": lambda bench: [
        small(kind, listen, place)
        for kind in bench.kinds
        for listen in ("tcp", "unix")
        for place in calls.PLACES
    ],
    "under-way": lambda _: [under_way(listen) for listen in ("tcp", "unix")],
    "handles": lambda _: [handles(*row) for row in objects.HANDLES],
    "crowd": lambda _: [crowd()],
    "arrays": lambda bench: [
        array(kind, listen) for kind in bench.kinds for listen in ("tcp", "unix")
    ],
    "tls": lambda bench: [array(kind, "tls") for kind in bench.kinds],
    "python": lambda bench: [
        *(array("python", "tcp", mode) for mode in ("inplace", "fresh")),
        array("python", "unix", "fresh"),
        *map(shared, bench.sizes.shared),
    ],
    "state": lambda _: [method(listen) for listen in ("unix", "tcp")],
}


def compare(bench, stage, names):
    """Prints all rows of these parts; those that are slower."""
    benches = {
        "this": bench.aside("this"),
        "again": bench.aside("again"),
        "other": bench.aside("other", stage),
    }
    print(
        f"{'speed over that of ' + str(stage):<64} {'figure':>7} {'middle half':>15} {'null':>6} "
        f"{'middle half':>13}"
    )
    slower = []
    for name in names:
        for contest in CONTESTS[name](bench):
            if not all(client_command(contest.needs, each.stage) for each in benches.values()):
                print(f"{contest.text}: not measured: a stage has no client in {contest.needs}")
                continue
            ours, null = play(contest, benches)
            verdict = "slower" if is_slower(ours, null) else ""
            slower += [contest.text] if verdict else []
            figures = f"{ours.median:7.3f} {exact(ours)} {null.median:6.3f} {exact(null)}"
            print(f"{contest.text:<64} {figures}  {verdict}".rstrip(), flush=True)
    return slower


def exact(value):
    return f"[{value.low:.3f} {value.high:.3f}]"


def is_slower(ours, null):
    return ours.high < SLOWER and ours.high < null.low


def play(contest, benches):
    """This build's speed over the other's, and over its own."""
    ratios = {name: [] for name in OTHERS}
    for sitting in range(benches["this"].sizes.rounds):
        order = list(benches)
        order = order[sitting % 3 :] + order[: sitting % 3]
        with contextlib.ExitStack() as stack:
            opened = {name: contest.opens(benches[name], stack) for name in order}
            others = {name: opened[name] for name in order if name != "this"}
            turns = Turns(min(ROUNDS, benches["this"].sizes.rounds), opened["this"], others)
        for name in OTHERS:
            pairs = zip(turns.around(), turns.values[name])
            ratios[name] += [
                mine / theirs if contest.is_rate else theirs / mine for mine, theirs in pairs
            ]
    return figure(ratios["other"]), figure(ratios["again"])
