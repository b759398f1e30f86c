# Servers, futures and results in cycles that Python's collector takes apart, in any order.
"""Each in a process of its own, where memory that was freed is filled with other bytes."""

import os
import pathlib
import subprocess
import sys

BEHAVIOUR = pathlib.Path(__file__).resolve().parent / "routines/behaviour.idl"

COUNT = """
import gc
from farcall._library import ffi, handle_place

freed = []

@ffi.callback("void(void *)")
def free(handle):
    freed.append((int(ffi.cast("intptr_t", handle)), used.alive))

class Used:
    alive = True

    def __del__(self):
        Used.alive = False

class Node:
    pass

gc.disable()
used = Used
for number in range(1, 101):
    node = Node()
    node.itself = node
    node.place = handle_place("void **", free, used=Used() if number == 100 else None)
    node.place[0] = ffi.cast("void *", number)
    del node
assert not freed
gc.collect()
assert sorted(one for one, _ in freed) == list(range(1, 101)), freed
assert all(alive for _, alive in freed) and not Used.alive
"""

FINALIZER = """
import gc
import sys
import farcall

seen = []

class Model:
    def __del__(self):
        seen.append((self.future.result().y, self.results.y, float(self.array[-1]), self.server.square.__name__))
        self.server.close()
        # References that only watch are told before any finalizer: the connection is closed by
        # then.
        try:
            self.server.square(3)
        except farcall.ConnectionLost as error:
            seen.append(error.operation)

gc.disable()
for older in (True, False):
    model = Model() if older else None
    server = farcall.connect(files=[sys.argv[1]])
    parts = {"future": server.square.submit(4), "results": server.square(5), "array": farcall.zeros(10000), "server": server}
    parts["future"].result()
    model = model or Model()
    vars(model).update(parts, itself=model)
    del model, server, parts
    gc.collect()
assert seen == [(16.0, 25.0, 0.0, "square"), "call"] * 2, seen
"""


def run(program, *arguments):
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program, *arguments],
        env={**os.environ, "PYTHONMALLOC": "debug"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_what_a_cycle_holds_is_freed_once_and_before_what_it_uses():
    run(COUNT)


def test_finalizers_of_programs_use_what_goes_with_them():
    run(FINALIZER, str(BEHAVIOUR))
