"""Solves a dense linear system on a server: the Linpack benchmark's problem. Usage: linpack.py [N
[ADDRESS]]"""

import sys
import time

import farcall
import numpy as np

n = int(sys.argv[1]) if len(sys.argv) > 1 else 500
# Without an address: a private server, which ends with this program.
server = farcall.connect(sys.argv[2] if len(sys.argv) > 2 else None)

random = np.random.default_rng(1)
# LAPACK stores matrices by columns. Rows would do as well: then the elements are brought in order
# on their way.
A = np.asfortranarray(random.uniform(-0.5, 0.5, (n, n)))
b = random.uniform(-0.5, 0.5, n)

begin = time.perf_counter()
r = server.lapack.dgesv(A, b)
seconds = time.perf_counter() - begin
if r.info != 0:
    sys.exit(f"dgesv: U[{r.info},{r.info}] is zero, the matrix is singular")

# Backward stable: the residual is a small multiple of the rounding unit.
residual = np.abs(A @ r.b - b).max() / (
    n * np.abs(A).max() * np.abs(r.b).max() * np.finfo(float).eps
)
print(f"n = {n}: {2 / 3 * n**3 / seconds / 1e6:.0f} Mflops, normalised residual {residual:.3f}")
