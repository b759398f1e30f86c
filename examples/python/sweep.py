"""Runs the blocks of NPB EP as futures, and adds them up in the order in which they end. Usage:
sweep.py [M]"""

import concurrent.futures
import sys

import farcall

m = int(sys.argv[1]) if len(sys.argv) > 1 else 24
blocks = 8

with farcall.connect() as server:
    count = 2**m // blocks
    futures = [
        server.ep.ep.submit(m, first=block * count, count=count, timeout=600)
        for block in range(blocks)
    ]
    sx = sy = 0.0
    for future in concurrent.futures.as_completed(futures):
        r = future.result()
        sx, sy = sx + r.sx, sy + r.sy
        print(
            f"a block took {r.times.finished - r.times.started:.3f} s after waiting "
            f"{r.times.started:.3f} s"
        )
    print(f"sums of the deviates: {sx:.6f} {sy:.6f}")
