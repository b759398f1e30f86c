"""Computes classes of EP by remote calls, one block per executable at a time, and checks the
official sums.

Usage: python ep_classes.py [--workers N] [CLASS…]      classes are S, W, A and B; all of them by
default

Class B has 2^30 pairs and takes about 20 s of one core. It uses the server that
$FARCALL_SERVER names, or a private one.
"""

import argparse
import json
import os
import pathlib
import sys
import time

import farcall

HERE = pathlib.Path(__file__).resolve().parent
# Pairs of one call: a tenth of a second, small enough to spread over any number of workers.
BLOCK = 1 << 22


def compute(routine, m, workers):
    """The sums of a class; at most two calls per worker are under way."""
    begins = iter(range(0, 1 << m, BLOCK))
    pending, sx, sy = [], 0.0, 0.0
    while True:
        for first in begins:
            pending.append(routine.submit(m, first=first, count=BLOCK))
            if len(pending) >= 2 * workers:
                break
        if not pending:
            return sx, sy
        result = pending.pop(0).result()
        sx, sy = sx + result.sx, sy + result.sy


def main():
    official = json.loads((HERE / "verify.json").read_text())
    parser = argparse.ArgumentParser(description="Compute and check classes of the NAS kernel EP.")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument("classes", nargs="*", metavar="CLASS", help="S, W, A, B")
    arguments = parser.parse_args()
    unknown = set(arguments.classes) - set(official["classes"])
    if unknown:
        parser.error(f"there is no class {', '.join(sorted(unknown))}")
    named = os.environ.get("FARCALL_SERVER")
    wrong = 0
    with farcall.connect(named) if named else farcall.connect(files=[HERE / "ep.idl"]) as server:
        for letter in arguments.classes or official["classes"]:
            wanted, begin = official["classes"][letter], time.monotonic()
            sums = compute(server.ep.ep, wanted["m"], arguments.workers)
            errors = [abs(found / wanted[name] - 1) for found, name in zip(sums, ("sx", "sy"))]
            verified = max(errors) <= official["relative_tolerance"]
            wrong += not verified
            word = "verified" if verified else "WRONG"
            seconds = time.monotonic() - begin
            print(
                f"class {letter}: {seconds:7.1f} s  sx {sums[0]:.14e}  sy {sums[1]:.14e}  {word}",
                flush=True,
            )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
