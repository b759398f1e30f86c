"""Published Python functions as people write them every day: lists, arrays, defaults."""

import inspect
import textwrap

import numpy as np
import pytest

EVERYDAY = '''
import dataclasses
import pathlib
from typing import Annotated, List, Optional, Sequence, Union
import numpy as np
from numpy.typing import NDArray


def halves(x: list[float]) -> list[float]:
    assert type(x) is list
    return [each / 2 for each in x]

def evens(n: int) -> List[int]:
    return [each for each in range(n) if each % 2 == 0]

def count_true(flags: Sequence[bool]) -> int:
    assert all(isinstance(flag, bool) for flag in flags)
    return sum(flags)

def waves(z: list[complex]) -> tuple[list[complex], int]:
    return [each * 1j for each in z], len(z)

def double(x: np.ndarray) -> np.ndarray:
    return 2 * x

def shape_of(x: np.ndarray) -> list[int]:
    return list(x.shape)

def outer(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.multiply.outer(x, y)

def halved(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return x / np.float32(2)

def total(x: np.ndarray, weights: Optional[np.ndarray] = None) -> float:
    return float((x if weights is None else x * weights).sum())

def label(x: float, prefix: str = "run", digits: int = 1, *, unit: Optional[str] = None) -> str:
    return f"{prefix} {x:.{digits}f}" + (f" {unit}" if unit is not None else "")

def placed(x: float, y: float = 2.0, /, z: float = 1.0) -> float:
    return x * y + z

def turned(x: float, on: bool = True) -> bool:
    assert isinstance(on, bool)
    return on and x > 0

def limited(x: float, most: Optional[float] = None, turn: complex = 1j) -> complex:
    return (x if most is None else min(x, most)) * turn

def infinite(x: float, most: float = float("inf")) -> bool:
    return x < most

def summed(x: list[float] = [1.0, 2.0], start: Union[float, None] = None) -> float:
    return sum(x, start or 0.0)

def length(file: pathlib.Path = pathlib.Path("nothing")) -> int:
    return len(file.read_bytes()) if file.exists() else -1

def many(n: int) -> list[float]:
    return [0.0] * n

def text(x: float) -> list[float]:
    return "no list"

def wrong(x: float) -> list[int]:
    return [x]

@dataclasses.dataclass
class Fit:
    slope: float
    residuals: list[float]
    steps: int = 0

def fitted(x: np.ndarray) -> Fit:
    return Fit(float(x.mean()), list(x - x.mean()), 3)

def five(x: float) -> np.ndarray:
    return np.zeros((1,) * 5)

def large(x: float) -> int:
    return 2**63

def too_large(x: float) -> np.float32:
    return 1e39
'''


@pytest.fixture(scope="module")
def everyday(farcall, tmp_path_factory):
    file = tmp_path_factory.mktemp("everyday") / "everyday.py"
    file.write_text(EVERYDAY)
    with farcall.connect(files=[file], timeout=60) as server:
        yield server


def test_lists_come_and_go(everyday):
    assert everyday.halves([1.0, 3.0]).value == [0.5, 1.5] and everyday.halves([]).value == []
    assert everyday.halves(np.ones(3)).value == [0.5] * 3
    assert everyday.evens(7).value == [0, 2, 4, 6] and type(everyday.evens(3).value[0]) is int
    assert everyday.count_true([True, False, True]) == 2
    assert everyday.waves([1, 2j]).result1 == [1j, -2 + 0j]


def test_arrays_have_the_rank_that_they_come_with(everyday):
    for shape in ((3,), (2, 3), (3, 1), (1, 1, 2), (2, 2, 2, 2), (0, 3)):
        x = np.arange(float(np.prod(shape))).reshape(shape)
        assert np.array_equal(everyday.double(x).value, 2 * x)
        assert everyday.shape_of(x).value == list(shape)
        assert np.array_equal(everyday.double(np.asfortranarray(x)).value, 2 * x)
    assert everyday.outer(np.ones(3), np.ones((2, 1))).value.shape == (3, 2, 1)
    assert everyday.double([1, 2]).value.tolist() == [2.0, 4.0]
    halved = everyday.halved(np.ones((2, 2), np.float32)).value
    assert halved.dtype == np.float32 and halved.tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_arrays_without_fit_are_refused(everyday, farcall):
    with pytest.raises(farcall.WrongType, match="complex128"):
        everyday.double(np.ones(2, complex))
    with pytest.raises(farcall.InvalidArgument, match="dimensions"):
        everyday.double(np.ones((1,) * 5))


def test_defaults_of_every_type(everyday, tmp_path):
    assert everyday.placed(3.0) == 7.0 and everyday.placed(3.0, 4.0, z=5.0) == 17.0
    assert everyday.label(2.0) == "run 2.0" and everyday.label(2.0, "case") == "case 2.0"
    assert everyday.label(2.0, "case", 3) == "case 2.000" and everyday.label(2.0, unit="m") == (
        "run 2.0 m"
    )
    assert everyday.label(2.0, digits=0) == "run 2" and everyday.label(2.0, None, 2) == "run 2.00"
    assert everyday.turned(1.0).value == 1 and everyday.turned(1.0, False).value == 0
    assert everyday.limited(3.0) == 3j and everyday.limited(3.0, 2.0) == 2j
    assert everyday.limited(3.0, turn=2) == 6 and everyday.infinite(1e300).value == 1
    assert everyday.infinite(2.0, 1.0).value == 0
    assert everyday.total(np.ones(3)) == 3.0 and everyday.total(np.ones(2), np.full(2, 2.0)) == 4.0
    assert everyday.summed() == 3.0 and everyday.summed([5.0]) == 5.0
    assert everyday.summed(start=1.0) == 4.0
    (tmp_path / "four").write_bytes(b"four")
    assert everyday.length() == -1 and everyday.length(tmp_path / "four") == 4


def test_signatures_show_what_python_says(everyday):
    assert repr(everyday.double).startswith("double(x, *, x_1=None, ")
    assert repr(everyday.double).endswith(") -> result") and "_rank" not in repr(everyday.double)
    assert repr(everyday.label) == "label(x, prefix=None, digits=1, unit=None) -> result"
    everyday.label.__signature__.bind(1.0, "a", 2, unit="m")
    page = inspect.getdoc(everyday.label)
    assert "default 'run'" in page and "default None" in page
    assert list(everyday.double(np.ones(2)).keys()) == ["result"]


def test_a_dataclass_is_several_results(everyday):
    fit = everyday.fitted(np.array([1.0, 3.0]))
    assert (fit.slope, fit.residuals, fit.steps) == (2.0, [-1.0, 1.0], 3)
    assert fit.keys() == ["slope", "residuals", "steps"]


def test_results_of_another_kind_are_refused(everyday, farcall):
    for routine, argument, words in (
        ("text", 1.0, "'no list' .str. as result, which is declared list"),
        ("wrong", 1.5, "as result, which is declared of int64"),
        ("many", 70000, "65536 elements are the most without a size"),
        ("five", 1.0, "4 dimensions are the most"),
        ("large", 1.0, "it returned 9223372036854775808 .int. as result, which does not fit int64"),
        ("too_large", 1.0, "it returned 1e.39 .float. as result, which does not fit float32"),
    ):
        with pytest.raises(farcall.RoutineFailed, match=words):
            everyday[routine](argument)


@pytest.mark.parametrize(
    "text, words",
    [
        ("def f(x: list) -> float:\n    return 0", "x has the type list"),
        ("def f(x: list[dict]) -> float:\n    return 0", "x has the type dict"),
        ("def f(x: list[list[float]]) -> float:\n    return 0", "x is a list of list"),
        ("def f(x: float) -> list[list[str]]:\n    return []", "result is a list of list"),
        ("def f(x: dict) -> float:\n    return 0", "x has the type dict"),
    ],
)
def test_what_does_not_travel_is_said(farcall, tmp_path, text, words):
    (tmp_path / "mine.py").write_text(textwrap.dedent(text))
    with pytest.raises(farcall.Unavailable) as refused:
        farcall.connect(files=[tmp_path / "mine.py"])
    assert words in str(refused.value)
