# Rows of transactions: graphs of calls that servers run, beside the same calls made one by one, by
# one server, by plain C, and by Dask and Ray.
"""All servers are behind a metaserver, which runs the graphs and publishes nothing of what they call.
A server of one thread has one processor and runs one call at a time. Chains over a slow link are rows of
data.py."""

import contextlib
import os
import subprocess
import time

import peer_programs
from peer_programs import Dask, Ray, over_dask, over_plasma
from processes import (
    ROOT,
    Client,
    RawTlsClient,
    RawTlsServer,
    certificates,
    client_command,
    libraries_of,
)
from rows.paper import EP
from rows.servers import LEADING, ONE_AT_A_TIME, Server, metaserver
from turns import Turns, figure, row

TILES = "../../apps/transactions/tiles.idl"
# Calls of the small transaction.
FEW = 32
SERVERS = 4
# Calls that EP is cut into.
BLOCKS = 32
# Rounds of what takes seconds.
LONG_ROUNDS = 3


def transactions(bench):
    few(bench)
    many(bench)
    from_server_to_server(bench)
    from_server_to_server_by_tls(bench)
    density_of_ep(bench)
    tiles(bench)


class Graphs(Client):
    """The Python client of transactions; ready when its server knows these routines."""

    def __init__(self, bench, server, routines):
        program = [client_command("python", bench.stage)[0], ROOT / "bench/clients/graphs.py"]
        environment = {**server.environment, **libraries_of(bench.stage)}
        super().__init__([*program, server.address], "0,1", environment)
        until = time.monotonic() + 30
        listed = [bench.stage / "bin/farcall", "ls", "--server", server.address]
        inherited = {**os.environ, **server.environment}
        while time.monotonic() < until:
            ls = subprocess.run(listed, capture_output=True, text=True, env=inherited)
            said = ls.stdout
            if all(routine in said for routine in routines):
                return
            time.sleep(0.1)
        raise SystemExit(f"bench: the metaserver does not know {' '.join(routines)}")


@contextlib.contextmanager
def several(bench, count, files, routines, one_thread=False):
    """A client of a metaserver with so many servers."""
    with contextlib.ExitStack() as stack:
        meta = stack.enter_context(metaserver(bench))
        words = ("--manifest", manifest(bench)) if one_thread else ()
        for core in range(count):
            where = str(core % 2) if one_thread else "0,1"
            server = Server(bench, files, where, meta.address, words=words)
            stack.enter_context(server)
        client = stack.enter_context(Graphs(bench, meta, routines))
        # Until each of them has told the metaserver of its routines.
        time.sleep(1.5)
        yield client


def manifest(bench):
    path = bench.folder / "one-at-a-time.toml"
    path.write_text(ONE_AT_A_TIME)
    return path


def few(bench):
    with several(bench, 2, ["bench.idl"], ["bench/add"]) as client:
        singly = client.does("empty", FEW, "singly")
        turns = Turns(
            bench.sizes.rounds, singly, {"ours": client.does("empty", FEW, "transaction")}
        )
    what = f"a transaction of {FEW} empty calls, two servers"
    row(f"{what}: ms", turns.absolute("ours", 1e3), None, "<= 10")
    row(f"{what}: speed over one by one", turns.anchor_over("ours"), turns.null(), "")


def many(bench):
    """The same graphs in Farcall, Dask and Ray, in turn; each has four processes that run calls."""
    count = bench.sizes.mapped
    width = min(100, count)
    graphs = {"independent": ("empty", count), "dependent": ("mesh", width, count // width)}
    with several(bench, SERVERS, ["bench.idl"], ["bench/add"]) as client:
        for kind, (word, *sizes) in graphs.items():
            given = (word, *sizes, "transaction") if word == "empty" else (word, *sizes)
            ours = client.does(*given)
            turns = Turns(bench.sizes.rounds, ours, {"ours": ours})
            what = f"{count} {kind} empty calls in a transaction, four servers"
            rates = figure([count / 1e3 / seconds for seconds in turns.values["ours"]])
            row(f"{what}: thousands/s", rates, None, ">= 5")
        for peer, over, want in ((Dask, over_dask, ">= 10"), (Ray, over_plasma, ">= 3")):
            if peer_programs.is_ready(peer, bench):
                with over(bench, SERVERS) as other:
                    for kind, (word, *sizes) in graphs.items():
                        given = (word, *sizes, "transaction") if word == "empty" else (word, *sizes)
                        against(bench, peer.name, (client, given), (other, (word, *sizes)), want)


def against(bench, name, ours, theirs, want):
    """One graph in Farcall over the same in another system."""
    (client, given), (other, words) = ours, theirs
    rounds = min(bench.sizes.rounds, LONG_ROUNDS)
    turns = Turns(rounds, other.does(*words), {"ours": client.does(*given)}, warm=1)
    mine, other_s = turns.absolute("ours").median, turns.anchor().median
    count = bench.sizes.mapped
    kind = "independent" if words[0] == "empty" else "dependent"
    rates = f"{count / mine / 1e3:.1f}, {count / other_s / 1e3:.1f} thousand/s"
    what = f"{count} {kind} empty calls, four servers: rate over {name}'s ({rates})"
    row(what, turns.anchor_over("ours"), turns.null(), want)


def from_server_to_server_by_tls(bench):
    """The same between servers that reach each other by TLS only, against a bare rustls stream one way."""
    size = bench.sizes.large
    path = bench.folder / "leading.toml"
    path.write_text(LEADING)
    authority = certificates(bench)
    listen = ("--listen", "tls://127.0.0.1:0")
    own = ("--credentials", authority / "server.pem")
    with contextlib.ExitStack() as stack:
        raw_server = stack.enter_context(RawTlsServer(bench, 1))
        raw = stack.enter_context(RawTlsClient(bench, raw_server, 0))
        meta = stack.enter_context(metaserver(bench, words=("--manifest", path, *listen, *own)))
        for core, (name, file) in enumerate((("one", "makes.idl"), ("two", "reads.idl"))):
            credentials = server_certificate(bench, name)
            words = (*listen, "--credentials", credentials)
            server = Server(bench, [file], str(core), meta.address, words=words)
            stack.enter_context(server)
        client = stack.enter_context(Graphs(bench, meta, ["makes/ramp", "reads/last"]))
        time.sleep(1.5)
        there_and_back = raw.does("roundtrip", size, "inplace")
        way = client.does("hop", size, "way")
        turns = Turns(bench.sizes.rounds, there_and_back, {"way": way})
    over = figure([back / 2 / way for way, back in zip(turns.values["way"], turns.around())])
    what = f"{size >> 20} MB from server to server in a transaction, TLS"
    took = f"{turns.absolute('way').median:.2f} s"
    row(f"{what} ({took}): speed over bare rustls", over, turns.null(), ">= 0.85")


def server_certificate(bench, name):
    folder = certificates(bench)
    path = folder / f"{name}.pem"
    if not path.exists():
        words = ["server", f"{name},localhost,127.0.0.1", "--out", path]
        command = [bench.stage / "bin/farcall", "ca", "--folder", folder, *words]
        subprocess.run(command, check=True, capture_output=True)
    return path


def from_server_to_server(bench):
    """An array that one server makes and another one reads: from the end of the one routine to the
    start of the other, by sealed memory on one host."""
    size = bench.sizes.large
    with contextlib.ExitStack() as stack:
        meta = stack.enter_context(metaserver(bench))
        for file in ("makes.idl", "reads.idl"):
            stack.enter_context(Server(bench, [file], join=meta.address))
        client = stack.enter_context(Graphs(bench, meta, ["makes/ramp", "reads/last"]))
        time.sleep(1.5)
        sent = client.does("hop", size, "sent")
        turns = Turns(bench.sizes.rounds, sent, {"way": client.does("hop", size, "way")})
    what = f"{size >> 20} MB from server to server in a transaction: ms"
    row(what, turns.absolute("way", 1e3), None, "<= 2")


def plain_ep(bench):
    """EP as a C program without any system around it."""
    program = bench.folder / "ep"
    if not program.exists():
        source = ROOT / "bench/raw/ep.c"
        subprocess.run(["cc", "-O2", "-o", program, source, "-lm"], check=True)
    return program


def side_by_side(clients, m):
    """Seconds until all of them have computed their part."""
    pairs, begin = 2**m, time.perf_counter()
    edges = [pairs * part // len(clients) for part in range(len(clients) + 1)]
    for client, first, end in zip(clients, edges, edges[1:]):
        print(m, first, end - first, file=client.process.stdin, flush=True)
    for client in clients:
        if not client.line():
            raise SystemExit("bench: the plain EP ended")
    return time.perf_counter() - begin


def density_of_ep(bench):
    m, rounds = bench.sizes.ep, min(bench.sizes.rounds, LONG_ROUNDS)
    with contextlib.ExitStack() as stack:
        plain = [stack.enter_context(Client([plain_ep(bench)], core)) for core in (0, 1)]
        ours = {
            count: stack.enter_context(several(bench, count, [EP], ["ep/ep"], one_thread=True))
            for count in (1, 2)
        }
        turns = Turns(
            rounds,
            lambda: side_by_side(plain[:1], m),
            {
                "plain": lambda: side_by_side(plain, m),
                "one": ours[1].does("ep", m, BLOCKS),
                "two": ours[2].does("ep", m, BLOCKS),
            },
            warm=1,
        )
    limit, gained = turns.anchor_over("plain"), turns.ratio("one", "two")
    what = f"EP, 2^{m} pairs, {BLOCKS} calls in a transaction"
    row(f"{what}: two servers over one, speed", gained, None, "")
    row("the same in plain C: two processes over one, speed", limit, turns.null(), "")
    both = zip(turns.values["one"], turns.values["two"], turns.around(), turns.values["plain"])
    part = figure([(one / two) / (alone / pair) for one, two, alone, pair in both])
    row("the same: gain of transactions over gain of plain C", part, turns.null(), ">= 0.96")


def tiles(bench):
    n, size = bench.sizes.tiles
    with contextlib.ExitStack() as stack:
        one, two = (
            stack.enter_context(several(bench, count, [TILES], ["tiles/gemm"], one_thread=True))
            for count in (1, 2)
        )
        turns = Turns(
            min(bench.sizes.rounds, LONG_ROUNDS),
            one.does("cholesky", n, size),
            {"two": two.does("cholesky", n, size)},
            warm=1,
        )
    what = f"tile Cholesky, n = {n}, tiles of {size} ({turns.absolute('two').median:.2f} s)"
    row(f"{what}: two servers over one, speed", turns.anchor_over("two"), turns.null(), ">= 1.5")
