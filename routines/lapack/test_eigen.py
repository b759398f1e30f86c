"""Eigenvalues and singular values in four precisions, by residuals, orthogonality and
reconstruction."""

import numpy as np
import pytest

M, N = 30, 20


def routine(server, kind, name):
    return server[kind.letter + name]


def hermitian(server, kind, name):
    """`sy` for real numbers, `he` for complex ones."""
    return server[kind.letter + ("he" if kind.is_complex else "sy") + name]


def triangle(a, uplo):
    return np.triu(a) if uplo == "U" else np.tril(a)


def orthonormal(kind, v):
    kind.close(v.conj().T @ v, np.eye(v.shape[1]))


@pytest.mark.parametrize("name", ["ev", "evd"])
@pytest.mark.parametrize("n", [0, 1, 2, N, 100])
def test_all_eigenvalues(server, kind, laid_out, name, n):
    a = kind.hermitian(n)
    for uplo in "UL":
        r = hermitian(server, kind, name)(laid_out(triangle(a, uplo)), uplo=uplo)
        assert r.info == 0
        kind.close(a @ r.a, r.a * r.w)
        orthonormal(kind, r.a)
        assert (np.diff(r.w) >= 0).all()
        alone = hermitian(server, kind, name)(a, jobz="N", uplo=uplo)
        assert alone.info == 0
        kind.close(alone.w, r.w)


def test_chosen_eigenvalues(server, kind):
    """The routine says how many there are; so many values and columns come back."""
    a = kind.hermitian(N)
    w = np.linalg.eigvalsh(a)
    evr = hermitian(server, kind, "evr")
    everything = evr(a)
    assert everything.m == N
    kind.close(everything.w, w)
    some = evr(a, range="I", il=3, iu=7, uplo="L")
    assert (
        some.m == 5
        and some.w.shape == (5,)
        and some.z.shape == (N, 5)
        and some.isuppz.shape == (10,)
    )
    kind.close(some.w, w[2:7])
    kind.close(a @ some.z, some.z * some.w)
    values = evr(a, jobz="N", range="V", vl=0.0, vu=1e9)
    assert values.z is None and values.isuppz is None
    kind.close(values.w, w[w > 0])
    none = evr(a, range="V", vl=1e8, vu=1e9)
    assert none.m == 0 and none.z.shape == (N, 0)


def test_chosen_eigenvalues_that_cannot_be(server, kind):
    import farcall

    evr = hermitian(server, kind, "evr")
    for wrong in (
        {"range": "V", "vl": 1.0, "vu": 0.0},
        {"range": "I", "il": 0},
        {"range": "I", "iu": 4},
        {"range": "X"},
    ):
        with pytest.raises(farcall.Error):
            evr(kind.hermitian(3), **wrong)


@pytest.mark.parametrize("name", ["gv", "gvd"])
@pytest.mark.parametrize("itype", [1, 2, 3])
def test_generalised_eigenvalues(server, kind, name, itype):
    a, b = kind.hermitian(N), kind.positive(N)
    r = hermitian(server, kind, name)(a, b, itype=itype)
    assert r.info == 0
    sides = {1: (a @ r.a, b @ r.a * r.w), 2: (a @ b @ r.a, r.a * r.w), 3: (b @ a @ r.a, r.a * r.w)}
    kind.close(*sides[itype])
    broken = hermitian(server, kind, name)(a, -np.eye(N, dtype=kind.dtype), itype=itype)
    assert broken.info == N + 1


@pytest.mark.parametrize("uplo", "UL")
def test_packed_and_banded(server, kind, uplo):
    a, letters = kind.hermitian(N), "h" if kind.is_complex else "s"
    columns = [a[: j + 1, j] if uplo == "U" else a[j:, j] for j in range(N)]
    r = routine(server, kind, letters + "pev")(N, np.concatenate(columns), uplo=uplo)
    assert r.info == 0
    kind.close(a @ r.z, r.z * r.w)
    assert (
        routine(server, kind, letters + "pev")(N, np.concatenate(columns), uplo=uplo, jobz="N").z
        is None
    )
    kd = 3
    band = np.triu(np.tril(a, kd), -kd)
    ab = np.zeros((kd + 1, N), kind.dtype)
    for j in range(N):
        rows = range(max(0, j - kd), j + 1) if uplo == "U" else range(j, min(N, j + kd + 1))
        for i in rows:
            ab[(kd if uplo == "U" else 0) + i - j, j] = band[i, j]
    r = routine(server, kind, letters + "bev")(ab, uplo=uplo)
    assert r.info == 0
    kind.close(band @ r.z, r.z * r.w)


def joined(values, vectors):
    """Eigenvectors of a real matrix as complex columns: LAPACK keeps real and imaginary parts
    beside each other."""
    vectors = vectors.astype(complex)
    for j in np.flatnonzero(values.imag > 0):
        real, imaginary = vectors[:, j].copy(), vectors[:, j + 1].copy()
        vectors[:, j], vectors[:, j + 1] = real + 1j * imaginary, real - 1j * imaginary
    return vectors


def eigenpairs(kind, r, vectors):
    values = r.w if kind.is_complex else r.wr + 1j * r.wi
    return values, vectors if kind.is_complex else joined(values, vectors)


@pytest.mark.parametrize("n", [0, 1, 2, N, 90])
def test_general_eigenvalues(server, kind, laid_out, n):
    a = kind.random(n, n)
    r = routine(server, kind, "geev")(laid_out(a), jobvl="V")
    assert r.info == 0
    values, right = eigenpairs(kind, r, r.vr)
    left = eigenpairs(kind, r, r.vl)[1]
    kind.close(a @ right, right * values)
    kind.close(left.conj().T @ a, values[:, None] * left.conj().T)
    alone = routine(server, kind, "geev")(a, jobvr="N")
    assert alone.vl is None and alone.vr is None and alone.info == 0


@pytest.mark.parametrize("n", [0, 1, 2, N, 90])
def test_schur(server, kind, n):
    """SELECT and SORT are no arguments: a function cannot be sent, so nothing is sorted."""
    a = kind.random(n, n)
    r = routine(server, kind, "gees")(a)
    assert r.info == 0
    kind.close(r.vs @ r.a @ r.vs.conj().T, a)
    orthonormal(kind, r.vs)
    kind.close(r.a, np.triu(r.a, 0 if kind.is_complex else -1))
    if kind.is_complex:
        kind.close(np.diag(r.a), r.w)
    assert routine(server, kind, "gees")(a, jobvs="N").vs is None


@pytest.mark.parametrize("n", [1, 2, N])
def test_general_pencils(server, kind, n):
    a, b = kind.random(n, n), kind.random(n, n)
    r = routine(server, kind, "ggev")(a, b, jobvl="V")
    assert r.info == 0
    alpha = r.alpha if kind.is_complex else r.alphar + 1j * r.alphai
    right = r.vr if kind.is_complex else joined(alpha, r.vr)
    left = (r.vl if kind.is_complex else joined(alpha, r.vl)).conj().T
    kind.close(a @ right * r.beta, b @ right * alpha)
    kind.close(left @ a * r.beta[:, None], left @ b * alpha[:, None])
    singular = routine(server, kind, "ggev")(
        np.eye(n, dtype=kind.dtype), np.zeros((n, n), kind.dtype)
    )
    assert (np.abs(singular.beta) < kind.tolerance).all()


@pytest.mark.parametrize(
    "shape", [(M, N), (N, M), (N, N), (1, 1), (70, 8), (8, 70), (0, 3), (3, 0)]
)
def test_singular_values(server, kind, laid_out, shape):
    a, (m, n), k = kind.random(*shape), shape, min(shape)
    wanted = np.linalg.svd(a, compute_uv=False)
    for job, columns, rows in (("S", k, k), ("A", m, n)):
        for r in (
            routine(server, kind, "gesdd")(laid_out(a), jobz=job),
            routine(server, kind, "gesvd")(laid_out(a), jobu=job, jobvt=job),
        ):
            assert r.info == 0 and r.u.shape == (m, columns) and r.vt.shape == (rows, n)
            kind.close(r.s, wanted)
            if k:
                kind.close(r.u[:, :k] * r.s @ r.vt[:k], a)
                orthonormal(kind, r.u)
                orthonormal(kind, r.vt.conj().T)
    for r in (
        routine(server, kind, "gesdd")(a, jobz="N"),
        routine(server, kind, "gesvd")(a, jobu="N", jobvt="N"),
    ):
        assert r.u is None and r.vt is None and r.info == 0
        kind.close(r.s, wanted)
    if k:
        over = routine(server, kind, "gesdd")(a, jobz="O")
        assert (over.u is None) == (m >= n) and (over.vt is None) == (m < n)
        kind.close(
            (over.a[:, :n] * over.s @ over.vt) if m >= n else (over.u * over.s @ over.a[:m]), a
        )
