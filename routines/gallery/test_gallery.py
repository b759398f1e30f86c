"""The matrices of the gallery, by what is known of them. NumPy alone looks at them, and nothing of
what made them."""

import math

import numpy as np
import pytest


@pytest.fixture(scope="module")
def gallery():
    import farcall

    with farcall.connect(files=["gallery"]) as server:
        yield server.gallery


def close(one, other, tolerance=1e-9):
    np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def test_hilbert(gallery):
    a = gallery.hilbert(5).result
    assert a[1, 2] == 1 / 4
    # The determinant of order 5 is 1 / 266716800000, and the condition 4.8e5.
    close(np.linalg.det(a) * 266716800000, 1, 1e-6)
    close(np.linalg.cond(a), 476607.25, 1e-4)
    # Its inverse has integers.
    close(np.linalg.inv(a)[0], [25, -300, 1050, -1400, 630], 1e-6)


def test_lehmer(gallery):
    a = gallery.lehmer(6).result
    assert (a == a.T).all() and (np.linalg.eigvalsh(a) > 0).all()
    inverse = np.linalg.inv(a)
    close(np.triu(inverse, 2), 0)
    close(inverse[0, 0], 4 / 3)


def test_frank(gallery):
    a = gallery.frank(9).result
    assert (np.tril(a, -2) == 0).all() and a[0, 0] == 9 and a[1, 0] == 8 and a[2, 1] == 7
    close(np.linalg.det(a), 1, 1e-6)
    # With each eigenvalue it has the reciprocal.
    values = np.sort(np.linalg.eigvals(gallery.frank(6).result).real)
    close(values * values[::-1], 1, 1e-6)


def test_minij(gallery):
    n = 7
    a = gallery.minij(n).result
    close(np.linalg.det(a), 1)
    k = np.arange(1, n + 1)
    known = 1 / (2 - 2 * np.cos((2 * k - 1) * np.pi / (2 * n + 1)))
    close(np.linalg.eigvalsh(a), np.sort(known))


@pytest.mark.parametrize("theta", [1.2, 0.7])
def test_kahan(gallery, theta):
    a = gallery.kahan(10, theta).result
    assert (np.tril(a, -1) == 0).all()
    close(np.diag(a), math.sin(theta) ** np.arange(10))
    close(a[0, 1:], -math.cos(theta))


def test_kahan_has_a_default(gallery):
    close(gallery.kahan(4).result, gallery.kahan(4, 1.2).result, 0)


def test_wilkinson(gallery):
    a = gallery.wilkinson(21).result
    assert np.diag(a).tolist() == [abs(one) for one in range(-10, 11)]
    values = np.linalg.eigvalsh(a)
    close(values[-1], 10.74619418290, 1e-10)
    assert 0 < values[-1] - values[-2] < 1e-13 * 100


def test_laplace_and_poisson(gallery):
    n = 6
    k = np.arange(1, n + 1)
    known = 2 - 2 * np.cos(k * np.pi / (n + 1))
    a = gallery.laplace(n).result
    close(np.linalg.eigvalsh(a), known)
    close(np.linalg.det(a), n + 1)
    p = gallery.poisson(n).result
    assert p.shape == (36, 36)
    close(np.linalg.eigvalsh(p), np.sort((known[:, None] + known).ravel()))


def test_vandermonde(gallery):
    x = np.array([1.0, 2.0, 4.0, 7.0])
    known = math.prod(x[j] - x[i] for i in range(4) for j in range(i + 1, 4))
    a = gallery.vandermonde(x).result
    assert a[2].tolist() == [1, 4, 16, 64]
    close(np.linalg.det(a), known)


def test_pascal(gallery):
    a = gallery.pascal(6).result
    assert all(a[i, j] == math.comb(i + j, i) for i in range(6) for j in range(6))
    close(np.linalg.det(a), 1, 1e-6)


def test_cauchy(gallery):
    x, y = np.array([1.0, 2.0, 5.0]), np.array([0.5, 3.0, 4.0])
    pairs = [(i, j) for i in range(3) for j in range(i)]
    above = math.prod((x[i] - x[j]) * (y[i] - y[j]) for i, j in pairs)
    below = math.prod(x[i] + y[j] for i in range(3) for j in range(3))
    close(np.linalg.det(gallery.cauchy(x, y).result), above / below)


def test_rosser(gallery):
    a = gallery.rosser().result
    values = np.linalg.eigvalsh(a)
    root = math.sqrt(10405)
    known = [-10 * root, 0, 510 - 100 * math.sqrt(26), 1000, 1000, 510 + 100 * math.sqrt(26)]
    close(values, sorted([*known, 1020, 10 * root]), 1e-9)


def test_an_order_that_makes_no_sense(gallery):
    import farcall

    with pytest.raises(farcall.RoutineFailed, match="n = 0 is less than 1"):
        gallery.hilbert(0)
