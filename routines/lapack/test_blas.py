"""BLAS in four precisions against NumPy's own products, and its conditions on arguments."""

import numpy as np
import pytest

M, N, K = 9, 7, 5


def routine(server, kind, name):
    return server[kind.letter + name]


def operator(a, letter):
    return {"N": a, "T": a.T, "C": a.conj().T}[letter]


def triangle(a, uplo, diagonal="N"):
    a = np.triu(a) if uplo == "U" else np.tril(a)
    if diagonal == "U":
        a = a - np.diag(np.diag(a)) + np.eye(len(a))
    return a


def packed(a, uplo):
    """The columns of a triangle, one behind the other."""
    n = len(a)
    columns = [a[: j + 1, j] if uplo == "U" else a[j:, j] for j in range(n)]
    return np.concatenate(columns) if n else np.zeros(0, a.dtype)


def banded(a, kl, ku):
    """Row ku+i-j, column j holds a[i, j]; what lies outside of the matrix is filled with what must
    not be used."""
    m, n = a.shape
    ab = np.full((kl + ku + 1, n), np.nan, a.dtype)
    for i in range(m):
        for j in range(max(0, i - kl), min(n, i + ku + 1)):
            ab[ku + i - j, j] = a[i, j]
    return ab


def band_of(a, kl, ku):
    return np.triu(np.tril(a, ku), -kl)


def dots(kind):
    """Names of the dot products, and what each conjugates."""
    return [("dotu", False), ("dotc", True)] if kind.is_complex else [("dot", False)]


def test_vectors(server, kind, laid_out):
    x, y = kind.random(N), kind.random(N)
    alpha = kind.random(1)[0]
    kind.close(
        routine(server, kind, "axpy")(laid_out(x), laid_out(y), alpha=alpha).y, alpha * x + y
    )
    kind.close(routine(server, kind, "scal")(alpha, laid_out(x)).x, alpha * x)
    for name, conjugates in dots(kind):
        kind.close(
            routine(server, kind, name)(x, laid_out(y)).dot, (x.conj() if conjugates else x) @ y
        )


def test_increments(server, kind):
    """An increment says how the routine's memory is laid out; a negative one walks through it
    backwards."""
    x, y = kind.random(N), kind.random(N)
    for name, conjugates in dots(kind):
        dot, left = routine(server, kind, name), x.conj() if conjugates else x
        kind.close(dot(x, y, incx=2, incy=3).dot, left @ y)
        kind.close(dot(x, y, incx=-2).dot, left[::-1] @ y)
        kind.close(dot(x, y, n=N, incx=-4, incy=-3).dot, left @ y)
    kind.close(routine(server, kind, "axpy")(x, y, alpha=3, incx=-4, incy=2).y, 3 * x[::-1] + y)


@pytest.mark.parametrize("increment", [1, 2, 7])
def test_nothing_to_do(server, kind, increment):
    """No elements, whatever the increment: sizes are 0 and not negative."""
    empty = np.zeros(0, kind.dtype)
    for name, _ in dots(kind):
        assert routine(server, kind, name)(empty, empty, incx=increment, incy=-increment).dot == 0
    assert routine(server, kind, "axpy")(empty, empty, incx=increment).y.shape == (0,)
    assert (
        server[{"s": "snrm2", "d": "dnrm2", "c": "scnrm2", "z": "dznrm2"}[kind.letter]](
            empty, incx=increment
        ).norm
        == 0
    )
    matrix = np.zeros((0, 3), kind.dtype)
    assert routine(server, kind, "gemm")(
        matrix, np.zeros((3, 0), kind.dtype), np.zeros((0, 0), kind.dtype)
    ).c.shape == (0, 0)


@pytest.mark.parametrize("increment", [0, -1])
def test_increments_that_no_library_knows(server, kind, increment):
    """BLAS would return 0 without a word."""
    import farcall

    name = {"s": "sasum", "d": "dasum", "c": "scasum", "z": "dzasum"}[kind.letter]
    with pytest.raises(farcall.Error, match="incx"):
        server[name](kind.random(3), incx=increment)


def test_norms(server, kind, laid_out):
    x = kind.random(N)
    prefix = {"s": "s", "d": "d", "c": "sc", "z": "dz"}[kind.letter]
    kind.close(server[prefix + "nrm2"](laid_out(x)).norm, np.linalg.norm(x))
    kind.close(
        server[prefix + "asum"](laid_out(x), incx=3).sum,
        np.abs(x.real).sum() + np.abs(x.imag).sum(),
    )
    index = server["i" + kind.letter + "amax"](laid_out(x)).index
    assert index == 1 + np.argmax(np.abs(x.real) + np.abs(x.imag))
    # The squares of these overflow or vanish.
    huge, tiny = np.finfo(kind.real).max / 4, np.finfo(kind.real).tiny
    for size in (huge, tiny):
        assert server[prefix + "nrm2"](np.full(4, size, kind.dtype)).norm == pytest.approx(
            2 * size, rel=1e-5
        )


@pytest.mark.parametrize("trans", "NTC")
def test_matrix_and_vector(server, kind, laid_out, trans):
    a = kind.random(M, N)
    x, y = kind.random(N if trans == "N" else M), kind.random(M if trans == "N" else N)
    product = operator(a, trans) @ x
    kind.close(
        routine(server, kind, "gemv")(laid_out(a), x, y, trans=trans.lower(), alpha=2, beta=0.5).y,
        2 * product + y / 2,
    )
    kl, ku = 2, 3
    product = operator(band_of(a, kl, ku), trans) @ x
    r = routine(server, kind, "gbmv")(M, ku, laid_out(banded(a, kl, ku)), x, y, trans=trans, incx=2)
    kind.close(r.y, product)


@pytest.mark.parametrize("uplo", "UL")
@pytest.mark.parametrize("trans", "NTC")
@pytest.mark.parametrize("diag", "NU")
def test_triangular_matrix_and_vector(server, kind, uplo, trans, diag):
    a = kind.random(N, N) + 4 * np.eye(N, dtype=kind.dtype)
    x, options = kind.random(N), {"uplo": uplo, "trans": trans, "diag": diag}
    op = operator(triangle(a, uplo, diag), trans)
    kind.close(routine(server, kind, "trmv")(a, x, **options).x, op @ x)
    kind.close(op @ routine(server, kind, "trsv")(a, x, **options, incx=3).x, x)
    ap = packed(a, uplo)
    kind.close(routine(server, kind, "tpmv")(ap, x, **options).x, op @ x)
    kind.close(op @ routine(server, kind, "tpsv")(ap, x, **options).x, x)
    kl, ku = (0, 2) if uplo == "U" else (2, 0)
    op = operator(triangle(band_of(a, kl, ku), uplo, diag), trans)
    kind.close(op @ routine(server, kind, "tbsv")(banded(a, kl, ku), x, **options).x, x)


@pytest.mark.parametrize("uplo", "UL")
def test_symmetric_matrix_and_vector(server, kind, uplo):
    letters = "he" if kind.is_complex else "sy"
    a, x, y = kind.hermitian(N), kind.random(N), kind.random(N)
    options = {"uplo": uplo, "alpha": 2, "beta": 3}
    kind.close(
        routine(server, kind, letters + "mv")(triangle(a, uplo), x, y, **options).y,
        2 * a @ x + 3 * y,
    )
    kind.close(
        routine(server, kind, letters[0] + "pmv")(packed(a, uplo), x, y, **options).y,
        2 * a @ x + 3 * y,
    )
    kl, ku = (0, 2) if uplo == "U" else (2, 0)
    r = routine(server, kind, letters[0] + "bmv")(banded(a, kl, ku), x, y, **options)
    kind.close(r.y, 2 * band_of(a, 2, 2) @ x + 3 * y)


def test_rank_one(server, kind, laid_out):
    a, x, y = kind.random(M, N), kind.random(M), kind.random(N)
    for name, right in [("geru", y), ("gerc", y.conj())] if kind.is_complex else [("ger", y)]:
        kind.close(
            routine(server, kind, name)(x, y, laid_out(a), alpha=2).a, 2 * np.outer(x, right) + a
        )


@pytest.mark.parametrize("transa", "NTC")
@pytest.mark.parametrize("transb", "NTC")
def test_gemm(server, kind, laid_out, transa, transb):
    a, b, c = kind.random(M, K), kind.random(K, N), kind.random(M, N)
    options = {"transa": transa, "transb": transb}
    left, right = (
        operator(operator(a, transa).copy(), "N"),
        operator(operator(b, transb).copy(), "N"),
    )
    product = operator(left, transa) @ operator(right, transb)
    kind.close(
        routine(server, kind, "gemm")(laid_out(left), laid_out(right), c, **options).c, product
    )
    r = routine(server, kind, "gemm")(left, right, laid_out(c), **options, alpha=2, beta=0.5)
    kind.close(r.c, 2 * product + c / 2)
    with pytest.raises(ValueError):
        routine(server, kind, "gemm")(left, right[:-1, :-1], c, **options)


def test_what_is_not_read_is_not_needed(server, kind, laid_out):
    """With a beta of 0, C and y need not be set: None will do, too."""
    a, b, x = kind.random(M, M), kind.random(M, N), kind.random(M)
    c, y = np.full((M, N), np.nan, kind.dtype), np.full(M, np.nan, kind.dtype)
    product, s = a @ b, kind.symmetric(M)
    gemm, gemv = routine(server, kind, "gemm"), routine(server, kind, "gemv")
    symm = routine(server, kind, "symm")
    for given in [(), (None,), (laid_out(c),)]:
        kind.close(gemm(a, laid_out(b), *given).c, product)
        kind.close(gemm(a, b, *given, beta=0).c, product)
        kind.close(symm(s, b, *given).c, s @ b)
    for given in [(), (None,), (laid_out(y),)]:
        kind.close(gemv(a, laid_out(x), *given).y, a @ x)
    assert np.isnan(c).all() and np.isnan(y).all()
    # Results go where they are wanted.
    place = np.full((2 * M, N), 7, kind.dtype)[::2]
    gemm(a, b, out=place)
    kind.close(place, product)
    assert (place.base[1::2] == 7).all()
    gemm(a, b, c, inplace=True)
    kind.close(c, product)
    kind.close(gemm(a, b, inplace=True).c, product)
    # What is read must be there, and is: a NaN counts.
    assert np.isnan(gemm(a, b, np.full_like(c, np.nan), beta=1).c).all()
    with pytest.raises(ValueError, match="needs c: not given"):
        gemm(a, b, beta=1)
    with pytest.raises(ValueError, match="needs y: not given"):
        gemv(a, x, beta=0.5)
    with pytest.raises(ValueError):
        gemm(a, b, c[:-1])


def test_empty_products_leave_their_result(server, kind):
    """As the library does: y is given where there is nothing to multiply with."""
    y = kind.random(M)
    a = np.zeros((M, 0), kind.dtype, order="F")
    kind.close(routine(server, kind, "gemv")(a, kind.random(0), y, beta=0).y, y)
    with pytest.raises(ValueError, match="needs y"):
        routine(server, kind, "gemv")(a, kind.random(0), beta=0)


def test_the_signature_says_what_may_be_left_out(server):
    assert str(server["dgemm"].__signature__).startswith("(a, b, c=None, *,")
    assert "(read only when beta != 0)" in server["dgemm"].__doc__


@pytest.mark.parametrize("side", "LR")
@pytest.mark.parametrize("uplo", "UL")
def test_symmetric_products(server, kind, side, uplo):
    b, c = kind.random(M, N), kind.random(M, N)
    size = M if side == "L" else N
    for name, a in [("symm", kind.symmetric(size))] + [
        ("hemm", kind.hermitian(size))
    ] * kind.is_complex:
        wanted = a @ b if side == "L" else b @ a
        r = routine(server, kind, name)(triangle(a, uplo), b, c, side=side, uplo=uplo, beta=2)
        kind.close(r.c, wanted + 2 * c)


@pytest.mark.parametrize("side", "LR")
@pytest.mark.parametrize("uplo", "UL")
@pytest.mark.parametrize("transa", "NTC")
@pytest.mark.parametrize("diag", "NU")
def test_triangular_products_and_solutions(server, kind, side, uplo, transa, diag):
    b = kind.random(M, N)
    size = M if side == "L" else N
    a = kind.random(size, size) + 4 * np.eye(size, dtype=kind.dtype)
    options = {"side": side, "uplo": uplo, "transa": transa, "diag": diag}
    op = operator(triangle(a, uplo, diag), transa)

    def product(x):
        return op @ x if side == "L" else x @ op

    kind.close(routine(server, kind, "trmm")(a, b, **options, alpha=3).b, 3 * product(b))
    kind.close(product(routine(server, kind, "trsm")(a, b, **options, alpha=3).b), 3 * b)


@pytest.mark.parametrize("uplo", "UL")
@pytest.mark.parametrize("transposed", [False, True])
def test_rank_k(server, kind, uplo, transposed):
    a, b = kind.random(N, K), kind.random(N, K)
    left, right = (a.T.copy(), b.T.copy()) if transposed else (a, b)
    c = kind.symmetric(N)
    for name, wanted in [("syrk", a @ a.T), ("syr2k", a @ b.T + b @ a.T)]:
        given = (left,) if name == "syrk" else (left, right)
        r = routine(server, kind, name)(
            *given, c, uplo=uplo, trans="T" if transposed else "N", beta=2
        )
        kind.close(triangle(r.c, uplo), triangle(wanted + 2 * c, uplo))
    if not kind.is_complex:
        return
    c, left, right = (
        kind.hermitian(N),
        left.conj() if transposed else left,
        right.conj() if transposed else right,
    )
    alpha = kind.random(1)[0]
    for name, wanted in [
        ("herk", a @ a.conj().T),
        ("her2k", alpha * a @ b.conj().T + (alpha * a @ b.conj().T).conj().T),
    ]:
        given, options = ((left,), {}) if name == "herk" else ((left, right), {"alpha": alpha})
        r = routine(server, kind, name)(
            *given, c, uplo=uplo, trans="C" if transposed else "N", beta=2, **options
        )
        kind.close(triangle(r.c, uplo), triangle(wanted + 2 * c, uplo))
