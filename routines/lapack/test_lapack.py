"""Linear systems, factorisations and least squares in four precisions, by residuals and
reconstruction."""

import numpy as np
import pytest

M, N, K = 30, 20, 3


def routine(server, kind, name):
    """`or` and `un` are one routine for real and complex numbers."""
    return server[
        kind.letter
        + (name.replace("or", "un", 1) if kind.is_complex and name.startswith("or") else name)
    ]


def operator(a, letter):
    return {"N": a, "T": a.T, "C": a.conj().T}[letter]


def triangle(a, uplo):
    return np.triu(a) if uplo == "U" else np.tril(a)


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


def packed(a, uplo):
    n = len(a)
    columns = [a[: j + 1, j] if uplo == "U" else a[j:, j] for j in range(n)]
    return np.concatenate(columns) if n else np.zeros(0, a.dtype)


def banded(a, kl, ku, room=0):
    """Row room+ku+i-j, column j holds a[i, j]; the first rows are room for the factors."""
    n = a.shape[1]
    ab = np.zeros((room + kl + ku + 1, n), a.dtype)
    for j in range(n):
        for i in range(max(0, j - ku), min(a.shape[0], j + kl + 1)):
            ab[room + ku + i - j, j] = a[i, j]
    return ab


def band_of(a, kl, ku):
    return np.triu(np.tril(a, ku), -kl)


@pytest.mark.parametrize("n", [0, 1, 2, N])
def test_gesv(server, kind, laid_out, n):
    a = kind.random(n, n)
    for b in (kind.random(n, 0), kind.random(n), kind.random(n, K)):
        r = routine(server, kind, "gesv")(laid_out(a), laid_out(b))
        assert r.info == 0
        kind.close(a @ r.b, b)
    if n:
        lower, upper = lu(r.a)
        kind.close(lower @ upper, permuted(a, r.ipiv))


def test_singular_matrices_are_reported(server, kind):
    """info says where, and nothing is raised: that is LAPACK's way."""
    zero, one = np.zeros((2, 2), kind.dtype), np.ones(2, kind.dtype)
    assert routine(server, kind, "gesv")(zero, one).info == 1
    assert routine(server, kind, "getrf")(zero).info == 1
    assert routine(server, kind, "getri")(zero, [1, 2]).info == 1
    assert routine(server, kind, "posv")(zero, one).info == 1
    assert routine(server, kind, "potrf")(-np.eye(3, dtype=kind.dtype)).info == 1
    assert routine(server, kind, "sysv")(zero, one).info > 0
    assert routine(server, kind, "ppsv")(np.zeros(3, kind.dtype), one).info == 1
    assert routine(server, kind, "gbsv")(0, np.zeros((1, 2), kind.dtype), one).info == 1
    assert routine(server, kind, "gtsv")(one[:1] * 0, one * 0, one[:1] * 0, one).info == 1
    assert routine(server, kind, "trtrs")(zero, one).info == 1
    assert routine(server, kind, "trtri")(zero).info == 1
    deficient = np.array([[1, 0], [0, 0], [0, 0]], kind.dtype)
    assert routine(server, kind, "gels")(deficient, np.ones(3, kind.dtype)).info == 2


def test_wrong_sizes_are_refused_before_anything_runs(server, kind):
    import farcall

    a, b = kind.random(3, 3), kind.random(2)
    for call in (
        lambda: routine(server, kind, "gesv")(a, b),
        lambda: routine(server, kind, "gesv")(a[:, :2], b),
        lambda: routine(server, kind, "getrs")(a, [1, 2], b),
        lambda: routine(server, kind, "ppsv")(b, b),
        lambda: routine(server, kind, "gbsv")(4, a, kind.random(3)),
        lambda: routine(server, kind, "orgqr")(a[:2], b),
        lambda: routine(server, kind, "gesv")(a, kind.random(3), lda=2),
        lambda: routine(server, kind, "trsyl")(a, a, a, isgn=0),
        lambda: routine(server, kind, "lange")(a, norm="Q"),
    ):
        with pytest.raises((farcall.Error, ValueError)):
            call()


@pytest.mark.parametrize("shape", [(M, N), (N, M), (1, 1), (0, 3), (3, 0)])
def test_getrf(server, kind, laid_out, shape):
    a = kind.random(*shape)
    r = routine(server, kind, "getrf")(laid_out(a))
    lower, upper = lu(r.a)
    assert r.info == 0 and r.ipiv.shape == (min(shape),)
    kind.close(lower @ upper, permuted(a, r.ipiv))


@pytest.mark.parametrize("trans", "NTC")
def test_factors_are_used_again(server, kind, trans):
    a, b = kind.random(N, N), kind.random(N, K)
    factors = routine(server, kind, "getrf")(a)
    kind.close(
        operator(a, trans)
        @ routine(server, kind, "getrs")(factors.a, factors.ipiv, b, trans=trans).b,
        b,
    )
    kind.close(a @ routine(server, kind, "getri")(factors.a, factors.ipiv).a, np.eye(N))


def test_condition_and_refinement(server, kind):
    a, b = kind.random(N, N), kind.random(N, 2)
    factors = routine(server, kind, "getrf")(a)
    norm = routine(server, kind, "lange")(a, norm="1").value
    wanted = 1 / np.linalg.cond(a, 1)
    rcond = routine(server, kind, "gecon")(factors.a, norm).rcond
    # An estimate: never too small, and seldom more than three times too large.
    assert 0.9 * wanted < rcond < 3.1 * wanted
    badly_scaled = a * np.logspace(0, 4, N)[:, None].astype(kind.real)
    r = routine(server, kind, "gesvx")(badly_scaled, b)
    assert r.info == 0 and bytes(
        r.equed if isinstance(r.equed, bytes) else str(r.equed).encode()
    ) in (b"R", b"B")
    assert r.rcond > 0 and (r.ferr < 1).all() and (r.berr < 1e-3).all() and r.r.shape == (N,)
    np.testing.assert_allclose(
        (badly_scaled @ r.x - b) / np.abs(badly_scaled).sum(1)[:, None], 0, atol=kind.tolerance
    )
    plain = routine(server, kind, "gesvx")(a, b, fact="N")
    assert plain.r is None and plain.c is None
    kind.close(a @ plain.x, b)


@pytest.mark.parametrize("uplo", "UL")
@pytest.mark.parametrize("n", [0, 1, N])
def test_positive_definite(server, kind, laid_out, uplo, n):
    a, b = kind.positive(n), kind.random(n, K)
    given = triangle(a, uplo)
    r = routine(server, kind, "posv")(laid_out(given), laid_out(b), uplo=uplo)
    assert r.info == 0
    kind.close(a @ r.b, b)
    factor = routine(server, kind, "potrf")(given, uplo=uplo).a
    kind.close(factor.conj().T @ factor if uplo == "U" else factor @ factor.conj().T, a)
    kind.close(a @ routine(server, kind, "potrs")(factor, b, uplo=uplo).b, b)
    inverse = triangle(routine(server, kind, "potri")(factor, uplo=uplo).a, uplo)
    inverse = inverse + inverse.conj().T - np.diag(np.diag(inverse).real)
    kind.close(a @ inverse, np.eye(n))


@pytest.mark.parametrize("uplo", "UL")
@pytest.mark.parametrize("n", [1, N])
def test_indefinite(server, kind, uplo, n):
    b = kind.random(n, K)
    for name, a in [("sy", kind.symmetric(n))] + [("he", kind.hermitian(n))] * kind.is_complex:
        r = routine(server, kind, name + "sv")(triangle(a, uplo), b, uplo=uplo)
        assert r.info == 0
        kind.close(a @ r.b, b)
        r = routine(server, kind, name[0] + "psv")(packed(a, uplo), b, uplo=uplo)
        assert r.info == 0 and r.ap.shape == (n * (n + 1) // 2,)
        kind.close(a @ r.b, b)


@pytest.mark.parametrize("uplo", "UL")
def test_packed(server, kind, uplo):
    a, b = kind.positive(N), kind.random(N, K)
    ap = packed(a, uplo)
    r = routine(server, kind, "ppsv")(ap, b, uplo=uplo)
    assert r.info == 0
    kind.close(a @ r.b, b)
    factor = routine(server, kind, "pptrf")(N, ap, uplo=uplo)
    kind.close(factor.ap, r.ap)
    kind.close(a @ routine(server, kind, "pptrs")(factor.ap, b, uplo=uplo).b, b)


@pytest.mark.parametrize("band", [(0, 0), (1, 2), (3, 0), (0, 2)])
@pytest.mark.parametrize("trans", "NTC")
def test_banded(server, kind, laid_out, band, trans):
    kl, ku = band
    a, b = band_of(kind.random(N, N) + 5 * np.eye(N, dtype=kind.dtype), kl, ku), kind.random(N, K)
    ab = laid_out(banded(a, kl, ku, room=kl))
    r = routine(server, kind, "gbsv")(ku, ab, b)
    assert r.info == 0 and r.ipiv.shape == (N,)
    kind.close(a @ r.b, b)
    factors = routine(server, kind, "gbtrf")(N, ku, ab)
    x = routine(server, kind, "gbtrs")(ku, factors.ab, factors.ipiv, b, trans=trans).b
    kind.close(operator(a, trans) @ x, b)


@pytest.mark.parametrize("uplo", "UL")
def test_positive_definite_band(server, kind, uplo):
    a = band_of(kind.hermitian(N), 2, 2) + 20 * np.eye(N, dtype=kind.dtype)
    a -= 1j * np.diag(np.diag(a).imag) if kind.is_complex else 0
    b, (kl, ku) = kind.random(N, K), (0, 2) if uplo == "U" else (2, 0)
    r = routine(server, kind, "pbsv")(banded(a, kl, ku), b, uplo=uplo)
    assert r.info == 0
    kind.close(a @ r.b, b)


@pytest.mark.parametrize("n", [0, 1, 2, N])
def test_tridiagonal(server, kind, n):
    below, main, above, b = (
        kind.random(max(0, n - 1)),
        kind.random(n) + 4,
        kind.random(max(0, n - 1)),
        kind.random(n, K),
    )
    a = (np.diag(below, -1) + np.diag(main) + np.diag(above, 1))[:n, :n]
    r = routine(server, kind, "gtsv")(below, main, above, b)
    assert r.info == 0
    kind.close(a @ r.b, b)


@pytest.mark.parametrize("uplo", "UL")
@pytest.mark.parametrize("trans", "NTC")
def test_triangular(server, kind, laid_out, uplo, trans):
    a, b = kind.random(N, N) + 5 * np.eye(N, dtype=kind.dtype), kind.random(N, K)
    x = routine(server, kind, "trtrs")(laid_out(a), b, uplo=uplo, trans=trans).b
    kind.close(operator(triangle(a, uplo), trans) @ x, b)
    inverse = triangle(routine(server, kind, "trtri")(a, uplo=uplo).a, uplo)
    kind.close(triangle(a, uplo) @ inverse, np.eye(N))


@pytest.mark.parametrize("shape", [(M, N), (N, N), (N, M)])
def test_qr(server, kind, laid_out, shape):
    a = kind.random(*shape)
    r, k = routine(server, kind, "geqrf")(laid_out(a)), min(shape)
    assert r.info == 0 and r.tau.shape == (k,)
    reflectors = r.a[:, :k]
    q = routine(server, kind, "orgqr")(reflectors, r.tau).a
    kind.close(q @ np.triu(r.a[:k]), a)
    kind.close(q.conj().T @ q, np.eye(k))
    adjoint = "C" if kind.is_complex else "T"
    c = kind.random(shape[0], K)
    product = routine(server, kind, "ormqr")(reflectors, r.tau, c, trans=adjoint).c
    kind.close(product[:k], q.conj().T @ c)
    kind.close(routine(server, kind, "ormqr")(reflectors, r.tau, product).c, c)
    from_right = routine(server, kind, "ormqr")(reflectors, r.tau, c.conj().T.copy(), side="R").c
    kind.close(from_right, product.conj().T)


def test_pivoted_qr(server, kind):
    a = kind.random(M, 4) @ kind.random(4, N)
    r = routine(server, kind, "geqp3")(a, np.zeros(N, "i4"))
    assert r.info == 0 and sorted(r.jpvt) == list(range(1, N + 1))
    q = routine(server, kind, "orgqr")(r.a, r.tau).a
    kind.close(q @ np.triu(r.a[:N]), a[:, r.jpvt - 1])
    # The diagonal shows the rank.
    assert np.abs(r.a[4, 4]) < kind.tolerance * np.abs(r.a[0, 0])


def test_least_squares(server, kind):
    a, b = kind.random(M, N), kind.random(M, 2)
    r = routine(server, kind, "gels")(a, b)
    assert r.info == 0
    kind.close(r.b[:N], np.linalg.lstsq(a, b, rcond=None)[0])
    adjoint = "C" if kind.is_complex else "T"
    # Minimum norm: B has room for the solution, which is longer than the right-hand side.
    room = np.zeros((M, 2), kind.dtype)
    room[:N] = b[:N]
    wanted = np.linalg.lstsq(a.conj().T, b[:N], rcond=None)[0]
    kind.close(routine(server, kind, "gels")(a.conj().T, room).b, wanted)
    kind.close(routine(server, kind, "gels")(a, room, trans=adjoint).b, wanted)


@pytest.mark.parametrize("shape", [(M, N), (N, M), (5 * N, N), (N, 7 * N), (1, 1), (200, 150)])
@pytest.mark.parametrize("nrhs", [1, 60])
def test_least_squares_of_any_rank(server, kind, shape, nrhs):
    """Its work arrays have formulas with many cases: LAPACK refuses one that is too small."""
    m, n = shape
    rank = max(1, min(shape) - 2)
    a, b = kind.random(m, rank) @ kind.random(rank, n), np.zeros((max(shape), nrhs), kind.dtype)
    b[:m] = kind.random(m, nrhs)
    r = routine(server, kind, "gelsd")(a, b, rcond=float(kind.tolerance))
    assert r.info == 0 and r.rank == rank
    kind.close(r.s, np.linalg.svd(a, compute_uv=False))
    kind.close(r.b[:n], np.linalg.lstsq(a, b[:m], rcond=float(kind.tolerance))[0])


@pytest.mark.parametrize("isgn", [1, -1])
def test_sylvester(server, kind, isgn):
    a, b = np.triu(kind.random(6, 6)) + 9 * np.eye(6, dtype=kind.dtype), np.triu(kind.random(4, 4))
    c = kind.random(6, 4)
    r = routine(server, kind, "trsyl")(a, b, c, isgn=isgn)
    assert r.info == 0
    kind.close(a @ r.c + isgn * r.c @ b, r.scale * c)
    adjoint = "C" if kind.is_complex else "T"
    r = routine(server, kind, "trsyl")(a, b, c, trana=adjoint, tranb=adjoint, isgn=isgn)
    kind.close(a.conj().T @ r.c + isgn * r.c @ b.conj().T, r.scale * c)


@pytest.mark.parametrize("shape", [(M, N), (1, 1), (0, 0)])
def test_lange(server, kind, laid_out, shape):
    a = kind.random(*shape)
    lange = routine(server, kind, "lange")
    size = np.abs(a)
    wanted = {
        "F": np.sqrt((size**2).sum()),
        "1": size.sum(0).max(initial=0),
        "I": size.sum(1).max(initial=0),
        "m": size.max(initial=0),
    }
    for norm, value in wanted.items():
        assert lange(laid_out(a), norm=norm).value == pytest.approx(value, rel=1e-5)
