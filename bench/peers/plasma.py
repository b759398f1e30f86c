# Ray as a peer: one actor is the server, and arrays go through its shared-memory object store
# (plasma).
"""Usage: plasma.py CLIENT_CORE SERVER_CORE [WORKERS]     reads commands on standard input (see
commands.h): `roundtrip BYTES`, and `tasks COUNT`: seconds for each of so many small tasks, two numbers
there and one back, on WORKERS processors of Ray's. `empty COUNT` and `mesh WIDTH DEPTH`: seconds of graphs
of such tasks, as daskgraphs.py says. A core may be `any`.

The result is what Ray gives: a read-only array in shared memory. Ray's own daemons run on either
core.
"""

import os
import sys
import time

# Neither reports home nor looks for a cluster; and its warnings about cores are not ours.
os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_DISABLE_IMPORT_WARNING="1")
os.environ.pop("RAY_ADDRESS", None)

import numpy as np  # noqa: E402  (the environment comes first)
import ray  # noqa: E402

STORE_BYTES = 2 << 30


def pin(core):
    """All threads of this process."""
    if core == "any":
        return
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), {int(core)})


@ray.remote(num_cpus=0)
class Server:
    def __init__(self, core):
        pin(core)

    def touch(self, array):
        return array


@ray.remote
def add(x, y):
    return x + y


def tasks(count):
    begin = time.perf_counter()
    total = sum(ray.get([add.remote(float(number), 1.0) for number in range(count)]))
    seconds = time.perf_counter() - begin
    if total != count * (count + 1) / 2:
        sys.exit("plasma.py: a task gave the wrong sum")
    return seconds / count


def empty(count):
    begin = time.perf_counter()
    made = [add.remote(float(number), 1.0) for number in range(count)]
    ray.wait(made, num_returns=count, fetch_local=False)
    last = ray.get(made[-1])
    seconds = time.perf_counter() - begin
    if last != count:
        sys.exit("plasma.py: a task gave the wrong sum")
    return seconds


def mesh(width, depth):
    begin = time.perf_counter()
    layer = [1.0] * width
    for _ in range(depth):
        layer = [add.remote(layer[k], layer[k - 1]) for k in range(width)]
    last = ray.get(layer)
    seconds = time.perf_counter() - begin
    if last != [2.0**depth] * width:
        sys.exit("plasma.py: the mesh has another end")
    return seconds


GRAPHS = {"tasks": tasks, "empty": empty, "mesh": mesh}


def main():
    ray.init(
        num_cpus=int(sys.argv[3]) if len(sys.argv) > 3 else 2,
        include_dashboard=False,
        object_store_memory=STORE_BYTES,
        logging_level="ERROR",
        log_to_driver=False,
        _node_ip_address="127.0.0.1",
    )
    pin(sys.argv[1])
    server = Server.remote(sys.argv[2])
    array = None
    for line in sys.stdin:
        command, size, *more = line.split()
        if command in GRAPHS:
            print(f"{GRAPHS[command](int(size), *map(int, more)):.9f}", flush=True)
            continue
        count = int(size) // 8
        if command != "roundtrip":
            sys.exit(f"plasma.py: no command {command}")
        if array is None or array.size != count:
            array = np.arange(float(count))
        begin = time.perf_counter()
        result = ray.get(server.touch.remote(array))
        seconds = time.perf_counter() - begin
        if result[count // 2] != count // 2:
            sys.exit("plasma.py: the array came back changed")
        del result
        print(f"{seconds:.9f}", flush=True)
    ray.shutdown()


main()
