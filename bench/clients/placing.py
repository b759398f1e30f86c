# Calls that a server places, one after the other.
"""Usage: placing.py ADDRESS

Reads commands line by line, and answers each with a line of JSON:

solve N [SERVER]     dgesv of n equations
ep TRIALS [SERVER]   EP with 2^TRIALS trials

`seconds` is what the call took here, `server` where it ran, and `predicted` the seconds that
`explain` said of that server just before. With a SERVER the call is bound, and nothing is predicted.
"""

import functools
import json
import sys
import time

import equations
import farcall


@functools.cache
def arguments(kind, size):
    return equations.make(size) if kind == "solve" else (size,)


def main():
    with farcall.connect(sys.argv[1]) as server:
        routines = {"solve": server["lapack/dgesv"], "ep": server["ep/ep"]}
        for line in sys.stdin:
            kind, size, *at = line.split()
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
