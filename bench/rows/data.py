# Rows of data that stays at a server: arguments that are there already, and chains of calls.
"""A chain names results of calls that have not ended, so that only its beginning and its end travel. In
a transaction, it is sent as a whole.
The link of the last rows has 100 Mbit/s and 20 ms each way (link.py)."""

from processes import FarcallClient, FarcallServer, SlowLink
from turns import Turns, figure, row

# A round over the slow link takes seconds, and what the link does is no matter of chance.
LINKED_ROUNDS = 3
BLAS = "../../routines/lapack/blas.idl"
# Calls of the two chains.
MANY, FEW = 20, 5
# How a chain is made.
HOW = ("data", "transaction")
# Arrays do not become fewer bytes by compression.
PLAIN = {"FARCALL_COMPRESSION": "off"}


def data(bench):
    size = bench.sizes.state
    for listen, want in (("unix", ">= 20"), ("tcp", "")):
        with (
            FarcallServer(bench, 1, listen) as server,
            FarcallClient(bench, "python", server, 0) as client,
        ):
            sent = client.does("argument", size, "sent")
            turns = Turns(bench.sizes.rounds, sent, {"data": client.does("argument", size, "data")})
            mine = f"{1e6 * turns.absolute('data').median:.0f} us"
            what = f"an argument of {size >> 20} MB that is data, {listen}: speed over sending it"
            row(f"{what} ({mine})", turns.anchor_over("data"), turns.null(), want)
    with (
        FarcallServer(bench, "0,1", "tcp", ("bench.idl", BLAS)) as server,
        SlowLink(server) as link,
        FarcallClient(bench, "python", link, "0,1", PLAIN) as client,
    ):
        chains(bench, client)


def chains(bench, client):
    rounds = min(bench.sizes.rounds, LINKED_ROUNDS)
    turns = Turns(
        rounds,
        client.does("chain_small", MANY, "singly"),
        {how: client.does("chain_small", MANY, how) for how in HOW},
        warm=1,
    )
    for how in HOW:
        what = f"{MANY} dependent small calls, 20 ms: one by one over a chain, by {how}"
        row(what, turns.anchor_over(how), turns.null(), ">= 9")
    for factors, want in (("same", ">= 3.5"), ("different", ">= 1.9")):
        words = (FEW, bench.sizes.chained, factors)
        turns = Turns(
            rounds,
            client.does("chain_products", *words, "singly"),
            {how: client.does("chain_products", *words, how) for how in HOW},
            warm=1,
        )
        bytes_ = bench.sizes.chained**2 * 8 * ((2 if factors == "same" else FEW + 1) + 1)
        needed = bytes_ / (100e6 / 8)
        for how in HOW:
            what = f"{FEW} dependent products of n = {bench.sizes.chained}, {factors} factors"
            speed = turns.anchor_over(how)
            row(f"{what}: one by one over a chain, by {how}", speed, turns.null(), want)
            within = [seconds / needed for seconds in turns.values[how]]
            row("the same, over the time that its bytes need", figure(within), None, "<= 1.15")
