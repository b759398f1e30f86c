"""Python routines that call functions of their callers."""

import threading
import time
from typing import Annotated, Callable

import farcall
import numpy as np
from numpy.typing import NDArray

Vector = Annotated[NDArray[np.float64], "n"]
Plate = Annotated[NDArray[np.float64], "n, m"]


def integrate(f: Callable[[float], float], a: float, b: float, steps: int) -> float:
    """The trapezoidal rule."""
    x = np.linspace(a, b, steps + 1)
    y = np.array([f(one) for one in x])
    return float((y[1:] + y[:-1]).sum() * (b - a) / steps / 2)


def apply(f: Callable[[Vector], Vector], x: Vector) -> Vector:
    """All at once."""
    return f(x)


def turn(
    f: Callable[[Plate], Annotated[NDArray[np.float64], "m, n"]], a: Plate
) -> Annotated[NDArray[np.float64], "m, n"]:
    """Arrays of two dimensions, in an order of the routine's own."""
    return f(np.asfortranarray(a))


@farcall.routine(
    "Define mixed(OUT double total, IN int n, f(IN int n, INOUT double x[n], IN string s, OUT "
    "string t, INOUT int k, "
    "IN dcomplex z, OUT dcomplex w, INOUT string u, IN char c, IN double wide[9:0,n]))"
)
def mixed(n, f):
    """Every kind of parameter."""
    x = np.zeros(2 * n)[::2]
    t, k, w, u = f(x, "für", 3, 1 + 2j, "u", "c", np.arange(float(n)))
    assert (t, k, w, u) == ("tür", 4, 2 + 4j, "uu"), (t, k, w, u)
    return float(x.sum())


def careful(f: Callable[[int], None], times: int) -> int:
    """Counts the calls that fail, and goes on."""
    failed = 0
    for one in range(times):
        try:
            f(one)
        except farcall.RoutineFailed as error:
            assert "ValueError" in str(error)
            failed += 1
    return failed


def together(f: Callable[[int], None], threads: int) -> int:
    """Calls it in threads, which it fails for if their number is odd; counts those that hear of
    another's failure, or not of theirs."""
    wrong = []

    def call(one):
        for _ in range(20):
            try:
                f(one)
                failed = False
            except farcall.RoutineFailed as error:
                failed = f"thread {one}" in str(error)
            if failed != bool(one % 2):
                wrong.append(one)

    all_of_them = [threading.Thread(target=call, args=(one,)) for one in range(threads)]
    [thread.start() for thread in all_of_them]
    [thread.join() for thread in all_of_them]
    return len(wrong)


KEPT = []


def keep(f: Callable[[int], int]) -> int:
    """Calls a function of a call that is over."""
    KEPT.append(f)
    return KEPT[0](len(KEPT))


def wrong(f: Callable[[int], int], how: int) -> int:
    """Calls it as it does not want to be called."""
    return f(1, 2) if how == 0 else f("a")


def steps(count: int, seconds: float) -> int:
    """Says how far it is, and asks whether it is to go on."""
    for step in range(count):
        if farcall.is_cancelled():
            return step
        farcall.progress(step / count, f"step {step}")
        time.sleep(seconds)
    farcall.progress(1)
    return count
