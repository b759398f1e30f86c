"""Arguments by position: those with defaults, too, where nobody can mistake which one is meant."""

import os
import subprocess
import sys

import numpy as np
import pytest

MODEL = '''
from typing import Annotated, Callable

import numpy as np
from numpy.typing import NDArray

Vector = Annotated[NDArray[np.float64], "n"]


def scale(x: float, steps: int = 200, factor: float = 1.0) -> float:
    return x * steps * factor


def all_have_one(a: int = 1, b: int = 2) -> int:
    return 10 * a + b


def of_array(x: Vector, power: int = 2) -> float:
    return float((x**power).sum())


def of_function(x: float, f: Callable[[float], float], times: int = 1) -> float:
    return f(x) * times
'''
MIXED = """
Module mixed;
Define between(IN double tolerance = 0.5, IN double x, OUT double y) { *y = x + tolerance; }
Define computed(IN int n, IN int m = 2 * n, IN int k = 3, OUT int sum) { *sum = n + m + k; }
"""


@pytest.fixture(scope="module")
def positions(farcall, tmp_path_factory):
    folder = tmp_path_factory.mktemp("positions")
    (folder / "model.py").write_text(MODEL)
    (folder / "mixed.idl").write_text(MIXED)
    with farcall.connect(files=[folder / "model.py", folder / "mixed.idl"]) as server:
        yield server


def test_what_has_a_default_may_follow_by_position(positions):
    assert positions.scale(2.0) == 400.0 and positions.scale(2.0, 3) == 6.0
    assert positions.scale(2.0, 3, 0.5) == 3.0 and positions.scale(2.0, 3, factor=2.0) == 12.0
    assert positions.scale(2.0, None, 2.0) == 800.0, "None leaves it out"
    assert positions.all_have_one() == 12 and positions.all_have_one(3) == 32
    assert positions.all_have_one(3, 4) == 34 and positions.all_have_one(b=5) == 15
    assert positions.of_array([1.0, 2.0], 3) == 9.0 and positions.of_array([1.0, 2.0]) == 5.0
    assert positions.of_function(2.0, lambda x: x + 1, 4) == 12.0
    assert positions.scale.submit(2.0, 3).result(10) == 6.0


DEFAULTS = """
from typing import Optional

import numpy as np


def two(a: float, lo: float = 1.0, tag: str = "t", hi: float = 2.0) -> str:
    return f"{a} {lo} {tag} {hi}"


def some(x: Optional[float] = None, name: Optional[str] = None, k: int = 3) -> str:
    return f"{x} {name} {k}"


def fast(x: float, *, tag: str = "ü", y: Optional[int] = 7, on: bool = True) -> str:
    return f"{x} {tag} {y} {on}"


def rank(x: np.ndarray) -> int:
    return x.ndim
"""


def test_texts_and_none_among_numbers_have_the_same_order_everywhere(farcall, tmp_path):
    file = tmp_path / "defaults.py"
    file.write_text(DEFAULTS)

    def command(*words):
        program = [sys.executable, "-m", "farcall", *words]
        environment = {**os.environ, "FARCALL_SERVER": server.address}
        done = subprocess.run(
            program, env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    with farcall.connect(files=[file]) as server:
        for name, given, said in [
            ("two", (1.0,), "1.0 1.0 t 2.0"),
            ("two", (1.0, 3), "1.0 3.0 t 2.0"),
            ("two", (1.0, 3, "u"), "1.0 3.0 u 2.0"),
            ("two", (1.0, 3, "u", 5), "1.0 3.0 u 5.0"),
            ("some", (), "None None 3"),
            ("some", (1.5,), "1.5 None 3"),
            ("some", (1.5, "a", 4), "1.5 a 4"),
            ("fast", (1.0, "o", 8, 0), "1.0 o 8 False"),
            ("fast", (1.0,), "1.0 ü 7 True"),
        ]:
            assert server[name](*given).result == said
            words = command("call", name, *map(str, given))
            assert words == f'result = "{said}"\n', (name, given)
        assert "t 5.0" in command("call", "two", "1", "hi=5")
        for name in ("two", "some", "fast"):
            assert repr(server[name]) in command("show", name)
        assert repr(server.two) == "two(a, lo=1.0, tag=None, hi=2.0) -> result"
        assert "_rank" not in command("show", "rank").split("Arguments")[0]
        for text, count in (("[1, 2]", 1), ("[[1, 2]]", 2), ("[[1], [2]]", 2), ("[[[1]]]", 3)):
            assert command("call", "rank", text) == f"result = {count}\n"


def test_what_is_computed_goes_by_name(positions):
    assert positions.computed(1) == 6 and positions.computed(1, 5) == 8
    assert positions.computed(1, 5, m=1) == 7


def test_where_it_could_be_mistaken_it_goes_by_name(positions, farcall):
    assert positions.between(1.0) == 1.5 and positions.between(1.0, tolerance=1.0) == 2.0
    with pytest.raises(farcall.WrongType, match="takes 1 arguments by position .x., not 2"):
        positions.between(1.0, 2.0)


def test_wrong_ones_are_named(positions, farcall):
    with pytest.raises(farcall.WrongType, match="at most 3 arguments by position"):
        positions.scale(1.0, 2, 3.0, 4)
    with pytest.raises(farcall.WrongType, match="steps was passed twice"):
        positions.scale(1.0, 2, steps=3)
    with pytest.raises(farcall.WrongType, match="steps"):
        positions.scale(1.0, "many")


def test_signatures_say_so(positions, server):
    assert repr(positions.scale) == "scale(x, steps=200, factor=1.0) -> result"
    assert repr(positions.computed) == "computed(n, k=3, *, m=None) -> sum"
    assert repr(positions.between) == "between(x, *, tolerance=0.5) -> y"
    positions.scale.__signature__.bind(1.0, 2, 3.0, timeout=1)
    assert "nrhs=None" in repr(server.dgesv) and "(a, b, *, n=None" in repr(server.dgesv)


def test_stubs_say_so(positions):
    from farcall.stubs import stub

    written = stub(positions)
    assert "x: _Real, steps: _t.Optional[_Whole] = ..., factor: _t.Optional[_Real] = ..., *" in (
        written
    )
    names = {}
    exec(compile(written, "catalogue.pyi", "exec"), names)
    assert "Server" in names


def test_a_number_for_a_scalar_result_changes_nothing(server, farcall):
    assert server.square(3.0, y=0.0) == 9.0 and server.square(x=3.0, y=np.float32(1)) == 9.0
    assert server.dgesv(np.eye(2), np.ones(2), info=0).info == 0
    given = np.zeros(1)
    assert server.square(3.0, y=given).y is given and given[0] == 9.0, "arrays as ever"
    for wrong in ("text", [0.0], (0.0,)):
        with pytest.raises(farcall.WrongType, match="results go into NumPy arrays"):
            server.square(3.0, y=wrong)
    with pytest.raises(farcall.WrongType, match="results go into NumPy arrays, not a float"):
        server.shift([1.0], m=1, y=0.0)
    with pytest.raises(farcall.WrongType, match="results go into NumPy arrays, not a float"):
        server.square(3.0, out={"y": 0.0})
