# Dask as a peer: a scheduler and workers of one thread, each a process, on this host.
"""Usage: daskgraphs.py WORKERS     reads commands on standard input, answers each with seconds:

empty COUNT          so many calls of two numbers, of which none needs another one
mesh WIDTH DEPTH     layers of calls that take what two calls of the layer before made

Both are written down by dask.delayed first, and sent as one graph: as Farcall's transactions are.
"""

import sys
import time

import dask
from distributed import Client, LocalCluster, wait


def add(x, y):
    return x + y


def empty(client, count):
    begin = time.perf_counter()
    later = dask.delayed(add, pure=False)
    futures = client.compute([later(float(number), 1.0) for number in range(count)])
    wait(futures)
    last = futures[-1].result()
    seconds = time.perf_counter() - begin
    if last != count:
        sys.exit("daskgraphs.py: a call gave the wrong sum")
    return seconds


def mesh(client, width, depth):
    begin = time.perf_counter()
    later = dask.delayed(add, pure=False)
    layer = [1.0] * width
    for _ in range(depth):
        layer = [later(layer[k], layer[k - 1]) for k in range(width)]
    last = client.gather(client.compute(layer, optimize_graph=False))
    seconds = time.perf_counter() - begin
    if last != [2.0**depth] * width:
        sys.exit("daskgraphs.py: the mesh has another end")
    return seconds


def main():
    dask.config.set({"distributed.worker.memory.terminate": False})
    with (
        LocalCluster(
            n_workers=int(sys.argv[1]),
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
        ) as cluster,
        Client(cluster) as client,
    ):
        for line in sys.stdin:
            command, *sizes = line.split()
            took = {"empty": empty, "mesh": mesh}[command](client, *map(int, sizes))
            print(f"{took:.9f}", flush=True)


if __name__ == "__main__":
    main()
