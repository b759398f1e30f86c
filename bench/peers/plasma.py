# Ray as a peer: one actor is the server, and arrays go through its shared-memory object store
# (plasma).
"""Usage: plasma.py CLIENT_CORE SERVER_CORE     reads commands on standard input (see commands.h):
`roundtrip BYTES`

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
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), {core})


@ray.remote(num_cpus=0)
class Server:
    def __init__(self, core):
        pin(core)

    def touch(self, array):
        return array


def main():
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=STORE_BYTES,
        logging_level="ERROR",
        log_to_driver=False,
        _node_ip_address="127.0.0.1",
    )
    pin(int(sys.argv[1]))
    server = Server.remote(int(sys.argv[2]))
    array = None
    for line in sys.stdin:
        command, size = line.split()[:2]
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
