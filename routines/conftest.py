"""What the tests of the published libraries share: one private server, and the four precisions."""

import itertools
import os
import pathlib

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent


class Kind:
    """One precision: its letter in the library's names, its types, and numbers of it."""

    def __init__(self, letter):
        self.letter = letter
        self.is_complex = letter in "cz"
        self.dtype = np.dtype({"s": "f4", "d": "f8", "c": "c8", "z": "c16"}[letter])
        self.real = np.dtype("f4" if letter in "sc" else "f8")
        # What a few hundred rounded operations on numbers around 1 may lose.
        self.tolerance = 2e-3 if letter in "sc" else 1e-10
        self.generator = np.random.default_rng(1997)

    def random(self, *shape):
        numbers = self.generator.normal(size=shape)
        if self.is_complex:
            numbers = numbers + 1j * self.generator.normal(size=shape)
        return numbers.astype(self.dtype)

    def positive(self, n):
        """A Hermitian matrix whose eigenvalues are well above 0."""
        a = self.random(n, n)
        return (a @ a.conj().T + 2 * n * np.eye(n)).astype(self.dtype)

    def hermitian(self, n):
        a = self.random(n, n)
        return a + a.conj().T

    def symmetric(self, n):
        a = self.random(n, n)
        return a + a.T

    def close(self, found, wanted):
        scale = max(1.0, float(np.abs(wanted).max(initial=0.0)))
        assert np.shape(found) == np.shape(wanted)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=self.tolerance * scale)


def pairs_of(item):
    """The pairs of values that a test has of its parameters; of one parameter, its value."""
    values = [(name, repr(value)) for name, value in sorted(item.callspec.params.items())]
    return set(itertools.combinations(values, 2)) or set(values)


def pairwise(items):
    """Some of a function's tests, in which each value of a parameter meets each value of every
    other."""
    wanted = set().union(*map(pairs_of, items))
    chosen = []
    while wanted:
        best = max(items, key=lambda item: len(pairs_of(item) & wanted))
        wanted -= pairs_of(best)
        chosen.append(best)
    return chosen


def pytest_collection_modifyitems(config, items):
    """LAPACK's and BLAS's parameters by pairs: faults of layouts, precisions and options show where
    two of them meet. All of their products are tested by `make soak`."""
    if "FARCALL_FULL_PRODUCT" in os.environ:
        return
    functions = {}
    for item in items:
        if item.path.parent == HERE / "lapack" and hasattr(item, "callspec"):
            functions.setdefault((item.path, item.originalname), []).append(item)
    kept = {id(item) for function in functions.values() for item in pairwise(function)}
    product = {id(item) for function in functions.values() for item in function}
    left_out = [item for item in items if id(item) in product - kept]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if id(item) not in product - kept]


@pytest.fixture(params="sdcz")
def kind(request):
    """Each precision in turn."""
    return Kind(request.param)


@pytest.fixture(params="sd")
def real_kind(request):
    return Kind(request.param)


@pytest.fixture(params="cz")
def complex_kind(request):
    return Kind(request.param)


# How a caller's array may lie in memory: nothing of it may show in the result.
LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "strided": lambda a: (
        np.repeat(np.repeat(a, 2, axis=0), 3, axis=-1)[::2, ::3]
        if a.ndim == 2
        else np.repeat(a, 2)[::2]
    ),
    "backwards": lambda a: np.ascontiguousarray(a[::-1])[::-1],
}


@pytest.fixture(params=sorted(LAYOUTS))
def laid_out(request):
    """A function that lays an array out in one of several ways."""
    return LAYOUTS[request.param]


@pytest.fixture(scope="session")
def serve():
    """Starts private servers that publish interface files of this folder, and ends them."""
    os.environ.pop("FARCALL_SERVER", None)
    import farcall

    servers = []

    def start(*files):
        servers.append(farcall.connect(files=[HERE / file for file in files], timeout=120))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture(scope="session")
def server(serve):
    """BLAS and LAPACK."""
    return serve("lapack/blas.idl", "lapack/lapack.idl", "lapack/eigen.idl")
