# The demonstration: a server, the machine's LAPACK published, Linpack solved remotely, NPB EP
# verified, transactions over three servers, plots.
"""Runs the main job on real input and shows the result.

Ninf paper (SC97), section 3: Linpack from one client, local against remote Mflops and throughput
(figures 3 to 5); section 4.3: NPB EP with its official sums. Remote means another process of this
machine, reached over shared memory and over TCP.
"""

import csv
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import time

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend must be chosen first)
import numpy as np  # noqa: E402

from servers import several  # noqa: E402
from transactions import transactions  # noqa: E402

import farcall  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
OUTPUT = STAGE / "demo"
SIZES = (100, 200, 400, 600, 800, 1000, 1200, 1400, 1600)
# A backward-stable solver keeps the normalised residual (HPL's) far below this.
RESIDUAL_MAX = 16.0


def linpack_flops(n):
    """Operations of Linpack by convention: 2/3 n^3 + 2 n^2."""
    return 2 / 3 * n**3 + 2 * n**2


def linpack_bytes(n):
    """Bytes that a call of dgesv moves: A and b go, LU, pivots and x come."""
    return 8 * n * n + 8 * n + 8 * n * n + 4 * n + 8 * n


def residual(a, x, b):
    """||Ax - b|| / (eps (||A|| ||x|| + ||b||) n), in the infinity norm."""
    scale = np.abs(a).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()
    return np.abs(a @ x - b).max() / (np.finfo(float).eps * scale * len(b))


class LocalLapack:
    """dgesv of the same library, called in this process."""

    def __init__(self):
        self.dgesv = ctypes.CDLL("libopenblas.so.0").dgesv_

    def solve(self, a, b):
        n, nrhs, info = ctypes.c_int(len(b)), ctypes.c_int(1), ctypes.c_int()
        pivots = np.empty(len(b), np.int32)
        pointer = lambda array: array.ctypes.data_as(ctypes.c_void_p)  # noqa: E731
        size = ctypes.byref(n)
        self.dgesv(
            size,
            ctypes.byref(nrhs),
            pointer(a),
            size,
            pointer(pivots),
            pointer(b),
            size,
            ctypes.byref(info),
        )
        if info.value != 0:
            raise SystemExit(f"demo: the local dgesv failed with info = {info.value}")
        return b


def best_seconds(action, tries=3):
    """Shortest of a few runs: what the machine can do, other work aside."""
    times = []
    for _ in range(tries):
        begin = time.perf_counter()
        result = action()
        times.append(time.perf_counter() - begin)
    return min(times), result


def linpack(server, local, place):
    """One row per size: Mflops local and remote, throughput, residual."""
    print(f"\nLinpack from Python, {place}: server.dgesv(A, b)")
    print(
        f"{'n':>6} {'local Mflops':>13} {'remote Mflops':>14} {'remote/local':>13} "
        f"{'MB/s moved':>11} {'residual':>9}"
    )
    rows = []
    random = np.random.default_rng(1997)
    for n in SIZES:
        a = np.asfortranarray(random.uniform(-0.5, 0.5, (n, n)))
        b = random.uniform(-0.5, 0.5, n)
        local_seconds, _ = best_seconds(lambda: local.solve(a.copy(order="F"), b.copy()))
        remote_seconds, result = best_seconds(lambda: server.lapack.dgesv(a, b))
        error = residual(a, result.b, b)
        if result.info != 0 or not error < RESIDUAL_MAX:
            raise SystemExit(
                f"demo: dgesv for n = {n} is wrong: info {result.info}, residual {error}"
            )
        flops, moved = linpack_flops(n) / 1e6, linpack_bytes(n) / 1e6
        row = {
            "n": n,
            "local": flops / local_seconds,
            "remote": flops / remote_seconds,
            "throughput": moved / remote_seconds,
            "residual": error,
        }
        rows.append(row)
        print(
            f"{n:6} {row['local']:13.0f} {row['remote']:14.0f} "
            f"{row['remote'] / row['local']:13.2f} "
            f"{row['throughput']:11.0f} {error:9.3f}"
        )
    return rows


def linpack_from_c(address):
    """The same from a C program; it prints its own table."""
    program = STAGE / "demo/linpack"
    flags = [f"-I{STAGE}/include", f"-L{STAGE}/lib", f"-Wl,-rpath,{STAGE}/lib"]
    subprocess.run(
        [
            "cc",
            "-O2",
            "-std=gnu11",
            *flags,
            "-o",
            program,
            ROOT / "examples/c/linpack.c",
            "-lfarcall",
            "-ldl",
            "-lm",
        ],
        check=True,
    )
    print('\nLinpack from C: farcall_call(client, &error, "lapack/dgesv", …)', flush=True)
    subprocess.run([program, address, *map(str, SIZES)], check=True)


def ep(server):
    """NPB EP, class W, against the official sums."""
    reference = json.loads((ROOT / "routines/ep/verify.json").read_text())
    wanted, tolerance = reference["classes"]["W"], reference["relative_tolerance"]
    print("\nNPB EP class W: four blocks in flight at once")
    begin = time.perf_counter()
    block = 2 ** wanted["m"] // 4
    futures = [
        server.ep.ep.submit(wanted["m"], first=index * block, count=block) for index in range(4)
    ]
    results = [future.result() for future in futures]
    seconds = time.perf_counter() - begin
    for name in ("sx", "sy"):
        total = sum(getattr(result, name) for result in results)
        error = abs((total - wanted[name]) / wanted[name])
        print(
            f"  {name} = {total:.12f}  official {wanted[name]:.12f}  relative difference "
            f"{error:.1e}"
        )
        if error > tolerance:
            raise SystemExit(f"demo: EP is not verified, {name} is off by {error}")
    print(f"  VERIFIED in {seconds:.2f} s, {2 ** (wanted['m'] + 1) / seconds / 1e6:.0f} Mop/s")


def plot(tables):
    """The paper's figures 3 and 5."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5))
    first = next(iter(tables.values()))
    left.plot([row["n"] for row in first], [row["local"] for row in first], "k--o", label="local")
    for place, rows in tables.items():
        left.plot(
            [row["n"] for row in rows],
            [row["remote"] for row in rows],
            "-s",
            label=f"remote, {place}",
        )
        right.plot(
            [row["n"] for row in rows], [row["throughput"] for row in rows], "-s", label=place
        )
    left.set(xlabel="matrix size n", ylabel="Mflops", title="Linpack performance of a remote call")
    right.set(
        xlabel="matrix size n",
        ylabel="MB/s moved, calculation included",
        title="Throughput of a remote call",
    )
    for axes in (left, right):
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend()
    figure.tight_layout()
    path = OUTPUT / "linpack.png"
    figure.savefig(path, dpi=120)
    return path


def save(tables):
    path = OUTPUT / "linpack.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["place", "n", "local Mflops", "remote Mflops", "MB/s", "residual"])
        for place, rows in tables.items():
            writer.writerows([place, *row.values()] for row in rows)
    return path


def tcp_server():
    """A server on loopback TCP, with a token in a file of its own."""
    token = OUTPUT / "token"
    token.unlink(missing_ok=True)
    command = [
        STAGE / "bin/farcall",
        "serve",
        "--private",
        "--listen",
        "tcp:127.0.0.1:0",
        "--token-file",
        token,
    ]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    os.environ["FARCALL_TOKEN_FILE"] = str(token)
    return process, process.stdout.readline().strip()


def main():
    OUTPUT.mkdir(parents=True, exist_ok=True)
    # One thread on both sides: what is compared is the call, not the number of cores.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    local = LocalLapack()
    tables = {}
    with farcall.connect() as server:
        modules = (server.lapack, server.blas, server.ep)
        names = [name for module in modules for name in dir(module) if not name.startswith("_")]
        print(f"A server is running and publishes {len(names)} routines: {', '.join(names[:8])}, …")
        tables["shared memory"] = linpack(server, local, "shared memory")
        linpack_from_c(server.address)
        ep(server)
    process, address = tcp_server()
    try:
        with farcall.connect(address) as server:
            tables["TCP on loopback"] = linpack(server, local, "TCP on loopback")
    finally:
        process.stdin.close()
        process.wait(timeout=20)
    where = several(ROOT, STAGE, OUTPUT, residual)
    graphs = transactions(ROOT, STAGE, OUTPUT)
    plots = f"{plot(tables)}, {where} and {graphs}"
    print(f"\nThe plots are {plots}, the figures are {save(tables)}.")


if __name__ == "__main__":
    sys.exit(main())
