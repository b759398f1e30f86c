# Transactions from Python: graphs of empty calls, and the programs of apps/transactions.
"""Usage: graphs.py ADDRESS

Reads commands line by line, and answers each with seconds:

empty COUNT HOW      so many calls of two numbers, of which none needs another one: in a `transaction`, or `singly`
mesh WIDTH DEPTH     DEPTH layers of WIDTH calls; each takes what two calls of the layer before made: numbers all
ep M BLOCKS          NPB EP with 2^M pairs; the sums are checked
cholesky N TILE      a tile Cholesky factorisation; the residual is checked
hop BYTES HOW        an array that one server makes and another one reads, in a transaction (`way`: the time from the end of
                     the first routine to the start of the second); or `sent` from here
"""

import pathlib
import sys
import time

import farcall
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "apps/transactions"))

import cholesky  # noqa: E402  (the programs lie there)
import ep  # noqa: E402


def wrong(what):
    raise SystemExit(f"graphs.py: {what}")


class Graphs:
    def __init__(self, address):
        self.server = farcall.connect(address)
        self.made = {}

    def empty(self, count, how):
        numbers = [float(number) for number in range(int(count))]
        begin = time.perf_counter()
        if how == "singly":
            add = self.server["bench/add"]
            last = [add(number, 1.0).z for number in numbers][-1]
        else:
            with self.server.transaction() as t:
                add = t["bench/add"]
                # One result is kept, as the calls of Dask and of Ray keep theirs in their workers.
                for number in numbers:
                    last = add(number, 1.0).z
            t.wait()
        seconds = time.perf_counter() - begin
        if last != len(numbers):
            wrong("a call gave the wrong sum")
        return seconds

    def mesh(self, width, depth):
        width, depth = int(width), int(depth)
        begin = time.perf_counter()
        with self.server.transaction() as t:
            add = t["bench/add"]
            layer = [1.0] * width
            for _ in range(depth):
                layer = [add(layer[k], layer[k - 1]).z for k in range(width)]
        last = [float(one) for one in layer]
        seconds = time.perf_counter() - begin
        if last != [2.0**depth] * width:
            wrong("the mesh has another end")
        return seconds

    def ep(self, m, blocks):
        begin = time.perf_counter()
        with self.server.transaction() as t:
            results = ep.write_down(t, int(m), int(blocks))
        t.wait()
        sums = ep.total(results)
        seconds = time.perf_counter() - begin
        known = {m: wanted for m, wanted in ep.CLASSES.values()}.get(int(m))
        if known and ep.difference(sums, known) > 1e-8:
            wrong("the sums are not the official ones")
        return seconds

    def cholesky(self, n, tile):
        n, tile = int(n), int(tile)
        if n not in self.made:
            self.made[n] = cholesky.problem(n)
        a = self.made[n]
        begin = time.perf_counter()
        with self.server.transaction() as t:
            made, infos = cholesky.write_down(t, a, tile)
        t.wait()
        seconds = time.perf_counter() - begin
        # Once is enough, and takes longer than the factorisation.
        if ("checked", n) not in self.made:
            self.made["checked", n] = cholesky.residual(a, cholesky.gather(made, infos, n))
        if not self.made["checked", n] < 1e-13:
            wrong("the factor is wrong")
        return seconds

    def hop(self, size, how):
        count = int(size) // 8
        server = self.server
        begin = time.perf_counter()
        if how == "sent":
            if ("hop", count) not in self.made:
                self.made["hop", count] = np.arange(count, dtype=float)
            x = self.made["hop", count]
            begin = time.perf_counter()
            last = server["reads/last"](x).value
        else:
            with server.transaction() as t:
                last = t["reads/last"](t["makes/ramp"](count).x).value
            last = float(last)
        seconds = time.perf_counter() - begin
        if how == "way":
            made, read = t.timeline()
            seconds = read.begun - made.ended
        if last != count - 1:
            wrong("the array is another one")
        return seconds


def main():
    graphs = Graphs(sys.argv[1])
    for line in sys.stdin:
        command, *arguments = line.split()
        print(f"{getattr(graphs, command)(*arguments):.9f}", flush=True)


main()
