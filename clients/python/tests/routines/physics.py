"""Routines that are published as they are: what the tests of publishing call."""

from __future__ import annotations

import os
import pathlib
import random
import sys
import time
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

import farcall

Plate = Annotated[NDArray[np.float64], "n, m"]
Vector = Annotated[NDArray[np.float64], "n"]


class Fit(NamedTuple):
    """Two results with names."""

    slope: float
    line: Annotated[NDArray[np.float32], "n + 1"]


def heat(u: Plate, steps: int, kappa: float = 0.25) -> Plate:
    """Explicit steps of the heat equation."""
    if steps < 0:
        raise ValueError("steps must not be negative")
    u = u.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] += kappa * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
    return u


def scalars(a: int, b: float, c: complex, d: bool, e: str) -> tuple[int, float, complex, bool, str]:
    """All of Python's own."""
    assert type(d) is bool
    return a + 1, b * 2, c.conjugate(), not d, e[::-1]


def fit(x: np.ndarray[tuple[int], np.dtype[np.float64]], y: Vector) -> Fit:
    return Fit(float(x @ y), np.ones(len(y) + 1, np.float32))


def peaks(
    x: Vector,
) -> tuple[
    Annotated[NDArray[np.float64], "found <= n"], Annotated[NDArray[np.int64], "found <= n"]
]:
    places = np.flatnonzero(x > 1)
    return x[places], places


def corner(
    u: Plate, rows: int, columns: int
) -> Annotated[NDArray[np.float64], "height <= n, width <= m"]:
    return u[:rows, :columns]


def uneven(
    x: Vector,
) -> tuple[
    Annotated[NDArray[np.float64], "found <= n"], Annotated[NDArray[np.float64], "found <= n"]
]:
    return x, x[1:]


def upper(text: pathlib.Path, copies: int) -> tuple[pathlib.Path, int]:
    """A file in capitals, so many times; and how many bytes it had."""
    content = text.read_bytes()
    made = pathlib.Path(os.environ["TMPDIR"]) / "upper"
    made.write_bytes(content.upper() * copies)
    return made, len(content)


def nowhere() -> pathlib.Path:
    return pathlib.Path("/nowhere")


@farcall.routine('Define append(INOUT filename log, IN string line) "Adds a line."')
def append(log, line):
    with log.open("a") as file:
        file.write(line + "\n")


def writable(x: Vector) -> bool:
    return x.flags.writeable


KEPT = []


def keep(x: Vector) -> int:
    KEPT.append(x[1:])
    return 0


def give_back(x: Vector) -> Vector:
    cycle = [x]
    cycle.append(cycle)
    return x


def wrong_shape(x: Vector) -> Vector:
    return x[:-1]


def wrong_type(x: Vector) -> Vector:
    return x.astype(np.float32)


def wrong_number(x: int) -> float:
    return "seven"


def too_few(x: int) -> tuple[int, int]:
    return (1,)


def leave(status: int) -> int:
    sys.exit(status)


def crash(x: int) -> int:
    os.abort()


def process(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


# NumPy makes its generator when it is first asked for: here, before the processes of calls are
# forked.
np.random.random()


def draw(x: int) -> tuple[int, float, float]:
    time.sleep(0.1)
    return os.getpid(), float(np.random.random()), random.random()


@farcall.routine(
    'Define scale(IN int n, INOUT double x[n], IN double factor, OUT double before) "Scales in '
    'place."'
)
def scale(x, factor):
    before = x.sum()
    x *= factor
    return before


def _private(x):
    return x


def without_hints(x):
    return x
