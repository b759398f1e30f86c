# Linear equations for LAPACK's dgesv, the same for every client; and how they are solved without
# Farcall.
import ctypes

import numpy as np

_LAPACK = "libopenblas.so.0"


def make(n):
    """A matrix of n by n by columns, and the right side for which the solution is 1, 2, ..."""
    generator = np.random.default_rng(n)
    a = np.asfortranarray(generator.standard_normal((n, n)))
    return a, a @ np.arange(1.0, n + 1)


def check(b):
    """Refuses a wrong solution."""
    if not np.allclose(b, np.arange(1.0, len(b) + 1), rtol=1e-6):
        raise SystemExit("equations.py: a wrong solution")


def solve(a, b):
    """Solves them in place, in this process."""
    n, one, information = ctypes.c_int(len(b)), ctypes.c_int(1), ctypes.c_int(0)
    pivots = np.empty(len(b), dtype=np.int32)
    order = ctypes.byref(n)
    routine = ctypes.CDLL(_LAPACK).dgesv_
    routine(
        order,
        ctypes.byref(one),
        a.ctypes,
        order,
        pivots.ctypes,
        b.ctypes,
        order,
        ctypes.byref(information),
    )
    if information.value != 0:
        raise SystemExit("equations.py: the matrix is singular")


def solve_unblocked(path, a, b):
    """The same by Linpack's own elimination (bench/raw/linpack.c), from the shared library at this
    path."""
    pivots = np.empty(len(b), dtype=np.int32)
    if ctypes.CDLL(str(path)).linpack_solve(len(b), a.ctypes, pivots.ctypes, b.ctypes) != 0:
        raise SystemExit("equations.py: the matrix is singular")
