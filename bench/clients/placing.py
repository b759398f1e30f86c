# Calls that a server places, one after the other.
"""Usage: placing.py ADDRESS

Reads commands line by line, and answers each with a line of JSON:

solve N [SERVER]     dgesv of n equations
ep TRIALS [SERVER]   EP with 2^TRIALS trials
dos CALLS POINTS     a density of states, in so many calls at a time with so many points each

`seconds` is what the call took here, `server` where it ran, and `predicted` the seconds that
`explain` said of that server just before. With a SERVER the call is bound, and nothing is predicted.
"""

import functools
import json
import sys
import time

import equations
import farcall
import numpy as np

BINS = 60


@functools.cache
def arguments(kind, size):
    return equations.make(size) if kind == "solve" else (size,)


def sweep(server, calls, points):
    begun = time.perf_counter()
    routine = server["dos/dos"]
    futures = [routine.submit(call * points, points, BINS) for call in range(calls)]
    results = [future.result() for future in futures]
    seconds = time.perf_counter() - begun
    states = np.sum([result.states for result in results], axis=0)
    # The lattice has as many states above the middle as below it.
    half = states[: BINS // 2].sum() / states.sum()
    if states.sum() != calls * points or abs(half - 0.5) > 0.05:
        raise SystemExit("placing.py: a wrong density of states")
    return {"seconds": seconds, "servers": len({result.server for result in results})}


def main():
    with farcall.connect(sys.argv[1]) as server:
        routines = {
            name: server[full]
            for name, full in (("solve", "lapack/dgesv"), ("ep", "ep/ep"))
            if full in server
        }
        for line in sys.stdin:
            kind, size, *at = line.split()
            if kind == "dos":
                print(json.dumps(sweep(server, int(size), int(at[0]))), flush=True)
                continue
            routine, given = routines[kind], arguments(kind, int(size))
            rows = [] if at else routine.explain(*given)
            called = routine.options(at=at[0]) if at else routine
            begun = time.perf_counter()
            result = called(*given)
            seconds = time.perf_counter() - begun
            predicted = {row.server: row.total for row in rows}.get(result.server)
            told = {"server": result.server, "seconds": seconds, "predicted": predicted}
            print(json.dumps(told), flush=True)


main()
