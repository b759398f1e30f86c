# Transactions over three servers: NPB EP and a tile Cholesky factorisation; a server is killed in the
# middle of each.
"""The programs are those of apps/transactions. What a killed server had begun, and what it had made
that others need, is run again elsewhere: results are checked, and the figure shows it."""

import sys
import time

import farcall
from servers import Servers, wait_for

LETTER, BLOCKS = "W", 48
N, TILE = 2400, 300
RESIDUAL_MAX = 1e-13
DIFFERENCE_MAX = 1e-8


def transactions(root, stage, output):
    """Runs both; the path of the figure."""
    sys.path.insert(0, str(root / "apps/transactions"))
    import cholesky
    import ep
    import runs

    tiles = root / "apps/transactions/tiles.idl"
    begun = time.monotonic()
    with Servers(stage / "bin/farcall", ("ep", tiles), ("blas",)) as servers:
        wait_for(servers)
        with farcall.connect(servers.address) as server:
            print(f"\nTransaction over three servers: NPB EP class {LETTER}, {BLOCKS} blocks")
            of_ep, sums = run(
                server, servers, 1, runs,
                lambda t: ep.write_down(t, ep.CLASSES[LETTER][0], BLOCKS), ep.total,
            )  # fmt: skip
            error = ep.difference(sums, ep.CLASSES[LETTER][1])
            verdict("EP", "relative difference to the official sums", error, DIFFERENCE_MAX)
            servers.add()
            wait_for(servers, without=1)
            print(f"\nTransaction over three servers: Cholesky, n = {N}, tiles of {TILE}")
            a = cholesky.problem(N)
            of_cholesky, lower = run(
                server, servers, 2, runs,
                lambda t: cholesky.write_down(t, a, TILE), lambda made: cholesky.gather(*made, N),
            )  # fmt: skip
            error = cholesky.residual(a, lower)
            verdict("Cholesky", "||A - L L^T|| / ||A||", error, RESIDUAL_MAX)
    path = output / "transactions.svg"
    titles = (f"NPB EP, class {LETTER}", f"Cholesky, n = {N}, tiles of {TILE}")
    runs.draw(list(zip(titles, (of_ep, of_cholesky))), path)
    print(f"  both took {time.monotonic() - begun:.1f} s with the start of the servers")
    return path


def run(server, servers, victim, runs, write_down, gather):
    """A transaction, with this server killed when a third of its calls have returned: where its calls
    ran, and what it gave."""
    with server.transaction() as t:
        made = write_down(t)
    runs.follow(server, t, 1 / 3)
    before, killed = t.timeline(), servers.members[victim]
    servers.kill(victim)
    print(f"  {servers.names()[killed]} is killed")
    runs.follow(server, t)
    told = runs.Told(t.timeline(), before, killed, servers.names())
    print(runs.text(told), end="")
    print(
        f"  {told.calls} calls in {told.last():.2f} s; {told.lost} of {told.killed} were lost, "
        f"{told.again} ran again"
    )
    return told, gather(made)


def verdict(what, measure, error, most):
    if not error <= most:
        raise SystemExit(f"demo: {what} is wrong: {measure} is {error}")
    print(f"  VERIFIED: {measure} is {error:.1e}")
