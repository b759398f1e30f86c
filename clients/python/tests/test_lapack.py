"""LAPACK and EP through the client: what the libraries' own tests (routines/) leave to it."""

import json
import pathlib

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
N = 20
random = np.random.default_rng(1997)
COMPLEX = random.normal(size=(N, N)) + 1j * random.normal(size=(N, N))


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def test_real_numbers_are_widened(server):
    b = random.normal(size=N)
    close(server.zgesv(COMPLEX, b).b, np.linalg.solve(COMPLEX, b))


def test_large_arrays(server, tcp):
    a, b = random.normal(size=(500, 500)), random.normal(size=500)
    for server in (server, tcp):
        for matrix in (a, np.asfortranarray(a), a[::-1, ::-1]):
            close(matrix @ server.dgesv(matrix, b).b, b)
