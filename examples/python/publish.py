"""Publishes its own functions by their type hints, and calls them. Usage: publish.py"""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

import farcall

Signal = Annotated[NDArray[np.float64], "n"]
Found = Annotated[NDArray[np.float64], "found <= n"]


def smooth(x: Signal, width: int = 3) -> Signal:
    """The moving mean over an odd number of points."""
    return np.convolve(x, np.ones(width) / width, mode="same")


def peaks(x: Signal, least: float) -> Found:
    """Where the signal is larger than its neighbours, and than a number."""
    inner = x[1:-1]
    return 1.0 + np.flatnonzero((inner > x[:-2]) & (inner > x[2:]) & (inner > least))


if __name__ == "__main__":
    t = np.linspace(0.0, 1.0, 200)
    noise = np.random.default_rng(3).normal(scale=0.05, size=t.size)
    # A server of this program's own; `farcall serve publish.py` makes one that stays.
    with farcall.connect(files=[__file__]) as server:
        smoothed = server.smooth(np.sin(6 * np.pi * t) + noise, width=15).result
        r = server.peaks(smoothed, 0.8)
        print(f"{r.found} peaks, at t =", np.round(t[r.result.astype(int)], 2))
