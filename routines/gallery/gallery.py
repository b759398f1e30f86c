"""Matrices by formula, for trying out solvers: of each is known what a good one must find.

N. J. Higham, "The Test Matrix Toolbox for MATLAB", Numerical Analysis Report 237, Manchester, 1995,
has all of them, and what is said of them here.
"""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

Square = Annotated[NDArray[np.float64], "n, n"]


def _indexes(n: int) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Rows and columns, from 1, as formulas have them."""
    if n < 1:
        raise ValueError(f"n = {n} is less than 1")
    return np.ogrid[1 : n + 1, 1 : n + 1]


def hilbert(n: int) -> Square:
    """1/(i + j - 1): positive definite, and among the worst conditioned there are."""
    i, j = _indexes(n)
    return 1.0 / (i + j - 1)


def lehmer(n: int) -> Square:
    """min(i, j) / max(i, j): symmetric positive definite; its inverse is tridiagonal."""
    i, j = _indexes(n)
    return np.minimum(i, j) / np.maximum(i, j)


def frank(n: int) -> Square:
    """Upper Hessenberg with determinant 1; its small eigenvalues are ill conditioned."""
    i, j = _indexes(n)
    return np.where(j >= i - 1, n + 1.0 - np.maximum(i, j), 0.0)


def minij(n: int) -> Square:
    """min(i, j): its inverse is the second difference; eigenvalues 1/(2 - 2 cos((2k-1)pi/(2n+1)))."""
    i, j = _indexes(n)
    return np.minimum(i, j).astype(np.float64)


def kahan(n: int, theta: float = 1.2) -> Square:
    """Upper triangular, which QR with pivoting does not see to be nearly singular."""
    i, j = _indexes(n)
    s, c = np.sin(theta), np.cos(theta)
    return s ** (i - 1.0) * np.where(j == i, 1.0, np.where(j > i, -c, 0.0))


def wilkinson(n: int) -> Square:
    """Tridiagonal, with pairs of eigenvalues that nearly agree: |i - (n+1)/2| between ones."""
    i, j = _indexes(n)
    return np.where(i == j, np.abs(i - (n + 1) / 2), np.where(abs(i - j) == 1, 1.0, 0.0))


def laplace(n: int) -> Square:
    """The second difference, 2 between -1: eigenvalues 2 - 2 cos(k pi / (n+1)), determinant n+1."""
    i, j = _indexes(n)
    return np.where(i == j, 2.0, np.where(abs(i - j) == 1, -1.0, 0.0))


def poisson(n: int) -> Annotated[NDArray[np.float64], "n*n, n*n"]:
    """Poisson's equation on a square of n by n points, by the five-point formula."""
    second, one = laplace(n), np.eye(n)
    return np.kron(second, one) + np.kron(one, second)


def vandermonde(
    x: Annotated[NDArray[np.float64], "n"],
) -> Square:
    """Powers x[i]**(j-1): its determinant is the product of all differences x[j] - x[i]."""
    return np.vander(x, increasing=True)


def pascal(n: int) -> Square:
    """Binomial coefficients: symmetric positive definite with determinant 1."""
    _indexes(n)
    matrix = np.ones((n, n))
    for row in range(1, n):
        matrix[row] = np.cumsum(matrix[row - 1])
    return matrix


def cauchy(
    x: Annotated[NDArray[np.float64], "n"], y: Annotated[NDArray[np.float64], "n"]
) -> Square:
    """1/(x[i] + y[j]): a formula of Cauchy's gives its determinant."""
    return 1.0 / (x[:, None] + y)


def rosser() -> Annotated[NDArray[np.float64], "8, 8"]:
    """Eight by eight: a double eigenvalue, three nearly equal ones, 0, and one near it."""
    return np.array(
        [
            [611, 196, -192, 407, -8, -52, -49, 29],
            [196, 899, 113, -192, -71, -43, -8, -44],
            [-192, 113, 899, 196, 61, 49, 8, 52],
            [407, -192, 196, 611, 8, 44, 59, -23],
            [-8, -71, 61, 8, 411, -599, 208, 208],
            [-52, -43, 49, 44, -599, 411, 208, 208],
            [-49, -8, 8, 59, 208, 208, 99, -911],
            [29, -44, 52, -23, 208, 208, -911, 99],
        ],
        np.float64,
    )
