"""UMFPACK by residuals: real and complex, 32- and 64-bit indexes, and matrices that are none."""

import io
import shutil
import subprocess

import numpy as np
import pytest

N = 60


@pytest.fixture(scope="module")
def umfpack(serve):
    return serve("umfpack/umfpack.idl").umfpack


@pytest.fixture(params=["di", "dl", "zi", "zl"])
def variant(request, umfpack):
    """The routine, its type of numbers and its type of indexes."""
    letters = request.param
    number, index = {"d": "f8", "z": "c16"}[letters[0]], {"i": "i4", "l": "i8"}[letters[1]]
    return umfpack[f"umfpack_{letters}_solve"], np.dtype(number), np.dtype(index)


def sparse(n, dtype, seed=1997):
    """A matrix with some entries in each column and a strong diagonal, dense."""
    random = np.random.default_rng(seed)
    a = random.normal(size=(n, n)) * (random.random((n, n)) < 5 / n)
    if dtype.kind == "c":
        a = a * np.exp(2j * np.pi * random.random((n, n)))
    return (a + 4 * np.eye(n)).astype(dtype)


def columns(a, index):
    """Compressed columns, as scipy.sparse.csc_matrix(a) has them in indptr, indices and data."""
    rows, places = np.nonzero(a.T)[1], np.nonzero(a.T)[0]
    pointers = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=a.shape[1]))])
    return pointers.astype(index), rows.astype(index), a.T[a.T != 0]


@pytest.mark.parametrize("trans", "NTC")
def test_solutions(variant, trans):
    solve, number, index = variant
    a = sparse(N, number)
    op = {"N": a, "T": a.T, "C": a.conj().T}[trans]
    for shape in ((N,), (N, 3), (N, 0)):
        b = np.random.default_rng(5).normal(size=shape).astype(number)
        r = solve(*columns(a, index), b, trans=trans)
        assert (r.status, r.message) == (0, "solved") and 0 < r.rcond <= 1 and r.b.shape == b.shape
        np.testing.assert_allclose(op @ r.b, b, atol=1e-10)


def test_entries_in_any_order_add_up(variant):
    solve, number, index = variant
    a, b = sparse(N, number), np.ones(N, number)
    ap, ai, ax = columns(a, index)
    for j in range(N):
        column = slice(ap[j], ap[j + 1])
        ai[column], ax[column] = ai[column][::-1].copy(), ax[column][::-1].copy()
    np.testing.assert_allclose(a @ solve(ap, ai, ax, b).b, b, atol=1e-10)
    # Each entry twice, by halves.
    twice = solve(2 * ap, np.repeat(ai, 2), np.repeat(ax / 2, 2), b)
    np.testing.assert_allclose(a @ twice.b, b, atol=1e-10)


def test_one_number(variant):
    solve, number, index = variant
    assert (
        solve(
            np.array([0, 1], index),
            np.array([0], index),
            np.array([4], number),
            np.array([2], number),
        ).b
        == 0.5
    )


def test_singular_matrices_are_reported(variant):
    solve, number, index = variant
    a = sparse(4, number)
    a[:, 2] = 0
    for ap, ai, ax in (columns(a, index), columns(0 * a, index)):
        r = solve(ap, ai, ax, np.ones(4, number))
        assert r.status == 1 and r.rcond == 0 and "singular" in r.message


@pytest.mark.parametrize(
    "wrong, pointers, rows",
    [
        ("column pointers", [1, 2, 3], [0, 1, 0]),
        ("column pointers", [0, 4, 3], [0, 1, 0]),
        ("column pointers", [0, 2, 2], [0, 1, 0]),
        ("column pointers", [0, 2, 9], [0, 1, 0]),
        ("column pointers", [0, -5, 3], [0, 1, 0]),
        ("row index", [0, 2, 3], [0, 2, 0]),
        ("row index", [0, 2, 3], [0, -1, 0]),
    ],
)
def test_what_is_no_matrix_computes_nothing(variant, wrong, pointers, rows):
    """UMFPACK would read outside of the arrays: the glue looks first."""
    solve, number, index = variant
    r = solve(
        np.array(pointers, index), np.array(rows, index), np.ones(3, number), np.ones(2, number)
    )
    assert r.status < 0 and wrong in r.message and (r.b == 1).all()


def test_sizes_that_disagree(variant):
    import farcall

    solve, number, index = variant
    ap, ai, ax = columns(sparse(4, number), index)
    for call in (
        lambda: solve(ap, ai[:-1], ax, np.ones(4, number)),
        lambda: solve(ap, ai, ax, np.ones(3, number)),
        lambda: solve(ap[:1], ai, ax, np.ones(0, number)),
    ):
        with pytest.raises(farcall.Error):
            call()


# The matrix b1_ss of the Grund collection, as the Matrix Market writes it: a chemical process in 7
# equations.
B1_SS = """%%MatrixMarket matrix coordinate real general
7 7 15
5 1 -0.03599942
6 1 -0.0176371
7 1 -0.007721779
1 2 1
2 2 -1
1 3 1
3 3 -1
1 4 1
4 4 -1
2 5 0.45
5 5 1
3 6 0.1
6 6 1
4 7 0.45
7 7 1
"""


def test_a_file_of_the_matrix_market(umfpack):
    text = io.StringIO(B1_SS)
    text.readline()
    n, _, count = map(int, text.readline().split())
    rows, places, values = np.loadtxt(text).T
    order = np.argsort(places, kind="stable")
    pointers = np.concatenate([[0], np.cumsum(np.bincount(places.astype(int) - 1, minlength=n))])
    given = pointers.astype("i4"), (rows[order] - 1).astype("i4"), values[order]
    dense = np.zeros((n, n))
    dense[rows.astype(int) - 1, places.astype(int) - 1] = values
    b = np.arange(1.0, n + 1)
    r = umfpack.umfpack_di_solve(*given, b)
    assert len(values) == count and r.status == 0
    np.testing.assert_allclose(dense @ r.b, b, atol=1e-12)
    # The collection's own page gives this condition number; UMFPACK estimates it by its pivots
    # alone.
    assert np.linalg.cond(dense) == pytest.approx(197.3732, rel=1e-6)
    assert 0.01 < r.rcond * np.linalg.cond(dense, 1) < 100


def test_a_large_grid(umfpack):
    """Poisson's equation on 150 by 150 points: 22,500 unknowns, of which a dense solver would want
    4 GB."""
    side = 150
    n = side * side
    point = np.arange(n)
    links = [(point, point, 4.0)]
    for step, inside in ((1, point % side < side - 1), (side, point < n - side)):
        links += [
            (point[inside] + step, point[inside], -1.0),
            (point[inside], point[inside] + step, -1.0),
        ]
    rows = np.concatenate([one[0] for one in links])
    places = np.concatenate([one[1] for one in links])
    values = np.concatenate([np.full(len(one[0]), one[2]) for one in links])
    order = np.lexsort((rows, places))
    pointers = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=n))])
    x = np.random.default_rng(11).normal(size=n)
    b = np.bincount(rows, weights=values * x[places], minlength=n)
    r = umfpack.umfpack_dl_solve(pointers, rows[order], values[order], b)
    assert r.status == 0
    np.testing.assert_allclose(r.b, x, atol=1e-9)


def test_a_machine_without_suitesparse_names_the_package(tmp_path, request):
    here = request.path.parent
    for file in ("umfpack.idl", "farcall_umfpack.c"):
        shutil.copy(here / file, tmp_path)
    glue = tmp_path / "farcall_umfpack.c"
    glue.write_text(glue.read_text().replace("<suitesparse/umfpack.h>", "<not_umfpack.h>"))
    command = ["farcall", "check", "--link", tmp_path / "umfpack.idl"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode != 0
    assert "install the package libsuitesparse-dev" in result.stderr, result.stderr
