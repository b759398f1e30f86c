# A tile Cholesky factorisation as one transaction: `cholesky.py [--n N] [--tile B] [--server ADDRESS]
# [--figure FILE]`.
"""The matrix is cut into tiles. Each step on a tile is a call of tiles.idl, written down in the order
of the textbook. The server finds out from their arguments which calls can run side by side; tiles
between two calls never come here. See README.md."""

import argparse
import time

import farcall
import numpy as np

import runs


def write_down(t, a, size):
    """The calls that factor A = L L^T in tiles of this size: the tiles of L by row and column, and
    what says whether A is positive definite.

    A tile is what was cut from A, and then what the last call so far makes of it. The server
    keeps the last ones alone: nothing here refers to the others any more.
    """
    count, part = len(a) // size, [slice(k, k + size) for k in range(0, len(a), size)]
    tile = {(i, j): a[part[i], part[j]] for i in range(count) for j in range(i + 1)}
    infos = []
    for k in range(count):
        factored = t.tiles.potrf(tile[k, k])
        tile[k, k] = factored.a
        infos.append(factored.info)
        for i in range(k + 1, count):
            tile[i, k] = t.tiles.trsm(tile[k, k], tile[i, k]).a
        for i in range(k + 1, count):
            tile[i, i] = t.tiles.syrk(tile[i, k], tile[i, i]).c
            for j in range(k + 1, i):
                tile[i, j] = t.tiles.gemm(tile[i, k], tile[j, k], tile[i, j]).c
    return tile, infos


def gather(tile, infos, n):
    """L as one array, when its tiles are there."""
    if any(info != 0 for info in infos):
        raise SystemExit("cholesky: the matrix is not positive definite")
    size, lower = n // (1 + max(i for i, _ in tile)), np.zeros((n, n))
    for (i, j), one in tile.items():
        lower[i * size : (i + 1) * size, j * size : (j + 1) * size] = one
    return lower


def residual(a, lower):
    """||A - L L^T|| / ||A||, in the Frobenius norm."""
    return float(np.linalg.norm(a - lower @ lower.T) / np.linalg.norm(a))


def problem(n):
    """A symmetric matrix whose eigenvalues are above 0."""
    a = np.random.default_rng(1997).random((n, n))
    return (a + a.T) / 2 + n * np.eye(n)


def main():
    parser = argparse.ArgumentParser(description="A tile Cholesky factorisation as a transaction.")
    parser.add_argument("--n", type=int, default=1536, help="order of the matrix (1536)")
    parser.add_argument("--tile", type=int, default=256, help="order of a tile; divides N (256)")
    parser.add_argument("--server", help="its address; without it, $FARCALL_SERVER")
    parser.add_argument("--figure", help="an .svg or .png file that shows where each call ran")
    options = parser.parse_args()
    if options.tile < 1 or options.n < 1 or options.n % options.tile:
        parser.error("--tile divides --n, and both are above 0")
    a = problem(options.n)
    with farcall.connect(options.server) as server:
        begun = time.perf_counter()
        with server.transaction() as t:
            tile, infos = write_down(t, a, options.tile)
        runs.follow(server, t)
        took = time.perf_counter() - begun
        lower, told = gather(tile, infos, options.n), runs.Told(t.timeline())
    error = residual(a, lower)
    print(f"{len(told.runs)} calls in {took:.2f} s; ||A - L L^T|| / ||A|| = {error:.1e}")
    print(runs.text(told), end="")
    if options.figure:
        runs.draw([(f"Cholesky, n = {options.n}, tiles of {options.tile}", told)], options.figure)
    if not error < 1e-13:
        raise SystemExit("cholesky: the factor is wrong")


if __name__ == "__main__":
    main()
