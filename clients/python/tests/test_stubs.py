"""Stubs of a server's catalogue: they say what routines say, and are Python that a type checker
understands."""

import importlib.util
import inspect
import pathlib
import subprocess
import sys

import pytest

USE = """
from typing import TYPE_CHECKING, cast
import numpy as np
import numpy.typing as npt
import farcall
if TYPE_CHECKING:
    from catalogue import Server
server = cast("Server", farcall.connect())
A, b = np.eye(2), np.ones(2)
info: int = server.dgesv(A, b, timeout=3, out={"b": b}, ipiv=np.zeros(2, np.int32)).info
x: npt.NDArray[np.float64] = server.lapack.dgesv.submit(A, [1, 2]).result(5).b
y: float = server["executor"].submit(np.float32(1)).y
z: float = server["close"](1).values
c: npt.NDArray[np.float64] = server.dgemm(A, A).c
server.dgemm(A, A, None, beta=0)
server.dgemm(A, A, c, beta=1)
async def wait() -> npt.NDArray[np.float64]:
    return (await server.dgesv.aio(A, b)).b
"""
WRONG = [
    "server.dgesv(A)",
    "server.dgesv(A, b, nn=3)",
    "server.square('x')",
    "server.dgesv(A, b).c",
    "server.dgesw",
    "server.dgemm(A)",
]


@pytest.fixture(scope="module")
def written(server):
    from farcall.stubs import stub

    return stub(server)


@pytest.fixture(scope="module")
def loaded(written):
    """A stub is Python: whatever it names must be there."""
    names = {}
    exec(compile(written, "catalogue.pyi", "exec"), names)
    return names


def test_routines_have_their_signatures_and_pages(server, loaded):
    for name in server.routines():
        routine = server[name]
        typed = loaded["_" + name.replace("/", "_")]
        for form in (typed.__call__, typed.submit, typed.aio):
            said = list(inspect.signature(form).parameters)[1:]
            interface = routine._interface
            files = [one for one in interface.outputs if one.is_file]
            places = [one.name for one in interface.array_outputs + files if not one.is_input]
            known = list(routine.__signature__.parameters)
            assert said[: len(known)] == known and len(said) == len(known) + len(places), name
        assert typed.__doc__.startswith(routine._interface.doc) or not routine._interface.doc, name
    assert loaded["_executor_routines"].__doc__.startswith('Five more. Says """ and \\.')


def test_servers_and_modules_have_what_they_have(server, loaded):
    typed = loaded["Server"].__annotations__
    assert typed["dgesv"] is loaded["_lapack_dgesv"] and typed["lapack"] is loaded["_lapack_"]
    assert (
        typed["behaviour"] is loaded["_behaviour_"]
        and "call" not in typed
        and "executor" not in typed
    )
    assert {"__call__", "submit", "aio"} <= set(vars(loaded["_behaviour_"])), (
        "a module's own routine is called so"
    )
    unreachable = [name for name in server if name not in typed]
    assert set(unreachable) == {
        "call",
        "close",
        "executor",
        "address",
        "routines",
        "class",
        "forget",
        "map",
    }
    results = loaded["_lapack_dgesv_results"].__annotations__
    assert results["info"] is int and list(results) == ["a", "ipiv", "b", "info"]


def test_classes_have_methods_and_functions_are_functions(farcall, tmp_path):
    from farcall.stubs import stub

    examples = pathlib.Path(__file__).resolve().parents[3] / "examples"
    with farcall.connect(
        files=[examples / "objects/rod.idl", examples / "callbacks/integrate.idl"]
    ) as server:
        text = stub(server)
        known = set(dir(server.Rod))
    names = {}
    exec(compile(text, "catalogue.pyi", "exec"), names)
    typed = names["Server"].__annotations__
    assert typed["Rod"] is names["_rod_"].__annotations__["Rod"] and "Callable" in str(
        inspect.signature(names["_integrate_trapezoid"].__call__).parameters["f"]
    )
    made = inspect.signature(typed["Rod"].__call__)
    options = ["lease", "timeout", "detached", "ranks", "cores", "memory", "gpus", "wall_time"]
    assert list(made.parameters) == ["self", "n", "hot", *options]
    methods = made.return_annotation.__annotations__
    assert set(methods) == {"step", "get"} <= known and methods["step"] is names["_rod_Rod_step"]


def check(folder, program):
    (folder / "use.py").write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", "use.py", "catalogue.pyi"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="no type checker is installed")
def test_a_type_checker_understands_them(written, tmp_path):
    (tmp_path / "catalogue.pyi").write_text(written)
    right = check(tmp_path, USE)
    assert right.returncode == 0, right.stdout
    wrong = check(tmp_path, USE + "\n".join(WRONG))
    assert f"Found {len(WRONG)} errors in 1 file" in wrong.stdout, wrong.stdout


def test_the_command_prints_them(tmp_path):
    names = pathlib.Path(__file__).parent / "routines/names.idl"
    command = [sys.executable, "-m", "farcall.stubs", "--file", str(names), "--module", "executor"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert said.returncode == 0 and "class _executor_submit(" in said.stdout, said.stderr
    said = subprocess.run(command + ["unix:/nowhere"], capture_output=True, text=True, timeout=60)
    assert said.returncode == 1 and said.stderr.startswith("farcall: ") and not said.stdout
    command[-1] = "nosuch"
    said = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (
        said.returncode == 1 and 'no module is called "nosuch"' in said.stderr and not said.stdout
    )
    with open("/dev/full", "w") as full:
        said = subprocess.run(
            command[:-2], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert (
        said.returncode == 1 and said.stderr == "farcall: write the stub: No space left on device\n"
    )
