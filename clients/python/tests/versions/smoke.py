"""A little of everything, for each version of Python (tools/python-versions.sh): what breaks
between them shows here."""

import array
import asyncio
import os
import platform
import warnings

import numpy as np

import farcall
from farcall.stubs import stub

A, B = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
WANTED = np.linalg.solve(A, B)


def check_calls(server):
    results = server.dgesv(A, B, timeout=30)
    a, ipiv, b, info = results
    assert np.allclose(b, WANTED) and info == 0 and results.b is b and dict(results)["info"] == 0
    place = np.empty(2)
    assert server.dgesv(A, B, out={"b": place}).b is place and np.allclose(place, WANTED)
    shared = farcall.empty((2, 2), order="F")
    shared[...] = A
    assert server.dgesv(shared, array.array("d", B), inplace=False).info == 0
    assert (
        "dgesv" in server
        and "dgesv(a, b" in repr(server.dgesv)
        and "<table" in server.dgesv._repr_html_()
    )


def check_futures(server):
    assert np.allclose(server.dgesv.submit(A, B).result(30).b, WANTED)
    with server.executor() as executor:
        assert all(np.allclose(r.b, WANTED) for r in executor.map(server.dgesv, [A] * 3, [B] * 3))

    async def several():
        return await asyncio.gather(*(server.dgesv.aio(A, B) for _ in range(3)))

    assert all(np.allclose(r.b, WANTED) for r in asyncio.run(several()))


def check_errors(server):
    for wrong, kind in (
        (lambda: server.dgesw, farcall.NotFound),
        (lambda: server.dgesv(A, B, nn=1), farcall.WrongType),
    ):
        try:
            wrong()
        except kind as error:
            assert error.advice
        else:
            raise AssertionError("no error")


def check_forks(server):
    # Python warns of threads that may hold a lock; the connection's are made again in the child.
    warnings.simplefilter("ignore", DeprecationWarning)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.allclose(server.dgesv(A, B).b, WANTED) else 1)
    assert os.waitpid(child, 0)[1] == 0


with farcall.connect(timeout=30) as server:
    for check in (check_calls, check_futures, check_errors, check_forks):
        check(server)
    compile(stub(server, ["lapack"]), "catalogue.pyi", "exec")
print(f"{platform.python_version()} with NumPy {np.__version__}")
