# Rows of task farming: `server.map` of Python beside an executor's `map`, and beside Ray's tasks.
"""All make the same empty calls, in turn, in one run: two numbers there and one back. What a call
costs the server is the same for `map` and for an executor, and limits the ratio: the rows by
processor time of the client say what `map` itself saves."""

import contextlib

import peer_programs
from peer_programs import Ray, over_plasma
from processes import FarcallClient
from rows.servers import Server, know, metaserver
from turns import Turns, row

# Servers behind the metaserver, and Ray's workers.
SERVERS = 4


def farming(bench):
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(Server(bench, ["bench.idl"]))
        client = stack.enter_context(FarcallClient(bench, "python", server, "0,1"))
        against_executor(bench, client, "one server", ">= 2")
    with contextlib.ExitStack() as stack:
        meta = stack.enter_context(metaserver(bench))
        for _ in range(SERVERS):
            stack.enter_context(Server(bench, ["bench.idl"], join=meta.address))
        client = stack.enter_context(FarcallClient(bench, "python", meta, "0,1"))
        know(client)
        against_executor(bench, client, "four servers", ">= 2")
        if peer_programs.is_ready(Ray, bench):
            against_ray(bench, stack, client)


def against_executor(bench, client, where, want):
    """The executor is the anchor: it runs before and after each of the others."""
    count = bench.sizes.mapped
    others = {
        "lists": client.does("mapped", count, "lists"),
        "arrays": client.does("mapped", count, "arrays"),
        "unordered": client.does("mapped", count, "unordered"),
    }
    turns = Turns(bench.sizes.rounds, client.does("mapped", count, "executor"), others)
    for name in others:
        mine = f"{1e6 * turns.absolute(name).median:.1f} us"
        what = f"{count} empty calls, python, {where}, map of {name}: rate over executor's ({mine})"
        row(what, turns.anchor_over(name), turns.null(), want)
    used = {name: client.does("mapped_cpu", count, name) for name in ("lists", "arrays")}
    turns = Turns(bench.sizes.rounds, client.does("mapped_cpu", count, "executor"), used)
    for name in used:
        mine = f"{1e6 * turns.absolute(name).median:.1f} us"
        what = f"the same, map of {name}: executor's processor time over its own ({mine})"
        row(what, turns.anchor_over(name), turns.null(), "")


def against_ray(bench, stack, client):
    count = bench.sizes.mapped
    with over_plasma(bench, SERVERS) as ray:
        tasks = ray.does("tasks", count)
        turns = Turns(bench.sizes.rounds, tasks, {"lists": client.does("mapped", count, "lists")})
        mine, theirs = (
            f"{1e6 * one.median:.1f}" for one in (turns.absolute("lists"), turns.anchor())
        )
        what = f"{count} empty calls, python, four servers: rate over Ray's ({mine}, {theirs} us)"
        row(what, turns.anchor_over("lists"), turns.null(), ">= 5")
