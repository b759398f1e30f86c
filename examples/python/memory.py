"""Where results go: into memory of their own, into arrays of yours, or over the arguments."""

import farcall
import numpy as np

with farcall.connect() as server:
    A = np.asfortranarray([[4.0, 1.0], [1.0, 3.0]])
    b = np.array([1.0, 2.0])

    # Nothing is changed; the results are new arrays.
    print("solution", server.dgesv(A, b).b, "of", b)

    # Into arrays of yours, whatever their strides: here a column of a table that is stored by rows.
    table = np.zeros((2, 3))
    server.dgesv(A, b, out={"b": table[:, 1]})
    print(table)

    # Over the arguments, as LAPACK itself does.
    factors = A.copy(order="F")
    pivots = server.dgetrf(factors, inplace=True).ipiv
    for k in range(2):
        print("right-hand side", k, "gives", server.dgetrs(factors, pivots, np.eye(2)[k]).b)
