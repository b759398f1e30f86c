"""Everything in the Python client that takes a time limit, by its name, at peers that do not
answer.

`python_entries.py PORT TOKEN SECONDS` tries all that the table has, side by side, and prints a line
of JSON for each. The names come from the package itself (`limited`): what has no row in the table
is printed as well.
"""

import asyncio
import inspect
import json
import os
import sys
import threading
import time

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import farcall  # noqa: E402
import peers  # noqa: E402  (it stands beside this file)

# More than the sockets between here and a server hold.
LARGE = np.zeros(4 << 20)
# What an option of every routine's call is called in the table, beside the names of functions.
PATIENCE = 60


def limited():
    """Names of all public functions that take a time limit: by their signature or by what their
    documentation says."""
    found = set()

    def look(name, function):
        try:
            parameters = inspect.signature(function).parameters
        except (TypeError, ValueError):
            parameters = {}
        words = (inspect.getdoc(function) or "").splitlines()
        told = any(line.strip().startswith("timeout:") or "`timeout`" in line for line in words)
        if told or any("timeout" in parameter for parameter in parameters):
            found.add(name)

    for name in farcall.__all__:
        thing = getattr(farcall, name)
        look(name, thing)
        if inspect.isclass(thing):
            for member in dir(thing):
                if not member.startswith("_") or member in (
                    "__call__",
                    "__init__",
                    "__enter__",
                    "__exit__",
                ):
                    look(f"{name}.{member}", getattr(thing, member))
    return found


class Case:
    """One entry at one peer: what it needs is made before the peer turns."""

    def __init__(self, limit, token, peer):
        self.limit, self.token, self.peer = limit, token, peer
        self.server = None

    def connect(self, timeout=PATIENCE):
        self.server = farcall.connect(
            self.peer.address, token_file=self.token, timeout=timeout, reconnect=0
        )
        return self.server


def connected(case):
    return lambda: case.connect(case.limit)


def looked_up(case):
    server = case.connect(case.limit)
    return lambda: server["ends/one"]


def listed(case):
    server = case.connect(case.limit)
    return server.routines


def called(case):
    routine = case.connect()["ends/one"]
    return lambda: routine(1, timeout=case.limit)


def called_with_much(case):
    routine = case.connect()["ends/total"]
    return lambda: routine(LARGE, timeout=case.limit)


def called_by_name(case):
    server = case.connect()
    return lambda: server.call("ends/one", 1, timeout=case.limit)


def submitted(case):
    routine = case.connect()["ends/one"]
    return lambda: routine.submit(1, timeout=case.limit).result()


def submitted_with_much(case):
    routine = case.connect()["ends/total"]
    return lambda: routine.submit(LARGE, timeout=case.limit).result()


def submitted_to_be_kept(case):
    routine = case.connect()["ends/one"]
    return lambda: routine.submit(1, timeout=case.limit, keep=60).result()


def awaited(case):
    routine = case.connect()["ends/one"]
    return lambda: asyncio.run(routine.aio(1, timeout=case.limit))


def held(case):
    routine = case.connect()["ends/one"]
    return lambda: routine.hold(2, timeout=case.limit)


def method_called(case):
    handles = case.connect()["ends/one"].hold(1)
    return lambda: handles[0](1, timeout=case.limit)


def made(case):
    counter = case.connect()["ends"].Counter
    return lambda: counter(7, timeout=case.limit)


def result_awaited(case):
    routine = case.connect()["ends/one"]

    def wait():
        future = routine.submit(1)
        try:
            return future.result(case.limit)
        finally:
            future.cancel()

    return wait


def exception_awaited(case):
    routine = case.connect()["ends/one"]
    return lambda: routine.submit(1).exception(case.limit)


def mapped(case):
    server = case.connect()
    executor, routine = server.executor(), server["ends/one"]
    return lambda: list(executor.map(routine, [1, 2], timeout=case.limit))


def farmed(case):
    server = case.connect()
    routine = server["ends/one"]
    return lambda: list(server.map(routine, [1, 2], timeout=case.limit))


def queried(case):
    server = case.connect()
    return lambda: server.query("SELECT 1", timeout=case.limit)


def fetched(case):
    server = case.connect()
    return lambda: server.fetch("00112233445566778899aabbccddeeff", timeout=case.limit).result()


def put(case):
    server = case.connect()
    return lambda: server.put(LARGE, timeout=case.limit)


def data_fetched(case):
    data = case.connect().put(LARGE)
    return lambda: data.fetch(timeout=case.limit)


def data_listed(case):
    server = case.connect(case.limit)
    return server.data


def data_found(case):
    server = case.connect(case.limit)
    return lambda: server.data("00112233445566778899aabbccddeeff")


def data_deleted(case):
    data = case.connect(case.limit).put([1.0])
    return data.delete


def transaction_begun(case):
    transaction = case.connect().transaction(timeout=case.limit).__enter__()
    results = transaction["ends/total"](LARGE)
    # The end of the block.
    return lambda: (transaction.__exit__(None, None, None), results)


def transaction_of_naps(case):
    with case.connect().transaction() as transaction:
        results = transaction["ends/nap"](60000)
    return transaction, results


def transaction_awaited(case):
    transaction, results = transaction_of_naps(case)
    return lambda: (transaction.wait(timeout=case.limit), results)


def transaction_fetched(case):
    transaction, results = transaction_of_naps(case)
    return lambda: (results.slept.fetch(timeout=case.limit), transaction)


def published(case):
    server = case.connect()
    return lambda: server.publish(__file__, timeout=case.limit)


# By the name of what takes the limit; those that are left at once, before there is a connection,
# are `NOT_TURNED`.
TABLE = {
    "connect": [connected, looked_up, listed, data_listed, data_found, data_deleted],
    "Routine": [
        called,
        called_with_much,
        submitted,
        submitted_with_much,
        submitted_to_be_kept,
        awaited,
        method_called,
    ],
    "Routine.hold": [held],
    "Class": [made],
    "Class.__call__": [made],
    "Data.fetch": [data_fetched],
    "CallFuture.result": [result_awaited],
    "CallFuture.exception": [exception_awaited],
    "Executor.map": [mapped],
    "Server.call": [called_by_name],
    "Server.fetch": [fetched],
    "Server.map": [farmed],
    "Server.publish": [published],
    "Server.put": [put],
    "Server.transaction": [transaction_begun],
    "Transaction": [transaction_begun],
    "Transaction.__init__": [transaction_begun],
    "Transaction.wait": [transaction_awaited],
    "TransactionResult.fetch": [transaction_fetched],
    "TransactionNumber.fetch": [transaction_fetched],
    "Server.query": [queried],
}
# These meet the peer as it is from the first byte on.
AT_ONCE = (connected,)


def attempt(make, kind, settings):
    """One entry at one peer: how long it took, and how it ended."""
    limit, token, port = settings
    peer = peers.Peer(kind, port, begins=make in AT_ONCE)
    case = Case(limit, token, peer)
    timed = make(case)
    if make not in AT_ONCE:
        peer.turn()
    begin = time.monotonic()
    try:
        timed()
        ended = "success"
    except Exception as error:
        ended = f"{type(error).__name__}: {error}"
    return time.monotonic() - begin, ended


def main():
    settings = float(sys.argv[3]), sys.argv[2], int(sys.argv[1])
    wanted = sys.argv[4:]
    cases = {make for entries in TABLE.values() for make in entries}
    chosen = [
        (make, kind)
        for make in cases
        for kind in peers.KINDS
        if not wanted or f"{make.__name__}@{kind}" in wanted
    ]
    lock, over = threading.Lock(), threading.Semaphore(0)

    def run(make, kind):
        try:
            seconds, ended = attempt(make, kind, settings)
        except Exception as error:
            seconds, ended = None, f"was not made: {error!r}"
        with lock:
            print(
                json.dumps({"case": f"{make.__name__}@{kind}", "seconds": seconds, "ended": ended}),
                flush=True,
            )
        over.release()

    missing = sorted(limited() - set(TABLE))
    print(json.dumps({"missing": missing}), flush=True)
    for make, kind in chosen:
        threading.Thread(target=run, args=(make, kind), daemon=True).start()
    begin = time.monotonic()
    for _ in chosen:
        over.acquire(timeout=max(0.0, begin + PATIENCE - time.monotonic()))
    # What hangs still is told by its absence.
    os._exit(0)


if __name__ == "__main__":
    main()
