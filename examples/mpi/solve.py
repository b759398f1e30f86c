# Solves a system of equations on several processes with ScaLAPACK.
import os

import farcall
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
with farcall.connect(files=[os.path.join(here, "scalapack.idl")]) as server:
    random = np.random.default_rng(1)
    A, b = random.standard_normal((500, 500)), random.standard_normal((500, 2))
    x = server.pdgesv(A, b, ranks=4).x
    print(np.allclose(A @ x, b))
