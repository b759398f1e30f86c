# NPB EP as one transaction: `ep.py [--class W] [--blocks N] [--server ADDRESS] [--figure FILE]`.
"""The pairs of NPB EP are cut into blocks, and each block is a call: no call uses results of another
one, so all of them run side by side. The sums of all blocks are compared with the official ones. See
README.md."""

import argparse
import time

import farcall

import runs

# Of each class: it has 2^m pairs, and these are the sums that NASA published of their deviates.
CLASSES = {
    "S": (24, (-3.247834652034740e3, -6.958407078382297e3)),
    "W": (25, (-2.863319731645753e3, -6.320053679109499e3)),
    "A": (28, (-4.295875165629892e3, -1.580732573678431e4)),
    "B": (30, (4.033815542441498e4, -2.660669192809235e4)),
}


def write_down(t, m, blocks):
    """A call for each block of the 2^m pairs; what they give."""
    edges = [2**m * k // blocks for k in range(blocks + 1)]
    return [t.ep.ep(m, first=a, count=b - a) for a, b in zip(edges, edges[1:])]


def total(results):
    """The sums of all blocks, when they are there."""
    return tuple(sum(float(getattr(one, name)) for one in results) for name in ("sx", "sy"))


def difference(sums, wanted):
    """The largest relative difference; NPB allows 1e-8."""
    return max(abs(one / other - 1) for one, other in zip(sums, wanted))


def main():
    parser = argparse.ArgumentParser(description="NPB EP as a transaction.")
    parser.add_argument("--class", dest="letter", choices=CLASSES, default="W", help="size (W)")
    parser.add_argument("--blocks", type=int, default=48, help="calls that it is cut into (48)")
    parser.add_argument("--server", help="its address; without it, $FARCALL_SERVER")
    parser.add_argument("--figure", help="an .svg or .png file that shows where each call ran")
    options = parser.parse_args()
    if options.blocks < 1:
        parser.error("--blocks is above 0")
    m, wanted = CLASSES[options.letter]
    with farcall.connect(options.server) as server:
        begun = time.perf_counter()
        with server.transaction() as t:
            results = write_down(t, m, options.blocks)
        runs.follow(server, t)
        sums, took = total(results), time.perf_counter() - begun
        told = runs.Told(t.timeline())
    error = difference(sums, wanted)
    print(f"class {options.letter}: sx = {sums[0]:.12f}, sy = {sums[1]:.12f}")
    print(f"{len(told.runs)} calls in {took:.2f} s; relative difference {error:.1e}")
    print(runs.text(told), end="")
    if options.figure:
        runs.draw([(f"NPB EP, class {options.letter}", told)], options.figure)
    if not error <= 1e-8:
        raise SystemExit("ep: the sums are not the official ones")


if __name__ == "__main__":
    main()
