"""The machine's LAPACK and BLAS and NPB EP, each routine against NumPy's own mathematics."""

import json
import pathlib

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
M, N = 30, 20
random = np.random.default_rng(1997)
GENERAL, SQUARE = random.normal(size=(M, N)), random.normal(size=(N, N))
SYMMETRIC = SQUARE + SQUARE.T
POSITIVE = SQUARE @ SQUARE.T + N * np.eye(N)
COMPLEX = SQUARE + 1j * random.normal(size=(N, N))
HERMITIAN = COMPLEX + COMPLEX.conj().T
B, B2 = random.normal(size=N), random.normal(size=(N, 3))


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def permuted(a, pivots):
    """The rows of a, interchanged as LAPACK says."""
    a = a.copy()
    for row, other in enumerate(pivots - 1):
        a[[row, other]] = a[[other, row]]
    return a


def lu(a):
    """L and U from what getrf leaves in A."""
    k = min(a.shape)
    return np.tril(a[:, :k], -1) + np.eye(a.shape[0], k), np.triu(a[:k])


def test_dgesv(server):
    for b in (B, B2):
        r = server.dgesv(SQUARE, b)
        assert r.info == 0
        close(r.b, np.linalg.solve(SQUARE, b))
    lower, upper = lu(r.a)
    close(lower @ upper, permuted(SQUARE, r.ipiv))


def test_dgesv_singular(server):
    assert server.dgesv(np.zeros((2, 2)), np.ones(2)).info == 1


def test_dgetrf_and_dgetrs(server):
    r = server.dgetrf(GENERAL)
    lower, upper = lu(r.a)
    close(lower @ upper, permuted(GENERAL, r.ipiv))
    factors = server.dgetrf(SQUARE)
    close(server.dgetrs(factors.a, factors.ipiv, B2).b, np.linalg.solve(SQUARE, B2))
    close(server.dgetrs(factors.a, factors.ipiv, B, trans="T").b, np.linalg.solve(SQUARE.T, B))


def test_dpotrf_and_dpotrs(server):
    for uplo in "LU":
        factor = server.dpotrf(POSITIVE, uplo=uplo)
        wanted = np.linalg.cholesky(POSITIVE)
        close(np.tril(factor.a) if uplo == "L" else np.triu(factor.a).T, wanted)
        close(server.dpotrs(factor.a, B2, uplo=uplo).b, np.linalg.solve(POSITIVE, B2))
    assert server.dpotrf(-np.eye(2)).info == 1


def test_dgels(server):
    b = random.normal(size=M)
    close(server.dgels(GENERAL, b).b[:N], np.linalg.lstsq(GENERAL, b, rcond=None)[0])
    # Minimum norm: B has room for the solution, which is longer than the right-hand side.
    b = np.zeros(M)
    b[:N] = B
    close(server.dgels(GENERAL.T, b).b, np.linalg.lstsq(GENERAL.T, B, rcond=None)[0])


def test_dgeqrf_and_dorgqr(server):
    r = server.dgeqrf(GENERAL)
    q = server.dorgqr(r.a, r.tau).a
    close(q @ np.triu(r.a[:N]), GENERAL)
    close(q.T @ q, np.eye(N))


def test_dsyev(server):
    w, v = np.linalg.eigh(SYMMETRIC)
    r = server.dsyev(SYMMETRIC)
    close(r.w, w)
    close(SYMMETRIC @ r.a, r.a * r.w)
    close(server.dsyev(SYMMETRIC, jobz="N", uplo="L").w, w)


def test_dsyevr_says_how_many_there_are(server):
    w = np.linalg.eigvalsh(SYMMETRIC)
    everything = server.dsyevr(SYMMETRIC)
    assert everything.m == N
    close(everything.w, w)
    some = server.dsyevr(SYMMETRIC, range="I", il=3, iu=7)
    assert some.m == 5 and some.w.shape == (5,) and some.z.shape == (N, 5) and some.isuppz.shape == (10,)
    close(some.w, w[2:7])
    close(SYMMETRIC @ some.z, some.z * some.w)
    values = server.dsyevr(SYMMETRIC, jobz="N", range="V", vl=0.0, vu=1e9)
    assert values.z is None and values.isuppz is None
    close(values.w, w[w > 0])


@pytest.mark.parametrize("shape", [(M, N), (N, M)])
def test_dgesdd(server, shape):
    a = GENERAL if shape == (M, N) else GENERAL.T
    m, n = shape
    s = np.linalg.svd(a, compute_uv=False)
    for job, columns, rows in (("S", N, N), ("A", m, n)):
        r = server.dgesdd(a, jobz=job)
        assert r.info == 0 and r.u.shape == (m, columns) and r.vt.shape == (rows, n)
        close(r.s, s)
        close(r.u[:, :N] * r.s @ r.vt[:N], a)
    nothing = server.dgesdd(a, jobz="N")
    assert nothing.u is None and nothing.vt is None
    close(nothing.s, s)
    over = server.dgesdd(a, jobz="O")
    assert (over.u is None) == (m >= n) and (over.vt is None) == (m < n)
    close((over.a * over.s @ over.vt) if m >= n else (over.u * over.s @ over.a), a)


def test_dlange(server):
    for norm, wanted in (("F", None), ("1", 1), ("I", np.inf)):
        assert server.dlange(GENERAL, norm=norm).value == pytest.approx(np.linalg.norm(GENERAL, wanted))
    assert server.dlange(GENERAL, norm="M").value == np.abs(GENERAL).max()


def test_zgesv(server):
    close(server.zgesv(COMPLEX, B2 + 1j).b, np.linalg.solve(COMPLEX, B2 + 1j))
    # A real right-hand side is widened.
    close(server.zgesv(COMPLEX, B).b, np.linalg.solve(COMPLEX, B))


def test_zheev(server):
    r = server.zheev(HERMITIAN)
    close(r.w, np.linalg.eigvalsh(HERMITIAN))
    close(HERMITIAN @ r.a, r.a * r.w)


def test_ddot_and_zdotu(server):
    x, y = random.normal(size=10), random.normal(size=10)
    assert server.ddot(x, y).dot == pytest.approx(x @ y)
    z = x + 1j * y
    assert server.zdotu(z, z).dot == pytest.approx((z * z).sum())


def test_daxpy(server):
    x, y = random.normal(size=10), random.normal(size=10)
    close(server.daxpy(x, y, alpha=3).y, 3 * x + y)


def test_increments_need_no_n(server):
    """An increment says how the routine's memory is laid out; a negative one walks through it backwards."""
    x, y = random.normal(size=7), random.normal(size=7)
    assert server.ddot(x, y, incx=2, incy=3).dot == pytest.approx(x @ y)
    assert server.ddot(x, y, incx=-2).dot == pytest.approx(x[::-1] @ y)
    close(server.daxpy(x, y, alpha=3, incx=-4, incy=2).y, 3 * x[::-1] + y)
    z = x + 1j * y
    assert server.zdotu(z, z, n=7, incy=-3).dot == pytest.approx((z * z[::-1]).sum())
    # One element, used again and again: y says how often.
    close(server.daxpy([2.0], y, incx=0).y, 2 + y)


def test_dgemm(server):
    a, b = random.normal(size=(3, 4)), random.normal(size=(4, 5))
    c = np.ones((3, 5))
    close(server.dgemm(a, b, c).c, a @ b)
    close(server.dgemm(a, b, c, alpha=2, beta=0.5).c, 2 * a @ b + 0.5)
    close(server.dgemm(a.T.copy(), b.T.copy(), c, transa="T", transb="T").c, a @ b)


def test_large_arrays(server, tcp):
    a, b = random.normal(size=(500, 500)), random.normal(size=500)
    for server in (server, tcp):
        for matrix in (a, np.asfortranarray(a), a[::-1, ::-1]):
            close(matrix @ server.dgesv(matrix, b).b, b)


def test_ep_class_s(server):
    official = json.loads((ROOT / "routines/ep/verify.json").read_text())
    wanted = official["classes"]["S"]
    blocks = [server.ep.ep.submit(wanted["m"], first=k << 23, count=1 << 23) for k in range(2)]
    results = [block.result(300) for block in blocks]
    for name in ("sx", "sy"):
        assert sum(r[name] for r in results) == pytest.approx(wanted[name], rel=official["relative_tolerance"])
